"""Timeline: one lane for each agent, with the messages in hand as bars, messages as dots, and waits.

Lanes go from roles that decide to roles that ask, so that an escalation climbs. A large team is grouped by role, and
only the busiest lanes of a role are shown. Times of marks are whole ticks since the beginning of the window, so that an
answer stays small; a window with too many marks is thinned: marks of one lane in one cell are merged. The texts of the
most important messages are included, the others are asked for one by one.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from math import ceil
from typing import Any

from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN
from telex.model.work import Escalation
from telex.surfaces.page.find import GONE
from telex.surfaces.page.history import NO_END, AnswerWait, Attempt, History, Lane, PageMessage
from telex.surfaces.page.rows import recipient_label

ROLES = ("human", "architect", "lead", "senior", "dev", "qa", "docs", "scout", "debugger", "security", "telex")
BAR_STATES = ("in-hand", "done", "retrying", "dead", "withdrawn")  # by number in a bar
SHAPES = ("dot", "diamond", "triangle", "refused")  # by number in a dot
UNGROUPED_MAX = 16  # agents; a larger team is grouped by role
LANES_MAX = 200
MARKS_MAX = 2_500
TEXTS_MAX = 150  # messages with their facts
SHORT_STEPS = 8  # cells of a bar that may be merged
CELLS = 1_200  # of a window that is thinned: one pixel each, about
TICKS_MAX = 1_000_000  # of a window; a shorter one has ticks of a millisecond
ROWS_MAX = 3  # of one lane: bars that overlap are drawn below each other
CLIMBS_MAX = 50
FOCUS_MAX = 300  # messages of a selected conversation
DENSITY_CELLS = 120
REFUSED_SECONDS = 300.0  # in which a refused message makes a lane worth showing
GIST_CHARACTERS = 90
RECIPIENTS_MAX = 20
WHOM_MAX = 5

Facts = dict[str, Any]
Mark = list[Any]


class LaneMember(NamedTuple):
    name: str
    role: str
    state: str  # here, silent, left, … as in the roster


class Window(NamedTuple):
    since: float
    at: float  # the moment that is shown: of the words beside the lanes
    until: float  # at, or later: marks that a replay will need

    @property
    def tick(self) -> float:
        """Seconds of one unit of time of the marks."""
        return max(0.001, (self.until - self.since) / TICKS_MAX)

    def ticks(self, moment: float) -> int:
        return round((moment - self.since) / self.tick)


class TimelineQuery(NamedTuple):
    window: Window
    open_roles: frozenset[str] = frozenset()  # roles of which all active lanes are shown
    conversation: str | None = None  # only its agents
    focus: tuple[int, ...] = ()  # messages that are selected: their lanes are shown


def timeline_facts(
    history: History, members: Sequence[LaneMember], escalations: Sequence[Escalation], query: TimelineQuery
) -> Facts:
    window, climbing = query.window, holders_of(history, escalations, query.window.at)
    lanes = [
        LaneFacts(member, history.lane(member.name), window, climbing) for member in _shown(history, members, query)
    ]
    lanes.sort(key=lambda lane: (role_rank(lane.member.role), lane.member.role, lane.member.name))
    in_focus = people_of(history.messages[seq] for seq in query.focus if seq in history.messages)
    groups, shown = _grouped(lanes, query.open_roles, in_focus) if len(lanes) > UNGROUPED_MAX else ([], lanes)
    shown = shown[:LANES_MAX]
    is_thinned = _thin(shown, window)
    present = [lane for lane in lanes if lane.member.state not in GONE]
    working = sum(bool(lane.held) and not lane.waits_now for lane in present)
    waiting = sum(bool(lane.waits_now) for lane in present)
    return {
        "from": window.since,
        "at": window.at,
        "to": window.until,
        "tick": window.tick,
        "totals": {
            "agents": len(lanes),
            "working": working,
            "waiting": waiting,
            "idle": len(present) - working - waiting,
            "gone": len(lanes) - len(present),
        },
        "groups": groups,
        "lanes": [lane.facts() for lane in shown],
        "climbs": [facts for one in escalations if (facts := _climb(history, one, window)) is not None][-CLIMBS_MAX:],
        "messages": {seq: mark_facts(history.messages[seq], window) for seq in _with_texts(history, shown, query)},
        "focus": list(query.focus),
        "thinned": is_thinned,
    }


def _shown(history: History, members: Sequence[LaneMember], query: TimelineQuery) -> list[LaneMember]:
    if query.conversation is None:
        return [member for member in members if member.state != "left" or _was_active(history, member, query.window)]
    people = people_of(history.conversations.get(query.conversation, ()))
    return [member for member in members if member.name in people]


def people_of(messages: Iterable[PageMessage]) -> set[str]:
    """All agents that sent, received or took one of the messages."""
    people = set()
    for message in messages:
        people.add(message.sender)
        people.update(delivery.agent for delivery in message.deliveries)
    return people


def _was_active(history: History, member: LaneMember, window: Window) -> bool:
    return LaneFacts(member, history.lane(member.name), window, {}).is_active


def focus_of(history: History, message: int | None, conversation: str | None, at: float) -> tuple[int, ...]:
    """The messages that belong to a selection: of its conversation, the latest FOCUS_MAX; without one it alone."""
    selected = history.messages.get(message) if message is not None else None
    name = conversation or (selected.conversation or selected.id if selected is not None else "")
    found = tuple(one.seq for one in history.conversation(name) if one.at <= at)[-FOCUS_MAX:]
    return found or (() if selected is None else (selected.seq,))


def _thin(lanes: Sequence["LaneFacts"], window: Window) -> bool:
    """Merge marks, in cells that grow until there are few enough of them. True: marks were merged."""
    step = (window.until - window.since) / CELLS
    marks = sum(lane.marks for lane in lanes)
    is_thinned = marks > MARKS_MAX
    while marks > MARKS_MAX and step < window.until - window.since:
        marks = sum(lane.thinned(step) for lane in lanes)
        step *= 2
    return is_thinned


def _with_texts(history: History, lanes: Sequence["LaneFacts"], query: TimelineQuery) -> list[int]:
    """The messages whose facts are included: selected ones, those of now, refused ones, then long bars."""
    at = query.window.at
    first = [*query.focus]
    first += [message.seq for lane in lanes for message, _ in lane.held]
    first += [wait.message.seq for lane in lanes for wait in lane.waits_now]
    bars = [(min(attempt.done, at) - attempt.taken, message.seq) for lane in lanes for message, attempt in lane.bars]
    first += [seq for _, seq in sorted(bars, reverse=True)]
    first += sorted((message.seq for lane in lanes for message in lane.dots), reverse=True)
    return [seq for seq in dict.fromkeys(first) if seq in history.messages][: TEXTS_MAX + len(query.focus)]


# --- lanes ------------------------------------------------------------------------------------------------------------


class LaneFacts:
    """One lane in a window."""

    def __init__(self, member: LaneMember, lane: Lane, window: Window, climbing: dict[int, str]) -> None:
        self.member, self._lane, self._window = member, lane, window
        self.bars = [*lane.bars_in(window.since, window.until)]
        self.dots = lane.sent_in(window.since, window.until)
        self.waits = [
            wait._replace(whom=(climbing[wait.message.seq],)) if wait.message.seq in climbing else wait
            for wait in lane.waits_in(window.since, window.until)
        ]
        at = window.at
        self.held = [(message, attempt) for message, attempt in self.bars if attempt.taken <= at < attempt.done]
        self.waits_now = [wait for wait in self.waits if wait.since <= at < wait.until]

    @cached_property
    def _bar_marks(self) -> list["MergedBar"]:
        return [MergedBar(message, attempt, attempt.done, 1) for message, attempt in self.bars]

    @cached_property
    def _dot_marks(self) -> list["MergedDot"]:
        return [MergedDot(message, 1) for message in self.dots]

    @property
    def marks(self) -> int:
        return len(self.bars) + len(self.dots) + len(self.waits)

    def thinned(self, step: float) -> int:
        """Merge the marks of each cell. The number that is left."""
        self._bar_marks = _merged_bars(self._bar_marks, step)
        self._dot_marks = _merged_dots(self._dot_marks, step)
        return len(self._bar_marks) + len(self._dot_marks) + len(self.waits)

    @property
    def is_active(self) -> bool:
        return self.marks > 0

    @property
    def weight(self) -> int:
        """Rank of a lane for one of the few places: it waits for a person, waits, was refused, has work."""
        for_person = any(HUMAN in wait.whom for wait in self.waits_now)
        recent = self._window.at - REFUSED_SECONDS
        refused = any(message.refused and recent < message.at <= self._window.at for message in self.dots)
        return 8 * for_person + 4 * bool(self.waits_now) + 2 * refused + bool(self.held)

    def facts(self) -> Facts:
        window, doing = self._window, self.held[-1] if self.held else None
        active_at = self._lane.active_at(window.at)
        return {
            "agent": self.member.name,
            "role": self.member.role,
            "state": self.member.state,
            "unread": len(self._lane.unread_at(window.at)),
            "weight": self.weight,
            "active_at": None if active_at is None else round(active_at, 3),
            "doing": None
            if doing is None
            else {"message": doing[0].seq, "gist": _short(doing[0].gist), "since": round(doing[1].taken, 3)},
            "waits_for": [
                {"message": wait.message.seq, "whom": _labels(wait), "why": wait.why, "since": round(wait.since, 3)}
                for wait in sorted(self.waits_now, key=lambda wait: (HUMAN not in wait.whom, wait.since))
            ],
            "waits": [_wait_mark(wait, window) for wait in self.waits],
            "bars": _bar_facts(self._bar_marks, window),
            "dots": [_dot_facts(dot, window) for dot in self._dot_marks],
        }


def _labels(wait: AnswerWait) -> list[str]:
    return [recipient_label(name) for name in wait.whom[:WHOM_MAX]]


def _wait_mark(wait: AnswerWait, window: Window) -> Mark:
    """Message, since, until, and the agents that it waits for."""
    return [wait.message.seq, window.ticks(wait.since), _end(wait.until, window), _labels(wait)]


def _end(moment: float, window: Window) -> int | None:
    """Ticks until then; None: not within the window."""
    return window.ticks(moment) if moment <= window.until else None


class MergedBar(NamedTuple):
    message: PageMessage
    attempt: Attempt
    done: float
    bars: int  # that are merged into it


class MergedDot(NamedTuple):
    message: PageMessage
    dots: int


def _merged_bars(bars: list[MergedBar], step: float) -> list[MergedBar]:
    """Short bars with little time between them become one."""
    merged: list[MergedBar] = []
    for bar in bars:
        last = merged[-1] if merged else None
        if last is not None and last.done != NO_END and bar.attempt.taken - last.done < step and _is_short(bar, step):
            merged[-1] = last._replace(done=max(last.done, bar.done), bars=last.bars + bar.bars)
        else:
            merged.append(bar)
    return merged


def _is_short(bar: MergedBar, step: float) -> bool:
    return bar.done - bar.attempt.taken < SHORT_STEPS * step


def _bar_facts(bars: list[MergedBar], window: Window) -> list[Mark]:
    """Message, taken, done, state, sub-row, attempt, and the number of bars that are merged into it."""
    marks, ends = [], list[float]()
    for message, attempt, done, count in bars:
        row = next((number for number, end in enumerate(ends) if end <= attempt.taken), len(ends))
        ends[row : row + 1] = [done]
        state = BAR_STATES.index(attempt.state if done <= window.until else "in-hand")
        mark = [message.seq, window.ticks(attempt.taken), _end(done, window), state, min(row, ROWS_MAX - 1)]
        more = [attempt.number, count] if count > 1 else [attempt.number] if attempt.number > 1 else []
        marks.append([*mark, *more])
    return marks


def _merged_dots(dots: list[MergedDot], step: float) -> list[MergedDot]:
    """A cell has one dot of each shape in a row."""
    merged: list[MergedDot] = []
    for dot in dots:
        last = merged[-1] if merged else None
        is_near = last is not None and dot.message.at - last.message.at < step
        if last is not None and is_near and shape_of(last.message) == shape_of(dot.message):
            merged[-1] = last._replace(dots=last.dots + dot.dots)
        else:
            merged.append(dot)
    return merged


def _dot_facts(dot: MergedDot, window: Window) -> Mark:
    """Message, time, shape, and the number of messages that are merged into it, if there are several."""
    mark = [dot.message.seq, window.ticks(dot.message.at), SHAPES.index(shape_of(dot.message))]
    return [*mark, dot.dots] if dot.dots > 1 else mark


def shape_of(message: PageMessage) -> str:
    if message.refused:
        return "refused"
    return {"approval": "diamond", "escalation": "triangle"}.get(message.asks or "", "dot")


def mark_facts(message: PageMessage, window: Window) -> Mark:
    """What a tooltip and the arrows of a mark need: sender, recipient, time, kind, gist, state, conversation, and when
    who has taken it."""
    deliveries = [delivery for delivery in message.deliveries[:RECIPIENTS_MAX] if delivery.sent <= window.until]
    return [
        message.sender,
        recipient_label(message.to),
        window.ticks(message.at),
        message.kind,
        _short(message.gist),
        message.state_at(window.at),
        message.conversation,
        [
            [one.agent, _end(one.attempts[0].taken, window) if one.attempts else None]
            for one in deliveries
        ],
    ]  # fmt: skip


def _short(gist: str) -> str:
    return gist if len(gist) <= GIST_CHARACTERS else f"{gist[: GIST_CHARACTERS - 1]}…"


# --- groups -----------------------------------------------------------------------------------------------------------


def _grouped(
    lanes: list[LaneFacts], open_roles: frozenset[str], in_focus: set[str]
) -> tuple[list[Facts], list[LaneFacts]]:
    groups, shown = [], []
    for role in dict.fromkeys(lane.member.role for lane in lanes):
        all_ = [lane for lane in lanes if lane.member.role == role]
        active = sorted(
            (lane for lane in all_ if lane.is_active or lane.member.name in in_focus),
            key=lambda lane: (lane.member.name not in in_focus, -lane.weight, lane.member.name),
        )
        urgent = sum(lane.weight >= 8 or lane.member.name in in_focus for lane in active)
        room = max(2, min(10, ceil(len(active) / 6)), urgent)
        is_open = role in open_roles or len(active) <= room + 1
        chosen = all_ if role == HUMAN else active if is_open else active[:room]
        shown += chosen
        groups.append(
            {
                "role": role,
                "agents": len(all_),
                "active": len(active),
                "waiting": sum(bool(lane.waits_now) for lane in all_),
                "quiet": len(all_) - len(active),
                "more_active": max(0, len(active) - len(chosen)),
                "open": role in open_roles,
                "density": _density(all_),
            }
        )
    return groups, shown


def _density(lanes: list[LaneFacts]) -> Facts:
    """How many agents had a message in hand, and how many waited, by cell of the window."""
    window = lanes[0]._window
    since, until = window.since, window.until
    step = max((until - since) / DENSITY_CELLS, 0.001)

    def cells(spans: Iterable[tuple[float, float]]) -> list[int]:
        changes = [0] * (DENSITY_CELLS + 1)
        for begin, end in spans:
            changes[max(0, int((begin - since) / step))] += 1
            changes[min(DENSITY_CELLS, int((min(end, until) - since) / step) + 1)] -= 1
        counts, total = [], 0
        for change in changes[:-1]:
            total += change
            counts.append(total)
        return counts

    bars = [(attempt.taken, attempt.done) for lane in lanes for _, attempt in lane.bars]
    waits = [(wait.since, wait.until) for lane in lanes for wait in lane.waits]
    return {"in_hand": cells(bars), "waiting": cells(waits)}


def role_rank(role: str) -> int:
    return ROLES.index(role) if role in ROLES else len(ROLES)


# --- escalations ------------------------------------------------------------------------------------------------------


def holders_of(history: History, escalations: Iterable[Escalation], at: float) -> dict[int, str]:
    """Member that has to answer each escalation at that moment, by its first message."""
    found = {}
    for one in escalations:
        rungs = [rung for rung in one.rungs if rung.at <= at]
        if rungs:
            found[rungs[0].seq] = _taker(history, rungs[-1].seq, rungs[-1].inboxes, rungs[-1].to)
    return found


def _climb(history: History, escalation: Escalation, window: Window) -> Facts | None:
    """The way of an escalation up the lanes; a step to a shared inbox names the agent that took it."""
    rungs = [rung for rung in escalation.rungs if rung.at <= window.until]
    end = escalation.answered_at if escalation.answered_at is not None else NO_END
    if not rungs or end < window.since:
        return None
    return {
        "message": rungs[0].seq,
        "by": escalation.by,
        "conversation": escalation.correlation,
        "rungs": [
            [_taker(history, rung.seq, rung.inboxes, rung.to), window.ticks(rung.at), rung.seq] for rung in rungs
        ],
        "answered": _end(end, window),
    }


def _taker(history: History, seq: int, inboxes: Sequence[str], to: str) -> str:
    message = history.messages.get(seq)
    agents = [delivery.agent for delivery in message.deliveries] if message is not None else inboxes
    return next(iter(agents), to)
