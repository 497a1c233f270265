//! Mutation tests of durability, of merges and of remotes. Lists changes of the source that break a guarantee (mutants), each with
//! the tests that must fail.
//!
//! Every test run checks that each change can be applied to the source. `cargo durability-mutants` applies all changes
//! to a copy of the tree, and runs the tests for each change. Each change has a switch, so a single build is enough. With
//! `TREERING_MUTANTS=TESTS`, it runs only the changes that these tests must detect.
//! The crate itself contains no such switches.

mod merge;
mod places;
mod remote;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A change of the source that tests must detect.
struct Mutant {
    what: &'static str,
    file: &'static str,
    /// A text that contains `from` and occurs only once in the file, to locate the change.
    place: &'static str,
    /// The source text to replace: whole statements, or a whole expression.
    from: &'static str,
    /// The replacement, of the same type.
    to: &'static str,
    /// The tests to run with the change. At least one of them must fail.
    caught_by: &'static str,
}

const fn mutant(
    what: &'static str,
    file: &'static str,
    [place, from, to]: [&'static str; 3],
    caught_by: &'static str,
) -> Mutant {
    Mutant {
        what,
        file,
        place,
        from,
        to,
        caught_by,
    }
}

const CRASH: &str = "log::tests::crash";
const DAMAGE: &str = "log::tests::damage";
const CAMPAIGN: &str = "campaign";

/// The mutants of the log and of the store.
const DURABILITY: &[Mutant] = &[
    mutant(
        "skip fdatasync",
        "src/log/commit.rs",
        [
            "file.sync().map_err(|error| outcome_unknown(&segment, error))?;\n                self.mark_durable(head).map_err(done_untold)?;",
            "file.sync().map_err(|error| outcome_unknown(&segment, error))?;\n                self.mark_durable(head).map_err(done_untold)?;",
            "self.mark_durable(head).map_err(done_untold)?;",
        ],
        CRASH,
    ),
    mutant(
        "mark as durable before the sync",
        "src/log/commit.rs",
        [
            "file.sync().map_err(|error| outcome_unknown(&segment, error))?;\n                self.mark_durable(head).map_err(done_untold)?;",
            "file.sync().map_err(|error| outcome_unknown(&segment, error))?;\n                self.mark_durable(head).map_err(done_untold)?;",
            "self.mark_durable(head)?; file.sync().map_err(writing)?;",
        ],
        CRASH,
    ),
    mutant(
        "sync again after a failed sync",
        "src/log/commit.rs",
        [
            "file.sync().map_err(|error| outcome_unknown(&segment, error))?;\n                self.mark_durable(head).map_err(done_untold)?;",
            "file.sync()",
            "file.sync().or_else(|_| file.sync())",
        ],
        CRASH,
    ),
    mutant(
        "ignore a write that failed or fell short",
        "src/log/commit.rs",
        [
            "file.write_shared(after.start, &bytes).map_err(writing)?;",
            "file.write_shared(after.start, &bytes).map_err(writing)?;",
            "drop(file.write_shared(after.start, &bytes));",
        ],
        CRASH,
    ),
    mutant(
        "go on after a failure",
        "src/log/commit.rs",
        ["self.poisoned = true;", "self.poisoned = true;", ""],
        CRASH,
    ),
    mutant(
        "a group that states itself as durable",
        "src/log/commit.rs",
        [
            "synced_upto: self.durable,",
            "self.durable",
            "self.cursor.offset.max(self.durable)",
        ],
        CRASH,
    ),
    mutant(
        "skip the sync of the folder of a new file",
        "src/disk/mod.rs",
        [
            "disk.rename_new(&unfinished_name(name), name)?;\n    disk.sync_dir(folder_of(name))",
            "disk.rename_new(&unfinished_name(name), name)?;\n    disk.sync_dir(folder_of(name))",
            "disk.rename_new(&unfinished_name(name), name)",
        ],
        "log::",
    ),
    mutant(
        "skip the sync of the folder of a replaced file",
        "src/disk/mod.rs",
        [
            "disk.rename_over(&unfinished, name)?;\n    disk.sync_dir(folder_of(name))",
            "disk.rename_over(&unfinished, name)?;\n    disk.sync_dir(folder_of(name))",
            "disk.rename_over(&unfinished, name)",
        ],
        "log::",
    ),
    mutant(
        "skip the sync of a whole file",
        "src/disk/mod.rs",
        [
            "file.extend_to(length)?;\n        file.sync()",
            "file.sync()",
            "Ok(())",
        ],
        CRASH,
    ),
    mutant(
        "leave names to the process that ended",
        "src/log/commit.rs",
        [
            "if self.named_generation == generation {",
            "self.named_generation == generation",
            "true",
        ],
        CRASH,
    ),
    mutant(
        "write on behind what a crash left",
        "src/log/commit.rs",
        ["is_zero(&behind[..count])", "is_zero(&behind[..count])", "true"],
        CRASH,
    ),
    mutant(
        "go on without reading after another holder",
        "src/log/commit.rs",
        [
            "lock.follows == Some(self.prepared)",
            "lock.follows == Some(self.prepared)",
            "true",
        ],
        "log::tests::alone",
    ),
    mutant(
        "go on without reading after a turn without reading",
        "src/log/commit.rs",
        [
            "lock.follows == Some(self.prepared)",
            "lock.follows == Some(self.prepared)",
            "lock.follows.is_some()",
        ],
        "log::tests::alone",
    ),
    mutant(
        "go on without recovering",
        "src/log/commit.rs",
        [
            "self.recover(live, &segment, visit)?;",
            "self.recover(live, &segment, visit)?;",
            "",
        ],
        CRASH,
    ),
    mutant(
        "keep places that recovery has left",
        "src/log/catch_up.rs",
        ["self.moved = number;", "self.moved = number;", ""],
        "engine::tests::moved",
    ),
    mutant(
        "no position in the checksum",
        "src/log/frame.rs",
        [
            "crc32c::crc32c_append(self.0, &offset.to_le_bytes())",
            "crc32c::crc32c_append(self.0, &offset.to_le_bytes())",
            "self.0",
        ],
        "log::",
    ),
    mutant(
        "no checksum of the body",
        "src/log/frame.rs",
        [
            "if header.matches(body, seed, offset) {",
            "header.matches(body, seed, offset)",
            "true",
        ],
        "log::",
    ),
    mutant(
        "no check of the chain",
        "src/log/walk.rs",
        [
            "chain.digest.is_some_and(|previous| previous != seal.previous)",
            "chain.digest.is_some_and(|previous| previous != seal.previous)",
            "false",
        ],
        "log::",
    ),
    mutant(
        "no check of a batch's digest",
        "src/log/walk.rs",
        [
            "seal.digest(self.origin.suite, frames.unwrap_or_default()) == stated",
            "seal.digest(self.origin.suite, frames.unwrap_or_default()) == stated",
            "true",
        ],
        DAMAGE,
    ),
    mutant(
        "no check of a batch's number",
        "src/log/walk.rs",
        ["header.batch != number", "header.batch != number", "false"],
        "log::tests::layout",
    ),
    mutant(
        "trust `live` of another run of the machine",
        "src/log/live.rs",
        ["self.boot == boot", "self.boot == boot", "true"],
        "log::",
    ),
    mutant(
        "believe `live` when it went back",
        "src/log/catch_up.rs",
        [
            "&& self.is_overtaken(mark)?",
            "self.is_overtaken(mark)?",
            "{ self.is_overtaken(mark)?; false }",
        ],
        "log::tests::live",
    ),
    mutant(
        "take a group that is being written for a sign that `live` went back",
        "src/log/catch_up.rs",
        [
            "seal.synced_upto > limit)",
            "seal.synced_upto > limit",
            "seal.synced_upto >= limit",
        ],
        "log::tests::live",
    ),
    mutant(
        "take damage below the durable mark for a torn tail",
        "src/log/catch_up.rs",
        [
            "if is_newer || durable > end && !self.options.degraded {",
            "durable > end && !self.options.degraded",
            "false",
        ],
        DAMAGE,
    ),
    mutant(
        "overlook segments that the manifest does not list",
        "src/log/catch_up.rs",
        ["if self.unlisted_checked {", "self.unlisted_checked", "true"],
        DAMAGE,
    ),
    mutant(
        "a failed load is an empty store",
        "src/log/create.rs",
        [
            "match holds_other_store(disk) {",
            "holds_other_store(disk)",
            "Ok::<bool, Error>(false)",
        ],
        DAMAGE,
    ),
    mutant(
        "take a lock file that was replaced for the right one",
        "src/log/lock.rs",
        [
            "if guard.is_current().or_io(",
            "guard.is_current()",
            "Ok::<bool, std::io::Error>(true)",
        ],
        "log::",
    ),
    mutant(
        "acknowledge before the sync",
        "src/engine/write/log_handle.rs",
        [
            "_ => (log::Durability::Synced, None),",
            "log::Durability::Synced",
            "log::Durability::Later",
        ],
        CAMPAIGN,
    ),
    mutant(
        "go on with what was read before a rewrite",
        "src/engine/write/log_handle.rs",
        [
            "let (before, timer) = (source.opened.store().head().ok(), Timer::start());\n        self.is_behind = true;",
            "self.is_behind = true;",
            "",
        ],
        "engine::tests::moved",
    ),
    mutant(
        "overlook what is committed while garbage is collected",
        "src/engine/upkeep/gc.rs",
        [
            "!self.carries(&cut, &kept, live)?",
            "!self.carries(&cut, &kept, live)?",
            "{ self.carries(&cut, &kept, live)?; false }",
        ],
        "engine::tests::gc",
    ),
    mutant(
        "publish a rewrite that was not read back",
        "src/log/rewrite.rs",
        ["self.read_back()?;", "self.read_back()?;", ""],
        "log::tests::rewrite",
    ),
    mutant(
        "publish a rewrite that was not synced",
        "src/log/rewrite.rs",
        [
            "file.sync().or_io(",
            "file.sync()",
            "Ok::<(), std::io::Error>(())",
        ],
        "log::",
    ),
    mutant(
        "remove what is replaced before the manifest is",
        "src/log/rewrite.rs",
        [
            "// INVARIANT PUB-1: this call replaces the old log by the new log atomically.",
            "// INVARIANT PUB-1: this call replaces the old log by the new log atomically.",
            "for entry in self.manifest.sealed() { drop(self.disk.remove(&segment_name(entry.id))); }",
        ],
        "log::",
    ),
];

/// All mutants.
fn mutants() -> Vec<&'static Mutant> {
    DURABILITY
        .iter()
        .chain(merge::MUTANTS)
        .chain(places::MUTANTS)
        .chain(remote::MUTANTS)
        .collect()
}

fn root() -> &'static Path {
    Path::new(crate::ROOT)
}

#[test]
fn every_mutant_fits_the_source() {
    let mut broken: Vec<(&str, &str)> = Vec::new();
    for mutant in mutants() {
        let text = fs::read_to_string(root().join(mutant.file)).unwrap();
        let count = text.matches(mutant.place).count();
        let what = mutant.what;
        assert_eq!(
            count, 1,
            "{what}: {} has {:?} {count} times",
            mutant.file, mutant.place
        );
        assert!(
            mutant.place.contains(mutant.from) && mutant.from != mutant.to,
            "{what}"
        );
        let texts = [mutant.from, mutant.to].into_iter();
        broken.extend(texts.filter(|text| !is_whole(text)).map(|text| (what, text)));
    }
    assert!(
        broken.is_empty(),
        "these texts cannot stand in a block of their own: {broken:#?}"
    );
    // One after the other, too: a mutant may change the place of a later one.
    drop(switched());
}

/// Returns whether a text may be an expression or statements: it closes what it opens, and ends with no operator.
fn is_whole(text: &str) -> bool {
    let count = |wanted: char| text.chars().filter(|char| *char == wanted).count();
    let pairs = [('(', ')'), ('{', '}'), ('[', ']')];
    let is_open = ["&&", "||"].iter().any(|end| text.trim().ends_with(end));
    pairs.iter().all(|(open, close)| count(*open) == count(*close)) && !is_open
}

/// Writes a copy of the tree that contains every mutant, each with a switch.
fn mutated(folder: &Path) {
    for part in [
        "src",
        "text",
        "model",
        "program",
        "tests",
        "docs",
        "fuzz",
        "benches",
        "examples",
        "Cargo.toml",
        "Cargo.lock",
        "README.md",
        "rust-toolchain.toml",
    ] {
        let copied = Command::new("cp")
            .arg("-r")
            .arg(root().join(part))
            .arg(folder)
            .status()
            .unwrap();
        assert!(copied.success(), "{part}");
    }
    let mut files = switched();
    let switch = "
/// Checks whether this mutant is switched on.
pub(crate) fn is_mutant(number: usize) -> bool {
    static NUMBER: std::sync::LazyLock<Option<usize>> =
        std::sync::LazyLock::new(|| std::env::var(\"TREERING_MUTANT\").ok()?.parse().ok());
    *NUMBER == Some(number)
}
";
    let library = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    files.insert("src/lib.rs", library + switch);
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
}

/// Returns the files that mutants change, with every mutant behind a switch.
fn switched() -> BTreeMap<&'static str, String> {
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for (number, mutant) in mutants().into_iter().enumerate() {
        let text = files
            .entry(mutant.file)
            .or_insert_with(|| fs::read_to_string(root().join(mutant.file)).unwrap());
        // If an earlier mutant changed the same text, the original text is in the `else` branch of that mutant's
        // switch.
        let Mutant { place, from, to, .. } = mutant;
        let (open, close) = if from.ends_with(';') || from.starts_with("//") {
            ("{", "}")
        } else {
            ("({", "})")
        };
        let both = format!("{open} if crate::is_mutant({number}) {{\n{to}\n}} else {{\n{from}\n}} {close}");
        let at = text
            .find(place)
            .unwrap_or_else(|| panic!("{}: {place:?} is gone", mutant.what));
        let at = at + place.find(from).unwrap();
        text.replace_range(at..at + from.len(), &both);
    }
    files
}

/// Builds the unit tests of a tree. Returns the path of the binary.
fn build(folder: &Path) -> String {
    let output = Command::new(env!("CARGO"))
        .args([
            "test",
            "--release",
            "--package=treering",
            "--lib",
            "--features=remote,signed",
            "--no-run",
            "--message-format=json-render-diagnostics",
        ])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", root().join("target/mutants"))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let marker = "\"executable\":\"";
    let at = text.rfind(marker).expect("cargo names the binary") + marker.len();
    text[at..].split('"').next().unwrap().to_owned()
}

/// Runs these tests with a mutant, and returns whether any of them fails.
fn fails(binary: &str, folder: &Path, number: usize, tests: &str) -> bool {
    let output = Command::new(binary)
        .arg(tests)
        .current_dir(folder)
        .env("TREERING_MUTANT", number.to_string())
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(!told.contains("running 0 tests"), "{tests} names no test");
    !output.status.success()
}

#[test]
#[ignore = "builds the crate again and runs tests for each mutant, which takes more than ten minutes"]
fn every_mutant_is_caught() {
    let folder = tempfile::tempdir().unwrap();
    mutated(folder.path());
    let binary = build(folder.path());
    let mut left = Vec::new();
    let wanted = std::env::var("TREERING_MUTANTS").unwrap_or_default();
    let all = mutants();
    let chosen = all.iter().enumerate();
    let chosen = chosen.filter(|(_, mutant)| mutant.caught_by.contains(&wanted));
    let mut caught_by = std::collections::BTreeSet::new();
    for (number, mutant) in chosen {
        caught_by.insert(mutant.caught_by);
        let started = std::time::Instant::now();
        let caught = fails(&binary, folder.path(), number, mutant.caught_by);
        let word = if caught { "caught" } else { "SURVIVES" };
        eprintln!(
            "{word}: {} ({}, {:.0} s)",
            mutant.what,
            mutant.caught_by,
            started.elapsed().as_secs_f64()
        );
        if !caught {
            left.push(mutant.what);
        }
    }
    // The same tests must pass without a mutant.
    for tests in caught_by {
        assert!(
            !fails(&binary, folder.path(), all.len(), tests),
            "{tests} fails without a mutant"
        );
    }
    assert!(left.is_empty(), "{left:?}");
}
