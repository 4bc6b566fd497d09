"""Does a dialect go by its version wherever a command asks for one?"""

import pytest

from tests.cli_kit import SAMPLES
from tests.proofs import proves
from tests.test_translate_cli import Capture, run


@proves("rendering/dialect-version")
@pytest.mark.parametrize(
    "args",
    [
        ("dialects", "vbw@1.0"),
        ("check", "--dialect", "vbw@1.0", "samples/vbw-handoff/progress.json"),
        ("check", "--team-dialect", "vbw-handoff@1.0", "samples/vbw-handoff/progress.json"),
        ("new", "dev_progress", "--dialect", "vbw@1.0"),
        ("schema", "--dialect", "vbw@1.0"),
        ("prompt", "--role", "dev", "--dialect", "vbw@1.0"),
        ("translate", "--dialect", "vbw@1.0", "--to", "vbw@2.0", "samples/vbw-handoff/progress.json"),
    ],
)
def test_a_dialect_goes_by_its_version_wherever_a_command_asks_for_one(args: tuple[str, ...], capsys: Capture) -> None:
    found = run(capsys, *(arg.replace("samples", str(SAMPLES)) for arg in args))
    assert found.code == 0, found
    other = [arg.replace("samples", str(SAMPLES)).replace("@1.0", "@7.0") for arg in args]
    refused = run(capsys, *other)
    assert (refused.code, refused.out) == (3 if args[0] == "dialects" else 64, "")
    assert "vbw-handoff@1.0" in refused.err, "what there is"
