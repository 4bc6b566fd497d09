// What does every view have in common? It loads, it draws, it hears what happens, and it says what went wrong.

import { LitElement, html, nothing } from "./vendor/lit.js";
import { Problem, live, meet } from "./hub.js";
import { problemNotice } from "./parts.js";

export { at, go } from "./places.js";

const REFRESH_MS = 300; // a burst of happenings is one refresh
const REFRESH_BUSY_MS = 2000; // and a team that never pauses does not make the page ask all the time
const AGAIN_MS = 4000; // after a question that failed while everything that happens is heard

/** Is it worth asking again? A hub that has said no would say so again. */
const passes = (problem) => problem.status === 0 || problem.status >= 500;

/**
 * The base class of a view. A view overrides
 *   load()            ask the hub and keep the answer in its own properties; called at first, on every change of place
 *                     and after what happens, if `concerns` says so
 *   content()         the lit template; called only once load() has succeeded
 *   concerns(batch)   should what just happened make it load again? By default nothing does
 *   happened(batch)   for a view that takes the happenings themselves, as the feed does
 * and reads `this.place`: {view, path: [...], query: {...}}.
 */
export class View extends LitElement {
  static properties = {
    place: { attribute: false },
    summary: { attribute: false }, // the counts that the shell keeps: of approvals, dead letters …
    problem: { state: true },
    loaded: { state: true },
  };

  #unhear = null;
  #timer = 0;
  #loadedAt = 0;
  #loading = 0;
  #again = 0;

  constructor() {
    super();
    this.place = { view: "", path: [], query: {} };
    this.summary = {};
    this.problem = null;
    this.loaded = false;
  }

  createRenderRoot() {
    return this; // light DOM: one style sheet, one document for readers and for assistive tools
  }

  connectedCallback() {
    super.connectedCallback();
    this.#unhear = live.hear((batch) => {
      this.happened(batch);
      if (this.concerns(batch)) this.refresh();
    });
    this.#unwatch = live.watch((state) => {
      if (state === "live" && this.problem) this.refresh();
    });
  }

  #unwatch = null;

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#unhear?.();
    this.#unwatch?.();
    clearTimeout(this.#timer);
    clearTimeout(this.#again);
  }

  willUpdate(changed) {
    if (changed.has("place")) this.reload();
  }

  /** Load soon, once for everything that happens in between. */
  refresh() {
    if (this.#timer) return;
    const since = Date.now() - this.#loadedAt;
    this.#timer = setTimeout(
      () => {
        this.#timer = 0;
        this.reload();
      },
      Math.max(REFRESH_MS, Math.min(REFRESH_BUSY_MS, REFRESH_BUSY_MS - since)),
    );
  }

  async reload() {
    const turn = ++this.#loading;
    clearTimeout(this.#again);
    try {
      await live.begun; // whatever happens after this load is heard
      await meet(); // what may be offered depends on who is looking
      await this.load();
      if (turn !== this.#loading) return; // a later load has overtaken this one
      this.problem = null;
      this.loaded = true;
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      if (turn === this.#loading) this.#failed(problem);
    }
    this.#loadedAt = Date.now();
    this.requestUpdate();
  }

  /** When the hub is heard again, it is asked again; but it may be heard all the while. */
  #failed(problem) {
    this.problem = problem;
    if (!passes(problem) || !this.isConnected) return;
    this.#again = setTimeout(() => live.state === "live" && this.refresh(), AGAIN_MS);
  }

  async load() {}

  content() {
    return nothing;
  }

  concerns() {
    return false;
  }

  happened() {}

  render() {
    const asking = this.problem ? nothing : html`<p class="loading" role="status">Loading …</p>`;
    return html`${this.problem ? problemNotice(this.problem) : nothing} ${this.loaded ? this.content() : asking}`;
  }
}

const registered = [];

/**
 * Make a view known to the shell. Once for each module, at its end:
 *   register({name: "dead", title: "Dead letters", group: "person", tag: "telex-dead", view: DeadLetters,
 *             badge: (summary) => summary.dead})
 * `group` is one of now, person, work, record; `badge` a count for the navigation, 0 for none; `hidden: true` for a
 * view that is reached by links only.
 */
export function register(entry) {
  customElements.define(entry.tag, entry.view);
  registered.push(entry);
}

export const views = () => registered;
