"""Which matters were handed up, and how far has each come? One topic each: the first message and every climb. A climb
has a topic of its own besides, so that whoever answers it need not know what it is a step of.

That it was answered is no message of a certain kind: any word from whoever it is with will do, plain text too. So the
answer is told by the event `answered` of the messages here, and `delivery/escalation_chain.py` puts both together.
"""

from collections.abc import Iterator

from telex.model.escalation import Escalation, EscalationLevel
from telex.model.finding import Finding
from telex.model.roster import TELEX
from telex.work.id_reuse import id_reused
from telex.work.rule_set import Book, Fold, RuleContext, WorkRules
from telex.work.view import WorkMessage

KIND, CLIMB = "escalation", "climb"
ANY = "escalations"  # as long as it is empty, no matter was ever handed up that a message could be an answer to


def topic_of(id_: str) -> str:
    return f"{KIND}:{id_}"


def topics_of_step(id_: str) -> tuple[str, str]:
    """Where it is known that this is a step of a matter: the first, or a climb."""
    return topic_of(id_), f"{CLIMB}:{id_}"


def _belongs(work_message: WorkMessage, book: Book) -> Iterator[str]:
    """A climb belongs to what it climbs with. The bus also raises matters itself, in reply to something else."""
    if ANY not in book:
        yield ANY
    if _may_climb(work_message) and topic_of(str(work_message.reply_to)) in book:
        yield topic_of(str(work_message.reply_to))
        yield f"{CLIMB}:{work_message.id}"
    else:
        yield topic_of(work_message.id)


def _weigh(work_message: WorkMessage, book: Book, context: RuleContext) -> tuple[Finding, ...]:
    """A matter that waits would be lost to whoever looks for it if another took its id."""
    first, climb = topics_of_step(work_message.id)
    if work_message.sender == TELEX or (first not in book and climb not in book):
        return ()
    escalation: Escalation | None = book.get(first)
    by = escalation.by if escalation is not None else TELEX
    return (id_reused(work_message, f"{by} has handed something up"),)


def _may_climb(work_message: WorkMessage) -> bool:
    return work_message.sender == TELEX and work_message.reply_to is not None


def _fold(state: Escalation | None, work_message: WorkMessage) -> Escalation:
    rung = EscalationLevel(
        work_message.id,
        work_message.seq,
        work_message.at,
        work_message.text("level"),
        work_message.to,
        work_message.inboxes or (work_message.to,),
    )
    if state is not None and _may_climb(work_message) and work_message.reply_to == state.id:
        return state._replace(rungs=(*state.rungs, rung))
    return Escalation(
        work_message.id,
        work_message.sender,
        work_message.role,
        work_message.at,
        work_message.dialect.name,
        work_message.type.name,
        work_message.text("reason"),
        work_message.text("severity"),
        work_message.correlation,
        work_message.reply_to if work_message.sender == TELEX else None,
        (rung,),
    )


def _climbed(state: str | None, work_message: WorkMessage) -> str | None:
    """The id of the matter that it climbed with."""
    return state or work_message.reply_to


def _since(state: float | None, work_message: WorkMessage) -> float:
    """When there was the first."""
    return work_message.at if state is None else state


CHAPTERS: dict[str, WorkRules] = {"escalate": WorkRules(_belongs, _weigh)}
FOLDS: dict[str, Fold] = {KIND: _fold, CLIMB: _climbed, ANY: _since}
