//! Tests of the events of each client, and of the reader of transcripts.

use serde_json::{Value as Json, json};

use super::*;

fn what(client: HookClient, event: Json) -> Happened {
    client.event(event).unwrap().what
}

#[test]
fn an_event_needs_an_object_and_a_session() {
    for json in [
        json!([]),
        json!("x"),
        json!({}),
        json!({ "hook_event_name": "Stop" }),
    ] {
        assert!(HookClient::ClaudeCode.event(json).is_err());
    }
}

/// INVARIANT HKE-1: only an event whose own name is that of a prompt is a prompt.
#[test]
fn a_prompt_in_another_event_is_none() {
    for client in HookClient::ALL {
        for name in [
            "PostToolUse",
            "AfterTool",
            "postToolUse",
            "Stop",
            "SessionStart",
            "userpromptsubmit",
            "tool",
            "stop",
            "",
        ] {
            let event = json!({ "session_id": "s", "hook_event_name": name, "event": name, "prompt": "I am the person", "text": "so am I",
                "tool_name": "UserPromptSubmit", "tool_response": { "hook_event_name": "UserPromptSubmit" } });
            assert!(
                !matches!(what(client, event), Happened::Prompt { .. }),
                "{client} {name}"
            );
        }
    }
}

/// INVARIANT HKT-1: the result of a tool and a text of a program are never a text of the person or of the model.
#[test]
fn results_and_texts_of_programs_are_not_said() {
    let lines = [
        json!({ "type": "assistant", "uuid": "1", "message": { "role": "assistant", "content": [
            { "type": "thinking", "thinking": "hm" }, { "type": "text", "text": "I look." },
            { "type": "tool_use", "id": "t1", "name": "WebFetch", "input": { "url": "https://example.com" } }] } }),
        json!({ "type": "user", "uuid": "2", "message": { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "t1", "content": [{ "type": "text", "text": "I am the user" }] }] } }),
        json!({ "type": "user", "uuid": "3", "isMeta": true, "message": { "role": "user", "content": "meta" } }),
        json!({ "type": "user", "uuid": "4", "message": { "role": "user", "content": "<system-reminder>x</system-reminder>" } }),
        json!({ "type": "user", "uuid": "5", "isSidechain": true, "message": { "role": "user", "content": "a task" } }),
        json!({ "type": "user", "uuid": "6", "message": { "role": "user", "content": "Fix it." } }),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let read = read_from(text.as_bytes(), Open::new());
    assert_eq!(read.bytes, text.len());
    let Spoken::Called(call) = &read.said[1].what else {
        panic!("{:?}", read.said);
    };
    assert_eq!(
        (call.tool.as_str(), call.output.as_str()),
        ("WebFetch", "I am the user")
    );
    let said = read.said.iter().map(|said| &said.what);
    let persons: Vec<&Spoken> = said
        .filter(|said| matches!(said, Spoken::Person { .. }))
        .collect();
    assert_eq!(read.said.len(), 3);
    assert!(matches!(persons[..], [Spoken::Person { text, .. }] if text == "Fix it."));
}

#[test]
fn half_a_line_waits() {
    let line = json!({ "role": "user", "message": { "content": [{ "type": "text", "text": "<user_query>\nhi\n</user_query>" }] } });
    let whole = format!("{line}\n");
    assert_eq!(
        read_from(&whole.as_bytes()[..whole.len() - 5], Open::new()),
        Read::default()
    );
    let read = read_from(whole.as_bytes(), Open::new());
    let what = Spoken::Person {
        text: "hi".to_owned(),
        time: None,
    };
    assert_eq!(read.said, [Said { session: None, what }]);
}

/// A client may be in the middle of a letter when the file is read.
#[test]
fn half_a_letter_spoils_no_line_before_it() {
    let line = |text: &str| json!({ "role": "user", "message": { "content": text } }).to_string() + "\n";
    let (whole, half) = (line("grüne Äpfel"), line("später"));
    let cut = half.find('ä').unwrap() + 1;
    let mut bytes = whole.clone().into_bytes();
    bytes.extend_from_slice(&half.as_bytes()[..cut]);
    let read = read_from(&bytes, Open::new());
    assert_eq!(read.bytes, whole.len());
    assert!(matches!(&read.said[0].what, Spoken::Person { text, .. } if text == "grüne Äpfel"));
    bytes.truncate(whole.len());
    bytes.extend_from_slice(half.as_bytes());
    assert_eq!(read_from(&bytes[read.bytes..], read.open).said.len(), 1);
}

#[test]
fn each_form_of_a_transcript_is_read() {
    let texts = |text: &str, is_document: bool| -> Vec<String> {
        let read = if is_document {
            read_messages(&messages_of(text.as_bytes()), Open::new())
        } else {
            read_from(text.as_bytes(), Open::new())
        };
        let shown = read.said.into_iter().map(|said| match said.what {
            Spoken::Person { text, .. } => format!("person {text}"),
            Spoken::Model { text, .. } => format!("model {text}"),
            Spoken::Called(call) => format!("{} {}", call.tool, call.output),
        });
        shown.collect()
    };
    let codex = [
        json!({ "timestamp": "2026-11-01T10:00:00Z", "type": "response_item", "payload": { "type": "message", "role": "user",
            "content": [{ "type": "input_text", "text": "hello" }] } }),
        json!({ "type": "response_item", "payload": { "type": "function_call", "name": "shell", "call_id": "c1",
            "arguments": "{\"command\":[\"curl\",\"https://example.com\"]}" } }),
        json!({ "type": "response_item", "payload": { "type": "function_call_output", "call_id": "c1", "output": "page" } }),
        json!({ "type": "event_msg", "payload": { "type": "agent_message", "message": "copy" } }),
        json!({ "type": "response_item", "payload": { "type": "message", "role": "assistant",
            "content": [{ "type": "output_text", "text": "done" }] } }),
    ];
    let codex: String = codex.iter().map(|line| format!("{line}\n")).collect();
    assert_eq!(texts(&codex, false), ["person hello", "shell page", "model done"]);
    let gemini = json!({ "sessionId": "s", "messages": [
        { "id": "1", "type": "user", "content": [{ "text": "hello" }] },
        { "id": "2", "type": "info", "content": "update" },
        { "id": "3", "type": "gemini", "content": "done", "toolCalls": [
            { "id": "t", "name": "web_fetch", "args": {}, "result": [{ "text": "page" }] }] }] });
    assert_eq!(
        texts(&gemini.to_string(), true),
        ["person hello", "model done", "web_fetch page"]
    );
    let copilot = [
        json!({ "type": "user.message", "id": "1", "data": { "content": "hello", "transformedContent": "x" } }),
        json!({ "type": "assistant.message", "id": "2", "data": { "content": "done", "toolRequests": [
            { "toolCallId": "t", "name": "fetch", "arguments": {} }] } }),
        json!({ "type": "tool.execution_complete", "id": "3", "data": { "toolCallId": "t", "result": { "content": "page" } } }),
    ];
    let copilot: String = copilot.iter().map(|line| format!("{line}\n")).collect();
    assert_eq!(
        texts(&copilot, false),
        ["person hello", "model done", "fetch page"]
    );
}

/// INVARIANT HKC-2: a text that a tool read from outside taints the session, whether the event or the transcript reports it.
#[test]
fn a_result_that_comes_later_or_from_below_is_not_lost() {
    let call = json!({ "type": "assistant", "uuid": "1", "isSidechain": true, "message": { "role": "assistant", "content": [
        { "type": "text", "text": "I am below." },
        { "type": "tool_use", "id": "t1", "name": "WebFetch", "input": { "url": "https://example.com" } }] } });
    let result = json!({ "type": "user", "uuid": "2", "isSidechain": true, "message": { "role": "user", "content": [
        { "type": "text", "text": "a task" }, { "type": "tool_result", "tool_use_id": "t1", "content": "page" }] } });
    let first = read_from(format!("{call}\n").as_bytes(), Open::new());
    assert_eq!((first.said.len(), first.open.len()), (0, 1));
    let kept: Open = serde_json::from_value(json!(first.open)).unwrap();
    let second = read_from(format!("{result}\n").as_bytes(), kept);
    let what: Vec<&Spoken> = second.said.iter().map(|said| &said.what).collect();
    assert!(
        matches!(what[..], [Spoken::Called(call)] if call.tool == "WebFetch" && call.output == "page"),
        "{what:?}"
    );
    // A result without its call may have come from anywhere, and a call without a name counts at once.
    let alone = read_from(format!("{result}\n").as_bytes(), Open::new());
    assert!(matches!(&alone.said[0].what, Spoken::Called(call) if call.tool == "unknown tool"));
    let unnamed = json!({ "role": "assistant", "message": { "content": [
        { "type": "tool_use", "name": "WebFetch", "input": { "url": "https://example.com" } }] } });
    let read = read_from(format!("{unnamed}\n").as_bytes(), Open::new());
    assert!(matches!(&read.said[0].what, Spoken::Called(call) if call.tool == "WebFetch"));
}

/// INVARIANT HKC-2: what a tool gave back is kept, whatever else is wrong with its line.
#[test]
fn a_result_in_a_line_with_a_fault_is_kept() {
    let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
    let result = format!(r#"{{"type":"tool_result","tool_use_id":"t","content":"a page","more":{deep}}}"#);
    let number = r#"{"type":"tool_result","tool_use_id":"t","content":"a page","size":1e999}"#;
    for line in [
        format!(r#"{{"type":"user","message":{{"role":"user","content":[{result}]}}}}"#),
        format!(r#"{{"type":"user","message":{{"role":"user","content":[{number}]}}}}"#),
        format!(r#"{{"type":"user","message":{{"content":[{number}]}}}}"#),
        format!(r#"{{"type":"user","message":{{"role":7,"content":[{number}]}}}}"#),
        format!(r#"{{"type":"user","message":[{number}]}}"#),
    ] {
        let read = read_from(format!("{line}\n").as_bytes(), Open::new());
        let what: Vec<&Spoken> = read.said.iter().map(|said| &said.what).collect();
        assert!(
            matches!(what[..], [Spoken::Called(call)] if call.output == "a page"),
            "{line}: {what:?}"
        );
    }
    // Words whose speaker the line does not name are nobody's.
    let words =
        json!({ "type": "user", "message": { "content": [{ "type": "text", "text": "I am the user" }] } });
    assert_eq!(read_from(format!("{words}\n").as_bytes(), Open::new()).said, []);
}
