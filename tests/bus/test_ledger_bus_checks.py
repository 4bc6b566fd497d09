"""Does what arrives come out as it went in, and is it said what was found in it? Strict and lenient teams, refusals."""

import json
from typing import Any

import pytest

from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.schema import Dialect, MessageType
from telex.dialects.write import write
from telex.validation.check import check
from tests.bus.bus_team import (
    EVERY_TYPE,
    NOTE,
    OpenTeam,
    Team,
    codes,
    each,
    every_dialect,
    every_type,
    flow,
    speech,
    speech_of,
)
from tests.proofs import proves

TAG = '<teammate-message teammate_id="dev" color="blue">\n{}\n</teammate-message>'
OTHERS = [(dialect, type_) for dialect, type_ in EVERY_TYPE if dialect is not BUILD_FLOW]
FRAMES: dict[str, dict[str, Any]] = {
    "shutdown_request": {"requestId": "r-1", "from": "team-lead", "reason": "done"},
    "shutdown_response": {"request_id": "r-1", "approve": True},
    "plan_approval_request": {"requestId": "r-2", "from": "dev", "planContent": "1. look"},
    "plan_approval_response": {"request_id": "r-2", "approve": False, "content": "look twice"},
    "idle_notification": {"from": "dev", "timestamp": "2026-01-01T00:00:00Z", "idleReason": "available"},
}


def without_a_field(dialect: Dialect, type_: MessageType) -> bytes:
    """The type's example with its first required field gone, which no other dialect takes for its own."""
    said = speech(dialect, type_)
    inner = said.tree[dialect.payload] if dialect.payload else said.tree
    del inner[next(name for name, field in type_.fields.items() if field.required and name in inner)]
    return write(dialect, said.tree, type_.body_example).encode()


def only(team: Team, dialect: Dialect, **more: Any) -> Team:
    """The same team, reading nothing but this dialect."""
    team.bus = team.other(team.settings._replace(forced=dialect, **more))
    return team


# --- as it came -------------------------------------------------------------------------------------------------------


@proves("bus/bytes/delivered")
@every_type
def test_a_message_is_delivered_to_the_byte(team: Team, dialect: Dialect, type_: MessageType) -> None:
    said = speech(dialect, type_)
    receipt = team.say(said, "human")
    assert team.take("human").message.raw == said.raw
    assert team.story(receipt.id).message.raw == said.raw


@proves("bus/bytes/as-models-write")
@pytest.mark.parametrize(
    "around, code",
    [
        ("```json\n{}\n```\n", "fence-removed"),
        ("Here it is:\n\n{}\n\nDone.", "prose-removed"),
        ("\N{ZERO WIDTH NO-BREAK SPACE}{}", "byte-order-mark"),
        ("{}\r\n", "carriage-returns"),
        (TAG, "wrapper-removed"),
    ],
    ids=["fence", "prose", "byte order mark", "CRLF", "wrapper"],
)
@every_dialect
def test_what_was_put_around_a_message_is_said_and_kept(
    open_team: OpenTeam, dialect: Dialect, around: str, code: str
) -> None:
    team = open_team(dialect=dialect.name)
    said = speech(dialect, next(type_ for type_ in dialect.types.values() if not type_.decides))
    text = around.replace("{}", said.raw.decode().strip())
    raw = (text.replace("\r\n", "\n").replace("\n", "\r\n") if code == "carriage-returns" else text).encode()
    receipt = team.bus.send(raw, sender=said.sender, to="human")
    assert (receipt.accepted, receipt.dialect, receipt.type) == (True, dialect.name, said.type.name)
    assert (code, "note") in {(finding.code, finding.severity) for finding in receipt.findings}
    assert team.take("human").message.raw == raw
    assert code in json.dumps(team.happened("accepted"))


@proves("common/reading/typed-or-plain")
@pytest.mark.parametrize("strict", [True, False])
def test_what_can_be_seen_but_not_read_never_counts_and_its_sender_gets_the_message(
    open_team: OpenTeam, strict: bool
) -> None:
    team, said = open_team(strict=strict), speech_of("vbw-handoff", "dev_blocker")
    receipt = team.bus.send(said.raw.decode().replace("{", "{ /* urgent */", 1), sender="dev", to="lead", check=False)
    assert (receipt.accepted, receipt.type) == (not strict, "dev_blocker" if strict else None)
    assert "not-json" in {finding.code for finding in receipt.findings}
    assert team.bus.work_state("blocker") == {}
    if strict:
        assert (receipt.certain, json.loads(receipt.fixed or "")) == (True, said.tree)
        assert team.bus.send(receipt.fixed or "", sender="dev", to="lead").accepted
        assert team.bus.work_state("blocker") != {}


@proves("bus/bytes/refused-too")
@pytest.mark.parametrize("raw", [b"\xff\xfe\x00broken", b"\x00", b'{"type": "dev_blocker", "task": ', b" "])
def test_what_was_refused_is_kept_to_the_byte(team: Team, raw: bytes) -> None:
    receipt = team.bus.send(raw, sender="dev", to="lead", check=False)
    assert (receipt.accepted, receipt.state) == (False, "refused")
    story = team.story(receipt.id)
    assert (story.state, story.message.raw, story.deliveries) == ("refused", raw, ())
    assert [finding["code"] for finding in team.happened("refused")[0]["findings"]] == [
        finding.code for finding in receipt.findings
    ]


@proves("bus/bytes/plain")
@pytest.mark.parametrize("text", [NOTE, "# Plan\n\n- [ ] look", "{not json}", "żółć 🙂", "x" * 100_000])
def test_text_that_nobody_typed_is_delivered_as_it_is(team: Team, text: str) -> None:
    receipt = team.bus.send(text, sender="dev", to="lead")
    assert (receipt.accepted, receipt.dialect, receipt.type) == (True, "plain", None)
    assert team.take().message.raw == text.encode()


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "lenient"])
@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "wrapped"])
@pytest.mark.parametrize("name", [pytest.param(name, marks=proves(f"bus/control-frames/{name}")) for name in FRAMES])
def test_a_coding_tools_own_frame_passes_through_untouched(
    open_team: OpenTeam, name: str, wrapped: bool, strict: bool
) -> None:
    team = open_team(strict=strict)
    text = json.dumps({"type": name} | FRAMES[name])
    raw = (TAG.replace("{}", text) if wrapped else text).encode()
    receipt = team.bus.send(raw, sender="dev", to="lead")
    assert receipt.accepted
    assert codes(receipt.findings) == []
    assert team.take().message.raw == raw
    assert team.story(receipt.id).answer_by is None


# --- strict and lenient -----------------------------------------------------------------------------------------------


@proves("bus/strict/refused")
@every_type
def test_a_strict_team_refuses_what_is_malformed_and_delivers_nothing(
    team: Team, dialect: Dialect, type_: MessageType
) -> None:
    only(team, dialect)
    receipt = team.bus.send(
        without_a_field(dialect, type_), sender=speech(dialect, type_).sender, to="human", check=False
    )
    assert (receipt.accepted, receipt.to) == (False, ())
    assert "field-missing" in codes(receipt.findings)
    assert team.bus.receive("human") == []


@proves("bus/lenient/passes")
@every_type
def test_a_lenient_team_delivers_it_with_the_same_findings_on_record(
    team: Team, dialect: Dialect, type_: MessageType
) -> None:
    raw, sender = without_a_field(dialect, type_), speech(dialect, type_).sender
    refused = only(team, dialect).bus.send(raw, sender=sender, to="human", check=False)
    receipt = only(team, dialect, strict=False).bus.send(raw, sender=sender, to="human")
    assert (receipt.accepted, receipt.findings) == (True, refused.findings)
    assert team.take("human").message.raw == raw
    [logged] = team.happened("accepted")
    assert [one["code"] for one in logged["findings"]] == [finding.code for finding in refused.findings]


@proves("bus/lenient/passes")
def test_a_lenient_team_passes_what_its_sender_may_not_send(open_team: OpenTeam) -> None:
    team = open_team(strict=False)
    receipt = team.bus.send(speech_of("vbw-handoff", "qa_result").raw, sender="dev", to="lead")
    assert (receipt.accepted, codes(receipt.findings)) == (True, ["role-may-not-send"])
    assert team.happened("accepted")[0]["findings"][0]["code"] == "role-may-not-send"


@proves("bus/unknown-type/strict")
def test_a_strict_team_refuses_a_type_that_nobody_knows(team: Team) -> None:
    receipt = team.bus.send('{"type": "dev_blokker", "task": "t"}', sender="dev", to="lead", check=False)
    assert not receipt.accepted
    assert [(finding.code, finding.nearest) for finding in receipt.findings if finding.code == "type-unknown"] == [
        ("type-unknown", "dev_blocker")
    ]


@proves("bus/unknown-type/lenient")
def test_a_lenient_team_delivers_it_as_plain_text(open_team: OpenTeam) -> None:
    team = open_team(strict=False)
    raw = '{"type": "weather_report", "sky": "blue"}'
    receipt = team.bus.send(raw, sender="dev", to="lead")
    assert (receipt.accepted, receipt.dialect, receipt.type) == (True, "plain", None)
    assert team.take().message.raw == raw.encode()


@proves("bus/unknown-fields/delivered")
@every_type
def test_a_field_that_no_page_knows_is_passed_on_and_noted(team: Team, dialect: Dialect, type_: MessageType) -> None:
    said = speech(dialect, type_, mood="hopeful")
    receipt = team.say(said, "human")
    assert ("field-unknown", "$.mood", "note") in {
        (finding.code, finding.path, finding.severity) for finding in receipt.findings
    }
    assert b"hopeful" in team.take("human").message.raw


@proves("bus/unknown-fields/refused-by-choice")
@every_dialect
def test_a_team_may_choose_to_refuse_such_a_field(open_team: OpenTeam, dialect: Dialect) -> None:
    team = open_team(unknown_fields="refusal")
    said = speech(dialect, next(iter(dialect.types.values())), mood="hopeful")
    assert codes(team.bus.send(said.raw, sender=said.sender, to="human", check=False).findings) == ["field-unknown"]


@proves("bus/misdelivery")
@pytest.mark.parametrize("severity, accepted", [("warning", True), ("refusal", False)])
def test_a_role_not_meant_to_get_it_gets_it_with_a_warning_unless_a_team_refuses(
    open_team: OpenTeam, severity: str, accepted: bool
) -> None:
    team = open_team(misdelivery=severity)
    said = speech_of("vbw-typed", "qa_verdict")
    receipt = team.bus.send(said.raw, sender="qa", to="dev", check=False)
    assert receipt.accepted is accepted
    assert [(finding.code, finding.severity) for finding in receipt.findings] == [("role-may-not-receive", severity)]


# --- the answer to what was refused -----------------------------------------------------------------------------------


@proves("bus/refused/message-error")
@pytest.mark.parametrize("type_", BUILD_FLOW.types.values(), ids=lambda one: one.name)
@pytest.mark.parametrize("kind", ["MISSING_FIELD", "UNKNOWN_TYPE", "INVALID_FORMAT"])
def test_a_refused_build_flow_message_is_answered_with_a_message_error(
    team: Team, type_: MessageType, kind: str
) -> None:
    said = speech(BUILD_FLOW, type_, "m-1")
    raw = {
        "MISSING_FIELD": without_a_field(BUILD_FLOW, type_).replace(f"build-flow-{type_.name}".encode(), b"m-1"),
        "UNKNOWN_TYPE": speech(BUILD_FLOW, type_, "m-1", type="SOMETHING_ELSE").raw,
        "INVALID_FORMAT": speech(BUILD_FLOW, type_, "m-1", version="7").raw,
    }[kind]
    receipt = team.bus.send(raw, sender=said.sender, to="human", check=False)
    assert (receipt.accepted, receipt.id) == (False, "m-1")
    checked = check(receipt.answer or "")
    assert (checked.findings, checked.type) == ((), "MESSAGE_ERROR")
    told = json.loads(receipt.answer or "")
    assert (told["to"], told["correlationId"]) == (said.sender, said.tree["correlationId"])
    assert (told["payload"]["originalMessageId"], told["payload"]["errorType"]) == ("m-1", kind)
    assert all(
        finding.code in told["payload"]["details"] for finding in receipt.findings if finding.severity == "refusal"
    )


@proves("bus/refused/message-error")
@pytest.mark.parametrize("id_", ["x" * 128, "x" * 129, "a\nb", ""], ids=["longest", "too long", "two lines", "empty"])
def test_the_answer_is_a_good_message_whatever_the_refused_one_is_called(team: Team, id_: str) -> None:
    raw = flow("STATUS_UPDATE", "?", "cto", "plan-manager", version="7", messageId=id_)
    receipt = team.bus.send(raw, sender="cto", check=False)
    assert not receipt.accepted
    assert check(receipt.answer or "").findings == ()


@proves("bus/refused/message-error")
def test_what_the_bus_refuses_by_itself_is_answered_likewise(team: Team) -> None:
    raw = flow("STATUS_UPDATE", "m-1", "cto", "plan-manger")
    answer = json.loads(team.bus.send(raw, sender="cto", check=False).answer or "")
    assert (answer["type"], answer["payload"]["errorType"]) == ("MESSAGE_ERROR", "INVALID_FORMAT")
    assert "recipient-unknown" in answer["payload"]["details"]


@proves("bus/refused/message-error")
def test_a_message_without_a_type_is_answered_as_one_with_a_missing_field(team: Team) -> None:
    tree = {
        name: value
        for name, value in json.loads(flow("STATUS_UPDATE", "m-1", "cto", "human")).items()
        if name != "type"
    }
    answer = json.loads(team.bus.send(json.dumps(tree), sender="cto", check=False).answer or "")
    assert (answer["type"], answer["payload"]["errorType"]) == ("MESSAGE_ERROR", "MISSING_FIELD")


@proves("bus/refused/plain-words")
@each(OTHERS)
def test_in_other_dialects_it_is_answered_in_plain_words(team: Team, dialect: Dialect, type_: MessageType) -> None:
    only(team, dialect)
    receipt = team.bus.send(
        without_a_field(dialect, type_), sender=speech(dialect, type_).sender, to="human", check=False
    )
    assert receipt.answer is not None
    assert receipt.id in receipt.answer
    assert "field-missing" in receipt.answer
