"""What would this team have said to that message? The same ladder as when it is sent: read, checked, routed, weighed.

Everything that is decided is decided by the rules the bus decides by; only who was there and what went before is taken
from the log. What cannot be told from a log stays as it was: which options a sender gave, whether an inbox was full.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

from telex.flow.admission import STRICT, Desk
from telex.flow.book.said import Said, heard, tree_of
from telex.flow.lanes import Kind, Lanes, Looked
from telex.flow.routing import Route
from telex.model.event import Event
from telex.model.message import Message
from telex.model.refusal import Finding
from telex.model.roster import EVERYONE, TELEX, Member
from telex.replay.judged import EVIDENCE, Judged, Verdict, found_then, judged, refuses, reused, stops
from telex.replay.lines import Told, recorded
from telex.replay.reports import Notes
from telex.replay.team import NOBODY, Team, Way
from telex.replay.track import BLOCKER, NOBODY_NAMED, Plate, only_sender, track
from telex.replay.work import Work

IDS_MAX = 5_000  # at least so many ids of a foreign log are remembered, to tell what was repeated
QUICK_FROM = 200  # bare messages; opening the track takes about as long as judging so many the patient way
_NEW = tuple.__new__  # makes a NamedTuple in half the time


class Trial:
    def __init__(
        self,
        desk: Desk = STRICT,
        declared: Iterable[Member] = (),
        work: Mapping[str, Any] | None = None,
        evidence: str = "mark",
        begin: Iterable[Member] = (),  # who was there before the log begins
    ) -> None:
        self.desk, self.team = desk, Team(desk, declared, begin)
        self._work = Work(desk, self.team, work or {})
        self._hear, self._times = self._work.reports.hear, self._work.times
        self._lanes, self._closed = Lanes(desk), self.team.is_closed
        self._evidence = EVIDENCE.get(evidence)
        self._ids: dict[tuple[str, str], int] = {}
        self._ids_max = 2 * IDS_MAX  # the older half is then forgotten
        self._track: Callable[[bytes], tuple[Plate, Any] | None] | None = None
        self._asked = 0
        self._met: dict[str, Member] = {}  # by what a message says of its sender
        self._nobody = Way(Member("", ""), None, (), None, NOBODY)

    @property
    def book(self) -> Mapping[str, Any]:
        return self._work.book

    def happened(self, event: Event) -> None:
        """Something that is no message: somebody came or went."""
        self._times.saw(event.at)
        self.team.happened(event)
        self._met.clear()

    # --- the quick way -----------------------------------------------------------------------------------------------

    def quick(self, number: int, raw: bytes) -> Judged | None:
        """The answer to a bare message like thousands before it. None: there is more to find out, about the line too.

        It is for messages within the size limit, as the fast lane is.
        """
        if self._track is None:
            self._asked += 1
            if self._asked >= QUICK_FROM:
                self.open_track()
            return None
        glance = self._track(raw)
        if glance is None:
            return None
        plate, message = glance
        dialect, type_, whoever, head, deed, idle, _, report, moment, _ = plate  # in one go, which is quickest
        id_, claim, recipient = head(message)
        if self._closed or (recipient and self.team.somebody_is_gone):
            return None  # who it is from and for matters only there
        member = self._met.get(claim or whoever) or self._meet(claim or whoever)
        if member is None:
            return None
        name, id_ = member.name, id_ or None
        if id_ is not None and (again := self._again(raw, name, id_)) is not None:
            if again:
                return Judged("repeated", name, dialect, type_, id_)
            return Judged("refused", name, dialect, type_, id_, (reused(id_),))
        notes: Notes = () if deed is None else None
        if report is not None and deed is not None and not (recipient and deed == BLOCKER):
            notes = self._hear[deed](report(message), moment, raw, message, name, id_ or f"line {number}")
        if notes is None and idle and self._work.is_untouched(idle):
            notes = ()
        if notes is not None:
            return _NEW(Judged, ("passed", name, dialect, type_, id_, notes))
        if recipient:
            return self._held(Told(number, raw, claim or None), plate.looked(message), member, None, (), ())
        at = self._times.at(moment(raw, message))
        said = plate.glimpse(number, raw, message, at, member, self.team.everybody())
        verdict, found = self._weighed(said)
        return _NEW(Judged, (verdict, name, dialect, type_, id_, found))

    def open_track(self) -> None:
        self._track = track(self.desk, self._lanes)

    def _meet(self, claim: str) -> Member | None:
        """Whoever signs like this, who is then known. None: nobody may be called so, or is called so any more."""
        if claim.startswith(NOBODY_NAMED):
            member = _of_role(claim.removeprefix(NOBODY_NAMED))
        else:
            found = self.team.way(claim, None, None, True, True)
            if isinstance(found, Finding):
                return None
            member = found.member
        if len(self._met) >= IDS_MAX:
            self._met.clear()
        self._met[claim] = member
        self.team.meet(member)
        return member

    # --- the patient way ---------------------------------------------------------------------------------------------

    def judge(self, told: Told) -> Judged:
        _, raw, sender, role, to, at, _, _, _, detail, kept, refused = told
        if sender == TELEX and (kept or at is not None):
            return self._own(told)
        way = self._nobody
        if sender is not None:
            found_way = self.team.way(sender, role, to, not refused, at is None and to is None and not kept)
            if isinstance(found_way, Finding):
                looked = self._lanes.look(raw, NOBODY)
                return judged("refused", told, looked, sender, (*looked.findings, found_way))
            way = found_way
        looked = self._lanes.look(raw, way.pair)
        member, address, inboxes, wrong, _ = way
        if sender is None and looked.kind is not None:
            member = _of_role(only_sender(looked.kind.type))
        id_ = looked.facts.id
        if not kept:
            self.team.meet(member)
            if id_ is not None and (again := self._again(raw, member.name, id_)) is not None:
                verdict: Verdict = "repeated" if again else "refused"
                return judged(verdict, told, looked, member.name, () if again else (reused(id_),))
        found: tuple[Finding, ...] = ()
        if detail is not None and '"findings"' in detail:
            found = found_then(told, self._evidence if self.desk.work else None)
        if wrong is not None:
            found = (*found, wrong)
        return self._held(told, looked, member, address, inboxes, found)

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
            address, inboxes, wrong = self._addressed(recipient, looked, member, taken=not told.refused)
            found = found if wrong is None else (*found, wrong)
        checked, kind = looked.checked, looked.kind
        if (found and stops(found, self.desk)) or (checked is not None and not checked.valid):
            return judged("refused", told, looked, agent, (*looked.findings, *found))
        if kind is not None and kind.deed is not None and self._means_something(looked, kind):
            verdict, found = self._weighed(self._said(told, looked, member, address or "", inboxes), found)
            return judged(verdict, told, looked, agent, (*looked.findings, *found))
        if kind is not None and checked is None and not found:  # most are like this
            return _NEW(Judged, ("passed", agent, kind.dialect, kind.type, told.id or id_, ()))
        return judged("passed", told, looked, agent, (*looked.findings, *found))

    # --- who speaks --------------------------------------------------------------------------------------------------

    def _addressed(
        self, recipient: str, looked: Looked, sender: Member, *, taken: bool
    ) -> tuple[str, Route, Finding | None]:
        """For whom the message itself says that it is."""
        by_role = looked.dialect is not None and looked.dialect.addresses == "roles"
        address = self.team.addressed(recipient, by_role=by_role)
        found = self.team.heard_by(address, sender, taken=taken)
        return (address, (), found) if isinstance(found, Finding) else (address, found, None)

    def _again(self, raw: bytes, agent: str, id_: str) -> bool | None:
        """Was this id used before? True: for the same bytes. None: never, as far as is remembered."""
        ids, words = self._ids, hash(raw)
        known = ids.setdefault((agent, id_), words)
        if known is not words:
            return known == words
        if len(ids) > self._ids_max:
            self._ids = dict(islice(ids.items(), IDS_MAX, None))
        return None

    # --- what it means to the work -----------------------------------------------------------------------------------

    def _means_something(self, looked: Looked, kind: Kind) -> bool:
        """Has the book a word in it? Not to a message that is let pass though it is refused, and to some only once
        certain things were said."""
        if looked.checked is not None and refuses(looked.findings):
            return False
        return kind.idle is None or not self._work.is_untouched(kind.idle)

    def _weighed(self, said: Said, found: tuple[Finding, ...] = ()) -> tuple[Verdict, tuple[Finding, ...]]:
        """What becomes of it, and all that was found. What may pass is written down."""
        found = (*found, *self._work.weigh(said))
        if found and refuses(found):
            return "refused" if self.desk.strict else "passed", found
        for other in self._work.write(said):
            self.team.stands(other)
            self._met.clear()
        return "passed", found

    def _said(self, told: Told, looked: Looked, member: Member, address: str, inboxes: Route) -> Said:
        kind, facts = looked.kind, looked.facts
        assert kind is not None
        tree = tree_of(told.raw, kind.dialect, kind.type)
        at = told.at if told.at is not None else self._times.read(tree.get(kind.dialect.wire.timestamp or ""))
        where = recorded(told).get("inboxes")
        if not address:
            address, inboxes = EVERYONE, self.team.everybody()
        return Said(
            told.number,
            told.id or facts.id or f"line {told.number}",
            at,
            member.name,
            member.role,
            address,
            tuple(one for one in where if isinstance(one, str)) if isinstance(where, list) else inboxes,
            kind.dialect,
            kind.type,
            tree,
            facts.correlation or told.correlation,
            facts.reply_to or told.reply_to,
        )

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


def _of_role(role: str) -> Member:
    """Whoever has it, of whom nothing else is known."""
    return Member(role, role)
