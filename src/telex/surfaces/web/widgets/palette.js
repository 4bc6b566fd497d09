/** Command palette: jump to agents, conversations, messages and views, run commands, or search. */

import { LitElement, html, nothing, repeat } from "../vendor/lit.js";
import { Problem, get, has, me } from "../hub.js";
import { count, number } from "../format.js";
import { address, navigate } from "../router.js";
import { stateOf } from "../states.js";
import { stylesheet } from "../view.js";
import { shownName } from "./message.js";
import { write } from "./write.js";

await stylesheet("widgets/palette.css");

const TYPING_MS = 120;
const RECENT = "telex-recent"; // in the storage of the tab
const RECENT_MAX = 5;
const WRITES_MAX = 3;
const WRITE_WORDS = /^(?:write|send)(?:\s+to)?\s+/i;

/** An option: what it is called, where it leads or what it does. */
const option = (id, mark, label, more, action) => ({ id, mark, label, more, action });
const link = (id, mark, label, more, href) => ({ id, mark, label, more, href, action: () => navigate(href) });

function commands({ views, themes: names, setTheme }) {
  const go = views
    .filter((view) => view.group || view.isCommand)
    .map((view) =>
      link(`view-${view.name}`, "→", `Go to ${view.title}`, view.key ? `g ${view.key}` : "", address(view.name)),
    );
  const themes = names.map((theme) => option(`theme-${theme}`, "◐", `Colours: ${theme}`, "", () => setTheme(theme)));
  return [
    ...go,
    ...(me.viewer ? [] : [option("write", "✎", "Write a message", "w", () => write())]),
    ...(me.operator ? [link("stop", "■", "Stop the team", "", address("shutdown"))] : []),
    ...themes,
    option("keys", "?", "Table of keys", "?", () => window.dispatchEvent(new Event("telex-keys"))),
  ];
}

class Palette extends LitElement {
  static properties = {
    words: { state: true },
    found: { state: true },
    trouble: { state: true },
    active: { state: true },
  };

  #timer = 0;

  constructor() {
    super();
    this.shell = { views: [], themes: [], setTheme: () => {} };
    this.close = () => {};
    Object.assign(this, { words: "", found: null, trouble: "", active: "" });
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.#find();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
  }

  #typed(text) {
    this.words = text;
    this.active = "";
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#find(), TYPING_MS);
  }

  async #find() {
    const { words } = this;
    const query = { words: words.replace(WRITE_WORDS, ""), utc_offset: -60 * new Date().getTimezoneOffset() };
    try {
      const found = await get("/page/find", query, has("agents", "conversations", "messages"));
      if (words !== this.words) return; // more was typed meanwhile
      this.found = found;
      this.trouble = "";
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      this.trouble = problem.message;
    }
  }

  // --- options -------------------------------------------------------------------------------------------------------

  get groups() {
    const words = this.words.trim();
    const groups = [
      { title: "Search", options: words ? [this.#search(words)] : [] },
      { title: "Recent", options: words ? [] : recent() },
      { title: "Commands", options: this.#commands(words) },
      { title: "Agents", options: this.#agents() },
      { title: "Conversations", options: this.#conversations() },
      { title: "Messages", options: this.#messages() },
    ];
    return this.#exactFirst(
      words,
      groups.filter(({ options }) => options.length),
    );
  }

  /** Enter searches for the words, unless they are exactly the name of something. */
  #exactFirst(words, groups) {
    const isExact = ({ label }) => label.toLowerCase() === words.toLowerCase();
    const exact = groups.find(({ title, options }) => title !== "Search" && options.some(isExact));
    if (!words || !exact) return groups;
    const first = { title: "Best match", options: [exact.options.find(isExact)] };
    const rest = groups.map((group) => ({
      ...group,
      options: group.options.filter((one) => one !== first.options[0]),
    }));
    return [first, ...rest.filter(({ options }) => options.length)];
  }

  #search = (words) => link("search", "⌕", `Search messages for “${words}”`, "", address("search", [], { q: words }));

  #commands(words) {
    const wanted = words.toLowerCase().split(/\s+/);
    const all = [...commands(this.shell), ...(words && !me.viewer ? this.#writes() : [])];
    if (!words) return all.filter(({ id }) => id.startsWith("view-") || id === "write");
    return all.filter(({ label }) => wanted.every((word) => label.toLowerCase().includes(word)));
  }

  #writes() {
    const agents = this.found?.agents.filter(({ name }) => name !== (me.agent ?? "human")) ?? [];
    const named = WRITE_WORDS.test(this.words) ? agents : agents.slice(0, WRITES_MAX);
    return [...named.map(({ name }) => [name, name]), ["everyone", "*"]].map(([label, to]) =>
      option(`write-${to}`, "✎", `Write to ${label}`, "", () => write({ to })),
    );
  }

  #agents() {
    if (WRITE_WORDS.test(this.words)) return [];
    return (
      this.found?.agents.map(({ name, role, state }) =>
        link(
          `agent-${name}`,
          "●",
          shownName(name),
          `${role === name ? "" : `${role}, `}${state}`,
          address("agent", [name]),
        ),
      ) ?? []
    );
  }

  #conversations() {
    if (!this.words.trim()) return [];
    return (
      this.found?.conversations.map(({ id, title, messages }) =>
        link(
          `conversation-${id}`,
          "≡",
          title || id,
          `${title ? `${id}, ` : ""}${count(messages, "message")}`,
          address("conversation", [id]),
        ),
      ) ?? []
    );
  }

  #messages() {
    return (
      this.found?.messages.map((row) =>
        link(
          `message-${row.seq}`,
          stateOf(row.state).mark,
          row.gist,
          `${shownName(row.from)} → ${shownName(row.to_label)}`,
          address("message", [row.seq]),
        ),
      ) ?? []
    );
  }

  // --- keyboard ------------------------------------------------------------------------------------------------------

  #key(event, options, active) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const index = options.indexOf(active);
      this.active = options[(index + step + options.length) % options.length]?.id ?? "";
      this.updateComplete.then(() => this.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }));
    } else if (event.key === "Enter" && active && !event.isComposing) {
      event.preventDefault();
      this.#choose(active);
    }
  }

  #choose(chosen) {
    this.close();
    chosen.action();
    if (chosen.href && chosen.id !== "search") remember(chosen);
  }

  // --- template ------------------------------------------------------------------------------------------------------

  render() {
    const { groups } = this;
    const options = groups.flatMap((group) => group.options);
    const active = options.find(({ id }) => id === this.active) ?? options[0];
    return html`<div class="palette-head"><input type="text" role="combobox" aria-label="Search or jump to" aria-expanded="true" aria-controls="palette-options"
        aria-autocomplete="list" aria-activedescendant=${active ? `option-${options.indexOf(active)}` : nothing} dir="auto"
        autocomplete="off" spellcheck="false" placeholder="Agent, conversation, words or command" .value=${this.words}
        @input=${(event) => this.#typed(event.target.value)} @keydown=${(event) => this.#key(event, options, active)}>
        <button type="button" class="ghost" aria-label="Close" @click=${() => this.close()}>✕</button></div>
      <div id="palette-options" role="listbox" aria-label="Results">${groups.map(
        (group, index) => html`<div role="group" aria-labelledby="palette-group-${index}">
          <h3 id="palette-group-${index}" role="presentation">${group.title}</h3>
          ${repeat(
            group.options,
            ({ id }) => id,
            (one) => this.#option(one, options.indexOf(one), one === active),
          )}</div>`,
      )}</div>
      <p class="palette-foot soft"><span role="status">${this.trouble || (this.words ? `${number(options.length)} results` : "")}</span>
        <span aria-hidden="true"><kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> open <kbd>Esc</kbd> close</span></p>`;
  }

  #option(one, index, isActive) {
    return html`<div role="option" id="option-${index}" aria-selected=${isActive} @click=${() => this.#choose(one)}
      @pointermove=${() => (this.active = one.id)}><i aria-hidden="true">${one.mark}</i><span class="ellipsis" dir="auto">${one.label}</span>
      <span class="soft ellipsis" dir="auto">${one.more}</span></div>`;
  }
}
customElements.define("telex-palette", Palette);

// --- recent choices ---------------------------------------------------------------------------------------------------

function recent() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(RECENT) ?? "[]");
    return kept.map(({ id, mark, label, more, href }) => link(`recent-${id}`, mark, label, more, href));
  } catch {
    return [];
  }
}

function remember({ id, mark, label, more, href }) {
  try {
    const kept = JSON.parse(sessionStorage.getItem(RECENT) ?? "[]").filter((one) => one.href !== href);
    const first = { id: id.replace(/^recent-/, ""), mark, label, more, href };
    sessionStorage.setItem(RECENT, JSON.stringify([first, ...kept].slice(0, RECENT_MAX)));
  } catch {
    // The tab's storage is full or switched off: nothing is remembered.
  }
}

/** Open the palette; a second call closes it. `shell`: {views, themes, setTheme}. */
export async function openPalette(shell) {
  const open = document.querySelector("dialog.palette[open]");
  if (open) {
    open.close();
    return;
  }
  const dialog = document.createElement("dialog");
  dialog.className = "palette";
  dialog.setAttribute("aria-label", "Search or jump to");
  const palette = new Palette();
  Object.assign(palette, { shell, close: () => dialog.close() });
  dialog.append(palette);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close()); // beside it
  document.body.append(dialog);
  dialog.showModal();
  await palette.updateComplete;
  palette.querySelector("input").focus();
}
