"""Routes beside the verbs: a check without sending, a batch of messages, a picture of a conversation."""

import asyncio
from typing import Any

from starlette.requests import Request

from telex.config import Settings
from telex.errors import TelexError
from telex.model.finding import Finding
from telex.model.named_tuple import NamedTuple
from telex.ports.bus import Bus
from telex.protocol import decoded, encoded, plain
from telex.protocol.arguments import CODE as ARGUMENTS_WRONG
from telex.protocol.arguments import from_tree, of_value, unknown
from telex.protocol.verbs import VERBS, Argument
from telex.surfaces.http import asgi
from telex.surfaces.http.asgi import HttpResponse
from telex.surfaces.http.auth import acting
from telex.surfaces.http.tokens import caller_of
from telex.surfaces.http.verbs import query_arguments
from telex.surfaces.team_check import checked_in_team

BATCH_MAX = 1_000
BATCH_BYTES = 16  # times the size of the largest message
FINDINGS_MAX = 200
SVG = b"image/svg+xml"
SVG_POLICY = (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; sandbox")
CHECK_ARGUMENTS = {name: Argument(name, str | None) for name in ("sender", "role", "to", "dialect")}


class CheckResponse(NamedTuple):
    """Result of a check, which does not include earlier messages."""

    valid: bool
    dialect: str | None
    type: str | None
    findings: tuple[Finding, ...]
    fixed: dict[str, Any] | None  # passes as it is
    skeleton: dict[str, Any] | None  # passes once its blanks are filled
    body: str | None  # the markdown under the front matter


class BatchMessage(NamedTuple):
    """A message of a batch: as text in `raw`, or as an object in `message`."""

    raw: bytes | None = None
    message: dict[str, Any] | None = None
    to: str | None = None
    id: str | None = None
    reply_to: str | None = None
    correlation: str | None = None


class MessageBatch(NamedTuple):
    """Messages of one sender."""

    messages: tuple[BatchMessage, ...]
    sender: str = ""
    role: str | None = None


MESSAGE_ARGUMENTS, BATCH_ARGUMENTS = of_value(BatchMessage), of_value(MessageBatch)


class ExtraRoutes:
    def __init__(self, bus: Bus, settings: Settings) -> None:
        self._bus, self._settings, self._policy = bus, settings, settings.desk()

    async def check(self, request: Request) -> HttpResponse:
        """Check a message; nothing is stored."""
        raw = await asgi.read_body(request.scope, request.receive, self._settings.limits.message_bytes_max)
        values = query_arguments(CHECK_ARGUMENTS, request.scope["query_string"])
        if isinstance(raw, HttpResponse):
            return raw
        if isinstance(values, HttpResponse):
            return values
        policy, dialect, caller = self._policy, values.get("dialect"), caller_of(request.scope)
        if dialect is not None:
            forced = next((known for known in self._settings.dialects() if known.name == dialect), None)
            if forced is None:
                say = "Name a dialect of the team."
                return asgi.findings_response([Finding(ARGUMENTS_WRONG, "$.dialect", say, found=dialect[:60])])
            policy = policy._replace(forced=forced)
        checked = await checked_in_team(
            raw,
            self._bus,
            self._settings,
            sender=values.get("sender") or caller.agent,
            role=values.get("role") or caller.role,
            to=values.get("to"),
            policy=policy,
        )
        facts = {name: getattr(checked, name) for name in CheckResponse._fields if name != "dialect"}
        result = CheckResponse(dialect=checked.dialect.name if checked.dialect else None, **facts)
        return HttpResponse(200, encoded(plain(result)))

    async def send_many(self, request: Request) -> HttpResponse:
        """Send several messages; each has its own result, in order."""
        bytes_max = self._settings.limits.message_bytes_max * BATCH_BYTES
        raw = await asgi.read_body(request.scope, request.receive, bytes_max)
        batch = raw if isinstance(raw, HttpResponse) else _read_batch(raw)
        if isinstance(batch, HttpResponse):
            return batch
        claims = {"sender": batch.sender or None, "role": batch.role}
        given = {name: value for name, value in claims.items() if value is not None}
        named = acting(caller_of(request.scope), VERBS["send"]._replace(body="json"), given)
        if isinstance(named, Finding):
            return asgi.finding_response(named, 403)
        if not named.get("sender"):
            return asgi.findings_response([Finding(ARGUMENTS_WRONG, "$.sender", "Give sender.")])
        sent = await asyncio.gather(*(self._send(message, named) for message in batch.messages))
        return HttpResponse(200, encoded({"answer": sent}))

    async def _send(self, message: BatchMessage, named: dict[str, Any]) -> Any:
        arguments = message._asdict() | {"sender": named["sender"], "role": named.get("role")}
        raw, tree = arguments.pop("raw"), arguments.pop("message")
        try:
            return plain(await self._bus.send(raw if raw is not None else tree, **arguments))
        except TelexError as error:
            return decoded(asgi.error_response(error).body)

    async def picture(self, request: Request) -> HttpResponse:
        """A conversation as a sequence diagram."""
        from telex.trace.svg import render_svg

        histories = await self._bus.trace(request.path_params["correlation"])
        return HttpResponse(200, render_svg(histories).encode("utf-8", "replace"), SVG, (SVG_POLICY,))


def _read_batch(raw: bytes) -> MessageBatch | HttpResponse:
    try:
        tree = decoded(raw, halves=False)
    except ValueError as error:
        return asgi.problem(400, ARGUMENTS_WRONG, f"Send one JSON object with messages: {error}.")
    values = from_tree(BATCH_ARGUMENTS, tree)
    if isinstance(values, list):
        return asgi.findings_response(values)
    batch = MessageBatch(**values)
    if len(batch.messages) > BATCH_MAX:
        return asgi.problem(413, "too-large", f"Send at most {BATCH_MAX:,} messages at once.")
    findings = [finding for number, entry in enumerate(tree["messages"]) for finding in _check_entry(entry, number)]
    return asgi.findings_response(findings[:FINDINGS_MAX]) if findings else batch


def _check_entry(tree: dict[str, Any], number: int) -> list[Finding]:
    path = f"$.messages[{number}]"
    findings = [finding._replace(path=path + finding.path[1:]) for finding in unknown(MESSAGE_ARGUMENTS, tree)]
    if (tree.get("raw") is None) == (tree.get("message") is None):
        findings.append(Finding(ARGUMENTS_WRONG, path, "Give the message as text in raw, or as an object in message."))
    return findings
