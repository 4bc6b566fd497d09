// Rows of the feed: an event, and the state of its message as the hub has it.

import { html, nothing } from "./vendor/lit.js";
import { at } from "./places.js";
import { live, post } from "./hub.js";
import { MOODS, badge, kindBadge, spoken, when } from "./parts.js";
import { gist } from "./gist.js";
import { detailOf, sentence } from "./said.js";

const ASKED_MAX = 200; // messages in one question
const ASK_MS = 250;
const AGAIN_MS = 4000; // after a question that failed

/** The states of messages, from the hub. One that was not asked for yet, or has changed since, is unknown. */
export class MessageStates {
  #known = new Map();
  #wanted = new Set();
  #timer = 0;
  #changed;

  /** `changed()` is called when states have come. */
  constructor(changed) {
    this.#changed = changed;
  }

  of(seq) {
    return this.#known.get(seq);
  }

  /** Ask for these soon; all that are wanted by then in one question. */
  ask(seqs, wait = ASK_MS) {
    for (const seq of seqs) this.#wanted.add(seq);
    if (this.#wanted.size && !this.#timer) this.#timer = setTimeout(() => this.#load(), wait);
  }

  /** What was asked for is no longer wanted. */
  clear() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#wanted.clear();
    this.#known.clear();
  }

  async #load() {
    if (["lost", "shut out", "resting"].includes(live.state)) {
      this.#timer = setTimeout(() => this.#load(), AGAIN_MS);
      return;
    }
    const messages = [...this.#wanted].slice(-ASKED_MAX);
    for (const seq of messages) this.#wanted.delete(seq);
    const states = await post("/states", { messages }, {}, Array.isArray).catch(() => null);
    this.#timer = 0;
    if (states) for (const state of states) this.#known.set(state.message, state);
    else for (const seq of messages) this.#known.delete(seq);
    this.#changed();
    this.ask(states ? [] : messages, states ? 0 : AGAIN_MS);
  }
}

function stateBadge(found) {
  if (!found) return nothing;
  const { state, inboxes, acked } = found;
  const of = inboxes > 1 && state !== "acked" ? `, ${acked} of ${inboxes} acked` : "";
  return badge(`${state}${of}`, MOODS[state] || "quiet");
}

const BRINGS = ["accepted", "refused", "imported"];

/** One row: a message as who said what to whom, anything else as a sentence. */
export function row(happening, states) {
  return BRINGS.includes(happening.event.kind) && happening.message ? said(happening, states) : done(happening);
}

function said({ event, message }, states) {
  const refused = event.kind === "refused";
  const codes = refused ? counted((detailOf(event).findings || []).map((one) => one?.code).filter(Boolean)) : [];
  return html`<li class="happening said ${refused ? "refused" : ""}" data-seq=${event.seq}>
    <span class="time">${when(event.at)}</span>
    <p class="who">${spoken(message)}</p>
    <p class="in-a-line"><a class="main" href=${at("message", [message.seq])}>${gist(message) || "(nothing)"}</a></p>
    ${codes.length ? html`<p class="codes">${codes.map((code) => html`<code>${code}</code> `)}</p>` : nothing}
    <p class="fate">${event.kind === "accepted" ? stateBadge(states.of(message.seq)) : kindBadge(event.kind)}
      ${message.correlation ? threadLink(message.correlation) : nothing}</p>
  </li>`;
}

/** Each once, and how often where it was more. */
function counted(codes) {
  const often = new Map();
  for (const code of codes) often.set(code, (often.get(code) || 0) + 1);
  return [...often].map(([code, times]) => (times > 1 ? `${code} ${times}×` : code));
}

const threadLink = (correlation) =>
  html`<a class="thread-link" href=${at("thread", [correlation])} title="The whole conversation">${correlation}</a>`;

const named = (message) => message.type || gist(message).slice(0, 60) || `message ${message.seq}`;

function done({ event, message }) {
  return html`<li class="happening done" data-seq=${event.seq}>
    <span class="time">${when(event.at)}</span>
    <p class="who">${sentence(event)}${
      message
        ? html` <span class="quiet">·</span> <a class="main" href=${at("message", [message.seq])}>${named(message)}</a>`
        : nothing
    }</p>
    <p class="fate">${message || ["warn", "bad"].includes(MOODS[event.kind]) ? kindBadge(event.kind) : nothing}</p>
  </li>`;
}
