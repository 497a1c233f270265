//! Tests that the checker accepts correct proof documents, and checks every part of a document.

use super::*;
use treering::inspect::digest::KeyPath;
use treering::inspect::trie::{Entry, NoSource, Shape, Trie};

/// Returns the proof document about `id` in a state that contains the objects `held`.
fn document_about(id: &str, held: &[&str]) -> serde_json::Value {
    let suite = HashSuite::new(HashAlgorithm::Blake3);
    let mut trie = Trie::new();
    for (place, held) in held.iter().enumerate() {
        let key: KeyPath = suite.key_path(held);
        let entry = Entry {
            key,
            digest: [place as u8 + 1; 32],
            place: 0,
            created: 0,
        };
        trie.insert(entry, &NoSource).unwrap();
    }
    let root = trie.root(suite, Shape::State, &NoSource).unwrap();
    let id = Id::new(id).unwrap();
    let proof = trie
        .prove(&suite.key_path(id.as_str()), suite, &NoSource)
        .unwrap();
    serde_json::to_value(ProofDocument::new(&proof, suite, &root, &id).unwrap()).unwrap()
}

const HELD: [&str; 5] = ["a", "b", "c", "d", "e"];

#[test]
fn presence_and_absence_are_proven() {
    let present = check(&document_about("b", &HELD).to_string()).unwrap();
    assert_eq!(
        (present.id.as_str(), present.object),
        ("b", Some("02".repeat(32)))
    );
    for held in [&HELD[..], &[], &["x"]] {
        let absent = check(&document_about("nobody", held).to_string()).unwrap();
        assert_eq!(absent.object, None);
    }
}

#[test]
fn no_field_of_a_document_can_be_changed_dropped_or_added() {
    // INVARIANT CLI-6: the checker checks each leaf value of the document.
    for document in [document_about("b", &HELD), document_about("nobody", &HELD)] {
        let pointers = leaves(&document);
        assert!(pointers.len() > 8);
        for pointer in pointers {
            let mut changed = document.clone();
            let leaf = changed.pointer_mut(&pointer).unwrap();
            *leaf = other_than(leaf);
            assert!(
                check(&changed.to_string()).is_err(),
                "{pointer} changed to {changed}"
            );
        }
        for name in document.as_object().unwrap().keys() {
            let mut without = document.clone();
            without.as_object_mut().unwrap().remove(name);
            assert!(check(&without.to_string()).is_err(), "{name} dropped");
        }
        let mut more = document.clone();
        more["note"] = "trust me".into();
        assert!(check(&more.to_string()).is_err());
        let mut more = document.clone();
        more["terminal"]["note"] = "trust me".into();
        assert!(check(&more.to_string()).is_err(), "{more}");
        let twice = document.to_string().replacen('{', "{\"version\":1,", 1);
        assert!(check(&twice).is_err());
    }
}

#[test]
fn a_document_has_one_form() {
    // INVARIANT CLI-6: the checker refuses variants that a lenient reader would accept as the same document.
    for document in [document_about("b", &HELD), document_about("nobody", &HELD)] {
        let as_list = |value: &serde_json::Value| -> serde_json::Value {
            value.as_object().unwrap().values().cloned().collect()
        };
        assert!(check(&as_list(&document).to_string()).is_err());
        for place in ["/levels/0", "/terminal"] {
            let mut changed = document.clone();
            let part = changed.pointer_mut(place).unwrap();
            *part = as_list(part);
            assert!(check(&changed.to_string()).is_err(), "{place}");
        }
    }
    let mut absent = document_about("nobody", &HELD);
    absent.as_object_mut().unwrap().remove("object");
    assert!(check(&absent.to_string()).is_err());
}

#[test]
fn what_is_no_document_is_refused() {
    for text in ["", "null", "[]", "{}", "{\"version\":1}", &"[".repeat(100_000)] {
        assert!(check(text).is_err());
    }
}

/// Returns the JSON pointers of all values in the document that are not lists or maps.
fn leaves(document: &serde_json::Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![(String::new(), document)];
    while let Some((pointer, value)) = waiting.pop() {
        match value {
            serde_json::Value::Object(map) => {
                waiting.extend(
                    map.iter()
                        .map(|(name, value)| (format!("{pointer}/{name}"), value)),
                );
            }
            serde_json::Value::Array(items) => {
                waiting.extend(
                    items
                        .iter()
                        .enumerate()
                        .map(|(index, value)| (format!("{pointer}/{index}"), value)),
                );
            }
            _ => found.push(pointer),
        }
    }
    found
}

fn other_than(value: &serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::String(text) => {
            let first = if text.starts_with('0') { '1' } else { '0' };
            format!("{first}{}", text.get(1..).unwrap_or_default()).into()
        }
        serde_json::Value::Number(number) => (number.as_u64().unwrap() ^ 1).into(),
        _ => "00".repeat(32).into(),
    }
}
