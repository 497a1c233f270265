// A worker that does what it is told with a store, and reports.
import { parentPort, workerData } from "node:worker_threads";
import { Agent, Memory } from "treering";

const { task, shared, path, calls = 0 } = workerData;
const agent = task === "forget" ? null : shared ? await Agent.from(shared) : await Agent.open(path, { project: "test" });
if (task === "recall") {
  parentPort.postMessage("ready");
  parentPort.once("message", async () => {
    for (let i = 0; i < calls; i++) await agent.recall("What is on the shelf?", { touch: false });
    parentPort.postMessage("done");
  });
} else if (task === "remember") {
  await agent.remember("The worker was here");
  parentPort.postMessage("done");
} else if (task === "stuck") {
  // The calls are in progress when the worker ends.
  for (let i = 0; i < 50; i++) agent.recall("anything").catch(() => null);
  const stuck = await Agent.inMemory({ embedder: () => new Promise(() => {}), embedder_name: "stuck" });
  stuck.remember("never").catch(() => null);
  parentPort.postMessage("done");
} else if (task === "forget") {
  for (let i = 0; i < 20; i++) await Memory.inMemory();
  parentPort.postMessage("done");
}
