"""The examples of the five published pages, placeholders and all, and what a sender would put in their place."""

from typing import Any, NamedTuple


class Example(NamedTuple):
    """A message as its page shows it: names, values and placeholders are the page's, the sentences are our own."""

    dialect: str
    type: str
    shown: dict[str, Any] | str  # front matter is text
    chosen: dict[str, Any]  # dotted path of each placeholder, and a real value that fits the rest of the message
