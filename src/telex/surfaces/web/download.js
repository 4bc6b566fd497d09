/** Files that the hub makes for a person to keep. */

import { Problem, token } from "./hub.js";

/** Ask the hub for a file and hand it to the browser as a download of that name. Throws a Problem. */
export async function download(path, query, name) {
  const given = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
  const held = token.get();
  /** @type {HeadersInit} */
  const headers = held ? { Authorization: `Bearer ${held}` } : {};
  let answer, content;
  try {
    answer = await fetch(`${path}?${given}`, { headers, cache: "no-store" });
    content = await answer.blob();
  } catch {
    throw new Problem(0, { detail: "The hub cannot be reached. Try again.", code: "hub-unreachable" });
  }
  if (!answer.ok) throw new Problem(answer.status, JSON.parse(await content.text()));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // after the browser has read it
}
