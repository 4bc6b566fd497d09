"""Conversations in the browser: what one was about, who holds it up, where the time went, and how it goes on."""

import re
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from telex.clock import SteadyClock
from telex.config import Settings
from telex.connection import connect
from telex.dialects.scalars import format_timestamp
from tests.browser.conftest import PHONE, fits
from tests.browser.hub_process import HubProcess
from tests.bus.bus_team import speech_of
from tests.proofs import proves

HOSTILE = '<img src=x onerror="window.pwned=1"><b>bold</b> {{7*7}} <script>window.pwned=1</script>'
LONG_NAME = "agent-" + "x" * 50
MAIN = "main"


def size(page: Page, of: tuple[int, int]) -> None:
    page.set_viewport_size({"width": of[0], "height": of[1]})


def at_end(region: Locator) -> bool:
    return bool(region.evaluate("one => one.scrollHeight - one.scrollTop - one.clientHeight < 60"))


def top(part: Locator) -> float:
    return float(part.evaluate("one => one.getBoundingClientRect().top"))


@pytest.fixture
def story(tmp_path: Path) -> Path:
    """A question, a refusal, an escalation that climbs to a person, and a night in between."""
    path, now = tmp_path / ".telex" / "telex.db", [time.time() - 19 * 3_600 - 900.0]
    clock = SteadyClock(lambda: now[0], lambda: now[0], lambda seconds: None)
    with connect(path, settings=Settings(durable=False), clock=clock) as bus:
        for name in ("dev", "senior", "lead", "architect"):
            bus.join(name, role=name)

        def say(raw: Any, sender: str, to: str, **more: Any) -> None:
            now[0] += 5.0
            bus.send(raw, sender=sender, to=to, correlation="keys", check=False, **more)

        say("Send the mail from a template.", "lead", "dev", id="task-1")
        [lease] = bus.receive("dev")
        now[0] += 40.0
        bus.ack(lease.token, agent="dev")
        say("الاختبار فشل.", "dev", "lead", reply_to="task-1")
        say("Nobody will read this.", "dev", "nobody")
        now[0] += 19 * 3_600.0
        escalation = speech_of(
            "vbw-company", "escalation", **{"from": "dev", "to": "senior", "issue": "Who has the key?"}
        )
        say(escalation.raw, "dev", "senior", id="escalation-1")
        for name in ("senior", "lead", "architect"):
            for lease in bus.receive(name, limit=9):
                now[0] += 4.0
                bus.ack(lease.token, agent=name)
            now[0] += 300.0 if name != "architect" else 100.0
            bus.sweep()
    return path


@proves("page_conversations/view", "page_conversations/view/climbs", "page_conversations/view/gaps")
def test_a_conversation_says_what_it_was_about_and_who_holds_it_up(story: Path, hub: HubProcess, page: Page) -> None:
    page.goto("/#/conversation/keys")
    main = page.locator(MAIN)
    expect(main.get_by_role("heading", level=1)).to_have_text("Send the mail from a template.")
    expect(page).to_have_title(re.compile("Send the mail from a template"))
    expect(main.locator(".page-bar .pill")).to_have_text(re.compile("Waiting for architect"))
    expect(main.locator(".facts")).to_contain_text(re.compile(r"Messages\s*6\s*\(1 refused\)"))
    expect(main.locator(".facts")).to_contain_text(re.compile(r"Took\s*19 h \d+ min so far"))
    expect(main.locator(".facts")).to_contain_text(re.compile(r"Worked\s*5\d s"))
    diagram = main.get_by_role("region", name="Sequence diagram")
    assert diagram.locator(".seq-name").all_text_contents() == ["architect", "lead", "senior", "dev"]
    expect(diagram.locator(".seq-words").first).to_contain_text("Send the mail")
    expect(diagram.locator(".seq-cross")).to_have_count(1)
    expect(diagram.locator(".seq-line.climb")).to_have_count(3)
    expect(diagram.locator(".seq-fold-word").first).to_have_text("19 h")
    expect(diagram.locator(".seq-hold").first).to_be_attached()
    items = main.get_by_role("list").locator(".row")
    expect(items).to_have_count(6)
    expect(items.nth(2)).to_contain_text("recipient-unknown")
    expect(items.nth(4)).to_contain_text("step 2")
    expect(main.get_by_text("dev asked; senior has not answered")).to_be_visible()
    expect(main.get_by_text("19 h later")).to_be_visible()


@proves("page_conversations/view/selection", "page_conversations/view/keyboard")
def test_a_message_is_selected_with_keys_and_with_the_pointer(story: Path, hub: HubProcess, page: Page) -> None:
    page.goto("/#/conversation/keys")
    rows = page.locator(".conversation-list .row")
    expect(rows).to_have_count(6)
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile(r"message=\d+"))
    expect(rows.nth(1)).to_have_class(re.compile("is-chosen"))
    expect(page.locator(".seq-row.is-chosen")).to_have_count(1)
    expect(page.locator(".seq-row.is-dim")).to_have_count(5)
    panel = page.get_by_role("complementary", name="Message")
    expect(panel).to_contain_text("Answers Send the mail from a template.")
    page.keyboard.press("k")
    expect(rows.nth(0)).to_have_class(re.compile("is-chosen"))
    expect(panel.locator(".steps")).to_contain_text(re.compile(r"dev\s*\+\d+ m?s\s*40 s\s*✓\s*Done"))
    page.reload()
    expect(rows.nth(0)).to_have_class(re.compile("is-chosen"))
    page.keyboard.press("Escape")
    expect(page.locator(".is-chosen")).to_have_count(0)
    expect(panel).to_have_count(0)
    page.locator(".seq-row").nth(3).click()
    expect(rows.nth(3)).to_have_class(re.compile("is-chosen"))
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"#/message/\d+"))
    page.go_back()
    page.get_by_role("link", name="On the timeline", exact=True).click()
    expect(page).to_have_url(re.compile(r"#/\?conversation=keys"))


@proves("page_conversations/view/newest", "page_conversations/view/follows")
def test_it_opens_at_the_newest_and_follows_a_reader_who_is_at_the_end(hub: HubProcess, page: Page) -> None:
    for number in range(161):
        hub.say(f"message {number}", correlation="long")
    page.goto("/#/conversation/long")
    diagram, rows = page.get_by_role("region", name="Sequence diagram"), page.locator(".conversation-list .row")
    expect(rows).to_have_count(60)
    expect(page.locator(".seq-row")).to_have_count(60)
    expect(rows.last).to_contain_text("message 160")
    expect(rows.last).to_be_in_viewport()
    expect(page.locator(".seq-row").last).to_be_in_viewport()
    hub.say("message 161", correlation="long")
    expect(rows.last).to_contain_text("message 161")
    expect(page.locator(".seq-row").last).to_be_in_viewport()
    assert at_end(diagram)
    diagram.evaluate("one => { one.scrollTop = 0; }")
    hub.say("message 162", correlation="long")
    page.get_by_role("button", name="1 new message").click()
    expect(page.locator(".seq-row").last).to_contain_text("message 162")
    expect(page.locator(".seq-row").last).to_be_in_viewport()
    page.get_by_role("button", name="Older").click()
    expect(rows.last).to_contain_text("message 102")
    expect(page.locator(".conversation-list .bar")).to_contain_text("44–103 of 163")
    hub.say("message 163", correlation="long")
    page.get_by_role("button", name="Newest").click()
    expect(rows.last).to_contain_text("message 163")
    page.goto(f"/#/message/{rows.first.get_attribute('data-seq')}")
    page.get_by_role("link", name="long").click()
    expect(page.locator(".row.is-chosen")).to_contain_text("message 104")
    expect(page.locator(".row.is-chosen")).to_be_in_viewport()
    page.goto("/#/conversation/long?message=3")
    expect(page.locator(".row.is-chosen")).to_be_in_viewport()


@proves("page_conversations/view/live")
def test_states_and_the_end_of_waiting_are_shown_as_they_come(hub: HubProcess, page: Page) -> None:
    hub.say("Who has the key?", id="q-1", correlation="keys")
    page.goto("/#/conversation/keys")
    row = page.locator(".conversation-list .row").first
    expect(row.locator(".pill")).to_contain_text("Sent")
    [leased] = hub.bus.receive("lead")
    expect(row.locator(".pill")).to_contain_text("In hand")
    expect(page.locator(".seq-hold.is-open")).to_have_count(1)
    hub.bus.ack(leased.token, agent="lead")
    expect(row.locator(".pill")).to_contain_text("Done")
    expect(page.locator(".page-bar .pill")).to_contain_text("Done")


@proves("page_conversations/view/write")
def test_a_person_writes_into_the_conversation(hub: HubProcess, page: Page) -> None:
    hub.say("Who has the key?", correlation="keys")
    page.goto("/#/conversation/keys")
    field = page.get_by_placeholder("Message in this conversation")
    field.fill("Look in the vault.")
    page.get_by_label("To", exact=True).fill("dev")
    field.press("Control+Enter")
    rows = page.locator(".conversation-list .row")
    expect(rows).to_have_count(2)
    expect(rows.last).to_contain_text("Look in the vault.")
    expect(rows.last).to_be_in_viewport()


@proves("page_conversations/view/many-agents")
def test_in_a_large_team_the_diagram_has_those_who_speak(hub: HubProcess, page: Page) -> None:
    for number in range(100):
        hub.bus.join(f"agent-{number}", role="dev")
    hub.say("Everybody, please listen.", to="*", correlation="talk")
    hub.say("I do.", sender="agent-39", to="dev", correlation="talk")
    page.goto("/#/conversation/talk")
    expect(page.locator(".seq-name")).to_have_count(2)
    expect(page.locator(".seq-words").first).to_contain_text("to everyone (100): Everybody")
    expect(page.locator(".facts")).to_contain_text("and 94 others")
    for words in page.locator(".seq-words").all():
        expect(words).to_be_in_viewport()


@proves("page_conversations/view/list")
def test_conversations_are_found_by_state_agent_and_words(hub: HubProcess, page: Page) -> None:
    hub.say("The build is red.", correlation="doors/and windows")
    hub.say("Rename the parser.", sender="qa", to="docs", correlation="parser")
    [leased] = hub.bus.receive("docs")
    hub.bus.ack(leased.token, agent="docs")
    page.goto("/#/conversations")
    titles = page.locator(".conversation-title a")
    expect(titles).to_have_text(["The build is red.", "Rename the parser."])
    page.get_by_role("button", name=re.compile("Done")).click()
    expect(titles).to_have_text(["Rename the parser."])
    expect(page).to_have_url(re.compile("state=done"))
    page.reload()
    expect(titles).to_have_text(["Rename the parser."])
    page.get_by_role("button", name=re.compile("All")).click()
    page.get_by_label("Agent", exact=True).select_option("docs")
    expect(titles).to_have_text(["Rename the parser."])
    page.get_by_label("Agent", exact=True).select_option("")
    page.get_by_label("Search conversations").fill("windows")
    expect(titles).to_have_text(["The build is red."])
    page.get_by_label("Search conversations").fill("no such words")
    page.get_by_role("button", name="All conversations").click()
    expect(titles).to_have_count(2)
    hub.say("One more.", correlation="new")
    expect(titles).to_have_count(3)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#/conversation/"))
    page.go_back()
    titles.filter(has_text="build").click()
    expect(page.locator(".seq-row")).to_have_count(1)


@proves("page_conversations/view/list")
def test_the_list_is_paged(hub: HubProcess, page: Page) -> None:
    for number in range(60):
        hub.say(f"Matter {number}", correlation=f"matter-{number}")
    page.goto("/#/conversations")
    expect(page.locator("tbody tr")).to_have_count(50)
    page.get_by_role("button", name="Older").click()
    expect(page.locator("tbody tr")).to_have_count(10)
    expect(page.locator(".conversation-title a").last).to_have_text("Matter 0")
    page.get_by_role("button", name="First page").click()
    expect(page.locator("tbody tr")).to_have_count(50)


@proves("page_conversations/view/past")
def test_a_conversation_as_it_was_at_a_moment(hub: HubProcess, page: Page) -> None:
    with hub.ago(20.0):
        hub.say("Before.", correlation="keys")
    moment = format_timestamp(time.time() - 10.0)
    hub.say("After.", correlation="keys")
    page.goto(f"/#/conversation/keys?at={moment}")
    expect(page.locator(".conversation-list .row")).to_have_count(1)
    expect(page.locator(".facts")).to_contain_text(re.compile(r"Waited for answers\s*0 s"))
    page.get_by_role("button", name="Back to now").click()
    expect(page.locator(".conversation-list .row")).to_have_count(2)
    page.goto(f"/#/conversations?at={moment}")
    expect(page.locator("tbody tr")).to_contain_text("1")


@proves("page_conversations/view/export")
def test_a_conversation_is_exported_as_a_file(story: Path, hub: HubProcess, page: Page, tmp_path: Path) -> None:
    page.goto("/#/conversation/keys")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    assert download.value.suggested_filename == "keys.html"
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert "<h1" in text
    assert "Who has the key?" in text
    assert "<script" not in text


@proves("page_conversations/view/text", "page_conversations/view/phone", "page_conversations/view/accessible")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_any_text_on_any_screen(hub: HubProcess, page: Page, axe: str, scheme: Any) -> None:
    words = [HOSTILE, "الاختبار فشل. " * 20, "word" * 100, "x \u202e reversed"]
    for number, text in enumerate(words):
        hub.say(text, sender=LONG_NAME, to="lead", correlation=HOSTILE, id=f"m-{number}")
        hub.say(text, sender="lead", to=LONG_NAME, correlation=HOSTILE)
    page.emulate_media(color_scheme=scheme)
    for of in (PHONE, (1024, 768), (1440, 900)):
        size(page, of)
        page.goto("/#/conversations")
        expect(page.locator("tbody tr")).to_have_count(1)
        assert judged(page, axe) == []
        page.locator(".conversation-title a").click()
        expect(page.locator(".seq-row")).to_have_count(8)
        page.keyboard.press("j")
        expect(page.locator(".conversation-panel h2")).to_be_visible()
        assert judged(page, axe) == []
        fits(page)
        assert page.evaluate("window.pwned") is None
        assert page.locator("main img, main script, main b").count() == 0
    size(page, PHONE)
    assert top(page.locator(".conversation-list")) < top(page.locator(".conversation-diagram"))


def judged(page: Page, axe: str) -> list[str]:
    """What axe-core finds in the view."""
    page.evaluate(axe)
    found = page.evaluate("axe.run(document.querySelector('main'))")
    return [f"{one['id']}: {one['nodes'][0]['target']}" for one in found["violations"]]
