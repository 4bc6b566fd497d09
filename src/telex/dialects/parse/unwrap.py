"""Unwrapping of a message: removal of a byte-order mark, tags, fences and prose around it.

`unwrap` decodes the bytes; `candidates` yields the parts of the text that may be the message, the most certain first.
JSON inside prose counts only if it has a known type. Each removal is a note. Each part of a text is examined a bounded
number of times, whatever the text. Patterns are strings, compiled on first use: a valid message needs none.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Literal

from telex.dialects.parse.json import ParsedJson, read_json
from telex.dialects.schema import TYPE
from telex.model.finding import Finding
from telex.model.limits import Limits
from telex.model.named_tuple import NamedTuple
from telex.model.text import ROOT

IsOurs = Callable[[Any], bool]

EMBEDDED_MAX = 16  # places in a prose text that are tried for a message
FENCES_MAX = 256  # fences examined; a text with more is a document
_INVISIBLE = "\ufeff\u200b\u2060"  # byte-order mark, zero-width space, word joiner
# Only matched at one position: a search could take quadratic time. A quoted value may contain a >.
_TAG_OPENED = r"""<teammate-message(?:\s(?:[^<>"']|"[^"]*"|'[^']*')*+)?>"""
_TAG_CLOSED = "</teammate-message>"
_FENCE_LINE = r"(?m)^(?P<fence>`{3,}+|~{3,}+)(?P<words>[^\n`]*)$"
# At the start of a line or after a colon: a brace elsewhere is part of a sentence.
_BRACE = r"(?m)(?:^[ \t]*|:[ \t]*|^```\w*[ \t]*)\{(?=\s*[\"'“}])"
_GOES_ON = r"[\s,\]}]*+([\"'][\w $-]{1,80}+[\"'])\s*+:"  # more fields after the brace that ended the object
_TAG_LINE = r"<([A-Za-z][\w.-]{0,60})(?:\s[^<>\n]{0,400})?>[ \t]*\n"
_RULE = r"(?m)^---[ \t]*$"
_OBJECT_BEGUN = (
    r"\{\s*([\"'“”‘][\w $-]+[\"'“”’]|\w+)\s*:|\{\s*\}|\{\s*[\"']?\Z"
    r"|\{[^{}]{0,200}?[\"'”]\s{0,8}:\s{0,8}[\"'“\[{\dtfn-]"  # a key further on, though the first is broken
)
_FRONT_MATTER_TYPE = r"(?m)^type:[ \t]*[\"']?([\w-]+)"
_JSON_TYPE = r"[\"']type[\"']\s*:\s*[\"']([\w-]+)[\"']"
_BOXES = ("message", "content", "data", "body")  # fields in which tools wrap a message
_ON_BOXES = frozenset({TYPE, "to", "from", "sender", "recipient", "summary"})  # other fields of such a wrapper


class UnwrappedText(NamedTuple):
    text: str | None  # None: nothing can be parsed
    findings: tuple[Finding, ...] = ()


class Candidate(NamedTuple):
    """A part of the text that may be the message."""

    form: Literal["json", "front-matter"]
    text: str
    notes: tuple[Finding, ...] = ()
    read: ParsedJson | None = None  # of a JSON candidate
    whole: bool = True  # only wrapping around it, so it is certainly meant as a message


# --- findings --------------------------------------------------------------------------------------------------------


def note(code: str, say: str) -> Finding:
    return Finding(code, ROOT, say, "note")


def odd_blanks(where: str) -> Finding:
    return note("odd-blanks", f"White space {where} was removed or read as a line end; send blanks and \\n only.")


def _odd_edges(text: str) -> tuple[Finding, ...]:
    """A note on white space around a text that is none to JSON and YAML, such as a no-break space."""
    around = text[: len(text) - len(text.lstrip())] + text[len(text.rstrip()) :]
    return (odd_blanks("around the message"),) if around.strip(" \t\n") else ()


def _prose(where: str) -> Finding:
    return note("prose-removed", f"The text {where} the message was ignored; send the message alone.")


def _several(count: int) -> Finding:
    say = "Send each message by itself, or as JSON lines: one message was expected."
    return Finding("several-messages", ROOT, say, expected="one message", found=f"{count} or more")


_EMPTY = Finding("empty-message", ROOT, "Write a text: the message is empty.")


# --- from bytes to text ----------------------------------------------------------------------------------------------


def unwrap(raw: bytes, limits: Limits) -> UnwrappedText:
    if len(raw) > limits.message_bytes_max:
        limit = f"{limits.message_bytes_max:,} bytes"
        say = f"Put the bulk into a file and name it in the message: the limit is {limit}."
        return UnwrappedText(None, (Finding("too-large", ROOT, say, expected=limit, found=f"{len(raw):,} bytes"),))
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        hint = _utf16_hint(raw[:2] in (b"\xff\xfe", b"\xfe\xff") or raw[:200].count(0) > 20)
        found = f"byte 0x{raw[error.start]:02x} at {error.start}"
        finding = Finding("not-utf8", ROOT, f"Encode the message as UTF-8.{hint}", expected="UTF-8", found=found)
        return UnwrappedText(None, (finding,))
    findings = []
    if text[:1] in _INVISIBLE and text:
        text = text.lstrip(_INVISIBLE)
        findings.append(note("byte-order-mark", "A byte-order mark was removed; send plain UTF-8."))
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        findings.append(note("carriage-returns", "Line ends were read as \\n; send \\n."))
    if "\0" in text:
        say = f"Remove the NUL byte: text cannot contain it.{_utf16_hint(text[:200].count(chr(0)) > 20)}"
        findings.append(Finding("nul-byte", ROOT, say, found=f"at character {text.index(chr(0)) + 1}"))
        return UnwrappedText(None, tuple(findings))
    if not text.strip():
        return UnwrappedText(None, (*findings, _EMPTY))
    return _without_wrapper(text, findings) if text.lstrip()[0] == "<" else UnwrappedText(text, tuple(findings))


def _utf16_hint(is_likely: bool) -> str:
    return " It looks like UTF-16." if is_likely else ""


def _without_wrapper(text: str, findings: list[Finding]) -> UnwrappedText:
    """The text inside the <teammate-message> tag at the top."""
    inside, end, tag = [], _after_blanks(text, 0), re.compile(_TAG_OPENED)
    while opened := tag.match(text, end):
        closed = text.find(_TAG_CLOSED, opened.end())
        if closed < 0:
            break
        inside.append(text[opened.end() : closed])
        end = _after_blanks(text, closed + len(_TAG_CLOSED))
    if not inside:
        return UnwrappedText(text, tuple(findings))
    if len(inside) > 1:
        return UnwrappedText(None, (*findings, _several(len(inside))))
    findings.append(note("wrapper-removed", "The <teammate-message> tag was removed."))
    if not inside[0].strip():
        return UnwrappedText(None, (*findings, _EMPTY))
    if end < len(text):
        findings.append(_prose("after"))
    return UnwrappedText(inside[0].strip("\n"), tuple(findings))


def _after_blanks(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start


# --- from text to candidates -----------------------------------------------------------------------------------------


def candidates(text: str, is_ours: IsOurs) -> Iterator[Candidate]:
    """The parts of the text that may be the message. `is_ours` recognises one inside prose."""
    for candidate in _candidates(text, is_ours):
        # Blanks after a markdown body belong to it.
        notes = _odd_edges(text if candidate.form == "json" else text.rstrip())
        yield candidate._replace(notes=(*notes, *candidate.notes)) if notes else candidate


def _candidates(text: str, is_ours: IsOurs) -> Iterator[Candidate]:
    start = _after_blanks(text, 0)
    tag, inside = re.match(_TAG_LINE, text.strip()) if text[start] == "<" else None, ""
    if tag is not None and text.strip().endswith(f"\n</{tag[1]}>"):  # between two lines, around everything
        inside = text.strip()[tag.end() : -len(tag[1]) - 3]
    if inside.strip():
        removed = note("wrapper-removed", "The tag around the message was removed; send the message bare.")
        yield from (candidate._replace(notes=(removed, *candidate.notes)) for candidate in candidates(inside, is_ours))
        return
    if text[start] in "{[":
        yield from _json_from(text, start, is_ours)
    elif text[start] == '"':  # perhaps a message inside one JSON string, from a tool that encodes twice
        outer = read_json(text, start)
        inside = outer.value.lstrip() if isinstance(outer.value, str) and not text[outer.end :].strip() else ""
        if inside.startswith("{") and not (inner := read_json(inside)).failed:
            twice = note("wrapper-removed", "The message was encoded twice; send the object itself.")
            yield Candidate("json", outer.value, (twice, *_left_over(inside[inner.end :], is_ours)), inner)
    if _is_front_matter(text[start:]):
        is_indented = text[:start].rpartition("\n")[2].strip("\n") != ""
        yield Candidate("front-matter", text[start:], (odd_blanks("before ---"),) if is_indented else ())
    yield from _fenced(text, is_ours)
    yield from _in_prose(text, is_ours)


def _is_front_matter(text: str) -> bool:
    if not text.startswith("---"):
        return False
    from telex.dialects.parse.front_matter import looks_like_front_matter

    return looks_like_front_matter(text)


def _json_from(text: str, start: int, is_ours: IsOurs) -> Iterator[Candidate]:
    read = read_json(text, start)
    if read.failed:
        # Too deep to read is hostile or broken, whatever was meant; a stray bracket may begin a sentence.
        too_deep = read.findings[-1].code == "too-deep"
        if too_deep or (text[start] == "{" and re.match(_OBJECT_BEGUN, text[start:])):
            yield Candidate("json", text[start:], read=read)
        return
    rest = text[read.end :].strip()
    if not rest or text[start] == "{":
        yield Candidate("json", text[start:], _left_over(rest, is_ours), read)


def _left_over(rest: str, is_ours: IsOurs) -> tuple[Finding, ...]:
    """Finding on the text after a message."""
    rest = rest.strip()
    if not rest:
        return ()
    if stray := _stray_brace(rest):
        return stray
    another = (rest.startswith("{") and not read_json(rest).failed) or any(_objects(rest, is_ours))
    return (_several(2) if another else _prose("after"),)


def _stray_brace(rest: str) -> tuple[Finding, ...]:
    if (goes_on := re.match(_GOES_ON, rest)) is None:
        return ()
    say = f"Remove the brace that closes the object before {goes_on[1]}, or the rest of the text."
    return (Finding("stray-brace", ROOT, say, expected="one object", found=goes_on[0].strip()[:20]),)


def unboxed(tree: dict[str, Any], is_ours: IsOurs) -> tuple[dict[str, Any], tuple[Finding, ...]] | None:
    """The message inside a tool's wrapper object that has nothing else, with findings; None: there is no wrapper."""
    boxes = [name for name in tree if name in _BOXES]
    if len(boxes) != 1 or not tree.keys() <= {boxes[0], *_ON_BOXES} or is_ours(tree):
        return None
    inside, findings = tree[boxes[0]], tuple[Finding, ...]()
    if isinstance(inside, str) and inside.lstrip().startswith("{"):
        text, read = inside.strip(), read_json(inside.strip())
        inside, findings = read.value, (*read.findings, *_left_over(text[read.end :], is_ours))
    return (inside, findings) if isinstance(inside, dict) and is_ours(inside) else None


def _fenced(text: str, is_ours: IsOurs) -> Iterator[Candidate]:
    candidates = []
    first, last = _after_blanks(text, 0), len(text.rstrip())
    for fence in islice(_fences(text), FENCES_MAX):
        alone = fence.start == first and fence.end >= last
        candidate = _inside_fence(fence, text, is_ours, whole=alone)
        if candidate is not None and _is_message(candidate, is_ours):
            around = () if alone or candidate.whole else (_prose("around"),)
            removed = note("fence-removed", "The code fence was removed; send the message bare.")
            notes = (removed, *_odd_edges(fence.inside), *candidate.notes, *around)
            candidates.append(candidate._replace(notes=notes))
        if len(candidates) > EMBEDDED_MAX:
            break
    if candidates:
        more = (_several(len(candidates)),) if len(candidates) > 1 else ()
        yield candidates[0]._replace(notes=(*candidates[0].notes, *more))


class _Fence(NamedTuple):
    start: int
    inside: str
    end: int


def _fences(text: str) -> Iterator[_Fence]:
    opened: re.Match[str] | None = None
    last = len(text.rstrip())
    for line in re.finditer(_FENCE_LINE, text):
        if opened is None:
            opened = line
        elif line["fence"] == opened["fence"] and not line["words"].strip(" \t"):
            inside = text[opened.end() + 1 : line.start()]
            # A markdown message may contain fences: the one around it closes on the last line.
            if _is_front_matter(inside.lstrip()) and text[:last].endswith("\n" + opened["fence"]):
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
    if not _is_front_matter(stripped):
        return None
    # The body may follow a fence around the front matter alone.
    closes_at_end = len(re.findall(_RULE, stripped)) == 2 and stripped.endswith("---")
    body = text[fence.end :].strip() if closes_at_end else ""
    whole = whole or (bool(body) and not text[: fence.start].strip())
    return Candidate("front-matter", f"{stripped}\n{body}" if body else stripped, whole=whole)


def _in_prose(text: str, is_ours: IsOurs) -> Iterator[Candidate]:
    objects = list(_objects(text, is_ours))
    if objects:
        read = objects[0].read
        more = (_several(len(objects)),) if len(objects) > 1 else ()
        stray = _stray_brace(text[read.end :]) if read is not None and not read.failed else ()
        yield objects[0]._replace(notes=(_prose("around"), *more, *stray))
        return
    for rule in islice(re.finditer(_RULE, text), EMBEDDED_MAX):
        rest = text[rule.start() :]
        candidate = Candidate("front-matter", rest, (_prose("before"),), whole=False)
        if _is_front_matter(rest) and _is_message(candidate, is_ours):
            yield candidate
            return


def _objects(text: str, is_ours: IsOurs) -> Iterator[Candidate]:
    """The messages in a prose text. One that cannot be parsed counts only if no other can."""
    unread: Candidate | None = None
    end, is_any, brace = 0, False, re.compile(_BRACE)
    for _ in range(EMBEDDED_MAX):
        match = brace.search(text, end)
        if match is None:
            break
        read = read_json(text, match.end() - 1)
        candidate = Candidate("json", text[match.end() - 1 :], read=read, whole=False)
        if _is_message(candidate, is_ours):
            if not read.failed:
                is_any = True
                yield candidate
            unread = unread or candidate
        end = max(read.end, match.end())
    if unread and not is_any:
        yield unread


def _is_message(candidate: Candidate, is_ours: IsOurs) -> bool:
    if candidate.read is not None and not candidate.read.failed:
        value = candidate.read.value
        return is_ours(value) or (candidate.whole and isinstance(value, dict) and TYPE in value)
    pattern = _JSON_TYPE if candidate.form == "json" else _FRONT_MATTER_TYPE
    match = re.search(pattern, candidate.text[:2_000])
    return match is not None and is_ours({TYPE: match[1]})
