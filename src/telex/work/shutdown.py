"""Work rules of shutdowns: one topic for the team, with every request to stop and every answer.

An agent that agrees is stopped by that message (`parts`), in the same transaction. `shutdown_progress.py` computes the
state of each agent from this topic and the roster.
"""

from telex.delivery.routing import inboxes_of
from telex.model.finding import Finding
from telex.model.limits import LIMITS
from telex.model.roster import Member, Roster
from telex.model.text import LATEST_MAX, nearest
from telex.model.work import NO_SHUTDOWNS, TOPIC, ShutdownAnswer, ShutdownRequest, ShutdownState
from telex.work.id_reuse import id_reused
from telex.work.rule_set import Book, Fold, RuleContext, WorkRules
from telex.work.view import WorkMessage


def _belongs(work_message: WorkMessage, book: Book) -> tuple[str, ...]:
    """An answer to nothing changes nothing, whoever has let it pass."""
    shutdown_state: ShutdownState = book.get(TOPIC, NO_SHUTDOWNS)
    return (
        (TOPIC,)
        if work_message.action == "stop" or shutdown_state.call(work_message.text("request")) is not None
        else ()
    )


def _fold(state: ShutdownState | None, work_message: WorkMessage) -> ShutdownState:
    """Written in place, as there may be thousands."""
    shutdown_state = ShutdownState([], {}, {}) if state is None else state
    if work_message.action == "stop":
        _add(shutdown_state, work_message)
        return shutdown_state
    request = work_message.text("request")
    call = shutdown_state.call(request)
    if call is not None:
        answer = ShutdownAnswer(
            work_message.id,
            work_message.at,
            work_message.get("approved") is True,
            work_message.text("status"),
            work_message.text("pending"),
        )
        answers = {**call.answers, work_message.sender: answer}
        shutdown_state.calls[shutdown_state.places[request]] = call._replace(answers=answers)
    return shutdown_state


def _add(shutdown_state: ShutdownState, work_message: WorkMessage) -> None:
    asked, place = work_message.inboxes or (work_message.to,), len(shutdown_state.calls)
    shutdown_state.calls.append(
        ShutdownRequest(
            work_message.id,
            work_message.sender,
            role=work_message.role,
            reason=work_message.text("reason"),
            team=work_message.text("team"),
            at=work_message.at,
            asked=asked,
            answers={},
        )
    )
    shutdown_state.places[work_message.id] = place
    for inbox in asked:
        shutdown_state.latest[inbox] = place


def was_asked(call: ShutdownRequest, member: Member, roster: Roster) -> bool:
    """Was it put into an inbox that the member reads? One of a role may have been asked, whoever comes first."""
    return not set(call.asked).isdisjoint(inboxes_of(member, roster))


def open_call(shutdown_state: ShutdownState, member: Member, roster: Roster) -> ShutdownRequest | None:
    """The last call that the member has not answered at all, since it is here."""
    last = shutdown_state.last_into(inboxes_of(member, roster), member.joined_at or 0.0)
    return last if last is not None and member.name not in last.answers else None


def _weigh_call(work_message: WorkMessage, book: Book, context: RuleContext) -> tuple[Finding, ...]:
    shutdown_state: ShutdownState = book.get(TOPIC, NO_SHUTDOWNS)
    call = shutdown_state.call(work_message.id)
    return (id_reused(work_message, f"{call.by} has asked the team to shut down"),) if call is not None else ()


def _weigh_answer(work_message: WorkMessage, book: Book, context: RuleContext) -> tuple[Finding, ...]:
    shutdown_state: ShutdownState = book.get(TOPIC, NO_SHUTDOWNS)
    member = context.roster.find(work_message.sender) or Member(work_message.sender, work_message.role)
    call = shutdown_state.call(work_message.text("request"))
    if call is None or not was_asked(call, member, context.roster):
        return (_not_asked(work_message, shutdown_state, member, context.roster),)
    answer = call.answers.get(work_message.sender)
    if answer is not None and answer.approved:
        return (_answered(work_message, call, shutdown_state, member, context.roster),)
    return ()


def _not_asked(work_message: WorkMessage, shutdown_state: ShutdownState, member: Member, roster: Roster) -> Finding:
    code, path = "shutdown-not-asked", work_message.path("request")
    found = work_message.text("request")[: LIMITS.found_characters_max]
    waits = open_call(shutdown_state, member, roster)
    if waits is not None:
        asked = f"which {waits.by} has asked {work_message.sender} with"
        say = f"Name {waits.id}, {asked}: nobody asked it to shut down otherwise."
        return Finding(code, path, say, expected=waits.id, found=found, nearest=waits.id)
    own = [call.id for call in shutdown_state.calls[-LATEST_MAX:] if was_asked(call, member, roster)]
    sender = work_message.sender
    say = f"Take the id of a request to shut down that was sent to {sender}, or go on: it was not asked with this."
    return Finding(code, path, say, found=found, nearest=nearest(found, own))


def _answered(
    work_message: WorkMessage, call: ShutdownRequest, shutdown_state: ShutdownState, member: Member, roster: Roster
) -> Finding:
    waits = open_call(shutdown_state, member, roster)
    meant = waits.id if waits is not None else None
    other = f"Name {meant} instead" if meant is not None else "Leave it at that"
    say = f"{other}: {work_message.sender} has agreed to {call.id} before, and shuts down once."
    path = work_message.path("request")
    return Finding("shutdown-answered", path, say, expected=meant, found=call.id, nearest=meant)


def parts(work_message: WorkMessage, book: Book, context: RuleContext) -> tuple[Member, ...]:
    """Whoever stops with this message, as it is from then on."""
    member = context.roster.find(work_message.sender)
    if work_message.get("approved") is not True or member is None:
        return ()
    return (member._replace(stopped_at=context.now),)


CHAPTERS: dict[str, WorkRules] = {
    "stop": WorkRules(_belongs, _weigh_call),
    "stopped": WorkRules(_belongs, _weigh_answer),
}
FOLDS: dict[str, Fold] = {TOPIC: _fold}
