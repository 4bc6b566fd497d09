"""The composer: a message from anywhere on the page, once, whatever happens to the answer of the hub."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import ANY
from tests.browser.conftest import PHONE, Watch, fits
from tests.browser.hub_process import HubProcess
from tests.bus.bus_team import speech
from tests.proofs import proves

LONG_NAME = "a" * 64


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    hub = HubProcess(tmp_path)
    for name, role in {"lead": "lead", "dev": "dev", "dev-2": "dev", "qa": "qa"}.items():
        hub.bus.join(name, role=role)
    hub.start()
    yield hub
    hub.stop()


def opened(page: Page, address: str = "/#/contracts") -> Locator:
    """The composer in its dialog."""
    page.goto(address)
    expect(page.locator("main h1")).to_be_visible()
    page.keyboard.press("w")
    dialog = page.get_by_role("dialog", name=re.compile("^Write"))
    expect(dialog).to_be_visible()
    return dialog


def fill(dialog: Locator, to: str, text: str) -> None:
    dialog.get_by_label("To", exact=True).fill(to)
    dialog.get_by_label("Message", exact=True).fill(text)


def lose_the_answer(route: Route) -> None:
    """The hub does it, and its answer does not come back."""
    route.fetch()
    route.abort()


def accepted(hub: HubProcess) -> list[bytes]:
    return [message.raw for event, message in hub.bus.events() if event.kind == "accepted" and message is not None]


@proves("page_views/compose/keyboard", "page_work/compose/text")
def test_a_message_is_written_and_sent_by_keyboard_alone(hub: HubProcess, page: Page) -> None:
    dialog = opened(page)
    expect(dialog.get_by_label("To", exact=True)).to_be_focused()
    page.keyboard.type("lead")
    expect(dialog.get_by_role("status").filter(has_text="wakes 1 agent")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.type("Please stop for a moment.")
    page.keyboard.press("Control+Enter")
    expect(dialog.get_by_role("status").filter(has_text="Sent to lead")).to_be_visible()
    [leased] = hub.bus.receive("lead", wait=10.0)
    assert (leased.raw, leased.message.sender) == (b"Please stop for a moment.", "human")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


@proves("page_views/compose/wakes")
def test_a_role_and_everyone_are_named_in_words_with_how_many_agents_wake(hub: HubProcess, page: Page) -> None:
    dialog = opened(page)
    for to, wakes in (("all of dev", "2 agents"), ("everyone", "4 agents"), ("one of dev", "1 agent")):
        dialog.get_by_label("To", exact=True).fill(to)
        expect(dialog.get_by_role("status").filter(has_text=f"wakes {wakes}")).to_be_visible()
    fill(dialog, "everyone", "Lunch.")
    dialog.get_by_role("button", name="Send").click()
    expect(dialog.get_by_role("status").filter(has_text="Sent to")).to_be_visible()
    assert [hub.bus.receive(name)[0].raw for name in ("lead", "dev", "qa")] == [b"Lunch."] * 3


@proves("page_work/repeat")
@pytest.mark.parametrize("typed", [False, True], ids=["text", "typed"])
def test_a_message_whose_answer_was_lost_is_sent_again_and_stored_once(
    hub: HubProcess, page: Page, watch: Watch, typed: bool
) -> None:
    watch.forgive_absence()
    dialog = opened(page)
    fill(dialog, "lead", "Please stop for a moment.")
    if typed:
        choose(dialog, "dev", "vbw-typed", "execution_update")
        dialog.get_by_role("button", name="Fill in the example").click()
    page.route("**/send?*", lose_the_answer, times=1)
    dialog.get_by_role("button", name="Send").click()
    alert = dialog.get_by_role("alert")
    expect(alert).to_contain_text("not known whether this was done")
    expect(alert).not_to_contain_text("keeps retrying")
    assert len(accepted(hub)) == 1
    page.wait_for_timeout(1_100)  # the message says when it was made
    dialog.get_by_role("button", name="Send").click()
    expect(dialog.get_by_role("status").filter(has_text="Sent to lead")).to_be_visible()
    assert len(accepted(hub)) == 1


@proves("page_work/repeat")
def test_what_was_changed_after_a_lost_answer_is_another_message(hub: HubProcess, page: Page, watch: Watch) -> None:
    watch.forgive_absence()
    watch.forgive("422")
    dialog = opened(page)
    fill(dialog, "lead", "Please stop.")
    page.route("**/send?*", lose_the_answer, times=1)
    dialog.get_by_role("button", name="Send").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    dialog.get_by_label("Message", exact=True).fill("Please go on.")
    dialog.get_by_role("button", name="Send").click()
    expect(dialog.get_by_role("alert")).to_contain_text("was sent before you changed it")
    dialog.get_by_role("button", name="Send").click()
    expect(dialog.get_by_role("status").filter(has_text="Sent to lead")).to_be_visible()
    assert accepted(hub) == [b"Please stop.", b"Please go on."]


@proves("page_views/compose/draft")
def test_a_draft_survives_closing_leaving_and_reloading(hub: HubProcess, page: Page) -> None:
    fill(opened(page), "qa", "Half a thou")
    page.keyboard.press("Escape")
    page.reload()
    dialog = opened(page, "/#/rates")
    expect(dialog.get_by_label("Message", exact=True)).to_have_value("Half a thou")
    expect(dialog.get_by_label("To", exact=True)).to_have_value("qa")
    dialog.get_by_role("button", name="Send").click()
    expect(dialog.get_by_role("status").filter(has_text="Sent to qa")).to_be_visible()
    expect(dialog.get_by_label("Message", exact=True)).to_have_value("")


@proves("page_views/compose/draft")
def test_a_half_filled_form_survives_too(hub: HubProcess, page: Page) -> None:
    dialog = opened(page)
    choose(dialog, "dev-2", "vbw-typed", "execution_update")
    dialog.get_by_label("plan id").fill("1-1")
    dialog.get_by_label("To", exact=True).fill("lead")
    page.keyboard.press("Escape")
    page.reload()
    dialog = opened(page, "/#/rates")
    expect(dialog.get_by_label("as a typed message")).to_be_checked()
    expect(dialog.locator("select[name=sender]")).to_have_value("dev-2")
    expect(dialog.locator("select[name=type]")).to_have_value("execution_update")
    expect(dialog.get_by_label("plan id")).to_have_value("1-1")
    dialog.get_by_role("button", name="Fill in the example").click()
    dialog.get_by_role("button", name="Send").click()
    expect(dialog.get_by_role("status").filter(has_text="Sent to lead")).to_be_visible()
    expect(dialog.get_by_label("plan id")).to_have_value("")
    page.keyboard.press("Escape")
    expect(opened(page).get_by_label("as a typed message")).not_to_be_checked()


@proves("page_work/compose/refused")
def test_a_message_that_is_refused_says_why_and_stays(hub: HubProcess, page: Page, watch: Watch) -> None:
    watch.forgive("422")
    dialog = opened(page)
    fill(dialog, "nobody", "Is anybody there?")
    expect(dialog.get_by_text("not in the team")).to_be_visible()
    dialog.get_by_role("button", name="Send").click()
    expect(dialog.get_by_role("alert")).to_contain_text("recipient-unknown")
    expect(dialog.get_by_label("Message", exact=True)).to_have_value("Is anybody there?")


@proves("page_views/compose/answer")
def test_an_answer_goes_to_the_sender_and_none_is_offered_to_the_bus(hub: HubProcess, page: Page) -> None:
    receipt = hub.say("What now?", sender="dev", to="human", correlation="talk")
    page.goto("/#/contracts")
    expect(page.locator("main h1")).to_be_visible()
    asked = {"to": "dev", "reply_to": receipt.id, "conversation": "talk"}
    page.evaluate(f"window.dispatchEvent(new CustomEvent('telex-write', {{detail: {json.dumps(asked)}}}))")
    dialog = page.get_by_role("dialog", name="Write to dev")
    expect(dialog.get_by_label("Message", exact=True)).to_be_focused()
    page.keyboard.type("Go on.")
    page.keyboard.press("Control+Enter")
    expect(dialog.get_by_role("status").filter(has_text="Sent to dev")).to_be_visible()
    [leased] = hub.bus.receive("dev", wait=10.0)
    assert (leased.message.reply_to, leased.message.correlation) == (receipt.id, "talk")
    page.keyboard.press("Escape")
    page.evaluate("window.dispatchEvent(new CustomEvent('telex-write', {detail: {to: 'telex'}}))")
    bus = page.get_by_role("dialog", name="Write to telex")
    expect(bus).to_contain_text("cannot be answered")
    expect(bus.get_by_role("button", name="Send")).to_have_count(0)


@proves("page_views/compose/two-tabs")
def test_two_tabs_write_without_mixing_their_drafts(hub: HubProcess, page: Page) -> None:
    fill(opened(page), "qa", "From the first tab")
    other = page.context.new_page()
    second = opened(other)
    expect(second.get_by_label("Message", exact=True)).to_have_value("")
    fill(second, "qa", "From the second tab")
    for tab in (page, other):
        tab.get_by_role("button", name="Send").click()
        expect(tab.get_by_role("status").filter(has_text="Sent to qa")).to_be_visible()
    assert sorted(accepted(hub)) == [b"From the first tab", b"From the second tab"]


@proves("page_views/compose/phone")
def test_on_a_phone_long_names_and_right_to_left_words_fit(hub: HubProcess, page: Page) -> None:
    hub.bus.join(LONG_NAME, role="dev")
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    page.goto("/#/contracts")
    page.get_by_role("button", name="Write a message").click()
    dialog = page.get_by_role("dialog", name="Write a message")
    fill(dialog, LONG_NAME, "الاختبار فشل.")
    expect(dialog.get_by_label("Message", exact=True)).to_have_css("direction", "rtl")
    button = dialog.get_by_role("button", name="Send")
    box = button.bounding_box()
    assert box is not None
    assert box["height"] >= 44
    button.click()
    expect(dialog.get_by_role("status").filter(has_text="Sent to aaa")).to_be_visible()
    fits(page)
    assert dialog.evaluate("(one) => one.scrollWidth - one.clientWidth") <= 0


# --- typed messages ---------------------------------------------------------------------------------------------------


def choose(dialog: Locator, sender: str, dialect: str, type_: str) -> None:
    if not dialog.get_by_label("as a typed message").is_checked():
        dialog.get_by_label("as a typed message").check()
    dialog.locator("select[name=sender]").select_option(sender)
    dialog.locator("select[name=dialect]").select_option(dialect)
    dialog.locator("select[name=type]").select_option(type_)


@proves("page_work/compose/form", "page_work/compose/checked")
def test_a_form_is_checked_while_it_is_filled_in_and_then_sent(hub: HubProcess, page: Page) -> None:
    dialog = opened(page)
    dialog.get_by_label("To", exact=True).fill("lead")
    choose(dialog, "dev", "vbw-typed", "execution_update")
    dialog.get_by_label("plan id").fill("P")
    expect(dialog.get_by_role("status").filter(has_text="to fill in")).to_be_visible()
    dialog.get_by_role("button", name="Fill in the example").click()
    expect(dialog.get_by_role("status").filter(has_text="This would be accepted.")).to_be_visible()
    dialog.get_by_label("commit", exact=True).fill("")
    wrong = dialog.locator(".field.is-wrong")
    expect(wrong).to_have_count(1)
    expect(wrong).to_contain_text("commit")
    expect(wrong.locator(".finding")).to_have_count(1)
    dialog.get_by_label("commit").fill("abc1234")
    expect(wrong).to_have_count(0)
    dialog.get_by_label("files modified").fill("src/a.py\nsrc/b.py")
    dialog.get_by_label("task id").fill("T9")
    dialog.get_by_role("button", name="Send").click()
    expect(dialog.get_by_role("status").filter(has_text="Sent to lead")).to_be_visible()
    [leased] = hub.bus.receive("lead", wait=10.0)
    payload = json.loads(leased.raw)["payload"]
    assert (leased.message.type, leased.message.sender) == ("execution_update", "dev")
    assert payload["files_modified"] == ["src/a.py", "src/b.py"]
    assert (payload["task_id"], payload["commit"]) == ("T9", "abc1234")


@proves("page_work/compose/roles")
def test_only_what_the_role_may_send_is_offered(hub: HubProcess, page: Page) -> None:
    dialog = opened(page)
    dialog.get_by_label("as a typed message").check()
    offered = [one.name for one in BUILT_IN if any(may(type_.senders, "human") for type_ in one.types.values())]
    expect(dialog.locator("select[name=dialect]").locator("option")).to_have_text(offered)
    dialog.locator("select[name=sender]").select_option("qa")
    dialog.locator("select[name=dialect]").select_option("vbw-typed")
    [dialect] = [one for one in BUILT_IN if one.name == "vbw-typed"]
    types = [type_.name for type_ in dialect.types.values() if may(type_.senders, "qa")]
    expect(dialog.locator("select[name=type]").locator("option")).to_have_text(types)


def may(senders: tuple[str, ...], role: str) -> bool:
    return senders == ANY or role in senders


@proves("page_work/compose/every-dialect")
def test_the_longest_form_of_every_dialect_writes_what_passes(hub: HubProcess, page: Page) -> None:
    for dialect in BUILT_IN:
        type_ = max(dialect.types.values(), key=lambda one: len(dialect.fields_of(one)))
        said = speech(dialect, type_)
        named = said.tree.get(dialect.wire.recipient or "")
        hub.bus.join(said.sender, role=said.sender)
        dialog = opened(page, f"/?{dialect.name}#/contracts")
        receiver = "lead" if type_.receivers == ANY else type_.receivers[0]
        dialog.get_by_label("To", exact=True).fill(str(named or receiver))
        choose(dialog, said.sender, dialect.name, type_.name)
        dialog.get_by_role("button", name="Fill in the example").click()
        expect(dialog.locator("telex-typed-message [role=status] strong")).to_have_text("This would be accepted.")


@proves("page_views/compose/inline")
def test_the_foot_of_feed_and_conversation_takes_a_message(hub: HubProcess, page: Page) -> None:
    hub.say("Ready when you are.", sender="dev", to="qa", correlation="talk")
    page.goto("/")
    page.locator(".feed-composer textarea").click()
    feed = page.locator(".feed-composer telex-composer")
    expect(feed.get_by_label("To", exact=True)).to_be_focused()
    fill(feed, "everyone", "Good morning.")
    page.keyboard.press("Control+Enter")
    expect(feed.get_by_role("status").filter(has_text="Sent to")).to_be_visible()
    page.goto("/#/conversation/talk")
    foot = page.locator("telex-view-conversation telex-composer")
    foot.get_by_label("Message", exact=True).click()
    expect(foot.get_by_label("To", exact=True)).to_have_value("dev")
    page.keyboard.type("Go on.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".conversation-list .row").filter(has_text="Go on.")).to_be_visible()
