"""Exceptions for failures of the environment. A message that fails validation is a finding, never one of these.

    TelexError
    ├── StoreError               the store cannot do what was asked
    │   ├── StoreUnavailable     locked for too long, no permission, missing: retry, or fix the path
    │   ├── StoreFull            the disk is full; nothing was stored
    │   ├── StoreDamaged         not a Telex store, or a damaged one; nothing was changed
    │   ├── StoreTooNew          written by a later version of Telex: upgrade
    │   └── OutcomeUnknown       a write may or may not have succeeded: send again with the same id
    ├── NotAMember               the agent is not on the roster
    ├── LeaseLost                the lease expired or passed to another reader: drop the work
    ├── NotFound                 no such message, agent or dead letter
    ├── RequestTimedOut          no reply came in time
    ├── RequestFailed            no reply will come: the request failed
    ├── InvalidValue             an invalid argument, such as a lease of no seconds
    └── SettingsError            telex.toml is invalid

A class exists where a caller would act differently on catching it. `code` is stable and the same through every
surface; `say` is one sentence with what to do next.
"""


class TelexError(Exception):
    code = "telex-error"

    def __init__(self, say: str) -> None:
        super().__init__(say)
        self.say = say


class StoreError(TelexError):
    code = "store-error"


class StoreUnavailable(StoreError):
    code = "store-unavailable"


class StoreFull(StoreError):
    code = "store-full"


class StoreDamaged(StoreError):
    code = "store-damaged"


class StoreTooNew(StoreError):
    code = "store-too-new"


class OutcomeUnknown(StoreError):
    """The write may or may not have succeeded. `id` is the id to send again with."""

    code = "outcome-unknown"

    def __init__(self, say: str, id: str | None = None) -> None:
        super().__init__(say)
        self.id = id


class _RequestError(TelexError):
    """`id` is the id of the request."""

    def __init__(self, say: str, id: str) -> None:
        super().__init__(say)
        self.id = id


class NotAMember(TelexError):
    """`code` is sender-unknown, sender-has-shut-down, role-unknown, role-differs or name-not-allowed."""

    def __init__(self, say: str, code: str) -> None:
        super().__init__(say)
        self.code = code


class LeaseLost(TelexError):
    code = "lease-lost"


class NotFound(TelexError):
    code = "not-found"


class RequestTimedOut(_RequestError):
    """No reply came in time."""

    code = "request-timed-out"


class RequestFailed(_RequestError):
    """Every recipient failed or has left."""

    code = "request-failed"


class InvalidValue(TelexError, ValueError):
    code = "value-wrong"


class SettingsError(TelexError):
    code = "settings-wrong"
