// Workers, processes, and their ends.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { Agent, Memory } from "treering";
import { agent, fails, folder } from "./helpers.mjs";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

async function worked(data) {
  const worker = new Worker(here("worker.mjs"), { workerData: data });
  const [answer] = await once(worker, "message");
  assert.equal(answer, "done");
  return worker;
}

test("a worker uses a shared store", async (t) => {
  const a = await agent(t);
  const worker = await worked({ task: "remember", shared: await a.share() });
  await worker.terminate();
  assert.equal((await a.recall("worker")).hits.length, 1);
  assert.equal(a.closed, false);
});

test("a worker opens the folder of its parent", async (t) => {
  const path = `${folder(t)}/m`;
  const a = await Agent.open(path, { project: "test" });
  await (await worked({ task: "remember", path })).terminate();
  await a.refresh();
  assert.equal((await a.recall("worker")).hits.length, 1);
  await a.close();
});

test("a store that another process holds is busy", async (t) => {
  const path = `${folder(t)}/m`;
  const holder = spawn(process.execPath, [here("holder.mjs"), path], { cwd: here("..") });
  t.after(() => holder.kill());
  await once(holder.stdout, "data");
  const m = await Memory.open(path, { wait: 0 });
  t.after(() => m.close());
  await fails(m.put("a"), "BusyError");
});

test("a shared number is used once a handle, and a wrong one is closed", async (t) => {
  const a = await agent(t);
  const shared = await a.share();
  const other = await Agent.from(shared);
  await other.remember("The office is in Oslo");
  assert.equal((await a.recall("office")).hits.length, 1);
  for (const wrong of [0, -1, 4_000_000_000, NaN, "x", null, undefined]) await fails(Agent.from(wrong), "HandleError", "closed");
});

test("a worker ends while its calls run", async (t) => {
  const a = await agent(t);
  await a.remember("The office is in Oslo");
  for (let i = 0; i < 5; i++) await (await worked({ task: "stuck", shared: await a.share() })).terminate();
  assert.equal((await a.recall("office")).hits.length, 1);
});

test("workers that close nothing end", async () => {
  const workers = await Promise.all(Array.from({ length: 4 }, () => worked({ task: "forget" })));
  for (const worker of workers) await worker.terminate();
});

/** Runs a program of its own, and returns how it ended. */
function program(code, more = []) {
  const done = spawnSync(process.execPath, [...more, "--input-type=module", "-e", code], {
    cwd: here(".."),
    encoding: "utf8",
    timeout: 30_000,
    env: { ...process.env, TREERING_MODEL: "none" },
  });
  return { code: done.status, signal: done.signal, out: done.stdout, errors: done.stderr };
}

test("a process with open handles ends by itself", () => {
  const done = program(`
    import { Agent, Memory } from "treering";
    const agent = await Agent.inMemory();
    const memory = await Memory.inMemory();
    globalThis.kept = [agent, memory, await memory.view(), await memory.draft(), await memory.watch()];
    await agent.remember("x y z");
    console.log("end");
  `);
  assert.deepEqual(done, { code: 0, signal: null, out: "end\n", errors: "" });
});

test("process.exit works while calls run", () => {
  const done = program(`
    import { Agent } from "treering";
    const agent = await Agent.inMemory();
    for (let i = 0; i < 200; i++) agent.remember("x y z " + i);
    process.exit(3);
  `);
  assert.deepEqual([done.code, done.signal, done.errors], [3, null, ""]);
});

test("process.exit works while an embedder runs", () => {
  const done = program(`
    import { Agent } from "treering";
    const agent = await Agent.inMemory({ embedder: () => { process.exit(4); }, embedder_name: "x" });
    await agent.remember("x y z");
    await agent.recall("x y z");
  `);
  assert.deepEqual([done.code, done.signal, done.errors], [4, null, ""]);
});

test("an uncaught error ends the process as usual", () => {
  const done = program(`
    import { Agent } from "treering";
    const agent = await Agent.inMemory();
    agent.remember("x y z");
    throw new Error("mine");
  `);
  assert.equal(done.code, 1);
  assert.match(done.errors, /Error: mine/);
});

test("what is written before an exit is there", (t) => {
  const path = `${folder(t)}/m`;
  program(`
    import { Memory } from "treering";
    const memory = await Memory.open(${JSON.stringify(path)}, { create: true, sync_every: 3600 });
    await memory.put("a", "x");
    process.exit(0);
  `);
  const done = program(`
    import { Memory } from "treering";
    console.log((await (await Memory.open(${JSON.stringify(path)})).get("a")).content);
  `);
  assert.equal(done.out, "x\n");
});

test("handles that nobody uses are released", () => {
  const done = program(
    `
    import { Memory } from "treering";
    const memory = await Memory.inMemory();
    await memory.put("a", "x");
    for (let i = 0; i < 3000; i++) await memory.view();
    for (let i = 0; i < 5; i++) { globalThis.gc(); await new Promise((done) => setTimeout(done, 10)); }
    console.log((await (await memory.view()).get("a")).content, memory.closed);
  `,
    ["--expose-gc"],
  );
  assert.deepEqual([done.code, done.out], [0, "x false\n"]);
});

test("require and import give the same classes", () => {
  const done = program(`
    import { createRequire } from "node:module";
    import * as imported from "treering";
    const required = createRequire(process.cwd() + "/x.js")("treering");
    console.log(required.Memory === imported.Memory, required.NotFoundError === imported.NotFoundError, imported.version);
  `);
  assert.match(done.out, /^true true \d+\.\d+\.\d+\n$/);
});

test("a signal ends the wait for the lock of another process", async (t) => {
  const path = `${folder(t)}/m`;
  const holder = spawn(process.execPath, [here("holder.mjs"), path], { cwd: here("..") });
  await once(holder.stdout, "data");
  t.after(() => holder.kill());
  const m = await Memory.open(path, { wait: 20 });
  t.after(() => m.close());
  const started = Date.now();
  await assert.rejects(m.put("a", "x", { signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
  assert.ok(Date.now() - started < 10_000);
  let ticks = 0;
  const timer = setInterval(() => { ticks += 1; }, 5);
  const waiting = m.put("b", "x");
  await new Promise((done) => setTimeout(done, 200));
  clearInterval(timer);
  assert.ok(ticks > 5, "the event loop runs meanwhile");
  holder.stdin.end();
  await waiting;
  assert.deepEqual(await (await m.refresh()).ids(), ["b", "held"]);
});
