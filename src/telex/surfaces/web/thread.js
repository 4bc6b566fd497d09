// A conversation as a sequence diagram that grows, or as a list; and the list of conversations.

import { html, nothing } from "./vendor/lit.js";
import { get, has, part } from "./hub.js";
import { View, at, go, register } from "./view.js";
import { agent, badge, count, empty, findings, heading, kindBadge, spoken, when } from "./parts.js";
import { diagram } from "./diagram.js";
import { gist } from "./gist.js";
import { detailOf } from "./said.js";

const PAGE = 30; // conversations
const LATEST = 50; // messages of a conversation of which the hub tells the senders and the refusals

class Thread extends View {
  static properties = { ...View.properties, stories: { state: true } };

  connectedCallback() {
    super.connectedCallback();
    this.resized = () => this.requestUpdate();
    window.addEventListener("resize", this.resized);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    window.removeEventListener("resize", this.resized);
  }

  async load() {
    const [correlation] = this.place.path;
    if (!correlation) return go(at("threads"), { replace: true });
    const stories = await get(`/trace/${part(correlation)}`);
    if (this.place.path[0] !== correlation) return;
    const known = new Set((this.stories || []).map((story) => story.message.seq));
    this.fresh =
      this.of === correlation
        ? new Set(stories.map((story) => story.message.seq).filter((seq) => !known.has(seq)))
        : new Set();
    this.of = correlation;
    this.stories = stories;
  }

  concerns(batch) {
    const seqs = new Set((this.stories || []).map((story) => story.message.seq));
    return batch.some(({ event, message }) => message?.correlation === this.place.path[0] || seqs.has(event.message));
  }

  content() {
    const [correlation] = this.place.path;
    const { stories } = this;
    if (!stories) return nothing;
    if (!stories.length)
      return html`${heading(correlation)}
        ${empty("No messages", "No stored message belongs to this conversation.")}`;
    const people = new Set(stories.map((story) => story.message.sender)).size;
    const title = html`Conversation <span class="mono">${correlation}</span>`;
    const lead = html`${count(stories.length, "message")} by ${count(people, "agent")},
      begun ${when(stories[0].message.at)}, the last ${when(stories.at(-1).message.at)}.`;
    const asList = this.place.query.as === "list";
    const choices = html`${this.#choice("", "Diagram", !asList)} ${this.#choice("list", "List", asList)}`;
    return html`${heading(title, lead, choices)} ${asList ? this.#list() : this.#diagram()}`;
  }

  #choice(name, title, isOn) {
    const address = at("thread", this.place.path, { as: name });
    return html`<button type="button" aria-pressed=${isOn ? "true" : "false"}
      @click=${() => go(address, { replace: true })}>${title}</button>`;
  }

  #diagram() {
    const drawn = diagram(this.stories, this.clientWidth - 2, this.fresh);
    return html`<div class="card diagram" tabindex="0" role="region" aria-label="Sequence diagram">${drawn}</div>
      <p class="legend diagram-legend quiet">
        <span><span class="key solid"></span> said</span> <span><span class="key dashed"></span> answer</span>
        <span><span class="key cross">✕</span> refused</span> <span><span class="key full"></span> acked</span>
        <span><span class="key hollow"></span> still open</span>
      </p>`;
  }

  #list() {
    return html`<ol class="thread-list">${this.stories.map((story) => this.#listed(story))}</ol>`;
  }

  #listed({ message, state, events }) {
    const found = events.flatMap((event) => (event.kind === "refused" ? detailOf(event).findings || [] : []));
    const asked = message.reply_to;
    return html`<li class="card ${message.refused ? "refused" : ""}">
      <p class="who">${spoken(message)} ${kindBadge(state)} ${when(message.at)}</p>
      <p><a href=${at("message", [message.seq])}>${gist(message) || "(nothing)"}</a></p>
      ${asked ? html`<p class="quiet">in reply to <a href=${at("message", ["id", asked])}>${asked}</a></p>` : nothing}
      ${findings(found)}
    </li>`;
  }
}

class Threads extends View {
  static properties = { ...View.properties, threads: { state: true }, hasOlder: { state: true } };

  constructor() {
    super();
    this.wanted = PAGE;
  }

  /** A page of the hub may be empty and have a next one: it looks through so many messages at a time. */
  async load() {
    const found = [];
    let before;
    do {
      const page = await get("/conversations", { before, limit: PAGE }, has("conversations", "next"));
      found.push(...page.conversations);
      before = page.next;
    } while (before && found.length < this.wanted);
    this.threads = found;
    this.hasOlder = Boolean(before);
  }

  #older() {
    this.wanted = this.threads.length + PAGE;
    this.reload();
  }

  concerns(batch) {
    return batch.some(({ message }) => message?.correlation);
  }

  content() {
    const lead = "Conversations, the latest first. Each opens as a sequence diagram.";
    return html`${heading("Conversations", lead)}
      ${
        this.threads.length
          ? html`<ol class="results">${this.threads.map((thread) => this.#thread(thread))}</ol>`
          : empty("No conversations yet", "Messages with a task, a plan or a correlation are grouped here.")
      }
      ${this.hasOlder ? html`<p><button type="button" @click=${this.#older}>Older</button></p>` : nothing}`;
  }

  #thread({ correlation, last, messages, refused, senders }) {
    return html`<li class="result">
      <p class="who"><a class="mono strong" href=${at("thread", [correlation])}>${correlation}</a>
        <span class="quiet">· ${count(messages, "message")}, the last</span> ${when(last.at)}
        ${refused ? badge(`${refused} refused${messages > LATEST ? ` of the last ${LATEST}` : ""}`, "bad") : nothing}</p>
      <p>${senders.map((name, index) => html`${index ? ", " : ""}${agent(name)}`)}</p>
      <p class="excerpt">last: ${gist(last)}</p>
    </li>`;
  }
}

register({
  name: "threads",
  title: "Conversations",
  group: "record",
  tag: "telex-threads",
  view: Threads,
  covers: ["thread"],
});
register({ name: "thread", title: "Conversation", tag: "telex-thread", view: Thread, hidden: true });
