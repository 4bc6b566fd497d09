"""Python stubs and TypeScript types: they take right messages and refuse wrong ones."""

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from telex.dialects.registry import BUILT_IN, PLAIN
from telex.dialects.schema import Dialect, MessageType, OneOf
from telex.generate.typings import builders_stub, typescript
from tests.dialects.user_dialect import OWN

ROOT = Path(__file__).parents[2]
every_dialect = pytest.mark.parametrize("dialect", BUILT_IN, ids=lambda dialect: dialect.name)


def functions(dialect: Dialect) -> dict[str, list[str]]:
    """The arguments of each function in the stub, all of them by keyword."""
    found: dict[str, list[str]] = {}
    for node in ast.parse(builders_stub(dialect)).body:
        if isinstance(node, ast.FunctionDef):
            assert node.args.args == []
            assert ast.get_docstring(node)
            found[node.name] = [argument.arg for argument in node.args.kwonlyargs]
    return found


@every_dialect
def test_every_builder_takes_what_its_stub_names(dialect: Dialect) -> None:
    module = importlib.import_module(f"telex.messages.{re.sub('[-.]', '_', dialect.slug)}")
    assert set(functions(dialect)) == {name.lower() for name in dialect.types}
    for name, arguments in functions(dialect).items():
        build = getattr(module, name)
        assert build(**dict.fromkeys(arguments, "x"))["type"].lower() == name
        with pytest.raises(TypeError):
            build(no_such_field="x")


@every_dialect
def test_a_stub_names_every_field(dialect: Dialect) -> None:
    for type_ in dialect.types.values():
        fields = {name.removesuffix("_") for name in functions(dialect)[type_.name.lower()]}
        assert fields == {*type_.fields, *dialect.envelope}


def test_names_that_python_does_not_take_are_changed_or_left_out() -> None:
    assert "from_" in functions(OWN)["done"]
    assert {"class_", "crew"} <= set(functions(OWN)["message"])
    assert "call-sign" not in builders_stub(OWN)


USAGE = """
from radio import done, message, shout

done(from_="here", ok=True)
done()
done(from_="nowhere")  # type: ignore[arg-type]
message(class_="amber", crew=2, weights=[1.5], stops=[{"name": "Mill"}], notes={"a": ["b"]}, any=object())
message(crew="2")  # type: ignore[arg-type]
fields: dict[str, object] = shout(say="Stop", sender="desk")
"""


@pytest.mark.slow
def test_a_strict_type_checker_tells_right_calls_from_wrong_ones(tmp_path: Path) -> None:
    (tmp_path / "radio.pyi").write_text(builders_stub(OWN), encoding="utf-8")
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
