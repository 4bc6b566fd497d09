"""View of one message: content, findings, deliveries, and texts that stay texts."""

import json
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


@proves("page/message", "page/message/by-id")
def test_a_message_is_shown_whole(hub: HubProcess, page: Page) -> None:
    conversation(hub)
    hub.bus.join("senior", role="senior", dialects=["build-flow"])
    for number in range(5):
        hub.bus.join(f"dev-{number}", role="dev")
    hub.say("To all of you", sender="lead", to="*", id="all-1")
    hub.say(escalation("In other words?"), to="senior", id="ask-3", correlation="keys")
    page.goto("/#/message/id/ask-2")
    main = page.locator("main")
    expect(main.get_by_role("heading", name="Refused, delivered to nobody")).to_be_visible()
    expect(main.get_by_text("not-one-of").first).to_be_visible()
    main.get_by_text("What not-one-of means").click()
    expect(main.get_by_text("What not-one-of means")).to_be_visible()
    expect(main.locator("section", has_text="Content")).to_contain_text("terrible")
    main.get_by_text("Details", exact=True).click()
    expect(main.locator(".panel-events")).to_contain_text("refused")
    main.get_by_text("As it was sent").click()
    raw = main.locator("details", has_text="As it was sent").locator("pre").first.inner_text()
    assert json.loads(raw)["severity"] == "terrible"
    page.goto("/#/message/id/all-1")
    expect(main.get_by_role("row")).to_have_count(1 + 7)  # no button that would show one more
    page.goto("/#/message/id/ask-3")
    readers = main.locator("details", has_text="What its readers received")
    readers.locator("summary").click()
    expect(readers).to_contain_text("senior")
    expect(readers.locator("pre")).to_contain_text("In other words?")


@proves("page/message/live")
def test_what_becomes_of_a_message_is_shown_while_one_looks(hub: HubProcess, page: Page) -> None:
    hub.say("Please look at this", id="look-1")
    page.goto("/#/message/id/look-1")
    delivery = page.get_by_role("row", name="lead")
    expect(delivery).to_contain_text("Sent")
    [leased] = hub.bus.receive("lead")
    expect(delivery).to_contain_text("In hand")
    hub.bus.ack(leased.token, agent="lead")
    expect(delivery).to_contain_text("Done")


@proves("page/message/gone")
def test_a_message_that_is_not_there(hub: HubProcess, page: Page) -> None:
    page.watch.forgive("404")  # type: ignore[attr-defined]
    page.goto("/#/message/4711")
    expect(page.get_by_role("alert")).to_contain_text("4711")


@proves("page/message/text")
def test_whatever_a_message_says_is_shown_as_text(hub: HubProcess, page: Page) -> None:
    hub.say(HOSTILE, id="evil-1", correlation=HOSTILE)
    hub.say(escalation(HOSTILE), to="senior", id="evil-2", correlation=HOSTILE)
    for view in ("", "message/id/evil-1", "message/id/evil-2", "search?q=bold", "agent/lead"):
        page.goto(f"/#/{view}")
        expect(page.locator("main")).to_contain_text("<b>bold</b>" if "evil" not in view else "bold")
        assert page.evaluate("window.pwned") is None
        assert page.locator("main img[src=x], main script, main b:text-is('bold')").count() == 0


@proves("page/colours/role")
def test_a_name_has_the_colour_of_its_role_and_a_group_has_no_page(hub: HubProcess, page: Page) -> None:
    for name, role in (("ada", "lead"), ("ben", "dev"), ("cy", "dev")):
        hub.bus.join(name, role=role, by="human")
    hub.say("Who is free?", sender="ada", to="*", id="all-1")
    hub.say("Any of you", sender="ada", to="role:dev", id="one-1")
    hub.say(escalation("Well?", severity="terrible"), sender="ben", to="ada", id="bad-1")
    page.goto("/#/message/id/all-1")
    main = page.locator("main")
    expect(main.locator(".panel-who")).to_contain_text("everyone")
    expect(main.locator(".panel-who").get_by_role("link")).to_have_count(1)
    expect(main.get_by_role("row").get_by_role("link", name="ben")).to_have_class("agent role-dev")
    page.goto("/#/message/id/one-1")
    expect(main.get_by_role("row")).to_contain_text(["Recipient", "one of dev"])
    page.goto("/#/refusals")
    expect(main.get_by_role("link", name="ben").last).to_have_class("agent role-dev")
    hub.bus.join("dora", role="qa", by="human")
    hub.say("Welcome", sender="ada", to="dora", id="new-1")
    page.goto("/#/search?q=welcome")
    expect(main.locator(".row-who .agent").last).to_have_class("agent role-qa")
