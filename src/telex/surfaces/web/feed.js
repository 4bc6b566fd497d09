// Messages right now? The first screen: who needs a person, the live feed, and the team beside it.

import { html, nothing, repeat } from "./vendor/lit.js";
import { get } from "./hub.js";
import { View, at, go, register } from "./view.js";
import { count } from "./parts.js";
import { asked, filterForm, isAsked, wants } from "./feed_filter.js";
import { MessageStates, row } from "./feed_row.js";
import { attention, firstMessage } from "./first_screen.js";
import "./team_aside.js";

const ROWS_MAX = 500; // on the page; the record holds the rest
const BEGIN_WITH = 200;
const HELD_BELOW_PX = 240; // who has scrolled down is reading: what is new waits above
const ASK_MS = 250;

class Feed extends View {
  static properties = {
    ...View.properties,
    rows: { state: true },
    held: { state: true },
    paused: { state: true },
    news: { state: true },
    filtering: { state: true },
  };

  constructor() {
    super();
    this.rows = []; // newest first
    this.held = []; // new, and not shown yet
    this.paused = false;
    this.filtering = false; // on a phone: are the filters shown?
    this.states = new MessageStates(() => this.requestUpdate());
    this.news = "";
    this.keys = (event) => this.#key(event);
    this.asking = 0;
    this.heardUpTo = 0;
    this.meanwhile = [];
    this.turn = 0;
  }

  connectedCallback() {
    super.connectedCallback();
    document.addEventListener("keydown", this.keys);
    this.scrolled = () => !this.#holds() && this.held.length && this.#release();
    document.addEventListener("scroll", this.scrolled, { passive: true });
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    document.removeEventListener("keydown", this.keys);
    document.removeEventListener("scroll", this.scrolled);
    clearTimeout(this.asking);
    this.states.clear();
  }

  async load() {
    const turn = ++this.turn;
    this.meanwhile = []; // heard while the answer is on its way
    const page = await get("/events", asked(this.place.query, { newest_first: true, limit: BEGIN_WITH }));
    if (turn !== this.turn) return; // another load has begun since, and is newer
    this.rows = page.filter(({ event }) => wants(this.place.query, event));
    this.heardUpTo = page.length ? page[0].event.seq : 0;
    this.held = [];
    this.states.ask(accepted(this.rows));
    const missed = this.meanwhile;
    this.meanwhile = null;
    if (missed.length) this.happened(missed);
  }

  happened(batch) {
    if (this.meanwhile) {
      this.meanwhile.push(...batch);
      return;
    }
    if (isAsked(this.place.query)) this.#askForNew();
    else this.#take(batch.filter(({ event }) => this.#isNew(event)).reverse());
    const shown = new Set(accepted([...this.rows, ...this.held]));
    this.states.ask(batch.map(({ event }) => event.message ?? event.seq).filter((seq) => shown.has(seq)));
  }

  #isNew(event) {
    return event.seq > this.heardUpTo && wants(this.place.query, event);
  }

  /** With filters the hub is asked for what is new, so that live and loaded rows mean the same. */
  #askForNew() {
    if (this.asking) return;
    this.asking = setTimeout(async () => {
      this.asking = 0;
      const place = this.place;
      const query = asked(place.query, { after: this.heardUpTo, limit: ROWS_MAX });
      const page = await get("/events", query).catch(() => null);
      if (place !== this.place) return; // asked under other filters
      if (!page) return this.refresh(); // which says what is wrong, and loads when the hub is back
      this.#take([...page].reverse().filter(({ event }) => event.seq > this.heardUpTo));
      if (page.length) this.#askForNew(); // there may be more: a page of large messages has few of them
    }, ASK_MS);
  }

  #take(newest) {
    if (!newest.length) return;
    this.heardUpTo = Math.max(this.heardUpTo, newest[0].event.seq);
    this.held = [...newest, ...this.held].slice(0, ROWS_MAX);
    this.states.ask(accepted(newest));
    if (!this.#holds()) this.#release();
    else this.#tell(`${count(this.held.length, "new event")}, paused`);
  }

  #holds() {
    return this.paused || scrollY > HELD_BELOW_PX;
  }

  #release() {
    const [first] = this.held;
    const one = first && `${first.event.kind}: ${first.event.agent || ""} ${first.message?.type || ""}`;
    if (first) this.#tell(this.held.length > 1 ? count(this.held.length, "new event") : one);
    this.rows = [...this.held, ...this.rows].slice(0, ROWS_MAX);
    this.held = [];
  }

  /** For those who listen, at most every few seconds. */
  #tell(words) {
    if (this.telling) return;
    this.news = words;
    this.telling = setTimeout(() => (this.telling = 0), 4000);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog"))
      return;
    if (event.key === "p") this.#pause();
    if (event.key !== "j" && event.key !== "k") return;
    const links = [...this.querySelectorAll(".happening .main")];
    const here = links.indexOf(document.activeElement);
    const next = links[Math.max(0, Math.min(links.length - 1, here + (event.key === "j" ? 1 : -1)))];
    next?.focus();
    next?.closest("li").scrollIntoView({ block: "nearest" });
  }

  #pause() {
    this.paused = !this.paused;
    if (!this.paused) this.#release();
  }

  #showHeld() {
    scrollTo(0, 0);
    this.#release();
  }

  #change(name, value) {
    go(at("feed", [], { ...this.place.query, [name]: value }), { replace: true });
  }

  content() {
    const nothingSaid = !this.rows.length && !this.held.length && !isAsked(this.place.query) && !this.place.query.kinds;
    return html`
      ${attention(this.summary)}
      <div class="first">
        <section class="feed" aria-label="Feed">
          <div class="feed-head">
            <h1 tabindex="-1">Messages</h1>
            <div class="actions">
              ${this.#buttons()}
            </div>
          </div>
          ${nothingSaid ? firstMessage() : html`${this.#filters()} ${this.#list()}`}
          <p class="visually-hidden" aria-live="polite">${this.news}</p>
        </section>
        <telex-team-aside></telex-team-aside>
      </div>`;
  }

  #buttons() {
    const held = this.held.length;
    const show = html`<button type="button" class="small primary" @click=${this.#showHeld}>${held} new</button>`;
    return html`${held ? show : nothing}
      <button type="button" class="small filter-toggle" aria-expanded=${this.filtering ? "true" : "false"}
        aria-controls="filters" @click=${() => (this.filtering = !this.filtering)}>Filter</button>
      <button type="button" class="small" aria-pressed=${this.paused ? "true" : "false"} @click=${this.#pause}
        >${this.paused ? "Paused" : "Pause"}</button>`;
  }

  #filters() {
    return filterForm(this.place.query, this.rows, this.filtering, (name, value) => this.#change(name, value));
  }

  #list() {
    return this.rows.length
      ? html`<ol class="happenings" reversed>${repeat(
          this.rows,
          ({ event }) => event.seq,
          (happening) => row(happening, this.states),
        )}</ol>`
      : html`<p class="none">No event matches. <a href=${at("feed")}>Show all messages</a></p>`;
  }
}

/** The numbers of the messages that were accepted in these rows. */
const accepted = (rows) => rows.filter(({ event }) => event.kind === "accepted").map(({ message, event }) => message?.seq ?? event.seq);

register({ name: "feed", title: "Feed", group: "now", tag: "telex-feed", view: Feed });
