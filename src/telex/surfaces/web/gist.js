// What does a message say, in one line? A guess for the eye from its text alone; the message itself is one click away.

const LENGTH_MAX = 160;
const HEAD = ["status", "result", "verdict", "decision", "signal", "severity"];
const SAYS = [
  "subject",
  "objective",
  "issue",
  "blocker",
  "summary",
  "title",
  "question",
  "reason",
  "description",
  "details",
  "message",
  "text",
  "note",
  "notes",
  "feedback",
  "recommendation",
  "goal",
];
const INSIDE = ["payload", "data", "body", "content", "context"];
const ENVELOPE = new Set([
  "type",
  "id",
  "phase",
  "task",
  "author_role",
  "target_role",
  "timestamp",
  "schema_version",
  "confidence",
  "from",
  "to",
  "plan_id",
  "phase_id",
  "request_id",
  "version",
]);
const FIELDS_MAX = 3;
const YES = { approved: ["approved", "rejected"], approve: ["agrees", "does not agree"], passed: ["passed", "failed"] };

/** One line that says what the message is about. */
export function gist(message) {
  if (!message) return "";
  const raw = textOf(message.raw);
  return short(fromTree(treeOf(raw)) || fromText(raw));
}

/** The text of a message; bytes that are no text are told by their length. */
export const textOf = (raw) =>
  typeof raw === "string"
    ? raw
    : raw?.base64
      ? `(binary: ${raw.base64.length} characters of base64)`
      : "";

function treeOf(raw) {
  if (!/^\s*\{/.test(raw)) return null;
  try {
    return JSON.parse(raw);
  } catch {
    return null;
  }
}

function fromTree(tree) {
  if (!tree || typeof tree !== "object") return "";
  const layers = [
    ...INSIDE.map((name) => tree[name]).filter((layer) => layer && typeof layer === "object" && !Array.isArray(layer)),
    tree,
  ];
  const head = HEAD.map((name) => firstOf(layers, name)).find(Boolean) || decided(layers);
  const says =
    SAYS.map((name) => firstOf(layers.slice(0, 1), name)).find(Boolean) ||
    SAYS.map((name) => firstOf(layers, name)).find(Boolean);
  return [head && head.replaceAll("_", " "), says || rest(layers[0])].filter(Boolean).join(": ");
}

/** Where nothing speaks in sentences: the first few plain fields of what it carries. */
function rest(layer) {
  const plain = Object.entries(layer).filter(
    ([name, value]) =>
      !ENVELOPE.has(name) &&
      (typeof value === "number" || typeof value === "string" || words(value)) &&
      !HEAD.includes(name),
  );
  return plain
    .slice(0, FIELDS_MAX)
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${words(value) ? value.join(", ") : value}`)
    .join(" · ");
}

const words = (value) => Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string");

function firstOf(layers, name) {
  const found = layers.map((layer) => layer[name]).find((value) => typeof value === "string" && value.trim());
  return found ? found.trim() : "";
}

function decided(layers) {
  for (const [name, [yes, no]] of Object.entries(YES)) {
    const layer = layers.find((one) => typeof one[name] === "boolean");
    if (layer) return layer[name] ? yes : no;
  }
  return "";
}

/** The first line of prose: past front matter, fences, and the marks of a heading or of what is bold. */
function fromText(raw) {
  const lines = raw.split(/\r?\n/);
  const opened = /^---\s*$/.test(lines[0] || "");
  const closed = opened ? lines.findIndex((line, index) => index > 0 && /^---\s*$/.test(line)) : -1;
  const body = closed > 0 ? lines.slice(closed + 1) : lines;
  const says = body.find((line) => /\p{L}|\p{N}/u.test(line) && !/^\s*```/.test(line));
  const said = says ?? lines.find((line) => /\p{L}|\p{N}/u.test(line)) ?? "";
  return said.replace(/\*\*(\S[^*]*)\*\*/g, "$1").replace(/^[\s#>*-]+/, "");
}

function short(text) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > LENGTH_MAX ? `${line.slice(0, LENGTH_MAX - 1)}…` : line;
}
