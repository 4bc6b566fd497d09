"""Random acts of a team on a bus, and a record of every answer and of the end state, to compare two runs."""

import json
import re
from collections.abc import Callable, Coroutine, Iterable, Sequence
from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st

from telex.bus.local import LocalBus
from telex.dialects.builtin.vbw_typed import SHUTDOWN_REQUEST, SHUTDOWN_RESPONSE
from telex.dialects.registry import BUILT_IN
from telex.errors import TelexError
from telex.model.message import LeasedMessage
from telex.model.work import TASK_STATES, moves, standing
from telex.ports.bus import Receipt
from telex.ports.store import (
    EVERYTHING,
    Reads,
    Store,
    deliveries_of,
    events_with_messages,
    overdue_requests,
    topic_messages,
)
from telex.testing import FakeClock
from telex.testing.sim_team import SimHeader, nonsense, sayable, written
from telex.work import reducer
from telex.work.snapshots import encode_state
from telex.work.view import FOLDS
from tests.bus.bus_team import flow
from tests.work.contract_team import answer, ask, contract, report, typed

MEMBERS = {
    "lead": "lead", "kim": "lead", "dev": "dev", "ada": "dev", "qa": "qa", "architect": "architect",
    "orchestrator": "orchestrator", "worker": "worker",
}  # fmt: skip
PLANS, TASKS = ("P", "Q"), ("T1", "T2")
EVENTS_MAX, FAR_AWAY = 100_000, 1e12
GENERATED = re.compile(r"id-\d{6}")  # an id that the clock of a test has made
WEIGHTS = {
    "say": 6, "contract": 3, "report": 5, "ask": 3, "answer": 4, "stop": 2, "stopped": 2, "move": 3, "text": 2,
    "nonsense": 1, "repeat": 3, "receive": 4, "settle": 4, "wait": 2, "join": 1, "leave": 1, "approve": 1,
}  # fmt: skip


class Act(NamedTuple):
    kind: str
    seed: int  # of everything else about it


SENDS = ("say", "contract", "report", "ask", "answer", "stop", "stopped", "move", "text", "nonsense", "repeat")
ACTS = st.builds(
    Act, st.sampled_from([kind for kind, times in WEIGHTS.items() for _ in range(times)]), st.integers(0, 10**6)
)
HISTORIES = st.lists(ACTS, min_size=12, max_size=25)


def history_of(seed: int, length: int = 25, among: Iterable[str] = tuple(WEIGHTS)) -> list[Act]:
    """Acts that are the same in every run, for a planted fault that must be found."""
    random, kinds = Random(seed), list(among)
    chosen = random.choices(kinds, [WEIGHTS[kind] for kind in kinds], k=length)
    return [Act(kind, random.randrange(10**6)) for kind in chosen]


class Send(NamedTuple):
    """Arguments of one send."""

    raw: bytes
    sender: str
    given: dict[str, Any]

    def to(self, bus: LocalBus) -> Coroutine[Any, Any, Receipt]:
        return bus.send(self.raw, sender=self.sender, check=False, **self.given)


class Player:
    """Plays acts on a bus, and records the answers. The same acts on equal buses get the same answers."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.answers: list[Any] = []
        self.sends: list[Send] = []  # every message that was sent, stored or not
        self._sent: list[Send] = []  # those that were stored
        self._requests: list[tuple[str, str]] = []  # for approval: id and sender
        self._calls: list[tuple[str, str]] = []  # requests to shut down: id and who is asked
        self._leases: list[tuple[str, LeasedMessage]] = []

    async def play(self, act: Act, bus: LocalBus) -> None:
        try:
            done = await getattr(self, act.kind)(bus, Random(act.seed))
        except TelexError as error:
            done = type(error).__name__
        self.answers.append((act.kind, done))

    # --- sends -------------------------------------------------------------------------------------------------------

    async def _send(
        self, bus: LocalBus, raw: bytes | dict[str, Any], sender: str, to: str | None, **more: Any
    ) -> Receipt:
        data = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
        given = {"role": MEMBERS.get(sender), "to": to, **more}
        self.sends.append(Send(data, sender, given))
        receipt = await self.sends[-1].to(bus)
        if receipt.accepted and not receipt.duplicate:
            self._sent.append(self.sends[-1])
            if receipt.type == "approval_request":
                self._requests.append((receipt.id, sender))
            elif receipt.type == "shutdown_request":
                self._calls += [(receipt.id, name) for name in receipt.to if name in MEMBERS]
        return receipt

    def _id(self, random: Random) -> str:
        """A new id, or now and then one that was used."""
        number = len(self.answers)
        return f"m{number if random.random() < 0.9 else random.randrange(number + 1)}"

    def _to(self, random: Random) -> str:
        name = random.choice(list(MEMBERS))
        return random.choice([name, name, name, f"role:{MEMBERS[name]}", f"all:{MEMBERS[name]}", "*", "nobody"])

    async def say(self, bus: LocalBus, random: Random) -> object:
        """Any type that the sender's role may send."""
        sender, to = random.choice(list(MEMBERS)), self._to(random)
        dialect, type_ = random.choice(sayable(MEMBERS[sender], MEMBERS.get(to)) or sayable(MEMBERS[sender], None))
        replies = random.choice([None, None, *[f"m{number}" for number in range(len(self.answers))][-3:]])
        header = SimHeader(
            sender=sender,
            role=MEMBERS[sender],
            to=to,
            to_role=MEMBERS.get(to),
            id=self._id(random),
            topic=random.choice(TASKS),
            reply_to=replies,
        )
        raw = written(dialect, type_, header)
        return await self._send(bus, raw, sender, to, reply_to=None if dialect.wire.reply_to else replies)

    async def contract(self, bus: LocalBus, random: Random) -> object:
        paths = random.choice([["src/"], ["src/", "lib/"]])
        raw = contract(random.choice(PLANS), allowed_paths=paths, id=self._id(random))
        return await self._send(bus, raw, random.choice(["lead", "kim"]), random.choice(["dev", "role:dev", "all:dev"]))

    async def report(self, bus: LocalBus, random: Random) -> object:
        files, status = (
            random.choice([["src/a.py"], ["docs/x.md"], []]),
            random.choice(["complete", "partial", "failed"]),
        )
        raw = report(random.choice(PLANS), random.choice(TASKS), files, status=status, id=self._id(random))
        return await self._send(bus, raw, random.choice(["dev", "ada"]), "lead")

    async def ask(self, bus: LocalBus, random: Random) -> object:
        raw = ask(random.choice(["scope_change", "plan_approval"]), random.choice(TASKS), id=self._id(random))
        return await self._send(bus, raw, random.choice(["dev", "ada"]), random.choice(["lead", "role:lead"]))

    async def answer(self, bus: LocalBus, random: Random) -> object:
        if not self._requests:
            return await self.ask(bus, random)
        request, sender = random.choice(self._requests)
        raw = answer(request, ["docs/"], approved=random.random() < 0.7, id=self._id(random))
        return await self._send(bus, raw, random.choice(["lead", "kim"]), sender)

    async def stop(self, bus: LocalBus, random: Random) -> object:
        raw = typed(SHUTDOWN_REQUEST, "", id=self._id(random))
        return await self._send(bus, raw, "lead", random.choice(["dev", "ada", "qa", "all:dev"]))

    async def stopped(self, bus: LocalBus, random: Random) -> object:
        if not self._calls:
            return await self.stop(bus, random)
        request, sender = random.choice(self._calls)
        raw = typed(SHUTDOWN_RESPONSE, "", MEMBERS[sender], request_id=request, id=self._id(random))
        return await self._send(bus, raw, sender, "lead")

    async def move(self, bus: LocalBus, random: Random) -> object:
        """By the state of the task as this bus knows it; now and then a wrong one."""
        name = random.choice(["MOVE-1", "MOVE-2"])
        task = (await bus.work_state("task")).get(f"task:{name}")
        status = standing(TASK_STATES, task.steps if task is not None else ())
        to = random.choice([*moves(TASK_STATES, status), "planning"])
        payload = {"taskId": name, "fromState": status.state, "toState": to, "reason": "on it goes"}
        raw = flow("STATE_TRANSITION", self._id(random), "dev", "lead", name, payload=payload)
        return await self._send(bus, raw, "dev", "lead")

    async def text(self, bus: LocalBus, random: Random) -> object:
        given = {"id": self._id(random)} if random.random() < 0.5 else {}
        if self._requests and random.random() < 0.5:
            given["reply_to"] = random.choice(self._requests)[0]
        return await self._send(bus, b"LGTM", random.choice(list(MEMBERS)), self._to(random), **given)

    async def nonsense(self, bus: LocalBus, random: Random) -> object:
        raw = nonsense(random, json.dumps(contract("P", id=self._id(random))).encode())
        return await self._send(bus, raw, random.choice(list(MEMBERS)), self._to(random))

    async def repeat(self, bus: LocalBus, random: Random) -> object:
        """The same once more; or carelessly, with other bytes or for somebody else."""
        if not self._sent:
            return None
        raw, sender, given = random.choice(self._sent)
        self.sends.append(
            Send(
                raw + b" " if random.random() < 0.2 else raw,
                sender,
                given | ({"to": "qa"} if random.random() < 0.2 else {}),
            )
        )
        return await self.sends[-1].to(bus)

    # --- the rest ----------------------------------------------------------------------------------------------------

    async def receive(self, bus: LocalBus, random: Random) -> object:
        waiting = [inbox for inbox in await bus.store.read(lambda reads: reads.depths()) if inbox in MEMBERS]
        agent = random.choice(sorted(waiting) or list(MEMBERS))
        leases = await bus.receive(agent, role=MEMBERS[agent], limit=random.choice([1, 2, 5]))
        self._leases += [(agent, lease) for lease in leases]
        return [(lease.message.id, lease.inbox, lease.attempt, lease.fence) for lease in leases]

    async def settle(self, bus: LocalBus, random: Random) -> object:
        if not self._leases:
            return await self.receive(bus, random)
        agent, lease = self._leases.pop(random.randrange(len(self._leases)))
        how = random.random()
        if how < 0.3:
            to, id_ = random.choice([lease.message.sender, "nobody"]), self._id(random)
            return await bus.send(
                b"Done.", sender=agent, role=MEMBERS[agent], to=to, id=id_, ack=lease.token, check=False
            )
        if how < 0.7:
            return await bus.ack(lease.token, agent=agent)
        return (await bus.nack(lease.token, agent=agent, reason="no")).state

    async def wait(self, bus: LocalBus, random: Random) -> None:
        self.clock.leap(random.choice([1.0, 30.0, 400.0, 2000.0]))
        await bus.sweep()  # how much it did depends on the kind of store

    async def join(self, bus: LocalBus, random: Random) -> object:
        agent = random.choice(list(MEMBERS))
        return await bus.join(agent, role=MEMBERS[agent], dialects=random.choice([(), (), ("build-flow",)]))

    async def leave(self, bus: LocalBus, random: Random) -> object:
        return await bus.leave(random.choice(list(MEMBERS)))

    async def approve(self, bus: LocalBus, random: Random) -> object:
        if not self._requests:
            return await self.ask(bus, random)
        request, _ = random.choice(self._requests)
        return await bus.approve(
            request, approved=True, reason="fine", agent=random.choice(["human", "lead"]), check=False
        )


# --- the end state ---------------------------------------------------------------------------------------------------


async def work_states(bus: LocalBus) -> dict[str, str]:
    """Every topic as this bus has it in its cache, or reads it now."""
    return {topic: encode_state(state) for kind in FOLDS for topic, state in (await bus.work_state(kind)).items()}


async def folded_states(store: Store) -> dict[str, str]:
    """Every topic, folded from the whole log."""
    log = await store.read(events_with_messages, EVERYTHING, EVENTS_MAX)
    states = reducer.written(log, {dialect.name: dialect for dialect in BUILT_IN})
    return {topic: encode_state(state) for topic, state in states.items()}


async def stored_topics(store: Store) -> dict[str, list[int]]:
    """The messages of each topic, by their numbers."""

    def read(reads: Reads) -> dict[str, list[int]]:
        names = [name for kind in FOLDS for name in reads.topics(kind)]
        return {name: [message.seq for _, message in topic_messages(reads, name)] for name in names}

    return await store.read(read)


async def end_state(store: Store) -> list[Any]:
    """Everything that is stored. Without digests, which depend on generated ids, and numbers of deliveries, which each
    kind of store chooses in its own way: an event names the inbox instead."""
    log = await store.read(events_with_messages, EVERYTHING, EVENTS_MAX)
    messages = {message.seq: message for _, message in log if message is not None}
    deliveries = [delivery for seq in messages for delivery in await store.read(deliveries_of, seq)]
    return [
        [event._replace(delivery=None) for event, _ in log],
        [message._replace(digest=b"") for message in messages.values()],
        [delivery._replace(seq=0) for delivery in deliveries],
        sorted(await store.read(lambda reads: reads.members())),
        [(request, message.id) for request, message, _ in await store.read(overdue_requests, FAR_AWAY, EVENTS_MAX)],
        sorted((await folded_states(store)).items()),
        sorted((await stored_topics(store)).items()),
    ]


def masked(record: object) -> str:
    """The record as text, with generated ids numbered by their first appearance."""
    numbers: dict[str, str] = {}
    return GENERATED.sub(lambda found: numbers.setdefault(found[0], f"generated-{len(numbers) + 1}"), repr(record))


async def play(
    acts: Iterable[Act],
    buses: Sequence[LocalBus],
    clock: FakeClock,
    *,
    choose: Callable[[Sequence[LocalBus]], LocalBus] = lambda buses: buses[0],
) -> str:
    """Play these acts, each on the bus that is chosen for it. A record to compare with that of another run.

    In the end the topics that each bus has in its cache must be those of the log.
    """
    player = Player(clock)
    for act in acts:
        await player.play(act, choose(buses))
    folded = await folded_states(buses[0].store)
    for bus in buses:
        assert await work_states(bus) == folded
    return masked([player.answers, await end_state(buses[0].store)])
