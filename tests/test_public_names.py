"""Public names of `telex`: complete, documented, and known to type checkers."""

import ast
import inspect
from pathlib import Path

import pytest

import telex
from telex import errors
from tests.proofs import proves

PROMISED = {"connect", "Bus", "Agent", "Worker", "Context", "Lease", "Message", "Receipt", "Query", "Reject", "Retry"}
VALUES = {"BUILT_IN"}


@proves("surfaces/public-names")
def test_the_names_of_the_api_are_public() -> None:
    exceptions = [name for name, kind in vars(errors).items() if inspect.isclass(kind) and not name.startswith("_")]
    assert (PROMISED | set(exceptions)) - set(telex.__all__) == set()
    assert set(telex.__all__) <= set(dir(telex))


@proves("surfaces/public-names")
@pytest.mark.parametrize("name", sorted(set(telex.__all__) - VALUES))
def test_a_public_name_and_its_methods_are_documented(name: str) -> None:
    item = getattr(telex, name)
    assert item.__doc__
    assert not inspect.isclass(item) or [key for key, doc in method_docs(item) if not doc] == []


def method_docs(kind: type) -> list[tuple[str, str | None]]:
    """The docstrings of the methods and properties that the class itself defines."""
    own = {key: getattr(value, "fget", None) or getattr(value, "func", value) for key, value in vars(kind).items()}
    documented = {key: value for key, value in own.items() if callable(value) or isinstance(value, classmethod)}
    return [(key, value.__doc__) for key, value in documented.items() if not key.startswith("_")]


@proves("surfaces/public-names")
def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(telex.__file__).read_text(encoding="utf-8"))
    seen = {alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(telex.__all__) == seen - {None}


@proves("surfaces/public-names")
def test_a_misspelt_name_is_an_error_here_and_for_a_type_checker() -> None:
    with pytest.raises(AttributeError):
        telex.conect()  # type: ignore[attr-defined]  # mypy reports an ignore that is not needed
