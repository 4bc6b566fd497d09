"""Requests and responses of the page's own routes."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from telex.errors import InvalidValue
from telex.protocol import decoded, encoded, plain

HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}


def answer(value: Any) -> Response:
    return Response(encoded(plain(value)), media_type="application/json", headers=HEADERS)


def number(request: Request, name: str, default: float, *, least: float, most: float) -> float:
    """A number of the query.

    Raises:
        InvalidValue: it is none, or none that makes sense here.
    """
    given = request.query_params.get(name)
    if given is None or not given.strip():
        return default
    try:
        found = float(given)
    except ValueError:
        found = float("nan")
    if not least <= found <= most:
        raise InvalidValue(f"{name} takes a number from {least:g} to {most:g}, not {given[:60]}.")
    return found


async def body_of(request: Request, bytes_max: int) -> dict[str, Any]:
    """The object that was sent.

    Raises:
        InvalidValue: it is none, or larger than a message may be.
    """
    text = b""
    async for part in request.stream():
        text += part
        if len(text) > bytes_max:
            raise InvalidValue(f"send less: a message may have {bytes_max:,} bytes.")
    try:
        found = decoded(text)
    except ValueError as error:
        raise InvalidValue(f"send a JSON object: {error}.") from error
    if not isinstance(found, dict):
        raise InvalidValue("send a JSON object.")
    return found
