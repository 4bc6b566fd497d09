"""`telex serve`: the hub."""

import gc
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import click

from telex.config import NATS
from telex.connection import FILE, STORE
from telex.model.named_tuple import NamedTuple
from telex.project import STORE_FOLDER
from telex.surfaces.cli.connection import (
    MEMORY,
    explained,
    settings_here,
    store_path,
)
from telex.surfaces.cli.options import (
    command,
    flag,
    grouped,
    store_option,
    text_option,
)
from telex.surfaces.cli.output import json_line, shown
from telex.surfaces.cli.render import stamp
from telex.surfaces.cli.usage import DONE, FAILED, REFUSED, CommandError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from telex.config import Settings
    from telex.config.notify import NotifySettings
    from telex.ports.bus import Bus
    from telex.stores.nats.address import TeamAddress
    from telex.surfaces.http.server import BoundSockets, ServerOptions
    from telex.surfaces.http.tokens import TokenFile

    OpenBus = AbstractAsyncContextManager[Bus]

HOST, PORT = "127.0.0.1", 4477
GARBAGE = (50_000, 20, 50)  # gc thresholds: with the default, collecting takes a third of the time of a send
NEEDS = "telex {0} needs more than the core: pip install 'telex[{0}]'"
NOTIFY_FILE = "telex/notify.toml in your configuration folder"
HOST_NAME = "Also accept this host name, such as hub.example.org or, behind a proxy, hub.example.org:8443."


class ListenOptions(NamedTuple):
    host: str | None
    port: int
    names: tuple[str, ...]
    notify: str | None
    tokens_only: bool


class ReplicaArguments(NamedTuple):
    """Options of a hub that shares its team with others."""

    data: str | None
    replicas: int
    nats_monitor: str | None
    accept_weaker_durability: bool


class ServeOptions(NamedTuple):
    demo: bool
    open_page: bool
    log: bool
    as_json: bool


@command(
    "serve",
    [
        text_option("--host", "ADDRESS", f"Address to listen on; {HOST} (this machine only) if not given."),
        click.option(
            "--port",
            metavar="N",
            type=click.IntRange(0, 65_535),
            default=PORT,
            help=f"Port; {PORT} if not given; 0 for any free port.",
        ),
        click.option("--host-name", "names", metavar="NAME", multiple=True, help=HOST_NAME),
        text_option("--notify", "FILE", f"Settings of alerts; {NOTIFY_FILE} if not given, and none with --demo."),
        flag("--tokens-only", "Require a token from local clients too."),
        flag("--demo", "Run a demo team, in a store of its own."),
        flag("--open", "Open the page in a browser.", "open_page"),
        flag("--log", "Log each request to stderr."),
        flag("--json", "Print the address as a line of JSON on stdout.", "as_json"),
        store_option,
        text_option("--data", "FOLDER", "Folder of this hub's copy, with --store nats://…; .telex/TEAM if not given."),
        click.option(
            "--replicas",
            metavar="N",
            type=click.Choice(("1", "3", "5")),
            default="3",
            callback=lambda _ctx, _param, value: int(value),
            help="Replicas of a log that is made, with --store nats://…; 3 if not given.",
        ),
        text_option(
            "--nats-monitor",
            "URLS",
            "Monitoring addresses of the NATS servers, with commas between them: the hub checks that they sync.",
        ),
        flag(
            "--accept-weaker-durability",
            "Start also if an acknowledged message could be lost together with one machine.",
        ),
        grouped(listen=ListenOptions, options=ServeOptions, replica=ReplicaArguments),
    ],
)
def serve_command(listen: ListenOptions, options: ServeOptions, replica: ReplicaArguments, store: str | None) -> int:
    """Run a hub: the bus over HTTP, live events, MCP and the web page.

    Local clients name themselves, as on the command line. Clients on other machines need a token (telex token
    create). Ctrl-C ends it. With --store nats://HOST:PORT,HOST:PORT/TEAM several hubs share one team.
    """
    _require_packages()
    from telex.demo.story import SETTINGS
    from telex.demo.team import prepare
    from telex.surfaces.http.server import ServerOptions
    from telex.surfaces.http.tokens import TokenFile, tokens_path

    settings = SETTINGS if options.demo else settings_here()
    team = _replicated(store, replica, options)
    with _listening(listen.host or HOST, listen.port) as listening:
        with explained():
            if team is not None:
                path = os.path.join(team.folder, FILE)
            else:
                path = prepare(store) if options.demo else store_path(store)
        tokens = None if path == MEMORY else TokenFile(tokens_path(path))
        _require_token(listening, tokens, listen.tokens_only)
        server = ServerOptions(
            listening,
            tokens,
            _names(listen.names),
            listen.tokens_only,
            log=_log if options.log else None,
            limits=settings.hub_limits(),
            alerts=_alerts(listen.notify, options),
        )
        with explained():
            _serve(path, settings, server, options, team)
    return DONE


def _alerts(path: str | None, options: ServeOptions) -> "NotifySettings | None":
    """A demo sends no notifications, unless `--notify` is given."""
    from telex.config.notify import load_notify

    if path is None and options.demo:
        return None
    with explained():
        return load_notify(path)


class ReplicatedTeam(NamedTuple):
    """Address and options of a team that several hubs share."""

    address: "TeamAddress"
    folder: str
    arguments: ReplicaArguments


def _replicated(store: str | None, arguments: ReplicaArguments, options: ServeOptions) -> ReplicatedTeam | None:
    """The team that --store or TELEX_STORE names; None: the store is a file. A telex.toml cannot name one: it comes
    with a repository, and the hub would send its NATS password there."""
    where = store or os.environ.get(STORE)
    if where is None or not where.lower().startswith(NATS):
        return None
    if options.demo:
        raise CommandError("the demo team has a store of its own: start it with telex demo --store http://HUB")
    try:
        from telex.stores.nats.address import parse_address
    except ModuleNotFoundError as error:
        raise CommandError(NEEDS.format("nats"), FAILED) from error
    with explained():
        address = parse_address(where)
    folder = arguments.data or os.path.join(STORE_FOLDER, address.team)
    return ReplicatedTeam(address, folder, arguments)


def _require_packages() -> None:
    try:
        import httptools  # noqa: F401 - the last package that an incomplete installation lacks
        import uvicorn  # noqa: F401

        import telex.surfaces.http.server  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "telex":
            raise
        raise CommandError(NEEDS.format("serve"), FAILED) from error


@contextmanager
def _listening(host: str, port: int) -> "Iterator[BoundSockets]":
    from telex.surfaces.http.server import listen

    try:
        listening = listen(host, port)
    except OSError as error:
        import errno

        if error.errno == errno.EADDRINUSE:
            say = f"port {port} is in use, perhaps by another hub; choose another with --port, or --port 0 for any"
        else:
            say = f"cannot listen on {shown(host)} port {port}: {error.strerror or error}"
        raise CommandError(say, FAILED) from error
    except UnicodeError as error:
        raise CommandError(f"--host {shown(host)} is no address") from error
    try:
        yield listening
    finally:
        for socket in listening.sockets:
            socket.close()


def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not name or not name.isascii() or any(letter in name for letter in "/@*?# ") or "://" in name:
            raise CommandError(f"--host-name takes a name such as hub.example.org, not {shown(name)}")
    return names


def _require_token(listening: "BoundSockets", tokens: "TokenFile | None", tokens_only: bool) -> None:
    """Refuse to listen beyond this machine while there is no valid token."""
    from telex.surfaces.http.server import is_only_here

    with explained():
        now = time.time()
        there_are = tokens is not None and any(not token.is_over(now) for token in tokens.tokens().values())
    if there_are or (is_only_here(listening) and not tokens_only):
        return
    why = "every client would need a token" if is_only_here(listening) else "other machines could connect"
    make = "create one first: telex token create --operator, or --agent NAME --role ROLE"
    raise CommandError(f"{why}, and there is no valid token: {make}", REFUSED)


def _serve(
    path: str, settings: "Settings", server: "ServerOptions", options: ServeOptions, team: ReplicatedTeam | None
) -> None:
    from telex.connection import connect
    from telex.surfaces.http.server import serve

    async def main() -> None:
        opened = connect(path, settings=settings) if team is None else _open_replicated(team, settings, server)
        async with opened as bus:
            if team is not None:
                _print_durability(bus)
            with _demo_team(path) if options.demo else nullcontext():
                await serve(bus, settings, server, lambda: _print_address(path, server, options))

    gc.set_threshold(*GARBAGE)
    try:
        import uvloop as loop
    except ModuleNotFoundError:  # not on Windows
        import asyncio as loop  # type: ignore[no-redef]
    loop.run(main())


def _open_replicated(team: ReplicatedTeam, settings: "Settings", server: "ServerOptions") -> "OpenBus":
    from telex import __version__
    from telex.connection import open_replicated

    try:
        from telex.stores.nats.durability import ask_known_servers
        from telex.stores.nats.store import ReplicaOptions
    except ModuleNotFoundError as error:
        raise CommandError(NEEDS.format("nats"), FAILED) from error
    arguments = team.arguments
    monitors = arguments.nats_monitor.split(",") if arguments.nats_monitor else ()
    options = ReplicaOptions(
        replicas=arguments.replicas,
        url=server.listening.address,
        version=__version__,
        servers=tuple(ask_known_servers(monitors, team.folder)),
        accepts_weaker=arguments.accept_weaker_durability,
    )
    return open_replicated(team.address, team.folder, settings, options)


def _print_durability(bus: "Bus") -> None:
    from telex.stores.nats.durability import describe
    from telex.surfaces.http.replica import replica_of

    replica = replica_of(bus)
    if replica is not None:
        status = replica.status()
        lost = "" if status.is_durable else ": an acknowledged message may be lost with one machine"
        sys.stderr.write(f"the log has {describe(status.replicas, status.synced)}{lost}\n")
        if status.halted:
            sys.stderr.write(f"this hub only serves reads: {shown(status.halted)}\n")


def _print_address(path: str, server: "ServerOptions", options: ServeOptions) -> None:
    """Print the address once the hub answers."""
    address, stream = server.listening.address, sys.stdout if options.as_json else sys.stderr
    demo = f", with a demo team in {shown(os.path.dirname(path) or '.')}" if options.demo else ""
    facts = {"url": address, "port": server.listening.port, "store": path}
    stream.write((json_line(facts) if options.as_json else f"the hub is at {address}{demo} (Ctrl-C ends it)") + "\n")
    stream.flush()
    if options.open_page:
        import webbrowser

        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _log(text: str) -> None:
    sys.stderr.write(f"{stamp(time.time())} {text}\n")
    sys.stderr.flush()


@contextmanager
def _demo_team(path: str) -> Iterator[None]:
    """Run the demo team in a thread with a bus of its own, as another process would."""
    from telex.demo.story import keep_playing

    def report(error: Exception) -> None:
        sys.stderr.write(f"the demo team restarts: {shown(str(error) or type(error).__name__)}\n")

    stop, begun = threading.Event(), threading.Event()
    thread = threading.Thread(target=keep_playing, args=(path, os.path.dirname(path) or ".", stop, report, begun))
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        stop.set()
        thread.join()
