"""Can a person say something in the words of any dialect, without knowing how it is written?"""

import json

import pytest
from playwright.sync_api import Page, Route, expect

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import ANY, Dialect
from tests.browser.conftest import Watch
from tests.browser.hub_process import HubProcess
from tests.bus.bus_team import speech
from tests.proofs import proves

UPDATE = "/#/compose?sender=dev&to=lead&dialect=vbw-typed&type=execution_update"


def send(page: Page) -> None:
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("status").filter(has_text="Stored for")).to_be_visible()


@proves("page_work/compose/text")
def test_plain_words_reach_an_agent(hub: HubProcess, page: Page) -> None:
    hub.bus.join("lead", role="lead")
    page.goto("/#/compose")
    expect(page.get_by_role("button", name="Send")).to_be_disabled()
    page.get_by_label("To", exact=True).fill("lead")
    page.get_by_label("To", exact=True).press("Tab")
    page.get_by_label("Message text").fill("Please stop for a moment.")
    send(page)
    [leased] = hub.bus.receive("lead", wait=10.0)
    assert (leased.raw, leased.message.sender) == (b"Please stop for a moment.", "human")
    page.get_by_role("link", name="Show its history").click()
    expect(page.locator("main")).to_contain_text("Please stop for a moment.")


def lose_the_answer(route: Route) -> None:
    """The hub does it, and its answer does not come back."""
    route.fetch()
    route.abort()


def accepted(hub: HubProcess) -> list[bytes]:
    return [message.raw for event, message in hub.bus.events() if event.kind == "accepted" and message is not None]


@proves("page_work/repeat")
@pytest.mark.parametrize("address", ["/#/compose?to=lead", UPDATE], ids=["text", "typed"])
def test_a_message_whose_answer_was_lost_is_sent_again_and_stored_once(
    hub: HubProcess, page: Page, watch: Watch, address: str
) -> None:
    hub.bus.join("lead", role="lead")
    watch.forgive_absence()
    page.goto(address)
    if address == UPDATE:
        page.get_by_role("button", name="Fill in the example").click()
    else:
        page.get_by_label("Message text").fill("Please stop for a moment.")
    page.route("**/send?*", lose_the_answer, times=1)
    page.get_by_role("button", name="Send").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("not known whether this was done")
    expect(alert).not_to_contain_text("keeps retrying")
    assert len(accepted(hub)) == 1
    page.wait_for_timeout(1_100)  # a message that says when it was made says the same again
    send(page)
    assert len(accepted(hub)) == 1
    expect(alert).to_have_count(0)


@proves("page_work/repeat")
def test_what_was_changed_after_a_lost_answer_is_another_message(hub: HubProcess, page: Page, watch: Watch) -> None:
    hub.bus.join("lead", role="lead")
    watch.forgive_absence()
    watch.forgive("422")
    page.goto("/#/compose?to=lead")
    page.get_by_label("Message text").fill("Please stop.")
    page.route("**/send?*", lose_the_answer, times=1)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("Message text").fill("Please go on.")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("was stored before you changed it")
    send(page)
    assert accepted(hub) == [b"Please stop.", b"Please go on."]


@proves("page_work/compose/form", "page_work/compose/checked")
def test_a_form_is_checked_while_it_is_filled_in_and_then_sent(hub: HubProcess, page: Page) -> None:
    page.goto(UPDATE)
    page.get_by_label("plan id").fill("P")
    expect(page.get_by_role("status").filter(has_text="still to fill in")).to_be_visible()
    page.get_by_role("button", name="Fill in the example").click()
    expect(page.get_by_role("status").filter(has_text="This would be accepted.")).to_be_visible()
    page.get_by_label("commit", exact=True).fill("")
    wrong = page.locator(".field.wrong")
    expect(wrong).to_have_count(1)
    expect(wrong).to_contain_text("commit")
    expect(wrong.locator(".finding")).to_have_count(1)
    page.get_by_label("commit").fill("abc1234")
    expect(wrong).to_have_count(0)
    page.get_by_label("files modified").fill("src/a.py\nsrc/b.py")
    page.get_by_label("task id").fill("T9")
    send(page)
    [leased] = hub.bus.receive("lead", wait=10.0)
    payload = json.loads(leased.raw)["payload"]
    assert (leased.message.type, leased.message.sender) == ("execution_update", "dev")
    assert payload["files_modified"] == ["src/a.py", "src/b.py"]
    assert (payload["task_id"], payload["commit"]) == ("T9", "abc1234")


@proves("page_work/compose/roles")
def test_only_what_the_role_may_send_is_offered(hub: HubProcess, page: Page) -> None:
    page.goto("/#/compose?sender=qa&to=lead&dialect=vbw-typed")
    offered = page.locator("select[name=type] option")
    [dialect] = [one for one in BUILT_IN if one.name == "vbw-typed"]
    may = [type_.name for type_ in dialect.types.values() if type_.senders == ANY or "qa" in type_.senders]
    expect(offered).to_have_text(may)


@proves("page_work/compose/refused")
def test_a_message_that_is_refused_says_why_and_stays(hub: HubProcess, page: Page, watch: Watch) -> None:
    page.goto("/#/compose?to=nobody")
    page.get_by_label("Message text").fill("Is anybody there?")
    watch.forgive("422")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("recipient-unknown")
    expect(page.get_by_label("Message text")).to_have_value("Is anybody there?")


@proves("page_work/compose/every-dialect")
@pytest.mark.parametrize("dialect", BUILT_IN, ids=lambda one: one.name)
def test_the_example_of_every_type_passes_as_the_form_writes_it(hub: HubProcess, page: Page, dialect: Dialect) -> None:
    for type_ in dialect.types.values():
        said = speech(dialect, type_)
        named = said.tree.get(dialect.wire.recipient or "")
        to = named or ("lead" if type_.receivers == ANY else type_.receivers[0])
        page.goto(f"/#/compose?sender={said.sender}&to={to}&dialect={dialect.name}&type={type_.name}")
        expect(page.get_by_role("heading", name=type_.name, exact=True)).to_be_visible()
        page.get_by_role("button", name="Fill in the example").click()
        expect(page.locator("form [role=status] strong")).to_have_text("This would be accepted.")
