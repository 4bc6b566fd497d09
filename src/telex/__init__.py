"""Telex: a typed, durable message bus for teams of AI agents.

    >>> import telex
    >>> telex.check('{"type": "dev_blocker", "task": "T1", "plan_id": "P1", "blocker": "no table"}').valid
    False

What is public is listed in `__all__`. Names are fetched when first used, so that importing telex costs nothing.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from telex.connection import connect
    from telex.dialects.registry import BUILT_IN
    from telex.dialects.schema import Dialect
    from telex.dialects.toml.loader import declare
    from telex.dialects.write import write
    from telex.model.finding import Finding
    from telex.model.message import Lease
    from telex.ports.bus import Bus, Receipt
    from telex.translator import TranslatedMessage, translate
    from telex.validation.check import CheckPolicy, CheckResult, check
    from telex.validation.compiled import FastValidator

__version__ = "0.1.0"
__all__ = [
    "BUILT_IN",
    "Bus",
    "CheckPolicy",
    "CheckResult",
    "Dialect",
    "FastValidator",
    "Finding",
    "Lease",
    "Receipt",
    "TranslatedMessage",
    "check",
    "connect",
    "declare",
    "translate",
    "write",
]

_HOMES = {
    "BUILT_IN": "telex.dialects.registry",
    "Bus": "telex.ports.bus",
    "CheckResult": "telex.validation.check",
    "CheckPolicy": "telex.validation.check",
    "Dialect": "telex.dialects.schema",
    "FastValidator": "telex.validation.compiled",
    "Finding": "telex.model.finding",
    "Lease": "telex.model.message",
    "Receipt": "telex.ports.bus",
    "TranslatedMessage": "telex.translator",
    "check": "telex.validation.check",
    "connect": "telex.connection",
    "declare": "telex.dialects.toml.loader",
    "translate": "telex.translator",
    "write": "telex.dialects.write",
}


if not TYPE_CHECKING:  # to a type checker every name would be one of ours

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'telex' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
