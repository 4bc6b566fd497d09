/** List of agents: who does what, who waits for whom. The hub sorts, filters and counts. */

import { html, nothing } from "../vendor/lit.js";
import { get, has, hubNow, me } from "../hub.js";
import { HOME, address, refine } from "../router.js";
import { ago, count, exact, number, secondsOf, span } from "../format.js";
import { View, stylesheet } from "../view.js";
import { agentLink, agentName } from "../widgets/message.js";
import { emptyNotice } from "../widgets/notice.js";
import { pastNotice } from "../widgets/past_notice.js";
import { presence } from "../widgets/presence.js";

await stylesheet("views/agents.css");

const PAGE = 60; // rows that are shown at first, and more on request
const ROWS_MAX = 500; // of the hub's answer
const TICK_MS = 10_000; // spans grow
const TYPING_MS = 200;
const COLUMNS = [
  ["name", "Agent"],
  ["role", "Role"],
  ["state", "State"],
  ["doing", "Doing"],
  ["waits", "Waits for"],
  ["unread", "Unread"],
  ["refused", "Refused"],
  ["sent", "Sent"],
  ["active", "Active"],
];
const FIGURES = { unread: "in its inbox, not taken", refused: "in the last hour", sent: "in the last hour" };
const SHOWN = [
  ["team", "Team"],
  ["working", "Working"],
  ["waiting", "Waiting"],
  ["refused", "Refused"],
  ["silent", "Silent"],
  ["gone", "Gone"],
];

export default class Agents extends View {
  static properties = { ...View.properties, list: { state: true }, isNarrow: { state: true } };

  #narrow = matchMedia("(max-width: 720px)");
  #adapt = () => (this.isNarrow = this.#narrow.matches);
  #ticking = 0;
  #typing = 0;
  #limit = PAGE;

  constructor() {
    super();
    this.isNarrow = this.#narrow.matches;
    this.keys = { j: () => this.#step(1), k: () => this.#step(-1) };
  }

  connectedCallback() {
    super.connectedCallback();
    this.#narrow.addEventListener("change", this.#adapt);
    this.#ticking = setInterval(() => !document.hidden && this.requestUpdate(), TICK_MS);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#narrow.removeEventListener("change", this.#adapt);
    clearInterval(this.#ticking);
    clearTimeout(this.#typing);
  }

  /** The moment that is shown; null: now. */
  get at() {
    return secondsOf(this.place.query.at);
  }

  get #sort() {
    return this.place.query.sort || "attention";
  }

  async load() {
    const { sort, show, filter } = this.place.query;
    const query = { sort, show, filter, at: this.at, limit: this.#limit };
    this.list = await get("/page/agents", query, has("agents", "counts"));
  }

  concerns(update) {
    return !this.at && Boolean(update.reset || update.roster || update.agents.length);
  }

  content() {
    const { agents, counts, matched, total } = this.list;
    return html`
      ${pastNotice(this.at)}
      <div class="page-bar">
        <h1>Agents</h1><span class="soft">${count(counts.team, "agent")}</span><span class="grow"></span>
        ${this.#filter()}
        <a class="button" href=${address("connect")}>Connect agents</a>
        ${me.operator && total && !this.at ? html`<a class="button" href=${address("shutdown")}>Stop the team…</a>` : nothing}
      </div>
      ${total ? this.#choices() : nothing}
      ${agents.length ? (this.isNarrow ? this.#cards(agents) : this.#table(agents)) : this.#none(total)}
      ${this.#more(agents.length, matched)}
      ${this.#hubs()}`;
  }

  // --- filter and order ----------------------------------------------------------------------------------------------

  #filter() {
    return html`<input class="agents-filter" type="search" placeholder="Name, role, client" aria-label="Filter agents"
      .value=${this.place.query.filter ?? ""} @input=${(event) => this.#typed(event.target.value)}>`;
  }

  #typed(filter) {
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => refine({ filter }), TYPING_MS);
  }

  #choices() {
    const chosen = this.place.query.show || "team";
    const { counts } = this.list;
    return html`<div class="agents-choices">
      <div class="segments" role="group" aria-label="Which agents">${SHOWN.map(
        ([name, word]) => html`<button type="button" aria-pressed=${name === chosen}
          @click=${() => refine({ show: name === "team" ? "" : name })}>${word} <span class="faint">${number(counts[name])}</span></button>`,
      )}</div>
      ${this.isNarrow ? this.#order() : nothing}
    </div>`;
  }

  #order() {
    const sort = this.#sort;
    return html`<label class="agents-order"><span class="soft">Order</span>
      <select @change=${(event) => refine({ sort: event.target.value })}>
        <option value="" ?selected=${sort === "attention"}>those that wait first</option>
        ${COLUMNS.map(([name, word]) => html`<option value=${name} ?selected=${sort === name}>${word}</option>`)}
      </select></label>`;
  }

  /** A click on the head of a column sorts by it, a second one the other way, a third one as at first. */
  #sortBy(name) {
    const next = { [name]: `-${name}`, [`-${name}`]: "" }[this.#sort];
    refine({ sort: next ?? name });
  }

  // --- table ---------------------------------------------------------------------------------------------------------

  #table(agents) {
    return html`<section class="card scroll-x" tabindex="0" aria-label="Agents">
      <table class="grid agents-table">
        <thead><tr>${COLUMNS.map(([name, word]) => this.#head(name, word))}</tr></thead>
        <tbody>${agents.map((agent) => this.#row(agent))}</tbody>
      </table></section>`;
  }

  #head(name, word) {
    const order = { [name]: "ascending", [`-${name}`]: "descending" }[this.#sort] ?? "none";
    const sign = { ascending: "↓", descending: "↑" }[order] ?? "";
    return html`<th scope="col" aria-sort=${order} class=${name in FIGURES ? "figure" : ""}>
      <button type="button" class="ghost small" title=${FIGURES[name] ?? nothing} @click=${() => this.#sortBy(name)}
        >${word}<span aria-hidden="true">${sign}</span></button></th>`;
  }

  #row(agent) {
    return html`<tr class=${agent.waits?.for_person ? "needs-you" : ""}>
      <th scope="row" class="agents-name" title=${agent.name}>${this.#link(agent)}
        ${agent.client ? html`<span class="faint">${agent.client}</span>` : nothing}</th>
      <td class="soft">${agent.role}</td><td>${presence(agent.state)}</td>
      <td class="agents-text">${this.#doing(agent.doing)}</td><td class="agents-text">${this.#waits(agent.waits)}</td>
      ${[agent.unread, agent.refused, agent.sent].map(
        (value) => html`<td class="figure">${value ? number(value) : html`<span class="faint">0</span>`}</td>`,
      )}
      <td class="soft">${this.#active(agent.active_at)}</td></tr>`;
  }

  #link({ name, role }) {
    return this.at
      ? html`<a class="agent" dir="auto" href=${this.#address("agent", [name])}>${agentName(name, role)}</a>`
      : agentLink(name, role);
  }

  #address(view, path) {
    return address(view, path, { at: this.place.query.at });
  }

  get #now() {
    return this.at ?? hubNow();
  }

  #doing(doing) {
    if (!doing) return html`<span class="faint">idle</span>`;
    return html`<a href=${this.#address("message", [doing.message])} dir="auto">${doing.gist}</a>
      <span class="soft agents-since">${span(this.#now - doing.since)}${doing.more ? `, ${doing.more} more in hand` : nothing}</span>`;
  }

  #waits(wait) {
    if (!wait) return html`<span class="faint">nobody</span>`;
    const [first, ...others] = wait.whom;
    const rest = others.length + wait.whom_more;
    return html`<span class="agents-whom">${agentName(first, this.list.roles[first])}${rest ? html` <span class="soft">and ${rest} more</span>` : nothing}</span>
      <span class="soft agents-since">${wait.why}, ${span(this.#now - wait.since)}</span>`;
  }

  #active(seconds) {
    if (!seconds) return html`<span class="faint">never</span>`;
    return html`<time title=${exact(seconds)}>${ago(seconds, this.#now)}</time>`;
  }

  // --- phone ---------------------------------------------------------------------------------------------------------

  #cards(agents) {
    return html`<ul class="agents-cards">${agents.map(
      (agent) => html`<li class="card pad ${agent.waits?.for_person ? "needs-you" : ""}">
        <p class="agents-card-head">${this.#link(agent)} <span class="soft">${agent.role}</span>${presence(agent.state)}</p>
        ${this.#work(agent)}
        <p class="soft">${agent.doing || agent.waits ? nothing : "idle · "}${number(agent.unread)} unread · ${number(agent.sent)} sent${
          agent.refused ? html` · <span class="is-refused">${number(agent.refused)} refused</span>` : nothing
        } · ${this.#active(agent.active_at)}</p></li>`,
    )}</ul>`;
  }

  #work({ doing, waits }) {
    if (!doing && !waits) return nothing;
    return html`<dl class="pair">
      ${doing ? html`<dt>Doing</dt><dd class="agents-text">${this.#doing(doing)}</dd>` : nothing}
      ${waits ? html`<dt>Waits for</dt><dd class="agents-text">${this.#waits(waits)}</dd>` : nothing}</dl>`;
  }

  // --- the rest ------------------------------------------------------------------------------------------------------

  #none(total) {
    if (total)
      return html`<div class="card">${emptyNotice("No agent matches", "Try other words, or all agents.")}</div>`;
    return html`<div class="card">${emptyNotice(
      "No agents yet",
      "An agent that sends a message or joins the team appears here.",
      html`<p><a class="button" href=${address("connect")}>Connect your agents</a> <a href=${address(HOME)}>Timeline</a></p>`,
    )}</div>`;
  }

  #more(shown, matched) {
    if (shown >= matched) return nothing;
    if (shown >= ROWS_MAX)
      return html`<p class="soft pad">The first ${number(shown)} of ${number(matched)}: filter them.</p>`;
    const next = Math.min(PAGE, matched - shown);
    return html`<button type="button" class="older" @click=${() => this.#showMore()}
      >Show ${next} more of ${number(matched)}</button>`;
  }

  #showMore() {
    this.#limit = Math.min(this.#limit + PAGE, ROWS_MAX);
    return this.reload();
  }

  #hubs() {
    if (!this.replica) return nothing;
    import("../hubs.js").then(({ hubsPanel }) => {
      if (this.hubsPanel) return;
      this.hubsPanel = hubsPanel;
      this.requestUpdate();
    });
    return this.hubsPanel?.(this.replica) ?? nothing;
  }

  /** The focus goes to the next or previous agent. */
  #step(by) {
    const links = [...this.querySelectorAll(".agents-table th a, .agents-cards .agents-card-head a")];
    const place = links.indexOf(document.activeElement);
    links[place === -1 ? (by > 0 ? 0 : links.length - 1) : place + by]?.focus();
  }
}
