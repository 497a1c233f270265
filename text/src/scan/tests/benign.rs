//! Measures false positives, with facts of developers generated from templates, and with handwritten texts that contain
//! trigger words.

use std::collections::{BTreeMap, BTreeSet};

use super::attacks::{is_tune, scanner};
use super::transforms;
use crate::scan::{Author, Verdict};

/// The number of facts that the test generates and scans in a release build.
const FACTS: usize = 10_000;

/// Returns texts that use the words of attacks for other purposes. `\n` and `\\` are escapes.
pub(super) fn by_hand() -> impl Iterator<Item = &'static str> {
    include_str!("benign/by_hand.in").lines()
}

/// Returns the texts of the tune half, each in all ways of writing, ordinary sentences, and facts from the templates.
pub(in crate::scan) fn to_tune() -> Vec<String> {
    let ordinary = include_str!("benign/ordinary.in").lines().map(str::to_owned);
    let plain = ordinary.chain(facts(FACTS / 5));
    let texts = by_hand().filter(|text| is_tune(text)).map(transforms::pieces);
    let ways = 0..transforms::names().count();
    let written = texts.flat_map(|text| ways.clone().map(move |way| transforms::apply(way, &text)));
    written.chain(plain).collect()
}

/// Returns distinct facts from the templates in turn. The facts are always the same.
fn facts(count: usize) -> Vec<String> {
    let vocabulary: BTreeMap<&str, Vec<&str>> = include_str!("benign/vocabulary.in")
        .lines()
        .map(|line| {
            let (name, words) = line.split_once(" = ").expect("a line names its words");
            (name, words.split("; ").collect())
        })
        .collect();
    let mut state = 0_u64;
    let mut seen = BTreeSet::new();
    let mut facts = Vec::new();
    for template in include_str!("benign/templates.in").lines().cycle() {
        if facts.len() == count {
            break;
        }
        let fact = filled(&template.replace("\\n", "\n"), &vocabulary, &mut state);
        if seen.insert(fact.clone()) {
            facts.push(fact);
        }
    }
    facts
}

/// Replaces each name in braces that is in the vocabulary. Other braces stay as text.
fn filled(template: &str, vocabulary: &BTreeMap<&str, Vec<&str>>, state: &mut u64) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some(start) = rest.find('{') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let known = rest[1..]
            .split_once('}')
            .and_then(|(name, after)| Some((vocabulary.get(name)?, after)));
        match known {
            Some((words, after)) => {
                let word = words[random(state) as usize % words.len()];
                out.push_str(&filled(word, vocabulary, state));
                rest = after;
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Returns the next number of `SplitMix64`.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// The number of texts for each verdict.
#[derive(Default, Debug)]
struct Tally {
    texts: usize,
    flagged: usize,
    kept_out: usize,
    blocked: usize,
    with_secrets: usize,
}

impl Tally {
    fn add(&mut self, text: &str) -> Verdict {
        let verdict = scanner().scan(Author::Stranger, text).verdict;
        self.texts += 1;
        self.flagged += usize::from(verdict == Verdict::Flag);
        self.kept_out += usize::from(verdict == Verdict::Quarantine);
        self.blocked += usize::from(verdict == Verdict::Block);
        self.with_secrets += usize::from(scanner().redact(text) != text);
        verdict
    }
}

#[test]
fn facts_of_developers_are_stored() {
    let count = if cfg!(debug_assertions) { FACTS / 10 } else { FACTS };
    let mut tally = Tally::default();
    for fact in facts(count) {
        if tally.add(&fact) > Verdict::Allow {
            println!("{fact:?}: {:?}", scanner().scan(Author::Stranger, &fact).findings);
        }
    }
    println!("facts: {tally:?}");
    assert!(tally.texts == count && tally.blocked * 100 <= count, "{tally:?}");
    assert!(tally.with_secrets * 200 <= count, "{tally:?}");
    assert!((tally.kept_out + tally.flagged) * 50 <= count, "{tally:?}");
}

#[test]
fn words_of_attacks_do_no_harm_by_themselves() {
    let (mut tune, mut held_out) = (Tally::default(), Tally::default());
    for text in by_hand() {
        let text = text.replace("\\n", "\n").replace("\\\\", "\\");
        if !is_tune(&text) {
            held_out.add(&text);
        } else if tune.add(&text) > Verdict::Allow {
            println!("{text:?}: {:?}", scanner().scan(Author::Stranger, &text).findings);
        }
    }
    println!("tune: {tune:?}\nheld out: {held_out:?}");
    for tally in [tune, held_out] {
        assert!(tally.blocked * 100 <= tally.texts, "{tally:?}");
        assert!(tally.with_secrets * 200 <= tally.texts, "{tally:?}");
    }
}
