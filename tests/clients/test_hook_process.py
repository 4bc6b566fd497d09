"""The process of a hook: hostile input, failures, deadline, imports, and the hook that waits for mail."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.surfaces.clients import sessions
from telex.surfaces.clients.calls import read_call
from telex.surfaces.clients.hook_process import LOG_BYTES_MAX, log
from telex.surfaces.clients.table import CLIENTS
from tests.cli.cli_kit import COMMAND
from tests.cli.test_cli_process import HEAVY, LOADED
from tests.clients.hook_kit import (
    BASE,
    EVENTS,
    Hook,
    Project,
    empty,
    filled_store,
    hook,
    hook_process,
    hook_process_with_deadline,
    project,
    tool,
    write,
)
from tests.proofs import proves

__all__ = ["empty", "filled_store", "hook", "project"]


# --- failures ---------------------------------------------------------------------------------------------------------
HOSTILE = [
    b"",
    b"no JSON",
    b"\xff\xfe",
    b"[]",
    b"7",
    b"[" * 1_000_000,
    b'{"a":' * 100_000,
    b'{"session_id": "' + b"x" * (5 * 1_048_576) + b'"}',
    json.dumps({"session_id": 7, "cwd": [], "tool_name": {}, "tool_input": 3.5}).encode(),
    json.dumps({"session_id": None, "cwd": "relative", "tool_name": "Write"}).encode(),
    json.dumps({"session_id": "a", "cwd": "/no/such/folder\0"}).encode(),
]


@proves("hooks/hostile")
@pytest.mark.parametrize("event", ["SessionStart", "PreToolUse", "PostToolUse", "Stop", "SessionEnd", "NoSuchEvent"])
@pytest.mark.parametrize("raw", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_input_ends_in_silence(raw: bytes, event: str, project: Project, hook: Hook) -> None:
    assert hook(project, "claude", event, raw) == (0, "", "")


@proves("hooks/hostile")
@given(
    st.sampled_from(sorted(CLIENTS)),
    st.dictionaries(
        st.sampled_from(["session_id", "sessionId", "cwd", "tool_name", "tool_input", "toolArgs", "agent_id", "input"]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.text()
        | st.lists(st.text())
        | st.dictionaries(st.text(), st.text()),
    ),
    st.data(),
)
def test_any_object_is_read_as_a_call(client: str, payload: dict[str, Any], data: st.DataObject) -> None:
    event = data.draw(st.sampled_from(sorted(CLIENTS[client].events)))
    call = read_call(client, event, payload, {})
    assert call is not None
    assert os.path.isabs(call.cwd)
    assert isinstance(call.session_id, str)


@proves("hooks/hostile")
@pytest.mark.parametrize("session_id", ["../../../escaped", "/etc/passwd", "a\0b", "x" * 10_000, "\ud800"])
def test_a_hostile_session_id_stays_in_its_folder(session_id: str, project: Project, hook: Hook) -> None:
    project.mail()
    before = {path for path in project.root.parent.rglob("*") if ".telex" not in path.parts}
    assert hook(project, "claude", "UserPromptSubmit", BASE | {"session_id": session_id}).out
    assert {path for path in project.root.parent.rglob("*") if ".telex" not in path.parts} == before
    assert len(os.listdir(project.sessions)) == 1


@proves("hooks/hostile")
def test_a_link_in_place_of_the_sessions_is_not_followed(project: Project, hook: Hook, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    Path(project.sessions).symlink_to(elsewhere)
    project.mail()
    assert hook(project, "claude", "UserPromptSubmit", BASE) == (0, "", "")
    assert list(elsewhere.iterdir()) == []
    assert len(project.log().splitlines()) == 1


@proves("hooks/no-store")
def test_a_link_in_place_of_a_store_is_no_store(project: Project, hook: Hook, empty: Project, tmp_path: Path) -> None:
    project.store.rename(tmp_path / "telex.db")
    project.store.symlink_to(tmp_path / "telex.db")
    assert hook(project, "claude", "UserPromptSubmit", BASE) == (0, "", "")
    assert not os.path.exists(project.sessions)


@proves("hooks/no-store")
@pytest.mark.parametrize("place", ["http://127.0.0.1:9", "memory:", "no/such/folder/telex.db"])
def test_other_stores_are_left_alone(place: str, project: Project, hook: Hook) -> None:
    project.mail()
    assert hook(project, "claude", "UserPromptSubmit", BASE, TELEX_STORE=place) == (0, "", "")


@proves("hooks/errors")
@pytest.mark.parametrize("event", EVENTS)
def test_a_damaged_store_ends_in_silence_and_a_line(event: str, project: Project, hook: Hook) -> None:
    hook(project, "claude", "SessionStart", BASE)
    project.store.write_bytes(b"no database" * 1_000)
    ran = hook(project, "claude", event, write("src/mail/x.py"))
    assert ran == (0, "", "")
    if event != "SessionEnd":  # it has no leases to return: the session holds none
        assert len(project.log().splitlines()) == 1
        assert event in project.log()


@proves("hooks/errors")
def test_invalid_settings_end_in_silence_and_a_line(project: Project, hook: Hook) -> None:
    (project.root / "telex.toml").write_text("[hooks]\nguard = 7\n")
    assert hook(project, "claude", "PreToolUse", write("src/mail/x.py")) == (0, "", "")
    assert "SettingsError" in project.log()


@proves("hooks/errors")
def test_the_log_is_private_bounded_and_never_a_link(tmp_path: Path) -> None:
    for number in range(400):
        log(str(tmp_path), f"{number} " + "x" * 1_000 + "\n\x1b\u202e")
    file = tmp_path / "hook.log"
    assert file.stat().st_size <= LOG_BYTES_MAX + 1_000
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_text().splitlines()[-1].split()[1] == "399"
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere").read_bytes()
    log(str(tmp_path), "not there")
    assert (tmp_path / "elsewhere").read_bytes() == before


@proves("hooks/errors")
@pytest.mark.parametrize(
    "args", [[], ["claude"], ["nobody", "Stop"], ["claude", "Stop", "more"], ["claude", "NoEvent"]]
)
def test_wrong_usage_is_no_decision(args: list[str], project: Project) -> None:
    ran = subprocess.run([*COMMAND, "hook", *args], input=b"{}", capture_output=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, b"")


@contextmanager
def held(folder: str) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


@proves("hooks/deadline")
def test_a_hook_that_waits_for_a_lock_ends_by_itself(project: Project, hook: Hook) -> None:
    hook(project, "claude", "SessionStart", BASE)
    project.mail()
    with held(project.sessions):
        ran = hook_process_with_deadline(project, "claude", "UserPromptSubmit", BASE)
    assert ran == (0, "", "")
    assert "no answer within" in project.log()


# --- the process ------------------------------------------------------------------------------------------------------
STORE_MODULES = {"json", "typing", "re", "apsw", "telex.config", "telex.stores.sqlite.store", "collections"}


def loaded(project: Project, event: str, payload: dict[str, Any]) -> set[str]:
    plain = "import sys; before = set(sys.modules)\n" + LOADED.replace("*sys.modules", "*(set(sys.modules) - before)")
    ran = subprocess.run(
        [sys.executable, "-I", "-c", plain, "hook", "claude", event],
        input=project.stdin(payload),
        capture_output=True,
        check=True,
    )
    return set(ran.stderr.decode().split())


@proves("hooks/light")
def test_a_hook_with_nothing_to_do_imports_next_to_nothing(project: Project, empty: Project) -> None:
    hook_process(project, "claude", "PostToolUse", BASE)
    outside = BASE | {"cwd": "/"}
    cases = [
        ("PreToolUse", tool("Bash", command="ls")),
        ("PreToolUse", write("/etc/passwd") | outside),
        ("UserPromptSubmit", outside),
        ("PostToolUse", BASE),
    ]
    for event, payload in cases:
        modules = loaded(project, event, payload)
        assert "telex.surfaces.clients.hook" in modules
        assert modules & STORE_MODULES == set(), (event, payload)


@proves("hooks/light")
def test_no_hook_imports_anything_heavy(project: Project) -> None:
    project.mail()
    for event, payload in [("UserPromptSubmit", BASE), ("PreToolUse", write("src/mail/x.py")), ("SessionEnd", BASE)]:
        assert loaded(project, event, payload) & HEAVY == set(), event


@proves("hooks/wake")
def test_the_hook_wake_ends_when_mail_comes(project: Project, hook: Hook) -> None:
    hook(project, "claude", "SessionStart", BASE)
    with subprocess.Popen(
        [*COMMAND, "hook", "claude", "wake"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as waiting:
        assert waiting.stdin is not None
        waiting.stdin.write(project.stdin(BASE))
        waiting.stdin.close()
        waiting.stdin = None
        message = project.mail()
        out, err = waiting.communicate(timeout=60)
    assert (waiting.returncode, out) == (2, b"")
    assert message in err.decode()
    assert hook(project, "claude", "Stop", BASE) == (0, "", "")  # it has heard of it


@proves("hooks/wake")
def test_the_hook_wake_ends_with_its_session(project: Project, hook: Hook) -> None:
    hook(project, "claude", "SessionStart", BASE)
    with subprocess.Popen([*COMMAND, "hook", "claude", "wake"], stdin=subprocess.PIPE) as waiting:
        assert waiting.stdin is not None
        waiting.stdin.write(project.stdin(BASE))
        waiting.stdin.close()
        hook(project, "claude", "SessionEnd", BASE)
        assert waiting.wait(60) == 0


@proves("hooks/wake")
def test_a_late_hook_does_not_bring_a_session_back(project: Project, hook: Hook) -> None:
    hook(project, "claude", "SessionStart", BASE)
    hook(project, "claude", "SessionEnd", BASE)
    project.mail()
    for event in ("PostToolUse", "Stop"):
        assert hook(project, "claude", event, BASE) == (0, "", "")
    assert [session.state for session in sessions.all_sessions(project.sessions)] == ["ended"]
    assert hook(project, "claude", "SessionStart", BASE | {"source": "resume"}).out
