"""What each target gets, at a real receiver on this machine."""

import base64
import hashlib
import hmac
import json
import ssl
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.surfaces.alerts import DeliveryFailed, http_post, targets
from telex.surfaces.alerts.notification import Item, Notification, cloud_event, ntfy_message, one_line, slack_message
from telex.surfaces.alerts.targets import CommandTarget, NtfyTarget, SlackTarget, Target, WebhookTarget
from tests.alerts.receiver import ReceivedRequest, receiving
from tests.http.http_kit import play
from tests.proofs import proves

HUB = "https://hub.example.org"
ASK = Item(
    "approval:ask-1@1",
    "approval",
    "Touch src/mail/reset.txt",
    by="dev",
    since=1.0,
    due=2.0,
    paths=("src/mail/reset.txt",),
)
STUCK = Item("stall:cycle:dev", "stall", "dev and qa wait for each other")
NOTE = Notification("b1", 1_800_000_000.0, "release crew", HUB, (ASK,), {}, {ASK.key: f"{HUB}/answer/t"}, True)
ANSWERED = NOTE._replace(items=(), settled={ASK.key: ASK.title}, answers={}, is_first=False)
SECRET = "0123456789abcdef0123456789abcdef"


def deliver(target: Target, *notes: Notification) -> None:
    async def run() -> None:
        for note in notes:
            await target.deliver(note)

    play(run)


# --- webhook ----------------------------------------------------------------------------------------------------------


@proves("alerts/webhook")
@pytest.mark.parametrize("secret", [SECRET, f"whsec_{base64.b64encode(SECRET.encode()).decode()}"])
def test_a_webhook_gets_a_cloud_event_with_a_signature(secret: str) -> None:
    with receiving() as (receiver, url):
        deliver(WebhookTarget(f"{url}/hook?team=1", secret), NOTE)
    [request] = receiver.at("/hook?team=1")
    headers, event = request.headers, request.json
    said = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + request.body
    signature = base64.b64encode(hmac.new(SECRET.encode(), said, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{signature}"
    assert headers["content-type"] == "application/cloudevents+json"
    assert (event["specversion"], event["type"], event["id"]) == ("1.0", "telex.needs.waiting", "b1")
    [waiting] = event["data"]["waiting"]
    assert waiting["url"] == f"{HUB}/#/needs?item=approval%3Aask-1%401"
    assert waiting["answer_url"] == f"{HUB}/answer/t"
    assert (waiting["title"], waiting["by"], waiting["paths"]) == (ASK.title, "dev", list(ASK.paths))


@proves("alerts/webhook", "alerts/settled")
def test_a_webhook_gets_an_event_when_it_is_answered() -> None:
    with receiving() as (receiver, url):
        deliver(WebhookTarget(url, SECRET), NOTE, ANSWERED, ANSWERED)
    first, *again = [request.json for request in receiver.requests]
    assert [event["type"] for event in again] == ["telex.needs.settled"] * 2
    assert again[0]["data"]["settled"] == [{"key": ASK.key, "title": ASK.title}]
    assert again[0]["id"] == again[1]["id"] != first["id"]
    assert {event["subject"] for event in (first, *again)} == {"b1"}


@proves("alerts/retry")
@pytest.mark.parametrize("status", [301, 400, 404, 500, 503])
def test_any_answer_but_success_is_a_failure_and_no_redirect_is_followed(status: int) -> None:
    with receiving() as (receiver, url):
        receiver.status = lambda _: status
        with pytest.raises(DeliveryFailed, match=f"^answered with status {status}$"):
            deliver(WebhookTarget(url, SECRET), NOTE)
        assert len(receiver.requests) == 1


def late(_: ReceivedRequest) -> int:
    time.sleep(1)
    return 200


@proves("alerts/isolated", "alerts/visible")
def test_a_receiver_that_hangs_or_is_away_is_a_failure_that_names_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_post, "SECONDS_MAX", 0.2)
    with receiving() as (receiver, url):
        receiver.status = late
        with pytest.raises(DeliveryFailed, match=r"^no answer within 0\.2 seconds$"):
            deliver(WebhookTarget(f"{url}/secret", SECRET), NOTE)
    with pytest.raises(DeliveryFailed) as caught:
        deliver(WebhookTarget(f"{url}/secret", SECRET), NOTE)
    assert "secret" not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)


# --- ntfy -------------------------------------------------------------------------------------------------------------


@proves("alerts/ntfy")
def test_a_phone_shows_title_priority_tags_link_and_buttons() -> None:
    with receiving() as (receiver, url):
        deliver(NtfyTarget(f"{url}/team", "tk_secret"), NOTE)
    [shown] = receiver.ntfy.values()
    assert receiver.requests[0].headers["authorization"] == "Bearer tk_secret"
    assert (shown["topic"], shown["title"], shown["priority"]) == ("team", "Request for approval · release crew", 4)
    assert shown["message"] == "dev: Touch src/mail/reset.txt (src/mail/reset.txt)"
    assert (shown["tags"], shown["click"]) == (["question"], f"{HUB}/#/needs?item=approval%3Aask-1%401")
    assert [(action["label"], action["url"]) for action in shown["actions"]] == [
        ("Approve or reject", f"{HUB}/answer/t"),
        ("Open", shown["click"]),
    ]


@proves("alerts/ntfy", "alerts/settled")
def test_an_answer_takes_the_notification_from_the_phone() -> None:
    both = NOTE._replace(items=(ASK, STUCK), answers={})
    with receiving() as (receiver, url):
        deliver(NtfyTarget(f"{url}/team", None), both)
        assert receiver.ntfy["b1"]["title"] == "1 request for approval, 1 stall · release crew"
        deliver(NtfyTarget(f"{url}/team", None), both._replace(items=(STUCK,), settled={ASK.key: ""}, is_first=False))
        assert receiver.ntfy["b1"]["message"] == STUCK.title
        assert receiver.ntfy["b1"]["priority"] == 2, "an update does not ring"
        deliver(NtfyTarget(f"{url}/team", None), ANSWERED)
        assert receiver.ntfy == {}
        receiver.status = lambda request: 404 if request.method == "DELETE" else 200
        deliver(NtfyTarget(f"{url}/team", None), ANSWERED)  # a server before 2.16 cannot


@proves("alerts/visible")
def test_a_certificate_for_another_host_is_reported_without_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "Hostname mismatch, certificate is not valid for 'hooks.example.org'."

    async def fail(*_: object) -> int:
        raise error

    monkeypatch.setattr(http_post, "_exchange", fail)
    with pytest.raises(DeliveryFailed, match="TLS: Hostname mismatch") as failed:
        deliver(SlackTarget("https://hooks.example.org/services/x"), NOTE)
    assert "hooks" not in str(failed.value)


# --- chats ------------------------------------------------------------------------------------------------------------


@proves("alerts/slack")
def test_a_chat_gets_one_text_and_a_second_one_when_it_is_answered() -> None:
    with receiving() as (receiver, url):
        deliver(SlackTarget(f"{url}/services/T/B/x"), NOTE, ANSWERED, ANSWERED._replace(is_first=True))
    first, last = [request.json["text"] for request in receiver.at("/services/T/B/x")]
    assert first.splitlines() == [
        "*Request for approval · release crew*",
        f"• dev: Touch src/mail/reset.txt (src/mail/reset.txt) <{HUB}/answer/t|Approve or reject>",
        f"<{HUB}/#/needs?item=approval%3Aask-1%401|Open in Telex>",
    ]
    assert last == "Answered: Touch src/mail/reset.txt · release crew"


# --- command ----------------------------------------------------------------------------------------------------------


@proves("alerts/command", "alerts/hostile")
def test_a_command_gets_the_notification_on_stdin_and_no_shell_reads_it(tmp_path: Path) -> None:
    hostile = ASK._replace(title="$(touch pwned); `touch pwned` | touch pwned")
    save = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_bytes(sys.stdin.buffer.read())"
    words = (sys.executable, "-c", save, str(tmp_path / "a file; $HOME"))
    deliver(CommandTarget(words), NOTE._replace(items=(hostile,)))
    event = json.loads((tmp_path / "a file; $HOME").read_bytes())
    assert event == json.loads(json.dumps(cloud_event(NOTE._replace(items=(hostile,)))))
    assert event["data"]["waiting"][0]["title"] == hostile.title


@proves("alerts/command")
@pytest.mark.parametrize("code, says", [("raise SystemExit(3)", "exit code 3"), ("import time; time.sleep(60)", "0.5")])
def test_a_command_that_fails_or_hangs_is_a_failure(code: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "COMMAND_SECONDS_MAX", 0.5 if "sleep" in code else 20.0)
    begun = time.monotonic()
    with pytest.raises(DeliveryFailed, match=says):
        deliver(CommandTarget((sys.executable, "-c", code)), NOTE)
    assert time.monotonic() - begun < 30


@proves("alerts/command")
def test_a_command_that_is_missing_is_a_failure_and_one_that_reads_nothing_is_none() -> None:
    with pytest.raises(DeliveryFailed, match="cannot be started"):
        deliver(CommandTarget(("/nowhere/at-all",)), NOTE)
    deliver(CommandTarget(("true",)), NOTE._replace(items=(ASK,) * 200))


# --- hostile texts ----------------------------------------------------------------------------------------------------

HOSTILE = (
    "<!channel> @here <https://evil.example.org|Approve> [Approve](https://evil.example.org) www.evil.org *bold*\n\nL2"
    "\u202e\u200b\x1b[31m\x00\ud800 &amp;"
)


@proves("alerts/hostile", "alerts/slack")
def test_texts_of_agents_are_no_markup_and_no_mention_in_a_chat() -> None:
    text = slack_message(NOTE._replace(items=(ASK._replace(title=HOSTILE, by="<!here>"),), answers={}))["text"]
    _, line, _ = text.splitlines()
    assert "<" not in line
    assert "@here" not in line
    assert "](" not in line
    assert "://" not in line, "chats make a link of an address"
    assert "www." not in line
    assert "*bold*" not in line


@proves("alerts/hostile")
@given(st.text(max_size=2_000))
def test_a_text_is_one_visible_line_that_every_receiver_can_encode(text: str) -> None:
    line = one_line(text)
    assert len(line) <= 120
    assert line == "" or line.isprintable()
    note = NOTE._replace(items=(ASK._replace(title=text, by=text, paths=(text,)),), settled={"a": text})
    for form in (cloud_event(note), ntfy_message(note, "team"), slack_message(note)):
        json.dumps(form, ensure_ascii=False).encode()
    assert len(slack_message(note)["text"].splitlines()) == 3


def test_a_long_list_is_shortened_in_a_text_and_complete_for_programs() -> None:
    items = tuple(ASK._replace(key=f"approval:{number}@1") for number in range(50))
    note = NOTE._replace(items=items)
    assert ntfy_message(note, "team")["message"].endswith("and 42 more")
    assert len(cloud_event(note)["data"]["waiting"]) == 50
