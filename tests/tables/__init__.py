"""What each dialect's page promises, written down a second time and by hand.

The definitions in `src/telex/dialects` are what Telex reads; these tables are what the pages say. Tests hold the one
against the other, so a slip of the pen in either is seen. Nothing here may be made from the definitions.
"""

from tests.tables import build_flow, signal_md, vbw_company, vbw_handoff, vbw_typed
from tests.tables.build_flow import BUILD_FLOW
from tests.tables.notation import Table
from tests.tables.rules import Rule
from tests.tables.signal_md import SIGNAL_MD
from tests.tables.vbw_company import VBW_COMPANY
from tests.tables.vbw_handoff import VBW_HANDOFF
from tests.tables.vbw_typed import VBW_TYPED
from tests.tables.versions import SIGNAL_MD_1_1, SIGNAL_MD_1_1_RULES, VBW_TYPED_2_1, VBW_TYPED_2_1_RULES

__all__ = ["BUILD_FLOW", "RULES", "SIGNAL_MD", "TABLES", "VBW_COMPANY", "VBW_HANDOFF", "VBW_TYPED", "VERSIONS"]

TABLES: tuple[Table, ...] = (VBW_TYPED, VBW_HANDOFF, VBW_COMPANY, SIGNAL_MD, BUILD_FLOW)
VERSIONS: tuple[Table, ...] = (*TABLES, VBW_TYPED_2_1, SIGNAL_MD_1_1)
RULES: tuple[tuple[Table, list[Rule]], ...] = (
    (VBW_TYPED, vbw_typed.RULES),
    (VBW_HANDOFF, vbw_handoff.RULES),
    (VBW_COMPANY, vbw_company.RULES),
    (SIGNAL_MD, signal_md.RULES),
    (BUILD_FLOW, build_flow.RULES),
    (VBW_TYPED_2_1, VBW_TYPED_2_1_RULES),
    (SIGNAL_MD_1_1, SIGNAL_MD_1_1_RULES),
)
