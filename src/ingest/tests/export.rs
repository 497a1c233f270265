//! Tests that ingesting an export as Org or Markdown produces the same objects.

use proptest::prelude::*;

use super::lines::random_store;
use super::*;
use crate::engine::{Erasing, Memory as Store, View, Writer};
use crate::object::{Kind, NewObject, Origin, Position, Scope, Time, Value};

/// Returns the files of an export. The objects without a document are in `objects.org` or `objects.md`.
fn files_of(store: &Store, format: Format, all_in_list: bool) -> (Vec<(String, String)>, Vec<Id>) {
    files_of_view(store, &store.view(), format, all_in_list)
}

fn files_of_view(
    store: &Store,
    view: &View,
    format: Format,
    all_in_list: bool,
) -> (Vec<(String, String)>, Vec<Id>) {
    let mut files: Vec<(String, String)> = Vec::new();
    let mut objects = String::new();
    let lowered = for_each_piece::<Error>(store, view, format, all_in_list, &mut |piece| {
        match piece {
            Piece::Document { path, text } => files.push((path, text)),
            Piece::Objects(text) => objects.push_str(&text),
        }
        Ok(())
    })
    .unwrap();
    if !objects.is_empty() {
        let list = if format == Format::Org {
            "objects.org"
        } else {
            "objects.md"
        };
        files.push((list.to_owned(), objects));
    }
    (files, lowered)
}

fn ingest_files(store: &Store, files: &[(String, String)]) {
    let documents: Vec<Document> = files
        .iter()
        .map(|(path, text)| {
            Document::read(path, text.as_bytes(), None).unwrap_or_else(|error| panic!("{error}\n{text}"))
        })
        .collect();
    ingest(store, &documents, &IngestOptions::default(), &Writer::user()).unwrap();
}

/// Checks that a store that ingests the files contains the same objects, except for lowered origins. Returns the number
/// of lowered objects.
fn comes_back(store: &Store, format: Format, all_in_list: bool) -> usize {
    let (files, lowered) = files_of(store, format, all_in_list);
    let copy = Store::in_memory().unwrap();
    ingest_files(&copy, &files);
    let root = copy.view().root();
    if lowered.is_empty() {
        assert!(root == store.view().root(), "{files:?}");
    }
    assert_eq!(copy.view().len(), store.view().len());
    for object in store.view().objects() {
        let object = object.unwrap();
        let held = copy.view().get(&id(object.id().as_str())).unwrap().unwrap();
        assert_eq!(held.to_new().unwrap().content, object.to_new().unwrap().content);
        if !lowered
            .iter()
            .any(|lowered| lowered.as_str() == object.id().as_str())
        {
            assert!(held.digest() == object.digest(), "{held:?}");
        }
    }
    // ING-8: ingesting the files again changes nothing.
    ingest_files(&copy, &files);
    assert!(copy.view().root() == root);
    lowered.len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// EXP-2: after parsing, the objects are the same.
    #[test]
    fn every_store_comes_back_from_org_and_markdown(seed in any::<u64>(), steps in 1..30_usize, all in any::<bool>()) {
        let store = random_store(seed, steps);
        for format in [Format::Org, Format::Markdown] {
            comes_back(&store, format, all);
        }
    }

    #[test]
    fn every_file_comes_back_in_its_own_form(
        pieces in prop::collection::vec(prop::sample::select(PIECES.as_slice()), 0..30),
        moved in any::<bool>(),
    ) {
        for (path, format) in [("notes/a.org", Format::Org), ("notes/a.md", Format::Markdown)] {
            let text = pieces.concat();
            let Ok(document) = Document::read(path, text.as_bytes(), None) else { continue };
            let store = Store::in_memory().unwrap();
            if ingest(&store, &[document], &IngestOptions::default(), &Writer::user()).is_err() {
                continue;
            }
            if moved {
                // A second ingestion makes ids and positions that a new store would not assign.
                let shorter = pieces.iter().skip(2).copied().collect::<String>();
                let Ok(document) = Document::read(path, shorter.as_bytes(), None) else { continue };
                ingest(&store, &[document], &IngestOptions::default(), &Writer::user()).unwrap();
            }
            let (files, lowered) = files_of(&store, format, false);
            prop_assert!(lowered.is_empty());
            prop_assert_eq!(files.len(), 1);
            prop_assert_eq!(&files[0].0, path);
            comes_back(&store, format, false);
        }
    }
}

/// Lines with a meaning in one of the formats, and lines that only resemble such lines.
const PIECES: [&str; 44] = [
    "* One\n",
    "** Two :tag:\n",
    "*** TODO [#A] Three\n",
    "* REVIEW x\n",
    "#+TODO: REVIEW | SENT\n",
    "***** deep\n",
    "CLOSED: [2026-01-01 Thu] DEADLINE: <2026-01-02 Fri>\n",
    ":PROPERTIES:\n:ID: some id\n:Effort: 1:30\n:END:\n",
    ":PROPERTIES:\n:A: 1\n:A: 2\n:B:\n:END:\n",
    ":PROPERTIES:\n",
    ":END:\n",
    "#+TITLE: Title\n",
    "#+FILETAGS: :a:b:\n",
    "#+LINK: a b\n",
    "#+BEGIN_SRC org\n,* quoted\n#+END_SRC\n",
    ",* comma\n",
    "text\n",
    "  indented\n",
    "\n",
    "\n\n",
    "# One\n",
    "## Two ##\n",
    "###### Six\n",
    "Under\n=====\n",
    "Under\n-----\n",
    "```\n# code\n```\n",
    "```\n",
    "~~~\n",
    "> # quoted\n",
    "- item\n  # in it\n",
    "    code\n",
    "<!-- id: other id -->\n",
    "<!-- open\n",
    "-->\n",
    "<div>\n",
    "---\nzip: 012\nlist: [1, 1.5, true, null, x]\n---\n",
    "---\n",
    "[a]: b\n",
    "\\# no\n",
    "tail  \n",
    "a\rb\n",
    "<!-- treering: hello -->\n",
    ":TREERING: hello\n",
    "\u{feff}mark\n",
];

fn put(store: &Store, name: &str, parent: Option<&str>, change: impl FnOnce(&mut NewObject)) {
    let mut object = NewObject::new(id(name), Kind::new("fact").unwrap());
    object.parent = parent.map(id);
    change(&mut object);
    store.put(object, &Writer::user()).unwrap();
}

#[test]
fn an_export_can_be_read_by_people() {
    let store = Store::in_memory().unwrap();
    let notes = "#+TITLE: Notes\n* TODO Plan :work:\nDEADLINE: <2026-01-02 Fri>\n:PROPERTIES:\n:Effort: 1:30\n:END:\nText.\n** Below\n";
    ingest_files(&store, &[("notes.org".to_owned(), notes.to_owned())]);
    put(&store, "tea", None, |object| {
        object.content = Some("Ada drinks green tea.\n* not a heading".to_owned());
        object.attributes.insert("sure", 0.9);
    });
    let (files, _) = files_of(&store, Format::Org, false);
    assert_eq!(files[0], ("notes.org".to_owned(), notes.to_owned()));
    assert_eq!(
        files[1].1,
        ":PROPERTIES:\n:TREERING: objects\n:END:\n* tea\n:PROPERTIES:\n:ID: tea\n\
         :TREERING: {\"kind\":\"fact\",\"attributes\":{\"sure\":0.9,\"title\":null},\"quoted\":true}\n:END:\n\
         ,Ada drinks green tea.\n,* not a heading\n"
    );
    let (files, _) = files_of(&store, Format::Markdown, true);
    assert!(files[0].1.starts_with(
        "<!-- treering: objects -->\n\n# Notes\n<!-- id: notes.org -->\n<!-- treering: {\"kind\":\"document\""
    ));
    let page = "---\nzip: 012\n---\n\nIntro\n\n# One\n\nText.\n\n## Two\n\n";
    let store = Store::in_memory().unwrap();
    ingest_files(&store, &[("a/b.md".to_owned(), page.to_owned())]);
    assert_eq!(
        files_of(&store, Format::Markdown, false).0,
        [("a/b.md".to_owned(), page.to_owned())]
    );
}

#[test]
fn what_no_file_says_comes_back() {
    let store = Store::in_memory().unwrap();
    ingest_files(&store, &[("n.org".to_owned(), "* A\n** B\n".to_owned())]);
    put(&store, "odd", Some("n.org#a/b"), |object| {
        object.scope = Scope::new("project --> x").unwrap();
        object.position = Some(Position::new("not ours").unwrap());
        object.event_time = Some(Time::from_micros(-1));
        object.expires = Some(Time::from_micros(i64::MAX));
        object.reserved.insert(0x8001, vec![0, 255]);
        object.attributes.insert("title", "two\nlines -->");
        object.attributes.insert("properties", "not a map");
        object.content = Some(String::new());
    });
    put(&store, " spaced --> id ", Some("odd"), |object| {
        object.content = Some("\r\n`````\n".to_owned());
    });
    let mut draft = store.draft(&Writer::user());
    let mut below = NewObject::new(id("below"), Kind::new(HEADING_KIND).unwrap());
    below.parent = Some(id(" spaced --> id "));
    draft
        .stage(below, crate::engine::OriginRule::AtMost(Origin::ToolExternal))
        .unwrap();
    store.commit(draft, "put").unwrap();
    for format in [Format::Org, Format::Markdown] {
        for all in [true, false] {
            assert_eq!(comes_back(&store, format, all), 0);
        }
    }
}

#[test]
fn a_level_does_not_put_an_object_below_the_one_before_it() {
    let store = Store::in_memory().unwrap();
    let mut draft = store.draft(&Writer::user());
    for (name, kind, level, origin) in [
        ("a", "skill", 0, Origin::ToolExternal),
        ("b", "skill", 2, Origin::DirectUser),
        ("c.org", DOCUMENT_KIND, 3, Origin::DirectUser),
        ("d.org", DOCUMENT_KIND, 2, Origin::Host),
    ] {
        let mut object = NewObject::new(id(name), Kind::new(kind).unwrap());
        object.attributes.insert("level", level);
        draft
            .stage(object, crate::engine::OriginRule::AtMost(origin))
            .unwrap();
    }
    store.commit(draft, "put").unwrap();
    put(&store, "below", Some("b"), |object| {
        object.attributes.insert("level", 3);
    });
    for format in [Format::Org, Format::Markdown] {
        for all in [true, false] {
            assert_eq!(comes_back(&store, format, all), 0);
        }
    }
}

#[test]
fn a_line_that_another_would_make_front_matter_stays_text() {
    let store = Store::in_memory().unwrap();
    let page = "\n---\ntext\n\n# One\n\n---\n\nmore\n";
    ingest_files(&store, &[("a.md".to_owned(), page.to_owned())]);
    assert_eq!(comes_back(&store, Format::Markdown, false), 0);
}

#[test]
fn a_tree_deeper_than_levels_go_comes_back() {
    let store = Store::in_memory().unwrap();
    let text: String = (1..100)
        .map(|level| format!("{} h{level}\n", "*".repeat(level)))
        .collect();
    ingest_files(&store, &[("deep.org".to_owned(), text)]);
    for format in [Format::Org, Format::Markdown] {
        comes_back(&store, format, true);
    }
    comes_back(&store, Format::Org, false);
}

#[test]
fn documents_whose_paths_lead_elsewhere_go_into_the_list() {
    let store = Store::in_memory().unwrap();
    for path in [
        "../up.org",
        "/etc/abs.org",
        "a/.hidden.org",
        "x.org",
        "x.org/in.org",
        "a\\b.org",
    ] {
        ingest_files(&store, &[(path.to_owned(), "* A\n".to_owned())]);
    }
    let (files, _) = files_of(&store, Format::Org, false);
    let names: Vec<_> = files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(names, ["x.org/in.org", "objects.org"]);
    comes_back(&store, Format::Org, false);
}

#[test]
fn what_is_derived_from_the_past_is_named() {
    let store = Store::in_memory().unwrap();
    put(&store, "source", None, |_| {});
    let digest = store.view().get(&id("source")).unwrap().unwrap().digest();
    put(&store, "whole", None, |object| object.derived_from = vec![digest]);
    assert_eq!(comes_back(&store, Format::Org, false), 0);
    put(&store, "source", None, |object| {
        object.content = Some("new".to_owned());
    });
    assert_eq!(files_of(&store, Format::Org, false).1, [id("whole")]);
    let whole = store.view().get(&id("whole")).unwrap().unwrap().digest();
    put(&store, "again", None, |object| object.derived_from = vec![whole]);
    assert_eq!(comes_back(&store, Format::Markdown, false), 2);
}

#[test]
fn an_edited_export_is_understood() {
    let store = Store::in_memory().unwrap();
    ingest_files(&store, &[("n.org".to_owned(), "* A\n* B\n* C\n".to_owned())]);
    ingest_files(
        &store,
        &[("n.org".to_owned(), "* C\n* A\n* New\n* B\n".to_owned())],
    );
    let (files, _) = files_of(&store, Format::Org, false);
    assert!(files[0].1.contains("\"position\""));
    // Moves a heading from the end to the front, although each heading states its position.
    let (front, last) = files[0].1.split_at(files[0].1.find("* B").unwrap());
    let edited = format!("{last}{front}");
    let copy = Store::in_memory().unwrap();
    ingest_files(&copy, &[("n.org".to_owned(), edited)]);
    let titles: Vec<_> = copy.view().children(&id("n.org"), None).unwrap();
    assert_eq!(titles, ["n.org#b", "n.org#c", "n.org#a", "n.org#new"].map(id));
}

#[test]
fn a_statement_that_cannot_be_is_refused_with_its_line() {
    for (path, text, message) in [
        (
            "a.org",
            "* A\n:PROPERTIES:\n:TREERING: {\"kind\":\"fact\"}\n:END:\n",
            "a.org:1: an object of kind `fact` needs an id",
        ),
        (
            "a.org",
            "* A\n:PROPERTIES:\n:TREERING: {\"what\":1}\n:END:\n",
            "a.org:3: `:TREERING:`: field `what`: no field of an object has this name",
        ),
        (
            "a.org",
            "* A\n:PROPERTIES:\n:TREERING: {\"parent\":\"b\"}\n:END:\n",
            "a.org:1: the parent `b` is not a heading further up",
        ),
        (
            "a.org",
            ":PROPERTIES:\n:TREERING: objects\n:END:\n* A\n",
            "a.org:4: a heading at the top of a list of objects has no id",
        ),
        (
            "a.org",
            ":PROPERTIES:\n:TREERING: objects\n:END:\ntext\n",
            "a.org:1: a list of objects has a text",
        ),
        (
            "a.md",
            "# A\n<!-- treering: {\"past\":true} -->\n",
            "a.md:1: the comment `TREERING` below this line: the field `past`",
        ),
    ] {
        let error = refused(path, text);
        assert!(error.message().starts_with(message), "{error}");
    }
    let ordinary = read("a.org", "* A\n:PROPERTIES:\n:TREERING: yes\n:END:\n");
    assert_eq!(
        ordinary.sections[0].attributes.get("properties"),
        Some(&Value::Map([("TREERING".to_owned(), Value::from("yes"))].into()))
    );
}

#[test]
fn what_is_below_an_erased_object_comes_back_below_one_that_says_so() {
    let store = Store::in_memory().unwrap();
    put(&store, "top", None, |object| {
        object.content = Some("a secret".to_owned());
    });
    put(&store, "top/one", Some("top"), |_| {});
    put(&store, "top/one/two", Some("top/one"), |_| {});
    put(&store, "top/three", Some("top"), |_| {});
    put(&store, "alone", None, |_| {});
    let before = store.view();
    let secret = before.get(&id("top")).unwrap().unwrap().digest();
    put(&store, "top", None, |object| {
        object.content = Some("nothing".to_owned());
    });
    let erasing = Erasing {
        targets: vec![secret.to_hex()],
        ..Erasing::default()
    };
    store.erase(&erasing, &Writer::user()).unwrap();
    let past = store
        .view_at(&before.commit().digest.to_hex().parse().unwrap(), "")
        .unwrap();
    for format in [Format::Org, Format::Markdown] {
        for all_in_list in [false, true] {
            let (files, lowered) = files_of_view(&store, &past, format, all_in_list);
            assert!(lowered.is_empty());
            let text = &files.last().unwrap().1;
            assert!(
                text.contains("This object was erased or lost to damage."),
                "{text}"
            );
            let copy = Store::in_memory().unwrap();
            ingest_files(&copy, &files);
            let copied = copy.view();
            assert_eq!(copied.len(), past.len());
            assert_eq!(copied.get(&id("top")).unwrap().unwrap().kind(), "erased");
            for name in ["top/one", "top/one/two", "top/three", "alone"] {
                let [copied, there] = [&copied, &past].map(|view| view.get(&id(name)).unwrap().unwrap());
                assert_eq!(copied, there);
            }
        }
    }
}
