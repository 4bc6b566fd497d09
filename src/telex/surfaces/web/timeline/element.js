/** `<telex-timeline>`: lanes on a canvas, their labels beside it, pointer and keyboard. It asks its view for nothing. */

import { LitElement, html, nothing, repeat } from "../vendor/lit.js";
import { hubNow, me } from "../hub.js";
import { address } from "../router.js";
import { clock, count, number, span } from "../format.js";
import { STATES, isGone, roleClass, roleToken, stateOf } from "../states.js";
import { shownName } from "../widgets/message.js";
import { drawAxis, drawTimeline, hatchPattern } from "./draw.js";
import { AXIS_HEIGHT, factsOf, labelWidth, markAt, neighbour, rowsBetween, rowsOf, windowOf, ZOOMS } from "./layout.js";

const HEIGHT_MAX = 640;
const HEIGHT_MIN = 240;
const BELOW = 330; // pixels of the screen for what is above and below the lanes
const LABELS_MS = 250;
const FRAME_MS = 1000; // live and nothing new: one drawing each second, four in a short window
const FRAME_SHORT_MS = 250;
const FACTS_MAX = 3000; // then those of former answers are forgotten
const HOVER_MS = 60; // before the facts of a mark are asked for
const NOW_SECONDS = 1.5; // nearer moments are "just now"
const MARGIN = 40; // pixels above and below the view whose labels are laid out
const TIP_WIDTH = 330;
const TOKENS = [
  "--bg",
  "--panel",
  "--sunk",
  "--ink",
  "--soft",
  "--faint",
  "--line",
  "--line-strong",
  "--grid",
  "--accent",
  "--needs-bg",
  "--chosen",
];
const ARROWS = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]);
const HINT =
  "Timeline of messages. Left and right arrow keys move between the messages of a lane, up and down between lanes, " +
  "Enter opens a message, Escape lets go.";

class Timeline extends LitElement {
  static properties = {
    answer: { attribute: false }, // of GET /page/timeline
    zoom: { attribute: false },
    at: { attribute: false }, // the moment shown, in seconds since 1970; null: now
    begins: { attribute: false }, // when the log begins, for the zoom "all"
    selected: { attribute: false }, // number of the message that is open
    needs: { attribute: false }, // how many things need the person; null: not known
    facts: { attribute: false }, // asks for the facts of a mark: (seq) => Promise of an answer with `messages`
    tip: { state: true },
    spoken: { state: true },
  };

  /** @type {any} */
  #plan = null;
  #known = new Map();
  #hits = [];
  /** @type {any} */
  #colours = null;
  #timer = 0;
  #frame = 0;
  #top = 0; // how far the lanes are scrolled: reading it while elements change costs a layout of the whole page
  #labelled = 0;
  #hoverTimer = 0;
  #resize = new ResizeObserver(() => this.#resized());
  #retheme = () => this.#rethemed();

  constructor() {
    super();
    this.zoom = "15m";
    this.at = null;
    this.selected = null;
    this.hover = null; // number of the message under the pointer
    this.cursor = null; // and of the one that the arrow keys have reached
    this.width = this.labels = this.viewHeight = 0;
    this.scale = 1;
    /** @type {any} */
    this.tip = null;
    this.stats = { marks: 0, ms: 0, draws: 0 };
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.#resize.observe(this);
    window.addEventListener("telex-theme", this.#retheme);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.#retheme);
    this.#tick();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#resize.disconnect();
    window.removeEventListener("telex-theme", this.#retheme);
    matchMedia("(prefers-color-scheme: dark)").removeEventListener("change", this.#retheme);
    clearTimeout(this.#timer);
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }

  // --- time ----------------------------------------------------------------------------------------------------------

  get moment() {
    return this.at ?? hubNow();
  }

  get window() {
    return windowOf(this.zoom, this.moment, this.begins ?? this.answer?.from ?? this.moment);
  }

  /** The lanes move although nothing happens; not in a tab that nobody looks at. */
  #tick() {
    clearTimeout(this.#timer);
    const pause = ZOOMS[this.zoom] <= ZOOMS["5m"] ? FRAME_SHORT_MS : FRAME_MS;
    this.#timer = setTimeout(() => {
      if (!document.hidden && this.at === null && this.answer) {
        if (performance.now() - this.#labelled > FRAME_MS - 50) this.requestUpdate();
        else this.redraw();
      }
      this.#tick();
    }, pause);
  }

  /** Move the moment shown without anything else, as a replay does in each frame. */
  moveTo(at) {
    const isDue = performance.now() - this.#labelled > LABELS_MS;
    this.at = at;
    if (!isDue) this.redraw();
  }

  shouldUpdate(changed) {
    return !(changed.size === 1 && changed.has("at") && performance.now() - this.#labelled <= LABELS_MS);
  }

  // --- layout --------------------------------------------------------------------------------------------------------

  willUpdate(changed) {
    if (this.clientWidth) this.labels = labelWidth(this.clientWidth); // narrow labels have shorter words
    if (!changed.has("answer") || !this.answer) return;
    this.#plan = rowsOf(this.answer);
    if (this.#known.size > FACTS_MAX) this.#known.clear();
    for (const [seq, facts] of factsOf(this.answer)) this.#known.set(seq, facts);
  }

  #resized() {
    if (this.clientWidth !== this.width) this.requestUpdate();
  }

  #rethemed() {
    this.#colours = null;
    requestAnimationFrame(() => this.redraw());
  }

  updated() {
    if (!this.#plan || !this.clientWidth) return;
    this.#labelled = performance.now();
    this.#measure();
    this.#placeLabels();
    this.#placeTip();
    this.#draw();
  }

  #measure() {
    this.width = this.clientWidth;
    this.labels = labelWidth(this.width);
    this.parentElement?.style.setProperty("--label-width", `${this.labels}px`);
    const most = this.#plan.isDense ? Math.max(HEIGHT_MIN, Math.min(HEIGHT_MAX, innerHeight - BELOW)) : HEIGHT_MAX;
    this.viewHeight = Math.min(this.#plan.height, most);
    this.scale = Math.min(devicePixelRatio || 1, 2);
    this.querySelector(".tl-inner").style.height = `${this.#plan.height}px`;
    this.querySelector(".tl-scroll").style.height = `${this.viewHeight}px`;
    const width = this.width - this.labels;
    sized(this.querySelector(".tl-marks"), width, this.viewHeight, this.scale);
    sized(this.querySelector(".tl-axis"), width, AXIS_HEIGHT, this.scale);
  }

  #visibleRows(margin = 0) {
    const [top, height] = [this.#top, this.viewHeight || HEIGHT_MAX];
    return rowsBetween(this.#plan.rows, top - margin, top + height + margin);
  }

  #placeLabels() {
    for (const label of this.querySelectorAll(".tl-label")) {
      label.style.top = `${label.row.y}px`;
      label.style.height = `${label.row.height}px`;
    }
  }

  #placeTip() {
    const tip = this.querySelector(".tl-tip");
    if (!tip) return;
    tip.style.left = `${tip.place.x}px`;
    tip.style.top = `${tip.place.y}px`;
  }

  // --- drawing -------------------------------------------------------------------------------------------------------

  redraw() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #draw() {
    const canvas = this.querySelector(".tl-marks");
    if (!this.#plan || !canvas?.width || !this.isConnected) return;
    const began = performance.now();
    this.#colours ??= this.#readColours(canvas);
    const focus = this.#focus();
    const scene = {
      ...this.#colours,
      answer: this.answer,
      plan: this.#plan,
      window: this.window,
      width: this.width - this.labels,
      viewHeight: this.viewHeight,
      top: this.#top,
      scale: this.scale,
      facts: this.#known,
      focus,
      dims: this.selected !== null && Boolean(focus),
      selected: this.selected,
      hover: this.hover,
      cursor: this.cursor,
      isLive: this.at === null,
    };
    const { marks, hits } = drawTimeline(canvas.getContext("2d"), scene);
    drawAxis(this.querySelector(".tl-axis").getContext("2d"), scene);
    this.#hits = hits;
    this.stats = { marks, ms: performance.now() - began, draws: this.stats.draws + 1 };
  }

  /** Messages in the foreground: the selected conversation, or the message under the pointer. */
  #focus() {
    const hovered = this.hover ?? this.cursor;
    if (this.selected === null) return hovered === null ? null : new Set([hovered]);
    const found = new Set([...(this.answer.focus ?? []), this.selected]);
    const conversation = this.#known.get(this.selected)?.conversation;
    if (!this.answer.focus?.includes(this.selected) && conversation)
      for (const [seq, facts] of this.#known) if (facts.conversation === conversation) found.add(seq);
    return found;
  }

  #readColours(canvas) {
    const style = getComputedStyle(this);
    const roles = this.answer.lanes.map((lane) => roleToken(lane.role));
    const groups = this.answer.groups.map((group) => roleToken(group.role));
    const states = Object.values(STATES).map((state) => state.token);
    const probe = this.querySelector(".tl-probe");
    const colour = (token) => {
      probe.style.color = `var(${token})`;
      return getComputedStyle(probe).color;
    };
    const names = [
      ...new Set([...TOKENS, ...states, ...roles, ...groups, "--role-hub", "--role-human", "--role-other"]),
    ];
    const colours = Object.fromEntries(names.map((token) => [token, colour(token)]));
    const isDark = brightness(colours["--panel"]) < 128;
    return {
      colours,
      isDark,
      font: style.fontFamily,
      hatch: hatchPattern(canvas.getContext("2d"), colours["--state-waiting"], this.scale),
    };
  }

  // --- for tests and for the view --------------------------------------------------------------------------------------

  /** Where a message's mark is on the screen: {x, y, width, height, kind}; null: not drawn. `kind`: dot, bar or wait. */
  markOf(seq, kind = null) {
    const hit = this.#hits.find((one) => one.seq === seq && (!kind || one.kind === kind));
    if (!hit) return null;
    const box = this.querySelector(".tl-marks").getBoundingClientRect();
    const y = box.top + hit.y0 - this.querySelector(".tl-scroll").scrollTop;
    return {
      x: box.left + hit.x0,
      y,
      width: hit.x1 - hit.x0,
      height: hit.y1 - hit.y0,
      kind: hit.kind,
      agent: hit.agent,
    };
  }

  /** All marks that are drawn: [{seq, kind, agent}]. */
  get marks() {
    return this.#hits.map(({ seq, kind, agent }) => ({ seq, kind, agent }));
  }

  /** The lane of an agent on the screen, scrolled into view; null: it has none. */
  reveal(agent) {
    const row = this.#plan?.rowOf.get(agent);
    const scroll = this.querySelector(".tl-scroll");
    if (!row || !scroll) return;
    if (row.y < scroll.scrollTop) scroll.scrollTop = row.y;
    else if (row.y + row.height > scroll.scrollTop + this.viewHeight)
      scroll.scrollTop = row.y + row.height - this.viewHeight;
  }

  // --- input ---------------------------------------------------------------------------------------------------------

  #at(event) {
    const box = this.querySelector(".tl-marks").getBoundingClientRect();
    return markAt(
      this.#hits,
      event.clientX - box.left,
      event.clientY - box.top + this.querySelector(".tl-scroll").scrollTop,
    );
  }

  #moved(event) {
    const hit = this.#at(event);
    event.currentTarget.classList.toggle("is-over", Boolean(hit));
    if ((hit?.seq ?? null) !== this.hover) {
      this.hover = hit?.seq ?? null;
      this.redraw();
      clearTimeout(this.#hoverTimer);
      if (hit && !this.#known.has(hit.seq)) this.#hoverTimer = setTimeout(() => this.#ask(hit.seq), HOVER_MS);
    }
    const box = this.getBoundingClientRect();
    const x = Math.max(4, Math.min(event.clientX - box.left + 14, box.width - TIP_WIDTH));
    this.tip = hit ? { hit, x, y: event.clientY - box.top + 18 } : null;
  }

  async #ask(seq) {
    if (this.#known.has(seq) || !this.facts) return;
    const answer = await this.facts(seq).catch(() => null);
    if (!answer) return;
    const { from, tick } = this.answer;
    for (const [other, facts] of factsOf({ from, tick, ...answer })) this.#known.set(other, facts);
    this.requestUpdate();
  }

  #left() {
    this.hover = null;
    this.tip = null;
    this.redraw();
  }

  #clicked(event) {
    this.#select(this.#at(event)?.seq ?? null);
  }

  #select(seq) {
    this.cursor = seq;
    this.dispatchEvent(new CustomEvent("telex-select", { detail: { seq } }));
  }

  #pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.answer) return;
    if (event.key === "Enter" && this.cursor !== null) {
      event.preventDefault();
      this.#select(this.cursor);
    } else if (ARROWS.has(event.key)) {
      event.preventDefault();
      event.stopPropagation();
      this.#step(event.key);
    } else if (event.key === "Escape" && this.cursor !== null && this.selected === null) {
      event.stopPropagation();
      this.cursor = null;
      this.redraw();
    }
  }

  async #step(key) {
    const limit = (this.moment - this.answer.from) / this.answer.tick;
    const shown = this.#plan.rows.filter((row) => row.kind === "lane").map((row) => row.lane);
    const next = neighbour(shown, this.cursor ?? this.selected, key, limit);
    if (!next) return;
    this.cursor = next.seq;
    this.reveal(next.agent);
    this.redraw();
    await this.#ask(next.seq);
    const facts = this.#known.get(next.seq);
    if (facts && this.cursor === next.seq) {
      const { from, to, at, gist, state } = facts;
      this.spoken = `${shownName(from)} to ${shownName(to)}, ${clock(at)}: ${gist}. ${stateOf(state).word}.`;
    }
  }

  #scrolled(event) {
    this.#top = event.currentTarget.scrollTop;
    this.redraw();
    if (performance.now() - this.#labelled > 16) this.requestUpdate();
  }

  // --- templates -----------------------------------------------------------------------------------------------------

  render() {
    if (!this.answer) return html`<p class="tl-wait loading" role="status">Loading …</p>`;
    return html`
      <div class="tl-head">${this.#headWords()}</div>
      <canvas class="tl-axis" aria-hidden="true"></canvas>
      <div class="tl-scroll" tabindex="0" role="application" aria-label=${HINT} @keydown=${this.#pressed} @scroll=${this.#scrolled}>
        <div class="tl-inner">
          <div class="tl-labels ${this.#plan.isDense ? "is-dense" : ""}">
            ${repeat(this.#visibleRows(MARGIN), keyOf, (row) => this.#label(row))}
          </div>
          <div class="tl-stick"><canvas class="tl-marks" aria-hidden="true" @mousemove=${this.#moved} @mouseleave=${this.#left}
            @click=${this.#clicked}></canvas></div>
        </div>
      </div>
      ${this.tip ? this.#tooltip() : nothing}
      <i class="tl-probe" hidden></i>
      <div class="hidden" role="status">${this.spoken}</div>`;
  }

  #headWords() {
    const { lanes, totals } = this.answer;
    if (lanes.length < totals.agents) return `${number(lanes.length)} of ${number(totals.agents)} lanes`;
    return this.clientWidth < 520 ? count(lanes.length, "agent") : `${count(lanes.length, "agent")} by role`;
  }

  #label(row) {
    if (row.kind === "group") return this.#groupLabel(row);
    if (row.kind === "fold") return this.#foldLabel(row);
    const { lane } = row;
    return html`<a class="tl-label tl-lane ${roleClass(lane.role)}" .row=${row} href=${me.conversation ? nothing : address("agent", [lane.agent])} title=${lane.agent}>
      <span class="tl-name"><i class="pulse ${lane.state === "here" ? "" : "is-away"}"></i>
        <b dir="auto">${shownName(lane.agent)}</b>
        ${lane.unread ? html`<span class="tl-unread" title="${lane.unread} not taken yet">${number(lane.unread)}<span class="hidden"> not taken yet</span></span>` : nothing}
      </span>${this.#doing(lane)}</a>`;
  }

  /** What the agent does or waits for, and since when. */
  #doing(lane) {
    const isBrief = this.#plan.isDense || this.labels < 100;
    const since = (moment) => {
      const seconds = this.moment - moment;
      return seconds < NOW_SECONDS ? "just now" : (isBrief ? brief : span)(seconds);
    };
    if (isGone(lane.state)) return html`<span class="tl-doing is-idle">${lane.state}</span>`;
    const [wait] = lane.waits_for;
    if (wait) {
      const whom = shownName(wait.whom[0] ?? "");
      return html`<span class="tl-doing is-waiting" dir="auto"
        >${isBrief ? html`<span aria-hidden="true">◌</span><span class="hidden">waits for</span> ${whom} ${since(wait.since)}` : `waits for ${whom} · ${since(wait.since)}`}</span>`;
    }
    if (lane.role === "human") return html`<span class="tl-doing is-idle">${this.#needsWords()}</span>`;
    if (lane.doing)
      return html`<span class="tl-doing" dir="auto">${since(lane.doing.since)}${isBrief && this.#plan.isDense ? nothing : ` · ${lane.doing.gist}`}</span>`;
    return html`<span class="tl-doing is-idle">${lane.active_at ? idleWords(since(lane.active_at)) : "nothing yet"}</span>`;
  }

  #needsWords() {
    return this.needs === null || this.needs === undefined
      ? "…"
      : this.needs
        ? count(this.needs, "thing needs you", "things need you")
        : "nothing needs you";
  }

  #groupLabel(row) {
    const { role, active, agents, waiting } = row.group;
    return html`<div class="tl-label tl-group" .row=${row}><b class=${roleClass(role)}>${role}</b>
      <span class="tl-counts">${number(active)} of ${number(agents)} active${waiting ? ` · ${number(waiting)} waiting` : ""}</span></div>`;
  }

  #foldLabel(row) {
    const { role, more_active: more, quiet, open } = row.group;
    const words = open
      ? "Show fewer"
      : [more && `${number(more)} more active`, quiet && `${number(quiet)} quiet`].filter(Boolean).join(" · ");
    if (!more && !open) return html`<div class="tl-label tl-fold" .row=${row}>${words}</div>`;
    const unfold = () => this.dispatchEvent(new CustomEvent("telex-unfold", { detail: { role, open: !open } }));
    return html`<button type="button" class="tl-label tl-fold" .row=${row} aria-expanded=${open} aria-label="${role}: ${words}" @click=${unfold}
      ><span aria-hidden="true">${open ? "▾" : "▸"}</span> ${words}</button>`;
  }

  #tooltip() {
    const { hit, x, y } = this.tip;
    const facts = this.#known.get(hit.seq);
    const lead = facts
      ? html`<b dir="auto">${facts.gist}</b><span dir="auto">${shownName(facts.from)} → ${shownName(facts.to)} · ${facts.kind} · ${stateOf(facts.state).word}</span>`
      : html`<b>…</b>`;
    return html`<div class="tl-tip" .place=${{ x, y }}>${lead}<span>${this.#tipTime(hit, facts)}</span></div>`;
  }

  #tipTime({ kind, mark, agent }, facts) {
    const { from, tick } = this.answer;
    const begin = from + mark[1] * tick;
    const end = mark[2] === null || kind === "dot" ? this.moment : Math.min(from + mark[2] * tick, this.moment);
    const merged = kind === "dot" ? mark[3] : mark[6];
    const more = merged > 1 ? ` · ${merged} messages` : "";
    if (kind === "dot") return `sent ${clock(facts?.at ?? begin)}${more}`;
    if (kind === "wait") return `waits since ${clock(begin)}, ${span(end - begin)}`;
    return `in hand of ${shownName(agent)} from ${clock(begin)}, ${span(end - begin)}${more}`;
  }
}
customElements.define("telex-timeline", Timeline);

const idleWords = (since) => (since === "just now" ? "idle" : `idle ${since}`);

const keyOf = (row) => (row.kind === "lane" ? row.lane.agent : `${row.kind} ${row.group.role}`);

/** 40 s, 5 min, 2 h: one unit, for narrow labels. */
const brief = (seconds) =>
  seconds < 60
    ? `${Math.round(seconds)} s`
    : seconds < 3600
      ? `${Math.round(seconds / 60)} min`
      : seconds < 86_400
        ? `${Math.round(seconds / 3600)} h`
        : `${Math.round(seconds / 86_400)} d`;

function sized(canvas, width, height, scale) {
  const [x, y] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== x) canvas.width = x;
  if (canvas.height !== y) canvas.height = y;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}

function brightness(colour) {
  const [red, green, blue] = colour.match(/[\d.]+/g).map(Number);
  return 0.3 * red + 0.6 * green + 0.1 * blue;
}
