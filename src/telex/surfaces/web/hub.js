/** The hub over HTTP: `get` and `post` for one answer, `live` for updates, `me` for who is looking, `hubNow` its clock. */

import { createParser } from "./vendor/eventsource-parser.js";

const TOKEN = "telex-token"; // kept for this tab only, and only where a person has typed one
const SILENCE_MS = 60_000; // heartbeats come more often: a stream this quiet is dead, whatever the network says
const WAITS_MS = [250, 500, 1000, 2000, 4000];
const HIDDEN_MS = 60_000; // a page that nobody looks at gives its connection back; browsers have six for each hub
const AWAY = "The hub cannot be reached.";
const NO_HUB = "The server at this address is no Telex hub, or one of another version.";
const ASKED_AGAIN = "The page keeps retrying.";
const DO_AGAIN = "It is not known whether this was done. Try again: it is done once, however often you try.";

/** What the hub refused or could not do: `code` and `message` as its problem document says it. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || `The hub answered with ${status || "nothing"}.`);
    this.status = status; // 0: the hub cannot be reached
    this.code = body.code || "";
    this.body = body; // the whole document: findings, fixed, id …
    this.findings = Array.isArray(body.findings) ? body.findings : [];
  }
}

let ahead = 0; // seconds by which the hub's clock is ahead of the browser's
const AHEAD_STEP = 0.5; // smaller differences are the time that an answer took

/** The hub's clock, in seconds since 1970: the clock of the browser may be wrong. */
export const hubNow = () => Date.now() / 1000 + ahead;

function setClock(now) {
  const found = now - Date.now() / 1000;
  if (Math.abs(found - ahead) > AHEAD_STEP) ahead = found;
}

export const token = {
  get: () => sessionStorage.getItem(TOKEN) || "",
  set: (text) => (text ? sessionStorage.setItem(TOKEN, text) : sessionStorage.removeItem(TOKEN)),
};

function headed(more = {}) {
  const held = token.get();
  return held ? { ...more, Authorization: `Bearer ${held}` } : more;
}

function addressed(path, query = {}) {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) given.append(name, String(one));
  }
  const text = given.toString();
  return text ? `${path}?${text}` : path;
}

async function asked(path, query, isWanted, options) {
  const next = options.method === "POST" ? DO_AGAIN : ASKED_AGAIN;
  let answer, text;
  try {
    answer = await fetch(addressed(path, query), { cache: "no-store", ...options });
    text = await answer.text(); // a hub that goes away in the middle of its answer has not answered
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { detail: `${AWAY} ${next}`, code: "hub-unreachable" });
  }
  const body = understood(text);
  if (!answer.ok) return refused(answer.status, body, next);
  if (typeof body?.now === "number") setClock(body.now);
  const found = has("answer")(body) && Object.keys(body).length === 1 ? body.answer : body;
  if (body === undefined || !isWanted(found))
    throw new Problem(0, { detail: `${NO_HUB} ${next}`, code: "hub-unreachable" });
  return found;
}

/** Is it something that has all of these? What stands between the page and the hub may answer with any JSON. */
export const has =
  (...names) =>
  (body) =>
    Boolean(body) && typeof body === "object" && names.every((name) => name in body);

/** What was answered, or undefined if it is no JSON. */
function understood(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Throws what the hub said no to; a hub that wants a token is given one by whoever sits there. The hub's own word has a
 * code: a proxy that has none does not know the hub's tokens, and a token would not help it.
 */
function refused(status, body, next = ASKED_AGAIN) {
  if (typeof body?.code !== "string" || typeof body.detail !== "string")
    throw new Problem(0, {
      detail: `${AWAY} Something else answered with ${status}. ${next}`,
      code: "hub-unreachable",
    });
  if (status === 401) window.dispatchEvent(new CustomEvent("telex-token-wanted", { detail: body }));
  throw new Problem(status, body);
}

/**
 * The answer to a question: a list, or what `isWanted`. `{"answer": x}` comes back as x. Throws a Problem.
 * @param {(body: any) => boolean} [isWanted]
 */
export const get = (path, query = {}, isWanted = Array.isArray) => asked(path, query, isWanted, { headers: headed() });

/** Something done, and an answer that `isWanted`. `body`: an object is sent as JSON, a string as it is (a message). */
export const post = (path, body, query, isWanted) =>
  asked(path, query, isWanted, {
    method: "POST",
    headers: headed({ "Content-Type": typeof body === "string" ? "text/plain; charset=utf-8" : "application/json" }),
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

/** An id for a message that may have to be sent again. `crypto.randomUUID` exists on https and localhost only. */
export const newId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Was the id used for another message before? Then an earlier version of the same draft was stored. */
export const isReused = (problem) => problem?.findings.some((finding) => finding.code === "id-reused") || false;

/** One place in a path: `/messages/${part(id)}`. */
export const part = encodeURIComponent;

/**
 * Who is looking: an agent's token acts as that agent, which may not do what is a person's to do. A viewer does nothing;
 * with a conversation it reads that one only.
 */
export const me = { agent: null, role: null, operator: true, viewer: false, conversation: null };

/** Role by agent, of agents whose role is not their name: it gives a name its colour. */
export const roles = new Map();

/** Settled once the hub has said who is looking. */
export const meet = () => live.begun;

/**
 * Updates of the team, each once and in order, whether or not the hub restarts in between.
 *
 * `live.hear((update) => …)` returns how to stop hearing; `live.state` is a key of CONNECTION in states.js, and
 * `live.watch(fn)` hears when it changes. An update is
 *   {seq, now, rows: new and changed messages, agents: names, conversations: ids, needs: count or null, roster: bool,
 *    refusals: of the last hour}
 * with `reset: true` if more changed than it has place for, and `roles` by agent when agents came. The first update
 * after each connection has also `summary`: {team, messages, needs, me, hubs, roles}.
 */
class Live {
  state = "connecting";
  #id = ""; // of the last update
  #hearers = new Set();
  #watchers = new Set();
  /** @type {any} */
  #abort = null;
  /** @type {(value?: any) => void} */
  #wake = () => {};
  #hidden = 0;
  /** @type {(value?: any) => void} */
  #begin = () => {};
  /** Settled at the first update: what is loaded after that misses nothing. */
  begun = new Promise((settled) => (this.#begin = settled));

  hear(hearer) {
    this.#hearers.add(hearer);
    return () => this.#hearers.delete(hearer);
  }

  watch(watcher) {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Called once, by the shell. */
  async start() {
    document.addEventListener("visibilitychange", () => this.#seen());
    window.addEventListener("online", () => this.#wake());
    for (let tries = 0; ; tries += 1) {
      try {
        await this.#follow(() => (tries = 0));
      } catch (problem) {
        this.#failed(problem);
      }
      do await this.#pause(tries);
      while (this.state === "resting"); // it may have come to rest in the middle of a pause
    }
  }

  /** Try again now: after a token was given, say. */
  retry() {
    this.#wake();
  }

  #failed(problem) {
    if (this.state === "resting") return;
    this.#change(problem.status === 401 || problem.status === 403 ? "shut out" : "lost");
  }

  async #follow(connected) {
    const abort = new AbortController();
    this.#abort = abort;
    let watchdog = 0;
    const alive = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => abort.abort(), SILENCE_MS);
    };
    alive();
    try {
      const answer = await this.#answer(abort.signal);
      const parser = createParser({ onEvent: (frame) => this.#take(frame, connected) });
      const body = /** @type {ReadableStream} */ (answer.body);
      const reader = body.pipeThrough(new TextDecoderStream()).getReader();
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
        alive();
        parser.feed(piece.value);
      }
    } finally {
      clearTimeout(watchdog);
      this.#abort = null;
    }
    throw new Problem(0, {});
  }

  async #answer(signal) {
    const last = this.#id ? { "Last-Event-ID": this.#id } : {};
    const headers = headed({ Accept: "text/event-stream", ...last });
    const answer = await fetch("/page/stream", { headers, cache: "no-store", signal });
    if (!answer.ok) refused(answer.status, understood(await answer.text()));
    if (!answer.headers.get("content-type")?.startsWith("text/event-stream")) throw new Problem(0, {});
    return answer;
  }

  #take({ event, id, data }, connected) {
    if (event === "other-record") {
      location.reload(); // the hub came back with another store: nothing on the page holds
      return;
    }
    if (event !== "update") return;
    const update = JSON.parse(data);
    setClock(update.now);
    if (update.summary) Object.assign(me, update.summary.me);
    for (const [name, role] of Object.entries(update.roles ?? update.summary?.roles ?? {})) roles.set(name, role);
    this.#id = id ?? this.#id;
    connected();
    this.#change("live");
    this.#begin();
    for (const hearer of this.#hearers) hearer(update);
  }

  #change(state) {
    if (state === this.state) return;
    this.state = state;
    for (const watcher of this.#watchers) watcher(state);
  }

  #pause(tries) {
    const wait = WAITS_MS[Math.min(tries, WAITS_MS.length - 1)] * (0.75 + Math.random() / 2);
    return new Promise((done) => {
      this.#wake = done;
      if (this.state !== "resting" && this.state !== "shut out") setTimeout(done, wait); // those wait for a person
    });
  }

  #seen() {
    clearTimeout(this.#hidden);
    if (document.hidden) {
      this.#hidden = setTimeout(() => {
        this.#change("resting");
        this.#abort?.abort();
      }, HIDDEN_MS);
    } else if (this.state !== "live") {
      this.#change("connecting");
      this.#wake();
    }
  }
}

export const live = new Live();
