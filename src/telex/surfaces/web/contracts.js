// What was agreed about each plan, how far has it come, and who would have gone beyond it?

import { html, nothing, repeat } from "./vendor/lit.js";
import { get, has } from "./hub.js";
import { View, at, register } from "./view.js";
import { agent, badge, count, empty, heading, when } from "./parts.js";
import { isNews, toMessage } from "./work_parts.js";

class Contracts extends View {
  static properties = { ...View.properties, plans: { state: true }, outside: { state: true } };

  async load() {
    const { plans, outside } = await get("/page/contracts", {}, has("plans", "outside"));
    this.plans = plans;
    this.outside = outside;
  }

  concerns(batch) {
    return isNews(batch);
  }

  content() {
    return html`
      ${heading("Contracts", "Allowed and forbidden paths of each plan, later grants, and progress.")}
      ${this.plans.length || this.outside.length
        ? html`<div class="stack">${this.#outside()}
            <ul class="stack">${repeat(this.plans, (plan) => plan.id, (plan) => this.#plan(plan))}</ul></div>`
        : empty("No contracts yet", "A plan_contract says which paths a plan may change. Messages outside a contract are refused and shown here.")}
    `;
  }

  #outside() {
    if (!this.outside.length) return nothing;
    const agents = [...new Set(this.outside.map((one) => one.agent))];
    return html`<section class="card" aria-labelledby="outside">
      <h2 id="outside">Outside their contract</h2>
      <p class="quiet">${count(this.outside.length, "refusal")} for paths outside a contract:
        ${agents.map((one, number) => html`${number ? ", " : ""}${agent(one)} ${this.outside.filter((row) => row.agent === one).length}×`)}.</p>
      <div class="scroll"><table class="table stacks">
        <thead><tr><th>agent</th><th>path</th><th>message</th><th>when</th></tr></thead>
        <tbody>${this.outside.slice(0, 20).map((one) => html`<tr>
          <td data-label="agent">${agent(one.agent)}</td>
          <td data-label="path"><code class="path">${one.found || one.path}</code></td>
          <td data-label="said">${badge(one.code === "path-forbidden" ? "forbidden" : "not agreed", "bad")} ${one.say} ${toMessage(one.seq, "See it")}</td>
          <td data-label="when">${when(one.at)}</td></tr>`)}</tbody></table></div>
    </section>`;
  }

  #plan(plan) {
    const done = plan.tasks.filter((task) => task.done).length;
    const name = `plan-${plan.id}`;
    return html`<li class="card plan" aria-labelledby=${name}>
      <div class="asked-head"><h2 id=${name}><span class="quiet">Plan ${plan.id}</span> ${plan.objective}</h2>
        ${plan.complete ? badge("complete", "good") : nothing} ${plan.open ? badge("open", "info") : badge(`closed by ${plan.closed.by}`, "quiet")}</div>
      <p class="row quiet"><span>by ${agent(plan.by)} for ${plan.to.map((one, number) => html`${number ? ", " : ""}${agent(one)}`)}</span>
        <span>revision ${plan.revision}, ${when(plan.at)}</span> ${plan.phase ? html`<span>phase ${plan.phase}</span>` : nothing}
        ${plan.approved ? badge("review passed", "good") : nothing} ${toMessage(plan.seq, "The contract")}</p>
      ${plan.asks.length
        ? html`<p class="notice warn">${count(plan.asks.length, "request")} to widen it ${plan.asks.length === 1 ? "waits" : "wait"}: <a href=${at("approvals")}>answer</a></p>`
        : nothing}
      <div class="plan-parts">
        <section><h3>Tasks, ${done} of ${plan.tasks.length} done</h3>
          <progress max=${plan.tasks.length || 1} value=${done} aria-label="${done} of ${plan.tasks.length} tasks done"></progress>
          <ul class="tasks">${plan.tasks.map((task) => html`<li class=${task.done ? "done" : ""}>
            <span aria-hidden="true">${task.done ? "✓" : "○"}</span> <span>${task.name}${task.done
              ? html` <span class="quiet">by ${task.done.by}${task.done.commit ? html`, <code>${task.done.commit.slice(0, 12)}</code>` : nothing}</span>`
              : nothing}</span></li>`)}</ul></section>
        ${paths("Allowed paths", plan.allowed, "good", "none")}
        ${paths("Forbidden paths", plan.forbidden, "bad", "none")}
        ${plan.grants.length ? this.#grants(plan) : nothing}
        ${this.#budget(plan)}
        ${plan.must_haves.length ? html`<section><h3>Must have</h3><ul class="plain-list">${plan.must_haves.map((one) => html`<li>${one}</li>`)}</ul></section>` : nothing}
        ${plan.checks.length ? html`<section><h3>Checks</h3><ul class="plain-list">${plan.checks.map((one) => html`<li><code>${one}</code></li>`)}</ul></section>` : nothing}
        ${plan.depends_on.length ? html`<section><h3>Depends on</h3><p>${plan.depends_on.join(", ")}</p></section>` : nothing}
      </div>
    </li>`;
  }

  #grants(plan) {
    return html`<section><h3>Grants</h3><ul class="plain-list">${plan.grants.map((grant) => html`<li>
      ${grant.patterns.map((one) => html`<code class="path-pill info">${one}</code> `)}
      ${grant.override ? badge("a gate overridden", "warn") : nothing}
      <span class="quiet">by ${agent(grant.by)} for ${agent(grant.asked_by)}, ${when(grant.at)}</span>
      ${grant.conditions.length ? html`<p class="quiet">On condition: ${grant.conditions.join("; ")}</p>` : nothing}</li>`)}</ul></section>`;
  }

  #budget(plan) {
    if (plan.budget === null && !plan.spent) return nothing;
    const spent = plan.spent.toLocaleString("en-GB");
    if (plan.budget === null) return html`<section><h3>Tokens</h3><p>${spent} spent</p></section>`;
    const over = plan.spent > plan.budget;
    return html`<section><h3>Tokens</h3>
      <progress class=${over ? "over" : ""} max=${plan.budget || 1} value=${Math.min(plan.spent, plan.budget)} aria-label="Tokens spent"></progress>
      <p>${spent} of ${plan.budget.toLocaleString("en-GB")} ${over ? badge("over the budget", "bad") : nothing}</p></section>`;
  }
}

const paths = (title, all, mood, none) => html`<section><h3>${title}</h3>
  ${all.length ? html`<p class="path-pills">${all.map((one) => html`<code class="path-pill ${mood}">${one}</code> `)}</p>` : html`<p class="quiet">${none}</p>`}</section>`;

register({ name: "contracts", title: "Contracts", group: "work", tag: "telex-contracts", view: Contracts });
