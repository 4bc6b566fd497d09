"""Agents of the page over HTTP: the list, one agent at any moment, waking and stopping it."""

import os
import time
from typing import Any
from urllib.parse import quote

import pytest

from telex.model.message import WAKING
from telex.ports.store import Query
from telex.surfaces.clients import sessions, wakes
from telex.surfaces.clients.sessions import IDLE, Session
from telex.surfaces.clients.wakes import Way
from telex.surfaces.http.tokens import Caller
from tests.bus.bus_team import OpenTeam, Team, flow, open_team, team
from tests.bus.shutdown_kit import agrees
from tests.http.page_kit import Page
from tests.proofs import proves
from tests.work.contract_team import answer, ask, contract, kept, report, send

__all__ = ["open_team", "team"]  # fixtures
ODD_NAMES = ["n" * 200, "a/b", "100%", "<b>x</b>", "שלום", "what?#&=", "wake", "b/wake", "é"]


def one(team: Team, name: str, **query: Any) -> Any:
    return Page(team).get(f"/page/agents/{quote(name, safe='')}", **{"at": team.clock.now()} | query)


def listing(team: Team, **query: Any) -> Any:
    return Page(team).get("/page/agents", **{"at": team.clock.now()} | query)


def names(found: Any) -> list[str]:
    return [agent["name"] for agent in found["agents"]]


@pytest.fixture
def story(team: Team, monkeypatch: pytest.MonkeyPatch) -> Team:
    """dev holds a task and waits for an approval; dev-2 has an unread message; qa is silent."""
    monkeypatch.setattr("time.time", team.clock.now)  # the hub's clock
    for name, role in (("lead", "lead"), ("qa", "qa"), ("dev", "dev"), ("dev-2", "dev")):
        team.bus.join(name, role=role, by="human")
    team.clock.leap(400.0)
    kept(team, contract(tasks=["T1", "T2"], allowed_paths=["src/auth/"], token_budget=9_000))
    team.clock.leap(20.0)
    team.take("dev", lease=3_600.0)
    team.clock.leap(30.0)
    send(team, report(files=["src/mail/reset.py"]))  # outside of the contract: refused
    kept(team, report(task="T1", files=["src/auth/reset.py"], tokens_used=1_200))
    team.clock.leap(30.0)
    request = kept(team, ask(id="ask-1"))
    team.clock.leap(60.0)
    team.note("Please look at this.", sender="dev-2", to="dev-2")
    assert request.accepted
    return team


# --- one agent --------------------------------------------------------------------------------------------------------


@proves("page_agents/one")
def test_an_agent_is_shown_with_what_it_does_and_waits_for(story: Team) -> None:
    now, found = story.clock.now(), one(story, "dev")
    assert (found["state"], found["role"]) == ("here", "dev")
    assert found["doing"]["kind"] == "task"
    assert now - found["doing"]["since"] == pytest.approx(120.0)
    [wait] = found["waits"]
    assert (wait["why"], wait["whom"], now - wait["since"]) == ("approval", ["lead"], pytest.approx(60.0))
    assert (found["holds"]["messages"], found["holds"]["files"]) == (1, ["src/auth/reset.py"])
    hour = found["hour"]
    assert (hour["sent"], hour["refused"], hour["received"], hour["tokens"]) == (2, 1, 1, 1_200)
    assert hour["busy"] == pytest.approx(1.0)
    assert (found["inbox"]["unread"], found["inbox"]["in_hand"]) == (0, 1)
    assert [row["state"] for row in found["inbox"]["rows"]] == ["in-hand"]
    assert [row["kind"] for row in found["said"]] == ["approval request", "update", "update"]
    assert [row["from"] for row in found["heard"]] == ["lead"]
    [refused] = [row for row in found["refusals"]["codes"] if row["code"] == "path-outside-contract"]
    assert (refused["count"], found["refusals"]["total"]) == (1, 1)
    assert refused["last_fix"]
    assert found["lane"]["lanes"][0]["agent"] == "dev"


@proves("page_agents/contract")
def test_the_contract_of_an_agent_is_shown_with_its_progress(story: Team) -> None:
    kept(story, answer("ask-1", ["docs/reset.md"]))
    [terms] = one(story, "dev")["contracts"]
    assert (terms["plan"], terms["by"], terms["allowed"]) == ("P", "lead", ["src/auth/"])
    assert [(grant["pattern"], grant["by"]) for grant in terms["granted"]] == [("docs/reset.md", "lead")]
    assert (terms["forbidden"], terms["tasks"]["all"]) == ([".env"], 2)
    assert terms["tokens"] == {"spent": 1_200, "budget": 9_000}
    assert one(story, "qa")["contracts"] == []


@proves("page_agents/past")
def test_a_past_moment_of_an_agent_is_shown_as_it_was(story: Team) -> None:
    began = story.clock.now() - 140.0  # when the contract was sent
    before, taken = one(story, "dev", at=began + 10.0), one(story, "dev", at=began + 40.0)
    assert (before["doing"], before["inbox"]["unread"], before["waits"]) == (None, 1, [])
    assert (taken["inbox"]["unread"], taken["inbox"]["in_hand"], taken["said"]) == (0, 1, [])
    assert taken["doing"]["since"] == pytest.approx(began + 20.0)
    assert taken["hour"]["tokens"] is None
    assert one(story, "dev", at=began - 1.0)["contracts"] == []
    missing = Page(story).response("/page/agents/dev", params={"at": began - 500.0})
    assert (missing.status_code, missing.json()["code"]) == (404, "not-found")
    assert "had not joined" in missing.json()["detail"]


@proves("page_agents/unseen")
def test_looking_at_agents_marks_nobody_as_seen(story: Team) -> None:
    def seen() -> dict[str, Any]:
        return {presence.member.name: presence.member for presence in story.bus.roster()}

    before = seen()
    story.clock.leap(600.0)
    one(story, "qa")
    listing(story)
    assert seen() == before
    assert one(story, "qa")["state"] == "silent"


@proves("page_agents/busy")
def test_the_busy_share_counts_overlapping_messages_once(team: Team) -> None:
    for text in ("One.", "Two."):
        team.note(text, to="dev", sender="lead")
    first, second = team.bus.receive("dev", limit=2)
    team.clock.leap(100.0)
    team.bus.ack(first.token, agent="dev")
    team.clock.leap(50.0)
    team.bus.ack(second.token, agent="dev")
    team.clock.leap(150.0)
    assert one(team, "dev")["hour"]["busy"] == pytest.approx(0.5)


@proves("page_agents/bounded")
def test_the_facts_of_a_busy_agent_are_bounded(team: Team) -> None:
    for number in range(60):
        team.note(f"Message {number}.", sender="lead", to="dev")
    team.bus.receive("dev", limit=30)
    for number in range(30):
        team.note(f"Answer {number}.", sender="dev", to="lead")
    found = one(team, "dev")
    assert (len(found["inbox"]["rows"]), found["inbox"]["unread"], found["inbox"]["in_hand"]) == (20, 30, 30)
    assert (len(found["said"]), len(found["heard"])) == (6, 6)
    assert (len(found["holds"]["rows"]), found["holds"]["messages"]) == (5, 30)
    feed = Page(team).get("/page/feed", filter=found["filters"]["said"], at=team.clock.now())
    assert feed["total"] == 30


@proves("page_agents/names")
@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_name_is_found_by_its_address(open_team: OpenTeam, name: str) -> None:
    team = open_team(id_characters_max=300)
    team.bus.join(name, role="dev", by="human")
    team.note("Hello.", sender="lead", to=name)
    found = one(team, name)
    assert (found["name"], found["inbox"]["unread"]) == (name, 1)
    assert found["name"] in names(listing(team))


@proves("page_agents/unknown")
@pytest.mark.parametrize("name, near", [("leed", "lead"), ("x" * 200, None), ("/", None)])
def test_an_unknown_agent_is_answered_with_the_nearest_name(story: Team, name: str, near: str | None) -> None:
    response = Page(story).response(f"/page/agents/{quote(name, safe='')}")
    tree = response.json()
    assert (response.status_code, tree["code"], tree["nearest"]) == (404, "not-found", near)
    assert (f"Did you mean {near}?" if near else "The list of agents") in tree["detail"]


# --- the list ---------------------------------------------------------------------------------------------------------


@proves("page_agents/list")
def test_the_list_has_a_row_for_each_agent_those_that_wait_first(story: Team) -> None:
    found = listing(story)
    assert names(found)[0] == "dev"
    rows = {agent["name"]: agent for agent in found["agents"]}
    assert rows["dev"]["waits"]["whom"] == ["lead"]
    assert (rows["dev"]["sent"], rows["dev"]["refused"]) == (2, 1)
    assert (rows["dev-2"]["unread"], rows["lead"]["unread"]) == (1, 2)
    assert found["counts"] == {"team": 4, "working": 1, "waiting": 1, "refused": 1, "silent": 1, "gone": 0}
    assert (found["matched"], found["total"], found["cursor"]) == (4, 4, None)
    assert story.bus.send(flow("VALIDATION_REQUEST", "ask-2", "dev", "cto", "T"), sender="dev", to="human").accepted
    waits = next(agent["waits"] for agent in listing(story)["agents"] if agent["name"] == "dev")
    assert (waits["whom"], waits["more"], waits["for_person"]) == (["human"], 1, True)


@proves("page_agents/list/sorted")
def test_the_list_is_sorted_filtered_and_paged_by_the_hub(story: Team) -> None:
    assert names(listing(story, sort="name")) == ["dev", "dev-2", "lead", "qa"]
    assert names(listing(story, sort="-name")) == ["qa", "lead", "dev-2", "dev"]
    assert names(listing(story, sort="unread"))[:2] == ["lead", "dev-2"]
    assert names(listing(story, show="waiting")) == ["dev"]
    assert names(listing(story, show="silent")) == ["qa"]
    found = listing(story, filter="DEV", sort="name", limit=1)
    assert (names(found), found["matched"], found["counts"]["team"]) == (["dev"], 2, 2)
    assert names(listing(story, filter="DEV", sort="name", limit=1, cursor=found["cursor"])) == ["dev-2"]
    story.bus.leave("dev-2")
    assert "dev-2" not in names(listing(story))
    assert names(listing(story, show="gone")) == ["dev-2"]


@proves("page_agents/list/past")
def test_the_list_of_a_past_moment_has_the_agents_of_that_moment(story: Team) -> None:
    moment = story.clock.now()
    story.clock.leap(60.0)
    story.bus.join("scout", role="scout", by="human")
    story.bus.leave("qa")
    assert "scout" in names(listing(story))
    assert names(listing(story, at=moment, sort="name")) == ["dev", "dev-2", "lead", "qa"]


@proves("page_agents/arguments")
@pytest.mark.parametrize(
    "path",
    [
        *("/page/agents?sort=colour", "/page/agents?show=all", "/page/agents?limit=0", "/page/agents?limit=9999"),
        *("/page/agents?cursor=x", "/page/agents?at=nan", "/page/agents/dev?at=x"),
    ],
)
def test_arguments_without_sense_are_answered_with_what_would_have(story: Team, path: str) -> None:
    response = Page(story).response(path)
    assert (response.status_code, response.json()["code"]) == (400, "value-wrong")


# --- waking -----------------------------------------------------------------------------------------------------------


class FakeWay:
    def __init__(self, failure: str = "") -> None:
        self.failure, self.texts = failure, list[str]()

    def deliver(self, session: Session, text: wakes.WakeText) -> None:
        if self.failure:
            raise wakes.WakeError(self.failure)
        self.texts.append(text.keys)


@pytest.fixture
def way(monkeypatch: pytest.MonkeyPatch) -> FakeWay:
    way = FakeWay()
    ways = (Way("tmux-keys", lambda session: True, way.deliver),)
    monkeypatch.setattr(wakes, "WAYS", ways)
    monkeypatch.setattr("telex.surfaces.page.agent_wakes.WAYS", ways)
    return way


def has_session(team: Team, agent: str = "dev", **more: Any) -> None:
    session = Session("codex", f"s-{agent}", agent, pid=os.getpid(), started_at=time.time(), seen_at=time.time())
    sessions.save(sessions.folder_of(str(team.path)), session._replace(state=IDLE, **more))


def wake(team: Team, name: str = "dev", caller: Caller | None = None, **given: Any) -> Any:
    page = Page(team) if caller is None else Page(team, caller)
    return page.response(f"/page/agents/{name}/wake", "POST", json=given)


@proves("page_agents/wake")
def test_an_agent_is_woken_and_its_page_shows_how(team: Team, way: FakeWay) -> None:
    team.bus.join("dev", role="dev", by="human")
    has_session(team, socket="/secret/socket", socket_token="secret", cwd="/secret/folder")
    assert wake(team).json()["stage"] == "none"  # nothing is unread
    team.note("Wake up.", sender="lead", to="dev")
    found = wake(team, force=True).json()
    assert (found["way"], found["stage"], found["unread"]) == ("tmux-keys", "delivered", 1)
    assert len(way.texts) == 1
    page = Page(team).response("/page/agents/dev")
    assert "secret" not in page.text
    tree = page.json()
    assert (tree["client"], tree["session"]["state"], tree["session"]["live"]) == ("codex", "idle", True)
    [row] = tree["wake"]["ways"]
    assert (row["usable"], row["works"], row["error"]) == (True, True, None)
    assert tree["wake"]["by_hand"] == "telex receive --as dev"
    assert listing(team)["agents"][0]["client"] in ("codex", None)


@proves("page_agents/wake")
def test_a_wake_that_fails_says_why(team: Team, way: FakeWay) -> None:
    team.bus.join("dev", role="dev", by="human")
    has_session(team)
    team.note("Wake up.", sender="lead", to="dev")
    way.failure = "nothing runs in tmux pane %3"
    found = wake(team, force=True).json()
    assert (found["way"], found["failures"]) == (None, [way.failure])
    [row] = Page(team).get("/page/agents/dev")["wake"]["ways"]
    assert (row["works"], row["error"]) == (False, way.failure)


@proves("page_agents/wake")
def test_an_agent_without_a_session_here_has_a_wake_due(team: Team) -> None:
    team.bus.join("dev", role="dev", by="human")
    team.note("Wake up.", sender="lead", to="dev")
    found = wake(team).json()
    assert (found["has_session"], found["stage"], found["unread"]) == (False, "due", 1)
    assert [event.agent for event, _ in team.bus.events(Query(kinds=WAKING))] == ["human"]
    assert wake(team, "nobody").status_code == 404


# --- stopping ---------------------------------------------------------------------------------------------------------


@proves("page_agents/stop")
def test_one_agent_is_asked_to_stop(story: Team) -> None:
    before = Page(story).get("/page/agents/dev-2")["shutdown"]
    assert (before["state"], before["may_be_asked"], before["askers"]) == ("not asked", True, ["lead"])
    given = {"as": "lead", "reason": before["reasons"][0]}
    response = Page(story).response("/page/agents/dev-2/stop", "POST", json=given)
    assert response.status_code == 200, response.text
    asked = Page(story).get("/page/agents/dev-2")["shutdown"]
    assert (asked["state"], asked["asked_by"]) == ("silent", "lead")
    assert Page(story).get("/page/agents/dev")["shutdown"]["state"] == "not asked"
    agrees(story, "dev-2", response.json()["id"])
    assert Page(story).get("/page/agents/dev-2")["state"] == "shut down"


@proves("page_agents/stop")
def test_a_request_to_stop_that_is_refused_says_why(story: Team) -> None:
    for name, given, status in (
        ("dev", {"as": "qa", "reason": "user_abort"}, 422),
        ("dev", {"as": "lead", "reason": "because"}, 422),
        ("nobody", {"as": "lead", "reason": "user_abort"}, 404),
        ("dev", {"as": "nobody", "reason": "user_abort"}, 404),
    ):
        assert Page(story).response(f"/page/agents/{name}/stop", "POST", json=given).status_code == status, given


@proves("page_agents/token")
def test_an_agent_s_token_reads_and_wakes_itself_only(story: Team) -> None:
    dev = Caller("dev", "dev", False, "t-1")
    page = Page(story, dev)
    assert page.get("/page/agents/lead")["role"] == "lead"
    assert wake(story, "dev", dev).status_code == 200
    assert wake(story, "lead", dev).status_code == 403
    stop = page.response("/page/agents/dev-2/stop", "POST", json={"as": "lead", "reason": "user_abort"})
    assert (stop.status_code, stop.json()["code"]) == (403, "operator-only")


@proves("page_agents/sessions")
def test_the_session_of_an_agent_is_shown_for_now_only(team: Team) -> None:
    team.bus.join("dev", role="dev", by="human")
    assert Page(team).get("/page/agents/dev")["session"] is None
    has_session(team)
    assert Page(team).get("/page/agents/dev")["session"]["client"] == "codex"
    assert one(team, "dev")["session"] is None


@proves("page_agents/one")
def test_a_message_that_is_held_for_long_is_no_activity(story: Team) -> None:
    story.clock.leap(600.0)
    found = one(story, "dev")
    assert found["doing"]
    assert story.clock.now() - found["active_at"] == pytest.approx(660.0)
    assert found["roles"]["lead"] == "lead"
