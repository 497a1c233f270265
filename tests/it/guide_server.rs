//! Starts what docs/guide/server.md configures: the units of systemd and the container run the program with arguments that it
//! accepts, and SIGTERM ends it with success.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::program::Folder;

/// The instructions of a container file that this page may use.
const INSTRUCTIONS: [&str; 9] = [
    "FROM",
    "RUN",
    "COPY",
    "USER",
    "VOLUME",
    "EXPOSE",
    "ENTRYPOINT",
    "CMD",
    "HEALTHCHECK",
];

/// Returns the blocks of the page in a language.
fn blocks(language: &str) -> Vec<String> {
    let page = Path::new(crate::ROOT).join("docs/guide/server.md");
    let page = fs::read_to_string(page).unwrap();
    let start = format!("```{language}\n");
    let blocks = page.split(&start).skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect()
}

/// Returns the values of a key in a unit. Checks that each line of the unit is a section or a key.
fn values<'a>(unit: &'a str, key: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut sections = Vec::new();
    for line in unit.lines().filter(|line| !line.is_empty()) {
        if line.starts_with('[') {
            sections.push(line);
            continue;
        }
        let (name, value) = line.split_once('=').unwrap_or_else(|| panic!("{line}"));
        assert!(
            name.chars().all(char::is_alphanumeric) && !value.is_empty(),
            "{line}"
        );
        if name == key {
            found.push(value);
        }
    }
    assert_eq!(sections, ["[Unit]", "[Service]", "[Install]"]);
    found
}

/// A store with a file of tokens and a remote, in the folder that stands for `/var/lib/treering`.
fn host() -> Folder {
    let folder = Folder::new();
    folder.json(&["--store", "memory", "init"]);
    folder.json(&["token", "add", "team.json", "vera"]);
    let url = format!("file://{}", folder.path("shared").display());
    folder.json(&["--store", "memory", "remote", "add", "origin", &url]);
    folder
}

/// Runs the program as a unit or a container does, until it answers. Then ends it as they do.
fn start(words: &[String]) -> Value {
    let folder = host();
    let here = folder.path("").display().to_string();
    let local = |word: &String| {
        let word = word.replace("/var/lib/treering/", &here);
        // Another program may have the port.
        if word.ends_with(":7070") {
            "127.0.0.1:0".to_owned()
        } else {
            word
        }
    };
    assert_eq!(words[0], "/usr/local/bin/treering");
    let mut words: Vec<String> = words[1..].iter().map(local).collect();
    words.push("--json".to_owned());
    let mut command = folder.command(&words);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    lines.read_line(&mut line).unwrap();
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{words:?}: {line}");
    serde_json::from_str(&line).unwrap_or_else(|_| panic!("{words:?} printed {line:?}"))
}

#[test]
fn the_units_start_the_program() {
    let units = blocks("ini");
    assert_eq!(units.len(), 2);
    let started = units.iter().map(|unit| {
        let command = values(unit, "ExecStart");
        assert_eq!(command.len(), 1);
        assert_eq!(values(unit, "User"), ["treering"]);
        start(&command[0].split(' ').map(str::to_owned).collect::<Vec<_>>())
    });
    let started: Vec<Value> = started.collect();
    assert!(started[0]["url"].is_string(), "{started:?}");
    assert_eq!(started[1]["pushed"]["commits"], 1, "{started:?}");
}

#[test]
fn the_container_starts_the_program() {
    let file = blocks("dockerfile").remove(0);
    let mut command: Vec<String> = Vec::new();
    for line in file.lines() {
        let (instruction, rest) = line.split_once(' ').unwrap_or_else(|| panic!("{line}"));
        assert!(INSTRUCTIONS.contains(&instruction), "{line}");
        if matches!(instruction, "ENTRYPOINT" | "CMD") {
            command.extend(serde_json::from_str::<Vec<String>>(rest).unwrap());
        }
    }
    assert!(start(&command)["url"].is_string());
    assert_eq!(
        file,
        fs::read_to_string(Path::new(crate::ROOT).join("packaging/Containerfile")).unwrap()
    );
    // What the image copies is what the first stage unpacks, and its user is made before it is taken.
    assert!(file.contains("-C /usr/local/bin\n") && file.contains("--from=archive /usr/local/bin/treering"));
    assert!(file.find("adduser").unwrap() < file.find("USER treering").unwrap());
}

/// Both proxies send requests to the address of the unit, and pass on the name that the unit admits.
#[test]
fn the_proxies_lead_to_the_server() {
    let unit = blocks("ini").remove(0);
    let words: Vec<&str> = unit.split_whitespace().collect();
    let after = |word: &str| words[words.iter().position(|one| *one == word).unwrap() + 1];
    let (address, host) = (after("--http"), after("--allow-host"));
    for language in ["caddy", "nginx"] {
        let proxy = blocks(language).remove(0);
        assert!(proxy.contains(address) && proxy.contains(host), "{language}");
        assert_eq!(proxy.matches('{').count(), proxy.matches('}').count());
    }
}
