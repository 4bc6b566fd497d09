"""Tests of `send(ack=)`: a message is stored and a lease acked in one transaction."""

import asyncio
from typing import Any

import pytest

from telex.connection import connect
from telex.errors import LeaseLost, NotFound, TelexError
from telex.model.message import LeasedMessage
from telex.ports.store import Query
from tests.bus.bus_team import QUICK, OpenTeam, Team, codes
from tests.proofs import proves

DONE = "Done."


@pytest.fixture
def lease(team: Team) -> LeasedMessage:
    """A message n-1 from dev, leased to lead."""
    team.note(id="n-1")
    return team.take(lease=10.0)


def reply(team: Team, token: str, raw: Any = DONE, **changes: Any) -> Any:
    return team.bus.send(raw, **{"sender": "lead", "to": "dev", "id": "r-1", "ack": token} | changes, check=False)


def log(team: Team) -> list[tuple[str, str | None]]:
    """Every event, with the agent that caused it."""
    return [(event.kind, event.agent) for event, _ in team.bus.events(Query())]


@proves("bus/send-ack/both")
def test_a_reply_with_a_token_is_stored_and_acks_the_lease(team: Team, lease: LeasedMessage) -> None:
    receipt = reply(team, lease.token, reply_to="n-1")
    assert (receipt.accepted, receipt.state, receipt.id) == (True, "stored", "r-1")
    assert (team.story("n-1").state, team.kinds("n-1")) == ("acked", ["accepted", "leased", "acked"])
    assert team.taken("dev") == ["r-1"]


@proves("bus/send-ack/both")
def test_an_expired_lease_is_acked_while_nobody_else_has_the_message(team: Team, lease: LeasedMessage) -> None:
    team.later(11.0)
    assert team.story("n-1").state == "stored"
    assert reply(team, lease.token).accepted
    assert (team.story("n-1").state, team.inbox("dev")) == ("acked", ["r-1"])


@proves("bus/send-ack/both")
def test_a_message_that_was_sent_before_without_the_token_still_acks_the_lease(
    team: Team, lease: LeasedMessage
) -> None:
    team.note(DONE, sender="lead", to="dev", id="r-1")
    assert reply(team, lease.token).duplicate
    assert (team.story("n-1").state, team.inbox("dev")) == ("acked", ["r-1"])


def offered_again(team: Team, lease: LeasedMessage) -> str:
    team.later(60.0)
    team.take()
    return lease.token


def nacked(team: Team, lease: LeasedMessage) -> str:
    team.bus.nack(lease.token, agent="lead", reason="no table")
    return lease.token


def gone(team: Team, lease: LeasedMessage) -> str:
    team.later(60.0)
    team.bus.leave("lead")
    return lease.token


LOST = {
    "offered again": (offered_again, LeaseLost, {}),
    "nacked": (nacked, LeaseLost, {}),
    "acked": (lambda team, lease: team.bus.ack(lease.token, agent="lead") and lease.token, LeaseLost, {}),
    "withdrawn": (gone, LeaseLost, {}),
    "of another agent": (lambda team, lease: lease.token, LeaseLost, {"sender": "qa"}),
    "unknown": (lambda team, lease: "99999999.1", NotFound, {}),
    "invalid": (lambda team, lease: "n-1", NotFound, {}),
}


@proves("bus/send-ack/lost")
@pytest.mark.parametrize("raw", [DONE, " "], ids=["valid", "refused"])
@pytest.mark.parametrize("how", LOST)
def test_under_a_lost_lease_nothing_is_stored(team: Team, lease: LeasedMessage, how: str, raw: str) -> None:
    lose, error, changes = LOST[how]
    team.bus.join("qa")
    token = lose(team, lease)
    before, inbox = log(team), team.inbox("dev")
    with pytest.raises(error):
        reply(team, token, raw, **changes)
    assert (log(team), team.inbox("dev")) == (before, inbox)
    with pytest.raises(NotFound):
        team.bus.why("r-1")


@proves("bus/send-ack/refused")
@pytest.mark.parametrize(
    "refused, code",
    [({"raw": " "}, "empty-message"), ({"to": "nobody"}, "recipient-unknown"), ({"id": "n-2"}, "id-reused")],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_refused_message_leaves_the_lease_as_it_is(
    team: Team, lease: LeasedMessage, refused: dict[str, Any], code: str
) -> None:
    team.note("Something else.", sender="lead", to="dev", id="n-2")
    receipt = reply(team, lease.token, **refused)
    assert code in codes(receipt.findings)
    assert (team.story("n-1").state, team.kinds("n-1")) == ("leased", ["accepted", "leased"])
    assert reply(team, lease.token).accepted
    assert team.story("n-1").state == "acked"


@proves("bus/send-ack/refused")
def test_a_full_inbox_leaves_the_lease_as_it_is(open_team: OpenTeam) -> None:
    team = open_team(inbox_max=1)
    team.note(id="n-1")
    team.note(sender="lead", to="dev")
    token = team.take().token
    assert codes(reply(team, token).findings) == ["inbox-full"]
    assert team.story("n-1").state == "leased"


@proves("bus/send-ack/again")
def test_the_same_reply_again_is_a_duplicate_and_another_one_is_not_stored(team: Team, lease: LeasedMessage) -> None:
    reply(team, lease.token)
    again = reply(team, lease.token)
    assert (again.duplicate, again.id) == (True, "r-1")
    with pytest.raises(LeaseLost):
        reply(team, lease.token, "Done twice.", id="r-2")
    assert (team.kinds("n-1"), team.inbox("dev")) == (["accepted", "leased", "acked"], ["r-1"])


@proves("bus/send-ack/again")
def test_a_reply_of_an_earlier_attempt_does_not_ack_the_lease_of_a_later_one(team: Team, lease: LeasedMessage) -> None:
    team.note(DONE, sender="lead", to="dev", id="r-1")
    offered_again(team, lease)
    with pytest.raises(LeaseLost):
        reply(team, lease.token)
    assert team.story("n-1").state == "leased"


@proves("bus/send-ack/lost")
def test_a_lost_lease_leaves_the_other_sends_of_its_commit_alone(team: Team, lease: LeasedMessage) -> None:
    team.bus.ack(lease.token, agent="lead")
    team.note(id="n-2")
    other = team.take().token

    async def send_together() -> list[Any]:
        async with connect(team.path, settings=QUICK, clock=team.clock) as bus:
            tokens = {"a": None, "b": lease.token, "c": other, "d": None}
            sends = [bus.send(DONE, sender="lead", to="dev", id=id_, ack=token) for id_, token in tokens.items()]
            return await asyncio.gather(*sends, return_exceptions=True)

    answers = asyncio.run(send_together())
    assert [isinstance(answer, TelexError) for answer in answers] == [False, True, False, False]
    assert (team.inbox("dev"), team.story("n-2").state) == (["a", "c", "d"], "acked")
