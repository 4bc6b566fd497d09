"""The beaten track of a replay: is this line a bare message with nothing to find, which means nothing to the work?

Most lines of a long foreign log are. One decode tells it, and what is counted comes along: then the line need not even
be looked at for what kind of line it is, since no other kind would pass. Whatever is not quite ordinary goes the
patient way in `trial`, which would say the same.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

from telex.dialects.compiled import Shape
from telex.dialects.spec import Dialect, MessageType
from telex.flow.admission import Desk
from telex.flow.book.deeds import CHAPTERS, IDLE
from telex.flow.express import Express
from telex.flow.facts import attribute


class Glance(NamedTuple):
    """As much as a quick look tells."""

    dialect: Dialect
    type: MessageType
    idle: tuple[str, ...]  # it means nothing to the work as long as nothing was said in these
    id: str | None
    sender: str | None


def track(desk: Desk) -> Callable[[bytes], Glance | None]:
    """None: it says nothing either way."""
    express = Express(desk, opening=lambda dialect, type_, shape: _opening(desk, dialect, type_, shape))
    passes: Callable[[bytes], Glance | None] = express.passes
    return passes


def _opening(desk: Desk, dialect: Dialect, type_: MessageType, shape: Shape) -> Callable[[Any], Glance | None]:
    deed = type_.deed.does if type_.deed is not None and desk.work else ""
    idle = IDLE.get(deed)
    if deed in CHAPTERS and idle is None:
        return lambda message: None
    wire, topics, new = dialect.wire, idle.topics if idle is not None else (), tuple.__new__
    wanted = [_attribute(name, shape) for name in (wire.id, wire.sender)]
    get = attrgetter(*wanted)
    if idle is None or not idle.name:
        # As Glance(…) would make it, in half the time.
        return lambda message: new(Glance, (dialect, type_, topics, *get(message)))
    assert type_.deed is not None
    fits, said = idle.fits, attrgetter(attribute(dialect.locate(type_, type_.deed.names[idle.name]), shape))
    return lambda message: new(Glance, (dialect, type_, topics, *get(message))) if fits(said(message)) else None


def _attribute(name: str | None, shape: Shape) -> str:
    return attribute((name,) if name in shape.attributes and name is not None else None, shape)
