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
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from telex.dialects.registry import VERSIONS, by_name
from telex.dialects.schema import Dialect, HardRule, MessageType, get_path, set_path
from telex.dialects.write import write
from telex.model.limits import LIMITS, Limits
from telex.validation.check import CheckPolicy, CheckResult, check

Table = Mapping[str, Any]  # of a TOML file

DATA = Path(__file__).parent / "codes"
CHECK_FILES, RULES_FILE, BUS_FILES, HTTP_FILE = ("parse", "fields"), "rules", ("bus", "contracts", "work"), "http"


class ExampleOptions(NamedTuple):
    """Options of `telex check`."""

    dialect: str | None = None
    as_role: str | None = None
    to_role: str | None = None
    limits: Limits = LIMITS


class CodeExample(NamedTuple):
    """A message with the finding, and the same message without it."""

    before: str  # a byte that is not UTF-8 is a lone surrogate, as `surrogateescape` decodes it
    after: str
    options: ExampleOptions
    options_after: ExampleOptions
    where: str = ""  # distinguishes examples of one code that differ in severity

    def check_before(self) -> CheckResult:
        return _check(self.before, self.options)

    def check_after(self) -> CheckResult:
        return _check(self.after, self.options_after)


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
    severity: str
    status: int | None = None  # of the HTTP response


@cache
def explanations() -> Mapping[str, CheckExplanation | CommandExplanation]:
    return {**check_explanations(), **bus_explanations(), **http_explanations()}


@cache
def check_explanations() -> Mapping[str, CheckExplanation]:
    checked = {code: _explain_check(code, **table) for code, table in _tables(*CHECK_FILES)}
    return checked | {code: _explain_rule(code, **table) for code, table in _tables(RULES_FILE)}


@cache
def bus_explanations() -> Mapping[str, CommandExplanation]:
    return {code: _explain_command(code, **{"severity": "refusal", **table}) for code, table in _tables(*BUS_FILES)}


@cache
def http_explanations() -> Mapping[str, CommandExplanation]:
    return {code: _explain_command(code, severity="error", **table) for code, table in _tables(HTTP_FILE)}


def _tables(*files: str) -> Iterator[tuple[str, Table]]:
    for file in files:
        yield from tomllib.loads((DATA / f"{file}.toml").read_text(encoding="utf-8")).items()


def raw(text: str) -> bytes:
    """The bytes of an example's text."""
    return text.encode("utf-8", "surrogateescape")


def _check(text: str, options: ExampleOptions) -> CheckResult:
    forced = by_name(options.dialect) if options.dialect else None
    policy = CheckPolicy(forced=forced, limits=options.limits)
    return check(raw(text), policy, as_role=options.as_role, to_role=options.to_role)


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
    types = list(types_with_rule(code))
    assert types, f"no dialect has a rule {code}"
    advice = dict.fromkeys(rule.say for _, _, rules in types for rule in rules)
    examples = tuple(_rule_example(dialect, type_, **changes) for dialect, type_, _ in types)
    return CheckExplanation(code, title, _prose(why), fix or " ".join(advice), examples)


def _rule_example(
    dialect: Dialect, type_: MessageType, change: Table, change_by_type: Mapping[str, Table] | None = None
) -> CodeExample:
    before = example_text(dialect, type_.name, **(change_by_type or {}).get(type_.name, change))
    options = ExampleOptions(dialect=dialect.name)
    return CodeExample(before, example_text(dialect, type_.name), options, options, where=f"in {dialect.name}")


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
    return CodeExample(
        before=message_text(**before),
        after=message_text(**(after or {"type": before["type"]})),
        options=_options(**(options or {})),
        options_after=_options(**(options_after or options or {})),
        where=where,
    )


def _options(limits: Mapping[str, int] | None = None, **options: str) -> ExampleOptions:
    return ExampleOptions(limits=LIMITS._replace(**(limits or {})), **options)


def _steps(steps: Sequence[str | Mapping[str, Any]]) -> str:
    return "\n".join(step if isinstance(step, str) else _file_step(**step) for step in steps)


def _file_step(file: str, **message: Any) -> str:
    return f"$ cat {file}\n{message_text(**message).rstrip()}"


def message_text(
    type: str = "",
    text: str = "{example}",  # `{example}` stands for the example of the type
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
