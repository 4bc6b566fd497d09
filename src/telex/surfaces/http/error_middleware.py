"""Middleware for internal errors: a problem document in the response, the traceback in the hub's log.

The response says nothing about the error, because a traceback names paths and may quote messages of others.
"""

import logging

from telex.surfaces.http.asgi import App, Receive, ResponseSender, Scope, Send
from telex.surfaces.http.problem import problem

LOG = logging.getLogger("telex.http")
CODE = "internal-error"
MISTAKE = problem(
    500,
    CODE,
    "Ask the operator of the hub to look into its log: this is a bug in Telex, and the log has the traceback.",
)


def error_middleware(app: App) -> App:
    """The same app, whose mistakes are answered and logged. An answer that has begun is broken off, so that nobody
    takes the half of it for the whole."""

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        answering = ResponseSender(send)
        try:
            await app(scope, receive, answering)
        except Exception:
            if answering.began and not answering.done:
                raise  # the server logs it and closes the connection
            LOG.exception("%s %r failed", scope["method"], scope["path"][:200])
            await answering.finish(MISTAKE)

    return door
