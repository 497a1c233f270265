// The memory for the Vercel AI SDK.
import assert from "node:assert/strict";
import test from "node:test";
import { generateText, isStepCount, simulateReadableStream, streamText, wrapLanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { memoryMiddleware, memoryTools } from "treering/ai";
import { agent } from "./helpers.mjs";

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const answer = (content, finishReason = "stop") => ({ content, finishReason: { unified: finishReason }, usage, warnings: [] });
const text = (said) => answer([{ type: "text", text: said }]);
const use = (toolName, input) =>
  answer([{ type: "tool-call", toolCallId: "1", toolName, input: JSON.stringify(input) }], "tool-calls");

/** Returns a model that gives these answers, and what it was asked. */
function model(...answers) {
  return new MockLanguageModelV4({ doGenerate: answers });
}

test("a model remembers, recalls and forgets by tools", async (t) => {
  const a = await agent(t);
  const asked = (first) =>
    generateText({ model: model(first, text("done")), prompt: "x", tools: memoryTools(a), stopWhen: isStepCount(3) });
  const stored = (await asked(use("remember", { text: "The office is in Oslo", tags: ["office"] }))).steps[0].toolResults[0].output;
  assert.equal(stored.status, "created");
  const found = (await asked(use("recall", { question: "office" }))).steps[0].toolResults[0].output;
  assert.equal(found[0].text, "The office is in Oslo");
  const gone = (await asked(use("forget", { id: stored.id }))).steps[0].toolResults[0].output;
  assert.deepEqual(gone, { forgotten: [stored.id] });
  assert.equal((await a.recall("office")).hits.length, 0);
  await a.undo();
  assert.equal((await a.recall("office")).hits.length, 1);
});

test("a tool can store as untrusted", async (t) => {
  const a = await agent(t);
  await memoryTools(a, { trust: "untrusted" }).remember.execute({ text: "The office is in Rome" }, {});
  assert.equal((await a.recall("office")).hits.length, 0);
});

test("the middleware tells the model what the memory knows", async (t) => {
  const a = await agent(t);
  await a.remember("The office is in Oslo", { pinned: true });
  const asked = model(text("In Oslo."));
  const wrapped = wrapLanguageModel({ model: asked, middleware: memoryMiddleware(a) });
  const done = await generateText({ model: wrapped, instructions: "Be brief.", prompt: "Where is the office?" });
  assert.equal(done.text, "In Oslo.");
  const { prompt } = asked.doGenerateCalls[0];
  assert.deepEqual(prompt.map((one) => one.role), ["system", "user", "user"]);
  assert.equal(prompt[0].content, "Be brief.");
  assert.match(prompt[1].content[0].text, /Oslo/);
  assert.equal(prompt[2].content[0].text, "Where is the office?");
});

test("the middleware keeps the transcript of a session", async (t) => {
  const a = await agent(t);
  const wrapped = wrapLanguageModel({ model: model(text("In Oslo.")), middleware: memoryMiddleware(a, { session: "s1" }) });
  await generateText({ model: wrapped, prompt: "Where is the office?" });
  assert.deepEqual((await a.entries("s1")).map((one) => one.content), ["Where is the office?", "In Oslo."]);
});

test("the middleware works with streams", async (t) => {
  const a = await agent(t);
  const chunks = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: "In " },
    { type: "text-delta", id: "1", delta: "Oslo." },
    { type: "text-end", id: "1" },
    { type: "finish", finishReason: { unified: "stop" }, usage },
  ];
  const streaming = new MockLanguageModelV4({ doStream: { stream: simulateReadableStream({ chunks }) } });
  const wrapped = wrapLanguageModel({ model: streaming, middleware: memoryMiddleware(a, { session: "s1" }) });
  let seen = "";
  for await (const part of streamText({ model: wrapped, prompt: "Where is the office?" }).textStream) seen += part;
  assert.equal(seen, "In Oslo.");
  assert.deepEqual((await a.entries("s1")).map((one) => one.content), ["Where is the office?", "In Oslo."]);
});

test("without a session nothing is stored", async (t) => {
  const a = await agent(t);
  const before = (await a.commits()).length;
  const wrapped = wrapLanguageModel({ model: model(text("x")), middleware: memoryMiddleware(a) });
  await generateText({ model: wrapped, prompt: "Where is the office?" });
  assert.equal((await a.commits()).length, before);
});
