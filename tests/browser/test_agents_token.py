"""What does the page offer somebody who shows an agent's token? What that agent may do, and no more."""

import json
import subprocess
import sys

import pytest
from playwright.sync_api import Locator, Page, expect

from telex.dialects.builtin.vbw_typed import APPROVAL_REQUEST
from tests.browser.hub_process import HubProcess
from tests.proofs import proves
from tests.work.contract_team import typed

ESCALATION = {
    "type": "escalation", "from": "dev", "to": "senior", "issue": "Who has the key?", "evidence": [],
    "recommendation": "Ask", "severity": "blocking",
}  # fmt: skip


@pytest.fixture
def busy(hub: HubProcess) -> HubProcess:
    """A hub that asks everybody for a token, with something to do for a person and for some agents."""
    request = typed(APPROVAL_REQUEST, id="request-1", subject="Touch src/mail/", options=None, deadline=None)
    assert hub.say(request, sender="dev", role="dev").accepted
    assert hub.say(ESCALATION, to="senior").accepted
    hub.say("Nobody can do this", to="qa", id="hopeless")
    for _ in range(3):
        [leased] = hub.bus.receive("qa", wait=10.0)
        hub.bus.nack(leased.token, agent="qa", reason="no", delay=0.0)
    hub.say("Only for dev", sender="lead", to="dev")
    hub.kill()
    return hub


def shows(page: Page, hub: HubProcess, *words: str) -> None:
    """Start the hub, and let the page have a token from the beginning."""
    command = [sys.executable, "-m", "telex", "token", "create", *words, "--store", str(hub.store)]
    made = subprocess.run(command, cwd=hub.folder, check=True, capture_output=True, text=True)
    hub.start("--tokens-only")
    page.add_init_script(f"sessionStorage.setItem('telex-token', {json.dumps(made.stdout.split()[-1])})")


def view(page: Page, name: str) -> Locator:
    page.goto(f"/#/{name}")
    expect(page.locator("main h1")).to_be_visible()
    expect(page.locator("main .loading")).to_have_count(0)
    expect(page.locator(".connection")).to_have_text("live")
    return page.locator("main")


@proves("page/token/agent")
def test_what_an_agent_may_not_do_is_not_offered_and_says_why(busy: HubProcess, page: Page) -> None:
    shows(page, busy, "--agent", "dev")
    for name, there, words in (
        ("dead", "Nobody can do this", "A person retries or drops it."),
        ("approvals", "Touch src/mail/", "You may not answer it."),
        ("escalations", "Who has the key?", "It is with senior."),
        ("shutdown", "Shutdown", "A person asks a team to shut down."),
    ):
        main = view(page, name)
        expect(main.get_by_text(there).first).to_be_visible()
        expect(main.get_by_text(words)).to_contain_text("opened with a token of dev")
        expect(main.get_by_role("button")).to_have_count(0)
        expect(main.locator("form")).to_have_count(0)


@proves("page/token/agent")
def test_an_agent_sees_its_own_inbox_and_writes_under_its_own_name(busy: HubProcess, page: Page) -> None:
    shows(page, busy, "--agent", "dev")
    expect(view(page, "team/lead")).to_contain_text("It is shown to lead and to a person.")
    expect(view(page, "team/dev")).to_contain_text("Only for dev")
    main = view(page, "compose?sender=lead&to=qa")
    expect(main.get_by_label("From")).to_have_value("dev")
    expect(main.get_by_label("From")).to_be_disabled()
    main.get_by_label("Message text").fill("From a browser")
    main.get_by_role("button", name="Send").click()
    expect(page.get_by_role("status").filter(has_text="Stored for qa")).to_be_visible()
    [leased] = busy.bus.receive("qa", wait=10.0)
    assert (leased.message.sender, leased.raw) == ("dev", b"From a browser")


@proves("page/token/agent")
def test_an_agent_answers_what_is_its_own_to_answer(busy: HubProcess, page: Page) -> None:
    shows(page, busy, "--agent", "lead")
    asked = view(page, "approvals").locator("li.card", has_text="Touch src/mail/")
    asked.get_by_label("Reason").fill("The text belongs there.")
    asked.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status").filter(has_text="Approved request-1")).to_be_visible()
    [approval] = busy.bus.work_state("approval").values()
    assert approval.answer.by == "lead"


@proves("page/token/agent")
def test_a_person_is_offered_everything(busy: HubProcess, page: Page) -> None:
    shows(page, busy, "--operator")
    for name, button in (
        ("dead", "Retry"),
        ("approvals", "Approve"),
        ("escalations", "Answer"),
        ("shutdown", "Ask all agents to shut down"),
    ):
        expect(view(page, name).get_by_role("button", name=button)).to_be_visible()
    expect(view(page, "team/dev")).to_contain_text("Only for dev")
    expect(page.locator(".not-yours")).to_have_count(0)
