"""Explanations of all finding and error codes, read from `codes/*.toml` on first use.

Each file has a table per code with `title`, `why`, `fix` and an example. There are two kinds of example:

- Codes of the check (`parse`, `fields`, `rules`) show a message `before` and `after`. `type = "dialect/type"` is the
  type's own example; `set`, `unset`, `body`, `replace`, `text` and `encoding` change it (see `message_text`). Without
  `after`, the message after is the unchanged example. `options` are those of `telex check`. A code whose severity
  depends on the case has several `[[CODE.examples]]`, each with `where`.
- Codes of the bus (`bus`, `contracts`, `work`) and of the HTTP API (`http`) show shell commands in an empty folder:
  `before` is a list of steps, `say` is the answer to the last step, `after` is what to run then. A step is a line, or
  `{file = …}` with the keys of a message for a file that exists from there on. A line `# …` is an external event.

The tests run every example, so no page can differ from what the check, the bus and the hub answer.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from telex import errors
from telex.dialects.registry import VERSIONS, by_name
from telex.dialects.schema import Dialect, HardRule, MessageType, get_path, set_path
from telex.dialects.write import write
from telex.generate.tables import fenced
from telex.model.finding import Finding, Severity
from telex.model.limits import LIMITS, Limits
from telex.model.named_tuple import NamedTuple
from telex.validation.check import CheckPolicy, CheckResult, check

Table = Mapping[str, Any]  # of a TOML file


class ExampleOptions(NamedTuple):
    """Options of `telex check`."""

    dialect: str | None = None
    as_role: str | None = None
    to_role: str | None = None
    limits: Limits = LIMITS

    def check(self, text: str) -> CheckResult:
        policy = CheckPolicy(forced=by_name(self.dialect) if self.dialect else None, limits=self.limits)
        return check(raw(text), policy, as_role=self.as_role, to_role=self.to_role)


class CodeExample(NamedTuple):
    """A message with the finding, and the same message without it."""

    before: str  # a byte that is not UTF-8 is a lone surrogate, as `surrogateescape` decodes it
    after: str
    options: ExampleOptions
    options_after: ExampleOptions
    where: str = ""  # distinguishes examples of one code that differ in severity

    def check_before(self) -> CheckResult:
        return self.options.check(self.before)

    def check_after(self) -> CheckResult:
        return self.options_after.check(self.after)


class CheckExplanation(NamedTuple):
    """Explanation of a code that the check gives to a single message."""

    code: str
    title: str  # a few words
    why: str
    fix: str
    examples: tuple[CodeExample, ...]  # the page shows the first

    @property
    def before(self) -> str:
        return self.examples[0].before

    @property
    def after(self) -> str:
        return self.examples[0].after


class CommandExplanation(NamedTuple):
    """Explanation of a code that the bus or the hub gives to a command."""

    code: str
    title: str  # a few words
    why: str
    fix: str
    before: str  # shell commands; the last one gets the answer `say`
    say: str
    after: str  # shell commands that succeed then
    severity: str = "refusal"
    status: int | None = None  # of the HTTP response


@cache
def explanations() -> Mapping[str, CheckExplanation | CommandExplanation]:
    return {**check_explanations(), **bus_explanations(), **http_explanations()}


@cache
def check_explanations() -> Mapping[str, CheckExplanation]:
    checked = {code: _explain_check(code, **table) for code, table in _tables("parse", "fields")}
    return checked | {code: _explain_rule(code, **table) for code, table in _tables("rules")}


@cache
def bus_explanations() -> Mapping[str, CommandExplanation]:
    return {code: _explain_command(code, **table) for code, table in _tables("bus", "contracts", "work")}


@cache
def http_explanations() -> Mapping[str, CommandExplanation]:
    return {code: _explain_command(code, severity="error", **table) for code, table in _tables("http")}


def _tables(*files: str) -> Iterator[tuple[str, Table]]:
    for file in files:
        text = (Path(__file__).parent / f"codes/{file}.toml").read_text(encoding="utf-8")
        yield from tomllib.loads(text).items()


def raw(text: str) -> bytes:
    """The bytes of an example's text."""
    return text.encode("utf-8", "surrogateescape")


# --- explanations from tables: the parameters are the keys -----------------------------------------------------------


def _explain_check(code: str, title: str, why: str, fix: str, **example: Any) -> CheckExplanation:
    examples = example.get("examples", [example])
    return CheckExplanation(code, title, _prose(why), _prose(fix), tuple(_example(**table) for table in examples))


def _explain_command(code: str, title: str, why: str, fix: str, **example: Any) -> CommandExplanation:
    before, after = _steps(example.pop("before")), _steps(example.pop("after"))
    say = _prose(example.pop("say"))
    return CommandExplanation(code, title, _prose(why), _prose(fix), before=before, say=say, after=after, **example)


def _explain_rule(code: str, title: str, why: str, fix: str = "", **changes: Any) -> CheckExplanation:
    """An explanation with an example for every type that has the rule. `fix` defaults to the advice of the rules."""
    examples, advice = [], dict[str, None]()
    for dialect, type_, rules in types_with_rule(code):
        change = changes.get("change_by_type", {}).get(type_.name, changes["change"])
        texts = example_text(dialect, type_.name, **change), example_text(dialect, type_.name)
        options = ExampleOptions(dialect=dialect.name)
        examples.append(CodeExample(*texts, options, options, where=f"in {dialect.name}"))
        advice |= dict.fromkeys(rule.say for rule in rules)
    assert examples, f"no dialect has a rule {code}"
    return CheckExplanation(code, title, _prose(why), fix or " ".join(advice), tuple(examples))


def types_with_rule(code: str) -> Iterator[tuple[Dialect, MessageType, tuple[HardRule, ...]]]:
    """Every type that has the rule, with all forms of the rule."""
    for dialect in VERSIONS:
        before = by_name(dialect.base)
        for type_ in dialect.types.values():
            inherited = before.types.get(type_.name) if before is not None and before is not dialect else None
            known = inherited.rules if inherited is not None else ()
            rules = tuple(rule for rule in (*dialect.rules, *type_.rules) if rule.code == code and rule not in known)
            if rules:
                yield dialect, type_, rules


def _example(
    before: Table,
    after: Table | None = None,
    options: Table | None = None,
    options_after: Table | None = None,
    where: str = "",
) -> CodeExample:
    texts = message_text(**before), message_text(**(after or {"type": before["type"]}))
    return CodeExample(*texts, _options(**(options or {})), _options(**(options_after or options or {})), where)


def _options(limits: Mapping[str, int] | None = None, **options: str) -> ExampleOptions:
    return ExampleOptions(limits=LIMITS._replace(**(limits or {})), **options)


def _steps(steps: Sequence[str | Mapping[str, Any]]) -> str:
    def text(file: str, **message: Any) -> str:
        return f"$ cat {file}\n{message_text(**message).rstrip()}"

    return "\n".join(step if isinstance(step, str) else text(**step) for step in steps)


def message_text(
    type: str = "",
    text: str = "{example}",  # `{example}` is replaced by the example of the type
    replace: Mapping[str, str] | None = None,  # in the text, old by new
    encoding: str = "utf-8",
    **change: Any,  # of the example, see `example_text`
) -> str:
    assert type or not change, f"{list(change)} need the type that they change"
    if type:
        dialect_name, _, type_name = type.partition("/")
        dialect = by_name(dialect_name)
        assert dialect is not None, f"no dialect {dialect_name}"
        text = text.replace("{example}", example_text(dialect, type_name, **change))
    for old, new in (replace or {}).items():
        assert old in text, f"the message has no {old!r} to replace"
        text = text.replace(old, new)
    return text.encode(encoding).decode("utf-8", "surrogateescape")


def example_text(
    dialect: Dialect, type_name: str, set: Table | None = None, unset: Sequence[str] = (), body: str | None = None
) -> str:
    """The type's own example as text, with some fields set and others removed."""
    type_ = dialect.types[type_name]
    tree = deepcopy(type_.example)
    for name, value in (set or {}).items():
        set_path(tree, dialect.locate(type_, name), value)
    for name in unset:
        *parents, last = dialect.locate(type_, name)
        del (get_path(tuple(parents))(tree) if parents else tree)[last]
    return write(dialect, tree, type_.body_example if body is None else body)


def _prose(text: str) -> str:
    """The text on one line, with the defaults of the limits that it names."""
    for name, limit in LIMITS._asdict().items():
        text = text.replace(f"{{{name}}}", f"{limit:,}")
    return " ".join(text.split())


MADE_BY = "<!-- Generated by `python -m telex.generate`; edit src/telex/generate/codes/*.toml instead. -->"
INTRODUCTION = (
    "Every finding has a stable code that agents, tests and searches can rely on. `telex explain CODE` prints the"
    " section of a code. The severity decides what happens to the message:"
)
SEVERITIES: Mapping[str, str] = {
    "refusal": "a strict team refuses the message; a lenient team accepts it and stores the finding with it",
    "warning": "the message is accepted, but something in it is suspicious",
    "note": "the message is accepted; Telex fixed or ignored something in it",
    "error": "the command or request failed, for a reason other than the content of a message",
}
LENIENT = (
    "A lenient team also refuses a message with an unknown sender or recipient, because it cannot be delivered or"
    " attributed. It accepts a message that breaks a contract or another rule of the work, but the message does not"
    " change the work state."
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
        LENIENT,
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
        *_example_parts(explanation),
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
    grouped: dict[Severity, list[str]] = {}
    for where, severity in severities(code).items():
        grouped.setdefault(severity, []).append(where)
    if len(grouped) == 1:
        return next(iter(grouped))
    return "; ".join(f"{severity} {' and '.join(places)}" for severity, places in grouped.items())


def _findings(code: str, example: CodeExample) -> Iterable[Finding]:
    return (finding for finding in example.check_before().findings if finding.code == code)


def _rule_conditions(code: str) -> list[str]:
    """The types that have the rule, and the condition that breaks it. Empty for other codes."""
    conditions: dict[str, dict[str, list[str]]] = {}
    for dialect, type_, rules in types_with_rule(code):
        for rule in rules:
            conditions.setdefault(rule.broken_when, {}).setdefault(dialect.name, []).append(f"`{type_.name}`")
    lines = [
        f"- `{broken_when}` in {'; '.join(' '.join((name, ', '.join(types))) for name, types in places.items())}"
        for broken_when, places in conditions.items()
    ]
    return ["**Broken when**", "\n".join(lines)] if lines else []


def _example_parts(explanation: CheckExplanation | CommandExplanation) -> list[str]:
    if isinstance(explanation, CommandExplanation):
        answer = f"> {explanation.status or explanation.severity}: {explanation.say}"
        is_raised = explanation.severity == "error" and explanation.status is None
        kinds = [name for name, kind in vars(errors).items() if getattr(kind, "code", None) == explanation.code]
        exception = [f"In Python: `telex.errors.{kinds[0]}`."] if is_raised else []
        return ["Before:", _fenced(explanation.before), answer, *exception, "After:", _fenced(explanation.after)]
    example = explanation.examples[0]
    finding = next(iter(_findings(explanation.code, example)))
    place = "" if finding.path == "$" else f" at `{finding.path}`"
    options_after = "" if example.options_after == example.options else _option_text(example.options_after)
    escaped = "" if _escaped(example.before) == example.before else " (invisible characters are shown as escapes)"
    return [
        f"Before{_option_text(example.options)}{escaped}:",
        _fenced(example.before),
        f"> {finding.severity}{place}: {finding.say}",
        f"After{options_after}:",
        _fenced(example.after),
    ]


def _option_text(options: ExampleOptions) -> str:
    values = {"--dialect": options.dialect, "--role": options.as_role, "--to": options.to_role}
    texts = [f"`{option} {value}`" for option, value in values.items() if value]
    changed = [name for name in LIMITS._fields if getattr(options.limits, name) != getattr(LIMITS, name)]
    texts += [f"a `{name}` of only {getattr(options.limits, name)}" for name in changed]
    return f", checked with {' and '.join(texts)}" if texts else ""


def _escaped(text: str) -> str:
    """The text with an escape for each byte or character that a page cannot show."""
    text = text.translate(_ESCAPES).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(letter if letter.isprintable() or letter == "\n" else f"\\x{ord(letter):02x}" for letter in text)


def _fenced(text: str) -> str:
    escaped = _escaped(text).rstrip("\n")
    return fenced("json" if escaped.startswith(("{", "[")) else "text", escaped)
