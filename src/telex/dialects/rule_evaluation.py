"""How is a rule held against a message that was read? Its names become ways into the tree."""

from collections.abc import Callable
from typing import Any

from telex.dialects.field_access import put as put
from telex.dialects.field_access import reach as reach
from telex.dialects.rule_language import Getter, Node, compile_rule
from telex.dialects.schema import Dialect, MessageType, Timestamp, Tree, kind_at
from telex.dialects.timestamps import read_moment


def on_tree(node: Node, dialect: Dialect, type_: MessageType) -> Callable[[Tree], Any]:
    """A parsed rule as a function of a message; times are compared as times, not as text."""
    return compile_rule(node, lambda name: _getter(dialect, type_, name))


def _getter(dialect: Dialect, type_: MessageType, name: str) -> Getter:
    steps = dialect.locate(type_, name)
    getter = reach(steps)
    field = kind_at(dialect.fields_of(type_), steps)
    if field is None or not isinstance(field.kind, Timestamp):
        return getter

    def moment(tree: Any) -> Any:
        written = getter(tree)
        return read_moment(written).at if isinstance(written, str) else None

    return moment
