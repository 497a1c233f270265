// What the types accept and refuse. tsc checks this file; nothing runs it.
import { Agent, checkProof, type Committed, type Hit, inMemory, Memory, NotFoundError, open, type StoredObject, TreeringError, version, type View } from "treering";
import { memoryMiddleware, memoryTools } from "treering/ai";
import { TreeringSaver, TreeringStore } from "treering/langgraph";
import { TreeringSession } from "treering/openai-agents";

export async function accepted(agent: Agent, memory: Memory): Promise<void> {
  const done: Committed = await memory.put("a", "x", { attributes: { deep: [1, { a: null }] }, event_time: new Date(), expires: "2099-01-01T00:00:00Z" });
  const digest: string = done.commit.digest;
  const object: StoredObject | null = await memory.get("a", { signal: AbortSignal.timeout(5) });
  const view: View = await agent.at(new Date());
  const hits: Hit[] = (await agent.recall("q", { at: view, scopes: ["a"], limit: undefined })).hits;
  await agent.remember("x", { trust: "untrusted", on_duplicate: "skip", writer: { trust: "direct_user", actor: null } });
  await agent.expire("a", null);
  await agent.fork("f").then((fork) => fork.remember("x"));
  const { value } = await memory.inFork("f", async (fork) => fork.put("a"));
  const changed: boolean = value.changed;
  await using draft = await memory.draft({ checks: [() => true, async (one) => (await one.changes()).length < 5] });
  await draft.put("b");
  for await (const moved of await memory.watch()) console.log(moved);
  await agent.rememberMany(["a", { text: "b", tags: ["c"] }]);
  await agent.decay({ summarizer: (item, level) => item.content ?? level });
  await open("x", { embedder: (text) => new Float32Array(text.length), embedder_name: "e", judge: () => "same" });
  await inMemory();
  console.log(digest, object, hits, changed, version, await checkProof("", "", ""), new TreeringSaver(agent), new TreeringStore(agent));
  console.log(new TreeringSession("s", memory), memoryTools(agent), memoryMiddleware(agent));
  const error: TreeringError = new NotFoundError("x");
  const next: string | null = error.hint;
  console.log(next);
}

export async function refused(agent: Agent, memory: Memory): Promise<void> {
  // @ts-expect-error a number is no id
  await memory.put(5);
  // @ts-expect-error there is no such option
  await agent.recall("q", { limits: 5 });
  // @ts-expect-error there is no such class of trust
  await agent.remember("x", { trust: "boss" });
  // @ts-expect-error the engine has no such verb
  await memory.remember("x");
  // @ts-expect-error a judge returns one of three words
  await open("x", { judge: () => "maybe" });
  // @ts-expect-error an object may be null
  (await memory.get("a")).content;
  // @ts-expect-error the id of an item in a draft is needed
  await (await agent.draft()).putItem("x");
  // @ts-expect-error a store needs an agent
  new TreeringStore(memory);
}
