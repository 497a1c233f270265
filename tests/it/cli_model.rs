//! The verb `model`: the models for recall by meaning.

use std::fs;

use super::program::{Folder, Ran, check_fields, text};

const MODELS: &str = "home/.local/share/treering/models";

fn list(folder: &Folder, arguments: &[&str]) -> Ran {
    let mut command = folder.command(&[&["model", "list"], arguments].concat());
    let ran = Ran::of(&command.env_remove("TREERING_MODEL").output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran
}

/// Returns the names of the listed models with their states, and which one recall uses.
fn listed(folder: &Folder, arguments: &[&str]) -> (Vec<(String, String)>, Option<String>) {
    let ran = list(folder, &[arguments, &["--json"]].concat());
    let rows = ran.documents();
    let used = rows.iter().find(|row| row["used"] == true);
    let used = used.map(|row| text(&row["name"]));
    let states = rows.iter().map(|row| (text(&row["name"]), text(&row["state"])));
    (states.collect(), used)
}

#[test]
fn the_bundled_model_is_used_unless_a_setting_says_otherwise() {
    let folder = Folder::new();
    let (states, used) = listed(&folder, &[]);
    assert_eq!(states[0], ("bundled".to_owned(), "bundled".to_owned()));
    assert!(states.contains(&("multilingual-e5-small".to_owned(), "known".to_owned())));
    assert_eq!(used.as_deref(), Some("bundled"));

    folder.write("none.toml", "[meaning]\nmodel = \"none\"\n");
    assert_eq!(listed(&folder, &["--settings", "none.toml"]).1, None);
    folder.write("other.toml", "[meaning]\nmodel = \"e5\"\n");
    let ran = list(&folder, &["--settings", "other.toml"]);
    assert!(ran.err.contains("no model e5 is installed"), "{}", ran.err);
}

#[test]
fn each_model_has_the_fields_of_the_contract() {
    let folder = Folder::new();
    folder.write(&format!("{MODELS}/e5.model"), "not a model");
    for row in list(&folder, &["--json"]).documents() {
        check_fields(
            &row,
            &[
                ("name", "string"),
                ("digest", "string?"),
                ("dim", "number?"),
                ("languages", "list"),
                ("bytes", "number?"),
                ("state", "string"),
            ],
        );
        assert_eq!(row["state"] == "known", row["digest"].is_string(), "{row}");
        assert_eq!(row["state"] == "bundled", row["dim"] == 384, "{row}");
    }
}

/// INVARIANT MEA-1: a damaged model is not an error.
#[test]
fn a_damaged_model_is_named_and_can_be_removed() {
    let folder = Folder::new();
    folder.write(&format!("{MODELS}/e5.model"), "not a model");
    let (states, used) = listed(&folder, &[]);
    assert!(
        states.contains(&("e5".to_owned(), "damaged".to_owned())),
        "{states:?}"
    );
    assert_eq!(used, None);
    let answer = folder.json(&["model", "remove", "e5"]);
    assert_eq!(answer["installed"], false);
    assert_eq!(listed(&folder, &[]).1.as_deref(), Some("bundled"));
    let error = folder.refused(1, &["model", "remove", "e5"]);
    assert!(text(&error["message"]).contains("e5"), "{error}");
    folder.refused(1, &["model", "remove", "../e5"]);
}

#[test]
fn what_is_no_known_model_is_refused_with_the_reason() {
    let folder = Folder::new();
    folder.write("notes.txt", "no archive");
    let error = folder.refused(1, &["model", "install", "notes.txt"]);
    assert!(text(&error["message"]).contains("no zip archive"), "{error}");
    // The digest of an archive is compared before anything of it is read as an archive.
    let error = folder.refused(1, &["model", "install", "notes.txt", "--digest", "00"]);
    assert!(text(&error["message"]).contains("another SHA-256"), "{error}");
    fs::create_dir(folder.path("empty")).unwrap();
    let error = folder.refused(1, &["model", "install", "empty"]);
    assert!(text(&error["message"]).contains("no weights"), "{error}");
    folder.write("other/model.safetensors", "weights");
    let error = folder.refused(1, &["model", "install", "other"]);
    assert!(text(&error["message"]).contains("not on the list"), "{error}");
    let error = folder.refused(1, &["model", "install", "other", "--digest", "00"]);
    assert!(text(&error["message"]).contains("another SHA-256"), "{error}");
    let error = folder.refused(1, &["model", "install", "other", "--name", "none"]);
    assert!(text(&error["message"]).contains("cannot be the name"), "{error}");
    assert!(!folder.path(MODELS).exists());
}
