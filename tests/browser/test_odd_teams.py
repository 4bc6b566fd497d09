"""Does the page stay readable when a team is large, its names are long, and its words run from right to left?"""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, WIDE, Watch, fits
from tests.browser.hub_process import HubProcess
from tests.proofs import proves

LONG_NAME = "a" * 64
LONG_ID = "c" * 128
TEAM = 40
OVERLAPPING = """(row) => {
  const words = document.createTreeWalker(row, NodeFilter.SHOW_TEXT), boxes = [];
  while (words.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(words.currentNode);
    if (words.currentNode.data.trim())
      for (const box of range.getClientRects()) boxes.push([words.currentNode.data.trim(), box]);
  }
  return boxes.flatMap(([one, a], index) => boxes.slice(index + 1)
    .filter(([other, b]) => other !== one && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
      && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 6)
    .map(([other]) => `${one} over ${other}`));
}"""


@pytest.fixture
def large(hub: HubProcess) -> HubProcess:
    for name in (LONG_NAME, *(f"agent-{number:02d}" for number in range(TEAM))):
        hub.bus.join(name, role="dev")
    hub.say("Two of you, please.", to="agent-39", id="first")
    hub.say("And you.", to=LONG_NAME, id="second", correlation=LONG_ID)
    return hub


def size(page: Page, screen: tuple[int, int]) -> None:
    page.set_viewport_size({"width": screen[0], "height": screen[1]})


@proves("page/large-team")
@pytest.mark.parametrize("screen", [WIDE, PHONE], ids=["wide", "phone"])
def test_no_label_of_a_large_team_runs_into_another(large: HubProcess, page: Page, screen: Any) -> None:
    size(page, screen)
    page.goto("/")
    labels = page.locator(".tl-label")
    expect(page.locator(".tl-group")).to_contain_text("dev")
    for label in labels.all():
        assert label.evaluate(OVERLAPPING) == []
    page.goto("/#/agents")
    expect(page.locator("main h1")).to_be_visible()


@proves("page/large-team")
@pytest.mark.parametrize("screen", [WIDE, PHONE], ids=["wide", "phone"])
def test_a_row_names_sender_and_recipient_however_long_they_are(large: HubProcess, page: Page, screen: Any) -> None:
    large.say("A word with you.", sender=LONG_NAME, to="agent-07")
    large.say("And with me.", sender=LONG_NAME, to=LONG_NAME)
    size(page, screen)
    page.goto("/")
    expect(page.locator(".row-who")).to_have_count(4)
    short = page.locator(".row-main").filter(has_text="Two of you, please.").locator(".row-who .agent")
    sender, to = short.first.bounding_box(), short.last.bounding_box()
    assert sender is not None
    assert to is not None
    assert 10 < to["x"] - sender["x"] - sender["width"] < 30  # the arrow
    for text, width in (("A word with you.", 50), ("And with me.", 60)):
        row = page.locator(".row-main").filter(has_text=text)
        place, recipient = row.locator(".row-who").bounding_box(), row.locator(".row-who .agent").last.bounding_box()
        assert place is not None
        assert recipient is not None
        assert recipient["width"] > width
        assert recipient["x"] + recipient["width"] <= place["x"] + place["width"] + 1


@proves("page/phone")
@pytest.mark.parametrize("where", [f"conversation/{LONG_ID}", "conversations", "message/id/second"])
def test_the_longest_id_is_broken_and_not_the_page(large: HubProcess, page: Page, where: str) -> None:
    size(page, PHONE)
    page.goto(f"/#/{where}")
    expect(page.locator("main")).to_contain_text(LONG_ID)
    fits(page)


@proves("page/phone")
def test_what_is_not_there_may_have_been_called_anything(hub: HubProcess, page: Page, watch: Watch) -> None:
    watch.forgive("404")
    size(page, PHONE)
    page.goto(f"/#/conversation/{LONG_ID * 2}")
    expect(page.locator("main")).to_contain_text("not-found")
    fits(page)


@proves("page/right-to-left")
def test_what_runs_from_right_to_left_begins_on_the_right(hub: HubProcess, page: Page) -> None:
    hub.say("الاختبار فشل.", id="rtl")
    hub.say("The test has failed.", id="ltr")
    page.goto("/")
    lines = page.locator(".feed .row-gist")
    expect(lines).to_have_count(2)
    where = """(line) => {
      const range = document.createRange(), box = line.getBoundingClientRect();
      range.selectNodeContents(line);
      const words = [...range.getClientRects()].at(-1);
      return words.left - box.left < box.right - words.right ? "left" : "right";
    }"""
    assert [one.evaluate(where) for one in lines.all()] == ["left", "right"]
    page.goto("/#/message/id/rtl")
    assert page.locator(".prose p").evaluate(where) == "right"


@proves("page/feed/gist")
def test_a_line_of_the_feed_has_no_marks_of_markdown_and_tells_each_code_once(hub: HubProcess, page: Page) -> None:
    hub.say("**Not delivered.** Try *again*.", id="bold")
    hub.say({"type": "approval_request"}, id="empty")
    page.goto("/")
    expect(page.locator(".feed .row-gist", has_text="Not delivered. Try")).to_be_visible()
    expect(page.locator(".feed .row.is-refused .row-why")).to_have_text("field-missing")
