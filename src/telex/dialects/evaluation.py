"""How is a rule held against a message that was read? Its names become ways into the tree."""

from collections.abc import Callable, Mapping
from typing import Any

from telex.dialects.expressions import Getter, Node, compile_rule
from telex.dialects.moments import read_moment
from telex.dialects.spec import Dialect, MessageType, Moment, Tree, kind_at


def on_tree(node: Node, dialect: Dialect, type_: MessageType) -> Callable[[Tree], Any]:
    """A parsed rule as a function of a message; times are compared as times, not as text."""
    return compile_rule(node, lambda name: _getter(dialect, type_, name))


def _getter(dialect: Dialect, type_: MessageType, name: str) -> Getter:
    steps = dialect.locate(type_, name)
    getter = reach(steps)
    field = kind_at(dialect.fields_of(type_), steps)
    if field is None or not isinstance(field.kind, Moment):
        return getter

    def moment(tree: Any) -> Any:
        written = getter(tree)
        return read_moment(written).at if isinstance(written, str) else None

    return moment


def reach(steps: tuple[str, ...]) -> Getter:
    """A way into a tree: None when something on the way is absent, a list where a step ends in []."""
    if len(steps) == 1 and not steps[0].endswith("[]"):
        only = steps[0]
        return lambda tree: tree.get(only)

    def get(tree: Any) -> Any:
        for index, step in enumerate(steps):
            if not isinstance(tree, Mapping) or step.removesuffix("[]") not in tree:
                return None
            tree = tree[step.removesuffix("[]")]
            if step.endswith("[]") and isinstance(tree, list):
                rest = reach(steps[index + 1 :]) if steps[index + 1 :] else _itself
                return [rest(item) for item in tree]
        return tree

    return get


def put(tree: Tree, steps: tuple[str, ...], value: Any) -> None:
    """Set one place, making the objects on the way there."""
    *parents, name = steps
    for parent in parents:
        tree = tree.setdefault(parent, {})
    tree[name] = value


def _itself(value: Any) -> Any:
    return value
