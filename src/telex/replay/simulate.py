"""Simulation of a send: what a team with these settings would have answered to a message of a log.

A message is checked, routed and held against the work rules by the same pure functions that the bus calls. Members and
work state come from the log. What a log does not record stays as it was: the sender's options, whether an inbox was
full.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from telex.delivery.routing import Route
from telex.delivery.validator_cache import CheckedMessage, TypeTraits, ValidatorCache
from telex.dialects.schema import ANY, MessageType
from telex.model.event import COMING_AND_GOING, Event
from telex.model.finding import Finding
from telex.model.message import Message
from telex.model.roster import EVERYONE, TELEX, Member
from telex.replay.dedup import ReplayDedup
from telex.replay.reader import LogEntry, inboxes_of
from telex.replay.result import EVIDENCE, SimulatedResult, Verdict, found_then, judged, refuses, reused, stops
from telex.replay.team import NOBODY, ReplayPath, ReplayTeam
from telex.replay.user_dialect_requests import MessageContext, ReplayUserRequests
from telex.replay.work_state import ReplayWorkState
from telex.validation.check import STRICT, CheckPolicy
from telex.work.rule_set import LazyFinding
from telex.work.user_dialect_requests import ANSWERING, ASKING, stands_for
from telex.work.view import WorkMessage, parse_tree, work_message_from_log


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
    ) -> tuple[Verdict, tuple[Finding | LazyFinding, ...]]:
        """What becomes of it, and all that was found. What may pass is written down."""
        found: tuple[Finding | LazyFinding, ...] = (*before, *self._work.weigh(work_message))
        if found and refuses(found):
            left = self._own_words.left_over(work_message, found)
            found = found if left is None else left
            return "refused" if self.desk.strict and refuses(found) else "passed", found
        for other in self._work.write(work_message):
            self._team.stands(other)
        return "passed", found

    def _answered(
        self, work_message: WorkMessage, before: tuple[Finding, ...] = ()
    ) -> tuple[Verdict, tuple[Finding | LazyFinding, ...]]:
        """The same for an answer in a team's own words, which writes nothing down."""
        found: tuple[Finding | LazyFinding, ...] = (*before, *self._work.answered_in_own_words(work_message))
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
