"""A conversation as one HTML file: what is in it, and that nothing in it runs or is loaded."""

import re
from html.parser import HTMLParser

from telex.surfaces.page import conversation_file
from telex.surfaces.page.conversation_file import render_html
from tests.bus.bus_team import Team, open_team, speech_of, team
from tests.http.page_attacks import ATTACKS
from tests.http.page_kit import Page
from tests.proofs import proves
from tests.trace.trace_conversations import refusal, whole_release

__all__ = ["open_team", "team"]  # fixtures

PARTS = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "footer", "figure", "h1", "h2", "h3", "h4"),
    *("p", "b", "span", "bdi", "code", "pre", "time", "dl", "dt", "dd", "div", "ol", "ul", "li"),
    *("svg", "desc", "rect", "text", "line", "path", "circle", "g"),
}
OUTSIDE = {"src", "href", "srcset", "action", "data", "poster", "background", "style", "xlink:href", "ping"}


class FileParts(HTMLParser):
    """Tags and attributes of a file, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def file_of(team: Team, id: str) -> str:
    return render_html(team.bus.trace(id), team.bus.policy.dialects, team.clock.now())


@proves("page_conversations/file")
def test_the_file_has_facts_diagram_texts_states_and_findings(team: Team) -> None:
    for name in ("dev", "senior", "lead"):
        team.bus.join(name, role=name)
    team.note("Who has the key?\n\nIt is **not** in the vault.", id="q-1", correlation="keys")
    team.clock.leap(5.0)
    lease = team.take("lead")
    team.clock.leap(40.0)
    team.bus.ack(lease.token, agent="lead")
    team.bus.send("Well?", sender="dev", to="nobody", correlation="keys", check=False)
    said = speech_of("vbw-company", "escalation", **{"from": "dev", "to": "senior"})
    team.bus.send(said.raw, sender="dev", to="senior", id="e-1", correlation="keys")
    text = FileParts(file_of(team, "keys")).text
    for words in (
        *("Who has the key?", "It is **not** in the vault.", "Waiting for senior", "Messages 3 (1 refused)"),
        *("Worked 40.0 s", "lead: Done, taken after 5.0 s, in hand 40.0 s", "senior: Sent"),
        *("recipient-unknown", "Why it was refused", "Refused", "escalation", "2026-01-01 00:00:45 UTC"),
    ):
        assert words in re.sub(r"\s+", " ", text), words
    assert "role-may-not-send at $.type: qa_verdict is sent by qa" in FileParts(render_html(refusal(), (), 2e9)).text
    assert render_html([], (), 2e9)


@proves("page_conversations/file/closed")
def test_nothing_in_the_file_runs_or_is_loaded(team: Team) -> None:
    for number, attack in enumerate(ATTACKS):
        raw = attack.encode("utf-8", "surrogatepass")
        team.bus.send(raw, sender="dev", to="lead", correlation="hostile", id=f"m-{number}", check=False)
        team.bus.send(raw, sender="dev", to=attack[:60], correlation="hostile", reply_to=attack, check=False)
        team.bus.send(
            {"type": attack, "id": attack, attack: attack}, sender="dev", to="lead", correlation="hostile", check=False
        )
    for html in (file_of(team, "hostile"), render_html(whole_release(), (), 2e9)):
        parts = FileParts(html)
        assert parts.tags <= PARTS
        assert not parts.attributes & OUTSIDE
        assert not [name for name in parts.attributes if name.startswith("on")]
        style = html.partition("<style>")[2].partition("</style>")[0]
        assert "url(" not in style
        assert "@import" not in style
        assert "default-src 'none'" in html
    assert "<script>window.__pwned=1</script>" in FileParts(file_of(team, "hostile")).text


@proves("page_conversations/file/closed")
def test_the_hub_sends_the_file_as_a_download(team: Team) -> None:
    team.note("Here.", correlation="doors/and windows")
    response = Page(team).response("/page/conversation-file/doors%2Fand%20windows")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in response.headers["content-security-policy"]
    assert Page(team).response("/page/conversation-file/nothing").status_code == 404


@proves("page_conversations/file")
def test_a_long_conversation_is_cut_and_says_so(team: Team) -> None:
    for number in range(conversation_file.DRAWN_MAX + 5):
        team.note(f"message {number}", correlation="long")
    team.note("x" * 30_000, correlation="long")
    team.bus.send('{"a": ' * 3_000, sender="dev", to="lead", correlation="long", check=False)
    html = file_of(team, "long")
    assert "The diagram has the latest 200 messages." in html
    assert "10,000 more characters" in html
    assert html.count("<li id=") == conversation_file.DRAWN_MAX + 7
