"""A receiver of alerts on this machine: webhooks, a chat, and the publish API of ntfy."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

SECONDS_MAX = 30.0  # for anything that is waited for


class ReceivedRequest(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Receiver:
    """`ntfy` is what a phone shows: notifications by sequence id, updated and deleted as ntfy does."""

    def __init__(self) -> None:
        self.requests: list[ReceivedRequest] = []
        self.ntfy: dict[str, dict[str, Any]] = {}
        self.status: Callable[[ReceivedRequest], int] = lambda _: 200
        self._lock = threading.Lock()

    def take(self, request: ReceivedRequest) -> int:
        with self._lock:
            self.requests.append(request)
            status = self.status(request)
            if status == 200 and request.method == "POST" and "sequence_id" in request.json:
                self.ntfy[request.json["sequence_id"]] = request.json
            if status == 200 and request.method == "DELETE":
                self.ntfy.pop(request.path.rpartition("/")[2], None)
            return status

    def at(self, path: str) -> list[ReceivedRequest]:
        return [request for request in self.requests if request.path == path]

    def until(self, enough: Callable[[], bool], seconds: float = SECONDS_MAX) -> None:
        end = time.monotonic() + seconds
        while not enough():
            assert time.monotonic() < end, [(one.method, one.path, one.body[:300]) for one in self.requests]
            time.sleep(0.02)


@contextmanager
def receiving() -> Iterator[tuple[Receiver, str]]:
    """A receiver and its address."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def _take(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status = receiver.take(ReceivedRequest(self.command, self.path, headers, body))
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        do_POST = do_DELETE = _take  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield receiver, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
