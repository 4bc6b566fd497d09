"""Are the parts of a page that are made from tables the ones that the tables make now?"""

from pathlib import Path

import pytest

from telex.dialects.registry import BUILT_IN
from telex.generate import tables as made
from telex.generate.__main__ import END, filled, parts, write_files
from telex.generate.tables import events_table, moves_diagram, priorities_table
from telex.model.message import KINDS, MOVES, STATES

ROOT = Path(__file__).parents[2]
DELIVERY_PAGE = "docs/delivery.md"
PAGE = f"# By hand\n\n<!-- made: one -->\nold\n{END}\n\nBy hand too.\n"


def test_every_page_has_its_parts_as_they_would_be_made_now() -> None:
    pages = {path: (ROOT / path).read_text(encoding="utf-8") for path in parts()}
    drifted = [path for path, made in parts().items() if filled(pages[path], made) != pages[path]]
    assert drifted == [], "run `python -m telex.generate`"


def test_only_what_stands_between_the_marks_is_written() -> None:
    assert filled(PAGE, {"one": "new"}) == f"# By hand\n\n<!-- made: one -->\n\nnew\n\n{END}\n\nBy hand too.\n"


@pytest.mark.parametrize("page", ["# By hand\n", PAGE + PAGE, PAGE.replace("one", "two")])
def test_a_page_that_lost_or_doubled_a_mark_is_found_out(page: str) -> None:
    with pytest.raises(AssertionError, match="needs marks"):
        filled(page, {"one": "new"})


def test_a_page_that_was_changed_between_the_marks_is_written_anew(tmp_path: Path) -> None:
    page = (ROOT / DELIVERY_PAGE).read_text(encoding="utf-8")
    write_files(tmp_path)
    (tmp_path / DELIVERY_PAGE).write_text(page.replace("| `acked` |", "| `done` |"), encoding="utf-8")
    assert write_files(tmp_path) == [DELIVERY_PAGE]
    assert (tmp_path / DELIVERY_PAGE).read_text(encoding="utf-8") == page


def test_the_diagram_has_every_move_and_no_other() -> None:
    drawn = {tuple(line.split(":")[0].split(" --> ")) for line in moves_diagram().splitlines() if " --> " in line}
    moves = {(f"    {before}", after) for before in STATES for after in MOVES[before]}
    assert {move for move in drawn if "[*]" not in "".join(move)} == moves


def test_a_move_without_words_cannot_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(made.MOVE_WORDS, ("dead", "stored"))
    with pytest.raises(AssertionError, match="without words"):
        moves_diagram()


def test_every_kind_of_event_and_every_type_is_listed() -> None:
    assert all(f"| `{kind}` |" in events_table() for kind in KINDS)
    classes = priorities_table(BUILT_IN)
    for dialect in BUILT_IN:
        for type_ in dialect.types.values():
            [row] = [
                line for line in classes.splitlines() if f"dialects/{dialect.slug}.md#{type_.name.lower()})" in line
            ]
            assert row.startswith(f"| {type_.priority} | {dialect.name} |")
