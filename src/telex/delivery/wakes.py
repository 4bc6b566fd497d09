"""Wakes of idle agents: their states as a fold of the log, and the decision of each step.

A wake is due when an agent has unread messages, and is delivered to its session at most once: due → delivered → seen,
or due → withdrawn when the messages were read before. At most one wake of an agent is outstanding (due or delivered),
however many messages come.
"""

import json
from collections.abc import Sequence
from typing import Any, Literal

from telex.model.limits import Limits
from telex.model.message import Event, detail_of
from telex.model.named_tuple import NamedTuple

WakeStage = Literal["none", "due", "delivered", "seen", "withdrawn"]
OUTSTANDING: frozenset[WakeStage] = frozenset({"due", "delivered"})
WAKE_MOVES: dict[WakeStage, frozenset[WakeStage]] = {
    "none": frozenset({"due"}),
    "due": frozenset({"delivered", "withdrawn"}),
    "delivered": frozenset({"seen", "withdrawn", "due"}),  # due: the delivery failed
    "seen": frozenset({"due"}),  # the next wake
    "withdrawn": frozenset({"due"}),
}
STAGES: dict[str, WakeStage] = {
    "wake-due": "due",
    "wake-delivered": "delivered",
    "wake-seen": "seen",
    "wake-withdrawn": "withdrawn",
}
LOOKING = ("leased", "read", "acked", "nacked", "extended")  # events of an agent that has seen its inbox
HOUR_SECONDS = 3600.0
RETRY_SECONDS = 30.0  # after a failed delivery
READ = "its messages were read before"
ANNOUNCED = "the session had been notified of its messages"
NOT_SEEN = "the agent did not react in time"
OTHER_SESSION = "its session has ended, and the agent has another one"
REPEATED = "it is repeated at once"
GRACE, QUIET, BUDGET, FAILED = "grace", "quiet hours", "budget", "failed delivery"


class WakeState(NamedTuple):
    """The last wake of an agent, as of one event."""

    stage: WakeStage = "none"
    number: int = 0  # of the event that made it due
    since: float = 0.0  # when it reached this stage
    position: int = 0  # the number of its last event
    newest: int = 0  # the highest number of a message that a delivered wake was about
    about: int = 0  # the number of the newest message that its last event was about
    delivered: tuple[float, ...] = ()  # times of the deliveries of about an hour
    failed: str = ""  # due again: why the last delivery failed
    session: str = ""  # that the last delivery was for; empty: unknown


class WakeStep(NamedTuple):
    """Input of a decision about a wake."""

    agent: str
    now: float
    hour: float  # local time of day, 0 to 24
    unread: Sequence[int] = ()  # numbers of the unread messages
    has_looked: bool = False  # the agent has seen its inbox since the last event of the wake
    announced: int = 0  # number of the newest message that was announced to the session
    session: str | None = None  # of the agent, if it is known
    by: str | None = None  # who wakes
    way: str | None = None  # deliver the wake now, in this way
    failed: str | None = None  # the delivery that this caller has begun failed, for this reason
    force: bool = False  # ignore grace, quiet hours, budget, and what was announced to the session


class Delay(NamedTuple):
    """The earliest delivery of a due wake."""

    until: float | None  # None: never
    reason: str = ""


def fold(state: WakeState, event: Event) -> WakeState:
    """The state after an event of this agent's wakes."""
    stage, detail = STAGES[event.kind], detail_of(event)
    is_again = stage == "due" and state.stage == "delivered"
    state = state._replace(stage=stage, since=event.at, position=event.seq, failed="")
    state = state._replace(about=event.message or state.about)
    if stage == "due":
        reason = detail.get("reason")
        return state._replace(failed=str(reason or "?")) if is_again else state._replace(number=event.seq)
    if stage == "delivered":
        recent = _last_hour(state.delivered, event.at)
        newest = detail.get("newest")
        mark = max(state.newest, newest if isinstance(newest, int) else 0)
        session = str(detail.get("session") or "")
        return state._replace(newest=mark, delivered=(*recent, event.at), session=session)
    return state


def decide(state: WakeState, step: WakeStep, limits: Limits) -> Event | None:
    """The next event, if there is one. Callers fold it and decide again, until nothing is left to do."""
    if state.stage == "delivered":
        return _of_delivered(state, step, limits)
    news = unseen(state, step)
    if state.stage != "due":
        return _event("wake-due", step, news) if news else None
    if not news:
        return _end("wake-withdrawn", state, step, reason=ANNOUNCED if step.unread else READ)
    if step.way is not None and step.failed is None and is_ready(state, step, limits):
        return _event("wake-delivered", step, news, way=step.way, session=step.session)
    return None


def _of_delivered(state: WakeState, step: WakeStep, limits: Limits) -> Event | None:
    if step.failed is not None:
        return _event("wake-due", step, step.unread, way=step.way, reason=step.failed)
    if step.has_looked:
        return _end("wake-seen", state, step)
    if _is_other_session(state, step):
        return _end("wake-withdrawn", state, step, reason=OTHER_SESSION)
    if step.force and step.way is not None:
        return _end("wake-withdrawn", state, step, reason=REPEATED)
    if not any(number <= state.newest for number in step.unread):
        return _end("wake-withdrawn", state, step, reason=READ)
    if not 0 <= step.now - state.since < limits.wake_seen_seconds:  # or the clock was set back
        return _end("wake-withdrawn", state, step, reason=NOT_SEEN)
    return None


def unseen(state: WakeState, step: WakeStep) -> list[int]:
    """Unread messages that were announced neither to the session nor by an earlier wake."""
    was_delivered_here = not state.failed and not _is_other_session(state, step)
    mark = max(step.announced, state.newest) if was_delivered_here else step.announced
    return list(step.unread) if step.force else [number for number in step.unread if number > mark]


def _is_other_session(state: WakeState, step: WakeStep) -> bool:
    """Whether the last wake was delivered to another session than the agent's present one."""
    return bool(step.session and state.session) and step.session != state.session


def is_ready(state: WakeState, step: WakeStep, limits: Limits) -> bool:
    until = delay(state, step, limits).until
    return until is not None and until <= step.now


def delay(state: WakeState, step: WakeStep, limits: Limits) -> Delay:
    """The earliest delivery of a due wake, and what it waits for. Of several reasons, the last one to end."""
    if step.force:
        return Delay(step.now)
    waits = []
    if state.since <= step.now:  # otherwise the clock was set back
        seconds = RETRY_SECONDS if state.failed else limits.wake_grace_seconds
        waits.append(Delay(state.since + seconds, FAILED if state.failed else GRACE))
    waits.append(Delay(step.now + quiet_seconds(step.hour, limits), QUIET))
    recent = _last_hour(state.delivered, step.now)
    most = limits.wakes_per_hour_max
    if most == 0:
        return Delay(None, BUDGET)
    if len(recent) >= most:
        waits.append(Delay(recent[-most] + HOUR_SECONDS, BUDGET))
    last = max(waits, key=lambda wait: wait.until or 0.0)
    return last if last.until is not None and last.until > step.now else Delay(last.until)


def _last_hour(times: Sequence[float], now: float) -> list[float]:
    """Without times in the future, of a clock that was set back since."""
    return [at for at in times if now - HOUR_SECONDS < at <= now]


def quiet_seconds(hour: float, limits: Limits) -> float:
    """Seconds until the quiet hours end; 0 outside of them."""
    begin, end = limits.wake_quiet_from_hour % 24, limits.wake_quiet_until_hour % 24
    is_quiet = begin <= hour < end if begin < end else begin != end and (hour >= begin or hour < end)
    return ((end - hour) % 24) * HOUR_SECONDS if is_quiet else 0.0


def _end(kind: str, state: WakeState, step: WakeStep, **more: Any) -> Event:
    """An event that ends the wake: it concerns the message that the wake was about."""
    return _event(kind, step, (), **more)._replace(message=state.about or None)


def _event(kind: str, step: WakeStep, unread: Sequence[int], **more: Any) -> Event:
    """The event concerns the newest message, so that its history shows it."""
    newest = max(unread, default=None)
    detail = {"unread": len(unread) or None, "newest": newest} | more
    text = json.dumps({name: value for name, value in detail.items() if value is not None}, ensure_ascii=False)
    return Event(0, step.now, kind, agent=step.by, message=newest, inbox=step.agent, detail=text)
