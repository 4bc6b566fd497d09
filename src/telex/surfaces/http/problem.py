"""Problem documents (RFC 9457): the responses to failed requests, each with a code of ours.

One table maps failures to status codes. `detail` is a sentence for the caller; findings of a message or of arguments
are included, as at every other interface.
"""

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from telex.errors import (
    InvalidValue,
    LeaseLost,
    NotAMember,
    NotFound,
    OutcomeUnknown,
    RequestFailed,
    RequestTimedOut,
    StoreError,
    TelexError,
)
from telex.model.finding import Finding
from telex.ports.bus import Receipt
from telex.protocol import encoded, plain
from telex.protocol.arguments import CODE as ARGUMENTS_WRONG

JSON, PROBLEM = b"application/json", b"application/problem+json"
STATUSES: dict[type[TelexError], int] = {
    InvalidValue: 400,
    NotAMember: 403,
    NotFound: 404,
    LeaseLost: 409,
    RequestTimedOut: 424,  # the hub is well and the question is stored: it is the other agent who has not answered
    RequestFailed: 424,
    StoreError: 503,
}
REFUSED, RETRY_SECONDS = 422, b"1"
_FOLDERS = re.compile(r"(?<![\w.:/])(?:/|[A-Za-z]:\\)\S*[/\\]")  # where the store lies is nobody's business out there
ABOUT = "tag:telex,2026:problem/"  # an address that nobody needs to fetch: `telex explain CODE` tells


class HttpResponse(NamedTuple):
    """What is sent back."""

    status: int
    body: bytes
    kind: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


def problem(status: int, code: str, detail: str, **more: Any) -> HttpResponse:
    tree = {"type": ABOUT + code, "title": HTTPStatus(status).phrase, "status": status, "detail": detail, "code": code}
    headers = ((b"retry-after", RETRY_SECONDS),) if status in (429, 503) else ()
    return HttpResponse(status, encoded(tree | more), PROBLEM, headers)


def of_error(error: TelexError) -> HttpResponse:
    """What the world has refused."""
    status = next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 500)
    named = {"id": error.id} if isinstance(error, OutcomeUnknown | RequestTimedOut | RequestFailed) else {}
    return problem(status, error.code, said_outside(error), **named)


def said_outside(error: TelexError) -> str:
    """What went wrong, for somebody who may be anywhere."""
    return _FOLDERS.sub("", error.say) if isinstance(error, StoreError) else error.say


def of_receipt(receipt: Receipt) -> HttpResponse:
    """A message that was refused: what is wrong with it and how it would pass. What a problem calls its type is taken,
    so the message's is `message_type`."""
    first = next((finding for finding in receipt.findings if finding.severity == "refusal"), None)
    code, detail = (first.code, first.say) if first is not None else ("refused", "The message was refused.")
    tree = plain(receipt)
    return problem(REFUSED, code, detail, message_type=tree.pop("type"), **tree)


def of_findings(findings: Sequence[Finding]) -> HttpResponse:
    """What is wrong with the arguments."""
    first = findings[0]
    detail = f"{first.path}: {first.say}"
    return problem(400, ARGUMENTS_WRONG, detail, findings=[plain(finding) for finding in findings])


def of_finding(finding: Finding, status: int = REFUSED) -> HttpResponse:
    return problem(status, finding.code, finding.say, findings=[plain(finding)])
