"""What do `team`, `dead` and `doctor` show, and how do a team's settings reach the bus?"""

from pathlib import Path

import pytest

from tests.cli.cli_bus_kit import BLOCKER, Telex, sent, taken, telex
from tests.cli.cli_kit import put
from tests.proofs import proves

__all__ = ["telex"]

CLOSED = '[team.members.ada]\nrole = "dev"\n[team.members.lead]\n'


def buried(telex: Telex) -> str:
    """A message that is dead."""
    Path("telex.toml").write_text("[limits]\nattempts_max = 1\n")
    id_ = sent(telex)
    telex("nack", taken(telex)["token"], "--as", "lead", "--reason", "no table")
    return id_


# --- team -------------------------------------------------------------------------------------------------------------


def test_an_agent_joins_is_seen_and_leaves(telex: Telex) -> None:
    ran = telex("team", "join", "Ada", "--role", "dev", "--reads", "vbw-handoff")
    assert ran == (0, "ada is in the team as dev\n", "")
    sent(telex, sender="ada")
    [ada] = [answer for answer in telex("team", "--json").answers if answer["name"] == "ada"]
    assert (ada["role"], ada["reads"], ada["state"]) == ("dev", ["vbw-handoff"], "here")
    assert "ada" in telex("team").out
    assert telex("team", "leave", "ada") == (0, "ada has left\n", "")


@proves("shutdown/answer/comes-back")
def test_a_lead_or_a_person_brings_back_who_was_shut_down(telex: Telex) -> None:
    telex("team", "join", "ada", "--role", "dev")
    telex("team", "shutdown", "--as", "lead", "--reason", "user_abort", "--deadline", "0", "--force")
    for words in ((), ("--role", "dev"), ("--as", "ada")):
        ran = telex("team", "join", "ada", *words)
        assert (ran.code, ran.out) == (2, "")
        assert "telex team join ada --as lead" in ran.err
    assert telex("team", "join", "ada", "--as", "human").out == "ada is in the team as dev\n"


def test_what_waited_for_one_who_leaves_is_taken_back(telex: Telex) -> None:
    telex("team", "join", "lea", "--role", "lead")
    id_ = sent(telex, to="lea")
    assert telex("team", "leave", "lea").out == "lea has left; 1 message withdrawn\n"
    assert telex("why", id_, "--json").answer["state"] == "withdrawn"


def test_a_role_that_nobody_knows_is_refused_with_the_nearest(telex: Telex) -> None:
    ran = telex("team", "join", "ada", "--role", "devv")
    assert (ran.code, ran.out) == (2, "")
    assert "role-unknown" in ran.err
    assert "dev" in ran.err


def test_who_is_not_there_cannot_leave(telex: Telex) -> None:
    assert telex("team", "leave", "nobody-here").code == 3


def test_the_roster_counts_what_waits(telex: Telex) -> None:
    for number in range(3):
        sent(telex, BLOCKER | {"task": str(number)})
    taken(telex)
    [lead] = [answer for answer in telex("team", "--json").answers if answer["name"] == "lead"]
    assert (lead["waiting"], lead["leased"]) == (2, 1)


def test_an_option_before_the_subcommand_is_not_lost_silently(telex: Telex) -> None:
    assert telex("team", "--store", "x.db", "join", "ada") == (64, "", "telex: put --store behind join\n")
    assert telex("dead", "--json", "retry", "x") == (64, "", "telex: put --json behind retry\n")


def test_the_team_is_shown_under_its_name(telex: Telex) -> None:
    Path("telex.toml").write_text('[team]\nname = "release crew"\n')
    sent(telex)
    assert telex("team").out.splitlines()[:2] == ["release crew", ""]
    Path("telex.toml").unlink()
    assert telex("team").out.startswith("name ")


# --- settings ---------------------------------------------------------------------------------------------------------


def test_declared_members_close_the_team(telex: Telex) -> None:
    Path("telex.toml").write_text(CLOSED)
    sent(telex, sender="ada")
    put(Path.cwd(), "blocker.json", BLOCKER)
    for sender, to in (("dev", "lead"), ("ada", "qa")):
        assert telex("send", "--as", sender, "--to", to, "blocker.json").code == 2
    assert {answer["name"] for answer in telex("team", "--json").answers} == {"ada", "lead"}
    assert telex("team", "join", "bo", "--role", "dev").code == 2


def test_a_declared_member_has_an_inbox_before_it_is_seen(telex: Telex) -> None:
    Path("telex.toml").write_text(CLOSED)
    id_ = sent(telex, sender="ada", to="lead")
    [lead] = [answer for answer in telex("team", "--json").answers if answer["name"] == "lead"]
    assert (lead["state"], lead["waiting"], lead["declared"]) == ("not seen yet", 1, True)
    assert taken(telex, "lead")["id"] == id_


def test_settings_that_are_wrong_stop_every_command_of_the_bus_with_64(telex: Telex, tmp_path: Path) -> None:
    Path("telex.toml").write_text("[team]\nstrikt = true\n[limits]\ninbx_max = 1\n")
    put(tmp_path, "blocker.json", BLOCKER)
    for args in (["send", "--as", "dev", "--to", "lead", "blocker.json"], ["inbox", "--as", "lead"], ["team"]):
        ran = telex(*args)
        assert (ran.code, ran.out) == (64, "")
        assert ran.err.splitlines() == [
            "telex: telex.toml:2: team.strikt: there is no such key here; did you mean strict?",
            "telex: telex.toml:4: limits.inbx_max: there is no such key here; did you mean inbox_max?",
        ]
    assert not (tmp_path / ".telex").exists()


def test_the_store_named_in_the_settings_is_used(telex: Telex, tmp_path: Path) -> None:
    Path("telex.toml").write_text('[store]\npath = "kept.db"\n')
    sent(telex)
    assert (tmp_path / "kept.db").exists()
    assert not (tmp_path / ".telex").exists()


def test_a_lenient_team_keeps_what_a_strict_one_refuses(telex: Telex, tmp_path: Path) -> None:
    put(tmp_path, "odd.json", BLOCKER | {"blocker": 3})
    args = ["send", "--as", "dev", "--to", "lead", "odd.json"]
    assert telex(*args).code == 2
    Path("telex.toml").write_text("[team]\nstrict = false\n")
    assert telex(*args).code == 0


def test_a_full_inbox_refuses_with_a_clear_code(telex: Telex, tmp_path: Path) -> None:
    Path("telex.toml").write_text("[limits]\ninbox_max = 1\n")
    sent(telex)
    put(tmp_path, "second.json", BLOCKER | {"task": "another"})
    ran = telex("send", "--as", "dev", "--to", "lead", "second.json")
    assert ran.code == 2
    assert "inbox-full" in ran.err


def test_an_example_of_the_settings_can_be_had(telex: Telex) -> None:
    ran = telex("team", "--example")
    assert (ran.code, ran.err) == (0, "")
    assert "[team]" in ran.out


# --- dead letters -----------------------------------------------------------------------------------------------------


def test_a_message_whose_attempts_are_used_up_is_dead_and_its_sender_is_told(telex: Telex) -> None:
    id_ = buried(telex)
    [letter] = telex("dead", "--json").answers
    assert (letter["id"], letter["state"], letter["inbox"], letter["attempts"]) == (id_, "dead", "lead", 1)
    assert id_ in telex("dead", "list").out
    assert "no table" in str(taken(telex, "dev"))
    assert telex("why", id_).out.splitlines()[0] == f"{id_}  dead"


def test_a_dead_letter_gets_another_round(telex: Telex) -> None:
    id_ = buried(telex)
    assert telex("dead", "retry", id_) == (0, f"back in 1 inbox: {id_}\n", "")
    assert taken(telex)["id"] == id_


def test_a_dead_letter_is_dropped_with_a_reason(telex: Telex) -> None:
    id_ = buried(telex)
    assert telex("dead", "drop", id_).code == 64
    assert telex("dead", "drop", id_, "--reason", "not needed") == (0, f"dropped from 1 inbox: {id_}\n", "")
    assert telex("dead", "--json").answers == []
    assert "“not needed”" in telex("why", id_).out


@pytest.mark.parametrize("verb", [["retry"], ["drop", "--reason", "x"]])
def test_what_is_not_dead_can_be_neither_retried_nor_dropped(telex: Telex, verb: list[str]) -> None:
    id_ = sent(telex)
    ran = telex("dead", verb[0], id_, *verb[1:])
    assert (ran.code, ran.out) == (3, "")
    assert id_ in ran.err
