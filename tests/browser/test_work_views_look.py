"""Do the views of the work hold what a real team has in hand, on any screen and for every reader?"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Watch
from tests.browser.hub_process import HubProcess
from tests.browser.work_story import play
from tests.proofs import proves

VIEWS = (
    "approvals", "escalations", "dead", "stalls", "contracts", "shutdown", "refusals", "rates", "compose",
    "compose?sender=dev&to=lead&dialect=vbw-typed&type=execution_update",
    "compose?sender=orchestrator&to=worker&dialect=signal-md",
)  # fmt: skip
GRAVE = ("serious", "critical")


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
    expect(page.locator("main h1")).to_be_visible()
    expect(page.locator("main .loading")).to_have_count(0)
    page.evaluate("document.querySelectorAll('main details').forEach((one) => (one.open = true))")


@proves("page_work/look/phone")
def test_no_view_of_the_work_is_wider_than_a_phone(hub: HubProcess, page: Page) -> None:
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    for view in VIEWS:
        shown(page, view)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0], view


@proves("page_work/look/phone-refusals")
def test_on_a_phone_who_got_what_wrong_is_read_without_moving_a_table_about(hub: HubProcess, page: Page) -> None:
    agents = ("architect", "scout", "docs", "senior", "security", "lead", "dev", "qa")
    for sender in agents:
        hub.say({"type": "qa_verdict", "tests": 1}, sender=sender, to="lead")
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    shown(page, "refusals")
    row = page.locator(".heat tbody tr", has=page.get_by_text("field-missing", exact=True))
    for sender in agents:
        expect(row.locator(f"td[data-label={sender}]")).to_be_visible()
    expect(row.locator("td[data-label=dev-2]")).to_be_hidden()  # who got none of it wrong takes no room
    assert (
        page.evaluate(
            "(() => { const one = document.querySelector('.scroll:has(.heat)');"
            " return one.scrollWidth - one.clientWidth; })()"
        )
        <= 0
    )
    name = page.evaluate("getComputedStyle(document.querySelector('.heat td[data-label=docs]'), '::before').content")
    assert "docs" in name
    page.locator(".heat thead").get_by_role("button", name="docs").click()
    expect(page.get_by_text("Only what docs got wrong")).to_be_visible()


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
            if one["impact"] in GRAVE
            for node in one["nodes"][:3]
        ]
    assert faults == []
