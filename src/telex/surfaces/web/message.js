// The view of one message: its text, its fields, its bytes, what was found, and what became of it.

import { html, nothing, unsafeHTML } from "./vendor/lit.js";
import { get, has, part } from "./hub.js";
import { View, at, go, register } from "./view.js";
import { agent, copyable, findings, heading, kindBadge, when } from "./parts.js";
import { clockTime, exact, standard } from "./elements.js";
import { fields } from "./fields.js";
import { sentence } from "./said.js";

/** A part of the view, with its title. */
const card = (title, content) => html`<section class="card"><h2>${title}</h2>${content}</section>`;

/** A part that is opened by whoever wants it. */
const folded = (title, content, isOpen = false) => html`<section class="card">
  <details ?open=${isOpen}><summary><h2>${title}</h2></summary>${content}</details>
</section>`;

class Message extends View {
  static properties = { ...View.properties, facts: { state: true } };

  async load() {
    const [seq, id] = this.place.path;
    if (!seq || (seq === "id" && !id)) return go(at("search"), { replace: true });
    if (seq === "id") {
      const [story] = await get(`/messages/${part(id)}`); // a permalink by the sender's own id
      go(at("message", [story.message.seq]), { replace: true });
      return;
    }
    const facts = await get(`/page/message/${part(seq)}`, {}, has("message", "explanations"));
    if (this.place.path[0] === seq) this.facts = facts;
  }

  concerns(batch) {
    const seq = Number(this.place.path[0]);
    const id = this.facts?.message.id;
    return batch.some(
      ({ event, message }) => event.message === seq || message?.seq === seq || message?.reply_to === id,
    );
  }

  content() {
    if (!this.facts) return nothing;
    const { message, state } = this.facts;
    const title = html`<span class="type-title">${message.type || message.dialect || "Unreadable message"}</span>`;
    const lead = html`${agent(message.sender)} → ${agent(message.to)} · ${when(message.at)} · ${kindBadge(state)}`;
    return html`${heading(title, lead, this.#actions(message, state))}
      <div class="message-view">
        <div class="stack">${this.#findings()} ${this.#content()} ${this.#raw()}</div>
        <div class="stack">${this.#head()} ${this.#story()} ${this.#readers()}</div>
      </div>`;
  }

  #actions(message, state) {
    const { sender, id, correlation } = message;
    const answer = at("compose", [], { to: sender, reply_to: id, correlation });
    return html`
      ${correlation ? html`<a class="button" href=${at("thread", [correlation])}>The conversation</a>` : nothing}
      ${state !== "refused" ? html`<a class="button" href=${answer}>Answer</a>` : nothing}`;
  }

  #findings() {
    const { findings: found, check, explanations, state } = this.facts;
    if (!found.length) return nothing;
    const codes = [...new Set(found.map((one) => one.code))];
    return card(
      state === "refused" ? "Why it was refused" : "Findings",
      html`${findings(found)} ${codes.map((code) => this.#explained(code, explanations?.[code]))}
        ${state === "refused" && check?.fixed ? this.#fixed(check) : nothing}`,
    );
  }

  #fixed({ certain, fixed }) {
    const title = certain ? "The fixed message" : "A skeleton with blanks to fill";
    return html`<details><summary>${title}</summary><pre class="raw">${fixed}</pre></details>`;
  }

  /** What the code means in general; one of a team's own dialect has no words of its own. */
  #explained(code, told) {
    if (!told) return nothing;
    return html`<details><summary>What <code>${code}</code> means</summary><p>${told.why}</p><p>${told.fix}</p></details>`;
  }

  /** Words before fields, unless the words were only made from the fields. */
  #content() {
    const made = this.facts.html_of === "told";
    return made ? html`${this.#fields()} ${this.#says()}` : html`${this.#says()} ${this.#fields()}`;
  }

  /** The one place where markup of the hub is put into the page: rendered and sanitised there, nothing else allowed. */
  #says() {
    const { html: markup, html_cut: cut, html_of: of, tree } = this.facts;
    if (!markup) return nothing;
    const words = html`<div class="prose">${unsafeHTML(markup)}</div>
      ${cut ? html`<p class="quiet">The text is cut here.</p>` : nothing}`;
    return of === "told" && tree ? folded("As text", words) : card("Text", words);
  }

  #fields() {
    const { tree, about } = this.facts;
    if (!tree || typeof tree !== "object" || !Object.keys(tree).length) return nothing;
    const purpose = about?.purpose ? html`<p class="quiet purpose">${about.purpose}</p>` : nothing;
    return card("Fields", html`${purpose}<div class="scroll">${fields(tree)}</div>`);
  }

  #raw() {
    const { raw, bytes, cut, tree, html: markup } = this.facts;
    return folded(
      html`As it was sent <span class="quiet">${bytes.toLocaleString("en-GB")} bytes</span>`,
      html`<pre class="raw" tabindex="0" aria-label="The message as it was sent">${raw}</pre>
        ${cut ? html`<p class="quiet">Cut here: the log has all of it.</p>` : nothing}`,
      !tree && !markup,
    );
  }

  #head() {
    const { message, answer_by, about } = this.facts;
    const { correlation, reply_to } = message;
    const rows = [
      ["number", message.seq],
      ["id", copyable(message.id)],
      ["sent", exact(message.at)],
      ["from", html`${agent(message.sender)} <span class="quiet">as ${message.role}</span>`],
      ["to", agent(message.to)],
      ["dialect", message.dialect],
      ["type", message.type && html`<code>${message.type}</code>`],
      ["priority", about?.priority],
      ["conversation", correlation && html`<a href=${at("thread", [correlation])}>${correlation}</a>`],
      ["answers", reply_to && html`<a href=${at("message", ["id", reply_to])}>${reply_to}</a>`],
      ["reply due", answer_by && when(answer_by)],
    ].filter(([, value]) => value);
    return card(
      "Details",
      html`<dl class="pairs">${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`,
    );
  }

  #story() {
    const { events, deliveries } = this.facts;
    const step = (event) => html`<li>
      <time class="when" datetime=${standard(event.at)} title=${exact(event.at)}>${clockTime(event.at)}</time>
      ${kindBadge(event.kind)} <span>${sentence(event)}</span></li>`;
    const lying = (one) => html`<li>${agent(one.inbox)} ${kindBadge(one.state)}
      ${one.attempts ? html`<span class="quiet">offered ${one.attempts}×</span>` : nothing}</li>`;
    return card(
      "History",
      html`<ol class="story">${events.map(step)}</ol>
        ${deliveries.length ? html`<h3>Inboxes</h3><ul class="lies">${deliveries.map(lying)}</ul>` : nothing}`,
    );
  }

  #readers() {
    const told = this.facts.renderings;
    return told.length
      ? card(
          "What its readers received",
          told.map((one) => this.#reader(one)),
        )
      : nothing;
  }

  #reader(one) {
    const into = [one.dialect, one.type].filter(Boolean).join(" ") || "markdown";
    const change = (name) =>
      html`<p class="change"><span>${name}</span> ${one[name].map((path) => html`<code>${path}</code> `)}</p>`;
    return html`<details class="rendering">
      <summary><strong>${one.agent}</strong> <span class="quiet">${into}</span></summary>
      ${["lost", "invented", "narrowed"].filter((name) => one[name]?.length).map(change)}
      <pre class="raw">${one.raw}</pre>
    </details>`;
  }
}

register({ name: "message", title: "Message", tag: "telex-message", view: Message, hidden: true });
