//! Tests of reading and writing block files.

use serde_json::json;

use super::block::*;
use super::id::block_id;
use super::*;
use crate::Time;
use crate::agent::fault::Fault;
use crate::agent::vocabulary::attribute;
use crate::ingest::json::value_from_json;
use crate::object::{Attributes, Id, Value};

mod exchange;
mod properties;

const HEAD: &str = "scope: project\ncreated: 2026-01-01T00:00:00.000Z\nupdated: 2026-01-02T00:00:00.000Z\n";

fn time_of(text: &str) -> Option<Time> {
    text.parse().ok()
}

fn id(text: &str) -> Id {
    block_id(text).unwrap()
}

/// Returns a block with only an id and a content.
fn plain_block(name: &str, content: impl Into<String>) -> Block {
    Block {
        id: id(name),
        scope: None,
        created: None,
        updated: None,
        expires: None,
        attributes: Attributes::new(),
        content: content.into(),
    }
}

fn value(json: &serde_json::Value) -> Value {
    value_from_json(json.clone()).unwrap()
}

fn read(text: &str) -> Result<BlockFile, Unfit> {
    read_block(text.as_bytes(), &id("test-block"))
}

fn good(text: &str) -> Block {
    let file = read(text).unwrap();
    assert_eq!(file.faults, [], "{text}");
    file.block
}

#[test]
fn a_full_block_is_written_as_the_first_system_writes_it() {
    let mut block = plain_block("kitchen-sink", "## Full Block\n\n- Item 1\n- Item 2\n\n> Quote");
    block.scope = Some("project".to_owned());
    let citations = json!([{"file": "a.sql", "line": 1, "note": "First"}, {"file": "b.sql"}]);
    block.attributes = [
        (attribute::TAGS.to_owned(), value(&json!(["a", "b", "c"]))),
        (attribute::CITATIONS.to_owned(), value(&citations)),
    ]
    .into_iter()
    .collect();
    block.created = time_of("2026-01-01T00:00:00.000Z");
    block.updated = time_of("2026-06-15T12:30:45.123Z");
    block.expires = time_of("2027-12-31T23:59:59.999Z");
    let text = write_block(&block).unwrap();
    assert_eq!(
        text,
        "---\nid: kitchen-sink\nscope: project\ncreated: 2026-01-01T00:00:00.000Z\nupdated: 2026-06-15T12:30:45.123Z\n\
         tags: [\"a\",\"b\",\"c\"]\nexpires: 2027-12-31T23:59:59.999Z\n\
         citations: [{\"file\":\"a.sql\",\"line\":1,\"note\":\"First\"},{\"file\":\"b.sql\"}]\n---\n\n\
         ## Full Block\n\n- Item 1\n- Item 2\n\n> Quote\n"
    );
    assert_eq!(
        read_block(text.as_bytes(), &id("kitchen-sink")),
        Ok(BlockFile {
            block,
            faults: Vec::new()
        })
    );
}

#[test]
fn contents_that_look_like_front_matter_survive() {
    for content in [
        "Line 1\n---\nnot front matter\n---\nLine 5",
        "---\nsome: yaml\n---\nactual content",
        "---",
        "",
        "   \n\n   ",
        "\n\nactual content\n\n",
        "Line 1\nLine 2\rLine 3\r\nLine 4",
        "```sql\nSELECT `col` FROM $table\n```",
        "\u{FEFF}mark",
        "数据仓库配置: Snowflake 🏭",
        "\0\0\0",
        "---\r\n",
        "id: other\nwhitespace: kept",
    ] {
        let block = plain_block("test-block", content);
        assert_eq!(
            good(&write_block(&block).unwrap()).content,
            content,
            "{content:?}"
        );
    }
}

#[test]
fn files_from_other_editors_are_read_and_it_is_said() {
    let plain = format!("---\nid: test-block\n{HEAD}---\n\nLine 1\nLine 2\n");
    let windows = plain.replace('\n', "\r\n");
    let expected = good(&plain);
    assert_eq!(expected.content, "Line 1\nLine 2");
    let cases = [
        (windows.clone(), vec![FileFault::WindowsLines.into()]),
        (format!("\u{FEFF}{plain}"), vec![FileFault::ByteOrderMark.into()]),
        (
            format!("\u{FEFF}{windows}"),
            vec![FileFault::ByteOrderMark.into(), FileFault::WindowsLines.into()],
        ),
        (plain.replace("---\n\nLine", "---   \nLine"), vec![]),
        (
            plain.replace("id: test-block", "id:   \"test-block\"\n\n"),
            vec![],
        ),
        (
            plain.replace("id: test-block", "# a comment: here\nid: test-block"),
            vec![Fault::of(FileFault::NotAPair, "2")],
        ),
        (
            plain.replace("scope", "just words\n: x\nscope"),
            vec![
                Fault::of(FileFault::NotAPair, "3"),
                Fault::of(FileFault::NotAPair, "4"),
            ],
        ),
    ];
    for (text, faults) in cases {
        assert_eq!(
            read(&text),
            Ok(BlockFile {
                block: expected.clone(),
                faults
            }),
            "{text:?}"
        );
    }
    // A file that ends directly after its front matter.
    assert_eq!(good("---\nid: test-block\n---").content, "");
}

#[test]
fn the_last_of_a_double_key_holds_and_is_said() {
    let text = "---\nid: test-block\nscope: global\nmine: 1\nscope: project\nmine: 2\n---\n\nx\n";
    let file = read(text).unwrap();
    assert_eq!(file.block.scope.as_deref(), Some("project"));
    assert_eq!(file.block.attributes.get("mine"), Some(&Value::Integer(2)));
    let twice = |key: &str| Fault::of(FileFault::KeyTwice, key);
    assert_eq!(file.faults, [twice("scope"), twice("mine")]);
    let text = format!("---\nid: dup-keys\nid: overwritten-id\n{HEAD}---\n\nContent\n");
    let file = read_block(text.as_bytes(), &id("dup-keys")).unwrap();
    assert_eq!(file.block.id, id("overwritten-id"));
    assert_eq!(
        file.faults,
        [twice("id"), Fault::of(FileFault::IdNotOfPath, "dup-keys")]
    );
}

#[test]
fn wrong_and_missing_ids_fall_back_to_the_path() {
    let missing = read("---\nscope: global\n---\nx").unwrap();
    assert_eq!(
        (missing.block.id, missing.faults),
        (id("test-block"), vec![FileFault::IdMissing.into()])
    );
    let wrong = read("---\nid: ../../etc/passwd\n---\nx").unwrap();
    assert_eq!(wrong.block.id, id("test-block"));
    assert_eq!(wrong.faults, [Fault::of(FileFault::IdWrong, "../../etc/passwd")]);
}

#[test]
fn files_without_a_block_are_refused_with_the_reason() {
    for (bytes, reason) in [
        (&b""[..], Unfit::NoFrontMatter),
        (b"just text", Unfit::NoFrontMatter),
        (b"\n---\nid: a\n---\n", Unfit::NoFrontMatter),
        (b"----\nid: a\n---\n", Unfit::NoFrontMatter),
        (b"---\rid: a\r---\r", Unfit::NoFrontMatter),
        (b"---\nid: oops\nno end\n", Unfit::OpenFrontMatter),
        (b"---", Unfit::OpenFrontMatter),
        (b"\x89PNG\r\n\x1a\n", Unfit::NotText),
        (b"---\nid: a\n---\n\xff", Unfit::NotText),
    ] {
        assert_eq!(read_block(bytes, &id("a")), Err(reason), "{bytes:?}");
    }
}

#[test]
fn tags_and_other_attributes_are_json_or_words() {
    let of = |line: &str| read(&format!("---\nid: test-block\n{line}\n---\n\nx\n")).unwrap();
    let words = vec![FileFault::TagsAreWords.into()];
    for (line, tags, faults) in [
        (
            "tags: [\"yes\", \"no\", \"true\", \"null\"]",
            json!(["yes", "no", "true", "null"]),
            vec![],
        ),
        ("tags: [a, 'b c', \"d\"]", json!(["a", "b c", "d"]), words.clone()),
        ("tags: a, b", json!(["a", "b"]), words.clone()),
        ("tags: [not valid json", json!(["not valid json"]), words),
    ] {
        let file = of(line);
        assert_eq!(file.block.attributes.get("tags"), Some(&value(&tags)), "{line}");
        assert_eq!(file.faults, faults, "{line}");
    }
    assert!(of("tags:").block.attributes.is_empty());
    let deep = "[".repeat(100_000);
    for (line, read) in [("none", json!("none")), ("[5]", json!([5])), (&deep, json!(deep))] {
        let file = of(&format!("citations: {line}"));
        assert_eq!(file.block.attributes.get("citations"), Some(&value(&read)));
    }
}

#[test]
fn times_that_cannot_be_read_are_left_out_and_said() {
    let file = read("---\nid: test-block\ncreated: 2026-01-01\nupdated: '2026-01-02T00:00:00Z'\nexpires: never\n---\n\nx\n").unwrap();
    assert_eq!((file.block.created, file.block.expires), (None, None));
    assert_eq!(file.block.updated, time_of("2026-01-02T00:00:00Z"));
    let wrong = |text: &str| Fault::of(FileFault::TimeWrong, text);
    assert_eq!(file.faults, [wrong("2026-01-01"), wrong("never")]);
    assert!(file.faults.iter().all(|finding| !finding.to_string().is_empty()));
}

#[test]
fn what_a_file_cannot_hold_is_refused() {
    let with = |change: fn(&mut Block)| {
        let mut block = plain_block("a", "x");
        change(&mut block);
        write_block(&block)
    };
    let pair = |key: &str| Err(Fault::of(Unfit::Pair, key));
    assert_eq!(
        with(|block| block.scope = Some("a\nid: b".to_owned())),
        pair("scope")
    );
    assert_eq!(
        with(|block| block.scope = Some("\"a\"".to_owned())),
        pair("scope")
    );
    assert_eq!(with(|block| block.scope = Some(String::new())), pair("scope"));
    assert_eq!(with(|block| drop(block.attributes.insert("id", "b"))), pair("id"));
    assert_eq!(
        with(|block| drop(block.attributes.insert("a:b", "b"))),
        pair("a:b")
    );
    assert_eq!(
        with(|block| drop(block.attributes.insert("tags", "b"))),
        pair("tags")
    );
}

#[test]
fn paths_and_ids_stand_for_each_other() {
    for (path, expected) in [
        ("a.md", Ok("a")),
        ("warehouse/snowflake.md", Ok("warehouse/snowflake")),
        ("v1.0/config.md", Ok("v1.0/config")),
        ("a.md.md", Ok("a.md")),
        ("a.txt", Err(Unfit::NotAPath)),
        ("orphan.md.tmp", Err(Unfit::NotAPath)),
        ("a.md.tmp.1700000000000.abc123", Err(Unfit::NotAPath)),
        (".hidden.md", Err(Unfit::NotAPath)),
        (".git/a.md", Err(Unfit::NotAPath)),
        ("../a.md", Err(Unfit::NotAPath)),
        ("a/../../b.md", Err(Unfit::NotAPath)),
        ("/etc/a.md", Err(Unfit::NotAPath)),
        ("c:/a.md", Err(Unfit::NotAPath)),
        ("..\\a.md", Err(Unfit::NotAPath)),
        ("a.md/b.md", Err(Unfit::FolderLikeFile)),
    ] {
        assert_eq!(id_of_path(path), expected.map(id), "{path}");
    }
    assert_eq!(id_of_path("README.md"), Err(Unfit::NotAPath));
    assert_eq!(path_of(&id("a/b")), Ok("a/b.md".to_owned()));
    assert_eq!(path_of(&id("x/a.md/b")), Err(Unfit::FolderLikeFile));
}
