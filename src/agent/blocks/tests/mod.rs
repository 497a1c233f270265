//! Tests of files of blocks.

use super::block::*;
use super::id::BlockId;
use super::*;
use crate::Time;
use crate::agent::item::Citation;

mod exchange;
mod properties;

const HEAD: &str = "scope: project\ncreated: 2026-01-01T00:00:00.000Z\nupdated: 2026-01-02T00:00:00.000Z\n";

fn micros_of(text: &str) -> Option<i64> {
    text.parse().ok().map(Time::as_micros)
}

fn id(text: &str) -> BlockId {
    BlockId::new(text).unwrap()
}

fn read(text: &str) -> Result<BlockFile, Unfit> {
    read_block(text.as_bytes(), Some(&id("test-block")))
}

fn good(text: &str) -> Block {
    let file = read(text).unwrap();
    assert_eq!(file.faults, [], "{text}");
    file.block
}

#[test]
fn a_full_block_is_written_as_the_first_system_writes_it() {
    let mut block = Block::new(
        id("kitchen-sink"),
        "## Full Block\n\n- Item 1\n- Item 2\n\n> Quote",
    );
    block.scope = Some("project".to_owned());
    block.tags = ["a", "b", "c"].map(str::to_owned).into();
    block.created_micros = micros_of("2026-01-01T00:00:00.000Z");
    block.updated_micros = micros_of("2026-06-15T12:30:45.123Z");
    block.expires_micros = micros_of("2027-12-31T23:59:59.999Z");
    block.citations = vec![
        Citation {
            file: "a.sql".to_owned(),
            line: Some(1),
            note: Some("First".to_owned()),
        },
        Citation {
            file: "b.sql".to_owned(),
            line: None,
            note: None,
        },
    ];
    let text = write_block(&block).unwrap();
    assert_eq!(
        text,
        "---\nid: kitchen-sink\nscope: project\ncreated: 2026-01-01T00:00:00.000Z\nupdated: 2026-06-15T12:30:45.123Z\n\
         tags: [\"a\",\"b\",\"c\"]\nexpires: 2027-12-31T23:59:59.999Z\n\
         citations: [{\"file\":\"a.sql\",\"line\":1,\"note\":\"First\"},{\"file\":\"b.sql\"}]\n---\n\n\
         ## Full Block\n\n- Item 1\n- Item 2\n\n> Quote\n"
    );
    let path_id = id("kitchen-sink");
    assert_eq!(
        read_block(text.as_bytes(), Some(&path_id)),
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
        let block = Block::new(id("test-block"), content);
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
        (windows.clone(), vec![Fault::WindowsLines]),
        (format!("\u{FEFF}{plain}"), vec![Fault::ByteOrderMark]),
        (
            format!("\u{FEFF}{windows}"),
            vec![Fault::ByteOrderMark, Fault::WindowsLines],
        ),
        (plain.replace("---\n\nLine", "---   \nLine"), vec![]),
        (
            plain.replace("id: test-block", "id:   \"test-block\"\n\n"),
            vec![],
        ),
        (
            plain.replace("id: test-block", "# a comment: here\nid: test-block"),
            vec![Fault::NotAPair(2)],
        ),
        (
            plain.replace("scope", "just words\n: x\nscope"),
            vec![Fault::NotAPair(3), Fault::NotAPair(4)],
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
    // A file without a line end after its front matter.
    assert_eq!(good("---\nid: test-block\n---").content, "");
}

#[test]
fn the_last_of_a_double_key_holds_and_is_said() {
    let text = "---\nid: test-block\nscope: global\nmine: 1\nscope: project\nmine: 2\n---\n\nx\n";
    let file = read(text).unwrap();
    assert_eq!(file.block.scope.as_deref(), Some("project"));
    assert_eq!(file.block.other, [("mine".to_owned(), "2".to_owned())]);
    let twice = |key: &str, line| Fault::KeyTwice {
        key: key.to_owned(),
        line,
    };
    assert_eq!(file.faults, [twice("scope", 5), twice("mine", 6)]);
    let text = format!("---\nid: dup-keys\nid: overwritten-id\n{HEAD}---\n\nContent\n");
    let file = read_block(text.as_bytes(), Some(&id("dup-keys"))).unwrap();
    assert_eq!(file.block.id, id("overwritten-id"));
    assert_eq!(file.faults, [twice("id", 3), Fault::IdNotOfPath(id("dup-keys"))]);
}

#[test]
fn wrong_and_missing_ids_fall_back_to_the_path() {
    let missing = read("---\nscope: global\n---\nx").unwrap();
    assert_eq!(
        (missing.block.id, missing.faults),
        (id("test-block"), vec![Fault::IdMissing])
    );
    let wrong = read("---\nid: ../../etc/passwd\n---\nx").unwrap();
    assert_eq!(wrong.block.id, id("test-block"));
    assert!(matches!(&wrong.faults[..], [Fault::IdWrong { text, .. }] if text == "../../etc/passwd"));
    assert_eq!(read_block(b"---\nscope: a\n---\nx", None), Err(Unfit::NoId));
    assert_eq!(read_block(b"---\nid: A B\n---\nx", None), Err(Unfit::NoId));
    assert_eq!(
        read_block(b"---\nid: fine\n---\nx", None).unwrap().block.id,
        id("fine")
    );
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
        (b"\x89PNG\r\n\x1a\n", Unfit::NotText(0)),
        (b"---\nid: a\n---\n\xff", Unfit::NotText(14)),
    ] {
        assert_eq!(read_block(bytes, Some(&id("a"))), Err(reason), "{bytes:?}");
    }
}

#[test]
fn tags_and_citations_lose_only_what_is_wrong() {
    let of = |line: &str| read(&format!("---\nid: test-block\n{line}\n---\n\nx\n")).unwrap();
    let tags = |line: &str| {
        let file = of(line);
        (file.block.tags, file.faults)
    };
    let texts = |texts: &[&str]| {
        texts
            .iter()
            .map(|text| (*text).to_owned())
            .collect::<Vec<String>>()
    };
    assert_eq!(
        tags("tags: [\"yes\", \"no\", \"true\", \"null\"]"),
        (texts(&["yes", "no", "true", "null"]), vec![])
    );
    assert_eq!(
        tags("tags: [\"a\", 5, null, \"b\"]"),
        (texts(&["a", "b"]), vec![Fault::TagWrong(1), Fault::TagWrong(2)])
    );
    assert_eq!(
        tags("tags: [a, 'b c', \"d\"]"),
        (texts(&["a", "b c", "d"]), vec![Fault::TagsAreWords])
    );
    assert_eq!(
        tags("tags: a, b"),
        (texts(&["a", "b"]), vec![Fault::TagsAreWords])
    );
    assert_eq!(
        tags("tags: [not valid json"),
        (texts(&["not valid json"]), vec![Fault::TagsAreWords])
    );
    assert_eq!(tags("tags:"), (vec![], vec![]));
    let file = of(
        r#"citations: [{"file":"a","line":0},{"file":""},{"line":3},7,{"file":"b","line":2,"note":null},{"file":"c","note":5}]"#,
    );
    let citation = |file: &str, line| Citation {
        file: file.to_owned(),
        line,
        note: None,
    };
    assert_eq!(
        file.block.citations,
        [citation("a", None), citation("b", Some(2)), citation("c", None)]
    );
    assert_eq!(
        file.faults,
        [
            Fault::CitationFieldWrong(0),
            Fault::CitationWrong(1),
            Fault::CitationWrong(2),
            Fault::CitationWrong(3),
            Fault::CitationFieldWrong(5),
        ]
    );
    assert_eq!(of("citations: none").faults, [Fault::CitationsWrong]);
    let deep = format!("citations: {}", "[".repeat(100_000));
    assert_eq!(of(&deep).faults, [Fault::CitationsWrong]);
}

#[test]
fn times_that_cannot_be_read_are_left_out_and_said() {
    let file = read("---\nid: test-block\ncreated: 2026-01-01\nupdated: '2026-01-02T00:00:00Z'\nexpires: never\n---\n\nx\n").unwrap();
    assert_eq!(
        (file.block.created_micros, file.block.expires_micros),
        (None, None)
    );
    assert_eq!(file.block.updated_micros, micros_of("2026-01-02T00:00:00Z"));
    let wrong = |key, text: &str| Fault::TimeWrong {
        key,
        text: text.to_owned(),
    };
    assert_eq!(
        file.faults,
        [wrong("created", "2026-01-01"), wrong("expires", "never")]
    );
    assert!(file.faults.iter().all(|finding| !finding.to_string().is_empty()));
}

#[test]
fn what_a_file_cannot_hold_is_refused() {
    let with = |change: fn(&mut Block)| {
        let mut block = Block::new(id("a"), "x");
        change(&mut block);
        write_block(&block)
    };
    let pair = |key: &str| Err(Unfit::Pair(key.to_owned()));
    assert_eq!(
        with(|block| block.scope = Some("a\nid: b".to_owned())),
        pair("scope")
    );
    assert_eq!(
        with(|block| block.scope = Some("\"a\"".to_owned())),
        pair("scope")
    );
    assert_eq!(with(|block| block.scope = Some(String::new())), pair("scope"));
    assert_eq!(
        with(|block| block.other = vec![("id".to_owned(), "b".to_owned())]),
        pair("id")
    );
    assert_eq!(
        with(|block| block.other = vec![("a:b".to_owned(), "b".to_owned())]),
        pair("a:b")
    );
    assert_eq!(
        with(|block| block.other = vec![("a".to_owned(), "b\n---".to_owned())]),
        pair("a")
    );
    assert_eq!(
        with(|block| block.created_micros = Some(i64::MAX)),
        Err(Unfit::Time("created"))
    );
    let empty = Citation {
        file: String::new(),
        line: None,
        note: None,
    };
    assert_eq!(
        write_block(&Block {
            citations: vec![empty],
            ..Block::new(id("a"), "x")
        }),
        Err(Unfit::Citation(0))
    );
}

#[test]
fn paths_and_ids_stand_for_each_other() {
    for (path, expected) in [
        ("a.md", Ok("a")),
        ("warehouse/snowflake.md", Ok("warehouse/snowflake")),
        ("v1.0/config.md", Ok("v1.0/config")),
        ("a.md.md", Ok("a.md")),
        ("a.txt", Err(Unfit::NotMarkdown)),
        ("orphan.md.tmp", Err(Unfit::NotMarkdown)),
        ("a.md.tmp.1700000000000.abc123", Err(Unfit::NotMarkdown)),
        (".hidden.md", Err(Unfit::Hidden)),
        (".git/a.md", Err(Unfit::Hidden)),
        ("../a.md", Err(Unfit::Hidden)),
        ("a/../../b.md", Err(Unfit::Hidden)),
        ("/etc/a.md", Err(Unfit::Outside)),
        ("c:/a.md", Err(Unfit::Outside)),
        ("..\\a.md", Err(Unfit::Outside)),
        ("a.md/b.md", Err(Unfit::FolderLikeFile)),
    ] {
        assert_eq!(id_of_path(path), expected.map(id), "{path}");
    }
    assert!(matches!(id_of_path("README.md"), Err(Unfit::PathNoId(_))));
    assert_eq!(path_of(&id("a/b")), Ok("a/b.md".to_owned()));
    assert_eq!(path_of(&id("x/a.md/b")), Err(Unfit::FolderLikeFile));
}
