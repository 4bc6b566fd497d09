// What is around the views? Navigation, which view is shown, the connection, the token, the colours, the keys.

import { LitElement, html, nothing } from "./vendor/lit.js";
import { get, has, live, token } from "./hub.js";
import { at, go, views } from "./view.js";
import "./feed.js";
import "./team.js";
import "./thread.js";
import "./message.js";
import "./search.js";
import "./work.js"; // the views of the work: it imports each of them

const HOME = "feed";
const GROUPS = [
  ["now", "Now"],
  ["person", "Needs a person"],
  ["work", "The work"],
  ["record", "The log"],
];
const STATES = {
  connecting: ["connecting …", "quiet"],
  live: ["live", "good"],
  lost: ["hub unreachable, retrying …", "bad"],
  resting: ["resting", "quiet"],
  "shut out": ["a token is needed", "warn"],
};
const COUNTED_MS = 400; // after an event, the counts in the navigation are asked for once
const COUNT_AGAIN_MS = 4000; // after they could not be asked for

/** `#/thread/1-1?as=list` → {view: "thread", path: ["1-1"], query: {as: "list"}}. */
export function placed(hash) {
  const [way, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [view, ...path] = way.split("/").filter(Boolean).map(spelt);
  return { view: view || HOME, path, query: Object.fromEntries(new URLSearchParams(query)) };
}

function spelt(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray % typed by hand
  }
}

class Page extends LitElement {
  static properties = {
    place: { state: true },
    connection: { state: true },
    summary: { state: true },
    open: { state: true },
    wanted: { state: true },
    theme: { state: true },
  };

  constructor() {
    super();
    this.place = placed(location.hash);
    this.connection = live.state;
    this.summary = {};
    this.open = false; // the navigation, on a phone
    this.wanted = null; // why a token is asked for
    this.theme = document.documentElement.dataset.theme || "auto";
    this.counting = 0;
    this.moves = 0; // within the page: so many steps back stay on it
  }

  createRenderRoot() {
    this.replaceChildren();
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    window.addEventListener("hashchange", () => this.#moved());
    window.addEventListener("telex-token-wanted", (event) => (this.wanted = event.detail));
    document.addEventListener("keydown", (event) => this.#key(event));
    live.watch((state) => {
      this.connection = state;
      if (state === "live") this.#count();
    });
    live.hear(() => this.#count());
    live.start();
    this.#count();
  }

  #moved() {
    const before = this.place.view;
    this.moves += 1;
    this.place = placed(location.hash);
    this.open = false;
    if (before !== this.place.view) {
      scrollTo(0, 0);
      this.updateComplete.then(() => this.querySelector("main")?.focus({ preventScroll: true }));
    }
  }

  #count(wait = COUNTED_MS) {
    if (this.counting) return;
    this.counting = setTimeout(async () => {
      let again = false;
      try {
        this.summary = await get("/page/summary", {}, has("messages"));
      } catch (problem) {
        this.summary = { team: this.summary.team, failed: true };
        again = this.connection === "live" && problem.status !== 401 && problem.status !== 403;
      }
      this.counting = 0;
      if (again) this.#count(COUNT_AGAIN_MS);
    }, wait);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key === "Escape") {
      if (this.open) this.open = false;
      else if (typing) typing.blur();
      else if (["message", "thread"].includes(this.place.view)) this.moves ? history.back() : go(at(HOME));
    } else if (event.key === "/" && !typing) {
      event.preventDefault();
      this.place.view === "search" ? this.querySelector("#words")?.focus() : go(at("search"));
    }
  }

  #coloured() {
    const next = { auto: "light", light: "dark", dark: "auto" }[this.theme];
    this.theme = next;
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    try {
      next === "auto" ? localStorage.removeItem("telex-theme") : localStorage.setItem("telex-theme", next);
    } catch {
      // Kept until the page is closed, then.
    }
    window.dispatchEvent(new CustomEvent("telex-theme"));
  }

  updated() {
    const entry = this.#entry();
    document.title = `${entry ? entry.title : "Not found"} · Telex`;
    const dialog = this.querySelector("dialog");
    if (dialog && !dialog.open) dialog.showModal();
    this.#show(entry);
  }

  /** The view's element is kept while only its place changes, and made anew when another view is shown. */
  #show(entry) {
    const main = this.querySelector("main");
    const shown = main.firstElementChild;
    if (!entry) return;
    if (shown?.localName === entry.tag) shown.place = this.place;
    else {
      const view = document.createElement(entry.tag);
      view.place = this.place;
      main.replaceChildren(view);
    }
    main.firstElementChild.summary = this.summary;
  }

  #entry() {
    return views().find((entry) => entry.name === this.place.view) || views().find((entry) => entry.name === HOME);
  }

  #nav() {
    return GROUPS.map(([group, title]) => {
      const entries = views().filter((entry) => entry.group === group && !entry.hidden);
      return entries.length
        ? html`<section><h2 id="nav-${group}">${title}</h2>
            <ul aria-labelledby="nav-${group}">${entries.map((entry) => this.#link(entry))}</ul></section>`
        : nothing;
    });
  }

  #link(entry) {
    const number = entry.badge ? Number(entry.badge(this.summary)) || 0 : 0;
    const here = entry.name === this.place.view || (entry.covers || []).includes(this.place.view);
    const chosen = () => (this.open = false);
    return html`<li><a href=${at(entry.name)} aria-current=${here ? "page" : nothing} @click=${chosen}
      >${entry.title}${number ? html` <span class="number">${number}</span>` : nothing}</a></li>`;
  }

  #skip(event) {
    event.preventDefault();
    this.querySelector("main").focus();
  }

  #given(event) {
    event.preventDefault();
    token.set(event.target.elements.token.value.trim());
    event.target.reset();
    this.querySelector("dialog").close();
    this.wanted = null;
    live.retry();
    this.#count();
    this.querySelector("main").firstElementChild?.reload?.();
  }

  render() {
    const [words, mood] = STATES[this.connection];
    return html`
      <a class="skip" href="#main" @click=${this.#skip}>Skip to the content</a>
      <header class="top">
        <a class="brand" href=${at(HOME)}><img src="/static/icon.svg" alt="" width="26" height="26" /> Telex</a>
        ${this.summary.team ? html`<span class="team-name">${this.summary.team}</span>` : nothing}
        <span class="connection ${mood}" role="status"><span class="dot" aria-hidden="true"></span>${words}</span>
        ${
          this.connection === "shut out"
            ? html`<button type="button" class="small" @click=${() => (this.wanted = {})}>Enter a token</button>`
            : nothing
        }
        <button type="button" class="plain theme" @click=${this.#coloured} aria-label="Colours: ${this.theme}. Change"
          >${{ auto: "◐", light: "☀", dark: "☾" }[this.theme]}</button>
        <button type="button" class="plain menu" aria-expanded=${this.open ? "true" : "false"} aria-controls="nav"
          @click=${() => (this.open = !this.open)}>Menu</button>
      </header>
      <nav id="nav" class=${this.open ? "open" : ""} aria-label="Views">${this.#nav()}
        <p class="keys"><kbd>/</kbd> search <kbd>j</kbd> <kbd>k</kbd> move <kbd>Esc</kbd> back</p></nav>
      <main id="main" tabindex="-1"></main>
      ${
        this.wanted
          ? html`<dialog aria-labelledby="token-title" @close=${() => (this.wanted = null)}>
            <form method="dialog" @submit=${this.#given}>
              <h2 id="token-title">This hub requires a token</h2>
              <p>${token.get() ? this.wanted.detail : "The operator of the hub creates one with telex token create."}
                It is stored for this tab only.</p>
              <label>Token <input name="token" type="password" autocomplete="off" required autofocus /></label>
              <p class="actions"><button type="submit" class="primary">Go on</button></p>
            </form>
          </dialog>`
          : nothing
      }
    `;
  }
}
customElements.define("telex-page", Page);
