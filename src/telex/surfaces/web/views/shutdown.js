/** Shutdown: ask all agents to stop, and their answers. */

import { html, nothing } from "../vendor/lit.js";
import { get, has, me, post } from "../hub.js";
import { View, stylesheet } from "../view.js";
import { ago, count, exact, iso, number } from "../format.js";
import { agentLink } from "../widgets/message.js";
import { emptyNotice, findings } from "../widgets/notice.js";
import { Action, notOffered } from "../widgets/action.js";

await stylesheet("views/shutdown.css");

const REASONS = {
  user_abort: "a person ends it",
  phase_complete: "the phase is complete",
  plan_complete: "the plan is complete",
};
const ANSWERS = {
  approved: { word: "stopped", mark: "✓", state: "done" },
  refused: { word: "cannot stop yet", mark: "✕", state: "refused" },
  silent: { word: "no answer yet", mark: "◌", state: "waiting" },
  "not asked": { word: "not asked", mark: "○", state: "sent" },
  forced: { word: "stopped by force", mark: "✕", state: "dead" },
  left: { word: "left", mark: "–", state: "sent" },
  "not seen": { word: "never seen", mark: "–", state: "sent" },
};
const CONFIRMATION = "stop";
const REPEAT_SECONDS = 86_400; // an agent that was asked within so long is not asked again

const time = (at) => (at ? html`<time datetime=${iso(at)} title=${exact(at)}>${ago(at)}</time>` : "–");

export default class Shutdown extends View {
  static properties = {
    ...View.properties,
    shutdown: { state: true },
    confirmation: { state: true },
    refusals: { state: true },
  };

  #action = new Action(this);

  constructor() {
    super();
    this.confirmation = "";
    this.refusals = []; // findings of a request that the hub refused
  }

  async load() {
    this.shutdown = await get("/page/shutdown", {}, has("agents", "askers", "counts"));
  }

  concerns() {
    return true;
  }

  async #stop(event) {
    event.preventDefault();
    if (this.confirmation.trim().toLowerCase() !== CONFIRMATION) return;
    const { asker, reason, force } = event.target.elements;
    const request = {
      agent: asker.value,
      reason: reason.value,
      force: force?.checked ?? false,
      wait: false,
      deadline: REPEAT_SECONDS,
    };
    const done = await this.#action.run(
      () => post("/shut_down", request, {}, has("agents")),
      (report) => this.#outcome(report),
    );
    if (done) this.confirmation = "";
    this.refresh();
  }

  #outcome(report) {
    this.refusals = report.findings ?? [];
    if (this.refusals.length) return nothing;
    if (report.dissolved) return "The team is stopped: every agent has ended its work.";
    return `${count(report.agents.length, "agent")} asked to stop. Their answers appear below.`;
  }

  content() {
    const { calls, agents, askers } = this.shutdown;
    return html`<div class="page-bar"><h1>Stop the team</h1></div>
      ${this.#action.notice()}
      <div class="stack">
        ${me.operator ? (askers.length ? this.#form() : html`<section class="card">${emptyNotice("No agent is here", "There is nobody to stop.")}</section>`) : html`<section class="card pad">${notOffered("A person stops a team.")}</section>`}
        ${agents.length ? this.#answers() : nothing}
        ${calls.length ? this.#calls() : nothing}
      </div>`;
  }

  #form() {
    const { askers, would_stop, under_way } = this.shutdown;
    const isConfirmed = this.confirmation.trim().toLowerCase() === CONFIRMATION;
    return html`<section class="card pad" aria-labelledby="stop-title">
      <h2 id="stop-title">${under_way ? "Ask again" : `Ask ${count(would_stop, "agent")} to stop`}</h2>
      <p class="soft">Each agent finishes or reports what is open. When all have agreed, the team is stopped, and messages that wait for them return to their senders.</p>
      <form class="stop" @submit=${this.#stop}>
        <label class="field" for="stop-confirm">Type <b>${CONFIRMATION}</b> to confirm</label>
        <div class="buttons"><input id="stop-confirm" name="confirm" autocomplete="off" autocapitalize="off" spellcheck="false" size="12"
          .value=${this.confirmation} @input=${(event) => (this.confirmation = event.target.value)}>
          <button class="bad" ?disabled=${!isConfirmed || this.#action.isBusy}>Stop the team</button></div>
        ${under_way ? html`<label class="check"><input type="checkbox" name="force"> Also end agents that refuse or do not answer</label>` : nothing}
        <details><summary>In whose name, and why</summary><div class="buttons">
          <label class="field">Asked by <select name="asker">${askers.map((one) => html`<option value=${one.name}>${one.name}${one.role === one.name ? "" : ` (${one.role})`}</option>`)}</select></label>
          <label class="field">Because <select name="reason">${Object.entries(REASONS).map(([value, words]) => html`<option value=${value}>${words}</option>`)}</select></label>
        </div></details>
        ${this.refusals.length ? html`<div class="notice is-refused" role="alert"><p><strong>The team was not asked.</strong></p>${findings(this.refusals)}</div>` : nothing}
      </form></section>`;
  }

  #answers() {
    const { agents, agents_all, counts, under_way } = this.shutdown;
    return html`<section class="card" aria-labelledby="answers">
      <div class="bar"><h2 id="answers">${under_way ? "Shutdown under way" : "All that were asked have stopped"}</h2>
        ${Object.entries(counts).map(([state, amount]) => html`<span class="soft">${number(amount)} ${ANSWERS[state]?.word ?? state}</span>`)}</div>
      <div class="scroll-x" tabindex="0" role="group" aria-label="Table"><table class="grid stacked">
        <thead><tr><th scope="col">Agent</th><th scope="col">Answer</th><th scope="col">Asked</th><th scope="col">Answered</th><th scope="col" class="figure">In its inbox</th><th scope="col">Still open</th></tr></thead>
        <tbody>${agents.map((one) => this.#answer(one))}</tbody></table></div>
      ${agents_all > agents.length ? html`<p class="note soft">${number(agents.length)} of ${number(agents_all)} agents; those without an answer first.</p>` : nothing}
    </section>`;
  }

  #answer(one) {
    const { word, mark, state } = ANSWERS[one.state] ?? { word: one.state, mark: "–", state: "sent" };
    return html`<tr><td data-label="Agent" class="name">${agentLink(one.name, one.role)}</td>
      <td data-label="Answer" title=${one.says}><span class="pill is-${state}"><i aria-hidden="true">${mark}</i>${word}</span></td>
      <td data-label="Asked">${time(one.asked_at)}</td><td data-label="Answered">${time(one.answered_at)}</td>
      <td data-label="In its inbox" class="figure">${number(one.waiting)}</td>
      <td data-label="Still open" class="pending" dir="auto">${one.pending || "–"}</td></tr>`;
  }

  #calls() {
    return html`<section class="card pad" aria-labelledby="calls"><h2 id="calls">Earlier requests</h2>
      <ul class="calls">${this.shutdown.calls.map(
        (call) => html`<li>${time(call.at)} ${agentLink(call.by)} asked ${count(call.asked, "inbox", "inboxes")}
          (${REASONS[call.reason] ?? call.reason.replaceAll("_", " ")}), ${count(call.answers, "answer")}</li>`,
      )}</ul></section>`;
  }
}
