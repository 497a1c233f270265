//! The stable codes of errors, in one table of names and meanings.
//!
//! # Layer
//! Layer 0. Imports nothing of this crate.

use std::fmt;

/// Declares the codes with the text that programs match on.
macro_rules! codes {
    ($($(#[$meaning:meta])* $name:ident = $text:literal,)*) => {
        /// The stable code of an [`Error`](crate::Error). It names the case more exactly than the kind, and is the same
        /// in every release.
        ///
        /// The output of `--json` contains the code's text in `snake_case`.
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
    /// The verb is done, but its answer could not be written.
    AnswerLost = "answer_lost",
    /// Documents cannot be read, and the call does not allow skipping any.
    BadDocuments = "bad_documents",
    /// The text is not a valid id in this place.
    BadId = "bad_id",
    /// A policy file breaks a rule of its format.
    BadPolicy = "bad_policy",
    /// A settings file breaks a rule of its format.
    BadSettings = "bad_settings",
    /// Another process holds the lock.
    Busy = "busy",
    /// The item changed since the caller looked at it.
    Changed = "changed",
    /// An object to reverse was changed by a later commit.
    ChangedSince = "changed_since",
    /// A checkpoint is damaged; the log still has everything.
    CheckpointDamaged = "checkpoint_damaged",
    /// A command that the guard ran failed to start or to end.
    CommandFailed = "command_failed",
    /// The policy does not allow commands to run.
    CommandNotAllowed = "command_not_allowed",
    /// Another writer changed the state on which the work is based.
    Conflict = "conflict",
    /// Stored bytes differ from the bytes that were written.
    Corrupt = "corrupt",
    /// The version is current, so erasing it needs its id.
    Current = "current",
    /// Items would supersede each other in a cycle.
    Cycle = "cycle",
    /// The store is damaged, so the verb refuses to work on it.
    Damaged = "damaged",
    /// A policy refused the change.
    Denied = "denied",
    /// The memory is switched off by its settings.
    Disabled = "disabled",
    /// The content was erased.
    Erased = "erased",
    /// The target exists already.
    Exists = "exists",
    /// A file to write exists already.
    FileExists = "file_exists",
    /// The draft belongs to another memory.
    ForeignDraft = "foreign_draft",
    /// The view belongs to another memory.
    ForeignView = "foreign_view",
    /// The object has children.
    HasChildren = "has_children",
    /// The head is another commit than expected.
    HeadMoved = "head_moved",
    /// The id belongs to another object of the batch.
    IdInUse = "id_in_use",
    /// The id already names something else.
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
    /// The store lies on a network file system.
    NetworkFileSystem = "network_file_system",
    /// The call names no criterion to select by.
    NoCriteria = "no_criteria",
    /// The file does not exist.
    NoFile = "no_file",
    /// The folder of the log is missing.
    NoLog = "no_log",
    /// No record begins at the offset.
    NoOffset = "no_offset",
    /// The parent does not exist in the state.
    NoParent = "no_parent",
    /// The call needs a project, session or agent, and none is set.
    NoPlace = "no_place",
    /// The program to run does not exist.
    NoProgram = "no_program",
    /// No commit fits the revision.
    NoRevision = "no_revision",
    /// The log has no such segment.
    NoSegment = "no_segment",
    /// The session does not exist.
    NoSession = "no_session",
    /// There is no store.
    NoStore = "no_store",
    /// The text is empty.
    NoText = "no_text",
    /// The path does not name a folder.
    NotAFolder = "not_a_folder",
    /// Only a person may do this, and the writer is not a person.
    NotAPerson = "not_a_person",
    /// The folder contains something other than a store.
    NotAStore = "not_a_store",
    /// The bytes read back differ from the bytes just written.
    NotAsWritten = "not_as_written",
    /// The folder is not empty.
    NotEmpty = "not_empty",
    /// The chosen format cannot express an object of the export.
    NotExportable = "not_exportable",
    /// The object, commit, file or other target that the call names does not exist.
    NotFound = "not_found",
    /// The note belongs to another session.
    NotOwner = "not_owner",
    /// A path of the store is a folder, a link, a pipe, a socket or a device instead of a regular file.
    NotRegularFile = "not_regular_file",
    /// The import accepted none of the objects.
    NothingTaken = "nothing_taken",
    /// The input contains nothing to import.
    NothingToImport = "nothing_to_import",
    /// The lane has nothing to redo.
    NothingToRedo = "nothing_to_redo",
    /// The lane has nothing to undo.
    NothingToUndo = "nothing_to_undo",
    /// Other lanes committed in between.
    OtherLanes = "other_lanes",
    /// The session has another parent.
    OtherParent = "other_parent",
    /// The item belongs to another scope.
    OtherScope = "other_scope",
    /// The change may have succeeded in spite of the error.
    OutcomeUnknown = "outcome_unknown",
    /// A quota or limit is exceeded.
    OverLimit = "over_limit",
    /// Objects would be their own ancestors.
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
    /// Another process rewrote the log meanwhile.
    Rewritten = "rewritten",
    /// Other objects share the content.
    Shared = "shared",
    /// There is a store already.
    StoreExists = "store_exists",
    /// Another store took the place of the folder while it was open.
    StoreMoved = "store_moved",
    /// The commit was thinned, so its state is gone.
    Thinned = "thinned",
    /// The input cannot be read.
    Unreadable = "unreadable",
    /// The document has a format that is not supported.
    UnsupportedDocument = "unsupported_document",
    /// A newer version wrote the store.
    UnsupportedFormat = "unsupported_format",
    /// The store was only found, and the user has not trusted it, or it belongs to another user.
    UntrustedStore = "untrusted_store",
    /// The command line is invalid.
    Usage = "usage",
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Lets tests compare a code with its text; other code compares variants.
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
