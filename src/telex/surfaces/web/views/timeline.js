/** Home: what needs the person, the timeline with its replay, the feed, and the message that is selected. */

import { html, nothing, repeat } from "../vendor/lit.js";
import { get, has, hubNow, live } from "../hub.js";
import { address, letGo, refine, select } from "../router.js";
import { ago, clock, count, iso, moment, number, secondsOf, span } from "../format.js";
import { NEEDS } from "../states.js";
import { View, stylesheet } from "../view.js";
import { agentName, messageRow } from "../widgets/message.js";
import { emptyNotice } from "../widgets/notice.js";
import { ZOOMS, ZOOM_WORDS, DAY } from "../timeline/layout.js";
import "../timeline/element.js";
import "../timeline/overview.js";

await stylesheet("views/timeline.css");

const FEED = 40; // rows of one page
const FEED_MAX = 400; // that a person has paged to
const GIST = 4; // place in the facts of a message, see factsOf in layout.js
const NEEDS_SHOWN = 3;
const CELLS = 240; // of the overview
const OVERVIEW_MS = 5000; // between two requests while things happen
const TIMELINE_MS = 300; // after an update; a large answer is asked for less often
const TIMELINE_LARGE_MS = 1000;
const LONG_WINDOW_MS = 10_000; // in a window of a day, a message more is no pixel more
const LANES_LARGE = 20;
const FEED_MS = 500;
const COUNTING_MS = 1000; // while the hub counts the log
const REPLAY_MS = 500; // between two requests while a replay runs
const REPLAY_AHEAD = 3; // seconds of the replay that are loaded ahead
const RETRY_MS = 4000; // after a request that failed while the stream is live
const STEP_SECONDS = 10; // of , and .
const FILTER_MS = 300; // after the last key
const RANGE = /^(.+?)\s*(?:–|\bto\b|\s-\s)\s*(.+)$/; // from … to …
const TOP_PX = 46; // height of the shell's bar: a feed that begins above it is being read

/** Requests of one kind: at most one at a time, not too often, and the last one wins. */
class Pace {
  #timer = 0;
  #isRunning = false;
  #again = false;
  #endedAt = 0;

  constructor(action) {
    this.action = action;
  }

  /** Run it so many milliseconds after its last run, once for all who want it meanwhile. */
  soon(pause) {
    if (this.#isRunning) this.#again = true;
    if (this.#timer || this.#isRunning) return;
    const wait = Math.max(0, pause - (performance.now() - this.#endedAt));
    this.#timer = setTimeout(() => this.#run(pause), wait);
  }

  async #run(pause) {
    this.#timer = 0;
    this.#isRunning = true;
    const isDone = await this.action().then(
      () => true,
      () => false,
    );
    this.#isRunning = false;
    this.#endedAt = performance.now();
    if (!isDone && live.state === "live") this.#timer = setTimeout(() => this.#run(pause), RETRY_MS);
    else if (this.#again) {
      this.#again = false;
      this.soon(pause);
    }
  }

  stop() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#again = false;
  }
}

export default class Home extends View {
  static properties = {
    ...View.properties,
    timeline: { state: true },
    overview: { state: true },
    feed: { state: true },
    held: { state: true },
    needs: { state: true },
    replayed: { state: true },
    trouble: { state: true },
    isWriting: { state: true },
  };

  #open = new Set(); // roles that are unfolded
  /** @type {any} */
  #asked = null; // what each part was asked for
  #rowsMax = FEED; // of the feed: new rows push out as many below, where Older brings them back
  #typing = 0;
  #missed = false; // an update came while the first picture was loaded
  #paces = {
    timeline: new Pace(() => this.#loadTimeline()),
    feed: new Pace(() => this.#loadFeed()),
    needs: new Pace(() => this.#loadNeeds()),
    overview: new Pace(() => this.#loadOverview()),
  };
  #factsOf = (seq) => {
    const { at, from } = this.timeline;
    return get("/page/timeline/marks", { seqs: seq, at, from }, has("messages"));
  };
  #scrolled = () => this.held.length && !this.#isReading() && this.#release();

  constructor() {
    super();
    this.timeline = null;
    this.overview = null;
    /** @type {any} */
    this.feed = { rows: [], total: null, older: null, problems: [] };
    /** @type {any[]} */
    this.held = []; // new rows that wait until the person has scrolled up
    this.needs = null;
    this.replayed = null; // the moment that a replay or the slider shows before it is in the address
    this.trouble = "";
    this.keys = {
      Escape: () => this.#escaped(),
      j: () => this.#focusRow(1),
      k: () => this.#focusRow(-1),
      l: () => this.#go(null),
      " ": () => this.querySelector("telex-overview")?.toggle(),
      ",": () => this.#go((this.at ?? hubNow()) - STEP_SECONDS),
      ".": () => (this.at === null ? false : this.#go(this.at + STEP_SECONDS)),
      ...Object.fromEntries(["1", "2", "3", "4", "5"].map((key, index) => [key, () => this.#zoomTo(index)])),
    };
  }

  connectedCallback() {
    super.connectedCallback();
    document.addEventListener("scroll", this.#scrolled, { passive: true });
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    document.removeEventListener("scroll", this.#scrolled);
    for (const pace of Object.values(this.#paces)) pace.stop();
  }

  // --- what is shown -------------------------------------------------------------------------------------------------

  /** The moment shown, in seconds since 1970; null: now, also for a moment that has not come. */
  get at() {
    const at = this.replayed ?? secondsOf(this.place.query.at);
    return at !== null && at < hubNow() ? at : null;
  }

  get zoom() {
    return ZOOMS[this.place.query.zoom] ? this.place.query.zoom : "15m";
  }

  get selected() {
    const seq = Number(this.place.query.message);
    return Number.isInteger(seq) && seq > 0 ? seq : null;
  }

  get #span() {
    const length = ZOOMS[this.zoom];
    const whole = (this.at ?? hubNow()) - (this.overview?.from ?? this.timeline?.from ?? hubNow() - ZOOMS["15m"]);
    return Math.max(60, length === Infinity ? whole : length);
  }

  get #zooms() {
    const isLong = this.overview && this.overview.to - this.overview.from > DAY;
    return Object.keys(ZOOMS).filter((zoom) => zoom !== "24h" || isLong || this.zoom === zoom);
  }

  /** What the key for writing answers: the message that is open. */
  get writing() {
    return this.querySelector("telex-message-panel")?.writing;
  }

  // --- loading -------------------------------------------------------------------------------------------------------

  async load() {
    const { at = "", filter = "", conversation = "" } = this.place.query;
    const wanted = {
      timeline: JSON.stringify([at, this.zoom, conversation, this.selected]),
      feed: JSON.stringify([at, filter]),
      needs: at,
    };
    const asked = this.#asked;
    this.#asked = wanted;
    if (!this.loaded || this.problem || !asked) await this.#loadAll();
    else {
      const parts = {
        timeline: () => this.#loadTimeline(),
        feed: () => this.#loadFeed(true),
        needs: () => this.#loadNeeds(),
      };
      await Promise.all(Object.keys(parts).map((part) => wanted[part] !== asked[part] && parts[part]()));
    }
  }

  /** All parts in one request, for the first picture. */
  async #loadAll() {
    const query = { ...this.#timelineQuery, ...this.#feedQuery, cells: CELLS, limit: FEED };
    const answer = await get("/page/home", query, has("timeline", "overview", "feed", "needs"));
    this.timeline = answer.timeline;
    this.held = [];
    this.feed = answer.feed;
    this.#rowsMax = FEED;
    this.#setOverview(answer.overview);
    if (answer.needs) this.needs = answer.needs;
    else this.#paces.needs.soon(0);
    this.#countMatches();
    if (this.#missed) for (const part of ["timeline", "feed", "needs"]) this.#paces[part].soon(TIMELINE_MS);
    this.#missed = false;
  }

  get #timelineQuery() {
    const { at } = this;
    const seconds = ZOOMS[this.zoom] === Infinity ? 0 : ZOOMS[this.zoom];
    const roles = [...this.#open].sort().join(",");
    const { conversation } = this.place.query;
    return { at, seconds, roles, message: this.selected, focus: conversation, ahead: at === null ? null : this.#ahead };
  }

  async #loadTimeline() {
    const query = this.#timelineQuery;
    const answer = await get("/page/timeline", query, has("lanes", "groups"));
    if ((query.at === null) === (this.at === null)) this.timeline = answer;
  }

  get #ahead() {
    const overview = this.querySelector("telex-overview");
    return overview?.playing ? overview.speed * REPLAY_AHEAD : 0;
  }

  async #loadOverview() {
    this.#setOverview(await get("/page/overview", { cells: CELLS }, has("sent", "refused")));
  }

  /** Until the hub has counted all of the log, it is asked again. */
  #setOverview(overview) {
    const isNews = overview.is_complete && this.overview && !this.overview.is_complete;
    this.overview = overview;
    if (!overview.is_complete) this.#paces.overview.soon(COUNTING_MS);
    if (isNews || (overview.is_complete && this.feed.total === null)) this.#paces.feed.soon(0);
  }

  async #loadNeeds() {
    this.needs = await get("/page/needs", { limit: NEEDS_SHOWN, at: this.at }, has("count", "items"));
  }

  /** The first page of the feed. What a person has paged to before stays, unless another one is wanted. */
  async #loadFeed(isOther = false) {
    const { filter } = this.place.query;
    const answer = await get("/page/feed", { ...this.#feedQuery, limit: FEED }, has("rows", "older"));
    if (filter !== this.place.query.filter) return;
    const newest = this.feed.rows[0]?.seq;
    const isNext = this.at === null && answer.rows.some((row) => row.seq <= newest);
    if (!isOther && isNext) this.#merge(answer.rows, answer);
    else {
      this.held = [];
      this.feed = answer;
      this.#rowsMax = FEED;
    }
    await this.#countMatches();
  }

  get #feedQuery() {
    const { filter } = this.place.query;
    return { filter, at: this.at, utc_offset: filter ? -new Date().getTimezoneOffset() * 60 : null };
  }

  /** How many messages match; it takes longer than the first rows of them. */
  async #countMatches() {
    const { filter } = this.place.query;
    if (!filter || this.feed.total !== null) return;
    const answer = await get("/page/feed/count", this.#feedQuery, has("count")).catch(() => null);
    if (answer && filter === this.place.query.filter) this.feed = { ...this.feed, total: answer.count };
  }

  async #older() {
    const { filter } = this.place.query;
    const query = { ...this.#feedQuery, limit: FEED, before: this.feed.older };
    const answer = await get("/page/feed", query, has("rows", "older"));
    if (filter !== this.place.query.filter) return;
    const rows = [...this.feed.rows, ...answer.rows];
    this.feed = { ...this.feed, rows: rows.slice(-FEED_MAX), older: answer.older };
    this.#rowsMax = Math.max(FEED, this.feed.rows.length);
  }

  // --- updates -------------------------------------------------------------------------------------------------------

  heard(update) {
    if (this.at !== null) return;
    const isNews = Boolean(update.reset || update.roster || update.rows?.length || update.agents?.length);
    if (!this.loaded) {
      this.#missed ||= isNews; // what was asked for may not have it
      return;
    }
    if (update.needs !== null) this.#paces.needs.soon(FEED_MS);
    if (!isNews) return;
    const isLarge = (this.timeline?.lanes.length ?? 0) > LANES_LARGE;
    const isLong = this.#span > 4 * ZOOMS["1h"];
    this.#paces.timeline.soon(isLong ? LONG_WINDOW_MS : isLarge ? TIMELINE_LARGE_MS : TIMELINE_MS);
    this.#paces.overview.soon(OVERVIEW_MS);
    if (!update.rows || update.reset || this.place.query.filter) this.#paces.feed.soon(FEED_MS);
    else this.#merge(update.rows);
  }

  /** New rows on top, unless somebody is reading below it, and new states everywhere. */
  #merge(rows, answer = {}) {
    const known = new Map(rows.map((row) => [row.seq, row]));
    const newest = Math.max(0, ...this.feed.rows.map((row) => row.seq), ...this.held.map((row) => row.seq));
    const fresh = rows.filter((row) => row.seq > newest).sort((one, other) => other.seq - one.seq);
    const renewed = (row) => (known.has(row.seq) ? { ...row, ...known.get(row.seq) } : row);
    const { total } = this.feed;
    this.feed = {
      ...this.feed,
      rows: this.feed.rows.map(renewed),
      total: "total" in answer ? answer.total : total === null ? null : total + fresh.length,
    };
    this.held = [...fresh, ...this.held.map(renewed)];
    if (!this.#isReading()) this.#release();
  }

  #isReading() {
    const rows = this.querySelector(".feed .rows");
    return Boolean(rows) && rows.getBoundingClientRect().top < TOP_PX;
  }

  #release() {
    if (!this.held.length) return;
    const rows = [...this.held, ...this.feed.rows];
    const cut = rows.slice(0, this.#rowsMax);
    this.feed = { ...this.feed, rows: cut, older: cut.length < rows.length ? cut.at(-1).seq : this.feed.older };
    this.held = [];
  }

  // --- actions -------------------------------------------------------------------------------------------------------

  #zoomTo(index) {
    const zoom = this.#zooms[index];
    if (zoom) refine({ zoom: zoom === "15m" ? "" : zoom });
  }

  #go(at) {
    this.querySelector("telex-overview")?.pause();
    this.replayed = null;
    this.trouble = "";
    refine({ at: at === null || at >= hubNow() ? "" : iso(at) });
  }

  #select(seq) {
    if (seq === null) letGo({ conversation: "" });
    else select(seq, { conversation: "" });
  }

  #escaped() {
    if (this.selected !== null || this.place.query.conversation) letGo({ conversation: "" });
    else return false;
    return true;
  }

  /** The next or the previous row of the feed. */
  #focusRow(step) {
    const rows = [...this.querySelectorAll(".feed .row-main")];
    const place = rows.indexOf(document.activeElement);
    rows[place < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, place + step))]?.focus();
  }

  #unfold({ role, open }) {
    this.#open[open ? "add" : "delete"](role);
    this.#loadTimeline();
  }

  /** While a replay runs or the slider is held: the lanes follow in each frame, words and rows now and then. */
  #follow(at) {
    this.replayed = at;
    this.querySelector("telex-timeline")?.moveTo(at);
    this.#paces.timeline.soon(REPLAY_MS);
    this.#paces.feed.soon(2 * REPLAY_MS);
    this.#paces.needs.soon(2 * REPLAY_MS);
  }

  #typed(event) {
    clearTimeout(this.#typing);
    const filter = event.target.value.trim();
    this.#typing = setTimeout(() => refine({ filter }), event.type === "input" ? FILTER_MS : 0);
  }

  /** "14:05", "2h", "2026-11-18 14:05": that moment; "14:00 to 14:30": its end, and the feed between the two. */
  async #around(event) {
    event.preventDefault();
    const field = event.target.elements.moment;
    const [, from, to] = RANGE.exec(field.value.trim()) ?? ["", "", field.value];
    const moments = await Promise.all([from, to].map((text) => (text ? this.#momentOf(text) : null)));
    const wrong = moments.find((moment) => moment?.problem);
    this.trouble = wrong?.problem ?? "";
    if (wrong) return;
    field.value = "";
    field.blur(); // the keys of the replay come next
    const [begin, end] = moments;
    if (begin) refine({ at: iso(end.at), filter: `after:${iso(begin.at)} before:${iso(end.at)}` });
    else this.#go(end.at);
  }

  #momentOf(text) {
    const zone = -new Date().getTimezoneOffset() * 60;
    return get("/page/moment", { text, utc_offset: zone }, has("at", "problem")).catch((problem) => ({
      problem: problem.message,
    }));
  }

  // --- templates -----------------------------------------------------------------------------------------------------

  content() {
    if (this.at === null && this.timeline?.totals.agents === 0) return connection();
    const { selected } = this;
    return html`<div class="home ${selected === null ? "" : "has-side"}">
      <div class="home-main">
        ${this.at === null ? this.#strip() : this.#banner()}
        <section class="card" aria-label="Timeline">
          ${this.#timelineBar()}
          <telex-timeline .answer=${this.timeline} .zoom=${this.zoom} .at=${this.at} .begins=${this.overview?.from}
            .selected=${selected} .needs=${this.needs?.count} .facts=${this.#factsOf}
            @telex-select=${(event) => this.#select(event.detail.seq)} @telex-unfold=${(event) => this.#unfold(event.detail)}
          ></telex-timeline>
          <telex-overview .answer=${this.overview} .at=${this.at} .span=${this.#span}
            @telex-moment=${(event) => this.#go(event.detail.at)} @telex-playing=${(event) => this.#follow(event.detail.at)}
            @telex-sliding=${(event) => this.#follow(event.detail.at)}></telex-overview>
          ${legend}
        </section>
        ${this.#feed()}
      </div>
      ${selected === null ? nothing : this.#side(selected)}
    </div>`;
  }

  #side(seq) {
    import("../widgets/message_panel.js");
    return html`<div class="side"><telex-message-panel .seq=${seq} .at=${this.at}
      @telex-close=${() => this.#select(null)}></telex-message-panel></div>`;
  }

  #strip() {
    const { needs } = this;
    if (!needs || (needs.count === null && !needs.items.length))
      return html`<section class="strip is-calm" aria-label="Needs you"><span class="soft">…</span></section>`;
    if (needs.count === 0)
      return html`<section class="strip is-calm" aria-label="Needs you"><span>Nothing needs you.</span>
        <span class="soft">checked ${clock(needs.now)}</span></section>`;
    const more = needs.count === null ? 0 : needs.count - needs.items.length;
    return html`<section class="strip" aria-label="Needs you">
      <a class="strip-count" href=${address("needs")}><b>${number(needs.count)}</b> <span>${needs.count === 1 ? "needs you" : "need you"}</span></a>
      <ul>${needs.items.slice(0, NEEDS_SHOWN).map((need) => this.#need(need))}</ul>
      ${more > 0 ? html`<a class="strip-all" href=${address("needs")}>Show all</a>` : nothing}
    </section>`;
  }

  #need(need) {
    const { word, mark } = NEEDS[need.kind] ?? { word: need.kind, mark: "●" };
    return html`<li><a href=${address("needs", [], { item: need.key })}>
      <i class="kind is-${need.kind}" aria-hidden="true">${mark}</i>
      <span class="strip-text"><b dir="auto">${need.title}</b>
        <span class="soft">${word}${need.by ? html` · ${agentName(need.by, need.by_role)}` : nothing}</span></span>
      ${due(need)}</a></li>`;
  }

  #banner() {
    const then = this.needs?.count;
    return html`<section class="strip is-replay" aria-label="Replay">
      <span class="strip-count"><b>${moment(this.at)}</b> <span>${ago(this.at)}</span></span>
      <p>You are looking at the past.
        ${Number.isInteger(then) ? html`<b>${then ? count(then, "thing") : "Nothing"}</b> needed you then.` : nothing} Answers and replies are off.</p>
      <span class="grow"></span>
      <button type="button" class="primary small" @click=${() => this.#go(null)}>Back to live <kbd aria-hidden="true">L</kbd></button>
    </section>`;
  }

  #timelineBar() {
    const totals = this.timeline?.totals;
    const fact = (name) => html`<span><b>${number(totals?.[name])}</b> ${name}</span> `;
    const isBig = this.timeline?.groups.length > 0;
    return html`<div class="bar">
      <h1 tabindex="-1">Timeline</h1>
      <p class="bar-facts">${fact("working")}${fact("waiting")}${fact("idle")}${totals?.gone ? fact("gone") : nothing}${isBig ? html`<span>of ${number(totals.agents)} agents</span>` : nothing}</p>
      ${this.#focusWords()}
      <span class="grow"></span>
      <form class="around" @submit=${this.#around}>
        <input name="moment" placeholder="Around 14:05" aria-label="Show the moment: a time, a date, 2h, or 14:00 to 14:30" autocomplete="off" size="11"
          @input=${() => (this.trouble = "")}>
      </form>
      ${this.trouble ? html`<p class="around-trouble" role="alert">${this.trouble}</p>` : nothing}
      <div class="segments" role="group" aria-label="Zoom">${this.#zooms.map(
        (zoom, index) => html`<button type="button" aria-pressed=${zoom === this.zoom} title="Key ${index + 1}"
          @click=${() => this.#zoomTo(index)}>${ZOOM_WORDS[zoom]}</button>`,
      )}</div>
    </div>`;
  }

  #focusWords() {
    const { conversation } = this.place.query;
    if (!conversation) return nothing;
    return html`<div class="focus-words"><span>Conversation: <a href=${address("conversation", [conversation])} dir="auto">${this.#titleOf(conversation)}</a></span>
      <button type="button" class="ghost small" aria-label="Show all conversations" @click=${() => refine({ conversation: "" })}>✕</button></div>`;
  }

  /** The first message of a conversation, as far as it is known; else its id. */
  #titleOf(conversation) {
    const [first] = this.timeline?.focus ?? [];
    return this.timeline?.messages[first]?.[GIST] || conversation;
  }

  #feed() {
    const { rows, total, older, problems } = this.feed;
    const { filter = "" } = this.place.query;
    const words = this.at === null ? "Feed" : `Feed at ${moment(this.at)}`;
    const found = filter ? `${number(total)} of the messages match` : count(total, "message");
    return html`<section class="card feed" aria-label="Feed">
      <div class="bar"><h2>${words}</h2><span class="soft" role="status">${found}</span><span class="grow"></span>
        <input class="filter" type="search" .value=${filter} placeholder="Filter: from:dev refused" aria-label="Filter the feed"
          title='from: to: type: state: code: in: before: after: around: "a phrase" prefix*'
          @input=${this.#typed} @change=${this.#typed}></div>
      ${problems.map((problem) => html`<p class="feed-problem" role="alert">${problem}</p>`)}
      ${
        this.held.length
          ? html`<button type="button" class="feed-new" @click=${this.#showNew}>${count(this.held.length, "new message")} ↑</button>`
          : nothing
      }
      <ol class="rows">${repeat(
        rows,
        (row) => row.seq,
        (row) => messageRow(row, { open: (one) => this.#select(one.seq), chosen: row.seq === this.selected }),
      )}</ol>
      ${rows.length ? nothing : filter || this.at !== null ? html`<p class="calm">No message matches.</p>` : emptyNotice("No messages yet", "Messages appear here at once.")}
      ${older === null ? nothing : html`<button type="button" class="older" @click=${this.#older}>Older</button>`}
      ${this.at === null ? this.#composer() : nothing}
    </section>`;
  }

  /** A field that becomes the composer when it gets the focus: the page is loaded without it. */
  #composer() {
    return html`<div class="feed-composer">${
      this.isWriting
        ? html`<telex-composer .placeholder=${"Message to the team"}></telex-composer>`
        : html`<textarea rows="1" aria-label="Write a message" placeholder="Write to an agent, a role or everyone" @focus=${this.#write}></textarea>`
    }</div>`;
  }

  async #write() {
    await import("../widgets/composer.js");
    this.isWriting = true;
    await this.updateComplete;
    const composer = this.querySelector("telex-composer");
    await composer.updateComplete;
    composer.focus();
  }

  #showNew() {
    this.#release();
    this.querySelector(".feed")?.scrollIntoView({ block: "start" });
  }
}

/** How long is left to answer, or how old it is. */
function due({ due: until, since }) {
  const now = hubNow();
  if (until === null || until === undefined) return html`<span class="due">${span(now - since)} old</span>`;
  const left = until - now;
  if (left < 0) return html`<span class="due is-late">overdue ${span(left)}</span>`;
  return html`<span class="due ${left < 90 ? "is-soon" : ""}">${span(left)} left</span>`;
}

/** A store without agents: how they are connected. */
function connection() {
  import("./connect.js").then(
    ({ default: Connect }) => {
      if (!customElements.get("telex-view-connect"))
        customElements.define("telex-view-connect", class extends Connect {});
    },
    () => {}, // the hub is away: asked for again with the next answer
  );
  return html`<telex-view-connect></telex-view-connect>`;
}

const SHAPES = [
  ["bar-now", "in hand now"],
  ["bar-done", "done"],
  ["bar-wait", "waiting for an answer"],
  ["dot", "sent"],
  ["diamond", "asks approval"],
  ["tri", "escalation climbs"],
  ["cross", "refused"],
  ["idle", "idle"],
];

const legend = html`<ul class="legend" aria-label="Legend">
  ${SHAPES.map(([shape, word]) => html`<li><i class="shape ${shape}" aria-hidden="true"></i>${word}</li>`)}
  <li class="soft legend-keys">hover: arrows · click: conversation · <kbd aria-hidden="true">?</kbd> keys</li>
</ul>`;
