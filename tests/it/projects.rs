//! Projects: folders that are renamed, folders of one name, worktrees, and folders that claim what is not theirs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;

use super::program::{Folder, Ran, text};

const REGISTER: &str = "home/.local/state/treering/projects";

/// Runs the program with `--json` in a folder below. All folders share the store of the user.
fn run_in(folder: &Folder, below: &str, arguments: &[&str]) -> Ran {
    let mut command = folder.command(&[arguments, &["--json"]].concat());
    Ran::of(&command.current_dir(folder.path(below)).output().unwrap())
}

fn json_in(folder: &Folder, below: &str, arguments: &[&str]) -> Value {
    let ran = run_in(folder, below, arguments);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.documents().remove(0)
}

fn remember(folder: &Folder, below: &str, fact: &str) -> String {
    text(&json_in(folder, below, &["remember", fact])["scope"])
}

fn scope(folder: &Folder, below: &str) -> String {
    text(&json_in(folder, below, &["project"])["scope"])
}

/// Whether the default scopes of a folder have the word.
fn finds(folder: &Folder, below: &str, word: &str) -> bool {
    let ran = run_in(folder, below, &["recall", word]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.documents()[0]["hits"]
        .as_array()
        .unwrap()
        .iter()
        .any(|hit| hit.to_string().contains(word))
}

fn repository(folder: &Folder, below: &str) {
    fs::create_dir_all(folder.path(below).join(".git")).unwrap();
}

/// Makes a linked worktree of a repository, as git writes it.
fn worktree(folder: &Folder, common: &str, name: &str, below: &str) {
    let own = folder.path(common).join("worktrees").join(name);
    let link = folder.path(below).join(".git");
    fs::create_dir_all(&own).unwrap();
    fs::create_dir_all(folder.path(below)).unwrap();
    fs::write(&link, format!("gitdir: {}\n", own.display())).unwrap();
    fs::write(own.join("gitdir"), format!("{}\n", link.display())).unwrap();
    fs::write(own.join("commondir"), "../..\n").unwrap();
}

#[test]
fn a_renamed_folder_keeps_its_memory_and_another_one_of_its_name_has_its_own() {
    let folder = Folder::new();
    repository(&folder, "a/tea");
    assert_eq!(remember(&folder, "a/tea", "the kettle is red"), "project:tea");
    repository(&folder, "b/tea");
    // INVARIANT PRJ-1
    assert!(!finds(&folder, "b/tea", "kettle"));
    let other = remember(&folder, "b/tea", "the samovar is blue");
    assert!(other.starts_with("project:tea~"), "{other}");
    assert!(finds(&folder, "b/tea", "samovar") && !finds(&folder, "a/tea", "samovar"));
    fs::rename(folder.path("a/tea"), folder.path("b/coffee")).unwrap();
    assert!(finds(&folder, "b/coffee", "kettle"));
    assert_eq!(remember(&folder, "b/coffee", "the cups are white"), "project:tea");
    // A folder at the old place is another folder, also one with the old name.
    repository(&folder, "a/tea");
    assert!(!finds(&folder, "a/tea", "kettle"));
    let third = scope(&folder, "a/tea");
    assert!(third.starts_with("project:tea~") && third != other, "{third}");
    // A link is the folder that it leads to, and a folder in a project belongs to it.
    symlink(folder.path("b/coffee"), folder.path("link")).unwrap();
    fs::create_dir_all(folder.path("b/coffee/src/deep")).unwrap();
    assert!(finds(&folder, "link", "kettle") && finds(&folder, "b/coffee/src/deep", "kettle"));
    let listed: Vec<Value> = run_in(&folder, "b/coffee", &["project", "list"]).documents();
    let tea = listed.iter().find(|row| row["project"] == "tea").unwrap();
    assert_eq!((&tea["objects"], &tea["current"]), (&2.into(), &true.into()));
    assert!(text(&tea["folders"][0]).ends_with("b/coffee"), "{tea}");
}

#[test]
fn a_store_in_the_folder_keeps_the_name_when_the_folder_is_renamed() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("tea")).unwrap();
    json_in(&folder, "tea", &["init"]);
    remember(&folder, "tea", "the kettle is red");
    fs::rename(folder.path("tea"), folder.path("coffee")).unwrap();
    json_in(&folder, "coffee", &["trust-store"]);
    assert!(finds(&folder, "coffee", "kettle"));
    // Names are those of a store: another store has its own project of that name.
    fs::create_dir_all(folder.path("other/tea")).unwrap();
    json_in(&folder, "other/tea", &["init"]);
    assert_eq!(remember(&folder, "other/tea", "x y z"), "project:tea");
}

#[test]
fn a_person_lets_a_folder_join_and_leave() {
    let folder = Folder::new();
    repository(&folder, "a/tea");
    repository(&folder, "b/tea");
    remember(&folder, "a/tea", "the kettle is red");
    let own = remember(&folder, "b/tea", "the samovar is blue");
    // Without a terminal, only the option confirms.
    assert_eq!(run_in(&folder, "b/tea", &["project", "join", "tea"]).code, 2);
    assert!(!finds(&folder, "b/tea", "kettle"));
    assert_eq!(
        run_in(&folder, "b/tea", &["project", "join", "cocoa", "--yes"]).code,
        1
    );
    let joined = json_in(&folder, "b/tea", &["project", "join", "tea", "--yes"]);
    assert_eq!(joined["scope"], "project:tea");
    assert_eq!(joined["folders"].as_array().unwrap().len(), 2, "{joined}");
    assert!(finds(&folder, "b/tea", "kettle"));
    assert_eq!(json_in(&folder, "b/tea", &["project", "leave"])["scope"], own);
    assert!(finds(&folder, "b/tea", "samovar") && !finds(&folder, "b/tea", "kettle"));
}

#[test]
fn a_linked_worktree_has_the_memory_of_its_repository() {
    let folder = Folder::new();
    repository(&folder, "tea");
    worktree(&folder, "tea/.git", "hotfix", "trees/hotfix");
    assert_eq!(
        remember(&folder, "trees/hotfix", "the kettle is red"),
        "project:tea"
    );
    assert!(finds(&folder, "tea", "kettle"));
    // It is known also after it or its repository was moved.
    fs::rename(folder.path("trees/hotfix"), folder.path("trees/fix")).unwrap();
    assert!(finds(&folder, "trees/fix", "kettle"));
    fs::rename(folder.path("tea"), folder.path("coffee")).unwrap();
    assert!(finds(&folder, "coffee", "kettle") && finds(&folder, "trees/fix", "kettle"));
    // The worktrees of a repository without a main one share its memory.
    for name in ["main", "next"] {
        worktree(&folder, "cocoa.git", name, &format!("cocoa/{name}"));
    }
    assert_eq!(
        remember(&folder, "cocoa/main", "the beans are dark"),
        "project:cocoa"
    );
    assert!(finds(&folder, "cocoa/next", "beans"));
    // A submodule is a repository of its own.
    fs::create_dir_all(folder.path("coffee/.git/modules/lib")).unwrap();
    folder.write("coffee/lib/.git", "gitdir: ../.git/modules/lib\n");
    assert_eq!(scope(&folder, "coffee/lib"), "project:lib");
}

/// INVARIANT PRJ-3: no file in a folder claims the project of another folder.
#[test]
fn no_file_in_a_folder_claims_a_project() {
    let folder = Folder::new();
    repository(&folder, "tea");
    worktree(&folder, "tea/.git", "hotfix", "trees/hotfix");
    remember(&folder, "tea", "the kettle is red");
    let at = |path: &str| folder.path(path).display().to_string();
    folder.write(
        "evil1/.git",
        format!("gitdir: {}\n", at("tea/.git/worktrees/hotfix")),
    );
    folder.write("evil2/.git", format!("gitdir: {}\n", at("tea/.git")));
    fs::create_dir_all(folder.path("evil3")).unwrap();
    symlink(folder.path("trees/hotfix/.git"), folder.path("evil3/.git")).unwrap();
    fs::create_dir_all(folder.path("evil4")).unwrap();
    symlink(folder.path("tea/.git"), folder.path("evil4/.git")).unwrap();
    // A folder that brings its own folder of git along, which names the repository.
    folder.write("evil5/.git", "gitdir: own/worktrees/x\n");
    folder.write("evil5/own/worktrees/x/gitdir", format!("{}\n", at("evil5/.git")));
    folder.write("evil5/own/worktrees/x/commondir", format!("{}\n", at("tea/.git")));
    folder.write("evil6/.git", "gitdir:\n");
    folder.write("evil7/.git", [0xff, 0xfe, b'\n']);
    for number in 1..=7 {
        let evil = format!("evil{number}");
        assert!(!finds(&folder, &evil, "kettle"), "{evil}");
        assert_eq!(scope(&folder, &evil), format!("project:{evil}"));
    }
    // A mark inside of a repository may have come with it, so it claims no name, not even a free one.
    repository(&folder, "clone");
    fs::create_dir_all(folder.path("clone/tea/.opencode")).unwrap();
    fs::create_dir_all(folder.path("clone/cocoa/.hg")).unwrap();
    assert!(!finds(&folder, "clone/tea", "kettle"));
    let free = scope(&folder, "clone/cocoa");
    assert!(free.starts_with("project:cocoa~"), "{free}");
}

#[test]
fn folders_that_come_at_once_get_different_projects() {
    let folder = Folder::new();
    remember(&folder, "", "a first fact makes the store");
    let names: Vec<String> = (0..8).map(|number| format!("{number}/tea")).collect();
    for name in &names {
        repository(&folder, name);
    }
    let of = |name: &String| {
        let mut command = folder.command(&["project", "--json"]);
        command
            .current_dir(folder.path(name))
            .stdout(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let running: Vec<_> = names.iter().flat_map(|name| [of(name), of(name)]).collect();
    let mut scopes: Vec<String> = Vec::new();
    for child in running {
        let ran = Ran::of(&child.wait_with_output().unwrap());
        scopes.push(text(&ran.documents()[0]["scope"]));
    }
    assert!(scopes.chunks(2).all(|pair| pair[0] == pair[1]), "{scopes:?}");
    scopes.sort();
    scopes.dedup();
    assert_eq!(scopes.len(), names.len(), "{scopes:?}");
    assert_eq!(scopes[0], "project:tea");
}

/// INVARIANT PRJ-2: a damaged register is not written, and gives nobody the project of another folder.
#[test]
fn a_damaged_register_is_told_and_not_written() {
    let folder = Folder::new();
    repository(&folder, "a/tea");
    repository(&folder, "b/tea");
    remember(&folder, "a/tea", "the kettle is red");
    let register = folder.path(REGISTER);
    let whole = fs::read_to_string(&register).unwrap();
    for damaged in [format!("{whole}{{\"half\":"), "no entry at all\n".to_owned()] {
        fs::write(&register, &damaged).unwrap();
        let ran = run_in(&folder, "a/tea", &["recall", "kettle"]);
        assert!(ran.code == 0 && ran.err.contains(REGISTER), "{ran:?}");
        assert_eq!(finds(&folder, "a/tea", "kettle"), damaged.starts_with(&whole));
        assert!(!finds(&folder, "b/tea", "kettle"));
        assert!(remember(&folder, "b/tea", "the samovar is blue").starts_with("project:tea~"));
        assert_eq!(
            run_in(&folder, "b/tea", &["project", "join", "tea", "--yes"]).code,
            1
        );
        assert_eq!(fs::read_to_string(&register).unwrap(), damaged);
    }
    // A register that cannot be read at all.
    fs::remove_file(&register).unwrap();
    fs::create_dir(&register).unwrap();
    assert!(!finds(&folder, "b/tea", "kettle"));
    fs::remove_dir(&register).unwrap();
    fs::write(&register, whole).unwrap();
    assert!(finds(&folder, "a/tea", "kettle"));
}

#[test]
fn memories_of_before_are_found_and_moved_in_one_commit() {
    let folder = Folder::new();
    repository(&folder, "tea");
    remember(&folder, "tea", "the kettle is red");
    json_in(
        &folder,
        "tea",
        &["session", "append", "green tea please", "--session", "s1"],
    );
    // An earlier version had no register, and the name of the folder was the project.
    fs::remove_file(folder.path(REGISTER)).unwrap();
    assert!(finds(&folder, "tea", "kettle"));
    fs::remove_file(folder.path(REGISTER)).unwrap();
    fs::rename(folder.path("tea"), folder.path("coffee")).unwrap();
    assert!(!finds(&folder, "coffee", "kettle"));
    let plan = json_in(&folder, "coffee", &["project", "move", "tea", "--dry-run"]);
    let moved = json_in(&folder, "coffee", &["project", "move", "tea"]);
    assert_eq!(
        (&moved["moved"], &plan["moved"]),
        (&3.into(), &3.into()),
        "{moved}"
    );
    assert_eq!(
        (&moved["from"], &moved["to"]),
        (&"project:tea".into(), &"project:coffee".into())
    );
    assert!(finds(&folder, "coffee", "kettle"));
    let sessions = run_in(&folder, "coffee", &["session", "list"]).documents();
    assert_eq!(sessions[0]["scope"], "project:coffee");
    let again = run_in(&folder, "coffee", &["project", "move", "tea"]);
    assert_eq!(again.refusal(1)["code"], "not_found");
    json_in(&folder, "coffee", &["undo"]);
    assert!(!finds(&folder, "coffee", "kettle"));
    // The project of another folder is moved only if a person confirms it.
    remember(&folder, "coffee", "the beans are dark");
    repository(&folder, "cocoa");
    assert_eq!(run_in(&folder, "cocoa", &["project", "move", "coffee"]).code, 2);
    assert!(Path::new(&folder.path("cocoa")).exists() && !finds(&folder, "cocoa", "beans"));
    json_in(&folder, "cocoa", &["project", "move", "coffee", "--yes"]);
    assert!(finds(&folder, "cocoa", "beans"));
}
