/** Dialog that asks for a token of this hub. */

import { html } from "../vendor/lit.js";
import { token } from "../hub.js";
import { coded } from "./notice.js";
import { showDialog } from "./dialog.js";

const HOW = "The operator of the hub creates one with `telex token create`.";

/** The token that was typed, or undefined. `detail`: why the hub did not accept the last one. */
export const askToken = (detail) =>
  showDialog("This hub requires a token", (close) => {
    const give = (event) => {
      event.preventDefault();
      close(event.target.elements.token.value.trim());
    };
    return html`<form @submit=${give}>
      <p>${coded(token.get() && detail ? detail : HOW)} It is stored for this tab only.</p>
      <label class="field">Token <input name="token" type="password" autocomplete="off" required autofocus></label>
      <p><button type="submit" class="primary">Go on</button></p>
    </form>`;
  });
