"""Shutdown report: the message that dissolves a team, with the end of every other membership."""

import json
from collections.abc import Iterable, Sequence

from telex.delivery.validator_cache import STATUS
from telex.dialects.registry import PLAIN
from telex.model.message import Event, NewMessage, WorkChange
from telex.model.roster import TELEX, Member
from telex.model.text import digest_of
from telex.model.work import UNSETTLED, MemberShutdown

ENDS = UNSETTLED | {"approved"}


def shutdown_report(
    asker: Member,
    team: str,
    reason: str,
    agents: Sequence[MemberShutdown],
    now: float,
) -> NewMessage | None:
    """The report to the agent that asked for the shutdown. None: nobody's membership is left to end."""
    gone = [
        member_shutdown
        for member_shutdown in agents
        if member_shutdown.state in ENDS and member_shutdown.member.left_at is None
    ]
    if not gone:
        return None
    who = json.dumps(
        sorted((member_shutdown.member.name, member_shutdown.member.joined_at or 0.0) for member_shutdown in gone)
    )
    raw = _words(team, reason, asker, agents).encode("utf-8", "backslashreplace")
    forced = [member_shutdown.member.name for member_shutdown in gone if member_shutdown.state in UNSETTLED]
    detail = _json(
        {
            "team": team,
            "reason": reason,
            "members": [member_shutdown.member.name for member_shutdown in gone],
            "forced": forced,
        }
    )
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
        work_change=WorkChange(members=(*(_gone(member_shutdown, asker, now) for member_shutdown in gone), over)),
    )


def _gone(member_shutdown: MemberShutdown, asker: Member, now: float) -> tuple[Member, Event]:
    member = member_shutdown.member._replace(left_at=now, stopped_at=member_shutdown.member.stopped_at or now)
    if member_shutdown.state not in UNSETTLED:
        return member, Event(0, now, "left", member.name)
    detail = _json({"by": asker.name, "was": member_shutdown.state})
    return member, Event(0, now, "forced", member.name, detail=detail)


def _words(team: str, reason: str, asker: Member, agents: Iterable[MemberShutdown]) -> str:
    lines = [f"# {team} is dissolved", "", f"Asked by {asker.name}: {reason}.", ""]
    for member_shutdown in agents:
        state = (
            f"{member_shutdown.state}, stopped all the same"
            if member_shutdown.state in UNSETTLED
            else member_shutdown.state
        )
        status = (
            f", {member_shutdown.answer.status}"
            if member_shutdown.answer is not None and member_shutdown.answer.status
            else ""
        )
        pending = (
            f": {member_shutdown.answer.pending}"
            if member_shutdown.answer is not None and member_shutdown.answer.pending
            else ""
        )
        lines.append(f"- {member_shutdown.member.name} ({member_shutdown.member.role}): {state}{status}{pending}")
    return "\n".join(lines) + "\n"


def _json(detail: dict[str, object]) -> str:
    return json.dumps(detail, ensure_ascii=False)
