/// <reference lib="esnext.disposable" preserve="true" />
// The handles: Memory and Agent, and the views, drafts and watches that are made from them.
import { AssertionError } from "node:assert";
import { fileURLToPath } from "node:url";
import { call, Handle, module, numberOf, register, said, unregister, type CallOptions, type Opened } from "./calls.cjs";
import { CheckError, DeniedError, errorOf, HandleError, InvalidInputError, type Fault } from "./errors.cjs";
import * as generated from "./generated.cjs";
import type {
  Bisected,
  Commit,
  Committed,
  Decayed,
  HeadMoved,
  Merged,
  OfAgent,
  Report,
  Revision,
  StoredObject,
  Time,
  Writer,
} from "./generated.cjs";

/** The options with which a memory is opened. */
export type MemoryOptions = generated.OpenOptions;
/** Returns the vector of a text. Without a usable vector, recall uses only the words. */
export type Embedder = (text: string) => ArrayLike<number> | PromiseLike<ArrayLike<number>>;
type Judgement = "contradiction" | "same" | "unrelated" | null | undefined;
/** Decides how a new text relates to a stored item. Null leaves it to the rules of the library. */
export type Judge = (old: StoredObject, text: string) => Judgement | PromiseLike<Judgement>;
/** Returns a shorter text of an item, or null. */
export type Summarizer = (item: StoredObject, level: string) => string | null | PromiseLike<string | null>;
/** Refuses a change: it returns false or the reason, or throws an `AssertionError`, a `DeniedError` or an `InvalidInputError`. */
export type Check = (draft: Draft) => unknown;

/** The options with which an agent is opened. */
export interface AgentOptions extends MemoryOptions, OfAgent {
  /** Replaces the model of the library. */
  embedder?: Embedder | undefined;
  judge?: Judge | undefined;
}

/** The options of a draft whose checks run before the commit. */
export interface AttemptOptions extends generated.DraftOptions {
  checks?: readonly Check[] | undefined;
}

/** The options of a guarded turn. */
export interface TurnOptions extends AttemptOptions {
  /** The text of a policy file. Without it, the usual policy. */
  policy?: string | undefined;
}

interface OpenedView extends Opened {
  root: string;
  commit: Commit;
  now: string;
  size: number;
}

interface OpenedStore extends Opened {
  path: string | null;
  hash: "blake3" | "sha256";
  fork_name: string | null;
  writer: Writer;
  note?: string | null;
}

/** One state of a memory. It never changes. */
export class View extends generated.ViewVerbs {
  /** The root that names this state. */
  readonly root: string;
  /** The commit of this state. */
  readonly commit: Commit;
  /** The time that decides which objects have expired. */
  readonly now: string;
  /** The number of objects, including expired ones. */
  readonly size: number;

  /** @internal */
  constructor(opened: OpenedView) {
    super(opened);
    this.root = opened.root;
    this.commit = opened.commit;
    this.now = opened.now;
    this.size = opened.size;
  }

  /** Returns a view of the same state for which `now` decides which objects have expired. */
  async withNow(now: Time, options?: CallOptions): Promise<View> {
    return new View(await this._call("View", "withNow", { now }, options));
  }
}

/** Staged changes that become one commit, or none. At the end of an `await using` block, an unfinished draft is discarded. */
export class Draft extends generated.DraftVerbs {
  /** The result of the commit, after it. */
  committed: Committed | null = null;
  /** The report of the guard, after a guarded turn. */
  report: Report | null = null;
  readonly #checks: readonly Check[];

  /** @internal */
  constructor(opened: Opened, checks: readonly Check[] = []) {
    super(opened);
    this.#checks = checks;
  }

  /** Returns the state on which the draft is based. */
  async base(options?: CallOptions): Promise<View> {
    return new View(await this._call("Draft", "base", {}, options));
  }

  /** Commits the staged changes. The checks run first, and nothing can be staged meanwhile. */
  async commit(options?: generated.DraftCommitOptions): Promise<Committed> {
    const verdicts = this.#checks.length === 0 ? undefined : await this.#judged();
    const done = await this._call<{ committed?: Committed; report: Report | null; refused?: Fault }>(
      "Draft",
      "commit",
      { verdicts },
      options,
    );
    this.report = done.report;
    if (done.refused) throw errorOf(done.refused);
    this.committed = done.committed as Committed;
    return this.committed;
  }

  /** Runs the checks. Returns the verdict of each. */
  async #judged(): Promise<{ name: string; why: string | null }[]> {
    await this._call("Draft", "freeze", {});
    const verdicts = [];
    for (const check of this.#checks) {
      const name = check.name || "check";
      try {
        verdicts.push({ name, why: refusal(await check(this)) });
      } catch (error) {
        if (isRefusal(error)) {
          verdicts.push({ name, why: (error as Error).message });
          continue;
        }
        const kept = await this._call<string | null>("Draft", "quarantine", { why: `the check ${name} failed` });
        const hint = kept ? `nothing was changed; the staged change is saved as ${kept}` : null;
        throw new CheckError(`the check ${name} failed: ${said(error)}`, "check_failed", hint, [], error);
      }
    }
    return verdicts;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.closed) await this.discard();
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof AssertionError || error instanceof DeniedError || error instanceof InvalidInputError;
}

/** Returns the reason for a refusal: a text, or `false`. */
function refusal(verdict: unknown): string | null {
  if (verdict === false) return "the check returned false";
  return typeof verdict === "string" ? verdict : null;
}

/** Checks that every check can be called. */
function checked(checks: readonly Check[] | undefined): readonly Check[] {
  const found = checks ?? [];
  if (!Array.isArray(found) || found.some((check) => typeof check !== "function")) {
    throw new InvalidInputError("checks must be an array of functions of the draft", "invalid_input");
  }
  return found;
}

/** The moves of the head since the watch was made, for `for await`. */
export class Watch extends Handle implements AsyncIterableIterator<HeadMoved> {
  readonly #signal: AbortSignal | undefined;
  readonly #stop = new AbortController();

  /** @internal */
  constructor(opened: Opened, signal?: AbortSignal) {
    super(opened);
    this.#signal = signal;
  }

  /** Waits for the next move. It is done when the store is closed or the signal of the watch asks to stop. */
  async next(): Promise<IteratorResult<HeadMoved>> {
    const signals = [this.#stop.signal, ...(this.#signal ? [this.#signal] : [])];
    const signal = AbortSignal.any(signals);
    while (!signal.aborted && !this.closed) {
      try {
        const moved = await this._call<HeadMoved | null>("Watch", "poll", {}, { signal });
        if (moved) return { done: false, value: moved };
      } catch (error) {
        if (!signal.aborted && !(error instanceof HandleError)) throw error;
      }
    }
    return { done: true, value: undefined };
  }

  /** Ends the watch. */
  async return(): Promise<IteratorResult<HeadMoved>> {
    this.#stop.abort();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

type Body<Self, T> = (fork: Self) => T | PromiseLike<T>;

/** A remote of a store: a place to which several stores push, and from which they pull. */
export class Remote extends generated.RemoteVerbs {
  readonly name: string;

  /** @internal */
  constructor(opened: Opened & { name: string }) {
    super(opened);
    this.name = opened.name;
  }
}

/** What a store of either class can do that needs other handles. `Self` is the class. */
function storeMethods<Base extends abstract new (...given: any[]) => generated.StoreVerbs>(base: Base) {
  abstract class StoreMethods extends base {
    /** The folder of the store; null for a store in memory. */
    declare readonly path: string | null;
    /** The hash of the store. */
    declare readonly hash: "blake3" | "sha256";
    /** The name of the fork that this handle reads and writes; null for the main line. */
    declare readonly forkName: string | null;
    /** The writer of every call that names no other writer. */
    declare readonly writer: Writer;

    constructor(...given: any[]) {
      super(...given);
      const opened = given[0] as OpenedStore;
      this.path = opened.path;
      this.hash = opened.hash;
      this.forkName = opened.fork_name;
      this.writer = opened.writer;
    }

    /** @internal */
    _made(opened: OpenedStore): this {
      return new (this.constructor as new (opened: OpenedStore) => this)(opened);
    }

    /** Returns a handle of the same store with another usual writer. */
    async withWriter(writer: Writer, options?: CallOptions): Promise<this> {
      return this._made(await this._call("Store", "withWriter", { writer }, options));
    }

    /** Returns a handle of the same store whose writer acts in this session. Each session has its own undo. */
    async withSession(session: string, options?: CallOptions): Promise<this> {
      return this._made(await this._call("Store", "withSession", { session }, options));
    }

    /** Returns the newest state that this process has read. */
    async view(options?: CallOptions): Promise<View> {
      return new View(await this._call("Store", "view", {}, options));
    }

    /** Reads the commits of other processes, and returns the newest state. */
    async refresh(options?: CallOptions): Promise<View> {
      return new View(await this._call("Store", "refresh", {}, options));
    }

    /** Returns an earlier state. */
    async at(revision: Revision, options?: CallOptions): Promise<View> {
      return new View(await this._call("Store", "at", { revision }, options));
    }

    /** Makes a fork: a line of its own, which begins at the newest state, or at `at`. Nobody else sees what is written through it. */
    async fork(name: string, options?: Omit<generated.ForkOptions, "name">): Promise<this> {
      return this._made(await this._call("Store", "fork", { name }, options));
    }

    /** Opens a fork that exists. */
    async openFork(name: string, options?: Omit<generated.OpenForkOptions, "name">): Promise<this> {
      return this._made(await this._call("Store", "openFork", { name }, options));
    }

    /**
     * Makes a fork for a function. Merges it and drops it when the function ends, or only drops it if the function throws.
     * If the merge is refused, the fork stays.
     */
    async inFork<T>(
      name: string,
      body: Body<this, T>,
      options?: Omit<generated.ForkOptions, "name">,
    ): Promise<{ value: T; merged: Merged | null }> {
      const fork = await this.fork(name, options);
      const end = (keep: boolean) =>
        this._call<Merged | null>("Store", "endFork", { name, keep, writer: options?.writer }, { signal: options?.signal });
      let value: T;
      try {
        value = await body(fork);
      } catch (error) {
        await fork.close();
        // The error of the function says more than that of the drop.
        await end(false).catch(() => null);
        throw error;
      }
      await fork.close();
      return { value, merged: await end(true) };
    }

    /** Opens a saved draft, such as one that another process saved, or a refused one (`rejected/…`). */
    async openDraft(name: string, options?: Omit<generated.OpenDraftOptions, "name">): Promise<Draft> {
      return new Draft(await this._call("Store", "openDraft", { name }, options));
    }

    /** Reports when the head moves, so that a host can refresh a prompt after a rollback. `signal` ends the watch. */
    async watch(options?: CallOptions): Promise<Watch> {
      return new Watch(await this._call("Store", "watch", {}, options), options?.signal);
    }

    /** Returns a remote of the store, for example at `file:///mnt/shared`. */
    async remote(url: string, options?: Omit<generated.RemoteOptions, "url">): Promise<Remote> {
      return new Remote(await this._call("Store", "remote", { url }, options));
    }

    /** Finds the first commit between two states for which `isBad` returns true, by halves. */
    async bisectStates(
      good: Revision,
      bad: Revision,
      isBad: (view: View) => unknown,
      options?: CallOptions,
    ): Promise<Bisected> {
      let thrown: unknown;
      const test = register(async (opened: OpenedView) => {
        try {
          return Boolean(await isBad(new View(opened)));
        } catch (error) {
          thrown = error;
          throw error;
        }
      });
      try {
        return await this._call("Store", "bisectStates", { good, bad, is_bad: test }, options);
      } catch (error) {
        throw thrown ?? error;
      } finally {
        unregister(test);
      }
    }

    /** Returns a number that another thread of this process gives to `from`, so that both use one open store. */
    async share(options?: CallOptions): Promise<number> {
      const shared = await this._call<OpenedStore>("Store", "share", {}, options);
      return shared.$handle;
    }

    /** Closes the store. Everything that was made from it throws a `HandleError` afterwards. Of a fork, only the fork. */
    async close(options?: CallOptions): Promise<void> {
      if (!this.closed) await this._call("Store", "close", {}, options);
    }

    async [Symbol.asyncDispose](): Promise<void> {
      await this.close();
    }
  }
  return StoreMethods;
}

/** The engine: objects by id, with every version of every object. */
export class Memory extends storeMethods(generated.MemoryVerbs) {
  /** @internal */
  constructor(opened: OpenedStore) {
    super(opened);
  }

  /** Opens the store in a folder. With `create`, makes a new one if there is none. */
  static async open(path: string | URL, options?: MemoryOptions): Promise<Memory> {
    return new Memory(await module("open", { path: folder(path) }, options));
  }

  /** Creates a store in a folder that has none. */
  static async create(path: string | URL, options?: MemoryOptions): Promise<Memory> {
    return new Memory(await module("open", { path: folder(path), new: true }, options));
  }

  /** Creates a store that ends with the process, for tests. */
  static async inMemory(options?: MemoryOptions): Promise<Memory> {
    return new Memory(await module("open", { path: null }, options));
  }

  /** Returns a handle of a store that another thread of this process shared. */
  static async from(shared: number, options?: CallOptions): Promise<Memory> {
    return new Memory(await call(numberOf(shared), "Store", "share", {}, options));
  }

  /** Returns an object of the newest state, or null. */
  get(id: string, options?: CallOptions): Promise<StoredObject | null> {
    return this._call("Store", "get", { id }, options);
  }

  /** Returns whether the newest state has an object. */
  has(id: string, options?: CallOptions): Promise<boolean> {
    return this._call("Store", "has", { id }, options);
  }

  /** Begins a draft on the newest state. With `checks`, it is committed only if all of them pass. */
  async draft(options?: AttemptOptions): Promise<Draft> {
    const { checks, ...rest } = options ?? {};
    const found = checked(checks);
    return new Draft(await this._call("Store", "draft", { op: found.length ? "attempt" : "put", ...rest }), found);
  }

  /** Changes several objects in one commit. If the function throws, nothing is changed. */
  async change(body: (draft: Draft) => unknown, options?: AttemptOptions): Promise<Committed> {
    return changed(await this.draft(options), body);
  }
}

async function changed(draft: Draft, body: (draft: Draft) => unknown): Promise<Committed> {
  try {
    await body(draft);
  } catch (error) {
    await draft.discard();
    throw error;
  }
  return draft.commit();
}

/** The memory of an agent: remember, recall, forget, notes, sessions, prompts, guarded turns. */
export class Agent extends storeMethods(generated.AgentVerbs) {
  /** @internal */
  _functions: (number | undefined)[] = [];

  /** @internal */
  constructor(opened: OpenedStore) {
    super(opened);
  }

  /**
   * Opens the memory of an agent in a folder, and creates it if there is none. Without an `embedder`, recall searches by
   * meaning with the model that `settings` or `TREERING_MODEL` name, else with the bundled one.
   */
  static open(path: string | URL, options?: AgentOptions): Promise<Agent> {
    return openAgent({ path: folder(path) }, options);
  }

  /** Creates the memory of an agent that ends with the process, for tests. */
  static inMemory(options?: AgentOptions): Promise<Agent> {
    return openAgent({ path: null }, options);
  }

  /** Returns a handle of a memory that another thread of this process shared. */
  static async from(shared: number, options?: CallOptions): Promise<Agent> {
    return new Agent(await call(numberOf(shared), "Store", "share", {}, options));
  }

  /** Returns the engine below the agent. What it writes is neither scanned nor checked. */
  async memory(options?: CallOptions): Promise<Memory> {
    return new Memory(await this._call("Store", "share", {}, options));
  }

  /** Begins a guarded turn: a draft that is committed only if the policy and the checks pass. */
  async draft(options?: TurnOptions): Promise<Draft> {
    const { checks, policy, ...rest } = options ?? {};
    const found = checked(checks);
    return new Draft(await this._call("Store", "draft", { policy: policy ?? "", ...rest }), found);
  }

  /** Changes several items in one guarded commit. If the function throws, nothing is changed. */
  async change(body: (draft: Draft) => unknown, options?: TurnOptions): Promise<Committed> {
    return changed(await this.draft(options), body);
  }

  /** Shortens the items that nobody used for a while. `summarizer` may return a shorter text. */
  async decay(options?: Omit<generated.DecayOptions, "summarizer"> & { summarizer?: Summarizer }): Promise<Decayed> {
    const { summarizer, ...rest } = options ?? {};
    const number = summarizer && register(warning("summarizer", functionOf(summarizer, "summarizer"), null));
    try {
      return await this._call("Agent", "decay", { summarizer: number }, rest);
    } finally {
      unregister(number);
    }
  }

  override async close(options?: CallOptions): Promise<void> {
    await super.close(options);
    this._functions.forEach(unregister);
  }
}

/** Opens the memory of an agent in a folder, and creates it if there is none. */
export const open: typeof Agent.open = (path, options) => Agent.open(path, options);
/** Creates the memory of an agent that ends with the process, for tests. */
export const inMemory: typeof Agent.inMemory = (options) => Agent.inMemory(options);

async function openAgent(place: { path: string | null }, options: AgentOptions | undefined): Promise<Agent> {
  const { project, settings, embedder_name, embedder, judge, ...rest } = options ?? {};
  const functions = [
    embedder && register(warning("embedder", vectors(functionOf(embedder, "embedder")), [])),
    judge && register(functionOf(judge, "judge")),
  ];
  const own = { project, settings, embedder_name, embedder: functions[0], judge: functions[1] };
  try {
    const opened = await module<OpenedStore>("open", { ...place, agent: own }, rest);
    if (opened.note) process.emitWarning(opened.note, "TreeringWarning");
    const agent = new Agent(opened);
    agent._functions = functions;
    return agent;
  } catch (error) {
    functions.forEach(unregister);
    throw error;
  }
}

function functionOf<T>(given: T, what: string): T {
  if (typeof given !== "function") throw new InvalidInputError(`the ${what} must be a function`, "invalid_input");
  return given;
}

/** Returns a function that warns about its errors, and returns `other` then. */
function warning<G extends unknown[]>(what: string, run: (...given: G) => unknown, other: unknown) {
  return async (...given: G): Promise<unknown> => {
    try {
      return await run(...given);
    } catch (error) {
      process.emitWarning(`the ${what} failed: ${said(error)}`, "TreeringWarning");
      return other;
    }
  };
}

/** Returns an embedder that refuses vectors that recall cannot use. An empty vector means that there is none. */
function vectors(embedder: Embedder): (text: string) => Promise<number[]> {
  let length: number | undefined;
  return async (text) => {
    const given: unknown = await embedder(text);
    const isList = given !== null && typeof given === "object" && typeof (given as ArrayLike<number>).length === "number";
    if (!isList) throw new TypeError("it returned no array of numbers");
    const vector = Array.from(given as ArrayLike<number>);
    if (vector.length === 0) return vector;
    if (vector.some((part) => typeof part !== "number" || !Number.isFinite(part))) throw new TypeError("it returned a part that is no finite number");
    if (vector.every((part) => part === 0)) throw new TypeError("it returned only zeros");
    length ??= vector.length;
    if (vector.length !== length) throw new TypeError(`it returned ${vector.length} numbers, but ${length} before`);
    return vector;
  };
}

/** Returns the path of a folder. */
function folder(path: string | URL): string {
  if (path instanceof URL) return fileURLToPath(path);
  if (typeof path !== "string") throw new InvalidInputError("the path must be a text or a file URL", "invalid_input");
  return path;
}
