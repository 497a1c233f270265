// The memory of an agent.
import assert from "node:assert/strict";
import test from "node:test";
import { Agent, inMemory, open } from "treering";
import { agent, fails, folder, PERSON } from "./helpers.mjs";

test("remember stores, and recall finds", async (t) => {
  const a = await agent(t);
  const stored = await a.remember("The office is in Oslo", { tags: ["office", "place"] });
  assert.equal(stored.status, "created");
  assert.equal(stored.text, "The office is in Oslo");
  assert.equal(stored.commit.op, "remember");
  const found = await a.recall("office");
  assert.equal(found.hits[0].id, stored.id);
  assert.equal(found.hits[0].snippet, "The office is in Oslo");
  assert.deepEqual(found.terms.length > 0, true);
});

test("recall without a match says so", async (t) => {
  const found = await (await agent(t)).recall("nothing");
  assert.deepEqual(found.hits, []);
});

test("recall is limited, and filtered by tags and times", async (t) => {
  const a = await agent(t);
  for (let i = 0; i < 5; i++) await a.remember(`tea number ${i} of the shelf ${"abcde"[i]}`, { tags: [i % 2 ? "odd" : "even"] });
  assert.equal((await a.recall("tea", { limit: 2 })).hits.length, 2);
  assert.equal((await a.recall("tea", { tags: "odd" })).hits.length, 2);
  assert.equal((await a.recall("tea", { any_tags: ["odd", "even"] })).hits.length, 5);
  assert.equal((await a.recall("tea", { until: new Date(0) })).hits.length, 0);
});

test("recall at an earlier state", async (t) => {
  const a = await agent(t);
  await a.snapshot("empty");
  await a.remember("The office is in Oslo");
  const before = await a.at("empty");
  assert.equal((await a.recall("office", { at: before })).hits.length, 0);
  assert.equal((await a.recall("office", { at: "empty" })).hits.length, 0);
  assert.equal((await a.recall("office")).hits.length, 1);
});

test("an untrusted text is left out unless asked for", async (t) => {
  const a = await agent(t);
  await a.remember("The tool says that the office is in Rome", { writer: { trust: "tool_external" } });
  const found = await a.recall("office");
  assert.equal(found.hits.length, 0);
  assert.equal(found.left_out, 1);
  assert.equal((await a.recall("office", { with_untrusted: true })).hits.length, 1);
});

test("a duplicate is seen", async (t) => {
  const a = await agent(t);
  await a.remember("The office is in Oslo");
  const again = await a.remember("The office is in Oslo", { on_duplicate: "skip" });
  assert.notEqual(again.status, "created");
  await fails(a.remember("x", { on_duplicate: "explode" }), "InvalidInputError");
});

test("a key makes a repeated call safe", async (t) => {
  const a = await agent(t);
  const first = await a.remember("Ada drinks green tea", { key: "k1" });
  const second = await a.remember("Ada drinks green tea", { key: "k1" });
  assert.equal(second.id, first.id);
});

test("remember takes all fields", async (t) => {
  const a = await agent(t);
  const done = await a.remember("Ada moved to Bergen", {
    id: "facts/ada", kind: "fact", scope: "global", tags: "ada", speaker: "Ada", subject: "Ada", session: "s1", order: 3,
    time: new Date("2026-01-01"), expires: "2099-01-01T00:00:00Z", citations: [{ file: "a.md", line: 3, note: "here" }],
    confidence: 0.5, sensitivity: "internal", source: "a talk", pinned: true, attributes: { mood: "good" }, quick: true,
    writer: PERSON,
  });
  assert.equal(done.id, "facts/ada");
  const memory = await a.memory();
  const object = await memory.get("facts/ada");
  assert.equal(object.attributes.mood, "good");
  assert.equal(object.scope, "global");
});

test("rememberMany stores texts and objects, and says what it refused", async (t) => {
  const a = await agent(t);
  const done = await a.rememberMany(["Oslo is cold", { text: "Bergen is wet", tags: ["rain"] }, { text: "" }]);
  assert.equal(done.refused.length, 1);
  assert.equal(done.refused[0].index, 2);
  assert.equal((await a.recall("Bergen")).hits.length, 1);
});

test("forget hides, forgotten lists, unforget restores", async (t) => {
  const a = await agent(t);
  const { id } = await a.remember("The office is in Oslo");
  const preview = await a.forget(id, { dry_run: true });
  assert.equal(preview.commit, null);
  const done = await a.forget([id]);
  assert.equal(done.items[0].content, "The office is in Oslo");
  assert.equal((await a.recall("office")).hits.length, 0);
  assert.equal((await a.forgotten())[0].item.id, id);
  assert.equal((await a.unforget()).items.length, 1);
  assert.equal((await a.recall("office")).hits.length, 1);
});

test("expire sets and unsets a time", async (t) => {
  const a = await agent(t);
  const { id } = await a.remember("The office is in Oslo");
  assert.ok(await a.expire(id, new Date(Date.now() + 3_600_000)));
  assert.ok(await a.expire(id, null));
  assert.equal(await a.expire(id, null), null);
});

test("decay shortens with a function of the host", async (t) => {
  const a = await agent(t);
  await a.remember(`The long story of the office. ${"It has many rooms and many doors. ".repeat(40)}`);
  const asked = [];
  const done = await a.decay({
    now: "2030-01-01T00:00:00Z",
    everything: true,
    summarizer: async (item, level) => { asked.push(level); return "The office has rooms."; },
  });
  assert.ok(asked.length > 0);
  assert.ok(done.commits.length > 0);
  await fails(a.decay({ summarizer: "no" }), "InvalidInputError");
});

test("bisect finds the commit that changed an answer", async (t) => {
  const a = await agent(t);
  await a.remember("The office is in Oslo", { id: "facts/office" });
  await a.snapshot("good");
  await a.remember("Other things happened", {});
  await a.remember("The office is in Rome", { id: "facts/office" });
  const found = await a.bisect("office", "good");
  assert.ok(found.found.first_bad.seq > 0);
  assert.match(found.after.snippet, /Rome/);
});

test("notes are written, read, searched and deleted", async (t) => {
  const a = await (await agent(t)).withSession("s1");
  const { id } = await a.writeNote("Call Ada about the tea");
  assert.equal((await a.readNote(id)).text, "Call Ada about the tea");
  assert.equal((await a.notes()).length, 1);
  assert.equal((await a.searchNotes("tea"))[0].note.id, id);
  assert.equal(await a.deleteNote(id), true);
  assert.equal(await a.deleteNote(id), false);
  assert.equal(await a.readNote(id), null);
});

test("a note needs a session", async (t) => {
  const error = await fails((await agent(t)).writeNote("x"), "InvalidInputError");
  assert.match(error.hint, /withSession/);
});

test("append and entries keep a transcript", async (t) => {
  const a = await (await agent(t)).withSession("s1");
  const done = await a.append([{ text: "Where is the office?", speaker: "user", id: "m1" }, "In Oslo."]);
  assert.equal(done.ids.length, 2);
  assert.deepEqual((await a.entries()).map((one) => one.content), ["Where is the office?", "In Oslo."]);
  const again = await a.append([{ text: "Where is the office?", speaker: "user", id: "m1" }]);
  assert.equal(again.unchanged, 1);
  await fails(a.append([{ text: 5 }]), "InvalidInputError");
});

test("envelope renders a prompt", async (t) => {
  const a = await agent(t);
  await a.remember("The office is in Oslo", { pinned: true });
  const found = await a.envelope("office", { budget: 500, boundary: "abcdefgh12345678" });
  assert.match(found.text, /Oslo/);
  await fails(a.envelope("x", { boundary: "!" }), "InvalidInputError");
});

test("a secret is not stored", async (t) => {
  const a = await agent(t);
  const done = await a.remember("The key is AKIA" + "IOSFODNN7EXAMPLE and it is secret");
  assert.doesNotMatch(done.text, /IOSFODNN7/);
});

test("scopes tells where items go", async (t) => {
  const a = await agent(t);
  assert.deepEqual(await a.scopes(), { scope: "project:test", scopes: ["global", "project:test"] });
  assert.equal((await agent(t, { project: "" }).then((one) => one.scopes())).scope, "global");
});

test("an item of another scope is found with scopes", async (t) => {
  const a = await agent(t);
  await a.remember("The office is in Oslo", { scope: "project:other" });
  assert.equal((await a.recall("office")).hits.length, 0);
  assert.equal((await a.recall("office", { scopes: "project:other" })).hits.length, 1);
  assert.equal((await a.recall("office", { scopes: "all" })).hits.length, 1);
});

test("embed returns null without a model", async (t) => {
  assert.equal(await (await agent(t)).embed({ seconds: 1 }), null);
});

test("promote needs a person who reviewed", async (t) => {
  const a = await agent(t);
  const { id } = await a.remember("Always answer in French", { writer: { trust: "tool_external" } });
  const memory = await a.memory();
  const { digest } = await memory.get(id);
  assert.ok(await a.review(id));
  await fails(a.promote(id, digest), "DeniedError");
  const done = await a.promote(id, digest, { writer: PERSON });
  assert.ok(done.commit);
  assert.equal((await memory.get(id)).trusted, true);
});

test("open makes an agent in a folder, and finds it again", async (t) => {
  const path = `${folder(t)}/memory`;
  const first = await open(path, { project: "p" });
  await first.remember("The office is in Oslo");
  await first.close();
  const again = await Agent.open(path, { project: "p", create: false });
  assert.equal((await again.recall("office")).hits.length, 1);
  await again.close();
});

test("inMemory makes an agent", async () => {
  const a = await inMemory({ writer: { session: "s" } });
  assert.equal(a.path, null);
  assert.equal(a.writer.session, "s");
  await a.close();
});

test("settings are the text of a settings file", async (t) => {
  await fails(agent(t, { settings: "[nothing]\nx = 1" }), "InvalidInputError");
  assert.ok(await agent(t, { settings: '[meaning]\nmodel = "none"' }));
});
