"""Trace middleware: the `traceparent` of a request is stored with the messages that it sends."""

from telex.ports.environment import TRACEPARENT, carrying
from telex.surfaces.http.asgi import App, Receive, Scope, Send, header

_NAME = TRACEPARENT.encode()


def trace_middleware(app: App) -> App:
    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        said = header(scope, _NAME) if scope["type"] == "http" else b""
        if not said:
            await app(scope, receive, send)
            return
        with carrying(said.decode("latin-1")):
            await app(scope, receive, send)

    return door
