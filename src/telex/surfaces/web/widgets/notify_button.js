/** Button that asks the browser to notify the person of new items. */

import { LitElement, html, nothing } from "../vendor/lit.js";
import { canNotify, isForbidden, isNotifying, startNotifying, stopNotifying } from "../notifications.js";

class NotifyButton extends LitElement {
  static properties = { isOn: { state: true } };

  constructor() {
    super();
    this.isOn = isNotifying();
  }

  createRenderRoot() {
    return this;
  }

  async #switch() {
    if (this.isOn) stopNotifying();
    else await startNotifying();
    this.isOn = isNotifying();
    this.requestUpdate();
  }

  render() {
    if (!canNotify()) return nothing; // beyond this machine a browser allows it with https only
    if (isForbidden()) return html`<span class="soft">This browser forbids notifications of this page.</span>`;
    return html`<button type="button" class="small" aria-pressed=${this.isOn ? "true" : "false"} @click=${this.#switch}
      >Notify me in the browser</button>`;
  }
}
customElements.define("telex-notify-button", NotifyButton);

export const notifyButton = () => html`<telex-notify-button></telex-notify-button>`;
