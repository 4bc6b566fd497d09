"""Does a person see what is said, as it is said?"""

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import Watch
from tests.browser.hub_process import HubProcess
from tests.proofs import proves

ESCALATION = {
    "type": "escalation", "from": "dev", "to": "senior", "issue": "Who has the key?", "evidence": [],
    "recommendation": "Ask", "severity": "blocking",
}  # fmt: skip


def row(page: Page, text: str) -> Locator:
    return page.locator(".happening", has_text=text)


@proves("page/live", "page/alone")
def test_a_message_appears_without_reloading(hub: HubProcess, page: Page) -> None:
    hub.say("Good morning")
    page.goto("/")
    expect(row(page, "Good morning")).to_have_count(1)
    page.evaluate("window.stayed = true")
    hub.say("The tests are green")
    expect(row(page, "The tests are green")).to_have_count(1)
    assert page.evaluate("window.stayed")


@proves("page/live/progress")
def test_a_row_says_what_became_of_its_message(hub: HubProcess, page: Page) -> None:
    hub.say("Please look at this")
    page.goto("/")
    expect(row(page, "Please look at this").locator(".fate")).to_contain_text("stored")
    [leased] = hub.bus.receive("lead")
    expect(row(page, "Please look at this").locator(".fate")).to_contain_text("leased")
    hub.bus.ack(leased.token, agent="lead")
    expect(row(page, "Please look at this").locator(".fate")).to_contain_text("acked")


@proves("page/live/progress")
def test_a_filtered_row_says_what_became_of_its_message_too(hub: HubProcess, page: Page) -> None:
    hub.bus.join("lead", role="lead")
    hub.bus.join("qa", role="qa")
    hub.say("Please look at this")
    [leased] = hub.bus.receive("lead")
    hub.bus.ack(leased.token, agent="lead")
    hub.say("To all of you", to="*")
    page.goto("/#/feed?agent=dev")
    expect(row(page, "Please look at this").locator(".fate")).to_contain_text("acked")
    expect(row(page, "To all of you").locator(".fate")).to_contain_text("stored")
    [leased] = hub.bus.receive("qa")
    hub.bus.ack(leased.token, agent="qa")
    expect(row(page, "To all of you").locator(".fate")).to_contain_text("1 of 2 acked")


@proves("page/live/refused")
def test_a_refused_message_appears_with_its_codes(hub: HubProcess, page: Page) -> None:
    hub.say("Good morning")
    page.goto("/")
    expect(row(page, "Good morning")).to_be_visible()
    receipt = hub.say({**ESCALATION, "severity": "terrible"}, to="senior")
    assert not receipt.accepted
    refused = page.locator(".happening.refused")
    expect(refused).to_contain_text("refused")
    expect(refused.locator(".codes")).to_contain_text(receipt.findings[0].code)


@proves("page/live/loading")
def test_what_happens_while_the_page_loads_is_not_missed(hub: HubProcess, page: Page) -> None:
    """The answer to the page's first question is held back until something more has been said."""
    hub.say("said before")
    page.goto("/#/team")
    expect(page.get_by_role("status").filter(has_text="live")).to_be_visible()

    page.evaluate("""async () => {
        const { live } = await import("/static/hub.js");
        live.hear((batch) => (window.heard = batch.at(-1).event.seq));
    }""")

    def hold(route: Route) -> None:
        answer = route.fetch()
        [story] = hub.bus.why(hub.say("said while it loads").id)
        page.wait_for_function("seq => window.heard >= seq", arg=story.message.seq)  # by the stream, before the answer
        route.fulfill(response=answer)

    page.route(re.compile(r"/events\?.*limit=200"), hold, times=1)
    page.goto("/#/feed")
    expect(row(page, "said before")).to_have_count(1)
    expect(row(page, "said while it loads")).to_have_count(1)


@proves("page/live/bounded")
def test_the_feed_holds_a_bounded_number_of_rows(hub: HubProcess, page: Page) -> None:
    hub.say("the very first")
    page.goto("/")
    expect(row(page, "the very first")).to_be_visible()
    for number in range(520):
        hub.say(f"news number {number}")
    expect(row(page, "news number 519")).to_be_visible()
    expect(row(page, "the very first")).to_have_count(0)
    expect(page.locator(".happening")).to_have_count(500)


@proves("page/pause")
def test_a_paused_feed_holds_back_what_is_new_and_counts_it(hub: HubProcess, page: Page) -> None:
    hub.say("before")
    page.goto("/")
    expect(row(page, "before")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    for word in ("one", "two", "three"):
        hub.say(f"number {word}")
    new = page.get_by_role("button", name="3 new")
    expect(new).to_be_visible()
    expect(row(page, "number")).to_have_count(0)
    new.click()
    expect(row(page, "number")).to_have_count(3)
    expect(page.get_by_role("button", name="Paused")).to_be_visible()


@proves("page/pause/reading")
def test_who_has_scrolled_down_is_not_pushed_about(hub: HubProcess, page: Page) -> None:
    for number in range(40):
        hub.say(f"line {number}")
    page.goto("/")
    expect(row(page, "line 0")).to_be_visible()
    page.mouse.wheel(0, 600)
    page.wait_for_function("scrollY > 300")
    before = page.evaluate("scrollY")
    hub.say("something new")
    expect(page.get_by_role("button", name="1 new")).to_be_attached()
    assert page.evaluate("scrollY") == before
    page.evaluate("scrollTo(0, 0)")
    expect(row(page, "something new")).to_be_visible()


@proves("page/filter", "page/url")
def test_the_feed_is_narrowed_and_the_address_keeps_how(hub: HubProcess, page: Page) -> None:
    hub.say("from the developer")
    hub.say("from the tester", sender="qa")
    hub.say(ESCALATION, to="senior")
    page.goto("/")
    expect(row(page, "from the tester")).to_be_visible()
    page.get_by_label("Agent").fill("qa")
    page.get_by_label("Agent").press("Enter")
    expect(row(page, "from the developer")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"#/feed\?agent=qa$"))
    hub.say("more from the developer")
    hub.say("more from the tester", sender="qa")
    expect(row(page, "more from the tester")).to_have_count(1)
    page.reload()
    expect(row(page, "more from the tester")).to_have_count(1)
    expect(row(page, "developer")).to_have_count(0)
    expect(page.get_by_label("Agent")).to_have_value("qa")


@proves("page/filter")
def test_the_feed_is_narrowed_by_type_dialect_kind_and_words(hub: HubProcess, page: Page) -> None:
    hub.say("plain words about a banana")
    hub.say(ESCALATION, to="senior")
    for query, shown, hidden in (
        ("type=escalation", "Who has the key?", "banana"),
        ("dialect=plain", "banana", "Who has the key?"),
        ("text=banana", "banana", "Who has the key?"),
    ):
        page.goto(f"/#/feed?{query}")
        expect(row(page, shown).first).to_be_visible()
        expect(row(page, hidden)).to_have_count(0)
    page.goto("/#/feed")
    expect(row(page, "acked it")).to_have_count(0)
    [leased] = hub.bus.receive("lead")
    hub.bus.ack(leased.token, agent="lead")
    page.get_by_label("Show").select_option("acked")
    expect(row(page, "acked it")).to_have_count(1)
    expect(page.locator(".happening.said")).to_have_count(0)


@proves("page/restart")
def test_the_page_comes_back_with_the_hub_and_misses_nothing(hub: HubProcess, page: Page, watch: Watch) -> None:
    watch.forgive_absence()
    hub.say("before the cut")
    page.goto("/")
    connection = page.locator(".connection")
    expect(connection).to_have_text("live")
    expect(row(page, "before the cut")).to_be_visible()
    hub.kill()
    expect(connection).to_contain_text("hub unreachable")
    for number in range(5):
        hub.say(f"said in the dark {number}")
    hub.start()
    expect(connection).to_have_text("live")
    for number in range(5):
        expect(row(page, f"said in the dark {number}")).to_have_count(1)
    hub.say("after the cut")
    expect(row(page, "after the cut")).to_have_count(1)
    expect(row(page, "before the cut")).to_have_count(1)


@proves("page/restart")
@pytest.mark.parametrize("answer", ['{"answer": [', "<p>Sign in to the airport's network</p>", ""])
def test_an_answer_that_was_cut_or_is_another_s_is_no_answer(hub: HubProcess, page: Page, answer: str) -> None:
    hub.say("before the cut")
    page.goto("/")
    expect(page.locator(".connection")).to_have_text("live")
    expect(page.locator(".team-aside .name").first).to_be_visible()
    members = page.locator(".team-aside .name").all_text_contents()
    with page.expect_response("**/roster"):
        page.route("**/roster", lambda route: route.fulfill(status=200, body=answer))
        hub.say("what makes it ask again")
    expect(row(page, "what makes it ask again")).to_have_count(1)
    assert page.locator(".team-aside .name").all_text_contents() == members
    page.goto("/#/team")
    expect(page.get_by_role("alert")).to_contain_text("is no Telex hub")
    page.unroute("**/roster")
    page.reload()
    expect(page.locator(".team-table")).to_be_visible()


@proves("page/restart")
def test_a_filtered_feed_whose_question_fails_asks_again(hub: HubProcess, page: Page) -> None:
    hub.say("said to begin with")
    page.goto("/#/feed?text=said")
    expect(page.locator(".connection")).to_have_text("live")
    expect(row(page, "said to begin with")).to_have_count(1)
    new = re.compile(r"/events\?.*text=said.*after=")
    page.route(new, lambda route: route.fulfill(status=200, body='{"answer": ['), times=1)
    with page.expect_response(new):
        hub.say("said while it could not ask")
    expect(row(page, "said while it could not ask")).to_have_count(1)
    expect(row(page, "said to begin with")).to_have_count(1)


# --- one that nobody looks at, and one whose record has gone ----------------------------------------------------------

HIDE = """(isHidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
REST_MS = 61_000


def viewers(page: Page) -> str:
    """How many follow live events, as the hub counts them."""
    [line] = [line for line in page.request.get("/metrics").text().splitlines() if line.startswith("telex_viewers ")]
    return line.split()[1]


@proves("page/hidden")
def test_a_tab_that_nobody_looks_at_rests_and_catches_up(hub: HubProcess, page: Page) -> None:
    page.clock.install()
    hub.say("before it was hidden")
    page.goto("/")
    connection = page.locator(".connection")
    expect(connection).to_have_text("live")
    expect(row(page, "before it was hidden")).to_have_count(1)
    assert float(viewers(page)) == 1
    page.evaluate(HIDE, True)
    page.clock.fast_forward(REST_MS)
    expect(connection).to_have_text("resting")
    page.clock.fast_forward(REST_MS)  # it goes on resting, whatever it was about to do
    expect(connection).to_have_text("resting")
    page.wait_for_function("async () => (await (await fetch('/metrics')).text()).includes('telex_viewers 0')")
    for number in range(5):
        hub.say(f"said while it rested {number}")
    assert row(page, "said while it rested").count() == 0
    page.evaluate(HIDE, False)
    expect(connection).to_have_text("live")
    for number in range(5):
        expect(row(page, f"said while it rested {number}")).to_have_count(1)
    expect(row(page, "before it was hidden")).to_have_count(1)


@proves("page/hidden")
def test_a_tab_that_had_lost_its_hub_when_it_came_to_rest_rests_all_the_same(
    hub: HubProcess, page: Page, watch: Watch
) -> None:
    watch.forgive_absence()
    page.clock.install()
    page.goto("/")
    connection = page.locator(".connection")
    expect(connection).to_have_text("live")
    page.clock.pause_at(page.evaluate("Date.now() / 1000 + 1"))
    page.evaluate(HIDE, True)
    page.clock.fast_forward(59_900)
    hub.kill()
    expect(connection).to_contain_text("hub unreachable")
    hub.start()
    page.clock.fast_forward(110)
    expect(connection).to_have_text("resting")
    page.clock.fast_forward(REST_MS)  # over the moment at which it would have tried again
    expect(connection).to_have_text("resting")
    assert float(viewers(page)) == 0
    hub.say("said while it rested")
    page.clock.resume()
    page.evaluate(HIDE, False)
    expect(row(page, "said while it rested")).to_have_count(1)


@proves("page/hidden")
def test_a_tab_that_is_looked_at_again_soon_does_not_rest(hub: HubProcess, page: Page) -> None:
    page.clock.install()
    page.goto("/")
    expect(page.locator(".connection")).to_have_text("live")
    page.evaluate(HIDE, True)
    page.evaluate(HIDE, False)
    page.clock.fast_forward(REST_MS)
    hub.say("said to whoever looks")
    expect(row(page, "said to whoever looks")).to_have_count(1)
    expect(page.locator(".connection")).to_have_text("live")


@proves("page/other-record")
@pytest.mark.parametrize("more", [0, 40], ids=["a shorter record", "a longer record"])
def test_a_hub_that_comes_back_with_another_store_is_shown_anew(
    hub: HubProcess, page: Page, watch: Watch, more: int
) -> None:
    watch.forgive_absence()
    for number in range(10):
        hub.say(f"in the old record {number}")
    page.goto("/")
    expect(page.locator(".connection")).to_have_text("live")
    expect(row(page, "in the old record")).to_have_count(10)
    hub.kill()
    hub.move(hub.folder / "other" / "telex.db")
    hub.say("in the new record")
    for number in range(more):
        hub.say(f"and more of it {number}")
    hub.start()
    expect(row(page, "in the new record")).to_have_count(1)
    expect(row(page, "in the old record")).to_have_count(0)
    hub.say("and it goes on")
    expect(row(page, "and it goes on")).to_have_count(1)
