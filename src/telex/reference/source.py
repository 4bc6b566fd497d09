"""Public classes and functions as their source declares them: signatures, docstrings, fields and their comments.

The source has what run time has not: comments on fields, and annotations as they are written.
"""

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType

from telex.model.named_tuple import NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef
COLUMNS_MAX = 100


class Attribute(NamedTuple):
    name: str
    type: str
    text: str


class Method(NamedTuple):
    name: str
    signature: str
    text: str


@cache
def _parsed(module: ModuleType) -> tuple[ast.Module, list[str]]:
    source = inspect.getsource(module)
    return ast.parse(source), source.splitlines()


def _node(thing: object) -> tuple[ast.AST | None, list[str]]:
    """The definition of a function or class, and the lines of its module."""
    module = sys.modules.get(getattr(thing, "__module__", ""))
    if module is None:
        return None, []
    tree, lines = _parsed(module)
    named = [node for node in tree.body if getattr(node, "name", "") == getattr(thing, "__name__", None)]
    return (named[-1] if named else None), lines


# --- functions --------------------------------------------------------------------------------------------------------
def function(thing: object, module: str) -> Method:
    """A function under the name of the module that it is imported from."""
    node, _ = _node(thing)
    assert isinstance(node, Function), thing
    return Method(node.name, _signature(f"{module}.{node.name}", node), _text(node))


def _signature(name: str, node: Function, *, skipped: int = 0) -> str:
    """The signature on one line, or with a line for each parameter."""
    words = _parameters(node.args)[skipped:]
    returns = f" -> {_annotation(node.returns)}" if node.returns else ""
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    line = f"{prefix}{name}({', '.join(words)}){returns}"
    if len(line) <= COLUMNS_MAX:
        return line
    return f"{prefix}{name}(\n" + "".join(f"    {word},\n" for word in words) + f"){returns}"


def _parameters(arguments: ast.arguments) -> list[str]:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    words = [_parameter(argument, default) for argument, default in zip(positional, defaults, strict=True)]
    if arguments.vararg:
        words.append(f"*{_parameter(arguments.vararg)}")
    elif arguments.kwonlyargs:
        words.append("*")
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    words += [_parameter(argument, default) for argument, default in pairs]
    return words + ([f"**{_parameter(arguments.kwarg)}"] if arguments.kwarg else [])


def _parameter(argument: ast.arg, default: ast.expr | None = None) -> str:
    word = f"{argument.arg}: {_annotation(argument.annotation)}" if argument.annotation else argument.arg
    sign = " = " if argument.annotation else "="
    return word if default is None else f"{word}{sign}{ast.unparse(default)}"


def _annotation(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    text = ast.unparse(node)
    return text if "Literal[" in text else text.replace("'", "")


def _text(node: ast.AST) -> str:
    return ast.get_docstring(node) or "" if isinstance(node, Function | ast.ClassDef) else ""


def mentioned(thing: object, signature: str) -> list[type]:
    """Classes of Telex that a signature in the module of this function or class names."""
    module = sys.modules[thing.__module__]
    names, tree = set(re.findall(r"\w+", signature)), _parsed(module)[0]
    homes = {node.name: module.__name__ for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("telex."):
            homes |= {alias.name: node.module or "" for alias in node.names}
    things = [getattr(import_module(home), name) for name, home in homes.items() if name in names]
    return [thing for thing in things if isinstance(thing, type)]


# --- classes ----------------------------------------------------------------------------------------------------------
def class_text(kind: type) -> str:
    return _text(_node(kind)[0] or ast.Pass())


def _bodies(kind: type) -> Iterator[tuple[ast.stmt, list[str]]]:
    """The statements of the class and of the classes it inherits from, base classes first."""
    for base in reversed(kind.__mro__):
        node, lines = _node(base) if base.__module__.startswith("telex.") else (None, [])
        for statement in node.body if isinstance(node, ast.ClassDef) and base.__name__ != "NamedTuple" else ():
            yield statement, lines


def attributes(kind: type) -> list[Attribute]:
    """Public fields with the comments behind them, and properties with their docstrings."""
    found: dict[str, Attribute] = {}
    for statement, lines in _bodies(kind):
        if isinstance(statement, Function) and statement.name == "__init__":
            found |= {attribute.name: attribute for attribute in _assigned(statement, lines)}
    for statement, lines in _bodies(kind):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            comment = lines[(statement.end_lineno or 0) - 1].partition("  # ")[2]
            found[statement.target.id] = Attribute(statement.target.id, _annotation(statement.annotation), comment)
        elif isinstance(statement, Function) and _is_property(statement):
            returns = _annotation(statement.returns) if statement.returns else ""
            found[statement.name] = Attribute(statement.name, returns, _text(statement))
    return [attribute for attribute in found.values() if not attribute.name.startswith("_")]


def _assigned(constructor: Function, lines: list[str]) -> Iterator[Attribute]:
    """Attributes that a constructor sets, with their annotation or that of the parameter they are set to."""
    arguments = (*constructor.args.args, *constructor.args.kwonlyargs)
    types = {argument.arg: _annotation(argument.annotation) for argument in arguments if argument.annotation}
    for statement in constructor.body:
        comment = lines[(statement.end_lineno or 0) - 1].partition("  # ")[2]
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Attribute):
            yield Attribute(statement.target.attr, _annotation(statement.annotation), comment)
        elif isinstance(statement, ast.Assign):
            for target, value in _pairs(statement.targets[0], statement.value):
                if isinstance(target, ast.Attribute):
                    type_ = types.get(value.id, "") if isinstance(value, ast.Name) else ""
                    yield Attribute(target.attr, type_, comment)


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def methods(kind: type) -> list[Method]:
    """Public methods; the constructor of a class that has its own is the first. A class of tests has none."""
    found: dict[str, Method] = {}
    for statement, _ in _bodies(kind):
        if isinstance(statement, Function) and not _is_property(statement) and not _is_overload(statement):
            is_constructor = statement.name == "__init__"
            if is_constructor or not statement.name.startswith("_"):
                name = kind.__name__ if is_constructor else f"{kind.__name__}.{statement.name}"
                skipped = 0 if "staticmethod" in _decorators(statement) else 1
                text = _text(statement) or getattr(found.get(statement.name), "text", "")
                found[statement.name] = Method(statement.name, _signature(name, statement, skipped=skipped), text)
    if any(name.startswith("test_") for name in found):
        return []
    return sorted(found.values(), key=lambda method: method.name != "__init__")


def _is_property(node: Function) -> bool:
    return bool(_decorators(node) & {"property", "cached_property"})


def _is_overload(node: Function) -> bool:
    return "overload" in _decorators(node)


def _decorators(node: Function) -> set[str]:
    return {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}


def constants(module: ModuleType) -> dict[str, str]:
    """Constants of a module with the comments behind them."""
    tree, lines = _parsed(module)
    return {
        target.id: lines[(node.end_lineno or 0) - 1].partition("  # ")[2]
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
