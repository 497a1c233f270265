// The official TypeScript SDK connects to the server, lists and calls every tool, and reads every kind of resource. The
// SDK checks each structured answer against the schema of its tool. The arguments are a command, or the URL of a running
// server and its token.

import assert from "node:assert";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [command, ...args] = process.argv.slice(2);
const calls = [
  ["memory_remember", { text: "Vera drinks green tea.", id: "facts/tea" }],
  ["memory_recall", { query: "tea" }],
  ["memory_get", { id: "facts/tea" }],
  ["memory_note", { text: "Ask about the lease." }],
  ["memory_note", { action: "search", text: "lease" }],
  ["memory_snapshot", { name: "before" }],
  ["memory_forget", { ids: ["facts/tea"] }],
  ["memory_snapshot", { action: "diff", from: "before" }],
  ["memory_snapshot", { action: "list" }],
  ["memory_undo", { dry_run: true }],
  ["memory_undo", {}],
  ["memory_undo", { action: "revert", dry_run: true }],
  ["memory_undo", { action: "rollback", to: "before", dry_run: true }],
  ["memory_status", {}],
  ["memory_history", { id: "facts/tea" }],
  ["memory_blame", { id: "facts/tea" }],
  ["memory_envelope", {}],
  ["memory_append", { entries: [{ text: "Green tea, please.", speaker: "assistant" }] }],
  ["memory_unforget", { ids: [] }],
  ["memory_quarantine", {}],
  ["memory", { command: "view", path: "/memories" }],
];
const client = new Client({ name: "check", version: "1" });
const transport = command.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(command), { requestInit: { headers: { Authorization: `Bearer ${args[0]}` } } })
  : new StdioClientTransport({ command, args, cwd: process.cwd() });
await client.connect(transport);
const { tools } = await client.listTools();
assert.deepEqual(new Set(tools.map((tool) => tool.name)), new Set(calls.map(([name]) => name)));
for (const [name, given] of calls) {
  const result = await client.callTool({ name, arguments: given });
  assert(!result.isError, `${name}: ${JSON.stringify(result)}`);
}
const refused = await client.callTool({ name: "memory_recall", arguments: { q: "tea" } });
assert(refused.isError);
const uris = ["status", "object/facts%2Ftea", "snapshot/before", "diff/before..@", "envelope"].map((path) => `memory://${path}`);
for (const uri of uris) {
  const read = await client.readResource({ uri });
  assert(read.contents[0].text, uri);
}
for (const { name } of (await client.listPrompts()).prompts) {
  assert((await client.getPrompt({ name })).messages.length > 0);
}
await client.close();
console.log(`typescript: ${tools.length} tools, ${calls.length} calls, ${uris.length} resources`);
