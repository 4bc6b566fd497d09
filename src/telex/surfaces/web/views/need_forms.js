/** Forms of Needs you: what a decision needs of each kind of item, and the answer that the person has made so far. */

import { moment, number, span } from "../format.js";
import { draft, drafting, keepDraft } from "../drafts.js";
import { address } from "../router.js";
import { html, nothing } from "../vendor/lit.js";
import { codeBlock } from "../widgets/copy.js";
import { agentLink, shownName } from "../widgets/message.js";
import { coded, findings } from "../widgets/notice.js";

const SHOWN_MEMBERS = 5; // dead letters that are listed before the person asks for more
const QUICK_ANSWERS = ["Yes", "No", "Go on without it", "Ask me again later"];
const PATHS_FROM = {
  request: "named in the request",
  refused: "refused in its last message",
  subject: "named in the subject",
};

/** Key of an item without its revision: what an address and a draft name. */
export const baseOf = (key) => key.replace(/@\d+$/, "");

export const draftsOf = (need) => `need:${baseOf(need.key)}`;

// --- what the person has chosen and typed ----------------------------------------------------------------------------

const listed = (need, field) => JSON.parse(draft(draftsOf(need), field) || "[]");

function toggle(need, field, value, isIn) {
  const values = listed(need, field).filter((other) => other !== value);
  const changed = isIn ? [...values, value] : values;
  keepDraft(draftsOf(need), field, changed.length ? JSON.stringify(changed) : "");
}

const typed = (need, field) => draft(draftsOf(need), field).trim();

/** Paths and patterns that Allow would grant. */
export function chosenPaths(need) {
  const asked = need.paths.filter((path) => !listed(need, "off").includes(path));
  const wider = need.wider.filter((pattern) => listed(need, "on").includes(pattern));
  const other = typed(need, "path");
  return [...new Set([...asked, ...wider, ...(other ? [other] : [])])];
}

const chosenMembers = (need) => need.members.filter((member) => !listed(need, "off").includes(member.key));

/** The answer as it is sent: {keys, more}; or what is missing: {missing: name of a field, say}. */
export function answerOf(need, action) {
  const reason = typed(need, "reason");
  switch (action) {
    case "allow":
      return allowed(need, reason);
    case "reject":
      return reason ? { keys: [need.key], more: { reason } } : { missing: "reason", say: "Give a reason to reject." };
    case "answer":
      return answered(need);
    case "retry":
    case "drop":
      return settled(need, action, reason);
    default:
      return { keys: [need.key], more: { text: typed(need, "text") || need.nudge.text } };
  }
}

function allowed(need, reason) {
  const paths = chosenPaths(need);
  if (need.needs_path && !paths.length) return { missing: "path", say: "Choose or write a path to allow." };
  const conditions = typed(need, "conditions")
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  return { keys: [need.key], more: { reason, conditions, ...(need.widens ? { paths } : {}) } };
}

function answered(need) {
  const text = typed(need, "text");
  const to = typed(need, "to");
  if (!text) return { missing: "text", say: "Write the answer." };
  if (!need.answer_to && !to) return { missing: "to", say: "Name the agent that gets the answer." };
  return { keys: [need.key], more: { text, to } };
}

function settled(need, action, reason) {
  const chosen = chosenMembers(need);
  const keys = chosen.length === need.members.length ? [need.key] : chosen.map((member) => member.key);
  if (!keys.length) return { missing: "member", say: "Choose at least one message." };
  if (action === "drop" && !reason) return { missing: "reason", say: "Give a reason to drop." };
  return { keys, more: { reason } };
}

// --- parts of forms --------------------------------------------------------------------------------------------------

/**
 * The form of an item. `host`: {now, isPast, missing, problem, press(action), changed()}; `missing` is what answerOf
 * has found missing.
 */
export function needForm(need, host) {
  const own = { approval, escalation, dead, stall, wake }[need.kind];
  return html`${own(need, host)} ${host.problem ? findings(host.problem) : nothing}`;
}

/** Name of the action that Enter on the main button, or the key a, has. */
export const PRIMARY = { approval: "allow", escalation: "answer", dead: "retry", stall: "nudge" };
export const SECONDARY = { approval: "reject", dead: "drop" };

const may = (need, action) => need.actions.includes(action);

const key = (name) => html` <kbd aria-hidden="true">${name}</kbd>`;

function field(need, host, name, label, more = {}) {
  const id = `need-${name}`;
  const isMissing = host.missing?.missing === name;
  return html`<div class="field"><label for=${id}>${label}</label>
    <textarea id=${id} name=${name} rows=${more.rows ?? 2} dir="auto" placeholder=${more.placeholder ?? nothing}
      aria-invalid=${isMissing ? "true" : nothing} aria-describedby=${isMissing ? "need-missing" : nothing}
      .value=${draft(draftsOf(need), name) || (more.value ?? "")}
      @input=${(event) => {
        keepDraft(draftsOf(need), name, event.target.value);
        host.changed();
      }}></textarea>
    ${isMissing ? missing(host) : nothing}</div>`;
}

const missing = (host) => html`<p class="missing" id="need-missing" role="alert">${host.missing.say}</p>`;

function check(need, host, name, value, { isOn, flips, note = nothing }) {
  const change = (event) => {
    toggle(need, name, value, event.target.checked === flips);
    host.changed();
  };
  return html`<label class="check"><input type="checkbox" .checked=${isOn} @change=${change}>
    <code dir="auto">${value}</code> <span class="soft">${note}</span></label>`;
}

const says = (need) =>
  need.says.length
    ? html`<dl class="pair">${need.says.map(
        ([name, text]) => html`<dt>${name.replaceAll("_", " ")}</dt><dd dir="auto">${text}</dd>`,
      )}</dl>`
    : nothing;

const codes = (patterns) =>
  patterns.map((pattern, index) => html`${index ? ", " : ""}<code dir="auto">${pattern}</code>`);

const agents = (names) => names.map((name, index) => html`${index ? ", " : ""}${agentLink(name)}`);

/** Why there are no buttons, where there are none. */
function notOffered(need, host, able) {
  if (host.isPast) return html`<p class="soft">This is a past moment: it can only be looked at.</p>`;
  return need.actions.length ? nothing : html`<p class="soft">${able}</p>`;
}

// --- approvals -------------------------------------------------------------------------------------------------------

function approval(need, host) {
  const others = need.may_answer.filter((name) => name !== "human");
  return html`
    ${
      need.evidence || need.says.length
        ? html`<section class="box"><h3>Why <span dir="auto">${shownName(need.by)}</span> asks</h3>
            ${need.evidence ? html`<p dir="auto">${need.evidence}</p>` : nothing} ${says(need)}
          </section>`
        : nothing
    }
    ${need.widens && !host.isPast ? paths(need, host) : nothing}
    ${
      need.actions.length
        ? html`${field(need, host, "reason", "Reason (required to reject)", { placeholder: "It is in the answer" })}
            ${need.takes.includes("conditions") ? conditions(need, host) : nothing}
            <p class="effect">${effect(need)}</p>
            <div class="buttons">
              <button type="button" class="primary" @click=${() => host.press("allow")}>${allowWords(need)}${key("a")}</button>
              <button type="button" class="bad" @click=${() => host.press("reject")}>Reject${key("r")}</button>
              ${others.length ? html`<span class="soft">may also answer: ${agents(others)}</span>` : nothing}
            </div>`
        : notOffered(need, host, html`Only ${agents(need.may_answer)} may answer.`)
    }`;
}

function paths(need, host) {
  const { off, on } = { off: listed(need, "off"), on: listed(need, "on") };
  const isMissing = host.missing?.missing === "path";
  return html`<fieldset class="field"><legend>Paths to allow${need.allowed.length ? html` <span class="soft">beside ${codes(need.allowed)}</span>` : nothing}</legend>
    ${need.paths.map((path) =>
      check(need, host, "off", path, { isOn: !off.includes(path), flips: false, note: PATHS_FROM[need.paths_from] }),
    )}
    ${need.wider.map((pattern) =>
      check(need, host, "on", pattern, {
        isOn: on.includes(pattern),
        flips: true,
        note: pattern.endsWith("/") ? "everything in that folder" : "all such files in that folder",
      }),
    )}
    <label class="add"><span class="hidden">Another path or pattern</span>
      <input type="text" name="path" dir="auto" placeholder="another path or pattern" autocomplete="off"
        aria-invalid=${isMissing ? "true" : nothing} aria-describedby=${isMissing ? "need-missing" : nothing}
        .value=${draft(draftsOf(need), "path")}
        @input=${(event) => {
          keepDraft(draftsOf(need), "path", event.target.value);
          host.changed();
        }}></label>
    ${isMissing ? missing(host) : nothing}
  </fieldset>`;
}

const conditions = (need, host) => html`<details ?open=${Boolean(typed(need, "conditions"))}>
  <summary>Conditions</summary>
  ${field(need, host, "conditions", "Conditions, one per line", { placeholder: "They are in the answer" })}
</details>`;

/** The sentence that says what Allow does. */
function effect(need) {
  const who = html`<b dir="auto">${shownName(need.by)}</b>`;
  if (!need.widens) return html`Approve tells ${who} to go on. It gets the answer at once.`;
  const chosen = chosenPaths(need);
  const plan = need.plan ? ` under plan ${need.plan}` : "";
  if (chosen.length) return html`Allow lets ${who} write ${codes(chosen)}${plan}. It is told at once.`;
  return need.needs_path
    ? html`No path is chosen: choose one, or nothing is allowed.`
    : html`Approve allows no path. ${who} is told at once.`;
}

function allowWords(need) {
  if (!need.widens) return "Approve";
  const { length } = chosenPaths(need);
  if (!length) return need.needs_path ? "Allow" : "Approve";
  return length === 1 ? "Allow this path" : `Allow these ${length} paths`;
}

// --- escalations -----------------------------------------------------------------------------------------------------

function escalation(need, host) {
  const [last] = need.ladder.slice(-1);
  const waiter = need.answer_to ? shownName(need.answer_to) : "";
  return html`
    <section class="box"><h3>How it climbed</h3>
      <ol class="ladder">${need.ladder.map((rung, index) => {
        const next = need.ladder[index + 1];
        return html`<li>${rung === last ? html`<b dir="auto">${shownName(rung.to)}</b>` : agentLink(rung.to)}
          <span class="soft">${next ? `no answer in ${span(next.at - rung.at)}` : `since ${moment(rung.at)}`}</span></li>`;
      })}</ol>
      ${says(need)}
    </section>
    ${
      need.actions.length
        ? html`${need.answer_to ? nothing : recipient(need, host)}
            ${field(need, host, "text", waiter ? `Answer to ${waiter}` : "Answer", { rows: 3, placeholder: "Your decision" })}
            <div class="quick" role="group" aria-label="Suggested answers">${QUICK_ANSWERS.map(
              (words) =>
                html`<button type="button" class="small" @click=${() => suggest(need, host, words)}>${words}</button>`,
            )}</div>
            <div class="buttons"><button type="button" class="primary" @click=${() => host.press("answer")}
              >Send answer${key("Ctrl ⏎")}</button>
              ${waiter ? html`<span class="soft">wakes <span dir="auto">${waiter}</span></span>` : nothing}</div>`
        : notOffered(need, host, html`It is with ${agentLink(need.with)}.`)
    }`;
}

const recipient = (need, host) => html`<div class="field"><label for="need-to">To</label>
  <input id="need-to" name="to" type="text" dir="auto" autocomplete="off" placeholder="name of an agent"
    .value=${draft(draftsOf(need), "to")} @input=${drafting(draftsOf(need), "to")}>
  ${host.missing?.missing === "to" ? missing(host) : nothing}</div>`;

function suggest(need, host, words) {
  keepDraft(draftsOf(need), "text", words);
  host.changed();
  host.focus("text");
}

// --- dead letters ----------------------------------------------------------------------------------------------------

function dead(need, host) {
  const off = listed(need, "off");
  const isLong = Boolean(listed(need, "all").length);
  const shown = isLong ? need.members : need.members.slice(0, SHOWN_MEMBERS);
  const hidden = need.members.length - shown.length;
  const beyond = need.count - need.members.length;
  const chosen = chosenMembers(need).length;
  const isAll = chosen === need.members.length;
  const words = isAll ? (need.count > 1 ? `all ${number(need.count)}` : "") : `${chosen} chosen`;
  return html`
    <section class="box"><h3>${need.count > 1 ? `Same reason ${number(need.count)} times` : "Reason"}</h3>
      <p><code dir="auto">${need.reason ?? "none given"}</code></p>
      <ul class="mini">${shown.map((member) => letter(need, host, member, !off.includes(member.key)))}</ul>
      ${
        hidden
          ? html`<p><button type="button" class="ghost small" @click=${() => showAll(need, host)}
              >Show ${hidden} more</button></p>`
          : nothing
      }
      ${beyond > 0 ? html`<p class="soft">and ${number(beyond)} more${isAll ? ", all chosen" : ", not chosen"}</p>` : nothing}
      ${host.missing?.missing === "member" ? missing(host) : nothing}
    </section>
    ${
      need.actions.length
        ? html`${field(need, host, "reason", "Reason (required to drop)", { placeholder: "It is in the log" })}
            <div class="buttons">
              <button type="button" class="primary" @click=${() => host.press("retry")}>Retry ${words}${key("a")}</button>
              <button type="button" class="bad" @click=${() => host.press("drop")}>Drop ${words}${key("r")}</button>
              <span class="soft">a retry gives ${need.attempts} new attempts</span></div>`
        : notOffered(need, host, "A person retries or drops them.")
    }`;
}

function letter(need, host, member, isChosen) {
  const change = (event) => {
    toggle(need, "off", member.key, !event.target.checked);
    host.changed();
  };
  const text = html`<span class="ellipsis" dir="auto">${member.gist || "(no text)"}</span>`;
  const from = html`<span class="soft">from ${shownName(member.from)}</span>`;
  return need.actions.length
    ? html`<li><label class="check"><input type="checkbox" .checked=${isChosen} @change=${change}>${text} ${from}</label></li>`
    : html`<li class="ellipsis">${text} ${from}</li>`;
}

function showAll(need, host) {
  keepDraft(draftsOf(need), "all", "[1]");
  host.changed();
}

// --- stalls and wakes ------------------------------------------------------------------------------------------------

function stall(need, host) {
  return html`
    <section class="box"><h3>${need.circle.length ? "Who waits for whom" : "Inboxes that nobody reads"}</h3>
      ${need.circle.length ? circle(need) : inboxes(need)}
    </section>
    ${
      need.remedy
        ? html`<details><summary>Or end it by hand, in a shell</summary>${codeBlock(typedCommand(need.remedy))}</details>`
        : nothing
    }
    ${
      may(need, "nudge")
        ? html`${field(need, host, "text", `Reminder to ${shownName(need.nudge.to)}`, { value: need.nudge.text })}
            <div class="buttons"><button type="button" class="primary" @click=${() => host.press("nudge")}
              >Send to <span dir="auto">${shownName(need.nudge.to)}</span>${key("a")}</button>
              <span class="soft">it is not shown for 5 min then, unless it changes</span></div>`
        : notOffered(
            need,
            host,
            "Start these agents, or wake them, where they run. A message that is read leaves this list.",
          )
    }`;
}

const circle = (need) =>
  html`<ol class="circle">${need.circle.map(
    (
      edge,
    ) => html`<li>${agentLink(edge.who, edge.who_role)} <span class="soft">waits for</span> ${agentLink(edge.whom, edge.whom_role)}<span class="soft">:
    ${edge.message ? html`<a href=${address("message", [edge.message])} dir="auto">${edge.what}</a>` : edge.what}</span></li>`,
  )}</ol>${need.circle_more ? html`<p class="soft">and ${number(need.circle_more)} more</p>` : nothing}`;

const inboxes = (need) =>
  html`<ul class="circle">${need.inboxes.map(
    (row) => html`<li>${coded(row.say)} <code>${row.command}</code></li>`,
  )}</ul>${need.inboxes_more ? html`<p class="soft">and ${number(need.inboxes_more)} more</p>` : nothing}`;

const typedCommand = ({ command, message }) =>
  message === null ? command : `${command} <<'END'\n${message.trimEnd()}\nEND`;

function wake(need, host) {
  return html`
    <section class="box"><h3>What was tried</h3>
      <ul class="circle">${need.tried.map(
        (
          attempt,
        ) => html`<li><span class="soft">${moment(attempt.at)}</span> ${attempt.way ? html`<code>${attempt.way}</code>: ` : nothing}
          <span dir="auto">${attempt.error}</span></li>`,
      )}</ul>
      ${need.attempts > need.tried.length ? html`<p class="soft">and ${number(need.attempts - need.tried.length)} attempts before</p>` : nothing}
      <p class="soft">${number(need.unread)} unread ${need.unread === 1 ? "message" : "messages"}.</p>
    </section>
    <section class="field"><h3>Wake it by hand, on its machine</h3>${codeBlock(need.command)}</section>
    ${notOffered(need, host, "It leaves this list when the agent takes a message.")}`;
}
