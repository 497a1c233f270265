//! Property tests of blocks, files and paths.

use proptest::prelude::*;

use super::super::*;
use super::{id, plain_block};
use crate::object::{Time, Value};

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<String>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Float(0.5)),
        Just(Value::Null),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::List),
            prop::collection::btree_map(any::<String>(), inner, 0..3).prop_map(Value::Map),
        ]
    })
}

fn any_block() -> impl Strategy<Value = Block> {
    let time = || {
        prop::option::of((-60_000_000_000_000_000..250_000_000_000_000_000_i64).prop_map(Time::from_micros))
    };
    let content = prop_oneof![any::<String>(), "(---|\n|\r\n| |id: x|\u{FEFF}|a){0,12}"];
    (
        "[a-z0-9]{1,5}(/[a-z0-9]{1,3}){0,2}",
        prop::option::of("[a-z:]{1,9}"),
        (time(), time(), time()),
        prop::option::of(prop::collection::vec(any_value(), 0..4)),
        prop::collection::btree_map("([a-zA-Z_-]{1,6}x|citations)", any_value(), 0..3),
        content,
    )
        .prop_map(|(name, scope, times, tags, mut attributes, content)| {
            attributes.extend(tags.map(|tags| ("tags".to_owned(), Value::List(tags))));
            Block {
                scope,
                created: times.0,
                updated: times.1,
                expires: times.2,
                attributes: attributes.into(),
                ..plain_block(&name, content)
            }
        })
        // Exclude blocks that cannot be written, such as a scope in quotes.
        .prop_filter("written", |block| write_block(block).is_ok())
}

proptest! {
    #[test]
    fn blf_1_what_is_written_is_read_back(block in any_block()) {
        let text = write_block(&block).unwrap();
        let file = read_block(text.as_bytes(), &block.id).unwrap();
        prop_assert_eq!(&file.faults, &[]);
        prop_assert_eq!(&file.block, &block);
        prop_assert_eq!(write_block(&file.block).unwrap(), text);
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..60), text in "(---|\n|\r\n|id: a|scope: |'|tags: |\\[|citations: |\"|: |\\{|x|\u{FEFF}){0,20}") {
        drop(read_block(&bytes, &id("p")));
        if let Ok(file) = read_block(text.as_bytes(), &id("p")) {
            // A block that was read can be written, and the written file has no faults.
            let again = write_block(&file.block).unwrap();
            prop_assert_eq!(read_block(again.as_bytes(), &file.block.id), Ok(BlockFile { block: file.block, faults: Vec::new() }));
        }
    }

    #[test]
    fn blf_2_no_path_leads_outside(path in "[a-zA-Z0-9./\\\\:_ -]{0,12}(\\.md)?") {
        if let Ok(id) = id_of_path(&path) {
            prop_assert!(!path.starts_with('/') && path.split('/').all(|part| !part.is_empty() && !part.starts_with('.')));
            prop_assert_eq!(path_of(&id), Ok(path));
        }
    }
}
