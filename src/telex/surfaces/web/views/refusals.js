/** Refusals: messages that failed validation, by code and agent, with how each code is fixed. */

import { html, nothing, repeat } from "../vendor/lit.js";
import { get, has, hubNow } from "../hub.js";
import { View, stylesheet } from "../view.js";
import { ago, count, exact, iso, number, secondsOf } from "../format.js";
import { address, refine } from "../router.js";
import { agentLink, shownName } from "../widgets/message.js";
import { coded, emptyNotice, finding } from "../widgets/notice.js";

await stylesheet("views/refusals.css");

const PERIODS = {
  hour: { words: "1 hour", long: "the last hour", seconds: 3600, filter: "after:1h" },
  day: { words: "1 day", long: "the last day", seconds: 86_400, filter: "after:1d" },
  week: { words: "1 week", long: "the last week", seconds: 604_800, filter: "after:7d" },
  all: { words: "All", long: "this hub's memory", seconds: 0, filter: "" },
};
const SHADES = 4;

export default class Refusals extends View {
  static properties = { ...View.properties, refusals: { state: true } };

  get period() {
    return PERIODS[this.place.query.span] ?? PERIODS.hour;
  }

  get agent() {
    return this.place.query.agent ?? "";
  }

  get code() {
    return this.place.query.code ?? "";
  }

  async load() {
    const until = secondsOf(this.place.query.at);
    const { seconds } = this.period;
    const since = seconds ? (until ?? hubNow()) - seconds : 0;
    const query = { since, until, agent: this.agent, code: this.code };
    this.refusals = await get("/page/refusals", query, has("matrix", "codes"));
  }

  concerns(update) {
    return !update.rows || Boolean(update.reset) || update.rows.some((row) => row.state === "refused");
  }

  /** The address of this view with other choices. */
  #choice(changes) {
    return address("refusals", [], { ...this.place.query, ...changes });
  }

  content() {
    const { total } = this.refusals;
    return html`<div class="page-bar"><h1>Refusals</h1><span class="grow"></span>${this.#periods()}</div>
      ${
        total
          ? html`<div class="stack">${this.#table()} ${this.#chosen()}
            <ul class="stack">${repeat(
              this.refusals.codes,
              (row) => row.code,
              (row) => this.#code(row),
            )}</ul>
            ${this.#more()}</div>`
          : html`<section class="card">${emptyNotice("No refusals", `No message was refused in ${this.period.long}.`)}</section>`
      }`;
  }

  #periods() {
    return html`<div class="segments" role="group" aria-label="Period">${Object.entries(PERIODS).map(
      ([name, period]) =>
        html`<button type="button" aria-pressed=${period === this.period} @click=${() => refine({ span: name })}>${period.words}</button>`,
    )}</div>`;
  }

  #sums() {
    const { total, findings, agents_all, full } = this.refusals;
    const several =
      findings > total
        ? ` A message with several codes is counted once for each: ${number(findings)} in the table.`
        : "";
    return `${full ? "At least " : ""}${count(total, "message")} of ${count(agents_all, "agent")} refused in ${this.period.long}.${several}`;
  }

  #table() {
    const { agents, matrix, agents_all, matrix_all } = this.refusals;
    const most = Math.max(1, ...matrix.flatMap((row) => row.counts));
    return html`<section class="card" aria-label="Refusals by code and agent">
      <p class="sums">${this.#sums()}</p>
      <div class="scroll-x" tabindex="0" role="region" aria-label="Table of refusals"><table class="heat">
        <thead><tr><th scope="col">Code</th>${agents.map(
          ({ name }) => html`<th scope="col" class="figure">
          <a dir="auto" href=${this.#choice({ agent: name, code: "" })} title=${name} aria-current=${name === this.agent && !this.code}>${shownName(name)}</a></th>`,
        )}
          <th scope="col" class="figure"><a href=${this.#choice({ agent: "", code: "" })}>all</a></th></tr></thead>
        <tbody>${matrix.map((row) => this.#tableRow(row, most))}</tbody></table></div>
      ${
        agents_all > agents.length || matrix_all > matrix.length
          ? html`<p class="sums soft">The ${agents.length} agents and ${matrix.length} codes with most refusals, of ${number(agents_all)} agents and ${number(matrix_all)} codes.</p>`
          : nothing
      }
    </section>`;
  }

  #tableRow({ code, count: all, counts }, most) {
    const { agents } = this.refusals;
    return html`<tr><th scope="row"><a href=${this.#choice({ code, agent: "" })}><code>${code}</code></a></th>
      ${counts.map((amount, index) => this.#cell(code, agents[index].name, amount, most))}
      <td class="figure" data-label="all"><a href=${this.#choice({ code, agent: "" })} aria-current=${code === this.code && !this.agent}
        aria-label="${count(all, "message")} refused with ${code}"><b>${number(all)}</b></a></td></tr>`;
  }

  #cell(code, name, amount, most) {
    if (!amount)
      return html`<td class="figure is-none" data-label=${shownName(name)}><span class="faint" aria-label="none">·</span></td>`;
    const shade = Math.max(1, Math.ceil((amount / most) * SHADES));
    const here = code === this.code && name === this.agent;
    return html`<td class="figure shade-${shade}" data-label=${shownName(name)}><a href=${this.#choice({ code, agent: name })} aria-current=${here}
      aria-label="${count(amount, "message")} of ${shownName(name)} refused with ${code}">${number(amount)}</a></td>`;
  }

  /** What the list below is limited to. */
  #chosen() {
    if (!this.agent && !this.code) return nothing;
    const { chosen } = this.refusals;
    return html`<p class="buttons" role="status"><span>${count(chosen, "message")}${this.agent ? html` of ${agentLink(this.agent)}` : nothing}${
      this.code ? html` with <code class="code-word">${this.code}</code>` : nothing
    }</span><a class="button small" href=${this.#choice({ agent: "", code: "" })}>Show all</a></p>`;
  }

  #code(row) {
    const name = `code-${row.code}`;
    return html`<li class="card pad stack refusal" aria-labelledby=${name}>
      <div class="refusal-head"><h2 id=${name}><code class="code-word">${row.code}</code>${row.title ? html` <span class="soft">${row.title}</span>` : nothing}</h2>
        <b>${number(row.count)} ×</b></div>
      <p class="soft">${row.agents.map(({ name: agent, count: amount }, index) => html`${index ? ", " : ""}${agentLink(agent)} ${number(amount)} ×`)}${
        row.agents_all > row.agents.length ? ` and ${number(row.agents_all - row.agents.length)} more agents` : ""
      }. Last ${html`<time datetime=${iso(row.last_at)} title=${exact(row.last_at)}>${ago(row.last_at)}</time>`}, in ${row.types.map((one) => one.name).join(", ")}.</p>
      ${
        row.fix
          ? html`<dl class="pair"><dt>why</dt><dd>${coded(row.why)}</dd><dt>fix</dt><dd>${coded(row.fix)}</dd></dl>`
          : html`<p class="soft">A rule of this team's own dialect: its text is with each message.</p>`
      }
      <details><summary>${row.examples.length === 1 ? "The message" : `The last ${row.examples.length} messages`}</summary>
        <ul class="stack">${row.examples.map((one) => this.#example(one))}</ul></details>
      <p><a href=${this.#search(row)}>All messages with ${row.code}</a></p>
    </li>`;
  }

  #search({ code }) {
    const terms = [`state:refused code:${code}`, this.agent && `from:${this.agent}`, this.period.filter];
    return address("search", [], { q: terms.filter(Boolean).join(" "), at: this.place.query.at });
  }

  #example(one) {
    return html`<li class="box"><p>${agentLink(one.agent)} <span class="soft">${one.type || one.dialect || "text"}, ${ago(one.at)}</span>
      <a class="see" href=${address("message", [one.seq])}>See message ${one.seq}</a></p><ul>${finding(one)}</ul></li>`;
  }

  #more() {
    const { codes, codes_all } = this.refusals;
    return codes_all > codes.length
      ? html`<p class="soft">The ${codes.length} most frequent of ${number(codes_all)} codes.</p>`
      : nothing;
  }
}
