"""Clients of the hubs during faults: senders, workers and readers of their own writes, with a ledger file each.

A client writes a line into its ledger after a hub has answered it. The ledgers know nothing of the hubs' files: the
verdict compares the two. Clients have the addresses of all hubs, repeat by id, and connect anew now and then, so that
each hub has some of them also after it was restarted.
"""

import asyncio
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

import httpx2

import telex
from telex.config import Settings
from telex.errors import LeaseLost, StoreError
from telex.http_client.transport import POSITION
from telex.model.message import LeasedMessage
from telex.ports.bus import Bus

INBOX = "lead"
LEASE_SECONDS = 3.0
DAWDLE_SHARE = 0.01  # of leases, which are held until they have expired
PAUSE_SECONDS = 0.02  # between two sends of one client
RETRY_SECONDS = 0.1
SESSION_REQUESTS = (20, 80)  # of one connection
ANSWER_SECONDS = 30.0
UNAVAILABLE = (429, 503)
SENT, ACKED, ACKED_BEFORE, LEASE_LOST, READ, UNREAD = "sent", "acked", "acked-before", "lease-lost", "read", "unread"


class Ledger:
    """Lines of words in a file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1, encoding="utf-8")

    def write(self, *words: object) -> None:
        self._file.write(" ".join(str(word) for word in words) + "\n")

    def close(self) -> None:
        self._file.close()


def read_ledgers(folder: Path) -> list[list[str]]:
    """The lines of all ledgers."""
    paths = sorted(folder.glob("*.ledger"))
    return [line.split() for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


class Client:
    """One client: it works until it is stopped, and goes on after every error."""

    def __init__(self, name: str, urls: Sequence[str], folder: Path, seed: int) -> None:
        self.name, self._urls, self._random = name, list(urls), Random(seed)
        self._ledger = Ledger(folder / f"{name}.ledger")
        self._number = 0
        self.acknowledged: list[tuple[float, str]] = []  # sends, with their time
        self.is_stopped = False
        self.errors = 0

    async def run(self) -> None:
        try:
            while not self.is_stopped:
                try:
                    await self._session()
                except StoreError:
                    self.errors += 1
                    await asyncio.sleep(RETRY_SECONDS)
        finally:
            self._ledger.close()

    async def _session(self) -> None:
        """Some requests on one connection, to a hub of its choice first."""
        self._random.shuffle(self._urls)
        async with telex.connect(",".join(self._urls), settings=Settings()) as bus:
            for _ in range(self._random.randint(*SESSION_REQUESTS)):
                if self.is_stopped:
                    return
                await self._request(bus)

    async def _request(self, bus: Bus) -> None:
        raise NotImplementedError

    @property
    def _next_id(self) -> str:
        """The same until it was acknowledged."""
        return f"{self.name}-{self._number}"

    def _sent(self, id: str) -> None:
        self._ledger.write(SENT, id)
        self.acknowledged.append((time.monotonic(), id))
        self._number += 1


class Sender(Client):
    """It sends one message after the other; after an error it sends the same one again."""

    async def _request(self, bus: Bus) -> None:
        name = self._next_id
        receipt = await bus.send(f"a note: {name}", sender=self.name, to=INBOX, id=name)
        assert receipt.accepted
        self._sent(name)
        await asyncio.sleep(PAUSE_SECONDS)


class Worker(Client):
    """It leases messages and acks them; a few too late."""

    async def _request(self, bus: Bus) -> None:
        leases = await bus.receive(INBOX, limit=self._random.randint(1, 8), wait=0.5, lease=LEASE_SECONDS)
        if leases and self._random.random() < DAWDLE_SHARE:
            await asyncio.sleep(LEASE_SECONDS * 1.2)
        for lease in leases:
            await self._ack(bus, lease)

    async def _ack(self, bus: Bus, lease: LeasedMessage) -> None:
        try:
            is_first = await bus.ack(lease.token, agent=INBOX)
        except LeaseLost:
            self._ledger.write(LEASE_LOST, lease.message.id, lease.token)
        else:
            self._ledger.write(ACKED if is_first else ACKED_BEFORE, lease.message.id, lease.token)


class OwnReader(Client):
    """It sends to one hub and reads the message from another one, with the position that the first has named."""

    async def _session(self) -> None:
        async with httpx2.AsyncClient(timeout=ANSWER_SECONDS, trust_env=False) as http:
            for _ in range(self._random.randint(*SESSION_REQUESTS)):
                if self.is_stopped:
                    return
                with suppress(httpx2.TransportError):
                    await self._send_and_read(http)
                await asyncio.sleep(PAUSE_SECONDS)

    async def _send_and_read(self, http: httpx2.AsyncClient) -> None:
        name, (first, second) = self._next_id, self._random.sample(self._urls, 2)
        query = {"sender": self.name, "to": INBOX, "id": name}
        sent = await http.post(f"{first}/send", params=query, content=f"a note: {name}")
        if sent.status_code not in (200, 201):
            return  # the same again, at another hub
        self._sent(name)
        headers = {POSITION: sent.headers[POSITION]}
        found = await http.get(f"{second}/messages/{name}", headers=headers)
        if found.status_code in UNAVAILABLE:
            return  # behind, busy or stopping, and says so
        self._ledger.write(READ if found.status_code == 200 else UNREAD, name, found.status_code)


class Load:
    """All clients, on an event loop in a thread of their own."""

    def __init__(self, urls: Sequence[str], folder: Path, seed: int, *, senders: int, workers: int, readers: int):
        random = Random(seed)
        kinds: list[type[Client]] = [Sender] * senders + [Worker] * workers
        kinds += [OwnReader] * readers if len(urls) > 1 else []
        self.folder = folder
        self.clients = [
            kind(f"{kind.__name__.lower()}{number}", urls, folder, random.randrange(2**32))
            for number, kind in enumerate(kinds)
        ]
        self._failures: list[BaseException] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="load")

    def _run(self) -> None:
        try:
            asyncio.run(self._run_all())
        except (Exception, asyncio.CancelledError) as error:
            self._failures.append(error)

    async def _run_all(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        async with asyncio.TaskGroup() as group:
            for client in self.clients:
                group.create_task(client.run())

    def start(self) -> None:
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Let each client finish its request.

        Raises:
            AssertionError: one got no answer in time, or has ended by itself.
        """
        for client in self.clients:
            client.is_stopped = True
        self._thread.join(seconds)
        is_late = self._thread.is_alive()
        if is_late and self._loop is not None and self._task is not None:
            self._loop.call_soon_threadsafe(self._task.cancel)
            self._thread.join()
        assert not is_late, "a client got no answer"
        self.check()

    def check(self) -> None:
        """
        Raises:
            AssertionError: a client has ended by itself.
        """
        assert not self._failures, repr(self._failures)

    def acknowledged(self, count: int) -> list[str]:
        """The ids of each client's last acknowledged sends."""
        return [name for client in self.clients for _, name in client.acknowledged[-count:]]

    def times(self, since: float) -> list[float]:
        """The times of acknowledged sends from then on, and of the last one before."""
        times = sorted(at for client in self.clients for at, _ in client.acknowledged)
        first = next((number for number, at in enumerate(times) if at >= since), len(times))
        return times[max(0, first - 1) :]

    @property
    def count(self) -> int:
        return sum(len(client.acknowledged) for client in self.clients)
