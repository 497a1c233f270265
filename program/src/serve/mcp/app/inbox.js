// The inbox of a person inside a chat: what waits, what was learned, and what a session did, with the way back.
// It talks to the client only, by messages of MCP Apps. Every text of the memory is shown as text, never as HTML.
"use strict"
const page = document.getElementById("page")
const status = document.getElementById("status")
const waiting = new Map()
const ticket = document.body.dataset.ticket
let count = 0
/** The state that the page shows. A way back refuses any other one. */
let root

const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*")

const ask = (method, params) =>
  new Promise((done, failed) => {
    const id = ++count
    waiting.set(id, { done, failed })
    send({ id, method, params })
  })

/** Calls a tool through the client, which asks the server as it does for the model. */
const call = async (name, args) => {
  const answer = await ask("tools/call", { name, arguments: args, _meta: { "treering/structured": true } })
  const text = (answer.content ?? []).map((part) => part.text ?? "").join("\n")
  if (answer.isError) throw new Error(text)
  return { json: answer.structuredContent, text }
}

/** Asks for what only a person decides. The model does not have the ticket of this page. */
const decide = (action, args) => call("memory_decide", { action, ticket, ...args })

const add = (parent, kind, text, name) => {
  const element = document.createElement(kind)
  if (text) element.textContent = text
  if (name) element.className = name
  parent.append(element)
  return element
}

const button = (parent, text, work) => {
  const element = add(parent, "button", text)
  element.type = "button"
  element.addEventListener("click", async () => {
    element.disabled = true
    status.textContent = ""
    try {
      await work()
    } catch (error) {
      status.textContent = error.message
    }
    element.disabled = false
  })
  return element
}

const TRUST = {
  direct_user: "you",
  host: "the program",
  model: "the agent",
  tool_internal: "a tool",
  tool_external: "from outside",
  document: "a document",
  import: "imported",
}

const OUTSIDE = new Set(["tool_external", "document", "import"])

const told = (item) => [item.kind, TRUST[item.trust] ?? item.trust, item.actor, item.time?.slice(0, 16).replace("T", " ")].filter(Boolean).join(" · ")

/** Shows the whole of an item, and each field that acts on its own. If `chooses`, returns a box for each of these fields. */
const reviewed = (place, review, chooses) => {
  add(place, "p", `${review.kind} in ${review.scope}, ${TRUST[review.trust] ?? review.trust}`, "quiet")
  add(place, "p", review.text, "text")
  if (review.invisible) add(place, "p", `${review.invisible} invisible characters are written out.`, "quiet")
  return (review.acts ?? []).flatMap(({ field, value, hides }) => {
    const hidden = hides?.length ? `, which hides: ${hides.map(({ text }) => text).join("; ")}` : ""
    const act = `${field} = ${JSON.stringify(value)}${hidden}`
    if (!chooses) {
      add(place, "p", `Takes effect: ${act}`, "text")
      return []
    }
    const label = add(place, "label")
    const box = add(label, "input")
    box.type = "checkbox"
    label.append(` keep ${act}`)
    return [{ field, box }]
  })
}

/** Asks before a decision, with all that it makes effective. */
const decided = async (row, action, args, question) => {
  row.querySelector(".review")?.remove()
  const { json } = await decide(action, { ...args, dry_run: true })
  const place = add(row, "div", "", "review")
  if (json.held?.reason) add(place, "p", `Held back: ${json.held.reason}`, "quiet")
  for (const { id, change, new: after, old } of json.held?.objects ?? []) {
    add(place, "p", `${change} ${id}`, "quiet")
    if (old) add(place, "p", `Before: ${old.text}`, "text")
    if (after) reviewed(place, after)
  }
  const fields = json.review ? reviewed(place, json.review, true) : []
  const keep = () => fields.filter(({ box }) => box.checked).map(({ field }) => field)
  sure(place, question, () => decide(action, action === "promote" ? { ...args, keep: keep() } : args))
}

const item = (list, of) => {
  const row = add(list, "li")
  add(row, "p", of.withheld ? "This text is withheld, because it is not trusted." : (of.text ?? of.preview ?? of.reason ?? of.id ?? ""))
  if (of.flags?.length) add(row, "p", `The scan found: ${of.flags.join(", ")}`, "quiet")
  add(row, "p", told(of), "quiet")
  if (of.session) button(row, "What this session did", () => session(of.session))
  if (of.name && ticket) {
    button(row, "Release", () => decided(row, "release", { name: of.name }, "Release this? It stays as little trusted as it is."))
    button(row, "Reject", () => decided(row, "reject", { name: of.name }, "Drop this for good?"))
  }
  if (of.digest && ticket && OUTSIDE.has(of.trust)) {
    button(row, "Trust", () => decided(row, "promote", { digest: of.digest }, "Trust this as if you had said it?"))
  }
  if (of.id) button(row, "Forget", () => sure(row, `Forget ${of.id}?`, () => call("memory_forget", { ids: [of.id] })))
  return row
}

/** Asks before a change, and shows the inbox again after it. */
const sure = (place, question, work) => {
  const box = add(place, "p", question, "sure")
  button(box, "Yes", async () => {
    const { text } = await work()
    await refresh()
    status.textContent = text
  })
  button(box, "No", () => box.remove())
}

const group = (title, items, total) => {
  if (!items?.length) return
  add(page, "h2", total > items.length ? `${title} (${items.length} of ${total})` : title)
  const list = add(page, "ul")
  items.forEach((one) => item(list, one))
}

const show = (inbox) => {
  page.replaceChildren()
  if (!inbox) return
  root = inbox.root
  add(page, "h1", inbox.waiting ? `${inbox.waiting} waiting for you` : "Nothing waits for you")
  if (inbox.waiting && !ticket) add(page, "p", "To release, trust or reject something, open the page of treering serve --ui --write, or use the program.", "quiet")
  group("Held back", inbox.quarantined?.items, inbox.quarantined?.total)
  group("Not trusted", inbox.withheld?.items, inbox.withheld?.total)
  group("Suspicious", inbox.flagged?.items, inbox.flagged?.total)
  group("Contradictions", inbox.conflicting?.pairs?.flatMap(({ newer, older }) => [newer, older]), 0)
  group("Learned lately", inbox.learned?.items, inbox.learned?.total)
  for (const { scope, items } of inbox.says ?? []) group(`What the memory says: ${scope}`, items, 0)
  const end = add(page, "p")
  button(end, "Undo the last change", async () => {
    const { text } = await call("memory_undo", { action: "undo", expected: root, dry_run: true })
    sure(end, text, () => call("memory_undo", { action: "undo", expected: root }))
  })
  button(end, "Refresh", refresh)
}

const refresh = async () => {
  const { json, text } = await call("memory_inbox", {})
  show(json)
  if (!json) add(page, "p", text)
}

/** Shows the lines of a text that a session changed, each with its sign in front. */
const changed = (list, { id, lines }) => {
  const row = add(list, "li")
  add(row, "p", id, "quiet")
  for (const line of lines.split("\n")) {
    if (line) add(row, "p", line.slice(1), { "-": "gone", "+": "new" }[line[0]] ?? "quiet")
  }
}

/** Shows the texts of a session before and after, and what taking it back would do. */
const session = async (name) => {
  const { json, text } = await call("memory_undo", { action: "revert", session: name, dry_run: true })
  const seen = json?.root ?? root
  page.replaceChildren()
  add(page, "h1", `Session ${name}`)
  add(page, "p", text.split("\n")[0], "quiet")
  const list = add(page, "ul")
  if (ticket) {
    const { json } = await decide("changes", { session: name })
    json.changes.forEach((one) => changed(list, one))
    if (json.changes_total > json.changes.length) add(page, "p", `and ${json.changes_total - json.changes.length} more`, "quiet")
  } else {
    for (const { id } of (json?.reverted ?? []).slice(0, 50)) {
      const found = await call("memory_get", { id }).catch(() => undefined)
      const text = found?.json?.items?.[0]?.text ?? found?.text ?? ""
      changed(list, { id, lines: text.replace(/^/gm, "+") })
    }
  }
  const end = add(page, "p")
  button(end, "Take the session back", () =>
    sure(end, "Take back all of this? What others changed later stays.", () => call("memory_undo", { action: "revert", session: name, expected: seen })),
  )
  button(end, "Back", refresh)
}

const dress = (context) => {
  if (context?.theme) document.documentElement.dataset.theme = context.theme
  for (const [name, value] of Object.entries(context?.styles?.variables ?? {})) {
    if (/^--[a-z0-9-]+$/.test(name) && typeof value === "string") document.documentElement.style.setProperty(name, value)
  }
}

addEventListener("message", (event) => {
  const message = event.data
  if (event.source !== parent || message?.jsonrpc !== "2.0") return
  const { id, method, params } = message
  if (!method) {
    const asked = waiting.get(id)
    waiting.delete(id)
    if (message.error) asked?.failed(new Error(message.error.message))
    else asked?.done(message.result)
  } else if (method === "ui/notifications/tool-result") {
    if (params.structuredContent) show(params.structuredContent)
    else refresh().catch((error) => (status.textContent = error.message))
  } else if (method === "ui/notifications/host-context-changed") {
    dress(params)
  } else if (id !== undefined) {
    send(method === "ping" || method === "ui/resource-teardown" ? { id, result: {} } : { id, error: { code: -32601, message: "there is no such method" } })
  }
})

new ResizeObserver(() => {
  const height = Math.ceil(document.documentElement.getBoundingClientRect().height)
  send({ method: "ui/notifications/size-changed", params: { height } })
}).observe(document.documentElement)

ask("ui/initialize", { appInfo: { name: "treering-inbox", version: "1" }, appCapabilities: {}, protocolVersion: "2026-01-26" }).then(({ hostContext }) => {
  dress(hostContext)
  send({ method: "ui/notifications/initialized", params: {} })
})
