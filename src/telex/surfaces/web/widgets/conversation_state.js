/** State of a conversation as a pill: waiting and for whom, open, done. */

import { CONVERSATIONS } from "../states.js";
import { shownName, statePill } from "./message.js";

/** The words for it: "Waiting for you". */
export function conversationWords({ state, waiting_for: names }) {
  const { word } = CONVERSATIONS[state];
  return state === "waiting" ? `${word} for ${names.map(shownName).join(", ")}` : word;
}

export const conversationPill = (conversation) =>
  statePill(CONVERSATIONS[conversation.state].pill, conversationWords(conversation));
