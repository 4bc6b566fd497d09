"""`telex guard --diff`: compare an agent's reports with what git says has changed."""

import os
import sys

from telex.dialects.schema import Dialect
from telex.model.message import Event, Message
from telex.ports.store import Query
from telex.project import root_of
from telex.surfaces.cli.bus_connection import opened_to_look, settings_here
from telex.surfaces.cli.exit_codes import DONE, REFUSED
from telex.surfaces.cli.guard_git import changed_since
from telex.surfaces.cli.option_parser import ParsedOptions
from telex.surfaces.cli.output import Screen, shown
from telex.validation.authorization import normalised
from telex.validation.project_paths import InvalidPath, normal
from telex.work.view import work_message_from_log


def run(parsed_options: ParsedOptions, agent: str) -> int:
    root, name = root_of(os.getcwd()), normalised(agent)
    changed = {_same(path) for path in changed_since(root, parsed_options.options["--diff"])}
    settings = settings_here()
    dialects = {dialect.name: dialect for dialect in settings.desk().dialects}
    with opened_to_look(parsed_options.options.get("--store"), settings) as bus:
        events = bus.events(Query(agent=name, kinds=("accepted",)))
        reported = {
            _same(path)
            for event, message in events
            if message is not None and message.sender == name
            for path in _files(message, event, dialects, parsed_options.options.get("--plan"))
        }
    missing, extra = sorted(changed - reported), sorted(reported - changed)
    _tell(missing, extra, len(changed & reported), name, parsed_options)
    return REFUSED if missing or extra else DONE


def _same(path: str) -> str:
    """A path as it is compared; an odd one is only ever the same as itself."""
    found = normal(path)
    return path if isinstance(found, InvalidPath) else found


def _files(message: Message, event: Event, dialects: dict[str, Dialect], plan: str | None) -> tuple[str, ...]:
    dialect = dialects.get(message.dialect or "")
    work_message = work_message_from_log(message, event, dialect) if dialect is not None else None
    if (
        work_message is None
        or work_message.action != "progress"
        or (plan is not None and work_message.text("plan") != plan)
    ):
        return ()
    return work_message.texts("files")


def _tell(missing: list[str], extra: list[str], right: int, agent: str, parsed_options: ParsedOptions) -> None:
    if "--json" in parsed_options.options:
        from telex.surfaces.cli.check_output import json_line

        facts = {
            "agent": agent,
            "base": parsed_options.options["--diff"],
            "right": right,
            "missing": missing,
            "extra": extra,
        }
        sys.stdout.write(json_line(facts) + "\n")
        return
    if "--quiet" not in parsed_options.options:
        screen = Screen(sys.stdout)
        screen.line(f"{screen.paint('right', 'green')}    {right:,} changed as {shown(agent)} reported")
    screen = Screen(sys.stderr)
    for word, paths, why in (
        ("missing", missing, "changed, and not reported"),
        ("extra", extra, "reported, and not changed"),
    ):
        for path in paths:
            screen.line(f"{screen.paint(f'{word:<7}', 'red')}  {screen.paint(shown(path), 'bold')}  {why}")
