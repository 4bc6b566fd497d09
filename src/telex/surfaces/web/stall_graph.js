// How is it drawn who waits for whom? Everybody on a ring, an arrow from each to whom it waits for, circles in red.

import { html, nothing, svg } from "./vendor/lit.js";

const NODE_HEIGHT = 34;
const LETTER = 7.6; // how wide a letter is, about
const NAME_MAX = 22;
const LABEL_SHARES = [0.5, 0.36, 0.64, 0.25, 0.75]; // where on an arrow its word may stand, so that words do not meet

/** The drawing of a stall, as an SVG that takes the width it needs. */
export function drawing({ waits, knots }) {
  const names = ordered(waits, knots);
  const { places, width, height } = ring(names);
  const moods = moodsOf(waits, knots);
  const arrows = joined(waits);
  const labels = []; // where words stand already
  return html`<svg class="stall-graph" role="img" width=${width} height=${height} viewBox="0 0 ${width} ${height}"
    aria-label=${`${names.length} agents that wait for each other; the table below has the same data.`}>
    <defs>${["", "bad", "warn"].map((mood) => svg`<marker id=${`tip-${mood || "plain"}`} class=${`tip ${mood}`} viewBox="0 0 10 10" refX="9" refY="5"
      markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M 0 0 L 10 5 L 0 10 z"></path></marker>`)}</defs>
    ${arrows.map((arrow) => edge(arrow, places, moods, labels))}
    ${names.map((name) => node(name, places.get(name), moods))}
  </svg>`;
}

/** Those of a circle side by side and in its order, the others after them. */
function ordered(waits, knots) {
  const circles = knots.filter((knot) => knot.kind === "cycle").flatMap((knot) => knot.who);
  return [...new Set([...circles, ...waits.flatMap((wait) => [wait.who, wait.whom])])];
}

const shown = (name) => (name.length > NAME_MAX ? `${name.slice(0, NAME_MAX - 1)}…` : name);
const wide = (name) => Math.max(64, shown(name).length * LETTER + 26);

function ring(names) {
  const widest = Math.max(...names.map(wide), 64);
  const narrow = matchMedia("(max-width: 40rem)").matches; // on a phone it is high rather than wide
  const [across, down] = narrow ? [100, Math.max(120, names.length * 32)] : [Math.max(170, names.length * 34), Math.max(110, names.length * 22)];
  const [width, height] = [2 * across + widest + (narrow ? 8 : 40), 2 * down + NODE_HEIGHT + 60];
  const places = new Map();
  names.forEach((name, number) => {
    const angle = (2 * Math.PI * number) / names.length - Math.PI / (names.length === 2 ? 1 : 2);
    places.set(name, { x: width / 2 + across * Math.cos(angle), y: height / 2 + down * Math.sin(angle) });
  });
  return { places, width, height };
}

/** The gravest that is said of each arrow and of each name. */
function moodsOf(waits, knots) {
  const moods = new Map();
  for (const knot of [...knots].reverse()) {
    const mood = knot.kind === "cycle" || knot.kind === "no-approver" ? "bad" : "warn";
    for (const wait of knot.waits) moods.set(`${wait.who} ${wait.whom}`, mood);
    for (const name of knot.who) moods.set(name, mood);
  }
  return moods;
}

/** One arrow for each pair, with every reason on it. */
function joined(waits) {
  const pairs = new Map();
  for (const { who, whom, why } of waits) {
    const key = `${who} ${whom}`;
    const pair = pairs.get(key) || { key, who, whom, whys: new Set() };
    pair.whys.add(why);
    pairs.set(key, pair);
  }
  return [...pairs.values()];
}

function edge({ key, who, whom, whys }, places, moods, labels) {
  const [from, to] = [places.get(who), places.get(whom)];
  const mood = moods.get(key) || "";
  if (who === whom) return nothing;
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy) || 1;
  const bend = Math.min(36, length / 5); // so that two who wait for each other have two arrows
  const middle = { x: (from.x + to.x) / 2 - (dy / length) * bend, y: (from.y + to.y) / 2 + (dx / length) * bend };
  const [begin, end] = [rim(from, middle, who), rim(to, middle, whom)];
  const label = free(LABEL_SHARES.map((share) => between(begin, middle, end, share)), labels);
  return svg`<g class=${`arrow ${mood}`}>
    <path d=${`M ${begin.x} ${begin.y} Q ${middle.x} ${middle.y} ${end.x} ${end.y}`} marker-end=${`url(#tip-${mood || "plain"})`}></path>
    <text x=${label.x} y=${label.y} text-anchor="middle" dominant-baseline="central">${[...whys].join(", ")}</text>
  </g>`;
}

/** Where a line from the middle of a box towards a point leaves the box. */
function rim(centre, towards, name) {
  const [dx, dy] = [towards.x - centre.x, towards.y - centre.y];
  const share = Math.min((wide(name) / 2 + 4) / (Math.abs(dx) || 1e-6), (NODE_HEIGHT / 2 + 4) / (Math.abs(dy) || 1e-6), 1);
  return { x: round(centre.x + dx * share), y: round(centre.y + dy * share) };
}

const round = (number) => Math.round(number * 10) / 10;

/** The first of these places that is far enough from every word, or the first of all. */
function free(places, labels) {
  const meets = (one, other) => Math.abs(one.x - other.x) < 70 && Math.abs(one.y - other.y) < 16;
  const chosen = places.find((place) => !labels.some((label) => meets(place, label))) || places[0];
  labels.push(chosen);
  return chosen;
}

function between(begin, middle, end, share) {
  const mixed = (name) => (1 - share) ** 2 * begin[name] + 2 * share * (1 - share) * middle[name] + share ** 2 * end[name];
  return { x: round(mixed("x")), y: round(mixed("y")) };
}

function node(name, place, moods) {
  const width = wide(name);
  return svg`<g class=${`who ${moods.get(name) || ""}`}>
    <title>${name}</title>
    <rect x=${round(place.x - width / 2)} y=${round(place.y - NODE_HEIGHT / 2)} width=${width} height=${NODE_HEIGHT} rx="8"></rect>
    <text x=${round(place.x)} y=${round(place.y)} text-anchor="middle" dominant-baseline="central">${shown(name)}</text>
  </g>`;
}
