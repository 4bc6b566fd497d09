"""Removal of what tools add around a message: byte-order mark, carriage returns, tags.

Each removal is a note. Fences and sentences inside the text are handled by `extract`.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Literal, NamedTuple

from telex.dialects.parse.front_matter import looks_like_front_matter
from telex.dialects.parse.json import ParsedJson, read_json
from telex.dialects.schema import TYPE
from telex.model.finding import Finding
from telex.model.json_path import ROOT
from telex.model.limits import Limits

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


IsOurs = Callable[[Any], bool]

EMBEDDED_MAX = 16  # places in a prose text that are tried for a message
FENCES_MAX = 256  # of them looked into; a text with more is a document, and no message
_FENCE_LINE = re.compile(r"^(?P<fence>`{3,}+|~{3,}+)(?P<words>[^\n`]*)$", re.MULTILINE)
# At the start of a line or behind a colon: a brace elsewhere is part of a sentence, and no message.
_BRACE = re.compile(r"(?:^[ \t]*|:[ \t]*|^```\w*[ \t]*)\{(?=\s*[\"'“}])", re.MULTILINE)
_GOES_ON = r"[\s,\]}]*+([\"'][\w $-]{1,80}+[\"'])\s*+:"  # more fields, behind the brace that ended the object
_TAG_LINE = r"<([A-Za-z][\w.-]{0,60})(?:\s[^<>\n]{0,400})?>[ \t]*\n"
_RULE = re.compile(r"^---[ \t]*$", re.MULTILINE)
_OBJECT_BEGUN = (
    r"\{\s*([\"'“”‘][\w $-]+[\"'“”’]|\w+)\s*:|\{\s*\}|\{\s*[\"']?\Z"
    r"|\{[^{}]{0,200}?[\"'”]\s{0,8}:\s{0,8}[\"'“\[{\dtfn-]"  # a key further on, though the first is broken
)


class Candidate(NamedTuple):
    """A part of the text that may be the message."""

    form: Literal["json", "front-matter"]
    text: str
    notes: tuple[Finding, ...] = ()
    read: ParsedJson | None = None  # of a JSON candidate
    whole: bool = True  # nothing but wrapping around it, so it is surely meant as a message


def candidates(text: str, is_ours: IsOurs) -> Iterator[Candidate]:
    """The parts of the text that may be the message, surest first. `is_ours` knows one inside a prose text."""
    for candidate in _candidates(text, is_ours):
        notes = odd_edges(text if candidate.form == "json" else text.rstrip())  # what follows a body belongs to it
        yield candidate._replace(notes=(*notes, *candidate.notes)) if notes else candidate


def _candidates(text: str, is_ours: IsOurs) -> Iterator[Candidate]:
    start = len(text) - len(text.lstrip())
    inside = _tagged_extract(text.strip())
    if inside.strip():
        off = note("wrapper-removed", "The tag around the message was taken off; send the message bare.")
        yield from (candidate._replace(notes=(off, *candidate.notes)) for candidate in candidates(inside, is_ours))
        return
    if text[start] in "{[":
        yield from _json_from(text, start, is_ours)
    elif text[start] == '"':
        yield from _double_encoded(text, start, is_ours)
    if looks_like_front_matter(text[start:]):
        is_indented = text[:start].rpartition("\n")[2].strip("\n") != ""
        yield Candidate("front-matter", text[start:], (odd_blanks("before ---"),) if is_indented else ())
    yield from _fenced(text, is_ours)
    yield from _in_prose(text, is_ours)


def _tagged_extract(text: str) -> str:
    """What stands between two lines that open and close a tag around the whole text, such as <message>."""
    opened = re.match(_TAG_LINE, text) if text[:1] == "<" else None
    if opened is None or not text.endswith(f"\n</{opened[1]}>"):
        return ""
    return text[opened.end() : -len(opened[1]) - 3]


def _json_from(text: str, start: int, is_ours: IsOurs) -> Iterator[Candidate]:
    read = read_json(text, start)
    rest = text[read.end :].strip()
    if read.failed:
        # Too deep to read is hostile or broken, whatever it was meant to be; a stray bracket may begin a sentence.
        too_deep = read.findings[-1].code == "too-deep"
        if too_deep or (text[start] == "{" and re.match(_OBJECT_BEGUN, text[start:])):
            yield Candidate("json", text[start:], read=read)
    elif not rest or text[start] == "{":
        yield Candidate("json", text[start:], _left_over(rest, is_ours), read)


def _left_over(rest: str, is_ours: IsOurs) -> tuple[Finding, ...]:
    """Finding on what follows a message in the same text."""
    rest = rest.strip()
    if stray := _stray_brace(rest):
        return stray
    another = (rest.startswith("{") and not read_json(rest).failed) or any(_objects(rest, is_ours))
    return (several(2) if another else prose("after"),) if rest else ()


def _stray_brace(rest: str) -> tuple[Finding, ...]:
    goes_on = re.match(_GOES_ON, rest)
    if goes_on is None:
        return ()
    say = f"Take out the brace that closes the object before {goes_on[1]}, or the rest of the text."
    return (Finding("stray-brace", ROOT, say, expected="one object", found=goes_on[0].strip()[:20]),)


_BOXES = ("message", "content", "data", "body")  # where tools put a message they hand on
_ON_BOXES = frozenset({TYPE, "to", "from", "sender", "recipient", "summary"})  # what they write on the outside


def unboxed(tree: dict[str, Any], is_ours: IsOurs) -> tuple[dict[str, Any], tuple[Finding, ...]] | None:
    """The message inside a tool's envelope, which says nothing else, and findings on its text; None when this is no
    such thing."""
    boxes = [name for name in tree if name in _BOXES]
    if len(boxes) != 1 or not tree.keys() <= {boxes[0], *_ON_BOXES} or is_ours(tree):
        return None
    inside, findings = tree[boxes[0]], tuple[Finding, ...]()
    if isinstance(inside, str) and inside.lstrip().startswith("{"):
        text, read = inside.strip(), read_json(inside.strip())
        inside, findings = read.value, (*read.findings, *_left_over(text[read.end :], is_ours))
    return (inside, findings) if isinstance(inside, dict) and is_ours(inside) else None


def _double_encoded(text: str, start: int, is_ours: IsOurs) -> Iterator[Candidate]:
    """A whole message inside one JSON string, as a tool makes it that encodes twice."""
    outer = read_json(text, start)
    if isinstance(outer.value, str) and not text[outer.end :].strip() and outer.value.lstrip().startswith("{"):
        inside = outer.value.lstrip()
        inner = read_json(inside)
        if not inner.failed:
            twice = note("wrapper-removed", "The message was encoded twice; send the object itself.")
            yield Candidate("json", outer.value, (twice, *_left_over(inside[inner.end :], is_ours)), inner)


def _fenced(text: str, is_ours: IsOurs) -> Iterator[Candidate]:
    candidates = []
    first, last = after_blanks(text, 0), len(text.rstrip())
    for fence in islice(_fences(text), FENCES_MAX):
        alone = fence.start == first and fence.end >= last
        candidate = _inside_fence(fence, text, is_ours, whole=alone)
        if candidate is not None and _is_message(candidate, is_ours):
            around = () if alone or candidate.whole else (prose("around"),)
            taken = note("fence-removed", "The code fence was taken off; send the message bare.")
            candidates.append(candidate._replace(notes=(taken, *odd_edges(fence.inside), *candidate.notes, *around)))
        if len(candidates) > EMBEDDED_MAX:
            break
    if len(candidates) > 1:
        candidates = [candidates[0]._replace(notes=(*candidates[0].notes, several(len(candidates))))]
    yield from candidates


class _Fence(NamedTuple):
    start: int
    inside: str
    end: int


def _fences(text: str) -> Iterator[_Fence]:
    """What stands between a line that opens a fence and the next that closes it."""
    opened: re.Match[str] | None = None
    last = len(text.rstrip())
    for line in _FENCE_LINE.finditer(text):
        if opened is None:
            opened = line
        elif line["fence"] == opened["fence"] and not line["words"].strip(" \t"):
            inside = text[opened.end() + 1 : line.start()]
            # A markdown message may hold fences of its own: the one around it closes on the last line.
            if looks_like_front_matter(inside.lstrip()) and text[:last].endswith("\n" + opened["fence"]):
                yield _Fence(opened.start(), text[opened.end() + 1 : last - len(opened["fence"])], last)
                return
            yield _Fence(opened.start(), inside, line.end())
            opened = None


def _inside_fence(fence: _Fence, text: str, is_ours: IsOurs, *, whole: bool) -> Candidate | None:
    stripped = fence.inside.strip()
    if stripped.startswith("{"):
        read = read_json(stripped)
        rest = "" if read.failed else stripped[read.end :]
        return Candidate("json", stripped, _left_over(rest, is_ours), read, whole=whole)
    if looks_like_front_matter(stripped):
        # A fence around the front matter alone leaves the body behind it.
        closes_at_end = len(_RULE.findall(stripped)) == 2 and stripped.endswith("---")
        body = text[fence.end :].strip() if closes_at_end else ""
        whole = whole or (bool(body) and not text[: fence.start].strip())
        return Candidate("front-matter", f"{stripped}\n{body}" if body else stripped, whole=whole)
    return None


def _in_prose(text: str, is_ours: IsOurs) -> Iterator[Candidate]:
    objects = list(_objects(text, is_ours))
    if objects:
        read = objects[0].read
        more = (several(len(objects)),) if len(objects) > 1 else ()
        stray = _stray_brace(text[read.end :]) if read is not None and not read.failed else ()
        yield objects[0]._replace(notes=(prose("around"), *more, *stray))
        return
    for count, rule in enumerate(_RULE.finditer(text)):
        if count >= EMBEDDED_MAX:
            return
        rest = text[rule.start() :]
        candidate = Candidate("front-matter", rest, (prose("before"),), whole=False)
        if looks_like_front_matter(rest) and _is_message(candidate, is_ours):
            yield candidate
            return


def _objects(text: str, is_ours: IsOurs) -> Iterator[Candidate]:
    """The messages in a text, wherever one may begin. One that cannot be read counts only where no other can."""
    unread: Candidate | None = None
    end = found = 0
    for _ in range(EMBEDDED_MAX):
        brace = _BRACE.search(text, end)
        if brace is None:
            break
        read = read_json(text, brace.end() - 1)
        candidate = Candidate("json", text[brace.end() - 1 :], read=read, whole=False)
        if _is_message(candidate, is_ours):
            if not read.failed:
                found += 1
                yield candidate
            unread = unread or candidate
        end = max(read.end, brace.end())
    if unread and not found:
        yield unread


_FRONT_MATTER_TYPE = re.compile(r"^type:[ \t]*[\"']?([\w-]+)", re.MULTILINE)
_JSON_TYPE = re.compile(r"[\"']type[\"']\s*:\s*[\"']([\w-]+)[\"']")


def _is_message(candidate: Candidate, is_ours: IsOurs) -> bool:
    """Is this part of a text one of our messages, or only something that a text may well contain?"""
    if candidate.read is not None and not candidate.read.failed:
        value = candidate.read.value
        return is_ours(value) or (candidate.whole and isinstance(value, dict) and TYPE in value)
    pattern = _JSON_TYPE if candidate.form == "json" else _FRONT_MATTER_TYPE
    match = pattern.search(candidate.text[:2_000])
    return match is not None and is_ours({"type": match[1]})
