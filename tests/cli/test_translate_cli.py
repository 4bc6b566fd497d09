"""What do `telex translate` and `telex dialects --matrix` print, and with which exit code do they leave?"""

import json
import re
from pathlib import Path

import pytest

from telex.dialects.registry import BUILT_IN, by_name
from telex.dialects.schema import ANY, Dialect
from telex.generate.tables import distinct, matrix
from telex.trace.text import cells
from telex.translation.envelope import counterpart
from telex.translation.mapping_tables import pairs
from telex.validation.check import CheckPolicy, check
from tests.cli.cli_kit import SAMPLES, UPDATE, WRONG_CASE, Run, example, process, put, run, terminal
from tests.dialects.toml_dialects import AWKWARD_FILE, KANBAN, KANBAN_FILE
from tests.proofs import proves

__all__ = ["run"]

SHUTDOWN = str(SAMPLES / "vbw-typed/6-shutdown.json")
BYE = example("vbw-typed", "shutdown_response")


def _has_a_sender(dialect: Dialect, type_: str, to: Dialect, other: str) -> bool:
    """Whether some role may send it in both dialects."""
    senders, theirs = dialect.types[type_].senders, to.types[other].senders
    return ANY in (senders, theirs) or any(counterpart(role, dialect, to) in theirs for role in senders)


EVERY_PAIR = {(pair[0].name, pair[1], pair[2].name, pair[3]) for pair in pairs() if _has_a_sender(*pair)}


# --- translate -------------------------------------------------------------------------------------------------------


@proves("rendering/translate")
def test_the_message_is_on_stdout_and_what_was_lost_or_made_up_on_stderr(tmp_path: Path, run: Run) -> None:
    ran = run("translate", "--to", "build-flow", put(tmp_path, "update.json", UPDATE))
    assert (ran.code, ran.answer["type"], ran.answer["payload"]["status"]) == (0, "STATUS_UPDATE", "COMPLETED")
    assert check(ran.out, CheckPolicy(forced=by_name("build-flow"))).valid
    head, headings, *report = ran.err.splitlines()
    assert head == "vbw-typed execution_update → build-flow STATUS_UPDATE"
    assert headings.split() == ["where", "what", "why"]
    lost = next(line for line in report if line.startswith("lost") and "$.payload.commit" in line)
    assert re.split(r" {2,}", lost)[2:] == ["abc1234", "STATUS_UPDATE has no place for it"]
    assert any(line.startswith("invented  $.to ") for line in report)


@proves("rendering/translate")
@pytest.mark.parametrize("dialect", [dialect.name for dialect in BUILT_IN])
def test_every_sample_is_translated_into_what_is_accepted_or_said_not_to_be(dialect: str, run: Run) -> None:
    files = [
        file for folder in SAMPLES.iterdir() if folder.name not in ("broken", "plain") for file in folder.iterdir()
    ]
    codes = {}
    for file in files:
        ran = run("translate", "--to", dialect, str(file))
        codes[file] = ran.code
        assert ran.code in (0, 3), ran
        assert ran.code == 3 or check(ran.out, CheckPolicy(forced=by_name(dialect))).valid, ran
        assert (ran.out == "") == (ran.code == 3)
    assert list(codes.values()).count(0) >= 8


@proves("rendering/translate")
def test_front_matter_comes_with_its_body_and_goes_through_a_pipe(tmp_path: Path) -> None:
    blocker = example("vbw-typed", "blocker_report")
    there = process("translate", "--to", "signal-md", put(tmp_path, "blocker.json", blocker))
    assert there.out.startswith("---\ntype: worker_submission\nsignal: blocked\n")
    assert "The session table is not there yet" in there.out.partition("\n---\n")[2]
    back = process("translate", "--to", "vbw-typed", "-", stdin=there.out.encode())
    assert back.answer["type"] == "blocker_report"
    assert back.answer["payload"] == blocker["payload"]


@proves("rendering/translate")
def test_who_sends_it_is_said_where_the_message_does_not(tmp_path: Path, run: Run) -> None:
    note = put(
        tmp_path, "note.md", "---\ntype: worker_submission\nsignal: rfr\nfiles_changed: []\nqa_check: pass\n---\nA"
    )
    told = run("translate", "--to", "vbw-typed", "--role", "documenter", note)
    assert told.answer["author_role"] == "docs"
    assert run("translate", "--to", "vbw-typed", note).answer["author_role"] == "dev"
    assert run("translate", "--to", "vbw-typed", "--role", "reviewer", note).code == 2


@proves("rendering/translate/json")
def test_a_program_gets_the_message_and_the_report(tmp_path: Path, run: Run) -> None:
    file = put(tmp_path, "update.json", UPDATE)
    ran = run("translate", "--to", "vbw-handoff", "--json", file)
    assert (ran.code, ran.err) == (0, "")
    assert {
        "dialect": "vbw-handoff",
        "type": "dev_progress",
        "body": None,
        "invented": [],
    }.items() <= ran.answer.items()
    assert json.loads(ran.answer["text"]) == ran.answer["message"]
    [files] = [lost for lost in ran.answer["lost"] if lost["path"] == "$.payload.files_modified"]
    assert files["value"] == ["src/auth/reset.py"]
    assert files["reason"]
    assert set(files) == {"path", "slot", "value", "reason"}
    nothing = run("translate", "--to", "vbw-handoff", "--json", SHUTDOWN)
    assert (nothing.code, nothing.answer["message"], nothing.answer["type"]) == (3, None, None)
    assert nothing.answer["markdown"].startswith("# shutdown_request from lead\n")
    refused = run("translate", "--to", "vbw-typed", "--json", put(tmp_path, "wrong.json", WRONG_CASE))
    assert (refused.code, refused.answer["valid"]) == (2, False)


@proves("rendering/translate/none")
def test_what_has_no_counterpart_is_told_why_and_offered_as_markdown(run: Run) -> None:
    ran = run("translate", "--to", "signal-md", SHUTDOWN)
    assert (ran.code, ran.out) == (3, "")
    assert "signal-md has no message that asks a team to stop" in ran.err
    assert ran.err.rstrip().endswith(f"telex translate --to plain {SHUTDOWN}")


@proves("rendering/translate/none")
def test_from_stdin_the_command_to_type_reads_stdin_too() -> None:
    ran = process("translate", "--to", "signal-md", "-", stdin=Path(SHUTDOWN).read_bytes())
    assert ran.err.rstrip().endswith("telex translate --to plain -")


@proves("rendering/translate/letter")
def test_into_a_pipe_goes_what_the_bus_would_hand_over(tmp_path: Path) -> None:
    unseen = "\u202e" * 300_000
    asked = example("vbw-typed", "approval_request")
    asked["payload"]["evidence"] = unseen
    there = process("translate", "--to", "build-flow", put(tmp_path, "ask.json", json.dumps(asked, ensure_ascii=False)))
    assert unseen in there.out
    assert check(there.out).valid, "escaped it would be too long"
    answer = process("translate", "--json", "--to", "build-flow", str(tmp_path / "ask.json")).answer
    assert answer["text"] == there.out


@proves("rendering/translate/line-ends")
def test_line_ends_that_are_not_told_as_they_were_are_named(tmp_path: Path, run: Run) -> None:
    lines = ("---", "type: worker_submission", "signal: rfr", "files_changed: []", "qa_check: pass", "---", "a", "b")
    for end, is_told in (("\r\n", True), ("\n", False)):
        (tmp_path / "note.md").write_bytes(end.join(lines).encode())
        ran = run("translate", "--json", "--to", "vbw-typed", str(tmp_path / "note.md"))
        assert ran.answer["message"]["payload"]["evidence"] == "a\nb"
        assert ("$.body" in {one["path"] for one in ran.answer["narrowed"]}) == is_told


@proves("rendering/translate/several")
def test_several_messages_at_once_are_told_what_to_do(tmp_path: Path, run: Run) -> None:
    line = json.dumps(UPDATE)
    ran = run("translate", "--to", "build-flow", put(tmp_path, "log.jsonl", f"{line}\n{line}\n"))
    assert (ran.code, ran.out) == (2, "")
    assert "several-messages" in ran.err
    assert "telex migrate-log" in ran.err
    assert "JSON lines" not in ran.err


@proves("rendering/translate/markdown")
def test_any_message_is_printed_as_markdown(run: Run) -> None:
    told = run("translate", "--to", "plain", SHUTDOWN)
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith("# shutdown_request from lead\n\nAsks every teammate")
    assert run("translate", "--to", "plain", "--json", SHUTDOWN).answer["text"] == told.out


@proves("rendering/translate/text")
@pytest.mark.parametrize(
    "name, what", [("standup.md", "plain text"), ("idle-frame.json", "a control frame of a coding tool")]
)
def test_what_nobody_typed_is_printed_as_it_is(name: str, what: str, run: Run) -> None:
    file = SAMPLES / "plain" / name
    ran = run("translate", "--to", "vbw-typed", str(file))
    assert (ran.code, ran.out.rstrip("\n")) == (0, file.read_text().rstrip("\n"))
    assert ran.err == f"{what}: every reader receives it unchanged\n"
    assert run("translate", "--to", "vbw-typed", "--json", str(file)).answer["dialect"] == "plain"


@proves("rendering/translate/refused")
def test_a_refused_message_is_not_translated(tmp_path: Path, run: Run) -> None:
    ran = run("translate", "--to", "vbw-typed", put(tmp_path, "wrong.json", WRONG_CASE))
    assert (ran.code, ran.out) == (2, "")
    assert "not-one-of" in ran.err


@proves("rendering/translate/reader")
def test_a_reader_is_named_by_version_and_may_ask_for_later_names(tmp_path: Path, run: Run) -> None:
    file = put(tmp_path, "bye.json", BYE)
    later = run("translate", "--to", "vbw-typed@2.0+approved", file)
    assert later.answer["payload"] == {"approved": True} | {
        name: value for name, value in BYE["payload"].items() if name != "approve"
    }
    assert run("translate", "--to", "vbw@2.0", put(tmp_path, "later.json", later.answer)).answer == BYE
    update = put(tmp_path, "update.json", UPDATE)
    old = [run("translate", "--to", name, update) for name in ("vbw@1.0", "vbw-handoff", "vbw-handoff@1.0")]
    assert [ran.answer["type"] for ran in old] == ["dev_progress"] * 3


@proves("rendering/translate/reader")
@pytest.mark.parametrize(
    "name, said",
    [
        ("vbw@3.0", "vbw-typed@2.0, vbw-typed@2.1, vbw-handoff@1.0"),
        ("vbw-typed@1.0", "vbw-typed@2.0"),
        ("build-flaw", "build-flow"),
        ("vbw-typed+zork", "vbw-typed@2.0+approved"),
        ("\x1b[31m", "signal-md"),
        ("nowhere/own.toml", "no such file"),
    ],
)
def test_a_reader_that_there_is_not_is_told_what_there_is(name: str, said: str, run: Run) -> None:
    code, out, err = run("translate", "--to", name, SHUTDOWN)
    assert (code, out) == (3 if ".toml" in name else 64, "")
    assert said in err
    assert "\x1b" not in err


@proves("rendering/translate/reader")
def test_a_shell_is_told_which_readers_there_are() -> None:
    ran = process(_TELEX_COMPLETE="bash_complete", COMP_WORDS="telex translate --to vbw", COMP_CWORD="3")
    offered = [line.partition(",")[2] for line in ran.out.splitlines()]
    assert offered == ["vbw-typed", "vbw-typed@2.1", "vbw-handoff", "vbw-company", "vbw@2.0", "vbw@2.1", "vbw@1.0"]


@pytest.mark.parametrize(
    "args, code",
    [([SHUTDOWN], 64), (["--to", "plain"], 64), (["--to", "plain", "nope"], 3), (["--to", "plain", "."], 64)],
)
def test_wrong_usage_is_no_refusal(args: list[str], code: int, run: Run) -> None:
    assert run("translate", *args).code == code


def test_on_a_terminal_it_fits_and_nothing_acts(tmp_path: Path) -> None:
    hostile = example("vbw-handoff", "dev_blocker", blocker="red \x1b[31m", needs="long " * 40, task="\u202etask")
    file = put(tmp_path, "blocker.json", hostile)
    for reader in ("signal-md", "build-flow", "plain"):
        seen = terminal("translate", "--to", reader, file, NO_COLOR="1")
        assert seen.code == 0
        assert not {"\x1b", "\u202e"} & set(seen.out)
    report = terminal("translate", "--to", "build-flow", put(tmp_path, "update.json", UPDATE), NO_COLOR="1").out
    assert max(map(cells, report.splitlines())) <= 80


# --- the matrix ------------------------------------------------------------------------------------------------------


@proves("rendering/matrix")
def test_the_matrix_has_every_pair_and_a_reason_for_every_one_that_is_missing(run: Run) -> None:
    entries = run("dialects", "--matrix", "--json").answers
    found = {(entry["dialect"], entry["type"], entry["to"], entry["becomes"]) for entry in entries if entry["becomes"]}
    assert found == EVERY_PAIR
    for dialect in BUILT_IN:
        for to in BUILT_IN:
            for type_ in dialect.types if to is not dialect else ():
                of_pair = [
                    entry
                    for entry in entries
                    if (entry["dialect"], entry["type"], entry["to"]) == (dialect.name, type_, to.name)
                ]
                assert of_pair
                assert all(one["becomes"] or one["reason"] for one in of_pair)


@proves("rendering/matrix")
def test_the_counts_are_those_of_the_example(tmp_path: Path, run: Run) -> None:
    made = run("translate", "--to", "signal-md", "--json", put(tmp_path, "update.json", UPDATE)).answer
    [row] = [
        line.split()
        for line in run("dialects", "--matrix", "vbw-typed").out.split("blocker_report ")[0].splitlines()
        if "signal-md worker_submission" in line
    ]
    counted = [str(len(made[kind])) if made[kind] else "·" for kind in ("lost", "invented", "narrowed")]
    assert row[-3:] == counted


@proves("rendering/matrix")
def test_the_matrix_can_be_asked_for_one_dialect_and_for_ones_own(run: Run) -> None:
    whole = run("dialects", "--matrix", "--json").answers
    one = run("dialects", "--matrix", "signal-md", "--json").answers
    assert one == [entry for entry in whole if entry["dialect"] == "signal-md"]
    assert "release_ready" in run("dialects", "--matrix", "docs/examples/release-train.toml").out
    assert run("dialects", "--matrix", "--page").code == 64
    assert run("dialects", "--matrix", "nope").code == 3
    assert max(map(cells, terminal("dialects", "--matrix", NO_COLOR="1").out.splitlines())) <= 80


@proves("rendering/matrix/page")
def test_the_page_has_the_matrix_with_its_counts() -> None:
    page = (SAMPLES.parent / "docs/translation.md").read_text(encoding="utf-8")
    shown = re.findall(r"\[\w+\]\(dialects/[\w.-]+\.md#\w+\) \d+/\d+/\d+", page)
    listed = [entry for entry in distinct(matrix()) if entry.becomes]
    assert len(shown) == len(listed) >= 60
    version = (SAMPLES.parent / "docs/migration-vbw-2.0.md").read_text(encoding="utf-8")
    for row in ("| `$.task` | `$.payload.task_id` |  |", "| `$.payload.commit` | `$.commit` |  |"):
        assert row in version
    assert all(f"| [{name}](" in version for name in ("debugger_report", "shutdown_request", "plan_contract"))


@proves("rendering/translate")
def test_only_what_was_read_as_it_stands_is_said_to_be_as_it_was(tmp_path: Path, run: Run) -> None:
    later = json.loads(json.dumps(BYE).replace('"approve"', '"approved"'))
    for tree, said in ((BYE, "unchanged"), (later, "shutdown_response → vbw-typed shutdown_response\n")):
        ran = run("translate", "--to", "vbw-typed", put(tmp_path, "bye.json", tree))
        assert (ran.code, ran.answer["payload"]["approve"]) == (0, True)
        assert said in ran.err
        assert ("unchanged" in ran.err) is (tree is BYE)


FILE = str(KANBAN_FILE)
MOVED = KANBAN.types["moved"].example | {"column": "review", "note": "Nearly", "card": "2-1-T1"}


@proves("translation/own/cli")
def test_a_message_goes_into_ones_own_dialect_and_out_of_it(tmp_path: Path, run: Run) -> None:
    there = run("translate", "--to", "vbw-typed", "--dialect", FILE, put(tmp_path, "moved.json", MOVED))
    assert (there.code, there.answer["type"], there.answer["payload"]["status"]) == (0, "execution_update", "partial")
    assert check(there.out, CheckPolicy(forced=by_name("vbw-typed"))).valid
    assert "narrowed  $.column" in there.err
    into = run("translate", "--to", FILE, put(tmp_path, "update.json", UPDATE))
    assert (into.code, into.answer["type"], into.answer["column"]) == (0, "moved", "done")
    assert check(into.out, CheckPolicy(dialects=(KANBAN,), forced=KANBAN)).valid
    assert into.err.startswith("vbw-typed execution_update → kanban moved")


@proves("translation/own/cli")
def test_what_a_file_cannot_say_is_told_and_offered_as_markdown(tmp_path: Path, run: Run) -> None:
    works = put(tmp_path, "works.toml", AWKWARD_FILE)
    file = put(tmp_path, "escalation.json", example("vbw-company", "escalation"))
    ran = run("translate", "--to", works, file)
    assert (ran.code, ran.out) == (3, "")
    assert "complaint has to say" in ran.err
    assert "telex translate --to plain" in ran.err


@proves("translation/own/cli")
def test_the_matrix_of_ones_own_dialect_shows_both_directions(run: Run) -> None:
    entries = run("dialects", "--matrix", FILE, "--json").answers
    ways = {(entry["dialect"], entry["type"], entry["to"], entry["becomes"]) for entry in entries}
    assert ("kanban", "moved", "signal-md", "worker_submission") in ways
    assert ("signal-md", "approval", "kanban", "ruling") in ways
    assert ("vbw-typed", "shutdown_request", "kanban", None) in ways
    assert all(entry["becomes"] or entry["reason"] for entry in entries)
    shown = run("dialects", "--matrix", FILE).out
    assert shown.index("kanban 1.0") < shown.index("into kanban 1.0")
    assert "into" not in run("dialects", "--matrix", "docs/examples/release-train.toml").out
    assert max(map(cells, terminal("dialects", "--matrix", FILE, NO_COLOR="1").out.splitlines())) <= 80


@proves("translation/own/cli")
@pytest.mark.parametrize("more", [(), ("--json",), ("--matrix",)])
def test_what_whoever_wrote_the_file_would_want_to_know_is_noted(
    more: tuple[str, ...], tmp_path: Path, run: Run
) -> None:
    works = put(tmp_path, "works.toml", AWKWARD_FILE)
    ran = run("dialects", works, *more)
    assert ran.code == 0
    assert f"note: {works}:" in ran.err
    assert "colour is required, and no other dialect says it" in ran.err
    assert run("dialects", FILE, *more).err == ""


@proves("translation/own/cli")
def test_the_page_of_ones_own_dialect_says_what_its_types_are_to_others(run: Run) -> None:
    page = run("dialects", FILE, "--page").out
    assert "reports how far a task has come" in page
    assert json.dumps(MOVED["column"]) not in page.split("## moved")[0]
