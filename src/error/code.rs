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
    /// The verb succeeded, but its answer could not be written.
    AnswerLost = "answer_lost",
    /// Documents cannot be read, and the call does not allow skipping documents.
    BadDocuments = "bad_documents",
    /// The text is not a valid id in this place.
    BadId = "bad_id",
    /// A policy file breaks a rule of its format.
    BadPolicy = "bad_policy",
    /// A settings file breaks a rule of its format.
    BadSettings = "bad_settings",
    /// Another process holds the lock.
    Busy = "busy",
    /// The item changed since the caller read it.
    Changed = "changed",
    /// A later commit changed an object that the undo would reverse.
    ChangedSince = "changed_since",
    /// A checkpoint is damaged. No data is lost, because the log contains all data.
    CheckpointDamaged = "checkpoint_damaged",
    /// The command that answers a prompt failed or exceeded its time limit.
    CommandFailed = "command_failed",
    /// The policy does not allow commands to run.
    CommandNotAllowed = "command_not_allowed",
    /// Another writer changed the state on which the work is based.
    Conflict = "conflict",
    /// Stored bytes differ from the bytes that were written.
    Corrupt = "corrupt",
    /// The version is the current version of its object, so erasing it requires the id.
    Current = "current",
    /// Items would supersede each other in a cycle.
    Cycle = "cycle",
    /// The store is damaged, so the verb refuses to work on it.
    Damaged = "damaged",
    /// A policy refused the change.
    Denied = "denied",
    /// The settings disable the memory.
    Disabled = "disabled",
    /// The content was erased.
    Erased = "erased",
    /// The target already exists.
    Exists = "exists",
    /// The output file already exists.
    FileExists = "file_exists",
    /// The draft belongs to another open store.
    ForeignDraft = "foreign_draft",
    /// The view belongs to another open store.
    ForeignView = "foreign_view",
    /// The object has children.
    HasChildren = "has_children",
    /// The head is not the commit that the caller expects.
    HeadMoved = "head_moved",
    /// The id belongs to another object of the batch.
    IdInUse = "id_in_use",
    /// The id already names another object.
    IdTaken = "id_taken",
    /// A bug in Treering.
    Internal = "internal",
    /// The user stopped the work.
    Interrupted = "interrupted",
    /// The input breaks a rule.
    InvalidInput = "invalid_input",
    /// The operating system refused a call.
    Io = "io",
    /// Two ids have the same key path.
    KeyPathTaken = "key_path_taken",
    /// The key already names another item.
    KeyTaken = "key_taken",
    /// The writer is less trusted than an object that the change touches.
    LessTrusted = "less_trusted",
    /// The content was lost in damage and could not be salvaged.
    Lost = "lost",
    /// The name is in use.
    NameTaken = "name_taken",
    /// The store is on a network file system.
    NetworkFileSystem = "network_file_system",
    /// The call contains no condition that selects items.
    NoCriteria = "no_criteria",
    /// The file does not exist.
    NoFile = "no_file",
    /// The folder of the log is missing.
    NoLog = "no_log",
    /// No record begins at the offset.
    NoOffset = "no_offset",
    /// The parent does not exist in the state.
    NoParent = "no_parent",
    /// The call needs a project, session or agent, but the caller named none.
    NoPlace = "no_place",
    /// The program to run does not exist.
    NoProgram = "no_program",
    /// No commit matches the revision.
    NoRevision = "no_revision",
    /// The log has no such segment.
    NoSegment = "no_segment",
    /// The session does not exist.
    NoSession = "no_session",
    /// The folder contains no store, or does not exist.
    NoStore = "no_store",
    /// The text is empty.
    NoText = "no_text",
    /// The path does not name a folder.
    NotAFolder = "not_a_folder",
    /// The operation requires a person, but the writer is not a person.
    NotAPerson = "not_a_person",
    /// The folder contains something other than a store.
    NotAStore = "not_a_store",
    /// The bytes that were read back differ from the bytes that were written.
    NotAsWritten = "not_as_written",
    /// The folder is not empty.
    NotEmpty = "not_empty",
    /// The chosen format cannot express an object of the export.
    NotExportable = "not_exportable",
    /// The target of the call, such as an object, commit or file, does not exist.
    NotFound = "not_found",
    /// The note belongs to another session.
    NotOwner = "not_owner",
    /// A path of the store is a folder, a link, a pipe, a socket or a device instead of a regular file.
    NotRegularFile = "not_regular_file",
    /// The import accepted none of the objects.
    NothingTaken = "nothing_taken",
    /// The input contains nothing to import.
    NothingToImport = "nothing_to_import",
    /// The lane has no commit to redo.
    NothingToRedo = "nothing_to_redo",
    /// The lane has no commit to undo.
    NothingToUndo = "nothing_to_undo",
    /// Other lanes committed after the target state.
    OtherLanes = "other_lanes",
    /// The session has another parent.
    OtherParent = "other_parent",
    /// The item belongs to another scope.
    OtherScope = "other_scope",
    /// The change may have succeeded despite the error.
    OutcomeUnknown = "outcome_unknown",
    /// A quota or limit is exceeded.
    OverLimit = "over_limit",
    /// An object would be its own ancestor.
    ParentCycle = "parent_cycle",
    /// An earlier write or sync of this handle failed.
    Poisoned = "poisoned",
    /// The proof is invalid.
    ProofFailed = "proof_failed",
    /// The change waits in quarantine for a person.
    Quarantined = "quarantined",
    /// The handle was opened for reading.
    ReadOnly = "read_only",
    /// The scan or a rule of the agent refused the text.
    Refused = "refused",
    /// A check or write policy rejected the change.
    Rejected = "rejected",
    /// The key is reserved for the engine.
    ReservedKey = "reserved_key",
    /// The name of the operation is reserved for the engine.
    ReservedOp = "reserved_op",
    /// Another process rewrote the log during the operation.
    Rewritten = "rewritten",
    /// Other objects share the content.
    Shared = "shared",
    /// The folder already contains a store.
    StoreExists = "store_exists",
    /// Another folder replaced the folder of the store while the store was open.
    StoreMoved = "store_moved",
    /// The commit was thinned, so its state is gone.
    Thinned = "thinned",
    /// The input cannot be read.
    Unreadable = "unreadable",
    /// The format of the document is not supported.
    UnsupportedDocument = "unsupported_document",
    /// A newer program wrote the store.
    UnsupportedFormat = "unsupported_format",
    /// The command line is invalid.
    Usage = "usage",
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
