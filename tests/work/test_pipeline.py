"""Does a request find its way from triage to done by signals alone? Whole stories over the real bus."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.bus import run_sync
from telex.bus.orchestrator import Orchestrator
from telex.dialects.builtin.signal_md import SIGNAL_MD
from telex.dialects.write import write
from telex.errors import InvalidValue, NotFound
from telex.validation.check import check
from telex.work.signals import pending_dispatches, plan_step, question
from tests.bus.bus_team import OpenTeam, Team, open_team, team
from tests.proofs import proves
from tests.work.pipeline_team import REQUEST, Changes, Crew, crew, dispatches, fields_of, result, smooth, text_of

__all__ = ["crew", "open_team", "team"]  # fixtures


# --- triage, research, plan -------------------------------------------------------------------------------------------


@proves("pipeline/triage")
def test_a_triage_without_questions_goes_straight_to_the_plan(team: Team, crew: Callable[..., Crew]) -> None:
    story = crew()
    story.act("architect")
    assert [one.id for one in story.turn().sent] == ["W.plan"]
    assert team.story("W.plan").message.to == "architect"
    assert REQUEST in text_of(team, "W.plan")


@proves("pipeline/triage", "pipeline/research")
def test_each_question_is_asked_and_the_plan_waits_for_every_answer(team: Team, crew: Callable[..., Crew]) -> None:
    asks = {"research_needed": True, "research_count": 2}
    story = crew(W=asks, W_research_1={"verified": False})
    story.act("architect")
    assert [one.id for one in story.turn().sent] == ["W.research.1", "W.research.2"]
    [first, second] = team.bus.receive("researcher", limit=2)
    team.bus.send(
        result("research_result", verified=False), sender="researcher", to="orchestrator", reply_to=first.message.id
    )
    assert story.turn().sent == ()
    team.bus.send(result("research_result"), sender="researcher", to="orchestrator", reply_to=second.message.id)
    assert [one.id for one in story.turn().sent] == ["W.plan"]
    plan = text_of(team, "W.plan")
    assert "## Research Context\n\n### Question 1 (UNVERIFIED)" in plan
    assert "Question 2 (UNVERIFIED)" not in plan


@proves("pipeline/plan", "pipeline/waves")
def test_a_wave_begins_when_the_one_before_is_approved_and_the_last_ends_the_work(
    team: Team, crew: Callable[..., Crew]
) -> None:
    story = crew()
    story.play()
    steps = [id_ for id_ in dispatches(team) if id_.endswith((".i0", ".lgtm"))]
    assert steps == ["W.w1.s1.i0", "W.w1.s2.i0", "W.w1.s1.lgtm", "W.w1.s2.lgtm", "W.w2.s1.i0", "W.w2.s1.lgtm"]
    assert fields_of(team, "W.w2.s1.i0").items() >= {"plan_file": "plans/reset.md", "wave": "2", "step": "1"}.items()
    assert (story.work().state, pending_dispatches(story.work())) == ("done", ())


@proves("pipeline/plan")
def test_a_plan_with_blockers_goes_to_a_person_before_anybody_works(team: Team, crew: Callable[..., Crew]) -> None:
    story = crew(W_plan={"has_blockers": True})
    story.play()
    assert story.work().state == "escalated"
    assert team.inbox("human") == ["W.plan.escalated"]
    assert dispatches(team) == ["W", "W.plan", "W.plan.escalated"]


@proves("pipeline/plan")
def test_a_plan_without_steps_is_done_at_once(crew: Callable[..., Crew]) -> None:
    story = crew(W_plan={"wave_count": 0, "step_count": None})
    story.play()
    assert story.work().state == "done"


@proves("pipeline/plan/size")
@pytest.mark.parametrize(
    "where, changes",
    [
        ("W", {"research_needed": True, "research_count": 10**12}),
        ("W_plan", {"wave_count": 10**12}),
        ("W_plan", {"step_count": 1_001}),
    ],
)  # fmt: skip
def test_a_size_that_nobody_can_mean_goes_to_a_person(crew: Callable[..., Crew], where: str, changes: Changes) -> None:
    story = crew(**{where: changes})
    story.play()
    assert story.work().state == "escalated"
    assert len(story.work().places) <= 2


# --- review, revision, approval ---------------------------------------------------------------------------------------


@proves("pipeline/review")
def test_reviewer_and_auditor_are_asked_at_once_and_told_of_a_failed_check(
    team: Team, crew: Callable[..., Crew]
) -> None:
    story = crew(W_w1_s1_i0={"qa_check": "fail"})
    for role in ("architect", "architect", "worker"):
        story.turn()
        story.act(role)
    ids = [one.id for one in story.turn().sent]
    assert ids == ["W.w1.s1.i0.review", "W.w1.s1.i0.audit", "W.w1.s2.i0.review", "W.w1.s2.i0.audit"]
    assert "failed its own check" in text_of(team, "W.w1.s1.i0.review")
    assert "failed its own check" not in text_of(team, "W.w1.s2.i0.review")
    submission = story.work().places["w1.s1"].answer
    assert f"telex show {submission}" in text_of(team, "W.w1.s1.i0.audit")


@proves("pipeline/approval")
def test_a_pass_with_notes_is_a_pass_and_the_notes_reach_the_maker(team: Team, crew: Callable[..., Crew]) -> None:
    story = crew(W_w1_s1_i0_review={"signal": "pass_with_notes", "minor_count": 2})
    story.play()
    assert story.work().state == "done"
    assert len(story.work().places["w1.s1"].notes) == 1
    assert SIGNAL_MD.types["review_verdict"].body_example.strip() in text_of(team, "W.w1.s1.lgtm")
    assert team.story("W.w1.s1.lgtm").message.to == "worker"


@proves("pipeline/revision")
def test_a_failing_verdict_waits_for_the_other_and_sends_the_step_back(team: Team, crew: Callable[..., Crew]) -> None:
    story = crew(W_plan={"wave_count": 1, "step_count": 1}, W_w1_s1_i0_review={"signal": "fail", "critical_count": 1})
    for role in ("architect", "architect", "worker", "reviewer"):
        story.turn()
        story.act(role)
    assert story.turn().sent == ()
    story.act("auditor")
    assert [one.id for one in story.turn().sent] == ["W.w1.s1.i1"]
    sent = fields_of(team, "W.w1.s1.i1")
    assert {"iteration": "1", "max_iterations": "5", "fix_severity": "all"}.items() <= sent.items()
    assert "## From the reviewer" in text_of(team, "W.w1.s1.i1")
    story.play()
    assert story.work().state == "done"


@proves("pipeline/revision", "pipeline/revision/last")
def test_after_the_fifth_revision_a_person_is_asked(team: Team, crew: Callable[..., Crew]) -> None:
    def never(id_: str, type_: str) -> Changes:
        failing = {"signal": "fail", "critical_count": 1} if type_ == "review_verdict" else {}
        return {
            **smooth(id_, type_),
            **failing,
            **({"wave_count": 1, "step_count": 1} if type_ == "plan_result" else {}),
        }

    story = crew(never)
    story.play()
    asked = [id_ for id_ in dispatches(team) if id_.startswith("W.w1.s1.i") and id_.count(".") == 3]
    assert asked == [f"W.w1.s1.i{number}" for number in range(6)]
    severities = [fields_of(team, id_)["fix_severity"] for id_ in asked[1:]]
    assert severities == ["all", "all", "all", "critical", "critical"]
    assert story.work().state == "escalated"
    assert team.inbox("human") == ["W.w1.s1.escalated"]


# --- held up ----------------------------------------------------------------------------------------------------------


@proves("pipeline/blocked", "pipeline/resume")
def test_a_blocked_step_waits_for_a_person_while_the_others_go_on(team: Team, crew: Callable[..., Crew]) -> None:
    story = crew(W_w1_s1_i0={"signal": "blocked"})
    story.play()
    work = story.work()
    assert (work.state, work.places["w1.s1"].state, work.places["w1.s2"].state) == ("blocked", "blocked", "approved")
    assert work.wave == 1
    assert team.inbox("human") == ["W.w1.s1.blocked"]
    assert "telex work resume W w1.s1" in text_of(team, "W.w1.s1.blocked")
    receipt = run_sync(story.orchestrator.resume("W", "w1.s1", "The key is in the vault."))
    assert (receipt.accepted, receipt.id) == (True, "W.w1.s1.r1.i0")
    assert "The key is in the vault." in text_of(team, "W.w1.s1.r1.i0")
    story.play()
    assert story.work().state == "done"


@proves("pipeline/escalate", "pipeline/resume")
@pytest.mark.parametrize("at", ["W", "W_plan", "W_research_1", "W_w1_s1_i0_audit"])
def test_whoever_asks_for_a_decision_gets_one_wherever_the_work_stands(
    team: Team, crew: Callable[..., Crew], at: str
) -> None:
    research = {"W": {"research_needed": True, "research_count": 1}} if at != "W" else {}
    story = crew(**research, **{at: {"signal": "escalate"}})
    story.play()
    story.play()
    assert story.work().state == "escalated"
    [word] = team.taken("human")
    assert word.endswith(".escalated")
    assert run_sync(story.orchestrator.resume("W")).id.endswith((".r1", ".r1.i0"))
    story.play()
    assert story.work().state == "done"
    assert team.inbox("human") == []


def test_only_what_is_held_up_can_be_set_going_again(crew: Callable[..., Crew]) -> None:
    story = crew()
    for work, place, error in (
        ("W", None, InvalidValue),
        ("W", "triage", InvalidValue),
        ("W", "w9.s9", NotFound),
        ("X", None, NotFound),
    ):
        with pytest.raises(error):
            run_sync(story.orchestrator.resume(work, place))


# --- what a dispatch says ---------------------------------------------------------------------------------------------

TRIAGE = """## Triage
Tier 2: one module.

## Research Questions
Two are open:

1. **Which mail service can send templates?**
   - Why it matters: it decides whether the second wave is needed.
   - Where to look: docs/mail.md
2. How long may a link live?
"""
PLAN = """# Password reset

## Wave 1

### Step 1: Token table
Add a table for tokens.

**Acceptance criteria**
- AC1: a token is stored as a hash

**Files:** src/auth/tokens.py

### Step 2: Reset link
Send a link by mail.

## Wave 2
1. Write the page
2. Write the docs
"""


def answer_with(type_: str, body: str, **changes: Any) -> bytes:
    kind = SIGNAL_MD.types[type_]
    return write(SIGNAL_MD, {**kind.example, **changes}, body).encode()


def sent_texts(team: Team, story: Crew, *answers: tuple[str, bytes, str]) -> dict[str, str]:
    """The dispatches that follow from these answers, each with its text."""
    for agent, raw, reply_to in answers:
        assert team.bus.send(raw, sender=agent, to="orchestrator", reply_to=reply_to).accepted
    return {dispatch.id: text_of(team, dispatch.id) for dispatch in story.turn().sent}


def test_every_dispatch_is_written_as_its_page_describes_it(team: Team, crew: Callable[..., Crew]) -> None:
    story = crew(W={"research_needed": True, "research_count": 1})
    story.play()
    typed = [one.message for one in team.bus.trace("W") if one.message.role == "orchestrator" and one.message.type]
    assert {message.type for message in typed} == {
        *("triage_request", "research_request", "architecture_request", "task_assignment", "approval")
    }
    assert [check(message.raw).findings for message in typed] == [()] * len(typed)


@proves("pipeline/text/research")
def test_a_research_request_asks_the_question_and_says_what_it_gates(team: Team, crew: Callable[..., Crew]) -> None:
    triage = answer_with("triage_result", TRIAGE, research_count=3)
    sent = sent_texts(team, crew(), ("architect", triage, "W"))
    first = check(sent["W.research.1"])
    assert first.tree["topic"] == "Which mail service can send templates"
    assert first.body is not None
    assert first.body.startswith("**Which mail service can send templates?**\n\nAnswer with reply-to W.research.1.")
    assert "## Why it matters\n\nWhy it matters: it decides whether the second wave is needed." in first.body
    assert "## Where to look\n\nWhere to look: docs/mail.md" in first.body
    assert REQUEST in first.body
    assert check(sent["W.research.2"]).tree["topic"] == "How long may a link live"
    assert "It gates the plan" in sent["W.research.2"]
    assert check(sent["W.research.3"]).tree["topic"] == "W, question 3", "the triage lists two only"


@proves("pipeline/text/plan")
def test_a_plan_without_research_is_told_so(team: Team, crew: Callable[..., Crew]) -> None:
    story = crew()
    story.act("architect")
    story.turn()
    assert "No research needed — proceed." in text_of(team, "W.plan")


@proves("pipeline/text/step")
def test_a_step_comes_with_its_text_from_the_plan(team: Team, crew: Callable[..., Crew]) -> None:
    story = crew()
    story.orchestrator = Orchestrator(team.bus.awaitable, read_plan={"plans/reset.md": PLAN}.__getitem__)
    story.play()
    first, second = check(text_of(team, "W.w1.s1.i0")), check(text_of(team, "W.w1.s2.i0"))
    assert first.body is not None
    assert first.body.startswith("**Step 1: Token table**\n\nAdd a table for tokens.\n\n**Acceptance criteria**\n- AC1")
    assert "## Acceptance Criteria" not in first.body, "the plan has them"
    assert second.body is not None
    assert second.body.startswith("**Step 2: Reset link**")
    assert "## Acceptance Criteria\n\nAs plans/reset.md has them for step 2 of wave 1." in second.body
    assert "---\n**Write the page**" in text_of(team, "W.w2.s1.i0")


@proves("pipeline/text/step")
def test_without_a_readable_plan_a_step_names_its_file(team: Team, crew: Callable[..., Crew]) -> None:
    crew().play()
    assert "Do step 1 of wave 2 of plans/reset.md." in text_of(team, "W.w2.s1.i0")


@proves("pipeline/text/step")
def test_steps_under_headings_without_lists_come_with_their_text(team: Team, crew: Callable[..., Crew]) -> None:
    plan = "## Wave 1\n\n### Step 1\n\nA table.\n\n### Step 2\n\nA page.\n"
    story = crew()
    story.orchestrator = Orchestrator(team.bus.awaitable, read_plan=lambda path: plan)
    story.play()
    assert "**Step 2**\n\nA page." in text_of(team, "W.w1.s2.i0")


@proves("pipeline/text/step")
@given(
    st.lists(st.sampled_from(["## Wave 1", "### Step 1", "- ", "1. ", "```", "\n", " ", "\x85", "a", "1.1"])).map(
        "".join
    )
)
def test_any_text_of_a_plan_can_be_dispatched(plan: str) -> None:
    plan_step(plan, 1, 1, 1)
    question(f"## Questions\n{plan}", 1)


@proves("pipeline/several")
def test_a_pipeline_whose_dispatch_fails_does_not_hold_up_the_others(team: Team, crew: Callable[..., Crew]) -> None:
    def fails(path: str) -> str:
        raise ValueError(path)

    story = crew()
    story.orchestrator = Orchestrator(team.bus.awaitable, read_plan=fails)
    story.act("architect")
    story.turn()
    story.act("architect")
    story.start("V")
    story.act("architect")
    turn = story.turn()
    assert [dispatch.id for dispatch, _ in turn.failed] == ["W.w1.s1.i0", "W.w1.s2.i0"]
    assert [dispatch.id for dispatch in turn.sent] == ["V.plan"]
    story.orchestrator = Orchestrator(team.bus.awaitable)
    assert [dispatch.id for dispatch in story.turn().sent] == ["W.w1.s1.i0", "W.w1.s2.i0"], "after a restart"


@proves("pipeline/text/approval")
def test_an_approval_asks_for_a_conventional_commit(team: Team, crew: Callable[..., Crew]) -> None:
    crew().play()
    assert "using conventional commit format" in text_of(team, "W.w1.s1.lgtm")


# --- routes of signal-md 1.1 ------------------------------------------------------------------------------------------


def blocked_at_the_first_step(
    open_team: OpenTeam, route: str, dialect: str | None = "signal-md@1.1"
) -> tuple[Team, Crew]:
    """The worker of w1.s1 is blocked and names a route; the orchestrator has had its turn."""
    team = open_team(dialect=dialect)
    story = Crew(team)
    story.start()
    for _ in range(3):
        story.act("architect")
        story.turn()
    stopped = answer_with(
        "worker_submission", f"## Result\nNo.\n\n## Self-Assessment\nNo.\n\nRoute: {route}\n", signal="blocked"
    )
    assert team.bus.send(stopped, sender="worker", to="orchestrator", reply_to="W.w1.s1.i0", id="no-1").accepted
    story.turn()
    return team, story


@proves("pipeline/route")
def test_a_step_is_handed_to_a_higher_tier_with_the_reason(open_team: OpenTeam) -> None:
    team, story = blocked_at_the_first_step(open_team, "senior")
    handed = team.story("W.w1.s1.r1.i0").message
    assert (handed.type, handed.to) == ("task_assignment", "role:senior")
    assert "## Why it was stopped\n\n## Result\nNo." in handed.raw.decode()
    assert story.work().places["w1.s1"].state == "working"
    [lease] = team.bus.receive("senior")
    team.bus.send(result("worker_submission"), sender="senior", to="orchestrator", reply_to=lease.message.id)
    story.play()
    assert story.work().state == "done"


@proves("pipeline/route")
def test_what_is_to_be_decomposed_again_is_planned_again_once(open_team: OpenTeam) -> None:
    team, story = blocked_at_the_first_step(open_team, "orchestrator (re-decompose)")
    assert story.work().places["w1.s1"].state == "settled"
    assert team.story("W.plan.r1").message.type == "architecture_request"
    story.play()
    assert (story.work().state, story.work().waves) == ("done", (2, 2, 1))
    assert "W.w3.s1.lgtm" in dispatches(team)


@proves("pipeline/route")
@pytest.mark.parametrize(
    "route, state",
    [
        ("orchestrator (user decision required)", "escalated"),
        ("orchestrator", "blocked"),
        ("worker", "blocked"),  # the worker itself: no higher tier
        ("grunt", "blocked"),
        ("the moon", "blocked"),
    ],
)
def test_every_other_route_leads_to_a_person(open_team: OpenTeam, route: str, state: str) -> None:
    team, story = blocked_at_the_first_step(open_team, route)
    assert story.work().places["w1.s1"].state == state
    assert f"W.w1.s1.{state}" in dispatches(team)


@proves("pipeline/route")
def test_in_1_0_a_route_is_a_line_like_any_other(open_team: OpenTeam) -> None:
    _, story = blocked_at_the_first_step(open_team, "senior", dialect=None)
    assert story.work().places["w1.s1"].state == "blocked"
