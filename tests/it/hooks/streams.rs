//! The recorded streams: what they store, what they give, and that order and repetition change nothing.

use serde_json::json;

use super::*;

/// Checks what a whole stream leaves, whatever order its events had.
fn check_stored(folder: &Folder, stream: &Stream) {
    let entries = entries(folder, &stream.session);
    assert_eq!(
        of_class(&entries, "direct_user"),
        PROMPTS,
        "{}: {entries:?}",
        stream.client
    );
    // Each text of the model is there once, and the page is only noted.
    for said in [
        "The shop uses Postgres 16.",
        "I will run the linter first.",
        "pnpm it is.",
    ] {
        let count = entries.iter().filter(|(_, text)| text == said).count();
        assert_eq!(count, 1, "{} {said}: {entries:?}", stream.client);
    }
    let reads = entries.iter().filter(|(_, text)| text.starts_with("read "));
    assert_eq!(reads.count(), 1, "{}: {entries:?}", stream.client);
    assert!(
        entries.iter().all(|(_, text)| !text.contains("Mallory")),
        "{entries:?}"
    );
}

#[test]
fn each_stream_is_kept_once_and_its_decisions_come_back() {
    for client in CLIENTS {
        let folder = workplace();
        let stream = Stream::of(client, &folder);
        stream.play(&folder, |_| true);
        check_stored(&folder, &stream);
        // The next session begins with what was decided, and not with what the page wanted.
        let mut start = stream.event(0).clone();
        for name in ["session_id", "sessionId", "conversation_id", "session"] {
            if start.get(name).is_some() {
                start[name] = "the-next-one".into();
            }
        }
        let given = context_of(&stream.send(&folder, &start));
        assert!(
            given.contains("run the linter") && given.contains("pnpm"),
            "{client}: {given}"
        );
        assert!(
            !given.contains("Mallory") && given.len() < 6_000,
            "{client}: {given}"
        );
        // The memory can be taken back to each turn, and as a whole.
        assert!(
            !folder
                .stream(&["snapshots", "--session", &stream.session])
                .is_empty(),
            "{client}"
        );
        folder.json(&["revert", "--session", &stream.session]);
        assert_eq!(entries(&folder, &stream.session), [], "{client}");
    }
}

/// INVARIANT HKC-3: a repeated event, and an event in another order, stores nothing twice.
/// INVARIANT PRM-2: a prompt is one entry, however often its event and its copy in the transcript arrive, and in any order.
#[test]
fn events_that_come_twice_late_or_never_change_nothing() {
    for client in CLIENTS {
        let folder = workplace();
        let stream = Stream::of(client, &folder);
        stream.play(&folder, |_| true);
        stream.play_events(&folder, false);
        check_stored(&folder, &stream);
        stream.play_events(&folder, true);
        check_stored(&folder, &stream);

        // Only the transcript and the prompts arrive, and the prompts last.
        if client == "opencode" {
            continue;
        }
        let folder = workplace();
        let stream = Stream::of(client, &folder);
        stream.play(&folder, |_| false);
        stream.play_events(&folder, true);
        check_stored(&folder, &stream);
    }
}

impl Stream {
    /// Sends all events again.
    pub(super) fn play_again(&self, folder: &Folder) {
        self.play_events(folder, false);
    }

    /// Sends all events again, in their order or backwards.
    fn play_events(&self, folder: &Folder, backwards: bool) {
        let mut events: Vec<&Value> = self
            .steps
            .iter()
            .filter(|step| step.get("event").is_some())
            .collect();
        if backwards {
            events.reverse();
        }
        for step in events {
            self.send(folder, &step["event"]);
        }
    }
}

#[test]
fn a_prompt_gets_what_answers_it_and_only_once() {
    let folder = workplace();
    let ask = |folder: &Folder, session: &str, prompt: &str| {
        let event = json!({ "session_id": session, "cwd": folder.path("shop"), "hook_event_name": "UserPromptSubmit",
            "prompt": prompt, "prompt_id": prompt });
        context_of(&folder.feed(&["hook", "--client", "claude-code"], event.to_string()))
    };
    folder.json(&[
        "remember",
        "The database of the shop is Postgres 16 on port 5433.",
        "--scope",
        "project:shop",
    ]);
    folder.json(&[
        "remember",
        "The office closes at five.",
        "--scope",
        "project:shop",
    ]);
    folder.json(&["remember", "The kettle of Ada leaks.", "--scope", "project:other"]);
    let given = ask(
        &folder,
        "s1",
        "Which database does the shop have, and on which port?",
    );
    assert!(
        given.contains("port 5433") && !given.contains("office"),
        "{given}"
    );
    // The conversation has the text now.
    assert_eq!(
        ask(
            &folder,
            "s1",
            "And which port of the database of the shop was it?"
        ),
        ""
    );
    assert!(!ask(&folder, "s2", "Which database does the shop have?").is_empty());
    for prompt in [
        "Refactor the parser into two files.",
        "thanks",
        "What does the kettle of Ada do?",
    ] {
        assert_eq!(ask(&folder, "s3", prompt), "", "{prompt}");
    }
    // What the person just typed needs no repetition.
    let typed = "Is this right: The database of the shop is Postgres 16 on port 5433.";
    assert_eq!(ask(&folder, "s4", typed), "");
}

#[test]
fn a_session_begins_with_the_open_notes_of_the_project() {
    let folder = workplace();
    let note = [
        "note",
        "write",
        "Still open: the tests of the parser.",
        "--session",
        "earlier",
    ];
    folder.json(&[&note[..], &["--scope", "project:shop"]].concat());
    let stream = Stream::of("claude-code", &folder);
    let given = context_of(&stream.send(&folder, stream.event(0)));
    assert!(given.contains("tests of the parser"), "{given}");
}

#[test]
fn nothing_is_said_if_there_is_nothing() {
    for client in CLIENTS {
        let folder = workplace();
        let stream = Stream::of(client, &folder);
        let ran = stream.send(&folder, stream.event(0));
        assert!(["", "{}\n"].contains(&ran.out.as_str()), "{client}: {ran:?}");
    }
    // Without a store, a session that begins creates none.
    let folder = Folder::new();
    fs::create_dir_all(folder.path("shop")).unwrap();
    let stream = Stream::of("claude-code", &folder);
    assert_eq!(stream.send(&folder, stream.event(0)).out, "");
    assert!(!folder.path("home/.local/share/treering").exists());
}

#[test]
fn facts_are_learnt_only_on_request_and_at_most_five() {
    let folder = workplace();
    let send = |number: usize, name: &str, options: &[&str]| {
        let event = json!({ "session_id": "s1", "cwd": folder.path("shop"), "hook_event_name": name,
            "prompt": format!("From now on rule number {number} holds."), "prompt_id": number.to_string() });
        let ran = folder.feed(
            &[&["hook", "--client", "claude-code"], options].concat(),
            event.to_string(),
        );
        assert!(ran.code == 0 && ran.err.is_empty(), "{ran:?}");
    };
    let rules = || folder.stream(&["list", "--kind", "rule"]).len();
    for number in 0..8 {
        send(number, "UserPromptSubmit", &[]);
        send(number, "Stop", &[]);
    }
    assert_eq!(rules(), 0);
    send(8, "Stop", &["--learn"]);
    send(9, "Stop", &["--learn"]);
    assert_eq!(rules(), 5);
    // A rule that was forgotten is not learnt again.
    let id = text(&folder.stream(&["list", "--kind", "rule"])[0]["id"]);
    folder.json(&["forget", &id]);
    send(10, "Stop", &["--learn"]);
    assert_eq!(rules(), 4);
}

/// A rule that was learnt and forgotten stays away: no episode or summary of its session brings it to the next one.
#[test]
fn a_forgotten_rule_is_not_in_the_context_of_the_next_session() {
    const RULE: &str = "Ab jetzt bitte immer auf Deutsch antworten.";
    let folder = workplace();
    let send = |session: &str, name: &str, prompt: &str| {
        let event = json!({ "session_id": session, "cwd": folder.path("shop"), "hook_event_name": name,
            "prompt": prompt, "prompt_id": prompt });
        let ran = folder.feed(&["hook", "--client", "claude-code", "--learn"], event.to_string());
        assert!(ran.code == 0 && ran.err.is_empty(), "{ran:?}");
        context_of(&ran)
    };
    // The context is compacted before the rule is learnt, so an episode has its sentence.
    for prompt in ["The login page shows an error after the update.", RULE] {
        send("L1", "UserPromptSubmit", prompt);
    }
    send("L1", "PreCompact", "");
    assert_eq!(folder.stream(&["list", "--kind", "rule"]), [] as [Value; 0]);
    send(
        "L1",
        "UserPromptSubmit",
        "Please look at the tests of the parser.",
    );
    send("L1", "Stop", "");
    let rule = text(&folder.stream(&["list", "--kind", "rule"])[0]["id"]);
    let forgot = folder.json(&["forget", &rule]);
    assert_eq!(forgot["forgotten"][1]["id"], "episode/L1");
    send("L1", "SessionEnd", "");
    let context = send("L2", "SessionStart", "");
    assert!(!context.contains("Deutsch"), "{context}");
    // The episode is no fact, and no prompt brings it.
    assert!(
        context.contains("<snapshot id=\"episode/L1\" trust=\"model\""),
        "{context}"
    );
    let prompt = send(
        "L3",
        "UserPromptSubmit",
        "Which error does the login page show after the update?",
    );
    assert_eq!(prompt, "");
}

/// An earlier prompt in the same words is the best hit of all, and must not lift facts about something else.
#[cfg(feature = "semantic")]
#[test]
fn a_repeated_prompt_brings_what_answers_it_and_nothing_else() {
    let folder = workplace();
    for fact in [
        "Deploys happen on Friday at 15:00",
        "Vera is allergic to peanuts",
        "The office is in Oslo",
    ] {
        let mut command = folder.command(&["remember", fact, "--scope", "global", "--trust", "direct_user"]);
        assert!(
            command
                .env("TREERING_MODEL", "bundled")
                .output()
                .unwrap()
                .status
                .success()
        );
    }
    for session in ["one", "two", "three"] {
        for (prompt, answer) in [("When do we ship?", "Deploys happen"), ("thanks, looks good", "")] {
            let event = json!({ "session_id": session, "cwd": folder.path("shop"), "hook_event_name": "UserPromptSubmit",
                "prompt": prompt, "prompt_id": prompt });
            folder.write("event.json", event.to_string());
            let mut command = folder.command(&["hook", "--client", "claude-code"]);
            let input = fs::File::open(folder.path("event.json")).unwrap();
            let output = command
                .env("TREERING_MODEL", "bundled")
                .stdin(input)
                .output()
                .unwrap();
            let context = context_of(&Ran::of(&output));
            assert_eq!(
                context.contains("Deploys"),
                !answer.is_empty(),
                "{session} {prompt}: {context}"
            );
            assert!(
                !context.contains("peanuts") && !context.contains("Oslo"),
                "{session} {prompt}: {context}"
            );
        }
    }
}

/// The first prompt of a large memory builds the index, and the next ones find it.
#[test]
fn a_prompt_keeps_the_index_that_it_built() {
    let folder = workplace();
    let lines: Vec<String> = (0..3_000)
        .map(|number| json!({ "text": format!("Parcel {number} is in hall {}.", number * 7) }).to_string())
        .collect();
    folder.write("facts.jsonl", lines.join("\n"));
    folder.run(&["remember", "--jsonl", "facts.jsonl"]);
    let index = folder.path(".treering/derived/recall");
    let _gone = fs::remove_file(&index);
    let event = json!({ "session_id": "s", "cwd": folder.path("shop"), "hook_event_name": "UserPromptSubmit",
        "prompt": "Where is parcel 12?", "prompt_id": "p1" });
    let ran = folder.feed(&["hook", "--client", "claude-code"], event.to_string());
    assert!(ran.code == 0 && ran.err.is_empty(), "{ran:?}");
    assert!(index.exists());
}
