// Where was it said? Messages in which all the words stand, newest first.

import { html, nothing } from "./vendor/lit.js";
import { get } from "./hub.js";
import { View, at, go, register } from "./view.js";
import { badge, count, empty, heading, spoken, when } from "./parts.js";
import { gist, textOf } from "./gist.js";

const LIMIT = 100;
const AROUND = 60; // characters shown on either side of a word that was found
const TYPED_MS = 250;

class Search extends View {
  static properties = { ...View.properties, found: { state: true } };

  async load() {
    const text = this.place.query.text || "";
    const found = text ? await get("/search", { text, limit: LIMIT }) : null;
    if (text === (this.place.query.text || "")) this.found = found; // else more was typed meanwhile
  }

  /** Who comes here wants to type. */
  updated() {
    const words = this.querySelector("#words");
    if (!words || this.begun) return;
    this.begun = true;
    words.focus({ preventScroll: true });
  }

  #typed(event) {
    clearTimeout(this.typing);
    const text = event.target.value.trim();
    this.typing = setTimeout(() => go(at("search", [], { text }), { replace: true }), TYPED_MS);
  }

  content() {
    const text = this.place.query.text || "";
    return html`${heading("Search", "Messages that contain all these words, newest first.")}
      <form class="search" role="search" @submit=${(event) => event.preventDefault()}>
        <label class="visually-hidden" for="words">Words</label>
        <input id="words" type="search" .value=${text} @input=${this.#typed} placeholder="reset mail"
          autocomplete="off" spellcheck="false" />
      </form>
      ${this.found ? this.#results(text) : nothing}`;
  }

  #results(text) {
    const more = this.found.length === LIMIT ? ", and perhaps more" : "";
    return html`<p class="quiet" role="status">${count(this.found.length, "message")}${more}</p>
      ${
        this.found.length
          ? html`<ol class="results">${this.found.map((message) => this.#result(message, text))}</ol>`
          : empty("Not found", "No stored message contains all of these words.")
      }`;
  }

  #result(message, text) {
    return html`<li class="result">
      <p class="who">${spoken(message)} ${message.refused ? badge("refused", "bad") : nothing} ${when(message.at)}</p>
      <p><a href=${at("message", [message.seq])}>${gist(message)}</a></p>
      <p class="excerpt">${marked(textOf(message.raw), text)}</p>
    </li>`;
  }
}

/** The place where the first of the words stands, each of them marked. As text, never as markup. */
function marked(raw, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const line = raw.replace(/\s+/g, " ");
  const lower = line.toLowerCase();
  const first = Math.max(
    0,
    Math.min(...words.map((word) => lower.indexOf(word)).filter((index) => index >= 0), line.length) - AROUND,
  );
  const excerpt = line.slice(first, first + 4 * AROUND);
  const pattern = words.length
    ? new RegExp(`(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "gi")
    : /$^/;
  const parts = excerpt.split(pattern);
  const shown = parts.map((piece, index) => (index % 2 ? html`<mark>${piece}</mark>` : piece));
  return html`${first ? "… " : ""}${shown}${first + 4 * AROUND < line.length ? " …" : ""}`;
}

register({ name: "search", title: "Search", group: "record", tag: "telex-search", view: Search });
