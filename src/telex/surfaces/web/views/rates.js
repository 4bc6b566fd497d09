/** Rates: messages over time, and the time from sent to done. */

import { html } from "../vendor/lit.js";
import { get, has, hubNow } from "../hub.js";
import { View, stylesheet } from "../view.js";
import { number, secondsOf, span } from "../format.js";
import { refine } from "../router.js";
import "../widgets/chart.js";

await stylesheet("views/rates.css");

const PERIODS = {
  quarter: { words: "15 min", seconds: 900, step: 10 },
  hour: { words: "1 hour", seconds: 3600, step: 60 },
  six: { words: "6 hours", seconds: 21_600, step: 300 },
  day: { words: "1 day", seconds: 86_400, step: 900 },
};
const COUNTED = [
  { key: "accepted", state: "in-hand", one: "message sent", many: "messages sent", name: "sent" },
  { key: "acked", state: "done", one: "delivery done", many: "deliveries done", name: "done" },
  { key: "refused", state: "refused", one: "message refused", many: "messages refused", name: "refused" },
  { key: "dead", state: "dead", one: "dead letter", many: "dead letters", name: "dead" },
];
const QUANTILES = [
  { key: "p50", state: "in-hand", name: "median" },
  { key: "p99", state: "waiting", name: "99th percentile" },
];

export default class Rates extends View {
  static properties = { ...View.properties, rates: { state: true } };

  get period() {
    return PERIODS[this.place.query.span] ?? PERIODS.hour;
  }

  async load() {
    const until = secondsOf(this.place.query.at) ?? hubNow();
    const { seconds, step } = this.period;
    this.rates = await get("/page/rates", { since: until - seconds, until, step }, has("times", "totals"));
  }

  concerns() {
    return !this.place.query.at;
  }

  content() {
    const { step, totals } = this.rates;
    return html`<div class="page-bar"><h1>Rates</h1><span class="grow"></span>${this.#periods()}</div>
      <div class="stack">
        <section class="card pad" aria-labelledby="rates-title">
          <h2 id="rates-title">Messages per ${span(step).replace(/^1 /, "")}</h2>
          <ul class="facts">${COUNTED.map(
            ({ key, state, one, many }) =>
              html`<li class="rate is-${state}"><b>${number(totals[key])}</b> ${totals[key] === 1 ? one : many}</li>`,
          )}</ul>
          ${this.#chart(COUNTED, "Messages over time", false)}
        </section>
        <section class="card pad" aria-labelledby="latency-title">
          <h2 id="latency-title">From sent to done</h2>
          <ul class="facts">${QUANTILES.map(
            ({ key, state, name }) =>
              html`<li class="rate is-${state}"><b>${totals[key] === null ? "–" : span(totals[key])}</b> ${name}</li>`,
          )}</ul>
          ${totals.p50 === null ? html`<p class="soft">Nothing was done in this period.</p>` : this.#chart(QUANTILES, "Time from sent to done", true)}
        </section>
      </div>`;
  }

  #periods() {
    return html`<div class="segments" role="group" aria-label="Period">${Object.entries(PERIODS).map(
      ([name, period]) =>
        html`<button type="button" aria-pressed=${period === this.period} @click=${() => refine({ span: name })}>${period.words}</button>`,
    )}</div>`;
  }

  #chart(series, label, spans) {
    const { times, until } = this.rates;
    const lines = series.map(({ key, state, name }) => ({ name, state, values: this.rates[key] }));
    return html`<telex-chart .times=${times} .until=${until} .series=${lines} .label=${label} ?spans=${spans}></telex-chart>`;
  }
}
