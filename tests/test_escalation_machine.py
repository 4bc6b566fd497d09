"""Does it hold whatever happens? Random answers, silences, departures and restarts against a model that fits on a page,
and everything told once more from the log alone."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from telex.bus.escalate import with_events
from telex.dialects.registry import BUILT_IN
from telex.model.work import Escalation
from telex.work import reducer
from tests.bus_team import QUICK, Team, empty_store, speech_of
from tests.proofs import proves
from tests.test_escalation import FIVE_MINUTES

CHAIN = ["dev", "senior", "lead", "architect", "human"]
SENDERS = CHAIN[:4]
OTHERS = ["scout", "qa-lead"]
EXAMPLES = max(settings().max_examples // 3, 25)  # each is a whole story on a real store
DIALECTS = {dialect.name: dialect for dialect in BUILT_IN}

moves = st.lists(
    st.one_of(
        st.tuples(st.just("raise"), st.sampled_from(SENDERS), st.booleans()),
        st.tuples(st.just("wait"), st.sampled_from([1.0, FIVE_MINUTES / 2, FIVE_MINUTES, 3 * FIVE_MINUTES])),
        st.tuples(st.just("reply"), st.sampled_from(CHAIN + OTHERS), st.integers(0, 5)),
        st.tuples(st.just("speak"), st.sampled_from(CHAIN + OTHERS), st.integers(0, 5), st.booleans()),
        st.tuples(st.just("take"), st.sampled_from(CHAIN)),
        st.tuples(st.just("reopen")),
    ),
    min_size=5,
    max_size=14,
)


class Matter:
    """The model: where a matter is, when it got there, and whether it was answered."""

    def __init__(self, id: str, by: str, now: float) -> None:
        self.id, self.by, self.at = id, by, now
        self.levels = [CHAIN[CHAIN.index(by) + 1]]
        self.answered_by: str | None = None

    def pass_time(self, now: float) -> None:
        """One step for each look at the clock: what is late is found late once."""
        if self.answered_by is None and self.levels[-1] != "human" and now >= self.at + FIVE_MINUTES:
            self.levels.append(CHAIN[CHAIN.index(self.levels[-1]) + 1])
            self.at = now

    def hear(self, who: str) -> None:
        is_above = who in CHAIN and CHAIN.index(who) > CHAIN.index(self.by)
        if self.answered_by is None and is_above:
            self.answered_by = who


@proves("escalation/from-log")
@settings(max_examples=EXAMPLES)
@given(st.sampled_from(SENDERS), st.booleans(), moves)
def test_the_bus_does_what_the_model_does_and_the_log_alone_tells_it(
    first: str, typed: bool, steps: list[tuple[object, ...]]
) -> None:
    with TemporaryDirectory(prefix="telex-escalation-") as folder, ExitStack() as stack:
        path = Path(folder, "team.db")
        path.write_bytes(empty_store())
        team, model = Team(path, QUICK, stack), list[Matter]()
        for step in [("raise", first, typed), *steps]:
            play(team, model, *step)
            for one in model:
                one.pass_time(team.clock.now())
            live = {one.id: one for one in team.bus.escalations(answered=True)}
            assert {id_: ([rung.level for rung in one.rungs], one.answered_by) for id_, one in live.items()} == {
                one.id: (one.levels, one.answered_by) for one in model
            }
        assert {one.id for one in team.bus.escalations()} == {one.id for one in model if one.answered_by is None}
        assert told_from_the_log(team) == {id_: _settled(one) for id_, one in live.items()}


def play(team: Team, model: list[Matter], move: object, *more: object) -> None:
    now = team.clock.now()
    match move, *more:
        case "raise", str(who), bool(typed):
            id_ = f"e{len(model)}"
            raw = speech_of("vbw-company", "escalation", **{"from": who, "to": CHAIN[CHAIN.index(who) + 1]}).raw
            conversation = {"correlation": id_} if typed else {}
            assert team.bus.send(raw, sender=who, to=CHAIN[CHAIN.index(who) + 1], id=id_, **conversation).accepted
            model.append(Matter(id_, who, now))
        case "wait", float(seconds):
            team.clock.leap(seconds)
        case ("reply", str(who), int(which)) if model:
            one = model[which % len(model)]
            rungs = {matter.id: matter.rungs for matter in team.bus.escalations(answered=True)}[one.id]
            one.pass_time(now)
            to = "docs" if who == one.by else one.by
            assert team.bus.send("So be it.", sender=who, to=to, reply_to=rungs[which % len(rungs)].id).accepted
            one.hear(who)
        case ("speak", str(who), int(which), bool(back)) if model:
            one = model[which % len(model)]
            if who == one.by:
                return
            to = one.by if back else "docs"
            assert team.bus.send("So be it.", sender=who, to=to, correlation=one.id).accepted
            if back and _has_a_conversation(team, one):
                one.hear(who)
        case "take", str(who):
            team.taken(who)
        case ["reopen"]:
            team.bus = team.other()


def _has_a_conversation(team: Team, one: Matter) -> bool:
    """One that was raised without a conversation begins its own when it first climbs."""
    return team.story(one.id).message.correlation is not None or len(one.levels) > 1


def told_from_the_log(team: Team) -> dict[str, Escalation]:
    events = list(team.bus.events())
    book = reducer.written(events, DIALECTS)
    matters = [state for topic, state in book.items() if topic.startswith("escalation:")]
    return {matter.id: with_events(matter, [event for event, _ in events]) for matter in matters}


def _settled(one: Escalation) -> Escalation:
    """Without the deadline, which is no part of the log but of the clock."""
    return one._replace(rungs=tuple(rung._replace(due_at=None) for rung in one.rungs))
