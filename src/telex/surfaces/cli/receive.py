"""`telex receive`, `request`, `ack`, `nack` and `extend`: lease messages, print them, and settle the leases.

A message goes to stdout, behind a mark on every line or with --raw as it was sent. Its header and the commands to ack
or answer it go to stderr. A lease is named by its token, or by the id of its message.
"""

import json
import sys
import time
from typing import TYPE_CHECKING

import click

from telex.dialects.schema import get_path
from telex.errors import OutcomeUnknown, Refused, RequestTimedOut
from telex.model.message import LeasedMessage, Rendering, StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.model.roster import TELEX
from telex.model.work import waits_for_ever
from telex.ports.bus import MessageHistory
from telex.surfaces.cli.connection import opened, opened_to_look, settings_here
from telex.surfaces.cli.files import file_word, files_in, pieces
from telex.surfaces.cli.leases import TOKEN, lease_token
from telex.surfaces.cli.options import (
    BUS,
    COMPLETERS,
    Speaker,
    agent_option,
    command,
    dialect_option,
    file_argument,
    flag,
    grouped,
    max_option,
    member_role_option,
    seconds_option,
    text_option,
)
from telex.surfaces.cli.output import Screen, blanks_in, print_json, shell_word, shown, typed, wrapped
from telex.surfaces.cli.render import (
    clock_time,
    content_facts,
    head_facts,
    optional_stamp,
    print_one,
    rendering_facts,
    span,
    stamp,
    translation_note,
    what,
    write_body,
)
from telex.surfaces.cli.send import print_receipt
from telex.surfaces.cli.usage import DONE, FAILED, REFUSED, TIMED_OUT, CommandError
from telex.validation.authorization import has_no_words, may_send, normalised

if TYPE_CHECKING:
    from telex.client import SyncBus
    from telex.work.view import WorkMessage


# --- receive and request ----------------------------------------------------------------------------------------------
class LeaseOutput(NamedTuple):
    """Options for printing a leased message."""

    store: str | None  # for the commands that are printed
    as_json: bool
    raw: bool
    acks: bool


class HeaderOptions(NamedTuple):
    to: str | None
    id: str | None
    reply_to: str | None


raw_option = flag("--raw", "Print the bytes as they were sent, for a script.")


@command(
    "receive",
    [
        agent_option,
        member_role_option,
        max_option(1),
        seconds_option("--wait", "Wait for the first message."),
        seconds_option("--lease", "Length of the lease."),
        flag("--ack", "Ack each as soon as it is printed.", "acks"),
        raw_option,
        *BUS,
        grouped(who=Speaker, output=LeaseOutput),
    ],
)
def receive_command(who: Speaker, limit: int, wait: float | None, lease: float | None, output: LeaseOutput) -> int:
    """Lease the next messages in your inbox; ack, nack or extend each before its lease expires.

    Exit code 4 if there is none.
    """
    agent = who.agent
    with opened(output.store) as bus:
        leases = bus.receive(agent, role=who.role, limit=limit, wait=wait or 0.0, lease=lease)
        for leased in leases:
            _print_lease(bus, leased, agent, pending_reply(bus, leased.message, agent), output)
    if leases:
        return DONE
    sys.stderr.write(f"nothing waits for {shown(agent)}{f' within {span(wait)}' if wait else ''}\n")
    return TIMED_OUT


@command(
    "request",
    [
        file_argument,
        agent_option,
        member_role_option,
        text_option("--to", "ADDRESS", "An agent, or role:qa for one agent of that role.", complete="agents"),
        text_option("--id", "ID", "Id of the message, if it contains none."),
        text_option("--reply-to", "ID", "Id of the message that this one answers, if it does not contain it."),
        seconds_option("--timeout", "Time to wait for the reply; the team's limit if not given."),
        flag("--ack", "Ack the reply as soon as it is printed.", "acks"),
        dialect_option,
        raw_option,
        *BUS,
        grouped(who=Speaker, header=HeaderOptions, output=LeaseOutput),
    ],
)
def request_command(
    file: str, who: Speaker, header: HeaderOptions, timeout: float | None, dialect: str | None, output: LeaseOutput
) -> int:
    """Send a request and wait for the reply.

    The reply is leased to you: ack it when you are done with it. If none comes in time, the exit code is 4; the
    request stays open, and a late reply goes to your inbox.
    """
    [path] = files_in([file])
    settings = settings_here(dialect)
    [(_, raw, _)] = pieces(path, settings.limits.message_bytes_max, lines=False)
    agent, role = who
    with opened(output.store, settings) as bus:
        try:
            answer = bus.request(raw, sender=agent, role=role, timeout=timeout, **header._asdict())
        except Refused as error:
            fix = f"telex fix {file_word(path)} --role {shell_word(role or agent)}"
            print_receipt(error.receipt, fix=fix, as_json=output.as_json)
            return REFUSED
        except RequestTimedOut as error:
            raise CommandError(shown(error.say), TIMED_OUT) from error
        except OutcomeUnknown as error:
            again = f"repeat the command with the same id: --id {shown(error.id or 'ID')}"
            raise CommandError(f"outcome unknown: {again}\n({shown(error.say)})", FAILED) from error
        _print_lease(bus, answer, agent, pending_reply(bus, answer.message), output)
    return DONE


def _print_lease(
    bus: "SyncBus", lease: LeasedMessage, agent: str, pending: "PendingReply", output: LeaseOutput
) -> None:
    """Print a leased message and flush it, since a program may wait for it; ack it where that was requested."""
    if output.as_json:
        message = lease.message
        head = {"token": lease.token, "attempt": lease.attempt, "until": stamp(lease.until), "inbox": lease.inbox}
        answer_by = optional_stamp(pending.by)
        tail = {"at": stamp(message.at), "answer_by": answer_by, "answered_by": pending.answered_by}
        rendered = rendering_facts(message, lease.rendering)
        print_json(head | head_facts(message) | rendered | tail | content_facts(lease.rendering or message))
    else:
        _print_lease_text(lease, agent, pending, output)
    sys.stdout.flush()
    if output.acks:
        bus.ack(lease.token, agent=agent)


def _print_lease_text(lease: LeasedMessage, agent: str, pending: "PendingReply", output: LeaseOutput) -> None:
    screen, message, rendering = Screen(sys.stderr), lease.message, lease.rendering
    attempt = "" if lease.attempt == 1 else f", attempt {lease.attempt}"
    until = "" if output.acks else f", yours until {clock_time(lease.until)} UTC"
    note = translation_note(message, rendering)
    about = f"{what(rendering or message)} from {shown(message.sender)}{note}{attempt}{until}"
    screen.line(screen.paint(shell_word(message.id), "bold"), *wrapped(about, screen.width))
    screen.stream.writelines(f"{line}\n" for line in changed_lines(rendering, screen.width))
    screen.stream.flush()
    write_body(rendering or message, raw=output.raw)
    whose = [f"--as {shell_word(agent)}", *([f"--store {shell_word(output.store)}"] if output.store else [])]
    for line in answer_lines(lease, pending, whose, screen.width):
        screen.line(line)
    if not output.acks:
        id_ = message.id
        name = lease.token if TOKEN.match(id_) or id_.startswith("-") else shell_word(id_)
        screen.line(*typed("done with it:", [f"telex ack {name}", *whose], screen.width))


def changed_lines(rendering: Rendering | None, width: int | None) -> list[str]:
    """`lost: $.payload.commit, $.phase`: what the translation has not kept, since the original may bind the reader."""
    if rendering is None:
        return []
    kept = {"lost": rendering.lost, "narrowed": rendering.narrowed}
    return [
        line for name, paths in kept.items() if paths for line in wrapped(f"{name}: {shown(', '.join(paths))}", width)
    ]


# --- ack, nack and extend ---------------------------------------------------------------------------------------------
what_argument = click.argument("what", metavar="TOKEN|ID", shell_complete=COMPLETERS["waiting_ids"])


@command("ack", [what_argument, agent_option, *BUS])
def ack_command(what: str, agent: str, store: str | None, as_json: bool) -> int:
    """Ack a message: you are done with it. A second ack has no effect."""
    with opened_to_look(store) as bus:
        token = lease_token(bus, what, agent, acked_is_fine=True)
        first = bus.ack(token, agent=agent)
    facts = {"acked": True, "before": not first, "token": token}
    return print_one(facts, f"acked{'' if first else ' already'} {shown(what)}", as_json)


@command(
    "nack",
    [
        what_argument,
        agent_option,
        text_option("--reason", "WORDS", "Why you cannot do it; the sender and the next reader see this."),
        seconds_option("--delay", "Delay until the next attempt; the usual backoff if not given."),
        *BUS,
    ],
)
def nack_command(
    what: str, agent: str, reason: str | None, delay: float | None, store: str | None, as_json: bool
) -> int:
    """Reject a message: it is retried later, or becomes a dead letter if this was the last attempt."""
    if reason is None:
        raise CommandError("no reason: telex nack … --reason WORDS")
    with opened_to_look(store) as bus:
        token = lease_token(bus, what, agent)
        after = bus.nack(token, agent=agent, reason=reason, delay=delay)
    next_at = after.due_at if after.state == "stored" else None
    facts = {"token": token, "state": after.state, "attempts": after.attempts}
    again = f"again at {clock_time(after.due_at)} UTC, attempt {after.attempts + 1}"
    words = f"dead after {after.attempts} attempts" if after.state == "dead" else again
    return print_one(
        facts | {"next_at": stamp(next_at) if next_at else None}, f"nacked {shown(what)}: {words}", as_json
    )


@command(
    "extend",
    [
        what_argument,
        agent_option,
        seconds_option("--for", "Length of the lease from now on; the usual one if not given.", "seconds"),
        *BUS,
    ],
)
def extend_command(what: str, agent: str, seconds: float | None, store: str | None, as_json: bool) -> int:
    """Extend the lease of a message that you still work on."""
    with opened_to_look(store) as bus:
        token = lease_token(bus, what, agent)
        until = bus.extend(token, agent=agent, seconds=seconds)
    words = f"yours until {clock_time(until)} UTC, for another {span(until - time.time())}: {shown(what)}"
    return print_one({"token": token, "until": stamp(until)}, words, as_json)


# --- how to answer ----------------------------------------------------------------------------------------------------
class PendingReply(NamedTuple):
    by: float | None = None  # deadline of the reply, if one is expected
    answered_by: str | None = None  # agent that has replied
    is_decision: bool = False  # the reply is an approval or a rejection
    draft_command: tuple[str, ...] = ()  # command that drafts the reply, where plain text is none


def pending_reply(bus: "SyncBus", message: StoredMessage, agent: str | None = None) -> PendingReply:
    """The reply that `agent`, which holds the message, has to give."""
    history = next((history for history in bus.why(message.id) if history.message.seq == message.seq), None)
    if history is None:
        return PendingReply()
    work_message = _work_message(history)
    if work_message is not None and work_message.action == "stop" and agent is not None:
        return PendingReply(draft_command=_draft_command(bus, message, work_message, agent))
    if history.answer_by is None:
        answered = [event.agent for event in history.events if event.kind == "answered"]
        return PendingReply(answered_by=answered[-1] if answered else None)
    decides = work_message is not None and work_message.action == "ask" and _may_decide(bus, work_message, agent)
    return PendingReply(history.answer_by, is_decision=decides)


def answer_lines(lease: LeasedMessage, pending: PendingReply, whose: list[str], width: int | None) -> list[str]:
    """The commands that answer a leased message. `whose` are the options --as and --store."""
    message = lease.message
    if pending.answered_by is not None:
        return [f"answered by {shown(pending.answered_by)}: no further answer is expected"]
    to = f"--to {shell_word(message.sender)}"
    if pending.draft_command:
        lines = typed("draft the answer (an ack does not answer it):", list(pending.draft_command), width)
        return [*lines, *typed("and send it:", ["telex send", *whose, to, "FILE"], width)]
    if pending.by is None:
        return []
    by = "" if waits_for_ever(pending.by) else f" by {clock_time(pending.by, lease.until)} UTC"
    id_ = shell_word(message.id)
    if pending.is_decision:
        lines = typed(f"decide it{by}:", [f"telex approve {id_}", *whose, "--reason WORDS"], width)
        return [*lines, *typed("or:", [f"telex reject {id_}", *whose, "--reason WORDS"], width)]
    if message.sender == TELEX:  # an escalation: the answer goes to the agent that raised it
        return typed(f"answer it{by}:", [f"telex answer {id_}", *whose, "-"], width)
    return typed(f"answer it{by}:", ["telex send", *whose, to, f"--reply-to {id_}", "-"], width)


def _work_message(history: MessageHistory) -> "WorkMessage | None":
    from telex.dialects.registry import VERSIONS
    from telex.work.view import work_message_from_log

    message = history.message
    dialect = next((dialect for dialect in VERSIONS if dialect.name == message.dialect), None)
    accepted = next((event for event in history.events if event.kind == "accepted"), None)
    return work_message_from_log(message, accepted, dialect) if dialect is not None else None


def _may_decide(bus: "SyncBus", work_message: "WorkMessage", agent: str | None) -> bool:
    """Whether the agent's role can write the reply to an approval request."""
    answer = work_message.dialect.types[work_message.type.reply or ""]
    return agent is None or not has_no_words(_role_of(bus, agent), work_message.dialect, answer)


def _role_of(bus: "SyncBus", agent: str) -> str:
    return next((presence.member.role for presence in bus.roster() if presence.member.name == normalised(agent)), "")


def _draft_command(bus: "SyncBus", message: StoredMessage, work_message: "WorkMessage", agent: str) -> tuple[str, ...]:
    """The command that drafts an agreement, with every value that `telex new` cannot fill in."""
    from telex.dialects.write import draft
    from telex.work.reducer import HeaderFields
    from telex.work.shutdown import agreement
    from telex.work.view import parse_tree

    dialect, answer = work_message.dialect, work_message.dialect.types[work_message.type.reply or ""]
    role = _role_of(bus, agent)
    signed = role if may_send(role, answer) else answer.senders[0]
    raw = agreement(message, signed, {dialect.name: dialect}, HeaderFields("", message.at, agent, message.sender))
    agreed = parse_tree(raw or b"{}", dialect, answer)
    blanks = blanks_in(draft(dialect, answer, {}, now="", new_id="", role=signed))
    paths = [blank.path.removeprefix("$.") for blank in blanks]
    values = {path: get_path(tuple(path.split(".")))(agreed) for path in paths}
    words = [_field_word(path.rpartition(".")[2], value) for path, value in values.items() if value is not None]
    return f"telex new {answer.name}", f"--role {shell_word(signed)}", *words


def _field_word(name: str, value: object) -> str:
    return shell_word(f"{name}={value if isinstance(value, str) else json.dumps(value)}")
