"""Does every promise have a proof? The ledger's lines, and the tests that say they prove them.

A line is an id and a sentence in `tests/ledger/*.toml`. A test names the lines it proves:

    @proves("signal-md/rule/critical-means-fail")
    def test_…

or, case by case, `pytest.param(…, marks=proves("vbw-typed/type/qa_verdict"))`. `tests/test_ledger.py` compares the two.

This is a pytest plugin, loaded by `tests/conftest.py`.
"""

import tomllib
from collections import Counter
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

LEDGER = Path(__file__).parent / "ledger"


class Proofs(NamedTuple):
    """What this run collected, before any test was deselected."""

    counts: Counter[str]  # how many tests name each id
    complete: bool  # False when only some files or names were asked for, so that nothing can be said to be missing


PROOFS = pytest.StashKey[Proofs]()


def proves(*ids: str) -> pytest.MarkDecorator:
    """Mark a test, or one case of it, as the proof of these lines of the ledger."""
    return pytest.mark.proves(*ids)


def read_ledger() -> dict[str, str]:
    """Every line by its id. The file is named after the first part of the id: `page.toml`, or `page_search.toml`."""
    lines: dict[str, str] = {}
    for file in sorted(LEDGER.glob("*.toml")):
        for line, sentence in tomllib.loads(file.read_text(encoding="utf-8"))["lines"].items():
            assert f"{file.stem}_".startswith(line.partition("/")[0] + "_"), f"{line} does not belong in {file.name}"
            assert line not in lines, f"{line} is written twice"
            assert isinstance(sentence, str), f"{line} has no sentence (put its id in quotes)"
            assert sentence.endswith("."), f"{line} is not a sentence"
            lines[line] = sentence
    return lines


def complaints(lines: Iterable[str], proven: Iterable[str]) -> list[str]:
    lines, proven = set(lines), set(proven)
    return [f"no test proves {line}" for line in sorted(lines - proven)] + [
        f"a test proves {line}, which is no line of the ledger" for line in sorted(proven - lines)
    ]


def ids_proven_by(item: pytest.Item) -> list[str]:
    return [line for mark in item.iter_markers("proves") for line in mark.args]


@pytest.hookimpl(tryfirst=True)  # before -m and -k take tests away: a slow proof is still a proof in a quick run
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    asked_for = {config.rootpath / arg for arg in config.args}
    everything = {config.rootpath / path for path in config.getini("testpaths")}
    config.stash[PROOFS] = Proofs(
        counts=Counter(line for item in items for line in ids_proven_by(item)),
        complete=asked_for == everything and not config.option.keyword,
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A proof that did not run proves nothing, so a skipped or expectedly failing one fails."""
    report = yield
    if report.skipped and (ids := ids_proven_by(item)):
        report.outcome = "failed"
        report.longrepr = f"this test did not run, and is the proof of {', '.join(ids)}"
        report.__dict__.pop("wasxfail", None)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the count that `tests/test_ledger.py` recorded, in whichever process it ran."""
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, value in report.user_properties:
            if name == "ledger" and report.when == "call":
                terminalreporter.write_line(f"ledger: {value}")
