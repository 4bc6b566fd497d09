"""Access log of the hub: one line per request, without query, headers, body or token."""

from collections.abc import Callable, MutableMapping
from time import perf_counter
from typing import Any

from telex.model.roster import HUMAN
from telex.model.text import shown
from telex.surfaces.http.asgi import App, Receive, Scope, Send
from telex.surfaces.http.caller import Caller
from telex.surfaces.http.tokens import masked

PATH_CHARACTERS_MAX = 200


def logged(app: App, write: Callable[[str], None]) -> App:
    """The same app; each request is told when it is over, also those that the doorkeeper turns away."""

    async def told(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        status, began = 0, perf_counter()

        async def noticed(event: MutableMapping[str, Any]) -> None:
            nonlocal status
            if event["type"] == "http.response.start":
                status = event["status"]
            await send(event)

        try:
            await app(scope, receive, noticed)
        finally:
            write(line(scope, status, perf_counter() - began))

    return told


def line(scope: Scope, status: int, seconds: float) -> str:
    """`127.0.0.1 dev:hfeswcqg GET /inbox/dev 200 1.2 ms`"""
    peer, path = scope.get("client"), masked(scope["path"])
    if len(path) > PATH_CHARACTERS_MAX:
        path = path[: PATH_CHARACTERS_MAX - 1] + "…"
    who = _who(scope.get("state", {}).get("caller"))
    return f"{peer[0] if peer else '-'} {who} {scope['method']} {shown(path)} {status or '-'} {seconds * 1000:.1f} ms"


def _who(caller: Caller | None) -> str:
    """Whom the doorkeeper took it for: a token's name and id, or somebody who came without one."""
    if caller is None or caller.token is None:
        return "-"
    return shown(f"{caller.agent or HUMAN}:{caller.token}")
