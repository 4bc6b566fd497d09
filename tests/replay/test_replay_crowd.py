"""Replay of a log with thousands of agents, or with agents that have odd names."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.delivery import validator_cache
from telex.delivery.routing import Participants
from telex.delivery.validator_cache import OPENED_AFTER, ValidatorCache
from telex.dialects.registry import BUILT_IN
from telex.model.roster import Member
from telex.replay import simulate
from telex.replay.reader import line_reader
from telex.replay.simulate import SimulatedResult, Simulator
from telex.validation.check import STRICT, CheckPolicy
from tests.bus.bus_team import EVERY_TYPE, speech, speech_of
from tests.proofs import proves
from tests.replay.replay_kit import flowing, simulated

Lines = Callable[[int], Iterable[Any]]


def said(number: int, to: str) -> Any:
    return flowing("STATUS_UPDATE", f"s{number}", f"worker-{number}", to)


def kept(number: int, to: str, kind: str = "accepted") -> Any:
    who = {"sender": f"worker-{number}", "role": f"trade-{number}", "to": to}
    message = who | {"id": f"m{number}", "at": 1.0, "raw": json.dumps(said(number, to))}
    return {"telex": 1, "seq": number, "kind": kind, "at": 1.0, "message": message}


def came(number: int, kind: str = "joined") -> Any:
    detail = {"role": f"trade-{number}"}
    return {"telex": 1, "seq": number, "at": 1.0, "kind": kind, "agent": f"worker-{number}", "detail": detail}


def recorded(number: int) -> Any:
    message = said(number, f"boss-{number}")
    return {
        "timestamp": "2026-03-02T10:00:00Z", "direction": "SENT", "agent": f"worker-{number}", "message": message,
    }  # fmt: skip


CROWDS: dict[str, Lines] = {
    "bare": lambda number: [said(number, f"boss-{number}")],
    "bare, to a role": lambda number: [said(number, f"role:boss-{number}")],
    "bare, to everybody": lambda number: [said(number, "*")],
    "of records": lambda number: [recorded(number)],
    "that joins": lambda number: [came(number)],
    "that joins and speaks to somebody": lambda number: [came(number), kept(number, f"boss-{number}")],
    "that joins and speaks to a role": lambda number: [came(number), kept(number, f"role:trade-{number}")],
    "that joins and speaks to everybody": lambda number: [came(number), kept(number, "*")],
}


def played(simulator: Simulator, lines: Iterable[Any]) -> list[SimulatedResult]:
    read = line_reader(BUILT_IN)
    texts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    return simulated(simulator, [read(number, text) for number, text in enumerate(texts, 1)])


@proves("replay/crowd")
@pytest.mark.parametrize("crowd", CROWDS)
def test_a_log_of_many_agents_refuses_none_of_them(crowd: str) -> None:
    results = played(Simulator(), [line for number in range(300) for line in CROWDS[crowd](number)])
    assert {result.verdict for result in results} <= {"passed"}


@proves("replay/crowd")
def test_the_number_of_routes_that_are_cached_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = [*map(came, range(30)), *[kept(number, "*") for number in range(30)] * 2]
    results = played(Simulator(), crowd)
    monkeypatch.setattr(simulate, "ROUTES_MAX", 7)
    simulator = Simulator()
    assert played(simulator, crowd) == results
    assert len(simulator._team._replay_routes) <= 7


@proves("replay/crowd")
def test_pairs_that_hardly_speak_are_not_counted_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validator_cache, "PAIRS_MAX", 6)
    policy, raw = ValidatorCache(STRICT), json.dumps(said(1, "lead")).encode()
    regular = Participants(as_name="worker-1")
    for number in range(1, 2 * OPENED_AFTER):
        assert policy.check(raw, Participants(as_name=f"stranger-{number}")).checked is not None
        assert (policy.check(raw, regular).checked is None) is (number >= OPENED_AFTER), "it has its lane all the same"
        assert len(policy._used) <= 6


# --- odd ones --------------------------------------------------------------------------------------------------------

NAMES = ["dev", "lead", "Dev", "worker-1", "workr-1", "w3", "*", "role:qa", "role:x", "ALL:dev", "all:x", "telex"]
NAMES += ["human", "", " ", "-x", "a:b", "x" * 300]
ROLES = ["dev", "lead", "x", "", "Dev"]


def coming(kind: str, name: str, role: str | None = "dev") -> Any:
    return {"telex": 1, "at": 1.0, "kind": kind, "agent": name, "detail": {"role": role}}


COMING = st.builds(
    coming,
    st.sampled_from(["joined", "joined", "left", "stopped", "forced"]),
    st.sampled_from(NAMES),
    st.sampled_from([*ROLES, None]),
)
WORDS = st.one_of(
    st.builds(
        lambda one, id_: speech(one[0], one[1], id_).raw.decode(), st.sampled_from(EVERY_TYPE), st.sampled_from("abc")
    ),
    st.builds(
        lambda type_, id_, who, to: json.dumps(flowing(type_, id_, who, to)),
        st.sampled_from(["STATUS_UPDATE", "TASK_ASSIGNMENT"]),
        st.sampled_from("abc"),
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
    ),
)
RECORDS = st.builds(
    lambda raw, agent: {"direction": "SENT", "agent": agent, "message": raw, "timestamp": "2026-03-02T10:00:00Z"},
    WORDS,
    st.sampled_from(NAMES),
)
EXPORTED = st.builds(
    lambda kind, raw, sender, role, to: {
        "telex": 1, "at": 1.0, "kind": kind,
        "message": {"id": "m", "at": 1.0, "sender": sender, "role": role, "to": to, "raw": raw},
    },
    st.sampled_from(["accepted", "accepted", "refused"]),
    WORDS,
    st.sampled_from(NAMES),
    st.sampled_from(ROLES),
    st.sampled_from(NAMES),
)  # fmt: skip
LOGS = st.lists(st.one_of(COMING, WORDS.map(str.encode), RECORDS, EXPORTED), max_size=25)
CLOSED = [Member("dev", "dev", declared=True), Member("w3", "dev", declared=True)]


@proves("replay/hostile")
@given(LOGS, st.booleans(), st.booleans())
def test_members_with_odd_names_and_roles_end_no_replay(log: list[Any], strict: bool, closed: bool) -> None:
    simulator = Simulator(CheckPolicy(strict=strict), CLOSED if closed else ())
    assert {result.verdict for result in played(simulator, log)} <= {"passed", "refused", "repeated", "own"}


@proves("replay/doubt")
def test_a_blank_recipient_means_everyone() -> None:
    raw = json.dumps(speech_of("build-flow", "TASK_ASSIGNMENT").tree | {"to": " "})
    who = {"sender": "build-orchestrator", "role": "build-orchestrator", "raw": raw}
    exported = kept(1, " ") | {"message": kept(1, " ")["message"] | who}
    for line in (raw.encode(), recorded(1) | {"agent": "build-orchestrator", "message": raw}, exported):
        simulator = Simulator()
        assert [result.verdict for result in played(simulator, [line])] == ["passed"]
        assert simulator.work_state
