// The engine: objects, snapshots, the ways back, and history.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import test from "node:test";
import { Memory } from "treering";
import { fails, folder, memory, PERSON } from "./helpers.mjs";

test("put stores an object, and get returns it", async (t) => {
  const m = await memory(t);
  const done = await m.put("a", "hello", { kind: "note", scope: "work", attributes: { todo: "NEXT", n: 1, list: [1, null] } });
  assert.equal(done.changed, true);
  assert.equal(done.commit.op, "put");
  const found = await m.get("a");
  assert.equal(found.content, "hello");
  assert.equal(found.kind, "note");
  assert.equal(found.scope, "work");
  assert.deepEqual(found.attributes, { todo: "NEXT", n: 1, list: [1, null] });
  assert.equal(found.trusted, true);
});

test("get returns null for an id that is absent", async (t) => {
  assert.equal(await (await memory(t)).get("a"), null);
});

test("has says whether an object is there", async (t) => {
  const m = await memory(t);
  await m.put("a");
  assert.deepEqual([await m.has("a"), await m.has("b")], [true, false]);
});

test("an object without a content has null", async (t) => {
  const m = await memory(t);
  await m.put("a");
  assert.equal((await m.get("a")).content, null);
});

test("the same put twice makes one commit", async (t) => {
  const m = await memory(t);
  await m.put("a", "x");
  assert.equal((await m.put("a", "x")).changed, false);
});

test("times are Dates or texts, and come back as texts", async (t) => {
  const m = await memory(t);
  await m.put("a", "x", { event_time: new Date("2026-01-31T08:15:00Z"), expires: "2099-01-01T00:00:00.123456Z" });
  const found = await m.get("a");
  assert.equal(new Date(found.event_time).toISOString(), "2026-01-31T08:15:00.000Z");
  assert.equal(found.expires, "2099-01-01T00:00:00.123456Z");
});

test("floats that JSON cannot express survive", async (t) => {
  const m = await memory(t);
  await m.put("a", "x", { attributes: { n: NaN, p: Infinity, m: -Infinity, f: 1.5 } });
  assert.deepEqual((await m.get("a")).attributes, {
    n: { $float: "nan" },
    p: { $float: "inf" },
    m: { $float: "-inf" },
    f: 1.5,
  });
});

test("remove takes an object away, and history keeps it", async (t) => {
  const m = await memory(t);
  await m.put("a", "x");
  await m.remove("a");
  assert.equal(await m.get("a"), null);
  const history = await m.history("a");
  assert.equal(history.length, 2);
  assert.equal(history[0].digest, null);
});

test("remove with recursive takes the children, too", async (t) => {
  const m = await memory(t);
  await m.put("a");
  await m.put("b", "x", { parent: "a" });
  const error = await fails(m.remove("a"), "InvalidInputError", "has_children");
  assert.match(error.hint, /recursive: true/);
  await m.remove("a", { recursive: true });
  assert.equal(await m.size(), 0);
});

test("undo and redo", async (t) => {
  const m = await memory(t);
  await m.put("a", "one");
  await m.put("a", "two");
  await m.undo();
  assert.equal((await m.get("a")).content, "one");
  await m.redo();
  assert.equal((await m.get("a")).content, "two");
  await fails(m.redo(), "NotFoundError", "nothing_to_redo");
});

test("each session has its own undo", async (t) => {
  const m = await memory(t);
  const one = await m.withSession("1");
  const two = await m.withSession("2");
  await one.put("a", "x");
  await two.put("b", "x");
  await one.undo();
  assert.deepEqual(await (await m.view()).ids(), ["b"]);
});

test("a snapshot names a state, and rollback returns to it", async (t) => {
  const m = await memory(t);
  await m.put("a", "one");
  const taken = await m.snapshot("before");
  assert.equal(taken.name, "before");
  await m.put("a", "two");
  const preview = await m.rollbackPreview("before");
  assert.equal(preview.changed, 1);
  await m.rollback("before");
  assert.equal((await m.get("a")).content, "one");
  assert.deepEqual((await m.snapshots()).map((one) => one.name), ["before"]);
  await m.deleteSnapshot("before");
  assert.deepEqual(await m.snapshots(), []);
});

test("rollback over the work of others needs across_lanes", async (t) => {
  const m = await memory(t);
  await m.snapshot("s");
  await (await m.withSession("other")).put("a");
  const error = await fails(m.rollback("s"), "ConflictError", "other_lanes");
  assert.match(error.hint, /across_lanes: true/);
  await m.rollback("s", { across_lanes: true });
  assert.equal(await m.size(), 0);
});

test("revert takes back one session, and keeps the others", async (t) => {
  const m = await memory(t);
  await (await m.withSession("bad")).put("a", "x");
  await (await m.withSession("good")).put("b", "x");
  const preview = await m.revert({ session: "bad", dry_run: true });
  assert.equal(preview.changed, false);
  await m.revert({ session: "bad" });
  assert.deepEqual(await (await m.view()).ids(), ["b"]);
});

test("diff lists what differs between two states", async (t) => {
  const m = await memory(t);
  await m.put("a", "x");
  const before = await m.view();
  await m.put("b", "x");
  await m.remove("a");
  const changes = await m.diff(before);
  assert.deepEqual(changes.map((one) => [one.id, one.change]), [["a", "removed"], ["b", "added"]]);
});

test("commits are newest first, and limited", async (t) => {
  const m = await memory(t);
  await m.put("a");
  await m.put("b");
  assert.deepEqual((await m.commits({ limit: 2 })).map((one) => one.seq), [2, 1]);
});

test("blame names the commit of each part", async (t) => {
  const m = await memory(t, { writer: { actor: "ada" } });
  await m.put("a", "one\ntwo");
  const parts = await m.blame("a");
  const line = parts.find((one) => one.part === "line:2");
  assert.equal(line.value, "two");
  assert.equal(line.change.commit.actor, "ada");
});

test("the writer of a call goes before the usual writer", async (t) => {
  const m = await memory(t, { writer: { actor: "usual" } });
  assert.equal(m.writer.actor, "usual");
  const done = await m.put("a", "x", { writer: { ...PERSON, reason: "because", source: "a book" } });
  assert.equal(done.commit.actor, "Vera");
  assert.equal(done.commit.trust, "direct_user");
  assert.equal(await m.text(done.commit.reason_digest), "because");
  assert.equal(await m.text(done.commit.source_digest), "a book");
});

test("withWriter makes a handle of the same store", async (t) => {
  const m = await memory(t);
  const tool = await m.withWriter({ trust: "untrusted" });
  await tool.put("a", "x");
  assert.equal((await m.get("a")).trusted, false);
  assert.equal((await m.get("a")).origin, "tool_external");
});

test("verify finds no damage", async (t) => {
  const m = await memory(t);
  await m.put("a");
  const report = await m.verify();
  assert.deepEqual([report.damage, report.derived], [[], []]);
  assert.ok(await m.verify({ files_only: true }));
});

test("stats has sizes", async (t) => {
  assert.ok((await (await memory(t)).stats()).commits >= 1);
});

test("gc previews and thins", async (t) => {
  const m = await memory(t);
  for (let i = 0; i < 5; i++) await m.put("a", `${i}`);
  const durations = { keep_all: 0, hourly: 0, daily: 0, weekly: 0, forgotten: 0, newest: 1 };
  assert.ok((await m.gc({ ...durations, dry_run: true })).thinned > 0);
  assert.ok((await m.gc(durations)).thinned > 0);
  await fails(m.gc({ daily: -1 }), "InvalidInputError");
});

test("erase removes all versions", async (t) => {
  const m = await memory(t);
  await m.put("a", "secret");
  assert.equal((await m.erase("a", { dry_run: true })).commit, null);
  const report = await m.erase(["a"]);
  assert.deepEqual(report.unlinked, ["a"]);
  assert.equal(await m.get("a"), null);
  await fails(m.erase([]), "InvalidInputError");
});

test("a store on disk keeps its objects", async (t) => {
  const path = folder(t);
  const first = await Memory.create(`${path}/m`);
  await first.put("a", "x");
  assert.equal(first.path, `${path}/m`);
  await first.close();
  const again = await Memory.open(pathToFileURL(`${path}/m`));
  assert.equal((await again.get("a")).content, "x");
  await again.close();
});

test("open needs a store, unless it may make one", async (t) => {
  const path = `${folder(t)}/m`;
  const error = await fails(Memory.open(path), "NotFoundError", "no_store");
  assert.match(error.hint, /create: true/);
  assert.equal(existsSync(path), false);
  await (await Memory.open(path, { create: true })).close();
  await fails(Memory.create(path), "InvalidInputError");
});

test("a read-only handle writes nothing", async (t) => {
  const path = folder(t);
  await (await Memory.create(`${path}/m`)).close();
  const m = await Memory.open(`${path}/m`, { read_only: true });
  await assert.rejects(m.put("a"));
  await m.close();
});

test("a store with sync_every is synced when asked", async (t) => {
  const m = await Memory.create(`${folder(t)}/m`, { sync_every: 60 });
  await m.put("a");
  assert.equal(await m.sync(), null);
  await m.close();
});

test("sha256 is a hash, and others are none", async (t) => {
  const m = await memory(t);
  assert.equal(m.hash, "blake3");
  const other = await Memory.create(`${folder(t)}/m`, { hash: "sha256" });
  assert.equal(other.hash, "sha256");
  await other.close();
  await fails(Memory.inMemory({ hash: "md5" }).then(() => Memory.create(`${folder(t)}/n`, { hash: "md5" })), "InvalidInputError");
});

test("two handles of one folder see each other after refresh", async (t) => {
  const path = `${folder(t)}/m`;
  const one = await Memory.open(path, { create: true });
  const two = await Memory.open(path);
  await one.put("a", "x");
  assert.equal((await (await two.refresh()).get("a")).content, "x");
  await one.close();
  await two.close();
});

test("warnings of a sound store are empty", async (t) => {
  assert.deepEqual(await (await memory(t)).warnings(), []);
});

test("bisectStates asks a function, which may be async", async (t) => {
  const m = await memory(t);
  for (let i = 1; i <= 8; i++) await m.put("n", `${i}`);
  const found = await m.bisectStates("seq:1", "seq:8", async (view) => Number((await view.get("n")).content) >= 5);
  assert.equal(found.first_bad.seq, 5);
});

test("bisectStates throws what its function throws", async (t) => {
  const m = await memory(t);
  for (let i = 1; i <= 4; i++) await m.put("n", `${i}`);
  const mine = new Error("mine");
  await assert.rejects(m.bisectStates("seq:1", "seq:4", () => { throw mine; }), (error) => error === mine);
});
