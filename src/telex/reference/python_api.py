"""Page of the Python API: the public names of `telex` and of its public modules, from signatures and docstrings."""

import inspect
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from textwrap import dedent

import telex
from telex import errors
from telex.generate.tables import fenced, markdown_table
from telex.reference import source
from telex.reference.source import Method

MODULES = ("telex.messages", "telex.testing")  # public modules beside telex, which list their names in `__all__`
_INTRODUCTION = """\
Everything here is imported from `telex`, as in `telex.connect`, unless a heading names another module. A name is loaded
when it is first used, so `import telex` costs nothing. The package is typed (`py.typed`): a type checker reports a
misspelt name.

`async with telex.connect()` gives a `Bus` whose methods are awaited. `with telex.connect()` gives one with the same
methods, which block. Classes for the messages of each dialect are in [`telex.messages`](../send-and-receive.md)."""
_ERRORS = """\
All exceptions are subclasses of `telex.TelexError`. `code` is the same in Python, on the command line and over HTTP;
`say` is the text."""
_RECORDS = "Arguments and results of the methods above. Import them from the module named, where you need their types."
_CODE = re.compile(r" {4}|>>> |\.\.\. |[│├└]|(async )?(with|for|def) ")
_RAISES = re.compile(r"Raises:\n(?=    )")
_CAUSE = re.compile(r"^ {4}(\w+): ", re.MULTILINE)


def python_page() -> str:
    names = {name: getattr(telex, name) for name in telex.__all__}
    raised = [name for name, thing in names.items() if _is_exception(thing) and thing.__module__ == errors.__name__]
    functions = sorted(name for name, thing in names.items() if inspect.isfunction(thing))
    classes = sorted(name for name, thing in names.items() if inspect.isclass(thing) and name not in raised)
    others = sorted(names.keys() - {*raised, *functions, *classes})
    parts = ["# Python API", _INTRODUCTION, _contents(functions, classes, others)]
    parts += ["## Functions", *(part for name in functions for part in _function(names[name]))]
    parts += ["## Classes", *(part for name in classes for part in _class(name, names[name]))]
    parts += ["## Records", _RECORDS, *(part for kind in _records(names) for part in _record(kind))]
    parts += ["## Constants", _constants(others)] if others else []
    parts += ["## Exceptions", _ERRORS, *_exceptions()]
    for module in MODULES:
        parts += _module(module)
    return "\n\n".join(parts) + "\n"


def _is_exception(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, BaseException)


def _contents(*groups: list[str]) -> str:
    links = [f"[`{name}`](#{name.lower()})" for group in groups[:2] for name in group]
    return " ·\n".join([*links, "[exceptions](#exceptions)"])


def _module(name: str) -> list[str]:
    module = import_module(name)
    parts = [f"## Module {name}", *prose(module.__doc__ or "")]
    for public in sorted(module.__all__):
        thing = getattr(module, public)
        parts += _class(public, thing) if inspect.isclass(thing) else _function(thing, name)
    return parts


# --- names ------------------------------------------------------------------------------------------------------------
def _function(thing: object, module: str = telex.__name__) -> list[str]:
    function = source.function(thing, module)
    return [f"### {function.name}", fenced("py", function.signature), *prose(function.text)]


def _class(name: str, kind: type) -> list[str]:
    parts = [f"### {name}", *prose(source.class_text(kind)), *_attributes(kind)]
    return parts + [part for method in source.methods(kind) for part in _method(name, method)]


def _attributes(kind: type) -> list[str]:
    attributes = source.attributes(kind)
    rows = [
        (f"`{each.name}`", f"`{each.type}`" if each.type else "", each.text.partition("\n\n")[0]) for each in attributes
    ]
    return [markdown_table(("attribute", "type", "meaning"), rows)] if rows else []


def _method(name: str, method: Method) -> list[str]:
    heading = [] if method.name == "__init__" else [f"#### {name}.{method.name}"]
    return [*heading, fenced("py", method.signature), *prose(method.text)]


def _records(public: Mapping[str, object]) -> list[type]:
    """Classes that the signatures of public names mention and that are not public themselves, by name."""
    records = {
        kind.__name__: kind
        for thing in public.values()
        if not _is_exception(thing)
        for signature in _signatures(thing)
        for kind in source.mentioned(thing, signature)
        if kind.__name__ not in public and source.attributes(kind)
    }
    return [records[name] for name in sorted(records)]


def _signatures(thing: object) -> list[str]:
    if isinstance(thing, type):
        return [method.signature for method in source.methods(thing)]
    return [source.function(thing, telex.__name__).signature] if inspect.isfunction(thing) else []


def _record(kind: type) -> list[str]:
    text = prose(source.class_text(kind))
    return [f"### {kind.__name__}", f"From `{kind.__module__}`. {text[0] if text else ''}".rstrip(), *_attributes(kind)]


def _constants(names: list[str]) -> str:
    homes = {name: sys.modules[telex._HOMES[name]] for name in names}
    rows = [(f"`{name}`", source.constants(home).get(name, "")) for name, home in homes.items()]
    return markdown_table(("name", "value"), rows)


def _exceptions() -> list[str]:
    """The tree of `telex.errors`, and the attributes of those that have more than `code` and `say`."""
    parts = prose(errors.__doc__ or "")[1:]
    for name, kind in vars(errors).items():
        own = source.class_text(kind) if _is_exception(kind) and not name.startswith("_") else ""
        parts += [f"`{name}`: {own[0].lower()}{own[1:]}" if own[:1].isalpha() else f"`{name}`: {own}"] if own else []
    return parts


# --- docstrings -------------------------------------------------------------------------------------------------------
def prose(text: str) -> list[str]:
    """A docstring as Markdown: indented text and examples become code, `Raises:` a list."""
    parts: list[str] = []
    for part in re.split(r"\n\n+", text):
        if _RAISES.match(part):
            parts.append("Raises:\n\n" + _CAUSE.sub(r"- `\1`: ", part.removeprefix("Raises:\n")))
        elif _CODE.match(part):
            is_next = bool(parts) and parts[-1].startswith("```py\n")
            code = (parts.pop()[6:-4] + "\n\n" if is_next else "") + dedent(part)
            parts.append(fenced("py", code))
        elif part.strip():
            parts.append(part.strip())
    return parts
