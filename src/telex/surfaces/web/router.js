/** Addresses of views, and where the person was at each entry of the history. */

export const HOME = "timeline";

/** `address("agent", ["dev"], {at: "…"})` is `#/agent/dev?at=…`; the home has no name: `#/`. */
export function address(view, path = [], query = {}) {
  const names = view === HOME ? path : [view, ...path];
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = new URLSearchParams(given).toString();
  return `#/${names.map(encodeURIComponent).join("/")}${search ? `?${search}` : ""}`;
}

/** Go to an address. `replace`: the way back does not stop here. */
export function navigate(target, { replace = false } = {}) {
  if (!replace) {
    location.hash = target;
    return;
  }
  history.replaceState(history.state, "", target);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

/** Change parts of the query of the present address; undefined, null and "" remove a part. */
export function refine(changes, { replace = true } = {}) {
  const { view, path, query } = place();
  navigate(address(view, path, { ...query, ...changes }), { replace });
}

/**
 * Select a message in the present view. The way back lets go of it, since it may cover the view; another one takes its
 * place in the history.
 */
export function select(message, changes = {}) {
  const { view, path, query } = place();
  const target = address(view, path, { ...query, ...changes, message });
  if (query.message) return navigate(target, { replace: true });
  history.pushState({ opener: address(view, path, query) }, "", target);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

/** Let go of the selected message: a step back, if that leads to the same without it. */
export function letGo(changes = {}) {
  const { view, path, query } = place();
  const target = address(view, path, { ...query, ...changes, message: undefined });
  if (history.state?.opener === target) history.back();
  else navigate(target, { replace: true });
}

/** `#/agent/dev?at=…` → {view: "agent", path: ["dev"], query: {at: "…"}}. */
export function place(hash = location.hash) {
  const [way, search = ""] = hash.replace(/^#\/?/, "").split("?");
  const [view, ...path] = way.split("/").filter(Boolean).map(decoded);
  return { view: view || HOME, path, query: Object.fromEntries(new URLSearchParams(search)) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray % typed by hand
  }
}

// --- positions ------------------------------------------------------------------------------------------------------

const GROW_MS = 4000; // the content of a view may take so long to reach its former height
const POSITIONS_MAX = 200;

/** Scroll position and focus of each entry of the history, put back on the way back. */
export class Positions {
  moves = 0; // steps back that stay on this page
  #places = new Map(); // by entry of the history: {y, focus}
  #entry = "";
  #isBack = false;
  #stop = () => {};

  constructor() {
    history.scrollRestoration = "manual";
    this.#enter();
    window.addEventListener("popstate", (event) => (this.#isBack = Boolean(event.state?.telex)));
    window.addEventListener("scroll", () => this.#note(), { passive: true });
    document.addEventListener("focusin", () => this.#note());
  }

  /** A view is shown in `main`. `isOther`: it is not the one that was shown before. */
  shown(main, { isOther }) {
    this.#stop();
    const isBack = this.#isBack;
    this.#isBack = false;
    if (!isBack) this.moves += isOther ? 1 : 0;
    else this.moves = Math.max(0, this.moves - 1);
    this.#enter();
    if (!isOther) return;
    const kept = isBack ? this.#places.get(this.#entry) : null;
    if (kept) this.#restore(main, kept);
    else {
      scrollTo(0, 0);
      main.focus({ preventScroll: true });
    }
  }

  #enter() {
    this.#entry = history.state?.telex ?? crypto.getRandomValues(new Uint32Array(2)).join("-");
    if (!history.state?.telex) history.replaceState({ ...history.state, telex: this.#entry }, "");
  }

  #note() {
    if (history.state?.telex !== this.#entry) return; // an entry that is being left
    this.#places.delete(this.#entry);
    this.#places.set(this.#entry, { y: scrollY, focus: nameOf(document.activeElement) });
    if (this.#places.size > POSITIONS_MAX) this.#places.delete(this.#places.keys().next().value);
  }

  /** Scroll as soon as the content is high enough, unless the person scrolls meanwhile. */
  #restore(main, { y, focus }) {
    const place = () => {
      scrollTo(0, y);
      const focused = focus && main.querySelector(focus);
      if (focused) focused.focus({ preventScroll: true });
      if (Math.abs(scrollY - y) < 2 && (focused || !focus)) this.#stop();
    };
    const observer = new ResizeObserver(place);
    const timer = setTimeout(() => this.#stop(), GROW_MS);
    const byPerson = () => this.#stop();
    const kinds = ["wheel", "touchstart", "keydown", "pointerdown"];
    this.#stop = () => {
      observer.disconnect();
      clearTimeout(timer);
      for (const kind of kinds) window.removeEventListener(kind, byPerson);
      this.#stop = () => {};
    };
    for (const kind of kinds) window.addEventListener(kind, byPerson, { passive: true });
    main.focus({ preventScroll: true });
    observer.observe(main);
    place();
  }
}

/** A selector that finds the element again after it was drawn anew; "" if there is none. */
function nameOf(element) {
  if (!element || element === document.body || element.id === "main") return "";
  if (element.id) return `#${CSS.escape(element.id)}`;
  const target = element.getAttribute("href");
  return target && element.closest("main") ? `a[href="${CSS.escape(target)}"]` : "";
}
