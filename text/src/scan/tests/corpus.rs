//! Measures the scan with texts by authors who never saw its rules.
//!
//! `tests/scan/kept_out` has such texts: no rule was written for them, and the classifier is not trained on them. Keep
//! it so, because a text that the author of a rule has read measures nothing. `TREERING_CORPUS` names a file or a folder of
//! files with more texts in the same form. `TREERING_CORPUS_SHOW` is `missed`, `flagged` or `held`: the tests then also
//! print these texts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::scanner;
use crate::scan::{Author, Category, Verdict};

/// A text of a corpus: a line of JSON.
#[derive(Clone, Deserialize)]
pub(in crate::scan) struct Text {
    pub(in crate::scan) family: String,
    pub(in crate::scan) text: String,
    /// 1 for an attack, 0 for an honest text.
    #[serde(default)]
    pub(in crate::scan) label: u8,
    /// Whether an attack openly orders a model to do something.
    #[serde(default)]
    pub(in crate::scan) overt: bool,
}

/// Returns the texts of each file in `tests/scan/<folder>`, with the name of the file, sorted by name.
pub(in crate::scan) fn files(folder: &str) -> Vec<(String, Vec<Text>)> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .join("tests/scan")
        .join(folder);
    files_in(&root)
}

fn files_in(root: &Path) -> Vec<(String, Vec<Text>)> {
    if root.is_file() {
        return vec![(String::new(), texts(root))];
    }
    let entries = std::fs::read_dir(root).expect("a folder of texts");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a file of texts").path())
        .collect();
    paths.sort();
    let name = |path: &Path| {
        path.file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    paths.iter().map(|path| (name(path), texts(path))).collect()
}

fn texts(path: &Path) -> Vec<Text> {
    let lines = std::fs::read_to_string(path).expect("a file of texts");
    let text = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    lines.lines().map(text).collect()
}

/// The number of texts by one author, of those that the scan flags or holds back, of those that it holds back, and of those
/// that it redacts.
#[derive(Clone, Copy, Default)]
struct Tally {
    texts: usize,
    seen: usize,
    held: usize,
    redacted: usize,
}

impl Tally {
    fn percent(self, part: usize) -> f64 {
        100.0 * part as f64 / self.texts.max(1) as f64
    }
}

/// The rows of a table: a tally for each family of texts, and for each author as whom the scan reads them.
type Rows = BTreeMap<(String, &'static str), Tally>;

/// Scans `texts` as each author writes them, adds them to the rows of their families, and prints what the environment
/// asks for.
fn measure(texts: &[Text], rows: &mut Rows) {
    let show = std::env::var("TREERING_CORPUS_SHOW").unwrap_or_default();
    for text in texts {
        let side = if text.label == 1 { "attack" } else { "honest" };
        let mut names = vec![format!("{side} {}", text.family), format!("~ {side}")];
        if text.overt {
            names.push("~ overt".to_owned());
        }
        for author in Author::ALL {
            let report = scanner().scan(author, &text.text);
            let (is_seen, is_held) = (
                report.verdict >= Verdict::Flag,
                report.verdict >= Verdict::Quarantine,
            );
            // A redaction is told, and counted by itself.
            let is_secret = |one: &crate::scan::Finding| one.category == Category::Secret;
            let is_redacted = report.findings.iter().any(is_secret);
            let is_seen = is_seen && !report.findings.iter().all(is_secret);
            for name in &names {
                let tally = rows.entry((name.clone(), author.name())).or_default();
                tally.texts += 1;
                tally.seen += usize::from(is_seen);
                tally.held += usize::from(is_held);
                tally.redacted += usize::from(is_redacted);
            }
            let is_shown = match show.as_str() {
                "missed" => text.label == 1 && !is_seen,
                "flagged" => text.label == 0 && is_seen,
                "held" => text.label == 0 && is_held,
                "redacted" => text.label == 0 && is_redacted,
                _ => false,
            };
            if is_shown {
                println!(
                    "{} by {}: {:?} {:?}",
                    text.family,
                    author.name(),
                    text.text,
                    report.findings
                );
            }
        }
    }
}

fn print(rows: &Rows) {
    println!(
        "{:40} {:9} {:>7} {:>7} {:>7} {:>8}",
        "family", "author", "texts", "seen", "held", "redacted"
    );
    for ((name, author), tally) in rows {
        let [seen, held, redacted] = [tally.seen, tally.held, tally.redacted].map(|part| tally.percent(part));
        println!(
            "{name:40} {author:9} {:7} {seen:7.2} {held:7.3} {redacted:8.3}",
            tally.texts
        );
    }
}

#[test]
fn attacks_by_unknown_authors_are_seen_and_their_honest_texts_are_kept() {
    let mut rows = Rows::new();
    for (_, texts) in files("kept_out") {
        measure(&texts, &mut rows);
    }
    print(&rows);
    let row = |side: &str, author: Author| rows[&(format!("~ {side}"), author.name())];
    let (overt, honest) = (row("overt", Author::Stranger), row("honest", Author::Stranger));
    assert!(overt.percent(overt.seen) >= 85.0);
    assert!(honest.percent(honest.held) <= 1.0 && honest.percent(honest.seen) <= 5.0);
    for author in [Author::Person, Author::Model] {
        let honest = row("honest", author);
        assert!(honest.percent(honest.seen) <= 1.0);
        assert!(honest.percent(honest.held) <= 0.1);
    }
}

#[test]
fn texts_of_others_are_measured() {
    let Some(path) = std::env::var_os("TREERING_CORPUS") else {
        return;
    };
    let mut rows = Rows::new();
    for (_, texts) in files_in(Path::new(&path)) {
        measure(&texts, &mut rows);
    }
    print(&rows);
}
