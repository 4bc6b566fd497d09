"""JSON-RPC in WebSocket frames over a Unix socket: the part of RFC 6455 that Codex's control socket needs."""

import json
import os
import socket
import time
from base64 import b64encode
from hashlib import sha1
from types import TracebackType
from typing import Any

HEAD_BYTES_MAX = 16_384
FRAME_BYTES_MAX = 4 * 1_048_576
_ACCEPT = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3
CONTINUATION, TEXT, CLOSE, PING, PONG = 0, 1, 8, 9, 10
FINAL, MASKED = 0x80, 0x80


class ControlSocketError(OSError):
    """The peer violated the protocol, or its response is an error."""


class ControlSocket:
    """A connection with one timeout for the handshake and all requests."""

    def __init__(self, path: str, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        self._requests = 0
        self._buffer = b""
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.settimeout(seconds)
            self._socket.connect(path)
            self._shake_hands()
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> "ControlSocket":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._socket.close()

    def request(self, method: str, params: dict[str, Any]) -> Any:
        """Send a request; the result in its response. Notifications and requests of the peer are ignored."""
        self._requests += 1
        number = self._requests
        self._send(json.dumps({"id": number, "method": method, "params": params}).encode())
        while True:
            answer = self._receive()
            if isinstance(answer, dict) and answer.get("id") == number and "method" not in answer:
                break
        if "error" in answer:
            error = answer["error"]
            says = error.get("message") if isinstance(error, dict) else error
            raise ControlSocketError(f"{method}: {str(says)[:200]}")
        return answer.get("result")

    def notify(self, method: str) -> None:
        self._send(json.dumps({"method": method}).encode())

    # --- frames -------------------------------------------------------------------------------------------------------

    def _shake_hands(self) -> None:
        key = b64encode(os.urandom(16))
        head = (b"GET / HTTP/1.1", b"Host: localhost", b"Upgrade: websocket", b"Connection: Upgrade")
        lines = (*head, b"Sec-WebSocket-Version: 13", b"Sec-WebSocket-Key: " + key, b"", b"")
        self._socket.sendall(b"\r\n".join(lines))
        while b"\r\n\r\n" not in self._buffer:
            if len(self._buffer) > HEAD_BYTES_MAX:
                raise ControlSocketError("too long an answer to the handshake")
            self._read_more()
        answer, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        status, *fields = answer.split(b"\r\n")
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (field.partition(b":") for field in fields)
        }
        accept = b64encode(sha1(key + _ACCEPT, usedforsecurity=False).digest())
        if status.split(b" ")[1:2] != [b"101"] or headers.get(b"sec-websocket-accept") != accept:
            raise ControlSocketError(f"no WebSocket: {status[:60].decode('ascii', 'replace')}")

    def _send(self, payload: bytes, kind: int = TEXT) -> None:
        size, mask = len(payload), os.urandom(4)
        if size < 126:
            head = bytes([FINAL | kind, MASKED | size])
        elif size < 65_536:
            head = bytes([FINAL | kind, MASKED | 126]) + size.to_bytes(2, "big")
        else:
            head = bytes([FINAL | kind, MASKED | 127]) + size.to_bytes(8, "big")
        self._set_timeout()
        self._socket.sendall(head + mask + bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload)))

    def _receive(self) -> Any:
        """Read and parse the next message."""
        text = b""
        while True:
            is_final, kind, payload = self._frame()
            if kind == CLOSE:
                raise ControlSocketError("closed by the other side")
            if kind == PING:
                self._send(payload, PONG)
            elif kind in (TEXT, CONTINUATION):
                text += payload
                if len(text) > FRAME_BYTES_MAX:
                    raise ControlSocketError("too long a message")
                if is_final:
                    return _parsed(text)

    def _frame(self) -> tuple[bool, int, bytes]:
        first, second = self._take(2)
        size = second & 0x7F
        if size >= 126:
            size = int.from_bytes(self._take(2 if size == 126 else 8), "big")
        if size > FRAME_BYTES_MAX or second & MASKED:
            raise ControlSocketError("an invalid frame")
        return bool(first & FINAL), first & 0x0F, self._take(size)

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._read_more()
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def _read_more(self) -> None:
        self._set_timeout()
        data = self._socket.recv(65_536)
        if not data:
            raise ControlSocketError("closed by the other side")
        self._buffer += data

    def _set_timeout(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("no answer in time")
        self._socket.settimeout(left)


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ControlSocketError("a message that is no JSON") from error
