//! Changes of the cache of places that its tests must detect.

use super::{Mutant, mutant};

const FILE: &str = "src/store/places.rs";
const CACHED: &str = "src/store/cached.rs";
const CHANGED: &str = "src/store/changed.rs";
const TESTS: &str = "engine::tests::places";

/// The mutants of the cache of places.
pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "a view reads a version that came back later",
        FILE,
        [
            "(self.floor.load(Ordering::Acquire) <= batch).then",
            "self.floor.load(Ordering::Acquire) <= batch",
            "true || self.floor.load(Ordering::Acquire) <= batch",
        ],
        TESTS,
    ),
    mutant(
        "the floor stays when an older version comes back",
        FILE,
        [
            "if record.kind == RecordKind::Link {\n            self.floor.store(coming.batch.number, Ordering::Release);",
            "self.floor.store(coming.batch.number, Ordering::Release);",
            "",
        ],
        TESTS,
    ),
    mutant(
        "a version that was written stays hidden",
        CHANGED,
        [
            "{\n                change(IdHash::of(Object::id_in(&record.body)?));\n            }\n            (RecordKind::Link | ",
            "change(IdHash::of(Object::id_in(&record.body)?));",
            "",
        ],
        TESTS,
    ),
    mutant(
        "an object that was removed or linked stays",
        CHANGED,
        [
            "change(IdHash::of(Object::id_in(&record.body)?));\n            }\n        }",
            "change(IdHash::of(Object::id_in(&record.body)?));",
            "",
        ],
        TESTS,
    ),
    mutant(
        "a rollback or a bulk load forgets what the commit names alone",
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
            "if *newest != Some(batch)",
            "*newest != Some(batch)",
            "false && *newest != Some(batch)",
        ],
        TESTS,
    ),
    mutant(
        "a view reads a newer version",
        CACHED,
        [
            "batch <= upto && cache.serves(found, batch)",
            "batch <= upto",
            "true",
        ],
        TESTS,
    ),
    mutant(
        "a view reads a version that a rollback left",
        FILE,
        [
            "!self.left.has(batch) && self.epoch",
            "!self.left.has(batch)",
            "true",
        ],
        TESTS,
    ),
    mutant(
        "a view that a rollback left uses the cache",
        FILE,
        [
            "slot == 0 || self.left.has(batch)",
            "slot == 0 || self.left.has(batch)",
            "slot == 0",
        ],
        TESTS,
    ),
    mutant(
        "a rollback to a state that the cache does not serve keeps the places",
        FILE,
        [
            "is_served.then(|| self.left.add(target, rollback))?",
            "is_served",
            "true",
        ],
        TESTS,
    ),
    mutant(
        "the cache forgets what was left without a new epoch",
        FILE,
        [
            "self.epoch.fetch_add(1, Ordering::Release);",
            "self.epoch.fetch_add(1, Ordering::Release);",
            "",
        ],
        TESTS,
    ),
    mutant(
        "a fork reads what its base has, also if it changed it",
        CHANGED,
        [
            "if found.may_have(hash) {",
            "found.may_have(hash)",
            "false && found.may_have(hash)",
        ],
        TESTS,
    ),
    mutant(
        "a fork reads what the main line wrote after the base",
        CACHED,
        [
            "(line, upto) = (&below.store, upto.min(below.base.batch))",
            "upto.min(below.base.batch)",
            "upto",
        ],
        TESTS,
    ),
    mutant(
        "a fork that went back to before its base reads from the base",
        CACHED,
        [
            "self.is_state_of_line(next.commit.root).then_some(())",
            "self.is_state_of_line(next.commit.root).then_some(())",
            "Some(())",
        ],
        TESTS,
    ),
    mutant(
        "a fork fills the cache with what only it has",
        CACHED,
        [
            "&& is_of_main() == Some(true)",
            "is_of_main() == Some(true)",
            "is_of_main().is_some()",
        ],
        TESTS,
    ),
    mutant(
        "a version that this process linked stays hidden",
        CHANGED,
        [
            "named.iter().copied().for_each(change)",
            "named.iter().copied().for_each(change)",
            "named.iter().take(0).copied().for_each(change)",
        ],
        TESTS,
    ),
    mutant(
        "what a commit changes is noted for nobody",
        "src/store/replay.rs",
        [
            "note_changes(store, batch, applied.as_ref(), None);\n    Ok(publish",
            "note_changes(store, batch, applied.as_ref(), None);",
            "let _ = &applied;",
        ],
        TESTS,
    ),
    mutant(
        "a place of before a bulk load counts",
        FILE,
        [
            "if block.epoch.load(Ordering::Acquire) != epoch {",
            "block.epoch.load(Ordering::Acquire) != epoch",
            "false && block.epoch.load(Ordering::Acquire) != epoch",
        ],
        TESTS,
    ),
    mutant(
        "a block keeps its places over a bulk load",
        FILE,
        [
            "slots.for_each(|slot| slot.store(0, Ordering::Relaxed));",
            "slots.for_each(|slot| slot.store(0, Ordering::Relaxed));",
            "drop(slots);",
        ],
        TESTS,
    ),
];
