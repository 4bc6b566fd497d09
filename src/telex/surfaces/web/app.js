/** Shell: top bar, navigation, the table of views, which of them is shown, dialogs and keys. */

import { LitElement, html, nothing, svg } from "./vendor/lit.js";
import { get, has, live, me, token } from "./hub.js";
import { HOME, Positions, address, navigate, place } from "./router.js";
import { CONNECTION } from "./states.js";
import { number } from "./format.js";
import { listenForKeys } from "./keys.js";

const NOTIFY_KEY = "telex-notify"; // of notifications.js, which is loaded only when it is needed
const REPLICA_MS = 3000; // no update says that a hub is halted or behind
const KEPT_MAX = 8; // elements of views that were left, for the way back

/**
 * The views. `name` is the first part of the address; `load` gives a module whose default export is the view's class;
 * `key`: after g; `badge`: number of the summary beside the name; `icon`: path of 16 × 16; `group`: where the
 * navigation has it, none: reached by links only; `covers`: views that are shown below it.
 */
export const VIEWS = [
  {
    name: HOME,
    title: "Timeline",
    load: () => import("./views/timeline.js"),
    key: "t",
    group: "main",
    icon: "M2 4h8M5 8h9M2 12h6",
    covers: ["message"],
  },
  {
    name: "needs",
    title: "Needs you",
    load: () => import("./views/needs.js"),
    key: "n",
    group: "main",
    badge: "needs",
    icon: "M8 2.5v7M8 12.5v.5",
  },
  {
    name: "agents",
    title: "Agents",
    load: () => import("./views/agents.js"),
    key: "a",
    group: "main",
    covers: ["agent"],
    icon: "M8 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM3 14c.4-3 2.4-4.2 5-4.2s4.6 1.2 5 4.2",
  },
  { name: "agent", title: "Agent", load: () => import("./views/agent.js") },
  {
    name: "conversations",
    title: "Conversations",
    load: () => import("./views/conversations.js"),
    key: "c",
    group: "main",
    covers: ["conversation"],
    icon: "M2.5 3.5h11v7h-6l-3 2.7v-2.7h-2z",
  },
  {
    name: "conversation",
    title: "Conversation",
    load: () => import("./views/conversation.js"),
    icon: "M2.5 3.5h11v7h-6l-3 2.7v-2.7h-2z",
  },
  { name: "message", title: "Message", load: () => import("./views/message.js") },
  {
    name: "refusals",
    title: "Refusals",
    load: () => import("./views/refusals.js"),
    group: "more",
    icon: "M4 4l8 8M12 4l-8 8",
  },
  {
    name: "contracts",
    title: "Contracts",
    load: () => import("./views/contracts.js"),
    group: "more",
    icon: "M4 2.5h8v11H4zM6 6h4M6 9h4",
  },
  {
    name: "rates",
    title: "Rates",
    load: () => import("./views/rates.js"),
    group: "more",
    icon: "M2.5 13V8M6.5 13V4M10.5 13V7M14 13V3",
  },
  { name: "shutdown", title: "Stop the team", load: () => import("./views/shutdown.js") },
  { name: "search", title: "Search", load: () => import("./views/search.js"), isCommand: true },
  { name: "connect", title: "Connect your agents", load: () => import("./views/connect.js"), isCommand: true },
];
const NOT_FOUND = { name: "not-found", title: "Not found", load: () => import("./views/not_found.js") };
const ICONS = {
  brand: "M4 4.5h8M8 4.5v8",
  find: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.5 10.5l3.5 3.5",
  others: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  write: "M3 13l.7-3L11 2.7l2.3 2.3L6 12.3z",
  auto: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11",
  light:
    "M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6ZM8 1.5v1.6M8 12.9v1.6M1.5 8h1.6M12.9 8h1.6M3.4 3.4l1.1 1.1M11.5 11.5l1.1 1.1M3.4 12.6l1.1-1.1M11.5 4.5l1.1-1.1",
  dark: "M13.5 9.6A5.8 5.8 0 0 1 6.4 2.5a5.8 5.8 0 1 0 7.1 7.1z",
};

const THEMES = ["auto", "light", "dark"];
const STORED = "telex-theme";
const DIALOGS = {
  composer: { load: async () => (await import("./widgets/composer.js")).openComposer },
  palette: { load: async () => (await import("./widgets/palette.js")).openPalette },
};
const OF_ONE_CONVERSATION = [HOME, "needs"];
const READ_ONLY = "You see this page with a token that may only read.";

const icon = (path) =>
  html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">${svg`<path d=${path}></path>`}</svg>`;

const viewOf = (name) => VIEWS.find((view) => view.name === name) ?? NOT_FOUND;

/** The class of a view, as an element of its own. */
async function elementOf(view) {
  const tag = `telex-view-${view.name}`;
  if (!customElements.get(tag)) {
    const module = await view.load();
    if (!customElements.get(tag)) customElements.define(tag, class extends module.default {});
  }
  return tag;
}

// --- colours: those of the system, or the person's choice, kept in this browser ---------------------------------------

const theme = () => document.documentElement.dataset.theme || "auto";

function setTheme(chosen) {
  if (chosen === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  try {
    chosen === "auto" ? localStorage.removeItem(STORED) : localStorage.setItem(STORED, chosen);
  } catch {
    // No storage: kept until the page is closed.
  }
  window.dispatchEvent(new CustomEvent("telex-theme"));
}

class Page extends LitElement {
  static properties = {
    place: { state: true },
    connection: { state: true },
    summary: { state: true },
    replica: { state: true },
    tokenWanted: { state: true },
    theme: { state: true },
    trouble: { state: true },
  };

  #kept = new Map(); // view elements by address, the last one shown at the end
  #positions = new Positions();
  #replicaTimer = 0;
  #isAsking = false; // the dialog for a token is open
  #failed = new Set(); // names of views and dialogs whose module could not be loaded
  #turn = 0;

  constructor() {
    super();
    this.place = place();
    this.connection = live.state;
    this.summary = {};
    this.replica = null; // of a hub that shares its store with others
    this.tokenWanted = null; // why a token is asked for
    this.theme = theme();
    this.trouble = false; // the module of a view could not be loaded
  }

  createRenderRoot() {
    this.replaceChildren();
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    window.addEventListener("hashchange", () => this.#moved());
    window.addEventListener("telex-token-wanted", (event) => (this.tokenWanted = event.detail));
    window.addEventListener("telex-theme", () => (this.theme = theme()));
    window.addEventListener("telex-write", (event) => this.#answer(event, "composer", this.#view()?.writing));
    window.addEventListener("telex-palette", (event) =>
      this.#answer(event, "palette", { views: VIEWS, themes: THEMES, setTheme }),
    );
    this.addEventListener("telex-loaded", () => this.#titled());
    listenForKeys({ views: VIEWS, view: () => this.#view(), write, find, back: () => this.#back() });
    live.watch((state) => this.#connected(state));
    live.hear((update) => this.#heard(update));
    live.start();
  }

  firstUpdated() {
    this.#show();
  }

  // --- what is known of the team -------------------------------------------------------------------------------------

  #connected(state) {
    this.connection = state;
    if (state === "live" && this.trouble) this.#show(null, { isLast: true });
  }

  #heard({ needs, refusals, summary }) {
    if (summary) {
      this.summary = summary;
      if (me.conversation && !location.hash) navigate(address("conversation", [me.conversation]), { replace: true });
      this.#watchReplica(summary.hubs);
    }
    if (refusals !== this.summary.refusals) this.summary = { ...this.summary, refusals };
    if (needs === null) return;
    this.summary = { ...this.summary, needs };
    if (this.#isNotified()) this.#notify();
  }

  /** Did the person ask for notifications of this browser? */
  #isNotified() {
    return globalThis.Notification?.permission === "granted" && localStorage.getItem(NOTIFY_KEY) === "on";
  }

  async #notify() {
    const { notifyOfNew } = await import("./notifications.js");
    await notifyOfNew();
  }

  /** Only a hub that shares its store with others is asked how it is. */
  #watchReplica(hasHubs) {
    if (!hasHubs || this.#replicaTimer) return;
    this.#replicaTimer = setInterval(() => {
      if (this.connection === "live" && !document.hidden) this.#askReplica();
    }, REPLICA_MS);
    this.#askReplica();
  }

  async #askReplica() {
    const answer = await get("/page/replica", {}, has("replica")).catch(() => null);
    if (!answer) return;
    if (answer.replica && !this.hubs) this.hubs = await import("./hubs.js");
    this.replica = answer.replica;
  }

  // --- which view is shown -------------------------------------------------------------------------------------------

  #moved() {
    const before = this.place;
    this.place = place();
    this.#show(before);
  }

  /**
   * `isLast`: the page starts anew if the view cannot be loaded now.
   * @param {any} [before] the place that was shown
   */
  async #show(before = null, { isLast = false } = {}) {
    const turn = ++this.#turn;
    const view = viewOf(this.place.view);
    const key = [view.name, ...this.place.path].join("/");
    const main = this.querySelector("main");
    try {
      this.#kept.get(key) ?? (await elementOf(view));
    } catch {
      if (turn === this.#turn) main.replaceChildren();
      this.#notLoaded(view.name, { isLast, isShown: turn === this.#turn });
      return;
    }
    if (turn !== this.#turn) return;
    this.trouble = false;
    const element = this.#kept.get(key) ?? document.createElement(`telex-view-${view.name}`);
    this.#keep(key, element);
    element.place = this.place;
    this.#give(element);
    if (main.firstElementChild !== element) main.replaceChildren(element);
    const isOther = before && (before.view !== this.place.view || before.path.join("/") !== this.place.path.join("/"));
    this.#positions.shown(main, { isOther });
    this.#titled();
  }

  /**
   * A module could not be loaded: the hub is away, or has another version of the page. A browser remembers that until
   * the page starts anew, which happens once the hub is there.
   */
  #notLoaded(name, { isLast = false, isShown = true } = {}) {
    const isAgain = this.#failed.has(name) && this.connection === "live";
    this.#failed.add(name);
    if (!isShown) return; // another view is shown meanwhile
    if (isLast || isAgain) location.reload();
    this.trouble = true;
  }

  #keep(key, element) {
    this.#kept.delete(key);
    this.#kept.set(key, element);
    if (this.#kept.size > KEPT_MAX) this.#kept.delete(this.#kept.keys().next().value);
  }

  #view() {
    return this.querySelector("main")?.firstElementChild ?? null;
  }

  #give(element) {
    if (!element) return;
    element.summary = this.summary;
    element.replica = this.replica;
  }

  #back() {
    if (["message", "conversation", "agent"].includes(this.place.view)) {
      this.#positions.moves ? history.back() : navigate(address(HOME));
    }
  }

  updated(changed) {
    if (changed.has("summary") || changed.has("replica")) this.#give(this.#view());
    if (this.summary.demo) import("./widgets/demo_strip.js");
    if (changed.has("tokenWanted") && this.tokenWanted && !this.#isAsking) this.#askToken();
    this.#titled();
  }

  #titled() {
    const { needs } = this.summary;
    const title = this.#view()?.heading || viewOf(this.place.view).title;
    document.title = `${needs ? `(${number(needs)}) ` : ""}${title} · Telex`;
    setFavicon(needs > 0);
  }

  // --- dialogs and colours -------------------------------------------------------------------------------------------

  async #askToken() {
    this.#isAsking = true;
    const { askToken } = await import("./widgets/token_dialog.js");
    const given = await askToken(this.tokenWanted.detail);
    this.#isAsking = false;
    this.tokenWanted = null;
    if (!given) return;
    token.set(given);
    live.retry();
    this.#view()?.reload?.();
  }

  #switchTheme() {
    setTheme(THEMES[(THEMES.indexOf(this.theme) + 1) % THEMES.length]);
  }

  /** Open a dialog that an event asks for, with what the event brings or else with `standard`. */
  #answer(event, name, standard) {
    event.preventDefault();
    this.#open(name, event.detail ?? standard);
  }

  /** A dialog whose module is loaded when it is first asked for; then it opens at once, before the next key. */
  async #open(name, argument) {
    try {
      DIALOGS[name].opens ??= await DIALOGS[name].load();
      this.trouble = false;
    } catch {
      this.#notLoaded(name);
      return;
    }
    DIALOGS[name].opens(argument);
  }

  // --- templates -----------------------------------------------------------------------------------------------------

  render() {
    return html`
      <a class="skip" href="#main" @click=${(event) => this.#skip(event)}>Skip to content</a>
      ${this.#top()}
      ${this.replica && this.hubs ? this.hubs.replicaNotice(this.replica) : nothing}
      ${this.trouble ? this.#troubleNotice() : nothing}
      <nav class="nav" aria-label="Views">
        <ul>${me.conversation ? this.#link(viewOf("conversation"), [me.conversation]) : nothing}
          ${listed("main").map((view) => this.#link(view))}${me.conversation ? nothing : this.#others()}</ul>
        <ul class="nav-more">${listed("more").map((view) => this.#link(view))}</ul>
        <p class="nav-foot"><button type="button" class="ghost small" @click=${showKeys}><kbd>?</kbd> keys</button></p>
      </nav>
      ${this.summary.demo ? html`<telex-demo-strip .needs=${this.summary.needs}></telex-demo-strip>` : nothing}
      <main id="main" tabindex="-1"></main>
    `;
  }

  #top() {
    const { word, state } = CONNECTION[this.connection];
    return html`<header class="top">
      <a class="brand" href=${address(HOME)}><span class="logo">${icon(ICONS.brand)}</span><b>Telex</b></a>
      ${this.summary.team ? html`<span class="team ellipsis" dir="auto">${this.summary.team}</span>` : nothing}
      <span class="live connection is-${state}" role="status">${word}</span>
      ${
        this.connection === "shut out"
          ? html`<button type="button" class="small" @click=${() => (this.tokenWanted = {})}>Enter a token</button>`
          : nothing
      }
      <span class="grow"></span>
      ${me.conversation ? nothing : findButton()}
      ${me.viewer ? readOnly() : writeButton()}
      <button type="button" class="ghost" aria-label="Colours: ${this.theme}" title="Colours: ${this.theme}"
        @click=${this.#switchTheme}>${icon(ICONS[this.theme])}</button>
    </header>`;
  }

  #link(view, path = []) {
    const isHere = view.name === this.place.view || (view.covers ?? []).includes(this.place.view);
    const waiting = view.badge ? this.summary[view.badge] : 0;
    return html`<li><a href=${address(view.name, path)} aria-current=${isHere ? "page" : nothing} title=${view.title}
      >${icon(view.icon)}<span class="nav-word">${view.title}</span>${
        waiting ? html`<span class="badge"><span class="hidden">, open: </span>${number(waiting)}</span>` : nothing
      }</a></li>`;
  }

  /** On a phone: the palette, which has all other views and commands. */
  #others() {
    const isHere = listed("more").some((view) => view.name === this.place.view);
    return html`<li class="nav-others"><button type="button" class="ghost ${isHere ? "is-here" : ""}" @click=${find}
      >${icon(ICONS.others)}<span class="nav-word">More</span></button></li>`;
  }

  #troubleNotice() {
    return html`<div class="notice banner is-waiting" role="alert">
      <p><strong>This view could not be loaded.</strong> It is loaded when the hub can be reached again.</p>
      <p><button type="button" class="small" @click=${() => location.reload()}>Load the page again</button></p></div>`;
  }

  #skip(event) {
    event.preventDefault();
    this.querySelector("main").focus();
  }
}

// --- icon of the tab: with a dot while something needs the person -------------------------------------------------------

const DOT = '<circle cx="24" cy="8" r="7" fill="#f0b45b" stroke="#fff" stroke-width="2"/>';
const picture = (mark) =>
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#1a615b"/>' +
  `<path d="M8 10h16M16 10v14" stroke="#fff" stroke-width="3.6" fill="none"/>${mark}</svg>`;

let shownIcon = null;

function setFavicon(hasDot) {
  if (shownIcon === hasDot) return;
  shownIcon = hasDot;
  const link = document.querySelector("link[rel=icon]");
  link.type = "image/svg+xml";
  link.href = `data:image/svg+xml,${encodeURIComponent(picture(hasDot ? DOT : ""))}`;
}

/** Views of the navigation. Whoever may read one conversation only has no list of others. */
const listed = (group) =>
  VIEWS.filter((view) => view.group === group && (!me.conversation || OF_ONE_CONVERSATION.includes(view.name)));

const findButton = () => html`<button type="button" class="find" @click=${find}>${icon(ICONS.find)}
  <span>Search or jump to…</span><kbd aria-hidden="true">Ctrl K</kbd></button>`;

const writeButton = () => html`<button type="button" class="ghost" aria-label="Write a message" title="Write (w)"
  @click=${write}>${icon(ICONS.write)}</button>`;

const readOnly = () => html`<span class="pill" title=${READ_ONLY}>Read only</span>`;

const find = () => me.conversation || window.dispatchEvent(new CustomEvent("telex-palette", { cancelable: true }));
const write = () => me.viewer || window.dispatchEvent(new CustomEvent("telex-write", { cancelable: true }));

async function showKeys() {
  const { showKeysTable } = await import("./widgets/keys_table.js");
  showKeysTable();
}
window.addEventListener("telex-keys", showKeys);

customElements.define("telex-page", Page);
