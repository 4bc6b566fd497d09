"""Can anybody ask what became of a message, and get the truth? Receipts, stories, waiting for an ack."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from telex.errors import NotFound
from telex.model.finding import refusals
from telex.model.message import MEANINGS, STATES
from tests.bus.bus_team import NOTE, Shell, Team, flow
from tests.proofs import proves


def written(team: Team, text: str = NOTE) -> str:
    Path(team.path.parent, "note.md").write_text(text, encoding="utf-8")
    return "note.md"


# --- receipts ---------------------------------------------------------------------------------------------------------


def become_leased(team: Team, id_: str) -> None:
    team.take()


def become_read(team: Team, id_: str) -> None:
    team.bus.read(id_, agent="lead")


def become_acked(team: Team, id_: str) -> None:
    team.taken()


def become_dead(team: Team, id_: str) -> None:
    team.fail()


def become_withdrawn(team: Team, id_: str) -> None:
    team.bus.join("lead")
    team.bus.leave("lead")


BECOME: dict[str, Callable[[Team, str], None]] = {
    "stored": lambda team, id_: None,
    "leased": become_leased,
    "read": become_read,
    "acked": become_acked,
    "dead": become_dead,
    "withdrawn": become_withdrawn,
}


@proves("bus/receipt/one-state")
@pytest.mark.parametrize("state", BECOME)
def test_a_message_has_one_state_and_every_door_has_the_same_word_for_it(team: Team, shell: Shell, state: str) -> None:
    id_ = team.note(id="n-1")
    BECOME[state](team, id_)
    said = [team.story(id_).state, *(shell(verb, id_, "--json").answer["state"] for verb in ("why", "show"))]
    assert said == [state] * 3
    if state != "withdrawn":  # whoever repeats it is told as well, unless its recipient has left
        assert team.bus.send(NOTE, sender="dev", to="lead", id="n-1").state == state


@proves("bus/receipt/one-state")
def test_a_refused_and_an_expired_message_have_their_words_too(team: Team, shell: Shell) -> None:
    refused = team.bus.send(b" ", sender="dev", to="lead", check=False).id
    team.bus.send(flow("DOC_QUERY", "q-1", "cto", "plan-manager"), sender="cto")
    for _ in range(3):
        team.later(400.0)
    for id_, state in ((refused, "refused"), ("q-1", "expired")):
        assert team.story(id_).state == shell("why", id_, "--json").answer["state"] == state


@proves("bus/receipt/one-state")
def test_every_state_says_what_it_means() -> None:
    assert list(MEANINGS) == list(STATES)


@proves("bus/receipt/several-inboxes")
def test_the_state_of_a_broadcast_is_told_by_what_is_still_open(team: Team) -> None:
    for name in ("ada", "bob"):
        team.bus.join(name, role="qa")
    id_ = team.note(to="all:qa")
    seen = [team.story(id_).state]
    team.taken("ada")
    seen.append(team.story(id_).state)
    team.take("bob")
    seen.append(team.story(id_).state)
    team.later(60.0)
    team.fail("bob")
    assert [*seen, team.story(id_).state] == ["stored", "stored", "leased", "dead"]


@proves("bus/receipt/story")
def test_a_story_tells_everything_in_order_with_its_time(team: Team, shell: Shell) -> None:
    began = team.clock.now()
    id_ = team.note(id="n-1")
    team.later(1.0)
    team.bus.read(id_, agent="lead")
    lease = team.take()
    team.later(10.0)
    team.bus.extend(lease.token, agent="lead")
    team.later(60.0)  # it lapses
    team.bus.nack(team.take(wait=10.0).token, agent="lead", reason="no table")
    team.taken(wait=10.0)
    story = team.story(id_)
    assert [(event.kind, round(event.at - began)) for event in story.events] == [
        ("accepted", 0), ("read", 1), ("leased", 1), ("extended", 11), ("lease-expired", 71),
        ("leased", 73), ("nacked", 73), ("leased", 77), ("acked", 77),
    ]  # fmt: skip
    details = [json.loads(event.detail or "{}") for event in story.events]
    assert (details[2]["until"], details[3]["until"]) == (began + 61, began + 71)
    assert (details[6]["reason"], round(details[6]["next"] - began)) == ("no table", 77)
    assert {one.agent for one in story.events[1:]} == {"lead"}
    told = shell("why", id_).out
    for word in (
        "accepted",
        "read",
        "offered 1×",
        "extended",
        "lease-expired",
        "offered 2×",
        "nacked",
        "no table",
        "acked",
    ):
        assert word in told


@proves("bus/receipt/story")
def test_the_end_of_a_story_tells_why(team: Team, shell: Shell) -> None:
    dead = team.note()
    team.fail(reason="no table")
    refused = team.bus.send(b" ", sender="dev", to="lead", check=False)
    assert "no table" in shell("why", dead).out
    assert refusals(refused.findings)[0].code in shell("why", refused.id).out


@proves("bus/receipt/unknown")
def test_what_nobody_has_sent_is_not_found(team: Team, shell: Shell) -> None:
    with pytest.raises(NotFound):
        team.bus.why("n-1")
    assert shell("why", "n-1").code == 3


# --- waiting for the ack ----------------------------------------------------------------------------------------------


@proves("bus/receipt/wait-acked")
@pytest.mark.parametrize("until", ["acked", "leased", "read"])
def test_a_sender_may_wait_until_its_message_has_come_so_far(team: Team, shell: Shell, until: str) -> None:
    began, reader = team.clock.now(), team.other()

    def meanwhile() -> None:
        if team.clock.now() >= began + 5.0:
            team.clock.meanwhile = None
            [lease] = reader.receive("lead")
            assert reader.ack(lease.token, agent="lead")

    team.clock.meanwhile = meanwhile
    ran = shell("send", "--as", "dev", "--to", "lead", "--wait", until, "--timeout", "60", written(team))
    assert (ran.code, ran.err) == (0, "")
    assert f"{until} by lead after 5" in ran.out
    assert team.clock.now() < began + 6.0


@proves("bus/receipt/wait-in-vain")
@pytest.mark.parametrize("given, seconds", [(["--timeout", "7"], 7.0), ([], 60.0)])
def test_who_waits_in_vain_is_told_after_its_time_and_the_message_goes_on(
    team: Team, shell: Shell, given: list[str], seconds: float
) -> None:
    began = team.clock.now()
    ran = shell("send", "--as", "dev", "--to", "lead", "--id", "n-1", "--wait", "acked", *given, written(team))
    assert ran.code == 4
    assert seconds <= team.clock.now() - began < seconds + 0.1
    assert team.taken() == ["n-1"]


@proves("bus/receipt/wait-over")
def test_who_waits_for_what_cannot_come_any_more_is_told_at_once(team: Team, shell: Shell) -> None:
    team.bus.join("lead")
    reader, began = team.other(), team.clock.now()

    def meanwhile() -> None:
        team.clock.meanwhile = None
        reader.leave("lead")

    team.clock.meanwhile = meanwhile
    ran = shell("send", "--as", "dev", "--to", "lead", "--wait", "acked", "--timeout", "60", written(team))
    assert ran.code == 1
    assert "it is withdrawn" in ran.err
    assert team.clock.now() - began < 1.0
