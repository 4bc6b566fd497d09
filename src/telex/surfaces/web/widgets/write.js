/** Ask for the composer: small enough for every view to load. */

import { me } from "../hub.js";

const BUS = "telex";
const HUMAN = "human";

/** Can this message be answered? The bus itself reads nothing, nobody answers itself, and a viewer only reads. */
export const isAnswerable = (row) => !me.viewer && row.from !== BUS && row.from !== (me.agent ?? HUMAN);

/** What the composer needs to answer a message; `row` is the hub's row of it. */
export const answerTo = (row) => ({
  to: row.from,
  reply_to: row.id,
  conversation: row.conversation,
  subject: row.gist,
});

/** Open the composer: `{to, reply_to, conversation, subject}`, all of them optional. */
export const write = (detail = {}) =>
  !me.viewer && window.dispatchEvent(new CustomEvent("telex-write", { detail, cancelable: true }));
