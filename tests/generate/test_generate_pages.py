"""Generated pages and parts of pages: they say what the definitions say, and those in the repository are up to date."""

import re
from pathlib import Path

import pytest

from telex.dialects.builtin.vbw import VBW_COMPANY
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.dialects.registry import BUILT_IN, PLAIN
from telex.dialects.schema import PRIORITIES, Dialect, OneOf, walk_kinds
from telex.generate import tables as made
from telex.generate.__main__ import END, files, filled, parts, write_files
from telex.generate.pages import class_table, dialect_page, overview_page
from telex.generate.tables import events_table, moves_diagram, priorities_table
from telex.model.message import KINDS, MOVES, STATES
from telex.validation.check import CheckPolicy, check
from tests.dialects.user_dialect import OWN

ROOT = Path(__file__).parents[2]
DIALECTS = (*BUILT_IN, OWN)

every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


@pytest.mark.parametrize("path", files())
def test_a_made_file_is_as_it_would_be_made_now(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == files()[path], "run `python -m telex.generate`"


def test_only_what_differs_is_written(tmp_path: Path) -> None:
    assert write_files(tmp_path) == list(files())
    assert write_files(tmp_path) == []
    (tmp_path / "docs/dialects/plain.md").write_text("changed by hand", encoding="utf-8")
    assert write_files(tmp_path) == ["docs/dialects/plain.md"]


def section(page: str, heading: str) -> str:
    """The lines from this heading to the next. What looks like one inside an example is none."""
    lines, inside, fenced = [], False, False
    for line in page.splitlines():
        fenced = fenced is not line.startswith("```")
        inside = line == f"## {heading}" if line.startswith("## ") and not fenced else inside
        lines += [line] if inside else []
    return "\n".join(lines)


@every_dialect
def test_a_page_has_every_field_choice_and_rule_of_every_type(dialect: Dialect) -> None:
    page = dialect_page(dialect)
    for type_ in dialect.types.values():
        part = section(page, type_.name)
        assert " ".join(type_.purpose.split()) in " ".join(part.split())
        assert f"Priority: {type_.priority}" in part
        assert type_.reply is None or f"Asks for: [{type_.reply}]" in part
        for path, field in walk_kinds(type_.fields):
            row = next(line for line in part.splitlines() if line.startswith(f"| `{'.'.join(path)}` |"))
            assert row.split(" | ")[2] == ("yes" if field.required else "")
            assert not isinstance(field.kind, OneOf) or all(f"`{value}`" in row for value in field.kind.values)
        for rule in type_.rules:
            assert f"| `{rule.code}` | {rule.severity} |" in part


@every_dialect
def test_an_example_on_a_page_passes_without_a_finding(dialect: Dialect) -> None:
    page = dialect_page(dialect)
    for type_ in dialect.types.values():
        [example] = re.findall(r"^```\w+\n(.*?)\n```$", section(page, type_.name), re.DOTALL | re.MULTILINE)
        checked = check(example.encode(), CheckPolicy(dialects=DIALECTS, preferred=dialect.name))
        assert (checked.type, checked.dialect and checked.dialect.name) == (type_.name, dialect.name)
        assert [finding for finding in checked.findings if finding.code != "default-filled"] == []


def test_the_matrix_says_who_may_send_and_receive() -> None:
    page = dialect_page(VBW_TYPED)
    assert "| type | lead | dev | qa | scout | debugger | architect | docs |" in page
    assert "| [approval_request](#approval_request) | S R | S |  |  |  | R |  |" in page


def test_an_escalation_is_shown_one_step_at_a_time() -> None:
    assert "dev → senior" in section(dialect_page(VBW_COMPANY), "escalation")


@pytest.mark.parametrize("dialect", [*DIALECTS, PLAIN], ids=lambda dialect: dialect.name)
def test_every_link_on_a_page_leads_to_a_heading(dialect: Dialect) -> None:
    page = dialect_page(dialect)
    headings = {line.removeprefix("## ").lower() for line in page.splitlines() if line.startswith("## ")}
    assert {link.lower() for link in re.findall(r"\]\(#([^)]+)\)", page)} <= headings


def test_a_cell_cannot_break_its_table() -> None:
    part = section(dialect_page(OWN), "message")
    assert r"Fix class: */ \| `so`." in part


def test_every_type_of_every_dialect_has_its_class_in_one_table() -> None:
    rows = [line.split(" | ") for line in class_table(BUILT_IN).splitlines()[2:]]
    listed = [(row[1], re.sub(r"\[(.*?)\].*", r"\1", row[2]), row[0].removeprefix("| ")) for row in rows]
    expected = {(dialect.name, type_.name, type_.priority) for dialect in BUILT_IN for type_ in dialect.types.values()}
    assert set(listed) == expected
    assert len(listed) == len(expected)
    assert [class_ for _, _, class_ in listed] == sorted((c for _, _, c in listed), key=PRIORITIES.index)


def test_the_overview_links_every_dialect() -> None:
    page = overview_page((*BUILT_IN, PLAIN))
    assert all(f"[{dialect.base}]({dialect.slug}.md)" in page for dialect in (*BUILT_IN, PLAIN))


DELIVERY_PAGE = "docs/delivery.md"
PAGE = f"# By hand\n\n<!-- made: one -->\nold\n{END}\n\nBy hand too.\n"


def test_every_page_has_its_parts_as_they_would_be_made_now() -> None:
    pages = {path: (ROOT / path).read_text(encoding="utf-8") for path in parts()}
    drifted = [path for path, made in parts().items() if filled(pages[path], made) != pages[path]]
    assert drifted == [], "run `python -m telex.generate`"


def test_the_parts_of_every_page_come_from_this_command() -> None:
    texts = {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in (ROOT / "docs").rglob("*.md")}
    marked = {path for path, text in texts.items() if re.search(r"^<!-- made: \S+ -->$", text, re.MULTILINE)}
    assert marked == set(parts())


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
