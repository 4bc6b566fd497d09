"""Who is killed while the rules of the work are at stake? A small team whose agents get into each other's way.

Two leads answer the same requests and revise the same plans. Two processes are the same mortal agent: one agrees to
shut down while the other goes on talking, and then both are the next one. Two orchestrators of one name route the same
works. Each writes down what it is about to say, so that its next life says it again under the same id.
"""

import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, islice
from pathlib import Path
from random import Random

import telex
from telex.bus import context as team_state
from telex.bus import run_sync
from telex.bus.orchestrator import Orchestrator
from telex.client import SyncBus
from telex.errors import LeaseLost, StoreError
from telex.model.work import NO_SHUTDOWNS, TASK_STATES, ShutdownState, TaskStatus, moves, standing
from telex.work.pipeline import OPEN
from telex.work.tasks import Task
from tests.crash.agent_log import Line, Logbook, words_of
from tests.crash.agents import SETTINGS
from tests.crash.work_messages import PLANS, TASKS, sending
from tests.work.pipeline_team import REPLIES, ROLES, result, smooth

NAMES = ("lead-1", "lead-2", "dev-1", "mortal-a", "mortal-b", "boss-a", "boss-b", "crew")
WITNESS = "witness"  # is never killed, and says in the end what it knows
PAUSE_SECONDS = 0.004
LONG = 4  # messages after which a topic is written down: often, so that this is interrupted too
WORKS_AT_ONCE = MOVING = 2  # works, and tasks, that go on at a time
Act = tuple[str, tuple[str, ...]]  # who says it, and the words


class Talker:
    """Says one thing after the other. What was in doubt when it was killed is said first."""

    def __init__(self, name: str, logs: Path, random: Random) -> None:
        self.name, self.random = name, random
        self.log = Logbook(logs / f"{name}.log")
        earlier = self.log.lines()
        self.doubts = in_doubt(earlier)
        self.ids = (f"{name}-{number}" for number in count(sum(line.verb == "saying" for line in earlier)))

    def settle_doubts(self, bus: SyncBus) -> None:
        for id_, sender, *words in self.doubts:
            self.say(bus, id_, sender, tuple(words))

    def turn(self, bus: SyncBus) -> None:
        act = self.next_act(bus)
        if act is not None:
            id_, (sender, words) = next(self.ids), act
            self.log.say("saying", id_, sender, *words)
            self.say(bus, id_, sender, words)

    def say(self, bus: SyncBus, id_: str, sender: str, words: tuple[str, ...]) -> None:
        """Until there is an answer."""
        while True:
            try:
                receipt = bus.send(**sending(id_, sender, words), check=False)
            except StoreError as error:
                self.log.say("error", type(error).__name__)
                time.sleep(PAUSE_SECONDS)
            else:
                codes = [finding.code for finding in receipt.findings if finding.severity == "refusal"]
                self.log.say("kept" if receipt.accepted else "refused", id_, sender, *codes)
                return

    def next_act(self, bus: SyncBus) -> Act | None:
        raise NotImplementedError

    # --- what they all may say ----------------------------------------------------------------------------------------

    def a_report(self) -> tuple[str, ...]:
        status = self.random.choice(("complete", "partial", "failed"))
        return "report", self.random.choice(PLANS), self.random.choice(TASKS), status

    def a_move(self, bus: SyncBus) -> tuple[str, ...]:
        """The right one by what is known here, which may be too late, or any other."""
        tasks = bus.work_state("task")
        task, stands = self.random.choice(list(islice(unfinished(tasks), MOVING)))
        there = moves(TASK_STATES, stands)
        return "move", task, stands.state, self.random.choice([*there, *there, *there, "planning"])


def unfinished(tasks: dict[str, Task]) -> Iterator[tuple[str, TaskStatus]]:
    """The tasks that have not come to an end, and new ones after them."""
    for name in (f"MOVE-{number}" for number in count()):
        known = tasks.get(f"task:{name}")
        stands = standing(TASK_STATES, known.steps if known is not None else ())
        if not TASK_STATES.is_end(stands.state):
            yield name, stands


def in_doubt(lines: list[Line]) -> list[tuple[str, ...]]:
    """What may have been kept or not; and the last that was, since a careful client says it once too often."""
    told = [id_ for verb in ("kept", "refused") for id_, *_ in words_of(lines, verb)]
    last = next((line.words[0] for line in reversed(lines) if line.verb == "kept"), None)
    known = set(told) - {last}
    return [words for words in words_of(lines, "saying") if words[0] not in known]


class Lead(Talker):
    def next_act(self, bus: SyncBus) -> Act:
        chance = self.random.random()
        if chance < 0.5:
            waiting = [one.request for one in bus.work_state("approval").values() if one.waits]
            if waiting:
                request = self.random.choice(waiting[:3])
                return self.name, ("answer", request.id, request.by, self.random.choice(("yes", "no")))
        if chance < 0.75:
            known = shutdowns(bus)
            mortal = current_mortal(known)
            if not any(mortal in call.asked for call in known.calls) and mortal in [
                one.member.name for one in bus.roster()
            ]:
                return self.name, ("stop", mortal)
        return self.name, ("contract", self.random.choice(PLANS), str(self.random.randint(1, 3)))


class Dev(Talker):
    def next_act(self, bus: SyncBus) -> Act:
        chance = self.random.random()
        if chance < 0.4:
            return self.name, ("ask", self.random.choice(TASKS))
        return self.name, self.a_report() if chance < 0.7 else self.a_move(bus)


class Mortal(Talker):
    def next_act(self, bus: SyncBus) -> Act:
        known = shutdowns(bus)
        agent = current_mortal(known)
        asked = [call.id for call in known.calls if agent in call.asked]
        chance = self.random.random()
        if asked and chance < 0.3:
            return agent, ("stopped", asked[-1])
        if chance < 0.7:
            return agent, ("note",)
        return agent, self.a_report() if chance < 0.85 else self.a_move(bus)


def shutdowns(bus: SyncBus) -> ShutdownState:
    found: ShutdownState = bus.work_state("shutdown").get("shutdown", NO_SHUTDOWNS)
    return found


def current_mortal(known: ShutdownState) -> str:
    """The first that has not shut down."""
    gone = {name for call in known.calls for name, one in call.answers.items() if one.approved}
    return next(name for name in (f"mortal-{number}" for number in count()) if name not in gone)


# --- work by signal ---------------------------------------------------------------------------------------------------


def lead_works(bus: SyncBus) -> None:
    """One turn of an orchestrator. Both are called the same, so that each may do what the other was killed in."""
    orchestrator = Orchestrator(bus.awaitable, "orchestrator")
    works = run_sync(orchestrator.works())
    if sum(any(place.state in OPEN for place in work.places.values()) for work in works.values()) < WORKS_AT_ONCE:
        run_sync(orchestrator.start("Let people reset their password.", f"W{len(works)}"))
    run_sync(orchestrator.step())


def crew_turn(bus: SyncBus, *, limit: int = 5) -> int:
    """Everybody else answers what came. A result sent twice has the same id."""
    done = 0
    for role in ROLES:
        for lease in bus.receive(role, limit=limit):
            type_ = {"reviewer": "review_verdict", "auditor": "audit_verdict"}.get(role)
            type_ = type_ or REPLIES.get(lease.message.type or "")
            if type_ is not None and lease.message.sender == "orchestrator":
                said, id_ = smooth(lease.message.id, type_), f"{lease.message.id}-by-{role}"
                if type_ == "review_verdict" and zlib.crc32(lease.message.id.encode()) % 3 == 0:
                    said = {"signal": "fail", "critical_count": 1}
                raw = result(type_, **said)
                bus.send(raw, sender=role, to="orchestrator", id=id_, reply_to=lease.message.id)
            with suppress(LeaseLost):
                bus.ack(lease.token, agent=role)
            done += 1
    return done


# --- a life -----------------------------------------------------------------------------------------------------------

TALKERS: dict[str, type[Talker]] = {"lead": Lead, "dev": Dev, "mortal": Mortal}


def talker(name: str, logs: Path, random: Random) -> Talker | None:
    kind = TALKERS.get(name.partition("-")[0])
    return kind(name, logs, random) if kind is not None else None


def run(name: str, store: str, logs: Path, seed: int) -> None:
    """One life of one of them, which only a signal ends."""
    vars(team_state)["LONG"] = LONG
    log = Logbook(logs / f"{name}.log")
    own = talker(name, logs, Random(seed))
    with telex.connect(store, settings=SETTINGS) as bus:
        if own is not None:
            own.settle_doubts(bus)
        while True:
            try:
                if own is not None:
                    own.turn(bus)
                elif name.startswith("boss"):
                    lead_works(bus)
                else:
                    crew_turn(bus)
            except StoreError as error:
                log.say("error", type(error).__name__)
            time.sleep(PAUSE_SECONDS)
