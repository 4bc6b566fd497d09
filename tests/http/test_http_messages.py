"""Are messages sent, received and settled over HTTP as they are on the bus?"""

import asyncio
import json
from typing import Any

import pytest

from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.generate.codes import example_text
from telex.protocol import made, plain
from telex.protocol.verbs import answer_kind
from tests.cli.cli_kit import PROGRESS
from tests.http.http_kit import TEXT, Asking, Door, hub_test, opened, played, soon
from tests.proofs import proves


@proves("http/send/accepted", "http/send/again")
@hub_test()
async def test_a_message_is_created_once_and_a_repetition_is_answered_alike(door: Door) -> None:
    first = await door.send(id="build-1")
    again = await door.send(id="build-1")
    assert (first.status_code, again.status_code) == (201, 200)
    assert (first.json()["id"], first.json()["to"], first.json()["duplicate"]) == ("build-1", ["lead"], False)
    assert again.json() == first.json() | {"duplicate": True}
    assert len(await door.bus.inbox("lead")) == 1


@proves("http/send/refused")
@hub_test()
async def test_a_refused_message_comes_back_as_a_problem_with_everything_that_its_receipt_has(door: Door) -> None:
    answer = await door.send(b'{"type": "qa_verdct", "id": "v-1"}', to="laed")
    told_ = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    [story] = await door.bus.why(told_["id"])
    assert story.state == "refused"
    codes = [one["code"] for one in told_["findings"]]
    assert told_["code"] in codes
    assert told_["type"].endswith(told_["code"])
    assert told_["title"] == "Unprocessable Entity"
    assert (told_["status"], told_["accepted"], told_["state"]) == (422, False, "refused")
    assert {"fixed", "certain", "answer", "message_type", "dialect"} <= set(told_)


@proves("http/send/as-it-is")
@pytest.mark.parametrize("raw", [b"\xff\xfe", b"", b"\r\n# Heading\n", b'{"a": 1, "a": 2}', "Grüße 🚂".encode()])
@hub_test()
async def test_the_bytes_that_were_sent_are_the_bytes_that_are_kept(door: Door, raw: bytes) -> None:
    id_ = (await door.send(raw)).json()["id"]
    [story] = (await door.client.get(f"/messages/{id_}")).json()["answer"]
    message = made(answer_kind("read"), story["message"])
    assert message.raw == raw


@proves("http/receive/settle")
@hub_test()
async def test_a_message_is_received_kept_longer_given_back_and_acked(door: Door) -> None:
    await door.send()
    [leased] = (await door.post("/receive", agent="lead", lease=30)).json()["answer"]
    assert (leased["message"]["raw"], leased["attempt"]) == (TEXT.decode(), 1)
    token = {"token": leased["token"], "agent": "lead"}
    until = (await door.post("/extend", **token, seconds=90)).json()["answer"]
    assert until > leased["until"]
    back = (await door.post("/nack", **token, reason="not now", delay=0)).json()
    assert (back["state"], back["attempts"]) == ("stored", 1)
    lost = await door.post("/ack", **token)
    assert (lost.status_code, lost.json()["code"]) == (409, "lease-lost")
    [again] = (await door.post("/receive", agent="lead")).json()["answer"]
    acks = [await door.post("/ack", token=again["token"], agent="lead") for _ in range(2)]
    assert [ack.json()["answer"] for ack in acks] == [True, False]
    assert (await door.post("/receive", agent="lead")).json() == {"answer": []}


@proves("http/receive/long-poll")
@hub_test()
async def test_a_reader_that_waits_is_woken_by_the_message(door: Door) -> None:
    await door.bus.join("lead")
    waiting = asyncio.create_task(door.post("/receive", agent="lead", wait=15))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await door.send()
    [leased] = (await soon(waiting)).json()["answer"]
    assert leased["attempt"] == 1


@proves("http/receive/gone")
@pytest.mark.parametrize("where", ["memory:", "telex.db"])
@played
async def test_a_reader_that_has_gone_while_it_waited_is_given_nothing(where: str, tmp_path: Any) -> None:
    async with opened(where if where == "memory:" else str(tmp_path / where)) as door:
        await door.bus.join("lead")
        gone = Asking(door.app, "POST", "/receive", body=b'{"agent": "lead", "wait": 60}')
        await asyncio.sleep(0.05)
        gone.go_away()
        await soon(gone.task)
        assert gone.status is None
        await door.send()
        [leased] = (await door.post("/receive", agent="lead", wait=5)).json()["answer"]
        assert leased["attempt"] == 1


@proves("http/receive/gone")
@played
async def test_readers_that_go_at_the_very_moment_of_a_message_hold_nobody_up(tmp_path: Any) -> None:
    """Each goes a little later than the one before: some before they are given it, some just after."""
    async with opened(str(tmp_path / "telex.db")) as door:
        await door.bus.join("lead")
        for number in range(40):
            gone = Asking(door.app, "POST", "/receive", body=b'{"agent": "lead", "wait": 60, "lease": 600}')
            await asyncio.sleep(0.005)
            sending = asyncio.create_task(door.send(b"%d" % number))
            for _ in range(number):
                await asyncio.sleep(0)
            gone.go_away()
            await soon(asyncio.gather(gone.task, sending))
            if gone.status is None:
                [leased] = (await door.post("/receive", agent="lead", wait=10)).json()["answer"]
            else:  # it had its answer before it went
                [leased] = made(answer_kind("receive"), json.loads(gone.told[0])["answer"])
                leased = plain(leased)
            assert leased["message"]["raw"] == str(number)
            await door.post("/ack", token=leased["token"], agent="lead")


@proves("http/receive/gone")
@hub_test(serve=True)
async def test_a_client_of_a_real_server_that_hangs_up_is_given_nothing(door: Door, port: int) -> None:
    await door.bus.join("lead")
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    body = b'{"agent": "lead", "wait": 60}'
    writer.write(b"POST /receive HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    await asyncio.sleep(0.1)
    writer.close()
    await writer.wait_closed()
    await asyncio.sleep(0.1)
    await door.send()
    [leased] = (await door.post("/receive", agent="lead", wait=5)).json()["answer"]
    assert leased["attempt"] == 1


@proves("http/request")
@hub_test()
async def test_a_request_is_answered_with_the_reply_or_says_that_none_came(door: Door) -> None:
    asked = {"sender": "dev", "to": "lead", "id": "q-1", "timeout": "15"}
    waiting = asyncio.create_task(door.client.post("/request", params=asked, content=b"May I?"))
    [question] = (await door.post("/receive", agent="lead", wait=10)).json()["answer"]
    await door.send(b"You may.", sender="lead", to="dev", reply_to=question["message"]["id"])
    reply = await soon(waiting)
    assert (reply.status_code, reply.json()["message"]["raw"]) == (200, "You may.")
    late = await door.client.post("/request", params=asked | {"id": "q-2", "timeout": "0"}, content=b"And now?")
    assert (late.status_code, late.json()["code"], late.json()["id"]) == (424, "request-timed-out", "q-2")
    refused = await door.client.post("/request", params=asked | {"to": "laed", "id": "q-3"}, content=b"Hm?")
    assert (refused.status_code, refused.json()["code"]) == (422, "recipient-unknown")


@proves("http/batch")
@hub_test()
async def test_each_message_of_many_is_answered_for_itself_in_order(door: Door) -> None:
    letters = [
        {"raw": "first", "to": "lead", "id": "b-1"},
        {"raw": "lost", "to": "laed"},
        {"raw": {"base64": "//4="}, "to": "lead"},
        {"message": {"type": "nonsense"}, "to": "lead"},
        {"raw": "first", "to": "lead", "id": "b-1"},
        {"raw": "last", "to": "lead"},
    ]
    answer = await door.post("/send/batch", sender="dev", messages=letters)
    receipts = answer.json()["answer"]
    assert answer.status_code == 200
    assert [receipt["accepted"] for receipt in receipts] == [True, False, False, False, True, True]
    assert [receipt["duplicate"] for receipt in receipts] == [False, False, False, False, True, False]
    assert receipts[1]["findings"][0]["code"] == "recipient-unknown"
    assert [message.raw for _, message in await door.bus.inbox("lead")] == [b"first", b"last"]


@proves("http/batch/wrong")
@pytest.mark.parametrize(
    "body, path",
    [
        ({"sender": "dev"}, "$.messages"),
        ({"messages": []}, "$.sender"),
        ({"sender": "dev", "messages": {}}, "$.messages"),
        ({"sender": "dev", "messages": [{}]}, "$.messages[0]"),
        ({"sender": "dev", "messages": [{"raw": "a"}, {"raw": "a", "message": {}}]}, "$.messages[1]"),
        ({"sender": "dev", "messages": [{"raw": "a", "too": "lead"}]}, "$.messages[0].too"),
        ({"sender": "dev", "messages": [{"raw": "a", "to": 7}]}, "$.messages[0].to"),
        ({"sender": "dev", "messages": [], "rolle": "qa"}, "$.rolle"),
        ([], "$"),
    ],
)
@hub_test()
async def test_a_batch_that_is_no_batch_is_refused_as_a_whole(door: Door, body: Any, path: str) -> None:
    answer = await door.client.post("/send/batch", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "arguments-wrong")
    assert path in [one["path"] for one in answer.json()["findings"]]
    assert await door.bus.roster() == []


@proves("http/check")
@hub_test()
async def test_a_message_is_checked_and_nothing_is_kept(door: Door) -> None:
    good = await door.client.post("/check", content=example_text(VBW_TYPED, "shutdown_request"))
    assert (good.json()["valid"], good.json()["dialect"]) == (True, "vbw-typed")
    bad = (await door.client.post("/check", params={"dialect": "build-flow"}, content=b'{"type": "x"}')).json()
    assert not bad["valid"]
    assert bad["findings"]
    none = await door.client.post("/check", params={"dialect": "klingon"}, content=b"{}")
    assert (none.status_code, none.json()["findings"][0]["path"]) == (400, "$.dialect")
    assert [one async for one in door.bus.events()] == []


@proves("http/rendering/looked-at")
@hub_test()
async def test_whoever_looks_is_told_what_it_will_be_given(door: Door) -> None:
    await door.bus.join("lead", dialects=["vbw-typed"])
    await door.send(json.dumps(PROGRESS).encode(), id="p-1")
    await door.send(id="n-1")
    waiting = (await door.client.get("/inbox/lead")).json()["answer"]
    assert [one["rendering"] and one["rendering"]["type"] for one in waiting] == ["execution_update", None]
    assert json.loads(waiting[0]["message"]["raw"]) == PROGRESS
    for one in waiting:
        asked = {"id": one["message"]["id"], "agent": "lead"}
        looked = (await door.client.post("/read", json=asked)).json()
        assert looked == one["message"] | {"rendering": one["rendering"]}
    [leased] = (await door.client.post("/receive", json={"agent": "lead"})).json()["answer"]
    assert leased["rendering"] == waiting[0]["rendering"]
