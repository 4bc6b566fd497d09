"""Which dialects and versions may a member say it reads, and what is it told when there is no such thing?"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.config.loader import read
from telex.delivery.membership import understood
from telex.dialects.registry import BUILT_IN
from telex.errors import SettingsError
from telex.model.finding import Finding
from telex.model.limits import LIMITS
from telex.model.roster import choice_of
from tests.bus.bus_team import Shell, Team, join_refused, open_team, shell, team
from tests.cli.cli_bus_kit import Telex, telex
from tests.proofs import proves

__all__ = ["open_team", "shell", "team", "telex"]


def refused(team: Team, *reads: str) -> Finding:
    finding = join_refused(team.bus, "ada", role="dev", dialects=reads)
    assert "ada" not in [one.member.name for one in team.bus.roster()]
    return finding


@proves("reader_form/join/versions")
def test_a_member_reads_versions_in_the_order_it_names_them(team: Team) -> None:
    wanted = ("build-flow@1.0", "vbw-typed@2.0+approved", "signal-md", "plain")
    team.bus.join("ada", role="dev", dialects=wanted)
    [ada] = [one.member for one in team.other().roster()]
    assert ada.dialects == wanted


@proves("reader_form/join/family")
@pytest.mark.parametrize("asked, meant", [("vbw@1.0", "vbw-handoff@1.0"), ("vbw@2.0", "vbw-typed@2.0")])
def test_versions_of_vbw_are_known_by_its_name(team: Team, asked: str, meant: str) -> None:
    assert team.bus.join("ada", role="dev", dialects=[asked]).dialects == (meant,)


@proves("reader_form/join/version-unknown")
@pytest.mark.parametrize(
    "asked, nearest",
    [
        ("vbw-typed@3.0", "vbw-typed@2.0"),
        ("vbw-typed@1.0", "vbw-handoff@1.0"),  # that version goes by another name
        ("vbw@7", "vbw-typed@2.0"),
        ("vbw", "vbw-typed@2.0"),
        ("vbw-typed@", "vbw-typed@2.0"),
        ("plain@9", "plain@1.0"),
    ],
)
def test_a_version_that_nobody_speaks_is_refused_with_what_there_is(team: Team, asked: str, nearest: str) -> None:
    finding = refused(team, "signal-md", asked)
    assert (finding.code, finding.found, finding.nearest) == ("version-unknown", asked, nearest)
    assert nearest in (finding.expected or "")


@proves("reader_form/join/spelling-unknown")
def test_a_spelling_that_no_field_has_is_refused(team: Team) -> None:
    finding = refused(team, "vbw-typed@2.0+aproved")
    assert (finding.code, finding.nearest) == ("version-unknown", "vbw-typed@2.0+approved")
    assert refused(team, "build-flow+approved").code == "version-unknown"


@proves("reader_form/join/version-unknown")
def test_a_dialect_that_there_is_not_is_told_apart(team: Team) -> None:
    finding = refused(team, "vbw-typd@2.0")
    assert (finding.code, finding.nearest) == ("dialect-unknown", "vbw-typed")


@given(st.text(max_size=300))
def test_whatever_is_asked_for_is_understood_or_refused_and_understanding_it_again_changes_nothing(text: str) -> None:
    found = understood(text, BUILT_IN, LIMITS)
    if isinstance(found, str):
        assert understood(found, BUILT_IN, LIMITS) == found
    else:
        assert len(found.found or "") <= LIMITS.found_characters_max
        assert len(found.say) < 1_000


@given(st.text(max_size=60))
def test_a_choice_is_written_as_it_was_read(text: str) -> None:
    assert choice_of(text).text == text


@proves("reader_form/join/settings")
def test_declared_members_read_versions(tmp_path: Path) -> None:
    text = '[team.members.dev]\ndialects = ["vbw@1.0", "vbw-typed@2.0+approved", "plain"]\n'
    [dev] = read(str(tmp_path / "telex.toml"), text).members
    assert dev.dialects == ("vbw-handoff@1.0", "vbw-typed@2.0+approved", "plain")


@proves("reader_form/join/settings")
@pytest.mark.parametrize("asked, meant", [("vbw-typed@3.0", "vbw-typed@2.0"), ("vbw@3", "vbw-typed@2.0")])
def test_a_wrong_version_in_the_settings_is_told_with_its_line(tmp_path: Path, asked: str, meant: str) -> None:
    with pytest.raises(SettingsError) as raised:
        read(str(tmp_path / "telex.toml"), f'[team.members.dev]\ndialects = [\n  "plain",\n  "{asked}",\n]\n')
    assert ":4: team.members.dev.dialects[1]: " in raised.value.say
    assert f"'{asked}' is not among the choices" in raised.value.say
    assert meant in raised.value.say


@proves("reader_form/cli/join")
def test_the_command_line_takes_versions_and_shows_them(shell: Shell) -> None:
    assert shell("team", "join", "ada", "--role", "dev", "--reads", "vbw@2.0", "--reads", "plain").code == 0
    assert shell("team").out.splitlines()[1].endswith("vbw-typed@2.0, plain")
    ran = shell("team", "join", "bob", "--role", "dev", "--reads", "vbw-typed@3.0")
    assert (ran.code, "version-unknown" in ran.err) == (2, True)


@proves("reader_form/join/declared")
def test_a_declared_member_reads_what_its_declaration_says(telex: Telex) -> None:
    declared = '[team.members.ada]\nrole = "qa"\ndialects = ["vbw@2.0"]\n[team.members.bo]\nrole = "dev"\n'
    Path("telex.toml").write_text(declared)
    ran = telex("team", "join", "ada", "--reads", "build-flow", "--json")
    [finding] = ran.answer["findings"]
    assert (ran.code, finding["code"], finding["found"]) == (2, "reads-differ", "build-flow")
    assert "telex.toml" in finding["say"]
    assert telex("events").out == ""
    joining = (("ada", "--reads", "vbw-typed"), ("bo", "--reads", "build-flow"))
    answers = [telex("team", "join", *given, "--json").answer for given in joining]
    roster = {answer["name"]: answer["reads"] for answer in telex("team", "--json").answers}
    assert (
        {answer["name"]: answer["reads"] for answer in answers}
        == roster
        == {"ada": ["vbw-typed@2.0"], "bo": ["build-flow"]}
    )


@proves("reader_form/join/declared")
@pytest.mark.parametrize(
    "written, said, is_same",
    [
        (["vbw-typed", "vbw-typed@2.0"], ["vbw-typed"], True),
        (["vbw-typed"], ["vbw@2.0", "vbw-typed"], True),
        (["vbw-typed", "vbw-typed@2.0+approved"], ["vbw-typed"], True),  # of two of a dialect the first holds
        (["vbw-typed@2.0+approved", "vbw-typed"], ["vbw-typed"], False),
        (["vbw-typed", "build-flow"], ["build-flow", "vbw-typed"], False),
    ],
)
def test_what_is_said_twice_of_a_dialect_means_the_same(
    telex: Telex, written: list[str], said: list[str], is_same: bool
) -> None:
    Path("telex.toml").write_text(f'[team.members.ada]\nrole = "qa"\ndialects = {written}\n')
    ran = telex("team", "join", "ada", *(word for one in said for word in ("--reads", one)))
    assert (ran.code == 0) == is_same
    assert ("reads-differ" in ran.err) != is_same


@proves("reader_form/join/no-longer-declared")
def test_what_the_settings_no_longer_say_of_a_member_no_longer_holds(telex: Telex) -> None:
    silent = '[team.members.ada]\nrole = "qa"\n'
    declared = silent + 'dialects = ["vbw@2.0"]\n'

    def reads(*command: str) -> list[str]:
        [found] = telex("team", *command, "--json").answers
        shown: list[str] = found["reads"]
        return shown

    Path("telex.toml").write_text(declared)
    assert reads("join", "ada") == reads() == ["vbw-typed@2.0"]
    Path("telex.toml").write_text(silent)
    assert reads() == []
    assert reads("join", "ada", "--reads", "build-flow") == reads() == ["build-flow"]
    Path("telex.toml").write_text(declared)
    assert reads("join", "ada") == reads() == ["vbw-typed@2.0"]
