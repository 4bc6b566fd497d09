"""Translation into and out of a user's dialect: words, fields, defaults, and values that are missing."""

import copy
from typing import Any

import pytest

from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.builtin.signal_md import SIGNAL_MD
from telex.dialects.builtin.vbw import VBW_COMPANY, VBW_HANDOFF
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.dialects.intents import INTENTS, TRADES
from telex.dialects.registry import BUILT_IN, by_name
from telex.dialects.schema import Dialect
from telex.translation.envelope import counterpart
from telex.translation.mapping import places_of
from telex.translation.mapping_tables import rows_of
from telex.translation.translate import NoCounterpart, Translation, header_of
from tests.dialects.toml_dialects import (
    AWKWARD,
    AWKWARD_FILE,
    EXTENDING,
    EXTENDING_FILE,
    KANBAN,
    NOTES,
    PLAIN_FILE,
    declared,
)
from tests.proofs import proves
from tests.translation.translation_kit import Sent

# --- what is seen of it ----------------------------------------------------------------------------------------------


def said(dialect: Dialect, type_: str, body: str | None = None, **words: Any) -> Sent:
    """A type's own example with some of its fields changed."""
    tree = copy.deepcopy(dialect.types[type_].example)
    (tree[dialect.payload] if dialect.payload else tree).update(words)
    header = header_of(tree, dialect, dialect.types[type_], id="m", at=0.0, sender="somebody")
    return Sent(dialect, dialect.types[type_], tree, body, header)


def becomes(one: Sent, to: str | Dialect) -> Translation:
    dialect = by_name(to) if isinstance(to, str) else to
    assert dialect is not None
    found = one.translated(dialect)
    assert isinstance(found, Translation), found
    return found


def why_not(one: Sent, to: Dialect) -> str:
    found = one.translated(to)
    assert isinstance(found, NoCounterpart), found
    return found.reason


@proves("translation/own/values")
def test_of_several_values_for_one_word_the_first_is_written_and_all_are_read() -> None:
    for column, status in (("doing", "partial"), ("review", "partial"), ("done", "complete"), ("dropped", "failed")):
        there = becomes(said(KANBAN, "moved", column=column), "vbw-handoff")
        assert there.tree["status"] == status
        narrowed = {change.path for change in there.narrowed}
        assert ("$.column" in narrowed) == (column == "review"), "that it was in review cannot be told back"
    assert becomes(said(VBW_HANDOFF, "dev_progress", status="partial"), KANBAN).tree["column"] == "doing"


@proves("translation/own/fields")
def test_nested_and_listed_fields_are_found_under_the_names_that_all_share() -> None:
    halt = said(AWKWARD, "halt", what=["No steam"], grade="red", tries=[{"deed": "Coal", "by": "clerk"}]).by("hand")
    there = becomes(halt, "vbw-typed")
    assert there.tree["payload"]["severity"] == "blocking"
    assert there.tree["payload"]["attempted"] == ["Coal"]
    assert "$.slip.tries[0].by" in {change.path for change in there.lost}
    back = becomes(halt.as_told(there), AWKWARD)
    assert back.tree["slip"]["tries"] == [{"deed": "Coal", "by": "hand"}]
    assert "$.slip.tries[0].by" in {change.path for change in back.invented}


@proves("translation/own/default")
def test_a_default_stands_for_silence_and_never_for_something_else() -> None:
    blocker = said(VBW_TYPED, "blocker_report")
    del blocker.tree["payload"]["severity"]
    made = becomes(blocker, AWKWARD)
    assert made.tree["slip"]["grade"] == "amber"
    [grade] = [change for change in made.invented if change.path == "$.slip.grade"]
    assert grade.value == "amber"
    mild = said(VBW_TYPED, "blocker_report", severity="informational")  # for which there is no word
    assert "no word for the severity" in why_not(mild, AWKWARD)


@proves("translation/own/default")
def test_a_choice_that_nobody_makes_is_not_made_up() -> None:
    escalation = said(VBW_COMPANY, "escalation")
    assert "complaint has to say" in why_not(escalation, AWKWARD)
    defaults = 'defaults = { issue = "2025", colour = "blue" }'
    with_colour = AWKWARD_FILE.replace('says = { reason = "gist"', f'{defaults}\nsays = {{ reason = "gist"')
    made = becomes(escalation, declared(with_colour))
    assert made.tree["slip"]["colour"] == "blue"


@proves("translation/own/default")
def test_an_item_of_a_list_that_would_have_to_choose_is_lost_and_told() -> None:
    verdict = said(SIGNAL_MD, "review_verdict", "## Failures\n- Leaks\n\n## Findings\nIt leaks.", signal="fail")
    made = becomes(verdict, AWKWARD)
    assert (made.type.name, made.tree["slip"]["faults"]) == ("rejected", [])
    assert "Leaks" in [change.value for change in made.lost] or ["Leaks"] in [change.value for change in made.lost]


@proves("translation/own/means")
def test_types_that_say_something_by_being_that_type_are_told_apart_by_it() -> None:
    for result, type_ in (("approve", "passed"), ("changes_requested", "rejected")):
        assert becomes(said(VBW_COMPANY, "code_review_result", result=result), AWKWARD).type.name == type_
    assert becomes(said(AWKWARD, "rejected"), "build-flow").tree["payload"]["status"] == "FAILED"
    assert becomes(said(AWKWARD, "passed"), "build-flow").tree["payload"]["status"] == "PASSED"
    fixed = becomes(said(AWKWARD, "passed", critical=1), "signal-md")  # which has to fail for that
    assert fixed.tree["signal"] == "fail"
    assert "$type" in {change.slot for change in fixed.narrowed}, "told back it would be a rejection"


@proves("translation/own/body")
def test_a_body_says_what_its_file_says_it_does() -> None:
    there = becomes(said(NOTES, "draft", "Two scenes are missing.", state="rough"), "build-flow")
    assert there.tree["payload"]["details"] == "Two scenes are missing."
    news = said(BUILD_FLOW, "STATUS_UPDATE", details="It rains.").by("author")
    back = becomes(news._replace(header=news.header._replace(sender="max")), NOTES)
    assert (back.body or "").endswith("## Summary\nIt rains.")
    assert "no field that fits the name" in why_not(news, NOTES), "who it is from is never made up"


@proves("translation/own/extends")
def test_inherited_types_translate_as_those_they_were_inherited_from() -> None:
    ours, theirs = said(EXTENDING, "dev_progress"), said(VBW_HANDOFF, "dev_progress")
    for to in BUILT_IN:
        if to.name != "vbw-handoff":
            assert becomes(ours, to).tree == becomes(theirs, to).tree
    assert becomes(ours, "vbw-handoff").tree == ours.tree
    assert becomes(said(EXTENDING, "ask_boss"), "vbw-typed").type.name == "approval_request"
    assert becomes(said(VBW_TYPED, "approval_request"), EXTENDING).recipient_role == "boss"
    assert "declares no intent" in why_not(said(EXTENDING, "qa_result"), VBW_TYPED), "ours took the place of theirs"
    wired = declared(EXTENDING_FILE + '[wire]\nid = "mood"\n')
    assert becomes(said(wired, "dev_progress", mood="m-7"), "build-flow").tree["messageId"] == "m-7"


@proves("translation/own/without")
def test_a_file_that_says_nothing_of_it_reaches_others_as_markdown() -> None:
    silent = "\n".join(
        line for line in PLAIN_FILE.splitlines() if not line.startswith(("intent", "says", "values", 'lane = "normal'))
    )
    silent = silent.replace("[types.moved.values.status]\n", "[x]\n").replace("[types.stuck.defaults]\n", "")
    silent = silent[: silent.index("[x]")] + silent[silent.index("[types.stuck]") :]
    mute = declared(silent)
    assert all(not type_.semantics.intents for type_ in mute.types.values())
    assert "declares no intent" in why_not(said(mute, "moved"), VBW_TYPED)
    assert "has no message that reports how far" in why_not(said(VBW_TYPED, "execution_update"), mute)


@proves("translation/own/same-name")
def test_two_dialects_of_one_name_are_not_taken_for_each_other() -> None:
    other = declared(PLAIN_FILE.replace('failed = "dropped"', 'failed = "review"'))
    failed = said(VBW_HANDOFF, "dev_progress", status="failed")
    columns = [becomes(failed, dialect).tree["column"] for dialect in (KANBAN, other, KANBAN)]
    assert columns == ["dropped", "review", "dropped"]


@proves("translation/own/trades")
@pytest.mark.parametrize(
    "role, one, to, expected",
    [
        ("maker", KANBAN, "vbw-typed", "dev"),
        ("checker", KANBAN, "vbw-company", "qa-lead"),
        ("owner", KANBAN, "signal-md", "orchestrator"),
        ("clerk", AWKWARD, "vbw-typed", None),  # the file does not say what a clerk does
        ("boss", EXTENDING, "vbw-typed", "lead"),
    ],
)
def test_a_role_of_ones_own_is_called_what_it_does(role: str, one: Dialect, to: str, expected: str | None) -> None:
    dialect = by_name(to)
    assert dialect is not None
    assert counterpart(role, one, dialect) == expected
    back = counterpart(expected, dialect, one) if expected is not None else role
    assert back == role or role == "boss", "lead is a role of that dialect too"


# --- the shared terms ------------------------------------------------------------------------------------------------


@proves("translation/own/terms")
def test_every_term_is_said_in_some_dialect_of_ours_and_none_that_two_share_is_missing() -> None:
    known: dict[str, dict[str, set[str]]] = {}
    first: dict[str, dict[str, set[str]]] = {}
    for dialect in BUILT_IN:
        for row in rows_of(dialect):
            for place in places_of(dialect, dialect.types[row.type], row):
                parts = [f"{place.slot}/{part}" for part in place.parts]
                for slot in (place.slot, *parts):
                    first.setdefault(row.intents[0], {}).setdefault(slot, set()).add(dialect.base)
                    for intent in row.intents:
                        known.setdefault(intent, {}).setdefault(slot, set()).add(dialect.name)
    family = {"verdict", "review", "audit", "code", "survey"}  # each may pass for a verdict, so they have one list
    for name, act in INTENTS.items():
        alike = family if name in family else {name}
        there = {slot for one in alike for slot in known[one]}
        assert set(act.terms) <= there, name
        shared = {slot for slot, dialects in first[name].items() if len(dialects) > 1 and "/" not in slot}
        # What passes for something else has names for that besides its own; only vbw knows the shape of `elsewhere`.
        assert shared - set(act.terms) <= {"blocker", "needs", "attempted", "reason", "elsewhere"}, name
        assert set(act.turns_on) <= set(act.terms)


@proves("translation/own/trades")
def test_what_a_role_may_do_is_what_roles_of_ours_do() -> None:
    assert set(TRADES) == {trade for dialect in BUILT_IN for trade in dialect.trades.values()}


@proves("translation/own/silence")
def test_silence_is_not_taken_for_what_a_type_means() -> None:
    text = PLAIN_FILE.replace('ok = "boolean"', 'ok = "boolean?"')
    undecided = declared(text)
    silent = said(undecided, "ruling")
    assert "ok" not in silent.tree
    assert "no counterpart of ruling" in why_not(silent, SIGNAL_MD), "an approval and a revision are both a word"
    assert becomes(said(undecided, "ruling", ok=True), "signal-md").type.name == "approval"
    urgent = """
        [types.burning]
        purpose = "A card cannot go on, and it is bad."
        senders = ["maker"]
        receivers = ["owner"]
        intent = "blocked"
        says = { blocker = "why" }
        means = { severity = "high" }
        [types.burning.fields]
        why = "string"
    """
    graded = declared(text + urgent)
    blocker = said(VBW_TYPED, "blocker_report", severity="blocking")
    assert becomes(blocker, graded).type.name == "burning"
    del blocker.tree["payload"]["severity"]
    assert becomes(blocker, graded).type.name == "stuck"


@proves("translation/own/silence")
def test_what_an_act_turns_on_is_told_or_nothing_is() -> None:
    slip = said(AWKWARD, "day_slip")
    for state, there in (("spoilt", True), ("lost", False)):
        slip.tree["slip"]["job"]["state"] = state
        for to in BUILT_IN:
            found = slip.translated(to)
            assert isinstance(found, Translation) == there, to.name
            assert there or "has no word for the status of this day_slip" in why_not(slip, to)
    worded = declared(
        PLAIN_FILE.replace(
            'result = { type = "enum", values = ["holds", "leaks", "breaks"] }', 'result = "string"'
        ).replace('values = { result = { pass = "holds", notes = "holds", partly = "leaks", fail = "breaks" } }', "")
    )
    for to in (VBW_TYPED, BUILD_FLOW, SIGNAL_MD):
        assert "no word for the result" in why_not(said(worded, "checked", result="It leaks badly"), to)
        assert becomes(said(worded, "checked", result="fail"), to).tree


@proves("translation/own/default")
def test_a_default_is_found_whatever_its_field_is_called() -> None:
    dotted = PLAIN_FILE.replace("lane = { type", '"la.ne" = { type').replace('lane = "normal"', '"la.ne" = "normal"')
    made = becomes(said(VBW_TYPED, "blocker_report"), declared(dotted))
    assert made.tree["la.ne"] == "normal"
