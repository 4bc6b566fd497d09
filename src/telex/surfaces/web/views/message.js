/** One message as a view: the panel of the home as the whole page. */

import { html, nothing } from "../vendor/lit.js";
import { get, part } from "../hub.js";
import { address, navigate } from "../router.js";
import { secondsOf } from "../format.js";
import { View } from "../view.js";
import "../widgets/message_panel.js";

export default class Message extends View {
  static properties = { ...View.properties, title: { state: true } };

  async load() {
    const [seq, id] = this.place.path;
    if (!seq || (seq === "id" && !id)) navigate(address("search"), { replace: true });
    else if (seq === "id") {
      const [story] = await get(`/messages/${part(id)}`); // a link by the sender's own id
      navigate(address("message", [story.message.seq], this.place.query), { replace: true });
    }
  }

  get heading() {
    return this.title || "";
  }

  get writing() {
    return this.querySelector("telex-message-panel")?.writing;
  }

  content() {
    const [seq] = this.place.path;
    const titled = (event) => (this.title = event.detail?.gist ?? "");
    if (!seq || seq === "id") return nothing; // on the way to another address
    return html`<telex-message-panel page .seq=${seq} .at=${secondsOf(this.place.query.at)}
      @telex-loaded=${titled}></telex-message-panel>`;
  }
}
