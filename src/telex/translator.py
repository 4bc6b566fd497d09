"""What is somebody given who reads another dialect? For a program that has a message's text and no bus.

`telex translate` is the same for the command line. On a bus nobody has to ask: whoever joins says what it reads.
"""

import time
import uuid
from typing import NamedTuple

from telex.delivery.dialect_versions import spelt_for, understood
from telex.dialects.registry import PLAIN
from telex.dialects.schema import Dialect, MessageType, Tree
from telex.dialects.write import write
from telex.model.dialect_version import DialectChoice, choice_of
from telex.model.finding import Finding
from telex.translation.markdown import render
from telex.translation.result import FieldChange, MessageHeader, NoCounterpart
from telex.translation.slots import BODY
from telex.translation.translate import header_of
from telex.translation.translate import translate as in_other_words
from telex.validation.check import STRICT, CheckPolicy, CheckResult, check


class TranslatedMessage(NamedTuple):
    """A message as its reader gets it, and what is not as it was."""

    valid: bool  # False: it is refused, or there is no such reader; the findings say why, and there is no text
    text: str = ""  # what the reader is given: the message in its dialect, or markdown, or text that nobody typed
    dialect: Dialect | None = None  # what that is written in; plain for markdown and text
    type: str | None = None  # None for markdown and text
    tree: Tree | None = None  # its fields, likewise
    body: str | None = None  # the markdown under front matter
    lost: tuple[FieldChange, ...] = ()
    narrowed: tuple[FieldChange, ...] = ()
    invented: tuple[FieldChange, ...] = ()
    why_not: str | None = None  # why it is markdown, although another dialect was asked for
    findings: tuple[Finding, ...] = ()  # of the original, as `check` has them


def translate(
    message: bytes | str, to: str | Dialect, desk: CheckPolicy = STRICT, *, as_role: str | None = None
) -> TranslatedMessage:
    """The message for a reader of `to`: a dialect, its name with or without a version, or `plain` for markdown.

    What the message does not say of itself, such as its id or when it was sent, is made up here and told as invented.
    """
    choice = DialectChoice(to.name) if isinstance(to, Dialect) else understood(to, desk.dialects, desk.limits)
    if isinstance(choice, Finding):
        return TranslatedMessage(valid=False, findings=(choice,))
    choice = choice_of(choice) if isinstance(choice, str) else choice
    known = (*((to,) if isinstance(to, Dialect) else ()), *desk.dialects, PLAIN)
    reader = next(dialect for dialect in known if dialect.name == choice.dialect)
    return told(check(message, desk, as_role=as_role), reader, choice.spellings, as_role)


def told(
    checked: CheckResult, to: Dialect, spellings: tuple[str, ...] = (), as_role: str | None = None
) -> TranslatedMessage:
    """The same of what has been checked. `spellings` are fields that the reader wants under their later names."""
    findings = checked.findings
    if not checked.valid:
        return TranslatedMessage(valid=False, findings=findings)
    dialect = checked.dialect
    type_ = dialect.types.get(checked.type or "") if dialect is not None else None
    if dialect is None or type_ is None:
        return TranslatedMessage(valid=True, text=checked.text, dialect=PLAIN, findings=findings)
    header = _header(checked, dialect, type_, as_role)
    made = in_other_words(checked.tree, dialect, type_, to, header, checked.body) if to is not PLAIN else None
    if made is None or isinstance(made, NoCounterpart):
        text = render(checked.tree, dialect, type_, header, checked.body)
        return TranslatedMessage(
            True, text, PLAIN, why_not=made.reason if made is not None else None, findings=findings
        )
    tree = spelt_for(spellings, made.tree, made.dialect, made.type) or made.tree
    narrowed = made.narrowed if made.dialect is dialect else (*made.narrowed, *_line_ends(checked))
    text = write(made.dialect, tree, made.body)
    return TranslatedMessage(
        True,
        text,
        made.dialect,
        made.type.name,
        tree,
        made.body,
        made.lost,
        narrowed,
        made.invented,
        findings=findings,
    )


def _header(checked: CheckResult, dialect: Dialect, type_: MessageType, role: str | None) -> MessageHeader:
    """What the message does not say itself is made up, as a bus would know it."""
    new_id, now = str(uuid.uuid4()), time.time()
    header = header_of(checked.tree, dialect, type_, id=new_id, at=now, sender=role or "agent", kept=False)
    if role is None or dialect.wire.sender is not None:
        return header
    return header._replace(sender=role, sender_role=role)


def _line_ends(checked: CheckResult) -> list[FieldChange]:
    """They are fixed where a message is read, before anybody translates it."""
    if not checked.body or not any(finding.code == "carriage-returns" for finding in checked.findings):
        return []
    return [FieldChange(BODY, None, checked.body, "its carriage returns are told as plain line ends")]
