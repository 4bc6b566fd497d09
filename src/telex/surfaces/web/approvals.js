// What was asked and waits for a person? Each request, until when, who may answer, and the answer itself.

import { html, nothing, repeat } from "./vendor/lit.js";
import { get, has, post } from "./hub.js";
import { register } from "./view.js";
import { agent, badge, empty, heading, when } from "./parts.js";
import { DoingView, isMine, isNews, lines, notYours, says, toMessage, toThread } from "./work_parts.js";

const HINTS = {
  conditions: ["Conditions", "Conditions, one per line."],
  modifications: ["Paths to allow", "Paths that the agent may write from now on, one per line."],
};

const ELSEWHERE = ["request_type", "validationType", "subject", "title", "deadline", "taskId", "task_id"]; // in the head of the card

class Approvals extends DoingView {
  static properties = { ...DoingView.properties, rows: { state: true } };

  async load() {
    this.rows = await get("/page/approvals");
  }

  concerns(batch) {
    return isNews(batch);
  }

  async #answer(event, row) {
    event.preventDefault();
    const form = event.target;
    const approved = event.submitter?.value !== "reject";
    const given = (name) => (form.elements[name] ? lines(form.elements[name].value) : []);
    const answer = {
      id: row.id,
      approved,
      reason: form.elements.reason.value.trim(),
      conditions: given("conditions"),
      modifications: approved ? given("modifications") : [],
    };
    await this.doing(row.id, () => post("/approve", answer, {}, has("id")), () =>
      html`${approved ? "Approved" : "Rejected"} <code>${row.id}</code>: ${agent(row.by)} is notified${answer.modifications.length
        ? html` and may write <code>${answer.modifications.join(", ")}</code> from now on`
        : nothing}.`);
  }

  content() {
    return html`
      ${heading("Approvals", "Decisions that an agent may not take alone. The answer goes to the agent that asked, in its dialect.")}
      ${this.outcome()}
      ${this.rows.length
        ? html`<ul class="stack">${repeat(this.rows, (row) => row.id, (row) => this.#card(row))}</ul>`
        : empty("No pending approvals", "Approval requests appear here, with buttons to answer them.")}
    `;
  }

  #card(row) {
    const name = `approval-${row.seq ?? row.id}`;
    return html`<li class="card asked" aria-labelledby=${name}>
      <div class="asked-head">
        <h2 id=${name}>${row.subject || row.kind || row.type}</h2>
        ${row.overdue ? badge("overdue", "bad") : badge("waits", "warn")}
      </div>
      <p class="row quiet">${badge(row.kind || row.type, "info")} <span>from ${agent(row.by)}</span>
        <span>asked ${when(row.at)}</span> <span>due ${when(row.deadline)}</span></p>
      ${says(row.says, ELSEWHERE)}
      <p class="row quiet"><span>May answer: ${row.may_answer.map((one, number) => html`${number ? ", " : ""}${agent(one)}`)}</span>
        ${toMessage(row.seq)} ${toThread(row.correlation)}</p>
      ${isMine(row.may_answer) ? this.#form(row) : notYours("You may not answer it.")}
    </li>`;
  }

  #form(row) {
    return html`<form class="answer" @submit=${(event) => this.#answer(event, row)}>
        <label class="field"><span>Reason</span>
          <textarea name="reason" rows="2" required placeholder="Reason, included in the answer."></textarea></label>
        ${row.takes.length
          ? html`<div class="side-by-side">${row.takes.map((taken) => html`<label class="field"><span>${HINTS[taken][0]}</span>
              <textarea name=${taken} rows="2" placeholder=${HINTS[taken][1]} .value=${taken === "modifications" ? row.paths.join("\n") : ""}></textarea></label>`)}</div>`
          : nothing}
        ${this.trouble(row.id)}
        <p class="actions">
          <button class="primary" value="approve" ?disabled=${Boolean(this.busy)}>Approve</button>
          <button class="danger" value="reject" ?disabled=${Boolean(this.busy)}>Reject</button>
        </p>
      </form>`;
  }
}
register({ name: "approvals", title: "Approvals", group: "person", tag: "telex-approvals", view: Approvals, badge: (summary) => summary.approvals });
