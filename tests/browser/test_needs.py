"""Needs you: one list of what waits for a person, answered with few clicks, by keyboard and on a phone."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from telex.dialects.builtin.vbw_typed import APPROVAL_REQUEST, PLAN_CONTRACT
from telex.ports.store import Query
from tests.browser.conftest import PHONE, WIDE, Watch, fits
from tests.browser.hub_process import HubProcess
from tests.bus.bus_team import speech_of
from tests.proofs import proves
from tests.work.contract_team import report, typed

LONG = "a" * 64  # the longest name
HEBREW = "לגעת בקובץ \u202emoc.live"
COUNT = "main .need-row"


def ask(hub: HubProcess, id: str = "request-1", subject: str = "Touch docs/reset.md", sender: str = "dev") -> None:
    made = typed(APPROVAL_REQUEST, id=id, subject=subject, request_type="scope_change", options=None, deadline=None)
    assert hub.say(made, sender=sender, role="dev").accepted


def escalate(hub: HubProcess) -> None:
    raw = speech_of("vbw-company", "escalation", **{"from": "dev", "to": "senior"}).raw
    assert hub.bus.send(raw, sender="dev", to="senior", id="e1").accepted


def give_up(hub: HubProcess, count: int, reason: str = "disk full", to: str = "qa") -> None:
    for number in range(count):
        hub.say(f"Back up {number}", to=to, id=f"{to}-{number}")
    left = count
    while left:
        for leased in hub.bus.receive(to, limit=100):
            hub.bus.nack(leased.token, agent=to, reason=reason, final=True)
            left -= 1


@pytest.fixture
def contract(hub: HubProcess) -> HubProcess:
    """dev works under a contract that allows src/ only."""
    words: dict[str, Any] = {"plan_id": "1-1", "objective": "Reset links", "allowed_paths": ["src/"], "tasks": ["T1"]}
    assert hub.say(typed(PLAN_CONTRACT, **words), sender="lead", to="dev").accepted
    return hub


def opened(page: Page, hash_: str = "#/needs") -> Locator:
    page.goto(f"/{hash_}")
    expect(page.get_by_role("heading", name="Needs you", exact=True)).to_be_visible()
    expect(page.locator(".live")).to_have_text("live")
    return page.locator(".need-form")


def undo_bar(page: Page) -> Locator:
    return page.locator(".need-undo")


def send_now(page: Page, words: str) -> None:
    expect(undo_bar(page)).to_contain_text(words)
    undo_bar(page).get_by_role("button", name="Send now").click()
    expect(undo_bar(page)).to_be_hidden()


def answers(hub: HubProcess) -> list[str]:
    events = hub.bus.events(Query(kinds=("accepted",)))
    return [message.type or "text" for event, message in events if message and event.agent == "human"]


# --- approvals --------------------------------------------------------------------------------------------------------


@proves("page_needs/view/approve")
def test_the_refused_path_is_allowed_with_a_reason_and_one_click(contract: HubProcess, page: Page) -> None:
    opened(page)
    expect(page.get_by_text("Nothing needs you.")).to_be_visible()
    assert not contract.say(report("1-1", files=["docs/reset.md"]), sender="dev").accepted
    ask(contract, subject="Put the words there")
    form = page.locator(".need-form")
    expect(form.get_by_role("heading", level=2)).to_have_text("Put the words there")
    expect(form.get_by_role("checkbox", name="docs/reset.md")).to_be_checked()
    expect(form.locator(".effect")).to_contain_text("Allow lets dev write docs/reset.md under plan 1-1")
    form.get_by_label("Reason").fill("Words belong there.")
    form.get_by_role("button", name="Allow this path").click()
    send_now(page, "Allowed docs/reset.md for dev.")
    expect(page.get_by_text("Nothing needs you.")).to_be_visible()
    assert contract.bus.guard(["docs/reset.md"], agent="dev")[0].allowed
    [got] = [one for one in contract.bus.receive("dev", limit=9) if one.message.type == "approval_response"]
    assert json.loads(got.raw)["payload"]["reason"] == "Words belong there."


@proves("page_needs/view/paths")
def test_a_wider_or_another_path_is_allowed_and_none_is_said_before_the_click(contract: HubProcess, page: Page) -> None:
    ask(contract)
    form = opened(page)
    form.get_by_role("checkbox", name="docs/reset.md").uncheck()
    expect(form.locator(".effect")).to_contain_text("nothing is allowed")
    form.get_by_role("button", name="Allow").click()
    expect(form.get_by_role("alert")).to_contain_text("Choose or write a path")
    form.get_by_role("checkbox", name="docs/*.md").check()
    form.get_by_label("Another path").fill("CHANGES.txt")
    expect(form.locator(".effect")).to_contain_text("docs/*.md, CHANGES.txt")
    form.get_by_role("button", name="Allow these 2 paths").click()
    send_now(page, "Allowed docs/*.md, CHANGES.txt")
    assert [one.allowed for one in contract.bus.guard(["docs/a.md", "CHANGES.txt", "x.txt"], agent="dev")] == [
        True,
        True,
        False,
    ]


@proves("page_needs/view/reject")
def test_a_rejection_asks_for_its_reason_before_anything_is_sent(contract: HubProcess, page: Page) -> None:
    ask(contract)
    form = opened(page)
    form.get_by_role("button", name="Reject").click()
    expect(form.get_by_label("Reason (required to reject)")).to_be_focused()
    expect(form.get_by_role("alert")).to_have_text("Give a reason to reject.")
    form.get_by_label("Reason").fill("Not before the release.")
    form.get_by_role("button", name="Reject").click()
    send_now(page, "Rejected: Touch docs/reset.md.")
    [approval] = contract.bus.work_state("approval").values()
    assert (approval.answer.decision, approval.answer.by) == ("rejected", "human")


@proves("page_needs/view/undo", "page_needs/view/drafts")
def test_an_answer_is_undone_and_what_was_typed_is_still_there(contract: HubProcess, page: Page) -> None:
    ask(contract)
    ask(contract, "request-2", "Touch docs/other.md")
    form = opened(page)
    form.get_by_label("Reason").fill("I am still thinking")
    page.get_by_role("button", name="Touch docs/other.md").click()
    expect(form.get_by_label("Reason")).to_have_value("")
    page.goto("/#/refusals")
    expect(page.get_by_role("heading", name="Refusals", exact=True)).to_be_visible()
    page.goto("/#/needs?item=approval:request-1")
    expect(form.get_by_label("Reason")).to_have_value("I am still thinking")
    page.reload()
    expect(form.get_by_label("Reason")).to_have_value("I am still thinking")
    form.get_by_role("button", name="Allow").click()
    expect(page.locator(COUNT)).to_have_count(1)
    undo_bar(page).get_by_role("button", name="Undo").click()
    expect(page.locator(COUNT)).to_have_count(2)
    expect(form.get_by_role("heading", level=2)).to_have_text("Touch docs/reset.md")
    expect(form.get_by_label("Reason")).to_have_value("I am still thinking")
    assert answers(contract) == []


# --- escalations, dead letters, stalls, wakes -------------------------------------------------------------------------


@proves("page_needs/view/escalation")
def test_an_escalation_is_answered_and_the_agent_gets_the_answer(hub: HubProcess, page: Page) -> None:
    escalate(hub)
    form = opened(page)
    expect(form.get_by_role("heading", name="How it climbed")).to_be_visible()
    form.get_by_label("Answer to dev").fill("Keep the session.")
    page.keyboard.press("Control+Enter")
    send_now(page, "Answered dev.")
    [leased] = hub.bus.receive("dev", wait=10.0)
    assert (leased.raw, leased.message.sender) == (b"Keep the session.", "human")
    assert hub.bus.escalations() == []


@proves("page_needs/view/dead")
def test_two_hundred_dead_letters_are_one_item_and_are_retried_with_two_clicks(hub: HubProcess, page: Page) -> None:
    give_up(hub, 200)
    give_up(hub, 1, "no network", to="scout")
    form = opened(page)
    expect(page.locator(COUNT)).to_have_count(2)
    page.get_by_role("button", name="200 × disk full").click()
    expect(form.locator(".mini li")).to_have_count(5)
    expect(form).to_contain_text("and 180 more, all chosen")
    form.get_by_role("button", name="Retry all 200").click()
    send_now(page, "Retried 200 messages to qa.")
    expect(page.locator(COUNT)).to_have_count(1)
    received = 0
    while received < 200:
        found = hub.bus.receive("qa", limit=300, wait=10.0)
        assert found, f"only {received} came again"
        received += len(found)
    assert received == 200


@proves("page_needs/view/dead")
def test_some_dead_letters_are_dropped_with_a_reason(hub: HubProcess, page: Page) -> None:
    give_up(hub, 3)
    form = opened(page)
    form.get_by_role("checkbox", name="Back up 1").uncheck()
    form.get_by_role("button", name="Drop 2 chosen").click()
    expect(form.get_by_role("alert")).to_have_text("Give a reason to drop.")
    form.get_by_label("Reason").fill("Nobody needs them.")
    form.get_by_role("button", name="Drop 2 chosen").click()
    send_now(page, "Dropped 2 messages to qa.")
    expect(form.get_by_role("heading", level=2)).to_have_text("disk full")
    assert [message.id for _, message in hub.bus.dead_letters()] == ["qa-1"]


@proves("page_needs/view/bulk")
def test_all_requests_of_an_agent_are_allowed_together(contract: HubProcess, page: Page) -> None:
    for number in range(12):
        ask(contract, f"request-{number}", f"Touch docs/{number}.md")
    ask(contract, "other", "Touch docs/other.md", sender="dev-2")
    form = opened(page, "#/needs?item=approval:request-3")
    form.get_by_role("button", name="Choose all 12 of dev").click()
    page.get_by_role("button", name="Allow 12 approvals").click()
    send_now(page, "Allowed 12 requests of dev.")
    expect(page.locator(COUNT)).to_have_count(1)
    assert contract.bus.guard(["docs/11.md"], agent="dev")[0].allowed


@proves("page_needs/view/bulk", "page_needs/view/long")
def test_in_a_long_list_the_form_stays_in_sight_and_each_page_has_its_own(hub: HubProcess, page: Page) -> None:
    for number in range(53):
        hub.bus.join(f"qa-{number:02d}", role="qa")
        give_up(hub, 1, to=f"qa-{number:02d}")
    form = opened(page)
    expect(page.locator(COUNT)).to_have_count(50)
    page.locator(f"{COUNT} button").last.click()
    expect(form.get_by_role("heading", level=2)).to_be_in_viewport()
    expect(form).to_contain_text("to qa-49")
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page.locator(COUNT)).to_have_count(3)
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()
    expect(form).to_contain_text("to qa-50")
    form.get_by_role("button", name="Choose all 3 with this reason").click()
    page.get_by_role("button", name="Retry 3 groups of dead letters").click()
    send_now(page, "Retried 3 messages")
    expect(page.locator(COUNT)).to_have_count(50)


@proves("page_needs/view/wake")
def test_an_agent_that_could_not_be_woken_is_shown_with_what_was_tried(hub: HubProcess, page: Page) -> None:
    hub.bus.join("qa", role="qa")
    hub.say("Please look.", to="qa")
    hub.bus.wake("qa", way="tmux-keys", force=True)
    hub.bus.wake("qa", way="tmux-keys", force=True, failed="tmux is not installed")
    form = opened(page)
    expect(form.get_by_role("heading", level=2)).to_have_text("qa could not be woken")
    expect(form).to_contain_text("tmux is not installed")
    expect(form.locator("pre")).to_have_text("telex wake qa")
    [leased] = hub.bus.receive("qa")
    hub.bus.ack(leased.token, agent="qa")
    expect(page.locator(COUNT)).to_have_count(0)


# --- keyboard, phone, two tabs, outages -------------------------------------------------------------------------------


@proves("page_needs/view/keyboard")
def test_the_list_is_worked_through_with_the_keyboard_alone(contract: HubProcess, page: Page) -> None:
    ask(contract, "request-1", "Touch docs/1.md")
    ask(contract, "request-2", "Touch docs/2.md")
    ask(contract, "request-3", "Touch docs/3.md")
    form = opened(page)
    title = form.get_by_role("heading", level=2)
    for key, number in (("j", 2), ("j", 3), ("j", 3), ("k", 2)):
        page.keyboard.press(key)
        expect(title).to_have_text(f"Touch docs/{number}.md")
    expect(page).to_have_url(re.compile("item=approval%3Arequest-2"))
    page.keyboard.press("a")
    expect(title).to_have_text("Touch docs/3.md")
    page.keyboard.press("u")
    expect(title).to_have_text("Touch docs/2.md")
    page.keyboard.press("r")
    expect(form.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("No jar here: a u r j k")  # letters are text in a field
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    expect(undo_bar(page)).to_contain_text("Rejected: Touch docs/2.md.")
    page.keyboard.press("e")
    expect(form.get_by_label("Reason")).to_be_focused()
    assert answers(contract) == []


@proves("page_needs/view/phone")
def test_on_a_phone_the_list_comes_first_and_an_answer_takes_two_taps(contract: HubProcess, page: Page) -> None:
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    ask(contract)
    ask(contract, "request-2", "Touch docs/other.md")
    form = opened(page)
    expect(form).to_be_hidden()
    page.get_by_role("button", name="Touch docs/reset.md").click()
    button = form.get_by_role("button", name="Allow this path")
    expect(page.locator(".need-list")).to_be_hidden()
    box = button.bounding_box()
    assert box is not None
    assert box["height"] >= 44
    button.click()
    expect(page.locator(".need-list")).to_be_visible()
    send_now(page, "Allowed docs/reset.md")
    page.get_by_role("button", name="Touch docs/other.md").click()
    form.get_by_role("button", name="Back to the list").click()
    expect(page.locator(COUNT)).to_have_count(1)
    fits(page)


@proves("page_needs/view/two-tabs")
def test_of_two_tabs_one_answers_and_the_other_is_told(contract: HubProcess, page: Page, browser: Browser) -> None:
    ask(contract)
    form = opened(page)
    form.get_by_label("Reason").fill("I am slow")
    page.route("**/page/needs?*", lambda route: route.abort())  # this tab does not hear of it
    page.route("**/page/needs", lambda route: route.abort())
    page.watch.forgive_absence()  # type: ignore[attr-defined]
    other = browser.new_context(base_url=contract.address).new_page()
    opened(other).get_by_role("button", name="Allow").click()
    expect(undo_bar(other)).to_contain_text("Allowed docs/reset.md")
    form.get_by_role("button", name="Allow").click()
    expect(page.get_by_role("status").filter(has_text="answered meanwhile: nothing was done")).to_be_visible()
    send_now(other, "Allowed docs/reset.md")
    other.context.close()
    assert answers(contract) == ["approval_response"]


@proves("page_needs/view/live")
def test_what_others_answer_stays_in_sight_and_what_is_typed_stays_too(contract: HubProcess, page: Page) -> None:
    ask(contract)
    ask(contract, "request-2", "Touch docs/other.md")
    form = opened(page)
    form.get_by_label("Reason").fill("I am still thinking")
    ask(contract, "request-3", "Touch docs/third.md")
    expect(page.locator(COUNT)).to_have_count(3)
    expect(form.get_by_label("Reason")).to_be_focused()
    expect(form.get_by_label("Reason")).to_have_value("I am still thinking")
    assert contract.bus.approve("request-1", approved=False, reason="No.", agent="lead").accepted
    expect(form).to_contain_text("Not open any more.")
    form.get_by_role("button", name="Show the next item").click()
    expect(form.get_by_role("heading", level=2)).to_have_text("Touch docs/other.md")
    page.goto("/#/needs?item=approval:request-1")
    page.reload()
    expect(page.get_by_text("The item of this address was answered")).to_be_visible()


@proves("page_needs/view/killed")
def test_a_hub_that_is_killed_after_the_answer_sends_it_when_it_is_back(contract: HubProcess, page: Page) -> None:
    page.watch.forgive_absence()  # type: ignore[attr-defined]
    ask(contract)
    form = opened(page)
    form.get_by_role("button", name="Allow").click()
    expect(undo_bar(page)).to_contain_text("Undo")
    contract.kill()
    assert answers(contract) == []
    expect(page.locator(".live")).to_have_text("hub unreachable, retrying …")
    contract.start()
    expect(page.locator(".live")).to_have_text("live")
    expect(undo_bar(page)).to_contain_text("Allowed docs/reset.md")
    send_now(page, "Allowed docs/reset.md")
    assert answers(contract) == ["approval_response"]


@proves("page_needs/view/repeat")
def test_an_answer_whose_response_was_lost_is_given_again_and_carried_out_once(
    contract: HubProcess, page: Page, watch: Watch
) -> None:
    watch.forgive_absence()
    ask(contract)
    form = opened(page)
    page.route("**/needs/answer", lambda route: (route.fetch(), route.abort()), times=1)
    form.get_by_role("button", name="Allow").click()
    expect(page.get_by_role("alert")).to_contain_text("not known whether this was done")
    page.keyboard.press("a")
    send_now(page, "Allowed docs/reset.md")
    assert answers(contract) == ["approval_response"]


# --- the past, clocks, long names, accessibility ----------------------------------------------------------------------


@proves("page_needs/view/past")
def test_a_past_moment_is_shown_without_buttons(contract: HubProcess, page: Page) -> None:
    ask(contract)
    [history] = contract.bus.why("request-1")
    assert contract.bus.approve("request-1", approved=False, reason="No.", agent="lead").accepted
    at = page.evaluate("(seconds) => new Date(seconds * 1000).toISOString()", history.message.at + 0.001)
    form = opened(page, f"#/needs?at={at}")
    expect(page.get_by_text("This was at")).to_be_visible()
    expect(form.get_by_role("heading", level=2)).to_have_text("Touch docs/reset.md")
    expect(form).to_contain_text("it can only be looked at")
    expect(form.locator(".buttons")).to_have_count(0)
    page.get_by_role("button", name="Back to now").click()
    expect(page.get_by_text("Nothing needs you.")).to_be_visible()


@proves("page_needs/view/clock")
def test_times_are_relative_to_the_hub_s_clock(contract: HubProcess, page: Page) -> None:
    page.add_init_script("const now = Date.now; Date.now = () => now() - 9 * 60_000;")
    ask(contract)
    form = opened(page)
    expect(form.locator(".due")).to_have_text(re.compile("^(4|5) min.* left$"))
    expect(page.locator(f"{COUNT} .soft")).to_have_text(re.compile("asked (now|[0-9]+ sec ago)"))


@proves("page_needs/view/look")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_long_names_and_right_to_left_text_fit_and_shut_nobody_out(
    contract: HubProcess, page: Page, axe: str, scheme: Any
) -> None:
    ask(contract, LONG, "x" * 300, sender=LONG)
    ask(contract, "hebrew", HEBREW)
    ask(contract, "markup", "<img src=x onerror=alert(1)> <b>docs/x.md</b>")
    escalate(contract)
    give_up(contract, 3, reason=f"{'path/' * 50}")
    page.emulate_media(color_scheme=scheme)
    keys = ("", f"?item=approval:{LONG}", "?item=approval:hebrew", "?item=escalation:e1", "?item=approval:markup")
    for width, height in (WIDE, PHONE):
        page.set_viewport_size({"width": width, "height": height})
        for key in keys:
            opened(page, f"#/needs{key}")
            fits(page, key)
        judged(page, axe)
        opened(page)
        page.get_by_label(f"Choose {HEBREW}").check()
        expect(page.locator(".need-bulk")).to_be_visible()
        judged(page, axe)


def judged(page: Page, axe: str) -> None:
    """No fault at all, also of what is only advised."""
    page.evaluate(axe)
    tags = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]
    found = page.evaluate("(tags) => axe.run(document, {runOnly: tags})", tags)
    assert [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found["violations"]] == []
