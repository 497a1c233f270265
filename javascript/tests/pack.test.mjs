// The packed files, installed into an empty folder.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { folder } from "./helpers.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const program = process.env.TREERING_PROGRAM ?? join(root, "..", "target", "release", "treering");
/** Without the program there is nothing to pack. Where everything is checked, it is there. */
const skip = existsSync(program) || process.env.CI ? false : "the program is not built";

test("the packages install into an empty folder, and remember there", { skip }, (t) => {
  const made = folder(t);
  const [out, work] = [join(made, "npm"), join(made, "work")];
  const run = (file, args, cwd) => execFileSync(file, args, { cwd, encoding: "utf8", env: { ...process.env, TREERING_PROGRAM: "", TREERING_NATIVE: "" } });
  const printed = run(process.execPath, [join(root, "pack.mjs"), "--native", join(root, "treering.node"), "--program", program, "--out", out], root);
  const packed = readdirSync(out).filter((one) => one.endsWith(".tgz")).map((one) => join(out, one));
  assert.equal(packed.length, 2, printed);

  execFileSync("mkdir", [work]);
  writeFileSync(join(work, "package.json"), '{"private":true}');
  run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", ...packed], work);
  const installed = join(work, "node_modules", "treering");
  for (const name of ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "dist/index.d.cts", "dist/langgraph.d.mts"]) {
    assert.ok(existsSync(join(installed, name)), name);
  }
  assert.equal(JSON.parse(readFileSync(join(installed, "package.json"), "utf8")).devDependencies, undefined);

  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  assert.equal(run("npx", ["treering", "--version"], work).trim(), `treering ${version}`);
  const code = `
    import { open } from "treering";
    const agent = await open("memory");
    await agent.remember("The office is in Oslo");
    console.log((await agent.recall("where is the office")).hits[0].snippet);
  `;
  writeFileSync(join(work, "first.mjs"), code);
  const started = Date.now();
  assert.equal(run(process.execPath, ["first.mjs"], work), "The office is in Oslo\n");
  assert.ok(Date.now() - started < 15_000);
  writeFileSync(join(work, "first.cjs"), 'console.log(require("treering").version)');
  assert.equal(run(process.execPath, ["first.cjs"], work).trim(), version);
  const found = run("npx", ["treering", "--store", "memory", "recall", "office"], work);
  assert.match(found, /Oslo/);
});

test("the program passes its arguments, its input and its exit code on", { skip }, () => {
  const bin = join(root, "bin", "treering.cjs");
  const run = (...args) => spawnSync(process.execPath, [bin, ...args], { encoding: "utf8", env: { ...process.env, TREERING_PROGRAM: program }, input: "" });
  assert.equal(run("--version").status, 0);
  assert.equal(run("no-such-verb").status, 2);
});

test("without a program for the platform, the error says what to do", () => {
  const bin = join(root, "bin", "treering.cjs");
  const done = spawnSync(process.execPath, [bin, "--version"], { encoding: "utf8", env: { ...process.env, TREERING_PROGRAM: "" } });
  assert.equal(done.status, 1);
  assert.match(done.stderr, /optional dependencies/);
});
