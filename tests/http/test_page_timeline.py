"""Timeline, overview and feed of the page over HTTP: bounds with a large team, selections, replays and counts."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bench.big_store import Size, make
from telex.connection import connect
from telex.surfaces.http import page_stats
from telex.surfaces.page import timeline
from telex.surfaces.page.timeline import SHAPES
from tests.bus.bus_team import Team, open_team, speech_of, team
from tests.http.page_kit import Page
from tests.proofs import proves

__all__ = ["open_team", "team"]  # fixtures

BYTES_MAX = 120_000
ROLES = "architect,lead,senior,dev,qa,docs,scout"
SIZE = Size(messages=6_000, agents=200, conversations=60, refused=300, dead=20, approvals=8, escalations=2, hours=3.0)


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("big") / "telex.db", SIZE)


class BigTeam:
    """What `Page` needs of a team, of a store of its own and in real time."""

    def __init__(self, path: Path) -> None:
        from telex.config import Settings
        from telex.testing import FakeClock

        self.path, self.settings, self.clock = path, Settings(durable=False), FakeClock(0.0)


def lanes(found: Any) -> dict[str, Any]:
    return {lane["agent"]: lane for lane in found["lanes"]}


@proves("page/timeline/bounded", "page/overview")
def test_answers_of_a_large_team_stay_small(big: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_stats, "EVENTS_FIRST", page_stats.EVENTS_BACK)
    page: Any = Page(BigTeam(big))  # type: ignore[arg-type]
    queries = ({"seconds": 900}, {"seconds": 10_800}, {"seconds": 0, "roles": ROLES}, {"seconds": 900, "roles": ROLES})
    paths = [("GET", "/page/timeline", {"params": query}) for query in queries]
    paths += [
        ("GET", "/page/overview", {}),
        ("GET", "/page/feed", {"params": {"limit": 200}}),
        ("GET", "/page/home", {}),
    ]
    responses = page.asked(*paths)
    assert [response.status_code for response in responses] == [200] * len(paths)
    assert [len(response.content) for response in responses if len(response.content) > BYTES_MAX] == []
    facts = responses[0].json()
    assert facts["totals"]["agents"] == 201
    assert len(facts["lanes"]) < 60
    assert {group["role"] for group in facts["groups"]} == {"human", *ROLES.split(",")}
    assert len(responses[2].json()["lanes"]) > 150
    overview = responses[4].json()
    assert sum(overview["sent"]) + sum(overview["refused"]) == responses[5].json()["total"]
    assert sum(overview["refused"]) == SIZE.refused
    assert overview["escalations"][-1][1] is None


@proves("page/timeline/bounded")
def test_marks_are_merged_until_there_are_few_enough(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MARKS_MAX", 30)
    for number in range(60):
        team.note(f"Message {number}.")
        team.clock.leap(1.0)
        team.taken("lead")
    found = Page(team).get("/page/timeline", at=team.clock.now(), seconds=600)
    bars, dots = lanes(found)["lead"]["bars"], lanes(found)["dev"]["dots"]
    assert found["thinned"]
    assert len(bars) + len(dots) <= 30
    assert sum(dot[3] if len(dot) > 3 else 1 for dot in dots) == 60


@proves("page/timeline/ahead")
def test_a_replay_gets_the_marks_of_the_time_ahead(team: Team) -> None:
    begin = team.clock.now()
    team.note("Please look at this.")
    team.clock.leap(10.0)
    lease = team.take("lead")
    team.clock.leap(10.0)
    moment = team.clock.now()
    team.clock.leap(10.0)
    team.bus.ack(lease.token, agent="lead")
    team.note("And this.")
    page = Page(team)
    now = lanes(page.get("/page/timeline", at=moment, **{"from": begin}))
    assert [bar[2] for bar in now["lead"]["bars"]] == [None]
    assert len(now["dev"]["dots"]) == 1
    found = page.get("/page/timeline", at=moment, ahead=60, **{"from": begin})
    ahead = lanes(found)
    [bar] = ahead["lead"]["bars"]
    assert bar[1] * found["tick"] == pytest.approx(10.0, abs=0.01)
    assert bar[2] * found["tick"] == pytest.approx(30.0, abs=0.01)
    assert len(ahead["dev"]["dots"]) == 2
    assert ahead["lead"]["doing"]["gist"] == "Please look at this."


@proves("page/replay/agents")
def test_a_past_moment_has_the_agents_of_that_moment(team: Team) -> None:
    team.bus.join("dev", role="dev", by="human")
    team.note("Please look at this.")
    moment = team.clock.now()
    team.clock.leap(30.0)
    team.bus.join("scout", role="scout", by="human")
    team.bus.leave("dev")
    page = Page(team)
    then, now = (page.get("/page/timeline", **query) for query in ({"at": moment}, {"seconds": 0}))
    assert {name: lane["state"] for name, lane in lanes(then).items()}["dev"] == "here"
    assert "scout" not in lanes(then)
    assert {name: lane["state"] for name, lane in lanes(now).items()}["dev"] == "left"
    assert "scout" in lanes(now)
    assert (then["totals"]["gone"], now["totals"]["gone"]) == (0, 1)


@proves("page/timeline/focus")
def test_a_selected_conversation_is_in_the_answer(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "TEXTS_MAX", 3)
    for number in range(40):
        team.bus.join(f"dev-{number:02d}", role="dev")
    team.note("What about the key?", sender="dev-39", to="lead", role="dev", correlation="keys", id="q1")
    team.note("Here it is.", sender="lead", to="dev-39", correlation="keys")
    for number in range(30):
        team.note(f"Message {number}.", sender=f"dev-{number:02d}", to="lead", role="dev")
    seq = team.story("q1").message.seq
    page, at = Page(team), team.clock.now() + 1
    assert "dev-39" not in lanes(page.get("/page/timeline", at=at))
    for query in ({"message": seq}, {"focus": "keys"}):
        found = page.get("/page/timeline", at=at, **query)
        assert "dev-39" in lanes(found)
        assert len(found["focus"]) == 2
        assert {"What about the key?", "Here it is."} <= {facts[4] for facts in found["messages"].values()}
    rest = page.get("/page/timeline/marks", seqs="5,x,99999999", at=at)["messages"]
    assert all(facts[4].startswith(("Message", "What", "Here")) for facts in rest.values())


@proves("page/timeline/climb")
def test_whoever_escalates_waits_for_the_one_that_has_to_answer_now(team: Team) -> None:
    team.bus.join("human", role="human")
    raw = speech_of("vbw-company", "escalation", **{"from": "dev", "to": "senior"}).raw
    team.bus.send(raw, sender="dev", to="senior", id="e1")
    page = Page(team)
    [wait] = lanes(page.get("/page/timeline", at=team.clock.now() + 1))["dev"]["waits_for"]
    assert (wait["whom"], wait["why"]) == (["senior"], "escalation")
    for _ in range(4):
        team.clock.leap(301.0)
        team.bus.escalations()
    found = page.get("/page/timeline", at=team.clock.now() + 1, seconds=3600)
    [wait] = lanes(found)["dev"]["waits_for"]
    assert wait["whom"] == ["human"]
    [climb] = found["climbs"]
    assert [rung[0] for rung in climb["rungs"]][-1] == "human"
    [dot] = lanes(found)["dev"]["dots"]
    assert SHAPES[dot[2]] == "triangle"


@proves("page/timeline/dissolved")
def test_nobody_waits_for_the_answers_of_a_team_that_has_ended(team: Team) -> None:
    team.bus.join("lead", role="lead")
    team.bus.join("dev", role="dev")
    team.bus.shut_down(agent="lead", reason="plan_complete", deadline=0.0, wait=False)
    page = Page(team)
    assert lanes(page.get("/page/timeline", at=team.clock.now() + 1))["lead"]["waits_for"]
    team.clock.leap(5.0)
    team.bus.shut_down(agent="lead", reason="plan_complete", deadline=0.0, force=True)
    found = page.get("/page/timeline", at=team.clock.now() + 1)
    assert lanes(found)["lead"]["waits_for"] == []
    [wait] = lanes(found)["lead"]["waits"]
    assert wait[2] is not None


@proves("page/overview")
def test_what_is_not_counted_yet_is_unknown_and_counted_in_the_background(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_stats, "EVENTS_FIRST", 5)
    for number in range(20):
        team.note(f"Message {number}.")

    async def totals() -> list[int | None]:
        async with connect(team.path, settings=team.settings, clock=team.clock) as bus:
            events = page_stats.RecentEvents(bus)
            before = (await events.caught_up()).messages
            await events.fill()
            return [before, events.messages, len(events.history.messages)]

    assert Page(team).get("/page/feed")["total"] is None
    assert asyncio.run(totals()) == [None, 20, 20]


@proves("page/feed/count")
def test_messages_are_counted_of_a_filter_and_of_a_moment(team: Team) -> None:
    moments = []
    for number in range(50):
        team.note(f"Message {number}.", sender="dev" if number % 2 else "lead", to="qa")
        moments.append(team.clock.now())
        team.clock.leap(1.0)
    page = Page(team)
    assert page.get("/page/feed", limit=10)["total"] == 50
    assert page.get("/page/feed", limit=10, at=moments[19])["total"] == 20
    assert page.get("/page/feed/count", filter="from:dev")["count"] == 25
    assert page.get("/page/feed/count", filter="from:dev", at=moments[19])["count"] == 10


@proves("page/replay/around")
@pytest.mark.parametrize("text, is_known", [("2h", True), ("2026-01-01T00:00", True), ("noonish", False), ("", False)])
def test_a_typed_time_is_a_moment_or_says_what_it_takes(team: Team, text: str, is_known: bool) -> None:
    found = Page(team).get("/page/moment", text=text)
    assert (found["at"] is not None) == is_known
    assert (found["problem"] is None) == is_known


@pytest.mark.parametrize("query", ["at=x", "at=1&from=2", "seconds=-1", "ahead=1e9", "message=x"])
def test_what_is_no_window_is_refused(team: Team, query: str) -> None:
    response = Page(team).response(f"/page/timeline?{query}")
    assert (response.status_code, response.json()["code"]) == (400, "value-wrong")
