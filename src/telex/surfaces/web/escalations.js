// What was handed up, with whom is it now, and what does a person say to it?

import { html, nothing, repeat } from "./vendor/lit.js";
import { get, has, isReused, me, newId, post } from "./hub.js";
import { register } from "./view.js";
import { agent, badge, empty, heading, when } from "./parts.js";
import { DoingView, isMine, isNews, notYours, says, toMessage, toThread } from "./work_parts.js";

class Escalations extends DoingView {
  static properties = { ...DoingView.properties, rows: { state: true } };

  #ids = new Map(); // by escalation: the id of the answer, until it is known to be stored

  async load() {
    this.rows = await get("/page/escalations");
  }

  concerns(batch) {
    return isNews(batch);
  }

  async #answer(event, row) {
    event.preventDefault();
    const form = event.target;
    const to = row.answer_to || form.elements.to.value.trim();
    const id = this.#ids.get(row.id) || newId();
    this.#ids.set(row.id, id);
    const query = { sender: me.operator ? "human" : me.agent, to, id, reply_to: row.step };
    const send = () => post("/send", form.elements.words.value, query, has("id"));
    const done = await this.doing(row.id, send, () => html`Answered <code>${row.id}</code>: ${agent(to)} is notified.`);
    if (done || isReused(this.wrong[row.id])) this.#ids.delete(row.id);
  }

  content() {
    return html`
      ${heading("Escalations", "Escalations go from role to role until they are answered; the last step is a person.")}
      ${this.outcome()}
      ${this.rows.length
        ? html`<ul class="stack">${repeat(this.rows, (row) => row.id, (row) => this.#card(row))}</ul>`
        : empty("No open escalations", "Escalations appear here, with every role they have passed.")}
    `;
  }

  #card(row) {
    const name = `escalation-${row.id}`;
    const here = row.with === "human";
    return html`<li class="card asked" aria-labelledby=${name}>
      <div class="asked-head">
        <h2 id=${name}>${row.reason || row.type}</h2>
        ${here ? badge("waits for a person", "bad") : badge(`with ${row.with}`, "warn")}
      </div>
      <p class="row quiet">${row.severity ? badge(row.severity, "warn") : nothing} <span>from ${agent(row.by)}</span>
        <span>raised ${when(row.at)}</span> ${row.climbs_at ? html`<span>next step ${when(row.climbs_at)}</span>` : nothing}</p>
      <ol class="climb" aria-label="Steps so far">
        ${row.rungs.map((rung) => html`<li><span class="climb-level">${rung.level || rung.to}</span> ${agent(rung.to)} ${when(rung.at)}</li>`)}
      </ol>
      ${says(row.says, ["type", "from", "to", "reason", "issue", "severity"])}
      <p class="row quiet">${toMessage(row.seq)} ${toThread(row.correlation)}</p>
      ${isMine([row.with]) ? this.#form(row) : notYours(html`It is with ${agent(row.with)}.`)}
    </li>`;
  }

  #form(row) {
    return html`<form class="answer" @submit=${(event) => this.#answer(event, row)}>
        ${row.answer_to
          ? nothing
          : html`<label class="field"><span>To</span><input name="to" required placeholder="an agent's name" /></label>`}
        <label class="field"><span>Your answer${row.answer_to ? html` to ${row.answer_to}` : nothing}</span>
          <textarea name="words" rows="3" required placeholder="Your decision."></textarea></label>
        ${this.trouble(row.id)}
        <p class="actions"><button class="primary" ?disabled=${Boolean(this.busy)}>Answer</button></p>
      </form>`;
  }
}
register({ name: "escalations", title: "Escalations", group: "person", tag: "telex-escalations", view: Escalations, badge: (summary) => summary.escalations });
