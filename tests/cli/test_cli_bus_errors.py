"""What does a command say, and with which code does it leave, when the bus cannot do what was asked?"""

import os
import subprocess
from pathlib import Path

import pytest

from telex import errors
from telex.client import SyncBus
from telex.surfaces.cli.connection import explained
from telex.surfaces.cli.usage import CommandError
from tests.cli.cli_bus_kit import BLOCKER, Telex, sent, taken, telex
from tests.cli.cli_kit import COMMAND, put
from tests.proofs import proves

__all__ = ["telex"]


@pytest.mark.parametrize(
    "error, code, say",
    [
        (errors.NotFound("none has it"), 3, "none has it"),
        (errors.RequestTimedOut("no answer", "m1"), 4, "no answer"),
        (errors.LeaseLost("it ran out"), 2, "lease-lost: it ran out"),
        (errors.NotAMember("Say your role.", "sender-unknown"), 2, "sender-unknown: Say your role."),
        (errors.StoreFull("no room"), 1, "no room"),
        (errors.StoreTooNew("written by a later Telex"), 1, "written by a later Telex"),
        (errors.SettingsError("a: one\nb: two"), 64, "a: one\nb: two"),
        (errors.NotFound("red \x1b[31m"), 3, "red \\x1b[31m"),
    ],
)
def test_every_failure_has_its_code_and_its_sentence(error: errors.TelexError, code: int, say: str) -> None:
    with pytest.raises(CommandError) as caught, explained():
        raise error
    assert (caught.value.code, caught.value.say) == (code, say)


def test_a_send_in_doubt_says_how_to_send_again(telex: Telex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def doubtful(*_: object, **__: object) -> None:
        raise errors.OutcomeUnknown("the disk went away", "01JF")

    put(tmp_path, "my blocker.json", BLOCKER)
    monkeypatch.setattr(SyncBus, "send", doubtful)
    ran = telex("send", "--as", "dev", "--to", "lead", "my blocker.json")
    assert (ran.code, ran.out) == (1, "")
    again = "telex send --as dev --to lead --id 01JF 'my blocker.json'"
    assert ran.err.splitlines() == [
        f"telex: outcome unknown: send again with the same id: {again}",
        "telex: (the disk went away)",
    ]


def test_an_ack_in_doubt_may_be_repeated(telex: Telex, monkeypatch: pytest.MonkeyPatch) -> None:
    def doubtful(*_: object, **__: object) -> None:
        raise errors.OutcomeUnknown("the disk went away")

    sent(telex)
    token = taken(telex)["token"]
    monkeypatch.setattr(SyncBus, "ack", doubtful)
    ran = telex("ack", token, "--as", "lead")
    assert (ran.code, ran.err) == (1, "telex: outcome unknown: do it again: that is safe (the disk went away)\n")


def test_a_failure_among_many_messages_names_the_one_it_happened_at(
    telex: Telex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put(tmp_path, "log.jsonl", BLOCKER, BLOCKER | {"task": "another"}, BLOCKER | {"task": "third"})
    whole, calls = SyncBus.send, []

    def failing(self: SyncBus, *args: object, **kwargs: object) -> object:
        calls.append(args)
        if len(calls) == 2:
            raise errors.OutcomeUnknown("the disk went away", "01JF")
        return whole(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(SyncBus, "send", failing)
    ran = telex("send", "--as", "dev", "--to", "lead", "log.jsonl")
    assert ran.code == 1
    assert ran.out.startswith("stored ")
    assert ran.err.startswith("telex: log.jsonl:2: outcome unknown: send again with the same id")
    assert len(calls) == 2


def test_a_place_where_no_store_can_be_is_one_sentence(telex: Telex, tmp_path: Path) -> None:
    put(tmp_path, "blocker.json", BLOCKER)
    ran = telex("send", "--as", "dev", "--to", "lead", "--store", "blocker.json/telex.db", "blocker.json")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("telex: ")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    "args",
    [["inbox", "--as", "lead"], ["team"], ["log"], ["dead"], ["why", "x"], ["receive", "--as", "lead"]],
    ids=lambda args: args[0],
)
def test_a_file_that_is_no_store_is_one_sentence_at_every_command(
    telex: Telex, tmp_path: Path, args: list[str]
) -> None:
    (tmp_path / "note.db").write_text("not a database at all, but long enough to look like one" * 20)
    ran = telex(*args, "--store", "note.db")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("telex: ")
    assert ran.err.count("\n") == 1


# --- completion -------------------------------------------------------------------------------------------------------


def completed(words: str, folder: Path) -> list[str]:
    """What a shell would offer for the last of these words."""
    count = str(len(words.split(" ")) - 1)
    environment = os.environ | {"_TELEX_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": count}
    ran = subprocess.run(COMMAND, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return [line.partition(",")[2] for line in ran.stdout.splitlines()]


def test_agents_ids_and_types_are_completed_and_no_store_is_made_for_it(telex: Telex, tmp_path: Path) -> None:
    assert completed("telex inbox --as le", tmp_path) == ["lead"]
    assert completed("telex log --type dev_b", tmp_path) == ["dev_blocker"]
    assert completed("telex send --wa", tmp_path) == ["--wait"]
    assert not (tmp_path / ".telex").exists()
    telex("team", "join", "leonie", "--role", "dev")
    id_ = sent(telex)
    assert completed("telex inbox --as le", tmp_path) == ["leonie", "lead"]
    assert completed(f"telex ack --as lead {id_[:4]}", tmp_path) == [id_]


def test_completion_in_a_folder_with_wrong_settings_is_silent(telex: Telex, tmp_path: Path) -> None:
    (tmp_path / "telex.toml").write_text("[team]\nstrikt = true\n")
    assert completed("telex inbox --as le", tmp_path) == ["lead"]


def test_a_store_in_memory_is_refused_since_it_would_keep_nothing(telex: Telex) -> None:
    ran = telex("receive", "--as", "lead", "--store", "memory:")
    assert (ran.code, ran.out) == (64, "")
    assert "memory" in ran.err


def test_what_was_typed_and_is_not_utf8_is_one_sentence(telex: Telex) -> None:
    sent(telex)
    for command in (["why", "\udcff"], ["trace", "\udcff"], ["search", "\udcff"]):
        ran = telex(*command)
        assert ran.code in (3, 64), ran
        assert "Traceback" not in ran.err


LOOKING = [
    ["why", "x"],
    ["show", "x"],
    ["trace", "x"],
    ["search", "x"],
    ["log"],
    ["log", "--export", "-"],
    ["events"],
    ["team"],
    ["team", "leave", "x"],
    ["dead"],
    ["dead", "list"],
    ["dead", "retry", "x"],
    ["dead", "drop", "x", "--reason", "no"],
    ["doctor"],
    ["approvals"],
    ["escalations"],
    ["contract"],
    ["task"],
    ["stall"],
    ["work"],
    ["ack", "x", "--as", "lead"],
    ["nack", "x", "--as", "lead", "--reason", "no"],
    ["extend", "x", "--as", "lead"],
]


@pytest.mark.parametrize("args", LOOKING, ids=" ".join)
@pytest.mark.parametrize("place", [[], ["--store", "typo.db"], ["--store", "no/such/folder.db"]], ids=str)
def test_looking_makes_no_store(telex: Telex, tmp_path: Path, args: list[str], place: list[str]) -> None:
    path = place[1] if place else ".telex/telex.db"
    assert telex(*args, *place) == (3, "", f"telex: no store at {path}: the first telex send creates it\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "args, code",
    [(["receive", "--as", "lead"], 4), (["team", "join", "ada", "--role", "dev"], 0)],
    ids=["receive", "join"],
)
def test_an_agent_may_come_before_its_first_message(telex: Telex, tmp_path: Path, args: list[str], code: int) -> None:
    assert telex(*args).code == code
    assert (tmp_path / ".telex/telex.db").exists()


@proves("bus/looking/no-store")
def test_an_inbox_is_empty_where_there_is_no_store_and_none_is_made(telex: Telex, tmp_path: Path) -> None:
    looked = telex("inbox", "--as", "lead")
    say = "nothing waits for lead: no store at .telex/telex.db: the first telex send creates it\n"
    assert (looked, list(tmp_path.iterdir())) == ((0, "", say), [])


@proves("bus/looking/exit-code")
def test_the_inbox_of_an_agent_that_nobody_knows_is_empty_or_not_found_and_never_refused(telex: Telex) -> None:
    sent(telex)
    assert telex("inbox", "--as", "zed") == (0, "", "nothing waits for zed\n")
    assert telex("inbox", "--as", "laed") == (0, "", "nothing waits for laed; did you mean lead?\n")
    Path("telex.toml").write_text("[team.members.lead]\n")
    assert telex("inbox", "--as", "zed").code == 3


def test_a_record_may_be_taken_in_where_nothing_was(telex: Telex, tmp_path: Path) -> None:
    sent(telex)
    telex("log", "--export", "out.jsonl")
    assert telex("log", "--import", "out.jsonl", "--store", "new.db").out == "1 of 1 messages imported\n"


def test_a_declared_team_is_shown_before_there_is_a_store(telex: Telex, tmp_path: Path) -> None:
    Path("telex.toml").write_text('[team]\nname = "crew"\n[team.members.ada]\nrole = "dev"\n')
    ran = telex("team")
    assert (ran.code, ran.err) == (0, "no store at .telex/telex.db: the first telex send creates it\n")
    assert ran.out.splitlines()[-1].split()[:4] == ["ada", "dev", "not", "seen"]
    assert [path.name for path in tmp_path.iterdir()] == ["telex.toml"]


def test_a_store_that_is_there_is_looked_at(telex: Telex, tmp_path: Path) -> None:
    put(tmp_path, "blocker.json", BLOCKER)
    telex("send", "--as", "dev", "--to", "lead", "--id", "b1", "--store", "sqlite:here.db", "blocker.json")
    assert telex("why", "b1", "--store", "sqlite:here.db").code == 0
