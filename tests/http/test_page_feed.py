"""Feed and timeline of the page over HTTP: filters, excerpts, paging, and moments before the hub's own history."""

import json
from typing import Any

import pytest

from telex.surfaces.http import page_stats
from telex.surfaces.page import past
from telex.surfaces.page.timeline import BAR_STATES
from tests.bus.bus_team import Team, open_team, speech_of, team
from tests.http.page_kit import Page
from tests.proofs import proves

__all__ = ["open_team", "team"]  # fixtures


def gists(found: Any) -> list[str]:
    return [row["gist"] for row in found["rows"]]


@pytest.fixture
def story(team: Team) -> Team:
    """Five messages, a minute apart."""
    team.note("The build is red since noon.", sender="dev", to="lead")
    team.clock.leap(60.0)
    team.note("I rebuild the parser.", sender="dev-2", to="lead", role="dev")
    team.clock.leap(60.0)
    team.bus.send("Nobody reads this.", sender="dev", to="nobody", check=False)
    team.clock.leap(60.0)
    request = speech_of("vbw-typed", "approval_request", "ask-1")
    team.bus.send(request.raw, sender=request.sender, to="lead")
    team.clock.leap(60.0)
    team.note("Déjà vu: the café test is green.", sender="lead", to="dev")
    team.clock.leap(60.0)
    return team


@proves("page_search/search/operators")
@pytest.mark.parametrize(
    "words, wanted",
    [
        ("from:dev-2", ["I rebuild the parser."]),
        ("from:dev*", None),
        ("from:lead to:dev", ["Déjà vu: the café test is green."]),
        ("role:dev -from:dev type:text", ["I rebuild the parser."]),
        ("state:refused", ["Nobody reads this."]),
        ("refused", ["Nobody reads this."]),
        ("type:text buil", ["I rebuild the parser.", "The build is red since noon."]),
        ("build*", ["The build is red since noon."]),
        ('"build is"', ["The build is red since noon."]),
        ('"uild is"', []),
        ("deja CAFE", ["Déjà vu: the café test is green."]),
        ("green -café", []),
        ("after:90s", ["Déjà vu: the café test is green."]),
        ("before:230s -red", ["I rebuild the parser."]),
        ("id:ask-1", None),
        ("from:lead,dev-2", ["Déjà vu: the café test is green.", "I rebuild the parser."]),
        ("src:main", []),
    ],
)  # fmt: skip
def test_the_feed_is_filtered(story: Team, words: str, wanted: list[str] | None) -> None:
    found = Page(story).get("/page/feed", filter=words, at=story.clock.now())
    assert found["problems"] == []
    if wanted is None:
        assert gists(found)
    else:
        assert gists(found) == wanted
        assert found["total"] == len(wanted)


@proves("page_search/search/operators")
@pytest.mark.parametrize("words", ["before:noonish", "state:fine", "around:25:99"])
def test_a_filter_that_is_not_understood_says_what_it_takes(story: Team, words: str) -> None:
    found = Page(story).get("/page/feed", filter=words)
    assert [problem.split(":")[0] for problem in found["problems"]] == [words.split(":")[0]]
    assert len(found["rows"]) == 5


@proves("page_search/search/time")
def test_a_time_of_day_is_the_searchers(story: Team) -> None:
    now = story.clock.now()  # 2026-01-01 00:05 UTC
    page = Page(story)
    for offset, words in ((0, "after:00:04"), (7_200, "after:02:04"), (-3_600, "after:23:04")):
        assert len(gists(page.get("/page/feed", filter=words, at=now, utc_offset=offset))) == 1
    assert len(gists(page.get("/page/feed", filter="around:23:58", at=now))) == 4
    assert gists(page.get("/page/feed", filter="before:2026-01-01", at=now)) == []


@proves("page_search/search/excerpt")
def test_an_excerpt_is_text_around_the_match_and_no_json(team: Team) -> None:
    words = " ".join(f"word{number}" for number in range(200))
    report = speech_of("vbw-typed", "approval_request", "ask-1")
    report.tree["payload"]["evidence"] = f"{words} needle {words}"
    team.bus.send(json.dumps(report.tree), sender=report.sender, to="lead")
    [row] = Page(team).get("/page/feed", filter="needl")["rows"]
    assert "needle" in row["excerpt"]
    assert len(row["excerpt"]) <= 210
    assert not set(row["excerpt"]) & set('{}"')
    [row] = Page(team).get("/page/feed", filter="approval")["rows"]
    assert row["excerpt"] is None


@proves("page_search/search/long")
def test_a_word_deep_in_a_long_message_is_found(team: Team) -> None:
    team.note(f"Log:\n{'x' * 90 + ' '} " * 800 + "needle")
    assert len(Page(team).get("/page/feed", filter="needle")["rows"]) == 1
    assert Page(team).get("/page/feed", filter="needles")["rows"] == []


@pytest.mark.parametrize(
    "path", ["/page/feed?filter=after:14:05", "/page/moment?text=14:05", "/page/find?words=after:14:05"]
)
@pytest.mark.parametrize("offset", ["86400", "-43201", "nan"])
def test_an_offset_that_no_clock_has_is_refused(team: Team, path: str, offset: str) -> None:
    assert Page(team).response(f"{path}&utc_offset={offset}").status_code == 400


@proves("page_search/past/feed")
def test_older_pages_reach_the_first_message(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_stats, "EVENTS_BACK", 30)
    monkeypatch.setattr(past, "EVENTS", 40)
    monkeypatch.setattr(past, "STEP", 10)
    for number in range(60):
        team.note(f"Message {number}.")
        if number % 2:
            team.clock.leap(1.0)
            team.taken("lead")
        team.clock.leap(1.0)
    page, seen, before = Page(team), list[str](), None
    for _ in range(60):
        found = page.get("/page/feed", limit=7, **({} if before is None else {"before": before}))
        seen += gists(found)
        assert {row["state"] for row in found["rows"]} <= {"done"}
        before = found["older"]
        if before is None:
            break
    assert seen == [f"Message {number}." for number in reversed(range(60))]
    found = page.get("/page/feed", filter='"Message 3."', before=before or 200)
    while not found["rows"]:
        assert found["older"] is not None
        found = page.get("/page/feed", filter='"Message 3."', before=found["older"])
    assert gists(found) == ["Message 3."]


@proves("page_search/past/timeline")
def test_a_moment_before_the_history_of_the_hub_is_shown_as_it_was(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    team.note("In the beginning.")
    team.clock.leap(5.0)
    lease = team.take("lead")
    team.clock.leap(5.0)
    moment = team.clock.now()
    team.clock.leap(5.0)
    team.bus.ack(lease.token, agent="lead")
    for number in range(60):
        team.note(f"Message {number}.", to="qa")
        team.clock.leap(1.0)
    monkeypatch.setattr(page_stats, "EVENTS_BACK", 20)
    monkeypatch.setattr(past, "STEP", 10)
    page, name = Page(team), "lead"
    [lane] = [one for one in page.get("/page/timeline", at=moment)["lanes"] if one["agent"] == name]
    assert lane["doing"]["gist"] == "In the beginning."
    assert [bar[2:4] for bar in lane["bars"]] == [[None, BAR_STATES.index("in-hand")]]
    [row] = page.get("/page/feed", at=moment)["rows"]
    assert (row["gist"], row["state"]) == ("In the beginning.", "in-hand")
    assert page.get("/page/timeline", at=moment)["begins_at"] == 0.0


@proves("page/live/refused")
def test_a_refused_row_has_the_codes_of_the_refusal_and_no_notes(team: Team) -> None:
    made = speech_of("vbw-typed", "qa_verdict").tree | {"extra": 1}
    made["payload"] |= {"result": "PASSED"}
    receipt = team.bus.send(made, sender="qa", to="lead", check=False)
    assert {one.severity for one in receipt.findings} == {"refusal", "note"}
    [row] = Page(team).get("/page/feed")["rows"]
    assert row["codes"] == ["not-one-of", "pass-with-failures"]
