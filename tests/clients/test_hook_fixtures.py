"""Every recorded event of every client, through `telex hook`."""

import os
from typing import Any

import pytest

from telex.surfaces.clients.table import (
    AFTER_TOOL,
    BEFORE_TOOL,
    CLIENTS,
    IDLE,
    PROMPT,
    START,
    STOP,
    SUBAGENT_START,
    SUBAGENT_STOP,
)
from tests.clients.hook_kit import (
    Hook,
    Project,
    Recorded,
    empty,
    filled_store,
    form_of,
    hook,
    hook_process,
    payload_of,
    project,
    recorded,
    text_of,
)
from tests.proofs import proves

__all__ = ["empty", "filled_store", "hook", "project"]

EVENTS = pytest.mark.parametrize("one", recorded(), ids=lambda one: one.name)
TELL: dict[str, Any] = {
    "claude": lambda event: {"hookSpecificOutput": {"hookEventName": event, "additionalContext": "…"}},
    "copilot": lambda event: {"additionalContext": "…"},
}
TELL["gemini"] = TELL["claude"]
DENY: dict[str, Any] = {
    "claude": lambda event: {
        "hookSpecificOutput": {
            "hookEventName": event,
            "permissionDecision": "deny",
            "permissionDecisionReason": "…",
        }
    },
    "copilot": lambda event: {"permissionDecision": "deny", "permissionDecisionReason": "…"},
    "gemini": lambda event: {"decision": "deny", "reason": "…"},
}
BLOCK = {"claude": {"decision": "block", "reason": "…"}, "gemini": {"decision": "deny", "reason": "…"}}
BLOCK["copilot"] = BLOCK["claude"]


def moment_of(one: Recorded) -> str | None:
    return CLIENTS[one.client].events.get(one.event)


def agent_of(one: Recorded) -> str:
    return f"dev/{one.payload['agent_type']}" if "agent_id" in one.payload else "dev"


def is_outside(one: Recorded) -> bool:
    return moment_of(one) == BEFORE_TOOL and "src/mail/" in str(one.payload) and "inbox" not in one.name


def test_every_client_has_recorded_events_of_the_main_moments() -> None:
    for client in CLIENTS:
        moments = {moment_of(one) for one in recorded() if one.client == client}
        assert {START, PROMPT, BEFORE_TOOL, AFTER_TOOL, STOP} <= moments, client


@proves("hooks/no-store")
@EVENTS
def test_without_a_store_a_hook_is_silent_and_creates_nothing(one: Recorded, empty: Project, hook: Hook) -> None:
    ran = hook(empty, one.client, one.event, one.payload, **one.env)
    assert ran == (0, "", "")
    assert [path.name for path in empty.root.iterdir()] == [".git"]


@proves("hooks/quiet")
@EVENTS
def test_without_mail_and_inside_the_contract_a_hook_is_silent(one: Recorded, project: Project, hook: Hook) -> None:
    ran = hook(project, one.client, one.event, one.payload, **one.env)
    if is_outside(one) or one.name.endswith("PreToolUse-SendMessage"):
        assert ran.out
    else:
        assert ran == (0, "", "")
    assert project.log() == ""


@proves("hooks/mail")
@EVENTS
def test_mail_is_announced_in_the_form_of_the_client(one: Recorded, project: Project, hook: Hook) -> None:
    agent, moment = agent_of(one), moment_of(one)
    if agent != "dev":
        with project.bus() as bus:
            bus.join(agent, role="agent")
    message = project.mail(to=agent)
    ran = hook(project, one.client, one.event, one.payload, **one.env)
    form = CLIENTS[one.client].form
    if moment == IDLE:
        assert (ran.code, ran.out) == (2, "")
    elif moment in (STOP, SUBAGENT_STOP) and one.payload.get("stop_hook_active"):
        assert ran == (0, "", "")
    elif moment in (STOP, SUBAGENT_STOP):
        assert form_of(ran) == BLOCK[form]
    elif moment in (START, PROMPT, AFTER_TOOL, SUBAGENT_START):
        assert form_of(ran) == TELL[form](one.event)
    else:
        assert message not in ran.out
    if ran.out and moment != BEFORE_TOOL:
        assert message in text_of(ran)
        assert f"telex receive --as {agent}" in text_of(ran)
    assert project.log() == ""


@proves("hooks/guard")
@pytest.mark.parametrize("one", [one for one in recorded() if is_outside(one)], ids=lambda one: one.name)
def test_a_write_outside_the_contract_is_denied_in_the_form_of_the_client(
    one: Recorded, project: Project, hook: Hook
) -> None:
    ran = hook(project, one.client, one.event, one.payload, **one.env)
    assert (ran.code, form_of(ran)) == (0, DENY[CLIENTS[one.client].form](one.event))
    text = text_of(ran)
    assert "path-outside-contract" in text
    assert "src/mail/" in text
    assert '"request_type":"scope_change"' in text


SAMPLE = ("claude/SessionStart", "claude-team/TeammateIdle", "codex/Stop", "copilot/sessionStart", "gemini/AfterAgent")


@proves("hooks/process")
@pytest.mark.parametrize("name", [*SAMPLE, "qwen/UserPromptSubmit", "opencode/event-session.idle"])
def test_a_process_answers_as_this_one_does(name: str, project: Project, hook: Hook) -> None:
    one = payload_of(name)
    with project.bus() as bus:
        bus.join(agent_of(one), role="agent" if "/" in agent_of(one) else None)
    project.mail(to=agent_of(one))
    ran = hook_process(project, one.client, one.event, one.payload, **one.env)
    for file in os.listdir(project.sessions):
        os.unlink(os.path.join(project.sessions, file))
    assert hook(project, one.client, one.event, one.payload, **one.env) == ran
    assert ran.out or ran.code == 2


# --- one plugin folder for several clients ----------------------------------------------------------------------------
SHARED = [
    ("copilot", "sessionStart", "SessionStart", "claude"),
    ("copilot", "userPromptSubmitted", "UserPromptSubmit", "claude"),
    ("copilot", "agentStop", "Stop", "claude"),
    ("copilot", "preToolUse-create-outside", "PreToolUse", "claude"),
    ("codex", "SessionStart", "SessionStart", "claude"),
    ("codex", "PreToolUse-Bash-apply_patch", "PreToolUse", "claude"),
    ("qwen", "SessionStart", "SessionStart", "gemini"),
    ("qwen", "PreToolUse-write_file-outside", "PreToolUse", "gemini"),
    ("qwen", "PreToolUse-write_file-outside", "BeforeTool", "gemini"),
]


@proves("hooks/caller")
@pytest.mark.parametrize("client, name, event, named", SHARED)
def test_a_client_that_uses_the_plugin_of_another_is_answered_in_its_own_form(
    client: str, name: str, event: str, named: str, project: Project, hook: Hook
) -> None:
    one = payload_of(f"{client}/{name}")
    project.mail()
    ran = hook(project, named, event, one.payload, **one.env)
    form = CLIENTS[client].form
    if event in ("PreToolUse", "BeforeTool"):
        assert form_of(ran) == DENY[form](event)
    else:
        assert form_of(ran) == (BLOCK[form] if event == "Stop" else TELL[form](event))
    files = os.listdir(project.sessions)
    assert [file.partition("-")[0] for file in files] == [client]


@proves("hooks/caller")
def test_the_end_of_a_codex_session_is_seen_in_the_plugin_of_claude(project: Project, hook: Hook) -> None:
    for name in ("SessionStart", "UserPromptSubmit", "SessionEnd"):
        one = payload_of(f"codex/{name}")
        hook(project, "claude", one.event, one.payload)
    [file] = os.listdir(project.sessions)
    assert file.startswith("codex-")
    assert '"state":"ended"' in (project.root / ".telex/sessions" / file).read_text()
