// A session of the OpenAI Agents SDK on Treering: the history of a conversation, with undo.
//
// The ids of the items are below `openai-agents/SESSION/`. An item is stored exactly as the SDK gives it.
import { randomUUID } from "node:crypto";
import type { AgentInputItem, Session } from "@openai/agents";
import { change, Chunks, engineOf, label, removeAll, sessionWriter, type Stored, textOf } from "./adapters.mjs";
import { Agent, type Committed, ConflictError, type Draft, Memory, NotFoundError, type StoredObject, type View, type Writer } from "./index.cjs";

const TRIES = 20;
/** The characters of a message that are searched. */
const TEXT_MAX = 100_000;

export interface SessionOptions {
  /** The writer. Its session is this session in any case. */
  writer?: Writer;
  /** The scope of the items. Without it, that of a new item of the agent, or `global`. */
  scope?: string;
}

/**
 * The items of a conversation, in their order. Each call is one commit in the lane of the session.
 *
 * `recall` finds the messages of the user and the assistant by their text. Outputs of tools are stored, but not searched.
 */
export class TreeringSession implements Session {
  readonly #given: Memory | Agent;
  readonly #id: string;
  readonly #writer: Writer;
  readonly #prefix: string;
  #scope: string | undefined;

  constructor(sessionId: string, memory: Memory | Agent, options: SessionOptions = {}) {
    this.#given = memory;
    this.#id = sessionId;
    this.#writer = sessionWriter(options.writer ?? memory.writer, sessionId);
    this.#prefix = `openai-agents/${label(sessionId, 40)}/`;
    this.#scope = options.scope;
  }

  /** Opens the memory of an agent in a folder, and creates it if there is none. */
  static async open(sessionId: string, path: string, options?: SessionOptions): Promise<TreeringSession> {
    return new TreeringSession(sessionId, await Agent.open(path), options);
  }

  async getSessionId(): Promise<string> {
    return this.#id;
  }

  /** Closes the memory. */
  async close(): Promise<void> {
    await this.#given.close();
  }

  /** Returns the newest items in their order: all of them, or at most `limit`. */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    const view = await (await engineOf(this.#given)).refresh();
    const end = next(await view.get(this.#head));
    const start = limit === undefined ? 0 : Math.max(0, end - Math.max(0, limit));
    return this.#read(view, range(start, end).map((number) => this.#item(number)));
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    if (items.length === 0) return;
    await this.#change("add_items", async (draft) => {
      const first = next(await draft.get(this.#head));
      await this.#add(draft, first, items);
      await this.#setNext(draft, first + items.length, "add");
    });
  }

  /** Removes the newest item and returns it. */
  async popItem(): Promise<AgentInputItem | undefined> {
    const { done } = await this.#change("pop_item", async (draft) => {
      const end = next(await draft.get(this.#head));
      if (end === 0) return undefined;
      const [item] = await this.#read(await draft.base(), [this.#item(end - 1)]);
      await this.#cut(draft, end - 1, end, "pop");
      return item;
    });
    return done;
  }

  /** Removes all items. `undo` brings them back. */
  async clearSession(): Promise<void> {
    await this.#change("clear_session", async (draft) => {
      const found = await (await draft.base()).query({ prefix: this.#prefix });
      await removeAll(draft, found.map((one) => one.id));
    });
  }

  /** Replaces the whole history in one commit. The SDK calls this after a compaction. */
  async replaceHistoryWithCompaction(items: AgentInputItem[]): Promise<void> {
    await this.#change("compact", async (draft) => {
      await this.#cut(draft, 0, next(await draft.get(this.#head)), "pop");
      await this.#add(draft, 0, items);
      await this.#setNext(draft, items.length, "pop");
    });
  }

  /**
   * Takes back the last turn: the newest item of the user and everything after it, in one commit.
   *
   * The SDK adds the input and the answer of a turn one after the other; both go. If the last change removed items, they come
   * back. Throws a `NotFoundError` if there is no turn.
   */
  async undo(): Promise<Committed> {
    const memory = await engineOf(this.#given);
    for (let left = TRIES; ; left -= 1) {
      const removal = await this.#removal(memory);
      if (removal === null) break;
      try {
        // An item that came since would vanish behind the head that comes back, so that is a conflict.
        const { commit, changed } = await memory.revert({ commit: removal, conflicts: "fail", writer: this.#writer });
        return { commit, changed };
      } catch (error) {
        // Another writer was faster, so the last change may be another one now.
        if (left <= 1 || !(error instanceof ConflictError)) throw error;
      }
    }
    const { committed } = await this.#change("undo_turn", (draft) => this.#cutTurn(draft));
    return committed as Committed;
  }

  // -- the work

  get #head(): string {
    return `${this.#prefix}head`;
  }

  #item(number: number): string {
    return `${this.#prefix}item/${String(number).padStart(12, "0")}`;
  }

  #chunks(): Chunks {
    return new Chunks(`${this.#prefix}chunk/`, this.#scope);
  }

  async #change<T>(op: string, stage: (draft: Draft) => Promise<T>): Promise<{ done: T; committed: Committed | null }> {
    if (this.#scope === undefined) this.#scope = this.#given instanceof Agent ? (await this.#given.scopes()).scope : "global";
    return change(await engineOf(this.#given), op, stage, this.#writer);
  }

  async #read(view: View, ids: string[]): Promise<AgentInputItem[]> {
    const found = ids.length ? await view.getAll(ids) : [];
    const loaded = await this.#chunks().getAll(view, storedOf(found));
    return loaded.map(([frame]) => JSON.parse(Buffer.from(frame?.[1] ?? []).toString()) as AgentInputItem);
  }

  async #add(draft: Draft, first: number, items: readonly AgentInputItem[]): Promise<void> {
    for (const [place, item] of items.entries()) {
      const data = Buffer.from(JSON.stringify(item));
      const attributes = await this.#chunks().put(draft, [["json", data]]);
      await draft.put(this.#item(first + place), textIn(item), { kind: "openai_item", scope: this.#scope, attributes });
    }
  }

  async #setNext(draft: Draft, number: number, op: string): Promise<void> {
    // Two writers that add the same item at once would make the same change, which is no conflict. The random word makes
    // their changes different, so that one of them tries again.
    const attributes = { next: number, op, change: randomUUID() };
    await draft.put(this.#head, null, { kind: "openai_session", scope: this.#scope, attributes });
  }

  /** Removes the items from `first` on, with the chunks that no other item has. */
  async #cut(draft: Draft, first: number, end: number, op: string): Promise<void> {
    const [view, chunks] = [await draft.base(), this.#chunks()];
    const idsOf = async (numbers: number[]) =>
      numbers.length ? chunks.idsOf(view, storedOf(await view.getAll(numbers.map((one) => this.#item(one))))) : new Set<string>();
    const lost = await idsOf(range(first, end));
    if (lost.size > 0) for (const kept of await idsOf(range(0, first))) lost.delete(kept);
    await removeAll(draft, [...range(first, end).map((number) => this.#item(number)), ...lost]);
    await this.#setNext(draft, first, op);
  }

  /** Returns the digest of the commit that made the last change, if it removed items. */
  async #removal(memory: Memory): Promise<string | null> {
    const head = await (await memory.refresh()).get(this.#head);
    if (head !== null && textOf(head, "op") !== "pop") return null;
    const entries = await memory.history(this.#head);
    const removing = ["pop_item", "clear_session", "compact"];
    const found = entries.find((one) => removing.includes(one.commit.op) && one.digest === (head?.digest ?? null));
    return found?.commit.digest ?? null;
  }

  async #cutTurn(draft: Draft): Promise<void> {
    const end = next(await draft.get(this.#head));
    if (end === 0) throw new NotFoundError("the session has no turn to take back", "nothing_to_undo");
    const items = await this.#read(await draft.base(), range(0, end).map((number) => this.#item(number)));
    // Items without one of the user are one turn, such as those of a host that adds only answers.
    const first = Math.max(0, items.findLastIndex((item) => "role" in item && item.role === "user"));
    await this.#cut(draft, first, end, "undo");
  }
}

function range(start: number, end: number): number[] {
  return Array.from({ length: Math.max(0, end - start) }, (_, place) => start + place);
}

function next(head: StoredObject | null): number {
  return Number(head?.attributes.next ?? 0);
}

function storedOf(objects: readonly (StoredObject | null)[]): Stored[] {
  return objects.flatMap((one) => (one ? [one.attributes as Stored] : []));
}

/** Returns the text of a message, by which `recall` finds it. Other items, such as outputs of tools, have none. */
function textIn(item: AgentInputItem): string | null {
  if (!("role" in item) || (item.role !== "user" && item.role !== "assistant")) return null;
  const parts = typeof item.content === "string" ? [{ text: item.content }] : item.content;
  const texts = (parts as { text?: unknown }[]).flatMap((part) => (typeof part.text === "string" ? [part.text] : []));
  return texts.join("\n").slice(0, TEXT_MAX) || null;
}
