"""Migration of a log to another version of a dialect, line by line.

A line keeps its form: of an export or a log record, only the message in it changes. A message of another dialect,
without a counterpart, or invalid in its own version is written unchanged, and counted with the reason.
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from math import isfinite
from typing import Any, NamedTuple

from telex.dialects.scalars import format_timestamp
from telex.dialects.schema import Dialect, MessageType, Tree
from telex.dialects.write import write
from telex.model.digest import digest_of
from telex.model.finding import refusals
from telex.model.limits import LIMITS, Limits
from telex.record.export import InvalidLine
from telex.replay.reader import SENT, Form, LogEntry, form_of, line_reader
from telex.translation.result import MessageHeader, NoCounterpart, Translation
from telex.translation.translate import header_of, translate
from telex.validation.check import CheckPolicy, CheckResult, check

Spelling = Callable[[Tree, MessageType], Tree]  # a message with its fields under the names that its reader wants
_NUMBER = re.compile(r"\[\d+\]")
KINDS_MAX = 1_000  # of changes that are told apart: some paths are whatever a sender wrote


class MigrationChange(NamedTuple):
    """One kind of change: how often it was made, in messages of which type, where and why."""

    what: str  # lost, narrowed or invented
    type: str
    path: str
    reason: str
    times: int


class UnmigratedLine(NamedTuple):
    """What was written as it came, and why."""

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
        self._desk = CheckPolicy(dialects=(origin,), limits=limits)
        self._read = line_reader((origin,))
        self._at = now  # of whatever does not say when it was

    def line(self, number: int, line: bytes) -> bytes:
        """The line as it reads under the other version, its line end included. What is left is left to the byte."""
        words = line.rstrip(b"\r\n")
        told = self._read(number, words) if words and not words.isspace() else None
        if isinstance(told, InvalidLine):
            self._leave(UnmigratedLine("line", f"it tells nothing: {told.say}"))
        if not isinstance(told, LogEntry):
            return line
        self.messages += 1
        written = self._migrated(words, told)
        if isinstance(written, UnmigratedLine):
            self._leave(written)
            return line
        self.translated += 1
        return written.encode("utf-8", "backslashreplace") + line[len(words) :]

    def _migrated(self, line: bytes, told: LogEntry) -> str | UnmigratedLine:
        checked = check(told.raw, self._desk, as_role=told.role if told.kept else None)
        type_ = self.origin.types.get(checked.type or "") if checked.dialect is self.origin else None
        if type_ is None:
            return UnmigratedLine("message", f"it is none of {self.origin.name}")
        if refusals(checked.findings):
            codes = ", ".join(dict.fromkeys(finding.code for finding in refusals(checked.findings)))
            return UnmigratedLine(type_.name, f"it is not right in {self.origin.name}: {codes}")
        made = translate(checked.tree, self.origin, type_, self.to, self._header(told, checked, type_), checked.body)
        if isinstance(made, NoCounterpart):
            return UnmigratedLine(type_.name, made.reason)
        form = form_of(line)
        around = {} if form == "bare" else _object(line)
        if around is None:
            return UnmigratedLine(type_.name, "what stands around it could not be written again in JSON")
        self._count(type_, made)
        return self._written(around, form, told, made)

    def changes(self) -> list[MigrationChange]:
        """The most frequent first."""
        migration_changes = [MigrationChange(*key, times) for key, times in self._changes.items()]
        return sorted(
            migration_changes,
            key=lambda migration_change: (
                -migration_change.times,
                migration_change.what,
                migration_change.type,
                migration_change.path,
            ),
        )

    # --- what is known of it -----------------------------------------------------------------------------------------

    def _header(self, line: LogEntry, checked: CheckResult, type_: MessageType) -> MessageHeader:
        self._at = line.at if line.at is not None else self._at
        new_id = line.id or f"line-{line.number}-{digest_of(line.raw).hex()[:12]}"
        message_header = header_of(
            checked.tree, self.origin, type_, id=new_id, at=self._at, sender=line.sender or "agent"
        )
        self._at = message_header.at
        if line.role:
            message_header = message_header._replace(sender=line.sender or message_header.sender, sender_role=line.role)
        if line.to:
            message_header = message_header._replace(recipient=message_header.recipient or line.to)
        return message_header._replace(
            correlation=message_header.correlation or line.correlation,
            reply_to=message_header.reply_to or line.reply_to,
        )

    # --- what becomes of it ------------------------------------------------------------------------------------------

    def _written(self, around: dict[str, Any], form: Form, line: LogEntry, made: Translation) -> str:
        tree = self._spelt(made.tree, made.type)
        is_json = self.to.form == "json"
        if form == "bare":
            return _json(tree) if is_json else _json(self._record(line, made))
        named = {"dialect": self.to.name, "type": made.type.name}
        if form == "record":
            known = {name: value for name, value in named.items() if name in around}  # not every record names them
            return _json(around | known | {"message": tree if is_json else write(self.to, tree, made.body)})
        raw = (_json(tree) if is_json else write(self.to, tree, made.body)).encode("utf-8", "backslashreplace")
        inside = {name: value for name, value in around["message"].items() if name != "raw_base64"}
        return _json(around | {"message": inside | named | {"digest": digest_of(raw).hex(), "raw": raw.decode()}})

    def _record(self, line: LogEntry, made: Translation) -> dict[str, Any]:
        """A message of several lines has to stand in something."""
        text = write(self.to, self._spelt(made.tree, made.type), made.body)
        return {"timestamp": format_timestamp(self._at), "direction": SENT, "agent": line.sender, "message": text}

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
    """What the line says, all of it: whoever looked for a message has not looked at everything beside it."""
    try:
        found = json.loads(line, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _finite(text: str) -> float:
    """JSON has no word for what is beyond all numbers, such as 1e999 is to us."""
    if not isfinite(number := float(text)):
        raise ValueError
    return number


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
