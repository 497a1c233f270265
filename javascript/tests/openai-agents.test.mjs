// The session for the OpenAI Agents SDK.
import assert from "node:assert/strict";
import test from "node:test";
import { Agent as Assistant, Runner } from "@openai/agents";
import { MemorySession } from "@openai/agents";
import { TreeringSession } from "treering/openai-agents";
import { agent, fails, folder, memory } from "./helpers.mjs";

const user = (text) => ({ role: "user", content: text });
const said = (text) => ({ role: "assistant", status: "completed", content: [{ type: "output_text", text }] });
const texts = (items) => items.map((item) => (typeof item.content === "string" ? item.content : item.content[0].text));

/** A model that answers what it heard last, and remembers its input. */
class Echo {
  inputs = [];
  async getResponse(request) {
    this.inputs.push(request.input);
    const last = request.input.at(-1).content;
    const answer = said(`heard ${typeof last === "string" ? last : last[0].text}`);
    return { usage: { requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 }, output: [{ type: "message", ...answer }], responseId: "r" };
  }
}

function assistant() {
  const model = new Echo();
  const runner = new Runner({ modelProvider: { getModel: () => model }, tracingDisabled: true });
  return { model, run: (text, session) => runner.run(new Assistant({ name: "assistant", model: "echo" }), text, { session }) };
}

test("a run continues its conversation", async (t) => {
  const session = new TreeringSession("c1", await agent(t));
  const { model, run } = assistant();
  await run("hello", session);
  await run("and again", session);
  assert.deepEqual(texts(await session.getItems()), ["hello", "heard hello", "and again", "heard and again"]);
  assert.equal(model.inputs[1].length, 3);
});

test("undo takes back a turn", async (t) => {
  const session = new TreeringSession("c1", await agent(t));
  const { run } = assistant();
  await run("hello", session);
  await run("nonsense", session);
  const done = await session.undo();
  assert.equal(done.commit.op, "undo_turn");
  assert.deepEqual(texts(await session.getItems()), ["hello", "heard hello"]);
  await session.undo();
  assert.deepEqual(await session.getItems(), []);
  await fails(session.undo(), "NotFoundError", "nothing_to_undo");
});

test("the session does what that of the SDK does", async (t) => {
  const work = async (session) => {
    const seen = [];
    await session.addItems([]);
    await session.addItems([user("a"), said("b")]);
    await session.addItems([user("c")]);
    for (const limit of [undefined, 0, 1, 2, 10]) seen.push(texts(await session.getItems(limit)));
    seen.push(texts([await session.popItem()]), texts(await session.getItems()));
    await session.clearSession();
    return [...seen, await session.getItems(), await session.popItem()];
  };
  assert.deepEqual(await work(new TreeringSession("c1", await memory(t))), await work(new MemorySession()));
});

test("undo brings back what a pop, a clear and a compaction removed", async (t) => {
  const session = new TreeringSession("c1", await memory(t));
  await session.addItems([user("a"), said("b")]);
  await session.popItem();
  await session.undo();
  assert.deepEqual(texts(await session.getItems()), ["a", "b"]);
  await session.clearSession();
  await session.undo();
  assert.deepEqual(texts(await session.getItems()), ["a", "b"]);
  await session.replaceHistoryWithCompaction([user("short")]);
  assert.deepEqual(texts(await session.getItems()), ["short"]);
  await session.undo();
  assert.deepEqual(texts(await session.getItems()), ["a", "b"]);
});

test("items come back exactly, also large ones and those of tools", async (t) => {
  const session = new TreeringSession("c1", await memory(t));
  const items = [
    user("x".repeat(50_000)),
    { type: "function_call", callId: "1", name: "f", arguments: '{"a":1}', status: "completed", providerData: { n: [1.5, null] } },
    { type: "function_call_result", callId: "1", name: "f", status: "completed", output: { type: "text", text: "y".repeat(500_000) } },
    said("é 💬"),
  ];
  await session.addItems(items);
  assert.deepEqual(await session.getItems(), items);
  await session.popItem();
  await session.popItem();
  assert.deepEqual(await session.getItems(), items.slice(0, 2));
});

test("recall finds messages, and no outputs of tools", async (t) => {
  const a = await agent(t);
  const session = new TreeringSession("c1", a);
  await session.addItems([
    user("The office is in Oslo"),
    { type: "function_call_result", callId: "1", name: "f", status: "completed", output: { type: "text", text: "a kettle" } },
  ]);
  assert.equal((await a.recall("office")).hits.length, 1);
  assert.equal((await a.recall("kettle")).hits.length, 0);
});

test("two sessions are apart, and one is taken back alone", async (t) => {
  const m = await memory(t);
  const [one, two] = [new TreeringSession("1", m), new TreeringSession("2", m)];
  await one.addItems([user("a")]);
  await two.addItems([user("b")]);
  await m.revert({ session: "1" });
  assert.deepEqual([await one.getItems(), texts(await two.getItems())], [[], ["b"]]);
  assert.equal(await one.getSessionId(), "1");
});

test("items that are added at once are all kept", async (t) => {
  const m = await memory(t);
  const sessions = [new TreeringSession("1", m), new TreeringSession("1", m)];
  await Promise.all(Array.from({ length: 12 }, (_, i) => sessions[i % 2].addItems([user(`${i}`)])));
  assert.equal((await sessions[0].getItems()).length, 12);
});

test("a session of a folder goes on", async (t) => {
  const path = `${folder(t)}/m`;
  const first = await TreeringSession.open("any id 💬/1", path);
  await first.addItems([user("a")]);
  await first.close();
  const again = await TreeringSession.open("any id 💬/1", path);
  assert.deepEqual(texts(await again.getItems()), ["a"]);
  await again.close();
});
