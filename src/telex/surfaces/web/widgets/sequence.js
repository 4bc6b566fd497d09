/** Sequence diagram of a conversation: lanes, arrows, bars of messages in hand, folded gaps. Layout first, then SVG. */

import { html, nothing, svg } from "../vendor/lit.js";
import { clock, count, span } from "../format.js";
import { roleClass, roleRank } from "../states.js";
import { shownName } from "./message.js";

const TIMES = [62, 90]; // width of the column of times: narrow, wide
const COLUMN_MIN = [84, 104];
const NARROW = 500;
const ROW = 44;
const HEAD = 38;
const GAP_ROW = 26;
const GAP_SECONDS = 120; // longer ones are folded
const HELD_SECONDS = 1; // shorter ones have no length beside them
const LANES_MAX = 12; // then those with the fewest messages share one
const NAMED_MAX = 3; // recipients of a message that get lanes because of it
const CHARACTER = 5.9; // mean width
const BAR_STEP = 6; // pixels between bars of one lane that overlap
const BARS_MAX = 3;
const BUS = "telex";

// --- layout ----------------------------------------------------------------------------------------------------------

/** Seconds between two messages that are worth a fold; 0 otherwise. */
export function foldOf(row, previous) {
  const gap = previous ? row.at - previous.at : 0;
  return gap > GAP_SECONDS ? gap : 0;
}

/** Who sent it, as the diagram shows it: an escalation that climbs comes from the level that has not answered. */
const senderOf = (row) => row.climb?.from ?? row.from;

const takersOf = (row) => [...new Set(row.deliveries.map((one) => one.agent))];

/** Lanes in the order of the roles: those who speak, and those who are spoken to by name. */
function lanesOf(rows, roles) {
  const weights = new Map();
  const add = (name, weight) => weights.set(name, (weights.get(name) ?? 0) + weight);
  for (const row of rows) {
    add(senderOf(row), 2);
    const takers = takersOf(row);
    if (takers.length + row.deliveries_more <= NAMED_MAX) for (const name of takers) add(name, 1);
  }
  const names = [...weights.keys()].sort((one, other) => weights.get(other) - weights.get(one));
  const shown = names.length > LANES_MAX ? names.slice(0, LANES_MAX - 1) : names;
  const lanes = shown
    .map((name) => ({ name, role: roleOf(name, roles), label: shownName(name), x: 0 }))
    .sort((one, other) => roleRank(one.role) - roleRank(other.role) || one.name.localeCompare(other.name));
  const others = names.length - shown.length;
  return others ? [...lanes, { name: null, role: "", label: count(others, "other"), x: 0 }] : lanes;
}

const roleOf = (name, roles) =>
  name === BUS ? "hub" : name.startsWith("role:") ? name.slice(5) : (roles[name] ?? name);

/** Everything with its place: `{width, height, lanes, steps, bars}`. `end`: the moment at which open bars end. */
export function layout(rows, roles, room) {
  const size = room < NARROW ? 0 : 1;
  const left = TIMES[size];
  const lanes = lanesOf(rows, roles);
  const column = Math.max(COLUMN_MIN[size], (room - left - 14) / Math.max(1, lanes.length));
  lanes.forEach((lane, index) => (lane.x = left + column * (index + 0.5)));
  const byName = new Map(lanes.map((lane) => [lane.name, lane]));
  const laneOf = (name) => byName.get(name) ?? byName.get(null);
  const steps = [];
  let y = 26;
  rows.forEach((row, index) => {
    const gap = foldOf(row, rows[index - 1]);
    if (gap) y += GAP_ROW;
    steps.push({ row, y, gap, since: index ? row.at - rows[index - 1].at : 0, ...ends(row, laneOf) });
    y += ROW;
  });
  const width = left + column * lanes.length + 12;
  const height = y + 2;
  return { width, height, left, column, lanes, steps, isNarrow: !size, bars: barsOf(steps, byName, height) };
}

/** Where the arrow begins and which lanes it reaches. */
function ends(row, laneOf) {
  const from = laneOf(senderOf(row));
  const takers = takersOf(row);
  const meant = takers.length ? takers : row.to; // a refused message points at those it was for
  const reached = new Set(meant.map(laneOf).filter((lane) => lane && lane !== from));
  return { from, to: [...reached], isSelf: !reached.size && takers.some((name) => laneOf(name) === from) };
}

/** Bars of messages in hand on the lanes of those who had them; those that overlap are beside each other. */
function barsOf(steps, byName, height) {
  const place = scaleOf(steps, height);
  const bars = [];
  const levels = new Map();
  for (const { row, y } of steps) {
    for (const one of row.deliveries) {
      const lane = byName.get(one.agent);
      if (!lane || one.taken === null) continue;
      const top = Math.max(y + 2, place(one.taken));
      const bottom = one.done === null ? height : Math.max(top + 5, place(one.done));
      const ended = levels.get(lane) ?? [];
      const free = ended.findIndex((end) => end <= top);
      const level = free < 0 ? Math.min(ended.length, BARS_MAX - 1) : free;
      ended[level] = bottom;
      levels.set(lane, ended);
      bars.push({ lane, top, bottom, level, isOpen: one.done === null, seq: row.seq });
    }
  }
  return bars;
}

/** Moment → height: between two messages in proportion to the time. */
function scaleOf(steps, height) {
  return (moment) => {
    const index = steps.findLastIndex((step) => step.row.at <= moment);
    if (index < 0) return 0;
    const here = steps[index];
    const next = steps[index + 1];
    if (!next) return Math.min(height - 6, here.y + 8);
    return here.y + ((moment - here.row.at) / (next.row.at - here.row.at || 1)) * (next.y - here.y);
  };
}

// --- drawing ---------------------------------------------------------------------------------------------------------

/**
 * The diagram in a place of so many pixels: names, which stay in view, and messages. `chosen`: number of the message
 * that is selected; `choose(row)`: what a click on an arrow does; `moment`: until when open bars last.
 */
export function sequence(rows, { roles, room, chosen, choose, moment }) {
  const drawn = layout(rows, roles, room);
  const { width, height, lanes, steps } = drawn;
  const names = lanes.map((lane) => lane.label).join(", ");
  return html`<svg class="seq-head-row" width=${width} height=${HEAD} viewBox="0 0 ${width} ${HEAD}" aria-hidden="true">
      ${lanes.map((lane) => head(lane, drawn))}</svg>
    <svg class="seq" width=${width} height=${height} viewBox="0 0 ${width} ${height}" role="img"
      aria-label="${count(rows.length, "message")} between ${names}">
      ${lanes.map((lane) => svg`<line class="seq-life" x1=${lane.x} x2=${lane.x} y1="0" y2=${height}></line>`)}
      ${drawn.bars.map(bar)}
      ${steps.map((step) => [fold(step, drawn), message(step, drawn, { chosen, choose, moment })])}
    </svg>`;
}

function head(lane, { column }) {
  return svg`<g class=${laneClass(lane)}><title>${lane.name ?? lane.label}</title>
    <rect class="seq-actor" x=${lane.x - column / 2 + 5} y="6" width=${column - 10} height="26" rx="5"></rect>
    <text class="seq-name" x=${lane.x} y="23" text-anchor="middle">${fitted(lane.label, (column - 20) * 0.85)}</text></g>`;
}

const laneClass = (lane) => (lane.name === null ? "role-hub" : roleClass(lane.role));

function bar({ lane, top, bottom, level, isOpen }) {
  return svg`<rect class="seq-hold ${laneClass(lane)} ${isOpen ? "is-open" : ""}" x=${lane.x - 3.5 + level * BAR_STEP}
    y=${top} width="7" height=${bottom - top} rx="2"></rect>`;
}

function fold({ gap, y }, { left, width }) {
  if (!gap) return nothing;
  const words = span(gap);
  const teeth = Array.from({ length: Math.floor((width - left) / 10) }, () => "l 5 4 l 5 -4").join(" ");
  return svg`<g class="seq-gap"><path class="seq-fold" d="M ${left - 6} ${y - 36} ${teeth}"></path>
    <rect class="seq-fold-back" x=${left + 4} y=${y - 45} width=${16 + words.length * 6.3} height="20" rx="10"></rect>
    <text class="seq-fold-word" x=${left + 12} y=${y - 31}>${words}</text></g>`;
}

function message(step, drawn, { chosen, choose, moment }) {
  const { row, y, since, gap } = step;
  const isChosen = row.seq === chosen;
  const classes = ["seq-row", toneOf(step), isChosen ? "is-chosen" : "", chosen && !isChosen ? "is-dim" : ""];
  return svg`<g class=${classes.join(" ")} data-seq=${row.seq} @click=${() => choose(row)}>
    <title>${row.gist}</title>
    <rect class="seq-back" x="0" y=${y - 24} width=${drawn.width} height=${ROW - 4} rx="5"></rect>
    <text class="seq-time" x="8" y=${y - 2}>${clock(row.at)}</text>
    ${since > 0 && !gap && !drawn.isNarrow ? svg`<text class="seq-delta" x="8" y=${y + 10}>+${span(since)}</text>` : nothing}
    ${arrow(step)} ${held(step, drawn, moment)} ${words(step, drawn)}</g>`;
}

const isClimb = (row) => row.type && (row.climb !== null || row.kind === "escalation") && row.state !== "refused";

function toneOf({ row, from }) {
  if (row.state === "refused") return "is-refused";
  if (isClimb(row)) return "is-escalation";
  return laneClass(from);
}

/** The lane that the arrow goes to the farthest; a message that reaches nobody goes a little aside. */
function targetOf({ from, to }) {
  const farthest = to.reduce(
    (far, lane) => (Math.abs(lane.x - from.x) > Math.abs(far - from.x) ? lane.x : far),
    from.x,
  );
  return farthest === from.x ? from.x + 64 : farthest;
}

function arrow(step) {
  const { row, y, from, to, isSelf } = step;
  const far = targetOf(step);
  const side = Math.sign(far - from.x);
  if (row.state === "refused") return refused(from.x, y, far);
  if (isSelf)
    return svg`<path class="seq-line" d="M ${from.x} ${y - 4} h 26 v 10 h -18"></path>${point(from.x + 6, y + 6, -1)}`;
  const heads = to.length
    ? to.map((lane) => point(lane.x, y - (isClimb(row) ? 5 : 0), Math.sign(lane.x - from.x)))
    : point(far, y, side);
  const half = (from.x + far) / 2;
  const way = isClimb(row)
    ? `M ${from.x} ${y + 3} H ${half} V ${y - 5} H ${far - side * 7}`
    : `${[...sides(step, far)].map((end) => `M ${from.x} ${y} H ${end}`).join(" ")}`;
  return svg`<path class="seq-line ${row.state === "sent" ? "not-taken" : ""} ${isClimb(row) ? "climb" : ""}" d=${way}></path>
    ${heads}<circle class="seq-dot" cx=${from.x} cy=${isClimb(row) ? y + 3 : y} r="3.5"></circle>`;
}

/** Ends of the line: recipients may be on both sides of the sender. */
function sides({ from, to }, far) {
  const ends = new Set();
  for (const side of [-1, 1]) {
    const there = to.filter((lane) => Math.sign(lane.x - from.x) === side).map((lane) => Math.abs(lane.x - from.x));
    if (there.length) ends.add(from.x + side * (Math.max(...there) - 7));
  }
  return ends.size ? ends : new Set([far - 7]);
}

const point = (x, y, side) => svg`<path class="seq-point" d="M ${x} ${y} l ${-9 * side} -4.5 v 9 z"></path>`;

function refused(x, y, far) {
  const stop = x + (far - x) * 0.62;
  return svg`<path class="seq-line crossed" d="M ${x} ${y} H ${stop}"></path>
    <circle class="seq-dot" cx=${x} cy=${y} r="3.5"></circle><circle class="seq-stop" cx=${stop} cy=${y} r="7"></circle>
    <path class="seq-cross" d="M ${stop - 3} ${y - 3} l 6 6 M ${stop + 3} ${y - 3} l -6 6"></path>`;
}

/** How long the one recipient had it in hand. */
function held({ row, y, to, from, isSelf }, { bars }, moment) {
  const [one] = row.deliveries;
  if (row.deliveries.length !== 1 || one.taken === null) return nothing;
  const length = (one.done ?? moment) - one.taken;
  if (length < HELD_SECONDS) return nothing;
  const lane = isSelf ? from : to[0];
  const level = bars.find((one) => one.seq === row.seq)?.level ?? 0;
  return svg`<text class="seq-delta" x=${lane.x + 8 + level * BAR_STEP} y=${y + 15}>${span(length)}${one.done === null ? " so far" : ""}</text>`;
}

/** What it is about, above the arrow, and to how many it went where not every one has a lane. */
function words(step, { width, lanes }) {
  const { row, y, from } = step;
  const far = targetOf(step);
  const room = Math.abs(far - from.x) - 22;
  const begin = Math.min(from.x, far) + 11;
  const isShort = room < 150;
  const x = isShort ? Math.max(8, Math.min(begin, width - 190)) : begin;
  const all = takersOf(row).length + row.deliveries_more;
  const recipients = all > NAMED_MAX || (all && lanes.length < 2) ? `to ${row.to_label} (${all}): ` : "";
  const why = row.state === "refused" ? `${row.codes[0] ?? "refused"}: ` : "";
  const text = fitted(`${why}${recipients}${row.gist}`, isShort ? Math.min(260, width - x - 8) : room);
  return svg`<text class="seq-words" x=${x} y=${y - (isClimb(row) ? 12 : 7)}>${text}</text>`;
}

/** The beginning of a text that fits into so many pixels; ideographs and emoji take twice the room. */
export function fitted(text, pixels) {
  const letters = [...text];
  let left = Math.max(6 * CHARACTER, pixels);
  for (let index = 0; index < letters.length; index += 1) {
    left -= letters[index] > "\u2e7f" ? CHARACTER * 2 : CHARACTER;
    if (left < 0) return `${letters.slice(0, Math.max(1, index - 1)).join("")}…`;
  }
  return text;
}
