"""`telex receive`: lease messages of an inbox and print them.

The message goes to stdout, behind a mark on every line or with --raw as it was sent. Its header and the commands to
ack or answer it go to stderr.
"""

import sys
from typing import Any, NamedTuple

import click

from telex.model.message import Lease
from telex.surfaces.cli.ack import is_token
from telex.surfaces.cli.bus_connection import opened, stay_for_long
from telex.surfaces.cli.bus_options import (
    Speaker,
    agent_option,
    grouped,
    lines_option,
    max_option,
    role_option,
    seconds_option,
    store_option,
)
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, TIMED_OUT
from telex.surfaces.cli.message_text import head_facts, rendering_facts, text_of, what, whence, write_body
from telex.surfaces.cli.output import Screen, shell_word, shown, typed, wrapped
from telex.surfaces.cli.reply_hints import PendingReply, answer_lines, awaited
from telex.surfaces.cli.time_text import clock_time, span, stamp


class LeaseOutput(NamedTuple):
    """Options for printing a leased message."""

    store: str | None  # for the commands that are printed
    as_json: bool
    raw: bool
    acks: bool


raw_option = click.option("--raw", is_flag=True, help="Print the bytes as they were sent, for a script.")


@click.command("receive")
@agent_option
@role_option
@max_option(1)
@seconds_option("--wait", "Wait for the first message.")
@seconds_option("--lease", "Length of the lease.")
@click.option("--ack", "acks", is_flag=True, help="Ack each as soon as it is printed.")
@raw_option
@store_option
@lines_option
@grouped(who=Speaker, output=LeaseOutput)
def command(who: Speaker, limit: int, wait: float | None, lease: float | None, output: LeaseOutput) -> int:
    """Lease the next messages in your inbox; ack, nack or extend each before its lease expires.

    Exit code 4 if there is none.
    """
    stay_for_long()
    agent = who.agent
    with opened(output.store) as bus:
        leases = bus.receive(agent, role=who.role, limit=limit, wait=wait or 0.0, lease=lease)
        for leased in leases:
            tell(leased, agent, awaited(bus, leased.message, agent), output)
            if output.acks:
                bus.ack(leased.token, agent=agent)
    if leases:
        return DONE
    within = f" within {span(wait)}" if wait else ""
    sys.stderr.write(f"nothing waits for {shown(agent)}{within}\n")
    return TIMED_OUT


def tell(lease: Lease, agent: str, waits: PendingReply, output: LeaseOutput) -> None:
    """Print a leased message and flush it: a program may be waiting for it."""
    if output.as_json:
        sys.stdout.write(json_line(facts(lease, waits)) + "\n")
        sys.stdout.flush()
        return
    screen, message, rendering = Screen(sys.stderr), lease.message, lease.rendering
    turn = "" if lease.attempt == 1 else f", attempt {lease.attempt}"
    until = "" if output.acks else f", yours until {clock_time(lease.until)} UTC"
    screen.line(screen.paint(shell_word(message.id), "bold"))
    about = f"{what(rendering or message)} from {shown(message.sender)}{whence(message, rendering)}{turn}{until}"
    for line in wrapped(about, screen.width, 0):
        screen.line(line)
    screen.stream.flush()
    write_body(rendering or message, raw=output.raw)
    whose = [f"--as {shell_word(agent)}", *([f"--store {shell_word(output.store)}"] if output.store else [])]
    for line in answer_lines(lease, waits, whose, screen.width):
        screen.line(line)
    if not output.acks:
        screen.line("\n".join(typed("done with it:", [f"telex ack {_named(lease)}", *whose], screen.width)))
    sys.stdout.flush()


def _named(lease: Lease) -> str:
    """What to ack: the id, or the token where the id would be taken for something else."""
    id_ = lease.message.id
    return lease.token if is_token(id_) or id_.startswith("-") else shell_word(id_)


def facts(lease: Lease, waits: PendingReply) -> dict[str, Any]:
    """The lease as JSON; the token, which an ack needs, is first."""
    message = lease.message
    head = {"token": lease.token, "attempt": lease.attempt, "until": stamp(lease.until), "inbox": lease.inbox}
    answer_by = stamp(waits.by) if waits.by is not None else None
    tail = {"at": stamp(message.at), "answer_by": answer_by, "answered_by": waits.answered_by}
    read = rendering_facts(message, lease.rendering)
    return head | head_facts(message) | read | tail | {"message": text_of(lease.rendering or message)}
