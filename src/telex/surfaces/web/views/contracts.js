/** Contracts: terms of each plan, progress, changes since, and agents outside of them. */

import { html, nothing, repeat } from "../vendor/lit.js";
import { get, has } from "../hub.js";
import { View, stylesheet } from "../view.js";
import { ago, count, exact, iso, number } from "../format.js";
import { address } from "../router.js";
import { agentLink } from "../widgets/message.js";
import { coded, emptyNotice } from "../widgets/notice.js";

await stylesheet("views/contracts.css");

const PLANS = 10; // of one page

const agents = (names) => names.map((name, index) => html`${index ? ", " : ""}${agentLink(name)}`);
const time = (at) => html`<time datetime=${iso(at)} title=${exact(at)}>${ago(at)}</time>`;
const chips = (values, mood = "") =>
  values.map((value) => html`<code class="chip ${mood}" dir="auto">${value}</code> `);

export default class Contracts extends View {
  static properties = { ...View.properties, contracts: { state: true } };

  get cursor() {
    return Number.parseInt(this.place.query.from, 10) || 0;
  }

  async load() {
    const query = { plan: this.place.query.plan, cursor: this.cursor, limit: PLANS };
    this.contracts = await get("/page/contracts", query, has("plans", "outside"));
  }

  concerns() {
    return true;
  }

  content() {
    const { plans, total, open, outside } = this.contracts;
    const { plan } = this.place.query;
    return html`<div class="page-bar"><h1>Contracts</h1>
        ${total ? html`<span class="soft">${count(total, "plan")}, ${number(open)} open</span>` : nothing}
        ${plan ? html`<a class="button small" href=${address("contracts")}>Show all plans</a>` : nothing}</div>
      ${
        total || outside.total
          ? html`<div class="stack">${plan ? nothing : this.#outside()}
            <ul class="stack">${repeat(
              plans,
              (one) => one.id,
              (one) => this.#plan(one),
            )}</ul>${this.#pages()}</div>`
          : html`<section class="card">${emptyNotice(
              plan ? `No contract for plan ${plan}` : "No contracts yet",
              coded(
                "A `plan_contract` says which paths a plan may change. Messages outside of a contract are refused and shown here.",
              ),
            )}</section>`
      }`;
  }

  #pages() {
    const { total, cursor } = this.contracts;
    if (total <= PLANS) return nothing;
    return html`<nav class="buttons" aria-label="Pages of contracts">
      ${this.cursor ? html`<a class="button" href=${address("contracts", [], { from: Math.max(0, this.cursor - PLANS) || "" })}>Previous</a>` : nothing}
      <span class="soft">${number(this.cursor + 1)} to ${number(this.cursor + this.contracts.plans.length)} of ${number(total)}</span>
      ${cursor === null ? nothing : html`<a class="button" href=${address("contracts", [], { from: cursor })}>Next</a>`}</nav>`;
  }

  #outside() {
    const { outside } = this.contracts;
    if (!outside.total) return nothing;
    return html`<section class="card" aria-labelledby="outside">
      <div class="bar"><h2 id="outside">Outside of their contract</h2>
        <span>${outside.agents.map((one, index) => html`${index ? ", " : ""}${agentLink(one.name)} ${number(one.count)} ×`)}</span></div>
      <div class="scroll-x" tabindex="0" role="group" aria-label="Table"><table class="grid stacked">
        <thead><tr><th scope="col">Agent</th><th scope="col">Path</th><th scope="col">Why</th><th scope="col">Last</th><th scope="col" class="figure">Times</th></tr></thead>
        <tbody>${outside.rows.map(
          (row) => html`<tr><td data-label="Agent">${agentLink(row.agent)}</td>
          <td data-label="Path"><code class="path" dir="auto">${row.found || row.path}</code></td>
          <td data-label="Why">${row.code === "path-forbidden" ? "forbidden" : "not in the contract"}</td>
          <td data-label="Last"><a href=${address("message", [row.seq])}>${time(row.at)}</a></td>
          <td data-label="Times" class="figure">${number(row.count)}</td></tr>`,
        )}</tbody></table></div>
      ${outside.paths_all > outside.rows.length ? html`<p class="note soft">The latest ${outside.rows.length} of ${number(outside.paths_all)} paths.</p>` : nothing}
    </section>`;
  }

  #plan(plan) {
    const name = `plan-${plan.id}`;
    return html`<li class="card pad plan ${plan.open ? "" : "is-closed"}" aria-labelledby=${name}>
      <div class="plan-head"><h2 id=${name} dir="auto"><code class="soft">${plan.id}</code> ${plan.objective}</h2>
        ${plan.complete ? html`<span class="pill is-done"><i aria-hidden="true">✓</i>all tasks done</span>` : nothing}
        ${plan.open ? nothing : html`<span class="tag">closed by ${plan.closed.by}</span>`}</div>
      <p class="facts soft"><span>by ${agentLink(plan.by)} for ${agents(plan.to)}</span>
        <span>revision ${plan.revision}, ${time(plan.at)}</span> ${plan.phase ? html`<span>phase ${plan.phase}</span>` : nothing}
        ${plan.approved ? html`<span class="is-done-text">review passed</span>` : nothing}
        <a href=${address("message", [plan.seq])}>The contract's message</a></p>
      ${plan.asks ? html`<p class="needs-line">${count(plan.asks, "request")} to widen it ${plan.asks === 1 ? "waits" : "wait"}. <a href=${address("needs")}>Answer</a></p>` : nothing}
      <div class="plan-parts">
        ${this.#tasks(plan)}
        ${part("May write", [...plan.allowed, ...plan.granted].length ? html`${chips(plan.allowed)}${chips(plan.granted, "is-granted")}` : "no path is named")}
        ${part("Never", plan.forbidden.length ? html`${chips(plan.forbidden, "is-bad")}${plan.lifted.length ? html`<p>overridden: ${chips(plan.lifted, "is-granted")}</p>` : nothing}` : nothing)}
        ${part("Must have", plan.must_haves.length ? list(plan.must_haves) : nothing)}
        ${part("Checks", plan.checks.length ? chips(plan.checks) : nothing)}
        ${part("Depends on", plan.depends_on.length ? plan.depends_on.join(", ") : nothing)}
        ${this.#tokens(plan)}
      </div>
      ${this.#changes(plan)}
    </li>`;
  }

  #tasks({ tasks, tasks_done, tasks_all }) {
    if (!tasks_all) return nothing;
    return html`<section><h3>Tasks: ${number(tasks_done)} of ${number(tasks_all)} done</h3>
      <progress max=${tasks_all} value=${tasks_done} aria-label="${tasks_done} of ${tasks_all} tasks done"></progress>
      <ul>${tasks.map(
        ({ name, done }) =>
          html`<li class="task ${done ? "is-done" : ""}"><i aria-hidden="true">${done ? "✓" : "○"}</i><span dir="auto">${name}${
            done
              ? html` <span class="soft">by ${agentLink(done.by)}${done.commit ? html` in <code>${done.commit.slice(0, 12)}</code>` : nothing}</span>`
              : nothing
          }</span></li>`,
      )}</ul></section>`;
  }

  #tokens({ budget, spent }) {
    if (budget === null && !spent) return nothing;
    const over = budget !== null && spent > budget;
    return html`<section><h3>Tokens</h3>
      ${budget === null ? nothing : html`<progress class=${over ? "is-over" : ""} max=${budget || 1} value=${Math.min(spent, budget)} aria-label="Tokens spent"></progress>`}
      <p>${number(spent)}${budget === null ? " spent" : ` of ${number(budget)}`}${over ? html` <b class="code-word">over the budget</b>` : nothing}</p></section>`;
  }

  /** What each revision and each grant added and removed. */
  #changes({ changes, changes_all }) {
    if (!changes_all) return nothing;
    return html`<details class="changes"><summary>${count(changes_all, "change")} since the first revision</summary>
      <ol class="stack">${changes.map((change) => this.#change(change))}</ol>
      ${changes_all > changes.length ? html`<p class="soft">The latest ${changes.length}.</p>` : nothing}</details>`;
  }

  #change(change) {
    const what =
      change.kind === "revision"
        ? html`<a href=${address("message", [change.seq])}>Revision ${change.number}</a> by ${agentLink(change.by)}`
        : html`Grant by ${agentLink(change.by)} for ${agentLink(change.asked_by)}`;
    return html`<li class="change"><p>${what} <span class="soft">${time(change.at)}</span></p>
      <dl class="diff">${change.fields.map(
        ({ name, added, removed }) => html`<dt>${name}</dt><dd>
          ${removed.map((value) => html`<del dir="auto"><span aria-label="removed">−</span> ${value}</del>`)}
          ${added.map((value) => html`<ins dir="auto"><span aria-label="added">+</span> ${value}</ins>`)}</dd>`,
      )}</dl>
      ${change.fields.length ? nothing : html`<p class="soft">No term has changed.</p>`}
      ${change.conditions?.length ? html`<p class="soft">On condition: ${change.conditions.join("; ")}</p>` : nothing}</li>`;
  }
}

const part = (title, content) =>
  content === nothing ? nothing : html`<section><h3>${title}</h3><div>${content}</div></section>`;
const list = (values) => html`<ul>${values.map((value) => html`<li dir="auto">${value}</li>`)}</ul>`;
