"""Search, refusals, contracts, rates, shutdown and the connection of agents, as a person sees them."""

import json
import re
import subprocess
import sys
import time
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from telex.dialects.builtin.vbw_typed import PLAN_CONTRACT
from telex.ports.store import Query
from tests.browser.conftest import PHONE, Watch, fits
from tests.browser.hub_process import HubProcess
from tests.browser.work_story import play
from tests.bus.bus_team import speech_of
from tests.proofs import proves
from tests.work.contract_team import report, typed

LONG_NAME = "n" * 64
VIEWS = (
    "contracts",
    "shutdown",
    "refusals?span=day",
    "rates",
    "search",
    "search?q=mail",
    "search?q=state:x",
    "connect",
)


def shown(page: Page, view: str) -> Locator:
    page.goto(f"/#/{view}")
    expect(page.locator(f"telex-view-{view.split('?')[0]} h1")).to_be_visible()
    expect(page.locator("main .loading")).to_have_count(0)
    return page.locator("main")


def contract(hub: HubProcess, plan: str = "P", objective: str = "Reset links", **words: Any) -> None:
    terms = {"tasks": ["T1", "T2"], "allowed_paths": ["src/"], "forbidden_paths": [".env"], "depends_on": None}
    made = typed(PLAN_CONTRACT, plan_id=plan, objective=objective, **terms | words)
    assert hub.say(made, sender="lead", to="dev").accepted


def failed_verdict(hub: HubProcess, sender: str = "qa") -> None:
    verdict = speech_of("vbw-typed", "qa_verdict").tree
    verdict["payload"]["result"] = "PASSED"
    verdict["id"] = f"verdict-{time.monotonic_ns()}"
    assert not hub.say(verdict, sender=sender).accepted


# --- search -----------------------------------------------------------------------------------------------------------


@proves("page/search", "page_views/search")
def test_a_search_finds_parts_of_words_as_one_types_and_marks_them(hub: HubProcess, page: Page) -> None:
    hub.say("The banana is ripe", id="ripe")
    hub.say("The apple is not", sender="qa")
    long = "At last. " + "Nothing to see. " * 20 + "The banana was eaten."
    hub.say({"type": "note", "subject": "Fruit", "text": long}, sender="qa")
    main = shown(page, "search")
    box = page.get_by_role("searchbox")
    expect(box).to_be_focused()
    page.keyboard.type("banan")
    expect(main.locator(".row")).to_have_count(2)
    expect(main.locator(".excerpt")).to_contain_text("The banana was eaten")
    expect(main.locator(".excerpt")).not_to_contain_text("{")
    expect(main.locator("mark")).to_have_text(["banan", "banan"])
    expect(main.locator(".row mark")).to_have_count(1)  # of the message whose first words have it
    expect(page).to_have_url(re.compile(r"#/search\?q=banan$"))
    page.reload()
    expect(main.locator(".row")).to_have_count(2)
    box.fill("banan from:dev")
    expect(main.locator(".row")).to_have_count(1)
    box.fill("banan state:ripe")
    expect(page.get_by_role("alert")).to_contain_text("state: takes one of")
    box.fill("no such words")
    expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()


@proves("page_views/search/pages")
def test_older_results_are_shown_on_request(hub: HubProcess, page: Page) -> None:
    for number in range(45):
        hub.say(f"Apple number {number}")
    main = shown(page, "search?q=apple")
    expect(main.locator(".row")).to_have_count(40)
    main.get_by_role("button", name="Older").click()
    expect(main.locator(".row")).to_have_count(45)
    expect(page.get_by_role("status").filter(has_text="45 messages")).to_be_visible()


# --- refusals ---------------------------------------------------------------------------------------------------------


@proves("page_work/refusals", "page_views/refusals/filter")
def test_refusals_are_told_by_code_and_by_agent_with_how_to_fix_them(hub: HubProcess, page: Page) -> None:
    main = shown(page, "refusals")
    expect(page.get_by_role("heading", name="No refusals")).to_be_visible()
    failed_verdict(hub)
    failed_verdict(hub)
    assert not hub.say("The build is red.", sender="dev", to="laed").accepted
    cell = page.get_by_role("link", name="2 messages of qa refused with not-one-of")
    expect(cell).to_have_text("2")
    expect(main).to_contain_text("3 messages of 2 agents refused in the last hour.")
    cell.click()
    told = main.locator("li.refusal")
    expect(told).to_have_count(1)
    expect(told).to_contain_text("qa 2 ×")
    expect(told).to_contain_text("Use one of the listed values.")
    expect(told).not_to_contain_text("dev")
    expect(main).to_contain_text("2 messages of qa with not-one-of")
    told.locator("summary").click()
    expect(told).to_contain_text("PASSED")
    page.reload()
    expect(told).to_have_count(1)
    told.get_by_role("link", name="All messages with not-one-of").click()
    expect(page.locator("main .row")).to_have_count(2)


@proves("page_work/look/phone-refusals")
def test_on_a_phone_refusals_are_read_without_moving_a_table_about(hub: HubProcess, page: Page) -> None:
    agents = ("architect", "scout", "docs", "senior", "security", "lead", "dev", LONG_NAME)
    for sender in agents:
        hub.say({"type": "qa_verdict", "tests": 1}, sender=sender, to="lead")
    failed_verdict(hub)
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    main = shown(page, "refusals")
    row = main.locator(".heat tbody tr", has=page.get_by_text("field-missing", exact=True))
    for sender in agents:
        expect(row.get_by_role("link", name=f"1 message of {sender} refused with field-missing")).to_be_visible()
    expect(row.locator("td[data-label=qa]")).to_be_hidden()  # an agent without it takes no room
    assert main.locator(".scroll-x").evaluate("(one) => one.scrollWidth - one.clientWidth") <= 0


# --- contracts --------------------------------------------------------------------------------------------------------


@proves("page_work/contracts", "page_views/contracts/changes")
def test_contracts_show_what_is_agreed_done_changed_and_who_went_beyond(hub: HubProcess, page: Page) -> None:
    main = shown(page, "contracts")
    contract(hub, token_budget=10_000)
    plan = main.locator("li.plan")
    expect(plan).to_contain_text("Tasks: 0 of 2 done")
    assert hub.say(report(files=["src/a.py"], status="complete", commit="abc1234", tokens_used=2_500)).accepted
    expect(plan).to_contain_text("Tasks: 1 of 2 done")
    expect(plan).to_contain_text("2,500 of 10,000")
    assert not hub.say(report(files=["docs/x.md"])).accepted
    outside = page.get_by_role("region", name="Outside of their contract").locator("tbody tr")
    expect(outside).to_have_count(1)
    expect(outside).to_contain_text("docs/x.md")
    contract(hub, token_budget=10_000, allowed_paths=["src/", "docs/"], tasks=["T1"])
    plan.get_by_text("1 change since the first revision").click()
    expect(plan.locator("ins")).to_have_text(re.compile(r"\+ docs/"))
    expect(plan.locator("del")).to_have_text(re.compile("− T2"))


@proves("page_views/contracts/order")
def test_many_contracts_are_paged_in_natural_order(hub: HubProcess, page: Page) -> None:
    for number in range(1, 13):
        contract(hub, f"{number}-1", f"Objective {number}")
    main = shown(page, "contracts")
    expect(main.locator("li.plan h2 code")).to_have_text([f"{number}-1" for number in range(1, 11)])
    main.get_by_role("link", name="Next").click()
    expect(main.locator("li.plan h2 code")).to_have_text(["11-1", "12-1"])


# --- rates ------------------------------------------------------------------------------------------------------------


@proves("page_work/rates")
def test_rates_and_latency_are_drawn_and_grow(hub: HubProcess, page: Page) -> None:
    hub.say("One")
    main = shown(page, "rates?span=quarter")
    expect(main).to_contain_text("1 message sent")
    expect(main).to_contain_text("Nothing was done in this period.")
    [leased] = hub.bus.receive("lead")
    hub.bus.ack(leased.token, agent="lead")
    hub.say("Two")
    expect(main).to_contain_text("2 messages sent")
    expect(main).to_contain_text("1 delivery done")
    chart = page.get_by_role("img", name="Messages over time")
    box = chart.bounding_box()
    assert box is not None
    assert box["width"] > 300
    chart.hover()
    expect(main.locator(".chart-legend").first).to_contain_text("sent 0")
    main.get_by_text("Figures").first.click()
    expect(main.get_by_role("region", name="Figures: Messages over time").locator("tbody tr")).not_to_have_count(0)
    words = page.get_by_role("img", name="Time from sent to done").locator("text").all_text_contents()
    assert {"1 ms", "10 ms", "100 ms", "1 s", "10 s", "1 min"} & set(words)


# --- shutdown ---------------------------------------------------------------------------------------------------------


@proves("page_work/shutdown", "page_views/shutdown")
def test_a_team_is_stopped_in_two_steps_watched_and_ended(hub: HubProcess, page: Page) -> None:
    for name, role in (("lead", "lead"), ("dev", "dev"), ("qa", "qa"), (LONG_NAME, "dev")):
        hub.bus.join(name, role=role)
    main = shown(page, "shutdown")
    button = main.get_by_role("button", name="Stop the team")
    expect(button).to_be_disabled()
    expect(main).to_contain_text("Ask 4 agents to stop")
    main.get_by_label("Type stop to confirm").fill("stop")
    page.keyboard.press("Enter")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="dev", exact=True))
    expect(row).to_contain_text("no answer yet")
    fits(page)
    [leased] = hub.bus.receive("dev", wait=10.0)
    made = speech_of("vbw-typed", "shutdown_response", "bye", author_role="dev").tree
    made["payload"] |= {"request_id": leased.message.id, "approve": True, "final_status": "complete"}
    assert hub.say(made).accepted
    expect(row).to_contain_text("stopped")
    main.get_by_label("Also end agents that refuse").check()
    main.get_by_label("Type stop to confirm").fill("stop")
    button.click()
    expect(page.get_by_role("status").filter(has_text="The team is stopped")).to_be_visible()
    for kind in ("forced", "dissolved"):
        assert len([*hub.bus.events(Query(kinds=(kind,)))]) >= 1


# --- connect and demo -------------------------------------------------------------------------------------------------


@proves("page_views/connect")
def test_an_empty_store_says_how_agents_are_connected_and_hears_the_first(hub: HubProcess, page: Page) -> None:
    main = shown(page, "connect")
    expect(main).to_contain_text("has no agents yet")
    main.get_by_role("tab", name="Claude Code").press("ArrowRight")
    expect(main.get_by_role("tab", name="Codex")).to_be_focused()
    panel = main.get_by_role("tabpanel", name="Codex")
    expect(panel).to_contain_text("telex init codex")
    expect(panel).to_contain_text("telex run codex --as dev")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    panel.get_by_role("button", name="Copy: telex init codex").click()
    expect(panel.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "telex init codex"
    hub.say("Here I am.")
    expect(panel).to_contain_text("connected")


@proves("page_views/connect/home")
def test_the_home_of_an_empty_store_leads_to_the_first_agent(hub: HubProcess, page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", name="Connect your agents")).to_be_visible()
    hub.say("Here I am.")
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()


@proves("page_views/connect", "page_search/connect/token")
def test_a_token_is_created_shown_once_and_works(hub: HubProcess, page: Page) -> None:
    main = shown(page, "connect")
    main.get_by_label("Name of the agent").fill("kim")
    main.get_by_role("button", name="Create a token").click()
    expect(page.get_by_role("status").filter(has_text="Token of kim created")).to_be_visible()
    commands = main.get_by_text("TELEX_TOKEN=telex_").text_content() or ""
    token = commands.split("TELEX_TOKEN=")[1].split()[0]
    answer = page.request.get(f"{hub.address}/page/me", headers={"Authorization": f"Bearer {token}"})
    assert (answer.json()["agent"], answer.json()["operator"]) == ("kim", False)
    page.reload()
    expect(main.get_by_text("TELEX_TOKEN=…")).to_be_visible()


@proves("page_views/demo")
def test_a_demo_says_which_act_plays_and_what_a_visitor_can_do(hub: HubProcess, page: Page) -> None:
    act = {"number": 2, "acts": 5, "title": "Out of scope", "says": "is refused.", "visitor": "", "until": None}
    now = {"now": time.time(), "act": act}
    page.route("**/page/demo", lambda route: route.fulfill(body=json.dumps(now), content_type="application/json"))
    shown(page, "contracts")
    expect(page.locator(".connection")).to_have_text("live")  # its first update has a summary too
    summary = "(more => (page => (page.summary = {...page.summary, ...more}))(document.querySelector('telex-page')))"
    page.evaluate(summary, {"demo": True, "needs": 1})
    strip = page.get_by_role("region", name="Demo")
    expect(strip).to_contain_text("Act 2 of 5: Out of scope")
    act |= {"visitor": "Allow or reject what dev asks for.", "until": time.time() + 50}
    expect(strip.get_by_role("link", name="Allow or reject")).to_have_attribute("href", "#/needs")
    expect(strip).to_contain_text(re.compile(r"goes on in \d+ s"))
    page.evaluate(summary, {"needs": 0})  # it was answered
    expect(strip.get_by_role("link")).to_have_count(0)


# --- tokens, look -----------------------------------------------------------------------------------------------------


@proves("page/token/agent")
def test_an_agent_s_token_is_offered_what_the_agent_may_do(hub: HubProcess, page: Page) -> None:
    for name in ("lead", "dev", "qa"):
        hub.bus.join(name, role=name)
    hub.kill()
    command = [sys.executable, "-m", "telex", "token", "create", "--agent", "dev", "--store", str(hub.store)]
    made = subprocess.run(command, cwd=hub.folder, check=True, capture_output=True, text=True)
    hub.start("--tokens-only")
    page.add_init_script(f"sessionStorage.setItem('telex-token', {json.dumps(made.stdout.split()[-1])})")
    main = shown(page, "shutdown")
    expect(main.locator(".not-offered")).to_contain_text("opened with a token of dev")
    expect(main.locator("form")).to_have_count(0)
    expect(shown(page, "connect").get_by_role("button", name="Create a token")).to_have_count(0)
    page.keyboard.press("Control+k")
    search = page.get_by_role("combobox", name="Search or jump to")
    expect(search).to_be_focused()
    page.keyboard.type("stop")
    expect(page.get_by_role("option", name="Stop the team")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(search).to_have_count(0)
    page.keyboard.press("w")
    dialog = page.get_by_role("dialog", name="Write a message")
    dialog.get_by_label("as a typed message").check()
    expect(dialog.locator("select[name=type]")).to_be_visible()
    expect(dialog.locator("select[name=sender]")).to_have_count(0)
    dialog.get_by_label("as a typed message").uncheck()
    dialog.get_by_label("To", exact=True).fill("qa")
    dialog.get_by_label("Message", exact=True).fill("From a browser")
    page.keyboard.press("Control+Enter")
    expect(dialog.get_by_role("status").filter(has_text="Sent to qa")).to_be_visible()
    [leased] = hub.bus.receive("qa", wait=10.0)
    assert (leased.message.sender, leased.raw) == ("dev", b"From a browser")


@pytest.fixture
def busy(tmp_path: Any) -> Any:
    """A hub on a store in which a team has its work in hand, with long names and text from right to left."""
    store = tmp_path / ".telex" / "telex.db"
    store.parent.mkdir()
    play(store)
    hub = HubProcess(tmp_path)
    assert hub.store == store
    hub.bus.join(LONG_NAME, role="dev")
    contract(hub, "9-9", "إعادة تعيين كلمة المرور " + "x" * 200, allowed_paths=["p" * 200])
    hub.say(report(files=["q" * 200], plan_id="9-9"), sender=LONG_NAME)
    hub.start()
    yield hub
    hub.stop()


@proves("page_work/look/phone", "page_work/look/accessible")
@pytest.mark.parametrize("hub", ["busy"], indirect=True)
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_no_view_shuts_anybody_out_or_is_wider_than_the_screen(
    hub: HubProcess, page: Page, watch: Watch, axe: str, colours: Any
) -> None:
    watch.forgive("Applying inline style")  # it is axe that tries to; the page alone is watched in every other test
    page.emulate_media(color_scheme=colours, reduced_motion="reduce")
    faults = []
    for view, width in ((view, width) for view in VIEWS for width in (1440, PHONE[0])):
        page.set_viewport_size({"width": width, "height": 860})
        shown(page, view)
        page.evaluate("document.querySelectorAll('main details').forEach((one) => (one.open = true))")
        fits(page, view)
        page.evaluate(axe)
        found = page.evaluate("axe.run({resultTypes: ['violations']})")
        faults += [
            f"{view} {width}: {one['id']}: {node['target']} {node['failureSummary'][:200]}"
            for one in found["violations"]
            for node in one["nodes"][:3]
        ]
    assert "\n".join(faults) == ""


@pytest.fixture
def hub(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    """A hub on an empty store, or a busy one."""
    if getattr(request, "param", "") == "busy":
        yield request.getfixturevalue("busy")
        return
    hub = HubProcess(tmp_path)
    hub.start()
    yield hub
    hub.stop()
