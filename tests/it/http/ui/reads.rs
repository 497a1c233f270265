//! What the page reads.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::super::Folder;
use super::{Page, routes, three_sessions};
use crate::program::{bytes_below, column, text};

fn rows(answer: &Value) -> &[Value] {
    answer["rows"].as_array().unwrap()
}

#[test]
fn the_summary_counts_objects_by_their_class() {
    let folder = Folder::with_store();
    three_sessions(&folder);
    let page = Page::start(&folder, &[]);
    // The sessions wait for the history; the summary does not.
    page.get("sessions");
    let summary = page.get("summary");
    assert_eq!(
        (&summary["objects"], &summary["commits"]),
        (&json!(9), &json!(12))
    );
    assert_eq!(summary["head"]["root"], folder.root());
    let work = &summary["work"];
    assert_eq!(
        (&work["sessions"], &work["untrusted"]),
        (&json!(5), &json!(3)),
        "{work}"
    );
    assert_eq!(
        work["classes"],
        json!([
            { "trust": "direct_user", "objects": 4 },
            { "trust": "model", "objects": 2 },
            { "trust": "tool_external", "objects": 3 },
        ])
    );
    assert!(summary["writer"].is_null());
}

/// A tab shows one line: the one that the server serves, or a fork by its name.
#[test]
fn the_page_shows_a_fork_beside_the_main_line() {
    let folder = Folder::with_store();
    folder.put("plan", "first");
    folder.json(&["fork", "task-7"]);
    folder.json(&[
        "put",
        "found",
        "--kind",
        "note",
        "--content",
        "x",
        "--fork",
        "task-7",
    ]);
    let page = Page::start(&folder, &[]);
    let main = page.get("summary");
    assert_eq!(
        (&main["objects"], &main["fork"], &main["forks"]),
        (
            &json!(1),
            &json!(null),
            &json!([{ "name": "task-7", "commits": 1 }])
        )
    );
    let fork = page.get("summary?fork=task-7");
    assert_eq!((&fork["objects"], &fork["fork"]), (&json!(2), &json!("task-7")));
    let commits = |path: &str| rows(&page.get(path)).len();
    assert_eq!(commits("commits?fork=task-7"), commits("commits") + 1);
    assert_eq!(rows(&page.get("changes?from=@&to=fork:task-7")).len(), 1);
    let to = &page.get("changes?from=@&to=fork:task-7")["to"];
    assert_eq!(to["op"], "put");
    let missing = page.send("GET", "/ui/summary?fork=none", "", "");
    assert_eq!(missing.json()["error"]["code"], "no_fork");
    assert!(main["served"].is_null());
    let served = Page::start(&folder, &["--fork", "task-7"]).get("summary");
    assert_eq!(
        (&served["served"], &served["fork"]),
        (&json!("task-7"), &json!("task-7"))
    );
}

/// A person pastes the commands of the page into a shell in any folder.
#[test]
fn the_summary_has_the_absolute_path_of_the_store() {
    let folder = Folder::with_store();
    let page = Page::start(&folder, &["--store", ".treering"]);
    let store = text(&page.get("summary")["store"]);
    assert!(store.starts_with('/'), "{store}");
    let real = |path: &Path| fs::canonicalize(path).unwrap();
    assert_eq!(real(Path::new(&store)), real(&folder.store()));
}

/// A browser reads every number as a float, which has 53 bits.
#[test]
fn the_numbers_of_attributes_are_text_that_a_browser_does_not_round() {
    let folder = Folder::with_store();
    let line = r#"{"id":"one","kind":"fact","attributes":{"deep":{"list":[9007199254740993]},"float":0.1,"large":9223372036854775807,"text":"1"}}"#;
    folder.write("lines", line);
    folder.json(&["put", "--jsonl", "lines"]);
    let page = Page::start(&folder, &[]);
    let written = json!({
        "deep": "{\"list\":[9007199254740993]}",
        "float": "0.1",
        "large": "9223372036854775807",
        "text": "1",
    });
    assert_eq!(page.get("object?id=one")["attributes"], written);
}

/// INVARIANT PAG-2: an answer has at most 200 rows.
#[test]
fn objects_come_in_pages_of_one_state() {
    let folder = Folder::with_store();
    let lines: String = (0..450)
        .map(|number| format!("{{\"id\":\"many/{number:03}\",\"kind\":\"fact\",\"content\":\"{number}\"}}\n"))
        .collect();
    folder.write("many.jsonl", lines);
    folder.json(&["put", "--jsonl", "many.jsonl"]);
    let page = Page::start(&folder, &[]);
    let first = page.get("objects?count=1000000");
    assert_eq!((rows(&first).len(), &first["total"]), (200, &json!(450)));
    let root = text(&first["root"]);
    folder.put("aaa", "first of all");
    let mut seen = Vec::new();
    for start in (0..450).step_by(150) {
        seen.extend(column(
            rows(&page.get(&format!("objects?at={root}&start={start}&count=150"))),
            "id",
        ));
    }
    let wanted: Vec<_> = (0..450).map(|number| format!("many/{number:03}")).collect();
    assert_eq!(seen, wanted);
    let head = page.get("objects?count=1");
    assert_eq!(
        (&head["total"], &rows(&head)[0]["id"]),
        (&json!(451), &json!("aaa"))
    );
    assert_eq!(rows(&page.get("objects?start=9999")).len(), 0);
    let around = page.get("objects?around=many/300");
    let place = around["place"].as_u64().unwrap() - around["start"].as_u64().unwrap();
    assert_eq!(rows(&around)[place as usize]["id"], "many/300");
    for bad in [
        "objects?start=-1",
        "objects?count=x",
        "objects?at=seq:99",
        "objects?only=all",
        "object",
        "object?id=",
    ] {
        let reply = page.send("GET", &format!("/ui/{bad}"), "", "");
        assert!((400..500).contains(&reply.status), "{bad}: {reply:?}");
        reply.refusal();
    }
}

#[test]
fn ids_make_folders_and_filters_select_objects() {
    let folder = Folder::with_store();
    three_sessions(&folder);
    let page = Page::start(&folder, &[]);
    let top = page.get("folders");
    let found: Vec<_> = top["folders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|folder| {
            (
                text(&folder["prefix"]),
                folder["objects"].as_u64().unwrap(),
                folder["folders"].as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [("facts/".to_owned(), 6, true), ("web/".to_owned(), 3, false)]
    );
    assert_eq!(
        page.get("folders?prefix=facts/")["folders"][0]["prefix"],
        "facts/rooms/"
    );
    assert_eq!(page.get("folders?prefix=web/")["direct"], 3);
    assert_eq!(page.get("objects?prefix=web/")["total"], 3);
    let ids = |path: &str| column(rows(&page.get(path)), "id");
    assert_eq!(ids("objects?only=untrusted"), ["web/0", "web/1", "web/2"]);
    assert_eq!(ids("objects?lane=night"), ["facts/rooms/0", "facts/rooms/1"]);
    assert_eq!(ids("objects?lane=night&prefix=web/"), Vec::<String>::new());
    assert_eq!(ids("objects?lane=monday"), ["facts/rooms/2", "facts/rooms/4"]);
    let reply = page.send("GET", "/ui/objects?lane=nobody", "", "");
    assert_eq!(reply.refusal(), (404, "nothing_selected".to_owned()));
}

#[test]
fn an_object_says_who_wrote_each_version_and_when_its_trust_changed() {
    let folder = Folder::with_store();
    three_sessions(&folder);
    let page = Page::start(&folder, &[]);
    let object = page.get("object?id=facts/rooms/0");
    assert_eq!(
        (&object["content"], &object["origin"]),
        (&json!("The room is on the moon."), &json!("model"))
    );
    assert_eq!(object["writer"]["session"], "night");
    let versions = page.get("versions?id=facts/rooms/0");
    let [newest, oldest] = rows(&versions) else {
        panic!("{versions}")
    };
    assert_eq!(
        (&newest["session"], &newest["class_before"], &newest["present"]),
        (&json!("night"), &json!("direct_user"), &json!(true))
    );
    assert_eq!(
        (&oldest["session"], &oldest["first"], &oldest["present"]),
        (&json!("monday"), &json!(true), &json!(false))
    );
    assert_eq!(oldest["version"]["gist"], "Room 0 has 0 windows.");
    let past = page.get("object?id=facts/rooms/0&at=seq:1");
    assert_eq!(
        (&past["content"], &past["outdated"]),
        (&json!("Room 0 has 0 windows."), &json!(true))
    );
    folder.json(&["remove", "web/0"]);
    assert_eq!(rows(&page.get("versions?id=web/0")).len(), 2);
    assert_eq!(page.send("GET", "/ui/object?id=web/0", "", "").status, 404);
}

#[test]
fn the_timeline_has_commits_snapshots_and_ways_back() {
    let folder = Folder::with_store();
    three_sessions(&folder);
    folder.json(&["snapshot", "before"]);
    folder.json(&["undo", "--session", "night"]);
    folder.json(&["rollback", "seq:3", "--all"]);
    let page = Page::start(&folder, &[]);
    let timeline = page.get("commits");
    let all = rows(&timeline);
    assert_eq!((timeline["total"].as_u64(), all.len()), (Some(14), 14));
    assert_eq!(
        (&all[0]["op"], &all[0]["target_seq"], &all[0]["removed"]),
        (&json!("rollback"), &json!(3), &json!(6))
    );
    assert_eq!(
        (&all[1]["op"], &all[1]["target_seq"], &all[1]["lane"]),
        (&json!("undo"), &json!(11), &json!("night"))
    );
    assert_eq!(all[2]["snapshots"], json!(["before"]));
    let night = page.get("commits?lane=night");
    assert_eq!(
        rows(&night)
            .iter()
            .map(|row| row["seq"].as_u64().unwrap())
            .collect::<Vec<_>>(),
        [12, 11, 10]
    );
    let around = page.get("commits?around=seq:5");
    let place = around["place"].as_u64().unwrap() - around["start"].as_u64().unwrap();
    assert_eq!(rows(&around)[place as usize]["seq"], 5);
    // A commit that the list lacks is refused, and no other row stands for it.
    for (path, status) in [
        ("commits?of=1&around=seq:5", 400),
        ("commits?lane=night&around=seq:5", 400),
        ("commits?lane=night&around=seq:11", 200),
        ("commits?around=seq:99", 404),
        ("commits?around=nothing", 404),
    ] {
        let reply = page.send("GET", &format!("/ui/{path}"), "", "");
        assert_eq!(reply.status, status, "{path}: {reply:?}");
    }
    // Later pages have the same rows, whatever was committed since.
    folder.put("later", "one more");
    let pinned = page.get("commits?of=14&start=1&count=1");
    assert_eq!(
        (&pinned["total"], &rows(&pinned)[0]["seq"]),
        (&json!(14), &json!(12))
    );
}

#[test]
fn differences_are_of_a_commit_of_two_states_or_of_a_session() {
    let folder = Folder::with_store();
    three_sessions(&folder);
    let page = Page::start(&folder, &[]);
    let commit = page.get("changes?commit=seq:11");
    let [row] = rows(&commit) else { panic!("{commit}") };
    assert_eq!(
        (&row["id"], &row["change"], &row["class_old"], &row["class_new"]),
        (
            &json!("facts/rooms/1"),
            &json!("changed"),
            &json!("direct_user"),
            &json!("model")
        )
    );
    assert_eq!(
        row["lines"],
        json!([
            { "sign": "-", "text": "Room 1 has 1 windows." },
            { "sign": "+", "text": "The room is on the moon." },
        ])
    );
    assert_eq!(row["since"], "current");
    let two = page.get("changes?from=seq:6&to=seq:11");
    assert_eq!(
        (&two["added"], &two["changed"], &two["removed"]),
        (&json!(3), &json!(2), &json!(0))
    );
    let back = page.get("changes?from=seq:11&to=seq:6&start=4&count=9");
    assert_eq!((&back["removed"], rows(&back).len()), (&json!(3), 1));
    let night = page.get("changes?lane=night");
    assert_eq!(column(rows(&night), "id"), ["facts/rooms/0", "facts/rooms/1"]);
    folder.json(&[
        "put",
        "facts/rooms/0",
        "--kind",
        "fact",
        "--content",
        "Room 0 is here.",
        "--session",
        "monday",
    ]);
    folder.json(&["remove", "facts/rooms/1", "--session", "monday"]);
    let night = page.get("changes?lane=night");
    assert_eq!(column(rows(&night), "since"), ["replaced", "removed"]);
    assert_eq!(rows(&page.get("changes?commit=seq:0")).len(), 0);
    let reply = page.send("GET", "/ui/changes", "", "");
    assert_eq!(reply.refusal(), (400, "usage".to_owned()));
}

/// INVARIANT LED-1: a version belongs to the lane that wrote it first, also after it was brought back.
#[test]
fn sessions_are_listed_by_what_a_person_should_look_at_first() {
    let folder = Folder::with_store();
    three_sessions(&folder);
    let page = Page::start(&folder, &[]);
    let sessions = page.get("sessions");
    let of = |sessions: &Value, lane: &str| {
        rows(sessions)
            .iter()
            .find(|row| row["lane"] == lane)
            .unwrap()
            .clone()
    };
    let order = column(rows(&sessions), "lane");
    assert_eq!(order[..2], ["night", "crawl"]);
    let night = of(&sessions, "night");
    assert_eq!(
        (
            &night["replaced_others"],
            &night["alive"],
            &night["commits"],
            &night["trust"]
        ),
        (&json!(2), &json!(2), &json!(2), &json!("model"))
    );
    let crawl = of(&sessions, "crawl");
    assert_eq!(
        (&crawl["alive_untrusted"], &crawl["tainted"]),
        (&json!(3), &json!(true))
    );
    let monday = of(&sessions, "monday");
    assert_eq!(
        (&monday["written"], &monday["alive"], &monday["replaced_others"]),
        (&json!(3), &json!(2), &json!(0))
    );
    folder.json(&["revert", "--session", "night"]);
    let sessions = page.get("sessions");
    let (night, monday) = (of(&sessions, "night"), of(&sessions, "monday"));
    assert_eq!(
        (&night["alive"], &night["written"], &monday["alive"]),
        (&json!(0), &json!(2), &json!(3))
    );
    let recent = page.get("sessions?order=recent&count=1");
    assert_eq!(recent["rows"][0]["lane"], "default");
    assert_eq!(page.send("GET", "/ui/sessions?order=x", "", "").status, 400);
}

/// INVARIANT LED-2: a ledger that followed the commits one by one equals a ledger that read them at once.
#[test]
fn a_page_that_followed_shows_what_a_new_page_shows() {
    let folder = Folder::with_store();
    let old = Page::start(&folder, &[]);
    old.get("sessions");
    three_sessions(&folder);
    old.get("sessions");
    for arguments in [
        &["undo", "--session", "night"][..],
        &["rollback", "seq:4", "--all"],
        &["undo"],
        &[
            "gc",
            "--keep-all",
            "0",
            "--hourly",
            "0",
            "--daily",
            "0",
            "--weekly",
            "0",
            "--yes",
        ],
    ] {
        folder.json(arguments);
        old.get("sessions?order=recent");
        let new = Page::start(&folder, &[]);
        // Collection thins the commits of the sessions.
        let night = (arguments[0] != "gc").then_some("changes?lane=night");
        let always = ["sessions", "commits", "objects", "objects?only=untrusted"];
        for path in always.into_iter().chain(night) {
            assert_eq!(old.get(path), new.get(path), "{arguments:?} {path}");
        }
        new.get("sessions");
        assert_eq!(
            old.get("summary")["work"],
            new.get("summary")["work"],
            "{arguments:?}"
        );
    }
}

#[test]
fn search_finds_words_and_parts_of_every_class() {
    let folder = Folder::with_store();
    three_sessions(&folder);
    let page = Page::start(&folder, &[]);
    let hits = page.get("search?q=windows%20room&count=2");
    assert_eq!((rows(&hits).len(), &hits["more"]), (2, &json!(true)));
    let evil = page.get("search?q=evil");
    assert_eq!(rows(&evil)[0]["trust"], "tool_external");
    let part = page.get("part?q=ON%20THE%20MO");
    assert_eq!(column(rows(&part), "id"), ["facts/rooms/0", "facts/rooms/1"]);
    assert_eq!((&part["searched"], &part["next"]), (&json!(9), &Value::Null));
    let first = page.get("part?q=window&count=1");
    let next = first["next"].as_u64().unwrap();
    assert_eq!(rows(&page.get(&format!("part?q=window&from={next}"))).len(), 3);
    assert_eq!(rows(&page.get("part?q=web/")).len(), 3);
    for nothing in ["search?q=", "part?q=", "search?q=zzzz"] {
        assert_eq!(rows(&page.get(nothing)).len(), 0, "{nothing}");
    }
}

/// INVARIANT PAG-3: without a writer, the page changes nothing.
#[test]
fn a_page_that_reads_writes_no_file() {
    let folder = Folder::with_store();
    three_sessions(&folder);
    let before = bytes_below(&folder.store());
    let page = Page::start(&folder, &[]);
    for route in routes("read") {
        page.get(&format!("{route}?id=web/0&q=room&lane=night"));
    }
    page.server.signal("-TERM");
    let (code, err) = page.server.end();
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(bytes_below(&folder.store()) == before);
}
