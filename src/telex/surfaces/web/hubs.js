/** Hubs that share the store of the team: a notice for a hub that is halted or behind, and the list of all hubs. */

import { html, nothing } from "./vendor/lit.js";
import { ago, count, exact, iso, number } from "./format.js";
import { statePill } from "./widgets/message.js";

const REPLICAS = 3; // of a durable log

const when = (seconds) => html`<time datetime=${iso(seconds)} title=${exact(seconds)}>${ago(seconds)}</time>`;

/** The hub's address as a link. Other hubs announce it, so only http and https become links. */
function address(url) {
  if (!url) return nothing;
  return /^https?:\/\//i.test(url)
    ? html`<a href=${url} rel="noreferrer">${url.replace(/\/$/, "")}</a>`
    : html`<span class="soft">${url}</span>`;
}

/** Shown above every view: this hub is not ready. */
export function replicaNotice(replica) {
  if (!replica?.problem) return nothing;
  const others = replica.hubs.filter((hub) => !hub.is_this && hub.url);
  return html`<div class="notice is-refused banner" role="alert">
    ${
      replica.problem === "hub-halted"
        ? html`<p><strong>This hub is halted.</strong> ${replica.halted}</p>
          <p>It shows the log up to entry ${number(replica.position)} and takes no more entries.</p>`
        : html`<p><strong>This hub is behind.</strong> It stopped following the log ${when(replica.behind_since)}${
            replica.lag ? html` and lacks at least ${count(replica.lag, "entry", "entries")}` : nothing
          }.</p>`
    }
    ${others.length ? html`<p class="buttons">Use another hub: ${others.map((hub) => address(hub.url))}</p>` : nothing}
  </div>`;
}

/** Card with all hubs of the team. */
export function hubsPanel(replica) {
  if (!replica) return nothing;
  const lead = html`${count(replica.hubs.length, "hub")} on one log with ${count(replica.replicas, "replica")}; it ends
    at entry ${number(replica.log_end)}.`;
  return html`<section class="card hubs" aria-labelledby="hubs">
    <div class="bar"><h2 id="hubs">Hubs</h2><span class="soft">${lead}</span></div>
    ${replica.durable ? nothing : weaker(replica)}
    <div class="scroll-x" tabindex="0" role="group" aria-labelledby="hubs"><table class="grid hubs-table">
      <thead><tr><th scope="col">Hub</th><th scope="col" class="figure">Position</th>
        <th scope="col" class="figure">Lag</th><th scope="col">Last seen</th><th scope="col">Version</th></tr></thead>
      <tbody>${replica.hubs.map(row)}</tbody>
    </table></div>
  </section>`;
}

function row(hub) {
  return html`<tr>
    <th scope="row"><span class="hubs-name">${hub.name}</span> ${hub.is_writer ? statePill("done", "writes") : nothing}
      ${hub.is_this ? statePill("in-hand", "this hub") : nothing} <span class="hubs-address">${address(hub.url)}</span></th>
    <td class="figure">${number(hub.position)}</td>
    <td class="figure">${hub.lag ? number(hub.lag) : html`<span class="faint">0</span>`}</td>
    <td>${when(hub.seen_at)}</td><td>${hub.version}</td></tr>`;
}

function weaker({ replicas, synced }) {
  const reasons = [
    replicas < REPLICAS ? `the log has ${count(replicas, "replica")} instead of ${REPLICAS}` : "",
    synced === false ? "its servers do not sync every write to disk" : "",
    synced === null ? "it is not known whether its servers sync every write to disk" : "",
  ].filter(Boolean);
  return html`<p class="notice is-waiting"><strong>Weaker durability</strong>: ${reasons.join(", and ")}.</p>`;
}
