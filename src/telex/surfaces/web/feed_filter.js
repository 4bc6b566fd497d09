// What of all that happens is wanted in the feed? The filters, as they stand in the address and as a form.

import { html, nothing } from "./vendor/lit.js";
import { KINDS } from "./kinds.js"; // made by the hub: it knows which there are
import { at } from "./places.js";

// prettier-ignore
const SAID = [ // what a person follows; the rest are the steps in between
  "accepted", "refused", "imported", "dead", "expired", "reply-overdue", "nacked", "lease-expired", "joined", "left", "stopped",
  "forced", "dissolved", "returned-to-sender", "retried", "dropped",
];
const ASKED = ["agent", "type", "dialect", "text"]; // these the hub knows better than the page

/** Are there filters that only the hub can judge? */
export const isAsked = (query) => ASKED.some((name) => query[name]);

/** Is an event of that kind wanted? */
export function wants({ kinds }, event) {
  if (kinds === "all") return true;
  return kinds ? kinds.split(",").includes(event.kind) : SAID.includes(event.kind);
}

/** What the hub is asked for. */
export function asked(query, more) {
  const { agent, type, dialect, text, kinds } = query;
  const chosen = kinds === "all" ? undefined : kinds || SAID.join(",");
  return { agent, type, dialect, text, kinds: chosen, ...more };
}

/** The form. `change(name, value)` is called for every filter that is set. */
export function filterForm(query, rows, isOpen, change) {
  const { agent, type, dialect, text, kinds } = query;
  const some = isAsked(query) || kinds;
  const field = (name, value, label, list) => html`<label class="field"
    ><span>${label}</span>
    <input name=${name} list=${list || nothing} .value=${value || ""} placeholder="any" autocomplete="off"
      spellcheck="false" @change=${(event) => change(name, event.target.value.trim())}
  /></label>`;
  const submitted = (event) => {
    event.preventDefault();
    event.target.querySelector(":focus")?.blur(); // which is when a field says that it has changed
  };
  return html`<form id="filters" class="filters ${isOpen || some ? "open" : ""}" role="search"
    aria-label="Filter the feed" @submit=${submitted}>
    <label class="field"
      ><span>Show</span
      ><select name="kinds" @change=${(event) => change("kinds", event.target.value)}>
        <option value="" ?selected=${!kinds}>messages</option>
        <option value="all" ?selected=${kinds === "all"}>all events</option>
        ${Object.entries(KINDS).map(
          ([kind, means]) => html`<option value=${kind} title=${means} ?selected=${kinds === kind}>${kind}</option>`,
        )}
      </select></label
    >
    ${field("agent", agent, "Agent", "known-agents")} ${field("type", type, "Type", "known-types")}
    ${field("dialect", dialect, "Dialect", "known-dialects")} ${field("text", text, "Words")}
    ${some ? html`<a class="button small clear" href=${at("feed")}>Clear</a>` : nothing}
    ${known("known-agents", rows, ({ event }) => event.agent)}
    ${known("known-types", rows, ({ message }) => message?.type)}
    ${known("known-dialects", rows, ({ message }) => message?.dialect)}
  </form>`;
}

/** What was seen so far is offered while one types. */
function known(id, rows, pick) {
  const names = [...new Set(rows.map(pick).filter(Boolean))].sort();
  return html`<datalist id=${id}>${names.map((name) => html`<option value=${name}></option>`)}</datalist>`;
}
