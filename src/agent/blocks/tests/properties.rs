//! Properties of all blocks, files and paths.

use proptest::prelude::*;

use super::super::block::bare;
use super::super::*;
use super::id;
use crate::agent::item::Citation;

fn any_block() -> impl Strategy<Value = Block> {
    let time = || prop::option::of(-60_000_000_000_000_000..250_000_000_000_000_000_i64);
    let citation = (
        any::<String>(),
        prop::option::of(1..u64::MAX),
        prop::option::of(any::<String>()),
    )
        .prop_map(|(file, line, note)| Citation {
            file: format!("f{file}"),
            line,
            note,
        });
    let content = prop_oneof![any::<String>(), "(---|\n|\r\n| |id: x|\u{FEFF}|a){0,12}"];
    (
        "[a-z0-9]{1,5}(/[a-z0-9]{1,3}){0,2}",
        prop::option::of("[a-z:]{1,9}"),
        (time(), time(), time()),
        prop::collection::vec(any::<String>(), 0..4),
        prop::collection::vec(citation, 0..3),
        prop::collection::btree_map("[a-zA-Z_-]{1,6}x", "[^\n]{0,8}[a-z]", 0..3),
        content,
    )
        .prop_map(|(name, scope, times, tags, citations, other, content)| Block {
            scope,
            created_micros: times.0,
            updated_micros: times.1,
            expires_micros: times.2,
            tags,
            citations,
            other: other
                .into_iter()
                .map(|(key, value)| (key, bare(&value).to_owned()))
                .collect(),
            ..Block::new(id(&name), content)
        })
}

proptest! {
    #[test]
    fn blf_1_what_is_written_is_read_back(block in any_block()) {
        let text = write_block(&block).unwrap();
        let path_id = block.id.clone();
        let file = read_block(text.as_bytes(), Some(&path_id)).unwrap();
        prop_assert_eq!(&file.faults, &[]);
        prop_assert_eq!(&file.block, &block);
        prop_assert_eq!(write_block(&file.block).unwrap(), text);
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..60), text in "(---|\n|\r\n|id: a|scope: |'|tags: |\\[|citations: |\"|: |\\{|x|\u{FEFF}){0,20}") {
        drop(read_block(&bytes, None));
        let path_id = id("p");
        if let Ok(file) = read_block(text.as_bytes(), Some(&path_id)) {
            // A block that was read can be written, and is then read without a finding.
            let again = write_block(&file.block).unwrap();
            prop_assert_eq!(read_block(again.as_bytes(), None), Ok(BlockFile { block: file.block, faults: Vec::new() }));
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
