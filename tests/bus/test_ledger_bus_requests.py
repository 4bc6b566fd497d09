"""Who asks gets an answer, or a word that none came: requests, their deadlines, and what happens when they pass."""

import json
from typing import Any

import pytest

from telex.dialects.builtin.vbw_typed import APPROVAL_REQUEST, VBW_TYPED
from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect, MessageType
from telex.dialects.write import write
from telex.errors import LeaseLost, Refused, RequestTimedOut
from telex.model.message import LeasedMessage
from telex.ports.bus import Receipt
from telex.validation.check import check
from tests.bus.bus_team import Speech, Team, codes, every_dialect, flow, speech
from tests.proofs import proves

DEV, CTO = "fullstack-developer", "cto"
MINUTES = 60.0
QUESTION = flow("VALIDATION_REQUEST", "q-1", DEV, CTO)
ANSWER = flow("VALIDATION_RESPONSE", "a-1", CTO, DEV, replyTo="q-1")
UNTHREADED = json.dumps({name: value for name, value in json.loads(ANSWER).items() if name != "replyTo"}).encode()


def ask(team: Team) -> str:
    assert team.bus.send(QUESTION, sender=DEV).accepted
    return "q-1"


def answer(team: Team, raw: bytes = ANSWER) -> Receipt:
    return team.other().send(raw, sender=CTO, check=False)


# --- request and response ---------------------------------------------------------------------------------------------


@proves("bus/pattern/request-response")
@pytest.mark.parametrize("raw", [ANSWER, UNTHREADED], ids=["by what it answers", "by its conversation"])
def test_an_answer_ends_the_waiting_of_its_request(team: Team, raw: bytes) -> None:
    ask(team)
    assert team.story("q-1").answer_by is not None
    assert answer(team, raw).accepted
    assert team.story("q-1").answer_by is None
    assert team.kinds("q-1") == ["accepted", "answered"]


@proves("bus/pattern/request-response")
@pytest.mark.parametrize(
    "raw",
    [
        flow("VALIDATION_RESPONSE", "a-2", CTO, DEV, replyTo="q-2"),
        UNTHREADED.replace(b"TASK-001", b"TASK-002"),
        flow("STATUS_UPDATE", "s-2", CTO, DEV),
    ],
    ids=["to another request", "of another conversation", "of another type"],
)
def test_what_does_not_answer_it_leaves_a_request_waiting(team: Team, raw: bytes) -> None:
    ask(team)
    answer(team, raw)  # to something that nobody has asked: refused, and the question waits on
    assert team.kinds("q-1") == ["accepted"]
    assert team.story("q-1").answer_by is not None


def asking(team: Team, reply: bytes, **more: Any) -> LeasedMessage | Receipt:
    """Ask and wait, while the other answers after three seconds."""
    began = team.clock.now()

    def meanwhile() -> None:
        if team.clock.now() >= began + 3.0:
            team.clock.meanwhile = None
            assert answer(team, reply).accepted

    team.clock.meanwhile = meanwhile
    return team.bus.request(QUESTION, sender=DEV, **more)


@proves("bus/request/waits")
@pytest.mark.parametrize("raw", [ANSWER, UNTHREADED], ids=["by what it answers", "by its conversation"])
def test_whoever_asks_and_waits_is_handed_the_answer(team: Team, raw: bytes) -> None:
    team.note(sender="dev", to=DEV)  # what else waits in its inbox stays there
    lease = asking(team, raw)
    assert isinstance(lease, LeasedMessage)
    assert (lease.message.id, lease.message.raw, lease.inbox) == ("a-1", raw, DEV)
    assert team.bus.ack(lease.token, agent=DEV)
    assert len(team.inbox(DEV)) == 1


@proves("bus/request/any-dialect")
@every_dialect
def test_a_request_may_be_in_any_dialect_and_be_answered_in_plain_words(team: Team, dialect: Dialect) -> None:
    said, began, other = speech(dialect, next(iter(dialect.types.values()))), team.clock.now(), team.other()

    def meanwhile() -> None:
        if team.clock.now() >= began + 3.0:
            team.clock.meanwhile = None
            [asked] = other.receive("human")
            assert other.send("Yes.", sender="human", to=said.sender, reply_to=asked.message.id).accepted

    team.clock.meanwhile = meanwhile
    lease = team.bus.request(said.raw, sender=said.sender, to="human")
    assert isinstance(lease, LeasedMessage)
    assert lease.message.raw == b"Yes."
    assert "answered" in team.kinds(lease.message.reply_to or "")


@proves("bus/request/who-answers")
@pytest.mark.parametrize(
    "to, answers, others",
    [("lead", ["lead"], ["ada", "zoe", "qa"]), ("role:lead", ["lead", "zoe"], ["ada"]), ("all:dev", ["ada"], ["zoe"])],
)
def test_only_those_asked_and_people_answer_a_request(
    team: Team, to: str, answers: list[str], others: list[str]
) -> None:
    for name, role in (("lead", "lead"), ("zoe", "lead"), ("ada", "dev"), ("dev", "dev")):
        team.bus.join(name, role=role)
    for number, name in enumerate([*others, *answers, "human"]):
        id_ = f"r-{number}"
        with pytest.raises(RequestTimedOut):
            team.bus.request("Which table?", sender="dev", to=to, id=id_, timeout=0.0)
        team.bus.receive(name, limit=9)
        receipt = team.bus.send("The old one.", sender=name, to="dev", reply_to=id_)
        settles = name not in others
        assert ("answered" in team.kinds(id_), [one.code for one in receipt.findings]) == (
            settles,
            [] if settles else ["request-not-answered"],
        )
        assert receipt.id in team.taken("dev")


@proves("bus/request/who-answers")
def test_an_answer_of_the_right_type_by_another_settles_nothing(team: Team) -> None:
    assert team.bus.send(flow("DOC_QUERY", "q-1", DEV, "plan-manager"), sender=DEV).accepted
    named = flow("DOC_RESPONSE", "d-1", CTO, DEV, replyTo="q-1")
    unnamed = named.replace(b"d-1", b"d-2").replace(b"replyTo", b"unnamed")
    assert all(team.bus.send(raw, sender=CTO).accepted for raw in (named, unnamed))
    assert team.kinds("q-1") == ["accepted"]
    asked = unnamed.replace(b"d-2", b"d-3").replace(b'"cto"', b'"plan-manager"')
    assert team.bus.send(asked, sender="plan-manager").accepted
    assert team.kinds("q-1") == ["accepted", "answered"]


@proves("bus/request/who-answers")
def test_whoever_asks_and_waits_is_not_handed_the_reply_of_another(team: Team) -> None:
    began, other = team.clock.now(), team.other()

    def meanwhile() -> None:
        if team.clock.now() >= began + 3.0:
            team.clock.meanwhile = None
            other.send("The wrong one.", sender="qa", to="dev", reply_to="r-1")
            other.send("The old one.", sender="lead", to="dev", reply_to="r-1")

    team.clock.meanwhile = meanwhile
    lease = team.bus.request("Which table?", sender="dev", to="lead", id="r-1")
    assert isinstance(lease, LeasedMessage)
    assert (lease.message.sender, lease.message.raw) == ("lead", b"The old one.")
    assert [message.sender for _, message in team.bus.inbox("dev")] == ["qa", "lead"]


@proves("build-flow/rule/correlation-differs")
def test_a_reply_in_another_conversation_is_warned_about(team: Team) -> None:
    ask(team)
    receipt = team.bus.send(flow("VALIDATION_RESPONSE", "a-1", CTO, DEV, "TASK-009", replyTo="q-1"), sender=CTO)
    [warning] = receipt.findings
    assert (receipt.accepted, warning.code, warning.severity) == (True, "correlation-differs", "warning")
    assert (warning.path, warning.expected, warning.found) == ("$.correlationId", "TASK-001", "TASK-009")


@proves("bus/request/refused")
def test_a_refused_request_is_told_at_once(team: Team) -> None:
    began = team.clock.now()
    with pytest.raises(Refused) as refused:
        team.bus.request(QUESTION, sender=CTO)
    assert (refused.value.receipt.accepted, codes(refused.value.findings)) == (False, ["role-claim-differs"])
    assert team.clock.now() == began


@proves("bus/request/times-out")
def test_whoever_waited_in_vain_is_told_and_a_late_answer_comes_to_its_inbox(team: Team) -> None:
    with pytest.raises(RequestTimedOut) as late:
        team.bus.request(QUESTION, sender=DEV, timeout=5.0)
    assert (late.value.code, late.value.id) == ("request-timed-out", "q-1")
    assert team.inbox(CTO) == ["q-1"]
    assert answer(team).accepted
    assert "a-1" in team.inbox(DEV)


# --- deadlines --------------------------------------------------------------------------------------------------------

ASKING = [
    pytest.param(dialect, type_, id=f"{dialect.name} {type_.name}")
    for dialect in BUILT_IN
    for type_ in dialect.types.values()
    if type_.reply is not None and dialect.wire.id is not None
]


def without_deadline(dialect: Dialect, type_: MessageType) -> Speech:
    """The type's example, which may name a deadline of its own."""
    made = speech(dialect, type_)
    made.tree.get(dialect.payload or "", {}).pop("deadline", None)
    return made._replace(raw=write(dialect, made.tree, type_.body_example).encode())


@proves("bus/deadline/five-minutes")
@pytest.mark.parametrize("dialect, type_", ASKING)
def test_an_answer_may_take_five_minutes(team: Team, dialect: Dialect, type_: MessageType) -> None:
    id_ = team.say(without_deadline(dialect, type_), "human").id
    assert team.story(id_).answer_by == team.clock.now() + 5 * MINUTES
    team.later(5 * MINUTES - 1)
    assert team.kinds(id_) == ["accepted"]
    team.later(1)
    assert team.kinds(id_) == ["accepted", "reply-overdue"]


@proves("bus/deadline/asked-again")
def test_a_request_that_was_read_and_not_answered_is_asked_again(team: Team) -> None:
    ask(team)
    assert team.taken(CTO) == ["q-1"]
    team.later(5 * MINUTES)
    assert team.kinds("q-1") == ["accepted", "leased", "acked", "reply-overdue", "request-repeated"]
    assert team.taken(CTO) == ["q-1"]


@proves("bus/deadline/asked-again")
def test_a_request_that_still_lies_in_the_inbox_is_not_put_there_twice(team: Team) -> None:
    ask(team)
    team.later(5 * MINUTES)
    assert team.inbox(CTO) == ["q-1"]


@proves("bus/deadline/expired")
@pytest.mark.parametrize("reads", [False, True], ids=["nobody reads it", "it is read and not answered"])
def test_after_the_third_deadline_a_request_has_expired(team: Team, reads: bool) -> None:
    ask(team)
    for wait in (5 * MINUTES, 2.0 + 5 * MINUTES, 4.0 + 5 * MINUTES):
        if reads:
            assert team.taken(CTO) == ["q-1"]
        assert team.story("q-1").answer_by == pytest.approx(team.clock.now() + wait)
        team.later(wait)
    kinds = team.kinds("q-1")
    assert (kinds.count("reply-overdue"), kinds.count("request-repeated")) == (3, 2 if reads else 0)
    assert (team.story("q-1").state, team.story("q-1").answer_by) == ("expired", None)
    assert team.bus.receive(CTO) == []


@proves("bus/deadline/expired")
def test_who_holds_an_expired_request_is_told_to_drop_it(team: Team) -> None:
    ask(team)
    team.later(5 * MINUTES)
    team.later(5 * MINUTES + 2)
    lease = team.take(CTO, lease=3600.0)
    team.later(5 * MINUTES + 4)
    with pytest.raises(LeaseLost):
        team.bus.ack(lease.token, agent=CTO)
    assert [delivery.state for delivery, _ in team.bus.dead_letters()] == ["expired"]


def expire(team: Team) -> None:
    for _ in range(3):
        team.later(6 * MINUTES)


@proves("bus/deadline/report", "bus/correlation/reports")
@pytest.mark.parametrize("reads", [False, True], ids=["nobody reads it", "it is read and not answered"])
def test_the_asker_gets_one_error_report_when_its_request_expires(team: Team, reads: bool) -> None:
    ask(team)
    for _ in range(3):
        if reads:
            team.taken(CTO)
        team.later(6 * MINUTES)
    report = team.take(DEV).message
    assert check(report.raw).findings == ()
    told = json.loads(report.raw)
    assert (told["type"], told["correlationId"], report.reply_to) == ("ERROR_REPORT", "TASK-001", "q-1")
    assert "q-1" in told["payload"]["errors"][0]["message"]
    assert team.bus.receive(DEV) == []


@proves("bus/deadline/report")
def test_an_asker_in_another_dialect_is_told_in_plain_words(team: Team) -> None:
    id_ = team.say(without_deadline(VBW_TYPED, APPROVAL_REQUEST), "lead").id
    expire(team)
    report = team.take("dev").message
    assert report.dialect == "plain"
    assert id_ in report.raw.decode()


@proves("bus/deadline/answered")
@pytest.mark.parametrize("after", [0, 1, 2])
def test_an_answer_in_time_ends_it_however_often_it_was_asked(team: Team, after: int) -> None:
    ask(team)
    for _ in range(after):
        team.later(6 * MINUTES)
    assert answer(team).accepted
    team.taken(CTO)
    expire(team)
    assert (team.story("q-1").state, team.kinds("q-1").count("reply-overdue")) == ("acked", after)
    assert "expired" not in team.kinds("q-1")
    assert team.taken(DEV) == ["a-1"]


@proves("bus/deadline/several-asked")
def test_a_deadline_holds_while_any_of_those_asked_may_still_answer(team: Team) -> None:
    for name in ("ada", "bob"):
        team.bus.join(name, role=CTO)
    team.bus.send(QUESTION, sender=DEV, to="all:cto")
    team.fail("ada")
    assert team.taken("bob") == ["q-1"]
    team.later(6 * MINUTES)
    assert "reply-overdue" in team.kinds("q-1")
