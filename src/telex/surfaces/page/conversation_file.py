"""A conversation as one HTML file that can be sent: facts, sequence diagram, texts, states and findings.

The file has no script and loads nothing. Every text of a message is escaped, and characters that are invisible or
change the direction of a line are shown as codes.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any

from telex.dialects.schema import Dialect
from telex.model.message import BRINGING, StoredMessage, detail_of
from telex.model.roster import TELEX
from telex.model.text import shown, shown_block
from telex.ports.bus import MessageHistory
from telex.surfaces.page.conversations import PEOPLE_MAX, ConversationFacts, conversation_facts, worked_and_waited
from telex.surfaces.page.history import History, PageMessage
from telex.surfaces.page.rows import delivery_row, recipient_label
from telex.surfaces.page.timeline import ROLES
from telex.trace.svg import render_svg
from telex.trace.text import lasting, moment

DRAWN_MAX = 200  # latest messages in the diagram
TEXT_CHARACTERS_MAX = 20_000  # of one message
DELIVERIES_MAX = 50  # of one message
TOKENS = Path(__file__).parent.parent / "web" / "tokens.css"
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
ARROW = '<span aria-label="to" role="img">→</span>'
WORDS = {"in-hand": "In hand"}  # of states, other than the name itself

Facts = Mapping[str, Any]


def render_html(histories: Sequence[MessageHistory], dialects: Iterable[Dialect], at: float) -> str:
    """The file. `at`: the moment of which the states are."""
    folded = History(dialects)
    for history in histories:
        for event in history.events:
            folded.fold(event, history.message)
    messages = list(folded.messages.values())
    name = next((history.message.correlation for history in histories if history.message.correlation), "")
    facts = conversation_facts(name, messages, at)
    title = facts.title if facts is not None else "No messages"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">',
        f"<title>{_text(title)}</title><style>{TOKENS.read_text(encoding='utf-8')}{STYLE}</style></head><body><main>",
        *(_header(facts, messages, at) if facts is not None else ()),
        *_diagram(histories),
        "<h2>Messages</h2><ol>",
        *(_message(number, history, folded, at) for number, history in enumerate(histories, 1)),
        "</ol>",
        f"<footer>States of {escape(moment(at))}. Made by Telex.</footer></main></body></html>\n",
    ]
    return "\n".join(parts)


# --- header -----------------------------------------------------------------------------------------------------------


def _header(facts: ConversationFacts, messages: Sequence[PageMessage], at: float) -> Iterator[str]:
    worked, waited = worked_and_waited(messages, at)
    roles = {message.sender: message.role for message in messages}
    waiting = f"Waiting for {', '.join(map(_name, facts.waiting_for))}"
    state = waiting if facts.state == "waiting" else facts.state.capitalize()
    people = ", ".join(_agent(name, roles.get(name, name)) for name in facts.people[:PEOPLE_MAX])
    more = len(facts.people) - PEOPLE_MAX
    refused = f" ({facts.refused} refused)" if facts.refused else ""
    end = facts.until if facts.state == "done" else at
    yield f'<header><h1 dir="auto">{_text(facts.title)}</h1> <span class="state">{_text(state)}</span></header><dl>'
    for term, words in (
        ("Conversation", f"<code>{_text(facts.id)}</code>"),
        ("Began", escape(moment(facts.since))),
        ("Messages", f"{facts.messages:,}{refused}"),
        ("Took", lasting(end - facts.since)),
        ("Worked", lasting(worked)),
        ("Waited for answers", lasting(waited)),
        ("People", f"{people}{f' and {more} others' if more > 0 else ''}"),
    ):
        yield f"<div><dt>{term}</dt> <dd>{words}</dd></div>"
    yield "</dl>"


def _diagram(histories: Sequence[MessageHistory]) -> Iterator[str]:
    drawn = histories[-DRAWN_MAX:]
    if len(drawn) < len(histories):
        yield f"<p>The diagram has the latest {DRAWN_MAX} messages.</p>"
    if drawn:
        yield f'<figure tabindex="0" role="group" aria-label="Sequence diagram">{render_svg(drawn)}</figure>'


# --- messages ---------------------------------------------------------------------------------------------------------


def _message(number: int, history: MessageHistory, folded: History, at: float) -> str:
    message, page_message = history.message, folded.messages.get(history.message.seq)
    state = page_message.state_at(at) if page_message is not None else history.state
    kind = page_message.kind if page_message is not None else message.type or "text"
    who = f"{_agent(message.sender, message.role)} {ARROW} <bdi>{_name(message.to)}</bdi>"
    return "".join(
        [
            f'<li id="m{number}" class="is-{_text(state)}"><h3>#{number} {who} <span>{_text(kind)}</span></h3>',
            f'<p><time>{escape(moment(message.at))}</time> <b class="state">{_state_word(state)}</b>',
            f" <code>{_text(message.id)}</code>{_reply(message)}</p>",
            f'<p class="gist" dir="auto">{_text(page_message.gist if page_message is not None else "")}</p>',
            f'<pre dir="auto" tabindex="0">{_body(message)}</pre>',
            *_findings(history),
            *_deliveries(page_message, at),
            "</li>",
        ]
    )


def _reply(message: StoredMessage) -> str:
    return f" in reply to <code>{_text(message.reply_to)}</code>" if message.reply_to else ""


def _body(message: StoredMessage) -> str:
    """The text of a message; JSON with a line for each field."""
    text = message.raw.decode("utf-8", "backslashreplace")
    if text.lstrip().startswith("{"):
        with suppress(ValueError, RecursionError):
            text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    cut = f"\n… {len(text) - TEXT_CHARACTERS_MAX:,} more characters" if len(text) > TEXT_CHARACTERS_MAX else ""
    return escape(shown_block(text[:TEXT_CHARACTERS_MAX].replace("\r\n", "\n")) + cut)


def _findings(history: MessageHistory) -> Iterator[str]:
    brought = next((event for event in history.events if event.kind in BRINGING), None)
    findings = detail_of(brought).get("findings") if brought is not None else None
    listed = (
        [one for one in findings if isinstance(one, dict) and one.get("code")] if isinstance(findings, list) else []
    )
    if not listed:
        return
    yield f"<h4>{'Why it was refused' if history.message.refused else 'Notes'}</h4><ul>"
    for one in listed:
        place = f" at <code>{_text(one['path'])}</code>" if one.get("path") else ""
        yield f"<li><code>{_text(one['code'])}</code>{place}: {_text(one.get('say'))}</li>"
    yield "</ul>"


def _deliveries(message: PageMessage | None, at: float) -> Iterator[str]:
    if message is None or not message.deliveries:
        return
    yield "<ul>"
    for delivery in message.deliveries[:DELIVERIES_MAX]:
        yield f"<li><bdi>{_name(delivery.agent)}</bdi>: {_delivery_words(delivery_row(delivery, at), at)}</li>"
    more = len(message.deliveries) - DELIVERIES_MAX
    yield f"{f'<li>{more:,} more recipients</li>' if more > 0 else ''}</ul>"


def _delivery_words(row: Facts, at: float) -> str:
    words = [_state_word(row["state"])]
    if row["taken"] is not None:
        held = (at if row["done"] is None else row["done"]) - row["taken"]
        words.append(f"taken after {lasting(row['taken'] - row['sent'])}, in hand {lasting(held)}")
    if row["attempt"] > 1:
        words.append(f"attempt {row['attempt']}")
    return ", ".join(words)


# --- text -------------------------------------------------------------------------------------------------------------


def _text(text: Any) -> str:
    """Any value on one line, escaped for HTML and for attributes."""
    return escape(shown(str(text if text is not None else "")))


def _name(name: str) -> str:
    return _text(recipient_label(name))


def _agent(name: str, role: str) -> str:
    css_class = "hub" if role == TELEX else role if role in ROLES else "other"
    return f'<bdi class="agent role-{css_class}">{_name(name)}</bdi>'


def _state_word(state: str) -> str:
    return WORDS.get(state, _text(state.capitalize()))


STYLE = """
body { max-width: 1100px; margin: 0 auto; padding: 20px 16px 40px; background: var(--bg); color: var(--ink); }
body { font: 14px/1.5 var(--sans); overflow-wrap: anywhere; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 12px; }
h1, h2, h3, h4, p, dl, dd, ol, ul { margin: 0; padding: 0; }
h1 { font-size: 20px; }
h2 { font-size: 16px; margin: 24px 0 8px; }
h3 { font-size: 14px; }
h3 span { font-weight: 400; color: var(--soft); }
h4 { font-size: 12px; margin-top: 8px; }
ol, ul { list-style: none; }
dl { display: flex; flex-wrap: wrap; gap: 2px 20px; margin: 8px 0 16px; }
dl div { display: flex; flex-wrap: wrap; gap: 0 6px; }
dt, time, footer, li > p { color: var(--soft); }
code, pre { font: 12px/1.5 var(--mono); }
pre { white-space: pre-wrap; margin: 8px 0 0; padding: 8px 10px; max-height: 30em; overflow: auto; }
pre { background: var(--sunk); border-radius: 6px; }
figure { margin: 0; overflow-x: auto; }
ol > li { margin-bottom: 10px; padding: 10px 12px; border: 1px solid var(--line); border-radius: 8px; }
ol > li { background: var(--panel); }
ol > li.is-refused { border-color: var(--state-refused); }
li > .gist { color: var(--ink); }
ul { margin-top: 6px; font-size: 12.5px; }
.agent, .state { color: var(--tone, var(--ink)); font-weight: 600; }
footer { margin-top: 24px; font-size: 12px; }
"""
