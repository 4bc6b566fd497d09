"""A reader's choice of dialect, version and field names: `vbw-typed`, `vbw-typed@2.0`,
`vbw-typed@2.0+approved`.
"""

from typing import NamedTuple

AT, PLUS = "@", "+"


class DialectChoice(NamedTuple):
    """One thing that a member reads."""

    dialect: str
    version: str | None = None  # None: whichever there is
    spellings: tuple[str, ...] = ()  # fields that it wants under their later names

    @property
    def text(self) -> str:
        """As it was written."""
        version = "" if self.version is None else AT + self.version
        return PLUS.join((self.dialect + version, *self.spellings))


def choice_of(text: str) -> DialectChoice:
    """What such a word says. Whether there is any such thing is for others to know."""
    named, *spellings = text.split(PLUS)
    dialect, at, version = named.partition(AT)
    return DialectChoice(dialect, version if at else None, tuple(spellings))
