// What could not be delivered, why, and what is to become of it?

import { html, nothing, repeat } from "./vendor/lit.js";
import { get, me, post } from "./hub.js";
import { register } from "./view.js";
import { agent, badge, count, empty, heading, kindBadge, when } from "./parts.js";
import { DoingView, notYours, toMessage } from "./work_parts.js";

const CONCERNED = ["dead", "expired", "retried", "dropped", "withdrawn"];

class DeadLetters extends DoingView {
  static properties = { ...DoingView.properties, rows: { state: true } };

  async load() {
    this.rows = await get("/page/dead");
  }

  concerns(batch) {
    return batch.some(({ event }) => CONCERNED.includes(event.kind));
  }

  #retry(row) {
    const { id } = row.message;
    return this.doing(this.#key(row), () => post("/dead/retry", { id }, {}, Number.isInteger), (done) =>
      html`<code>${id}</code> is retried for ${agent(row.delivery.inbox)} (${count(Number(done) || 1, "delivery", "deliveries")}).`);
  }

  #drop(event, row) {
    event.preventDefault();
    const { id } = row.message;
    const reason = event.target.elements.reason.value.trim();
    const drop = () => post("/dead/drop", { id, reason }, {}, Number.isInteger);
    return this.doing(this.#key(row), drop, () => html`<code>${id}</code> was dropped.`);
  }

  #key(row) {
    return `${row.delivery.seq}`;
  }

  content() {
    return html`
      ${heading("Dead letters", "Messages whose attempts are used up. The sender was notified; a person retries or drops each.")}
      ${this.outcome()}
      ${this.rows.length
        ? html`<ul class="stack">${repeat(this.rows, (row) => row.delivery.seq, (row) => this.#card(row))}</ul>`
        : empty("No dead letters", "A message whose attempts are used up appears here, to be retried or dropped.")}
    `;
  }

  #card(row) {
    const { delivery, message } = row;
    const name = `dead-${delivery.seq}`;
    return html`<li class="card asked" aria-labelledby=${name}>
      <div class="asked-head"><h2 id=${name}>${message.type || "text"} for ${agent(delivery.inbox)}</h2> ${badge(delivery.state, "bad")}</div>
      <p class="row quiet"><span>from ${agent(message.sender)}</span> <span>sent ${when(message.at)}</span>
        <span>${count(delivery.attempts, "attempt")}</span> <code>${message.id}</code> ${toMessage(message.seq)}</p>
      <p class="gist">${row.gist}</p>
      ${row.reasons.length
        ? html`<ol class="reasons">${row.reasons.map((one) => html`<li>${when(one.at)} ${kindBadge(one.kind)} ${one.agent ? agent(one.agent) : nothing} ${one.reason || nothing}</li>`)}</ol>`
        : nothing}
      ${this.trouble(this.#key(row))}
      ${me.operator ? this.#actions(row) : notYours("A person retries or drops it.")}
    </li>`;
  }

  #actions(row) {
    return html`<div class="actions">
        <button type="button" class="primary" @click=${() => this.#retry(row)} ?disabled=${Boolean(this.busy)}>Retry</button>
        <details class="drop"><summary>Drop it …</summary>
          <form class="row" @submit=${(event) => this.#drop(event, row)}>
            <label class="field"><span>Reason</span><input name="reason" required placeholder="Reason for dropping it." /></label>
            <button class="danger" ?disabled=${Boolean(this.busy)}>Drop</button>
          </form>
        </details>
      </div>`;
  }
}
register({ name: "dead", title: "Dead letters", group: "person", tag: "telex-dead", view: DeadLetters, badge: (summary) => summary.dead });
