// Who is in the team and how are they? The short answer, beside the feed.

import { LitElement, html } from "./vendor/lit.js";
import { get, live } from "./hub.js";
import { at } from "./places.js";
import { presenceWords, sorted } from "./presence.js";
import { tone, when } from "./parts.js";

const ASK_MS = 600;
const SHOWN_MAX = 12; // of a large team; on a phone the feed stands below them

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
    this.unwatch = live.watch((state) => state === "live" && this.#soon());
    this.ticking = setInterval(() => this.#soon(), 30_000); // who has fallen silent is nothing that happens
    this.#ask();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.unhear();
    this.unwatch();
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
        <span class="who"><span class="name">${member.name}</span>${
          member.role !== member.name ? html` <span class="role">${member.role}</span>` : ""
        }</span>
        <span class="state">${presenceWords(state).words}</span>
        <span class="depth ${open ? "some" : ""}"
          >${open ? html`${open} open` : ""}${open && oldest_at ? html`, oldest ${when(oldest_at)}` : ""}</span
        >
      </a></li>`;
  }

  render() {
    const team = (this.team || []).filter((presence) => presence.state !== "left");
    const seen = team.filter((presence) => presence.state !== "not seen yet" || presence.waiting + presence.leased);
    const shown = chosen(seen);
    const [unshown, unseen] = [seen.length - shown.length, team.length - seen.length];
    return html`<aside class="team-aside" aria-labelledby="team-aside-title">
      <h2 id="team-aside-title"><a href=${at("team")}>Team</a></h2>
      ${
        seen.length
          ? html`<ul>${shown.map((presence) => this.#member(presence))}</ul>`
          : html`<p class="quiet">No agent has been seen yet. An agent that sends a message or joins appears here.</p>`
      }
      ${unshown ? html`<p class="more"><a href=${at("team")}>${unshown} more</a> in the team</p>` : ""}
      ${unseen ? html`<p class="more"><a href=${at("team")}>${unseen} more</a> not seen yet</p>` : ""}
    </aside>`;
  }
}
/** All of them; of a large team those with the most open, in the order in which they stood. */
function chosen(seen) {
  const open = (presence) => presence.waiting + presence.leased;
  const first = new Set([...seen].sort((one, other) => open(other) - open(one)).slice(0, SHOWN_MAX));
  return seen.filter((presence) => first.has(presence));
}

customElements.define("telex-team-aside", TeamAside);
