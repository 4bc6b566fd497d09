"""Does every code have a page that tells the truth, and does every finding speak so that its sender can act on it?"""

import ast
import json
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, get_args

import pytest

from telex import errors
from telex.dialects.registry import BUILT_IN
from telex.dialects.scalars import Flaw
from telex.dialects.schema import Dialect, Form, MessageType
from telex.dialects.write import write
from telex.generate.codes import (
    CodeExample,
    bus_explanations,
    check_explanations,
    code_page,
    explanations,
    raw,
    refusals_page,
    severities,
)
from telex.model.finding import Finding, refusals
from telex.model.message import KINDS
from telex.validation.check import NEVER_PASSED, REPAIRS, CheckPolicy, check
from tests.cli.test_cli_process import modules_loaded_by

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/refusals.md"
PACKAGES = ("dialects", "validation", "delivery", "work", "bus")
# Files of dialects and of their shared terms contain many words that look like codes; their codes are in their rules.
SOURCES = [
    file
    for package in PACKAGES
    for file in sorted((ROOT / "src/telex" / package).rglob("*.py"))
    if file.stem != "intents" and file.parent.name != "builtin"  # data
]
# The last two are a declared dialect's sample, and a kind of stall.
NOT_CODES = {*get_args(Form), *get_args(Flaw), *KINDS, "utf-8", "task-1", "no-approver"}
CODE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+\Z")
RULE_CODES = {
    rule.code
    for dialect in BUILT_IN
    for rules in (dialect.rules, *(type_.rules for type_ in dialect.types.values()))
    for rule in rules
}


def has_kinds(kind: type[Exception]) -> bool:
    return any(own.__module__ == errors.__name__ for own in kind.__subclasses__())


# Those with kinds of their own in that module are never raised themselves; NotAMember has the code of the finding it
# raises, and the findings of Refused are explained.
ERROR_CODES = {
    vars(kind)["code"]
    for kind in vars(errors).values()
    if isinstance(kind, type) and "code" in vars(kind) and kind is not errors.Refused
    if not has_kinds(kind)
}


def literals(source: str) -> set[str]:
    """Every text in the code that is spelt like a code."""
    nodes = ast.walk(ast.parse(source))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {text for text in texts if CODE.match(text)} - NOT_CODES


EVERY, CHECKED, BUS = explanations(), check_explanations(), bus_explanations()
CASES = [
    pytest.param(code, case, id=f"{code} {index}" if index else code)
    for code, explanation in CHECKED.items()
    for index, case in enumerate(explanation.examples)
]
every_code = pytest.mark.parametrize("code", EVERY)
checked_code = pytest.mark.parametrize("code", CHECKED)
every_case = pytest.mark.parametrize("code, case", CASES)


def test_every_code_in_the_source_is_explained_and_no_other() -> None:
    codes = {code for file in SOURCES for code in literals(file.read_text(encoding="utf-8"))}
    assert codes | RULE_CODES | ERROR_CODES == set(CHECKED) | set(BUS)
    assert not set(BUS) & set(CHECKED)


def test_the_check_treats_no_code_apart_that_does_not_exist() -> None:
    assert set(CHECKED) >= NEVER_PASSED | REPAIRS


@every_case
def test_the_message_before_draws_this_finding_and_no_other(code: str, case: CodeExample) -> None:
    assert {finding.code for finding in case.check_before().findings} == {code}


@every_case
def test_the_message_after_has_nothing_left_to_find(code: str, case: CodeExample) -> None:
    checked = case.check_after()
    assert checked.valid
    assert checked.findings == ()


@every_case
def test_strict_and_lenient_find_the_same(code: str, case: CodeExample) -> None:
    text = raw(case.before)
    roles = {"as_role": case.options.as_role, "to_role": case.options.to_role}
    policies = (CheckPolicy(strict=strict, limits=case.options.limits) for strict in (True, False))
    strict, lenient = (check(text, policy, **roles) for policy in policies)
    assert strict.findings == lenient.findings
    assert lenient.valid or code in NEVER_PASSED


@every_code
def test_an_explanation_is_written_in_sentences(code: str) -> None:
    one = EVERY[code]
    assert one.title[0].isupper()
    assert len(one.title) <= 60
    for text in (one.why, one.fix):
        assert text[0].isupper() or text[0] == "`"
        assert text.endswith((".", "?"))


@checked_code
def test_cases_that_differ_in_gravity_say_where(code: str) -> None:
    assert len(set(severities(code).values())) == 1 or all(severities(code))


@pytest.mark.parametrize("args", [["check", "-"], ["send", "--as", "dev", "--to", "lead", "--store", "team.db", "-"]])
def test_a_command_that_gives_findings_reads_no_explanation(
    args: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = modules_loaded_by(*args, stdin=CHECKED["not-one-of"].before)
    assert "telex.validation.check" in loaded
    assert "telex.generate.codes" not in loaded


# --- the page -------------------------------------------------------------------------------------------------------


def test_the_page_in_the_repository_is_the_one_made_now() -> None:
    assert PAGE.read_text(encoding="utf-8") == refusals_page(), "run `python -m telex.generate`"


def test_every_line_of_the_index_leads_to_its_section() -> None:
    text = refusals_page()
    linked = re.findall(r"^\| \[([^]]+)\]\(#([^)]+)\) \|", text, re.MULTILINE)
    assert [code for code, _ in linked] == [anchor for _, anchor in linked] == sorted(EVERY)
    assert all(f"\n## {code}\n" in text for code, _ in linked)


@checked_code
def test_a_page_shows_what_the_check_says(code: str) -> None:
    text, case = code_page(code), CHECKED[code].examples[0]
    [finding, *_] = [finding for finding in case.check_before().findings if finding.code == code]
    assert finding.say in text
    assert finding.severity in text
    assert all(word in text for word in (code, CHECKED[code].why, CHECKED[code].fix))


@every_code
def test_a_page_can_be_shown_anywhere(code: str) -> None:
    assert all(letter.isprintable() or letter == "\n" for letter in code_page(code))
    assert code_page(code).encode("utf-8").decode("utf-8") == code_page(code)


# --- what findings say ----------------------------------------------------------------------------------------------

SAY_CHARACTERS_MAX = 300
# A sentence that asks for something has one of these in it. A note only tells what was done.
ASKING = re.compile(
    r"\b(act|add|address|ask|begin|choose|close|come back|count|drop|encode|escalate|fill|flatten|free|give|indent|"
    r"keep|leave|list|look|fix|move|name|nest|put|remove|rename|say|send|set|shorten|show|sign|start|take|try again|"
    r"upgrade|use|write|may send|is sent by)\b",
    re.IGNORECASE,
)


NAMES = {name for dialect in BUILT_IN for name in dialect.types}  # a name is spelt as it is, even in front


def speaks_badly(finding: Finding) -> list[str]:
    """What is wrong with the words of a finding; nothing for one that can be read aloud and acted on."""
    say = finding.say
    wrongs = {
        "does not begin like a sentence": not (say[:1].isupper() or say[:1] == "'" or say.split()[0] in NAMES),
        "does not end like a sentence": not say.endswith((".", "?")),
        "has a stop where none belongs": bool(re.search(r"\.\.|[.,:;] ?[.,:;]", say.replace("...", ""))),
        "has more than a sentence and a hint": len(re.findall(r"[.?] [A-Z]", say)) > 1,
        "is too long": len(say) > SAY_CHARACTERS_MAX,
        "is more than one line": "\n" in say,
        "asks for nothing": finding.severity != "note" and not ASKING.search(say),
    }
    return [wrong for wrong, is_so in wrongs.items() if is_so]


def places(tree: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every value of a message, at every depth."""
    if path:
        yield path
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in pairs:
        yield from places(value, (*path, key))


def mutants(example: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The example with one thing wrong: a field removed, misspelt, retyped, emptied, or in another case."""
    for *parents, last in places(example):
        for wrong in ("removed", "misspelt", "retyped", "emptied", "null", "in another case", "a placeholder", "huge"):
            tree: Any = deepcopy(example)
            whole = tree
            for step in parents:
                tree = tree[step]
            value = tree[last]
            match wrong:
                case "removed":
                    del tree[last]
                case "misspelt" if isinstance(last, str):
                    tree[f"{last[:-1]}{last[-1]}x"] = tree.pop(last)
                case "retyped":
                    tree[last] = {"text": value} if isinstance(value, (str, list)) else str(value)
                case "emptied":
                    tree[last] = type(value)()
                case "null":
                    tree[last] = None
                case "in another case" if isinstance(value, str):
                    tree[last] = value.swapcase()
                case "a placeholder" if isinstance(value, str):
                    tree[last] = f"{value}|other"
                case "huge":
                    tree[last] = 10**30
            yield whole


MESSAGES = [(dialect, type_) for dialect in BUILT_IN for type_ in dialect.types.values()]


@pytest.mark.parametrize("dialect, type_", MESSAGES, ids=lambda one: one.name)
def test_whatever_is_wrong_with_a_message_is_explained_and_said_well(dialect: Dialect, type_: MessageType) -> None:
    for tree in mutants(type_.example):
        text = write(dialect, tree, type_.body_example).encode("utf-8")
        for checked in (check(text), check(text, as_role="dev", to_role="qa")):
            assert {finding.code for finding in checked.findings} <= set(CHECKED)
            assert [(finding.say, wrongs) for finding in checked.findings if (wrongs := speaks_badly(finding))] == []


@every_case
def test_the_finding_of_a_case_is_said_well(code: str, case: CodeExample) -> None:
    assert [
        (finding.say, wrongs) for finding in case.check_before().findings if (wrongs := speaks_badly(finding))
    ] == []


@every_case
def test_what_is_offered_as_fixed_passes(code: str, case: CodeExample) -> None:
    checked = case.check_before()
    if checked.fixed is not None:
        assert checked.dialect is not None
        again = case._replace(after=write(checked.dialect, checked.fixed, checked.body)).check_after()
        assert not refusals(again.findings)


def test_pages_show_json_that_is_json() -> None:
    blocks = re.findall(r"^After[^\n]*:\n\n```json\n(.*?)\n```", refusals_page(), re.MULTILINE | re.DOTALL)
    assert len(blocks) > len(CHECKED) / 2
    assert all(isinstance(json.loads(block), dict) for block in blocks)
