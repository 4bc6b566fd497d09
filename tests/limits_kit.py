"""What the tests of the hub's limits share: an app with a door for each way to behave, behind small limits."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

from telex.model.limits import HUB_LIMITS, HubLimits
from telex.surfaces.http.asgi import Receive, Scope, Send, reply
from telex.surfaces.http.problem import HttpResponse
from telex.surfaces.http.token_file import TokenFile
from tests.auth_kit import connected, head, read_all, running

SMALL = HubLimits(
    head_seconds=1.0,  # long enough for a machine that is busy with other things
    body_seconds=1.0,
    write_seconds=1.5,
    idle_seconds=1,
    head_bytes_max=8_192,
    body_bytes_max=50_000,
    connections_max=6,
    requests_max=4,
    requests_per_token_max=2,
    viewers_max=3,
    viewers_per_token_max=1,
)
PATIENT = HUB_LIMITS._replace(connections_max=6, requests_max=4, requests_per_token_max=2, viewers_max=3)
FLOOD = b"x" * 4_194_304


class House:
    """An app with a door for each way to behave, and a note of what got as far as that."""

    def __init__(self) -> None:
        self.came: list[int] = []  # how many bytes each body had
        self.waiting = threading.Semaphore(0)
        self.given_up = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/wait":
            self.waiting.release()
            while (await receive())["type"] != "http.disconnect":
                pass
        elif scope["path"] == "/flood":
            await self._flood(receive, send)
        else:
            event = await receive() if scope["method"] == "POST" else {}
            self.came.append(len(event.get("body", b"")))
            await reply(send, HttpResponse(200, b"{}"))

    async def _flood(self, receive: Receive, send: Send) -> None:
        """Send for as long as the client is there."""
        gone = asyncio.ensure_future(self._gone(receive))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while not gone.done():
            await send({"type": "http.response.body", "body": FLOOD, "more_body": True})
            await asyncio.sleep(0)
        self.given_up.set()

    async def _gone(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass


class Hub(SimpleNamespace):
    port: int
    house: House
    tokens: TokenFile

    def asked(self, *parts: bytes) -> bytes:
        """Everything that is said to it, from the first byte to the close."""
        with connected(self.port) as connection:
            for part in parts:
                connection.sendall(part)
            return read_all(connection)


def hub_with(limits: HubLimits, tmp_path: Path) -> Iterator[Hub]:
    house = House()
    with running(house, tmp_path, limits) as port:
        yield Hub(port=port, house=house, tokens=TokenFile(str(tmp_path / "tokens.json")))


def post(hub: Hub, *headers: str) -> bytes:
    return head(hub.port, "POST /send HTTP/1.1", *headers)
