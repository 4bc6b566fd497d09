"""Table of all settings, and the example file made from it. The loader and docs/settings.md use the same table."""

from collections.abc import Mapping

from telex.model.limits import HUB_LIMITS, LIMITS
from telex.model.named_tuple import NamedTuple

SEVERITIES = {"unknown_fields": ("note", "refusal"), "misdelivery": ("warning", "refusal")}
UNTYPED = ("accept", "refuse")
EVIDENCES = ("mark", "refuse", "off")
DURABILITIES = ("full", "normal")
GUARDS = ("deny", "ask", "off")


class Setting(NamedTuple):
    takes: str
    default: str
    says: str
    example: str  # its value in the example file


TEAM: dict[str, Setting] = {
    "name": Setting("text", "none", "Name of the team, as `telex team` shows it.", '"release crew"'),
    "strict": Setting(
        "`true`, `false`",
        "`true`",
        "Whether a refusal stops a message. A lenient team gets the same findings, and the message is delivered.",
        "true",
    ),
    "dialect": Setting(
        "a dialect's name",
        "none",
        "Default dialect of the team: preferred when a message fits two. `signal-md@1.1` is read only if named here.",
        '"vbw-typed"',
    ),
    "dialects": Setting(
        "a list of paths",
        "`[]`",
        "Files that declare your own dialects, relative to this file.",
        '["dialects/release-train.toml"]',
    ),
    "unknown_fields": Setting("`note`, `refusal`", "`note`", "Severity of unknown fields.", '"note"'),
    "misdelivery": Setting(
        "`warning`, `refusal`",
        "`warning`",
        "Severity of a message to a role that its type is not addressed to.",
        '"warning"',
    ),
    "untyped": Setting(
        "`accept`, `refuse`",
        "`accept`",
        "Handling of plain text from agents: accept it, or refuse it with `untyped-refused`. Text of a person (role"
        " `human`) and of the role `orchestrator` is accepted either way.",
        '"accept"',
    ),
    "work_rules": Setting(
        "`true`, `false`",
        "`true`",
        "Whether contracts, approvals, shutdowns and task states are enforced. If not, messages are only delivered.",
        "true",
    ),
    "evidence": Setting(
        "`mark`, `refuse`, `off`",
        "`mark`",
        "Handling of a report whose commit or files contradict the git repository: accept and mark it, refuse it, or"
        " do not check.",
        '"mark"',
    ),
}
MEMBER: dict[str, Setting] = {
    "role": Setting("a role", "its name, if that is a role", "Role of the member.", '"dev"'),
    "dialects": Setting(
        "a list of dialects' names, each with or without a version",
        "what it gives when it joins, or any",
        "Dialects that the member reads, preferred first; messages in other dialects reach it translated.",
        '["vbw-typed@2.0"]',
    ),
}
STORE: dict[str, Setting] = {
    "path": Setting(
        "a path",
        "`.telex/telex.db`",
        "Where messages are stored: a path from this file, inside its folder, or the address of a hub; several hubs"
        " have commas between them. `--store` and `TELEX_STORE` go before it.",
        '".telex/telex.db"',
    ),
    "durability": Setting(
        "`full`, `normal`",
        "`full`",
        "`full`: every message is synced to disk before it is reported as stored. `normal`: faster, but a power cut may"
        " lose the last messages; a crash of Telex or of an agent loses nothing either way.",
        '"full"',
    ),
}
HOOKS: dict[str, Setting] = {
    "guard": Setting(
        "`deny`, `ask`, `off`",
        "`deny`",
        "What a hook of a coding tool does with a write that no contract of the agent allows: deny it, leave the"
        " decision to the person where the tool can ask, or nothing.",
        '"deny"',
    ),
}
NOTIFY_KINDS = ("approval", "escalation", "dead", "stall", "wake")
NOTIFY: dict[str, Setting] = {
    "command": Setting(
        "a list of texts",
        "none",
        "Program with its arguments. It is started without a shell and gets the notification as JSON on stdin.",
        '["notify-send", "Telex needs you"]',
    ),
    "webhook": Setting(
        "an address", "none", "Receiver of CloudEvents, each signed.", '"https://example.org/hooks/telex"'
    ),
    "webhook_secret": Setting(
        "`file:PATH`, `env:NAME`",
        "needed with `webhook`",
        "File or environment variable with the secret that signs.",
        '"file:webhook.key"',
    ),
    "ntfy": Setting("an address", "none", "Topic of an ntfy server.", '"https://ntfy.sh/telex-4f1c9a"'),
    "ntfy_token": Setting("`file:PATH`, `env:NAME`", "none", "Access token for the ntfy server.", '"env:NTFY_TOKEN"'),
    "slack": Setting(
        "an address, `file:PATH`, `env:NAME`",
        "none",
        "Incoming webhook of Slack, or of a chat that takes the same JSON. The address is the permission to post.",
        '"file:slack.url"',
    ),
    "links": Setting(
        "`true`, `false`",
        "`false`",
        "Whether a notification of a request for approval has a link that answers it, once, without a token.",
        "true",
    ),
    "public_url": Setting(
        "an address", "address of the hub", "Address of the hub in links.", '"https://hub.example.org"'
    ),
    "kinds": Setting(
        "a list of " + ", ".join(f"`{kind}`" for kind in NOTIFY_KINDS),
        "all",
        "What a person is notified of.",
        '["approval", "escalation"]',
    ),
}
TASK_STATES: dict[str, Setting] = {
    "first": Setting("a state", "needed", "Initial state of a task.", '"todo"'),
    "assigned": Setting("a state", "needed", "State after its TASK_ASSIGNMENT.", '"doing"'),
    "working": Setting("a state", "needed", "State whose failures a STATUS_UPDATE with FAILED counts.", '"doing"'),
}
STATE: dict[str, Setting] = {
    "goes_to": Setting("a list of states", "`[]`", "States that follow on success.", '["done"]'),
    "fails_to": Setting("a list of states", "`[]`", "States that follow on failure.", '["doing"]'),
    "escalates_to": Setting("a state", "none", "State that follows after `escalates_after` failures.", '"stuck"'),
    "escalates_after": Setting(
        "a number",
        "3",
        "Number of failures before an escalation; in a state that others escalate to: number of visits.",
        "3",
    ),
}


class ValueBounds(NamedTuple):
    least: float
    most: float
    says: str


_DAY, _YEAR = 86_400.0, 366 * 86_400.0
_INT64 = 2**63
LIMIT_BOUNDS: dict[str, ValueBounds] = {
    "message_bytes_max": ValueBounds(1_024, 64 * 1_048_576, "Maximum size of a message."),
    "front_matter_bytes_max": ValueBounds(64, 1_048_576, "Maximum size of front matter."),
    "depth_max": ValueBounds(8, 128, "Maximum nesting depth of a message."),
    "integer_min": ValueBounds(-_INT64, 0, "Minimum integer in a message."),
    "integer_max": ValueBounds(1, _INT64 - 1, "Maximum integer in a message."),
    "id_characters_max": ValueBounds(26, 1_024, "Maximum length of a message id."),
    "found_characters_max": ValueBounds(8, 1_000, "Maximum length of a value that a finding quotes."),
    "findings_max": ValueBounds(1, 10_000, "Maximum number of findings for one message."),
    "attempts_max": ValueBounds(1, 30, "Number of attempts before a message becomes a dead letter."),
    "backoff_seconds": ValueBounds(0, _DAY, "Backoff after the first failed attempt; it doubles each time."),
    "lease_seconds": ValueBounds(0.1, _DAY, "Length of a lease."),
    "hold_seconds_max": ValueBounds(
        0.1, 30 * _DAY, "Maximum time that an MCP server renews the lease of one message while its agent works on it."
    ),
    "dedup_window_seconds": ValueBounds(
        0, 30 * _DAY, "Deduplication window: how long a repeated id counts as the same message."
    ),
    "request_seconds": ValueBounds(0.1, 30 * _DAY, "Deadline for a reply."),
    "escalation_seconds": ValueBounds(0.1, 30 * _DAY, "Deadline before an escalation goes one step further up."),
    "conversation_seconds": ValueBounds(1, 30 * _DAY, "Time without messages after which a conversation is idle."),
    "silent_seconds": ValueBounds(1, 30 * _DAY, "Time without activity after which an agent is shown as silent."),
    "retention_seconds": ValueBounds(60, 100 * _YEAR, "Retention of messages and events."),
    "reason_characters_max": ValueBounds(80, 100_000, "Maximum length of a stored reason."),
    "inbox_max": ValueBounds(1, 10_000_000, "Maximum number of messages in one inbox."),
    "receive_max": ValueBounds(1, 100_000, "Maximum number of messages that one call leases."),
    "wake_grace_seconds": ValueBounds(0, 3_600, "Time from a message to the wake of an idle agent."),
    "wake_seen_seconds": ValueBounds(
        1, _DAY, "Time after which a wake without a reaction is withdrawn; a later message then wakes the agent again."
    ),
    "wakes_per_hour_max": ValueBounds(0, 3_600, "Maximum number of wakes of one agent in an hour; 0: none is woken."),
    "wake_quiet_from_hour": ValueBounds(
        0, 24, "Hour of local time from which no agent is woken, such as 22 or 22.5; no quiet hours if both are equal."
    ),
    "wake_quiet_until_hour": ValueBounds(0, 24, "Hour of local time until which no agent is woken."),
    "hub_connect_seconds": ValueBounds(0.1, 600, "Timeout for a connection to a hub that has not answered yet."),
    "hub_retry_seconds": ValueBounds(
        0, 3_600, "How long a client retries while a hub that has answered before is away, as in a restart."
    ),
}


class NotifyLimits(NamedTuple):
    batch_seconds: float = 10.0
    link_seconds: float = _DAY


NOTIFY_LIMITS = NotifyLimits()
NOTIFY_BOUNDS: dict[str, ValueBounds] = {
    "batch_seconds": ValueBounds(
        0, 3_600, "Time that an item waits for others before it is sent. An item answered by then is not sent."
    ),
    "link_seconds": ValueBounds(
        60, _DAY, "Maximum validity of an answer link; the deadline of its request may be earlier."
    ),
}

_MANY = 1_000_000
HUB_BOUNDS: dict[str, ValueBounds] = {
    "head_seconds": ValueBounds(1, 600, "Timeout for the headers of a request."),
    "body_seconds": ValueBounds(1, 3_600, "Timeout for the body of a request."),
    "write_seconds": ValueBounds(1, 3_600, "Time after which a client that does not read is disconnected."),
    "idle_seconds": ValueBounds(10, 3_600, "Idle time between two requests of one connection."),
    "head_bytes_max": ValueBounds(8_192, 1_048_576, "Maximum size of URL and headers; a URL has at most 65,535 bytes."),
    "body_bytes_max": ValueBounds(65_536, 2**30, "Maximum size of a body; at least sixteen times the largest message."),
    "bodies_bytes_max": ValueBounds(
        1_048_576, 2**40, "Maximum size of all bodies in memory; one body is always accepted."
    ),
    "connections_max": ValueBounds(16, _MANY, "Maximum number of connections, or what the operating system allows."),
    "connections_per_peer_max": ValueBounds(4, _MANY, "Maximum number of connections from one remote address."),
    "requests_max": ValueBounds(16, _MANY, "Maximum number of open requests, waiting ones and streams included."),
    "requests_per_token_max": ValueBounds(4, _MANY, "Maximum number of open requests per token."),
    "viewers_max": ValueBounds(1, _MANY, "Maximum number of event streams."),
    "viewers_per_token_max": ValueBounds(1, _MANY, "Maximum number of event streams per token."),
}


def number(value: float) -> str:
    """10,000 and 0.1, never 10000.0."""
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


_HEAD = """\
# telex.toml: the settings of a team, for this folder and all folders below it.
# Every line is optional; remove the # to change a setting.
"""


def example() -> str:
    """A telex.toml with every setting described and commented out."""
    parts = [
        _HEAD,
        "[team]\n" + _lines(TEAM),
        "# Declaring any member closes the team: no other agent can send or receive.\n"
        "# [team.members.ada]\n" + _lines(MEMBER),
        "[store]\n" + _lines(STORE),
        "[hooks]\n" + _lines(HOOKS),
        "[limits]\n" + _limit_lines(LIMIT_BOUNDS, LIMITS),
        "# Limits of a hub for its clients.\n[hub]\n" + _limit_lines(HUB_BOUNDS, HUB_LIMITS),
        "# Your own states for build-flow tasks, in place of the built-in ones.\n"
        "# [task_states]\n" + _lines(TASK_STATES),
        "# [task_states.states.doing]\n" + _lines(STATE),
        '# [task_states.states.todo]\n# goes_to = ["doing"]\n',
        "# [task_states.states.done]\n\n# [task_states.states.stuck]\n",
    ]
    return "\n".join(parts)


_NOTIFY_HEAD = """\
# notify.toml: where a hub of yours sends what waits for a person. It is read from your configuration folder
# (~/.config/telex) or from the file that telex serve --notify names, never from a project.
"""


def notify_example() -> str:
    """A notify.toml with every setting described and commented out."""
    return f"{_NOTIFY_HEAD}\n[notify]\n{_lines(NOTIFY)}{_limit_lines(NOTIFY_BOUNDS, NOTIFY_LIMITS)}"


def _lines(settings: Mapping[str, Setting]) -> str:
    lines = ""
    for name, setting in settings.items():
        choices = f" ({setting.takes.replace(', ', ' or ')})" if setting.takes.startswith("`") else ""
        lines += f"{_comment(setting.says + choices)}# {name} = {setting.example}\n"
    return lines


def _limit_lines(bounds: Mapping[str, ValueBounds], defaults: object) -> str:
    values = {name: number(getattr(defaults, name)).replace(",", "_") for name in bounds}
    return "".join(f"{_comment(bounds[name].says)}# {name} = {value}\n" for name, value in values.items())


def _comment(text: str) -> str:
    from textwrap import wrap

    lines = wrap(text.replace("`", ""), 114, break_long_words=False, break_on_hyphens=False)
    return "".join(f"# {line}\n" for line in lines)
