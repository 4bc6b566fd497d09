"""Telex: a typed, durable message bus for teams of AI agents.

    >>> import telex
    >>> telex.check('{"type": "dev_blocker", "task": "T1", "plan_id": "P1", "blocker": "no table"}').valid
    False

Public names are in `__all__`. Each is imported when first used, so that importing telex costs nothing.
"""

TYPE_CHECKING = False  # type checkers take it as true; importing typing costs a cold command 3 ms

if TYPE_CHECKING:
    from telex.agent import Agent as Agent
    from telex.agent import Lease as Lease
    from telex.agent import Message as Message
    from telex.config import Settings as Settings
    from telex.connection import connect as connect
    from telex.dialects.registry import BUILT_IN as BUILT_IN
    from telex.dialects.schema import Dialect as Dialect
    from telex.dialects.toml.loader import declare as declare
    from telex.dialects.write import write as write
    from telex.errors import InvalidValue as InvalidValue
    from telex.errors import LeaseLost as LeaseLost
    from telex.errors import NotAMember as NotAMember
    from telex.errors import NotFound as NotFound
    from telex.errors import OutcomeUnknown as OutcomeUnknown
    from telex.errors import Refused as Refused
    from telex.errors import RequestFailed as RequestFailed
    from telex.errors import RequestTimedOut as RequestTimedOut
    from telex.errors import SettingsError as SettingsError
    from telex.errors import StoreDamaged as StoreDamaged
    from telex.errors import StoreError as StoreError
    from telex.errors import StoreFull as StoreFull
    from telex.errors import StoreTooNew as StoreTooNew
    from telex.errors import StoreUnavailable as StoreUnavailable
    from telex.errors import TelexError as TelexError
    from telex.handlers import Context as Context
    from telex.handlers import Reject as Reject
    from telex.handlers import Retry as Retry
    from telex.model.finding import Finding as Finding
    from telex.model.message import LeasedMessage as LeasedMessage
    from telex.ports.bus import Bus as Bus
    from telex.ports.bus import Receipt as Receipt
    from telex.ports.store import Query as Query
    from telex.translator import TranslatedMessage as TranslatedMessage
    from telex.translator import translate as translate
    from telex.validation.check import CheckPolicy as CheckPolicy
    from telex.validation.check import CheckResult as CheckResult
    from telex.validation.check import check as check
    from telex.worker import Worker as Worker

__version__ = "0.2.0"
_HOMES = {
    "Agent": "telex.agent",
    "BUILT_IN": "telex.dialects.registry",
    "Bus": "telex.ports.bus",
    "CheckPolicy": "telex.validation.check",
    "CheckResult": "telex.validation.check",
    "Context": "telex.handlers",
    "Dialect": "telex.dialects.schema",
    "Finding": "telex.model.finding",
    "InvalidValue": "telex.errors",
    "Lease": "telex.agent",
    "LeaseLost": "telex.errors",
    "LeasedMessage": "telex.model.message",
    "Message": "telex.agent",
    "NotAMember": "telex.errors",
    "NotFound": "telex.errors",
    "OutcomeUnknown": "telex.errors",
    "Query": "telex.ports.store",
    "Receipt": "telex.ports.bus",
    "Refused": "telex.errors",
    "Reject": "telex.handlers",
    "RequestFailed": "telex.errors",
    "RequestTimedOut": "telex.errors",
    "Retry": "telex.handlers",
    "Settings": "telex.config",
    "SettingsError": "telex.errors",
    "StoreDamaged": "telex.errors",
    "StoreError": "telex.errors",
    "StoreFull": "telex.errors",
    "StoreTooNew": "telex.errors",
    "StoreUnavailable": "telex.errors",
    "TelexError": "telex.errors",
    "TranslatedMessage": "telex.translator",
    "Worker": "telex.worker",
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

    def __dir__() -> list[str]:
        return sorted([*globals(), *_HOMES])
