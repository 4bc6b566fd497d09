"""The beaten track: a message like thousands before it, between two agents who have talked before.

All that has to be known of them is known, so it takes a decode, a digest and a look at two tables until the message can
be kept. Whatever is not quite ordinary goes the patient way in `send`, which would give the same answer.
"""

from telex.bus.directory import BusContext, Whom
from telex.bus.new_message import entry_of
from telex.bus.work_cache import EVIDENT
from telex.model.message import NewMessage


def ordinary(office: BusContext, raw: bytes, whom: Whom, began: float) -> NewMessage | None:
    """What is written when this message is kept; None when there is more to find out first."""
    way = office.known_way(whom, began)
    if way is None or way.inboxes is None:
        return None
    looked = office.lanes.quick(raw, way.pair)
    if looked is None:
        return None
    _, kind, (id_, correlation, reply_to, _) = looked
    if kind is None or reply_to is not None or not kind.stands_alone:
        return None
    part = None
    if kind.deed is not None:
        if kind.idle is None or not office.books.known_empty(kind.idle):
            return None
        if office.evidence is not None and kind.deed in EVIDENT:
            return None  # the repository has a word in it
        part = office.books.nothing_said(kind.idle)
    return entry_of(
        office,
        raw,
        id_,
        way.member,
        way.address or "",
        kind.dialect.name,
        kind.type.name,
        kind.rank,
        correlation,
        None,
        way.inboxes,
        began,
        (),
        None,
        (),
        part,
    )
