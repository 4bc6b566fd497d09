"""Output of a command's result: text on a terminal, one line of JSON per item with --json."""

import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE
from telex.surfaces.cli.output import Screen

T = TypeVar("T")
Lines = Callable[[Screen], list[str]]


def print_list(
    items: Iterable[T], as_json: bool, *, facts: Callable[[T], Any], lines: Lines, empty: str = "", hint: str = ""
) -> int:
    """Print the items; without --json, `empty` on stderr when there are none, or `hint` after them."""
    items = list(items)
    if as_json:
        sys.stdout.write("".join(json_line(facts(item)) + "\n" for item in items))
    elif not items and empty:
        sys.stderr.write(empty + "\n")
    else:
        screen = Screen(sys.stdout)
        screen.line("\n".join(lines(screen)))
        sys.stderr.write(hint and hint + "\n")
    return DONE


def print_one(facts: Any, text: str | Lines, as_json: bool) -> int:
    """Print one result, as JSON or as text."""
    screen = Screen(sys.stdout)
    if as_json:
        screen.line(json_line(facts))
    else:
        screen.line(text if isinstance(text, str) else "\n".join(text(screen)))
    return DONE
