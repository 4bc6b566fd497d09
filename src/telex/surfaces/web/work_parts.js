// What do the views of the work have in common? A deed that may be refused, lists typed in lines, and what a message says.

import { html, nothing } from "./vendor/lit.js";
import { Problem, me } from "./hub.js";
import { View, at } from "./view.js";
import { agent, findings } from "./parts.js";

/** A view on which a person does things. What came of each is kept under a key of its own: a card's id, say. */
export class DoingView extends View {
  static properties = { ...View.properties, busy: { state: true }, told: { state: true }, wrong: { state: true } };

  constructor() {
    super();
    this.busy = ""; // what is being done now
    this.told = null; // what was done last
    this.wrong = {}; // by key: the problem that stopped it
  }

  /** Do it, once: `deed` asks the hub, `words` makes a sentence of its answer. True when it was done. */
  async doing(key, deed, words) {
    if (this.busy) return false;
    this.busy = key;
    this.wrong = { ...this.wrong, [key]: null };
    try {
      const answer = await deed();
      this.told = words(answer);
      this.refresh();
      return true;
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      this.wrong = { ...this.wrong, [key]: problem };
      return false;
    } finally {
      this.busy = "";
    }
  }

  /** What was done last, said aloud. It stands there even when empty, so that what comes into it is announced. */
  outcome() {
    return html`<div role="status" class=${this.told ? "notice good" : "visually-hidden"}>${this.told || nothing}</div>`;
  }

  trouble(key) {
    const problem = this.wrong[key];
    return problem
      ? html`<div class="notice bad" role="alert"><p><strong>${problem.message}</strong></p>${findings(problem.findings)}</div>`
      : nothing;
  }
}

/** Stands in the place of what is not offered to whoever is looking. */
export const notYours = (words) => html`<p class="quiet not-yours">${words} This page was opened with a token of ${agent(me.agent)}.</p>`;

/** Is it meant for whoever is looking? A person may do everything. */
export const isMine = (names) => me.operator || names.some((name) => [me.agent, me.role, `role:${me.role}`].includes(name));

/** What was typed, one thing on each line. */
export const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

const LONG = 400;

/** A value of a message as text: a word as it is, anything else as JSON, not all of a long one. */
export function told(value) {
  const text = Array.isArray(value) && value.every((one) => typeof one !== "object")
    ? value.join("\n")
    : typeof value === "string" ? value : JSON.stringify(value, null, 1);
  return text.length > LONG ? `${text.slice(0, LONG)} …` : text;
}

/** What a message says in its own fields, but for those that are shown elsewhere. */
export function says(tree, but = []) {
  if (!tree || typeof tree !== "object" || Array.isArray(tree)) return nothing;
  const shown = Object.entries(tree).filter(([name, value]) => !but.includes(name) && value !== null && value !== "");
  return shown.length
    ? html`<dl class="pairs">${shown.map(([name, value]) => html`<dt>${spaced(name)}</dt><dd>${told(value)}</dd>`)}</dl>`
    : nothing;
}

/** `task_id` and `taskId` as people write it: task id. */
export const spaced = (name) => name.replaceAll("_", " ").replace(/([a-z])([A-Z])/g, (_, before, after) => `${before} ${after.toLowerCase()}`);

/** A sentence of ours in which `this` is code. */
export const coded = (text) => text.split("`").map((piece, number) => (number % 2 ? html`<code>${piece}</code>` : piece));

/** Where the message itself is, with its whole story. */
export const toMessage = (seq, words = "The whole message") => (seq ? html`<a href=${at("message", [String(seq)])}>${words}</a>` : nothing);

export const toThread = (correlation) =>
  correlation ? html`<a href=${at("thread", [correlation])}>Its conversation</a>` : nothing;

/** Did something happen to a message, or to the team? Then the matters of the work may stand differently. */
export const isNews = (batch) => batch.some(({ event }) => !["leased", "read", "extended", "translated"].includes(event.kind));
