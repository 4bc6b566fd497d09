"""Shared by the tests of message classes."""

from typing import Any

from telex.messages import TypedMessage


def keywords_of(message: TypedMessage) -> dict[str, Any]:
    """The keywords that make an equal message, with the values of its attributes."""
    found: dict[str, Any] = {}
    for word, keyword in message._shape.keywords.items():
        value: Any = message
        for name in keyword.names:
            value = getattr(value, name)
        found[word] = value
    return found
