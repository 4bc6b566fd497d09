"""Parameters of the page's requests."""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request

from telex.errors import InvalidValue
from telex.protocol import decoded

HOUR, DAY = 3_600.0, 86_400.0
TIME_MAX = 1e11  # seconds since 1970


def number_of(request: Request, name: str, default: float, *, least: float = 0, most: float = TIME_MAX) -> float:
    """A number in the query of a request. Raises InvalidValue."""
    text = request.query_params.get(name)
    if text is None or not text.strip():
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise InvalidValue(f"{name} takes a number from {least:g} to {most:g}, not {text[:60]}.")
    return value


def moment_of(request: Request) -> float | None:
    """The moment that is shown; None: now."""
    return number_of(request, "at", 0.0) or None


def utc_offset_of(request: Request) -> float:
    """Seconds that the clock of the reader is ahead of UTC: less than a day, as for datetime. Raises InvalidValue."""
    return number_of(request, "utc_offset", 0.0, least=-DAY / 2, most=DAY - 1)


def choice_of(request: Request, name: str, values: Sequence[str]) -> str:
    """One of the values; the first if none is given. Raises InvalidValue."""
    value = request.query_params.get(name) or values[0]
    if value not in values:
        raise InvalidValue(f"{name} takes {', '.join(values)}, not {value[:60]}.")
    return value


async def json_object(request: Request, bytes_max: int) -> dict[str, Any]:
    """The JSON object in the body of a request. Raises InvalidValue."""
    raw = await request.body()
    if len(raw) > bytes_max:
        raise InvalidValue(f"send less: a message may have {bytes_max:,} bytes.")
    try:
        tree = decoded(raw)
    except ValueError as error:
        raise InvalidValue(f"send a JSON object: {error}.") from error
    if not isinstance(tree, dict):
        raise InvalidValue("send a JSON object.")
    return tree
