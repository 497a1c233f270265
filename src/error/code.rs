//! The stable codes of errors, in one table of names and meanings.
//!
//! # Layer
//! Layer 0. Imports nothing of this crate.

use std::fmt;

/// Declares the codes, each with the text that programs match on.
macro_rules! codes {
    ($($(#[$meaning:meta])* $name:ident = $text:literal,)*) => {
        /// The stable code of an [`Error`](crate::Error). The code is more specific than the kind, and never changes
        /// between releases.
        ///
        /// The output of `--json` contains the code as text in `snake_case`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[$meaning])* $name,)*
        }

        impl ErrorCode {
            /// Every code, sorted by its text.
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the text that programs match on.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

codes! {
    /// The store is open in this process with other options.
    AlreadyOpen = "already_open",
    /// A prefix or name matches several candidates.
    Ambiguous = "ambiguous",
    /// The answer could not be written. If the verb made a change, the change is committed.
    AnswerLost = "answer_lost",
    /// Some documents cannot be read, and the call does not allow skipping documents.
    BadDocuments = "bad_documents",
    /// The settings allow only ids in the form of block ids, and the id of the item has another form.
    BadId = "bad_id",
    /// Bisect found no bad state: the state that the caller calls bad is good.
    BadIsGood = "bad_is_good",
    /// The text is no key, or the key is of another kind.
    BadKey = "bad_key",
    /// The file is no signed head, or no request to a witness.
    BadNote = "bad_note",
    /// A policy file breaks a rule of its format.
    BadPolicy = "bad_policy",
    /// A settings file breaks a rule of its format.
    BadSettings = "bad_settings",
    /// A signature is not by the key that it names.
    BadSignature = "bad_signature",
    /// Another process holds the lock.
    Busy = "busy",
    /// The current version of the item is not the version that the caller expects.
    Changed = "changed",
    /// A later commit changed an object that the undo or redo would change.
    ChangedSince = "changed_since",
    /// A checkpoint is damaged. No data is lost, because the log contains all data.
    CheckpointDamaged = "checkpoint_damaged",
    /// A commit is more than a day ahead of the clock of this machine.
    ClockAhead = "clock_ahead",
    /// The folder is a backup or a remote, which no program writes as a store.
    Closed = "closed",
    /// The command that answers a prompt failed or exceeded its time limit.
    CommandFailed = "command_failed",
    /// Another writer changed the state on which the work is based.
    Conflict = "conflict",
    /// Stored bytes differ from the bytes that were written.
    Corrupt = "corrupt",
    /// The version is the current version of its object. Only the id, not the digest, can select it for erasure.
    Current = "current",
    /// A session would be its own ancestor.
    Cycle = "cycle",
    /// `verify` found damage in the store.
    Damaged = "damaged",
    /// A policy refused the change.
    Denied = "denied",
    /// The settings or `TREERING_DISABLE` disable the memory.
    Disabled = "disabled",
    /// The object, content or text was erased.
    Erased = "erased",
    /// The target folder already exists, or contains a file that does not belong to a store.
    Exists = "exists",
    /// The output file already exists.
    FileExists = "file_exists",
    /// The draft belongs to another open store.
    ForeignDraft = "foreign_draft",
    /// The view belongs to another open store.
    ForeignView = "foreign_view",
    /// The state that the caller of bisect calls good is bad.
    GoodIsBad = "good_is_bad",
    /// The change would remove an object but not all its children.
    HasChildren = "has_children",
    /// The head is not the commit that the caller expects.
    HeadMoved = "head_moved",
    /// Commits that were signed are not in the history, or an origin signed two histories.
    HistoryRewritten = "history_rewritten",
    /// The history has fewer commits than the signed head.
    HistoryShorter = "history_shorter",
    /// The id belongs to an object of another document.
    IdInUse = "id_in_use",
    /// The id belongs to an object of another kind or scope.
    IdTaken = "id_taken",
    /// A bug in Treering.
    Internal = "internal",
    /// The user stopped the work.
    Interrupted = "interrupted",
    /// The input breaks a rule.
    InvalidInput = "invalid_input",
    /// The operating system refused a call.
    Io = "io",
    /// The judge of the host failed.
    JudgeFailed = "judge_failed",
    /// Two ids have the same key path.
    KeyPathTaken = "key_path_taken",
    /// The idempotency key was already used for another text.
    KeyTaken = "key_taken",
    /// The writer is not trusted enough to change an object, or to name the person of a session.
    LessTrusted = "less_trusted",
    /// The object, content or text was lost to damage and could not be salvaged.
    Lost = "lost",
    /// A snapshot or draft with this name already exists.
    NameTaken = "name_taken",
    /// The store is on a network file system.
    NetworkFileSystem = "network_file_system",
    /// The store of a remote ignores the conditions of conditional writes.
    NoConditionalWrites = "no_conditional_writes",
    /// The object has no open conflict.
    NoConflict = "no_conflict",
    /// The call contains no condition that selects items.
    NoCriteria = "no_criteria",
    /// The file or folder does not exist.
    NoFile = "no_file",
    /// There is no fork of this name.
    NoFork = "no_fork",
    /// There is no key to sign or to check with.
    NoKey = "no_key",
    /// The folder of the log is missing.
    NoLog = "no_log",
    /// The segment ends before the requested offset.
    NoOffset = "no_offset",
    /// The parent does not exist in the state.
    NoParent = "no_parent",
    /// The call needs a project, session or agent, but the caller named none.
    NoPlace = "no_place",
    /// The program to run does not exist.
    NoProgram = "no_program",
    /// There is no remote of this name.
    NoRemote = "no_remote",
    /// No commit matches the revision.
    NoRevision = "no_revision",
    /// An async call does not run on a Tokio runtime, or the runtime was shut down before the call started.
    NoRuntime = "no_runtime",
    /// The log has no segment with the requested number.
    NoSegment = "no_segment",
    /// The session does not exist.
    NoSession = "no_session",
    /// The folder contains no store, or does not exist.
    NoStore = "no_store",
    /// The text is empty.
    NoText = "no_text",
    /// A part of the output path exists and is not a folder.
    NotAFolder = "not_a_folder",
    /// The operation requires a person, but the writer is not a person.
    NotAPerson = "not_a_person",
    /// The place contains no remote and no backup, or one that the call cannot use.
    NotARemote = "not_a_remote",
    /// The folder contains other files, so it cannot become a store.
    NotAStore = "not_a_store",
    /// The bytes that were read back differ from the bytes that were written.
    NotAsWritten = "not_as_written",
    /// The folder is not empty.
    NotEmpty = "not_empty",
    /// The remote or backup is not encrypted, and the call named a key file.
    NotEncrypted = "not_encrypted",
    /// The chosen format cannot express an object of the export.
    NotExportable = "not_exportable",
    /// The target of the call, such as an object, commit or file, does not exist.
    NotFound = "not_found",
    /// A launcher runs the program from a cache, and the call needs a program that stays.
    NotInstalled = "not_installed",
    /// The verb or option makes no sense on the URL of a remote.
    NotOverRemote = "not_over_remote",
    /// The object is a session or belongs to a session, and this call may not write the object.
    NotOwner = "not_owner",
    /// This store keeps the change, but the remote does not have it.
    NotPushed = "not_pushed",
    /// A path of the store or of the input is a folder, a link, a pipe, a socket or a device instead of a regular file.
    NotRegularFile = "not_regular_file",
    /// No trusted key signed the head.
    NotSigned = "not_signed",
    /// No commit meets the conditions of a selection.
    NothingSelected = "nothing_selected",
    /// The import refused every part of its input.
    NothingTaken = "nothing_taken",
    /// The folder contains no block, so `--prune` would remove every block.
    NothingToImport = "nothing_to_import",
    /// The lane has no commit to redo.
    NothingToRedo = "nothing_to_redo",
    /// The lane has no commit to undo.
    NothingToUndo = "nothing_to_undo",
    /// Other lanes committed after the target state.
    OtherLanes = "other_lanes",
    /// The draft is one of another line.
    OtherLine = "other_line",
    /// The signed head is of another store, or of a line that is not there.
    OtherOrigin = "other_origin",
    /// The session already has another parent.
    OtherParent = "other_parent",
    /// The item or session belongs to another scope.
    OtherScope = "other_scope",
    /// The change may have succeeded despite the error.
    OutcomeUnknown = "outcome_unknown",
    /// A quota or limit is exceeded.
    OverLimit = "over_limit",
    /// An object would be its own ancestor.
    ParentCycle = "parent_cycle",
    /// The URL has a password, and would be stored.
    PasswordInUrl = "password_in_url",
    /// An earlier write or sync of this handle failed.
    Poisoned = "poisoned",
    /// A policy file that the user did not pass with `--policy` would loosen the guard or run a command.
    PolicyNotAllowed = "policy_not_allowed",
    /// The proof is invalid.
    ProofFailed = "proof_failed",
    /// The change waits in quarantine for a person.
    Quarantined = "quarantined",
    /// The handle or the shell was opened for reading only.
    ReadOnly = "read_only",
    /// The scan or a rule of the agent refused a text, a name or a change.
    Refused = "refused",
    /// A check or write policy rejected the change.
    Rejected = "rejected",
    /// The remote has commits that this store lacks.
    RemoteAhead = "remote_ahead",
    /// The storage of the remote cannot be reached, or refused a request.
    RemoteUnreachable = "remote_unreachable",
    /// The remote has less than this store has seen of it: an older copy replaced it.
    RemoteWentBack = "remote_went_back",
    /// A file cannot set the attribute, because only verbs of an agent set this attribute.
    ReservedKey = "reserved_key",
    /// Only a merge gives an object this kind.
    ReservedKind = "reserved_kind",
    /// The name of the operation is reserved for the engine.
    ReservedOp = "reserved_op",
    /// Another process rewrote the log during the operation.
    Rewritten = "rewritten",
    /// The content to erase is also the content of other versions, or other versions name the erased parent.
    Shared = "shared",
    /// The folder already contains a store.
    StoreExists = "store_exists",
    /// The folder of the open store was moved, removed or replaced.
    StoreMoved = "store_moved",
    /// The commit was thinned, so its state is gone.
    Thinned = "thinned",
    /// No merge took the commits of the fork.
    Unmerged = "unmerged",
    /// No part of the imported file can be read in the selected format.
    Unreadable = "unreadable",
    /// The remote belongs to another store, which has no commit in common with this one.
    Unrelated = "unrelated",
    /// The newest commit of the remote has no signature of a key that the user demands.
    UnsignedRemote = "unsigned_remote",
    /// The format of the document is not supported.
    UnsupportedDocument = "unsupported_document",
    /// A newer program wrote the store, or the output format cannot be combined with `--json`.
    UnsupportedFormat = "unsupported_format",
    /// This program cannot reach remotes with the scheme of the URL.
    UnsupportedRemote = "unsupported_remote",
    /// The store was only found, and the user has not trusted it, or it belongs to another user.
    UntrustedStore = "untrusted_store",
    /// The command line is invalid.
    Usage = "usage",
    /// The call is about the whole store, and not about a fork.
    WholeStore = "whole_store",
    /// The remote or backup is encrypted with another key.
    WrongKey = "wrong_key",
    /// The good state of a bisect is not older than the bad one.
    WrongOrder = "wrong_order",
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Lets tests compare a code with its text. Other code compares variants.
#[cfg(test)]
impl PartialEq<&str> for ErrorCode {
    fn eq(&self, text: &&str) -> bool {
        self.as_str() == *text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_unique() {
        assert!(ErrorCode::ALL.is_sorted_by(|a, b| a.as_str() < b.as_str()));
    }
}
