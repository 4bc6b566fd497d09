/** An address that no view has. */

import { html } from "../vendor/lit.js";
import { address } from "../router.js";
import { View } from "../view.js";

export default class NotFound extends View {
  get heading() {
    return "Not found";
  }

  async reload() {
    this.loaded = true; // there is nothing to ask the hub for
  }

  content() {
    return html`<div class="page-bar"><h1>Not found</h1></div>
      <section class="card pad stack">
        <p>No view has the address <code dir="auto">${location.hash}</code>.</p>
        <p><a href=${address("timeline")}>Timeline</a> · <a href=${address("search")}>Search</a></p>
      </section>`;
  }
}
