"""What does a code mean, and which message draws it? The shapes that explanations are written in.

A case is made from a type's own example with a small change, so that a page shows a message that is right in all else.
Its text may hold what text cannot: a byte that is no UTF-8 stands as the half character that Python reads it as.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from telex.dialects.registry import BUILT_IN, by_name
from telex.dialects.rule_evaluation import get_path, set_path
from telex.dialects.schema import Dialect
from telex.dialects.write import write
from telex.model.limits import LIMITS, Limits
from telex.validation.check import CheckPolicy, CheckResult, check

NO_CHANGE: Mapping[str, Any] = {}


class ExampleOptions(NamedTuple):
    """How the check is called, as the options of `telex check` say it."""

    dialect: str | None = None
    as_role: str | None = None
    to_role: str | None = None
    limits: Limits = LIMITS


AS_USUAL = ExampleOptions()


class CodeExample(NamedTuple):
    """A message that draws the finding, and the same message mended."""

    before: str
    after: str
    asked: ExampleOptions = AS_USUAL
    asked_after: ExampleOptions | None = None  # where the mend is to call otherwise
    where: str = ""  # tells the cases of a code apart that is not equally grave in all of them


class Explanation(NamedTuple):
    code: str
    title: str  # a few words
    why: str  # what the sender did
    mend: str
    cases: tuple[CodeExample, ...]  # the first is the one to show

    @property
    def before(self) -> str:
        return self.cases[0].before

    @property
    def after(self) -> str:
        return self.cases[0].after


def explain(code: str, title: str, why: str, mend: str, *cases: CodeExample) -> Explanation:
    return Explanation(code, title, why, mend, cases)


def sent(dialect: Dialect, type_name: str, change: Mapping[str, Any] = NO_CHANGE, body: str | None = None) -> str:
    """The type's own example as it is sent, with some fields changed; None takes a field out."""
    type_ = dialect.types[type_name]
    tree = deepcopy(type_.example)
    for name, value in change.items():
        *outer, last = dialect.locate(type_, name)
        if value is None:
            del (get_path(tuple(outer))(tree) if outer else tree)[last]
        else:
            set_path(tree, (*outer, last), value)
    return write(dialect, tree, type_.body_example if body is None else body)


def raw(text: str) -> bytes:
    """The bytes that a case's text stands for."""
    return text.encode("utf-8", "surrogateescape")


def ask(text: str, example_options: ExampleOptions = AS_USUAL) -> CheckResult:
    forced = by_name(example_options.dialect, BUILT_IN) if example_options.dialect else None
    return check(
        raw(text),
        CheckPolicy(forced=forced, limits=example_options.limits),
        as_role=example_options.as_role,
        to_role=example_options.to_role,
    )


def drawn(case: CodeExample) -> CheckResult:
    return ask(case.before, case.asked)


def settled(case: CodeExample) -> CheckResult:
    return ask(case.after, case.asked_after or case.asked)
