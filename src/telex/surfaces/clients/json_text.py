"""JSON encoder and parser without the import of `json`, which would take half of a cold hook's CPU budget.

The scanner and the string encoder are those of `json`, written in C; elsewhere `json` itself is used.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BLANKS = " \t\n\r"


class _ScannerSettings:
    """Attributes that the scanner in C reads from a decoder."""

    strict = False
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int
    memo: "dict[str, str]" = {}  # noqa: RUF012

    @staticmethod
    def parse_constant(name: str) -> float:
        raise ValueError(f"{name} is no JSON")


def parse(text: str) -> "Any":
    """Parse a JSON text.

    Raises:
        ValueError: it is no JSON, or nested too deep.
    """
    try:
        from _json import make_scanner
    except ImportError:  # pragma: no cover - not CPython
        from json import loads as parse_all

        return parse_all(text)
    text = text.strip(BLANKS)
    try:
        value, end = make_scanner(_ScannerSettings)(text, 0)  # type: ignore[arg-type]
    except (StopIteration, RecursionError) as error:
        raise ValueError("no JSON") from error
    if end != len(text):
        raise ValueError("text after the JSON value")
    return value


def dump(value: "Any") -> str:
    """Compact JSON in ASCII of strings, numbers, None, lists and dicts with keys that are strings."""
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(name)}:{dump(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(dump, value)) + "]"
    assert isinstance(value, int | float)
    return repr(value)


def _quoted(text: str) -> str:
    try:
        from _json import encode_basestring_ascii
    except ImportError:  # pragma: no cover - not CPython
        from json.encoder import py_encode_basestring_ascii as encode_basestring_ascii
    quoted: str = encode_basestring_ascii(text)
    return quoted
