// The types of all inputs and answers, and the methods of all verbs. generate.mjs writes this file.
import { Handle, type CallOptions, module as call } from "./calls.cjs";
import type { Draft, View } from "./handles.cjs";

/** A time: a `Date`, or a text in RFC 3339. Answers have texts, because a `Date` has no microseconds. */
export type Time = Date | string;
/** One text or several. */
export type Texts = string | readonly string[];
/** A state: a snapshot by name, `"@-3"`, `"seq:7"`, `"fork:NAME"`, a digest, a time, or a view. */
export type Revision = string | Date | View;
/** Attributes with their values. A float that JSON cannot express is `{ $float: "nan" }` in an answer. */
export type Attributes = Readonly<Record<string, unknown>>;
/** A class of trust. `untrusted` means `tool_external`. */
export type Trust = Origin | "untrusted";
/** What a staged put does. */
export type Staged = "created" | "updated" | "unchanged";
/** The scope of a new item, and the scopes that a call reads; null means all. */
export interface Scopes {
  scope: string;
  scopes: string[] | null;
}

/** A commit: one change of the state, with its writer. */
export interface Commit {
  /** The digest that names the commit, as 64 hexadecimal digits. */
  digest: string;
  /** The root that names the state after the commit. */
  root: string;
  /** The number of the commit; the first commit of a store has 0. */
  seq: number;
  time: string;
  /** The operation, such as `"put"` or `"rollback"`. */
  op: string;
  /** The commit that a rollback, undo or redo targets. */
  target: string | null;
  /** The session, else the actor, else `"default"`. Each lane has its own undo and redo. */
  lane: string;
  actor: string | null;
  session: string | null;
  trust: Origin;
  /** The digest of the source that the writer stated; `text` of the store returns it. */
  source_digest: string | null;
  /** The digest of the reason that the writer stated; `text` of the store returns it. */
  reason_digest: string | null;
}

/**
 * The class of source of an object or a commit, most trusted first.
 *
 * The last three classes are equally untrusted. They are separate because readers distinguish them.
 */
export type Origin = "direct_user" | "host" | "model" | "tool_internal" | "tool_external" | "document" | "import";

/** The result that a rollback would have. */
export interface RollbackPreview {
  /** The commit whose state comes back. */
  target: Commit;
  /** The number of ids that only the newer state contains. */
  added: number;
  /** The number of ids that have different versions in the two states. */
  changed: number;
  /** The number of ids that only the older state contains. */
  removed: number;
}

/** One id that differs between two states. */
export interface Change {
  /** The id that differs. */
  id: string;
  /** The kind of the difference. */
  change: ChangeKind;
  /** The version in the older state. */
  old: string | null;
  /** The version in the newer state. */
  new: string | null;
  /**
   * Whether the versions were erased or lost, so only their digests are known. If so, `id` is `erased:` and the key
   * path, because the real id is unknown.
   */
  erased: boolean;
}

/** The kind of difference of an id between two states. */
export type ChangeKind = "added" | "changed" | "removed";

/** One change of an id, with the commit that made it. */
export interface HistoryEntry {
  /** The version after the change; null if the id was removed. */
  digest: string | null;
  time: string;
  /** The first kept commit whose state has the change. */
  commit: Commit;
  erased: boolean;
  lost: boolean;
  /** Whether a thinned commit made or may have made the change, so that its writer is unknown. */
  thinned: boolean;
}

/** A name for a state. */
export interface Snapshot {
  name: string;
  /** The number of an automatic snapshot in its lane: 0 is the newest. */
  index: number | null;
  /** The root of the state that the snapshot names. */
  root: string;
  /** The commit that the snapshot names. */
  commit: string;
  /** The time at which the reference was made. */
  time: string;
  /** The seq of the commit that the snapshot names. */
  seq: number;
  /** The lane of an automatic snapshot. */
  lane: string | null;
  /** The actor who made the reference. */
  actor: string | null;
  /** The session in which the actor made the reference. */
  session: string | null;
  /** The reason that the writer gave. */
  reason: string | null;
}

/** A notification that the store has a new head. */
export interface HeadMoved {
  /** The new head. */
  commit: string;
  /** The root of the new head's state. */
  root: string;
  /** The seq of the new head. */
  seq: number;
  /** The operation of the new head: `put`, `rollback` and so on. */
  op: string;
}

/** A part of an object, with the change that wrote it. */
export interface BlamedPart {
  /** The name of the part: `"kind"`, `"attr:todo"` or `"line:3"`. */
  part: string;
  value: unknown;
  change: HistoryEntry;
  trust: Origin;
}

/** The first bad commit that `bisect` found. */
export interface Bisected {
  first_bad: Commit;
  last_good: Commit;
  /** The number of states that were tested. */
  steps: number;
  /** The number of thinned commits between the two; one of them may have made the change. */
  thinned: number;
}

/** An object that a revert changes. */
export interface RevertedObject {
  /** The id of the object. */
  id: string;
  /** The version before the revert. There is none if the object comes back. */
  from: string | null;
  /** The version after the revert. There is none if the object is removed. */
  to: string | null;
  /**
   * The missing object above the version that would stand, if the object is removed because of it. Only a revert that
   * takes later work of others back too removes objects for this reason.
   */
  gone_with?: string | null | undefined;
  /** Whether thinned commits may have written a newer version, which history no longer keeps. */
  thinned?: boolean | undefined;
}

/** An object that stays as it is because of later work of others. */
export interface KeptObject {
  id: string;
  because: Because;
  /** The object below it, or the missing parent. */
  other: string | null;
  /** The commit of the later work; null if that commit was thinned. */
  by: Commit | null;
}

/** The later work because of which a revert keeps an object. */
export type Because = "changed" | "below" | "no_parent" | "other";

/** The result of a revert, or of its preview. */
export interface Reverted {
  /** The commit of the revert, or the head if nothing changed. */
  commit: Commit;
  changed: boolean;
  kept: KeptObject[];
  /** The number of selected commits. */
  selected: number;
  /** The changed objects, sorted by id. */
  reverted: RevertedObject[];
  /** The objects whose present version is derived from a version of the selected commits, sorted. */
  derived: string[];
  /** Whether this is a preview, which changed nothing. */
  dry_run?: boolean | undefined;
}

/** A fork of the memory. */
export interface Fork {
  /** The name of the fork. */
  name: string;
  /** The commit at which the fork begins. */
  base: string;
  /** The newest commit of the fork; the base if the fork has no commit. */
  head: string;
  /** The seq of the newest commit. */
  seq: number;
  /** The number of kept commits since the base. */
  commits: number;
  /** The most trusted class that a write through the fork gets. */
  trust_cap: Origin;
  /** The time of the newest change of the fork. */
  time: string;
}

/** An object that both sides of a merge changed, so that somebody must decide. */
export interface MergeConflict {
  /** The object. */
  id: string;
  /** The fields in which the sides differ, sorted. `removed`: a side removed the object. `attr:NAME`: an attribute. */
  fields: string[];
}

/** The result of a merge, or of its preview. */
export interface Merged {
  /** The commit of the merge, or the head if there was nothing new. */
  commit: Commit;
  /** The newest commit from which both lines come. */
  base: string;
  /** The number of ids that only the newer state contains. */
  added: number;
  /** The number of ids that have different versions in the two states. */
  changed: number;
  /** The number of ids that only the older state contains. */
  removed: number;
  /** The conflicts that are left open, sorted by id. */
  conflicts: MergeConflict[];
  /** Whether this is a preview, which changed nothing. */
  dry_run?: boolean | undefined;
  /** Whether the other line had something new. */
  new: boolean;
  /** The changes of the merge, sorted by id. */
  changes: Change[];
}

/** A version of an open conflict. */
export interface ConflictSide {
  /** The version; null if the side removed the object. */
  digest: string | null;
  object: StoredObject | null;
  trust: Origin | null;
  /** The commit that wrote the version, if it is kept. */
  commit: Commit | null;
}

/** An object about which somebody must decide, because both sides of a merge changed it. */
export interface Conflict {
  id: string;
  /** The fields in which the sides differ. `removed`: a side removed the object. `attr:NAME`: an attribute. */
  fields: string[];
  sides: ConflictSide[];
  /** The version from which all sides come, if it is one version and is kept. */
  base: StoredObject | null;
  /** The version that the object has now, if it is none of the sides. */
  present: ConflictSide | null;
}

/** The result of a backup. */
export interface BackedUp {
  /** The place of the backup, without a password. */
  url: string;
  /** The number of commits that this run sent. */
  commits: number;
  /** The number of versions of objects that this run sent. */
  objects: number;
  /** The number of bytes that this run sent. */
  bytes: number;
  /** The number of requests. */
  requests: number;
}

/** The result of a clone. */
export interface Cloned {
  /** The folder of the new store. */
  store: string;
  /** The number of commits of the main line that the new store has. */
  commits: number;
  /** The number of objects. */
  objects: number;
  /** The root of the newest state. */
  root: string;
  /** The name by which the new store knows the remote; none if it is the clone of a backup. */
  remote: string | null;
}

/** The result of a push. */
export interface Pushed {
  /** The name of the remote. */
  remote: string;
  /** The number of commits of this store that the remote lacked. */
  commits: number;
  /** The number of bytes that were sent. */
  bytes: number;
  /** The number of requests. */
  requests: number;
  /** Whether the newest commit of the remote was signed before, as far as this store knows, and is not signed now. */
  unsigned?: boolean | undefined;
}

/** The result of a fetch. */
export interface Fetched {
  /** The name of the remote. */
  remote: string;
  /** The number of commits of other machines that this store did not have. */
  commits: number;
  /** The number of bytes that were received. */
  bytes: number;
  /** The number of requests. */
  requests: number;
  /** The newest commit of the main line of the remote. */
  head: string;
  /** The number of records that others erased, and that this fetch erased here. */
  erased: number;
  /**
   * The number of records that others erased, and that stay here: the cap of the remote is below `host`, or a demanded
   * signature does not cover the erasure.
   */
  not_erased: number;
  /** What an erasure takes to erase those: ids, and digests of records without an id. */
  kept: string[];
}

/** The result of a pull. */
export interface Pulled {
  /** The commit of the merge, or the head if there was nothing new. */
  commit: Commit;
  /** The newest commit from which both lines come. */
  base: string;
  /** The number of ids that only the newer state contains. */
  added: number;
  /** The number of ids that have different versions in the two states. */
  changed: number;
  /** The number of ids that only the older state contains. */
  removed: number;
  /** The conflicts that are left open, sorted by id. */
  conflicts: MergeConflict[];
  /** Whether this is a preview, which changed nothing. */
  dry_run?: boolean | undefined;
  /** What was fetched before it. */
  fetched: Fetched;
  /** Whether the remote had something new. */
  new: boolean;
}

/** The result of a sync. */
export interface Synced {
  /** The commit of the merge, or the head if there was nothing new. */
  commit: Commit;
  /** The newest commit from which both lines come. */
  base: string;
  /** The number of ids that only the newer state contains. */
  added: number;
  /** The number of ids that have different versions in the two states. */
  changed: number;
  /** The number of ids that only the older state contains. */
  removed: number;
  /** The conflicts that are left open, sorted by id. */
  conflicts: MergeConflict[];
  /** Whether this is a preview, which changed nothing. */
  dry_run?: boolean | undefined;
  /** What was fetched before it. */
  fetched: Fetched;
  /** What was pushed. */
  pushed: Pushed;
  /** How often another machine pushed first. */
  lost: number;
  /** Whether the store or the remote changed. */
  new: boolean;
}

/** A fault that `verify` found in the files. */
export interface Finding {
  severity: Severity;
  text: string;
}

/** The severity of a finding. */
export type Severity = "damage" | "unsure" | "derived" | "harmless";

/** The result of `verify`. */
export interface VerifyReport {
  /** Whether all acknowledged data is present and undamaged. */
  ok: boolean;
  /** The number of commits that passed verification. */
  commits: number;
  /** The number of versions of objects that passed verification. */
  versions: number;
  /** The number of bytes of the log that were read. */
  bytes: number;
  /** The number of erased versions. Those that others erased, and that this store keeps, do not count. */
  erased: number;
  /** The number of lost versions that salvage could not restore: only their digests are left. */
  lost: number;
  /** The number of thinned commits. */
  thinned: number;
  /** Damage that loses no acknowledged data. */
  derived: Finding[];
  /** Damage to acknowledged data. */
  damage: Finding[];
}

/** The result of a garbage collection, or of its preview. */
export interface GcReport {
  /** The number of kept commits. */
  kept: number;
  /** The number of commits that this collection thinned. */
  thinned: number;
  /** The number of versions of objects in history before the collection. */
  versions_before: number;
  /** The number of versions of objects in history after the collection. */
  versions: number;
  /** The size of the log's batches in bytes before the collection. */
  bytes_before: number;
  /** The size of the log's batches in bytes after the collection. */
  bytes: number;
}

/** A record that was erased, or that a previewed erasure would erase. */
export interface ErasedRecord {
  /** The kind of the erased record. */
  kind: ErasedKind;
  /** The digest of the record. The store keeps this digest after the erasure. */
  digest: string;
  /** The id of the object, if the record is a version. */
  id: string | null;
  /** The number of bytes of the record. */
  bytes: number;
}

/** The kind of an erased record. */
export type ErasedKind = "version" | "content" | "text";

/** The result of an erasure, or of its preview. */
export interface ErasedReport {
  records: ErasedRecord[];
  /** The ids that the erasure removed from the newest state. */
  unlinked: string[];
  /** Other objects that lost a shared content or an earlier version. */
  holders: string[];
  /** null for a preview. */
  commit: Commit | null;
}

/** Counts and sizes of a store. */
export interface Stats {
  /** The number of objects in the state at the head. */
  objects: number;
  /** The number of versions of objects that history keeps. */
  history: number;
  /** The number of kept commits. */
  commits: number;
  /** The number of commits that retention thinned; their digests stay in the chain. */
  thinned: number;
  /** The number of runs of thinned commits. */
  gaps: number;
  /**
   * The number of versions of which the store keeps only the digest: erased versions, and lost versions that salvage
   * could not restore. `verify` counts the two separately.
   */
  erased: number;
  /** The number of snapshots, named and automatic. */
  snapshots: number;
  /** The number of segments of the log. */
  segments: number;
  /** The size of the log's batches in bytes, as garbage collection counts them. */
  log_bytes: number;
  /** The size of all files of the store in bytes, including preallocated space. */
  disk_bytes: number;
  /** The size of the checkpoint files in bytes; a part of `disk_bytes`. */
  checkpoint_bytes: number;
  /** The preallocated bytes of the log's files; a part of `disk_bytes`. */
  set_aside_bytes: number;
  /** The size of the objects and contents of the head's state, in bytes. */
  live_bytes: number;
  /** The number of objects whose parent does not exist: 0 unless the store is damaged. */
  orphans: number;
}

/** An existing item of the same scope and kind that is similar to the new item. */
export interface Alike {
  /** The id of the similar item. */
  id: string;
  /** The similarity of the two texts, 0 to 1. */
  similarity: number;
  /** The origin class of the text. */
  trust: Origin;
  /** The rules of the scan that the text matched when it was written, or matches now. */
  flags: string[];
  /** The text, with markers instead of secrets. null if the text is withheld. */
  text: string | null;
  /** Whether the text is withheld, because it is untrusted and the caller did not ask for untrusted texts. */
  withheld: boolean;
}

/** The answer to `remember`. Look at `status`: a quarantined item is not in the memory. */
export interface Remembered {
  id: string;
  digest: string | null;
  status: Status;
  disabled: boolean;
  scope: string;
  duplicates: Alike[];
  verdict: Verdict;
  rules: string[];
  redacted: boolean;
  held_as: string | null;
  /** The stored text, without secrets and invisible characters. */
  text: string;
  commit: Commit;
  /** The items that contradict the new item. */
  conflicts: Alike[];
}

/** The outcome for an item. */
export type Status = "created" | "updated" | "unchanged" | "duplicate" | "merged" | "superseded" | "quarantined" | "disabled";

/**
 * The treatment of a text with findings. No verdict silently drops a text: `Block` refuses the write and names the
 * reason.
 */
export type Verdict = "allow" | "flag" | "quarantine" | "block";

/** An item that `remember_many` did not store. */
export interface RefusedItem {
  index: number;
  id: string | null;
  verdict: LineVerdict;
  reason: string;
}

/** The reason why a line was not stored. */
export type LineVerdict = "block" | "quarantine" | "denied" | "invalid";

/** The answer to `remember_many`. */
export interface RememberedMany {
  /** The number of lines that stored a new id or a new version. */
  stored: number;
  /** The number of lines that changed nothing, including `duplicates`. */
  unchanged: number;
  /** The number of lines without an id that repeat the text of another item. */
  duplicates: number;
  /** The number of lines stored with the attribute `flags`. */
  flagged: number;
  /** The names of unknown fields, which were stored as attributes. At most 100 names. */
  unknown: string[];
  refused: RefusedItem[];
  held: string[];
  commit: Commit;
}

/** The answer to `forget`. */
export interface Forgot {
  /** The forgotten items, in their last version. */
  items: StoredObject[];
  /** The pinned items that met the conditions and stay. */
  pinned: string[];
  /** The given ids whose items fail another condition and stay. */
  others: string[];
  /** The episodes and summaries that may still say what an item said that was learnt from their session. */
  still: string[];
  commit: Commit | null;
}

/** An item that was forgotten and not restored. */
export interface Forgotten {
  item: StoredObject;
  version: string;
  commit: Commit;
  reason: string | null;
}

/** The answer to `unforget`. */
export interface Restored {
  items: StoredObject[];
  unchanged: string[];
  commit: Commit | null;
}

/** A note of a session. */
export interface Note {
  id: string;
  text: string;
  /** The root session that owns the note. */
  owner: string | null;
  created: string | null;
  updated: string | null;
  /** The time of the read before this one. */
  read: string | null;
  object: StoredObject;
}

/** A note that matches a query. */
export interface NoteFound {
  note: Note;
  score: number;
  snippet: string;
  /** Whether the note belongs to the asking session. */
  own: boolean;
}

/** The answer to `write_note`. */
export interface NoteWritten {
  /** The id of the note; null if the write only removed notes. */
  id: string | null;
  /** The result of the write. */
  action: NoteAction;
  /** The version of the note; null if no note was stored. */
  digest: string | null;
  /** The root session that owns the note. */
  owner: string;
  /** The scope of the note. */
  scope: string;
  /** The number of removed notes. */
  cleared: number;
  /** The verdict of the scan. */
  verdict: Verdict;
  /** The rules of the scan that matched. */
  rules: string[];
  /** The name of the draft under `rejected/` that contains the quarantined note. */
  held: string | null;
  commit: Commit;
}

/** The result of a write. */
export type NoteAction = "created" | "replaced" | "unchanged" | "deleted" | "quarantined";

/** An entry that was not stored. */
export interface NotStored {
  /** The index of the entry in the call, from 0. */
  place: number;
  /** The verdict of the scan. */
  verdict: Verdict;
  /** The rules of the scan that match the text. */
  rules: string[];
}

/** The answer to `append`. */
export interface Appended {
  scope: string;
  root_session: string;
  ids: string[];
  not_stored: NotStored[];
  flagged: number;
  unchanged: number;
  held_as: string[];
  commit: Commit;
}

/**
 * A record in the form that the envelope shows: invisible characters are escaped, and the text is cut to its limit.
 * JSON omits the text, because the text of the envelope contains it.
 */
export interface Shown {
  /** The id of the item. */
  id: string;
  /** The section that contains the record. */
  section: Section;
  /** The origin class of the item. */
  trust: Origin;
  /** The titles of the item from the top down; empty if there are none. */
  title: string;
  /** The rules of the scan that matched the text; empty if no rule matched. */
  flags: string;
  /** The source of the item; empty if unknown. */
  source: string;
  /** The time when the item was created, for example `2026-08-21T10:00:00Z`; empty if unknown. */
  time: string;
}

/**
 * A section. The variants have the order of the sections in the text: those that change least are first, so that
 * a prompt cache matches more of the text.
 */
export type Section = "project_rules" | "key_decisions" | "persistent_memory" | "session_snapshot" | "session_notes" | "subagent_work" | "files_in_play" | "active_tasks" | "unresolved_errors" | "git_state" | "quarantine" | "last_request";

/** The text for a prompt. `str(envelope)` is the text. */
export interface Envelope {
  /** The text for the prompt; empty if there are no records. Never put it into a message with the role `system`. */
  text: string;
  /** The records in the text, in order. */
  shown: Shown[];
  /** The root of the state that the envelope shows. */
  root: string;
  /** The size of the text, in tokens. */
  tokens: number;
  /** The number of items that the envelope does not show. */
  left_out: number;
}

/** The result of one check. */
export interface Checked {
  /** The name of the check. */
  check: string;
  /** Whether the change passes the check. */
  passed: boolean;
  /** The reason for the failure; empty if the change passes. */
  why: string;
  /** The ids of the objects that fail the check, at most 20. */
  ids: string[];
  /** The number of objects that fail the check. */
  ids_total: number;
  /** Advice on how to correct the change; empty if the change passes. */
  advice: string;
}

/** The results of the checks of a change. True if the change passed all of them. */
export interface Report {
  passed: boolean;
  /** The number of ids that only the newer state contains. */
  added: number;
  /** The number of ids that have different versions in the two states. */
  changed: number;
  /** The number of ids that only the older state contains. */
  removed: number;
  /** The results of the checks. The reason and the advice are empty if a check passed. */
  checks: Checked[];
  /** The report for people. */
  text: string;
}

/** A quarantined change. */
export interface Quarantined {
  /** The name of the change, for example `rejected/17`. */
  name: string;
  /** The reason why the change was quarantined. */
  reason: string | null;
  /** The time of the quarantine. */
  time: string;
  /** The name of the writer of the change. */
  actor: string | null;
  /** The session of the writer of the change. */
  session: string | null;
  /** The ids that the change affects in the scopes of the reach, at most 20. */
  ids: string[];
  /** The number of ids that the change affects, in all scopes. */
  ids_total: number;
  /** The class of the first text. null if its objects are not readable. */
  trust: Origin | null;
  /** The beginning of the first text, on one line. Secrets are redacted, and invisible characters are escaped. */
  preview: string;
  /** Whether an answer withholds the preview, because it is untrusted and the caller did not ask for untrusted texts. */
  withheld: boolean;
}

/** An item that a reviewed version would hide. */
export interface HiddenItem {
  /** The id of the item. */
  id: string;
  /** The origin class of the item. */
  trust: Origin;
  /** The text of the item. */
  text: string;
}

/** A field that takes effect on its own. */
export interface ActingField {
  /** The name of the field or attribute. */
  field: string;
  /** The value of the field. */
  value: unknown;
  /** The items that the field would hide. */
  hides: HiddenItem[];
}

/** Everything of a version that takes effect. Secrets are markers, and invisible characters are written out. */
export interface Review {
  /** The id of the object. */
  id: string;
  /** The reviewed version. `promote` promotes only this version. */
  digest: string;
  /** The kind of the object. */
  kind: string;
  /** The scope of the object. */
  scope: string;
  /** The origin class of the version. */
  trust: Origin;
  /** The rules of the scan that the version matches. */
  flags: string[];
  /** The whole text, below the title if the object has one. */
  text: string;
  /** The fields that act on their own. */
  acts: ActingField[];
  /** The number of invisible characters that the text and the fields write out. */
  invisible: number;
}

/** The result of a promotion. */
export interface Promoted {
  /** The id of the item. */
  id: string;
  /** The digest of the promoted version. */
  digest: string;
  /** The version that the person reviewed. */
  promoted: string;
  /** The class of the item before the promotion. */
  from: Origin;
  /** The class of the item after the promotion. */
  to: Origin;
  /** The acting fields of the reviewed version that the promoted version does not have. */
  dropped: string[];
  commit: Commit;
}

/** An item that moved one level down. */
export interface Move {
  /** The id of the item. */
  id: string;
  /** The level of the item before the move. */
  from: Level;
  /** The level of the item after the move. */
  to: Level;
  /** The version with the full text, which `unforget` restores. */
  original: string;
  /** The number of characters of the item's text before the move. */
  chars_before: number;
  /** The number of characters of the item's text after the move; 0 if the item is removed. */
  chars_after: number;
}

/** A level of decay. */
export type Level = "full" | "summary" | "keywords" | "gone";

/** The result of a decay pass. */
export interface Decayed {
  /** The current time that was used for computing ages. */
  now: string;
  /** The number of items that were read. */
  items: number;
  /** The moves of items, or the planned moves of a dry run. */
  moves: Move[];
  commits: Commit[];
  warning: string | null;
}

/** A hit of a recall. */
export interface Hit {
  /** The id of the item. */
  id: string;
  /** The kind of the item. */
  kind: string;
  /** The scope of the item. */
  scope: string;
  /**
   * How well the hit answers the question, from 0 to 1. Scores of different answers can be compared. The best hit has
   * the confidence of the answer; the other hits are in proportion to it, in the order of their ranks.
   */
  score: number;
  /** Whether the hit is no good match: its score is below 0.35. It may share only a common word with the question. */
  weak: boolean;
  /** The confidence of this hit alone, from 0 to 1: how much of the question its words contain. */
  confidence: number;
  /** The titles of the item: those above it from the top down, then its own. */
  titles: string[];
  /** The part of the text around the match, with markers instead of secrets. */
  snippet: string;
  /** The event time of the item. Without an event time, the time of the first commit with the id of the item. */
  time: string;
  /**
   * The origin class of the item, such as a person, a model, a tool or a document.
   * `history` returns the name of each writer.
   */
  trust: Origin;
  /**
   * The rules of the scan that the text matched when it was written, or matches now. `merge-conflict`: a merge left a
   * conflict about the item open.
   */
  flags: string[];
  /** The size of the text in tokens of about four characters. */
  tokens: number;
  /** The reasons for the rank of the hit in words, the most important first. */
  why: string[];
  /** The ids of the items in the searched scopes that supersede this item. */
  superseded_by: string[];
  /** The speaker of the text, if the item names one. The speaker can differ from the writer. */
  speaker: string | null;
  /** The session in which the text was said, if the item names one. */
  session: string | null;
  /** The digest of the version of the item. */
  digest: string;
  /** The whole text with markers instead of secrets, if `full` is set. */
  text?: string | null | undefined;
  /** All reasons for the score with their values, if `explain` is set. */
  reasons?: Reason[] | null | undefined;
}

/** One line of an explanation. */
export interface Reason {
  /** The short name of the signal. */
  name: string;
  /** The description of the signal. */
  meaning: string;
  /** The value of the signal. */
  value: number;
  /** The weight of the signal. The score is the sum of values times weights. */
  weight: number;
}

/** The answer to a recall: a sequence of hits, the best first. */
export interface Recalled {
  /** The hits, best first. For an empty question, the summaries in order of time. */
  hits: Hit[];
  /** Whether no hit is a good match: the question has words, and every hit is weak. */
  no_good_match: boolean;
  /** The total size of the texts of the hits, in tokens. */
  tokens: number;
  /** The number of ranked hits that did not fit into the budget. */
  skipped: number;
  /** The root of the state that was searched. */
  root: string;
  /** The searched scopes. There is no list if all scopes were searched. */
  scopes: string[] | null;
  /** The way in which the index was prepared. Summaries need no index, so they have no way. */
  index: Reached | null;
  /** How many texts of the state have vectors. There are none without a model, and for summaries. */
  vectors?: VectorCounts | null | undefined;
  /** The number of matches that are left out because they are untrusted. */
  left_out: number;
  /** The words that the recall searched for. */
  terms: string[];
  /** If there is no good match: the other scopes that have matches, each with the number of matches. */
  elsewhere: Record<string, number>;
}

/** The way in which an index was prepared for the requested state. */
export type Reached = "at_hand" | "followed" | "built";

/** How many texts of a state have vectors. */
export interface VectorCounts {
  /** The model that computed the vectors. */
  model: string;
  /** The number of texts with a vector, or for which the model has none. */
  embedded: number;
  /** The number of texts without a vector yet. They are found by words only. */
  pending: number;
}

/** The commit that changed the first hit of a recall. */
export interface BisectedAnswer {
  found: Bisected;
  before: Hit | null;
  after: Hit | null;
}

/** One version of an object. It never changes. */
export interface StoredObject {
  /** The permanent name. */
  id: string;
  /** The kind, such as `fact`. */
  kind: string;
  scope: string;
  /** The id of the parent. */
  parent: string | null;
  /** The position among the siblings. */
  position: string | null;
  /** The text. */
  content: string | null;
  attributes: Record<string, unknown>;
  /** The class of trust. */
  origin: Origin;
  /** Whether the class is one of the four trusted ones. */
  trusted: boolean;
  /** The digests of the versions from which this object is derived. */
  derived_from: string[];
  /** The time of the event that the object describes. */
  event_time: string | null;
  /** The time from which on the object is hidden. */
  expires: string | null;
  /** The digest that, with the id, names this version. */
  digest: string;
  /** Whether the version was erased, so that only its digest is known. */
  erased: boolean;
}

/** The result of a call that writes. */
export interface Committed {
  /** The new commit, or the head if nothing changed. */
  commit: Commit;
  /** Whether the call made a new commit. */
  changed: boolean;
}

/** The writer of a change. */
export interface Writer {
  /** The class of trust: the most trusted origin that the objects of this writer can have. `model` without it. */
  trust?: Trust | undefined;
  /** The name of the person, model or tool. */
  actor?: string | null | undefined;
  /** The session. Each session has its own undo. */
  session?: string | null | undefined;
  /** Where the text comes from. */
  source?: string | null | undefined;
  /** Why the change is made. */
  reason?: string | null | undefined;
}

/** An entry of a transcript. */
export interface Entry {
  text: string;
  speaker?: string | null | undefined;
  time?: Time | undefined;
  order?: number | null | undefined;
  trust?: Trust | undefined;
  /** The id of the message in its own system. An entry with a known one is not stored again. */
  id?: string | null | undefined;
}

/** A place in a file. */
export interface Cited {
  file: string;
  line?: number | null | undefined;
  note?: string | null | undefined;
}

export interface OfAgent {
  /** The project. Without it, that of the current folder; an empty text means none. */
  project?: string | null | undefined;
  /** The text of a settings file. */
  settings?: string | null | undefined;
  /** The name of the embedder, such as the name and version of a model. */
  embedder_name?: string | null | undefined;
}

export interface CheckProofOptions extends CallOptions {
  hash?: string | null | undefined;
}

export interface CloneOptions extends CallOptions {
  /** The most trusted class that anything in the new store gets. `import` without it. */
  trust_cap?: Trust | undefined;
}

export interface SnapshotOptions extends CallOptions {
  writer?: Writer | null | undefined;
}

export interface DeleteSnapshotOptions extends CallOptions {
  writer?: Writer | null | undefined;
}

export interface UndoOptions extends CallOptions {
  writer?: Writer | null | undefined;
}

export interface RedoOptions extends CallOptions {
  writer?: Writer | null | undefined;
}

export interface RollbackOptions extends CallOptions {
  /** Whether the commits of other lanes are taken back, too. */
  across_lanes?: boolean | undefined;
  writer?: Writer | null | undefined;
}

export interface RollbackPreviewOptions extends CallOptions {
  /** Whether the commits of other lanes are taken back, too. */
  across_lanes?: boolean | undefined;
  writer?: Writer | null | undefined;
}

export interface RevertOptions extends CallOptions {
  /** The commits to take back. */
  commit?: Texts | undefined;
  /** The sessions whose commits are taken back. */
  session?: Texts | undefined;
  /** The actors whose commits are taken back. */
  actor?: Texts | undefined;
  /** The sources whose commits are taken back. */
  source?: Texts | undefined;
  since?: Time | undefined;
  until?: Time | undefined;
  /** What happens to an object that others changed later. `keep` without it. */
  conflicts?: "keep" | "revert" | "fail" | undefined;
  /** Whether what was derived from the taken back versions goes, too. */
  with_derived?: boolean | undefined;
  dry_run?: boolean | undefined;
  writer?: Writer | null | undefined;
}

export interface CommitsOptions extends CallOptions {
  limit?: number | null | undefined;
}

export interface BlameOptions extends CallOptions {
  at?: Revision | undefined;
}

export interface VerifyOptions extends CallOptions {
  files_only?: boolean | undefined;
}

export interface DropForkOptions extends CallOptions {
  /** Whether the fork goes even if it has commits that no merge took. */
  unmerged?: boolean | undefined;
  writer?: Writer | null | undefined;
}

export interface MergeOptions extends CallOptions {
  /** Who decides what both sides changed. Without it, that is left open. */
  strategy?: "ours" | "theirs" | "newer" | "trusted" | undefined;
  /** Whether to compare with the state at which the lines parted, whatever was merged since. */
  again?: boolean | undefined;
  dry_run?: boolean | undefined;
  writer?: Writer | null | undefined;
}

export interface ResolveOptions extends CallOptions {
  /** The digest of the version of a side. */
  take?: string | null | undefined;
  /** Whether the object goes. */
  remove?: boolean | undefined;
  /** The text with which the object stays. */
  content?: string | null | undefined;
  /**
   * The digest of the version that the object has now, or `removed`. Only then, the decision drops a version that
   * somebody wrote after the merge.
   */
  expected?: string | null | undefined;
  writer?: Writer | null | undefined;
}

export interface DeleteDraftOptions extends CallOptions {
  writer?: Writer | null | undefined;
}

export interface PutOptions extends CallOptions {
  /** `fact` without it. */
  kind?: string | null | undefined;
  scope?: string | null | undefined;
  /** The id of the parent. */
  parent?: string | null | undefined;
  /** The position among the siblings. */
  position?: string | null | undefined;
  attributes?: Attributes | undefined;
  /** The time of the event that the object describes. */
  event_time?: Time | undefined;
  /** The time from which on the object is hidden. */
  expires?: Time | undefined;
  /** The digests of the versions from which the object is derived. */
  derived_from?: Texts | undefined;
  writer?: Writer | null | undefined;
}

export interface RemoveOptions extends CallOptions {
  /** Whether everything below the object goes, too. */
  recursive?: boolean | undefined;
  writer?: Writer | null | undefined;
}

export interface GcOptions extends CallOptions {
  keep_all?: number | null | undefined;
  hourly?: number | null | undefined;
  daily?: number | null | undefined;
  weekly?: number | null | undefined;
  forgotten?: number | null | undefined;
  /** The number of newest commits that stay in any case. */
  newest?: number | null | undefined;
  now?: Time | undefined;
  dry_run?: boolean | undefined;
}

export interface EraseOptions extends CallOptions {
  /** Whether other versions with the same content go, too. */
  everywhere?: boolean | undefined;
  /** Whether what was derived from the objects goes, too. */
  derived?: boolean | undefined;
  dry_run?: boolean | undefined;
  writer?: Writer | null | undefined;
}

export interface RememberOptions extends CallOptions {
  /** Without it, an id is made. */
  id?: string | null | undefined;
  /** `fact` without it. */
  kind?: string | null | undefined;
  scope?: string | null | undefined;
  tags?: Texts | undefined;
  /** Who said the text. */
  speaker?: string | null | undefined;
  /** Whom or what the text is about. */
  subject?: string | null | undefined;
  session?: string | null | undefined;
  /** The position of the text in the session. */
  order?: number | null | undefined;
  /** The time of the event that the text describes. */
  time?: Time | undefined;
  /** The time at which the item expires. */
  expires?: Time | undefined;
  citations?: Cited[] | null | undefined;
  /** The confidence in the statement, 0 to 1. */
  confidence?: number | null | undefined;
  sensitivity?: string | null | undefined;
  /** Where the text comes from. */
  source?: string | null | undefined;
  pinned?: boolean | undefined;
  /** The ids of the items that this item supersedes. */
  supersedes?: Texts | undefined;
  /** The digests of the versions from which the item is derived. */
  derived_from?: Texts | undefined;
  attributes?: Attributes | undefined;
  /** The class of the text, if it is less trusted than the writer. */
  trust?: Trust | undefined;
  /** What happens to a duplicate. `warn` without it. */
  on_duplicate?: "warn" | "skip" | "merge" | "supersede" | undefined;
  /** A key that makes the call safe to repeat. */
  key?: string | null | undefined;
  /** The digest of the version that the item must have. */
  expected?: string | null | undefined;
  /** Whether the search for duplicates is left out. */
  quick?: boolean | undefined;
  with_untrusted?: boolean | undefined;
  writer?: Writer | null | undefined;
}

export interface RememberManyOptions extends CallOptions {
  /** `fact` without it. */
  kind?: string | null | undefined;
  scope?: string | null | undefined;
  session?: string | null | undefined;
  /** The most items of one commit. */
  batch?: number | null | undefined;
  writer?: Writer | null | undefined;
}

export interface RecallOptions extends CallOptions {
  /** 10 without it. */
  limit?: number | null | undefined;
  /** The most tokens of the hits. */
  budget?: number | null | undefined;
  /** The scopes that are searched; `"all"` for all. */
  scopes?: Texts | undefined;
  kinds?: Texts | undefined;
  /** Tags that an item must have, all of them. */
  tags?: Texts | undefined;
  /** Tags of which an item must have one. */
  any_tags?: Texts | undefined;
  since?: Time | undefined;
  until?: Time | undefined;
  with_untrusted?: boolean | undefined;
  speaker?: string | null | undefined;
  attributes?: Attributes | undefined;
  include_expired?: boolean | undefined;
  /** True without it. */
  include_superseded?: boolean | null | undefined;
  /** The weight of the age. */
  recency?: number | null | undefined;
  /** Whether newer statements about the same come first. True without it. */
  freshness?: boolean | null | undefined;
  /** The time at which the question is asked. */
  when?: Time | undefined;
  /** Whether hits have their whole texts. */
  full?: boolean | undefined;
  /** Whether hits say why they were found. */
  explain?: boolean | undefined;
  /** Whether the items count as used. True without it. */
  touch?: boolean | null | undefined;
  /** The state that is searched. Without it, the newest one. */
  at?: Revision | undefined;
}

export interface EmbedOptions extends CallOptions {
  /** The most seconds of the work. Without it, all vectors are computed. */
  seconds?: number | null | undefined;
}

export interface ForgetOptions extends CallOptions {
  /** Tags that an item must have, all of them. */
  tags?: Texts | undefined;
  /** Tags of which an item must have one. */
  any_tags?: Texts | undefined;
  /** The time before which an item was written. */
  before?: Time | undefined;
  session?: string | null | undefined;
  source?: string | null | undefined;
  kind?: string | null | undefined;
  scopes?: Texts | undefined;
  dry_run?: boolean | undefined;
  writer?: Writer | null | undefined;
}

export interface UnforgetOptions extends CallOptions {
  scopes?: Texts | undefined;
  dry_run?: boolean | undefined;
  writer?: Writer | null | undefined;
}

export interface ForgottenOptions extends CallOptions {
  /** 20 without it. */
  limit?: number | null | undefined;
  scopes?: Texts | undefined;
}

export interface ExpireOptions extends CallOptions {
  writer?: Writer | null | undefined;
}

export interface BisectOptions extends CallOptions {
  /** A text that a good answer has. */
  expect?: string | null | undefined;
  scopes?: Texts | undefined;
  with_untrusted?: boolean | undefined;
}

export interface CheckOptions extends CallOptions {
  /** The text of a policy file. Without it, the usual policy. */
  policy?: string | null | undefined;
}

export interface QuarantinedOptions extends CallOptions {
  scopes?: Texts | undefined;
}

export interface ReleaseOptions extends CallOptions {
  writer?: Writer | null | undefined;
}

export interface DiscardOptions extends CallOptions {
  writer?: Writer | null | undefined;
}

export interface ReviewOptions extends CallOptions {
  expected?: string | null | undefined;
}

export interface PromoteOptions extends CallOptions {
  keep?: Texts | undefined;
  writer?: Writer | null | undefined;
}

export interface WriteNoteOptions extends CallOptions {
  session?: string | null | undefined;
  scope?: string | null | undefined;
  /** The id of a note, or `own` for all notes of the session. */
  replace?: string | null | undefined;
  writer?: Writer | null | undefined;
}

export interface ReadNoteOptions extends CallOptions {
  scope?: string | null | undefined;
  writer?: Writer | null | undefined;
}

export interface NotesOptions extends CallOptions {
  /** Only the notes of this session. */
  session?: string | null | undefined;
  scope?: string | null | undefined;
}

export interface SearchNotesOptions extends CallOptions {
  session?: string | null | undefined;
  scope?: string | null | undefined;
  /** 10 without it. */
  limit?: number | null | undefined;
}

export interface DeleteNoteOptions extends CallOptions {
  scope?: string | null | undefined;
  writer?: Writer | null | undefined;
}

export interface AppendOptions extends CallOptions {
  session?: string | null | undefined;
  /** The session that called this one. */
  parent?: string | null | undefined;
  scope?: string | null | undefined;
  user?: string | null | undefined;
  writer?: Writer | null | undefined;
}

export interface EntriesOptions extends CallOptions {
  at?: Revision | undefined;
}

export interface EnvelopeOptions extends CallOptions {
  /** The most tokens of the text. 5000 without it. */
  budget?: number | null | undefined;
  scopes?: Texts | undefined;
  /** What the host says about its own compaction. */
  compaction?: string | null | undefined;
  with_untrusted?: boolean | undefined;
  /** `internal` without it. */
  sensitivity_max?: "none" | "pii" | "internal" | "credentials" | undefined;
  /** 16 to 64 ASCII letters and digits that mark the edges of the text. */
  boundary?: string | null | undefined;
  at?: Revision | undefined;
}

export interface ViewQueryOptions extends CallOptions {
  kind?: string | null | undefined;
  scope?: string | null | undefined;
  /** The start of the ids. */
  prefix?: string | null | undefined;
  /** The id of the parent. The objects then come in the order of their positions. */
  parent?: string | null | undefined;
  attributes?: Attributes | undefined;
  /** Whether expired objects are found, too. */
  expired?: boolean | undefined;
  limit?: number | null | undefined;
}

export interface ViewChildrenOptions extends CallOptions {
  limit?: number | null | undefined;
}

export interface DraftPutOptions extends CallOptions {
  /** `fact` without it. */
  kind?: string | null | undefined;
  scope?: string | null | undefined;
  /** The id of the parent. */
  parent?: string | null | undefined;
  /** The position among the siblings. */
  position?: string | null | undefined;
  attributes?: Attributes | undefined;
  /** The time of the event that the object describes. */
  event_time?: Time | undefined;
  /** The time from which on the object is hidden. */
  expires?: Time | undefined;
  /** The digests of the versions from which the object is derived. */
  derived_from?: Texts | undefined;
}

export interface DraftPutItemOptions extends CallOptions {
  id: string;
  /** `fact` without it. */
  kind?: string | null | undefined;
  /** Without a scope, the item belongs to the project, as with `remember`. */
  scope?: string | null | undefined;
  tags?: Texts | undefined;
  source?: string | null | undefined;
  pinned?: boolean | undefined;
}

export interface DraftRemoveOptions extends CallOptions {
  /** Whether everything below the object goes, too. */
  recursive?: boolean | undefined;
}

export interface RemotePushOptions extends CallOptions {
  writer?: Writer | null | undefined;
}

export interface RemoteFetchOptions extends CallOptions {
  writer?: Writer | null | undefined;
}

export interface RemotePullOptions extends CallOptions {
  /** Who decides what both sides changed. Without it, that is left open. */
  strategy?: "ours" | "theirs" | "newer" | "trusted" | undefined;
  writer?: Writer | null | undefined;
}

export interface RemoteSyncOptions extends CallOptions {
  writer?: Writer | null | undefined;
}

export interface OpenOptions extends CallOptions {
  /** Whether a folder without a store gets a new one. An agent does so without it. */
  create?: boolean | null | undefined;
  read_only?: boolean | undefined;
  /** Whether a damaged store is opened, to read what is intact. */
  degraded?: boolean | undefined;
  /** The most seconds to wait for the lock. 30 without it. */
  wait?: number | null | undefined;
  /** Whether no other process may open the store meanwhile. */
  exclusive?: boolean | undefined;
  /** Whether the files are mapped into memory. True without it. */
  mmap?: boolean | null | undefined;
  /** The seconds between two syncs. Without it, each commit is durable when its call returns. */
  sync_every?: number | null | undefined;
  /** Whether old history is thinned from time to time. True without it. */
  automatic_gc?: boolean | null | undefined;
  /** The hash of a new store: `blake3` or `sha256`. */
  hash?: string | null | undefined;
  /** The writer of every call that names no other writer. */
  writer?: Writer | null | undefined;
}

export interface WithWriterOptions extends CallOptions {
  writer: Writer;
}

export interface WithSessionOptions extends CallOptions {
  session: string;
}

export interface AtOptions extends CallOptions {
  /** A snapshot by name, `"@-3"`, `"seq:7"`, `"fork:NAME"`, a digest, or a time. */
  revision: Revision;
}

export interface ForkOptions extends CallOptions {
  name: string;
  /** The state at which the fork begins. Without it, the newest one. */
  at?: Revision | undefined;
  /** The most trusted class that a write through the fork gets. */
  trust_cap?: Trust | undefined;
  writer?: Writer | null | undefined;
}

export interface OpenForkOptions extends CallOptions {
  name: string;
  writer?: Writer | null | undefined;
}

export interface EndForkOptions extends CallOptions {
  name: string;
  /** Whether the work of the fork is kept. */
  keep: boolean;
  writer?: Writer | null | undefined;
}

export interface DraftOptions extends CallOptions {
  /** The operation of the commit. `put` without it. */
  op?: string | null | undefined;
  writer?: Writer | null | undefined;
}

export interface OpenDraftOptions extends CallOptions {
  /** The name of a saved draft, or of a refused one (`rejected/…`). */
  name: string;
  /** The operation of the commit. `put` without it. */
  op?: string | null | undefined;
  writer?: Writer | null | undefined;
}

export interface RemoteOptions extends CallOptions {
  /** Such as `file:///mnt/shared`. */
  url: string;
  /** `origin` without it. */
  name?: string | null | undefined;
  /** The most trusted class of what comes from the remote. `import` without it. */
  trust_cap?: Trust | undefined;
  /** Whether a missing folder is made. */
  create?: boolean | undefined;
  writer?: Writer | null | undefined;
}

export interface BisectStatesOptions extends CallOptions {
  good: Revision;
  bad: Revision;
}

export interface GetOptions extends CallOptions {
  id: string;
}

export interface HasOptions extends CallOptions {
  id: string;
}

export interface DecayOptions extends CallOptions {
  now?: Time | undefined;
  /** Whether items that were used lately are shortened, too. */
  everything?: boolean | undefined;
  dry_run?: boolean | undefined;
  writer?: Writer | null | undefined;
}

export interface ViewWithNowOptions extends CallOptions {
  now: Time;
}

export interface DraftCommitOptions extends CallOptions {
  /** The operation, instead of that of the draft. */
  op?: string | null | undefined;
}

export interface DraftQuarantineOptions extends CallOptions {
  why: string;
}

/** The verbs of the class `Store`. */
export abstract class StoreVerbs extends Handle {
  /** Copies the whole store to a backup. The next call sends only what is new. */
  backup(url: string, options?: CallOptions): Promise<BackedUp> {
    return this._call("Store", "backup", { url }, options);
  }

  /** Returns the number of objects of the newest state, including expired ones. */
  size(options?: CallOptions): Promise<number> {
    return this._call("Store", "size", {}, options);
  }

  /** Returns problems that the handle noticed and that lost no data. */
  warnings(options?: CallOptions): Promise<string[]> {
    return this._call("Store", "warnings", {}, options);
  }

  /** Makes everything written so far durable, if the store was opened with `sync_every`. */
  sync(options?: CallOptions): Promise<void> {
    return this._call("Store", "sync", {}, options);
  }

  /** Names the newest state. Without a name, the snapshot joins the ring of the lane. */
  snapshot(name?: string | null, options?: SnapshotOptions): Promise<Snapshot> {
    return this._call("Store", "snapshot", { name }, options);
  }

  /** Returns the snapshots, newest first. */
  snapshots(options?: CallOptions): Promise<Snapshot[]> {
    return this._call("Store", "snapshots", {}, options);
  }

  /** Deletes a snapshot. The state stays in history. */
  deleteSnapshot(name: string, options?: DeleteSnapshotOptions): Promise<Snapshot> {
    return this._call("Store", "deleteSnapshot", { name }, options);
  }

  /** Takes back the newest commit of the writer's lane. */
  undo(options?: UndoOptions): Promise<Committed> {
    return this._call("Store", "undo", {}, options);
  }

  /** Takes back the newest undo of the writer's lane. */
  redo(options?: RedoOptions): Promise<Committed> {
    return this._call("Store", "redo", {}, options);
  }

  /** Returns to an earlier state by a new commit. History stays. */
  rollback(revision: Revision, options?: RollbackOptions): Promise<Committed> {
    return this._call("Store", "rollback", { revision }, options);
  }

  /** Returns the commit to which a rollback would return, and the numbers of added, changed and removed objects. */
  rollbackPreview(revision: Revision, options?: RollbackPreviewOptions): Promise<RollbackPreview> {
    return this._call("Store", "rollbackPreview", { revision }, options);
  }

  /** Takes back what the selected commits wrote, and keeps the work of everybody else. */
  revert(options?: RevertOptions): Promise<Reverted> {
    return this._call("Store", "revert", {}, options);
  }

  /** Returns the ids that differ between two states. Without `newer`, compares with the newest state. */
  diff(older: Revision, newer?: Revision, options?: CallOptions): Promise<Change[]> {
    return this._call("Store", "diff", { older, newer }, options);
  }

  /** Returns the changes of an id, newest first. */
  history(id: string, options?: CallOptions): Promise<HistoryEntry[]> {
    return this._call("Store", "history", { id }, options);
  }

  /** Returns the kept commits, newest first. */
  commits(options?: CommitsOptions): Promise<Commit[]> {
    return this._call("Store", "commits", {}, options);
  }

  /** Returns each part of an object, with the commit that wrote it. */
  blame(id: string, options?: BlameOptions): Promise<BlamedPart[]> {
    return this._call("Store", "blame", { id }, options);
  }

  /** Returns the text of a reason or a source; a commit has their digests. */
  text(digest: string, options?: CallOptions): Promise<string> {
    return this._call("Store", "text", { digest }, options);
  }

  /** Checks the store. With `files_only`, only its files. */
  verify(options?: VerifyOptions): Promise<VerifyReport> {
    return this._call("Store", "verify", {}, options);
  }

  /** Returns the sizes of the store. */
  stats(options?: CallOptions): Promise<Stats> {
    return this._call("Store", "stats", {}, options);
  }

  /** Returns the forks, sorted by name. */
  forks(options?: CallOptions): Promise<Fork[]> {
    return this._call("Store", "forks", {}, options);
  }

  /** Drops a fork, and returns what it was. */
  dropFork(name: string, options?: DropForkOptions): Promise<Fork> {
    return this._call("Store", "dropFork", { name }, options);
  }

  /** Brings in what a fork, or `main`, wrote, in one commit. What one side changed alone is taken. What both changed is merged field by field, and texts line by line. What cannot be decided is left open for `resolve`. */
  merge(name: string, options?: MergeOptions): Promise<Merged> {
    return this._call("Store", "merge", { name }, options);
  }

  /** Returns the conflicts that merges left open, sorted by id. */
  conflicts(options?: CallOptions): Promise<Conflict[]> {
    return this._call("Store", "conflicts", {}, options);
  }

  /** Decides about an open conflict in one commit: `take` the version of a side, `remove` the object, or keep it with a new `content`. */
  resolve(id: string, options?: ResolveOptions): Promise<Committed> {
    return this._call("Store", "resolve", { id }, options);
  }

  /** Deletes a saved draft. */
  deleteDraft(name: string, options?: DeleteDraftOptions): Promise<void> {
    return this._call("Store", "deleteDraft", { name }, options);
  }
}

/** The verbs of the class `Memory`. */
export abstract class MemoryVerbs extends StoreVerbs {
  /** Stores an object in one commit, which is durable when the promise resolves. */
  put(id: string, content?: string | null, options?: PutOptions): Promise<Committed> {
    return this._call("Memory", "put", { id, content }, options);
  }

  /** Removes an object in one commit. History keeps it. */
  remove(id: string, options?: RemoveOptions): Promise<Committed> {
    return this._call("Memory", "remove", { id }, options);
  }

  /** Thins history and frees disk space. Each duration is a number of seconds; one that is not given keeps its default. */
  gc(options?: GcOptions): Promise<GcReport> {
    return this._call("Memory", "gc", {}, options);
  }

  /** Erases objects and all their versions from every file of the store, for ever. */
  erase(targets: Texts, options?: EraseOptions): Promise<ErasedReport> {
    return this._call("Memory", "erase", { targets }, options);
  }
}

/** The verbs of the class `Agent`. */
export abstract class AgentVerbs extends StoreVerbs {
  /** Stores one statement. Look at `status`: a quarantined text is not in the memory. */
  remember(text: string, options?: RememberOptions): Promise<Remembered> {
    return this._call("Agent", "remember", { text }, options);
  }

  /** Stores many items in few commits. An item is a text, or an object with `text` and other fields of `remember`. */
  rememberMany(items: readonly (string | Readonly<Record<string, unknown>>)[], options?: RememberManyOptions): Promise<RememberedMany> {
    return this._call("Agent", "rememberMany", { items }, options);
  }

  /** Finds the items that answer a question, the best first. */
  recall(question?: string, options?: RecallOptions): Promise<Recalled> {
    return this._call("Agent", "recall", { question }, options);
  }

  /** Computes the vectors of the items that have none, the newest first. Returns how many items have vectors, or null without a model. Each `recall` does so for 0.3 seconds. */
  embed(options?: EmbedOptions): Promise<VectorCounts | null> {
    return this._call("Agent", "embed", {}, options);
  }

  /** Removes items that meet every given condition. History keeps them, and `unforget` restores them. */
  forget(ids?: Texts, options?: ForgetOptions): Promise<Forgot> {
    return this._call("Agent", "forget", { ids }, options);
  }

  /** Restores forgotten or shortened items. Without ids, the items of the last `forget` or decay. */
  unforget(ids?: Texts, options?: UnforgetOptions): Promise<Restored> {
    return this._call("Agent", "unforget", { ids }, options);
  }

  /** Returns the forgotten items, the last forgotten first. */
  forgotten(options?: ForgottenOptions): Promise<Forgotten[]> {
    return this._call("Agent", "forgotten", {}, options);
  }

  /** Sets the time at which an item expires; null means never. Returns the commit, or null without a change. */
  expire(id: string, at: Time | null, options?: ExpireOptions): Promise<Commit | null> {
    return this._call("Agent", "expire", { id, at }, options);
  }

  /** Finds the commit that changed the first answer to a question. With `expect`, an answer without it is bad. */
  bisect(question: string, good: Revision, bad?: Revision, options?: BisectOptions): Promise<BisectedAnswer> {
    return this._call("Agent", "bisect", { question, good, bad }, options);
  }

  /** Returns the scope of a new item, and the scopes that a call reads if it names no others. */
  scopes(options?: CallOptions): Promise<Scopes> {
    return this._call("Agent", "scopes", {}, options);
  }

  /** Runs the checks of a policy on a draft. Changes nothing. */
  check(draft: Draft, options?: CheckOptions): Promise<Report> {
    return this._call("Agent", "check", { draft }, options);
  }

  /** Returns the changes that wait for a person, newest first. */
  quarantined(options?: QuarantinedOptions): Promise<Quarantined[]> {
    return this._call("Agent", "quarantined", {}, options);
  }

  /** Commits a quarantined change because a person decided so. The writer must be a person. */
  release(name: string, options?: ReleaseOptions): Promise<Committed> {
    return this._call("Agent", "release", { name }, options);
  }

  /** Drops a quarantined change. */
  discard(name: string, options?: DiscardOptions): Promise<void> {
    return this._call("Agent", "discard", { name }, options);
  }

  /** Returns what takes effect if a person promotes an item. */
  review(id: string, options?: ReviewOptions): Promise<Review> {
    return this._call("Agent", "review", { id }, options);
  }

  /** Raises an item to the class of the writer, who must be a person. `expected` is the digest that was reviewed. */
  promote(id: string, expected: string, options?: PromoteOptions): Promise<Promoted> {
    return this._call("Agent", "promote", { id, expected }, options);
  }

  /** Writes a note of the session. */
  writeNote(text: string, options?: WriteNoteOptions): Promise<NoteWritten> {
    return this._call("Agent", "writeNote", { text }, options);
  }

  /** Returns a note, or null. */
  readNote(id: string, options?: ReadNoteOptions): Promise<Note | null> {
    return this._call("Agent", "readNote", { id }, options);
  }

  /** Returns the notes of a scope, newest first. */
  notes(options?: NotesOptions): Promise<Note[]> {
    return this._call("Agent", "notes", {}, options);
  }

  /** Returns the notes that match a query, the best first. */
  searchNotes(query: string, options?: SearchNotesOptions): Promise<NoteFound[]> {
    return this._call("Agent", "searchNotes", { query }, options);
  }

  /** Deletes a note. Returns whether there was one. */
  deleteNote(id: string, options?: DeleteNoteOptions): Promise<boolean> {
    return this._call("Agent", "deleteNote", { id }, options);
  }

  /** Appends to the transcript of a session. An entry is a text, or an object with its fields. */
  append(entries: readonly (string | Entry)[], options?: AppendOptions): Promise<Appended> {
    return this._call("Agent", "append", { entries }, options);
  }

  /** Returns the entries of a session, in their order. */
  entries(session?: string | null, options?: EntriesOptions): Promise<StoredObject[]> {
    return this._call("Agent", "entries", { session }, options);
  }

  /** Renders what a prompt needs to know, escaped and within a budget of tokens. */
  envelope(query?: string | null, options?: EnvelopeOptions): Promise<Envelope> {
    return this._call("Agent", "envelope", { query }, options);
  }
}

/** The verbs of the class `View`. */
export abstract class ViewVerbs extends Handle {
  /** Returns an object, or null. */
  get(id: string, options?: CallOptions): Promise<StoredObject | null> {
    return this._call("View", "get", { id }, options);
  }

  /** Returns whether the state has an object. */
  has(id: string, options?: CallOptions): Promise<boolean> {
    return this._call("View", "has", { id }, options);
  }

  /** Returns the object of each id, or null. Several times as fast as one `get` after the other. */
  getAll(ids: Texts, options?: CallOptions): Promise<(StoredObject | null)[]> {
    return this._call("View", "getAll", { ids }, options);
  }

  /** Returns the objects that meet every given condition, sorted by id, or by position below a parent. */
  query(options?: ViewQueryOptions): Promise<StoredObject[]> {
    return this._call("View", "query", {}, options);
  }

  /** Returns the ids of the children of an object, in their order. */
  children(id: string, options?: ViewChildrenOptions): Promise<string[]> {
    return this._call("View", "children", { id }, options);
  }

  /** Returns the ids of all objects, sorted. */
  ids(options?: CallOptions): Promise<string[]> {
    return this._call("View", "ids", {}, options);
  }

  /** Returns a proof, as hexadecimal digits, that this state has a certain version of an id, or none. `checkProof` checks it. */
  prove(id: string, options?: CallOptions): Promise<string> {
    return this._call("View", "prove", { id }, options);
  }
}

/** The verbs of the class `Draft`. */
export abstract class DraftVerbs extends Handle {
  /** Stages an object. Returns whether it is `created`, `updated` or `unchanged`. */
  put(id: string, content?: string | null, options?: DraftPutOptions): Promise<Staged> {
    return this._call("Draft", "put", { id, content }, options);
  }

  /** Stages an item of the agent, as `remember` would store it, without the search for duplicates. */
  putItem(text: string, options: DraftPutItemOptions): Promise<Staged> {
    return this._call("Draft", "putItem", { text }, options);
  }

  /** Stages the removal of an object. Returns the number of removed objects. */
  remove(id: string, options?: DraftRemoveOptions): Promise<number> {
    return this._call("Draft", "remove", { id }, options);
  }

  /** Stages the version that an object has in another state. Returns whether this changes anything. */
  restore(id: string, from: Revision, options?: CallOptions): Promise<boolean> {
    return this._call("Draft", "restore", { id, from }, options);
  }

  /** Makes the commit fail if the object has another version by then. null means that the object must be absent. */
  expect(id: string, version: string | null, options?: CallOptions): Promise<void> {
    return this._call("Draft", "expect", { id, version }, options);
  }

  /** Returns the object as it would be after the commit, or null. */
  get(id: string, options?: CallOptions): Promise<StoredObject | null> {
    return this._call("Draft", "get", { id }, options);
  }

  /** Returns the staged changes, sorted by id. */
  changes(options?: CallOptions): Promise<Change[]> {
    return this._call("Draft", "changes", {}, options);
  }

  /** Saves the staged changes under a name, for another process or a later time, and finishes the draft. */
  save(name: string, options?: CallOptions): Promise<void> {
    return this._call("Draft", "save", { name }, options);
  }

  /** Drops the staged changes. A second call does nothing. */
  discard(options?: CallOptions): Promise<void> {
    return this._call("Draft", "discard", {}, options);
  }

  /** Returns whether the draft was committed or discarded. */
  finished(options?: CallOptions): Promise<boolean> {
    return this._call("Draft", "finished", {}, options);
  }
}

/** The verbs of the class `Remote`. */
export abstract class RemoteVerbs extends Handle {
  /** Sends the commits of the main line that the remote lacks. If the remote has commits that were not pulled, it is a `ConflictError` with the code `remote_ahead`. */
  push(options?: RemotePushOptions): Promise<Pushed> {
    return this._call("Remote", "push", {}, options);
  }

  /** Takes in what others pushed. Merges nothing: it can be read at the revision `remote:NAME/main`. */
  fetch(options?: RemoteFetchOptions): Promise<Fetched> {
    return this._call("Remote", "fetch", {}, options);
  }

  /** Takes in what others pushed, and merges it. What cannot be decided is left open, unless `strategy` decides. */
  pull(options?: RemotePullOptions): Promise<Pulled> {
    return this._call("Remote", "pull", {}, options);
  }

  /** Pulls, then pushes. If another machine pushed meanwhile, does both again. Conflicts are left open. */
  sync(options?: RemoteSyncOptions): Promise<Synced> {
    return this._call("Remote", "sync", {}, options);
  }
}

/** Checks a proof about an id against a trusted root. Returns the digest of the object, or null if the state has no such object. Needs no store. */
export function checkProof(proof: string, root: string, id: string, options?: CheckProofOptions): Promise<string | null> {
  return call("checkProof", { proof, root, id }, options);
}

/** Makes a store in a new folder out of a backup or a remote. Objects that are more trusted than `trust_cap` get its class. */
export function clone(url: string, path: string, options?: CloneOptions): Promise<Cloned> {
  return call("clone", { url, path }, options);
}
