"""Hubs that share the store of a team, as the page shows them."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

import telex
from tests.browser.conftest import PHONE, fits
from tests.http.replica_kit import FakeReplica
from tests.proofs import proves
from tests.surfaces.surfaces_kit import Time, running_hub


class ReplicaHub(NamedTuple):
    address: str
    replica: FakeReplica


@pytest.fixture
def hub(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ReplicaHub]:
    """One of three hubs; with a false parameter, a hub without a replica."""
    replica = FakeReplica()
    has_replica = getattr(request, "param", True)
    with running_hub(tmp_path / "hub.db", Time(), replica=replica if has_replica else None) as hub:
        with telex.connect(hub.url) as bus:
            bus.send("The build is red.", sender="dev", to="lead")
        yield ReplicaHub(hub.url, replica)


@proves("page/hubs")
def test_the_team_view_lists_the_hubs(hub: ReplicaHub, page: Page) -> None:
    page.goto("/#/agents")
    panel = page.locator(".hubs")
    expect(panel).to_contain_text("3 hubs on one log with 3 replicas")
    this, writer, old = (panel.get_by_role("row", name=name) for name in ("alpha:101", "beta:202", "gamma:303"))
    expect(this).to_contain_text("this hub")
    expect(writer).to_contain_text("writes")
    expect(writer.get_by_role("link")).to_have_attribute("href", "https://beta.example.org/")
    expect(old.get_by_role("cell")).to_have_text(["734", "500", "1 hr ago", "0.2.0"])
    expect(old.get_by_role("link")).to_have_count(0)
    expect(page.get_by_text("Weaker durability")).to_have_count(0)
    hub.replica.change(is_durable=False, synced=False, replicas=1)
    expect(panel.locator(".notice", has_text="Weaker durability")).to_contain_text("1 replica instead of 3")
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    fits(page)


@proves("page/hubs/notice")
def test_a_hub_that_is_halted_or_behind_says_so_above_every_view(hub: ReplicaHub, page: Page) -> None:
    page.goto("/#/")
    expect(page.locator(".connection")).to_have_text("live")
    notice = page.get_by_role("alert")
    expect(notice).to_have_count(0)
    hub.replica.change(halted="entry 1201 cannot be applied")
    expect(notice).to_contain_text("This hub is halted. entry 1201 cannot be applied")
    expect(notice.get_by_role("link")).to_have_attribute("href", "https://beta.example.org/")
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    fits(page)
    hub.replica.change(halted=None, behind_since=time.time() - 60)
    page.goto("/#/search")
    expect(notice).to_contain_text("This hub is behind.")
    hub.replica.change(behind_since=None)
    expect(notice).to_have_count(0)


@proves("page/hubs")
@pytest.mark.parametrize("hub", [False], indirect=True)
def test_a_hub_without_a_replica_shows_nothing_of_hubs(hub: ReplicaHub, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/#/agents")
    expect(page.locator(".connection")).to_have_text("live")
    expect(page.locator("main").get_by_text("lead").first).to_be_visible()
    expect(page.locator(".hubs, .banner")).to_have_count(0)
    assert not [url for url in asked if "replica" in url]
