"""The command palette: agents, conversations, messages and commands by keyboard."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import PHONE, Watch, fits
from tests.browser.hub_process import HubProcess
from tests.proofs import proves

LONG_NAME = "b" * 64


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    hub = HubProcess(tmp_path)
    for name, role in {"lead": "lead", "dev": "dev", "qa": "qa", LONG_NAME: "dev"}.items():
        hub.bus.join(name, role=role)
    hub.say("The reset mail is sent twice.", sender="dev", to="qa", correlation="1-1-T2")
    hub.say("الاختبار فشل.", sender="qa", to="dev", correlation="other")
    hub.start()
    yield hub
    hub.stop()


def opened(page: Page, key: str = "Control+k") -> Locator:
    page.goto("/#/contracts")
    expect(page.locator("main h1")).to_be_visible()
    page.keyboard.press(key)
    box = page.get_by_role("combobox", name="Search or jump to")
    expect(box).to_be_focused()
    return box


def active(page: Page) -> Locator:
    return page.locator("[role=option][aria-selected=true]")


@proves("page_views/palette/keyboard", "page_search/palette/find")
@pytest.mark.parametrize("key", ["Control+k", "/"])
def test_an_agent_is_found_by_a_part_of_its_name_and_opened_by_keyboard(hub: HubProcess, page: Page, key: str) -> None:
    box = opened(page, key)
    page.keyboard.type("le")
    expect(page.get_by_role("option", name=re.compile("^lead"))).to_be_visible()
    while "lead" not in (active(page).text_content() or "") or "Write" in (active(page).text_content() or ""):
        page.keyboard.press("ArrowDown")
    expect(box).to_have_attribute("aria-activedescendant", active(page).get_attribute("id") or "")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#/agent/lead$"))
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Control+k")  # what was opened last comes first
    expect(page.get_by_role("group", name="Recent").get_by_role("option")).to_have_text(re.compile("lead"))


@proves("page_views/palette/search", "page_search/palette/find")
def test_enter_on_words_searches_and_hits_are_offered(hub: HubProcess, page: Page) -> None:
    opened(page)
    page.keyboard.type("reset ma")
    expect(page.get_by_role("group", name="Messages")).to_contain_text("The reset mail is sent twice.")
    expect(page.get_by_role("group", name="Conversations")).to_contain_text("1-1-T2, 1 message")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"#/search\?q=reset\+ma$"))
    expect(page.locator("main .row")).to_contain_text("The reset mail is sent twice.")


@proves("page_views/palette/commands")
def test_commands_change_the_view_the_colours_and_write_to_an_agent(hub: HubProcess, page: Page) -> None:
    opened(page)
    page.keyboard.type("stop the team")
    expect(active(page)).to_contain_text("Stop the team")  # exactly a command: before the search
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#/shutdown$"))
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Search or jump to")).to_be_focused()
    page.keyboard.type("colours: dark")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Search or jump to")).to_be_focused()
    page.keyboard.type("write to qa")
    expect(active(page)).to_contain_text("Write to qa")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Write to qa")).to_be_visible()


@proves("page_views/palette/away")
def test_a_hub_that_is_away_is_said_to_be_and_commands_work(hub: HubProcess, page: Page, watch: Watch) -> None:
    opened(page)
    page.keyboard.press("Escape")
    watch.forgive_absence()
    hub.kill()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Search or jump to")).to_be_focused()
    page.keyboard.type("rates")
    expect(page.get_by_role("status").filter(has_text="cannot be reached")).to_be_visible()
    expect(page.get_by_role("option", name="Go to Rates")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    hub.start()


@proves("page_views/palette/look")
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_the_palette_shuts_nobody_out_and_fits_a_phone(
    hub: HubProcess, page: Page, watch: Watch, axe: str, colours: Any
) -> None:
    watch.forgive("Applying inline style")  # it is axe that tries to
    page.emulate_media(color_scheme=colours, reduced_motion="reduce")
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    box = opened(page)
    for words in ("", "b", "الاختبار"):
        box.fill(words)
        expect(page.get_by_role("option").first).to_be_visible()
        page.wait_for_timeout(300)  # the answer of the hub
        fits(page)
        page.evaluate(axe)
        found = page.evaluate("axe.run('dialog', {resultTypes: ['violations']})")
        assert [(one["id"], [node["html"] for node in one["nodes"][:2]]) for one in found["violations"]] == []
    expect(page.get_by_role("group", name="Messages")).to_contain_text("الاختبار")
