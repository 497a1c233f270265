//! The ledger of the long test runs. Each line is one result: kind, number, commit of the sources, counts and seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value, json};

/// The result of one piece of work: one seed or one round.
pub(crate) struct Entry {
    what: String,
    number: u64,
    counts: Map<String, Value>,
    pub(crate) seconds: f64,
    failure: Option<String>,
}

impl Entry {
    pub(crate) fn of(what: &str, number: u64) -> Self {
        Self {
            what: what.to_owned(),
            number,
            counts: Map::new(),
            seconds: 0.0,
            failure: None,
        }
    }

    pub(crate) fn failed(what: &str, number: u64, failure: &str) -> Self {
        Self {
            failure: Some(failure.to_owned()),
            ..Self::of(what, number)
        }
    }

    pub(crate) fn add(&mut self, name: &str, count: u64) {
        if count > 0 {
            self.counts.insert(name.to_owned(), json!(count));
        }
    }

    /// Formats the entry as a line for people.
    pub(crate) fn line(&self) -> String {
        let counts: String = self
            .counts
            .iter()
            .map(|(name, count)| format!(" {count} {name}"))
            .collect();
        format!("{} {}:{counts} in {:.1} s", self.what, self.number, self.seconds)
    }
}

/// The file with the results of all runs.
pub(crate) struct Ledger {
    path: String,
    /// The commit of the sources, which separates results of different versions.
    sources: String,
    entries: Vec<Value>,
    done: BTreeSet<(String, u64)>,
}

/// The sum over the entries of one kind.
#[derive(Default)]
struct Sum<'a> {
    pieces: u64,
    failures: u64,
    seconds: f64,
    counts: BTreeMap<&'a str, u64>,
}

fn sources() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    let changed = git(&["status", "--porcelain", "src"]).is_none_or(|text| !text.is_empty());
    if changed { format!("{commit}+") } else { commit }
}

impl Ledger {
    pub(crate) fn open(path: String) -> Self {
        let sources = sources();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        // Skip a line that was cut off when the machine stopped.
        let entries: Vec<Value> = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let ours = entries
            .iter()
            .filter(|entry| entry["sources"] == sources.as_str() && entry["failure"].is_null());
        let done = ours
            .filter_map(|entry| Some((entry["what"].as_str()?.to_owned(), entry["number"].as_u64()?)))
            .collect();
        Self {
            path,
            sources,
            entries,
            done,
        }
    }

    /// Checks whether the ledger already contains this piece of work for the current sources.
    pub(crate) fn has(&self, what: &str, number: u64) -> bool {
        self.done.contains(&(what.to_owned(), number))
    }

    pub(crate) fn add(&mut self, entry: &Entry) {
        let line = json!({
            "what": entry.what,
            "number": entry.number,
            "sources": self.sources,
            "seconds": (entry.seconds * 10.0).round() / 10.0,
            "counts": entry.counts,
            "failure": entry.failure,
        });
        if let Some(folder) = Path::new(&self.path).parent() {
            std::fs::create_dir_all(folder).unwrap();
        }
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        file.unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
        self.done.insert((entry.what.clone(), entry.number));
        self.entries.push(line);
    }

    /// Formats the sums of all entries by kind of work.
    pub(crate) fn report(&self) -> String {
        let mut sums: BTreeMap<&str, Sum<'_>> = BTreeMap::new();
        let mut all_sources = BTreeSet::new();
        for entry in &self.entries {
            let sum = sums.entry(entry["what"].as_str().unwrap_or("?")).or_default();
            sum.pieces += 1;
            sum.failures += u64::from(!entry["failure"].is_null());
            sum.seconds += entry["seconds"].as_f64().unwrap_or(0.0);
            for (name, count) in entry["counts"].as_object().into_iter().flatten() {
                *sum.counts.entry(name).or_default() += count.as_u64().unwrap_or(0);
            }
            all_sources.insert(entry["sources"].as_str().unwrap_or("?"));
        }
        let mut text = String::new();
        for (what, sum) in sums {
            let Sum {
                pieces,
                failures,
                seconds,
                counts,
            } = sum;
            write!(text, "{what}: {pieces} runs, {failures} failed, {seconds:.0} s").unwrap();
            for (name, count) in counts {
                write!(text, ", {count} {name}").unwrap();
            }
            text.push('\n');
        }
        writeln!(
            text,
            "sources: {}",
            all_sources.into_iter().collect::<Vec<_>>().join(", ")
        )
        .unwrap();
        text
    }
}
