/** A message in a list: agent names, state, time, and the row of feed, inbox and conversation. */

import { html, nothing } from "../vendor/lit.js";
import { me, roles } from "../hub.js";
import { address } from "../router.js";
import { ago, exact, iso, moment } from "../format.js";
import { roleClass, stateOf } from "../states.js";

const HUMAN = "human";
const EVERYONE = "everyone";
export const BUS = "telex";

/** The name of an agent as it is shown: `human` is the person at the page. Of a group, the words of the hub. */
export const shownName = (name) =>
  name === HUMAN ? "you" : name === "*" ? EVERYONE : name.replace(/^role:/, "one of ").replace(/^all:/, "all of ");

const isGroup = (name) => name === BUS || name === "*" || name === EVERYONE || /\s/.test(name) || name.includes(":");

const colourOf = (name, role) => roleClass(role || roles.get(name) || name);

/** The name of an agent in the colour of its role; it leads to the agent's page. */
export function agentLink(name, role = "") {
  if (!name) return nothing;
  if (isGroup(name) || me.conversation) return agentName(name, role); // who reads one conversation has no such page
  return html`<a class="agent ${colourOf(name, role)}" dir="auto" href=${address("agent", [name])}>${shownName(name)}</a>`;
}

/** The same without a link, for places that lead elsewhere. */
export const agentName = (name, role = "") =>
  isGroup(name)
    ? html`<span class="agent is-group">${shownName(name)}</span>`
    : html`<span class="agent ${colourOf(name, role)}" dir="auto">${shownName(name)}</span>`;

/** A state with its sign and word, or with other words. */
export function statePill(name, words = "") {
  const { mark, word } = stateOf(name);
  return html`<span class="pill is-${name}"><i aria-hidden="true">${mark}</i>${words || word}</span>`;
}

/** A moment as clock time, with the full moment on pointing at it. */
export const timeOf = (seconds) =>
  html`<time datetime=${iso(seconds)} title="${exact(seconds)}, ${ago(seconds)}">${moment(seconds)}</time>`;

/**
 * One message in a list. `row` is the hub's row of a message. `open(row)`: what a click does; without it the row leads
 * to the message's page. `marks(text)`: the text with the words of a search marked. `recipientRoles`: role by agent,
 * for who may not see the roster.
 * @param {any} row
 * @param {{open?: ((row: any) => void) | null, chosen?: boolean, conversation?: boolean, recipientRoles?: Record<string, string>, marks?: (text: string) => any}} [options]
 */
export function messageRow(
  row,
  { open = null, chosen = false, conversation = true, recipientRoles = {}, marks = asItIs } = {},
) {
  const content = html`${timeOf(row.at)}
    <span class="row-who">${agentName(row.from, row.from_role)} <span class="arrow" aria-label="to" role="img">→</span>
      ${agentName(row.to_label, recipientRoles[row.to_label])}</span>
    <span class="row-gist"><span class="row-kind">${row.kind}</span> <span class="row-text" dir="auto">${marks(row.gist)}${why(row)}</span></span>
    ${statePill(row.state)}`;
  return html`<li class="row is-${row.state} ${chosen ? "is-chosen" : ""}" data-seq=${row.seq}>
    ${
      open
        ? html`<button type="button" class="row-main" aria-pressed=${chosen} @click=${() => open(row)}>${content}</button>`
        : html`<a class="row-main" href=${address("message", [row.seq])}>${content}</a>`
    }
    ${conversation ? conversationLink(row.conversation) : nothing}
  </li>`;
}

const asItIs = (text) => text;

const why = (row) =>
  row.state === "refused" && row.codes?.length ? html` <span class="row-why">${row.codes.join(", ")}</span>` : nothing;

const conversationLink = (id) =>
  id
    ? html`<a class="row-conversation" href=${address("conversation", [id])} title="Conversation ${id}">${id}</a>`
    : html`<span class="row-conversation"></span>`;
