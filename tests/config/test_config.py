"""What does telex.toml settle, and what is said when it is wrong?"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from telex.config import Settings, load
from telex.config.settings import HOOKS, HUB_BOUNDS, LIMIT_BOUNDS, MEMBER, STORE, TEAM, ValueBounds, example
from telex.dialects.registry import BUILT_IN
from telex.errors import SettingsError
from telex.model.limits import HUB_LIMITS, LIMITS, HubLimits, Limits
from telex.model.roster import Member
from tests.proofs import proves

ROOT = Path(__file__).parents[2]
OWN = (ROOT / "docs/examples/release-train.toml").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TELEX_CONFIG", raising=False)


def settled(folder: Path, text: str) -> Settings:
    (folder / "telex.toml").write_text(text, encoding="utf-8")
    return load(str(folder))


def said(folder: Path, text: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        settled(folder, text)
    return caught.value.say.split("\n")


# --- where it is ------------------------------------------------------------------------------------------------------


def test_without_a_file_everything_is_as_it_is_by_default(tmp_path: Path) -> None:
    assert load(str(tmp_path)) == Settings()
    assert Settings().policy().dialects == BUILT_IN
    assert Settings().limits == LIMITS


def test_the_nearest_file_upwards_holds(tmp_path: Path) -> None:
    below = tmp_path / "a/b"
    below.mkdir(parents=True)
    settled(tmp_path, "team.name = 'above'")
    assert load(str(below)).team_name == "above"
    settled(tmp_path / "a", "team.name = 'near'")
    found = load(str(below))
    assert (found.team_name, found.source) == ("near", str(tmp_path / "a/telex.toml"))


def test_a_variable_names_the_file_wherever_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settled(tmp_path, "team.name = 'here'")
    (tmp_path / "other.toml").write_text("team.name = 'other'", encoding="utf-8")
    monkeypatch.setenv("TELEX_CONFIG", "other.toml")
    assert load(str(tmp_path)).team_name == "other"
    monkeypatch.setenv("TELEX_CONFIG", "")
    assert load(str(tmp_path)).team_name == "here"


def test_a_file_that_the_variable_names_and_that_is_not_there_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TELEX_CONFIG", "nowhere.toml")
    with pytest.raises(SettingsError, match=r"nowhere\.toml: cannot be read: No such file .*TELEX_CONFIG names it"):
        load(str(tmp_path))


def test_a_folder_called_like_the_file_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "telex.toml").mkdir()
    assert load(str(tmp_path)) == Settings()


# --- what it settles --------------------------------------------------------------------------------------------------


def test_a_team_settles_how_it_reads(tmp_path: Path) -> None:
    text = 'name = "crew"\nstrict = false\ndialect = "signal-md"\n'
    text += 'unknown_fields = "refusal"\nmisdelivery = "refusal"\nuntyped = "refuse"\n'
    found = settled(tmp_path, "[team]\n" + text)
    policy = found.policy()
    assert (found.team_name, policy.strict, policy.preferred) == ("crew", False, "signal-md")
    assert (policy.unknown_fields, policy.misdelivery, policy.untyped) == ("refusal", "refusal", "refuse")


def test_members_are_declared_with_role_and_dialects_and_normal_names(tmp_path: Path) -> None:
    text = '[team.members."Ada L"]\nrole = "dev"\ndialects = ["vbw-typed", "plain"]\n[team.members.qa]\n'
    assert settled(tmp_path, text).members == (
        Member("ada-l", "dev", ("vbw-typed", "plain"), declared=True),
        Member("qa", "qa", declared=True),
    )


def test_dialects_of_a_teams_own_are_found_from_the_file_and_bring_their_roles(tmp_path: Path) -> None:
    (tmp_path / "dialects").mkdir()
    (tmp_path / "dialects/own.toml").write_text(OWN, encoding="utf-8")
    (tmp_path / "below").mkdir()
    settled(
        tmp_path,
        '[team]\ndialects = ["dialects/own.toml"]\ndialect = "release-train"\n'
        '[team.members.ada]\nrole = "captain"\ndialects = ["release-train"]\n',
    )
    found = load(str(tmp_path / "below"))
    assert [dialect.name for dialect in found.own_dialects] == ["release-train"]
    assert found.policy().dialects == (*found.own_dialects, *BUILT_IN)
    assert found.members == (Member("ada", "captain", ("release-train",), declared=True),)


@pytest.mark.parametrize(
    "path, kept",
    [("kept/telex.db", "{}/kept/telex.db"), ("sqlite:x.db", "{}/x.db"), ("a/../x.db", "{}/x.db"), ("memory:",) * 2],
)
def test_the_store_is_found_from_the_file(tmp_path: Path, path: str, kept: str) -> None:
    assert settled(tmp_path, f'[store]\npath = "{path}"').store_path == kept.format(tmp_path)


@proves("bus/place/store-in-project")
@pytest.mark.parametrize(
    "path", ["/srv/x.db", "../x.db", "sqlite:../x.db", "~/x.db", "a/../../x.db", "link/x.db", "link"]
)
def test_a_store_outside_the_project_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/link").symlink_to(tmp_path)
    with pytest.raises(SettingsError, match=r"telex.toml:2: store\.path: .*TELEX_STORE"):
        settled(tmp_path / "project", f'[store]\npath = "{path}"')


def test_durability_is_full_unless_said_otherwise(tmp_path: Path) -> None:
    assert settled(tmp_path, "[store]").durable
    assert settled(tmp_path, '[store]\ndurability = "full"').durable
    assert not settled(tmp_path, '[store]\ndurability = "normal"').durable


BESIDE = {  # what must be set too, so that the lowest and the highest value hold
    "retention_seconds": "dedup_window_seconds = 0",
    "dedup_window_seconds": "retention_seconds = 2_592_000.0",
    "body_bytes_max": "bodies_bytes_max = 2_000_000_000",
    "bodies_bytes_max": "body_bytes_max = 65_536",
}
EVERY_LIMIT = [
    *(pytest.param("limits", name, LIMIT_BOUNDS[name], getattr(LIMITS, name), id=name) for name in Limits._fields),
    *(pytest.param("hub", name, HUB_BOUNDS[name], getattr(HUB_LIMITS, name), id=name) for name in HubLimits._fields),
]


@pytest.mark.parametrize("section, name, bounds, default", EVERY_LIMIT)
def test_every_limit_may_be_set_within_its_bounds_and_not_beyond(
    tmp_path: Path, section: str, name: str, bounds: ValueBounds, default: float
) -> None:
    for value in bounds[:2]:
        number = int(value) if isinstance(default, int) else float(value)
        found = settled(tmp_path, f"[{section}]\n{name} = {number}\n{BESIDE.get(name, '')}\n")
        assert getattr(found.limits if section == "limits" else found.hub_limits(), name) == number
    for wrong in (int(bounds.least) - 1, int(bounds.most) + 1, '"many"'):
        [line] = said(tmp_path, f"[{section}]\n{name} = {wrong}\n")
        assert line.startswith(f"telex.toml:2: {section}.{name}: expected ")


def test_what_a_hub_bears_is_what_comes_with_telex_where_nothing_is_said(tmp_path: Path) -> None:
    assert settled(tmp_path, "[hub]\n").hub_limits() == HUB_LIMITS
    assert settled(tmp_path, "[hub]\nidle_seconds = 60\n").hub_limits() == HUB_LIMITS._replace(idle_seconds=60)


def test_all_bodies_together_have_room_for_one(tmp_path: Path) -> None:
    [line] = said(tmp_path, "[hub]\nbodies_bytes_max = 2_000_000\n")
    assert line.startswith("telex.toml:2: hub.bodies_bytes_max: bodies_bytes_max must")
    [line] = said(tmp_path, "[hub]\nbody_bytes_max = 500_000_000\n")
    assert line.startswith("telex.toml:2: hub.body_bytes_max: bodies_bytes_max must")


def test_a_limit_given_as_a_whole_number_of_seconds_will_do(tmp_path: Path) -> None:
    found = settled(tmp_path, "[limits]\nlease_seconds = 90\nattempts_max = 5").limits
    assert (found.lease_seconds, found.attempts_max) == (90.0, 5)
    assert isinstance(found.lease_seconds, float)


def test_ids_are_not_remembered_for_longer_than_messages_are_kept(tmp_path: Path) -> None:
    [line] = said(tmp_path, "[limits]\nretention_seconds = 600\n")
    assert line.startswith("telex.toml:2: limits.retention_seconds: dedup_window_seconds must not exceed")


# --- what is wrong with it --------------------------------------------------------------------------------------------

DIALECTS = "there are vbw-typed, vbw-typed@2.1, build-flow, vbw-handoff, vbw-company, signal-md, plain"
WRONG = """\
[team]
name = 3
strikt = true
dialect = "vbw-type"
dialects = ["own.toml"]
unknown_fields = "refuse"
[team.members.ada]
role = "devv"
[team.members."Bo B"]
dialects = ["nope"]
[team.members.telex]
role = "dev"
[team.members.ADA]
role = "qa"
[store]
durability = "none"
[limits]
inbx_max = 3
[stores]
"""


def test_every_mistake_is_said_at_once_with_its_line_and_the_nearest_spelling(tmp_path: Path) -> None:
    assert said(tmp_path, WRONG) == [
        "telex.toml:2: team.name: expected text, found 3",
        "telex.toml:3: team.strikt: there is no such key here; did you mean strict?",
        "telex.toml:4: team.dialect: 'vbw-type' is not among the choices; did you mean vbw-typed?",
        "telex.toml:5: team.dialects[0]: own.toml cannot be read: No such file or directory",
        "telex.toml:6: team.unknown_fields: 'refuse' is not among the choices; did you mean refusal?",
        "telex.toml:8: team.members.ada.role: 'devv' is not among the choices; did you mean dev?",
        'telex.toml:9: team.members."Bo B".role: is missing: the role of the member, such as role = "dev"',
        "telex.toml:10: team.members.\"Bo B\".dialects[0]: 'nope' is not among the choices; " + DIALECTS,
        "telex.toml:11: team.members.telex: telex is reserved: it has a special meaning in addresses",
        "telex.toml:16: store.durability: 'none' is not among the choices; there are full, normal",
        "telex.toml:18: limits.inbx_max: there is no such key here; did you mean inbox_max?",
        "telex.toml:19: stores: there is no such key here; did you mean store?",
    ]


def test_two_names_that_compare_alike_are_one_too_many(tmp_path: Path) -> None:
    [line] = said(tmp_path, '[team.members.ada]\nrole = "dev"\n[team.members.ADA]\nrole = "qa"\n')
    assert line.startswith("telex.toml:3: team.members.ADA: ada is declared twice")


@pytest.mark.parametrize("name", ["*", "role:qa", "all:qa", "-x", " ", "x" * 65, "a\\u202eb"])
def test_a_name_that_is_an_address_or_cannot_be_seen_is_refused(tmp_path: Path, name: str) -> None:
    [line] = said(tmp_path, f'[team.members."{name}"]\nrole = "dev"\n')
    assert line.startswith("telex.toml:1: team.members.")


@pytest.mark.parametrize(
    "text, line",
    [
        ("[team]\nname = \n", "telex.toml:2: not TOML: Invalid value at column 8"),
        ("[team\n", "telex.toml:1: not TOML: Expected ']' at the end of a table declaration at column 6"),
        ("team = 3\n", "telex.toml:1: team: expected a table, found 3"),
        ("store = []\nlimits = 1\n", "telex.toml:1: store: expected a table, found a list"),
        ("[team.members]\nada = 1\n", "telex.toml:2: team.members.ada: expected a table, found 1"),
        ("a" + ".a" * 70 + " = 1\n", "telex.toml:1: nested more than 64 deep"),
    ],
)
def test_what_is_no_toml_or_no_table_is_said_with_its_line(tmp_path: Path, text: str, line: str) -> None:
    assert said(tmp_path, text)[0] == line


def test_a_file_that_is_no_text_is_said(tmp_path: Path) -> None:
    (tmp_path / "telex.toml").write_bytes(b"[team]\nname = '\xff'")
    with pytest.raises(SettingsError, match=r"telex\.toml: is not UTF-8 at byte 15"):
        load(str(tmp_path))


def test_flaws_of_a_dialect_of_ones_own_are_said_where_they_stand(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("nam = 1\n" + OWN, encoding="utf-8")
    lines = said(tmp_path, '[team]\ndialects = ["own.toml"]\n')
    assert lines == ["own.toml:1: nam: there is no such key here; did you mean name?"]


def test_a_dialect_is_declared_by_one_file_only(tmp_path: Path) -> None:
    for name in ("one.toml", "two.toml"):
        (tmp_path / name).write_text(OWN, encoding="utf-8")
    [line] = said(tmp_path, '[team]\ndialects = ["one.toml", "two.toml"]\n')
    assert line.startswith("telex.toml:2: team.dialects[1]: release-train is declared by two files")


# --- what is written about it -----------------------------------------------------------------------------------------


def test_the_example_settles_nothing_until_the_marks_are_taken_off(tmp_path: Path) -> None:
    found = settled(tmp_path, example())
    assert found._replace(source=None) == Settings()


def test_the_example_is_right_with_all_its_marks_taken_off(tmp_path: Path) -> None:
    (tmp_path / "dialects").mkdir()
    (tmp_path / "dialects/release-train.toml").write_text(OWN, encoding="utf-8")
    text = re.sub(r"^# (\w+ = |\[)", r"\1", example(), flags=re.MULTILINE)
    found = settled(tmp_path, text)
    assert found.limits == LIMITS
    assert [member.name for member in found.members] == ["ada"]
    assert set(tomllib.loads(text)["limits"]) == set(Limits._fields)
    assert set(tomllib.loads(text)["hub"]) == set(HubLimits._fields)
    assert found.hub is None  # what the example says is what holds without it


def test_every_setting_is_in_the_table_and_every_limit_has_its_bounds() -> None:
    assert tuple(LIMIT_BOUNDS) == Limits._fields
    for name, (least, most, _) in LIMIT_BOUNDS.items():
        assert least <= getattr(LIMITS, name) <= most
    assert tuple(HUB_BOUNDS) == HubLimits._fields
    for name, (least, most, _) in HUB_BOUNDS.items():
        assert least <= getattr(HUB_LIMITS, name) <= most


def test_the_page_of_settings_has_every_setting() -> None:
    page = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    for name in (*TEAM, *MEMBER, *STORE, *HOOKS, *LIMIT_BOUNDS, *HUB_BOUNDS):
        assert f"`{name}`" in page


def test_loading_without_a_file_imports_nothing_that_reads_toml() -> None:
    code = "import sys, telex.config; telex.config.load('/'); print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "TELEX_CONFIG": ""}
    )
    assert not {"tomllib", "telex.config.loader", "telex.dialects.toml.loader"} & set(ran.stdout.split())
