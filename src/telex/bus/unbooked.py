"""Does an answer name a request that the book does not keep? One that was asked in a team's own words is none.

The rules of the work know what the built-in dialects ask for. A type of a user's file gives leave for nothing and is in
no book; but a reader may have been shown it as a request in the reader's own dialect, and has to be able to answer.
Such an answer is delivered and decides nothing. Who may give it is the same as for any other request.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from telex.flow.book.approvals import Request, may_answer, may_not
from telex.flow.book.said import Said
from telex.model.refusal import Finding, refusals

if TYPE_CHECKING:
    from telex.bus.office import Office
    from telex.model.message import Message

LEAVE = frozenset({"ask", "escalate"})  # what is answered by a yes or a no
# What the book says when it knows of no such request → the intents of what may have been asked instead.
NOT_IN_THE_BOOK: Mapping[str, frozenset[str]] = {
    "approval-unknown": LEAVE,
    "shutdown-not-asked": frozenset({"stop"}),
}


async def in_own_words(office: "Office", said: Said, findings: tuple[Finding, ...]) -> tuple[Finding, ...] | None:
    """What is left to say of an answer to something that was asked in a team's own words; None: it is none."""
    refused = refusals(findings)
    intents = {NOT_IN_THE_BOOK.get(one.code) for one in refused}
    wanted = intents.pop() if len(intents) == 1 else None
    if said.reply_to is None or wanted is None:
        return None
    rest = tuple(one for one in findings if one not in refused)
    requests = [await _request(office, one) for one in await asked_in_own_words(office, said.reply_to, wanted)]
    if any(may_answer(said, one) for one in requests):
        return rest
    return (*rest, may_not(said, requests[-1]).told()) if requests and refused[0].code == "approval-unknown" else None


async def asked_in_own_words(office: "Office", id_: str, wanted: frozenset[str] = LEAVE) -> "list[Message]":
    """Messages of that id whose type stands for one of these intents in the file of its dialect."""
    return [one for one in await office.store.find(id_) if _asks(office, one, wanted)]


def _asks(office: "Office", message: "Message", wanted: frozenset[str]) -> bool:
    dialect = office.dialects.get(message.dialect or "")
    type_ = dialect.types.get(message.type or "") if dialect is not None else None
    asks = type_ is not None and type_.meaning is not None and not wanted.isdisjoint(type_.meaning.intents)
    return asks and not message.refused


async def _request(office: "Office", message: "Message") -> Request:
    """It, as far as it says who asked whom."""
    inboxes = tuple(one.inbox for one in await office.store.deliveries(message.seq))
    asked = (message.id, message.sender, message.role, message.to, inboxes)
    return Request(*asked, "", "", message.at, None, message.dialect or "", message.type or "")
