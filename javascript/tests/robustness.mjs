// Random calls with wrong types, closed handles and exits. A crash of the process is the only failure.
// node tests/robustness.mjs [calls] [seed]
import { Agent, checkProof, Memory, TreeringError } from "treering";

process.env.TREERING_MODEL ??= "none";
process.removeAllListeners("warning");
const [calls, seed] = [Number(process.argv[2] ?? 10_000), Number(process.argv[3] ?? 1)];
let state = seed;
/** Returns a random number below `limit`. */
const below = (limit) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * limit);
};
const pick = (list) => list[below(list.length)];

const values = [
  undefined, null, true, 0, -1, 1.5, NaN, Infinity, 2 ** 53, 10n, "", "a", "b", "seq:1", "@-1", "\ud800", "x".repeat(5000), [], ["a"], [[[]]],
  {}, { a: 1 }, { $handle: 1 }, { $handle: "x" }, { $float: "nan" }, { $map: 1 }, new Date(), new Date(NaN), new Map(), Symbol("s"), () => 1,
  async () => { throw new Error("no"); }, new Uint8Array(3), new Proxy({}, {}), Object.create(null), AbortSignal.abort(), /x/, new Error("e"),
];
const names = ["limit", "writer", "at", "scopes", "tags", "signal", "kind", "parent", "dry_run", "checks", "policy", "expires", "name", "attributes", "session"];

function options(handles) {
  const made = {};
  for (let i = below(4); i > 0; i--) made[pick(names)] = pick([...values, ...handles]);
  return made;
}

let memory = await Memory.inMemory();
let agent = await Agent.inMemory();
let handles = [memory, agent, await memory.view(), await memory.draft(), await agent.draft()];
const counts = { done: 0, refused: 0, other: 0 };
for (let i = 0; i < calls; i++) {
  const handle = pick(handles);
  const methods = [];
  for (let proto = handle; proto && proto !== Object.prototype; proto = Object.getPrototypeOf(proto)) {
    for (const name of Object.getOwnPropertyNames(proto)) {
      const isMethod = typeof Object.getOwnPropertyDescriptor(proto, name).value === "function";
      if (isMethod && name !== "constructor" && name !== "next" && !name.startsWith("_")) methods.push(name);
    }
  }
  const given = Array.from({ length: below(4) }, () => pick([...values, ...handles, options(handles)]));
  try {
    const call = below(40) === 0 ? checkProof(...given) : handle[pick(methods)](...given);
    // Now and then a call is left alone while the next ones run.
    const made = below(20) === 0 ? void call.catch?.(() => null) : await call;
    if (made && typeof made === "object" && "closed" in made) handles.push(made);
    counts.done += 1;
  } catch (error) {
    if (error instanceof TreeringError && error.code === "internal") throw error;
    counts[error instanceof TreeringError ? "refused" : "other"] += 1;
  }
  if (handles.length > 60 || memory.closed || agent.closed) {
    memory = await Memory.inMemory();
    agent = await Agent.inMemory();
    handles = [memory, agent, await memory.view(), await memory.draft(), await agent.draft(), ...handles.slice(-3)];
  }
}
console.log(JSON.stringify(counts));
process.exit(0);
