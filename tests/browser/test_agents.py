"""What does the page show of the agents: the list, and one agent with what it does and waits for?"""

import json
import os
import re
import subprocess
import sys
import time

import pytest
from playwright.sync_api import Locator, Page, expect

import telex
from telex.config import Settings
from telex.dialects.scalars import format_timestamp
from telex.model.limits import LIMITS
from telex.surfaces.clients import sessions
from telex.surfaces.clients.sessions import IDLE, Session
from tests.browser.conftest import PHONE, Watch, fits
from tests.browser.hub_process import HubProcess
from tests.bus.shutdown_kit import reply
from tests.proofs import proves
from tests.work.contract_team import contract, report

LONG_NAME = "n" * 200
HEBREW = "שלום"
ESCALATION = {
    "type": "escalation", "from": "dev", "to": "senior", "issue": "Who has the key?", "evidence": [],
    "recommendation": "Ask", "severity": "blocking",
}  # fmt: skip


@pytest.fixture
def story(hub: HubProcess) -> HubProcess:
    """dev holds a task, was refused once and waits for senior; qa has nothing to do."""
    work(hub)
    return hub


def work(hub: HubProcess) -> None:
    for name in ("lead", "dev", "senior", "qa"):
        hub.bus.join(name, role=name, by="human")
    terms = contract(allowed_paths=["src/auth/"], objective="Reset links work once", token_budget=9_000)
    assert hub.say(terms, sender="lead", to="dev").accepted
    assert hub.bus.receive("dev", lease=3_600.0)
    assert not hub.say(report(files=["src/mail/reset.py"])).accepted
    assert hub.say(report(files=["src/auth/reset.py"], tokens_used=1_200)).accepted
    assert hub.say(ESCALATION, to="senior").accepted
    assert hub.say("Look at the tests too.", sender="lead", to="dev").accepted


def section(page: Page, title: str) -> Locator:
    return page.locator("main section").filter(has=page.get_by_role("heading", name=title, exact=True))


def opened(page: Page, address: str) -> Locator:
    page.goto(f"/#/{address}")
    expect(page.locator("main h1")).to_be_visible()
    return page.locator("main")


@proves("page_agents/view")
def test_what_an_agent_does_and_waits_for_is_one_click_away(story: HubProcess, page: Page) -> None:
    page.goto("/")
    page.locator('telex-timeline a[title="dev"]').click()
    expect(page).to_have_url(re.compile("#/agent/dev$"))
    expect(page).to_have_title(re.compile(r"dev · Telex$"))
    expect(section(page, "Doing now")).to_contain_text(re.compile("Reset links work once.*for .* from lead", re.DOTALL))
    expect(section(page, "Waits for")).to_contain_text(re.compile("senior: .*Who has the key.*escalation", re.DOTALL))
    expect(section(page, "Holds")).to_contain_text("1 message, 1 changed file")
    expect(section(page, "Holds")).to_contain_text("src/auth/reset.py")
    expect(page.locator(".now-card").last).to_contain_text("1,200 tokens")
    expect(section(page, "Inbox").get_by_role("listitem")).to_have_count(2)
    expect(section(page, "Last said").get_by_role("listitem")).to_have_count(3)
    expect(section(page, "Last heard")).to_contain_text("Reset links work once")
    expect(section(page, "Refused")).to_contain_text("path-outside-contract")
    terms = section(page, "Contract")
    for words in ("src/auth/", ".env", "0 of 2 done", "1,200 of 9,000"):
        expect(terms).to_contain_text(words)
    expect(section(page, "How to wake it")).to_contain_text("telex receive --as dev")
    lane = page.locator("telex-timeline")
    expect(lane).to_contain_text("waits for senior")
    kinds = {mark["kind"] for mark in lane.evaluate("(timeline) => timeline.marks")}
    assert kinds >= {"bar", "dot"}


@proves("page_agents/view")
def test_the_page_of_an_agent_follows_what_happens(story: HubProcess, page: Page) -> None:
    opened(page, "agent/qa")
    expect(section(page, "Doing now")).to_contain_text("Idle")
    story.say("Test the reset link.", sender="lead", to="qa")
    expect(section(page, "Inbox")).to_contain_text("Test the reset link.")
    [leased] = story.bus.receive("qa")
    expect(section(page, "Doing now")).to_contain_text("Test the reset link.")
    story.bus.ack(leased.token, agent="qa")
    expect(section(page, "Doing now")).to_contain_text("Idle")


@proves("page_agents/view/past")
def test_a_past_moment_of_an_agent_is_in_the_address(hub: HubProcess, page: Page) -> None:
    with hub.ago(20.0):
        work(hub)
    moment = format_timestamp(time.time() - 10.0)
    hub.say("After that.", sender="lead", to="dev")
    main = opened(page, f"agent/dev?at={moment}")
    expect(page.locator(".past-notice")).to_contain_text("This was at")
    expect(section(page, "Doing now")).to_contain_text("Reset links work once")
    expect(section(page, "Inbox")).not_to_contain_text("After that.")
    expect(main.get_by_role("button", name="Wake")).to_have_count(0)
    main.get_by_role("button", name="Back to now").click()
    expect(section(page, "Inbox")).to_contain_text("After that.")
    opened(page, f"agents?at={moment}")
    expect(page.get_by_role("row", name="dev").first).to_contain_text("1")


@proves("page_agents/view/list")
def test_the_list_is_sorted_and_filtered_and_keeps_it_in_the_address(story: HubProcess, page: Page) -> None:
    main = opened(page, "agents")
    rows = main.locator("tbody tr")
    expect(rows).to_have_count(4)
    expect(rows.first).to_contain_text("dev")
    expect(rows.first).to_contain_text(re.compile("Reset links work once.*senior.*escalation", re.DOTALL))
    main.get_by_role("button", name="Agent", exact=True).click()
    expect(main.get_by_role("columnheader", name="Agent", exact=True)).to_have_attribute("aria-sort", "ascending")
    expect(rows.locator("th")).to_have_text([re.compile(name) for name in ("dev", "lead", "qa", "senior")])
    main.get_by_role("button", name="Agent", exact=True).click()
    expect(rows.first).to_contain_text("senior")
    main.get_by_role("button", name=re.compile("^Waiting")).click()
    expect(rows).to_have_count(1)
    page.reload()
    expect(rows).to_have_count(1)
    main.get_by_role("button", name=re.compile("^Team")).click()
    main.get_by_role("searchbox").fill("SEN")
    expect(rows).to_have_count(1)
    main.get_by_role("searchbox").fill("nobody at all")
    expect(main).to_contain_text("No agent matches")
    main.get_by_role("searchbox").fill("")
    expect(rows).to_have_count(4)
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#/agent/qa"))


@proves("page_agents/view/large")
def test_of_two_hundred_agents_a_page_is_shown(hub: HubProcess, page: Page) -> None:
    for number in range(200):
        hub.bus.join(f"agent-{number:03d}", role="dev", by="human")
    hub.say("For the last one.", sender="agent-000", to="agent-199")
    assert hub.bus.receive("agent-199", lease=3_600.0)
    main = opened(page, "agents")
    rows = main.locator("tbody tr")
    expect(rows).to_have_count(60)
    expect(rows.first).to_contain_text("agent-199")
    assert page.evaluate("document.querySelectorAll('main *').length") < 1_500
    main.get_by_role("button", name="Show 60 more of 200").click()
    expect(rows).to_have_count(120)
    main.get_by_role("searchbox").fill("agent-15")
    expect(rows).to_have_count(10)


@proves("page_agents/view/names")
def test_long_and_right_to_left_names_break_nothing(hub: HubProcess, page: Page, watch: Watch, axe: str) -> None:
    watch.forgive("Applying inline style")  # axe tries to
    watch.forgive("404")
    markup = "<b>bold</b>"
    limits = LIMITS._replace(id_characters_max=300)
    with telex.connect(hub.store, settings=Settings(durable=False, limits=limits)) as bus:
        for name in (LONG_NAME, HEBREW, markup, "a/b"):
            bus.join(name, role="dev", by="human")
            bus.send(f"{LONG_NAME} {HEBREW}", sender="lead", to=name)
            assert bus.receive(name, lease=3_600.0)
    for width, height in ((1280, 860), PHONE):
        page.set_viewport_size({"width": width, "height": height})
        for address in ("agents", f"agent/{LONG_NAME}", f"agent/{HEBREW}", "agent/a%2Fb", f"agent/{'x' * 200}"):
            opened(page, address)
            expect(page.locator(".loading")).to_have_count(0)
            fits(page, address[:20])
            page.evaluate(axe)
            found = page.evaluate("axe.run('main', {resultTypes: ['violations'], preload: false})")
            assert [one["id"] for one in found["violations"]] == [], address[:20]
    expect(page.locator("main")).to_contain_text("no agent is called xxx")
    main = opened(page, "agents")
    main.get_by_role("link", name=markup).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(markup)


@proves("page_agents/view/unknown")
def test_an_unknown_agent_leads_to_the_nearest_name(story: HubProcess, page: Page, watch: Watch) -> None:
    watch.forgive("404")
    main = opened(page, "agent/senoir")
    main.get_by_role("link", name="senior").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("senior")


@proves("page_agents/view/wake")
def test_an_agent_is_woken_and_written_to_from_its_page(story: HubProcess, page: Page) -> None:
    session = Session("codex", "s-1", "dev", pid=os.getpid(), started_at=time.time(), seen_at=time.time())
    sessions.save(sessions.folder_of(str(story.store)), session._replace(state=IDLE, pane="no pane"))
    main = opened(page, "agent/dev")
    expect(main).to_contain_text("codex")
    expect(section(page, "How to wake it")).to_contain_text("keys typed into tmux")
    main.get_by_role("button", name="Wake", exact=True).click()
    news = main.get_by_role("status").first
    expect(news).to_contain_text("Not woken now")
    news.get_by_role("button", name="Wake it anyway").click()
    expect(news).to_contain_text("no tmux pane is called 'no pane'")
    expect(section(page, "How to wake it")).to_contain_text("failed")
    opened(page, "agent/qa").get_by_role("button", name="Wake", exact=True).click()
    expect(main.get_by_role("status").first).to_contain_text("Nothing to wake it for")
    main.get_by_role("button", name="Write").click()
    expect(page.get_by_role("dialog", name="Write to qa")).to_be_visible()


@proves("page_agents/view/stop")
def test_an_agent_is_stopped_after_a_dialog_says_what_will_happen(story: HubProcess, page: Page) -> None:
    main = opened(page, "agent/dev")
    main.get_by_role("button", name="Stop…").click()
    dialog = page.get_by_role("dialog", name="Stop dev")
    expect(dialog).to_contain_text("1 message that it has not taken goes back to the senders")
    expect(dialog).to_contain_text("2 open messages are withdrawn")
    dialog.get_by_role("button", name="Ask it to stop").click()
    expect(main.get_by_role("status").first).to_contain_text("It was asked to stop.")
    expect(main).to_contain_text("lead asked it to stop")
    [state] = story.bus.work_state("shutdown").values()
    assert [call.asked for call in state.calls] == [("dev",)]
    assert reply(story.bus, "dev", state.calls[-1].id, to="lead", role="dev").accepted
    expect(main.locator(".page-bar")).to_contain_text("shut down")
    for button in ("Wake", "Write"):
        expect(main.get_by_role("button", name=button)).to_have_count(0)
    expect(main.get_by_role("textbox")).to_have_count(0)  # what is sent to it would be refused
    expect(section(page, "How to add it again")).to_contain_text("telex team join dev --role dev --as human")
    opened(page, "agent/qa").get_by_role("button", name="Stop…").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove it now").click()
    expect(main.locator(".page-bar")).to_contain_text("left")
    page.goto("/")
    expect(page.locator('telex-timeline a[title="dev"]')).to_contain_text("shut down")
    expect(main.locator(".bar-facts")).to_contain_text("1 gone")
    page.goto("/#/agents")
    for name in ("Team 2", "Gone 2"):
        expect(main.get_by_role("button", name=name)).to_be_visible()
    expect(main.locator(".page-bar")).to_contain_text("2 agents")


@proves("page_agents/view/token")
def test_an_agent_s_token_offers_no_stop_and_no_wake_of_others(story: HubProcess, page: Page) -> None:
    story.kill()
    command = [sys.executable, "-m", "telex", "token", "create", "--agent", "dev", "--store", str(story.store)]
    made = subprocess.run(command, cwd=story.folder, check=True, capture_output=True, text=True)
    story.start("--tokens-only")
    page.add_init_script(f"sessionStorage.setItem('telex-token', {json.dumps(made.stdout.split()[-1])})")
    main = opened(page, "agent/lead")
    expect(section(page, "Inbox")).to_be_visible()
    expect(main.get_by_role("button", name="Write")).to_be_visible()
    expect(main.get_by_role("button", name="Wake")).to_have_count(0)
    expect(main.get_by_role("button", name="Stop…")).to_have_count(0)
    opened(page, "agent/dev")
    expect(main.get_by_role("button", name="Wake")).to_be_visible()
    expect(main.get_by_role("button", name="Stop…")).to_have_count(0)
