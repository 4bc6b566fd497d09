"""Reference pages: every public name, command, option and variable is on them, with a text."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import telex
from telex import errors
from telex.config.environment import OTHERS, VARIABLES
from telex.reference import environment_page, source
from telex.reference.command_line import CommandHelp, all_helps, command_line_page
from telex.reference.python_api import MODULES, prose, python_page
from telex.surfaces.cli.commands import COMMANDS
from tests.proofs import proves
from tests.test_docs import PAGES, ROOT

PUBLIC = {name: getattr(telex, name) for name in telex.__all__}
ELSEWHERE = {
    f"{module}.{name}": getattr(import_module(module), name)
    for module in MODULES
    for name in import_module(module).__all__
}
CLASSES = {name: thing for name, thing in (PUBLIC | ELSEWHERE).items() if inspect.isclass(thing)}
HELPS = all_helps()
PAGE = python_page()
OTHER = ("help", "--help")  # words behind telex that are no commands
ALWAYS = "--help --verbose --debug"

every_command = pytest.mark.parametrize("described", HELPS, ids=lambda described: described.path)


def is_exception(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, BaseException)


def undocumented(kind: type) -> list[str]:
    """The class itself and its public methods, where they have no docstring."""
    methods = [method for method in source.methods(kind) if method.name != "__init__"]
    itself = [] if is_exception(kind) or source.class_text(kind) else [kind.__name__]
    return itself + [f"{kind.__name__}.{method.name}" for method in methods if not method.text]


@proves("docs/public-names")
@pytest.mark.parametrize("name", [*PUBLIC, *ELSEWHERE])
def test_every_public_name_is_on_the_page_of_the_python_api(name: str) -> None:
    short = name.rpartition(".")[2]
    places = (f"\n### {short}\n", f"\n| `{short}` |", f"── {short} ", f"\n{short}\n")  # heading, table or tree
    assert any(place in PAGE for place in places)


@proves("docs/public-names")
@pytest.mark.parametrize("kind", CLASSES.values(), ids=CLASSES)
def test_every_public_class_and_method_has_a_docstring(kind: type) -> None:
    assert undocumented(kind) == []


def test_every_public_function_has_a_docstring() -> None:
    assert [name for name, thing in PUBLIC.items() if inspect.isfunction(thing) and not thing.__doc__] == []


def test_every_exception_is_in_the_tree_of_the_module() -> None:
    public = [name for name, thing in vars(errors).items() if is_exception(thing) and not name.startswith("_")]
    assert [name for name in public if f"{name} " not in (errors.__doc__ or "").replace("\n", " ")] == []


@proves("docs/commands")
def test_every_command_is_on_the_page_of_the_command_line() -> None:
    page = command_line_page()
    assert [name for name in COMMANDS if f"\n### telex {name}\n" not in page] == []
    assert [each.path for each in HELPS if f"\n### telex {each.path}\n" not in page] == []


@proves("docs/commands")
@every_command
def test_every_command_and_option_has_a_help(described: CommandHelp) -> None:
    assert any(described.paragraphs)
    assert [name for name, text in described.options if not text or text.startswith("[")] == []


@every_command
def test_the_help_of_a_command_has_no_mark_of_a_template_and_each_example_once(described: CommandHelp) -> None:
    lines = [line.strip() for text in described.paragraphs for line in text.splitlines()]
    assert "%s" not in lines
    assert [line for line in lines if line.startswith("telex ") and lines.count(line) > 1] == []
    assert [line for line in lines if " mcp add " in line and lines.count(line) > 1] == []


def unknown_words(text: str) -> list[str]:
    """Commands in the running text of a page that do not exist or have no such option."""
    names = {f"telex {described.path}": described for described in HELPS}
    found = []
    for code in re.findall(r"`(telex [^`]+)`", text):
        path = max((name for name in names if f"{' '.join(code.split())} ".startswith(f"{name} ")), key=len, default="")
        known = " ".join(name for name, _ in names[path].options) if path else ""
        options = re.findall(r"(?<= )--[a-z][a-z-]*", code.partition(" -- ")[0].partition("|")[0])
        word = code.split()[1]
        if (not path and re.fullmatch(r"[a-z][a-z-]*", word) and word not in OTHER) or (
            path and any(option not in f"{known} {ALWAYS}".split() for option in options)
        ):
            found.append(code)
    return found


@proves("docs/commands")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_in_the_text_of_a_page_exists_with_its_options(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert unknown_words(text) == []


def test_a_command_that_does_not_exist_is_found() -> None:
    assert unknown_words("`telex sned`, `telex send --two`, `telex send --to`") == ["telex sned", "telex send --two"]


def test_every_variable_is_on_its_page() -> None:
    page = environment_page()
    assert [variable.name for variable in (*VARIABLES, *OTHERS) if f"| `{variable.name}` |" not in page] == []


def test_a_method_without_a_docstring_is_found() -> None:
    class Half(telex.Lease):
        pass

    Half.__module__ = __name__
    assert undocumented(telex.Lease) == []
    assert undocumented(Half) == ["Half"]


def test_a_docstring_becomes_paragraphs_code_and_a_list() -> None:
    text = "It does it.\n\n    do(it)\n\n    do(that)\n\nRaises:\n    NotFound: there is none.\n"
    assert prose(text) == [
        "It does it.",
        "```py\ndo(it)\n\ndo(that)\n```",
        "Raises:\n\n- `NotFound`: there is none.\n",
    ]
