"""Simulation of sends: what a team with these settings would have answered to the messages of a log.

A message goes through the same decision as on the bus, in one transaction of a memory store whose clock is the log.
What a log does not record stays as it was: the options of the request, whether an inbox was full.
"""

from collections.abc import Iterable, Mapping
from math import inf
from sys import maxsize
from typing import Any, Literal

from telex.bus.context import EMPTY, BusContext, CachedRoute, RouteKey, TeamState, Topics, default_roles, states_of
from telex.bus.decision import (
    NO_RECIPIENT,
    DecidedSend,
    Decision,
    PreparedSend,
    RefusedSend,
    SendRequest,
    StoredSend,
)
from telex.delivery.membership import name_not_allowed
from telex.delivery.routing import Participants, Route, route
from telex.delivery.validator_cache import TypeTraits
from telex.dialects.schema import ANY, Dialect, MessageType, Tree
from telex.model.finding import Finding, Severity, refusals
from telex.model.message import COMING_AND_GOING, Event, NewMessage, StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.model.roster import ALL_OF_ROLE, EVERYONE, ONE_OF_ROLE, TELEX, Member, Roster
from telex.model.text import ROOT, digest_of
from telex.ports.bus import Receipt
from telex.ports.store import Transaction
from telex.replay.reader import LogEntry, detail_recorded, inboxes_recorded, seconds_of
from telex.replay.time_travel import apply_member_event
from telex.stores.memory import MemoryStore, MemoryTransaction
from telex.validation.authorization import normalised
from telex.validation.check import STRICT, CheckPolicy
from telex.work import reducer
from telex.work.view import FOLDS, WorkMessage, work_message_from_log

_NEW = tuple.__new__  # makes a NamedTuple in half the time: by place, for every message
ROUTES_MAX = 1_024  # that are cached; one to everyone has as many inboxes as there are members


class ReplayTeam(TeamState):
    """The members at each point of a log, under the settings of the replay.

    Members join and leave by the events of the log. Many logs have no such events, or only some. In an open team, the
    sender and the recipient of a message that was accepted are then taken as members. In a closed team they are not:
    the replay reports them.
    """

    was_accepted = False  # the current message: then its sender and recipient were members
    is_bare = False  # the sender of the current message is known only by its own claim
    _everybody: Route | None = None

    @property
    def is_closed(self) -> bool:
        return bool(self._declared)

    @property
    def is_lenient(self) -> bool:
        """An accepted message of an open team passes, whether the log names its agents or not."""
        return self.was_accepted and not self._declared

    def route(self, key: RouteKey) -> CachedRoute | Finding:
        """The cached route, or the one that the bus would resolve. As in `telex check`, the sender that a bare message
        claims is accepted, except that in a closed team it must be a member."""
        cached = (*key, self.was_accepted, self.is_bare)
        if (known := self._replay_routes.get(cached)) is not None:
            return known
        resolved = self._resolve(key)
        if not isinstance(resolved, Finding):
            if len(self._replay_routes) >= ROUTES_MAX:
                self._replay_routes.clear()
            self._replay_routes[cached] = resolved
        return resolved

    def _resolve(self, key: RouteKey) -> CachedRoute | Finding:
        sender, role, to = key
        member = self.resolve_member(sender, role)
        if isinstance(member, Finding):
            return member
        resolved = self._route_of(member, to or None, self.roster, joins=False)
        participants = resolved.participants._replace(as_role=member.role or None)
        if self.is_bare and not self.is_closed:
            participants = Participants()
        return resolved._replace(participants=participants, seen_until=inf)

    def resolve_member(self, name: str, role: str | None, *, by: str | None = None) -> Member | Finding:
        name = normalised(name)
        if not name:
            return Member("", "")
        if self.roster.find(name) is None:
            if self.is_closed and role is None and (others := self.roster.of_role(name)):
                return others[0]  # a message that is signed with a role
            past = self.roster.members.get(name)
            if self.is_lenient and (past is None or past.stopped_at is None):
                return name_not_allowed(name, self._limits) or Member(name, normalised(role) if role else "")
        return super().resolve_member(name, role or None, by=by)

    def route_to(self, address: str, sender: Member, roster: Roster) -> Route | Finding:
        """The recipients of an accepted message were members, so they are not looked up."""
        if not self.is_lenient:
            return route(address, sender, roster)
        if address == EVERYONE:
            return tuple([member.name for member in roster.known() if member.name != sender.name])
        if address.startswith(ALL_OF_ROLE):
            members = roster.of_role(address.removeprefix(ALL_OF_ROLE))
            return tuple([member.name for member in members if member.name != sender.name])
        known = None if address.startswith(ONE_OF_ROLE) else roster.members.get(address)
        return (address,) if known is None or known.is_here else route(address, sender, roster)

    def everybody(self) -> Route:
        """Every inbox of the team, for a message that names no recipient."""
        if self._everybody is None:
            members, roles = [member.name for member in self.roster.known()], self.roster.roles()
            expected = [role for role in self.roster.default_roles if role not in self.roster.members]
            self._everybody = (*members, *expected, *(ONE_OF_ROLE + role for role in roles))
        return self._everybody

    # --- topics: states are never evicted, because the store does not hold the messages that they are folded from ----

    def topic_names(self, kind: str) -> list[str]:
        return sorted(name for name in self._topics if name == kind or name.startswith(kind + ":"))

    def _read_on(self, name: str) -> tuple[int, Any]:
        return EMPTY

    def put_topics(self, tx: Transaction, states: Mapping[str, Any], seq: int) -> None:
        for name, state in states.items():
            self._topics[name] = seq, state

    def forget_routes(self) -> None:
        super().forget_routes()
        self._replay_routes: dict[tuple[object, ...], CachedRoute] = {}
        self._everybody = None


ReplayVerdict = Literal["passed", "refused", "repeated", "own"]  # own: sent by the bus itself, so it is not checked
# Findings that only the record has: the options of the sender and the inboxes of that day are not in the log.
RECORDED = frozenset({"id-differs", "id-not-allowed", "inbox-full", "recipient-missing"})
EVIDENCE: dict[str, Severity] = {"mark": "warning", "refuse": "refusal"}  # by the team's setting
REUSED, CONTRADICTED = "id-reused", "evidence-contradicted"
MEMBERS_MAX = 10_000  # that are taken from messages, and not from events


class SimulatedResult(NamedTuple):
    verdict: ReplayVerdict
    agent: str
    dialect: Dialect | None
    type: MessageType | None
    id: str | None
    findings: tuple[Finding, ...] = ()


class ReplayTransaction(MemoryTransaction):
    """Transaction of a replay: stores the ids and the digest of a message, which is all that later decisions read."""

    def append(self, message: NewMessage) -> int:
        tables = self._tables
        seq = tables._last_event = tables._last_event + 1
        tables._messages[seq] = StoredMessage(seq, *message[:11], b"")
        tables._by_id[message.id].append(seq)
        tables._accepted[message.sender, message.id] = seq
        return seq


class LogClock:
    """The time of the current entry."""

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
        self._tx = ReplayTransaction(store)  # one for the whole replay, never rolled back
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
        """Apply an event that is no message. Only joining, leaving and stopping have an effect; in a closed team only
        declared members can join, with the role and dialects of their declaration."""
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
        self._latest = max(at, self._latest)

    def _prepare(self, entry: LogEntry) -> PreparedSend:
        sender = entry.sender or ""
        raw, role, to = entry.raw, entry.role, entry.to
        request = _NEW(SendRequest, (raw, sender, role, to, None, entry.reply_to, entry.correlation, None, None, None))
        route = self._team.route((sender, role, to))
        participants = Participants() if isinstance(route, Finding) else route.participants
        if not entry.kept and not isinstance(route, Finding):
            self._meet(route.member)
        checked = self._context.validators.check(raw, participants)
        own_id = checked.envelope.id
        has_own_id = own_id is not None and not entry.kept
        id_ = entry.id or own_id or f"line {entry.number}"
        digest = digest_of(raw) if has_own_id else b""  # identifies duplicates
        evidence = _recorded_findings(entry, self._evidence) if entry.detail else ()
        return _NEW(
            PreparedSend, (request, checked, participants, id_, has_own_id, digest, self._clock.at, None, evidence)
        )

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
    work_message = work_message_from_log(StoredMessage(0, *message[:12]), event, traits.dialect)
    if work_message is None:
        return
    topics, team, stored = Topics(context.team), context.team, work_message._replace(seq=entry.number)
    changed = reducer.topics_changed(work_message, topics)
    states = {topic: reducer.fold_in_place(topic, topics.get(topic), stored) for topic in changed}
    tx.append(message)
    team.put_topics(tx, states, entry.number)


_NOT_STORED = NewMessage(
    *("", 0.0, "", "", "", None, None), rank=0, correlation=None, reply_to=None, digest=b"", raw=b""
)


class ReplayDecision(Decision):
    """The decision of the bus, where the log has a part of the answer. Nothing is delivered, and follow-up messages are
    entries of the log themselves."""

    __slots__ = ("_entry",)

    def __init__(self, context: BusContext, prepared: PreparedSend, tx: Transaction, entry: LogEntry) -> None:
        super().__init__(context, prepared, tx)
        self._entry = entry

    def result(self, decided: DecidedSend) -> SimulatedResult:
        assert not isinstance(decided, StoredSend), "nothing is left to do after a replayed message"
        verdict: ReplayVerdict = "passed"
        if isinstance(decided, RefusedSend):
            verdict = "refused"
        elif decided.duplicate:
            verdict = "repeated"
        _, traits, envelope = self._checked
        entry = self._entry
        dialect, type_ = (traits.dialect, traits.type) if traits is not None else (self._checked.dialect, None)
        agent, id_ = self._member.name or entry.sender or "", entry.id or envelope.id
        findings = () if verdict == "repeated" else decided.findings
        return _NEW(SimulatedResult, (verdict, agent, dialect, type_, id_, findings))

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
        recorded_inboxes = inboxes_recorded(self._entry) if self._entry.detail is not None else None
        if recorded_inboxes is not None and not isinstance(self._inboxes, Finding):
            self._inboxes = recorded_inboxes
        return None

    def _argument_findings(self) -> tuple[Finding, ...]:
        """The findings of the record, if they stop the message. A claim that contradicts the repository stops it in a
        strict team only, every other refusal in any."""
        findings = self._findings
        if not findings:
            return ()
        is_strict = self._context.policy.strict
        stops = any(finding.code != CONTRADICTED or is_strict for finding in refusals(findings))
        return findings if stops else ()

    def _work_message_of(self, tree: Tree, traits: TypeTraits) -> WorkMessage:
        if self._entry.at is None:  # a bare message: its own timestamp is all there is
            written = tree.get(traits.dialect.wire.timestamp or "")
            at = seconds_of(written) if isinstance(written, str) else None
            if at is not None:
                self._now = at
        return super()._work_message_of(tree, traits)

    def _apply_work_rules(self, traits: TypeTraits) -> None:
        super()._apply_work_rules(traits)
        work = self._work
        if work is not None and work.change is not None and work.change.reports:
            self._work = work._replace(change=work.change._replace(reports=()))

    def _append(self) -> DecidedSend:
        """Store what later decisions need: changes of the work, and ids."""
        work, findings = self._work, (*self._checked.findings, *self._findings)
        change = work.change if work is not None else None
        if change is not None or self._has_own_id:
            message = self._new_message(None, ())
            if self._has_own_id:
                self._tx.append(message)
            if change is not None:
                self._update_topics(self._entry.number, message)
                for member, event in change.members:
                    self._context.team.write_member(self._tx, member, event)
        return Receipt(True, self._id, "stored", findings=findings)

    def _refuse(self, findings: tuple[Finding, ...]) -> RefusedSend:
        """Refused messages are not stored."""
        checked = self._checked
        return RefusedSend(_NOT_STORED, checked, (*checked.findings, *findings))


def _only_sender(type_: MessageType) -> Member:
    """The sender of a message that names none: the role that may send its type, if there is only one."""
    role = type_.senders[0] if len(type_.senders) == 1 and type_.senders != ANY else ""
    return Member(role, role)


def _recorded_findings(entry: LogEntry, evidence: Severity | None) -> tuple[Finding, ...]:
    """Findings of the send that a replay cannot produce. `evidence` is the severity of a claim that contradicts the
    repository; None ignores it."""
    if entry.detail is None or '"findings"' not in entry.detail:
        return ()
    recorded = detail_recorded(entry).get("findings")
    findings = []
    for finding in map(_finding, recorded if isinstance(recorded, list) else ()):
        if finding.code == CONTRADICTED and evidence is not None:
            findings.append(finding._replace(severity=evidence))
        elif entry.refused and (finding.code in RECORDED or (finding.code, finding.path) == (REUSED, ROOT)):
            findings.append(finding)
    return tuple(findings)


def _finding(recorded: Any) -> Finding:
    fields = recorded.items() if isinstance(recorded, dict) else ()
    known = {name: value for name, value in fields if name in Finding._fields and isinstance(value, str)}
    return Finding(**{"code": "", "path": ROOT, "say": ""} | known)
