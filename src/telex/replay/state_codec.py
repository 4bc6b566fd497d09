"""How is the state of a topic written down for a while, to be read again by the same process?

As its values one after the other, which is quick: what they are is told by the kind of the topic. What cannot be
written so, such as half a character or a very large number, is written as a snapshot has it.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import msgspec

from telex.model.contracts import Plan, PlanSummary
from telex.model.escalation import Escalation
from telex.model.task_states import TaskHistory
from telex.work.approval_requests import RequestIndex
from telex.work.approvals import Approval
from telex.work.blockers import Blocker
from telex.work.pipeline.state import Work
from telex.work.snapshots import decode_state, encode_state
from telex.work.tasks import Task


class EvictedPlan(NamedTuple):
    """A plan that has left the list of contracts for a while."""

    number: int  # by which it stands there
    plan: bytes
    tasks: bytes  # a mark for each


LISTED, LEFT = "listed", "left"  # no kinds of topics: a plan in the list of contracts, and those that have left it
_KINDS: dict[str, Any] = {
    "plan": Plan,
    "approval": Approval,
    "task": Task,
    "blocker": Blocker | None,
    "escalation": Escalation,
    "climb": str | None,
    "work": Work,
    LISTED: tuple[int, PlanSummary],
    LEFT: tuple[EvictedPlan, ...],
}
_SNAPSHOT = b"["  # so begins what is written as a snapshot, and no other state


def packed(state: Any) -> bytes:
    """It, written down.

    Raises:
        ValueError: there is no way to do it, since a number in it is beyond all measure.
    """
    try:
        return _encode(state)
    except (ValueError, OverflowError):
        return encode_state(state).encode("utf-8", "surrogatepass")


def unpacked(kind: str, data: bytes) -> Any:
    if data.startswith(_SNAPSHOT):
        return decode_state(data.decode("utf-8", "surrogatepass"))
    return _decoder(kind)(data)


@cache
def _decoder(kind: str) -> Callable[[bytes], Any]:
    decode = msgspec.msgpack.Decoder(_KINDS[kind]).decode
    return (lambda data: _as_task(decode(data))) if kind == "task" else decode


def _as_task(task: Task) -> Task:
    """What was a list of its own kind has become a plain one."""
    return task._replace(steps=TaskHistory(task.steps), asks=RequestIndex(task.asks))


def _plainly(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else list(value)


_encode = msgspec.msgpack.Encoder(enc_hook=_plainly).encode
