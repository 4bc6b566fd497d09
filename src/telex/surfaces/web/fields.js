// What do the fields of a message say? A table for an object, a list for a list, text for the rest.

import { html, nothing } from "./vendor/lit.js";

const DEPTH_MAX = 6; // deeper than any dialect; below that it is shown as JSON
const ITEMS_MAX = 200;

export function fields(tree) {
  return html`<table class="fields"><tbody>${Object.entries(tree)
    .slice(0, ITEMS_MAX)
    .map(([name, value]) => html`<tr><th scope="row">${name}</th><td>${shown(value, 1)}</td></tr>`)}</tbody></table>`;
}

function shown(value, depth) {
  if (value === null || value === undefined) return html`<span class="quiet">null</span>`;
  if (typeof value === "boolean") return html`<span class="word">${value ? "true" : "false"}</span>`;
  if (typeof value === "number") return html`<span class="word">${String(value)}</span>`;
  if (typeof value === "string")
    return value === "" ? html`<span class="quiet">empty</span>` : html`<span class="text">${value}</span>`;
  if (depth >= DEPTH_MAX) return html`<code>${JSON.stringify(value)}</code>`;
  if (Array.isArray(value)) return list(value, depth);
  const entries = Object.entries(value).slice(0, ITEMS_MAX);
  return entries.length
    ? html`<dl class="pairs inner">
        ${entries.map(([name, one]) => html`<dt>${name}</dt><dd>${shown(one, depth + 1)}</dd>`)}
      </dl>`
    : html`<span class="quiet">{}</span>`;
}

function list(value, depth) {
  if (!value.length) return html`<span class="quiet">none</span>`;
  return html`<ul class="inner">${value.slice(0, ITEMS_MAX).map((one) => html`<li>${shown(one, depth + 1)}</li>`)}
    ${value.length > ITEMS_MAX ? html`<li class="quiet">and ${value.length - ITEMS_MAX} more</li>` : nothing}</ul>`;
}
