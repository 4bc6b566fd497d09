"""README, documentation and help texts are in plain technical English: few literary words, short sentences."""

from pathlib import Path

import pytest

from telex.reference.command_line import all_helps
from tests.proofs import proves
from tests.prose import literary_words, percentile, sentences, words

ROOT = Path(__file__).parent.parent
PAGES = {
    str(page.relative_to(ROOT)): page.read_text(encoding="utf-8")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}
HELPS = {
    f"telex {help_.path}": "\n\n".join([*help_.paragraphs, *(f"- {text}" for _, text in help_.options)])
    for help_ in all_helps()
}
LITERARY_PER_1000_MAX = 1
WORDS_P90_MAX = 28
SENTENCES_MIN = 5  # on a page with fewer, one long sentence is not a style

every_page = pytest.mark.parametrize("page", PAGES)


def complaints(text: str) -> list[str]:
    found = []
    literary, total = literary_words(text), len(words(text))
    if len(literary) * 1000 >= LITERARY_PER_1000_MAX * max(total, 1000):
        found.append(f"literary words: {', '.join(literary)}")
    lengths = sorted(sentences(text))
    if len(lengths) >= SENTENCES_MIN and percentile([each.length for each in lengths], 0.9) > WORDS_P90_MAX:
        found += [f"{each.length} words: {each.text}" for each in lengths if each.length > WORDS_P90_MAX]
    return found


@proves("docs/readability")
@every_page
def test_a_page_has_hardly_any_literary_word_and_short_sentences(page: str) -> None:
    assert complaints(PAGES[page]) == []


@proves("docs/readability")
def test_the_help_of_the_commands_has_hardly_any_literary_word_and_short_sentences() -> None:
    assert complaints("\n\n".join(HELPS.values())) == []


@pytest.mark.parametrize(
    "text, found",
    [
        ("Nobody knows.", ["literary words: nobody"]),
        ("`nobody` is a name.\n\n```\nwhoever\n```\n", []),
        ("It works. " * 30, []),
        (f"It {'very ' * 30}works. " * 30, [f"32 words: It {'very ' * 30}works."] * 30),
        (f"| it {'very ' * 30}works |\n" * 30, []),
    ],
    ids=["literary", "code", "short", "long", "table"],
)
def test_a_text_that_is_hard_to_read_is_found(text: str, found: list[str]) -> None:
    assert complaints(text) == found
