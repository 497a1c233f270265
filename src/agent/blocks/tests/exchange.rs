//! Tests of the export of blocks and their import.

use super::super::*;
use crate::agent::test_memory::{DAY, TestMemory};
use crate::agent::vocabulary::attribute;
use crate::agent::{Agent, NewItem, Place, Reach, Settings};
use crate::engine::Writer;
use crate::object::{Id, Kind, NewObject, Object, Origin, Scope, Value};

fn place() -> Place {
    Place {
        project: Some("tea".to_owned()),
        ..Place::default()
    }
}

fn take() -> TakeBlocks {
    TakeBlocks {
        place: place(),
        reach: place().usual_reach().unwrap(),
        usual_scope: place().usual_scope().unwrap(),
        prune: false,
        force: false,
        as_me: false,
    }
}

fn put(agent: &Agent, id: &str, text: &str) {
    let mut item = NewItem::new(text);
    item.kind = Kind::new("block").unwrap();
    item.scope = Scope::new("project:tea").unwrap();
    item.tags = vec!["drink".to_owned()];
    item.confidence = Some(0.5);
    drop(item.others.insert("level_of_sugar", Value::Integer(0)));
    drop(item.others.insert("said", "42"));
    let object = item.into_object(Id::new(id).unwrap()).unwrap();
    drop(agent.memory().put(object, &Writer::user()).unwrap());
}

fn get(agent: &Agent, id: &str) -> Option<Object> {
    agent.memory().view().get(&Id::new(id).unwrap()).unwrap()
}

fn files(agent: &Agent) -> Vec<FoundFile> {
    let texts = texts(&agent.memory().view(), &place(), &take().reach).unwrap();
    let found = texts.files.into_iter().map(|file| FoundFile {
        path: file.path,
        bytes: Ok(file.text.into_bytes()),
    });
    found.collect()
}

fn edited(file: &FoundFile, from: &str, to: &str) -> FoundFile {
    let text = String::from_utf8(file.bytes.clone().unwrap()).unwrap();
    assert!(text.contains(from), "{text}");
    FoundFile {
        path: file.path.clone(),
        bytes: Ok(text.replace(from, to).into_bytes()),
    }
}

fn file(path: &str, text: &str) -> FoundFile {
    FoundFile {
        path: path.to_owned(),
        bytes: Ok(text.as_bytes().to_vec()),
    }
}

fn came(agent: &Agent, files: &[FoundFile], take: &TakeBlocks) -> Vec<(String, &'static str)> {
    let taken = take_blocks(agent, files, take, &Writer::user()).unwrap();
    taken
        .files
        .into_iter()
        .map(|file| (file.path, file.taken.name()))
        .collect()
}

fn became(agent: &Agent, files: &[FoundFile]) -> Vec<(String, &'static str)> {
    came(agent, files, &take())
}

/// INVARIANT BOB-1: importing an unedited block does not change any attribute.
#[test]
fn files_that_nobody_edited_change_nothing() {
    let test = TestMemory::new(Settings::default());
    let agent = &test.agent;
    put(agent, "tea", "Ada drinks green tea.");
    put(agent, "warehouse/snow.flake", "  indented\nand more\n");
    let (head, before) = (agent.memory().view().commit().digest, get(agent, "tea").unwrap());
    let found = files(agent);
    let paths: Vec<&str> = found.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["tea.md", "warehouse/snow.flake.md"]);
    let windows = edited(&edited(&found[0], "\n", "\r\n"), "---\r\nid", "\u{feff}---\r\nid");
    let taken = take_blocks(agent, &[windows, found[1].clone()], &take(), &Writer::user()).unwrap();
    assert!(
        taken.files.iter().all(|file| file.taken == Taken::Unchanged),
        "{taken:?}"
    );
    assert_eq!(agent.memory().view().commit().digest, head);
    // An edit of the text does not change the values and types of other lines. The block gets the class `document`.
    assert_eq!(
        became(agent, &[edited(&found[0], "green", "black")]),
        [("tea.md".to_owned(), "updated")]
    );
    let after = get(agent, "tea").unwrap();
    assert_eq!(after.content(), Some("Ada drinks black tea."));
    assert_eq!(after.attributes(), before.attributes());
    assert_eq!(
        (before.origin(), after.origin()),
        (Origin::DirectUser, Origin::Document)
    );
}

#[test]
fn lines_of_the_front_matter_are_edited_too() {
    let test = TestMemory::new(Settings::default());
    let agent = &test.agent;
    put(agent, "tea", "x");
    let file = edited(&files(agent)[0], "tags: [\"drink\"]\n", "owner: Ada\n");
    let file = edited(
        &edited(&file, "level_of_sugar: 0", "level_of_sugar: 2"),
        "confidence: 0.5\n",
        "",
    );
    assert_eq!(became(agent, &[file]), [("tea.md".to_owned(), "updated")]);
    let after = get(agent, "tea").unwrap();
    assert_eq!(after.attribute(attribute::TAGS), None);
    assert_eq!(after.attribute(attribute::CONFIDENCE), None);
    assert_eq!(after.attribute("owner"), Some(Value::from("Ada")));
    assert_eq!(after.attribute("level_of_sugar"), Some(Value::Integer(2)));
    assert_eq!(after.attribute("said"), Some(Value::from("42")));
}

#[test]
fn an_edit_of_both_sides_is_a_conflict_and_a_stale_file_is_none() {
    let test = TestMemory::new(Settings::default());
    let agent = &test.agent;
    put(agent, "tea", "green");
    let old = files(agent);
    test.clock.add(DAY);
    put(agent, "tea", "black");
    assert_eq!(became(agent, &old), [("tea.md".to_owned(), "stale")]);
    let both = [edited(&old[0], "green", "white")];
    assert_eq!(became(agent, &both), [("tea.md".to_owned(), "conflict")]);
    assert_eq!(get(agent, "tea").unwrap().content(), Some("black"));
    let bytes = |file: &FoundFile| file.bytes.clone().unwrap();
    assert!(
        is_unedited(
            agent.memory(),
            &agent.memory().view(),
            &place(),
            "tea.md",
            &bytes(&old[0])
        )
        .unwrap()
    );
    assert!(
        !is_unedited(
            agent.memory(),
            &agent.memory().view(),
            &place(),
            "tea.md",
            &bytes(&both[0])
        )
        .unwrap()
    );
    let force = TakeBlocks {
        force: true,
        ..take()
    };
    assert_eq!(came(agent, &both, &force), [("tea.md".to_owned(), "updated")]);
    assert_eq!(get(agent, "tea").unwrap().content(), Some("white"));
}

#[test]
fn a_file_is_edited_and_taken_again_and_again() {
    let test = TestMemory::new(Settings::default());
    let agent = &test.agent;
    put(agent, "tea", "green");
    let mut file = edited(&files(agent)[0], "\n", "\r\n");
    for (from, to) in [("green", "black"), ("black", "white"), ("white", "none")] {
        test.clock.add(DAY);
        file = edited(&file, from, to);
        let taken = take_blocks(agent, std::slice::from_ref(&file), &take(), &Writer::user()).unwrap();
        assert_eq!(taken.files[0].taken, Taken::Updated, "{taken:?}");
        let fresh = taken.files[0].fresh.clone().unwrap();
        // Only the line `updated` changes. All other bytes stay as the person wrote them.
        let lines = |bytes: &[u8]| {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            text.split_inclusive('\n')
                .filter(|line| !line.starts_with("updated"))
                .collect::<String>()
        };
        assert_eq!(lines(&fresh), lines(file.bytes.as_ref().unwrap()));
        let count = String::from_utf8_lossy(&fresh).matches("updated: ").count();
        assert_eq!(count, 1);
        file.bytes = Ok(fresh);
    }
    assert_eq!(get(agent, "tea").unwrap().content(), Some("none"));
    // A file that equals its block may be overwritten, even if the time in the file differs.
    let view = agent.memory().view();
    for (text, expected) in [("none", true), ("some", false)] {
        let other = format!(
            "---\nid: tea\nlevel_of_sugar: 0\nsaid: \"42\"\nconfidence: 0.5\ntags: [\"drink\"]\n---\n\n{text}\n"
        );
        let found = is_unedited(agent.memory(), &view, &place(), "tea.md", other.as_bytes()).unwrap();
        assert_eq!(found, expected, "{text}");
    }
    let new = writer::with_updated(b"---\nid: x\n---\ny", crate::Time::from_micros(0)).unwrap();
    assert_eq!(new, b"---\nid: x\nupdated: 1970-01-01T00:00:00.000Z\n---\ny");
    for none in ["", "x", "---", "---\nid: x", "x\n---\n---\n"] {
        assert_eq!(
            writer::with_updated(none.as_bytes(), crate::Time::from_micros(0)),
            None,
            "{none}"
        );
    }
}

/// INVARIANT BEX-1: a file changes only the block of its id, in reach.
#[test]
fn a_file_reaches_no_further_than_its_block() {
    let test = TestMemory::new(Settings::default());
    let agent = &test.agent;
    let mut fact = NewObject::new(Id::new("fact").unwrap(), Kind::new("fact").unwrap());
    fact.content = Some("true".to_owned());
    drop(agent.memory().put(fact, &Writer::user()).unwrap());
    let mut coffee = NewObject::new(Id::new("beans").unwrap(), Kind::new("block").unwrap());
    coffee.scope = Scope::new("project:coffee").unwrap();
    drop(agent.memory().put(coffee, &Writer::user()).unwrap());
    put(agent, "tea", "green");
    let root = agent.memory().view().root();
    let said = |path: &str, front: &str| file(path, &format!("---\n{front}\n---\n\nmine\n"));
    let bad = [
        said("fact.md", "id: fact"),
        said("beans.md", "id: beans"),
        said("stolen.md", "id: stolen\nscope: project:coffee"),
        said("tea.md", "id: tea\nscope: global"),
        said("flagged.md", "id: flagged\npromoted: 00"),
        said("pinned.md", "id: pinned\npinned: yes"),
        said("../up.md", "id: up"),
        said("/etc/passwd.md", "id: passwd"),
        said("a/.git/x.md", "id: x"),
        file("nothing.md", "no front matter"),
        FoundFile {
            path: "link.md".to_owned(),
            bytes: Err("it is a link".to_owned()),
        },
    ];
    let taken = take_blocks(agent, &bad, &take(), &Writer::user()).unwrap();
    for file in &taken.files {
        assert!(file.taken == Taken::Refused && !file.said.is_empty(), "{file:?}");
    }
    assert_eq!(taken.files.len(), bad.len());
    assert_eq!(agent.memory().view().root(), root);
}

/// INVARIANT BEX-2: if several files contain the same id, only the file whose path matches the id is imported.
#[test]
fn of_two_files_with_one_id_only_the_one_at_home_counts() {
    let test = TestMemory::new(Settings::default());
    let agent = &test.agent;
    let said = |path: &str, id: &str| file(path, &format!("---\nid: {id}\n---\n\nfrom {path}\n"));
    let two = [said("copy.md", "tea"), said("other.md", "tea")];
    assert_eq!(
        became(agent, &two),
        [
            ("copy.md".to_owned(), "refused"),
            ("other.md".to_owned(), "refused")
        ]
    );
    assert!(get(agent, "tea").is_none());
    let three = [said("copy.md", "tea"), said("tea.md", "tea")];
    assert_eq!(
        became(agent, &three),
        [
            ("copy.md".to_owned(), "refused"),
            ("tea.md".to_owned(), "created")
        ]
    );
    assert_eq!(get(agent, "tea").unwrap().content(), Some("from tea.md"));
}

/// INVARIANT BEX-3: a block without a file stays, unless the caller prunes.
#[test]
fn a_block_goes_only_if_its_file_is_gone_and_that_is_asked_for() {
    let test = TestMemory::new(Settings::default());
    let agent = &test.agent;
    for id in ["a", "b", "c"] {
        put(agent, id, id);
    }
    let unreadable = FoundFile {
        path: "b.md".to_owned(),
        bytes: Err("the path is not a file".to_owned()),
    };
    let found = [files(agent)[0].clone(), unreadable];
    let taken = take_blocks(agent, &found, &take(), &Writer::user()).unwrap();
    assert_eq!((taken.missing.len(), taken.pruned.len()), (1, 0));
    let prune = TakeBlocks {
        prune: true,
        ..take()
    };
    let taken = take_blocks(agent, &found, &prune, &Writer::user()).unwrap();
    assert_eq!(taken.pruned, [Id::new("c").unwrap()]);
    assert!(get(agent, "b").is_some() && get(agent, "c").is_none());
    agent.memory().undo(&Writer::user()).unwrap();
    assert!(get(agent, "c").is_some());
}

#[test]
fn what_no_file_can_hold_is_said_and_never_pruned() {
    let test = TestMemory::new(Settings::default());
    let agent = &test.agent;
    put(agent, "Upper Case", "x");
    put(agent, "a.md/b", "y");
    let texts = texts(&agent.memory().view(), &place(), &Reach::All).unwrap();
    assert_eq!((texts.files.len(), texts.left_out.len()), (0, 2));
    let prune = TakeBlocks {
        prune: true,
        ..take()
    };
    let taken = take_blocks(agent, &[], &prune, &Writer::user()).unwrap();
    assert!(taken.pruned.is_empty() && taken.missing.is_empty());
}

#[test]
fn an_edit_goes_through_the_scan() {
    let test = TestMemory::new(Settings::default());
    let agent = &test.agent;
    put(agent, "tea", "green");
    let key = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let secret = edited(
        &edited(&files(agent)[0], "green", &key),
        "said: \"42\"",
        &format!("said: {key}"),
    );
    let taken = take_blocks(agent, &[secret], &take(), &Writer::user()).unwrap();
    assert_eq!(taken.files[0].taken, Taken::Updated);
    let after = get(agent, "tea").unwrap();
    assert!(!format!("{:?} {:?}", after.content(), after.attributes()).contains(&key));
}

/// INVARIANT RMB-1: no state and no answer contains a text that the review stopped.
#[test]
fn no_answer_about_a_file_has_a_secret_of_the_file() {
    let test = TestMemory::new(Settings::default());
    let agent = &test.agent;
    put(agent, "tea", "green");
    let file = &files(agent)[0];
    // The second key is also a valid id of a block.
    for key in [
        format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"),
        format!("glpat-{}", "a1b2c3d4e5f6g7h8i9j0"),
    ] {
        for (from, to) in [
            ("id: tea", format!("id: {key}")),
            ("id: tea", format!("id: A {key}")),
            ("updated: ", format!("updated: {key} ")),
            ("updated: ", format!("scope: {key}\nupdated: ")),
            ("said: \"42\"", format!("{key}: 1\n{key}: 2")),
        ] {
            let answer = take_blocks(agent, &[edited(file, from, &to)], &take(), &Writer::user());
            let answer = answer.unwrap();
            let [file] = answer.files.as_slice() else {
                panic!("{answer:?}")
            };
            let text = serde_json::to_string(&answer).unwrap();
            assert!(!text.contains(&key), "{to}: {text}");
            assert!(!file.said.is_empty(), "{to}");
        }
    }
}

#[test]
fn an_edit_keeps_the_trust_of_its_block_if_a_person_says_it_is_theirs() {
    let test = TestMemory::new(Settings::default());
    let agent = &test.agent;
    let as_me = TakeBlocks {
        as_me: true,
        ..take()
    };
    let origin = |id: &str| get(agent, id).unwrap().origin();
    put(agent, "tea", "green");
    let own = edited(&files(agent)[0], "green", "black");
    let taken = take_blocks(agent, &[own], &as_me, &Writer::user()).unwrap();
    assert_eq!(
        (taken.files[0].taken, taken.files[0].said.len()),
        (Taken::Updated, 0)
    );
    assert_eq!(origin("tea"), Origin::DirectUser);
    // An edit has at most the class of its writer, and never raises the class of the block.
    let other = edited(&files(agent)[0], "black", "white");
    let taken = take_blocks(agent, &[other], &take(), &Writer::user()).unwrap();
    assert!(taken.files[0].said[0].contains("--as-me"), "{taken:?}");
    assert_eq!(origin("tea"), Origin::Document);
    let again = edited(&files(agent)[0], "white", "red");
    assert_eq!(came(agent, &[again], &as_me), [("tea.md".to_owned(), "updated")]);
    assert_eq!(origin("tea"), Origin::Document);
    let new = file("new.md", "---\nid: new\n---\n\nmine\n");
    let model = Writer::of(Origin::Model);
    drop(take_blocks(agent, std::slice::from_ref(&new), &as_me, &model).unwrap());
    assert_eq!(origin("new"), Origin::Model);
}

/// INVARIANT BEX-4: a writer cannot edit or prune a more trusted block.
#[test]
fn who_is_less_trusted_than_a_block_neither_edits_nor_prunes_it() {
    let test = TestMemory::new(Settings::default());
    let agent = &test.agent;
    put(agent, "tea", "green");
    let edit = edited(&files(agent)[0], "green", "black");
    let new = file("new.md", "---\nid: new\n---\n\nmine\n");
    for (place, class) in [Origin::ToolExternal, Origin::Document, Origin::Model]
        .into_iter()
        .enumerate()
    {
        let writer = Writer::of(class);
        let insist = TakeBlocks {
            force: true,
            as_me: place % 2 == 0,
            ..take()
        };
        let taken = take_blocks(agent, &[edit.clone(), new.clone()], &insist, &writer).unwrap();
        let tea = taken.files.iter().find(|file| file.path == "tea.md").unwrap();
        assert_eq!(tea.taken, Taken::Refused);
        assert!(tea.said[0].contains(class.name()), "{tea:?}");
        assert!(get(agent, "new").is_some(), "one file costs no other");
        let prune = TakeBlocks {
            prune: true,
            ..take()
        };
        let error = take_blocks(agent, std::slice::from_ref(&new), &prune, &writer).unwrap_err();
        assert_eq!(
            (error.code(), error.ids()),
            (crate::error::ErrorCode::LessTrusted, &["tea".to_owned()][..])
        );
        assert_eq!(get(agent, "tea").unwrap().origin(), Origin::DirectUser);
    }
    assert_eq!(get(agent, "tea").unwrap().content(), Some("green"));
}

#[test]
fn a_file_that_does_not_say_what_was_edited_is_a_conflict() {
    let test = TestMemory::new(Settings::default());
    let agent = &test.agent;
    put(agent, "tea", "green");
    let hand = file("else/where.md", "---\nid: tea\n---\n\nhijack\n");
    let hand = std::slice::from_ref(&hand);
    assert_eq!(became(agent, hand), [("else/where.md".to_owned(), "conflict")]);
    assert_eq!(get(agent, "tea").unwrap().content(), Some("green"));
    let force = TakeBlocks {
        force: true,
        ..take()
    };
    assert_eq!(
        came(agent, hand, &force),
        [("else/where.md".to_owned(), "updated")]
    );
}

#[test]
fn an_erased_block_costs_no_other_file() {
    let test = TestMemory::new(Settings::default());
    let agent = &test.agent;
    put(agent, "gone", "green");
    put(agent, "tea", "black");
    let found = files(agent);
    let memory = agent.memory();
    let seq = memory.view().commit().commit.seq;
    drop(memory.remove(&Id::new("gone").unwrap(), &Writer::user()).unwrap());
    let request = crate::engine::Erasing {
        targets: vec!["gone".to_owned()],
        ..crate::engine::Erasing::default()
    };
    drop(memory.erase(&request, &Writer::user()).unwrap());
    drop(
        memory
            .rollback(crate::engine::Revision::Seq(seq))
            .across_lanes()
            .by(&Writer::user())
            .unwrap(),
    );
    let view = memory.view();
    assert_eq!(view.get(&Id::new("gone").unwrap()).unwrap_err().code(), "erased");
    let edits = [
        edited(&found[0], "green", "red"),
        edited(&found[1], "black", "white"),
    ];
    let expected = [
        ("gone.md".to_owned(), "refused"),
        ("tea.md".to_owned(), "updated"),
    ];
    assert_eq!(became(agent, &edits), expected);
    let bytes = edits[0].bytes.clone().unwrap();
    assert!(!is_unedited(agent.memory(), &view, &place(), "gone.md", &bytes).unwrap());
}
