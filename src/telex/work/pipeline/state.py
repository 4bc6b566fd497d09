"""State of a work in the pipeline, and the ids of its dispatches.

A work consists of steps (`places`): the triage, each research question, the plan, and each step of each wave. A step
has one open dispatch at a time. The id of a dispatch follows from its step, so that it is the same whenever it is
computed.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

Kind = Literal["triage", "research", "plan", "step"]
State = Literal["triage", "research", "plan", "working", "checking", "settled", "approved", "blocked", "escalated"]
Part = Literal["triage", "research", "plan", "step", "review", "audit"]  # what a result can be the answer to
CHECKS: tuple[Part, ...] = ("review", "audit")
OPEN: tuple[State, ...] = ("triage", "research", "plan", "working", "checking")  # an answer is waited for
HELD: tuple[State, ...] = ("blocked", "escalated")  # a person is waited for
OVER: tuple[State, ...] = ("settled", "approved")
BEGINS: dict[Kind, State] = {"triage": "triage", "research": "research", "plan": "plan", "step": "working"}

WORK_CHARACTERS_MAX = 64  # the ids of dispatches begin with it, and must not grow too long
ODD_KEPT_MAX = 50  # signals that changed nothing; whoever repeats itself for ever fills no memory
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
    """One thing to be done, and how far it has come."""

    name: str  # `triage`, `research.2`, `plan`, `w1.s2`
    kind: Kind
    state: State
    round: int = 0  # how often a person has set it going again
    iteration: int = 0  # of a step: how often it was sent back
    asked: bool = False  # the dispatch that it stands at has been sent
    by: str = ""  # who answered last
    role: str = ""
    answer: str = ""  # the message with that answer
    sure: bool = True  # False: the answer says itself that it was not verified, or failed its own check
    verdicts: tuple[ReviewVerdict, ...] = ()  # on the submission that is being checked
    notes: tuple[str, ...] = ()  # messages that passed it with notes
    told: bool = False  # its approval has been sent
    held: str = ""  # the message that holds it up
    why: str = ""  # what holds it up, in a few words
    tier: str = ""  # the role that it was handed to, when the one before could not do it


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
        """`done`, `escalated` and `blocked` say what it has come to; otherwise which part of the work goes on."""
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
    """The wave of a step; 0 for what stands before the waves."""
    return int(name[1:].partition(".")[0]) if name.startswith("w") else 0


def dispatch_id(work: str, step: PipelineStep, check: str = "") -> str:
    """`W`, `W.research.2`, `W.plan`, `W.w1.s2.i0`, `W.w1.s2.i0.review`; in a later round `W.plan.r1`."""
    parts = [work] if step.kind == "triage" else [work, step.name]
    parts += [f"r{step.round}"] if step.round else []
    parts += [f"i{step.iteration}"] if step.kind == "step" else []
    return ".".join([*parts, *([check] if check else [])])


def approval_id(work: str, step: PipelineStep) -> str:
    """`W.w1.s2.lgtm`: a step is approved once, whichever round it was in."""
    return f"{work}.{step.name}.lgtm"


def word_id(work: str, step: PipelineStep, word: str) -> str:
    """`W.plan.escalated`, `W.w1.s2.r1.blocked`: what is said once in a round."""
    parts = [work] if step.kind == "triage" else [work, step.name]
    return ".".join([*parts, *([f"r{step.round}"] if step.round else []), word])


def again(step: PipelineStep) -> PipelineStep:
    """The place set going once more, from its beginning."""
    return PipelineStep(step.name, step.kind, BEGINS[step.kind], step.round + 1, by=step.by, role=step.role)


def place_called(work: Work, id_: str) -> tuple[PipelineStep, Part] | None:
    """The place that a dispatch is about, whether or not it still stands there, and which part of it."""
    found = _DISPATCH.match(id_)
    if found is None or found["work"] != work.id:
        return None
    step = work.places.get(found["place"] or "triage")
    if step is None:
        return None
    part: Part = "review" if found["check"] == "review" else "audit" if found["check"] == "audit" else step.kind
    return step, part
