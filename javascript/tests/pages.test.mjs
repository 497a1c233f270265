// The blocks of the pages and the examples: they compile under --strict, and run.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { open, Memory } from "treering";
import * as treering from "treering";

const root = fileURLToPath(new URL("..", import.meta.url));
const PAGES = ["README.md", "../docs/javascript.md"];
const EXAMPLES = "../examples/javascript";

// The package is found from a folder inside it.
const folder = mkdtempSync(join(root, "dist", "blocks-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const blocks = PAGES.flatMap((page) => {
  const found = [...readFileSync(join(root, page), "utf8").matchAll(/^```ts\n(.*?)^```/gms)].map((match) => match[1]);
  return found.map((code, place) => ({ page, name: `${basename(page, ".md")}-${place}`, code }));
});
for (const { name, code } of blocks) writeFileSync(join(folder, `${name}.mts`), code);
for (const name of readdirSync(join(root, EXAMPLES))) copyFileSync(join(root, EXAMPLES, name), join(folder, name));
const config = { extends: "../../tsconfig.json", compilerOptions: { rootDir: ".", outDir: ".", declaration: false, noUnusedLocals: false }, include: ["*.mts"], exclude: [] };
writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));

test("the blocks and examples compile under --strict", () => {
  const done = spawnSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", folder], { encoding: "utf8" });
  assert.equal(done.status, 0, done.stdout);
});

test("every page has blocks", () => {
  for (const page of PAGES) assert.ok(blocks.some((block) => block.page === page), page);
});

function run(name, ...args) {
  const work = join(folder, `work-${name}`);
  mkdirSync(work);
  return execFileSync(process.execPath, [join(folder, `${name}.mjs`), ...args], { cwd: work, encoding: "utf8", timeout: 120_000 });
}

for (const { name } of blocks) test(`the block ${name} runs`, () => void run(name));

test("the agent loop takes back its bad turn", async () => {
  const lines = run("agent_loop", "memory").trim().split("\n");
  assert.deepEqual(lines.map((line) => line.split(" ").slice(2, 4).join(" ")), ["kept 1", "kept 0", "rolled back", "kept 1", "the office?"]);
  assert.equal(lines.at(-1), "where is the office? The office is in Oslo");
  const agent = await open(join(folder, "work-agent_loop", "memory"), { project: "office" });
  assert.doesNotMatch((await agent.envelope()).text, /moon/);
  await agent.close();
});

test("the table of the errors on the page is complete", () => {
  const page = readFileSync(join(root, PAGES[1]), "utf8");
  const named = [...page.matchAll(/^\| `(\w+Error)`/gm)].map((match) => match[1]).sort();
  const classes = Object.keys(treering).filter((name) => name.endsWith("Error") && name !== "TreeringError").sort();
  assert.deepEqual(named, classes);
});

test("the versions of the package and of the native module agree", () => {
  assert.equal(treering.version, JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version);
  assert.match(readFileSync(join(root, "Cargo.toml"), "utf8"), new RegExp(`^version = "${treering.version}"`, "m"));
});

test("both licences are those of the repository", () => {
  for (const name of ["LICENSE-APACHE", "LICENSE-MIT"]) {
    assert.equal(readFileSync(join(root, name), "utf8"), readFileSync(join(root, "..", name), "utf8"));
  }
});

test("every method has a text", () => {
  const source = readFileSync(join(root, "lib", "generated.cts"), "utf8");
  for (const [, before, name] of source.matchAll(/(.*)\n  (\w+)\(.*\): Promise</g)) assert.match(before, /\*\/$/, name);
  assert.ok(Memory.prototype.put);
});
