"""What does `telex check` say about one message, on which stream, and with which exit code does it leave?"""

import json
import shlex
from pathlib import Path

import pytest

from telex.dialects.registry import by_name
from telex.dialects.write import write
from tests.cli.cli_kit import LACKING, PROGRESS, UPDATE, WRONG_CASE, Ran, Run, example, process, put, run, terminal

__all__ = ["run"]

ANSWER_KEYS = ["valid", "dialect", "type", "findings", "fixed", "skeleton", "body"]
FINDING_KEYS = ["code", "path", "say", "severity", "expected", "found", "nearest"]


# --- words, streams and exit codes ----------------------------------------------------------------------------------


def test_an_accepted_message_is_said_on_stdout_and_leaves_with_0(tmp_path: Path, run: Run) -> None:
    ran = run("check", put(tmp_path, "update.json", UPDATE))
    assert ran == Ran(0, "accepted  vbw-typed execution_update\n", "")


def test_a_refused_message_leaves_with_2_and_stderr_holds_all_there_is_to_fix(tmp_path: Path, run: Run) -> None:
    code, out, err = run("check", put(tmp_path, "progress.json", WRONG_CASE))
    assert (code, out) == (2, "")
    verdict, finding, words, _, offer, fixed = err.splitlines()
    assert verdict == "refused   vbw-handoff dev_progress"
    assert finding.split() == ["refusal", "not-one-of", "$.status"]
    assert "'complete'" in words
    assert "found COMPLETE" in words
    assert offer == "Send this instead:"
    assert json.loads(fixed) == PROGRESS


def test_a_message_that_only_its_sender_can_fix_is_offered_with_blanks(tmp_path: Path, run: Run) -> None:
    _, _, err = run("check", put(tmp_path, "progress.json", LACKING))
    skeleton = json.loads(err.splitlines()[-1])
    assert skeleton == PROGRESS | {"plan_id": "<fill: text>"}


@pytest.mark.parametrize("named, to, differs", [
    ("role:dev", "role:dev", False), ("all:dev", "all:dev", False), ("role:dev", "dev", False), ("*", "*", False),
    ("role:dev", "role:qa", True),
])  # fmt: skip
def test_to_takes_the_addresses_that_send_takes(tmp_path: Path, run: Run, named: str, to: str, differs: bool) -> None:
    file = put(tmp_path, "status.json", example("build-flow", "STATUS_UPDATE", to=named))
    code, out, err = run("check", "--to", to, file)
    assert (code, "recipient-differs" in out + err) == (0, differs)


def test_front_matter_is_offered_as_front_matter(tmp_path: Path, run: Run) -> None:
    sent = "---\ntype: approval\nsignal: LGTM\n---\nCommit it.\n"
    (tmp_path / "approval.md").write_text(sent, encoding="utf-8")
    code, _, err = run("check", str(tmp_path / "approval.md"))
    assert code == 2
    assert err.endswith("\n" + sent.replace("LGTM", "lgtm"))


def test_warnings_and_notes_are_said_and_do_not_refuse(tmp_path: Path, run: Run) -> None:
    wrapped = f"<teammate-message>\n{json.dumps(PROGRESS | {'task': ''})}\n</teammate-message>"
    code, out, err = run("check", put(tmp_path, "progress.md", wrapped))
    assert (code, err) == (0, "")
    assert [line.split()[:2] for line in out.splitlines()[1::2]] == [
        ["note", "wrapper-removed"],
        ["warning", "text-empty"],
    ]


@pytest.mark.parametrize(
    "text, said",
    [
        ("Good morning.", "accepted  plain text"),
        ('{"type": "idle_notification", "from": "dev"}', "accepted  control frame idle_notification"),
        ('{"type": "dev_progress", "task": ', "refused   unreadable vbw-handoff dev_progress"),
        ('{"type": "no_such_thing"}', "refused   of no known type"),
    ],
)
def test_whatever_it_is_it_is_called_by_a_name(tmp_path: Path, run: Run, text: str, said: str) -> None:
    ran = run("check", put(tmp_path, "message.txt", text))
    assert (ran.out + ran.err).splitlines()[0] == said


def test_quiet_says_nothing_of_what_passes_and_all_of_what_does_not(tmp_path: Path, run: Run) -> None:
    good, bad = put(tmp_path, "good.json", UPDATE), put(tmp_path, "bad.json", WRONG_CASE)
    assert run("check", "--quiet", good) == Ran(0, "", "")
    assert run("check", "-q", "--json", good) == Ran(0, "", "")
    assert run("check", "-q", bad).err.startswith("refused ")


# --- what a program reads ---------------------------------------------------------------------------------------------


def test_json_has_exactly_the_promised_shape(tmp_path: Path, run: Run) -> None:
    ran = run("check", "--json", put(tmp_path, "progress.json", WRONG_CASE))
    assert ran.code == 2
    assert list(ran.answer) == ANSWER_KEYS
    assert [list(finding) for finding in ran.answer["findings"]] == [FINDING_KEYS]
    assert ran.answer["fixed"] == PROGRESS
    assert (ran.answer["valid"], ran.answer["dialect"], ran.answer["type"]) == (False, "vbw-handoff", "dev_progress")


def test_json_of_what_nobody_can_read_says_null(tmp_path: Path, run: Run) -> None:
    ran = run("check", "--json", put(tmp_path, "empty.json", ""))
    assert ran.answer | {"findings": 0} == dict(zip(ANSWER_KEYS, [False, None, None, 0, None, None, None], strict=True))


def test_json_holds_all_of_a_fixed_message_that_has_a_body(tmp_path: Path, run: Run) -> None:
    sent = "---\ntype: approval\nsignal: LGTM\n---\nCommit it.\n\n---\n"
    (tmp_path / "approval.md").write_text(sent, encoding="utf-8")
    for command in ("check", "fix"):
        answer = run(command, "--json", str(tmp_path / "approval.md")).answer
        signal_md = by_name(answer["dialect"])
        assert signal_md is not None
        assert write(signal_md, answer["fixed"], answer["body"]) == sent.replace("LGTM", "lgtm")


def test_the_vbw_format_can_stand_in_for_vbws_own_validator(tmp_path: Path, run: Run) -> None:
    good = run("check", "--format", "vbw", put(tmp_path, "good.json", UPDATE))
    bad = run("check", "--format=vbw", put(tmp_path, "bad.json", WRONG_CASE))
    assert (good.code, good.answer) == (0, {"valid": True, "errors": []})
    assert (bad.code, bad.answer["valid"]) == (2, False)
    assert [error.partition(": ")[0] for error in bad.answer["errors"]] == ["$.status"]


VBW = {"id": "x", "type": "execution_update", "phase": 1, "task": "", "author_role": "dev", "schema_version": "2.0"}
VBW |= {"timestamp": "2026-02-12T10:00:00Z", "confidence": "high"}
DETAIL = "qa_verdict checks_detail"


def verdict(checks_detail: object) -> dict:
    """What makes a verdict with these checks, one of which passed, of a message."""
    checks = {"passed": 1, "failed": 0, "total": 1}
    payload = {"tier": "quick", "result": "PASS", "checks": checks, "checks_detail": checks_detail}
    return {"type": "qa_verdict", "author_role": "qa", "payload": payload}


VBW |= {"payload": {"plan_id": "1", "task_id": "1-1", "status": "partial", "commit": ""}}


@pytest.mark.parametrize(
    "changes, begins",
    [
        ({"phase": None, "id": None}, ["missing envelope field: id", "missing envelope field: phase"]),
        ({"payload": None}, ["missing envelope field: payload"]),
        ({"payload": {"plan_id": "1", "task_id": "1-1", "commit": ""}}, ["missing payload field: status"]),
        ({"type": "unheard_of"}, ["unknown message type: unheard_of"]),
        ({"type": ""}, ["missing type field"]),
        ({"type": None}, ["missing type field"]),
        ({"author_role": "qa"}, ["role qa not authorized for execution_update"]),
        ({"target_role": "scout"}, ["target role scout cannot receive execution_update"]),
        (
            verdict([{"id": " ", "status": " "}]),
            [f"{DETAIL} entries require non-empty string id and status in PASS|FAIL|WARN"],
        ),
        (verdict({}), [f"{DETAIL} must be an array or null"]),
        (
            verdict([{"id": "a", "status": "FAIL"}]),
            ["qa_verdict checks.failed does not match checks_detail FAIL count"],
        ),
    ],
)
def test_the_vbw_format_begins_its_lines_as_vbws_validator_does(
    tmp_path: Path, run: Run, changes: dict, begins: list[str]
) -> None:
    message = {name: value for name, value in (VBW | changes).items() if value is not None}
    ran = run("check", "--format", "vbw", put(tmp_path, "message.json", message))
    assert (ran.code, ran.answer["valid"]) == (2, False)
    assert [error.split(". ")[0] for error in ran.answer["errors"]][: len(begins)] == begins


@pytest.mark.parametrize(
    "text, begins", [("not even JSON", "not valid JSON"), ("{'a': 1", "not valid JSON"), (" ", "empty")]
)
def test_the_vbw_format_takes_plain_text_for_no_message(tmp_path: Path, run: Run, text: str, begins: str) -> None:
    for more in ([], ["--jsonl"]) if text.strip() else ([],):
        ran = run("check", "--format", "vbw", *more, put(tmp_path, "message.txt", text))
        assert (ran.code, ran.answer["valid"]) == (2, False)
        assert ran.answer["errors"][0].startswith(begins)


def test_with_json_a_coding_tool_still_finds_on_stderr_what_to_fix(tmp_path: Path) -> None:
    ran = process("check", "--json", put(tmp_path, "progress.json", WRONG_CASE))
    assert ran.answer["valid"] is False
    assert ran.err.startswith("refused   vbw-handoff dev_progress\n")


def test_nothing_is_said_twice_to_the_same_reader(tmp_path: Path) -> None:
    seen = terminal("check", "--json", put(tmp_path, "progress.json", WRONG_CASE))
    assert json.loads(seen.out)["valid"] is False


# --- who sends, and in which dialect ----------------------------------------------------------------------------------


def test_as_holds_the_claim_against_who_is_sending(tmp_path: Path, run: Run) -> None:
    file = put(tmp_path, "update.json", UPDATE)
    assert run("check", "--role", "dev", file).code == 0
    answer = run("check", "--json", "--role=qa", file).answer
    assert [finding["code"] for finding in answer["findings"]] == ["role-claim-differs", "role-may-not-send"]


def test_to_warns_about_an_unusual_receiver(tmp_path: Path, run: Run) -> None:
    ran = run("check", "--json", "--to", "scout", put(tmp_path, "update.json", UPDATE))
    assert ran.code == 0
    assert [(item["code"], item["severity"]) for item in ran.answer["findings"]] == [
        ("role-may-not-receive", "warning")
    ]


def test_dialect_forces_a_dialect_and_team_dialect_only_wins_a_tie(tmp_path: Path, run: Run) -> None:
    file = put(tmp_path, "progress.json", PROGRESS)
    spoken = [
        run("check", "--json", *options, file).answer["dialect"]
        for options in ([], ["--team-dialect", "vbw-company"], ["--dialect", "vbw-company"])
    ]
    assert spoken == ["vbw-handoff", "vbw-company", "vbw-company"]
    assert run("check", "--team-dialect", "vbw-typed", file).code == 0
    assert run("check", "--dialect", "vbw-typed", file).code == 2
    assert run("check", "--dialect", "plain", file).out == "accepted  plain text\n"


OWN = """
name = "kitchen"
version = "1.0"
purpose = "Orders between waiters and cooks."
roles = ["waiter", "cook"]

[types.order]
purpose = "What a table wants."
senders = ["waiter"]
receivers = ["cook"]
priority = "STATUS"

[types.order.fields.dish]
type = "string"
"""


def test_a_dialect_of_ones_own_is_read_from_its_file(tmp_path: Path, run: Run) -> None:
    own = put(tmp_path, "kitchen.toml", OWN)
    order = put(tmp_path, "order.json", {"type": "order", "dish": "soup"})
    assert run("check", "--dialect", own, order) == Ran(0, "accepted  kitchen order\n", "")
    assert run("check", "--dialect", own, put(tmp_path, "bad.json", {"type": "order"})).code == 2
    assert run("check", "--team-dialect", own, order).out == "accepted  kitchen order\n"


def test_a_flawed_declaration_is_wrong_usage_and_every_flaw_has_its_line(tmp_path: Path, run: Run) -> None:
    own = put(tmp_path, "kitchen.toml", OWN.replace('"string"', '"sting"').replace("STATUS", "SOON"))
    code, out, err = run("check", "--dialect", own, "-")
    assert (code, out) == (64, "")
    assert [line.split(":")[1].strip() for line in err.splitlines()] == [own, own]
    assert all(line.split(":")[2].isdecimal() for line in err.splitlines())


def test_lenient_lets_it_pass_and_finds_the_same(tmp_path: Path, run: Run) -> None:
    file = put(tmp_path, "progress.json", WRONG_CASE)
    strict, lenient = run("check", "--json", file), run("check", "--json", "--lenient", file)
    assert (strict.code, lenient.code) == (2, 0)
    assert strict.answer | {"valid": True} == lenient.answer
    assert "a strict team would refuse it" in run("check", "--lenient", file).out


# --- stdin and size ---------------------------------------------------------------------------------------------------


def test_a_dash_is_stdin() -> None:
    assert process("check", "-", stdin=json.dumps(UPDATE).encode()).out == "accepted  vbw-typed execution_update\n"
    assert process("check", "-", stdin=b"").code == 2


def test_a_message_may_be_as_large_as_allowed_and_no_larger(tmp_path: Path, run: Run) -> None:
    text = json.dumps(UPDATE)
    file = tmp_path / "update.json"
    file.write_text(text, encoding="utf-8")
    assert run("check", "--max-bytes", str(len(text)), str(file)).code == 0
    ran = run("check", "--json", "--max-bytes", str(len(text) - 1), str(file))
    assert ran.code == 2
    assert [item["code"] for item in ran.answer["findings"]] == ["too-large"]


def test_how_large_a_file_is_is_said_though_it_is_not_read(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "huge.json"
    with file.open("wb") as stream:
        stream.truncate(1 << 40)  # a terabyte of nothing, which nobody could read in time
    ran = run("check", "--json", str(file))
    assert [item["found"] for item in ran.answer["findings"]] == ["1,099,511,627,776 bytes"]


def test_a_file_without_end_is_not_read_to_its_end() -> None:
    ran = process("check", "--json", "--max-bytes", "1000", "/dev/zero")
    assert [item["found"] for item in ran.answer["findings"]] == ["more than 1,000 bytes"]


# --- wrong usage ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args, said",
    [
        ([], "nothing to check"),
        (["--jsn", "-"], "did you mean --json?"),
        (["--xyzzy", "-"], "--help lists them"),
        (["-x", "-"], "no option -x"),
        (["--role"], "--role needs a value"),
        (["--role", "--json", "-"], "--role needs a value"),
        (["--role=", "-"], "--role needs a value"),
        (["--role", "", "-"], "--role needs a value"),
        (["--to", "", "-"], "--to needs a value"),
        (["--dialect", "", "-"], "--dialect needs a value"),
        (["--json=yes", "-"], "--json takes no value"),
        (["--format", "xml", "-"], "no format xml"),
        (["--max-bytes", "many", "-"], "--max-bytes takes a number"),
        (["--max-bytes", "0", "-"], "--max-bytes takes a number"),
        (["--max-bytes", "-1", "-"], "--max-bytes takes a number"),
        (["--dialect", "vbw-type", "-"], "did you mean vbw-typed?"),
        (["--team-dialect", "klingon", "-"], "no dialect klingon"),
    ],
)
def test_wrong_usage_is_64_and_says_what_was_meant(run: Run, args: list[str], said: str) -> None:
    code, out, err = run("check", *args)
    assert (code, out) == (64, "")
    assert err.startswith("telex: ")
    assert said in err


def test_after_two_dashes_everything_is_a_file(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "--json", UPDATE)
    monkeypatch.chdir(tmp_path)
    assert run("check", "--", "--json").out == "accepted  vbw-typed execution_update\n"


def test_of_an_option_given_twice_the_last_holds(tmp_path: Path, run: Run) -> None:
    assert run("check", "--role", "qa", put(tmp_path, "update.json", UPDATE), "--role", "dev").code == 0


def test_a_file_that_is_not_there_is_3_and_the_nearest_one_is_named(tmp_path: Path, run: Run) -> None:
    good = put(tmp_path, "update.json", UPDATE)
    code, out, err = run("check", good, str(tmp_path / "updaet.json"), str(tmp_path / "none" / "x.json"))
    assert (code, out) == (3, "")
    assert f"(did you mean {good}?)" in err
    assert "none" in err


def test_a_file_that_cannot_be_read_is_1(tmp_path: Path, run: Run) -> None:
    code, _, err = run("check", "/proc/self/mem")
    assert code == 1
    assert "cannot read /proc/self/mem" in err


# --- on a terminal ----------------------------------------------------------------------------------------------------


def test_a_person_is_told_how_to_get_it_fixed(tmp_path: Path) -> None:
    file = put(tmp_path, "it's.json", WRONG_CASE)
    seen = terminal("check", file, "--role", "dev", columns=200, NO_COLOR="1").out
    quoted = file.replace("'", "'\"'\"'")
    assert f"  fix      telex fix '{quoted}' --role dev  prints it fixed\n" in seen
    assert "Send this instead" not in seen


def test_the_command_that_fixes_reads_the_message_as_the_check_did(tmp_path: Path, run: Run) -> None:
    own = put(tmp_path, "my kitchen.toml", OWN)
    order = put(tmp_path, "order.json", f"```json\n{json.dumps({'type': 'ORDER', 'dish': 'soup'})}\n```")
    options = ["--role", "waiter", "--to", "cook", "--dialect", own, "--team-dialect", "vbw-company"]
    seen = terminal("check", order, "--quiet", "--max-bytes=2000", *options, columns=400, NO_COLOR="1").out
    [hint] = [
        line.removeprefix("  fix ").strip().split("  ")[0] for line in seen.splitlines() if line.startswith("  fix ")
    ]
    assert shlex.split(hint) == ["telex", "fix", order, *options, "--max-bytes", "2000"]
    assert run(*shlex.split(hint)[1:]).answer == {"type": "order", "dish": "soup"}


def test_the_command_that_fixes_finds_a_file_that_looks_like_an_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "--json", WRONG_CASE)
    monkeypatch.chdir(tmp_path)
    assert "telex fix ./--json  prints it fixed" in terminal("check", "--", "--json", NO_COLOR="1").out


def test_colours_are_for_terminals_that_take_them(tmp_path: Path) -> None:
    file = put(tmp_path, "progress.json", WRONG_CASE)
    assert "\x1b[31mrefused \x1b[0m" in terminal("check", file).out
    assert "\x1b" not in terminal("check", file, NO_COLOR="1").out
    assert "\x1b" not in terminal("check", file, TERM="dumb").out
    assert "\x1b[31m" in terminal("check", file, NO_COLOR="").out
    assert "\x1b" not in process("check", file).err


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_words_are_wrapped_where_the_terminal_ends(tmp_path: Path, columns: int) -> None:
    file = put(tmp_path, "verdict.json", example("vbw-typed", "qa_verdict", author_role="dev", confidence="High"))
    lines = terminal("check", file, columns=columns, NO_COLOR="1").out.splitlines()
    assert all(len(line) <= columns for line in lines if not line.startswith("  fix "))
