"""Escaping of untrusted text for terminals, pages and pictures."""


def shown(text: str) -> str:
    """The text on one line, with everything escaped that a terminal would act on or a reader could not see.

    That is every character Unicode calls other or a separator, but for the blank: control characters, line ends,
    direction overrides, zero-width and private ones, lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
