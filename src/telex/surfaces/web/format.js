/** Times, spans and counts as text. Moments are seconds since 1970 and are compared with the hub's clock. */

import { hubNow } from "./hub.js";

const LOCALE = "en-GB";
const DAY = 86_400;
const NOW_SECONDS = 1.5; // nearer moments are "now"

const clockFormat = new Intl.DateTimeFormat(LOCALE, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const shortFormat = new Intl.DateTimeFormat(LOCALE, { hour: "2-digit", minute: "2-digit" });
const dayFormat = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short" });
const exactFormat = new Intl.DateTimeFormat(LOCALE, {
  dateStyle: "medium",
  timeStyle: "long",
});
const relativeFormat = new Intl.RelativeTimeFormat(LOCALE, { numeric: "always", style: "short" });

/** 04:48:57 */
export const clock = (seconds) => clockFormat.format(seconds * 1000);

/** 04:48 */
export const clockShort = (seconds) => shortFormat.format(seconds * 1000);

/** 04:48:57 of today, else with the day: 17 Nov 04:48. */
export const moment = (seconds, now = hubNow()) =>
  new Date(seconds * 1000).toDateString() === new Date(now * 1000).toDateString()
    ? clock(seconds)
    : dayAndClock(seconds);

/** 17 Nov 04:48 */
export const dayAndClock = (seconds) => `${dayFormat.format(seconds * 1000)} ${clockShort(seconds)}`;

/** The moment in full, with the time zone of the person. */
export const exact = (seconds) => exactFormat.format(seconds * 1000);

/** As machines read it; also the form of `at` in addresses. */
export const iso = (seconds) => new Date(seconds * 1000).toISOString();

/** Seconds since 1970 of `at` in an address; null if there is none or it is no time. */
export function secondsOf(text) {
  const milliseconds = text ? Date.parse(text) : Number.NaN;
  return Number.isNaN(milliseconds) ? null : milliseconds / 1000;
}

/** A length of time in two units at most: 4 s, 3 min 20 s, 2 h 5 min. */
export function span(seconds) {
  const length = Math.abs(seconds);
  if (length < 0.0005) return "0 s";
  if (length < 0.95) return `${Math.round(length * 1000)} ms`;
  const whole = Math.round(length);
  if (whole < 60) return `${whole} s`;
  if (whole < 600) return joined(Math.floor(whole / 60), "min", whole % 60, "s");
  if (whole < 3570) return `${Math.round(whole / 60)} min`;
  const minutes = Math.round(whole / 60);
  if (minutes < 1440) return joined(Math.floor(minutes / 60), "h", minutes % 60, "min");
  const hours = Math.round(whole / 3600);
  return joined(Math.floor(hours / 24), "d", hours % 24, "h");
}

const joined = (amount, unit, rest, restUnit) => (rest ? `${amount} ${unit} ${rest} ${restUnit}` : `${amount} ${unit}`);

/** "3 min ago", "in 2 hr", "now"; by the hub's clock. */
export function ago(seconds, now = hubNow()) {
  const away = seconds - now;
  const length = Math.abs(away);
  if (length < NOW_SECONDS) return "now";
  if (length < 60) return relativeFormat.format(Math.trunc(away), "second");
  if (length < 3600) return relativeFormat.format(Math.trunc(away / 60), "minute");
  if (length < 2 * DAY) return relativeFormat.format(Math.trunc(away / 3600), "hour");
  return relativeFormat.format(Math.trunc(away / DAY), "day");
}

/** 1,234 */
export const number = (value) => (value === null || value === undefined ? "…" : value.toLocaleString(LOCALE));

/** 1 message, 2 messages; … messages while the number is not known. */
export const count = (value, one, many = `${one}s`) => `${number(value)} ${value === 1 ? one : many}`;
