"""Can a message do anything on the page but be read?"""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import TYPE, Dialect, ListOf, MapOf, MessageType, Text, set_path, walk_kinds
from telex.dialects.write import write
from telex.model.message import BRINGING
from telex.ports.store import Query
from telex.surfaces.http.page_message import CHARACTERS_MAX, markup
from tests.bus.bus_team import OpenTeam, Team, open_team, team
from tests.http.page_attacks import ATTACKS, Survivors, survivors
from tests.http.page_kit import Page
from tests.proofs import proves

__all__ = ["open_team", "team"]  # fixtures

TOGETHER = 6  # attacks in one field: each is seen by every field all the same


def hostile(dialect: Dialect, type_: MessageType, text: str) -> dict[str, Any]:
    """The type's example, saying this wherever it says anything."""
    tree = copy.deepcopy(type_.example)
    for path, field in walk_kinds(dialect.fields_of(type_)):
        if path == (TYPE,) or any(step.endswith("[]") for step in path):
            continue
        kind = field.kind
        if isinstance(kind, Text):
            set_path(tree, path, text)
        elif isinstance(kind, ListOf) and isinstance(kind.item, Text):
            set_path(tree, path, [text, text])
        elif isinstance(kind, MapOf):
            set_path(tree, path, {text: text})
    return tree


def speeches() -> Iterator[bytes]:
    for dialect in BUILT_IN:
        for type_ in dialect.types.values():
            for begin in range(0, len(ATTACKS), TOGETHER):
                some = ATTACKS[begin : begin + TOGETHER]
                text = "\n\n".join(some)
                yield write(dialect, hostile(dialect, type_, text), text).encode("utf-8", "surrogatepass")


def messages(team: Team) -> list[int]:
    return [event.seq for event, _ in team.bus.events(Query(kinds=BRINGING))]


@proves("page_work/markup/sanitised")
@pytest.mark.parametrize("attack", ATTACKS)
def test_no_attack_survives_as_markdown(attack: str) -> None:
    assert survivors(markup(attack).html) == []
    assert survivors(markup(f"- {attack}\n\n> {attack}\n\n*{attack}* **{attack}** [{attack}]({attack})").html) == []


def test_the_corpus_is_as_large_as_was_promised_and_would_be_noticed() -> None:
    assert len(set(ATTACKS)) >= 40
    plain = [attack for attack in ATTACKS if survivors(attack)]
    assert len(plain) >= 25  # whatever is HTML by itself is seen for what it is


PIECES = (
    *ATTACKS,
    *"[]()<>!*_`#|-~&;:/\\\"' \n\t=",
    "\n\n",
    "](",
    "```",
    "http://",
    "javascript:",
    "&#",
    "\ud800",
    "\u202e",
)


@proves("page_work/markup/sanitised")
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_mixture_of_attacks_survives(text: str) -> None:
    assert survivors(markup(text).html) == []


@proves("page_work/markup/every-field")
def test_no_attack_survives_in_any_text_field_of_any_dialect(open_team: OpenTeam) -> None:
    team = open_team(strict=False)
    sent = 0
    for raw in dict.fromkeys(speeches()):  # versions of a dialect share types
        team.bus.send(raw, sender="dev", to="lead", check=False)
        sent += 1
    numbers = messages(team)
    assert len(numbers) == sent > 300
    for found in Page(team).all([f"/page/messages/{number}" for number in numbers]):
        assert survivors(found["html"]) == [], found["message"]


@proves("page_work/markup/refused-too")
def test_what_was_refused_is_shown_and_does_no_more(team: Team) -> None:
    for attack in ATTACKS:
        team.bus.send(attack.encode("utf-8", "surrogatepass"), sender="dev", to="lead", check=False)
        team.bus.send('{"type": "qa_verdict", "id": "' + attack + '"', sender="dev", to="lead", check=False)
    for found in Page(team).all([f"/page/messages/{number}" for number in messages(team)]):
        assert survivors(found["html"]) == []


@proves("page_work/markup/markdown")
def test_markdown_is_shown_as_what_it_means() -> None:
    text = "# Done\n\nAll **green**, see [the run](https://example.org/run).\n\n| a | b |\n|---|---|\n| 1 | ~~2~~ |"
    html = markup(text).html
    assert "<h1>Done</h1>" in html
    assert "<strong>green</strong>" in html
    assert '<a href="https://example.org/run" target="_blank" rel="nofollow noopener noreferrer">the run</a>' in html
    assert "<td>1</td>" in html
    assert "<s>2</s>" in html


@proves("page_work/markup/links-lead-out")
@pytest.mark.parametrize("target", ["#/approvals", "/shut_down", "//evil.example/", "ftp://x", "approvals", "?x=y"])
def test_a_link_that_does_not_say_where_it_leads_is_none(target: str) -> None:
    assert "href" not in markup(f"[Approve it here]({target})").html


@proves("page_work/markup/nothing-unseen")
def test_what_cannot_be_seen_is_shown(team: Team) -> None:
    html = markup("pay \u202e001\u202c to a\u200bb\x07").html
    assert html == "<p>pay \\u202e001\\u202c to a\\u200bb\\x07</p>\n"


@proves("page_work/markup/bounded")
@pytest.mark.parametrize("piece", ["x", "[", "*a ", "> ", "<", "`", "- - ", "![", "\n", "|a", "&"])
def test_a_huge_text_is_cut_and_shown(piece: str) -> None:
    shown = markup(piece * (1_000_000 // len(piece)))
    assert shown.cut
    assert len(Survivors(shown.html).text) <= CHARACTERS_MAX + 1_000
