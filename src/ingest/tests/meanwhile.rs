//! Tests two simultaneous calls with the same files: each reports only its own changes.

use std::sync::{Arc, OnceLock};

use super::{Document, IngestOptions, read};
use crate::engine::{Draft, Memory, Options, PolicyVerdict, WritePolicy, Writer};
use crate::ingest::ingest;

/// Ingests files as another writer, after a draft is made and before it is committed.
#[derive(Default)]
struct Meanwhile {
    work: OnceLock<(Memory, Vec<Document>)>,
}

impl WritePolicy for Meanwhile {
    fn review(&self, draft: &Draft) -> PolicyVerdict {
        if let Some((memory, documents)) = self.work.get()
            && draft.writer().session.as_deref() == Some("first")
        {
            let writer = Writer::user().session("second");
            ingest(memory, documents, &IngestOptions::default(), &writer).unwrap();
        }
        PolicyVerdict::Accept
    }
}

fn told(old: &str, meanwhile: &str, new: &str) -> (u64, u64, u64, u64, bool) {
    let policy = Arc::new(Meanwhile::default());
    let folder = tempfile::tempdir().unwrap();
    let memory = Options::new()
        .policy(policy.clone())
        .create(folder.path().join("store"))
        .unwrap();
    let options = IngestOptions::default();
    let session = |name: &str| Writer::user().session(name);
    ingest(&memory, &[read("n.org", old)], &options, &session("before")).unwrap();
    let work = (memory.clone(), vec![read("n.org", meanwhile)]);
    assert!(policy.work.set(work).is_ok());
    let (change, committed) = ingest(&memory, &[read("n.org", new)], &options, &session("first")).unwrap();
    (
        change.created,
        change.updated,
        change.unchanged,
        change.removed,
        committed.changed,
    )
}

#[test]
fn what_another_call_did_is_unchanged_for_this_one() {
    const OLD: &str = "* A\nold\n* B\n* C\n";
    const HALF: &str = "* A\nnew\n* B\n* C\n";
    const NEW: &str = "* A\nnew\n* B\n* D\n* E\n";
    let nothing = told(OLD, OLD, NEW);
    assert!(nothing.0 > 0 && nothing.1 > 0 && nothing.4, "{nothing:?}");
    let (created, updated, unchanged, removed, _) = nothing;
    assert_eq!(
        told(OLD, HALF, NEW),
        (created, updated - 1, unchanged + 1, removed, true)
    );
    assert_eq!(
        told(OLD, NEW, NEW),
        (0, 0, created + updated + unchanged, 0, false)
    );
}
