"""Composer, palette and "connect your agents" over HTTP."""

import pytest

from telex.surfaces.clients.table import CLIENTS
from telex.surfaces.http.tokens import Caller, TokenFile, matching, tokens_path
from tests.bus.bus_team import Team, open_team, team
from tests.http.page_kit import Page
from tests.proofs import proves

__all__ = ["open_team", "team"]  # fixtures


@pytest.fixture
def crew(team: Team) -> Team:
    for name, role in {"lead": "lead", "dev": "dev", "dev-2": "dev", "qa": "qa", "human": "human"}.items():
        team.bus.join(name, role=role)
    team.bus.join("old", role="qa")
    team.bus.leave("old")
    return team


@proves("page_search/compose/recipients")
def test_recipients_say_how_many_agents_they_would_wake(crew: Team) -> None:
    found = {one["label"]: one["wakes"] for one in Page(crew).get("/page/recipients")["recipients"]}
    names = {"lead": 1, "dev": 1, "dev-2": 1, "qa": 1}
    assert found == {**names, "everyone": 4, "all of dev": 2, "one of dev": 1}


@proves("page_search/compose/recipients")
def test_looking_at_recipients_marks_nobody_as_seen(crew: Team) -> None:
    crew.clock.leap(10_000.0)
    Page(crew).asked(*(("GET", path, {}) for path in ("/page/recipients", "/page/find?words=dev", "/page/feed")))
    assert {one.state for one in crew.bus.roster() if one.member.name != "old"} == {"silent"}


@proves("page_search/palette/find")
def test_the_palette_finds_agents_conversations_and_messages(crew: Team) -> None:
    crew.note("The reset mail is sent twice.", sender="dev", to="qa", correlation="1-1-T2")
    crew.note("Fixed.", sender="qa", to="dev", correlation="1-1-T2")
    page = Page(crew)
    found = page.get("/page/find", words="de")
    assert [one["name"] for one in found["agents"]] == ["dev", "dev-2"]
    found = page.get("/page/find", words="reset")
    assert [(one["id"], one["messages"]) for one in found["conversations"]] == [("1-1-T2", 2)]
    assert [one["gist"] for one in found["messages"]] == ["The reset mail is sent twice."]
    found = page.get("/page/find", words="")
    assert (len(found["agents"]), found["messages"]) == (6, [])


@proves("page_search/connect")
def test_every_client_has_commands_that_can_be_copied(crew: Team) -> None:
    found = Page(crew).get("/page/connect")
    assert {client["name"] for client in found["clients"]} == {*CLIENTS, "program"}
    assert all(client["init"] and client["run"] and client["does"] for client in found["clients"])
    assert (found["agents"], found["may_create_tokens"]) == (4, True)
    assert found["hub"].startswith("http://")


@proves("page_search/connect/token")
def test_a_token_of_an_agent_is_created_and_shown_once(crew: Team) -> None:
    made = Page(crew).response("/page/tokens", "POST", json={"agent": "Kim", "role": "dev"}).json()
    file = TokenFile(tokens_path(str(crew.path)))
    token = matching(made["token"], file.tokens(), made["now"])
    assert token is not None
    assert (token.agent, token.role, token.operator) == ("kim", "dev", False)
    assert made["token"] not in str(file.tokens())


@proves("page_search/connect/token")
@pytest.mark.parametrize("given", [{}, {"agent": "human"}, {"agent": "a:b"}, {"agent": "*"}, []])
def test_a_token_needs_a_name(crew: Team, given: object) -> None:
    response = Page(crew).response("/page/tokens", "POST", json=given)
    assert (response.status_code, response.json()["code"]) == (400, "value-wrong")


@proves("page_search/connect/token")
def test_an_agent_cannot_create_tokens(crew: Team) -> None:
    page = Page(crew, Caller("dev", "dev", False, "t1"))
    response = page.response("/page/tokens", "POST", json={"agent": "kim", "role": "dev"})
    assert (response.status_code, response.json()["code"]) == (403, "operator-only")
    assert not page.get("/page/connect")["may_create_tokens"]
