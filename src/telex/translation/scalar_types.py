"""What is a scalar that front matter wrote without quotes? Its field says whether it is a number, a yes or a text."""

from typing import Any

from telex.dialects.parse.front_matter import PlainScalar
from telex.dialects.schema import Boolean, Fields, Group, Integer, Number, Tree
from telex.validation import scalars


def typed(tree: Tree, fields: Fields) -> Tree:
    """The same message with every such value as its field means it; one that has been read already is as it was."""
    found: Tree = {}
    for name, value in tree.items():
        field = fields.get(name)
        if isinstance(value, PlainScalar):
            if value == "" and field is not None:
                continue  # a name with nothing behind it says nothing
            value = _value(value, field.kind if field is not None else None) if value else None
        elif isinstance(value, dict) and field is not None and isinstance(field.kind, Group):
            value = typed(value, field.kind.fields)
        found[name] = value
    return found


def _value(text: PlainScalar, kind: Any) -> Any:
    match kind:
        case Integer() | Number():
            return scalars.number(text, text)
        case Boolean():
            return scalars.TRUTH.get(text, text)
    return text
