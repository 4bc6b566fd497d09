"""Does a translation name everything that it makes up, and everything that it leaves out? Where it was once silent."""

from typing import Any

import pytest

from telex.dialects.registry import by_name
from telex.dialects.schema import Dialect
from telex.translation.markdown_sections import SILENT
from telex.translation.translate import NoCounterpart, Translation, header_of, translate
from tests.proofs import proves

BLOCKED = {"type": "worker_submission", "signal": "blocked", "files_changed": [], "qa_check": "fail"}


def dialect(name: str) -> Dialect:
    found = by_name(name)
    assert found is not None
    return found


def told(
    name: str, tree: dict[str, Any], to: str, body: str | None = None, **known: Any
) -> Translation | NoCounterpart:
    one = dialect(name)
    type_ = one.types[tree["type"]]
    header = header_of(tree, one, type_, id="m-1", at=0.0, sender="ada")._replace(**known)
    return translate(tree, one, type_, dialect(to), header, body)


def made(name: str, tree: dict[str, Any], to: str, body: str | None = None, **known: Any) -> Translation:
    found = told(name, tree, to, body, **known)
    assert isinstance(found, Translation), found
    return found


def reasons(found: Translation) -> dict[str, str]:
    return {one.path: one.reason for one in found.invented}


def example(name: str, type_: str, **changes: Any) -> dict[str, Any]:
    one = dialect(name)
    tree = dict(one.types[type_].example)
    if one.payload:
        return tree | {one.payload: tree[one.payload] | changes}
    return tree | changes


# --- what is made up -------------------------------------------------------------------------------------------------


@proves("translation/made-up/headings")
def test_a_heading_under_which_nothing_is_said_is_made_up() -> None:
    found = made("vbw-handoff", example("vbw-handoff", "dev_progress"), "signal-md")
    assert f"## Result\n{SILENT}" in (found.body or "")
    assert [one.value for one in found.invented if one.path == "$.body.Result"] == [SILENT]
    assert "$.body.Self-Assessment" not in reasons(found), "the concerns stand there"
    silent = made("build-flow", example("build-flow", "STATUS_UPDATE"), "signal-md", sender_role="dev")
    assert "$.body.Self-Assessment" in reasons(silent)


@proves("translation/made-up/check")
@pytest.mark.parametrize("status", ["complete", "partial", "failed"])
def test_how_far_work_has_come_is_no_check_of_it(status: str) -> None:
    tree = example("vbw-handoff", "dev_progress", status=status)
    found = made("vbw-handoff", tree, "signal-md")
    assert found.tree["qa_check"] == ("pass" if status == "complete" else "fail")
    assert reasons(found)["$.qa_check"] == "no check is reported"
    back = made("signal-md", found.tree, "vbw-handoff", found.body)
    assert back.tree == tree
    assert "$.status" not in reasons(back)


@proves("translation/made-up/ready")
def test_work_that_is_not_complete_is_not_silently_ready_for_review() -> None:
    for status, is_made_up in (("complete", False), ("partial", True), ("failed", True)):
        found = made("vbw-handoff", example("vbw-handoff", "dev_progress", status=status), "signal-md")
        assert found.tree["signal"] == "rfr"
        assert ("$.signal" in reasons(found)) == is_made_up


@proves("translation/made-up/names")
def test_a_text_without_a_name_is_given_none() -> None:
    tree = example("signal-md", "research_result")
    found = made("signal-md", tree, "vbw-handoff", "The one in use can.\n")
    assert found.tree["documents"] == [{"content": "The one in use can.\n", "name": "unknown"}]
    assert "$.documents[0].name" in reasons(found)
    named = made("vbw-handoff", example("vbw-handoff", "scout_findings"), "signal-md")
    assert (named.body or "").count("### ") == len(example("vbw-handoff", "scout_findings")["documents"])


@proves("translation/made-up/reasons")
def test_a_field_that_no_bus_has_is_not_said_to_be_the_bus_s() -> None:
    tree = BLOCKED | {"signal": "rfr"}
    kept = reasons(made("signal-md", tree, "vbw-typed", "x"))
    assert {kept["$.id"], kept["$.timestamp"]} == {"as the bus has it"}
    assert kept["$.author_role"] == "it is the counterpart of worker in vbw-typed"
    alone = reasons(made("signal-md", tree, "vbw-typed", "x", kept=False))
    assert not any("as the bus has it" in reason for reason in alone.values())
    order = example("signal-md", "task_assignment")
    assert made("signal-md", order, "vbw-typed", "x").tree["author_role"] == "lead"
    assert "orchestrator" in reasons(made("signal-md", order, "vbw-typed", "x"))["$.author_role"]


@proves("translation/made-up/reasons")
def test_whom_it_goes_to_is_the_bus_s_word_only_where_there_is_one() -> None:
    tree = example("vbw-handoff", "dev_progress")
    unsaid = reasons(made("vbw-handoff", tree, "build-flow", kept=False))
    assert unsaid["$.to"] == "dev_progress goes to lead, and this is its counterpart"
    known = reasons(made("vbw-handoff", tree, "build-flow", recipient="otto", recipient_role="cto"))
    assert known["$.to"] == "as the bus has it"
    role = reasons(made("vbw-handoff", example("vbw-handoff", "dev_progress"), "build-flow", recipient_role="lead"))
    assert role["$.to"] == "it is the counterpart of lead in build-flow"


@proves("translation/made-up/reasons")
def test_what_stands_for_want_of_anything_is_not_said_to_be_borrowed() -> None:
    tree = {**BLOCKED, "signal": "blocked"}
    found = made("signal-md", tree, "vbw-typed", "no db")
    assert found.tree["payload"]["task_id"] == "unknown"
    assert reasons(found)["$.payload.task_id"] == "worker_submission does not have it"
    named = made("signal-md", tree, "vbw-typed", "no db", correlation="T7")
    assert reasons(named)["$.payload.task_id"] == "its conversation is used as its task"


@proves("translation/made-up/objects")
def test_an_object_that_has_to_be_there_and_says_nothing_is_named() -> None:
    bare = {"type": "task_assignment", "signal": "execute"}
    found = made("signal-md", bare, "build-flow", "Write it.")
    assert found.tree["payload"]["context"] == {}
    assert "$.payload.context" in reasons(found)
    assert "$.payload.context" not in reasons(
        made("signal-md", bare | {"plan_file": "p.md"}, "build-flow", "Write it.")
    )
    assignment = example("build-flow", "TASK_ASSIGNMENT", context={})
    lost = made("build-flow", assignment, "signal-md").lost
    assert ("$.payload.context", {}) in [(one.path, one.value) for one in lost]


# --- what is left out ------------------------------------------------------------------------------------------------


@proves("translation/left-out")
@pytest.mark.parametrize("value", [None, {}, [], "", 0, False])
def test_a_field_of_the_sender_s_own_is_lost_and_told_whatever_it_holds(value: Any) -> None:
    tree = example("vbw-handoff", "dev_blocker") | {"extra": value}
    found = made("vbw-handoff", tree, "vbw-typed")
    assert [(one.path, one.value) for one in found.lost] == [("$.extra", value)]


# --- bodies that people write ----------------------------------------------------------------------------------------


HAND_WRITTEN = [
    "## Task T1\n## Self-Assessment fine\n## Result no db\n",
    "## Result\nno db\n\n## Task\nT1\n\n## Self-Assessment\nfine\n",
    "# SELF-ASSESSMENT\nfine\n# TASK: T1\n# RESULT:\n\nno db\n",
    "### Task — T1 ###\n\n### result\nno db\n### Self-assessment\nfine",
]


@proves("translation/hand-written")
@pytest.mark.parametrize("body", HAND_WRITTEN)
def test_sections_are_read_by_their_names_wherever_they_stand(body: str) -> None:
    found = made("signal-md", BLOCKED, "vbw-handoff", body)
    assert (found.tree["task"], found.tree["blocker"]) == ("T1", "no db")
    assert ("$.body.Self-Assessment", "fine") in [(one.path, one.value) for one in found.lost]
    assert "$.needs" in reasons(found), "nobody said it"
    assert "$.body" in {one.path for one in found.narrowed}


@proves("translation/hand-written")
def test_what_is_under_no_heading_that_is_known_stays_in_the_text() -> None:
    body = "It began well.\n\n## Needs: a table\n\n## Notes\nNot mine.\n### Task\n2-1\n## Result of the day\nNone yet."
    found = made("signal-md", BLOCKED, "vbw-handoff", body)
    assert (found.tree["needs"], found.tree["task"]) == ("a table", "2-1")
    assert found.tree["blocker"] == "It began well.\n\n## Notes\nNot mine.\n\n## Result of the day\nNone yet."
    unknown = "# Report\nNo table.\n\n```\n## Task\nT9\n```\n"
    whole = made("signal-md", BLOCKED, "vbw-handoff", unknown)
    assert whole.tree["blocker"] == unknown, "and what is in a fence is no heading"
    assert not [one for one in (*whole.lost, *whole.narrowed) if one.path.startswith("$.body")]


@proves("translation/hand-written")
def test_the_reason_may_stand_under_the_heading_that_the_type_asks_for() -> None:
    tree = example("signal-md", "triage_result") | {"signal": "blocked"}
    found = made("signal-md", tree, "build-flow", "## Triage\nThe repository cannot be read.\n")
    assert "The repository cannot be read." in found.tree["payload"]["blockers"][0]


@proves("translation/hand-written")
def test_a_list_is_read_however_its_points_are_marked() -> None:
    tree = BLOCKED | {"signal": "rfr"}
    for points in ("- one\n  and more\n- two", "* one\n  and more\n* two", "1. one\n  and more\n2. two"):
        found = made("signal-md", tree, "vbw-handoff", f"## result\nok\n\n## self-assessment\n{points}\n")
        assert found.tree["concerns"] == ["one\nand more", "two"]


@proves("translation/hand-written")
def test_a_text_with_headings_in_it_comes_back_as_one_text() -> None:
    blocker = example("vbw-handoff", "dev_blocker", blocker="x\n\n## Task\nT9\n\n## Needs\nnothing")
    there = made("vbw-handoff", blocker, "signal-md")
    assert made("signal-md", there.tree, "vbw-handoff", there.body).tree == blocker


# --- as little as can be said ----------------------------------------------------------------------------------------


@proves("translation/findings")
def test_what_was_found_out_is_told_where_documents_are_listed() -> None:
    tree = example("signal-md", "research_result")
    found = made("signal-md", tree, "build-flow", "The one in use can send templates.")
    [document] = found.tree["payload"]["documents"]
    assert document["topics"] == ["The one in use can send templates."]
    assert found.tree["payload"]["found"] is True
    assert "$.payload.recommendation" in reasons(found)
    nothing = made("signal-md", tree, "build-flow", "")
    assert (nothing.tree["payload"]["found"], nothing.tree["payload"]["documents"]) == (False, [])
    native = made("build-flow", example("build-flow", "DOC_RESPONSE"), "vbw-handoff", sender_role="scout")
    assert "auth" not in native.tree["documents"][0]["content"], "a topic is not what a document says"


@proves("translation/no-licence")
@pytest.mark.parametrize(
    "name, answer, yes, no",
    [
        ("vbw-typed", "approval_response", {"approved": True}, {"approved": False}),
        ("build-flow", "VALIDATION_RESPONSE", {"decision": "APPROVED"}, {"decision": "REJECTED"}),
        ("build-flow", "VALIDATION_RESPONSE", {"decision": "CONDITIONAL"}, {"decision": "REJECTED"}),
    ],
)
def test_a_yes_to_a_question_is_no_leave_to_commit(
    name: str, answer: str, yes: dict[str, Any], no: dict[str, Any]
) -> None:
    agreed = made(name, example(name, answer, **yes), "signal-md")
    assert agreed.type.name == "approval"
    assert "no leave to commit" in reasons(agreed)["$.signal"]
    refused = made(name, example(name, answer, **no), "signal-md")
    assert refused.type.name == "revision_request"
    release = made("build-flow", example("build-flow", "COMMIT_REQUEST"), "signal-md")
    assert (release.type.name, "$.signal" in reasons(release)) == ("approval", False)
