// What does a newcomer see first? Whether anything needs a person; and where nothing was ever said, how to begin.

import { html } from "./vendor/lit.js";
import { at } from "./places.js";
import { copyable } from "./parts.js";

const NEEDS = [
  ["approvals", "approvals", "approval", "approvals"],
  ["escalations", "escalations", "escalation", "escalations"],
  ["dead", "dead", "dead letter", "dead letters"],
  ["stalls", "stalls", "stall", "stalls"],
];

/** Four counts that lead to what needs a person. They keep their place when they are nought. */
export function attention(summary) {
  const numbers = NEEDS.map(([key]) => Number(summary?.[key]) || 0);
  const quiet = numbers.every((number) => number === 0);
  return html`<section class="attention ${quiet ? "calm" : ""}" aria-label="What needs a person">
    <p class="attention-say">${quiet ? "Nothing needs a person." : "Needs a person"}</p>
    <ul>${NEEDS.map(
      ([, view, one, many], index) => html`<li class=${numbers[index] ? "some" : ""}>
        <a href=${at(view)}
          ><span class="figure">${numbers[index]}</span> ${numbers[index] === 1 ? one : many}</a
        ></li>`,
    )}</ul>
  </section>`;
}

/** The empty store. */
export function firstMessage() {
  return html`<div class="empty begin">
    <h2>No messages yet</h2>
    <p>Messages in this store appear here at once. Try it from a terminal in the same folder:</p>
    ${copyable('echo "Hello, is anybody there?" | telex send --as dev --to lead -')}
    <p>or run a demo team of eight agents, with its own hub and store:</p>
    ${copyable("telex serve --demo --port 0")}
    <p class="quiet">You can also send one <a href=${at("compose")}>here on the page</a>.</p>
  </div>`;
}
