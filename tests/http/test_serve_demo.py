"""Does the demo team go on and on, each round a story of its own, whoever steps in?"""

import threading
from pathlib import Path

import pytest

from telex.client import SyncBus
from telex.connection import connect
from telex.demo import hands
from telex.demo import story as loop
from telex.demo.stage import STAGE
from telex.demo.story import keep_playing
from telex.demo.team import DemoTeam, prepare
from telex.dialects.registry import BUILT_IN
from telex.model.limits import LIMITS
from telex.surfaces.page.history import History
from tests.proofs import proves

BRISK = loop.SETTINGS._replace(limits=LIMITS._replace(escalation_seconds=0.5, retention_seconds=3_600.0))


@pytest.fixture(autouse=True)
def _brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same at six hundred times the pace of life."""
    brisk = {"PACE": 600.0, "READ_SECONDS": 0.0, "REST_SECONDS": 0.0, "SETTINGS": BRISK, "ESCALATION_SECONDS": 0.5}
    for name, value in {**brisk, "VISITOR_SECONDS": 0.5, "CHAT_SECONDS": 0.1}.items():
        monkeypatch.setattr(loop, name, value)
    monkeypatch.setattr(hands, "HOLD_SECONDS", {})
    monkeypatch.setattr(hands, "HOLD_SECONDS_OTHERS", (0.0, 0.1))
    monkeypatch.setattr(hands, "LOOK_SECONDS", 0.02)


def refused(bus: SyncBus) -> list[str]:
    return [message.id for event, message in bus.events() if message is not None and event.kind == "refused"]


@proves("hub/demo")
def test_two_rounds_in_one_store_are_two_whole_stories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "ROUNDS_MAX", 2)
    path, troubles = prepare(str(tmp_path / "demo/telex.db")), list[Exception]()
    keep_playing(path, str(tmp_path / "demo"), threading.Event(), troubles.append)
    assert troubles == []
    with connect(path, settings=BRISK) as bus:
        assert sorted(bus.work_state("plan")) == ["plan:1-1", "plan:2-1"]
        assert all(plan.is_complete for plan in bus.work_state("plan").values())
        climbed = [(one.id, len(one.rungs), one.answered_by) for one in bus.escalations(answered=True)]
        assert climbed == [("escalation-1", 4, "human"), ("escalation-1.2", 4, "human")]
        assert refused(bus) == ["update-2", "late-1", "update-2.2", "late-1.2"]
        assert [event.kind for event, _ in bus.events()].count("dissolved") == 2


@proves("hub/demo")
def test_it_stops_in_the_middle_when_nobody_watches_any_more(tmp_path: Path) -> None:
    path, stop, troubles = prepare(str(tmp_path / "demo/telex.db")), threading.Event(), list[Exception]()
    begun = threading.Event()
    playing = threading.Thread(target=keep_playing, args=(path, str(tmp_path / "demo"), stop, troubles.append, begun))
    playing.start()
    assert begun.wait(30)  # the round in the past is stored; a receive here would take leases that are expired by now
    stop.set()
    playing.join(30)
    assert not playing.is_alive()
    assert troubles == []


@proves("hub/demo")
def test_a_round_that_somebody_spoilt_is_told_and_the_next_one_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "ROUNDS_MAX", 2)
    told = list[Exception]()
    begun: list[int] = []

    def spoilt(company: DemoTeam) -> object:
        begun.append(len(begun))
        if len(begun) == 1:
            raise ValueError("not enough values to unpack")
        return iter(())

    monkeypatch.setattr(loop, "play", spoilt)
    keep_playing(prepare(str(tmp_path / "demo/telex.db")), str(tmp_path / "demo"), threading.Event(), told.append)
    assert (len(told), begun) == (1, [0, 1])


@proves("hub/demo")
def test_the_store_of_the_demo_keeps_an_hour_and_no_more() -> None:
    assert loop.SETTINGS.limits.retention_seconds <= 3_600.0
    assert loop.ROUNDS_MAX <= 1_000


@proves("hub/demo/visitor")
def test_an_approval_and_an_escalation_wait_for_a_visitor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "ROUNDS_MAX", 2)
    monkeypatch.setattr(loop, "VISITOR_SECONDS", 60.0)
    path, troubles, asked = prepare(str(tmp_path / "demo/telex.db")), list[Exception](), list[str]()
    playing = threading.Thread(
        target=keep_playing, args=(path, str(tmp_path / "demo"), threading.Event(), troubles.append)
    )
    playing.start()
    with connect(path, settings=BRISK) as bus:
        while playing.is_alive():
            act = STAGE.act
            if act is not None and act.visitor and act.visitor not in asked:
                asked.append(act.visitor)
                if act.number == 2:
                    bus.approve("request-1.2", approved=False, reason="Use the text that is there", agent="human")
                else:
                    bus.send("Yes.", sender="human", to="dev-2", reply_to="escalation-1.2")
            playing.join(0.05)
        assert (len(asked), troubles, STAGE.act) == (2, [], None)
        approvals = {one.request.id: one.answer for one in bus.work_state("approval").values()}
        assert {id_: (answer.by, answer.decision) for id_, answer in approvals.items()} == {
            "request-1": ("lead", "conditional"),
            "request-1.2": ("human", "rejected"),
            "request-2.2": ("lead", "rejected"),
        }
        assert refused(bus) == ["update-2", "late-1", "update-2.2", "late-1.2"]


@proves("hub/demo/held")
def test_agents_hold_their_messages_while_they_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "ROUNDS_MAX", 2)
    monkeypatch.setattr(hands, "HOLD_SECONDS_OTHERS", (0.2, 0.3))
    path = prepare(str(tmp_path / "demo/telex.db"))
    keep_playing(path, str(tmp_path / "demo"), threading.Event(), lambda _: None)
    history = History(BUILT_IN)
    with connect(path, settings=BRISK) as bus:
        for event, message in bus.events():
            history.fold(event, message)
    held = [
        attempt.done - attempt.taken
        for message in history.messages.values()
        for delivery in message.deliveries
        for attempt in delivery.attempts
        if attempt.state == "done"
    ]
    assert sum(seconds >= 2.0 for seconds in held) >= 8  # in the past, by the clock of the story
    assert sum(0.1 <= seconds < 2.0 for seconds in held) >= 8
