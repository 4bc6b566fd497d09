"""What would this team have said to that message? The same ladder as when it is sent: read, checked, routed, weighed.

Everything that is decided is decided by the rules the bus decides by; only who was there and what went before is taken
from the log. What cannot be told from a log stays as it was: which options a sender gave, whether an inbox was full.
The book grows with the work and with nothing else, so a log may be as long as it likes.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

from telex.dialects.spec import ANY, Dialect, MessageType
from telex.flow.admission import STRICT, Desk
from telex.flow.book import pages
from telex.flow.book.chapter import Ground
from telex.flow.book.said import Said, heard, tree_of
from telex.flow.lanes import Kind, Lanes, Looked
from telex.flow.membership import name_not_allowed
from telex.flow.routing import Route
from telex.model.event import Event
from telex.model.message import Message
from telex.model.paths import ROOT
from telex.model.refusal import Finding, Severity
from telex.model.roster import EVERYONE, TELEX, Member
from telex.replay.lines import Told, moment_in, recorded
from telex.replay.team import NOBODY, Team, Way
from telex.replay.track import Glance, track
from telex.rules.authorization import normalised

Verdict = Literal["passed", "refused", "repeated", "own"]  # own: a message of the bus itself, which nobody judges
IDS_MAX = 5_000  # at least so many ids of a foreign log are remembered, to tell what was repeated
QUICK_FROM = 200  # bare messages; opening the track takes about as long as judging so many the patient way
# What is known from the record alone: the door and the inboxes of that day are gone.
AT_THE_DOOR = frozenset({"id-differs", "id-not-allowed", "inbox-full", "recipient-missing"})
_REUSED, _CONTRADICTED = "id-reused", "evidence-contradicted"
EVIDENCE: dict[str, Severity] = {"mark": "warning", "refuse": "refusal"}  # by the team's setting


_NEW = tuple.__new__  # makes a NamedTuple in half the time


class Judged(NamedTuple):
    """What would have become of a message."""

    verdict: Verdict
    agent: str
    dialect: Dialect | None
    type: MessageType | None
    id: str | None
    findings: tuple[Finding, ...] = ()


class Trial:
    def __init__(
        self,
        desk: Desk = STRICT,
        declared: Iterable[Member] = (),
        work: Mapping[str, Any] | None = None,
        evidence: str = "mark",
        begin: Iterable[Member] = (),  # who was there before the log begins
    ) -> None:
        self.desk, self.book = desk, dict[str, Any]()
        self.team = Team(desk, declared, begin)
        self._lanes = Lanes(desk)
        self._work = work or {}
        self._evidence = EVIDENCE.get(evidence)
        self._dialects = {dialect.name: dialect for dialect in desk.dialects}
        self._ids: dict[tuple[str, str], int] = {}
        self._older_ids: dict[tuple[str, str], int] = {}
        self._track: Callable[[bytes], Glance | None] | None = None
        self._asked = 0
        self._met: dict[str, str] = {}  # by what a message says of its sender: the agent's name
        self._now = 0.0
        self._nobody = Way(Member("", ""), None, (), None, NOBODY)

    def happened(self, event: Event) -> None:
        """Something that is no message: somebody came or went."""
        self._now = max(self._now, event.at)
        self.team.happened(event)

    def quick(self, raw: bytes) -> Judged | None:
        """The answer to a bare message like thousands before it. None: there is more to find out, about the line too.

        It is for messages within the size limit, as the fast lane is.
        """
        if self._track is None:
            self._asked += 1
            if self._asked >= QUICK_FROM:
                self.open_track()
            return None
        glance = self._track(raw)
        if glance is None or self.team.somebody_is_gone or self.team.is_closed:
            return None  # who it is from and for matters only there
        dialect, type_, idle, id_, sender = glance
        if idle and not self.book.keys().isdisjoint(idle):
            return None
        claim = sender or _whoever_may(type_).name
        agent = self._met.get(claim)
        if agent is None and (agent := self._meet(claim)) is None:
            return None
        if id_ and (again := self._again(raw, agent, id_)) is not None:
            if again:
                return Judged("repeated", agent, dialect, type_, id_)
            return Judged("refused", agent, dialect, type_, id_, (_reused(id_),))
        return _NEW(Judged, ("passed", agent, dialect, type_, id_, ()))

    def open_track(self) -> None:
        self._track = track(self.desk)

    def _meet(self, claim: str) -> str | None:
        """The name of whoever signs like this, who is then known. None: nobody may be called so."""
        agent = normalised(claim)
        if agent and name_not_allowed(agent, self.desk.limits) is not None:
            return None
        if len(self._met) >= IDS_MAX:
            self._met.clear()
        self._met[claim] = agent
        self.team.meet(self.team.roster.find(agent) or Member(agent, ""))
        return agent

    def judge(self, told: Told) -> Judged:
        _, raw, sender, role, to, at, own_id, _, _, detail, kept, refused = told
        if sender == TELEX and (kept or at is not None):
            return self._own(told)
        way = self._nobody
        if sender is not None:
            found_way = self.team.way(sender, role, to, not refused, at is None and to is None and not kept)
            if isinstance(found_way, Finding):
                looked = self._lanes.look(raw, NOBODY)
                return _verdict("refused", told, looked, sender, (*looked.findings, found_way))
            way = found_way
        looked = self._lanes.look(raw, way.pair)
        member, address, inboxes, wrong, _ = way
        if sender is None and looked.kind is not None:
            member = _whoever_may(looked.kind.type)
        agent, (id_, _, _, recipient) = member.name, looked.facts
        if not kept:
            self.team.meet(member)
            if id_ is not None and (again := self._again(raw, agent, id_)) is not None:
                verdict: Verdict = "repeated" if again else "refused"
                return _verdict(verdict, told, looked, agent, () if again else (_reused(id_),))
        found = self._recorded(told) if detail is not None and '"findings"' in detail else ()
        if address is None and recipient is not None:
            address, inboxes, wrong = self._addressed(recipient, looked, member, taken=not refused)
        if wrong is not None:
            found = (*found, wrong)
        checked, kind = looked.checked, looked.kind
        if (found and _stops(found, self.desk)) or (checked is not None and not checked.valid):
            return _verdict("refused", told, looked, agent, (*looked.findings, *found))
        if kind is not None and kind.deed is not None and self._means_something(looked, kind):
            return self._weighed(told, looked, member, address or "", inboxes, found)
        if kind is not None and checked is None and not found:  # most are like this
            return _NEW(Judged, ("passed", agent, kind.dialect, kind.type, own_id or id_, ()))
        return _verdict("passed", told, looked, agent, (*looked.findings, *found))

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
        key, words = (agent, id_), hash(raw)
        known = self._ids.get(key) or self._older_ids.get(key)
        if known is not None:
            return known == words
        if len(self._ids) >= IDS_MAX:
            self._ids, self._older_ids = {}, self._ids
        self._ids[key] = words
        return None

    # --- what it means to the work -----------------------------------------------------------------------------------

    def _means_something(self, looked: Looked, kind: Kind) -> bool:
        """Has the book a word in it? Not to a message that is let pass though it is refused, and to some only once
        certain things were said."""
        if looked.checked is not None and _refuses(looked.findings):
            return False
        return kind.idle is None or not self.book.keys().isdisjoint(kind.idle)

    def _weighed(
        self, told: Told, looked: Looked, member: Member, address: str, inboxes: Route, found: tuple[Finding, ...]
    ) -> Judged:
        book, said = self.book, self._said(told, looked, member, address, inboxes)
        ground = Ground(said.at, self.team.roster, self.desk.limits, self._work, self._dialects)
        found = (*found, *pages.weigh(said, book, ground))
        stopped = _refuses(found)
        if not stopped:
            self._write(said)
            for other in pages.stopping(said, book, ground):
                self.team.stands(other)
        verdict: Verdict = "refused" if stopped and self.desk.strict else "passed"
        return _verdict(verdict, told, looked, member.name, (*looked.findings, *found))

    def _said(self, told: Told, looked: Looked, member: Member, address: str, inboxes: Route) -> Said:
        kind, facts = looked.kind, looked.facts
        assert kind is not None
        tree = tree_of(told.raw, kind.dialect, kind.type)
        at = told.at
        if at is None:
            written = tree.get(kind.dialect.wire.timestamp or "")
            at = moment_in(written) if isinstance(written, str) else None
        self._now = max(self._now, at or 0.0)
        where = recorded(told).get("inboxes")
        if not address:
            address, inboxes = EVERYONE, self.team.everybody()
        return Said(
            told.number,
            told.id or facts.id or f"line {told.number}",
            at if at is not None else self._now,
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

    def _write(self, said: Said) -> None:
        for topic in pages.belongs(said, self.book):
            self.book[topic] = pages.fold(topic, self.book.get(topic), said)

    def _own(self, told: Told) -> Judged:
        """What the bus itself has said is no claim to be judged, and others answer it."""
        looked = self._lanes.look(told.raw, NOBODY)
        kind = looked.kind
        if kind is not None and kind.deed is not None and not told.refused:
            message = Message(
                told.number, told.id or "", told.at or self._now, TELEX, TELEX, told.to or "", kind.dialect.name,
                kind.type.name, kind.rank, told.correlation, told.reply_to, b"", told.raw,
            )  # fmt: skip
            said = heard(message, Event(told.number, message.at, "accepted", TELEX, detail=told.detail), kind.dialect)
            if said is not None:
                self._write(said)
        return Judged("own", TELEX, looked.dialect, kind.type if kind is not None else None, told.id)

    # --- what is said of it ------------------------------------------------------------------------------------------

    def _recorded(self, told: Told) -> tuple[Finding, ...]:
        """What was found when it was sent and cannot be found out anew."""
        listed = recorded(told).get("findings")
        found = [_finding(one) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        carried = []
        for one in found:
            if one.code == _CONTRADICTED and self._evidence is not None and self.desk.work:
                carried.append(one._replace(severity=self._evidence))
            elif told.refused and (one.code in AT_THE_DOOR or (one.code, one.path) == (_REUSED, ROOT)):
                carried.append(one)
        return tuple(carried)


def _verdict(verdict: Verdict, told: Told, looked: Looked, agent: str, findings: tuple[Finding, ...]) -> Judged:
    kind = looked.kind
    if kind is None:
        return Judged(verdict, agent, looked.dialect, None, told.id or looked.facts.id, findings)
    return Judged(verdict, agent, kind.dialect, kind.type, told.id or looked.facts.id, findings)


def _whoever_may(type_: MessageType) -> Member:
    """The sender of a message that does not name one, where only one role may send it."""
    role = type_.senders[0] if len(type_.senders) == 1 and type_.senders != ANY else ""
    return Member(role, role)


def _refuses(findings: tuple[Finding, ...]) -> bool:
    return any(one.severity == "refusal" for one in findings)


def _stops(found: tuple[Finding, ...], desk: Desk) -> bool:
    """What was wrong at the door stops a message in every team, what a repository speaks against in a strict one."""
    return any(one.severity == "refusal" and (desk.strict or one.code != _CONTRADICTED) for one in found)


def _reused(id_: str | None) -> Finding:
    say = f"Give it an id of its own: {id_} was sent before, with other words."
    return Finding(_REUSED, ROOT, say, expected="an id not used before", found=id_)


def _finding(facts: dict[str, Any]) -> Finding:
    known = {name: value for name, value in facts.items() if name in Finding._fields and isinstance(value, str)}
    return Finding(**{"code": "", "path": ROOT, "say": ""} | known)  # type: ignore[arg-type]
