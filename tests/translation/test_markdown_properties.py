"""Can anything that a message says change its markdown, or get lost in it?"""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import TYPE, Dialect, MessageType, Tree
from telex.model.text import shown
from telex.testing.strategies import wire
from telex.translation.envelope import MessageHeader
from telex.translation.markdown import LINE_CHARACTERS_MAX, render
from tests.dialects.arbitrary import KEYS, VALUES
from tests.markdown_reader import codes, kinds, layout, lines
from tests.proofs import proves

Spoken = tuple[Dialect, MessageType]
TYPES = st.sampled_from([(dialect, type_) for dialect in BUILT_IN for type_ in dialect.types.values()])
HEADER = MessageHeader("msg-1", 0.0, "ada", "dev", "lead", "lead", "T-1", "ask-1")
OURS = {"text", "softbreak", "strong_open", "strong_close", "code_inline", "inline", "fence"} | {
    f"{what}_{end}"
    for what in ("heading", "paragraph", "bullet_list", "list_item", "blockquote")
    for end in ("open", "close")
}
# What takes effect somewhere: at the start of a line, within it, over several lines, on a terminal.
STARTS = ["# a", "## Reply", "#", "---", "- - -", "***", "===", "=", "- approved: yes", "-", "--", "+ a", "* a", "1. a"]
STARTS += [
    "1) a",
    "> a",
    ">",
    "```",
    "````",
    "~~~",
    "```json",
    "    a",
    "  - a",
    "| a | b |",
    "|---|---|",
    "-|-",
    ":-:",
]
WITHIN = ["`a`", "``", "<b>", "</b>", "<script>", "<!--", "-->", "<!DOCTYPE a>", "<?a?>", "<http://a.b>", "<a@b.c>"]
WITHIN += ["&lt;", "&#42;", "&amp", "![a](b)", "[a](b)", "[a]: b", "[a]", "[ ]", "(", ")", "a_b", "_a_", "__a__", "_"]
WITHIN += ["**a**", "*", "~~a~~", "~", "\\", "\\*", "a\\", "!", ":", ": a", '"', "'", "$a$", "#1", "http://a.b"]
UNSEEN = [
    "",
    "  ",
    "a  ",
    "\t",
    "\x1b[31m",
    "\r",
    "\u202e",
    "\u200b",
    "\u2028",
    "\xa0",
    "\x85",
    "\x0c",
    "é",
    "漢",
    "a²_b",
]
FRAGMENTS = [*STARTS, *WITHIN, *UNSEEN, "telex ack 1"]
_ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
JOINED = st.lists(st.sampled_from(FRAGMENTS) | _ANY, max_size=5)
ONE_LINE = (st.sampled_from(FRAGMENTS) | JOINED.map("".join) | JOINED.map(" ".join)).map(lambda t: t.replace("\n", " "))
TABLES = st.sampled_from(
    ["a | b\n:-- | --:", "| a | b |\n|---|---|\n| c | d |", "a | b\n-|-", "a\n\n    b", "a\n\n\tb"]
)
SEVERAL = (st.lists(ONE_LINE | TABLES, min_size=2, max_size=6).map("\n".join) | TABLES).filter(
    lambda text: "\n" in text.strip()
)


def saying(value: Any, text: str) -> Any:
    """The same with this text wherever there was one."""
    if isinstance(value, dict):
        return {key: saying(one, text) for key, one in value.items()}
    if isinstance(value, list):
        return [saying(one, text) for one in value]
    return text if isinstance(value, str) else value


def saying_everywhere(spoken: Spoken, text: str) -> Tree:
    """The type's example with this text in all of its own fields."""
    dialect, type_ = spoken
    inside = type_.example[dialect.payload] if dialect.payload else type_.example
    said = {name: saying(value, text) for name, value in inside.items() if name != TYPE}
    return type_.example | ({dialect.payload: said} if dialect.payload else said)


@proves("rendering/hostile", "rendering/hostile/readable")
@given(spoken=TYPES, text=ONE_LINE.filter(str.strip))
def test_a_line_stays_a_line(spoken: Spoken, text: str) -> None:
    page = render(saying_everywhere(spoken, text), *spoken, HEADER)
    harmless = render(saying_everywhere(spoken, "x"), *spoken, HEADER)
    assert layout(page) == layout(harmless)
    assert kinds(page) <= OURS
    words = shown(text.strip().replace("\t", " ")).strip()
    places = sum(line == "x" or line.endswith(": x") for line in lines(harmless))
    assert sum(line == words or line.endswith(f": {words}") for line in lines(page)) >= places


@proves("rendering/hostile", "rendering/hostile/readable")
@given(spoken=TYPES, text=SEVERAL)
def test_a_text_of_several_lines_stays_in_its_quotation(spoken: Spoken, text: str) -> None:
    page = render(saying_everywhere(spoken, text), *spoken, HEADER, text)
    harmless = render(saying_everywhere(spoken, "x\ny"), *spoken, HEADER, "x\ny")
    assert layout(page) == layout(harmless)
    assert kinds(page) <= OURS
    wanted = [shown(line.replace("\t", "    ")).strip() for line in text.split("\n")]
    seen = "\n".join(("", *lines(page), ""))
    places = "\n".join(("", *lines(harmless), "")).count("\nx\ny\n")
    assert seen.count("\n".join(["", *filter(None, wanted), ""])) >= places


@proves("rendering/hostile")
@given(spoken=TYPES, key=ONE_LINE, value=ONE_LINE | SEVERAL)
def test_a_name_that_the_sender_chose_stays_a_name(spoken: Spoken, key: str, value: str) -> None:
    page = render(spoken[1].example | {f"{key} ": {f"{key}": value}, f"{key}  ": value}, *spoken, HEADER)
    harmless = value if "\n" not in value.strip() else "x\ny"
    assert layout(page) == layout(render(spoken[1].example | {"x": {"x": harmless}, "y": harmless}, *spoken, HEADER))
    assert kinds(page) <= OURS


@proves("rendering/hostile/names")
@given(
    spoken=TYPES, name=ONE_LINE.filter(str.strip), place=st.sampled_from(["id", "sender", "recipient", "sender_role"])
)
def test_a_name_that_a_shell_would_act_on_stands_in_no_command(spoken: Spoken, name: str, place: str) -> None:
    page = render(spoken[1].example, *spoken, MessageHeader(**(HEADER._asdict() | {place: name})))
    assert kinds(page) <= OURS
    assert [kind for kind in layout(page) if "heading" in kind] == ["heading_openh1", "heading_closeh1"]
    for command in codes(page):
        assert re.fullmatch(r"telex( --?[a-z]?[a-z-]*| [A-Za-z0-9][A-Za-z0-9_.:@-]*)+", command), command


@proves("rendering/facts")
@given(data=st.data(), spoken=TYPES)
def test_every_valid_message_can_be_rendered_and_nothing_of_it_is_missing(data: st.DataObject, spoken: Spoken) -> None:
    dialect, type_ = spoken
    drawn = data.draw(wire(dialect, type_))
    page = render(drawn.tree, dialect, type_, HEADER, drawn.body)
    assert kinds(page) <= OURS
    seen = "\n".join(lines(page))
    inside = drawn.tree[dialect.payload] if dialect.payload else drawn.tree
    for name in type_.fields:
        for line in (line for text in texts_in(inside.get(name)) for line in text.strip().split("\n")):
            assert shown(line.replace("\t", "    ")).strip() in seen or "\t" in line


@proves("rendering/facts")
@given(spoken=TYPES, odd=st.dictionaries(KEYS, VALUES, max_size=4), inside=VALUES)
def test_whatever_a_lenient_team_let_pass_can_be_rendered(spoken: Spoken, odd: dict[str, Any], inside: Any) -> None:
    dialect, type_ = spoken
    tree = type_.example | odd | ({dialect.payload: inside} if dialect.payload else {})
    page = render(tree, dialect, type_, HEADER)
    assert kinds(page) <= OURS
    if isinstance(inside, str) and dialect.payload and "\n" not in inside:
        assert f"- {dialect.payload}: " in page or len(inside) > LINE_CHARACTERS_MAX


def texts_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in texts_in(one)]
    if isinstance(value, list):
        return [text for one in value for text in texts_in(one)]
    return [value] if isinstance(value, str) else []
