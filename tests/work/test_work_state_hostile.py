"""Can anybody get into the way of another's matters: by its ids, by names that look alike, or by being quick?"""

import json
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.errors import NotAMember
from telex.model.contracts import ContractIndex, PlanSummary
from telex.ports.bus import Receipt
from telex.stores.doctor import ReadOnlyConnection, wrong_topics
from telex.work.snapshots import decode_snapshot, encode_snapshot
from tests.bus.bus_team import Shell, Team, codes, flow, open_team, shell, speech_of, team
from tests.bus.shutdown_kit import agrees, joined, request
from tests.proofs import proves
from tests.work.contract_team import contract, kept, report, send

__all__ = ["open_team", "shell", "team"]
LONG = "x" * 100_000


@proves("work/after-shutdown")
def test_who_has_shut_down_is_heard_no_more_though_another_process_has_not_looked_since(team: Team) -> None:
    joined(team, "ada", "kim")
    request(team)
    other = team.other()  # its clock stands still, so that for all it knows nothing has happened since
    assert other.send("Busy.", sender="ada", to="lead").accepted
    assert other.send("For you.", sender="lead", to="kim").accepted
    agrees(team, "ada", "stop-1")
    for words in ("And another thing.", report()):
        late = other.send(words, sender="ada", to="lead", check=False)
        assert (late.accepted, codes(late.findings)) == (False, ["sender-has-shut-down"])
    assert other.send("Busy.", sender="kim", to="lead").accepted


@proves("work/after-shutdown")
def test_nothing_is_leased_to_an_agent_that_shuts_down_in_that_moment(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that leases has read the roster just before."""
    joined(team, "ada", "kim")
    request(team)
    other = team.other()
    assert [one.message.id for one in other.receive("ada")] == ["stop-1"]
    team.note("For any of you.", sender="lead", to="role:dev")
    store: Any = other._bus.store
    lease = store.lease

    async def late(*args: Any) -> Any:
        monkeypatch.undo()
        agrees(team, "ada", "stop-1")
        return await lease(*args)

    monkeypatch.setattr(store, "lease", late)
    assert other.receive("ada") == []
    with pytest.raises(NotAMember):
        other.receive("ada")
    assert len(other.receive("kim", limit=9)) == 2


def escalation(team: Team, id_: str, sender: str, to: str, issue: str) -> Receipt:
    said = speech_of("vbw-company", "escalation", **{"from": sender, "to": to, "issue": issue})
    return team.bus.send(said.raw, sender=sender, to=to, id=id_, check=False)


@proves("work/foreign-ids")
def test_nobody_puts_a_matter_in_the_place_of_another(team: Team) -> None:
    assert escalation(team, "e-1", "dev", "senior", "first").accepted
    second = escalation(team, "e-1", "security", "lead", "second")
    assert codes(second.findings) == ["id-reused"]
    team.later(301.0)
    [matter] = team.bus.escalations()
    assert (matter.by, matter.reason, len(matter.rungs)) == ("dev", "first", 2)
    climb = matter.now.id
    assert codes(escalation(team, climb, "security", "lead", "third").findings) == ["id-reused"]


@proves("work/foreign-ids")
def test_nobody_asks_to_shut_down_under_the_id_of_another(team: Team) -> None:
    joined(team, "ada", "kim")
    request(team, to="ada")
    said = speech_of("vbw-typed", "shutdown_request", "stop-1")
    assert codes(team.bus.send(said.raw, sender="boss", role="lead", to="kim", check=False).findings) == ["id-reused"]
    agrees(team, "ada", "stop-1")


def blocker(plan: str, task: str, id_: str) -> Any:
    tree = speech_of("vbw-typed", "blocker_report", id_).tree
    return tree | {"payload": tree["payload"] | {"plan_id": plan, "task_id": task}}


@proves("work/names")
def test_names_that_run_together_stay_apart(team: Team) -> None:
    pairs = [("a", "b/c"), ("a/b", "c"), ("a%2Fb", "c"), ("a%252Fb", "c"), ("", "a/b/c"), ("a:b", "c")]
    for number, (plan, task) in enumerate(pairs):
        assert team.bus.send(blocker(plan, task, f"b-{number}"), sender="dev", to="lead").accepted
    assert sorted((one.plan, one.task) for one in team.bus.work_state("blocker").values()) == sorted(pairs)
    assert len(team.bus.stall().waits) == len(pairs)


@proves("work/names")
def test_one_long_name_does_not_push_a_table_aside(team: Team, shell: Shell) -> None:
    kept(team, contract("P"))
    kept(team, contract(LONG))
    team.bus.send(flow("TASK_ASSIGNMENT", "t-1", "lead", "dev", LONG), sender="lead", to="dev")
    team.bus.send(flow("TASK_ASSIGNMENT", "t-2", "lead", "dev", "T"), sender="lead", to="dev")
    for words in (("contract", "list"), ("task", "list")):
        ran = shell(*words)
        assert LONG in ran.out
        assert len(ran.out) < len(LONG) + 2_000


@proves("work/names")
def test_a_plan_that_waits_for_thousands_is_no_work_to_look_at(team: Team) -> None:
    """Each wait once brought along the whole contract, and each finding was told."""
    kept(team, contract("P", depends_on=[f"D{number}" for number in range(20_000)]))
    stall = team.bus.stall()
    assert len(stall.waits) == 20_000
    assert sum(len(json.dumps(wait.remedy)) for wait in stall.waits) < 20_000_000
    assert stall.waits[-1].remedy is not None
    assert stall.waits[-1].remedy.command == "telex send --as human --to lead -"
    assert len(send(team, report("P")).findings) <= team.settings.limits.findings_max


@proves("work/snapshot")
@given(data=st.data())
def test_a_snapshot_that_was_harmed_is_taken_for_nothing_wherever_that_was(data: st.DataObject) -> None:
    """A letter changed, a piece lost, or put to another message or topic."""
    state = ContractIndex({"P": PlanSummary(("dev",), "lead", ("T1", "T2"))}, {}, {"T1": ("P",)}, {}, {"p": "P"})
    topic, seq, words = "contracts", 9, encode_snapshot("contracts", 9, state)
    place = data.draw(st.integers(0, len(words) - 1))
    letter = data.draw(st.sampled_from('[]{}",:0a1enul').filter(lambda one: one != words[place]))
    harmed = data.draw(
        st.sampled_from(
            [
                (topic, seq, words[:place] + letter + words[place + 1 :]),
                (topic, seq, words[:place]),
                (topic, seq, words[place + 1 :]),
                (topic, data.draw(st.integers().filter(lambda one: one != seq)), words),
                ("plan:P", seq, words),
            ]
        )
    )
    assert decode_snapshot(topic, seq, words) == state
    with pytest.raises(ValueError, match="checksum"):
        decode_snapshot(*harmed)


@proves("work/snapshot")
def test_the_book_does_without_harmed_snapshots(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telex.bus.context.LONG", 2)
    for number in range(5):
        kept(team, contract("P", objective=f"{number}"))
    book = team.other().work_state("plan")  # folded at once, and written down
    for harm in ("seq = 1000000", "words = replace(words, 'lead', 'dev')", "words = ''"):
        file = apsw.Connection(str(team.path))
        assert file.execute("SELECT count(*) FROM snapshots").fetchall() != [(0,)]
        file.execute(f"UPDATE snapshots SET {harm}")
        file.close()
        other = team.other()
        assert other.work_state("plan") == book
        assert other.send(report("P"), sender="dev", to="lead").accepted


@proves("work/log")
def test_what_the_bus_says_by_itself_is_indexed_as_the_log_has_it(team: Team) -> None:
    """It follows from a message about something else, whose matters do not tell where it belongs."""
    for task in ("T-1", "T-2"):
        for number in range(3):
            words = {"taskId": task, "status": "FAILED", "details": "no table"}
            raw = flow("STATUS_UPDATE", f"{task}-{number}", "dev", "lead", task, payload=words)
            assert team.bus.send(raw, sender="dev", to="lead").accepted
    assert len(team.bus.escalations()) == 2
    file = ReadOnlyConnection(str(team.path))
    assert wrong_topics(file)[1] == []
    file.close()
