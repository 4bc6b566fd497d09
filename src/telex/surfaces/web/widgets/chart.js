/** Line chart of one or more series over one time axis, as SVG. */

import { LitElement, html, nothing, svg } from "../vendor/lit.js";
import { clock, clockShort, number, span } from "../format.js";

const HEIGHT = 190;
const LEFT = 56;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 22;
const COUNT_TICKS_MAX = 4;
const TIME_LABEL_WIDTH = 70;
const TIME_STEPS = [10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200];
const SPANS = [0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 21_600, 86_400, 604_800];
const ROWS_MAX = 60; // of the table

/** Scale of counts, from 0 in steps of 1, 2 or 5 times a power of ten. */
export function countScale(values) {
  const most = Math.max(1, ...values);
  const power = 10 ** Math.floor(Math.log10(most / COUNT_TICKS_MAX));
  const step = Math.max(1, ([1, 2, 5, 10].find((factor) => power * factor * COUNT_TICKS_MAX >= most) ?? 10) * power);
  const top = Math.ceil(most / step) * step;
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step);
  return { ticks, part: (value) => value / top, words: number };
}

/** Logarithmic scale of spans of time, with ticks in the units of the clock. */
export function spanScale(values) {
  const least = Math.max(Math.min(...values, Infinity), SPANS[0]);
  const most = Math.max(...values, least === Infinity ? 1 : least);
  const from = SPANS.findLastIndex((tick) => tick <= (least === Infinity ? 0.01 : least));
  const to = SPANS.findIndex((tick) => tick >= most && tick > SPANS[from]);
  const ticks = SPANS.slice(from, (to < 0 ? SPANS.length - 1 : to) + 1);
  const [low, high] = [Math.log(ticks[0]), Math.log(ticks[ticks.length - 1])];
  return { ticks, part: (value) => (Math.log(Math.max(value, ticks[0])) - low) / (high - low), words: span };
}

/** Whole minutes, hours … of the person's clock within a period, so far apart that their labels fit. */
export function timeTicks(from, until, width) {
  const wanted = (until - from) / Math.max(1, width / TIME_LABEL_WIDTH);
  const step = TIME_STEPS.find((seconds) => seconds >= wanted) ?? TIME_STEPS[TIME_STEPS.length - 1];
  const offset = new Date(from * 1000).getTimezoneOffset() * 60;
  const first = Math.ceil((from - offset) / step) * step + offset;
  return Array.from(
    { length: Math.max(0, Math.floor((until - first) / step) + 1) },
    (_, index) => first + index * step,
  );
}

class Chart extends LitElement {
  static properties = {
    times: { attribute: false }, // beginnings of the steps, in seconds since 1970
    until: { attribute: false },
    series: { attribute: false }, // [{name, state, values}], null where there is no value
    spans: { type: Boolean }, // the values are spans of time
    label: { attribute: false },
    width: { state: true },
    index: { state: true }, // of the step under the pointer
  };

  #resize = new ResizeObserver(([entry]) => (this.width = Math.floor(entry.contentRect.width)));

  constructor() {
    super();
    /** @type {number[]} */
    this.times = [];
    this.until = this.width = 0;
    /** @type {number | null} */
    this.index = null;
    Object.assign(this, { series: [], spans: false, label: "" });
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.#resize.observe(this);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#resize.disconnect();
  }

  #x = (time) =>
    LEFT + ((time - this.times[0]) / Math.max(1, this.until - this.times[0])) * (this.width - LEFT - RIGHT);

  #point(event) {
    const at = event.clientX - this.getBoundingClientRect().left;
    const step = this.#x(this.times[1] ?? this.until) - this.#x(this.times[0]) || 1;
    const index = Math.floor((at - LEFT) / step);
    this.index = index >= 0 && index < this.times.length ? index : null;
  }

  render() {
    const words = this.spans ? span : number;
    return html`<p class="chart-legend">${this.series.map(
      (one) =>
        html`<span class="is-${one.state}"><i aria-hidden="true"></i>${one.name}${
          this.index === null
            ? nothing
            : html` <b>${one.values[this.index] === null ? "–" : words(one.values[this.index])}</b>`
        }</span>`,
    )} ${this.index === null ? nothing : html`<time>${clock(this.times[this.index])}</time>`}</p>
    ${this.width && this.times.length ? this.#drawing() : nothing} ${this.#table(words)}`;
  }

  #drawing() {
    const values = this.series.flatMap((one) => one.values.filter((value) => value !== null));
    const scale = this.spans ? spanScale(values) : countScale(values);
    const y = (value) => TOP + (1 - scale.part(value)) * (HEIGHT - TOP - BOTTOM);
    return html`<svg class="chart" width=${this.width} height=${HEIGHT} role="img" aria-label=${this.label}
      @pointermove=${this.#point} @pointerleave=${() => (this.index = null)}>
      ${scale.ticks.map(
        (tick) => svg`<line class="chart-grid" x1=${LEFT} x2=${this.width - RIGHT} y1=${y(tick)} y2=${y(tick)} />
          <text x=${LEFT - 8} y=${y(tick) + 4} text-anchor="end">${scale.words(tick)}</text>`,
      )}
      ${timeTicks(this.times[0], this.until, this.width - LEFT).map(
        (time) => svg`<text x=${this.#x(time)} y=${HEIGHT - 5} text-anchor="middle">${clockShort(time)}</text>`,
      )}
      ${this.index === null ? nothing : svg`<line class="chart-cursor" x1=${this.#middle(this.index)} x2=${this.#middle(this.index)} y1=${TOP} y2=${HEIGHT - BOTTOM} />`}
      ${this.series.toReversed().map((one) => this.#line(one, y))}</svg>`;
  }

  #middle = (index) =>
    (this.#x(this.times[index]) + this.#x(Math.min(this.until, this.times[index + 1] ?? this.until))) / 2;

  /** One series: a line over the steps that have a value, and a dot where one stands alone. */
  #line({ state, values }, y) {
    const points = values.flatMap((value, index) => (value === null ? [] : [[this.#middle(index), y(value)]]));
    const path = points.map(([x, at]) => `${x.toFixed(1)},${at.toFixed(1)}`).join(" ");
    const dots = this.spans || points.length === 1 ? points : [];
    return svg`<polyline class="chart-line is-${state}" points=${path} />
      ${dots.map(([x, at]) => svg`<circle class="chart-dot is-${state}" cx=${x} cy=${at} r="2.5" />`)}`;
  }

  /** The figures as text. */
  #table(words) {
    const rows = this.times.map((time, index) => [time, this.series.map((one) => one.values[index])]);
    const filled = rows.filter(([, values]) => values.some(Boolean)).slice(-ROWS_MAX);
    return html`<details><summary>Figures</summary>
      <div class="scroll-x" tabindex="0" role="region" aria-label="Figures: ${this.label}"><table class="grid">
        <thead><tr><th scope="col">From</th>${this.series.map((one) => html`<th scope="col" class="figure">${one.name}</th>`)}</tr></thead>
        <tbody>${filled.map(
          ([time, values]) =>
            html`<tr><td><time>${clock(time)}</time></td>${values.map(
              (value) => html`<td class="figure">${value === null ? "–" : words(value)}</td>`,
            )}</tr>`,
        )}</tbody></table></div></details>`;
  }
}
customElements.define("telex-chart", Chart);
