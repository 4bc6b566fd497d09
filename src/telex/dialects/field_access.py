"""Access to a field of a message by its path. Separate from the rules, which cost an import."""

from collections.abc import Callable, Mapping
from typing import Any

from telex.dialects.schema import Tree


def get_path(steps: tuple[str, ...]) -> Callable[[Any], Any]:
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
                rest = get_path(steps[index + 1 :]) if steps[index + 1 :] else _itself
                return [rest(item) for item in tree]
        return tree

    return get


def set_path(tree: Tree, steps: tuple[str, ...], value: Any) -> None:
    """Set one place, making the objects on the way there."""
    *parents, name = steps
    for parent in parents:
        tree = tree.setdefault(parent, {})
    tree[name] = value


def _itself(value: Any) -> Any:
    return value
