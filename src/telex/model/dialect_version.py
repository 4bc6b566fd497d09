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
    def name(self) -> str:
        """The dialect, with its version if one was chosen."""
        return self.dialect if self.version is None else self.dialect + AT + self.version

    @property
    def text(self) -> str:
        """As it was written."""
        return PLUS.join((self.name, *self.spellings))


def choice_of(text: str) -> DialectChoice:
    """What such a word says. Whether there is any such thing is for others to know."""
    named, *spellings = text.split(PLUS)
    dialect, at, version = named.partition(AT)
    return DialectChoice(dialect, version if at else None, tuple(spellings))
