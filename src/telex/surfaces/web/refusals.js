// Who keeps getting what wrong, and how is it fixed?

import { html, nothing, repeat } from "./vendor/lit.js";
import { get, has } from "./hub.js";
import { View, at, go, register } from "./view.js";
import { agent, badge, count, empty, finding, heading, when } from "./parts.js";
import { coded, toMessage } from "./work_parts.js";

const SPANS = { hour: ["the last hour", 3600], day: ["the last day", 86_400], week: ["the last week", 604_800], all: ["all", 0] };
const AGENTS_MAX = 10; // columns

class Refusals extends View {
  static properties = { ...View.properties, found: { state: true } };

  get span() {
    return SPANS[this.place.query.span] ? this.place.query.span : "day";
  }

  async load() {
    const [, seconds] = SPANS[this.span];
    const since = seconds ? Date.now() / 1000 - seconds : 0;
    this.found = await get("/page/refusals", { since }, has("codes", "agents"));
  }

  concerns(batch) {
    return batch.some(({ event }) => event.kind === "refused");
  }

  #to(change) {
    go(at("refusals", [], { ...this.place.query, ...change }), { replace: true });
  }

  content() {
    const { found } = this;
    const chosen = this.place.query.agent || "";
    const codes = chosen ? found.codes.filter((row) => row.agents.some((one) => one.name === chosen)) : found.codes;
    return html`
      ${heading("Refusals", "Refused messages by code and by sender, with how to fix each code.",
        html`<label class="row"><span class="quiet">Within</span>
          <select @change=${(event) => this.#to({ span: event.target.value })}>
            ${Object.entries(SPANS).map(([name, [words]]) => html`<option value=${name} ?selected=${name === this.span}>${words}</option>`)}
          </select></label>`)}
      ${found.total
        ? html`<div class="stack">${this.#matrix()}
            ${chosen ? html`<p class="row"><span>Only what ${agent(chosen)} got wrong.</span>
              <button type="button" class="small" @click=${() => this.#to({ agent: "" })}>Show all agents</button></p>` : nothing}
            <ul class="stack">${repeat(codes, (row) => row.code, (row) => this.#code(row))}</ul></div>`
        : empty("No refusals", `Every message of ${SPANS[this.span][0]} was accepted.`)}
    `;
  }

  #matrix() {
    const { codes, agents, total } = this.found;
    const shown = agents.slice(0, AGENTS_MAX);
    const most = Math.max(...codes.flatMap((row) => row.agents.map((one) => one.count)), 1);
    return html`<section class="card" aria-labelledby="matrix">
      <h2 id="matrix">${count(total, "message")} refused${this.found.full ? " at least" : ""}, ${count(agents.length, "agent")}</h2>
      <div class="scroll"><table class="table heat">
        <thead><tr><th scope="col">code</th>${shown.map((one) => html`<th scope="col" class="figure">
          <button type="button" class="plain small" @click=${() => this.#to({ agent: one.agent })} title="Only ${one.agent}">${one.agent}</button></th>`)}
          <th scope="col" class="figure">all</th></tr></thead>
        <tbody>${codes.map((row) => html`<tr>
          <th scope="row"><code class="code">${row.code}</code></th>
          ${shown.map((one) => this.#cell(one.agent, row.agents.find((entry) => entry.name === one.agent)?.count || 0, most))}
          <td class="figure" data-label="all"><strong>${row.count}</strong></td></tr>`)}</tbody>
      </table></div>
    </section>`;
  }

  #cell(name, number, most) {
    const heat = number ? Math.max(1, Math.ceil((number / most) * 4)) : 0;
    return html`<td class="figure heat-${heat}" data-label=${name}>${number || html`<span class="quiet">·</span>`}</td>`;
  }

  #code(row) {
    const name = `code-${row.code}`;
    return html`<li class="card asked" aria-labelledby=${name}>
      <div class="asked-head"><h2 id=${name}><code>${row.code}</code>${row.title ? html` <span class="title">${row.title}</span>` : nothing}</h2>
        ${badge(`${row.count}×`, "bad")}</div>
      <p class="row quiet"><span>${row.agents.map((one, number) => html`${number ? ", " : ""}${agent(one.name)} ${one.count}×`)}</span>
        <span>in ${row.types.map((one) => one.name).join(", ")}</span> <span>last ${when(row.last_at)}</span></p>
      ${row.fix
        ? html`<dl class="pairs"><dt>why</dt><dd>${coded(row.why)}</dd><dt>fix</dt><dd>${coded(row.fix)}</dd></dl>`
        : html`<p class="quiet">A rule of this team's own dialect: its text is with each message.</p>`}
      <details><summary>${row.examples.length === 1 ? "The message" : `The last ${row.examples.length}`}</summary>
        <ul class="findings">${row.examples.map((one) => html`<li class="example"><p class="row quiet">${agent(one.agent)} ${one.type || one.dialect || "text"} ${when(one.at)} ${toMessage(one.seq, "See it")}</p>
          <ul>${finding(one)}</ul></li>`)}</ul></details>
    </li>`;
  }
}
register({ name: "refusals", title: "Refusals", group: "record", tag: "telex-refusals", view: Refusals, badge: (summary) => summary.refusals });
