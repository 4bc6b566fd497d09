/** Text to copy: a command, a link, an id. */

import { LitElement, html } from "../vendor/lit.js";

const SHOWN_MS = 2000;

class CopyButton extends LitElement {
  static properties = { text: { attribute: false }, label: { attribute: false }, outcome: { state: true } };

  createRenderRoot() {
    return this;
  }

  async #copy() {
    this.outcome = (await copied(this.text)) ? "Copied" : "Not copied";
    setTimeout(() => (this.outcome = ""), SHOWN_MS);
  }

  render() {
    const label = this.label || "Copy";
    const [line] = this.text.split("\n");
    return html`<button type="button" class="copy small" aria-label="${this.outcome || label}: ${line}"
      @click=${this.#copy}>${this.outcome || label}</button>`;
  }
}
customElements.define("telex-copy-button", CopyButton);

/** Without https beyond this machine there is no clipboard: then a text area is copied from. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export const copyButton = (text, label = "Copy") =>
  html`<telex-copy-button .text=${text} .label=${label}></telex-copy-button>`;

/** A command or a file with its button. */
export const codeBlock = (text) => html`<div class="code"><pre tabindex="0">${text}</pre>${copyButton(text)}</div>`;
