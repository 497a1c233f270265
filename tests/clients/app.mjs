// Shows the inbox (MCP App) in a sandboxed frame of a headless Chromium, with the host library of the extension.
//
// Usage: node app.mjs PROGRAM FOLDER; FOLDER has node_modules (check.sh installs them). BROWSER names the browser.
// A person looks at the inbox, opens a session, and takes it back with the mouse. Hostile texts stay texts, no request leaves
// the frame, and what only a person may do needs the ticket of the page.
import { AppBridge, getToolUiResourceUri } from "@modelcontextprotocol/ext-apps/app-bridge"
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdirSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import puppeteer from "puppeteer-core"

const [program, folder] = process.argv.slice(2)
const home = join(folder, "homes/app")
rmSync(home, { recursive: true, force: true })
mkdirSync(home, { recursive: true })
const env = { HOME: home, PATH: process.env.PATH, TREERING_MODEL: "none" }
const HOSTILE = `<img src=x onerror="parent.postMessage('stolen','*')"><script>fetch('http://127.0.0.1:1/')</script><b>bold</b>`
const treering = (trust, ...args) => {
  const ran = spawnSync(program, ["--store", join(home, "store"), ...args], { cwd: home, env: { ...env, TREERING_TRUST: trust }, encoding: "utf8" })
  assert.equal(ran.status, 0, ran.stderr)
  return ran.stdout
}
treering("direct_user", "init")
treering("direct_user", "remember", "The office is in Bergen.", "--session", "good")
treering("model", "remember", "The kettle is made of copper.", "--session", "bad")
treering("model", "remember", `A note: ${HOSTILE}`, "--session", "bad")

const client = new Client({ name: "host", version: "1" }, { capabilities: { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } } } })
await client.connect(new StdioClientTransport({ command: program, args: ["--store", join(home, "store"), "serve", "--mcp"], env, cwd: home }))
const { tools } = await client.listTools()
const uri = getToolUiResourceUri(tools.find(({ name }) => name === "memory_inbox"))
const { resources } = await client.listResources()
assert.ok(resources.some((resource) => resource.uri === uri))
const { contents } = await client.readResource({ uri })
assert.equal(contents[0].mimeType, "text/html;profile=mcp-app")
const result = await client.callTool({ name: "memory_inbox", arguments: {} })

// The host: a page with the policy that a client sets for an app which asks for no address, and a sandboxed frame in it.
const policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; frame-src 'self' data: blob:"
const host = `<!doctype html><style>iframe{width:100%;height:900px;border:0}</style><iframe sandbox="allow-scripts"></iframe><script>
const frame = document.querySelector("iframe")
addEventListener("message", (event) => event.source === frame.contentWindow && fromApp(JSON.stringify(event.data)))
</script>`
const web = createServer((request, response) => response.writeHead(200, { "content-type": "text/html", "content-security-policy": policy }).end(host))
await new Promise((done) => web.listen(0, "127.0.0.1", done))
const browser = await puppeteer.launch({ executablePath: process.env.BROWSER, args: ["--no-sandbox"] })
const page = await browser.newPage()
await page.setViewport({ width: 700, height: 1000 })
const faults = []
const requests = []
page.on("console", (message) => message.type() === "error" && faults.push(message.text()))
page.on("pageerror", (error) => faults.push(String(error)))
page.on("request", (request) => requests.push(request.url()))
const called = []
const transport = {
  start: async () => {},
  close: async () => {},
  send: async (message) => page.evaluate((data) => document.querySelector("iframe").contentWindow.postMessage(data, "*"), message),
}
await page.exposeFunction("fromApp", (text) => {
  const message = JSON.parse(text)
  if (message === "stolen") return faults.push("a text ran as a script")
  if (message.method === "tools/call") called.push(message.params.name)
  transport.onmessage?.(message)
})
await page.goto(`http://127.0.0.1:${web.address().port}/`)
const bridge = new AppBridge(client, { name: "host", version: "1" }, { serverTools: {}, serverResources: {} }, { hostContext: { theme: "dark" } })
const ready = new Promise((done) => (bridge.oninitialized = done))
await bridge.connect(transport)
await page.evaluate((html) => (document.querySelector("iframe").srcdoc = html), contents[0].text)
await ready
await bridge.sendToolInput({ arguments: {} })
await bridge.sendToolResult(result)

const frame = () => page.frames().find((one) => one !== page.mainFrame())
const text = () => frame().evaluate(() => document.body.innerText)
const until = async (pattern) => {
  for (let tries = 0; tries < 100; tries++) {
    if (pattern.test(await text())) return
    await new Promise((done) => setTimeout(done, 100))
  }
  assert.fail(`${pattern} is not in: ${await text()}`)
}
const press = async (label, near = "") => {
  const handle = await frame().evaluateHandle(
    (label, near) => [...document.querySelectorAll("button")].find((button) => button.textContent === label && button.parentElement.textContent.includes(near)),
    label,
    near,
  )
  await handle.asElement().click()
}
await until(/Bergen/)
await until(/onerror=/)
await page.screenshot({ path: join(folder, "app-inbox.png") })
// What the person stored is beyond a model, and so beyond the page.
await press("What this session did", "Bergen")
await until(/less_trusted/)
await press("What this session did", "kettle")
await until(/Session bad/)
await until(/copper/)
await page.screenshot({ path: join(folder, "app-session.png") })
await press("Take the session back")
await press("Yes")
await until(/reverted/)
assert.ok(!/copper/.test(await text()))
assert.match(await text(), /Bergen/)
// What only a person may do is a tool of the page alone, and needs the ticket that is in the page.
const { tools: all } = await client.listTools()
assert.deepEqual(all.find(({ name }) => name === "memory_decide")._meta.ui.visibility, ["app"])
assert.equal((await client.callTool({ name: "memory_decide", arguments: { action: "changes", session: "good", ticket: "" } })).isError, true)
await page.screenshot({ path: join(folder, "app-after.png") })
assert.deepEqual(faults, [])
assert.deepEqual(requests.filter((url) => !url.startsWith(`http://127.0.0.1:${web.address().port}/`) && !url.startsWith("about:")), [])
assert.equal(await frame().evaluate(() => document.querySelectorAll("img, b").length), 0)
console.log(`the app: ${called.length} calls (${[...new Set(called)].join(", ")}), no request, no fault`)
await browser.close()
await client.close()
web.close()
process.exit(0)
