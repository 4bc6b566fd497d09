"""The three systems of the comparison: how a trial starts a worker, sends tasks and reads replies."""

import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import nats
import nats.errors
from nats_server import nats_server

import telex
from telex.messages.build_flow import TaskAssignment

HERE = Path(__file__).parent
PROGRAMS = Path(sys.executable).parent
LEAD = "build-orchestrator"


class System(Protocol):
    """One system under trial. `replies` counts replies by task id."""

    command: list[str]
    environment: dict[str, str]

    def send(self, tasks: list[str]) -> None: ...

    def replies(self) -> Counter[str]: ...


class Telex:
    def __init__(self, folder: Path) -> None:
        self._store = folder / "telex.db"
        self.command = [sys.executable, str(HERE / "telex_worker.py")]
        self.environment = {"TELEX_STORE": str(self._store)}
        self._seen: Counter[str] = Counter()

    def send(self, tasks: list[str]) -> None:
        with telex.connect(self._store) as bus:
            for task in tasks:
                bus.send(assignment(task), sender=LEAD, to="dev", id=task)

    def replies(self) -> Counter[str]:
        with telex.connect(self._store) as bus:
            for lease in bus.receive(LEAD, limit=1_000):
                self._seen[json.loads(lease.message.raw)["payload"]["taskId"]] += 1
                bus.ack(lease.token, agent=LEAD)
        return self._seen


class Huey:
    def __init__(self, folder: Path) -> None:
        path = str(folder / "huey.db")
        os.environ["HUEY_FILE"] = path  # read when the module is imported
        sys.modules.pop("huey_worker", None)
        self._task = import_module("huey_worker").build
        self.command = [str(PROGRAMS / "huey_consumer"), "huey_worker.huey", "-w", "4", "-q"]
        self.environment = {"HUEY_FILE": path}
        self._results: dict[str, Any] = {}

    def send(self, tasks: list[str]) -> None:
        for task in tasks:
            self._results[task] = self._task(fields(task))

    def replies(self) -> Counter[str]:
        """A result is stored under the id of its task, so there is at most one."""
        return Counter(task for task, result in self._results.items() if result.get(preserve=True) is not None)


class FastStreamOnNats:
    def __init__(self, url: str) -> None:
        self._url = url
        self.command = [str(PROGRAMS / "faststream"), "run", "faststream_worker:app", "--log-level", "error"]
        self.environment = {"NATS_URL": url}

    def send(self, tasks: list[str]) -> None:
        asyncio.run(self._send(tasks))

    def replies(self) -> Counter[str]:
        return asyncio.run(self._replies())

    async def _send(self, tasks: list[str]) -> None:
        client = await nats.connect(self._url)
        stream = client.jetstream()
        await stream.add_stream(name="team", subjects=["dev.tasks", "lead.replies"])
        for task in tasks:
            await stream.publish("dev.tasks", json.dumps({"messageId": task, **fields(task)}).encode())
        await client.close()

    async def _replies(self) -> Counter[str]:
        client = await nats.connect(self._url)
        reader = await client.jetstream().subscribe("lead.replies", ordered_consumer=True)
        seen: Counter[str] = Counter()
        while True:
            try:
                message = await reader.next_msg(timeout=0.3)
            except nats.errors.TimeoutError:
                break
            seen[json.loads(message.data)["taskId"]] += 1
        await client.close()
        return seen


def fields(task: str) -> dict[str, Any]:
    """The fields of a task assignment as plain JSON, for the systems without message types."""
    facts = {"taskId": task, "title": f"Task {task}", "description": f"Do {task}"}
    return {**facts, "phase": 1, "dependencies": [], "context": {}}


def assignment(task: str) -> TaskAssignment:
    return TaskAssignment(
        task_id=task, title=f"Task {task}", description=f"Do {task}", phase=1, dependencies=[], context={}
    )


@contextmanager
def opened(name: str, folder: Path) -> Iterator[System]:
    """Open one of the systems in an empty folder."""
    if name == "telex":
        yield Telex(folder)
    elif name == "huey":
        yield Huey(folder)
    else:
        with nats_server(PROGRAMS / "nats-server", folder) as url:
            yield FastStreamOnNats(url)


NAMES = ("telex", "huey", "faststream")
