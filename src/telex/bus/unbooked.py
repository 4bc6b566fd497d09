"""Does an answer name a request that the book does not keep? One that was asked in a team's own words is none.

The rules of the work know what the built-in dialects ask for. A type of a user's file gives leave for nothing and is in
no book; but a reader may have been shown it as a request in the reader's own dialect, and has to be able to answer.
Such an answer is delivered to whoever asked, and decides nothing.
"""

from typing import TYPE_CHECKING

from telex.flow.book.said import Said
from telex.model.refusal import Finding

if TYPE_CHECKING:
    from telex.bus.office import Office

NOT_IN_THE_BOOK = frozenset({"approval-unknown", "shutdown-not-asked"})
ASKING = frozenset({"ask", "escalate", "stop"})  # intents that somebody answers in so many words


async def answers_own_words(office: "Office", said: Said, findings: list[Finding]) -> bool:
    """Is all that speaks against it that the book knows of no such request, and is there one after all?"""
    if said.reply_to is None or not all(one.code in NOT_IN_THE_BOOK for one in findings):
        return False
    for message in await office.store.find(said.reply_to):
        dialect = office.dialects.get(message.dialect or "")
        type_ = dialect.types.get(message.type or "") if dialect is not None else None
        asks = type_ is not None and type_.meaning is not None and not ASKING.isdisjoint(type_.meaning.intents)
        if asks and not message.refused and message.sender != said.sender:
            return True
    return False
