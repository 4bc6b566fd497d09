"""Do the samples show what they are there to show?"""

from pathlib import Path

import pytest

from telex.dialects.registry import BUILT_IN
from telex.validation.check import check
from tests.cli_kit import SAMPLES, process, terminal

FILES = [file for file in sorted(SAMPLES.rglob("*")) if file.suffix in (".json", ".md")]
GOOD = [file for file in FILES if file.parent.name != "broken"]
BROKEN = [file for file in FILES if file.parent.name == "broken"]


@pytest.mark.parametrize("file", GOOD, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_good_sample_is_accepted_in_the_dialect_of_its_folder(file: Path) -> None:
    checked = check(file.read_bytes())
    assert checked.valid
    assert checked.outcome == "control" or (checked.dialect is not None and checked.dialect.slug == file.parent.name)


@pytest.mark.parametrize("file", BROKEN, ids=lambda file: file.name)
def test_a_broken_sample_is_refused(file: Path) -> None:
    assert not check(file.read_bytes()).valid


def test_every_dialect_has_its_samples() -> None:
    assert {dialect.slug for dialect in BUILT_IN} <= {file.parent.name for file in GOOD}


def test_all_of_them_together_are_a_page_worth_looking_at() -> None:
    ran = process("check", str(SAMPLES))
    assert ran.code == 2
    assert ran.out.splitlines()[-1] == "44 messages in 39 files: 31 accepted (2 with warnings), 13 refused"
    for columns in (80, 120):
        seen = terminal("check", str(SAMPLES), columns=columns, NO_COLOR="1")
        words = [line for line in seen.out.splitlines() if " " in line.strip()]
        assert max(map(len, words)) <= max(columns, len(str(SAMPLES)) + 90)
