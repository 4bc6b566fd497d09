"""Work rules of plans: checks of contracts, and of messages against them (plan, task, dependencies, budget, files).

Of a contract: patterns that match no path, allowed paths that are all forbidden, and paths that a contract of another
agent allows too.
"""

from collections.abc import Collection, Sequence
from functools import lru_cache

from telex.dialects.schema import Dialect, MessageType, OneOf, kind_at
from telex.model.contracts import ContractIndex, Grant, Plan, PlanSummary, Revision
from telex.model.finding import Finding
from telex.model.roster import ALL_OF_ROLE, EVERYONE, ONE_OF_ROLE, Roster
from telex.model.text import LATEST_MAX, ROOT, nearest
from telex.validation.contracts import (
    ASKING,
    FORBIDDEN,
    NOT_IN_PROJECT,
    OUTSIDE,
    ContractScope,
    InvalidPath,
    PathDecision,
    judge,
    listed,
    normal,
    scope_of,
    short,
)
from telex.validation.patterns import SEPARATOR, WILD, allowing, flaw, forbidding
from telex.work.plans import (
    COMPLETE,
    CONTRACTS,
    asked_plan,
    bare_name,
    contracts_in,
    covering,
    meant,
    open_plans,
    plan_in,
    request_of,
    topic_of,
    widens,
)
from telex.work.reducer import REJECTED, RuleContext, Topics, WorkRules, WorkState, decision_of, for_dispatches
from telex.work.view import WorkMessage, id_nearly_known

ANYTHING = "\ue000"  # placeholder for any file name; no pattern contains it
SHARED_MAX = 3  # findings on other contracts
Flawed = tuple[int, str, str]  # index of a pattern in its list, the pattern, and the reason


def check_contract(message: WorkMessage, topics: WorkState, context: RuleContext) -> list[Finding]:
    allowed, forbidden = message.texts("allowed"), message.texts("forbidden")
    for_nothing = _for_nothing(allowed, forbidden) if forbidden else ()
    contracts, plan = contracts_in(topics), message.text("plan")
    own = contracts.open.get(plan) if contracts is not None else None
    to = (*(own.to if own is not None else ()), message.to)
    nearly = _nearly_known(plan, contracts) if contracts is not None else None
    shared = sharing(contracts, PlanSummary(to, "", (), allowed), (plan,), context.roster) if contracts else ()
    if not _flawed(allowed) and not _flawed(forbidden) and not for_nothing and not shared and nearly is None:
        return []
    return [
        *([id_nearly_known(message, "plan", nearly)] if nearly is not None else ()),
        *flaws(message, "allowed", allowed),
        *flaws(message, "forbidden", forbidden),
        *(_all_forbidden(message, *flawed) for flawed in for_nothing),
        *(_shared(message, *others) for others in shared[:SHARED_MAX]),
    ]


def flaws(message: WorkMessage, name: str, patterns: tuple[str, ...]) -> list[Finding]:
    """Findings on the patterns in one of the action's fields."""
    findings, expected = [], "src/auth/, *.md or docs/**/*.png"
    for index, pattern, why in _flawed(patterns):
        say = f"Write it as a path from the project's root, with / and perhaps * in it: it covers nothing, since {why}."
        path, found = message.path(name, index), short(pattern)
        findings.append(Finding("pattern-covers-nothing", path, say, "warning", expected=expected, found=found))
    return findings


@lru_cache(maxsize=256)  # teams repeat the same patterns in plan after plan
def _flawed(patterns: tuple[str, ...]) -> tuple[Flawed, ...]:
    """Patterns that match no path, with the reason."""
    each = ((index, pattern, flaw(pattern)) for index, pattern in enumerate(patterns))
    return tuple((index, pattern, why) for index, pattern, why in each if why is not None)


@lru_cache(maxsize=256)
def _for_nothing(allowed: tuple[str, ...], forbidden: tuple[str, ...]) -> tuple[Flawed, ...]:
    """Allowed patterns under which every path is forbidden, with the forbidding pattern. A pattern that is in both
    lists violates a rule of the dialect, which is checked elsewhere."""
    found = []
    for index, pattern in enumerate(allowed):
        folder = normal(pattern)
        if isinstance(folder, InvalidPath) or pattern in forbidden or not WILD.isdisjoint(pattern):
            continue
        against = forbidding(forbidden).cover(f"{folder}/{ANYTHING}")
        if against is not None:
            found.append((index, pattern, against.text))
    return tuple(found)


def _all_forbidden(message: WorkMessage, index: int, pattern: str, against: str) -> Finding:
    say = f"Take {short(pattern)} out, or forbid less than {short(against)}: all of it is forbidden."
    path = message.path("allowed", index)
    return Finding("path-allowed-for-nothing", path, say, "warning", found=short(pattern))


def _nearly_known(plan: str, contracts: ContractIndex) -> str | None:
    """A plan that differs from this new one by case or blanks only."""
    if contracts.find(plan) is not None:
        return None
    return contracts.names.get(bare_name(plan))


# --- paths of several contracts ---------------------------------------------------------------------------------------


def sharing(
    contracts: ContractIndex, own: PlanSummary, plans: Collection[str], roster: Roster
) -> list[tuple[str, PlanSummary, int]]:
    """Open contracts of other agents that allow a path which this one allows, each with the place of that pattern here.
    `plans`: left out."""
    agents, found = _agents(own.to, roster), []
    for plan, summary in contracts.open.items():
        if summary.to == own.to or plan in plans:
            continue
        place = _shared_pattern(own.allowed, summary.allowed)
        if place is not None and agents.isdisjoint(_agents(summary.to, roster)):
            found.append((plan, summary, place))
    return found


def _agents(addresses: tuple[str, ...], roster: Roster) -> set[str]:
    """The names of those that these addresses reach. The name of a role reaches its members too."""
    names: set[str] = set()
    for address in addresses:
        role = address.removeprefix(ONE_OF_ROLE).removeprefix(ALL_OF_ROLE)
        members = roster.known() if address == EVERYONE else roster.of_role(role)
        names |= {role, *(member.name for member in members)}
    return names


def _shared_pattern(own: tuple[str, ...], other: tuple[str, ...]) -> int | None:
    """Index of the first of these patterns that covers a path of the others. Two patterns with wildcards are compared
    by their folders only."""
    heads = _heads(own), _heads(other)
    if "" not in heads[0] and "" not in heads[1] and heads[0].isdisjoint(heads[1]):
        return None
    for place, pattern in enumerate(own):
        if any(allowing(other).cover(path) is not None for path in _paths_of(pattern)):
            return place
    covering = (allowing(own).cover(path) for pattern in other for path in _paths_of(pattern))
    return next((own.index(pattern.text) for pattern in covering if pattern is not None), None)


@lru_cache(maxsize=1024)
def _heads(patterns: tuple[str, ...]) -> frozenset[str]:
    """The first names of their folders; empty for one that may lie anywhere."""
    return frozenset([_folder_of(pattern).partition(SEPARATOR)[0] for pattern in patterns])


def _paths_of(pattern: str) -> tuple[str, ...]:
    """Paths that stand for all that it covers; none where it may lie anywhere."""
    folder = _folder_of(pattern)
    below = (f"{folder}/{ANYTHING}",) if folder else ()
    return below if not WILD.isdisjoint(pattern) else (folder, *below)


def _folder_of(pattern: str) -> str:
    """The path in front of its first wildcard."""
    names = pattern.strip(SEPARATOR).split(SEPARATOR)
    plain = next((place for place, name in enumerate(names) if not WILD.isdisjoint(name)), len(names))
    found = normal(SEPARATOR.join(names[:plain])) if plain else ""
    return found if isinstance(found, str) else ""


def _shared(message: WorkMessage, plan: str, other: PlanSummary, place: int) -> Finding:
    pattern, whose = short(message.texts("allowed")[place]), f"plan {short(plan)} of {short(', '.join(other.to))}"
    say = f"Leave {pattern} to one of them, or keep them apart in time: {whose} allows it too."
    return Finding("path-shared", message.path("allowed", place), say, "warning", found=whose)


SCOPES_MAX = 1_024
NO_GROUND = RuleContext(0.0, Roster({}))  # without store and team


# --- reports ----------------------------------------------------------------------------------------------------------


def check_progress(message: WorkMessage, topics: WorkState, context: RuleContext) -> Sequence[Finding]:
    contracts = contracts_in(topics)
    if contracts is None:
        return ()
    plan = plan_in(topics, message.text("plan"))
    if plan is None:
        unknown = _plan_unknown(message, contracts)
        return [unknown, *_files(message, _own(message, topics, contracts), context)]
    words = plan.revisions[-1].words
    findings = []
    if message.text("task") not in words.tasks:
        findings.append(_task_not_in_plan(message, plan))
    if words.depends_on:
        findings += _dependencies(message, plan, topics, context.limits.findings_max)
    if words.budget is not None and (plan.spent >= words.budget or plan.spent + _tokens(message) > words.budget):
        findings.append(_budget_spent(message, plan, words.budget))
    return [*findings, *_files(message, [plan], context), *_conditions(plan)]


def check_close(message: WorkMessage, topics: WorkState, context: RuleContext) -> Sequence[Finding]:
    if plan_in(topics, message.text("plan")) is not None:
        return ()
    contracts = contracts_in(topics)
    return (_plan_unknown(message, contracts),) if contracts is not None else ()


def check_files(message: WorkMessage, topics: WorkState, context: RuleContext) -> Sequence[Finding]:
    """Files of a submission or a commit, under its task's plan or the contracts of its sender."""
    contracts = contracts_in(topics)
    if contracts is None or not message.texts("files"):
        return ()
    plan = meant(message, topics)
    plans = [plan] if plan is not None else _own(message, topics, contracts)
    return [*_files(message, plans, context), *(note for plan in plans for note in _conditions(plan))]


def _own(message: WorkMessage, topics: WorkState, contracts: ContractIndex) -> list[Plan]:
    return open_plans(topics, covering(contracts, message.sender, message.role))


def _plan_unknown(message: WorkMessage, contracts: ContractIndex) -> Finding:
    plan, plans = message.text("plan"), [*contracts.closed, *contracts.open]
    close = nearest(plan, plans[-LATEST_MAX:])
    say = f"Name a plan that has a contract, such as {short(close or plans[-1])}: this plan has none."
    path = message.path("plan")
    return Finding(
        "plan-unknown", path, say, severity="warning", expected=listed(plans), found=short(plan), nearest=close
    )


def _task_not_in_plan(message: WorkMessage, plan: Plan) -> Finding:
    task, tasks = message.text("task"), plan.revisions[-1].words.tasks
    which = f"one of {listed(tasks)}" if tasks else "once a contract lists some"
    say = f"Name a task of plan {short(plan.id)}, {which}: {short(task) or 'this'} is none of them."
    path, expected, close = message.path("task"), f"one of {listed(tasks)}", nearest(task, tasks)
    return Finding("task-not-in-plan", path, say, expected=expected, found=short(task), nearest=close)


def _dependencies(message: WorkMessage, plan: Plan, topics: WorkState, limit: int) -> list[Finding]:
    """Plans that have to be complete first."""
    findings: list[Finding] = []
    for name in dict.fromkeys(plan.revisions[-1].words.depends_on):
        other = plan_in(topics, name)
        if other is not None and other.is_complete:
            continue
        if len(findings) == limit:
            break
        missing = [task for task in other.words.tasks if task not in other.done] if other and other.words else []
        lacks = f"{listed(missing)} not done" if missing else "no contract for it yet"
        needs = f"plan {short(plan.id)} depends on it, and there is {lacks}"
        say, found = f"Leave it until plan {short(name)} is complete: {needs}.", f"plan {short(name)}: {lacks}"
        path = message.path("plan")
        findings.append(Finding("dependency-not-complete", path, say, expected="complete", found=found))
    return findings


def _tokens(message: WorkMessage) -> int:
    used = message.get("tokens")
    return used if isinstance(used, int) else 0


def _budget_spent(message: WorkMessage, plan: Plan, budget: int) -> Finding:
    used = _tokens(message)
    comes_to = f"this makes {plan.spent + used:,}" if used else f"has spent {plan.spent:,}"
    names = message.type.field_map
    by = plan.revisions[-1].by
    say = (
        f"Stop, and ask {short(by)} for a contract with a larger budget: plan {short(plan.id)} may spend {budget:,}"
        f" tokens, and {comes_to}."
    )
    where = message.path("tokens" if "tokens" in names else "plan")
    return Finding("token-budget-spent", where, say, expected=f"at most {budget}", found=str(plan.spent + used))


def _conditions(plan: Plan) -> tuple[Finding, ...]:
    if not plan.grants or not (conditions := plan.conditions):
        return ()
    those = listed(conditions)
    say = f"Keep to what plan {short(plan.id)} was widened under: {those}."
    return (Finding("approval-conditions", ROOT, say, "note", those),)


def revision_findings(answer: WorkMessage, topics: WorkState, revision: int) -> tuple[Finding, ...]:
    """Refusal of an answer that was made for another revision of the contract that its request would widen."""
    plan = asked_plan(answer, topics)
    current = len(plan.revisions) if plan is not None else 1
    if plan is None or current == revision:
        return ()
    revised = f"{short(plan.revisions[-1].by)} has revised the contract of plan {short(plan.id)} since"
    say = f"Look at the contract again, and answer for revision {current}: {revised}."
    return (Finding("approval-outdated", ROOT, say, expected=f"revision {current}", found=str(revision)),)


# --- files ------------------------------------------------------------------------------------------------------------


def _files(message: WorkMessage, plans: list[Plan], context: RuleContext) -> list[Finding]:
    files = message.get("files")
    if not files or not isinstance(files, list):
        return []
    scopes = [_scope_of_plan(plan) for plan in plans]
    findings: list[Finding] = []
    for index, path in enumerate(files):
        judged = judge(path, scopes) if isinstance(path, str) else None
        if judged is None or judged.code is None:
            continue
        expected = scope_of(judged.plan) if judged.code == OUTSIDE and judged.plan is not None else None
        if judged.code == NOT_IN_PROJECT:
            expected = "a path from the project's root"
        say = sentence(judged, message.role, context)
        where = message.path("files", index)
        findings.append(Finding(judged.code, where, say, expected=expected, found=short(path)))
        if len(findings) == context.limits.findings_max:
            break
    return findings


_SCOPES: dict[int, tuple[Revision, tuple[Grant, ...], ContractScope]] = {}  # cache, by identity of the revision


def _scope_of_plan(plan: Plan) -> ContractScope:
    """Compiled patterns of a plan. Cached by identity, because hashing a contract takes longer than a decision."""
    revision, grants = plan.revisions[-1], plan.grants
    known = _SCOPES.get(id(revision))
    if known is not None and known[0] is revision and known[1] is grants:
        return known[2]
    if len(_SCOPES) >= SCOPES_MAX:
        _SCOPES.clear()
    scope = ContractScope(Plan(plan.id, (revision,), grants=grants))
    _SCOPES[id(revision)] = revision, grants, scope
    return scope


def sentence(judged: PathDecision, role: str, context: RuleContext) -> str:
    """Advice: the action to take instead of changing the path."""
    if judged.code == NOT_IN_PROJECT:
        return f"Name the file by its path from the project's root: this cannot be taken, since {judged.why}."
    if judged.plan is None:
        return f"Leave it alone: {judged.why}."
    asking = asking_type(context.dialects.get(judged.plan.revisions[-1].dialect))
    kind, by = ASKING[judged.code or FORBIDDEN], short(judged.plan.revisions[-1].by)
    if asking is None:
        return f"Leave it alone, or ask {by} for a wider contract: {judged.why}."
    type_ = f"{asking.name} of {kind}"
    if role not in asking.senders:
        return f"Leave it alone, or have {' or '.join(asking.senders)} send {by} an {type_}: {judged.why}."
    return f"Leave it alone, or send {by} an {type_} first: {judged.why}."


def asking_type(dialect: Dialect | None) -> MessageType | None:
    """The type in which this dialect asks for more than a contract allows."""
    for type_ in dialect.types.values() if dialect is not None else ():
        if type_.action != "ask" or dialect is None or "kind" not in type_.field_map:
            continue
        field = kind_at(dialect.fields_of(type_), dialect.locate(type_, type_.field_map["kind"]))
        if field is not None and isinstance(field.kind, OneOf) and set(ASKING.values()) <= set(field.kind.values):
            return type_
    return None


# --- approvals and reviews --------------------------------------------------------------------------------------------


def check_request(message: WorkMessage, topics: WorkState, context: RuleContext) -> tuple[Finding, ...]:
    contracts = contracts_in(topics)
    if contracts is None or not widens(message) or meant(message, topics) is not None:
        return ()
    among = [plan.id for plan in _own(message, topics, contracts)] or [*contracts.closed, *contracts.open]
    say = f"Name a task of the plan that is to be widened ({listed(among)}): an approval would widen none as it is."
    return (Finding("plan-not-clear", message.path("task"), say, "warning", found=message.text("task")),)


def check_answer(message: WorkMessage, topics: WorkState, context: RuleContext) -> Sequence[Finding]:
    plan = asked_plan(message, topics) if decision_of(message) != REJECTED else None
    if plan is None:
        return ()
    patterns = message.texts("modifications")
    if patterns:
        return flaws(message, "modifications", patterns)
    asked = plan.asks[request_of(message)]
    if not asked.paths or message.get("approved") is not True:
        return (_widens_nothing(message, plan),)
    say = f"{short(asked.by)} may touch {listed(asked.paths)} from now on: the request names these paths."
    return (Finding("approval-grants", message.path("modifications"), say, "note", found=listed(asked.paths)),)


def _widens_nothing(message: WorkMessage, plan: Plan) -> Finding:
    code, request = "approval-widens-nothing", request_of(message)
    nothing = "as it is, the approval widens nothing"
    by = short(plan.asks[request].by)
    if message.has("modifications"):
        say = f"List the paths that {by} may touch from now on: {nothing}."
        return Finding(code, message.path("modifications"), say, "warning", "path patterns")
    how = f"Let {by} ask anew, and answer with modifications (telex approve ID --modify PATTERN)"
    say = f"{how}: a {message.type.name} names no paths, and {nothing}."
    return Finding(code, ROOT, say, "warning", "path patterns")


def check_review(message: WorkMessage, topics: WorkState, context: RuleContext) -> tuple[Finding, ...]:
    plan: Plan | None = topics.get(topic_of(message.text("plan")))
    if plan is None or plan.cycle == 0:
        return ()
    cycle = message.get("cycle")
    if cycle == plan.cycle + 1 or (plan.approved and cycle == 1):
        return ()
    next_, path = plan.cycle + 1, message.path("cycle")
    say = f"Say cycle {next_}: the last review of plan {short(plan.id)} was cycle {plan.cycle}."
    wanted = f"{next_} or 1" if plan.approved else str(next_)
    return (Finding("cycle-out-of-order", path, say, severity="warning", expected=wanted, found=str(cycle)),)


# --- which topics -----------------------------------------------------------------------------------------------------


def _progress_topics(message: WorkMessage, topics: WorkState) -> Topics:
    """Most reports change nothing; those do not belong to the topic and can be pruned."""
    plan = plan_in(topics, message.text("plan")) if contracts_in(topics) is not None else None
    if plan is None or not (
        message.get("status") == COMPLETE or message.get("tokens") or message.text("task") in plan.done
    ):
        return ()
    return (topic_of(plan.id),)


def _close_topics(message: WorkMessage, topics: WorkState) -> Topics:
    plan = plan_in(topics, message.text("plan"))
    return (CONTRACTS, topic_of(plan.id)) if plan is not None and plan.is_open else ()


def _ask_topics(message: WorkMessage, topics: WorkState) -> Topics:
    plan = meant(message, topics) if widens(message) else None
    return (CONTRACTS, topic_of(plan.id)) if plan is not None else ()


def _answer_topics(message: WorkMessage, topics: WorkState) -> Topics:
    plan = asked_plan(message, topics)
    return (CONTRACTS, topic_of(plan.id)) if plan is not None else ()


_ANSWER = WorkRules(_answer_topics, check_answer)
RULES: dict[str, WorkRules] = {
    "contract": WorkRules(lambda message, _: (CONTRACTS, topic_of(message.text("plan"))), check_contract),
    "progress": WorkRules(_progress_topics, check_progress),
    "close": WorkRules(_close_topics, check_close),
    "review": WorkRules(lambda message, _: (topic_of(message.text("plan")),), check_review),
    "ask": WorkRules(_ask_topics, check_request),
    "answer": _ANSWER,
    "dispatch": for_dispatches(_ANSWER),
    "commit": WorkRules(check=check_files),
    "signal": WorkRules(check=check_files),
}
