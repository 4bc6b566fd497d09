"""What becomes of a message when Telex itself fails to translate it, and what may a translation never make up?"""

import json
from typing import Any, NoReturn

import pytest

from telex.dialects.registry import BUILT_IN
from telex.dialects.write import write
from telex.model.finding import refusals
from telex.model.limits import LIMITS
from telex.translation.mapping_tables import counterparts
from telex.translation.translate import NoCounterpart, Translation, header_of, translate
from telex.validation.check import CheckPolicy, check
from tests.bus.bus_team import Shell, Team, open_team, shell, speech_of, team
from tests.proofs import proves

__all__ = ["open_team", "shell", "team"]

PROGRESS = speech_of("vbw-typed", "execution_update", "up-1")
ROOM = LIMITS.message_bytes_max
TYPED = next(one for one in BUILT_IN if one.name == "vbw-typed")


def broken(*_: Any, **__: Any) -> NoReturn:
    raise KeyError("words of the message, which are nobody's business here")


@proves("reader_form/reader/our-mistake")
def test_a_reader_whose_translation_fails_has_markdown_and_the_record_says_why(
    team: Team, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("telex.translation.translate.translate", broken)
    team.bus.join("ada", role="lead", dialects=["build-flow"])
    team.say(PROGRESS, to="ada")
    found = team.take("ada").rendering
    assert found is not None
    assert (found.dialect, found.type) == ("plain", None)
    assert b"abc1234" in found.raw
    assert not found.raw.startswith(b"{")
    [event] = team.happened("translated")
    assert event["mistake"].startswith("KeyError in test_translation_failing.py line ")
    assert "nobody's business" not in json.dumps(event)
    said = shell("why", "up-1").out
    assert "since Telex failed to translate it (KeyError in" in " ".join(said.split())


@proves("reader_form/reader/our-mistake")
def test_what_not_even_markdown_can_say_is_handed_over_as_it_was_sent(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("telex.translation.translate.translate", broken)
    monkeypatch.setattr("telex.translation.markdown.render", broken)
    team.bus.join("ada", role="lead", dialects=["build-flow"])
    team.say(PROGRESS, to="ada")
    found = team.take("ada").rendering
    assert found is not None
    assert found.raw == PROGRESS.raw
    assert [event["mistake"].split()[0] for event in team.happened("translated")] == ["KeyError"]


@proves("translation/no-licence")
def test_no_translation_opens_a_path_that_the_original_does_not_name() -> None:
    """Sent on, it would be a contract like any other, and hold."""
    made = 0
    for dialect in BUILT_IN:
        for type_ in dialect.types.values():
            if dialect.base == TYPED.base or "plan_contract" not in counterparts(dialect, type_.name, TYPED):
                continue
            header = header_of(type_.example, dialect, type_, id="a-1", at=0.0, sender="lead")
            found = translate(type_.example, dialect, type_, TYPED, header, type_.body_example)
            assert isinstance(found, Translation)
            made += 1
            assert found.tree["payload"]["allowed_paths"] == []
            [told] = [one for one in found.invented if one.path == "$.payload.allowed_paths"]
            assert told.reason == "no path is named, so that it opens none"
            answer = check(json.dumps(found.tree).encode(), CheckPolicy(forced=TYPED))
            assert not refusals(answer.findings)
    assert made >= 2


@proves("translation/never-refused")
@pytest.mark.parametrize("letter", ["a", "é", "\x07", "💥"])
def test_what_is_too_long_for_the_other_dialect_has_no_counterpart_there(letter: str) -> None:
    """Front matter has less room than a message of JSON, and neither has more than a message may have."""
    signal_md = next(one for one in BUILT_IN if one.name == "signal-md")
    type_ = TYPED.types["execution_update"]
    header = header_of(type_.example, TYPED, type_, id="a-1", at=0.0, sender="dev")
    outcomes = set()
    for letters in (10, 2_000, 10_900, 16_300, 33_000, 65_000, 70_000):
        long = {**type_.example, "payload": {**type_.example["payload"], "files_modified": [letter * letters]}}
        found = translate(long, TYPED, type_, signal_md, header)
        outcomes.add(type(found))
        if isinstance(found, Translation):
            raw = write(signal_md, found.tree, found.body).encode()
            assert not refusals(check(raw, CheckPolicy(forced=signal_md)).findings)
        else:
            assert "would be refused for its length" in found.reason
    assert outcomes == {Translation, NoCounterpart}


@proves("translation/never-refused")
def test_a_message_as_large_as_may_be_is_not_made_larger() -> None:
    build_flow = next(one for one in BUILT_IN if one.name == "build-flow")
    type_ = TYPED.types["execution_update"]
    header = header_of(type_.example, TYPED, type_, id="a-1", at=0.0, sender="dev")
    outcomes = []
    for left in (10_000, 600, 400, 300, 200, 100, 0):
        long = {**type_.example, "payload": {**type_.example["payload"], "evidence": "a" * (ROOM - left)}}
        found = translate(long, TYPED, type_, build_flow, header)
        outcomes.append(isinstance(found, Translation))
        if isinstance(found, Translation):
            assert check(write(build_flow, found.tree).encode(), CheckPolicy(forced=build_flow)).valid
    assert outcomes[0]
    assert not outcomes[-1]
