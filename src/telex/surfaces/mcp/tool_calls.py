"""Tool calls: each maps its arguments to a verb of the bus, and the answer to text and a tree."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from telex.dialects.write import write
from telex.errors import NotFound, TelexError
from telex.model.contracts import PathVerdict
from telex.model.finding import Finding
from telex.model.message import Message, Rendering
from telex.ports.bus import MessageHistory, Presence
from telex.protocol import plain
from telex.protocol.arguments import CODE as ARGUMENTS_WRONG
from telex.surfaces.cli.check_output import answer_of, json_line
from telex.surfaces.cli.output import shown, what
from telex.surfaces.cli.time_text import ago, clock_time
from telex.surfaces.cli.why import story_lines
from telex.surfaces.mcp.context import CallContext
from telex.surfaces.mcp.lease_renewal import LeaseRenewal, renewed_seconds
from telex.surfaces.mcp.result import ToolResult, of_arguments
from telex.surfaces.mcp.text import DATA, NOTE, PLAIN, awaited_line, finding_text, kept_text, marked, refused_text
from telex.surfaces.mcp.token_budget import InboxItem, bodies, cut_raw, digest, taken
from telex.surfaces.mcp.tools import INBOX_TOKENS, TOKENS_MIN, WAIT_SECONDS_MAX, WAIT_TOKENS
from telex.surfaces.size_limits import LOOK_BYTES, take, within_bytes
from telex.surfaces.team_check import checked_in_team
from telex.validation.check import CheckResult

LOOKED_AT_MAX = 200  # messages of an inbox, or of those asked for by their ids; more would be read by nobody
STORY_CHARACTERS_MAX, STORY_RAW_MAX = 12_000, 2_000
HELD_SHOWN_MAX = 3

Given = Mapping[str, Any]


async def send(context: CallContext, given: Given) -> ToolResult:
    agent, role = context.who()
    rest = {name: given.get(name) for name in ("to", "id", "reply_to", "correlation")}
    receipt = await context.bus.send(given["message"], sender=agent, role=role, **rest)
    if receipt.accepted:
        return ToolResult(kept_text(receipt), plain(receipt))
    about = " ".join(shown(word) for word in (receipt.dialect, receipt.type) if word) or "message"
    text = refused_text(about, receipt.findings, receipt.fixed, certain=receipt.certain)
    return ToolResult(text, plain(receipt), wrong=True)


async def check_(context: CallContext, given: Given) -> ToolResult:
    (agent, role), raw = context.who(), _raw(given["message"])
    checked = await checked_in_team(raw, context.bus, context.settings, sender=agent, role=role, to=given.get("to"))
    if checked.valid:
        told = [f"it would pass: {what(checked)}", *([finding_text(checked.findings)] if checked.findings else [])]
        return ToolResult("\n".join(told), answer_of(checked))
    text = refused_text(what(checked), checked.findings, _fixed(checked), certain=checked.fixed is not None)
    return ToolResult(text, answer_of(checked), wrong=True)


async def inbox(context: CallContext, given: Given) -> ToolResult:
    (agent, role), tokens = context.who(), given.get("budget", INBOX_TOKENS)
    if tokens < TOKENS_MIN:
        return _too_small(tokens)
    if given.get("ids"):
        return await _whole(context, agent, given["ids"], tokens)
    waiting = await within_bytes(lambda few: context.bus.inbox(agent, role=role, limit=few), LOOKED_AT_MAX + 1)
    told = waiting.found if waiting.all else waiting.found[:-1]  # the last one says that there are more
    lying = [InboxItem(delivery, one, await context.bus.rendering(one, agent=agent)) for delivery, one in told]
    return digest(agent, lying, context.dialects, time.time(), tokens, more=not waiting.all)


async def wait(context: CallContext, given: Given) -> ToolResult:
    (agent, role), tokens = context.who(), given.get("budget", WAIT_TOKENS)
    if tokens < TOKENS_MIN:
        return _too_small(tokens)
    seconds = given.get("seconds", WAIT_SECONDS_MAX)
    seconds = WAIT_SECONDS_MAX if seconds > WAIT_SECONDS_MAX else seconds
    limit, lease = given.get("limit", 1), given.get("lease")
    limits, renewal = context.settings.limits, None if lease is not None else context.renewal
    lease = lease if renewal is None else renewed_seconds(limits)
    leases = await take(context.bus, agent, limits, role=role, limit=limit, wait=seconds, lease=lease)
    if not leases:
        text = f"Nothing came for {shown(agent)} within {seconds:g} s. Call again to keep waiting."
        return ToolResult("\n".join([text, *_held(context, agent)]), {"answer": []})
    waits, hold_seconds = [await _awaited(context, lease.message) for lease in leases], 0.0
    if renewal is not None:  # last: a call that is cancelled before leaves leases that expire
        hold_seconds = renewal.hold(context.bus, agent, leases, limits)
    return taken(list(zip(leases, waits, strict=True)), tokens, hold_seconds=hold_seconds)


async def ack(context: CallContext, given: Given) -> ToolResult:
    agent, token, renewal = context.who().agent, given["token"], context.renewal or LeaseRenewal()
    if "nack" in given and "extend" in given:
        say = "Nack the message or extend its lease: leave out one of nack and extend."
        return of_arguments([Finding(ARGUMENTS_WRONG, "$.extend", say)])
    if "nack" in given:
        delivery = await context.bus.nack(token, agent=agent, reason=given["nack"])
        renewal.release(token)
        comes = "that was the last attempt: it is a dead letter, and its sender is notified"
        if delivery.state == "stored":
            comes = f"it is retried at {clock_time(delivery.due_at)} UTC"
        return ToolResult(f"nacked; {comes}", plain(delivery))
    if "extend" in given:
        until = await context.bus.extend(token, agent=agent, seconds=given["extend"])
        renewal.extended(token, given["extend"])
        return ToolResult(f"yours until {clock_time(until)} UTC", {"answer": until})
    first = await context.bus.ack(token, agent=agent)
    renewal.release(token)
    return ToolResult("acked" if first else "acked already", {"answer": first})


async def why(context: CallContext, given: Given) -> ToolResult:
    stories = await context.bus.why(given["id"])
    now = time.time()
    text = "\n\n".join([DATA, *("\n".join(story_lines(story, now, PLAIN, marked)) for story in stories)])
    if len(text) > STORY_CHARACTERS_MAX:
        text = text[:STORY_CHARACTERS_MAX] + "\n… cut here; telex why shows the rest"
    trees = [plain(story) for story in stories]
    for tree in trees:
        cut_raw(tree["message"], STORY_RAW_MAX)
    return ToolResult(text, {"note": NOTE, "answer": trees})


async def guard(context: CallContext, given: Given) -> ToolResult:
    (agent, role), project = context.who(), context.project
    paths: Sequence[str] = given["paths"]
    from_root = [project.from_root(path) for path in paths] if project else list(paths)
    resolve = project.resolver() if project else None
    found = await context.bus.guard(from_root, agent=agent, role=role, plan=given.get("plan"), resolve=resolve)
    verdicts = [verdict._replace(path=path) for verdict, path in zip(found, paths, strict=True)]
    lines = [line for verdict in verdicts for line in _verdict_lines(verdict)] or ["no paths were given"]
    # one may do for several paths
    asks = dict.fromkeys(_ask_line(verdict) for verdict in verdicts if verdict.ask is not None)
    return ToolResult(
        "\n".join([*lines, *asks]), {"answer": plain(verdicts)}, wrong=not all(verdict.allowed for verdict in verdicts)
    )


async def team(context: CallContext, given: Given) -> ToolResult:
    if given.get("join") or given.get("reads"):
        agent, role = context.who()
        member = await context.bus.join(agent, role=role, dialects=given.get("reads", ()), by=agent)
        if isinstance(member, Finding):
            return ToolResult(f"refused:\n{finding_text([member])}", plain(member), wrong=True)
        reads = f", reading {', '.join(map(shown, member.dialects))}" if member.dialects else ""
        return ToolResult(f"{shown(member.name)} is in the team as {shown(member.role)}{reads}", plain(member))
    roster = await context.bus.roster()
    nobody = "no members yet; every role is an address"
    return ToolResult("\n".join(map(_presence, roster)) or nobody, {"answer": plain(roster)})


CALLS: dict[str, Callable[[CallContext, Given], Awaitable[ToolResult]]] = {
    "send": send,
    "check": check_,
    "inbox": inbox,
    "wait": wait,
    "ack": ack,
    "why": why,
    "guard": guard,
    "team": team,
}


# --- parts --------------------------------------------------------------------------------------------------------


def _too_small(tokens: int) -> ToolResult:
    say = f"Give a budget of at least {TOKENS_MIN} tokens, or none."
    return of_arguments([Finding(ARGUMENTS_WRONG, "$.budget", say, found=str(tokens)[:60])])


async def _whole(context: CallContext, agent: str, ids: Sequence[str], tokens: int) -> ToolResult:
    found: list[tuple[Message, Rendering | None]] = []
    missing: list[str] = []
    asked, size = tuple(dict.fromkeys(ids)), 0
    for id_ in asked[:LOOKED_AT_MAX]:
        if size >= LOOK_BYTES:
            break
        try:
            message = await context.bus.read(id_, agent=agent)
        except NotFound:
            missing.append(id_[:128])
        else:
            size += len(message.raw)
            found.append((message, await _rendering(context, message, agent)))
    return bodies(found, missing, tokens, unread=len(asked) - len(found) - len(missing))


async def _rendering(context: CallContext, message: Message, agent: str) -> Rendering | None:
    try:
        return await context.bus.rendering(message, agent=agent)
    except NotFound:  # whoever has not come yet reads anything
        return None


def _held(context: CallContext, agent: str) -> list[str]:
    """What the agent has leased already, in case it has forgotten, or was another session at that time."""
    held = context.renewal.held_by(agent) if context.renewal is not None else []
    lines = [f"You hold {shown(lease.message_id)}, token {lease.token}" for lease in held[:HELD_SHOWN_MAX]]
    more = f" and {len(held) - HELD_SHOWN_MAX} more" if len(held) > HELD_SHOWN_MAX else ""
    return [f"{'; '.join(lines)}{more}: ack what is done; inbox with the id shows a message."] if held else []


async def _awaited(context: CallContext, message: Message) -> str | None:
    """Only by the way: what was leased has to be handed over whatever becomes of this."""
    try:
        stories: list[MessageHistory] = await context.bus.why(message.id)
    except TelexError:
        return None
    story = next((history for history in stories if history.message.seq == message.seq), None)
    return awaited_line(story, context.dialects.get(message.dialect or ""))


def _raw(message: Any) -> str:
    return message if isinstance(message, str) else json_line(message)


def _fixed(checked: CheckResult) -> str | None:
    tree = checked.fixed or checked.skeleton
    return None if tree is None or checked.dialect is None else write(checked.dialect, tree, checked.body or "")


def _verdict_lines(verdict: PathVerdict) -> list[str]:
    path = shown(verdict.path)
    conditions = [f"  mind: {shown(condition)}" for condition in verdict.conditions]
    if verdict.allowed:
        by = " (by override)" if verdict.override else ""
        return [f"allowed {path}{by}: {shown(verdict.reason)}", *conditions]
    return [f"refused {path}: {verdict.code}: {shown(verdict.reason)}", *conditions]


def _ask_line(verdict: PathVerdict) -> str:
    return f"ask {shown(verdict.ask_to or 'your lead')} for it, send: {json_line(plain(verdict.ask))}"


def _presence(presence: Presence) -> str:
    member, now = presence.member, time.time()
    reads = f", reads {', '.join(map(shown, member.dialects))}" if member.dialects else ""
    oldest = f", oldest {ago(presence.oldest_at, now)}" if presence.oldest_at is not None else ""
    counts = (
        f"{presence.waiting} waiting, {presence.leased} leased{oldest}"
        if presence.waiting or presence.leased
        else "nothing waits"
    )
    return f"{shown(member.name)} ({shown(member.role)}) {presence.state}, {counts}{reads}"
