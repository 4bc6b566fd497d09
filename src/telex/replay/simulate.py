"""Simulation of sends: what a team with these settings would have answered to the messages of a log.

A message goes through the same decision as on the bus, over a memory store whose clock is the log. Members come from
the log. What a log does not record stays as it was: the sender's options, whether an inbox was full.
"""

from collections.abc import Iterable, Mapping
from sys import maxsize
from typing import Any, Literal, NamedTuple

from telex.bus.context import BusContext
from telex.bus.correlate import SendRequest
from telex.bus.decision import (
    NO_RECIPIENT,
    DecidedSend,
    Decision,
    PreparedSend,
    RefusedSend,
    StoredSend,
)
from telex.bus.team_state import Topics, default_roles, states_of
from telex.delivery.routing import Participants
from telex.delivery.validator_cache import TypeTraits
from telex.dialects.schema import ANY, Dialect, MessageType, Tree
from telex.model.digest import digest_of
from telex.model.event import COMING_AND_GOING, Event
from telex.model.finding import Finding, Severity, refusals
from telex.model.json_path import ROOT
from telex.model.message import Message, NewMessage
from telex.model.roster import EVERYONE, TELEX, Member
from telex.ports.bus import Receipt
from telex.ports.store import Transaction
from telex.replay.reader import LogEntry, inboxes_of, moment_in, recorded
from telex.replay.team import ReplayTeam, apply_member_event
from telex.stores.memory import MemoryStore
from telex.stores.memory_transaction import MemoryTransaction
from telex.validation.check import STRICT, CheckPolicy
from telex.work import reducer
from telex.work.view import FOLDS, WorkMessage, work_message_from_log

Verdict = Literal["passed", "refused", "repeated", "own"]  # own: a message of the bus itself, which is not checked
# Findings that only the record has: the options of the sender and the inboxes of that day are not in the log.
RECORDED = frozenset({"id-differs", "id-not-allowed", "inbox-full", "recipient-missing"})
EVIDENCE: dict[str, Severity] = {"mark": "warning", "refuse": "refusal"}  # by the team's setting
REUSED, CONTRADICTED = "id-reused", "evidence-contradicted"
MEMBERS_MAX = 10_000  # that are taken from messages, and not from events
NOBODY = Participants()
_NEW = tuple.__new__  # makes a NamedTuple in half the time: by place, for every message


class SimulatedResult(NamedTuple):
    """What would have become of a message."""

    verdict: Verdict
    agent: str
    dialect: Dialect | None
    type: MessageType | None
    id: str | None
    findings: tuple[Finding, ...] = ()


class LogClock:
    """The time of the entry at hand."""

    def __init__(self) -> None:
        self.at = 0.0
        self._ids = 0

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("a replay never waits")

    def new_id(self) -> str:
        self._ids += 1
        return f"replay-{self._ids}"


class Simulator:
    """A team that answers the messages of a log one after the other."""

    def __init__(
        self,
        policy: CheckPolicy = STRICT,
        declared: Iterable[Member] = (),
        settings: Mapping[str, Any] | None = None,  # of the team, for the work rules
        evidence: str = "mark",
        begin: Iterable[Member] = (),  # members since before the first line of the log
    ) -> None:
        members, self._clock, store = tuple(declared), LogClock(), MemoryStore()
        policy = policy._replace(limits=policy.limits._replace(inbox_max=maxsize))
        self._context = BusContext(store, self._clock, policy, members=members, work=settings)
        self._team = self._context.team = ReplayTeam(
            clock=self._clock,
            limits=policy.limits,
            dialects=self._context.dialects,
            declared=members,
            default_roles=default_roles((policy.forced,) if policy.forced else policy.dialects, closed=bool(members)),
        )
        self._tx = MemoryTransaction(store)  # the whole replay is one transaction, and it is never rolled back
        self._evidence = EVIDENCE.get(evidence) if policy.work else None
        self._latest = 0.0  # the latest time that the log has named
        self._team.begin(self._tx)
        for member in begin if not members else ():
            self._put_member(member)

    @property
    def work_state(self) -> dict[str, Any]:
        """The states of all topics, by name."""
        return states_of(self._team, [topic for kind in FOLDS for topic in self._team.topic_names(kind)])

    def apply(self, event: Event) -> None:
        """An event of the log that is no message. Only joining, leaving and stopping have an effect. In a closed team
        only declared members can join, with the role and dialects of their declaration."""
        if event.kind not in COMING_AND_GOING or event.agent is None:
            return
        known = self._team.roster.members
        if self._team.is_closed and event.agent not in known and event.agent != "human":
            return
        self._latest = max(self._latest, event.at)
        members = {event.agent: known[event.agent]} if event.agent in known else {}
        apply_member_event(members, event)
        if event.agent in members:
            self._put_member(members[event.agent], event)

    def _put_member(self, member: Member, event: Event | None = None) -> None:
        self._team.write_member(self._tx, member, event or Event(0, self._latest, "joined", member.name))

    def send(self, entry: LogEntry) -> SimulatedResult:
        """The answer to a message. Unless it is refused, it then counts as sent."""
        if entry.sender == TELEX and (entry.kept or entry.at is not None):
            return self._send_own(entry)
        self._team.was_accepted, self._team.is_bare = not entry.refused, entry.is_bare
        self._set_time(entry)
        decision = ReplayDecision(self._context, self._prepare(entry), self._tx, entry)
        return decision.result(decision.decide())

    def _set_time(self, entry: LogEntry) -> None:
        at = self._clock.at = self._team.now = self._latest if entry.at is None else entry.at
        if at > self._latest:
            self._latest = at

    def _prepare(self, entry: LogEntry) -> PreparedSend:
        given = (entry.raw, entry.sender or "", entry.role, entry.to, None, entry.reply_to, entry.correlation, None)
        request = _NEW(SendRequest, given)
        route = self._team.route(request[1:4])
        participants = NOBODY if isinstance(route, Finding) else route.participants
        if not entry.kept and not isinstance(route, Finding):
            self._meet(route.member)
        checked = self._context.validators.check(entry.raw, participants)
        own_id = checked.envelope.id
        id_, has_own_id = entry.id or own_id or f"line {entry.number}", own_id is not None and not entry.kept
        digest = digest_of(entry.raw) if has_own_id else b""  # duplicates are found by it
        evidence = _findings_of_the_record(entry, self._evidence) if entry.detail is not None else ()
        prepared = (request, checked, participants, id_, has_own_id, digest, self._clock.at, None, evidence)
        return _NEW(PreparedSend, prepared)

    def _meet(self, member: Member) -> None:
        """Add the sender of a message, in a log without events: it was a member from the beginning."""
        known = self._team.roster.members
        if member.name and member.name not in known and not self._team.is_closed and len(known) < MEMBERS_MAX:
            self._put_member(member._replace(joined_at=0.0))

    def _send_own(self, entry: LogEntry) -> SimulatedResult:
        """A message of the bus itself. It is not checked, and others may answer it."""
        checked = self._context.validators.check(entry.raw, Participants())
        traits = checked.traits
        if traits is not None and traits.action is not None and not entry.refused:
            self._set_time(entry)
            _store_own(self._context, entry, traits, self._tx)
        return SimulatedResult("own", TELEX, checked.dialect, traits.type if traits is not None else None, entry.id)


def _store_own(context: BusContext, entry: LogEntry, traits: TypeTraits, tx: Transaction) -> None:
    message = NewMessage(
        id=entry.id or "",
        at=context.team.now,
        sender=TELEX,
        role=TELEX,
        to=entry.to or "",
        dialect=traits.dialect.name,
        type=traits.type.name,
        rank=traits.rank,
        correlation=entry.correlation,
        reply_to=entry.reply_to,
        digest=b"",
        raw=entry.raw,
        detail=entry.detail,
    )
    event = Event(0, message.at, "accepted", TELEX, detail=entry.detail)
    work_message = work_message_from_log(Message(0, *message[:12]), event, traits.dialect)
    if work_message is None:
        return
    topics, team, stored = Topics(context.team), context.team, work_message._replace(seq=entry.number)
    changed = reducer.topics_changed(work_message, topics)
    states = {topic: reducer.fold_in_place(topic, topics.get(topic), stored) for topic in changed}
    tx.append(message)
    team.put_topics(tx, states, entry.number)


class ReplayDecision(Decision):
    """The decision of the bus, where the log already has a part of the answer. Nothing is delivered, and a message that
    followed from another one is an entry of the log itself."""

    __slots__ = ("_entry",)

    def __init__(self, context: BusContext, prepared: PreparedSend, tx: Transaction, entry: LogEntry) -> None:
        super().__init__(context, prepared, tx)
        self._entry = entry

    def result(self, decided: DecidedSend) -> SimulatedResult:
        assert not isinstance(decided, StoredSend), "nothing is left to do after a replayed message"
        verdict: Verdict = "passed"
        if isinstance(decided, RefusedSend):
            verdict = "refused"
        elif decided.duplicate:
            verdict = "repeated"
        traits, entry, findings = self._checked.traits, self._entry, decided.findings
        agent, id_ = self._member.name or entry.sender or "", entry.id or self._checked.envelope.id
        type_ = traits.type if traits is not None else None
        dialect = traits.dialect if traits is not None else self._checked.dialect
        return _NEW(SimulatedResult, (verdict, agent, dialect, type_, id_, () if verdict == "repeated" else findings))

    def _resolve_route(self) -> DecidedSend | None:
        refused = super()._resolve_route()
        if refused is not None:
            return refused
        if self._entry.sender is None and self._checked.traits is not None:
            self._member = _only_sender(self._checked.traits.type)
        if self._inboxes is NO_RECIPIENT:
            team = self._context.team
            assert isinstance(team, ReplayTeam)
            self._address, self._inboxes = EVERYONE, team.everybody()
        recorded_inboxes = inboxes_of(self._entry) if self._entry.detail is not None else None
        if recorded_inboxes is not None and not isinstance(self._inboxes, Finding):
            self._inboxes = recorded_inboxes
        return None

    def _argument_findings(self) -> tuple[Finding, ...]:
        """The findings of the record, if they stop the message. A claim that contradicts the repository stops it in a
        strict team only, every other refusal in any."""
        found, is_strict = self._prepared.evidence, self._context.policy.strict
        stops = found and any(finding.code != CONTRADICTED or is_strict for finding in refusals(found))
        return found if stops else ()

    def _work_message_of(self, tree: Tree, traits: TypeTraits) -> WorkMessage:
        if self._entry.at is None:  # a bare message: its own timestamp is all there is
            written = tree.get(traits.dialect.wire.timestamp or "")
            at = moment_in(written) if isinstance(written, str) else None
            if at is not None:
                self._now = at
        return super()._work_message_of(tree, traits)

    def _apply_work_rules(self, traits: TypeTraits) -> None:
        super()._apply_work_rules(traits)
        work = self._work
        if work is not None and work.change is not None and work.change.reports:
            self._work = work._replace(change=work.change._replace(reports=()))

    def _append(self) -> DecidedSend:
        """Store what later messages are decided on: changes of the work, ids."""
        work, findings = self._work, (*self._checked.findings, *self._findings)
        change = work.change if work is not None else None
        if change is not None or self._prepared.has_own_id:
            message = self._new_message(None, ())
            if self._prepared.has_own_id:
                self._tx.append(message)
            if change is not None:
                self._update_topics(self._entry.number, message)
                for member, event in change.members:
                    self._context.team.write_member(self._tx, member, event)
        return Receipt(True, self._prepared.id, "stored", findings=findings)

    def _refuse(self, findings: tuple[Finding, ...]) -> RefusedSend:
        checked = self._checked
        return RefusedSend(_NOTHING, checked, (*checked.findings, *findings))


_NOTHING = NewMessage(
    id="",
    at=0.0,
    sender="",
    role="",
    to="",
    dialect=None,
    type=None,
    rank=0,
    correlation=None,
    reply_to=None,
    digest=b"",
    raw=b"",
)


def _only_sender(type_: MessageType) -> Member:
    """The sender of a message that names none: the role that may send its type, if there is only one."""
    role = type_.senders[0] if len(type_.senders) == 1 and type_.senders != ANY else ""
    return Member(role, role)


def _findings_of_the_record(entry: LogEntry, evidence: Severity | None) -> tuple[Finding, ...]:
    """Findings of the send that a replay cannot make again. `evidence`: the severity of a claim that contradicts the
    repository; None: it is ignored."""
    if not entry.detail or '"findings"' not in entry.detail:
        return ()
    listed = recorded(entry).get("findings")
    findings = []
    for finding in [_finding(one) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else ():
        if finding.code == CONTRADICTED and evidence is not None:
            findings.append(finding._replace(severity=evidence))
        elif entry.refused and (finding.code in RECORDED or (finding.code, finding.path) == (REUSED, ROOT)):
            findings.append(finding)
    return tuple(findings)


def _finding(fields: dict[str, Any]) -> Finding:
    known = {name: value for name, value in fields.items() if name in Finding._fields and isinstance(value, str)}
    return Finding(**{"code": "", "path": ROOT, "say": ""} | known)  # type: ignore[arg-type]
