"""Is every line of the ledger proven, and would we notice if one were not?"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.proofs import PROOFS, complaints, read_ledger

CHECK = "test_every_line_is_proven_and_every_proof_has_a_line"


def test_every_line_is_proven_and_every_proof_has_a_line(
    pytestconfig: pytest.Config, record_property: Callable[[str, object], None]
) -> None:
    proofs, lines = pytestconfig.stash[PROOFS], read_ledger()
    if not proofs.complete:
        pytest.skip("only some of the tests were asked for")
    missing = complaints(lines, proofs.counts)
    record_property("ledger", f"{len(lines)} lines, {proofs.counts.total()} proofs, {len(missing)} complaints")
    if missing:
        pytest.fail("\n".join(missing), pytrace=False)


@pytest.fixture
def house(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A small house with two lines in its ledger, the same check as ours, and a proof of the first line."""
    pytester.makefile(
        ".toml",
        **{"ledger/door": '[lines]\n"door/opens" = "It opens."\n"door/shuts" = "It shuts."\n'},
    )
    monkeypatch.setattr("tests.proofs.LEDGER", pytester.path / "ledger")
    pytester.makeini("[pytest]\ntestpaths = checks\nmarkers =\n    proves(*ids): proof\n    slow: slow\n")
    (pytester.path / "checks").mkdir()
    write_test(pytester.path, "ledger", f"from tests.test_ledger import {CHECK}")
    write_test(pytester.path, "door", '@proves("door/opens")\ndef test_it_opens(): pass')
    return pytester


def write_test(path: Path, name: str, text: str) -> None:
    imports = "import pytest\nfrom tests.proofs import proves\n"
    (path / f"checks/test_{name}.py").write_text(imports + text + "\n", encoding="utf-8")


def run(house: pytest.Pytester, *args: str) -> pytest.RunResult:
    return house.runpytest_inprocess("-p", "tests.proofs", *args)


def test_a_line_without_a_proof_fails(house: pytest.Pytester) -> None:
    result = run(house)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*no test proves door/shuts*", "ledger: 2 lines, 1 proofs, 1 complaints"])


def test_a_proof_without_a_line_fails(house: pytest.Pytester) -> None:
    write_test(house.path, "more", '@proves("door/shuts", "door/sings")\ndef test_it_does(): pass')
    result = run(house)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*a test proves door/sings, which is no line of the ledger*"])


@pytest.mark.parametrize(
    "proof",
    [
        '@proves("door/shuts")\ndef test_it_shuts(): pass',
        '@pytest.mark.slow\n@proves("door/shuts", "door/opens")\ndef test_it_shuts(): pass',
        '@pytest.mark.parametrize("w", [1, pytest.param(2, marks=proves("door/shuts"))])\ndef test_it_shuts(w): pass',
        'pytestmark = proves("door/shuts")\ndef test_it_shuts(): pass',
    ],
    ids=["decorator", "slow, two lines", "one case", "whole file"],
)
def test_a_ledger_whose_lines_are_all_proven_passes(house: pytest.Pytester, proof: str) -> None:
    write_test(house.path, "more", proof)
    for selection in ([], ["-m", "not slow"], ["checks"]):
        result = run(house, *selection)
        assert result.ret == pytest.ExitCode.OK
        result.stdout.fnmatch_lines(["ledger: 2 lines, * proofs, 0 complaints"])


@pytest.mark.parametrize(
    "mark",
    ["pytest.mark.skip(reason='later')", "pytest.mark.skipif(True, reason='not here')", "pytest.mark.xfail()"],
)
def test_a_proof_that_does_not_run_fails(house: pytest.Pytester, mark: str) -> None:
    write_test(house.path, "more", f'@{mark}\n@proves("door/shuts")\ndef test_it_shuts(): assert False')
    result = run(house)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*this test did not run, and is the proof of door/shuts*"])


@pytest.mark.parametrize("selection", [["-k", "opens or line"], ["checks/test_ledger.py"]])
def test_nothing_is_missed_when_only_some_tests_were_asked_for(house: pytest.Pytester, selection: list[str]) -> None:
    result = run(house, *selection)
    assert result.ret == pytest.ExitCode.OK
    assert result.parseoutcomes()["skipped"] == 1


def test_every_line_is_a_sentence_under_the_name_of_its_file() -> None:
    assert len(read_ledger()) > 100
