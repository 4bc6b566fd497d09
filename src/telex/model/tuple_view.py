"""How does a list that is quick to write read as the tuple it stands for?

The states of long topics hold their items in rows of their own kinds, so that one more is written down without copying
all that were there. To whoever reads them they are tuples: they are equal to one, hash as one, and a part of one is
one. Only what looks for a tuple by its type can tell, as a writer of JSON does; so what is handed out has tuples.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class TupleView(Sequence[T]):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TupleView | tuple):
            return NotImplemented
        return len(self) == len(other) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)!r})"


def with_tuples(state: Any) -> Any:
    """The same state of a topic, with tuples where it has rows."""
    names = getattr(state, "_fields", ())  # some topics have only a number, or nothing
    rows = {name: tuple(one) for name in names if isinstance(one := getattr(state, name), TupleView)}
    return state._replace(**rows) if rows else state
