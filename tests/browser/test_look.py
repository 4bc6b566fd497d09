"""Do the views of the work hold what a real team has in hand, on any screen and for every reader?"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Watch, fits
from tests.browser.hub_process import HubProcess
from tests.browser.work_story import play
from tests.proofs import proves

VIEWS = (
    "", "needs", "agents", "agent/dev", "conversations", "contracts", "shutdown", "refusals", "rates", "search?q=a",
    "connect",
)  # fmt: skip


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    """A hub on a store in which a team has all its work in hand."""
    store = tmp_path / ".telex" / "telex.db"
    store.parent.mkdir()
    play(store)
    hub = HubProcess(tmp_path)
    assert hub.store == store
    hub.start()
    yield hub
    hub.stop()


def shown(page: Page, view: str) -> None:
    page.goto(f"/#/{view}")
    name = re.split("[/?]", view)[0] or "timeline"
    expect(page.locator(f"telex-view-{name} h1").first).to_be_visible()
    expect(page.locator("main .loading")).to_have_count(0)
    page.evaluate("document.querySelectorAll('main details').forEach((one) => (one.open = true))")


@proves("page_work/look/phone")
def test_no_view_of_the_work_is_wider_than_a_phone(hub: HubProcess, page: Page) -> None:
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    for view in VIEWS:
        shown(page, view)
        fits(page, view)


@proves("page_work/look/accessible")
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_no_view_of_the_work_shuts_anybody_out(
    hub: HubProcess, page: Page, watch: Watch, axe: str, colours: Any
) -> None:
    watch.forgive("Applying inline style")  # it is axe that tries to; the page alone is watched in every other test
    page.emulate_media(color_scheme=colours, reduced_motion="reduce")
    faults = []
    for view in VIEWS:
        shown(page, view)
        page.evaluate(axe)
        found = page.evaluate("axe.run({resultTypes: ['violations']})")
        faults += [
            f"{view}: {one['id']}: {node['target']} {node['failureSummary']}"
            for one in found["violations"]
            for node in one["nodes"][:3]
        ]
    assert faults == []


@proves("page_needs/view/stall")
def test_a_reminder_is_sent_to_one_of_those_who_wait_for_each_other(hub: HubProcess, page: Page) -> None:
    page.goto("/#/needs")
    page.get_by_role("button", name="wait for each other").click()
    form = page.locator(".need-form")
    expect(form.locator(".circle li", has_text="dev-2")).not_to_have_count(0)
    expect(form.get_by_label("Reminder to")).to_have_value(re.compile("waits for you: .*Please answer it"))
    form.get_by_role("button", name="Send to").click()
    page.get_by_role("button", name="Send now").click()
    expect(page.locator(".need-undo")).to_be_hidden()  # it is sent
    expect(page.get_by_role("button", name="wait for each other")).to_have_count(0)
    [message] = [message for event, message in hub.bus.events() if event.kind == "accepted" and event.agent == "human"]
    assert message is not None
    assert b"waits for you" in message.raw
