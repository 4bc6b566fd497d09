"""What happens where two rules of the bus meet?"""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import telex
from telex.bus import run_sync
from telex.client import SyncBus
from telex.clock import SteadyClock
from telex.config import Settings
from telex.delivery import lifecycle
from telex.errors import InvalidValue, NotFound, RequestFailed, RequestTimedOut, StoreUnavailable
from telex.model.limits import LIMITS
from telex.model.message import NewMessage
from telex.model.roster import Member
from telex.ports.store import get_delivery, settle
from telex.stores.group_commit import GroupCommit
from tests.bus.bus_team import OpenTeam, Team, codes, flow, join_refused
from tests.stores.store_kit import before_next_transaction

CTO, DEV, OTHER = "cto", "fullstack-developer", "build-orchestrator"


def test_a_repetition_is_acknowledged_though_its_recipient_has_left_since(team: Team) -> None:
    team.bus.join("ada", role="qa")
    first = team.bus.send("Look here.", sender="dev", to="ada", id="n-1")
    team.bus.leave("ada")
    again = team.bus.send("Look here.", sender="dev", to="ada", id="n-1")
    assert (first.accepted, again.accepted, again.duplicate, again.state) == (True, True, True, "withdrawn")
    other = team.bus.send("Look there.", sender="dev", to="ada", id="n-1", check=False)
    assert [finding.code for finding in other.findings] == ["recipient-has-left"]


def test_an_answer_ends_only_the_request_of_the_one_it_goes_to(team: Team) -> None:
    for asker in (DEV, OTHER):
        assert team.bus.send(flow("DOC_QUERY", "ask-1", asker, CTO), sender=asker).accepted
    answer = flow("DOC_RESPONSE", "answer-1", CTO, DEV, replyTo="ask-1")
    assert team.bus.send(answer, sender=CTO).accepted
    waiting = {story.message.sender: story.answer_by is not None for story in team.bus.why("ask-1")}
    assert waiting == {DEV: False, OTHER: True}


def test_when_the_last_of_a_role_leaves_what_waits_for_the_role_is_taken_back(open_team: OpenTeam) -> None:
    members = (Member("ada", "qa", declared=True), Member("dev", "dev", declared=True))
    closed = open_team(members=members)
    closed.bus.join("ada")
    kept = closed.bus.send("Look here.", sender="dev", to="role:qa")
    assert closed.bus.leave("ada") == 1
    assert closed.story(kept.id).state == "withdrawn"
    assert "has left" in closed.take("dev").message.raw.decode()


def test_a_request_is_answered_from_the_askers_own_inbox_though_another_used_its_id(team: Team) -> None:
    team.bus.send(flow("DOC_QUERY", "q-1", DEV, CTO), sender=DEV)
    team.bus.send(flow("DOC_QUERY", "q-1", OTHER, CTO), sender=OTHER)
    team.bus.send(flow("DOC_RESPONSE", "to-other", CTO, OTHER, replyTo="q-1"), sender=CTO)
    with pytest.raises(RequestTimedOut):
        team.bus.request(flow("DOC_QUERY", "q-1", DEV, CTO), sender=DEV, timeout=2.0)
    assert team.inbox(OTHER) == ["to-other"]


@pytest.mark.parametrize("sender, to", [("scout", "docs"), ("dev", "qa")], ids=["to somebody else", "by the asker"])
def test_only_what_comes_back_to_the_asker_from_another_is_an_answer(team: Team, sender: str, to: str) -> None:
    team.bus.send(flow("DOC_QUERY", "q-1", "dev", "qa"), sender="dev")
    team.bus.send("About q-1.", sender=sender, to=to, reply_to="q-1")
    assert team.story("q-1").answer_by is not None
    team.bus.send("Yes.", sender="qa", to="dev", reply_to="q-1")
    assert team.story("q-1").answer_by is None


def test_a_request_that_was_given_up_is_told_as_such_and_not_answered_by_the_bus_itself(team: Team) -> None:
    team.bus.join("ada", role="qa")
    team.bus.send("Ship it?", sender="dev", to="ada", id="q-1")
    team.bus.leave("ada")
    with pytest.raises(RequestFailed):
        team.bus.request("Ship it?", sender="dev", to="ada", id="q-1", timeout=5.0)


def test_waiting_for_an_ack_is_not_ended_by_a_refused_message_of_the_same_id(team: Team) -> None:
    team.bus.send("One.", sender="dev", to="lead", id="x")
    assert not team.bus.send("Two.", sender="dev", to="lead", id="x", check=False).accepted
    story = team.bus.settled("x", sender="dev", until="acked", timeout=1.0)
    assert (story.state, story.message.raw) == ("stored", b"One.")


def test_what_was_imported_is_not_taken_for_sent(team: Team, open_team: OpenTeam) -> None:
    sent = team.bus.send("One.", sender="dev", to="lead", id="x")
    [story] = team.bus.why("x")
    fields = {name: getattr(story.message, name) for name in NewMessage._fields if hasattr(story.message, name)}
    with telex.connect("memory:") as there:
        assert [one.outcome for one in there.import_messages([NewMessage(**fields)] * 2)] == ["stored", "duplicate"]
        again = there.send("One.", sender="dev", to="lead", id="x")
        assert (sent.accepted, again.accepted, again.duplicate) == (True, True, False)
        assert [leased.message.raw for leased in there.receive("lead")] == [b"One."]


def test_a_message_from_a_clock_ahead_is_offered_at_once(team: Team) -> None:
    reader = team.other()
    reader.receive("lead")
    ahead = team.clock.now() + 3600.0
    with telex.connect(team.path, clock=SteadyClock(lambda: ahead, lambda: 0.0)) as sender:
        sender.send("Now.", sender="dev", to="lead")
    assert [leased.message.raw for leased in reader.receive("lead")] == [b"Now."]


def test_half_a_character_in_a_message_is_refused_and_kept(team: Team) -> None:
    raw = rb'{"type": "dev_blocker", "task": "a\ud800", "plan_id": "P", "blocker": "b", "needs": "c"}'
    receipt = team.bus.send(raw, sender="dev", to="lead", check=False)
    assert "lone-surrogate" in [finding.code for finding in receipt.findings]
    assert team.story(receipt.id).message.raw == raw


@pytest.mark.parametrize(
    "ask",
    [
        lambda bus: bus.receive("lead", lease=0.0),
        lambda bus: bus.receive("lead", lease=float("nan")),
        lambda bus: bus.receive("lead", wait=float("nan")),
        lambda bus: bus.receive("lead", wait=float("inf")),
        lambda bus: bus.receive("lead", limit=0),
        lambda bus: bus.inbox("lead", limit=-1),
        lambda bus: bus.request("Hm?", sender="dev", to="lead", timeout=float("inf")),
    ],
)
def test_a_number_that_makes_no_sense_is_turned_away_at_the_door(team: Team, ask: Callable[[SyncBus], object]) -> None:
    with pytest.raises(InvalidValue):
        ask(team.bus)


def test_a_reason_without_end_is_cut_short(team: Team) -> None:
    note = team.note()
    team.bus.nack(team.take().token, agent="lead", reason="x" * 100_000)
    [failed] = [event for event in team.story(note).events if event.kind == "nacked"]
    assert len(failed.detail or "") < 3_000


def test_a_bus_that_was_closed_says_so(team: Team) -> None:
    other = team.other()
    other.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        other.send("Hello.", sender="dev", to="lead")
    with pytest.raises(StoreUnavailable, match="closed"):
        other.why("x")


def test_a_bus_belongs_to_its_thread(team: Team) -> None:
    caught: list[BaseException] = []

    def elsewhere() -> None:
        try:
            team.bus.send("Hello.", sender="dev", to="lead")
        except StoreUnavailable as error:
            caught.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert len(caught) == 1


def test_a_dead_letter_of_somebody_who_has_left_is_not_put_back(team: Team) -> None:
    team.bus.join("ada", role="qa")
    note = team.note(to="ada")
    team.fail("ada")
    team.bus.leave("ada")
    with pytest.raises(NotFound, match="has left"):
        team.bus.retry(note)


def test_a_recipient_who_has_left_by_the_moment_of_storing_gets_nothing(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.bus.join("ada", role="qa")
    sender = team.other()
    assert sender.send("One.", sender="dev", to="ada").accepted
    before_next_transaction(monkeypatch, sender._bus.store, lambda: team.bus.leave("ada"))
    late = sender.send("Two.", sender="dev", to="ada", check=False)
    assert (late.accepted, codes(late.findings)) == (False, ["recipient-has-left"])


def test_two_who_join_under_one_name_in_one_moment_are_not_both_told_yes(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, first = team.other(), list[Member]()
    before_next_transaction(monkeypatch, other._bus.store, lambda: first.append(team.bus.join("ada", role="qa")))
    assert join_refused(other, "ada", role="lead").code == "role-differs"
    assert first[0].role == "qa"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_receive_that_is_cancelled_leases_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    """Cancelled in the turn in which its lease is written: before that, or after it and before the reader has it."""
    real = GroupCommit._flush

    async def run() -> list[tuple[str, int]]:
        async with telex.connect(tmp_path / "team.db", settings=Settings()) as bus:
            await bus.receive("lead")
            await bus.send("Look here.", sender="dev", to="lead")
            task = asyncio.ensure_future(bus.receive("lead"))

            def flush(group: GroupCommit) -> None:
                if when == "after":
                    real(group)
                task.cancel()
                if when == "before":
                    real(group)

            monkeypatch.setattr(GroupCommit, "_flush", flush)
            [end] = await asyncio.gather(task, return_exceptions=True)
            assert isinstance(end, asyncio.CancelledError)
            monkeypatch.setattr(GroupCommit, "_flush", real)
            return [(delivery.state, delivery.attempts) for delivery, _ in await bus.inbox("lead")]

    assert asyncio.run(run()) == [("stored", 0)]


def test_an_extension_stands_though_the_lapse_was_decided_just_before_it(team: Team) -> None:
    """Somebody else sweeps: it has seen the lease run out, and settles it after the holder was given more time."""
    team.note()
    leased, store = team.take(), team.bus._bus.store
    seen = run_sync(store.read(get_delivery, leased.delivery))
    assert seen is not None
    lapse = lifecycle.lapsed(seen, leased.until + 1.0, LIMITS)
    team.bus.extend(leased.token, agent="lead", seconds=600.0)
    [settled] = run_sync(settle(store, [lapse]))
    assert not settled.done
    assert team.bus.ack(leased.token, agent="lead")
