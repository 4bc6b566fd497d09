"""Is the book nothing but the log? However it is come by: live, folded from nothing, by another process, reopened."""

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.bus import run_sync
from telex.bus.local import LocalBus
from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import ANY, Dialect, Field, ListOf, MessageType, OneOf, get_path, kind_at, set_path
from telex.dialects.write import write
from telex.errors import TelexError
from telex.model.finding import refusals
from telex.ports.bus import Receipt
from telex.ports.store import EVERYTHING, Store, events_with_messages
from telex.stores.memory import MemoryStore
from telex.stores.sqlite.store import SqliteStore
from telex.surfaces.cli.main import main
from telex.testing import FakeClock
from telex.testing.contract_events import keep_snapshot, topic
from telex.validation.check import CheckPolicy
from telex.work import reducer, snapshots
from telex.work.view import FOLDS, RULES
from tests.demo.story_settings import FEWER
from tests.proofs import proves
from tests.stores.store_kit import before_next_transaction

DIALECTS = {dialect.name: dialect for dialect in BUILT_IN}
BOOKED = [(dialect, type_) for dialect in BUILT_IN for type_ in dialect.types.values() if type_.action in RULES]
IDS = [f"m-{number}" for number in range(8)]
# What a field may say, by the deed's name for it. Few words, so that messages often speak of the same matter.
POOLS: dict[str, st.SearchStrategy[Any]] = {
    "plan": st.sampled_from(["p1", "p2"]),
    "task": st.sampled_from(["t1", "t2", "t3"]),
    "tasks": st.lists(st.sampled_from(["t1", "t2", "t3"]), max_size=3),
    "depends_on": st.lists(st.sampled_from(["p1", "p2"]), max_size=1),
    "allowed": st.lists(st.sampled_from(["src/", "docs/*.md", "a.py"]), min_size=1, max_size=2),
    "forbidden": st.lists(st.sampled_from(["src/secret/", ".env"]), max_size=1),
    "files": st.lists(st.sampled_from(["src/x.py", "src/secret/k", "docs/a.md", "../x", "a.py"]), max_size=2),
    "modifications": st.lists(st.sampled_from(["lib/", "src/secret/"]), max_size=1),
    "request": st.sampled_from(IDS),
    "approval": st.sampled_from(IDS),
    "came_from": st.sampled_from(["pending", "assigned", "planning", "validated", "in_progress"]),
    "goes_to": st.sampled_from(["assigned", "planning", "validated", "in_progress", "cto_intervention"]),
    "budget": st.sampled_from([10, 100_000]),
    "tokens": st.integers(0, 9),
    "cycle": st.integers(1, 3),
}
SENDERS = ["lead", "dev", "qa", "architect", "human", "worker", "orchestrator", "senior", "reviewer", "auditor", "docs"]


@st.composite
def messages(draw: st.DrawFn) -> dict[str, Any]:
    """Something that does something to the work, said by somebody to somebody; it may well be out of place."""
    dialect, type_ = draw(st.sampled_from(BOOKED))
    tree = copy.deepcopy(type_.example)
    for name, where in type_.field_map.items():
        steps = dialect.locate(type_, where)
        field = kind_at(dialect.fields_of(type_), steps)
        if field is not None and get_path(steps)(tree) is not None:
            set_path(tree, steps, draw(_value(name, field, get_path(steps)(tree))))
    if dialect.wire.id is not None:
        tree[dialect.wire.id] = draw(st.sampled_from(IDS))
    own = dialect.roles if type_.senders == ANY else type_.senders
    sender = draw(st.sampled_from(own if draw(st.integers(0, 9)) else SENDERS))
    if dialect.wire.sender in tree and draw(st.integers(0, 9)):
        tree[dialect.wire.sender] = sender
    to = draw(st.sampled_from(["dev", "lead", "role:dev", "*", "human", "orchestrator"]))
    if dialect.name == "build-flow":
        tree["to"], tree["correlationId"] = to, tree["payload"].get("taskId", "t1")
    how: dict[str, Any] = {"raw": write(dialect, tree, type_.body_example).encode(), "sender": sender, "to": to}
    if draw(st.booleans()):
        how["reply_to"] = draw(st.sampled_from([*IDS, "W", "W.plan", "W.w1.s1.i0", "W.w1.s1.i0.review"]))
    if dialect.wire.id is None:
        how |= {"id": draw(st.sampled_from([*IDS, "W"])), "correlation": draw(st.sampled_from(["W", "t1"]))}
        if {dialect.wire.correlation, dialect.wire.task} & tree.keys():
            del how["correlation"]
    return how


def _value(name: str, field: Field, now: Any) -> st.SearchStrategy[Any]:
    if name in POOLS and not (isinstance(field.kind, ListOf) and not isinstance(now, list)):
        return POOLS[name]
    if isinstance(field.kind, OneOf):
        return st.sampled_from(field.kind.values)
    return st.booleans() if isinstance(now, bool) else st.just(now)


ACTS = st.one_of(
    messages(),
    messages(),
    messages(),
    st.tuples(st.just("later"), st.sampled_from([1.0, 301.0, 4_000.0])),
    st.tuples(st.just("receive"), st.sampled_from(["dev", "lead", "human", "orchestrator"])),
    st.tuples(st.just("leave"), st.sampled_from(["dev", "qa"])),
)


def book_of(bus: LocalBus) -> dict[str, Any]:
    """As the bus knows it."""
    return {topic: state for kind in FOLDS for topic, state in run_sync(bus.work_state(kind)).items()}


def book_folded(store: Store) -> dict[str, Any]:
    """From nothing."""
    return reducer.written(run_sync(store.read(events_with_messages, EVERYTHING, 1_000_000)), DIALECTS)


def play(acts: list[Any], open_store: Callable[[], Store], policy: CheckPolicy) -> None:
    """Two processes, as it were, say these things in turn. After each, all books are one."""
    clock, stores = FakeClock(), [open_store(), open_store()]
    buses = [LocalBus(store, clock, policy=policy) for store in stores]
    for number, act in enumerate(acts):
        bus = buses[number % 2]
        if isinstance(act, dict):
            answer = run_sync(bus.send(**act, check=False))
            assert answer.accepted or refusals(answer.findings)
        elif act[0] == "later":
            clock.leap(act[1])
            run_sync(bus.sweep())
        else:
            with suppress(TelexError):
                run_sync(getattr(bus, act[0])(act[1]))
        folded = book_folded(stores[0])
        assert book_of(buses[0]) == folded
        assert book_of(buses[1]) == folded
    stores.append(open_store())
    assert book_of(LocalBus(stores[-1], clock, policy=policy)) == book_folded(stores[-1])
    for store in set(stores):
        run_sync(store.close())


@proves("work/log")
@FEWER
@given(st.lists(ACTS, max_size=14), st.booleans())
def test_live_folded_from_nothing_and_reopened_the_book_is_the_same(acts: list[Any], strict: bool) -> None:
    with TemporaryDirectory(prefix="telex-book-") as folder:
        path = str(Path(folder, "book.db"))
        play(acts, lambda: SqliteStore.open(path, durable=False), CheckPolicy(strict=strict))


@proves("work/log")
@given(st.lists(ACTS, max_size=40), st.booleans())
def test_the_book_in_memory_is_the_log_too(acts: list[Any], strict: bool) -> None:
    store = MemoryStore()
    play(acts, lambda: store, CheckPolicy(strict=strict))


@proves("work/snapshot")
@FEWER
@given(st.lists(ACTS, max_size=14))
def test_snapshots_change_nothing(acts: list[Any]) -> None:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory(prefix="telex-book-") as folder:
        patch.setattr("telex.bus.context.LONG", 2)
        path = str(Path(folder, "book.db"))
        play(acts, lambda: SqliteStore.open(path, durable=False), CheckPolicy())
        store = SqliteStore.open(path, durable=False)
        for kind in FOLDS:
            for topic, state in run_sync(LocalBus(store, FakeClock()).work_state(kind)).items():
                assert snapshots.decode_snapshot(topic, 7, snapshots.encode_snapshot(topic, 7, state)) == state
        run_sync(store.close())


HARMED = ["", "{}", "[0, null]", "[1]", '[1, {"value": "os:system", "of": ["true"]}]', "[1, {}]", "nonsense"]
HARMED += [
    '[1, {"value": "telex.model.roster:roster_of", "of": [[]]}]',
    '[1, {"value": "telex.model.roster:os.x", "of": []}]',
]
HARMED += ['[1, {"value": "telex.model.contracts:Plan", "of": []}]', "[" * 100_000]


@proves("work/snapshot")
@pytest.mark.parametrize("words", HARMED, ids=range(len(HARMED)))
def test_a_snapshot_that_is_none_of_ours_is_taken_for_nothing(words: str) -> None:
    contract = dict(DIALECTS["vbw-typed"].types["plan_contract"].example)
    store, clock = MemoryStore(), FakeClock()
    assert run_sync(LocalBus(store, clock).send(contract, sender="lead", to="dev")).accepted
    for text in (words, snapshots.checksum("plan:1-1", 1, words) + words):
        run_sync(keep_snapshot(store, "plan:1-1", 1, text))
        assert book_of(LocalBus(store, clock)) == book_folded(store)


Answers = list[Receipt]


@pytest.fixture
def same_file(tmp_path: Path) -> Iterator[Callable[[], SqliteStore]]:
    opened: list[SqliteStore] = []

    def another() -> SqliteStore:
        opened.append(SqliteStore.open(str(tmp_path / "one.db"), durable=False))
        return opened[-1]

    yield another
    for store in opened:
        run_sync(store.close())


@proves("work/serialised")
def test_of_two_processes_that_answer_at_once_one_is_told_that_it_came_second(
    same_file: Callable[[], SqliteStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second has checked its answer before the first was stored, and decides on it after."""
    typed, clock = DIALECTS["vbw-typed"].types, FakeClock()
    first, second = (LocalBus(same_file(), clock) for _ in range(2))
    assert run_sync(first.send(typed["approval_request"].example, sender="dev", to="lead")).accepted
    answer = typed["approval_response"].example
    run_sync(second.work_state("approval"))
    answers = list[Receipt]()
    before_next_transaction(
        monkeypatch, second.store, lambda: answers.append(run_sync(first.send(answer, sender="lead", to="dev")))
    )
    other = json.dumps({**answer, "id": "answer-2", "author_role": "architect"})
    late = run_sync(second.send(other, sender="architect", to="dev", check=False))
    assert [one.accepted for one in answers] == [True]
    assert not late.accepted
    assert [one.code for one in refusals(late.findings)] == ["approval-answered"]


@proves("work/lenient")
def test_what_a_lenient_team_lets_pass_though_it_is_refused_changes_nothing() -> None:
    store, policy = MemoryStore(), CheckPolicy(strict=False)
    bus = LocalBus(store, FakeClock(), policy=policy)
    contract = DIALECTS["vbw-typed"].types["plan_contract"].example
    receipt = run_sync(bus.send(contract, sender="dev", to="qa"))
    assert receipt.accepted
    assert "role-may-not-send" in [one.code for one in refusals(receipt.findings)]
    assert book_of(bus) == book_folded(store) == {}


def every_deed() -> Iterator[tuple[Dialect, MessageType, str, str]]:
    for dialect in BUILT_IN:
        for type_ in dialect.types.values():
            for name, where in (type_.field_map).items():
                yield dialect, type_, name, where


@pytest.mark.parametrize(
    "dialect, type_, name, where",
    [pytest.param(*one, id=f"{one[0].name} {one[1].name} {one[2]}") for one in every_deed()],
)
def test_every_name_of_a_deed_leads_to_a_field(dialect: Dialect, type_: MessageType, name: str, where: str) -> None:
    assert kind_at(dialect.fields_of(type_), dialect.locate(type_, where)) is not None


@proves("work/doctor")
def test_the_doctor_names_a_topic_that_is_not_what_the_log_says(
    tmp_path: Path, same_file: Callable[[], SqliteStore], capsys: pytest.CaptureFixture[str]
) -> None:
    contract = DIALECTS["vbw-typed"].types["plan_contract"].example
    store = same_file()
    assert run_sync(LocalBus(store, FakeClock()).send(contract, sender="lead", to="dev")).accepted
    path = str(tmp_path / "one.db")
    assert main(["doctor", "--store", path]) == 0
    assert "2 topics, equal to a replay of the log" in capsys.readouterr().out
    seq = run_sync(topic(store, "contracts"))[0][1].seq
    run_sync(keep_snapshot(store, "contracts", seq, snapshots.encode_snapshot("contracts", seq, None)))
    other = apsw.Connection(path)
    other.execute("DELETE FROM topics WHERE name = 'plan:1-1'")
    other.close()
    assert main(["doctor", "--store", path]) == 1
    assert "differs from a replay of the log: contracts, plan:1-1" in capsys.readouterr().out


@proves("work/without-rules")
def test_what_a_team_without_rules_of_the_work_says_never_counts(tmp_path: Path) -> None:
    contract = DIALECTS["vbw-typed"].types["plan_contract"].example
    store, clock = MemoryStore(), FakeClock()
    assert run_sync(
        LocalBus(store, clock, policy=CheckPolicy(work=False)).send(contract, sender="lead", to="dev")
    ).accepted
    later = LocalBus(store, clock)
    assert book_of(later) == book_folded(store) == {}
    assert run_sync(later.send({**contract, "id": "again"}, sender="lead", to="dev")).accepted
    assert run_sync(later.work_state("plan"))["plan:1-1"].revisions[0].number == 1


@proves("work/serialised")
@pytest.mark.parametrize("sent_before", [1, 12], ids=["first message", "compiled validator"])
def test_whoever_knew_of_no_contract_is_held_to_the_one_that_another_process_has_just_sent(
    same_file: Callable[[], SqliteStore], sent_before: int
) -> None:
    typed, clock = DIALECTS["vbw-typed"].types, FakeClock()
    first, second = (LocalBus(same_file(), clock) for _ in range(2))
    report = copy.deepcopy(typed["execution_update"].example)
    report["payload"]["files_modified"] = ["elsewhere.py"]
    for number in range(sent_before):
        assert run_sync(
            second.send(json.dumps(report | {"id": f"u{number}"}).encode(), sender="dev", to="lead")
        ).accepted
    assert run_sync(first.send(typed["plan_contract"].example, sender="lead", to="dev")).accepted
    late = run_sync(second.send(json.dumps(report | {"id": "late"}).encode(), sender="dev", to="lead", check=False))
    assert [one.code for one in refusals(late.findings)] == ["path-outside-contract"]
