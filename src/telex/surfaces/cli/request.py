"""`telex request`: send a message and print the answer to it."""

import sys

import click

from telex.errors import OutcomeUnknown, RequestTimedOut
from telex.ports.bus import Receipt
from telex.surfaces.cli import completion, receipts
from telex.surfaces.cli.bus_connection import opened, settings_here, stay_for_long
from telex.surfaces.cli.bus_options import (
    agent_option,
    lines_option,
    role_option,
    seconds_option,
    store_option,
    text_option,
)
from telex.surfaces.cli.exit_codes import DONE, FAILED, REFUSED, TIMED_OUT, CommandError
from telex.surfaces.cli.inputs import files_in, pieces
from telex.surfaces.cli.output import shell_word, shown
from telex.surfaces.cli.receive import tell
from telex.surfaces.cli.reply_hints import awaited
from telex.surfaces.cli.type_options import dialect_option


@click.command("request")
@click.argument("file", metavar="FILE|-")
@agent_option
@role_option
@text_option("--to", "ADDRESS", "An agent, or role:qa for whoever of them comes first.", complete=completion.agents)
@text_option("--id", "ID", "The message's id, where it has none of its own.")
@text_option("--reply-to", "ID", "The message that this one answers, where it does not say so itself.")
@seconds_option("--timeout", "How long to wait for the answer; the team's limit if not given.")
@click.option("--ack", "acks", is_flag=True, help="Ack the answer as soon as it is printed.")
@dialect_option
@store_option
@lines_option
def command(
    file: str,
    agent: str,
    role: str | None,
    to: str | None,
    id: str | None,
    reply_to: str | None,
    timeout: float | None,
    acks: bool,
    dialect: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Send a message that asks for an answer, and wait for it.

    The answer is leased to you: ack it when you are done with it. When none comes in time, the exit code is 4; the
    request goes on, and the answer will be in your inbox.
    """
    [path] = files_in([file])
    settings = settings_here(dialect)
    [(_, raw, _)] = pieces(path, settings.limits.message_bytes_max, lines=False)
    stay_for_long()
    with opened(store, settings) as bus:
        try:
            answer = bus.request(raw, sender=agent, role=role, to=to, id=id, reply_to=reply_to, timeout=timeout)
        except RequestTimedOut as error:
            raise CommandError(shown(error.say), TIMED_OUT) from error
        except OutcomeUnknown as error:
            say = f"outcome unknown: ask again with the same id: --id {shown(error.id or 'ID')}"
            raise CommandError(f"{say}\n({shown(error.say)})", FAILED) from error
        if isinstance(answer, Receipt):
            fix = f"telex fix {shell_word(path)} --as {shell_word(role or agent)}"
            receipts.tell(answer, fix=fix, as_json=as_json)
            return DONE if answer.accepted else REFUSED
        tell(answer, agent, awaited(bus, answer.message), store, as_json=as_json, acks=acks)
        if acks:
            bus.ack(answer.token, agent=agent)
    sys.stdout.flush()
    return DONE
