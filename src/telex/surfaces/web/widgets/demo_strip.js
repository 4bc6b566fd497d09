/** Strip above the views of a demo: which act is playing, and what a visitor can do now. */

import { LitElement, html, nothing } from "../vendor/lit.js";
import { get, has, hubNow, live } from "../hub.js";
import { span } from "../format.js";
import { address } from "../router.js";

const POLL_MS = 3000;

class DemoStrip extends LitElement {
  static properties = {
    needs: { attribute: false }, // how much needs the person: the demo takes a while to see that it was answered
    act: { state: true },
  };

  #timer = 0;

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.#ask();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
  }

  async #ask() {
    if (live.state !== "resting") {
      const answer = await get("/page/demo", {}, has("act")).catch(() => null);
      if (answer) this.act = answer.act;
    }
    if (!this.isConnected) return;
    this.requestUpdate();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), POLL_MS);
  }

  render() {
    if (!this.act) return nothing;
    const { number, acts, title, says, visitor, until } = this.act;
    const left = until === null ? null : until - hubNow();
    return html`<section class="demo" aria-label="Demo">
      <p><b>Act ${number} of ${acts}: ${title}</b> <span>${says}</span></p>
      ${
        visitor && this.needs !== 0
          ? html`<p class="demo-visitor" role="status"><a href=${address("needs")}>${visitor}</a>
        ${left === null || left < 1 ? nothing : html`<span class="soft">The team goes on in ${span(left)}.</span>`}</p>`
          : nothing
      }</section>`;
  }
}
customElements.define("telex-demo-strip", DemoStrip);
