"""Is a file told what is wrong with what it says of its types to others, with the line and what was meant?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.dialects.intents import INTENTS
from telex.dialects.schema import Dialect
from telex.dialects.toml.document import TomlDocument, TomlValue
from telex.dialects.toml.loader import declare, show
from telex.dialects.toml.semantics import KEYS, with_semantics
from telex.work.view import fields_of, parse_tree
from tests.dialects.arbitrary import VALUES
from tests.dialects.toml_dialects import (
    AWKWARD,
    AWKWARD_FILE,
    KANBAN,
    KANBAN_FILE,
    NOTES,
    NOTES_FILE,
    PLAIN_FILE,
    declared,
)
from tests.proofs import proves

TERMS = st.sampled_from([*INTENTS["progress"].terms, *INTENTS["verdict"].terms, "zzz"])
FIELDS = st.sampled_from(["column", "note", "commit", "card", "by", "type", "a.b", "note[]", "faults[].x"])
NEARLY: dict[str, st.SearchStrategy[object]] = {
    "intent": st.sampled_from(["progress", "verdict", "answer", "plan"]) | st.just(["blocked", "progress"]),
    "says": st.dictionaries(TERMS, FIELDS | VALUES, max_size=4),
    "values": st.dictionaries(TERMS, st.dictionaries(st.sampled_from(["done", "pass", "x"]), VALUES, max_size=3)),
    "means": st.dictionaries(TERMS, st.sampled_from(["done", "pass", "x"]) | VALUES, max_size=3),
    "defaults": st.dictionaries(FIELDS, VALUES, max_size=3),
    "body": TERMS,
}

MOVED = "types.moved"
STUCK_AS_PROGRESS = """intent = "progress" #!
says = { status = "lane" }
values = { status = { done = "normal", partly = "normal", failed = "normal", started = "express" } }"""
# what is written instead, marked #!, and where the flaw is: the key, and words that have to be said
FLAWS: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "an unknown intent": ('intent = "progress"', 'intent = "progres" #!', f"{MOVED}.intent", ("mean progress?",)),
    "an intent like none": ('intent = "progress"', 'intent = "zzz" #!', f"{MOVED}.intent", ("there are assign",)),
    "an intent that is a number": ('intent = "progress"', "intent = 3 #!", f"{MOVED}.intent", ("found 3",)),
    "no intent in a list": ('intent = "progress"', "intent = [] #!", f"{MOVED}.intent", ("at least one",)),
    "an intent twice": (
        'intent = "progress"', 'intent = ["progress", "progress"] #!', f"{MOVED}.intent[1]", ("twice",),
    ),
    "terms without an intent": ('intent = "progress"\nsays', "#!\nsays", f"{MOVED}.says", ("without an intent",)),
    "an unknown term": (
        'details = "note" }', 'detials = "note" } #!', f"{MOVED}.says.detials", ("mean details?", "commit", "concerns"),
    ),
    "a term like none": (
        'details = "note" }', 'zzzz = "note" } #!', f"{MOVED}.says.zzzz", ("there are task", "status"),
    ),
    "a term of another intent": (
        'details = "note" }', 'blocker = "note" } #!', f"{MOVED}.says.blocker", ("no term of progress",),
    ),
    "a field there is not": (
        'details = "note" }', 'details = "nott" } #!', f"{MOVED}.says.details", ("no field 'nott'", "mean note?"),
    ),
    "the type as a field": ('details = "note" }', 'details = "type" } #!', f"{MOVED}.says.details", ("no field",)),
    "a field that is a number": ('details = "note" }', "details = 3 } #!", f"{MOVED}.says.details", ("text",)),
    "a value there is not": (
        'failed = "dropped"', 'failed = "droped" #!', f"{MOVED}.values.status.failed", ("mean dropped?",),
    ),
    "a word there is not": (
        'failed = "dropped"', 'failde = "dropped" #!', f"{MOVED}.values.status.failde", ("mean failed?",),
    ),
    "a word left out of what it turns on": (
        '[types.moved.values.status]\ndone = "done"', "[types.moved.values.status] #!",
        f"{MOVED}.values.status", ("which value of status means done",),
    ),
    "words of what nobody says": (
        "conditional = false } }", 'conditional = false }, kind = { plan = "x" } } #!', "types.ruling.values.kind",
        ("no field says 'kind'",),
    ),
    "a no that is no boolean": (
        "conditional = false } }", 'conditional = "no" } } #!', "types.ruling.values.decision.conditional", ("true",),
    ),
    "a verdict without a result": (
        'intent = "verdict"', 'intent = "verdict" #!', "types.checked.intent", ("turns on its result", "means"),
    ),
    "two types of one intent": (
        'intent = "blocked"\nsays = { blocker = "why", needs = "wish" }',
        STUCK_AS_PROGRESS, "types.stuck.intent", ("moved means progress already",),
    ),
    "a default for what may be left out": (
        'lane = "normal"', 'wish = "x" #!', "types.stuck.defaults.wish", ("may be left out",),
    ),
    "a default for no field": ('lane = "normal"', 'lnae = "x" #!', "types.stuck.defaults.lnae", ("mean lane?",)),
    "a default that does not fit": (
        'lane = "normal"', 'lane = "fast" #!', "types.stuck.defaults.lane", ("'fast'", "normal, express"),
    ),
    "a default that is a blank": (
        'lane = "normal"', 'lane = "<fill: text>" #!', "types.stuck.defaults.lane", ("blank",),
    ),
    "a yes that is a no": (
        "yes = true, no = false, conditional = false } }", "yes = true, no = true, conditional = false } } #!",
        "types.ruling.values.decision", ("true cannot stand for yes and for no",),
    ),
    "a pass among what fails": (
        'fail = "breaks" } }', 'fail = ["breaks", "holds"] } } #!',
        "types.checked.values.result", ("'holds' cannot stand for pass and for fail",),
    ),
    "two terms of one field": (
        'details = "note" }', 'details = "note", commit = "note" } #!', f"{MOVED}.says.commit",
        ("note says details already",),
    ),
    "what a list holds, for the list": (
        'constraints = "mind" }', 'constraints = "mind[]" } #!', "types.put_up.says.constraints",
        ("name the list itself, mind",),
    ),
    "a body in JSON": ('intent = "progress"', 'intent = "progress"\nbody = "details" #!', f"{MOVED}.body", ("front",)),
    "a trade there is not": ('maker = "makes"', 'maker = "make" #!', "trades.maker", ("mean makes?",)),
    "a trade of nobody": ('maker = "makes"', 'makr = "makes" #!', "trades.makr", ("mean maker?",)),
}  # fmt: skip


@proves("translation/own/flaws")
@pytest.mark.parametrize("name", list(FLAWS))
def test_every_flaw_is_told_with_its_line_and_what_was_meant(name: str) -> None:
    before, after, where, words = FLAWS[name]
    assert before in PLAIN_FILE
    text = PLAIN_FILE.replace(before, after, 1)
    if name == "a verdict without a result":
        text = text.replace("result = { type", "outcome = { type").replace("values = { result", "#")
    found = declare(text, "kanban.toml")
    assert found.dialect is None
    line = next(number for number, one in enumerate(text.split("\n"), 1) if "#!" in one)
    told = [flaw for flaw in found.flaws if flaw.where == where]
    assert told, [show(flaw) for flaw in found.flaws]
    assert abs(told[0].line - line) <= 1
    assert all(word in told[0].say for word in words), told[0].say


AWKWARD_FLAWS: dict[str, tuple[str, str, str, str]] = {
    "an object": ('task = "job.number"', 'task = "job"', "types.day_slip.says.task", "job.number"),
    "a list's part that is none": (
        '"attempted/text" = "tries[].deed"', '"attempted/text" = "tries[].did"',
        'types.halt.says."attempted/text"', "no field 'did'",
    ),
    "a part of another list": (
        '"attempted/text" = "tries[].deed"', '"attempted/text" = "what[]"',
        'types.halt.says."attempted/text"', "what attempted lists",
    ),
    "the version as a term": ('details = "remarks"', 'details = "issue"', "types.day_slip.says.details", "version"),
    "means and says at once": (
        "means = { result = [\"pass\", \"notes\"] }", 'means = { result = "pass" }\nsays = { result = "body" }',
        "types.passed.says.result", "say it once",
    ),
    "a meaning without words": (
        'means = { result = ["pass", "notes"] }', 'means = { result = "pass", critical = "none" }',
        "types.passed.means.critical", "result",
    ),
    "a meaning that is no word": (
        'means = { result = ["pass", "notes"] }', 'means = { result = "pas" }',
        "types.passed.means.result", "mean pass?",
    ),
    "the same meaning twice": (
        'means = { result = ["fail", "partly"] }', 'means = { result = ["pass", "notes"] }',
        "types.rejected.intent", "passed means review already",
    ),
    "a meaning that others never say of such an act": (
        'intent = ["review", "verdict"]\nmeans = { result = ["fail"',
        'intent = ["blocked", "review"]\nmeans = { result = ["fail"',
        "types.rejected.intent", "halt means blocked already",
    ),
    "a type that means yes and no at once": (
        'means = { result = ["pass", "notes"] }', 'means = { result = ["pass", "fail"] }',
        "types.passed.means.result", "both pass and fail",
    ),
    "a name with a dot": (
        'mark = { type = "string", max = 2 }', '"a.b" = "string"\n[types.day_slip.fields."c[]d"]\ntype = "string"',
        "types.day_slip.says.details", "rename the field",
    ),
    "values of a text": (
        "severity = { high", 'needs = { high = "x" }\nseverity = { high', "types.halt.values.needs", "as they stand",
    ),
    "a number for a choice": ('status = "job.state"', 'status = "debt"', "types.day_slip.says.status", "an enum"),
    "a default inside an object that has no such field": (
        'job.shift = "day"', 'job.shfit = "day"', "types.day_slip.defaults.job.shfit", "mean shift?",
    ),
}  # fmt: skip


@proves("translation/own/flaws")
@pytest.mark.parametrize("name", list(AWKWARD_FLAWS))
def test_what_lies_deeper_is_told_as_exactly(name: str) -> None:
    before, after, where, word = AWKWARD_FLAWS[name]
    assert before in AWKWARD_FILE
    text = AWKWARD_FILE.replace(before, after, 1)
    if name == "a name with a dot":
        text = text.replace('details = "remarks"', 'details = "a.b"')
    found = declare(text, "works.toml")
    told = [flaw.say for flaw in found.flaws if flaw.where == where]
    assert told, [show(flaw) for flaw in found.flaws]
    assert word in told[0]


@proves("translation/own/flaws")
def test_a_body_says_a_text_and_nothing_else() -> None:
    found = declare(NOTES_FILE.replace('body = "details"', 'body = "status"'), "notes.toml")
    assert ("types.draft.body", True) in [(flaw.where, "text" in flaw.say) for flaw in found.flaws]
    stopped = NOTES_FILE.replace('intent = "progress"', 'intent = "stopped"').replace(
        'body = "details"', 'body = "approved"'
    )
    said = [flaw.say for flaw in declare(stopped, "notes.toml").flaws if flaw.where == "types.draft.body"]
    assert said == ["approved is no text, which is all that a body is"]


@proves("translation/own/remarks")
def test_what_cannot_be_said_one_way_or_the_other_is_remarked_and_no_flaw() -> None:
    found = declare(AWKWARD_FILE, "works.toml")
    assert found.flaws == ()
    told = {remark.where: remark.say for remark in found.remarks}
    lost = told["types.day_slip.values.status"]
    assert "'lost' of status means none of" in lost
    assert lost.endswith("what says so reaches others as markdown")
    assert "grave is required" in told["types.rejected.fields.faults"]
    assert "colour is required" in told["types.complaint.fields.colour"]
    said = [remark.say for remark in found.remarks if remark.where == "types.halt.values.severity"]
    assert [say.partition(" means ")[0] for say in said] == ["no value of severity", "'violet' of severity"]
    assert declare(PLAIN_FILE, "kanban.toml").remarks == ()


@proves("translation/own/least")
def test_a_field_that_is_called_as_the_term_is_needs_no_line() -> None:
    meaning = KANBAN.types["moved"].semantics
    assert meaning.terms == {"status": "column", "details": "note", "task": "card", "commit": "commit"}
    silent = declared(PLAIN_FILE.replace('says = { status = "column"', 'says = { commit = false, status = "column"'))
    assert "commit" not in silent.types["moved"].semantics.terms


@proves("translation/own/least")
def test_a_field_that_says_one_thing_by_its_line_says_no_other_by_its_name() -> None:
    titled = declared(
        PLAIN_FILE.replace('says = { details = "text", constraints', 'says = { details = "title", constraints')
    )
    meaning = titled.types["put_up"].semantics
    assert (meaning.terms["details"], "title" in meaning.terms) == ("title", False)


@proves("translation/own/least")
def test_a_line_is_enough_where_fields_and_values_are_called_as_everybody_calls_them() -> None:
    words = ", ".join(f'"{word}"' for word in INTENTS["progress"].terms["status"].words)
    short = f"""
        name = "short"
        version = "1"
        purpose = "As short as it can be."
        [types.report]
        purpose = "How it goes."
        senders = ["dev"]
        receivers = ["lead"]
        intent = "progress"
        [types.report.fields]
        task = "string"
        status = {{ type = "enum", values = [{words}] }}
    """
    meaning = declared(short).types["report"].semantics
    assert (meaning.terms, set(meaning.words)) == ({"task": "task", "status": "status"}, {"status"})


@proves("translation/own/least")
def test_the_page_shows_a_type_of_the_example_and_every_term_there_is() -> None:
    page = (KANBAN_FILE.parent.parent / "own-dialects.md").read_text(encoding="utf-8")
    assert page.split("```toml\n")[2].split("```")[0] in PLAIN_FILE
    terms = {term for intent in INTENTS.values() for term in intent.terms}
    assert [name for name in (*INTENTS, *terms) if f"`{name}`" not in page] == []


@proves("translation/own/deeds")
@pytest.mark.parametrize(
    "dialect, type_, action, field_map",
    [
        (KANBAN, "put_up", "assign", {"task": "card", "title": "title", "details": "text"}),
        (KANBAN, "moved", "status", {"task": "card", "status": "column", "details": "note"}),
        (KANBAN, "stuck", "blocker", {"task": "card", "blocker": "why", "needs": "wish"}),
        (KANBAN, "may_i", "ask", {"task": "card", "subject": "question"}),
        (KANBAN, "checked", "quality", {"task": "card", "status": "result"}),
        (AWKWARD, "complaint", "", {}),  # it has no level: no rules apply
        (NOTES, "strike", "answer", {"approved": "taken", "decision": "taken", "reason": "$body"}),
    ],
)
def test_an_intent_gives_a_type_its_work_action(
    dialect: Dialect, type_: str, action: str, field_map: dict[str, str]
) -> None:
    semantics = dialect.types[type_].semantics
    assert (semantics.action, semantics.field_map) == (action, field_map)


@proves("translation/own/deeds")
def test_values_of_a_field_are_read_as_the_work_rules_have_them() -> None:
    moved, ruling = KANBAN.types["moved"], KANBAN.types["ruling"]
    assert moved.semantics.spelling["status"]["completed"] == ("done",)
    assert fields_of({"column": "dropped", "card": "c-1"}, KANBAN, moved)["status"] == "failed"
    assert fields_of({"ok": False}, KANBAN, ruling)["decision"] == "rejected", "conditional is written so, too"
    assert fields_of({"ok": True}, KANBAN, ruling)["approved"] is True
    strike = parse_tree(b"---\ntype: strike\nfrom: ed\ntaken: true\n---\nGood.\n", NOTES, NOTES.types["strike"])
    fields = fields_of(strike, NOTES, NOTES.types["strike"])
    assert (fields["decision"], fields["reason"]) == ("approved", "Good.")


@proves("translation/own/flaws")
@given(st.fixed_dictionaries({}, optional={key: NEARLY.get(key, VALUES) | VALUES for key in KEYS}))
def test_whatever_stands_there_is_a_flaw_or_a_meaning_and_never_a_crash(said: dict[str, object]) -> None:
    sheet = TomlDocument("odd.toml", {})
    types = TomlValue({"t": said}, ("types",), sheet)
    found = with_semantics(types, {"t": KANBAN.types["moved"]}, KANBAN)
    assert sheet.flaws or found["t"].semantics.intents or not said
    assert all(flaw.say for flaw in sheet.flaws)
