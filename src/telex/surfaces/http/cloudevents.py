"""Decoder of CloudEvents 1.0 in structured mode.

`data` is taken from the JSON text unchanged, so that the stored bytes are those of the sender. The event's attributes
are the envelope: id, claimed sender, recipient. Its `type` is ignored: a message has its own.
"""

import base64
import binascii
import json
import re
from typing import Any, NamedTuple
from urllib.parse import unquote

from telex.dialects.parse.json import DuplicateKeys, read_json, scan
from telex.model.finding import Finding
from telex.model.json_path import ROOT, join
from telex.model.limits import LIMITS, Limits
from telex.model.suggestion import nearest

ONE, MANY = "application/cloudevents+json", "application/cloudevents-batch+json"
SPECVERSION = "1.0"
REQUIRED = {
    "id": "the message's id; a repeated id is stored once",
    "source": "the name of the agent that sends it",
    "specversion": SPECVERSION,
    "type": "telex.DIALECT.TYPE, or any other",
}
TAKEN = (*REQUIRED, "subject", "time", "datacontenttype", "dataschema", "correlationid", "replyto", "traceparent")
DATA, BASE64 = "data", "data_base64"
SAID_BY = {"--id": "id", "--correlation": "correlationid", "--reply-to": "replyto"}  # in words of the command line
_NAME = re.compile(r"[a-z0-9]+")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


class ReceivedEvent(NamedTuple):
    """A message received as an event, with the event's attributes."""

    raw: bytes
    id: str
    sender: str  # as claimed; the caller authenticates it
    type: str
    to: str | None = None
    reply_to: str | None = None
    correlation: str | None = None
    traceparent: str | None = None


Flaws = tuple[Finding, ...]


# --- in --------------------------------------------------------------------------------------------------------------


def read_event(body: bytes, limits: Limits = LIMITS) -> ReceivedEvent | Flaws:
    """The message in an event, or all findings on the event."""
    text = _text(body)
    if isinstance(text, Finding):
        return (text,)
    tree = tree_in(text)
    if isinstance(tree, Finding):
        return (tree,)
    if not isinstance(tree, dict):
        say = f"Send one event as an object, or several as {MANY}."
        return (Finding("not-an-object", ROOT, say, expected="an object", found=_short(tree, limits)),)
    findings = (
        _doubled(tree) + _odd_names(tree, limits) + _missing(tree) + _wrong(tree, limits) + _wrong_data(tree, limits)
    )
    if findings:
        return tuple(findings[: limits.findings_max])
    return ReceivedEvent(
        raw=_message(tree, text),
        id=tree["id"],
        sender=unquote(tree["source"]),
        type=tree["type"],
        to=tree.get("subject"),
        reply_to=tree.get("replyto"),
        correlation=tree.get("correlationid"),
        traceparent=tree.get("traceparent"),
    )


def read_batch(body: bytes, limits: Limits = LIMITS) -> list[ReceivedEvent | Flaws] | Flaws:
    """The message in each event of a batch. An invalid event does not affect the others."""
    text = _text(body)
    if isinstance(text, Finding):
        return (text,)
    tree = tree_in(text)
    if isinstance(tree, Finding):
        return (tree,)
    if not isinstance(tree, list):
        say = f"Send a batch as a list of events, or a single one as {ONE}."
        return (Finding("wrong-type", ROOT, say, expected="a list of events", found=_short(tree, limits)),)
    return [read_event(part.encode(), limits) for part in _parts(text)]


def in_words_of_the_event(findings: Flaws) -> Flaws:
    """Findings of the bus, with paths of the event's attributes."""
    return tuple(_in_its_words(finding) for finding in findings)


def _in_its_words(finding: Finding) -> Finding:
    option = next((option for option in SAID_BY if option in finding.say), None)
    if option is None or finding.code not in ("id-differs", "id-not-allowed"):
        return finding
    path = join(ROOT, SAID_BY[option])
    if option == "--id" and finding.code == "id-differs":  # an event has to have one
        say = f"Give the event the id that its data has, {finding.expected}, or take that out of the data."
        return finding._replace(path=path, say=say)
    return finding._replace(path=path, say=finding.say.replace(option, SAID_BY[option]))


def _text(body: bytes) -> str | Finding:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        say = f"Encode the event as UTF-8: byte {error.start} is invalid; binary data goes into {BASE64}."
        return Finding("not-utf8", ROOT, say, expected="UTF-8", found=f"byte 0x{body[error.start]:02x}")


def tree_in(text: str) -> Any:
    read = read_json(text, len(text) - len(text.lstrip(" \t\r\n")))
    if read.findings:
        return read.findings[0]
    if text[read.end :].strip(" \t\r\n"):
        say = f"Send nothing after the event; several go as {MANY}."
        return Finding("several-messages", ROOT, say, expected="the end", found=text[read.end :].strip()[:20])
    return read.value


def _doubled(tree: dict[str, Any]) -> list[Finding]:
    doubled = tree.keys_doubled if isinstance(tree, DuplicateKeys) else ()
    return [Finding("duplicate-key", join(ROOT, name), f"Give {name!r} once: it occurs twice.") for name in doubled]


def _odd_names(tree: dict[str, Any], limits: Limits) -> list[Finding]:
    """Names that no event may have. To pass over `correlationId` would lose what the sender meant by it."""
    findings = []
    for name in tree:
        if _NAME.fullmatch(name) or name == BASE64:
            continue
        short = name[: limits.found_characters_max]
        meant = nearest(name.lower().replace("_", ""), (*TAKEN, DATA))
        say = f"Call it {meant}" if meant else f"Rename {short!r}"
        say += ": names of attributes consist of a to z and 0 to 9."
        findings.append(Finding("field-unknown", join(ROOT, short), say, found=short, nearest=meant))
    return findings


def _missing(tree: dict[str, Any]) -> list[Finding]:
    return [
        Finding("field-missing", join(ROOT, name), f"Add {name}: {meaning}.", expected=meaning)
        for name, meaning in REQUIRED.items()
        if tree.get(name) is None
    ]


def _wrong(tree: dict[str, Any], limits: Limits) -> list[Finding]:
    findings = []
    for name in TAKEN:
        value = tree.get(name)
        if value is None:
            continue
        path, short = join(ROOT, name), _short(value, limits)
        if not isinstance(value, str):
            findings.append(Finding("wrong-type", path, f"Give {name} as text.", expected="text", found=short))
        elif not value:
            findings.append(Finding("text-empty", path, f"Give {name} a value, or leave it out.", found=short))
        elif name == "specversion" and value != SPECVERSION:
            say = f"Send an event of version {SPECVERSION}: no other is supported."
            findings.append(Finding("not-one-of", path, say, expected=SPECVERSION, found=short, nearest=SPECVERSION))
        elif name == "time" and not _MOMENT.fullmatch(value):
            say = "Write the time like 2026-01-31T09:30:00Z, or leave it out."
            findings.append(Finding("timestamp-malformed", path, say, expected="2026-01-31T09:30:00Z", found=short))
    return findings + scan({name: tree[name] for name in TAKEN if isinstance(tree.get(name), str)}, limits)


def _wrong_data(tree: dict[str, Any], limits: Limits) -> list[Finding]:
    data, coded = tree.get(DATA), tree.get(BASE64)
    if data is not None and coded is not None:
        say = f"Give the message as {DATA} or as {BASE64}, not both."
        return [Finding("field-unknown", join(ROOT, BASE64), say, expected=f"{DATA} or {BASE64}")]
    if coded is not None and _decoded(coded) is None:
        say = f"Write {BASE64} in the base64 of RFC 4648, or give the message as {DATA}."
        return [Finding("wrong-type", join(ROOT, BASE64), say, expected="base64", found=_short(coded, limits))]
    if data is None and coded is None:
        say = f"Add {DATA}: the message itself, as an object or as text; or {BASE64}."
        return [Finding("field-missing", join(ROOT, DATA), say, expected="the message")]
    return []


def _decoded(coded: Any) -> bytes | None:
    if not isinstance(coded, str):
        return None
    try:
        return base64.b64decode(coded, validate=True)
    except (binascii.Error, ValueError):
        return None


def _message(tree: dict[str, Any], text: str) -> bytes:
    """An object byte for byte as it stands in the event; text as the text that it is."""
    coded = _decoded(tree.get(BASE64))
    if coded is not None:
        return coded
    data = tree[DATA]
    if isinstance(data, str):
        return data.encode("utf-8", "surrogatepass")  # half a character is refused where every message is looked at
    parts = _parts(text)  # names and values in turn
    return next(value for name, value in zip(parts[::2], parts[1::2], strict=True) if json.loads(name) == DATA).encode()


def _parts(text: str) -> list[str]:
    """What stands in an object or a list that could be read, each part as it was written."""
    parts, at = [], _past(text, 0) + 1
    while text[at := _past(text, at)] not in "]}":
        end = read_json(text, at).end
        parts.append(text[at:end])
        at = _past(text, end)
        at += text[at] in ",:"
    return parts


def _past(text: str, at: int) -> int:
    """Behind the blanks that stand here."""
    while text[at] in " \t\r\n":
        at += 1
    return at


def _short(value: Any, limits: Limits) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = value if isinstance(value, str) else json.dumps(value)
    return text[: limits.found_characters_max]
