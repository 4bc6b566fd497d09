"""Do the lists of long topics read as the tuples they stand for, and does a bus hand out tuples?"""

import json
from typing import Any, NamedTuple

import pytest

from telex.model.ordered_index import OrderedIndex
from telex.model.persistent_list import PersistentList
from telex.model.shutdown import TOPIC
from telex.model.task_states import TASK_STATES, TaskHistory, standing
from telex.model.tuple_view import TupleView
from tests.bus_team import Team, open_team, speech_of, team
from tests.proofs import proves
from tests.test_tasks import DEV, HEAD, move, tell

__all__ = ["open_team", "team"]


class Item(NamedTuple):
    id: str
    word: str = ""


ITEMS = (Item("a"), Item("b"), Item("a", "later"))


def gone_on_from() -> PersistentList[Item]:
    """A trail from which somebody else has gone on."""
    trail = PersistentList(ITEMS)
    assert len(trail.and_then(Item("c"))) == 4
    return trail


ROWS: dict[str, TupleView[Item]] = {
    "register": OrderedIndex(ITEMS),
    "own register": OrderedIndex(ITEMS).owned(),
    "trail": PersistentList(ITEMS),
    "trail gone on from": gone_on_from(),
}


@proves("work/long", "work/tuples")
@pytest.mark.parametrize("name", ROWS)
def test_a_row_reads_as_the_tuple_it_stands_for(name: str) -> None:
    row = ROWS[name]
    assert (tuple(row), tuple(reversed(row)), len(row)) == (ITEMS, ITEMS[::-1], 3)
    assert (row[0], row[-1], row[-2:], row[::-2]) == (ITEMS[0], ITEMS[2], ITEMS[1:], ITEMS[::-2])
    assert (type(row[:]), row[3:]) == (tuple, ())
    assert (row.index(ITEMS[1]), row.count(ITEMS[1]), ITEMS[1] in row) == (1, 1, True)
    assert repr(list(ITEMS)) in repr(row)
    for place in (3, -4):
        with pytest.raises(IndexError):
            row[place]


@proves("work/tuples")
@pytest.mark.parametrize("name", ROWS)
def test_a_row_is_equal_to_what_its_tuple_would_be_equal_to_and_found_by_it(name: str) -> None:
    row = ROWS[name]
    equal: tuple[Any, ...] = (ITEMS, *ROWS.values())
    for other in equal:
        assert row == other
        assert other == row
        assert {row: "found"}[other] == "found"
    others: tuple[Any, ...] = (ITEMS[1:], (*ITEMS, ITEMS[0]), list(ITEMS), "aba", (), None)
    for other in others:
        assert row != other
        assert other != row


@proves("work/long")
def test_two_who_go_on_from_the_same_place_do_not_meet_again() -> None:
    first = PersistentList([1])
    one, other = first.and_then(2), first.and_then(3)
    assert (list(first), list(one), list(other), list(one.and_then(4))) == ([1], [1, 2], [1, 3], [1, 2, 4])


@proves("work/tuples")
def test_what_a_bus_tells_of_a_task_is_hashed_and_written_as_json_like_any_tuple(team: Team) -> None:
    assert move(team, "pending", "assigned").accepted
    assert tell(team, "VALIDATION_REQUEST", sender=DEV, to=HEAD).accepted
    task = team.bus.work_state("task")["task:TASK-001"]
    assert (type(task.steps), type(task.asks)) == (tuple, tuple)
    assert [one[7] for one in json.loads(json.dumps(task))[3]] == [task.steps[0].whom]
    assert {task} == {task._replace(steps=TaskHistory(task.steps))}
    assert standing(TASK_STATES, task.steps).state == "assigned"
    assert move(team, "assigned", "planning").accepted
    assert (len(task.steps), len(team.bus.work_state("task")["task:TASK-001"].steps)) == (1, 2)


@proves("work/tuples")
def test_what_a_bus_tells_of_a_shutdown_is_written_as_json(team: Team) -> None:
    stop = speech_of("vbw-typed", "shutdown_request", "stop-1")
    assert team.bus.send(stop.raw, sender=stop.sender, to="dev").accepted
    [call] = json.loads(json.dumps(team.bus.work_state(TOPIC)[TOPIC]))[0]
    assert call[0] == "stop-1"
