"""Does the page stay readable when a team is large, its names are long, and its words run from right to left?"""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import PHONE, WIDE, Watch
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
def test_of_a_large_team_those_with_something_open_are_shown_first(large: HubProcess, page: Page, screen: Any) -> None:
    size(page, screen)
    page.goto("/")
    team = page.locator("telex-team-aside")
    expect(team.locator("li")).to_have_count(12)
    expect(team.locator("li", has_text="agent-39")).to_contain_text("1 open")
    expect(team).to_contain_text("30 more in the team")  # the sender is in it too
    for row in team.locator("li").all():
        assert row.evaluate(OVERLAPPING) == []
    if screen == PHONE:
        heading = page.get_by_role("heading", name="Messages")
        assert _top(heading) < 2 * PHONE[1]
    team.get_by_role("link", name="30 more").click()
    rows = page.locator(".team-table tbody tr")
    expect(rows).to_have_count(TEAM + 2)
    for row in rows.all():
        assert row.evaluate(OVERLAPPING) == []


def _top(one: Locator) -> float:
    box = one.bounding_box()
    assert box is not None
    return box["y"]


@proves("page/phone")
@pytest.mark.parametrize("view", ["thread", "threads", "message"])
def test_the_longest_id_is_broken_and_not_the_page(large: HubProcess, page: Page, view: str) -> None:
    size(page, PHONE)
    where = {"thread": f"thread/{LONG_ID}", "threads": "threads", "message": "message/id/second"}[view]
    page.goto(f"/#/{where}")
    expect(page.locator("main")).to_contain_text(LONG_ID)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


@proves("page/phone")
def test_what_is_not_there_may_have_been_called_anything(hub: HubProcess, page: Page, watch: Watch) -> None:
    watch.forgive("404")
    size(page, PHONE)
    page.goto(f"/#/thread/{LONG_ID * 2}")
    expect(page.locator("main")).to_contain_text("not-found")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


@proves("page/thread/near")
def test_in_a_large_team_those_who_speak_stand_beside_each_other(large: HubProcess, page: Page) -> None:
    large.say("Everybody, please listen.", to="*", id="all", correlation="talk")
    large.say("I do.", sender="agent-39", to="dev", correlation="talk")
    page.goto("/#/thread/talk")
    columns = page.locator(".diagram-head title")
    expect(columns).to_have_count(TEAM + 2)
    assert [columns.nth(index).text_content() for index in (0, 1)] == ["dev", "agent-39"]
    for label in page.locator(".diagram-body .label").all():
        expect(label).to_be_in_viewport()


@proves("page/right-to-left")
def test_what_runs_from_right_to_left_begins_on_the_right(hub: HubProcess, page: Page) -> None:
    hub.say("الاختبار فشل.", id="rtl")
    hub.say("The test has failed.", id="ltr")
    page.goto("/")
    lines = page.locator(".happening.said .in-a-line")
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
    expect(page.locator(".in-a-line", has_text="Not delivered. Try")).to_be_visible()
    expect(page.locator(".happening.refused .codes")).to_have_text("field-missing 8×")
