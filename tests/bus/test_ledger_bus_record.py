"""The log: filters, followers, traces, export, retention; retries and dead letters."""

import json

import pytest

from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.schema import Dialect, MessageType
from telex.errors import NotFound
from telex.model.message import BRINGING, StoredMessage
from telex.ports.store import Query
from telex.validation.check import check
from tests.bus.bus_team import EVERY_TYPE, NOTE, OpenTeam, Shell, Team, each, every_dialect, flow, speech
from tests.proofs import proves


@proves("bus/log/record")
def test_the_log_has_a_record_of_each_message_sent_and_of_each_turn_with_it(team: Team, shell: Shell) -> None:
    raw = flow("STATUS_UPDATE", "s-1", "cto", "plan-manager")
    team.bus.send(raw, sender="cto")
    lease = team.take("plan-manager")
    team.later(1.5)
    team.bus.nack(lease.token, agent="plan-manager", reason="no table")
    lease = team.take("plan-manager", wait=10.0)
    team.later(0.25)
    team.bus.ack(lease.token, agent="plan-manager")
    team.bus.send(flow("STATUS_UPDATE", "s-2", "cto", "plan-manger"), sender="cto", check=False)
    lines = shell("log", "--json").answers
    assert [(line["direction"], line["agent"], line["result"], line["id"]) for line in lines] == [
        ("SENT", "cto", "SUCCESS", "s-1"),
        ("RECEIVED", "plan-manager", "ERROR", "s-1"),
        ("RECEIVED", "plan-manager", "SUCCESS", "s-1"),
        ("SENT", "cto", "ERROR", "s-2"),
    ]
    assert [line["processingTime"] for line in lines] == [0.0, 1500.0, 250.0, 0.0]
    assert [one["message"] for one in lines[:3]] == [json.loads(raw)] * 3
    assert lines[0]["timestamp"] == "2026-01-01T00:00:00.000Z"
    assert (lines[1]["reason"], lines[3]["reason"]) == ("no table", "recipient-unknown")


@proves("bus/log/filter")
@pytest.mark.parametrize(
    "query, ids",
    [
        (Query(agent="qa"), ["n-1"]),
        (Query(agent="plan-manager"), ["s-1"]),
        (Query(type="STATUS_UPDATE"), ["s-1"]),
        (Query(dialect="plain"), ["n-1", "n-2"]),
        (Query(correlation="TASK-001"), ["s-1"]),
        (Query(text="tables green"), ["n-2"]),
    ],
    ids=["sender", "recipient", "type", "dialect", "correlation", "text"],
)
def test_the_record_is_searched_by_agent_type_dialect_conversation_and_words(
    team: Team, query: Query, ids: list[str]
) -> None:
    team.note("The build is red.", sender="qa", id="n-1")
    team.bus.send(flow("STATUS_UPDATE", "s-1", "cto", "plan-manager"), sender="cto")
    team.note("All tables are green.", id="n-2")
    found = team.bus.events(query._replace(kinds=("accepted",)))
    assert [message.id for _, message in found if message] == ids


@proves("bus/log/filter")
def test_the_record_is_searched_by_time(team: Team) -> None:
    ids = []
    for _ in range(4):
        ids.append(team.note())
        team.later(10.0)
    began = team.clock.now() - 40.0
    between = Query(kinds=("accepted",), since=began + 10.0, until=began + 20.0)
    assert [message.id for _, message in team.bus.events(between) if message] == ids[1:3]


@proves("bus/log/export")
def test_a_record_taken_out_and_in_again_has_every_message_to_the_byte(team: Team, shell: Shell) -> None:
    sent = [b"The build is red.", b"\xff\xfe\x00", b"\xef\xbb\xbf{}\r\n", flow("DOC_QUERY", "q", "cto", "plan-manager")]
    for raw in sent:
        team.bus.send(raw, sender="cto", to="plan-manager", check=False)
    assert shell("log", "--export", "record.jsonl").code == 0
    team.path = team.path.with_name("another.db")
    assert shell("log", "--import", "record.jsonl", "--json").answer == {"messages": 4, "new": 4}
    there = team.other()
    assert [message.raw for _, message in there.events(Query(kinds=BRINGING)) if message] == sent
    assert there.receive("plan-manager") == []  # history is delivered to nobody


@proves("bus/log/follow")
def test_who_follows_the_record_sees_what_comes_next(team: Team) -> None:
    began, other = team.clock.now(), team.other()
    team.note(id="n-1")

    def meanwhile() -> None:
        if team.clock.now() >= began + 5.0:
            team.clock.meanwhile = None
            other.send(NOTE, sender="dev", to="lead", id="n-2")

    team.clock.meanwhile = meanwhile
    followed = team.bus.events(Query(kinds=("accepted",)), follow=True, wait=10.0)
    assert [message.id for _, message in followed if message] == ["n-1", "n-2"]
    assert team.clock.now() >= began + 15.0


@proves("bus/log/search")
def test_everything_kept_is_found_by_its_words_newest_first(team: Team) -> None:
    first, _, third = team.note("The build is red."), team.note("All is well."), team.note("A red build, again.")
    refused = team.bus.send('{"type": "no_such", "build": "red"}', sender="dev", to="lead", check=False).id
    assert [message.id for message in team.bus.search("red build")] == [refused, third, first]
    assert team.bus.search("blue build") == []


@proves("bus/log/trace")
@pytest.mark.parametrize("form", ["tree", "sequence", "mermaid", "svg"])
def test_a_conversation_is_shown_in_every_form_there_is(team: Team, shell: Shell, form: str) -> None:
    question = flow("VALIDATION_REQUEST", "q-1", "fullstack-developer", "cto")
    answer = flow("VALIDATION_RESPONSE", "a-1", "cto", "fullstack-developer", replyTo="q-1")
    team.bus.send(question, sender="fullstack-developer")
    team.taken("cto")
    team.bus.send(answer, sender="cto")
    ran = shell("trace", "TASK-001", "--format", form)
    assert ran.code == 0
    for word in ("VALIDATION_REQUEST", "VALIDATION_RESPONSE", "cto", "fullstack-developer"):
        assert word in ran.out


DAY = 86_400.0


def tidied(team: Team) -> None:
    """Let somebody look a few times: housekeeping goes in small steps."""
    for _ in range(6):
        team.later(2.0)


def is_kept(team: Team, id_: str) -> bool:
    try:
        return team.story(id_).message.id == id_
    except NotFound:
        return False


@proves("bus/retention/thirty-days")
def test_a_message_is_kept_and_found_for_thirty_days_and_then_gone(team: Team) -> None:
    id_ = team.note("The build is violet.")
    team.taken()
    team.later(30 * DAY - 60)
    tidied(team)
    assert is_kept(team, id_)
    assert [message.id for message in team.bus.search("violet")] == [id_]
    young = team.note()
    team.later(120)
    tidied(team)
    assert not is_kept(team, id_)
    assert team.bus.search("violet") == []
    told = team.bus.events(Query(kinds=("accepted", "leased", "acked")))
    assert [message.id if message else None for _, message in told] == [young]


@proves("bus/retention/setting")
def test_a_team_may_choose_how_long(open_team: OpenTeam) -> None:
    team = open_team(retention_seconds=60.0)
    id_ = team.note()
    team.taken()
    team.note()
    team.later(61.0)
    tidied(team)
    assert not is_kept(team, id_)


@proves("bus/retention/waiting")
@pytest.mark.parametrize("state", ["stored", "leased"])
def test_what_still_waits_is_never_pruned(team: Team, state: str) -> None:
    id_ = team.note()
    if state == "leased":
        team.take(lease=50 * DAY)
    team.later(40 * DAY)
    tidied(team)
    assert team.story(id_).state == state


@proves("bus/retention/waiting")
def test_a_request_is_never_pruned_before_its_answer_is_due(open_team: OpenTeam) -> None:
    team = open_team(request_seconds=60 * DAY)
    team.bus.send(flow("DOC_QUERY", "q-1", "cto", "plan-manager"), sender="cto")
    assert team.taken("plan-manager") == ["q-1"]
    team.later(40 * DAY)
    tidied(team)
    assert team.story("q-1").answer_by is not None


@proves("bus/retention/each-event")
def test_what_happened_late_to_a_message_is_kept_for_thirty_days_as_well(team: Team) -> None:
    id_ = team.note()
    team.later(40 * DAY)
    assert team.taken() == [id_]
    tidied(team)
    assert team.story(id_).state == "acked"
    team.later(29 * DAY)
    assert team.kinds(id_)[-1] == "acked"
    team.later(2 * DAY)
    tidied(team)
    assert not is_kept(team, id_)


@proves("bus/retention/each-event")
def test_a_letter_that_died_late_can_still_be_retried(team: Team) -> None:
    id_ = team.note()
    team.later(40 * DAY)
    team.fail()
    tidied(team)
    assert [message.id for _, message in team.bus.dead_letters()] == [id_]
    assert team.bus.retry(id_) == 1


@proves("bus/retention/small-steps")
def test_pruning_goes_in_small_steps(team: Team) -> None:
    for number in range(450):
        team.bus.send(b" ", sender="dev", to="lead", id=f"n-{number}", check=False)
    team.clock.leap(31 * DAY)
    left = []
    for _ in range(4):
        team.later(2.0)
        left.append(len(list(team.bus.events(Query(kinds=("refused",))))))
    assert left == [250, 50, 1, 1]  # the last event of a store stays, to count on from


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


def report_on(team: Team, dialect: Dialect, type_: MessageType) -> tuple[StoredMessage, StoredMessage]:
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
    assert "to ada failed" in team.take("dev").message.raw.decode()
    assert team.taken("bob") == [id_]


@proves("bus/report/build-flow")
def test_what_is_taken_back_because_its_recipient_left_is_reported_likewise(team: Team) -> None:
    team.bus.join("plan-manager")
    team.bus.send(flow("STATUS_UPDATE", "s-1", "cto", "plan-manager"), sender="cto")
    team.bus.leave("plan-manager")
    report = team.take("cto").message
    assert (check(report.raw).findings, report.type, report.reply_to) == ((), "ERROR_REPORT", "s-1")
    assert b"has left the team" in report.raw
