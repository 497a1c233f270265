//! Measures the scan with texts by authors who never saw its rules.
//!
//! `tests/scan/kept_out` has such texts: no rule was written for them, and the classifier is not trained on them. Keep
//! it so, because a text that the author of a rule has read measures nothing. `TREERING_CORPUS` names a file with more
//! texts in the same form. `TREERING_CORPUS_SHOW` is `missed` or `held`: the tests then also print these texts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::scanner;
use crate::scan::Verdict;

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

/// The number of texts, of those that the scan flags or holds back, and of those that it holds back.
#[derive(Clone, Copy, Default)]
struct Tally {
    texts: usize,
    seen: usize,
    held: usize,
}

impl Tally {
    fn add(&mut self, verdict: Verdict) {
        self.texts += 1;
        self.seen += usize::from(verdict >= Verdict::Flag);
        self.held += usize::from(verdict >= Verdict::Quarantine);
    }

    fn percent(self, part: usize) -> f64 {
        100.0 * part as f64 / self.texts.max(1) as f64
    }
}

/// Scans `texts`, adds them to the rows of their families, and prints what the environment asks for.
fn measure(texts: &[Text], rows: &mut BTreeMap<String, Tally>) {
    let show = std::env::var("TREERING_CORPUS_SHOW").unwrap_or_default();
    for text in texts {
        let report = scanner().scan(&text.text);
        let side = if text.label == 1 { "attack" } else { "honest" };
        let mut names = vec![format!("{side} {}", text.family), format!("~ {side}")];
        if text.overt {
            names.push("~ overt".to_owned());
        }
        for name in names {
            rows.entry(name).or_default().add(report.verdict);
        }
        let is_shown = match show.as_str() {
            "missed" => text.label == 1 && report.verdict < Verdict::Flag,
            "held" => text.label == 0 && report.verdict >= Verdict::Quarantine,
            _ => false,
        };
        if is_shown {
            println!("{}: {:?} {:?}", text.family, text.text, report.findings);
        }
    }
}

fn print(rows: &BTreeMap<String, Tally>) {
    println!("{:40} {:>7} {:>7} {:>7}", "family", "texts", "seen", "held");
    for (name, tally) in rows {
        let (seen, held) = (tally.percent(tally.seen), tally.percent(tally.held));
        println!("{name:40} {:7} {seen:7.2} {held:7.2}", tally.texts);
    }
}

#[test]
fn attacks_by_unknown_authors_are_seen_and_their_honest_texts_are_kept() {
    let mut rows = BTreeMap::new();
    for (author, texts) in files("kept_out") {
        let mut theirs = BTreeMap::new();
        measure(&texts, &mut theirs);
        for side in ["~ attack", "~ honest"] {
            let tally = theirs.get(side).copied().unwrap_or_default();
            rows.insert(format!("{author} {side}"), tally);
        }
        for (name, tally) in theirs {
            let row: &mut Tally = rows.entry(name).or_default();
            row.texts += tally.texts;
            row.seen += tally.seen;
            row.held += tally.held;
        }
    }
    print(&rows);
    let (attacks, honest, overt) = (rows["~ attack"], rows["~ honest"], rows["~ overt"]);
    assert!(attacks.percent(attacks.seen) >= 75.0);
    assert!(attacks.percent(attacks.held) >= 60.0);
    assert!(overt.percent(overt.seen) >= 92.0);
    assert!(honest.percent(honest.held) <= 0.6);
}

#[test]
fn texts_of_others_are_measured() {
    let Some(path) = std::env::var_os("TREERING_CORPUS") else {
        return;
    };
    let mut rows = BTreeMap::new();
    measure(&texts(Path::new(&path)), &mut rows);
    print(&rows);
}
