"""The hub's server with a constant response.

`python -m bench.hub_floor hub` is the whole hub with one more route, which returns a constant; `door` is its server
with authentication and limits; `bare` is the server alone. It prints its port on a line of its own.
"""

import json
import sys

import uvloop
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import telex
from telex.config import Settings
from telex.surfaces.http.app import build_app
from telex.surfaces.http.asgi import App, Receive, Scope, Send
from telex.surfaces.http.limits import RequestLimits
from telex.surfaces.http.server import ServerOptions, listen, make_middleware, make_server

_RECEIPT = {
    "accepted": True, "id": "hub-10-1000", "state": "stored", "to": ["lead-10"], "dialect": "vbw-typed",
    "type": "execution_update", "findings": [], "duplicate": False, "answer": None, "fixed": None, "certain": False,
}  # fmt: skip
BODY = json.dumps(_RECEIPT, separators=(",", ":")).encode()  # as long as what the hub answers
HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(BODY)).encode())]


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})


async def constant(request: Request) -> Response:
    await request.body()
    return Response(BODY, 200, media_type="application/json")


async def serve(behind: str) -> None:
    listening = listen("127.0.0.1", 0)
    how, limited = ServerOptions(listening), RequestLimits()
    door = make_middleware(how, limited)
    async with telex.connect("memory:", settings=Settings()) as bus:
        apps: dict[str, App] = {
            "hub": build_app(bus, Settings(), door, [Route("/constant", constant, methods=["POST"])]),
            "door": door(app),
            "bare": app,
        }
        sys.stdout.write(f"{listening.port}\n")
        sys.stdout.flush()
        await make_server(apps[behind], how, limited).serve(sockets=list(listening.sockets))


def main(behind: str) -> None:
    uvloop.run(serve(behind))


if __name__ == "__main__":
    main(sys.argv[1])
