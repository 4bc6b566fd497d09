// What is the page made of? The small things that every view shows in the same way. Text is always a text binding.

import { html, nothing } from "./vendor/lit.js";
import { at } from "./places.js";
import "./elements.js";

/** A moment, as "3 min ago", exact on pointing at it; it keeps itself up to date. `seconds`: since 1970. */
export const when = (seconds) =>
  seconds ? html`<telex-when .at=${seconds}></telex-when>` : html`<span class="quiet">never</span>`;

/** Something to copy: a command, an id. */
export const copyable = (text, label = "Copy") => html`<telex-copy .text=${text} .label=${label}></telex-copy>`;

/** A word in a pill. `mood`: good, warn, bad, info or quiet. */
export const badge = (text, mood = "quiet") => html`<span class="badge ${mood}">${text}</span>`;

const TONES = 12;

/** A stable tone for a name, as a class: colours say who at a glance, never alone. */
export function tone(name) {
  let sum = 24; // this and the factor tell the usual names of a team apart
  for (const character of String(name)) sum = (sum * 137 + character.codePointAt(0)) >>> 0;
  return `tone-${sum % TONES}`;
}

/** An agent's name, with its tone; leads to that agent. */
export function agent(name) {
  if (!name) return nothing;
  if (name === "telex") return html`<span class="agent group" title="The bus itself">telex</span>`;
  const addressed = name === "*" || name.includes(":");
  return addressed
    ? html`<span class="agent group">${name === "*" ? "everyone" : name}</span>`
    : html`<a class="agent ${tone(name)}" href=${at("team", [name])}>${name}</a>`;
}

/** Who says what to whom: the names and the type. */
export const spoken = (message) => html`${agent(message.sender)}
  <span class="arrow" aria-label="to" role="img">→</span>
  ${agent(message.to)} <span class="type">${message.type || message.dialect || "unreadable"}</span>`;

/** The moods of the kinds of events and of states, so that red means the same everywhere. */
export const MOODS = {
  accepted: "good",
  acked: "good",
  answered: "good",
  refused: "bad",
  dead: "bad",
  nacked: "warn",
  "lease-expired": "warn",
  "reply-overdue": "warn",
  "request-repeated": "warn",
  expired: "bad",
  forced: "warn",
  returned: "warn",
  "returned-to-sender": "warn",
  withdrawn: "warn",
  dropped: "warn",
  retried: "info",
  joined: "info",
  translated: "info",
  imported: "info",
  here: "good",
  silent: "warn",
};
export const kindBadge = (kind) => badge(kind, MOODS[kind] || "quiet");

const GRAVE = { refusal: "bad", warning: "warn", note: "info" };

/** One finding: what is wrong, where, and what to do. */
export const finding = (one) => html`<li class="finding ${GRAVE[one.severity] || "bad"}">
  <p class="finding-head"><code class="code">${one.code}</code> <code class="path">${one.path}</code></p>
  <p>${one.say}</p>
  ${
    one.expected || one.found || one.nearest
      ? html`<dl class="pairs">
        ${one.expected ? html`<dt>expected</dt><dd>${one.expected}</dd>` : nothing}
        ${one.found ? html`<dt>found</dt><dd>${one.found}</dd>` : nothing}
        ${one.nearest ? html`<dt>nearest</dt><dd>${one.nearest}</dd>` : nothing}
      </dl>`
      : nothing
  }
</li>`;

const ORDER = ["refusal", "warning", "note"];

const byGravity = (one, other) => ORDER.indexOf(one.severity) - ORDER.indexOf(other.severity);

/** All of them, the gravest first. */
export const findings = (all) =>
  all && all.length ? html`<ul class="findings">${[...all].sort(byGravity).map(finding)}</ul>` : nothing;

/** What the hub refused, or that it is away. */
export const problemNotice = (
  problem,
) => html`<div class="notice ${problem.status === 0 ? "warn" : "bad"}" role="alert">
  <p><strong>${problem.message}</strong></p>
  ${problem.code ? html`<p class="quiet"><code>${problem.code}</code></p>` : nothing}
  ${findings(problem.findings)}
</div>`;

/** Nothing there, said in a friendly way: what would be here, and how it comes about. */
export const empty = (title, text, more = nothing) => html`<div class="empty">
  <h2>${title}</h2>
  <p>${text}</p>
  ${more}
</div>`;

/** The head of a view. */
export const heading = (title, lead = nothing, actions = nothing) => html`<header class="view-head">
  <div><h1 tabindex="-1">${title}</h1>${lead ? html`<p class="lead">${lead}</p>` : nothing}</div>
  ${actions ? html`<div class="actions">${actions}</div>` : nothing}
</header>`;

/** 1 message, 2 messages. */
export const count = (number, one, many = `${one}s`) =>
  `${number.toLocaleString("en-GB")} ${number === 1 ? one : many}`;
