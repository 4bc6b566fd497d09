"""What does a person see when something else answers in the hub's place, or one question fails?"""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Watch
from tests.browser.hub_process import HubProcess
from tests.bus.bus_team import speech_of
from tests.proofs import proves

PROXY = "<h1>Something else</h1>"
QUESTIONS = re.compile(r"^http://[^/]+/(?!static/|$)")
VIEWS = (
    "feed", "team", "team/dev", "threads", "thread/1-1", "message/1", "message/id/m-1", "search?text=red", "approvals",
    "escalations", "dead", "stalls", "contracts", "shutdown", "compose", "rates", "refusals",
)  # fmt: skip


@pytest.fixture(autouse=True)
def said(hub: HubProcess, watch: Watch) -> None:
    watch.forgive("Failed to load resource")  # is what the browser says of any answer but 200
    hub.say("The build is red", id="m-1")


def is_live(page: Page) -> None:
    expect(page.locator(".connection")).to_have_text("live")


@proves("page/asks-again")
@pytest.mark.parametrize("status, body", [(502, PROXY), (200, PROXY), (503, "")])
def test_a_question_that_failed_while_the_stream_lives_is_asked_again(
    hub: HubProcess, page: Page, status: int, body: str
) -> None:
    page.goto("/#/rates")
    is_live(page)
    page.route("**/roster", lambda route: route.fulfill(status=status, body=body))
    page.goto("/#/team")
    expect(page.get_by_role("alert")).to_contain_text("The page keeps retrying")
    page.unroute("**/roster")
    expect(page.locator(".team-table")).to_be_visible()  # though nothing has happened
    expect(page.get_by_role("alert")).to_have_count(0)
    is_live(page)


@proves("page/not-the-hub")
@pytest.mark.parametrize("status, body", [(401, PROXY), (401, '{"detail": [1]}'), (403, ""), (503, '"Bad gateway"')])
def test_what_a_proxy_says_is_not_the_hub_s_word(hub: HubProcess, page: Page, status: int, body: str) -> None:
    page.goto("/#/team")
    is_live(page)
    page.route(QUESTIONS, lambda route: route.fulfill(status=status, body=body))
    hub.kill()
    expect(page.locator(".connection")).to_have_text("hub unreachable, retrying …")
    page.goto("/#/dead")
    expect(page.get_by_role("alert")).to_contain_text(f"Something else answered with {status}")
    expect(page.locator("dialog")).to_have_count(0)  # no token would help
    hub.start()
    page.unroute(QUESTIONS)
    is_live(page)
    expect(page.get_by_role("heading", name="Dead letters", exact=True)).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


@proves("page/not-the-hub")
@pytest.mark.parametrize("answer", ["{}", "null", '"ok"', '{"answer": null}', '{"answer": {}}'])
def test_json_that_is_not_the_hub_s_is_understood_by_no_view(hub: HubProcess, page: Page, answer: str) -> None:
    page.goto("/#/search")
    is_live(page)
    page.route(QUESTIONS, lambda route: route.fulfill(status=200, body=answer))
    for view in VIEWS:
        with page.expect_response(QUESTIONS):
            page.goto(f"/#/{view}")
        expect(page.get_by_role("alert")).to_contain_text("is no Telex hub")
    page.unroute(QUESTIONS)
    page.goto("/#/feed")
    expect(page.locator(".happening", has_text="The build is red")).to_have_count(1)


@proves("page/not-the-hub")
def test_what_somebody_else_answered_is_not_taken_for_done(hub: HubProcess, page: Page) -> None:
    escalation = speech_of("vbw-company", "escalation", **{"from": "dev", "to": "senior"})
    assert hub.say(escalation.tree, to="senior", id="e-1").accepted
    page.goto("/#/escalations")
    page.get_by_label("Your answer to dev").fill("Keep the session.")
    page.route("**/send?*", lambda route: route.fulfill(status=200, body="{}"))
    page.get_by_role("button", name="Answer").click()
    expect(page.get_by_role("alert")).to_contain_text("is no Telex hub")
    expect(page.get_by_text("is notified")).to_have_count(0)


@proves("page/threads")
@pytest.mark.parametrize("place, title", [("thread", "Conversations"), ("message", "Search"), ("message/id", "Search")])
def test_an_address_that_names_nothing_leads_to_where_it_is_chosen(
    hub: HubProcess, page: Page, place: str, title: str
) -> None:
    asked: list[str] = []

    def noted(route: Route) -> None:
        asked.append(route.request.url)
        route.continue_()

    page.route(re.compile("undefined"), noted)
    page.goto(f"/#/{place}")
    expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    assert asked == []
