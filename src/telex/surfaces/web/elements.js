// Which small elements keep themselves up to date? A moment that grows older, and a text that can be copied.

import { LitElement, html } from "./vendor/lit.js";

const clocks = new Set();
setInterval(() => clocks.forEach((clock) => clock.requestUpdate()), 10_000);

/** "3 min ago" or "in 2 h". */
export function relative(seconds, now = Date.now() / 1000) {
  const off = Math.abs(now - seconds);
  const [amount, unit] =
    off < 10
      ? [0, ""]
      : off < 60
        ? [off, "s"]
        : off < 3600
          ? [off / 60, "min"]
          : off < 172_800
            ? [off / 3600, "h"]
            : [off / 86_400, "d"];
  if (!unit) return "now";
  const text = `${Math.floor(amount)} ${unit}`;
  return seconds > now ? `in ${text}` : `${text} ago`;
}

/** The moment to the millisecond, in the reader's own time zone. */
export const exact = (seconds) => {
  const date = new Date(seconds * 1000);
  const two = (number, width = 2) => String(number).padStart(width, "0");
  return (
    `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
    `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${two(date.getMilliseconds(), 3)}`
  );
};

/** As machines read it. */
export const standard = (seconds) => new Date(seconds * 1000).toISOString();

/** Hours, minutes and seconds of a moment. */
export const clockTime = (seconds) => exact(seconds).slice(11, 19);

class When extends LitElement {
  static properties = { at: { attribute: false } };

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    clocks.add(this);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clocks.delete(this);
  }

  render() {
    return html`<time class="when" datetime=${standard(this.at)} title=${exact(this.at)}>${relative(this.at)}</time>`;
  }
}
customElements.define("telex-when", When);

class Copy extends LitElement {
  static properties = { text: { attribute: false }, label: { attribute: false }, said: { state: true } };

  createRenderRoot() {
    return this;
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.text);
      this.said = "Copied";
    } catch {
      const range = document.createRange(); // no clipboard beyond loopback without https: mark it for the reader
      range.selectNodeContents(this.querySelector("code"));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      this.said = "Marked";
    }
    setTimeout(() => (this.said = ""), 2000);
  }

  render() {
    const label = this.label || "Copy";
    return html`<span class="copy"
      ><code>${this.text}</code
      ><button type="button" class="small" @click=${this.copy} aria-label="${this.said || label}: ${this.text}"
        >${this.said || label}</button
      ></span
    >`;
  }
}
customElements.define("telex-copy", Copy);
