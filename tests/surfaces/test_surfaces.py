"""Same through every door: at hand, over HTTP or by the tools of MCP, the bus says the same to whatever is asked."""

import json
from typing import Any

import pytest

from telex.errors import InvalidValue, LeaseLost, NotAMember, NotFound, Refused, RequestTimedOut
from telex.model.message import LeasedMessage
from telex.ports.store import Query
from tests.bus.bus_team import codes, speech_of
from tests.proofs import proves
from tests.surfaces.surfaces_kit import Door, door, meanwhile, note, state, take, wide_door

__all__ = ["door", "wide_door"]  # fixtures, found by their names

NOTE = "The build is red."
BACKOFF_SECONDS = 60.0  # longer than any wait before a next attempt


# --- sending ----------------------------------------------------------------------------------------------------------


@proves("surfaces/accepted")
def test_what_is_sent_is_kept_as_it_came_and_says_for_whom(door: Door) -> None:
    text = 'Grüße, \u2028 "quoted"\n\ttabbed\x85 \x1b[31m\n'
    receipt = note(door, text=text)
    assert (receipt.state, receipt.to, receipt.dialect, receipt.duplicate) == ("stored", ("lead",), "plain", False)
    leased = take(door)
    assert (leased.raw, leased.message.id, leased.message.sender) == (text.encode(), "n-1", "dev")


@proves("surfaces/refused")
def test_a_refused_message_comes_back_with_everything_that_is_wrong_and_how_it_would_pass(door: Door) -> None:
    spoken = speech_of("vbw-typed", "qa_verdict", "v-1")
    tree = spoken.tree | {"confidence": "hihg"}
    del tree["task"]
    receipt = door.bus.send(json.dumps(tree), sender=spoken.sender, to="lead", check=False)
    assert not receipt.accepted
    assert receipt.state == "refused"
    found = {finding.code: finding for finding in receipt.findings}
    assert set(found) == {"not-one-of", "field-missing"}
    assert (found["not-one-of"].path, found["not-one-of"].nearest) == ("$.confidence", "high")
    assert found["field-missing"].path == "$.task"
    assert receipt.fixed is not None
    assert json.loads(receipt.fixed)["confidence"] == "high"
    assert receipt.answer is not None
    assert not receipt.certain


@proves("surfaces/duplicate")
def test_the_same_message_again_is_a_duplicate_and_tells_how_far_the_first_has_come(door: Door) -> None:
    note(door)
    door.bus.ack(take(door).token, agent="lead")
    again = note(door)
    assert (again.duplicate, again.state, again.id) == (True, "acked", "n-1")
    assert door.bus.receive("lead") == []


@proves("surfaces/id-reused")
def test_another_message_under_a_used_id_is_refused(door: Door) -> None:
    note(door)
    receipt = door.bus.send("Other words.", sender="dev", to="lead", id="n-1", check=False)
    assert codes(receipt.findings) == ["id-reused"]


@proves("surfaces/recipient-unknown")
def test_an_unknown_recipient_is_refused_with_the_nearest_name(door: Door) -> None:
    receipt = door.bus.send(NOTE, sender="dev", to="laed", check=False)
    [finding] = receipt.findings
    assert (finding.code, finding.nearest, finding.found) == ("recipient-unknown", "lead", "laed")


@proves("surfaces/role-claim-differs")
def test_a_message_signed_with_another_role_is_refused(door: Door) -> None:
    spoken = speech_of("vbw-typed", "qa_verdict")
    receipt = door.bus.send(json.dumps(spoken.tree), sender="dev", to="lead", check=False)
    assert "role-claim-differs" in codes(receipt.findings)


@proves("surfaces/own-id")
def test_a_message_with_an_id_of_its_own_keeps_it(door: Door) -> None:
    spoken = speech_of("build-flow", "STATUS_UPDATE", "own-1")
    receipt = door.bus.send(spoken.raw, sender=spoken.sender, to=None)
    assert (receipt.id, receipt.accepted) == ("own-1", True), receipt.findings


# --- receiving --------------------------------------------------------------------------------------------------------


@proves("surfaces/lease")
def test_what_one_holds_no_other_is_given(door: Door) -> None:
    note(door)
    leased = take(door)
    assert leased.attempt == 1
    assert door.bus.receive("lead") == []
    assert state(door, "n-1") == "leased"


@proves("surfaces/acked-twice")
def test_acking_twice_is_as_well_and_says_so(door: Door) -> None:
    note(door)
    token = take(door).token
    assert (door.bus.ack(token, agent="lead"), door.bus.ack(token, agent="lead")) == (True, False)


@proves("surfaces/send-ack")
def test_a_reply_with_a_token_acks_the_lease_or_is_not_stored(wide_door: Door) -> None:
    note(wide_door)
    token = take(wide_door).token
    with pytest.raises(LeaseLost):
        wide_door.bus.send(NOTE, sender="qa", to="dev", id="r-0", ack=token)
    assert wide_door.bus.send(NOTE, sender="lead", to="dev", id="r-1", ack=token).accepted
    assert wide_door.bus.send(NOTE, sender="lead", to="dev", id="r-1", ack=token).duplicate
    with pytest.raises(LeaseLost):
        wide_door.bus.send("Another.", sender="lead", to="dev", ack=token)
    assert state(wide_door, "n-1") == "acked"
    assert [message.id for _, message in wide_door.bus.inbox("dev")] == ["r-1"]


@proves("surfaces/late-ack")
def test_an_ack_after_the_lease_expired_counts_while_nobody_else_has_the_message(door: Door) -> None:
    note(door)
    token = take(door, lease=10.0).token
    door.leap(11.0)
    assert state(door, "n-1") == "stored"
    assert door.bus.ack(token, agent="lead")
    assert state(door, "n-1") == "acked"


@proves("surfaces/lease-lost")
def test_an_ack_after_the_message_was_offered_again_is_refused(door: Door) -> None:
    note(door)
    token = take(door, lease=10.0).token
    door.leap(10.0 + BACKOFF_SECONDS)
    take(door)
    with pytest.raises(LeaseLost) as lost:
        door.bus.ack(token, agent="lead")
    assert lost.value.code == "lease-lost"
    assert "drop the work" in lost.value.say


@proves("surfaces/dead")
def test_what_is_given_back_waits_longer_each_time_and_is_dead_in_the_end(door: Door) -> None:
    note(door)
    for attempt in (1, 2):
        leased = take(door)
        assert leased.attempt == attempt
        given = door.bus.nack(leased.token, agent="lead", reason="no table")
        assert given.state == "stored"
        assert door.bus.receive("lead") == []
        door.leap(BACKOFF_SECONDS)
    assert door.bus.nack(take(door).token, agent="lead", reason="no table").state == "dead"
    assert state(door, "n-1") == "dead"
    assert "n-1" in take(door, "dev").raw.decode()  # its sender is told


@proves("surfaces/extend")
def test_a_lease_that_was_extended_holds(door: Door) -> None:
    note(door)
    leased = take(door, lease=10.0)
    assert door.bus.extend(leased.token, agent="lead", seconds=100.0) > leased.until + 50.0
    door.leap(50.0)
    assert door.bus.ack(leased.token, agent="lead") is True


@proves("surfaces/wait")
def test_whoever_waits_is_given_what_comes(door: Door) -> None:
    door.bus.receive("lead")

    with meanwhile(door, lambda bus: bus.send(NOTE, sender="dev", to="lead", id="n-1")):
        [leased] = door.bus.receive("lead", wait=30.0)
    assert leased.message.id == "n-1"
    assert door.bus.receive("lead", wait=0.05) == []


@proves("surfaces/newcomer")
def test_an_agent_with_a_name_of_its_own_sends_plain_text_and_nothing_that_needs_a_role(door: Door) -> None:
    blocker = {"type": "dev_blocker", "task": "1-1", "plan_id": "1-01", "blocker": "red", "needs": "green"}
    refused = door.bus.send(blocker, sender="backend", to="lead", check=False)
    assert (refused.accepted, [one.code for one in refused.findings]) == (False, ["role-may-not-send"])
    assert door.bus.roster() == []  # a refused message adds no member
    assert door.bus.send(NOTE, sender="backend", to="lead").accepted
    assert [one.message.sender for one in door.bus.receive("lead")] == ["backend"]


@proves("surfaces/errors")
def test_what_cannot_be_is_the_same_error_with_the_same_code(door: Door) -> None:
    with pytest.raises(NotFound):
        door.bus.why("no-such")
    with pytest.raises(NotFound):
        door.bus.ack("nonsense", agent="lead")
    with pytest.raises(NotAMember) as unknown:
        door.bus.receive("xyzzy", role="wizard")
    assert unknown.value.code == "role-unknown"
    with pytest.raises(InvalidValue):
        door.bus.receive("lead", limit=0)


# --- asking -----------------------------------------------------------------------------------------------------------


@proves("surfaces/request")
def test_a_request_comes_back_with_its_reply_leased_to_whoever_asked(wide_door: Door) -> None:
    def reply(bus: Any) -> None:
        [asked] = bus.receive("lead", wait=30.0)
        assert bus.send("No.", sender="lead", to="dev", reply_to=asked.message.id).accepted
        bus.ack(asked.token, agent="lead")

    with meanwhile(wide_door, reply):
        answer = wide_door.bus.request("Is it green?", sender="dev", to="lead", id="q-1", timeout=30.0)
    assert isinstance(answer, LeasedMessage)
    assert (answer.raw, answer.message.reply_to) == (b"No.", "q-1")
    assert wide_door.bus.ack(answer.token, agent="dev")


@proves("surfaces/request-timed-out")
def test_a_request_that_nobody_answers_says_so_and_goes_on(wide_door: Door) -> None:
    with pytest.raises(RequestTimedOut) as late:
        wide_door.bus.request("Is it green?", sender="dev", to="lead", id="q-1", timeout=0.1)
    assert (late.value.id, late.value.code) == ("q-1", "request-timed-out")
    assert take(wide_door).message.id == "q-1"
    with pytest.raises(Refused) as refused:
        wide_door.bus.request("Is it green?", sender="dev", to="laed", timeout=0.1)
    assert codes(refused.value.findings) == ["recipient-unknown"]


# --- the record -------------------------------------------------------------------------------------------------------


@proves("surfaces/why")
def test_the_story_of_a_message_is_told_whole(door: Door) -> None:
    note(door, correlation="c-1")
    door.bus.ack(take(door).token, agent="lead")
    [story] = door.bus.why("n-1")
    assert [event.kind for event in story.events] == ["accepted", "leased", "acked"]
    assert (story.state, story.message.correlation, story.message.raw) == ("acked", "c-1", NOTE.encode())
    assert [delivery.holder for delivery in story.deliveries] == ["lead"]


@proves("surfaces/search")
def test_what_was_said_is_found_by_its_words_and_by_its_conversation(wide_door: Door) -> None:
    note(wide_door, "n-1", text="The parser is broken.", correlation="c-1")
    note(wide_door, "n-2", text="The lexer is fine.", correlation="c-1")
    assert [one.id for one in wide_door.bus.search("parser")] == ["n-1"]
    assert [one.message.id for one in wide_door.bus.trace("c-1")] == ["n-1", "n-2"]
    assert wide_door.bus.read("n-2", agent="lead").raw == b"The lexer is fine."
    assert [message.id for _, message in wide_door.bus.inbox("lead")] == ["n-1", "n-2"]


@proves("surfaces/settled")
def test_one_can_wait_until_a_message_is_acked(wide_door: Door) -> None:
    note(wide_door)

    def ack(bus: Any) -> None:
        [leased] = bus.receive("lead", wait=30.0)
        bus.ack(leased.token, agent="lead")

    with meanwhile(wide_door, ack):
        story = wide_door.bus.settled("n-1", sender="dev", until="acked", timeout=30.0)
    assert story.state == "acked"


@proves("surfaces/events")
def test_events_are_followed_from_the_past_into_the_future_and_missed_by_nobody(wide_door: Door) -> None:
    note(wide_door, "n-1")
    seen: list[tuple[str, str | None]] = []

    def follow(bus: Any) -> None:
        for event, message in bus.events(Query(kinds=("accepted",)), follow=True):
            seen.append((event.kind, message.id if message else None))
            if len(seen) == 3:
                return

    with meanwhile(wide_door, follow):
        note(wide_door, "n-2", text="one \u2028 line")
        note(wide_door, "n-3")
    assert seen == [("accepted", "n-1"), ("accepted", "n-2"), ("accepted", "n-3")]
    newest = next(iter(wide_door.bus.events(Query(newest_first=True))))
    assert newest[1].id == "n-3"
