"""The page around the views: navigation, keys, titles, badges, colours, the token, and what it costs to load."""

import re
import subprocess
import sys
import time
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Watch, fits
from tests.browser.hub_process import HubProcess
from tests.conftest import ROOT
from tests.proofs import proves

WEB = ROOT / "src/telex/surfaces/web"
REQUESTS_MAX, BYTES_MAX = 25, 250_000  # of the first load of the timeline
MINUTES_BEHIND = 9
ESCALATION = {
    "type": "escalation", "from": "dev", "to": "senior", "issue": "Who has the key?", "evidence": ["It is locked"],
    "recommendation": "Ask", "severity": "blocking",
}  # fmt: skip
UNKNOWN = """id: 1:1.5
event: update
data: {"seq": 1, "now": NOW, "rows": [], "agents": [], "conversations": [], "roster": false, "needs": null,
data:  "summary": {"team": "t", "messages": null, "needs": null, "hubs": false, "me": {"operator": true}}}

"""
NOTIFICATIONS = """
window.Notification = class extends EventTarget {
    static permission = localStorage.getItem("permission") || "default";
    static async requestPermission() {
        localStorage.setItem("permission", "granted");
        return (Notification.permission = "granted");
    }
    constructor(title, options) {
        super();
        const shown = JSON.parse(localStorage.getItem("shown") || "[]");
        localStorage.setItem("shown", JSON.stringify([...shown, title]));
    }
};
"""
BEHIND = f"""
const RealDate = Date, behind = {MINUTES_BEHIND * 60_000};
window.Date = class extends RealDate {{
    constructor(...given) {{ given.length ? super(...given) : super(RealDate.now() - behind); }}
    static now() {{ return RealDate.now() - behind; }}
}};
"""


def opened(page: Page, view: str = "") -> None:
    """Loaded, with everything that it asks for."""
    page.goto(f"/#/{view}")
    expect(page.locator(".connection")).to_have_text("live")
    expect(page.locator("main h1").first).to_be_visible()
    expect(page.locator("main .loading")).to_have_count(0)


def navigation(page: Page, name: str) -> Any:
    return page.get_by_role("navigation", name="Views").get_by_role("link", name=name)


# --- navigation and keys ----------------------------------------------------------------------------------------------


@proves("page/keyboard")
def test_everything_is_reached_by_keyboard(hub: HubProcess, page: Page) -> None:
    hub.say("Good morning", correlation="talk")
    opened(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    for key, title in (("n", "Needs you"), ("a", "Agents"), ("c", "Conversations"), ("t", "Timeline")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(navigation(page, title)).to_have_attribute("aria-current", "page")
        expect(page).to_have_title(re.compile(f"{title}.* · Telex$"))
        expect(page.locator("main")).to_be_focused()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("Search or jump to")
    page.keyboard.press("g")
    page.keyboard.press("a")
    expect(dialog).to_be_visible()  # keys of the page wait for the dialog
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page).to_have_url(re.compile("#/$"))


@proves("page/keyboard")
def test_search_and_writing_open_by_key_and_by_button_but_not_while_typing(hub: HubProcess, page: Page) -> None:
    opened(page, "nonsense")
    search = page.get_by_role("combobox", name="Search or jump to")
    for opens in ("/", "Control+k"):
        page.keyboard.press(opens)
        expect(search).to_be_focused()
        page.keyboard.press("Escape")
        expect(search).to_have_count(0)
    page.get_by_role("button", name="Search or jump to").click()
    expect(search).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("w")
    dialog = page.get_by_role("dialog", name="Write")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Write a message").click()
    field = dialog.get_by_role("textbox", name="Message")
    field.fill("")
    field.press_sequentially("we go on / w?")
    expect(field).to_have_value("we go on / w?")
    expect(search).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(1)


@proves("page/back")
def test_the_way_back_leads_to_the_same_place_and_the_same_focus(hub: HubProcess, page: Page) -> None:
    page.set_viewport_size({"width": 1200, "height": 400})
    for number in range(45):
        hub.say(f"line {number}", correlation=f"talk-{number}")
    opened(page)
    link = page.locator('main a[href="#/conversation/talk-20"]')
    expect(link).to_have_count(1)
    link.scroll_into_view_if_needed()
    link.focus()
    page.wait_for_function("() => scrollY > 300")
    before = page.evaluate("scrollY")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#/conversation/talk-20$"))
    expect(link).to_have_count(0)
    page.wait_for_function("() => scrollY === 0")
    page.go_back()
    expect(link).to_be_focused()
    page.wait_for_function("before => Math.abs(scrollY - before) < 3", arg=before)


@proves("page/not-found")
def test_an_address_that_nothing_has_is_said_not_to_be(hub: HubProcess, page: Page) -> None:
    opened(page, "nonsense/%zz")
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    expect(page.locator("main")).to_contain_text("#/nonsense/%zz")
    expect(page.locator("nav [aria-current]")).to_have_count(0)
    expect(page).to_have_title("Not found · Telex")
    page.locator("main").get_by_role("link", name="Timeline").click()
    expect(navigation(page, "Timeline")).to_have_attribute("aria-current", "page")


@proves("page/phone")
def test_a_phone_has_the_views_below_and_a_narrow_screen_has_icons(hub: HubProcess, page: Page) -> None:
    hub.say(ESCALATION, to="senior")
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    opened(page)
    tab = navigation(page, "Needs you")
    box = tab.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] > PHONE[1] - 60
    assert box["height"] >= 44
    expect(tab).to_contain_text("1")
    expect(navigation(page, "Contracts")).to_be_hidden()
    more = page.get_by_role("button", name="More", exact=True)
    more.click()
    page.get_by_role("option", name="Go to Contracts").click()
    expect(page.get_by_role("heading", level=1, name="Contracts")).to_be_visible()
    more.click()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    fits(page)
    page.set_viewport_size({"width": 1024, "height": 700})
    expect(more).to_be_hidden()
    assert tab.locator(".nav-word").evaluate("word => word.offsetWidth") <= 1
    expect(tab).to_have_attribute("title", "Needs you")
    expect(tab).to_contain_text("1")
    fits(page)


@proves("page/phone")
def test_the_timeline_is_not_too_wide_before_it_is_drawn_again(hub: HubProcess, page: Page) -> None:
    page.add_init_script("window.ResizeObserver = class { observe() {} unobserve() {} disconnect() {} };")
    hub.say("Good morning")
    opened(page)
    expect(page.locator("telex-overview canvas")).to_be_visible()
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


@proves("page/accessible")
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_the_shell_shuts_nobody_out(hub: HubProcess, page: Page, watch: Watch, axe: str, colours: Any) -> None:
    watch.forgive("Applying inline style")  # it is axe that tries to
    hub.say(ESCALATION, to="senior")
    page.emulate_media(color_scheme=colours, reduced_motion="reduce")
    faults = []
    for width, height in ((1440, 900), (1024, 700), PHONE):
        page.set_viewport_size({"width": width, "height": height})
        for dialog in (False, True):
            opened(page, "nonsense")
            if dialog:
                page.keyboard.press("?")
                expect(page.get_by_role("dialog")).to_be_visible()
            page.evaluate(axe)
            found = page.evaluate("axe.run({resultTypes: ['violations'], preload: false})")
            faults += [
                f"{width}: {one['id']}: {node['target']} {node['failureSummary']}"
                for one in found["violations"]
                for node in one["nodes"][:3]
            ]
            page.keyboard.press("Escape")
    assert faults == []


# --- what needs the person --------------------------------------------------------------------------------------------


@proves("page/badge")
def test_title_icon_and_badge_say_how_much_needs_the_person(hub: HubProcess, page: Page) -> None:
    opened(page)
    icon = page.locator("link[rel=icon]")
    expect(page).to_have_title("Timeline · Telex")
    expect(page.locator(".badge")).to_have_count(0)
    calm = icon.get_attribute("href")
    hub.say(ESCALATION, to="senior", id="key")
    expect(page).to_have_title("(1) Timeline · Telex")
    expect(navigation(page, "Needs you").locator(".badge")).to_contain_text("1")
    assert icon.get_attribute("href") != calm
    hub.bus.send("Under the mat.", sender="human", to="dev", reply_to="key", check=False)
    expect(page).to_have_title("Timeline · Telex")
    assert icon.get_attribute("href") == calm


@proves("page/badge")
def test_a_count_that_is_not_known_is_not_shown_as_none(hub: HubProcess, page: Page, watch: Watch) -> None:
    body = UNKNOWN.replace("NOW", str(time.time()))
    page.route("**/page/stream", lambda route: route.fulfill(body=body, content_type="text/event-stream"))
    page.goto("/#/nonsense")
    expect(page.locator(".team")).to_have_text("t")
    expect(page).to_have_title("Not found · Telex")
    expect(page.locator(".badge")).to_have_count(0)


@proves("page/notification")
def test_a_new_item_is_announced_once_however_many_tabs_are_open(hub: HubProcess, page: Page) -> None:
    page.context.add_init_script(NOTIFICATIONS)
    hub.say(ESCALATION, to="senior", id="old")
    opened(page, "needs")
    page.get_by_role("button", name="Notify me in the browser").click()
    expect(page.get_by_role("button", name="Notify me in the browser")).to_have_attribute("aria-pressed", "true")
    other = page.context.new_page()
    opened(other)
    for number in range(2):
        hub.say({**ESCALATION, "issue": f"New question {number}"}, to="senior")
        page.wait_for_function(
            "count => JSON.parse(localStorage.getItem('shown') || '[]').length === count", arg=number + 1
        )
        for tab in (page, other):
            expect(tab).to_have_title(re.compile(rf"^\({number + 2}\)"))
    assert [title[-1] for title in page.evaluate("JSON.parse(localStorage.getItem('shown'))")] == ["0", "1"]


# --- time, colours, drafts --------------------------------------------------------------------------------------------


@proves("page/clock")
def test_a_browser_whose_clock_is_behind_shows_times_by_the_clock_of_the_hub(hub: HubProcess, page: Page) -> None:
    page.add_init_script(BEHIND)
    hub.say("Good morning", correlation="talk")
    for view in ("", "agents", "conversations", "conversation/talk"):
        opened(page, view)
        assert "in 8 min" not in page.content()
        assert "in 9 min" not in page.content()
    ago = page.evaluate(
        """async (at) => (await import(document.querySelector("script[type=module]").src
            .replace("app.js", "format.js"))).ago(at)""",
        time.time() - 200,
    )
    assert ago == "3 min ago"


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
    page.get_by_role("button", name="Colours: auto").click()
    page.get_by_role("button", name="Colours: light").click()
    assert ground() == dark
    page.reload()
    assert ground() == dark


@proves("page/drafts")
def test_a_half_typed_text_survives_in_its_tab(hub: HubProcess, page: Page) -> None:
    page.goto("/")
    keep = "import(document.querySelector('script[type=module]').src.replace('app.js', 'drafts.js'))"
    page.evaluate(f"{keep}.then((drafts) => drafts.keepDraft('approval:9', 'reason', 'Because of'))")
    page.evaluate(f"{keep}.then((drafts) => drafts.keepDraft('approval:10', 'reason', 'Other'))")
    page.reload()
    read = f"{keep}.then((drafts) => drafts.draft('approval:9', 'reason'))"
    assert page.evaluate(read) == "Because of"
    page.evaluate(f"{keep}.then((drafts) => drafts.dropDrafts('approval:9'))")
    assert page.evaluate(read) == ""
    assert page.evaluate(read.replace(":9", ":10")) == "Other"


# --- the files --------------------------------------------------------------------------------------------------------


@proves("page/light")
def test_the_first_load_is_small_and_the_second_asks_for_no_file_again(hub: HubProcess, page: Page) -> None:
    for number in range(60):
        hub.say(f"Where is the key of room {number}?", sender="dev", to="lead", correlation=f"room-{number % 9}")
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    sent: list[str] = []
    sizes: list[float] = []

    def noted(event: dict[str, Any]) -> None:
        if not event["request"]["url"].startswith("data:"):
            sent.append(event["request"]["url"])

    network.on("Network.requestWillBeSent", noted)
    network.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    opened(page)
    expect(page.get_by_text("room 59").first).to_be_visible()
    page.wait_for_timeout(500)
    assert len(sent) <= REQUESTS_MAX, "\n".join(sent)
    assert sum(sizes) <= BYTES_MAX
    assert not [url for url in sent if "uplot" in url]
    sent.clear()
    sizes.clear()
    page.reload()
    expect(page.get_by_text("room 59").first).to_be_visible()
    page.wait_for_timeout(500)
    assert sum(sizes) <= 60_000


@proves("page/policy", "page/alone")
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


@proves("page/vendored")
def test_what_is_used_of_others_lies_beside_it_with_its_licence() -> None:
    for script in (WEB / "vendor").glob("*.js"):
        name = script.name.removesuffix(".js")
        assert (WEB / f"vendor/{name}.LICENSE").stat().st_size > 500, f"{name} has no licence"
        described = (WEB / f"vendor/{name}.md").read_text(encoding="utf-8")
        assert re.search(r"\d+\.\d+\.\d+", described), f"{name} says no version"
    for file in WEB.rglob("*.*"):
        if file.parent.name == "vendor":
            continue
        for address in re.findall(r"https?://[^\s\"')]+", file.read_text(encoding="utf-8")):
            assert address == "http://www.w3.org/2000/svg", f"{file.name} mentions {address}"


@proves("page/styles")
def test_no_style_sheet_of_a_view_changes_what_another_has() -> None:
    """All style sheets that were loaded stay: a rule must begin with a name of its own."""
    files: dict[str, set[str]] = {}
    for file in WEB.rglob("*.css"):
        rules = re.sub(r"/\*.*?\*/", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        for selectors in re.findall(r"([^{}]+)\{", rules):
            for name in re.findall(r"(?:^|,)\s*\.([\w-]+)", re.sub(r"\([^()]*\)", "", selectors)):
                files.setdefault(name, set()).add(file.name)
    assert {name: found for name, found in files.items() if len(found) > 1} == {}


# --- the token --------------------------------------------------------------------------------------------------------


@proves("page/token")
def test_a_hub_that_wants_a_token_is_given_one(hub: HubProcess, page: Page, watch: Watch) -> None:
    watch.forgive("401")
    hub.say("Only for those who may")
    made = subprocess.run(
        [sys.executable, "-m", "telex", "token", "create", "--operator", "--store", str(hub.store)],
        cwd=hub.folder, check=True, capture_output=True, text=True,
    )  # fmt: skip
    token = made.stdout.strip().split()[-1]
    hub.kill()
    hub.start("--tokens-only")
    page.goto("/")
    dialog = page.get_by_role("dialog", name="This hub requires a token")
    expect(dialog.get_by_label("Token")).to_be_focused()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Enter a token").click()
    dialog.get_by_label("Token").fill("not a token")
    dialog.get_by_role("button", name="Go on").click()
    expect(dialog.get_by_label("Token")).to_have_value("")
    dialog.get_by_label("Token").fill(token)
    dialog.get_by_role("button", name="Go on").click()
    expect(page.locator(".connection")).to_have_text("live")
    expect(page.get_by_text("Only for those who may").first).to_be_visible()
    assert token not in page.url
    page.reload()
    expect(page.get_by_text("Only for those who may").first).to_be_visible()
    other = page.context.new_page()
    other.goto("/")
    expect(other.get_by_role("dialog")).to_be_visible()


@proves("page/live")
def test_two_tabs_show_the_same_at_the_same_time(hub: HubProcess, page: Page) -> None:
    other = page.context.new_page()
    for tab in (page, other):
        opened(tab)
    hub.say("To everybody who looks")
    for tab in (page, other):
        expect(tab.get_by_text("To everybody who looks").first).to_be_visible()
