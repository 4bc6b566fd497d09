/** Drawing of the timeline on a canvas: bars, waits, dots, stairs of escalations, arrows, and the moment shown. */

import { clock, clockShort, dayAndClock } from "../format.js";
import { roleToken } from "../states.js";
import {
  AXIS_HEIGHT,
  BAR_STATES,
  DAY,
  MINUTE,
  SHAPES,
  barTop,
  railOf,
  roomOf,
  rowsBetween,
  shortened,
  tickStep,
} from "./layout.js";

const TEXT_MIN = 46; // pixels of a bar that has room for its text
const WAIT_TEXT_MIN = 64;
const HIT_MARGIN = 6; // pixels around a dot
const STATES_IN_RED = new Set(["retrying", "dead"]);

/**
 * Draw one picture. The scene has `answer` of the hub, `plan` of the rows, `window`, sizes in pixels, `colours`, the
 * `facts` of messages, and what is selected or pointed at. Returns the number of marks and where they are.
 */
export function drawTimeline(context, scene) {
  const drawing = new Drawing(context, scene);
  drawing.all();
  return { marks: drawing.marks, hits: drawing.hits };
}

class Drawing {
  /** @type {Record<string, any>} */
  scene;

  constructor(context, scene) {
    this.scene = scene;
    this.c = context;
    this.marks = 0;
    this.hits = [];
    const { from, to } = scene.window;
    this.perTick = (scene.answer.tick / (to - from)) * scene.width;
    this.offset = ((scene.answer.from - from) / (to - from)) * scene.width;
    this.limit = (scene.window.moment - scene.answer.from) / scene.answer.tick; // marks after it are not drawn
    this.left = -this.offset / this.perTick; // the first tick that is visible
    this.nowX = this.xOf(this.limit);
  }

  xOf(tick) {
    return this.offset + tick * this.perTick;
  }

  xAt(seconds) {
    return ((seconds - this.scene.window.from) / (this.scene.window.to - this.scene.window.from)) * this.scene.width;
  }

  all() {
    const { c } = this;
    const { plan, top, viewHeight } = this.scene;
    const rows = rowsBetween(plan.rows, top, top + viewHeight);
    c.setTransform(this.scene.scale, 0, 0, this.scene.scale, 0, 0);
    c.clearRect(0, 0, this.scene.width, viewHeight);
    c.translate(0, -top);
    this.grid();
    for (const row of rows) this.row(row);
    this.climbs();
    if (this.scene.focus) this.arrows();
    for (const row of rows) if (row.kind === "lane") this.dots(row);
    this.moment();
  }

  line(x0, y0, x1, y1) {
    this.c.beginPath();
    this.c.moveTo(x0, y0);
    this.c.lineTo(x1, y1);
    this.c.stroke();
  }

  grid() {
    const { from, to } = this.scene.window;
    const step = tickStep(to - from, this.scene.width);
    this.c.strokeStyle = this.scene.colours["--grid"];
    this.c.lineWidth = 1;
    for (const moment of ticksOf(from, to, step)) {
      const x = Math.round(((moment - from) / (to - from)) * this.scene.width) + 0.5;
      this.line(x, this.scene.top, x, this.scene.top + this.scene.viewHeight);
    }
  }

  row(row) {
    const { c } = this;
    if (row.kind === "group") this.density(row);
    c.globalAlpha = 1;
    c.strokeStyle = this.scene.colours["--line"];
    c.lineWidth = 1;
    this.line(0, row.y + row.height - 0.5, this.scene.width, row.y + row.height - 0.5);
    if (row.kind === "lane") this.lane(row);
  }

  isDim(seq) {
    return this.scene.dims && !this.scene.focus.has(seq);
  }

  // --- lanes ---------------------------------------------------------------------------------------------------------

  lane(row) {
    const { c } = this;
    const rail = railOf(row, this.scene.plan.sizes);
    c.strokeStyle = this.scene.colours["--line-strong"]; // a dotted line makes idle time visible
    c.setLineDash([1, 4]);
    this.line(0, rail, this.nowX, rail);
    c.setLineDash([]);
    const waits = row.lane.waits.filter((wait) => wait[1] <= this.limit && (wait[2] === null || wait[2] >= this.left));
    const spans = waits.map((wait) => [this.xOf(wait[1]), this.xOf(this.endOf(wait))]);
    let last = -9;
    for (const bar of row.lane.bars) {
      if (bar[1] > this.limit) break;
      if (this.endOf(bar) < this.left) continue;
      const x0 = Math.max(this.xOf(bar[1]), -4);
      const x1 = Math.max(this.xOf(this.endOf(bar)), x0 + 2);
      if (x1 - x0 <= 2 && x0 - last < 1 && bar[4] === 0) continue; // merged with the pixel before it
      last = x1;
      this.bar(row, bar, x0, x1, spans);
    }
    waits.forEach((wait, index) => this.wait(row, wait, Math.max(spans[index][0], -4), spans[index][1]));
    c.globalAlpha = 1;
  }

  endOf(mark) {
    return mark[2] === null ? this.limit : Math.min(mark[2], this.limit);
  }

  isOpen(mark) {
    return mark[2] === null || mark[2] > this.limit;
  }

  /** Solid while it is in hand, pale with a solid edge afterwards. */
  bar(row, bar, x0, x1, spans) {
    const { c } = this;
    const [top, height, width] = [barTop(row, this.scene.plan.sizes, bar[4]), row.shape.bar, x1 - x0];
    const isRunning = this.isOpen(bar);
    const isDim = this.isDim(bar[0]);
    const isNarrow = width < 4;
    const isFailed = !isRunning && STATES_IN_RED.has(BAR_STATES[bar[3]]);
    const ink = this.scene.colours[isFailed ? "--state-dead" : roleToken(row.lane.role)];
    c.globalAlpha = isDim ? 0.12 : isRunning ? 1 : isNarrow ? 0.5 : this.scene.isDark ? 0.26 : 0.17;
    c.fillStyle = ink;
    c.beginPath();
    c.roundRect(x0, top, width, height, Math.min(3, width / 2));
    c.fill();
    c.globalAlpha = isDim ? 0.25 : 1;
    if (!isRunning && (!isNarrow || !this.scene.plan.isDense)) c.fillRect(x0, top, Math.min(2, width), height);
    this.marks += 1;
    if (bar[0] === this.scene.selected) this.outline(x0, top, width, height);
    this.hits.push({ x0, x1, y0: top, y1: top + height, seq: bar[0], kind: "bar", mark: bar, agent: row.lane.agent });
    if (isDim || height < 11) return;
    const [from, to] = roomOf([Math.max(x0, 0), x1], spans);
    if (to - from > TEXT_MIN) this.barText(bar, { from, to, top, height, ink, isRunning });
  }

  barText(bar, { from, to, top, height, ink, isRunning }) {
    const { c } = this;
    const gist = this.scene.facts.get(bar[0])?.gist;
    if (!gist) return;
    c.save();
    c.beginPath();
    c.rect(from, top, to - from - 3, height);
    c.clip();
    c.font = `${this.scene.plan.sizes.text}px ${this.scene.font}`;
    c.textBaseline = "middle";
    c.fillStyle = isRunning ? this.scene.colours["--panel"] : ink;
    c.fillText(shortened(gist, to - from - 12), from + 7, top + height / 2 + 0.5);
    c.restore();
  }

  outline(x, y, width, height) {
    this.c.strokeStyle = this.scene.colours["--ink"];
    this.c.lineWidth = 1.5;
    this.c.beginPath();
    this.c.roundRect(x - 1, y - 1, width + 2, height + 2, 4);
    this.c.stroke();
  }

  wait(row, wait, x0, end) {
    const { c } = this;
    const x1 = Math.max(end, x0 + 3);
    const [top, height] = [
      barTop(row, this.scene.plan.sizes, 0),
      row.shape.bar * row.shape.count + row.shape.count - 1,
    ];
    const isOpen = this.isOpen(wait);
    const isDim = this.isDim(wait[0]);
    c.globalAlpha = isDim ? 0.2 : 1;
    c.fillStyle = this.scene.colours["--needs-bg"];
    c.beginPath();
    c.roundRect(x0, top, x1 - x0, height, 3);
    c.fill();
    c.fillStyle = this.scene.hatch;
    c.globalAlpha = isDim ? 0.15 : isOpen ? 0.85 : 0.5;
    c.fill();
    c.globalAlpha = isDim ? 0.25 : 1;
    c.strokeStyle = this.scene.colours["--state-waiting"];
    c.lineWidth = isOpen ? 1.5 : 1;
    c.stroke();
    this.marks += 1;
    this.hits.push({
      x0,
      x1,
      y0: top,
      y1: top + height,
      seq: wait[0],
      kind: "wait",
      mark: wait,
      agent: row.lane.agent,
    });
    if (!isDim && x1 - x0 > WAIT_TEXT_MIN) this.waitText(wait, Math.max(x0, 0), x1, top, height);
  }

  waitText(wait, x0, x1, top, height) {
    const { c } = this;
    const words = `waits for ${wait[3][0] === "human" ? "you" : wait[3][0]}`;
    c.font = `600 ${this.scene.plan.sizes.text}px ${this.scene.font}`;
    c.textBaseline = "middle";
    const width = c.measureText(words).width;
    if (width + 14 > x1 - x0) return;
    c.globalAlpha = 1;
    c.fillStyle = this.scene.colours["--needs-bg"];
    c.beginPath();
    c.roundRect(x0 + 5, top + 2, width + 6, height - 4, 2);
    c.fill();
    c.fillStyle = this.scene.colours["--state-waiting"];
    c.fillText(words, x0 + 8, top + height / 2 + 0.5);
  }

  // --- dots ----------------------------------------------------------------------------------------------------------

  dots(row) {
    const { c } = this;
    const { radius } = this.scene.plan.sizes;
    const y = railOf(row, this.scene.plan.sizes);
    let last = -9;
    for (const dot of row.lane.dots) {
      if (dot[1] > this.limit) break;
      if (dot[1] < this.left) continue;
      const x = this.xOf(dot[1]);
      const shape = SHAPES[dot[2]];
      const isChosen = dot[0] === this.scene.selected || dot[0] === this.scene.hover || dot[0] === this.scene.cursor;
      if (!isChosen && shape === "dot" && x - last < radius) continue; // merged with the dot before it
      if (shape === "dot") last = x;
      c.globalAlpha = this.isDim(dot[0]) ? 0.18 : 1;
      if (shape === "refused") this.cross(x, y, radius);
      else this.dot(x, y, shape, roleToken(row.lane.role));
      if (isChosen) this.ring(x, y, radius + 3.5);
      this.marks += 1;
      const [x0, x1] = [x - HIT_MARGIN, x + HIT_MARGIN];
      this.hits.push({ x0, x1, y0: y - 7, y1: y + 7, seq: dot[0], kind: "dot", mark: dot, agent: row.lane.agent });
    }
    c.globalAlpha = 1;
  }

  dot(x, y, shape, token) {
    const { c } = this;
    const { radius } = this.scene.plan.sizes;
    this.disc(x, y, radius + 1.3, "--panel");
    c.fillStyle = this.scene.colours[shape === "triangle" ? "--state-waiting" : token];
    c.beginPath();
    if (shape === "dot") c.arc(x, y, radius, 0, 7);
    else
      this.polygon(
        shape === "triangle"
          ? [
              [0, -1.4],
              [1.3, 1],
              [-1.3, 1],
            ]
          : [
              [0, -1.33],
              [1.33, 0],
              [0, 1.33],
              [-1.33, 0],
            ],
        x,
        y,
      );
    c.fill();
  }

  polygon(corners, x, y) {
    const { radius } = this.scene.plan.sizes;
    corners.forEach(([dx, dy], index) => this.c[index ? "lineTo" : "moveTo"](x + dx * radius, y + dy * radius));
    this.c.closePath();
  }

  disc(x, y, radius, token) {
    this.c.fillStyle = this.scene.colours[token];
    this.c.beginPath();
    this.c.arc(x, y, radius, 0, 7);
    this.c.fill();
  }

  cross(x, y, radius) {
    const { c } = this;
    this.disc(x, y, radius + 2.6, "--panel");
    this.disc(x, y, radius + 1.8, "--state-refused");
    c.strokeStyle = this.scene.colours["--panel"];
    c.lineWidth = 1.5;
    const arm = radius * 0.55;
    this.line(x - arm, y - arm, x + arm, y + arm);
    this.line(x + arm, y - arm, x - arm, y + arm);
  }

  ring(x, y, radius) {
    this.c.strokeStyle = this.scene.colours["--ink"];
    this.c.lineWidth = 1.5;
    this.c.beginPath();
    this.c.arc(x, y, radius, 0, 7);
    this.c.stroke();
  }

  // --- groups --------------------------------------------------------------------------------------------------------

  /** Header of a role: how many of its agents had a message in hand, and how many waited, as step areas. */
  density(row) {
    const { c } = this;
    const { in_hand: held, waiting } = row.group.density;
    const most = Math.max(...held, ...waiting, 1);
    c.globalAlpha = 1;
    c.fillStyle = this.scene.colours["--sunk"];
    c.fillRect(0, row.y, this.scene.width, row.height - 1);
    this.steps(row, held, most, roleToken(row.group.role), 0.42);
    this.steps(row, waiting, most, "--state-waiting", 0.85);
    this.marks += 2;
  }

  steps(row, counts, most, token, alpha) {
    const { c } = this;
    const floor = row.y + row.height - 1;
    const ticks = (this.scene.answer.to - this.scene.answer.from) / this.scene.answer.tick / counts.length;
    c.fillStyle = this.scene.colours[token];
    c.globalAlpha = alpha;
    c.beginPath();
    c.moveTo(this.xOf(0), floor);
    for (let cell = 0; cell < counts.length && cell * ticks < this.limit; cell += 1) {
      const y = floor - (counts[cell] / most) * (row.height - 7);
      const end = Math.min((cell + 1) * ticks, this.limit);
      c.lineTo(this.xOf(cell * ticks), y);
      c.lineTo(this.xOf(end), y);
    }
    c.lineTo(Math.min(this.xOf(counts.length * ticks), this.nowX), floor);
    c.closePath();
    c.fill();
  }

  // --- escalations and arrows ----------------------------------------------------------------------------------------

  /** A row for an agent or an address; lanes that are folded are found at the header of their role. */
  rowFor(name, role = "") {
    const { rowOf } = this.scene.plan;
    return rowOf.get(name) ?? rowOf.get(`role:${name.replace(/^(one|all) of /, "")}`) ?? rowOf.get(`role:${role}`);
  }

  /** A stair from the agent that asks upwards, one step for each rung. Open ones are always drawn. */
  climbs() {
    for (const climb of this.scene.answer.climbs) {
      const rungs = climb.rungs.filter((rung) => rung[1] <= this.limit);
      const end = climb.answered === null ? this.limit : Math.min(climb.answered, this.limit);
      const isOpen = climb.answered === null || climb.answered > this.limit;
      const isChosen = this.scene.focus?.has(climb.message) ?? false;
      if (!rungs.length || end < this.left || (this.scene.dims && !isChosen)) continue;
      if (!isOpen && !isChosen && this.scene.plan.isDense) continue;
      const rows = [this.rowFor(climb.by), ...rungs.map((rung) => this.rowFor(rung[0]))];
      if (rows.every(Boolean)) this.stair(rungs, rows, { end, isOpen, isChosen });
    }
  }

  stair(rungs, rows, { end, isOpen, isChosen }) {
    const { c } = this;
    const levels = rows.map((row) => railOf(row, this.scene.plan.sizes));
    c.strokeStyle = this.scene.colours["--state-waiting"];
    c.fillStyle = this.scene.colours["--state-waiting"];
    c.globalAlpha = isOpen || isChosen ? 1 : 0.45;
    c.lineWidth = isOpen ? 2 : 1.5;
    c.beginPath();
    rungs.forEach((rung, index) => {
      const x = this.xOf(rung[1]);
      c.moveTo(x, levels[index]);
      c.lineTo(x, levels[index + 1]);
      c.lineTo(this.xOf(rungs[index + 1]?.[1] ?? end), levels[index + 1]);
    });
    c.stroke();
    rungs.forEach((rung, index) => this.head(this.xOf(rung[1]), levels[index + 1], levels[index + 1] < levels[index]));
    this.marks += rungs.length;
    c.globalAlpha = 1;
  }

  head(x, y, isUp) {
    const way = isUp ? 1 : -1;
    this.c.beginPath();
    this.c.moveTo(x, y + way);
    this.c.lineTo(x + 4.5, y + 8 * way);
    this.c.lineTo(x - 4.5, y + 8 * way);
    this.c.closePath();
    this.c.fill();
  }

  /** Curves from the dot of a sender to the moment at which each recipient took the message. */
  arrows() {
    for (const seq of this.scene.focus) {
      const facts = this.scene.facts.get(seq);
      const source = facts && this.rowFor(facts.from);
      const { moment, from } = this.scene.window;
      if (!source || facts.at > moment) continue;
      for (const { agent, at } of facts.taken) {
        const target = this.rowFor(agent);
        const isTaken = at !== null && at <= moment;
        const end = isTaken ? at : moment;
        if (target && target !== source && end >= from)
          this.arrow(seq, source, target, { begin: facts.at, end, isTaken });
      }
    }
    this.c.globalAlpha = 1;
  }

  arrow(seq, source, target, { begin, end, isTaken }) {
    const { c } = this;
    const [x0, x1, y0] = [this.xAt(begin), this.xAt(end), railOf(source, this.scene.plan.sizes)];
    const isDown = target.y > source.y;
    const below =
      target.kind === "group"
        ? target.y + target.height / 2
        : barTop(target, this.scene.plan.sizes, 2) + target.shape.bar + 1;
    const y1 = target.kind === "group" ? below : isDown ? barTop(target, this.scene.plan.sizes, 0) - 1 : below;
    const isChosen = seq === this.scene.selected || seq === this.scene.hover;
    const way = isDown ? 1 : -1;
    const bend = Math.max(14, Math.abs(y1 - y0) * 0.45) * way;
    c.strokeStyle = this.scene.colours[roleToken((source.lane ?? source.group).role)];
    c.fillStyle = c.strokeStyle;
    c.globalAlpha = isChosen ? 1 : 0.75;
    c.lineWidth = isChosen ? 2 : 1.3;
    c.setLineDash(isTaken ? [] : [4, 3]);
    c.beginPath();
    c.moveTo(x0, y0);
    c.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1 - 5 * way);
    c.stroke();
    c.setLineDash([]);
    this.head(x1, y1, !isDown);
    this.marks += 1;
  }

  moment() {
    const x = Math.round(this.nowX) + 0.5;
    this.c.strokeStyle = this.scene.colours[this.scene.isLive ? "--accent" : "--state-in-hand"];
    this.c.lineWidth = 1.5;
    this.line(x, this.scene.top, x, this.scene.top + this.scene.viewHeight);
  }
}

// --- axis ------------------------------------------------------------------------------------------------------------

/** Moments of the ticks, at whole steps of the person's own time of day. */
function ticksOf(from, to, step) {
  const zone = -new Date(from * 1000).getTimezoneOffset() * MINUTE;
  const moments = [];
  for (let moment = Math.ceil((from + zone) / step) * step - zone; moment < to; moment += step) moments.push(moment);
  return moments;
}

/** The axis above the lanes, with the moment shown as a tag. */
export function drawAxis(c, { window, width, scale, colours, font, isLive }) {
  const { from, to, moment } = window;
  const step = tickStep(to - from, width);
  const xOf = (at) => ((at - from) / (to - from)) * width;
  c.setTransform(scale, 0, 0, scale, 0, 0);
  c.clearRect(0, 0, width, AXIS_HEIGHT);
  c.font = `11px ${font}`;
  c.textBaseline = "middle";
  c.fillStyle = colours["--faint"];
  const words = isLive ? `now ${clockShort(moment)}` : step >= DAY / 4 ? dayAndClock(moment) : clock(moment);
  const tag = c.measureText(words).width + 12;
  for (const at of ticksOf(from, to, step)) {
    const text = step < MINUTE ? clock(at) : to - from > DAY ? dayAndClock(at) : clockShort(at);
    const half = c.measureText(text).width / 2;
    if (xOf(at) > half && xOf(at) + half < xOf(moment) - tag / 2 - 4) c.fillText(text, xOf(at) - half, 12);
  }
  const x = Math.min(xOf(moment) - tag / 2, width - tag - 2);
  c.fillStyle = colours[isLive ? "--accent" : "--state-in-hand"];
  c.beginPath();
  c.roundRect(x, 3, tag, 18, 4);
  c.fill();
  c.fillStyle = colours["--panel"];
  c.fillText(words, x + 6, 12.5);
}

/** Hatching of waits, as a pattern that is made once for each theme. */
export function hatchPattern(context, colour, scale) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6 * scale;
  const c = /** @type {any} */ (tile.getContext("2d"));
  c.scale(scale, scale);
  c.strokeStyle = colour;
  c.lineWidth = 1.3;
  c.globalAlpha = 0.75;
  c.beginPath();
  for (const k of [-6, 0, 6]) {
    c.moveTo(k - 1, 7);
    c.lineTo(k + 7, -1);
  }
  c.stroke();
  const pattern = context.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(1 / scale));
  return pattern;
}
