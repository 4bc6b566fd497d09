"""What do `fix`, `new`, `schema`, `prompt`, `dialects` and `explain` print, and with which exit code do they leave?"""

import ast
import json
import re
from pathlib import Path

import pytest

from telex import messages
from telex.dialects.registry import BUILT_IN, VERSIONS
from telex.dialects.schema import Dialect, MessageType
from telex.generate.codes import code_page, explanations
from telex.generate.pages import dialect_page
from telex.generate.prompt import prompt, tokens_estimated
from telex.generate.schemas import type_schema
from telex.validation.check import CheckPolicy, check
from tests.cli.cli_kit import LACKING, PROGRESS, SAMPLES, UPDATE, WRONG_CASE, Ran, Run, process, put, run, terminal
from tests.proofs import proves

__all__ = ["run"]

TYPES = [
    pytest.param(dialect, type_, id=f"{dialect.name} {type_.name}")
    for dialect in BUILT_IN
    for type_ in dialect.types.values()
]
OWN = "docs/examples/release-train.toml"


# --- fix -------------------------------------------------------------------------------------------------------------


def test_a_fixed_message_is_on_stdout_and_what_was_fixed_on_stderr(tmp_path: Path, run: Run) -> None:
    ran = run("fix", put(tmp_path, "progress.json", WRONG_CASE))
    assert (ran.code, ran.answer) == (0, PROGRESS)
    assert "not-one-of" in ran.err


def test_a_good_message_is_printed_as_it_is(tmp_path: Path, run: Run) -> None:
    text = '{"type":"dev_progress", "task":"a",  "plan_id":"1","commit":"","status":"partial"}\n'
    assert run("fix", put(tmp_path, "progress.json", text.rstrip())) == Ran(0, text, "")
    assert run("fix", put(tmp_path, "note.md", "Good morning.")) == Ran(0, "Good morning.\n", "")


def test_a_good_message_is_taken_out_of_its_wrapping(tmp_path: Path, run: Run) -> None:
    wrapped = f"Here it is:\n```json\n{json.dumps(PROGRESS)}\n```\nBye."
    ran = run("fix", put(tmp_path, "progress.md", wrapped))
    assert (ran.code, ran.answer) == (0, PROGRESS)
    assert "fence-removed" in ran.err


def test_where_only_the_sender_knows_a_blank_is_left_and_named(tmp_path: Path, run: Run) -> None:
    ran = run("fix", put(tmp_path, "progress.json", LACKING))
    assert (ran.code, ran.answer) == (2, PROGRESS | {"plan_id": "<fill: text>"})
    assert ran.err.splitlines()[-2:] == ["1 blank to fill:", "  $.plan_id  text"]


def test_what_cannot_be_read_cannot_be_fixed(tmp_path: Path, run: Run) -> None:
    code, out, err = run("fix", put(tmp_path, "cut.json", '{"kind": "dev_progress", "ta'))
    assert (code, out) == (2, "")
    assert "not-json" in err


def test_a_message_that_was_cut_off_is_printed_with_blanks_for_what_is_missing(tmp_path: Path, run: Run) -> None:
    code, out, err = run("fix", put(tmp_path, "cut.json", '{"type": "dev_progress", "task": "T1", "pl'))
    assert (code, json.loads(out)["task"], json.loads(out)["plan_id"]) == (2, "T1", "<fill: text>")
    assert "not-json" in err


def test_front_matter_is_fixed_with_its_body(run: Run) -> None:
    sent = "---\ntype: approval\nsignal: LGTM\n---\nCommit it.\n"
    ran = process("fix", "-", stdin=sent.encode())
    assert (ran.code, ran.out) == (0, sent.replace("LGTM", "lgtm"))


def test_a_body_is_printed_faithfully_to_a_file_and_safely_to_a_terminal(tmp_path: Path) -> None:
    file = put(tmp_path, "approval.md", "---\ntype: approval\nsignal: LGTM\n---\nred: \x1b[31m")
    assert "\x1b[31m" in process("fix", file).out
    seen = terminal("fix", file, NO_COLOR="1").out
    assert "\\x1b[31m" in seen
    assert "\x1b" not in seen


def test_fix_knows_who_is_sending_and_in_which_dialect(tmp_path: Path, run: Run) -> None:
    file = put(tmp_path, "update.json", UPDATE)
    ran = run("fix", "--role", "docs", file)
    assert (ran.code, ran.answer["author_role"]) == (0, "docs")
    assert run("fix", "--dialect", "signal-md", file).code == 2
    assert run("fix", "--dialect", "nope", file).code == 64


def test_fix_answers_in_json(tmp_path: Path, run: Run) -> None:
    good, bad, lacking = (
        run("fix", "--json", put(tmp_path, "message.json", message)) for message in (PROGRESS, WRONG_CASE, LACKING)
    )
    assert (good.code, good.answer["fixed"], good.answer["blanks"]) == (0, PROGRESS, [])
    assert (bad.code, bad.answer["fixed"], bad.answer["valid"]) == (0, PROGRESS, False)
    assert (lacking.code, lacking.answer["fixed"]) == (2, None)
    assert lacking.answer["blanks"] == [{"path": "$.plan_id", "expected": "text"}]


def test_fix_reads_a_message_that_fits_two_dialects_as_the_team_or_its_receiver_does(tmp_path: Path, run: Run) -> None:
    file = put(tmp_path, "progress.json", WRONG_CASE)
    spoken = [
        run("fix", "--json", *options, file).answer["dialect"]
        for options in ([], ["--team-dialect", "vbw-company"], ["--to", "senior"])
    ]
    assert spoken == ["vbw-handoff", "vbw-company", "vbw-company"]


def test_fix_takes_a_message_as_large_as_allowed_and_no_larger(tmp_path: Path, run: Run) -> None:
    file = put(tmp_path, "progress.json", WRONG_CASE)
    size = Path(file).stat().st_size
    assert run("fix", "--max-bytes", str(size), file).answer == PROGRESS
    code, out, err = run("fix", "--max-bytes", str(size - 1), file)
    assert (code, out) == (2, "")
    assert "too-large" in err


@pytest.mark.parametrize("target, code", [("nowhere.json", 3), (".", 64)])
def test_fix_takes_one_file_that_is_there(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, target: str, code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("fix", target).code == code


@pytest.mark.parametrize(
    "file", sorted(SAMPLES.rglob("*.json")) + sorted(SAMPLES.rglob("*.md")), ids=lambda file: file.name
)
def test_whatever_fix_says_is_fixed_passes_the_check(file: Path, run: Run) -> None:
    ran = run("fix", str(file))
    assert ran.code in (0, 2)
    assert check(ran.out.encode()).valid == (ran.code == 0)


# --- new --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect, type_", TYPES)
def test_a_new_message_of_any_type_lacks_nothing_but_its_blanks(dialect: Dialect, type_: MessageType, run: Run) -> None:
    code, out, _ = run("new", type_.name, "--dialect", dialect.name)
    assert code == 0
    checked = check(out.encode(), CheckPolicy(forced=dialect))
    assert checked.type == type_.name
    assert {finding.code for finding in checked.findings if finding.severity == "refusal"} <= {"blank-left"}


def test_what_is_known_is_filled_in_and_blanks_are_listed(run: Run) -> None:
    given = ["status=complete", "commit=abc", "task_id=T1", "plan_id=1", "phase=2", "confidence=high"]
    ran = run("new", "execution_update", "--role", "dev", *given, "files_modified=a.py, b.py")
    assert (ran.code, ran.err) == (0, "")
    assert (ran.answer["task"], ran.answer["author_role"], ran.answer["phase"]) == ("T1", "dev", 2)
    assert ran.answer["payload"]["files_modified"] == ["a.py", "b.py"]
    assert check(ran.out.encode()).findings == ()
    blanks = run("new", "execution_update", *given[1:]).err.splitlines()
    assert blanks[0] == "2 blanks to fill:"
    assert [line.split()[0] for line in blanks[1:]] == ["$.author_role", "$.payload.status"]


@proves("cli/new-addresses")
def test_sender_and_recipient_are_filled_in_as_the_dialect_has_them(run: Run) -> None:
    given = ["taskId=T1", "status=COMPLETED", "details=x"]
    named = run("new", "STATUS_UPDATE", "--as", "dev-1", "--to", "cto", *given)
    assert (named.code, named.err) == (0, "")
    assert (named.answer["from"], named.answer["to"]) == ("dev-1", "cto")
    assert check(named.out.encode()).findings == ()
    assert run("new", "STATUS_UPDATE", "--to", "cto", "to=cfo").answer["to"] == "cfo", "a field that is given stays"
    assert run("new", "execution_update", "--as", "dev", "--to", "lead").answer["author_role"] == "dev"
    signed = run("new", "execution_update", "--as", "dev-1", "--role", "dev").answer
    assert signed["author_role"] == "dev", "a dialect with roles has no names"


def test_nested_fields_are_given_with_dots(run: Run) -> None:
    checks = ["checks.passed=3", "checks.failed=0", "payload.checks.total=3"]
    verdict = run("new", "qa_verdict", *checks).answer["payload"]
    assert verdict["checks"] == {"passed": 3, "failed": 0, "total": 3}
    out = run("new", "review_verdict", "ac_coverage.AC1=pass", "ac_coverage.AC2=fail").out
    assert "ac_coverage:\n  AC1: pass\n  AC2: fail\n" in out


@pytest.mark.parametrize("task", ["taskId", "payload.taskId"])
def test_a_task_is_its_conversation_however_its_field_is_named(task: str, run: Run) -> None:
    assert run("new", "TASK_ASSIGNMENT", f"{task}=T9").answer["correlationId"] == "T9"
    own = run("new", "TASK_ASSIGNMENT", f"{task}=T9", "correlationId=C1")
    assert own.answer["correlationId"] == "C1"


def test_front_matter_has_the_headings_that_its_page_asks_for(run: Run) -> None:
    out = run("new", "worker_submission").out
    assert out.startswith("---\ntype: worker_submission\n")
    assert out.endswith("\n---\n## Result\n\n## Self-Assessment\n")


def test_a_value_that_would_be_refused_is_said_and_leaves_with_2(run: Run) -> None:
    code, out, err = run("new", "execution_update", "status=DONE")
    assert (code, json.loads(out)["payload"]["status"]) == (2, "DONE")
    assert "not-one-of" in err
    assert run("new", "execution_update", "--role", "qa").code == 2


def test_new_answers_in_json(run: Run) -> None:
    answer = run("new", "--json", "approval").answer
    assert answer == {
        "dialect": "signal-md",
        "type": "approval",
        "message": {"type": "approval", "signal": "lgtm"},
        "body": "",
        "blanks": [],
        "text": "---\ntype: approval\nsignal: lgtm\n---\n",
    }
    begun = run("new", "--json", "dev_progress", "--dialect", "vbw-handoff", "task=1", "plan_id=1", "commit=a").answer
    assert begun["blanks"] == [{"path": "$.status", "expected": "one of complete, partial, failed"}]
    assert (json.loads(begun["text"]), begun["body"]) == (begun["message"], None)


@pytest.mark.parametrize(
    "words, code, said",
    [
        ("new dev_progress", 64, "vbw-handoff, vbw-company: choose with --dialect"),
        ("new excution_update", 3, "did you mean execution_update?"),
        ("new xyzzy", 3, "no type xyzzy"),
        ("new approval --dialect vbw-typed", 3, "it is one of signal-md"),
        ("new xyzzy --dialect vbw-handoff", 3, "there are scout_findings, dev_progress"),
        ("new execution_update staus=x", 64, "did you mean status?"),
        ("new qa_verdict checks.pased=x", 64, "did you mean checks.passed?"),
        ("new approval xyzzy=1", 64, "it has signal"),
        ("new execution_update status", 64, "status=VALUE"),
        ("new execution_update type=qa_verdict", 64, "leave it out"),
        ("new scout_findings --dialect vbw-typed documents[].name=x", 64, "no field documents[].name"),
        ("new execution_update --dialect none.toml", 3, "no such file"),
        ("schema", 64, "--dialect: vbw-typed"),
        ("schema dev_progress", 64, "choose with --dialect"),
        ("schema approvel", 3, "did you mean approval?"),
        ("schema approval --format typescript", 64, "a whole dialect"),
        ("schema approval --format=", 64, "--format"),
        ("prompt", 64, "missing argument: telex prompt --role ROLE"),
        ("prompt --role=", 64, "--role needs a value"),
        ("prompt --role dev", 64, "vbw-typed, vbw-handoff, vbw-company: choose"),
        ("prompt --role auditer", 3, "did you mean auditor?"),
        ("prompt --role deev --dialect vbw-typed", 3, "did you mean dev?"),
        ("prompt --role nobody --dialect vbw-typed", 3, "there are lead, dev"),
        ("dialects nope", 3, "no dialect nope"),
        ("dialects nope.toml", 3, "no such file"),
        ("explain nope", 3, "no code nope"),
        ("fix - --role=", 64, "--role needs a value"),
        ("fix - --to=", 64, "--to needs a value"),
        ("fix - --team-dialect=", 64, "--team-dialect needs a value"),
        ("fix - --team-dialect nope", 64, "no dialect nope"),
        ("fix - --max-bytes few", 64, "--max-bytes takes a number"),
        ("why", 64, "missing argument: telex why ID"),
        ("search", 64, "missing argument: telex search TEXT..."),
        ("dead retry", 64, "missing argument: telex dead retry ID"),
    ],
)
def test_wrong_usage_and_what_is_not_there_are_said(run: Run, words: str, code: int, said: str) -> None:
    ran = run(*words.split())
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


# --- schema, prompt, dialects, explain --------------------------------------------------------------------------------


def test_a_schema_is_of_a_type_or_of_a_dialect(run: Run) -> None:
    signal_md = next(dialect for dialect in BUILT_IN if dialect.name == "signal-md")
    assert run("schema", "approval").answer == type_schema(signal_md, signal_md.types["approval"])
    whole = run("schema", "--dialect", "signal-md").answer
    assert list(whole["$defs"]) == list(signal_md.types)
    assert run("schema", "--dialect", "signal-md", "--format", "asyncapi").answer["asyncapi"] == "3.0.0"
    assert "export interface" in run("schema", "--dialect", "signal-md", "--format", "typescript").out


@pytest.mark.parametrize("format_", ["typescript", "python"])
def test_code_is_wrapped_for_who_asks_for_json(run: Run, format_: str) -> None:
    args = ["schema", "--dialect", "signal-md", "--format", format_]
    assert run(*args, "--json").answer == {format_: run(*args).out}


@proves("cli/schema-python")
def test_the_stub_of_your_own_dialect_has_the_classes_that_load_makes(run: Run) -> None:
    file = str(Path(__file__).parents[2] / "docs/examples/release-train.toml")
    ran = run("schema", "--dialect", file, "--format", "python")
    classes = {node.name for node in ast.parse(ran.out).body if isinstance(node, ast.ClassDef)}
    made = vars(messages.load(file))
    assert ran.code == 0
    assert classes
    assert classes == {name for name, value in made.items() if isinstance(value, type)}


def test_a_prompt_is_on_stdout_and_its_size_on_stderr(run: Run) -> None:
    vbw_typed = BUILT_IN[0]
    text = prompt(vbw_typed, "dev")
    ran = run("prompt", "--role", "dev", "--dialect", "vbw-typed")
    assert ran == Ran(0, text, f"≈ {tokens_estimated(text)} tokens\n")
    answer = run("prompt", "--json", "--role", "dev", "--dialect", "vbw-typed").answer
    assert answer == {"role": "dev", "dialect": "vbw-typed", "tokens": tokens_estimated(text), "prompt": text}


def test_a_role_of_one_dialect_needs_no_dialect(run: Run) -> None:
    assert "signal-md" in run("prompt", "--role", "auditor").out


def test_dialects_are_listed_and_each_shows_its_types(run: Run) -> None:
    listed = run("dialects").out.splitlines()
    assert [line.split()[0] for line in listed[1:]] == [*(dialect.name for dialect in VERSIONS), "plain"]
    types = run("dialects", "vbw-typed").out
    assert "shutdown_request   ESCALATION  shutdown_response  lead → dev, qa, scout, lead, debugger, docs\n" in types
    assert "anyone → anyone" in run("dialects", "build-flow").out
    assert run("dialects", "plain").code == 0


def test_dialects_answer_in_json_and_as_a_page(run: Run) -> None:
    everything = run("dialects", "--json").answer
    assert [one["name"] for one in everything] == [*(dialect.name for dialect in VERSIONS), "plain"]
    one = run("dialects", "--json", "vbw-typed").answer
    senders = {type_["name"]: type_["senders"] for type_ in one["types"]}
    assert senders["execution_update"] == ["dev", "docs"]
    assert run("dialects", "vbw-typed", "--page").out == dialect_page(BUILT_IN[0])
    assert run("dialects", "--page").out.startswith("# Dialects")


@pytest.mark.parametrize("code", explanations())
def test_every_code_is_explained(code: str, run: Run) -> None:
    assert run("explain", code) == Ran(0, code_page(code), "")


@pytest.mark.parametrize("code", ["lease-lost", "fence-removed"])
def test_a_page_fits_a_narrow_terminal_and_what_is_to_be_copied_stays(code: str) -> None:
    seen = terminal("explain", code, columns=50).out
    fenced = re.findall(r"^(`{3,})\w+\n(.*?)^\1$", code_page(code), re.MULTILINE | re.DOTALL)
    assert len(fenced) >= 2
    assert all(block in seen for _, block in fenced)
    prose = re.sub(r"^(`{3,})\w+\n.*?^\1$", "", seen, flags=re.MULTILINE | re.DOTALL)
    assert max(map(len, prose.splitlines())) <= 50
    assert seen.replace("\n> ", " ").split() == code_page(code).replace("\n> ", " ").split()


def test_codes_are_listed_and_a_misspelt_one_is_named(run: Run) -> None:
    listed = run("explain", "--list").out.splitlines()[1:]
    assert [line.split()[0] for line in listed] == sorted(explanations())
    titles = {code: one.title for code, one in explanations().items()}
    assert run("explain", "--list", "--json").answer == titles
    for code in ("not-one-of", "lease-lost"):
        answer = run("explain", "--json", code).answer
        assert list(answer) == ["code", "title", "why", "fix", "before", "after"]
    ran = run("explain", "not-on-of")
    assert (ran.code, ran.out) == (3, "")
    assert "did you mean not-one-of?" in ran.err
    assert run("explain").code == 64
    assert run("explain", "xyzzy").code == 3


def test_a_dialect_of_ones_own_gets_all_of_the_same(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLES.parent)
    assert "release_ready" in run("dialects", OWN).out
    assert run("schema", "release_ready", "--dialect", OWN).answer["title"] == "release_ready"
    assert "release_ready" in run("prompt", "--role", "builder", "--dialect", OWN).out
    assert run("new", "release_ready", "--dialect", OWN).answer["type"] == "release_ready"


@pytest.mark.parametrize("dialect", ["nope", ""])
@pytest.mark.parametrize(
    "args",
    [
        ["fix", "-"],
        ["explain", "not-one-of"],
        ["schema", "approval"],
        ["new", "approval"],
        ["prompt", "--role", "auditor"],
    ],
)
def test_a_dialect_option_that_names_none_is_wrong_usage(run: Run, args: list[str], dialect: str) -> None:
    code, out, err = run(*args, "--dialect", dialect)
    assert (code, out) == (64, "")
    assert ("--dialect needs a value" if not dialect else "no dialect nope") in err


def test_a_rule_of_ones_own_is_explained_as_it_was_declared(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLES.parent)
    said = "Tell the builder what would get the component aboard."
    rule = {
        "severity": "warning",
        "broken_when": "not aboard and not has(reason)",
        "path": "reason",
        "say": said,
        "expected": None,
        "types": ["release_answer"],
    }
    asked = ["explain", "left-behind-without-reason", "--dialect", OWN]
    assert run(*asked, "--json").answer == {
        "code": "left-behind-without-reason",
        "dialect": "release-train",
        "rules": [rule],
    }
    words = run(*asked).out
    for part in ("left-behind-without-reason", rule["broken_when"], said, "warning", "release_answer"):
        assert str(part) in words
    assert run("explain", "--list", "--json", "--dialect", OWN).answer["left-behind-without-reason"] == said
    assert "did you mean go-with-failures?" in run("explain", "go-with-failure", "--dialect", OWN).err


def test_with_a_dialect_the_codes_that_all_share_are_explained_as_ever(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(SAMPLES.parent)
    for dialect in (OWN, "vbw-typed", "plain"):
        assert run("explain", "not-one-of", "--dialect", dialect) == Ran(0, code_page("not-one-of"), "")
    assert run("explain", "go-with-failures").code == 3


def test_a_rule_of_every_type_is_explained_with_all_of_them(tmp_path: Path, run: Run) -> None:
    text = (SAMPLES.parent / OWN).read_text(encoding="utf-8")
    shared = '[[rules]]\ncode = "no-train"\nbroken_when = "train == \'\'"\npath = "train"\nsay = "Name the train."\n\n'
    own = put(tmp_path, "own.toml", text.replace("[types.release_ready]\n", shared + "[types.release_ready]\n"))
    [rule] = run("explain", "no-train", "--json", "--dialect", own).answer["rules"]
    assert rule["types"] == ["release_ready", "release_answer", "train_left"]


@proves("rendering/dialect-version")
@pytest.mark.parametrize(
    "args",
    [
        ("dialects", "vbw@1.0"),
        ("check", "--dialect", "vbw@1.0", "samples/vbw-handoff/progress.json"),
        ("check", "--team-dialect", "vbw-handoff@1.0", "samples/vbw-handoff/progress.json"),
        ("new", "dev_progress", "--dialect", "vbw@1.0"),
        ("schema", "--dialect", "vbw@1.0"),
        ("prompt", "--role", "dev", "--dialect", "vbw@1.0"),
        ("translate", "--dialect", "vbw@1.0", "--to", "vbw@2.0", "samples/vbw-handoff/progress.json"),
    ],
)
def test_a_dialect_goes_by_its_version_wherever_a_command_asks_for_one(args: tuple[str, ...], run: Run) -> None:
    found = run(*(arg.replace("samples", str(SAMPLES)) for arg in args))
    assert found.code == 0, found
    other = [arg.replace("samples", str(SAMPLES)).replace("@1.0", "@7.0") for arg in args]
    refused = run(*other)
    assert (refused.code, refused.out) == (3 if args[0] == "dialects" else 64, "")
    assert "vbw-handoff@1.0" in refused.err, "what there is"
