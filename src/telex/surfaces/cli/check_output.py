"""Output of a check for programs: one line of JSON, in the shape of Telex or of vbw's validator."""

import json
import sys
from collections.abc import Callable
from math import isfinite
from typing import Any

from telex.model.finding import Finding, refusals
from telex.validation.check import CheckResult

Answer = Callable[[CheckResult, str | None], str]


def answer_of(checked: CheckResult) -> dict[str, Any]:
    return {
        "valid": checked.valid,
        "dialect": checked.dialect.name if checked.dialect else None,
        "type": checked.type,
        "findings": [finding._asdict() for finding in checked.findings],
        "fixed": checked.fixed,
        "skeleton": checked.skeleton,
        "body": checked.body,
    }


def as_json(checked: CheckResult, source: str | None = None) -> str:
    """Everything that was found. `source` says where the message stood, when there are several."""
    return json_line(_placed(answer_of(checked), source))


def as_vbw(checked: CheckResult, source: str | None = None) -> str:
    """The answer that vbw's own validator gives, so that Telex can stand in for it."""
    errors = [_vbw_line(finding, checked) for finding in refusals(checked.findings)]
    return json_line(_placed({"valid": checked.valid, "errors": errors}, source))


# How vbw's validator begins its lines, by code; scripts search for these words.
VBW_WORDS = {
    "empty-message": "empty message",
    "not-json": "not valid JSON",
    "type-missing": "missing type field",
    "type-unknown": "unknown message type: {found}",
    "field-missing": "missing {place} field: {field}",
    "role-may-not-send": "role {found} not authorized for {type}",
    "role-may-not-receive": "target role {found} cannot receive {type}",
    "checks-contradict-detail": "{type} {field} does not match checks_detail {counted} count",
}
VBW_DETAIL = "$.payload.checks_detail"
VBW_DETAIL_WORDS = {
    True: "{type} checks_detail must be an array or null",
    False: "{type} checks_detail entries require non-empty string id and status in PASS|FAIL|WARN",
}
_COUNTED = {"checks.failed": "FAIL", "checks.passed": "PASS"}


def _vbw_line(finding: Finding, checked: CheckResult) -> str:
    words = VBW_WORDS.get(finding.code)
    if finding.path.startswith(VBW_DETAIL):
        words = VBW_DETAIL_WORDS[finding.path == VBW_DETAIL]
    if words is None:
        return f"{finding.path}: {finding.say}"
    payload = checked.dialect.payload if checked.dialect else None
    first, _, rest = finding.path.removeprefix("$.").partition(".")
    place, field = ("envelope", first) if payload and first != payload else ("payload", rest or first)
    if field == payload:
        place = "envelope"
    counted = _COUNTED.get(field, "entry")
    begins = words.format(found=finding.found, place=place, field=field, type=checked.type, counted=counted)
    return f"{begins}. {finding.say}"


def _placed(answer: dict[str, Any], source: str | None) -> dict[str, Any]:
    return answer if source is None else answer | {"source": source}


def json_line(value: Any) -> str:
    """One line that every reader of JSON takes: a number too large for it is written as text."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False)
    return visible_json(text)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def visible_json(text: str) -> str:
    """The same JSON with everything escaped that cannot be seen or that stdout has no letter for.

    Outside its strings JSON has no such characters but for line ends, which stay.
    """
    any_letter = "utf" in (sys.stdout.encoding or "utf").lower()
    if text.isprintable() and (any_letter or text.isascii()):
        return text
    return "".join(
        letter
        if letter == "\n" or (letter.isprintable() and (any_letter or letter.isascii()))
        else json.dumps(letter)[1:-1]
        for letter in text
    )


ANSWERS: dict[str, Answer] = {"json": as_json, "vbw": as_vbw}
