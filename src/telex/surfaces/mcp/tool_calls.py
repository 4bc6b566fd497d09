"""Tool calls and resources: each maps its arguments to a method of the bus, and the result to text and a tree."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any
from urllib.parse import unquote

from telex.config import Settings
from telex.dialects.registry import by_name, one_of_each
from telex.dialects.schema import Dialect
from telex.dialects.write import write
from telex.errors import NotAMember, NotFound, StoreError, TelexError
from telex.generate.prompt import CHARACTERS_PER_TOKEN, prompt
from telex.generate.type_view import participants
from telex.model.contracts import PathVerdict
from telex.model.limits import Limits
from telex.model.message import LeasedMessage, Rendering, StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.model.text import nearest
from telex.ports.bus import Bus, Presence
from telex.project import LinkResolver, from_root, root_of
from telex.protocol import plain
from telex.protocol.arguments import from_tree
from telex.protocol.verbs import Argument
from telex.surfaces.cli.check import answer_of
from telex.surfaces.cli.output import json_line, shown, what
from telex.surfaces.cli.render import ago, clock_time, marked, text_of
from telex.surfaces.clients.sessions import reach_of
from telex.surfaces.mcp import text as results
from telex.surfaces.mcp.identity import Identity
from telex.surfaces.mcp.stdio_protocol import INTERNAL_ERROR, INVALID_PARAMS, RequestError
from telex.surfaces.mcp.text import (
    DATA,
    NOTE,
    PLAIN,
    InboxItem,
    ToolResult,
    finding_text,
    fitting,
    head_of,
    without_surrogates,
)
from telex.surfaces.mcp.tools import INBOX_TOKENS, RESOURCES, TOKENS_MIN, TOOLS, WAIT_SECONDS_MAX, WAIT_TOKENS
from telex.surfaces.size_limits import LOOK_BYTES, take, within_bytes
from telex.surfaces.team_check import checked_in_team
from telex.trace.diagrams import render_tree
from telex.validation.authorization import normalised
from telex.validation.check import CheckResult

LISTED_MAX = 200  # messages of an inbox, or of those requested by id
STORY_CHARACTERS_MAX, STORY_RAW_MAX = 12_000, 2_000
HELD_SHOWN_MAX = 3
PROMPT, THREAD = "telex://prompt", "telex://thread/"
THREAD_TOKENS = 8_000  # of one conversation
CUT = "cut: {:,} characters left out; inbox with this id shows them"
LOG = logging.getLogger("telex.mcp")
Given = Mapping[str, Any]


class ProjectFiles:
    """The files that the agent works on, as this process sees them."""

    def __init__(self, folder: str) -> None:
        self.folder, self.root = folder, root_of(folder)

    def from_root(self, path: str) -> str:
        """The path from the root of the project; one that leads out of it is unchanged."""
        return from_root(path, self.folder, self.root)

    def resolver(self) -> Callable[[str], str | None]:
        return LinkResolver(self.root).leads_to


class HeldLease:
    """A lease that a background task renews."""

    def __init__(self, bus: Bus, agent: str, lease: LeasedMessage) -> None:
        self.bus, self.agent, self.token, self.message_id = bus, agent, lease.token, lease.message.id
        self.extended_until = 0.0  # by the agent itself
        self.task: asyncio.Task[None] | None = None

    async def renew(self, seconds: float, seconds_max: float) -> None:
        ends_at = monotonic() + seconds_max
        while True:
            await asyncio.sleep(seconds / 2)
            seconds = min(seconds, ends_at - monotonic())
            if seconds <= 0:
                return
            if monotonic() + seconds > self.extended_until:
                with suppress(StoreError):  # unavailable: retried
                    await self.bus.extend(self.token, agent=self.agent, seconds=seconds)


class LeaseRenewal:
    """Renewal of the leases that were taken through this server.

    A coding agent works on a message for minutes and cannot extend its lease meanwhile. So the server extends it while
    its process lives: a crash frees the message within one lease, and nothing is held longer than `hold_seconds_max`.
    """

    def __init__(self) -> None:
        self._held: dict[str, HeldLease] = {}

    @staticmethod
    def lease_seconds(limits: Limits) -> float:
        """Length of a lease that is renewed at half of its time: each renewal is an event in the log."""
        return 2 * limits.lease_seconds

    def hold(self, bus: Bus, agent: str, leases: Sequence[LeasedMessage], limits: Limits) -> float:
        """Renew these leases from now on, like a heartbeat. For how many seconds beyond their end."""
        for lease in leases:
            held = self._held[lease.token] = HeldLease(bus, agent, lease)
            held.task = asyncio.create_task(self._hold(held, limits))
        return max(limits.hold_seconds_max - self.lease_seconds(limits), 0.0)

    async def _hold(self, held: HeldLease, limits: Limits) -> None:
        with suppress(TelexError):  # settled elsewhere, or lost
            await held.renew(self.lease_seconds(limits), limits.hold_seconds_max)
        self._held.pop(held.token, None)

    def release(self, token: str) -> None:
        held = self._held.pop(token, None)
        if held is not None and held.task is not None:
            held.task.cancel()

    def extended(self, token: str, seconds: float) -> None:
        """The agent has extended it: a renewal must not shorten that."""
        if token in self._held:
            self._held[token].extended_until = monotonic() + seconds

    def held_by(self, agent: str) -> list[HeldLease]:
        return [held for held in self._held.values() if normalised(held.agent) == normalised(agent)]

    def stop(self) -> None:
        for token in list(self._held):
            self.release(token)


class CallContext(NamedTuple):
    bus: Bus
    settings: Settings
    who: Callable[[], Identity]  # raises NotAMember if no name is configured
    project: ProjectFiles | None = None
    renewal: LeaseRenewal | None = None  # None: leases are not renewed
    notice: str | None = None  # a line before the text of each result
    sessions: str = ""  # folder of the sessions of clients beside the store, if it is known

    @property
    def dialects(self) -> dict[str, Dialect]:
        return {dialect.name: dialect for dialect in self.settings.dialects()}


# --- messages ---------------------------------------------------------------------------------------------------------


async def send(context: CallContext, given: Given) -> ToolResult:
    agent, role = context.who()
    rest = {name: given.get(name) for name in ("to", "id", "reply_to", "correlation")}
    receipt = await context.bus.send(given["message"], sender=agent, role=role, check=False, **rest)
    if receipt.accepted:
        reach = reach_of(context.sessions, receipt.to) if context.sessions else {}
        return ToolResult(results.stored_text(receipt, reach), plain(receipt) | ({"reach": reach} if reach else {}))
    about = " ".join(shown(word) for word in (receipt.dialect, receipt.type) if word) or "message"
    text = results.refused_text(about, receipt.findings, receipt.fixed, certain=receipt.certain)
    return ToolResult(text, plain(receipt))


async def check_(context: CallContext, given: Given) -> ToolResult:
    (agent, role), message = context.who(), given["message"]
    raw = message if isinstance(message, str) else json_line(message)
    checked = await checked_in_team(raw, context.bus, context.settings, sender=agent, role=role, to=given.get("to"))
    if checked.valid:
        return ToolResult(
            results.with_findings(f"it would pass: {what(checked)}", checked.findings), answer_of(checked)
        )
    certain = checked.fixed is not None
    text = results.refused_text(what(checked), checked.findings, _fixed(checked), certain=certain)
    return ToolResult(text, answer_of(checked))


def _fixed(checked: CheckResult) -> str | None:
    tree = checked.fixed or checked.skeleton
    return None if tree is None or checked.dialect is None else write(checked.dialect, tree, checked.body or "")


def _too_small(tokens: int) -> ToolResult:
    say = f"Give a budget of at least {TOKENS_MIN} tokens, or none."
    return results.of_argument("budget", say, str(tokens)[:60])


async def inbox(context: CallContext, given: Given) -> ToolResult:
    (agent, role), tokens = context.who(), given.get("budget", INBOX_TOKENS)
    if tokens < TOKENS_MIN:
        return _too_small(tokens)
    if given.get("ids"):
        return await _read(context, agent, given["ids"], tokens)
    waiting = await within_bytes(lambda limit: context.bus.inbox(agent, role=role, limit=limit), LISTED_MAX + 1)
    rows = waiting.found if waiting.all else waiting.found[:-1]  # one more than shown: there are more
    items = [
        InboxItem(delivery, message, await context.bus.rendering(message, agent=agent)) for delivery, message in rows
    ]
    return results.digest(agent, items, context.dialects, time.time(), tokens, more=not waiting.all)


async def _read(context: CallContext, agent: str, ids: Sequence[str], tokens: int) -> ToolResult:
    messages: list[tuple[StoredMessage, Rendering | None]] = []
    missing: list[str] = []
    wanted, size = tuple(dict.fromkeys(ids)), 0
    for id_ in wanted[:LISTED_MAX]:
        if size >= LOOK_BYTES:
            break
        try:
            message = await context.bus.read(id_, agent=agent)
        except NotFound:
            missing.append(id_[:128])
            continue
        size += len(message.raw)
        rendering = None
        with suppress(NotFound):  # an agent that has not joined reads the original
            rendering = await context.bus.rendering(message, agent=agent)
        messages.append((message, rendering))
    return results.bodies(messages, missing, tokens, unread=len(wanted) - len(messages) - len(missing))


async def wait(context: CallContext, given: Given) -> ToolResult:
    (agent, role), tokens = context.who(), given.get("budget", WAIT_TOKENS)
    if tokens < TOKENS_MIN:
        return _too_small(tokens)
    seconds, limit, lease = given.get("seconds", WAIT_SECONDS_MAX), given.get("limit", 1), given.get("lease")
    seconds = WAIT_SECONDS_MAX if seconds > WAIT_SECONDS_MAX else seconds
    limits, renewal = context.settings.limits, None if lease is not None else context.renewal
    lease = lease if renewal is None else renewal.lease_seconds(limits)
    leases = await take(context.bus, agent, limits, role=role, limit=limit, wait=seconds, lease=lease)
    if not leases:
        line = f"Nothing came for {shown(agent)} within {seconds:g} s. Call again to keep waiting."
        return ToolResult("\n".join([line, *_held_lines(context, agent)]), {"answer": []})
    awaited, hold_seconds = [await _awaited(context, lease.message) for lease in leases], 0.0
    if renewal is not None:  # last: leases of a call that is cancelled before then expire
        hold_seconds = renewal.hold(context.bus, agent, leases, limits)
    return results.leased(list(zip(leases, awaited, strict=True)), tokens, hold_seconds=hold_seconds)


def _held_lines(context: CallContext, agent: str) -> list[str]:
    """Messages that the agent has leased already, perhaps in an earlier session."""
    held = context.renewal.held_by(agent) if context.renewal is not None else []
    leases = [f"You hold {shown(lease.message_id)}, token {lease.token}" for lease in held[:HELD_SHOWN_MAX]]
    more = f" and {len(held) - HELD_SHOWN_MAX} more" if len(held) > HELD_SHOWN_MAX else ""
    return [f"{'; '.join(leases)}{more}: ack what is done; inbox with the id shows a message."] if held else []


async def _awaited(context: CallContext, message: StoredMessage) -> str | None:
    try:
        stories = await context.bus.why(message.id)
    except TelexError:  # a leased message is delivered all the same
        return None
    story = next((history for history in stories if history.message.seq == message.seq), None)
    return results.awaited_line(story, context.dialects.get(message.dialect or ""))


async def ack(context: CallContext, given: Given) -> ToolResult:
    agent, token, renewal = context.who().agent, given["token"], context.renewal or LeaseRenewal()
    if "nack" in given and "extend" in given:
        return results.of_argument("extend", "Nack the message or extend its lease: leave out one of nack and extend.")
    if "nack" in given:
        delivery = await context.bus.nack(token, agent=agent, reason=given["nack"])
        renewal.release(token)
        outcome = "that was the last attempt: it is a dead letter, and its sender is notified"
        if delivery.state == "stored":
            outcome = f"it is retried at {clock_time(delivery.due_at)} UTC"
        return ToolResult(f"nacked; {outcome}", plain(delivery))
    if "extend" in given:
        until = await context.bus.extend(token, agent=agent, seconds=given["extend"])
        renewal.extended(token, given["extend"])
        return ToolResult(f"yours until {clock_time(until)} UTC", {"answer": until})
    first = await context.bus.ack(token, agent=agent)
    renewal.release(token)
    return ToolResult("acked" if first else "acked already", {"answer": first})


async def why(context: CallContext, given: Given) -> ToolResult:
    from telex.surfaces.cli.why import story_lines  # with click, which no other tool needs

    stories, now = await context.bus.why(given["id"]), time.time()
    text = "\n\n".join([DATA, *("\n".join(story_lines(story, now, PLAIN, marked)) for story in stories)])
    if len(text) > STORY_CHARACTERS_MAX:
        text = text[:STORY_CHARACTERS_MAX] + "\n… cut here; telex why shows the rest"
    trees = [plain(story) for story in stories]
    for tree in trees:
        results.cut_raw(tree["message"], STORY_RAW_MAX)
    return ToolResult(text, {"note": NOTE, "answer": trees})


# --- work and team ----------------------------------------------------------------------------------------------------


async def guard(context: CallContext, given: Given) -> ToolResult:
    (agent, role), project = context.who(), context.project
    paths: Sequence[str] = given["paths"]
    from_root = [project.from_root(path) for path in paths] if project else list(paths)
    resolve = project.resolver() if project else None
    judged = await context.bus.guard(from_root, agent=agent, role=role, plan=given.get("plan"), resolve=resolve)
    verdicts = [verdict._replace(path=path) for verdict, path in zip(judged, paths, strict=True)]
    lines = [line for verdict in verdicts for line in _verdict_lines(verdict)] or ["no paths were given"]
    requests = dict.fromkeys(_request_line(verdict) for verdict in verdicts if verdict.ask is not None)
    return ToolResult("\n".join([*lines, *requests]), {"answer": plain(verdicts)})


def _verdict_lines(verdict: PathVerdict) -> list[str]:
    path, reason = shown(verdict.path), shown(verdict.reason)
    by = " (by override)" if verdict.override else ""
    line = f"allowed {path}{by}: {reason}" if verdict.allowed else f"refused {path}: {verdict.code}: {reason}"
    return [line, *(f"  mind: {shown(condition)}" for condition in verdict.conditions)]


def _request_line(verdict: PathVerdict) -> str:
    return f"ask {shown(verdict.ask_to or 'your lead')} for it, send: {json_line(plain(verdict.ask))}"


async def team(context: CallContext, given: Given) -> ToolResult:
    if given.get("join") or given.get("reads"):
        agent, role = context.who()
        try:
            member = await context.bus.join(agent, role=role, dialects=given.get("reads", ()), by=agent)
        except NotAMember as error:
            if error.finding is None:
                raise
            return ToolResult(f"refused:\n{finding_text([error.finding])}", plain(error.finding), wrong=True)
        reads = f", reading {', '.join(map(shown, member.dialects))}" if member.dialects else ""
        return ToolResult(f"{shown(member.name)} is in the team as {shown(member.role)}{reads}", plain(member))
    roster = await context.bus.roster()
    lines = [_presence_line(presence, time.time()) for presence in roster]
    return ToolResult("\n".join(lines or ["no members yet; every role is an address"]), {"answer": plain(roster)})


def _presence_line(presence: Presence, now: float) -> str:
    member, counts = presence.member, "nothing waits"
    if presence.waiting or presence.leased:
        oldest = f", oldest {ago(presence.oldest_at, now)}" if presence.oldest_at is not None else ""
        counts = f"{presence.waiting} waiting, {presence.leased} leased{oldest}"
    reads = f", reads {', '.join(map(shown, member.dialects))}" if member.dialects else ""
    return f"{shown(member.name)} ({shown(member.role)}) {presence.state}, {counts}{reads}"


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


# --- requests ---------------------------------------------------------------------------------------------------------

# The context of a request, and whether it may create the store; may raise a TelexError.
ContextOf = Callable[[bool], Awaitable[CallContext]]
Say = Callable[[TelexError], str]


def say_all(error: TelexError) -> str:
    return error.say


async def call_tool(
    name: str, arguments: dict[str, Any], context_of: ContextOf, say: Say = say_all, *, structured: bool = False
) -> dict[str, Any]:
    """The result of `tools/call`. `say`: the text of an error, without paths for remote callers.

    Raises:
        RequestError: there is no such tool.
    """
    result = await _call(name, arguments, context_of, say)
    # Many clients show their model the structured content in place of the text, which has the marks and the advice.
    tree = {"structuredContent": without_surrogates(result.tree)} if structured else {}
    content = [{"type": "text", "text": without_surrogates(result.text)}]
    return {"content": content, "isError": result.wrong, **tree}


async def _call(name: str, arguments: dict[str, Any], context_of: ContextOf, say: Say) -> ToolResult:
    if name not in TOOLS:
        meant = nearest(name, TOOLS)
        choices = f"did you mean {meant}?" if meant else f"there are {', '.join(TOOLS)}."
        raise RequestError(INVALID_PARAMS, without_surrogates(f"no tool {shown(name[:60])}: {choices}"))
    wanted = {key: Argument(key, taken.kind, required=taken.required) for key, taken in TOOLS[name].takes.items()}
    given = from_tree(wanted, arguments)
    if isinstance(given, list):
        return results.of_arguments(given)
    for key, value in given.items():
        if key != "message" and _has_surrogates(value):
            return results.of_argument(key, "Rewrite it: it contains a lone surrogate, which is no text.")
    try:
        async with asyncio.timeout(results.PATIENCE_SECONDS):
            context = await context_of(_creates_store(name, given))
            result = await CALLS[name](context, given)
            return result if context.notice is None else result._replace(text=f"{context.notice}\n{result.text}")
    except TimeoutError:
        return results.of_timeout(name, given.get("id"))
    except TelexError as error:
        return results.of_error(error, say(error))
    except Exception as error:
        LOG.exception("tool %s failed", name)
        return results.of_bug(error)


def _creates_store(name: str, given: Given) -> bool:
    return name in ("send", "wait") or (name == "team" and bool(given.get("join") or given.get("reads")))


def _has_surrogates(value: Any) -> bool:
    """No store can hold lone surrogates; only a message may contain them."""
    texts = value if isinstance(value, tuple) else (value,)
    return any(not text.isascii() and text != without_surrogates(text) for text in texts if isinstance(text, str))


async def read_resource(uri: str, context_of: ContextOf, say: Say = say_all) -> dict[str, Any]:
    """The result of `resources/read`.

    Raises:
        RequestError: it cannot be read.
    """
    try:
        text = await _resource(await context_of(False), uri)
    except TelexError as error:
        code = INVALID_PARAMS if isinstance(error, NotFound) else INTERNAL_ERROR
        result = results.of_error(error, say(error))
        raise RequestError(
            code, without_surrogates(result.text), without_surrogates(result.tree | {"uri": uri})
        ) from error
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": without_surrogates(text)}]}


# --- resources --------------------------------------------------------------------------------------------------------


async def _resource(context: CallContext, uri: str) -> str:
    """The text of a resource.

    Raises:
        NotFound: there is none of that address.
    """
    if uri == PROMPT or uri.startswith(f"{PROMPT}/"):
        return await _prompt(context, unquote(uri.removeprefix(PROMPT).removeprefix("/")))
    if uri.startswith(THREAD) and uri != THREAD:
        return await _thread(context, unquote(uri.removeprefix(THREAD)))
    raise NotFound(f"no resource {uri[:128]}: there are {', '.join(RESOURCES)}.")


async def _prompt(context: CallContext, name: str) -> str:
    who = context.who()
    members = [presence.member for presence in await context.bus.roster()]
    role = next((member.role for member in members if member.name == normalised(who.agent)), None)
    role = role or normalised(who.role or who.agent)
    dialects = _dialects_for(context, role, name)
    if not dialects:
        return f"No dialect has a role {role}: send any text.\n"
    return "\n".join(prompt(dialect, role) for dialect in dialects)


def _dialects_for(context: CallContext, role: str, name: str) -> list[Dialect]:
    """The named dialect; else the team's default if it has the role; else all that have it."""
    dialects = context.dialects
    if name:
        named = by_name(name, tuple(dialects.values()))
        if named is None:
            raise NotFound(f"no dialect {name[:128]}: there are {', '.join(dialects)}.")
        return [named]
    having = [dialect for dialect in dialects.values() if role in participants(dialect)]
    preferred = [dialect for dialect in having if dialect.name == context.settings.dialect]
    return preferred or one_of_each(having)


async def _thread(context: CallContext, correlation: str) -> str:
    stories = await context.bus.trace(correlation)
    drawing = marked(render_tree(stories))  # it contains reasons that other agents have written
    heads = [head_of(story.message, None) for story in stories]
    room = THREAD_TOKENS * CHARACTERS_PER_TOKEN - len(drawing) - sum(map(len, heads))
    share = max(room // max(len(stories), 1) - len(CUT), 0)
    lines = [DATA, drawing]
    for story, head in zip(stories, heads, strict=True):
        part, left_out = fitting(text_of(story.message), share)
        lines += [head, marked(part), *([CUT.format(left_out)] if left_out else [])]
    return "\n".join(lines) + "\n"
