/** How an agent is, in one word with its sign. */

import { html } from "../vendor/lit.js";
import { PRESENCE } from "../states.js";

export function presence(state) {
  const { word, mark, state: tone } = PRESENCE[state] ?? { word: state, mark: "○", state: "sent" };
  return html`<span class="presence is-${tone}"><i aria-hidden="true">${mark}</i> ${word}</span>`;
}
