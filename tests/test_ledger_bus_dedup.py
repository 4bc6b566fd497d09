"""What is kept, and what is not kept twice? The same id within an hour, and inboxes that are full."""

import pytest

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect, MessageType
from telex.model.limits import LIMITS
from tests.bus_team import NOTE, OpenTeam, Team, codes, every_type, flow, open_team, speech, team
from tests.proofs import proves

__all__ = ["open_team", "team"]

HOUR = 3600.0

# --- the same id ------------------------------------------------------------------------------------------------------


def with_id(dialect: Dialect, type_: MessageType) -> tuple[bytes, str, dict[str, str]]:
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
    refused = team.bus.send(other, sender=sender, to="human", **given)
    assert (refused.accepted, codes(refused.findings)) == (False, ["id-reused"])
    assert [(one.state, one.message.raw) for one in team.bus.why("n-1")] == [("stored", raw), ("refused", other)]
    assert team.inbox("human") == ["n-1"]


@proves("bus/same-id/refused-before")
def test_a_refused_message_does_not_use_up_its_id(team: Team) -> None:
    wrong = flow("STATUS_UPDATE", "s-1", "cto", "plan-manager", version="9")
    right = flow("STATUS_UPDATE", "s-1", "cto", "plan-manager")
    assert not team.bus.send(wrong, sender="cto").accepted
    assert team.bus.send(right, sender="cto")[:2] == (True, "s-1")


@proves("bus/same-id/at-the-door")
def test_a_message_with_an_id_of_its_own_is_given_no_other(team: Team) -> None:
    raw = flow("STATUS_UPDATE", "s-1", "cto", "plan-manager")
    assert codes(team.bus.send(raw, sender="cto", id="s-2").findings) == ["id-differs"]
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
        refused = bus.send(raw, sender=sender, to="human")
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
    assert codes(team.bus.send(NOTE, sender="dev", to="all:qa").findings) == ["inbox-full"]
    assert [len(team.inbox(name)) for name in ("ada", "bob", "zoe")] == [0, 1, 0]


@proves("bus/backpressure/room-again")
def test_an_inbox_takes_messages_again_when_some_were_dealt_with(open_team: OpenTeam) -> None:
    team = open_team(inbox_max=2)
    team.note()
    team.note()
    lease = team.take()
    assert codes(team.bus.send(NOTE, sender="dev", to="lead").findings) == ["inbox-full"]  # it may still come back
    team.bus.ack(lease.token, agent="lead")
    assert team.note()
