"""Which dialects there are, and in which order a tie between them is settled."""

from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.builtin.signal_md import SIGNAL_MD
from telex.dialects.builtin.vbw_company import VBW_COMPANY
from telex.dialects.builtin.vbw_handoff import VBW_HANDOFF
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.dialects.schema import Dialect

# The reading ladder: a full envelope says most, a flat message less, plain text nothing.
BUILT_IN: tuple[Dialect, ...] = (VBW_TYPED, BUILD_FLOW, VBW_HANDOFF, VBW_COMPANY, SIGNAL_MD)

# Dialects that are versions of one: whoever says `vbw@1.0` means the one whose version that is.
FAMILIES: dict[str, tuple[str, ...]] = {"vbw": (VBW_TYPED.name, VBW_HANDOFF.name)}

PLAIN = Dialect(
    name="plain",
    version="1.0",
    purpose="Text that nobody typed: stored and delivered as markdown.",
    form="text",
    roles=(),
    types={},
)


def by_name(name: str, dialects: tuple[Dialect, ...] = BUILT_IN) -> Dialect | None:
    return next((dialect for dialect in (*dialects, PLAIN) if dialect.name == name), None)
