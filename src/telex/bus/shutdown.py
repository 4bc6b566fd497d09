"""How does a team shut down so that it really ends? Asked once, waited for until the deadline, told as it is.

Everything that is decided here is decided on the book and the roster, and written only if the book has not gone on
meanwhile. So it may be killed at any point and run again, and two who do it at once ask once and dissolve once.
"""

from typing import NamedTuple

from telex.bus.arguments import seconds
from telex.bus.correlate import SendRequest
from telex.bus.directory import BusContext
from telex.bus.inbox_withdrawal import return_messages
from telex.bus.maintenance import run_if_due
from telex.bus.new_message import new_message
from telex.bus.notify import LOOKS_APART_SECONDS_MIN, Notifier
from telex.bus.receive import member_or_raise
from telex.bus.work_cache import check_work_rules, work_message_of_send
from telex.delivery.validator_cache import Participants
from telex.dialects.write import write
from telex.errors import InvalidValue
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
        return any(member_shutdown.state in states for member_shutdown in self.agents)


async def shut_down(
    context: BusContext,
    waiting: Notifier,
    agent: str,
    reason: str,
    deadline: float,
    team: str | None,
    force: bool,
    wait: bool,
) -> ShutdownReport:
    if not context.policy.work:
        raise InvalidValue("set work_rules in telex.toml to true: no answer to a shutdown counts without those rules.")
    asker = await member_or_raise(context, agent)
    run = ShutdownRun(asker, reason, team or TEAM, context.clock.now(), seconds("deadline", deadline))
    calls: set[str] = set()  # those that this run is about
    names: set[str] = set()  # everyone it has to do with, gone or not
    asked: set[str] = set()  # nobody is asked twice by the same run, whatever the clocks say
    until: float | None = None
    subscription = waiting.place()
    try:
        while True:
            await subscription.arm()
            now = context.clock.now()
            await run_if_due(context)
            team_snapshot = await _look(context, run, names)
            due = [
                member_shutdown
                for member_shutdown in team_snapshot.agents
                if member_shutdown.member.name not in asked and _is_to_be_asked(context, run, member_shutdown)
            ]
            if due:
                refused = await _ask(context, run, due)
                if refused:
                    return ShutdownReport(asker.name, (), team_snapshot.agents, findings=refused)
                if refused is not None:
                    asked |= {member_shutdown.member.name for member_shutdown in due}
                continue  # None: somebody else has asked, or answered, in this very moment
            calls |= {
                member_shutdown.call.id
                for member_shutdown in team_snapshot.agents
                if member_shutdown.call is not None and member_shutdown.call.at > run.since
            }
            if until is None:
                until = (
                    min((call.at for call in team_snapshot.known.calls if call.id in calls), default=now) + run.seconds
                )
            if wait and now < until and team_snapshot.any(WAITED):
                at_least = max(context.next_sweep, now + LOOKS_APART_SECONDS_MIN)
                await subscription.wait(min(until, at_least))
                await member_or_raise(context, agent)  # waiting is being here
            elif team_snapshot.any(UNSETTLED) and not force:
                return await _report(context, run, team_snapshot, calls, until)
            elif await _dissolve(context, run, names, force=force):
                return await _report(context, run, await _look(context, run, names), calls, until, dissolved=True)
    finally:
        subscription.close()


async def _look(context: BusContext, run: ShutdownRun, names: set[str]) -> TeamSnapshot:
    """The team as it is. The roster is read first, so that it is not ahead of the book."""
    context.forget_roster()
    roster = await context.roster()
    known = (await context.work_cache.of((TOPIC,))).get(TOPIC, NO_SHUTDOWNS)
    agents = shutdown_progress.members_to_stop(roster, run.asker.name, names)
    names |= {member.name for member in agents}
    return TeamSnapshot(known, tuple(shutdown_progress.shutdown_progress(known, member, roster) for member in agents))


# --- asking ----------------------------------------------------------------------------------------------------------


def _is_to_be_asked(context: BusContext, run: ShutdownRun, member_shutdown: MemberShutdown) -> bool:
    if member_shutdown.state not in UNSETTLED or (
        member_shutdown.call is not None and member_shutdown.call.at > run.since
    ):
        return False
    _, type_ = context.type_that("stop")
    return type_ is None or context.policy.misdelivery != "refusal" or may_receive(member_shutdown.member.role, type_)


async def _ask(context: BusContext, run: ShutdownRun, due: list[MemberShutdown]) -> tuple[Finding, ...] | None:
    """Ask all of these with one message. What speaks against that, if anything does; None: look again first."""
    dialect, type_ = context.type_that("stop")
    if dialect is None or type_ is None:
        raise InvalidValue("no dialect of the team can ask anybody to shut down: let it read vbw-typed as well.")
    now, new_id, asker = context.clock.now(), context.clock.new_id(), run.asker
    of = {"reason": run.reason, "team": run.team}
    tree = compose(dialect, type_, of, id=new_id, now=now, sender=asker.role)
    raw = write(dialect, tree).encode("utf-8", "surrogatepass")
    checked = context.validators.check(raw, Participants(asker.role, None, asker.name, None))
    if refusals(checked.findings) or checked.traits is None:
        return checked.findings
    inboxes = tuple(member_shutdown.member.name for member_shutdown in due)
    request = SendRequest(raw, asker.name, None, EVERYONE, new_id)
    work_message = work_message_of_send(request, asker, checked, EVERYONE, inboxes, now)
    findings, work_change = await check_work_rules(context, work_message)
    entry = new_message(
        context, raw, new_id, asker, EVERYONE, dialect.name, type_.name, checked.traits.rank, None, None, inboxes, now,
        (*checked.findings, *findings), None, (), work_change,
    )  # fmt: skip
    # An inbox that is full is no reason not to stop, and its reader is perhaps why it has to.
    [appended] = await context.store.append((entry._replace(inbox_max=None),))
    return () if appended.outcome == "stored" else None


# --- the end ---------------------------------------------------------------------------------------------------------


async def _dissolve(context: BusContext, run: ShutdownRun, names: set[str], *, force: bool) -> bool:
    """End every membership at once, with the report that says so. False: things have changed, look again."""
    from telex.work.shutdown_report import shutdown_report

    topic = await context.store.topic(TOPIC)
    team_snapshot = await _look(context, run, names)
    if team_snapshot.any(UNSETTLED) and not force:
        return False
    last = topic[-1][1].seq if topic else 0
    new_message = shutdown_report(
        run.asker, run.team, run.reason, team_snapshot.agents, ((TOPIC, last),), context.clock.now()
    )
    if new_message is None:
        return True  # nobody is left, since somebody else has done it
    [appended] = await context.store.append((new_message,))
    if appended.outcome == "stale":
        return False
    context.forget_roster()
    roster = await context.roster()
    for member_shutdown in team_snapshot.agents:
        if member_shutdown.state in UNSETTLED:
            await return_messages(context, roster.members[member_shutdown.member.name])
    return True


async def _report(
    context: BusContext,
    run: ShutdownRun,
    team_snapshot: TeamSnapshot,
    calls: set[str],
    until: float | None,
    *,
    dissolved: bool = False,
) -> ShutdownReport:
    about = [call for call in team_snapshot.known.calls if call.id in calls]
    stopped = [
        member_shutdown.member.stopped_at
        for member_shutdown in team_snapshot.agents
        if member_shutdown.member.stopped_at is not None
    ]
    handed_back: tuple[ReturnedMessage, ...] = ()
    if stopped:
        query = Query(kinds=("returned-to-sender",), since=min([*stopped, *(call.at for call in about)]))
        found = await context.store.events(query, HANDED_BACK_MAX)
        handed_back = tuple(
            ReturnedMessage(message.id, message.type, message.sender, event.inbox or "")
            for event, message in found
            if message is not None and message.sender != TELEX
        )
    requests = tuple(call.id for call in about)
    return ShutdownReport(run.asker.name, requests, team_snapshot.agents, handed_back, dissolved, (), until)
