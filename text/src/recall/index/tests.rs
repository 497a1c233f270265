//! Compares the index with a newly built index and with an index of a single scope, and reads hostile bytes.

use super::*;
use crate::recall::{Answer, Query, Scratch, VectorTable};

/// A small random generator, which gives the same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

const WORDS: &[&str] = &[
    "dog",
    "cats",
    "yesterday",
    "Hey Tim!",
    "Anna",
    "always",
    "?",
    "7 May 2023",
    "running",
    "東京都",
    "👍",
    "```x = 1```",
    "I",
    "you",
    "three",
    "house",
    "puppy",
    "last week",
    "coffee",
    "the",
    "moved",
    "Berlin",
    "gardens",
    "music",
];

#[derive(Clone)]
struct Owned {
    key: Key,
    scope: &'static str,
    session: Option<&'static str>,
    speaker: &'static str,
    time: i64,
    order: u32,
    title: &'static str,
    above: &'static str,
    text: String,
    supersedes: Option<Key>,
}

impl Owned {
    fn random(random: &mut Random) -> Self {
        let key = |random: &mut Random| Key([random.below(60) as u8; Key::BYTES]);
        Self {
            key: key(random),
            scope: ["home", "work", "lab"][random.below(3)],
            session: [None, None, Some("one"), Some("two")][random.below(4)],
            speaker: ["Anna", "Ben", "Anna", "Ben", "Timothy"][random.below(5)],
            time: 1_683_500_000 + i64::from(random.below(20) as u32) * 3 * 3600,
            order: random.below(3) as u32,
            title: ["", "", "The garden", "東京"][random.below(4)],
            above: ["", "", "Das Haus und der Garten sind hier"][random.below(3)],
            text: (0..random.below(9))
                .map(|_| WORDS[random.below(WORDS.len())])
                .collect::<Vec<_>>()
                .join(" "),
            supersedes: (random.below(9) == 0).then(|| key(random)),
        }
    }

    fn voice(&self) -> Voice {
        [Voice::Other, Voice::Stated, Voice::Said][self.order as usize % 3]
    }

    /// Some texts have no vector.
    fn text_key(&self) -> TextKey {
        let mut key = self.key.0;
        key[15] = self.text.len() as u8;
        if self.order == 0 { key } else { TextKey::default() }
    }

    fn put(&self, index: &mut Index) {
        let document = Document {
            key: self.key,
            scope: self.scope,
            session: self.session,
            speaker: self.speaker,
            time: self.time,
            order: self.order,
            title: self.title,
            above: self.above,
            text: &self.text,
            supersedes: self.supersedes.as_slice(),
            voice: self.voice(),
            text_key: self.text_key(),
        };
        index.put(&document).unwrap();
    }
}

const QUESTIONS: &[&str] = &[
    "Where is Anna's dog?",
    "what did Tim say about coffee in May 2023",
    "東京",
    "how many cats are there now?",
    "",
    "pupy house",
    "👍 running",
    "When was the garden moved?",
    "Anna",
    "in 2023",
];

/// Vectors of the texts of an index, which depend on nothing else.
struct Fixed(Arc<VectorTable>);

impl Fixed {
    fn of(index: &Index) -> Self {
        let mut table = VectorTable::new("fixed");
        for key in index.text_keys().filter(|key| key[15] % 3 > 0) {
            table.insert(key, &[key[0].into(), 3.0, f32::from(key[15]) - 9.0]);
        }
        Self(table.into())
    }
}

impl crate::recall::Meaning for Fixed {
    fn of_question(&self, question: &str, _: bool) -> Option<Vec<f32>> {
        Some(vec![question.len() as f32, 1.0, -2.0])
    }

    fn table(&self) -> Arc<VectorTable> {
        self.0.clone()
    }
}

/// Returns all answers of an index, in a form that can be compared.
fn answers(index: &Index, scopes: Option<&[&str]>) -> Vec<String> {
    [asked(index, scopes, false), asked(index, scopes, true)].concat()
}

/// Returns the answers without vectors.
fn wordy(index: &Index) -> Vec<String> {
    let mut answers = asked(index, None, false);
    let mut scratch = Scratch::default();
    for text in QUESTIONS {
        let matches = index.matches_by_scope(text, &|_| true, 9, &mut scratch);
        answers.push(format!("{matches:?}"));
    }
    let keys = (0..60).map(|number| Key([number; Key::BYTES]));
    answers.push(keys.map(|key| format!("{} ", index.is_titled(&key))).collect());
    answers
}

fn asked(index: &Index, scopes: Option<&[&str]>, dense: bool) -> Vec<String> {
    let mut scratch = Scratch::default();
    let fixed = Fixed::of(index);
    let ask = |text: &&str| {
        let query = Query {
            scopes,
            limit: 50,
            now: Some(1_683_600_000),
            meaning: dense.then_some(&fixed),
            ..Query::new(text)
        };
        let Answer { mut hits, terms, .. } = index.recall(&query, &mut scratch);
        // Clears the numbers, because the numbers depend on the history of the index.
        for hit in &mut hits {
            hit.number = 0;
        }
        format!("{terms:?} {hits:#?}")
    };
    QUESTIONS.iter().map(ask).collect()
}

fn check_sessions(index: &Index) {
    let columns = &index.columns;
    let mut sums = std::collections::BTreeMap::new();
    for number in 0..index.sessions.len() as u32 {
        let members = index.sessions.members(number);
        let session: Vec<u32> = (0..members.len()).filter_map(|at| members.get(at)).collect();
        let mut speakers = std::collections::BTreeMap::new();
        let (mut count, mut length) = (0, 0);
        for &member in &session {
            let of = columns.scored(member);
            assert!(columns.is_live(member) && of.session == Some(number), "SES-1");
            assert_eq!(
                index.people.scope_of(of.speaker),
                index.sessions.scope(number),
                "SES-1"
            );
            *speakers.entry(of.speaker).or_insert(0) += 1;
            count += 1;
            length += u64::from(of.length);
        }
        assert!(speakers.into_iter().eq(index.sessions.speakers(number)), "SES-3");
        assert_eq!(index.sessions.length(number), length, "SES-3");
        let of_scope = sums.entry(index.sessions.scope(number)).or_insert((0, 0, 0));
        *of_scope = (
            of_scope.0 + u32::from(count > 0),
            of_scope.1 + length,
            of_scope.2 + count,
        );
        for pair in session.windows(2) {
            assert!(columns.chronology(pair[0], pair[1]).is_lt(), "SES-1");
        }
    }
    for (scope, (sessions, length, _)) in &sums {
        assert_eq!(index.sessions.sums(*scope), (*sessions, *length), "SES-3");
    }
    let numbers = 0..columns.len() as u32;
    let in_session =
        numbers.filter(|&number| columns.is_live(number) && columns.scored(number).session.is_some());
    assert_eq!(
        sums.values().map(|(.., count)| count).sum::<usize>(),
        in_session.count(),
        "SES-1"
    );
}

#[test]
fn an_index_with_a_history_answers_as_one_without() {
    for seed in 0..40 {
        let mut random = Random(seed);
        let mut index = Index::new();
        let mut held: Vec<Owned> = Vec::new();
        for _ in 0..300 {
            let owned = Owned::random(&mut random);
            held.retain(|other| other.key != owned.key);
            if random.below(3) == 0 {
                index.remove(&owned.key);
            } else {
                owned.put(&mut index);
                held.push(owned);
            }
        }
        let mut fresh = Index::new();
        while !held.is_empty() {
            held.swap_remove(random.below(held.len())).put(&mut fresh);
        }
        assert_eq!(index.len(), fresh.len());
        check_sessions(&index);
        assert_eq!(answers(&index, None), answers(&fresh, None), "IDX-1, seed {seed}");
        assert_eq!(
            answers(&index, Some(&["lab", "home"])),
            answers(&fresh, Some(&["lab", "home"])),
            "IDX-1, QRY-1, RCL-2, PEO-1, SES-2: seed {seed}"
        );
        assert_eq!(encoded(&index), encoded(&fresh), "seed {seed}");
    }
}

#[test]
fn a_query_of_a_scope_answers_as_an_index_of_it_alone() {
    for seed in 0..40 {
        let mut random = Random(seed + 1000);
        let (mut index, mut alone) = (Index::new(), Index::new());
        for number in 0..120u8 {
            let owned = Owned {
                key: Key([number; Key::BYTES]),
                supersedes: None,
                ..Owned::random(&mut random)
            };
            owned.put(&mut index);
            if owned.scope == "work" {
                owned.put(&mut alone);
            }
        }
        assert_eq!(
            answers(&index, Some(&["work"])),
            answers(&alone, None),
            "QRY-2, SCO-1, BSC-1, PEO-2: seed {seed}"
        );
        assert_eq!(answers(&index, Some(&["nowhere"])), answers(&Index::new(), None));
    }
}

#[test]
fn removing_much_leaves_few_vacant_numbers() {
    let mut random = Random(5);
    let mut index = Index::new();
    for number in 0..3000u32 {
        let mut owned = Owned::random(&mut random);
        owned.key.0[..4].copy_from_slice(&number.to_le_bytes());
        owned.put(&mut index);
        if number % 3 != 0 {
            assert!(index.remove(&owned.key));
            assert!(!index.remove(&owned.key));
        }
        let vacant = index.columns.len() - index.len();
        assert!(
            vacant <= VACANT_MIN.max(index.columns.len() / 4 + 1),
            "IDX-2: {vacant}"
        );
    }
    assert_eq!(index.len(), 1000);
}

fn encoded(index: &Index) -> Vec<u8> {
    index.to_bytes()
}

fn decoded(bytes: &[u8]) -> Option<Index> {
    Index::read(&Arc::new(Image::open(bytes.to_vec().into())?), 0)
}

fn sample() -> Index {
    let mut random = Random(77);
    let mut index = Index::new();
    for _ in 0..60 {
        Owned::random(&mut random).put(&mut index);
    }
    index
}

#[test]
fn bytes_come_back_as_the_same_index() {
    for index in [Index::new(), sample()] {
        let bytes = encoded(&index);
        let read = decoded(&bytes).unwrap();
        check_sessions(&read);
        assert_eq!(encoded(&read), bytes, "ENC-1");
        assert_eq!(wordy(&read), wordy(&index));
        assert!(!read.is_damaged());
    }
}

/// INVARIANTS ENC-1 and IDX-1: an index that goes on from an image at any time answers as one that was built.
#[test]
fn an_index_on_an_image_answers_as_one_without() {
    for seed in 0..40 {
        let mut random = Random(seed + 500);
        let (mut index, mut plain) = (Index::new(), Index::new());
        for step in 0..300 {
            let owned = Owned::random(&mut random);
            if random.below(3) == 0 {
                assert_eq!(index.remove(&owned.key), plain.remove(&owned.key));
            } else {
                owned.put(&mut index);
                owned.put(&mut plain);
            }
            if random.below(40) == 0 {
                index = decoded(&encoded(&index)).unwrap();
            }
            if step % 60 == 59 {
                check_sessions(&index);
                assert_eq!(wordy(&index), wordy(&plain), "seed {seed}, step {step}");
                assert_eq!(encoded(&index), encoded(&plain), "seed {seed}, step {step}");
            }
        }
        assert!(!index.is_damaged());
    }
}

#[test]
fn keys_with_an_equal_start_are_told_apart() {
    let key = |last: u8| {
        let mut key = Key([7; Key::BYTES]);
        key.0[15] = last;
        key
    };
    let mut index = Index::new();
    for last in 0..5 {
        let document = Document {
            key: key(last),
            time: i64::from(9 - last),
            title: if last == 3 { "tea" } else { "" },
            text: "coffee",
            ..Document::default()
        };
        index.put(&document).unwrap();
    }
    let mut index = decoded(&encoded(&index)).unwrap();
    assert!(index.remove(&key(2)) && !index.remove(&key(2)) && !index.contains(&key(5)));
    let found: Vec<u8> = (0..6).filter(|&last| index.contains(&key(last))).collect();
    assert_eq!(found, [0, 1, 3, 4]);
    assert!(index.is_titled(&key(3)) && !index.is_titled(&key(4)));
    assert!(!index.is_damaged());
}

/// INVARIANT ENC-2: a changed byte is noticed, or changes no answer.
#[test]
fn changed_bytes_are_noticed() {
    let index = sample();
    let bytes = encoded(&index);
    let expected = wordy(&index);
    for length in 0..bytes.len() {
        assert!(decoded(&bytes[..length]).is_none(), "cut at {length}");
    }
    let mut random = Random(3);
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << random.below(8);
        if let Some(index) = decoded(&changed) {
            let found = wordy(&index);
            assert!(index.is_damaged() || found == expected, "byte {at}");
        }
    }
}

/// INVARIANT ENC-2: sections with any content and right checksums cause no panic.
#[test]
fn hostile_sections_cause_no_panic() {
    let whole = Image::open(encoded(&sample()).into()).unwrap();
    let mut random = Random(4);
    for round in 0..400 {
        let mut image = Builder::default();
        let spoiled = random.below(Index::SECTIONS);
        for section in 0..Index::SECTIONS {
            let mut bytes = whole.read(section, 0, whole.length(section)).unwrap().to_vec();
            let times = if section == spoiled { 1 + round % 8 } else { 0 };
            for _ in 0..times.min(bytes.len() * 9) {
                let at = random.below(bytes.len());
                bytes[at] = [0, 1, 127, 128, 255, bytes[at].wrapping_add(1)][random.below(6)];
            }
            image.section(|section| section.append(&mut bytes));
        }
        let Some(mut index) = decoded(&image.finish()) else {
            continue;
        };
        wordy(&index);
        for _ in 0..40 {
            let owned = Owned::random(&mut random);
            if random.below(2) == 0 {
                index.remove(&owned.key);
            } else {
                owned.put(&mut index);
            }
        }
        wordy(&index);
        encoded(&index);
    }
}

#[test]
fn any_text_is_taken_in_and_found() {
    // RCL-1 and TXT-1: no call below may fail.
    let mut index = Index::new();
    let texts = [
        "\u{0}x\u{202E}",
        "漢",
        "👩‍👩‍👧",
        "a".repeat(70_000).leak(),
        "[[[]]?",
        "’’’",
        "ﷺ ﷽",
        "é\u{301}\u{301}",
        "-1e999",
    ];
    for (at, text) in texts.iter().enumerate() {
        let times = [i64::MIN, i64::MAX, 0];
        let document = Document {
            key: Key([at as u8; Key::BYTES]),
            scope: text,
            session: (at % 2 == 0).then_some(*text),
            speaker: text,
            time: times[at % 3],
            order: u32::MAX,
            title: text,
            above: text,
            text,
            supersedes: &[Key([at as u8; Key::BYTES])],
            voice: Voice::Said,
            text_key: Default::default(),
        };
        index.put(&document).unwrap();
    }
    let mut scratch = Scratch::default();
    for text in texts {
        index.recall(&Query::new(text), &mut scratch);
        index.recall(
            &Query {
                now: Some(i64::MIN),
                limit: usize::MAX,
                ..Query::new("last year")
            },
            &mut scratch,
        );
    }
    let found = |text| {
        index
            .recall(&Query::new(text), &mut Scratch::default())
            .hits
            .first()
            .map(|hit| hit.key.0[0])
    };
    assert_eq!((found("漢"), found("👩‍👩‍👧")), (Some(1), Some(2)));
    assert_eq!(encoded(&decoded(&encoded(&index)).unwrap()), encoded(&index));
}
