/** How an agent is, in one word with its sign. */

import { html } from "../vendor/lit.js";
import { PRESENCE } from "../states.js";

/** Gone agents are not in the team any more: they are neither woken nor stopped. */
export const isGone = (state) => state === "left" || state === "shut down";

export function presence(state) {
  const { word, mark, state: tone } = PRESENCE[state] ?? { word: state, mark: "○", state: "sent" };
  return html`<span class="presence is-${tone}"><i aria-hidden="true">${mark}</i> ${word}</span>`;
}
