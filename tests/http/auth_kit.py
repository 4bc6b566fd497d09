"""What the tests of the hub's doors share: a request without a network, a hub on a real port, and a raw connection."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from telex.model.limits import HubLimits
from telex.surfaces.http.asgi import App, HttpResponse, Receive, Scope, Send, reply
from telex.surfaces.http.auth import allowed_hosts
from telex.surfaces.http.limits import RequestLimits
from telex.surfaces.http.server import HubServer, ServerOptions, listen, make_middleware, make_server
from telex.surfaces.http.tokens import TokenFile, caller_of, new_token

PORT = 4477
HERE, STRANGER = "127.0.0.1", "203.0.113.9"
KNOWN = allowed_hosts(PORT, ("hub.example.org", "proxied.example.org:8443"))
Headers = dict[str, str] | list[tuple[str, str]]


class Answered(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str | None:
        """Of the problem, if it is one."""
        found = self.headers.get("content-type") == "application/problem+json"
        return self.json["code"] if found else None


async def ask(
    app: App,
    path: str,
    *,
    method: str = "GET",
    headers: Headers = (),  # type: ignore[assignment]
    peer: str | None = HERE,
    body: bytes = b"",
    host: str | None = f"127.0.0.1:{PORT}",
    server: tuple[str, int] = ("127.0.0.1", PORT),
) -> Answered:
    """One request, as a server would hand it on."""
    pairs = list(headers.items()) if isinstance(headers, dict) else list(headers)
    if host is not None and not any(name.lower() == "host" for name, _ in pairs):
        pairs.insert(0, ("Host", host))
    path, _, query = path.partition("?")
    scope: Scope = {
        "type": "http",
        "http_version": "1.1",
        "scheme": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in pairs],
        "client": None if peer is None else (peer, 50_000),
        "server": server,
    }
    given = iter([{"type": "http.request", "body": body, "more_body": False}])
    sent: list[Any] = []

    async def receive() -> Any:
        event = next(given, None)
        return event if event is not None else await asyncio.Event().wait()

    async def send(event: Any) -> None:
        sent.append(event)

    await app(scope, receive, send)
    start = sent[0]
    told = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    return Answered(start["status"], told, b"".join(event.get("body", b"") for event in sent[1:]))


async def mirror(scope: Scope, receive: Receive, send: Send) -> None:
    """An app that says who was let in."""
    caller = caller_of(scope)
    told = json.dumps({name: getattr(caller, name) for name in ("agent", "role", "operator", "token")}).encode()
    await reply(send, HttpResponse(200, told))


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


class Key(NamedTuple):
    id: str
    text: str


def made_token(
    file: TokenFile,
    agent: str | None = "dev",
    role: str | None = "dev",
    *,
    operator: bool = False,
    expires_at: float | None = None,
) -> Key:
    token, text = new_token(agent=agent, role=role, operator=operator, now=1_000.0, expires_at=expires_at)
    file.add(token)
    return Key(token.id, text)


# --- on a real port ---------------------------------------------------------------------------------------------------


async def life(scope: Scope, receive: Receive, send: Send) -> None:
    """What a server wants of any app before and after."""
    for word in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{word}.complete"})


@contextmanager
def running(app: App, folder: Path, limits: HubLimits) -> Iterator[int]:
    """That app behind a hub's doors, on a port of its own. The port."""
    listening = listen("127.0.0.1", 0)
    how = ServerOptions(listening, TokenFile(str(folder / "tokens.json")), limits=limits)
    ready, servers, limited = threading.Event(), list[HubServer](), RequestLimits(limits)

    async def whole(scope: Scope, receive: Receive, send: Send) -> None:
        await (life if scope["type"] == "lifespan" else app)(scope, receive, send)

    async def main() -> None:
        servers.append(make_server(make_middleware(how, limited)(whole), how, limited, ready.set))
        await servers[0].serve(sockets=list(listening.sockets))

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    try:
        assert ready.wait(20)
        yield listening.port
    finally:
        for server in servers:
            server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        yield connection


def read_all(connection: socket.socket) -> bytes:
    """Everything until the other side closes."""
    parts = []
    try:
        while part := connection.recv(65_536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def head(port: int, line: str, *more: str) -> bytes:
    return "\r\n".join([line, f"Host: 127.0.0.1:{port}", *more, "", ""]).encode()
