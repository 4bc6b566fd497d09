"""How does the log come out of events? What it says of each message, and nothing that did not happen."""

import json

import pytest

from telex.model.message import Event, NewMessage, StoredMessage
from telex.model.text import digest_of
from telex.record import InvalidLine, LogRecord, content_of, exported, imported, log_facts, records
from tests.proofs import proves

NOON = 1_769_860_800.0


def message(raw: bytes = b'{"type": "dev_blocker"}', **changes: object) -> StoredMessage:
    whole = StoredMessage(
        seq=1, id="m1", at=NOON, sender="dev", role="dev", to="lead", dialect="vbw-handoff", type="dev_blocker",
        rank=1, correlation="T1", reply_to=None, digest=digest_of(raw), raw=raw,
    )  # fmt: skip
    return whole._replace(**changes)  # type: ignore[arg-type]


def event(kind: str, at: float, agent: str = "lead", delivery: int | None = 7, **detail: object) -> Event:
    inbox = "lead" if delivery else None
    return Event(int(at), NOON + at, kind, agent, 1, delivery, inbox, json.dumps(detail) if detail else None)


def log_of(*events: Event) -> list[LogRecord]:
    return list(records((event, message()) for event in events))


@proves("build-flow/log/record")
def test_a_message_sent_and_taken_gives_two_records_in_the_words_of_the_page() -> None:
    sent, received = log_of(
        event("accepted", 0, "dev", None, took=1.25),
        event("leased", 10, until=NOON + 70, attempt=1),
        event("acked", 12.5),
    )
    facts = log_facts(sent)
    assert {name: facts[name] for name in list(facts)[:6]} == {
        "timestamp": "2026-01-31T12:00:00.000Z",
        "direction": "SENT",
        "agent": "dev",
        "message": {"type": "dev_blocker"},
        "processingTime": 1.25,
        "result": "SUCCESS",
    }
    facts = log_facts(received)
    assert (facts["direction"], facts["agent"], facts["result"]) == ("RECEIVED", "lead", "SUCCESS")
    assert facts["processingTime"] == 2500.0


@pytest.mark.parametrize("kind", ["nacked", "lease-expired", "dead"])
def test_a_turn_that_ended_badly_is_an_error_with_its_reason(kind: str) -> None:
    [record] = log_of(event("leased", 0), event(kind, 3, reason="no table"))
    assert (record.direction, record.result, record.reason) == ("RECEIVED", "ERROR", "no table")
    assert record.processing_ms == 3000.0


def test_a_refused_message_is_an_error_of_its_sender_with_the_codes() -> None:
    findings = [{"code": "not-one-of"}, {"code": "field-missing"}, {"code": "not-one-of"}]
    [record] = log_of(event("refused", 0, "dev", None, took=2.0, findings=findings))
    assert (record.direction, record.agent, record.result) == ("SENT", "dev", "ERROR")
    assert record.reason == "not-one-of, field-missing"


def test_a_time_that_is_not_known_is_not_made_up() -> None:
    [record] = log_of(event("acked", 3))
    assert record.processing_ms is None
    assert log_facts(record)["processingTime"] is None


def test_each_delivery_has_a_time_of_its_own() -> None:
    found = log_of(
        event("leased", 0, delivery=7), event("leased", 1, delivery=8), event("acked", 5, delivery=8), event("acked", 6)
    )
    assert [record.processing_ms for record in found] == [4000.0, 6000.0]


def test_other_events_and_events_of_no_message_leave_no_record() -> None:
    others = [event(kind, 1) for kind in ("read", "extended", "duplicate", "joined", "pruned", "retried")]
    assert list(records([*((one, message()) for one in others), (event("acked", 2), None)])) == []


def test_a_detail_that_is_nonsense_is_passed_over() -> None:
    for detail in ("{", "[]", "3", "[" * 100_000):
        [record] = log_of(event("accepted", 0, "dev", None)._replace(detail=detail))
        assert record.processing_ms is None


def test_what_is_no_object_is_logged_as_text() -> None:
    assert content_of(message(b"Good morning").raw) == "Good morning"
    assert content_of(message(b"[1]").raw) == "[1]"
    assert content_of(message(b"\xff").raw) == "\\xff"


# --- out and in -------------------------------------------------------------------------------------------------------


def line(raw: bytes, **changes: object) -> bytes:
    return json.dumps(exported(event("accepted", 0, "dev", None), message(raw, **changes))).encode()


@proves("build-flow/log/export")
@pytest.mark.parametrize("raw", [b'{"a": 1}', "ünï\u202e\r\n\x1b".encode(), b"\xff\x00\xfe", b""])
def test_every_byte_comes_back(raw: bytes) -> None:
    [entry] = imported([line(raw)])
    assert isinstance(entry, NewMessage)
    assert (entry.raw, entry.digest, entry.kind, entry.inboxes) == (raw, digest_of(raw), "imported", ())
    assert (entry.id, entry.at, entry.sender, entry.correlation) == ("m1", NOON, "dev", "T1")


def test_a_refused_message_comes_back_refused_with_what_was_found() -> None:
    findings = [{"code": "not-one-of", "path": "$.status"}]
    refused = event("refused", 0, "dev", None, findings=findings)
    [entry] = imported([json.dumps(exported(refused, message(b"{}", refused=True))).encode()])
    assert isinstance(entry, NewMessage)
    assert (entry.kind, json.loads(entry.detail or "")) == ("refused", {"findings": findings})


def test_a_refusal_whose_detail_is_nonsense_is_named() -> None:
    facts = exported(event("refused", 0, "dev", None), message(b"{}", refused=True)) | {"detail": [3]}
    assert list(imported([json.dumps(facts).encode()])) == [InvalidLine(1, "detail must be an object")]


def test_events_that_bring_no_message_name_it_and_are_passed_over_when_read() -> None:
    acked = exported(event("acked", 1), message())
    assert (acked["id"], "message" in acked) == ("m1", False)
    assert list(imported([json.dumps(acked).encode(), b"\n"])) == [None]


@pytest.mark.parametrize(
    "changed, told",
    [
        ({"rank": 4}, "message.rank is from 0 to 3"),
        ({"rank": True}, "message.rank must be a number"),
        ({"id": 3}, "message.id must be text"),
        ({"dialect": 3}, "message.dialect must be text"),
        ({"at": "noon"}, "message.at must be a number"),
        ({"at": 1e18}, "message.at is in seconds"),
        ({"at": float("nan")}, "message.at is in seconds"),
        ({"raw": "another"}, "do not match its digest"),
        ({"raw": None, "raw_base64": "%%%"}, ""),
    ],
    ids=str,
)
def test_a_line_that_was_tampered_with_is_named(changed: dict[str, object], told: str) -> None:
    facts = json.loads(line(b"Good morning"))
    facts["message"] |= changed
    [_, flaw] = imported([line(b"fine"), json.dumps(facts).encode()])
    assert isinstance(flaw, InvalidLine)
    assert flaw.line == 2
    assert told in flaw.say
