"""The table of environment variables is complete."""

import re
from pathlib import Path

from telex.config.environment import OTHERS, VARIABLES
from tests.proofs import proves

SOURCE = Path(__file__).parents[2] / "src/telex"
TABLE = SOURCE / "config/environment.py"
OWN = re.compile(r'"(_?TELEX_[A-Z_]+)"')


def source() -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in SOURCE.rglob("*.py") if file != TABLE)


@proves("docs/environment")
def test_every_variable_of_telex_in_the_code_is_in_the_table() -> None:
    assert set(OWN.findall(source())) == {variable.name for variable in VARIABLES}


def test_every_variable_of_another_program_in_the_table_occurs_in_the_code() -> None:
    text = source()
    assert [variable.name for variable in OTHERS if f'"{variable.name}"' not in text] == []


def test_every_variable_has_a_help_that_is_a_sentence() -> None:
    assert [variable.name for variable in (*VARIABLES, *OTHERS) if not variable.help.endswith(".")] == []
