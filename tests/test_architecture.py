"""Structure of the code: imports go down the layers, pure packages stay pure, arguments are named or few.

The rules on imports are in `pyproject.toml`, under `tool.importlinter`. Each rule is seen to fail on a planted fault.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src/telex"
TOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
[PURITY] = [contract for contract in TOOLS["importlinter"]["contracts"] if contract["id"] == "purity"]
PURE_PACKAGES = [module.removeprefix("telex.") for module in PURITY["source_modules"]]
CLOCK_READERS = {"now", "utcnow", "today"}
IMPURE_BUILTINS = {"open", "print", "input", "breakpoint"}


def lint_imports(source: Path) -> subprocess.CompletedProcess[str]:
    """Check the copy of the package in this folder."""
    lint = str(Path(sys.executable).parent / "lint-imports")
    command = [lint, "--config", str(ROOT / "pyproject.toml"), "--no-cache", "--no-logo"]
    environment = os.environ | {"PYTHONPATH": str(source)}
    return subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(PACKAGE, tmp_path / "telex", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_imports_keep_to_the_layers() -> None:
    result = lint_imports(PACKAGE.parent)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    "where, planted, broken",
    [
        ("model/planted.py", "import telex.surfaces", "telex.model is not allowed to import telex.surfaces"),
        ("dialects/planted.py", "import telex.validation", "telex.dialects is not allowed to import telex.validation"),
        ("validation/planted.py", "import time", "telex.validation is not allowed to import time"),
        ("delivery/planted.py", "def f():\n    from os import path", "telex.delivery is not allowed to import os"),
        ("trace/planted.py", "import subprocess", "telex.trace is not allowed to import subprocess"),
        ("cellar.py", "", "cellar"),
    ],
    ids=["upward", "one layer up", "clock", "disk, inside a function", "another program", "a module without a layer"],
)
def test_a_planted_import_is_found(copy: Path, where: str, planted: str, broken: str) -> None:
    (copy / "telex" / where).write_text(planted + "\n", encoding="utf-8")
    result = lint_imports(copy)
    assert result.returncode == 1
    assert broken in " ".join(result.stdout.split())


def impure_calls(source: str) -> list[str]:
    """Calls with side effects, or that read the clock, without an import that shows it."""
    nodes = ast.walk(ast.parse(source))
    return [name for node in nodes if isinstance(node, ast.Call) and is_impure(name := ast.unparse(node.func))]


def is_impure(name: str) -> bool:
    *owner, last = name.split(".")
    return name in IMPURE_BUILTINS or (last in CLOCK_READERS and owner[-1:] in (["datetime"], ["date"]))


PURE_FILES = [
    file
    for package in PURE_PACKAGES
    for file in sorted([*PACKAGE.glob(f"{package}.py"), *(PACKAGE / package).rglob("*.py")])
]


@pytest.mark.parametrize("file", PURE_FILES, ids=lambda file: file.relative_to(PACKAGE).as_posix())
def test_pure_packages_have_no_clock_and_no_side_effects(file: Path) -> None:
    assert impure_calls(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "planted", ["datetime.now(UTC)", "dt.datetime.utcnow()", "datetime.date.today()", "open('x')", "print('x')"]
)
def test_a_planted_side_effect_is_found(planted: str) -> None:
    assert impure_calls(f"def f() -> None:\n    x = [{planted}]\n") == [planted.partition("(")[0]]


def test_the_readme_is_the_page_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (ROOT / "README.md").exists()
    assert project.get("readme") == "README.md"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/README.md"])
def test_every_link_within_the_project_leads_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in link]
    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []


WIDE_CALLS_MAX = 5  # calls with more than five positional arguments
WIDE_FUNCTIONS_MAX = 2  # functions with more than seven parameters, besides the verbs of the bus
VERBS = {"ports/bus.py", "bus/local.py"}
DATA_TABLES = {"Field", "MessageType", "HardRule", "Group", "Integer", "Text", "Action", "Setting", "Verb"}


def wide_calls(tree: ast.Module) -> list[int]:
    """Lines of calls with more than five positional arguments, apart from data tables and calls with literals only."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and len(node.args) > 5
        and not any(isinstance(argument, ast.Starred) for argument in node.args)
        and not all(isinstance(argument, ast.Constant) for argument in node.args)
        and ast.unparse(node.func).rpartition(".")[2] not in DATA_TABLES
    ]


def wide_functions(tree: ast.Module) -> list[int]:
    """Lines of functions with more than seven parameters besides self and cls."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and sum(
            parameter.arg not in ("self", "cls")
            for parameter in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        )
        > 7
    ]


@pytest.mark.parametrize(
    "find, limit, planted",
    [
        (wide_calls, WIDE_CALLS_MAX, "f(a, 2, 3, 4, 5, 6)"),
        (wide_functions, WIDE_FUNCTIONS_MAX, "def f(self, a, b, c, d, *, e, f, g, h): ..."),
    ],
    ids=["calls with more than five positional arguments", "functions with more than seven parameters"],
)
def test_arguments_are_named_or_few(find: Callable[[ast.Module], list[int]], limit: int, planted: str) -> None:
    assert find(ast.parse(planted)) == [1]
    found = [
        f"{file.relative_to(PACKAGE)}:{line}"
        for file in sorted(PACKAGE.rglob("*.py"))
        if find is wide_calls or file.relative_to(PACKAGE).as_posix() not in VERBS
        for line in find(ast.parse(file.read_text(encoding="utf-8")))
    ]
    assert len(found) <= limit, found
