/** `<telex-overview>`: the whole log as a histogram, with a slider for the moment shown, and the replay. */

import { LitElement, html } from "../vendor/lit.js";
import { hubNow } from "../hub.js";
import { clock, moment } from "../format.js";
import { DAY } from "./layout.js";

const HEIGHT = 38;
const LIVE_SECONDS = 1.5; // so near to the right end the page is live
const GAP = 1;
const BAR_MIN = 1.5; // pixels of a cell that has any message
const BAR_REFUSED_MIN = 2.5;
const SPEEDS = [1, 10, 60];
const TOKENS = ["--chosen", "--line-strong", "--state-refused", "--state-waiting", "--accent"];

class Overview extends LitElement {
  static properties = {
    answer: { attribute: false }, // of GET /page/overview
    at: { attribute: false }, // the moment shown; null: now
    span: { attribute: false }, // seconds of the timeline's window
    playing: { state: true },
    speed: { state: true },
    bubble: { state: true },
  };

  /** @type {any} */
  #colours = null;
  #frame = 0;
  #resize = new ResizeObserver(() => this.#draw());
  #retheme = () => {
    this.#colours = null;
    requestAnimationFrame(() => this.#draw());
  };

  constructor() {
    super();
    this.at = null;
    this.playing = false;
    this.speed = 10;
    this.bubble = null;
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.#resize.observe(this);
    window.addEventListener("telex-theme", this.#retheme);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.#retheme);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#resize.disconnect();
    window.removeEventListener("telex-theme", this.#retheme);
    matchMedia("(prefers-color-scheme: dark)").removeEventListener("change", this.#retheme);
    this.#stop();
  }

  get #from() {
    return this.answer.from;
  }

  get #to() {
    return Math.max(hubNow(), this.#from + 1);
  }

  // --- replay --------------------------------------------------------------------------------------------------------

  toggle() {
    if (this.playing) this.pause();
    else this.#play();
  }

  pause() {
    if (!this.playing) return;
    this.#stop();
    this.#say("telex-moment", this.at);
  }

  #play() {
    if (!this.answer) return;
    let at = this.at ?? Math.max(this.#from, this.#to - Math.min(this.span, this.#to - this.#from));
    let last = performance.now();
    this.playing = true;
    const step = (now) => {
      at += ((now - last) / 1000) * this.speed;
      last = now;
      if (at >= this.#to) {
        this.#stop();
        this.#say("telex-moment", null);
        return;
      }
      this.at = at;
      this.#say("telex-playing", at);
      this.#frame = requestAnimationFrame(step);
    };
    this.#frame = requestAnimationFrame(step);
  }

  #stop() {
    cancelAnimationFrame(this.#frame);
    this.playing = false;
  }

  #say(name, at) {
    this.dispatchEvent(new CustomEvent(name, { detail: { at, speed: this.speed } }));
  }

  // --- slider --------------------------------------------------------------------------------------------------------

  #slid(event) {
    this.#stop();
    this.bubble = Number(event.target.value);
    this.at = this.bubble;
    this.#say("telex-sliding", this.at);
  }

  #chosen(event) {
    const at = Number(event.target.value);
    this.bubble = null;
    this.#say("telex-moment", at >= this.#to - Math.max(LIVE_SECONDS, (this.#to - this.#from) / 500) ? null : at);
  }

  // --- templates -----------------------------------------------------------------------------------------------------

  updated() {
    const range = this.querySelector("input");
    if (!range) return;
    range.min = String(this.#from);
    range.max = String(this.#to);
    range.step = this.at === null ? "any" : "1"; // the end need not be whole seconds after the beginning
    range.value = String(this.at ?? this.#to);
    const bubble = this.querySelector(".over-bubble");
    bubble.style.left = `${Math.max(4, Math.min(96, (((this.at ?? this.#to) - this.#from) / (this.#to - this.#from)) * 100))}%`;
    this.#draw();
  }

  render() {
    if (!this.answer) return html``;
    const isLive = this.at === null;
    const words = isLive ? "live" : moment(this.at);
    return html`<div class="over">
      <div class="over-left">
        <button type="button" class="ghost over-play" aria-label=${this.playing ? "Pause" : "Play from here"} title="Space"
          @click=${() => this.toggle()}><span aria-hidden="true">${this.playing ? "❚❚" : "▶"}</span></button>
        <select aria-label="Replay speed" @change=${(event) => (this.speed = Number(event.target.value))}>
          ${SPEEDS.map((speed) => html`<option value=${speed} ?selected=${speed === this.speed}>${speed} ×</option>`)}
        </select>
        <span class="over-state ${isLive ? "is-done" : "is-in-hand"}">${isLive ? "live" : "replay"}</span>
      </div>
      <div class="over-track">
        <canvas aria-hidden="true"></canvas>
        <input type="range" aria-label="Moment shown" aria-valuetext=${words} @input=${this.#slid} @change=${this.#chosen}>
        <output class="over-bubble" ?hidden=${this.bubble === null && !this.playing}>${this.at === null ? "" : moment(this.at)}</output>
      </div>
      <div class="over-ends" aria-hidden="true"><span>${moment(this.#from)}</span><span>${isLive ? "now" : clock(this.#to)}</span></div>
    </div>`;
  }

  // --- drawing -------------------------------------------------------------------------------------------------------

  #draw() {
    const canvas = this.querySelector("canvas");
    const width = this.querySelector(".over-track")?.clientWidth;
    if (!canvas || !width) return;
    const scale = Math.min(devicePixelRatio || 1, 2);
    canvas.width = Math.round(width * scale);
    canvas.height = HEIGHT * scale;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${HEIGHT}px`;
    this.#colours ??= this.#readColours(canvas);
    const c = canvas.getContext("2d");
    c.setTransform(scale, 0, 0, scale, 0, 0);
    this.#drawWindow(c, width, true);
    this.#drawCells(c, width);
    this.#drawEscalations(c, width);
    this.#drawWindow(c, width, false);
  }

  #x(at, width) {
    return ((at - this.#from) / (this.#to - this.#from)) * width;
  }

  #drawWindow(c, width, isBack) {
    const at = this.at ?? this.#to;
    const x0 = this.#x(Math.max(this.#from, at - Math.min(this.span, DAY * 366)), width);
    const x1 = this.#x(at, width);
    c.globalAlpha = 1;
    if (isBack) {
      c.fillStyle = this.#colours["--chosen"];
      c.fillRect(x0, 0, x1 - x0, HEIGHT);
      return;
    }
    c.strokeStyle = this.#colours["--accent"];
    c.lineWidth = 1;
    c.strokeRect(x0 + 0.5, 0.5, Math.max(2, x1 - x0 - 1), HEIGHT - 1);
  }

  #drawCells(c, width) {
    const { sent, refused, step, from } = this.answer;
    const most = Math.max(...sent.map((count, cell) => count + refused[cell]), 1);
    const cell = (width * step) / (this.#to - this.#from);
    const at = this.at ?? this.#to;
    sent.forEach((count, index) => {
      const x = this.#x(from + index * step, width);
      const low = count ? Math.max(BAR_MIN, (count / most) * (HEIGHT - 8)) : 0;
      const high = refused[index] ? Math.max(BAR_REFUSED_MIN, (refused[index] / most) * (HEIGHT - 8)) : 0;
      c.globalAlpha = from + index * step <= at ? 1 : 0.35;
      c.fillStyle = this.#colours["--line-strong"];
      c.fillRect(x, HEIGHT - 1 - low, Math.max(1, cell - GAP), low);
      c.fillStyle = this.#colours["--state-refused"];
      if (high) c.fillRect(x, HEIGHT - 1 - low - high, Math.max(1, cell - GAP), high);
    });
  }

  #drawEscalations(c, width) {
    c.globalAlpha = 1;
    c.fillStyle = this.#colours["--state-waiting"];
    for (const [begin, end] of this.answer.escalations) {
      const x = this.#x(begin, width);
      c.fillRect(x, 1, Math.max(3, this.#x(end ?? this.#to, width) - x), 2.5);
    }
  }

  #readColours(canvas) {
    return Object.fromEntries(
      TOKENS.map((token) => {
        canvas.style.color = `var(${token})`;
        return [token, getComputedStyle(canvas).color];
      }),
    );
  }
}
customElements.define("telex-overview", Overview);
