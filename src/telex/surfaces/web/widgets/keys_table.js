/** Dialog with the keys of the page. */

import { html } from "../vendor/lit.js";
import { showDialog } from "./dialog.js";

const KEYS = [
  ["g then t / n / a / c", "Timeline, Needs you, Agents, Conversations"],
  ["Ctrl K  or  /", "Search or jump to"],
  ["w", "Write a message"],
  ["j / k", "Next, previous item"],
  ["Enter", "Open"],
  ["Esc", "Close, let go of the selection, leave a field"],
  ["a / r / e", "Allow, reject, answer (Needs you)"],
  ["u", "Undo the last answer, for 10 s"],
  ["1 2 3 4", "Zoom 5 min, 15 min, 1 h, all"],
  ["← →", "Previous, next message in the lane"],
  ["↑ ↓", "Lane above, below"],
  [", / .", "Moment 10 s back, forward"],
  ["Space", "Play or pause the replay"],
  ["l", "Back to live"],
  ["Ctrl Enter", "Send"],
];

export const showKeysTable = () =>
  showDialog(
    "Keys",
    (close) => html`
    <dl class="keys-table">${KEYS.map(([key, words]) => html`<dt><kbd>${key}</kbd></dt><dd>${words}</dd>`)}</dl>
    <p><button type="button" @click=${() => close()}>Close</button></p>`,
  );
