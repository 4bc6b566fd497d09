// How is an event said in words? The same ones in the feed and in the story of a message.

import { html, nothing } from "./vendor/lit.js";
import { agent } from "./parts.js";
import { clockTime } from "./elements.js";

/** What an event says beyond its kind; on the wire it is JSON in a text, or already read. */
export function detailOf(event) {
  if (event.detail && typeof event.detail === "object") return event.detail;
  try {
    const found = JSON.parse(event.detail || "{}");
    return found && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {};
  }
}

const BY = {
  leased: "leased it",
  read: "read it",
  extended: "extended the lease",
  acked: "acked it",
  nacked: "nacked it",
  "lease-expired": "let the lease expire",
  returned: "disconnected before receiving it",
  translated: "received it translated",
  duplicate: "sent it again",
  retried: "retried it",
  dropped: "dropped it",
  answered: "answered",
  joined: "joined the team",
  left: "left the team",
  stopped: "agreed to shut down",
  forced: "was stopped by force",
  dissolved: "dissolved the team",
};
const OF_INBOX = {
  dead: ["every attempt failed", "in the inbox of"],
  expired: ["no reply came", "from"],
  "request-repeated": ["request repeated", "for"],
  withdrawn: ["withdrawn", "from"],
  "returned-to-sender": ["returned to its sender, since its reader has shut down:", ""],
  "reply-overdue": ["no reply in time", "from"],
  "wake-due": ["a wake is due", "of"],
  "wake-delivered": ["a wake was delivered", "to"],
  "wake-seen": ["a wake was seen", "by"],
  "wake-withdrawn": ["a wake was withdrawn", "of"],
};

/** A sentence about an event that brings no message of its own. */
export function sentence(event) {
  const detail = detailOf(event);
  const rest = restOf(event, detail);
  if (event.kind === "accepted") return html`${agent(event.agent)} sent it${inboxes(detail)}${rest}`;
  if (event.kind === "refused") return html`${agent(event.agent)} sent it, and it was refused${rest}`;
  if (event.kind in OF_INBOX) {
    const [says, whose] = OF_INBOX[event.kind];
    return event.inbox ? html`${says} ${whose} ${agent(event.inbox)}${rest}` : html`${says}${rest}`;
  }
  if (event.kind === "conversation-idle") return html`this conversation is idle${rest}`;
  return html`${agent(event.agent || event.inbox)} ${BY[event.kind] || event.kind}${rest}`;
}

function inboxes(detail) {
  const into = Array.isArray(detail.inboxes) ? detail.inboxes : [];
  return into.length ? html`; stored for ${into.length > 4 ? `${into.length} inboxes` : listed(into)}` : nothing;
}

const listed = (names) => names.map((name, index) => html`${index ? ", " : ""}${agent(name)}`);

function restOf(event, detail) {
  const words = [];
  if (typeof detail.role === "string" && event.kind === "joined") words.push(`as ${detail.role}`);
  if (detail.dialect) words.push(`${[detail.dialect, detail.type].filter(Boolean).join(" ")}`);
  if (typeof detail.attempt === "number" && detail.attempt > 1) words.push(`attempt ${detail.attempt}`);
  if (typeof detail.until === "number") words.push(`until ${clockTime(detail.until)}`);
  if (typeof detail.way === "string") words.push(`by ${detail.way}`);
  if (event.kind.startsWith("wake-") && detail.unread) words.push(`${detail.unread} unread`);
  if (typeof detail.reason === "string") words.push(`“${detail.reason}”`);
  if (typeof detail.next === "number") words.push(`again at ${clockTime(detail.next)}`);
  if (typeof detail.climbed_to === "string") words.push(`escalated to ${detail.climbed_to}`);
  const codes = Array.isArray(detail.findings) ? detail.findings.map((one) => one?.code).filter(Boolean) : [];
  if (codes.length) words.push(codes.join(", "));
  return words.length ? html`<span class="quiet"> · ${words.join(" · ")}</span>` : nothing;
}
