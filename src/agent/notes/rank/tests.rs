//! Tests of relevance, freshness, order and snippets.

use proptest::prelude::*;

use super::*;
use crate::agent::item::NewItem;
use crate::digest::{HashAlgorithm, HashSuite};
use crate::object::Origin;

const DAY: i64 = DAY_MICROS;
const NOW: Time = Time::from_micros(20_000 * DAY);

fn note(id: &str, text: &str, is_own: bool, age_days: i64) -> NoteRead {
    let object = NewItem::new(text).into_object(Id::new(id).unwrap()).unwrap();
    let suite = HashSuite::new(HashAlgorithm::Blake3);
    let encoded = object.encode(Origin::DirectUser, suite).unwrap();
    NoteRead {
        item: Item::from(encoded.into_object()),
        owner: is_own.then(|| "own".to_owned()),
        created: None,
        updated: Some(NOW.plus_micros(-age_days * DAY)),
        read: None,
    }
}

fn ids(query: &str, notes: Vec<NoteRead>) -> Vec<String> {
    let hits = rank_notes(query, notes, "own", NOW, &NoteSettings::default());
    hits.iter().map(|hit| hit.note.id().to_string()).collect()
}

#[test]
fn relevance_follows_the_formula() {
    let cases = [
        // The texts are equal except for case and white space.
        ("Deploy  Plan", " deploy plan\n", 1.0),
        // Both words of the query, side by side: .15 + .55 + .2 + .1 * 11/22.
        ("deploy plan", "the deploy plan is old", 0.95),
        // Both words of the query, apart: .15 + .55 + .1 * 11/25.
        ("deploy plan", "a plan how the deploy goes", 0.742_308),
        // One of two words, inside a longer word: .15 + .275 + .1 * 9/14.
        ("plan xray", "the planner is", 0.489_286),
        // The text contains no word of the query.
        ("zebra", "the planner", 0.0),
        // A text shorter than the query gets the full bonus for length: .15 + .275 + .1.
        ("alpha beta", "alpha", 0.525),
        // A query without words is searched verbatim: .8 + 1/4/5.
        ("?", "why?", 0.85),
        ("?", "what", 0.0),
        ("x", "x y z", 0.84),
        ("", "text", 0.0),
        ("  ", "", 0.0),
        ("x", "", 0.0),
    ];
    for (query, text, expected) in cases {
        assert!(
            (relevance(query, text) - expected).abs() < 1e-6,
            "{query} in {text}: {}",
            relevance(query, text)
        );
    }
    // An inexact match has a relevance of at most 0.99. Without this limit, it would be 0.999:
    // .15 + .55 + .2 + .1 * 99/100.
    let long = "a".repeat(99);
    assert!((relevance(&long, &format!("{long}b")) - 0.99).abs() < 1e-9);
    assert!((relevance("?", "?!") - 0.9).abs() < 1e-9);
}

#[test]
fn queries_in_any_script_find_by_their_words() {
    // A search that recognises only ASCII words could find these texts only by the whole query.
    for (query, text) in [
        ("сервер пароль", "пароль от сервера"),
        ("größe ändern", "Wir ÄNDERN die Größe"),
        ("仓库配置", "配置了一个新的仓库"),
        ("東京の天気", "天気は東京で良い"),
        ("caf\u{e9}", "the CAFE\u{301} is open"),
        ("สวัสดี", "คำว่าสวัสดีครับ"),
        ("🚀", "we launch 🚀 today"),
    ] {
        assert!(relevance(query, text) > 0.0, "{query} in {text}");
    }
    assert!(relevance("сервер пароль", "пароль сервер и") > relevance("сервер пароль", "один сервер здесь"));
}

#[test]
fn freshness_halves_in_a_month_and_readings_in_a_week() {
    let settings = NoteSettings::default();
    let fresh = |age_days: i64| fresh_factor(Some(NOW.plus_micros(-age_days * DAY)), NOW, &settings);
    assert_eq!((fresh(0), fresh(-5), fresh(30), fresh(60)), (1.0, 1.0, 0.5, 0.25));
    assert!(fresh_factor(None, NOW, &settings).abs() < 1e-12);
    let read = |age_days: i64| read_factor(Some(NOW.plus_micros(-age_days * DAY)), NOW, &settings);
    assert!(
        (read(0) - 1.3).abs() < 1e-12 && (read(7) - 1.15).abs() < 1e-12 && (read(-3) - 1.3).abs() < 1e-12
    );
    assert!((read_factor(None, NOW, &settings) - 1.0).abs() < 1e-12);
    let capped = NoteSettings {
        read_boost: 9.0,
        ..settings
    };
    assert!((read_factor(Some(NOW), NOW, &capped) - 1.3).abs() < 1e-12);
    assert!(
        fresh_factor(
            Some(Time::from_micros(i64::MIN)),
            Time::from_micros(i64::MAX),
            &settings
        )
        .abs()
            < 1e-12
    );
}

#[test]
fn ties_are_broken_by_place_time_and_id() {
    let same = "the deploy plan";
    assert_eq!(
        ids(
            "plan",
            vec![
                note("d", same, false, 0),
                note("b", same, true, 0),
                note("a", same, true, 0),
                note("c", same, false, 0)
            ]
        ),
        ["a", "b", "c", "d"]
    );
    // Both times are in the future, so both notes have the same freshness, and the newer note precedes the older note.
    assert_eq!(
        ids("plan", vec![note("a", same, true, -1), note("b", same, true, -2)]),
        ["b", "a"]
    );
    // A hit with a better score precedes a note of the requesting session.
    assert_eq!(
        ids(
            "plan",
            vec![note("own", same, true, 1), note("else", same, false, 0)]
        ),
        ["else", "own"]
    );
    assert_eq!(
        ids("nothing", vec![note("a", same, true, 0)]),
        Vec::<String>::new()
    );
    assert_eq!(
        ids(
            "plan",
            vec![NoteRead {
                updated: None,
                ..note("a", same, true, 0)
            }]
        ),
        Vec::<String>::new()
    );
}

#[test]
fn scores_within_a_step_are_equal() {
    let notes = [
        note("else", "the plan", false, 0),
        note("own", "the plan", true, 1),
    ];
    let first = |score_step| {
        let settings = NoteSettings {
            score_step,
            ..NoteSettings::default()
        };
        rank_notes("plan", notes.clone(), "own", NOW, &settings)[0]
            .note
            .id()
            .to_string()
    };
    assert_eq!([first(0.0), first(1e-9), first(0.5)], ["else", "else", "own"]);
}

#[test]
fn a_reading_lifts_a_note_but_not_above_one() {
    let text = "the deploy plan of the year";
    let read = NoteRead {
        read: Some(NOW),
        ..note("z", text, true, 3)
    };
    assert_eq!(ids("plan", vec![note("a", text, true, 3), read]), ["z", "a"]);
    // The boost does not raise a perfect, fresh match, because the score is already 1.
    let perfect = NoteRead {
        read: Some(NOW),
        ..note("z", "plan", true, 0)
    };
    assert_eq!(ids("plan", vec![perfect, note("a", "plan", true, 0)]), ["a", "z"]);
}

#[test]
fn snippets_start_a_little_before_the_match() {
    let settings = NoteSettings::default();
    let text = format!("{}needle{}", "word ".repeat(40), " more".repeat(60));
    let found = snippet(&text, "Needle", &settings);
    assert_eq!(found.chars().count(), 160);
    assert_eq!(found.find("needle"), Some(40));
    assert_eq!(snippet("a \n\n b\tc", "zzz", &settings), "a b c");
    assert_eq!(snippet("short", "", &settings), "short");
    // Each of these letters is longer in lower case.
    let text = format!("{}needle", "İ".repeat(100));
    assert_eq!(
        snippet(&text, "needle", &settings),
        format!("{}needle", "İ".repeat(40))
    );
    // If the text does not contain the whole query, the snippet shows the first word that matches.
    assert!(
        snippet(
            &format!("{} x пароль y", "слово ".repeat(50)),
            "нет пароль",
            &settings
        )
        .contains("пароль")
    );
}

proptest! {
    #[test]
    fn nrk_1_scores_stay_in_bounds(query in any::<String>(), text in any::<String>(), updated in any::<Option<i64>>(),
                                   read in any::<Option<i64>>(), now in any::<i64>()) {
        let score = relevance(&query, &text);
        prop_assert!((0.0..=1.0).contains(&score));
        let time = |micros: Option<i64>| micros.map(Time::from_micros);
        let note = NoteRead { updated: time(updated), read: time(read), ..note("n", &text, true, 0) };
        for hit in rank_notes(&query, [note], "own", Time::from_micros(now), &NoteSettings::default()) {
            prop_assert!(hit.score > 0.0 && hit.score <= 1.0);
        }
    }

    #[test]
    fn nrk_2_the_order_does_not_depend_on_the_input(
        notes in prop::collection::vec((0..30_i64, any::<bool>(), "[ab ]{0,6}", prop::option::of(0..9_i64)), 0..40),
        step in prop::sample::select(vec![0.0, 1e-9, 0.01, 0.3]),
        turn in 0..40_usize,
    ) {
        let names: Vec<String> = (0..notes.len()).map(|n| format!("n{n:02}")).collect();
        let mut all: Vec<NoteRead> = notes.iter().zip(&names).map(|((age, own, text, read), id)| NoteRead {
            read: read.map(|days| NOW.plus_micros(-days * DAY)),
            ..note(id, text, *own, *age)
        }).collect();
        let settings = NoteSettings { score_step: step, ..NoteSettings::default() };
        let ranked = |notes: &[NoteRead]| {
            let hits = rank_notes("ab a", notes.to_vec(), "own", NOW, &settings);
            let shown = hits.into_iter().map(|hit| (hit.note.id().clone(), hit.score, hit.snippet));
            shown.collect::<Vec<_>>()
        };
        let first = ranked(&all);
        all.reverse();
        let middle = turn.min(all.len());
        all.rotate_left(middle);
        prop_assert_eq!(first, ranked(&all));
    }

    #[test]
    fn nrk_3_snippets_are_slices(text in any::<String>(), query in any::<String>(), from in 0..20_usize, most in 0..20_usize) {
        let settings = NoteSettings { snippet_chars_max: most, snippet_chars_before: from, ..NoteSettings::default() };
        for query in [query, text.chars().skip(from).take(5).collect()] {
            let found = snippet(&text, &query, &settings);
            prop_assert!(found.chars().count() <= most);
            prop_assert!(words::collapsed(&text).contains(&found));
        }
    }
}
