"""Progress of a shutdown per agent, from the work state and the current roster.

The roster may be a little behind the work state, never ahead of it: the work state decides who has agreed.
"""

from collections.abc import Container, Iterator

from telex.model.roster import HUMAN, Member, Roster
from telex.model.work import MemberShutdown, ShutdownRequest, ShutdownState
from telex.work.shutdown import was_asked


def members_to_stop(roster: Roster, asker: str, also: Container[str] = ()) -> list[Member]:
    """Everyone in the team but whoever asks and people. Those who have left belong to a team that is no more, but for
    these."""
    return [
        member
        for member in roster.members.values()
        if member.name != asker and HUMAN not in (member.name, member.role)
        if member.left_at is None or member.name in also
    ]


def shutdown_progress(shutdown_state: ShutdownState, member: Member, roster: Roster) -> MemberShutdown:
    """Where a member stands. Whoever has come back since it agreed has to be asked anew."""
    if member.joined_at is None:
        return MemberShutdown(member, "not seen")
    reached = shutdown_requests_to(shutdown_state, member, roster)
    last = reached[0] if reached else None
    # What it has said to an earlier call is told as well, though it has to answer the last one.
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


def shutdown_requests_to(shutdown_state: ShutdownState, member: Member, roster: Roster) -> list[ShutdownRequest]:
    """The calls that have reached the member since it is here, the last one first."""
    since = member.joined_at or 0.0
    return [call for call in reversed(shutdown_state.calls) if call.at >= since and was_asked(call, member, roster)]


def in_progress(shutdown_state: ShutdownState, roster: Roster) -> Iterator[MemberShutdown]:
    """Everyone who was asked and is still here, and everyone who has agreed and not been let go yet."""
    for member in roster.members.values():
        if member.left_at is None and member.joined_at is not None:
            member_shutdown = shutdown_progress(shutdown_state, member, roster)
            if member_shutdown.call is not None and member_shutdown.call.by != member.name:
                yield member_shutdown
