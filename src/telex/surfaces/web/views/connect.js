/** Connect: how each coding tool is connected to this hub, a team file, and tokens for other machines. */

import { html, nothing } from "../vendor/lit.js";
import { get, has, post } from "../hub.js";
import { View, stylesheet } from "../view.js";
import { count } from "../format.js";
import { address } from "../router.js";
import { codeBlock } from "../widgets/copy.js";
import { Action } from "../widgets/action.js";
import { write } from "../widgets/write.js";

await stylesheet("views/connect.css");

const LANES = [["you"], ["lead", "a"], ["dev", "b"], ["qa", "c"]];

const LOOPBACK = /^(localhost|127\.|\[::1\])/;

export default class Connect extends View {
  static properties = { ...View.properties, facts: { state: true }, chosen: { state: true }, token: { state: true } };

  #action = new Action(this);

  constructor() {
    super();
    this.chosen = "";
    this.token = null; // shown once, here only
  }

  async load() {
    this.facts = await get("/page/connect", {}, has("clients", "hub"));
  }

  concerns(update) {
    return !update.rows || Boolean(update.roster || update.reset);
  }

  get client() {
    return this.facts.clients.find(({ name }) => name === this.chosen) ?? this.facts.clients[0];
  }

  content() {
    const { agents } = this.facts;
    return html`<div class="connect">
      <div class="connect-head"><h1>Connect your agents</h1>
        <p class="soft">${agents ? `${count(agents, "agent")} in this team.` : "This hub is running and has no agents yet."}
          Agents in the same repository share one store, worktrees included.</p></div>
      <section class="card" aria-label="Clients">${this.#tabs()} ${this.#client()}</section>
      <div class="connect-more">${this.#team()} ${this.#elsewhere()} ${this.#looking()}</div>
      ${agents ? nothing : this.#lanes()}</div>`;
  }

  #tabs() {
    const names = this.facts.clients.map(({ name }) => name);
    const step = (event) => {
      const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!move) return;
      this.chosen = names[(names.indexOf(this.client.name) + move + names.length) % names.length];
      this.updateComplete.then(() => this.querySelector("[role=tab][aria-selected=true]").focus());
    };
    return html`<div class="tabs" role="tablist" aria-label="Client" @keydown=${step}>${this.facts.clients.map(
      ({
        name,
        title,
      }) => html`<button type="button" role="tab" id="tab-${name}" aria-controls="client" tabindex=${name === this.client.name ? 0 : -1}
        aria-selected=${name === this.client.name} @click=${() => (this.chosen = name)}>${title}</button>`,
    )}</div>`;
  }

  #client() {
    const { name, init, run, does, step, undo } = this.client;
    const isProgram = name === "program";
    return html`<div class="client" role="tabpanel" id="client" tabindex="0" aria-labelledby="tab-${name}">
      <ol class="connect-steps">
        <li><h2>${isProgram ? "Install it" : "Set it up once"}</h2>${codeBlock(init)}${step ? html`<p class="soft">Then ${step}.</p>` : nothing}</li>
        <li><h2>${isProgram ? "Send and receive under a name" : "Start an agent with a name"}</h2>${codeBlock(run)}</li>
        <li><h2>It appears here</h2><p class="soft listening"><i aria-hidden="true"></i>${
          this.facts.agents
            ? html`${count(this.facts.agents, "agent")} connected. <a href=${address("agents")}>See the agents</a>`
            : "Listening for the first agent"
        }</p></li></ol>
      <div class="does"><h2>${isProgram ? "What it is" : html`What <code>${init}</code> does`}</h2>
        <ul>${does.map((line) => html`<li>${line}</li>`)}</ul>
        <p class="soft">Undo: <code>${undo}</code></p></div></div>`;
  }

  #team() {
    return html`<section class="card pad"><h2>A whole team at once</h2>
      <p class="soft">Save as <code>team.toml</code>. The command opens tmux with one pane per agent, each with its name and its first task.</p>
      ${codeBlock(this.facts.team_file)} ${codeBlock("telex team up")}</section>`;
  }

  #elsewhere() {
    const { hub, may_create_tokens } = this.facts;
    const { name, run } = this.client;
    const lines = [`export TELEX_STORE=${hub}`, `export TELEX_TOKEN=${this.token?.token ?? "…"}`];
    return html`<section class="card pad"><h2>From another machine</h2>
      <dl class="pair"><dt>Hub</dt><dd><code>${hub}</code></dd></dl>
      ${
        LOOPBACK.test(new URL(hub).hostname)
          ? html`<p class="soft">This address is for this machine only. For others, start the hub with <code>telex serve --host 0.0.0.0</code>.</p>`
          : nothing
      }
      ${may_create_tokens ? this.#tokenForm() : html`<p class="soft">A person with an operator's token creates tokens for agents.</p>`}
      ${codeBlock([...lines, name === "program" ? "telex receive --wait 60" : run.replace("dev", this.token?.agent ?? "dev")].join("\n"))}</section>`;
  }

  #tokenForm() {
    return html`<form class="token" @submit=${this.#create}>
      <label class="field" for="token-agent">Name of the agent</label>
      <div class="buttons"><input id="token-agent" name="agent" required autocomplete="off" spellcheck="false" placeholder="dev" size="12">
        <button class="small" ?disabled=${this.#action.isBusy}>Create a token</button></div>
      ${this.#action.notice()}
      ${this.token ? html`<p class="soft">Shown once, valid for 30 days. It is in the commands below.</p>` : nothing}</form>`;
  }

  async #create(event) {
    event.preventDefault();
    const form = event.target;
    const agent = form.elements.agent.value.trim();
    this.token = null;
    await this.#action.run(
      async () => (this.token = await post("/page/tokens", { agent }, {}, has("token"))),
      ({ agent: name }) => `Token of ${name} created.`,
    );
    if (this.token) form.reset();
  }

  #looking() {
    return html`<section class="card pad"><h2>Just looking</h2>
      <p class="soft">A scripted team of eight works on a password reset. One approval and one escalation wait for you.</p>
      ${codeBlock("telex serve --demo --port 0")}
      <p class="soft">Or <button type="button" class="small" @click=${() => write()}>write a message</button> yourself.</p></section>`;
  }

  /** What the timeline will show. */
  #lanes() {
    return html`<section class="card lanes" aria-hidden="true">${LANES.map(
      ([name, place]) =>
        html`<div><span>${name}</span>${place ? html`<i class="lane-${place}"></i>` : nothing}${place === "b" ? html`<i class="lane-wait"></i>` : nothing}</div>`,
    )}</section>`;
  }
}
