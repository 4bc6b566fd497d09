"""What do `why`, `show`, `log`, `events` and `search` tell, and does a record survive going out and coming in?"""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.cli_bus_kit import BLOCKER, PROGRESS, Telex, sent, taken, telex
from tests.cli.cli_kit import COMMAND, WRONG_CASE, put, terminal
from tests.proofs import proves

__all__ = ["telex"]


# --- why --------------------------------------------------------------------------------------------------------------


def test_the_story_of_a_message_is_told_in_order_under_its_state(telex: Telex) -> None:
    id_ = sent(telex)
    token = taken(telex)["token"]
    telex("nack", token, "--as", "lead", "--reason", "no table", "--delay", "0")
    token = taken(telex)["token"]
    for _ in range(3):  # of which the last is shown
        telex("extend", token, "--as", "lead")
    telex("ack", id_, "--as", "lead")
    ran = telex("why", id_)
    head, about, blank, *lines = ran.out.splitlines()
    assert (ran.code, head, blank) == (0, f"{id_}  acked", "")
    assert about.startswith("vbw-handoff dev_blocker from dev to lead")
    assert [line[25:].split("  ")[0] for line in lines] == [
        "accepted", "offered 1×", "nacked", "offered 2×", "extended", "acked",
    ]  # fmt: skip
    assert "by lead; “no table”; again at " in lines[2]


def test_a_waiting_message_says_where_it_stands(telex: Telex) -> None:
    id_ = sent(telex)
    assert telex("why", id_).out.splitlines()[-1] == "now  lead: stored; no agent has joined as lead"
    taken(telex)
    assert telex("why", id_).out.splitlines()[-1].startswith("now  lead: leased by lead until ")


def test_a_refused_message_has_a_story_too(telex: Telex) -> None:
    put(Path.cwd(), "progress.json", WRONG_CASE)
    id_ = telex("send", "--as", "dev", "--to", "lead", "--json", "progress.json").answer["id"]
    ran = telex("why", id_)
    assert ran.out.splitlines()[0] == f"{id_}  refused"
    assert "not-one-of at $.status" in ran.out


def test_the_story_of_a_broadcast_names_every_inbox(telex: Telex) -> None:
    for name in ("ada", "bo"):
        telex("team", "join", name, "--role", "qa")
    id_ = sent(telex, "Good morning", sender="lead", to="*")
    assert "from lead, stored for ada, bo; in " in telex("why", id_).out
    id_ = sent(telex, "Good evening", sender="lead", to="all:qa")
    assert "from lead, stored for ada, bo; in " in telex("why", id_).out


def test_a_deadline_that_passed_names_the_next_one(telex: Telex) -> None:
    put(Path.cwd(), "ask.txt", "Which port?")
    telex("request", "--as", "dev", "--to", "lead", "--id", "port", "--timeout", "0", "ask.txt")
    [overdue] = [line for line in telex("why", "port").out.splitlines() if "reply-overdue" in line]
    assert "next deadline " in overdue
    assert "again at" not in overdue


def test_the_story_for_programs_has_everything(telex: Telex) -> None:
    id_ = sent(telex)
    token = taken(telex)["token"]
    story = telex("why", id_, "--json").answer
    assert (story["id"], story["state"], story["from"], story["to"]) == (id_, "leased", "dev", "lead")
    assert [one["token"] for one in story["deliveries"]] == [token]
    assert [one["kind"] for one in story["events"]] == ["accepted", "leased"]
    assert story["events"][1]["detail"]["attempt"] == 1


# --- show -------------------------------------------------------------------------------------------------------------


def test_the_bytes_as_received_are_always_recoverable(telex: Telex, tmp_path: Path) -> None:
    raw = "Good\r\nmorning \x1b[31m ü".encode()
    (tmp_path / "note.txt").write_bytes(raw)
    id_ = telex("send", "--as", "dev", "--to", "lead", "--json", "note.txt").answer["id"]
    ran = subprocess.run([*COMMAND, "show", "--raw", id_], capture_output=True, check=True)
    assert (ran.stdout, ran.stderr) == (raw, b"")


def test_a_message_shown_on_a_terminal_does_nothing_to_it(telex: Telex) -> None:
    id_ = sent(telex, "Good morning \x1b[31m")
    seen = terminal("show", id_, NO_COLOR="1").out
    assert "Good morning \\x1b[31m" in seen
    assert "\x1b" not in seen


# --- log --------------------------------------------------------------------------------------------------------------


def test_the_log_has_a_record_for_every_message_sent_and_every_turn_taken(telex: Telex) -> None:
    sent(telex)
    put(Path.cwd(), "progress.json", WRONG_CASE)
    telex("send", "--as", "dev", "--to", "lead", "progress.json")
    telex("nack", taken(telex)["token"], "--as", "lead", "--reason", "no table", "--delay", "0")
    telex("ack", taken(telex)["token"], "--as", "lead")
    records = telex("log", "--json").answers
    assert [(record["direction"], record["agent"], record["result"]) for record in records] == [
        ("SENT", "dev", "SUCCESS"),
        ("SENT", "dev", "ERROR"),
        ("RECEIVED", "lead", "ERROR"),
        ("RECEIVED", "lead", "SUCCESS"),
    ]
    assert [record["reason"] for record in records] == [None, "not-one-of", "no table", None]
    assert records[0]["message"] == BLOCKER
    assert all(record["processingTime"] >= 0 for record in records)
    assert all(record["timestamp"].endswith("Z") for record in records)


def test_the_log_for_people_has_a_line_for_each(telex: Telex) -> None:
    id_ = sent(telex)
    taken(telex, "lead", "--ack")
    day, one, two = telex("log").out.splitlines()
    assert day.endswith(" UTC")
    assert one[14:].split()[:3] == ["SENT", "dev", "SUCCESS"]
    assert two[14:].split()[:3] == ["RECEIVED", "lead", "SUCCESS"]
    assert one.endswith(f"dev_blocker {id_}")


@pytest.mark.parametrize(
    "options, kept",
    [
        (["--agent", "dev"], [("SENT", "dev"), ("SENT", "dev")]),
        (["--agent", "Lead"], [("RECEIVED", "lead")]),
        (["--type", "dev_progress"], [("SENT", "dev")]),
        (["--dialect", "vbw-handoff"], [("SENT", "dev"), ("SENT", "dev"), ("RECEIVED", "lead")]),
        (["--dialect", "signal-md"], []),
        (["--text", "wombat"], [("SENT", "dev")]),
        (["--since", "1h"], [("SENT", "dev"), ("SENT", "dev"), ("RECEIVED", "lead")]),
        (["--until", "1h"], []),
        (["--since", "2000-01-01"], [("SENT", "dev"), ("SENT", "dev"), ("RECEIVED", "lead")]),
    ],
)
def test_the_log_can_be_filtered(telex: Telex, options: list[str], kept: list[tuple[str, str]]) -> None:
    sent(telex)
    sent(telex, PROGRESS | {"task": "feed the wombat"})
    taken(telex, "lead", "--ack")
    found = telex("log", "--json", *options).answers
    assert [(one["direction"], one["agent"]) for one in found] == kept


def test_a_moment_that_is_none_is_said(telex: Telex) -> None:
    ran = telex("log", "--since", "yesterday-ish")
    assert (ran.code, ran.out) == (64, "")
    assert ran.err.startswith("telex: --since takes a time, not yesterday-ish: --since 10m")


@pytest.mark.parametrize("command", ["log", "events"])
def test_a_follower_is_told_what_happens_next(telex: Telex, command: str) -> None:
    first = sent(telex)
    with subprocess.Popen(
        [*COMMAND, command, "--follow", "--json", "--type", "dev_blocker"], stdout=subprocess.PIPE, text=True
    ) as following:
        assert following.stdout is not None
        assert json.loads(following.stdout.readline())["id"] == first
        second = sent(telex, BLOCKER | {"task": "another"})
        assert json.loads(following.stdout.readline())["id"] == second
        following.terminate()


@proves("bus/log/mail")
def test_a_follower_of_an_agent_is_told_of_its_mail(telex: Telex) -> None:
    sent(telex)
    command = [*COMMAND, "events", "--follow", "--json", "--agent", "lead", "--kind", "accepted"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        assert json.loads(following.stdout.readline())["kind"] == "accepted"
        id_ = sent(telex, BLOCKER | {"task": "another"})
        assert json.loads(following.stdout.readline())["id"] == id_
        following.terminate()


# --- out and in -------------------------------------------------------------------------------------------------------


def test_a_record_goes_out_and_comes_in_again_whole(telex: Telex, tmp_path: Path) -> None:
    kept = sent(telex)
    (tmp_path / "note.txt").write_bytes(b"not text: \xff")
    refused = telex("send", "--as", "dev", "--to", "lead", "--json", "note.txt").answer["id"]
    taken(telex, "lead", "--ack")
    assert telex("log", "--export", "out.jsonl").err.endswith(" events written to out.jsonl\n")
    lines = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert {line["kind"] for line in lines} >= {"accepted", "refused", "leased", "acked"}
    ran = telex("log", "--import", "out.jsonl", "--store", "other.db")
    assert (ran.code, ran.out) == (0, "2 of 2 messages imported\n")
    for id_, raw in ((kept, (tmp_path / "message.json").read_bytes()), (refused, b"not text: \xff")):
        shown = subprocess.run([*COMMAND, "show", "--raw", id_, "--store", "other.db"], capture_output=True, check=True)
        assert shown.stdout == raw
    assert telex("inbox", "--as", "lead", "--json", "--store", "other.db").answers == []
    assert telex("why", kept, "--json", "--store", "other.db").answer["state"] == "recorded"
    ran = telex("log", "--import", "out.jsonl", "--store", "other.db")
    assert (ran.code, ran.out) == (0, "0 of 2 messages imported; the others were there already\n")


def test_what_was_refused_is_still_refused_in_another_store_and_says_why(telex: Telex) -> None:
    put(Path.cwd(), "progress.json", WRONG_CASE)
    id_ = telex("send", "--as", "dev", "--to", "lead", "--json", "progress.json").answer["id"]
    here = telex("why", id_)
    for store in ("second.db", "third.db"):  # and it may be handed on
        telex("log", "--export", "out.jsonl", *(["--store", "second.db"] if store == "third.db" else []))
        telex("log", "--import", "out.jsonl", "--store", store)
    assert telex("why", id_, "--store", "third.db") == here
    [found] = telex("search", "COMPLETE", "--json", "--store", "third.db").answers
    assert (found["id"], found["refused"]) == (id_, True)
    [record] = telex("log", "--json", "--store", "third.db").answers
    assert (record["direction"], record["result"], record["reason"]) == ("SENT", "ERROR", "not-one-of")


@pytest.mark.parametrize(
    "line, said",
    [
        ("{", "not JSON"),
        ("[]", "not a line of an export"),
        ('{"telex": 1, "kind": "accepted"}', "needs a message, and there is none"),
        ('{"telex": 1, "kind": "accepted", "message": {}}', "neither raw nor raw_base64"),
        ('{"telex": 1, "kind": "accepted", "message": {"raw": "a"}}', "message.at must be a number"),
    ],
)
def test_a_line_that_cannot_be_taken_in_is_named_and_nothing_is(
    telex: Telex, tmp_path: Path, line: str, said: str
) -> None:
    sent(telex)
    telex("log", "--export", "out.jsonl")
    with open("out.jsonl", "a") as file:
        file.write(line + "\n")
    number = len(Path("out.jsonl").read_text().splitlines())
    ran = telex("log", "--import", "out.jsonl", "--store", "other.db")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"telex: out.jsonl:{number}: ")
    assert said in ran.err
    assert telex("log", "--json", "--store", "other.db").answers == []


def test_bytes_that_were_changed_in_the_file_are_found_out(telex: Telex) -> None:
    sent(telex, "Good morning")
    telex("log", "--export", "out.jsonl")
    Path("out.jsonl").write_text(Path("out.jsonl").read_text().replace("Good morning", "Good evening"))
    ran = telex("log", "--import", "out.jsonl", "--store", "other.db")
    assert ran.code == 1
    assert "do not match its digest" in ran.err


# --- events and search ------------------------------------------------------------------------------------------------


def test_events_are_told_in_order_and_by_kind(telex: Telex) -> None:
    id_ = sent(telex)
    taken(telex, "lead", "--ack")
    kinds = [answer["kind"] for answer in telex("events", "--json").answers if answer["id"] == id_]
    assert kinds == ["accepted", "leased", "acked"]
    [acked] = telex("events", "--kind", "acked", "--json").answers
    assert (acked["id"], acked["agent"]) == (id_, "lead")
    assert "acked" in telex("events", "--kind", "acked").out


@proves("build-flow/log/search")
def test_words_are_found_newest_first(telex: Telex) -> None:
    first = sent(telex, BLOCKER | {"task": "feed the wombat"})
    second = sent(telex, BLOCKER | {"task": "wash the wombat"})
    sent(telex, BLOCKER | {"task": "sleep"})
    assert [answer["id"] for answer in telex("search", "wombat", "--json").answers] == [second, first]
    assert [answer["id"] for answer in telex("search", "feed", "wombat", "--json").answers] == [first]
    assert "feed the wombat" in telex("search", "feed").out
    assert telex("search", "kangaroo") == (0, "", "no message contains kangaroo\n")


@pytest.mark.parametrize("words", ["", " "])
def test_to_search_for_nothing_is_wrong_usage(telex: Telex, words: str) -> None:
    assert telex("search", words) == (64, "", "telex: give the words: telex search TEXT\n")
