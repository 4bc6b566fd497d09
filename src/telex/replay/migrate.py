"""Migration of a log to another version of a dialect, line by line.

A line keeps its form: of an export or a log record, only the message in it changes. A message of another dialect,
without a counterpart, or invalid in its own version is written unchanged, and counted with the reason.
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from math import isfinite
from typing import Any

from telex.dialects.scalars import format_timestamp
from telex.dialects.schema import Dialect, MessageType, Tree
from telex.dialects.write import write
from telex.model.finding import refusals
from telex.model.limits import LIMITS, Limits
from telex.model.named_tuple import NamedTuple
from telex.model.text import digest_of
from telex.record import InvalidLine
from telex.replay.reader import SENT, Form, LogEntry, form_of, line_reader
from telex.translation.envelope import MessageHeader, NoCounterpart, Translation
from telex.translation.translate import header_of, translate
from telex.validation.check import CheckPolicy, CheckResult, check

Spelling = Callable[[Tree, MessageType], Tree]  # renames fields as the reader of the log wants them
_NUMBER = re.compile(r"\[\d+\]")
KINDS_MAX = 1_000  # of changes that are counted separately: some paths are arbitrary keys of a sender


class MigrationChange(NamedTuple):
    """One kind of change: how often it was made, in messages of which type, where and why."""

    what: str  # lost, narrowed or invented
    type: str
    path: str
    reason: str
    times: int


class UnmigratedLine(NamedTuple):
    """A line that was written unchanged, and why."""

    what: str
    why: str


class Migration:
    def __init__(
        self, origin: Dialect, to: Dialect, now: float, spelt: Spelling | None = None, limits: Limits = LIMITS
    ) -> None:
        self.origin, self.to = origin, to
        self._spelt = spelt or (lambda tree, type_: tree)
        self.messages = self.translated = 0
        self.became: Counter[tuple[str, str]] = Counter()  # from which type to which
        self.left: Counter[UnmigratedLine] = Counter()
        self._changes: Counter[tuple[str, str, str, str]] = Counter()
        self._policy = CheckPolicy(dialects=(origin,), limits=limits)
        self._read = line_reader((origin,))
        self._at = now  # of messages without a time

    def line(self, number: int, line: bytes) -> bytes:
        """The line in the other version, with its line end. A line that is not migrated stays the same to the byte."""
        text = line.rstrip(b"\r\n")
        entry = self._read(number, text) if text and not text.isspace() else None
        if isinstance(entry, InvalidLine):
            self._leave(UnmigratedLine("line", f"invalid line: {entry.say}"))
        if not isinstance(entry, LogEntry):
            return line
        self.messages += 1
        migrated = self._migrated(text, entry)
        if isinstance(migrated, UnmigratedLine):
            self._leave(migrated)
            return line
        self.translated += 1
        return migrated.encode("utf-8", "backslashreplace") + line[len(text) :]

    def _migrated(self, line: bytes, entry: LogEntry) -> str | UnmigratedLine:
        checked = check(entry.raw, self._policy, as_role=entry.role if entry.kept else None)
        type_ = self.origin.types.get(checked.type or "") if checked.dialect is self.origin else None
        if type_ is None:
            return UnmigratedLine("message", f"not a message of {self.origin.name}")
        if refusals(checked.findings):
            codes = ", ".join(dict.fromkeys(finding.code for finding in refusals(checked.findings)))
            return UnmigratedLine(type_.name, f"invalid in {self.origin.name}: {codes}")
        made = translate(
            checked.tree, self.origin, type_, self.to, self._header(entry, checked, type_), body=checked.body
        )
        if isinstance(made, NoCounterpart):
            return UnmigratedLine(type_.name, made.reason)
        form = form_of(line)
        around = {} if form == "bare" else _object(line)
        if around is None:
            return UnmigratedLine(type_.name, "the line cannot be written as JSON again")
        self._count(type_, made)
        return self._written(around, form, entry, made)

    def changes(self) -> list[MigrationChange]:
        """The most frequent first."""
        changes = [MigrationChange(*key, times) for key, times in self._changes.items()]
        return sorted(changes, key=lambda change: (-change.times, change.what, change.type, change.path))

    def _header(self, line: LogEntry, checked: CheckResult, type_: MessageType) -> MessageHeader:
        self._at = line.at if line.at is not None else self._at
        new_id = line.id or f"line-{line.number}-{digest_of(line.raw).hex()[:12]}"
        sender = line.sender or "agent"
        header = header_of(checked.tree, self.origin, type_, id=new_id, at=self._at, sender=sender)
        self._at = header.at
        if line.role:
            header = header._replace(sender=line.sender or header.sender, sender_role=line.role)
        if line.to:
            header = header._replace(recipient=header.recipient or line.to)
        reply_to = header.reply_to or line.reply_to
        return header._replace(correlation=header.correlation or line.correlation, reply_to=reply_to)

    def _written(self, around: dict[str, Any], form: Form, line: LogEntry, made: Translation) -> str:
        tree = self._spelt(made.tree, made.type)
        is_json = self.to.form == "json"
        message = tree if is_json else write(self.to, tree, made.body)
        if form == "bare":  # a message of several lines needs a record around it
            record = {"timestamp": format_timestamp(self._at), "direction": SENT, "agent": line.sender}
            return _json(tree if is_json else record | {"message": message})
        named = {"dialect": self.to.name, "type": made.type.name}
        if form == "record":
            known = {name: value for name, value in named.items() if name in around}  # not every record names them
            return _json(around | known | {"message": message})
        raw = (message if isinstance(message, str) else _json(message)).encode("utf-8", "backslashreplace")
        inside = {name: value for name, value in around["message"].items() if name != "raw_base64"}
        return _json(around | {"message": inside | named | {"digest": digest_of(raw).hex(), "raw": raw.decode()}})

    def _count(self, type_: MessageType, made: Translation) -> None:
        self.became[type_.name, made.type.name] += 1
        for what, changes in (("lost", made.lost), ("narrowed", made.narrowed), ("invented", made.invented)):
            for change in changes:
                key = (what, type_.name, _NUMBER.sub("[]", change.path), change.reason)
                if key in self._changes or len(self._changes) < KINDS_MAX:
                    self._changes[key] += 1

    def _leave(self, unmigrated_line: UnmigratedLine) -> None:
        if unmigrated_line in self.left or len(self.left) < KINDS_MAX:
            self.left[unmigrated_line] += 1


def _object(line: bytes) -> dict[str, Any] | None:
    """The complete line. None if JSON cannot represent it again."""
    try:
        value = json.loads(line, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _finite(text: str) -> float:
    """JSON has no infinity, and 1e999 becomes one."""
    if not isfinite(number := float(text)):
        raise ValueError
    return number


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
