"""`telex serve`: run a hub, which opens the bus to other machines, programs and people."""

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import click

from telex.surfaces.cli.bus_connection import MEMORY, explained, settings_here, stay_for_long, store_path
from telex.surfaces.cli.bus_options import grouped, store_option, text_option
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, FAILED, REFUSED, CommandError
from telex.surfaces.cli.output import shown
from telex.surfaces.cli.time_text import stamp

if TYPE_CHECKING:
    from telex.config import Settings
    from telex.surfaces.http.server import BoundSockets, ServerOptions
    from telex.surfaces.http.tokens import TokenFile

HOST, PORT = "127.0.0.1", 4477
GARBAGE = (50_000, 20, 50)  # gc thresholds: with Python's own, collecting takes a third of the time of a send
NEEDS = "telex serve needs more than the core: pip install 'telex[serve]'"


class ListenOptions(NamedTuple):
    host: str | None
    port: int
    names: tuple[str, ...]
    tokens_only: bool


@click.command("serve")
@text_option("--host", "ADDRESS", f"Address to listen on; {HOST} (this machine only) if not given.")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65_535),
    default=PORT,
    help=f"Port; {PORT} if not given; 0 for any free port.",
)
@click.option(
    "--host-name", "names", metavar="NAME", multiple=True,
    help="Also accept this host name, such as hub.example.org or, behind a proxy, hub.example.org:8443.",
)  # fmt: skip
@click.option("--tokens-only", is_flag=True, help="Require a token from local clients too.")
@click.option("--demo", is_flag=True, help="Run a demo team, in a store of its own.")
@click.option("--open", "open_page", is_flag=True, help="Open the page in a browser.")
@click.option("--log", is_flag=True, help="Log each request to stderr.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as a line of JSON on stdout.")
@store_option
@grouped(listen=ListenOptions)
def command(listen: ListenOptions, demo: bool, open_page: bool, log: bool, as_json: bool, store: str | None) -> int:
    """Run a hub: the bus over HTTP, live events, MCP and the web page.

    Local clients name themselves, as on the command line. Clients on other machines need a token (telex token
    create). Ctrl-C ends it.
    """
    _have_the_extra()
    from telex.surfaces.http.server import ServerOptions

    settings = _demo_settings() if demo else settings_here()
    with _listening(listen.host or HOST, listen.port) as listening:
        path = _demo_path(store) if demo else store_path(store)
        tokens = _tokens(path)
        _refuse_strangers(listening, tokens, listen.tokens_only)
        how = ServerOptions(
            listening,
            tokens,
            _names(listen.names),
            listen.tokens_only,
            log=_line if log else None,
            limits=settings.hub_limits(),
        )
        with explained():
            _run(path, settings, how, _told(path, how, demo=demo, open_page=open_page, as_json=as_json), demo=demo)
    return DONE


def _have_the_extra() -> None:
    try:
        import httptools  # noqa: F401 - the last package that an incomplete installation lacks
        import uvicorn  # noqa: F401

        import telex.surfaces.http.server  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "telex":
            raise
        raise CommandError(NEEDS, FAILED) from error


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


def _tokens(path: str) -> "TokenFile | None":
    from telex.surfaces.http.tokens import TokenFile, tokens_path

    return None if path == MEMORY else TokenFile(tokens_path(path))


def _refuse_strangers(listening: "BoundSockets", tokens: "TokenFile | None", tokens_only: bool) -> None:
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


# --- running ----------------------------------------------------------------------------------------------------------


def _told(path: str, how: "ServerOptions", *, demo: bool, open_page: bool, as_json: bool) -> Callable[[], None]:
    """Callback that prints the address once the hub answers."""
    address = how.listening.address

    def ready() -> None:
        stream = sys.stdout if as_json else sys.stderr
        words = f"the hub is at {address}{_playing(path) if demo else ''} (Ctrl-C ends it)"
        stream.write(
            (json_line({"url": address, "port": how.listening.port, "store": path}) if as_json else words) + "\n"
        )
        stream.flush()
        if open_page:
            _open(address)

    return ready


def _run(path: str, settings: "Settings", how: "ServerOptions", ready: Callable[[], None], *, demo: bool) -> None:
    from telex.connection import connect
    from telex.surfaces.http.server import serve

    async def main() -> None:
        async with connect(path, settings=settings) as bus:
            with _demo(path) if demo else _nothing():
                await serve(bus, settings, how, ready)

    stay_for_long()
    gc.set_threshold(*GARBAGE)
    _loop()(main())


def _loop() -> "Callable[..., None]":
    try:
        import uvloop
    except ModuleNotFoundError:  # not on Windows
        import asyncio

        return asyncio.run
    return uvloop.run


def _open(address: str) -> None:
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _line(text: str) -> None:
    sys.stderr.write(f"{stamp(time.time())} {text}\n")
    sys.stderr.flush()


# --- the demo ---------------------------------------------------------------------------------------------------------


def _demo_settings() -> "Settings":
    from telex.demo.loop import SETTINGS

    return SETTINGS


def _demo_path(store: str | None) -> str:
    from telex.demo.environment import prepare

    with explained():
        return prepare(store)


def _playing(path: str) -> str:
    return f", with a demo team in {shown(os.path.dirname(path) or '.')}"


@contextmanager
def _demo(path: str) -> Iterator[None]:
    """Run the demo team in a thread with a bus of its own, as another process would."""
    import threading

    from telex.demo.loop import keep_playing

    def trouble(error: Exception) -> None:
        sys.stderr.write(f"the demo team restarts: {shown(str(error) or type(error).__name__)}\n")

    stop = threading.Event()
    thread = threading.Thread(target=keep_playing, args=(path, os.path.dirname(path) or ".", stop, trouble))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def _nothing() -> Iterator[None]:
    yield
