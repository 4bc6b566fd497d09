"""How is a long topic folded by somebody who alone holds its state? In place.

A fold gives a new state and leaves the old one as it was, which takes a copy of all that was ever said in the topic for
every message more. Who goes through the whole work of a team and keeps no earlier state needs no copy: `mutable_state`
makes the state such a one, and the same fold then writes into it. To everybody who reads it, it is the same state.
"""

from collections.abc import Callable
from typing import Any

from telex.model import shutdown
from telex.model.shutdown import ShutdownState
from telex.work import mutable_contracts
from telex.work.approval_requests import request_index
from telex.work.plan_lookup import CONTRACTS
from telex.work.tasks import Task

OWN_FROM = 32  # requests in a task


def mutable_state(kind: str, state: Any) -> Any:
    """The same state of a topic of that kind, for somebody who alone holds it from now on."""
    own = _HOW.get(kind)
    return own(state) if own is not None else state


def _task(state: Task) -> Task:
    """Its steps never need a copy, whoever holds them; and few requests are as soon copied as made one's own."""
    asks = request_index(state.asks)
    return state if asks.is_own or len(asks) < OWN_FROM else state._replace(asks=asks.owned())


def _shutdowns(state: ShutdownState) -> ShutdownState:
    calls = state.known
    return state if calls.is_own else ShutdownState(calls.owned())


_HOW: dict[str, Callable[[Any], Any]] = {
    CONTRACTS: mutable_contracts.mutable_contracts,
    "task": _task,
    shutdown.TOPIC: _shutdowns,
}
OWNED = frozenset(_HOW)  # the kinds that have something to own
