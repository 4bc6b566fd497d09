"""What do tests of the HTTP door share? A hub in this process, a client, a viewer of live events, and a real server."""

import asyncio
import inspect
import json
import shlex
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any, NamedTuple, TypeVar

import httpx2
import uvicorn

import telex
from telex.config import Settings
from telex.ports.bus import Bus
from telex.surfaces.http.app import Hub, build_app
from telex.surfaces.http.asgi import App, Receive, Scope, Send
from telex.surfaces.http.tokens import AT_HOME, Caller

T = TypeVar("T")
QUIET = Settings(evidence="off")
SECONDS_MAX = 20.0  # for anything that is waited for: a busy machine is no failure, and a hang is
TEXT = b"The build is red."


def play(scene: Callable[[], Awaitable[T]]) -> T:
    """Run it to its end, in a loop of its own."""

    async def bounded() -> T:
        return await asyncio.wait_for(scene(), 5 * SECONDS_MAX)

    return asyncio.run(bounded())


async def soon(waited: Awaitable[T]) -> T:
    return await asyncio.wait_for(waited, SECONDS_MAX)


def let_in_as(caller: Caller, app: App) -> App:
    """A doorkeeper that takes everybody for that caller."""

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["caller"] = caller
        await app(scope, receive, send)

    return door


class Door(NamedTuple):
    bus: Bus
    hub: Hub
    app: App  # the hub behind its doorkeeper
    client: httpx2.AsyncClient

    async def send(self, raw: bytes = TEXT, **given: str) -> httpx2.Response:
        return await self.client.post("/send", params={"sender": "dev", "to": "lead"} | given, content=raw)

    async def post(self, path: str, **given: Any) -> httpx2.Response:
        return await self.client.post(path, json=given)


@asynccontextmanager
async def opened(
    where: str = "memory:", *, settings: Settings = QUIET, caller: Caller = AT_HOME
) -> AsyncIterator[Door]:
    """A hub that is up, and a client of it."""
    async with telex.connect(where, settings=settings) as bus:
        hub = Hub(bus, settings)
        app = let_in_as(caller, hub)
        async with alive(app), client_of(app) as client:
            yield Door(bus, hub, app, client)


@asynccontextmanager
async def complete_hub(
    caller: Caller = AT_HOME, wrapped: Callable[[Any], Any] = lambda bus: bus
) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a hub with its page, metrics and MCP endpoint, over `wrapped(bus)`."""
    async with telex.connect("memory:", settings=QUIET) as bus:
        app = build_app(wrapped(bus), QUIET, lambda app: let_in_as(caller, app))
        async with alive(app), client_of(app) as client:
            yield client


def played(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """An async test, run in a loop of its own."""

    def run(*given: Any, **named: Any) -> None:
        play(lambda: test(*given, **named))

    return _renamed(run, test)


def hub_test(
    where: str = "memory:", *, serve: bool = False, **options: Any
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., None]]:
    """An async test with a hub, `door`, as its first argument; with `serve`, its port as the second."""

    def decorated(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
        async def scene(*given: Any, **named: Any) -> None:
            async with opened(where, **options) as door, AsyncExitStack() as stack:
                port = [await stack.enter_async_context(served(door.app))] if serve else []
                await test(door, *port, *given, **named)

        return _renamed(played(scene), test)

    return decorated


def _renamed(run: Callable[..., None], test: Callable[..., Any]) -> Callable[..., None]:
    """With the test's name, and a signature of its fixtures only."""
    signature = inspect.signature(test)
    fixtures = [parameter for name, parameter in signature.parameters.items() if name not in ("door", "port")]
    run.__dict__["__signature__"] = signature.replace(parameters=fixtures)
    run.__name__, run.__qualname__, run.__module__ = test.__name__, test.__qualname__, test.__module__
    run.__doc__ = test.__doc__
    return run


def client_of(app: App) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app)
    return httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:4477")


@asynccontextmanager
async def alive(app: App) -> AsyncIterator[None]:
    """What a server does before the first request and after the last."""
    said: asyncio.Queue[Any] = asyncio.Queue()
    heard: asyncio.Queue[Any] = asyncio.Queue()
    task = asyncio.ensure_future(app({"type": "lifespan"}, said.get, heard.put))
    said.put_nowait({"type": "lifespan.startup"})
    begun = await soon(heard.get())
    assert begun["type"] == "lifespan.startup.complete", begun
    try:
        yield
    finally:
        said.put_nowait({"type": "lifespan.shutdown"})
        await soon(heard.get())
        await soon(task)


# --- a request by hand, whose client can be gone or slow -------------------------------------------------------------


class Asking:
    """One request, put to the app without a server in between."""

    def __init__(
        self,
        app: App,
        method: str,
        path: str,
        query: str = "",
        headers: dict[str, str] | None = None,
        body: bytes = b"",
    ) -> None:
        self.told: list[bytes] = []
        self.status: int | None = None
        self.headers: dict[bytes, bytes] = {}
        self.news = asyncio.Event()
        self.takes = asyncio.Event()  # a client that does not take what it is sent
        self.takes.set()
        self._body: list[bytes] = [body]
        self._gone = asyncio.Event()
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in (headers or {}).items()],
            "client": ("127.0.0.1", 1), "state": {},
        }  # fmt: skip
        self.task = asyncio.ensure_future(app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if self._body:
            return {"type": "http.request", "body": self._body.pop(), "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, event: Any) -> None:
        await self.takes.wait()
        if event["type"] == "http.response.start":
            self.status, self.headers = event["status"], dict(event["headers"])
        else:
            self.told.append(event.get("body", b""))
        self.news.set()

    def go_away(self) -> None:
        self._gone.set()

    async def until(self, enough: Callable[[], bool]) -> None:
        """Wait until so much was told."""
        async with asyncio.timeout(SECONDS_MAX):
            while not enough():
                self.news.clear()
                await self.news.wait()

    @property
    def text(self) -> str:
        return b"".join(self.told).decode()

    @property
    def ids(self) -> list[int]:
        return [event["id"] for event in events_in(self.text)]


def watch(app: App, query: str = "", *, resumed_after: int | None = None) -> Asking:
    headers = {"accept": "text/event-stream"}
    if resumed_after is not None:
        headers["last-event-id"] = str(resumed_after)
    return Asking(app, "GET", "/events", query, headers)


def events_in(text: str) -> list[dict[str, Any]]:
    """The events of a stream, as a browser reads them."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if line and not line.startswith(":"))
        if "data" in fields:
            found.append({"id": int(fields["id"]), "event": fields["event"], "data": json.loads(fields["data"])})
    return found


async def latest(bus: Bus) -> int:
    return max([event.seq async for event, _ in bus.events()], default=0)


async def every_id(bus: Bus, after: int = 0) -> list[int]:
    return [event.seq async for event, _ in bus.events() if event.seq > after]


async def left(*viewers: Asking) -> None:
    for viewer in viewers:
        viewer.go_away()
    await soon(asyncio.gather(*(viewer.task for viewer in viewers)))


# --- a real server ---------------------------------------------------------------------------------------------------


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def served(app: App) -> AsyncIterator[int]:
    """The app behind uvicorn on this machine: the port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=5)
        server = _Server(config)
        task = asyncio.create_task(server.serve(sockets=[listening]))
        await soon(server.up.wait())
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            await soon(task)


async def raw_get(port: int, target: str, method: str = "GET", more: str = "") -> tuple[int, bytes]:
    """As it goes over the wire: no client in between that fixes the path."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{more}\r\n".encode())
    answer = await soon(reader.read())
    writer.close()
    await writer.wait_closed()
    return int(answer.split()[1]), answer.partition(b"\r\n\r\n")[2]


def is_problem(answer: Any, status: int, code: str) -> dict[str, Any]:
    tree: dict[str, Any] = answer.json()
    assert (answer.status_code, tree["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert tree["status"] == status
    assert tree["type"] == f"tag:telex,2026:problem/{code}"
    assert tree["title"]
    assert tree["detail"].endswith(".")
    return tree


HUB = "http://127.0.0.1:4477"


async def typed(client: httpx2.AsyncClient, line: str) -> httpx2.Response:
    """What a line with curl asks for. Only the options that stand on the pages are understood."""
    curl, *words = shlex.split(line.removeprefix("$ "))
    assert curl == "curl"
    method, headers, body, [url] = "", {}, None, [word for word in words if word.startswith(HUB)]
    given = iter(word for word in words if word != url)
    for option in given:
        value = next(given)
        if option == "-H":
            name, _, text = value.partition(": ")
            headers[name] = text
        elif option == "-X":
            method = value
        else:
            assert option == "-d", option
            body = value.encode()
    return await client.request(method or ("GET" if body is None else "POST"), url, headers=headers, content=body)
