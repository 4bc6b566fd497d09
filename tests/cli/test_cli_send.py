"""What does `telex send` keep, refuse and say, and how does it wait?"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.cli_bus_kit import BLOCKER, PROGRESS, Telex, send, sent, taken, telex
from tests.cli.cli_kit import COMMAND, LACKING, WRONG_CASE, example, process, put, terminal
from tests.cli.test_cli_process import HEAVY, LOADED
from tests.proofs import proves

__all__ = ["telex"]


# --- send -------------------------------------------------------------------------------------------------------------


def test_a_message_is_kept_with_no_server_and_no_set_up(telex: Telex, tmp_path: Path) -> None:
    ran = send(telex, BLOCKER)
    [line] = ran.out.splitlines()
    kept, id_, *rest = line.split(" ")
    assert (ran.code, ran.err, kept, rest) == (0, "", "stored", ["for", "lead"])
    assert (tmp_path / ".telex/telex.db").exists()
    [waiting] = telex("inbox", "--as", "lead", "--json").answers
    assert (waiting["id"], waiting["from"], waiting["type"], waiting["state"]) == (id_, "dev", "dev_blocker", "stored")


def test_a_second_address_is_told_and_nothing_is_kept(telex: Telex, tmp_path: Path) -> None:
    ran = send(telex, BLOCKER, "--to=qa")
    assert (ran.code, ran.out) == (64, "")
    assert "give --to once" in ran.err
    assert "all:ROLE" in ran.err
    assert not (tmp_path / ".telex").exists()


def test_a_store_above_the_folder_is_found(telex: Telex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    id_ = sent(telex)
    (tmp_path / "a/b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a/b")
    assert taken(telex)["id"] == id_
    assert not (tmp_path / "a/b/.telex").exists()


@pytest.mark.parametrize("by", ["option", "variable"])
def test_another_store_may_be_named(telex: Telex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    put(tmp_path, "blocker.json", BLOCKER)
    path, options = "elsewhere/kept here ü.db", []
    if by == "variable":
        monkeypatch.setenv("TELEX_STORE", path)
    else:
        options = ["--store", path]
    (tmp_path / "elsewhere").mkdir()
    assert telex("send", "--as", "dev", "--to", "lead", *options, "blocker.json").code == 0
    assert (tmp_path / path).exists()
    assert not (tmp_path / ".telex").exists()
    assert len(telex("inbox", "--as", "lead", "--json", *options).answers) == 1


def test_a_refused_message_is_said_on_stderr_with_its_fix_and_is_delivered_to_nobody(telex: Telex) -> None:
    ran = send(telex, WRONG_CASE)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("refused   vbw-handoff dev_progress\n  refusal  not-one-of  $.status\n")
    head, fixed = ran.err.rstrip("\n").split("\n")[-2:]
    assert (head, json.loads(fixed)) == ("Send this instead:", PROGRESS)
    assert telex("inbox", "--as", "lead", "--json").answers == []


def test_a_refusal_with_blanks_says_so(telex: Telex) -> None:
    ran = send(telex, LACKING)
    assert ran.code == 2
    head, fixed = ran.err.rstrip("\n").split("\n")[-2:]
    assert head == "Fill in the blanks, resolve the findings, and send this:"
    assert json.loads(fixed)["plan_id"] == "<fill: text>"


def test_who_may_not_say_it_is_refused(telex: Telex) -> None:
    ran = send(telex, example("vbw-handoff", "qa_result"), "--json")
    assert (ran.code, ran.answer["accepted"], ran.answer["state"]) == (2, False, "refused")
    assert ran.answer["findings"][0]["code"] == "role-may-not-send"
    assert "role-may-not-send" in ran.err  # for a coding tool, which shows its agent only this


def test_an_unknown_recipient_is_refused_with_the_nearest_name(telex: Telex) -> None:
    put(Path.cwd(), "blocker.json", BLOCKER)
    ran = telex("send", "--as", "dev", "--to", "laed", "--json", "blocker.json")
    assert ran.code == 2
    assert [(one["code"], one["nearest"]) for one in ran.answer["findings"]] == [("recipient-unknown", "lead")]


def test_a_sender_whose_name_is_no_role_says_its_role_once(telex: Telex) -> None:
    put(Path.cwd(), "blocker.json", BLOCKER)
    assert telex("send", "--as", "ada", "--to", "lead", "blocker.json").code == 2
    assert telex("send", "--as", "ada", "--role", "dev", "--to", "lead", "blocker.json").code == 0
    put(Path.cwd(), "second.json", BLOCKER | {"task": "another"})
    assert telex("send", "--as", "ada", "--to", "lead", "second.json").code == 0


def test_the_same_message_sent_twice_was_kept_before(telex: Telex) -> None:
    put(Path.cwd(), "blocker.json", BLOCKER)
    ids = [telex("send", "--as", "dev", "--to", "lead", "--id", "B-1", "blocker.json") for _ in range(2)]
    assert [ran.out for ran in ids] == ["stored B-1 for lead\n", "duplicate B-1 for lead\n"]
    assert len(telex("inbox", "--as", "lead", "--json").answers) == 1
    ran = send(telex, BLOCKER | {"task": "another"}, "--id", "B-1")
    assert ran.code == 2
    assert "id-reused" in ran.err


def test_an_answer_names_what_it_answers(telex: Telex) -> None:
    asked = sent(telex, "Which port?")
    answer = sent(telex, "It is 5433", "--reply-to", asked, sender="lead", to="dev")
    assert telex("why", answer, "--json").answer["reply_to"] == asked
    assert f"in reply to {asked}" in telex("why", answer).out


@proves("bus/send-ack/command")
def test_an_answer_acks_the_message_that_its_sender_holds_or_is_not_stored(telex: Telex, tmp_path: Path) -> None:
    put(tmp_path, "done.md", "Done.")
    id_ = sent(telex)
    answer = ("send", "--as", "lead", "--to", "dev", "--id", "r-1", "--ack", id_, "done.md")
    assert telex(*answer).code == 2
    token = taken(telex)["token"]
    assert telex(*answer).code == 0
    assert telex("why", id_, "--json").answer["state"] == "acked"
    assert telex(*answer[:-2], token, "done.md", "--json").answer["duplicate"] is True
    assert telex("send", "--as", "lead", "--to", "dev", "--ack", id_, "done.md").code == 2
    assert [waiting["id"] for waiting in telex("inbox", "--as", "dev", "--json").answers] == ["r-1"]
    assert telex("send", "--as", "lead", "--ack", token, "done.md", "done.md").code == 64


def test_every_line_of_a_jsonl_file_is_a_message(telex: Telex) -> None:
    put(Path.cwd(), "log.jsonl", BLOCKER, WRONG_CASE, PROGRESS)
    ran = telex("send", "--as", "dev", "--to", "lead", "log.jsonl")
    assert ran.code == 2
    assert [line.split(" ")[0] for line in ran.out.splitlines()] == ["stored", "stored"]
    assert ran.err.startswith("refused   log.jsonl:2  vbw-handoff dev_progress\n")
    assert len(telex("inbox", "--as", "lead", "--json").answers) == 2


def test_answers_to_many_messages_say_where_each_stood(telex: Telex) -> None:
    put(Path.cwd(), "log.jsonl", BLOCKER, PROGRESS)
    ran = telex("send", "--as", "dev", "--to", "lead", "--json", "log.jsonl")
    assert [answer["source"] for answer in ran.answers] == ["log.jsonl:1", "log.jsonl:2"]


def test_quiet_says_nothing_about_what_is_kept(telex: Telex) -> None:
    put(Path.cwd(), "blocker.json", BLOCKER)
    ran = telex("send", "-q", "--as", "dev", "--to", "lead", "blocker.json")
    assert ran == (0, "", "")


def test_a_warning_stands_below_what_was_kept(telex: Telex) -> None:
    ran = send(telex, f"Here:\n```json\n{json.dumps(PROGRESS)}\n```\n")
    assert ran.code == 0
    assert ran.out.startswith("stored ")
    assert "fence-removed" in ran.out


@pytest.mark.parametrize(
    "args, said",
    [
        (["blocker.json"], "no sender: telex send --as NAME [--to ADDRESS] FILE…|-, or set TELEX_AGENT"),
        (["--as", "dev"], "nothing to send:"),
        (["--as", "dev", "--wait", "done", "blocker.json"], "--wait takes acked, read, leased, not done"),
        (["--as", "dev", "--timeout", "3", "blocker.json"], "--timeout needs --wait"),
        (["--as", "dev", "--wait", "acked", "--timeout", "long", "blocker.json"], "--timeout takes seconds"),
        (["--as", "dev", "--id", "1", "log.jsonl"], "--id is for one message"),
        (["--as", "dev", "--wait", "acked", "log.jsonl"], "--wait is for one message"),
        (["--as", "dev", "--jsno", "blocker.json"], "no option --jsno; did you mean --json?"),
        (["--as", "dev", "--dialect", "nope", "blocker.json"], "no dialect nope"),
    ],
)
def test_what_is_asked_wrongly_is_64_and_makes_no_store(
    telex: Telex, tmp_path: Path, args: list[str], said: str
) -> None:
    put(tmp_path, "blocker.json", BLOCKER)
    put(tmp_path, "log.jsonl", BLOCKER)
    ran = telex("send", *args)
    assert (ran.code, ran.out) == (64, "")
    assert ran.err.startswith("telex: " + said)
    assert not (tmp_path / ".telex").exists()


def test_a_file_that_is_not_there_is_3(telex: Telex) -> None:
    assert telex("send", "--as", "dev", "--to", "lead", "nowhere.json").code == 3


def test_sending_imports_nothing_heavy(tmp_path: Path) -> None:
    put(tmp_path, "blocker.json", BLOCKER)
    args = ["send", "--as", "dev", "--to", "lead", "blocker.json"]
    for _ in range(2):  # the first makes the store
        ran = subprocess.run(
            [sys.executable, "-c", LOADED, *args], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert ran.stdout.startswith("stored ")
        assert set(ran.stderr.splitlines()) & HEAVY == set()


def test_on_a_terminal_a_refusal_names_the_command_that_fixes(telex: Telex, tmp_path: Path) -> None:
    put(tmp_path, "progress.json", WRONG_CASE)
    seen = terminal("send", "--as", "dev", "--to", "lead", "progress.json", NO_COLOR="1").out
    assert "fix      telex fix progress.json --role dev  prints it fixed" in seen
    assert max(map(len, seen.splitlines())) <= 80


def test_a_store_that_is_no_store_is_one_sentence_and_1(telex: Telex, tmp_path: Path) -> None:
    put(tmp_path, "blocker.json", BLOCKER)
    (tmp_path / "note.db").write_text("not a database at all, but long enough to look like one" * 20)
    ran = telex("send", "--as", "dev", "--to", "lead", "--store", "note.db", "blocker.json")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("telex: ")
    assert "note.db" in ran.err
    assert ran.err.count("\n") == 1


def test_a_message_names_never_reach_the_terminal_as_commands(telex: Telex, tmp_path: Path) -> None:
    put(tmp_path, "blocker.json", BLOCKER)
    ran = telex("send", "--as", "dev", "--to", "le\x1b[31mad", "blocker.json")
    assert ran.code == 2
    assert "\x1b" not in ran.err


def test_stdin_is_a_message_too(tmp_path: Path) -> None:
    ran = subprocess.run(
        [*COMMAND, "send", "--as", "dev", "--to", "lead", "-"], input=json.dumps(BLOCKER).encode(), cwd=tmp_path,
        capture_output=True, env=os.environ | {"TELEX_STORE": ""}, check=False,
    )  # fmt: skip
    assert ran.returncode == 0
    assert ran.stdout.startswith(b"stored ")


def test_help_of_send_is_on_stdout() -> None:
    ran = process("send", "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("telex send --as NAME")


# --- waiting ----------------------------------------------------------------------------------------------------------


def test_waiting_in_vain_is_4_and_the_message_is_kept_all_the_same(telex: Telex) -> None:
    ran = send(telex, BLOCKER, "--wait", "acked", "--timeout", "0.1")
    assert ran.code == 4
    assert ran.out.startswith("stored ")
    assert ran.err.startswith("telex: not acked by lead within 100 ms; it stays stored (see telex why ")


def test_a_sender_may_wait_until_it_is_acked(telex: Telex, tmp_path: Path) -> None:
    put(tmp_path, "blocker.json", BLOCKER)
    with subprocess.Popen(
        [*COMMAND, "send", "--as", "dev", "--to", "lead", "--wait", "acked", "blocker.json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as sender:  # fmt: skip
        assert sender.stdout is not None
        assert sender.stdout.readline().startswith("stored ")
        taken(telex, "lead", "--ack")
        out, err = sender.communicate(timeout=30)
    assert (sender.returncode, err) == (0, "")
    assert out.startswith("acked by lead after ")


def test_waiting_for_what_cannot_come_any_more_says_so(telex: Telex, tmp_path: Path) -> None:
    (tmp_path / "telex.toml").write_text("[limits]\nattempts_max = 1\n")
    put(tmp_path, "blocker.json", BLOCKER)
    with subprocess.Popen(
        [*COMMAND, "send", "--as", "dev", "--to", "lead", "--wait", "acked", "blocker.json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as sender:  # fmt: skip
        assert sender.stdout is not None
        sender.stdout.readline()
        telex("nack", taken(telex)["token"], "--as", "lead", "--reason", "no")
        _, err = sender.communicate(timeout=30)
    assert sender.returncode == 1
    assert err.startswith("telex: not acked by lead and will not be: it is dead")
