// Who is in the team, what waits for each, and since when? And for one agent: what lies in its inbox.

import { html, nothing } from "./vendor/lit.js";
import { get, me, part } from "./hub.js";
import { View, at, register } from "./view.js";
import { agent, badge, count, empty, heading, when } from "./parts.js";
import { presenceWords, sorted } from "./presence.js";
import { gist } from "./gist.js";

const LYING_MAX = 100;

const presenceBadge = (state) => badge(presenceWords(state).words, presenceWords(state).mood);

class Team extends View {
  static properties = { ...View.properties, team: { state: true }, lying: { state: true } };

  async load() {
    const [name] = this.place.path;
    const [team, lying] = await Promise.all([
      get("/roster"),
      name && this.#isOpen(name)
        ? get(`/inbox/${part(name)}`, { limit: LYING_MAX }).catch((problem) => this.#nobody(problem))
        : null,
    ]);
    this.team = sorted(team);
    this.lying = lying;
  }

  /** An inbox is looked into by a person, and by whose it is. */
  #isOpen(name) {
    return me.operator || name === me.agent;
  }

  #nobody(problem) {
    if (problem.status === 404 || problem.status === 403) return []; // it has left
    throw problem;
  }

  concerns() {
    return true;
  }

  content() {
    const [name] = this.place.path;
    return name ? this.#one(name) : this.#all();
  }

  #all() {
    if (!this.team.length)
      return html`${heading("Team")}
        ${empty("No members yet", "Agents join with telex team join NAME, or by sending their first message.")}`;
    const members = this.team.filter((presence) => presence.state !== "shared"); // an inbox of a role is nobody
    const here = members.filter((presence) => presence.state === "here").length;
    const open = this.team.reduce((sum, presence) => sum + presence.waiting + presence.leased, 0);
    const lead = `${here} of ${count(members.length, "member")} here; ${count(open, "message")} waiting or leased.`;
    return html`${heading("Team", lead)}
      <div class="card scroll"><table class="table team-table">
        <thead><tr><th scope="col">Agent</th><th scope="col">Role</th><th scope="col">Is</th>
          <th scope="col" class="figure">Waiting</th><th scope="col" class="figure">Leased</th>
          <th scope="col">Oldest open</th><th scope="col">Last seen</th><th scope="col">Reads</th></tr></thead>
        <tbody>${this.team.map((presence) => this.#row(presence))}</tbody>
      </table></div>`;
  }

  #row({ member, state, waiting, leased, oldest_at }) {
    return html`<tr>
      <th scope="row">${agent(member.name)}</th><td>${member.role}</td><td>${presenceBadge(state)}</td>
      <td class="figure">${waiting || html`<span class="quiet">0</span>`}</td>
      <td class="figure">${leased || html`<span class="quiet">0</span>`}</td>
      <td>${oldest_at ? when(oldest_at) : html`<span class="quiet">none</span>`}</td><td>${when(member.seen_at)}</td>
      <td class="quiet">${member.dialects.length ? member.dialects.join(", ") : "anything"}</td></tr>`;
  }

  #one(name) {
    const presence = this.team.find((one) => one.member.name === name);
    const lead = presence
      ? html`${presence.member.role} · ${presenceBadge(presence.state)} · last seen ${when(presence.member.seen_at)}`
      : "Not on the roster.";
    const links = html`<a class="button" href=${at("feed", [], { agent: name })}>In the feed</a>
      <a class="button" href=${at("compose", [], { to: name })}>Write to ${name}</a>`;
    return html`${heading(name, lead, links)}
      <section class="card"><h2>In the inbox</h2>
      ${
        this.lying?.length
          ? html`<div class="scroll"><table class="table"><thead><tr>
              <th scope="col">From</th><th scope="col">Says</th><th scope="col">Is</th><th scope="col">Sent</th>
            </tr></thead>
            <tbody>${this.lying.map((one) => this.#lies(one))}</tbody></table></div>`
          : html`<p class="quiet">${this.#isOpen(name) ? `Nothing waits for ${name}.` : `It is shown to ${name} and to a person.`}</p>`
      }
      </section>`;
  }

  #lies({ delivery, message }) {
    return html`<tr><td>${agent(message.sender)}</td>
      <td><a href=${at("message", [message.seq])}>${gist(message)}</a><br />
        <span class="type">${message.type || message.dialect}</span></td>
      <td>${badge(delivery.state, delivery.state === "leased" ? "info" : "quiet")}
        ${delivery.attempts > 1 ? html`<span class="quiet">${delivery.attempts}×</span>` : nothing}</td>
      <td>${when(message.at)}</td></tr>`;
  }
}

register({ name: "team", title: "Team", group: "now", tag: "telex-team", view: Team });
