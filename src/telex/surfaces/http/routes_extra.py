"""What can be asked for beside the verbs: a check without sending, many messages at once, a thread as a picture."""

import asyncio
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from telex.config import Settings
from telex.errors import TelexError
from telex.model.finding import Finding
from telex.ports.bus import Bus, Receipt
from telex.protocol import decoded, encoded, plain
from telex.protocol.arguments import CODE as ARGUMENTS_WRONG
from telex.protocol.arguments import from_texts, from_tree, of_value, unknown
from telex.protocol.verbs import VERBS, Argument
from telex.surfaces.http.asgi import (
    COMMON_HEADERS,
    HttpResponse,
    body_of,
    error_response,
    finding_response,
    findings_response,
    problem,
)
from telex.surfaces.http.auth import acting
from telex.surfaces.http.tokens import caller_of
from telex.surfaces.http.verbs import queried
from telex.surfaces.team_check import checked_in_team

BATCH_MAX = 1_000
SVG = b"image/svg+xml"
SHOWN_ALONE = (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; sandbox")
FINDINGS_MAX = 200
BATCH_BYTES = 16  # times what one message may have
CHECK = {name: Argument(name, str | None) for name in ("sender", "role", "to", "dialect")}


class CheckResponse(NamedTuple):
    """Everything that can be said of a message without knowing what came before it."""

    valid: bool
    dialect: str | None
    type: str | None
    findings: tuple[Finding, ...]
    fixed: dict[str, Any] | None  # passes as it stands
    skeleton: dict[str, Any] | None  # passes once its blanks are filled
    body: str | None  # the markdown under the front matter


class BatchMessage(NamedTuple):
    """One of many messages to be sent: as text in `raw`, or as an object in `message`."""

    raw: bytes | None = None
    message: dict[str, Any] | None = None
    to: str | None = None
    id: str | None = None
    reply_to: str | None = None
    correlation: str | None = None


class MessageBatch(NamedTuple):
    """Many messages of one sender."""

    messages: tuple[BatchMessage, ...]
    sender: str = ""
    role: str | None = None


LETTER, LETTERS = of_value(BatchMessage), of_value(MessageBatch)


def response(answer: HttpResponse) -> Response:
    headers = {name.decode(): value.decode() for name, value in (*COMMON_HEADERS, *answer.headers)}
    return Response(answer.body, answer.status, headers, answer.kind.decode())


class ExtraRoutes:
    def __init__(self, bus: Bus, settings: Settings) -> None:
        self._bus, self._settings, self._desk = bus, settings, settings.desk()

    async def check(self, request: Request) -> Response:
        """Check a message; nothing is stored."""
        raw = await body_of(request.scope, request.receive, self._settings.limits.message_bytes_max)
        if isinstance(raw, HttpResponse):
            return response(raw)
        given = queried(request.scope["query_string"])
        if isinstance(given, HttpResponse):
            return response(given)
        values = from_texts(CHECK, given)
        if isinstance(values, list):
            return response(findings_response(values))
        desk, dialect = self._desk, values.get("dialect")
        if dialect is not None:
            forced = next((known for known in self._settings.dialects() if known.name == dialect), None)
            if forced is None:
                finding = Finding(ARGUMENTS_WRONG, "$.dialect", "Name a dialect of the team.", found=dialect[:60])
                return response(findings_response([finding]))
            desk = desk._replace(forced=forced)
        caller = caller_of(request.scope)
        sender, role = values.get("sender") or caller.agent, values.get("role") or caller.role
        checked = await checked_in_team(
            raw, self._bus, self._settings, sender=sender, role=role, to=values.get("to"), desk=desk
        )
        check_response = CheckResponse(
            valid=checked.valid,
            dialect=checked.dialect.name if checked.dialect else None,
            type=checked.type,
            findings=checked.findings,
            fixed=checked.fixed,
            skeleton=checked.skeleton,
            body=checked.body,
        )
        return response(HttpResponse(200, encoded(plain(check_response))))

    async def send_many(self, request: Request) -> Response:
        """Send several messages; each has a result of its own, in order."""
        most = self._settings.limits.message_bytes_max * BATCH_BYTES
        raw = await body_of(request.scope, request.receive, most)
        if isinstance(raw, HttpResponse):
            return response(raw)
        letters = _letters(raw)
        if isinstance(letters, HttpResponse):
            return response(letters)
        given = {"sender": letters.sender} if letters.sender else {}
        named = acting(caller_of(request.scope), VERBS["send"]._replace(body="json"), given | _role(letters))
        if isinstance(named, Finding):
            return response(finding_response(named, 403))
        if not named.get("sender"):
            return response(findings_response([Finding(ARGUMENTS_WRONG, "$.sender", "Give sender.")]))
        sent = await asyncio.gather(*(self._sent(batch_message, named) for batch_message in letters.messages))
        return response(HttpResponse(200, encoded({"answer": sent})))

    async def _sent(self, letter: BatchMessage, named: dict[str, Any]) -> Any:
        raw: Any = letter.raw if letter.raw is not None else letter.message
        try:
            receipt: Receipt = await self._bus.send(
                raw,
                sender=named["sender"],
                role=named.get("role"),
                to=letter.to,
                id=letter.id,
                reply_to=letter.reply_to,
                correlation=letter.correlation,
            )
        except TelexError as error:
            return decoded(error_response(error).body)
        return plain(receipt)

    async def picture(self, request: Request) -> Response:
        """A conversation as a sequence diagram."""
        from telex.trace.svg import render_svg

        try:
            stories = await self._bus.trace(request.path_params["correlation"])
        except TelexError as error:
            return response(error_response(error))
        return response(HttpResponse(200, render_svg(stories).encode("utf-8", "replace"), SVG, (SHOWN_ALONE,)))


def _role(letters: MessageBatch) -> dict[str, Any]:
    return {"role": letters.role} if letters.role is not None else {}


def _letters(raw: bytes) -> MessageBatch | HttpResponse:
    try:
        tree = decoded(raw, halves=False)
    except ValueError as error:
        return problem(400, "arguments-wrong", f"Send one JSON object with messages: {error}.")
    given = from_tree(LETTERS, tree)
    if isinstance(given, list):
        return findings_response(given)
    letters = MessageBatch(**given)
    if len(letters.messages) > BATCH_MAX:
        return problem(413, "too-large", f"Send at most {BATCH_MAX:,} messages at once.")
    findings = [finding for number, one in enumerate(tree["messages"]) for finding in _wrong(one, number)]
    return findings_response(findings[:FINDINGS_MAX]) if findings else letters


def _wrong(tree: dict[str, Any], number: int) -> list[Finding]:
    path = f"$.messages[{number}]"
    findings = [finding._replace(path=path + finding.path[1:]) for finding in unknown(LETTER, tree)]
    if (tree.get("raw") is None) == (tree.get("message") is None):
        findings.append(Finding(ARGUMENTS_WRONG, path, "Give the message as text in raw, or as an object in message."))
    return findings
