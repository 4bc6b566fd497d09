"""A conversation as a picture: does every picture tell all of it, and can nothing that was said break a picture?"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telex.ports.bus import MessageHistory
from telex.trace.diagrams import WIDTH, render_mermaid, render_sequence, render_tree
from telex.trace.steps import conversation, lease_spans
from telex.trace.svg import render_svg
from telex.trace.text import cells, lasting, moment, offset, squeezed
from tests.trace.trace_conversations import (
    BEGAN_AT,
    Teller,
    broadcast,
    refusal,
    request_and_reply,
    retries_and_a_dead_letter,
    whole_release,
)

PICTURES: dict[str, Callable[[Sequence[MessageHistory]], str]] = {
    "tree": render_tree,
    "sequence": render_sequence,
    "mermaid": render_mermaid,
    "svg": render_svg,
}
SVG = "{http://www.w3.org/2000/svg}"
each_picture = pytest.mark.parametrize("picture", PICTURES)


def read(picture: str, stories: Sequence[MessageHistory]) -> str:
    """What a person reads in the picture, whatever its syntax."""
    text = PICTURES[picture](stories)
    if picture == "svg":
        return "\n".join(part.text or "" for part in ElementTree.fromstring(text).iter())
    if picture == "mermaid":
        return re.sub(r"#(\d+);", lambda code: chr(int(code[1])), text)
    return text


# --- what is told --------------------------------------------------------------------------------------------------


@each_picture
def test_every_picture_names_everyone_and_every_message(picture: str) -> None:
    text = read(picture, whole_release())
    for word in ("release-7", "lead", "dev", "qa", "ops", "telex", "2026-01-01 12:00:00 UTC"):
        assert word in text
    for number, type_ in enumerate(["phase_started", "plan_approval", "qa_verdict", "execution_update"], 1):
        assert re.search(rf"#{number} .*{type_}", text)


@each_picture
def test_every_picture_says_why_a_message_was_refused(picture: str) -> None:
    assert "role-may-not-send" in read(picture, refusal())


@each_picture
def test_every_picture_says_what_failed_and_lapsed_and_died_and_why(picture: str) -> None:
    text = read(picture, retries_and_a_dead_letter())
    for words in (
        "no disk left on the build host",
        "lease-expired after 1 min 00 s",
        "dead after 3 attempts",
        "still no disk",
    ):
        assert words in text


@each_picture
def test_every_picture_is_there_even_where_nothing_was_said(picture: str) -> None:
    assert PICTURES[picture]([]).strip()


@each_picture
def test_a_message_whose_events_were_pruned_is_still_drawn(picture: str) -> None:
    bare = [story._replace(events=()) for story in request_and_reply()]
    assert "task_request" in read(picture, bare)
    assert "task_result" in read(picture, bare)


@each_picture
def test_a_message_to_oneself_is_drawn(picture: str) -> None:
    told = Teller()
    told.send(0.0, "m", "dev", "dev", "note_to_self")
    assert "note_to_self" in read(picture, told.stories())


def test_steps_stand_in_the_order_of_the_record_whatever_the_clocks_say() -> None:
    told = Teller()
    told.send(5.0, "m", "dev", "lead", "late_clock")
    told.taken(1.0, "m", "lead", 2.0)
    whole = conversation(told.stories())
    assert [step.kind for step in whole.steps] == ["accepted", "leased", "acked"]
    assert (whole.began_at, whole.ended_at) == (BEGAN_AT + 1.0, BEGAN_AT + 5.0)


def test_a_message_for_a_role_goes_to_whoever_took_it() -> None:
    told = Teller()
    told.send(0.0, "m", "lead", "role:qa", "scope_check")
    assert conversation(told.stories()).steps[0].to == ("role:qa",)
    told.taken(1.0, "m", "qa-2")
    assert conversation(told.stories()).steps[0].to == ("qa-2",)


def test_each_lease_is_held_until_it_is_settled() -> None:
    whole = conversation(retries_and_a_dead_letter())
    held = [
        (hold.lane, whole.steps[hold.first].attempt, whole.steps[hold.last].kind)
        for hold in lease_spans(whole.steps)
        if hold.last is not None
    ]
    assert held == [("ops", 1, "nacked"), ("ops", 2, "lease-expired"), ("ops", 3, "dead"), ("dev", 1, "acked")]


def test_a_lease_that_still_runs_has_no_end() -> None:
    assert [hold.lane for hold in lease_spans(conversation(broadcast()).steps) if hold.last is None] == ["ops"]


def test_a_request_asked_again_is_an_arrow_of_its_own() -> None:
    told = Teller()
    told.send(0.0, "q", "lead", "dev", "task_request")
    told.happens(300.0, "request-repeated", "q", "dev")
    arrows = [(step.kind, step.lane, step.to) for step in conversation(told.stories()).steps if step.to]
    assert arrows[-1] == ("request-repeated", "lead", ("dev",))


# --- the tree ------------------------------------------------------------------------------------------------------


def test_an_answer_stands_under_its_question_and_the_rest_in_order_of_time() -> None:
    told = Teller()
    told.send(0.0, "q", "lead", "dev", "question")
    told.send(1.0, "other", "qa", "dev", "aside")
    told.send(2.0, "a", "dev", "lead", "answer", reply_to="q")
    told.send(3.0, "b", "lead", "dev", "thanks", reply_to="a")
    lines = render_tree(told.stories()).splitlines()[2:]
    assert [re.sub(r"^ *[+]\S+ \S+  ", "", line).split("  stored")[0].rstrip() for line in lines] == [
        "#1 lead → dev  question",
        "└─ #3 dev → lead  answer",
        "   └─ #4 lead → dev  thanks",
        "#2 qa → dev  aside",
    ]


def test_the_tree_says_how_often_it_was_offered_and_how_long_it_took() -> None:
    text = render_tree(request_and_reply())
    assert "offered 1×, leased after 400 ms, acked after 3.1 s" in text
    assert "offered 3×" in render_tree(retries_and_a_dead_letter())


def test_a_broadcast_has_a_line_for_everyone_it_reached() -> None:
    lines = [line.split() for line in render_tree(broadcast()).splitlines()]
    states = {words[1]: words[2].strip(",") for words in lines if words[:1] == ["·"]}
    assert states == {"dev": "acked", "qa": "acked", "ops": "leased"}


def test_a_message_that_answers_itself_or_the_future_stands_under_nothing() -> None:
    told = Teller()
    told.send(0.0, "m", "dev", "lead", "first", reply_to="m")
    told.send(1.0, "n", "dev", "lead", "second", reply_to="later")
    told.send(2.0, "later", "dev", "lead", "third")
    assert [message.parent for message in conversation(told.stories()).messages] == [None, None, None]


@each_picture
def test_an_exchange_of_many_answers_can_be_drawn(picture: str) -> None:
    told = Teller()
    told.send(0.0, "0", "dev", "lead", "ping")
    for turn in range(1, 1_500):
        told.send(turn, str(turn), "lead", "dev", "pong", reply_to=str(turn - 1))
    text = PICTURES[picture](told.stories())
    assert "#1500" in text.replace("#35;", "#")
    if picture == "tree":
        assert max(map(cells, text.splitlines())) < 100


# --- the sequence diagram ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("agents", [1, 2, 6, 7, 30])
def test_the_diagram_fits_the_width_however_many_agents_there_are(width: int, agents: int) -> None:
    told = Teller()
    for number in range(agents):
        told.send(number, str(number), f"agent-with-a-long-name-{number}", "lead", "execution_update_of_the_phase")
        told.happens(number + 0.5, "leased", str(number), "lead", "leased")
        told.happens(number + 0.6, "nacked", str(number), "lead", "stored", reason="a reason " * 40)
    lines = render_sequence(told.stories(), width).splitlines()
    assert max(map(cells, lines)) <= width
    assert "execution_update" in "".join(lines)


def test_long_names_that_differ_in_their_last_letter_stay_apart() -> None:
    told = Teller()
    for number in range(1, 7):
        told.send(number, str(number), f"frontend-developer-in-the-blue-team-{number}", "lead", "x")
    text = render_sequence(told.stories())
    assert all(re.search(rf"…\S*-{number}\b", text) for number in range(1, 7))


def test_arrows_end_at_every_lane_they_reach_and_answers_are_dashed() -> None:
    [first] = [line for line in render_sequence(broadcast()).splitlines() if "+0 ms" in line]
    assert first.count("▶│") == 3
    assert "◀╌" in render_sequence(request_and_reply())


# --- Mermaid -------------------------------------------------------------------------------------------------------

MERMAID_LINE = re.compile(
    r"sequenceDiagram"
    r"|    participant p\d+ as (?P<name>.+)"
    r"|    (?:de)?activate p\d+"
    r"|    (?:p\d+-?->>p\d+|Note over p\d+(?:,p\d+)?): (?P<text>.+)"
)


def assert_only_our_mermaid(text: str) -> None:
    """Every line is one of the four we write, and what they say has no character that Mermaid would act on."""
    for line in text.removesuffix("\n").split("\n"):
        match = MERMAID_LINE.fullmatch(line)
        assert match, line
        said = re.sub(r"#\d+;", "", match["name"] or match["text"] or "")
        if line.startswith("    Note"):
            said = said.replace("<br/>", " ")
        assert not set(said) & set("#;:%{}<>&\"'`$@\\[]=|~^*!?"), line
        assert not re.search(r"\bend\b", said, re.IGNORECASE), line


def test_mermaid_is_told_nothing_but_participants_arrows_notes_and_activations() -> None:
    assert_only_our_mermaid(render_mermaid(whole_release()))


@pytest.mark.parametrize("stories", [broadcast(), whole_release()], ids=["one lease still runs", "all settled"])
def test_mermaid_is_told_of_an_activation_only_with_its_end(stories: list[MessageHistory]) -> None:
    active: dict[str, int] = {}
    for line in render_mermaid(stories).splitlines():
        verb, _, who = line.strip().partition(" ")
        if verb in ("activate", "deactivate"):
            active[who] = active.get(who, 0) + (1 if verb == "activate" else -1)
            assert active[who] >= 0
    assert active
    assert not any(active.values())


def test_a_long_reason_is_folded_and_stays_one_note() -> None:
    told = Teller()
    findings = [{"code": "role-may-not-send", "say": "qa_verdict<br/> is sent by qa; " + "you may send another. " * 5}]
    told.send(0.0, "m", "dev", "lead", "qa_verdict", refused={"findings": findings})
    text = render_mermaid(told.stories())
    [note] = [line for line in text.splitlines() if "refused" in line]
    lines = re.sub(r"#\d+;", "x", note.partition(": ")[2]).split("<br/>")
    assert len(lines) > 2
    assert max(map(len, lines)) <= 80
    assert_only_our_mermaid(text)


# --- the tree ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("stories", [broadcast(), request_and_reply(), whole_release()], ids=["all", "answer", "long"])
def test_the_tree_fits_the_width_and_tells_the_same(stories: list[MessageHistory], width: int) -> None:
    narrow = render_tree(stories, width)
    assert max(map(cells, narrow.splitlines())) <= width
    bare = str.maketrans("", "", " │├└─\n,")
    assert narrow.translate(bare) == render_tree(stories).translate(bare)


def test_a_deep_tree_with_long_names_and_reasons_fits_too() -> None:
    told = Teller()
    name = "agent-with-a-long-name-"
    told.send(0.0, "0", name + "0", name + "1", "execution_update_of_the_phase")
    for turn in range(1, 30):
        told.send(turn, str(turn), name + "1", name + "0", "execution_update_of_the_phase", reply_to=str(turn - 1))
    told.happens(31.0, "leased", "29", name + "0", "leased")
    told.happens(32.0, "nacked", "29", name + "0", "stored", reason="a reason " * 40)
    assert max(map(cells, render_tree(told.stories(), 80).splitlines())) <= 80


# --- SVG -----------------------------------------------------------------------------------------------------------


def test_the_picture_is_one_file_with_a_title_and_without_script_or_anything_fetched() -> None:
    text = render_svg(whole_release())
    root = ElementTree.fromstring(text)
    assert {part.tag.removeprefix(SVG) for part in root.iter()} <= {
        "svg", "title", "desc", "style", "rect", "line", "path", "circle", "text", "g"
    }  # fmt: skip
    assert root.findtext(f"{SVG}title") == "Conversation release-7"
    assert "8 messages, 5 agents" in (root.findtext(f"{SVG}desc") or "")
    assert not re.search(r"href|url\(|@import|\bon\w+=", text)


def test_the_picture_has_colours_for_a_dark_ground() -> None:
    plain, _, dark = render_svg(whole_release()).partition("@media (prefers-color-scheme: dark)")
    assert ".telex-trace .paper { fill: #ffffff }" in plain
    assert ".telex-trace .paper { fill: #0f141b }" in dark


def test_nothing_in_the_picture_lies_outside_it() -> None:
    root = ElementTree.fromstring(render_svg(whole_release()))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for part in root.findall(f"{SVG}rect"):  # the legend's samples have places of their own
        left, top = float(part.get("x", 0)), float(part.get("y", 0))
        assert left >= 0
        assert top >= 0
        assert left + float(part.attrib["width"]) <= width
        assert top + float(part.attrib["height"]) <= height


def test_each_lease_has_its_bar() -> None:
    stories = whole_release()
    bars = [part for part in ElementTree.fromstring(render_svg(stories)).iter(f"{SVG}rect") if _is_bar(part)]
    assert len(bars) == sum(event.kind == "leased" for story in stories for event in story.events) > 3


def _is_bar(part: ElementTree.Element) -> bool:
    return "held" in part.attrib["class"].split() and part.find(f"{SVG}title") is not None


# --- what was said cannot harm a picture ---------------------------------------------------------------------------

HOSTILE = [
    "\x1b[2J\x1b]0;gone\x07",
    "a\nNote over p1: forged",
    "x; activate p1",
    "%%{init: {'securityLevel': 'loose'}}%%",
    "end",
    "END of it",
    "style x:#fff;",
    "wrap: nowrap:",
    "<script>alert(1)</script>",
    "]]></style><script/>",
    "&amp;&#x0;",
    '" onload="alert(1)',
    "\u202egnp\u200b\ufeff",
    "\ud800",
    "\ufffe\uffff\x00",
    "日本語" * 30,
    "e\u0301" * 40,
    "",
    " ",
    "\u2028\u2029\x85",
]
hostile = st.sampled_from(HOSTILE) | st.text(max_size=80)


@given(st.lists(st.tuples(hostile, hostile, hostile, hostile, hostile), min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_no_name_type_or_reason_can_break_a_picture(messages: list[tuple[str, str, str, str, str]]) -> None:
    told = Teller(messages[0][0])
    for number, (sender, to, type_, reason, id_) in enumerate(messages):
        refused = {"findings": [{"code": reason, "say": type_}]} if number % 3 == 2 else None
        told.send(number, f"{number}{id_}", sender, to, type_, reply_to=f"{number - 1}{id_}", refused=refused)
        if refused is None:
            told.happens(number + 0.2, "leased", f"{number}{id_}", to, "leased")
            told.happens(number + 0.4, "nacked", f"{number}{id_}", to, "stored", reason=reason)
            told.happens(number + 0.6, "leased", f"{number}{id_}", to, "leased")
    stories = told.stories()
    for picture, render in PICTURES.items():
        text = render(stories)
        assert all(line.isprintable() for line in text.split("\n")), picture
        text.encode()
    assert_only_our_mermaid(render_mermaid(stories))
    root = ElementTree.fromstring(render_svg(stories))
    assert not list(root.iter(f"{SVG}script"))
    assert max(map(cells, render_sequence(stories).splitlines())) <= WIDTH


# --- times and widths ----------------------------------------------------------------------------------------------


@given(st.integers(-62_135_596_800, 253_402_300_799))
def test_a_moment_is_the_one_the_calendar_says(at: int) -> None:
    assert moment(at) == f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC".rjust(23, "0")


@pytest.mark.parametrize(
    "seconds, said",
    [
        (0, "0 ms"), (0.34, "340 ms"), (0.9996, "1.0 s"), (1.24, "1.2 s"), (59.96, "1 min 00 s"), (125, "2 min 05 s"),
        (3_599.7, "1 h 00 min"), (11_040, "3 h 04 min"), (183_600, "2 d 3 h"),
    ],
)  # fmt: skip
def test_a_span_is_told_in_the_units_that_fit_it(seconds: float, said: str) -> None:
    assert lasting(seconds) == said
    assert offset(seconds) == f"+{said}"


@given(st.text(max_size=40), st.integers(0, 30))
def test_what_is_squeezed_fits(text: str, room: int) -> None:
    assert cells(squeezed(text, room)) <= max(room, 0)
