"""Write guard: decides which paths an agent may write under the open contracts. It stores nothing."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from telex.bus.run_sync import run_sync
from telex.bus.team_state import TeamState, read_snapshot, states_of
from telex.dialects.schema import Dialect
from telex.errors import NotAMember, NotFound
from telex.model.contracts import ContractIndex, PathVerdict, Plan, PlanSummary
from telex.model.finding import Finding
from telex.model.limits import Limits
from telex.model.roster import HUMAN, Member, Roster
from telex.ports.clock import Clock
from telex.ports.store import Store
from telex.validation.authorization import normalised
from telex.validation.contracts import ASKING, ContractScope, PathDecision, judge_all, listed, short
from telex.validation.patterns import allowing
from telex.validation.project_paths import Resolver, normal
from telex.work.contract_checks import sharing
from telex.work.plan_checks import asking_type, sentence
from telex.work.plan_lookup import CONTRACTS, contracts_in, covering, open_plans, plan_in, topic_of
from telex.work.rule_set import RuleContext

NO_CONTRACT = "No contract covers {}, so nothing is forbidden."


class WriteGuard:
    """The parts of a bus that a guard needs. A guard without a bus starts in half the time."""

    def __init__(
        self, store: Store, clock: Clock, team: TeamState, dialects: Mapping[str, Dialect], limits: Limits
    ) -> None:
        self.store, self.clock, self.team, self.dialects, self.limits = store, clock, team, dialects, limits

    @property
    def roster(self) -> Roster:
        return self.team.roster

    async def topics(self, names: Iterable[str]) -> dict[str, Any]:
        return await read_snapshot(self.store, self.team, lambda _: states_of(self.team, names))

    def guard(
        self,
        paths: Sequence[str],
        *,
        agent: str,
        role: str | None = None,
        plan: str | None = None,
        resolve: Resolver | None = None,
    ) -> list[PathVerdict]:
        """The verb of the bus, blocking."""
        return run_sync(guard(self, paths, agent, role, plan, resolve))


async def guard(
    gate: WriteGuard,
    paths: Sequence[str],
    agent: str,
    role: str | None = None,
    plan: str | None = None,
    resolve: Resolver | None = None,
) -> list[PathVerdict]:
    contracts = contracts_in(await gate.topics([CONTRACTS]))  # loads the roster too
    member = _member(gate, agent, role, in_force=contracts is not None and bool(contracts.open))
    plans = await _plans(gate, member, plan, contracts)
    scopes = [ContractScope(plan) for plan in plans]
    judged = judge_all(paths, scopes, resolve, is_person=member.role == HUMAN)
    asks = await _asks(gate, member, judged)
    context = RuleContext(gate.clock.now(), gate.roster, gate.limits, dialects=gate.dialects)
    verdicts = _Verdicts(member, context, asks)
    told, new = verdicts.of, tuple.__new__  # as Verdict(path, …) would make it, in half the time
    found = [new(PathVerdict, (path, *told(decision))) for path, decision in zip(paths, judged, strict=True)]
    others = _others(contracts, member, plans, gate.roster) if contracts is not None and plans else []
    return [_naming(verdict, others) for verdict in found] if others else found


def _others(
    contracts: ContractIndex, member: Member, plans: list[Plan], roster: Roster
) -> list[tuple[str, PlanSummary]]:
    """Open contracts of other agents that allow a path which these plans allow."""
    allowed = tuple(pattern for plan in plans if plan.words for pattern in (*plan.words.allowed, *plan.granted))
    own = PlanSummary((member.name,), "", (), allowed)
    found = sharing(contracts, own, [plan.id for plan in plans], roster)
    return [(plan, summary) for plan, summary, _ in found]


def _naming(verdict: PathVerdict, others: list[tuple[str, PlanSummary]]) -> PathVerdict:
    """The verdict with the other plans that allow its path."""
    path = normal(verdict.path) if verdict.allowed else ""
    if not isinstance(path, str) or not path:
        return verdict
    also = [f"{short(plan)} of {short(', '.join(one.to))}" for plan, one in others if allowing(one.allowed).cover(path)]
    return verdict._replace(reason=f"{verdict.reason} Plan {listed(also)} allows it too.") if also else verdict


def _member(gate: WriteGuard, agent: str, role: str | None, *, in_force: bool) -> Member:
    """The agent that asks. A guard adds no member. While contracts are in force an unknown name is refused: it may be a
    typing error, and no contract would cover it."""
    from telex.delivery import membership

    name, roster = normalised(agent), gate.roster
    if roster.find(name) is None and role is None and in_force:
        found: Member | Finding = membership.sender_unknown(name, roster)
    else:
        found = gate.team.resolve_member(agent, role)
    if isinstance(found, Finding):
        raise NotAMember(found.say, found.code)
    return found


async def _plans(gate: WriteGuard, member: Member, plan: str | None, contracts: ContractIndex | None) -> list[Plan]:
    """The contracts that speak to this agent, or the one that was named, whoever it speaks to."""
    if plan is not None:
        named = plan_in(await gate.topics([topic_of(plan)]), plan)
        if named is None:
            raise NotFound(f"there is no contract of plan {short(plan)}: telex contract list shows those there are.")
        return [named]
    mine = covering(contracts, member.name, member.role) if contracts is not None else ()
    return open_plans(await gate.topics(map(topic_of, mine)), mine)


class _Verdicts:
    """What is judged alike is told alike: a pattern that allows a thousand files is put into words once."""

    def __init__(self, member: Member, context: RuleContext, asks: dict[Any, tuple[Any, str]]) -> None:
        self._member, self._ground, self._asks = member, context, asks
        self._told: dict[int, tuple[Any, ...]] = {}  # by the identity of what was judged, which outlives this

    def of(self, judged: PathDecision) -> tuple[Any, ...]:
        """Everything of a verdict but its path."""
        told = self._told.get(id(judged))
        if told is None:
            told = self._told[id(judged)] = self._tell(judged)
        return told

    def _tell(self, judged: PathDecision) -> tuple[Any, ...]:
        plan, name = judged.plan, judged.plan.id if judged.plan is not None else None
        conditions = plan.conditions if plan is not None and plan.grants else ()
        if judged.code is None:
            reason = f"Go on: {judged.why}." if plan is not None else NO_CONTRACT.format(self._member.name)
            return True, None, reason, name, conditions, judged.override, None, None
        tree, to = self._asks.get(_matter(judged), (None, None))
        reason = sentence(judged, self._member.role, self._ground)
        return False, judged.code, reason, name, conditions, False, tree, to


def _matter(judged: PathDecision) -> tuple[str, str] | None:
    """What a request would be about: the plan, and whether it is to be widened or overridden."""
    return (judged.plan.id, ASKING[judged.code]) if judged.plan is not None and judged.code in ASKING else None


async def _asks(
    gate: WriteGuard, member: Member, judged: list[PathDecision]
) -> dict[tuple[str, str] | None, tuple[Any, str]]:
    """One request for each matter, for all of its paths: whoever answers is asked once."""
    matters: dict[tuple[str, str], list[PathDecision]] = {}
    for decision in judged:
        if decision.code is not None and (matter := _matter(decision)) is not None:
            matters.setdefault(matter, []).append(decision)
    asks: dict[tuple[str, str] | None, tuple[Any, str]] = {}
    for matter, all_of_it in matters.items():
        made = await _ask(gate, member, matter[1], all_of_it)
        if made is not None:
            asks[matter] = made
    return asks


async def _ask(gate: WriteGuard, member: Member, kind: str, judged: list[PathDecision]) -> tuple[Any, str] | None:
    from telex.work.compose import HeaderFields, compose

    plan = judged[0].plan
    assert plan is not None
    assert plan.words is not None
    contract = plan.revisions[-1]
    dialect = gate.dialects.get(contract.dialect)
    type_ = asking_type(dialect)
    if dialect is None or type_ is None or member.role not in type_.senders:
        return None
    paths = list(dict.fromkeys(decision.path for decision in judged))
    verb = "Let me touch" if kind == ASKING["path-outside-contract"] else "Set aside that I may not touch"
    of = {
        "subject": f"{verb} {listed(paths)}",
        "kind": kind,
        "evidence": judged[0].why[0].upper() + judged[0].why[1:],
        "options": [path if {"/", "."} & set(path) else f"./{path}" for path in paths],  # so that it looks like one
    }
    task = next((one for one in plan.words.tasks if one not in plan.done), (plan.words.tasks or ("",))[0])
    message = await gate.store.message(contract.seq)
    like = json.loads(message.raw) if message is not None and dialect.form == "json" and message.raw[:1] == b"{" else {}
    header = HeaderFields(gate.clock.new_id(), gate.clock.now(), member.role, correlation=task)
    return compose(dialect, type_, of, header, like if isinstance(like, dict) else {}), contract.by
