"""What happens when a turn ends badly? More turns, later each time; then a dead letter, and a word to its sender."""

import json

import pytest

from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.schema import Dialect, MessageType
from telex.errors import NotFound
from telex.model.message import Message
from telex.validation.check import check
from tests.bus_team import EVERY_TYPE, NOTE, OpenTeam, Team, each, every_dialect, flow, open_team, speech, team
from tests.proofs import proves

__all__ = ["open_team", "team"]

HOUR = 3600.0
OTHERS = [(dialect, type_) for dialect, type_ in EVERY_TYPE if dialect is not BUILD_FLOW]


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


@proves("bus/attempts/from-the-expiry")
@pytest.mark.parametrize("look", ["inbox", "receive"])
def test_the_backoff_after_an_expired_lease_begins_when_it_expired_and_not_when_somebody_looks(
    team: Team, look: str
) -> None:
    id_ = team.note()
    for attempt in (1, 2, 3):
        team.clock.leap(HOUR)
        if look == "inbox":
            team.bus.inbox("lead")
        assert team.take().attempt == attempt
    team.clock.leap(HOUR)
    assert team.story(id_).state == "dead"


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
@each(OTHERS)
def test_in_other_dialects_the_sender_of_a_dead_letter_is_told_in_plain_words(
    team: Team, dialect: Dialect, type_: MessageType
) -> None:
    dead, report = report_on(team, dialect, type_)
    assert (report.dialect, report.sender, report.correlation) == ("plain", "telex", dead.correlation)
    assert dead.id in report.raw.decode()
    assert "no table" in report.raw.decode()


@proves("bus/report/priority")
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


@proves("bus/report/build-flow")
def test_what_is_taken_back_because_its_recipient_left_is_reported_likewise(team: Team) -> None:
    team.bus.join("plan-manager")
    team.bus.send(flow("STATUS_UPDATE", "s-1", "cto", "plan-manager"), sender="cto")
    team.bus.leave("plan-manager")
    report = team.take("cto").message
    assert (check(report.raw).findings, report.type, report.reply_to) == ((), "ERROR_REPORT", "s-1")
    assert b"has left the team" in report.raw
