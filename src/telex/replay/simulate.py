"""Simulation of a send: what a team with these settings would have answered to a message of a log.

A message is checked, routed and held against the work rules by the same pure functions that the bus calls. Members and
work state come from the log. What a log does not record stays as it was: the sender's options, whether an inbox was
full.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Literal, NamedTuple

from telex.delivery.routing import Route
from telex.delivery.validator_cache import CheckedMessage, TypeTraits, ValidatorCache
from telex.dialects.schema import ANY, Dialect, MessageType
from telex.model.event import COMING_AND_GOING, Event
from telex.model.finding import Finding, Severity
from telex.model.json_path import ROOT
from telex.model.message import Message
from telex.model.roster import EVERYONE, TELEX, Member
from telex.replay.reader import LogEntry, inboxes_of, moment_in, recorded
from telex.replay.team import NOBODY, ReplayPath, ReplayTeam
from telex.validation.check import STRICT, CheckPolicy
from telex.work import reducer
from telex.work.approvals import Approval, ApprovalRequest, topic_of
from telex.work.mutable_state import OWNED, mutable_state
from telex.work.rule_set import RuleContext
from telex.work.user_dialect_requests import ANSWERING, ASKING, Found, decides_nothing, left_over, stands_for, wanted_by
from telex.work.view import WorkMessage, parse_tree, work_message_from_log

Verdict = Literal["passed", "refused", "repeated", "own"]  # own: a message of the bus itself, which nobody judges
# What is known from the record alone: the door and the inboxes of that day are gone.
AT_THE_DOOR = frozenset({"id-differs", "id-not-allowed", "inbox-full", "recipient-missing"})
EVIDENCE: dict[str, Severity] = {"mark": "warning", "refuse": "refusal"}  # by the team's setting
REUSED, CONTRADICTED = "id-reused", "evidence-contradicted"
IDS_MAX = 5_000  # at least so many ids are remembered
ASKED_MAX = 5_000  # requests in a user's dialect of which at least so many are remembered
ALIKE_MAX = 16  # of them, under one id
_NEW = tuple.__new__  # makes a NamedTuple in half the time


class SimulatedResult(NamedTuple):
    """What would have become of a message."""

    verdict: Verdict
    agent: str
    dialect: Dialect | None
    type: MessageType | None
    id: str | None
    findings: tuple[Finding, ...] = ()


def judged(
    verdict: Verdict, line: LogEntry, checked: CheckedMessage, agent: str, findings: tuple[Finding, ...]
) -> SimulatedResult:
    kind = checked.traits
    if kind is None:
        return SimulatedResult(verdict, agent, checked.dialect, None, line.id or checked.envelope.id, findings)
    return SimulatedResult(verdict, agent, kind.dialect, kind.type, line.id or checked.envelope.id, findings)


def refuses(findings: tuple[Finding, ...]) -> bool:
    return any(one.severity == "refusal" for one in findings)


def stops(findings: tuple[Finding, ...], desk: CheckPolicy) -> bool:
    """What was wrong at the door stops a message in every team, what a repository speaks against in a strict one."""
    return any(finding.severity == "refusal" and (desk.strict or finding.code != CONTRADICTED) for finding in findings)


def reused(id_: str | None) -> Finding:
    say = f"Give it an id of its own: {id_} was sent before, with other words."
    return Finding(REUSED, ROOT, say, expected="an id not used before", found=id_)


def found_then(line: LogEntry, evidence: Severity | None) -> tuple[Finding, ...]:
    """What was found when it was sent and cannot be found out anew. `evidence`: what a team makes of a report that its
    repository speaks against; None: nothing."""
    listed = recorded(line).get("findings")
    carried = []
    for finding in [_finding(one) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else ():
        if finding.code == CONTRADICTED and evidence is not None:
            carried.append(finding._replace(severity=evidence))
        elif line.refused and (finding.code in AT_THE_DOOR or (finding.code, finding.path) == (REUSED, ROOT)):
            carried.append(finding)
    return tuple(carried)


def _finding(facts: dict[str, Any]) -> Finding:
    known = {name: value for name, value in facts.items() if name in Finding._fields and isinstance(value, str)}
    return Finding(**{"code": "", "path": ROOT, "say": ""} | known)  # type: ignore[arg-type]


class Simulator:
    """A team that answers the messages of a log one after the other."""

    def __init__(
        self,
        desk: CheckPolicy = STRICT,
        declared: Iterable[Member] = (),
        work: Mapping[str, Any] | None = None,  # the team's settings for the work rules
        evidence: str = "mark",
        begin: Iterable[Member] = (),  # members since before the first line of the log
    ) -> None:
        self.desk, self._team = desk, ReplayTeam(desk, declared, begin)
        self._work, self._own_words = ReplayWorkState(desk, self._team, work or {}), ReplayUserRequests()
        self._times, self._lanes = self._work.times, ValidatorCache(desk)
        self._evidence = EVIDENCE.get(evidence)
        repeats = ReplayDedup()
        self._again, self._forget = repeats.again, repeats.forget
        self._nobody = ReplayPath(Member("", ""), None, (), None, NOBODY)

    @property
    def book(self) -> Mapping[str, Any]:
        return self._work.book

    def happened(self, event: Event) -> None:
        """Apply an event of the log that is no message. Only joining, leaving and stopping have an effect."""
        if event.kind not in COMING_AND_GOING:
            return
        self._times.saw(event.at)
        self._team.happened(event)

    def judge(self, line: LogEntry) -> SimulatedResult:
        """The answer to one message, which then counts as sent unless it was refused."""
        _, raw, sender, role, to, at, _, _, _, detail, kept, refused = line
        if sender == TELEX and (kept or at is not None):
            return self._own(line)
        replay_path = self._nobody
        if sender is not None:
            found_way = self._team.way(sender, role, to, not refused, line.is_bare)
            if isinstance(found_way, Finding):
                checked = self._lanes.check(raw, NOBODY)
                return judged("refused", line, checked, sender, (*checked.findings, found_way))
            replay_path = found_way
        checked = self._lanes.check(raw, replay_path.pair)
        member, address, inboxes, finding, _ = replay_path
        if sender is None and checked.traits is not None:
            member = _only_sender(checked.traits.type)
        id_ = checked.envelope.id if checked.checked is None or checked.checked.valid else None
        if not kept:
            self._team.meet(member)
            if id_ is not None and (again := self._again(raw, member.name, id_)) is not None:
                verdict: Verdict = "repeated" if again else "refused"
                return judged(verdict, line, checked, member.name, () if again else (reused(id_),))
        findings: tuple[Finding, ...] = ()
        if detail is not None and '"findings"' in detail:
            findings = found_then(line, self._evidence if self.desk.work else None)
        if finding is not None:
            findings = (*findings, finding)
        held = self._held(line, checked, member, address, inboxes, findings)
        if held.verdict == "refused" and not kept:
            self._forget(member.name, id_)  # what was refused has used up none
        return held

    def _held(
        self,
        line: LogEntry,
        looked: CheckedMessage,
        member: Member,
        address: str | None,
        inboxes: Route,
        findings: tuple[Finding, ...],
    ) -> SimulatedResult:
        """What the rules say to a message whose sender is known."""
        agent, (id_, _, _, recipient) = member.name, looked.envelope
        if address is None and recipient is not None:
            by_role = looked.dialect is not None and looked.dialect.addresses == "roles"
            address, inboxes, finding = self._team.reached(recipient, member, by_role=by_role, taken=not line.refused)
            findings = findings if finding is None else (*findings, finding)
        checked, kind = looked.checked, looked.traits
        if (findings and stops(findings, self.desk)) or (checked is not None and not checked.valid):
            return judged("refused", line, looked, agent, (*looked.findings, *findings))
        if kind is not None and kind.action is not None and self._means_something(looked, kind):
            verdict, all_found = self._weighed(self._said(line, looked, member, address or "", inboxes), findings)
            return judged(verdict, line, looked, agent, (*looked.findings, *all_found))
        if kind is not None and self.desk.work and stands_for(kind.type, ANSWERING):
            verdict, all_found = self._answered(self._said(line, looked, member, address or "", inboxes), findings)
            return judged(verdict, line, looked, agent, (*looked.findings, *all_found))
        if kind is not None and self.desk.work and stands_for(kind.type, ASKING):
            at = line.at if line.at is not None else self._times.now
            around = MessageContext(line.number, line.id or id_, at, member, *self._whom(line, address or "", inboxes))
            self._own_words.heard(kind.dialect.name, kind.type, around)
        return judged("passed", line, looked, agent, (*looked.findings, *findings))

    # --- what it means to the work -----------------------------------------------------------------------------------

    def _means_something(self, checked: CheckedMessage, kind: TypeTraits) -> bool:
        """Has the book a word in it? Not to a message that is let pass though it is refused, and to some only once
        certain things were said."""
        if checked.checked is not None and refuses(checked.findings):
            return False
        return kind.idle is None or not self._work.is_untouched(kind.idle)

    def _weighed(
        self, work_message: WorkMessage, before: tuple[Finding, ...] = ()
    ) -> tuple[Verdict, tuple[Finding, ...]]:
        """What becomes of it, and all that was found. What may pass is written down."""
        found: tuple[Finding, ...] = (*before, *self._work.weigh(work_message))
        if found and refuses(found):
            left = self._own_words.left_over(work_message, found)
            found = found if left is None else left
            return "refused" if self.desk.strict and refuses(found) else "passed", found
        for other in self._work.write(work_message):
            self._team.stands(other)
        return "passed", found

    def _answered(
        self, work_message: WorkMessage, before: tuple[Finding, ...] = ()
    ) -> tuple[Verdict, tuple[Finding, ...]]:
        """The same for an answer in a team's own words, which writes nothing down."""
        found: tuple[Finding, ...] = (*before, *self._work.answered_in_own_words(work_message))
        return "refused" if self.desk.strict and refuses(found) else "passed", found

    def _said(
        self, line: LogEntry, checked: CheckedMessage, member: Member, address: str, inboxes: Route
    ) -> WorkMessage:
        kind, facts = checked.traits, checked.envelope
        assert kind is not None
        tree = parse_tree(line.raw, kind.dialect, kind.type)
        at = line.at if line.at is not None else self._times.read(tree.get(kind.dialect.wire.timestamp or ""))
        return WorkMessage(
            line.number,
            line.id or facts.id or f"line {line.number}",
            at,
            member.name,
            member.role,
            *self._whom(line, address, inboxes),
            kind.dialect,
            kind.type,
            tree,
            facts.correlation or line.correlation,
            facts.reply_to or line.reply_to,
        )

    def _whom(self, line: LogEntry, address: str, inboxes: Route) -> tuple[str, Route]:
        """For whom it was, which may be anybody."""
        if not address:
            address, inboxes = EVERYONE, self._team.everybody()
        return address, inboxes if (where := inboxes_of(line)) is None else where

    def _own(self, line: LogEntry) -> SimulatedResult:
        """What the bus itself has said is no claim to be judged, and others answer it."""
        checked = self._lanes.check(line.raw, NOBODY)
        kind = checked.traits
        if kind is not None and kind.action is not None and not line.refused:
            message = Message(
                line.number, line.id or "", line.at or self._times.now, TELEX, TELEX, line.to or "", kind.dialect.name,
                kind.type.name, kind.rank, line.correlation, line.reply_to, b"", line.raw,
            )  # fmt: skip
            work_message = work_message_from_log(
                message, Event(line.number, message.at, "accepted", TELEX, detail=line.detail), kind.dialect
            )
            if work_message is not None:
                self._work.write(work_message)
        return SimulatedResult("own", TELEX, checked.dialect, kind.type if kind is not None else None, line.id)


def _only_sender(type_: MessageType) -> Member:
    """The sender of a message that names none: the role that may send its type, if there is only one."""
    role = type_.senders[0] if len(type_.senders) == 1 and type_.senders != ANY else ""
    return Member(role, role)


# --- state taken from the log -----------------------------------------------------------------------------------------


class ReplayWorkState:
    def __init__(self, desk: CheckPolicy, team: ReplayTeam, settings: Mapping[str, Any]) -> None:
        self._book: dict[str, Any] = {}
        self.times = LogClock()
        self._team, self._limits, self._settings = team, desk.limits, settings
        self._dialects: dict[str, Dialect] = {dialect.name: dialect for dialect in desk.dialects}

    @property
    def book(self) -> dict[str, Any]:
        return self._book

    def is_untouched(self, topics: tuple[str, ...]) -> bool:
        """Has nobody ever said anything in these, each of which is one for the whole team?"""
        return self._book.keys().isdisjoint(topics)

    def weigh(self, work_message: WorkMessage) -> tuple[Finding, ...]:
        """What speaks against it, and what its sender should know."""
        if not reducer.rule_checks(work_message.action):
            return ()
        return reducer.check_rules(work_message, self._book, self._ground(work_message.at))

    def answered_in_own_words(self, work_message: WorkMessage) -> tuple[Finding, ...]:
        """What is said of an answer in a team's own words, if it names something that the book keeps."""
        approval: Approval | None = (
            self._book.get(topic_of(work_message.reply_to)) if work_message.reply_to is not None else None
        )
        return () if approval is None else decides_nothing(work_message, approval, self._dialects)

    def write(self, work_message: WorkMessage) -> tuple[Member, ...]:
        """Write it down. Who has shut down by it."""
        book = self._book
        topics = reducer.topics_changed(work_message, book)
        if topics:
            self.times.saw(work_message.at)
        for topic in topics:
            kind = reducer.kind_of(topic)
            state = reducer.fold_of(kind)(book.get(topic), work_message)
            book[topic] = mutable_state(kind, state) if kind in OWNED else state
        return reducer.stopping(work_message, book, self._ground(work_message.at))

    def _ground(self, at: float) -> RuleContext:
        return _NEW(RuleContext, (at, self._team.roster, self._limits, self._settings, self._dialects))


class LogClock:
    def __init__(self) -> None:
        self.now = 0.0  # of the latest that had to do with the work

    def read(self, written: Any) -> float:
        return self.at(moment_in(written) if isinstance(written, str) else None)

    def at(self, told: float | None) -> float:
        return self.now if told is None else told

    def saw(self, at: float) -> None:
        if at > self.now:
            self.now = at


class ReplayDedup:
    def __init__(self) -> None:
        self._ids: dict[tuple[str, str], int] = {}
        self._most = 2 * IDS_MAX  # the older half is then forgotten

    def again(self, raw: bytes, agent: str, id_: str) -> bool | None:
        """Was this id used before? True: for the same bytes. None: never, as far as is remembered."""
        ids, words = self._ids, hash(raw)
        known = ids.setdefault((agent, id_), words)
        if known is not words:
            return known == words
        if len(ids) > self._most:
            self._ids = dict(islice(ids.items(), IDS_MAX, None))
        return None

    def forget(self, agent: str, id_: str | None) -> None:
        """What was refused has used up no id: it may be mended and sent under the same."""
        if id_ is not None:
            self._ids.pop((agent, id_), None)


class MessageContext(NamedTuple):
    """What the log or the roster says about a message."""

    number: int
    id: str | None
    at: float
    sender: Member
    to: str
    inboxes: tuple[str, ...]


class ReplayUserRequests:
    def __init__(self) -> None:
        self._asked: dict[str, list[tuple[MessageType, ApprovalRequest]]] = {}
        self._most = 2 * ASKED_MAX  # the older half is then forgotten

    def heard(self, dialect: str, type_: MessageType, around: MessageContext) -> None:
        """A message of a type that stands for a question was let pass."""
        assert stands_for(type_, ASKING), "it asks for nothing"
        _, id_, at, sender, to, inboxes = around
        if id_ is None:
            return  # nobody can name it
        request = ApprovalRequest(id_, sender.name, sender.role, to, inboxes, "", "", at, None, dialect, type_.name)
        known = self._asked.setdefault(id_, [])
        known.append((type_, request))
        del known[:-ALIKE_MAX]
        if len(self._asked) > self._most:
            self._asked = dict(islice(self._asked.items(), ASKED_MAX, None))

    def left_over(self, work_message: WorkMessage, found: Found) -> Found | None:
        """What is left to say of an answer to one of them; None: it answers none."""
        wanted = wanted_by(work_message, found) if self._asked else None
        if wanted is None:
            return None
        asked = self._asked.get(work_message.reply_to or "", ())
        return left_over(work_message, found, [request for type_, request in asked if stands_for(type_, wanted)])
