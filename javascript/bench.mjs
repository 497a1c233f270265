#!/usr/bin/env node
// Compares calls from JavaScript with the same calls from Rust, in one run, and measures two workers.
//
// node bench.mjs [--quick] [--json FILE]
//
// Needs the built package, and the Rust side: cargo build --release --example bench. Both sides take turns on one folder, so that
// both meet the same disk and machine. A put is on disk when its promise resolves. Prints a table and JSON.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { Agent } from "treering";

process.env.TREERING_MODEL = "none";
const WORDS = ["office", "garden", "kettle", "harbour", "engine", "window", "winter", "letter"];
/** The bar of each figure: at most this ratio, or at least this speed-up. */
const BARS = { recall: 1.5, put: 1.5, workers: 1.7 };
const { values } = parseArgs({ options: { quick: { type: "boolean" }, json: { type: "string" }, rust: { type: "string" } } });
const [items, rounds, calls] = values.quick ? [2_000, 5, 200] : [20_000, 11, 500];
const median = (list) => list.toSorted((one, other) => one - other)[Math.floor(list.length / 2)];

/** Returns the median time of a call in microseconds. */
async function timed(count, work) {
  const times = [];
  for (let number = 0; number < count; number += 1) {
    const start = performance.now();
    await work(number);
    times.push((performance.now() - start) * 1000);
  }
  return median(times);
}

/** The other process, which makes the calls from Rust. */
class Rust {
  constructor(folder) {
    const target = process.env.CARGO_TARGET_DIR ?? fileURLToPath(new URL("target", import.meta.url));
    const program = values.rust ?? join(target, "release", "examples", "bench");
    this.process = spawn(program, [folder], { stdio: ["pipe", "pipe", "inherit"] });
    this.lines = createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();
  }
  async ask(command) {
    this.process.stdin.write(`${command}\n`);
    return Number((await this.lines.next()).value) / 1000;
  }
}

/** Lets both sides take turns. The ratio is the median of the ratios of all rounds. */
async function compared(name, rust, work) {
  const [ours, theirs] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    const sides = [async () => theirs.push(await rust.ask(`${name} ${calls}`)), async () => ours.push(await timed(calls, (call) => work(round, call)))];
    for (const side of round % 2 ? sides : sides.toReversed()) await side();
  }
  return { javascript_us: median(ours), rust_us: median(theirs), ratio: median(ours.map((one, place) => one / theirs[place])) };
}

/** Returns the number of recalls per second with so many workers, which share one open store. */
async function inWorkers(agent, count) {
  const script = new URL("tests/worker.mjs", import.meta.url);
  const workers = [];
  for (let i = 0; i < count; i += 1) {
    workers.push(new Worker(script, { workerData: { task: "recall", shared: await agent.share(), calls: calls * 4 } }));
  }
  await Promise.all(workers.map((worker) => once(worker, "message")));
  const start = performance.now();
  for (const worker of workers) worker.postMessage("go");
  await Promise.all(workers.map((worker) => once(worker, "message")));
  const took = (performance.now() - start) / 1000;
  await Promise.all(workers.map((worker) => worker.terminate()));
  return (count * calls * 4) / took;
}

const folder = mkdtempSync(join(tmpdir(), "treering-bench-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const agent = await Agent.open(join(folder, "store"), { project: "bench" });
const texts = Array.from({ length: items }, (_, number) =>
  `The ${WORDS[number % 8]} of house ${number} is next to the ${WORDS[Math.floor(number / 8) % 8]} number ${(number * 7919) % items}.`);
await agent.rememberMany(texts, { batch: 2000 });
const memory = await agent.memory();
const recall = (number) => agent.recall(`where is the ${WORDS[number % 8]}`, { touch: false });
const rust = new Rust(join(folder, "store"));
await recall(0);
await rust.ask("recall 8");

const figures = { recall: await compared("recall", rust, (_, call) => recall(call)) };
const [singles, doubles] = [[], []];
for (let round = 0; round < Math.ceil(rounds / 2); round += 1) {
  singles.push(await inWorkers(agent, 1));
  doubles.push(await inWorkers(agent, 2));
}
// Other programs only slow down, so the best round of each counts.
const [one, two] = [Math.max(...singles), Math.max(...doubles)];
figures.workers = { one_per_s: one, two_per_s: two, ratio: two / one };
figures.put = await compared("put", rust, (round, call) => memory.put(`javascript/${round}/${call}`, `The text of object ${call} of round ${round}.`));
rust.process.kill();
await agent.close();

console.log(`${items} items, ${rounds} rounds of ${calls} calls; medians`);
for (const name of ["recall", "put"]) {
  const found = figures[name];
  console.log(`${name.padEnd(8)} javascript ${found.javascript_us.toFixed(1).padStart(8)} us   rust ${found.rust_us.toFixed(1).padStart(8)} us   ratio ${found.ratio.toFixed(2)} (at most ${BARS[name]})`);
}
console.log(`workers  one ${one.toFixed(0).padStart(8)} /s   two ${two.toFixed(0).padStart(8)} /s   ratio ${figures.workers.ratio.toFixed(2)} (at least ${BARS.workers})`);
const report = JSON.stringify({ items, rounds, calls, ...figures }, null, 2);
console.log(report);
if (values.json) writeFileSync(values.json, `${report}\n`);
const isMet = figures.workers.ratio >= BARS.workers && ["recall", "put"].every((name) => figures[name].ratio <= BARS[name]);
process.exit(isMet ? 0 : 1);
