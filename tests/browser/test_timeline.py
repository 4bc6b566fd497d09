"""Home of the page in a browser: timeline, replay, feed and message panel, as a person sees and uses them."""

import re
import time
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from telex.dialects.scalars import format_timestamp
from tests.browser.conftest import PHONE, Watch, fits
from tests.browser.hub_process import HubProcess
from tests.proofs import proves

ESCALATION = {
    "type": "escalation", "from": "dev", "to": "senior", "issue": "Who has the key?", "evidence": [],
    "recommendation": "Ask", "severity": "blocking",
}  # fmt: skip
MARK = """async ([seq, kind]) => {
  for (let tries = 0; tries < 300; tries += 1) {
    const mark = document.querySelector("telex-timeline")?.markOf?.(seq, kind);
    if (mark) return mark;
    await new Promise((done) => setTimeout(done, 50));
  }
  return null;
}"""


def row(page: Page, text: str) -> Locator:
    return page.locator(".feed .row", has_text=text)


def seq_of(hub: HubProcess, name: str) -> int:
    [story] = hub.bus.why(name)
    return story.message.seq


def mark(page: Page, seq: int, kind: str = "dot") -> dict[str, Any]:
    """Where a message's mark is on the screen."""
    found: dict[str, Any] | None = page.evaluate(MARK, [seq, kind])
    assert found is not None, f"message {seq} has no {kind}"
    return found


def point(page: Page, seq: int, kind: str = "dot", *, click: bool = False) -> None:
    box = mark(page, seq, kind)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    (page.mouse.click if click else page.mouse.move)(x, y)


def lane(page: Page, agent: str) -> Locator:
    return page.locator(f'.tl-lane[title="{agent}"]')


# --- timeline ---------------------------------------------------------------------------------------------------------


@proves("page/timeline/lanes")
def test_each_lane_says_what_its_agent_does_and_waits_for(hub: HubProcess, page: Page) -> None:
    for name in ("lead", "dev", "qa"):
        hub.bus.join(name, role=name)
    hub.say("Store the token hashed", sender="lead", to="dev")
    hub.bus.receive("dev")
    hub.say("One more thing", sender="lead", to="dev")
    hub.say({**ESCALATION, "from": "qa", "to": "lead"}, sender="qa", to="lead")
    page.goto("/")
    expect(lane(page, "dev")).to_contain_text("Store the token hashed")
    expect(lane(page, "dev").locator(".tl-unread")).to_contain_text("1")
    expect(page.locator(".bar-facts")).to_contain_text("1 working")
    lane(page, "dev").click()
    expect(page).to_have_url(re.compile("#/agent/dev"))


@proves("page/timeline/marks")
def test_marks_show_what_is_sent_refused_in_hand_and_waited_for(hub: HubProcess, page: Page) -> None:
    for name in ("lead", "qa", "docs"):
        hub.bus.join(name, role=name)
    hub.say("Please look at this", sender="docs", id="sent")
    [lease] = hub.bus.receive("lead")
    hub.say({**ESCALATION, "severity": "terrible"}, sender="qa", to="senior", id="bad")
    hub.say(ESCALATION, to="senior", id="asked")
    page.goto("/#/?zoom=5m")
    sent, bad, asked = (seq_of(hub, name) for name in ("sent", "bad", "asked"))
    assert mark(page, sent)["agent"] == "docs"
    assert mark(page, sent, "bar")["agent"] == "lead"
    assert mark(page, asked, "wait")["agent"] == "dev"
    point(page, bad)
    tip = page.locator(".tl-tip")
    expect(tip).to_contain_text("Refused")
    point(page, sent, "bar")
    expect(tip).to_contain_text("Please look at this")
    expect(tip).to_contain_text("in hand of lead")
    expect(lane(page, "dev")).to_contain_text("waits for")
    hub.bus.ack(lease.token, agent="lead")
    page.mouse.move(0, 0)
    expect(tip).to_have_count(0)
    expect(lane(page, "lead")).to_contain_text("idle")


@proves("page/timeline/select", "page/message")
def test_a_click_lights_up_the_conversation_and_opens_the_message(hub: HubProcess, page: Page) -> None:
    hub.say("What about the key?", id="q1", correlation="keys")
    hub.say("Here it is.", sender="lead", to="dev", id="a1", correlation="keys", reply_to="q1")
    hub.say("Unrelated", sender="qa", to="dev", id="other")
    page.goto("/#/?zoom=5m")
    point(page, seq_of(hub, "q1"), click=True)
    panel = page.get_by_role("complementary", name="Message")
    expect(panel.get_by_role("heading", name="What about the key?")).to_be_visible()
    expect(page).to_have_url(re.compile(f"message={seq_of(hub, 'q1')}"))
    page.wait_for_function("() => document.querySelector('telex-timeline').answer.focus.length === 2")
    expect(row(page, "What about the key?")).to_have_class(re.compile("is-chosen"))
    page.reload()
    expect(panel.get_by_role("heading", name="What about the key?")).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)


@proves("page/timeline/back")
@pytest.mark.parametrize("view", ["", "conversation/talk"], ids=["timeline", "conversation"])
def test_the_way_back_closes_a_message(hub: HubProcess, page: Page, view: str) -> None:
    """On a phone it covers the page."""
    for words in ("First", "Second"):
        hub.say(words, correlation="talk")
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    page.goto("/#/agents")
    expect(page.locator("main h1")).to_have_text("Agents")
    page.goto(f"/#/{view}")
    panel = page.locator("telex-message-panel")
    rows = page.locator(".rows .row")
    rows.filter(has_text="First").get_by_role("button").click()
    expect(panel).to_contain_text("First")
    page.go_back()
    expect(panel).to_have_count(0)
    expect(page).to_have_url(re.compile(f"#/{view}$"))
    rows.filter(has_text="Second").get_by_role("button").click()
    expect(panel).to_contain_text("Second")
    panel.get_by_role("button", name="Close message").click()
    expect(panel).to_have_count(0)
    page.go_back()
    expect(page.locator("main h1")).to_have_text("Agents")


@proves("page/timeline/keyboard")
def test_the_timeline_is_used_and_heard_by_keyboard(hub: HubProcess, page: Page) -> None:
    with hub.ago(20.0):
        hub.bus.join("lead", role="lead")
        hub.say("first", id="m1")
        hub.say("from the tester", sender="qa", id="m2")
    hub.say("second", id="m3")
    hub.say("from the lead", sender="lead", to="dev", id="m4")
    page.goto("/#/?zoom=5m")
    mark(page, seq_of(hub, "m4"))
    page.get_by_role("application").focus()
    spoken = page.locator("telex-timeline [role=status]")
    page.keyboard.press("ArrowLeft")
    expect(spoken).to_contain_text("lead to dev")
    page.keyboard.press("ArrowDown")
    expect(spoken).to_contain_text("second. Sent.")
    page.keyboard.press("ArrowLeft")
    expect(spoken).to_contain_text("first. Sent.")
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="Message")).to_contain_text("first")
    page.keyboard.press("Escape")
    for key, zoom in (("1", "5 min"), ("3", "1 h"), ("4", "All"), ("2", "15 min")):
        page.keyboard.press(key)
        expect(page.get_by_role("button", name=zoom, exact=True)).to_have_attribute("aria-pressed", "true")


@proves("page/timeline/large")
def test_a_large_team_is_grouped_by_role_and_unfolded_on_request(hub: HubProcess, page: Page) -> None:
    for number in range(30):
        hub.bus.join(f"dev-{number:02d}", role="dev")
        hub.say(f"Message {number}", sender=f"dev-{number:02d}", to="lead")
    page.goto("/")
    group = page.locator(".tl-group", has_text="dev")
    expect(group).to_contain_text("of 30 active")
    expect(page.locator(".tl-lane")).to_have_count(5)
    more = page.get_by_role("button", name=re.compile("dev: 25 more active"))
    more.click()
    scroll = page.locator(".tl-scroll")
    page.wait_for_function("() => document.querySelector('.tl-scroll').scrollHeight > 700")
    assert scroll.evaluate("(node) => node.clientHeight <= 640")
    assert page.locator(".tl-lane").count() < 31  # only those in view
    scroll.evaluate("(node) => node.scrollTo(0, node.scrollHeight)")
    expect(page.locator(".tl-lane", has_text="dev-29")).to_be_visible()
    page.get_by_role("button", name="dev: Show fewer").click()
    expect(more).to_be_attached()


@proves("page/timeline/odd")
def test_names_and_words_of_any_kind_break_nothing(hub: HubProcess, page: Page) -> None:
    hub.bus.join("a" * 64, role="dev")
    hub.say("<b>bold</b> <img src=x onerror=alert(1)> الاختبار فشل.", sender="a" * 64, to="lead", id="odd")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"/#/?message={seq_of(hub, 'odd')}")
    expect(page.get_by_role("complementary", name="Message")).to_contain_text("<b>bold</b>")
    fits(page)


# --- replay -----------------------------------------------------------------------------------------------------------


@proves("page/replay")
def test_a_moment_of_the_past_is_shown_and_left_again(hub: HubProcess, page: Page) -> None:
    with hub.ago(20.0):
        hub.bus.join("lead", role="lead")
        hub.say("Please look at this")
        [lease] = hub.bus.receive("lead")
        hub.say(ESCALATION, to="senior")
    hub.bus.ack(lease.token, agent="lead")
    hub.say("Something later")
    page.goto(f"/#/?at={format_timestamp(time.time() - 10.0)}&zoom=5m")
    banner = page.get_by_role("region", name="Replay")
    expect(banner).to_contain_text("You are looking at the past.")
    expect(lane(page, "lead")).to_contain_text("Please look at this")
    expect(lane(page, "dev")).to_contain_text("waits for senior ·")  # as wide labels say it
    expect(row(page, "Please look at this")).to_contain_text("In hand")
    expect(row(page, "Something later")).to_have_count(0)
    page.keyboard.press("l")
    expect(banner).to_have_count(0)
    expect(row(page, "Something later")).to_be_visible()
    expect(row(page, "Please look at this")).to_contain_text("Done")


@proves("page/replay/slider")
def test_the_slider_shows_a_moment_and_the_replay_plays_from_there(hub: HubProcess, page: Page) -> None:
    with hub.ago(20.0):
        hub.say("At the beginning")
    hub.say("In the end")
    page.goto("/")
    expect(row(page, "In the end")).to_be_visible()
    slider = page.get_by_role("slider", name="Moment shown")
    expect(slider).to_have_attribute("aria-valuetext", "live")
    assert slider.evaluate("slider => slider.value === slider.max")  # live is at its right end
    slider.focus()
    page.keyboard.press("Home")
    expect(page).to_have_url(re.compile(r"at=\d{4}-"))
    expect(row(page, "In the end")).to_have_count(0)
    page.get_by_role("combobox", name="Replay speed").select_option("10")
    page.locator("h1").click()
    page.keyboard.press(" ")
    expect(page.get_by_role("region", name="Replay")).to_have_count(0)  # it has reached now
    expect(row(page, "In the end")).to_be_visible()
    page.keyboard.press(",")
    expect(page).to_have_url(re.compile(r"at=\d{4}-"))


@proves("page/replay/around")
def test_a_typed_time_is_shown(hub: HubProcess, page: Page) -> None:
    hub.say("Now")
    page.goto("/")
    field = page.get_by_role("textbox", name="Show the moment")
    field.fill("later on")
    field.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Give a time such as 14:05")
    field.fill("")
    expect(page.get_by_role("alert")).to_have_count(0)
    field.fill("2h")
    field.press("Enter")
    expect(page.get_by_role("region", name="Replay")).to_contain_text("2 hr ago")
    field.fill("3h to 1h")
    field.press("Enter")
    expect(page.get_by_role("region", name="Replay")).to_contain_text("1 hr ago")
    expect(page.get_by_role("searchbox", name="Filter the feed")).to_have_value(re.compile("^after:.* before:"))
    page.keyboard.press("l")  # the field has let go of the keyboard
    expect(page.get_by_role("region", name="Replay")).to_have_count(0)
    page.goto("/#/?at=2099-01-01T00:00:00Z")  # a moment that has not come is now
    expect(row(page, "Now")).to_be_visible()
    expect(page.get_by_role("region", name="Replay")).to_have_count(0)


# --- feed -------------------------------------------------------------------------------------------------------------


@proves("page/live", "page/live/progress", "page/alone")
def test_a_message_appears_and_changes_without_reloading(hub: HubProcess, page: Page) -> None:
    hub.say("Good morning")
    page.goto("/")
    expect(row(page, "Good morning")).to_have_count(1)
    page.evaluate("window.stayed = true")
    hub.say("The tests are green")
    expect(row(page, "The tests are green").locator(".pill")).to_contain_text("Sent")
    leases = hub.bus.receive("lead", limit=2)
    expect(row(page, "The tests are green").locator(".pill")).to_contain_text("In hand")
    for lease in leases:
        hub.bus.ack(lease.token, agent="lead")
    expect(row(page, "The tests are green").locator(".pill")).to_contain_text("Done")
    assert page.evaluate("window.stayed")


@proves("page/live/refused")
def test_a_refused_message_appears_with_its_codes_and_opens_with_its_findings(hub: HubProcess, page: Page) -> None:
    hub.say("Good morning")
    page.goto("/")
    expect(row(page, "Good morning")).to_be_visible()
    receipt = hub.say({**ESCALATION, "severity": "terrible"}, to="senior")
    refused = page.locator(".feed .row.is-refused")
    expect(refused.locator(".row-why")).to_contain_text(receipt.findings[0].code)
    refused.locator(".row-main").click()
    panel = page.get_by_role("complementary", name="Message")
    expect(panel).to_contain_text("Refused, delivered to nobody")
    expect(panel).to_contain_text("expected")
    expect(panel).to_contain_text("terrible")


@proves("page/live/loading")
def test_what_happens_while_the_page_loads_is_not_missed(hub: HubProcess, page: Page) -> None:
    """The answer to the page's first question is held back until something more has been said."""
    hub.say("said before")

    def hold(route: Route) -> None:
        answer = route.fetch()
        hub.say("said while it loads")
        time.sleep(0.5)  # the stream has told it by now
        route.fulfill(response=answer)

    page.route(re.compile(r"/page/home"), hold, times=1)
    page.goto("/#/")
    expect(row(page, "said before")).to_have_count(1)
    expect(row(page, "said while it loads")).to_have_count(1)


@proves("page/feed/older", "page/live/bounded")
def test_older_messages_are_paged_and_the_rows_are_bounded(hub: HubProcess, page: Page) -> None:
    for number in range(90):
        hub.say(f"message number {number:03d}")
    page.goto("/")
    rows = page.locator(".feed .row")
    expect(rows).to_have_count(40)
    expect(page.locator(".feed")).to_contain_text("90 messages")
    page.get_by_role("button", name="Older").click()
    expect(rows).to_have_count(80)
    page.get_by_role("button", name="Older").click()
    expect(rows).to_have_count(90)
    expect(row(page, "message number 000")).to_be_attached()
    expect(page.get_by_role("button", name="Older")).to_have_count(0)
    for number in range(100):
        hub.say(f"news {number:03d}")
    page.evaluate("scrollTo(0, 0)")
    expect(row(page, "news 099")).to_be_visible()
    expect(rows).to_have_count(90)
    expect(row(page, "news 009")).to_have_count(0)
    page.get_by_role("button", name="Older").click()
    expect(rows).to_have_count(130)
    expect(row(page, "news 009")).to_be_attached()


@proves("page/pause/reading")
def test_who_has_scrolled_down_is_not_pushed_about(hub: HubProcess, page: Page) -> None:
    for number in range(45):
        hub.say(f"line {number}")
    page.goto("/")
    expect(row(page, "line 44")).to_be_attached()
    page.locator(".feed .row").nth(20).scroll_into_view_if_needed()
    page.evaluate("scrollBy(0, 400)")
    page.wait_for_function("() => document.querySelector('.feed .rows').getBoundingClientRect().top < 0")
    before = page.locator(".feed .row", has_text="line 20").bounding_box()
    hub.say("something new")
    expect(page.get_by_role("button", name="1 new message")).to_be_visible()
    assert page.locator(".feed .row", has_text="line 20").bounding_box() == before
    page.get_by_role("button", name="1 new message").click()
    expect(row(page, "something new")).to_be_visible()


@proves("page/filter", "page/url")
def test_the_feed_is_filtered_and_the_address_keeps_how(hub: HubProcess, page: Page) -> None:
    hub.say("from the developer")
    hub.say("from the tester", sender="qa")
    page.goto("/")
    expect(row(page, "from the tester")).to_be_visible()
    page.get_by_role("searchbox", name="Filter the feed").fill("from:qa")
    expect(row(page, "from the developer")).to_have_count(0)
    expect(page.locator(".feed")).to_contain_text("1 of the messages match")
    expect(page).to_have_url(re.compile(r"filter=from%3Aqa"))
    hub.say("more from the developer")
    hub.say("more from the tester", sender="qa")
    expect(row(page, "more from the tester")).to_have_count(1)
    page.reload()
    expect(row(page, "more from the tester")).to_have_count(1)
    expect(row(page, "developer")).to_have_count(0)
    expect(page.get_by_role("searchbox", name="Filter the feed")).to_have_value("from:qa")
    page.get_by_role("searchbox", name="Filter the feed").fill("state:fine")
    expect(page.get_by_role("alert")).to_contain_text("state: takes one of")


@proves("page/restart")
def test_the_page_comes_back_with_the_hub_and_misses_nothing(hub: HubProcess, page: Page, watch: Watch) -> None:
    watch.forgive_absence()
    hub.say("before the cut")
    page.goto("/")
    connection = page.locator(".top .live")
    expect(connection).to_have_text("live")
    expect(row(page, "before the cut")).to_be_visible()
    hub.kill()
    expect(connection).to_contain_text("hub unreachable")
    expect(row(page, "before the cut")).to_be_visible()
    for number in range(5):
        hub.say(f"said in the dark {number}")
    hub.start()
    expect(connection).to_have_text("live")
    for number in range(5):
        expect(row(page, f"said in the dark {number}")).to_have_count(1)
    expect(row(page, "before the cut")).to_have_count(1)


@proves("page/asks-again")
def test_a_part_that_could_not_be_loaded_is_asked_for_again(hub: HubProcess, page: Page) -> None:
    hub.say("said to begin with")
    page.goto("/")
    expect(lane(page, "dev")).to_be_visible()
    page.route("**/page/timeline?*", lambda route: route.fulfill(status=200, body='{"answer": ['), times=1)
    hub.say("said while it could not ask", sender="qa")
    expect(lane(page, "qa")).to_be_visible()


# --- message ----------------------------------------------------------------------------------------------------------


@proves("page/message", "page/message/by-id", "page/message/live")
def test_a_message_has_a_view_of_its_own(hub: HubProcess, page: Page) -> None:
    hub.say("# Heading\n\nSome *words*.", id="m1", correlation="keys")
    page.goto("/#/message/id/m1")
    expect(page.get_by_role("heading", level=1, name="Heading").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"#/message/\d+$"))
    expect(page).to_have_title(re.compile("Heading"))
    panel = page.get_by_role("complementary", name="Message")
    expect(panel.locator(".prose em")).to_have_text("words")
    panel.get_by_text("As it was sent").click()
    expect(panel.locator("pre")).to_contain_text("Some *words*.")
    expect(panel.locator(".steps")).to_contain_text("not yet")
    [lease] = hub.bus.receive("lead")
    expect(panel.locator(".steps")).to_contain_text("In hand")
    hub.bus.ack(lease.token, agent="lead")
    expect(panel.locator(".steps")).to_contain_text("Done")
    hub.say("I have read it.", sender="lead", to="dev", reply_to="m1", id="m2", correlation="keys")
    page.goto("/#/message/id/m2")
    panel.get_by_role("link", name="Heading").click()
    expect(page.get_by_role("heading", level=1, name="Heading").first).to_be_visible()


@proves("page/message/gone")
def test_a_message_that_is_not_there_says_so(hub: HubProcess, page: Page, watch: Watch) -> None:
    watch.forgive("404")
    hub.say("Good morning")
    page.goto("/#/message/99999")
    expect(page.get_by_role("alert")).to_contain_text("no message has the number 99999")
    expect(page.get_by_role("heading", level=1)).to_have_text("Not found")
    page.get_by_role("main").get_by_role("link", name="Timeline").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Timeline")
    page.goto("/#/message/id/nobody-sent-it")
    expect(page.get_by_role("heading", level=1)).to_have_text("Not found")


# --- everybody --------------------------------------------------------------------------------------------------------


@proves("page/accessible")
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_the_home_has_no_fault_by_axe(hub: HubProcess, page: Page, watch: Watch, axe: str, colours: Any) -> None:
    watch.forgive("Applying inline style")
    hub.bus.join("lead", role="lead")
    hub.say(ESCALATION, to="senior", correlation="keys")
    hub.say({**ESCALATION, "severity": "terrible"}, to="senior", id="bad")
    hub.say("Please look at this", correlation="keys")
    hub.bus.receive("lead")
    page.emulate_media(color_scheme=colours, reduced_motion="reduce")
    faults: list[str] = []
    views = ("", f"?message={seq_of(hub, 'bad')}", "?at=2026-01-01T00:00:00Z")
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        for view in views:
            page.goto(f"/#/{view}")
            expect(page.locator("telex-overview input")).to_be_attached()
            expect(page.locator(".loading")).to_have_count(0)
            page.evaluate(axe)
            found = page.evaluate("axe.run('main', {resultTypes: ['violations'], preload: false})")
            faults += [
                f"{width} {view}: {one['id']}: {node['target']} {node['failureSummary']}"
                for one in found["violations"]
                for node in one["nodes"][:3]
            ]
    assert faults == []
