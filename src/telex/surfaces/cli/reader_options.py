"""Dialect of a reader: a name with or without a version and later names of fields, or a TOML file."""

from typing import NamedTuple

import click

from telex.delivery.membership import spelt_for, understood
from telex.dialects.registry import BUILT_IN, FAMILIES, by_name
from telex.dialects.schema import Dialect, MessageType, Tree
from telex.model.finding import Finding
from telex.model.limits import LIMITS
from telex.model.roster import AT, choice_of
from telex.surfaces.cli import completion
from telex.surfaces.cli.dialect_options import dialect_from, is_file, team_dialects
from telex.surfaces.cli.exit_codes import CommandError
from telex.surfaces.cli.output import shown


class ReaderDialect(NamedTuple):
    dialect: Dialect
    spellings: tuple[str, ...] = ()  # fields that it wants under their later names

    def spelt(self, tree: Tree, type_: MessageType) -> Tree:
        """The message with each field under the name that this reader knows it by."""
        return spelt_for(self.spellings, tree, self.dialect, type_) or tree


def reader_from(text: str) -> ReaderDialect:
    """Whoever reads this.

    Raises:
        CommandError: when there is no such dialect or version, or its file is missing or flawed.
    """
    if is_file(text):
        return ReaderDialect(dialect_from(text))
    dialects = team_dialects()
    meant = understood(text, dialects, LIMITS)
    if isinstance(meant, Finding):
        raise CommandError(shown(f"{meant.say} (expected {meant.expected})"))
    choice = choice_of(meant)
    dialect = by_name(choice.name, dialects)
    assert dialect is not None
    return ReaderDialect(dialect, choice.spellings)


def readers(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    """How the word may go on."""
    versions = {dialect.name: dialect.version for dialect in BUILT_IN}
    names = [f"{family}{AT}{versions[name]}" for family, members in FAMILIES.items() for name in members]
    return [*completion.dialects(ctx, param, begun), *(name for name in names if name.startswith(begun))]
