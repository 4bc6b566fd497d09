/** Fields of a message: names and values, lists as lists, objects within objects. Text is always a text binding. */

import { html, nothing } from "../vendor/lit.js";

const DEPTH_MAX = 6; // deeper than any dialect; below that it is shown as JSON
const ITEMS_MAX = 200;

export function fieldsOf(tree, depth = 0) {
  const entries = Object.entries(tree).slice(0, ITEMS_MAX);
  if (!entries.length) return html`<span class="soft">{}</span>`;
  return html`<dl class="pair">${entries.map(
    ([name, value]) => html`<dt>${name.replaceAll("_", " ")}</dt><dd>${shownValue(value, depth + 1)}</dd>`,
  )}</dl>`;
}

function shownValue(value, depth) {
  if (value === null || value === undefined) return html`<span class="soft">null</span>`;
  if (value === "") return html`<span class="soft">empty</span>`;
  if (typeof value === "string") return html`<span class="text" dir="auto">${value}</span>`;
  if (typeof value !== "object") return html`<code>${String(value)}</code>`;
  if (depth >= DEPTH_MAX) return html`<code>${JSON.stringify(value)}</code>`;
  return Array.isArray(value) ? listOf(value, depth) : fieldsOf(value, depth);
}

function listOf(values, depth) {
  if (!values.length) return html`<span class="soft">none</span>`;
  const isSimple = values.every((value) => typeof value !== "object" && String(value).length < 60);
  const more =
    values.length > ITEMS_MAX ? html`<span class="soft">and ${values.length - ITEMS_MAX} more</span>` : nothing;
  const shown = values.slice(0, ITEMS_MAX);
  if (isSimple) return html`${shown.map((value) => html`<code class="chip">${String(value)}</code>`)}${more}`;
  return html`<ul>${shown.map((value) => html`<li>${shownValue(value, depth)}</li>`)}</ul>${more}`;
}
