// The packed files, installed into an empty folder; and the program in them.
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { folder } from "./helpers.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const bin = join(root, "bin", "treering.cjs");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Runs the program. Its folder is its home, too, because the home folder lists the trusted stores. */
function treering(t, args, options = {}) {
  const env = { PATH: process.env.PATH, HOME: options.cwd ?? folder(t), TREERING_MODEL: "none", TREERING_TRUST: "direct_user", ...options.env };
  return spawnSync(process.execPath, [options.bin ?? bin, ...args], { encoding: "utf8", input: "", ...options, env });
}

test("the packages install into an empty folder, and remember there", (t) => {
  const made = folder(t);
  const [out, work] = [join(made, "npm"), join(made, "work")];
  const env = { ...process.env, HOME: join(made, "home"), TREERING_NATIVE: "" };
  const run = (file, args, cwd) => execFileSync(file, args, { cwd, encoding: "utf8", env });
  const printed = run(process.execPath, [join(root, "pack.mjs"), "--native", join(root, "treering.node"), "--out", out], root);
  const packed = readdirSync(out).filter((one) => one.endsWith(".tgz")).map((one) => join(out, one));
  assert.equal(packed.length, 2, printed);

  mkdirSync(work);
  writeFileSync(join(work, "package.json"), '{"private":true}');
  // Without the registry: the packages of other platforms are not there, and none is needed.
  run("npm", ["install", "--no-audit", "--no-fund", "--offline", ...packed], work);
  const installed = join(work, "node_modules", "treering");
  for (const name of ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "dist/index.d.cts", "dist/langgraph.d.mts"]) {
    assert.ok(existsSync(join(installed, name)), name);
  }
  assert.equal(JSON.parse(readFileSync(join(installed, "package.json"), "utf8")).devDependencies, undefined);

  assert.equal(run("npx", ["treering", "--version"], work).trim(), `treering ${version}`);
  const code = `
    import { open } from "treering";
    const agent = await open("memory");
    await agent.remember("The office is in Oslo");
    console.log((await agent.recall("where is the office")).hits[0]?.snippet);
  `;
  writeFileSync(join(work, "first.mjs"), code);
  const started = Date.now();
  assert.equal(run(process.execPath, ["first.mjs"], work), "The office is in Oslo\n");
  assert.ok(Date.now() - started < 15_000);
  // The types compile with the defaults of a new project, which checks libraries and has no types of Node.
  writeFileSync(join(work, "first.mts"), code);
  const options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022"];
  run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...options, "first.mts"], work);
  writeFileSync(join(work, "first.cjs"), 'console.log(require("treering").version)');
  assert.equal(run(process.execPath, ["first.cjs"], work).trim(), version);
  const found = run("npx", ["treering", "--store", "memory", "recall", "office"], work);
  assert.match(found, /Oslo/);
});

test("the program has its arguments, its input and its exit codes", (t) => {
  assert.equal(treering(t, ["--version"]).stdout, `treering ${version}\n`);
  assert.equal(treering(t, ["no-such-verb"]).status, 2);
  const cwd = folder(t);
  assert.equal(treering(t, ["init"], { cwd }).status, 0);
  const stored = treering(t, ["remember", "-", "--json"], { cwd, input: "The office is in Oslo" });
  assert.equal(JSON.parse(stored.stdout).status, "created", stored.stderr);
  const missing = treering(t, ["get", "facts/none", "--json"], { cwd });
  assert.equal(JSON.parse(missing.stderr).error.code, "not_found");
  assert.equal(missing.status, 1);
});

test("the program serves MCP", async (t) => {
  const cwd = folder(t);
  treering(t, ["init"], { cwd });
  const server = spawn(process.execPath, [bin, "serve", "--mcp"], { cwd, env: { ...process.env, HOME: cwd }, stdio: ["pipe", "pipe", "ignore"] });
  const clientInfo = { name: "test", version: "1" };
  const hello = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } };
  server.stdin.write(`${JSON.stringify(hello)}\n`);
  const [answer] = await once(server.stdout, "data");
  assert.equal(JSON.parse(answer).result.serverInfo.name, "treering");
  server.stdin.end();
  assert.deepEqual(await once(server, "exit"), [0, null]);
});

test("ctrl-c ends the program as it ends any", async (t) => {
  const cwd = folder(t);
  treering(t, ["init"], { cwd });
  const child = spawn(process.execPath, [bin, "remember", "-"], { cwd, env: { ...process.env, HOME: cwd }, stdio: ["pipe", "ignore", "ignore"] });
  child.stdin.write("never ended");
  await new Promise((done) => setTimeout(done, 1000));
  child.kill("SIGINT");
  assert.deepEqual(await once(child, "exit"), [null, "SIGINT"]);
});

test("settings name the program, and npx only where a launcher may stand", (t) => {
  const cwd = folder(t);
  treering(t, ["init"], { cwd });
  const hooks = treering(t, ["install", "claude-code", "--dry-run"], { cwd });
  assert.match(hooks.stderr, /bin\/treering\.cjs hook --client claude-code/);

  // The cache of npx has the same files.
  const cache = join(cwd, "_npx", "1", "node_modules", "treering");
  for (const part of ["bin", "dist"]) {
    mkdirSync(join(cache, part), { recursive: true });
  }
  writeFileSync(join(cache, "bin", "treering.cjs"), readFileSync(bin));
  writeFileSync(join(cache, "dist", "native.cjs"), `exports.native = require(${JSON.stringify(join(root, "treering.node"))});`);
  const fromCache = { cwd, bin: join(cache, "bin", "treering.cjs") };
  const refused = treering(t, ["install", "claude-code", "--dry-run", "--json"], fromCache);
  assert.equal(JSON.parse(refused.stderr).error.code, "not_installed");
  const server = treering(t, ["mcp", "install", "--client", "claude-code", "--dry-run", "--json"], fromCache);
  const { command, args } = JSON.parse(server.stdout);
  assert.deepEqual([command, ...args].slice(0, 5), ["npx", "-y", "treering", "serve", "--mcp"]);
});

test("without a native module for the platform, the error says what to do", (t) => {
  const done = treering(t, ["--version"], { bin: moved(t) });
  assert.equal(done.status, 1);
  assert.match(done.stderr, /optional dependencies/);
});

/** Returns the command in a folder without a native module. */
function moved(t) {
  const to = folder(t);
  for (const file of ["bin/treering.cjs", "dist/native.cjs", "dist/platform.cjs"]) {
    mkdirSync(join(to, file, ".."), { recursive: true });
    writeFileSync(join(to, file), readFileSync(join(root, file)));
  }
  return join(to, "bin", "treering.cjs");
}
