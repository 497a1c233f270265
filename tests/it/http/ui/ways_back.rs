//! Revert and rollback by the page.

use serde_json::{Value, json};

use super::super::Folder;
use super::{Page, three_sessions};
use crate::program::{column, text};

fn head(page: &Page) -> String {
    text(&page.get("summary")["head"]["commit"])
}

/// INVARIANT PAG-3: without a writer, the page changes nothing.
#[test]
fn a_page_that_only_reads_takes_nothing_back() {
    let folder = Folder::with_store();
    three_sessions(&folder);
    for options in [&[][..], &["--http", "127.0.0.1:0"]] {
        let page = Page::start(&folder, options);
        let (root, head) = (folder.root(), head(&page));
        for (path, document) in [
            ("revert", json!({ "lane": "night", "head": head })),
            ("revert", json!({ "lane": "night", "dry_run": true })),
            ("rollback", json!({ "to": "seq:3", "all": true, "head": head })),
            ("rollback", json!({ "to": "seq:3", "dry_run": true })),
        ] {
            assert_eq!(
                page.post(path, &document).refusal(),
                (403, "read_only".to_owned()),
                "{path} {document}"
            );
        }
        assert_eq!(folder.root(), root);
    }
}

#[test]
fn a_session_is_reverted_after_a_preview() {
    let folder = Folder::with_store();
    three_sessions(&folder);
    let page = Page::start(&folder, &["--write"]);
    let root = folder.root();
    let preview = page
        .post("revert", &json!({ "lane": "night", "dry_run": true }))
        .json();
    assert_eq!(
        column(preview["rows"].as_array().unwrap(), "id"),
        ["facts/rooms/0", "facts/rooms/1"]
    );
    assert_eq!(
        (&preview["changed"], &preview["selected"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(folder.root(), root, "a preview changes nothing");
    let seen = head(&page);
    let done = page.post(
        "revert",
        &json!({ "lane": "night", "head": seen, "reason": "The moon is wrong." }),
    );
    assert_eq!(done.status, 200, "{done:?}");
    let log = &folder.stream(&["log", "--limit", "1"])[0];
    assert_eq!(
        (&log["op"], &log["trust"], &log["reason"]),
        (
            &json!("revert"),
            &json!("direct_user"),
            &json!("The moon is wrong.")
        )
    );
    assert_eq!(
        folder.json(&["get", "facts/rooms/0"])["content"],
        "Room 0 has 0 windows."
    );
    // A person undoes it like any other commit.
    folder.json(&["undo"]);
    assert_eq!(folder.root(), root);
}

/// A lane is a session, or the commits of an actor without a session. One name may be both, and the actor may have other
/// sessions.
#[test]
fn a_revert_takes_back_the_commits_of_the_lane_alone() {
    let folder = Folder::with_store();
    let put = |id: &str, more: &[&str]| {
        let arguments = ["put", id, "--kind", "fact", "--content", "text"];
        folder.json(&[&arguments, more].concat());
    };
    put("alone", &["--actor", "vera"]);
    put("monday", &["--actor", "vera", "--session", "monday"]);
    put("session", &["--session", "vera"]);
    put("nobody", &[]);
    let page = Page::start(&folder, &["--write"]);
    // The person at the page has no session either, so the reverts are in the default lane.
    for (lane, ids) in [("default", &["nobody"][..]), ("vera", &["alone", "session"])] {
        let shown = page.get(&format!("changes?lane={lane}"));
        assert_eq!(column(shown["rows"].as_array().unwrap(), "id"), ids, "{lane}");
        let done = page
            .post("revert", &json!({ "lane": lane, "head": head(&page) }))
            .json();
        assert_eq!(column(done["rows"].as_array().unwrap(), "id"), ids, "{lane}");
    }
    assert_eq!(page.get("summary")["objects"], 1);
    assert_eq!(folder.json(&["get", "monday"])["content"], "text");
}

#[test]
fn a_rollback_needs_all_if_others_committed_and_a_commit_is_reverted_alone() {
    let folder = Folder::with_store();
    three_sessions(&folder);
    let page = Page::start(&folder, &["--write"]);
    let preview = page
        .post("rollback", &json!({ "to": "seq:9", "dry_run": true }))
        .json();
    assert_eq!(
        (&preview["needs"], &preview["changed"]),
        (&json!("--all"), &json!(2))
    );
    assert_eq!(preview["other_lanes"], json!(["night"]));
    assert_eq!(preview["lanes"], json!([{ "lane": "night" }]));
    let seen = head(&page);
    let refused = page.post("rollback", &json!({ "to": "seq:9", "head": seen }));
    assert_eq!(refused.refusal(), (409, "other_lanes".to_owned()));
    let done = page
        .post("rollback", &json!({ "to": "seq:9", "all": true, "head": seen }))
        .json();
    assert_eq!((&done["op"], &done["changed"]), (&json!("rollback"), &json!(2)));
    let seen = head(&page);
    let done = page
        .post("revert", &json!({ "commit": "seq:7", "head": seen }))
        .json();
    assert_eq!(done["removed"], 1);
}

/// The person saw another head than the one that the change would meet.
#[test]
fn a_head_that_moved_since_the_preview_is_left_alone() {
    let folder = Folder::with_store();
    three_sessions(&folder);
    let page = Page::start(&folder, &["--write"]);
    let seen = head(&page);
    folder.put("meanwhile", "another process");
    let root = folder.root();
    for (path, document) in [
        ("revert", json!({ "lane": "night", "head": seen })),
        ("revert", json!({ "lane": "night" })),
        ("rollback", json!({ "to": "seq:3", "all": true, "head": seen })),
        ("rollback", json!({ "to": "seq:3", "all": true, "head": "" })),
    ] {
        assert_eq!(
            page.post(path, &document).refusal(),
            (409, "head_moved".to_owned()),
            "{path} {document}"
        );
    }
    assert_eq!(folder.root(), root);
}

#[test]
fn a_form_of_another_page_takes_nothing_back() {
    let folder = Folder::with_store();
    three_sessions(&folder);
    let page = Page::start(&folder, &["--write"]);
    let (root, seen) = (folder.root(), head(&page));
    let body = json!({ "lane": "night", "head": seen }).to_string();
    let (port, length) = (page.server.port, body.len());
    let json = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
    let plain = format!("Content-Type: text/plain\r\nContent-Length: {length}\r\n");
    let send = |more: &str| page.send("POST", "/ui/revert", more, &body).refusal();
    assert_eq!(
        send(&format!("Origin: http://evil.example\r\n{json}")).1,
        "foreign_origin"
    );
    assert_eq!(
        send(&format!("Sec-Fetch-Site: cross-site\r\n{json}")).1,
        "foreign_site"
    );
    assert_eq!(send(&plain), (415, "not_json".to_owned()));
    let bare = format!(
        "POST /ui/revert HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nCookie: token={}\r\n{json}\r\n{body}",
        page.token
    );
    assert_eq!(page.server.raw(&bare).refusal(), (401, "unauthorized".to_owned()));
    assert_eq!(page.send("GET", "/ui/revert?lane=night", "", "").status, 405);
    assert_eq!(folder.root(), root);
    let bad: [Value; 4] = [
        json!({}),
        json!({ "lane": "night", "commit": "seq:3" }),
        json!({ "lane": 7 }),
        json!([]),
    ];
    for document in bad {
        let reply = page.post("revert", &document);
        assert!((400..500).contains(&reply.status), "{document}: {reply:?}");
        reply.refusal();
    }
}
