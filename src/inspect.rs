//! Re-exports the internal names that the program and the bindings use. A host needs none of them.
//!
//! This module is no part of the library's interface, and changes without notice.
//!
//! # Layer
//! Beside `lib.rs`: it only re-exports. No file of this crate imports it.

#[cfg(feature = "agent")]
pub mod agent {
    pub use crate::agent::{
        Append, AuditRequest, Audited, CommitIfAny, DocumentReview, Fault, audit, clean_writer, edit,
        expected_version, follow_lines, refuse_secret_name, review_documents, storeless_scanner,
    };
    pub mod blocks {
        pub use crate::agent::blocks::{
            FoundFile, TakeBlocks, Taken, TakenBlocks, TakenFile, is_unedited, take_blocks, texts,
        };
    }
    pub mod command {
        pub use crate::agent::command::run;
    }
    pub mod envelope {
        pub use crate::agent::envelope::{Omitted, scrubbed};
    }
    pub mod guard {
        pub use crate::agent::guard::{
            ChangedObject, RecallChange, StagedChange, StagedLine, check_staged, commit_staged,
            compare_recall, drop_staged, stage, staged, staged_changes,
        };
    }
    pub mod import {
        pub use crate::agent::import::{Foreign, ForeignFormat, ForeignTaken, take_foreign};
        pub mod odek {
            pub use crate::agent::import::odek::scope_of_file;
        }
    }
    pub mod inbox {
        pub use crate::agent::inbox::{Group, conflicts, learned_scopes, noted};
    }
    pub mod markdown {
        pub use crate::agent::markdown::stem;
    }
    #[cfg(feature = "semantic")]
    pub mod meaning {
        pub use crate::agent::meaning::choose;
        pub mod installed {
            pub use crate::agent::meaning::installed::{
                BUNDLED, Installed, finds_meaning, install, is_name, list, path_of,
            };
        }
    }
    pub mod notes {
        pub use crate::agent::notes::find_note;
    }
    pub mod projects {
        pub use crate::agent::projects::{Moved, Project, Projects, UserRegister, move_scope, project_of};
    }
    pub mod search {
        pub use crate::agent::search::{LIMIT, LeftOut, MATCHES_MAX};
    }
    pub mod session {
        pub use crate::agent::session::{
            Captured, DueSummary, EndPrompt, Ended, Learnt, Summarised, SummaryRead, due_summaries,
            end_prompt, end_session, follow_append, learn, parent_session, root_session, session_of,
            session_summaries, summarise,
        };
        pub mod extraction {
            pub use crate::agent::session::extraction::FactScope;
        }
        pub mod summaries {
            pub use crate::agent::session::summaries::{Bucket, Granularity};
        }
    }
    pub mod trust {
        pub use crate::agent::trust::{held_back, held_objects, held_reason, review};
    }
    pub mod vocabulary {
        pub use crate::agent::vocabulary::{attribute, kind};
    }
}
pub mod codec {
    pub use crate::codec::DecodeError;
}
pub mod digest {
    pub use crate::digest::{
        CommitDigest, Domain, HashAlgorithm, HashSuite, HistoryRoot, KeyPath, ObjectDigest, Root,
        SubtreeDigest, TextDigest, from_hex, sha256, to_hex,
    };
}
pub mod disk {
    pub use crate::disk::{Disk, MemDisk, xdg_base, xdg_folder};
}
pub mod engine {
    pub use crate::engine::{
        ChangeKind, Containment, KindSpace, KnownId, LaneWork, Ledger, LiveFork, MAIN_LINE, Meaning,
        OriginRule, Problem, ProblemSeverity, Progress, Reached, ReferenceInfo, Remedy, Reversing, Reverted,
        Rollback, SalvageReport, SortedIds, Space, TextRecord, UNREADABLE, checkpoints_in, examine_store,
        first_change, inspection, is_short_id, salvage_store, verify_store,
    };
}
#[cfg(feature = "ingest")]
pub mod ingest {
    pub use crate::ingest::{
        Piece, Turn, TurnPart, Version, document_path, documents, drop_copies, fence_around, for_each_piece,
        for_each_version, ingest, is_of_program, not_utf8, omitted, turn_of,
    };
    pub mod json {
        pub use crate::ingest::json::{
            ObjectLine, loose_time_from_json, object_from_json, parse, repeated_key, stored_object_to_json,
            value_from_json, value_to_json, whole_characters,
        };
    }
    pub mod moment {
        pub use crate::ingest::moment::{after, duration, given, moment, revision, span};
    }
}
#[cfg(feature = "remote")]
pub mod remote {
    pub use crate::remote::RemoteState;
    pub use crate::remote::bucket::{folder_of, without_password};
}
pub mod slots {
    pub use crate::slots::Slots;
}
pub mod log {
    pub use crate::log::{
        CheckItem, Found, Frame, Inspection, LINK_BYTES, Log, LogOptions, Mode, NextWriter, Part, RecordKind,
        SegmentStanding, StoreFile, UNLINK_BYTES, link_parts, seal_parts, unlink_parts,
    };
}
pub mod object {
    #[cfg(feature = "ingest")]
    pub use crate::object::object_class;
    #[cfg(feature = "agent")]
    pub use crate::object::speaker_class;
    pub use crate::object::{
        Attributes, CONTENT_BYTES_MAX, Commit, Encoding, HistoryTree, Id, Kind, NewObject, Object, Op,
        Origin, Position, Reference, ReferenceClass, ReferenceName, Scope, StagedChange, Time, Value,
        check_snapshot_name, encoded_fields, lane_of,
    };
}
pub mod store {
    pub use crate::store::MAP_ENTRY_BYTES;
}
#[cfg(feature = "ingest")]
pub mod threads {
    pub use crate::threads::in_parallel;
}
pub mod trie {
    pub use crate::trie::{
        Entry, NoSource, Node, NodeKind, Proof, ProofLevel, Proven, Shape, Terminal, Trie, verify_proof,
    };
}
