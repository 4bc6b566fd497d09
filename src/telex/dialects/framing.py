"""What was put around the message on its way here, and what is left when that is taken off?

Models wrap what they send: in code fences, in a sentence before and after, in the tags of a coding tool. Editors add
a byte-order mark and carriage returns. All of it is taken off here, and every repair is said; nothing is guessed.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

from telex.dialects.frontmatter import looks_like_front_matter
from telex.dialects.jsontext import JsonRead, read_json
from telex.model.limits import Limits
from telex.model.paths import ROOT
from telex.model.refusal import Finding

EMBEDDED_MAX = 16  # places in a prose text that are tried for a message
_BOM = "\ufeff"
_WRAPPER = re.compile(r"\s*<teammate-message\b[^<>]*>(.*?)</teammate-message>\s*", re.DOTALL)
_FENCE = re.compile(r"^(?P<fence>```+|~~~+)[^\n`]*\n(?P<inside>.*?)^(?P=fence)[ \t]*$", re.DOTALL | re.MULTILINE)
_BRACE = re.compile(r"^[ \t]*\{", re.MULTILINE)
_RULE = re.compile(r"^---[ \t]*$", re.MULTILINE)
_OBJECT_BEGUN = re.compile(r"\{\s*([\"'][\w $-]+[\"']|\w+)\s*:|\{\s*\}|\{\s*[\"']?\Z")


class Unwrapped(NamedTuple):
    text: str | None  # None: there is nothing that could be read
    findings: tuple[Finding, ...] = ()


class Candidate(NamedTuple):
    """A part of the text that may be the message."""

    form: Literal["json", "front-matter"]
    text: str
    notes: tuple[Finding, ...] = ()
    read: JsonRead | None = None  # of a JSON candidate
    whole: bool = True  # nothing but wrapping around it, so it is surely meant as a message


def unwrap(raw: bytes, limits: Limits) -> Unwrapped:
    """The text of a message, without what editors and tools put around it."""
    if len(raw) > limits.message_bytes_max:
        most = f"{limits.message_bytes_max:,} bytes"
        say = f"Put the bulk into a file and name it in the message: at most {most} are taken."
        return Unwrapped(None, (Finding("too-large", ROOT, say, expected=most, found=f"{len(raw):,} bytes"),))
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return Unwrapped(None, (_not_utf8(raw, error),))
    findings = []
    if text.startswith(_BOM):
        text = text[1:]
        findings.append(_note("byte-order-mark", "A byte-order mark was taken off; send plain UTF-8."))
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        findings.append(_note("carriage-returns", "Line ends were read as \\n; send them so."))
    if "\0" in text:
        found = f"at character {text.index(chr(0)) + 1}"
        findings.append(Finding("nul-byte", ROOT, "Take the NUL byte out: text does not hold it.", found=found))
        return Unwrapped(None, tuple(findings))
    if not text.strip():
        findings.append(Finding("empty-message", ROOT, "Say something: the message is empty."))
        return Unwrapped(None, tuple(findings))
    return _without_wrapper(text, findings)


def _without_wrapper(text: str, findings: list[Finding]) -> Unwrapped:
    wrapped = _WRAPPER.findall(text) if "<teammate-message" in text else []
    if len(wrapped) == 1 and _WRAPPER.fullmatch(text):
        findings.append(_note("wrapper-removed", "The <teammate-message> tag was taken off."))
        return Unwrapped(wrapped[0].strip("\n"), tuple(findings))
    if len(wrapped) > 1 and not _WRAPPER.sub("", text).strip():
        findings.append(_several(len(wrapped)))
        return Unwrapped(None, tuple(findings))
    return Unwrapped(text, tuple(findings))


def candidates(text: str, is_ours: Callable[[Any], bool]) -> Iterator[Candidate]:
    """The parts of the text that may be the message, surest first. `is_ours` knows one inside a prose text."""
    start = len(text) - len(text.lstrip())
    if text[start] in "{[":
        yield from _json_from(text, start)
    elif text[start] == '"':
        yield from _double_encoded(text, start)
    if looks_like_front_matter(text[start:]):
        yield Candidate("front-matter", text[start:])
    yield from _fenced(text, is_ours)
    yield from _in_prose(text, is_ours)


def _json_from(text: str, start: int) -> Iterator[Candidate]:
    read = read_json(text, start)
    rest = text[read.end :].strip()
    if read.failed:
        # Too deep to read is hostile or broken, whatever it was meant to be; a stray bracket may begin a sentence.
        too_deep = read.findings[-1].code == "too-deep"
        if too_deep or (text[start] == "{" and _OBJECT_BEGUN.match(text, start)):
            yield Candidate("json", text[start:], read=read)
    elif not rest:
        yield Candidate("json", text[start:], read=read)
    elif text[start] == "{":
        another = rest.startswith("{") and not read_json(rest).failed
        yield Candidate("json", text[start:], (_several(2) if another else _prose("after"),), read)


def _double_encoded(text: str, start: int) -> Iterator[Candidate]:
    """A whole message inside one JSON string, as a tool makes it that encodes twice."""
    outer = read_json(text, start)
    if isinstance(outer.value, str) and not text[outer.end :].strip() and outer.value.lstrip().startswith("{"):
        inner = read_json(outer.value.lstrip())
        if not inner.failed:
            note = _note("wrapper-removed", "The message was encoded twice; send the object itself.")
            yield Candidate("json", outer.value, (note,), inner)


def _fenced(text: str, is_ours: Callable[[Any], bool]) -> Iterator[Candidate]:
    found = []
    for fence in _FENCE.finditer(text):
        around = (text[: fence.start()] + text[fence.end() :]).strip()
        candidate = _inside_fence(fence["inside"], text[fence.end() :].strip(), whole=not around)
        if candidate is not None and (candidate.whole or _is_message(candidate, is_ours)):
            notes = [_note("fence-removed", "The code fence was taken off; send the message bare.")]
            if around:
                notes.append(_prose("around"))
            found.append(candidate._replace(notes=tuple(notes)))
        if len(found) > EMBEDDED_MAX:
            break
    if len(found) > 1:
        found = [found[0]._replace(notes=(*found[0].notes, _several(len(found))))]
    yield from found


def _inside_fence(inside: str, after: str, *, whole: bool) -> Candidate | None:
    stripped = inside.strip()
    if stripped.startswith("{"):
        return Candidate("json", stripped, read=read_json(stripped), whole=whole)
    if looks_like_front_matter(stripped):
        # A fence around the front matter alone leaves the body behind it.
        closes_at_end = len(_RULE.findall(stripped)) == 2 and stripped.endswith("---")
        text = f"{stripped}\n{after}" if closes_at_end and after else stripped
        return Candidate("front-matter", text, whole=whole)
    return None


def _in_prose(text: str, is_ours: Callable[[Any], bool]) -> Iterator[Candidate]:
    for count, brace in enumerate(_BRACE.finditer(text)):
        if count >= EMBEDDED_MAX:
            break
        read = read_json(text, brace.end() - 1)
        candidate = Candidate("json", text[brace.end() - 1 :], (_prose("around"),), read, whole=False)
        if _is_message(candidate, is_ours):
            yield candidate
            return
    for count, rule in enumerate(_RULE.finditer(text)):
        if count >= EMBEDDED_MAX:
            return
        rest = text[rule.start() :]
        candidate = Candidate("front-matter", rest, (_prose("before"),), whole=False)
        if looks_like_front_matter(rest) and _is_message(candidate, is_ours):
            yield candidate
            return


_FRONT_MATTER_TYPE = re.compile(r"^type:[ \t]*[\"']?([\w-]+)", re.MULTILINE)
_JSON_TYPE = re.compile(r"[\"']type[\"']\s*:\s*[\"']([\w-]+)[\"']")


def _is_message(candidate: Candidate, is_ours: Callable[[Any], bool]) -> bool:
    """Is this part of a prose text one of our messages, or only something that prose may well contain?"""
    if candidate.read is not None and not candidate.read.failed:
        return is_ours(candidate.read.value)
    pattern = _JSON_TYPE if candidate.form == "json" else _FRONT_MATTER_TYPE
    match = pattern.search(candidate.text[:2_000])
    return match is not None and is_ours({"type": match[1]})


def _note(code: str, say: str) -> Finding:
    return Finding(code, ROOT, say, "note")


def _prose(where: str) -> Finding:
    return _note("prose-removed", f"The text {where} the message was left aside; send the message alone.")


def _several(count: int) -> Finding:
    say = "Send each message by itself, or as JSON lines: one message was expected."
    return Finding("several-messages", ROOT, say, expected="one message", found=f"{count} or more")


def _not_utf8(raw: bytes, error: UnicodeDecodeError) -> Finding:
    utf16 = " It looks like UTF-16." if raw[:2] in (b"\xff\xfe", b"\xfe\xff") or raw[:200].count(0) > 20 else ""
    found = f"byte 0x{raw[error.start]:02x} at {error.start}"
    return Finding("not-utf8", ROOT, f"Encode the message as UTF-8.{utf16}", expected="UTF-8", found=found)
