/** `<telex-message-panel>`: one message with its state, deliveries, findings and content; beside a view or as a view. */

import { LitElement, html, nothing, unsafeHTML } from "../vendor/lit.js";
import { Problem, get, has, hubNow, live, me } from "../hub.js";
import { address } from "../router.js";
import { ago, clock, count, exact, iso, moment, number, span } from "../format.js";
import { stylesheet } from "../view.js";
import { copyButton } from "./copy.js";
import { agentLink, BUS, shownName, statePill } from "./message.js";
import { fieldsOf } from "./fields.js";
import { coded, findings, notShown, problemNotice } from "./notice.js";
import { answerTo, isAnswerable } from "./write.js";

await stylesheet("widgets/message_panel.css");

const DELIVERIES_SHOWN = 6; // if there are at least two more
const REFRESH_MS = 500;

class MessagePanel extends LitElement {
  static properties = {
    seq: { attribute: false },
    at: { attribute: false }, // the moment shown; null: now
    page: { type: Boolean }, // it is the whole view: nothing to close, and an h1
    facts: { state: true },
    problem: { state: true },
    everybody: { state: true }, // all deliveries are shown
    bodyMax: { state: true },
  };

  /** @type {any} */
  #unhear = null;
  #timer = 0;

  constructor() {
    super();
    this.at = null;
    this.page = false;
    this.facts = null;
    this.problem = null;
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.#unhear = live.hear((update) => this.#heard(update));
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#unhear?.();
    clearTimeout(this.#timer);
  }

  #heard(update) {
    if (this.at !== null || this.#timer || (update.rows && !update.reset && !this.#concerns(update.rows))) return;
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      this.load();
    }, REFRESH_MS);
  }

  #concerns(rows) {
    return rows.some((row) => row.seq === Number(this.seq) || (row.reply_to && row.reply_to === this.facts?.row.id));
  }

  willUpdate(changed) {
    if (changed.has("seq")) {
      Object.assign(this, { everybody: false, bodyMax: undefined });
      if (this.facts && this.facts.row.seq !== Number(this.seq)) this.facts = null;
    }
    if (changed.has("seq") || changed.has("at") || changed.has("bodyMax")) this.load();
  }

  async load() {
    const { seq, at } = this;
    try {
      const query = { at, body_max: this.bodyMax };
      const facts = await get(`/page/messages/${encodeURIComponent(seq)}`, query, has("row", "deliveries"));
      if (seq !== this.seq) return;
      this.facts = facts;
      this.problem = null;
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      if (seq === this.seq) this.problem = problem;
    }
    this.dispatchEvent(new CustomEvent("telex-loaded", { bubbles: true, detail: this.facts?.row }));
  }

  // --- templates -----------------------------------------------------------------------------------------------------

  render() {
    if (this.page && [403, 404].includes(this.problem?.status) && !this.facts) return notShown(this.problem);
    return html`<aside class="panel" aria-label="Message">
      ${this.problem ? problemNotice(this.problem) : nothing}
      ${this.facts ? this.#content(this.facts) : this.problem ? this.#head(null) : html`<p class="loading" role="status">Loading …</p>`}
    </aside>`;
  }

  #content(facts) {
    const { row } = facts;
    const title = row.gist || row.kind;
    return html`${this.#head(row)}
      ${this.page ? html`<h1 tabindex="-1" dir="auto">${title}</h1>` : html`<h2 dir="auto">${title}</h2>`}
      <p class="panel-who">${agentLink(row.from, row.from_role)} <span class="arrow" aria-label="to" role="img">→</span>
        ${agentLink(row.to_label)}<span class="soft"> · <time datetime=${iso(row.at)} title=${exact(row.at)}>${moment(row.at)}</time> · ${ago(row.at, this.at ?? hubNow())}</span></p>
      ${row.conversation ? this.#conversation(row) : nothing}
      ${this.#links(facts)}
      ${this.#findings(facts)}
      ${this.#deliveries(facts)}
      ${this.#body(facts)}
      ${this.#raw(facts)}
      ${this.#details(facts)}
      ${this.#readers(facts)}
      ${this.#answer(row)}`;
  }

  #head(row) {
    const link = row ? new URL(address("message", [row.seq]), location.href).href : "";
    const close = () => this.dispatchEvent(new CustomEvent("telex-close"));
    return html`<div class="panel-head">${row ? html`${statePill(row.state)} <span class="soft">${row.kind}</span>` : nothing}
      <span class="grow"></span>
      ${row ? copyButton(link, "Copy link") : nothing}
      ${row && !this.page ? html`<a class="button ghost small" href=${address("message", [row.seq])}>Open</a>` : nothing}
      ${this.page ? nothing : html`<button type="button" class="ghost" aria-label="Close message" title="Close (Esc)" @click=${close}>✕</button>`}
    </div>`;
  }

  #conversation({ conversation, seq }) {
    const there = { message: seq };
    return html`<p>in <a href=${address("conversation", [conversation], there)} dir="auto">${conversation}</a>
      · <a href=${address("timeline", [], { conversation })}>on the timeline</a></p>`;
  }

  #links({ reply_to: asked, answered_by: answer, row }) {
    const link = (one, words) =>
      html`<p>${words} <a href=${address("message", [one.seq])} dir="auto">${one.gist || one.id}</a>
        <span class="soft">${shownName(one.from)} · ${clock(one.at)}</span></p>`;
    const unknown =
      row.reply_to && !asked ? html`<p>Answers <code>${row.reply_to}</code>, which is not stored here.</p>` : nothing;
    const about = row.from === BUS ? "About" : "Answers"; // the bus passes on and reports, it answers nothing
    return html`${asked ? link(asked, about) : unknown}${answer ? link(answer, "Answered by") : nothing}`;
  }

  #findings({ findings: all, row, check, explanations }) {
    if (!all.length) return nothing;
    const isRefused = row.state === "refused";
    const shown = isRefused ? all.filter((one) => (one.severity ?? "refusal") === "refusal") : all;
    const codes = [...new Set(shown.map((one) => one.code))].filter((code) => explanations?.[code]);
    return html`<section class="box ${isRefused ? "is-refused" : ""}">
      <h3>${isRefused ? "Refused, delivered to nobody" : "Findings"}</h3>${findings(shown)}
      ${codes.map(
        (code) => html`<details><summary>What <code>${code}</code> means</summary>
        <p>${coded(explanations[code].why)}</p><p>${coded(explanations[code].fix)}</p></details>`,
      )}
      ${
        isRefused && check?.fixed
          ? html`<details><summary>${check.certain ? "The fixed message" : "A skeleton with blanks to fill"}</summary>
              <pre tabindex="0">${check.fixed}</pre></details>`
          : nothing
      }</section>`;
  }

  #deliveries({ deliveries, deliveries_more: more, row }) {
    if (!deliveries.length)
      return html`<section><h3>Delivery</h3><p class="soft">${row.state === "refused" ? "None: it was refused." : "Stored as history."}</p></section>`;
    const isWhole = this.everybody || deliveries.length <= DELIVERIES_SHOWN + 1;
    const shown = isWhole ? deliveries : deliveries.slice(0, DELIVERIES_SHOWN);
    const rest = deliveries.length - shown.length;
    return html`<section><h3>Delivery</h3>
      <table class="steps"><thead><tr><th scope="col">Recipient</th><th scope="col">Taken</th><th scope="col">In hand</th><th scope="col">State</th></tr></thead>
        <tbody>${shown.map((one) => this.#delivery(one))}</tbody></table>
      ${rest > 0 ? html`<p><button type="button" class="small" @click=${() => (this.everybody = true)}>${count(rest, "more recipient")}</button></p>` : nothing}
      ${more && (this.everybody || rest <= 0) ? html`<p class="soft">and ${number(more)} more</p>` : nothing}
    </section>`;
  }

  #delivery({ agent, sent, taken, done, state, attempt }) {
    const until = done ?? this.at ?? hubNow();
    return html`<tr><td>${agentLink(agent)}${attempt > 1 ? html` <span class="soft">attempt ${attempt}</span>` : nothing}</td>
      <td title=${taken === null ? nothing : exact(taken)}>${taken === null ? "not yet" : `+${span(taken - sent)}`}</td>
      <td>${taken === null ? "–" : span(until - taken)}</td><td>${statePill(state)}</td></tr>`;
  }

  /** Words before fields, unless the words were only made from the fields. */
  #body(facts) {
    const { html: markup, html_of: origin, html_cut: cut, tree } = facts;
    const fields =
      tree && Object.keys(tree).length
        ? html`<section><h3>Content</h3>${fieldsOf(contentOf(tree))}</section>`
        : nothing;
    if (!markup || (origin === "told" && tree)) return fields;
    return html`<section><h3>Text</h3>${markupOf(markup)}${cut ? html`<p class="soft">The text is cut here.</p>` : nothing}</section>${fields}`;
  }

  #raw({ raw, bytes, cut }) {
    const all = () => (this.bodyMax = 4 * 1_048_576);
    return html`<details class="panel-more"><summary>As it was sent <span class="soft">${number(bytes)} bytes</span></summary>
      <pre tabindex="0" aria-label="The message as it was sent">${raw}</pre>
      <p class="buttons">${cut ? html`<button type="button" class="small" @click=${all}>Show all of it</button>` : nothing}
        <button type="button" class="small" @click=${() => this.#download()}>Download</button></p></details>`;
  }

  async #download() {
    const { row } = this.facts;
    const facts = await get(`/page/messages/${row.seq}`, { body_max: 4 * 1_048_576 }, has("raw"));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([facts.raw], { type: "text/plain;charset=utf-8" }));
    link.download = `message-${row.seq}.${facts.tree ? "json" : "txt"}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  #details({ row, message, about, answer_by: due, events }) {
    const pairs = [
      ["number", row.seq],
      ["id", html`<code>${row.id}</code> ${copyButton(row.id)}`],
      ["role", row.from_role],
      ["dialect", message.dialect],
      ["type", row.type && html`<code>${row.type}</code>`],
      ["priority", about?.priority],
      ["reply due", due && moment(due)],
    ].filter(([, value]) => value);
    return html`<details class="panel-more"><summary>Details</summary>
      <dl class="pair">${pairs.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
      ${about?.purpose ? html`<p class="soft">${about.purpose}</p>` : nothing}
      <h3>Events</h3>
      <ol class="panel-events">${events.map(
        (event) => html`<li><time datetime=${iso(event.at)} title=${exact(event.at)}>${clock(event.at)}</time>
        <code>${event.kind}</code> ${event.agent ? agentLink(event.agent) : nothing}</li>`,
      )}</ol></details>`;
  }

  #readers({ renderings }) {
    if (!renderings.length) return nothing;
    const change = (one, name) =>
      one[name]?.length ? html`<p>${name}: ${one[name].map((path) => html`<code>${path}</code> `)}</p>` : nothing;
    return html`<details class="panel-more"><summary>What its readers received</summary>
      ${renderings.map(
        (
          one,
        ) => html`<h3>${agentLink(one.agent)} <span class="soft">${[one.dialect, one.type].filter(Boolean).join(" ") || "markdown"}</span></h3>
        ${["lost", "invented", "narrowed"].map((name) => change(one, name))}<pre tabindex="0">${one.raw}</pre>`,
      )}</details>`;
  }

  /** What the composer is to answer when a person presses the key for writing. */
  get writing() {
    return this.facts && isAnswerable(this.facts.row) ? answerTo(this.facts.row) : undefined;
  }

  #answer(row) {
    if (this.at !== null || row.state === "refused" || me.viewer || !isAnswerable(row)) return nothing;
    import("./composer.js");
    return html`<telex-composer .to=${row.from} .replyTo=${row.id} .conversation=${row.conversation ?? ""}
      .placeholder="Answer ${row.from}…"></telex-composer>`;
  }
}
customElements.define("telex-message-panel", MessagePanel);

/** The one place where markup of the hub is put into the page: rendered and sanitised there. */
const markupOf = (markup) => html`<div class="prose" dir="auto">${unsafeHTML(markup)}</div>`;

/** The fields that the sender wrote, without the envelope. */
const contentOf = (tree) =>
  tree.payload && typeof tree.payload === "object" && !Array.isArray(tree.payload) && Object.keys(tree.payload).length
    ? tree.payload
    : tree;
