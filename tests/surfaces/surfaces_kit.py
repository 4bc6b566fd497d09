"""The same bus behind each of its doors, so that a behaviour can be tried at all of them.

`door` is the bus at hand, a hub over HTTP, and the tools of an MCP server, one after the other; `wide_door` leaves out
the last, which has eight tools and not every verb. Each has a store of its own and the same verbs, which block. The
time of day is the test's: it stands still or goes on by itself, and `leap` moves it.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from telex.bus.local import LocalBus
from telex.clock import LoopClock, SteadyClock
from telex.config import Settings
from telex.connection import connect
from telex.model.limits import HUB_LIMITS
from telex.model.message import LeasedMessage
from telex.ports.bus import Receipt
from telex.ports.replica import Replica
from telex.surfaces.http.app import build_app
from telex.surfaces.http.auth import AuthMiddleware, allowed_hosts
from telex.surfaces.http.limits import RequestLimits
from telex.surfaces.http.server import HubServer, ServerOptions, listen, make_server
from telex.surfaces.http.tokens import TokenFile, new_token
from tests.mcp.mcp_bus import McpVerbs

QUICK = Settings(durable=False)
NOTE = "The build is red."
START = 1_800_000_000.0
SECONDS_MAX = 60.0  # that anything here may take


class Time:
    """What time it is. It goes on by itself, or stands still."""

    def __init__(self, *, still: bool = False) -> None:
        self._ahead, self._still = 0.0, still

    def now(self) -> float:
        return (START if self._still else time.time()) + self._ahead

    def leap(self, seconds: float) -> None:
        self._ahead += seconds


class Hub:
    """A real hub on a real port, in this process."""

    def __init__(
        self, path: Path, clock: Time, settings: Settings = QUICK, port: int = 0, replica: Replica | None = None
    ) -> None:
        self._path, self._clock, self._settings, self._replica = path, clock, settings, replica
        self._listening = listen("127.0.0.1", port)
        self.url = self._listening.address.rstrip("/")
        self.tokens = TokenFile(str(path.parent / "tokens.json"))
        self._server: HubServer | None = None
        self._ready = threading.Event()

    async def serve(self) -> None:
        how, limited = ServerOptions(self._listening), RequestLimits(HUB_LIMITS)
        keeper = AuthMiddleware(allowed_hosts(self._listening.port), self.tokens)
        async with connect(
            self._path, settings=self._settings, clock=LoopClock(self._clock.now, self._clock.now)
        ) as bus:
            assert isinstance(bus, LocalBus)
            bus.replica = self._replica
            app = build_app(bus, self._settings, lambda app: keeper(limited(app)))
            self._server = make_server(app, how, limited, self._ready.set)
            await self._server.serve(sockets=list(self._listening.sockets))

    def token(self, agent: str | None = None, role: str | None = None) -> str:
        """A token of that agent's; an operator's without one."""
        token, text = new_token(agent=agent, role=role, operator=agent is None, now=self._clock.now())
        self.tokens.add(token)
        return text

    def wait(self) -> None:
        assert self._ready.wait(SECONDS_MAX), "the hub did not come up"

    def end(self) -> None:
        assert self._server is not None
        self._server.should_exit = True


class Door:
    """A bus behind a door, and what a test needs beside it."""

    def __init__(self, name: str, bus: Any, clock: Time, another: Callable[[], Any]) -> None:
        self.name, self.bus, self.clock, self.another = name, bus, clock, another
        self.leap = clock.leap

    def __repr__(self) -> str:
        return self.name


@contextmanager
def at_hand(path: Path, clock: Time, settings: Settings = QUICK) -> Iterator[Door]:
    def another() -> Any:
        return connect(path, settings=settings, clock=SteadyClock(clock.now, clock.now))

    with another() as bus:
        yield Door("local", bus, clock, another)


@contextmanager
def running_hub(
    path: Path, clock: Time, settings: Settings = QUICK, port: int = 0, replica: Replica | None = None
) -> Iterator[Hub]:
    with start_blocking_portal() as portal:
        hub = Hub(path, clock, settings, port, replica)
        serving = portal.start_task_soon(hub.serve)
        hub.wait()
        yield hub
        hub.end()
        serving.result(SECONDS_MAX)


@contextmanager
def over_http(path: Path, clock: Time, settings: Settings = QUICK) -> Iterator[Door]:
    with running_hub(path, clock, settings) as hub, connect(hub.url, settings=settings) as bus:
        yield Door("http", bus, clock, lambda: connect(hub.url, settings=settings))


@contextmanager
def over_mcp(path: Path, clock: Time, settings: Settings = QUICK) -> Iterator[Door]:
    connection = connect(path, settings=settings, clock=LoopClock(clock.now, clock.now))
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(connection) as bus,
        ExitStack() as stack,
    ):
        verbs = McpVerbs(bus, settings, portal, stack)
        yield Door("mcp", verbs, clock, lambda: nullcontext(verbs))


OPENERS = {"local": at_hand, "http": over_http, "mcp": over_mcp}


def opened(name: str, folder: Path, stack: ExitStack, settings: Settings = QUICK, *, still: bool = False) -> Door:
    return stack.enter_context(OPENERS[name](folder / f"{name}.db", Time(still=still), settings))


@pytest.fixture(params=["local", "http", "mcp"])
def door(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Door]:
    with ExitStack() as stack:
        yield opened(request.param, tmp_path, stack)


@pytest.fixture(params=["local", "http"])
def wide_door(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Door]:
    with ExitStack() as stack:
        yield opened(request.param, tmp_path, stack)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub on a fresh store, and nothing in the environment that names another."""
    for name in ("TELEX_STORE", "TELEX_TOKEN", "TELEX_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    with running_hub(tmp_path / "hub.db", Time()) as found:
        yield found


@contextmanager
def meanwhile(door: Door, doing: Callable[[Any], object]) -> Iterator[None]:
    """What another agent does at the same time, through the same door; what fails there fails here."""
    failed: list[BaseException] = []

    def do() -> None:
        try:
            with door.another() as bus:
                doing(bus)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=do)
    thread.start()
    try:
        yield
    finally:
        thread.join(SECONDS_MAX)
    if failed:
        raise failed[0]


# --- what is said often -----------------------------------------------------------------------------------------------


def note(door: Door, id: str = "n-1", to: str = "lead", text: str = NOTE, **more: Any) -> Receipt:
    receipt: Receipt = door.bus.send(text, sender="dev", to=to, id=id, **more)
    assert receipt.accepted, receipt.findings
    return receipt


def take(door: Door, agent: str = "lead", **more: Any) -> LeasedMessage:
    [leased] = door.bus.receive(agent, **more)
    assert isinstance(leased, LeasedMessage)
    return leased


def state(door: Door, id: str) -> str:
    return str(door.bus.why(id)[-1].state)
