//! Tests of transcripts and exports as other programs write them.

use serde_json::{Value as Json, json};

use super::*;
use crate::object::{Origin, object_class};

/// What an entry says: its speaker, its class if a person vouches for the file, and its text.
type Said = (String, Origin, String);

fn said(document: &Document) -> Vec<Said> {
    let one = |section: &document::Section| {
        let named = |name: &str| {
            section
                .attributes
                .get(name)
                .and_then(crate::object::Value::as_text)
        };
        let mut object =
            crate::object::NewObject::new(id("x"), crate::object::Kind::new(ENTRY_KIND).unwrap());
        object.attributes = section.attributes.clone();
        let speaker = named("speaker").or_else(|| named("role")).unwrap_or_default();
        let text = section.content.clone().unwrap_or_default();
        (speaker.to_owned(), object_class(&object, None), text)
    };
    let entries = document
        .sections
        .iter()
        .filter(|section| section.kind.name() == ENTRY_KIND);
    entries.map(one).collect()
}

fn lines(lines: &[Json]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn texts(document: &Document) -> Vec<String> {
    said(document).into_iter().map(|(_, _, text)| text).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "tests give literals")]
fn line(uuid: &str, role: &str, content: Json) -> Json {
    json!({"type": role, "uuid": uuid, "sessionId": "s", "timestamp": "2026-06-01T10:00:00.123Z",
        "message": {"role": role, "content": content}})
}

#[test]
fn claude_code_is_read_with_its_tools_and_without_its_notes() {
    let picture = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A".repeat(1_600_000)}});
    let mut result = line(
        "u2",
        "user",
        json!([
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "lexer.rs"}, picture]},
        {"type": "text", "text": "Go on"}]),
    );
    result["toolUseResult"] = json!({"stdout": "lexer.rs", "image": "A".repeat(1_600_000)});
    let mut meta = line("u3", "user", json!("Caveat: made by a program"));
    meta["isMeta"] = json!(true);
    let mut summary = line("u4", "user", json!("The session so far."));
    summary["isCompactSummary"] = json!(true);
    let text = lines(&[
        json!({"type": "summary", "summary": "Rename", "leafUuid": "a1"}),
        line("u1", "user", json!("Rename the lexer")),
        json!({"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}}),
        line(
            "a0",
            "assistant",
            json!([{"type": "thinking", "thinking": "Hm.", "signature": "x"}]),
        ),
        line(
            "a1",
            "assistant",
            json!([{"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]),
        ),
        result,
        meta,
        summary,
        line(
            "u5",
            "user",
            json!("<local-command-stdout>ok</local-command-stdout>"),
        ),
    ]);
    let document = read("claude.jsonl", &text);
    let expected = [
        ("user", Origin::DirectUser, "Rename the lexer"),
        ("assistant", Origin::Model, "I look.\n\nBash {\"command\":\"ls\"}"),
        ("tool", Origin::ToolExternal, "lexer.rs\n\n[image: image/png]"),
        ("user", Origin::DirectUser, "Go on"),
        ("tool", Origin::ToolExternal, "Caveat: made by a program"),
        ("assistant", Origin::Model, "The session so far."),
        (
            "tool",
            Origin::ToolExternal,
            "<local-command-stdout>ok</local-command-stdout>",
        ),
    ];
    let expected = expected.map(|(speaker, class, text)| (speaker.to_owned(), class, text.to_owned()));
    assert_eq!(said(&document), expected);
    let other: Vec<_> = document
        .skipped()
        .other
        .iter()
        .map(|(kind, count)| (kind.as_str(), *count))
        .collect();
    assert_eq!(
        other,
        [("file-history-snapshot", 1), ("summary", 1), ("thinking", 1)]
    );
    assert_eq!(document.skipped().bad, []);
    let time = document.sections[0].event_time.unwrap();
    assert_eq!(time.to_string(), "2026-06-01T10:00:00.123000Z");
    let mut memory = Memory::default();
    assert_eq!(
        memory.ingest(&[("claude.jsonl", &text)]).created,
        8,
        "each object is small enough"
    );
}

/// Gemini CLI, Cursor and Copilot write lines of their own.
#[test]
fn the_lines_of_other_agents_are_read() {
    let read = |all: &[Json]| said(&read("t.jsonl", &lines(all)));
    let entry = |speaker: &str, text: &str| {
        let class = match speaker {
            "user" => Origin::DirectUser,
            "tool" => Origin::ToolExternal,
            _ => Origin::Model,
        };
        (speaker.to_owned(), class, text.to_owned())
    };
    let gemini = [
        json!({ "id": "1", "type": "user", "content": [{ "text": "hello" }] }),
        json!({ "id": "2", "type": "info", "content": "update" }),
        json!({ "id": "3", "type": "gemini", "content": "done", "toolCalls": [
            { "id": "t", "name": "web_fetch", "args": {}, "result": [{ "text": "page" }] }] }),
    ];
    let [hello, page] = [entry("user", "hello"), entry("tool", "page")];
    let done = entry("assistant", "done\n\nweb_fetch {}");
    assert_eq!(read(&gemini), [hello.clone(), page.clone(), done]);
    let copilot = [
        json!({ "type": "user.message", "id": "1", "data": { "content": "hello" } }),
        json!({ "type": "assistant.message", "id": "2", "data": { "content": "done", "toolRequests": [
            { "toolCallId": "t", "name": "fetch", "arguments": {} }] } }),
        json!({ "type": "tool.execution_complete", "id": "3", "data": { "toolCallId": "t", "result": { "content": "page" } } }),
    ];
    let done = entry("assistant", "done\n\nfetch {}");
    assert_eq!(read(&copilot), [hello.clone(), done, page]);
    let cursor = [json!({ "role": "user", "message": { "content": [{ "type": "text", "text": "hello" }] } })];
    assert_eq!(read(&cursor), [hello]);
}

#[test]
fn codex_is_read_with_its_tools_and_without_its_notes() {
    let item = |payload: Json| json!({"timestamp": "2026-06-01T10:00:01Z", "type": "response_item", "payload": payload});
    let event =
        |payload: Json| json!({"timestamp": "2026-06-01T10:00:01Z", "type": "event_msg", "payload": payload});
    let text = lines(&[
        json!({"timestamp": "2026-06-01T10:00:00Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/tea"}}),
        item(
            json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Obey."}]}),
        ),
        item(
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>x</environment_context>"}]}),
        ),
        event(json!({"type": "user_message", "message": "Rename the lexer", "images": []})),
        item(
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Rename the lexer"},
            {"type": "input_image", "image_url": format!("data:image/png;base64,{}", "A".repeat(1_600_000))}]}),
        ),
        item(json!({"type": "reasoning", "summary": [], "encrypted_content": "x"})),
        item(
            json!({"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\"]}", "call_id": "c1"}),
        ),
        item(
            json!({"type": "function_call_output", "call_id": "c1", "output": "{\"output\":\"lexer.rs\\n\",\"metadata\":{\"exit_code\":0}}"}),
        ),
        item(
            json!({"type": "function_call_output", "call_id": "c1", "output": "{\"output\":\"lexer.rs\\n\",\"metadata\":{\"exit_code\":0}}"}),
        ),
        item(
            json!({"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin Patch", "call_id": "c2", "status": "completed"}),
        ),
        item(
            json!({"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "Success"}]}),
        ),
        item(
            json!({"type": "local_shell_call", "call_id": "c3", "status": "completed", "action": {"type": "exec", "command": ["ls"]}}),
        ),
        item(
            json!({"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "tea"}}),
        ),
        event(json!({"type": "agent_message", "message": "Renamed."})),
        item(
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Renamed."}]}),
        ),
        event(json!({"type": "token_count", "info": null})),
        event(json!({"type": "agent_message", "message": "Only told."})),
        json!({"timestamp": "2026-06-01T10:00:00Z", "type": "turn_context", "payload": {"cwd": "/tea"}}),
        json!({"timestamp": "2026-06-01T10:00:00Z", "type": "compacted", "payload": {"message": "The session so far.", "replacement_history": [{"type": "message"}]}}),
    ]);
    let document = read("rollout-x.jsonl", &text);
    let expected = [
        (
            "tool",
            Origin::ToolExternal,
            "<environment_context>x</environment_context>",
        ),
        ("user", Origin::DirectUser, "Rename the lexer"),
        ("user", Origin::DirectUser, "Rename the lexer\n\n[image]"),
        ("assistant", Origin::Model, "shell {\"command\":[\"ls\"]}"),
        ("tool", Origin::ToolExternal, "lexer.rs\n"),
        ("assistant", Origin::Model, "apply_patch *** Begin Patch"),
        ("tool", Origin::ToolExternal, "Success"),
        (
            "assistant",
            Origin::Model,
            "local_shell {\"type\":\"exec\",\"command\":[\"ls\"]}",
        ),
        (
            "assistant",
            Origin::Model,
            "web_search {\"type\":\"search\",\"query\":\"tea\"}",
        ),
        ("assistant", Origin::Model, "Renamed."),
        ("assistant", Origin::Model, "Only told."),
        ("assistant", Origin::Model, "The session so far."),
    ];
    let mut expected: Vec<_> = expected
        .iter()
        .map(|(speaker, class, text)| ((*speaker).to_owned(), *class, (*text).to_owned()))
        .collect();
    // The picture makes the note about the message differ from the message, so both stay.
    expected.retain(|(_, _, text)| !text.is_empty());
    assert_eq!(said(&document), expected);
    assert_eq!(document.skipped().copies, 2);
    assert_eq!(document.skipped().other["instructions"], 1);
    assert_eq!(document.skipped().bad, []);
    // The older files have the items without a frame.
    let old = lines(&[
        json!({"id": "s", "timestamp": "2025-05-01T10:00:00Z", "instructions": null}),
        json!({"record_type": "state"}),
        json!({"type": "message", "id": null, "role": "user", "content": [{"type": "input_text", "text": "Tea?"}]}),
        json!({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"}),
        json!({"type": "function_call_output", "call_id": "c1", "output": "green"}),
    ]);
    assert_eq!(texts(&read("old.jsonl", &old)), ["Tea?", "shell {}", "green"]);
}

#[test]
fn a_torn_line_and_half_a_character_cost_no_message() {
    let good = lines(&[line("u1", "user", json!("Tea"))]);
    for torn in [
        &b"{\"type\":\"assistant\",\"message\":{\"role\":\"assi"[..],
        b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"caf\xc3",
        b"\x00\x00\x00",
    ] {
        let bytes = [good.as_bytes(), torn].concat();
        let document = Document::read("a.jsonl", &bytes, None).unwrap();
        assert_eq!(texts(&document), ["Tea"]);
        assert_eq!(document.skipped().bad.len(), 1);
        assert_eq!(document.skipped().bad[0].0, 2);
    }
    let half = "{\"role\":\"user\",\"content\":\"a \\ud83d b\",\"n\":123456789012345678901}\n";
    assert_eq!(texts(&read("a.jsonl", half)), ["a \u{fffd} b"]);
    let long = lines(&[line("u1", "user", json!("x".repeat(3 << 20)))]);
    let change = Memory::default().ingest(&[("a.jsonl", &long)]);
    assert_eq!(change.created, 2, "a long text is cut");
}

#[test]
fn a_time_may_be_a_number_as_text() {
    for time in [
        "1767225600",
        "1767225600000",
        "2026-01-01T00:00:00Z",
        "2026-01-01 00:00:00",
        "2026-01-01",
    ] {
        let document = read(
            "a.jsonl",
            &lines(&[json!({"role": "user", "content": "x", "timestamp": time})]),
        );
        let read = document.sections[0].event_time.unwrap().to_string();
        assert_eq!(read, "2026-01-01T00:00:00.000000Z", "{time}");
    }
}

#[test]
fn copies_of_a_message_are_one_entry() {
    let (one, two) = (line("u1", "user", json!("Tea")), line("u2", "user", json!("Tea")));
    let shared = |text: &str| json!({"id": "msg", "role": "assistant", "content": text});
    let document = read(
        "a.jsonl",
        &lines(&[one.clone(), two.clone(), one.clone(), two.clone(), one.clone()]),
    );
    assert_eq!(
        (texts(&document), document.skipped().copies),
        (vec!["Tea".into(), "Tea".to_owned()], 3)
    );
    let document = read("a.jsonl", &lines(&[shared("a"), shared("b"), shared("a")]));
    assert_eq!(
        (texts(&document), document.skipped().copies),
        (vec!["a".into(), "b".to_owned()], 1)
    );
    let document = read(
        "a.jsonl",
        &lines(&[
            json!({"role": "user", "content": "yes"}),
            json!({"role": "user", "content": "yes"}),
        ]),
    );
    assert_eq!(document.sections.len(), 2, "nothing names these messages");
    // The file of a resumed session begins with the messages of the first one.
    let three = line("u3", "user", json!("Ham"));
    let mut all = [
        read("a.jsonl", &lines(&[one.clone(), two.clone()])),
        read("b.jsonl", &lines(&[one, two, three])),
    ];
    drop_copies(&mut all);
    assert_eq!(
        (texts(&all[0]).len(), texts(&all[1])),
        (2, vec!["Ham".to_owned()])
    );
    assert_eq!(all[1].skipped().copies, 2);
}

#[test]
fn a_file_without_any_message_is_refused_unless_its_lines_are_known() {
    assert!(
        refused("a.jsonl", "{\"text\":\"x\",\"label\":1}\n")
            .message()
            .starts_with("a.jsonl:1: ")
    );
    let document = read("a.jsonl", "{\"type\":\"summary\",\"summary\":\"x\"}\n");
    assert_eq!(
        (document.sections.len(), document.skipped().other["summary"]),
        (0, 1)
    );
}

#[test]
fn the_export_of_chatgpt_is_the_branch_that_the_person_sees() {
    let node = |id: &str, parent: Json, children: Json, role: &str, content: Json, hidden: bool| {
        json!({"id": id, "parent": parent, "children": children, "message": {"id": id, "author": {"role": role},
            "create_time": 1_767_225_600.5, "content": content, "metadata": {"is_visually_hidden_from_conversation": hidden}}})
    };
    let text = |text: &str| json!({"content_type": "text", "parts": [text]});
    let chat = json!({"title": "Tea", "conversation_id": "c-1", "create_time": 1_767_225_600, "current_node": "n6", "mapping": {
        "root": {"id": "root", "message": null, "parent": null, "children": ["n1"]},
        "n1": node("n1", json!("root"), json!(["n2"]), "system", text(""), true),
        "n2": node("n2", json!("n1"), json!(["old", "n3"]), "user", json!({"content_type": "multimodal_text",
            "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}, "Which tea?"]}), false),
        "old": node("old", json!("n2"), json!([]), "assistant", text("Another answer"), false),
        "n3": node("n3", json!("n2"), json!(["n4"]), "assistant", json!({"content_type": "thoughts", "thoughts": []}), false),
        "n4": node("n4", json!("n3"), json!(["n5"]), "assistant", json!({"content_type": "code", "language": "python", "text": "print(1)"}), false),
        "n5": node("n5", json!("n4"), json!(["n6"]), "tool", json!({"content_type": "execution_output", "text": "1"}), false),
        "n6": node("n6", json!("n5"), json!([]), "assistant", text("Green."), false)}});
    let export = json!([chat, {"title": "Empty", "mapping": {}}]).to_string();
    let document = Document::read("conversations.json", export.as_bytes(), None).unwrap();
    assert_eq!(document.sections[0].title(), "Tea");
    assert_eq!(document.sections[0].id, Some(id("conversations.json#c-1")));
    let expected = [
        ("user", Origin::DirectUser, "[image]\n\nWhich tea?"),
        ("assistant", Origin::Model, "print(1)"),
        ("tool", Origin::ToolExternal, "1"),
        ("assistant", Origin::Model, "Green."),
    ];
    let expected = expected.map(|(speaker, class, text)| (speaker.to_owned(), class, text.to_owned()));
    assert_eq!(said(&document), expected);
    assert_eq!(document.skipped().other["branch"], 1);
    let mut memory = Memory::default();
    memory.ingest(&[("conversations.json", &export)]);
    assert_eq!(memory.children_of("conversations.json#c-1").len(), 4);
    let newer = json!([{"title": "New", "conversation_id": "c-2", "mapping": {}}, chat]).to_string();
    let change = memory.ingest(&[("conversations.json", &newer)]);
    assert_eq!(
        (change.created, change.updated),
        (1, 0),
        "the known conversation stays"
    );
}

#[test]
fn the_export_of_claude_is_read_with_its_attachments() {
    let export = json!([{"uuid": "c-1", "name": "Tea", "created_at": "2026-01-01T00:00:00Z", "chat_messages": [
        {"uuid": "m1", "text": "Which tea?", "sender": "human", "created_at": "2026-01-01T00:00:01Z",
            "attachments": [{"file_name": "a.txt", "extracted_content": "Only green."}], "content": []},
        {"uuid": "m2", "text": "", "sender": "assistant", "created_at": "2026-01-01T00:00:02Z", "content": [
            {"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Green.", "citations": []}]},
        {"uuid": "m3", "text": "", "sender": "assistant", "content": []}]}]);
    let document = Document::read("conversations.json", export.to_string().as_bytes(), None).unwrap();
    let expected = [
        ("tool", Origin::ToolExternal, "a.txt\n\nOnly green."),
        ("user", Origin::DirectUser, "Which tea?"),
        ("assistant", Origin::Model, "Green."),
    ];
    let expected = expected.map(|(speaker, class, text)| (speaker.to_owned(), class, text.to_owned()));
    assert_eq!(said(&document), expected);
    let pretty = serde_json::to_string_pretty(&export).unwrap();
    assert_eq!(
        said(&Document::read("x.json", pretty.as_bytes(), Some(Format::JsonLines)).unwrap()),
        expected
    );
    let list =
        json!([{"role": "user", "content": "Tea?"}, {"role": "assistant", "content": "Green."}]).to_string();
    assert_eq!(
        texts(&Document::read("x.json", list.as_bytes(), Some(Format::JsonLines)).unwrap()),
        ["Tea?", "Green."]
    );
}

/// INVARIANT TRL-1: what a program wrote beside the words of the person is an entry of the tool.
#[test]
fn a_reminder_beside_the_words_of_the_person_is_not_theirs() {
    let reminder = json!({"type": "text", "text": "<system-reminder>Be brief.</system-reminder>"});
    let words = json!({"type": "text", "text": "My name is Vera"});
    for content in [json!([reminder, words]), json!([words, reminder])] {
        let document =
            Document::read("s.jsonl", lines(&[line("u1", "user", content)]).as_bytes(), None).unwrap();
        let said = said(&document);
        assert_eq!(said.len(), 2, "{said:?}");
        for (speaker, class, text) in said {
            let is_person = text.contains("Vera");
            assert_eq!(speaker, if is_person { "user" } else { "tool" });
            assert_eq!(class == Origin::ToolExternal, !is_person, "{text}");
        }
    }
}

/// INVARIANT TRL-1: a line of any form may say that a program or a model wrote it.
#[test]
fn a_line_that_a_program_wrote_is_not_the_persons() {
    for (mark, speaker, class) in [
        ("isMeta", "tool", Origin::ToolExternal),
        ("isSidechain", "assistant", Origin::Model),
        ("none", "user", Origin::DirectUser),
    ] {
        let line =
            json!({"type": "user", "id": "1", "timestamp": 1_780_000_000, "content": "hello", mark: true});
        let document = Document::read("s.jsonl", lines(&[line]).as_bytes(), None).unwrap();
        assert_eq!(
            said(&document),
            [(speaker.to_owned(), class, "hello".to_owned())],
            "{mark}"
        );
    }
}

/// What a tool gave back is kept, even if the line does not say who speaks.
#[test]
fn a_result_in_a_message_without_a_role_is_kept() {
    let line = json!({"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "t", "content": "a page"}, {"type": "text", "text": "I am the user"}]}});
    let document = Document::read("s.jsonl", lines(&[line]).as_bytes(), None).unwrap();
    assert_eq!(
        said(&document),
        [("tool".to_owned(), Origin::ToolExternal, "a page".to_owned())]
    );
}

#[test]
fn a_message_with_a_payload_is_a_message() {
    let line = json!({"type": "message", "role": "user", "content": "hello", "payload": {"x": 1}});
    let document = Document::read("s.jsonl", lines(&[line]).as_bytes(), None).unwrap();
    assert_eq!(texts(&document), ["hello"]);
}

#[test]
fn the_id_of_a_conversation_may_end_like_another() {
    let one = |name: &str| json!({"conversation_id": name, "mapping": {}});
    let export = json!([one("11"), one("1")]).to_string();
    let document = Document::read("conversations.json", export.as_bytes(), None).unwrap();
    let ids: Vec<_> = document
        .sections
        .iter()
        .map(|section| section.id.clone())
        .collect();
    assert_eq!(
        ids,
        [
            Some(id("conversations.json#11")),
            Some(id("conversations.json#1"))
        ]
    );
}
