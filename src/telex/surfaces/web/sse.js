// What does a stream of server-sent events say? Its frames, one after the other, as the standard reads them.

const LINE_END = /\r\n|\r|\n/;

/** Each frame of a response body as {event, data, id}. `alive` is called for every chunk, comments included. */
export async function* frames(body, alive = () => {}) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let fields = blank();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return; // a frame without its empty line is not complete and comes again
    alive();
    rest += value;
    const held = rest.endsWith("\r") ? "\r" : ""; // its \n may still be on the way
    const lines = (held ? rest.slice(0, -1) : rest).split(LINE_END);
    rest = lines.pop() + held;
    for (const line of lines) {
      if (line !== "") take(line, fields);
      else if (fields.data.length) {
        yield { event: fields.event || "message", data: fields.data.join("\n"), id: fields.id };
        fields = blank();
      } else fields = blank();
    }
  }
}

const blank = () => ({ event: "", data: [], id: "" });

function take(line, fields) {
  const colon = line.indexOf(":");
  if (colon === 0) return; // a comment: the heartbeat
  const name = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
  if (name === "data") fields.data.push(value);
  else if (name === "event" || name === "id") fields[name] = value;
}
