"""Conversations of the page over HTTP: the list and its filters, states, times, climbing escalations, and the past."""

from typing import Any

import pytest

from telex.dialects.builtin.vbw_typed import APPROVAL_REQUEST
from telex.surfaces.http import page_stats
from telex.surfaces.page.conversations import union, without, worked_and_waited
from tests.bus.bus_team import Team, open_team, speech_of, team
from tests.http.page_kit import Page
from tests.proofs import proves
from tests.work.contract_team import close, contract, kept, report, typed

__all__ = ["open_team", "team"]  # fixtures


def ids(found: Any) -> list[str]:
    return [one["id"] for one in found["conversations"]]


def shown(team: Team, id: str, **query: Any) -> Any:
    return Page(team).get(f"/page/conversations/{id}", **{"at": team.clock.now(), **query})


def listed(team: Team, **query: Any) -> Any:
    return Page(team).get("/page/conversations", **query)


def ask(team: Team, id: str, task: str, to: str = "lead") -> None:
    made = typed(APPROVAL_REQUEST, task, id=id, request_type="gate_override", options=None, deadline=None)
    assert team.bus.send(made, sender="dev", to=to, correlation=task).accepted


def answer(team: Team, id: str) -> None:
    team.bus.approve(id, approved=True, reason="Go on.", agent="lead")


@pytest.fixture
def three(team: Team) -> Team:
    """One that is done, one that waits, one that is open."""
    team.note("The build is red.", correlation="build")
    team.taken("lead")
    team.clock.leap(10.0)
    ask(team, "ask-1", "gate")
    team.taken("lead")
    team.clock.leap(10.0)
    team.note("Rename the parser.", sender="qa", to="docs", correlation="parser")
    team.clock.leap(10.0)
    return team


@proves("page_conversations/list")
def test_conversations_are_listed_with_what_a_person_asks_of_them(three: Team) -> None:
    found = listed(three)
    assert ids(found) == ["gate", "parser", "build"]
    assert found["counts"] == {"waiting": 1, "open": 1, "done": 1}
    gate, _, build = found["conversations"]
    assert (gate["state"], gate["waiting_for"], gate["messages"]) == ("waiting", ["lead"], 1)
    assert gate["people"] == [["lead", "lead"], ["dev", "dev"]]
    assert (build["title"], build["state"], build["waiting_for"]) == ("The build is red.", "done", [])
    assert build["from"] == build["to"] == three.clock.now() - 30.0
    assert (found["cursor"], found["counted_since"]) == (None, None)


@proves("page_conversations/list")
@pytest.mark.parametrize(
    "query, wanted",
    [
        ({"state": "waiting"}, ["gate"]),
        ({"state": "done"}, ["build"]),
        ({"agent": "docs"}, ["parser"]),
        ({"agent": "dev"}, ["gate", "build"]),
        ({"filter": "RENAME pars"}, ["parser"]),
        ({"filter": "qa"}, ["parser"]),
        ({"filter": "nothing like it"}, []),
        ({"agent": "dev", "state": "open"}, []),
    ],
)
def test_the_list_is_filtered_by_the_hub(three: Team, query: dict[str, str], wanted: list[str]) -> None:
    assert ids(listed(three, **query)) == wanted


@proves("page_conversations/list")
def test_the_list_is_paged_while_it_grows(team: Team) -> None:
    for number in range(23):
        team.note(f"Matter {number}.", correlation=f"matter-{number}")
    seen, cursor = list[str](), None
    while True:
        found = listed(team, limit=5, **({"cursor": cursor} if cursor else {}))
        seen += ids(found)
        cursor = found["cursor"]
        team.note("One more.", correlation=f"late-{len(seen)}")
        if cursor is None:
            break
    assert seen == [f"matter-{number}" for number in reversed(range(23))]


@proves("page_conversations/list/older")
def test_older_conversations_come_after_those_of_the_history(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        team.note(f"first {number}", correlation="long")
    team.note("An old matter", correlation="old")
    team.taken("lead")
    for number in range(40):
        team.note(f"news {number}", to="qa", correlation=f"matter {number % 4}")
    team.note("last", correlation="long")
    monkeypatch.setattr(page_stats, "EVENTS_BACK", 20)
    page = Page(team)
    first = page.get("/page/conversations")
    assert sorted(ids(first)) == ["long", "matter 0", "matter 1", "matter 2", "matter 3"]
    assert first["conversations"][0] | {"people": []} == first["conversations"][0] | {
        "people": [], "id": "long", "title": "first 0", "messages": 4,
    }  # fmt: skip
    assert first["counted_since"]
    rest = page.get("/page/conversations", cursor=first["cursor"])
    assert [(one["id"], one["messages"], one["state"]) for one in rest["conversations"]] == [("old", 1, "done")]
    assert rest["cursor"] is None
    assert page.get("/page/conversations", cursor=first["cursor"], filter="nothing")["conversations"] == []
    found = shown(team, "old")
    assert [(row["gist"], row["state"]) for row in found["rows"]] == [("An old matter", "done")]


@proves("page_conversations/list/invalid")
@pytest.mark.parametrize(
    "query",
    ["state=fine", "cursor=older.x", "cursor=xyz", "cursor=older.-1", "limit=0", "limit=201", "at=-1", "limit=x"],
)
def test_a_list_that_is_not_understood(team: Team, query: str) -> None:
    response = Page(team).response(f"/page/conversations?{query}")
    assert (response.status_code, response.json()["code"]) == (400, "value-wrong")
    assert query.partition("=")[0] in response.json()["detail"]


@proves("page_conversations/list/invalid")
def test_a_conversation_that_is_not_stored_or_had_not_begun(three: Team) -> None:
    page = Page(three)
    for path in ("nothing", "a/b/c", "build?at=5", "%00", "build?limit=0", "build?before=-1"):
        response = page.response(f"/page/conversations/{path}")
        assert response.status_code in (400, 404)
        assert response.json()["detail"]
    assert "had not begun" in page.response("/page/conversations/build?at=5").json()["detail"]


@proves("page_conversations/state")
def test_a_conversation_waits_until_it_is_answered(team: Team) -> None:
    ask(team, "ask-1", "gate")
    assert (shown(team, "gate")["state"], shown(team, "gate")["waiting_for"]) == ("waiting", ["lead"])
    lease = team.take("lead")
    assert (shown(team, "gate")["state"], shown(team, "gate")["waiting_for"]) == ("open", [])
    team.bus.ack(lease.token, agent="lead")
    assert shown(team, "gate")["state"] == "waiting"
    answer(team, "ask-1")
    assert shown(team, "gate")["state"] == "open"
    team.taken("dev")
    assert shown(team, "gate")["state"] == "done"


@proves("page_conversations/state")
def test_a_question_to_a_person_is_what_holds_it_up(team: Team) -> None:
    ask(team, "ask-1", "gate", to="human")
    team.note("While we wait.", sender="qa", to="docs", correlation="gate")
    team.note("For your information.", to="human", correlation="info")
    found = shown(team, "gate")
    assert (found["state"], found["waiting_for"]) == ("waiting", ["human"])
    assert shown(team, "info")["state"] == "done"


@proves("page_conversations/state", "page_conversations/title")
def test_a_contract_keeps_its_conversation_open_and_names_it(team: Team) -> None:
    for name in ("dev", "lead"):
        team.bus.join(name, role=name)
    team.note("Shall we?", correlation="P")
    kept(team, contract("P", objective="Reset links work once") | {"task": "P"}, to="dev")
    kept(team, report("P", "T1") | {"task": "P"})
    for name in ("dev", "lead"):
        team.taken(name)
    found = shown(team, "P")
    assert (found["title"], found["state"]) == ("Reset links work once", "open")
    kept(team, close("P") | {"task": "P"}, to="dev")
    team.taken("dev")
    assert shown(team, "P")["state"] == "done"


@proves("page_conversations/times")
def test_times_are_unions(team: Team) -> None:
    ask(team, "ask-1", "gate")  # waits 10 s, is read for 20 s, and waits 5 s more
    team.clock.leap(10.0)
    lease = team.take("lead")
    team.note("A word", sender="qa", to="docs", correlation="gate")
    other = team.take("docs")
    team.clock.leap(20.0)
    team.bus.ack(lease.token, agent="lead")
    team.bus.ack(other.token, agent="docs")
    team.clock.leap(5.0)
    answer(team, "ask-1")
    team.clock.leap(100.0)
    found = shown(team, "gate")
    assert (found["waited"], found["worked"]) == (pytest.approx(15.0), pytest.approx(20.0))
    assert union([(5, 6), (1, 3), (2, 4), (4, 4)]) == [(1, 4), (5, 6)]
    assert without([(0, 10), (20, 30)], [(2, 3), (9, 21), (40, 41)]) == [(0, 2), (3, 9), (21, 30)]
    assert worked_and_waited([], 0.0) == (0.0, 0.0)


@proves("page_conversations/messages")
def test_a_conversation_opens_with_its_newest_messages(team: Team) -> None:
    for number in range(161):
        team.note(f"message {number}", correlation="long")
        team.clock.leap(1.0)
    found = shown(team, "long")
    assert [row["gist"] for row in found["rows"]] == [f"message {number}" for number in range(101, 161)]
    assert (found["messages"], found["earlier"], found["later"], found["newer"]) == (161, 101, 0, None)
    older = shown(team, "long", before=found["older"])
    assert [row["gist"] for row in older["rows"]] == [f"message {number}" for number in range(41, 101)]
    assert (older["earlier"], older["later"]) == (41, 60)
    first = shown(team, "long", before=older["older"])
    assert (len(first["rows"]), first["older"], first["later"]) == (41, None, 120)
    assert shown(team, "long", before=first["newer"])["rows"][-1]["gist"] == "message 100"


@proves("page_conversations/messages")
def test_messages_have_their_deliveries_and_what_they_answer(team: Team) -> None:
    question = team.note("Who has the key?", id="q-1")
    team.note("The vault.", sender="lead", to="dev", reply_to=question, correlation=question)
    team.bus.send("Well?", sender="dev", to="nobody", correlation=question, check=False)
    team.clock.leap(1.0)
    team.taken("dev")
    asked, answered, refused = shown(team, "q-1")["rows"]
    assert (asked["conversation"], answered["answers"]) == (None, asked["seq"])
    [delivery] = answered["deliveries"]
    assert (delivery["agent"], delivery["state"], delivery["attempt"]) == ("dev", "done", 1)
    assert delivery["done"] >= delivery["taken"] > delivery["sent"]
    assert (refused["state"], refused["deliveries"]) == ("refused", [])
    assert shown(team, "q-1")["refused"] == 1
    approval = team.note("By its message", correlation="named", id="m-1")
    assert shown(team, approval)["id"] == "named"


@proves("page_conversations/climbs")
def test_an_escalation_climbs_and_is_no_answer(team: Team) -> None:
    for name in ("dev", "senior", "lead", "architect"):
        team.bus.join(name, role=name)
    said = speech_of("vbw-company", "escalation", **{"from": "dev", "to": "senior"})
    team.bus.send(said.raw, sender="dev", to="senior", id="escalation-1", correlation="key")
    team.taken("senior")
    team.later(301.0)
    team.taken("lead")
    team.later(301.0)
    found = shown(team, "key")
    assert (found["state"], found["waiting_for"]) == ("waiting", ["one of architect"])
    assert [name for name, _ in found["people"]] == ["lead", "senior", "dev"]
    first, second, third = found["rows"]
    assert first["climb"] is None
    assert second["climb"] == {"of": first["seq"], "by": "dev", "step": 2, "from": "senior"}
    assert third["climb"] == {"of": first["seq"], "by": "dev", "step": 3, "from": "lead"}
    assert [row["answers"] for row in found["rows"]] == [None] * 3
    team.note("You may.", sender="lead", to="dev", reply_to="escalation-1", correlation="key")
    answered = shown(team, "key")
    assert [row["answered_by"] for row in answered["rows"]] == [answered["rows"][3]["seq"]] * 3 + [None]
    assert answered["rows"][3]["answers"] == first["seq"]
    assert answered["state"] == "open"


@proves("page_conversations/past")
def test_a_conversation_as_it_was(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(team, "ask-1", "gate")
    team.clock.leap(10.0)
    moment = team.clock.now()
    team.clock.leap(10.0)
    answer(team, "ask-1")
    team.taken("dev")
    team.taken("lead")
    team.clock.leap(10.0)
    for back in (50_000, 2):
        monkeypatch.setattr(page_stats, "EVENTS_BACK", back)
        then = shown(team, "gate", at=moment)
        assert (then["state"], then["messages"], then["waited"]) == ("waiting", 1, pytest.approx(10.0))
        assert [row["state"] for row in then["rows"]] == ["sent"]
        [one] = listed(team, at=moment)["conversations"]
        assert (one["state"], one["messages"]) == ("waiting", 1)
        assert shown(team, "gate")["state"] == "done"
        assert listed(team, at=moment - 60.0)["conversations"] == []


@proves("page_conversations/many-agents")
def test_a_message_to_a_whole_team_names_those_who_speak(team: Team) -> None:
    for number in range(100):
        team.bus.join(f"dev-{number}", role="dev")
    team.note("To all", sender="lead", to="*", correlation="all")
    team.note("Here", sender="dev-77", to="lead", correlation="all")
    found = shown(team, "all")
    told = found["rows"][0]
    assert len(told["deliveries"]) + told["deliveries_more"] == 100
    assert (len(told["deliveries"]), told["deliveries"][0]["agent"]) == (12, "dev-77")
    assert (found["people_count"], len(found["people"])) == (101, 50)
    assert ["dev-77", "dev"] in found["people"]
