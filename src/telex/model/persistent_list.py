"""How does a list get longer by one while whoever holds the shorter one sees no difference?

Both share what they have in common, and each knows how far it goes itself: so one step more costs the same after a
hundred thousand of them. Only what two make of the same beginning has to part, and is copied once.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Self, TypeVar, overload

from telex.model.tuple_view import TupleView

T = TypeVar("T")


class PersistentList(TupleView[T]):
    __slots__ = ("_all", "_length")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._all = list(items)  # and perhaps more behind our end
        self._length = len(self._all)

    def and_then(self, one: T) -> Self:
        """It, and one more. This one stays as it is."""
        ours, length = self._all, self._length
        if not length or len(ours) != length:  # many begin with nothing, and somebody else may have gone on from here
            ours = ours[:length]
        ours.append(one)
        longer = type(self).__new__(type(self))
        longer._all, longer._length = ours, length + 1
        return longer

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return islice(self._all, self._length)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[T, ...]: ...
    def __getitem__(self, place: int | slice) -> T | tuple[T, ...]:
        if isinstance(place, slice):
            return tuple([self._all[one] for one in range(*place.indices(self._length))])
        if not -self._length <= place < self._length:
            raise IndexError(place)
        return self._all[place if place >= 0 else self._length + place]
