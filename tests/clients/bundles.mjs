// Checks the bundles with the validators of their makers and against their published schemas, with patterns, and runs the
// packed MCP bundle.
//
// Usage: node bundles.mjs PROGRAM REPOSITORY FOLDER; FOLDER has node_modules (check.sh installs them).
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import Ajv2020 from "ajv/dist/2020.js"
import Ajv from "ajv"

const [program, repository, folder] = process.argv.slice(2)
const bundles = join(repository, "integrations")
const read = (file) => JSON.parse(readFileSync(file, "utf8"))
for (const [file, schema] of [
  ["agent-plugin/plugin.json", "plugin.json"],
  ["agent-plugin/mcp.json", "plugin-mcp.json"],
  ["mcpb/manifest.json", "mcpb.json"],
  ["registry/server.json", "server.json"],
]) {
  const rules = read(join(repository, "tests/fixtures/schemas", schema))
  const Kind = rules.$schema.includes("2020-12") ? Ajv2020 : Ajv
  const ajv = new Kind({ strict: false, validateFormats: false })
  assert.ok(ajv.validate(rules, read(join(bundles, file))), `${file}: ${ajv.errorsText()}`)
}
const home = join(folder, "homes/bundles")
rmSync(home, { recursive: true, force: true })
mkdirSync(home, { recursive: true })
const run = (command, args, options = {}) => {
  const ran = spawnSync(join(folder, "node_modules/.bin", command), args, { encoding: "utf8", env: { HOME: home, PATH: process.env.PATH }, ...options })
  assert.equal(ran.status, 0, `${command} ${args.join(" ")}: ${ran.stdout}${ran.stderr}`)
}
run("claude", ["plugin", "validate", "--strict", join(bundles, "agent-plugin")])
run("claude", ["plugin", "validate", "--strict", bundles])
// The bundle is the manifest with the program beside it.
const packed = join(home, "bundle")
mkdirSync(join(packed, "server"), { recursive: true })
cpSync(join(bundles, "mcpb/manifest.json"), join(packed, "manifest.json"))
cpSync(program, join(packed, "server/treering"))
run("mcpb", ["validate", join(packed, "manifest.json")])
run("mcpb", ["pack", packed, join(home, "treering.mcpb")])
run("mcpb", ["unpack", join(home, "treering.mcpb"), join(home, "unpacked")])
const { command, args } = read(join(home, "unpacked/manifest.json")).server.mcp_config
const filled = (text) => text.replace("${__dirname}", join(home, "unpacked")).replace("${user_config.store}", join(home, "store"))
const greeting = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "host", version: "1" } } }
const served = spawnSync(filled(command), args.map(filled), { input: `${JSON.stringify(greeting)}\n`, encoding: "utf8", env: { HOME: home } })
assert.equal(JSON.parse(served.stdout.split("\n")[0]).result?.serverInfo?.name, "treering", served.stdout + served.stderr)
console.log("bundles: 4 schemas, the plugin for Claude Code, the MCP bundle packed and started")
