// How does a type's definition become a form? One input for each field, by its kind, with what was found beside it.

import { html, live, nothing } from "./vendor/lit.js";
import { finding } from "./parts.js";
import { lines, spaced } from "./work_parts.js";

const LONG = 40; // an example longer than this asks for more than one line
const MISSING = "field-missing";

/** A new message of the type: what can only be one thing is that. */
export function begun(dialect, type) {
  const fill = (fields) => Object.fromEntries(fields.filter((field) => field.name !== "type").map((field) => [field.name, first(field)]).filter(([, value]) => value !== undefined));
  const first = (field) => {
    if (field.kind === "choice" && field.required && field.values.length === 1) return field.values[0];
    if (field.kind === "text" && field.required && field.may_be_empty) return "";
    if (field.kind === "list" && field.required) return [];
    if (field.kind === "group") return fill(field.fields);
    return undefined;
  };
  return fill(type.fields);
}

/** The message without what was left out; an object that has nothing in it stays where it must be there. */
export function pruned(value) {
  if (Array.isArray(value)) return value.map(pruned);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined).map(([name, one]) => [name, pruned(one)]));
}

function put(tree, [name, ...rest], value) {
  const copy = Array.isArray(tree) ? [...tree] : { ...tree };
  copy[name] = rest.length ? put(copy[name] ?? (typeof rest[0] === "number" ? [] : {}), rest, value) : value;
  return copy;
}

const found = (tree, path) => path.reduce((inner, name) => inner?.[name], tree);
const written = (path) => path.reduce((text, name) => (typeof name === "number" ? `${text}[${name}]` : `${text}.${name}`), "$");

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text; // half typed: the check says what is wrong with it
  }
}

export class Form {
  shown = new Set(); // findings that stand beside a field
  hidden = new Set(); // those of fields that nobody has come to yet

  /** `touched`: the paths that were typed into, null once everything is to be said. */
  constructor(type, dialect, tree, findings, touched, changed) {
    Object.assign(this, { type, tree, all: findings, touched, changed });
    const { id, timestamp, sender, recipient } = dialect.wire;
    this.known = new Set(["type", id, timestamp, sender, recipient]); // filled in by itself
    for (const { name, kind, required, values } of type.fields) if (kind === "choice" && required && values.length === 1) this.known.add(name);
  }

  fields() {
    const open = this.type.fields.filter((field) => !this.known.has(field.name));
    return open.map((field) => this.#field(field, [field.name]));
  }

  #set(path, value) {
    this.changed(put(this.tree, path, value), written(path));
  }

  /** What was found here, or, for one input that holds a whole list or object, anywhere within. */
  #findings(path, within) {
    const here = written(path);
    const mine = this.all.filter((one) => one.path === here || (within && (one.path.startsWith(`${here}[`) || one.path.startsWith(`${here}.`))));
    const quiet = mine.filter((one) => this.touched && !this.touched.has(here) && one.code === MISSING);
    quiet.forEach((one) => this.hidden.add(one));
    const said = mine.filter((one) => !quiet.includes(one));
    said.forEach((one) => this.shown.add(one));
    return said;
  }

  #field(field, path) {
    const label = html`${spaced(field.name)}${field.required ? nothing : html` <span class="quiet">(optional)</span>`}`;
    if (field.kind === "group") return this.#group(field, path, label);
    if (field.kind === "list" && !["text", "choice"].includes(field.item.kind)) return this.#items(field, path, label);
    const said = this.#findings(path, true);
    const wrong = said.some((one) => one.severity === "refusal");
    return html`<label class="field ${wrong ? "wrong" : ""}"><span>${label}</span>
      ${this.#input(field, path, wrong)}
      ${field.meaning ? html`<span class="hint">${field.meaning}</span>` : nothing}
      ${said.length ? html`<ul class="findings">${said.map(finding)}</ul>` : nothing}</label>`;
  }

  #group(field, path, label) {
    const said = this.#findings(path, false);
    return html`<fieldset class="stack"><legend>${label}</legend>
      ${said.length ? html`<ul class="findings">${said.map(finding)}</ul>` : nothing}
      ${field.fields.map((one) => this.#field(one, [...path, one.name]))}</fieldset>`;
  }

  #items(field, path, label) {
    const items = found(this.tree, path);
    const rows = Array.isArray(items) ? items : [];
    const said = this.#findings(path, false);
    const remove = (number) => this.#set(path, rows.filter((_, other) => other !== number));
    return html`<fieldset class="stack"><legend>${label}</legend>
      ${said.length ? html`<ul class="findings">${said.map(finding)}</ul>` : nothing}
      ${rows.map((_, number) => html`<div class="item">
        ${this.#field({ ...field.item, name: `${number + 1}`, required: true }, [...path, number])}
        <button type="button" class="small" @click=${() => remove(number)}>Remove</button></div>`)}
      <p><button type="button" class="small" @click=${() => this.#set(path, [...rows, field.item.kind === "group" ? {} : ""])}>Add an item</button></p></fieldset>`;
  }

  #input(field, path, wrong) {
    const value = found(this.tree, path);
    const set = (text) => this.#set(path, text);
    const example = found(this.type.example, path);
    const invalid = wrong ? "true" : nothing;
    switch (field.kind) {
      case "choice":
        return this.#select(field.values.map((one) => [one, one]), value, set, invalid);
      case "boolean":
        return this.#select([["true", "yes"], ["false", "no"]], value === undefined ? undefined : String(value), (text) => set(text === "" ? undefined : text === "true"), invalid);
      case "integer":
      case "number":
        return html`<input type="number" step=${field.kind === "integer" ? "1" : "any"} min=${field.minimum ?? nothing} max=${field.maximum ?? nothing} aria-invalid=${invalid}
          placeholder=${hint(example)} .value=${live(value ?? "")} @input=${(event) => set(event.target.value === "" ? undefined : Number(event.target.value))} />`;
      case "list":
        return html`<textarea rows="3" aria-invalid=${invalid} placeholder=${Array.isArray(example) && example.length ? hint(example.join("\n")) : "one per line"}
          .value=${live(Array.isArray(value) ? value.join("\n") : (value ?? ""))} @change=${(event) => set(listed(event.target.value, field.required))}></textarea>`;
      case "map":
      case "any":
        return html`<textarea class="mono" rows="3" aria-invalid=${invalid} placeholder=${example === undefined ? "JSON" : hint(JSON.stringify(example))}
          .value=${live(value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value, null, 1))}
          @change=${(event) => set(event.target.value.trim() ? parsed(event.target.value) : undefined)}></textarea>`;
      default:
        return this.#text(field, value, set, example, invalid);
    }
  }

  #text(field, value, set, example, invalid) {
    const typed = (event) => set(event.target.value || (field.required && field.may_be_empty ? "" : undefined));
    const placeholder = hint(example);
    return placeholder.length > LONG
      ? html`<textarea rows="2" aria-invalid=${invalid} placeholder=${placeholder} .value=${live(value ?? "")} @input=${typed}></textarea>`
      : html`<input aria-invalid=${invalid} placeholder=${placeholder} maxlength=${field.maximum ?? nothing} .value=${live(value ?? "")} @input=${typed} />`;
  }

  #select(choices, value, set, invalid) {
    return html`<select aria-invalid=${invalid} @change=${(event) => set(event.target.value || undefined)}>
      <option value="" ?selected=${value === undefined}></option>
      ${choices.map(([one, words]) => html`<option value=${one} ?selected=${one === value}>${words}</option>`)}</select>`;
  }
}

const hint = (example) => (example === undefined ? "" : `e.g. ${example}`);

const listed = (text, required) => {
  const all = lines(text);
  return all.length || required ? all : undefined; // a list that must be there may well be empty
};
