"""Telex: a typed, durable message bus for teams of AI agents.

    >>> import telex
    >>> telex.check('{"type": "dev_blocker", "task": "T1", "plan_id": "P1", "blocker": "no table"}').valid
    False

What is public is listed in `__all__`. Names are fetched when first used, so that importing telex costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from telex.dialects.declared import declare
    from telex.dialects.registry import BUILT_IN
    from telex.dialects.spec import Dialect
    from telex.dialects.writing import write
    from telex.flow.admission import Checked, Desk, check
    from telex.flow.express import Express
    from telex.model.refusal import Finding
    from telex.translating import Told, translate
    from telex.wiring import connect

__version__ = "0.1.0"
__all__ = [
    "BUILT_IN",
    "Checked",
    "Desk",
    "Dialect",
    "Express",
    "Finding",
    "Told",
    "check",
    "connect",
    "declare",
    "translate",
    "write",
]

_HOMES = {
    "BUILT_IN": "telex.dialects.registry",
    "Checked": "telex.flow.admission",
    "Desk": "telex.flow.admission",
    "Dialect": "telex.dialects.spec",
    "Express": "telex.flow.express",
    "Finding": "telex.model.refusal",
    "Told": "telex.translating",
    "check": "telex.flow.admission",
    "connect": "telex.wiring",
    "declare": "telex.dialects.declared",
    "translate": "telex.translating",
    "write": "telex.dialects.writing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'telex' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
