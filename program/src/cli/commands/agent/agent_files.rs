//! Finds the files in which a coding agent keeps rules and memories.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - AGF-2: a file of a project is read only if it is in the project, whatever links and includes say. So a cloned
//!   repository brings no other file of the user into the memory.

use std::collections::HashSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::agent_context::read_found;
use crate::cli::context::{path_in, real_path};
use crate::cli::errors::input_error;
use treering::Result;
use treering::agent::Place;
use treering::inspect::agent::blocks::FoundFile;
use treering::inspect::agent::markdown::stem;

/// How far includes lead from file to file, as in Claude Code.
const INCLUDES_MAX: usize = 5;
/// How far folders of rules are searched.
const FOLDERS_MAX: usize = 8;
/// The largest number of files.
const FILES_MAX: usize = 1_000;

/// A coding agent with files of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodingAgent {
    ClaudeCode,
    Codex,
    Gemini,
}

/// The files that were found, and where the next ones may be.
struct Search {
    found: Vec<FoundFile>,
    seen: HashSet<PathBuf>,
    includes: bool,
    /// The folder in which files may be, and its name in the paths of found files.
    base: (PathBuf, &'static str),
}

/// Returns the files of an agent: those of the user, and those of the project of a folder. A path that is a file, or a folder
/// with a MEMORY.md, names these files alone.
///
/// # Errors
/// `NotFound` if the path does not exist.
pub(super) fn files_of(agent: CodingAgent, path: &Path) -> Result<Vec<FoundFile>> {
    let real = path.canonicalize().map_err(|error| input_error(path, error))?;
    let folder = if real.is_file() {
        real.parent().unwrap_or(&real)
    } else {
        &real
    };
    let top = Place::top_of(folder).unwrap_or(folder).to_owned();
    let mut search = Search {
        found: Vec::new(),
        seen: HashSet::new(),
        includes: agent != CodingAgent::Codex,
        base: (top.clone(), "./"),
    };
    if real.is_file() {
        search.add(&real, 0);
        return Ok(search.found);
    }
    if real.join("MEMORY.md").is_file() {
        search.base = (real.clone(), "./memory/");
        search.add_all(&real, 0);
        return Ok(search.found);
    }
    let mut folders = vec![top.as_path()];
    folders.extend((folder != top).then_some(folder));
    search.of_user(agent, &folders);
    search.base = (top.clone(), "./");
    for folder in folders {
        match agent {
            CodingAgent::ClaudeCode => {
                for name in ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"] {
                    search.add(&folder.join(name), 0);
                }
                search.add_all(&folder.join(".claude/rules"), 0);
            }
            CodingAgent::Codex => search.add_agents(folder),
            CodingAgent::Gemini => search.add(&folder.join("GEMINI.md"), 0),
        }
    }
    Ok(search.found)
}

impl Search {
    /// Adds the files of the user.
    fn of_user(&mut self, agent: CodingAgent, folders: &[&Path]) {
        let (variable, usual) = match agent {
            CodingAgent::ClaudeCode => ("CLAUDE_CONFIG_DIR", ".claude"),
            CodingAgent::Codex => ("CODEX_HOME", ".codex"),
            CodingAgent::Gemini => ("GEMINI_CONFIG_DIR", ".gemini"),
        };
        let Some(home) = path_in("HOME").map(|home| real_path(&home)) else {
            return;
        };
        let own = real_path(&path_in(variable).unwrap_or_else(|| home.join(usual)));
        self.base = if own.starts_with(&home) {
            (home, "~/")
        } else {
            (own.clone(), "~/config/")
        };
        match agent {
            CodingAgent::ClaudeCode => {
                self.add(&own.join("CLAUDE.md"), 0);
                self.add_all(&own.join("rules"), 0);
                for folder in folders {
                    let name = folder
                        .to_string_lossy()
                        .replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
                    self.add_all(&own.join("projects").join(name).join("memory"), 0);
                }
            }
            CodingAgent::Codex => {
                self.add_agents(&own);
                for name in ["memories/MEMORY.md", "memories/memory_summary.md"] {
                    self.add(&own.join(name), 0);
                }
            }
            CodingAgent::Gemini => self.add(&own.join("GEMINI.md"), 0),
        }
    }

    /// Adds the AGENTS.md of a folder, or the file that overrides it.
    fn add_agents(&mut self, folder: &Path) {
        let names = ["AGENTS.override.md", "AGENTS.md"];
        if let Some(file) = names
            .iter()
            .map(|name| folder.join(name))
            .find(|file| file.is_file())
        {
            self.add(&file, 0);
        }
    }

    /// Adds the Markdown files of a folder and of the folders in it, by name.
    fn add_all(&mut self, folder: &Path, depth: usize) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && depth < FOLDERS_MAX {
                self.add_all(&path, depth + 1);
            } else if stem(&path.to_string_lossy()).is_some() {
                self.add(&path, 0);
            }
        }
    }

    /// Adds a file, if it exists, and the files that it includes.
    fn add(&mut self, file: &Path, depth: usize) {
        let Ok(real) = file.canonicalize() else { return };
        if !real.is_file() || self.found.len() >= FILES_MAX || !self.seen.insert(real.clone()) {
            return;
        }
        // INVARIANT AGF-2: a file of a project is read only if it is in the project.
        let Ok(below) = real.strip_prefix(&self.base.0) else {
            self.found.push(FoundFile {
                path: file.display().to_string(),
                bytes: Err("the file is not in the folder that names it, so it was not read".to_owned()),
            });
            return;
        };
        let path = format!("{}{}", self.base.1, below.display());
        let text = read_found(&real).map_err(|error| error.message().to_owned());
        let includes = text.as_deref().map(included).unwrap_or_default();
        self.found.push(FoundFile {
            path,
            bytes: text.map(String::into_bytes),
        });
        if self.includes && depth < INCLUDES_MAX {
            for name in includes {
                let home = name.strip_prefix("~/").zip(env::var_os("HOME"));
                let path = home.map_or_else(
                    || PathBuf::from(&name),
                    |(name, home)| Path::new(&home).join(name),
                );
                self.add(&real.with_file_name("").join(path), depth + 1);
            }
        }
    }
}

/// Returns the paths that a text includes: words that begin with `@`, but not in code.
fn included(text: &str) -> Vec<String> {
    let mut is_code = false;
    let mut paths = Vec::new();
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        is_code ^= is_fence;
        if is_code || is_fence {
            continue;
        }
        for word in line.split('`').step_by(2).flat_map(str::split_whitespace) {
            let path = word
                .strip_prefix('@')
                .map(|path| path.trim_end_matches(['.', ',', ';', ':', ')']));
            paths.extend(path.filter(|path| !path.is_empty()).map(str::to_owned));
        }
    }
    paths
}
