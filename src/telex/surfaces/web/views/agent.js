/** One agent: what it does, whom it waits for, what it holds; its inbox, refusals, contract, and how it is woken. */

import { html, nothing } from "../vendor/lit.js";
import { get, has, hubNow, me, part, post } from "../hub.js";
import { HOME, address, navigate } from "../router.js";
import { ago, clockShort, count, exact, number, secondsOf, span } from "../format.js";
import { isGone, roleClass } from "../states.js";
import { View, stylesheet } from "../view.js";
import { codeBlock } from "../widgets/copy.js";
import { agentLink, agentName, messageRow, shownName, statePill } from "../widgets/message.js";
import { coded } from "../widgets/notice.js";
import { pastNotice } from "../widgets/past_notice.js";
import { presence } from "../widgets/presence.js";
import { askToStop } from "../widgets/stop_dialog.js";
import { write } from "../widgets/write.js";
import "../widgets/composer.js";
import "../timeline/element.js";

await Promise.all(["views/timeline.css", "views/agents.css", "views/agent.css"].map(stylesheet));

const HUMAN = "human";
const TICK_MS = 5_000; // spans grow
const RELOAD_MS = 30_000; // what it waits for may move on without an update that names it
const WAITS_SHOWN = 2;

export default class Agent extends View {
  static properties = {
    ...View.properties,
    agent: { state: true },
    unknown: { state: true },
    outcome: { state: true },
  };

  #ticking = 0;
  #reloading = 0;

  connectedCallback() {
    super.connectedCallback();
    this.#ticking = setInterval(() => !document.hidden && this.requestUpdate(), TICK_MS);
    this.#reloading = setInterval(() => !document.hidden && !this.at && this.refresh(), RELOAD_MS);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.#ticking);
    clearInterval(this.#reloading);
    this.outcome = null;
  }

  get name() {
    return this.place.path[0] ?? "";
  }

  /** The moment that is shown; null: now. */
  get at() {
    return secondsOf(this.place.query.at);
  }

  get #now() {
    return this.at ?? hubNow();
  }

  get writing() {
    return this.name === HUMAN || isGone(this.agent?.state) ? {} : { to: this.name };
  }

  get heading() {
    return shownName(this.name);
  }

  async load() {
    try {
      this.agent = await get(`/page/agents/${part(this.name)}`, { at: this.at }, has("inbox", "hour"));
      this.unknown = null;
    } catch (problem) {
      if (problem.status !== 404) throw problem;
      this.unknown = problem;
    }
  }

  concerns(update) {
    if (this.at) return false;
    const names = [this.name, `role:${this.agent?.role}`]; // its own inbox, and the one of its role
    return update.reset || update.roster || names.some((name) => update.agents.includes(name));
  }

  content() {
    if (this.unknown) return this.#notFound();
    const { agent } = this;
    return html`<div class="agent-page">
      ${pastNotice(this.at)} ${this.#head(agent)} ${this.#news()}
      <div class="now-cards">
        ${this.#doing(agent.doing)} ${this.#waits(agent)} ${this.#holds(agent.holds)} ${this.#hour(agent.hour)}
      </div>
      ${this.#lane(agent)}
      <div class="agent-columns">
        <div class="stack">
          ${this.#inbox(agent.inbox)}
          ${this.#messages("Last said", agent.said, agent.filters.said)}
          ${this.#messages("Last heard", agent.heard, agent.filters.heard)}
          ${this.at || this.name === HUMAN || me.agent === this.name || me.viewer || isGone(agent.state) ? nothing : html`<section class="card pad"><telex-composer .to=${this.name}></telex-composer></section>`}
        </div>
        <div class="stack">
          ${this.#refused(agent.refusals)} ${this.#contracts(agent)}
          ${this.name === HUMAN ? nothing : isGone(agent.state) ? this.#joins(agent) : this.#wakes(agent)}
        </div>
      </div>
    </div>`;
  }

  #notFound() {
    const { nearest } = this.unknown.body;
    return html`${pastNotice(this.at)}
      <div class="page-bar"><h1 dir="auto">${shownName(this.name)}</h1></div>
      <div class="card calm"><p>${this.unknown.message}</p>
        <p class="buttons">${nearest ? html`<a class="button" href=${address("agent", [nearest])}>${nearest}</a>` : nothing}
          <a class="button" href=${address("agents")}>All agents</a></p></div>`;
  }

  // --- head and buttons ----------------------------------------------------------------------------------------------

  #head({ role, state, client, active_at: activeAt }) {
    const active = activeAt
      ? html`<time title=${exact(activeAt)}>active ${ago(activeAt, this.#now)}</time>`
      : "never active";
    return html`<div class="page-bar">
      <h1 class="agent ${roleClass(role)}" dir="auto">${shownName(this.name)}</h1><span class="tag">${role}</span>
      ${presence(state)}<span class="soft">${client ? `${client} · ` : nothing}${active}</span>
      <span class="grow"></span>${this.name === HUMAN || this.at ? nothing : this.#buttons(state)}
    </div>`;
  }

  #buttons(state) {
    return html`<div class="buttons">
      ${me.viewer || isGone(state) ? nothing : html`<button type="button" @click=${() => write(this.writing)}>Write</button>`}
      ${!isGone(state) && this.#mayWake ? html`<button type="button" ?disabled=${this.outcome?.busy} @click=${() => this.#wake()}>Wake</button>` : nothing}
      ${!isGone(state) && me.operator ? html`<button type="button" class="bad" @click=${() => this.#stop()}>Stop…</button>` : nothing}
    </div>`;
  }

  get #mayWake() {
    return me.operator || me.agent === this.name;
  }

  /** What became of the last button, and whether the agent was asked to stop. */
  #news() {
    const { shutdown } = this.agent;
    return html`<div role="status">${
      this.outcome?.words
        ? html`<p class="notice is-${this.outcome.state}">${this.outcome.words}
            ${this.outcome.again ? html`<button type="button" class="small" @click=${() => this.#wake(true)}>Wake it anyway</button>` : nothing}</p>`
        : nothing
    }${
      shutdown?.asked_at && !isGone(this.agent.state)
        ? html`<p class="notice is-waiting">${agentLink(shutdown.asked_by)} asked it to stop ${ago(shutdown.asked_at)}:
            it ${shutdown.words}.</p>`
        : nothing
    }</div>`;
  }

  async #wake(force = false) {
    await this.#act(() => post(`/page/agents/${part(this.name)}/wake`, { force }, {}, has("stage")), wakeOutcome);
  }

  async #stop() {
    const wish = await askToStop(this.name, this.agent);
    if (wish?.mode === "ask") {
      const body = { as: wish.asker, reason: wish.reason };
      await this.#act(
        () => post(`/page/agents/${part(this.name)}/stop`, body, {}, has("id")),
        () => ({
          words: "It was asked to stop. Its answer is shown here.",
          state: "done",
        }),
      );
    } else if (wish?.mode === "remove") {
      await this.#act(
        () => post("/leave", { name: this.name }, {}, Number.isInteger),
        (withdrawn) => ({
          words: `It was removed from the team. ${count(withdrawn, "message")} withdrawn.`,
          state: "done",
        }),
      );
    }
  }

  async #act(action, outcome) {
    this.outcome = { busy: true };
    try {
      this.outcome = outcome(await action());
      this.refresh();
    } catch (problem) {
      if (!("findings" in problem)) throw problem;
      this.outcome = { words: coded(problem.message), state: "refused" };
    }
  }

  // --- cards ---------------------------------------------------------------------------------------------------------

  #address(view, path, query = {}) {
    return address(view, path, { ...query, at: this.place.query.at });
  }

  #message(link) {
    return html`<a dir="auto" href=${this.#address("message", [link.message])}>${link.gist || link.kind}</a>`;
  }

  #conversation({ conversation }) {
    return conversation
      ? html` · <a class="mono" href=${this.#address("conversation", [conversation])}>${conversation}</a>`
      : nothing;
  }

  #doing(doing) {
    return card(
      "Doing now",
      doing
        ? html`<p class="now-main">${this.#message(doing)}</p>
          <p class="soft">${doing.kind} · for ${span(this.#now - doing.since)} · from ${agentLink(doing.from, doing.from_role)}${this.#conversation(doing)}${
            doing.attempt > 1 ? ` · attempt ${doing.attempt}` : nothing
          }</p>`
        : html`<p class="now-main soft">Idle</p>`,
    );
  }

  #waits({ waits, waits_more: waitsMore }) {
    const shown = waits.slice(0, WAITS_SHOWN);
    const more = waits.length - shown.length + waitsMore;
    return card(
      "Waits for",
      shown.length
        ? html`${shown.map((wait) => this.#wait(wait))}${more ? html`<p class="soft">and ${number(more)} more</p>` : nothing}`
        : html`<p class="now-main soft">Nobody</p>`,
      shown.length ? "is-open" : "",
    );
  }

  #wait(wait) {
    const more = wait.whom_more ? html` and ${wait.whom_more} more` : nothing;
    const whom = wait.whom.map(
      (name, place) =>
        html`${place ? ", " : nothing}${name === HUMAN ? html`<a href=${address("needs")}>you</a>` : agentLink(name, this.agent.roles[name])}`,
    );
    return html`<p class="now-main">${whom}${more}: ${this.#message(wait)}</p>
      <p class="soft">${wait.why} · for ${span(this.#now - wait.since)}${this.#conversation(wait)}</p>`;
  }

  #holds({ messages, rows, files }) {
    return card(
      "Holds",
      html`<p class="now-main">${count(messages, "message")}${files.length ? `, ${count(files.length, "changed file")}` : nothing}</p>
      ${rows.length > 1 ? html`<ul class="held">${rows.map((row) => html`<li>${this.#message(row)}</li>`)}</ul>` : nothing}
      ${messages > rows.length ? html`<p class="soft">and ${number(messages - rows.length)} more</p>` : nothing}
      ${files.length ? html`<p class="files">${files.map(chip)}</p>` : nothing}`,
    );
  }

  #hour({ since, busy, sent, received, refused, tokens }) {
    const length = this.#now - since;
    const title = length < 3_540 ? `Last ${span(length)}` : "Last hour";
    return card(
      title,
      html`<p class="now-main">${Math.round(busy * 100)} % busy</p>
      <p class="soft">${number(sent)} sent · ${number(received)} received${refused ? ` · ${number(refused)} refused` : nothing}${
        tokens === null ? nothing : ` · ${number(tokens)} tokens`
      }</p>`,
    );
  }

  #lane({ lane, begins_at: begins }) {
    const facts = (seq) => get("/page/timeline/marks", { seqs: seq, from: lane.from, at: lane.at }, has("messages"));
    return html`<section class="card agent-lane" aria-label="Last hour on the timeline">
      <telex-timeline .answer=${lane} .at=${this.at} .begins=${begins} .facts=${facts} .zoom=${"1h"}
        @telex-select=${(event) => this.#selected(event.detail.seq)}></telex-timeline></section>`;
  }

  #selected(seq) {
    if (seq !== null) navigate(this.#address("message", [seq]));
  }

  // --- messages ------------------------------------------------------------------------------------------------------

  #inbox({ unread, shared, in_hand: inHand, rows }) {
    const counts = [
      `${number(unread)} not taken`,
      `${number(inHand)} in hand`,
      ...(shared ? [`${number(shared)} for one of its role`] : []),
    ];
    const more = unread + shared + inHand - rows.length;
    return html`<section class="card" aria-labelledby="agent-inbox">
      <div class="bar"><h2 id="agent-inbox">Inbox</h2><span class="soft">${counts.join(", ")}</span></div>
      ${this.#rows(rows, "Empty")}
      ${more > 0 ? html`<p class="pad soft">and ${number(more)} more</p>` : nothing}</section>`;
  }

  #messages(title, rows, filter) {
    const id = title.toLowerCase().replace(" ", "-");
    return html`<section class="card" aria-labelledby=${id}>
      <div class="bar"><h2 id=${id}>${title}</h2><span class="grow"></span>${
        rows.length
          ? html`<a href=${this.#address(HOME, [], { filter })} aria-label="${title}: all in the feed">all</a>`
          : nothing
      }</div>
      ${this.#rows(rows, "Nothing yet")}</section>`;
  }

  #rows(rows, none) {
    return rows.length
      ? html`<ol class="rows tight">${rows.map((row) => messageRow(row, { conversation: false, ...this.#opening }))}</ol>`
      : html`<p class="pad soft">${none}</p>`;
  }

  /** In the past, a message is opened as it was then. */
  get #opening() {
    return this.at ? { open: (row) => navigate(this.#address("message", [row.seq])) } : {};
  }

  // --- refusals and contract -----------------------------------------------------------------------------------------

  #refused({ total, codes, codes_all: codesAll }) {
    const most = codes[0]?.count ?? 1;
    return html`<section class="card" aria-labelledby="agent-refused">
      <div class="bar"><h2 id="agent-refused">Refused</h2><span class="soft">${count(total, "message")} in a day</span><span class="grow"></span>
        ${total ? html`<a href=${address("refusals", [], { agent: this.name })} aria-label="All refusals of ${this.name}">all</a>` : nothing}</div>
      ${codes.length ? html`<ul class="codes">${codes.map((row) => this.#code(row, most))}</ul>` : html`<p class="pad soft">None</p>`}
      ${codesAll > codes.length ? html`<p class="pad soft">and ${count(codesAll - codes.length, "other code")}</p>` : nothing}</section>`;
  }

  #code(row, most) {
    return html`<li>
      <div class="codes-top"><code class="code-word">${row.code}</code><b>${number(row.count)} ×</b></div>
      <svg class="codes-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect width="100" height="4"></rect><rect class="is-value" width=${(100 * row.count) / most} height="4"></rect></svg>
      <p class="soft"><a href=${this.#address("message", [row.message])}>last ${ago(row.last_at, this.#now)}</a>: ${coded(row.last_fix)}</p></li>`;
  }

  #contracts({ contracts, contracts_more: more }) {
    if (!contracts.length) return nothing;
    return html`<section class="card" aria-labelledby="agent-contract">
      <div class="bar"><h2 id="agent-contract">Contract</h2>${contracts.length > 1 ? html`<span class="soft">${number(contracts.length + more)} apply</span>` : nothing}</div>
      ${contracts.map((contract) => this.#contract(contract))}
      ${more ? html`<p class="pad"><a href=${address("contracts")}>${number(more)} more in Contracts</a></p>` : nothing}</section>`;
  }

  #contract(contract) {
    const { tasks, tokens, granted } = contract;
    return html`<div class="pad contract">
      <p><a href=${this.#address("message", [contract.message])} dir="auto">${contract.objective || `plan ${contract.plan}`}</a>
        <span class="soft">plan ${contract.plan} by ${agentName(contract.by, this.agent.roles[contract.by])}</span></p>
      <dl class="pair">
        <dt>may write</dt><dd>${contract.allowed.map(chip)}${granted.map((grant) => this.#granted(grant))}${
          contract.allowed.length + granted.length ? nothing : "no path"
        }</dd>
        ${contract.forbidden.length ? html`<dt>never</dt><dd>${contract.forbidden.map((path) => html`<code class="chip is-bad">${path}</code>`)}</dd>` : nothing}
        ${contract.must.length ? html`<dt>must have</dt><dd dir="auto">${contract.must.join(" · ")}</dd>` : nothing}
        ${tasks.all ? html`<dt>tasks</dt><dd>${number(tasks.done)} of ${number(tasks.all)} done</dd>` : nothing}
        ${tokens.budget || tokens.spent ? html`<dt>tokens</dt><dd>${number(tokens.spent)}${tokens.budget ? ` of ${number(tokens.budget)}` : nothing}</dd>` : nothing}
      </dl></div>`;
  }

  #granted({ pattern, by, at, override }) {
    const title = `${override ? "Although forbidden, granted" : "Granted"} by ${shownName(by)} ${ago(at, this.#now)}`;
    return html`<code class="chip is-granted" title=${title}>${pattern}<span class="hidden"> (${title})</span></code>`;
  }

  // --- how to wake it ------------------------------------------------------------------------------------------------

  #wakes({ session, wake }) {
    return html`<section class="card" aria-labelledby="agent-wake">
      <div class="bar"><h2 id="agent-wake">How to wake it</h2></div>
      <div class="pad stack">
        ${this.at ? nothing : html`<p>${session ? sessionWords(session) : "No session of it is known on the hub's machine."}</p>`}
        ${wake.since ? html`<p class="soft">${this.#stage(wake)}</p>` : nothing}
        ${wake.ways.length ? this.#ways(wake.ways) : nothing}
        <div><p class="soft">By hand</p>${codeBlock(wake.by_hand)}</div>
      </div></section>`;
  }

  /** An agent that is gone sends and receives nothing until it is in the team again. */
  #joins({ state, join }) {
    const words =
      state === "left"
        ? "It left the team."
        : "It was shut down: it sends and receives nothing until it is added again.";
    return html`<section class="card" aria-labelledby="agent-join">
      <div class="bar"><h2 id="agent-join">How to add it again</h2></div>
      <div class="pad stack"><p>${words}</p>${codeBlock(join)}</div></section>`;
  }

  #stage({ stage, since, failed }) {
    const when = ago(since, this.#now);
    if (stage === "due") return `A wake has been due for ${span(this.#now - since)}${failed ? `: ${failed}` : ""}.`;
    if (stage === "delivered") return `Woken ${when}; it has not looked yet.`;
    return stage === "seen" ? `It looked ${when}, after its last wake.` : `Its last wake was withdrawn ${when}.`;
  }

  #ways(ways) {
    return html`<table class="grid ways"><thead><tr><th scope="col">Way</th><th scope="col">State</th><th scope="col">Last took</th></tr></thead>
      <tbody>${ways.map(
        (
          way,
          place,
        ) => html`<tr><td>${way.words}${place === 0 && way.usable ? html` <span class="soft">first choice</span>` : nothing}</td>
          <td>${wayState(way)}${way.error ? html`<span class="soft way-error">${way.error}</span>` : nothing}</td>
          <td title=${way.last_at ? exact(way.last_at) : nothing}>${way.seconds === null ? html`<span class="faint">–</span>` : span(way.seconds)}</td></tr>`,
      )}</tbody></table>`;
  }
}

const card = (title, content, state = "") =>
  html`<section class="card now-card ${state}"><h2>${title}</h2>${content}</section>`;

const chip = (text) => html`<code class="chip">${text}</code>`;

const REACH = {
  "mid-turn": "it is busy and sees a message between two steps",
  "at turn end": "it is busy and sees a message at the end of its turn",
  "idle wake": "it is idle and can be woken",
  "only when asked": "it sees messages only when somebody asks it to look",
};

const sessionWords = (session) =>
  html`${session.client} <code>${session.id}</code>: ${session.live ? (REACH[session.reach] ?? session.state) : "its session has ended"},
    last event ${ago(session.seen_at)}.`;

function wayState({ works, usable }) {
  if (works === true) return statePill("done", "works");
  if (works === false) return statePill("dead", "failed");
  return statePill("sent", usable ? "not tried" : "not usable");
}

/** Words for the answer of the hub to a wake. */
function wakeOutcome({ way, stage, unread, failures, reason, deliver_at: deliverAt, has_session: hasSession }) {
  const waiting = count(unread, "unread message");
  if (way) return { words: `Woken for ${waiting}.`, state: "done" };
  if (failures.length) return { words: `Not woken: ${failures.join("; ")}.`, state: "refused" };
  if (stage === "delivered")
    return { words: "It was woken before and has not looked yet.", state: "waiting", again: true };
  if (!unread) return { words: "Nothing to wake it for: it knows of every message in its inbox.", state: "sent" };
  if (!hasSession) {
    return {
      words: `No session of it is known on the hub's machine. A wake for ${waiting} is due: the agent's own process delivers it.`,
      state: "waiting",
    };
  }
  const until = deliverAt && deliverAt > hubNow() ? `, not before ${clockShort(deliverAt)}` : "";
  return { words: `Not woken now${reason ? `: ${reason}` : ""}${until}.`, state: "waiting", again: true };
}
