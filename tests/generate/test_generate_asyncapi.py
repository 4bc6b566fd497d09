"""Is the AsyncAPI document one that other tools can read, and does it say who talks to whom?"""

import json
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.builtin.signal_md import SIGNAL_MD
from telex.dialects.builtin.vbw import VBW_COMPANY, VBW_HANDOFF
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.dialects.registry import BUILT_IN, PLAIN
from telex.dialects.schema import Dialect
from telex.generate.schemas import asyncapi
from tests.dialects.user_dialect import OWN

every_dialect = pytest.mark.parametrize("dialect", [*BUILT_IN, PLAIN, OWN], ids=lambda dialect: dialect.name)


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (found for name, found in value.items() if name == "$ref")
        yield from (found for inner in value.values() for found in references(inner))
    elif isinstance(value, list):
        yield from (found for inner in value for found in references(inner))


def resolved(document: dict[str, Any], reference: str) -> Any:
    return reduce(lambda inner, step: inner[step], reference.removeprefix("#/").split("/"), document)


@every_dialect
def test_the_document_keeps_to_the_official_schema(dialect: Dialect, asyncapi_schema: Path) -> None:
    official = json.loads(asyncapi_schema.read_text(encoding="utf-8"))
    Draft7Validator(official).validate(json.loads(json.dumps(asyncapi(dialect))))


@every_dialect
def test_every_reference_leads_somewhere(dialect: Dialect) -> None:
    document = asyncapi(dialect)
    assert all(resolved(document, reference) for reference in references(document))


@every_dialect
def test_an_operation_has_only_messages_of_its_channel(dialect: Dialect) -> None:
    document = asyncapi(dialect)
    for operation in document["operations"].values():
        for end in filter(None, (operation, operation.get("reply"))):
            channel = end["channel"]["$ref"]
            assert end["messages"]
            assert all(message["$ref"].startswith(f"{channel}/messages/") for message in end["messages"])


@every_dialect
def test_every_message_has_its_payload_class_and_an_example_that_fits(dialect: Dialect) -> None:
    messages = asyncapi(dialect)["components"]["messages"]
    assert list(messages) == list(dialect.types)
    for name, message in messages.items():
        Draft7Validator(message["payload"]).validate(message["examples"][0]["payload"])
        assert message["x-telex-priority"] == dialect.types[name].priority


def sends(dialect: Dialect) -> set[tuple[str, str]]:
    """Each operation that sends, with each message it may send."""
    return {
        (name, message["$ref"].rsplit("/", 1)[-1])
        for name, operation in asyncapi(dialect)["operations"].items()
        if operation["action"] == "send"
        for message in operation["messages"]
    }


def test_a_role_has_an_inbox_and_operations_for_what_it_may_send() -> None:
    document = asyncapi(VBW_TYPED)
    assert document["channels"]["inbox-lead"]["address"] == "inbox/lead"
    assert "execution_update" in document["channels"]["inbox-lead"]["messages"]
    assert {name for name in sends(VBW_TYPED) if name[0].startswith("dev-")} == {
        ("dev-tells-lead", "execution_update"),
        ("dev-tells-lead", "blocker_report"),
        ("dev-tells-lead", "shutdown_response"),
        ("dev-asks-lead-approval_request", "approval_request"),
        ("dev-asks-architect-approval_request", "approval_request"),
    }


def test_an_escalation_is_offered_one_step_up_only() -> None:
    escalations = {name for name, message in sends(VBW_COMPANY) if message == "escalation"}
    assert "dev-tells-senior" in escalations
    assert "architect-tells-human" in escalations
    assert "dev-tells-lead" not in escalations


def test_a_request_names_its_reply_and_where_it_arrives() -> None:
    operation = asyncapi(VBW_TYPED)["operations"]["dev-asks-architect-approval_request"]
    assert operation["reply"] == {
        "channel": {"$ref": "#/channels/inbox-dev"},
        "messages": [{"$ref": "#/channels/inbox-dev/messages/approval_response"}],
    }


def test_where_anyone_may_write_to_anyone_the_inbox_is_a_parameter() -> None:
    document = asyncapi(BUILD_FLOW)
    [channel] = document["channels"].values()
    assert channel["address"] == "inbox/{agent}"
    assert channel["parameters"]["agent"]["location"] == "$message.payload#/to"
    assert set(document["operations"]) == {
        "anyone-receives",
        "anyone-tells-anyone",
        "anyone-asks-anyone-VALIDATION_REQUEST",
        "anyone-asks-anyone-DOC_QUERY",
    }


def test_the_correlation_is_pointed_at_where_a_type_has_it() -> None:
    build_flow = asyncapi(BUILD_FLOW)["components"]["messages"]["DOC_QUERY"]
    assert build_flow["correlationId"] == {"location": "$message.payload#/correlationId"}
    handoff = asyncapi(VBW_HANDOFF)["components"]["messages"]
    assert handoff["dev_progress"]["correlationId"] == {"location": "$message.payload#/task"}
    assert "correlationId" not in handoff["debugger_report"]


def test_front_matter_is_said_to_be_markdown() -> None:
    document = asyncapi(SIGNAL_MD)
    assert document["defaultContentType"] == "text/markdown"
    assert "front matter" in document["components"]["messages"]["approval"]["description"]
