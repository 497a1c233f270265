//! Tests of renamed and moved files.

use super::*;
use crate::error::ErrorCode;
use crate::object::Scope;

const PLAN: &str = "* Plan\n:PROPERTIES:\n:ID: aaaa-1111\n:END:\nWater the tomatoes.\n";
const TEA: &str = "# Tea\n\nGreen.\n";

fn renames(change: &Change) -> Vec<(&str, &str)> {
    change
        .renamed
        .iter()
        .map(|(from, to)| (from.as_str(), to.as_str()))
        .collect()
}

#[test]
fn a_renamed_file_with_ids_keeps_its_objects() {
    let mut memory = Memory::default();
    memory.ingest(&[("notes/plan.org", PLAN), ("notes/tea.md", TEA)]);
    let changed = PLAN.replace("tomatoes", "beans");
    let change = memory.ingest_absent(
        &[("notes/garden.org", &changed), ("notes/tea.md", TEA)],
        &["notes/plan.org"],
    );
    assert_eq!(renames(&change), [("notes/plan.org", "notes/garden.org")]);
    assert_eq!((change.created, change.updated, change.removed), (1, 1, 1));
    assert_eq!(memory.object("aaaa-1111").parent(), Some("notes/garden.org"));
    assert!(!memory.has("notes/plan.org"));
}

#[test]
fn a_moved_folder_keeps_the_ids_of_its_headings() {
    let mut memory = Memory::default();
    memory.ingest_in(
        "work",
        &[
            ("notes/a/tea.md", TEA),
            ("notes/b/tea.md", TEA),
            ("notes/x.md", "Only text here.\n"),
        ],
    );
    let moved = [
        ("vault/b/tea.md", TEA),
        ("vault/a/tea.md", TEA),
        ("vault/x.md", "Only text here.\n"),
    ];
    let change = memory.ingest_absent(&moved, &["notes/a/tea.md", "notes/b/tea.md", "notes/x.md"]);
    assert_eq!(change.renamed.len(), 3);
    assert_eq!((change.created, change.removed), (3, 3));
    for document in ["vault/a/tea.md", "vault/b/tea.md"] {
        let children = memory.children_of(document);
        assert!(
            children.len() == 1 && children[0].starts_with("notes/"),
            "{children:?}"
        );
        assert_eq!(
            memory.object(document).scope(),
            Scope::new("work").unwrap().as_str()
        );
    }
    assert_eq!(memory.object("vault/x.md").content(), Some("Only text here."));
}

#[test]
fn a_new_file_with_other_texts_is_no_renamed_one() {
    let mut memory = Memory::default();
    memory.ingest(&[("a.md", TEA), ("empty.md", "")]);
    let change = memory.ingest_absent(
        &[("b.md", "# Tea\n\nBlack.\n"), ("also-empty.md", "")],
        &["a.md", "empty.md"],
    );
    assert_eq!(renames(&change), []);
    assert!(memory.has("a.md") && memory.has("empty.md"));
    // A file that is still there is no candidate.
    let change = memory.ingest_absent(&[("copy.md", TEA)], &[]);
    assert_eq!(renames(&change), []);
}

/// The path of a missing document may be relative to another folder, so a heading that no file states must stay.
#[test]
fn a_file_that_states_a_part_of_the_ids_renames_nothing() {
    let mut memory = Memory::default();
    let more = "* Roses\n:PROPERTIES:\n:ID: bbbb-2222\n:END:\nCut them.\n";
    memory.ingest(&[("notes/plan.org", &format!("{PLAN}{more}"))]);
    let options = IngestOptions {
        absent: vec![id("notes/plan.org")],
        ..IngestOptions::default()
    };
    let refused = memory.ingest_by(&[("other/x.org", PLAN)], &options);
    assert_eq!(refused.unwrap_err().code(), ErrorCode::IdInUse);
    assert!(memory.has("bbbb-2222") && memory.has("notes/plan.org"));
}
