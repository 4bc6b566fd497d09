"""Which matters were handed up, and how far has each come? One topic each: the first message and every climb.

That it was answered is no message of a certain kind: any word from whoever it is with will do, plain text too. So the
answer is told by the event `answered` of the messages here, and `flow/escalation.py` puts both together.
"""

from collections.abc import Iterator

from telex.flow.book.chapter import Book, Chapter, Fold
from telex.flow.book.said import Said
from telex.model.escalation import Escalation, Rung
from telex.model.roster import TELEX

KIND = "escalation"


def topic_of(id_: str) -> str:
    return f"{KIND}:{id_}"


def _wanted(said: Said, book: Book) -> Iterator[str]:
    yield topic_of(said.id)
    if _may_climb(said):
        yield topic_of(str(said.reply_to))


def _belongs(said: Said, book: Book) -> Iterator[str]:
    """A climb belongs to what it climbs with. The bus also raises matters itself, in reply to something else."""
    climbs = _may_climb(said) and topic_of(str(said.reply_to)) in book
    yield topic_of(str(said.reply_to) if climbs else said.id)


def _may_climb(said: Said) -> bool:
    return said.sender == TELEX and said.reply_to is not None


def _fold(state: Escalation | None, said: Said) -> Escalation:
    rung = Rung(said.id, said.seq, said.at, said.text("level"), said.to, said.inboxes or (said.to,))
    if state is not None and _may_climb(said) and said.reply_to == state.id:
        return state._replace(rungs=(*state.rungs, rung))
    # An id used once more, by another sender or much later, begins anew.
    return Escalation(
        said.id,
        said.sender,
        said.role,
        said.at,
        said.dialect.name,
        said.type.name,
        said.text("reason"),
        said.text("severity"),
        said.correlation,
        said.reply_to if said.sender == TELEX else None,
        (rung,),
    )


CHAPTERS: dict[str, Chapter] = {"escalate": Chapter(_wanted, _belongs)}
FOLDS: dict[str, Fold] = {KIND: _fold}
