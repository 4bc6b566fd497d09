/** Geometry of the timeline: windows of time, rows of lanes and groups, and which mark is where. No DOM, no canvas. */

export const MINUTE = 60;
export const HOUR = 3600;
export const DAY = 86_400;

/** Lengths of the window in seconds, by name in the address; "all" is as long as the log. */
export const ZOOMS = { "5m": 5 * MINUTE, "15m": 15 * MINUTE, "1h": HOUR, "24h": DAY, all: Infinity };
export const ZOOM_WORDS = { "5m": "5 min", "15m": "15 min", "1h": "1 h", "24h": "24 h", all: "All" };

/** Numbers of a mark's shape and of a bar's state, as the hub sends them. */
export const SHAPES = ["dot", "diamond", "triangle", "refused"];
export const BAR_STATES = ["in-hand", "done", "retrying", "dead", "withdrawn"];

export const AXIS_HEIGHT = 24;
const PAD = 0.035; // of the window, to the right of the moment shown
const TICK_STEPS = [
  5,
  10,
  30,
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
];
const TICK_WIDTH = 78;

/** Heights in pixels: of a lane with one row of bars, of each row if there are several, of groups and folds. */
const ROOMY = { lane: 38, bar: 18, sub: 13, above: 5, rail: 8, radius: 3.6, group: 24, fold: 24, text: 11 };
const DENSE = { lane: 25, bar: 12, sub: 7, above: 3.5, rail: 5, radius: 2.7, group: 25, fold: 24, text: 10.5 };

/**
 * The facts of messages in an answer of the hub, by number: {from, to, at, kind, gist, state, conversation, taken}, with
 * times in seconds since 1970, so that they stay valid in later answers.
 */
export function factsOf(answer) {
  const seconds = (tick) => (tick === null ? null : answer.from + tick * answer.tick);
  return Object.entries(answer.messages).map(([seq, facts]) => {
    const [from, to, at, kind, gist, state, conversation, taken] = facts;
    const deliveries = taken.map(([agent, tick]) => ({ agent, at: seconds(tick) }));
    return [Number(seq), { from, to, at: seconds(at), kind, gist, state, conversation, taken: deliveries }];
  });
}

/** The time that is drawn. `moment`: seconds since 1970; `begins`: of the log. */
export function windowOf(zoom, moment, begins) {
  const length = ZOOMS[zoom] ?? ZOOMS["15m"];
  const span = length === Infinity ? Math.max(MINUTE, moment - begins) : length;
  return { from: moment - span, moment, to: moment + span * PAD };
}

/** Width of the column of labels. */
export const labelWidth = (width) => (width < 520 ? 92 : width < 900 ? 168 : 236);

/**
 * Rows from top to bottom: lanes, and for a large team headers of roles and lines that unfold them.
 * Each has {kind, y, height}; a lane also {lane, shape}, a header {group}, a fold {group, more, quiet}.
 */
export function rowsOf(answer) {
  const isDense = answer.groups.length > 0;
  const sizes = isDense ? DENSE : ROOMY;
  const rows = [];
  let y = 0;
  const push = (row, height) => {
    rows.push({ ...row, y, height });
    y += height;
  };
  const pushLane = (lane) => {
    const shape = laneShape(lane, sizes);
    push({ kind: "lane", lane, shape }, shape.height);
  };
  if (!isDense) answer.lanes.forEach(pushLane);
  for (const group of answer.groups) {
    const lanes = answer.lanes.filter((lane) => lane.role === group.role);
    if (group.role !== "human") push({ kind: "group", group }, sizes.group);
    lanes.forEach(pushLane);
    if (group.role !== "human" && (group.more_active || group.quiet || group.open))
      push({ kind: "fold", group }, sizes.fold);
  }
  return { rows, height: y, isDense, sizes, rowOf: rowsByAgent(rows) };
}

/** Sizes within a lane: its bars lie in one row, or in two or three thinner ones. */
function laneShape(lane, sizes) {
  const count = lane.bars.reduce((most, bar) => Math.max(most, bar[4] + 1), 1);
  if (count === 1) return { height: sizes.lane, bar: sizes.bar, count };
  return { height: sizes.lane - sizes.bar + count * (sizes.sub + 1), bar: sizes.sub, count };
}

/** The row of each agent and, for agents that have no lane, of each role. */
function rowsByAgent(rows) {
  const found = new Map();
  for (const row of rows) {
    if (row.kind === "lane") {
      found.set(row.lane.agent, row);
      if (!found.has(`role:${row.lane.role}`)) found.set(`role:${row.lane.role}`, row);
    } else if (row.kind === "group") found.set(`role:${row.group.role}`, row);
  }
  return found;
}

/** Where the rail of a row is: the line of the dots, or the middle of a header. */
export const railOf = (row, sizes) => (row.kind === "lane" ? row.y + row.height - sizes.rail : row.y + row.height / 2);

/** Top of a bar in its row. */
export const barTop = (row, sizes, sub) =>
  row.y + sizes.above + Math.min(sub, row.shape.count - 1) * (row.shape.bar + 1);

/** Rows that are at least partly between these heights. */
export const rowsBetween = (rows, top, bottom) => rows.filter((row) => row.y + row.height > top && row.y < bottom);

/** Seconds between two ticks of the axis, for a width in pixels. */
export const tickStep = (span, width) =>
  TICK_STEPS.find((step) => (span / step) * TICK_WIDTH < width) ?? TICK_STEPS[TICK_STEPS.length - 1];

/** First index of a list of marks, sorted by start, whose start is not before `time`. */
export function firstFrom(marks, time) {
  let low = 0;
  let high = marks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (marks[middle][1] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Text cut to a width by the mean width of a character: to measure every label would cost more than to draw it. */
export function shortened(text, width) {
  const most = Math.floor(width / 5.3);
  return text.length > most ? `${text.slice(0, Math.max(1, most - 1)).trimEnd()}…` : text;
}

/** The longest part of a bar, in pixels, that no wait covers: its text goes there. */
export function roomOf(bar, waits) {
  let best = [bar[0], bar[0]];
  let from = bar[0];
  for (const [begin, end] of waits) {
    if (end < bar[0] || begin > bar[1]) continue;
    if (begin - from > best[1] - best[0]) best = [from, begin];
    from = Math.max(from, end);
  }
  return bar[1] - from > best[1] - best[0] ? [from, bar[1]] : best;
}

// --- input ---

/** The mark at a point of the content; a dot is found before the bars behind it. */
export function markAt(hits, x, y) {
  const found = hits.filter((hit) => x >= hit.x0 - 1 && x <= hit.x1 + 1 && y >= hit.y0 && y <= hit.y1);
  return found.findLast((hit) => hit.kind === "dot") ?? found.at(-1) ?? null;
}

/**
 * The message that an arrow key leads to. Left and right: the message before or after in the lane; up and down: the one
 * that is nearest in time in the next lane that has any. `limit`: ticks of the moment shown.
 */
export function neighbour(lanes, current, key, limit) {
  const visible = lanes.map((lane) => ({ lane, dots: lane.dots.filter((dot) => dot[1] <= limit) }));
  const index = visible.findIndex(({ dots }) => dots.some((dot) => dot[0] === current));
  if (index < 0) return latest(visible);
  const { dots } = visible[index];
  const place = dots.findIndex((dot) => dot[0] === current);
  if (key === "ArrowLeft" || key === "ArrowRight")
    return found(visible[index], dots[place + (key === "ArrowRight" ? 1 : -1)]);
  const step = key === "ArrowDown" ? 1 : -1;
  for (let other = index + step; visible[other]; other += step) {
    if (visible[other].dots.length) return found(visible[other], nearest(visible[other].dots, dots[place][1]));
  }
  return null;
}

const found = ({ lane }, dot) => (dot ? { seq: dot[0], agent: lane.agent } : null);

const nearest = (dots, time) =>
  dots.reduce((one, other) => (Math.abs(other[1] - time) < Math.abs(one[1] - time) ? other : one));

function latest(visible) {
  const ends = visible.filter(({ dots }) => dots.length).map((entry) => ({ entry, dot: entry.dots.at(-1) }));
  if (!ends.length) return null;
  const last = ends.reduce((one, other) => (other.dot[1] > one.dot[1] ? other : one));
  return found(last.entry, last.dot);
}
