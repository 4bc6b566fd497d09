"""`telex explain`: why does a finding happen, and how is it mended?"""

import sys

import click

from telex.model.nearest import nearest
from telex.publish.codes import EXPLANATIONS, page
from telex.surfaces.cli.answers import json_line
from telex.surfaces.cli.asking import json_option
from telex.surfaces.cli.exits import DONE, NOT_FOUND, CommandError
from telex.surfaces.cli.render import Screen, shown
from telex.surfaces.cli.table import table_lines


def _codes(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    return [code for code in EXPLANATIONS if code.startswith(begun)]


@click.command("explain")
@click.argument("code", metavar="CODE", required=False, shell_complete=_codes)
@click.option("--list", "all_codes", is_flag=True, help="List every code there is.")
@json_option
def command(code: str | None, all_codes: bool, as_json: bool) -> int:
    """Say why a finding happens and how to mend it, with a message before and after."""
    if all_codes:
        sys.stdout.write(_list(as_json) + "\n")
        return DONE
    if code is None:
        raise CommandError("which code? `telex explain --list` lists them")
    if code not in EXPLANATIONS:
        raise CommandError(_no_code(code), NOT_FOUND)
    sys.stdout.write(_as_json(code) if as_json else page(code))
    return DONE


def _list(as_json: bool) -> str:
    if as_json:
        return json_line([{"code": code, "title": EXPLANATIONS[code].title} for code in sorted(EXPLANATIONS)])
    rows = [(code, EXPLANATIONS[code].title) for code in sorted(EXPLANATIONS)]
    return "\n".join(table_lines(("code", "what it is"), rows, Screen(sys.stdout)))


def _as_json(code: str) -> str:
    one = EXPLANATIONS[code]
    case = one.cases[0]
    words = {"code": code, "title": one.title, "why": one.why, "mend": one.mend}
    return json_line(words | {"before": case.before, "after": case.after}) + "\n"


def _no_code(code: str) -> str:
    meant = nearest(code, EXPLANATIONS)
    perhaps = f"did you mean {meant}?" if meant else "`telex explain --list` lists them"
    return f"no code {shown(code)}; {perhaps}"
