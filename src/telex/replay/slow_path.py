"""What would this team have said to that message? The same ladder as when it is sent: read, checked, routed, weighed.

Everything that is decided is decided by the rules the bus decides by; only who was there and what went before is taken
from the log. What cannot be told from a log stays as it was: which options a sender gave, whether an inbox was full.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from telex.delivery.routing import Route
from telex.delivery.validator_cache import CheckedMessage, TypeTraits, ValidatorCache
from telex.model.event import COMING_AND_GOING, Event
from telex.model.finding import Finding
from telex.model.message import Message
from telex.model.roster import EVERYONE, TELEX, Member
from telex.replay.decoded_message import MessageContext
from telex.replay.dedup import ReplayDedup
from telex.replay.fast_path import only_sender
from telex.replay.reader import LogEntry, inboxes_of
from telex.replay.result import EVIDENCE, SimulatedResult, Verdict, found_then, judged, refuses, reused, stops
from telex.replay.spill_port import SpillPort
from telex.replay.team import NOBODY, ReplayPath, ReplayTeam
from telex.replay.user_dialect_requests import ReplayUserRequests
from telex.replay.work_state import ReplayWorkState
from telex.validation.check import Desk
from telex.work.rule_set import LazyFinding
from telex.work.user_dialect_requests import ANSWERING, ASKING, stands_for
from telex.work.view import WorkMessage, heard, tree_of

_NEW = tuple.__new__  # makes a NamedTuple in half the time


class SlowPath:
    """The whole way, for every message there can be. `simulate` knows a quick one for most, which says the same."""

    def __init__(
        self,
        desk: Desk,
        declared: Iterable[Member],
        work: Mapping[str, Any],  # what the team chose for it
        evidence: str,
        begin: Iterable[Member],  # who was there before the log begins
    ) -> None:
        self.desk, self._team = desk, ReplayTeam(desk, declared, begin)
        self._work, self._own_words = ReplayWorkState(desk, self._team, work), ReplayUserRequests()
        self._times, self._lanes = self._work.times, ValidatorCache(desk)
        self._evidence = EVIDENCE.get(evidence)
        repeats = ReplayDedup()
        self._again, self._forget = repeats.again, repeats.forget
        self._met: dict[str, Member] = {}  # by what a message says of its sender
        self._nobody = ReplayPath(Member("", ""), None, (), None, NOBODY)

    def puts_away_into(self, away: SpillPort) -> None:
        """From now on what nobody has in hand of the work goes there. Otherwise all of it is in memory."""
        self._work.puts_away_into(away)

    @property
    def book(self) -> Mapping[str, Any]:
        return self._work.book

    def happened(self, event: Event) -> None:
        """Something that is no message: somebody came or went. What else there is decides nothing."""
        if event.kind not in COMING_AND_GOING:
            return
        self._times.saw(event.at)
        self._team.happened(event)
        self._met.clear()

    def patiently(self, told: LogEntry) -> SimulatedResult:
        _, raw, sender, role, to, at, _, _, _, detail, kept, refused = told
        if sender == TELEX and (kept or at is not None):
            return self._own(told)
        way = self._nobody
        if sender is not None:
            found_way = self._team.way(sender, role, to, not refused, told.is_bare)
            if isinstance(found_way, Finding):
                looked = self._lanes.look(raw, NOBODY)
                return judged("refused", told, looked, sender, (*looked.findings, found_way))
            way = found_way
        looked = self._lanes.look(raw, way.pair)
        member, address, inboxes, wrong, _ = way
        if sender is None and looked.kind is not None:
            member = of_role(only_sender(looked.kind.type))
        id_ = looked.facts.id if looked.checked is None or looked.checked.valid else None
        if not kept:
            self._team.meet(member)
            if id_ is not None and (again := self._again(raw, member.name, id_)) is not None:
                verdict: Verdict = "repeated" if again else "refused"
                return judged(verdict, told, looked, member.name, () if again else (reused(id_),))
        found: tuple[Finding, ...] = ()
        if detail is not None and '"findings"' in detail:
            found = found_then(told, self._evidence if self.desk.work else None)
        if wrong is not None:
            found = (*found, wrong)
        held = self._held(told, looked, member, address, inboxes, found)
        if held.verdict == "refused" and not kept:
            self._forget(member.name, id_)  # what was refused has used up none
        return held

    def _held(
        self,
        told: LogEntry,
        looked: CheckedMessage,
        member: Member,
        address: str | None,
        inboxes: Route,
        found: tuple[Finding, ...],
    ) -> SimulatedResult:
        """What the rules say to a message whose sender is known."""
        agent, (id_, _, _, recipient) = member.name, looked.facts
        if address is None and recipient is not None:
            by_role = looked.dialect is not None and looked.dialect.addresses == "roles"
            address, inboxes, wrong = self._team.reached(recipient, member, by_role=by_role, taken=not told.refused)
            found = found if wrong is None else (*found, wrong)
        checked, kind = looked.checked, looked.kind
        if (found and stops(found, self.desk)) or (checked is not None and not checked.valid):
            return judged("refused", told, looked, agent, (*looked.findings, *found))
        if kind is not None and kind.deed is not None and self._means_something(looked, kind):
            verdict, all_found = self._weighed(self._said(told, looked, member, address or "", inboxes), found)
            return judged(verdict, told, looked, agent, (*looked.findings, *all_found))
        if kind is not None and self.desk.work and stands_for(kind.type, ANSWERING):
            verdict, all_found = self._answered(self._said(told, looked, member, address or "", inboxes), found)
            return judged(verdict, told, looked, agent, (*looked.findings, *all_found))
        if kind is not None and self.desk.work and stands_for(kind.type, ASKING):
            at = told.at if told.at is not None else self._times.now
            around = MessageContext(told.number, told.id or id_, at, member, *self._whom(told, address or "", inboxes))
            self._own_words.heard(kind.dialect.name, kind.type, around)
        return judged("passed", told, looked, agent, (*looked.findings, *found))

    # --- what it means to the work -----------------------------------------------------------------------------------

    def _means_something(self, looked: CheckedMessage, kind: TypeTraits) -> bool:
        """Has the book a word in it? Not to a message that is let pass though it is refused, and to some only once
        certain things were said."""
        if looked.checked is not None and refuses(looked.findings):
            return False
        return kind.idle is None or not self._work.is_untouched(kind.idle)

    def _weighed(
        self, said: WorkMessage, before: tuple[Finding, ...] = ()
    ) -> tuple[Verdict, tuple[Finding | LazyFinding, ...]]:
        """What becomes of it, and all that was found. What may pass is written down."""
        found: tuple[Finding | LazyFinding, ...] = (*before, *self._work.weigh(said))
        if found and refuses(found):
            left = self._own_words.left_over(said, found)
            found = found if left is None else left
            return "refused" if self.desk.strict and refuses(found) else "passed", found
        for other in self._work.write(said):
            self._team.stands(other)
            self._met.clear()
        return "passed", found

    def _answered(
        self, said: WorkMessage, before: tuple[Finding, ...] = ()
    ) -> tuple[Verdict, tuple[Finding | LazyFinding, ...]]:
        """The same for an answer in a team's own words, which writes nothing down."""
        found: tuple[Finding | LazyFinding, ...] = (*before, *self._work.answered_in_own_words(said))
        return "refused" if self.desk.strict and refuses(found) else "passed", found

    def _said(
        self, told: LogEntry, looked: CheckedMessage, member: Member, address: str, inboxes: Route
    ) -> WorkMessage:
        kind, facts = looked.kind, looked.facts
        assert kind is not None
        tree = tree_of(told.raw, kind.dialect, kind.type)
        at = told.at if told.at is not None else self._times.read(tree.get(kind.dialect.wire.timestamp or ""))
        return WorkMessage(
            told.number,
            told.id or facts.id or f"line {told.number}",
            at,
            member.name,
            member.role,
            *self._whom(told, address, inboxes),
            kind.dialect,
            kind.type,
            tree,
            facts.correlation or told.correlation,
            facts.reply_to or told.reply_to,
        )

    def _whom(self, told: LogEntry, address: str, inboxes: Route) -> tuple[str, Route]:
        """For whom it was, which may be anybody."""
        if not address:
            address, inboxes = EVERYONE, self._team.everybody()
        return address, inboxes if (where := inboxes_of(told)) is None else where

    def _own(self, told: LogEntry) -> SimulatedResult:
        """What the bus itself has said is no claim to be judged, and others answer it."""
        looked = self._lanes.look(told.raw, NOBODY)
        kind = looked.kind
        if kind is not None and kind.deed is not None and not told.refused:
            message = Message(
                told.number, told.id or "", told.at or self._times.now, TELEX, TELEX, told.to or "", kind.dialect.name,
                kind.type.name, kind.rank, told.correlation, told.reply_to, b"", told.raw,
            )  # fmt: skip
            said = heard(message, Event(told.number, message.at, "accepted", TELEX, detail=told.detail), kind.dialect)
            if said is not None:
                self._work.write(said)
        return SimulatedResult("own", TELEX, looked.dialect, kind.type if kind is not None else None, told.id)


def of_role(role: str) -> Member:
    """Whoever has it, of whom nothing else is known."""
    return Member(role, role)
