//! Measures the scan with texts of other people, which are not part of this repository.
//!
//! `TREERING_CORPUS` names a file of JSON Lines with the keys `family` and `text`. The test prints the share of each family
//! that the scan sees and holds back. `TREERING_CORPUS_SHOW` is `missed` or `held`: the test also prints these texts.
//! Without the first variable it measures nothing.

use std::collections::BTreeMap;

use super::scanner;
use crate::scan::Verdict;

#[test]
fn texts_of_others_are_measured() {
    let Ok(path) = std::env::var("TREERING_CORPUS") else {
        return;
    };
    let show = std::env::var("TREERING_CORPUS_SHOW").unwrap_or_default();
    let mut families: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let line: BTreeMap<String, String> = serde_json::from_str(line).unwrap();
        let (family, text) = (&line["family"], &line["text"]);
        let report = scanner().scan(text);
        let (is_seen, is_held) = (
            report.verdict >= Verdict::Flag,
            report.verdict >= Verdict::Quarantine,
        );
        if (show == "missed" && !is_seen) || (show == "held" && is_held) {
            println!("{family}: {text:?} {:?}", report.findings);
        }
        for row in [family.as_str(), "~ all"] {
            let counts = families.entry(row.to_owned()).or_default();
            counts[0] += 1;
            counts[1] += usize::from(is_seen);
            counts[2] += usize::from(is_held);
        }
    }
    println!("{:40} {:>7} {:>7} {:>7}", "family", "texts", "seen", "held");
    for (family, [count, seen, held]) in families {
        let percent = |part: usize| 100.0 * part as f64 / count as f64;
        println!(
            "{family:40} {count:7} {:7.2} {:7.2}",
            percent(seen),
            percent(held)
        );
    }
}
