"""What the tests of contracts share: the messages of a small team that works under them."""

import copy
import itertools
from typing import Any

from telex.dialects.builtin.vbw_typed import (
    APPROVAL_REQUEST,
    APPROVAL_RESPONSE,
    CONTRACT_CLOSE,
    EXECUTION_UPDATE,
    PLAN_CONTRACT,
)
from telex.dialects.schema import MessageType, Tree
from telex.model.finding import Finding
from telex.ports.bus import Receipt
from tests.bus.bus_team import Team

_numbers = itertools.count(1)


def typed(type_: MessageType, task: str = "T1", role: str | None = None, id: str | None = None, **payload: Any) -> Tree:
    """The type's example under an id of its own, with these fields in its payload; None takes one out."""
    tree = copy.deepcopy(type_.example)
    tree["id"], tree["task"] = id or f"m-{next(_numbers)}", task
    if role is not None:
        tree["author_role"] = role
    tree["payload"] = {name: one for name, one in (tree["payload"] | payload).items() if one is not None}
    return tree


def contract(plan: str = "P", **words: Any) -> Tree:
    plain: dict[str, Any] = {
        "tasks": ["T1", "T2"],
        "allowed_paths": ["src/"],
        "forbidden_paths": [".env"],
        "token_budget": None,
    }
    return typed(PLAN_CONTRACT, plan_id=plan, **plain | words)


def close(plan: str = "P", role: str = "lead", **more: Any) -> Tree:
    return typed(CONTRACT_CLOSE, "", role, plan_id=plan, **more)


def report(plan: str = "P", task: str = "T1", files: list[str] | None = None, **more: Any) -> Tree:
    plain: dict[str, Any] = {"plan_id": plan, "task_id": task, "files_modified": files or [], "status": "partial"}
    return typed(EXECUTION_UPDATE, task, **plain | more)


def ask(kind: str = "scope_change", task: str = "T1", **more: Any) -> Tree:
    return typed(APPROVAL_REQUEST, task, request_type=kind, options=None, deadline=None, **more)


def answer(request: str, paths: list[str] | None = None, *, approved: bool = True, **more: Any) -> Tree:
    plain: dict[str, Any] = {"request_id": request, "approved": approved, "modifications": paths, "conditions": None}
    return typed(APPROVAL_RESPONSE, role="lead", **plain | more)


def send(team: Team, tree: Tree, to: str | None = None, sender: str | None = None) -> Receipt:
    """From whom it says it is; to the other of lead and dev, unless somebody is named."""
    sender = sender or tree["author_role"]
    return team.bus.send(tree, sender=sender, to=to or ("dev" if sender == "lead" else "lead"), check=False)


def kept(team: Team, tree: Tree, to: str | None = None, sender: str | None = None) -> Receipt:
    receipt = send(team, tree, to, sender)
    assert receipt.accepted, receipt.findings
    return receipt


def granted(team: Team, paths: list[str], kind: str = "scope_change", task: str = "T1", **more: Any) -> str:
    """Have dev ask and lead approve. The id of the request."""
    request = kept(team, ask(kind, task))
    kept(team, answer(request.id, paths, **more))
    return request.id


def told(findings: tuple[Finding, ...]) -> list[tuple[str, str]]:
    """Code and place of each refusal."""
    return [(finding.code, finding.path) for finding in findings if finding.severity == "refusal"]


def warned(findings: tuple[Finding, ...]) -> list[str]:
    return [finding.code for finding in findings if finding.severity != "refusal"]
