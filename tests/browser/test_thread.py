"""Can a person follow one conversation, and look into one message?"""

import json
import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.hub_process import HubProcess
from tests.proofs import proves

HOSTILE = '<img src=x onerror="window.pwned=1"><b>bold</b> {{7*7}} ${7*7} <script>window.pwned=1</script>'


def escalation(issue: str, **more: Any) -> dict[str, Any]:
    words = {"evidence": ["The plan does not say"], "recommendation": "Ask", "severity": "blocking"}
    return {"type": "escalation", "from": "dev", "to": "senior", "issue": issue, **words, **more}


def conversation(hub: HubProcess) -> None:
    """Asked, refused, and answered."""
    hub.say(escalation("Who has the key?"), to="senior", id="ask-1", correlation="keys")
    hub.say(escalation("Well?", severity="terrible"), to="senior", id="ask-2", correlation="keys")
    hub.say("Look in the vault", sender="senior", to="dev", reply_to="ask-1", correlation="keys")


@proves("page/thread")
def test_a_conversation_is_drawn(hub: HubProcess, page: Page) -> None:
    conversation(hub)
    page.goto("/#/thread/keys")
    expect(page.locator(".diagram .column")).to_have_text([re.compile("dev"), re.compile("senior")])
    steps = page.locator(".diagram .step")
    expect(steps).to_have_count(3)
    asked, refused, answered = steps.all()
    expect(asked.locator(".label")).to_have_text("escalation")
    expect(refused).to_have_class(re.compile("refused"))
    expect(refused.locator(".cross")).to_have_count(1)
    expect(refused.locator(".point")).to_have_count(0)
    expect(answered).to_have_class(re.compile("answer"))
    assert answered.locator(".shaft").evaluate("line => getComputedStyle(line).strokeDasharray") != "none"
    asked.click()
    expect(page).to_have_url(re.compile(r"#/message/\d+$"))
    expect(page.locator(".fields")).to_contain_text("Who has the key?")


@proves("page/thread/live")
def test_the_diagram_grows(hub: HubProcess, page: Page) -> None:
    hub.say(escalation("Who has the key?"), to="senior", id="ask-1", correlation="keys")
    page.goto("/#/thread/keys")
    expect(page.locator(".diagram .step")).to_have_count(1)
    expect(page.locator(".diagram .point.open")).to_have_count(1)
    [leased] = hub.bus.receive("senior")
    hub.bus.ack(leased.token, agent="senior")
    expect(page.locator(".diagram .point.open")).to_have_count(0)
    hub.say("I do not know", sender="senior", to="qa", correlation="keys")
    expect(page.locator(".diagram .step")).to_have_count(2)
    expect(page.locator(".diagram .column")).to_have_count(3)


@proves("page/thread/list", "page/url")
def test_a_conversation_as_a_list(hub: HubProcess, page: Page) -> None:
    conversation(hub)
    page.goto("/#/thread/keys")
    page.get_by_role("button", name="List").click()
    expect(page.locator(".thread-list > li")).to_have_count(3)
    page.reload()
    expect(page.locator(".thread-list > li")).to_have_count(3)
    expect(page.locator(".thread-list .finding")).not_to_have_count(0)
    expect(page.locator(".diagram")).to_have_count(0)


@proves("page/threads")
def test_conversations_are_listed(hub: HubProcess, page: Page) -> None:
    conversation(hub)
    hub.say("Another matter", correlation="doors/and windows")
    page.goto("/#/threads")
    expect(page.locator(".result .strong")).to_have_text(["doors/and windows", "keys"])
    page.get_by_role("link", name="doors/and windows").click()
    expect(page.locator(".diagram .step")).to_have_count(1)


@proves("page/threads/counted")
def test_conversations_are_counted_by_the_hub_however_long_ago_they_began(hub: HubProcess, page: Page) -> None:
    for number in range(3):
        hub.say(f"first {number}", correlation="long")
    hub.say("An old matter", correlation="old")
    for number in range(1_000):
        hub.say(f"news {number}", correlation=f"matter {number % 40}" if number > 900 else None)
    hub.say("last", correlation="long")
    page.goto("/#/threads")
    results = page.locator(".result")
    expect(results.first).to_contain_text("4 messages")
    expect(results).to_have_count(30)
    page.get_by_role("button", name="Older").click()
    expect(results).to_have_count(42)
    expect(results.last).to_contain_text("An old matter")
    expect(page.get_by_role("button", name="Older")).to_have_count(0)


@proves("page/message", "page/message/by-id")
def test_a_message_is_shown_whole(hub: HubProcess, page: Page) -> None:
    conversation(hub)
    hub.bus.join("senior", role="senior", dialects=["build-flow"])
    hub.say(escalation("In other words?"), to="senior", id="ask-3", correlation="keys")
    page.goto("/#/message/id/ask-2")
    main = page.locator("main")
    expect(main.get_by_text("Why it was refused")).to_be_visible()
    expect(main.locator(".finding .code").first).not_to_be_empty()
    main.get_by_text("What not-one-of means").click()
    expect(main.get_by_text("What not-one-of means")).to_be_visible()
    expect(main.locator(".fields")).to_contain_text("terrible")
    expect(main.locator(".story")).to_contain_text("refused")
    main.get_by_text("As it was sent").click()
    assert json.loads(main.locator("pre.raw").last.inner_text())["severity"] == "terrible"
    page.goto("/#/message/id/ask-3")
    readers = main.locator("section", has_text="What its readers received")
    expect(readers).to_contain_text("senior")
    readers.locator("summary").click()
    expect(readers.locator("pre")).to_contain_text("In other words?")


@proves("page/message/live")
def test_what_becomes_of_a_message_is_shown_while_one_looks(hub: HubProcess, page: Page) -> None:
    hub.say("Please look at this", id="look-1")
    page.goto("/#/message/id/look-1")
    story = page.locator(".story")
    expect(story).to_contain_text("sent it")
    expect(story).not_to_contain_text("acked it")
    [leased] = hub.bus.receive("lead")
    hub.bus.ack(leased.token, agent="lead")
    expect(story).to_contain_text("acked it")


@proves("page/message/gone")
def test_a_message_that_is_not_there(hub: HubProcess, page: Page) -> None:
    page.watch.forgive("404")  # type: ignore[attr-defined]
    page.goto("/#/message/4711")
    expect(page.get_by_role("alert")).to_contain_text("4711")


@proves("page/message/text")
def test_whatever_a_message_says_is_shown_as_text(hub: HubProcess, page: Page) -> None:
    hub.say(HOSTILE, id="evil-1", correlation=HOSTILE)
    hub.say(escalation(HOSTILE), to="senior", id="evil-2", correlation=HOSTILE)
    for view in ("feed", "message/id/evil-1", "message/id/evil-2", "threads", "search?text=bold", "team/lead"):
        page.goto(f"/#/{view}")
        expect(page.locator("main")).to_contain_text("<b>bold</b>" if "evil" not in view else "bold")
        assert page.evaluate("window.pwned") is None
        assert page.locator("main img[src=x], main script, main b").count() == 0
    page.goto("/#/threads")
    page.locator(".result .strong").first.click()
    expect(page.locator(".diagram .step")).to_have_count(2)
    assert page.evaluate("window.pwned") is None


@proves("page/search", "page/url")
def test_a_search_finds_as_one_types(hub: HubProcess, page: Page) -> None:
    hub.say("The banana is ripe")
    hub.say("The apple is not")
    page.goto("/")
    page.keyboard.press("/")
    page.get_by_role("searchbox").fill("ban")
    page.get_by_role("searchbox").fill("banana ripe")
    expect(page.locator(".result")).to_have_count(1)
    expect(page.locator(".result mark")).to_have_text(["banana", "ripe"])
    expect(page).to_have_url(re.compile(r"#/search\?text=banana\+ripe$"))
    page.reload()
    expect(page.locator(".result")).to_have_count(1)
    page.get_by_role("searchbox").fill("no such words")
    expect(page.get_by_text("Not found")).to_be_visible()


@proves("page/team")
def test_the_team_and_one_inbox(hub: HubProcess, page: Page) -> None:
    hub.say("One for the lead")
    hub.say("Another for the lead", sender="qa")
    page.goto("/#/team")
    lead = page.locator("tr", has=page.get_by_role("rowheader", name="lead", exact=True))
    expect(lead.locator("td").nth(2)).to_have_text("2")
    hub.bus.receive("lead")
    expect(lead.locator("td").nth(3)).to_have_text("1")
    expect(lead).to_contain_text("here")
    lead.get_by_role("link", name="lead").click()
    expect(page.locator("main table")).to_contain_text("One for the lead")
    expect(page.locator("main table")).to_contain_text("Another for the lead")
