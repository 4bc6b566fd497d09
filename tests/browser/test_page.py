"""Is the page one that everybody can use, on any screen, and that keeps to itself?"""

import re
import shlex
import subprocess
import sys
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import PHONE, Watch
from tests.browser.hub_process import HubProcess
from tests.conftest import ROOT
from tests.proofs import proves

VENDORED = ROOT / "src/telex/surfaces/web/vendor"
VIEWS = (
    "feed", "feed?kinds=all", "team", "team/lead", "threads", "thread/keys", "thread/keys?as=list",
    "message/id/refused", "message/id/escalated", "search?text=key", "approvals", "escalations", "dead", "stalls",
    "contracts", "shutdown", "refusals", "rates", "compose",
)  # fmt: skip
LONG = "averyveryverylongwordthatcannotbebrokenanywhere" * 4


@pytest.fixture
def told(hub: HubProcess) -> HubProcess:
    """A hub with something of everything in it, and some of it too long."""
    issue = {"issue": f"Who has the key? {LONG}", "evidence": [LONG], "recommendation": "Ask", "severity": "blocking"}
    hub.say(f"Where is the key? {LONG}", id="first", correlation="keys")
    for sender, to in (("qa", "dev"), ("docs", "qa"), ("lead", "*"), ("architect", "lead"), ("scout", "lead")):
        hub.say("The key is lost", sender=sender, to=to, reply_to="first", correlation="keys")
    escalation = {"type": "escalation", "from": "dev", "to": "senior", **issue}
    hub.say({**escalation, "severity": LONG}, to="senior", id="refused", correlation="keys")
    hub.say(escalation, to="senior", id="escalated", correlation="locks")
    [leased] = hub.bus.receive("lead")
    hub.bus.nack(leased.token, agent="lead", reason="not now")
    return hub


def shown(page: Page, view: str) -> None:
    """Loaded, with whatever it had to ask for."""
    page.goto(f"/#/{view}")
    expect(page.locator("main h1").first).to_be_visible()
    expect(page.locator(".loading")).to_have_count(0)
    page.wait_for_load_state("load")


@proves("page/first-screen")
def test_the_first_screen(told: HubProcess, page: Page) -> None:
    shown(page, "")
    team = page.locator("telex-team-aside")
    expect(team).to_contain_text("lead")
    expect(team.locator("li", has_text="lead").first).to_contain_text("open, oldest")
    expect(page.locator(".attention")).to_contain_text("1 escalation")
    expect(page.get_by_role("heading", name="Messages")).to_be_visible()
    expect(page.locator(".happening.said").first).to_be_visible()
    page.locator(".attention").get_by_role("link", name="1 escalation").click()
    expect(page).to_have_url(re.compile("#/escalations"))


@proves("page/first-screen/unknown")
def test_counts_that_are_not_known_are_not_shown_as_none(hub: HubProcess, page: Page, watch: Watch) -> None:
    hub.say("Good morning")
    summaries: list[Route] = []
    page.route("**/page/summary", lambda route: summaries.append(route))
    page.goto("/")
    expect(page.locator(".happening.said").first).to_be_visible()
    attention = page.locator(".attention")
    expect(attention.locator(".figure")).to_have_text(["…"] * 4)
    expect(attention).not_to_contain_text("Nothing needs a person")
    watch.forgive_absence()
    while not summaries:
        page.wait_for_timeout(50)
    summaries.pop().abort()
    expect(attention).to_contain_text("could not be counted")
    expect(attention.locator(".figure")).to_have_text(["…"] * 4)
    page.unroute("**/page/summary")
    expect(attention).to_contain_text("Nothing needs a person.")


@proves("page/first-screen/empty")
def test_an_empty_store_shows_how_to_begin(hub: HubProcess, page: Page) -> None:
    page.goto("/")
    expect(page.get_by_text("No messages yet")).to_be_visible()
    command = page.locator(".begin code").first.inner_text()
    said, sent = command.split(" | ")
    words = shlex.split(sent)
    assert words[0] == "telex"
    telex = [sys.executable, "-m", "telex", *words[1:], "--store", str(hub.store)]
    text = shlex.split(said)[1]
    subprocess.run(telex, input=text, text=True, cwd=hub.folder, check=True, capture_output=True)
    expect(page.locator(".happening", has_text=text)).to_be_visible()


@proves("page/keyboard")
def test_everything_is_reached_by_keyboard(told: HubProcess, page: Page) -> None:
    shown(page, "feed")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("j")
    links = page.locator(".happening .main")
    expect(links.nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("k")
    expect(links.nth(0)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#/message/"))
    expect(page.locator("telex-message h1")).to_be_visible()  # the address changes before the page does
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("#/feed"))
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()


@proves("page/phone")
def test_no_view_is_wider_than_a_phone(told: HubProcess, page: Page) -> None:
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    for view in VIEWS:
        shown(page, view)
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider <= 0, f"{view} is {wider} px too wide"
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Search").click()
    expect(page.get_by_role("searchbox")).to_be_visible()
    expect(page.get_by_role("link", name="Conversations")).to_be_hidden()


@proves("page/accessible")
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_no_view_shuts_anybody_out(told: HubProcess, page: Page, watch: Watch, axe: str, colours: Any) -> None:
    watch.forgive("Applying inline style")  # it is axe that tries to; the page alone is watched in every other test
    page.emulate_media(color_scheme=colours, reduced_motion="reduce")
    faults = []
    for view in VIEWS:
        shown(page, view)
        page.evaluate(axe)
        found = page.evaluate("axe.run({resultTypes: ['violations'], preload: false})")
        faults += [
            f"{view}: {one['id']} ({one['impact']}): {node['target']} {node['failureSummary']}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"][:3]
        ]
    assert faults == []


@proves("page/colours")
def test_colours_follow_the_system_and_then_the_person(hub: HubProcess, page: Page) -> None:
    def ground() -> str:
        return str(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))

    page.emulate_media(color_scheme="dark")
    page.goto("/")
    dark = ground()
    page.emulate_media(color_scheme="light")
    light = ground()
    assert dark != light
    page.get_by_role("button", name="Colours").click()
    page.get_by_role("button", name="Colours").click()
    assert ground() == dark
    page.reload()
    assert ground() == dark


@proves("page/policy")
def test_nothing_but_the_page_s_own_files_runs(hub: HubProcess, page: Page, watch: Watch) -> None:
    watch.forgive("Content Security Policy")
    answer = page.goto("/")
    assert answer is not None
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.ran = 1";
        document.body.append(script);
        document.body.setAttribute("onclick", "window.ran = 1");
        document.body.click();
    }""")
    assert page.evaluate("window.ran") is None


@proves("page/token")
def test_a_hub_that_wants_a_token_is_given_one(hub: HubProcess, page: Page) -> None:
    page.watch.forgive("401")  # type: ignore[attr-defined]
    hub.say("Only for those who may")
    made = subprocess.run(
        [sys.executable, "-m", "telex", "token", "create", "--operator", "--store", str(hub.store)],
        cwd=hub.folder, check=True, capture_output=True, text=True,
    )  # fmt: skip
    token = made.stdout.strip().split()[-1]
    hub.kill()
    hub.start("--tokens-only")
    page.goto("/")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Enter a token").click()
    dialog.get_by_label("Token").fill("not a token")
    dialog.get_by_role("button", name="Go on").click()
    expect(dialog.get_by_label("Token")).to_have_value("")
    expect(dialog).to_be_visible()
    dialog.get_by_label("Token").fill(token)
    dialog.get_by_role("button", name="Go on").click()
    expect(page.locator(".happening", has_text="Only for those who may")).to_be_visible()
    expect(page.locator(".connection")).to_have_text("live")
    assert token not in page.url
    page.reload()
    expect(page.locator(".happening", has_text="Only for those who may")).to_be_visible()
    other = page.context.new_page()
    other.goto("/")
    expect(other.get_by_role("dialog")).to_be_visible()


@proves("page/vendored")
def test_what_is_used_of_others_lies_beside_it_with_its_licence() -> None:
    for script in VENDORED.glob("*.js"):
        name = script.name.split(".")[0]
        assert (VENDORED / f"{name}.LICENSE").stat().st_size > 500, f"{name} has no licence"
        assert re.search(r"\d+\.\d+\.\d+", (VENDORED / f"{name}.md").read_text(encoding="utf-8")), (
            f"{name} says no version"
        )
    for file in (ROOT / "src/telex/surfaces/web").glob("*.*"):
        for address in re.findall(r"https?://[^\s\"')]+", file.read_text(encoding="utf-8")):
            assert address == "http://www.w3.org/2000/svg", f"{file.name} mentions {address}"
