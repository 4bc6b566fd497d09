"""A dialect as somebody else might declare it, with names and shapes that the built-in ones do not have."""

from telex.dialects.schema import (
    ANY,
    BOOLEAN,
    COUNT,
    MOMENT,
    NOTE,
    OPEN,
    TEXT,
    TEXTS,
    Anything,
    Dialect,
    EnvelopeFields,
    Field,
    FieldDefault,
    Group,
    HardRule,
    Integer,
    ListOf,
    MapOf,
    MessageType,
    Number,
    fields,
    one_of,
    types_by_name,
)


def rule(code: str, broken_when: str, path: str = "class") -> HardRule:
    return HardRule(code, broken_when, path, f"Fix {path}: */ | `so`.")


DISPATCH = MessageType(
    name="message",  # the name that the generated union would like to have
    purpose="A patrol goes out.\nIt ends */ here.",
    senders=("policy",),
    receivers=("patrol", "driver"),
    priority="ERROR",
    fields={
        "class": Field(one_of("red alert", "amber", "2.0")),
        "call-sign": Field(TEXT),
        "crew": Field(Integer(at_least=1, at_most=4)),
        "weights": Field(ListOf(Number(at_least=0.5))),
        "stops": Field(ListOf(Group(fields({"name": TEXT, "kind": one_of("pick", "drop")}, {"at": MOMENT})))),
        "notes": Field(MapOf(ListOf(NOTE)), required=False),
        "lights": Field(BOOLEAN, required=False, later_spelling="lamps"),
        "limit": Field(COUNT, required=False),
        "extra": Field(OPEN, required=False),
        "any": Field(Anything(), required=False),
    },
    rules=(
        rule("red-needs-crew", "class == 'red alert' and crew < 2"),
        rule("drop-needs-weights", "'drop' in stops[].kind and len(weights) == 0", "weights"),
        rule("crew-over-limit", "crew > limit", "crew"),
        rule("policy-is-not-driver", "sender == 'driver' and to != 'patrol'", "to"),
    ),
    fillings=(FieldDefault("limit", "not has(limit)", 4),),
    example={
        "type": "message",
        "sender": "policy",
        "class": "amber",
        "call-sign": "K9",
        "crew": 2,
        "weights": [1.5],
        "stops": [{"name": "Mill", "kind": "pick"}],
    },
    reply="done",
)
DONE = MessageType(
    name="done",
    purpose="It is done.",
    senders=("patrol", "driver"),
    receivers=("policy",),
    priority="STATUS",
    fields=fields({"from": one_of("here", "there"), "ok": BOOLEAN}),
    example={"type": "done", "sender": "patrol", "from": "here", "ok": True},
)
SHOUT = MessageType(
    name="shout",
    purpose="Anything, to anyone.",
    senders=ANY,
    receivers=ANY,
    priority="ESCALATION",
    fields=fields({"say": TEXT}, {"files": TEXTS}),
    example={"type": "shout", "sender": "driver", "say": "Stop"},
)
OWN = Dialect(
    name="radio",
    version="0.3",
    purpose="A radio room.",
    form="json",
    roles=("policy", "patrol", "driver", "listener"),
    envelope=fields(
        {"sender": one_of("policy", "patrol", "driver", "listener")}, {"to": one_of("policy", "patrol", "driver")}
    ),
    wire=EnvelopeFields(sender="sender", recipient="to"),
    types=types_by_name([DISPATCH, DONE, SHOUT]),
)
