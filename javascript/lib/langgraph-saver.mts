// A LangGraph.js checkpointer on Treering.
//
// Every object of a thread has an id below `langgraph/THREAD/`:
//
// - `cp/NS/ID` is a checkpoint without its values, and `head/NS` names the newest one;
// - `blob/NS/CHANNEL/VERSION` is a value of a channel, which checkpoints share;
// - `write/NS/ID/TASK/INDEX` is a pending write;
// - `chunk/DIGEST` is a part of a large value, which values share;
// - `shared` changes when a checkpoint or a pending write shares a stored chunk, so that a removal of the chunk is made anew.
//
// Each call of the saver is one commit in the lane of its thread.
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  compareWritesSortKeys,
  getCheckpointId,
  maxChannelVersion,
  type PendingWrite,
  type SerializerProtocol,
  TASKS,
  WRITES_IDX_MAP,
  writesSortKey,
} from "@langchain/langgraph-checkpoint";
import { change, Chunks, engineOf, label, removeAll, sessionWriter, type Stored, textOf } from "./adapters.mjs";
import { type Agent, type Draft, InvalidInputError, Memory, type StoredObject, type View, type Writer } from "./index.cjs";

const KIND = "langgraph_checkpoint";

export interface SaverOptions {
  /** Writes and reads values. Without it, that of LangGraph. */
  serde?: SerializerProtocol;
  /** The writer. Its session is that of the thread in any case. */
  writer?: Writer;
  /** The scope of the objects. `langgraph` without it. */
  scope?: string;
}

/** A value of a channel, whose elements are frames of their own if it is a list. */
type Value = Stored & { list: boolean };

/**
 * A checkpointer that keeps every checkpoint in a memory.
 *
 * `deleteThread` removes from the newest state; history keeps the old versions until `gc`, so that it can be undone.
 */
export class TreeringSaver extends BaseCheckpointSaver {
  readonly #given: Memory | Agent;
  readonly #writer: Writer;
  readonly #scope: string;

  constructor(memory: Memory | Agent, options: SaverOptions = {}) {
    super(options.serde);
    this.#given = memory;
    this.#writer = options.writer ?? memory.writer;
    this.#scope = options.scope ?? "langgraph";
  }

  /** Opens the store in a folder, and creates it if there is none. */
  static async open(path: string, options?: SaverOptions): Promise<TreeringSaver> {
    return new TreeringSaver(await Memory.open(path, { create: true }), options);
  }

  /** Closes the memory. */
  async close(): Promise<void> {
    await this.#given.close();
  }

  async #view(): Promise<View> {
    return (await engineOf(this.#given)).refresh();
  }

  #chunks(names: Names): Chunks {
    return new Chunks(`${names.prefix}chunk/`, this.#scope);
  }

  // -- values

  async #stored(draft: Draft, chunks: Chunks, value: unknown): Promise<Value> {
    const list = Array.isArray(value);
    const frames = await Promise.all((list ? value : [value]).map((one) => this.serde.dumpsTyped(one)));
    return { list, ...(await chunks.put(draft, frames)) };
  }

  /** Returns the values that the attributes find. */
  async #values(view: View, chunks: Chunks, all: readonly Value[]): Promise<unknown[]> {
    const loaded = await chunks.getAll(view, all);
    return Promise.all(
      loaded.map(async (frames, place) => {
        const values = await Promise.all(frames.map(([type, data]) => this.serde.loadsTyped(type, new Uint8Array(data))));
        return all[place]?.list ? values : values[0];
      }),
    );
  }

  // -- reading

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { thread_id: given, checkpoint_ns: ns } = placeOf(config);
    if (given === undefined) return undefined;
    const [view, names] = [await this.#view(), new Names(given)];
    const wanted = getCheckpointId(config) || textOf((await view.get(names.head(ns))) ?? NO_OBJECT, "checkpoint");
    const found = wanted ? await view.get(names.checkpoint(ns, wanted)) : null;
    return found ? this.#tuple(view, found) : undefined;
  }

  async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const view = await this.#view();
    const { thread_id: thread, checkpoint_ns: ns, checkpoint_id: wanted } = config.configurable ?? {};
    const before = options.before ? getCheckpointId(options.before) : "";
    const prefix = thread === undefined ? "langgraph/" : `${new Names(String(thread)).prefix}cp/`;
    const found = (await view.query({ kind: KIND, prefix })).filter((one) => {
      const id = textOf(one, "checkpoint");
      return (ns === undefined || textOf(one, "ns") === ns) && (!wanted || id === wanted) && (!before || id < before);
    });
    found.sort((one, other) => (textOf(one, "checkpoint") < textOf(other, "checkpoint") ? 1 : -1));
    let left = options.limit ?? found.length;
    for (const one of found) {
      if (left <= 0) return;
      const tuple = await this.#tuple(view, one);
      const metadata = (tuple.metadata ?? {}) as Record<string, unknown>;
      if (Object.entries(options.filter ?? {}).some(([name, value]) => !isDeepStrictEqual(metadata[name], value))) continue;
      left -= 1;
      yield tuple;
    }
  }

  async #tuple(view: View, found: StoredObject): Promise<CheckpointTuple> {
    const fields = found.attributes as { body: Value; metadata: Value; parent?: string | null };
    const [thread, ns, id] = [textOf(found, "thread"), textOf(found, "ns"), textOf(found, "checkpoint")];
    const names = new Names(thread);
    const chunks = this.#chunks(names);
    const [body, metadata] = (await this.#values(view, chunks, [fields.body, fields.metadata])) as [Checkpoint, CheckpointMetadata];
    const versions = Object.entries(body.channel_versions);
    const blobs = versions.length ? await view.getAll(versions.map(([channel, version]) => names.blob(ns, channel, version))) : [];
    const stored = versions.flatMap(([channel], place) => {
      const blob = blobs[place];
      return blob ? [{ channel, value: blob.attributes.value as Value }] : [];
    });
    const writes = await this.#writes(view, names, ns, id);
    const values = await this.#values(view, chunks, [...stored.map((one) => one.value), ...writes.map((one) => one.value)]);
    const channels = Object.fromEntries(stored.map(({ channel }, place) => [channel, values[place]]));
    const pendingWrites = writes.map(
      ({ task, channel }, place): CheckpointPendingWrite => [task, channel, values[stored.length + place]],
    );
    const checkpoint = { ...body, channel_values: channels };
    if (checkpoint.v < 4 && fields.parent) await this.#addSends(checkpoint, view, names, ns, fields.parent);
    const tuple: CheckpointTuple = { config: configOf(thread, ns, id), checkpoint, metadata, pendingWrites };
    if (fields.parent) tuple.parentConfig = configOf(thread, ns, fields.parent);
    return tuple;
  }

  /** Adds the tasks that an old checkpoint keeps as writes of its parent. */
  async #addSends(checkpoint: Checkpoint, view: View, names: Names, ns: string, parent: string): Promise<void> {
    const sends = (await this.#writes(view, names, ns, parent)).filter((one) => one.channel === TASKS);
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = await this.#values(view, this.#chunks(names), sends.map((one) => one.value));
    checkpoint.channel_versions[TASKS] = versions.length ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }

  /** Returns the pending writes of a checkpoint, in the order in which the tasks write. */
  async #writes(view: View, names: Names, ns: string, id: string): Promise<Write[]> {
    const found = await view.query({ prefix: names.writes(ns, id) });
    const writes = found.map((one) => one.attributes as unknown as Write);
    const key = (one: Write) => writesSortKey(one.path, one.task, one.index);
    return writes.sort((one, other) => compareWritesSortKeys(key(one), key(other)));
  }

  // -- writing

  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { thread_id: thread, checkpoint_ns: ns, checkpoint_id: parent } = placeOf(config);
    if (thread === undefined) throw new InvalidInputError("put needs a thread_id in `configurable`", "invalid_input");
    const names = new Names(thread);
    const { channel_values: values, ...body } = checkpoint;
    await this.#change("checkpoint", thread, async (draft) => {
      const chunks = this.#chunks(names);
      for (const [channel, version] of Object.entries(newVersions)) {
        if (!(channel in values)) continue;
        const value = await this.#stored(draft, chunks, values[channel]);
        await this.#put(draft, names.blob(ns, channel, version), "langgraph_value", { channel, version, value });
      }
      await this.#put(draft, names.checkpoint(ns, checkpoint.id), KIND, {
        thread,
        ns,
        checkpoint: checkpoint.id,
        parent,
        body: await this.#stored(draft, chunks, body),
        metadata: await this.#stored(draft, chunks, metadata),
      });
      const head = await draft.get(names.head(ns));
      if (head === null || textOf(head, "checkpoint") <= checkpoint.id) {
        await this.#put(draft, names.head(ns), "langgraph_head", { checkpoint: checkpoint.id });
      }
      await this.#mark(draft, names, chunks);
    });
    return configOf(thread, ns, checkpoint.id);
  }

  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, taskPath = ""): Promise<void> {
    const { thread_id: thread, checkpoint_ns: ns, checkpoint_id: id } = placeOf(config);
    if (thread === undefined || id === undefined) {
      const missing = thread === undefined ? "thread_id" : "checkpoint_id";
      throw new InvalidInputError(`putWrites needs a ${missing} in \`configurable\``, "invalid_input");
    }
    const names = new Names(thread);
    await this.#change("checkpoint_write", thread, async (draft) => {
      const chunks = this.#chunks(names);
      for (const [place, [channel, given]] of writes.entries()) {
        const index = WRITES_IDX_MAP[channel] ?? place;
        const name = names.write(ns, id, taskId, index);
        // The first write of a task counts; errors and interrupts, which have negative numbers, are replaced.
        if (index >= 0 && (await draft.get(name)) !== null) continue;
        const value = await this.#stored(draft, chunks, given);
        const write: Write = { task: taskId, index, channel, path: taskPath, value };
        await this.#put(draft, name, "langgraph_write", { ...write });
      }
      await this.#mark(draft, names, chunks);
    });
  }

  async #mark(draft: Draft, names: Names, chunks: Chunks): Promise<void> {
    if (chunks.shared) await this.#put(draft, names.shared, "langgraph_shared", { change: randomUUID() });
  }

  async #put(draft: Draft, id: string, kind: string, attributes: Record<string, unknown>): Promise<void> {
    await draft.put(id, null, { kind, scope: this.#scope, attributes });
  }

  async #change(op: string, thread: string, stage: (draft: Draft) => Promise<void>): Promise<void> {
    await change(await engineOf(this.#given), op, stage, sessionWriter(this.#writer, thread));
  }

  async deleteThread(threadId: string): Promise<void> {
    const names = new Names(threadId);
    await this.#change("delete_thread", threadId, async (draft) => {
      const found = await (await draft.base()).query({ prefix: names.prefix });
      await removeAll(draft, found.map((one) => one.id));
    });
  }
}

interface Write {
  task: string;
  index: number;
  channel: string;
  path: string;
  value: Value;
}

/** Stands for an object that is not there. */
const NO_OBJECT = { attributes: {} } as StoredObject;

/** The ids of a thread. */
class Names {
  readonly prefix: string;

  constructor(thread: string) {
    this.prefix = `langgraph/${label(thread, 40)}/`;
  }

  get shared(): string {
    return `${this.prefix}shared`;
  }

  head(ns: string): string {
    return `${this.prefix}head/${label(ns)}`;
  }

  checkpoint(ns: string, id: string): string {
    return `${this.prefix}cp/${label(ns)}/${label(id, 40)}`;
  }

  blob(ns: string, channel: string, version: string | number): string {
    return `${this.prefix}blob/${label(ns)}/${label(channel)}/${label(`${typeof version}-${version}`, 40)}`;
  }

  writes(ns: string, id: string): string {
    return `${this.prefix}write/${label(ns)}/${label(id, 40)}/`;
  }

  write(ns: string, id: string, task: string, index: number): string {
    return `${this.writes(ns, id)}${label(task, 40)}/${index}`;
  }
}

function placeOf(config: RunnableConfig): { thread_id?: string; checkpoint_ns: string; checkpoint_id?: string } {
  const { thread_id: thread, checkpoint_ns: ns, checkpoint_id: id } = config.configurable ?? {};
  return {
    checkpoint_ns: String(ns ?? ""),
    ...(thread === undefined ? {} : { thread_id: String(thread) }),
    ...(id === undefined ? {} : { checkpoint_id: String(id) }),
  };
}

function configOf(thread: string, ns: string, id: string): RunnableConfig {
  return { configurable: { thread_id: thread, checkpoint_ns: ns, checkpoint_id: id } };
}
