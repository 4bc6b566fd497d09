"""Is a log answered the same by a replay that has most of the work put away as by one that has all of it in memory?"""

from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.model.contracts import NONE, Plan, PlanSummary
from telex.replay.plan_cache import PlanCache
from telex.replay.reader import of_store
from telex.replay.simulate import Simulator
from telex.replay.state_codec import packed, unpacked
from telex.stores.memory import MemoryStore
from telex.stores.temp_table import TempTable
from telex.validation.check import CheckPolicy
from telex.work.reducer import kind_of
from tests.bus_team import speech_of
from tests.proofs import proves
from tests.put_away_kit import (
    SmallDisk,
    answers,
    at_work,
    forgetful,
    granted,
    lines_of,
    report,
    same_book,
    topics_in_memory,
)
from tests.replay_story import STORIES, Story
from tests.test_book import messages
from tests.test_replay_properties import BARE
from tests.test_replay_reports import DAYS, written
from tests.whole_stories import FEWER

LONG = list(at_work(40))


# --- the same answers -------------------------------------------------------------------------------------------------


@proves("replay/put-away")
@given(DAYS, st.booleans())
def test_a_day_of_work_is_judged_the_same_with_hardly_any_memory(said: Any, quick: bool) -> None:
    lines = lines_of(raw for _, raw in written(said))
    little, much = forgetful(), Simulator()
    assert answers(little, lines, quick=quick) == answers(much, lines, quick=quick)
    assert same_book(little, much)


@proves("replay/put-away")
@FEWER
@given(STORIES, st.booleans())
def test_whatever_a_team_does_is_judged_the_same(acts: list[Any], strict: bool) -> None:
    lines = [of_store(*one) for one in Story(MemoryStore(), strict=strict).play(acts).events()]
    little, much = forgetful(desk=CheckPolicy(strict=strict)), Simulator(CheckPolicy(strict=strict))
    assert answers(little, lines) == answers(much, lines)
    assert same_book(little, much)


@proves("replay/put-away")
@FEWER
@given(st.lists(BARE | messages().map(lambda how: how["raw"]), min_size=4, max_size=14), st.booleans())
def test_whatever_stands_in_a_log_is_judged_the_same(raws: list[bytes], quick: bool) -> None:
    lines = lines_of(raws)
    little, much = forgetful(), Simulator()
    assert answers(little, lines, quick=quick) == answers(much, lines, quick=quick)
    assert same_book(little, much)


LATER = [
    report("p3", "p3-t1", "again", status="failed"),  # a plan that was complete opens again
    report("p4", "p4-t1", "waits"),  # and so one that depends on it has to wait
    report("p9", "p9-t9", "no-task"),
    report("p99", "p99-t1", "no-plan"),
    granted("p7", "once-more"),  # what was granted long ago
    *(raw.replace(b'"p7-', b'"late-p7-') for raw in list(at_work(8))[-9:-6]),  # agreed anew, with other tasks
    report("p7", "late-p7-t1", "widened"),
]


@proves("replay/put-away")
@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("topics_max", [2, 7, 20, 60])
def test_what_was_said_long_ago_still_counts(topics_max: int, quick: bool) -> None:
    lines = lines_of([*LONG, *LATER])
    little, much = forgetful(topics_max=topics_max), Simulator()
    found = answers(little, lines, quick=quick)
    assert found == answers(much, lines, quick=quick)
    codes = {one.code for answer in found[len(LONG) :] for one in answer[-1]}
    assert codes >= {"dependency-not-complete", "task-not-in-plan", "plan-unknown", "approval-answered"}
    assert same_book(little, much)


@proves("replay/put-away")
def test_a_matter_that_was_handed_up_long_ago_is_still_known() -> None:
    """Nobody else may use its id, and an answer to it answers something."""
    first = speech_of("build-flow", "ESCALATION_REQUEST", "up-1").raw
    other = speech_of("build-flow", "ESCALATION_REQUEST", "up-1", **{"from": "fullstack-developer"}).raw
    answer = speech_of("build-flow", "VALIDATION_RESPONSE", "yes", replyTo="up-1").raw
    lines = lines_of([first, *LONG, other, *LONG, answer])
    little, much = forgetful(topics_max=20), Simulator()
    found = answers(little, lines)
    assert found == answers(much, lines)
    assert [one.code for one in found[len(LONG) + 1][-1]] == ["id-reused"]
    assert (found[-1][0], found[-1][-1]) == ("passed", [])
    assert same_book(little, much)


# --- how much is in memory --------------------------------------------------------------------------------------------


@proves("replay/put-away")
@pytest.mark.parametrize("quick", [True, False])
def test_the_work_in_memory_does_not_grow_with_the_log(quick: bool) -> None:
    trial, most, listed = forgetful(topics_max=40), 0, 0
    trial.open_track()
    for number, line in enumerate(lines_of(LONG)):
        answers(trial, [line], quick=quick)
        if number > len(LONG) // 2:
            most = max(most, len(topics_in_memory(trial)))
            listed = max(listed, len(dict.keys(trial._work._book["contracts"].plans)))
    assert most <= 41
    assert listed <= 10
    assert len(trial.book) == len({raw for raw in LONG if b"_contract" in raw}) * 5 + 2
    assert len(topics_in_memory(trial)) <= 41  # looking at all of it brings nothing back


@proves("replay/put-away")
def test_blockers_alone_do_not_fill_the_memory_either() -> None:
    lines = lines_of(raw for raw in LONG if b"blocker_report" in raw)
    trial = forgetful(topics_max=10)
    answers(trial, lines, quick=True)
    assert len(topics_in_memory(trial)) <= 11
    assert len(trial.book) == len(lines) + 1


class Untouched:
    """Nothing is asked of it."""

    def put(self, things: object) -> bool:
        raise AssertionError

    get = each = items = put


@proves("replay/put-away")
def test_a_short_log_asks_nothing_of_the_disk() -> None:
    trial: Any = Untouched()
    trial = forgetful(trial, topics_max=1_000)
    assert len(answers(trial, lines_of(LONG), quick=True)) == len(LONG)
    assert trial.book


class Counting(TempTable):
    """Knows how often something has come back."""

    hits = 0

    def get(self, name: str) -> bytes | None:
        found = super().get(name)
        self.hits += found is not None
        return found


@proves("replay/put-away")
def test_what_a_team_has_in_hand_all_the_time_stays_in_memory() -> None:
    """However much that is. When it is over it goes, too."""
    away = Counting(BytesIO)
    trial = forgetful(away, topics_max=20)
    answers(trial, lines_of(LONG))
    assert len(topics_in_memory(trial)) <= 21
    came = []
    for number in range(12):
        round_ = [report(f"p{plan}", f"p{plan}-t1", f"r{number}-{plan}", status="failed") for plan in range(30)]
        answers(trial, lines_of(round_))
        came.append(away.hits)
    assert came[0] < came[1]
    assert came[-6:] == [came[-1]] * 6
    assert len(topics_in_memory(trial)) > 30
    answers(trial, lines_of(at_work(200, "q")))
    assert len(topics_in_memory(trial)) <= 21


# --- the disk ---------------------------------------------------------------------------------------------------------


def _no_file() -> Any:
    raise FileNotFoundError(2, "No usable temporary directory found")


@proves("replay/put-away-full")
@pytest.mark.parametrize("room", [None, 0, 1, 100, 5_000, 20_000])
def test_a_full_disk_does_not_end_a_replay(room: int | None) -> None:
    """What there was room for is found there, and the rest is in memory."""
    lines = lines_of([*LONG, *LATER])
    away = TempTable(_no_file if room is None else lambda: SmallDisk(room))
    little, much = forgetful(away, topics_max=20), Simulator()
    assert answers(little, lines, quick=True) == answers(much, lines, quick=True)
    assert len(topics_in_memory(little)) > 60
    assert same_book(little, much)


# --- how it is written down -------------------------------------------------------------------------------------------


@proves("replay/put-away")
@FEWER
@given(STORIES)
def test_every_state_is_read_again_as_it_was_written(acts: list[Any]) -> None:
    trial = Simulator(CheckPolicy(strict=False))
    answers(trial, [of_store(*one) for one in Story(MemoryStore(), strict=False).play(acts).events()])
    for topic, state in trial.book.items():
        if ":" in topic:
            again = unpacked(kind_of(topic), packed(state))
            assert again == state
            assert type(again) is type(state)
            assert repr(again) == repr(state).replace("mappingproxy({})", "{}")


@proves("replay/put-away")
@pytest.mark.parametrize("plan", [Plan("half a character: \ud800"), Plan("p", spent=1 << 80), Plan("p", done=NONE)])
def test_so_is_one_that_no_ordinary_message_has_made(plan: Plan) -> None:
    assert unpacked("plan", packed(plan)) == plan


PLANS, TASKS = st.sampled_from(["p", "q", "r", "\ud800"]), st.sampled_from(["t1", "t2", "t\ud801"])
LISTED = st.builds(
    PlanSummary,
    st.lists(st.sampled_from(["dev", "*"]), max_size=2).map(tuple),
    st.sampled_from(["lead", "dev"]),
    st.lists(TASKS, max_size=2).map(tuple),
    st.booleans(),
)


@proves("replay/put-away")
@given(st.lists(st.tuples(PLANS, LISTED) | st.lists(PLANS), max_size=14), st.lists(PLANS, max_size=3).map(tuple))
def test_a_list_of_contracts_that_plans_have_left_reads_as_if_they_had_not(acts: list[Any], likely: Any) -> None:
    away, all_ = TempTable(BytesIO), dict[str, PlanSummary]()
    shelved = PlanCache({}, away)
    for act in acts:
        if isinstance(act, tuple):
            all_[act[0]] = act[1]
            assert shelved.put(*act) is shelved
        else:
            assert away.put(shelved.leaving(act))
            shelved.leave(act)
            assert not dict.keys(shelved) & set(act)
        assert list(shelved.items()) == list(all_.items())
        assert (list(shelved), len(shelved), bool(shelved)) == (list(all_), len(all_), bool(all_))
        still_open = [(plan, one[:2]) for plan, one in all_.items() if not one.closed]
        assert [(plan, one[:2]) for plan, one in shelved.still_open.items()] == still_open
        for plan in ("p", "q", "never"):
            assert (plan in shelved, shelved.get(plan)) == (plan in all_, all_.get(plan))
        for task in ("t1", "t\ud801", "never"):
            known = tuple(dict.fromkeys(plan for plan in likely if plan in all_))
            assert shelved.having(task, known) == tuple(_having(all_, task, known))
            assert shelved.having(task, known * 9) == tuple(_having(all_, task, known * 9))


def _having(plans: dict[str, PlanSummary], task: str, likely: tuple[str, ...]) -> Iterator[str]:
    both = [plan for plan in likely if task in plans[plan].tasks]
    yield from both or [plan for plan, one in plans.items() if task in one.tasks]
