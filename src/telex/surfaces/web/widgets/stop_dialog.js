/** Dialog before an agent is stopped: what will happen, in whose name, and why. */

import { html, nothing } from "../vendor/lit.js";
import { count } from "../format.js";
import { showDialog } from "./dialog.js";

/** {mode: "ask", asker, reason} or {mode: "remove"}; undefined: the person has thought better of it. */
export function askToStop(name, { shutdown, inbox }) {
  const open = inbox.unread + inbox.in_hand;
  return showDialog(
    `Stop ${name}`,
    (close) => html`<div class="stop-dialog">
    ${shutdown.may_be_asked && shutdown.askers.length ? asking(shutdown, inbox, close) : html`<p class="soft">${whyNot(shutdown)}</p>`}
    <section class="stop-way"><h3>Remove it from the team</h3>
      <p>It leaves at once, without being asked. ${count(open, "open message")} ${open === 1 ? "is" : "are"} withdrawn, and
        the senders are told. Its session keeps running: it can join the team again.</p>
      <p><button type="button" class="bad" @click=${() => close({ mode: "remove" })}>Remove it now</button></p></section>
    <p><button type="button" @click=${() => close()}>Cancel</button></p></div>`,
  );
}

function asking({ askers, reasons, asked_at: askedAt }, { unread }, close) {
  const give = (event) => {
    event.preventDefault();
    const { asker, reason } = event.target.elements;
    close({ mode: "ask", asker: asker.value, reason: reason.value });
  };
  return html`<form class="stop-way" @submit=${give}><h3>Ask it to stop</h3>
    <p>It gets a request to shut down. It finishes or refuses, and answers. When it agrees, it leaves the team:
      ${count(unread, "message")} that it has not taken ${unread === 1 ? "goes" : "go"} back to the senders, and only a lead or a person adds it again.</p>
    ${askedAt ? html`<p class="soft">It was asked before.</p>` : nothing}
    <label class="field"><span>In the name of</span><select name="asker">${askers.map((asker) => html`<option>${asker}</option>`)}</select></label>
    <label class="field"><span>Reason</span>${
      reasons.length
        ? html`<select name="reason">${reasons.map((reason) => html`<option value=${reason}>${reason.replaceAll("_", " ")}</option>`)}</select>`
        : html`<input name="reason" required>`
    }</label>
    <p><button type="submit" class="primary">Ask it to stop</button></p></form>`;
}

const whyNot = ({ may_be_asked: mayBeAsked }) =>
  mayBeAsked
    ? "Nobody in the team may ask it to stop."
    : "It cannot be asked: no dialect of the team has a request to shut down for its role.";
