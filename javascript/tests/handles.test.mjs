// Views, drafts, forks and watches.
import assert from "node:assert/strict";
import test from "node:test";
import { checkProof, Draft, View } from "treering";
import { agent, fails, memory, PERSON } from "./helpers.mjs";

test("a view never changes", async (t) => {
  const m = await memory(t);
  await m.put("a", "one");
  const view = await m.view();
  await m.put("a", "two");
  assert.equal((await view.get("a")).content, "one");
  assert.equal(view.size, 1);
  assert.equal(view.commit.seq, 1);
  assert.match(view.root, /^[0-9a-f]{64}$/);
  assert.ok(Date.parse(view.now) > 0);
});

test("a view is read by id, by many ids, and by conditions", async (t) => {
  const m = await memory(t);
  await m.put("a", "x", { kind: "task", attributes: { done: true } });
  await m.put("a/1", "y", { parent: "a", position: "2" });
  await m.put("a/2", "z", { parent: "a", position: "1" });
  const view = await m.view();
  assert.equal(await view.has("a"), true);
  assert.deepEqual((await view.getAll(["a", "b"])).map((one) => one && one.id), ["a", null]);
  assert.deepEqual((await view.query({ kind: "task" })).map((one) => one.id), ["a"]);
  assert.deepEqual((await view.query({ attributes: { done: true } })).map((one) => one.id), ["a"]);
  assert.deepEqual((await view.query({ prefix: "a/", limit: 1 })).map((one) => one.id), ["a/1"]);
  assert.deepEqual((await view.query({ parent: "a" })).map((one) => one.id), ["a/2", "a/1"]);
  assert.deepEqual(await view.children("a"), ["a/2", "a/1"]);
  assert.deepEqual(await view.ids(), ["a", "a/1", "a/2"]);
});

test("an expired object is hidden by the time of the view", async (t) => {
  const m = await memory(t);
  await m.put("a", "x", { expires: "2030-01-01T00:00:00Z" });
  const view = await (await m.view()).withNow("2031-01-01T00:00:00Z");
  assert.deepEqual(await view.query(), []);
  assert.equal((await view.query({ expired: true })).length, 1);
});

test("at takes a name, a number, a digest, a time and a view", async (t) => {
  const m = await memory(t);
  const { commit } = await m.put("a", "one");
  await m.snapshot("s");
  await m.put("a", "two");
  for (const revision of ["s", `seq:${commit.seq}`, commit.digest, commit.time, await m.at("s")]) {
    assert.equal((await (await m.at(revision)).get("a")).content, "one");
  }
  assert.equal((await (await m.at(new Date(Date.now() + 1000))).get("a")).content, "two");
  await fails(m.at("nothing"), "NotFoundError");
  await fails(m.at(5), "InvalidInputError");
});

test("a proof is checked without a store", async (t) => {
  const m = await memory(t);
  await m.put("a", "x");
  const view = await m.view();
  const proof = await view.prove("a");
  assert.equal(await checkProof(proof, view.root, "a"), (await view.get("a")).digest);
  assert.equal(await checkProof(await view.prove("b"), view.root, "b"), null);
  await fails(checkProof(proof, "0".repeat(64), "a"), "InvalidInputError");
  await fails(checkProof("xyz", view.root, "a"), "InvalidInputError");
  await fails(checkProof(proof, "no", "a"), "InvalidInputError");
});

test("a draft becomes one commit", async (t) => {
  const m = await memory(t);
  await m.put("b", "old");
  const draft = await m.draft({ op: "import" });
  assert.ok(draft instanceof Draft);
  assert.equal(await draft.put("a", "x"), "created");
  assert.equal(await draft.put("b", "new"), "updated");
  assert.equal(await draft.put("b", "new"), "unchanged");
  assert.equal(await draft.remove("b"), 1);
  assert.equal((await draft.get("a")).content, "x");
  assert.deepEqual((await draft.changes()).map((one) => one.id), ["a", "b"]);
  assert.equal(await draft.finished(), false);
  const done = await draft.commit();
  assert.equal(done.commit.op, "import");
  assert.equal(draft.committed, done);
  assert.equal(await draft.finished(), true);
  await fails(draft.put("c"), "HandleError", "finished");
  await fails(draft.commit(), "HandleError", "finished");
});

test("a discarded draft changes nothing", async (t) => {
  const m = await memory(t);
  const draft = await m.draft();
  await draft.put("a");
  await draft.discard();
  await draft.discard();
  assert.equal(await m.size(), 0);
});

test("the end of a block discards an unfinished draft", async (t) => {
  const m = await memory(t);
  const draft = await m.draft();
  await draft.put("a");
  await draft[Symbol.asyncDispose]();
  assert.equal(await draft.finished(), true);
  await draft[Symbol.asyncDispose]();
});

test("restore stages the version of another state", async (t) => {
  const m = await memory(t);
  await m.put("a", "one");
  const before = await m.view();
  await m.put("a", "two");
  const draft = await m.draft();
  assert.equal(await draft.restore("a", before), true);
  assert.ok((await draft.base()) instanceof View);
  await draft.commit();
  assert.equal((await m.get("a")).content, "one");
});

test("expect refuses a commit over the change of another", async (t) => {
  const m = await memory(t);
  await m.put("a", "one");
  const draft = await m.draft();
  await draft.expect("a", (await m.get("a")).digest);
  await draft.expect("b", null);
  await draft.put("a", "mine");
  await m.put("a", "theirs");
  await fails(draft.commit(), "ConflictError");
});

test("change commits at the end, and discards after an error", async (t) => {
  const m = await memory(t);
  await m.change(async (draft) => { await draft.put("a"); });
  await assert.rejects(m.change(async (draft) => { await draft.put("b"); throw new RangeError("no"); }), RangeError);
  assert.deepEqual(await (await m.view()).ids(), ["a"]);
});

test("a draft is saved, and opened again", async (t) => {
  const m = await memory(t);
  const draft = await m.draft();
  await draft.put("a", "x");
  await draft.save("later");
  await (await m.openDraft("later")).commit();
  assert.equal(await m.size(), 1);
  const other = await m.draft();
  await other.put("b", "x");
  await other.save("other");
  await m.deleteDraft("other");
  await fails(m.openDraft("other"), "NotFoundError");
});

test("a check that refuses keeps the change under rejected/", async (t) => {
  const m = await memory(t);
  const few = async (draft) => (await draft.changes()).length < 2 || "too many changes";
  const error = await fails(
    m.change(async (draft) => { await draft.put("a"); await draft.put("b"); }, { checks: [few] }),
    "DeniedError",
    "rejected",
  );
  assert.match(error.message, /few: too many changes/);
  assert.deepEqual(error.ids, ["a", "b"]);
  const name = /saved as (\S+)/.exec(error.hint)[1];
  assert.equal((await (await m.openDraft(name)).changes()).length, 2);
  await m.change((draft) => draft.put("a"), { checks: [few, () => true, () => undefined] });
  assert.equal((await m.commits({ limit: 1 }))[0].op, "attempt");
});

test("a check refuses with false or an assertion", async (t) => {
  const m = await memory(t);
  await fails(m.change((draft) => draft.put("a"), { checks: [() => false] }), "DeniedError", "rejected");
  await fails(m.change((draft) => draft.put("a"), { checks: [() => assert.ok(0)] }), "DeniedError", "rejected");
});

test("a broken check is an error with its cause", async (t) => {
  const m = await memory(t);
  const mine = new TypeError("mine");
  const error = await fails(m.change((draft) => draft.put("a"), { checks: [() => { throw mine; }] }), "CheckError", "check_failed");
  assert.equal(error.cause, mine);
  assert.equal(await m.size(), 0);
});

test("a check cannot change its draft", async (t) => {
  const m = await memory(t);
  await fails(m.change((draft) => draft.put("a"), { checks: [(draft) => draft.put("b")] }), "DeniedError", "rejected");
});

test("checks must be functions", async (t) => {
  const m = await memory(t);
  await fails(m.draft({ checks: ["no"] }), "InvalidInputError");
  await fails(m.draft({ checks: 5 }), "InvalidInputError");
});

test("a guarded turn passes the usual policy", async (t) => {
  const a = await agent(t);
  const draft = await a.draft();
  await draft.putItem("Buy green tea", { id: "plans/today", tags: "tea" });
  const report = await a.check(draft);
  assert.equal(report.passed, true);
  const done = await draft.commit();
  assert.equal(done.commit.op, "guard");
  assert.equal(draft.report.passed, true);
  assert.equal((await a.recall("tea")).hits.length, 1);
});

test("a guarded turn that a check refuses has a report", async (t) => {
  const a = await agent(t);
  const draft = await a.draft({ checks: [function mine() { return "not today"; }] });
  await draft.putItem("Buy green tea", { id: "plans/today" });
  const error = await fails(draft.commit(), "DeniedError");
  assert.equal(draft.report.passed, false);
  assert.match(error.message + draft.report.text, /not today/);
  assert.equal((await a.recall("tea")).hits.length, 0);
});

test("a guarded turn has its own operation", async (t) => {
  const a = await agent(t);
  const draft = await a.draft();
  await fails(draft.commit({ op: "mine" }), "InvalidInputError");
  await fails(a.draft({ policy: "no policy at all [" }), "InvalidInputError");
});

test("a quarantined change waits for a person", async (t) => {
  const a = await agent(t);
  assert.deepEqual(await a.quarantined(), []);
  await fails(a.release("none", { writer: PERSON }), "NotFoundError");
  await fails(a.discard("none"), "NotFoundError");
});

test("a fork is merged at the end of its function", async (t) => {
  const m = await memory(t);
  await m.put("plan", "travel by train\nstay in Bergen\nleave on Monday");
  const { value, merged } = await m.inFork("scout", async (fork) => {
    assert.equal(fork.forkName, "scout");
    await fork.put("plan", "travel by ferry\nstay in Bergen\nleave on Monday");
    await m.put("plan", "travel by train\nstay in Bergen\nleave on Tuesday");
    return 5;
  });
  assert.equal(value, 5);
  assert.deepEqual(merged.conflicts, []);
  assert.deepEqual(merged.changes.map((one) => one.id), ["plan"]);
  assert.equal((await m.get("plan")).content, "travel by ferry\nstay in Bergen\nleave on Tuesday");
  assert.deepEqual(await m.forks(), []);
});

test("a fork whose function throws is dropped", async (t) => {
  const m = await memory(t);
  await assert.rejects(m.inFork("scout", async (fork) => { await fork.put("a"); throw new RangeError("no"); }), RangeError);
  assert.equal(await m.size(), 0);
  assert.deepEqual(await m.forks(), []);
});

test("a function may drop its fork itself", async (t) => {
  const m = await memory(t);
  const { merged } = await m.inFork("scout", async (fork) => { await fork.close(); await m.dropFork("scout"); });
  assert.equal(merged, null);
});

test("a conflict is left open, and resolved", async (t) => {
  const m = await memory(t);
  await m.put("plan", "by train");
  const fork = await m.fork("booker", { trust_cap: "model" });
  await fork.put("plan", "by plane");
  await m.put("plan", "by bus");
  assert.deepEqual((await m.merge("booker", { dry_run: true })).conflicts.map((one) => one.id), ["plan"]);
  const merged = await m.merge("booker");
  assert.equal(merged.new, true);
  const [conflict] = await m.conflicts();
  assert.equal(conflict.base.content, "by train");
  assert.deepEqual(conflict.sides.map((side) => side.object.content).sort(), ["by bus", "by plane"]);
  await fails(m.resolve("plan"), "InvalidInputError");
  const theirs = { take: (await fork.get("plan")).digest };
  await m.put("plan", "by tram");
  const [{ present }] = await m.conflicts();
  assert.deepEqual([conflict.present, present.object.content], [null, "by tram"]);
  for (const expected of [undefined, theirs.take, "removed"]) await fails(m.resolve("plan", { ...theirs, expected }), "ConflictError");
  await m.resolve("plan", { ...theirs, expected: present.digest });
  await m.undo();
  await m.resolve("plan", { ...theirs, expected: present.digest });
  assert.equal((await m.get("plan")).content, "by plane");
  assert.deepEqual(await m.conflicts(), []);
  const [info] = await m.forks();
  assert.equal(info.name, "booker");
  await m.dropFork("booker", { unmerged: true });
});

test("a strategy decides conflicts", async (t) => {
  const m = await memory(t);
  await m.put("plan", "by train");
  const fork = await m.fork("booker");
  await fork.put("plan", "by plane");
  await m.put("plan", "by bus");
  await fails(m.merge("booker", { strategy: "mine" }), "InvalidInputError");
  await m.merge("booker", { strategy: "theirs" });
  assert.equal((await m.get("plan")).content, "by plane");
});

test("a fork with work is dropped only on demand", async (t) => {
  const m = await memory(t);
  await (await m.fork("f")).put("a");
  const error = await fails(m.dropFork("f"), "ConflictError", "unmerged");
  assert.match(error.hint, /unmerged: true/);
  await m.dropFork("f", { unmerged: true });
  await fails(m.openFork("f"), "NotFoundError", "no_fork");
});

test("the fork of an agent is an agent", async (t) => {
  const a = await agent(t);
  await a.inFork("scout", (fork) => fork.remember("The office is in Oslo"));
  assert.equal((await a.recall("office")).hits.length, 1);
});

test("openFork goes on where a fork was left", async (t) => {
  const m = await memory(t);
  await (await m.fork("f")).put("a", "x");
  assert.equal((await (await m.openFork("f")).get("a")).content, "x");
});

test("closing a store closes its forks, views and drafts", async (t) => {
  const m = await memory(t);
  const [fork, view, draft] = [await m.fork("f"), await m.view(), await m.draft()];
  await m.close();
  assert.deepEqual([fork.closed, view.closed, draft.closed], [true, true, true]);
  await fails(fork.get("a"), "HandleError", "closed");
  await fails(view.get("a"), "HandleError", "closed");
  await fails(draft.put("a"), "HandleError", "closed");
  await m.close();
});

test("closing a fork leaves the store open", async (t) => {
  const m = await memory(t);
  await (await m.fork("f")).close();
  assert.equal(m.closed, false);
  await m.put("a");
});

test("a watch sees the moves of the head", async (t) => {
  const m = await memory(t);
  const watch = await m.watch();
  await m.put("a", "x");
  await m.put("b", "x");
  const seen = [];
  for await (const moved of watch) {
    seen.push(moved);
    if (seen.length === 2) break;
  }
  assert.equal(seen.length, 2);
  assert.deepEqual(await watch.next(), { done: true, value: undefined });
});

test("a signal and a close end a watch", async (t) => {
  const m = await memory(t);
  const stop = new AbortController();
  const watch = await m.watch({ signal: stop.signal });
  setTimeout(() => stop.abort(), 20);
  for await (const _ of watch) assert.fail();
  const other = await m.watch();
  setTimeout(() => m.close(), 20);
  for await (const _ of other) assert.fail();
});

test("stores, agents and views are disposed of", async () => {
  const { Memory, Agent } = await import("treering");
  for (const made of [await Memory.inMemory(), await Agent.inMemory()]) {
    await made[Symbol.asyncDispose]();
    assert.equal(made.closed, true);
  }
});

test("classes have no public constructor", async () => {
  const { Memory, Agent } = await import("treering");
  for (const made of [Memory, Agent, View, Draft]) assert.throws(() => new made(), TypeError);
});
