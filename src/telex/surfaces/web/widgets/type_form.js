/** Form of a message type: one input for each field, by its kind, with its findings beside it. */

import { html, live, nothing } from "../vendor/lit.js";
import { finding } from "./notice.js";

const LONG = 40; // an example longer than this asks for more than one line
const MISSING = "field-missing";

/** A new message of the type, with what can have one value only. */
export function newTree(type) {
  const fill = (fields) =>
    Object.fromEntries(
      fields
        .filter(({ name }) => name !== "type")
        .map((field) => [field.name, onlyValue(field)])
        .filter(([, value]) => value !== undefined),
    );
  const onlyValue = (field) => {
    if (field.kind === "choice" && field.required && field.values.length === 1) return field.values[0];
    if (field.kind === "text" && field.required && field.may_be_empty) return "";
    if (field.kind === "list" && field.required) return [];
    return field.kind === "group" ? fill(field.fields) : undefined;
  };
  return fill(type.fields);
}

/** The message without fields that were left out. */
export function withoutGaps(value) {
  if (Array.isArray(value)) return value.map(withoutGaps);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([name, inner]) => [name, withoutGaps(inner)]),
  );
}

/** @param {any[]} path */
function withValue(tree, path, value) {
  const [name, ...rest] = path;
  const copy = Array.isArray(tree) ? [...tree] : { ...tree };
  copy[name] = rest.length ? withValue(copy[name] ?? (typeof rest[0] === "number" ? [] : {}), rest, value) : value;
  return copy;
}

const valueAt = (tree, path) => path.reduce((inner, name) => inner?.[name], tree);
const pathText = (path) =>
  path.reduce((text, name) => (typeof name === "number" ? `${text}[${name}]` : `${text}.${name}`), "$");
const spaced = (name) =>
  name.replaceAll("_", " ").replace(/([a-z])([A-Z])/g, (_, before, after) => `${before} ${after.toLowerCase()}`);
const lines = (text) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
const hint = (example) => (example === undefined ? "" : `e.g. ${example}`);

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text; // half typed: the check says what is wrong with it
  }
}

export class TypeForm {
  shown = new Set(); // findings beside a field
  hidden = new Set(); // findings of fields that nobody has typed into yet

  /** `touched`: paths that were typed into, null to show all; `changed(tree, path)`: after each change. */
  constructor(type, dialect, tree, { findings, touched, changed }) {
    this.type = type;
    this.tree = tree;
    this.findings = findings;
    this.touched = touched;
    this.changed = changed;
    const { id, timestamp, sender, recipient } = dialect.wire;
    const fixed = type.fields.filter(
      ({ kind, required, values }) => kind === "choice" && required && values.length === 1,
    );
    this.envelope = new Set(["type", id, timestamp, sender, recipient, ...fixed.map(({ name }) => name)]);
  }

  fields() {
    return this.type.fields
      .filter(({ name }) => !this.envelope.has(name))
      .map((field) => this.#field(field, [field.name]));
  }

  #set(path, value) {
    this.changed(withValue(this.tree, path, value), pathText(path));
  }

  /** Findings of this path; `within`: also those of what one input holds as a whole. */
  #found(path, within) {
    const here = pathText(path);
    const own = this.findings.filter(
      (one) => one.path === here || (within && [`${here}[`, `${here}.`].some((start) => one.path.startsWith(start))),
    );
    const isQuiet = (one) => this.touched && !this.touched.has(here) && one.code === MISSING;
    for (const one of own) (isQuiet(one) ? this.hidden : this.shown).add(one);
    return own.filter((one) => !isQuiet(one));
  }

  #field(field, path) {
    const label = html`${spaced(field.name)}${field.required ? nothing : html` <span class="soft">(optional)</span>`}`;
    if (field.kind === "group") return this.#group(field, path, label);
    if (field.kind === "list" && !["text", "choice"].includes(field.item.kind)) return this.#items(field, path, label);
    const found = this.#found(path, true);
    const isWrong = found.some(({ severity }) => severity === "refusal");
    return html`<label class="field ${isWrong ? "is-wrong" : ""}"><span>${label}</span>
      ${this.#input(field, path, isWrong ? "true" : nothing)}
      ${field.meaning ? html`<span class="soft">${field.meaning}</span>` : nothing} ${listOf(found)}</label>`;
  }

  #group(field, path, label) {
    const found = this.#found(path, false);
    return html`<fieldset><legend>${label}</legend>${listOf(found)}
      ${field.fields.map((inner) => this.#field(inner, [...path, inner.name]))}</fieldset>`;
  }

  #items(field, path, label) {
    const value = valueAt(this.tree, path);
    const items = Array.isArray(value) ? value : [];
    const found = this.#found(path, false);
    const remove = (index) =>
      this.#set(
        path,
        items.filter((_, other) => other !== index),
      );
    return html`<fieldset><legend>${label}</legend>${listOf(found)}
      ${items.map(
        (
          _,
          index,
        ) => html`<div class="item">${this.#field({ ...field.item, name: `${index + 1}`, required: true }, [...path, index])}
          <button type="button" class="small" @click=${() => remove(index)}>Remove</button></div>`,
      )}
      <p><button type="button" class="small" @click=${() => this.#set(path, [...items, field.item.kind === "group" ? {} : ""])}>Add an item</button></p></fieldset>`;
  }

  #input(field, path, invalid) {
    const value = valueAt(this.tree, path);
    const set = (next) => this.#set(path, next);
    const input = { example: valueAt(this.type.example, path), value, set, invalid };
    if (field.kind === "choice")
      return select(
        field.values.map((one) => [one, one]),
        input,
      );
    if (field.kind === "boolean") return yesNo(input);
    if (field.kind === "integer" || field.kind === "number") return figure(field, input);
    if (field.kind === "list") return textList(field, input);
    return field.kind === "map" || field.kind === "any" ? json(input) : text(field, input);
  }
}

const listOf = (found) => (found.length ? html`<ul class="findings">${found.map(finding)}</ul>` : nothing);

const select = (
  choices,
  { value, set, invalid },
) => html`<select aria-invalid=${invalid} @change=${(event) => set(event.target.value || undefined)}>
  <option value="" ?selected=${value === undefined}></option>
  ${choices.map(([one, words]) => html`<option value=${one} ?selected=${one === value}>${words}</option>`)}</select>`;

const yesNo = ({ value, set, invalid }) =>
  select(
    [
      ["true", "yes"],
      ["false", "no"],
    ],
    {
      value: value === undefined ? undefined : String(value),
      set: (chosen) => set(chosen === undefined ? undefined : chosen === "true"),
      invalid,
    },
  );

const figure = (
  field,
  { example, value, set, invalid },
) => html`<input type="number" step=${field.kind === "integer" ? "1" : "any"}
  min=${field.minimum ?? nothing} max=${field.maximum ?? nothing} aria-invalid=${invalid} placeholder=${hint(example)} .value=${live(value ?? "")}
  @input=${(event) => set(event.target.value === "" ? undefined : Number(event.target.value))}>`;

const textList = (field, { example, value, set, invalid }) => html`<textarea rows="3" aria-invalid=${invalid}
  placeholder=${Array.isArray(example) && example.length ? hint(example.join("\n")) : "one per line"}
  .value=${live(Array.isArray(value) ? value.join("\n") : (value ?? ""))}
  @change=${(event) => {
    const all = lines(event.target.value);
    set(all.length || field.required ? all : undefined); // a required list may be empty
  }}></textarea>`;

const json = ({ example, value, set, invalid }) => html`<textarea class="mono" rows="3" aria-invalid=${invalid}
  placeholder=${example === undefined ? "JSON" : hint(JSON.stringify(example))}
  .value=${live(value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value, null, 1))}
  @change=${(event) => set(event.target.value.trim() ? parsed(event.target.value) : undefined)}></textarea>`;

function text(field, { example, value, set, invalid }) {
  const typed = (event) => set(event.target.value || (field.required && field.may_be_empty ? "" : undefined));
  const placeholder = hint(example);
  return placeholder.length > LONG
    ? html`<textarea rows="2" dir="auto" aria-invalid=${invalid} placeholder=${placeholder} .value=${live(value ?? "")} @input=${typed}></textarea>`
    : html`<input dir="auto" aria-invalid=${invalid} placeholder=${placeholder} maxlength=${field.maximum ?? nothing} .value=${live(value ?? "")} @input=${typed}>`;
}
