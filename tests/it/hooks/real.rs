//! What the real clients send, as `tests/clients/check.sh` saw it, where it differs from their documents.

use std::time::Duration;

use serde_json::json;

use super::*;

/// The name of a session as Codex makes it. It looks like a cookie.
const SESSION: &str = "01a2273d-715c-7822-bb58-17deea07d253";

#[expect(clippy::needless_pass_by_value, reason = "the events are written in place")]
fn send(folder: &Folder, client: &str, name: &str, more: Value, variables: &[(&str, &str)]) -> Ran {
    let mut event = json!({ "session_id": SESSION, "cwd": folder.path("shop"), "hook_event_name": name });
    let fields = more.as_object().unwrap().clone();
    event.as_object_mut().unwrap().extend(fields);
    fs::write(folder.path("event.json"), event.to_string()).unwrap();
    let mut command = folder.command(&["hook", "--client", client]);
    command.envs(variables.iter().copied());
    command.stdin(fs::File::open(folder.path("event.json")).unwrap());
    let ran = Ran::of(&command.output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran
}

/// A client, the variables of its process, and the number of entries that its prompt makes.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], usize);

/// Claude Code sets `CLAUDECODE` for its hooks, too.
#[test]
fn a_hook_of_claude_code_is_no_command_of_its_agent() {
    let of_hook = [("CLAUDECODE", "1"), ("CLAUDE_PROJECT_DIR", "/srv/shop")];
    let of_harness = [
        of_hook[0],
        of_hook[1],
        ("AI_AGENT", "claude-code_2-1-332_harness"),
    ];
    let of_agent = [of_hook[0], of_hook[1], ("AI_AGENT", "claude-code_2-1-332_agent")];
    let cases: [Case<'_>; 6] = [
        ("claude-code", &of_hook, 1),
        ("claude-code", &of_harness, 1),
        ("claude-code", &of_agent, 0),
        ("claude-code", &of_hook[..1], 0),
        ("codex", &of_harness, 0),
        ("vscode", &[("COPILOT_AGENT_SESSION_ID", "s")], 0),
    ];
    for (client, variables, expected) in cases {
        let folder = workplace();
        let prompt = json!({ "prompt": "We use pnpm." });
        let ran = send(&folder, client, "UserPromptSubmit", prompt, variables);
        assert_eq!(
            ran.err.is_empty(),
            expected == 1,
            "{client} {variables:?}: {ran:?}"
        );
        assert_eq!(
            entries(&folder, SESSION).len(),
            expected,
            "{client} {variables:?}"
        );
    }
}

#[test]
fn the_name_of_a_session_is_no_secret() {
    let folder = workplace();
    let prompt = json!({ "prompt": "We use pnpm.", "turn_id": "t" });
    send(&folder, "codex", "UserPromptSubmit", prompt, &[]);
    let listed = folder.stream(&["list", "--kind", "entry"]);
    assert_eq!(listed[0]["attributes"]["session"], SESSION, "{listed:?}");
    assert!(listed[0]["attributes"]["flags"].is_null(), "{listed:?}");
}

/// Codex writes the server of a tool apart in its transcript.
#[test]
fn a_tool_of_the_memory_is_its_own_in_the_transcript_of_codex() {
    for (server, expected) in [("mcp__treering", 0), ("mcp__other", 1)] {
        let folder = workplace();
        let lines = [
            json!({ "type": "function_call", "name": "memory_recall", "namespace": server, "call_id": "c",
                "arguments": "{\"query\":\"tea\"}" }),
            json!({ "type": "function_call_output", "call_id": "c", "output": "nothing" }),
        ];
        let lines = lines.map(|item| format!("{}\n", json!({ "type": "response_item", "payload": item })));
        folder.write("transcript.jsonl", lines.concat());
        let stop = json!({ "transcript_path": folder.path("transcript.jsonl") });
        send(&folder, "codex", "Stop", stop, &[]);
        assert_eq!(entries(&folder, SESSION).len(), expected, "{server}");
    }
}

/// Gemini CLI sends `PreCompress` before each request, whether it compacts or not.
#[test]
fn a_question_whether_to_compact_makes_no_episode() {
    for (trigger, expected) in [("auto", 0), ("manual", 1)] {
        let folder = workplace();
        let prompt = json!({ "prompt": "We decided to use pnpm.", "timestamp": "1" });
        send(&folder, "gemini", "BeforeAgent", prompt, &[]);
        let about = json!({ "trigger": trigger });
        send(&folder, "gemini", "PreCompress", about, &[]);
        let episodes = folder.stream(&["list", "--kind", "episode"]);
        assert_eq!(episodes.len(), expected, "{trigger}: {episodes:?}");
    }
}

/// Copilot CLI gives a call no name, writes the last answer after `Stop`, and names no transcript at the end.
#[test]
fn the_last_answer_of_copilot_comes_after_its_stop() {
    let folder = workplace();
    let path = folder.path("transcript.jsonl");
    let command = json!({ "command": "curl -s https://example.com/prices" });
    let call = json!({ "tool_name": "Bash", "tool_input": command,
        "tool_result": { "result_type": "success", "text_result_for_llm": "9 crowns" } });
    let context = send(
        &folder,
        "vscode",
        "UserPromptSubmit",
        json!({ "prompt": "What does it cost?" }),
        &[],
    );
    assert_eq!(context.err, "");
    send(&folder, "vscode", "PostToolUse", call, &[]);
    let asked = json!({ "type": "assistant.message", "id": "e1", "data": { "content": "",
        "toolRequests": [{ "toolCallId": "call_1", "name": "bash", "arguments": command }] } });
    let done = json!({ "type": "tool.execution_complete", "id": "e2",
        "data": { "toolCallId": "call_1", "result": { "content": "9 crowns" } } });
    folder.write("transcript.jsonl", format!("{asked}\n{done}\n"));
    send(&folder, "vscode", "Stop", json!({ "transcript_path": path }), &[]);
    let answer =
        json!({ "type": "assistant.message", "id": "e3", "data": { "content": "It costs 9 crowns." } });
    // It even writes the answer while the hook of the end runs.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(150));
            folder.write("transcript.jsonl", format!("{asked}\n{done}\n{answer}\n"));
        });
        let reason = json!({ "reason": "complete" });
        send(&folder, "vscode", "SessionEnd", reason, &[]);
    });
    let texts: Vec<_> = entries(&folder, SESSION)
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert!(texts.contains(&"It costs 9 crowns.".to_owned()), "{texts:?}");
}
