"""Exceptions of Telex: what a caller must not overlook.

    TelexError
    ├── Refused                  the message was refused: fix what its findings name, and send it again
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

TYPE_CHECKING = False  # importing typing costs a cold command 3 ms
if TYPE_CHECKING:
    from telex.model.finding import Finding
    from telex.ports.bus import Receipt


class TelexError(Exception):
    """Base of all exceptions of Telex. `say` is its text, `code` its stable name."""

    code = "telex-error"

    def __init__(self, say: str) -> None:
        super().__init__(say)
        self.say = say


class Refused(TelexError):
    """The message was refused, and nothing was delivered. The text lists each refusal as `code path: say`."""

    code = "refused"

    def __init__(self, receipt: "Receipt") -> None:
        refusals = [finding for finding in receipt.findings if finding.severity == "refusal"]
        lines = [f"  {finding.code} {finding.path}: {finding.say}" for finding in refusals]
        super().__init__("\n".join([f"{receipt.type or 'message'} {receipt.id} was refused:", *lines]))
        self.args = (receipt,)  # so that it can be copied and pickled
        self.receipt = receipt

    def __str__(self) -> str:
        return self.say

    @property
    def findings(self) -> "tuple[Finding, ...]":
        """The findings, with severity; at least one of them is a refusal."""
        return self.receipt.findings

    @property
    def fixed(self) -> str | None:
        """The message as it would be accepted, if `certain`; else with blanks to fill. None: there is no suggestion."""
        return self.receipt.fixed

    @property
    def certain(self) -> bool:
        """Whether `fixed` can be sent as it is."""
        return self.receipt.certain

    def explain(self) -> str:
        """Cause and fix of each code of the findings, with an example: the text of `telex explain CODE`."""
        from telex.generate.codes import code_page, explanations

        codes = dict.fromkeys(finding.code for finding in self.findings)
        return "\n".join(code_page(code) for code in codes if code in explanations())


class StoreError(TelexError):
    """The store cannot do what was asked."""

    code = "store-error"


class StoreUnavailable(StoreError):
    """The store or hub cannot be reached: locked for too long, no permission, missing. Retry, or fix the address."""

    code = "store-unavailable"


class StoreFull(StoreError):
    """The disk is full; nothing was stored."""

    code = "store-full"


class StoreDamaged(StoreError):
    """The file is not a Telex store, or it is damaged; nothing was changed."""

    code = "store-damaged"


class StoreTooNew(StoreError):
    """The store was written by a later version of Telex: upgrade."""

    code = "store-too-new"


class OutcomeUnknown(StoreError):
    """The commit may or may not have succeeded. Retry with `id`: the store deduplicates."""

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
    """The agent is not, or cannot be, on the roster. `code` says why: sender-unknown, sender-has-shut-down,
    role-unknown, role-differs, name-not-allowed, …; `finding` has the details, where there are any."""

    def __init__(self, say: str, code: str, finding: "Finding | None" = None) -> None:
        super().__init__(say)
        self.code, self.finding = code, finding

    @classmethod
    def because(cls, finding: "Finding") -> "NotAMember":
        """The exception for a finding."""
        return cls(finding.say, finding.code, finding)


class LeaseLost(TelexError):
    """The lease has expired or another reader has the message: drop the work."""

    code = "lease-lost"


class NotFound(TelexError):
    """There is no such message, agent or dead letter."""

    code = "not-found"


class RequestTimedOut(_RequestError):
    """No reply came in time."""

    code = "request-timed-out"


class RequestFailed(_RequestError):
    """Every recipient failed or has left."""

    code = "request-failed"


class InvalidValue(TelexError, ValueError):
    """An argument is invalid, such as a lease of no seconds."""

    code = "value-wrong"


class SettingsError(TelexError):
    """telex.toml is invalid; a line for each error."""

    code = "settings-wrong"
