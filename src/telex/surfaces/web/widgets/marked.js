/** Text with the words of a filter marked. As text, never as markup. */

import { html } from "../vendor/lit.js";

const TERM = /(-?)([a-z]+:)?("[^"]*"?|\S+)/gi;
const TERMS_MAX = 20;

export function marked(text, filter) {
  const words = [...filter.matchAll(TERM)]
    .filter(([, minus, operator]) => !minus && !operator)
    .map(([, , , word]) => word.replaceAll('"', "").replace(/\*$/, "").trim())
    .filter(Boolean)
    .slice(0, TERMS_MAX);
  if (!words.length) return text;
  const pattern = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s+")).join("|");
  return text
    .split(new RegExp(`(${pattern})`, "gi"))
    .map((piece, index) => (index % 2 ? html`<mark>${piece}</mark>` : piece));
}
