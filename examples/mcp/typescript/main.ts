// The official TypeScript SDK starts `treering serve --mcp`, remembers a fact, recalls it, and takes a wrong one back.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

// The arguments name the program and its options, for example: treering serve --mcp --structured --store memory
const [command = "treering", ...args] = process.argv.slice(2);

type Hits = { hits: { snippet: string }[] };

const client = new Client({ name: "example", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command, args: args.length > 0 ? args : ["serve", "--mcp", "--structured"] }));

async function call<Answer>(name: string, given: Record<string, unknown> = {}): Promise<Answer> {
  const result = await client.callTool({ name, arguments: given });
  if (result.isError) throw new Error(JSON.stringify(result.content)); // The text is written for a model.
  return result.structuredContent as Answer;
}

await call("memory_remember", { text: "The office is in Oslo.", id: "facts/office" });
await call("memory_remember", { text: "The office is on the moon.", id: "facts/office" });
const wrong = await call<Hits>("memory_recall", { query: "where is the office" });
console.log("before undo:", wrong.hits[0]?.snippet);

await call("memory_undo"); // Takes back the last change of this connection.
const right = await call<Hits>("memory_recall", { query: "where is the office" });
console.log("after undo:", right.hits[0]?.snippet);
await client.close();
