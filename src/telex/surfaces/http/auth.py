"""Authentication middleware: every request passes it first, and the routes behind it do not authenticate again.

Host names and origins are in `allowed_hosts.py`, tokens in `tokens.py`, names in arguments in `identity.py`. A client
on this machine without a token names itself, as on the command line; every other client needs a token. It runs before
every request, so it does little and imports little.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

from telex.errors import TelexError
from telex.surfaces.http.allowed_hosts import AllowedHosts, RequestHeaders, asked, is_loopback, misplaced
from telex.surfaces.http.asgi import App, Receive, ResponseSender, Scope, Send, reply
from telex.surfaces.http.auth_errors import TOKEN_NEEDED, TOKEN_NOT_VALID, TOKENS_UNREADABLE
from telex.surfaces.http.caller import AT_HOME, Caller
from telex.surfaces.http.problem import HttpResponse
from telex.surfaces.http.token_validity import TokenValidity
from telex.surfaces.http.tokens import Token

NOBODY = Caller(None, None, False, None)  # has shown nothing, and sees what everybody may
OPEN_TO_ALL = frozenset(("/", "/healthz", "/readyz"))
_STATIC = "/static/"
_BEARER = "bearer"


class TokenLookup(Protocol):
    def holder(self, text: str, now: float) -> Token | None: ...


class AuthMiddleware:
    """`doorkeeper(app)` is the app behind its door."""

    def __init__(
        self,
        allowed_hosts: AllowedHosts,
        tokens: TokenLookup | None = None,
        *,
        tokens_only: bool = False,  # also for whoever comes from this machine
        now: Callable[[], float] = time.time,
    ) -> None:
        self._known, self._tokens, self._tokens_only, self._now = allowed_hosts, tokens, tokens_only, now
        self.standing = TokenValidity(self._is_valid)

    def __call__(self, app: App) -> App:
        async def door(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                await app(scope, receive, send)
            elif scope["type"] != "http":
                await send({"type": "websocket.close", "code": 1008})  # nothing here speaks it
            else:
                caller = self.caller(scope)
                if isinstance(caller, HttpResponse):
                    await reply(send, caller)
                else:
                    scope.setdefault("state", {})["caller"] = caller
                    await (app if caller.token is None else self._watched(app))(scope, receive, send)

        return door

    def _watched(self, app: App) -> App:
        """For as long as the token is valid. What is open under one that is revoked, or runs out, is ended."""

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            task = asyncio.current_task()
            assert task is not None, "a server runs every request as a task"
            answering = ResponseSender(send)
            self.standing.begin(task, _shown(asked(scope["headers"])))
            try:
                await app(scope, receive, answering)
            except asyncio.CancelledError:
                if not self.standing.is_over(task):
                    raise
                task.uncancel()
                await answering.finish(TOKEN_NOT_VALID)
            finally:
                self.standing.end(task)

        return watched

    def caller(self, scope: Scope) -> Caller | HttpResponse:
        """Who this request is from, or why it goes no further."""
        request, path = asked(scope["headers"]), scope["path"]
        refused = misplaced(request, scope["method"], path, self._known, scope.get("server"))
        if refused is not None:
            return refused
        if request.shown:
            return self._holder(request)
        peer = scope.get("client")
        if not self._tokens_only and not request.forwarded and is_loopback(peer[0] if peer else None):
            return AT_HOME
        return NOBODY if path in OPEN_TO_ALL or path.startswith(_STATIC) else TOKEN_NEEDED

    def _holder(self, request: RequestHeaders) -> Caller | HttpResponse:
        """A token that is shown is looked at: one that is wrong never counts as none."""
        scheme = request.shown[0].decode("latin-1").strip().partition(" ")[0]
        if len(request.shown) != 1 or scheme.lower() != _BEARER or self._tokens is None:
            return TOKEN_NOT_VALID
        try:
            token = self._tokens.holder(_shown(request), self._now())
        except TelexError:
            return TOKENS_UNREADABLE  # a stranger is not told the path, nor what is wrong with the file
        return TOKEN_NOT_VALID if token is None else token.caller

    def _is_valid(self, text: str) -> bool:
        """Still? Of a list that cannot be read for a moment nobody knows: whoever asks anew is told."""
        assert self._tokens is not None, "nobody has come in with a token where there are none"
        try:
            return self._tokens.holder(text, self._now()) is not None
        except TelexError:
            return False


def _shown(request: RequestHeaders) -> str:
    """The text of the token."""
    return request.shown[0].decode("latin-1").strip().partition(" ")[2].strip()
