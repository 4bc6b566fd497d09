// How does one happening look in the feed, and what became of its message since?

import { html, nothing } from "./vendor/lit.js";
import { at } from "./places.js";
import { MOODS, badge, kindBadge, spoken, when } from "./parts.js";
import { gist } from "./gist.js";
import { detailOf, sentence } from "./said.js";

const KEPT_MAX = 5000; // messages whose fate is remembered; the oldest are forgotten first

/** What became of each message, folded from the events as they are heard. */
export class Progress {
  #fates = new Map();

  hear(event) {
    const seq = event.message ?? event.seq;
    if (event.kind === "accepted") {
      const into = detailOf(event).inboxes;
      this.#fate(seq).inboxes = Array.isArray(into) ? into.length : 1;
    } else if (["acked", "dead", "expired"].includes(event.kind) && event.delivery !== null)
      this.#fate(seq)[event.kind].add(event.delivery);
    else if (event.kind === "leased") this.#fate(seq).leased.add(event.delivery);
    else if (event.kind === "retried" && this.#fates.has(seq)) this.#fates.get(seq).dead.clear();
  }

  of(seq) {
    return this.#fates.get(seq);
  }

  #fate(seq) {
    let fate = this.#fates.get(seq);
    if (!fate) {
      fate = { inboxes: 0, acked: new Set(), dead: new Set(), expired: new Set(), leased: new Set() };
      this.#fates.set(seq, fate);
      if (this.#fates.size > KEPT_MAX) this.#fates.delete(this.#fates.keys().next().value);
    }
    return fate;
  }
}

function fateBadge(fate) {
  if (!fate || !fate.inboxes) return nothing;
  const of = fate.inboxes > 1 ? ` ${fate.acked.size} of ${fate.inboxes}` : "";
  if (fate.dead.size) return badge("dead", "bad");
  if (fate.expired.size) return badge("expired", "bad");
  if (fate.acked.size >= fate.inboxes) return badge("acked", "good");
  if (fate.acked.size) return badge(`acked${of}`, "quiet");
  return badge(fate.leased.size ? "leased" : "waiting", "quiet");
}

const BRINGS = ["accepted", "refused", "imported"];

/** One row: a message as who said what to whom, anything else as a sentence. */
export function row(happening, progress) {
  return BRINGS.includes(happening.event.kind) && happening.message ? said(happening, progress) : done(happening);
}

function said({ event, message }, progress) {
  const refused = event.kind === "refused";
  const codes = refused ? counted((detailOf(event).findings || []).map((one) => one?.code).filter(Boolean)) : [];
  return html`<li class="happening said ${refused ? "refused" : ""}" data-seq=${event.seq}>
    <span class="time">${when(event.at)}</span>
    <p class="who">${spoken(message)}</p>
    <p class="in-a-line"><a class="main" href=${at("message", [message.seq])}>${gist(message) || "(nothing)"}</a></p>
    ${codes.length ? html`<p class="codes">${codes.map((code) => html`<code>${code}</code> `)}</p>` : nothing}
    <p class="fate">${event.kind === "accepted" ? fateBadge(progress.of(message.seq)) : kindBadge(event.kind)}
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
