"""Conversion of a problem document to the receipt, finding or exception of a local bus."""

from collections.abc import Callable
from typing import Any

from telex import errors
from telex.errors import InvalidValue, NotAMember, OutcomeUnknown, StoreError, StoreUnavailable, TelexError
from telex.model.finding import Finding
from telex.model.text import ROOT
from telex.ports.bus import Receipt
from telex.protocol import CodecError, decoded, made

REFUSED, TOO_LARGE = 422, 413
ARGUMENTS_WRONG = "arguments-wrong"
_BY_CODE: dict[str, type[TelexError]] = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, TelexError) and "code" in vars(kind)
}
_WITH_ID: dict[type[TelexError], Callable[[str, str], TelexError]] = {
    errors.OutcomeUnknown: errors.OutcomeUnknown,
    errors.RequestTimedOut: errors.RequestTimedOut,
    errors.RequestFailed: errors.RequestFailed,
}


def tree_of(body: bytes) -> dict[str, Any]:
    """The document; an empty one where something in between has answered in its own words."""
    try:
        tree = decoded(body)
    except ValueError:
        return {}
    return tree if isinstance(tree, dict) else {}


def refusal_in(status: int, body: bytes, id_: str | None) -> Receipt | None:
    """The receipt of a message that was refused; None where this is no such answer."""
    tree = tree_of(body)
    if status == TOO_LARGE:  # the hub does not read on, so it has no receipt for it
        say = str(tree.get("detail", "Send less: put large content into a file and send its path."))
        return Receipt(False, id_ or "", "refused", findings=(Finding("too-large", ROOT, say),))
    if status != REFUSED:
        return None
    try:
        receipt = made(Receipt, tree | {"type": tree.get("message_type")})  # a problem has a type of its own
    except CodecError:
        return None
    assert isinstance(receipt, Receipt)
    return receipt


def finding_in(status: int, body: bytes) -> Finding | None:
    """What was found, where that is all there is to say."""
    tree = tree_of(body)
    try:
        found = made(tuple[Finding, ...], tree.get("findings")) if status == REFUSED else ()
    except CodecError:
        return None
    return found[0] if found else None


def error_in(status: int, body: bytes) -> TelexError:
    """The exception that a bus at hand would have raised."""
    tree = tree_of(body)
    code, say = str(tree.get("code", "")), str(tree.get("detail", ""))
    kind = _BY_CODE.get(code)
    if kind in _WITH_ID:
        id_ = tree.get("id")
        return OutcomeUnknown(say, id_) if kind is OutcomeUnknown else _WITH_ID[kind](say, str(id_ or ""))
    if kind is not None:
        return kind(say)
    if status in (401, 403):
        return NotAMember(say or "the hub requires a token: set TELEX_TOKEN.", code or "not-let-in")
    if code == ARGUMENTS_WRONG:
        return InvalidValue(say)
    if status in (429, 502, 503, 504):
        return StoreUnavailable(say or f"the hub is busy or unavailable (status {status}): try again.")
    return StoreError(say or f"unexpected response from the hub (status {status}): is it a Telex hub?")
