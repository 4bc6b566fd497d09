"""In which words is a message handed to its reader? As it was sent if it reads that, else translated, else markdown."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.bus.render import rendering_for
from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect, MessageType
from telex.model.finding import refusals
from telex.model.message import LeasedMessage, Rendering, StoredMessage
from telex.model.roster import Member
from telex.model.text import digest_of
from telex.validation.check import STRICT, check
from tests.bus.bus_team import EVERY_TYPE, OpenTeam, Team, every_type, flow, speech, speech_of
from tests.dialects.arbitrary import VALUES, ascii_json
from tests.proofs import proves

DIALECTS = {dialect.name: dialect for dialect in BUILT_IN}
PROGRESS = speech_of("vbw-typed", "execution_update", "up-1")


def message_of(
    dialect: Dialect, type_: MessageType, raw: bytes | None = None, role: str | None = None
) -> StoredMessage:
    """A message as it is kept."""
    said = speech(dialect, type_, "m-1")
    raw = said.raw if raw is None else raw
    names = (said.sender, role or said.sender, "ada", dialect.name, type_.name)
    return StoredMessage(1, "m-1", 1_700_000_000.0, *names, 3, None, None, digest_of(raw), raw)


def reader(*reads: str, role: str = "lead") -> Member:
    return Member("ada", role, reads)


def given_to(team: Team, *reads: str, role: str = "lead") -> LeasedMessage:
    """What ada is given of an execution_update."""
    team.bus.join("ada", role=role, dialects=reads)
    team.say(PROGRESS, to="ada")
    return team.take("ada")


def rendered(leased: LeasedMessage) -> Rendering:
    assert leased.rendering is not None
    return leased.rendering


# --- which form ------------------------------------------------------------------------------------------------------


@proves("reader_form/reader/own-dialect")
@every_type
def test_a_reader_of_the_dialect_is_given_what_was_sent(dialect: Dialect, type_: MessageType) -> None:
    for reads in ([dialect.base], [f"{dialect.base}@{dialect.version}"], ["plain", dialect.base]):
        assert rendering_for(message_of(dialect, type_), reader(*reads), DIALECTS) is None


@proves("reader_form/reader/own-dialect")
def test_of_what_was_handed_over_as_it_was_sent_no_event_says_otherwise(team: Team) -> None:
    leased = given_to(team, "signal-md", "vbw-typed@2.0")
    assert (leased.rendering, leased.raw) == (None, PROGRESS.raw)
    assert team.kinds("up-1") == ["accepted", "leased"]


@proves("reader_form/reader/anything")
def test_whoever_reads_anything_is_given_what_was_sent(team: Team) -> None:
    assert given_to(team).raw == PROGRESS.raw


@proves("reader_form/reader/anything")
def test_nothing_of_translation_is_imported_for_whoever_reads_anything() -> None:
    script = (
        "import sys, telex\n"
        "with telex.connect('memory:') as bus:\n"
        "    bus.send('The build is red.', sender='dev', to='lead')\n"
        "    [leased] = bus.receive('lead')\n"
        "    bus.ack(leased.token, agent='lead')\n"
        "print([name for name in sys.modules if 'translation' in name or 'rendering' in name])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@proves("reader_form/reader/first-choice")
def test_the_first_dialect_with_a_counterpart_is_taken(team: Team) -> None:
    found = rendered(given_to(team, "build-flow", "vbw-handoff"))
    assert (found.dialect, found.type) == ("build-flow", "STATUS_UPDATE")
    shutdown = DIALECTS["vbw-typed"].types["plan_contract"]
    found_next = rendering_for(
        message_of(DIALECTS["vbw-typed"], shutdown), reader("vbw-handoff", "build-flow"), DIALECTS
    )
    assert found_next is not None
    assert found_next.dialect == "build-flow"


@proves("reader_form/reader/markdown")
@pytest.mark.parametrize("reads", ["vbw-handoff", "vbw-company", "signal-md", "build-flow"])
def test_what_no_dialect_of_the_reader_can_say_is_markdown(team: Team, reads: str) -> None:
    team.bus.join("ada", role="dev", dialects=[reads])
    team.say(speech_of("vbw-typed", "shutdown_request", "stop-1"), to="ada")
    found = rendered(team.take("ada"))
    assert (found.dialect, found.type) == ("plain", None)
    assert found.raw.startswith(b"# shutdown_request from lead to ada (dev)\n")
    assert b"stop-1" in found.raw, "nobody could answer it"


@proves("reader_form/reader/plain")
def test_a_reader_of_plain_is_given_markdown_unless_it_would_rather_have_a_dialect() -> None:
    message = message_of(PROGRESS.dialect, PROGRESS.type)
    for reads, dialect in {
        ("plain",): "plain",
        ("plain", "build-flow"): "plain",
        ("build-flow", "plain"): "build-flow",
    }.items():
        found = rendering_for(message, reader(*reads), DIALECTS)
        assert found is not None
        assert found.dialect == dialect


@proves("reader_form/reader/text")
@pytest.mark.parametrize(
    "text", ["The build is red.", '{"type": "idle_notification", "from": "dev", "request_id": "7"}']
)
def test_what_nobody_typed_comes_as_it_was_sent(team: Team, text: str) -> None:
    team.bus.join("ada", role="lead", dialects=["signal-md"])
    team.note(text, to="ada")
    leased = team.take("ada")
    assert (leased.rendering, leased.raw) == (None, text.encode())


PAIRS = [(dialect, type_, to) for dialect, type_ in EVERY_TYPE for to in BUILT_IN if to is not dialect]


@proves("reader_form/reader/every-type")
@pytest.mark.parametrize("dialect, type_, to", PAIRS, ids=lambda one: one.name)
def test_whatever_is_said_a_reader_of_one_other_dialect_can_read_it(
    dialect: Dialect, type_: MessageType, to: Dialect
) -> None:
    found = rendering_for(message_of(dialect, type_), reader(f"{to.base}@{to.version}"), DIALECTS)
    assert found is not None
    if found.type is None:
        assert found.dialect == "plain"
        return
    checked = check(found.raw, STRICT._replace(forced=to))
    assert (found.dialect, checked.dialect, checked.type) == (to.name, to, found.type)
    assert not refusals(checked.findings)


@proves("reader_form/reader/own-role")
@pytest.mark.parametrize("type_", ["QUALITY_REPORT", "TASK_ASSIGNMENT"])
def test_a_translation_never_signs_with_a_role_that_the_sender_does_not_have(team: Team, type_: str) -> None:
    team.bus.join("lea", role="lead", dialects=["vbw-typed", "signal-md"])
    team.bus.join("ada", role="dev")
    team.bus.send(flow(type_, "m-1", "ada", "lea"), sender="ada", to="lea")
    found = rendered(team.take("lea"))
    assert (found.dialect, found.type) == ("plain", None)
    assert found.raw.startswith(f"# {type_} from ada (dev) to lea (lead)\n".encode())


@proves("reader_form/reader/own-role")
def test_a_role_of_another_dialect_counts_as_the_one_that_does_the_same(team: Team) -> None:
    team.bus.join("lea", role="lead", dialects=["vbw-typed"])
    team.bus.join("rob", role="reviewer")
    team.bus.send(flow("QUALITY_REPORT", "m-1", "rob", "lea"), sender="rob", to="lea")
    assert json.loads(rendered(team.take("lea")).raw)["author_role"] == "qa"


@proves("translation/paths")
def test_a_contract_read_as_an_assignment_keeps_its_paths(team: Team) -> None:
    team.bus.join("ada", role="dev", dialects=["build-flow"])
    paths = {"allowed_paths": ["src/auth/", "tests/"], "forbidden_paths": [".env"], "must_haves": ["It works once"]}
    contract = speech_of("vbw-typed", "plan_contract", "c-1")
    contract.tree["payload"] |= paths
    team.bus.send(contract.tree, sender="lead", to="ada")
    found = rendered(team.take("ada"))
    assert _constraints(found) == ["It works once", "Allowed paths: src/auth/, tests/", "Forbidden paths: .env"]
    assert {f"$.payload.{name}" for name in paths} <= set(found.narrowed)
    contract.tree["payload"]["allowed_paths"] = []
    team.bus.send(contract.tree | {"id": "c-2"}, sender="lead", to="ada")
    assert "Allowed paths: none" in _constraints(rendered(team.take("ada")))


def _constraints(found: Rendering) -> list[str]:
    return list(json.loads(found.raw)["payload"]["context"]["constraints"])


@proves("reader_form/reader/shared")
def test_two_who_share_an_inbox_are_each_given_their_own_dialect(team: Team) -> None:
    for name, reads in {"ada": "vbw-handoff", "bob": "build-flow"}.items():
        team.bus.join(name, role="lead", dialects=[reads])
    for id_ in ("up-1", "up-2"):
        team.say(speech_of("vbw-typed", "execution_update", id_), to="role:lead")
    assert [rendered(team.take(name)).type for name in ("ada", "bob")] == ["dev_progress", "STATUS_UPDATE"]


@proves("reader_form/reader/older-version")
def test_a_version_that_the_team_no_longer_has_is_not_taken_for_the_one_it_has() -> None:
    message = message_of(PROGRESS.dialect, PROGRESS.type)
    now = DIALECTS | {"vbw-typed": PROGRESS.dialect._replace(version="2.1")}
    found = rendering_for(message, reader("vbw-typed@2.0", "build-flow"), now)
    assert found is not None
    assert found.dialect == "build-flow"
    assert rendering_for(message, reader("vbw-typed@2.1", "build-flow"), now) is None


# --- what should not be, and is ---------------------------------------------------------------------------------------


@proves("reader_form/reader/malformed")
def test_what_a_lenient_team_let_pass_though_it_is_malformed_is_markdown(open_team: OpenTeam) -> None:
    team = open_team(strict=False)
    team.bus.join("ada", role="lead", dialects=["build-flow"])
    tree = PROGRESS.tree | {"payload": PROGRESS.tree["payload"] | {"status": ["all", "sorts"], "task_id": 7}}
    receipt = team.bus.send(tree, sender="dev", to="ada")
    assert refusals(receipt.findings)
    found = rendered(team.take("ada"))
    assert found.dialect == "plain"
    assert b"all" in found.raw


@st.composite
def _odd_messages(draw: st.DrawFn) -> tuple[Dialect, MessageType, bytes]:
    """A message some of whose fields are anything at all, or a piece of one."""
    dialect, type_ = draw(st.sampled_from(EVERY_TYPE))
    said = speech(dialect, type_)
    if dialect.form != "json":
        end = draw(st.integers(0, len(said.raw)))
        return dialect, type_, draw(st.sampled_from([said.raw[:end], said.raw[end:]]))
    inside = said.tree[dialect.payload] if dialect.payload else said.tree
    for place in (said.tree, inside):
        names = draw(st.lists(st.sampled_from(sorted(place)), max_size=3))
        place |= {name: draw(VALUES) for name in names if name != "type"}
    return dialect, type_, ascii_json(said.tree)


@proves("reader_form/reader/never-fails")
@given(_odd_messages(), st.sampled_from([dialect.name for dialect in BUILT_IN]))
def test_whatever_passed_its_reader_is_given_something(odd: tuple[Dialect, MessageType, bytes], reads: str) -> None:
    dialect, type_, raw = odd
    found = rendering_for(message_of(dialect, type_, raw), reader(reads), DIALECTS)
    assert found is None or found.raw.strip()
    if found is not None and found.type is not None:
        assert not refusals(check(found.raw, STRICT._replace(forced=DIALECTS[reads])).findings)
