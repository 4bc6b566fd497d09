// Where is what? The addresses of views, which can be kept, shared and gone back to.

/** The address of a view: `at("feed", [], {agent: "dev"})` is `#/feed?agent=dev`. */
export function at(view, path = [], query = {}) {
  const places = [view, ...path].map(encodeURIComponent).join("/");
  const given = new URLSearchParams(
    Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== ""),
  );
  const text = given.toString();
  return `#/${places}${text ? `?${text}` : ""}`;
}

/** Go there. With `replace`, the way back does not stop here. */
export function go(address, { replace = false } = {}) {
  if (replace) {
    history.replaceState(null, "", address);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  } else location.hash = address;
}
