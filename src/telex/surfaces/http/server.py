"""Server of the hub: configuration, start and stop of uvicorn.

Stopping takes at most a few seconds: running requests are finished, waiting ones answered, streams ended, and then the
store is closed.
"""

import asyncio
import errno
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from typing import NamedTuple

import uvicorn

from telex.config import Settings
from telex.model.limits import HUB_LIMITS, HubLimits
from telex.ports.bus import Bus
from telex.surfaces.http.access_log import logged
from telex.surfaces.http.allowed_hosts import bracketed, places
from telex.surfaces.http.app_builder import build_app
from telex.surfaces.http.asgi import App
from telex.surfaces.http.auth import AuthMiddleware
from telex.surfaces.http.connection_limits import limited_by
from telex.surfaces.http.limits import RequestLimits
from telex.surfaces.http.routes_extra import BATCH_BYTES
from telex.surfaces.http.token_file import TokenFile

FINISH_SECONDS = 0.5  # for what is being done; a send takes milliseconds
END_SECONDS = 3  # for all that; then it is over
BACKLOG = 2_048
DOORS = 16  # times that a socket is listened on
UNSENT_BYTES = 131_072  # the system takes no more than it can send on soon, so that it shows whether a client reads
_EVERY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # those that stand for every address are none to ask for
_NOT_HERE = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)  # localhost may stand for an address of a kind that is off
FILES_KEPT = 128  # of those that may be open: the store's, the page's


class BoundSockets(NamedTuple):
    """Sockets that are bound: from here on the port is ours."""

    sockets: tuple[socket.socket, ...]
    host: str  # as one would ask for it
    port: int

    @property
    def address(self) -> str:
        """Of the page, from this machine."""
        return f"http://{bracketed(_EVERY.get(self.host, self.host))}:{self.port}/"


class ServerOptions(NamedTuple):
    """How a hub is to be run."""

    listening: BoundSockets
    tokens: TokenFile | None = None  # None: there can be none, and nobody beyond this machine comes in
    names: Sequence[str] = ()
    tokens_only: bool = False
    log: Callable[[str], None] | None = None
    limits: HubLimits = HUB_LIMITS


def listen(host: str, port: int) -> BoundSockets:
    """Take the port; 0 is any that is free.

    Raises:
        OSError: it is taken, or there is no such address here.
    """
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    bound: list[socket.socket] = []
    failed: OSError | None = None
    for family, _, _, _, place in dict.fromkeys(found):
        try:
            bound.append(_bound(family, (place[0], bound[0].getsockname()[1] if bound else place[1], *place[2:])))
        except OSError as error:
            failed = error
            if error.errno not in _NOT_HERE:
                break
    if not bound or (failed is not None and failed.errno not in _NOT_HERE):
        for one in bound:
            one.close()
        assert failed is not None, "a name that stands for nothing is an error of its own"
        raise failed
    return BoundSockets(tuple(bound), host, bound[0].getsockname()[1])


def _bound(family: int, place: tuple[object, ...]) -> socket.socket:
    one = socket.socket(family, socket.SOCK_STREAM)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):  # handed down to every connection
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind(place)
        one.listen(BACKLOG)  # so that a second hub finds it taken even before the first one answers
    except OSError:
        one.close()
        raise
    return one


def is_only_here(listening: BoundSockets) -> bool:
    """Can nobody reach it but from this machine?"""
    return all(ip_address(socket.getsockname()[0].partition("%")[0]).is_loopback for socket in listening.sockets)


async def serve(bus: Bus, settings: Settings, how: ServerOptions, ready: Callable[[], None] | None = None) -> None:
    """Run a hub until the process is told to end. `ready` is called once it answers."""
    limited = RequestLimits(with_room(how.limits, settings.limits.message_bytes_max))
    server = make_server(build_app(bus, settings, make_door(how, limited)), how, limited, ready)
    with _ended_by_signals(server):
        await server.serve(sockets=_doors(how.listening.sockets))


def with_room(limits: HubLimits, message_bytes_max: int) -> HubLimits:
    """With room for a batch of the largest messages, alone and among all bodies together. Otherwise it would be turned
    away with the word to try again, however often its sender did."""
    most = max(limits.body_bytes_max, message_bytes_max * BATCH_BYTES)
    return limits._replace(body_bytes_max=most, bodies_bytes_max=max(limits.bodies_bytes_max, most))


def _doors(sockets: Sequence[socket.socket]) -> list[socket.socket]:
    """uvloop takes in one connection of each socket at every turn of its loop. When a hub comes back, so do all its
    clients, and every turn waits for the disk: so each socket is there several times."""
    return [door for one in sockets for door in (one, *(one.dup() for _ in range(DOORS - 1)))]


def make_door(how: ServerOptions, limited: RequestLimits) -> Callable[[App], App]:
    allowed_hosts = places(how.listening.port, how.names, how.listening.host)
    doorkeeper = AuthMiddleware(allowed_hosts, how.tokens, tokens_only=how.tokens_only)

    def door(app: App) -> App:
        behind = doorkeeper(limited(app))
        return behind if how.log is None else logged(behind, how.log)

    return door


class HubServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, limited: RequestLimits, ready: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._limited, self._ready = limited, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._ready is not None and self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().call_later(FINISH_SECONDS, self._limited.end)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ours are set beside: uvicorn's would kill the process by the same signal once all is done."""
        yield


def make_server(
    app: App, how: ServerOptions, limited: RequestLimits, ready: Callable[[], None] | None = None
) -> HubServer:
    limits = how.limits._replace(connections_max=min(how.limits.connections_max, _files_max() - FILES_KEPT))
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # not a line for every stranger who speaks no HTTP
    config = uvicorn.Config(
        app,
        http=limited_by(limits),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,  # its lines would have the query in them
        proxy_headers=False,  # who is asking is told by the connection, never by a header
        server_header=False,
        timeout_keep_alive=limits.idle_seconds,
        timeout_graceful_shutdown=END_SECONDS,
        backlog=BACKLOG,
    )
    return HubServer(config, limited, ready)


@contextmanager
def _ended_by_signals(server: HubServer) -> Iterator[None]:
    """SIGTERM and Ctrl-C end it; Ctrl-C once more ends it at once."""
    if threading.current_thread() is not threading.main_thread() or os.name == "nt":
        yield
        return
    loop, signals = asyncio.get_running_loop(), (signal.SIGINT, signal.SIGTERM)
    for one in signals:
        loop.add_signal_handler(one, server.handle_exit, one, None)
    try:
        yield
    finally:
        for one in signals:
            loop.remove_signal_handler(one)


def _files_max() -> int:
    """How many files and connections this process may have open, having asked for as many as it may have."""
    try:
        import resource
    except ImportError:  # pragma: no cover - not a Unix
        return 512
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return wanted if soft == resource.RLIM_INFINITY else soft
