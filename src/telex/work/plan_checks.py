"""Does a message keep to what was agreed? Its plan, task, dependencies, budget and files, against the contracts.

What is against it is noticed first, which is all that most of those who ask want to know. The words for it stand beside
each check, and are put together for whoever reads them.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial

from telex.dialects.schema import Dialect, MessageType, OneOf, kind_at
from telex.model.contracts import ContractIndex, Grant, Plan, Revision
from telex.model.json_path import ROOT
from telex.model.roster import Roster
from telex.model.suggestion import LATEST_MAX, nearest
from telex.validation.contracts import (
    ASKING,
    FORBIDDEN,
    NOT_IN_PROJECT,
    OUTSIDE,
    ContractScope,
    PathDecision,
    judge,
    listed,
    scope_of,
    short,
)
from telex.work.contract_checks import flaws
from telex.work.decisions import REJECTED, decision_of
from telex.work.plan_lookup import (
    asked_plan,
    contracts_in,
    covering,
    meant,
    open_plans,
    plan_in,
    request_of,
    topic_of,
    widens,
)
from telex.work.rule_set import Book, FindingText, LazyFinding, RuleContext
from telex.work.view import WorkMessage

KNOWN_PLANS_MAX, KNOWN_PATHS_MAX, KNOWN_CHARACTERS_MAX = 16, 256, 256  # a team works on few plans and files at a time
NO_GROUND = RuleContext(0.0, Roster({}))  # where there is neither a store nor a team


# --- reports ----------------------------------------------------------------------------------------------------------


def weigh_progress(said: WorkMessage, book: Book, ground: RuleContext) -> Sequence[LazyFinding]:
    contracts = contracts_in(book)
    if contracts is None:
        return ()
    plan = plan_in(book, said.text("plan"))
    if plan is None:
        unknown = LazyFinding("plan-unknown", partial(_plan_unknown, said, contracts), "warning")
        return [unknown, *_files(said, _own(said, book, contracts), ground)]
    words = plan.revisions[-1].words
    found = []
    if said.text("task") not in words.tasks:
        found.append(LazyFinding("task-not-in-plan", partial(_task_not_in_plan, said, plan)))
    if words.depends_on:
        found += _dependencies(said, plan, book, ground.limits.findings_max)
    if words.budget is not None and not _can_be_spent(_tokens(said), plan.spent, words.budget):
        found.append(LazyFinding("token-budget-spent", partial(_budget_spent, said, plan, words.budget)))
    return [*found, *_files(said, [plan], ground), *conditions_noticed(plan)]


def weigh_files(said: WorkMessage, book: Book, ground: RuleContext) -> Sequence[LazyFinding]:
    """A submission or a commit: of its task's plan, or by the contracts of whoever sends it."""
    contracts = contracts_in(book)
    if contracts is None or not said.texts("files"):
        return ()
    plan = meant(said, book)
    plans = [plan] if plan is not None else _own(said, book, contracts)
    return [*_files(said, plans, ground), *(note for one in plans for note in conditions_noticed(one))]


def _own(said: WorkMessage, book: Book, contracts: ContractIndex) -> list[Plan]:
    return open_plans(book, covering(contracts, said.sender, said.role))


def _plan_unknown(said: WorkMessage, contracts: ContractIndex) -> FindingText:
    plan, plans = said.text("plan"), list(contracts.plans)
    close = nearest(plan, plans[-LATEST_MAX:])
    say = f"Name a plan that has a contract, such as {short(close or plans[-1])}: nobody has sent one for this."
    return FindingText(said.path("plan"), say, listed(plans), short(plan), close)


def _task_not_in_plan(said: WorkMessage, plan: Plan) -> FindingText:
    task, tasks = said.text("task"), plan.revisions[-1].words.tasks
    which = f"one of {listed(tasks)}" if tasks else "once a contract lists some"
    say = f"Name a task of plan {short(plan.id)}, {which}: {short(task) or 'this'} is none of them."
    return FindingText(said.path("task"), say, f"one of {listed(tasks)}", short(task), nearest(task, tasks))


def _dependencies(said: WorkMessage, plan: Plan, book: Book, most: int) -> list[LazyFinding]:
    """Plans that have to be complete first."""
    found: list[LazyFinding] = []
    for name in dict.fromkeys(plan.revisions[-1].words.depends_on):
        other = plan_in(book, name)
        if other is not None and other.is_complete:
            continue
        if len(found) == most:
            break
        found.append(LazyFinding("dependency-not-complete", partial(_not_complete, said, plan, name, other)))
    return found


def _not_complete(said: WorkMessage, plan: Plan, name: str, other: Plan | None) -> FindingText:
    missing = [task for task in other.words.tasks if task not in other.done] if other and other.words else []
    lacks = f"{listed(missing)} not done" if missing else "no contract for it yet"
    say = f"Leave it until plan {short(name)} is complete: plan {short(plan.id)} depends on it, and there is {lacks}."
    return FindingText(said.path("plan"), say, "complete", f"plan {short(name)}: {lacks}")


def _tokens(said: WorkMessage) -> int:
    used = said.get("tokens")
    return used if isinstance(used, int) else 0


def _can_be_spent(used: int, spent: int, budget: int) -> bool:
    return spent < budget and spent + used <= budget


def _budget_spent(said: WorkMessage, plan: Plan, budget: int) -> FindingText:
    used = _tokens(said)
    comes_to = f"this makes {plan.spent + used:,}" if used else f"has spent {plan.spent:,}"
    names = said.type.deed.names if said.type.deed is not None else {}
    by = plan.revisions[-1].by
    say = (
        f"Stop, and ask {short(by)} for a contract with a larger budget: plan {short(plan.id)} may spend {budget:,}"
        f" tokens, and {comes_to}."
    )
    where = said.path("tokens" if "tokens" in names else "plan")
    return FindingText(where, say, f"at most {budget}", str(plan.spent + used))


def conditions_noticed(plan: Plan) -> tuple[LazyFinding, ...]:
    """The same, not yet put into words."""
    if plan.grants and any(grant.conditions for grant in plan.grants):
        return (LazyFinding("approval-conditions", partial(_widened_under, plan), "note"),)
    return ()


def _widened_under(plan: Plan) -> FindingText:
    those = listed(plan.conditions)
    return FindingText(ROOT, f"Keep to what plan {short(plan.id)} was widened under: {those}.", those)


# --- files ------------------------------------------------------------------------------------------------------------


def _files(said: WorkMessage, plans: list[Plan], ground: RuleContext) -> list[LazyFinding]:
    files = said.get("files")
    if not files or not isinstance(files, list):
        return []
    judge_path, found, most = _judging(plans), list[LazyFinding](), ground.limits.findings_max
    for index, path in enumerate(files):
        judged = judge_path(path) if isinstance(path, str) else None
        if judged is None or judged.code is None:
            continue
        if len(found) == most:
            break
        found.append(LazyFinding(judged.code, partial(_not_to_be_touched, said, index, path, judged, ground)))
    return found


def _judging(plans: list[Plan]) -> Callable[[str], PathDecision]:
    """What says what these contracts say to a path."""
    each = [_answers_of(plan.id, plan.revisions[-1], plan.grants) for plan in plans]
    return each[0].judge if len(each) == 1 else partial(judge, scopes=[one.scope for one in each])


class PathDecisionCache:
    """What a contract has answered to the paths that it was asked about: the same come in report after report."""

    def __init__(self, scope: ContractScope) -> None:
        self.scope = scope
        self._known: dict[str, PathDecision] = {}

    def judge(self, path: str) -> PathDecision:
        return self._known.get(path) or self._judge(path)

    def _judge(self, path: str) -> PathDecision:
        judged = judge(path, (self.scope,))
        if len(path) <= KNOWN_CHARACTERS_MAX:
            if len(self._known) >= KNOWN_PATHS_MAX:
                self._known.clear()
            self._known[path] = judged
        return judged


@lru_cache(maxsize=KNOWN_PLANS_MAX)
def _answers_of(plan: str, revision: Revision, grants: tuple[Grant, ...]) -> PathDecisionCache:
    """By all of a plan that has a say in it; how far it has come has none."""
    return PathDecisionCache(ContractScope(Plan(plan, (revision,), grants=grants)))


def _not_to_be_touched(
    said: WorkMessage, index: int, path: str, judged: PathDecision, ground: RuleContext
) -> FindingText:
    return FindingText(said.path("files", index), sentence(judged, said.role, ground), _expected(judged), short(path))


def _expected(judged: PathDecision) -> str | None:
    if judged.code == NOT_IN_PROJECT:
        return "a path from the project's root"
    return scope_of(judged.plan) if judged.code == OUTSIDE and judged.plan is not None else None


def sentence(judged: PathDecision, role: str, ground: RuleContext) -> str:
    """What whoever was about to touch the path is to do instead."""
    if judged.code == NOT_IN_PROJECT:
        return f"Name the file by its path from the project's root: this cannot be taken, since {judged.why}."
    if judged.plan is None:
        return f"Leave it alone: {judged.why}."
    asking = asking_type(ground.dialects.get(judged.plan.revisions[-1].dialect))
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
        if type_.deed is None or type_.deed.does != "ask" or dialect is None or "kind" not in type_.deed.names:
            continue
        field = kind_at(dialect.fields_of(type_), dialect.locate(type_, type_.deed.names["kind"]))
        if field is not None and isinstance(field.kind, OneOf) and set(ASKING.values()) <= set(field.kind.values):
            return type_
    return None


# --- approvals and reviews --------------------------------------------------------------------------------------------


def weigh_ask(said: WorkMessage, book: Book, ground: RuleContext) -> tuple[LazyFinding, ...]:
    contracts = contracts_in(book)
    if contracts is None or not widens(said) or meant(said, book) is not None:
        return ()
    return (LazyFinding("plan-not-clear", partial(_plan_not_clear, said, book, contracts), "warning"),)


def _plan_not_clear(said: WorkMessage, book: Book, contracts: ContractIndex) -> FindingText:
    among = [plan.id for plan in _own(said, book, contracts)] or list(contracts.plans)
    say = f"Name a task of the plan that is to be widened ({listed(among)}): an approval would widen none as it is."
    return FindingText(said.path("task"), say, found=said.text("task"))


def weigh_answer(said: WorkMessage, book: Book, ground: RuleContext) -> Sequence[LazyFinding]:
    plan = asked_plan(said, book) if decision_of(said) != REJECTED else None
    if plan is None:
        return ()
    patterns = said.texts("modifications")
    if not patterns:
        return (LazyFinding("approval-widens-nothing", partial(_widens_nothing, said, plan), "warning"),)
    return flaws(said, "modifications", patterns)


def _widens_nothing(said: WorkMessage, plan: Plan) -> FindingText:
    request, nothing = request_of(said), "as it is, the approval widens nothing"
    by = short(plan.asks[request].by)
    if said.has("modifications"):
        say = f"List the paths that {by} may touch from now on: {nothing}."
        return FindingText(said.path("modifications"), say, "path patterns")
    how = f"Let {by} ask anew, and answer with telex approve ID --modify PATTERN"
    return FindingText(ROOT, f"{how}: a {said.type.name} names no paths, and {nothing}.", "path patterns")


def weigh_review(said: WorkMessage, book: Book, ground: RuleContext) -> tuple[LazyFinding, ...]:
    plan: Plan | None = book.get(topic_of(said.text("plan")))
    if plan is None or plan.cycle == 0:
        return ()
    cycle = said.get("cycle")
    if cycle == plan.cycle + 1 or (plan.approved and cycle == 1):
        return ()
    return (LazyFinding("cycle-out-of-order", partial(_out_of_order, said, plan), "warning"),)


def _out_of_order(said: WorkMessage, plan: Plan) -> FindingText:
    next_ = plan.cycle + 1
    say = f"Say cycle {next_}: the last review of plan {short(plan.id)} was cycle {plan.cycle}."
    wanted = f"{next_} or 1" if plan.approved else str(next_)
    return FindingText(said.path("cycle"), say, wanted, str(said.get("cycle")))
