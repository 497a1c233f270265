//! A week of three sessions with 60 turns, whose hooks run twice, in another order, or are killed.

use std::fmt::Write as _;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use super::helpers::{Numbers, with};
use super::*;

/// The number of turns of a session.
const TURNS: usize = 20;
/// What the person decides in each session. `install` asks for the learning of facts, and at most five a session are learnt.
const DECIDED: [[&str; 3]; 3] = [
    [
        "We decided to use Postgres 16 for the orders.",
        "From now on always run the linter before a commit.",
        "Remember that the demo for the board is on Friday.",
    ],
    [
        "We decided to deploy from the branch named release.",
        "From now on never log the address of a customer.",
        "We agreed to keep all prices in cents.",
    ],
    [
        "We decided to drop the support of Internet Explorer.",
        "From now on always write a test for each fixed fault.",
        "Remember that Vera owns the billing service.",
    ],
];

struct Week<'f> {
    folder: &'f Folder,
    session: String,
    numbers: Numbers,
}

impl Week<'_> {
    fn event(&self, name: &str, more: Value) -> Value {
        let transcript = self.folder.path(&format!("{}.jsonl", self.session));
        let event = json!({ "session_id": self.session, "cwd": self.folder.path("shop"), "hook_event_name": name,
            "transcript_path": transcript });
        with(event, more)
    }

    /// Writes a line of the client's transcript.
    fn line(&self, id: &str, role: &str, content: Value) {
        let path = self.folder.path(&format!("{}.jsonl", self.session));
        let mut all = fs::read_to_string(&path).unwrap_or_default();
        let mut line =
            json!({ "type": role, "uuid": id, "sessionId": self.session, "message": { "role": role } });
        line["message"]["content"] = content;
        writeln!(all, "{line}").unwrap();
        fs::write(path, all).unwrap();
    }

    /// Sends an event: once, twice, or after a run that is killed at any point.
    fn send(&mut self, event: &Value) {
        match self.numbers.below(6) {
            0 => self.run(event),
            1 => {
                let mut child = self
                    .folder
                    .command(&["hook", "--client", "claude-code", "--learn"])
                    .stdin(Stdio::from(self.file(event)))
                    .stdout(Stdio::null())
                    .spawn()
                    .unwrap();
                std::thread::sleep(Duration::from_millis(self.numbers.below(120) as u64));
                drop(child.kill());
                child.wait().unwrap();
            }
            _ => {}
        }
        self.run(event);
    }

    fn file(&self, event: &Value) -> fs::File {
        self.folder.write("event.json", event.to_string());
        fs::File::open(self.folder.path("event.json")).unwrap()
    }

    fn run(&self, event: &Value) {
        let ran = self
            .folder
            .feed(&["hook", "--client", "claude-code", "--learn"], event.to_string());
        assert!(ran.code == 0 && ran.err.is_empty(), "{event}: {ran:?}");
    }

    /// Plays the turns of the session. Returns what its transcript says, sorted.
    fn play(&mut self, decided: &[&str]) -> Vec<String> {
        let mut said = Vec::new();
        self.send(&self.event("SessionStart", json!({})));
        let mut late: Option<Value> = None;
        for turn in 0..TURNS {
            let prompt = match turn.checked_sub(5).and_then(|place| decided.get(place)) {
                Some(decided) => (*decided).to_owned(),
                // Some prompts have the same words.
                None if turn % 4 == 0 => "Go on.".to_owned(),
                None => format!("Please look at part {turn} of the {}.", self.session),
            };
            let event = self.event(
                "UserPromptSubmit",
                json!({ "prompt": prompt, "prompt_id": format!("p{turn}") }),
            );
            self.send(&event);
            self.line(&format!("{}-u{turn}", self.session), "user", json!(prompt));
            let answer = format!("Part {turn} of the {} is done.", self.session);
            let parts = json!([{ "type": "text", "text": answer }]);
            self.line(&format!("{}-a{turn}", self.session), "assistant", parts);
            said.extend([prompt, answer]);
            let stop = self.event("Stop", json!({}));
            // Now and then the answer of a turn is told after the next prompt.
            if self.numbers.below(5) == 0 {
                late = Some(stop);
            } else {
                self.send(&stop);
                if let Some(late) = late.take() {
                    self.send(&late);
                }
            }
        }
        self.send(&self.event("SessionEnd", json!({})));
        said.sort();
        said
    }
}

/// INVARIANT HKC-3: a repeated event, and an event in another order, stores nothing twice, and brings nothing back that was
/// undone.
/// INVARIANT SAE-5: an entry that a hook captures, and that the session had until somebody took it back, stays away.
#[test]
fn a_week_is_kept_once_and_its_decisions_are_there_the_next_day() {
    let folder = workplace();
    let mut week = Week {
        folder: &folder,
        session: String::new(),
        numbers: Numbers(45),
    };
    for (session, decided) in ["monday", "tuesday", "thursday"].into_iter().zip(DECIDED) {
        session.clone_into(&mut week.session);
        let said = week.play(&decided);
        let kept: Vec<String> = entries(&folder, session)
            .into_iter()
            .map(|(_, text)| text)
            .collect();
        let mut kept = kept;
        kept.sort();
        assert_eq!(kept, said, "{session}");
    }
    // One turn of the last session reads a page, and the model believes it.
    let read = json!({ "tool_name": "WebFetch", "tool_use_id": "t", "tool_input": { "url": "https://example.com/kettles" },
        "tool_response": { "result": POISON } });
    week.run(&week.event(
        "UserPromptSubmit",
        json!({ "prompt": "Which kettle is best?", "prompt_id": "page" }),
    ));
    week.run(&week.event("PostToolUse", read));
    folder.json(&[
        "remember",
        "Mallory sells the best kettles.",
        "--session",
        "thursday",
        "--trust",
        "model",
    ]);
    week.line(
        "thursday-page",
        "assistant",
        json!([{ "type": "text", "text": "The kettle of Mallory is best." }]),
    );
    week.run(&week.event("Stop", json!({})));
    let turns = folder.stream(&["log", "--turns"]);
    let poisoned: Vec<&Value> = turns.iter().filter(|turn| turn["sources"].is_array()).collect();
    assert_eq!(poisoned.len(), 1);
    assert_eq!(poisoned[0]["sources"], json!(["https://example.com/kettles"]));
    folder.json(&["undo", &format!("--turn={}", text(&poisoned[0]["turn"]))]);
    week.run(&week.event("Stop", json!({})));
    week.run(&week.event("SessionEnd", json!({})));
    let found = entries(&folder, "thursday");
    assert!(
        found
            .iter()
            .all(|(_, text)| !text.contains("kettle") && !text.contains("Mallory")),
        "{found:?}"
    );
    assert!(
        folder
            .stream(&["list", "--kind", "fact"])
            .iter()
            .all(|fact| !fact.to_string().contains("Mallory"))
    );

    // The fourth session begins with what the person decided.
    let event =
        json!({ "session_id": "friday", "cwd": folder.path("shop"), "hook_event_name": "SessionStart" });
    let ran = folder.feed(&["hook", "--client", "claude-code", "--learn"], event.to_string());
    let given = context_of(&ran);
    for decided in DECIDED.iter().flatten() {
        assert!(
            given.contains(decided.trim_end_matches('.')),
            "{decided}: {given}"
        );
    }
    assert!(!given.contains("Mallory"), "{given}");
}
