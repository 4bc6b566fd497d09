/** Half-typed texts, kept for this tab by item and field, so that they survive navigation and reloading. */

const PREFIX = "telex-draft:";
const DRAFTS_MAX = 100; // then the oldest are dropped
const ORDER = "telex-drafts";

const keyOf = (item, field) => `${PREFIX}${item}\u0000${field}`;

/** What was typed into that field of that item; "" if nothing was. */
export const draft = (item, field = "text") => sessionStorage.getItem(keyOf(item, field)) ?? "";

/** Keep what is typed; an empty text removes the draft. */
export function keepDraft(item, field, text) {
  const key = keyOf(item, field);
  if (text === "") {
    forget(key);
    return;
  }
  const order = [...keys().filter((other) => other !== key), key];
  for (const old of order.splice(0, Math.max(0, order.length - DRAFTS_MAX))) sessionStorage.removeItem(old);
  try {
    sessionStorage.setItem(key, text);
    sessionStorage.setItem(ORDER, JSON.stringify(order));
  } catch {
    // The tab's storage is full or switched off: the text is on the screen only.
  }
}

/** Forget all fields of an item, after it was answered or sent. */
export function dropDrafts(item) {
  for (const key of keys()) if (key.startsWith(`${PREFIX}${item}\u0000`)) forget(key);
}

/** Handler for `@input` of a field that is kept: `@input=${drafting("approval:9", "reason")}`. */
export const drafting =
  (item, field = "text") =>
  (event) =>
    keepDraft(item, field, event.target.value);

function forget(key) {
  sessionStorage.removeItem(key);
  sessionStorage.setItem(ORDER, JSON.stringify(keys().filter((other) => other !== key)));
}

function keys() {
  try {
    return JSON.parse(sessionStorage.getItem(ORDER) ?? "[]");
  } catch {
    return [];
  }
}
