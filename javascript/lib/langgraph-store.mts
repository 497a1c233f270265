// A LangGraph.js store on Treering: items by namespace and key, found by their words.
//
// An item is an object of the kind `langgraph_item` below `langgraph-store/`, with the namespace, the key and the value as
// attributes. Its text is what `search` finds. A batch is one commit.
import {
  BaseStore,
  type GetOperation,
  getTextAtPath,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
} from "@langchain/langgraph-checkpoint";
import { change, label, textOf } from "./adapters.mjs";
import { Agent, type Draft, InvalidInputError, type StoredObject, type View } from "./index.cjs";

const KIND = "langgraph_item";
const LABELS_MAX = 6;
const HITS_MAX = 10_000;
const PREFIX = "langgraph-store/";

export interface StoreOptions {
  /** The scope of the items. `langgraph` without it. */
  scope?: string;
  /** The paths of the texts that a search looks at. The whole value without it. */
  fields?: readonly string[];
  /** Whether a search finds items of untrusted writers, too. */
  withUntrusted?: boolean;
}

/** A store whose items are objects of an agent's memory. `search` with a query finds items by their words and their meaning. */
export class TreeringStore extends BaseStore {
  readonly #agent: Agent;
  readonly #scope: string;
  readonly #fields: readonly string[];
  readonly #withUntrusted: boolean;

  constructor(agent: Agent, options: StoreOptions = {}) {
    super();
    this.#agent = agent;
    this.#scope = options.scope ?? "langgraph";
    this.#fields = options.fields ?? ["$"];
    this.#withUntrusted = options.withUntrusted ?? false;
  }

  /** Opens the memory in a folder, and creates it if there is none. */
  static async open(path: string, options?: StoreOptions): Promise<TreeringStore> {
    return new TreeringStore(await Agent.open(path), options);
  }

  /** Closes the memory. */
  async close(): Promise<void> {
    await this.#agent.close();
  }

  /** Runs operations. All reads see the state before the writes, and all writes are one commit. */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const view = await this.#agent.refresh();
    const results = [];
    for (const op of operations) results.push(await this.#read(view, op));
    const puts = new Map(operations.filter(isPut).map((op) => [idOf(op.namespace, op.key), op]));
    if (puts.size > 0) {
      const now = new Date().toISOString();
      await change(await this.#agent.memory(), "store", async (draft) => {
        for (const [id, op] of puts) await this.#write(draft, id, op, now);
      });
    }
    return results as OperationResults<Op>;
  }

  async #read(view: View, op: Operation): Promise<unknown> {
    if (isPut(op)) return undefined;
    if ("namespacePrefix" in op) return this.#search(view, op);
    if ("key" in op) {
      const found = await view.get(idOf((op as GetOperation).namespace, op.key));
      return found && itemOf(found);
    }
    return namespaces(view, op as ListNamespacesOperation);
  }

  async #write(draft: Draft, id: string, op: PutOperation, now: string): Promise<void> {
    if (op.value === null) {
      await draft.remove(id);
      return;
    }
    const old = await draft.get(id);
    const places = op.namespace.map((part, place) => [`namespace_${place}`, part]);
    const attributes = {
      namespace: op.namespace,
      key: op.key,
      value: JSON.stringify(op.value),
      created: old ? textOf(old, "created") : now,
      updated: now,
      ...Object.fromEntries(places),
    };
    await draft.put(id, this.#text(op), { kind: KIND, scope: this.#scope, attributes });
  }

  /** Returns the text that a search looks at, or nothing if the item must not be found. */
  #text(op: PutOperation): string | null {
    if (op.index === false) return null;
    const paths = op.index ?? this.#fields;
    return paths.flatMap((path) => (path === "$" ? [JSON.stringify(op.value)] : getTextAtPath(op.value, path))).join("\n");
  }

  async #search(view: View, op: SearchOperation): Promise<SearchItem[]> {
    const [offset, limit] = [op.offset ?? 0, op.limit ?? 10];
    const found = op.query ? await this.#recalled(view, op, op.filter ? HITS_MAX : offset + limit) : await all(view, op);
    return found
      .map(({ object, score }): SearchItem => ({ ...itemOf(object), ...(score === undefined ? {} : { score }) }))
      .filter((item) => op.namespacePrefix.every((part, place) => item.namespace[place] === part))
      .filter((item) => accepts(item.value, op.filter ?? {}))
      .slice(offset, offset + limit);
  }

  async #recalled(view: View, op: SearchOperation, limit: number): Promise<Found[]> {
    const places = op.namespacePrefix.map((part, place) => [`namespace_${place}`, part]);
    const { hits } = await this.#agent.recall(op.query, {
      scopes: this.#scope,
      kinds: KIND,
      attributes: Object.fromEntries(places),
      limit,
      with_untrusted: this.#withUntrusted,
      touch: false,
      at: view,
    });
    const objects = hits.length ? await view.getAll(hits.map((hit) => hit.id)) : [];
    return hits.flatMap((hit, place) => {
      const object = objects[place];
      return object ? [{ object, score: hit.score }] : [];
    });
  }
}

interface Found {
  object: StoredObject;
  score?: number;
}

function isPut(op: Operation): op is PutOperation {
  return "value" in op;
}

/** Returns the items below a namespace, the newest first. */
async function all(view: View, op: SearchOperation): Promise<Found[]> {
  const objects = await view.query({ kind: KIND, prefix: folder(op.namespacePrefix) });
  objects.sort((one, other) => (textOf(one, "updated") < textOf(other, "updated") ? 1 : -1));
  return objects.map((object) => ({ object }));
}

/** Returns the prefix of the ids below a namespace. Deep namespaces share one prefix. */
function folder(namespace: readonly string[]): string {
  return PREFIX + namespace.slice(0, LABELS_MAX).map((part) => `${label(part)}/`).join("");
}

function idOf(namespace: readonly string[], key: string): string {
  const rest = namespace.slice(LABELS_MAX);
  const deeper = rest.length ? `${label(JSON.stringify(rest))}/` : "";
  return `${folder(namespace)}${deeper}:${label(key, 40)}`;
}

function itemOf(object: StoredObject): Item {
  return {
    namespace: object.attributes.namespace as string[],
    key: textOf(object, "key"),
    value: JSON.parse(textOf(object, "value")) as Record<string, unknown>,
    createdAt: new Date(textOf(object, "created")),
    updatedAt: new Date(textOf(object, "updated")),
  };
}

function accepts(value: unknown, wanted: Record<string, unknown>): boolean {
  const fields = (value ?? {}) as Record<string, unknown>;
  return Object.entries(wanted).every(([name, one]) => equals(fields[name], one));
}

/** Compares as LangGraph defines: plain values, operators such as `$gt`, and nested values. */
function equals(found: unknown, wanted: unknown): boolean {
  if (wanted === null || typeof wanted !== "object") return found === wanted;
  if (Array.isArray(wanted)) {
    return Array.isArray(found) && found.length === wanted.length && wanted.every((one, place) => equals(found[place], one));
  }
  const conditions = Object.entries(wanted);
  if (conditions.some(([name]) => name.startsWith("$"))) return conditions.every(([name, one]) => compares(found, name, one));
  return found !== null && typeof found === "object" && accepts(found, wanted as Record<string, unknown>);
}

function compares(found: unknown, operator: string, wanted: unknown): boolean {
  if (operator === "$eq") return equals(found, wanted);
  if (operator === "$ne") return !equals(found, wanted);
  const [one, other] = [Number(found), Number(wanted)];
  const isThere = found !== undefined && found !== null;
  switch (operator) {
    case "$gt":
      return isThere && one > other;
    case "$gte":
      return isThere && one >= other;
    case "$lt":
      return isThere && one < other;
    case "$lte":
      return isThere && one <= other;
    default:
      throw new InvalidInputError(`the operator ${operator} is not supported`, "invalid_input");
  }
}

async function namespaces(view: View, op: ListNamespacesOperation): Promise<string[][]> {
  const found = new Map<string, string[]>();
  for (const one of await view.query({ kind: KIND })) {
    const namespace = one.attributes.namespace as string[];
    if (!(op.matchConditions ?? []).every((condition) => matches(namespace, condition))) continue;
    const shown = op.maxDepth === undefined ? namespace : namespace.slice(0, op.maxDepth);
    found.set(JSON.stringify(shown), shown);
  }
  const sorted = [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, namespace]) => namespace);
  return sorted.slice(op.offset, op.offset + op.limit);
}

function matches(namespace: readonly string[], { matchType, path }: MatchCondition): boolean {
  if (path.length > namespace.length) return false;
  const part = matchType === "suffix" ? namespace.slice(namespace.length - path.length) : namespace;
  return path.every((wanted, place) => wanted === "*" || wanted === part[place]);
}
