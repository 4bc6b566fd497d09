"""Does the HTTP door answer what the bus answers, verb by verb?"""

import asyncio
import time
from typing import Any
from urllib.parse import quote

import pytest

from telex.config import Settings
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.generate.codes import example_text
from telex.protocol import made, plain
from telex.protocol.verbs import VERBS, answer_kind, as_response
from tests.bus.bus_team import speech_of
from tests.http.http_kit import QUIET, Asking, Door, hub_test, opened, played, soon, watch
from tests.proofs import proves

LOOKS: dict[str, dict[str, Any]] = {
    "why": {"id": "a/b"},
    "settled": {"id": "a/b", "sender": "dev", "until": "leased", "timeout": 0.0},
    "inbox": {"agent": "lead", "limit": 2},
    "search": {"text": "red", "limit": 2},
    "trace": {"correlation": "c%20d"},
    "conversations": {"limit": 2},
    "work_state": {"kind": "plan"},
    "escalations": {"answered": True},
    "stall": {},
    "roster": {},
    "dead_letters": {"limit": 5},
}


@proves("http/same-as-the-bus")
@pytest.mark.parametrize("name", LOOKS)
@hub_test()
async def test_whoever_looks_sees_what_the_bus_shows(door: Door, name: str) -> None:
    await history(door)
    values, verb = LOOKS[name], VERBS[name]
    wanted = await getattr(door.bus, name)(**values)
    path, query = verb.path, {}
    for key, value in values.items():
        quoted = quote(str(value), safe="")
        if f"{{{key}}}" in path:
            path = path.replace(f"{{{key}}}", quoted)
        else:
            query[key] = str(value).lower() if isinstance(value, bool) else str(value)
    answer = (await door.client.get(path, params=query)).json()
    tree = answer["answer"] if set(answer) == {"answer"} else answer
    assert settled_moments(tree) == settled_moments(plain(as_response(name, wanted)))
    assert plain(made(answer_kind(name), tree)) == tree


def settled_moments(tree: Any) -> Any:
    """Without what looking itself changes."""
    if isinstance(tree, dict):
        return {key: settled_moments(one) for key, one in tree.items() if key not in ("seen_at", "at", "now")}
    return [settled_moments(one) for one in tree] if isinstance(tree, list) else tree


async def history(door: Door) -> None:
    await door.bus.join("lead")
    await door.send(id="a/b")
    await door.send(b"also red", correlation="c%20d")
    await door.send(b"third", id="d-1")
    [leased] = await door.bus.receive("lead")
    await door.bus.nack(leased.token, agent="lead", reason="no", delay=0.0)


def test_every_verb_that_only_looks_is_compared_or_tested_here() -> None:
    elsewhere = {"events", "rendering", "guard", "states"}
    assert set(LOOKS) | elsewhere == {name for name, verb in VERBS.items() if not verb.changes}


@proves("http/events")
@hub_test()
async def test_events_come_by_the_page_filtered_and_in_either_order(door: Door) -> None:
    await history(door)
    wanted = [event.seq async for event, _ in door.bus.events()]

    async def asked(**query: str) -> list[int]:
        page = (await door.client.get("/events", params=query)).json()["answer"]
        return [one["event"]["seq"] for one in page]

    assert await asked() == wanted
    assert await asked(newest_first="true") == wanted[::-1]
    assert await asked(limit="2") + await asked(after=str(wanted[1])) == wanted
    assert await asked(kinds="joined,leased") == [
        event.seq async for event, _ in door.bus.events() if event.kind in ("joined", "leased")
    ]
    assert await asked(after=str(wanted[-1]), wait="0.05") == []
    waiting = asyncio.create_task(asked(after=str(wanted[-1]), wait="15", limit="1"))
    await asyncio.sleep(0.02)
    await door.send(b"news")
    assert await soon(waiting) == [wanted[-1] + 1]


@proves("http/events")
@hub_test()
async def test_whoever_waits_for_events_while_others_watch_begins_where_it_asked_to(door: Door) -> None:
    viewer = watch(door.app, "after=0")
    for number in range(5):
        await door.send(b"%d" % number)
        last = max([event.seq async for event, _ in door.bus.events()])
        page = await door.client.get("/events", params={"after": str(last), "wait": "0.05"})
        assert page.json() == {"answer": []}
    viewer.go_away()
    await soon(viewer.task)


@proves("http/events")
@hub_test()
async def test_whoever_waits_for_events_and_goes_is_not_waited_for(door: Door) -> None:
    gone = Asking(door.app, "GET", "/events", "wait=100000")
    await asyncio.sleep(0.02)
    gone.go_away()
    await soon(gone.task)
    assert gone.status is None


@proves("http/rendering")
@hub_test()
async def test_a_message_is_shown_in_the_words_of_its_reader(door: Door) -> None:
    await door.post("/join", name="ada", role="lead", dialects=["build-flow"])
    await door.post("/join", name="bob", role="dev")
    raw = example_text(VBW_TYPED, "shutdown_request").encode()
    id_ = (await door.send(raw, sender="lead", to="bob")).json()["id"]
    path = f"/messages/{id_}/rendering"
    assert (await door.client.get(path, params={"agent": "bob"})).json() == {"answer": None}
    rendered = (await door.client.get(path, params={"agent": "ada"})).json()["answer"]
    assert rendered["raw"] != raw.decode()
    none = await door.client.get(path, params={"agent": "ada", "seq": "999"})
    assert (none.status_code, none.json()["code"]) == (404, "not-found")


@proves("http/team")
@played
async def test_agents_join_and_leave_and_dead_letters_are_retried_or_dropped() -> None:
    settings = Settings(evidence="off", limits=QUIET.limits._replace(attempts_max=1))
    async with opened(settings=settings) as door:
        joined = await door.post("/join", name="ada", role="lead")
        assert (joined.status_code, joined.json()["name"]) == (200, "ada")
        wrong = await door.post("/join", name="ada", role="lead", dialects=["klingon"])
        assert (wrong.status_code, wrong.json()["code"]) == (422, "dialect-unknown")
        await door.send(to="ada", id="d-1")
        for expected in ("/dead/retry", "/dead/drop"):
            [leased] = (await door.post("/receive", agent="ada")).json()["answer"]
            await door.post("/nack", token=leased["token"], agent="ada", reason="cannot")
            [dead] = (await door.client.get("/dead")).json()["answer"]
            assert dead["message"]["id"] == "d-1"
            given = {"id": "d-1"} | ({"reason": "enough"} if "drop" in expected else {})
            assert (await door.post(expected, **given)).json() == {"answer": 1}
        assert (await door.post("/dead/retry", id="d-1")).status_code == 404
        assert isinstance((await door.post("/leave", name="ada")).json()["answer"], int)
        assert (await door.post("/sweep")).json()["answer"] >= 0
        assert (await door.post("/shut_down", agent="dev", reason="done", wait=False)).status_code == 200


@proves("http/approve")
@hub_test()
async def test_a_person_answers_a_request_for_approval(door: Door) -> None:
    await door.post("/join", name="dev", role="dev")
    asked = (await door.send(example_text(VBW_TYPED, "approval_request").encode(), to="human")).json()
    assert asked["accepted"], asked
    approved = await door.post("/approve", id=asked["id"], approved=True, reason="It is well thought out.")
    assert (approved.status_code, approved.json()["to"]) == (201, ["dev"])
    [answer] = (await door.post("/receive", agent="dev")).json()["answer"]
    assert answer["message"]["type"] == "approval_response"
    none = await door.post("/approve", id="nobody-asked", approved=True, reason="Why not?")
    assert (none.status_code, none.json()["code"]) == (404, "not-found")


@proves("http/import")
@hub_test()
async def test_a_record_of_elsewhere_is_imported_once(door: Door) -> None:
    entry = {
        "id": "old-1", "at": time.time(), "sender": "dev", "role": "dev", "to": "lead",
        "dialect": None, "type": None,
        "rank": 3, "correlation": None, "reply_to": None, "digest": "ab" * 16, "raw": {"base64": "//4="},
    }  # fmt: skip
    answers = [(await door.post("/import", entries=[entry])).json()["answer"] for _ in range(2)]
    assert [answer[0]["outcome"] for answer in answers] == ["stored", "duplicate"]
    [story] = (await door.client.get("/messages/old-1")).json()["answer"]
    assert story["message"]["raw"] == {"base64": "//4="}


@proves("http/guard")
@hub_test()
async def test_paths_are_judged_for_an_agent(door: Door) -> None:
    await door.bus.join("dev")
    verdicts = (await door.post("/guard", agent="dev", paths=["src/a.py", "../x"])).json()["answer"]
    assert [verdict["path"] for verdict in verdicts] == ["src/a.py", "../x"]
    await door.send(speech_of("vbw-typed", "plan_contract").raw, sender="lead", to="dev")
    unknown = await door.post("/guard", agent="nobody-here", paths=["a"])
    assert (unknown.status_code, unknown.json()["code"]) == (403, "sender-unknown")


@proves("bus/looking/not-seen")
@hub_test()
async def test_looking_at_an_inbox_adds_no_member(door: Door) -> None:
    for name in ("qa", "newcomer"):
        assert (await door.client.get(f"/inbox/{name}")).json() == {"answer": []}
    assert (await door.client.get("/roster")).json() == {"answer": []}


@proves("http/picture")
@hub_test()
async def test_a_conversation_is_drawn_whatever_its_name(door: Door) -> None:
    await door.send(b"<script>alert(1)</script>", correlation="a/b ?ü")
    answer = await door.client.get("/trace/a%2Fb%20%3F%C3%BC/picture")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "<script" not in answer.text
    assert (await door.client.get("/trace/none/picture")).status_code == 404
