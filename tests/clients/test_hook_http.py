"""Hooks of coding tools through a running hub."""

import asyncio
import json
import re
from typing import Any

import pytest

import telex
from telex.config import Settings
from telex.surfaces.http.app import Hub
from telex.surfaces.http.auth import AuthMiddleware
from telex.surfaces.http.hooks import hook_routes
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


def post(project: Project, one: Recorded, query: str = "?as=dev", **more: Any) -> Answered:
    async def run() -> Answered:
        async with telex.connect(project.store) as bus:
            app = AuthMiddleware(KNOWN)(Hub(bus, Settings(), hook_routes(str(project.store))))
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
