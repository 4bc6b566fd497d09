"""The hub's own server, with nothing behind it: it reads the request and answers always the same.

`python -m bench.hub_floor door` has the hub's doorkeeper and its limits in front, as every verb has; with `bare` it is
the server alone. It prints its port on a line of its own.
"""

import json
import sys

import uvloop

from telex.surfaces.http.asgi import Receive, Scope, Send
from telex.surfaces.http.limits import Limited
from telex.surfaces.http.serving import Serving, listen, make_door, make_server

_RECEIPT = {
    "accepted": True, "id": "hub-10-1000", "state": "stored", "to": ["lead-10"], "dialect": "vbw-typed",
    "type": "execution_update", "findings": [], "duplicate": False, "answer": None, "mended": None, "certain": False,
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


def main(behind: str) -> None:
    listening = listen("127.0.0.1", 0)
    how, limited = Serving(listening), Limited()
    server = make_server(make_door(how, limited)(app) if behind == "door" else app, how, limited)
    sys.stdout.write(f"{listening.port}\n")
    sys.stdout.flush()
    uvloop.run(server.serve(sockets=list(listening.sockets)))


if __name__ == "__main__":
    main(sys.argv[1])
