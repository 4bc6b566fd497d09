"""Is it always known who is held up? Random blockers and progress against a set, and all of it from the log alone."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from telex.dialects.registry import BUILT_IN
from telex.work import reducer
from telex.work.blockers import KIND
from tests.bus_team import QUICK, Team, empty_store, speech_of
from tests.proofs import proves

DIALECTS = {dialect.name: dialect for dialect in BUILT_IN}
EXAMPLES = max(settings().max_examples // 4, 25)  # each is a story on a real store
moves = st.lists(
    st.tuples(st.sampled_from(["dev_blocker", "dev_progress"]), st.sampled_from(["T1", "T2"]), st.booleans()),
    max_size=25,
)


@proves("stall/blockers-from-log")
@settings(max_examples=EXAMPLES)
@given(moves)
def test_who_is_held_up_is_known_live_after_reopening_and_from_the_log(steps: list[tuple[str, str, bool]]) -> None:
    with TemporaryDirectory(prefix="telex-blockers-") as folder, ExitStack() as stack:
        path = Path(folder, "team.db")
        path.write_bytes(empty_store())
        team, held = Team(path, QUICK, stack), set[str]()
        for type_, task, reopens in steps:
            raw = speech_of("vbw-handoff", type_, task=task, plan_id="p").raw
            assert team.bus.send(raw, sender="dev", to="lead").accepted
            held = held | {task} if type_ == "dev_blocker" else held - {task}
            team.bus = team.other() if reopens else team.bus
        live = team.bus.work_state(KIND)
        assert {one.task for one in live.values() if one is not None} == held
        told = reducer.written(team.bus.events(), DIALECTS)
        assert {topic: state for topic, state in told.items() if topic.startswith(f"{KIND}:")} == live
