"""Is a log that Telex has kept, or that says who spoke and when, replayed quickly with the same answers?"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.dialects.registry import BUILT_IN
from telex.model.event import Event
from telex.model.roster import Member
from telex.replay.reader import Line, LogEntry, line_reader, of_store
from telex.replay.result import SimulatedResult
from telex.replay.simulate import Simulator
from telex.stores.memory import MemoryStore
from telex.validation.check import CheckPolicy
from tests.bus_team import EVERY_TYPE, speech, speech_of
from tests.proofs import proves
from tests.replay_story import STORIES, Story
from tests.test_book import messages
from tests.test_replay_reports import DAYS, written
from tests.whole_stories import FEWER

NAMES = ("dev", "Dev", "dev-2", "lead", "qa", "scout", "cto", "human", "execution-manager", "nobody", "")
WHOM = st.sampled_from(NAMES)
MOMENT = "2026-03-02T10:00:00Z"


def both_ways(lines: list[Line], *of: Any) -> None:
    """The same is said quickly and patiently, and the work then stands alike."""
    quick, patient = Simulator(*of), Simulator(*of)
    quick.open_track()
    for line in lines:
        if isinstance(line, Event):
            quick.happened(line)
            patient.happened(line)
        elif isinstance(line, LogEntry):
            assert quick.judge(line).told() == patient.judge(line).told(), line
    assert quick.book == patient.book


@proves("replay/quick")
@FEWER
@given(STORIES, st.booleans(), st.booleans())
def test_a_kept_record_is_told_quickly_as_it_is_told_patiently(acts: list[Any], strict: bool, work: bool) -> None:
    events = Story(MemoryStore(), strict=strict).play(acts).events()
    both_ways([of_store(*event) for event in events], CheckPolicy(strict=strict, work=work))


@proves("replay/quick")
@given(st.lists(st.tuples(messages(), WHOM, st.none() | WHOM, st.none() | WHOM), max_size=8), st.booleans())
def test_whoever_speaks_to_whomever_is_judged_alike(
    said: list[tuple[dict[str, Any], str, str | None, str | None]], closed: bool
) -> None:
    """Names that the log tells need not be those that the message claims."""
    lines: list[Line] = [
        LogEntry(number, how["raw"], sender, role, to, 1.0 + number, kept=bool(number % 2))
        for number, (how, sender, role, to) in enumerate(said, 1)
    ]
    declared = [Member("dev", "dev", declared=True), Member("lead", "lead", declared=True)] if closed else []
    both_ways(lines, CheckPolicy(), declared)


@proves("replay/quick")
@given(DAYS, st.booleans())
def test_log_records_of_a_day_of_work_are_told_quickly_too(said: list[tuple[str, Any]], repeated: bool) -> None:
    records = [
        json.dumps({"timestamp": MOMENT, "direction": "SENT", "agent": sender, "message": json.loads(raw)}).encode()
        for sender, raw in written(said)
    ]
    read = line_reader(BUILT_IN)
    both_ways([read(number, line) for number, line in enumerate(records * (1 + repeated), 1)])


@proves("replay/quick")
def test_most_messages_of_a_kept_log_take_the_quick_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(self: Simulator, line: LogEntry) -> SimulatedResult:
        raise AssertionError(f"{line} was looked at twice")

    monkeypatch.setattr(Simulator, "patiently", slow)
    trial = Simulator()
    trial.open_track()
    for number, (dialect, type_) in enumerate(EVERY_TYPE, 1):
        if (
            dialect.form != "json"
            or type_.deed is None
            or type_.deed.action not in ("progress", "status", "ask", "stop")
        ):
            continue
        said = speech(dialect, type_)
        line = LogEntry(number, said.raw, said.sender, None, None, 1.0, f"m{number}", kept=True)
        assert trial.judge(line).verdict == "passed", type_.name


@proves("replay/quick")
@pytest.mark.parametrize("quick", [False, True])
def test_a_log_record_under_an_id_that_was_used_is_repeated_or_refused(quick: bool) -> None:
    trial, verdicts = Simulator(), []
    if quick:
        trial.open_track()
    said = speech_of("vbw-typed", "scout_findings", "same")
    other = said.raw.replace(b", ", b",  ", 1)
    for number, raw in enumerate((said.raw, said.raw, other), 1):
        verdicts.append(trial.judge(LogEntry(number, raw, said.sender, at=1.0)))
    assert [verdict.verdict for verdict in verdicts] == ["passed", "repeated", "refused"]
    assert [finding.code for finding in verdicts[2].findings] == ["id-reused"]
