"""What is outside of the page: answer links, and the page of a viewer."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.alerts.receiver import Receiver, receiving
from tests.browser.conftest import PHONE
from tests.browser.hub_process import HubProcess
from tests.browser.test_agents_token import shows
from tests.proofs import proves
from tests.work.contract_team import ask, contract

OWN, OTHER = "the-mail", "the-login"


def link_to(hub: HubProcess, receiver: Receiver, url: str, folder: Path) -> str:
    """The link in the notification of a request for approval."""
    (folder / "hub.toml").write_text(f'[notify]\nntfy = "{url}/team"\nlinks = true\nbatch_seconds = 0\n')
    hub.say(contract(), sender="lead", to="dev")
    assert hub.say(ask(id="ask-1", subject="Let me write docs/mail.md"), role="dev").accepted
    hub.kill()
    hub.start("--notify", str(folder / "hub.toml"))
    receiver.until(lambda: bool(receiver.ntfy))
    return str(next(iter(receiver.ntfy.values()))["actions"][0]["url"])


@proves("alerts/link/page", "alerts/link/once")
def test_a_person_approves_on_a_phone_from_a_link_once(hub: HubProcess, page: Page, tmp_path: Path) -> None:
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    with receiving() as (receiver, url):
        link = link_to(hub, receiver, url, tmp_path)
        page.goto(link)
        expect(page.get_by_role("heading")).to_have_text("Answer this request?")
        expect(page.get_by_text("Let me write docs/mail.md")).to_be_visible()
        for name in ("Approve", "Reject"):
            box = page.get_by_role("button", name=name).bounding_box()
            assert box is not None
            assert box["height"] >= 44
        page.get_by_label("Reason (optional)").fill("Fine by me")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading")).to_have_text("You have approved it")
        [verdict] = hub.bus.guard(["docs/mail.md"], agent="dev")
        assert verdict.allowed
        page.watch.forgive("409")  # type: ignore[attr-defined]
        page.goto(link)
        expect(page.get_by_role("heading")).to_have_text("Answered already")
        receiver.until(lambda: not receiver.ntfy)


@pytest.mark.parametrize("words", [[], ["--conversation", OWN]])
@proves("viewer/read-only", "viewer/conversation")
def test_the_page_of_a_viewer_has_nothing_to_act_with(hub: HubProcess, page: Page, words: list[str]) -> None:
    hub.say("Our mail is broken.", correlation=OWN)
    hub.say("Nobody can log in.", correlation=OTHER)
    for id_, thread in (("ask-1", OWN), ("ask-2", OTHER)):
        assert hub.say(ask(id=id_, task=thread, subject="Let me write docs/mail.md"), role="dev").accepted
    hub.kill()
    shows(page, hub, "--viewer", *words)
    page.goto("/#/")
    expect(page.get_by_text("Read only")).to_be_visible()
    expect(page.get_by_text("Our mail is broken.").first).to_be_visible()
    expect(page.get_by_text("Nobody can log in.")).to_have_count(0 if words else 1)
    expect(page.get_by_role("button", name="Write a message")).to_have_count(0)
    page.keyboard.press("w")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_text("Our mail is broken.").first.click()
    expect(page.get_by_role("button", name="Answer dev")).to_have_count(0)
    if words:
        page.goto("/")
        expect(page).to_have_url(re.compile(f"#/conversation/{OWN}$"))
        expect(page.get_by_role("navigation").get_by_role("link")).to_have_count(3)
        page.get_by_role("main").get_by_text("Our mail is broken.").first.wait_for()
        expect(page.locator('main a[href^="#/agent/"]')).to_have_count(0)
        page.watch.forgive("403")  # type: ignore[attr-defined]
        page.goto(f"/#/conversation/{OTHER}")
        expect(page.get_by_role("heading", level=1)).to_have_text("Not allowed")
    page.goto("/#/needs")
    expect(page).to_have_title(re.compile(r"^\(1\) " if words else r"^\(2\) "))
    for name in ("Approve", "Allow", "Reject", "Answer"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
