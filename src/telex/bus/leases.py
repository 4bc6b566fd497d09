"""Lease tokens: parse, settle under a lease, and the error for a lease that was lost."""

from telex.bus.context import BusContext
from telex.bus.decision import DecidedSend, RefusedSend, SendRequest
from telex.delivery import lifecycle
from telex.errors import LeaseLost, NotFound
from telex.model.message import OPEN, Delivery
from telex.model.roster import Member
from telex.ports.bus import Receipt
from telex.ports.store import Settlement, SettleResult, Transaction, get_delivery
from telex.validation.authorization import normalised

TOKEN_CHARACTERS_MAX = 18  # more digits than any delivery will have, and fewer than a store can hold


def parse_token(token: str) -> tuple[int, int]:
    """Delivery and fence.

    Raises:
        NotFound: the token is invalid.
    """
    delivery, dot, fence = token.partition(".")
    is_number = token.isascii() and delivery.isdecimal() and fence.isdecimal()
    if not (dot and is_number and len(token) <= TOKEN_CHARACTERS_MAX):
        raise NotFound(f"invalid lease token {token[:60]!r}: pass the token that came with the message.")
    return int(delivery), int(fence)


def settle_lease(context: BusContext, settlement: Settlement, tx: Transaction) -> SettleResult:
    """Settle under a lease, also an expired one, unless the agent has left: then other members get the message."""
    settled = tx.settle(settlement)
    if settled.done or settled.now is None or settled.now.state != "stored":
        return settled
    return tx.settle(settlement._replace(after_expiry=_may_be_late(context, settlement, tx)))


def _may_be_late(context: BusContext, settlement: Settlement, tx: Transaction) -> bool:
    context.team.begin(tx)
    member: Member | None = context.team.roster.members.get(settlement.holder or "")
    return member is None or member.is_here


def ack_with_send(context: BusContext, tx: Transaction, request: SendRequest, outcome: DecidedSend) -> None:
    """Ack the lease of a send in its transaction. A refused message leaves the lease as it is. Under a lease that was
    acked already only a duplicate is accepted: one ack stores one message.

    Raises:
        LeaseLost: nothing of the send is stored, not even its refusal.
    """
    assert request.ack is not None
    seq, fence = parse_token(request.ack)
    agent = normalised(request.sender)
    ack = lifecycle.acked(seq, fence, agent, context.team.now)
    is_refused = isinstance(outcome, RefusedSend)
    settled = _check_lease(context, ack, tx) if is_refused else settle_lease(context, ack, tx)
    is_repeated = isinstance(outcome, Receipt) and outcome.duplicate and is_acked(settled.now, fence, agent)
    if not settled.done and not is_repeated:
        raise lease_lost(settled, fence, agent)


def _check_lease(context: BusContext, ack: Settlement, tx: Transaction) -> SettleResult:
    """Whether the lease of the token can be acked."""
    delivery = get_delivery(tx, ack.delivery)
    if delivery is None:
        return SettleResult(False, None)
    return SettleResult(ack._replace(after_expiry=_may_be_late(context, ack, tx)).holds_for(delivery), delivery)


def is_acked(delivery: Delivery | None, fence: int, agent: str) -> bool:
    """Whether this agent has acked it under this lease."""
    return delivery is not None and (delivery.state, delivery.fence, delivery.holder) == ("acked", fence, agent)


def lease_lost(settled: SettleResult, fence: int, agent: str) -> LeaseLost | NotFound:
    """The error for a token whose lease is not valid any more."""
    delivery = settled.now
    if delivery is None:
        return NotFound("no such delivery: pass the token that came with the message.")
    if delivery.fence != fence:
        return LeaseLost(f"the lease was lost: drop the work; the message {_state_text(delivery)}.")
    if delivery.holder not in (agent, None):
        return LeaseLost(f"the lease belongs to {delivery.holder}, not to {agent}: leave the message to it.")
    if delivery.holder == agent and delivery.state in OPEN:
        return LeaseLost("the lease has expired: ack the message if the work is done, or receive it again.")
    return LeaseLost(f"the lease is over: drop the work; the message {_state_text(delivery)}.")


def _state_text(delivery: Delivery) -> str:
    if delivery.state == "leased":
        return f"is leased to {delivery.holder} now"
    return "waits for its next attempt" if delivery.state == "stored" else f"is {delivery.state}"
