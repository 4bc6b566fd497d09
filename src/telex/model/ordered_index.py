"""How is one of very many found by its id, and how is one more of them written down, without looking through them all?

A register is read as the sequence of its items, in the order in which they came. Whoever writes into it gets another
one and the old one stays as it was, for which all of it is copied: nobody may hold a register that changes. But who
goes through the whole work of a team and keeps no earlier state makes it its own, and then it is written in place.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol, Self, TypeVar, overload

from telex.model.tuple_view import TupleView


class HasId(Protocol):
    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=HasId)


class OrderedIndex(TupleView[T]):
    __slots__ = ("_all", "_places", "is_own")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._all: list[T] = []
        self._places: dict[str, int] = {}  # by id: where the last one of that id stands
        self.is_own = True
        for item in items:
            self.added(item)
        self.is_own = False

    def get(self, id_: str) -> T | None:
        """The last one of that id."""
        place = self._places.get(id_)
        return self._all[place] if place is not None else None

    def added(self, one: T) -> Self:
        known = self if self.is_own else self._copy()
        known._places[one.id] = len(known._all)
        known._all.append(one)
        known._note(one)
        return known

    def replaced(self, one: T) -> Self:
        """With this in the place of the last one of its id, which must be there."""
        known = self if self.is_own else self._copy()
        known._all[known._places[one.id]] = one
        known._note(one)
        return known

    def owned(self) -> Self:
        """The same, for somebody who alone holds it from now on."""
        if self.is_own:
            return self
        known = self._copy()
        known.is_own = True
        return known

    def _copy(self) -> Self:
        known = type(self).__new__(type(self))
        known._all, known._places, known.is_own = self._all.copy(), self._places.copy(), False
        return known

    def _note(self, one: T) -> None:
        """What else is to be known of an item that was just written."""

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[T]:
        return iter(self._all)

    def __reversed__(self) -> Iterator[T]:
        return reversed(self._all)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[T, ...]: ...
    def __getitem__(self, place: int | slice) -> T | tuple[T, ...]:
        return tuple(self._all[place]) if isinstance(place, slice) else self._all[place]
