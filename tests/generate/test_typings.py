"""Python stubs and TypeScript types: they take right messages and refuse wrong ones."""

import ast
import inspect
import json
import os
import re
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from telex.dialects.registry import BUILT_IN, PLAIN, VERSIONS
from telex.dialects.schema import Dialect, MessageType, OneOf
from telex.dialects.toml.loader import declare
from telex.generate.typings import classes_stub, typescript
from telex.messages import load
from tests.dialects.user_dialect import OWN
from tests.proofs import proves

ROOT = Path(__file__).parents[2]


class StubClass(NamedTuple):
    keywords: dict[str, bool]  # name → required
    attributes: set[str]
    inner: dict[str, "StubClass"]


def stub_class(node: ast.ClassDef) -> StubClass:
    methods = [inner for inner in node.body if isinstance(inner, ast.FunctionDef)]
    [made] = [method for method in methods if method.name == "__init__"]
    assert [argument.arg for argument in made.args.args] == ["self"]
    required = [default is None for default in made.args.kw_defaults]
    keywords = dict(zip([argument.arg for argument in made.args.kwonlyargs], required, strict=True))
    attributes = {method.name for method in methods} - {"__init__"}
    return StubClass(keywords, attributes, stub_classes(node))


def stub_classes(node: ast.Module | ast.ClassDef) -> dict[str, StubClass]:
    return {inner.name: stub_class(inner) for inner in node.body if isinstance(inner, ast.ClassDef)}


def run_time_class(kind: type) -> StubClass:
    parameters = inspect.signature(kind).parameters.items()
    keywords = {name: parameter.default is parameter.empty for name, parameter in parameters}
    inner = {name: run_time_class(value) for name, value in vars(kind).items() if isinstance(value, type)}
    attributes = {name for name, value in vars(kind).items() if name.islower() and not name.startswith("_")}
    return StubClass(keywords, attributes, inner)


@proves("messages/stub")
@pytest.mark.parametrize("dialect", [*VERSIONS, OWN], ids=lambda dialect: dialect.name)
def test_a_stub_has_the_classes_keywords_and_attributes_of_the_module(dialect: Dialect) -> None:
    made = {name: kind for name, kind in vars(load(dialect)).items() if isinstance(kind, type)}
    assert stub_classes(ast.parse(classes_stub(dialect))) == {name: run_time_class(kind) for name, kind in made.items()}
    assert len(made) == len(dialect.types)


USAGE = """
from typing import assert_type

from radio import Done, Message, Shout

done = Done(from_="here", ok=True)
Done()  # type: ignore[call-arg]
Done(from_="nowhere", ok=True)  # type: ignore[arg-type]
Done(from_="here", ok=True, mood="good")  # type: ignore[call-arg]
message = Message(
    class_="amber", call_sign="K9", crew=2, weights=[1.5], notes={"a": ["b"]}, any=object(),
    stops=[Message.StopsItem(name="Mill", kind="pick"), {"name": "Mill", "kind": "drop"}],
)
Message.StopsItem(name="Mill", kind="stop")  # type: ignore[arg-type]
assert_type(message.stops[0].at, str | None)
assert_type(message.notes, dict[str, list[str]] | None)
assert_type(Message.from_message(b"").crew, int)
done.ok = False  # type: ignore[misc]
message.cruw  # type: ignore[attr-defined]
Shout(say="Stop", sender="policy").encode(sender="policy")
"""


@proves("messages/stub-strict")
@pytest.mark.slow
def test_a_strict_type_checker_tells_right_uses_from_wrong_ones(tmp_path: Path) -> None:
    (tmp_path / "radio.pyi").write_text(classes_stub(OWN), encoding="utf-8")
    (tmp_path / "usage.py").write_text(USAGE, encoding="utf-8")
    assert type_errors(tmp_path, "usage.py", "radio.pyi") == ""


MISSPELT = """
import telex
import telex.testing

telex.conect()  # type: ignore[attr-defined]
telex.testing.FakeClok()  # type: ignore[attr-defined]
"""


@pytest.mark.slow
def test_a_misspelt_name_is_a_type_error_and_the_examples_of_the_pages_have_none(tmp_path: Path) -> None:
    (tmp_path / "misspelt.py").write_text(MISSPELT, encoding="utf-8")
    own = declare((ROOT / "docs/examples/release-train.toml").read_text(encoding="utf-8"), "release-train.toml").dialect
    assert own is not None
    (tmp_path / "release_train.pyi").write_text(classes_stub(own), encoding="utf-8")
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for page in pages:
        for number, block in enumerate(re.findall(r"(?ms)^```python\n(.*?)^```", page.read_text(encoding="utf-8"))):
            if "from mcp" not in block:  # another library's types
                (tmp_path / f"{page.stem.replace('-', '_')}_{number}.py").write_text(block, encoding="utf-8")
    assert type_errors(tmp_path, *sorted(file.name for file in tmp_path.glob("*.py"))) == ""


def type_errors(folder: Path, *files: str) -> str:
    """What mypy --strict finds in these files; empty if nothing."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", *files]
    environment = os.environ | {"MYPYPATH": str(folder)}
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else result.stdout + result.stderr


STRICTEST = ("--strict", "--noEmit", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--target", "es2022")


def own_fields(dialect: Dialect, tree: dict[str, Any]) -> dict[str, Any]:
    inner: dict[str, Any] = tree[dialect.payload] if dialect.payload else tree
    return inner


def wrong(dialect: Dialect, type_: MessageType) -> list[dict[str, Any]]:
    """The example with another type, with each required field missing, and with each choice misspelt."""
    wrongs = [type_.example | {"type": "no_such_type"}]
    for name, field in type_.fields.items():
        lacking, misspelt = deepcopy(type_.example), deepcopy(type_.example)
        own_fields(dialect, lacking).pop(name, None)
        own_fields(dialect, misspelt)[name] = "no-such-choice"
        wrongs += [lacking] if field.required else []
        wrongs += [misspelt] if isinstance(field.kind, OneOf) else []
    return wrongs


def usage(dialect: Dialect, module: str) -> str:
    """A program that is right only if every right message fits and every wrong one does not."""
    lines = [f'import {{ TYPES, type Message, type Role }} from "./{module}";']
    for type_ in dialect.types.values():
        lines.append(f"const right_{len(lines)}: Message = {json.dumps(type_.example)};")
        for tree in wrong(dialect, type_):
            lines.append(f"// @ts-expect-error\nconst wrong_{len(lines)}: Message = {json.dumps(tree)};")
    first = next(iter(dialect.types.values()))
    lines += [
        f"const senders: readonly (Role | '*')[] = TYPES[{json.dumps(first.name)}].senders;",
        f"const known: {json.dumps(first.priority)} = TYPES[{json.dumps(first.name)}].priority;",
        "// @ts-expect-error\nTYPES.no_such_type;",
        "export const seen = [senders, known];",
    ]
    return "\n".join(lines)


@pytest.mark.slow
def test_types_compile_and_tell_right_messages_from_wrong_ones(tsc: list[str], tmp_path: Path) -> None:
    for dialect in (*BUILT_IN, OWN):
        (tmp_path / f"{dialect.name}.ts").write_text(typescript(dialect), encoding="utf-8")
        (tmp_path / f"use-{dialect.name}.ts").write_text(usage(dialect, dialect.name), encoding="utf-8")
    (tmp_path / "plain.ts").write_text(typescript(PLAIN), encoding="utf-8")
    files = [str(file) for file in sorted(tmp_path.glob("*.ts"))]
    result = subprocess.run([*tsc, *STRICTEST, *files], capture_output=True, text=True, check=False, timeout=110)
    assert result.returncode == 0, result.stdout


def test_a_type_reads_like_its_page() -> None:
    text = typescript(next(dialect for dialect in BUILT_IN if dialect.name == "vbw-typed"))
    assert "export interface ExecutionUpdate {" in text
    assert '  type: "execution_update";' in text
    assert '    status: "complete" | "partial" | "failed";' in text
    assert "    files_modified?: Array<string>;" in text
    assert '  author_role: "dev" | "docs";' in text
    assert " * How far a task has come, and the commit that shows it." in text


def test_names_that_typescript_does_not_take_are_quoted_or_changed() -> None:
    text = typescript(OWN)
    assert '  "call-sign": string;' in text
    assert "export interface Message_ {" in text
    assert "It ends *\\/ here." in text
