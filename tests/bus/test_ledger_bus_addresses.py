"""Addresses, conversations, deduplication and inbox quotas."""

import json
from typing import Any

import pytest

from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect, MessageType
from telex.dialects.write import write
from telex.model.limits import LIMITS
from tests.bus.bus_team import NOTE, OpenTeam, Team, codes, every_dialect, every_type, flow, speech, speech_of
from tests.proofs import proves

DEV, CTO = "fullstack-developer", "cto"
MINUTES = 60.0

# --- broadcasts, events, roles ----------------------------------------------------------------------------------------


def joined(team: Team) -> None:
    for name, role in (("ada", "qa"), ("bob", "qa"), ("zoe", "lead")):
        team.bus.join(name, role=role)


@proves("bus/pattern/broadcast")
@every_dialect
def test_a_broadcast_is_delivered_once_to_each_other_member(team: Team, dialect: Dialect) -> None:
    joined(team)
    said = speech(dialect, next(iter(dialect.types.values())))
    receipt = team.say(said, "*")
    assert sorted(receipt.to) == ["ada", "bob", "zoe"]
    assert [team.taken(name) for name in ("ada", "bob", "zoe")] == [[receipt.id]] * 3
    assert team.bus.receive(said.sender) == []


@proves("bus/address/role-in-the-message")
@pytest.mark.parametrize("said, to, differs", [
    ("role:qa", "role:qa", False), ("all:qa", "all:qa", False), ("Role:QA", "ada", False),
    ("qa", "role:qa", False), ("role:qa", "role:lead", True), ("role:qa", "zoe", True),
])  # fmt: skip
def test_a_role_that_the_message_names_is_the_role_it_is_sent_to(team: Team, said: str, to: str, differs: bool) -> None:
    joined(team)
    receipt = team.bus.send(flow("STATUS_UPDATE", "s-1", CTO, said), sender=CTO, to=to)
    assert ("recipient-differs" in [finding.code for finding in receipt.findings]) == differs


@proves("bus/pattern/broadcast")
def test_a_message_may_say_itself_that_it_is_for_everyone(team: Team) -> None:
    joined(team)
    raw = flow("STATUS_UPDATE", "b-1", CTO, "*", broadcast=True)
    receipt = team.bus.send(raw, sender=CTO)
    assert (receipt.findings, sorted(receipt.to)) == ((), ["ada", "bob", "zoe"])


@proves("bus/pattern/event")
@pytest.mark.parametrize("type_", BUILD_FLOW.types.values(), ids=lambda one: one.name)
def test_an_event_is_delivered_like_any_message_with_its_mark(team: Team, type_: MessageType) -> None:
    said = speech(BUILD_FLOW, type_, event=True)
    team.say(said, "human")
    assert json.loads(team.take("human").message.raw)["event"] is True


@proves("bus/address/one-of-role")
@every_dialect
def test_what_is_sent_to_a_role_is_taken_by_one_of_them(team: Team, dialect: Dialect) -> None:
    joined(team)
    receipt = team.say(speech(dialect, next(iter(dialect.types.values()))), "role:qa")
    assert receipt.to == ("role:qa",)
    assert team.inbox("ada") == team.inbox("bob") == [receipt.id]
    assert (team.taken("bob"), team.taken("ada"), team.taken("zoe")) == ([receipt.id], [], [])


@proves("bus/address/one-of-role")
def test_when_the_one_who_took_it_fails_another_of_the_role_may_take_it(team: Team) -> None:
    joined(team)
    id_ = team.note(to="role:qa")
    team.take("ada")
    team.later(60.0)
    team.later(2.0)
    assert team.taken("bob") == [id_]


@proves("bus/address/all-of-role")
@every_dialect
def test_what_is_sent_to_all_of_a_role_comes_to_each_of_them(team: Team, dialect: Dialect) -> None:
    joined(team)
    receipt = team.say(speech(dialect, next(iter(dialect.types.values()))), "all:qa")
    assert (team.taken("ada"), team.taken("bob"), team.taken("zoe")) == ([receipt.id], [receipt.id], [])


@proves("bus/address/in-the-message")
def test_a_message_that_names_its_recipient_needs_no_address(team: Team) -> None:
    assert team.bus.send(flow("DOC_QUERY", "d-1", DEV, CTO), sender=DEV).to == (CTO,)
    said = speech_of("vbw-typed", "execution_update", target_role="lead")
    assert team.bus.send(said.raw, sender="dev").to == ("lead",)
    team.bus.join("lead")
    team.bus.leave("lead")
    team.bus.join("zoe", role="lead")
    said = speech_of("vbw-typed", "execution_update", "u-2", target_role="lead")
    assert team.bus.send(said.raw, sender="dev").to == ("role:lead",)


@proves("bus/address/spelling")
@pytest.mark.parametrize("spelling", ["@agent-cto", "CTO", " cto "])
def test_a_name_is_found_in_every_spelling_and_kept_as_it_was_sent(team: Team, spelling: str) -> None:
    raw = flow("STATUS_UPDATE", "s-1", DEV, spelling)
    assert team.bus.send(raw, sender=DEV).to == (CTO,)
    assert json.loads(team.take(CTO).message.raw)["to"] == spelling


# --- conversations ----------------------------------------------------------------------------------------------------


def about(dialect: Dialect, task: str) -> list[tuple[str, str]]:
    """Every type of a dialect that says what it is about, about this task: who says it, and the message."""
    found = []
    for type_ in dialect.types.values():
        said = speech(dialect, type_, f"{task} {type_.name}")
        inner = said.tree[dialect.payload] if dialect.payload else said.tree
        for place in (said.tree, inner):
            place |= {name: task for name in (dialect.wire.correlation, dialect.wire.task) if name in place}
        found.append((said.sender, write(dialect, said.tree, type_.body_example)))
    return [(sender, raw) for sender, raw in found if f'"{task}"' in raw or f": {task}\n" in raw]


@proves("bus/correlation/task")
@every_dialect
def test_all_messages_about_a_task_are_one_conversation(team: Team, dialect: Dialect) -> None:
    ids: dict[str, list[str]] = {}
    for task in ("TASK-777", "TASK-778"):
        ids[task] = [
            team.bus.send(raw, sender=sender, to="human", check=False).id for sender, raw in about(dialect, task)
        ]
    for task, said in ids.items():
        assert len(said) >= 1
        assert [story.message.id for story in team.bus.trace(task)] == said
        assert [story.message.id for story in team.bus.trace(said[-1])] == said


@proves("bus/correlation/escalation")
def test_an_escalation_and_the_answer_to_it_stay_in_the_conversation(team: Team) -> None:
    said = [("ESCALATION_REQUEST", DEV, CTO), ("STATUS_UPDATE", CTO, DEV), ("ERROR_REPORT", DEV, CTO)]
    for type_, sender, to in said:
        assert team.bus.send(flow(type_, type_, sender, to), sender=sender).accepted
    assert [story.message.id for story in team.bus.trace("TASK-001")] == [type_ for type_, *_ in said]


def speak(team: Team, task: str, id: str, to: str = "human") -> None:
    assert team.bus.send(flow("STATUS_UPDATE", id, CTO, to, task), sender=CTO).accepted


def silences(team: Team) -> list[tuple[str, int, int]]:
    return [(one["correlation"], one["messages"], one["open"]) for one in team.happened("conversation-idle")]


@proves("bus/conversation/silent")
def test_half_an_hour_of_silence_is_told_once(team: Team) -> None:
    speak(team, "T1", "m-1")
    team.later(20 * MINUTES)
    speak(team, "T1", "m-2")
    team.taken("human")
    speak(team, "T2", "m-3")
    team.later(29 * MINUTES)
    assert silences(team) == []
    for _ in range(4):
        team.later(MINUTES + 1)
    assert sorted(silences(team)) == [("T1", 2, 0), ("T2", 1, 1)]


@proves("bus/conversation/silent")
@every_dialect
def test_silence_is_told_in_every_dialect(team: Team, dialect: Dialect) -> None:
    sender, raw = about(dialect, "TASK-777")[0]
    assert team.bus.send(raw, sender=sender, to="human").accepted
    team.later(31 * MINUTES)
    team.later(MINUTES)
    assert silences(team) == [("TASK-777", 1, 1)]


@proves("bus/conversation/resumed")
def test_a_conversation_may_go_on_after_a_silence_and_fall_silent_again(team: Team) -> None:
    speak(team, "T1", "m-1")
    team.later(31 * MINUTES)
    team.later(MINUTES)
    speak(team, "T1", "m-2")
    assert len(team.bus.trace("T1")) == 2
    team.later(31 * MINUTES)
    team.later(MINUTES)
    assert silences(team) == [("T1", 1, 1), ("T1", 2, 2)]


@proves("bus/conversation/nothing-lost")
def test_what_waits_in_a_silent_conversation_is_still_delivered(team: Team) -> None:
    speak(team, "T1", "m-1")
    team.later(24 * 60 * MINUTES)
    assert team.taken("human") == ["m-1"]


@proves("bus/conversation/limit")
def test_a_team_may_choose_how_much_silence_it_bears(open_team: OpenTeam) -> None:
    team = open_team(conversation_seconds=5.0)
    speak(team, "T1", "m-1")
    team.later(6.0)
    team.later(6.0)
    assert silences(team) == [("T1", 1, 1)]


HOUR = 3600.0

# --- the same id ------------------------------------------------------------------------------------------------------


def with_id(dialect: Dialect, type_: MessageType) -> tuple[bytes, str, dict[str, Any]]:
    """A message under an id of its own, or one given at the door where the dialect has none."""
    said = speech(dialect, type_, "n-1")
    return said.raw, said.sender, {} if dialect.wire.id is not None else {"id": "n-1"}


@proves("bus/same-id/once")
@every_type
def test_the_same_message_again_within_an_hour_is_acknowledged_and_ignored(
    team: Team, dialect: Dialect, type_: MessageType
) -> None:
    raw, sender, given = with_id(dialect, type_)
    assert team.bus.send(raw, sender=sender, to="human", **given).duplicate is False
    team.later(HOUR - 1)
    again = team.other().send(raw, sender=sender, to="human", **given)
    assert (again.accepted, again.duplicate, again.id) == (True, True, "n-1")
    assert len(team.bus.why("n-1")) == 1
    assert team.inbox("human").count("n-1") == 1


@proves("bus/same-id/told")
def test_a_repetition_is_told_how_the_first_one_stands_and_seen_in_its_story(team: Team) -> None:
    id_ = team.note(id="n-1")
    team.taken()
    again = team.bus.send(NOTE, sender="dev", to="lead", id=id_)
    assert (again.duplicate, again.state) == (True, "acked")
    assert team.kinds(id_) == ["accepted", "leased", "acked", "duplicate"]
    assert team.bus.receive("lead") == []


@proves("bus/same-id/after-an-hour")
def test_after_an_hour_the_same_id_is_a_new_message(team: Team) -> None:
    team.note(id="n-1")
    team.later(HOUR + 1)
    assert team.bus.send(NOTE, sender="dev", to="lead", id="n-1").duplicate is False
    assert team.taken() == ["n-1", "n-1"]


@proves("bus/same-id/reused")
@every_type
def test_the_same_id_with_other_bytes_is_refused(team: Team, dialect: Dialect, type_: MessageType) -> None:
    raw, sender, given = with_id(dialect, type_)
    assert team.bus.send(raw, sender=sender, to="human", **given).accepted
    other = raw + b"\n"
    refused = team.bus.send(other, sender=sender, to="human", **given, check=False)
    assert (refused.accepted, codes(refused.findings)) == (False, ["id-reused"])
    assert [(one.state, one.message.raw) for one in team.bus.why("n-1")] == [("stored", raw), ("refused", other)]
    assert team.inbox("human") == ["n-1"]


@proves("bus/same-id/refused-before")
def test_a_refused_message_does_not_use_up_its_id(team: Team) -> None:
    wrong = flow("STATUS_UPDATE", "s-1", "cto", "plan-manager", version="9")
    right = flow("STATUS_UPDATE", "s-1", "cto", "plan-manager")
    assert not team.bus.send(wrong, sender="cto", check=False).accepted
    assert team.bus.send(right, sender="cto")[:2] == (True, "s-1")


@proves("bus/same-id/at-the-door")
def test_a_message_with_an_id_of_its_own_is_given_no_other(team: Team) -> None:
    raw = flow("STATUS_UPDATE", "s-1", "cto", "plan-manager")
    assert codes(team.bus.send(raw, sender="cto", id="s-2", check=False).findings) == ["id-differs"]
    assert team.bus.send(raw, sender="cto", id="s-1").id == "s-1"


@proves("bus/same-id/made")
def test_a_message_without_an_id_gets_one_that_nobody_else_has(team: Team) -> None:
    assert len({team.note() for _ in range(50)}) == 50
    assert len(team.taken()) == 50


# --- full inboxes -----------------------------------------------------------------------------------------------------


@proves("bus/backpressure/limit")
def test_ten_thousand_messages_may_wait_unless_a_team_says_otherwise() -> None:
    assert LIMITS.inbox_max == 10_000


@proves("bus/backpressure/refused")
@pytest.mark.parametrize("dialect", [*BUILT_IN, None], ids=lambda one: one.name if one else "plain")
def test_a_full_inbox_refuses_and_says_so(open_team: OpenTeam, dialect: Dialect | None) -> None:
    team = open_team(inbox_max=3)
    for _ in range(3):
        team.note(to="human")
    raw, sender = NOTE.encode(), "dev"
    if dialect is not None:
        said = speech(dialect, next(iter(dialect.types.values())))
        raw, sender = said.raw, said.sender
    for bus in (team.bus, team.other()):
        refused = bus.send(raw, sender=sender, to="human", check=False)
        assert (refused.accepted, codes(refused.findings)) == (False, ["inbox-full"])
        assert refused.findings[-1].found == "human"
    assert len(team.inbox("human")) == 3
    assert team.note(to="lead")


@proves("bus/backpressure/all-or-nothing")
def test_a_broadcast_is_kept_for_all_or_for_none(open_team: OpenTeam) -> None:
    team = open_team(inbox_max=1)
    for name in ("ada", "bob", "zoe"):
        team.bus.join(name, role="qa")
    team.note(to="bob")
    assert codes(team.bus.send(NOTE, sender="dev", to="all:qa", check=False).findings) == ["inbox-full"]
    assert [len(team.inbox(name)) for name in ("ada", "bob", "zoe")] == [0, 1, 0]


@proves("bus/backpressure/room-again")
def test_an_inbox_takes_messages_again_when_some_were_dealt_with(open_team: OpenTeam) -> None:
    team = open_team(inbox_max=2)
    team.note()
    team.note()
    lease = team.take()
    assert codes(team.bus.send(NOTE, sender="dev", to="lead", check=False).findings) == [
        "inbox-full"
    ]  # it may still come back
    team.bus.ack(lease.token, agent="lead")
    assert team.note()
