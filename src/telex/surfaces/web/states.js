/** The one table of states, roles and kinds: words, signs, colours. Every view and the canvas read it. */

/** States of a message, as the hub names them. */
export const STATES = {
  sent: { word: "Sent", token: "--state-sent", mark: "○", means: "In the recipient's inbox, not taken yet" },
  "in-hand": { word: "In hand", token: "--state-in-hand", mark: "●", means: "Taken by a recipient, lease running" },
  waiting: { word: "Waiting", token: "--state-waiting", mark: "◌", means: "Read; the answer it asks for has not come" },
  done: { word: "Done", token: "--state-done", mark: "✓", means: "Acknowledged by every recipient" },
  retrying: { word: "Retrying", token: "--state-retrying", mark: "↻", means: "An attempt failed; it comes again" },
  dead: { word: "Dead", token: "--state-dead", mark: "✝", means: "Attempts used up; nobody gets it unless retried" },
  refused: { word: "Refused", token: "--state-refused", mark: "✕", means: "Failed validation; delivered to nobody" },
  withdrawn: {
    word: "Withdrawn",
    token: "--state-sent",
    mark: "–",
    means: "Taken back before anybody was done with it",
  },
};

/** States of a conversation, with the state of a message that has the same colour and sign. */
export const CONVERSATIONS = {
  waiting: { word: "Waiting", pill: "waiting" },
  open: { word: "Open", pill: "in-hand" },
  done: { word: "Done", pill: "done" },
};

/** Table row of a state; an unknown one is shown as it is named. */
export const stateOf = (name) => STATES[name] ?? { word: String(name), token: "--state-sent", mark: "●", means: "" };

/** Roles in the order of the lanes: those who decide stand above those who ask, so an escalation climbs. */
export const ROLES = [
  "human",
  "architect",
  "lead",
  "senior",
  "dev",
  "qa",
  "docs",
  "scout",
  "debugger",
  "security",
  "hub",
];

const roleName = (role) => (ROLES.includes(role) ? role : "other");
export const roleToken = (role) => `--role-${roleName(role)}`;
export const roleClass = (role) => `role-${roleName(role)}`;
export const roleRank = (role) => ROLES.indexOf(role) + 1 || ROLES.length + 1;

/** Kinds of items in Needs you. */
export const NEEDS = {
  approval: { word: "Approval", mark: "◇" },
  escalation: { word: "Escalation", mark: "▲" },
  dead: { word: "Dead letters", mark: "✝" },
  stall: { word: "Stall", mark: "∞" },
  wake: { word: "Wake failed", mark: "☾" },
};

/** How an agent is: the words of the hub, in the order in which lists show them. */
export const PRESENCE = {
  here: { word: "here", mark: "●", state: "done" },
  silent: { word: "silent", mark: "◌", state: "waiting" },
  shared: { word: "shared inbox", mark: "○", state: "sent" },
  "not seen yet": { word: "not seen yet", mark: "○", state: "sent" },
  "shut down": { word: "shut down", mark: "–", state: "sent" },
  left: { word: "left", mark: "–", state: "sent" },
};

/** Gone agents are not in the team any more: they send and receive nothing. */
export const isGone = (presence) => presence === "left" || presence === "shut down";

/** State of the connection to the hub: words and the state whose colour it has. */
export const CONNECTION = {
  connecting: { word: "connecting …", state: "sent" },
  live: { word: "live", state: "done" },
  lost: { word: "hub unreachable, retrying …", state: "refused" },
  resting: { word: "resting", state: "sent" },
  "shut out": { word: "a token is needed", state: "waiting" },
};
