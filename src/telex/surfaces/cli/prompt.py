"""`telex prompt`: the text that teaches an agent what its role may send, and how much of its attention that takes."""

import sys

import click

from telex.dialects.schema import Dialect
from telex.generate.prompt import prompt, tokens_estimated
from telex.generate.roles import participants
from telex.model.text import nearest
from telex.surfaces.cli.bus_connection import settings_here
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.dialect_options import dialect_from, preferred
from telex.surfaces.cli.exit_codes import DONE, NOT_FOUND, CommandError
from telex.surfaces.cli.output import shown
from telex.surfaces.cli.type_options import dialect_option, json_option, required_role_option


@click.command("prompt")
@required_role_option
@dialect_option
@json_option
def command(role: str, dialect: str | None, as_json: bool) -> int:
    """Print the shortest prompt that teaches an agent to send the messages of its role."""
    spoken = dialect_from(dialect) if dialect else _only_dialect_of(role)
    if not _knows(spoken, role):
        raise CommandError(_no_role(role, spoken.name, participants(spoken)), NOT_FOUND)
    text = prompt(spoken, role)
    tokens = tokens_estimated(text)
    if as_json:
        sys.stdout.write(json_line({"role": role, "dialect": spoken.name, "tokens": tokens, "prompt": text}) + "\n")
        return DONE
    sys.stdout.write(text)
    sys.stdout.flush()
    sys.stderr.write(f"≈ {tokens} tokens\n")
    return DONE


def _knows(dialect: Dialect, role: str) -> bool:
    return not dialect.types or dialect.addresses == "names" or role in participants(dialect)


def _only_dialect_of(role: str) -> Dialect:
    settings = settings_here()
    having = preferred([one for one in settings.dialects() if role in participants(one)], settings)
    if len(having) == 1:
        return having[0]
    if not having:
        roles = tuple(dict.fromkeys(name for dialect in settings.dialects() for name in participants(dialect)))
        raise CommandError(_no_role(role, "any dialect", roles), NOT_FOUND)
    names = ", ".join(dialect.name for dialect in having)
    raise CommandError(f"{role} is a role of {names}: choose with --dialect")


def _no_role(role: str, where: str, roles: tuple[str, ...]) -> str:
    meant = nearest(role, roles)
    perhaps = f"did you mean {meant}?" if meant else f"there are {', '.join(roles)}"
    return f"no role {shown(role)} in {where}; {perhaps}"
