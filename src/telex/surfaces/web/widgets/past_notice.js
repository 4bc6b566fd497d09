/** Above a view that shows a past moment: which one, and the way back to now. */

import { html, nothing } from "../vendor/lit.js";
import { ago, moment } from "../format.js";
import { refine } from "../router.js";

export const pastNotice = (at) =>
  at
    ? html`<div class="past-notice" role="status"><span>This was at <b>${moment(at)}</b>, ${ago(at)}.</span>
        <button type="button" class="small" @click=${() => refine({ at: "" }, { replace: false })}>Back to now</button></div>`
    : nothing;
