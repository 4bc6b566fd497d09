/** Typed message: choice of dialect and type, a form made from the type, checked while it is filled in. */

import { LitElement, html, nothing } from "../vendor/lit.js";
import { draft, keepDraft } from "../drafts.js";
import { get, has, me, post } from "../hub.js";
import { count } from "../format.js";
import { finding } from "./notice.js";
import { TypeForm, newTree, withoutGaps } from "./type_form.js";

const CHECK_MS = 350; // after the last key
const HUMAN = "human";
let dialects = null; // asked for once

class TypedMessage extends LitElement {
  static properties = {
    item: { attribute: false }, // of its draft
    to: { attribute: false },
    recipients: { attribute: false },
    dialects: { state: true },
    sender: { state: true },
    names: { state: true }, // [dialect, type]
    tree: { state: true },
    body: { state: true },
    checked: { state: true },
  };

  #timer = 0;
  #turn = 0;
  #at = ""; // when it was first sent: sent again it has the same bytes
  /** @type {any} */
  #touched = new Set(); // paths that were typed into; null once all findings are shown

  constructor() {
    super();
    Object.assign(this, {
      item: "",
      to: "",
      recipients: [],
      dialects: null,
      sender: me.agent ?? HUMAN,
      names: ["", ""],
    });
    Object.assign(this, { tree: {}, body: "", checked: null });
  }

  createRenderRoot() {
    return this;
  }

  async connectedCallback() {
    super.connectedCallback();
    dialects ??= get("/page/dialects");
    try {
      this.dialects = await dialects;
    } catch {
      dialects = null;
      return;
    }
    this.#restore();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
  }

  willUpdate(changed) {
    if (changed.has("item") && this.dialects) this.#restore();
    if (changed.has("to") && this.type) this.#check();
  }

  // --- choices -------------------------------------------------------------------------------------------------------

  get role() {
    if (this.sender === me.agent) return me.role;
    return this.recipients.find(({ to }) => to === this.sender)?.role ?? this.sender;
  }

  get dialect() {
    return this.#offered.find(({ name }) => name === this.names[0]) ?? this.#offered[0] ?? null;
  }

  get type() {
    const types = this.dialect ? this.#types(this.dialect) : [];
    return types.find(({ name }) => name === this.names[1]) ?? types[0] ?? null;
  }

  /** Types that the role of the sender may send. */
  #types = (dialect) => dialect.types.filter(({ senders }) => senders.includes("*") || senders.includes(this.role));

  /** Dialects in which the sender may send something. */
  get #offered() {
    return this.dialects?.filter((dialect) => this.#types(dialect).length) ?? [];
  }

  #choose(sender, names) {
    this.sender = sender;
    this.names = names;
    this.clear();
  }

  /** What was half typed, or an empty form. */
  #restore() {
    const kept = JSON.parse(draft(this.item, "typed") || "{}");
    this.#choose(kept.sender ?? me.agent ?? HUMAN, kept.names ?? ["", ""]);
    if (!kept.names) return;
    Object.assign(this, { tree: kept.tree, body: kept.body });
    this.#check();
  }

  #keep() {
    const names = [this.dialect.name, this.type.name];
    keepDraft(this.item, "typed", JSON.stringify({ sender: this.sender, names, tree: this.tree, body: this.body }));
  }

  clear() {
    this.tree = this.type ? newTree(this.type) : {};
    this.body = "";
    this.checked = null;
    this.#at = "";
    this.#touched = new Set();
  }

  #example() {
    const { type: _, ...tree } = structuredClone(this.type.example);
    delete tree[this.dialect.wire.id];
    this.tree = tree;
    this.body = this.type.body_example;
    this.#keep();
    this.#check();
  }

  // --- message -------------------------------------------------------------------------------------------------------

  /** The message as it is sent: {raw, id, sender}; `id` is undefined where the text itself has it. Null: none to send. */
  async message(id) {
    if (!this.type) return null;
    this.#touched = null;
    this.#at ||= new Date().toISOString();
    const raw = await this.#raw(id);
    return { raw, id: this.#has(this.dialect.wire.id) ? undefined : id, sender: this.sender };
  }

  #has = (field) => this.type.fields.some(({ name }) => name === field);

  #whole(id) {
    const { wire, addresses } = this.dialect;
    const envelope = {
      [wire.id]: id,
      [wire.timestamp]: this.#at || new Date().toISOString(),
      [wire.sender]: addresses === "names" ? this.sender : this.role,
      [wire.recipient]: this.#recipient(),
    };
    const filled = Object.entries(envelope).filter(([name, value]) => this.#has(name) && value);
    return withoutGaps({ type: this.type.name, ...this.tree, ...Object.fromEntries(filled) });
  }

  #recipient() {
    if (this.dialect.addresses === "names") return this.to;
    return this.recipients.find(({ to }) => to === this.to)?.role ?? this.to.replace(/^(role|all):/, "");
  }

  async #raw(id) {
    const tree = this.#whole(id);
    if (this.dialect.form === "json") return JSON.stringify(tree, null, 2);
    const written = await post("/page/write", { dialect: this.dialect.name, tree, body: this.body }, {}, has("raw"));
    return written.raw;
  }

  #check() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(async () => {
      if (!this.type) return; // the roles of the agents are not loaded yet
      const turn = ++this.#turn;
      const query = { sender: this.sender, to: this.to, dialect: this.dialect.name };
      let checked = null;
      try {
        checked = await post("/check", await this.#raw("draft"), query, has("valid", "findings"));
      } catch (problem) {
        checked = problem.body?.findings ? problem.body : null; // the hub is away: sending will say so
      }
      if (turn === this.#turn) this.checked = checked;
    }, CHECK_MS);
  }

  // --- templates -----------------------------------------------------------------------------------------------------

  render() {
    if (!this.dialects) return html`<p class="loading" role="status">Loading …</p>`;
    const form = this.type
      ? new TypeForm(this.type, this.dialect, this.tree, {
          findings: this.checked?.findings ?? [],
          touched: this.#touched,
          changed: (tree, path) => this.#changed(tree, path),
        })
      : null;
    const fields = form?.fields() ?? nothing;
    return html`<div class="typed">${this.#choices()}
      ${
        form
          ? html`<div class="typed-head"><p class="soft">${this.type.purpose}</p>
            <button type="button" class="small" @click=${this.#example}>Fill in the example</button></div>${fields}`
          : html`<p class="soft">${this.sender === HUMAN ? "You" : this.sender} may send no typed message.</p>`
      }
      ${form && this.dialect.form !== "json" ? this.#bodyField() : nothing} ${this.#verdict(form)}</div>`;
  }

  #changed(tree, path) {
    this.tree = tree;
    this.#touched?.add(path);
    this.#keep();
    this.#check();
  }

  #choices() {
    const { dialect, type } = this;
    const senders = [HUMAN, ...this.recipients.filter(({ role }) => role).map(({ to }) => to)];
    return html`<div class="typed-choices">
      ${
        me.operator
          ? html`<label class="field"><span>From</span><select name="sender" @change=${(event) => this.#choose(event.target.value, ["", ""])}>
            ${[...new Set(senders)].map((name) => html`<option value=${name} ?selected=${name === this.sender}>${name === HUMAN ? "you" : name}</option>`)}</select></label>`
          : nothing
      }
      ${
        dialect
          ? html`<label class="field"><span>Dialect</span><select name="dialect" @change=${(event) => this.#choose(this.sender, [event.target.value, ""])}>
              ${this.#offered.map(({ name }) => html`<option value=${name} ?selected=${name === dialect.name}>${name}</option>`)}</select></label>
            <label class="field"><span>Type</span><select name="type" @change=${(event) => this.#choose(this.sender, [dialect.name, event.target.value])}>
              ${this.#types(dialect).map(({ name }) => html`<option value=${name} ?selected=${name === type.name}>${name}</option>`)}</select></label>`
          : nothing
      }</div>`;
  }

  #bodyTyped(event) {
    this.body = event.target.value;
    this.#keep();
    this.#check();
  }

  #bodyField() {
    const { sections } = this.type;
    return html`<label class="field"><span>Body, in markdown</span>
      <textarea name="body" rows="6" dir="auto" .value=${this.body} @input=${this.#bodyTyped}></textarea>
      ${sections.length ? html`<span class="soft">Expected headings: ${sections.join(", ")}</span>` : nothing}</label>`;
  }

  #verdict(form) {
    if (!this.checked || !form) return html`<div role="status" class="hidden"></div>`;
    const rest = this.checked.findings.filter((one) => !form.shown.has(one) && !form.hidden.has(one));
    const words = this.checked.valid
      ? "This would be accepted."
      : form.hidden.size
        ? `${count(form.hidden.size, "field")} to fill in.`
        : "This would be refused.";
    return html`<div role="status" class="notice ${this.checked.valid ? "is-done" : "is-waiting"}"><p><strong>${words}</strong></p>
      ${rest.length ? html`<ul class="findings">${rest.map(finding)}</ul>` : nothing}</div>`;
  }
}
customElements.define("telex-typed-message", TypedMessage);
