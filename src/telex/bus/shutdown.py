"""Shutdown of a team: ask every agent once, wait for the answers, dissolve the team.

Each step is decided inside a transaction, on the work state and roster of that moment. So it may be killed at any point
and run again, and two concurrent runs ask once and dissolve once.
"""

from contextlib import suppress

from telex.bus.context import BusContext, seconds
from telex.bus.correlate import new_message_of, work_message_of
from telex.bus.decision import check_work_rules, event_detail
from telex.bus.maintenance import return_messages, run_if_due
from telex.bus.notify import POLLS_APART_SECONDS_MIN, Notifier
from telex.bus.receive import member_or_raise
from telex.delivery.membership import sender_unknown
from telex.delivery.routing import Participants
from telex.dialects.write import write
from telex.errors import InvalidValue, NotAMember, StoreError
from telex.model.finding import Finding, refusals
from telex.model.named_tuple import NamedTuple
from telex.model.roster import EVERYONE, TELEX, Member
from telex.model.work import (
    NO_SHUTDOWNS,
    TOPIC,
    UNSETTLED,
    WAITED,
    MemberShutdown,
    ReturnedMessage,
    ShutdownReport,
    ShutdownState,
)
from telex.ports.store import Query, Transaction, events_with_messages
from telex.validation.authorization import may_receive, normalised
from telex.work.reducer import HeaderFields, compose
from telex.work.shutdown import members_to_stop, shutdown_progress, shutdown_report
from telex.work.view import parse_tree

RETURNED_MAX = 10_000  # messages that a report lists
TEAM = "team"  # default name


class ShutdownArguments(NamedTuple):
    """Arguments of `Bus.shut_down`."""

    agent: str
    reason: str
    deadline: float
    team: str | None
    force: bool
    wait: bool


class ShutdownRun(NamedTuple):
    """One call of the verb."""

    asker: Member
    reason: str
    team: str
    began: float
    seconds: float  # timeout of an answer
    force: bool  # stops members that do not agree; those asked before had their deadline, and are not asked again

    @property
    def since(self) -> float:
        """Members that were asked after this moment may still answer, to this run or another."""
        return self.began - self.seconds


class TeamSnapshot(NamedTuple):
    """The team at one moment."""

    known: ShutdownState
    agents: tuple[MemberShutdown, ...]

    def any(self, states: frozenset[str]) -> bool:
        return any(agent.state in states for agent in self.agents)


async def shut_down(context: BusContext, notifier: Notifier, request: ShutdownArguments) -> ShutdownReport:
    if not context.policy.work:
        raise InvalidValue("set work_rules in telex.toml to true: without work rules no answer to a shutdown counts.")
    roster, name = await context.roster(), normalised(request.agent)
    if roster.find(name) is None and name not in roster.members:
        unknown = sender_unknown(name, roster)
        raise NotAMember.because(unknown)
    asker = await member_or_raise(context, request.agent)
    run = ShutdownRun(
        asker,
        request.reason,
        request.team or TEAM,
        began=context.clock.now(),
        seconds=seconds("deadline", request.deadline),
        force=request.force,
    )
    calls: set[str] = set()  # those that this run is about
    names: set[str] = set()  # all members it is about, also those that have left since
    asked: set[str] = set()  # no member is asked twice by the same run, even if a clock goes back
    until: float | None = None
    subscription = notifier.subscribe()
    try:
        while True:
            await subscription.arm()
            now = context.clock.now()
            await run_if_due(context)
            snapshot = await _look(context, run, names)
            if _to_be_asked(context, run, snapshot, asked):
                refused = await _ask(context, run, names, asked)
                if refused:
                    return ShutdownReport(asker.name, (), snapshot.agents, findings=refused)
                continue
            sent = [agent.call for agent in snapshot.agents if agent.call is not None]
            calls |= {call.id for call in sent if call.at > run.since}
            if until is None:
                called_at = [call.at for call in snapshot.known.calls if call.id in calls]
                until = min(called_at, default=now) + run.seconds
            if request.wait and now < until and _is_waited_for(run, snapshot, asked):
                at_least = max(context.next_maintenance, now + POLLS_APART_SECONDS_MIN)
                await subscription.wait(min(until, at_least))
                await member_or_raise(context, request.agent)  # a waiting member is active
            elif snapshot.any(UNSETTLED) and not run.force:
                return await _report(context, run, snapshot, calls, until)
            elif await _dissolve(context, run, names):
                return await _report(context, run, await _look(context, run, names), calls, until, dissolved=True)
    finally:
        subscription.close()


def _is_waited_for(run: ShutdownRun, snapshot: TeamSnapshot, asked: set[str]) -> bool:
    """Whether an agent may still answer; with force only one that this run has asked."""
    return any(agent.state in WAITED and (not run.force or agent.member.name in asked) for agent in snapshot.agents)


async def _look(context: BusContext, run: ShutdownRun, names: set[str]) -> TeamSnapshot:
    return await context.read(lambda _: _snapshot(context, run, names))


def _snapshot(context: BusContext, run: ShutdownRun, names: set[str]) -> TeamSnapshot:
    """The team as it is in this transaction or snapshot."""
    roster = context.team.roster
    known = context.team.topic(TOPIC) or NO_SHUTDOWNS
    agents = members_to_stop(roster, run.asker.name, names)
    names |= {member.name for member in agents}
    return TeamSnapshot(known, tuple(shutdown_progress(known, member, roster) for member in agents))


# --- requests --------------------------------------------------------------------------------------------------------


def _to_be_asked(
    context: BusContext, run: ShutdownRun, snapshot: TeamSnapshot, asked: set[str]
) -> list[MemberShutdown]:
    return [
        agent for agent in snapshot.agents if agent.member.name not in asked and _is_to_be_asked(context, run, agent)
    ]


def _is_to_be_asked(context: BusContext, run: ShutdownRun, agent: MemberShutdown) -> bool:
    call = agent.call
    if agent.state not in UNSETTLED or (call is not None and (run.force or call.at > run.since)):
        return False
    _, type_ = context.type_that("stop")
    return type_ is None or context.policy.misdelivery != "refusal" or may_receive(agent.member.role, type_)


async def _ask(context: BusContext, run: ShutdownRun, names: set[str], asked: set[str]) -> tuple[Finding, ...]:
    """Ask all that are still to be asked, with one message. Its findings, if it is refused."""
    dialect, type_ = context.type_that("stop")
    if dialect is None or type_ is None:
        raise InvalidValue(
            "no dialect of the team has a message that asks for a shutdown: add vbw-typed to its dialects."
        )
    began, new_id, asker = context.clock.now(), context.clock.new_id(), run.asker
    fields = {"reason": run.reason, "team": run.team}
    tree = compose(dialect, type_, fields, HeaderFields(new_id, began, asker.role))
    raw = write(dialect, tree).encode("utf-8", "surrogatepass")
    checked = context.validators.check(raw, Participants(as_role=asker.role, as_name=asker.name))
    traits = checked.traits
    if refusals(checked.findings) or traits is None:
        return checked.findings

    def decide(tx: Transaction) -> tuple[str, ...]:
        context.team.begin(tx)
        due = _to_be_asked(context, run, _snapshot(context, run, names), asked)
        inboxes = tuple(agent.member.name for agent in due)
        if not inboxes:
            return ()
        now = context.team.now
        header = HeaderFields(new_id, now, asker.name, EVERYONE)
        stop_tree = parse_tree(raw, dialect, type_)
        work_message = work_message_of(header, asker.role, inboxes, dialect, type_, tree=stop_tree)
        work = check_work_rules(context, work_message, context.team.roster)
        detail = event_detail(context, now - began, (*checked.findings, *work.findings), inboxes=inboxes)
        # No place in the inboxes is reserved: agents with a full inbox are asked too.
        seq = tx.append(new_message_of(work_message, raw)._replace(detail=detail, work_change=work.change))
        context.team.fold_topics(tx, work.before or {}, work_message._replace(seq=seq))
        return inboxes

    asked |= set(await context.store.transaction(decide))
    return ()


# --- the end ---------------------------------------------------------------------------------------------------------


async def _dissolve(context: BusContext, run: ShutdownRun, names: set[str]) -> bool:
    """End every membership, with a report. False: the team has changed, and has to be read again."""

    def decide(tx: Transaction) -> list[str] | None:
        context.team.begin(tx)
        snapshot = _snapshot(context, run, names)
        if snapshot.any(UNSETTLED) and not run.force:
            return None
        report = shutdown_report(run.asker, run.team, run.reason, snapshot.agents, context.team.now)
        if report is None:
            return []  # another process has done it
        tx.append(report)
        context.team.begin(tx)
        return [agent.member.name for agent in snapshot.agents if agent.state in UNSETTLED]

    forced = await context.store.transaction(decide)
    if forced is None:
        return False
    with suppress(StoreError):  # the team is dissolved, and maintenance returns what is left
        roster = await context.roster()
        for name in forced:
            await return_messages(context, roster.members[name])
    return True


async def _report(
    context: BusContext,
    run: ShutdownRun,
    snapshot: TeamSnapshot,
    calls: set[str],
    until: float | None,
    *,
    dissolved: bool = False,
) -> ShutdownReport:
    about = [call for call in snapshot.known.calls if call.id in calls]
    stopped = [agent.member.stopped_at for agent in snapshot.agents if agent.member.stopped_at is not None]
    returned: tuple[ReturnedMessage, ...] = ()
    if stopped:
        query = Query(kinds=("returned-to-sender",), since=min([*stopped, *(call.at for call in about)]))
        events = await context.store.read(events_with_messages, query, RETURNED_MAX)
        returned = tuple(
            ReturnedMessage(message.id, message.type, message.sender, event.inbox or "")
            for event, message in events
            if message is not None and message.sender != TELEX
        )
    requests = tuple(call.id for call in about)
    report = ShutdownReport(run.asker.name, requests, snapshot.agents, returned=returned)
    return report._replace(dissolved=dissolved, until=until)
