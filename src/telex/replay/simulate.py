"""What would this team have said to that message? Told quickly, where it is one like thousands before it.

One decode tells what kind of message it is, and that there is nothing to find in it by itself. Who may say it to whom
is known for each pair, and most reports are held against their plan at a glance. Whatever is not quite ordinary goes
the patient way, which would say the same.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from telex.delivery.routing import Route
from telex.model.finding import Finding
from telex.model.roster import EVERYONE, Member
from telex.replay.decoded_message import MessageContext
from telex.replay.fast_path import ANSWERS, ASKS, BLOCKER, NOBODY_NAMED, Track, TypeProfile, Values, track
from telex.replay.plan_report_checks import Notes
from telex.replay.reader import LogEntry, inboxes_of
from telex.replay.result import CONTRADICTED, SimulatedResult, Verdict, reused
from telex.replay.routes import ReplayRoutes
from telex.replay.slow_path import SlowPath, of_role
from telex.validation.check import STRICT, CheckPolicy

MET_MAX = 5_000  # senders, by what they call themselves
QUICK_FROM = 200  # messages; opening the track takes about as long as judging so many the patient way
_NEW = tuple.__new__  # makes a NamedTuple in half the time


class Simulator(SlowPath):
    def __init__(
        self,
        desk: CheckPolicy = STRICT,
        declared: Iterable[Member] = (),
        work: Mapping[str, Any] | None = None,
        evidence: str = "mark",
        begin: Iterable[Member] = (),
    ) -> None:
        super().__init__(desk, declared, work or {}, evidence, begin)
        self._hear, self._closed = self._work.reports.hear, self._team.is_closed
        self._roads, self._bytes_max = ReplayRoutes(self.desk, self._team), self.desk.limits.message_bytes_max
        self._track: Track | None = None
        self._asked = 0

    def judge(self, line: LogEntry) -> SimulatedResult:
        """What would have become of it."""
        return (self._kept(line) if line.at is not None else None) or self.patiently(line)

    def quick(self, number: int, raw: bytes) -> SimulatedResult | None:
        """The answer to a bare message like thousands before it. None: there is more to find out, about the line too.

        It is for messages within the size limit, as the fast lane is.
        """
        track = self._track or self._opened()
        if track is None or self._closed:  # in a closed team it matters who it is from and for
            return None
        glance = track(raw)
        if glance is None:
            return None
        plate, message, (id_, claim, recipient), said = glance
        dialect, type_, whoever, deed, idle, reports, moment, _ = plate  # in one go, which is quickest
        member = self._met.get(claim or whoever) or self._meet(claim or whoever)
        if member is None or (recipient and self._team.somebody_is_gone and self._reached(plate, recipient, member)[2]):
            return None
        name, id_ = member.name, id_ or None
        if id_ is not None and (again := self._again(raw, name, id_)) is not None:
            return _sent_before(again, name, plate, id_, id_)
        notes: Notes = () if deed is None else None
        if reports and reports != BLOCKER:
            notes = self._hear[reports](said, moment, raw, message, name)
        if notes is None and idle and self._work.is_untouched(idle):
            notes = ()
        if notes is not None:
            return _NEW(SimulatedResult, ("passed", name, dialect, type_, id_, notes))
        if recipient:
            to, inboxes, _ = self._reached(plate, recipient, member)
        else:
            to, inboxes = EVERYONE, self._team.everybody()
        at = self._times.at(moment(raw, message))
        around = _NEW(MessageContext, (number, id_, at, member, to, inboxes, None, None))
        judged = self._swiftly(raw, plate, message, said, around, id_)
        if judged.verdict == "refused":
            self._forget(name, id_)
        return judged

    def _kept(self, line: LogEntry) -> SimulatedResult | None:
        """The same for a message of which the log says who has sent it, and when."""
        number, raw, sender, role, to, at, id_, correlation, reply_to, detail, kept, refused = line
        track = self._track or self._opened()
        if track is None or at is None or sender is None or refused or len(raw) > self._bytes_max:
            return None
        road = self._roads.between(sender, role, to)
        if road is None or (detail is not None and '"findings"' in detail and _may_contradict(detail)):
            return None
        glance = track(raw)
        if glance is None:
            return None
        plate, message, (own_id, claim, recipient), said = glance
        dialect, type_, _, deed, idle, reports, _, _ = plate
        if not road.lets(plate, claim, recipient):
            return None
        member, address, inboxes = road.member, road.address, road.inboxes
        name = member.name
        if address is None and recipient:
            address, inboxes, finding = self._reached(plate, recipient, member)
            if finding is not None:
                return None
        if not kept:
            self._team.meet(member)
            if own_id and (again := self._again(raw, name, own_id)) is not None:
                return _sent_before(again, name, plate, own_id, id_ or own_id)
        id_ = id_ or own_id or None
        notes: Notes = () if deed is None else None
        if reports and reports != BLOCKER:
            notes = self._hear[reports](said, _as_told, raw, at, name)
        if notes is None and idle and self._work.is_untouched(idle):
            notes = ()
        if notes is not None:
            return _NEW(SimulatedResult, ("passed", name, dialect, type_, id_, notes))
        if address is None:
            address, inboxes = EVERYONE, self._team.everybody()
        if detail is not None and '"inboxes"' in detail:
            inboxes = inboxes if (where := inboxes_of(line)) is None else where
        around = _NEW(MessageContext, (number, id_, at, member, address, inboxes, correlation, reply_to))
        judged = self._swiftly(raw, plate, message, said, around, id_)
        if judged.verdict == "refused" and not kept:
            self._forget(name, own_id or None)
        return judged

    def _swiftly(
        self, raw: bytes, plate: TypeProfile, message: Any, said: Values, around: MessageContext, id_: str | None
    ) -> SimulatedResult:
        """What the rules of the work say to it."""
        if plate.deed == ASKS:
            self._own_words.heard(plate.dialect.name, plate.type, around)
            return _NEW(SimulatedResult, ("passed", around.sender.name, plate.dialect, plate.type, id_, ()))
        if plate.reports == BLOCKER and self._work.blocked(said, around):
            return _NEW(SimulatedResult, ("passed", around.sender.name, plate.dialect, plate.type, id_, ()))
        weighed = self._answered if plate.deed == ANSWERS else self._weighed
        verdict, found = weighed(plate.glimpse(raw, message, around))
        return _NEW(SimulatedResult, (verdict, around.sender.name, plate.dialect, plate.type, id_, found))

    def _opened(self) -> Track | None:
        """The track, once it pays to open it."""
        self._asked += 1
        if self._asked >= QUICK_FROM:
            self.open_track()
        return self._track

    def open_track(self) -> None:
        self._track = track(self.desk)

    def _reached(self, plate: TypeProfile, recipient: str, sender: Member) -> tuple[str, Route, Finding | None]:
        return self._team.reached(recipient, sender, by_role=plate.dialect.addresses == "roles", taken=True)

    def _meet(self, claim: str) -> Member | None:
        """Whoever signs like this, who is then known. None: nobody may be called so, or is called so any more."""
        if claim.startswith(NOBODY_NAMED):
            member = of_role(claim.removeprefix(NOBODY_NAMED))
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


def _sent_before(again: bool, agent: str, plate: TypeProfile, used: str, id_: str) -> SimulatedResult:
    """`again`: with the same words. It is told by the log's own id for it, where there is one."""
    verdict: Verdict = "repeated" if again else "refused"
    return SimulatedResult(verdict, agent, plate.dialect, plate.type, id_, () if again else (reused(used),))


def _may_contradict(detail: str) -> bool:
    """Did a repository speak against it then? Others may write that word with escapes."""
    return CONTRADICTED in detail or "\\u" in detail


def _as_told(raw: bytes, at: float) -> float:
    """When a message was sent that the log itself tells it of."""
    return at
