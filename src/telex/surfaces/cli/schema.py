"""`telex schema`: a dialect, or one of its types, said to tools that speak JSON Schema, AsyncAPI or TypeScript."""

import sys

import click

from telex.dialects.schema import Dialect
from telex.dialects.write import write_json
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.dialect_options import dialect_from, team_dialects
from telex.surfaces.cli.exit_codes import DONE, CommandError
from telex.surfaces.cli.type_options import dialect_option, find_type, json_option, optional_type_argument

FORMATS = ("json-schema", "asyncapi", "typescript")


@click.command("schema")
@optional_type_argument
@dialect_option
@click.option("--as", "format_", type=click.Choice(FORMATS), default=FORMATS[0], show_default=True)
@json_option
def command(type_name: str | None, dialect: str | None, format_: str, as_json: bool) -> int:
    """Print the schema of a type, or of a whole dialect."""
    if type_name is None:
        text = _of_dialect(_asked(dialect), format_)
        sys.stdout.write(json_line({format_: text}) + "\n" if as_json and format_ == "typescript" else text)
        return DONE
    if format_ != "json-schema":
        raise CommandError(f"{format_} describes a whole dialect: leave {type_name} out and give --dialect")
    from telex.generate.json_schema import type_schema

    sys.stdout.write(write_json(type_schema(*find_type(type_name, dialect))) + "\n")
    return DONE


def _asked(name: str | None) -> Dialect:
    if name is None:
        names = ", ".join(dialect.name for dialect in team_dialects())
        raise CommandError(f"name a type, or a dialect with --dialect: {names}")
    return dialect_from(name)


def _of_dialect(dialect: Dialect, format_: str) -> str:
    if format_ == "typescript":
        from telex.generate.typings import typescript

        return typescript(dialect)
    if format_ == "asyncapi":
        from telex.generate.asyncapi import asyncapi

        return write_json(asyncapi(dialect)) + "\n"
    from telex.generate.json_schema import dialect_schema

    return write_json(dialect_schema(dialect)) + "\n"
