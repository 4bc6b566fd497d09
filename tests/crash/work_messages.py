"""What do those say whose work is interrupted? A few words stand for a whole message, so that it can be said again.

Under the same id the same words make the same bytes, in whichever life they are said.
"""

from typing import Any

from telex.dialects.builtin.vbw_typed import SHUTDOWN_REQUEST, SHUTDOWN_RESPONSE, VBW_TYPED
from telex.dialects.schema import Tree
from telex.dialects.write import write
from tests.bus.bus_team import flow
from tests.work.contract_team import answer, ask, contract, report, typed

LEADS, DEVS = "lead", "dev"  # roles; what an agent is called begins with its role, or with `mortal`
PLANS, TASKS = ("P1", "P2"), ("T1", "T2")


def role_of(agent: str) -> str:
    return LEADS if agent.startswith("lead") else DEVS


def sending(id_: str, sender: str, words: tuple[str, ...]) -> dict[str, Any]:
    """What `send` is told."""
    raw, to = _letter(id_, sender, words)
    beside = {"id": id_} if words == ("note",) else {}
    return {"raw": raw, "sender": sender, "role": role_of(sender), "to": to, **beside}


def _letter(id_: str, sender: str, words: tuple[str, ...]) -> tuple[bytes, str]:
    match words:
        case ("note",):
            return f"note {id_}\n".encode(), "role:lead"
        case ("contract", plan, number):
            return _typed(contract(plan, allowed_paths=["src/", f"lib{number}/"]), id_), "role:dev"
        case ("report", plan, task, status):
            files = ["src/a.py"] if status == "complete" else ["lib1/a.py"]
            return _typed(report(plan, task, files, status=status), id_), "role:lead"
        case ("ask", task):
            return _typed(ask(task=task), id_), "role:lead"
        case ("answer", request, by, approved):
            return _typed(answer(request, ["docs/"], approved=approved == "yes"), id_), by
        case ("stop", agent):
            return _typed(typed(SHUTDOWN_REQUEST, ""), id_), agent
        case ("stopped", request):
            return _typed(typed(SHUTDOWN_RESPONSE, "", request_id=request), id_), "role:lead"
        case ("move", task, came_from, goes_to):
            payload = {"taskId": task, "fromState": came_from, "toState": goes_to, "reason": "on it goes"}
            return flow("STATE_TRANSITION", id_, sender, "lead-1", task, payload=payload), "lead-1"
    raise AssertionError(words)


def _typed(tree: Tree, id_: str) -> bytes:
    return write(VBW_TYPED, tree | {"id": id_}, "").encode()
