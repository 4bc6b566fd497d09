"""What becomes of a message that is silent, or says what nobody has a word for, where another dialect has to choose?"""

from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.builtin.signal_md import SIGNAL_MD
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.dialects.registry import BUILT_IN
from telex.translation.translate import Translation
from tests.dialects.toml_dialects import AWKWARD, PLAIN_FILE, declared
from tests.proofs import proves
from tests.translation.test_translation_user_dialect import becomes, said, why_not


@proves("translation/own/silence")
def test_silence_is_not_taken_for_what_a_type_means() -> None:
    text = PLAIN_FILE.replace('ok = "boolean"', 'ok = "boolean?"')
    undecided = declared(text)
    silent = said(undecided, "ruling")
    assert "ok" not in silent.tree
    assert "says what this ruling says" in why_not(silent, SIGNAL_MD), "an approval and a revision are both a word"
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
