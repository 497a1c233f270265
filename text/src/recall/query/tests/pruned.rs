//! Compares answers from an index on an image, which skips windows, with those from an index in memory, which reads
//! every match.

use std::sync::Arc;

use super::*;
use crate::recall::index::WINDOW;
use crate::tables::Image;

/// The number of documents in the image. The last window is not full.
const DOCUMENTS: usize = 4 * WINDOW as usize + 300;

const SESSIONS: [&str; 5] = ["one", "two", "three", "four", "five"];

/// A small random generator, which gives the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % limit
    }
}

/// Returns a text of words, most of them frequent, and some repeated.
fn text(random: &mut Random) -> String {
    let words = ["lamp", "fact", "river", "stone", "garden", "copper"];
    let mut text = String::new();
    for _ in 0..=random.below(14) {
        let word = random.below(40);
        // The first words are the most frequent ones.
        let word = words.get(random.below(word + 1)).map_or_else(
            || format!("rare{} ", random.below(DOCUMENTS)),
            |word| format!("{word} "),
        );
        text.push_str(&word);
    }
    text
}

fn put_both(both: &mut [Index; 2], at: usize, text: &str, old: Option<usize>) {
    let old = old.map(key);
    for index in both {
        let document = Document {
            session: at.is_multiple_of(3).then_some(SESSIONS[at % 5]),
            supersedes: old.as_slice(),
            ..document(at, ("s", "", "", i64::from((at / 700) as u32), text))
        };
        index.put(&document).unwrap();
    }
}

/// Returns an index that has an image of its first documents, and an index of the same documents in memory.
fn both(random: &mut Random, links: bool) -> [Index; 2] {
    let mut both = [Index::new(), Index::new()];
    for at in 0..DOCUMENTS {
        let old = (links && random.below(300) == 0).then(|| random.below(DOCUMENTS));
        put_both(&mut both, at, &text(random), old);
    }
    let image = Image::open(both[0].to_bytes().into()).unwrap();
    both[0] = Index::read(&Arc::new(image), 0).unwrap();
    // Few enough that neither index rewrites itself.
    for _ in 0..100 {
        let gone = key(random.below(DOCUMENTS));
        assert_eq!(both[0].remove(&gone), both[1].remove(&gone));
        let at = random.below(DOCUMENTS + 200);
        put_both(&mut both, at, &text(random), None);
    }
    both
}

/// INVARIANTS PRN-1, PRN-2 and QRY-1.
#[test]
fn an_answer_is_the_same_whether_windows_are_skipped_or_not() {
    let questions = [
        "lamp",
        "fact lamp river",
        "copper",
        "stone garden rare77 fact",
        "river rare12345x",
        "lamp fact river stone garden copper unknownword",
        "lamp lamp garden mention",
    ];
    for seed in 0..4 {
        let mut random = Random(seed);
        let both = both(&mut random, seed % 2 == 1);
        let own = text(&mut random);
        let third = |key: &Key| place(*key) % 3 == 1;
        let few = |key: &Key| place(*key) % 900 == 1;
        let filters: [Option<Filter<'_>>; 3] = [None, Some(&third), Some(&few)];
        for question in questions.into_iter().chain([own.as_str()]) {
            for filter in filters {
                let mut query = Query::new(question);
                (query.filter, query.limit) = (filter, 200);
                let shown = both.each_ref().map(|index| {
                    let answer = index.recall(&query, &mut Scratch::default());
                    let hits = answer.hits.iter();
                    hits.map(|hit| (hit.key, hit.score, hit.confidence, hit.signals, hit.moved))
                        .collect::<Vec<_>>()
                });
                assert!(shown[0] == shown[1], "seed {seed}, {question}");
                let all = |_: &Key| true;
                let filter = filter.unwrap_or(&all);
                let near = both
                    .each_ref()
                    .map(|index| index.nearest(question, None, filter, 8, &mut Scratch::default()));
                assert_eq!(near[0], near[1], "seed {seed}, {question}");
            }
        }
    }
}

/// Most documents of a frequent word get no score, also beside a rare word and a word that no document contains.
#[test]
fn few_of_the_matches_of_a_frequent_word_are_scored() {
    let mut index = Index::new();
    for at in 0..DOCUMENTS {
        let text = format!("fact {at} about tea");
        index
            .put(&Document {
                session: None,
                ..document(at, ("s", "", "", 1, &text))
            })
            .unwrap();
    }
    let image = Image::open(index.to_bytes().into()).unwrap();
    let index = Index::read(&Arc::new(image), 0).unwrap();
    for question in ["fact", "fact 4000 tea", "fact 4000zz tea"] {
        let (admission, mut scratch) = (Admission::new(&index, None), Scratch::default());
        let question = Question::read(&index, &admission, question, None);
        scratch.prepare(&index);
        let pruned = Pruned::new(&index, &admission, &question, CANDIDATES, &|_| true, &mut scratch);
        drop(pruned.unwrap().score(&mut scratch));
        assert!((CANDIDATES..=2 * WINDOW as usize).contains(&scratch.touched.len()));
    }
}

/// Where the frequent words alone make no best document, only the documents with a rare one are scored.
#[test]
fn rare_words_choose_the_documents_that_are_scored() {
    let mut index = Index::new();
    for at in 0..DOCUMENTS {
        let text = format!("fact number{at} about tea");
        index
            .put(&Document {
                session: None,
                ..document(at, ("s", "", "", 1, &text))
            })
            .unwrap();
    }
    let image = Image::open(index.to_bytes().into()).unwrap();
    let index = Index::read(&Arc::new(image), 0).unwrap();
    let question = "fact about tea number5 number3000 number3001 number3002";
    let (admission, mut scratch) = (Admission::new(&index, None), Scratch::default());
    let question = Question::read(&index, &admission, question, None);
    scratch.prepare(&index);
    let pruned = Pruned::new(&index, &admission, &question, 1, &|_| true, &mut scratch);
    drop(pruned.unwrap().score(&mut scratch));
    assert_eq!(scratch.touched.len(), WINDOW as usize + 3);
}
