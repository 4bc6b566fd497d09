/** Notices: problems, findings, and what an empty list would hold. Text is always a text binding. */

import { address } from "../router.js";
import { html, nothing } from "../vendor/lit.js";

const STATE = { refusal: "is-refused", warning: "is-waiting", note: "is-in-hand" };
const ORDER = ["refusal", "warning", "note"];
const FACTS = ["found", "expected", "nearest"];

/** Text with its words in backticks as code. */
export const coded = (text) =>
  String(text ?? "")
    .split(/`([^`]+)`/)
    .map((piece, index) => (index % 2 ? html`<code>${piece}</code>` : piece));

/** One finding: code, place, and how to fix it. */
export const finding = (one) => html`<li class="finding ${STATE[one.severity] ?? "is-refused"}">
  <p><code class="code-word">${one.code}</code> <span class="soft">at</span> <code>${one.path}</code></p>
  <dl class="pair">
    ${FACTS.map((name) => (one[name] ? html`<dt>${name}</dt><dd><code>${one[name]}</code></dd>` : nothing))}
    ${one.say ? html`<dt>fix</dt><dd>${coded(one.say)}</dd>` : nothing}
  </dl>
</li>`;

/** All findings, the most severe first. */
export function findings(all) {
  if (!all?.length) return nothing;
  const sorted = [...all].sort((one, other) => ORDER.indexOf(one.severity) - ORDER.indexOf(other.severity));
  return html`<ul class="findings">${sorted.map(finding)}</ul>`;
}

/** What the hub refused, or that it cannot be reached. */
export const problemNotice = (problem) => html`<div
  class="notice ${problem.status === 0 ? "is-waiting" : "is-refused"}" role="alert">
  <p><strong>${coded(problem.message)}</strong></p>
  ${problem.code ? html`<p class="soft"><code>${problem.code}</code></p>` : nothing} ${findings(problem.findings)}
</div>`;

/** Instead of a view that the hub does not have or does not give to this token. */
export const notShown = (
  problem,
) => html`<div class="page-bar"><h1 tabindex="-1">${problem.status === 404 ? "Not found" : "Not allowed"}</h1></div>
  ${problemNotice(problem)}
  <p class="ways"><a href=${address("timeline")}>Timeline</a> · <a href=${address("search")}>Search</a></p>`;

/** An empty list: what would be here, and how it comes about. */
export const emptyNotice = (title, text, more = nothing) => html`<div class="calm">
  <h2>${title}</h2><p>${text}</p>${more}
</div>`;
