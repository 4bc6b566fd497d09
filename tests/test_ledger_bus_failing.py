"""What happens when a turn ends badly, when a message comes twice, and when an inbox is full?"""

import json

import pytest

from telex.dialects.build_flow import BUILD_FLOW
from telex.dialects.registry import BUILT_IN
from telex.dialects.spec import Dialect, MessageType
from telex.errors import NotFound
from telex.flow.admission import check
from telex.model.limits import LIMITS
from telex.model.message import Message
from tests.bus_team import (
    EVERY_TYPE,
    NOTE,
    OpenTeam,
    Team,
    codes,
    every_dialect,
    every_type,
    flow,
    open_team,
    speech,
    team,
)
from tests.proofs import proves

__all__ = ["open_team", "team"]

HOUR = 3600.0
OTHERS = [case for case in EVERY_TYPE if case.values[0] is not BUILD_FLOW]


# --- attempts ---------------------------------------------------------------------------------------------------------


@proves("bus/attempts/three")
@every_dialect
def test_a_message_is_offered_three_times_and_then_no_more(team: Team, dialect: Dialect) -> None:
    id_ = team.say(speech(dialect, next(iter(dialect.types.values()))), "human").id
    for attempt in (1, 2, 3):
        lease = team.take("human", wait=60.0)
        assert (lease.message.id, lease.attempt) == (id_, attempt)
        team.bus.nack(lease.token, agent="human", reason="no table")
    team.later(HOUR)
    assert team.bus.receive("human") == []
    assert team.story(id_).state == "dead"


@proves("bus/attempts/backoff")
def test_each_wait_for_the_next_attempt_is_twice_the_last(open_team: OpenTeam) -> None:
    team = open_team(attempts_max=6)
    team.note()
    waits = []
    for _ in range(5):
        delivery = team.bus.nack(team.take(wait=300.0).token, agent="lead", reason="no table")
        waits.append(delivery.due_at - team.clock.now())
        team.clock.leap(waits[-1] - 0.001)
        assert team.bus.receive("lead") == []
        team.clock.leap(0.002)
    assert waits == pytest.approx([2.0, 4.0, 8.0, 16.0, 32.0])


@proves("bus/attempts/backoff")
def test_after_a_lapse_the_wait_grows_likewise(team: Team) -> None:
    id_ = team.note()
    waits = []
    for _ in range(2):
        team.take(wait=60.0)
        team.later(60.0)
        waits.append(team.story(id_).deliveries[0].due_at - team.clock.now())
    assert waits == pytest.approx([2.0, 4.0])


@proves("bus/attempts/delay")
def test_a_reader_may_say_when_the_next_attempt_is_due(team: Team) -> None:
    id_ = team.note()
    team.bus.nack(team.take().token, agent="lead", reason="at night", delay=5 * HOUR)
    team.later(5 * HOUR - 1)
    assert team.bus.receive("lead") == []
    team.later(1)
    assert team.taken() == [id_]


@proves("bus/attempts/dead-letter")
def test_a_dead_letter_is_listed_until_somebody_deals_with_it(team: Team) -> None:
    id_ = team.note()
    team.fail()
    team.later(7 * 24 * HOUR)
    [(delivery, message)] = team.bus.dead_letters()
    assert (delivery.state, delivery.attempts, message.id, message.raw) == ("dead", 3, id_, NOTE.encode())
    assert team.happened("dead")[0]["reason"] == "no table"


@proves("bus/attempts/retry")
def test_a_person_may_give_a_dead_letter_another_three_attempts(team: Team) -> None:
    id_ = team.note()
    team.fail()
    assert team.bus.retry(id_) == 1
    assert team.bus.dead_letters() == []
    team.fail()
    assert team.kinds(id_).count("leased") == 6
    assert team.story(id_).state == "dead"


@proves("bus/attempts/drop")
def test_a_person_may_drop_a_dead_letter_and_it_stays_in_the_record(team: Team) -> None:
    id_ = team.note()
    team.fail()
    assert team.bus.drop(id_, reason="no longer needed") == 1
    assert team.bus.dead_letters() == []
    assert (team.story(id_).state, team.kinds(id_)[-1]) == ("withdrawn", "dropped")
    with pytest.raises(NotFound):
        team.bus.drop(id_, reason="again")


# --- the report to the sender -----------------------------------------------------------------------------------------


def report_on(team: Team, dialect: Dialect, type_: MessageType) -> tuple[Message, Message]:
    """Let a message die. It, and what its sender is told."""
    said = speech(dialect, type_)
    id_ = team.say(said, "human").id
    team.fail("human")
    return team.story(id_).message, team.take(said.sender).message


@proves("bus/report/build-flow", "bus/correlation/reports")
@pytest.mark.parametrize("type_", BUILD_FLOW.types.values(), ids=lambda one: one.name)
def test_in_build_flow_the_sender_of_a_dead_letter_gets_an_error_report(team: Team, type_: MessageType) -> None:
    dead, report = report_on(team, BUILD_FLOW, type_)
    checked = check(report.raw)
    assert (checked.findings, checked.dialect, checked.type) == ((), BUILD_FLOW, "ERROR_REPORT")
    told = json.loads(report.raw)
    said = json.loads(dead.raw)["correlationId"]
    assert (told["correlationId"], told["to"], told["payload"]["severity"]) == (said, dead.sender, "ERROR")
    assert (report.correlation, report.reply_to) == (said, dead.id)
    [error] = told["payload"]["errors"]
    assert dead.id in error["message"]
    assert "no table" in error["message"]


@proves("bus/report/others", "bus/correlation/reports")
@pytest.mark.parametrize("dialect, type_", OTHERS)
def test_in_other_dialects_the_sender_of_a_dead_letter_is_told_in_plain_words(
    team: Team, dialect: Dialect, type_: MessageType
) -> None:
    dead, report = report_on(team, dialect, type_)
    assert (report.dialect, report.sender, report.correlation) == ("plain", "telex", dead.correlation)
    assert dead.id in report.raw.decode()
    assert "no table" in report.raw.decode()


@proves("bus/report/class")
@every_dialect
def test_a_report_is_served_as_an_error(team: Team, dialect: Dialect) -> None:
    said = speech(dialect, next(iter(dialect.types.values())))
    team.say(said, "human")
    team.note(sender="human", to=said.sender)
    team.fail("human")
    assert [message.sender for _, message in team.bus.inbox(said.sender)] == ["telex", "human"]


@proves("bus/report/once")
def test_a_death_is_reported_once_and_the_death_of_a_report_to_nobody(team: Team) -> None:
    team.note()
    team.fail()
    other = team.other()
    for _ in range(3):
        team.later(60.0)
        other.sweep()
    [report] = team.inbox("dev")
    team.fail("dev")
    assert team.story(report).state == "dead"
    assert [presence.waiting for presence in team.bus.roster()] == [0, 0]


@proves("bus/report/each-recipient")
def test_a_broadcast_that_dies_in_one_inbox_is_reported_for_that_one(team: Team) -> None:
    for name in ("ada", "bob"):
        team.bus.join(name, role="qa")
    id_ = team.note(to="all:qa")
    team.fail("ada")
    assert "to ada was given up" in team.take("dev").message.raw.decode()
    assert team.taken("bob") == [id_]


# --- the same id ------------------------------------------------------------------------------------------------------


def with_id(dialect: Dialect, type_: MessageType) -> tuple[bytes, str, dict[str, str]]:
    """A message under an id of its own, or one given at the door where the dialect has none."""
    said = speech(dialect, type_, "n-1")
    return said.raw, said.sender, {} if dialect.wire.id is not None else {"id": "n-1"}


@proves("bus/same-id/once")
@every_type
def test_the_same_message_again_within_an_hour_is_acknowledged_and_ignored(
    team: Team, dialect: Dialect, type_: MessageType
) -> None:
    raw, sender, given = with_id(dialect, type_)
    assert team.bus.send(raw, sender=sender, to="human", **given).duplicate is False
    team.later(HOUR - 1)
    again = team.other().send(raw, sender=sender, to="human", **given)
    assert (again.accepted, again.duplicate, again.id) == (True, True, "n-1")
    assert len(team.bus.why("n-1")) == 1
    assert team.inbox("human").count("n-1") == 1


@proves("bus/same-id/told")
def test_a_repetition_is_told_how_the_first_one_stands_and_seen_in_its_story(team: Team) -> None:
    id_ = team.note(id="n-1")
    team.taken()
    again = team.bus.send(NOTE, sender="dev", to="lead", id=id_)
    assert (again.duplicate, again.state) == (True, "acked")
    assert team.kinds(id_) == ["accepted", "leased", "acked", "duplicate"]
    assert team.bus.receive("lead") == []


@proves("bus/same-id/after-an-hour")
def test_after_an_hour_the_same_id_is_a_new_message(team: Team) -> None:
    team.note(id="n-1")
    team.later(HOUR + 1)
    assert team.bus.send(NOTE, sender="dev", to="lead", id="n-1").duplicate is False
    assert team.taken() == ["n-1", "n-1"]


@proves("bus/same-id/reused")
@every_type
def test_the_same_id_with_other_bytes_is_refused(team: Team, dialect: Dialect, type_: MessageType) -> None:
    raw, sender, given = with_id(dialect, type_)
    assert team.bus.send(raw, sender=sender, to="human", **given).accepted
    other = raw + b"\n"
    refused = team.bus.send(other, sender=sender, to="human", **given)
    assert (refused.accepted, codes(refused.findings)) == (False, ["id-reused"])
    assert [(one.state, one.message.raw) for one in team.bus.why("n-1")] == [("stored", raw), ("refused", other)]
    assert team.inbox("human") == ["n-1"]


@proves("bus/same-id/refused-before")
def test_a_refused_message_does_not_use_up_its_id(team: Team) -> None:
    wrong = flow("STATUS_UPDATE", "s-1", "cto", "plan-manager", version="9")
    right = flow("STATUS_UPDATE", "s-1", "cto", "plan-manager")
    assert not team.bus.send(wrong, sender="cto").accepted
    assert team.bus.send(right, sender="cto")[:2] == (True, "s-1")


@proves("bus/same-id/at-the-door")
def test_a_message_with_an_id_of_its_own_is_given_no_other(team: Team) -> None:
    raw = flow("STATUS_UPDATE", "s-1", "cto", "plan-manager")
    assert codes(team.bus.send(raw, sender="cto", id="s-2").findings) == ["id-differs"]
    assert team.bus.send(raw, sender="cto", id="s-1").id == "s-1"


@proves("bus/same-id/made")
def test_a_message_without_an_id_gets_one_that_nobody_else_has(team: Team) -> None:
    assert len({team.note() for _ in range(50)}) == 50
    assert len(team.taken()) == 50


# --- full inboxes -----------------------------------------------------------------------------------------------------


@proves("bus/backpressure/limit")
def test_ten_thousand_messages_may_wait_unless_a_team_says_otherwise() -> None:
    assert LIMITS.inbox_max == 10_000


@proves("bus/backpressure/refused")
@pytest.mark.parametrize("dialect", [*BUILT_IN, None], ids=lambda one: one.name if one else "plain")
def test_a_full_inbox_refuses_and_says_so(open_team: OpenTeam, dialect: Dialect | None) -> None:
    team = open_team(inbox_max=3)
    for _ in range(3):
        team.note(to="human")
    type_ = next(iter(dialect.types.values())) if dialect else None
    raw, sender = speech(dialect, type_)[4:1:-2] if dialect and type_ else (NOTE.encode(), "dev")
    for bus in (team.bus, team.other()):
        refused = bus.send(raw, sender=sender, to="human")
        assert (refused.accepted, codes(refused.findings)) == (False, ["inbox-full"])
        assert refused.findings[-1].found == "human"
    assert len(team.inbox("human")) == 3
    assert team.note(to="lead")


@proves("bus/backpressure/all-or-nothing")
def test_a_broadcast_is_kept_for_all_or_for_none(open_team: OpenTeam) -> None:
    team = open_team(inbox_max=1)
    for name in ("ada", "bob", "zoe"):
        team.bus.join(name, role="qa")
    team.note(to="bob")
    assert codes(team.bus.send(NOTE, sender="dev", to="all:qa").findings) == ["inbox-full"]
    assert [len(team.inbox(name)) for name in ("ada", "bob", "zoe")] == [0, 1, 0]


@proves("bus/backpressure/room-again")
def test_an_inbox_takes_messages_again_when_some_were_dealt_with(open_team: OpenTeam) -> None:
    team = open_team(inbox_max=2)
    team.note()
    team.note()
    lease = team.take()
    assert codes(team.bus.send(NOTE, sender="dev", to="lead").findings) == ["inbox-full"]  # it may still come back
    team.bus.ack(lease.token, agent="lead")
    assert team.note()
