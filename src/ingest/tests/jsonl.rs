//! Tests of each kind of line in a JSON Lines file.

use super::*;
use crate::object::{Kind, NewObject, Origin, Time, Value};

fn entry(line: &str) -> document::Section {
    read("a.jsonl", line).sections[0].clone()
}

fn attributes(line: &str) -> String {
    json::attributes_to_json(&entry(line).attributes).to_string()
}

#[test]
fn a_turn_has_a_role_a_speaker_a_time_and_text() {
    let line = r#"{"role":"user","name":"kim","content":"hello","time":"2026-01-31T09:15:00+01:00","model":"m","id":"x","tokens":12,"gone":null}"#;
    assert_eq!(
        attributes(line),
        r#"{"id":"x","model":"m","role":"user","speaker":"kim","tokens":12}"#
    );
    let entry = entry(line);
    assert_eq!(entry.content.as_deref(), Some("hello"));
    assert_eq!(entry.event_time, Some("2026-01-31T08:15:00Z".parse().unwrap()));
}

#[test]
fn a_turn_may_be_inside_of_message() {
    let line = r#"{"type":"assistant","timestamp":1769847300.5,"message":{"role":"assistant","type":"message","content":[{"type":"text","text":"one"},{"type":"tool_use","id":"t1","input":{"path":"a"}},{"type":"text","text":"two"}]},"session":"s"}"#;
    let entry = entry(line);
    assert_eq!(entry.content.as_deref(), Some("one\n\n{\"path\":\"a\"}\n\ntwo"));
    assert_eq!(entry.event_time, Some(Time::from_micros(1_769_847_300_500_000)));
    assert_eq!(
        json::attributes_to_json(&entry.attributes).to_string(),
        "{\"message\":{\"type\":\"message\"},\"parts\":[{\"text\":\"one\",\"type\":\"text\"},\
         {\"id\":\"t1\",\"type\":\"tool_use\"},{\"text\":\"two\",\"type\":\"text\"}],\
         \"role\":\"assistant\",\"session\":\"s\",\"type\":\"assistant\"}"
    );
}

#[test]
fn nothing_of_a_turn_is_lost() {
    assert_eq!(
        attributes(r#"{"role":"tool","content":null,"tool_calls":[1]}"#),
        r#"{"role":"tool","tool_calls":[1]}"#
    );
    assert_eq!(
        attributes(
            r#"{"role":"user","speaker":"a","name":"b","time":1,"timestamp":2,"content":[{"type":"text","text":"x"}]}"#
        ),
        r#"{"name":"b","role":"user","speaker":"a","timestamp":2}"#
    );
    assert_eq!(
        attributes(r#"{"parts":1,"message_":2,"message":{"role":"u","parts":3,"content":["a","b"]}}"#),
        r#"{"around":{"parts":1},"message":{"parts":3},"message_":2,"parts":["a","b"],"role":"u"}"#
    );
}

#[test]
fn times_are_text_or_numbers_of_any_usual_unit() {
    let time = |time: &str| {
        entry(&format!(r#"{{"role":"u","content":"x","time":{time}}}"#))
            .event_time
            .unwrap()
            .as_micros()
    };
    assert_eq!(time("1769847300"), 1_769_847_300_000_000);
    assert_eq!(time("1769847300123"), 1_769_847_300_123_000);
    assert_eq!(time("1769847300123456"), 1_769_847_300_123_456);
    assert_eq!(time("1769847300.25"), 1_769_847_300_250_000);
    assert_eq!(time("0"), 0);
    let error = refused("a.jsonl", r#"{"role":"u","content":"x","time":"yesterday"}"#);
    assert_eq!(
        error.message(),
        r#"a.jsonl:1: field `time`: "yesterday" is not a time"#
    );
}

fn turns(numbers: impl IntoIterator<Item = u32>) -> String {
    numbers
        .into_iter()
        .map(|number| format!("{{\"role\":\"user\",\"content\":\"turn {number}\"}}\n"))
        .collect()
}

#[test]
fn entries_stand_below_the_document_in_order() {
    let mut memory = Memory::default();
    let change = memory.ingest(&[("chat.jsonl", &turns([1, 2, 3]))]);
    assert_eq!(change.created, 4);
    assert_eq!(
        memory.children_of("chat.jsonl"),
        ["chat.jsonl#000001", "chat.jsonl#000002", "chat.jsonl#000003"]
    );
    assert_eq!(memory.object("chat.jsonl#000002").kind(), ENTRY_KIND);
    assert_eq!(memory.object("chat.jsonl#000002").content(), Some("turn 2"));
}

#[test]
fn appended_lines_add_entries_only() {
    let mut memory = Memory::default();
    for length in 1..200_u32 {
        let change = memory.ingest(&[("chat.jsonl", &turns(1..=length))]);
        let expected = if length == 1 { 2 } else { 1 };
        assert_eq!((change.created, change.updated, change.removed), (expected, 0, 0));
        assert!(change.respaced.is_empty());
    }
    assert_eq!(memory.children_of("chat.jsonl").len(), 199);
}

#[test]
fn an_inserted_turn_rewrites_no_other() {
    let mut memory = Memory::default();
    memory.ingest(&[("chat.jsonl", &turns([1, 2, 3]))]);
    let change = memory.ingest(&[("chat.jsonl", &turns([1, 9, 2, 3]))]);
    assert_eq!((change.created, change.updated, change.removed), (1, 0, 0));
    assert_eq!(
        memory.children_of("chat.jsonl"),
        [
            "chat.jsonl#000001",
            "chat.jsonl#000002~2",
            "chat.jsonl#000002",
            "chat.jsonl#000003"
        ]
    );
    let change = memory.ingest(&[("chat.jsonl", &turns([1, 9, 3]))]);
    assert_eq!(change.remove, [id("chat.jsonl#000002")]);
    assert!(change.put.is_empty());
}

const OBJECTS: &str = r#"{"id":"f/1","kind":"fact","attributes":{"n":1,"x":null,"list":[1.0,true]},"content":"one"}
{"id":"f/2","kind":"fact","parent":"f/1","scope":"s","position":"p","event_time":"2026-01-01T00:00:00Z","origin":"tool_external"}

{"id":"f/3","kind":"note","parent":"elsewhere"}
"#;

fn with_elsewhere() -> Memory {
    let mut memory = Memory::default();
    memory.put(
        NewObject::new(id("elsewhere"), Kind::new("place").unwrap()),
        Origin::DirectUser,
    );
    memory
}

#[test]
fn lines_that_state_objects_become_these() {
    let mut memory = with_elsewhere();
    let change = memory.ingest(&[("facts.jsonl", OBJECTS)]);
    assert_eq!(change.created, 4);
    let one = memory.object("f/1");
    assert_eq!(
        (one.parent(), one.position(), one.content()),
        (Some("facts.jsonl"), None, Some("one"))
    );
    assert_eq!(
        one.attribute("list"),
        Some(Value::from(vec![Value::Float(1.0), Value::Bool(true)]))
    );
    let two = memory.object("f/2");
    assert_eq!(
        (two.parent(), two.scope(), two.position()),
        (Some("f/1"), "s", Some("p"))
    );
    assert_eq!(two.origin(), Origin::ToolExternal, "a line may lower the trust");
    assert_eq!(memory.object("f/3").parent(), Some("elsewhere"));
}

#[test]
fn an_object_goes_with_its_line_wherever_it_hangs() {
    let mut memory = with_elsewhere();
    memory.ingest(&[("facts.jsonl", OBJECTS)]);
    let mut note = NewObject::new(id("note"), Kind::new("note").unwrap());
    note.parent = Some(id("f/1"));
    memory.put(note, Origin::Model);
    let change = memory.ingest(&[("facts.jsonl", "")]);
    assert_eq!(change.remove, [id("f/2"), id("f/1"), id("f/3")]);
    assert_eq!(memory.object("note").parent(), Some("facts.jsonl"));
    assert!(memory.has("elsewhere"));
}

#[test]
fn a_line_takes_no_object_from_another_document() {
    let mut memory = Memory::default();
    memory.ingest(&[
        ("a.jsonl", "{\"id\":\"tea\",\"kind\":\"fact\"}\n"),
        ("b.org", "* One\n"),
        ("c.jsonl", "{\"role\":\"user\",\"content\":\"hi\"}\n"),
    ]);
    memory.put(
        NewObject::new(id("mine"), Kind::new("fact").unwrap()),
        Origin::Model,
    );
    for (taken, owner) in [
        ("tea", "a.jsonl"),
        ("b.org#one", "b.org"),
        ("c.jsonl#000001", "c.jsonl"),
        ("b.org", "b.org"),
    ] {
        let line = format!("{{\"id\":\"{taken}\",\"kind\":\"fact\"}}\n");
        let error = memory.try_ingest(&[("d.jsonl", &line)]).unwrap_err();
        assert_eq!(
            error.message(),
            format!("d.jsonl:1: the id `{taken}` belongs to the document `{owner}`")
        );
    }
    // An object that no document states belongs to the first document that states it.
    let mine = "{\"id\":\"mine\",\"kind\":\"fact\"}\n";
    memory.ingest(&[("d.jsonl", mine)]);
    assert!(memory.try_ingest(&[("e.jsonl", mine)]).is_err());
    memory.ingest(&[("d.jsonl", ""), ("e.jsonl", mine)]);
    // Lines may state documents and headings, also repeatedly.
    let whole = "{\"id\":\"x.org\",\"kind\":\"document\"}\n{\"id\":\"x.org#h\",\"kind\":\"heading\",\"parent\":\"x.org\"}\n";
    memory.ingest(&[("f.jsonl", whole)]);
    memory.ingest(&[("f.jsonl", &format!("{whole}\n"))]);
}

#[test]
fn a_list_that_somebody_put_and_that_holds_no_ids_owns_nothing() {
    let mut memory = Memory::default();
    let mut document = NewObject::new(id("by-hand"), Kind::new(DOCUMENT_KIND).unwrap());
    document.attributes.insert("format", "jsonl");
    document.content = Some(format!("tea\n\n{}\n", "x".repeat(300)));
    memory.put(document, Origin::DirectUser);
    let fact = "{\"id\":\"fact\",\"kind\":\"fact\"}\n";
    memory.ingest(&[("a.jsonl", fact)]);
    memory.ingest(&[("by-hand", "{\"role\":\"user\",\"content\":\"hi\"}\n")]);
    // If a line of the content is an id, the document claims the object with that id.
    let mut document = NewObject::new(id("by-hand-too"), Kind::new(DOCUMENT_KIND).unwrap());
    document.attributes.insert("format", "jsonl");
    document.content = Some("\ntea".to_owned());
    memory.put(document, Origin::DirectUser);
    memory.put(
        NewObject::new(id("tea"), Kind::new("fact").unwrap()),
        Origin::DirectUser,
    );
    let tea = fact.replace("\"id\":\"fact\"", "\"id\":\"tea\"");
    assert!(memory.try_ingest(&[("b.jsonl", &tea)]).is_err());
}

#[test]
fn a_bad_line_names_file_and_line_and_what_is_wrong() {
    let not_known = "the line is neither an object nor an entry of a transcript";
    for (line, wrong) in [
        ("[1]", not_known),
        (r#"{"text":"x"}"#, not_known),
        (
            r#"{"role":"u","content":5}"#,
            "the field `content` is neither text nor a list of parts",
        ),
        (r#"{"role":1,"content":"x"}"#, "the field `role` is not text"),
        (
            r#"{"role":"u","role":"v"}"#,
            "not valid JSON at column 18: the key `role` is repeated",
        ),
        (
            r#"{"role":nope}"#,
            "not valid JSON at column 10: expected JSON, such as \"text\", 5, true or null",
        ),
        (
            r#"{"role":"u""#,
            "not valid JSON at column 11: the text ends inside a value",
        ),
        (
            "{\"role\":\"u\",\"content\":\"a\u{0}\"}",
            "not valid JSON at column 25: expected JSON, such as \"text\", 5, true or null",
        ),
    ] {
        // Among messages, the line is skipped. Alone, it refuses the file.
        let document = read("a.jsonl", &format!("\n{}{line}\n{}", turns([1]), turns([2])));
        assert_eq!(document.sections.len(), 2, "{line}");
        assert_eq!(document.skipped().bad, [(3, wrong.to_owned())]);
        assert_eq!(
            refused("a.jsonl", format!("\n{line}\n")).message(),
            format!("a.jsonl:2: {wrong}")
        );
        let among_objects = format!("{{\"id\":\"a\",\"kind\":\"k\"}}\n{line}\n");
        assert_eq!(
            refused("a.jsonl", among_objects).message(),
            format!("a.jsonl:2: {wrong}")
        );
    }
    for (line, wrong) in [
        (
            r#"{"id":"a","kind":"k","contents":"x"}"#,
            "field `contents`: no field of an object has this name",
        ),
        (r#"{"id":"","kind":"k"}"#, "field `id`: an id is empty"),
        (r#"{"id":"a","kind":7}"#, "field `kind`: the value is not text"),
        (
            r#"{"id":"a","kind":"k","attributes":{"n":18446744073709551616}}"#,
            "the integer 18446744073709551616 does not fit into 64 bits with a sign",
        ),
    ] {
        let error = refused("a.jsonl", format!("\n{}{line}\n", turns([1])));
        assert_eq!(error.message(), format!("a.jsonl:3: {wrong}"));
    }
    let big = entry(r#"{"role":"u","content":"x","n":18446744073709551616}"#);
    assert_eq!(
        big.attributes.get("n"),
        Some(&Value::Float(18_446_744_073_709_551_616.0))
    );
    let twice = "{\"id\":\"a\",\"kind\":\"k\"}\n{\"id\":\"a\",\"kind\":\"k\"}\n";
    let twice = Memory::default().try_ingest(&[("a.jsonl", twice)]).unwrap_err();
    assert_eq!(
        twice.message(),
        "a.jsonl:2: the id `a` is already used at a.jsonl:1"
    );
}

#[test]
fn a_turn_without_a_time_is_told_by_its_text_and_neighbours() {
    let turns = |texts: &[&str]| -> String {
        let line = |text: &&str| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n");
        texts.iter().map(line).collect()
    };
    let mut memory = Memory::default();
    memory.ingest(&[("a.jsonl", &turns(&["one", "two"]))]);
    let change = memory.ingest(&[("a.jsonl", &turns(&["two", "three"]))]);
    assert_eq!((change.created, change.updated, change.removed), (1, 0, 1));
    assert_eq!(memory.object("a.jsonl#000002").content(), Some("two"));
}
