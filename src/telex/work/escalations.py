"""Which matters were handed up, and how far has each come? One topic each: the first message and every climb. A climb
has a topic of its own besides, so that whoever answers it need not know what it is a step of.

That it was answered is no message of a certain kind: any word from whoever it is with will do, plain text too. So the
answer is told by the event `answered` of the messages here, and `delivery/escalation_chain.py` puts both together.
"""

from collections.abc import Iterator

from telex.model.escalation import Escalation, EscalationLevel
from telex.model.roster import TELEX
from telex.work.id_reuse import id_reused
from telex.work.rule_set import Book, Fold, LazyFinding, RuleContext, WorkRules
from telex.work.view import WorkMessage

KIND, CLIMB = "escalation", "climb"
ANY = "escalations"  # as long as it is empty, no matter was ever handed up that a message could be an answer to


def topic_of(id_: str) -> str:
    return f"{KIND}:{id_}"


def topics_of_step(id_: str) -> tuple[str, str]:
    """Where it is known that this is a step of a matter: the first, or a climb."""
    return topic_of(id_), f"{CLIMB}:{id_}"


def _wanted(said: WorkMessage, book: Book) -> Iterator[str]:
    yield ANY
    yield from topics_of_step(said.id)
    if _may_climb(said):
        yield topic_of(str(said.reply_to))


def _belongs(said: WorkMessage, book: Book) -> Iterator[str]:
    """A climb belongs to what it climbs with. The bus also raises matters itself, in reply to something else."""
    if ANY not in book:
        yield ANY
    if _may_climb(said) and topic_of(str(said.reply_to)) in book:
        yield topic_of(str(said.reply_to))
        yield f"{CLIMB}:{said.id}"
    else:
        yield topic_of(said.id)


def _weigh(said: WorkMessage, book: Book, ground: RuleContext) -> tuple[LazyFinding, ...]:
    """A matter that waits would be lost to whoever looks for it if another took its id."""
    first, climb = topics_of_step(said.id)
    if said.sender == TELEX or (first not in book and climb not in book):
        return ()
    known: Escalation | None = book.get(first)
    by = known.by if known is not None else TELEX
    return (id_reused(said, f"{by} has handed something up"),)


def _may_climb(said: WorkMessage) -> bool:
    return said.sender == TELEX and said.reply_to is not None


def _fold(state: Escalation | None, said: WorkMessage) -> Escalation:
    rung = EscalationLevel(said.id, said.seq, said.at, said.text("level"), said.to, said.inboxes or (said.to,))
    if state is not None and _may_climb(said) and said.reply_to == state.id:
        return state._replace(rungs=(*state.rungs, rung))
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


def _climbed(state: str | None, said: WorkMessage) -> str | None:
    """The id of the matter that it climbed with."""
    return state or said.reply_to


def _since(state: float | None, said: WorkMessage) -> float:
    """When there was the first."""
    return said.at if state is None else state


CHAPTERS: dict[str, WorkRules] = {"escalate": WorkRules(_wanted, _belongs, _weigh)}
FOLDS: dict[str, Fold] = {KIND: _fold, CLIMB: _climbed, ANY: _since}
