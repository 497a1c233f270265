// Calls into the native module: promises, cancelling, handles, and the functions that the library calls.
import { errorOf, InvalidInputError, type Fault } from "./errors.cjs";
import { native } from "./native.cjs";

/** The options of every call. */
export interface CallOptions {
  /** Asks the call to stop: a wait for the lock or a long read ends, and nothing is changed. A write that began is finished. */
  signal?: AbortSignal | undefined;
}

type Host = (...given: never[]) => unknown;

const host = native.begin(receive);
process.on("exit", () => native.end(host));
/** The functions that the library may call, by their number. */
const functions = new Map<number, Host>();
/** The calls in progress, with what they use, so that no handle is released meanwhile. */
const running = new Set<unknown>();
const released = new FinalizationRegistry<number>((handle) => native.release(handle));
let lastNumber = 0;

/** Returns a number that no other call and no other function has. */
function next(): number {
  lastNumber = lastNumber === 0xffff_ffff ? 1 : lastNumber + 1;
  return lastNumber;
}

/** Lets the library call a function. Returns its number. */
export function register(run: Host): number {
  const number = next();
  functions.set(number, run);
  return number;
}

/** Forgets a function. */
export function unregister(number: number | undefined): void {
  if (number !== undefined) functions.delete(number);
}

/** Receives a request of the library to call a function. It must never throw. */
function receive(request: string): void {
  const asked = JSON.parse(request) as { reply: number; function: number; arguments: never[] };
  const answered = (result: unknown) => native.reply(asked.reply, text(result));
  const failed = (error: unknown) => native.reply(asked.reply, JSON.stringify({ error: said(error) }));
  const run = functions.get(asked.function);
  if (run === undefined) return failed("the function is gone, because its agent was closed");
  Promise.resolve()
    .then(() => run(...asked.arguments))
    .then((value) => answered({ value }))
    .catch(failed);
}

/** Returns the text of anything that was thrown. */
export function said(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    return "an error without a text";
  }
}

/** Writes a value that JSON cannot express in the form of the program, and refuses what would be lost. */
function plain(_name: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) {
    return { $float: Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf" };
  }
  if (value instanceof Map || value instanceof Set) throw new TypeError("a Map or Set cannot be stored: give an object or array");
  return value;
}

function text(input: unknown): string {
  return JSON.stringify(input, plain);
}

/** Puts each field `$x` of an answer in the place of `x`, and a whole commit in that of all fields that name a commit. */
function settled<T>(answer: T): T {
  if (answer === null || typeof answer !== "object" || "$handle" in answer) return answer;
  const marked = Object.keys(answer).filter((name) => name.startsWith("$"));
  if (marked.length === 0) return answer;
  const fields = answer as Record<string, unknown>;
  for (const name of marked.includes("$commit") ? ["root", "seq", ...marked] : marked) {
    if (name.startsWith("$")) fields[name.slice(1)] = fields[name];
    delete fields[name];
  }
  return answer;
}

/** Calls a verb. */
export async function call<T>(
  handle: number,
  kind: string,
  verb: string,
  input: object,
  options?: CallOptions | null,
): Promise<T> {
  const { signal, ...rest } = options ?? {};
  let written: string;
  try {
    written = text({ ...rest, ...input });
  } catch (error) {
    throw new InvalidInputError(said(error), "invalid_input", null, [], error);
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new InvalidInputError("signal must be an AbortSignal", "invalid_input");
  }
  signal?.throwIfAborted();
  const number = signal ? next() : 0;
  const used = [input, options];
  const cancel = () => native.cancel(host, number);
  running.add(used);
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    const answer = JSON.parse(await native.call(host, handle, kind, verb, written, number)) as { value: T; error?: Fault };
    if (answer.error === undefined) return settled(answer.value);
    if (answer.error.code === "interrupted") signal?.throwIfAborted();
    throw errorOf(answer.error);
  } finally {
    signal?.removeEventListener("abort", cancel);
    running.delete(used);
  }
}

/** Returns the number of a shared handle, or one that names nothing. */
export function numberOf(shared: unknown): number {
  return Number.isInteger(shared) ? (shared as number) : 0;
}

/** Calls a verb that needs no handle. */
export function module<T>(verb: string, input: object, options?: CallOptions): Promise<T> {
  return call(0, "module", verb, input, options);
}

/** What the native module says about a new handle. */
export interface Opened {
  $handle: number;
}

/** The base of everything that belongs to an open store. */
export abstract class Handle {
  /** @internal */
  readonly _number: number;

  /** @internal */
  constructor(opened: Opened) {
    if (typeof opened?.$handle !== "number") throw new TypeError(`${new.target.name} has no public constructor`);
    this._number = opened.$handle;
    released.register(this, this._number);
  }

  /** Whether the store is closed. */
  get closed(): boolean {
    return !native.isOpen(this._number);
  }

  /** @internal */
  toJSON(): unknown {
    return { $handle: this._number };
  }

  /** @internal */
  _call<T>(kind: string, verb: string, input: object, options?: CallOptions | null): Promise<T> {
    return call(this._number, kind, verb, input, options);
  }
}
