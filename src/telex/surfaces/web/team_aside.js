// Who is in the team and how are they? The short answer, beside the feed.

import { LitElement, html } from "./vendor/lit.js";
import { get, live } from "./hub.js";
import { at } from "./places.js";
import { presenceWords, sorted } from "./presence.js";
import { tone, when } from "./parts.js";

const ASK_MS = 600;

class TeamAside extends LitElement {
  static properties = { team: { state: true } };

  constructor() {
    super();
    this.team = null;
    this.timer = 0;
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.unhear = live.hear(() => this.#soon());
    this.ticking = setInterval(() => this.#soon(), 30_000); // who has fallen silent is nothing that happens
    this.#ask();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.unhear();
    clearInterval(this.ticking);
    clearTimeout(this.timer);
  }

  #soon() {
    if (this.timer || document.hidden) return;
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.#ask();
    }, ASK_MS);
  }

  async #ask() {
    this.team = sorted(await get("/roster").catch(() => this.team || []));
  }

  #member(presence) {
    const { member, state, waiting, leased, oldest_at } = presence;
    const open = waiting + leased;
    return html`<li class=${presence.state.replaceAll(" ", "-")}>
      <a href=${at("team", [member.name])} class=${tone(member.name)}>
        <span class="dot ${presenceWords(state).mood}" aria-hidden="true"></span>
        <span class="name">${member.name}</span>
        ${member.role !== member.name ? html`<span class="role">${member.role}</span>` : ""}
        <span class="state">${presenceWords(state).words}</span>
        <span class="depth ${open ? "some" : ""}"
          >${open ? html`${open} open` : ""}${open && oldest_at ? html`, oldest ${when(oldest_at)}` : ""}</span
        >
      </a></li>`;
  }

  render() {
    const team = (this.team || []).filter((presence) => presence.state !== "left");
    const seen = team.filter((presence) => presence.state !== "not seen yet" || presence.waiting + presence.leased);
    const unseen = team.length - seen.length;
    return html`<aside class="team-aside" aria-labelledby="team-aside-title">
      <h2 id="team-aside-title"><a href=${at("team")}>Team</a></h2>
      ${
        seen.length
          ? html`<ul>${seen.map((presence) => this.#member(presence))}</ul>`
          : html`<p class="quiet">Nobody has been seen yet. Whoever sends a message or joins appears here.</p>`
      }
      ${unseen ? html`<p class="more"><a href=${at("team")}>${unseen} more</a> not seen yet</p>` : ""}
    </aside>`;
  }
}
customElements.define("telex-team-aside", TeamAside);
