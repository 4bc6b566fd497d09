"""Sessions of coding tools: names, files, processes."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.surfaces.clients import registration, sessions
from telex.surfaces.clients.json_text import dump, parse
from telex.surfaces.clients.registration import Origin
from telex.surfaces.clients.sessions import Session
from tests.proofs import proves

NOW = time.time()


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return sessions.folder_of(str(tmp_path / "telex.db"))


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as started:
        yield started
        started.kill()


def bound(folder: str, session_id: str, wanted: str = "", *, client: str = "claude", pid: int | None = None) -> Session:
    origin = Origin(pid=os.getpid() if pid is None else pid, wanted=wanted)
    return registration.bind(folder, client, session_id, now=time.time(), origin=origin)


# --- names ------------------------------------------------------------------------------------------------------------
@proves("sessions/names")
def test_a_session_without_a_name_gets_a_free_one_and_keeps_it(folder: str) -> None:
    origin = Origin(pid=os.getpid())
    first = registration.bind(folder, "claude", "a", now=NOW, origin=origin, is_member={"claude-1"}.__contains__)
    assert first.agent == "claude-2"  # claude-1 is a member of the team already
    assert bound(folder, "b", client="codex").agent == "codex-1"
    assert bound(folder, "a").agent == "claude-2"
    assert bound(folder, "c", "Lead").agent == "lead"
    assert bound(folder, "c").agent == "lead"  # resumed without the variable


@proves("sessions/names")
def test_a_client_that_clears_its_session_keeps_its_name(folder: str) -> None:
    first = bound(folder, "a")
    registration.end(folder, "claude", "a", time.time())
    again = registration.bind(
        folder, "claude", "b", now=time.time(), origin=Origin(pid=os.getpid()), is_member={first.agent}.__contains__
    )
    assert (again.agent, again.announced) == (first.agent, 0)


@proves("sessions/twice")
def test_of_two_live_sessions_of_one_name_the_second_gets_another(folder: str) -> None:
    assert bound(folder, "a", "dev").agent == "dev"
    second = bound(folder, "b", "dev")
    assert (second.agent, second.wanted) == ("dev-2", "dev")
    assert bound(folder, "b", "dev").agent == "dev-2"
    registration.end(folder, "claude", "a", time.time())
    assert bound(folder, "c", "dev").agent == "dev"
    assert bound(folder, "a", "dev").agent == "dev-3"  # resumed: its name has been taken meanwhile


@proves("sessions/twice")
def test_a_name_of_a_dead_process_is_free(folder: str, process: subprocess.Popen[bytes]) -> None:
    assert bound(folder, "a", "dev", pid=process.pid).agent == "dev"
    process.kill()
    process.wait()
    assert bound(folder, "b", "dev").agent == "dev"


def test_a_subagent_has_a_name_under_its_session(folder: str) -> None:
    lead = bound(folder, "a", "lead")
    reviewer = registration.bind_subagent(folder, lead, "id-1", "Code Reviewer", now=time.time())
    assert (reviewer.agent, reviewer.parent) == ("lead/code-reviewer", "a")
    assert [session.agent for session in registration.end(folder, "claude", "a", NOW)] == ["lead", "lead/code-reviewer"]
    assert all(session.state == "ended" for session in sessions.all_sessions(folder))


# --- processes --------------------------------------------------------------------------------------------------------
@proves("sessions/process")
def test_a_session_lives_as_long_as_its_process(folder: str, process: subprocess.Popen[bytes]) -> None:
    session = bound(folder, "a", pid=process.pid)
    assert sessions.is_live(session)
    assert not sessions.is_live(session._replace(state="ended"))
    process.kill()
    process.wait()
    assert not sessions.is_live(session)


@proves("sessions/process")
@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="the start of a process is known on Linux only")
def test_a_later_process_with_the_same_number_is_not_its_process() -> None:
    assert not sessions.is_live(Session("claude", "a", "dev", os.getpid(), started_at=NOW - 86_400))


@proves("sessions/process")
@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="the start of a process is known on Linux only")
def test_a_clock_that_is_set_ends_no_session(folder: str) -> None:
    session = bound(folder, "a")
    assert sessions.is_live(session._replace(started_at=NOW - 86_400))
    assert not sessions.is_live(session._replace(began="1"))
    sessions.save(folder, session._replace(began="1"))  # resumed in a process with the same number
    assert sessions.is_live(bound(folder, "a"))


@proves("sessions/names")
@pytest.mark.parametrize("id_", ["mcp-{}", "pid-{}"])
def test_a_session_with_the_process_number_of_an_earlier_one_has_neither_its_name_nor_its_role(
    folder: str, id_: str
) -> None:
    id_ = id_.format(os.getpid())
    origin = Origin(pid=os.getpid(), wanted="human", role="human")
    assert registration.bind(folder, "claude", id_, now=NOW, origin=origin).role == "human"
    assert bound(folder, id_).agent == "human"  # the same session
    registration.end(folder, "claude", id_, NOW)
    later = bound(folder, id_)
    assert (later.agent, later.role) == ("claude-1", None)


def test_a_session_of_an_unknown_process_is_live_while_it_is_seen(folder: str) -> None:
    session = bound(folder, "a", pid=0)
    assert sessions.is_live(session)
    assert not sessions.is_live(session._replace(seen_at=NOW - 86_400))


@proves("sessions/belongs")
def test_a_process_finds_its_session_by_its_ancestors(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TELEX_SESSION", raising=False)
    bound(folder, "other", pid=1)
    bound(folder, "mine", "dev")
    code = "import sys; from telex.surfaces.clients.sessions import of_process; print(of_process(sys.argv[1]).id)"
    shell = ["sh", "-c", '"$0" -c "$1" "$2"; true', sys.executable, code, folder]
    assert subprocess.run(shell, capture_output=True, text=True, check=True).stdout == "mine\n"


@proves("sessions/belongs")
def test_a_process_finds_its_session_by_a_variable(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bound(folder, "a", pid=0)
    bound(folder, "b", client="codex", pid=0)
    monkeypatch.setenv("TELEX_SESSION", "codex:b")
    found = sessions.of_process(folder)
    assert found is not None
    assert found.agent == "codex-1"
    monkeypatch.delenv("TELEX_SESSION")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "a")
    found = sessions.of_process(folder)
    assert found is not None
    assert found.agent == "claude-1"


# --- files ------------------------------------------------------------------------------------------------------------
@proves("sessions/private")
def test_bindings_are_private_and_links_and_foreign_files_are_not_read(folder: str, tmp_path: Path) -> None:
    session = bound(folder, "a")
    [file] = Path(folder).iterdir()
    assert (file.stat().st_mode & 0o777, Path(folder).stat().st_mode & 0o777) == (0o600, 0o700)
    assert sessions.load(folder, "claude", "a") == session
    file.chmod(0o644)  # as git would have made it
    assert sessions.load(folder, "claude", "a") is None
    file.chmod(0o600)
    file.rename(tmp_path / "elsewhere.json")
    file.symlink_to(tmp_path / "elsewhere.json")
    assert sessions.load(folder, "claude", "a") is None
    assert sessions.all_sessions(folder) == []
    sessions.save(folder, session._replace(announced=7))
    assert not file.is_symlink()
    assert parse((tmp_path / "elsewhere.json").read_text())["announced"] == 0


@proves("sessions/private")
@pytest.mark.parametrize("place", [{}, {"place": 1}, {"place": None}])
def test_a_file_that_came_with_a_repository_is_not_read(folder: str, place: dict[str, object]) -> None:
    os.mkdir(folder, 0o700)
    file = Path(folder) / "claude-a.json"
    session = Session("claude", "a", "dev", pid=1, started_at=9e9, socket="/tmp/other.sock")
    file.write_text(dump(session._asdict() | place))
    file.chmod(0o600)  # a clone under umask 077, or an archive
    assert sessions.all_sessions(folder) == []
    assert bound(folder, "b", "dev").agent == "dev"


@proves("sessions/private")
def test_a_session_folder_that_was_copied_is_not_read(folder: str, tmp_path: Path) -> None:
    bound(folder, "a", "dev")
    there = tmp_path / "copy" / "sessions"
    shutil.copytree(folder, there)
    assert sessions.all_sessions(str(there)) == []
    os.rename(folder, tmp_path / "moved")
    assert [session.agent for session in sessions.all_sessions(str(tmp_path / "moved"))] == ["dev"]


@proves("sessions/private")
def test_a_folder_that_is_a_link_is_neither_read_nor_written(tmp_path: Path, folder: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    Path(folder).symlink_to(elsewhere)
    with pytest.raises(OSError, match=r"."):
        bound(folder, "a")
    assert list(elsewhere.iterdir()) == []
    assert sessions.all_sessions(folder) == []


@proves("sessions/private")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"client":"claude"}',
        '{"client":"claude","id":"a","agent":7}',
        '{"client":"claude","id":"a","agent":"dev","state":"asleep"}',
        '{"client":"claude","id":"a","agent":"dev","pid":true}',
        '{"client":"claude","id":"a","agent":"dev","pid":-1}',
        '{"client":"claude","id":"other","agent":"dev"}',
        "[" * 60_000,
        '{"client":"claude","id":"a","agent":"dev","cwd":"' + "x" * 70_000,
    ],
)
def test_a_damaged_file_is_no_binding(folder: str, text: str) -> None:
    bound(folder, "a")
    [file] = Path(folder).iterdir()
    file.write_text(text.replace("{", f'{{"place":{Path(folder).stat().st_ino},', 1))
    assert sessions.load(folder, "claude", "a") is None
    bound(folder, "b")
    assert bound(folder, "a").agent == "claude-2"


@proves("sessions/ids")
@given(st.text(max_size=300), st.text(max_size=20))
def test_the_file_of_any_id_lies_in_the_folder(session_id: str, client: str) -> None:
    name = sessions.file_name(client, session_id)
    assert "/" not in name
    assert "\0" not in name
    assert not name.startswith(".")
    assert len(name) < 200


@proves("sessions/ids")
@pytest.mark.parametrize("session_id", ["../../x", "..", "", "a/b", "x" * 5_000, "\0", "\ud800"])
def test_a_hostile_id_is_bound_like_any_other(folder: str, session_id: str) -> None:
    bound(folder, session_id, "dev")
    assert sorted(os.listdir(os.path.dirname(folder))) == ["sessions"]
    found = sessions.load(folder, "claude", session_id)
    assert found is not None
    assert (found.id, found.agent) == (session_id, "dev")


@proves("sessions/told")
def test_of_many_processes_one_tells_a_session(folder: str) -> None:
    session = bound(folder, "a")
    with ThreadPoolExecutor(8) as threads:
        claims = list(threads.map(lambda _: sessions.claim_announcement(folder, session, 5), range(40)))
    assert claims.count(True) == 1
    assert not sessions.claim_announcement(folder, session, 4)
    assert sessions.claim_announcement(folder, session, 6)


def test_old_bindings_are_deleted(folder: str) -> None:
    old = bound(folder, "a")
    sessions.save(folder, old._replace(state="ended", seen_at=NOW - 30 * 86_400))
    kept = bound(folder, "b", "dev")
    sessions.prune(folder, NOW)
    assert sessions.all_sessions(folder) == [kept]


# --- reach ------------------------------------------------------------------------------------------------------------
@proves("sessions/reach")
def test_how_an_agent_can_be_reached(folder: str) -> None:
    assert sessions.reach(folder, "dev") == ""
    session = bound(folder, "a", "dev")
    assert sessions.reach(folder, "dev") == "mid-turn"
    sessions.save(folder, session._replace(state="idle"))
    assert sessions.reach(folder, "dev") == "only when asked"
    sessions.save(folder, session._replace(state="idle", pane="%1"))
    assert sessions.reach(folder, "dev") == "idle wake"
    sessions.save(folder, session._replace(state="ended"))
    assert sessions.reach(folder, "dev") == ""


# --- JSON -------------------------------------------------------------------------------------------------------------
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(TREES)
def test_what_is_dumped_parses_to_the_same(tree: object) -> None:
    assert parse(dump(tree)) == tree


@pytest.mark.parametrize("text", ["", "{", "nul", "{} x", "NaN", "[1,]", '{"a":1,}', "9" * 5_000, "[" * 100_000])
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(text)
