//! Features of Altimate Memory: blocks as Markdown files with front matter, strict ids, citations, and edits by people.

use serde_json::Value;

use super::{project, project_scope};
use crate::program::{Folder, text};

fn block(folder: &Folder, id: &str, content: &str) {
    let scope = project_scope(folder);
    let citations = "citations:=[{\"file\":\"models/orders.sql\",\"line\":3,\"note\":\"the join\"}]";
    folder.json(&[
        "put",
        id,
        "--kind",
        "block",
        "--scope",
        &scope,
        "--content",
        content,
        "--attr",
        "tags:=[\"snowflake\",\"dbt\"]",
        "--attr",
        citations,
    ]);
}

fn read(folder: &Folder, path: &str) -> String {
    std::fs::read_to_string(folder.path(path)).unwrap()
}

fn import(folder: &Folder) -> Value {
    folder.json(&["import", "blocks"])
}

#[test]
fn a_block_is_a_file_with_front_matter_under_its_id() {
    let folder = project();
    block(&folder, "warehouse/snowflake.v1", "Use the COMPUTE_WH warehouse.");
    let told = folder.json(&["export", "--format", "blocks", "blocks"]);
    assert_eq!(told["written"], 1);
    let file = read(&folder, "blocks/warehouse/snowflake.v1.md");
    let lines: Vec<&str> = file.lines().collect();
    assert_eq!(
        (lines[0], lines[1], lines[2]),
        ("---", "id: warehouse/snowflake.v1", "scope: project")
    );
    assert!(lines.contains(&"tags: [\"snowflake\",\"dbt\"]"), "{file}");
    assert!(file.contains("citations: [{\"file\":\"models/orders.sql\",\"line\":3,\"note\":\"the join\"}]"));
    assert!(file.ends_with("---\n\nUse the COMPUTE_WH warehouse.\n"));
    let told = folder.json(&["export", "--format", "blocks", "blocks"]);
    assert_eq!(
        (told["written"].as_u64(), told["unchanged"].as_u64()),
        (Some(0), Some(1))
    );
}

#[test]
fn ids_that_could_leave_the_folder_are_not_written() {
    let folder = project();
    for id in [
        "../up",
        "a/../b",
        "/etc/passwd",
        ".hidden",
        "A B",
        "a//b",
        "%2e%2e/x",
    ] {
        block(&folder, id, "x");
    }
    let told = folder.json(&["export", "--format", "blocks", "blocks"]);
    assert_eq!(
        (
            told["written"].as_u64(),
            told["left_out"].as_array().map(Vec::len)
        ),
        (Some(0), Some(7))
    );
}

#[test]
fn an_edit_comes_back_as_a_commit_and_an_unedited_file_as_none() {
    let folder = project();
    block(&folder, "tea", "green");
    folder.json(&["export", "--format", "blocks", "blocks"]);
    let seq = folder.seq();
    assert_eq!(import(&folder)["unchanged"], 1);
    assert_eq!(folder.seq(), seq);
    for (from, to) in [("green", "black"), ("black", "white")] {
        folder.write("blocks/tea.md", read(&folder, "blocks/tea.md").replace(from, to));
        assert_eq!(import(&folder)["updated"], 1);
        let tea = folder.json(&["get", "tea"]);
        assert_eq!(
            (text(&tea["content"]), text(&tea["origin"])),
            (to.into(), "document".into())
        );
        assert_eq!(tea["attributes"]["tags"], serde_json::json!(["snowflake", "dbt"]));
    }
    let log = folder.stream(&["log", "--limit", "1"]);
    assert_eq!(log[0]["op"], "import");
    // The folder and the store now agree, so the export writes no file and the import changes nothing.
    let told = folder.json(&["export", "--format", "blocks", "blocks"]);
    assert_eq!(told["left_out"], serde_json::json!([]));
    assert_eq!(import(&folder)["unchanged"], 1);
}

#[test]
fn files_as_editors_leave_them_are_read() {
    let folder = project();
    let front =
        "---\r\nid: tea\r\nscope: project\r\ntags: [\"a\"]\r\ntags: [\"b\"]\r\n---\r\n\r\nGreen\r\ntea\r\n";
    folder.write("blocks/tea.md", format!("\u{feff}{front}"));
    let told = import(&folder);
    assert_eq!(told["created"], 1);
    assert_eq!(
        told["files"][0]["said"].as_array().map(Vec::len),
        Some(3),
        "{told}"
    );
    let tea = folder.json(&["get", "tea"]);
    assert_eq!(
        (text(&tea["content"]), tea["attributes"]["tags"][0].as_str()),
        ("Green\ntea".into(), Some("b"))
    );
    // The import changed only the time of the version in the file.
    let file = read(&folder, "blocks/tea.md");
    assert!(
        file.starts_with("\u{feff}---\r\nid: tea\r\n")
            && file.contains("\r\nupdated: ")
            && file.ends_with("Green\r\ntea\r\n")
    );
    assert_eq!(import(&folder)["unchanged"], 1);
}

#[test]
fn both_sides_changed_is_a_conflict_and_nothing_is_lost() {
    let folder = project();
    block(&folder, "tea", "green");
    folder.json(&["export", "--format", "blocks", "blocks"]);
    block(&folder, "tea", "black");
    assert_eq!(import(&folder)["stale"], 1);
    folder.write(
        "blocks/tea.md",
        read(&folder, "blocks/tea.md").replace("green", "white"),
    );
    assert_eq!(import(&folder)["conflicts"], 1);
    assert_eq!(folder.json(&["get", "tea"])["content"], "black");
    let told = folder.json(&["export", "--format", "blocks", "blocks"]);
    assert_eq!(told["left_out"][0]["id"], "tea");
    assert!(read(&folder, "blocks/tea.md").contains("white"));
    assert_eq!(folder.json(&["import", "blocks", "--force"])["updated"], 1);
}

#[test]
fn links_pipes_and_wrong_ids_are_named_and_followed_nowhere() {
    let folder = project();
    folder.write("blocks/a.md", "---\nid: b\n---\n\nx\n");
    folder.write("blocks/c.md", "---\nid: b\n---\n\ny\n");
    folder.write("blocks/d.md", "---\nid: ../d\n---\n\nz\n");
    folder.write("outside/e.md", "---\nid: e\n---\n\nsecret\n");
    std::os::unix::fs::symlink(folder.path("outside"), folder.path("blocks/linked")).unwrap();
    std::os::unix::fs::symlink(folder.path("outside/e.md"), folder.path("blocks/e.md")).unwrap();
    let told = import(&folder);
    // The id in `d.md` is not valid, so the path of the file identifies the block.
    assert_eq!(
        (told["created"].as_u64(), told["refused"].as_u64()),
        (Some(1), Some(4)),
        "{told}"
    );
    assert_eq!(folder.json(&["get", "d"])["content"], "z");
    folder.refused(1, &["get", "e"]);
    folder.refused(1, &["get", "b"]);
    // The export does not write through a symlink either.
    block(&folder, "linked/f", "x");
    let told = folder.json(&["export", "--format", "blocks", "blocks"]);
    assert_eq!(told["left_out"][0]["id"], "linked/f");
    assert!(!folder.path("outside/f.md").exists());
}

#[test]
fn what_vanished_goes_only_when_that_is_asked_for() {
    let folder = project();
    block(&folder, "tea", "green");
    block(&folder, "coffee", "black");
    folder.json(&["export", "--format", "blocks", "blocks"]);
    std::fs::remove_file(folder.path("blocks/coffee.md")).unwrap();
    assert_eq!(import(&folder)["missing"], serde_json::json!(["coffee"]));
    assert_eq!(
        folder.json(&["import", "blocks", "--prune"])["pruned"],
        serde_json::json!(["coffee"])
    );
    folder.refused(1, &["get", "coffee"]);
    folder.json(&["undo"]);
    assert_eq!(folder.json(&["get", "coffee"])["content"], "black");
    std::fs::remove_file(folder.path("blocks/tea.md")).unwrap();
    assert_eq!(
        folder.refused(1, &["import", "blocks", "--prune"])["code"],
        "nothing_to_import"
    );
}

#[test]
fn a_folder_that_holds_too_much_is_refused() {
    let folder = project();
    std::fs::create_dir(folder.path("blocks")).unwrap();
    for number in 0..65 {
        let file = std::fs::File::create(folder.path(&format!("blocks/b{number}.md"))).unwrap();
        // The file is sparse, so it uses no space on the disk.
        file.set_len(4 << 20).unwrap();
    }
    let told = folder.refused(1, &["import", "blocks"]);
    assert_eq!(told["code"], "over_limit");
    assert!(text(&told["message"]).contains("256 MiB"), "{told}");
}

#[test]
fn blocks_of_other_projects_stay_where_they_are() {
    let folder = project();
    folder.json(&[
        "put",
        "theirs",
        "--kind",
        "block",
        "--scope",
        "project:other",
        "--content",
        "x",
    ]);
    assert_eq!(
        folder.json(&["export", "--format", "blocks", "blocks"])["written"],
        0
    );
    folder.write("blocks/theirs.md", "---\nid: theirs\n---\n\nmine\n");
    folder.write(
        "blocks/new.md",
        "---\nid: new\nscope: project:other\n---\n\nmine\n",
    );
    let ran = folder.run(&["import", "blocks", "--json"]);
    assert_eq!((ran.code, ran.documents()[0]["refused"].as_u64()), (1, Some(2)));
    assert_eq!(folder.json(&["get", "theirs"])["content"], "x");
}

#[test]
fn the_edits_of_a_person_keep_their_trust_and_nothing_taken_is_a_failure() {
    let folder = project();
    block(&folder, "tea", "green");
    folder.json(&["export", "--format", "blocks", "blocks"]);
    let edit = |from: &str, to: &str| {
        folder.write("blocks/tea.md", read(&folder, "blocks/tea.md").replace(from, to));
    };
    edit("green", "black");
    assert_eq!(folder.json(&["import", "blocks", "--as-me"])["updated"], 1);
    assert_eq!(folder.json(&["get", "tea"])["origin"], "direct_user");
    edit("black", "white");
    let told = import(&folder);
    assert!(text(&told["files"][0]["said"][0]).contains("--as-me"), "{told}");
    assert_eq!(folder.json(&["get", "tea"])["origin"], "document");
    folder.write("other/tea.md", "---\nid: tea\n---\n\nhijack\n");
    assert_eq!(folder.json(&["import", "other"])["conflicts"], 1);
    folder.write("bad/x.md", "no front matter");
    let ran = folder.run(&["import", "bad", "--json"]);
    assert_eq!((ran.code, ran.documents()[0]["refused"].as_u64()), (1, Some(1)));
    assert!(ran.err.contains("nothing_taken"), "{ran:?}");
}
