/** Needs you: one list by deadline, the chosen item beside it with its form, and answers that can be undone. */

import { dropDrafts } from "../drafts.js";
import { ago, count, iso, moment, number, secondsOf, span } from "../format.js";
import { get, has, hubNow, me, newId, Problem, post } from "../hub.js";
import { address, HOME, refine } from "../router.js";
import { NEEDS } from "../states.js";
import { html, nothing, repeat } from "../vendor/lit.js";
import { stylesheet, View } from "../view.js";
import { agentLink, agentName } from "../widgets/message.js";
import { problemNotice } from "../widgets/notice.js";
import { notifyButton } from "../widgets/notify_button.js";
import { pastNotice } from "../widgets/past_notice.js";
import { answerOf, baseOf, draftsOf, needForm, PRIMARY, SECONDARY } from "./need_forms.js";

await stylesheet("views/needs.css");

const LIMIT = 50; // items of a page of the list
const TICK_MS = 1000;
const SOON_SECONDS = 120;
const OUTCOME_MS = 600; // after the time to undo is over, the outcome is asked for
const PLURALS = {
  approval: ["approval", "approvals"],
  escalation: ["escalation", "escalations"],
  dead: ["group of dead letters", "groups of dead letters"],
  stall: ["stall", "stalls"],
  wake: ["wake failure", "wake failures"],
};
const BULK = { allow: "Allow", retry: "Retry", reject: "Reject", drop: "Drop" };
const WITH_REASON = ["reject", "drop"];

export default class Needs extends View {
  static properties = {
    ...View.properties,
    list: { state: true },
    shown: { state: true },
    picked: { state: true },
    missing: { state: true },
    failure: { state: true },
    note: { state: true },
  };

  #cursors = [""]; // of the pages of the list up to this one
  #timer = 0;
  #ids = new Map(); // by content of an answer whose outcome is unknown: its id
  #isBusy = false;
  #own = new Map(); // by id of an answer given here: keys of its drafts
  #outcomeAt = 0;

  constructor() {
    super();
    this.list = null;
    this.shown = null; // the item in the form, as it was last seen
    this.picked = new Set(); // keys of items to be answered together
    this.missing = null;
    this.failure = null; // why an answer could not be given
    this.note = ""; // what the person should know of the last answer
    this.keys = {
      j: () => this.#move(1),
      k: () => this.#move(-1),
      a: () => this.#pressKey(PRIMARY),
      r: () => this.#pressKey(SECONDARY),
      e: () => this.#focus(this.shown?.kind === "approval" ? "reason" : "text"),
      u: () => this.#undo(),
      x: () => this.#pick(this.shown),
    };
  }

  connectedCallback() {
    super.connectedCallback();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.addEventListener("keydown", this.#send);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.#timer);
    this.removeEventListener("keydown", this.#send);
  }

  get heading() {
    return "Needs you";
  }

  // --- loading -------------------------------------------------------------------------------------------------------

  /** Another item of the list is shown without asking the hub. */
  willUpdate(changed) {
    const before = changed.get("place");
    if (!changed.has("place")) return;
    this.missing = null;
    const wanted = this.#wanted;
    const isKnown = this.list && before?.view === this.place.view && before.query.at === this.place.query.at;
    if (isKnown && (!wanted || this.#find(wanted))) this.#choose(this.#find(wanted));
    else super.willUpdate(changed);
  }

  async load() {
    const query = {
      item: this.#wanted,
      at: secondsOf(this.place.query.at),
      cursor: this.#cursors.at(-1),
      limit: LIMIT,
    };
    this.list = await get("/page/needs", query, has("items", "answers"));
    if (!this.list.items.length && this.#cursors.length > 1) {
      this.#cursors = [""];
      return this.load();
    }
    this.picked = new Set([...this.picked].filter((key) => this.list.items.some((need) => need.key === key)));
    this.#choose(this.#find(this.#wanted || baseOf(this.shown?.key ?? "")));
    this.#settle();
    return undefined;
  }

  concerns({ needs, reset }) {
    return !this.place.query.at && (needs !== null || Boolean(reset));
  }

  /** Key of the item in the address, without a revision. */
  get #wanted() {
    return baseOf(this.place.query.item ?? "");
  }

  #find(base) {
    const items = this.list?.items ?? [];
    const other = this.list?.item;
    return items.find((need) => baseOf(need.key) === base) ?? (other && baseOf(other.key) === base ? other : null);
  }

  /** Show this item. One that is gone stays, as it was last seen, until the person goes on. */
  #choose(need) {
    if (need) this.shown = need;
    else if (!this.shown && !this.#wanted) this.shown = this.list?.items[0] ?? null;
  }

  get #isGone() {
    return this.shown && !this.#find(baseOf(this.shown.key));
  }

  /** Outcomes of answers: drafts of those that were sent are dropped, failures are told. */
  #settle() {
    for (const answer of this.list.answers) {
      if (answer.state !== "sent" || !this.#own.has(answer.id)) continue;
      for (const item of this.#own.get(answer.id)) if (!answer.failed.length) dropDrafts(item);
      this.#own.delete(answer.id);
      this.#tell(answer);
    }
  }

  #tell({ stale, failed, done }) {
    if (stale.length)
      this.note = `${count(stale.length, "item")} had changed or was answered meanwhile: nothing was done.`;
    if (failed.length) this.failure = { keys: failed.map(({ key }) => key), findings: failed[0].findings };
    else if (done.length) this.failure = null;
  }

  // --- time ----------------------------------------------------------------------------------------------------------

  #tick() {
    if (document.hidden || !this.list) return;
    if (this.#outcomeAt && Date.now() >= this.#outcomeAt) {
      this.#outcomeAt = 0;
      this.reload();
    }
    this.requestUpdate();
  }

  get #held() {
    return (this.list?.answers ?? []).filter(({ state }) => state === "held").at(-1) ?? null;
  }

  // --- moving and choosing -------------------------------------------------------------------------------------------

  #move(step) {
    const items = this.list?.items ?? [];
    if (!items.length) return;
    const place = items.findIndex((need) => this.shown && baseOf(need.key) === baseOf(this.shown.key));
    const next = items[Math.max(0, Math.min(items.length - 1, place + step))];
    this.#open(next);
    this.querySelector(`[data-key="${CSS.escape(baseOf(next.key))}"]`)?.scrollIntoView({ block: "nearest" });
  }

  #open(need, { replace = true } = {}) {
    this.note = "";
    refine({ item: baseOf(need.key) }, { replace });
  }

  #pick(need, isPicked = !this.picked.has(need?.key)) {
    if (!need || !isPickable(need)) return;
    const picked = new Set(this.picked);
    if (isPicked) picked.add(need.key);
    else picked.delete(need.key);
    this.picked = picked;
  }

  #pickAll(needs) {
    this.picked = new Set(needs.filter(isPickable).map((need) => need.key));
  }

  #focus(name) {
    const field = this.querySelector(`.need-form [name="${name}"]`);
    if (!field) return false;
    field.closest("details")?.setAttribute("open", "");
    field.focus();
    return true;
  }

  async #page(cursor) {
    this.#cursors = cursor === null ? this.#cursors.slice(0, -1) : [...this.#cursors, cursor];
    refine({ item: null });
    await this.reload();
    this.shown = this.list.items[0] ?? null;
    this.querySelector("h1")?.scrollIntoView({ block: "nearest" });
  }

  // --- answering -----------------------------------------------------------------------------------------------------

  #pressKey(actions) {
    const action = actions[this.shown?.kind];
    return action && !this.#isGone && this.shown.actions.includes(action) ? this.#press(action) : false;
  }

  #send = (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !event.target.closest(".need-form")) return;
    event.preventDefault();
    this.#pressKey(PRIMARY);
  };

  async #press(action) {
    const need = this.shown;
    const answer = answerOf(need, action);
    this.missing = answer.missing ? answer : null;
    if (answer.missing) {
      await this.updateComplete;
      this.#focus(answer.missing);
      return;
    }
    await this.#answer(answer.keys, action, answer.more, [need]);
  }

  /** Give an answer. It gets the same id if it is given again because its outcome is unknown. */
  async #answer(keys, action, more, needs) {
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.failure = null;
    this.note = "";
    const content = JSON.stringify([keys, action, more]);
    const id = this.#ids.get(content) ?? newId();
    this.#ids.set(content, id);
    try {
      const given = await post("/page/needs/answer", { keys, action, id, ...more }, {}, has("done", "stale"));
      this.#ids.delete(content);
      this.#given(given, needs);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      if (problem.status) this.#ids.delete(content);
      this.failure = { keys, problem };
    } finally {
      this.#isBusy = false;
    }
  }

  /** The items leave the list, and the next one is shown. */
  #given(answer, needs) {
    this.#tell(answer);
    if (answer.done.length) {
      this.#own.set(answer.id, needs.map(draftsOf));
      this.#goOn(answer.done);
      this.list = { ...this.list, answers: [...this.list.answers, answer] };
      this.#outcomeAt = Date.now() + (answer.undo_until - answer.now) * 1000 + OUTCOME_MS;
    }
    this.reload();
  }

  #goOn(done) {
    const { items } = this.list;
    const isDone = (need) =>
      done.includes(need.key) || (need.members?.length && need.members.every((one) => done.includes(one.key)));
    const place = items.findIndex((need) => need.key === this.shown?.key);
    const left = items.filter((need) => !isDone(need));
    const total = this.list.count === null ? null : this.list.count - (items.length - left.length);
    this.picked = new Set();
    this.list = { ...this.list, items: left, count: total };
    if (this.shown && !isDone(this.shown)) return;
    const next = left[Math.min(Math.max(place, 0), left.length - 1)] ?? null;
    this.shown = next;
    refine({ item: next && this.#wanted && !isNarrow() ? baseOf(next.key) : null });
  }

  async #undo() {
    const held = this.#held;
    if (!held) return;
    await this.#change("undo", held, (answer) => {
      this.#own.delete(answer.id);
      this.note = answer.undone ? "" : "It was too late to undo: the answer was sent.";
      if (answer.undone && answer.done.length === 1) refine({ item: baseOf(answer.done[0]) });
    });
  }

  #sendNow(held) {
    return this.#change("send", held, () => {});
  }

  async #change(name, { id }, done) {
    try {
      done(await post(`/page/needs/${name}`, { id }, {}, has("state")));
      this.failure = null;
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      this.failure = { keys: [], problem };
    }
    await this.reload();
  }

  // --- templates -----------------------------------------------------------------------------------------------------

  content() {
    const isPast = Boolean(this.list.at);
    return html`<div class="needs ${this.#wanted && this.shown ? "is-open" : ""}">
      <div class="page-bar"><h1>Needs you</h1> <span class="soft">${this.#counts()}</span> <span class="grow"></span>
        ${
          isPast || me.viewer
            ? nothing
            : html`<span class="soft keys" aria-hidden="true"><kbd>j</kbd><kbd>k</kbd> move <kbd>a</kbd> allow
          <kbd>r</kbd> reject <kbd>e</kbd> answer <kbd>u</kbd> undo</span> ${notifyButton()}`
        }
      </div>
      ${pastNotice(this.list.at)}
      ${this.note ? html`<p class="notice is-waiting" role="status">${this.note}</p>` : nothing}
      ${this.#otherFailure()}
      <div class="need-cols">
        <div class="need-side">${this.#bulk()} ${this.#listed()} ${this.#pages()}</div>
        <div class="need-detail">${repeat(
          this.shown ? [this.shown] : [],
          (need) => baseOf(need.key),
          (need) => this.#detail(need),
        )}${!this.shown && this.#wanted ? this.#notOpen() : nothing}</div>
      </div>
      ${isPast ? nothing : this.#undoBar()}
    </div>`;
  }

  #counts() {
    const kinds = Object.entries(PLURALS).filter(([kind]) => this.list.by_kind[kind] !== 0);
    const words = (/** @type {[string, string[]]} */ [kind, [one, many]]) =>
      this.list.at && this.list.by_kind[kind] === null
        ? `${many} not known`
        : count(this.list.by_kind[kind], one, many);
    return kinds.map(words).join(" · ");
  }

  #listed() {
    const { items } = this.list;
    if (!items.length)
      return html`<div class="card calm"><p><b>${this.list.at ? "Nothing needed you then" : `Nothing needs you${this.list.count === null ? " so far" : ""}`}.</b></p>
        <p>Approvals, escalations, dead letters, stalls and wake failures appear here.</p></div>`;
    return html`<ol class="need-list" aria-label="Open items">${repeat(
      items,
      (need) => need.key,
      (need) => this.#row(need),
    )}</ol>`;
  }

  #row(need) {
    const isShown = this.shown && baseOf(need.key) === baseOf(this.shown.key);
    const { mark, word } = NEEDS[need.kind];
    const since = need.due === null ? "" : ` · asked ${ago(need.since)}`; // without a deadline, its age is at the end
    return html`<li class="need-row ${isShown ? "is-chosen" : ""}" data-key=${baseOf(need.key)}>
      ${
        isPickable(need)
          ? html`<label class="need-pick"><span class="hidden">Choose ${need.title}</span>
              <input type="checkbox" .checked=${this.picked.has(need.key)}
                @change=${(event) => this.#pick(need, event.target.checked)}></label>`
          : nothing
      }
      <button type="button" class="need" aria-current=${isShown ? "true" : nothing} @click=${() => this.#open(need, { replace: !isNarrow() })}>
        <i class="kind is-${need.kind}" aria-hidden="true">${mark}</i>
        <span class="need-text"><b dir="auto">${need.title}</b>
          <span class="soft">${word} · ${agentName(need.by, need.by_role)}${since}</span></span>
        ${dueOf(need, this.list.at ?? hubNow())}
      </button></li>`;
  }

  #pages() {
    const isFirst = this.#cursors.length === 1;
    if (isFirst && !this.list.cursor) return nothing;
    const first = (this.#cursors.length - 1) * LIMIT + 1;
    return html`<div class="need-pages">
      <button type="button" class="small" ?disabled=${isFirst} @click=${() => this.#page(null)}>Back</button>
      <span class="soft">${number(first)}–${number(first + this.list.items.length - 1)} of ${number(this.list.count)}</span>
      <button type="button" class="small" ?disabled=${!this.list.cursor} @click=${() => this.#page(this.list.cursor)}>Next</button>
    </div>`;
  }

  /** What is done with all items that are picked. */
  #bulk() {
    const picked = this.list.items.filter((need) => this.picked.has(need.key));
    if (!picked.length) return nothing;
    const reason = () => this.querySelector("#bulk-reason")?.value.trim() ?? "";
    const buttons = Object.entries(BULK)
      .map(([action, words]) => ({ action, words, needs: picked.filter((need) => need.actions.includes(action)) }))
      .filter(({ needs }) => needs.length);
    return html`<section class="need-bulk" aria-label="Answer together">
      <div class="field"><label for="bulk-reason">Reason (required to reject or drop)</label>
        <input id="bulk-reason" type="text" dir="auto" autocomplete="off"></div>
      <div class="buttons">${buttons.map(
        ({
          action,
          words,
          needs,
        }) => html`<button type="button" class=${WITH_REASON.includes(action) ? "bad" : "primary"}
          @click=${() => this.#answerAll(action, needs, reason())}>${words} ${together(needs)}</button>`,
      )}
        <button type="button" class="ghost" @click=${() => this.#pickAll([])}>Choose none</button></div>
      ${picked.some((need) => need.kind === "approval") ? html`<p class="soft">Each request gets the paths that it asks for.</p>` : nothing}
    </section>`;
  }

  #answerAll(action, needs, reason) {
    if (WITH_REASON.includes(action) && !reason) {
      this.note = "Give a reason first.";
      this.querySelector("#bulk-reason").focus();
      return undefined;
    }
    return this.#answer(
      needs.map((need) => need.key),
      action,
      { reason },
      needs,
    );
  }

  #detail(need) {
    const { mark, word } = NEEDS[need.kind];
    const isGone = this.#isGone;
    const failure = this.failure?.keys.some((key) => baseOf(key) === baseOf(need.key)) ? this.failure : null;
    const host = {
      now: hubNow(),
      isPast: Boolean(this.list.at),
      missing: this.missing,
      problem: failure?.findings ?? failure?.problem?.findings ?? null,
      press: (action) => this.#press(action),
      changed: () => this.#changed(),
      focus: (name) => this.updateComplete.then(() => this.#focus(name)),
    };
    return html`<form class="need-form" aria-labelledby="need-title" @submit=${(event) => event.preventDefault()}>
      <div class="need-head"><span class="kind-word is-${need.kind}"><i aria-hidden="true">${mark}</i> ${word}</span>
        ${dueOf(need, this.list.at ?? hubNow())}
        ${need.severity ? html`<span class="tag">${need.severity}</span>` : nothing} <span class="grow"></span>
        <button type="button" class="ghost narrow-only" @click=${() => this.#close()}>Back to the list</button></div>
      <h2 id="need-title" dir="auto">${need.title}</h2>
      ${this.#facts(need)}
      ${need.blocks.words ? html`<p class="blocks" dir="auto">${need.blocks.words}</p>` : nothing}
      ${failure?.problem ? problemNotice(failure.problem) : nothing}
      ${isGone ? this.#goneNotice() : html`${needForm(need, host)} ${this.#alike(need)}`}
    </form>`;
  }

  #facts(need) {
    const verb = { approval: "asked", escalation: "came here" }[need.kind] ?? "since";
    const by = need.kind === "dead" ? html`to ${agentLink(need.by, need.by_role)}` : agentLink(need.by, need.by_role);
    return html`<p class="soft need-facts">${by} · ${verb}
      <time datetime=${iso(need.since)}>${moment(need.since)}</time>, ${ago(need.since)}
      ${
        need.conversation
          ? html` · <a href=${address("conversation", [need.conversation])} dir="auto">${need.conversation_title || need.conversation}</a>
        · <a href=${address(HOME, [], { conversation: need.conversation })}>on the timeline</a>`
          : nothing
      }
      ${need.message ? html` · <a href=${address("message", [need.message])}>${need.kind === "dead" && need.count > 1 ? "the last message" : "the message"}</a>` : nothing}</p>`;
  }

  /** Requests of the same agent or for the same plan, dead letters with the same reason: to be answered together. */
  #alike(need) {
    if (!isPickable(need) || this.list.at) return nothing;
    const open = this.list.items.filter((other) => other.kind === need.kind && isPickable(other));
    const sameReason = need.kind === "dead" ? open.filter((other) => other.reason === need.reason) : [];
    const sameAgent = need.kind === "approval" ? open.filter((other) => other.by === need.by) : [];
    const samePlan = need.plan ? open.filter((other) => other.plan === need.plan) : [];
    const isSame = sameAgent.length === samePlan.length && sameAgent.every((one) => samePlan.includes(one));
    const groups = [
      { needs: sameReason, words: "with this reason" },
      { needs: sameAgent, words: html`of <span dir="auto">${need.by}</span>` },
      { needs: isSame ? [] : samePlan, words: `for plan ${need.plan}` },
    ].filter(({ needs }) => needs.length > 1);
    if (!groups.length) return nothing;
    return html`<div class="quick">${groups.map(
      ({ needs, words }) =>
        html`<button type="button" class="small" @click=${() => this.#pickAll(needs)}>Choose all ${needs.length} ${words}</button>`,
    )}</div>`;
  }

  #changed() {
    this.missing = null;
    this.requestUpdate();
  }

  #close() {
    refine({ item: null }, { replace: true });
  }

  #goneNotice() {
    const held = this.list.answers.find(({ done }) => done.some((key) => baseOf(key) === baseOf(this.shown.key)));
    const words = held
      ? `${held.words} (answered by ${held.by === "human" ? "a person" : held.by})`
      : "It was answered, or it has ended.";
    const [next] = this.list.items;
    return html`<div class="notice is-waiting" role="status"><p><b>Not open any more.</b> ${words}</p></div>
      ${next ? html`<p><button type="button" @click=${() => this.#open(next)}>Show the next item</button></p>` : nothing}`;
  }

  #notOpen() {
    return html`<div class="card pad stack"><h2>Not open any more</h2>
      <p>The item of this address was answered, or it has ended.</p>
      <p><a href=${address("needs")}>All open items</a></p></div>`;
  }

  /** A failure of an answer to an item that is not in the form. */
  #otherFailure() {
    const { failure } = this;
    if (!failure || failure.keys.some((key) => this.shown && baseOf(key) === baseOf(this.shown.key))) return nothing;
    if (failure.problem) return problemNotice(failure.problem);
    const [key] = failure.keys;
    return html`<div class="notice is-refused" role="alert"><p><b>An answer was not accepted:</b>
      <code>${failure.findings[0]?.code}</code> ${failure.findings[0]?.say}</p>
      <p><a href=${address("needs", [], { item: baseOf(key) })}>Show the item</a></p></div>`;
  }

  #undoBar() {
    const held = this.#held;
    const left = held ? Math.max(0, held.undo_until - hubNow()) : 0;
    return html`<div class="toast need-undo" role="status" ?hidden=${!held}>${
      held
        ? html`<span dir="auto">${held.words}</span>
            <button type="button" class="small" @click=${() => this.#undo()}>Undo <kbd aria-hidden="true">u</kbd></button>
            <button type="button" class="small" @click=${() => this.#sendNow(held)}>Send now</button>
            <span aria-hidden="true">${Math.ceil(left)} s</span>`
        : nothing
    }</div>`;
  }
}

const isPickable = (need) => ["allow", "retry"].some((action) => need.actions.includes(action));

const isNarrow = () => matchMedia("(max-width: 720px)").matches;

function together(needs) {
  const kinds = new Set(needs.map((need) => need.kind));
  return [...kinds]
    .map((kind) => count(needs.filter((need) => need.kind === kind).length, ...PLURALS[kind]))
    .join(", ");
}

/** How long until the deadline; for items without one, how old they are. */
function dueOf(need, now) {
  if (need.due === null) return html`<span class="due">${span(Math.max(0, now - need.since))} old</span>`;
  const left = need.due - now;
  if (left < 0) return html`<span class="due is-late">overdue ${span(left)}</span>`;
  return html`<span class="due ${left < SOON_SECONDS ? "is-soon" : ""}">${span(left)} left</span>`;
}
