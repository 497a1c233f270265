// What the tests share: stores that end with a test, and a check of an error by its class and code.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as treering from "treering";

process.env.TREERING_MODEL ??= "none";

/** Returns a new folder, which ends with the test. */
export function folder(t) {
  const made = mkdtempSync(join(tmpdir(), "treering-js-"));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

export async function memory(t, options) {
  const made = await treering.Memory.inMemory(options);
  t.after(() => made.close());
  return made;
}

export async function agent(t, options) {
  const made = await treering.Agent.inMemory({ project: "test", ...options });
  t.after(() => made.close());
  return made;
}

/** Checks that a promise is rejected with an error of this class and code. Returns the error. */
export async function fails(promise, name, code) {
  let found;
  await assert.rejects(promise, (error) => {
    found = error;
    return true;
  });
  assert.ok(found instanceof treering[name], `${found} is no ${name}`);
  assert.ok(found instanceof treering.TreeringError);
  if (code) assert.equal(found.code, code);
  return found;
}

export const PERSON = { trust: "direct_user", actor: "Vera" };
