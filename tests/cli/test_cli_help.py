"""`telex help` and `telex completion`: environment variables, help of commands, completion in a real shell."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from telex.surfaces.cli.help import SHELLS
from tests.cli.cli_bus_kit import Telex, telex
from tests.cli.test_cli_bus_errors import completed
from tests.proofs import proves

__all__ = ["telex"]
SOURCE = Path(__file__).parents[2] / "src/telex"
INTERNAL = {"TELEX_COMPLETE"}  # set by a completion script


@proves("cli/environment")
def test_every_variable_that_the_source_names_is_listed(telex: Telex) -> None:
    named = {name for path in SOURCE.rglob("*.py") for name in re.findall(r"TELEX_[A-Z_]+\b", path.read_text())}
    listed = {row["name"] for row in telex("help", "environment", "--json").answers}
    assert {name for name in listed if name.startswith("TELEX_")} == named - INTERNAL


@proves("cli/help")
def test_the_help_of_a_command_and_of_a_subcommand_can_be_asked_for_by_name(telex: Telex) -> None:
    for words in (("send",), ("backup",), ("work", "start"), ("token", "create")):
        asked = telex("help", *words)
        assert (asked.code, asked.out) == (0, telex(*words, "--help").out)
        assert asked.out
    assert telex("help", "sned").code == 64
    assert telex("help").out == telex("--help").out


@proves("cli/completion")
@pytest.mark.parametrize("shell", SHELLS)
def test_a_completion_script_calls_telex_back(telex: Telex, shell: str) -> None:
    script = telex("completion", shell)
    assert script.code == 0
    assert f"_TELEX_COMPLETE={shell}_complete" in script.out


@proves("cli/completion")
def test_bash_completes_with_the_script(telex: Telex, tmp_path: Path) -> None:
    assert shutil.which("bash")
    (tmp_path / "script").write_text(telex("completion", "bash").out)
    line = "source ./script; COMP_WORDS=(telex send --wa); COMP_CWORD=2; _telex_completion telex; echo ${COMPREPLY[@]}"
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    ran = subprocess.run(["bash", "-c", line], env={"PATH": path}, capture_output=True, text=True, check=False)
    assert ran.stdout == "--wait\n", ran


@proves("cli/completion")
def test_values_of_the_options_of_send_and_check_are_completed(telex: Telex, tmp_path: Path) -> None:
    assert completed("telex send --as le", tmp_path) == ["lead"]
    assert completed("telex check --dialect signal", tmp_path) == ["signal-md"]
