"""What does `telex check` say about many messages: lines, files and folders?"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from telex.dialects.registry import BUILT_IN
from telex.surfaces.cli import check_batch
from telex.surfaces.cli.files import files_in, pieces
from telex.validation.check import check
from tests.cli.cli_kit import LACKING, PROGRESS, SAMPLES, UPDATE, WRONG_CASE, Run, example, process, put, run, terminal

__all__ = ["run"]

# --- where messages are found -----------------------------------------------------------------------------------------


def test_a_folder_is_searched_by_name_without_hidden_files_and_links_to_folders(tmp_path: Path) -> None:
    for name in ("b.json", "a/z.md", "a/y.txt", "c.jsonl", "d.ndjson", ".hidden.json", ".git/x.json", "e.py", "f"):
        put(tmp_path, name, PROGRESS)
    (tmp_path / "around").symlink_to(tmp_path)
    (tmp_path / "linked.json").symlink_to(tmp_path / "b.json")
    (tmp_path / "dead.json").symlink_to(tmp_path / "nowhere.json")
    os.mkfifo(tmp_path / "pipe.json")
    found = [os.path.relpath(file, tmp_path) for file in files_in([str(tmp_path)])]
    assert found == ["a/y.txt", "a/z.md", "b.json", "c.jsonl", "d.ndjson", "linked.json"]


def test_a_file_that_is_named_is_read_whatever_it_is_called(tmp_path: Path, run: Run) -> None:
    assert run("check", put(tmp_path, "f", PROGRESS)).code == 0
    assert run("check", put(tmp_path, ".hidden.json", PROGRESS)).code == 0


def test_a_folder_without_messages_is_3(tmp_path: Path, run: Run) -> None:
    code, out, err = run("check", str(tmp_path))
    assert (code, out) == (3, "")
    assert "no messages in" in err


def test_lines_are_read_one_by_one_and_blank_ones_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_bytes(b'\n  \n{"a": 1}\r\n\t\n{"b": 2}\n\r\n{"c": 3}')
    found = list(pieces(str(file), 100, lines=True))
    assert found == [(3, b'{"a": 1}', 8), (5, b'{"b": 2}', 8), (7, b'{"c": 3}', 8)]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b""])
def test_a_line_may_be_as_long_as_allowed_and_no_longer(tmp_path: Path, ending: bytes) -> None:
    file = tmp_path / "log.jsonl"
    for size, fits in ((9, True), (10, True), (11, False), (12, False), (13, False), (200_000, False)):
        file.write_bytes(b"x" * size + ending + (b"next\n" if ending else b""))
        (_, raw, told), *others = pieces(str(file), 10, lines=True)
        assert (len(raw) <= 10, told > 10) == (fits, not fits)
        assert told in (size, size + len(ending) - 1)
        assert [other for _, other, _ in others] == ([b"next"] if ending else [])


# --- what is said -----------------------------------------------------------------------------------------------------


def test_refused_lines_are_said_on_stderr_and_counts_on_stdout(tmp_path: Path, run: Run) -> None:
    file = put(tmp_path, "log.jsonl", PROGRESS, WRONG_CASE, "", LACKING, PROGRESS | {"task": ""}, "Good night.")
    code, out, err = run("check", file)
    assert code == 2
    said = [line.split()[:2] for line in err.splitlines()[:-1] if not line.startswith(" ")]
    assert said == [["refused", f"{file}:2"], ["refused", f"{file}:4"], ["warned", f"{file}:5"]]
    assert err.splitlines()[-1] == check_batch.NEXT.format("")
    assert ["vbw-handoff", "dev_progress", "2", "1", "2"] in [line.split() for line in out.splitlines()]
    assert ["plain", "text", "1", "·", "·"] in [line.split() for line in out.splitlines()]
    assert ["total", "3", "1", "2"] in [line.split() for line in out.splitlines()]
    assert ["refusal", "not-one-of", "1", f"{file}:2"] in [line.split() for line in out.splitlines()]
    assert out.splitlines()[-1] == "5 messages: 3 accepted (1 with warnings), 2 refused"


def test_the_commands_named_at_the_end_read_a_message_as_the_check_did(tmp_path: Path, run: Run) -> None:
    put(tmp_path, "progress.json", WRONG_CASE)
    last = run("check", str(tmp_path), "--team-dialect", "vbw-company", "--role=dev").err.splitlines()[-1]
    assert last == check_batch.NEXT.format(" --role dev --team-dialect vbw-company")


def test_many_good_messages_are_one_table_and_0(tmp_path: Path, run: Run) -> None:
    code, out, err = run("check", put(tmp_path, "a.json", UPDATE), put(tmp_path, "b.json", PROGRESS))
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "2 messages in 2 files: 2 accepted, 0 refused"


def test_a_message_among_many_tells_its_gravest_findings_and_counts_the_others(tmp_path: Path, run: Run) -> None:
    bare = {"type": "execution_update", "id": "1", "phase": 1, "author_role": "dev", "payload": {}}
    err = run("check", put(tmp_path, "log.jsonl", bare)).err
    assert err.count("[field-missing]") == check_batch.FINDINGS_MAX
    assert err.splitlines()[-2] == "    … 5 more"


def test_after_twenty_messages_the_others_are_only_counted(tmp_path: Path, run: Run) -> None:
    err = run("check", put(tmp_path, "log.jsonl", *[WRONG_CASE] * 50)).err
    assert err.count("refused ") == check_batch.PRINTED_MAX
    assert err.splitlines()[-2:] == ["… and 30 more; --json shows all", check_batch.NEXT.format("")]


def test_json_is_a_line_for_each_message_with_its_source(tmp_path: Path, run: Run) -> None:
    lines, alone = put(tmp_path, "log.jsonl", PROGRESS, "", WRONG_CASE), put(tmp_path, "one.json", UPDATE)
    ran = run("check", "--json", lines, alone)
    assert ran.code == 2
    assert [(answer["source"], answer["valid"]) for answer in ran.answers] == [
        (f"{lines}:1", True),
        (f"{lines}:3", False),
        (alone, True),
    ]
    vbw = run("check", "--format", "vbw", lines).answers
    assert [list(answer) for answer in vbw] == [["valid", "errors", "source"]] * 2


def test_a_folder_with_one_message_still_answers_with_its_source(tmp_path: Path, run: Run) -> None:
    file = put(tmp_path, "one.json", UPDATE)
    assert run("check", "--json", str(tmp_path)).answer["source"] == file


def test_quiet_leaves_only_the_refused(tmp_path: Path, run: Run) -> None:
    file = put(tmp_path, "log.jsonl", PROGRESS, PROGRESS | {"task": ""}, WRONG_CASE)
    code, out, err = run("check", "--quiet", file)
    assert (code, out) == (2, "")
    assert [line.split()[0] for line in err.splitlines() if not line.startswith(" ")] == ["refused"]
    assert [answer["source"] for answer in run("check", "-q", "--json", file).answers] == [f"{file}:3"]


def test_stdin_has_lines_when_it_is_told_so() -> None:
    both = "\n".join(json.dumps(message) for message in (PROGRESS, WRONG_CASE)).encode()
    ran = process("check", "--jsonl", "--json", "-", stdin=both)
    assert [(answer["source"], answer["valid"]) for answer in ran.answers] == [("-:1", True), ("-:2", False)]
    assert process("check", "--json", "-", stdin=both).answer["findings"][-1]["code"] == "several-messages"


def test_a_file_that_cannot_be_read_does_not_stop_the_others(tmp_path: Path, run: Run) -> None:
    good, bad = put(tmp_path, "good.json", UPDATE), put(tmp_path, "bad.json", WRONG_CASE)
    code, out, err = run("check", "/proc/self/mem", good)
    assert (code, out.splitlines()[-1]) == (1, "1 messages in 2 files: 1 accepted, 0 refused")
    assert "cannot read /proc/self/mem" in err
    assert run("check", "/proc/self/mem", bad).code == 2


def test_a_line_that_is_too_long_is_refused_and_the_next_one_read(tmp_path: Path, run: Run) -> None:
    file = put(tmp_path, "log.jsonl", PROGRESS, "x" * 3_000_000, PROGRESS)
    ran = run("check", "--json", file)
    assert [answer["valid"] for answer in ran.answers] == [True, False, True]
    assert [item["found"] for item in ran.answers[1]["findings"]] == ["3,000,000 bytes"]


def test_names_of_types_that_nobody_knows_are_counted_together(tmp_path: Path, run: Run) -> None:
    file = put(tmp_path, "log.jsonl", *({"type": f"made_up_{number}"} for number in range(40)))
    out = run("check", file).out
    assert ["–", "type", "not", "known", "·", "·", "40"] in [line.split() for line in out.splitlines()]
    assert "made_up" not in out


# --- speed and memory -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--role", "dev"], ["--dialect", "vbw-handoff"], ["--lenient"]])
def test_the_fast_lane_changes_no_answer(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    qa = example("vbw-handoff", "qa_result")
    file = put(tmp_path, "log.jsonl", *[PROGRESS, UPDATE, WRONG_CASE, qa, LACKING, "text", "[1]"] * 3)
    answers = []
    for begins in (1, 1_000_000):
        monkeypatch.setattr(check_batch, "COMPILE_FROM", begins)
        answers.append([run("check", "--json", *options, file), run("check", *options, file)])
    assert answers[0] == answers[1]


def test_a_long_file_says_how_fast_it_went(tmp_path: Path, run: Run) -> None:
    last = run("check", put(tmp_path, "log.jsonl", *[PROGRESS] * 1_500)).out.splitlines()[-1]
    assert last.startswith("1,500 messages: 1,500 accepted, 0 refused; ")
    assert last.endswith(" messages a second")


MEMORY = """
import sys
from telex.surfaces.cli.main import main
main(["check", "--json", "--max-bytes", "100000", sys.argv[1]])
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")), file=sys.stderr)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def memory(*messages: object) -> int:
        file = put(tmp_path, "log.jsonl", *messages)
        command = [sys.executable, "-c", MEMORY, file]
        ran = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
        return int(ran.stderr.splitlines()[-1])

    lines = [json.dumps(message) for message in (PROGRESS, UPDATE, WRONG_CASE, {"type": "unheard_of"})]
    short, long = memory(*lines * 300), memory(*lines * 10_000, "x" * 50_000_000)
    assert long - short < 4_000  # KiB, where the file has more than 50 MB


# --- on a terminal ----------------------------------------------------------------------------------------------------


def test_a_person_sees_all_once_and_in_order(tmp_path: Path) -> None:
    put(tmp_path, "a.json", WRONG_CASE)
    put(tmp_path, "b.json", PROGRESS | {"task": ""})
    seen = terminal("check", str(tmp_path), NO_COLOR="1")
    words = ["refused   ", "a.json", "warned    ", "b.json", "dialect", "severity", "2 messages in 2", "telex fix"]
    places = [seen.out.index(word) for word in words]
    assert seen.code == 2
    assert places == sorted(places)
    assert seen.out.count("refused   ") == 1


@pytest.mark.slow
def test_a_person_who_waits_sees_a_bar_and_nobody_else_does(tmp_path: Path) -> None:
    file = put(tmp_path, "log.jsonl", *[WRONG_CASE] * 3_000)
    seen = terminal("check", file, NO_COLOR="1").out
    assert "messages  " in seen
    assert "%" in seen
    assert seen.splitlines()[-3].endswith("messages a second")  # what to do next follows, on two lines at 80 columns
    assert "%" not in process("check", file).err
    assert "%" not in terminal("check", "--quiet", file, NO_COLOR="1").out


FILES = [file for file in sorted(SAMPLES.rglob("*")) if file.suffix in (".json", ".md")]
GOOD = [file for file in FILES if file.parent.name != "broken"]
BROKEN = [file for file in FILES if file.parent.name == "broken"]


@pytest.mark.parametrize("file", GOOD, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_good_sample_is_accepted_in_the_dialect_of_its_folder(file: Path) -> None:
    checked = check(file.read_bytes())
    assert checked.valid
    assert checked.outcome == "control" or (checked.dialect is not None and checked.dialect.slug == file.parent.name)


@pytest.mark.parametrize("file", BROKEN, ids=lambda file: file.name)
def test_a_broken_sample_is_refused(file: Path) -> None:
    assert not check(file.read_bytes()).valid


def test_every_dialect_has_its_samples() -> None:
    assert {dialect.slug for dialect in BUILT_IN} <= {file.parent.name for file in GOOD}


def test_all_of_them_together_are_a_page_worth_looking_at() -> None:
    ran = process("check", str(SAMPLES))
    assert ran.code == 2
    assert ran.out.splitlines()[-1] == "44 messages in 39 files: 31 accepted (2 with warnings), 13 refused"
    for columns in (80, 120):
        seen = terminal("check", str(SAMPLES), columns=columns, NO_COLOR="1")
        words = [line for line in seen.out.splitlines() if " " in line.strip()]
        assert max(map(len, words)) <= max(columns, len(str(SAMPLES)) + 90)
