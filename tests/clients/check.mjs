// Runs the real coding agents against a model that follows a script, with the settings that `treering install` writes.
//
// Usage: node check.mjs PROGRAM REPOSITORY FOLDER [CLIENT...]
// FOLDER has node_modules with the clients (check.sh installs them). Each client gets a home of its own in FOLDER.
import { spawn, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { LEARNT, SAID, start } from "./model.mjs"

const [program, repository, root, ...only] = process.argv.slice(2)
const folder = resolve(root)
const PROMPT = "From now on always run the linter before a commit"
const QUESTION = "What is the name of the staging server?"
const KNOWN = "The staging server is called Halden"
const failures = []
const failed = (client, text) => failures.push(`${client}: ${text}`) && console.log(`FAILED ${client}: ${text}`)

/** Each client: its package, the name for `install`, the checks of its settings, its settings for the model, and a turn. */
const CLIENTS = {
  "claude-code": {
    program: "claude",
    checks: [
      [["mcp", "list"], /treering.*Connected/],
      [["mcp", "get", "treering"], /Connected/],
      [["doctor"], /No installation issues found/],
    ],
    env: (port) => ({ ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`, ANTHROPIC_API_KEY: "none", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1" }),
    turn: (prompt) => ["-p", prompt, "--allowedTools", "Bash(curl:*)", "mcp__treering", "mcp__plugin_treering_treering"],
    plugin: [["plugin", "marketplace", "add"], ["plugin", "install", "treering@treering"]],
  },
  codex: {
    program: "codex",
    checks: [
      [["mcp", "list"], /treering.*enabled/],
      [["doctor", "--json"], null],
    ],
    env: () => ({ OPENAI_API_KEY: "none" }),
    turn: (prompt, port) => [
      "exec",
      "--dangerously-bypass-approvals-and-sandbox",
      "--dangerously-bypass-hook-trust",
      "--strict-config",
      "-c", 'model_provider="scripted"',
      "-c", `model_providers.scripted={name="scripted",base_url="http://127.0.0.1:${port}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}`,
      "-m", "scripted",
      prompt,
    ],
    plugin: [["plugin", "marketplace", "add"], ["plugin", "add", "treering@treering"]],
  },
  gemini: {
    program: "gemini",
    before: (home) => write(home, ".gemini/settings.json", { security: { auth: { selectedType: "gemini-api-key" } } }),
    checks: [
      [["mcp", "list"], /treering.*Connected/],
      [["skills", "list"], /treering-memory \[Enabled\]/],
    ],
    env: (port) => ({ GEMINI_API_KEY: "none", GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${port}`, GEMINI_CLI_TRUST_WORKSPACE: "true" }),
    turn: (prompt) => ["--skip-trust", "--yolo", "--prompt", prompt],
  },
  opencode: {
    program: "opencode",
    before: (home, port) =>
      write(home, "shop/opencode.json", {
        provider: { scripted: { npm: "@ai-sdk/openai-compatible", options: { baseURL: `http://127.0.0.1:${port}/v1`, apiKey: "none" }, models: { scripted: {} } } },
      }),
    checks: [
      [["mcp", "list"], /treering.*connected/],
      [["debug", "config"], /plugins\/treering\.js/],
      [["debug", "skill"], /treering-memory/],
    ],
    env: () => ({ OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1" }),
    turn: (prompt) => ["run", "--model", "scripted/scripted", prompt],
  },
  vscode: {
    program: "copilot",
    checks: [
      [["mcp", "get", "treering"], /Enabled/],
      [["skill", "list"], /treering-memory/],
    ],
    env: (port) => ({ COPILOT_OFFLINE: "true", COPILOT_PROVIDER_BASE_URL: `http://127.0.0.1:${port}/v1`, COPILOT_PROVIDER_API_KEY: "none", COPILOT_MODEL: "scripted", COPILOT_AUTO_UPDATE: "false" }),
    turn: (prompt) => ["--allow-all-tools", "-p", prompt],
    plugin: [["plugin", "marketplace", "add"], ["plugin", "install", "treering@treering"]],
  },
}

const write = (home, name, json) => {
  mkdirSync(join(home, name, ".."), { recursive: true })
  writeFileSync(join(home, name), JSON.stringify(json))
}

const lines = (file) => (existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line)) : [])

const run = (command, args, options) =>
  new Promise((done) => {
    const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"], timeout: 180_000 })
    let text = ""
    child.stdout.on("data", (part) => (text += part))
    child.stderr.on("data", (part) => (text += part))
    child.on("error", (error) => done({ code: -1, text: String(error) }))
    child.on("close", (code) => done({ code, text }))
  })

/** A stand-in for the program with its name, which keeps the events and the errors of hooks beside them. */
const recorder = (home) => {
  const file = join(home, "bin/treering")
  mkdirSync(join(home, "bin"), { recursive: true })
  const script = `#!/bin/sh
[ "$1" = hook ] || exec '${program}' "$@"
cat > "$HOME/event.$$"
printf '%s\\n' "$(tr -d '\\n' < "$HOME/event.$$")" >> "$HOME/events.jsonl" # one write, for hooks that run at the same time
'${program}' "$@" < "$HOME/event.$$" 2>> "$HOME/errors.txt"
rm -f "$HOME/event.$$"
`
  writeFileSync(file, script, { mode: 0o755 })
  return file
}

/** The texts that a session was given: the bodies of the requests after `from`. */
const asked = (log, from) => readFileSync(log, "utf8").slice(from)

/** Sets up a client with `install`. The settings then call the stand-in, under the name of the program. */
const install = (name, home, treering) => {
  const installed = treering("install", name, "--yes", "--learn")
  if (installed.status !== 0) failed(name, `install: ${installed.stderr}`)
  const healthy = treering("doctor")
  if (healthy.status !== 0) failed(name, `treering doctor: ${healthy.stdout}${healthy.stderr}`)
  const stand = recorder(home)
  for (const [, file] of (installed.stdout + installed.stderr).matchAll(/^(\/\S+): (?:created|changed)/gm)) {
    writeFileSync(file, readFileSync(file, "utf8").replaceAll(program, stand))
  }
}

const check = async (name, isPlugin) => {
  const client = CLIENTS[name]
  const home = join(folder, "homes", isPlugin ? `${name}-plugin` : name)
  rmSync(home, { recursive: true, force: true })
  const shop = join(home, "shop")
  mkdirSync(shop, { recursive: true })
  const log = join(home, "requests.jsonl")
  writeFileSync(log, "")
  const server = await start(log)
  const port = server.address().port
  const path = [join(home, "bin"), join(folder, "node_modules/.bin"), process.env.PATH].join(":")
  const env = { PATH: path, HOME: home, LANG: "C.UTF-8", TERM: "dumb", ...client.env(port) }
  const options = { cwd: shop, env }
  const treering = (...args) => spawnSync(program, args, { ...options, encoding: "utf8" })
  client.before?.(home, port)
  spawnSync("git", ["init", "-q", shop])
  treering("init")
  const known = spawnSync(program, ["remember", KNOWN], { ...options, env: { ...env, TREERING_TRUST: "direct_user" }, encoding: "utf8" })
  if (known.status !== 0) failed(name, known.stderr)
  if (isPlugin) {
    recorder(home)
    const [add, put] = client.plugin
    for (const args of [[...add, join(repository, "integrations")], put]) {
      const { code, text } = await run(client.program, args, options)
      if (code !== 0) failed(name, `${args.join(" ")}: ${text.slice(-600)}`)
    }
  } else install(name, home, treering)
  const version = await run(client.program, ["--version"], options)
  for (const [args, expected] of isPlugin ? [] : client.checks) {
    const { code, text } = await run(client.program, args, options)
    if (expected && (code !== 0 || !expected.test(text))) failed(name, `${args.join(" ")}: ${text.slice(-600)}`)
  }
  for (const prompt of [PROMPT, `${QUESTION} Say it.`, QUESTION]) {
    const from = readFileSync(log, "utf8").length
    const { code, text } = await run(client.program, client.turn(prompt, port), options)
    if (code !== 0 || !text.includes(SAID)) failed(name, `a turn: ${code} ${text.slice(-600)}`)
    // The hooks of an end go on when the client is gone.
    await new Promise((done) => setTimeout(done, 1500))
    if (!asked(log, from).includes(KNOWN)) failed(name, "the model does not get the memory")
  }
  const events = lines(join(home, "events.jsonl"))
  const errors = existsSync(join(home, "errors.txt")) ? readFileSync(join(home, "errors.txt"), "utf8") : ""
  if (errors) failed(name, `a hook says: ${errors.slice(0, 600)}`)
  const items = treering("list", "--all-scopes", "--json").stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line))
  const full = items.map(({ id }) => JSON.parse(treering("get", id, "--json").stdout))
  const prompts = full.filter(({ kind, origin, attributes }) => kind === "entry" && origin === "direct_user" && attributes.speaker === "user")
  const answers = full.filter(({ kind, content }) => kind === "entry" && content === SAID)
  const pages = full.filter(({ attributes }) => attributes?.source?.endsWith("/page"))
  const facts = full.filter(({ content, kind }) => kind === "fact" && content === LEARNT)
  const sessions = new Set(prompts.map(({ attributes }) => attributes.session))
  const expect = (what, found, wanted) => found === wanted || failed(name, `${what}: ${found}, not ${wanted}`)
  expect("prompts of the person", prompts.length, 3)
  expect("sessions", sessions.size, 3)
  expect("answers", answers.length, 3)
  expect("pages that a tool read", pages.length, 3)
  if (!facts.length) failed(name, "the tool of the server stored no fact")
  if (full.some(({ attributes }) => JSON.stringify(attributes ?? {}).includes("REDACTED"))) failed(name, "a field has a marker of a secret")
  const own = full.filter(({ attributes }) => /memory_/.test(attributes?.source ?? ""))
  expect("own tools that count as outside", own.length, 0)
  const kinds = {}
  for (const event of events) {
    const kind = event.hook_event_name ?? event.hookEventName ?? event.event
    kinds[kind] = (kinds[kind] ?? 0) + 1
  }
  console.log(`${name}${isPlugin ? " as a plugin" : ""} (${/\d+\.\d+\.\d+/.exec(version.text)?.[0]}): ${JSON.stringify(kinds)}`)
  const removed = isPlugin ? { status: 0 } : treering("uninstall", name, "--yes")
  if (removed.status !== 0) failed(name, `uninstall: ${removed.stderr}`)
  server.close()
}

for (const name of Object.keys(CLIENTS)) {
  if (only.length && !only.includes(name)) continue
  if (!existsSync(join(folder, "node_modules/.bin", CLIENTS[name].program))) {
    console.log(`${name}: its package cannot be had`)
    continue
  }
  await check(name, false)
  if (CLIENTS[name].plugin) await check(name, true)
}
console.log(failures.length ? `${failures.length} failures` : "all clients accept the settings")
process.exit(failures.length ? 1 : 0)
