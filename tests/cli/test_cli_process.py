"""How does `telex` behave as a process: what it imports, how it ends, and what becomes of its streams?"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from telex.surfaces.cli.commands import COMMANDS
from telex.surfaces.cli.main import main
from tests.cli.cli_kit import COMMAND, PROGRESS, UPDATE, WRONG_CASE, process, put

HEAVY = {
    *("click", "rich", "asyncio", "pydantic", "argparse", "msgspec", "yaml", "dataclasses", "subprocess", "pathlib"),
    *("importlib.metadata", "tomllib", "logging", "inspect", "shutil", "threading", "uuid", "shlex", "difflib"),
}
LOADED = """
import sys
from telex.surfaces.cli.main import main
code = main(sys.argv[1:])
print(*sys.modules, sep="\\n", file=sys.stderr)
sys.exit(code)
"""


def modules_loaded_by(*args: str, stdin: object) -> set[str]:
    text = stdin if isinstance(stdin, str) else json.dumps(stdin)
    ran = subprocess.run([sys.executable, "-c", LOADED, *args], input=text, capture_output=True, text=True, check=False)
    return set(ran.stderr.splitlines())


@pytest.mark.parametrize(
    "args",
    [["check", "-"], ["check", "--json", "-"], ["check", "--format", "vbw", "--role", "dev", "--to", "lead", "-"]],
    ids=["words", "json", "vbw"],
)
@pytest.mark.parametrize(
    "message",
    [UPDATE, WRONG_CASE, "Good morning.", "---\ntype: approval\nsignal: lgtm\n---\n"],
    ids=["good", "bad", "plain", "front matter"],
)
def test_checking_one_message_imports_nothing_heavy(args: list[str], message: object) -> None:
    loaded = modules_loaded_by(*args, stdin=message)
    assert "telex.validation.check" in loaded
    assert loaded & HEAVY == set()
    assert not {"telex.dialects.parse.repair", "html"} & loaded


def test_other_commands_import_only_what_they_need() -> None:
    loaded = modules_loaded_by("dialects", stdin="")
    assert "click" in loaded
    assert not {"msgspec", "telex.surfaces.cli.drafts", "telex.generate.prompt"} & loaded


def test_telex_is_the_same_by_its_script_and_by_its_module(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("telex")
    if not script.exists():
        pytest.skip("telex is not installed here, so there is no script")
    file = put(tmp_path, "update.json", UPDATE)
    ran = subprocess.run([script, "check", file], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == process("check", file)


# --- streams ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("args", [["check", "--json"], ["fix"]], ids=["check", "fix"])
def test_a_broken_pipe_is_silent(tmp_path: Path, args: list[str]) -> None:
    file = put(tmp_path, "notes.txt", *["Nothing to fix here."] * 20_000)
    if "check" in args:
        file = put(tmp_path, "log.jsonl", *[PROGRESS] * 20_000)
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run([*COMMAND, *args, file], stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (1, b"")


def test_a_reader_that_leaves_halfway_is_no_error_to_speak_of(tmp_path: Path) -> None:
    file = put(tmp_path, "log.jsonl", *[PROGRESS] * 20_000)
    with subprocess.Popen(
        [*COMMAND, "check", "--json", file], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert json.loads(running.stdout.readline())["valid"] is True
        running.stdout.close()
        assert running.stderr.read() == b""


def test_closed_streams_change_no_exit_code(tmp_path: Path) -> None:
    good, bad = put(tmp_path, "good.json", UPDATE), put(tmp_path, "bad.json", WRONG_CASE)
    for file, code in ((good, 0), (bad, 2)):
        for closed in (">&-", "2>&-", ">&- 2>&-"):
            line = f"{' '.join(COMMAND)} check {file} {closed}"
            assert subprocess.run(line, shell=True, capture_output=True, check=False).returncode == code


def test_closed_stdin_has_no_message() -> None:
    line = f"{' '.join(COMMAND)} check - <&-"
    ran = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, "telex: stdin is closed: there is nothing to read\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux")
def test_output_that_cannot_be_written_is_an_error_and_no_traceback(tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        command = [*COMMAND, "check", put(tmp_path, "good.json", UPDATE)]
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, "telex: No space left on device\n")


@pytest.mark.parametrize("encoding", ["ascii", pytest.param("latin-1", marks=pytest.mark.slow), "utf-8"])
def test_any_encoding_of_the_terminal_will_do(tmp_path: Path, encoding: str) -> None:
    file = put(tmp_path, "progress.json", PROGRESS | {"status": "vollständig ✓"})
    folder = str(tmp_path)
    for args in (["check", file], ["check", folder], ["check", "--json", file], ["fix", file]):
        ran = subprocess.run(
            [*COMMAND, *args], capture_output=True, env=os.environ | {"PYTHONIOENCODING": encoding}, check=False
        )
        assert ran.returncode == 2
        assert b"Traceback" not in ran.stderr
        if "--json" in args:
            assert json.loads(ran.stdout.decode(encoding))["findings"][0]["found"] == "vollständig ✓"


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Whoever started the tests may have them ignore interrupts, and what they start inherits that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_is_quiet_and_leaves_with_130() -> None:
    with subprocess.Popen(
        [*COMMAND, "check", "--jsonl", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdin is not None
        assert running.stderr is not None
        running.stdin.write(json.dumps({"type": "unheard_of"}).encode() + b"\n")
        running.stdin.flush()
        running.stderr.readline()  # it is at work
        time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert b"Traceback" not in err


# --- telex itself -----------------------------------------------------------------------------------------------------


def test_telex_alone_shows_its_help_as_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 64
    out, err = capsys.readouterr()
    assert out == ""
    assert "telex check update.json" in err


@pytest.mark.parametrize("args", [["--help"], ["-h"], ["help"]])
def test_help_is_short_and_lists_every_command(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(args) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) < 90  # a line per command
    for name in COMMANDS:
        assert f"\n  {name} " in out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    first = capsys.readouterr().out
    assert main(["help", command]) == 0
    assert capsys.readouterr().out == first
    assert f"telex {command}" in first


def test_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("telex ")


@pytest.mark.parametrize(
    "args, said",
    [
        (["chekc"], "did you mean check?"),
        (["xyzzy"], "there are check, fix"),
        (["--verison"], "--version"),
        (["fix"], "FILE"),
        (["new", "--nonsense"], "--nonsense"),
        (["prompt"], "--role"),
        (["schema", "--format", "xml"], "json-schema"),
        (["fix", "x", "\x1b[2J"], "\\x1b[2J"),
    ],
)
def test_wrong_usage_is_64_and_never_2(args: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(args) == 64
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.replace("\n", "").isprintable()


def test_check_is_reached_behind_two_dashes_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--", "check", put(tmp_path, "bad.json", WRONG_CASE)]) == 2


@pytest.mark.parametrize(
    "words, offered",
    [
        ("telex che", "check"),
        ("telex check --le", "--lenient"),
        ("telex new execution_", "execution_update"),
        ("telex new approval --dialect sig", "signal-md"),
        ("telex prompt --role archi", "architect"),
    ],
)
def test_a_shell_is_told_how_a_word_may_go_on(words: str, offered: str) -> None:
    at = str(len(words.split()) - 1)
    ran = process(_TELEX_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=at)
    assert offered in [line.partition(",")[2] for line in ran.out.splitlines()]
