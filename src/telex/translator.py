"""Translation of a message's text without a bus, for programs; `telex translate` is the command for it.

A bus translates by itself: each agent declares the dialects that it reads when it joins.
"""

import time
import uuid

from telex.delivery.membership import spelt_for, understood
from telex.dialects.registry import PLAIN, by_name
from telex.dialects.schema import Dialect, MessageType, Tree
from telex.dialects.write import write
from telex.model.finding import Finding
from telex.model.named_tuple import NamedTuple
from telex.model.roster import DialectChoice, choice_of
from telex.translation.envelope import FieldChange, MessageHeader, NoCounterpart
from telex.translation.mapping import BODY
from telex.translation.markdown import render
from telex.translation.translate import header_of
from telex.translation.translate import translate as translate_tree
from telex.validation.check import STRICT, CheckPolicy, CheckResult, check


class TranslatedMessage(NamedTuple):
    """A message as its reader receives it, with the differences from the original."""

    valid: bool  # False: the message or the target is invalid; `findings` has the reason, and there is no text
    text: str = ""  # the message in the reader's dialect, or markdown, or plain text
    dialect: Dialect | None = None  # of `text`; plain for markdown and plain text
    type: str | None = None  # None for markdown and plain text
    tree: Tree | None = None  # None for markdown and plain text
    body: str | None = None  # the markdown under front matter
    lost: tuple[FieldChange, ...] = ()
    narrowed: tuple[FieldChange, ...] = ()
    invented: tuple[FieldChange, ...] = ()
    why_not: str | None = None  # why it is markdown although another dialect was requested
    findings: tuple[Finding, ...] = ()  # of the original, from `check`


def translate(
    message: bytes | str, to: str | Dialect, policy: CheckPolicy = STRICT, *, as_role: str | None = None
) -> TranslatedMessage:
    """The message for a reader of `to`: a dialect, its name with or without a version, or `plain` for markdown.

    Values that the message does not contain, such as its id or its time, are generated and reported as invented.
    """
    choice = DialectChoice(to.name) if isinstance(to, Dialect) else understood(to, policy.dialects, policy.limits)
    if isinstance(choice, Finding):
        return TranslatedMessage(valid=False, findings=(choice,))
    choice = choice_of(choice) if isinstance(choice, str) else choice
    known = (*((to,) if isinstance(to, Dialect) else ()), *policy.dialects, PLAIN)
    reader = by_name(choice.name, known) or PLAIN
    return translate_checked(check(message, policy, as_role=as_role), reader, choice.spellings, as_role)


def translate_checked(
    checked: CheckResult, to: Dialect, spellings: tuple[str, ...] = (), as_role: str | None = None
) -> TranslatedMessage:
    """The same for a checked message. `spellings` are fields that the reader wants under their later names."""
    findings = checked.findings
    if not checked.valid:
        return TranslatedMessage(valid=False, findings=findings)
    dialect = checked.dialect
    type_ = dialect.types.get(checked.type or "") if dialect is not None else None
    if dialect is None or type_ is None:
        return TranslatedMessage(valid=True, text=checked.text, dialect=PLAIN, findings=findings)
    header = _header(checked, dialect, type_, as_role)
    made = translate_tree(checked.tree, dialect, type_, to, header, body=checked.body) if to is not PLAIN else None
    if made is None or isinstance(made, NoCounterpart):
        text = render(checked.tree, dialect, type_, header, checked.body)
        why_not = made.reason if made is not None else None
        return TranslatedMessage(True, text, PLAIN, why_not=why_not, findings=findings)
    tree = spelt_for(spellings, made.tree, made.dialect, made.type) or made.tree
    narrowed = made.narrowed if made.dialect is dialect else (*made.narrowed, *_line_ends(checked))
    text = write(made.dialect, tree, made.body)
    return TranslatedMessage(
        valid=True,
        text=text,
        dialect=made.dialect,
        type=made.type.name,
        tree=tree,
        body=made.body,
        lost=made.lost,
        narrowed=narrowed,
        invented=made.invented,
        findings=findings,
    )


def _header(checked: CheckResult, dialect: Dialect, type_: MessageType, role: str | None) -> MessageHeader:
    """Header with generated values for what the message does not contain and a bus would know."""
    new_id, now = str(uuid.uuid4()), time.time()
    header = header_of(checked.tree, dialect, type_, id=new_id, at=now, sender=role or "agent", kept=False)
    if role is None or dialect.wire.sender is not None:
        return header
    return header._replace(sender=role, sender_role=role)


def _line_ends(checked: CheckResult) -> list[FieldChange]:
    """Line ends are normalised by the parser, before the translation."""
    if not checked.body or not any(finding.code == "carriage-returns" for finding in checked.findings):
        return []
    return [FieldChange(BODY, None, checked.body, "its carriage returns become line feeds")]
