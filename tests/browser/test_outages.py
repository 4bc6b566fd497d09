"""The page while the hub is away, while something else answers in its place, and while nobody looks."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import Watch
from tests.browser.hub_process import HubProcess
from tests.proofs import proves

PROXY = "<h1>Something else</h1>"
QUESTIONS = re.compile(r"^http://[^/]+/(?!static/|$)")
VIEWS = ("", "needs", "agents", "conversations", "refusals", "contracts", "rates", "shutdown")
HIDE = """(isHidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
REST_MS = 61_000
AWAY = "hub unreachable, retrying …"


def said(page: Page, text: str) -> Locator:
    return page.locator("main").get_by_text(text)


def connection(page: Page, words: str = "live") -> None:
    expect(page.locator(".connection")).to_have_text(words)


def viewers(page: Page) -> float:
    """Open pages, as the hub counts them."""
    [line] = [line for line in page.request.get("/metrics").text().splitlines() if line.startswith("telex_viewers ")]
    return float(line.split()[1])


# --- the hub is away --------------------------------------------------------------------------------------------------


@proves("page/restart")
def test_the_page_keeps_what_it_shows_and_misses_nothing_when_the_hub_is_killed(
    hub: HubProcess, page: Page, watch: Watch
) -> None:
    watch.forgive_absence()
    hub.say("before the cut", correlation="talk")
    views = (("", "before the cut"), ("refusals", "Refusals"), ("rates", "Rates"))
    for view, words in views:
        page.goto(f"/#/{view}")
        connection(page)
        expect(said(page, words).first).to_be_visible()
    hub.kill()
    connection(page, AWAY)
    hub.say("said in the dark", correlation="talk")
    for view, words in reversed(views):
        page.goto(f"/#/{view}")  # what was shown before is still shown
        expect(said(page, words).first).to_be_visible()
    hub.start()
    connection(page)
    expect(said(page, "said in the dark").first).to_be_visible()
    expect(said(page, "before the cut").first).to_be_visible()
    hub.say("after the cut")
    expect(said(page, "after the cut").first).to_be_visible()


@proves("page/restart")
def test_a_view_that_is_opened_while_the_hub_is_away_is_shown_when_it_is_back(
    hub: HubProcess, page: Page, watch: Watch
) -> None:
    watch.forgive_absence()
    page.goto("/")
    connection(page)
    hub.kill()
    connection(page, AWAY)
    page.goto("/#/refusals")
    expect(page.get_by_role("alert").first).to_be_visible()
    hub.start()
    connection(page)
    expect(page.get_by_role("heading", name="Refusals").first).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


@proves("page/restart")
def test_what_could_not_be_loaded_is_loaded_when_it_is_wanted_again(hub: HubProcess, page: Page, watch: Watch) -> None:
    """A browser does not ask again for a module that it could not get."""
    watch.forgive_absence()
    notice = page.get_by_role("alert").filter(has_text="This view could not be loaded.")
    page.goto("/")
    expect(page.locator("main h1")).to_be_visible()
    connection(page)
    hub.kill()
    connection(page, AWAY)
    page.keyboard.press("w")
    expect(notice).to_be_visible()
    page.goto("/#/refusals")
    expect(notice).to_be_visible()
    page.goto("/#/")  # which was loaded before
    expect(notice).to_have_count(0)
    hub.start()
    connection(page)
    page.goto("/#/refusals")
    expect(page.get_by_role("heading", name="Refusals").first).to_be_visible()
    expect(notice).to_have_count(0)
    page.keyboard.press("w")
    expect(page.get_by_role("dialog")).to_be_visible()


@proves("page/other-record")
@pytest.mark.parametrize("more", [0, 40], ids=["a shorter record", "a longer record"])
def test_a_hub_that_comes_back_with_another_store_is_shown_anew(
    hub: HubProcess, page: Page, watch: Watch, more: int
) -> None:
    watch.forgive_absence()
    for number in range(10):
        hub.say(f"in the old record {number}")
    page.goto("/")
    connection(page)
    expect(said(page, "in the old record 9").first).to_be_visible()
    hub.kill()
    hub.move(hub.folder / "other" / "telex.db")
    for number in range(more):
        hub.say(f"and more of it {number}")
    hub.say("in the new record")
    hub.start()
    expect(said(page, "in the new record").first).to_be_visible()
    expect(said(page, "in the old record")).to_have_count(0)
    hub.say("and it goes on")
    expect(said(page, "and it goes on").first).to_be_visible()


# --- something else answers -------------------------------------------------------------------------------------------


@proves("page/asks-again")
@pytest.mark.parametrize("status, body", [(200, PROXY), (503, "")])
def test_a_question_that_failed_while_the_stream_lives_is_asked_again(
    hub: HubProcess, page: Page, watch: Watch, status: int, body: str
) -> None:
    watch.forgive("Failed to load resource")
    page.goto("/#/nonsense")
    connection(page)
    page.route("**/page/rates?*", lambda route: route.fulfill(status=status, body=body))
    page.goto("/#/rates")
    expect(page.get_by_role("alert")).to_contain_text("The page keeps retrying")
    page.unroute("**/page/rates?*")
    expect(page.get_by_role("heading", name="Rates").first).to_be_visible()  # though nothing has happened
    expect(page.get_by_role("alert")).to_have_count(0)


@proves("page/not-the-hub")
@pytest.mark.parametrize("status, body", [(401, PROXY), (401, '{"detail": [1]}'), (503, '"Bad gateway"')])
def test_what_a_proxy_says_is_not_the_hub_s_word(
    hub: HubProcess, page: Page, watch: Watch, status: int, body: str
) -> None:
    watch.forgive("Failed to load resource")
    page.goto("/#/rates")
    connection(page)
    expect(page.get_by_role("heading", name="Rates").first).to_be_visible()
    page.route(QUESTIONS, lambda route: route.fulfill(status=status, body=body))
    hub.kill()
    connection(page, AWAY)
    page.goto("/#/")
    expect(page.locator("dialog")).to_have_count(0)  # no token would help
    page.goto("/#/rates")
    expect(page.get_by_role("heading", name="Rates").first).to_be_visible()
    hub.start()
    page.unroute(QUESTIONS)
    connection(page)
    expect(page.get_by_role("alert")).to_have_count(0)


@proves("page/not-the-hub")
@pytest.mark.parametrize("answer", ["null", '{"answer": {}}'])
def test_json_that_is_not_the_hub_s_is_understood_by_no_view(
    hub: HubProcess, page: Page, watch: Watch, answer: str
) -> None:
    hub.say("The build is red")
    page.goto("/#/nonsense")
    connection(page)
    page.route(QUESTIONS, unless_stream(lambda route: route.fulfill(status=200, body=answer)))
    for view in VIEWS:
        page.goto(f"/#/{view}")
        expect(page.get_by_role("alert").first).to_contain_text("is no Telex hub")
    page.unroute(QUESTIONS)
    page.goto("/#/")
    expect(said(page, "The build is red").first).to_be_visible()


def unless_stream(handle: Callable[[Route], None]) -> Callable[[Route], None]:
    return lambda route: route.continue_() if "/page/stream" in route.request.url else handle(route)


@proves("page/restart")
@pytest.mark.parametrize("body", [PROXY, "event: update\ndata: [1\n\n", ""])
def test_a_stream_that_is_another_s_is_tried_again(hub: HubProcess, page: Page, watch: Watch, body: str) -> None:
    watch.forgive("Unexpected end of JSON")
    page.route("**/page/stream", lambda route: route.fulfill(body=body, content_type="text/html"), times=2)
    page.goto("/#/nonsense")
    connection(page, AWAY)
    connection(page)


@proves("page/not-found")
@pytest.mark.parametrize(
    "place, title", [("conversation", "Conversations"), ("message", "Search"), ("message/id", "Search")]
)
def test_an_address_that_names_nothing_leads_to_where_it_is_chosen(
    hub: HubProcess, page: Page, place: str, title: str
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"/#/{place}")
    expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    assert not [url for url in asked if "undefined" in url]


# --- nobody looks -----------------------------------------------------------------------------------------------------


@proves("page/hidden")
def test_a_tab_that_nobody_looks_at_rests_and_catches_up(hub: HubProcess, page: Page) -> None:
    page.clock.install()
    hub.say("before it was hidden")
    page.goto("/")
    connection(page)
    expect(said(page, "before it was hidden").first).to_be_visible()
    assert viewers(page) == 1
    page.evaluate(HIDE, True)
    page.clock.fast_forward(REST_MS)
    connection(page, "resting")
    page.clock.fast_forward(REST_MS)  # it goes on resting, whatever it was about to do
    connection(page, "resting")
    page.wait_for_function("async () => (await (await fetch('/metrics')).text()).includes('telex_viewers 0')")
    hub.say("said while it rested")
    assert said(page, "said while it rested").count() == 0
    page.evaluate(HIDE, False)
    connection(page)
    page.clock.run_for(5_000)
    expect(said(page, "said while it rested").first).to_be_visible()
    expect(said(page, "before it was hidden").first).to_be_visible()


@proves("page/hidden")
def test_a_tab_that_had_lost_its_hub_when_it_came_to_rest_rests_all_the_same(
    hub: HubProcess, page: Page, watch: Watch
) -> None:
    watch.forgive_absence()
    page.clock.install()
    page.goto("/")
    connection(page)
    page.clock.pause_at(page.evaluate("Date.now() / 1000 + 1"))
    page.evaluate(HIDE, True)
    page.clock.fast_forward(59_900)
    hub.kill()
    connection(page, AWAY)
    hub.start()
    page.clock.fast_forward(110)
    connection(page, "resting")
    page.clock.fast_forward(REST_MS)  # over the moment at which it would have tried again
    connection(page, "resting")
    assert viewers(page) == 0
    hub.say("said while it rested")
    page.clock.resume()
    page.evaluate(HIDE, False)
    expect(said(page, "said while it rested").first).to_be_visible()


@proves("page/hidden")
def test_a_tab_that_is_looked_at_again_soon_does_not_rest(hub: HubProcess, page: Page) -> None:
    page.clock.install()
    page.goto("/")
    connection(page)
    page.evaluate(HIDE, True)
    page.evaluate(HIDE, False)
    page.clock.fast_forward(REST_MS)
    hub.say("said to whoever looks")
    expect(said(page, "said to whoever looks").first).to_be_visible()
    connection(page)
