"""Removal of what tools add around a message: byte-order mark, carriage returns, tags.

Each removal is a note. Fences and sentences inside the text are handled by `extract`.
"""

import re
from typing import NamedTuple

from telex.model.finding import Finding
from telex.model.limits import Limits
from telex.model.text import ROOT

_INVISIBLE = "\ufeff\u200b\u2060"  # byte-order mark, zero-width space, word joiner: pasted, never meant
# Matched at one place only: searched for, it would look at a hostile text over and over. A quoted value may hold a >.
_TAG_OPENED = re.compile(r"""<teammate-message(?:\s(?:[^<>"']|"[^"]*"|'[^']*')*+)?>""")
_TAG_CLOSED = "</teammate-message>"


class UnwrappedText(NamedTuple):
    text: str | None  # None: there is nothing that could be read
    findings: tuple[Finding, ...] = ()


def unwrap(raw: bytes, limits: Limits) -> UnwrappedText:
    """The text of a message, without what editors and tools put around it."""
    if len(raw) > limits.message_bytes_max:
        most = f"{limits.message_bytes_max:,} bytes"
        say = f"Put the bulk into a file and name it in the message: at most {most} are taken."
        return UnwrappedText(None, (Finding("too-large", ROOT, say, expected=most, found=f"{len(raw):,} bytes"),))
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return UnwrappedText(None, (_not_utf8(raw, error),))
    findings = []
    if text[:1] in _INVISIBLE and text:
        text = text.lstrip(_INVISIBLE)
        findings.append(note("byte-order-mark", "A byte-order mark was taken off; send plain UTF-8."))
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        findings.append(note("carriage-returns", "Line ends were read as \\n; send them so."))
    if "\0" in text:
        found = f"at character {text.index(chr(0)) + 1}"
        utf16 = " It looks like UTF-16." if text[:200].count("\0") > 20 else ""
        say = f"Take the NUL byte out: text does not hold it.{utf16}"
        findings.append(Finding("nul-byte", ROOT, say, found=found))
        return UnwrappedText(None, tuple(findings))
    if not text.strip():
        return UnwrappedText(None, (*findings, _empty()))
    return _without_wrapper(text, findings)


def _without_wrapper(text: str, findings: list[Finding]) -> UnwrappedText:
    tagged, end = _tagged(text)
    if not tagged:
        return UnwrappedText(text, tuple(findings))
    if len(tagged) > 1:
        return UnwrappedText(None, (*findings, several(len(tagged))))
    findings.append(note("wrapper-removed", "The <teammate-message> tag was taken off."))
    if not tagged[0].strip():
        return UnwrappedText(None, (*findings, _empty()))
    if end < len(text):
        findings.append(prose("after"))
    return UnwrappedText(tagged[0].strip("\n"), tuple(findings))


def _tagged(text: str) -> tuple[list[str], int]:
    """What the tags at the top of the text hold, one after another, and where the last of them ends."""
    inside, end = [], after_blanks(text, 0)
    while opened := _TAG_OPENED.match(text, end):
        closed = text.find(_TAG_CLOSED, opened.end())
        if closed < 0:
            break
        inside.append(text[opened.end() : closed])
        end = after_blanks(text, closed + len(_TAG_CLOSED))
    return inside, end


def after_blanks(text: str, start: int) -> int:
    """Where the next thing begins that is not blank."""
    while start < len(text) and text[start].isspace():
        start += 1
    return start


def note(code: str, say: str) -> Finding:
    return Finding(code, ROOT, say, "note")


def odd_edges(text: str) -> tuple[Finding, ...]:
    """A note on white space around a text that is none to JSON and YAML, such as a no-break space."""
    around = text[: len(text) - len(text.lstrip())] + text[len(text.rstrip()) :]
    return (odd_blanks("around the message"),) if around.strip(" \t\n") else ()


def odd_blanks(where: str) -> Finding:
    return note("odd-blanks", f"White space {where} was taken off or read as a line end; send blanks and \\n only.")


def prose(where: str) -> Finding:
    return note("prose-removed", f"The text {where} the message was left aside; send the message alone.")


def several(count: int) -> Finding:
    say = "Send each message by itself, or as JSON lines: one message was expected."
    return Finding("several-messages", ROOT, say, expected="one message", found=f"{count} or more")


def _empty() -> Finding:
    return Finding("empty-message", ROOT, "Say something: the message is empty.")


def _not_utf8(raw: bytes, error: UnicodeDecodeError) -> Finding:
    utf16 = " It looks like UTF-16." if raw[:2] in (b"\xff\xfe", b"\xfe\xff") or raw[:200].count(0) > 20 else ""
    found = f"byte 0x{raw[error.start]:02x} at {error.start}"
    return Finding("not-utf8", ROOT, f"Encode the message as UTF-8.{utf16}", expected="UTF-8", found=found)
