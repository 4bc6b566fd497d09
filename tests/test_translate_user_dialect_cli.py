"""What do `telex translate` and `telex dialects` make of a dialect that a user has written?"""

import json
from pathlib import Path

import pytest

from telex.dialects.registry import by_name
from telex.trace.text import cells
from telex.validation.check import CheckPolicy, check
from tests.cli_kit import UPDATE, example, put, terminal
from tests.proofs import proves
from tests.test_translate_cli import Capture, run
from tests.toml_dialects import AWKWARD_FILE, KANBAN, KANBAN_FILE

FILE = str(KANBAN_FILE)
MOVED = KANBAN.types["moved"].example | {"column": "review", "note": "Nearly", "card": "2-1-T1"}


@proves("translation/own/cli")
def test_a_message_goes_into_ones_own_dialect_and_out_of_it(tmp_path: Path, capsys: Capture) -> None:
    there = run(capsys, "translate", "--to", "vbw-typed", "--dialect", FILE, put(tmp_path, "moved.json", MOVED))
    assert (there.code, there.answer["type"], there.answer["payload"]["status"]) == (0, "execution_update", "partial")
    assert check(there.out, CheckPolicy(forced=by_name("vbw-typed"))).valid
    assert "narrowed  $.column" in there.err
    into = run(capsys, "translate", "--to", FILE, put(tmp_path, "update.json", UPDATE))
    assert (into.code, into.answer["type"], into.answer["column"]) == (0, "moved", "done")
    assert check(into.out, CheckPolicy(dialects=(KANBAN,), forced=KANBAN)).valid
    assert into.err.startswith("vbw-typed execution_update → kanban moved")


@proves("translation/own/cli")
def test_what_a_file_cannot_say_is_told_and_offered_as_markdown(tmp_path: Path, capsys: Capture) -> None:
    works = put(tmp_path, "works.toml", AWKWARD_FILE)
    file = put(tmp_path, "escalation.json", example("vbw-company", "escalation"))
    ran = run(capsys, "translate", "--to", works, file)
    assert (ran.code, ran.out) == (3, "")
    assert "complaint has to say" in ran.err
    assert "telex translate --to plain" in ran.err


@proves("translation/own/cli")
def test_the_matrix_of_ones_own_dialect_shows_both_directions(capsys: Capture) -> None:
    entries = run(capsys, "dialects", "--matrix", FILE, "--json").answers
    ways = {(entry["dialect"], entry["type"], entry["to"], entry["becomes"]) for entry in entries}
    assert ("kanban", "moved", "signal-md", "worker_submission") in ways
    assert ("signal-md", "approval", "kanban", "ruling") in ways
    assert ("vbw-typed", "shutdown_request", "kanban", None) in ways
    assert all(entry["becomes"] or entry["reason"] for entry in entries)
    shown = run(capsys, "dialects", "--matrix", FILE).out
    assert shown.index("kanban 1.0") < shown.index("into kanban 1.0")
    assert "into" not in run(capsys, "dialects", "--matrix", "docs/examples/release-train.toml").out
    assert max(map(cells, terminal("dialects", "--matrix", FILE, NO_COLOR="1").out.splitlines())) <= 80


@proves("translation/own/cli")
@pytest.mark.parametrize("more", [(), ("--json",), ("--matrix",)])
def test_what_whoever_wrote_the_file_would_want_to_know_is_noted(
    more: tuple[str, ...], tmp_path: Path, capsys: Capture
) -> None:
    works = put(tmp_path, "works.toml", AWKWARD_FILE)
    ran = run(capsys, "dialects", works, *more)
    assert ran.code == 0
    assert f"note: {works}:" in ran.err
    assert "colour is required, and no other dialect says it" in ran.err
    assert run(capsys, "dialects", FILE, *more).err == ""


@proves("translation/own/cli")
def test_the_page_of_ones_own_dialect_says_what_its_types_are_to_others(capsys: Capture) -> None:
    page = run(capsys, "dialects", FILE, "--page").out
    assert "reports how far a task has come" in page
    assert json.dumps(MOVED["column"]) not in page.split("## moved")[0]
