"""What would this team have said to that message? The same ladder as when it is sent: read, checked, routed, weighed.

Everything that is decided is decided by the rules the bus decides by; only who was there and what went before is taken
from the log. What cannot be told from a log stays as it was: which options a sender gave, whether an inbox was full.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from telex.flow.admission import Desk
from telex.flow.book.chapter import Remark
from telex.flow.book.said import Said, heard, tree_of
from telex.flow.lanes import Kind, Lanes, Looked
from telex.flow.routing import Route
from telex.flow.unbooked import ANSWERING, ASKING, stands_for
from telex.model.event import COMING_AND_GOING, Event
from telex.model.message import Message
from telex.model.refusal import Finding
from telex.model.roster import EVERYONE, TELEX, Member
from telex.replay.away import Away
from telex.replay.glimpsed import Around
from telex.replay.judged import EVIDENCE, Judged, Verdict, found_then, judged, refuses, reused, stops
from telex.replay.lines import Told, inboxes_of
from telex.replay.own_words import OwnWords
from telex.replay.repeats import Repeats
from telex.replay.team import NOBODY, Team, Way
from telex.replay.track import only_sender
from telex.replay.work import Work

_NEW = tuple.__new__  # makes a NamedTuple in half the time


class Patience:
    """The whole way, for every message there can be. `trial` knows a quick one for most, which says the same."""

    def __init__(
        self,
        desk: Desk,
        declared: Iterable[Member],
        work: Mapping[str, Any],  # what the team chose for it
        evidence: str,
        begin: Iterable[Member],  # who was there before the log begins
    ) -> None:
        self.desk, self._team = desk, Team(desk, declared, begin)
        self._work, self._own_words = Work(desk, self._team, work), OwnWords()
        self._times, self._lanes = self._work.times, Lanes(desk)
        self._evidence = EVIDENCE.get(evidence)
        repeats = Repeats()
        self._again, self._forget = repeats.again, repeats.forget
        self._met: dict[str, Member] = {}  # by what a message says of its sender
        self._nobody = Way(Member("", ""), None, (), None, NOBODY)

    def puts_away_into(self, away: Away) -> None:
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

    def patiently(self, told: Told) -> Judged:
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
        told: Told,
        looked: Looked,
        member: Member,
        address: str | None,
        inboxes: Route,
        found: tuple[Finding, ...],
    ) -> Judged:
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
            around = Around(told.number, told.id or id_, at, member, *self._whom(told, address or "", inboxes))
            self._own_words.heard(kind.dialect.name, kind.type, around)
        return judged("passed", told, looked, agent, (*looked.findings, *found))

    # --- what it means to the work -----------------------------------------------------------------------------------

    def _means_something(self, looked: Looked, kind: Kind) -> bool:
        """Has the book a word in it? Not to a message that is let pass though it is refused, and to some only once
        certain things were said."""
        if looked.checked is not None and refuses(looked.findings):
            return False
        return kind.idle is None or not self._work.is_untouched(kind.idle)

    def _weighed(self, said: Said, before: tuple[Finding, ...] = ()) -> tuple[Verdict, tuple[Finding | Remark, ...]]:
        """What becomes of it, and all that was found. What may pass is written down."""
        found: tuple[Finding | Remark, ...] = (*before, *self._work.weigh(said))
        if found and refuses(found):
            left = self._own_words.left_over(said, found)
            found = found if left is None else left
            return "refused" if self.desk.strict and refuses(found) else "passed", found
        for other in self._work.write(said):
            self._team.stands(other)
            self._met.clear()
        return "passed", found

    def _answered(self, said: Said, before: tuple[Finding, ...] = ()) -> tuple[Verdict, tuple[Finding | Remark, ...]]:
        """The same for an answer in a team's own words, which writes nothing down."""
        found: tuple[Finding | Remark, ...] = (*before, *self._work.answered_in_own_words(said))
        return "refused" if self.desk.strict and refuses(found) else "passed", found

    def _said(self, told: Told, looked: Looked, member: Member, address: str, inboxes: Route) -> Said:
        kind, facts = looked.kind, looked.facts
        assert kind is not None
        tree = tree_of(told.raw, kind.dialect, kind.type)
        at = told.at if told.at is not None else self._times.read(tree.get(kind.dialect.wire.timestamp or ""))
        return Said(
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

    def _whom(self, told: Told, address: str, inboxes: Route) -> tuple[str, Route]:
        """For whom it was, which may be anybody."""
        if not address:
            address, inboxes = EVERYONE, self._team.everybody()
        return address, inboxes if (where := inboxes_of(told)) is None else where

    def _own(self, told: Told) -> Judged:
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
        return Judged("own", TELEX, looked.dialect, kind.type if kind is not None else None, told.id)


def of_role(role: str) -> Member:
    """Whoever has it, of whom nothing else is known."""
    return Member(role, role)
