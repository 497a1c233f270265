//! Diagrams of a small store, and of a store whose texts try to inject markup.

use super::*;
use treering::{Id, Kind, Memory, NewObject, Revision, Writer};

const EVIL: &str = "</script><script>alert(1)</script> \"quoted\" & 'so' \u{1b}[31m \u{ffff} <svg onload=x>";

fn id(text: &str) -> Id {
    Id::new(text).unwrap()
}

fn put(memory: &Memory, name: &str, parent: Option<&str>, content: &str) {
    let mut object = NewObject::new(id(name), Kind::new("note").unwrap());
    object.parent = parent.map(id);
    object.content = Some(content.to_owned());
    memory.put(object, &Writer::user().reason(content)).unwrap();
}

/// Returns a store with forty notes below one parent, a snapshot, and two later commits, of which one changes a note
/// and one adds a note.
fn store() -> Memory {
    let memory = Memory::in_memory().unwrap();
    put(&memory, "top", None, "all of it");
    for number in 0..40 {
        put(&memory, &format!("note/{number}"), Some("top"), "text");
    }
    memory.snapshot(Some("good"), &Writer::user()).unwrap();
    put(&memory, "note/7", Some("top"), EVIL);
    put(&memory, "note/new", Some("top"), "new");
    memory
}

fn diagrams(memory: &Memory) -> [Diagram; 3] {
    let view = memory.view();
    let good = memory.view_at(&"good".parse::<Revision>().unwrap(), "").unwrap();
    [
        tree(memory, &view, None, 100).unwrap(),
        history(memory, &view, 100).unwrap(),
        trie(memory, &good, &view, 100).unwrap(),
    ]
}

/// Returns whether tags open and close in pairs, and all text is escaped. Supports only the XML of these diagrams.
fn is_well_formed(xml: &str) -> bool {
    let mut open = Vec::new();
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        let Some(end) = rest[start..].find('>') else {
            return false;
        };
        let tag = &rest[start + 1..start + end];
        rest = &rest[start + end + 1..];
        let name = |tag: &str| tag.split([' ', '\n']).next().unwrap_or_default().to_owned();
        if let Some(closed) = tag.strip_prefix('/') {
            if open.pop() != Some(name(closed)) {
                return false;
            }
        } else if !tag.ends_with('/') && !tag.starts_with('?') {
            open.push(name(tag));
        }
    }
    let known = ["amp;", "lt;", "gt;", "quot;", "#39;"];
    let entities = xml
        .split('&')
        .skip(1)
        .all(|rest| known.iter().any(|entity| rest.starts_with(entity)));
    open.is_empty() && entities && !xml.contains('\u{1b}') && !xml.contains('\u{ffff}')
}

#[test]
fn the_tree_has_every_object_under_its_parent() {
    let diagram = tree(&store(), &store().view(), None, 100).unwrap();
    assert_eq!(diagram.rows.len(), 42);
    assert_eq!(diagram.rows[0].name, "top");
    assert!(diagram.rows[1..].iter().all(|row| row.parent == Some(0)));
    let under = tree(&store(), &store().view(), Some(&id("note/3")), 100).unwrap();
    assert_eq!(under.rows.len(), 1);
    assert!(tree(&store(), &store().view(), Some(&id("nobody")), 100).is_err());
}

#[test]
fn what_is_not_drawn_is_said() {
    // PIC-2: the diagram counts the omitted rows.
    let memory = store();
    let view = memory.view();
    let last = |diagram: Diagram| diagram.rows.last().unwrap().name.clone();
    assert_eq!(
        last(tree(&memory, &view, None, 10).unwrap()),
        "... 32 more objects, not drawn"
    );
    assert_eq!(
        last(tree(&memory, &view, Some(&id("top")), 10).unwrap()),
        "... more objects, not drawn"
    );
    assert_eq!(
        last(history(&memory, &view, 10).unwrap()),
        "... 34 older commits, not drawn"
    );
    let empty = memory.view_at(&Revision::Seq(0), "").unwrap();
    let short = last(trie(&memory, &empty, &view, 10).unwrap());
    assert!(
        short.starts_with("... ") && short.ends_with("not drawn"),
        "{short}"
    );
    assert_eq!(
        last(trie(&memory, &empty, &empty, 10).unwrap()),
        "... both states are empty"
    );
}

#[test]
fn the_history_shows_snapshots_and_ways_back() {
    let memory = store();
    memory.rollback("good").by(&Writer::user()).unwrap();
    let diagram = history(&memory, &memory.view(), 100).unwrap();
    assert_eq!(diagram.rows[0].mark, Mark::Back);
    assert_eq!(diagram.rows.len(), 45);
    let good = diagram.rows.iter().position(|row| row.tags == ["good"]).unwrap();
    assert_eq!(diagram.arcs.len(), 1);
    assert_eq!(diagram.arcs[0], (0, good));
}

#[test]
fn the_trie_opens_only_what_differs() {
    let memory = store();
    let [_, _, diagram] = diagrams(&memory);
    let names = |mark: Mark| -> Vec<_> {
        let rows = diagram.rows.iter().filter(|row| row.mark == mark);
        rows.map(|row| row.name.clone()).collect()
    };
    let is_leaf = |names: Vec<String>, id: &str| names.iter().any(|name| name.ends_with(&format!(": {id}")));
    assert!(
        is_leaf(names(Mark::Changed), "note/7"),
        "{:?}",
        names(Mark::Changed)
    );
    assert!(is_leaf(names(Mark::New), "note/new"), "{:?}", names(Mark::New));
    let shared: u64 = diagram
        .rows
        .iter()
        .filter(|row| row.mark == Mark::Shared)
        .map(|row| row.text.split(' ').next().unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(shared, 40, "all but the changed and the new object");
    let view = memory.view();
    let same = trie(&memory, &view, &view, 100).unwrap();
    assert_eq!(same.rows.len(), 1);
    assert_eq!(same.rows[0].mark, Mark::Shared);
}

#[test]
fn text_of_a_memory_stays_text() {
    // PIC-1: the diagrams escape the texts.
    let memory = store();
    let diagrams = diagrams(&memory);
    for diagram in &diagrams {
        let drawn = svg(diagram);
        assert!(is_well_formed(&drawn), "{drawn}");
        assert!(!drawn.contains("<script"), "{drawn}");
        let dot = dot(diagram);
        assert!(dot.starts_with("digraph ") && dot.ends_with("}\n"));
        for line in dot.lines() {
            let quotes = line.replace("\\\\", "").replace("\\\"", "").matches('"').count();
            assert!(quotes % 2 == 0, "{line}");
        }
    }
    let page = html(EVIL, &diagrams);
    assert_eq!(
        page.matches("<script").count(),
        2,
        "the data and the script of the page"
    );
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!page.contains("<svg onload"), "an element made of text");
    for name in ["HASH", "TITLE", "STYLE", "PICTURES", "DATA", "SCRIPT"] {
        assert!(!page.contains(&format!("@{name}@")), "{name} was not filled in");
    }
}
