/** Base class of views, and the style sheets that views load. */

import { LitElement, html, nothing } from "./vendor/lit.js";
import { Problem, live } from "./hub.js";
import { notShown, problemNotice } from "./widgets/notice.js";

const REFRESH_MS = 300; // a burst of updates is one refresh
const REFRESH_BUSY_MS = 2000; // and a busy team does not make the page ask all the time
const RETRY_MS = 4000; // after a request that failed while the stream is live

/** Would a retry help? The hub's refusals stay the same. */
const passes = (problem) => problem.status === 0 || problem.status >= 500;

/**
 * A view overrides
 *   load()            ask the hub and keep the answer in its own properties; called at first, on every change of place
 *                     and after updates that concern it
 *   content()         the lit template; called only once load() has succeeded
 *   concerns(update)  should this update make it load again? By default none does
 *   heard(update)     takes every update, for a view that applies them without loading
 *   keys              {j() {…}, Enter(event) {…}}: single keys, pressed while no field has the focus
 *   writing           {to, conversation} of the message that `w` begins
 *   heading           words for the title of the document; by default the title of the view
 * and reads `this.place`: {view, path: [...], query: {...}}, `this.summary`: team, count of needs …
 *
 * An element of a view that was left is kept for a while and put back when the person returns: set up listeners in
 * connectedCallback and remove them in disconnectedCallback.
 */
export class View extends LitElement {
  static properties = {
    place: { attribute: false },
    summary: { attribute: false }, // what the shell knows of the team
    replica: { attribute: false }, // state of the hubs; null: the hub shares its store with none
    problem: { state: true },
    loaded: { state: true },
  };

  #cancel = [];
  #timer = 0;
  #loadedAt = 0;
  #turn = 0;
  #retry = 0;

  constructor() {
    super();
    this.place = { view: "", path: [], query: {} };
    this.summary = {};
    this.replica = null;
    this.problem = null;
    this.loaded = false;
    this.keys = {};
  }

  get heading() {
    return "";
  }

  /** What `w` writes to while this view is shown: {to, conversation, reply_to}. */
  get writing() {
    return {};
  }

  createRenderRoot() {
    return this; // light DOM: one style sheet, one document for assistive tools
  }

  connectedCallback() {
    super.connectedCallback();
    this.#cancel = [
      live.hear((update) => {
        this.heard(update);
        if (this.concerns(update)) this.refresh();
      }),
      live.watch((state) => {
        if (state === "live" && this.problem) this.refresh();
      }),
    ];
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    for (const cancel of this.#cancel) cancel();
    clearTimeout(this.#timer);
    clearTimeout(this.#retry);
    this.#timer = 0;
  }

  willUpdate(changed) {
    if (changed.has("place")) this.reload();
  }

  /** Load soon, once for all updates in between. */
  refresh() {
    if (this.#timer) return;
    const since = Date.now() - this.#loadedAt;
    const wait = Math.max(REFRESH_MS, Math.min(REFRESH_BUSY_MS, REFRESH_BUSY_MS - since));
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      this.reload();
    }, wait);
  }

  async reload() {
    const turn = ++this.#turn;
    clearTimeout(this.#retry);
    try {
      await live.begun; // updates after this load are heard, and it is known who is looking
      await this.load();
      if (turn !== this.#turn) return; // a later load has overtaken this one
      this.problem = null;
      this.loaded = true;
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      if (turn === this.#turn) this.#failed(problem);
    }
    this.#loadedAt = Date.now();
    this.requestUpdate();
    await this.updateComplete;
    this.dispatchEvent(new CustomEvent("telex-loaded", { bubbles: true }));
  }

  /** The last known content stays. When the hub is back, it is asked again. */
  #failed(problem) {
    this.problem = problem;
    if (!passes(problem) || !this.isConnected) return;
    this.#retry = setTimeout(() => live.state === "live" && this.refresh(), RETRY_MS);
  }

  async load() {}

  content() {
    return nothing;
  }

  concerns(_update) {
    return false;
  }

  heard(_update) {}

  render() {
    if ([403, 404].includes(this.problem?.status) && !this.loaded) return notShown(this.problem);
    const loading = this.problem ? nothing : html`<p class="loading" role="status">Loading …</p>`;
    return html`${this.problem ? problemNotice(this.problem) : nothing} ${this.loaded ? this.content() : loading}`;
  }
}

const sheets = new Map();

/**
 * Load a style sheet of the page once: `await stylesheet("views/needs.css")` at the top of a view's module, so that
 * the view is never shown without it.
 */
export function stylesheet(path) {
  if (!sheets.has(path)) sheets.set(path, linked(new URL(path, import.meta.url)));
  return sheets.get(path);
}

function linked(address) {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = address.href;
  return new Promise((done) => {
    link.addEventListener("load", done);
    link.addEventListener("error", done); // better without style than not at all
    document.head.append(link);
  });
}
