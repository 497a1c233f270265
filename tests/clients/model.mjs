// A model that follows a script, in the protocols of Anthropic, OpenAI (Responses, Chat Completions) and Google.
//
// A request with tools gets, one after the other: a command that fetches /page from this server, a call of the tool
// memory_remember, and a text. A request without tools gets a text: clients ask for titles that way.
// Usage: node model.mjs [LOG]; prints its port. LOG gets the body of each request, one a line.
import { appendFileSync } from "node:fs"
import { createServer } from "node:http"

export const PAGE = "The prices of the shop changed on Monday."
export const LEARNT = "The deploy target of the shop is Bremen."
export const SAID = "Done: the page is read and the fact is stored."

const log = process.argv[2]
let calls = 0

/** What comes next: `done` counts the calls since the last prompt, and `tools` has the names of the tools. */
const next = (tools, done, port, text = "") => {
  const shell = tools.find((name) => /^(bash|shell|shell_command|exec_command|run_shell_command)$/i.test(name))
  // Claude Code lists the tools of servers only when they are searched for.
  const remember = tools.find((name) => /memory_remember$/.test(name)) ?? /mcp__\w*memory_remember/.exec(text)?.[0]
  const command = `curl -s http://127.0.0.1:${port}/page`
  const steps = []
  if (shell) {
    const input = shell === "exec_command" ? { cmd: command } : { command, description: "Reads the prices" }
    steps.push({ name: shell, input: shell === "shell" ? { command: ["bash", "-lc", command] } : input })
  }
  if (remember) steps.push({ name: remember, input: { text: LEARNT } })
  return steps[done] && { ...steps[done], id: `call_${++calls}` }
}

/** Counts the calls after the last prompt. `kinds` has "prompt" or "call" for each entry of the conversation. */
const after = (kinds) => kinds.slice(kinds.lastIndexOf("prompt") + 1).filter((kind) => kind === "call").length

const anthropic = (body, port) => {
  const kinds = body.messages.flatMap(({ role, content }) => {
    const parts = typeof content === "string" ? [{ type: "text" }] : content
    if (role === "user") return parts.some(({ type }) => type === "tool_result") ? [] : ["prompt"]
    return parts.filter(({ type }) => type === "tool_use").map(() => "call")
  })
  const call = next((body.tools ?? []).map(({ name }) => name), after(kinds), port, JSON.stringify(body))
  const message = { id: `msg_${++calls}`, type: "message", role: "assistant", model: body.model, content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 9, output_tokens: 1 } }
  const block = call ? { type: "tool_use", id: `toolu_${call.id}`, name: call.name, input: {} } : { type: "text", text: "" }
  const delta = call ? { type: "input_json_delta", partial_json: JSON.stringify(call.input) } : { type: "text_delta", text: SAID }
  const stop = call ? "tool_use" : "end_turn"
  if (!body.stream) return { json: { ...message, content: [call ? { ...block, input: call.input } : { type: "text", text: SAID }], stop_reason: stop } }
  return {
    events: [
      { type: "message_start", message },
      { type: "content_block_start", index: 0, content_block: block },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 9 } },
      { type: "message_stop" },
    ],
  }
}

/** The tools of a server stand in a group of their own. */
const names = (tools) => tools.flatMap((tool) => (tool.type === "namespace" ? tool.tools.map(({ name }) => ({ name, namespace: tool.name })) : [{ name: tool.name ?? tool.type }]))

const responses = (body, port) => {
  const items = typeof body.input === "string" ? [{ type: "message", role: "user" }] : body.input
  const kinds = items.map(({ type, role }) => (/_call$/.test(type ?? "") ? "call" : (type ?? "message") === "message" && role === "user" ? "prompt" : ""))
  const tools = names(body.tools ?? [])
  const call = next(tools.map(({ name }) => name), after(kinds), port)
  const namespace = call && tools.find(({ name }) => name === call.name).namespace
  const item = call
    ? { type: "function_call", id: `fc_${call.id}`, call_id: call.id, name: call.name, ...(namespace && { namespace }), arguments: JSON.stringify(call.input), status: "completed" }
    : { type: "message", id: `msg_${++calls}`, role: "assistant", status: "completed", content: [{ type: "output_text", text: SAID, annotations: [] }] }
  const response = { id: `resp_${++calls}`, object: "response", status: "completed", model: body.model, output: [item], usage: { input_tokens: 9, input_tokens_details: null, output_tokens: 9, output_tokens_details: null, total_tokens: 18 } }
  if (!body.stream) return { json: response }
  return {
    events: [
      { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
      { type: "response.output_item.added", output_index: 0, item },
      ...(call ? [] : [{ type: "response.output_text.delta", item_id: item.id, output_index: 0, content_index: 0, delta: SAID }]),
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response },
    ],
  }
}

const chat = (body, port) => {
  const kinds = body.messages.flatMap(({ role, tool_calls }) => (role === "user" ? ["prompt"] : (tool_calls ?? []).map(() => "call")))
  const call = next((body.tools ?? []).map((tool) => tool.function.name), after(kinds), port)
  const delta = call
    ? { role: "assistant", content: null, tool_calls: [{ index: 0, id: call.id, type: "function", function: { name: call.name, arguments: JSON.stringify(call.input) } }] }
    : { role: "assistant", content: SAID }
  const whole = { id: `chat_${++calls}`, created: 1, model: body.model }
  const end = call ? "tool_calls" : "stop"
  const usage = { prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 }
  if (!body.stream) return { json: { ...whole, object: "chat.completion", choices: [{ index: 0, message: delta, finish_reason: end }], usage } }
  const chunk = (delta, finish_reason) => ({ ...whole, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })
  return { events: [chunk(delta, null), { ...chunk({}, end), usage }], ends: "[DONE]", isPlain: true }
}

const google = (body, port, path) => {
  const kinds = body.contents.flatMap(({ role, parts }) => {
    if (role === "model") return parts.filter((part) => part.functionCall).map(() => "call")
    return parts.some((part) => part.functionResponse) ? [] : ["prompt"]
  })
  const tools = (body.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []).map(({ name }) => name)
  const call = next(tools, after(kinds), port)
  const part = call ? { functionCall: { id: call.id, name: call.name, args: call.input } } : { text: body.generationConfig?.responseJsonSchema ? "{}" : SAID }
  const answer = { candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }], usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 9, totalTokenCount: 18 } }
  return path.includes("stream") ? { events: [answer], isPlain: true } : { json: answer }
}

const answerOf = (path, body, port) => {
  if (path.includes("count_tokens") || path.includes(":countTokens")) return { json: { input_tokens: 9, totalTokens: 9 } }
  if (path.endsWith("/messages")) return anthropic(body, port)
  if (path.endsWith("/responses")) return responses(body, port)
  if (path.endsWith("/chat/completions")) return chat(body, port)
  if (/:(stream)?[gG]enerateContent$/.test(path)) return google(body, port, path)
}

export const start = async (file) => {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, "http://x").pathname
    if (path === "/page") return response.end(PAGE)
    if (path.endsWith("/models")) return response.end(JSON.stringify({ object: "list", data: [{ id: "scripted", object: "model" }], models: [] }))
    let text = ""
    for await (const part of request) text += part
    const body = text && /json/.test(request.headers["content-type"] ?? "") ? JSON.parse(text) : {}
    if (file) appendFileSync(file, `${JSON.stringify({ path, body })}\n`)
    const answer = request.method === "POST" && answerOf(path, body, server.address().port)
    if (!answer) return response.writeHead(404).end("{}")
    if (answer.json) return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer.json))
    response.writeHead(200, { "content-type": "text/event-stream" })
    for (const event of answer.events) response.write(`${answer.isPlain ? "" : `event: ${event.type}\n`}data: ${JSON.stringify(event)}\n\n`)
    response.end(answer.ends ? `data: ${answer.ends}\n\n` : "")
  })
  await new Promise((done) => server.listen(0, "127.0.0.1", done))
  return server
}

if (process.argv[1] === new URL(import.meta.url).pathname) console.log((await start(log)).address().port)
