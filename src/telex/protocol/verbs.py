"""Table of verbs: HTTP method, path and permission of each method of the bus.

Arguments, defaults and results are derived from `ports.bus.Bus`, so a new argument is available on every surface.
Routes, the OpenAPI document, the client and the docs are generated from this table.
"""

import inspect
from functools import cache
from typing import Any, Literal, NamedTuple, get_args, get_origin

from telex.model.delivery import Delivery
from telex.model.event import Event
from telex.model.message import Message, Rendering
from telex.ports.bus import Bus
from telex.ports.store import Query
from telex.protocol.type_hints import is_value, type_hints

# agent: under its own name. reader: anybody who was let in. operator: a person, or whoever has a person's token
May = Literal["agent", "reader", "operator"]
Body = Literal["none", "json", "message"]  # message: the body is the message itself, and the arguments are in the query


class Verb(NamedTuple):
    name: str  # of the bus
    method: Literal["GET", "POST"]
    path: str
    may: May
    acts: str | None = None  # the argument that names who acts
    body: Body = "none"
    changes: bool = True  # does it change anything? Asking twice is then not the same as asking once
    created: bool = False  # a new message may come of it
    group: str = "messages"
    by: str | None = None  # the argument that names who does it for another: a lead or a person


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
        Verb("leave", "POST", "/leave", "agent", "name", "json", group="the team"),
        Verb("shut_down", "POST", "/shut_down", "operator", "agent", "json", group="the team"),
        Verb("dead_letters", "GET", "/dead", "reader", changes=False, group="dead letters"),
        Verb("retry", "POST", "/dead/retry", "operator", "agent", "json", group="dead letters"),
        Verb("drop", "POST", "/dead/drop", "operator", "agent", "json", group="dead letters"),
        Verb("sweep", "POST", "/sweep", "operator", body="json", group="the record"),
    )
}
NOT_ON_THE_WIRE = ("self", "raw", "resolve", "message", "query", "follow")  # the body, what only those at hand have


class InboxMessage(NamedTuple):
    """A message and its way into one inbox."""

    delivery: Delivery
    message: Message


class WaitingMessage(NamedTuple):
    """A message that waits in an inbox, and what its reader is given in its place: null is the message itself."""

    delivery: Delivery
    message: Message
    rendering: Rendering | None = None


class EventRecord(NamedTuple):
    """Something that happened, and the message that it happened to."""

    event: Event
    message: Message | None


NAMED: dict[Any, Any] = {tuple[Delivery, Message]: InboxMessage, tuple[Event, Message | None]: EventRecord}


class Argument(NamedTuple):
    name: str
    kind: Any
    default: Any = None
    required: bool = False


# Where the wire has other arguments than the verb: a message is named by its number, a query is its fields.
_OTHERS: dict[str, tuple[Argument, ...]] = {
    "rendering": (Argument("id", str, required=True), Argument("seq", int | None), Argument("agent", str, None, True)),
    "events": (
        *(Argument(name, kind, Query._field_defaults[name]) for name, kind in type_hints(Query).items()),
        Argument("limit", int, 100),
        Argument("wait", float | None),
    ),
}  # fmt: skip


@cache
def arguments(name: str) -> dict[str, Argument]:
    """The arguments of a verb on the wire, by name."""
    if name in _OTHERS:
        return {argument.name: argument for argument in _OTHERS[name]}
    verb = getattr(Bus, name)
    kinds, found = type_hints(verb), {}
    for parameter in inspect.signature(verb).parameters.values():
        if parameter.name not in NOT_ON_THE_WIRE:
            required = parameter.default is inspect.Parameter.empty
            default = None if required else parameter.default
            found[parameter.name] = Argument(parameter.name, kinds[parameter.name], default, required)
    return found


_OTHER_ANSWERS: dict[str, Any] = {"events": list[EventRecord], "inbox": list[WaitingMessage]}
RENDERED = "rendering"  # beside a message that an agent looks at: what it is given in its place
LOOKED_AT = frozenset({"read"})  # whose answer is a message with that beside its own fields


@cache
def answer_kind(name: str) -> Any:
    """What the verb answers, on the wire."""
    if name in _OTHER_ANSWERS:
        return _OTHER_ANSWERS[name]
    kind = type_hints(getattr(Bus, name))["return"]
    if get_origin(kind) is list:
        [one] = get_args(kind)
        return list[NAMED.get(one, one)]  # type: ignore[misc]
    return kind


def told(name: str, answer: Any) -> Any:
    """The answer with names for what only has places."""
    kind = answer_kind(name)
    inner = get_args(kind)
    if get_origin(kind) is list and inner[0] in (InboxMessage, WaitingMessage, EventRecord):
        return [inner[0](*one) for one in answer]
    return answer


def is_wrapped(name: str) -> bool:
    """Is the answer put into an object, as `answer`? Whatever is no object itself, so that there is always one."""
    kind = answer_kind(name)
    return not is_value(kind) and kind != _RECEIPT_OR_MORE.get(name)


_RECEIPT_OR_MORE = {name: type_hints(getattr(Bus, name))["return"] for name in ("request", "join")}


def summary(name: str) -> str:
    """The first sentence of what the verb says of itself."""
    text = inspect.getdoc(getattr(Bus, name)) or name
    return " ".join(text.split("\n\n")[0].split())


@cache
def work_state_kinds() -> dict[str, Any]:
    """What a topic of each kind holds."""
    from telex.model.contracts import ContractIndex, Plan
    from telex.model.escalation import Escalation
    from telex.model.shutdown import ShutdownState
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
