"""Which hard rules does the user's file lay down, and over which fields?

[[types.release_ready.rules]]
code = "go-with-failures"
broken_when = "verdict == 'go' and len(failed) > 0"
path = "verdict"
say = "Say no-go, or take the failures out."
"""

import re
from typing import cast

from telex.dialects.rule_language import ExpressionError, names, parse
from telex.dialects.schema import HardRule
from telex.dialects.toml.document import TomlValue, shown
from telex.dialects.toml.rule_types import RuleScope, check_rule_types
from telex.model.finding import Severity

KEYS = ("code", "broken_when", "path", "say", "severity", "expected")
RULES_MAX = 100  # in one list
_OTHER_SIGNS = {"=": "==", "&": "and", "|": "or", "!": "not"}  # what other languages say, and what a rule says
_CODE = re.compile(r"(?=.{1,64}\Z)[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")


def read_rules(place: TomlValue, scope: RuleScope) -> tuple[HardRule, ...]:
    rules: dict[str, HardRule] = {}
    for value in place.items(RULES_MAX):
        rule = _read_rule(value, scope)
        if rule is not None and rule.code in rules:
            value.at("code").flaw(f"{rule.code} is an earlier rule's code: choose another, or join the two by or")
        elif rule is not None:
            rules[rule.code] = rule
    return tuple(rules.values())


def _read_rule(value: TomlValue, scope: RuleScope) -> HardRule | None:
    if not value.is_table():
        return None
    value.only(*KEYS)
    code = value.need("code", "a short name for what is wrong, such as go-with-failures")
    broken_when = value.need("broken_when", "an expression over the fields that holds when the rule is broken")
    path = value.need("path", "the field to change")
    say = value.need("say", "one sentence that tells the sender what to do")
    severity = value.at("severity").choice(("refusal", "warning")) if value.has("severity") else "refusal"
    expected = value.at("expected").line() if value.has("expected") else None
    if broken_when:
        _check_expression(broken_when, scope)
    if path:
        _check_path(path, scope)
    coded = code.word(_CODE, "lower-case words joined by hyphens") if code else None
    said = say.line() if say else None
    if coded and broken_when and path and said and severity:
        return HardRule(
            coded, broken_when.value, path=path.value, say=said, severity=cast(Severity, severity), expected=expected
        )
    return None


def _check_path(value: TomlValue, scope: RuleScope) -> None:
    path = value.line()
    if path is None:
        return
    if "[]" in path:
        value.flaw("name the list itself, without []")
    elif scope.field(path) is None:
        value.unknown(path, scope.names(), f"there is no field {shown(path)}")


def _check_expression(value: TomlValue, scope: RuleScope) -> None:
    text = value.value
    if not isinstance(text, str) or not text.strip():
        value.wrong("an expression such as \"verdict == 'go' and len(failed) > 0\"")
        return
    try:
        node = parse(text)
    except ExpressionError as error:
        value.flaw(_unreadable(error, text))
        return
    if not any(names(node)):
        value.flaw("the rule speaks of no field, so it says the same of every message")
    else:
        check_rule_types(node, value, scope)


def _unreadable(error: ExpressionError, text: str) -> str:
    rest = text[error.position :].lstrip()
    position = len(text) - len(rest) + 1
    instead = next((f"; write {ours}" for theirs, ours in _OTHER_SIGNS.items() if rest.startswith(theirs)), "")
    near = f", near {shown(rest[:12])}" if rest else ""
    return f"{error.say} (at character {position}{near}){instead}"
