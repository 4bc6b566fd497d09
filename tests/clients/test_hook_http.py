"""Hooks of coding tools through a running hub."""

import asyncio
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

import telex
from telex.config import Settings
from telex.surfaces.clients import sessions
from telex.surfaces.http.app import Hub
from telex.surfaces.http.auth import AuthMiddleware
from telex.surfaces.http.hooks import hook_routes
from telex.surfaces.http.tokens import TokenFile, new_token
from tests.clients.hook_kit import (
    Hook,
    Project,
    Recorded,
    empty,
    filled_store,
    hook,
    payload_of,
    project,
    recorded,
)
from tests.http.auth_kit import KNOWN, STRANGER, Answered, ask
from tests.proofs import proves

__all__ = ["empty", "filled_store", "hook", "project"]
CLAUDE = [one for one in recorded() if one.client == "claude"]


def post(
    project: Project, one: Recorded, query: str = "?as=dev", tokens: TokenFile | None = None, **more: Any
) -> Answered:
    async def run() -> Answered:
        async with telex.connect(project.store) as bus:
            app = AuthMiddleware(KNOWN, tokens)(Hub(bus, Settings(), hook_routes(str(project.store))))
            path, body = f"/hook/{one.client}/{one.event}{query}", project.stdin(one.payload)
            return await ask(app, path, method="POST", body=body, **more)

    return asyncio.run(run())


def masked(text: str) -> str:
    """Without the id and the time of a request that each denied write offers."""
    return re.sub(r"[0-7][0-9A-HJKMNP-TV-Z]{25}|\d{4}-\d\d-\d\dT[\d:.]+Z", "…", text)


@proves("hooks/http")
@pytest.mark.parametrize("one", CLAUDE, ids=lambda one: one.name)
def test_a_hub_answers_as_the_command_does(one: Recorded, project: Project, hook: Hook) -> None:
    project.mail()
    answered = post(project, one)
    for file in project.root.glob(".telex/sessions/*"):
        file.unlink()
    ran = hook(project, one.client, one.event, one.payload)
    assert answered.status == 200
    if ran.code == 2:
        assert answered.json == {"decision": "block", "reason": ran.err.strip()}
    else:
        assert masked(answered.body.decode()) == masked(ran.out.strip() or "{}")


@proves("hooks/http")
def test_a_hub_answers_only_for_projects_that_use_its_store(project: Project, tmp_path: Any) -> None:
    project.mail()
    one = payload_of("claude/UserPromptSubmit")
    other = one._replace(payload=one.payload | {"cwd": str(tmp_path)})
    assert post(project, other).json == {}
    assert post(project, one).json != {}


@proves("hooks/http")
def test_a_hub_answers_no_hook_of_another_machine(project: Project) -> None:
    project.mail()
    answered = post(project, payload_of("claude/UserPromptSubmit"), peer=STRANGER)
    assert answered.status in (401, 404)


@proves("hooks/http-token")
def test_a_token_is_answered_for_sessions_of_its_agent_only(project: Project, tmp_path: Path) -> None:
    project.mail("for lead", to="lead", sender="dev")
    tokens = TokenFile(str(tmp_path / "tokens.json"))
    token, text = new_token(agent="dev", role="dev", operator=False, now=time.time())
    tokens.add(token)
    headers = {"Authorization": f"Bearer {text}"}
    start = payload_of("claude/SessionStart")
    post(project, start, "?as=lead")  # a session of lead's
    theirs = sessions.all_sessions(project.sessions)
    project.mail("secret", to="lead", sender="dev")
    for name in ("UserPromptSubmit", "SessionEnd", "Stop", "SessionStart"):
        answered = post(project, payload_of(f"claude/{name}"), "?as=lead", tokens, headers=headers)
        assert (answered.status, answered.json) == (200, {}), name
        assert sessions.all_sessions(project.sessions) == theirs
    project.mail("for dev")
    for number in range(2):  # the name of the token, though another live session has it
        own = start._replace(payload=start.payload | {"session_id": f"own-{number}"})
        assert "for dev." in post(project, own, "?as=lead", tokens, headers=headers).body.decode()


@proves("hooks/http-token")
def test_a_request_that_a_proxy_passes_on_is_not_of_this_machine(project: Project, tmp_path: Path) -> None:
    project.mail()
    tokens = TokenFile(str(tmp_path / "tokens.json"))
    token, text = new_token(agent="dev", role="dev", operator=False, now=time.time())
    tokens.add(token)
    headers = {"Authorization": f"Bearer {text}", "X-Forwarded-For": "203.0.113.9"}
    one = payload_of("claude/UserPromptSubmit")
    assert post(project, one, tokens=tokens, headers=headers).status == 404


@proves("hooks/http-token")
def test_a_hook_without_a_session_has_no_answer_at_the_hub(project: Project) -> None:
    project.mail()
    one = payload_of("claude/UserPromptSubmit")
    anonymous = one._replace(payload={name: value for name, value in one.payload.items() if name != "session_id"})
    assert post(project, anonymous).json == {}


@proves("hooks/http")
@pytest.mark.parametrize("raw", [b"", b"no JSON", b"[" * 100_000, b"7"])
def test_hostile_input_at_the_hub_ends_in_an_empty_answer(raw: bytes, project: Project) -> None:
    async def run() -> Answered:
        async with telex.connect(project.store) as bus:
            app = AuthMiddleware(KNOWN)(Hub(bus, Settings(), hook_routes(str(project.store))))
            return await ask(app, "/hook/claude/Stop", method="POST", body=raw)

    assert asyncio.run(run()).json == {}


def test_the_answer_is_json(project: Project) -> None:
    project.mail()
    answered = post(project, payload_of("claude/Stop"))
    assert answered.headers["content-type"].startswith("application/json")
    assert json.loads(answered.body)["decision"] == "block"
