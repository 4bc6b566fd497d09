"""What does the record tell, to whom, and how does it leave? The log, its filters, following it, traces, export."""

import json

import pytest

from telex.model.message import BRINGING
from telex.ports.store import Query
from tests.bus_team import NOTE, Shell, Team, flow, open_team, shell, team
from tests.proofs import proves

__all__ = ["open_team", "shell", "team"]


@proves("bus/log/record")
def test_the_log_has_a_record_of_each_message_sent_and_of_each_turn_with_it(team: Team, shell: Shell) -> None:
    raw = flow("STATUS_UPDATE", "s-1", "cto", "plan-manager")
    team.bus.send(raw, sender="cto")
    lease = team.take("plan-manager")
    team.later(1.5)
    team.bus.nack(lease.token, agent="plan-manager", reason="no table")
    lease = team.take("plan-manager", wait=10.0)
    team.later(0.25)
    team.bus.ack(lease.token, agent="plan-manager")
    team.bus.send(flow("STATUS_UPDATE", "s-2", "cto", "plan-manger"), sender="cto")
    lines = shell("log", "--json").answers
    assert [(line["direction"], line["agent"], line["result"], line["id"]) for line in lines] == [
        ("SENT", "cto", "SUCCESS", "s-1"),
        ("RECEIVED", "plan-manager", "ERROR", "s-1"),
        ("RECEIVED", "plan-manager", "SUCCESS", "s-1"),
        ("SENT", "cto", "ERROR", "s-2"),
    ]
    assert [line["processingTime"] for line in lines] == [0.0, 1500.0, 250.0, 0.0]
    assert [one["message"] for one in lines[:3]] == [json.loads(raw)] * 3
    assert lines[0]["timestamp"] == "2026-01-01T00:00:00.000Z"
    assert (lines[1]["reason"], lines[3]["reason"]) == ("no table", "recipient-unknown")


@proves("bus/log/filter")
@pytest.mark.parametrize(
    "query, ids",
    [
        (Query(agent="qa"), ["n-1"]),
        (Query(agent="plan-manager"), ["s-1"]),
        (Query(type="STATUS_UPDATE"), ["s-1"]),
        (Query(dialect="plain"), ["n-1", "n-2"]),
        (Query(correlation="TASK-001"), ["s-1"]),
        (Query(text="tables green"), ["n-2"]),
    ],
    ids=["sender", "recipient", "type", "dialect", "correlation", "text"],
)
def test_the_record_is_searched_by_agent_type_dialect_conversation_and_words(
    team: Team, query: Query, ids: list[str]
) -> None:
    team.note("The build is red.", sender="qa", id="n-1")
    team.bus.send(flow("STATUS_UPDATE", "s-1", "cto", "plan-manager"), sender="cto")
    team.note("All tables are green.", id="n-2")
    found = team.bus.events(query._replace(kinds=("accepted",)))
    assert [message.id for _, message in found if message] == ids


@proves("bus/log/filter")
def test_the_record_is_searched_by_time(team: Team) -> None:
    ids = []
    for _ in range(4):
        ids.append(team.note())
        team.later(10.0)
    began = team.clock.now() - 40.0
    between = Query(kinds=("accepted",), since=began + 10.0, until=began + 20.0)
    assert [message.id for _, message in team.bus.events(between) if message] == ids[1:3]


@proves("bus/log/export")
def test_a_record_taken_out_and_in_again_has_every_message_to_the_byte(team: Team, shell: Shell) -> None:
    sent = [b"The build is red.", b"\xff\xfe\x00", b"\xef\xbb\xbf{}\r\n", flow("DOC_QUERY", "q", "cto", "plan-manager")]
    for raw in sent:
        team.bus.send(raw, sender="cto", to="plan-manager")
    assert shell("log", "--export", "record.jsonl").code == 0
    team.path = team.path.with_name("another.db")
    assert shell("log", "--import", "record.jsonl", "--json").answer == {"messages": 4, "new": 4}
    there = team.other()
    assert [message.raw for _, message in there.events(Query(kinds=BRINGING)) if message] == sent
    assert there.receive("plan-manager") == []  # history is delivered to nobody


@proves("bus/log/follow")
def test_who_follows_the_record_sees_what_comes_next(team: Team) -> None:
    began, other = team.clock.now(), team.other()
    team.note(id="n-1")

    def meanwhile() -> None:
        if team.clock.now() >= began + 5.0:
            team.clock.meanwhile = None
            other.send(NOTE, sender="dev", to="lead", id="n-2")

    team.clock.meanwhile = meanwhile
    followed = team.bus.events(Query(kinds=("accepted",)), follow=True, wait=10.0)
    assert [message.id for _, message in followed if message] == ["n-1", "n-2"]
    assert team.clock.now() >= began + 15.0


@proves("bus/log/search")
def test_everything_kept_is_found_by_its_words_newest_first(team: Team) -> None:
    first, _, third = team.note("The build is red."), team.note("All is well."), team.note("A red build, again.")
    refused = team.bus.send('{"type": "no_such", "build": "red"}', sender="dev", to="lead").id
    assert [message.id for message in team.bus.search("red build")] == [refused, third, first]
    assert team.bus.search("blue build") == []


@proves("bus/log/trace")
@pytest.mark.parametrize("form", ["tree", "sequence", "mermaid", "svg"])
def test_a_conversation_is_shown_in_every_form_there_is(team: Team, shell: Shell, form: str) -> None:
    question = flow("VALIDATION_REQUEST", "q-1", "fullstack-developer", "cto")
    answer = flow("VALIDATION_RESPONSE", "a-1", "cto", "fullstack-developer", replyTo="q-1")
    team.bus.send(question, sender="fullstack-developer")
    team.taken("cto")
    team.bus.send(answer, sender="cto")
    ran = shell("trace", "TASK-001", "--as", form)
    assert ran.code == 0
    for word in ("VALIDATION_REQUEST", "VALIDATION_RESPONSE", "cto", "fullstack-developer"):
        assert word in ran.out
