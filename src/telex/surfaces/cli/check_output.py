"""What does a program get to read? The answer to a check as one line of JSON, in Telex's shape or in vbw's."""

import json
import sys
from collections.abc import Callable
from math import isfinite
from typing import Any

from telex.model.finding import refusals
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
    errors = [f"{finding.path}: {finding.say}" for finding in refusals(checked.findings)]
    return json_line(_placed({"valid": checked.valid, "errors": errors}, source))


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
