"""Evaluation of a rule on a parsed message: its names become paths."""

from collections.abc import Callable
from typing import Any

from telex.dialects.field_access import get_path as get_path
from telex.dialects.field_access import set_path as set_path
from telex.dialects.rule_language import Getter, Node, compile_rule
from telex.dialects.schema import Dialect, MessageType, Timestamp, Tree, kind_at
from telex.dialects.timestamps import parse_timestamp


def compile_for_tree(node: Node, dialect: Dialect, type_: MessageType) -> Callable[[Tree], Any]:
    """A parsed rule as a function of a message; times are compared as times, not as text."""
    return compile_rule(node, lambda name: _getter(dialect, type_, name))


def _getter(dialect: Dialect, type_: MessageType, name: str) -> Getter:
    steps = dialect.locate(type_, name)
    getter = get_path(steps)
    field = kind_at(dialect.fields_of(type_), steps)
    if field is None or not isinstance(field.kind, Timestamp):
        return getter

    def moment(tree: Any) -> Any:
        written = getter(tree)
        return parse_timestamp(written).at if isinstance(written, str) else None

    return moment
