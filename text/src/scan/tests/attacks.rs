//! Measures the share of attacks that the scan detects, with seeds written for this test. Each seed is written in
//! twenty ways.
//!
//! The seeds were written before the rules were changed for these seeds. A digest of the seed assigns each seed to one
//! of two halves. Only the tune half is used to improve rules: `--nocapture` prints its misses, but prints only the
//! totals of the held-out half. Keep it this way, because a held-out seed that the author of rules has read measures
//! nothing. New seeds are welcome in both halves, preferably from an author who has not read the rules. The author of
//! these seeds wrote most of the rules, so the figure of the held-out half is too high.
//!
//! A seed is *overt* if it gives an order, *proof* if it is a command that fetches and runs code, and *covert* if it
//! only makes a statement. A scan cannot distinguish covert seeds from facts, so no detection rate is promised for
//! covert seeds.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::super::{Author, Category, Report, Scanner, Severity, VerdictTable};
use super::transforms::{self, Piece};

/// Lines `category | sort | text`. A language may follow the category; `\n` and `\\` are escapes.
const SEEDS: [(&str, &str); 13] = [
    ("override", include_str!("attacks/override.in")),
    ("role", include_str!("attacks/role.in")),
    ("delimiter", include_str!("attacks/delimiter.in")),
    ("tool_call", include_str!("attacks/tool_call.in")),
    ("execute", include_str!("attacks/execute.in")),
    ("exfiltration", include_str!("attacks/exfiltration.in")),
    ("solicitation", include_str!("attacks/solicitation.in")),
    ("persistence", include_str!("attacks/persistence.in")),
    ("reinforcement", include_str!("attacks/reinforcement.in")),
    ("guard", include_str!("attacks/guard.in")),
    ("encoded", include_str!("attacks/encoded.in")),
    ("markup", include_str!("attacks/markup.in")),
    ("other languages", include_str!("attacks/languages.in")),
];

/// The table row of commands that fetch and run code. The scan must detect all of them. The test ignores the way that
/// writes digits for letters, because a shell does not run such commands.
const PROOFS: &str = "execute, proofs";

/// The minimal percentage of attacks that the scan must detect in each category. Each half of a category has only about
/// 18 seeds, so the percentage depends partly on chance.
const LEAST_OF_A_CATEGORY: f64 = 65.0;

/// The kind of seed, which determines the expected result of the scan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Overt,
    Proof,
    Covert,
}

struct Seed {
    /// The category of the seed, or its language if that is not English.
    group: &'static str,
    sort: Sort,
    text: String,
    pieces: Vec<Piece>,
}

fn seeds() -> Vec<Seed> {
    let lines = SEEDS
        .iter()
        .flat_map(|(group, lines)| lines.lines().map(move |line| (*group, line)));
    lines
        .map(|(group, line)| {
            let [category, sort, text] = line
                .splitn(3, " | ")
                .collect::<Vec<_>>()
                .try_into()
                .expect("a line has three fields");
            let (category, group) = match category.split_once(' ') {
                Some((category, language)) => (category, language),
                None => (category, group),
            };
            assert!(
                Category::ALL.iter().any(|known| known.name() == category),
                "{line}"
            );
            let sort = match sort {
                "overt" => Sort::Overt,
                "proof" => Sort::Proof,
                "covert" => Sort::Covert,
                _ => panic!("{line}"),
            };
            let text = text
                .replace("\\\\", "\u{0}")
                .replace("\\n", "\n")
                .replace('\u{0}', "\\");
            let pieces = transforms::pieces(&text);
            Seed {
                group,
                sort,
                text,
                pieces,
            }
        })
        .collect()
}

/// Returns the texts of all seeds in their original form.
pub(super) fn texts() -> Vec<String> {
    seeds().into_iter().map(|seed| seed.text).collect()
}

/// Returns the orders of the tune half and the statements that steer an agent, in their original form.
pub(in crate::scan) fn to_tune() -> Vec<String> {
    let seeds = seeds().into_iter();
    let orders = seeds.filter(|seed| seed.sort != Sort::Covert && is_tune(&seed.text));
    let soft = include_str!("attacks/soft.in").lines();
    let soft = soft.filter_map(|line| Some(line.split_once(" | ")?.1.to_owned()));
    orders.map(|seed| seed.text).chain(soft).collect()
}

/// Returns whether a text belongs to the half that is used to tune rules.
pub(super) fn is_tune(text: &str) -> bool {
    digest(text).is_multiple_of(2)
}

/// Returns the folded FNV-1a hash of a text. Any hash that never changes would do.
fn digest(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^ hash >> 32
}

/// Returns whether a rule for injections detected the order in the text. Findings about unusual characters do not
/// count.
pub(super) fn is_seen(report: &Report) -> bool {
    report.findings.iter().any(|found| {
        found.severity > Severity::Low && !matches!(found.category, Category::Secret | Category::Unicode)
    })
}

pub(super) fn scanner() -> Scanner {
    Scanner::new(VerdictTable::default(), super::marker_key(3))
}

/// A number of hits, and the number of tries.
#[derive(Clone, Copy, Default)]
struct Share(usize, usize);

impl Share {
    fn add(&mut self, is_hit: bool) {
        self.0 += usize::from(is_hit);
        self.1 += 1;
    }

    fn percent(self) -> f64 {
        100.0 * self.0 as f64 / self.1.max(1) as f64
    }
}

/// The detection rates, by row of the table and by way of writing.
#[derive(Default)]
struct Table(BTreeMap<&'static str, Vec<Share>>);

impl Table {
    fn add(&mut self, row: &'static str, way: usize, is_hit: bool) {
        let ways = transforms::names().count();
        for row in [row, "~ all"] {
            let shares = self
                .0
                .entry(row)
                .or_insert_with(|| vec![Share::default(); ways + 1]);
            shares[way].add(is_hit);
            shares[ways].add(is_hit);
        }
    }

    fn total(&self, row: &str) -> Share {
        self.0
            .get(row)
            .and_then(|shares| shares.last())
            .copied()
            .unwrap_or_default()
    }

    /// Returns the number of misses of the table row `row`, in the ways that `counts` accepts.
    fn missed(&self, row: &str, counts: impl Fn(&str) -> bool) -> usize {
        let shares = self.0.get(row).into_iter().flatten();
        let ways = transforms::names().zip(shares).filter(|(way, _)| counts(way));
        ways.map(|(_, share)| share.1 - share.0).sum()
    }

    fn shown(&self, title: &str) -> String {
        let mut out = format!("{title:22}");
        for name in transforms::names().chain(["all"]) {
            let _ = write!(out, "{name:>8}");
        }
        for (row, shares) in &self.0 {
            let _ = write!(out, "\n{row:22}");
            for share in shares {
                let _ = write!(out, "{:8.1}", share.percent());
            }
        }
        out
    }
}

/// In a debug build, which is slow, each seed is written in two ways only.
fn ways_of(seed: usize) -> impl Iterator<Item = usize> {
    let ways = transforms::names().count();
    let is_slow = cfg!(debug_assertions);
    (0..ways).filter(move |way| !is_slow || (way + seed).is_multiple_of(ways / 2))
}

#[test]
fn attacks_are_seen_whatever_they_are_written_in() {
    let seeds = seeds();
    assert!(seeds.len() >= 500, "{} seeds", seeds.len());
    let (mut tune, mut held_out, mut covert) = (Table::default(), Table::default(), Table::default());
    for (index, seed) in seeds.iter().enumerate() {
        let mut missed = Vec::new();
        for way in ways_of(index) {
            let is_hit = is_seen(&scanner().scan(Author::Stranger, &transforms::apply(way, &seed.pieces)));
            let table = match (seed.sort, is_tune(&seed.text)) {
                (Sort::Covert, _) => &mut covert,
                (_, true) => &mut tune,
                (_, false) => &mut held_out,
            };
            let row = if seed.sort == Sort::Proof {
                PROOFS
            } else {
                seed.group
            };
            table.add(row, way, is_hit);
            if !is_hit {
                missed.push(transforms::names().nth(way).unwrap_or_default());
            }
        }
        if !missed.is_empty() && is_tune(&seed.text) && seed.sort != Sort::Covert {
            println!("missed {}: {:?} in {}", seed.group, seed.text, missed.join(", "));
        }
    }
    println!(
        "{}\n\n{}\n\n{}",
        tune.shown("tune"),
        held_out.shown("held out"),
        covert.shown("covert, no promise")
    );
    for table in [&tune, &held_out] {
        let shown = table.shown("recall");
        assert!(table.total("~ all").percent() >= 90.0, "{shown}");
        assert_eq!(table.missed(PROOFS, |way| way != "leet"), 0, "{shown}");
        for row in table.0.keys() {
            assert!(
                table.total(row).percent() >= LEAST_OF_A_CATEGORY,
                "{row}: {shown}"
            );
        }
    }
}

#[test]
fn the_ways_are_not_what_is_seen() {
    let mut seen = Table::default();
    for (index, text) in super::benign::by_hand().filter(|text| is_tune(text)).enumerate() {
        for way in ways_of(index) {
            seen.add(
                "benign",
                way,
                is_seen(&scanner().scan(
                    Author::Stranger,
                    &transforms::apply(way, &transforms::pieces(text)),
                )),
            );
        }
    }
    println!("{}", seen.shown("benign"));
    assert!(seen.total("benign").percent() <= 5.0, "{}", seen.shown("benign"));
}
