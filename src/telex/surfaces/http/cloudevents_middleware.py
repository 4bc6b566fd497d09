"""How does a hub speak CloudEvents? A layer that turns such requests into ours, and our answers into events.

What is sent as an event goes on as the same message in a plain request, so who may act under which name is looked at in
one place. What is asked for as events (`Accept`) is answered as the verb would, and then put into events.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from telex.model.event import detail_of
from telex.model.finding import Finding
from telex.model.limits import Limits
from telex.model.message import Lease
from telex.ports.bus import MessageHistory
from telex.ports.trace_context import TRACEPARENT, as_traceparent
from telex.protocol import decoded, encoded, made, plain
from telex.surfaces.http.asgi import App, ClientDisconnected, Receive, Scope, Send, body_of, header, reply
from telex.surfaces.http.cloudevents import (
    MANY,
    ONE,
    Flaws,
    ReceivedEvent,
    in_words_of_the_event,
    read_batch,
    read_event,
)
from telex.surfaces.http.cloudevents_encode import batch_of, event_of, event_of_lease
from telex.surfaces.http.problem import REFUSED, HttpResponse, problem

ENVELOPE_TIMES, BATCH_TIMES = 2, 16  # what one message may have, in an event and in a batch of them
EITHER = b"application/cloudevents"
SEND, BATCH, RECEIVE, MESSAGE = "/send", "/send/batch", "/receive", "/messages/"
OK = 200


def speaking_cloudevents(app: App, limits: Limits) -> App:
    """The same app, which also takes and gives events."""

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        if path == SEND and header(scope, b"content-type").lower().startswith(EITHER):
            await _sent(app, limits, scope, receive, send)
        elif path.startswith((RECEIVE, MESSAGE)) and EITHER in header(scope, b"accept").lower():
            await _given(app, scope, receive, send)
        else:
            await app(scope, receive, send)

    return door


# --- in ---------------------------------------------------------------------------------------------------------------


async def _sent(app: App, limits: Limits, scope: Scope, receive: Receive, send: Send) -> None:
    kind = header(scope, b"content-type").split(b";")[0].strip().lower().decode("latin-1")
    most = limits.message_bytes_max * (BATCH_TIMES if kind == MANY else ENVELOPE_TIMES)
    try:
        body = await body_of(scope, receive, most)
    except ClientDisconnected:
        return
    if isinstance(body, HttpResponse):
        await reply(send, body)
        return
    asked = _many(scope, body, limits) if kind == MANY else _one(scope, body, limits) if kind == ONE else _other(kind)
    if isinstance(asked, HttpResponse):
        await reply(send, asked)
        return
    answer = await _answered(app, *asked, receive)
    await reply(send, _told(answer))


Asked = tuple[Scope, bytes]


def _one(scope: Scope, body: bytes, limits: Limits) -> Asked | HttpResponse:
    event = read_event(body, limits)
    if not isinstance(event, ReceivedEvent):
        return _refused(event)
    said = {
        "sender": event.sender,
        "to": event.to,
        "id": event.id,
        "reply_to": event.reply_to,
        "correlation": event.correlation,
    }
    added = urlencode({name: value for name, value in said.items() if value is not None}, errors="replace").encode()
    query = b"&".join(part for part in (scope["query_string"], added) if part)
    return _as_ours(scope, event.raw, query, SEND, event.traceparent), event.raw


def _many(scope: Scope, body: bytes, limits: Limits) -> Asked | HttpResponse:
    """All of one sender, and all of them or none: what is wrong with an event is no message yet."""
    events = read_batch(body, limits)
    if isinstance(events, tuple):
        return _refused(events)
    whole = [event for event in events if isinstance(event, ReceivedEvent)]
    findings = [
        _at(number, finding)
        for number, one in enumerate(events)
        if not isinstance(one, ReceivedEvent)
        for finding in one
    ]
    for number, one in enumerate(whole if not findings else ()):
        if one.sender != whole[0].sender:
            say = "Send the events of each source in a batch of their own."
            findings.append(Finding("sender-unknown", f"$[{number}].source", say, found=one.sender[:60]))
    if findings:
        return _refused(tuple(findings[: limits.findings_max]))
    letters = [
        {
            "raw": plain(received_event.raw),
            "to": received_event.to,
            "id": received_event.id,
            "reply_to": received_event.reply_to,
            "correlation": received_event.correlation,
        }
        for received_event in whole
    ]
    raw = encoded({"sender": whole[0].sender if whole else "", "messages": letters})
    return _as_ours(scope, raw, b"", BATCH, None), raw


def _at(number: int, finding: Finding) -> Finding:
    return finding._replace(path=f"$[{number}]{finding.path[1:]}")


def _other(kind: str) -> HttpResponse:
    return problem(415, "not-one-of", f"Send {ONE} or {MANY}: {kind[:60]} is not supported.")


def _refused(findings: Flaws) -> HttpResponse:
    first = findings[0]
    found = [plain(finding) for finding in findings]
    return problem(REFUSED, first.code, f"{first.path}: {first.say}", accepted=False, state="refused", findings=found)


def _as_ours(scope: Scope, raw: bytes, query: bytes, path: str, trace: str | None) -> Scope:
    """The plain request that says the same."""
    ours = (b"content-type", b"content-length", b"transfer-encoding", b"accept")
    headers = [(name, value) for name, value in scope["headers"] if name not in ours]
    headers += [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(raw))]
    if as_traceparent(trace) and trace is not None and not header(scope, TRACEPARENT.encode()):
        headers.append((TRACEPARENT.encode(), trace.encode()))
    changed = {"path": path, "raw_path": path.encode(), "query_string": query, "headers": headers}
    return dict(scope) | changed


def _told(answer: HttpResponse) -> HttpResponse:
    """What the bus says of an id it says to somebody who could leave it out; an event cannot."""
    if answer.status != REFUSED or b'"id-' not in answer.body:
        return answer
    tree = decoded(answer.body)
    before: Flaws = made(tuple[Finding, ...], tree["findings"])
    after = in_words_of_the_event(before)
    tree["findings"] = plain(after)
    for old, new in zip(before, after, strict=True):
        for name in ("detail", "answer"):
            tree[name] = (tree.get(name) or "").replace(old.say, new.say)
    return answer._replace(body=encoded(tree))


# --- out --------------------------------------------------------------------------------------------------------------


async def _given(app: App, scope: Scope, receive: Receive, send: Send) -> None:
    """A message as an event; what was received as a batch of them."""
    headers = [(name, value) for name, value in scope["headers"] if name != b"accept"]
    answer = await _answered(app, dict(scope) | {"headers": headers}, None, receive)
    if answer.status != OK or answer.kind.split(b";")[0] != b"application/json":
        await reply(send, answer)
        return
    tree = decoded(answer.body)["answer"] if scope["path"] == RECEIVE else decoded(answer.body)
    if scope["path"] == RECEIVE:
        events = [event_of_lease(one) for one in made(list[Lease], tree)]
        await reply(send, answer._replace(body=batch_of(events), kind=MANY.encode()))
    elif scope["path"].count("/") == 2:
        await reply(send, answer._replace(body=_newest(made(list[MessageHistory], tree["answer"])), kind=ONE.encode()))
    else:
        await reply(send, answer)  # how far it has come is no message


def _newest(stories: Sequence[MessageHistory]) -> bytes:
    story = stories[-1]
    found = detail_of(story.events[0]).get(TRACEPARENT) if story.events else None
    return event_of(story.message, traceparent=as_traceparent(found) if isinstance(found, str) else None)


# --- in between -------------------------------------------------------------------------------------------------------


async def _answered(app: App, scope: Scope, body: bytes | None, receive: Receive) -> HttpResponse:
    """What the app answers, held back. `body` is given in the place of the one that was read already."""
    status, kind, more, parts = 500, b"", [], []
    waiting = [body] if body is not None else []

    async def given() -> Any:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    async def held(message: Any) -> None:
        nonlocal status, kind
        if message["type"] == "http.response.start":
            status = message["status"]
            for name, value in message["headers"]:
                if name == b"content-type":
                    kind = value
                elif name in (b"retry-after", b"allow", b"www-authenticate"):
                    more.append((name, value))
        else:
            parts.append(message.get("body", b""))

    await app(scope, given, held)
    return HttpResponse(status, b"".join(parts), kind, tuple(more))
