"""The public kit for those who test with Telex: `strategies` makes valid messages of any dialect for hypothesis.

`StoreContract` is what every store must pass, `FakeClock` a clock that goes on when it is told to. Names are fetched
when first used, so that neither pytest nor hypothesis has to be there for the rest.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from telex.testing.clock import FakeClock
    from telex.testing.store_contract import StoreContract

__all__ = ["FakeClock", "StoreContract"]

_HOMES = {"FakeClock": "telex.testing.clock", "StoreContract": "telex.testing.store_contract"}


if not TYPE_CHECKING:  # to a type checker every name would be one of ours

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'telex.testing' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
