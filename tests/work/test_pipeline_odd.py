"""What comes beside the way of a work: signals out of turn, other mail, forged ids, several works, and leavers."""

from collections.abc import Callable

from telex.bus import run_sync
from tests.bus.bus_team import OpenTeam, Team, codes, open_team, team
from tests.proofs import proves
from tests.work.pipeline_team import Crew, but, crew, dispatches, result, smooth, text_of

__all__ = ["crew", "open_team", "team"]  # fixtures


@proves("pipeline/late-signals")
def test_a_signal_out_of_turn_changes_nothing_and_its_sender_is_told(team: Team, crew: Callable[..., Crew]) -> None:
    story = crew()
    story.act("architect")
    story.turn()
    before = story.work()
    triage = result("triage_result", **smooth("W", "triage_result"))
    late = team.bus.send(triage, sender="architect", to="orchestrator", reply_to="W")
    wrong = team.bus.send(triage, sender="architect", to="orchestrator", reply_to="W.plan")
    for receipt in (late, wrong):
        assert receipt.accepted
        assert codes(receipt.findings) == []
        [finding] = [one for one in receipt.findings if one.code == "signal-out-of-turn"]
        assert (finding.severity, finding.path) == ("warning", "$.signal")
    after = story.work()
    assert (after.places, after.odd_count) == (before.places, 2)
    assert [one.message for one in after.odd] == [late.id, wrong.id]
    assert story.turn().sent == ()


@proves("pipeline/late-signals")
def test_whoever_answers_an_older_dispatch_is_told_which_one_is_open(team: Team, crew: Callable[..., Crew]) -> None:
    story = crew(W_plan={"wave_count": 1, "step_count": 1}, W_w1_s1_i0_audit={"signal": "fail"})
    while "W.w1.s1.i1" not in dispatches(team):
        story.agents()
        story.turn()
    receipt = team.bus.send(result("worker_submission"), sender="worker", to="orchestrator", reply_to="W.w1.s1.i0")
    assert receipt.findings[-1].expected == "one of W.w1.s1.i1"


@proves("pipeline/unnamed-result")
def test_a_result_that_names_no_dispatch_is_told_which_are_waited_for(team: Team, crew: Callable[..., Crew]) -> None:
    story, triage = crew(), result("triage_result", **smooth("W", "triage_result"))
    [taken] = team.bus.receive("architect")
    assert team.bus.ack(taken.token, agent="architect")  # so that it is no longer in its hands
    for named in (None, "X"):
        receipt = team.bus.send(triage, sender="architect", to="orchestrator", reply_to=named)
        [finding] = [one for one in receipt.findings if one.code == "signal-out-of-turn"]
        assert (receipt.accepted, finding.severity, finding.expected) == (True, "warning", "one of W")
    assert story.work().odd_count == 0
    heard = team.bus.send(triage, sender="architect", to="orchestrator", reply_to="W")
    assert [one.code for one in heard.findings if one.code == "signal-out-of-turn"] == []
    late = team.bus.send(triage, sender="architect", to="orchestrator")
    assert [one.code for one in late.findings if one.code == "signal-out-of-turn"] == []  # nothing waits for such a one


@proves("pipeline/from-log")
def test_a_signal_in_a_conversation_that_nobody_began_as_a_work_is_no_matter_of_the_book(team: Team) -> None:
    sent = team.bus.send(result("worker_submission"), sender="worker", to="orchestrator", correlation="elsewhere")
    assert sent.accepted
    assert team.bus.work_state("work") == {}
    assigned = team.bus.send(result("task_assignment", task=None), sender="orchestrator", to="worker", correlation="it")
    assert assigned.accepted
    assert team.bus.work_state("work") == {}


@proves("pipeline/several")
def test_several_works_go_on_at_once(team: Team, crew: Callable[..., Crew]) -> None:
    story = crew(W_w1_s2_i0={"signal": "blocked"})
    for name in ("X", "Y"):
        story.start(name)
    story.play()
    states = {id_: work.state for id_, work in run_sync(story.orchestrator.works()).items()}
    assert states == {"W": "blocked", "X": "done", "Y": "done"}
    assert len(dispatches(team, "X")) == len(dispatches(team, "Y")) == 14


@proves("pipeline/text-result")
def test_text_in_reply_to_a_dispatch_is_no_result_and_its_sender_is_warned(
    team: Team, crew: Callable[..., Crew]
) -> None:
    story = crew()
    story.act("architect")
    story.turn()
    receipt = team.bus.send("The plan is ready.", sender="architect", to="orchestrator", reply_to="W.plan")
    assert [(finding.code, finding.expected) for finding in receipt.findings] == [
        ("dispatch-not-answered", "plan_result")
    ]
    late = team.bus.send("And the triage?", sender="architect", to="orchestrator", reply_to="W")
    own = team.bus.send("How far is it?", sender="orchestrator", to="architect", reply_to="W.plan")
    assert (late.findings, own.findings) == ((), ())


@proves("pipeline/other-messages")
def test_other_mail_is_handed_on(team: Team, crew: Callable[..., Crew]) -> None:
    story = crew()
    note = team.note("Who does the migration?", to="orchestrator")
    lost = team.bus.send(result("worker_submission"), sender="worker", to="orchestrator")
    turn = story.turn()
    assert {message.id for message in turn.handed_on} == {note, lost.id}
    assert team.inbox("human") == [f"{note}.handed-on"]
    assert team.inbox("worker") == [f"{lost.id}.handed-on"]
    assert "reply-to" in text_of(team, f"{lost.id}.handed-on")
    assert team.inbox("orchestrator") == []


@proves("pipeline/forged")
def test_the_id_of_a_dispatch_does_not_make_one(team: Team, crew: Callable[..., Crew]) -> None:
    story = crew()
    team.note("LGTM, I looked at it myself.", sender="worker", to="reviewer", id="W.w1.s1.i0.review", correlation="W")
    story.play()
    assert dispatches(team).count("W.w1.s1.i0.review") == 1
    assert story.work().state == "done"


def test_a_maker_who_has_left_hands_its_step_to_another(open_team: OpenTeam) -> None:
    team = open_team()
    team.bus.join("ada", role="worker")
    story = Crew(team, but(smooth, W_plan={"wave_count": 1, "step_count": 1}, W_w1_s1_i0_audit={"signal": "fail"}))
    story.start()
    for role in ("architect", "architect"):
        story.turn()
        story.act(role)
    story.turn()
    [lease] = team.bus.receive("ada")
    team.bus.send(result("worker_submission"), sender="ada", to="orchestrator")  # it has only this in hand
    team.bus.ack(lease.token, agent="ada")
    team.bus.leave("ada")
    story.play()
    [refused, kept] = team.bus.why("W.w1.s1.i1")
    assert (refused.state, kept.message.to) == ("refused", "role:worker")
    assert story.work().state == "done"
