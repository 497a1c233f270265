// The plugin of Treering for opencode: gives each event to `treering hook`, and its context to the agent.
// A fault of the memory never stops the agent, so every failure ends here.
import { spawn } from "node:child_process"

const COMMAND = ["treering", "hook", "--client", "opencode"]

// opencode sets these variables for itself and so for every command of its agent. Without them, the program knows the plugin.
const { OPENCODE, AGENT, AI_AGENT, ...env } = process.env

const send = (event) =>
  new Promise((done) => {
    try {
      const child = spawn(COMMAND[0], COMMAND.slice(1), { env, stdio: ["pipe", "pipe", "ignore"], timeout: 10000 })
      let out = ""
      child.on("error", () => done(""))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (part) => (out += part))
      child.on("close", () => {
        try {
          done(JSON.parse(out).context ?? "")
        } catch {
          done("")
        }
      })
      child.stdin.end(JSON.stringify(event))
    } catch {
      done("")
    }
  })

const textOf = (parts) =>
  (parts ?? [])
    .filter((part) => part.type === "text" && !part.synthetic)
    .map((part) => part.text)
    .join("\n\n")

export const Treering = async ({ client, directory }) => {
  const started = new Set()
  const children = new Map()
  // A sub-agent has a session of its own, and the model writes its prompts. What cannot be read counts as one.
  const isOfSubAgent = async (id) => {
    if (!children.has(id)) {
      try {
        const found = await client.session.get({ path: { id } })
        children.set(id, Boolean((found.data ?? found).parentID))
      } catch {
        return true
      }
    }
    return children.get(id)
  }
  const base = (session) => ({ session, folder: directory })
  const context = (input, text, number) => ({
    id: `${input.messageID ?? "msg"}-treering-${number}`,
    sessionID: input.sessionID,
    messageID: input.messageID,
    type: "text",
    synthetic: true,
    text,
  })
  return {
    "chat.message": async (input, output) => {
      const session = input.sessionID
      const given = []
      if (!started.has(session)) {
        started.add(session)
        given.push(await send({ ...base(session), event: "start" }))
      }
      const text = textOf(output.parts)
      if (text && !(await isOfSubAgent(session))) {
        given.push(await send({ ...base(session), event: "prompt", text, name: output.message?.id ?? input.messageID }))
      }
      given.filter(Boolean).forEach((one, number) => {
        output.parts.push(context({ sessionID: session, messageID: output.message?.id ?? input.messageID }, one, number))
      })
    },
    "tool.execute.after": async (input, output) => {
      const { sessionID, tool, callID, args } = input
      await send({ ...base(sessionID), event: "tool", tool, name: callID, input: args ?? output.metadata ?? {}, output: output.output })
    },
    "experimental.session.compacting": async (input) => {
      started.delete(input.sessionID)
      await send({ ...base(input.sessionID), event: "compact" })
    },
    event: async ({ event }) => {
      if (event.type === "session.deleted") {
        await send({ ...base(event.properties.info?.id ?? event.properties.sessionID), event: "end" })
      }
      if (event.type !== "session.idle") return
      const session = event.properties.sessionID
      try {
        const messages = await client.session.messages({ path: { id: session } })
        const last = (messages.data ?? messages).filter((message) => message.info.role === "assistant").at(-1)
        if (last) await send({ ...base(session), event: "stop", text: textOf(last.parts), name: last.info.id })
      } catch {
        await send({ ...base(session), event: "stop" })
      }
    },
  }
}
