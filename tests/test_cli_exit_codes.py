"""With which code do all commands alike leave when what was asked for is not there, or was asked wrongly?"""

import pytest

from telex.surfaces.cli.main import main
from tests.cli_kit import Ran

Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *args: str) -> Ran:
    code = main(list(args))
    return Ran(code, *capsys.readouterr())


@pytest.mark.parametrize(
    "args",
    [
        ["dialects", "nope"],
        ["dialects", ""],
        ["dialects", "nope.toml"],
        ["explain", "nope"],
        ["schema", "nope"],
        ["new", "nope"],
        ["prompt", "--role", "nope"],
    ],
)
def test_what_is_asked_for_and_is_not_there_is_3(capsys: Capture, args: list[str]) -> None:
    code, out, err = run(capsys, *args)
    assert (code, out) == (3, "")
    assert err.startswith("telex: no ")


@pytest.mark.parametrize("dialect", ["nope", ""])
@pytest.mark.parametrize(
    "args",
    [
        ["fix", "-"],
        ["explain", "not-one-of"],
        ["schema", "approval"],
        ["new", "approval"],
        ["prompt", "--role", "auditor"],
    ],
)
def test_a_dialect_option_that_names_none_is_wrong_usage(capsys: Capture, args: list[str], dialect: str) -> None:
    code, out, err = run(capsys, *args, "--dialect", dialect)
    assert (code, out) == (64, "")
    assert ("--dialect needs a value" if not dialect else "no dialect nope") in err


@pytest.mark.parametrize(
    "args",
    [
        ["fix", "-", "--as", ""],
        ["fix", "-", "--to="],
        ["fix", "-", "--team-dialect", ""],
        ["fix", "-", "--team-dialect", "nope"],
        ["fix", "-", "--max-bytes", ""],
        ["fix", "-", "--max-bytes", "few"],
        ["new", "approval", "--as", ""],
        ["prompt", "--role", ""],
        ["schema", "approval", "--as", ""],
    ],
)
def test_an_option_without_a_value_that_makes_sense_is_wrong_usage(capsys: Capture, args: list[str]) -> None:
    ran = run(capsys, *args)
    assert (ran.code, ran.out) == (64, "")
    assert args[-1].partition("=")[0] in ran.err
