"""The beaten track: a message like thousands before it, between two agents who have talked before.

All that has to be known of them is known, so it takes a decode, a digest and a look at two tables until the message can
be kept. Whatever is not quite ordinary goes the patient way in `send`, which would give the same answer.
"""

from telex.bus.directory import BusContext, Whom
from telex.bus.new_message import new_message
from telex.bus.work_cache import EVIDENT
from telex.model.message import NewMessage


def send_fast(context: BusContext, raw: bytes, whom: Whom, began: float) -> NewMessage | None:
    """What is written when this message is kept; None when there is more to find out first."""
    cached_route = context.find_cached_route(whom, began)
    if cached_route is None or cached_route.inboxes is None:
        return None
    checked = context.validators.quick(raw, cached_route.pair)
    if checked is None:
        return None
    _, kind, (id_, correlation, reply_to, _) = checked
    if kind is None or reply_to is not None or not kind.stands_alone:
        return None
    work_change = None
    if kind.action is not None:
        if kind.idle is None or not context.work_cache.known_empty(kind.idle):
            return None
        if context.evidence is not None and kind.action in EVIDENT:
            return None  # the repository has a word in it
        work_change = context.work_cache.nothing_said(kind.idle)
    return new_message(
        context,
        raw,
        id_,
        cached_route.member,
        cached_route.address or "",
        kind.dialect.name,
        kind.type.name,
        kind.rank,
        correlation,
        None,
        cached_route.inboxes,
        began,
        (),
        None,
        (),
        work_change,
    )
