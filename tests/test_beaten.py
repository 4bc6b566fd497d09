"""Is the beaten track a short cut and nothing else? Every message goes it and the patient way, side by side."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.bus.directory import ROSTER_SECONDS
from telex.bus.local import LocalBus
from telex.client import run_sync
from telex.delivery.validator_cache import OPENED_AFTER, ValidatorCache
from telex.dialects.schema import Dialect, MessageType
from telex.model.limits import LIMITS
from telex.stores.memory import MemoryStore
from telex.stores.sqlite.store import SqliteStore
from telex.testing.sim_messages import written
from telex.testing.strategies import wire
from telex.validation.check import STRICT, CheckPolicy
from tests.beaten_twins import (
    BUILD_FLOW,
    DEV,
    EVERY_JSON_TYPE,
    UPDATE,
    VBW_TYPED,
    OpenTwins,
    Twins,
    every_json_type,
    pair_of,
    said,
    twins,
    update,
    warmed,
)
from tests.bus_team import codes
from tests.story_settings import FEWER

__all__ = ["twins"]


# --- the same answer --------------------------------------------------------------------------------------------------


@every_json_type
@pytest.mark.parametrize(
    "preferred", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["preferred", "not preferred"]
)
def test_every_type_is_answered_and_kept_alike_by_both_ways(
    twins: OpenTwins, dialect: Dialect, type_: MessageType, preferred: bool
) -> None:
    """New, sent again, sent with other words under the same id, and to an inbox that is full."""
    pair = pair_of(dialect, type_)
    twin = twins(CheckPolicy(preferred=dialect.name if preferred else None, work=False), inbox_max=OPENED_AFTER + 3)
    for number in range(OPENED_AFTER + 2):
        assert twin.send(said(dialect, type_, number), **pair).accepted
    again = twin.send(said(dialect, type_, 9), **pair)
    other = twin.send(said(dialect, type_, 9) + b" ", **pair)
    full = [twin.send(said(dialect, type_, number), **pair) for number in (100, 101)][-1]
    assert codes(full.findings) == ["inbox-full"]
    if dialect.wire.id is not None:
        assert again.duplicate
        assert codes(other.findings) == ["id-reused"]
    assert twin.are_alike()


@every_json_type
def test_a_type_takes_the_beaten_track_unless_it_asks_or_answers(
    twins: OpenTwins, dialect: Dialect, type_: MessageType
) -> None:
    desk = CheckPolicy(forced=dialect, work=False)  # unforced, a type that two dialects have may not
    twin, pair = twins(desk), pair_of(dialect, type_)
    for number in range(OPENED_AFTER):
        assert not twin.took_it(said(dialect, type_, number), **pair), "nobody knows them yet"
    asks = dialect.wire.id is not None and type_.reply is not None
    answers = any(other.reply == type_.name for other in dialect.types.values())
    assert twin.took_it(said(dialect, type_, 100), **pair) is not (asks or answers)
    assert twin.are_alike()


@pytest.mark.parametrize("to", ["lead", "role:lead", "all:lead", "*", "LEAD"])
def test_whatever_the_address_the_same_inboxes_get_it(twins: OpenTwins, to: str) -> None:
    twin = twins()
    twin.both("join", "lena", role="lead")
    raw = [said(BUILD_FLOW, BUILD_FLOW.types["STATUS_UPDATE"], number) for number in range(OPENED_AFTER + 1)]
    raw = [one.replace(b'"from": "build-orchestrator"', b'"from": "dev"') for one in raw]
    raw = [one.replace(b'"to": "cto"', b'"to": "lead"' if to.lower() == "lead" else b'"to": "*"') for one in raw]
    for one in raw:
        twin.send(one, sender="dev", to=to)
    assert twin.are_alike()


@FEWER
@given(st.data())
def test_whatever_is_done_in_whatever_order_the_record_is_the_same(data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        twins = Twins(patch, (MemoryStore(), MemoryStore()), SMALL)
        twins.buses[0]._context.validators = LANES
        for act in data.draw(st.lists(ACTS, max_size=25)):
            do(twins, act, data)
        assert twins.are_alike()


SMALL = CheckPolicy(limits=LIMITS._replace(inbox_max=9, silent_seconds=40.0, dedup_window_seconds=100.0))
LANES = ValidatorCache(SMALL)  # once opened they stay open, so that few examples are spent on coming so far
TYPES = [(VBW_TYPED, UPDATE), (BUILD_FLOW, BUILD_FLOW.types["TASK_ASSIGNMENT"])]
ACTS = st.one_of(
    st.tuples(st.just("send"), st.sampled_from(EVERY_JSON_TYPE), st.integers(0, 3), st.sampled_from([b"", b" "])),
    st.tuples(st.just("send"), st.sampled_from(TYPES), st.integers(0, 9), st.just(b"")),
    st.tuples(st.just("draw"), st.sampled_from(EVERY_JSON_TYPE)),
    st.tuples(st.just("later"), st.sampled_from([ROSTER_SECONDS / 4, ROSTER_SECONDS, 11.0, 101.0])),
    st.tuples(st.just("leave"), st.sampled_from(["dev", "lead", "ada"])),
    st.tuples(st.just("join"), st.sampled_from(["dev", "lead", "ada"]), st.sampled_from(["dev", "lead"])),
    st.tuples(st.just("receive"), st.sampled_from(["lead", "cto", "dev"])),
)


def do(twins: Twins, act: tuple[Any, ...], data: st.DataObject) -> None:
    match act:
        case "send", (dialect, type_), number, more:
            twins.send(said(dialect, type_, number) + more, **pair_of(dialect, type_))
        case "draw", (dialect, type_):
            twins.send(data.draw(wire(dialect, type_)).raw, **pair_of(dialect, type_))
        case "later", seconds:
            twins.later(seconds)
        case "leave", name:
            twins.both("leave", name)
        case "join", name, role:
            twins.both("join", name, role=role)
        case "receive", name:
            twins.both("receive", name, limit=2)
        case _:
            raise AssertionError(act)


def test_the_detail_of_what_was_kept_says_how_long_it_took_either_way(
    twins: OpenTwins, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = warmed(twins())
    for clock in twin.clocks:
        monkeypatch.setattr(clock, "now", lambda now=clock.now, leap=clock.leap: leap(0.00025) and now())
    one, other = (run_sync(bus.send(update(1), **DEV)) for bus in twin.buses)
    assert one == other
    assert twin.beaten == 1
    for bus in twin.buses:
        [story] = run_sync(bus.why("m-1"))
        detail = json.loads(story.events[0].detail or "")
        assert list(detail) == ["took"]
        assert 0 < detail["took"] < 10


# --- what may not take it ---------------------------------------------------------------------------------------------


def test_an_ordinary_message_takes_it_and_goes_on_taking_it(twins: OpenTwins) -> None:
    twin = warmed(twins())
    assert all(twin.took_it(update(number), **DEV) for number in range(20))
    assert twin.are_alike()


NOT_QUITE_ORDINARY: dict[str, tuple[Any, dict[str, str]]] = {
    "text": (update(1).decode(), {}),
    "an object": (json.loads(update(1)), {}),
    "an id beside it": (update(1), {"id": "m-1"}),
    "an answer": (update(1), {"reply_to": "m-0"}),
    "something to note": (update(1).replace(b'"type"', b'"mood": "fine", "type"', 1), {}),
    "plain words": (b"all is well", {}),
    "another recipient": (b"all is well", {"to": "qa"}),
}


@pytest.mark.parametrize("raw, how", NOT_QUITE_ORDINARY.values(), ids=NOT_QUITE_ORDINARY)
def test_what_is_not_quite_ordinary_goes_the_patient_way(twins: OpenTwins, raw: Any, how: dict[str, str]) -> None:
    twin = warmed(twins())
    assert not twin.took_it(raw, **DEV | how)
    assert twin.took_it(update(2), **DEV), "and the next one does not"
    assert twin.are_alike()


def test_what_is_refused_is_refused_alike(twins: OpenTwins) -> None:
    twin = warmed(twins())
    for raw in (b"", b"\xff", update(1)[:-9], update(1).replace(b'"dev"', b'"qa"'), update(1).ljust(2_000_000)):
        assert not twin.send(raw, **DEV).accepted
    assert twin.beaten == 0
    assert twin.are_alike()


def test_a_message_that_answers_another_settles_what_was_asked(twins: OpenTwins) -> None:
    """Whatever its type: a STATUS_UPDATE may name what it replies to."""
    twin, type_ = twins(CheckPolicy(work=False)), BUILD_FLOW.types["STATUS_UPDATE"]
    pair = pair_of(BUILD_FLOW, type_)
    for number in range(OPENED_AFTER + 1):
        twin.send(said(BUILD_FLOW, type_, number), **pair)
    assert twin.beaten == 1
    query = BUILD_FLOW.types["DOC_QUERY"]
    back = {"sender": pair["to"], "to": pair["sender"]}
    asked = written(BUILD_FLOW, query, back["sender"], back["sender"], back["to"], back["to"], "ask-1", "T1")
    assert not twin.took_it(asked, **back)
    twin.send(said(BUILD_FLOW, type_, 99), **pair)  # who asked was new, and all have to look around first
    tree = json.loads(said(BUILD_FLOW, type_, 100)) | {"replyTo": "ask-1"}
    assert not twin.took_it(json.dumps(tree).encode(), **pair)
    [story] = twin.both("why", "ask-1")
    assert "answered" in [event.kind for event in story.events]
    assert twin.are_alike()


# --- when the team changes --------------------------------------------------------------------------------------------


def test_who_joins_gets_the_next_broadcast(twins: OpenTwins) -> None:
    twin = warmed(twins(), sender="dev", to="all:lead")
    assert twin.took_it(update(1), sender="dev", to="all:lead")
    twin.both("join", "lena", role="lead")
    assert not twin.took_it(update(2), sender="dev", to="all:lead")
    assert "lena" in twin.send(update(3), sender="dev", to="all:lead").to
    assert twin.are_alike()


def test_who_leaves_gets_nothing_more(twins: OpenTwins) -> None:
    twin = twins()
    twin.both("join", "lena", role="lead")
    warmed(twin, sender="dev", to="lena")
    assert twin.took_it(update(1), sender="dev", to="lena")
    twin.both("leave", "lena")
    assert codes(twin.send(update(2), sender="dev", to="lena").findings) == ["recipient-has-left"]
    assert twin.are_alike()


def test_who_comes_back_in_another_role_is_held_to_it(twins: OpenTwins) -> None:
    twin = twins()
    twin.both("join", "ada", role="dev")
    warmed(twin, sender="ada", to="lead")
    assert twin.took_it(update(1), sender="ada", to="lead")
    twin.both("leave", "ada")
    twin.both("join", "ada", role="qa")
    assert "role-may-not-send" in codes(twin.send(update(2), sender="ada", to="lead").findings)
    assert twin.are_alike()


def test_what_another_process_changes_in_the_team_is_seen_at_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [str(tmp_path / name) for name in ("one.db", "other.db")]
    stores = [SqliteStore.open(path, durable=False) for path in (*paths, *paths)]
    twin = warmed(Twins(monkeypatch, (stores[0], stores[1]), STRICT), sender="dev", to="all:lead")
    others = [LocalBus(store, clock) for store, clock in zip(stores[2:], twin.clocks, strict=True)]
    assert twin.took_it(update(1), sender="dev", to="all:lead")
    for bus in others:
        run_sync(bus.join("lena", role="lead"))
    twin.later(ROSTER_SECONDS)
    assert "lena" in twin.send(update(2), sender="dev", to="all:lead").to
    for bus in others:
        run_sync(bus.leave("lena"))
        run_sync(bus.join("lena", role="qa"))
    twin.later(ROSTER_SECONDS)
    assert "lena" not in twin.send(update(3), sender="dev", to="all:lead").to
    assert twin.are_alike()
    for store in stores:
        run_sync(store.close())


def test_one_who_sends_all_the_time_is_written_down_as_being_here(twins: OpenTwins) -> None:
    twin = warmed(twins(silent_seconds=0.1))
    seen: set[float] = set()
    for number in range(200):
        twin.later(ROSTER_SECONDS / 5)
        twin.send(update(number), **DEV)
        [member] = [one for one in run_sync(twin.buses[0].store.members()) if one.name == "dev"]
        assert member.seen_at is not None
        assert twin.clocks[0].now() - member.seen_at < 0.1, "it would be shown as silent"
        seen.add(member.seen_at)
    assert twin.beaten > 100
    assert 3 < len(seen) < 20, "and not for every message"
    assert twin.are_alike()
