"""`telex request`: send a message and print the answer to it."""

import sys
from typing import NamedTuple

import click

from telex.errors import OutcomeUnknown, RequestTimedOut
from telex.ports.bus import Receipt
from telex.surfaces.cli import completion, receipts
from telex.surfaces.cli.bus_connection import opened, settings_here, stay_for_long
from telex.surfaces.cli.bus_options import (
    Speaker,
    agent_option,
    grouped,
    lines_option,
    role_option,
    seconds_option,
    store_option,
    text_option,
)
from telex.surfaces.cli.exit_codes import DONE, FAILED, REFUSED, TIMED_OUT, CommandError
from telex.surfaces.cli.inputs import files_in, pieces
from telex.surfaces.cli.output import shell_word, shown
from telex.surfaces.cli.receive import LeaseOutput, raw_option, tell
from telex.surfaces.cli.reply_hints import awaited
from telex.surfaces.cli.type_options import dialect_option


class HeaderOptions(NamedTuple):
    to: str | None
    id: str | None
    reply_to: str | None


@click.command("request")
@click.argument("file", metavar="FILE|-")
@agent_option
@role_option
@text_option("--to", "ADDRESS", "An agent, or role:qa for one agent of that role.", complete=completion.agents)
@text_option("--id", "ID", "Id of the message, if it contains none.")
@text_option("--reply-to", "ID", "Id of the message that this one answers, if it does not contain it.")
@seconds_option("--timeout", "Time to wait for the reply; the team's limit if not given.")
@click.option("--ack", "acks", is_flag=True, help="Ack the reply as soon as it is printed.")
@dialect_option
@raw_option
@store_option
@lines_option
@grouped(who=Speaker, header=HeaderOptions, output=LeaseOutput)
def command(
    file: str, who: Speaker, header: HeaderOptions, timeout: float | None, dialect: str | None, output: LeaseOutput
) -> int:
    """Send a request and wait for the reply.

    The reply is leased to you: ack it when you are done with it. If none comes in time, the exit code is 4; the
    request stays open, and a late reply goes to your inbox.
    """
    [path] = files_in([file])
    settings = settings_here(dialect)
    [(_, raw, _)] = pieces(path, settings.limits.message_bytes_max, lines=False)
    stay_for_long()
    agent, role = who
    with opened(output.store, settings) as bus:
        try:
            answer = bus.request(raw, sender=agent, role=role, timeout=timeout, **header._asdict())
        except RequestTimedOut as error:
            raise CommandError(shown(error.say), TIMED_OUT) from error
        except OutcomeUnknown as error:
            say = f"outcome unknown: ask again with the same id: --id {shown(error.id or 'ID')}"
            raise CommandError(f"{say}\n({shown(error.say)})", FAILED) from error
        if isinstance(answer, Receipt):
            fix = f"telex fix {shell_word(path)} --as {shell_word(role or agent)}"
            receipts.tell(answer, fix=fix, as_json=output.as_json)
            return DONE if answer.accepted else REFUSED
        tell(answer, agent, awaited(bus, answer.message), output)
        if output.acks:
            bus.ack(answer.token, agent=agent)
    sys.stdout.flush()
    return DONE
