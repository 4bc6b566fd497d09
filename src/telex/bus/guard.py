"""Write guard: which paths an agent may write under the open contracts; it stores nothing. Evidence check: claims of a
report, compared with the git repository."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from telex.bus import run_sync
from telex.bus.context import TeamState, read_snapshot, states_of
from telex.dialects.schema import Dialect
from telex.errors import NotAMember, NotFound
from telex.model.contracts import ContractIndex, PathVerdict, Plan, PlanSummary
from telex.model.finding import Finding
from telex.model.limits import Limits
from telex.model.roster import HUMAN, Member, Roster
from telex.ports.environment import Clock
from telex.ports.store import Store, get_message
from telex.validation.authorization import normalised
from telex.validation.contracts import ASKING, ContractScope, PathDecision, Resolver, judge_all, listed, normal, short
from telex.validation.patterns import allowing
from telex.work.plan_checks import asking_type, sentence, sharing
from telex.work.plans import CONTRACTS, contracts_in, covering, open_plans, plan_in, topic_of
from telex.work.reducer import RuleContext

if TYPE_CHECKING:
    from telex.ports.environment import Evidence, EvidenceResult
    from telex.work.view import WorkMessage


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
        return run_sync(guard(self, paths, agent, role, plan, resolve=resolve))


async def guard(
    gate: WriteGuard,
    paths: Sequence[str],
    agent: str,
    role: str | None = None,
    plan: str | None = None,
    *,
    resolve: Resolver | None = None,
) -> list[PathVerdict]:
    contracts = contracts_in(await gate.topics([CONTRACTS]))  # loads the roster too
    member = _member(gate, agent, role, in_force=contracts is not None and bool(contracts.open))
    plans = await _plans(gate, member, plan, contracts)
    scopes = [ContractScope(plan) for plan in plans]
    judged = judge_all(paths, scopes, resolve, is_person=member.role == HUMAN)
    asks = await _asks(gate, member, judged)
    context = RuleContext(gate.clock.now(), gate.roster, gate.limits, dialects=gate.dialects)
    texts: dict[int, tuple[Any, ...]] = {}  # by decision: a pattern that allows a thousand files is explained once
    for decision in judged:
        if id(decision) not in texts:
            texts[id(decision)] = _explain(decision, member, context, asks)
    new = tuple.__new__  # makes a PathVerdict in half the time
    verdicts = [new(PathVerdict, (path, *texts[id(decision)])) for path, decision in zip(paths, judged, strict=True)]
    others = _others(contracts, member, plans, gate.roster) if contracts is not None and plans else []
    return [_naming(verdict, others) for verdict in verdicts] if others else verdicts


def _others(
    contracts: ContractIndex, member: Member, plans: list[Plan], roster: Roster
) -> list[tuple[str, PlanSummary]]:
    """Open contracts of other agents that allow a path which these plans allow."""
    allowed = tuple(pattern for plan in plans if plan.words for pattern in (*plan.words.allowed, *plan.granted))
    own = PlanSummary((member.name,), "", (), allowed)
    return [(plan, summary) for plan, summary, _ in sharing(contracts, own, [plan.id for plan in plans], roster)]


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
    is_unknown = roster.find(name) is None and role is None and in_force
    member = membership.sender_unknown(name, roster) if is_unknown else gate.team.resolve_member(agent, role)
    if isinstance(member, Finding):
        raise NotAMember.because(member)
    return member


async def _plans(gate: WriteGuard, member: Member, plan: str | None, contracts: ContractIndex | None) -> list[Plan]:
    """The contracts that cover this agent, or the one that was named."""
    if plan is not None:
        named = plan_in(await gate.topics([topic_of(plan)]), plan)
        if named is None:
            raise NotFound(f"no contract of plan {short(plan)}: telex contract list shows all contracts.")
        return [named]
    mine = covering(contracts, member.name, member.role) if contracts is not None else ()
    return open_plans(await gate.topics(map(topic_of, mine)), mine)


def _explain(
    judged: PathDecision, member: Member, context: RuleContext, asks: dict[Any, tuple[Any, str]]
) -> tuple[Any, ...]:
    """Everything of a verdict but its path."""
    plan, name = judged.plan, judged.plan.id if judged.plan is not None else None
    conditions = plan.conditions if plan is not None and plan.grants else ()
    if judged.code is None:
        reason = f"Go on: {judged.why}." if plan is not None else NO_CONTRACT.format(member.name)
        return True, None, reason, name, conditions, judged.override, None, None
    tree, to = asks.get(_matter(judged), (None, None))
    return False, judged.code, sentence(judged, member.role, context), name, conditions, False, tree, to


def _matter(judged: PathDecision) -> tuple[str, str] | None:
    """Subject of a request: the plan, and whether it is to be widened or overridden."""
    return (judged.plan.id, ASKING[judged.code]) if judged.plan is not None and judged.code in ASKING else None


async def _asks(
    gate: WriteGuard, member: Member, judged: list[PathDecision]
) -> dict[tuple[str, str] | None, tuple[Any, str]]:
    """One request for each plan and kind, for all of its paths."""
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
    from telex.work.reducer import HeaderFields, compose

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
        "options": [path if {"/", "."} & set(path) else f"./{path}" for path in paths],  # so that it looks like a path
    }
    task = next((one for one in plan.words.tasks if one not in plan.done), (plan.words.tasks or ("",))[0])
    message = await gate.store.read(get_message, contract.seq)
    like = json.loads(message.raw) if message is not None and dialect.form == "json" and message.raw[:1] == b"{" else {}
    header = HeaderFields(gate.clock.new_id(), gate.clock.now(), member.role, correlation=task)
    return compose(dialect, type_, of, header, like if isinstance(like, dict) else {}), contract.by


# --- evidence --------------------------------------------------------------------------------------------------------

_HEX = frozenset("0123456789abcdef")
_HASH_CHARACTERS = range(4, 65)  # git takes no shorter ones; SHA-256 has 64
_SHORT = 12  # characters of a hash, in a sentence
_NAMED_MAX, _NAME_CHARACTERS_MAX = 3, 60  # files in a sentence


async def check_claims(evidence: "Evidence", message: "WorkMessage") -> tuple[Finding, ...]:
    """Nothing where the message claims nothing, or where the repository cannot confirm or contradict it."""
    if message.action == "progress":
        return await _progress(evidence, message)
    files = message.texts("files")
    result = await evidence.of_files(files) if message.action == "commit" and files else None
    if result is None:
        return ()
    if result.strangers:
        say = f"List the files that are there to be committed: the work tree does not have {_named(result.strangers)}."
        return (_stranger(message, result, say, "files of the work tree, or removed from it", evidence),)
    return (Finding("evidence-verified", message.path("files"), f"The work tree has {_count(files)}.", "note"),)


async def _progress(evidence: "Evidence", message: "WorkMessage") -> tuple[Finding, ...]:
    commit, files = message.text("commit").strip().lower(), message.texts("files")
    if len(commit) not in _HASH_CHARACTERS or not _HEX.issuperset(commit):
        return ()
    result = await evidence.of_commit(commit, files)
    if result is None:
        return ()
    if result.commit is None:
        say = f"Name a commit that is in the repository: {commit[:_SHORT]} is not, or has not come into it yet."
        expected = "the hash of a commit in the repository at hand"
        finding = Finding("evidence-contradicted", message.path("commit"), say, severity=evidence.contradicted)
        return (finding._replace(expected=expected, found=commit),)
    if result.strangers:
        changed = f"commit {result.commit[:_SHORT]} did not change"
        say = f"List the files that the commit changed: {changed} {_named(result.strangers)}."
        return (_stranger(message, result, say, "files that the commit changed", evidence),)
    changes = f" and changed {_count(files)}" if files else ""
    say = f"Commit {result.commit[:_SHORT]} is in the repository{changes}."
    return (Finding("evidence-verified", message.path("commit"), say, "note", found=result.commit),)


def _stranger(message: "WorkMessage", result: "EvidenceResult", say: str, wanted: str, evidence: "Evidence") -> Finding:
    first, files = result.strangers[0], message.get("files")
    path = message.path("files", files.index(first)) if len(result.strangers) == 1 else message.path("files")
    finding = Finding("evidence-contradicted", path, say, severity=evidence.contradicted, expected=wanted)
    return finding._replace(found=first[:_NAME_CHARACTERS_MAX])


def _count(files: tuple[str, ...]) -> str:
    count = len(set(files))
    return {1: "the file", 2: "both files"}.get(count, f"all {count} files") + " that it names"


def _named(files: tuple[str, ...]) -> str:
    limit = _NAME_CHARACTERS_MAX
    names = [file if len(file) <= limit else file[: limit - 1] + "…" for file in files[:_NAMED_MAX]]
    names = [" ".join(name.split()) for name in names]
    more = len(files) - _NAMED_MAX
    if more > 0:
        return f"{', '.join(names)} and {more} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
