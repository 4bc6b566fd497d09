"""Do contracts hold however a team plays with them? Against a model that knows nothing of topics, folds or patterns.

The model writes down who may touch what in the plainest way: paths are single words, a pattern is a word or `word/`.
"""

from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from telex.bus import run_sync
from telex.bus.local import LocalBus
from telex.client import SyncBus
from telex.dialects.registry import BUILT_IN
from telex.model.contracts import Plan
from telex.ports.store import EVERYTHING, events_with_messages
from telex.stores.memory import MemoryStore
from telex.testing import FakeClock
from telex.work import reducer
from telex.work.snapshots import decode_state, encode_state
from tests.proofs import proves
from tests.work.contract_team import answer, ask, close, contract, report

DIALECTS = {dialect.name: dialect for dialect in BUILT_IN}
PLANS, FOLDERS = ("P", "Q"), ("a", "b", "c")
TASKS = {"P": ("P1", "P2"), "Q": ("Q1",)}
FILES = tuple(f"{folder}/x" for folder in FOLDERS)


class Contract(NamedTuple):
    plan: str
    tasks: tuple[str, ...]
    allowed: tuple[str, ...]
    forbidden: tuple[str, ...]
    depends_on: tuple[str, ...]
    budget: int | None


class Report(NamedTuple):
    plan: str
    task: str
    status: str
    files: tuple[str, ...]
    tokens: int


class Closing(NamedTuple):
    plan: str


class Asking(NamedTuple):
    task: str
    kind: str


class Answering(NamedTuple):
    request: int  # which of those asked so far
    approved: bool
    paths: tuple[str, ...]


def some(among: tuple[str, ...], least: int = 0) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(among), min_size=least, max_size=2, unique=True).map(tuple)


NEVER: tuple[str, ...] = ()
TASK = st.sampled_from(["P1", "P1", "P2", "Q1", "Z"])
ON = st.sampled_from([("P", "P1"), ("P", "P1"), ("P", "P2"), ("Q", "Q1"), ("P", "Q1"), ("Q", "Z")])
CONTRACTS = st.sampled_from(["P", "P", "Q"]).flatmap(
    lambda plan: st.builds(
        Contract,
        st.just(plan),
        some(TASKS[plan], 1),
        some(FOLDERS, 1),
        st.just(NEVER) | some(FOLDERS),
        st.just(NEVER) | st.just(NEVER) | some(tuple(one for one in PLANS if one != plan)),
        st.none() | st.integers(1, 3),
    )
)
REPORTS = st.builds(
    lambda on, *more: Report(*on, *more),
    ON,
    st.sampled_from(["complete", "complete", "partial"]),
    st.just(NEVER) | some(FILES),
    st.integers(0, 2),
)
ASKS = st.builds(Asking, TASK, st.sampled_from(["scope_change", "gate_override"]))
ANSWERS = st.builds(Answering, st.integers(0, 2), st.sampled_from([True, True, True, False]), some(FOLDERS))
CLOSINGS = st.builds(Closing, st.sampled_from(PLANS))
ACTS = st.one_of(CONTRACTS, CONTRACTS, REPORTS, REPORTS, REPORTS, REPORTS, ASKS, ASKS, ANSWERS, ANSWERS, CLOSINGS)


class Model:
    """What should be, told plainly."""

    def __init__(self) -> None:
        self.contracts: dict[str, Contract] = {}
        self.closed: set[str] = set()
        self.revisions: dict[str, int] = {}
        self.done: dict[str, set[str]] = {plan: set() for plan in PLANS}
        self.spent = dict.fromkeys(PLANS, 0)
        self.wide: dict[str, set[str]] = {plan: set() for plan in PLANS}
        self.free: dict[str, set[str]] = {plan: set() for plan in PLANS}
        self.asked: list[tuple[Asking, str | None]] = []
        self.answered: set[int] = set()

    def is_open(self, plan: str) -> bool:
        return plan in self.contracts and plan not in self.closed

    def may_touch(self, plan: str, file: str) -> bool:
        folder, words = file[0], self.contracts[plan]
        if folder in self.free[plan]:
            return True
        return folder not in words.forbidden and (folder in words.allowed or folder in self.wide[plan])

    def guards(self, file: str) -> bool:
        among = [plan for plan in PLANS if self.is_open(plan)]
        return not among or any(self.may_touch(plan, file) for plan in among)

    def wants(self, act: Any) -> bool:
        """Does the book have nothing against it? What it then changes is written down."""
        match act:
            case Contract(plan=plan):
                if self.contracts.get(plan) != act:
                    self.revisions[plan] = self.revisions.get(plan, 0) + 1
                self.contracts[plan] = act
                self.closed.discard(plan)
                return True
            case Closing(plan=plan):
                self.closed.update({plan} & self.contracts.keys())
                return True
            case Report():
                return self._reports(act)
            case Asking():
                self.asked.append((act, self._meant(act)))
                return True
            case Answering(request=number):
                if number >= len(self.asked) or number in self.answered:
                    return False  # a response to nothing, or a second one
                self._answers(act)
                return True
        raise AssertionError(act)

    def _reports(self, act: Report) -> bool:
        if not self.contracts:
            return True
        words = self.contracts.get(act.plan)
        if words is None:
            return all(self.guards(file) for file in act.files)
        if act.task not in words.tasks or not all(self._is_complete(other) for other in words.depends_on):
            return False
        over = words.budget is not None and (
            self.spent[act.plan] >= words.budget or self.spent[act.plan] + act.tokens > words.budget
        )
        if over or not all(self.may_touch(act.plan, file) for file in act.files):
            return False
        (self.done[act.plan].add if act.status == "complete" else self.done[act.plan].discard)(act.task)
        self.spent[act.plan] += act.tokens
        return True

    def _is_complete(self, plan: str) -> bool:
        return plan in self.contracts and set(self.contracts[plan].tasks) <= self.done[plan]

    def _meant(self, act: Asking) -> str | None:
        with_task = [plan for plan, words in self.contracts.items() if act.task in words.tasks]
        still_open = [plan for plan in PLANS if self.is_open(plan)]
        among = [plan for plan in still_open if not self._is_complete(plan)] or still_open
        return with_task[0] if with_task else among[0] if len(among) == 1 else None

    def _answers(self, act: Answering) -> None:
        self.answered.add(act.request)
        asking, plan = self.asked[act.request]
        if act.approved and plan is not None:
            (self.free if asking.kind == "gate_override" else self.wide)[plan].update(act.paths)


class Players:
    """A lead and a dev on a real bus."""

    def __init__(self) -> None:
        self.store, self.clock = MemoryStore(), FakeClock()
        self.bus = self.opened()
        self.requests: list[str] = []

    def opened(self) -> SyncBus:
        return SyncBus(LocalBus(self.store, self.clock))

    def play(self, act: Any) -> bool:
        match act:
            case Contract(plan, tasks, allowed, forbidden, depends_on, budget):
                words = {"allowed_paths": [f"{one}/" for one in allowed], "token_budget": budget}
                words |= {"forbidden_paths": [f"/{one}/" for one in forbidden], "depends_on": list(depends_on)}
                return self._send(contract(plan, tasks=list(tasks), **words), "lead", "dev")
            case Report(plan, task, status, files, tokens):
                made = report(plan, task, list(files), status=status, tokens_used=tokens)
                return self._send(made, "dev", "lead")
            case Closing(plan):
                return self._send(close(plan), "lead", "dev")
            case Asking(task, kind):
                made = ask(kind, task)
                self.requests.append(made["id"])
                return self._send(made, "dev", "lead")
            case Answering(number, approved, paths):
                request = self.requests[number] if number < len(self.requests) else "never-asked"
                made = answer(request, [f"{path}/" for path in paths], approved=approved)
                return self._send(made, "lead", "dev")
        raise AssertionError(act)

    def _send(self, tree: dict[str, Any], sender: str, to: str) -> bool:
        return self.bus.send(tree, sender=sender, to=to, check=False).accepted


@proves("contracts/model", "contracts/from-log")
@given(st.lists(ACTS, min_size=4, max_size=25), st.integers(0, 25))
def test_a_team_keeps_to_its_contracts_whatever_it_does(acts: list[Any], crash_after: int) -> None:
    model, players = Model(), Players()
    for number, act in enumerate(acts):
        if number == crash_after:
            players.bus = players.opened()
        assert players.play(act) is model.wants(act), (number, act)
        verdicts = players.bus.guard(FILES, agent="dev")
        assert {verdict.path: verdict.allowed for verdict in verdicts} == {
            file: model.guards(file) for file in FILES
        }, act
    book: dict[str, Any] = players.bus.work_state("plan") | players.bus.work_state("contracts")
    plans = {plan.id: plan for plan in book.values() if isinstance(plan, Plan)}
    assert {name: len(plan.revisions) for name, plan in plans.items()} == model.revisions
    assert {name: set(plan.done) for name, plan in plans.items()} == {name: model.done[name] for name in plans}
    assert {name: plan.spent for name, plan in plans.items()} == {name: model.spent[name] for name in plans}
    reopened = players.opened()
    folded = reducer.written(run_sync(players.store.read(events_with_messages, EVERYTHING, 10_000)), DIALECTS)
    for topic, state in book.items():
        assert folded[topic] == state == decode_state(encode_state(state))
    assert reopened.work_state("plan") | reopened.work_state("contracts") == book
    again = [(one.path, one.code, one.reason) for one in reopened.guard(FILES, agent="dev")]
    assert again == [(verdict.path, verdict.code, verdict.reason) for verdict in verdicts]
