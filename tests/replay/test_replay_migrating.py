"""How does a log of one version read under another?"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect
from telex.model.finding import refusals
from telex.replay.migrate import Migration
from telex.replay.reader import LogEntry, line_reader
from telex.surfaces.cli.main import main
from telex.testing.strategies import wire
from telex.validation.check import CheckPolicy, check
from tests.bus.bus_team import EVERY_TYPE, Shell, Team, open_team, shell, speech, speech_of, team
from tests.cli.cli_kit import COMMAND, Ran, example, process, put, terminal
from tests.proofs import proves

__all__ = ["open_team", "shell", "team"]
BY_NAME = {dialect.name: dialect for dialect in BUILT_IN}


@pytest.fixture
def migrate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """`migrate(lines, "vbw@1.0", "vbw@2.0")`: the log of these lines, written anew."""

    def run(lines: list[Any], origin: str, to: str, *args: str) -> Ran:
        log = tmp_path / "old.jsonl"
        log.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return Ran(main(["migrate-log", str(log), "--from", origin, "--to", to, *args]), *capsys.readouterr())

    return run


def examples(dialect: str) -> list[Any]:
    return [type_.example for type_ in BY_NAME[dialect].types.values()]


@proves("replay/migrate")
def test_a_log_of_version_1_reads_as_one_of_version_2_and_says_what_changed(migrate: Any) -> None:
    ran = migrate(examples("vbw-handoff"), "vbw@1.0", "vbw@2.0")
    types = [json.loads(line)["type"] for line in ran.out.splitlines()]
    assert types[:4] == ["scout_findings", "execution_update", "blocker_report", "qa_verdict"]
    for line in ran.out.splitlines()[:4]:
        assert not refusals(check(line.encode(), CheckPolicy(dialects=(BY_NAME["vbw-typed"],))).findings)
    for words in ("dev_progress", "execution_update", "invented", "4 of 5 messages from vbw-handoff to vbw-typed"):
        assert words in ran.err
    assert ran.code == 0


@proves("replay/migrate-left")
def test_what_cannot_be_said_is_written_as_it_came_with_the_reason(migrate: Any) -> None:
    wrong = {"type": "dev_progress", "task": "x"}
    lines = ["Just words.", wrong, BY_NAME["vbw-handoff"].types["debugger_report"].example]
    ran = migrate([*lines, BY_NAME["vbw-handoff"].types["dev_blocker"].example], "vbw@1.0", "vbw@2.0", "--json")
    assert ran.out.splitlines()[:3] == [line if isinstance(line, str) else json.dumps(line) for line in lines]
    report = json.loads(ran.err)
    assert (report["messages"], report["translated"]) == (4, 1)
    left = {one["what"]: one["why"] for one in report["left"]}
    assert left.keys() == {"message", "dev_progress", "debugger_report"}
    assert "field-missing" in left["dev_progress"]


@proves("replay/migrate")
def test_a_log_with_nothing_of_that_version_is_not_found(migrate: Any) -> None:
    assert migrate(["Just words."], "vbw@1.0", "vbw@2.0").code == 3
    assert migrate([], "vbw@1.0", "vbw@2.0").code == 0
    assert migrate([], "vbw@7.0", "vbw@2.0").code == 64
    assert migrate([], "plain", "vbw@2.0").code == 64
    assert main(["migrate-log", "nowhere.jsonl", "--from", "vbw@1.0", "--to", "vbw@2.0"]) == 3


@proves("replay/migrate")
def test_a_log_record_keeps_its_form_and_text_stands_in_one(migrate: Any) -> None:
    record = {"timestamp": "2026-03-02T10:00:00Z", "direction": "SENT", "agent": "dev", "result": "SUCCESS"}
    report = speech_of("vbw-typed", "execution_update").tree
    [line] = migrate([record | {"message": report}], "vbw-typed", "vbw-handoff").out.splitlines()
    made = json.loads(line)
    assert made["message"]["type"] == "dev_progress"
    assert {name: made[name] for name in record} == record
    [line] = migrate([report], "vbw-typed", "signal-md").out.splitlines()
    assert json.loads(line)["message"].startswith("---\n")


@proves("replay/migrate-left")
def test_what_is_left_is_left_to_the_byte_with_its_line_ends(tmp_path: Path) -> None:
    report = json.dumps(BY_NAME["vbw-handoff"].types["dev_progress"].example).encode()
    left = [b"caf\xe9\n", b"\r\n", b"  \t\n", b"two\rhalves\r\r\n", b"\n", b"and no end"]
    (tmp_path / "old").write_bytes(b"".join([*left[:3], report + b"\r\n", *left[3:]]))
    ran = _migrated(tmp_path / "old")
    lines = ran.stdout.split(b"\n")
    assert b"\n".join(lines[:3]) + b"\n" == b"".join(left[:3])
    assert json.loads(lines[3])["type"] == "execution_update"
    assert lines[3].endswith(b"}\r")
    assert b"\n".join(lines[4:]) == b"".join(left[3:])


@proves("replay/migrate-left")
@pytest.mark.parametrize("beside", [b'"caf\xe9"', b"1e999", b"[{}, -1E400]"])
def test_a_record_of_which_a_part_could_not_be_written_again_is_left_and_told(tmp_path: Path, beside: bytes) -> None:
    record = json.dumps(_record(json.dumps(BY_NAME["vbw-handoff"].types["dev_progress"].example)))
    line = record.encode()[:-1] + b', "note": ' + beside + b"}\n"
    (tmp_path / "old").write_bytes(line)
    ran = _migrated(tmp_path / "old")
    assert (ran.returncode, ran.stdout) == (3, line)
    assert b"cannot be written as JSON again" in ran.stderr


def _migrated(log: Path) -> "subprocess.CompletedProcess[bytes]":
    command = [*COMMAND, "migrate-log", str(log), "--from", "vbw@1.0", "--to", "vbw@2.0"]
    return subprocess.run(command, capture_output=True, check=False, timeout=60)


@proves("replay/migrate-named")
def test_a_migrated_record_names_what_its_message_is_now(team: Team, shell: Shell, capsys: Any) -> None:
    team.say(speech_of("vbw-typed", "execution_update", "u1"), to="lead")
    team.note()
    Path("log.jsonl").write_text(shell("log", "--json").out)
    assert main(["migrate-log", "log.jsonl", "--from", "vbw@2.0", "--to", "vbw@1.0"]) == 0
    [made, *_] = map(json.loads, capsys.readouterr().out.splitlines())
    assert (
        (made["dialect"], made["type"]) == ("vbw-handoff", made["message"]["type"]) == ("vbw-handoff", "dev_progress")
    )


@proves("replay/migrate-log-only")
def test_what_is_no_log_is_told_as_such(team: Team, tmp_path: Path) -> None:
    team.say(speech_of("vbw-typed", "execution_update", "u1"), to="lead")
    team.note()
    versions = ("--from", "vbw@2.0", "--to", "vbw@1.0")
    [store] = tmp_path.glob("**/*.db")
    ran = process("migrate-log", str(store), *versions)
    assert (ran.code, ran.out) == (64, "")
    assert f"telex log --export old.jsonl --store {store}" in ran.err
    for name in ("one.jsonl", "two.jsonl"):
        (tmp_path / "logs" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "logs" / name).write_text("Just words.\n")
    ran = process("migrate-log", str(tmp_path / "logs"), *versions)
    assert (ran.code, ran.out) == (64, "")
    assert "2 files" in ran.err
    (tmp_path / "logs" / "two.jsonl").unlink()
    assert process("migrate-log", str(tmp_path / "logs"), *versions).out == "Just words.\n"


@proves("replay/migrate-terminal")
def test_a_terminal_takes_nothing_in_a_log_for_a_command(tmp_path: Path) -> None:
    hostile = "red \x1b[31m, \x9b31m and \u202eback"
    report = example("vbw-handoff", "dev_progress", task=hostile)
    log = put(tmp_path, "old.jsonl", hostile, json.dumps(report, ensure_ascii=False).replace("\x1b", "\\u001b"))
    command = ("migrate-log", log, "--from", "vbw@1.0", "--to", "vbw@2.0")
    for to in ((), ("--output", "/dev/stdout")):
        seen = terminal(*command, *to, NO_COLOR="1").out
        assert seen.count("31m and \\u202eback") > 1
        assert not {"\x1b", "\x9b", "\u202e"} & set(seen)
    assert subprocess.run([*COMMAND, *command], capture_output=True, check=True).stdout.count(hostile.encode()) == 1


@proves("replay/migrate-import")
def test_a_migrated_export_is_taken_in_elsewhere(team: Team, shell: Shell, tmp_path: Path, capsys: Any) -> None:
    team.say(speech_of("vbw-typed", "execution_update", "u1"), to="lead")
    team.note()
    assert shell("log", "--export", "out.jsonl").code == 0
    command = ["migrate-log", "out.jsonl", "--from", "vbw@2.0", "--to", "vbw@1.0", "--output", "new.jsonl"]
    assert main(command) == 0
    other = str(tmp_path / "other.db")
    assert main(["log", "--import", "new.jsonl", "--store", other]) == 0
    capsys.readouterr()
    assert main(["show", "u1", "--store", other]) == 0
    assert "dev_progress" in capsys.readouterr().out


@proves("replay/migrate")
@given(st.sampled_from(EVERY_TYPE), st.sampled_from(BUILT_IN), st.data())
def test_every_message_is_right_in_its_new_dialect_or_as_it_was(
    type_: tuple[Dialect, Any], to: Dialect, data: st.DataObject
) -> None:
    dialect, message_type = type_
    made = data.draw(wire(dialect, message_type))
    line = made.raw if dialect.form == "json" else json.dumps(_record(made.raw.decode())).encode()
    line = json.dumps(json.loads(line)).encode()
    migration = Migration(dialect, to, 1_000_000.0)
    written = migration.line(1, line)
    if not migration.translated:
        assert written == line
        return
    told = line_reader((to,))(1, written)
    assert isinstance(told, LogEntry)
    assert not refusals(check(told.raw, CheckPolicy(dialects=(to,))).findings)


def _record(text: str) -> dict[str, Any]:
    return {"timestamp": "2026-03-02T10:00:00Z", "direction": "SENT", "agent": "worker", "message": text}


@proves("replay/migrate")
def test_what_changed_is_counted_by_place_whatever_the_number_in_a_list() -> None:
    typed, handoff = BY_NAME["vbw-typed"], BY_NAME["vbw-handoff"]
    migration = Migration(typed, handoff, 0.0)
    for number in range(3):
        report = speech(typed, typed.types["execution_update"], f"u{number}")
        migration.line(number, json.dumps(report.tree).encode())
    assert {one.times for one in migration.changes()} == {3}
    assert ("lost", "$.phase") in {(one.what, one.path) for one in migration.changes()}
