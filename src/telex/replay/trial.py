"""What would this team have said to that message? The same ladder as when it is sent: read, checked, routed, weighed.

Everything that is decided is decided by the rules the bus decides by; only who was there and what went before is taken
from the log. What cannot be told from a log stays as it was: which options a sender gave, whether an inbox was full.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from telex.flow.admission import STRICT, Desk
from telex.flow.book.chapter import Remark
from telex.flow.book.said import Said, heard, tree_of
from telex.flow.lanes import Kind, Lanes, Looked
from telex.flow.routing import Route
from telex.model.event import Event
from telex.model.message import Message
from telex.model.refusal import Finding
from telex.model.roster import EVERYONE, TELEX, Member
from telex.replay.glimpsed import Around
from telex.replay.judged import CONTRADICTED, EVIDENCE, Judged, Verdict, found_then, judged, refuses, reused, stops
from telex.replay.lines import Told, inboxes_of
from telex.replay.repeats import Repeats
from telex.replay.reports import Notes
from telex.replay.roads import Roads
from telex.replay.team import NOBODY, Team, Way
from telex.replay.track import BLOCKER, NOBODY_NAMED, Plate, Track, only_sender, track
from telex.replay.work import Work

MET_MAX = 5_000  # senders, by what they call themselves
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
        self.desk, self._team = desk, Team(desk, declared, begin)
        self._work = Work(desk, self._team, work or {})
        self._hear, self._times = self._work.reports.hear, self._work.times
        self._lanes, self._closed = Lanes(desk), self._team.is_closed
        self._evidence = EVIDENCE.get(evidence)
        self._again = Repeats().again
        self._roads, self._bytes_max = Roads(desk, self._team), desk.limits.message_bytes_max
        self._track: Track | None = None
        self._asked = 0
        self._met: dict[str, Member] = {}  # by what a message says of its sender
        self._nobody = Way(Member("", ""), None, (), None, NOBODY)

    @property
    def book(self) -> Mapping[str, Any]:
        return self._work.book

    def happened(self, event: Event) -> None:
        """Something that is no message: somebody came or went."""
        self._times.saw(event.at)
        self._team.happened(event)
        self._met.clear()

    # --- the quick way -----------------------------------------------------------------------------------------------

    def quick(self, number: int, raw: bytes) -> Judged | None:
        """The answer to a bare message like thousands before it. None: there is more to find out, about the line too.

        It is for messages within the size limit, as the fast lane is.
        """
        track = self._track or self._opened()
        if track is None or self._closed:  # in a closed team it matters who it is from and for
            return None
        glance = track(raw)
        if glance is None:
            return None
        plate, message = glance
        dialect, type_, whoever, head, deed, idle, report, moment, _ = plate  # in one go, which is quickest
        id_, claim, recipient = head(message)
        member = self._met.get(claim or whoever) or self._meet(claim or whoever)
        if member is None or (recipient and self._team.somebody_is_gone and self._reached(plate, recipient, member)[2]):
            return None
        name, id_ = member.name, id_ or None
        if id_ is not None and (again := self._again(raw, name, id_)) is not None:
            if again:
                return Judged("repeated", name, dialect, type_, id_)
            return Judged("refused", name, dialect, type_, id_, (reused(id_),))
        notes: Notes = () if deed is None else None
        if report is not None and deed != BLOCKER:
            notes = self._hear[deed](report(message), moment, raw, message, name)  # type: ignore[index]
        if notes is None and idle and self._work.is_untouched(idle):
            notes = ()
        if notes is not None:
            return _NEW(Judged, ("passed", name, dialect, type_, id_, notes))
        if recipient:
            to, inboxes, _ = self._reached(plate, recipient, member)
        else:
            to, inboxes = EVERYONE, self._team.everybody()
        at = self._times.at(moment(raw, message))
        return self._swiftly(raw, plate, message, _NEW(Around, (number, id_, at, member, to, inboxes, None, None)), id_)

    def _kept(self, told: Told) -> Judged | None:
        """The same for a message of which the log says who has sent it, and when."""
        number, raw, sender, role, to, at, id_, correlation, reply_to, detail, kept, refused = told
        track = self._track or self._opened()
        if track is None or at is None or sender is None or refused or len(raw) > self._bytes_max:
            return None
        road = self._roads.between(sender, role, to)
        if road is None or (detail is not None and CONTRADICTED in detail):
            return None
        glance = track(raw)
        if glance is None:
            return None
        plate, message = glance
        dialect, type_, _, head, deed, idle, report, _, _ = plate
        own_id, claim, recipient = head(message)
        if not road.lets(plate, claim, recipient):
            return None
        member, address, inboxes = road.member, road.address, road.inboxes
        name = member.name
        if address is None and recipient:
            address, inboxes, wrong = self._reached(plate, recipient, member)
            if wrong is not None:
                return None
        if not kept:
            self._team.meet(member)
            if own_id and (again := self._again(raw, name, own_id)) is not None:
                if again:
                    return Judged("repeated", name, dialect, type_, id_ or own_id)
                return Judged("refused", name, dialect, type_, id_ or own_id, (reused(own_id),))
        id_ = id_ or own_id or None
        notes: Notes = () if deed is None else None
        if report is not None and deed != BLOCKER:
            notes = self._hear[deed](report(message), _as_told, raw, at, name)  # type: ignore[index]
        if notes is None and idle and self._work.is_untouched(idle):
            notes = ()
        if notes is not None:
            return _NEW(Judged, ("passed", name, dialect, type_, id_, notes))
        if address is None:
            address, inboxes = EVERYONE, self._team.everybody()
        if detail is not None and '"inboxes"' in detail:
            inboxes = inboxes if (where := inboxes_of(told)) is None else where
        around = _NEW(Around, (number, id_, at, member, address, inboxes, correlation, reply_to))
        return self._swiftly(raw, plate, message, around, id_)

    def _swiftly(self, raw: bytes, plate: Plate, message: Any, around: Around, id_: str | None) -> Judged:
        """What the rules of the work say to it."""
        if plate.deed == BLOCKER and plate.report is not None and self._work.reports.blocked(plate, message, around):
            return _NEW(Judged, ("passed", around.sender.name, plate.dialect, plate.type, id_, ()))
        verdict, found = self._weighed(plate.glimpse(raw, message, around))
        return _NEW(Judged, (verdict, around.sender.name, plate.dialect, plate.type, id_, found))

    def _opened(self) -> Track | None:
        """The track, once it pays to open it."""
        self._asked += 1
        if self._asked >= QUICK_FROM:
            self.open_track()
        return self._track

    def open_track(self) -> None:
        self._track = track(self.desk)

    def _reached(self, plate: Plate, recipient: str, sender: Member) -> tuple[str, Route, Finding | None]:
        return self._team.reached(recipient, sender, by_role=plate.dialect.addresses == "roles", taken=True)

    def _meet(self, claim: str) -> Member | None:
        """Whoever signs like this, who is then known. None: nobody may be called so, or is called so any more."""
        if claim.startswith(NOBODY_NAMED):
            member = _of_role(claim.removeprefix(NOBODY_NAMED))
        else:
            found = self._team.way(claim, None, None, True, True)
            if isinstance(found, Finding):
                return None
            member = found.member
        if len(self._met) >= MET_MAX:
            self._met.clear()
        self._met[claim] = member
        self._team.meet(member)
        return member

    # --- the patient way ---------------------------------------------------------------------------------------------

    def judge(self, told: Told) -> Judged:
        """What would have become of it."""
        return (self._kept(told) if told.at is not None else None) or self._patiently(told)

    def _patiently(self, told: Told) -> Judged:
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
            member = _of_role(only_sender(looked.kind.type))
        id_ = looked.facts.id
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
            by_role = looked.dialect is not None and looked.dialect.addresses == "roles"
            address, inboxes, wrong = self._team.reached(recipient, member, by_role=by_role, taken=not told.refused)
            found = found if wrong is None else (*found, wrong)
        checked, kind = looked.checked, looked.kind
        if (found and stops(found, self.desk)) or (checked is not None and not checked.valid):
            return judged("refused", told, looked, agent, (*looked.findings, *found))
        if kind is not None and kind.deed is not None and self._means_something(looked, kind):
            verdict, all_found = self._weighed(self._said(told, looked, member, address or "", inboxes), found)
            return judged(verdict, told, looked, agent, (*looked.findings, *all_found))
        if kind is not None and checked is None and not found:  # most are like this
            return _NEW(Judged, ("passed", agent, kind.dialect, kind.type, told.id or id_, ()))
        return judged("passed", told, looked, agent, (*looked.findings, *found))

    # --- who speaks --------------------------------------------------------------------------------------------------

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
            return "refused" if self.desk.strict else "passed", found
        for other in self._work.write(said):
            self._team.stands(other)
            self._met.clear()
        return "passed", found

    def _said(self, told: Told, looked: Looked, member: Member, address: str, inboxes: Route) -> Said:
        kind, facts = looked.kind, looked.facts
        assert kind is not None
        tree = tree_of(told.raw, kind.dialect, kind.type)
        at = told.at if told.at is not None else self._times.read(tree.get(kind.dialect.wire.timestamp or ""))
        if not address:
            address, inboxes = EVERYONE, self._team.everybody()
        return Said(
            told.number,
            told.id or facts.id or f"line {told.number}",
            at,
            member.name,
            member.role,
            address,
            inboxes if (where := inboxes_of(told)) is None else where,
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


def _as_told(raw: bytes, at: float) -> float:
    """When a message was sent that the log itself tells it of."""
    return at


def _of_role(role: str) -> Member:
    """Whoever has it, of whom nothing else is known."""
    return Member(role, role)
