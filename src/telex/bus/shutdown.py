"""How does a team shut down so that it really ends? Asked once, waited for until the deadline, told as it is.

Everything that is decided here is decided on the book and the roster, and written only if the book has not gone on
meanwhile. So it may be killed at any point and run again, and two who do it at once ask once and dissolve once.
"""

from typing import NamedTuple

from telex.bus.arguments import seconds
from telex.bus.correlate import SendRequest
from telex.bus.directory import BusContext
from telex.bus.inbox_withdrawal import hand_back
from telex.bus.maintenance import sweep_by_the_way
from telex.bus.new_message import entry_of
from telex.bus.notify import LOOKS_APART_SECONDS_MIN, Notifier
from telex.bus.receive import member_or_raise
from telex.bus.work_cache import said_by, weigh
from telex.delivery.validator_cache import Participants
from telex.dialects.write import write
from telex.errors import ValueWrong
from telex.model.finding import Finding, refusals
from telex.model.roster import EVERYONE, TELEX, Member
from telex.model.shutdown import (
    NO_SHUTDOWNS,
    TOPIC,
    UNSETTLED,
    WAITED,
    MemberShutdown,
    ReturnedMessage,
    ShutdownReport,
    ShutdownState,
)
from telex.ports.store import Query
from telex.validation.authorization import may_receive
from telex.work import shutdown_progress
from telex.work.compose import compose

HANDED_BACK_MAX = 10_000  # messages that a report lists
TEAM = "team"  # what it is called where nobody has given it a name


class ShutdownRun(NamedTuple):
    """One call of the verb."""

    asker: Member
    reason: str
    team: str
    began: float
    seconds: float  # how long is waited for an answer

    @property
    def since(self) -> float:
        """Whoever was asked after this moment is being waited for already, by us or by another."""
        return self.began - self.seconds


class TeamSnapshot(NamedTuple):
    """The team at one moment."""

    known: ShutdownState
    agents: tuple[MemberShutdown, ...]

    def any(self, states: frozenset[str]) -> bool:
        return any(one.state in states for one in self.agents)


async def shut_down(
    office: BusContext,
    waiting: Notifier,
    agent: str,
    reason: str,
    deadline: float,
    team: str | None,
    force: bool,
    wait: bool,
) -> ShutdownReport:
    if not office.desk.work:
        raise ValueWrong("set rules_of_work in telex.toml to true: no answer to a shutdown counts without those rules.")
    asker = await member_or_raise(office, agent)
    run = ShutdownRun(asker, reason, team or TEAM, office.clock.now(), seconds("deadline", deadline))
    calls: set[str] = set()  # those that this run is about
    names: set[str] = set()  # everyone it has to do with, gone or not
    asked: set[str] = set()  # nobody is asked twice by the same run, whatever the clocks say
    until: float | None = None
    place = waiting.place()
    try:
        while True:
            await place.look()
            now = office.clock.now()
            await sweep_by_the_way(office)
            seen = await _look(office, run, names)
            due = [one for one in seen.agents if one.member.name not in asked and _is_to_be_asked(office, run, one)]
            if due:
                refused = await _ask(office, run, due)
                if refused:
                    return ShutdownReport(asker.name, (), seen.agents, findings=refused)
                if refused is not None:
                    asked |= {one.member.name for one in due}
                continue  # None: somebody else has asked, or answered, in this very moment
            calls |= {one.call.id for one in seen.agents if one.call is not None and one.call.at > run.since}
            if until is None:
                until = min((call.at for call in seen.known.calls if call.id in calls), default=now) + run.seconds
            if wait and now < until and seen.any(WAITED):
                at_least = max(office.next_sweep, now + LOOKS_APART_SECONDS_MIN)
                await place.news(min(until, at_least))
                await member_or_raise(office, agent)  # waiting is being here
            elif seen.any(UNSETTLED) and not force:
                return await _report(office, run, seen, calls, until)
            elif await _dissolve(office, run, names, force=force):
                return await _report(office, run, await _look(office, run, names), calls, until, dissolved=True)
    finally:
        place.leave()


async def _look(office: BusContext, run: ShutdownRun, names: set[str]) -> TeamSnapshot:
    """The team as it is. The roster is read first, so that it is not ahead of the book."""
    office.forget_roster()
    roster = await office.roster()
    known = (await office.books.of((TOPIC,))).get(TOPIC, NO_SHUTDOWNS)
    agents = shutdown_progress.concerned(roster, run.asker.name, names)
    names |= {member.name for member in agents}
    return TeamSnapshot(known, tuple(shutdown_progress.standing(known, member, roster) for member in agents))


# --- asking ----------------------------------------------------------------------------------------------------------


def _is_to_be_asked(office: BusContext, run: ShutdownRun, one: MemberShutdown) -> bool:
    if one.state not in UNSETTLED or (one.call is not None and one.call.at > run.since):
        return False
    _, type_ = office.type_that("stop")
    return type_ is None or office.desk.misdelivery != "refusal" or may_receive(one.member.role, type_)


async def _ask(office: BusContext, run: ShutdownRun, due: list[MemberShutdown]) -> tuple[Finding, ...] | None:
    """Ask all of these with one message. What speaks against that, if anything does; None: look again first."""
    dialect, type_ = office.type_that("stop")
    if dialect is None or type_ is None:
        raise ValueWrong("no dialect of the team can ask anybody to shut down: let it read vbw-typed as well.")
    now, new_id, asker = office.clock.now(), office.clock.new_id(), run.asker
    of = {"reason": run.reason, "team": run.team}
    tree = compose(dialect, type_, of, id=new_id, now=now, sender=asker.role)
    raw = write(dialect, tree).encode("utf-8", "surrogatepass")
    looked = office.lanes.look(raw, Participants(asker.role, None, asker.name, None))
    if refusals(looked.findings) or looked.kind is None:
        return looked.findings
    inboxes = tuple(one.member.name for one in due)
    asked = SendRequest(raw, asker.name, None, EVERYONE, new_id)
    said = said_by(asked, asker, looked, EVERYONE, inboxes, now)
    found, part = await weigh(office, said)
    entry = entry_of(
        office, raw, new_id, asker, EVERYONE, dialect.name, type_.name, looked.kind.rank, None, None, inboxes, now,
        (*looked.findings, *found), None, (), part,
    )  # fmt: skip
    # An inbox that is full is no reason not to stop, and its reader is perhaps why it has to.
    [appended] = await office.store.append((entry._replace(inbox_max=None),))
    return () if appended.outcome == "kept" else None


# --- the end ---------------------------------------------------------------------------------------------------------


async def _dissolve(office: BusContext, run: ShutdownRun, names: set[str], *, force: bool) -> bool:
    """End every membership at once, with the report that says so. False: things have changed, look again."""
    from telex.work.shutdown_report import ending

    topic = await office.store.topic(TOPIC)
    seen = await _look(office, run, names)
    if seen.any(UNSETTLED) and not force:
        return False
    last = topic[-1][1].seq if topic else 0
    entry = ending(run.asker, run.team, run.reason, seen.agents, ((TOPIC, last),), office.clock.now())
    if entry is None:
        return True  # nobody is left, since somebody else has done it
    [appended] = await office.store.append((entry,))
    if appended.outcome == "stale":
        return False
    office.forget_roster()
    roster = await office.roster()
    for one in seen.agents:
        if one.state in UNSETTLED:
            await hand_back(office, roster.members[one.member.name])
    return True


async def _report(
    office: BusContext,
    run: ShutdownRun,
    seen: TeamSnapshot,
    calls: set[str],
    until: float | None,
    *,
    dissolved: bool = False,
) -> ShutdownReport:
    about = [call for call in seen.known.calls if call.id in calls]
    stopped = [one.member.stopped_at for one in seen.agents if one.member.stopped_at is not None]
    handed_back: tuple[ReturnedMessage, ...] = ()
    if stopped:
        query = Query(kinds=("handed-back",), since=min([*stopped, *(call.at for call in about)]))
        found = await office.store.events(query, HANDED_BACK_MAX)
        handed_back = tuple(
            ReturnedMessage(message.id, message.type, message.sender, event.inbox or "")
            for event, message in found
            if message is not None and message.sender != TELEX
        )
    requests = tuple(call.id for call in about)
    return ShutdownReport(run.asker.name, requests, seen.agents, handed_back, dissolved, (), until)
