"""Why does a finding happen, and how is it mended? Every code there is, and the page that explains it.

`telex explain` prints one page, `docs/refusals.md` has them all. What a page shows of the check is what the check says
when it is asked: how grave a finding is, where it points and which words it uses are written down nowhere else. What
the bus says it says only where there is a bus, so those words are written down, and a test hears them said.
"""

from collections.abc import Iterable, Mapping

from telex import errors
from telex.generate.codes_approvals import APPROVALS
from telex.generate.codes_bus import BUS, BusExplanation
from telex.generate.codes_contracts import CONTRACTS
from telex.generate.codes_evidence import EVIDENCE
from telex.generate.codes_examples import CodeExample, ExampleOptions, Explanation, drawn
from telex.generate.codes_fields import FIELDS
from telex.generate.codes_front_matter import FRONT_MATTER
from telex.generate.codes_http import VERBS as HTTP_VERBS
from telex.generate.codes_http import HttpExplanation
from telex.generate.codes_http_auth import DOOR
from telex.generate.codes_parse import READING
from telex.generate.codes_pipeline import WORK
from telex.generate.codes_reader_dialects import READS
from telex.generate.codes_rules import RULES, holders
from telex.generate.codes_shutdown import SHUTDOWN
from telex.generate.codes_tasks import TASKS
from telex.model.finding import Finding, Severity
from telex.model.limits import LIMITS

EXPLANATIONS: Mapping[str, Explanation] = {
    explanation.code: explanation for explanation in (*READING, *FRONT_MATTER, *FIELDS, *RULES)
}
BUS_EXPLANATIONS: Mapping[str, BusExplanation] = {
    bus_explanation.code: bus_explanation
    for bus_explanation in (*BUS, *CONTRACTS, *SHUTDOWN, *EVIDENCE, *APPROVALS, *TASKS, *WORK, *READS)
}
HTTP_EXPLANATIONS: Mapping[str, HttpExplanation] = {
    http_explanation.code: http_explanation for http_explanation in (*HTTP_VERBS, *DOOR)
}
EVERY: Mapping[str, Explanation | BusExplanation | HttpExplanation] = {
    **EXPLANATIONS,
    **BUS_EXPLANATIONS,
    **HTTP_EXPLANATIONS,
}
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
_SHOWN = str.maketrans({"\r": "\\r", "\t": "\\t", "\ufeff": "\\ufeff", "\u200b": "\\u200b"})


def refusals_page() -> str:
    """`docs/refusals.md`: an index of all codes, then a section for each."""
    codes = sorted(EVERY)
    rows = (f"| [{code}](#{code}) | {severity_words(code)} | {EVERY[code].title} |" for code in codes)
    meanings = (f"- **{severity}**: {meaning}." for severity, meaning in SEVERITIES.items())
    parts = [
        "# Refusals, warnings, notes and errors",
        MADE_BY,
        INTRODUCTION,
        "\n".join(meanings),
        OF_THE_BUS,
        "\n".join(("| code | severity | what it is |", "|---|---|---|", *rows)),
        *(page(code, heading="##").rstrip("\n") for code in codes),
    ]
    return "\n\n".join(parts) + "\n"


def page(code: str, *, heading: str = "#") -> str:
    """One code in markdown: what it is, why it happens, how to mend it, before and after."""
    one = EVERY[code]
    parts = [
        f"{heading} {code}",
        f"{one.title} · {severity_words(code)}",
        f"**Why.** {one.why}",
        *_where(code),
        f"**Mend.** {one.mend}",
        *(_mended(one) if isinstance(one, Explanation) else _played(one)),
    ]
    return "\n\n".join(parts) + "\n"


def _played(one: BusExplanation | HttpExplanation) -> list[str]:
    """What was typed, what the bus said, what was typed then."""
    if isinstance(one, HttpExplanation):
        return ["Before:", _fenced(one.before), f"> {one.status}: {one.say}", "After:", _fenced(one.after)]
    said = f"> {one.severity}: {one.say}"
    raised = [f"In Python: `telex.errors.{_raised_as(one.code)}`."] if one.severity == "error" else []
    return ["Before:", _fenced(one.before), said, *raised, "After:", _fenced(one.after)]


def _raised_as(code: str) -> str:
    return next(name for name, kind in vars(errors).items() if getattr(kind, "code", None) == code)


def _mended(explanation: Explanation) -> list[str]:
    case = explanation.cases[0]
    return [
        f"Before{_asked(case.asked)}{_notation(case.before)}:",
        _fenced(case.before),
        *_answer(explanation.code, case),
        f"After{_asked(case.asked_after) if case.asked_after else ''}:",
        _fenced(case.after),
    ]


def severities(code: str) -> dict[str, Severity]:
    """How grave the finding is, case by case."""
    return {case.where: next(f.severity for f in _drawn(code, case)) for case in EXPLANATIONS[code].cases}


def severity_words(code: str) -> str:
    one = EVERY[code]
    if not isinstance(one, Explanation):
        return one.severity
    by_case = severities(code)
    if len(set(by_case.values())) == 1:
        return next(iter(by_case.values()))
    grouped: dict[Severity, list[str]] = {}
    for where, severity in by_case.items():
        grouped.setdefault(severity, []).append(where)
    return "; ".join(f"{severity} {' and '.join(places)}" for severity, places in grouped.items())


def _drawn(code: str, case: CodeExample) -> Iterable[Finding]:
    return (finding for finding in drawn(case).findings if finding.code == code)


def _where(code: str) -> list[str]:
    """The types that have the rule, and what breaks it, as their dialects say it. Nothing for other codes."""
    conditions: dict[str, dict[str, list[str]]] = {}
    for dialect, type_, rules in holders(code):
        for rule in rules:
            conditions.setdefault(rule.broken_when, {}).setdefault(dialect.name, []).append(type_.name)
    lines = [
        f"- `{broken_when}` in {'; '.join(f'{name} {_types(types)}' for name, types in places.items())}"
        for broken_when, places in conditions.items()
    ]
    return ["**Broken when**", "\n".join(lines)] if lines else []


def _types(types: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in types)


def _answer(code: str, case: CodeExample) -> list[str]:
    finding = next(iter(_drawn(code, case)))
    place = "" if finding.path == "$" else f" at `{finding.path}`"
    return [f"> {finding.severity}{place}: {finding.say}"]


def _asked(example_options: ExampleOptions) -> str:
    options = {"--dialect": example_options.dialect, "--as": example_options.as_role, "--to": example_options.to_role}
    said = [f"`{option} {value}`" for option, value in options.items() if value]
    changed = [name for name in LIMITS._fields if getattr(example_options.limits, name) != getattr(LIMITS, name)]
    said += [f"a `{name}` of only {getattr(example_options.limits, name)}" for name in changed]
    return f", checked with {' and '.join(said)}" if said else ""


def _notation(text: str) -> str:
    return "" if _shown(text) == text else " (what cannot be seen is written as an escape)"


def _shown(text: str) -> str:
    """The text with an escape for each byte or character that a page cannot show."""
    text = text.translate(_SHOWN).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(letter if letter.isprintable() or letter == "\n" else f"\\x{ord(letter):02x}" for letter in text)


def _fenced(text: str) -> str:
    shown = _shown(text).rstrip("\n")
    language = "json" if shown.startswith(("{", "[")) else "text"
    fence = "```"
    while fence in shown:  # a message may have a fence of its own
        fence += "`"
    return f"{fence}{language}\n{shown}\n{fence}"
