"""All generated files of the repository: docs pages and stubs."""

from telex.dialects.registry import BUILT_IN, PLAIN
from telex.generate.codes_page import refusals_page
from telex.generate.pages import dialect_page, overview_page
from telex.generate.stubs import builders_stub

PAGES = "docs/dialects"
REFUSALS = "docs/refusals.md"
STUBS = "src/telex/messages"


def files() -> dict[str, str]:
    """The text of each file, by its path from the repository root."""
    made = {REFUSALS: refusals_page()}
    made |= {f"{PAGES}/README.md": overview_page((*BUILT_IN, PLAIN))}
    made |= {f"{PAGES}/{dialect.name}.md": dialect_page(dialect) for dialect in (*BUILT_IN, PLAIN)}
    return made | {f"{STUBS}/{dialect.name.replace('-', '_')}.pyi": builders_stub(dialect) for dialect in BUILT_IN}
