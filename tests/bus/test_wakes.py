"""Wakes of idle agents at the bus."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.delivery.wakes import (
    OUTSTANDING,
    RETRY_SECONDS,
    STAGES,
    WAKE_MOVES,
    WakeState,
    WakeStep,
    decide,
    fold,
    quiet_seconds,
)
from telex.errors import NotAMember
from telex.model.limits import LIMITS, Limits
from telex.model.message import WAKING, Event
from telex.ports.bus import Wake
from telex.ports.store import Query
from tests.bus.bus_team import OpenTeam, Team
from tests.proofs import proves


def delivered(team: Team, agent: str = "lead", **more: object) -> Wake:
    """Wake the agent once the grace is over."""
    team.bus.wake(agent)
    team.clock.leap(LIMITS.wake_grace_seconds)
    wake = team.bus.wake(agent, way="keys", **more)  # type: ignore[arg-type]
    assert wake.claimed, wake
    return wake


def recorded(team: Team) -> list[str]:
    return [event.kind for event, _ in team.bus.events(Query(kinds=WAKING))]


@proves("wake/collapse")
def test_a_hundred_messages_to_a_busy_agent_make_one_wake(team: Team) -> None:
    other = team.other()
    for number in range(100):
        team.note(f"note {number}")
        wakes = [bus.wake("lead") for bus in (team.bus, other)]
        assert [wake.stage for wake in wakes] == ["due", "due"]
    assert recorded(team) == ["wake-due"]
    assert (wakes[0].unread, wakes[1].number) == (100, wakes[0].number)
    team.clock.leap(2.0)
    assert other.wake("lead", way="keys").claimed
    assert [team.bus.wake("lead", way="keys").claimed for _ in range(3)] == [False] * 3
    assert recorded(team) == ["wake-due", "wake-delivered"]


@proves("wake/withdrawn")
@pytest.mark.parametrize("how", ["received", "acked", "read", "left"])
def test_what_was_read_before_wakes_nobody(team: Team, how: str) -> None:
    id_ = team.note()
    assert team.bus.wake("lead").stage == "due"
    if how == "read":
        team.bus.read(id_, agent="lead")
    elif how == "left":
        team.bus.join("lead", role="lead")
        team.bus.leave("lead")
    else:
        lease = team.take()
        if how == "acked":
            team.bus.ack(lease.token, agent="lead")
    team.clock.leap(2.0)
    wake = team.bus.wake("lead", way="keys")
    assert (wake.stage, wake.claimed, recorded(team)) == ("withdrawn", False, ["wake-due", "wake-withdrawn"])


@proves("wake/claimed-once")
def test_one_of_several_processes_delivers_a_wake(team: Team) -> None:
    team.note()
    team.bus.wake("lead")
    team.clock.leap(2.0)
    claims = [bus.wake("lead", way="keys").claimed for bus in (team.bus, team.other(), team.other())]
    assert claims == [True, False, False]


@proves("wake/seen")
@pytest.mark.parametrize("how", ["received", "read"])
def test_a_wake_is_seen_when_the_agent_looks(team: Team, how: str) -> None:
    id_ = team.note()
    delivered(team)
    assert team.bus.wake("lead").stage == "delivered"
    team.note("a second one, before it looks")
    assert team.bus.wake("lead").stage == "delivered"
    assert recorded(team) == ["wake-due", "wake-delivered"]
    if how == "read":
        team.bus.read(id_, agent="lead")
    else:
        team.take()
    assert team.bus.wake("lead").stage == "due"  # of the second one
    assert recorded(team) == ["wake-due", "wake-delivered", "wake-seen", "wake-due"]


@proves("wake/told")
def test_what_the_session_was_told_of_wakes_nobody(team: Team) -> None:
    team.note()
    newest = team.bus.wake("lead").newest
    team.clock.leap(2.0)
    assert team.bus.wake("lead", announced=newest, way="keys").stage == "withdrawn"
    assert team.bus.wake("lead", announced=newest, way="keys").claimed is False
    team.note("another")
    assert delivered(team, announced=newest).unread == 1


@proves("wake/told")
def test_a_delivered_wake_tells_of_its_messages_once(team: Team) -> None:
    team.note()
    delivered(team)
    team.clock.leap(LIMITS.wake_seen_seconds)
    assert team.bus.wake("lead", way="keys").stage == "withdrawn"
    assert recorded(team)[-1] == "wake-withdrawn"


@proves("wake/failed")
def test_a_failed_delivery_is_due_again(team: Team) -> None:
    team.note()
    delivered(team)
    failed = team.bus.wake("lead", way="keys", failed="no such pane")
    assert (failed.stage, failed.reason, failed.claimed, failed.unread) == ("due", "no such pane", False, 1)
    team.clock.leap(RETRY_SECONDS)
    assert team.other().wake("lead", way="socket").claimed
    reasons = [detail.get("reason") for detail in team.happened(*WAKING)]
    assert recorded(team) == ["wake-due", "wake-delivered", "wake-due", "wake-delivered"]
    assert reasons[2] == "no such pane"


@proves("wake/not-seen")
def test_a_wake_without_a_reaction_blocks_no_later_message(team: Team) -> None:
    team.note()
    delivered(team)
    team.note("another")
    team.clock.leap(LIMITS.wake_seen_seconds - 1.0)
    assert team.bus.wake("lead", way="keys").stage == "delivered"
    team.clock.leap(1.0)
    assert team.bus.wake("lead").stage == "due"
    assert recorded(team)[-2:] == ["wake-withdrawn", "wake-due"]


@proves("wake/other-session")
def test_a_new_session_is_woken_though_the_one_before_did_not_react(team: Team) -> None:
    team.note()
    delivered(team, session="claude:1")
    assert team.bus.wake("lead", session="claude:1").stage == "delivered"
    assert team.bus.wake("lead", session="claude:2").stage == "due"
    team.clock.leap(2.0)
    assert team.bus.wake("lead", session="claude:2", way="keys").claimed
    assert recorded(team) == ["wake-due", "wake-delivered", "wake-withdrawn", "wake-due", "wake-delivered"]


@proves("wake/grace")
def test_a_wake_waits_for_its_grace(open_team: OpenTeam) -> None:
    team = open_team(wake_grace_seconds=5.0)
    team.note()
    wake = team.bus.wake("lead", way="keys")
    assert (wake.stage, wake.claimed, wake.deliver_at) == ("due", False, team.clock.now() + 5.0)
    team.clock.leap(4.9)
    assert not team.bus.wake("lead", way="keys").claimed
    team.clock.leap(0.1)
    assert team.bus.wake("lead", way="keys").claimed


@proves("wake/budget")
def test_a_budget_bounds_the_wakes_of_an_hour(open_team: OpenTeam) -> None:
    team = open_team(wakes_per_hour_max=2)
    begin = team.clock.now()
    for _ in range(2):
        team.note()
        delivered(team)
        team.taken()
    team.note()
    wake = team.bus.wake("lead")
    assert (wake.stage, wake.reason, wake.deliver_at) == ("due", "budget", begin + 1.0 + 3600.0)
    team.clock.leap(3600.0)
    assert team.bus.wake("lead", way="keys").claimed


@proves("wake/budget")
def test_a_budget_of_zero_wakes_nobody(open_team: OpenTeam) -> None:
    team = open_team(wakes_per_hour_max=0)
    team.note()
    team.bus.wake("lead")
    team.clock.leap(10_000.0)
    wake = team.bus.wake("lead", way="keys")
    assert (wake.stage, wake.claimed, wake.deliver_at) == ("due", False, None)


@proves("wake/clock")
def test_a_clock_that_is_set_back_delays_no_wake() -> None:
    now, later = 1e9, 1e9 + 10 * 86_400.0  # a log of a wrong clock
    step = WakeStep("lead", now, 12.0, unread=(7,), way="keys")
    spent = tuple(later + second for second in range(LIMITS.wakes_per_hour_max))
    for state in (
        WakeState("due", 5, later),
        WakeState("due", 5, later, failed="?"),
        WakeState("due", delivered=spent),
    ):
        event = decide(state, step, LIMITS)
        assert event is not None
        assert event.kind == "wake-delivered"
        assert all(at <= now for at in fold(state, event).delivered)
    event = decide(WakeState("delivered", 5, later, newest=7), step, LIMITS)
    assert event is not None
    assert event.kind == "wake-withdrawn"


@proves("wake/quiet-hours")
@pytest.mark.parametrize(
    "begin, end, hour, quiet",
    [
        *[(22, 7, 23, 8), (22, 7, 3, 4), (22, 7, 7, 0), (22, 7, 12, 0), (12.5, 13, 12.5, 0.5), (12.5, 13, 12.25, 0)],
        *[(0, 0, 12, 0), (9, 9, 9, 0), (0, 24, 12, 0), (20, 24, 21, 3), (20, 24, 1, 0), (24, 6, 1, 5)],
    ],
)
def test_quiet_hours_end_at_their_hour(begin: float, end: float, hour: float, quiet: float) -> None:
    limits = Limits(wake_quiet_from_hour=begin, wake_quiet_until_hour=end)
    assert quiet_seconds(hour, limits) == quiet * 3600.0


@proves("wake/quiet-hours")
def test_no_wake_is_delivered_during_quiet_hours(open_team: OpenTeam) -> None:
    hour = time.localtime(open_team().clock.now()).tm_hour
    team = open_team(wake_quiet_from_hour=float(hour), wake_quiet_until_hour=float((hour + 2) % 24))
    team.note()
    team.bus.wake("lead")
    team.clock.leap(60.0)
    wake = team.bus.wake("lead", way="keys")
    assert (wake.stage, wake.reason, wake.claimed) == ("due", "quiet hours", False)
    assert wake.deliver_at is not None
    team.clock.leap(wake.deliver_at - team.clock.now())
    assert team.bus.wake("lead", way="keys").claimed


@proves("wake/force")
def test_a_forced_wake_waits_for_nothing(open_team: OpenTeam) -> None:
    team = open_team(wakes_per_hour_max=0, wake_quiet_until_hour=23.9)
    assert (wake := team.bus.wake("lead", way="keys", force=True)).stage == "none", wake
    team.note()
    assert team.bus.wake("lead", way="keys", force=True, announced=1000).claimed
    assert team.bus.wake("lead", way="keys", force=True).claimed
    assert recorded(team) == ["wake-due", "wake-delivered", "wake-withdrawn", "wake-due", "wake-delivered"]


@proves("wake/force")
def test_a_forced_wake_is_not_for_a_message_that_was_read(team: Team) -> None:
    team.bus.read(team.note(), agent="lead")
    assert team.bus.wake("lead", way="keys", force=True, announced=1000).stage == "none"


@proves("wake/record")
def test_the_history_of_a_message_has_its_wake(team: Team) -> None:
    team.note("an earlier one")
    id_ = team.note()
    delivered(team, by="human")
    events = [event for event in team.story(id_).events if event.kind in WAKING]
    assert [(event.kind, event.agent, event.inbox) for event in events] == [
        ("wake-due", "lead", "lead"),
        ("wake-delivered", "human", "lead"),
    ]
    assert [detail["unread"] for detail in team.happened(*WAKING)] == [2, 2]
    team.take()
    team.bus.wake("lead")
    assert team.kinds(id_)[-1] == "wake-seen"


def test_a_message_to_a_role_wakes_its_members(team: Team) -> None:
    team.bus.join("ada", role="qa")
    team.note(to="role:qa")
    assert team.bus.wake("ada").stage == "due"
    assert team.bus.wake("lead").stage == "none"


@proves("wake/withdrawn")
def test_a_delivered_wake_ends_when_another_agent_took_its_message(team: Team) -> None:
    for name in ("ada", "bob"):
        team.bus.join(name, role="qa")
    team.note(to="role:qa")
    delivered(team, "ada")
    team.take("bob")
    assert team.bus.wake("ada").stage == "withdrawn"


def test_a_look_joins_no_member_and_writes_nothing(team: Team) -> None:
    before = team.bus.awaitable.store.changes()  # type: ignore[attr-defined]
    assert team.bus.wake("lead", way="keys") == Wake("lead", "none")
    assert team.bus.awaitable.store.changes() == before  # type: ignore[attr-defined]
    with pytest.raises(NotAMember):
        team.bus.wake("a:b")


STEPS = st.lists(
    st.tuples(
        st.floats(0.0, 2_000.0),
        st.sets(st.integers(1, 30), max_size=5),
        st.booleans(),
        st.integers(0, 30),
        st.sampled_from([None, "keys"]),
        st.sampled_from([None, None, "broken"]),
        st.booleans(),
        st.sampled_from([None, "a", "b"]),
    ),
    max_size=40,
)


@proves("wake/moves")
@given(STEPS, st.integers(0, 3), st.sampled_from([(0.0, 0.0), (22.0, 7.0)]))
def test_wakes_keep_to_their_states_whatever_happens(
    steps: list[tuple[float, set[int], bool, int, str | None, str | None, bool, str | None]],
    budget: int,
    quiet: tuple[float, float],
) -> None:
    limits = Limits(wakes_per_hour_max=budget, wake_quiet_from_hour=quiet[0], wake_quiet_until_hour=quiet[1])
    state, now, events = WakeState(), 0.0, list[Event]()
    for passed, unread, has_looked, told, way, failed, force, session in steps:
        now += passed
        step = WakeStep("dev", now, now / 3600 % 24, sorted(unread), has_looked, told)
        step = step._replace(way=way, failed=failed, force=force, session=session)
        for _ in range(4):  # more events than any step has
            event = decide(state, step, limits)
            if event is None:
                break
            stage = STAGES[event.kind]
            assert stage in WAKE_MOVES[state.stage]
            if stage == "delivered":
                assert (bool(unread), way, failed) == (True, "keys", None)
                assert force or not quiet_seconds(step.hour, limits)
                assert force or len([at for at in state.delivered if at > now - 3600.0]) < budget
                assert event.message == max(unread)
            events.append(event._replace(seq=len(events) + 100))
            state = fold(state, events[-1])
            if stage == "delivered":
                break
            step = step._replace(has_looked=False)
        else:
            raise AssertionError("a step does not end")
    outstanding = [STAGES[event.kind] in OUTSTANDING for event in events]
    assert outstanding[:1] in ([], [True])
