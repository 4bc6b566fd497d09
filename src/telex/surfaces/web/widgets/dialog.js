/** Modal dialogs. */

import { html, render } from "../vendor/lit.js";

/**
 * Show a dialog until it is closed. `content(close)` is its template; `close(result)` ends it. The result, or undefined
 * if the person pressed Escape. Focus goes back to where it was.
 */
export function showDialog(title, content) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", title);
  return new Promise((done) => {
    let result;
    const close = (value) => {
      result = value;
      dialog.close();
    };
    dialog.addEventListener("close", () => {
      dialog.remove();
      done(result);
    });
    render(html`<h2>${title}</h2>${content(close)}`, dialog);
    document.body.append(dialog);
    dialog.showModal();
  });
}
