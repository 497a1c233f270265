// Random calls never crash the process.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import test from "node:test";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("robustness.mjs", import.meta.url));

test("10,000 random calls crash nothing", () => {
  let calls = 0;
  for (const seed of [1, 2, 3, 4]) {
    const done = spawnSync(process.execPath, [script, "2500", `${seed}`], { encoding: "utf8", timeout: 240_000 });
    assert.equal(done.status, 0, `seed ${seed}: ${done.signal} ${done.stderr.slice(-2000)}`);
    const counts = JSON.parse(done.stdout.trim().split("\n").pop());
    assert.ok(counts.done > 50 && counts.refused > 100, done.stdout);
    calls += counts.done + counts.refused + counts.other;
  }
  assert.equal(calls, 10_000);
});
