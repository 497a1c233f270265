//! Tests of each documented promise of ingestion.

use super::*;
use crate::object::{Kind, NewObject, Origin, Scope, Value};

const WORK: &str = "\
#+title: Work

* Projects
** Treering :rust:
A memory engine.
*** Log
*** Trie
Sixteen ways.
** Garden
* Inbox
";

fn put_ids(change: &Change) -> Vec<&str> {
    change.put.iter().map(|write| write.object.id.as_str()).collect()
}

fn removed_ids(change: &Change) -> Vec<&str> {
    change.remove.iter().map(Id::as_str).collect()
}

#[test]
fn a_file_becomes_a_document_and_its_headings() {
    let mut memory = Memory::default();
    let change = memory.ingest(&[("./notes//work.org", WORK)]);
    assert_eq!(change.roots, [id("notes/work.org")]);
    assert_eq!(
        (change.created, change.updated, change.unchanged, change.removed),
        (7, 0, 0, 0)
    );
    assert_eq!(
        memory.children_of("notes/work.org"),
        ["notes/work.org#projects", "notes/work.org#inbox"]
    );
    assert_eq!(
        memory.children_of("notes/work.org#projects/treering"),
        [
            "notes/work.org#projects/treering/log",
            "notes/work.org#projects/treering/trie"
        ]
    );
    let treering = memory.object("notes/work.org#projects/treering");
    assert_eq!(treering.kind(), HEADING_KIND);
    assert_eq!(treering.content(), Some("A memory engine."));
    assert_eq!(treering.attribute("title"), Some(Value::from("Treering")));
    assert_eq!(
        treering.attribute("tags"),
        Some(Value::from(vec![Value::from("rust")]))
    );
}

/// A trusted writer in a tainted session replaces nothing trusted by a file.
#[test]
fn a_tainted_session_replaces_nothing_trusted() {
    use crate::engine::{Memory, Writer};
    let memory = Memory::in_memory().unwrap();
    let (options, user) = (IngestOptions::default(), Writer::user());
    drop(ingest(&memory, &[read("a.org", "* Tea\ngreen\n")], &options, &user).unwrap());
    let page = NewObject::new(id("page"), Kind::new("fact").unwrap());
    drop(
        memory
            .put(page, &Writer::of(Origin::ToolExternal).session("s1"))
            .unwrap(),
    );
    let changed = [read("a.org", "* Tea\nblack\n")];
    let refused = ingest(&memory, &changed, &options, &user.clone().session("s1")).unwrap_err();
    assert_eq!(refused.code(), crate::ErrorCode::LessTrusted);
    drop(ingest(&memory, &changed, &options, &user).unwrap());
}

#[test]
fn the_forms_of_a_path_are_one_document() {
    for (path, known) in [
        ("a.org", "a.org"),
        ("./x/./a.org", "x/a.org"),
        ("x/../y//a.org", "y/a.org"),
        ("x/../../a.org", "../a.org"),
        ("../../a.org", "../../a.org"),
        ("/x/../../a.org", "/a.org"),
        ("...", "..."),
    ] {
        assert_eq!(read(path, "").id().as_str(), known);
    }
    for path in ["", "/", ".", "..", "x/..", "/..", "../.."] {
        assert!(Document::read(path, b"", None).is_err(), "{path}");
    }
    for (current, path, known) in [
        ("/home/ada", "a.org", "a.org"),
        ("/home/ada", "/home/ada/x/a.org", "x/a.org"),
        ("/home/ada/", "../ada/./a.org", "a.org"),
        ("/home/ada", "../bob/a.org", "/home/bob/a.org"),
        ("/home/ada", "/home/adam/a.org", "/home/adam/a.org"),
        ("/home/ada", ".", ""),
        ("/home/ada", "..", "/home"),
        ("/", "x/a.org", "x/a.org"),
        ("/", "/x/a.org", "x/a.org"),
    ] {
        assert_eq!(document_path(current, path), known, "{path} in {current}");
    }
}

#[test]
fn the_same_file_again_changes_nothing() {
    let mut memory = Memory::default();
    memory.ingest(&[("work.org", WORK)]);
    let before = memory.state();
    for text in [
        WORK.to_owned(),
        WORK.replace('\n', "\r\n"),
        format!("\u{feff}{WORK}\n\n"),
    ] {
        let change = memory.ingest(&[("work.org", &text)]);
        assert_eq!(
            (change.created, change.updated, change.unchanged, change.removed),
            (0, 0, 7, 0)
        );
        assert_eq!(memory.state(), before);
    }
}

#[test]
fn the_same_file_gives_the_same_objects_in_another_memory() {
    let (mut one, mut two) = (Memory::default(), Memory::default());
    one.ingest(&[("work.org", WORK)]);
    two.ingest(&[("work.org", WORK)]);
    assert_eq!(one.state(), two.state());
}

#[test]
fn editing_one_deep_headline_makes_one_version_and_changes_the_subtrees_up_its_path() {
    let mut memory = Memory::default();
    memory.ingest(&[("work.org", WORK)]);
    let before = memory.clone();
    let change = memory.ingest(&[(
        "work.org",
        &WORK.replace("Sixteen ways.", "Sixteen ways, persistent."),
    )]);
    assert_eq!(put_ids(&change), ["work.org#projects/treering/trie"]);
    assert_eq!((change.created, change.updated, change.removed), (0, 1, 0));
    let changed: Vec<_> = before.changed_subtrees(&memory).into_iter().collect();
    assert_eq!(
        changed,
        [
            "work.org",
            "work.org#projects",
            "work.org#projects/treering",
            "work.org#projects/treering/trie"
        ]
    );
}

#[test]
fn an_edited_title_keeps_the_id_and_the_children() {
    let mut memory = Memory::default();
    memory.ingest(&[("work.org", WORK)]);
    let change = memory.ingest(&[("work.org", &WORK.replace("** Treering", "** Memory engine"))]);
    assert_eq!(put_ids(&change), ["work.org#projects/treering"]);
    assert!(change.remove.is_empty());
}

#[test]
fn a_removed_headline_is_removed_children_first() {
    let mut memory = Memory::default();
    memory.ingest(&[("work.org", WORK)]);
    let start = WORK.find("** Treering").unwrap();
    let end = WORK.find("** Garden").unwrap();
    let change = memory.ingest(&[("work.org", &format!("{}{}", &WORK[..start], &WORK[end..]))]);
    assert!(change.put.is_empty());
    assert_eq!(
        removed_ids(&change),
        [
            "work.org#projects/treering/log",
            "work.org#projects/treering/trie",
            "work.org#projects/treering"
        ]
    );
}

#[test]
fn inserting_a_headline_between_siblings_rewrites_none_of_them() {
    let mut memory = Memory::default();
    memory.ingest(&[("work.org", WORK)]);
    let change = memory.ingest(&[(
        "work.org",
        &WORK.replace("*** Trie", "*** Codec\n\nBytes.\n\n*** Trie"),
    )]);
    assert_eq!(put_ids(&change), ["work.org#projects/treering/codec"]);
    assert_eq!(
        memory.children_of("work.org#projects/treering"),
        [
            "work.org#projects/treering/log",
            "work.org#projects/treering/codec",
            "work.org#projects/treering/trie"
        ]
    );
    let change = memory.ingest(&[("work.org", &format!("* First\n{WORK}"))]);
    assert_eq!(
        put_ids(&change).len(),
        2,
        "the new heading, and the document, because its keywords are now text of the heading"
    );
}

#[test]
fn appending_a_headline_after_a_blank_line_rewrites_none() {
    let mut memory = Memory::default();
    memory.ingest(&[("a.md", "# One\n\ntext\n")]);
    let change = memory.ingest(&[("a.md", "# One\n\ntext\n\n# Two\n\nmore\n")]);
    assert_eq!(put_ids(&change), ["a.md#two"]);
}

#[test]
fn a_headline_inserted_again_and_again_in_one_place_rewrites_siblings_only_when_there_is_no_room() {
    let mut memory = Memory::default();
    let mut titles = vec!["first".to_owned(), "last".to_owned()];
    let mut respaced = 0;
    for number in 0..350 {
        let text: String = titles.iter().map(|title| format!("* {title}\n")).collect();
        let change = memory.ingest(&[("a.org", &text)]);
        if change.respaced.is_empty() {
            assert_eq!(change.updated, 0);
        } else {
            assert_eq!(change.respaced, [id("a.org")]);
            respaced += 1;
        }
        let ids: Vec<_> = titles.iter().map(|title| format!("a.org#{title}")).collect();
        assert_eq!(memory.children_of("a.org"), ids);
        titles.insert(1, format!("new-{number}"));
    }
    assert!((1..=2).contains(&respaced), "{respaced} times");
}

#[test]
fn a_reorder_rewrites_the_fewest() {
    let mut memory = Memory::default();
    let titles: Vec<String> = (0..20).map(|number| format!("* t{number}\n")).collect();
    memory.ingest(&[("a.org", &titles.concat())]);
    let mut moved = titles.clone();
    let last = moved.pop().unwrap();
    moved.insert(0, last);
    moved.swap(10, 11);
    let change = memory.ingest(&[("a.org", &moved.concat())]);
    assert_eq!((change.created, change.updated, change.removed), (0, 2, 0));
    let wanted: Vec<_> = moved
        .iter()
        .map(|line| format!("a.org#{}", line[2..].trim()))
        .collect();
    assert_eq!(memory.children_of("a.org"), wanted);
}

const MOVED_FROM: &str = "* A\n** Keep\n:PROPERTIES:\n:ID: keep-1\n:END:\n*** Below\ntext\n* B\n";
const MOVED_TO: &str = "* A\n* B\n** Keep\n:PROPERTIES:\n:ID: keep-1\n:END:\n*** Below\ntext\n";

#[test]
fn a_moved_headline_keeps_its_id_where_it_has_one_and_its_children_keep_theirs() {
    let mut memory = Memory::default();
    memory.ingest(&[("a.org", MOVED_FROM)]);
    assert_eq!(memory.children_of("a.org#a"), ["keep-1"]);
    let change = memory.ingest(&[("a.org", MOVED_TO)]);
    assert_eq!(put_ids(&change), ["keep-1"]);
    assert_eq!((change.updated, change.removed), (1, 0));
    assert_eq!(memory.object("keep-1").parent(), Some("a.org#b"));
    assert_eq!(memory.children_of("keep-1"), ["a.org#a/keep/below"]);
}

#[test]
fn a_headline_moved_out_of_a_removed_one_is_not_removed() {
    let mut memory = Memory::default();
    memory.ingest(&[("a.org", MOVED_FROM)]);
    let change = memory.ingest(&[("a.org", &MOVED_TO.replace("* A\n", ""))]);
    assert_eq!(removed_ids(&change), ["a.org#a"]);
    assert!(memory.has("keep-1") && memory.has("a.org#a/keep/below"));
}

/// The file `MOVED_FROM` after a headline moved to another file.
const WITHOUT_KEPT: (&str, &str) = ("a.org", "* A\n* B\n");
/// The other file, which contains the moved headline.
const WITH_KEPT: (&str, &str) = (
    "b.org",
    "* C\n* Keep\n:PROPERTIES:\n:ID: keep-1\n:END:\n** Below\ntext\n",
);

#[test]
fn a_headline_moves_to_another_document_with_its_id() {
    let mut memory = Memory::default();
    memory.ingest(&[("a.org", MOVED_FROM), ("b.org", "* C\n")]);
    let change = memory.ingest(&[WITHOUT_KEPT, WITH_KEPT]);
    assert_eq!((change.created, change.updated, change.removed), (0, 1, 0));
    assert_eq!(memory.object("keep-1").parent(), Some("b.org"));
    assert_eq!(memory.children_of("keep-1"), ["a.org#a/keep/below"]);
}

#[test]
fn an_id_that_belongs_to_another_document_is_refused_naming_both() {
    let mut memory = Memory::default();
    memory.ingest(&[("a.org", MOVED_FROM), ("b.org", "* C\n")]);
    let before = memory.state();
    let error = memory.try_ingest(&[WITH_KEPT]).unwrap_err();
    assert_eq!(
        error.message(),
        "b.org:2: the id `keep-1` belongs to the document `a.org`"
    );
    assert_eq!(memory.state(), before);
    // A derived id of `a.org`, of an object below the headline `keep-1`, also belongs to the document `a.org`.
    let derived = ("b.org", "* Mine\n:PROPERTIES:\n:ID: a.org#a/keep/below\n:END:\n");
    assert!(memory.try_ingest(&[derived]).is_err());
    // The first file is ingested without the headline, so its id is free.
    memory.ingest(&[WITHOUT_KEPT]);
    assert_eq!(memory.ingest(&[WITH_KEPT]).created, 2);
}

#[test]
fn a_headline_of_no_document_is_taken_in() {
    let mut memory = Memory::default();
    memory.put(
        NewObject::new(id("keep-1"), Kind::new(HEADING_KIND).unwrap()),
        Origin::Model,
    );
    memory.ingest(&[WITH_KEPT]);
    assert_eq!(memory.object("keep-1").parent(), Some("b.org"));
}

#[test]
fn what_a_gone_document_owns_goes_unless_it_moved() {
    let mut memory = Memory::default();
    memory.ingest(&[("a.org", MOVED_FROM), ("b.org", "* C\n"), ("c.org", "* D\n")]);
    let mut note = NewObject::new(id("note-1"), Kind::new("note").unwrap());
    note.parent = Some(id("a.org#b"));
    memory.put(note, Origin::Model);
    let change = memory.ingest_without(&[WITH_KEPT], &["a.org"]).unwrap();
    assert_eq!(removed_ids(&change), ["a.org#a", "a.org#b", "a.org"]);
    assert_eq!(memory.object("keep-1").parent(), Some("b.org"));
    assert_eq!(memory.object("note-1").parent(), None);
    assert!(memory.has("c.org#d"));
    assert!(
        memory
            .ingest_without(&[], &["a.org", "never.org"])
            .unwrap()
            .is_empty()
    );
    assert!(memory.ingest_without(&[], &["note-1"]).is_err());
}

#[test]
fn removal_is_per_document() {
    let mut memory = Memory::default();
    memory.ingest(&[("a.org", "* One\n"), ("b.org", "* Two\n")]);
    let change = memory.ingest(&[("a.org", "")]);
    assert_eq!(removed_ids(&change), ["a.org#one"]);
    assert!(memory.has("b.org#two"));
}

#[test]
fn the_same_id_twice_is_refused_naming_both_places() {
    let twice = "* A\n:PROPERTIES:\n:ID: x\n:END:\n* B\n:PROPERTIES:\n:ID: x\n:END:\n";
    let mut memory = Memory::default();
    let error = memory.try_ingest(&[("a.org", twice)]).unwrap_err();
    assert_eq!(error.message(), "a.org:5: the id `x` is already used at a.org:1");
    let one = "\n* A\n:PROPERTIES:\n:ID: x\n:END:\n";
    let error = memory.try_ingest(&[("a.org", one), ("b.org", one)]).unwrap_err();
    assert_eq!(error.message(), "b.org:2: the id `x` is already used at a.org:2");
    let error = memory
        .try_ingest(&[("x", "nothing"), ("b.org", one)])
        .unwrap_err();
    assert_eq!(
        error.message(),
        "b.org:2: the id `x` is the path of the document `x`"
    );
    assert!(memory.try_ingest(&[("b.org", one), ("./b.org", one)]).is_err());
    assert!(memory.ids().is_empty());
}

#[test]
fn adding_an_id_to_a_headline_keeps_the_ids_below_it() {
    let mut memory = Memory::default();
    memory.ingest(&[("work.org", WORK)]);
    let text = WORK.replace(
        "** Treering :rust:\n",
        "** Treering :rust:\n:PROPERTIES:\n:ID: t-1\n:END:\n",
    );
    let change = memory.ingest(&[("work.org", &text)]);
    assert_eq!(removed_ids(&change), ["work.org#projects/treering"]);
    assert_eq!(
        memory.children_of("t-1"),
        [
            "work.org#projects/treering/log",
            "work.org#projects/treering/trie"
        ]
    );
}

#[test]
fn a_new_id_is_never_one_that_is_in_use() {
    let mut memory = Memory::default();
    memory.ingest(&[("a.org", "* Same\n* Same\n* Same\n** In\n")]);
    assert_eq!(
        memory.children_of("a.org"),
        ["a.org#same", "a.org#same~2", "a.org#same~3"]
    );
    assert_eq!(memory.children_of("a.org#same~3"), ["a.org#same~3/in"]);
    // A headline keeps its id if another headline takes its title.
    let mut memory = Memory::default();
    memory.ingest(&[("a.org", "* Plan\nthe old text\n")]);
    memory.ingest(&[("a.org", "* Plan B\nthe old text\n* Plan\nnew\n* Third\n")]);
    let titles: Vec<_> = memory
        .children_of("a.org")
        .iter()
        .map(|id| memory.object(id).content().map(str::to_owned))
        .collect();
    assert_eq!(
        titles,
        [Some("the old text".to_owned()), Some("new".to_owned()), None]
    );
    memory.put(
        NewObject::new(id("a.org#fourth"), Kind::new("fact").unwrap()),
        Origin::Model,
    );
    memory.ingest(&[("a.org", "* Plan\nnew\n* Fourth\nx\n")]);
    assert_eq!(memory.object("a.org#fourth").kind(), "fact");
    assert_eq!(memory.object("a.org#fourth~2").content(), Some("x"));
}

#[test]
fn an_id_of_an_object_of_another_kind_is_refused() {
    let mut memory = Memory::default();
    memory.put(NewObject::new(id("x"), Kind::new("fact").unwrap()), Origin::Model);
    let error = memory
        .try_ingest(&[("a.org", "* A\n:PROPERTIES:\n:ID: x\n:END:\n")])
        .unwrap_err();
    assert_eq!(
        error.message(),
        "a.org:1: the id `x` belongs to an object of kind `fact`, not to a heading"
    );
    assert!(memory.try_ingest(&[("x", "text")]).is_err());
}

#[test]
fn what_others_put_below_a_headline_stays_and_moves_up_when_the_headline_goes() {
    let mut memory = Memory::default();
    memory.ingest(&[("work.org", WORK)]);
    let mut note = NewObject::new(id("note-1"), Kind::new("note").unwrap());
    note.parent = Some(id("work.org#projects/treering/log"));
    note.content = Some("seen".to_owned());
    memory.put(note, Origin::ToolExternal);
    assert!(memory.ingest(&[("work.org", WORK)]).is_empty());
    let start = WORK.find("** Treering").unwrap();
    let end = WORK.find("** Garden").unwrap();
    let change = memory.ingest(&[("work.org", &format!("{}{}", &WORK[..start], &WORK[end..]))]);
    assert_eq!((change.updated, change.removed), (1, 3));
    let note = memory.object("note-1");
    assert_eq!(
        (note.parent(), note.content()),
        (Some("work.org#projects"), Some("seen"))
    );
    assert_eq!(
        note.origin(),
        Origin::ToolExternal,
        "moving an object does not raise its trust"
    );
}

#[test]
fn what_a_file_cannot_say_stays() {
    let mut memory = Memory::default();
    memory.ingest(&[("work.org", WORK)]);
    let mut inbox = memory.new_object("work.org#inbox");
    inbox.scope = Scope::new("project/x").unwrap();
    inbox.expires = Some(crate::object::Time::from_micros(7));
    inbox.reserved.insert(0x8001, vec![1, 2]);
    memory.put(inbox.clone(), Origin::DirectUser);
    memory.ingest(&[("work.org", &format!("{WORK}new text\n"))]);
    let after = memory.new_object("work.org#inbox");
    assert_eq!(after.content.as_deref(), Some("new text"));
    assert_eq!(
        (after.scope, after.expires, after.reserved),
        (inbox.scope, inbox.expires, inbox.reserved)
    );
}

#[test]
fn the_scope_of_the_options_is_that_of_all_objects() {
    let memory = Memory::default();
    let options = IngestOptions {
        scope: Some(Scope::new("work").unwrap()),
        ..IngestOptions::default()
    };
    let change = plan(&[read("work.org", WORK)], &memory, &options).unwrap();
    assert!(
        change
            .put
            .iter()
            .all(|write| write.object.scope.as_str() == "work")
    );
}

#[test]
fn an_edited_title_is_the_same_heading_while_half_of_its_words_stay() {
    for (title, kept) in [("Alpha delta", true), ("Alpha delta epsilon", false)] {
        let mut memory = Memory::default();
        memory.ingest(&[("a.org", "* Alpha beta\nold text\n")]);
        memory.ingest(&[("a.org", &format!("* {title}\nnew text\n"))]);
        assert_eq!(memory.has("a.org#alpha-beta"), kept, "{title}");
    }
}

#[test]
fn a_heading_that_states_an_id_is_no_other_heading_too() {
    let mut memory = Memory::default();
    memory.ingest(&[("a.org", "* A\n:PROPERTIES:\n:ID: x\n:END:\ntext\n")]);
    memory.ingest(&[("a.org", "* A\ntext\n* Moved\n:PROPERTIES:\n:ID: x\n:END:\n")]);
    assert_eq!(memory.children_of("a.org"), ["a.org#a", "x"]);
}

#[test]
fn two_edited_titles_are_not_the_same_heading() {
    let mut memory = Memory::default();
    memory.ingest(&[("a.org", "* Alpha beta\nold\n* Gamma delta\nold too\n")]);
    memory.ingest(&[("a.org", "* Alpha one\nnew\n* Alpha two\nnew too\n")]);
    assert_eq!(
        memory.children_of("a.org"),
        ["a.org#alpha-beta", "a.org#alpha-two"]
    );
}

#[test]
fn a_new_id_is_never_one_that_stands_further_down() {
    let mut memory = Memory::default();
    memory.ingest(&[("a.org", "* X\n* Y\n:PROPERTIES:\n:ID: a.org#x\n:END:\n")]);
    assert_eq!(memory.children_of("a.org"), ["a.org#x~2", "a.org#x"]);
}
