"""Shutdown of a team: every agent is asked once, the answers are waited for, and the team is dissolved.

Each step is decided inside a transaction, on the work state and the roster of that moment. So it may be killed at any
point and run again, and two that run at once ask once and dissolve once.
"""

from contextlib import suppress
from typing import NamedTuple

from telex.bus.arguments import seconds
from telex.bus.context import BusContext
from telex.bus.decision import event_detail
from telex.bus.inbox_withdrawal import return_messages
from telex.bus.maintenance import run_if_due
from telex.bus.notify import LOOKS_APART_SECONDS_MIN, Notifier
from telex.bus.receive import member_or_raise
from telex.bus.work_rules import check_work_rules
from telex.delivery.membership import sender_unknown
from telex.delivery.routing import Participants
from telex.dialects.write import write
from telex.errors import InvalidValue, NotAMember, StoreError
from telex.model.digest import digest_of
from telex.model.finding import Finding, refusals
from telex.model.message import NewMessage
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
from telex.ports.store import Query, Transaction
from telex.validation.authorization import may_receive, normalised
from telex.work import reducer
from telex.work import shutdown as shutdown_progress
from telex.work.reducer import HeaderFields, compose
from telex.work.view import WorkMessage, fields_of, parse_tree

RETURNED_MAX = 10_000  # messages that a report lists
TEAM = "team"  # what it is called where nobody has given it a name


class ShutdownRun(NamedTuple):
    """One call of the verb."""

    asker: Member
    reason: str
    team: str
    began: float
    seconds: float  # how long is waited for an answer
    force: bool  # stops those who do not agree; those asked before had their deadline, and are not asked again

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
    roster, name = await context.roster(), normalised(agent)
    if roster.find(name) is None and name not in roster.members:
        unknown = sender_unknown(name, roster)
        raise NotAMember(unknown.say, unknown.code)
    asker = await member_or_raise(context, agent)
    run = ShutdownRun(asker, reason, team or TEAM, context.clock.now(), seconds("deadline", deadline), force)
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
            if _to_be_asked(context, run, team_snapshot, asked):
                refused = await _ask(context, run, names, asked)
                if refused:
                    return ShutdownReport(asker.name, (), team_snapshot.agents, findings=refused)
                continue
            calls |= {
                member_shutdown.call.id
                for member_shutdown in team_snapshot.agents
                if member_shutdown.call is not None and member_shutdown.call.at > run.since
            }
            if until is None:
                until = (
                    min((call.at for call in team_snapshot.known.calls if call.id in calls), default=now) + run.seconds
                )
            if wait and now < until and _is_waited_for(run, team_snapshot, asked):
                at_least = max(context.next_maintenance, now + LOOKS_APART_SECONDS_MIN)
                await subscription.wait(min(until, at_least))
                await member_or_raise(context, agent)  # waiting is being here
            elif team_snapshot.any(UNSETTLED) and not force:
                return await _report(context, run, team_snapshot, calls, until)
            elif await _dissolve(context, run, names, force=force):
                return await _report(context, run, await _look(context, run, names), calls, until, dissolved=True)
    finally:
        subscription.close()


def _is_waited_for(run: ShutdownRun, team_snapshot: TeamSnapshot, asked: set[str]) -> bool:
    """Whether an agent may still answer; with force only one that this run has asked."""
    return any(one.state in WAITED and (not run.force or one.member.name in asked) for one in team_snapshot.agents)


async def _look(context: BusContext, run: ShutdownRun, names: set[str]) -> TeamSnapshot:
    return await context.read(lambda _: _snapshot(context, run, names))


def _snapshot(context: BusContext, run: ShutdownRun, names: set[str]) -> TeamSnapshot:
    """The team as it is in this transaction or snapshot."""
    roster = context.team.roster
    known = context.team.topic(TOPIC) or NO_SHUTDOWNS
    agents = shutdown_progress.members_to_stop(roster, run.asker.name, names)
    names |= {member.name for member in agents}
    return TeamSnapshot(known, tuple(shutdown_progress.shutdown_progress(known, member, roster) for member in agents))


# --- requests --------------------------------------------------------------------------------------------------------


def _to_be_asked(
    context: BusContext, run: ShutdownRun, team_snapshot: TeamSnapshot, asked: set[str]
) -> list[MemberShutdown]:
    return [
        member_shutdown
        for member_shutdown in team_snapshot.agents
        if member_shutdown.member.name not in asked and _is_to_be_asked(context, run, member_shutdown)
    ]


def _is_to_be_asked(context: BusContext, run: ShutdownRun, member_shutdown: MemberShutdown) -> bool:
    call = member_shutdown.call
    if member_shutdown.state not in UNSETTLED or (call is not None and (run.force or call.at > run.since)):
        return False
    _, type_ = context.type_that("stop")
    return type_ is None or context.policy.misdelivery != "refusal" or may_receive(member_shutdown.member.role, type_)


async def _ask(context: BusContext, run: ShutdownRun, names: set[str], asked: set[str]) -> tuple[Finding, ...]:
    """Ask all that are still to be asked, with one message. What is wrong with it, if anything is."""
    dialect, type_ = context.type_that("stop")
    if dialect is None or type_ is None:
        raise InvalidValue("no dialect of the team can ask anybody to shut down: let it read vbw-typed as well.")
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
        inboxes = tuple(member_shutdown.member.name for member_shutdown in due)
        if not inboxes:
            return ()
        now = context.team.now
        work_message = WorkMessage(
            seq=0,
            id=new_id,
            at=now,
            sender=asker.name,
            role=asker.role,
            to=EVERYONE,
            inboxes=inboxes,
            dialect=dialect,
            type=type_,
            fields=fields_of(parse_tree(raw, dialect, type_), dialect, type_),
        )
        work = check_work_rules(context, tx, work_message, context.team.roster)
        # A full inbox is no reason not to ask its agent to stop, so no place is reserved.
        seq = tx.append(
            NewMessage(
                id=new_id,
                at=now,
                sender=asker.name,
                role=asker.role,
                to=EVERYONE,
                dialect=dialect.name,
                type=type_.name,
                rank=traits.rank,
                correlation=None,
                reply_to=None,
                digest=digest_of(raw),
                raw=raw,
                inboxes=inboxes,
                detail=event_detail(context, now - began, (*checked.findings, *work.findings), inboxes=inboxes),
                work_change=work.change,
            )
        )
        stored = work_message._replace(seq=seq)
        before = work.before or {}
        states = {topic: reducer.fold_in_place(topic, state, stored) for topic, state in before.items()}
        context.team.put_topics(tx, states, seq)
        return inboxes

    asked |= set(await context.store.transaction(decide))
    return ()


# --- the end ---------------------------------------------------------------------------------------------------------


async def _dissolve(context: BusContext, run: ShutdownRun, names: set[str], *, force: bool) -> bool:
    """End every membership, with the report that says so. False: the team has changed; look at it again."""
    from telex.work.shutdown import shutdown_report

    def decide(tx: Transaction) -> list[str] | None:
        context.team.begin(tx)
        team_snapshot = _snapshot(context, run, names)
        if team_snapshot.any(UNSETTLED) and not force:
            return None
        report = shutdown_report(run.asker, run.team, run.reason, team_snapshot.agents, context.team.now)
        if report is None:
            return []  # another process has done it
        context.team.put_topics(tx, {}, tx.append(report))
        agents = team_snapshot.agents
        return [member_shutdown.member.name for member_shutdown in agents if member_shutdown.state in UNSETTLED]

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
    returned: tuple[ReturnedMessage, ...] = ()
    if stopped:
        query = Query(kinds=("returned-to-sender",), since=min([*stopped, *(call.at for call in about)]))
        found = await context.store.events(query, RETURNED_MAX)
        returned = tuple(
            ReturnedMessage(message.id, message.type, message.sender, event.inbox or "")
            for event, message in found
            if message is not None and message.sender != TELEX
        )
    requests = tuple(call.id for call in about)
    return ShutdownReport(
        run.asker.name,
        requests,
        agents=team_snapshot.agents,
        returned=returned,
        dissolved=dissolved,
        findings=(),
        until=until,
    )
