/** Keys of the whole page: g-keys, search, write, table of keys; others go to the view that is shown. */

const PREFIX_MS = 1200; // after g, the second key counts for so long

const FIELDS =
  "input:not([type=range], [type=checkbox], [type=radio], [type=button]), textarea, select, [contenteditable]";
const PRESSED = "a[href], button, summary, input, [role=button], [role=tab], [role=option]"; // have a use for Enter, Space

/**
 * `page.views` have the g-keys, `page.view()` is the element that is shown; its `keys` take single keys, never while a
 * field has the focus or a dialog is open.
 */
export function listenForKeys(page) {
  let prefixedAt = 0;
  document.addEventListener("keydown", (event) => {
    if (isShortcut(event, "k")) return done(event, page.find);
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return undefined;
    if (document.querySelector("dialog[open]")) return undefined; // which takes Escape itself
    const focused = event.target?.closest?.(FIELDS);
    if (focused) return event.key === "Escape" ? focused.blur() : undefined;
    const isPrefixed = Date.now() - prefixedAt < PREFIX_MS;
    prefixedAt = 0;
    if (isPrefixed) return prefixed(event, page);
    if (event.key === "g" && !event.repeat) {
      prefixedAt = Date.now();
      return undefined;
    }
    return single(event, page);
  });
}

const isShortcut = (event, key) => (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === key;

function done(event, action) {
  event.preventDefault();
  action(event);
}

function prefixed(event, page) {
  const view = page.views.find(({ key }) => key === event.key);
  if (view) done(event, () => (location.hash = view.name === "timeline" ? "#/" : `#/${view.name}`));
}

function single(event, page) {
  if ([" ", "Enter"].includes(event.key) && event.target.closest?.(PRESSED)) return;
  const own = page.view()?.keys?.[event.key];
  if (typeof own === "function") {
    if (own.call(page.view(), event) !== false) event.preventDefault();
    return;
  }
  const action = {
    "/": page.find,
    w: page.write,
    Escape: page.back,
    "?": () => window.dispatchEvent(new Event("telex-keys")),
  };
  if (action[event.key]) done(event, action[event.key]);
}
