"""Hooks of coding tools that check before a tool call: written paths, and messages between teammates."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.ports.store import Query
from telex.surfaces.clients import sessions
from telex.surfaces.clients.calls import patched_paths
from telex.surfaces.clients.hook import is_plain
from telex.surfaces.clients.table import CLIENTS
from telex.validation.contracts import judge
from tests.clients.hook_kit import (
    BASE,
    PATCH,
    RECORDED,
    Hook,
    Project,
    decision_of,
    empty,
    filled_store,
    hook,
    hook_process,
    project,
    text_of,
    tool,
    write,
)
from tests.proofs import proves
from tests.work.contract_team import contract

__all__ = ["empty", "filled_store", "hook", "project"]


# --- guard ------------------------------------------------------------------------------------------------------------
@proves("hooks/guard-settings")
@pytest.mark.parametrize(
    "client, mode, decision",
    [
        ("claude", "deny", "deny"),
        ("claude", "ask", "ask"),
        ("claude", "off", None),
        ("qwen", "ask", "ask"),
        ("codex", "ask", "deny"),  # a hook of Codex cannot ask
        ("gemini", "ask", "deny"),
        ("gemini", "off", None),
    ],
)
def test_telex_toml_decides_what_the_guard_does(
    client: str, mode: str, decision: str | None, project: Project, hook: Hook
) -> None:
    (project.root / "telex.toml").write_text(f'[hooks]\nguard = "{mode}"\n')
    [name, *_] = CLIENTS[client].writes
    event = CLIENTS[client].event_of("before_tool")
    assert event is not None
    path = {CLIENTS[client].writes[name]: f"{RECORDED}/src/mail/x.py"}
    assert decision_of(hook(project, client, event, tool(name, **path))) == decision


DENIED = [
    write("src/mail/x.py"),
    write(f"{RECORDED}/src/mail/x.py"),
    write(f"{RECORDED}/src/auth/../mail/x.py"),
    write("src/auth/link/x.py"),
    write(f"{RECORDED}/.telex/telex.db"),
    write("telex.toml"),
    tool("Edit", file_path=f"{RECORDED}/src/mail/x.py"),
    tool("MultiEdit", file_path=f"{RECORDED}/src/mail/x.py"),
    tool("NotebookEdit", notebook_path=f"{RECORDED}/src/mail/x.ipynb"),
    tool("apply_patch", command=PATCH.format("src/mail/x.py")),
    tool("apply_patch", command=PATCH.format("src/auth/x.py") + PATCH.format("src/mail/x.py")),
    tool("Bash", command=f"cd . && apply_patch <<'EOF'\n{PATCH.format('src/mail/x.py')}EOF\n"),
    BASE | {"tool_name": "Write", "tool_input": json.dumps({"file_path": "src/mail/x.py"})},
]
ALLOWED = [
    write("src/auth/x.py"),
    write("/etc/passwd"),
    write("../elsewhere/x.py"),
    write(""),
    write("a\0b"),
    tool("Read", file_path=f"{RECORDED}/src/mail/x.py"),
    tool("Bash", command="echo x > src/mail/x.py"),
    tool("apply_patch", command=PATCH.format("src/auth/x.py")),
    tool("Write", file_path=7),
    tool("Write"),
    BASE | {"tool_name": "Write", "tool_input": "no JSON"},
]


@proves("hooks/guard-paths")
@pytest.mark.parametrize("payload", DENIED, ids=range(len(DENIED)))
def test_paths_that_are_denied(payload: dict[str, Any], project: Project, hook: Hook) -> None:
    for folder in ("src/auth", "src/mail"):
        (project.root / folder).mkdir(parents=True)
    (project.root / "src/auth/link").symlink_to("../mail")
    assert decision_of(hook(project, "claude", "PreToolUse", payload)) == "deny"


@proves("hooks/guard-paths")
@pytest.mark.parametrize("payload", ALLOWED, ids=range(len(ALLOWED)))
def test_paths_that_pass(payload: dict[str, Any], project: Project, hook: Hook) -> None:
    assert hook(project, "claude", "PreToolUse", payload) == (0, "", "")
    assert project.log() == ""


@proves("hooks/guard-paths")
def test_a_relative_path_begins_in_the_folder_of_the_payload(project: Project, hook: Hook) -> None:
    (project.root / "src/auth").mkdir(parents=True)
    inside = BASE | {"cwd": f"{RECORDED}/src/auth"}
    assert hook(project, "claude", "PreToolUse", write("x.py") | inside) == (0, "", "")
    assert decision_of(hook(project, "claude", "PreToolUse", write("../x.py") | inside)) == "deny"


@proves("hooks/guard-paths")
def test_every_path_of_a_patch_is_found() -> None:
    heads = ("Add File: a", "Update File: b c", "Move to: d", "Delete File: e", "Add File: a")
    patch = "*** Begin Patch\n" + "".join(f"*** {head}\n+*** no head\n" for head in heads) + "*** End Patch"
    assert patched_paths(patch) == ["a", "b c", "d", "e"]


@proves("hooks/guard-request")
def test_the_request_in_the_text_allows_the_write_once_it_is_approved(project: Project, hook: Hook) -> None:
    text = text_of(hook(project, "claude", "PreToolUse", write("src/mail/x.py")))
    [line] = [line for line in text.split("\n") if "tool `send`" in line]
    arguments = json.loads(line[line.index("{") :])
    with project.bus() as bus:
        receipt = bus.send(arguments["message"], sender="dev", to=arguments["to"])
        assert receipt.accepted, receipt.findings
        assert bus.approve(receipt.id, approved=True, reason="fine", agent="lead").accepted
    assert hook(project, "claude", "PreToolUse", write("src/mail/x.py")) == (0, "", "")


@proves("hooks/guard-paths")
def test_an_agent_without_a_contract_is_guarded_again_when_it_gets_one(project: Project, hook: Hook) -> None:
    inside, linked = write("src/mail/x.py"), write("src/link/x.py")
    (project.root / "src/mail").mkdir(parents=True)
    (project.root / "src/link").symlink_to("/etc")
    for _ in range(2):
        assert hook_process(project, "claude", "PreToolUse", inside, TELEX_AGENT="qa") == (0, "", "")
    for payload in (linked, write(".git/config"), write("a/aux.py")):
        assert decision_of(hook_process(project, "claude", "PreToolUse", payload, TELEX_AGENT="qa")) == "deny"
    [session] = sessions.all_sessions(project.sessions)
    assert session.unguarded
    with project.bus() as bus:
        assert bus.send(contract("Q", allowed_paths=["tests/"]), sender="lead", to="qa").accepted
    assert decision_of(hook_process(project, "claude", "PreToolUse", inside, TELEX_AGENT="qa")) == "deny"


@proves("hooks/guard")
def test_a_subagent_is_covered_by_the_contract_of_its_session(project: Project, hook: Hook) -> None:
    subagent = {"agent_id": "a1", "agent_type": "general-purpose"}
    for _ in range(2):
        denied = hook(project, "claude", "PreToolUse", write("src/mail/x.py") | subagent)
        assert decision_of(denied) == "deny"
        assert "telex send --as dev --to lead" in text_of(denied)  # the session requests it
        assert hook(project, "claude", "PreToolUse", write("src/auth/x.py") | subagent) == (0, "", "")


@proves("hooks/guard-paths")
@given(st.lists(st.text("abGITgit.:~ -_\\conTELEXtelex.toml$0é", min_size=1), min_size=1, max_size=3).map("/".join))
def test_a_path_that_passes_without_a_look_passes_the_guard(path: str) -> None:
    if is_plain(path, "/no/such/project"):
        assert judge(path, ()).code is None


@proves("hooks/guard")
def test_an_agent_without_a_contract_may_write(project: Project, hook: Hook) -> None:
    assert hook(project, "claude", "PreToolUse", write("src/mail/x.py"), TELEX_AGENT="newcomer") == (0, "", "")
    assert project.log() == ""


# --- messages between teammates ---------------------------------------------------------------------------------------
INVALID = {"type": "dev_blocker", "task": "1"}
VALID = {"type": "dev_blocker", "task": "T1", "plan_id": "P1", "blocker": "no table", "needs": "a table"}


@proves("hooks/native-check")
@pytest.mark.parametrize(
    "message, decision",
    [
        (INVALID, "deny"),
        (json.dumps(INVALID), "deny"),
        ("The build is red.", None),
        ('{"some": "JSON"}', None),
        ('{"type": "unknown_to_telex"}', None),
        ('{"type": ', None),
        ({"type": "shutdown_request", "request_id": "1"}, None),
        ({"type": "shutdown_response", "request_id": "1", "approve": True}, None),
        ({"type": "plan_approval_request", "request_id": "1"}, None),
        ({"type": "plan_approval_response", "request_id": "1", "approve": False}, None),
        ({"type": "idle_notification", "from": "dev1"}, None),
        (7, None),
        (None, None),
    ],
)
def test_only_an_invalid_message_of_a_dialect_is_denied(
    message: Any, decision: str | None, project: Project, hook: Hook
) -> None:
    ran = hook(project, "claude", "PreToolUse", tool("SendMessage", to="dev1", message=message))
    assert decision_of(ran) == decision
    assert project.log() == ""
    if decision:
        assert "field-missing" in text_of(ran)


def sent(text: Any, **more: Any) -> dict[str, Any]:
    response = {"success": True, "msg_id": "native-1", "routing": {"sender": "team-lead", "target": "@dev1"}}
    return tool("SendMessage", to="dev1", message=text) | {"tool_response": response} | more


@proves("hooks/native-record")
def test_a_native_message_is_recorded_and_not_delivered_again(project: Project, hook: Hook) -> None:
    payload = sent("Look at the tests, dev1.")
    assert hook(project, "claude", "PostToolUse", payload) == (0, "", "")
    with project.bus() as bus:
        [history] = bus.why("native-1")
        assert (history.message.sender, history.message.to) == ("dev", "dev/dev1")
        assert (history.state, history.deliveries) == ("recorded", ())
        assert [event.kind for event in history.events] == ["imported"]
        assert bus.search("tests")[0].id == "native-1"
    teammate = {"agent_id": "a1", "agent_type": "dev1"}
    assert hook(project, "claude", "TeammateIdle", BASE | teammate) == (0, "", "")


@proves("hooks/native-record")
def test_the_answer_of_a_teammate_is_recorded_under_its_name(project: Project, hook: Hook) -> None:
    payload = sent(VALID, agent_id="a1", agent_type="dev1") | {
        "tool_input": {"to": "team-lead", "message": json.dumps(VALID)}
    }
    hook(project, "claude", "PostToolUse", payload)
    with project.bus() as bus:
        [history] = bus.why("native-1")
    assert (history.message.sender, history.message.to) == ("dev/dev1", "dev")
    assert history.message.type == "dev_blocker"


@proves("hooks/native-record")
def test_a_native_message_that_was_not_sent_is_not_recorded(project: Project, hook: Hook) -> None:
    for response in ({"success": False}, {"success": "true"}, "sent", None):
        hook(project, "claude", "PostToolUse", sent("Look.", tool_response=response))
    with project.bus() as bus:
        assert [event for event, _ in bus.events(Query(kinds=("imported",)))] == []
