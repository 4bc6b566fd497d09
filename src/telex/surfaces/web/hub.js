// How does the page speak with the hub? `get` and `post` for one answer, `live` for everything that happens, `me` for who
// it is to the hub.

import { frames } from "./sse.js";

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
  const found = has("answer")(body) && Object.keys(body).length === 1 ? body.answer : body;
  if (body === undefined || !isWanted(found)) throw new Problem(0, { detail: `${NO_HUB} ${next}`, code: "hub-unreachable" });
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
    throw new Problem(0, { detail: `${AWAY} Something else answered with ${status}. ${next}`, code: "hub-unreachable" });
  if (status === 401) window.dispatchEvent(new CustomEvent("telex-token-wanted", { detail: body }));
  throw new Problem(status, body);
}

/** The answer to a question: a list, or what `isWanted`. `{"answer": x}` comes back as x. Throws a Problem. */
export const get = (path, query, isWanted = Array.isArray) => asked(path, query, isWanted, { headers: headed() });

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

/** Who is looking: whoever has an agent's token is that agent, and may not do what is a person's to do. */
export const me = { agent: null, role: null, operator: true };
let met = null;
let metWith = "";

/** Settled once the hub has said who that is; it is asked once for each token. */
export function meet() {
  const held = token.get();
  if (!met || metWith !== held) {
    metWith = held;
    met = get("/page/me", {}, has("operator")).then((found) => void Object.assign(me, found));
    met.catch(() => (met = null)); // asked again by whoever comes next
  }
  return met;
}

/**
 * Everything that happens, once and in order, whether or not the hub restarts in between.
 *
 * `live.hear(batch => …)` gives [{event, message}, …] and returns how to stop hearing; `live.state` is
 * "connecting", "live", "lost", "resting" or "shut out", and `live.watch(fn)` hears when that changes.
 */
class Live {
  state = "connecting";
  seq = 0; // the last event heard
  #at = 0; // and when it happened: another record may have an event of that number too
  #hearers = new Set();
  #watchers = new Set();
  #batch = [];
  #stop = null;
  #wake = () => {};
  #hidden = 0;
  #begin = () => {};
  /** Settled once it is known from where on everything will be heard: what is asked for after that misses nothing. */
  begun = new Promise((settled) => (this.#begin = settled));

  hear(hearer) {
    this.#hearers.add(hearer);
    return () => this.#hearers.delete(hearer);
  }

  watch(watcher) {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Begin after the newest event there is. Called once, by the shell. */
  async start() {
    document.addEventListener("visibilitychange", () => this.#seen());
    window.addEventListener("online", () => this.#wake());
    for (let tries = 0; ; tries += 1) {
      try {
        const [last] = await get("/events", { newest_first: true, limit: 1 });
        if (last) this.#keep(last.event);
        break;
      } catch (problem) {
        this.#failed(problem);
        await this.#pause(tries);
      }
    }
    this.#begin();
    for (let tries = 0; ; tries += 1) {
      const before = this.seq;
      try {
        await this.#follow(() => (tries = 0));
      } catch (problem) {
        this.#failed(problem);
      }
      if (this.seq > before) tries = 0;
      do await this.#pause(tries);
      while (this.state === "resting"); // it may have come to rest in the middle of a pause
    }
  }

  /** Try again now: after a token was given, say. */
  retry() {
    this.#wake();
  }

  #failed(problem) {
    if (this.state !== "resting") this.#now(problem.status === 401 || problem.status === 403 ? "shut out" : "lost");
  }

  #keep(event) {
    this.seq = event.seq;
    this.#at = event.at;
  }

  /** A hub that came back with another store has numbered its events anew: then nothing on the page holds. */
  async #isSameRecord() {
    if (!this.seq) return true; // nothing was heard of it yet
    const [last] = await get("/events", { after: this.seq - 1, limit: 1 });
    return last?.event.seq === this.seq && last.event.at === this.#at;
  }

  async #follow(connected) {
    const stop = new AbortController();
    this.#stop = stop;
    let watchdog = setTimeout(() => stop.abort(), SILENCE_MS);
    const alive = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => stop.abort(), SILENCE_MS);
    };
    try {
      const answer = await fetch(addressed("/events", { after: this.seq }), {
        headers: headed({ Accept: "text/event-stream", "Last-Event-ID": String(this.seq) }),
        cache: "no-store",
        signal: stop.signal,
      });
      if (!answer.ok) refused(answer.status, understood(await answer.text()));
      if (!(await this.#isSameRecord())) return location.reload();
      this.#now("live");
      connected();
      for await (const frame of frames(answer.body, alive)) this.#heard(frame);
    } finally {
      clearTimeout(watchdog);
      this.#stop = null;
    }
    throw new Problem(0, {});
  }

  #heard(frame) {
    if (frame.event !== "happening") return;
    const happening = JSON.parse(frame.data);
    if (happening.event.seq <= this.seq) return; // heard before: a stream that resumes may begin a little early
    this.#keep(happening.event);
    if (this.#batch.push(happening) === 1) setTimeout(() => this.#tell(), 30); // many at once are drawn once
  }

  #tell() {
    const batch = this.#batch;
    this.#batch = [];
    for (const hearer of this.#hearers) hearer(batch);
  }

  #now(state) {
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
        this.#now("resting");
        this.#stop?.abort();
      }, HIDDEN_MS);
    } else if (this.state !== "live") {
      this.#now("connecting");
      this.#wake();
    }
  }
}

export const live = new Live();
