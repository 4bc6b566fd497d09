"""Problems of a dialect file: each is reported with its file and line, and no text takes long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.dialects.toml.document import NESTING_MAX, line_of, scan
from telex.dialects.toml.loader import FILE_BYTES_MAX, LoadedDialect, declare, show
from tests.dialects.test_toml_dialects import BASE, HEAD, TRAIN, TYPE, findings, good

LIKE_A_FRAME = """
name = "mine"
version = "1.0"
purpose = "A test."
[types.idle_notification]
purpose = "Nothing to do."
senders = ["a"]
receivers = ["b"]
[types.idle_notification.fields]
reason = "string"
"""


def test_a_type_that_looks_like_a_frame_of_coding_tools_is_a_flaw_until_it_differs() -> None:
    [flaw] = declare(LIKE_A_FRAME, "mine.toml").flaws
    assert flaw.where == "types.idle_notification"
    assert "unread" in flaw.say
    assert declare(LIKE_A_FRAME + 'until = "datetime"', "mine.toml").flaws == ()


# --- a wrong file: each flaw with file, line and key ---------------------------------------------------------------

# what is written instead, marked #!, and where the flaw is: the key, and a word that has to be said
FLAWS: dict[str, tuple[str, str, str, str]] = {
    "an unknown key": ('version = "1.0"', 'version = "1.0"\nvresion = "2" #!', "vresion", "did you mean version?"),
    "a name with capitals": ('name = "mine"', 'name = "Mine" #!', "name", "'Mine'"),
    "the name of a built-in": ('name = "mine"', 'name = "vbw-typed" #!', "name", "built-in"),
    "the name plain": ('name = "mine"', 'name = "plain" #!', "name", "built-in"),
    "a version that is a number": ('version = "1.0"', "version = 1.0 #!", "version", "found 1.0"),
    "a purpose of two lines": ('purpose = "A test."', 'purpose = "A\\ntest." #!', "purpose", "one line"),
    "an empty purpose": ('purpose = "A question."', 'purpose = " " #!', "types.ask.purpose", "text"),
    "an unknown form": ("payload", 'form = "xml" #!\npayload', "form", "json, front-matter"),
    "a payload in front matter": ('payload = "body"', 'form = "front-matter"\npayload = "body" #!', "payload", "flat"),
    "a payload of the envelope": ('payload = "body"', 'payload = "id" #!', "payload", "'id'"),
    "extends of nothing": ("payload", 'extends = "nothing-like-it" #!\npayload', "extends", "vbw-typed"),
    "an envelope that is text": ("[envelope]", 'envelope = "x" #!\n[x]', "envelope", "a table"),
    "wire to an unknown field": ('id = "id"', 'id = "idd" #!', "wire.id", "there is no field 'idd'"),
    "wire to a payload's field": ('id = "id"', 'correlation = "title" #!', "wire.correlation", "no field 'title'"),
    "wire to a field of the wrong kind": ('timestamp = "at"', 'timestamp = "id" #!', "wire.timestamp", "datetime"),
    "wire to a name with a dot": ('[wire]\nid = "id"', '"a.b" = "string"\n[wire]\nid = "a.b" #!', "wire.id", "rename"),
    "a number with a fraction": ("max = 50 }", "max = 5.5 } #!", "types.ask.fields.builds.max",
        "an integer, found 5.5"),
    "an unknown wire": ('id = "id"', 'ids = "id" #!', "wire.ids", "did you mean id?"),
    "a chain with an unknown role": ('dev = "lead"', 'dv = "lead" #!', "chain.dv", "dev"),
    "a chain to an unknown role": ('dev = "lead"', 'dev = "laed" #!', "chain.dev", "did you mean lead?"),
    "a chain that goes round": ('dev = "lead"', 'dev = "lead" #!\nlead = "dev"', "chain.dev", "top"),
    "a type's odd name": ("[types.answer]", '["types"."an swer"] #!', 'types."an swer"', "letters"),
    "no purpose": ('[types.answer]\npurpose = "An answer."', "[types.answer] #!", "types.answer.purpose", "missing"),
    "no senders": ('senders = ["lead"]', "", "types.answer.senders", "missing"),
    "an unknown sender": ('senders = ["lead"]', 'senders = ["laed"] #!', "types.answer.senders[0]", "mean lead?"),
    "senders that are no list": ('senders = ["lead"]', 'senders = "lead" #!', "types.answer.senders", "a list"),
    "no sender at all": ('senders = ["lead"]', "senders = [] #!", "types.answer.senders", "at least one"),
    "all and one": ('senders = ["lead"]', 'senders = ["lead", "*"] #!', "types.answer.senders[1]", "alone"),
    "a sender twice": ('senders = ["lead"]', 'senders = ["lead", "lead"] #!', "types.answer.senders[1]", "twice"),
    "an unknown priority": ('priority = "VALIDATION"', 'priority = "VALIDATON" #!', "types.ask.priority",
        "mean VALIDATION?"),
    "a reply to nobody": ('reply = "answer"', 'reply = "anwser" #!', "types.ask.reply", "mean answer?"),
    "sections in JSON": ('priority = "VALIDATION"', 'sections = ["A"] #!', "types.ask.sections", "front-matter"),
    "a field called type": ('title = "string"', 'title = "string"\ntype = "string?" #!', "types.ask.fields.type",
        "type"),
    "a type of field there is not": ('sure = "boolean"', 'sure = "boolaen" #!', "types.ask.fields.sure", "boolean"),
    "a field that is a number": ('sure = "boolean"', "sure = 3 #!", "types.ask.fields.sure", "found 3"),
    "an enum with no values": ('sure = "boolean"', 'sure = "enum" #!', "types.ask.fields.sure", "values"),
    "an empty enum": ('values = ["go", "no-go"] }', "values = [] } #!", "types.ask.fields.verdict.values", "one value"),
    "a value twice": ('["go", "no-go"] }', '["go", "go"] } #!', "types.ask.fields.verdict.values[1]", "twice"),
    "a value that is no text": ('["go", "no-go"] }', '["go", 1] } #!', "types.ask.fields.verdict.values[1]", "text"),
    "a bound that is text": ("min = 1,", 'min = "a", max = 50 } #!\n#', "types.ask.fields.builds.min", "'a'"),
    "a bound that is a float": ("min = 1,", "min = 1.5, max = 50 } #!\n#", "types.ask.fields.builds.min", "1.5"),
    "min above max": ("min = 1,", "min = 51, max = 50 } #!\n#", "types.ask.fields.builds.min", "51"),
    "a key of another kind": ("min = 1,", "of = 1, max = 50 } #!\n#", "types.ask.fields.builds.of", "no such key"),
    "an endless number": ("min = 1,", f"min = {2**64}, max = 50 }} #!\n#", "types.ask.fields.builds.min", "64 bits"),
    "no type": ('{ type = "map", of', "{ of", "types.ask.fields.marks.type", "missing"),
    "a list of nothing": ('"list", of = "string", ', '"list", ', "types.ask.fields.failed.of", "missing"),
    "an item that is optional": ('"list", of = "string"', '"list", of = "string?"', "types.ask.fields.failed.of", "?"),
    "a ? in braces": ('type = "list"', 'type = "list?"', "types.ask.fields.failed.type", "required = false"),
    "required that is text": ("required = false }\nm", 'required = "no" } #!\nm', "types.ask.fields.failed.required",
        "no"),
    "a field inside an object": ('passed = "integer"', 'passed = "int"', "types.ask.fields.checks.fields.passed",
        "int"),
    "a control character": ('title = "string"', '"a\\u0007" = "string?" #!', 'types.ask.fields."a\\u0007"', "control"),
    "a name too long": ('title = "string"', f'{"x" * 65} = "string?" #!', "types.ask.fields", "64"),
    "a name with a quote": ('title = "string"', "'a\"' = 'string?' #!", "types.ask.fields", "quote"),
    "a name like a step": ('title = "string"', '"a[]" = "string?" #!', 'types.ask.fields."a[]"', "[]"),
    "a rule with no code": ('code = "go-with-failures"\n', "", "types.ask.rules[0].code", "missing"),
    "a code with capitals": ('code = "go', 'code = "Go', "types.ask.rules[0].code", "hyphens"),
    "an unknown path": ('path = "verdict"', 'path = "verdit" #!', "types.ask.rules[0].path", "mean verdict?"),
    "an unknown severity": ("say = ", 'severity = "note" #!\nsay = ', "types.ask.rules[0].severity", "warning"),
    "an unknown key of a rule": ("say = ", 'says = "x" #!\nsay = ', "types.ask.rules[0].says", "mean say?"),
    "rules that are no list": ("[[types.ask.rules]]", "[types.ask.rules] #!", "types.ask.rules", "a list"),
    "an example with a field missing": ('title = "Ready"\n', "", "types.ask.example.body.title", "missing"),
    "an example with an unknown field": ("sure = true", "sre = true #!", "types.ask.example.body.sre", "sure"),
    "an example with a wrong value": ("builds = 2", "builds = 51 #!", "types.ask.example.body.builds", "50"),
    "an example with a wrong word": ('dict = "go"\nb', 'dict = "ok" #!\nb', "types.ask.example.body.verdict", "no-go"),
    "an example with a blank": ('title = "Ready"', 'title = "<fill: text>" #!', "types.ask.example.body.title",
        "blank"),
    "an example that breaks a rule": ("sure = true", 'sure = true\nfailed = ["x"]', "types.ask.example", "go-with"),
}  # fmt: skip


def test_a_role_fits_in_the_field_that_names_it() -> None:
    text = TRAIN.replace('from = "string"', 'from = { type = "enum", values = ["captain", "signaller"] }')
    assert [flaw.where for flaw in declare(text, "mine.toml").flaws] == ["types.release_ready.senders"]


def test_an_example_is_signed_by_a_role_that_may_send_it() -> None:
    text = TRAIN.replace('component = "mail"', 'component = "mail"\nfrom = "builder"')
    assert [flaw.where for flaw in declare(text, "mine.toml").flaws] == ["types.release_answer.example.from"]


@pytest.mark.parametrize("old, new, where, word", FLAWS.values(), ids=FLAWS)
def test_a_flaw_is_told_with_its_file_and_line(old: str, new: str, where: str, word: str) -> None:
    assert old in BASE
    text = BASE.replace(old, new, 1)
    declared = declare(text, "mine.toml")
    assert declared.dialect is None
    told = [flaw for flaw in declared.flaws if flaw.where.startswith(where) and word in flaw.say]
    assert told, [show(flaw) for flaw in declared.flaws]
    assert told[0].file == "mine.toml"
    marked = [number for number, line in enumerate(text.splitlines(), 1) if "#!" in line]
    assert [told[0].line] == (marked or [told[0].line])


# an expression over the fields of `ask`, and a word of what is said about it
SENSELESS = {
    "verdict = 'go'": "character 9",
    "verdict == 'go' && sure": "write and",
    "verdict == 'go' and": "ends too soon",
    "verdit == 'go'": "did you mean verdict?",
    "checks.pased > 1": "did you mean checks.passed?",
    "verdict == 'nogo'": "did you mean no-go?",
    "'No_Go' == verdict": "did you mean no-go?",
    "verdict != 'stop'": "go, no-go",
    "verdict in ['go', 'nogo']": "did you mean no-go?",
    "builds == 'many'": "can never equal",
    "sure == 'true'": "can never equal",
    "title == 3": "can never equal",
    "due == '2026-01-01T00:00:00Z'": "can never equal",
    "due > 5": "two numbers or two datetimes",
    "title > 'a'": "two numbers or two datetimes",
    "extra > 1": "two numbers or two datetimes",
    "failed == 'x'": "not compared as a whole",
    "checks == 1": "not compared as a whole",
    "1 in failed": "can never equal",
    "1 in marks": "only text",
    "'a' in builds": "looks into a list",
    "len(builds) > 1": "no length",
    "len(sure) > 1": "no length",
    "title + 1 > 2": "only numbers",
    "overlap(failed, checks)": "simple values",
    "overlap(failed, [1, 2])": "can never equal",
    "verdict": "not a condition",
    "not failed": "not a condition",
    "sure and title": "not a condition",
    "has(1) and sure": "one field",
    "1 == 1": "no field",
    "type == 'ask'": "no field 'type'",
    "evaluate(title)": "no function",
    "+".join(["builds"] * 80) + " > 1": "two rules",
    "title == 'x' or " * 70 + "sure": "at most 1000 characters",
}


@pytest.mark.parametrize("expression, word", SENSELESS.items())
def test_a_rule_that_makes_no_sense_is_told_what_does_not(expression: str, word: str) -> None:
    text = BASE.replace("verdict == 'go' and len(failed) > 0", expression)
    [flaw] = declare(text, "mine.toml").flaws
    assert (flaw.line, flaw.where) == (33, "types.ask.rules[0].broken_when")
    assert word in flaw.say


@pytest.mark.parametrize(
    "expression",
    [
        "verdict == 'go' and not sure and builds > 3 and has(due)",
        "verdict in ['no-go'] or 'x' in failed or 'AC1' in marks or 'dra' in title",
        "checks.passed - 1 > builds + 2 or marks.AC1 > 0 or share >= 0.5",
        "overlap(failed, ['x', 'y']) or extra == 'x' or due > at",
        "len(title) > 30 or len(marks) > 2 or id == 'x' or verdict == title",
    ],
)
def test_a_rule_may_say_all_that_the_language_can(expression: str) -> None:
    assert good(BASE.replace("verdict == 'go' and len(failed) > 0", expression)).types["ask"].rules


def test_all_flaws_are_told_at_once_in_the_order_of_the_file() -> None:
    text = BASE.replace('"mine"', '"Mine"').replace("min = 1", "min = true").replace('reply = "answer"', 'reply = "x"')
    assert [(flaw.line, flaw.where) for flaw in declare(text, "mine.toml").flaws] == [
        (1, "name"),
        (19, "types.ask.reply"),
        (23, "types.ask.fields.builds.min"),
    ]


def test_a_type_without_senders_and_receivers_is_not_said_to_be_open_to_all() -> None:
    text = LIKE_A_FRAME.replace('senders = ["a"]\nreceivers = ["b"]', "").replace("idle_notification", "note")
    places = ["types.note.senders", "types.note.receivers"]
    assert [flaw.where for flaw in declare(text, "mine.toml").flaws] == places


def test_a_flaw_reads_like_a_compiler_error() -> None:
    [flaw] = declare(BASE.replace("min = 1", "min = 'a'"), "release.toml").flaws
    assert show(flaw) == "release.toml:23: types.ask.fields.builds.min: expected an integer, found 'a'"


@pytest.mark.parametrize(
    "text, line",
    [("name = \n", 1), ('a = 1\nb = "x\n', 2), ("a = 1\na = 2\n", 2), ("[a]\n[a]\n", 2), ("a = 1\r\n\r\nb == 2", 3)],
)
def test_a_text_that_is_not_toml_is_told_the_line(text: str, line: int) -> None:
    [flaw] = declare(text, "mine.toml").flaws
    assert flaw.line == line
    assert flaw.say.startswith("not TOML: ")


def test_an_empty_file_is_told_everything_that_belongs_in_it() -> None:
    where = [flaw.where for flaw in declare("", "mine.toml").flaws]
    assert where == ["name", "version", "purpose", "types"]


# --- files that mean harm ------------------------------------------------------------------------------------------


def nested(depth: int) -> str:
    return '{ type = "object", fields = { a = ' * depth + '"string"' + " } }" * depth


FIELDS = f"{HEAD}{TYPE}[types.t.fields]\n"
HOSTILE = {
    "too large": "#" * (FILE_BYTES_MAX + 1),
    "too large in bytes": "#" + "é" * (FILE_BYTES_MAX // 2 + 1),
    "a key of 100,000 parts": "a." * 100_000 + "a = 1",
    "100,000 lists": "a = " + "[" * 100_000,
    "objects nine deep": f"{FIELDS}a = {nested(9)}",
    "objects a hundred deep": f"{FIELDS}a = {nested(100)}",
    "a number of 200,000 digits": f"{HEAD}version2 = {'9' * 200_000}",
    "a number of 200,000 hex digits": f"{FIELDS}a = {{ type = 'integer', min = 0x{'f' * 200_000} }}",
    "infinity": f"{FIELDS}a = {{ type = 'number', max = inf }}",
    "20,000 unknown keys": "".join(f"k{n} = 1\n" for n in range(20_000)),
    "5,000 types": HEAD + "".join(f"[types.t{n}]\n" for n in range(5_000)),
    "8,000 fields": FIELDS + "".join(f'f{n} = "string"\n' for n in range(8_000)),
    "2,000 rules": f"{HEAD}{TYPE}" + "[[types.t.rules]]\nbroken_when = 'zzz > 1'\npath = 'yyy'\n" * 2_000,
    "a rule of 100,000 brackets": f"{HEAD}{TYPE}[[types.t.rules]]\nbroken_when = '{'(' * 100_000}'",
    "control characters": 'name = "\\u001b[31m"\n',
}


@pytest.mark.timeout(60)  # each takes tenths of a second: this stops what hangs, and no busy machine
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_told_so_at_once(text: str) -> None:
    declared = declare(text, "mine.toml")
    assert declared.dialect is None
    assert 1 <= len(declared.flaws) <= 201
    assert all(len(show(flaw)) < 1_000 and show(flaw).isprintable() for flaw in declared.flaws)


def is_sound(declared: LoadedDialect) -> bool:
    return (declared.dialect is None) == bool(declared.flaws)


@given(st.text() | st.text("""a1 .,="'[]{}#\\\n"""))
def test_no_text_at_all_makes_it_crash(text: str) -> None:
    assert is_sound(declare(text, "mine.toml"))


JUNK = ["", "1", "-1.5", "true", "nan", '""', '"x"', '"string"', "[]", "[1]", '["*"]', "{}", "{ type = 1 }", "07:30:00"]


@given(st.sampled_from([TRAIN, BASE]), st.integers(0, 60), st.sampled_from(JUNK))
def test_no_value_in_the_wrong_place_makes_it_crash(text: str, line: int, junk: str) -> None:
    lines = text.splitlines()
    line %= len(lines)
    key, equals, _ = lines[line].partition(" = ")
    lines[line] = f"{key}{equals}{junk}" if equals else junk
    declared = declare("\n".join(lines), "mine.toml")
    assert is_sound(declared)
    for type_ in declared.dialect.types.values() if declared.dialect else ():
        assert declared.dialect
        assert findings(declared.dialect, type_.name, type_.example) == []


PAGE = '''# [no.header]
a."b.c" = 1
text = """
[no.header]
x = 1
""" # [x]
'q' = [ # ]
  { in = "]" },
]
[ t . u ]
"\\u00e9" = { x = 1 }
[[list]]
k = """a"""
[[list]]
[list.inner]
k = "\\"] # ["
last = 1'''


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_pair_and_table_is_found_on_its_line(end: str) -> None:
    assert scan(PAGE.replace("\n", end)).lines == {
        (): 1,
        ("a",): 2,
        ("a", "b.c"): 2,
        ("text",): 3,
        ("q",): 7,
        ("q", 0): 8,
        ("t",): 10,
        ("t", "u"): 10,
        ("t", "u", "é"): 11,
        ("list",): 12,
        ("list", 0): 12,
        ("list", 0, "k"): 13,
        ("list", 1): 14,
        ("list", 1, "inner"): 15,
        ("list", 1, "inner", "k"): 16,
        ("list", 1, "inner", "last"): 17,
    }


@given(st.text() | st.text("""a1 .,="'[]{}#\\\n"""))
def test_any_text_at_all_is_scanned_without_a_crash(text: str) -> None:
    scan(text)


def test_a_table_that_comes_after_one_inside_it_is_on_its_own_line() -> None:
    lines = scan("[a.b]\n\n[a]\nc = 1\n").lines
    assert lines == {(): 1, ("a",): 3, ("a", "b"): 1, ("a", "c"): 4}


def test_a_table_within_a_list_of_tables_belongs_to_the_last_one() -> None:
    lines = scan("[[a]]\n[[a]]\n[a.b]\nc = 1\n").lines
    assert lines[("a", 1, "b", "c")] == 4


def test_a_key_that_is_missing_is_on_the_line_of_the_table_it_should_be_in() -> None:
    lines = scan("x = 1\n[a]\nb = 2\n").lines
    assert (line_of(lines, ("a", "c", "d")), line_of(lines, ("z",))) == (2, 1)


@pytest.mark.parametrize(
    "text",
    ["a." * 100_000 + "a = 1", "a = " + "[" * 100_000, "a = " + "{a=" * 100_000, "[" + "a." * 100_000 + "a]"],
    ids=["dotted key", "lists", "inline tables", "header"],
)
def test_nesting_that_would_choke_a_reader_is_told_with_its_line(text: str) -> None:
    assert scan("\n\n" + text).too_deep == 3
    assert NESTING_MAX < 100
