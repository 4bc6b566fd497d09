"""Server of the hub: sockets, configuration, access log, start and stop of uvicorn.

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
from time import perf_counter
from urllib.parse import urlsplit

import uvicorn

from telex.config import Settings
from telex.config.notify import NotifySettings
from telex.model.limits import HUB_LIMITS, HubLimits
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN
from telex.model.text import shown
from telex.ports.bus import Bus
from telex.surfaces.alerts.runner import AlertOptions
from telex.surfaces.http.app import build_app
from telex.surfaces.http.asgi import App, Receive, ResponseSender, Scope, Send, http_middleware
from telex.surfaces.http.auth import AuthMiddleware, allowed_hosts, bracketed
from telex.surfaces.http.hooks import hook_routes
from telex.surfaces.http.limits import RequestLimits, limited_protocol
from telex.surfaces.http.tokens import Caller, TokenFile, masked
from telex.surfaces.http.verbs import BATCH_BYTES

FINISH_SECONDS = 0.5  # for requests in progress; a send takes milliseconds
SHUTDOWN_SECONDS = 3
BACKLOG = 2_048
LISTENERS = 16  # per socket
UNSENT_BYTES = 131_072  # buffered by the system for a connection: more would hide that a client does not read
RESERVED_FILES = 128  # file descriptors for the store and the page
PATH_CHARACTERS_MAX = 200  # in the log
_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}
_NOT_HERE = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)  # localhost may resolve to an address family that is off


class BoundSockets(NamedTuple):
    sockets: tuple[socket.socket, ...]
    host: str  # as it was given
    port: int

    @property
    def address(self) -> str:
        """URL of the page, from this machine."""
        return f"http://{bracketed(_EVERY_ADDRESS.get(self.host, self.host))}:{self.port}/"


class ServerOptions(NamedTuple):
    listening: BoundSockets
    tokens: TokenFile | None = None  # None: the store has no token file, and only this machine may connect
    names: Sequence[str] = ()
    tokens_only: bool = False
    log: Callable[[str], None] | None = None
    limits: HubLimits = HUB_LIMITS
    alerts: NotifySettings | None = None


# --- sockets ----------------------------------------------------------------------------------------------------------


def listen(host: str, port: int) -> BoundSockets:
    """Bind the port, or any free one for 0. Raises OSError if it is in use or the address is not of this machine."""
    addresses = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    bound: list[socket.socket] = []
    unavailable: OSError | None = None
    try:
        for family, _, _, _, address in dict.fromkeys(addresses):
            try:
                same_port = bound[0].getsockname()[1] if bound else address[1]
                bound.append(_bind(family, (address[0], same_port, *address[2:])))
            except OSError as error:
                if error.errno not in _NOT_HERE:
                    raise
                unavailable = error
        if unavailable is not None and not bound:
            raise unavailable
    except OSError:
        for sock in bound:
            sock.close()
        raise
    return BoundSockets(tuple(bound), host, bound[0].getsockname()[1])


def _bind(family: int, address: tuple[object, ...]) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):  # inherited by every connection
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(address)
        sock.listen(BACKLOG)  # a second hub gets an error even before this one answers
    except OSError:
        sock.close()
        raise
    return sock


def is_only_here(listening: BoundSockets) -> bool:
    """Whether only clients on this machine can connect."""
    return all(ip_address(sock.getsockname()[0].partition("%")[0]).is_loopback for sock in listening.sockets)


def listeners(sockets: Sequence[socket.socket]) -> list[socket.socket]:
    """Each socket several times: uvloop accepts one connection per socket and loop iteration, and after a restart of
    the hub all clients connect at once."""
    return [listener for sock in sockets for listener in (sock, *(sock.dup() for _ in range(LISTENERS - 1)))]


# --- server -----------------------------------------------------------------------------------------------------------


async def serve(bus: Bus, settings: Settings, options: ServerOptions, ready: Callable[[], None] | None = None) -> None:
    """Run a hub until a signal ends it. `ready` is called once it answers."""
    # A batch of the largest messages is admitted; otherwise its sender would retry for ever.
    body_bytes_max = max(options.limits.body_bytes_max, settings.limits.message_bytes_max * BATCH_BYTES)
    limits = RequestLimits(
        options.limits._replace(
            body_bytes_max=body_bytes_max, bodies_bytes_max=max(options.limits.bodies_bytes_max, body_bytes_max)
        )
    )
    path = getattr(getattr(bus, "store", None), "path", None)
    is_shared = getattr(bus, "replica", None) is not None
    hooks = hook_routes(path) if isinstance(path, str) and not is_shared else ()  # where the store is this file alone
    alerts = AlertOptions(options.alerts, options.listening.address) if options.alerts is not None else None
    app = build_app(bus, settings, make_middleware(options, limits), hooks, alerts)
    server = make_server(app, options, limits, ready)
    with _ended_by_signals(server):
        await server.serve(sockets=listeners(options.listening.sockets))


def make_middleware(options: ServerOptions, limits: RequestLimits) -> Callable[[App], App]:
    """Authentication, then limits; the access log around both."""
    names = (*options.names, *_public_names(options.alerts))
    hosts = allowed_hosts(options.listening.port, names, options.listening.host)
    auth = AuthMiddleware(hosts, options.tokens, tokens_only=options.tokens_only)
    log = access_log(options.log) if options.log is not None else None
    return lambda app: log(auth(limits(app))) if log is not None else auth(limits(app))


def _public_names(alerts: NotifySettings | None) -> tuple[str, ...]:
    """The host of the links in alerts, which the operator has named."""
    host = urlsplit(alerts.public_url).netloc if alerts is not None and alerts.public_url else ""
    return (host,) if host else ()


class HubServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, limits: RequestLimits, ready: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._limits, self._ready = limits, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._ready is not None and self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().call_later(FINISH_SECONDS, self._limits.end)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Replaced by `_ended_by_signals`: uvicorn raises the signal again after shutdown, which kills the process."""
        yield


def make_server(
    app: App, options: ServerOptions, request_limits: RequestLimits, ready: Callable[[], None] | None = None
) -> HubServer:
    connections_max = min(options.limits.connections_max, _files_max() - RESERVED_FILES)
    limits = options.limits._replace(connections_max=connections_max)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # not a line for each invalid request
    config = uvicorn.Config(
        app,
        interface="asgi3",
        http=limited_protocol(limits),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,  # it would log the query
        proxy_headers=False,  # the connection identifies the client, never a header
        server_header=False,
        timeout_keep_alive=limits.idle_seconds,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        backlog=BACKLOG,
    )
    return HubServer(config, request_limits, ready)


@contextmanager
def _ended_by_signals(server: HubServer) -> Iterator[None]:
    """SIGTERM and Ctrl-C end the server; a second Ctrl-C ends it at once."""
    if threading.current_thread() is not threading.main_thread() or os.name == "nt":
        yield
        return
    loop, signals = asyncio.get_running_loop(), (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, server.handle_exit, number, None)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def _files_max() -> int:
    """Raise the limit of open files as far as allowed, and return it."""
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


# --- access log -------------------------------------------------------------------------------------------------------


def access_log(write: Callable[[str], None]) -> Callable[[App], App]:
    """Middleware that logs each request at its end, also refused ones: no query, headers, body or token."""

    async def handle(app: App, scope: Scope, receive: Receive, send: Send) -> None:
        sender, began = ResponseSender(send), perf_counter()
        try:
            await app(scope, receive, sender)
        finally:
            write(_log_line(scope, sender.status, perf_counter() - began))

    return http_middleware(handle)


def _log_line(scope: Scope, status: int, seconds: float) -> str:
    """`127.0.0.1 dev:hfeswcqg GET /inbox/dev 200 1.2 ms`"""
    peer, path = scope.get("client"), masked(scope["path"])
    if len(path) > PATH_CHARACTERS_MAX:
        path = path[: PATH_CHARACTERS_MAX - 1] + "…"
    caller: Caller | None = scope.get("state", {}).get("caller")
    name = "-" if caller is None or caller.token is None else shown(f"{caller.agent or HUMAN}:{caller.token}")
    return f"{peer[0] if peer else '-'} {name} {scope['method']} {shown(path)} {status or '-'} {seconds * 1000:.1f} ms"
