// How is a chart drawn so that it fits its place and the colours of the page? uPlot draws on a canvas, which knows no CSS.

import uPlot from "./vendor/uplot.js";

const HEIGHT = 220;
const HEIGHT_SMALL = 170;
const WORDS = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 3 });

/** A length of time in the unit that says it shortest. */
function duration(seconds) {
  if (seconds === null || seconds === undefined) return "·";
  if (seconds < 1) return `${WORDS.format(seconds * 1000)} ms`;
  if (seconds < 120) return `${WORDS.format(seconds)} s`;
  return seconds < 7200 ? `${WORDS.format(seconds / 60)} min` : `${WORDS.format(seconds / 3600)} h`;
}

export class Chart {
  #plot = null;
  #data = null;

  /** `series`: [[name, mood], …]. With `seconds`, the values are lengths of time, on a scale that grows by tens. */
  constructor(place, series, { seconds = false } = {}) {
    this.place = place;
    this.series = series;
    this.seconds = seconds;
    this.again = () => this.#draw();
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", this.again);
    window.addEventListener("telex-theme", this.again);
    this.sizes = new ResizeObserver(() => this.#plot?.setSize(this.#size()));
    this.sizes.observe(place);
  }

  show(data) {
    this.#data = data;
    if (this.#plot) this.#plot.setData(data);
    else this.#draw();
  }

  end() {
    this.sizes.disconnect();
    this.dark.removeEventListener("change", this.again);
    window.removeEventListener("telex-theme", this.again);
    this.#plot?.destroy();
  }

  #size() {
    const width = Math.max(200, Math.floor(this.place.clientWidth));
    return { width, height: width < 500 ? HEIGHT_SMALL : HEIGHT };
  }

  /** What a colour of the page is now. */
  #colour(name) {
    const probe = document.createElement("span");
    probe.className = `probe ${name}`;
    this.place.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  }

  #draw() {
    this.#plot?.destroy();
    const [soft, line] = [this.#colour("soft"), this.#colour("line")];
    const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    const said = (value) => (this.seconds ? duration(value) : value);
    const options = {
      ...this.#size(),
      cursor: { y: false },
      scales: { y: this.seconds ? { distr: 3, range: (_, least, most) => tens(least, most) } : { range: (_, __, most) => [0, Math.max(most || 0, 4) * 1.08] } },
      axes: [
        { ...axis, values: clock },
        { ...axis, size: 62, values: (_, values) => values.map((value) => (value === null ? "" : said(value))), ...(this.seconds ? { splits: (_, __, least, most) => powers(least, most) } : { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000] }) },
      ],
      series: [
        { value: (_, value) => (value ? new Date(value * 1000).toLocaleTimeString("en-GB") : "·") },
        ...this.series.map(([label, mood]) => ({
          label,
          stroke: this.#colour(mood),
          width: 2,
          spanGaps: this.seconds,
          points: { show: this.seconds, size: 5 },
          value: (_, value) => said(value) ?? "·",
        })),
      ],
    };
    this.#plot = new uPlot(options, this.#data, this.place);
  }
}

const clock = (_, moments) => moments.map((moment) => new Date(moment * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", ...(moment % 60 ? { second: "2-digit" } : {}) }));

function powers(least, most) {
  const [low, high] = [Math.round(Math.log10(least)), Math.round(Math.log10(most))];
  return Array.from({ length: high - low + 1 }, (_, step) => 10 ** (low + step));
}

/** From a power of ten below the least to one above the most. */
function tens(least, most) {
  if (least === null || most === null) return [0.001, 1];
  return [10 ** Math.floor(Math.log10(least)), 10 ** Math.max(Math.ceil(Math.log10(most)), Math.floor(Math.log10(least)) + 1)];
}
