// The common part of the adapters: names for ids, values in chunks, and a second try after a conflict.
import { createHash } from "node:crypto";
import {
  Agent,
  ConflictError,
  type Committed,
  type Draft,
  type Memory,
  type StoredObject,
  type View,
  type Writer,
} from "./index.cjs";

const TRIES = 20;
const PLAIN = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const SESSION = /^[^\x00-\x1f\x7f-\x9f]{1,64}$/;
/** Data up to this size is stored in the object that refers to it. */
const INLINE_BYTES_MAX = 4096;
const CHUNK_BYTES = 64 << 10;
const CHUNK_BYTES_MAX = 384 << 10;
/** On average, every fourth element of a list ends a chunk, and every eighth name of a chunk. */
const ELEMENTS_MASK = 3;
const DIGESTS_MASK = 7;
const DIGESTS_MAX = 32;

/** One part of a value: the name of its type and its bytes. */
export type Frame = readonly [type: string, data: Uint8Array];
/** The attributes that find a value again. */
export type Stored = Readonly<{ inline?: string; chunks?: string[]; depth?: number }>;

/** Returns the text if it can be a part of an id, else a digest of it. */
export function label(text: string, length = 24): string {
  return text.length <= length && PLAIN.test(text) ? text : `~${digest(text, 24)}`;
}

function digest(data: string | Uint8Array, digits: number): string {
  return createHash("sha256").update(data).digest("hex").slice(0, digits);
}

/** Returns the writer for a session, so that each conversation has its own undo. */
export function sessionWriter(writer: Writer, session: string): Writer {
  return { ...writer, session: SESSION.test(session) ? session : label(session) };
}

/** Returns the engine of a memory or an agent. */
export async function engineOf(given: Memory | Agent): Promise<Memory> {
  return given instanceof Agent ? given.memory() : given;
}

/** Stages a change on the newest state and commits it. Tries again if another writer was faster. */
export async function change<T>(
  memory: Memory,
  op: string,
  stage: (draft: Draft) => Promise<T>,
  writer?: Writer,
): Promise<{ done: T; committed: Committed | null }> {
  for (let left = TRIES; ; left -= 1) {
    await memory.refresh();
    const draft = await memory.draft({ op, writer });
    try {
      const done = await stage(draft);
      if ((await draft.changes()).length === 0) return { done, committed: null };
      return { done, committed: await draft.commit() };
    } catch (error) {
      if (left <= 1 || !(error instanceof ConflictError)) throw error;
    } finally {
      await draft.discard();
    }
  }
}

/** Stages the removal of objects. */
export async function removeAll(draft: Draft, ids: Iterable<string>): Promise<void> {
  for (const id of ids) await draft.remove(id);
}

/**
 * Stores values as frames of bytes in chunks that are named by their content.
 *
 * The elements of a list are frames of their own, and a chunk ends at an element that its content chooses. So two lists that
 * begin alike share chunks: a conversation that grows by one message stores a few messages. The names of many chunks are
 * stored in chunks in the same way, so that a long list has a short value.
 */
export class Chunks {
  /** Whether a value was staged that shares a stored chunk. */
  shared = false;

  constructor(
    readonly prefix: string,
    readonly scope: string | undefined,
  ) {}

  /** Stages frames. Returns the attributes that find them again. */
  async put(draft: Draft, frames: readonly Frame[]): Promise<Stored> {
    const packed = frames.map(([type, data]) => pack(type, data));
    const size = packed.reduce((sum, frame) => sum + frame.length, 0);
    if (size <= INLINE_BYTES_MAX) return { inline: Buffer.concat(packed).toString("base64") };
    const base = await draft.base();
    let digests = await this.#putChunks(draft, base, cut(packed, 1, ELEMENTS_MASK));
    let depth = 0;
    for (; digests.length > DIGESTS_MAX; depth += 1) {
      const names = digests.map((one) => pack("", Buffer.from(one)));
      digests = await this.#putChunks(draft, base, cut(names, 2, DIGESTS_MASK));
    }
    return { chunks: digests, depth };
  }

  async #putChunks(draft: Draft, base: View, chunks: Iterable<Buffer>): Promise<string[]> {
    const digests = [];
    for (const chunk of chunks) {
      const name = digest(chunk, 32);
      digests.push(name);
      const id = this.prefix + name;
      const kept = await base.get(id);
      if (kept) {
        // Another writer may remove the chunk before this commit, which then fails and is tried again.
        await draft.expect(id, kept.digest);
        this.shared = true;
      } else if ((await draft.get(id)) === null) {
        await draft.put(id, null, { kind: "chunk", scope: this.scope, attributes: { data: chunk.toString("base64") } });
      }
    }
    return digests;
  }

  /** Returns the frames that each of the attributes finds. */
  async getAll(view: View, all: readonly Stored[]): Promise<Frame[][]> {
    const { joined } = await this.#read(view, all);
    return all.map((one, place) => {
      const data = one.inline === undefined ? joined[place] : Buffer.from(one.inline, "base64");
      return [...unpack(data ?? Buffer.alloc(0))];
    });
  }

  /** Returns the ids of all chunks that the attributes refer to. */
  async idsOf(view: View, all: readonly Stored[]): Promise<Set<string>> {
    return (await this.#read(view, all)).ids;
  }

  /** Returns the joined chunks of each of the attributes, and the ids of all chunks. */
  async #read(view: View, all: readonly Stored[]): Promise<{ joined: Buffer[]; ids: Set<string> }> {
    const wanted = all.map((one) => [...(one.chunks ?? [])]);
    const depths = all.map((one) => one.depth ?? 0);
    const joined: Buffer[] = all.map(() => Buffer.alloc(0));
    const ids = new Set<string>();
    for (let depth = Math.max(0, ...depths); depth >= 0; depth -= 1) {
      const places = depths.flatMap((one, place) => (one === depth ? [place] : []));
      const chunks = await this.#load(view, [...new Set(places.flatMap((place) => wanted[place] ?? []))]);
      for (const name of chunks.keys()) ids.add(this.prefix + name);
      for (const place of places) {
        const data = Buffer.concat((wanted[place] ?? []).map((name) => chunks.get(name) as Buffer));
        if (depth === 0) {
          joined[place] = data;
        } else {
          wanted[place] = [...unpack(data)].map(([, name]) => Buffer.from(name).toString());
          depths[place] = depth - 1;
        }
      }
    }
    return { joined, ids };
  }

  async #load(view: View, names: string[]): Promise<Map<string, Buffer>> {
    const objects = names.length === 0 ? [] : await view.getAll(names.map((name) => this.prefix + name));
    return new Map(
      names.map((name, place) => {
        const data = objects[place]?.attributes.data;
        if (typeof data !== "string") throw new Error(`the chunk ${name} is missing`);
        return [name, Buffer.from(data, "base64")];
      }),
    );
  }
}

/** Returns an attribute as a text. */
export function textOf(object: StoredObject, name: string): string {
  const value = object.attributes[name];
  return value === undefined || value === null ? "" : String(value);
}

function pack(type: string, data: Uint8Array): Buffer {
  const name = Buffer.from(type);
  const head = Buffer.alloc(6);
  head.writeUInt16LE(name.length, 0);
  head.writeUInt32LE(data.length, 2);
  return Buffer.concat([head, name, data]);
}

function* unpack(data: Buffer): Generator<Frame> {
  for (let place = 0; place < data.length; ) {
    const name = place + 6 + data.readUInt16LE(place);
    const end = name + data.readUInt32LE(place + 2);
    yield [data.toString("utf8", place + 6, name), data.subarray(name, end)];
    place = end;
  }
}

/** Joins frames to chunks. A frame whose digest has no bit of the mask ends a chunk, and a large frame is split. */
function* cut(packed: readonly Buffer[], framesMin: number, mask: number): Generator<Buffer> {
  let open: Buffer[] = [];
  let size = 0;
  for (const frame of packed) {
    open.push(frame);
    size += frame.length;
    const number = createHash("sha256").update(frame).digest()[0] ?? 0;
    if (((number & mask) === 0 && open.length >= framesMin) || size >= CHUNK_BYTES) {
      yield* split(Buffer.concat(open));
      [open, size] = [[], 0];
    }
  }
  if (open.length > 0) yield* split(Buffer.concat(open));
}

function* split(chunk: Buffer): Generator<Buffer> {
  for (let start = 0; start < chunk.length; start += CHUNK_BYTES_MAX) yield chunk.subarray(start, start + CHUNK_BYTES_MAX);
}
