"""Answer pages: `/answer/TOKEN` shows a request for approval and answers it.

GET and HEAD change nothing: mail scanners and chats fetch every link. The form posts to the same address; the token in
it is the permission, and no page of another site knows it. The page has no scripts and loads nothing.
"""

import base64
import time
from hashlib import sha256
from html import escape
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.routing import BaseRoute

from telex.errors import NotFound, TelexError
from telex.model.finding import Finding
from telex.model.roster import HUMAN
from telex.model.text import shown_block
from telex.ports.bus import Bus
from telex.surfaces.alerts.items import NeedsReader, OpenApproval, open_approval
from telex.surfaces.alerts.links import ACTIONS, PATH, hash_of, is_token
from telex.surfaces.alerts.runner import AlertLog
from telex.surfaces.alerts.state import Link
from telex.surfaces.http import asgi
from telex.surfaces.http.asgi import HttpResponse
from telex.work.approvals import Approval, topic_of

BODY_BYTES_MAX = 16_384
REASON_CHARACTERS_MAX = 1_000
PATHS_MAX = 50
HTML = b"text/html; charset=utf-8"
DONE_WORDS = {"approve": "approved", "reject": "rejected"}
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 36rem; margin: 2rem auto; padding: 0 1rem; }
body { overflow-wrap: anywhere; }
h1 { font-size: 1.25rem; }
dt { font-size: .875rem; opacity: .75; margin-top: .75rem; }
dd { margin: 0; }
code { font-family: ui-monospace, monospace; }
input { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem; margin: .25rem 0 1rem; }
button { font: inherit; min-height: 44px; min-width: 8rem; margin-right: .75rem; }
"""
_STYLE_HASH = base64.b64encode(sha256(STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-frame-options", b"DENY"),
    (b"x-robots-tag", b"noindex, nofollow"),
    (b"referrer-policy", b"same-origin"),  # no-referrer would make browsers post with the origin null
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


def answer_routes(bus: Bus, log: AlertLog, needs: NeedsReader) -> list[BaseRoute]:
    pages = AnswerPages(bus, log, needs)
    return [asgi.route(PATH + "{token}", pages.show), asgi.route(PATH + "{token}", pages.answer, "POST")]


class AnswerPages:
    def __init__(self, bus: Bus, log: AlertLog, needs: NeedsReader) -> None:
        self._bus, self._log, self._needs = bus, log, needs

    async def show(self, request: Request) -> HttpResponse:
        """The request and a form. Nothing changes."""
        link = await self._link(request)
        if isinstance(link, HttpResponse):
            return link
        facts = await open_approval(self._needs, link.key)
        return await self._closed(link) if facts is None else _form(facts, link)

    async def answer(self, request: Request) -> HttpResponse:
        """Answer the request in the name of a person."""
        link = await self._link(request)
        if isinstance(link, HttpResponse):
            return link
        raw = await asgi.read_body(request.scope, request.receive, BODY_BYTES_MAX)
        if isinstance(raw, HttpResponse):
            return raw
        fields = parse_qs(raw.decode("utf-8", "replace"))
        [action] = fields.get("action", [""])[:1]
        if action not in link.actions:
            return page(400, "Nothing was answered", "Choose one of the two buttons.")
        facts = await open_approval(self._needs, link.key)
        if facts is None:
            return await self._closed(link)
        reason = " ".join(fields.get("reason", [""])[0].split())[:REASON_CHARACTERS_MAX]
        return await self._decide(link, facts, action, reason or f"{DONE_WORDS[action]} by an answer link")

    async def _decide(self, link: Link, facts: OpenApproval, action: str, reason: str) -> HttpResponse:
        approved = action == "approve"
        try:
            receipt = await self._bus.approve(
                facts.id,
                approved=approved,
                reason=reason,
                agent=HUMAN,
                modifications=facts.paths if approved else (),
                revision=facts.revision,
                check=False,
            )
        except NotFound:
            return await self._closed(link)
        except TelexError as error:
            return _refused((Finding(error.code, "$", asgi.public_text(error)),))
        refusals = [finding for finding in receipt.findings if finding.severity == "refusal"]
        if any(finding.code in ("approval-answered", "approval-outdated") for finding in refusals):
            return await self._closed(link)
        if refusals or not receipt.accepted:
            return _refused(refusals)
        return page(200, f"You have {DONE_WORDS[action]} it", facts.title, f"{facts.by} has your answer.")

    async def _link(self, request: Request) -> Link | HttpResponse:
        token, now = request.path_params["token"], time.time()
        link = (await self._log.current(now)).links.get(hash_of(token)) if is_token(token) else None
        if link is None:
            return page(404, "Unknown link", "This link is not valid. Open the page of the hub to see what waits.")
        if now >= link.expires_at:
            return page(410, "Expired link", "This link has expired. Open the page of the hub to see what waits.")
        return link

    async def _closed(self, link: Link) -> HttpResponse:
        """Response that says why the request cannot be answered with this link."""
        id_ = link.key.partition(":")[2].rpartition("@")[0]
        approval: Approval | None = (await self._bus.work_state("approval")).get(topic_of(id_))
        if approval is None or approval.answer is None:
            say = "The request has changed since this link was made, or is being answered. Open the page of the hub."
            return page(409, "Changed request", say)
        words = f"{approval.answer.by} has {approval.answer.decision} it." if approval.answer.by else ""
        return page(409, "Answered already", approval.request.subject, words)


# --- pages ------------------------------------------------------------------------------------------------------------


def page(status: int, heading: str, *paragraphs: str) -> HttpResponse:
    return _html(status, heading, "".join(f'<p dir="auto">{_text(text)}</p>' for text in paragraphs if text))


def _text(text: str) -> str:
    """Text of others: characters that are invisible or change the direction of a line are shown as codes."""
    return escape(shown_block(text))


def _refused(findings: "list[Finding] | tuple[Finding, ...]") -> HttpResponse:
    says = [f"{finding.code}: {finding.say}" for finding in findings] or ["The answer was refused."]
    return page(422, "Nothing was answered", *says)


def _form(facts: OpenApproval, link: Link) -> HttpResponse:
    rows = [("Asked by", facts.by), ("Request", facts.title), ("Evidence", facts.evidence)]
    listed = "".join(f"<dt>{name}</dt><dd dir=auto>{_text(value)}</dd>" for name, value in rows if value)
    if facts.paths:
        more = len(facts.paths) - PATHS_MAX
        paths = "<br>".join(f"<code dir=ltr>{_text(path)}</code>" for path in facts.paths[:PATHS_MAX])
        allows = "Approving allows, also where the contract forbids it" if facts.overrides else "Approving allows"
        listed += f"<dt>{allows}</dt><dd>{paths}{f'<br>and {more} more' if more > 0 else ''}</dd>"
    buttons = "".join(
        f'<button name="action" value="{action}">{action.capitalize()}</button>'
        for action in ACTIONS
        if action in link.actions
    )
    reason = '<label>Reason (optional)<input name="reason" maxlength="1000" dir="auto" autocomplete="off"></label>'
    return _html(200, "Answer this request?", f'<dl>{listed}</dl><form method="post">{reason}{buttons}</form>')


def _html(status: int, heading: str, content: str) -> HttpResponse:
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(heading)} · Telex</title><style>{STYLE}</style></head>"
    )
    text = f"{head}<body><main><h1>{escape(heading)}</h1>{content}</main></body></html>"
    return HttpResponse(status, text.encode("utf-8", "replace"), HTML, HEADERS)
