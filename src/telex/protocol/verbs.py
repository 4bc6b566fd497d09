"""Table of verbs: HTTP method, path and permission of each method of the bus.

Arguments, defaults and results are derived from `ports.bus.Bus`, so a new argument is available on every surface.
Routes, the OpenAPI document, the client and the docs are generated from this table.
"""

import inspect
from functools import cache
from typing import Any, Literal, get_args, get_origin

from telex.model.message import Delivery, Event, Rendering, StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.ports.bus import Bus
from telex.ports.store import Query
from telex.protocol.codec import is_value, type_hints

# agent: under its own name. reader: any authenticated caller. operator: a person, or a caller with a person's token
May = Literal["agent", "reader", "operator"]
Body = Literal["none", "json", "message"]  # message: the body is the message itself, and the arguments are in the query


class Verb(NamedTuple):
    name: str  # of the method of the bus
    method: Literal["GET", "POST"]
    path: str
    may: May
    acts: str | None = None  # the argument that names the acting agent
    body: Body = "none"
    changes: bool = True  # False: it only reads
    created: bool = False  # it may store a new message: status 201
    group: str = "messages"
    by: str | None = None  # the argument that names a lead or a person who acts for the agent


VERBS: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        Verb("send", "POST", "/send", "agent", "sender", "message", created=True),
        Verb("request", "POST", "/request", "agent", "sender", "message", created=True),
        Verb("receive", "POST", "/receive", "agent", "agent", "json"),
        Verb("ack", "POST", "/ack", "agent", "agent", "json"),
        Verb("nack", "POST", "/nack", "agent", "agent", "json"),
        Verb("extend", "POST", "/extend", "agent", "agent", "json"),
        Verb("read", "POST", "/read", "agent", "agent", "json"),
        Verb("inbox", "GET", "/inbox/{agent}", "agent", "agent", changes=False),
        Verb("why", "GET", "/messages/{id}", "reader", changes=False, group="the record"),
        Verb("settled", "GET", "/messages/{id}/settled", "reader", changes=False, group="the record"),
        Verb("rendering", "GET", "/messages/{id}/rendering", "reader", changes=False, group="the record"),
        Verb("events", "GET", "/events", "reader", changes=False, group="the record"),
        Verb("search", "GET", "/search", "reader", changes=False, group="the record"),
        Verb("trace", "GET", "/trace/{correlation}", "reader", changes=False, group="the record"),
        Verb("conversations", "GET", "/conversations", "reader", changes=False, group="the record"),
        Verb("states", "POST", "/states", "reader", body="json", changes=False, group="the record"),
        Verb("import_messages", "POST", "/import", "operator", body="json", group="the record"),
        Verb("work_state", "GET", "/work-state/{kind}", "reader", changes=False, group="the work"),
        Verb("guard", "POST", "/guard", "agent", "agent", "json", changes=False, group="the work"),
        Verb("escalations", "GET", "/escalations", "reader", changes=False, group="the work"),
        Verb("stall", "GET", "/stall", "reader", changes=False, group="the work"),
        Verb("approve", "POST", "/approve", "agent", "agent", "json", created=True, group="the work"),
        Verb("roster", "GET", "/roster", "reader", changes=False, group="the team"),
        Verb("join", "POST", "/join", "agent", "name", "json", group="the team", by="by"),
        Verb("wake", "POST", "/wake", "agent", "agent", "json", group="the team", by="by"),
        Verb("leave", "POST", "/leave", "agent", "name", "json", group="the team"),
        Verb("shut_down", "POST", "/shut_down", "operator", "agent", "json", group="the team"),
        Verb("dead_letters", "GET", "/dead", "reader", changes=False, group="dead letters"),
        Verb("retry", "POST", "/dead/retry", "operator", "agent", "json", group="dead letters"),
        Verb("drop", "POST", "/dead/drop", "operator", "agent", "json", group="dead letters"),
        Verb("sweep", "POST", "/sweep", "operator", body="json", group="the record"),
    )
}
NOT_ON_THE_WIRE = (
    "self",
    "raw",
    "resolve",
    "message",
    "query",
    "follow",
    "check",
)  # in the body, or local to the caller


class InboxMessage(NamedTuple):
    """A message and its delivery to one inbox."""

    delivery: Delivery
    message: StoredMessage


class WaitingMessage(NamedTuple):
    """A message that waits in an inbox, and the form in which its reader gets it: null is the message itself."""

    delivery: Delivery
    message: StoredMessage
    rendering: Rendering | None = None


class EventRecord(NamedTuple):
    """An event and the message that it is about."""

    event: Event
    message: StoredMessage | None


class Argument(NamedTuple):
    name: str
    kind: Any
    default: Any = None
    required: bool = False


# Arguments that differ from those of the method: a message is named by id and number, a query by its fields.
_ARGUMENTS: dict[str, tuple[Argument, ...]] = {
    "rendering": (Argument("id", str, required=True), Argument("seq", int | None), Argument("agent", str, None, True)),
    "events": (
        *(Argument(name, kind, Query._field_defaults[name]) for name, kind in type_hints(Query).items()),
        Argument("limit", int, 100),
        Argument("wait", float | None),
    ),
}
_RESULTS: dict[str, Any] = {
    "events": list[EventRecord],
    "inbox": list[WaitingMessage],
    "dead_letters": list[InboxMessage],
}
_RECORDS = (EventRecord, WaitingMessage, InboxMessage)
RENDERED = "rendering"  # key of the rendering beside the fields of a message
WITH_RENDERING = frozenset({"read"})  # verbs whose result is a message with that key


@cache
def arguments(name: str) -> dict[str, Argument]:
    """The arguments of a verb in a request, by name."""
    if name in _ARGUMENTS:
        return {argument.name: argument for argument in _ARGUMENTS[name]}
    method = getattr(Bus, name)
    kinds, wanted = type_hints(method), {}
    for key, parameter in inspect.signature(method).parameters.items():
        if key not in NOT_ON_THE_WIRE:
            required = parameter.default is inspect.Parameter.empty
            wanted[key] = Argument(key, kinds[key], None if required else parameter.default, required)
    return wanted


@cache
def answer_kind(name: str) -> Any:
    """The type of the verb's result in a response."""
    return _RESULTS.get(name) or type_hints(getattr(Bus, name))["return"]


def as_response(name: str, answer: Any) -> Any:
    """The result in the schema of the response: with named fields in place of tuples."""
    kind = answer_kind(name)
    if get_origin(kind) is list and (record := get_args(kind)[0]) in _RECORDS:
        return [record(*row) for row in answer]
    return answer


def is_wrapped(name: str) -> bool:
    """Whether the response has the result under `answer`, because it is not an object itself."""
    return not is_value(answer_kind(name))


def summary(name: str) -> str:
    """The first paragraph of the method's docstring."""
    text = inspect.getdoc(getattr(Bus, name)) or name
    return " ".join(text.split("\n\n")[0].split())


@cache
def work_state_kinds() -> dict[str, Any]:
    """The type of a topic of each kind."""
    from telex.model.contracts import ContractIndex, Plan
    from telex.model.work import Escalation, ShutdownState
    from telex.work.approvals import Approval
    from telex.work.blockers import Blocker
    from telex.work.pipeline import Work
    from telex.work.tasks import Task
    from telex.work.view import FOLDS

    known = {
        "plan": Plan,
        "contracts": ContractIndex,
        "approval": Approval,
        "task": Task,
        "shutdown": ShutdownState,
        "escalation": Escalation,
        "blocker": Blocker | None,
        "work": Work,
    }
    return {kind: known.get(kind, Any) for kind in FOLDS}
