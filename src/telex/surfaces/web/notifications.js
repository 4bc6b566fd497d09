/**
 * Notifications of the browser: one for each new item that needs the person, however many tabs are open.
 *
 * The tabs of a browser share the list of items that were announced. The lock lets one tab at a time read and write it.
 */

import { get, has } from "./hub.js";
import { NEEDS } from "./states.js";
import { address } from "./router.js";

const CHOICE = "telex-notify";
const ANNOUNCED = "telex-notified";
const ITEMS_MAX = 200; // that are asked for and remembered
const SHOWN_MAX = 3; // at once; more are one notification

export const canNotify = () => "Notification" in globalThis && "locks" in navigator;
export const isNotifying = () =>
  canNotify() && Notification.permission === "granted" && localStorage.getItem(CHOICE) === "on";
export const isForbidden = () => canNotify() && Notification.permission === "denied";

/** Ask the browser for permission. What is open now is not announced. */
export async function startNotifying() {
  if ((await Notification.requestPermission()) !== "granted") return false;
  await exclusively(async () => remember(await openItems()));
  localStorage.setItem(CHOICE, "on");
  return true;
}

export const stopNotifying = () => localStorage.removeItem(CHOICE);

/** Announce the items that no tab has announced yet. */
export const notifyOfNew = () =>
  exclusively(async () => {
    const items = await openItems();
    const known = new Set(JSON.parse(localStorage.getItem(ANNOUNCED) ?? "[]"));
    const fresh = items.filter((item) => !known.has(nameOf(item)));
    remember(items);
    if (fresh.length > SHOWN_MAX) announce(`${fresh.length} new items need you`, "", "", "telex");
    else
      for (const item of fresh)
        announce(item.title, `${NEEDS[item.kind]?.word ?? item.kind} · ${item.by ?? ""}`, item.key, item.key);
  });

/** The lock lets one tab after the other. A problem of the hub waits for the next update. */
const exclusively = (work) => navigator.locks.request(ANNOUNCED, () => work().catch(() => {}));

async function openItems() {
  const { items } = await get("/page/needs", { limit: ITEMS_MAX }, has("items"));
  return items;
}

/** Key of an item without its revision. */
const nameOf = (item) => item.key.replace(/@\d+$/, "");

const remember = (items) => localStorage.setItem(ANNOUNCED, JSON.stringify(items.map(nameOf)));

function announce(title, body, item, tag) {
  const notification = new Notification(title, { body, tag });
  notification.addEventListener("click", () => {
    window.focus();
    location.hash = address("needs", [], { item });
    notification.close();
  });
}
