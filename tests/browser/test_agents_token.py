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
        hub.bus.nack(leased.token, agent="qa", reason="No space left", delay=0.0)
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


def item(page: Page, title: str) -> Locator:
    """The form of an item in Needs you."""
    view(page, "needs").get_by_role("button", name=title).click()
    expect(page.get_by_role("heading", name=title, level=2)).to_be_visible()
    return page.locator(".need-form")


@proves("page/token/agent")
def test_what_an_agent_may_not_do_is_not_offered_and_says_why(busy: HubProcess, page: Page) -> None:
    shows(page, busy, "--agent", "dev")
    for there, words in (
        ("No space left", "A person retries or drops them."),
        ("Touch src/mail/", "Only lead, one of architect, you may answer."),
        ("Who has the key?", "It is with senior."),
    ):
        form = item(page, there)
        expect(form).to_contain_text(words)
        expect(form.locator(".buttons")).to_have_count(0)
    main = view(page, "shutdown")
    expect(main.get_by_text("A person stops a team.")).to_contain_text("opened with a token of dev")
    expect(main.locator("form")).to_have_count(0)


@proves("page/token/agent")
def test_an_agent_answers_what_is_its_own_to_answer(busy: HubProcess, page: Page) -> None:
    shows(page, busy, "--agent", "lead")
    asked = item(page, "Touch src/mail/")
    asked.get_by_label("Reason").fill("The text belongs there.")
    asked.get_by_role("button", name="Allow").click()
    page.get_by_role("button", name="Send now").click()
    expect(page.get_by_role("button", name="Touch src/mail/")).to_have_count(0)
    expect(page.get_by_role("button", name="Send now")).to_have_count(0)
    [approval] = busy.bus.work_state("approval").values()
    assert approval.answer.by == "lead"


@proves("page/token/agent")
def test_a_person_is_offered_everything(busy: HubProcess, page: Page) -> None:
    shows(page, busy, "--operator")
    for title, button in (
        ("No space left", "Retry"),
        ("Touch src/mail/", "Allow"),
        ("Who has the key?", "Send answer"),
    ):
        expect(item(page, title).get_by_role("button", name=button)).to_be_visible()
    expect(page.locator(".not-yours")).to_have_count(0)
