// What does a conversation look like? A column for each agent, an arrow for each message, time from top to bottom.

import { html, repeat, svg } from "./vendor/lit.js";
import { at } from "./places.js";
import { tone } from "./parts.js";
import { gist } from "./gist.js";
import { clockTime } from "./elements.js";

const TIME_WIDTH = 74;
const COLUMN_WIDTHS = [112, 190]; // as the room allows
const CHARACTER_WIDTH = 7.3; // of a label
const NAME_CHARACTER_WIDTH = 8.8; // of a name at the head of a column, which is larger and bold
const LABEL_COLUMNS_MAX = 5; // a label stays near whoever speaks, however far the arrow goes
const HEAD_HEIGHT = 44;
const ROW_HEIGHT = 52;
const OPEN = ["stored", "leased"];

/** The diagram of these stories in so much room. `fresh`: the numbers of those that have just come. */
export function diagram(stories, room, fresh = new Set()) {
  const columns = columnsOf(stories);
  const column = Math.min(COLUMN_WIDTHS[1], Math.max(COLUMN_WIDTHS[0], Math.floor((room - TIME_WIDTH) / columns.size)));
  const width = TIME_WIDTH + columns.size * column;
  const height = stories.length * ROW_HEIGHT + 18;
  const x = (name) => TIME_WIDTH + (columns.get(name) + 0.5) * column;
  return html`
    <svg class="diagram-head" width=${width} height=${HEAD_HEIGHT} viewBox="0 0 ${width} ${HEAD_HEIGHT}"
      role="group" aria-label="Agents">
      ${[...columns.keys()].map((name) => head(name, x(name), column))}
    </svg>
    <svg class="diagram-body" width=${width} height=${height} viewBox="0 0 ${width} ${height}"
      role="group" aria-label="Messages from first to last">
      ${[...columns.keys()].map((name) => lifeline(x(name), height))}
      ${repeat(
        stories,
        (story) => story.message.seq,
        (story, index) => step(story, index * ROW_HEIGHT, { x, width, column }, fresh.has(story.message.seq)),
      )}
    </svg>`;
}

/** Those who speak or are spoken to alone, in the order in which they come into it; then those who only hear what
 * many were told, who may be a whole team. */
function columnsOf(stories) {
  const columns = new Map();
  const add = (name) => columns.has(name) || columns.set(name, columns.size);
  for (const story of stories) {
    const readers = readersOf(story);
    add(story.message.sender);
    if (readers.length === 1) add(readers[0].name);
  }
  for (const story of stories) readersOf(story).forEach(({ name }) => add(name));
  return columns;
}

/** Whom it reached or was meant for. One taken from a shared inbox went to whoever took it. */
function readersOf({ message, deliveries }) {
  const into = deliveries.map((one) => ({
    name: one.inbox.includes(":") && one.holder ? one.holder : one.inbox,
    state: one.state,
  }));
  return into.length ? into : [{ name: message.to === "*" ? "everyone" : message.to, state: "refused" }];
}

const lifeline = (x, height) => svg`<line class="lifeline" x1=${x} y1="0" x2=${x} y2=${height}></line>`;

function head(name, x, column) {
  return svg`<a class="column ${tone(name)}" href=${at("team", [name])}>
    <rect x=${x - column / 2 + 6} y="8" width=${column - 12} height="28" rx="6"></rect>
    <text x=${x} y="27" text-anchor="middle">${cut(name, Math.floor((column - 20) / NAME_CHARACTER_WIDTH))}</text>
    <title>${name}</title></a>`;
}

function step(story, top, { x, width, column }, isFresh) {
  const { message } = story;
  const from = x(message.sender);
  const readers = readersOf(story).map((reader) => ({ ...reader, x: x(reader.name) }));
  const classes = [
    "step",
    message.refused ? "refused" : "",
    message.reply_to ? "answer" : "",
    isFresh ? "fresh" : "",
  ].join(" ");
  const names = readers.map((reader) => reader.name).join(", ");
  const label = message.type || message.dialect || "unreadable";
  const said = `${message.sender} to ${names}, ${story.state}: ${gist(message)}`;
  return svg`<a class=${classes} href=${at("message", [message.seq])} data-seq=${message.seq}>
    <rect class="hit" x="0" y=${top + 2} width=${width} height=${ROW_HEIGHT - 4} rx="6"></rect>
    <title>${said}</title>
    <text class="time" x="8" y=${top + 32}>${clockTime(message.at)}</text>
    ${arrows(from, readers, top + 34, message.refused, column)}
    ${labelled(label, from, readers, top + 24, { width, column })}
  </a>`;
}

function arrows(from, readers, y, refused, column) {
  const others = readers.filter((reader) => reader.x !== from);
  if (!others.length) return loop(from, y, refused);
  const [left, right] = [Math.min(from, ...others.map((one) => one.x)), Math.max(from, ...others.map((one) => one.x))];
  if (refused) {
    const end = (from + others[0].x) / 2 + Math.sign(others[0].x - from) * column * 0.2;
    return svg`<line class="shaft" x1=${from} y1=${y} x2=${end} y2=${y}></line>${cross(end, y)}${start(from, y)}`;
  }
  const points = others.map((one) => point(one, Math.sign(one.x - from), y));
  return svg`<line class="shaft" x1=${left} y1=${y} x2=${right} y2=${y}></line>${start(from, y)}${points}`;
}

const start = (x, y) => svg`<circle class="start" cx=${x} cy=${y} r="3"></circle>`;

function point({ x, state }, direction, y) {
  const open = OPEN.includes(state) ? "open" : state === "acked" ? "" : "lost";
  return svg`<path class="point ${open}" d="M${x} ${y} l${-10 * direction} -5 v10 z"></path>`;
}

function loop(x, y, refused) {
  const end = refused ? cross(x + 34, y) : svg`<path class="point" d="M${x} ${y + 6} l10 -5 v10 z"></path>`;
  return svg`<path class="shaft" fill="none" d="M${x} ${y - 10} h34 v16 h-24"></path>${end}`;
}

const cross = (x, y) => svg`<path class="cross" d="M${x - 5} ${y - 5} l10 10 m0 -10 l-10 10"></path>`;

/** The label stands over the middle of its arrow, or of the first part of a long one, and never outside the picture. */
function labelled(label, from, readers, y, { width, column }) {
  const nearest = readers.reduce(
    (best, one) => (Math.abs(one.x - from) < Math.abs(best.x - from) && one.x !== from ? one : best),
    readers[0],
  );
  const room = Math.max(column, Math.abs(nearest.x - from)) + column * 0.3;
  const text = cut(label, Math.floor(room / CHARACTER_WIDTH));
  const reach = Math.min(1, (LABEL_COLUMNS_MAX * column) / Math.abs(nearest.x - from || 1));
  const middle = nearest.x === from ? from + 44 : from + ((nearest.x - from) * reach) / 2;
  const anchor = nearest.x === from ? (from + 200 > width ? "end" : "start") : "middle";
  return svg`<text class="label" x=${middle} y=${y} text-anchor=${anchor}>${text}</text>`;
}

const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
