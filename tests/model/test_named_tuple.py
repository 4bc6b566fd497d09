"""`telex.model.named_tuple.NamedTuple` behaves as `typing.NamedTuple`, whose constructor it compiles later."""

import copy
import pickle
import typing
from collections.abc import Callable
from typing import Any

import pytest

from telex.model import named_tuple


class Ours(named_tuple.NamedTuple):
    """A point."""

    x: int
    y: int = 2
    name: str | None = None

    @property
    def total(self) -> int:
        return self.x + self.y


class Theirs(typing.NamedTuple):
    """A point."""

    x: int
    y: int = 2
    name: str | None = None

    @property
    def total(self) -> int:
        return self.x + self.y


class Nothing(named_tuple.NamedTuple):
    pass


class Child(Ours):
    __slots__ = ()

    def moved(self, by: int) -> typing.Self:
        return self._replace(x=self.x + by)


USES: list[Callable[[Any], object]] = [
    lambda kind: kind(1),
    lambda kind: kind(1, 3),
    lambda kind: kind(x=1, name="a"),
    lambda kind: kind(1).x,
    lambda kind: kind(1).total,
    lambda kind: kind(1)[1:],
    lambda kind: [*kind(1)],
    lambda kind: kind(1) == (1, 2, None),
    lambda kind: hash(kind(1)),
    lambda kind: kind(1) < kind(2),
    lambda kind: kind(1)._replace(y=5),
    lambda kind: kind(1)._asdict(),
    lambda kind: kind._make([1, 2, "c"]),
    lambda kind: kind._fields,
    lambda kind: kind._field_defaults,
    lambda kind: kind.__match_args__,
    lambda kind: kind.__doc__,
    lambda kind: typing.get_type_hints(kind),
    lambda kind: tuple.__new__(kind, (1, 2, None)).name,
    lambda kind: copy.deepcopy(kind(1)),
    lambda kind: pickle.loads(pickle.dumps(kind(1))),
    lambda kind: hasattr(kind(1), "__dict__"),
    lambda kind: kind(),
    lambda kind: kind(1, 2, None, 4),
    lambda kind: kind(1, z=1),
    lambda kind: kind(1)._replace(z=1),
    lambda kind: kind._make([1]),
    lambda kind: setattr(kind(1), "x", 2),
]


def outcome(use: Callable[[Any], object], kind: object) -> str:
    try:
        return repr(use(kind)).replace("Ours", "Theirs")
    except (TypeError, ValueError, AttributeError) as error:
        return f"{type(error).__name__}: {error}".replace("Ours", "Theirs").replace("__new__()", "<lambda>()")


@pytest.mark.parametrize("use", USES)
def test_it_behaves_as_the_standard_one(use: Callable[[Any], object]) -> None:
    assert outcome(use, Ours) == outcome(use, Theirs).replace("__new__()", "<lambda>()")


def test_a_class_without_fields_and_a_subclass() -> None:
    assert Nothing() == ()
    moved = Child(1).moved(2)
    assert (moved, type(moved), Child._fields) == ((3, 2, None), Child, Ours._fields)
