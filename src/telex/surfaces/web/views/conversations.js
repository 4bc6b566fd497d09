/** List of conversations: those that wait, then open ones, then what is done. The hub filters, counts and pages. */

import { html, nothing, repeat } from "../vendor/lit.js";
import { get, has, hubNow } from "../hub.js";
import { address, navigate, refine } from "../router.js";
import { ago, count, exact, iso, number, secondsOf, span } from "../format.js";
import { CONVERSATIONS } from "../states.js";
import { View, stylesheet } from "../view.js";
import { agentName } from "../widgets/message.js";
import { conversationPill } from "../widgets/conversation_state.js";
import { emptyNotice } from "../widgets/notice.js";
import { pastNotice } from "../widgets/past_notice.js";

await stylesheet("views/conversations.css");

const PEOPLE_SHOWN = 3;
const TYPING_MS = 250; // after the last letter, the hub is asked

export default class Conversations extends View {
  static properties = { ...View.properties, page: { state: true }, agents: { state: true } };

  constructor() {
    super();
    this.keys = { j: () => this.#move(1), k: () => this.#move(-1) };
  }

  async load() {
    const { state, agent, filter, cursor, at } = this.place.query;
    const query = { state, agent, filter, cursor, at: secondsOf(at) };
    const [page, agents] = await Promise.all([
      get("/page/conversations", query, has("conversations", "counts")),
      this.agents ?? get("/roster").then(agentsOf),
    ]);
    this.agents = agents;
    this.page = page;
  }

  concerns(update) {
    if (this.place.query.at || this.place.query.cursor) return false;
    return update.reset || update.conversations.length > 0;
  }

  content() {
    const { counts, conversations, counted_since: since } = this.page;
    const all = Object.values(counts).reduce((sum, one) => sum + one, 0);
    const note = since
      ? html`<span class="soft" title=${exact(since)}>since ${ago(since)}, then older ones</span>`
      : nothing;
    return html`${pastNotice(secondsOf(this.place.query.at))}
      <div class="page-bar"><h1>Conversations</h1> ${note} <span class="grow"></span> ${this.#filters(counts, all)}</div>
      ${conversations.length ? this.#table(conversations) : this.#empty()}
      ${this.#paging()}`;
  }

  // --- filters -------------------------------------------------------------------------------------------------------

  #filters(counts, all) {
    const { state = "", agent = "", filter = "" } = this.place.query;
    const choices = [
      ["", "All", all],
      ...Object.entries(CONVERSATIONS).map(([name, { word }]) => [name, word, counts[name]]),
    ];
    return html`<div class="segments" role="group" aria-label="State">
        ${choices.map(
          ([name, word, amount]) => html`<button type="button" aria-pressed=${name === state ? "true" : "false"}
            @click=${() => this.#filter({ state: name })}>${word} <span class="figure">${number(amount)}</span></button>`,
        )}
      </div>
      <select aria-label="Agent" @change=${(event) => this.#filter({ agent: event.target.value })}>
        <option value="" ?selected=${!agent}>All agents</option>
        ${[...new Set([...this.agents, ...(agent ? [agent] : [])])]
          .sort()
          .map((name) => html`<option value=${name} ?selected=${name === agent}>${shortened(name)}</option>`)}
      </select>
      <input type="search" placeholder="Title, id, agent" aria-label="Search conversations" .value=${filter}
        @input=${(event) => this.#typed(event.target.value)}>`;
  }

  #filter(changes) {
    refine({ ...changes, cursor: undefined });
  }

  #typed(words) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#filter({ filter: words }), TYPING_MS);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.timer);
  }

  // --- table ---------------------------------------------------------------------------------------------------------

  #table(conversations) {
    return html`<section class="card"><table class="grid conversations" aria-label="Conversations">
      <thead><tr>${["Title", "State", "People", "Messages", "Took", "Last"].map((word) => html`<th scope="col">${word}</th>`)}</tr></thead>
      <tbody>${repeat(
        conversations,
        (one) => one.id,
        (one) => this.#row(one),
      )}</tbody></table></section>`;
  }

  #row(one) {
    const end = one.state === "done" ? one.to : (secondsOf(this.place.query.at) ?? hubNow());
    return html`<tr>
      <td class="conversation-title"><a href=${address("conversation", [one.id], { at: this.place.query.at })} dir="auto">${one.title || one.id}</a>
        <span class="soft mono ellipsis" dir="auto">${one.id}</span></td>
      <td>${conversationPill(one)}</td>
      <td class="conversation-people">${people(one)}</td>
      <td>${number(one.messages)}<span class="phone-word"> ${one.messages === 1 ? "message" : "messages"}</span>${figure(one.refused, "refused")}${figure(one.dead, "dead")}</td>
      <td><span class="phone-word">took </span>${span(end - one.from)}</td>
      <td><time datetime=${iso(one.to)} title=${exact(one.to)}>${ago(one.to)}</time></td>
    </tr>`;
  }

  #empty() {
    const { state, agent, filter } = this.place.query;
    return state || agent || filter
      ? html`<section class="card">${emptyNotice(
          "Nothing matches",
          "No conversation matches these filters.",
          html`<button type="button"
          @click=${() => this.#filter({ state: "", agent: "", filter: "" })}>All conversations</button>`,
        )}</section>`
      : html`<section class="card">${emptyNotice("No conversations yet", "Messages about one task, plan or correlation are grouped here.")}</section>`;
  }

  #paging() {
    const { cursor } = this.page;
    const isLater = Boolean(this.place.query.cursor);
    if (!cursor && !isLater) return nothing;
    return html`<p class="buttons">
      ${isLater ? html`<button type="button" @click=${() => refine({ cursor: undefined }, { replace: false })}>First page</button>` : nothing}
      ${cursor ? html`<button type="button" @click=${() => this.#older(cursor)}>Older</button>` : nothing}</p>`;
  }

  #older(cursor) {
    navigate(address("conversations", [], { ...this.place.query, cursor }));
    scrollTo(0, 0);
  }

  #move(step) {
    const links = [...this.querySelectorAll(".conversation-title a")];
    const place = links.indexOf(document.activeElement) + step;
    links[Math.max(0, Math.min(links.length - 1, place))]?.focus();
  }
}

const people = (one) =>
  html`${one.people
    .slice(0, PEOPLE_SHOWN)
    .map(
      ([name, role], index) => html`${index ? ", " : ""}${agentName(name, role)}`,
    )}${one.people_count > PEOPLE_SHOWN ? html` <span class="soft" title=${count(one.people_count, "agent")}>+${one.people_count - PEOPLE_SHOWN}</span>` : nothing}`;

const figure = (amount, word) =>
  amount ? html`<span class="is-${word} tone"> · ${number(amount)} ${word}</span>` : nothing;

const agentsOf = (roster) => roster.map(({ member }) => member.name).filter((name) => !name.startsWith("role:"));

const shortened = (name) => (name.length > 40 ? `${name.slice(0, 39)}…` : name);
