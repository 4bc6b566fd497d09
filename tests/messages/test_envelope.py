"""Envelope of a typed message: what a send fills in, and what it leaves alone."""

import json
from typing import Any

import pytest

import telex
from telex.client import SyncBus
from telex.clock import SteadyClock
from telex.dialects.python_names import filled_fields
from telex.dialects.registry import VERSIONS
from telex.dialects.schema import ANY, BODY_KEY, Dialect, MessageType
from telex.errors import RequestTimedOut
from telex.http_client.bus import RemoteBus
from telex.http_client.transport import HttpQuery, HttpReply, RetryTransport
from telex.messages import class_of, envelope_value
from telex.messages.build_flow import DocQuery, StatusUpdate
from telex.messages.signal_md import Approval
from telex.messages.vbw_company import Escalation
from telex.messages.vbw_handoff import DevBlocker
from telex.messages.vbw_typed import ApprovalRequest, ApprovalResponse, ExecutionUpdate
from telex.model.finding import refusals
from telex.ports.bus import Receipt
from telex.protocol import encoded, plain
from telex.validation.check import STRICT, CheckPolicy, check
from tests.messages.messages_kit import keywords_of
from tests.proofs import proves

UPDATE: dict[str, Any] = {"plan_id": "P1", "task_id": "T1", "status": "partial", "commit": ""}
ASK: dict[str, Any] = {"subject": "More", "request_type": "scope_change", "evidence": "The plan"}
VBW: dict[str, Any] = {"phase": 1, "confidence": "high"}
ISSUE: dict[str, Any] = {"issue": "i", "evidence": [], "recommendation": "r", "severity": "minor"}
STARTED = StatusUpdate(task_id="T1", status="STARTED")


def tree_of(raw: bytes) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(raw)
    return tree


@proves("messages/envelope")
@pytest.mark.parametrize("dialect, type_", [(d, t) for d in VERSIONS for t in d.types.values()], ids=lambda v: v.name)
def test_a_message_without_the_fields_that_a_send_fills_passes_the_check(dialect: Dialect, type_: MessageType) -> None:
    kind = class_of(dialect, type_.name)
    values = keywords_of(kind.from_message({**type_.example, BODY_KEY: type_.body_example}))
    filled = filled_fields(dialect)
    given = {word: value for word, value in values.items() if kind._shape.keywords[word].attribute.wire not in filled}
    message = kind(**given)
    role = dialect.roles[0] if type_.senders == ANY else type_.senders[0]
    theirs = dialect.roles[-1] if type_.receivers == ANY else type_.receivers[0]
    theirs = dialect.chain.get(role, theirs) if type_.action == "escalate" else theirs
    raw = message.encode(sender="ada", role=role, to="bob", to_role=theirs, reply_to="m-1", correlation="T1")
    checked = check(raw, CheckPolicy(forced=dialect), as_role=role, as_name="ada", to_role=theirs, to_name="bob")
    assert [(finding.code, finding.path) for finding in refusals(checked.findings)] == []


@proves("messages/envelope")
def test_a_dialect_of_names_has_the_names_and_the_broadcast() -> None:
    tree = tree_of(STARTED.encode(sender="w1", to="lead", id="m-1", reply_to="m-0", now=0.0))
    del tree["payload"]
    assert tree == {
        "type": "STATUS_UPDATE", "messageId": "m-1", "correlationId": "T1", "timestamp": "1970-01-01T00:00:00.000Z",
        "from": "w1", "to": "lead", "version": "1.0", "replyTo": "m-0",
    }  # fmt: skip
    everyone = tree_of(STARTED.encode(sender="w1", to="*"))
    assert (everyone["to"], everyone["broadcast"]) == ("*", True)


@proves("messages/envelope")
def test_an_escalation_goes_one_step_up_unless_its_recipient_is_named() -> None:
    issue = Escalation(**ISSUE)
    assert tree_of(issue.encode(sender="w1", role="dev"))["to"] == "senior"
    assert tree_of(issue.encode(sender="w1", role="lead"))["to"] == "architect"
    named = tree_of(issue.encode(sender="dev", to="role:lead"))
    assert (named["from"], named["to"]) == ("dev", "lead")


@proves("messages/envelope")
def test_a_person_answers_under_a_role_that_may_answer() -> None:
    answer = ApprovalResponse(approved=True, reason="Yes", **VBW)
    tree = tree_of(answer.encode(sender="human", role="human", reply_to="ask-1"))
    assert tree["author_role"] in class_of("vbw-typed", "approval_response")._plan.type.senders
    assert tree["payload"]["request_id"] == "ask-1"


def test_an_unknown_keyword_of_encode_is_named() -> None:
    with pytest.raises(TypeError, match="sendr"):
        STARTED.encode(sender="w1", sendr="w2")  # type: ignore[call-arg]


@proves("messages/envelope-kept")
def test_set_fields_stay() -> None:
    own: dict[str, Any] = {
        "message_id": "own", "correlation_id": "own", "from_": "own", "to": "own", "reply_to": "own",
        "timestamp": "2026-01-01T00:00:00Z", "broadcast": False,
    }  # fmt: skip
    update = StatusUpdate(task_id="T1", status="STARTED", **own)
    raw = update.encode(sender="w1", to="*", id="m-1", reply_to="m-0", correlation="c", now=0.0)
    assert StatusUpdate.from_message(raw) == update


@proves("messages/conversation")
def test_the_conversation_is_that_of_the_send_or_the_task_or_the_message() -> None:
    query = DocQuery(query_type="SEARCH", topic="mail", keywords=[])
    assert tree_of(STARTED.encode(sender="w1", correlation="c-1"))["correlationId"] == "c-1"
    assert tree_of(STARTED.encode(sender="w1"))["correlationId"] == "T1"
    assert tree_of(query.encode(sender="w1", id="m-1"))["correlationId"] == "m-1"
    assert tree_of(ExecutionUpdate(**UPDATE, **VBW).encode(sender="dev"))["task"] == "T1"
    assert tree_of(ApprovalRequest(**ASK, **VBW).encode(sender="dev"))["task"] == ""


@proves("messages/conversation")
def test_a_message_may_name_its_conversation_itself() -> None:
    blocker = DevBlocker(task="T2", plan_id="P1", blocker="b", needs="n")
    own = StatusUpdate(task_id="T1", status="STARTED", correlation_id="c-9")
    assert [envelope_value(message, "correlation") for message in (blocker, own, STARTED, Approval())] == [
        "T2",
        "c-9",
        None,
        None,
    ]


# --- through a bus ---------------------------------------------------------------------------------------------------


@proves("messages/envelope-roster", "messages/envelope")
def test_roles_come_from_the_roster() -> None:
    with telex.connect("memory:") as bus:
        bus.join("w1", role="docs")
        bus.join("boss", role="lead")
        receipt = bus.send(ExecutionUpdate(**UPDATE, **VBW), sender="w1", to="boss")
        [leased] = bus.receive("boss")
        assert ExecutionUpdate.from_message(leased).author_role == "docs"
        bus.join("anna", role="senior")
        bus.join("paul", role="lead")
        receipt = bus.send(Escalation(**ISSUE), sender="anna", to="paul")
        tree = tree_of(bus.read(receipt.id, agent="paul").raw)
    assert (tree["from"], tree["to"]) == ("senior", "lead")


@proves("messages/envelope-roster")
def test_the_first_message_of_a_newcomer_has_its_role() -> None:
    with telex.connect("memory:") as bus:
        bus.join("lead")
        receipt = bus.send(ExecutionUpdate(**UPDATE, **VBW), sender="w1", role="docs", to="lead")
        assert tree_of(bus.read(receipt.id, agent="lead").raw)["author_role"] == "docs"


@proves("messages/retry")
def test_the_same_object_under_the_same_id_is_a_duplicate() -> None:
    with telex.connect("memory:") as bus:
        bus.join("lead")
        first, second, other = [bus.send(STARTED, sender="dev", to="lead", id=id_) for id_ in ("m-1", "m-1", None)]
    assert (first.duplicate, second.duplicate, other.duplicate) == (False, True, False)
    assert (second.id, other.id != "m-1") == ("m-1", True)


@proves("messages/envelope")
def test_a_request_takes_a_typed_message() -> None:
    with telex.connect("memory:") as bus:
        bus.join("lead")
        with pytest.raises(RequestTimedOut):
            bus.request(ApprovalRequest(**ASK, **VBW), sender="dev", to="lead", id="ask-1", timeout=0.0)
        [leased] = bus.receive("lead")
    assert (leased.message.id, ApprovalRequest.from_message(leased).author_role) == ("ask-1", "dev")


class RecordedWire:
    """A hub that accepts everything and answers no request."""

    def __init__(self) -> None:
        self.requests: list[HttpQuery] = []

    async def ask(self, request: HttpQuery) -> HttpReply:
        self.requests.append(request)
        if "request" in request.path:
            return HttpReply(424, encoded({"code": RequestTimedOut.code, "detail": "No reply.", "id": "m-1"}))
        return HttpReply(201, encoded(plain(Receipt(True, "m-1", "stored"))))

    def stream(self, *_: Any) -> Any:
        raise AssertionError("nothing is streamed")

    async def close(self) -> None: ...


@proves("messages/remote")
def test_a_hub_gets_the_same_bytes() -> None:
    wire, clock = RecordedWire(), SteadyClock()
    bus = SyncBus(RemoteBus.over(RetryTransport([wire], clock, "http://hub"), clock, STRICT))
    update = ExecutionUpdate(**UPDATE, **VBW)
    bus.send(update, sender="w1", role="docs", to="lead", id="m-1", correlation="c-1")
    with pytest.raises(RequestTimedOut):
        bus.request(update, sender="w1", role="docs", to="lead", id="m-1", correlation="c-1", timeout=1.0)
    local = update.encode(sender="w1", role="docs", to="lead", id="m-1", correlation="c-1")
    assert [request.body for request in wire.requests] == [local, local]
