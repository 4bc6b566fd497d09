"""Markdown pages of finding and error codes: one for `telex explain`, all of them for `docs/refusals.md`.

Severity, path and text of a finding come from checking the example; they are written down nowhere else.
"""

from collections.abc import Iterable, Mapping

from telex import errors
from telex.generate.codes import (
    CheckExplanation,
    CodeExample,
    CommandExplanation,
    ExampleOptions,
    check_explanations,
    explanations,
    types_with_rule,
)
from telex.model.finding import Finding, Severity
from telex.model.limits import LIMITS

MADE_BY = "<!-- Made from the explanations and the check itself; a change here is lost. -->"
INTRODUCTION = (
    "Every finding has a code that stays the same, so that an agent, a test or a search can rely on it."
    " `telex explain CODE` prints what stands here. How grave a finding is says what it does:"
)
SEVERITIES: Mapping[str, str] = {
    "refusal": "stops the message in a strict team, and is recorded with it in a lenient one",
    "warning": "is suspicious; the message passes",
    "note": "was repaired or ignored; the message passes",
    "error": "says nothing about the message: what was asked for could not be done",
}
OF_THE_BUS = (
    "What depends on who is there is refused in a lenient team as well: there is nobody to deliver it to, or nobody"
    " known to answer for it. What depends on what was agreed passes there, and changes nothing."
)
_ESCAPES = str.maketrans({"\r": "\\r", "\t": "\\t", "\ufeff": "\\ufeff", "\u200b": "\\u200b"})


def refusals_page() -> str:
    """`docs/refusals.md`: an index of all codes, then a section for each."""
    codes = sorted(explanations())
    rows = (f"| [{code}](#{code}) | {severity_text(code)} | {explanations()[code].title} |" for code in codes)
    meanings = (f"- **{severity}**: {meaning}." for severity, meaning in SEVERITIES.items())
    parts = [
        "# Refusals, warnings, notes and errors",
        MADE_BY,
        INTRODUCTION,
        "\n".join(meanings),
        OF_THE_BUS,
        "\n".join(("| code | severity | what it is |", "|---|---|---|", *rows)),
        *(code_page(code, heading="##").rstrip("\n") for code in codes),
    ]
    return "\n\n".join(parts) + "\n"


def code_page(code: str, *, heading: str = "#") -> str:
    """One code in markdown: what it is, why it happens, how to fix it, before and after."""
    explanation = explanations()[code]
    parts = [
        f"{heading} {code}",
        f"{explanation.title} · {severity_text(code)}",
        f"**Why.** {explanation.why}",
        *_rule_conditions(code),
        f"**Fix.** {explanation.fix}",
        *_example(explanation),
    ]
    return "\n\n".join(parts) + "\n"


def severities(code: str) -> dict[str, Severity]:
    """Severity of the finding, by example."""
    examples = check_explanations()[code].examples
    return {example.where: next(f.severity for f in _findings(code, example)) for example in examples}


def severity_text(code: str) -> str:
    explanation = explanations()[code]
    if isinstance(explanation, CommandExplanation):
        return explanation.severity
    by_example = severities(code)
    if len(set(by_example.values())) == 1:
        return next(iter(by_example.values()))
    grouped: dict[Severity, list[str]] = {}
    for where, severity in by_example.items():
        grouped.setdefault(severity, []).append(where)
    return "; ".join(f"{severity} {' and '.join(places)}" for severity, places in grouped.items())


def _findings(code: str, example: CodeExample) -> Iterable[Finding]:
    return (finding for finding in example.check_before().findings if finding.code == code)


def _rule_conditions(code: str) -> list[str]:
    """The types that have the rule, and the condition that breaks it. Empty for other codes."""
    conditions: dict[str, dict[str, list[str]]] = {}
    for dialect, type_, rules in types_with_rule(code):
        for rule in rules:
            conditions.setdefault(rule.broken_when, {}).setdefault(dialect.name, []).append(type_.name)
    lines = [
        f"- `{broken_when}` in {'; '.join(f'{name} {_type_list(types)}' for name, types in places.items())}"
        for broken_when, places in conditions.items()
    ]
    return ["**Broken when**", "\n".join(lines)] if lines else []


def _type_list(types: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in types)


def _example(explanation: CheckExplanation | CommandExplanation) -> list[str]:
    if isinstance(explanation, CommandExplanation):
        return _command_example(explanation)
    return _message_example(explanation)


def _message_example(explanation: CheckExplanation) -> list[str]:
    example = explanation.examples[0]
    finding = next(iter(_findings(explanation.code, example)))
    place = "" if finding.path == "$" else f" at `{finding.path}`"
    options_after = "" if example.options_after == example.options else _option_text(example.options_after)
    return [
        f"Before{_option_text(example.options)}{_escape_note(example.before)}:",
        _fenced(example.before),
        f"> {finding.severity}{place}: {finding.say}",
        f"After{options_after}:",
        _fenced(example.after),
    ]


def _command_example(explanation: CommandExplanation) -> list[str]:
    answer = f"> {explanation.status or explanation.severity}: {explanation.say}"
    is_raised = explanation.severity == "error" and explanation.status is None
    exception = [f"In Python: `telex.errors.{_exception(explanation.code)}`."] if is_raised else []
    return ["Before:", _fenced(explanation.before), answer, *exception, "After:", _fenced(explanation.after)]


def _exception(code: str) -> str:
    return next(name for name, kind in vars(errors).items() if getattr(kind, "code", None) == code)


def _option_text(options: ExampleOptions) -> str:
    values = {"--dialect": options.dialect, "--as": options.as_role, "--to": options.to_role}
    texts = [f"`{option} {value}`" for option, value in values.items() if value]
    changed = [name for name in LIMITS._fields if getattr(options.limits, name) != getattr(LIMITS, name)]
    texts += [f"a `{name}` of only {getattr(options.limits, name)}" for name in changed]
    return f", checked with {' and '.join(texts)}" if texts else ""


def _escape_note(text: str) -> str:
    return "" if _escaped(text) == text else " (what cannot be seen is written as an escape)"


def _escaped(text: str) -> str:
    """The text with an escape for each byte or character that a page cannot show."""
    text = text.translate(_ESCAPES).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(letter if letter.isprintable() or letter == "\n" else f"\\x{ord(letter):02x}" for letter in text)


def _fenced(text: str) -> str:
    escaped = _escaped(text).rstrip("\n")
    language = "json" if escaped.startswith(("{", "[")) else "text"
    fence = "```"
    while fence in escaped:  # the message may have a fence of its own
        fence += "`"
    return f"{fence}{language}\n{escaped}\n{fence}"
