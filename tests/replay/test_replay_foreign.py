"""Are other people's logs replayed too, however long and however odd they are?"""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Tree
from telex.replay.reader import LogEntry, line_reader
from telex.replay.simulate import Simulator
from telex.surfaces.cli.main import main
from tests.bus.bus_team import Shell, Team, open_team, shell, speech_of, team
from tests.proofs import proves
from tests.replay.replay_kit import Replay, flowing, hasty, replay, typed

__all__ = ["open_team", "replay", "shell", "team"]


def record(message: Any, agent: str = "dev", direction: str = "SENT") -> Tree:
    return {"timestamp": "2026-03-02T10:00:00Z", "direction": direction, "agent": agent, "message": message}


@proves("replay/foreign")
def test_log_records_are_replayed_and_what_was_received_tells_nothing_new(replay: Replay) -> None:
    report = typed("execution_update", "u1")
    lines = [record(report), record(report, "lead", "RECEIVED"), record("Just words."), record(hasty())]
    *rows, total = replay(lines, "--json").answers
    assert (total["messages"], total["refused"]) == (3, 1)
    assert [(row["agent"], row["code"]) for row in rows] == [("dev", "role-may-not-send")]


@proves("replay/foreign")
def test_what_is_repeated_is_counted_once_and_an_id_with_other_words_is_refused(replay: Replay) -> None:
    first, other = typed("scout_findings", "s1"), typed("scout_findings", "s1", confidence="low")
    *rows, total = replay([first, first, other], "--json").answers
    assert (total["messages"], total["repeated"], total["refused"]) == (2, 1, 1)
    assert [row["code"] for row in rows] == ["id-reused"]


@proves("replay/foreign")
def test_a_log_record_under_an_id_that_was_used_is_repeated_or_refused() -> None:
    simulator, message = Simulator(), speech_of("vbw-typed", "scout_findings", "same")
    other = message.raw.replace(b", ", b",  ", 1)
    results = [
        simulator.send(LogEntry(number, raw, message.sender, at=1.0))
        for number, raw in enumerate((message.raw, message.raw, other), 1)
    ]
    assert [result.verdict for result in results] == ["passed", "repeated", "refused"]
    assert [finding.code for finding in results[2].findings] == ["id-reused"]


@proves("replay/foreign/fixed")
def test_what_was_refused_uses_up_no_id(replay: Replay) -> None:
    """It is corrected and sent again, whether it was malformed or against the contract."""
    broken, fixed = typed("execution_update", "u1") | {"confidence": "sure"}, typed("execution_update", "u1")
    agreed = {"plan_id": "P", "tasks": ["T1"], "allowed_paths": ["src/"], "depends_on": []}
    contract = typed("plan_contract", "c1", agreed, task="T1")
    outside, inside, other = (
        typed("execution_update", "u2", {"plan_id": "P", "task_id": "T1", "files_modified": [path]}, task="T1")
        for path in ("docs/a.md", "src/a.py", "src/b.py")
    )
    lines = [broken, fixed, fixed, broken, contract, outside, outside, inside, inside, other]
    *rows, total = replay(lines, "--json").answers
    assert total["repeated"] == 2, "of what passed"
    assert {row["code"]: row["times"] for row in rows} == {"not-one-of": 2, "path-outside-contract": 2, "id-reused": 1}


@proves("replay/foreign")
def test_our_own_log_is_replayed_like_anybody_elses(team: Team, shell: Shell, replay: Replay) -> None:
    team.say(speech_of("vbw-typed", "plan_contract"), to="dev")
    team.bus.send(hasty(), sender="dev", to="lead", check=False)
    team.note()
    lines = [line.encode() for line in shell("log", "--json").out.splitlines()]
    total = replay(lines, "--json").answers[-1]
    assert (total["messages"], total["refused"]) == (3, 1)


@proves("replay/foreign")
def test_what_the_bus_itself_said_is_nobodys_to_judge(team: Team, shell: Shell, replay: Replay) -> None:
    team.note()
    team.fail()  # its sender is told, by the bus
    lines = [line.encode() for line in shell("log", "--json").out.splitlines()]
    total = replay(lines, "--json").answers[-1]
    assert (total["messages"], total["own"], total["refused"]) == (1, 1, 0)
    assert shell("replay", "--json").answers[-1]["own"] == 1


@proves("replay/doubt")
def test_in_an_open_team_nobody_is_refused_for_being_unknown_to_the_log(replay: Replay) -> None:
    lines = [flowing("STATUS_UPDATE", f"s{number}", f"worker-{number}", "somebody") for number in range(3)]
    assert replay([*lines, record("Just words.", "a stranger")]).code == 0


@proves("replay/flawed")
def test_a_line_that_tells_nothing_is_named_and_the_others_are_replayed(replay: Replay) -> None:
    lines = [
        b'{"telex": 1, "seq": 1, "kind": "accepted"',
        typed("scout_findings", "s1"),
        b'{"telex": 1, "kind": "left"}',
    ]
    ran = replay([b'{"telex": 1, "seq": 1, "at": "x", "kind": "joined"}', *lines], "--json")
    assert ran.code == 1
    assert (ran.answers[-1]["messages"], ran.answers[-1]["unread"]) == (1, 3)
    assert "line 1 skipped" in ran.err
    assert "line 4 skipped" in ran.err


NOBODYS = b'{"id": "", "at": 1, "sender": "", "role": "", "to": "", "raw": ""}}'
UNREADABLE = b'{"id": "1", "at": 1, "sender": "dev", "role": "dev", "to": "lead", "raw_base64": "////"}}'


@proves("replay/hostile")
@pytest.mark.parametrize(
    "line",
    [
        b'{"telex": 1, "seq": 1, "at": 1e999, "kind": "joined", "agent": "x"}',
        b'{"telex": 1, "seq": 1, "at": 1, "kind": "joined", "agent": "x", "detail": [1]}',
        b'{"telex": 1, "at": 1, "kind": "accepted", "message": ' + NOBODYS,
        b'{"telex": 1, "at": 1, "kind": "accepted", "detail": {"findings": 3, "inboxes": {}}, "message": ' + UNREADABLE,
        b'{"direction": "SENT", "message": 3, "agent": 4}',
        b'{"direction": "SENT", "message": "\\u001b[2J", "agent": "\\u001b[2J", "timestamp": "9999-12-31T23:59:60Z"}',
        b'{"type": "scout_findings", "author_role": ["dev"], "from": {}}',
        b"[" * 100_000,
        b"\xff\xfe\x00",
        b'"words"',
    ],
    ids=range(10),
)
def test_whatever_stands_in_a_log_is_replayed_without_harm(replay: Replay, line: bytes) -> None:
    for args in ((), ("--lenient",), ("--json",)):
        ran = replay([line, hasty()], *args)
        assert ran.code in (0, 1, 2)
        assert "\x1b" not in ran.out + ran.err
        assert "Traceback" not in ran.err


@proves("replay/flawed")
def test_words_that_do_not_go_together_are_said_to(team: Team, shell: Shell) -> None:
    assert shell("replay", "some.jsonl").code == 64  # a LOG and a --store
    assert shell("replay", "--until", "1h", "--strict").code == 64
    assert main(["replay", "nowhere.jsonl"]) == 3


@proves("replay/long")
def test_a_person_at_a_terminal_sees_how_far_it_has_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telex.surfaces.cli.render.PAUSE_SECONDS", 0.0)
    # So many messages, each under an id of its own; every third of them means something to the work
    path = tmp_path / "log.jsonl"
    plain, report = (json.dumps(typed(type_, "ID")) for type_ in ("scout_findings", "execution_update"))
    contract = json.dumps(typed("plan_contract", "c1"))
    lines = ((report if number % 3 == 0 else plain).replace('"ID"', f'"m-{number}"') for number in range(2_000))
    path.write_text("\n".join([contract, *lines]) + "\n")
    log = str(path)
    drawn = []
    for is_terminal in (True, False):
        screen = io.StringIO()
        monkeypatch.setattr(screen, "isatty", lambda seen=is_terminal: seen)
        monkeypatch.setattr("sys.stderr", screen)
        assert main(["replay", log]) == 0
        drawn.append(screen.getvalue())
    assert "messages  " in drawn[0]
    assert "%  " in drawn[0]
    assert drawn[1] == ""


@proves("replay/hostile")
@pytest.mark.parametrize("sender", ["telex", "lead"])
@pytest.mark.parametrize("detail", [{"findings": 3, "inboxes": {"a": 1}}, {"findings": ["x", None], "inboxes": [3]}])
def test_an_export_that_somebody_has_tampered_with_ends_nothing(sender: str, detail: Tree) -> None:
    raw = json.dumps(typed("plan_contract", "plan-1"))
    message = {"id": "a", "at": 1.0, "sender": sender, "role": sender, "to": "dev", "raw": raw}
    line = {"telex": 1, "seq": 1, "kind": "accepted", "at": 1.0, "detail": detail, "message": message}
    told = line_reader(BUILT_IN)(1, json.dumps(line).encode())
    assert isinstance(told, LogEntry)
    assert Simulator().send(told).verdict in ("passed", "own")


@proves("replay/hostile")
def test_a_sender_that_is_no_text_is_nobody() -> None:
    told = line_reader(BUILT_IN)(1, b'{"author_role": "\xff"}')
    assert isinstance(told, LogEntry)
    assert Simulator().send(told).verdict == "refused"
