/** One conversation: what it is about, who holds it up, its messages as a sequence diagram and as a list. */

import { html, nothing, repeat } from "../vendor/lit.js";
import { get, has, hubNow, part } from "../hub.js";
import { download } from "../download.js";
import { address, letGo, navigate, refine, select } from "../router.js";
import { clock, count, number, secondsOf, span } from "../format.js";
import { View, stylesheet } from "../view.js";
import { copyButton } from "../widgets/copy.js";
import { agentLink, messageRow } from "../widgets/message.js";
import "../widgets/message_panel.js";
import { conversationPill } from "../widgets/conversation_state.js";
import { pastNotice } from "../widgets/past_notice.js";
import { isAnswerable } from "../widgets/write.js";
import { foldOf, sequence } from "../widgets/sequence.js";
import "../widgets/composer.js";

await stylesheet("views/conversations.css");

const MESSAGES = 60; // shown at once
const PEOPLE_SHOWN = 7;
const END_PIXELS = 60; // nearer to the end than this, the reader follows what is new
const ROOM = 760; // of the diagram before its size is known

export default class Conversation extends View {
  static properties = {
    ...View.properties,
    conversation: { state: true },
    room: { state: true },
    news: { state: true },
    trouble: { state: true },
  };

  constructor() {
    super();
    this.room = ROOM;
    this.news = 0; // messages that came while the reader was not at the end
    this.trouble = "";
    this.keys = {
      j: () => this.#move(1),
      k: () => this.#move(-1),
      Enter: () => this.#open(),
      Escape: () => this.#letGo(),
    };
    this.observer = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry.contentRect.width);
      if (width > 0 && Math.abs(width - this.room) > 2) this.room = width;
    });
  }

  get heading() {
    return this.conversation?.title ?? "";
  }

  get writing() {
    return { conversation: this.conversation?.id, suggested: this.#partner };
  }

  /** Who spoke last, but for the person at the page and the bus. */
  get #partner() {
    return this.conversation?.rows.findLast((row) => isAnswerable(row))?.from ?? "";
  }

  get #chosen() {
    return Number(this.place.query.message) || 0;
  }

  get #at() {
    return secondsOf(this.place.query.at);
  }

  /** The end of the conversation is shown, and it goes on. */
  get #isLive() {
    return !this.place.query.at && !this.place.query.before;
  }

  async load() {
    const [id] = this.place.path;
    if (!id) return navigate(address("conversations"), { replace: true });
    const { before } = this.place.query;
    const query = { at: this.#at, before, limit: MESSAGES };
    const found = await get(`/page/conversations/${part(id)}`, query, has("rows", "title"));
    const isSame = this.conversation?.id === found.id && this.shown === before;
    const last = isSame ? this.conversation.rows.at(-1)?.seq : 0;
    const isLinked = this.#chosen > 0 && (!isSame || this.#chosen !== this.lastChosen);
    this.lastChosen = this.#chosen;
    if (isLinked && found.rows[0]?.seq > this.#chosen) return refine({ before: this.#chosen + 1 }); // an older page has it
    this.toReveal = isLinked;
    this.toEnd = isSame ? this.#isAtEnd() : !isLinked;
    this.news = this.toEnd ? 0 : this.news + found.rows.filter((row) => row.seq > last).length;
    this.shown = before;
    this.conversation = found;
  }

  concerns(update) {
    if (!this.#isLive || !this.conversation) return false;
    const { id, rows } = this.conversation;
    const seqs = new Set(rows.map((row) => row.seq)); // the first message may have begun it under its own id
    return update.reset || update.conversations.includes(id) || update.rows.some((row) => seqs.has(row.seq));
  }

  // --- place of the reader -------------------------------------------------------------------------------------------

  #scrollers() {
    return [...this.querySelectorAll(".conversation-scroll")];
  }

  #isAtEnd() {
    return this.#scrollers().every((one) => one.scrollHeight - one.scrollTop - one.clientHeight < END_PIXELS);
  }

  #scrollToEnd() {
    this.news = 0;
    for (const one of this.#scrollers()) one.scrollTop = one.scrollHeight;
  }

  #scrolled() {
    if (this.news && this.#isAtEnd()) this.news = 0;
  }

  updated(changed) {
    const diagram = this.querySelector(".diagram");
    if (diagram && diagram !== this.observed) {
      if (this.observed) this.observer.unobserve(this.observed);
      this.observer.observe(diagram);
      this.observed = diagram;
    }
    if (this.toEnd && diagram && (changed.has("conversation") || changed.has("room"))) this.#scrollToEnd();
    if (this.#chosen && (changed.has("place") || (this.toReveal && changed.has("conversation")))) this.#reveal();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.observer.disconnect();
    this.observed = null;
  }

  // --- selection -----------------------------------------------------------------------------------------------------

  #choose(row) {
    if (row.seq === this.#chosen) letGo();
    else select(row.seq);
  }

  #move(step) {
    const { rows } = this.conversation ?? { rows: [] };
    const place = rows.findIndex((row) => row.seq === this.#chosen);
    const next = place < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, place + step));
    if (rows[next]) select(rows[next].seq);
  }

  #open() {
    if (!this.#chosen) return false;
    navigate(address("message", [this.#chosen], { at: this.place.query.at }));
    return true;
  }

  #letGo() {
    if (this.#chosen) letGo();
    else navigate(address("conversations"));
  }

  /** Scroll the selected message into view, in the list and in the diagram. */
  #reveal() {
    for (const one of this.querySelectorAll(`[data-seq="${this.#chosen}"]`)) {
      one.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  }

  // --- templates -----------------------------------------------------------------------------------------------------

  content() {
    if (!this.conversation) return nothing; // an address without an id
    return html`${pastNotice(this.#at)} ${this.#head()} ${this.#facts()}
      ${this.trouble ? html`<p class="notice is-refused" role="alert">${this.trouble}</p>` : nothing}
      <div class="conversation-columns ${this.#chosen ? "has-panel" : ""}">${this.#diagram()} ${this.#list()} ${this.#panel()}</div>`;
  }

  #head() {
    const { id, title } = this.conversation;
    return html`<div class="page-bar"><h1 dir="auto">${title || id}</h1> ${conversationPill(this.conversation)}
      <span class="grow"></span>
      <a class="button" href=${address("timeline", [], { conversation: id, at: this.place.query.at })}>On the timeline</a>
      ${copyButton(location.href, "Copy link")}
      <button type="button" title="One file that can be sent" @click=${() => this.#export()}>Export</button></div>`;
  }

  #facts() {
    const one = this.conversation;
    const isDone = one.state === "done";
    const end = isDone ? one.to : (this.#at ?? hubNow());
    const rest = one.people_count - PEOPLE_SHOWN;
    return html`<dl class="facts conversation-facts">
      ${fact("Conversation", html`<code dir="auto">${one.id}</code>`)}
      ${fact("Messages", html`${number(one.messages)}${badFigures(one)}`)}
      ${fact("Took", `${span(end - one.from)}${isDone ? "" : " so far"}`)}
      ${fact("Worked", span(one.worked))}
      ${fact("Waited for answers", span(one.waited))}
      ${fact(
        "People",
        html`${one.people
          .slice(0, PEOPLE_SHOWN)
          .map(
            ([name, role], index) => html`${index ? ", " : ""}${agentLink(name, role)}`,
          )}${rest > 0 ? html` <span class="soft">and ${count(rest, "other")}</span>` : nothing}`,
      )}
    </dl>`;
  }

  #roles() {
    const { people, rows } = this.conversation;
    return Object.fromEntries([...people, ...rows.map((row) => [row.from, row.from_role])]);
  }

  #diagram() {
    const { rows } = this.conversation;
    const drawn = sequence(rows, {
      roles: this.#roles(),
      room: this.room,
      chosen: this.#chosen,
      choose: (row) => this.#choose(row),
      moment: this.#at ?? hubNow(),
    });
    return html`<section class="card conversation-diagram" aria-label="Diagram">
      <div class="diagram conversation-scroll" tabindex="0" role="region" aria-label="Sequence diagram"
        @scroll=${() => this.#scrolled()}>${drawn}</div>
      ${
        this.news
          ? html`<button type="button" class="primary small news" @click=${() => this.#scrollToEnd()}
        >${count(this.news, "new message")} ↓</button>`
          : nothing
      }
    </section>`;
  }

  #list() {
    const { rows, earlier, later } = this.conversation;
    const shown =
      later || earlier
        ? html`<span class="soft">${number(earlier + 1)}–${number(earlier + rows.length)} of
      ${number(this.conversation.messages)}</span>`
        : nothing;
    return html`<section class="card conversation-list" aria-label="Messages">
      <div class="bar"><h2>Messages</h2> ${shown} <span class="grow"></span> ${this.#paging()}</div>
      <div class="conversation-scroll" tabindex="0" role="region" aria-label="List of messages" @scroll=${() => this.#scrolled()}>
        <ol class="rows tight">${repeat(
          rows,
          (row) => row.seq,
          (row, index) => this.#listed(row, rows[index - 1]),
        )}</ol>
      </div>
      ${
        this.place.query.at
          ? nothing
          : html`<telex-composer class="conversation-composer" .conversation=${this.conversation.id} .suggested=${this.#partner}
              .placeholder=${"Message in this conversation"}></telex-composer>`
      }
      <p class="hidden" role="status">${this.#isLive ? spoken(rows.at(-1)) : ""}</p></section>`;
  }

  #paging() {
    const { older, newer, later } = this.conversation;
    const go = (before) => refine({ before, message: undefined }, { replace: false });
    return html`${older ? html`<button type="button" class="small" @click=${() => go(older)}>Older</button>` : nothing}
      ${newer ? html`<button type="button" class="small" @click=${() => go(newer)}>Newer</button>` : nothing}
      ${later ? html`<button type="button" class="small" @click=${() => go(undefined)}>Newest</button>` : nothing}`;
  }

  #listed(row, previous) {
    const gap = foldOf(row, previous);
    const isChosen = row.seq === this.#chosen;
    const kind = row.climb ? `▲ ${row.kind}, step ${row.climb.step}` : row.kind;
    const shown = messageRow(
      { ...row, kind },
      {
        open: (one) => this.#choose(one),
        chosen: isChosen,
        conversation: false,
        recipientRoles: this.#roles(),
      },
    );
    return html`${gap ? html`<li class="conversation-gap">${span(gap)} later</li>` : nothing}${shown}
      ${row.climb ? html`<li class="conversation-note">${row.climb.by} asked; ${row.climb.from} has not answered</li>` : nothing}`;
  }

  #panel() {
    if (!this.#chosen) return nothing;
    return html`<telex-message-panel class="conversation-panel" .seq=${this.#chosen} .at=${this.#at}
      @telex-close=${() => letGo()}></telex-message-panel>`;
  }

  async #export() {
    const [id] = this.place.path;
    this.trouble = "";
    try {
      await download(`/page/conversation-file/${part(id)}`, {}, `${fileName(this.conversation.id)}.html`);
    } catch (problem) {
      this.trouble = problem.message;
    }
  }
}

const fact = (word, content) => html`<div><dt>${word}</dt> <dd>${content}</dd></div>`;

const badFigures = ({ refused, dead }) =>
  html`${refused ? html` <span class="is-refused tone">(${number(refused)} refused)</span>` : nothing}${
    dead ? html` <span class="is-dead tone">(${number(dead)} dead)</span>` : nothing
  }`;

/** What is read out when a message comes. */
const spoken = (row) => (row ? `${clock(row.at)} ${row.from} to ${row.to_label}: ${row.gist}` : "");

const fileName = (id) => id.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 80) || "conversation";
