"""Can tools that speak CloudEvents send messages and receive them, without knowing anything else of Telex?"""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import telex
from telex.model.message import LeasedMessage, StoredMessage
from telex.surfaces.http.cloudevents import BATCH as MANY
from telex.surfaces.http.cloudevents import EVENT as ONE
from telex.surfaces.http.cloudevents import ReceivedEvent, event_of, event_of_lease, read_event
from tests.bus.bus_team import speech_of
from tests.proofs import proves
from tests.surfaces.surfaces_kit import SECONDS_MAX, Hub, hub

__all__ = ["hub"]  # a fixture

EVENT = {"specversion": "1.0", "id": "n-1", "source": "dev", "type": "telex.plain", "subject": "lead", "data": "Hello."}
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def client(hub: Hub) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=hub.url, trust_env=False, timeout=SECONDS_MAX) as found:
        yield found


def sent(client: httpx2.Client, event: Any, kind: str = ONE, **more: Any) -> httpx2.Response:
    body = event if isinstance(event, bytes) else json.dumps(event).encode()
    return client.post("/send", content=body, headers={"content-type": kind}, **more)


# --- in ---------------------------------------------------------------------------------------------------------------


@proves("cloudevents/in")
def test_a_message_in_an_event_is_kept_as_it_was_written(client: httpx2.Client, hub: Hub) -> None:
    spoken = speech_of("vbw-handoff", "dev_blocker")
    data = json.dumps(spoken.tree, indent=3).replace('"type"', ' "type" ')
    head = {name: EVENT[name] for name in ("specversion", "source", "subject")}
    more = {"id": "b-1", "type": "anything", "replyto": "q-1", "extension": 7}
    body = json.dumps(head | more)[:-1] + ',\n "data" :  ' + data + "\n}"
    answer = sent(client, body.encode(), f"{ONE}; charset=utf-8")
    assert answer.status_code == 201, answer.text
    assert (answer.json()["id"], answer.json()["type"]) == ("b-1", "dev_blocker")
    with telex.connect(hub.url) as bus:
        [(_, message)] = bus.inbox("lead")
    assert (message.raw, message.sender, message.to, message.reply_to) == (data.encode(), "dev", "lead", "q-1")
    again = sent(client, body.encode())
    assert (again.status_code, again.json()["duplicate"]) == (200, True)


@proves("cloudevents/media-type")
@pytest.mark.parametrize("end", ["", "; charset=utf-8", ";CHARSET=UTF-8", " ; a=b; charset=utf-8"])
def test_a_media_type_is_known_however_it_is_written(client: httpx2.Client, end: str) -> None:
    one, many = "Application/CloudEvents+JSON" + end, "APPLICATION/cloudevents-batch+json" + end
    assert sent(client, EVENT | {"id": "e-1"}, one).json()["id"] == "e-1"
    assert sent(client, EVENT | {"id": "e-2"}, one).json()["accepted"]
    assert client.get("/messages/e-1", headers={"accept": one}).headers["content-type"] == ONE
    came = client.post("/receive", json={"agent": "lead", "limit": 2}, headers={"accept": many})
    assert came.headers["content-type"] == MANY
    assert {event["data"] for event in came.json()} == {EVENT["data"]}


@proves("cloudevents/text")
@pytest.mark.parametrize(
    "data, raw",
    [
        ({"data": {"a": [1, 2.50]}}, b'{"a": [1, 2.5]}'),
        ({"data": "Grüße\n", "datacontenttype": "text/plain"}, "Grüße\n".encode()),
        ({"data_base64": base64.b64encode(b"\xff\x00").decode()}, b"\xff\x00"),
        ({"data": "x", "data_base64": None}, b"x"),
        ({"data": 7}, b"7"),
    ],
)
def test_data_may_be_an_object_text_or_base64(data: dict, raw: bytes) -> None:
    event = {name: value for name, value in EVENT.items() if name != "data"} | data
    found = read_event(json.dumps(event).encode())
    assert isinstance(found, ReceivedEvent), found
    assert found.raw == raw


def lacking(name: str) -> dict:
    return {key: value for key, value in EVENT.items() if key != name}


@proves("cloudevents/findings")
@pytest.mark.parametrize(
    "event, told",
    [
        ({}, {("field-missing", f"$.{name}") for name in ("id", "source", "specversion", "type", "data")}),
        *(
            (lacking(name), {("field-missing", f"$.{name}")})
            for name in ("id", "source", "specversion", "type", "data")
        ),
        (EVENT | {"specversion": "0.3"}, {("not-one-of", "$.specversion")}),
        (EVENT | {"id": 7, "subject": ["lead"]}, {("wrong-type", "$.id"), ("wrong-type", "$.subject")}),
        (EVENT | {"id": "", "type": ""}, {("text-empty", "$.id"), ("text-empty", "$.type")}),
        (EVENT | {"id": None}, {("field-missing", "$.id")}),
        (EVENT | {"data_base64": "eA=="}, {("field-unknown", "$.data_base64")}),
        (lacking("data") | {"data_base64": "!"}, {("wrong-type", "$.data_base64")}),
        (lacking("data") | {"data_base64": 7}, {("wrong-type", "$.data_base64")}),
        (EVENT | {"correlationId": "c"}, {("field-unknown", "$.correlationId")}),
        (EVENT | {"reply_to": "c"}, {("field-unknown", "$.reply_to")}),
    ],
)
def test_everything_that_is_wrong_with_an_event_is_told(event: dict, told: set) -> None:
    found = read_event(json.dumps(event).encode())
    assert isinstance(found, tuple)
    assert not isinstance(found, ReceivedEvent)
    assert {(one.code, one.path) for one in found} == told
    assert all(one.say for one in found)


@proves("cloudevents/findings")
def test_a_refused_event_is_a_problem_document_and_nothing_is_kept(client: httpx2.Client) -> None:
    answer = sent(client, EVENT | {"correlationId": "c", "specversion": "2"})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    found = {one["code"]: one for one in answer.json()["findings"]}
    assert found["field-unknown"]["nearest"] == "correlationid"
    assert found["not-one-of"]["expected"] == "1.0"
    assert client.get("/events").json()["answer"] == []


@proves("cloudevents/hostile")
@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"7", b"null", b'"x"', b"\xff\xfe", b"{}{}", b"[" * 100_000, b'{"id": 1, "id": 2}', b'{"a":NaN}',
     b'{"data": ' + b"[" * 50_000, b'{"id": "\\ud800"}', b'{"\\u0000": 1}', b'{"specversion": 1e999}'],
    ids=lambda body: repr(body[:12]),
)  # fmt: skip
def test_what_is_no_event_is_refused_with_findings(client: httpx2.Client, body: bytes) -> None:
    answer = sent(client, body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["findings"]


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(sorted(EVENT)), inner)))  # fmt: skip  # noqa: E501
def test_no_tree_makes_the_reader_stumble(tree: Any) -> None:
    body = json.dumps(tree).encode()
    assert isinstance(read_event(body), ReceivedEvent | tuple)


def test_what_the_page_shows_is_taken(client: httpx2.Client) -> None:
    page = (Path(__file__).parents[2] / "docs/http.md").read_text(encoding="utf-8")
    event = page.split("CloudEvents 1.0", 1)[1].split("-d '", 1)[1].split("'\n", 1)[0]
    assert sent(client, event.encode()).status_code == 201


def test_other_formats_of_events_are_refused(client: httpx2.Client) -> None:
    assert sent(client, EVENT, "application/cloudevents+avro").status_code == 415
    assert sent(client, [EVENT], MANY).status_code == 415


@proves("cloudevents/identity")
def test_the_source_is_held_against_who_is_asking(client: httpx2.Client) -> None:
    unknown = sent(client, EVENT | {"source": "xyzzy"}, params={"role": "wizard"})
    assert (unknown.status_code, unknown.json()["code"]) == (422, "role-unknown")
    two = sent(client, EVENT, params={"sender": "lead"})
    assert (two.status_code, two.json()["code"]) == (400, "arguments-wrong")
    assert sent(client, EVENT | {"source": "ada%20l"}, params={"role": "dev"}).status_code == 201
    assert client.get("/messages/n-1").json()["answer"][-1]["message"]["sender"] == "ada-l"


@proves("cloudevents/identity")
def test_an_event_under_another_name_than_the_token_s_is_refused(client: httpx2.Client, hub: Hub) -> None:
    shown = {"authorization": f"Bearer {hub.token('ada', 'dev')}"}
    answer = client.post("/send", json=EVENT, headers=shown | {"content-type": ONE})
    assert (answer.status_code, answer.json()["code"]) == (403, "identity-differs")
    own = client.post("/send", json=EVENT | {"source": "ada"}, headers=shown | {"content-type": ONE})
    assert own.status_code == 201


@proves("cloudevents/id-differs")
def test_an_id_that_differs_from_that_of_the_data_is_refused(client: httpx2.Client) -> None:
    spoken = speech_of("build-flow", "STATUS_UPDATE", "own-1")
    answer = sent(client, EVENT | {"source": spoken.sender, "subject": None, "data": spoken.tree})
    assert answer.status_code == 422
    [finding] = [finding for finding in answer.json()["findings"] if finding["code"] == "id-differs"]
    assert "own-1" in finding["say"]


# --- out --------------------------------------------------------------------------------------------------------------


@proves("cloudevents/out")
def test_what_is_received_comes_as_events_that_can_be_settled(client: httpx2.Client) -> None:
    spoken = speech_of("vbw-handoff", "dev_blocker")
    sent(client, EVENT | {"data": spoken.tree, "id": "b-1", "replyto": "q-1"})
    sent(client, EVENT | {"id": "n-2"})
    answer = client.post("/receive", json={"agent": "lead", "limit": 5}, headers={"accept": MANY})
    assert answer.headers["content-type"] == MANY
    first, second = sorted(answer.json(), key=lambda one: str(one["id"]))
    assert (first["type"], first["source"], first["subject"], first["id"], first["replyto"]) == (
        "telex.vbw-handoff.dev_blocker", "dev", "lead", "b-1", "q-1",
    )  # fmt: skip
    assert (first["datacontenttype"], first["data"]) == ("application/json", spoken.tree)
    assert (second["datacontenttype"], second["data"]) == ("text/plain", "Hello.")
    assert client.post("/ack", json={"token": first["token"], "agent": "lead"}).json() == {"answer": True}
    assert client.post("/receive", json={"agent": "lead"}, headers={"accept": ONE}).json() == []
    refused = client.post("/receive", json={"agent": "xyzzy", "role": "wizard"}, headers={"accept": ONE})
    assert (refused.status_code, refused.json()["code"]) == (403, "role-unknown")


@proves("cloudevents/trace")
def test_the_trace_of_an_event_goes_out_with_its_message(client: httpx2.Client) -> None:
    assert sent(client, EVENT | {"traceparent": TRACE}).status_code == 201
    answer = client.get("/messages/n-1", headers={"accept": ONE})
    assert answer.headers["content-type"] == ONE
    assert (answer.json()["traceparent"], answer.json()["id"], answer.json()["data"]) == (TRACE, "n-1", "Hello.")
    settled = client.get("/messages/n-1/settled?sender=dev&until=acked&timeout=0", headers={"accept": ONE})
    assert settled.json()["state"] == "stored"


def kept(raw: bytes, **more: Any) -> StoredMessage:
    plain = StoredMessage(2, "n-1", 1.8e9, "dev", "dev", "lead", None, None, 3, None, None, b"", raw)
    return plain._replace(**more)


@proves("cloudevents/round-trip")
@given(
    raw=st.one_of(
        st.binary(min_size=1),
        st.text(min_size=1).map(str.encode),
        st.dictionaries(st.text(), st.text() | st.floats(allow_nan=False) | st.none()).map(
            lambda tree: json.dumps(tree, ensure_ascii=False, indent=2).encode()
        ),
    ),
    sender=st.text(min_size=1, alphabet=st.characters(codec="utf-8", exclude_characters="\0")),
)
@example(raw=b"x", sender="a%41/b:c")
def test_a_message_that_goes_out_and_comes_in_again_is_the_same(raw: bytes, sender: str) -> None:
    message = kept(raw, sender=sender, correlation="c-1", reply_to="r-1")
    for body in (
        event_of(message, {"traceparent": TRACE}),
        event_of_lease(LeasedMessage(message, 1, "lead", 1, 1, 1.8e9)),
    ):
        found = read_event(body)
        assert isinstance(found, ReceivedEvent), found
        assert found.raw.strip(b" \t\r\n") == raw.strip(b" \t\r\n")
        fields = {"id": "n-1", "sender": sender, "to": "lead", "correlation": "c-1", "reply_to": "r-1"}
        assert found.fields == fields
