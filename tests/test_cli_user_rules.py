"""What does `telex explain` say of a rule that a user declared?"""

from pathlib import Path

import pytest

from telex.generate.codes import code_page
from telex.surfaces.cli.main import main
from tests.cli_kit import SAMPLES, Ran, put

Capture = pytest.CaptureFixture[str]
OWN = "docs/examples/release-train.toml"


def run(capsys: Capture, *args: str) -> Ran:
    code = main(list(args))
    return Ran(code, *capsys.readouterr())


def test_a_rule_of_ones_own_is_explained_as_it_was_declared(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLES.parent)
    said = "Tell the builder what would get the component aboard."
    rule = {
        "severity": "warning",
        "broken_when": "not aboard and not has(reason)",
        "path": "reason",
        "say": said,
        "expected": None,
        "types": ["release_answer"],
    }
    asked = ["explain", "left-behind-without-reason", "--dialect", OWN]
    assert run(capsys, *asked, "--json").answer == {
        "code": "left-behind-without-reason",
        "dialect": "release-train",
        "rules": [rule],
    }
    words = run(capsys, *asked).out
    for part in ("left-behind-without-reason", rule["broken_when"], said, "warning", "release_answer"):
        assert str(part) in words
    assert run(capsys, "explain", "--list", "--json", "--dialect", OWN).answer["left-behind-without-reason"] == said
    assert "did you mean go-with-failures?" in run(capsys, "explain", "go-with-failure", "--dialect", OWN).err


def test_with_a_dialect_the_codes_that_all_share_are_explained_as_ever(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(SAMPLES.parent)
    for dialect in (OWN, "vbw-typed", "plain"):
        assert run(capsys, "explain", "not-one-of", "--dialect", dialect) == Ran(0, code_page("not-one-of"), "")
    assert run(capsys, "explain", "go-with-failures").code == 3


def test_a_rule_of_every_type_is_explained_with_all_of_them(tmp_path: Path, capsys: Capture) -> None:
    text = (SAMPLES.parent / OWN).read_text(encoding="utf-8")
    shared = '[[rules]]\ncode = "no-train"\nbroken_when = "train == \'\'"\npath = "train"\nsay = "Name the train."\n\n'
    own = put(tmp_path, "own.toml", text.replace("[types.release_ready]\n", shared + "[types.release_ready]\n"))
    [rule] = run(capsys, "explain", "no-train", "--json", "--dialect", own).answer["rules"]
    assert rule["types"] == ["release_ready", "release_answer", "train_left"]
