//! `export --format dot|svg|html`: the diagrams that it writes, and the calls that it refuses.

use crate::program::Folder;

#[test]
fn pictures_are_written_to_files_and_to_standard_output() {
    let folder = Folder::with_store();
    folder.put("a", "one");
    folder.json(&["snapshot", "good"]);
    folder.put("b", "two");
    for (format, start) in [
        ("dot", "digraph tree {"),
        ("svg", "<?xml "),
        ("html", "<!doctype html>"),
    ] {
        let name = format!("picture.{format}");
        let told = folder.json(&["export", "--format", format, &name]);
        assert_eq!(told["path"], name.as_str());
        let written = std::fs::read_to_string(folder.path(&name)).unwrap();
        assert_eq!(told["bytes"].as_u64(), Some(written.len() as u64));
        assert!(written.starts_with(start), "{written}");
        let printed = folder.run(&["export", "--format", format]).out;
        assert_eq!(printed.trim_end(), written.trim_end());
    }
    let history = folder
        .run(&["export", "--format", "dot", "--picture", "history"])
        .out;
    assert!(history.contains("1 put") && history.contains("good"), "{history}");
    let trie = folder
        .run(&["export", "--format", "dot", "--picture", "trie", "--from", "good"])
        .out;
    assert!(trie.contains(": b") && trie.contains("shared"), "{trie}");
}

#[test]
fn a_picture_is_no_json_document_and_needs_what_it_draws() {
    let folder = Folder::with_store();
    folder.put("a", "one");
    for (arguments, code) in [
        (&["export", "--format", "svg"][..], "unsupported_format"),
        (&["export", "--format", "org"], "unsupported_format"),
        (&["export", "--format", "markdown"], "unsupported_format"),
        (
            &["export", "--format", "svg", "--under", "nobody", "x.svg"],
            "not_found",
        ),
        (
            &[
                "export",
                "--format",
                "svg",
                "--picture",
                "trie",
                "--from",
                "nowhere",
                "x.svg",
            ],
            "no_revision",
        ),
    ] {
        assert_eq!(folder.refused(1, arguments)["code"], code, "{arguments:?}");
    }
    assert!(!folder.path("x.svg").exists());
}
