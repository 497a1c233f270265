// Backups, clones and remotes.
import assert from "node:assert/strict";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { clone, Memory } from "treering";
import { fails, folder, PERSON } from "./helpers.mjs";

const options = { trust_cap: "direct_user" };

async function opened(t, path) {
  const m = await Memory.open(path, { create: true, writer: PERSON });
  t.after(() => m.close());
  return m;
}

test("a backup is restored by a clone", async (t) => {
  const made = folder(t);
  const url = pathToFileURL(`${made}/disk`).href;
  const m = await opened(t, `${made}/a`);
  await m.put("plan", "one");
  const first = await m.backup(url);
  assert.deepEqual([first.commits, first.objects], [2, 1]);
  assert.equal((await m.backup(url)).commits, 0);
  const cloned = await clone(url, `${made}/b`, options);
  assert.equal(cloned.root, (await m.view()).root);
  assert.equal((await (await opened(t, `${made}/b`)).get("plan")).content, "one");
  await fails(clone(`${url}-none`, `${made}/c`), "NotFoundError");
});

test("two stores share a memory", async (t) => {
  const made = folder(t);
  const url = pathToFileURL(`${made}/shared`).href;
  const a = await opened(t, `${made}/a`);
  await a.put("plan", "one");
  await fails(a.remote(url), "NotFoundError");
  const origin = await a.remote(url, { ...options, create: true });
  assert.equal(origin.name, "origin");
  const first = await origin.sync();
  assert.deepEqual([first.new, first.pushed.commits, first.fetched.commits], [true, 2, 0]);
  assert.equal((await origin.sync()).new, false);
  await clone(url, `${made}/b`, options);
  const b = await opened(t, `${made}/b`);
  const other = await b.remote(url, options);
  await a.put("of a", "1");
  await a.put("plan", "of a");
  assert.equal((await origin.push()).commits, 2);
  await b.put("plan", "of b");
  await fails(other.push(), "ConflictError", "remote_ahead");
  assert.equal((await other.fetch()).commits, 2);
  assert.ok(await (await b.at("remote:origin/main")).has("of a"));
  const pulled = await other.pull();
  assert.equal(pulled.commit.op, "merge");
  assert.deepEqual(pulled.conflicts.map((one) => one.id), ["plan"]);
  assert.ok((await other.sync()).pushed.commits > 0);
  await origin.sync();
  assert.equal((await a.view()).root, (await b.view()).root);
  await fails(other.pull({ strategy: "mine" }), "InvalidInputError");
  await b.close();
  await fails(other.pull(), "HandleError", "closed");
});

test("what comes from a remote is capped", async (t) => {
  const made = folder(t);
  const url = pathToFileURL(`${made}/shared`).href;
  const a = await opened(t, `${made}/a`);
  await a.put("plan", "one");
  await (await a.remote(url, { create: true })).push();
  await clone(url, `${made}/b`);
  assert.equal((await (await opened(t, `${made}/b`)).get("plan")).origin, "import");
});
