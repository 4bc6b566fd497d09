"""What becomes of a file that somebody names to be written, and of what was in it?"""

import json
import os
import signal
import stat
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.cli_bus_kit import PROGRESS, Telex, sent, telex
from tests.cli.cli_kit import COMMAND, put
from tests.proofs import proves

__all__ = ["telex"]
VERSIONS = ("--from", "vbw@1.0", "--to", "vbw@2.0")
CONVERSATION = "03-01/reset-link"
WORDS = b"caf\xe9 and other words\r\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of two lines, one of them a message."""
    file = tmp_path / "old.jsonl"
    file.write_bytes(json.dumps(PROGRESS).encode() + b"\n" + WORDS)
    return file


def _is_migrated(file: Path) -> bool:
    first, second = file.read_bytes().split(b"\n", 1)
    return json.loads(first)["type"] == "execution_update" and second == WORDS


def _only(folder: Path, *names: str) -> bool:
    return sorted(os.listdir(folder)) == sorted(names)


@proves("files/over-itself")
def test_a_log_is_written_over_itself(telex: Telex, log: Path) -> None:
    assert telex("migrate-log", log.name, *VERSIONS, "--output", log.name).code == 0
    assert _is_migrated(log)
    assert _only(log.parent, log.name)


@proves("files/over-itself")
def test_a_log_is_written_over_itself_through_a_link(telex: Telex, log: Path) -> None:
    Path("link").symlink_to(log.name)
    assert telex("migrate-log", log.name, *VERSIONS, "--output", "link").code == 0
    assert Path("link").is_symlink()
    assert _is_migrated(log)


@proves("files/over-itself")
def test_of_two_names_of_a_log_the_other_keeps_what_was_there(telex: Telex, log: Path) -> None:
    before = log.read_bytes()
    os.link(log, "twin")
    assert telex("migrate-log", log.name, *VERSIONS, "--output", "twin").code == 0
    assert _is_migrated(Path("twin"))
    assert log.read_bytes() == before


@proves("files/over-itself")
def test_a_log_is_written_over_itself_from_stdin(log: Path) -> None:
    with log.open("rb") as stdin:
        command = [*COMMAND, "migrate-log", "-", *VERSIONS, "--output", str(log)]
        subprocess.run(command, stdin=stdin, capture_output=True, check=True, timeout=60)
    assert _is_migrated(log)


@proves("files/whole")
@pytest.mark.parametrize("told, code", [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_a_run_that_is_ended_leaves_what_was_there(tmp_path: Path, told: signal.Signals, code: int) -> None:
    (tmp_path / "new").write_bytes(WORDS)
    command = [*COMMAND, "migrate-log", "-", *VERSIONS, "--output", str(tmp_path / "new")]
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # tests in the background inherit that it is ignored
    try:
        started = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGINT, before)
    with started as running:
        assert running.stdin is not None
        while _only(tmp_path, "new") and running.poll() is None:  # until it has begun beside the file
            running.stdin.write(json.dumps(PROGRESS).encode() + b"\n")
            running.stdin.flush()
        running.send_signal(told)
        assert running.wait(timeout=60) == code
    assert (tmp_path / "new").read_bytes() == WORDS
    assert _only(tmp_path, "new") or told == signal.SIGTERM


@proves("files/whole")
def test_a_run_that_fails_leaves_what_was_there(telex: Telex, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = log.read_bytes()
    monkeypatch.setattr("telex.surfaces.cli.translate.LINE_BYTES_MAX", len(before) - len(WORDS) - 5)
    ran = telex("migrate-log", log.name, *VERSIONS, "--output", log.name)
    assert (ran.code, log.read_bytes()) == (1, before)
    assert _only(log.parent, log.name)


@proves("files/store")
@pytest.mark.parametrize("suffix", ["", "-wal", "-lock", "-ballast"])
@pytest.mark.parametrize("command", ["migrate-log", "log", "trace", "link"])
def test_no_store_is_written_over(telex: Telex, log: Path, command: str, suffix: str) -> None:
    id_ = sent(telex, PROGRESS)
    [store] = Path(".telex").glob("*.db")
    target = f"{store}{suffix}"
    if command == "link":
        Path("link").symlink_to(target)
        target = "link"
    commands = {"log": ("log", "--export", target), "trace": ("trace", CONVERSATION, "-o", target)}
    ran = telex(*commands.get(command, ("migrate-log", log.name, *VERSIONS, "--output", target)))
    assert ran.code == 1
    assert "store" in ran.err
    assert "give another file" in ran.err
    assert json.loads(telex("show", id_, "--raw").out) == PROGRESS


@proves("files/same-people")
def test_a_file_written_anew_is_for_the_same_people(telex: Telex, log: Path) -> None:
    log.chmod(0o640)
    assert telex("migrate-log", log.name, *VERSIONS, "--output", log.name).code == 0
    assert stat.S_IMODE(log.stat().st_mode) == 0o640
    before = os.umask(0o027)
    try:
        assert telex("migrate-log", log.name, *VERSIONS, "--output", "new").code == 3
    finally:
        os.umask(before)
    assert stat.S_IMODE(Path("new").stat().st_mode) == 0o640


@proves("files/same-people")
def test_whoever_cannot_keep_the_owner_keeps_the_group(
    telex: Telex, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []

    def fchown(descriptor: int, owner: int, group: int) -> None:
        if owner != -1:
            raise PermissionError
        given.append(group)

    monkeypatch.setattr("os.fchown", fchown)
    log.chmod(0o640)
    assert telex("migrate-log", log.name, *VERSIONS, "--output", log.name).code == 0
    assert given == [log.stat().st_gid]
    assert stat.S_IMODE(log.stat().st_mode) == 0o640


@proves("files/same-people")
@pytest.mark.parametrize("before, after", [(0o640, 0o600), (0o664, 0o644)])
def test_another_group_gets_no_more_than_everybody(
    telex: Telex, log: Path, monkeypatch: pytest.MonkeyPatch, before: int, after: int
) -> None:
    def fchown(descriptor: int, owner: int, group: int) -> None:
        raise PermissionError

    monkeypatch.setattr("os.fchown", fchown)
    log.chmod(before)
    assert telex("migrate-log", log.name, *VERSIONS, "--output", log.name).code == 0
    assert stat.S_IMODE(log.stat().st_mode) == after


@proves("files/same-people")
def test_a_link_to_nothing_makes_what_it_points_to(telex: Telex, log: Path) -> None:
    Path("link").symlink_to("made")
    assert telex("migrate-log", log.name, *VERSIONS, "--output", "link").code == 0
    assert Path("link").is_symlink()
    assert _is_migrated(Path("made"))


@proves("files/as-it-comes")
def test_a_pipe_and_stdout_by_its_name_take_it_as_it_comes(log: Path, tmp_path: Path) -> None:
    command = [*COMMAND, "migrate-log", str(log), *VERSIONS, "--output"]
    piped = subprocess.run([*command, "/dev/stdout"], capture_output=True, check=True, timeout=60).stdout
    assert piped.startswith(b"{")
    assert piped.endswith(b"}\n" + WORDS)
    (tmp_path / "kept").write_bytes(b"before\n")
    with (tmp_path / "kept").open("ab") as kept:
        subprocess.run([*command, "/dev/stdout"], stdout=kept, stderr=subprocess.PIPE, check=True, timeout=60)
    before, _, last = (tmp_path / "kept").read_bytes().split(b"\n", 2)
    assert (before, last) == (b"before", WORDS)
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen([*command, str(tmp_path / "pipe")], stderr=subprocess.PIPE) as running:
        assert (tmp_path / "pipe").read_bytes().endswith(b"}\n" + WORDS)
        assert running.wait(timeout=60) == 0


@proves("files/store")
def test_a_pipe_beside_which_nothing_is_a_store_is_not_waited_for(telex: Telex, log: Path) -> None:
    os.mkfifo("pipe")
    assert telex("migrate-log", log.name, *VERSIONS, "--output", "pipe-wal").code == 0
    assert _is_migrated(Path("pipe-wal"))


@proves("files/names-it")
def test_a_full_disk_is_named(telex: Telex, log: Path) -> None:
    sent(telex, PROGRESS)
    for command in (
        ("migrate-log", log.name, *VERSIONS, "--output"),
        ("log", "--export"),
        ("trace", CONVERSATION, "-o"),
    ):
        ran = telex(*command, "/dev/full")
        assert (ran.code, ran.err) == (1, "telex: cannot write /dev/full: No space left on device\n")


@proves("files/names-it")
@pytest.mark.parametrize("target", ["nowhere/new", "folder", "folder/", "new/", "old.jsonl/new"])
def test_what_cannot_be_written_is_named(telex: Telex, log: Path, target: str) -> None:
    Path("folder").mkdir()
    ran = telex("migrate-log", log.name, *VERSIONS, "--output", target)
    assert (ran.code, ran.out) == (1, "")
    assert f"cannot write {target}: " in ran.err
    assert _only(log.parent, log.name, "folder")
    assert _only(Path("folder"))


@proves("files/names-it")
def test_a_file_that_may_only_be_read_stays(telex: Telex, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = log.read_bytes()
    monkeypatch.setattr("os.access", lambda path, mode: False)  # nothing is forbidden to root, who may run this
    assert "cannot write" in telex("migrate-log", log.name, *VERSIONS, "--output", log.name).err
    assert log.read_bytes() == before


def test_a_trace_is_written_to_its_file(telex: Telex) -> None:
    sent(telex, PROGRESS)
    put(Path.cwd(), "trace.svg", "an older picture")
    assert telex("trace", CONVERSATION, "--format", "svg", "-o", "trace.svg").code == 0
    assert Path("trace.svg").read_text().startswith("<svg")


MIGRATE = ("migrate-log", "old.jsonl", *VERSIONS)
USAGE = 64


class Shelled(NamedTuple):
    code: int
    err: str


@pytest.fixture
def message_log(telex: Telex) -> Path:
    """A log of one message, in the folder where everything happens."""
    file = Path("old.jsonl")
    file.write_text(json.dumps(PROGRESS) + "\n")
    return file


def shelled(command: tuple[str, ...], streams: str) -> Shelled:
    """What a shell makes of it, which opens the files: `3>>kept`."""
    script = ["sh", "-c", f'exec "$@" {streams}', "sh", *COMMAND, *command]
    ran = subprocess.run(script, capture_output=True, timeout=60, check=False)
    return Shelled(ran.returncode, ran.stderr.decode())


def _is_update(line: str) -> bool:
    type_: str = json.loads(line)["type"]
    return type_ == "execution_update"


# --- what was given open ----------------------------------------------------------------------------------------------


@proves("files/as-it-comes")
@pytest.mark.parametrize("name", ["/dev/fd/3", "/proc/self/fd/3", "/dev//fd/3"])
def test_what_was_given_open_to_be_continued_keeps_what_stands_there(message_log: Path, name: str) -> None:
    Path("kept").write_text("before\n")
    assert shelled((*MIGRATE, "--output", name), "3>>kept").code == 0
    before, line = Path("kept").read_text().splitlines()
    assert before == "before"
    assert _is_update(line)


@proves("files/as-it-comes")
def test_what_was_given_only_to_be_read_is_not_written(message_log: Path) -> None:
    Path("kept").write_text("before\n")
    ran = shelled((*MIGRATE, "--output", "/dev/fd/3"), "3<kept")
    assert (ran.code, ran.err) == (1, "telex: cannot write /dev/fd/3: Bad file descriptor\n")
    assert Path("kept").read_text() == "before\n"


@proves("files/names-it")
def test_what_was_not_given_open_is_named(message_log: Path) -> None:
    ran = shelled((*MIGRATE, "--output", "/dev/fd/77"), "")
    assert (ran.code, ran.err) == (1, "telex: cannot write /dev/fd/77: Bad file descriptor\n")


@proves("files/store")
@pytest.mark.parametrize("name, number", [("/dev/fd/3", 3), ("/dev/stdout", 1)])
@pytest.mark.parametrize("suffix", ["", "-wal", "-lock"])
def test_a_store_that_was_given_open_is_not_written(telex: Telex, name: str, number: int, suffix: str) -> None:
    id_ = sent(telex, PROGRESS)
    [store] = Path(".telex").glob("*.db")
    before = store.read_bytes()
    ran = shelled(("log", "--export", name), f"{number}>>{store}{suffix}")
    assert ran.code == 1
    assert "store" in ran.err
    assert store.read_bytes() == before
    assert json.loads(telex("show", id_, "--raw").out) == PROGRESS


# --- what is being read -----------------------------------------------------------------------------------------------


@proves("files/not-its-own-end")
@pytest.mark.parametrize(
    "command, streams",
    [
        (MIGRATE, ">>old.jsonl"),
        ((*MIGRATE, "--output", "-"), ">>old.jsonl"),
        ((*MIGRATE, "--output", "/dev/stdout"), "1<>old.jsonl"),
        ((*MIGRATE, "--output", "/dev/fd/3"), "3>>old.jsonl"),
        (("migrate-log", "-", *VERSIONS), "<old.jsonl >>old.jsonl"),
        (("migrate-log", "-", *VERSIONS, "--output", "/dev/fd/0"), "0<>old.jsonl"),
    ],
)
def test_a_log_that_would_grow_by_its_own_end_is_as_it_was(
    message_log: Path, command: tuple[str, ...], streams: str
) -> None:
    before = message_log.read_bytes()
    ran = shelled(command, streams)
    assert ran.code == USAGE
    assert "is read and written at once: give another file with --output" in ran.err
    assert message_log.read_bytes() == before
