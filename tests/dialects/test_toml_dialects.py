"""Is a dialect in a TOML file as good as one of ours, and is a wrong file told what to change, and where?"""

from pathlib import Path

import pytest

from telex.dialects.registry import BUILT_IN, by_name
from telex.dialects.schema import (
    ANY,
    BOOLEAN,
    MOMENT,
    OPEN,
    TEXT,
    Anything,
    Dialect,
    EnvelopeFields,
    Field,
    Group,
    HardRule,
    Integer,
    ListOf,
    MapOf,
    Number,
    OneOf,
    Text,
    Tree,
)
from telex.dialects.toml.fields import KINDS
from telex.dialects.toml.loader import DIALECT_KEYS, TYPE_KEYS, declare, show
from telex.dialects.toml.rules import KEYS as RULE_KEYS
from telex.validation.authorization import authorise_recipient, authorise_sender
from telex.validation.rules import validate

DOCS = Path(__file__).parents[2] / "docs"
TRAIN = (DOCS / "examples/release-train.toml").read_text(encoding="utf-8")

HEAD = 'name = "mine"\nversion = "1.0"\npurpose = "A test."\n'
TYPE = '[types.t]\npurpose = "One."\nsenders = ["dev"]\nreceivers = ["lead"]\n'
BASE = """\
name = "mine"
version = "1.0"
purpose = "A test."
roles = ["dev", "lead"]
payload = "body"
[envelope]
id = "string"
at = "datetime"
[wire]
id = "id"
timestamp = "at"
[chain]
dev = "lead"
[types.ask]
purpose = "A question."
senders = ["dev"]
receivers = ["lead"]
priority = "VALIDATION"
reply = "answer"
[types.ask.fields]
title = "string"
verdict = { type = "enum", values = ["go", "no-go"] }
builds = { type = "integer", min = 1, max = 50 }
share = "number?"
sure = "boolean"
due = "datetime?"
failed = { type = "list", of = "string", required = false }
marks = { type = "map", of = "integer", required = false }
checks = { type = "object", fields = { passed = "integer" } }
extra = "any?"
[[types.ask.rules]]
code = "go-with-failures"
broken_when = "verdict == 'go' and len(failed) > 0"
path = "verdict"
say = "Say no-go."
[types.ask.example.body]
title = "Ready"
verdict = "go"
builds = 2
sure = true
checks = { passed = 3 }
[types.answer]
purpose = "An answer."
senders = ["lead"]
receivers = ["*"]
"""


def good(text: str) -> Dialect:
    declared = declare(text, "mine.toml")
    assert declared.dialect is not None, [show(flaw) for flaw in declared.flaws]
    return declared.dialect


def findings(dialect: Dialect, type_: str, tree: Tree) -> list[str]:
    """Everything said about a message, the way a user would hear it."""
    declared = dialect.types[type_]
    authorised = (*authorise_sender(tree, dialect, declared), *authorise_recipient(tree, dialect, declared))
    found = (*validate(tree, dialect, declared).findings, *authorised)
    return [f"{finding.code} {finding.path}" for finding in found]


# --- a good file ---------------------------------------------------------------------------------------------------


def test_the_example_of_the_docs_is_a_dialect_like_any_other() -> None:
    train = good(TRAIN)
    assert (train.name, train.version, train.form, train.payload) == ("release-train", "1.0", "json", None)
    assert train.roles == ("builder", "captain", "signaller")
    assert train.wire == EnvelopeFields(id="id", correlation="train", sender="from", timestamp="sent_at")
    ready = train.types["release_ready"]
    assert (ready.senders, ready.receivers, ready.priority, ready.reply) == (
        ("builder",),
        ("captain",),
        "VALIDATION",
        "release_answer",
    )
    assert list(train.fields_of(ready))[:4] == ["type", "id", "from", "sent_at"]
    assert [rule.code for type_ in train.types.values() for rule in type_.rules] == [
        "go-with-failures",
        "left-behind-without-reason",
    ]


def test_a_declared_rule_and_a_declared_role_are_kept_like_built_in_ones() -> None:
    train = good(TRAIN)
    message = {**train.types["release_ready"].example, "verdict": "go", "failed": ["Links"], "from": "captain"}
    assert findings(train, "release_ready", message) == ["go-with-failures $.verdict", "role-may-not-send $.from"]


@pytest.mark.parametrize(
    "text", [TRAIN, BASE, 'extends = "vbw-typed"\n' + HEAD + TYPE], ids=["train", "base", "extends"]
)
def test_every_example_passes_its_own_check_with_no_finding(text: str) -> None:
    dialect = good(text)
    for type_ in dialect.types.values():
        assert findings(dialect, type_.name, type_.example) == []


@pytest.mark.parametrize(
    "written, field",
    [
        ('"string"', Field(TEXT)),
        ('"string?"', Field(TEXT, required=False)),
        ('{ type = "string", max = 9, empty = true }', Field(Text(may_be_empty=True, characters_max=9))),
        ('{ type = "integer", min = 1, max = 50 }', Field(Integer(1, 50))),
        ('{ type = "integer", required = false }', Field(Integer(), required=False)),
        ('{ type = "number", min = 0.5 }', Field(Number(0.5))),
        ('"boolean"', Field(BOOLEAN)),
        ('"datetime"', Field(MOMENT)),
        ('{ type = "enum", values = ["a", "b"] }', Field(OneOf(("a", "b")))),
        ('{ type = "list", of = "string" }', Field(ListOf(TEXT))),
        ('{ type = "list", of = { type = "enum", values = ["a"] } }', Field(ListOf(OneOf(("a",))))),
        ('{ type = "map", of = "integer" }', Field(MapOf(Integer()))),
        ('"object"', Field(OPEN)),
        ('{ type = "object", fields = { type = "string" } }', Field(Group({"type": Field(TEXT)}))),
        ('"any?"', Field(Anything(), required=False)),
    ],
)
def test_every_kind_of_field_can_be_declared(written: str, field: Field) -> None:
    assert good(f"{HEAD}{TYPE}[types.t.fields]\nf = {written}\n").types["t"].fields == {"f": field}


def test_a_field_may_be_a_table_of_its_own_instead_of_one_in_braces() -> None:
    dialect = good(f'{HEAD}{TYPE}[types.t.fields.n]\ntype = "integer"\nmin = 2\n')
    assert dialect.types["t"].fields == {"n": Field(Integer(2))}


def test_roles_that_are_not_listed_are_those_that_send_and_receive() -> None:
    assert good(HEAD + TYPE).roles == ("dev", "lead")


def test_rules_at_the_top_hold_for_every_type() -> None:
    rule = "[[rules]]\ncode = 'c'\nbroken_when = \"id == 'x' and has(id)\"\npath = 'id'\nsay = 'Another id.'\n"
    dialect = good(f'{HEAD}[envelope]\nid = "string"\n{TYPE}{rule}')
    assert dialect.rules == (HardRule("c", "id == 'x' and has(id)", "id", "Another id."),)
    assert findings(dialect, "t", {"type": "t", "id": "x"}) == ["c $.id"]


def test_front_matter_has_sections_and_a_body_that_shows_them() -> None:
    text = f'{HEAD}form = "front-matter"\n{TYPE}sections = ["Result"]\n'
    type_ = good(text).types["t"]
    assert (type_.sections, type_.body_example) == (("Result",), "## Result\n…\n")
    written = good(f'{text}example_body = "# result\\nDone.\\n"\n').types["t"]
    assert written.body_example == "# result\nDone.\n"


def test_names_that_python_could_not_have_are_names_of_fields_all_the_same() -> None:
    names = ["class", "None", "a b", "größe", "1st", "$ref", "a.b", "__proto__", "'", "</b>", "x" * 64]
    fields = "".join(f"{name!r} = 'integer'\n" if "'" not in name else f'"{name}" = "integer"\n' for name in names)
    rule = "[[types.t.rules]]\ncode = 'c'\nbroken_when = 'class > 5 or größe > 5'\npath = 'class'\nsay = 'Less.'\n"
    dialect = good(f"{HEAD}{TYPE}[types.t.fields]\n{fields}{rule}".replace("größe > 5", "None > 5"))
    assert list(dialect.types["t"].fields) == names
    message = {"type": "t", **dict.fromkeys(names, 6)}
    assert findings(dialect, "t", message) == ["c $.class"]


def test_the_page_on_own_dialects_is_true_and_names_every_key() -> None:
    page = (DOCS / "own-dialects.md").read_text(encoding="utf-8")
    assert page.split("```toml\n")[1].split("```")[0] in TRAIN
    keys = {
        *DIALECT_KEYS,
        *TYPE_KEYS,
        *RULE_KEYS,
        *KINDS,
        *EnvelopeFields._fields,
        *(key for own, _ in KINDS.values() for key in own),
    }
    assert [key for key in keys if f"`{key}" not in page] == []


# --- types without an example --------------------------------------------------------------------------------------

RULE = '[[types.t.rules]]\ncode = "c"\nbroken_when = "{}"\npath = "v"\nsay = "Another."\n'


@pytest.mark.parametrize(
    "fields",
    [
        'v = { type = "enum", values = ["a", "b"] }\nw = { type = "number", max = 0.5 }',
        'v = { type = "string", max = 2 }\nw = "boolean"\nx = "datetime"\ny = "any"\nz = "string?"',
        'v = { type = "list", of = { type = "object", fields = { n = "integer", m = "integer?" } } }',
        'v = { type = "map", of = "integer" }\nw = "object"',
    ],
)
def test_a_type_without_an_example_gets_one_of_plain_values(fields: str) -> None:
    dialect = good(f"{HEAD}{TYPE}[types.t.fields]\n{fields}\n")
    assert findings(dialect, "t", dialect.types["t"].example) == []


def test_an_example_is_needed_where_plain_values_break_a_rule() -> None:
    text = f"{HEAD}{TYPE}[types.t.fields]\nv = 'integer'\n{RULE.format('v < 40')}"
    declared = declare(text, "mine.toml")
    assert [(flaw.line, flaw.where) for flaw in declared.flaws] == [(4, "types.t.example")]
    assert good(f"{text}[types.t.example]\nv = 41\n").types["t"].example == {"type": "t", "v": 41}


# --- extending a built-in dialect ----------------------------------------------------------------------------------


@pytest.mark.parametrize("base", BUILT_IN, ids=lambda dialect: dialect.name)
def test_a_dialect_that_extends_a_built_in_has_all_of_it_and_its_own(base: Dialect) -> None:
    mine = good(f'extends = "{base.name}"\n{HEAD}{TYPE}')
    assert list(mine.types) == [*base.types, "t"]
    assert (mine.form, mine.payload, mine.wire, mine.chain) == (base.form, base.payload, base.wire, base.chain)
    assert (mine.rules, mine.addresses) == (base.rules, base.addresses)
    assert set(mine.roles) == {*base.roles, "dev", "lead"}
    assert all(mine.types[name] == base.types[name] for name in base.types)


def test_a_type_of_the_same_name_takes_the_place_of_the_inherited_one() -> None:
    mine = good(f'extends = "vbw-handoff"\n{HEAD}{TYPE.replace("types.t", "types.dev_progress")}')
    assert (mine.types["dev_progress"].purpose, mine.types["dev_progress"].fields) == ("One.", {})


def test_a_new_role_may_sign_the_envelope_of_the_dialect_extended() -> None:
    mine = good(f'extends = "vbw-typed"\n{HEAD}{TYPE.replace("dev", "captain")}')
    assert mine.types["t"].example["author_role"] == "captain"
    assert findings(mine, "t", mine.types["t"].example) == []


def test_a_remark_names_an_inherited_example_that_breaks_a_new_rule() -> None:
    rule = "[[rules]]\ncode = 'c'\nbroken_when = \"confidence != 'low'\"\npath = 'confidence'\nsay = 'Be humble.'\n"
    declared = declare(f'extends = "vbw-typed"\n{HEAD}{rule}', "mine.toml")
    assert declared.dialect is not None
    assert {remark.where for remark in declared.remarks} == {"rules"}
    named = [remark.say.split()[4] for remark in declared.remarks]
    broken = [t for t in declared.dialect.types.values() if findings(declared.dialect, t.name, t.example)]
    assert named == [type_.name for type_ in broken] != []


def test_an_extended_envelope_may_grow_by_optional_fields_only() -> None:
    grown = good(f'extends = "build-flow"\n{HEAD}[envelope]\nteam = "string?"\n')
    assert "team" in grown.envelope
    declared = declare(f'extends = "build-flow"\n{HEAD}[envelope]\nteam = "string"\nto = "string?"\n', "mine.toml")
    assert [(flaw.line, flaw.where) for flaw in declared.flaws] == [(6, "envelope.team"), (7, "envelope.to")]


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm() -> None:
    assert good("\ufeff" + TRAIN.replace("\n", "\r\n")) == good(TRAIN)


def test_the_dialects_there_are_can_be_told_to_it() -> None:
    plain = by_name("vbw-handoff")
    assert plain is not None
    assert declare(HEAD.replace("mine", "vbw-handoff") + TYPE, "mine.toml", built_in=()).dialect is not None
    assert good(HEAD + TYPE).types["t"].receivers != ANY
