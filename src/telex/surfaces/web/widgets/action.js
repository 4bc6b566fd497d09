/** One action of a person at a time, with what came of it. */

import { html, nothing } from "../vendor/lit.js";
import { Problem, me } from "../hub.js";
import { agentLink } from "./message.js";
import { problemNotice } from "./notice.js";

/** Belongs to an element, which is drawn again when something changes. */
export class Action {
  isBusy = false;
  outcome = nothing; // of the last one that was done
  /** @type {any} */
  problem = null; // that stopped the last one

  constructor(host) {
    this.host = host;
  }

  /** Run it unless one is running. `words` makes a sentence of the answer. True if it was done. */
  async run(request, words) {
    if (this.isBusy) return false;
    this.#set({ isBusy: true, problem: null });
    try {
      this.#set({ outcome: words(await request()) });
      return true;
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      this.#set({ problem });
      return false;
    } finally {
      this.#set({ isBusy: false });
    }
  }

  /** Is it unknown whether the last one was done? Then doing it again with the same id is harmless. */
  get isUncertain() {
    return this.problem !== null && (this.problem.status === 0 || this.problem.status >= 500);
  }

  forget() {
    this.#set({ outcome: nothing, problem: null });
  }

  #set(changes) {
    Object.assign(this, changes);
    this.host.requestUpdate();
  }

  /** The outcome, announced; the element is there while it is empty, so that what comes into it is announced. */
  notice() {
    return html`<div role="status" class=${this.outcome === nothing ? "hidden" : "notice is-done"}>${this.outcome}</div>
      ${this.problem ? problemNotice(this.problem) : nothing}`;
  }
}

/** In place of what is not offered to whoever is looking. */
export const notOffered = (words) => html`<p class="soft not-offered">${words}
  ${me.viewer ? "This page was opened with a token that may only read." : html`This page was opened with a token of ${agentLink(me.agent)}.`}</p>`;
