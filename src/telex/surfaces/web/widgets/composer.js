/** Composer: a message to one agent, a role or everyone; in a dialog, or at the foot of a view. */

import { LitElement, html, nothing } from "../vendor/lit.js";
import { get, has, isReused, me, meet, newId, post } from "../hub.js";
import { draft, dropDrafts, keepDraft } from "../drafts.js";
import { count } from "../format.js";
import { address } from "../router.js";
import { stylesheet } from "../view.js";
import { Action, notOffered } from "./action.js";

await stylesheet("widgets/composer.css");

const BUS = "telex";
const HUMAN = "human";
const STORED = "The message was sent before you changed it. Sending again sends the changed one as another message.";
let composers = 0;

/** Recipients as the hub lists them: names, roles, everyone, each with the number of agents that it wakes. */
const recipients = () => get("/page/recipients", {}, has("recipients")).then((answer) => answer.recipients);

/**
 * `<telex-composer .to=${"dev"} .replyTo=${id} .conversation=${id}>`. With `to` the recipient is given and not asked
 * for; `suggested` is one that can be changed. `placeholder`: words in the empty field. Dispatches `telex-sent` with {id, to}.
 */
class Composer extends LitElement {
  static properties = {
    to: { attribute: false },
    suggested: { attribute: false },
    replyTo: { attribute: false },
    conversation: { attribute: false },
    subject: { attribute: false }, // gist of the message that is answered
    placeholder: { attribute: false },
    dialog: { type: Boolean }, // it stands in a dialog: all of it is shown at once
    recipients: { state: true },
    recipient: { state: true }, // as typed
    text: { state: true },
    isOpen: { state: true }, // somebody came to write: all fields are shown
    isTyped: { state: true }, // the form of a message type is open
  };

  #action = new Action(this);
  #number = 0; // of this composer, for the ids of its fields
  #id = ""; // of the message; kept while it is unknown whether it was sent
  #item = "";
  /** @type {any} */
  #form = null; // of the message type

  constructor() {
    super();
    composers += 1;
    this.#number = composers;
    Object.assign(this, {
      to: "",
      suggested: "",
      replyTo: "",
      conversation: "",
      subject: "",
      placeholder: "",
      dialog: false,
    });
    this.recipient = this.text = "";
    this.isOpen = this.isTyped = false;
    /** @type {any[] | null} */
    this.recipients = null;
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    meet().then(
      () => this.requestUpdate(),
      () => {},
    );
    if (this.dialog) this.#load();
  }

  willUpdate(changed) {
    if (!changed.has("to") && !changed.has("replyTo") && !changed.has("conversation") && this.#item) return;
    this.#item = ["write", this.to, this.replyTo, this.conversation].join(" ");
    this.text = draft(this.#item, "text");
    this.recipient = draft(this.#item, "to") || this.suggested;
    this.#id = "";
    this.#action.forget();
    this.isTyped = draft(this.#item, "typed") !== "";
    if (this.isTyped) this.#showForm();
  }

  #opened() {
    this.isOpen = true;
    this.#load();
  }

  async #load() {
    if (this.recipients) return;
    try {
      this.recipients = await recipients();
    } catch {
      this.recipients = null; // asked for again when the field has the focus again
    }
  }

  // --- recipient -----------------------------------------------------------------------------------------------------

  /** The entry of the list that was named; null for a name that is not in it. */
  get #listed() {
    const named = (this.to || this.recipient).trim().toLowerCase();
    return this.recipients?.find(({ to, label }) => [to, label].some((name) => name.toLowerCase() === named)) ?? null;
  }

  get address() {
    return this.to || (this.#listed?.to ?? this.recipient.trim());
  }

  #wakes() {
    const listed = this.#listed;
    if (!this.address || !this.recipients) return nothing;
    return listed ? `wakes ${count(listed.wakes, "agent")}` : "not in the team";
  }

  // --- send ----------------------------------------------------------------------------------------------------------

  async #send(event) {
    event?.preventDefault();
    if (!this.address || (!this.text.trim() && !this.isTyped)) return;
    if (this.isTyped && !this.#form) return;
    this.#id ||= newId();
    const message = this.isTyped ? await this.#form.message(this.#id) : { raw: this.text, id: this.#id };
    if (!message) return;
    const { raw, id, sender } = message;
    const query = {
      sender: sender ?? me.agent ?? HUMAN,
      to: this.address,
      id,
      reply_to: this.replyTo,
      correlation: this.conversation,
    };
    const done = await this.#action.run(
      () => post("/send", raw, query, has("id", "to")),
      (receipt) => this.#sent(receipt),
    );
    if (done) this.#cleared();
    else if (!this.#action.isUncertain) this.#id = "";
  }

  #sent({ id, to }) {
    this.dispatchEvent(new CustomEvent("telex-sent", { detail: { id, to }, bubbles: true }));
    const names = to.length === 1 ? to[0] : count(to.length, "inbox", "inboxes");
    return html`Sent to ${names}. <a href=${address("search", [], { q: `id:${id}` })}>Show it</a>`;
  }

  #cleared() {
    dropDrafts(this.#item);
    this.#id = "";
    this.text = "";
    this.recipient = this.suggested;
    this.#form?.clear();
  }

  #typed(field, value) {
    this[field] = value;
    keepDraft(this.#item, field === "text" ? "text" : "to", value);
  }

  #key(event) {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.stopPropagation();
    this.#send();
  }

  // --- message types -------------------------------------------------------------------------------------------------

  async #open(event) {
    this.isTyped = event.target.checked;
    if (this.isTyped) await this.#showForm();
    else keepDraft(this.#item, "typed", "");
  }

  async #showForm() {
    await import("./typed_message.js");
    this.requestUpdate();
    await this.updateComplete;
    this.#form = this.querySelector("telex-typed-message");
  }

  // --- templates -----------------------------------------------------------------------------------------------------

  /** Where typing begins: the recipient if none is given. */
  async focus() {
    this.isOpen = true;
    await this.updateComplete;
    this.querySelector(this.address ? "textarea, select" : "input")?.focus();
  }

  render() {
    if (me.viewer) return this.dialog ? notOffered("A person or an agent writes messages.") : nothing;
    if (this.to === BUS) return html`<p class="soft">Messages of the bus itself cannot be answered.</p>`;
    return html`<form class="composer ${this.#isFolded ? "is-folded" : ""}" aria-label=${this.#label()} @submit=${this.#send}
      @keydown=${this.#key} @focusin=${this.#opened} novalidate>
      ${this.subject ? html`<p class="soft ellipsis" dir="auto">In answer to: ${this.subject}</p>` : nothing}
      ${this.to ? nothing : this.#to()}
      ${this.isTyped ? this.#typedMessage() : this.#text()}
      ${this.#foot()}
      ${isReused(this.#action.problem) ? html`<p class="notice is-waiting" role="alert">${STORED}</p>` : this.#action.notice()}
    </form>`;
  }

  /** At the foot of a view nothing but the field is shown until somebody writes. */
  get #isFolded() {
    return !this.dialog && !this.isOpen && !this.text && this.recipient === this.suggested && !this.isTyped;
  }

  #label() {
    return this.to ? `Message to ${this.to}` : "New message";
  }

  #to() {
    const [input, list] = [`to-${this.#number}`, `recipients-${this.#number}`];
    return html`<div class="composer-to"><label for=${input}>To</label>
      <input id=${input} name="to" list=${list} .value=${this.recipient} autocomplete="off" spellcheck="false" dir="auto"
        placeholder="an agent, a role or everyone" @input=${(event) => this.#typed("recipient", event.target.value)}>
      <datalist id=${list}>${this.recipients?.map(({ label, wakes }) => html`<option value=${label}>wakes ${count(wakes, "agent")}</option>`)}</datalist>
      </div>`;
  }

  #text() {
    const name = this.address ? (this.#listed?.label ?? this.address) : "";
    return html`<textarea name="text" rows=${this.dialog ? 5 : 2} dir="auto" aria-label="Message" .value=${this.text}
      placeholder=${this.placeholder || (name ? `Message to ${name}` : "Message")}
      @input=${(event) => this.#typed("text", event.target.value)}></textarea>`;
  }

  #typedMessage() {
    return html`<telex-typed-message .item=${this.#item} .to=${this.address} .recipients=${this.recipients ?? []}></telex-typed-message>`;
  }

  #foot() {
    const isEmpty = !this.address || (!this.isTyped && !this.text.trim());
    return html`<div class="composer-foot">
      <label class="check"><input type="checkbox" name="typed" .checked=${this.isTyped} @change=${this.#open}> as a typed message</label>
      <span class="soft wakes" role="status">${this.#wakes()}</span>
      <button class="primary" ?disabled=${isEmpty || this.#action.isBusy}>Send <kbd aria-hidden="true">Ctrl Enter</kbd></button></div>`;
  }
}
customElements.define("telex-composer", Composer);

/** The composer in a dialog, which stays open after sending and says what came of it. */
export async function openComposer({ to = "", reply_to = "", conversation = "", subject = "", suggested = "" } = {}) {
  if (document.querySelector("dialog.write[open]")) return;
  const dialog = document.createElement("dialog");
  dialog.className = "write";
  dialog.setAttribute("aria-label", to ? `Write to ${to}` : "Write a message");
  const composer = new Composer();
  Object.assign(composer, { dialog: true, to, replyTo: reply_to, conversation, subject, suggested });
  dialog.append(composerHead(dialog, to), composer);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target?.closest("a[href]") && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  await composer.updateComplete;
  composer.focus();
}

function composerHead(dialog, to) {
  const head = document.createElement("header");
  head.className = "write-head";
  const title = document.createElement("h2");
  title.textContent = to ? `Write to ${to}` : "Write";
  const close = document.createElement("button");
  close.type = "button";
  close.className = "ghost";
  close.textContent = "Close";
  close.addEventListener("click", () => dialog.close());
  head.append(title, close);
  return head;
}
