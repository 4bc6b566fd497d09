"""Does the beaten track know when a message means something to the work? Both ways side by side, with the rules on."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from telex.client import run_sync
from telex.delivery.validator_cache import OPENED_AFTER, ValidatorCache
from telex.stores.memory import MemoryStore
from telex.validation.check import STRICT
from tests.beaten_twins import BUILD_FLOW, OpenTwins, Twins, twins
from tests.proofs import proves

__all__ = ["twins"]

STATUS, UP = BUILD_FLOW.types["STATUS_UPDATE"], BUILD_FLOW.types["ESCALATION_REQUEST"]
DEVELOPER, LEADER = "fullstack-developer", "build-orchestrator"
WORDS = ("STARTED", "PROGRESS", "COMPLETED", "BLOCKED", "FAILED")


def status(number: int, word: str, sender: str = DEVELOPER, to: str = LEADER, task: str = "T1") -> bytes:
    payload = {"taskId": task, "status": word, "details": "so far", "blockers": ["no key"]}
    envelope = {"messageId": f"s-{number}", "from": sender, "to": to, "correlationId": task}
    return json.dumps(STATUS.example | envelope | {"payload": payload}).encode()


def handed_up(number: int, task: str = "T1") -> bytes:
    payload = UP.example["payload"] | {"taskId": task, "escalationLevel": "CTO"}
    envelope = {"messageId": f"up-{number}", "from": LEADER, "to": "cto", "correlationId": task}
    return json.dumps(UP.example | envelope | {"payload": payload}).encode()


def took_it(twin: Twins, number: int, word: str, **who: Any) -> bool:
    return twin.took_it(status(number, word, **who), sender=who.get("sender", DEVELOPER), to=who.get("to", LEADER))


def warmed(twin: Twins) -> Twins:
    for number in range(-OPENED_AFTER, 0):
        took_it(twin, number, "PROGRESS")
    return twin


def are_alike(twin: Twins) -> bool:
    """The record, and what the books make of it."""
    kinds = ("blocker", "blockers", "task", "escalation", "escalations")
    one, other = ({kind: run_sync(bus.work_state(kind)) for kind in kinds} for bus in twin.buses)
    return one == other and twin.are_alike()


def test_a_status_takes_the_beaten_track_unless_it_fails_or_is_blocked(twins: OpenTwins) -> None:
    twin = warmed(twins())
    assert [took_it(twin, number, word) for number, word in enumerate(WORDS[:3])] == [True] * 3
    assert not took_it(twin, 10, "FAILED")
    assert took_it(twin, 11, "PROGRESS")
    assert not took_it(twin, 12, "BLOCKED")
    assert are_alike(twin)


def test_a_task_that_goes_on_is_held_up_no_more(twins: OpenTwins) -> None:
    twin = warmed(twins())
    took_it(twin, 1, "BLOCKED")
    assert [held.what for held in twin.both("work_state", "blocker").values()] == ["no key"]
    took_it(twin, 2, "PROGRESS")
    assert list(twin.both("work_state", "blocker").values()) == [None]
    assert not took_it(twin, 3, "PROGRESS"), "from now on it is asked what it means"
    assert are_alike(twin)


@proves("escalation/answer/conversation")
def test_a_status_of_whom_a_matter_is_with_answers_it_on_either_way(twins: OpenTwins) -> None:
    twin, cto = twins(), {"sender": "cto", "to": LEADER}
    for number in range(OPENED_AFTER + 2):
        took_it(twin, number, "PROGRESS", **cto)
    assert twin.beaten
    assert twin.send(handed_up(1), sender=LEADER, to="cto").accepted
    assert [matter.id for matter in twin.both("escalations")] == ["up-1"]
    took_it(twin, 100, "PROGRESS", **cto)
    assert twin.both("escalations") == []
    assert are_alike(twin)


LANES = ValidatorCache(STRICT)  # once opened they stay open, so that few examples are spent on coming so far
WHO = st.sampled_from([(DEVELOPER, LEADER), ("cto", LEADER), (LEADER, DEVELOPER)])
TASKS = st.sampled_from(["T1", "T2"])
ACTS = st.one_of(
    st.tuples(st.just("status"), st.sampled_from(WORDS[:3]), WHO, TASKS),
    st.tuples(st.just("status"), st.sampled_from(WORDS), WHO, TASKS),
    st.tuples(st.just("up"), st.just(""), WHO, TASKS),
)


@given(st.lists(ACTS, max_size=25))
@example([("up", "", (LEADER, "cto"), "T1"), ("status", "STARTED", ("cto", LEADER), "T1")])
def test_whatever_is_told_the_books_are_the_same(acts: list[tuple[str, str, tuple[str, str], str]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        twin = Twins(patch, (MemoryStore(), MemoryStore()), STRICT)
        twin.buses[0]._context.validators = LANES
        for number, (what, word, (sender, to), task) in enumerate(acts):
            if what == "up":
                twin.send(handed_up(number, task), sender=LEADER, to="cto")
            else:
                twin.send(status(number, word, sender, to, task), sender=sender, to=to)
        assert are_alike(twin)
