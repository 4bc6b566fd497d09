// How does a person say something in the words of a dialect? A form made from the type, checked while it is filled in.

import { html, nothing } from "./vendor/lit.js";
import { get, has, isReused, me, newId, post } from "./hub.js";
import { at, go, register } from "./view.js";
import { count, finding, heading } from "./parts.js";
import { Form, begun, pruned } from "./compose_form.js";
import { DoingView } from "./work_parts.js";

const CHECKED_MS = 350; // after the last letter
const PERSON = "human";

class Compose extends DoingView {
  static properties = {
    ...DoingView.properties,
    dialects: { state: true },
    members: { state: true },
    tree: { state: true },
    body: { state: true },
    checked: { state: true },
    tried: { state: true },
    reused: { state: true },
  };

  #timer = 0;
  #turn = 0;
  #made = ""; // which form the tree is of
  #at = ""; // when the draft was first sent: sent again, it has the same bytes and is stored once

  constructor() {
    super();
    this.tree = {};
    this.body = "";
    this.checked = null;
    this.tried = false;
    this.touched = new Set();
  }

  async load() {
    if (!this.dialects) [this.dialects, this.members] = await Promise.all([get("/page/dialects"), get("/roster")]);
    const made = JSON.stringify([this.dialect?.name, this.type?.name]);
    if (made !== this.#made) this.#begin(made);
    else this.#check();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
  }

  // --- what was chosen: it stands in the address, so that a half-made message can be linked to ------------------------

  get sender() {
    return me.operator ? this.place.query.sender || PERSON : me.agent; // a token speaks under its own name only
  }

  get role() {
    return this.members?.find(({ member }) => member.name === this.sender)?.member.role || (me.operator ? this.sender : me.role);
  }

  get to() {
    return this.place.query.to || "";
  }

  get dialect() {
    return this.dialects?.find((one) => one.name === this.place.query.dialect) || null; // null: plain text
  }

  get types() {
    return this.dialect ? this.#sayable(this.dialect) : [];
  }

  get type() {
    return this.types.find((one) => one.name === this.place.query.type) || this.types[0] || null;
  }

  /** The types that the sender's role may send. */
  #sayable(dialect) {
    return dialect.types.filter((one) => one.senders.includes("*") || one.senders.includes(this.role));
  }

  #choose(change) {
    go(at("compose", [], { ...this.place.query, ...change }), { replace: true });
  }

  // --- the message ----------------------------------------------------------------------------------------------------

  #begin(made, tree = this.type ? begun(this.dialect, this.type) : {}) {
    this.#made = made;
    this.tree = tree;
    this.body = "";
    this.checked = null;
    this.tried = false;
    this.touched = new Set();
  }

  #changed(tree, path) {
    this.tree = tree;
    this.touched.add(path);
    this.#check();
  }

  #whole() {
    const { wire, addresses } = this.dialect;
    const known = {
      [wire.id]: this.tree[wire.id] || this.newId,
      [wire.timestamp]: this.#at || new Date().toISOString(),
      [wire.sender]: addresses === "names" ? this.sender : this.role,
      [wire.recipient]: this.#recipient(),
    };
    const names = new Set(this.type.fields.map((field) => field.name));
    const signed = Object.fromEntries(Object.entries(known).filter(([name, value]) => names.has(name) && value));
    return pruned({ type: this.type.name, ...this.tree, ...signed });
  }

  #recipient() {
    if (this.dialect.addresses === "names") return this.to;
    return this.members?.find(({ member }) => member.name === this.to)?.member.role || this.to.replace(/^(role|all):/, "");
  }

  /** The message as it goes over the wire. Front matter is written by the hub. */
  async #raw() {
    if (!this.type) return this.body;
    const tree = this.#whole();
    if (this.dialect.form === "json") return JSON.stringify(tree, null, 2);
    const written = { dialect: this.dialect.name, tree, body: this.body };
    return (await post("/page/write", written, {}, has("raw"))).raw;
  }

  #check() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(async () => {
      const turn = ++this.#turn;
      if (!this.type && !this.body.trim()) return;
      try {
        const query = { sender: this.sender, to: this.to, dialect: this.dialect?.name };
        const checked = await post("/check", await this.#raw(), query, has("valid", "findings"));
        if (turn === this.#turn) this.checked = checked;
      } catch (problem) {
        if (turn === this.#turn) this.checked = problem.body?.findings ? problem.body : null;
      }
    }, CHECKED_MS);
  }

  async #send(event) {
    event.preventDefault();
    this.tried = true;
    this.#at ||= new Date().toISOString();
    const id = this.type && this.dialect.wire.id in this.#whole() ? undefined : this.newId; // or the message has it
    const { reply_to, correlation } = this.place.query;
    const query = { sender: this.sender, to: this.to, id, reply_to, correlation };
    const sent = async () => {
      const receipt = await post("/send", await this.#raw(), query, has("id", "to"));
      const [story] = await get(`/messages/${encodeURIComponent(receipt.id)}`).catch(() => []);
      return { receipt, seq: story?.message.seq };
    };
    const done = await this.doing("send", sent, ({ receipt, seq }) =>
      html`Stored for ${receipt.to.join(", ")}. ${seq ? html`<a href=${at("message", [String(seq)])}>Show its history</a>` : nothing}`);
    const problem = this.wrong.send;
    if (problem && (!problem.status || problem.status >= 500)) return; // it may be stored: id and time are kept
    this.#at = "";
    this.reused = isReused(problem);
    if (done || this.reused) this.newId = newId();
    if (done) this.#begin(this.#made);
  }

  // --- the form -------------------------------------------------------------------------------------------------------

  content() {
    this.newId ||= newId();
    const form = this.type ? new Form(this.type, this.dialect, this.tree, this.checked?.findings || [], this.tried ? null : this.touched, (tree, path) => this.#changed(tree, path)) : null;
    const fields = form ? form.fields() : nothing;
    return html`
      ${heading("Compose", "Send a message to an agent or to all. Findings appear while you write.")}
      ${this.outcome()}
      <form class="stack compose" @submit=${this.#send} novalidate>
        ${this.#choices()}
        ${this.type
          ? html`<section class="card stack" aria-labelledby="fields"><div class="asked-head"><h2 id="fields">${this.type.name}</h2>
              <button type="button" class="small" @click=${() => this.#example()}>Fill in the example</button></div>
              <p class="quiet">${this.type.purpose}</p>${fields}</section>`
          : nothing}
        ${!this.type || this.dialect.form !== "json" ? this.#body() : nothing}
        ${this.#verdict(form)}
        ${this.reused
          ? html`<p role="alert" class="notice warn">This message was stored before you changed it. Send stores the changed one as another message.</p>`
          : this.trouble("send")}
        <p class="actions"><button class="primary" ?disabled=${Boolean(this.busy) || !this.to}>Send</button>
          ${this.to ? nothing : html`<span class="quiet">Choose a recipient first.</span>`}</p>
      </form>`;
  }

  #choices() {
    const named = (name) => html`<option value=${name}></option>`;
    return html`<section class="card compose-choices">
      <datalist id="senders">${this.members.map(({ member }) => named(member.name))}</datalist>
      <datalist id="receivers">${[...this.members.map(({ member }) => member.name), "*"].map(named)}</datalist>
      <label class="field"><span>From</span><input list="senders" .value=${this.sender} ?disabled=${!me.operator} @change=${(event) => this.#choose({ sender: event.target.value.trim(), type: "" })} /></label>
      <label class="field"><span>To</span><input list="receivers" .value=${this.to} placeholder="lead, role:qa, all:dev or *" @change=${(event) => this.#choose({ to: event.target.value.trim() })} /></label>
      <label class="field"><span>Dialect</span><select name="dialect" @change=${(event) => this.#choose({ dialect: event.target.value, type: "" })}>
        <option value="" ?selected=${!this.dialect}>plain text</option>
        ${this.dialects.map((one) => html`<option value=${one.name} ?selected=${one === this.dialect} ?disabled=${!this.#sayable(one).length}>${one.name}</option>`)}</select></label>
      ${this.dialect
        ? html`<label class="field"><span>Type</span><select name="type" @change=${(event) => this.#choose({ type: event.target.value })} ?disabled=${!this.types.length}>
            ${this.types.map((one) => html`<option value=${one.name} ?selected=${one === this.type}>${one.name}</option>`)}</select>
            ${this.types.length ? nothing : html`<span class="hint">${this.role} may send nothing in this dialect.</span>`}</label>`
        : nothing}
    </section>`;
  }

  #body() {
    const sections = this.type?.sections || [];
    return html`<section class="card"><label class="field"><span>${this.type ? "Body, in markdown" : "Message text"}</span>
      <textarea name="body" rows="6" .value=${this.body} @input=${(event) => ((this.body = event.target.value), this.#check())}></textarea>
      ${sections.length ? html`<span class="hint">Expected headings: ${sections.join(", ")}</span>` : nothing}</label></section>`;
  }

  #example() {
    const made = structuredClone(this.type.example);
    delete made.type;
    if (this.dialect.wire.id) delete made[this.dialect.wire.id];
    this.tree = made;
    this.body = this.type.body_example;
    this.#check();
  }

  #verdict(form) {
    if (!this.checked) return html`<div role="status" class="visually-hidden"></div>`;
    const { valid, findings } = this.checked;
    const rest = findings.filter((one) => !form?.shown.has(one) && !form?.hidden.has(one));
    const open = form ? form.hidden.size : 0;
    return html`<div role="status" class="notice ${valid ? "good" : "warn"}">
      <p><strong>${valid ? "This would be accepted." : open ? `${count(open, "field")} still to fill in.` : "This would be refused."}</strong></p>
      ${rest.length ? html`<ul class="findings">${rest.map(finding)}</ul>` : nothing}</div>`;
  }
}
register({ name: "compose", title: "Compose", group: "now", tag: "telex-compose", view: Compose });
