// The checkpointer and the store for LangGraph.js.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { InMemoryStore } from "@langchain/langgraph-checkpoint";
import { TreeringSaver, TreeringStore } from "treering/langgraph";
import { agent, fails, folder, memory } from "./helpers.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

test("the checkpointer passes the validation of LangGraph", () => {
  const vitest = fileURLToPath(new URL("../node_modules/vitest/vitest.mjs", import.meta.url));
  const done = spawnSync(process.execPath, [vitest, "run", "--globals", "tests/langgraph.spec.mjs"], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1", NODE_V8_COVERAGE: "" },
  });
  assert.equal(done.status, 0, done.stdout.slice(-3000) + done.stderr.slice(-1000));
  assert.match(done.stdout, /Tests\s+7\d\d passed/);
});

const State = Annotation.Root({ messages: Annotation({ reducer: (old, more) => [...old, ...more], default: () => [] }) });

function echo(saver, store) {
  return new StateGraph(State)
    .addNode("echo", ({ messages }) => ({ messages: [`heard ${messages.at(-1)}`] }))
    .addEdge(START, "echo")
    .addEdge("echo", END)
    .compile({ checkpointer: saver, store });
}

test("a graph goes on with its conversation, and a rollback takes it back", async (t) => {
  const a = await agent(t);
  const store = new TreeringStore(a);
  const graph = echo(new TreeringSaver(a), store);
  const thread = { configurable: { thread_id: "1" } };
  await graph.invoke({ messages: ["hello"] }, thread);
  await store.put(["users", "vera"], "likes", { text: "green tea" });
  await a.snapshot("before");
  await graph.invoke({ messages: ["nonsense"] }, thread);
  assert.equal((await graph.getState(thread)).values.messages.length, 4);
  await a.rollback("before", { across_lanes: true });
  assert.deepEqual((await graph.getState(thread)).values.messages, ["hello", "heard hello"]);
  assert.equal((await store.search(["users"], { query: "tea" }))[0].key, "likes");
});

test("a conversation is kept on disk", async (t) => {
  const path = `${folder(t)}/m`;
  const thread = { configurable: { thread_id: "vera/1 💬" } };
  let saver = await TreeringSaver.open(path);
  await echo(saver).invoke({ messages: ["hello"] }, thread);
  await saver.close();
  saver = await TreeringSaver.open(path);
  assert.equal((await echo(saver).getState(thread)).values.messages.length, 2);
  const history = [];
  for await (const one of echo(saver).getStateHistory(thread)) history.push(one);
  assert.ok(history.length >= 3);
  await saver.close();
});

test("a thread is a session, and one session is taken back alone", async (t) => {
  const m = await memory(t);
  const graph = echo(new TreeringSaver(m));
  for (const id of ["1", "2"]) await graph.invoke({ messages: ["hello"] }, { configurable: { thread_id: id } });
  await m.revert({ session: "1" });
  assert.equal((await graph.getState({ configurable: { thread_id: "1" } })).values.messages, undefined);
  assert.equal((await graph.getState({ configurable: { thread_id: "2" } })).values.messages.length, 2);
});

test("a thread is deleted, and undo brings it back", async (t) => {
  const m = await memory(t);
  const saver = new TreeringSaver(m);
  const thread = { configurable: { thread_id: "1" } };
  await echo(saver).invoke({ messages: ["hello"] }, thread);
  await saver.deleteThread("1");
  assert.equal(await saver.getTuple(thread), undefined);
  await (await m.withSession("1")).undo();
  assert.ok(await saver.getTuple(thread));
});

test("two savers of one thread at once lose nothing", async (t) => {
  const m = await memory(t);
  const savers = [new TreeringSaver(m), new TreeringSaver(m)];
  const thread = { configurable: { thread_id: "1", checkpoint_ns: "", checkpoint_id: "c" } };
  await Promise.all(Array.from({ length: 20 }, (_, i) => savers[i % 2].putWrites(thread, [["messages", `${i}`]], `task-${i}`)));
  assert.equal((await (await m.view()).query({ prefix: "langgraph/1/write/" })).length, 20);
});

test("a long conversation grows by its new messages", async (t) => {
  const m = await memory(t);
  const graph = echo(new TreeringSaver(m));
  const thread = { configurable: { thread_id: "1" } };
  const bytes = async () => {
    const chunks = await (await m.view()).query({ kind: "chunk" });
    return chunks.reduce((sum, one) => sum + one.attributes.data.length, 0);
  };
  const turn = (i) => graph.invoke({ messages: [`${i} ${"word ".repeat(500)}`] }, thread);
  for (let i = 0; i < 12; i++) await turn(i);
  const before = await bytes();
  await turn(12);
  assert.ok((await bytes()) - before < before / 2, `${before} ${await bytes()}`);
  assert.equal((await graph.getState(thread)).values.messages.length, 26);
});

test("put and putWrites need a thread and a checkpoint", async (t) => {
  const saver = new TreeringSaver(await memory(t));
  await fails(saver.put({}, { id: "c", channel_values: {} }, {}, {}), "InvalidInputError");
  await fails(saver.putWrites({ configurable: { thread_id: "1" } }, [], "t"), "InvalidInputError");
  assert.equal(await saver.getTuple({}), undefined);
});

/** Does the same with our store and that of LangGraph, and compares. */
async function same(t, work) {
  const ours = await work(new TreeringStore(await agent(t)));
  const theirs = await work(new InMemoryStore());
  assert.deepEqual(ours, theirs);
  return ours;
}

const plain = (item) => item && { namespace: item.namespace, key: item.key, value: item.value };

test("the store puts, gets and deletes as that of LangGraph", (t) =>
  same(t, async (store) => {
    await store.put(["a", "b"], "k", { n: 1 });
    await store.put(["a", "b"], "k", { n: 2 });
    const found = [plain(await store.get(["a", "b"], "k")), await store.get(["a"], "k")];
    await store.delete(["a", "b"], "k");
    return [...found, await store.get(["a", "b"], "k")];
  }));

test("the store filters as that of LangGraph", (t) =>
  same(t, async (store) => {
    for (let i = 0; i < 6; i++) await store.put(["docs", i % 2 ? "odd" : "even"], `k${i}`, { n: i, tag: { deep: i > 2 } });
    const filters = [{ n: 3 }, { n: { $gt: 3 } }, { n: { $gte: 1, $lt: 3 } }, { n: { $ne: 0 } }, { n: { $lte: 1 } }, { n: { $eq: 2 } }, { none: 1 }];
    const found = [];
    for (const filter of filters) {
      const items = await store.search(["docs"], { filter, limit: 20 });
      found.push(items.map((one) => one.key).sort());
    }
    return found;
  }));

test("the store pages", (t) =>
  same(t, async (store) => {
    for (let i = 0; i < 15; i++) await store.put(["docs"], `k${i}`, { n: i });
    return [(await store.search(["docs"])).length, (await store.search(["docs"], { offset: 10 })).length, (await store.search([])).length];
  }));

test("the store lists namespaces as that of LangGraph", (t) =>
  same(t, async (store) => {
    for (const ns of [["a", "b", "c"], ["a", "b", "d"], ["x", "y"], ["a", "z"]]) await store.put(ns, "k", {});
    return [
      await store.listNamespaces(),
      await store.listNamespaces({ prefix: ["a"] }),
      await store.listNamespaces({ suffix: ["d"] }),
      await store.listNamespaces({ prefix: ["a", "*"] }),
      await store.listNamespaces({ maxDepth: 2 }),
      await store.listNamespaces({ limit: 2, offset: 1 }),
    ].map((list) => list.map((one) => one.join("/")).sort());
  }));

test("a batch reads the state before its writes, and is one commit", async (t) => {
  const a = await agent(t);
  const store = new TreeringStore(a);
  const before = (await a.commits()).length;
  const [got, put] = await store.batch([
    { namespace: ["n"], key: "k" },
    { namespace: ["n"], key: "k", value: { n: 1 } },
    { namespace: ["n"], key: "l", value: { n: 2 } },
  ]);
  assert.deepEqual([got, put], [null, undefined]);
  assert.equal((await a.commits()).length, before + 1);
});

test("a search by words finds the indexed fields alone", async (t) => {
  const store = new TreeringStore(await agent(t), { fields: ["title"] });
  await store.put(["docs"], "a", { title: "green tea", body: "coffee" });
  await store.put(["docs"], "b", { title: "nothing", body: "coffee" }, ["body"]);
  await store.put(["docs"], "c", { title: "green tea" }, false);
  const keys = async (query) => (await store.search(["docs"], { query })).map((one) => one.key);
  assert.deepEqual(await keys("tea"), ["a"]);
  assert.deepEqual(await keys("coffee"), ["b"]);
  assert.ok((await store.search(["docs"], { query: "tea" }))[0].score > 0);
});

test("items keep their times, and names of any kind work", async (t) => {
  const store = new TreeringStore(await agent(t));
  const namespace = ["Ünïcode", "a/b", "x".repeat(100), "1", "2", "3", "4", "5"];
  await store.put(namespace, "key with spaces / 💬", { n: 1 });
  const first = await store.get(namespace, "key with spaces / 💬");
  await new Promise((done) => setTimeout(done, 5));
  await store.put(namespace, "key with spaces / 💬", { n: 2 });
  const second = await store.get(namespace, "key with spaces / 💬");
  assert.equal(second.createdAt.getTime(), first.createdAt.getTime());
  assert.ok(second.updatedAt > first.updatedAt);
  assert.equal((await store.search(namespace.slice(0, 7)))[0].key, "key with spaces / 💬");
});

test("an unknown operator is invalid input", async (t) => {
  const store = new TreeringStore(await agent(t));
  await store.put(["a"], "k", { n: 1 });
  await fails(store.search(["a"], { filter: { n: { $near: 1 } } }), "InvalidInputError");
});

test("the store of a folder is opened and closed", async (t) => {
  const store = await TreeringStore.open(`${folder(t)}/m`);
  await store.put(["a"], "k", { n: 1 });
  await store.close();
  await fails(store.get(["a"], "k"), "HandleError", "closed");
});
