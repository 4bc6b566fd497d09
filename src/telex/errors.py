"""What can go wrong in the world, as exceptions. What is wrong with a message is a finding, never one of these.

    TelexError
    ├── StoreError               the store cannot do what was asked
    │   ├── StoreUnavailable     not now: locked for too long, no permission, gone; try again or fix the place
    │   ├── StoreFull            the disk has no room; nothing of this was stored
    │   ├── StoreDamaged         not a Telex store, or one that has been harmed; nothing was changed
    │   ├── StoreTooNew          written by a later Telex; upgrade this one
    │   └── OutcomeUnknown       a write failed half-way: send again with the same id, that is safe
    ├── NotAMember               whoever acts is not on the roster
    ├── LeaseLost                the lease ran out or passed to another: drop the work
    ├── NotFound                 no such message, agent or dead letter
    ├── RequestTimedOut          no answer came in time
    ├── RequestFailed            no answer will come: the request was given up
    ├── InvalidValue             a number or word that makes no sense, such as a lease of no seconds
    └── SettingsError            telex.toml says something that cannot be

A class exists where a caller would do something different on catching it. `code` is stable and the same at every
door; `say` is one sentence that tells the caller what to do.
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
    """Whether it was stored cannot be told. `id` is what to send again with."""

    code = "outcome-unknown"

    def __init__(self, say: str, id: str | None = None) -> None:
        super().__init__(say)
        self.id = id


class NotAMember(TelexError):
    """`code` says in which way: sender-unknown, sender-has-shut-down, role-unknown, role-differs or
    name-not-allowed."""

    def __init__(self, say: str, code: str) -> None:
        super().__init__(say)
        self.code = code


class LeaseLost(TelexError):
    code = "lease-lost"


class NotFound(TelexError):
    code = "not-found"


class RequestTimedOut(TelexError):
    """No answer came in time. `id` is the request, which `why` can still tell about."""

    code = "request-timed-out"

    def __init__(self, say: str, id: str) -> None:
        super().__init__(say)
        self.id = id


class RequestFailed(TelexError):
    """Whoever was asked could not deal with it, or has left. `id` is the request."""

    code = "request-failed"

    def __init__(self, say: str, id: str) -> None:
        super().__init__(say)
        self.id = id


class InvalidValue(TelexError, ValueError):
    code = "value-wrong"


class SettingsError(TelexError):
    code = "settings-wrong"
