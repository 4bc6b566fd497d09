"""Telex: a typed, durable message bus for teams of AI agents.

    >>> import telex
    >>> telex.check('{"type": "dev_blocker", "task": "T1", "plan_id": "P1", "blocker": "no table"}').valid
    False

Public names are in `__all__`. Each is imported when first used, so that importing telex costs nothing.
"""

TYPE_CHECKING = False  # type checkers take it as true; importing typing costs a cold command 3 ms

if TYPE_CHECKING:
    from telex.connection import connect as connect
    from telex.dialects.registry import BUILT_IN as BUILT_IN
    from telex.dialects.schema import Dialect as Dialect
    from telex.dialects.toml.loader import declare as declare
    from telex.dialects.write import write as write
    from telex.model.finding import Finding as Finding
    from telex.model.message import LeasedMessage as LeasedMessage
    from telex.ports.bus import Bus as Bus
    from telex.ports.bus import Receipt as Receipt
    from telex.translator import TranslatedMessage as TranslatedMessage
    from telex.translator import translate as translate
    from telex.validation.check import CheckPolicy as CheckPolicy
    from telex.validation.check import CheckResult as CheckResult
    from telex.validation.check import check as check
    from telex.validation.compiled import FastValidator as FastValidator

__version__ = "0.1.0"
_HOMES = {
    "BUILT_IN": "telex.dialects.registry",
    "Bus": "telex.ports.bus",
    "CheckResult": "telex.validation.check",
    "CheckPolicy": "telex.validation.check",
    "Dialect": "telex.dialects.schema",
    "FastValidator": "telex.validation.compiled",
    "Finding": "telex.model.finding",
    "LeasedMessage": "telex.model.message",
    "Receipt": "telex.ports.bus",
    "TranslatedMessage": "telex.translator",
    "check": "telex.validation.check",
    "connect": "telex.connection",
    "declare": "telex.dialects.toml.loader",
    "translate": "telex.translator",
    "write": "telex.dialects.write",
}
__all__ = list(_HOMES)

if not TYPE_CHECKING:  # otherwise a type checker accepts every name

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'telex' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
