"""Whose turn is it? Order within an inbox, leases, and how long a reader may keep a message."""

from collections.abc import Callable

import pytest

from telex.dialects.schema import Dialect, MessageType
from telex.errors import LeaseLost
from telex.model.message import MOVES, LeasedMessage
from tests.bus.bus_team import EVERY_TYPE, NOTE, OpenTeam, Team, every_dialect, every_type, flow, speech
from tests.proofs import proves
from tests.tables import VERSIONS

CLASSES = ("ESCALATION", "ERROR", "VALIDATION", "STATUS")
ON_THE_PAGE = {(table.name, row.type): row.priority for table in VERSIONS for row in table.rows}
ESCALATION, ERROR, VALIDATION, STATUS = "ESCALATION_REQUEST", "ERROR_REPORT", "VALIDATION_REQUEST", "STATUS_UPDATE"


def say(team: Team, type_: str, id: str) -> None:
    raw = flow(type_, id, "build-orchestrator", "cto")
    assert team.bus.send(raw, sender="build-orchestrator").accepted


# --- order ------------------------------------------------------------------------------------------------------------


@proves("bus/order/priority")
def test_a_higher_class_is_served_first_however_late_it_came(team: Team) -> None:
    for type_ in (STATUS, VALIDATION, ERROR, ESCALATION):
        say(team, type_, type_)
    assert team.taken("cto") == [ESCALATION, ERROR, VALIDATION, STATUS]


@proves("bus/order/priority")
def test_an_inbox_shows_what_waits_in_the_order_in_which_it_will_come(team: Team) -> None:
    for type_ in (STATUS, ESCALATION, VALIDATION, ERROR):
        say(team, type_, type_)
    assert team.inbox("cto") == [ESCALATION, ERROR, VALIDATION, STATUS]


@proves("bus/order/every-type")
@every_type
def test_a_type_is_served_between_the_class_above_its_own_and_the_class_below(
    team: Team, dialect: Dialect, type_: MessageType
) -> None:
    markers = (ESCALATION, ERROR, VALIDATION, STATUS)
    for marker in reversed(markers):
        raw = flow(marker, marker, "build-orchestrator", "human")
        assert team.bus.send(raw, sender="build-orchestrator").accepted
    said = team.say(speech(dialect, type_), "human")
    place = CLASSES.index(ON_THE_PAGE[dialect.name, type_.name]) + 1
    assert team.taken("human") == [*markers[:place], said.id, *markers[place:]]


@proves("bus/order/every-type")
def test_a_crowd_of_every_dialect_is_served_by_class_and_then_as_it_came(open_team: OpenTeam) -> None:
    team = open_team(work_rules=False)  # some answer or rest on what nobody has said
    sent = []
    for round_ in range(2):
        for dialect, type_ in reversed(EVERY_TYPE):
            id_ = f"{round_} {dialect.name} {type_.name}"
            given = {} if dialect.wire.id is not None else {"id": id_}
            receipt = team.say(speech(dialect, type_, id_), "human", **given)
            sent.append((CLASSES.index(ON_THE_PAGE[dialect.name, type_.name]), receipt.id))
    expected = [id_ for _, id_ in sorted(sent, key=lambda one: one[0])]
    assert len(expected) == 2 * len(EVERY_TYPE)
    assert team.taken("human") == expected


@proves("bus/order/habit")
@every_type
def test_the_tenth_message_between_two_agents_is_known_as_well_as_the_first(
    team: Team, dialect: Dialect, type_: MessageType
) -> None:
    for number in range(10):  # after a few of them a pair has a fast lane of its own
        team.say(speech(dialect, type_, f"n-{number}"), "human")
    kept = [message for _, message in team.bus.inbox("human")]
    known = {(one.dialect, one.type, one.rank, one.correlation, one.reply_to) for one in kept}
    assert (len(kept), len(known)) == (10, 1)
    if dialect.wire.id is not None:
        assert [one.id for one in kept] == [f"n-{number}" for number in range(10)]


@proves("bus/order/plain")
def test_text_that_nobody_typed_is_served_with_status(team: Team) -> None:
    say(team, STATUS, "first")
    note = team.note(sender="dev", to="cto")
    say(team, STATUS, "third")
    say(team, VALIDATION, "before them all")
    assert team.taken("cto") == ["before them all", "first", note, "third"]


@proves("bus/order/fifo")
@every_dialect
def test_messages_of_a_class_come_in_the_order_in_which_they_were_accepted(team: Team, dialect: Dialect) -> None:
    type_ = next(iter(dialect.types.values()))
    ids = [f"{number} of 12" for number in range(12)]  # more than it takes to open the fast lane
    for id_ in ids:
        given = {} if dialect.wire.id is not None else {"id": id_}
        team.say(speech(dialect, type_, id_), "human", **given)
    first = team.take("human").message.id
    rest = [one.message.id for one in team.bus.receive("human", limit=5)]
    assert [first, *rest, *team.taken("human")] == ids


@proves("bus/order/no-overtaking")
def test_a_stream_of_higher_classes_leaves_the_order_below_as_it_was(team: Team) -> None:
    for number in range(6):
        say(team, STATUS, f"status {number}")
        say(team, VALIDATION, f"validation {number}")
        say(team, ERROR, f"error {number}")
    taken = team.taken("cto")
    for name in ("error", "validation", "status"):
        assert [id_ for id_ in taken if id_.startswith(name)] == [f"{name} {number}" for number in range(6)]


@proves("bus/order/retry")
def test_what_was_given_back_comes_before_what_was_accepted_after_it(team: Team) -> None:
    first, second = team.note("first"), team.note("second")
    team.bus.nack(team.take().token, agent="lead", reason="not now")
    assert team.take().message.id == second
    third = team.note("third")
    team.later(2.0)
    assert team.taken() == [first, third]


@proves("bus/order/several-inboxes")
def test_a_reader_of_several_inboxes_is_served_by_class_across_them(team: Team) -> None:
    team.bus.join("cto")
    own = flow(STATUS, "own", "build-orchestrator", "cto")
    shared = flow(ESCALATION, "shared", "build-orchestrator", "cto")
    team.bus.send(own, sender="build-orchestrator")
    team.bus.send(shared, sender="build-orchestrator", to="role:cto")
    assert team.taken("cto") == ["shared", "own"]


# --- leases -----------------------------------------------------------------------------------------------------------


@proves("bus/lease/one-reader")
def test_a_message_in_one_readers_hands_is_offered_to_nobody_else(team: Team) -> None:
    team.bus.join("ada", role="qa")
    team.bus.join("bob", role="qa")
    team.note(to="role:qa")
    team.take("ada")
    assert team.other().receive("bob") == []
    assert team.bus.receive("ada") == []


@proves("bus/lease/deadline")
@pytest.mark.parametrize("asked, seconds", [(None, 60.0), (5.0, 5.0), (600.0, 600.0)])
def test_a_lease_runs_for_a_minute_or_for_as_long_as_was_asked(team: Team, asked: float | None, seconds: float) -> None:
    team.note()
    lease = team.take(lease=asked)
    assert lease.until == team.clock.now() + seconds
    team.later(seconds - 0.5)
    assert team.story(lease.message.id).state == "leased"
    team.later(0.5)
    assert team.story(lease.message.id).state == "stored"


@proves("bus/lease/extend")
def test_a_reader_may_keep_a_message_longer_as_often_as_it_says_so(team: Team) -> None:
    team.note()
    lease = team.take()
    for _ in range(10):
        team.later(50.0)
        assert team.bus.extend(lease.token, agent="lead") == team.clock.now() + 60.0
    assert team.bus.ack(lease.token, agent="lead")
    assert team.story(lease.message.id).deliveries[0].attempts == 1


@proves("bus/lease/expiry-counts")
def test_a_lease_that_runs_out_counts_as_an_attempt(team: Team) -> None:
    id_ = team.note()
    for attempt in (1, 2, 3):
        assert team.take(wait=60.0).attempt == attempt
        team.later(60.0)
    assert team.story(id_).state == "dead"
    assert team.kinds(id_) == ["accepted", "leased", "lease-expired", "leased", "lease-expired", "leased", "dead"]


@proves("bus/attempts/from-the-expiry")
@pytest.mark.parametrize("is_extended", [False, True])
@pytest.mark.parametrize("is_other_process", [False, True])
def test_a_reader_notices_the_expiry_of_a_lease_that_began_after_it_looked(
    open_team: OpenTeam, is_other_process: bool, is_extended: bool
) -> None:
    team = open_team(backoff_seconds=0.001)
    for name in ("ada", "bob"):
        team.bus.join(name, role="qa")
    id_ = team.note(to="role:qa")
    assert team.bus.receive("lead") == []  # reads the leases that there are
    holder = team.other() if is_other_process else team.bus
    [lease] = holder.receive("ada", lease=60.0 if is_extended else 0.1)
    if is_extended:
        assert team.bus.receive("lead") == []
        holder.extend(lease.token, agent="ada", seconds=0.1)
    team.clock.leap(0.2)
    assert [again.message.id for again in team.bus.receive("bob")] == [id_]


@proves("bus/lease/late")
@pytest.mark.parametrize("is_noticed", [False, True])
def test_an_ack_after_the_lease_expired_counts_while_nobody_else_has_the_message(team: Team, is_noticed: bool) -> None:
    id_ = team.note()
    late = team.take()
    team.clock.leap(3600.0)
    if is_noticed:
        assert team.story(id_).state == "stored"
    assert team.bus.ack(late.token, agent="lead") is True
    assert team.bus.ack(late.token, agent="lead") is False
    assert team.story(id_).state == "acked"
    assert team.bus.receive("lead") == []


@proves("bus/lease/late")
@pytest.mark.parametrize("is_noticed", [False, True])
def test_a_nack_after_the_lease_expired_counts_while_nobody_else_has_the_message(team: Team, is_noticed: bool) -> None:
    id_ = team.note()
    late = team.take()
    team.clock.leap(3600.0)
    if is_noticed:
        assert team.story(id_).state == "stored"
    delivery = team.bus.nack(late.token, agent="lead", reason="no table", delay=5.0)
    assert (delivery.state, delivery.due_at, delivery.attempts) == ("stored", team.clock.now() + 5.0, 1)
    assert team.happened("nacked")[0]["reason"] == "no table"
    with pytest.raises(LeaseLost):
        team.bus.ack(late.token, agent="lead")


def offered_again(team: Team, late: LeasedMessage) -> None:
    team.clock.leap(60.0)
    team.take(wait=10.0)


def done_by_another(team: Team, late: LeasedMessage) -> None:
    team.clock.leap(60.0)
    team.bus.ack(team.take(wait=10.0).token, agent="lead")


def given_back(team: Team, late: LeasedMessage) -> None:
    team.bus.nack(late.token, agent="lead", reason="no table")


def given_up(team: Team, late: LeasedMessage) -> None:
    given_back(team, late)
    for _ in range(2):
        team.take(wait=60.0)
        team.clock.leap(60.0)
    assert team.story(late.message.id).state == "dead"


def retried_by_a_person(team: Team, late: LeasedMessage) -> None:
    given_up(team, late)
    team.bus.retry(late.message.id)


def withdrawn(team: Team, late: LeasedMessage) -> None:
    team.bus.leave("lead")


@proves("bus/lease/lost")
@pytest.mark.parametrize("verb", ["ack", "nack", "extend"])
@pytest.mark.parametrize("end", [offered_again, done_by_another, given_back, given_up, retried_by_a_person, withdrawn])
def test_what_is_said_under_a_lease_that_is_lost_is_refused_and_changes_nothing(
    team: Team, verb: str, end: Callable[[Team, LeasedMessage], None]
) -> None:
    team.note()
    late = team.take()
    end(team, late)
    before = team.bus.why(late.message.id)
    reason = {"reason": "no table"} if verb == "nack" else {}
    with pytest.raises(LeaseLost) as refused:
        getattr(team.bus, verb)(late.token, agent="lead", **reason)
    assert refused.value.code == "lease-lost"
    assert team.bus.why(late.message.id) == before


@proves("bus/lease/extend")
def test_an_expired_lease_cannot_be_extended(team: Team) -> None:
    team.note()
    late = team.take()
    team.clock.leap(60.0)
    with pytest.raises(LeaseLost):
        team.bus.extend(late.token, agent="lead")
    assert team.bus.ack(late.token, agent="lead")


@proves("bus/lease/not-yours")
@pytest.mark.parametrize("verb", ["ack", "nack", "extend"])
def test_nobody_settles_the_lease_of_another(team: Team, verb: str) -> None:
    team.note()
    lease = team.take()
    reason = {"reason": "no table"} if verb == "nack" else {}
    with pytest.raises(LeaseLost):
        getattr(team.bus, verb)(lease.token, agent="qa", **reason)
    assert team.bus.ack(lease.token, agent="lead")


@proves("bus/lease/ack-twice")
def test_a_second_ack_is_told_so_and_changes_nothing(team: Team) -> None:
    id_ = team.note()
    lease = team.take()
    assert team.bus.ack(lease.token, agent="lead") is True
    before = team.bus.why(id_)
    assert team.bus.ack(lease.token, agent="lead") is False
    assert team.bus.why(id_) == before


@proves("bus/lease/ack-ends-it")
def test_what_was_acked_is_never_offered_again(team: Team) -> None:
    id_ = team.note()
    assert team.taken() == [id_]
    for _ in range(5):
        team.later(3600.0)
        assert team.other().receive("lead") == []
    assert MOVES["acked"] == frozenset()


@proves("bus/lease/wait")
def test_a_reader_that_waits_gets_what_comes_meanwhile(team: Team) -> None:
    other, began = team.other(), team.clock.now()

    def meanwhile() -> None:
        if team.clock.now() >= began + 7.0 and not other.inbox("lead"):
            other.send(NOTE, sender="dev", to="lead")

    team.clock.meanwhile = meanwhile
    [lease] = team.bus.receive("lead", wait=30.0)
    assert lease.message.raw == NOTE.encode()
    assert 7.0 <= team.clock.now() - began < 8.0


@proves("bus/lease/wait")
def test_a_reader_that_waited_in_vain_gets_nothing_and_no_error(team: Team) -> None:
    began = team.clock.now()
    assert team.bus.receive("lead", wait=30.0) == []
    assert 30.0 <= team.clock.now() - began < 30.1


@proves("bus/lease/several")
def test_a_reader_may_take_several_at_once_and_settle_each_by_itself(open_team: OpenTeam) -> None:
    team = open_team(receive_max=3)
    ids = [team.note(f"note {number}") for number in range(4)]
    first, second, third = team.bus.receive("lead", limit=100)
    assert [one.message.id for one in (first, second, third)] == ids[:3]
    team.bus.ack(second.token, agent="lead")
    team.bus.nack(third.token, agent="lead", reason="no table")
    assert [team.story(id_).state for id_ in ids] == ["leased", "acked", "stored", "stored"]
