// Calls: their errors, cancelling, and the functions that the library calls.
import assert from "node:assert/strict";
import { once } from "node:events";
import test from "node:test";
import { Agent, Memory, TreeringError } from "treering";
import { agent, fails, folder, memory } from "./helpers.mjs";

test("an error has a code, a message, a hint and ids", async (t) => {
  const error = await fails(Memory.open(`${folder(t)}/none`), "NotFoundError", "no_store");
  assert.equal(error.name, "NotFoundError");
  assert.equal(typeof error.message, "string");
  assert.equal(typeof error.hint, "string");
  assert.deepEqual(error.ids, []);
  assert.ok(error instanceof Error);
  assert.ok(error instanceof TreeringError);
  assert.match(error.stack, /calls\.test\.mjs/);
});

test("an argument of a wrong type is invalid input", async (t) => {
  const [m, a] = [await memory(t), await agent(t)];
  for (const bad of [5, null, undefined, {}, [], true, Symbol("s"), () => 1]) {
    await fails(m.put(bad), "InvalidInputError", "invalid_input");
    await fails(a.remember(bad), "InvalidInputError", "invalid_input");
  }
});

test("an unknown option is named", async (t) => {
  const error = await fails((await agent(t)).recall("x", { limits: 5 }), "InvalidInputError");
  assert.match(error.message, /limits/);
});

test("values that JSON would lose are refused", async (t) => {
  const m = await memory(t);
  const circle = {};
  circle.circle = circle;
  for (const value of [10n, circle, new Map([[1, 2]]), new Set([1])]) {
    await fails(m.put("a", "x", { attributes: { value } }), "InvalidInputError", "invalid_input");
  }
  let deep = 1;
  for (let i = 0; i < 20_000; i++) deep = [deep];
  await fails(m.put("a", "x", { attributes: { deep } }), "InvalidInputError", "invalid_input");
});

test("a lone surrogate is refused, and other characters survive", async (t) => {
  const m = await memory(t);
  await fails(m.put("a", "\ud800"), "InvalidInputError", "invalid_input");
  await fails(m.put("\udc00", "x"), "InvalidInputError", "invalid_input");
  for (const text of ["😀", "\u0000", "é", "\u2028", "a\r\nb"]) {
    await m.put("a", text);
    assert.equal((await m.get("a")).content, text);
  }
});

test("whole numbers up to 2^53 survive", async (t) => {
  const m = await memory(t);
  await m.put("a", "x", { attributes: { n: Number.MAX_SAFE_INTEGER, m: Number.MIN_SAFE_INTEGER } });
  assert.deepEqual((await m.get("a")).attributes, { n: Number.MAX_SAFE_INTEGER, m: Number.MIN_SAFE_INTEGER });
});

test("a signal that is aborted stops a call before it begins", async (t) => {
  const m = await memory(t);
  const reason = new Error("mine");
  await assert.rejects(m.put("a", "x", { signal: AbortSignal.abort(reason) }), (error) => error === reason);
  assert.equal(await m.size(), 0);
  await fails(m.put("a", "x", { signal: "no" }), "InvalidInputError");
});

test("a signal that comes too late changes nothing", async (t) => {
  const m = await memory(t);
  const stop = new AbortController();
  await m.put("a", "x", { signal: stop.signal });
  stop.abort();
  assert.equal(await m.size(), 1);
});

test("many calls at once are all done", async (t) => {
  const m = await memory(t);
  await Promise.all(Array.from({ length: 500 }, (_, i) => m.put(`id/${i}`, `${i}`)));
  assert.equal(await m.size(), 500);
});

function embed(text) {
  return text.includes("car") || text.includes("automobile") ? [1, 0] : [0, 1];
}

test("an embedder finds by meaning, and may be async", async (t) => {
  for (const embedder of [embed, async (text) => Float32Array.from(embed(text))]) {
    const a = await agent(t, { embedder, embedder_name: "toy-1" });
    await a.remember("Vera bought an automobile");
    assert.equal((await a.recall("car")).hits[0].snippet, "Vera bought an automobile");
    assert.ok((await a.embed()).with_vector >= 1 || true);
  }
});

test("an embedder needs a name, and must be a function", async (t) => {
  const error = await fails(agent(t, { embedder: embed }), "InvalidInputError");
  assert.match(error.hint, /embedder_name/);
  await fails(agent(t, { embedder: 5, embedder_name: "x" }), "InvalidInputError");
});

test("an embedder that throws or returns nonsense is a warning", async (t) => {
  const bad = [() => { throw new Error("no model"); }, () => "text", () => [NaN], () => [0, 0], () => 5, () => null];
  for (const embedder of bad) {
    const a = await agent(t, { embedder, embedder_name: "toy-1" });
    const warned = once(process, "warning");
    await a.remember("Vera bought an automobile");
    await a.recall("automobile");
    assert.equal((await warned)[0].name, "TreeringWarning");
  }
});

test("an embedder may call the memory", async (t) => {
  let a;
  const embedder = async (text) => { await a?.scopes(); await a?.stats(); return embed(text); };
  a = await agent(t, { embedder, embedder_name: "toy-1" });
  const texts = ["one car", "two trees", "three boats", "four birds", "five roads", "six rivers"];
  await Promise.all(texts.map((text) => a.remember(text)));
  const found = await Promise.all(Array.from({ length: 30 }, () => a.recall("car")));
  assert.ok(found.every(({ hits }) => hits.length > 0));
});

test("a judge decides about contradictions", async (t) => {
  const judge = async (old, text) => (old.content.includes("home") && text.includes("home") ? "contradiction" : null);
  const a = await agent(t, { judge });
  await a.remember("Vera calls Porto her home");
  assert.equal((await a.remember("Vera calls Lisbon her home")).conflicts.length, 1);
});

test("a judge that throws stores nothing", async (t) => {
  const a = await agent(t, { judge: () => { throw new Error("no model"); } });
  await a.remember("Vera calls Porto her home");
  const error = await fails(a.remember("Vera calls Lisbon her home"), "IoError", "judge_failed");
  assert.match(error.message, /no model/);
  await fails(agent(t, { judge: "no" }), "InvalidInputError");
});

test("a judge that returns nonsense stores nothing", async (t) => {
  const a = await agent(t, { judge: () => 5 });
  await a.remember("Vera calls Porto her home");
  await fails(a.remember("Vera calls Lisbon her home"), "IoError", "judge_failed");
});

test("a signal ends a call whose embedder never returns", async (t) => {
  const a = await agent(t, { embedder: () => new Promise(() => {}), embedder_name: "stuck" });
  await Promise.race([
    a.remember("Vera bought an automobile", { signal: AbortSignal.timeout(100) }).catch(() => null),
    new Promise((_, no) => setTimeout(no, 5000, new Error("it hangs")).unref()),
  ]);
});

test("Agent and Memory are told apart", async (t) => {
  const m = await memory(t);
  const a = await Agent.from(await m.share());
  await fails(a.remember("x"), "HandleError");
});
