"""Which settings are there? One table, from which the reader, the example and the documentation are made."""

from typing import NamedTuple

from telex.model.limits import LIMITS

SEVERITIES = {
    "unknown_fields": ("note", "refusal"),
    "misdelivery": ("warning", "refusal"),
}
EVIDENCES = ("mark", "refuse", "off")
DURABILITIES = ("full", "normal")


class Setting(NamedTuple):
    takes: str
    default: str
    says: str
    example: str  # as it would stand in the file


TEAM: dict[str, Setting] = {
    "name": Setting("text", "none", "What the team is called: `telex team` shows it.", '"release crew"'),
    "strict": Setting(
        "`true`, `false`", "`true`", "Whether a refusal stops a message. A lenient team is told the same.", "true"
    ),
    "dialect": Setting(
        "a dialect's name", "none", "The team's own dialect: it wins when a message fits two.", '"vbw-typed"'
    ),
    "dialects": Setting(
        "a list of paths",
        "`[]`",
        "Files that declare dialects of your own, as seen from this file.",
        '["dialects/release-train.toml"]',
    ),
    "unknown_fields": Setting("`note`, `refusal`", "`note`", "What a field is that its type does not have.", '"note"'),
    "misdelivery": Setting(
        "`warning`, `refusal`", "`warning`", "What a message is that goes to a role not meant to get it.", '"warning"'
    ),
    "work_rules": Setting(
        "`true`, `false`",
        "`true`",
        "Whether contracts, approvals, shutdowns and task states are kept to. Without them messages are delivered, "
        "whatever went before.",
        "true",
    ),
    "evidence": Setting(
        "`mark`, `refuse`, `off`",
        "`mark`",
        "What is done about a report whose commit or files the git repository speaks against: it passes and is marked, "
        "it is refused, or nobody looks.",
        '"mark"',
    ),
}
MEMBER: dict[str, Setting] = {
    "role": Setting("a role", "the name, if that is a role", "What the member may send and receive.", '"dev"'),
    "dialects": Setting(
        "a list of dialects' names, each with or without a version",
        "what it says when it joins, or any",
        "What the member reads, its first choice first: whatever is written otherwise reaches it translated.",
        '["vbw-typed@2.0"]',
    ),
}
STORE: dict[str, Setting] = {
    "path": Setting(
        "a path",
        "`.telex/telex.db`",
        "Where messages are stored, as seen from this file, or the address of a hub. `--store` and `TELEX_STORE` go"
        " before it.",
        '".telex/telex.db"',
    ),
    "durability": Setting(
        "`full`, `normal`",
        "`full`",
        "`full`: what was stored is on disk and outlives a power cut. `normal`: faster, and a power cut may undo the "
        "last messages that were said to be stored; a crash of Telex or of an agent undoes nothing either way.",
        '"full"',
    ),
}
TASK_STATES: dict[str, Setting] = {
    "first": Setting("a state", "needed", "Where a task is before anything was said of it.", '"todo"'),
    "assigned": Setting("a state", "needed", "Where its TASK_ASSIGNMENT brings it.", '"doing"'),
    "working": Setting("a state", "needed", "What a STATUS_UPDATE that says FAILED counts for.", '"doing"'),
}
STATE: dict[str, Setting] = {
    "goes_to": Setting("a list of states", "`[]`", "Where a task goes from here when all is well.", '["done"]'),
    "fails_to": Setting("a list of states", "`[]`", "Where it goes when this state has failed.", '["doing"]'),
    "escalates_to": Setting("a state", "none", "Where it goes once enough has failed here, and not before.", '"stuck"'),
    "escalates_after": Setting(
        "a number", "3", "How many failures are enough; in a state that others escalate to: how many stays.", "3"
    ),
}


class ValueBounds(NamedTuple):
    least: float
    most: float
    says: str


_DAY, _YEAR = 86_400.0, 366 * 86_400.0
_INT64 = 2**63
LIMIT_BOUNDS: dict[str, ValueBounds] = {
    "message_bytes_max": ValueBounds(1_024, 64 * 1_048_576, "The largest message taken."),
    "front_matter_bytes_max": ValueBounds(64, 1_048_576, "The largest front matter read."),
    "depth_max": ValueBounds(8, 128, "How many levels deep a message may be nested."),
    "integer_min": ValueBounds(-_INT64, 0, "The smallest whole number a message may hold."),
    "integer_max": ValueBounds(1, _INT64 - 1, "The largest whole number a message may hold."),
    "id_characters_max": ValueBounds(26, 1_024, "How long the id of a message may be."),
    "found_characters_max": ValueBounds(8, 1_000, "How much of a wrong value a finding repeats."),
    "findings_max": ValueBounds(1, 10_000, "How many findings are told of one message."),
    "attempts_max": ValueBounds(1, 30, "How often a message is offered before it is dead."),
    "backoff_seconds": ValueBounds(0, _DAY, "The wait after the first failed attempt; it doubles each time."),
    "lease_seconds": ValueBounds(0.1, _DAY, "How long a reader may hold a message without a word."),
    "dedup_window_seconds": ValueBounds(0, 30 * _DAY, "How long the same id is taken for the same message."),
    "request_seconds": ValueBounds(0.1, 30 * _DAY, "How long an answer may take."),
    "escalation_seconds": ValueBounds(
        0.1, 30 * _DAY, "How long an escalation waits before it goes one step further up."
    ),
    "conversation_seconds": ValueBounds(1, 30 * _DAY, "The silence after which a conversation is over."),
    "silent_seconds": ValueBounds(1, 30 * _DAY, "How long an agent does nothing before it is shown as silent."),
    "retention_seconds": ValueBounds(60, 100 * _YEAR, "How long messages and events are stored and can be searched."),
    "reason_characters_max": ValueBounds(80, 100_000, "How much of a reason is stored; the rest belongs in a message."),
    "inbox_max": ValueBounds(1, 10_000_000, "How many messages may wait in one inbox."),
    "receive_max": ValueBounds(1, 100_000, "How many messages one call may lease."),
}


_MANY = 1_000_000
HUB_BOUNDS: dict[str, ValueBounds] = {
    "head_seconds": ValueBounds(1, 600, "From the first byte of a request to the end of its headers."),
    "body_seconds": ValueBounds(1, 3_600, "From there to the end of its body."),
    "write_seconds": ValueBounds(1, 3_600, "A client that reads next to nothing for so long is cut off."),
    "idle_seconds": ValueBounds(10, 3_600, "Between two requests of one connection; clients end theirs sooner."),
    "head_bytes_max": ValueBounds(8_192, 1_048_576, "The address and the headers of a request."),
    "body_bytes_max": ValueBounds(65_536, 2**30, "A body; sixteen times the largest message, where that is more."),
    "bodies_bytes_max": ValueBounds(
        1_048_576, 2**40, "All bodies that are held at once; one of the largest always is."
    ),
    "connections_max": ValueBounds(16, _MANY, "Connections in all, or as many as the operating system allows."),
    "connections_per_peer_max": ValueBounds(4, _MANY, "Connections from one address that is not this machine."),
    "requests_max": ValueBounds(16, _MANY, "Requests open at once in all, those that wait and those who watch."),
    "requests_per_token_max": ValueBounds(4, _MANY, "Requests open at once with one token."),
    "viewers_max": ValueBounds(1, _MANY, "Viewers of live events, in all."),
    "viewers_per_token_max": ValueBounds(1, _MANY, "Viewers of live events with one token."),
}


def hub_default(name: str) -> int | float:
    from telex.model.hub_limits import HUB_LIMITS  # most who read settings are no hub

    value: int | float = getattr(HUB_LIMITS, name)
    return value


def limit_default(name: str) -> int | float:
    value: int | float = getattr(LIMITS, name)
    return value


def number(value: float) -> str:
    """A number as one would write it: 10,000 and 0.1, never 10000.0."""
    return f"{int(value):,}" if value == int(value) else f"{value:g}"
