"""Who was asked to shut down, and what has each one answered? One topic for the team: every request and every answer.

An agent that agrees has stopped with that very message (`parts`): it is written down together with it. Who stands
where, by the roster of the moment, is told in `work/shutdown_progress.py`.
"""

from functools import partial

from telex.delivery.routing import inboxes_of
from telex.model.limits import LIMITS
from telex.model.roster import Member, Roster
from telex.model.shutdown import NO_SHUTDOWNS, TOPIC, ShutdownAnswer, ShutdownRequest, ShutdownState
from telex.model.suggestion import LATEST_MAX, nearest
from telex.work.id_reuse import id_reused
from telex.work.rule_set import Book, FindingText, Fold, LazyFinding, RuleContext, WorkRules
from telex.work.view import WorkMessage


def _topic(said: WorkMessage, book: Book) -> tuple[str]:
    return (TOPIC,)


def _belongs(said: WorkMessage, book: Book) -> tuple[str, ...]:
    """An answer to nothing changes nothing, whoever has let it pass."""
    known: ShutdownState = book.get(TOPIC, NO_SHUTDOWNS)
    return (TOPIC,) if said.does == "stop" or known.call(said.text("request")) is not None else ()


def _fold(state: ShutdownState | None, said: WorkMessage) -> ShutdownState:
    known = state or NO_SHUTDOWNS
    if said.does == "stop":
        asked = said.inboxes or (said.to,)
        call = ShutdownRequest(
            said.id, said.sender, said.role, said.text("reason"), said.text("team"), said.at, asked, {}
        )
        return ShutdownState(known.known.added(call))
    answered = known.call(said.text("request"))
    if answered is None:
        return known
    answer = ShutdownAnswer(said.id, said.at, said.get("approved") is True, said.text("status"), said.text("pending"))
    return ShutdownState(known.known.answered(answered, said.sender, answer))


def was_asked(call: ShutdownRequest, member: Member, roster: Roster) -> bool:
    """Was it put into an inbox that the member reads? One of a role may have been asked, whoever comes first."""
    return not set(call.asked).isdisjoint(inboxes_of(member, roster))


def open_call(known: ShutdownState, member: Member, roster: Roster) -> ShutdownRequest | None:
    """The last call that the member has not answered at all, since it is here."""
    last = known.known.last_into(inboxes_of(member, roster), member.joined_at or 0.0)
    return last if last is not None and member.name not in last.answers else None


def _weigh_call(said: WorkMessage, book: Book, ground: RuleContext) -> tuple[LazyFinding, ...]:
    known: ShutdownState = book.get(TOPIC, NO_SHUTDOWNS)
    call = known.call(said.id)
    return (id_reused(said, f"{call.by} has asked the team to shut down"),) if call is not None else ()


def _weigh_answer(said: WorkMessage, book: Book, ground: RuleContext) -> tuple[LazyFinding, ...]:
    known: ShutdownState = book.get(TOPIC, NO_SHUTDOWNS)
    member = ground.roster.find(said.sender) or Member(said.sender, said.role)
    call = known.call(said.text("request"))
    if call is None or not was_asked(call, member, ground.roster):
        return (LazyFinding("shutdown-not-asked", partial(_not_asked, said, known, member, ground.roster)),)
    answer = call.answers.get(said.sender)
    if answer is not None and answer.approved:
        return (LazyFinding("shutdown-answered", partial(_answered, said, call, known, member, ground.roster)),)
    return ()


def _not_asked(said: WorkMessage, known: ShutdownState, member: Member, roster: Roster) -> FindingText:
    path, found = said.path("request"), said.text("request")[: LIMITS.found_characters_max]
    waits = open_call(known, member, roster)
    if waits is not None:
        say = f"Name {waits.id}, which {waits.by} has asked {said.sender} with: nobody asked it to shut down otherwise."
        return FindingText(path, say, waits.id, found, waits.id)
    own = [call.id for call in known.calls[-LATEST_MAX:] if was_asked(call, member, roster)]
    say = f"Take the id of a request to shut down that was sent to {said.sender}, or go on: it was not asked with this."
    return FindingText(path, say, None, found, nearest(found, own))


def _answered(
    said: WorkMessage, call: ShutdownRequest, known: ShutdownState, member: Member, roster: Roster
) -> FindingText:
    waits = open_call(known, member, roster)
    meant = waits.id if waits is not None else None
    other = f"Name {meant} instead" if meant is not None else "Leave it at that"
    say = f"{other}: {said.sender} has agreed to {call.id} before, and shuts down once."
    return FindingText(said.path("request"), say, meant, call.id, meant)


def parts(said: WorkMessage, book: Book, ground: RuleContext) -> tuple[Member, ...]:
    """Whoever stops with this message, as it is from then on."""
    member = ground.roster.find(said.sender)
    if said.get("approved") is not True or member is None:
        return ()
    return (member._replace(stopped_at=ground.now),)


CHAPTERS: dict[str, WorkRules] = {
    "stop": WorkRules(_topic, _belongs, _weigh_call),
    "stopped": WorkRules(_topic, _belongs, _weigh_answer),
}
FOLDS: dict[str, Fold] = {TOPIC: _fold}
