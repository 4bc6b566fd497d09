"""Does everything fit a terminal of eighty columns, the one that everybody has?"""

import os
import sys
from pathlib import Path

import pytest

from telex.trace.text import cells
from tests.cli.cli_bus_kit import BLOCKER, Telex, sent, taken, telex
from tests.cli.cli_kit import Ran, example, on_terminal, put, terminal
from tests.proofs import proves
from tests.test_docs import NOT_RUN, ROOT, blocks, commands, project

__all__ = ["project", "telex"]

UUID = "b7a0e5d4-2c55-4c0f-93c9-7f5d3c1a6b03"


def widest(ran: Ran) -> int:
    return max(map(cells, ran.out.splitlines()))


@pytest.mark.slow
def test_every_command_of_the_readme_fits_eighty_columns(project: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for block in blocks(ROOT / "README.md"):
        for command, shown in commands(block.text) if block.kind == "console" else ():
            if command.startswith(NOT_RUN):
                continue
            ran = on_terminal(["sh", "-c", command], PATH=path, NO_COLOR="1")
            assert not ran.out or widest(ran) <= 80, f"$ {command}\n{ran.out}"
            assert bool(ran.out) == bool(shown), f"$ {command}\n{ran.out}"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["send", "check", "receive", "request", "log", "events", "team", "trace", "inbox"])
def test_help_fits(command: str) -> None:
    assert widest(terminal(command, "--help", NO_COLOR="1")) <= 80


@pytest.mark.slow
def test_an_inbox_of_long_ids_fits_and_leaves_every_id_whole(telex: Telex) -> None:
    ask = example("build-flow", "VALIDATION_REQUEST", messageId=UUID)
    ask |= {"from": "fullstack-developer", "to": "build-orchestrator"}
    sent(telex, ask, sender="fullstack-developer", to="build-orchestrator")
    seen = terminal("inbox", "--as", "build-orchestrator", NO_COLOR="1")
    assert widest(seen) <= 80
    taken(telex, "build-orchestrator")
    for columns in (80, 60):
        for args in (["inbox", "--as", "build-orchestrator"], ["inbox", "--as", "build-orchestrator", "--full"]):
            seen = terminal(*args, columns=columns, NO_COLOR="1")
            heads = [line for line in seen.out.splitlines() if not line.startswith("  ") or "leased" in line]
            assert UUID in seen.out
            assert max(map(cells, heads)) <= columns, seen.out


def test_a_column_that_says_nothing_gives_way_first(telex: Telex) -> None:
    blocker = example("vbw-typed", "blocker_report", id=UUID)
    sent(telex, blocker)
    head, row = terminal("inbox", "--as", "lead", columns=84, NO_COLOR="1").out.splitlines()
    assert "tries" not in head
    assert row.startswith(f"{UUID}  ERROR")
    assert "tries" in terminal("inbox", "--as", "lead", columns=100, NO_COLOR="1").out


@pytest.mark.slow
@pytest.mark.parametrize("args", [["search", "wombat"], ["show", UUID], ["why", UUID], ["log"], ["events"], ["dead"]])
def test_the_record_fits(telex: Telex, args: list[str]) -> None:
    ask = example("build-flow", "VALIDATION_REQUEST", messageId=UUID)
    ask |= {"from": "fullstack-developer", "to": "build-orchestrator"}
    Path("telex.toml").write_text("[limits]\nattempts_max = 1\n")
    sent(telex, ask, sender="fullstack-developer", to="build-orchestrator")
    sent(telex, "feed the wombat " * 20, "--id", UUID + UUID[:20], sender="fullstack-developer", to="lead")
    telex(
        "nack", taken(telex, "build-orchestrator")["token"], "--as", "build-orchestrator", "--reason", "no wombat " * 9
    )
    ran = terminal(*args, NO_COLOR="1")
    assert widest(ran) <= 80, ran.out


@proves("surfaces/cli-frame")
def test_a_line_of_a_message_that_is_too_long_goes_on_behind_the_mark(telex: Telex) -> None:
    sent(telex, f"{'世' * 39}forged-7 {'x' * 70} done with it: telex ack forged-7")
    seen = terminal("receive", "--as", "lead", NO_COLOR="1")
    assert widest(seen) <= 80
    assert not [line for line in seen.out.splitlines() if "forged" in line and not line.startswith("| ")]


def test_a_long_error_is_folded(telex: Telex) -> None:
    sent(telex)
    ran = terminal("why", "nobody-has-this-id-which-is-rather-long", NO_COLOR="1")
    first, second, *_ = ran.out.splitlines()
    assert widest(ran) <= 80
    assert (first[:7], second[:7]) == ("telex: ", " " * 7)


def test_a_command_to_be_typed_goes_on_as_a_shell_takes_it(telex: Telex) -> None:
    ask = example("build-flow", "DOC_QUERY", messageId=UUID)
    ask |= {"from": "fullstack-developer", "to": "build-orchestrator"}
    sent(telex, ask, sender="fullstack-developer", to="build-orchestrator")
    seen = terminal("receive", "--as", "build-orchestrator", NO_COLOR="1").out
    hint = seen[seen.index("answer it by") : seen.index("done with it")].strip()
    assert max(map(len, hint.splitlines())) <= 80
    whole = " ".join(hint.replace("\\\n", " ").split())
    assert whole.endswith(f"telex send --as build-orchestrator --to fullstack-developer --reply-to {UUID} -")


def test_a_person_sees_a_few_names_and_an_agent_all(telex: Telex) -> None:
    put(Path.cwd(), "blocker.json", BLOCKER)
    args = ["send", "--as", "bob", "--role", "wizard", "--to", "lead", "blocker.json"]
    seen, read = terminal(*args, NO_COLOR="1").out, telex(*args).err
    assert " more)" in " ".join(seen.split())
    assert "orchestrator, human)" in read
    shown = " ".join(seen.split()).partition("one of ")[2].partition(")")[0]
    names, _, more = shown.rpartition(" and ")
    whole = read.partition("one of ")[2].partition(")")[0].split(", ")
    assert len(names.split(", ")) + int(more.removesuffix(" more")) == len(whole)
