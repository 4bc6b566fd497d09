"""Work rules of shutdowns, the progress of a shutdown per agent, an agent's agreement, and the report that dissolves a
team.

One topic has every request to stop and every answer. An agent that agrees is stopped by that message (`parts`), in the
same transaction. The roster may be older than the work state, which decides who has agreed.
"""

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from telex.delivery.routing import inboxes_of
from telex.delivery.validator_cache import STATUS
from telex.dialects.registry import PLAIN
from telex.dialects.schema import Dialect
from telex.dialects.write import write
from telex.model.finding import Finding
from telex.model.limits import LIMITS
from telex.model.message import Event, NewMessage, StoredMessage, WorkChange
from telex.model.roster import HUMAN, TELEX, Member, Roster
from telex.model.text import LATEST_MAX, digest_of, nearest
from telex.model.work import (
    NO_SHUTDOWNS,
    TOPIC,
    UNSETTLED,
    MemberShutdown,
    ShutdownAnswer,
    ShutdownRequest,
    ShutdownState,
)
from telex.work.reducer import Fold, HeaderFields, RuleContext, WorkRules, WorkState, compose
from telex.work.view import WorkMessage, id_reused, parse_tree


def _topics(message: WorkMessage, topics: WorkState) -> tuple[str, ...]:
    state: ShutdownState = topics.get(TOPIC, NO_SHUTDOWNS)
    return (TOPIC,) if message.action == "stop" or state.call(message.text("request")) is not None else ()


def _fold(state: ShutdownState | None, message: WorkMessage) -> ShutdownState:
    """Written in place: there may be thousands of requests."""
    state = ShutdownState([], {}, {}) if state is None else state
    if message.action == "stop":
        asked, place = message.inboxes or (message.to,), len(state.calls)
        state.calls.append(
            ShutdownRequest(
                message.id,
                message.sender,
                role=message.role,
                reason=message.text("reason"),
                team=message.text("team"),
                at=message.at,
                asked=asked,
                answers={},
            )
        )
        state.places[message.id] = place
        for inbox in asked:
            state.latest[inbox] = place
        return state
    request = message.text("request")
    call = state.call(request)
    if call is not None:
        answer = ShutdownAnswer(
            message.id, message.at, message.get("approved") is True, message.text("status"), message.text("pending")
        )
        answers = {**call.answers, message.sender: answer}
        state.calls[state.places[request]] = call._replace(answers=answers)
    return state


def was_asked(call: ShutdownRequest, member: Member, roster: Roster) -> bool:
    """Whether it was sent to an inbox that the member reads."""
    return not set(call.asked).isdisjoint(inboxes_of(member, roster))


def open_call(state: ShutdownState, member: Member, roster: Roster) -> ShutdownRequest | None:
    """The last request since the member joined, if it has not answered that."""
    last = state.last_into(inboxes_of(member, roster), member.joined_at or 0.0)
    return last if last is not None and member.name not in last.answers else None


def _check_call(message: WorkMessage, topics: WorkState, context: RuleContext) -> tuple[Finding, ...]:
    state: ShutdownState = topics.get(TOPIC, NO_SHUTDOWNS)
    call = state.call(message.id)
    return (id_reused(message, f"{call.by} has asked the team to shut down"),) if call is not None else ()


def _check_answer(message: WorkMessage, topics: WorkState, context: RuleContext) -> tuple[Finding, ...]:
    state: ShutdownState = topics.get(TOPIC, NO_SHUTDOWNS)
    member = context.roster.find(message.sender) or Member(message.sender, message.role)
    call = state.call(message.text("request"))
    if call is None or not was_asked(call, member, context.roster):
        return (_not_asked(message, state, member, context.roster),)
    answer = call.answers.get(message.sender)
    if answer is not None and answer.approved:
        return (_answered(message, call, state, member, context.roster),)
    return ()


def _not_asked(message: WorkMessage, state: ShutdownState, member: Member, roster: Roster) -> Finding:
    code, path = "shutdown-not-asked", message.path("request")
    found = message.text("request")[: LIMITS.found_characters_max]
    waits = open_call(state, member, roster)
    if waits is not None:
        asked = f"which {waits.by} has asked {message.sender} with"
        say = f"Name {waits.id}, {asked}: there is no other request to shut down."
        return Finding(code, path, say, expected=waits.id, found=found, nearest=waits.id)
    own = [call.id for call in state.calls[-LATEST_MAX:] if was_asked(call, member, roster)]
    sender = message.sender
    say = f"Take the id of a request to shut down that was sent to {sender}, or go on: it was not asked with this."
    return Finding(code, path, say, found=found, nearest=nearest(found, own))


def _answered(
    message: WorkMessage, call: ShutdownRequest, state: ShutdownState, member: Member, roster: Roster
) -> Finding:
    waits = open_call(state, member, roster)
    meant = waits.id if waits is not None else None
    other = f"Name {meant} instead" if meant is not None else "Leave it at that"
    say = f"{other}: {message.sender} has agreed to {call.id} before, and shuts down once."
    path = message.path("request")
    return Finding("shutdown-answered", path, say, expected=meant, found=call.id, nearest=meant)


def parts(message: WorkMessage, topics: WorkState, context: RuleContext) -> tuple[Member, ...]:
    """Members that stop with this message."""
    member = context.roster.find(message.sender)
    if message.get("approved") is not True or member is None:
        return ()
    return (member._replace(stopped_at=context.now),)


def agreement(request: StoredMessage, role: str, dialects: Mapping[str, Dialect], header: HeaderFields) -> bytes | None:
    """The answer of an agent that shuts down as asked. None: the message asks for no shutdown."""
    dialect = dialects.get(request.dialect or "")
    asked = dialect.types.get(request.type or "") if dialect is not None else None
    if dialect is None or asked is None or asked.semantics.action != "stop":
        return None
    answer = next((type_ for type_ in dialect.types.values() if type_.semantics.action == "stopped"), None)
    if answer is None:
        return None
    header = header if dialect.addresses == "names" else header._replace(sender=role)
    fields = {"request": request.id, "approved": True, "status": "complete", "pending": ""}
    tree = compose(dialect, answer, fields, header, like=parse_tree(request.raw, dialect, asked))
    return write(dialect, tree).encode("utf-8", "surrogatepass")


RULES: dict[str, WorkRules] = {"stop": WorkRules(_topics, _check_call), "stopped": WorkRules(_topics, _check_answer)}
FOLDS: dict[str, Fold] = {TOPIC: _fold}


def members_to_stop(roster: Roster, asker: str, also: Container[str] = ()) -> list[Member]:
    """Members without the asker and people; of those who have left only the ones in `also`."""
    return [
        member
        for member in roster.members.values()
        if member.name != asker and HUMAN not in (member.name, member.role)
        if member.left_at is None or member.name in also
    ]


def shutdown_progress(state: ShutdownState, member: Member, roster: Roster) -> MemberShutdown:
    """Progress of a member. One that joined again after it agreed has to be asked again."""
    if member.joined_at is None:
        return MemberShutdown(member, "not seen")
    reached = shutdown_requests_to(state, member, roster)
    last = reached[0] if reached else None
    # The answer to an earlier request counts too.
    answers = [call.answers[member.name] for call in reached if member.name in call.answers]
    answer = max(answers, key=lambda shutdown_answer: (shutdown_answer.at, shutdown_answer.approved), default=None)
    if answer is not None and answer.approved:
        return MemberShutdown(member, "approved", last, answer)
    if member.stopped_at is not None:
        return MemberShutdown(member, "forced", last, answer)
    if member.left_at is not None:
        return MemberShutdown(member, "left", last, answer)
    if last is None:
        return MemberShutdown(member, "not asked")
    return MemberShutdown(member, "refused" if member.name in last.answers else "silent", last, answer)


def shutdown_requests_to(state: ShutdownState, member: Member, roster: Roster) -> list[ShutdownRequest]:
    """Requests to the member since it joined, the last one first."""
    since = member.joined_at or 0.0
    return [call for call in reversed(state.calls) if call.at >= since and was_asked(call, member, roster)]


def in_progress(state: ShutdownState, roster: Roster) -> Iterator[MemberShutdown]:
    """Members that were asked and have not left."""
    for member in roster.members.values():
        if member.left_at is None and member.joined_at is not None:
            agent = shutdown_progress(state, member, roster)
            if agent.call is not None and agent.call.by != member.name:
                yield agent


ENDS = UNSETTLED | {"approved"}


def shutdown_report(
    asker: Member, team: str, reason: str, agents: Sequence[MemberShutdown], now: float
) -> NewMessage | None:
    """Report to the agent that asked for the shutdown. None: every membership has ended."""
    gone = [agent for agent in agents if agent.state in ENDS and agent.member.left_at is None]
    if not gone:
        return None
    who = json.dumps(sorted((agent.member.name, agent.member.joined_at or 0.0) for agent in gone))
    raw = _words(team, reason, asker, agents).encode("utf-8", "backslashreplace")
    forced = [agent.member.name for agent in gone if agent.state in UNSETTLED]
    detail = _json({"team": team, "reason": reason, "members": [agent.member.name for agent in gone], "forced": forced})
    over = (asker._replace(seen_at=now), Event(0, now, "dissolved", asker.name, detail=detail))
    return NewMessage(
        id=f"dissolved-{digest_of(who.encode()).hex()[:32]}",
        at=now,
        sender=TELEX,
        role=TELEX,
        to=asker.name,
        dialect=PLAIN.name,
        type=None,
        rank=STATUS,
        correlation=None,
        reply_to=None,
        digest=digest_of(raw),
        raw=raw,
        inboxes=(asker.name,),
        work_change=WorkChange(members=(*(_gone(agent, asker, now) for agent in gone), over)),
    )


def _gone(agent: MemberShutdown, asker: Member, now: float) -> tuple[Member, Event]:
    member = agent.member._replace(left_at=now, stopped_at=agent.member.stopped_at or now)
    if agent.state not in UNSETTLED:
        return member, Event(0, now, "left", member.name)
    detail = _json({"by": asker.name, "was": agent.state})
    return member, Event(0, now, "forced", member.name, detail=detail)


def _words(team: str, reason: str, asker: Member, agents: Iterable[MemberShutdown]) -> str:
    lines = [f"# {team} is dissolved", "", f"Asked by {asker.name}: {reason}.", ""]
    for agent in agents:
        state = f"{agent.state}, stopped all the same" if agent.state in UNSETTLED else agent.state
        status = f", {agent.answer.status}" if agent.answer is not None and agent.answer.status else ""
        pending = f": {agent.answer.pending}" if agent.answer is not None and agent.answer.pending else ""
        lines.append(f"- {agent.member.name} ({agent.member.role}): {state}{status}{pending}")
    return "\n".join(lines) + "\n"


def _json(detail: dict[str, object]) -> str:
    return json.dumps(detail, ensure_ascii=False)
