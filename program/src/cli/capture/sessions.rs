//! The present session of each running client, which its hooks note and its server follows.
//!
//! A client starts its hooks and its server, so both have the process of the client above them. Two windows in one project
//! are two processes, and each server finds the session of its own window.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - HKS-1: a server follows the session that the hooks of its own client process noted. Only without such a note, it
//!   follows the newest one of the client in the project.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::state::{folder, short, write_at_once};
use crate::cli::context::real_path;
use crate::hook::HookClient;
use treering::Result;
use treering::agent::Place;

/// The most conversations of one process that are known.
const CONVERSATIONS_MAX: usize = 8;
/// Programs that start another one, and are no client.
const SHELLS: [&str; 12] = [
    "ash", "bash", "busybox", "cmd", "dash", "env", "fish", "ksh", "nice", "sh", "timeout", "zsh",
];

/// A running process: its number and its start, because numbers are given again.
type Process = String;

/// The sessions of a client process, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
struct Sessions {
    sessions: Vec<String>,
}

impl Sessions {
    /// Returns the session in which the client works.
    fn present(&self) -> Option<&str> {
        self.sessions.first().map(String::as_str)
    }

    fn read(file: &Path) -> Option<Self> {
        serde_json::from_str(&fs::read_to_string(file).ok()?).ok()
    }
}

/// Notes that a session is the present one of its client process in a project. Returns the session that was the present one.
///
/// # Errors
/// `Io` if the note cannot be written.
pub(crate) fn note_session(client: HookClient, session: &str, place: &Path) -> Result<Option<String>> {
    change(client, place, |sessions| {
        let is_known = sessions.first().is_some_and(|known| known == session);
        sessions.retain(|known| known != session);
        sessions.insert(0, session.to_owned());
        sessions.truncate(CONVERSATIONS_MAX);
        !is_known
    })
}

/// Notes that a session has ended.
///
/// # Errors
/// `Io` if the note cannot be written.
pub(crate) fn end_session(client: HookClient, session: &str, place: &Path) -> Result<()> {
    let done = change(client, place, |sessions| {
        let before = sessions.len();
        // The last session stays the present one: its server may still write.
        sessions.retain(|known| known != session || before == 1);
        sessions.len() != before
    });
    done.map(drop)
}

fn change(
    client: HookClient,
    place: &Path,
    change: impl FnOnce(&mut Vec<String>) -> bool,
) -> Result<Option<String>> {
    let Some(folder) = folder() else {
        return Ok(None);
    };
    let process = client_process().unwrap_or_default();
    let start = start_of(client, place);
    let file = folder.join(format!("{start}{process}.session"));
    let own = Sessions::read(&file);
    let mut now = own.clone().unwrap_or_default();
    // The client of the session before may have ended without a word.
    let before = own.or_else(|| newest_of(&candidates(&folder, &start), |_| true));
    if change(&mut now.sessions) {
        write_at_once(&file, &serde_json::to_string(&now).unwrap_or_default())?;
    }
    Ok(before.and_then(|before| before.present().map(str::to_owned)))
}

/// Finds the present sessions of the client of a server, which the present process is.
#[cfg(feature = "mcp")]
pub(crate) struct Finder {
    folder: PathBuf,
    start: String,
    above: Vec<Process>,
}

#[cfg(feature = "mcp")]
impl Finder {
    /// A finder for a server in the current folder.
    pub(crate) fn here(client: HookClient) -> Option<Self> {
        Some(Self {
            folder: folder()?,
            start: start_of(client, &std::env::current_dir().ok()?),
            above: processes_above()
                .into_iter()
                .map(|(process, _)| process)
                .collect(),
        })
    }

    /// Returns the present session of the client (HKS-1), and the others from which a call may come.
    pub(crate) fn sessions(&self, client: HookClient) -> Option<(String, Vec<String>)> {
        let found = self.found()?;
        let mut sessions = found.sessions.into_iter();
        let present = sessions.next()?;
        Some((present, sessions.filter(|_| client.has_conversations()).collect()))
    }

    fn found(&self) -> Option<Sessions> {
        let notes = candidates(&self.folder, &self.start);
        let own = self.above.iter().find_map(|process| {
            let (_, _, file) = notes.iter().find(|(of, _, _)| of == process)?;
            Sessions::read(file)
        });
        let newest = || {
            let newest = newest_of(&notes, may_run)?;
            // They are of another process, so only the newest is the one that is meant.
            let sessions = newest.sessions.into_iter().take(1).collect();
            Some(Sessions { sessions })
        };
        own.or_else(newest)
    }
}

/// A note: the process, when it was written, and its file.
type Note = (Process, SystemTime, PathBuf);

/// Returns the notes of the processes of a client in a project.
fn candidates(folder: &Path, start: &str) -> Vec<Note> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let notes = entries.filter_map(|entry| {
        let name = entry.file_name();
        let process = name.to_str()?.strip_prefix(start)?.strip_suffix(".session")?;
        let written = entry.metadata().and_then(|file| file.modified()).ok()?;
        Some((process.to_owned(), written, entry.path()))
    });
    notes.collect()
}

/// Returns the newest note of the processes that are meant.
fn newest_of(notes: &[Note], is_meant: impl Fn(&str) -> bool) -> Option<Sessions> {
    let meant = notes.iter().filter(|(process, _, _)| is_meant(process));
    let (_, _, file) = meant.max_by_key(|(_, written, _)| *written)?;
    Sessions::read(file)
}

/// Returns the start of the names of the notes of a client in the project of a folder.
fn start_of(client: HookClient, place: &Path) -> String {
    let place = real_path(place);
    let top = Place::top_of(&place).unwrap_or(&place);
    short(&format!("{}\n{}", client.name(), top.display())) + "-"
}

/// Returns the process of the client that runs this hook: the nearest one above that is no shell.
fn client_process() -> Option<Process> {
    let mut above = processes_above().into_iter();
    above
        .find(|(_, name)| !SHELLS.contains(&name.as_str()))
        .map(|(process, _)| process)
}

/// Returns the processes above the present one, the nearest first, each with the name of its program. The first process of
/// the system is above everything, so it is left out.
fn processes_above() -> Vec<(Process, String)> {
    let mut above = Vec::new();
    let mut next = std::os::unix::process::parent_id();
    while next > 1 && above.len() < 32 {
        let Some((name, parent, started)) = process(next) else {
            break;
        };
        above.push((format!("{next}.{started}"), name));
        next = parent;
    }
    above
}

/// Checks whether a process may still run. Where the system does not tell, it may.
fn may_run(named: &str) -> bool {
    let Some((number, started)) = named.split_once('.') else {
        return true;
    };
    let Ok(number) = number.parse() else { return true };
    !Path::new("/proc/self/stat").exists() || process(number).is_some_and(|(_, _, start)| start == started)
}

/// Returns the name, the parent and the start of a process.
fn process(number: u32) -> Option<(String, u32, String)> {
    match fs::read_to_string(format!("/proc/{number}/stat")) {
        Ok(stat) => of_stat(&stat),
        Err(_) if Path::new("/proc/self/stat").exists() => None,
        Err(_) => {
            let ps = std::process::Command::new("/bin/ps")
                .args(["-o", "ppid=,comm=", "-p", &number.to_string()])
                .output();
            of_ps(&String::from_utf8_lossy(&ps.ok()?.stdout))
        }
    }
}

/// Reads a line of `/proc/NUMBER/stat`: the name may contain anything, also brackets.
fn of_stat(stat: &str) -> Option<(String, u32, String)> {
    let (before, after) = stat.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    let mut fields = after.split_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    // The start is the 22nd field of the line, and two fields are behind us.
    let started = fields.nth(17)?.to_owned();
    Some((name, parent, started))
}

/// Reads the line of `ps`: the parent and the path of the program.
fn of_ps(line: &str) -> Option<(String, u32, String)> {
    let (parent, program) = line.trim().split_once(char::is_whitespace)?;
    let name = program.trim().trim_start_matches('-');
    let name = name.rsplit('/').next().unwrap_or_default().to_owned();
    Some((name, parent.parse().ok()?, String::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_system_are_read() {
        let stat = "42 (a) b (c)) S 7 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 1 2 3";
        let read = of_stat(stat).unwrap();
        assert_eq!(
            (read.0.as_str(), read.1, read.2.as_str()),
            ("a) b (c)", 7, "98765")
        );
        let ps = of_ps("  7 /bin/zsh\n").unwrap();
        assert_eq!((ps.0.as_str(), ps.1), ("zsh", 7));
        for line in ["", "x", "1 (", "1 (a) S"] {
            assert_eq!(of_stat(line), None, "{line}");
        }
        for line in ["", "x", "x y"] {
            assert_eq!(of_ps(line), None, "{line}");
        }
    }

    #[test]
    fn the_process_above_is_found_and_runs() {
        let above = processes_above();
        assert!(!above.is_empty() && above.iter().all(|(process, _)| may_run(process)));
        assert!(!may_run("4294967295.1"));
    }
}
