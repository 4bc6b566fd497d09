"""Does the page get what it asks for? Its files and its messages, through the hub's own door."""

import json
import re
from typing import Any

import pytest

from telex.dialects.schema import Dialect, MessageType
from telex.surfaces.http.page_files import listed
from tests.bus.bus_team import Team, every_type, open_team, speech, speech_of, team
from tests.http.page_kit import Page
from tests.proofs import proves

__all__ = ["open_team", "team"]  # fixtures

# --- its files --------------------------------------------------------------------------------------------------------


@proves("page_work/files/served")
def test_the_page_and_every_file_of_it_are_served_from_the_package(team: Team) -> None:
    names = list(listed())
    assert {"index.html", "app.js", "page.css", "tokens.css", "vendor/lit.js"} <= set(names)
    found = Page(team).asked(("GET", "/", {}), *(("GET", f"/static/{name}", {}) for name in names))
    assert [one.status_code for one in found] == [200] * (1 + len(names))
    kinds = {name: one.headers["content-type"] for name, one in zip(names, found[1:], strict=True)}
    assert kinds["app.js"].startswith("text/javascript")
    assert kinds["page.css"].startswith("text/css")


@proves("page_work/files/policy")
@pytest.mark.parametrize("path", ["/", "/static/app.js", "/static/page.css"])
def test_a_browser_is_told_to_hold_the_page_to_its_own_files(team: Team, path: str) -> None:
    headers = Page(team).response(path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in headers["content-security-policy"]
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


@proves("page_work/files/unchanged")
def test_a_file_that_has_not_changed_is_not_sent_again(team: Team) -> None:
    page = Page(team)
    tag = page.response("/static/app.js").headers["etag"]
    again = page.response("/static/app.js", headers={"If-None-Match": f'"other", {tag}'})
    assert (again.status_code, again.content) == (304, b"")
    assert "content-security-policy" in again.headers
    assert page.response("/static/app.js", headers={"If-None-Match": '"other"'}).status_code == 200


@proves("page_work/files/cached")
def test_a_file_is_compressed_and_cached_for_as_long_as_it_stays_the_same(team: Team) -> None:
    page = Page(team)
    index = page.response("/")
    assert index.headers["cache-control"] == "no-cache"
    [script] = re.findall(r'"(/static/[0-9a-f]+/app.js)"', index.text)
    found = page.response(script, headers={"Accept-Encoding": "gzip"})
    assert found.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert found.headers["content-encoding"] == "gzip"
    assert found.text == listed()["app.js"].read_text(encoding="utf-8")
    assert "content-encoding" not in page.response(script, headers={"Accept-Encoding": "identity"}).headers
    assert page.response(script.replace("/app.js", "/vendor/lit.js")).status_code == 200
    assert page.response("/static/0123456789/app.js").status_code == 404  # of another version of the hub
    assert page.response("/static/app.js").headers["cache-control"] == "no-cache"


@proves("page_work/files/no-others")
@pytest.mark.parametrize(
    "name",
    [
        *("../http/page.py", "..%2f..%2fhttp%2fpage.py", "%2e%2e/http/page.py", "/etc/passwd", "%00", "vendor/"),
        *("vendor", "vendor/lit.LICENSE", "nothing.js", "app.js/", "APP.JS", "\u202eapp.js", "x" * 3_000),
    ],
)
def test_nothing_else_is_ever_opened(team: Team, name: str) -> None:
    found = Page(team).response(f"/static/{name}")
    assert found.status_code in (400, 404)
    assert found.headers["content-type"] == "application/problem+json"


# --- a message --------------------------------------------------------------------------------------------------------


@proves("page_work/message/parts")
@every_type
def test_a_message_of_every_type_is_shown_with_its_parts(team: Team, dialect: Dialect, type_: MessageType) -> None:
    said = speech(dialect, type_)
    receipt = team.say(said, to="senior" if type_.name == "escalation" else "lead")  # one step up
    found = Page(team).message(receipt.id)
    assert found["raw"] == said.raw.decode()
    assert (found["message"]["type"], found["message"]["dialect"]) == (receipt.type, receipt.dialect)
    assert found["tree"]["type"] == type_.name
    assert found["html_of"] == ("body" if dialect.form == "front-matter" else "told")
    assert type_.name in found["html"] or found["html_of"] == "body"
    assert (found["row"]["state"], found["check"]["valid"], found["cut"]) == ("sent", True, False)
    assert [event["kind"] for event in found["events"]] == ["accepted"]
    assert found["about"]["purpose"] == type_.purpose


@proves("page_work/message/findings")
def test_what_was_found_is_told_with_how_to_fix_it(team: Team) -> None:
    made = speech_of("vbw-typed", "qa_verdict", "verdict-1")
    made.tree["payload"]["result"] = "PASSED"
    assert not team.bus.send(made.tree, sender="qa", to="lead", check=False).accepted
    found = Page(team).message("verdict-1")
    assert found["findings"][0]["code"] == "not-one-of"
    assert found["explanations"]["not-one-of"]["fix"]
    assert (found["check"]["valid"], found["check"]["findings"][0]["code"]) == (False, "not-one-of")
    assert (found["row"]["state"], found["message"]["refused"]) == ("refused", True)


@proves("page_work/message/renderings")
def test_each_reader_is_shown_what_it_is_given(team: Team) -> None:
    team.bus.join("ada", role="lead", dialects=["build-flow"])
    team.bus.join("bob", role="lead", dialects=["vbw-typed"])
    team.say(speech_of("vbw-typed", "execution_update", "update-1"), to="all:lead")
    [made] = Page(team).message("update-1")["renderings"]
    assert (made["agent"], made["dialect"]) == ("ada", "build-flow")
    assert json.loads(made["raw"])["type"] == made["type"]
    assert set(made) >= {"lost", "invented", "narrowed"}


@proves("page_work/message/odd")
@pytest.mark.parametrize(
    "raw",
    [
        b"\xff\xfe\x00broken",
        b"",
        b"{",
        b'"text"',
        b"[1, 2]",
        b"---\ntype: x\n",
        b'{"a": 1e999}',
        b'{"type": "qa_verdict", "id": "\\ud800"}',
    ],
)
def test_what_cannot_be_read_is_shown_as_the_text_it_is(team: Team, raw: bytes) -> None:
    receipt = team.bus.send(raw, sender="dev", to="lead", check=False)
    found = Page(team).message(receipt.id)
    assert found["raw"] == raw.decode("utf-8", "backslashreplace")
    assert found["bytes"] == len(raw)


@proves("page_work/message/cut")
def test_a_large_message_is_cut_and_said_to_be(team: Team) -> None:
    made = speech_of("vbw-typed", "execution_update", "large")
    made.tree["payload"]["evidence"] = "long " * 100_000
    team.say(made._replace(raw=json.dumps(made.tree).encode()), to="lead")
    found = Page(team).message("large")
    assert found["cut"]
    assert found["bytes"] > 500_000
    assert len(json.dumps(found)) < 250_000
    assert found["tree"] is None


@proves("page_work/message/cut")
def test_all_of_a_large_message_is_shown_on_request(team: Team) -> None:
    id_ = team.note("long " * 100_000)
    path = f"/page/messages/{team.story(id_).message.seq}"
    assert len(Page(team).get(path)["raw"]) == 16_384
    found = Page(team).get(path, body_max=1_000_000)
    assert (len(found["raw"]), found["cut"]) == (500_000, False)


@proves("page_work/message/deliveries")
def test_deliveries_are_shown_as_they_were_at_a_moment(team: Team) -> None:
    team.bus.join("qa", role="qa")
    id_ = team.note(to="*", sender="lead")
    sent = team.clock.now()
    team.clock.leap(10.0)
    lease = team.take("qa")
    team.clock.leap(20.0)
    team.bus.ack(lease.token, agent="qa")
    path = f"/page/messages/{team.story(id_).message.seq}"

    def shown(at: float) -> tuple[str, Any, Any]:
        found = Page(team).get(path, at=at)
        [delivery] = [one for one in found["deliveries"] if one["agent"] == "qa"]
        return delivery["state"], delivery["taken"], delivery["done"]

    assert shown(sent + 5.0) == ("sent", None, None)
    assert shown(sent + 15.0) == ("in-hand", sent + 10.0, None)
    assert shown(sent + 40.0) == ("done", sent + 10.0, sent + 30.0)
    assert [one["kind"] for one in Page(team).get(path, at=sent + 5.0)["events"]] == ["accepted"]


@proves("page_work/message/links")
def test_a_message_leads_to_the_one_it_answers_and_to_its_answer(team: Team) -> None:
    asked = team.say(speech_of("vbw-typed", "approval_request", "ask-1"), to="lead")
    team.bus.approve("ask-1", approved=True, reason="Fine.", agent="lead", modifications=["src/"])
    page = Page(team)
    answer = page.message("ask-1")["answered_by"]
    assert (answer["from"], page.message("ask-1")["reply_to"]) == ("lead", None)
    found = page.get(f"/page/messages/{answer['seq']}")
    assert (found["reply_to"]["id"], found["answered_by"]) == (asked.id, None)


@proves("page_work/message/none")
@pytest.mark.parametrize("number", ["0", "1", "999999", "-1", "x", "9" * 30])
def test_a_message_that_is_not_there_is_said_not_to_be(team: Team, number: str) -> None:
    found = Page(team).response(f"/page/messages/{number}")
    assert (found.status_code, found.json()["code"]) == (404, "not-found")
