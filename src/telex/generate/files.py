"""All generated files of the repository: docs pages and stubs."""

import re

from telex.dialects.registry import BUILT_IN, PLAIN, VERSIONS
from telex.generate.codes_page import refusals_page
from telex.generate.pages import dialect_page, overview_page
from telex.generate.stubs import builders_stub, client_stub

PAGES = "docs/dialects"
REFUSALS = "docs/refusals.md"
STUBS = "src/telex/messages"
CLIENT_STUB = "src/telex/client.pyi"


def files() -> dict[str, str]:
    """The text of each file, by its path from the repository root."""
    made = {REFUSALS: refusals_page(), CLIENT_STUB: client_stub()}
    made |= {f"{PAGES}/README.md": overview_page((*VERSIONS, PLAIN))}
    made |= {f"{PAGES}/{dialect.slug}.md": dialect_page(dialect) for dialect in (*VERSIONS, PLAIN)}
    return made | {f"{STUBS}/{re.sub('[-.]', '_', dialect.slug)}.pyi": builders_stub(dialect) for dialect in BUILT_IN}
