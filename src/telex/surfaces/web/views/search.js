/** Search: messages through a filter with operators, newest first. */

import { html, nothing, repeat } from "../vendor/lit.js";
import { get, has } from "../hub.js";
import { View, stylesheet } from "../view.js";
import { count, number, secondsOf } from "../format.js";
import { navigate, address } from "../router.js";
import { messageRow } from "../widgets/message.js";
import { emptyNotice } from "../widgets/notice.js";
import { marked } from "../widgets/marked.js";

await stylesheet("views/search.css");

const PAGE = 40;
const ROWS_MAX = 400; // then the filter has to be narrowed
const TYPING_MS = 250;
const HELP = [
  ["from:dev  to:lead  role:qa", "sender, recipient, role of the sender"],
  ["type:task  type:escalation", "kind or type of message"],
  ["state:refused", "sent, in-hand, waiting, done, retrying, dead, refused"],
  ["code:path-outside-contract", "code of a refusal"],
  ["in:1-1-T2", "conversation"],
  ["before:14:05  after:2h", "a time, a date, or so long ago"],
  ["around:14:05", "five minutes before and after"],
  ['"two words"', "a phrase"],
  ["rese*", "words that begin so"],
  ["part", "words or parts of words"],
  ["-word  -from:dev", "not these"],
  ["from:dev,qa", "one of several"],
];

export default class Search extends View {
  static properties = { ...View.properties, found: { state: true }, older: { state: true } };

  #timer = 0;

  get filter() {
    return this.place.query.q ?? "";
  }

  get heading() {
    return this.filter ? `${this.filter} · Search` : "Search";
  }

  async load() {
    const { filter } = this;
    const found = filter.trim() ? await this.#page() : null;
    if (filter === this.filter) this.found = found; // else more was typed meanwhile
  }

  #page(before) {
    const query = {
      filter: this.filter,
      limit: PAGE,
      before,
      at: secondsOf(this.place.query.at),
      utc_offset: -60 * new Date().getTimezoneOffset(),
    };
    return get("/page/feed", query, has("rows", "problems"));
  }

  async #more() {
    const { filter } = this;
    const next = await this.#page(this.found.older);
    if (filter !== this.filter) return;
    this.found = { ...next, rows: [...this.found.rows, ...next.rows] };
  }

  firstUpdated() {
    this.updateComplete.then(() => this.querySelector("#words")?.focus({ preventScroll: true }));
  }

  /** The words are in the address once typing pauses. */
  #typed(text) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#search(text), TYPING_MS);
  }

  #submit(event) {
    event.preventDefault();
    this.#search(event.target.elements.words.value);
  }

  #search(text) {
    clearTimeout(this.#timer);
    if (text !== this.filter) navigate(address("search", [], { ...this.place.query, q: text }), { replace: true });
  }

  render() {
    return html`<div class="page-bar"><h1>Search</h1></div>
      <form class="search-bar" role="search" @submit=${this.#submit}>
        <label class="hidden" for="words">Search messages</label>
        <input id="words" name="words" type="search" dir="auto" .value=${this.filter} autocomplete="off" spellcheck="false"
          placeholder="Words, or from:dev state:refused after:2h" aria-describedby="search-status" @input=${(event) => this.#typed(event.target.value)}>
        <button class="primary">Search</button></form>
      ${super.render()}`;
  }

  content() {
    return html`<p id="search-status" class="soft" role="status">${this.found ? this.#status() : nothing}</p>
      ${this.found?.problems.map((problem) => html`<p class="notice is-waiting" role="alert">${problem}</p>`)}
      ${this.found ? this.#results() : nothing} ${this.#help()}`;
  }

  #status() {
    const { rows, older } = this.found;
    return older === null ? count(rows.length, "message") : `The latest ${count(rows.length, "message")}`;
  }

  #results() {
    const { rows, older } = this.found;
    if (!rows.length && older === null) {
      return html`<section class="card">${emptyNotice("Nothing found", "No stored message matches all of these terms.")}</section>`;
    }
    return html`<section class="card results" aria-label="Messages found">
      <ol class="rows">${repeat(
        rows,
        (row) => row.seq,
        (row) => this.#result(row),
      )}</ol>
      ${
        older === null
          ? nothing
          : rows.length < ROWS_MAX
            ? html`<button type="button" class="older" @click=${() => this.#more()}>Older</button>`
            : html`<p class="note soft">More than ${number(ROWS_MAX)} messages: narrow the search, with before: for example.</p>`
      }</section>`;
  }

  #result(row) {
    const marks = (text) => marked(text, this.filter);
    return html`${messageRow(row, { marks })}${
      row.excerpt ? html`<li class="excerpt" dir="auto">${marks(row.excerpt)}</li>` : nothing
    }`;
  }

  #help() {
    return html`<details class="search-help" ?open=${!this.found}><summary>How to search</summary>
      <dl>${HELP.map(([terms, words]) => html`<dt><code>${terms}</code></dt><dd>${words}</dd>`)}</dl>
      <p class="soft">All terms must match. The newest message comes first.</p></details>`;
  }
}
