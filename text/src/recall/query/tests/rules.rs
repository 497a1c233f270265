//! Tests of the order rules, filters and vectors, and of questions with any content.

use std::sync::Arc;

use super::*;
use crate::recall::VectorTable;

#[test]
fn the_fresher_of_two_leaders_comes_first_where_a_state_is_asked_for() {
    let index = index_of(&[
        ("s", "one", "", 0, "The limit of the api is 100 calls"),
        ("s", "two", "", 9, "The limit of the api is now 500 calls a day"),
        ("s", "three", "", 10, "Rain is likely"),
    ]);
    let first = |text| ask(&index, text)[0].clone();
    assert_eq!(place(first("Tell me of the limit of the api").key), 0);
    let fresh = first("What is the limit of the api?");
    assert_eq!(
        (place(fresh.key), fresh.moved),
        (1, Some(Moved::Fresher)),
        "ORD-2"
    );
    let query = Query {
        freshness: false,
        ..Query::new("What is the limit of the api?")
    };
    assert_eq!(
        place(index.recall(&query, &mut Scratch::default()).hits[0].key),
        0
    );
}

#[test]
fn what_was_stored_at_one_time_is_not_fresher_except_within_a_session() {
    let texts = [
        "The limit of the api is 100 calls",
        "The limit of the api is now 500 calls a day",
        "Rain is likely",
    ];
    let first = |session: Option<&str>| {
        let mut index = Index::new();
        for (at, text) in texts.into_iter().enumerate() {
            let document = Document {
                session,
                ..document(at, ("s", "", "", 1, text))
            };
            index.put(&document).unwrap();
        }
        let hit = ask(&index, "What is the limit of the api?").swap_remove(0);
        (place(hit.key), hit.moved)
    };
    assert_eq!(first(None), (0, None));
    assert_eq!(first(Some("one")), (1, Some(Moved::Fresher)));
}

#[test]
fn a_superseded_document_stands_below_its_successors() {
    let mut index = index_of(&[
        ("s", "one", "", 0, "The office is in Berlin"),
        ("s", "two", "", 1, "office office Berlin"),
    ]);
    put(
        &mut index,
        2,
        ("s", "three", "", 2, "We work from Lisbon"),
        Some(0),
    );
    put(
        &mut index,
        3,
        ("s", "four", "", 3, "Everybody is in Porto"),
        Some(2),
    );
    let order: Vec<usize> = ask(&index, "office in Berlin")
        .into_iter()
        .map(|hit| place(hit.key))
        .collect();
    let at = |number: usize| order.iter().position(|&other| other == number).unwrap();
    assert!(at(3) < at(2) && at(2) < at(0), "ORD-1: {order:?}");
    put(
        &mut index,
        0,
        ("s", "one", "", 0, "The office is in Berlin"),
        Some(3),
    );
    assert_eq!(ask(&index, "office in Berlin").len(), 4, "a circle of links ends");
    assert!(index.remove(&key(3)));
    let order: Vec<usize> = ask(&index, "office")
        .into_iter()
        .map(|hit| place(hit.key))
        .collect();
    assert!(!order.contains(&3));
}

#[test]
fn a_filter_hides_documents_and_changes_no_frequency() {
    let index = talk(&[("", "apple"), ("", "apple pie"), ("", "pear")]);
    let hidden = |wanted: &Key| *wanted != key(0);
    let query = Query {
        filter: Some(&hidden),
        ..Query::new("apple")
    };
    let hits = index.recall(&query, &mut Scratch::default()).hits;
    assert!(hits.iter().all(|hit| place(hit.key) != 0));
    assert!(
        (hits[0].signals[Signal::Base as usize] - 1.0).abs() < 1e-6,
        "the best of the remaining documents"
    );
}

#[test]
fn explanations_add_up_to_the_score_and_confidence_is_a_share() {
    let index = talk(&[
        ("Anna", "Do you like tea?"),
        ("Ben", "I like green tea since 2019"),
        ("Anna", "Always?"),
    ]);
    for hit in ask(&index, "How long does Ben like green tea?") {
        let sum: f32 = hit
            .explain()
            .iter()
            .map(|reason| reason.value * reason.weight)
            .sum();
        assert!((sum - hit.score).abs() < 1e-5);
        assert!((0.0..=1.0).contains(&hit.confidence));
    }
    let sure = ask(&index, "Ben likes green tea since 2019")[0].confidence;
    let unsure = ask(&index, "Ben likes coffee from Peru and long tea breaks")[0].confidence;
    assert!(sure > unsure + 0.3, "{sure} {unsure}");
}

#[test]
fn a_vector_finds_what_no_word_does() {
    struct Fixed(Arc<VectorTable>);
    impl Meaning for Fixed {
        fn of_question(&self, question: &str, _: bool) -> Option<Vec<f32>> {
            assert!(!question.contains("Anna"), "the query removes names: {question}");
            Some(vec![1.0, 0.0])
        }
        fn table(&self) -> Arc<VectorTable> {
            Arc::clone(&self.0)
        }
    }
    let mut index = Index::new();
    let mut table = VectorTable::new("fixed");
    for (at, (speaker, text, vector)) in [
        ("Anna", "feline", [1.0, 0.1]),
        ("Ben", "cat food", [0.0, 1.0]),
        ("Ben", "rain", [-1.0, 0.0]),
    ]
    .into_iter()
    .enumerate()
    {
        let text_key = [at as u8 + 1; 16];
        table.insert(text_key, &vector);
        let document = Document {
            order: 0,
            text_key,
            ..document(at, ("s", text, speaker, 0, text))
        };
        index.put(&document).unwrap();
    }
    let fixed = Fixed(table.into());
    let query = Query {
        meaning: Some(&fixed),
        ..Query::new("Does Anna have a zebu?")
    };
    let hits = index.recall(&query, &mut Scratch::default()).hits;
    assert_eq!(place(hits[0].key), 0);
    assert!(hits[0].explain().iter().any(|reason| reason.name == "vec"));
}

/// A text without a word of the question is a hit beside a good one only if its meaning is near.
#[test]
fn a_far_meaning_is_no_hit_beside_a_good_match() {
    struct Fixed(Arc<VectorTable>);
    impl Meaning for Fixed {
        fn of_question(&self, _: &str, _: bool) -> Option<Vec<f32>> {
            Some(vec![1.0, 0.0])
        }
        fn table(&self) -> Arc<VectorTable> {
            Arc::clone(&self.0)
        }
    }
    let mut index = Index::new();
    let mut table = VectorTable::new("fixed");
    // The cosines are 0.8, 0.15 and 0.4.
    let texts = [
        ("The database is heron", [0.8, 0.6]),
        ("Deploy with make ship", [0.15, 0.989]),
        ("Postgres runs there", [0.4, 0.917]),
    ];
    for (at, (text, vector)) in texts.into_iter().enumerate() {
        let text_key = [at as u8 + 1; 16];
        table.insert(text_key, &vector);
        let document = Document {
            session: None,
            text_key,
            ..document(at, ("s", "", "", 0, text))
        };
        index.put(&document).unwrap();
    }
    let fixed = Fixed(table.into());
    let found = |question: &str, limit: usize| -> Vec<usize> {
        let query = Query {
            meaning: Some(&fixed),
            limit,
            ..Query::new(question)
        };
        let hits = index.recall(&query, &mut Scratch::default()).hits;
        hits.iter().map(|hit| place(hit.key)).collect()
    };
    assert_eq!(found("name of the database", 10), [0, 2]);
    assert_eq!(found("name of the database", 1), [0]);
    // A word in common is a reason.
    assert_eq!(found("deploy the database", 10), [0, 1, 2]);
}

#[test]
fn no_script_and_no_emoji_is_lost() {
    let texts = [
        "東京タワーに行きました",
        "我们昨天在北京看了电影",
        "서울에서 친구를 만났어요",
        "ฉันชอบกินข้าวผัด",
        "Мы живём в Москве",
        "मुझे चाय पसंद है",
        "أحب القهوة العربية",
        "party 🎉🎉 with 👩🏽‍🍳",
        "the 🇯🇵 team won",
        "Ich mag Ｋａｆｆｅｅ und Crème brûlée",
    ];
    let said: Vec<Said<'_>> = texts.iter().map(|text| ("s", "one", "", 0, *text)).collect();
    let index = index_of(&said);
    let cases = [
        ("東京タワー", 0),
        ("京", 1),
        ("电影", 1),
        ("친구", 2),
        ("서울", 2),
        ("ข้าวผัด", 3),
        ("Москве", 4),
        ("चाय", 5),
        ("القهوة", 6),
        ("🎉", 7),
        ("👩‍🍳", 7),
        ("🇯🇵", 8),
        ("kaffee", 9),
        ("creme brulee", 9),
    ];
    for (question, wanted) in cases {
        let found: Vec<usize> = ask(&index, question).iter().map(|hit| place(hit.key)).collect();
        assert!(
            found.first() == Some(&wanted) || (question == "京" && found.contains(&wanted)),
            "{question}: {found:?}"
        );
    }
}

#[test]
fn a_question_is_stemmed_in_the_languages_of_the_documents() {
    let texts = [
        "Die Häuser in der Straße sind alt",
        "Мы купили новые книги",
        "Kitaplarımız ve defterlerimiz masada, çünkü okul başladı",
        "The houses on the street are old",
    ];
    let cases = [
        ("Wo steht das alte Haus?", 0),
        ("Haus", 0),
        ("Häusern", 0),
        ("Где книга?", 1),
        ("kitap", 2),
        ("house", 3),
    ];
    let said = |texts: &[&'static str]| -> Index {
        let said: Vec<Said<'_>> = texts.iter().map(|text| ("s", "one", "", 0, *text)).collect();
        index_of(&said)
    };
    let index = said(&texts);
    for (question, wanted) in cases {
        let found = ask(&index, question).first().map(|hit| place(hit.key));
        assert_eq!(found, Some(wanted), "QST-2: {question}");
    }
    // Among English documents, a question is stemmed by the rules of English alone.
    // By those of French, "care" has the stem "car".
    assert!(ask(&said(&["The cars are red"]), "care").is_empty());
}

#[test]
fn many_threads_may_ask_one_index() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&Index::new());
    shared(&Scratch::default());
}

#[test]
fn a_scratch_serves_one_question_after_another() {
    let index = talk(&[("Anna", "dogs and cats"), ("Ben", "a puppy"), ("Anna", "a cat")]);
    let mut scratch = Scratch::default();
    for question in ["dog cat", "puppy", "Where is the dog?", "nothing"] {
        let query = Query::new(question);
        let again = format!("{:?}", index.recall(&query, &mut scratch));
        assert_eq!(
            again,
            format!("{:?}", index.recall(&query, &mut Scratch::default()))
        );
        let zero = scratch
            .base
            .iter()
            .chain(&scratch.session)
            .all(|cell| *cell == 0.0);
        assert!(zero && scratch.mask.iter().all(|mask| *mask == 0), "BSC-2");
    }
}

#[test]
fn a_page_as_a_question_is_a_question() {
    let index = talk(&[("", "apple"), ("", "pear")]);
    let page = (0..20_000).map(|at| format!("word{at} ")).collect::<String>() + "apple";
    assert_eq!(
        place(ask(&index, &page)[0].key),
        0,
        "QST-1: the rarest terms, not the first"
    );
    let scopes = Some(&["nowhere"][..]);
    let elsewhere = Query {
        scopes,
        ..Query::new(&page)
    };
    assert!(index.recall(&elsewhere, &mut Scratch::default()).hits.is_empty());
}
