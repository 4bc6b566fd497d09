"""State machine of the pipeline: state of a work, ids of its dispatches, `MOVES` of a signal, and their diagram.

A work consists of steps (`places`): the triage, each research question, the plan, and each step of each wave. A step
has one open dispatch at a time. The id of a dispatch follows from its step, so that it is the same whenever it is
computed.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from telex.dialects.builtin.signal_md import ITERATIONS_MAX
from telex.model.named_tuple import NamedTuple

Kind = Literal["triage", "research", "plan", "step"]
State = Literal["triage", "research", "plan", "working", "checking", "settled", "approved", "blocked", "escalated"]
Part = Literal["triage", "research", "plan", "step", "review", "audit"]  # that a result can answer
CHECKS: tuple[Part, ...] = ("review", "audit")
OPEN: tuple[State, ...] = ("triage", "research", "plan", "working", "checking")  # an answer is waited for
HELD: tuple[State, ...] = ("blocked", "escalated")  # a person is waited for
OVER: tuple[State, ...] = ("settled", "approved")
BEGINS: dict[Kind, State] = {"triage": "triage", "research": "research", "plan": "plan", "step": "working"}

WORK_CHARACTERS_MAX = 64  # the ids of dispatches begin with it, and must not grow too long
ODD_KEPT_MAX = 50  # of signals that changed nothing
_WORK = re.compile(rf"[A-Za-z0-9_-]{{1,{WORK_CHARACTERS_MAX}}}\Z")
_DISPATCH = re.compile(
    r"(?P<work>[A-Za-z0-9_-]+)(?:\.(?P<place>plan|research\.[0-9]+|w[0-9]+\.s[0-9]+))?"
    r"(?:\.r[0-9]+)?(?:\.i[0-9]+)?(?:\.(?P<check>review|audit))?\Z"
)


class ReviewVerdict(NamedTuple):
    part: Part
    signal: str
    by: str
    message: str


class PipelineStep(NamedTuple):
    """One step of a work."""

    name: str  # `triage`, `research.2`, `plan`, `w1.s2`
    kind: Kind
    state: State
    round: int = 0  # number of restarts by a person
    iteration: int = 0  # of a step: number of revisions
    asked: bool = False  # its current dispatch has been sent
    by: str = ""  # who answered last
    role: str = ""
    answer: str = ""  # the message with that answer
    sure: bool = True  # False: by its own account not verified, or failed
    verdicts: tuple[ReviewVerdict, ...] = ()  # on the submission that is being checked
    notes: tuple[str, ...] = ()  # messages that passed it with notes
    told: bool = False  # its approval has been sent
    held: str = ""  # the message that blocks it
    why: str = ""  # reason, in a few words
    tier: str = ""  # role that took it over


class IgnoredSignal(NamedTuple):
    """A signal that came late, twice or to nothing, and changed nothing."""

    message: str
    by: str
    signal: str
    why: str


class Work(NamedTuple):
    id: str
    by: str  # the orchestrator who began it
    at: float
    places: Mapping[str, PipelineStep]  # in the order in which they were opened
    waves: tuple[int, ...] = ()  # how many steps each has
    plan_file: str = ""
    odd: tuple[IgnoredSignal, ...] = ()
    odd_count: int = 0
    last_at: float = 0.0  # when it last changed

    @property
    def state(self) -> str:
        """`escalated`, `blocked` or `done`; otherwise the first part of the work that is open."""
        states = {step.state for step in self.places.values()}
        for held in ("escalated", "blocked"):
            if held in states:
                return held
        if not states.intersection(OPEN):
            return "done"
        return next(state for state in OPEN if state in states)

    @property
    def wave(self) -> int:
        """The wave that goes on; 0 before the first."""
        return max((wave_of(name) for name in self.places), default=0)

    def with_place(self, step: PipelineStep) -> "Work":
        return self._replace(places={**self.places, step.name: step})

    def of_kind(self, kind: Kind) -> Iterator[PipelineStep]:
        return (step for step in self.places.values() if step.kind == kind)


def is_work_id(text: str) -> bool:
    """Letters, digits, hyphens and underscores: a dot would make one work's dispatches look like another's."""
    return _WORK.match(text) is not None


def step_name(wave: int, step: int) -> str:
    return f"w{wave}.s{step}"


def wave_of(name: str) -> int:
    """The wave of a step; 0 before the first wave."""
    return int(name[1:].partition(".")[0]) if name.startswith("w") else 0


def dispatch_id(work: str, step: PipelineStep, check: str = "") -> str:
    """`W`, `W.research.2`, `W.plan`, `W.w1.s2.i0`, `W.w1.s2.i0.review`; in a later round `W.plan.r1`."""
    parts = [work] if step.kind == "triage" else [work, step.name]
    parts += [f"r{step.round}"] if step.round else []
    parts += [f"i{step.iteration}"] if step.kind == "step" else []
    return ".".join([*parts, *([check] if check else [])])


def approval_id(work: str, step: PipelineStep) -> str:
    """`W.w1.s2.lgtm`: a step is approved once, in any round."""
    return f"{work}.{step.name}.lgtm"


def word_id(work: str, step: PipelineStep, word: str) -> str:
    """`W.plan.escalated`, `W.w1.s2.r1.blocked`: once in a round."""
    parts = [work] if step.kind == "triage" else [work, step.name]
    return ".".join([*parts, *([f"r{step.round}"] if step.round else []), word])


def again(step: PipelineStep) -> PipelineStep:
    """The step, restarted."""
    return PipelineStep(step.name, step.kind, BEGINS[step.kind], step.round + 1, by=step.by, role=step.role)


def place_called(work: Work, id_: str) -> tuple[PipelineStep, Part] | None:
    """The step and part that a dispatch belongs to, whatever state the step is in."""
    found = _DISPATCH.match(id_)
    if found is None or found["work"] != work.id:
        return None
    step = work.places.get(found["place"] or "triage")
    if step is None:
        return None
    part: Part = "review" if found["check"] == "review" else "audit" if found["check"] == "audit" else step.kind
    return step, part


QUESTIONS_MAX = 100  # more is taken for an error: a human decides
STEPS_MAX = 1_000
VERDICTS = ("pass", "pass_with_notes", "fail")


class SignalResult(NamedTuple):
    """A result, reduced to what the state machine needs."""

    part: Part  # what it can answer
    signal: str
    by: str = ""
    role: str = ""
    message: str = ""
    at: float = 0.0
    questions: int = 0
    sure: bool = True
    waves: int = 0
    steps: int = 0
    has_blockers: bool = False
    plan_file: str = ""
    route: str = ""  # where a blocked agent asks to go on


class Move(NamedTuple):
    states: tuple[State, ...]
    signals: tuple[str, ...]
    when: str  # a name in GUARDS; empty: otherwise
    then: State
    opens: str = ""  # a name in OPENINGS: the steps that it starts
    sends: tuple[str, ...] = ()  # dispatches that follow from it
    why: str = ""  # why a human has to decide; {by} is the sender of the signal


WORD = "a notice to human"
STOPPED = ("blocked", "escalate")
TIERS = ("grunt", "worker", "senior")  # of implementers: a step is handed up, never down
MOVES: tuple[Move, ...] = (
    Move(("triage",), ("triage_complete",), "too many questions", "escalated", sends=(WORD,),
         why=f"the triage asks more than {QUESTIONS_MAX} questions"),
    Move(("triage",), ("triage_complete",), "research needed", "settled", opens="research",
         sends=("research_request",)),
    Move(("triage",), ("triage_complete",), "", "settled", opens="plan", sends=("architecture_request",)),
    Move(("research",), ("research_complete",), "questions left", "settled"),
    Move(("research",), ("research_complete",), "", "settled", opens="plan", sends=("architecture_request",)),
    Move(("plan",), ("plan_complete",), "has blockers", "escalated", sends=(WORD,), why="the plan has blockers"),
    Move(("plan",), ("plan_complete",), "too many steps", "escalated", sends=(WORD,),
         why=f"the plan has more than {STEPS_MAX:,} steps"),
    Move(("plan",), ("plan_complete",), "nothing to do", "settled"),
    Move(("plan",), ("plan_complete",), "", "settled", opens="wave", sends=("task_assignment",)),
    Move(("working",), ("rfr",), "", "checking", sends=("review", "audit")),
    Move(("checking",), VERDICTS, "a verdict is out", "checking"),
    Move(("checking",), VERDICTS, "failed, try again", "working", opens="revision", sends=("revision_request",)),
    Move(("checking",), VERDICTS, "failed", "escalated", sends=(WORD,),
         why=f"it failed after {ITERATIONS_MAX} revisions"),
    Move(("checking",), VERDICTS, "wave goes on", "approved", sends=("approval",)),
    Move(("checking",), VERDICTS, "last wave", "approved", sends=("approval",)),
    Move(("checking",), VERDICTS, "", "approved", opens="wave", sends=("approval", "task_assignment")),
    Move(("working",), STOPPED, "a higher tier", "working", opens="handover", sends=("task_assignment",)),
    Move(("working",), STOPPED, "plan again", "settled", opens="replan", sends=("architecture_request",)),
    Move(OPEN, ("blocked",), "a user decides", "escalated", sends=(WORD,), why="{by} asks for a decision"),
    Move(OPEN, ("blocked",), "", "blocked", sends=(WORD,), why="{by} says that it is blocked"),
    Move(OPEN, ("escalate",), "", "escalated", sends=(WORD,), why="{by} asks for a decision"),
)  # fmt: skip

GUARDS: dict[str, Callable[[Work, PipelineStep, SignalResult], bool]] = {
    "too many questions": lambda work, step, answer: answer.questions > QUESTIONS_MAX,
    "research needed": lambda work, step, answer: answer.questions > 0,
    "questions left": lambda work, step, answer: any(
        other.state not in OVER for other in work.of_kind("research") if other.name != step.name
    ),
    "has blockers": lambda work, step, answer: answer.has_blockers,
    "too many steps": lambda work, step, answer: max(answer.waves, answer.steps) > STEPS_MAX,
    "nothing to do": lambda work, step, answer: not answer.waves and not answer.steps,
    "a verdict is out": lambda work, step, answer: len(step.verdicts) < len(CHECKS),
    "failed, try again": lambda work, step, answer: failed(step) and step.iteration < ITERATIONS_MAX,
    "failed": lambda work, step, answer: failed(step),
    "wave goes on": lambda work, step, answer: any(
        other.state not in OVER
        for other in work.of_kind("step")
        if other.name != step.name and wave_of(other.name) == wave_of(step.name)
    ),
    # A plan that was made again has opened the next wave already.
    "last wave": lambda work, step, answer: wave_of(step.name) >= len(work.waves) or wave_of(step.name) < work.wave,
    "a higher tier": lambda work, step, answer: _tier(answer.route) > max(_tier(answer.role), _tier(step.tier)),
    "plan again": lambda work, step, answer: answer.route == "plan" and not work.places["plan"].round,
    "a user decides": lambda work, step, answer: answer.route == "user",
    "": lambda work, step, answer: True,
}


def _tier(role: str) -> int:
    return TIERS.index(role) if role in TIERS else -1


def failed(step: PipelineStep) -> bool:
    return any(verdict.signal == "fail" for verdict in step.verdicts)


# --- steps that begin ------------------------------------------------------------------------------------------------


def _research(work: Work, step: PipelineStep, answer: SignalResult) -> Work:
    for number in range(1, answer.questions + 1):
        work = work.with_place(PipelineStep(f"research.{number}", "research", BEGINS["research"]))
    return work


def _plan(work: Work, step: PipelineStep, answer: SignalResult) -> Work:
    return work.with_place(PipelineStep("plan", "plan", BEGINS["plan"]))


def _wave(work: Work, step: PipelineStep, answer: SignalResult) -> Work:
    """The next wave: all its steps at once."""
    if step.kind == "plan":
        waves = (*work.waves[: work.wave], *spread(answer.waves, answer.steps))
        work = work._replace(waves=waves, plan_file=answer.plan_file)
    wave = work.wave + 1
    for number in range(1, work.waves[wave - 1] + 1):
        work = work.with_place(PipelineStep(step_name(wave, number), "step", BEGINS["step"]))
    return work


def _revision(work: Work, step: PipelineStep, answer: SignalResult) -> Work:
    return work.with_place(step._replace(iteration=step.iteration + 1, asked=False))


def _handover(work: Work, step: PipelineStep, answer: SignalResult) -> Work:
    """The step from its beginning, by another role."""
    return work.with_place(again(step)._replace(by="", role=answer.route, tier=answer.route, held=answer.message))


def _replan(work: Work, step: PipelineStep, answer: SignalResult) -> Work:
    """The architect plans what is left; waves that have not begun are dropped. Once: after that a human decides."""
    plan = again(work.places["plan"])._replace(held=answer.message)
    return work.with_place(plan)._replace(waves=work.waves[: work.wave])


OPENINGS: dict[str, Callable[[Work, PipelineStep, SignalResult], Work]] = {
    "research": _research,
    "plan": _plan,
    "wave": _wave,
    "revision": _revision,
    "handover": _handover,
    "replan": _replan,
    "": lambda work, step, answer: work,
}


def spread(waves: int, steps: int) -> tuple[int, ...]:
    """Number of steps of each wave. A plan has only the total, so the steps are spread evenly, the first waves getting
    one more; no wave is empty."""
    waves = max(waves, 1)
    each, more = divmod(max(steps, waves), waves)
    return tuple(each + (number < more) for number in range(waves))


# --- signals ---------------------------------------------------------------------------------------------------------


def begun(id_: str, by: str, at: float) -> Work:
    """A new work, whose triage has been requested."""
    return Work(id_, by, at, {"triage": PipelineStep("triage", "triage", "triage", asked=True)}, last_at=at)


def answered(work: Work, reply_to: str | None, answer: SignalResult) -> Work:
    """The work after a result. `reply_to` is the dispatch that the result names."""
    found = answers_what(work, reply_to, answer)
    if isinstance(found, str):
        odd = IgnoredSignal(answer.message, answer.by, answer.signal, found)
        return work._replace(odd=(*work.odd, odd)[-ODD_KEPT_MAX:], odd_count=work.odd_count + 1, last_at=answer.at)
    step, move = found
    step = step._replace(state=move.then)
    if move.why:
        step = step._replace(held=answer.message, why=move.why.format(by=answer.by))
    work = work.with_place(step)._replace(last_at=answer.at)
    return OPENINGS[move.opens](work, step, answer)


def answers_what(work: Work, reply_to: str | None, answer: SignalResult) -> tuple[PipelineStep, Move] | str:
    """The step that it answers, with the answer set, and its move; or the reason why there is no move."""
    found = place_called(work, reply_to) if reply_to is not None else _only_open(work, answer.part)
    if found is None:
        return "it answers no dispatch of this work" if reply_to is not None else "it does not say what it answers"
    step, part = found
    if part != answer.part:
        return f"{reply_to} is not answered with this type"
    check = part if part in CHECKS else ""
    if not is_open(step, part) or (reply_to is not None and reply_to != dispatch_id(work.id, step, check)):
        return f"{reply_to or step.name} is not waited for"
    step = _with_answer(step, answer)
    move = next((move for move in MOVES if _fits(move, work, step, answer)), None)
    return (step, move) if move is not None else f"{answer.signal} is no answer to {reply_to or step.name}"


def _only_open(work: Work, part: Part) -> tuple[PipelineStep, Part] | None:
    """The step of a result without `reply_to`: the only open one of its kind."""
    kind = "step" if part in CHECKS else part
    able = [step for step in work.places.values() if step.kind == kind and is_open(step, part)]
    return (able[0], part) if len(able) == 1 else None


def is_open(step: PipelineStep, part: Part) -> bool:
    """Whether the step waits for an answer of this kind."""
    if part in CHECKS:
        return step.state == "checking" and all(verdict.part != part for verdict in step.verdicts)
    return step.state == BEGINS[step.kind] and step.asked


def _with_answer(step: PipelineStep, answer: SignalResult) -> PipelineStep:
    if answer.part not in CHECKS:
        who = step._replace(by=answer.by, role=answer.role)
        return who._replace(answer=answer.message, sure=answer.sure, verdicts=())
    if answer.signal not in VERDICTS:
        return step
    notes = (answer.message,) if answer.signal == "pass_with_notes" else ()
    verdict = ReviewVerdict(answer.part, answer.signal, answer.by, answer.message)
    return step._replace(verdicts=(*step.verdicts, verdict), notes=(*step.notes, *notes))


def _fits(move: Move, work: Work, step: PipelineStep, answer: SignalResult) -> bool:
    return step.state in move.states and answer.signal in move.signals and GUARDS[move.when](work, step, answer)


# --- dispatches ------------------------------------------------------------------------------------------------------


def dispatched(work: Work, id_: str, part: Part | None, at: float) -> Work | None:
    """The work after one of its dispatches was sent; None if it is not one of them, or was sent before.

    `part` is what the dispatch asks for; None for an approval. A held step resumes when its dispatch of the next round
    is sent.
    """
    found = place_called(work, id_.removesuffix(".lgtm"))
    if found is None or found[1] != found[0].kind:
        return None
    step, _ = found
    if part is None:
        tells = step.state == "approved" and not step.told and id_ == approval_id(work.id, step)
        return _moved(work, step._replace(told=True), at) if tells else None
    if part != step.kind:
        return None
    if step.state == BEGINS[step.kind] and not step.asked and id_ == dispatch_id(work.id, step):
        return _moved(work, step._replace(asked=True), at)
    if step.state in HELD and id_ == dispatch_id(work.id, again(step)):
        return _moved(work, again(step)._replace(asked=True), at)
    return None


def was_sent(work: Work, id_: str) -> bool:
    """Whether it is the current dispatch of a step and has been sent."""
    found = place_called(work, id_.removesuffix(".lgtm"))
    if found is None:
        return False
    step, _ = found
    return (step.asked and id_ == dispatch_id(work.id, step)) or (step.told and id_ == approval_id(work.id, step))


def _moved(work: Work, step: PipelineStep, at: float) -> Work:
    return work.with_place(step)._replace(last_at=at)


MEANINGS: dict[State, str] = {
    "triage": "the architect sizes up the request",
    "research": "a question is with a researcher",
    "plan": "the architect makes the plan",
    "working": "a step is with its maker, for the first time or to be fixed",
    "checking": "a step is with a reviewer and an auditor at once",
    "settled": "triage, question or plan: it is answered; a step: it is planned again",
    "approved": "both verdicts on a step passed; its maker is asked to commit",
    "blocked": "an agent cannot go on; the place waits for `telex work resume`",
    "escalated": "a person has to decide; the place waits for `telex work resume`",
}
HEADINGS = ("state", "signal", "when", "becomes", "is sent")


def rows() -> list[tuple[str, ...]]:
    """The table, row by row. Of the rows for one state and signal the first that holds is taken."""
    return [(_states(move), _signals(move), move.when, move.then, _sends(move)) for move in MOVES]


def _states(move: Move) -> str:
    return "any" if move.states == OPEN else ", ".join(move.states)


def _signals(move: Move) -> str:
    return "a verdict" if move.signals == VERDICTS else ", ".join(move.signals)


def _sends(move: Move) -> str:
    return ", ".join(move.sends)


def diagram() -> str:
    """The same in Mermaid's notation. An arrow leads to what begins by the move, if anything does."""
    lines = ["stateDiagram-v2", "    [*] --> triage"]
    begins: dict[str, State] = {"research": "research", "plan": "plan", "wave": "working"}
    for move in MOVES:
        # What is settled with nothing after it is the end of the work, or waits for the others.
        end = move.states[0] if move.then == "settled" else move.then
        after = begins.get(move.opens, "done" if move.when in ("nothing to do", "last wave") else end)
        words = f"{_signals(move)}, {move.when}" if move.when else _signals(move)
        lines += [f"    {state} --> {after}: {words}" for state in move.states]
    lines += [f"    {held} --> {state}: resume" for held in HELD for state in OPEN if state != "checking"]
    return "\n".join([*lines, "    done --> [*]"])
