// The errors: one class for each kind. `code` names the exact case and never changes between releases.

/** An error as the native module reports it. */
export interface Fault {
  kind: string;
  code: string;
  message: string;
  hint: string | null;
  ids: string[];
}

/** The base of every error of Treering. */
export class TreeringError extends Error {
  /** The stable code in `snake_case`, such as `other_lanes`. */
  readonly code: string;
  /** The next step, if there is one. */
  readonly hint: string | null;
  /** The ids of the affected objects, or the names of the affected lanes, documents or drafts. */
  readonly ids: readonly string[];

  constructor(message: string, code = "internal", hint: string | null = null, ids: readonly string[] = [], cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    this.hint = hint;
    this.ids = ids;
  }
}

/** The named object, commit or file does not exist or was erased. Name another one. */
export class NotFoundError extends TreeringError {}
/** The input breaks a rule or a limit, or has a wrong type. Correct the input. */
export class InvalidInputError extends TreeringError {}
/** Another writer changed the state on which this work is based. Read the new head and try again. */
export class ConflictError extends TreeringError {}
/** A policy refused the change. Correct the change before another try. */
export class DeniedError extends TreeringError {}
/** A check of the caller failed: it threw an error, which is the `cause`. Nothing was changed. Mend the check. */
export class CheckError extends TreeringError {}
/** Another process holds the lock. Wait and try again. */
export class BusyError extends TreeringError {}
/** Stored bytes are damaged. Run `verify`, then open with `degraded: true` or salvage. */
export class CorruptError extends TreeringError {}
/** A newer program wrote the store. Upgrade. */
export class UnsupportedFormatError extends TreeringError {}
/** A call of the operating system failed: a full or read-only disk, missing permission, a failing device. */
export class IoError extends TreeringError {}
/** An earlier write or sync failed, so the state of this handle is unknown. Open the store again. */
export class PoisonedError extends TreeringError {}
/** A bug in Treering. Report it. */
export class InternalError extends TreeringError {}
/** The handle cannot be used: its store is closed (`closed`), or its draft was committed or discarded (`finished`). */
export class HandleError extends TreeringError {}

const KINDS: Record<string, typeof TreeringError> = {
  NotFound: NotFoundError,
  InvalidInput: InvalidInputError,
  Conflict: ConflictError,
  Denied: DeniedError,
  Check: CheckError,
  Busy: BusyError,
  Corrupt: CorruptError,
  UnsupportedFormat: UnsupportedFormatError,
  Io: IoError,
  Poisoned: PoisonedError,
  Internal: InternalError,
  Handle: HandleError,
};

/** The marks of advice for the command line: quoted words, options and variables. */
const COMMAND = /`|(?<![\w-])--[a-z]|TREERING_/;

/** The next step in JavaScript for a code whose hint in the library is for the command line. */
const HINTS: Record<string, string> = {
  ambiguous: "give more of the digest or name",
  changed: "read it again; resolve(…, { expected: DIGEST }) drops a version that somebody wrote after the merge",
  changed_since: "revert() takes back one commit or session, and keeps later work",
  corrupt: "run verify(), then open with degraded: true to read what is intact",
  has_children: "remove(id, { recursive: true }) removes the children, too",
  name_taken: "choose another name, or free it with deleteSnapshot() or dropFork()",
  no_conflict: "conflicts() lists the open conflicts",
  no_fork: "forks() lists the forks",
  no_place: "open the agent with a project, or with a writer that has a session or an actor",
  no_store: "open with create: true to make a new store",
  not_a_person: 'give a writer such as { trust: "direct_user", actor: "Vera" }',
  nothing_to_redo: "the lane is that of the writer: give a writer",
  nothing_to_undo: "the lane is that of the writer: give a writer",
  other_lanes: "across_lanes: true also takes back the commits of these lanes; undo() takes back only the own newest commit",
  shared: "everywhere: true erases the other versions, too",
  unmerged: "merge() brings them in; unmerged: true drops the fork with them",
};

/** Makes the error of a kind. */
export function errorOf(fault: Fault, cause?: unknown): TreeringError {
  const isCommand = fault.hint !== null && COMMAND.test(fault.hint) && fault.kind !== "Handle";
  const hint = isCommand ? (HINTS[fault.code] ?? null) : fault.hint;
  return new (KINDS[fault.kind] ?? InternalError)(fault.message, fault.code, hint, fault.ids, cause);
}
