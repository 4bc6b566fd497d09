"""Does the bus say what the pages of its codes show, and can whoever hears it act on it?"""

import re
from pathlib import Path

import pytest

from telex.bus.local import LocalBus
from telex.client import SyncBus
from telex.delivery import membership
from telex.delivery.routing import role_at, route
from telex.generate.codes import bus_explanations, code_page
from telex.model.finding import Finding
from telex.model.limits import LIMITS
from telex.model.roster import Member, roster_of
from telex.stores.memory import MemoryStore
from telex.surfaces.cli.usage import DONE, REFUSED
from telex.testing import FakeClock
from tests.bus.bus_team import join_refused
from tests.console_examples import HAPPENINGS, Stage, steps
from tests.generate.test_codes import speaks_badly

EXPLANATIONS = bus_explanations()
every_code = pytest.mark.parametrize("code", EXPLANATIONS)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Stage:
    return Stage(tmp_path, monkeypatch, capsys)


@every_code
def test_the_bus_says_what_the_page_shows_and_then_does_what_it_advises(code: str, stage: Stage) -> None:
    one = EXPLANATIONS[code]
    *before, last = stage.play(one.before)
    assert [ran for ran in before if ran.code != DONE] == []
    if one.severity == "error":
        assert [(error.code, error.say) for error in stage.raised[-1:]] == [(code, one.say)]
        assert last.code != DONE
        assert one.say in last.err
    else:
        assert last.code == (REFUSED if one.severity == "refusal" else DONE)
        said = " ".join((last.err if one.severity == "refusal" else last.out).split())
        assert re.search(rf"\b{code}(:| \$\S*) {re.escape(one.say)}", said), said
    assert [ran for ran in stage.play(one.after) if ran.code != DONE] == []


def test_everything_that_can_happen_happens_in_some_play() -> None:
    plays = [play for explanation in EXPLANATIONS.values() for play in (explanation.before, explanation.after)]
    happened = {step.line.removeprefix("# ") for play in plays for step in steps(play) if step.line.startswith("# ")}
    assert happened == set(HAPPENINGS)


@every_code
def test_a_page_shows_the_whole_play(code: str) -> None:
    one, text = EXPLANATIONS[code], code_page(code)
    shown = (one.before, f"> {one.severity}: {one.say}", one.after, one.why, one.fix)
    assert [words for words in shown if words not in text] == []


def test_the_page_of_an_error_names_its_exception() -> None:
    assert "`telex.errors.LeaseLost`" in code_page("lease-lost")
    assert "telex.errors" not in code_page("inbox-full")


# --- what is said can be acted on -------------------------------------------------------------------------------------

DEV, ADA, GONE = Member("dev", "dev"), Member("ada", "dev", joined_at=1.0), Member("lead", "lead", left_at=2.0)
OPEN = roster_of((DEV, ADA, GONE), ("dev", "lead", "qa", "human"))
CLOSED = roster_of([Member(f"agent-{number}", "dev", declared=True) for number in range(99)], ("human",))
LONG = "x" * 100_000


def refused_routes() -> list[Finding]:
    addresses = ("laed", "lead", "xyzzy", LONG, "role:qaa", "role:lead", "all:zzzz", f"role:{LONG}")
    found = [route(address, DEV, roster) for roster in (OPEN, CLOSED) for address in addresses]
    alone = roster_of((DEV,), ("dev", "lead"))
    found += [route("*", DEV, alone), route("all:dev", DEV, alone)]
    return [one for one in found if isinstance(one, Finding)]


def refused_members() -> list[Finding]:
    names = ("", "telex", "*", "role:qa", "-x", "a\x1b[31m", LONG)
    found = [membership.name_not_allowed(name, LIMITS) for name in names]
    return [
        *(one for one in found if one is not None),
        *(membership.sender_unknown(name, OPEN) for name in ("daa", "xyzzy")),
        *(membership.not_declared(name, CLOSED) for name in ("agent-100", "xyzzy")),
        *(membership.role_unknown(role, OPEN, LIMITS) for role in ("qaa", "wizard", LONG)),
        membership.has_left(GONE),
        membership.role_differs(ADA, LONG, LIMITS),
    ]


def test_there_is_something_to_read() -> None:
    assert len(refused_routes()) == 18
    assert len(refused_members()) == 16


@pytest.mark.parametrize(
    "finding", [*refused_routes(), *refused_members()], ids=lambda one: f"{one.code} {one.found!s:.9}"
)
def test_whoever_is_refused_is_told_what_to_do(finding: Finding) -> None:
    assert speaks_badly(finding) == []
    assert len(finding.found or "") <= LIMITS.id_characters_max
    assert len(finding.expected or "") < 600


@every_code
def test_what_a_page_quotes_is_said_well(code: str) -> None:
    one = EXPLANATIONS[code]
    say = one.say if one.severity == "refusal" else one.say[0].upper() + one.say[1:]
    wrongs = speaks_badly(Finding(code, "$", say, "note" if one.severity == "note" else "refusal"))
    if code == "settings-wrong":  # a line for each mistake: what was expected is what to write
        assert wrongs == ["does not end like a sentence", "asks for nothing"]
    else:
        assert wrongs == []


@pytest.mark.parametrize("roster", [OPEN, CLOSED], ids=["open", "closed"])
def test_nobody_is_sent_to_a_name_or_role_that_would_be_refused_again(roster: object) -> None:
    assert isinstance(roster, type(OPEN))
    for address in ("laed", "lead", "leed", "role:lead", "role:leed", "role:qaa", "all:lead"):
        found = route(address, DEV, roster)
        if isinstance(found, Finding) and found.nearest is not None:
            prefix = address[: address.find(":") + 1]
            assert not isinstance(route(prefix + found.nearest, DEV, roster), Finding), found


def test_a_role_that_nobody_has_gets_nothing_all_the_same() -> None:
    assert role_at("role:lead", OPEN) is None
    assert role_at("all:dev", OPEN) == "dev"


# --- whoever has left -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("declared", [(), (Member("lead", "lead", declared=True),)], ids=["open team", "closed team"])
def test_whoever_has_left_is_told_how_to_come_back_and_comes_back_so(declared: tuple[Member, ...]) -> None:
    bus = SyncBus(LocalBus(MemoryStore(), FakeClock(), members=declared))
    bus.join("lead")
    bus.leave("lead")
    refused = join_refused(bus, "lead")
    assert (refused.code, refused.nearest) == ("sender-unknown", None)
    assert "lead" in (refused.expected or "")
    assert bus.join("lead", role="lead").is_here
    assert bus.send("all is well", sender="lead", to="human").accepted


def test_a_team_that_was_closed_since_does_not_take_back_whoever_left() -> None:
    store, clock = MemoryStore(), FakeClock()
    bus = SyncBus(LocalBus(store, clock))
    bus.join("ada", role="dev")
    bus.leave("ada")
    closed = SyncBus(LocalBus(store, clock, members=[Member("lead", "lead", declared=True)]))
    refused = join_refused(closed, "ada", role="dev")
    assert "telex.toml" in refused.say


def test_a_declared_member_that_left_does_not_come_back_in_another_role() -> None:
    bus = SyncBus(LocalBus(MemoryStore(), FakeClock(), members=[Member("lead", "lead", declared=True)]))
    bus.join("lead")
    bus.leave("lead")
    refused = join_refused(bus, "lead", role="dev")
    assert (refused.code, refused.expected) == ("role-differs", "lead")
