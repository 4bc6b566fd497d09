// Is the team stopping? Who has agreed, who will not, who says nothing; and how it is asked to.

import { html, nothing } from "./vendor/lit.js";
import { get, has, me, post } from "./hub.js";
import { register } from "./view.js";
import { agent, badge, count, findings, heading, when } from "./parts.js";
import { DoingView, isNews, notYours } from "./work_parts.js";

const REASONS = { phase_complete: "the phase is complete", plan_complete: "the plan is complete", user_abort: "a person ends it" };
const MOODS = { approved: "good", refused: "bad", silent: "warn", "not asked": "quiet", forced: "warn", left: "quiet", "not seen": "quiet" };
const CONFIRMED = "shut down";
const ASKED_ONCE_SECONDS = 86_400; // whoever was asked within so long is not asked again

class Shutdown extends DoingView {
  static properties = { ...DoingView.properties, state: { state: true }, typed: { state: true } };

  constructor() {
    super();
    this.typed = "";
  }

  async load() {
    this.state = await get("/page/shutdown", {}, has("agents", "calls", "here"));
  }

  concerns(batch) {
    return isNews(batch);
  }

  #ask(event) {
    event.preventDefault();
    const { agent: asker, reason, force } = event.target.elements;
    const asked = { agent: asker.value, reason: reason.value, force: force?.checked || false, wait: false, deadline: ASKED_ONCE_SECONDS };
    return this.doing("ask", () => this.#asked(asked), (report) => this.#words(report)).then((done) => done && (this.typed = ""));
  }

  async #asked(asked) {
    const report = await post("/shut_down", asked, {}, has("agents"));
    this.refused = report.findings || [];
    return report;
  }

  #words(report) {
    if (this.refused.length) return nothing;
    if (report.dissolved) return "The team is dissolved: every agent has stopped.";
    return html`${count(report.agents.length, "agent")} asked to shut down. Their answers appear below as they come.`;
  }

  content() {
    const { state } = this;
    return html`
      ${heading("Shutdown", "A team is dissolved when every agent has agreed to stop. Messages that wait for a stopped agent are returned to their senders.")}
      ${this.outcome()}
      <div class="stack">
        ${state.agents.length ? this.#standing() : nothing}
        ${this.#asking()}
        ${state.calls.length ? this.#calls() : nothing}
      </div>`;
  }

  #standing() {
    const { agents, under_way } = this.state;
    const waits = agents.filter((one) => one.state === "silent").length;
    return html`<section class="card" aria-labelledby="standing">
      <div class="asked-head"><h2 id="standing">${under_way ? "A shutdown is under way" : "Every agent that was asked has stopped"}</h2>
        ${under_way ? badge(waits ? `${waits} have not answered` : "an agent cannot stop yet", "warn") : badge("settled", "good")}</div>
      <div class="scroll"><table class="table stacks">
        <thead><tr><th>agent</th><th>answer</th><th>status</th><th>asked</th><th>answered</th><th class="figure">waits for it</th><th>pending work</th></tr></thead>
        <tbody>${agents.map((one) => html`<tr>
          <td data-label="agent">${agent(one.name)} <span class="quiet">${one.role === one.name ? "" : one.role}</span></td>
          <td data-label="answer" title=${one.says}>${badge(one.state, MOODS[one.state] || "quiet")}</td>
          <td data-label="status">${one.status || "·"}</td>
          <td data-label="asked">${one.asked_at ? when(one.asked_at) : "·"}</td>
          <td data-label="answered">${one.answered_at ? when(one.answered_at) : "·"}</td>
          <td data-label="waits for it" class="figure">${one.waiting}</td>
          <td data-label="pending work">${one.pending || "·"}</td></tr>`)}</tbody></table></div>
    </section>`;
  }

  #asking() {
    if (!me.operator) return notYours("A person asks a team to shut down.");
    return this.state.here.some((one) => one.name !== "human") ? this.#form() : html`<p class="notice">No agent is here to be asked.</p>`;
  }

  #form() {
    const { here, under_way } = this.state;
    const askers = [...here].filter((one) => one.name !== "human").sort((one, other) => (other.role === "lead") - (one.role === "lead"));
    return html`<section class="card" aria-labelledby="ask">
      <h2 id="ask">${under_way ? "Ask again, or force it" : "Ask the team to shut down"}</h2>
      <form class="answer" @submit=${this.#ask}>
        <div class="row">
          <label class="field"><span>Acting as</span>
            <select name="agent">${askers.map((one) => html`<option value=${one.name}>${one.name}${one.role === one.name ? "" : ` (${one.role})`}</option>`)}</select></label>
          <label class="field"><span>Because</span>
            <select name="reason">${Object.entries(REASONS).map(([value, words]) => html`<option value=${value}>${words}</option>`)}</select></label>
        </div>
        ${under_way
          ? html`<label class="check"><input type="checkbox" name="force" /> <span>Also stop agents that refuse or do not answer</span></label>`
          : nothing}
        <label class="field"><span>Type <q>${CONFIRMED}</q> to go on</span>
          <input name="confirm" autocomplete="off" .value=${this.typed} @input=${(event) => (this.typed = event.target.value)} /></label>
        ${this.refused?.length ? html`<div class="notice bad" role="alert"><p><strong>The team was not asked.</strong></p>${findings(this.refused)}</div>` : nothing}
        ${this.trouble("ask")}
        <p class="actions"><button class="danger" ?disabled=${this.typed.trim().toLowerCase() !== CONFIRMED || Boolean(this.busy)}>Ask all agents to shut down</button></p>
      </form>
    </section>`;
  }

  #calls() {
    return html`<section class="card" aria-labelledby="calls"><h2 id="calls">Earlier requests</h2>
      <ul class="plain-list">${this.state.calls.map((call) => html`<li>${when(call.at)} ${agent(call.by)} asked ${count(call.asked.length, "inbox", "inboxes")}
        (${call.reason.replaceAll("_", " ")}), ${count(call.answers, "answer")} <code class="quiet">${call.id}</code></li>`)}</ul></section>`;
  }
}
register({ name: "shutdown", title: "Shutdown", group: "work", tag: "telex-shutdown", view: Shutdown });
