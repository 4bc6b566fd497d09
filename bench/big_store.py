"""Generator of a store of a large team, as the page has to show it.

    python -m bench.big_store FOLDER/telex.db

200 agents in 24 squads have worked for 20 hours: 50,000 messages in 300 conversations, of which 2,000 were refused
and 200 became dead letters. At the end 40 approvals and 6 escalations wait for an answer, a third of the agents has a
message in hand, and a fifth has stopped reading. The same seed makes the same team; its last event is recent.

The bulk is appended through the store in large transactions. Whatever is checked against the work state (plans,
approvals, escalations) goes through the bus, at its time in between.
"""

import heapq
import json
import random
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from telex.bus import run_sync
from telex.client import SyncBus
from telex.config import Settings
from telex.connection import connect
from telex.dialects.builtin.vbw_typed import APPROVAL_REQUEST, EXECUTION_UPDATE, PLAN_CONTRACT, QA_VERDICT
from telex.dialects.scalars import format_timestamp
from telex.dialects.schema import MessageType
from telex.model.limits import LIMITS
from telex.model.message import Event, NewMessage
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN
from telex.model.text import digest_of
from telex.ports.store import LeaseRequest, Settlement, Transaction
from telex.stores.sqlite.schema import first_delivery
from telex.testing import FakeClock

HOUR = 3_600.0
STEP = 2_000  # actions of one transaction
LEASE_SECONDS = 4 * HOUR
PLANNING_SECONDS = 60.0  # at the beginning: the leads send their plans
ESCALATING_SECONDS = 1_500.0  # before the end, in which the open escalations climb
MINUTE = 60.0
OVERLAP = 1.05
APPROVALS_SHARE = 0.075  # of the time, in which the open approvals were asked for
REST_SHARE = 0.05  # of messages after which an agent rests for a while
ASLEEP_SECONDS = 3 * HOUR
SEEN_SECONDS = 900.0  # before the end, in which it matters when an agent was seen
SETTINGS = Settings(team_name="Platform", durable=False)._replace(
    limits=LIMITS._replace(request_seconds=24 * HOUR, silent_seconds=24 * HOUR)
)
SQUADS = (
    *("auth", "billing", "export", "mail", "search", "upload", "audit", "admin", "import", "sync", "report", "invoice"),
    *("cache", "queue", "login", "theme", "chart", "table", "push", "share", "proxy", "trace", "quota", "draft"),
)
WORK = (
    *("Store the token hashed", "Paginate the list endpoint", "Return 409 on a version conflict"),
    *("Stream the CSV instead of buffering it", "Add the migration for soft delete", "Drop the legacy column"),
    *("Rate-limit the public endpoint", "Retry the upstream call", "Log the request id everywhere"),
    *("Split the worker from the web process", "Validate the callback address", "Show the empty state"),
    *("Cache the permissions for a minute", "Send the mail from a template", "Reject unsigned webhooks"),
)
FAULTS = (
    ("path-outside-contract", "$.payload.files_modified[0]", "src/mail/reset.txt", "src/auth/"),
    ("field-missing", "$.payload.commit", "", "a git commit"),
    ("type-unknown", "$.type", "execution_updat", "execution_update"),
    ("role-may-not-send", "$.type", "plan_contract", "lead, architect"),
    ("no-such-commit", "$.payload.commit", "3f1c9aa", "a commit of this repository"),
)
FAILURES = ("No space left on device", "The session was closed", "Context window exceeded", "Connection reset by peer")
QUESTIONS = (
    *("Who may give out a key for the mail server?", "Is Postgres 14 still supported?"),
    *("Shall deleted rows be kept for a year?", "May the export contain addresses?"),
    *("Which of the two queues stays?", "Who owns the invoice numbers?"),
)
ESCALATION = {
    "type": "escalation",
    "from": "dev",
    "to": "senior",
    "evidence": ["The plan does not say"],
    "recommendation": "Decide",
    "severity": "blocking",
}


class Size(NamedTuple):
    """How much there is of each; the rest follows from it."""

    messages: int = 50_000
    agents: int = 200
    conversations: int = 300
    refused: int = 2_000
    dead: int = 200
    approvals: int = 40
    escalations: int = len(QUESTIONS)
    hours: float = 20.0
    asleep_share: float = 0.2  # of agents that take no more messages, since three hours at most


BIG = Size()


class TeamMember(NamedTuple):
    name: str
    role: str
    squad: int


class Sending(NamedTuple):
    """A message of the bulk, with its way through the inbox."""

    sent: float
    taken: float
    done: float
    sender: TeamMember
    to: TeamMember
    fate: str = "acked"  # or refused, dead, unread


Action = tuple[float, int, Callable[[], None]]  # when, a number that makes the order definite, what


def team_of(count: int) -> list[TeamMember]:
    """Squads of a lead, a senior, four developers and a tester, and architects, writers and scouts for all."""
    members = []
    squads = max(1, min(len(SQUADS), (count - 4) // 7))
    for squad, name in enumerate(SQUADS[:squads]):
        members += [TeamMember(f"{name}-{role}", role, squad) for role in ("lead", "senior", "qa")]
        members += [TeamMember(f"{name}-dev-{number}", "dev", squad) for number in range(1, 5)]
    others = max(0, count - len(members))
    roles = ["architect"] * min(4, others) + [("docs", "scout")[number % 2] for number in range(max(0, others - 4))]
    members += [TeamMember(f"{role}-{number}", role, number % squads) for number, role in enumerate(roles, 1)]
    return members[:count]


class BigStore:
    """The generator. Times are seconds since 1970."""

    def __init__(self, bus: SyncBus, clock: FakeClock, size: Size, seed: int) -> None:
        self._bus, self._clock, self._size = bus, clock, size
        self._chance = random.Random(seed)
        self._store: Any = bus.awaitable.store  # type: ignore[attr-defined]
        self._team = team_of(size.agents)
        self._squads = max(member.squad for member in self._team) + 1
        self._begin = clock.now()
        self._end = self._begin + size.hours * HOUR
        self._batch: list[Callable[[Transaction], None]] = []
        self._open: dict[int, int] = {}  # number of the message by its place in the bulk

    def fill(self) -> None:
        self._bus.join(HUMAN, role=HUMAN)
        for member in self._team:
            self._bus.join(member.name, role=member.role)
        self._plan()
        actions = [*self._bulk(), *self._approvals(), *self._escalations()]
        heapq.heapify(actions)
        while actions:
            at, _, act = heapq.heappop(actions)
            self._clock.begin_after(at)
            act()
            if len(self._batch) >= STEP:
                self._flush()
        self._flush()

    # --- bulk --------------------------------------------------------------------------------------------------------

    def _bulk(self) -> Iterator[Action]:
        number = 0
        for place, sending in enumerate(self._sendings()):
            for at, step in self._steps(place, sending):
                if at <= self._end:
                    yield at, number, step
                    number += 1

    def _sendings(self) -> list[Sending]:
        """Each agent takes one message after the other. Who sent it, and when, follows from that."""
        size, sendings = self._size, list[Sending]()
        wanted = size.messages - size.refused
        seconds = OVERLAP * (self._end - self._begin - PLANNING_SECONDS)  # some are in hand at the end
        shares = [{"lead": 3.0, "architect": 0.4, "docs": 0.6, "scout": 0.5}.get(one.role, 1.0) for one in self._team]
        for member, share in zip(self._team, shares, strict=True):
            count = max(1, round(OVERLAP * OVERLAP * wanted * share / sum(shares)))
            rests = [self._chance.uniform(3.0, 12.0) * (self._chance.random() < REST_SHARE) for _ in range(count)]
            pace = seconds / (count + sum(rests))
            is_asleep = self._chance.random() < size.asleep_share
            asleep_at = self._end - self._chance.uniform(0.0, ASLEEP_SECONDS) * is_asleep
            at = self._begin + PLANNING_SECONDS
            for rest in rests:
                taken = at + self._chance.uniform(0.05, 0.35) * pace
                done = min(taken + self._chance.uniform(0.2, 0.9) * pace, at + pace)
                sent = max(self._begin + PLANNING_SECONDS, taken - self._chance.expovariate(1 / 20.0))
                fate = "unread" if taken > asleep_at else "acked"
                sendings.append(Sending(sent, taken, done, self._peer(member), member, fate))
                at += pace * (1 + rest)
        sendings = [sending for sending in sendings if sending.sent <= self._end]
        sendings = sorted(self._chance.sample(sendings, wanted), key=lambda sending: sending.sent)
        for place in self._chance.sample(range(len(sendings) * 8 // 10), min(size.dead, len(sendings) // 2)):
            sendings[place] = sendings[place]._replace(fate="dead")
        sendings += [self._refused() for _ in range(size.refused)]
        return sorted(sendings, key=lambda sending: sending.sent)

    def _refused(self) -> Sending:
        sender = self._chance.choice([member for member in self._team if member.role in ("dev", "docs", "qa")])
        at = self._chance.uniform(self._begin + PLANNING_SECONDS, self._end)
        return Sending(at, at, at, sender, self._peer(sender), "refused")

    def _peer(self, member: TeamMember) -> TeamMember:
        """An agent of the squad, or of another one in 3 of 100 cases."""
        others = [one for one in self._team if one.squad == member.squad and one != member]
        return self._chance.choice(others if others and self._chance.random() < 0.97 else self._team)

    def _steps(self, place: int, sending: Sending) -> Iterator[tuple[float, Callable[[], None]]]:
        yield sending.sent, lambda: self._batch.append(lambda tx: self._append(tx, place, sending))
        if sending.fate in ("refused", "unread"):
            return
        agent, taken, done = sending.to.name, sending.taken, sending.done
        if done > self._end and sending.fate == "acked":
            yield taken, lambda: self._lease(agent, place, taken)
            return
        yield taken, lambda: self._batch.append(lambda tx: self._record(tx, place, taken, "leased", agent))
        if sending.fate == "dead":
            yield done, lambda: self._batch.append(lambda tx: self._fail(tx, place, done, agent))
        else:
            yield done, lambda: self._batch.append(lambda tx: self._settle(tx, place, done, agent))

    def _append(self, tx: Transaction, place: int, sending: Sending) -> None:
        self._open[place] = tx.append(self._message(place, sending))

    def _delivery(self, place: int) -> int:
        return first_delivery(self._open[place])

    def _record(self, tx: Transaction, place: int, at: float, kind: str, agent: str, detail: str | None = None) -> None:
        attempt = f'{{"until": {at + LEASE_SECONDS!r}, "attempt": 1}}'
        tx.record(Event(0, at, kind, agent, self._open[place], self._delivery(place), agent, detail or attempt))

    def _settle(self, tx: Transaction, place: int, at: float, agent: str) -> None:
        result = tx.settle(Settlement(self._delivery(place), "stored", "acked", at, "acked", agent))
        assert result.done
        if at > self._end - SEEN_SECONDS:
            tx.mark_seen(agent, at)
        del self._open[place]

    def _fail(self, tx: Transaction, place: int, at: float, agent: str) -> None:
        """Three attempts, the last of which ends here."""
        reason = FAILURES[place % len(FAILURES)]
        for attempt in (1, 2):
            detail = json.dumps({"reason": reason, "attempt": attempt})
            self._record(tx, place, at - 20.0 * (3 - attempt), "nacked", agent, detail)
            self._record(tx, place, at - 20.0 * (3 - attempt) + 5.0, "leased", agent)
        detail = json.dumps({"reason": reason, "attempt": 3, "was": "nacked"})
        tx.settle(Settlement(self._delivery(place), "stored", "dead", at, "dead", agent, attempts=3, detail=detail))
        del self._open[place]

    def _lease(self, agent: str, place: int, at: float) -> None:
        """It is in hand at the end, so the store has to know about it."""
        self._flush()
        request = LeaseRequest((agent,), agent, at, at + LEASE_SECONDS, only=(self._delivery(place),))
        run_sync(self._store.lease(request))

    def _flush(self) -> None:
        batch, self._batch = self._batch, []

        def write(tx: Transaction) -> None:
            for step in batch:
                step(tx)

        if batch:
            run_sync(settled(self._store.transaction(write, durable=False)))

    # --- texts -------------------------------------------------------------------------------------------------------

    def _message(self, place: int, sending: Sending) -> NewMessage:
        sender, is_refused = sending.sender, sending.fate == "refused"
        id_, conversation = f"m-{place}", self._conversation(sender.squad, sending.sent)
        work = WORK[(place + sender.squad) % len(WORK)]
        if sender.role in ("dev", "docs") and (is_refused or place % 3):
            type_, payload = EXECUTION_UPDATE, {"task_id": conversation, "notes": [work]}
        elif sender.role == "qa":
            type_, payload = QA_VERDICT, {}
        else:
            type_, payload = None, {}
        if type_ is None:
            raw = f"{work}: {('please take it', 'it is next', 'any news?', 'done, have a look')[place % 4]}.".encode()
        else:
            raw = _typed(type_, id_, conversation, sender.role, sending.sent, **payload)
        return NewMessage(
            id=id_,
            at=sending.sent,
            sender=sender.name,
            role=sender.role,
            to=sending.to.name,
            dialect="plain" if type_ is None else "vbw-typed",
            type=None if type_ is None else type_.name,
            rank=3,
            correlation=conversation,
            reply_to=None,
            digest=digest_of(raw),
            raw=raw,
            inboxes=() if is_refused else (sending.to.name,),
            kind="refused" if is_refused else "accepted",
            detail=_findings(place) if is_refused else None,
        )

    def _conversation(self, squad: int, at: float) -> str:
        """The squads work on one task after the other."""
        each = max(1, self._size.conversations // self._squads)
        number = min(each - 1, int((at - self._begin) / (self._end - self._begin) * each))
        rest = self._size.conversations - each * self._squads
        if number == each - 1 and squad < rest and at > self._end - 0.5 * HOUR:
            number = each  # some squads have one more
        return f"{squad + 1}-1-T{number + 1}"

    # --- work --------------------------------------------------------------------------------------------------------

    def _plan(self) -> None:
        """A plan for each squad, which the approvals are about."""
        for lead in (member for member in self._team if member.role == "lead"):
            plan = f"{lead.squad + 1}-1"
            tasks = [f"{plan}-T{number}" for number in range(1, 14)]
            payload = {"plan_id": plan, "objective": WORK[lead.squad % len(WORK)], "tasks": tasks}
            payload |= {"allowed_paths": [f"src/{SQUADS[lead.squad]}/"], "forbidden_paths": []}
            raw = _typed(PLAN_CONTRACT, f"contract-{plan}", tasks[0], "lead", self._clock.now(), **payload)
            agent = f"{SQUADS[lead.squad]}-dev-1"
            self._bus.send(raw, sender=lead.name, to=agent)
            for lease in self._bus.receive(agent):
                self._bus.ack(lease.token, agent=agent)
            self._clock.leap(1.0)

    def _approvals(self) -> Iterator[Action]:
        """Requests of developers to touch a file outside their contract."""
        developers = [member for member in self._team if member.role == "dev"]
        for number in range(self._size.approvals):
            at = self._end - self._chance.uniform(60.0, APPROVALS_SHARE * self._size.hours * HOUR)
            member = developers[number * 7 % len(developers)]
            yield at, -number - 1, lambda member=member, number=number: self._ask(member, number)  # type: ignore[misc]

    def _ask(self, member: TeamMember, number: int) -> None:
        self._flush()
        squad, path = SQUADS[member.squad], f"src/shared/{WORK[number % len(WORK)].split()[0].lower()}_{number}.py"
        plan, work = f"{member.squad + 1}-1", WORK[number % len(WORK)]
        payload = {"subject": f"Touch {path}", "request_type": "scope_change", "plan_id": plan}
        payload |= {"evidence": f"{path}: {work}", "recommendation": f"Allow {path}"}
        task = self._conversation(member.squad, self._clock.now())
        raw = _typed(APPROVAL_REQUEST, f"request-{number + 1}", task, "dev", self._clock.now(), **payload)
        self._bus.send(raw, sender=member.name, to=f"{squad}-lead")

    def _escalations(self) -> Iterator[Action]:
        """Questions that nobody has answered; each step up takes five minutes."""
        developers = [member for member in self._team if member.role == "dev"]
        for number in range(self._size.escalations):
            at = self._end - ESCALATING_SECONDS + 100.0 * number
            member = developers[(number * 11 + 2) % len(developers)]
            yield at, -1_000 - number, lambda member=member, number=number: self._escalate(member, number)  # type: ignore[misc]
        minutes = int(ESCALATING_SECONDS / MINUTE)
        for minute in range(minutes + 1):
            yield self._end - ESCALATING_SECONDS + MINUTE * minute, 10_000_000 + minute, self._catch_up

    def _escalate(self, member: TeamMember, number: int) -> None:
        self._flush()
        tree = ESCALATION | {"issue": QUESTIONS[number % len(QUESTIONS)]}
        task = self._conversation(member.squad, self._clock.now())
        self._bus.send(
            tree,
            sender=member.name,
            to=f"{SQUADS[member.squad]}-senior",
            id=f"escalation-{number + 1}",
            correlation=task,
        )

    def _catch_up(self) -> None:
        """Deadlines are processed by the next call that uses the store."""
        self._flush()
        self._bus.escalations()


async def settled(answer: Awaitable[None]) -> None:
    await answer


def _typed(type_: MessageType, id_: str, task: str, role: str, at: float, **payload: Any) -> bytes:
    example = dict(type_.example)
    tree = example | {"id": id_, "task": task, "author_role": role, "timestamp": format_timestamp(at)}
    tree["payload"] = {**example["payload"], **payload}
    return json.dumps(tree).encode()


def _findings(place: int) -> str:
    code, path, found, expected = FAULTS[place % len(FAULTS)]
    finding = {"code": code, "path": path, "say": f"Change {path}: it takes {expected}.", "severity": "refusal"}
    finding |= {"expected": expected} | ({"found": found} if found else {})
    return json.dumps({"took": 0.4, "findings": [finding]})


def make(path: Path, size: Size = BIG, *, seed: int = 7, now: float | None = None) -> Path:
    """Write the store. Its last event is about `now`."""
    end = time.time() if now is None else now
    path.parent.mkdir(parents=True, exist_ok=True)
    clock = FakeClock(end - size.hours * HOUR)
    with connect(path, settings=SETTINGS, clock=clock) as bus:
        BigStore(bus, clock, size, seed).fill()
    return path


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    began = time.perf_counter()
    path = make(Path(arguments[0]))
    print(f"{path}: {path.stat().st_size / 1e6:.0f} MB in {time.perf_counter() - began:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
