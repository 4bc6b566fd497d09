"""Can a person see what waits for one, and settle it on the page?"""

import json
import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from telex.dialects.builtin.vbw_typed import APPROVAL_REQUEST, PLAN_CONTRACT
from telex.model.message import detail_of
from telex.ports.store import Query
from tests.browser.conftest import Watch
from tests.browser.hub_process import HubProcess
from tests.bus.bus_team import speech_of
from tests.proofs import proves
from tests.work.contract_team import report, typed


def ask(hub: HubProcess, id: str = "request-1", subject: str = "Touch src/mail/", sender: str = "dev") -> None:
    made = typed(APPROVAL_REQUEST, id=id, subject=subject, request_type="scope_change", options=None, deadline=None)
    assert hub.say(made, sender=sender, role="dev").accepted


def card(page: Page, text: str) -> Locator:
    return page.locator("main li.card", has_text=text)


def happened(hub: HubProcess, kind: str) -> list[dict[str, object]]:
    return [detail_of(event) for event, _ in hub.bus.events(Query(kinds=(kind,)))]


# --- approvals and escalations ----------------------------------------------------------------------------------------


@proves("page_work/approvals/approve", "page_work/approvals/shown")
def test_a_person_approves_and_the_agent_receives_it(hub: HubProcess, page: Page) -> None:
    page.goto("/#/approvals")
    expect(page.get_by_role("heading", name="No pending approvals")).to_be_visible()
    ask(hub)
    asked = card(page, "Touch src/mail/")
    expect(asked).to_contain_text("dev")
    expect(asked).to_contain_text("May answer: lead")
    asked.get_by_label("Reason").fill("The text belongs there.")
    asked.get_by_label("Conditions").fill("Texts only\nNo code\n")
    asked.get_by_label("Paths to allow").fill("src/mail/*.txt")
    asked.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status").filter(has_text="Approved request-1")).to_be_visible()
    expect(asked).to_have_count(0)
    [leased] = hub.bus.receive("dev", wait=10.0)
    payload = json.loads(leased.raw)["payload"]
    assert (leased.message.sender, leased.message.type) == ("human", "approval_response")
    assert (payload["approved"], payload["request_id"]) == (True, "request-1")
    assert payload["conditions"] == ["Texts only", "No code"]
    assert payload["modifications"] == ["src/mail/*.txt"]


@proves("page_work/approvals/paths")
def test_an_approval_grants_the_paths_of_the_request_and_says_which(hub: HubProcess, page: Page, watch: Watch) -> None:
    hub.say(typed(PLAN_CONTRACT, plan_id="1-1", allowed_paths=["src/auth/"], tasks=["T1"]), sender="lead", to="dev")
    [verdict] = hub.bus.guard(["src/mail/m.py"], agent="dev")
    assert hub.say(dict(verdict.ask or {}), sender="dev").accepted
    ask(hub, "request-2", "Touch some more")
    page.goto("/#/approvals")
    asked = card(page, "Let me touch src/mail/m.py")
    expect(asked.get_by_label("Paths to allow")).to_have_value("src/mail/m.py")
    asked.get_by_label("Reason").fill("Fine.")
    asked.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status").filter(has_text="may write src/mail/m.py")).to_be_visible()
    assert hub.bus.guard(["src/mail/m.py"], agent="dev")[0].allowed
    watch.forgive("422")
    other = card(page, "Touch some more")
    other.get_by_label("Reason").fill("Fine.")
    other.get_by_role("button", name="Approve").click()
    expect(other).to_contain_text("Add the paths that dev may touch")  # and nothing is decided


@proves("page_work/approvals/reject")
def test_a_person_rejects_and_says_why(hub: HubProcess, page: Page) -> None:
    ask(hub)
    page.goto("/#/approvals")
    asked = card(page, "Touch src/mail/")
    asked.get_by_role("button", name="Reject").click()  # without a reason nothing is sent
    expect(asked.get_by_label("Reason")).to_be_focused()
    asked.get_by_label("Reason").fill("Not before the release.")
    asked.get_by_role("button", name="Reject").click()
    expect(page.get_by_role("status").filter(has_text="Rejected request-1")).to_be_visible()
    [leased] = hub.bus.receive("dev", wait=10.0)
    assert json.loads(leased.raw)["payload"]["approved"] is False
    [approval] = hub.bus.work_state("approval").values()
    assert (approval.answer.decision, approval.answer.by) == ("rejected", "human")
    assert b"Not before the release." in leased.raw


@proves("page_work/approvals/live")
def test_what_is_typed_stays_while_others_ask_and_are_answered(hub: HubProcess, page: Page) -> None:
    ask(hub, "request-1", "The first")
    ask(hub, "request-2", "The second", sender="dev-2")
    page.goto("/#/approvals")
    card(page, "The second").get_by_label("Reason").fill("I am still thinking")
    assert hub.bus.approve("request-1", approved=True, reason="yes", agent="lead").accepted
    expect(card(page, "The first")).to_have_count(0)
    ask(hub, "request-3", "The third", sender="dev-3")
    expect(card(page, "The third")).to_be_visible()
    expect(card(page, "The second").get_by_label("Reason")).to_have_value("I am still thinking")


@proves("page_work/refused-deed")
def test_an_answer_that_is_refused_says_why_where_it_was_given(hub: HubProcess, page: Page, watch: Watch) -> None:
    """Somebody else was quicker, and the page has not heard of it yet."""
    ask(hub)
    page.goto("/#/approvals")
    asked = card(page, "Touch src/mail/")
    asked.get_by_label("Reason").fill("Yes.")
    page.route("**/page/approvals", lambda route: None)  # what the page asks from now on is never answered
    assert hub.bus.approve("request-1", approved=False, reason="no", agent="lead").accepted
    watch.forgive("422")
    asked.get_by_role("button", name="Approve").click()
    expect(asked.get_by_role("alert")).to_contain_text("approval-answered")
    page.unroute("**/page/approvals")


@proves("page_work/escalations")
def test_a_person_answers_what_was_handed_up(hub: HubProcess, page: Page) -> None:
    raw = speech_of("vbw-company", "escalation", **{"from": "dev", "to": "senior"}).raw
    assert hub.bus.send(raw, sender="dev", to="senior", id="e1").accepted
    page.goto("/#/escalations")
    handed_up = page.locator("main li.card")
    expect(handed_up).to_contain_text("senior")
    handed_up.get_by_label("Your answer to dev").fill("Keep the session.")
    handed_up.get_by_role("button", name="Answer").click()
    expect(page.get_by_role("heading", name="No open escalations")).to_be_visible()
    [leased] = hub.bus.receive("dev", wait=10.0)
    assert (leased.raw, leased.message.sender) == (b"Keep the session.", "human")
    assert hub.bus.escalations() == []


@proves("page_work/repeat")
def test_an_answer_that_was_lost_on_its_way_back_is_given_again_and_stored_once(
    hub: HubProcess, page: Page, watch: Watch
) -> None:
    raw = speech_of("vbw-company", "escalation", **{"from": "dev", "to": "senior"}).raw
    assert hub.bus.send(raw, sender="dev", to="senior", id="e1").accepted
    watch.forgive_absence()
    page.goto("/#/escalations")
    page.get_by_label("Your answer to dev").fill("Keep the session.")
    page.route("**/page/escalations", lambda route: route.abort())  # or else it would be gone from the list
    page.route("**/send?*", lambda route: (route.fetch(), route.abort()), times=1)
    page.get_by_role("button", name="Answer").click()
    expect(page.get_by_role("alert").filter(has_text="not known whether this was done")).to_be_visible()
    page.get_by_role("button", name="Answer").click()
    expect(page.get_by_text("is notified")).to_be_visible()
    assert len([event for event, _ in hub.bus.events() if event.kind == "accepted" and event.agent == "human"]) == 1


# --- dead letters -----------------------------------------------------------------------------------------------------


def give_up(hub: HubProcess, words: str, id: str) -> None:
    hub.say(words, to="qa", id=id)
    state = ""
    while state != "dead":
        [leased] = hub.bus.receive("qa", wait=30.0)
        state = hub.bus.nack(leased.token, agent="qa", reason="No network", delay=0.0).state


@proves("page_work/dead/retry")
def test_a_dead_letter_is_retried_and_delivered(hub: HubProcess, page: Page) -> None:
    page.goto("/#/dead")
    give_up(hub, "Please look at the flaky test.", "letter")
    letter = card(page, "Please look at the flaky test.")
    expect(letter).to_contain_text("3 attempts")
    expect(letter).to_contain_text("No network")
    letter.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("heading", name="No dead letters")).to_be_visible()
    [leased] = hub.bus.receive("qa", wait=10.0)
    assert (leased.message.id, leased.raw) == ("letter", b"Please look at the flaky test.")
    page.goto("/#/feed")
    expect(page.locator(".happening", has_text="retried it")).to_contain_text("human retried it")


@proves("page_work/dead/drop")
def test_a_dead_letter_is_dropped_with_a_reason(hub: HubProcess, page: Page) -> None:
    give_up(hub, "Is the vault open?", "letter")
    page.goto("/#/dead")
    letter = card(page, "Is the vault open?")
    letter.get_by_text("Drop it").click()
    letter.get_by_label("Reason").fill("Nobody needs it any more.")
    letter.get_by_role("button", name="Drop").click()
    expect(page.get_by_role("heading", name="No dead letters")).to_be_visible()
    [dropped] = happened(hub, "dropped")
    assert dropped["reason"] == "Nobody needs it any more."


# --- who is where -----------------------------------------------------------------------------------------------------


@proves("page_work/refusals")
def test_refusals_are_told_by_code_and_by_agent_with_how_to_fix_them(hub: HubProcess, page: Page) -> None:
    page.goto("/#/refusals")
    expect(page.get_by_role("heading", name="No refusals")).to_be_visible()
    verdict = speech_of("vbw-typed", "qa_verdict").tree
    verdict["payload"]["result"] = "PASSED"
    assert not hub.say(verdict, sender="qa").accepted
    assert not hub.say("The build is red.", to="laed").accepted
    row = page.locator("table.heat tr", has_text="not-one-of")
    expect(row.locator("td").nth(0)).to_have_text(re.compile("^(1|·)$"))
    told = card(page, "Value is not one of the choices")
    expect(told).to_contain_text("qa 1×")
    expect(told).to_contain_text("Use one of the listed values.")
    told.get_by_text("The message").click()
    expect(told).to_contain_text("PASSED")
    page.get_by_role("button", name="dev", exact=True).click()
    expect(card(page, "recipient-unknown")).to_be_visible()
    expect(told).to_have_count(0)
    page.reload()
    expect(card(page, "recipient-unknown")).to_be_visible()
    expect(told).to_have_count(0)


@proves("page_work/contracts")
def test_contracts_show_what_is_agreed_what_is_done_and_who_went_beyond(hub: HubProcess, page: Page) -> None:
    page.goto("/#/contracts")
    words: dict[str, Any] = {
        "tasks": ["T1", "T2"],
        "allowed_paths": ["src/"],
        "forbidden_paths": [".env"],
        "token_budget": 10_000,
    }
    assert hub.say(
        typed(PLAN_CONTRACT, plan_id="P", objective="Reset links", **words), sender="lead", to="dev"
    ).accepted
    plan = card(page, "Reset links")
    expect(plan).to_contain_text("Tasks, 0 of 2 done")
    assert hub.say(report(files=["src/a.py"], status="complete", commit="abc1234", tokens_used=2_500)).accepted
    expect(plan).to_contain_text("Tasks, 1 of 2 done")
    expect(plan).to_contain_text("2,500 of 10,000")
    assert not hub.say(report(files=["docs/x.md"])).accepted
    outside = page.get_by_role("region", name="Outside their contract")
    expect(outside.locator("tbody tr")).to_have_count(1)
    expect(outside.locator("tbody tr")).to_contain_text("docs/x.md")
    expect(outside.locator("tbody tr")).to_contain_text("dev")


@proves("page_work/stalls")
def test_a_circle_of_waiting_is_drawn_and_its_remedy_offered(hub: HubProcess, page: Page) -> None:
    page.goto("/#/stalls")
    expect(page.get_by_role("heading", name="No stalls")).to_be_visible()
    for sender, to in (("dev", "lead"), ("lead", "dev")):
        made = typed(APPROVAL_REQUEST, id=f"ask-{sender}", role=sender, deadline=None, options=None)
        hub.say(made, sender=sender, to=to)
    knots = hub.bus.stall().knots
    assert [knot.kind for knot in knots][:1] == ["cycle"]
    expect(page.locator(".stall-graph .who.bad")).to_have_count(2)
    expect(page.locator(".stall-graph .arrow.bad")).to_have_count(2)
    expect(page.locator(".knots .copy code").first).to_have_text(knots[0].remedy.command)


@proves("page_work/shutdown")
def test_a_shutdown_is_begun_watched_and_ended(hub: HubProcess, page: Page) -> None:
    for name, role in (("lead", "lead"), ("dev", "dev"), ("qa", "qa")):
        hub.bus.join(name, role=role)
    page.goto("/#/shutdown")
    button = page.get_by_role("button", name="Ask all agents to shut down")
    expect(button).to_be_disabled()
    page.get_by_label("Type").fill("shut down")
    button.click()
    row = page.get_by_role("row").filter(has_text="dev")
    expect(row).to_contain_text("silent")
    [leased] = hub.bus.receive("dev", wait=10.0)
    assert leased.message.type == "shutdown_request"
    made = speech_of("vbw-typed", "shutdown_response", "bye", author_role="dev").tree
    made["payload"] |= {"request_id": leased.message.id, "approve": True, "final_status": "complete"}
    assert hub.say(made).accepted
    expect(row).to_contain_text("approved")
    page.get_by_label("Also stop agents that refuse").check()
    page.get_by_label("Type").fill("shut down")
    button.click()
    expect(page.get_by_role("status").filter(has_text="dissolved")).to_be_visible()
    assert len(happened(hub, "forced")) == 1
    assert len(happened(hub, "dissolved")) == 1


@proves("page_work/rates")
def test_rates_and_latency_are_drawn_and_grow(hub: HubProcess, page: Page) -> None:
    hub.say("One")
    page.goto("/#/rates?span=quarter")
    accepted = page.locator(".totals li", has_text="messages accepted")
    expect(accepted).to_contain_text("1")
    [leased] = hub.bus.receive("lead")
    hub.bus.ack(leased.token, agent="lead")
    hub.say("Two")
    expect(accepted).to_contain_text("2")
    expect(page.locator(".totals li", has_text="deliveries acked")).to_contain_text("1")
    expect(page.locator(".chart canvas")).to_have_count(2)
    assert page.evaluate("[...document.querySelectorAll('.chart canvas')].every((one) => one.width > 300)")
