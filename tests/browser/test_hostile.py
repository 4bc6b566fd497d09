"""Does anything run that a message says? Every attack, in every view that shows what agents wrote."""

import json
from typing import Any

from playwright.sync_api import Page, expect

from telex.dialects.builtin.vbw_typed import APPROVAL_REQUEST, BLOCKER_REPORT, PLAN_CONTRACT
from telex.model.message import BRINGING
from telex.ports.store import Query
from tests.browser.hub_process import HubProcess
from tests.bus.bus_team import speech_of
from tests.http.page_attacks import ATTACKS
from tests.proofs import proves
from tests.work.contract_team import report, typed

VIEWS = (
    "", "needs", "agents", "agent/dev", "conversations", "conversation/hostile", "search?q=script", "contracts",
    "shutdown", "refusals?span=all", "rates",
)  # fmt: skip
SEEN = tuple(attack.replace("\x00", "") for attack in ATTACKS)  # no message may have a byte of nothing in it
WHOLE = "Look at this.\n\n" + "\n\n".join(SEEN)


def fill(hub: HubProcess) -> None:
    """Every attack: as text, as a message that is refused, and wherever a matter of the work has words of its own."""
    words: dict[str, Any] = {"objective": WHOLE, "tasks": [*SEEN], "allowed_paths": ["src/"], "depends_on": None}
    say(hub, typed(PLAN_CONTRACT, plan_id="P", **words), "lead", "dev")
    for number, attack in enumerate(ATTACKS):
        hub.bus.send(
            attack.encode("utf-8", "surrogatepass"), sender="dev", to="lead", correlation="hostile", check=False
        )
        say(hub, {"type": "qa_verdict", "id": "x", "task": attack, attack: attack}, "qa", "lead")
        words = {"subject": attack, "evidence": attack, "deadline": None, "options": None}
        say(hub, typed(APPROVAL_REQUEST, id=f"ask-{number}", **words), "dev", "lead")
        say(hub, typed(BLOCKER_REPORT, attack[:40], id=f"blocked-{number}", reason=attack), "dev", "lead")
        say(hub, report(files=[attack]), "dev", "lead")
    words = {"issue": WHOLE, "recommendation": WHOLE, "evidence": [*SEEN], "from": "dev", "to": "senior"}
    say(hub, speech_of("vbw-company", "escalation", **words).tree, "dev", "senior")
    hub.bus.send(WHOLE, sender="dev", to="scout", id="letter")
    for _ in range(3):
        [leased] = hub.bus.receive("scout", wait=30.0)
        hub.bus.nack(leased.token, agent="scout", reason=WHOLE[:1_900], delay=0.0)
    assert len(hub.bus.escalations()) == len(hub.bus.dead_letters()) == 1
    assert len(hub.bus.work_state("approval")) > len(ATTACKS) * 0.9


def say(hub: HubProcess, made: dict[str, Any], sender: str, to: str) -> None:
    hub.bus.send(json.dumps(made), sender=sender, to=to, check=False)


def untouched(page: Page) -> None:
    assert page.evaluate("window.__pwned === undefined && Object.prototype.polluted === undefined")


@proves("page_work/hostile/browser")
def test_nothing_that_a_message_says_runs_in_any_view(hub: HubProcess, page: Page) -> None:
    """The page's own watch notices dialogs, errors, breaches of its policy and requests to anywhere else."""
    fill(hub)
    for view in VIEWS:
        page.goto(f"/#/{view}")
        expect(page.locator("main h1").first).to_be_visible()
        expect(page.locator("main .loading")).to_have_count(0)
        page.evaluate("document.querySelectorAll('main details').forEach((one) => (one.open = true))")
        untouched(page)
    expect(page.locator("main")).not_to_be_empty()


@proves("page_work/hostile/message")
def test_nothing_runs_in_the_message_itself(hub: HubProcess, page: Page) -> None:
    fill(hub)
    numbers = [event.seq for event, _ in hub.bus.events(Query(kinds=BRINGING))]
    page.goto("/")
    for number in numbers[:: max(1, len(numbers) // 90)]:
        with page.expect_response(f"**/page/messages/{number}"):
            page.evaluate(f"location.hash = '#/message/{number}'")
        expect(page.locator("main .loading")).to_have_count(0)
        untouched(page)
        foreign = "main :is(script, iframe, object, embed, style, link, meta, base, video, math, svg *[onload])"
        assert page.locator(foreign).count() == 0
        assert page.locator("main [style], main [onerror], main [onload], main [onclick]").count() == 0
