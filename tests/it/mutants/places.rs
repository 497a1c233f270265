//! Changes of the cache of places that its tests must detect.

use super::{Mutant, mutant};

const FILE: &str = "src/store/places.rs";
const TESTS: &str = "engine::tests::places";

/// The mutants of the cache of places.
pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "a view reads a version that came back later",
        FILE,
        [
            "self.floor.load(Ordering::Acquire) <= batch",
            "self.floor.load(Ordering::Acquire) <= batch",
            "true || self.floor.load(Ordering::Acquire) <= batch",
        ],
        TESTS,
    ),
    mutant(
        "the floor stays when an older version comes back",
        FILE,
        [
            "self.floor.store(coming.batch.number, Ordering::Release);\n                for link",
            "self.floor.store(coming.batch.number, Ordering::Release);",
            "",
        ],
        TESTS,
    ),
    mutant(
        "a version that was written stays hidden",
        FILE,
        [
            "self.forget(Object::id_in(&record.body)?),\n            RecordKind::Link",
            "self.forget(Object::id_in(&record.body)?)",
            "()",
        ],
        TESTS,
    ),
    mutant(
        "an object that was removed or linked stays",
        FILE,
        [
            "self.forget(Object::id_in(&record.body)?);\n            }",
            "self.forget(Object::id_in(&record.body)?);",
            "",
        ],
        TESTS,
    ),
    mutant(
        "a rollback keeps the cache",
        FILE,
        [
            "next.takes_state || !is_small",
            "next.takes_state",
            "false && next.takes_state",
        ],
        TESTS,
    ),
    mutant(
        "an older view fills the cache",
        FILE,
        [
            "if *newest == Some(batch)",
            "*newest == Some(batch)",
            "true || *newest == Some(batch)",
        ],
        TESTS,
    ),
    mutant(
        "a view reads a newer version",
        "src/store/records.rs",
        [
            "record.batch > upto",
            "record.batch > upto",
            "false && record.batch > upto",
        ],
        TESTS,
    ),
];
