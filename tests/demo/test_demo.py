"""Is the demo a true story, told so that a person can follow it?"""

import io
import os
import re
import time
from itertools import pairwise
from pathlib import Path

import pytest

from telex.client import SyncBus
from telex.config import Settings
from telex.connection import connect
from telex.demo.story import playing
from telex.demo.team import CAST, FOLDER, MARK, SAYS, SIGNS, Happening, Scene, StoryEvent
from telex.dialects.registry import BUILT_IN
from telex.model.contracts import Plan
from telex.surfaces.cli.demo import SYMBOLS, TO_TRY, lines, opening, seconds_to_read
from telex.surfaces.cli.main import main
from telex.surfaces.cli.output import Screen
from telex.surfaces.cli.usage import DONE, FAILED, INTERRUPTED
from telex.trace.text import cells
from telex.work import reducer
from tests.cli.cli_kit import Ran
from tests.demo.demo_picture import picture, recorded
from tests.proofs import proves

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("TELEX_STORE", "TELEX_CONFIG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Happening]]:
    """The story, played once: where it is kept, and what was told of it."""
    folder = tmp_path_factory.mktemp("played") / "demo"
    with playing(str(folder / "telex.db")) as play:
        return folder, list(play.story)


def beats(told: list[Happening]) -> list[StoryEvent]:
    return [one for one in told if isinstance(one, StoryEvent)]


def looking(folder: Path) -> SyncBus:
    return connect(folder / "telex.db", settings=Settings()).__enter__()


# --- what happens -----------------------------------------------------------------------------------------------------


@proves("demo/story")
def test_the_story_has_everything_that_was_promised(played: tuple[Path, list[Happening]]) -> None:
    told = [
        (beat.sign, beat.who, beat.whom, frozenset(one.code for one in beat.why)) for beat in beats(played[1])
    ]  # fmt: skip
    outside, verified = frozenset({"path-outside-contract"}), frozenset({"evidence-verified"})
    wanted = [
        ("stored", "lead", "all", frozenset()),  # the contract
        ("stored", "dev", "lead", verified),
        ("refused", "dev", None, outside),  # the guard
        ("refused", "dev", "lead", outside),
        ("asked", "dev", "lead", frozenset()),
        ("stored", "lead", "dev", frozenset()),  # approved
        ("stored", "dev-2", "lead", frozenset()),  # the blocker
        ("asked", "dev-2", "senior", frozenset()),
        ("climbed", "telex", "lead", frozenset()),
        ("climbed", "telex", "architect", frozenset()),
        ("climbed", "telex", "human", frozenset()),
        ("stored", "human", "dev-2", frozenset()),
        ("warned", "dev-2", "lead", frozenset({"evidence-contradicted"})),
        ("stored", "senior", "lead", frozenset()),  # changes, please
        ("stored", "dev-2", "lead", verified),
        ("stored", "senior", "lead", frozenset()),  # approved
        ("asked", "lead", "all", frozenset()),  # shut down
        ("warned", "dev", "lead", frozenset({"shutdown-not-answered"})),
        ("stopped", "dev", "lead", frozenset()),
        ("refused", "dev", "lead", frozenset({"sender-has-shut-down"})),
        ("stopped", "lead", None, frozenset()),  # by force
    ]
    rest = iter(told)
    assert [one for one in wanted if not any(one == other for other in rest)] == []  # all of them, in this order
    assert set(CAST) == {beat.who for beat in beats(played[1])} - {"telex"} | {"architect"}
    assert {beat.sign for beat in beats(played[1])} == set(SIGNS) == set(SYMBOLS)


@proves("demo/real")
def test_the_book_says_what_was_told(played: tuple[Path, list[Happening]]) -> None:
    bus = looking(played[0])
    plan: Plan = bus.work_state("plan")["plan:1-1"]
    assert plan.is_complete
    assert (plan.cycle, plan.approved) == (2, True)
    [grant] = plan.grants
    assert (grant.patterns, grant.by, grant.asked_by) == (("src/mail/*.txt",), "lead", "dev")
    [approval] = bus.work_state("approval").values()
    assert (approval.request.id, approval.answer.by) == ("request-1", "lead")
    [escalation] = bus.escalations(answered=True)
    assert [rung.level for rung in escalation.rungs] == ["senior", "lead", "architect", "human"]
    assert escalation.answered_by == "human"
    [call] = bus.work_state("shutdown")["shutdown"].calls
    assert {name: answer.approved for name, answer in call.answers.items()} == {"dev": True, "docs": True, "qa": True}
    states = {one.member.name: one.state for one in bus.roster()}
    assert {name for name, state in states.items() if state not in ("left", "shut down")} == {"lead", "human"}
    kinds = [event.kind for event, _ in bus.events()]
    assert (kinds.count("dissolved"), kinds.count("forced")) == (1, 1)
    assert bus.why("idea-1")[0].state == "withdrawn"
    refused = {message.id for _, message in bus.events() if message is not None and message.refused}
    assert refused == {"update-2", "late-1"}
    bus.close()


@proves("demo/real")
def test_the_book_folded_from_nothing_is_the_same(played: tuple[Path, list[Happening]]) -> None:
    bus = looking(played[0])
    book = reducer.written(bus.events(), {dialect.name: dialect for dialect in BUILT_IN})
    kinds = {reducer.kind_of(topic) for topic in book}
    assert {"plan", "contracts", "approval", "escalation", "shutdown"} <= kinds
    assert book == {topic: state for kind in kinds for topic, state in bus.work_state(kind).items()}
    bus.close()


@proves("demo/own-clock")
def test_the_record_is_in_order_and_in_the_past(played: tuple[Path, list[Happening]]) -> None:
    bus = looking(played[0])
    times = [event.at for event, _ in bus.events()]
    # A verb tells the moment it began, so that two of one call may stand a hair apart.
    assert [one for one, next_ in pairwise(times) if next_ < one - 1.0] == []
    assert times[-1] <= time.time()
    told = [beat.at for beat in beats(played[1])]
    assert told == sorted(told)
    assert times[-1] - times[0] == pytest.approx(told[-1], abs=30.0)
    bus.close()


@proves("demo/without-git")
def test_without_git_the_story_is_the_same(
    played: tuple[Path, list[Happening]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with playing(str(tmp_path / "demo/telex.db")) as play:
        told = beats(list(play.story))
    assert len(told) == len(beats(played[1]))
    assert not [one for beat in told for one in beat.why if one.code.startswith("evidence-")]


# --- how it is told ---------------------------------------------------------------------------------------------------


def shown(told: list[Happening], *, colours: bool, width: int | None) -> list[str]:
    screen = Screen(io.StringIO())
    screen.is_terminal, screen.colours, screen.width = width is not None, colours, width
    return [*opening(screen), *(line for happening in told for line in lines(happening, 1, screen))]


@proves("demo/readable")
def test_it_fits_into_eighty_columns_with_and_without_colours(played: tuple[Path, list[Happening]]) -> None:
    plain = shown(played[1], colours=False, width=80)
    assert [line for line in plain if cells(line) > 80] == []
    painted = shown(played[1], colours=True, width=80)
    assert [re.sub("\x1b\\[\\d+m", "", line) for line in painted] == plain
    assert painted != plain
    one_line_each = [line for line in shown(played[1], colours=False, width=None) if re.match(r" *\d+:\d\d  ", line)]
    assert len(one_line_each) == len(beats(played[1]))


@proves("demo/readable")
def test_a_person_can_follow_it_in_about_a_minute(played: tuple[Path, list[Happening]]) -> None:
    assert 40.0 <= sum(map(seconds_to_read, played[1])) <= 65.0
    assert min(map(seconds_to_read, played[1])) >= 0.6
    assert [one.title for one in played[1] if isinstance(one, Scene)] == [
        "A contract", "Out of scope", "An escalation", "A review", "A shutdown",
    ]  # fmt: skip


def demo(capsys: pytest.CaptureFixture[str], *args: str) -> Ran:
    return Ran(main(["demo", *args]), *capsys.readouterr())


@proves("demo/look-around", "demo/own-folder")
def test_it_leaves_a_store_to_look_around_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):  # made anew each time
        ran = demo(capsys, "--fast")
        assert (ran.code, ran.err) == (DONE, "")
    offered = [line.strip() for line in ran.out.splitlines() if line.startswith("  telex ")]
    assert len(offered) == len(TO_TRY)
    for line in offered:
        command = re.split(r"\s{2,}", line)[0]
        assert main(command.split()[1:]) == DONE, command
        assert capsys.readouterr().out, command
    assert sorted(os.listdir(tmp_path)) == [FOLDER]


@proves("demo/own-folder")
@pytest.mark.parametrize("mark", ["Made by hand.\n", SAYS.format("other.db"), ""])
@pytest.mark.parametrize("args", [(), ("--store", "mine/telex.db"), ("--store", "mine")], ids=" ".join)
def test_a_folder_that_is_not_a_demos_is_left_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], mark: str
) -> None:
    folder = tmp_path / ("mine" if args else FOLDER)
    folder.mkdir()
    (folder / "telex.db").write_text("not yours", encoding="utf-8")
    (folder / MARK).write_text(mark, encoding="utf-8")
    ran = demo(capsys, "--fast", *args)
    assert (ran.code, ran.out) == (FAILED, "")
    assert "a folder of its own" in ran.err
    assert sorted(os.listdir(folder)) == sorted([MARK, "telex.db"])
    assert (folder / "telex.db").read_text(encoding="utf-8") == "not yours"


@proves("demo/own-folder")
def test_what_somebody_put_beside_it_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo(capsys, "--fast").code == DONE
    (tmp_path / FOLDER / "notes.md").write_text("mine", encoding="utf-8")
    assert demo(capsys, "--fast").code == DONE
    assert (tmp_path / FOLDER / "notes.md").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("place", ["memory:", "nats://host/x:1"])
def test_a_demo_is_kept_in_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path, place: str) -> None:
    ran = demo(capsys, "--fast", "--store", place)
    assert (ran.code, ran.out) == (FAILED, "")
    assert os.listdir(tmp_path) == []


def test_a_telex_toml_around_it_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "telex.toml").write_text("[team.members.ada]\nrole = 'dev'\n", encoding="utf-8")
    assert demo(capsys, "--fast").code == DONE


@proves("demo/stopped")
def test_who_has_seen_enough_may_stop_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr("telex.surfaces.cli.demo.sleep", sleep)
    ran = demo(capsys)
    assert ran.code == INTERRUPTED
    assert f"is in {FOLDER}/telex.db" in ran.out
    bus = looking(tmp_path / FOLDER)
    assert bus.why("update-1")[0].state == "acked"
    bus.close()


def test_the_picture_in_the_docs_is_the_one_that_would_be_made_now() -> None:
    again = "run `python -m tests.demo.demo_picture docs/pictures/demo.svg`"
    assert (ROOT / "docs/pictures/demo.svg").read_text(encoding="utf-8") == picture(recorded()), again
