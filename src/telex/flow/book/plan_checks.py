"""Does a message keep to what was agreed? Its plan, task, dependencies, budget and files, against the contracts."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from telex.dialects.spec import Dialect, MessageType, OneOf, kind_at
from telex.flow.book.chapter import Book, Ground
from telex.flow.book.plan_finding import (
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
from telex.flow.book.said import Said
from telex.model.contract import Plan
from telex.model.nearest import LATEST_MAX, nearest
from telex.model.paths import ROOT
from telex.model.refusal import Finding
from telex.model.roster import Roster
from telex.rules.contracts import (
    ASKING,
    FORBIDDEN,
    NOT_IN_PROJECT,
    OUTSIDE,
    Judged,
    Scope,
    judge,
    listed,
    scope_of,
    short,
)
from telex.rules.coverage import forbidding
from telex.rules.paths import Odd, normal
from telex.rules.patterns import WILD, flaw

ANYTHING = "\ue000"  # a name that stands for whichever: no pattern means this one
NO_GROUND = Ground(0.0, Roster({}))  # where there is neither a store nor a team


# --- the contract itself ----------------------------------------------------------------------------------------------


def weigh_contract(said: Said, book: Book, ground: Ground) -> tuple[Finding, ...]:
    allowed, forbidden = said.texts("allowed"), said.texts("forbidden")
    if not _flawed(allowed) and not _flawed(forbidden) and not (forbidden and _for_nothing(allowed, forbidden)):
        return ()  # most are like this
    return (*_flaws(said, "allowed"), *_flaws(said, "forbidden"), *_forbidden_too(said))


def _flaws(said: Said, name: str) -> Iterator[Finding]:
    for index, pattern, why in _flawed(said.texts(name)):
        form = "a path from the project's root, with / and perhaps * in it"
        say = f"Write it as {form}: it covers nothing, since {why}."
        wanted, found = "src/auth/, *.md or docs/**/*.png", short(pattern)
        yield Finding("pattern-covers-nothing", said.path(name, index), say, "warning", wanted, found)


@lru_cache(maxsize=256)  # teams draw the same lines in plan after plan
def _flawed(patterns: tuple[str, ...]) -> tuple[tuple[int, str, str], ...]:
    """Those that cover nothing, with their place, and why."""
    each = ((index, pattern, flaw(pattern)) for index, pattern in enumerate(patterns))
    return tuple((index, pattern, why) for index, pattern, why in each if why is not None)


def _forbidden_too(said: Said) -> Iterator[Finding]:
    """Paths that are allowed for nothing, since all that lies there is forbidden. That the same words stand in both
    lists is a rule of the dialect, and found without a bus."""
    forbidden = said.texts("forbidden")
    for index, pattern, against in _for_nothing(said.texts("allowed"), forbidden) if forbidden else ():
        say = f"Take {short(pattern)} out, or forbid less than {short(against)}: all of it is forbidden."
        yield Finding("path-allowed-for-nothing", said.path("allowed", index), say, "warning", found=short(pattern))


@lru_cache(maxsize=256)
def _for_nothing(allowed: tuple[str, ...], forbidden: tuple[str, ...]) -> tuple[tuple[int, str, str], ...]:
    """Those that are, with their place, and the pattern that is against them."""
    found = []
    for index, pattern in enumerate(allowed):
        folder = normal(pattern)
        if isinstance(folder, Odd) or pattern in forbidden or not WILD.isdisjoint(pattern):
            continue
        against = forbidding(forbidden).cover(f"{folder}/{ANYTHING}")
        if against is not None:
            found.append((index, pattern, against.text))
    return tuple(found)


# --- reports ----------------------------------------------------------------------------------------------------------


def weigh_progress(said: Said, book: Book, ground: Ground) -> Iterator[Finding]:
    contracts = contracts_in(book)
    if contracts is None:
        return
    plan = plan_in(book, said.text("plan"))
    if plan is None:
        yield _plan_unknown(said, list(contracts.plans))
        yield from _files(said, _own(said, book), ground)
        return
    yield from _task(said, plan)
    yield from islice(_dependencies(said, plan, book), ground.limits.findings_max)
    yield from _budget(said, plan)
    yield from _files(said, [plan], ground)
    yield from conditions_of(plan)


def weigh_files(said: Said, book: Book, ground: Ground) -> Iterator[Finding]:
    """A submission or a commit: of its task's plan, or by the contracts of whoever sends it."""
    if not said.texts("files") or contracts_in(book) is None:
        return
    plan = meant(said, book)
    plans = [plan] if plan is not None else _own(said, book)
    yield from _files(said, plans, ground)
    for one in plans:
        yield from conditions_of(one)


def _own(said: Said, book: Book) -> list[Plan]:
    contracts = contracts_in(book)
    return open_plans(book, covering(contracts, said.sender, said.role)) if contracts is not None else []


def _plan_unknown(said: Said, plans: list[str]) -> Finding:
    plan = said.text("plan")
    close = nearest(plan, plans[-LATEST_MAX:])
    say = f"Name a plan that has a contract, such as {short(close or plans[-1])}: nobody has sent one for this."
    return Finding("plan-unknown", said.path("plan"), say, "warning", listed(plans), short(plan), close)


def _task(said: Said, plan: Plan) -> Iterator[Finding]:
    task, tasks = said.text("task"), plan.words.tasks if plan.words is not None else ()
    if task in tasks:
        return
    which = f"one of {listed(tasks)}" if tasks else "once a contract lists some"
    say = f"Name a task of plan {short(plan.id)}, {which}: {short(task) or 'this'} is none of them."
    yield Finding(
        "task-not-in-plan",
        said.path("task"),
        say,
        expected=f"one of {listed(tasks)}",
        found=short(task),
        nearest=nearest(task, tasks),
    )


def _dependencies(said: Said, plan: Plan, book: Book) -> Iterator[Finding]:
    assert plan.words is not None
    for name in dict.fromkeys(plan.words.depends_on):
        other = plan_in(book, name)
        if other is not None and other.is_complete:
            continue
        missing = [task for task in other.words.tasks if task not in other.done] if other and other.words else []
        lacks = f"{listed(missing)} not done" if missing else "no contract for it yet"
        say = (
            f"Leave it until plan {short(name)} is complete: plan {short(plan.id)} depends on it, and there is {lacks}."
        )
        found = f"plan {short(name)}: {lacks}"
        yield Finding("dependency-not-complete", said.path("plan"), say, expected="complete", found=found)


def _budget(said: Said, plan: Plan) -> Iterator[Finding]:
    assert plan.words is not None
    budget, used = plan.words.budget, said.get("tokens")
    used = used if isinstance(used, int) else 0
    if budget is None or (plan.spent < budget and plan.spent + used <= budget):
        return
    comes_to = f"this makes {plan.spent + used:,}" if used else f"has spent {plan.spent:,}"
    names = said.type.deed.names if said.type.deed is not None else {}
    by = plan.revisions[-1].by
    say = (
        f"Stop, and ask {short(by)} for a contract with a larger budget: plan {short(plan.id)} may spend {budget:,}"
        f" tokens, and {comes_to}."
    )
    where = said.path("tokens" if "tokens" in names else "plan")
    yield Finding("token-budget-spent", where, say, expected=f"at most {budget}", found=str(plan.spent + used))


def conditions_of(plan: Plan) -> tuple[Finding, ...]:
    conditions = plan.conditions if plan.grants else ()
    if not conditions:
        return ()
    those = listed(conditions)
    say = f"Keep to what plan {short(plan.id)} was widened under: {those}."
    return (Finding("approval-conditions", ROOT, say, "note", expected=those),)


# --- files ------------------------------------------------------------------------------------------------------------


def _files(said: Said, plans: list[Plan], ground: Ground) -> Iterator[Finding]:
    files, found, scopes = said.get("files"), 0, [Scope(plan) for plan in plans]
    for index, path in enumerate(files if isinstance(files, list) else ()):
        judged = judge(path, scopes) if isinstance(path, str) else None
        if judged is None or judged.code is None:
            continue
        found += 1
        if found > ground.limits.findings_max:
            return
        yield Finding(
            judged.code,
            said.path("files", index),
            sentence(judged, said.role, ground),
            expected=_expected(judged),
            found=short(path),
        )


def _expected(judged: Judged) -> str | None:
    if judged.code == NOT_IN_PROJECT:
        return "a path from the project's root"
    return scope_of(judged.plan) if judged.code == OUTSIDE and judged.plan is not None else None


def sentence(judged: Judged, role: str, ground: Ground) -> str:
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


def weigh_ask(said: Said, book: Book, ground: Ground) -> Iterator[Finding]:
    contracts = contracts_in(book)
    if contracts is None or not widens(said) or meant(said, book) is not None:
        return
    own = [plan.id for plan in _own(said, book)]
    say = f"Name a task of the plan that is to be widened ({listed(own or list(contracts.plans))}): an approval would"
    yield Finding(
        "plan-not-clear", said.path("task"), f"{say} widen none as it is.", "warning", found=said.text("task")
    )


def weigh_answer(said: Said, book: Book, ground: Ground) -> Iterator[Finding]:
    plan = asked_plan(said, book)
    if plan is None or said.get("approved") is not True:
        return
    ask = plan.asks[request_of(said)]
    if not said.texts("modifications"):
        say = f"List the paths that {short(ask.by)} may touch from now on: as it is, the approval widens nothing."
        yield Finding("approval-widens-nothing", said.path("modifications"), say, "warning", "path patterns")
    yield from _flaws(said, "modifications")


def weigh_review(said: Said, book: Book, ground: Ground) -> Iterator[Finding]:
    plan: Plan | None = book.get(topic_of(said.text("plan")))
    if plan is None or plan.cycle == 0:
        return
    cycle, next_ = said.get("cycle"), plan.cycle + 1
    if cycle == next_ or (plan.approved and cycle == 1):
        return
    say = f"Say cycle {next_}: the last review of plan {short(plan.id)} was cycle {plan.cycle}."
    wanted = f"{next_} or 1" if plan.approved else str(next_)
    yield Finding("cycle-out-of-order", said.path("cycle"), say, "warning", wanted, str(cycle))
