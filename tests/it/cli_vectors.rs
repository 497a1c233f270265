//! The files of vectors: what an erasure, a stop, a repeated question and another model do to them. The model is a command
//! that logs what it embeds.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::program::{Folder, Ran, bytes_below};

/// Gives texts about drinks and texts about ships different vectors, and logs each line of input.
const MODEL: &str = r#"while read -r line; do
  echo "$line" >> embedded.log
  case "$line" in
    *tea*|*beverage*) echo '{"vector":[120,7,11,13,17,19,23,29,31,37,41,43,47,53,59,127]}';;
    *'note '*) sleep 0.03; echo '{"vector":[-7,120,-11,13,-17,19,-23,29,31,-37,41,-43,47,53,-59,127]}';;
    *) echo '{"vector":[-7,-11,120,13,-17,19,-23,29,-31,37,-41,43,-47,53,59,127]}';;
  esac
done"#;

/// The bytes of the vector of a text about drinks.
const TEA: [u8; 16] = [120, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 127];

/// Returns a folder with a store, whose model is the command `MODEL`. Each argument names another model.
fn folder() -> Folder {
    let folder = Folder::with_store();
    set_model(&folder, "a");
    folder
}

fn set_model(folder: &Folder, name: &str) {
    let settings = format!("[meaning]\ncommand = [\"sh\", \"-c\", '''{MODEL}''', \"{name}\"]\n");
    folder.write("settings.toml", settings);
}

fn command(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = folder.command(arguments);
    command
        .env_remove("TREERING_MODEL")
        .env("TREERING_SETTINGS", folder.path("settings.toml"));
    command
}

fn run(folder: &Folder, arguments: &[&str]) -> Ran {
    let ran = Ran::of(&command(folder, arguments).output().unwrap());
    assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.err);
    ran
}

fn recall(folder: &Folder, question: &str) -> serde_json::Value {
    let ran = run(folder, &["recall", question, "--json"]);
    serde_json::from_str(&ran.out).unwrap()
}

/// Returns how often the model embedded something with this word.
fn embedded(folder: &Folder, word: &str) -> usize {
    let log = std::fs::read_to_string(folder.path("embedded.log")).unwrap_or_default();
    log.lines().filter(|line| line.contains(word)).count()
}

fn files(folder: &Folder, start: &str) -> Vec<String> {
    let derived = std::fs::read_dir(folder.store().join("derived")).unwrap();
    let names = derived.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(start)).collect();
    names.sort();
    names
}

fn remember(folder: &Folder, id: &str, text: &str) {
    run(folder, &["remember", text, "--id", id, "--scope", "global"]);
}

#[test]
fn a_repeated_question_needs_no_model() {
    let folder = folder();
    remember(&folder, "facts/t", "Ada drinks tea");
    for _ in 0..3 {
        let found = recall(&folder, "Which beverage?");
        assert_eq!(found["hits"][0]["id"], "facts/t");
    }
    assert_eq!(embedded(&folder, "beverage"), 1);
    // A damaged file of questions is ignored, and written again.
    let [file] = &files(&folder, "questions-")[..] else {
        panic!("one file has the questions")
    };
    let path = folder.store().join("derived").join(file);
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(recall(&folder, "Which beverage?")["hits"][0]["id"], "facts/t");
    recall(&folder, "Which beverage?");
    assert_eq!(embedded(&folder, "beverage"), 2);
}

/// INVARIANTS VCT-1, QSV-2: an erasure takes the vector and the questions, and leaves the other vectors.
#[test]
fn an_erasure_takes_one_vector_and_leaves_the_others() {
    let folder = folder();
    remember(&folder, "facts/s", "The ship is moored at six");
    remember(&folder, "facts/t", "Ada drinks tea");
    recall(&folder, "Which beverage?");
    let holds = || {
        let all = bytes_below(&folder.store());
        all.iter()
            .any(|(_, bytes)| bytes.windows(16).any(|window| window == TEA))
    };
    assert!(holds());
    run(&folder, &["erase", "facts/t", "--yes"]);
    assert!(!holds());
    assert!(files(&folder, "questions-").is_empty());
    let found = recall(&folder, "Where is the vessel?");
    assert_eq!(found["hits"][0]["id"], "facts/s");
    assert_eq!(found["vectors"]["pending"], 0);
    assert_eq!(embedded(&folder, "moored"), 1, "no text is embedded again");
    assert!(!holds());
}

/// Ctrl-C ends the work as it ends other verbs. What was computed stays, and the next run goes on.
#[test]
fn ctrl_c_keeps_the_vectors_so_far() {
    let folder = folder();
    let lines: String = (0..100)
        .map(|at| format!("{{\"text\":\"note {at} end\"}}\n"))
        .collect();
    folder.write("notes.jsonl", lines);
    let arguments = ["remember", "--jsonl", "notes.jsonl", "--scope", "global"];
    let mut child = command(&folder, &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while embedded(&folder, "note ") < 5 && begun.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(2));
    let before = embedded(&folder, "note ");
    assert!((5..100).contains(&before), "{before}");
    run(&folder, &arguments);
    assert_eq!(embedded(&folder, "note "), 100, "no text is embedded twice");
}

/// Another model has its own files. The old ones go with the next `gc` after all texts have the new vectors.
#[test]
fn gc_removes_the_vectors_of_a_model_that_was_replaced() {
    let folder = folder();
    remember(&folder, "facts/t", "Ada drinks tea");
    recall(&folder, "Which beverage?");
    let old = [files(&folder, "vectors-"), files(&folder, "questions-")].concat();
    set_model(&folder, "b");
    run(&folder, &["gc"]);
    assert_eq!(
        [files(&folder, "vectors-"), files(&folder, "questions-")].concat(),
        old
    );
    assert_eq!(recall(&folder, "Which beverage?")["hits"][0]["id"], "facts/t");
    assert!(files(&folder, "vectors-").len() > 1);
    run(&folder, &["gc"]);
    let new = [files(&folder, "vectors-"), files(&folder, "questions-")].concat();
    assert_eq!(new.len(), 2);
    assert!(new.iter().all(|name| !old.contains(name)));
}

/// A text in a language that the model does not know gets no vector, and does not wait for one.
#[test]
fn a_text_in_another_language_is_not_pending() {
    let folder = Folder::with_store();
    let bundled = |arguments: &[&str]| {
        let mut command = folder.command(arguments);
        Ran::of(&command.env_remove("TREERING_MODEL").output().unwrap())
    };
    let text = "Офис открывается в девять часов утра по понедельникам";
    assert_eq!(bundled(&["remember", text, "--scope", "global"]).code, 0);
    let found = bundled(&["recall", "офис открывается", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&found.out).unwrap();
    assert_eq!(found["vectors"]["pending"], 0, "{found}");
    assert_eq!(found["hits"][0]["snippet"], text);
    let file = folder
        .store()
        .join("derived")
        .join(&files(&folder, "vectors-")[0]);
    assert!(file.metadata().unwrap().len() < 400, "no vector was written");
}

/// Where no terminal shows the progress, a note says before the work that it takes a while.
#[test]
fn many_vectors_are_announced_in_a_pipe() {
    for (count, is_told) in [(301, true), (20, false)] {
        let folder = folder();
        let lines = (0..count).map(|number| {
            format!("{{\"id\":\"n/{number}\",\"kind\":\"note\",\"content\":\"ship {number}\"}}")
        });
        folder.write("many.jsonl", lines.collect::<Vec<_>>().join("\n"));
        let ran = run(&folder, &["ingest", "--as-me", "many.jsonl", "--json"]);
        assert_eq!(ran.err.contains("computing "), is_told, "{}", ran.err);
        assert_eq!(embedded(&folder, "ship"), count);
    }
}
