"""Do the stubs name just what the builders take, in a way that a strict type checker can use?"""

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect
from telex.generate.typings import builders_stub
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
