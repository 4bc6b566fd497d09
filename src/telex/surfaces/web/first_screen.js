// First screen: counts of what needs a person; in an empty store, how to send the first message.

import { html } from "./vendor/lit.js";
import { at } from "./places.js";
import { copyable } from "./parts.js";

const NEEDS = [
  ["approvals", "approvals", "approval", "approvals"],
  ["escalations", "escalations", "escalation", "escalations"],
  ["dead", "dead", "dead letter", "dead letters"],
  ["stalls", "stalls", "stall", "stalls"],
];

const UNKNOWN = "…";

/** Four counts with links. A count that the hub has not given is unknown, not 0. */
export function attention(summary) {
  const numbers = NEEDS.map(([key]) => (Number.isInteger(summary?.[key]) ? summary[key] : null));
  const quiet = numbers.every((number) => number === 0);
  return html`<section class="attention ${quiet ? "calm" : ""}" aria-label="What needs a person">
    <p class="attention-say">${words(numbers, summary?.failed)}</p>
    <ul>${NEEDS.map(
      ([, view, one, many], index) => html`<li class=${numbers[index] ? "some" : ""}>
        <a href=${at(view)}
          ><span class="figure">${numbers[index] ?? UNKNOWN}</span> ${numbers[index] === 1 ? one : many}</a
        ></li>`,
    )}</ul>
  </section>`;
}

function words(numbers, failed) {
  if (numbers.some((number) => number > 0)) return "Needs a person";
  if (failed) return "What needs a person could not be counted.";
  return numbers.includes(null) ? "Counting …" : "Nothing needs a person.";
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
