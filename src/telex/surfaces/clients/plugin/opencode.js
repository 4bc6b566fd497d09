// Telex for opencode, written by `telex init opencode`. Removed by `telex init opencode --uninstall`.
//
// Each event goes to `telex hook opencode EVENT` as one JSON object; its answer is a text to show, a denial, or nothing.
// A session that becomes idle gets its unread messages at once, and later ones through `telex hook opencode wake`.
import { spawn } from "node:child_process"

const TELEX = "{telex}"

function run(event, payload, directory, running) {
  return new Promise((done) => {
    const nothing = { code: 0, out: "", err: "" }
    let out = "", err = ""
    const child = spawn(TELEX, ["hook", "opencode", event], { cwd: directory })
    running?.add(child)
    child.stdout.on("data", (data) => (out += data))
    child.stderr.on("data", (data) => (err += data))
    child.on("error", () => done(nothing))
    child.on("close", (code) => { running?.delete(child); done({ code, out, err }) })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify({ hook_event_name: event, cwd: directory, ...payload }))
  })
}

async function answer(event, payload, directory) {
  const { out } = await run(event, payload, directory)
  try { return out ? JSON.parse(out) : {} } catch { return {} }
}

export const Telex = async ({ client, directory }) => {
  const waiting = new Set() // ids of sessions with a `wake` process
  const running = new Set() // the processes
  const begun = new Set() // ids of sessions that had their first prompt
  const parents = new Map() // id of the session that started a subagent's session
  const stop = () => { for (const child of running) child.kill() }
  process.once("exit", stop)

  const prompt = (id, text) =>
    client.session.prompt({ path: { id }, body: { parts: [{ type: "text", text }] } }).catch(() => {})
  const textOf = (told) => told.hookSpecificOutput?.additionalContext ?? told.reason

  const onIdle = async (id) => {
    const text = textOf(await answer("session.idle", { session_id: id }, directory))
    if (text) return void prompt(id, text)
    if (waiting.has(id)) return
    waiting.add(id)
    const woken = await run("wake", { session_id: id }, directory, running)
    waiting.delete(id)
    if (woken.code === 2 && woken.err) await prompt(id, woken.err)
  }

  return {
    event: async ({ event }) => {
      const info = event.properties?.info
      const id = event.properties?.sessionID ?? info?.id
      if (event.type === "session.created" && info?.parentID) parents.set(id, info.parentID)
      if (parents.has(id)) return
      if (event.type === "session.idle") void onIdle(id)
      if (event.type === "session.deleted") void answer("session.deleted", { session_id: id }, directory)
    },
    // opencode waits for this function, and not for `session.created`, whose text would miss the first prompt.
    "chat.message": async (input, output) => {
      const id = input.sessionID
      if (parents.has(id)) return
      const event = begun.has(id) ? "chat.message" : "session.created"
      begun.add(id)
      const text = textOf(await answer(event, { session_id: id }, directory))
      const first = output.parts.find((part) => part.type === "text")
      if (text && first) first.text += `\n\n${text}`
    },
    "tool.execute.before": async (input, output) => {
      const payload = { session_id: input.sessionID, tool_name: input.tool, tool_input: output.args }
      const told = (await answer("tool.execute.before", payload, directory)).hookSpecificOutput
      if (told?.permissionDecision === "deny") throw new Error(told.permissionDecisionReason)
    },
    "tool.execute.after": async (input, output) => {
      const payload = { session_id: input.sessionID, tool_name: input.tool }
      const text = textOf(await answer("tool.execute.after", payload, directory))
      if (!text) return
      if (Array.isArray(output.content)) output.content.push({ type: "text", text }) // of an MCP server
      else output.output = `${output.output ?? ""}\n\n${text}`
    },
  }
}
