"""How does a team end? With one message, the report to whoever asked, and with it every other membership."""

import json
from collections.abc import Iterable, Sequence

from telex.delivery.validator_cache import STATUS
from telex.dialects.registry import PLAIN
from telex.model.digest import digest_of
from telex.model.event import Event
from telex.model.message import NewMessage, WorkChange
from telex.model.roster import TELEX, Member
from telex.model.shutdown import UNSETTLED, MemberShutdown

ENDS = UNSETTLED | {"approved"}


def ending(
    asker: Member,
    team: str,
    reason: str,
    agents: Sequence[MemberShutdown],
    expects: tuple[tuple[str, int], ...],
    now: float,
) -> NewMessage | None:
    """What is written when a team is dissolved. None: there is nobody whose membership could end.

    Its id says which memberships it ends, so that two who do it at once do it once.
    """
    gone = [one for one in agents if one.state in ENDS and one.member.left_at is None]
    if not gone:
        return None
    who = json.dumps(sorted((one.member.name, one.member.joined_at or 0.0) for one in gone))
    raw = _words(team, reason, asker, agents).encode("utf-8", "backslashreplace")
    forced = [one.member.name for one in gone if one.state in UNSETTLED]
    detail = _json({"team": team, "reason": reason, "members": [one.member.name for one in gone], "forced": forced})
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
        same_since=0.0,
        part=WorkChange((), expects, (), (*(_gone(one, asker, now) for one in gone), over)),
    )


def _gone(one: MemberShutdown, asker: Member, now: float) -> tuple[Member, Event]:
    member = one.member._replace(left_at=now, stopped_at=one.member.stopped_at or now)
    if one.state not in UNSETTLED:
        return member, Event(0, now, "left", member.name)
    detail = _json({"by": asker.name, "was": one.state})
    return member, Event(0, now, "forced", member.name, detail=detail)


def _words(team: str, reason: str, asker: Member, agents: Iterable[MemberShutdown]) -> str:
    lines = [f"# {team} is dissolved", "", f"Asked by {asker.name}: {reason}.", ""]
    for one in agents:
        state = f"{one.state}, stopped all the same" if one.state in UNSETTLED else one.state
        status = f", {one.answer.status}" if one.answer is not None and one.answer.status else ""
        pending = f": {one.answer.pending}" if one.answer is not None and one.answer.pending else ""
        lines.append(f"- {one.member.name} ({one.member.role}): {state}{status}{pending}")
    return "\n".join(lines) + "\n"


def _json(detail: dict[str, object]) -> str:
    return json.dumps(detail, ensure_ascii=False)
