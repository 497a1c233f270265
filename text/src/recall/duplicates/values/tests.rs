//! The contradictions of a set of pairs, counted; and hostile texts.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::Statement;
use crate::recall::duplicates::{Contradiction, Relation, similarity};

/// The pairs of this repository. Another file is scored if the environment names it.
const PAIRS: &str = include_str!("../../../../../tests/recall/contradictions.jsonl");
const PAIRS_VARIABLE: &str = "TREERING_CONTRADICTIONS";
const RECALL_MIN: f64 = 0.8;
const PRECISION_MIN: f64 = 0.9;

fn pairs() -> String {
    match std::env::var(PAIRS_VARIABLE) {
        Ok(path) => std::fs::read_to_string(path).unwrap(),
        Err(_) => PAIRS.to_owned(),
    }
}

/// `TREERING_CONTRADICTIONS=FILE cargo test --lib contradictions_are_named -- --nocapture` prints the wrong pairs.
#[test]
fn contradictions_are_named() {
    let (mut right, mut wrong, mut missed) = (0, 0, 0);
    let mut kinds: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for line in pairs().lines() {
        let pair: Json = serde_json::from_str(line).unwrap();
        let text = |field: &str| pair[field].as_str().unwrap().to_owned();
        let is_contradiction = pair["label"] == "contradiction";
        let verdict = Statement::new(&text("b")).verdict(&Statement::new(&text("a")));
        let kind = text("id").split('-').next().unwrap().to_owned();
        let (named, all) = kinds.entry(kind).or_default();
        *all += 1;
        *named += u32::from(verdict.is_ok());
        match (verdict.is_ok(), is_contradiction) {
            (true, true) => right += 1,
            (true, false) => wrong += 1,
            (false, true) => missed += 1,
            (false, false) => continue,
        }
        if verdict.is_ok() != is_contradiction {
            println!("{} | {} | {} | {verdict:?}", text("id"), text("a"), text("b"));
        }
    }
    let (recall, precision) = (
        f64::from(right) / f64::from(right + missed),
        f64::from(right) / f64::from(right + wrong),
    );
    println!("recall {recall:.3}, precision {precision:.3}, named of all by kind {kinds:?}");
    assert!(
        recall >= RECALL_MIN && precision >= PRECISION_MIN,
        "{recall:.3} {precision:.3}"
    );
}

/// Pairs that contradict each other, by kind.
const CONTRADICTIONS: &[(&str, &str)] = &[
    // The value of an attribute, in several languages.
    ("The printer is in room 4", "The printer is in room 7"),
    ("Die Sitzung ist am Montag", "Die Sitzung ist am Mittwoch"),
    ("Le café coûte deux euros", "Le café coûte trois euros"),
    ("La cita es el 3 de mayo", "La cita es el 9 de mayo"),
    ("Il treno parte alle 9:10", "Il treno parte alle 10:40"),
    ("Билет стоит 300 рублей", "Билет стоит 450 рублей"),
    ("仓库的编号是12", "仓库的编号是15"),
    ("集合場所は上野です", "集合場所は新宿です"),
    // A word behind a label, "to be", a place, an agent.
    ("Owner of the budget: Ines", "Owner of the budget: Kofi"),
    ("The captain is Rosa", "Lena is the captain"),
    ("The ladder hangs in the garage", "The ladder hangs in the barn"),
    ("The logo was drawn by Omar", "Ella drew the logo"),
    (
        "Her favourite fruit is the pear",
        "Her favourite fruit is the plum",
    ),
    // Opposites and negations.
    ("The valve is open", "The valve has been closed"),
    ("The soup is cold", "The soup is quite hot"),
    ("Ben smokes", "Ben does not smoke"),
    ("Ada is a vegan", "Ada eats cheese every day"),
    ("Is the pool heated? Yes", "Is the pool heated? No"),
    // Several sentences.
    (
        "We met Ana. The rent is 700 euros.",
        "The rent is 850 euros. Ana was ill.",
    ),
];

/// Pairs that can both be true, by what explains their difference.
const COMPATIBLE: &[(&str, &str)] = &[
    ("The shop is open", "If it rains, the shop is closed"),
    ("The limit is 10", "Perhaps the limit should be 20"),
    (
        "The tower is 50 m high",
        "The guide says that the tower is 60 m high",
    ),
    ("Ana plays the cello", "Ana plays the harp"),
    ("Tim is in the rowing club", "Tim is in the chess club"),
    ("The list has milk", "The list has bread, too"),
    ("In 2010 the fee was 5 euros", "In 2020 the fee was 8 euros"),
    ("The trip takes 2 hours", "The trip takes about 3 hours"),
    ("Postgres runs 16", "Postgres runs 16.2"),
    ("The red bike is new", "The blue car is old"),
    ("Carla lives in Spain", "Carla lives in Seville"),
    ("Eva is Max's mother", "Max is Eva's son"),
    ("The door is not open", "The door is closed"),
    ("Das Seil ist 2 m lang", "Das Seil ist 200 cm lang"),
    ("La tienda vende pan", "La tienda vende también fruta"),
    ("他是队员", "他也是教练"),
];

#[test]
fn pairs_get_their_verdicts_in_both_directions() {
    for (pairs, wanted) in [(CONTRADICTIONS, true), (COMPATIBLE, false)] {
        for (one, two) in pairs {
            for (one, two) in [(one, two), (two, one)] {
                let verdict = Statement::new(one).verdict(&Statement::new(two));
                assert_eq!(verdict.is_ok(), wanted, "{one:?} {two:?} {verdict:?}");
            }
        }
    }
}

#[test]
fn a_pair_is_judged_the_same_in_both_directions() {
    for line in PAIRS.lines() {
        let pair: Json = serde_json::from_str(line).unwrap();
        let [one, two] = ["a", "b"].map(|field| Statement::new(pair[field].as_str().unwrap()));
        assert_eq!(one.contradicts(&two), two.contradicts(&one), "{line}");
        assert_eq!(one.contradicts(&one), None, "DIF-1: {line}");
    }
}

#[test]
fn a_difference_that_is_explained_is_neither_a_conflict_nor_a_duplicate() {
    let pairs = [
        (
            "The build uses tabs",
            "If the build used spaces, it would not use tabs",
        ),
        ("The lift goes up", "Maybe the lift goes down"),
        ("The door is open", "The neighbour claims that the door is closed"),
        (
            "Ana likes the old café in Graz",
            "Ana does not like the new cinema in Linz",
        ),
    ];
    for (one, two) in pairs {
        let found = similarity(one, two);
        assert_eq!(
            found.relation(),
            Relation::Different,
            "DUP-1: {one:?} {two:?} {found:?}"
        );
    }
}

#[test]
fn the_kind_of_a_contradiction_is_told() {
    let cases = [
        (
            "The server listens on port 80",
            "The server listens on port 443",
            Contradiction::Value,
        ),
        (
            "The server has a fan",
            "The server has no fan",
            Contradiction::Negation,
        ),
        (
            "The box is over the desk",
            "The box is under the desk",
            Contradiction::Direction,
        ),
        ("The tea is hot", "The tea is cold", Contradiction::Opposite),
    ];
    for (one, two, wanted) in cases {
        assert_eq!(
            similarity(one, two).relation(),
            Relation::Conflict(wanted),
            "{one:?} {two:?}"
        );
    }
}

/// Returns a text of pieces that the tokeniser treats in different ways, in an order that the seed gives.
fn scrambled(mut seed: u64) -> String {
    const PIECES: [&str; 30] = [
        "the",
        "is",
        " ",
        "not",
        "12",
        ":",
        "30",
        ".",
        "5",
        "km",
        "°",
        "'",
        "s",
        "half",
        "past",
        "am",
        "-",
        "2024",
        "三",
        "月",
        "点",
        "半",
        "か",
        "カ",
        "\u{301}",
        "\u{0}",
        "👩‍💻",
        "?",
        "yes",
        "/",
    ];
    let mut text = String::new();
    for _ in 0..40 {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        text.push_str(PIECES[(seed >> 33) as usize % PIECES.len()]);
        if seed >> 63 == 1 {
            text.push(' ');
        }
    }
    text
}

#[test]
fn no_text_makes_the_comparison_fail() {
    let mut texts: Vec<String> = (0..400).map(scrambled).collect();
    texts.extend(
        [
            "",
            " ",
            "\u{0}",
            "''''",
            "1:",
            "99:99",
            "1,,1..1",
            "-",
            "- 5",
            "°",
            "v",
            "/",
            "半",
            "九万万半",
        ]
        .map(str::to_owned),
    );
    texts.extend([
        "9".repeat(10_000),
        "word ".repeat(100_000),
        "\u{FDFA}".repeat(5_000),
        "\u{301}".repeat(50_000),
        "万".repeat(3_000),
        "half past ".repeat(3_000),
        "a. ".repeat(9_000),
        "१२३ ৯ Ⅷ ½ ²".repeat(50),
    ]);
    for pair in texts.windows(2) {
        let [one, two] = [&pair[0], &pair[1]].map(|text| Statement::new(text));
        assert_eq!(one.contradicts(&two).is_some(), one.verdict(&two).is_ok());
        assert_eq!(one.contradicts(&one), None, "DIF-1");
    }
}
