// How much is being said, and how fast is it dealt with? Two charts over the same time.

import { createRef, html, nothing, ref } from "./vendor/lit.js";
import { get, has } from "./hub.js";
import { View, at, go, register } from "./view.js";
import { heading } from "./parts.js";
import { Chart } from "./chart.js";

const SPANS = { quarter: ["the last 15 minutes", 900, 10], hour: ["the last hour", 3600, 60], six: ["the last 6 hours", 21_600, 300], day: ["the last day", 86_400, 900] };
const KINDS = [
  ["accepted", "good", "messages accepted"],
  ["acked", "info", "deliveries acked"],
  ["refused", "bad", "messages refused"],
  ["dead", "warn", "dead letters"],
];
const QUANTILES = [["p50", "info", "median"], ["p99", "warn", "99th percentile"]];

class Rates extends View {
  static properties = { ...View.properties, found: { state: true } };

  #rates = createRef();
  #latency = createRef();
  #charts = [];

  get span() {
    return SPANS[this.place.query.span] ? this.place.query.span : "hour";
  }

  async load() {
    const [, seconds, step] = SPANS[this.span];
    this.found = await get("/page/rates", { since: Date.now() / 1000 - seconds, step }, has("times", "p50"));
  }

  concerns(batch) {
    return batch.some(({ event }) => KINDS.some(([kind]) => kind === event.kind));
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#charts.forEach((chart) => chart.end());
    this.#charts = [];
  }

  updated() {
    if (!this.#rates.value || !this.found) return;
    if (!this.#charts.length) {
      this.#charts = [new Chart(this.#rates.value, KINDS), new Chart(this.#latency.value, QUANTILES, { seconds: true })];
    }
    const columns = (names) => [this.found.times, ...names.map(([name]) => this.found[name])];
    this.#charts[0].show(columns(KINDS));
    this.#charts[1].show(columns(QUANTILES));
  }

  content() {
    const total = (name) => this.found[name].reduce((sum, one) => sum + one, 0).toLocaleString("en-GB");
    const every = this.found.step < 60 ? `${this.found.step} seconds` : this.found.step === 60 ? "minute" : `${this.found.step / 60} minutes`;
    return html`
      ${heading("Rates and latency", "Messages over time, and the time from stored to acked.",
        html`<label class="row"><span class="quiet">Over</span>
          <select @change=${(event) => go(at("rates", [], { span: event.target.value }), { replace: true })}>
            ${Object.entries(SPANS).map(([name, [words]]) => html`<option value=${name} ?selected=${name === this.span}>${words}</option>`)}
          </select></label>`)}
      <div class="stack">
        <section class="card" aria-labelledby="rates"><h2 id="rates">Messages each ${every}</h2>
          <ul class="totals">${KINDS.map(([name, mood, words]) => html`<li><span class="swatch ${mood}"></span> <strong>${total(name)}</strong> <span class="quiet">${words}</span></li>`)}</ul>
          <div class="chart" ${ref(this.#rates)} role="img" aria-label="Messages each ${every}, by outcome"></div></section>
        <section class="card" aria-labelledby="latency"><h2 id="latency">From stored to acked</h2>
          <ul class="totals">${QUANTILES.map(([name, mood, words]) => html`<li><span class="swatch ${mood}"></span> <span class="quiet">${words}</span></li>`)}</ul>
          ${this.found.p50.some((one) => one !== null) ? nothing : html`<p class="quiet">Nothing was acked in this period.</p>`}
          <div class="chart" ${ref(this.#latency)} role="img" aria-label="Seconds from when a message is stored until it is acked"></div></section>
      </div>`;
  }
}
register({ name: "rates", title: "Rates", group: "record", tag: "telex-rates", view: Rates });
