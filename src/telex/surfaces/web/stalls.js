// Agents that wait for each other, stalls, and the commands that resolve them.

import { html, nothing } from "./vendor/lit.js";
import { get, has } from "./hub.js";
import { View, register } from "./view.js";
import { agent, badge, copyable, count, empty, heading, when } from "./parts.js";
import { drawing } from "./stall_graph.js";
import { isNews } from "./work_parts.js";

const TITLES = { cycle: "Cycle", "no-approver": "No approver", unread: "Unread", silent: "Silent", bottleneck: "Bottleneck" };
const WORDS = { cycle: ["stuck", "bad"], "no-approver": ["stuck", "bad"], unread: ["stuck", "bad"], silent: ["waits", "warn"], bottleneck: ["slow", "warn"] };

class Stalls extends View {
  static properties = { ...View.properties, stall: { state: true } };

  async load() {
    this.stall = await get("/stall", {}, has("waits", "knots"));
  }

  concerns(batch) {
    return isNews(batch);
  }

  content() {
    const { waits, knots } = this.stall;
    return html`
      ${heading("Stalls", "Agents that wait for each other, and for each stall the command that resolves it.")}
      ${waits.length || knots.length
        ? html`<div class="stack">
            ${waits.length ? this.#graph() : nothing}
            ${knots.length ? html`<ul class="knots">${knots.map((knot, number) => this.#knot(knot, number))}</ul>` : html`<p class="notice good">No stall: each of these can still be answered.</p>`}
            ${waits.length ? this.#table() : nothing}</div>`
        : empty("No stalls", "No agent waits for another.")}
    `;
  }

  #knot(knot, number) {
    const { command, message } = knot.remedy;
    const typed = message === null ? command : `${command} <<'END'\n${message.trimEnd()}\nEND`;
    return html`<li class="card asked" aria-labelledby="knot-${number}">
      <div class="asked-head"><h2 id="knot-${number}">${TITLES[knot.kind]}: ${knot.who.join(", ")}</h2>
        ${badge(...WORDS[knot.kind])}</div>
      <p>${knot.say}</p>
      <div class="remedy"><span class="quiet">Resolve it with</span> ${copyable(typed)}</div>
    </li>`;
  }

  #graph() {
    return html`<section class="card" aria-labelledby="waits-graph"><h2 id="waits-graph">Agents that wait</h2>
      <div class="scroll" tabindex="0" role="group" aria-labelledby="waits-graph">${drawing(this.stall)}</div>
      <p class="quiet legend"><span><span class="swatch bad"></span> stuck</span> <span><span class="swatch warn"></span> slow</span> <span><span class="swatch"></span> can still be answered</span></p></section>`;
  }

  #table() {
    const { waits } = this.stall;
    return html`<section class="card" aria-labelledby="waits"><h2 id="waits">${count(waits.length, "wait")}</h2>
      <div class="scroll"><table class="table stacks">
        <thead><tr><th>who</th><th>waits for</th><th>why</th><th>since</th><th>about</th></tr></thead>
        <tbody>${waits.map((wait) => html`<tr><td data-label="who">${agent(wait.who)}</td><td data-label="waits for">${agent(wait.whom)}</td><td data-label="why">${badge(wait.why)}</td>
          <td data-label="since">${when(wait.since)}</td><td data-label="about">${wait.words || wait.about}</td></tr>`)}</tbody></table></div></section>`;
  }
}
register({ name: "stalls", title: "Stalls", group: "person", tag: "telex-stalls", view: Stalls, badge: (summary) => summary.stalls });
