//! The commands of hooks: which of them run this program, and with which options.
//!
//! # Layer
//! Layer 10, part of cli.

use std::path::Path;

use serde_json::Value as Json;

use super::server::{SERVER, Start, program_file};
use crate::cli::own_program::own_file;

/// The words by which a hook of this program is known, besides the name of the program.
const HOOK_WORDS: &str = " hook --client ";

/// Checks whether a path names this program: the file that runs, or one named after it, perhaps with a version.
fn is_own_program(program: &str) -> bool {
    let name = Path::new(program)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let own = own_file().ok();
    let is_running = own
        .as_deref()
        .and_then(Path::file_name)
        .is_some_and(|own| *own == *name);
    let rest = name.strip_prefix(SERVER);
    let is_version = |rest: &str| {
        let version = rest.trim_start_matches(['-', '_', '.', 'v', '@', '=']);
        matches!(rest, "" | ".exe" | ".cjs") || version.starts_with(|letter: char| letter.is_ascii_digit())
    };
    is_running || rest.is_some_and(is_version)
}

/// Checks whether a server in a settings file is that of this program.
pub(super) fn is_own_server(server: &Json) -> bool {
    Start::of(server).is_none_or(|start| is_own_program(start.program()))
}

/// Checks whether a command runs a hook of this program, and nothing else. Variables may be set before it.
pub(super) fn is_own_command(command: &str) -> bool {
    let Some((_, options)) = command.split_once(HOOK_WORDS) else {
        return false;
    };
    let program = program_of(command);
    let words: Vec<&str> = if command.starts_with('\'') {
        vec![&program]
    } else {
        program.split_whitespace().collect()
    };
    let Some((program, variables)) = words.split_last() else {
        return false;
    };
    is_own_program(program)
        && variables.iter().all(|word| word.contains('='))
        && !options.contains(['|', '&', ';', '>', '<', '`', '$', '\n'])
}

/// Returns a command with the options that a user gave an older hook, unless the new one has others.
pub(super) fn with_options_of(known: &str, new: &str) -> String {
    let parts = |command: &str| {
        command
            .split_once(HOOK_WORDS)
            .map(|(_, options)| options.to_owned())
    };
    let (Some(old), Some(options)) = (parts(known), parts(new)) else {
        return new.to_owned();
    };
    let has_all = options
        .split(' ')
        .all(|word| old.split(' ').any(|one| one == word));
    if !has_all {
        return new.to_owned();
    }
    let program = program_of(new);
    if program_of(known).ends_with(&program) {
        return known.to_owned();
    }
    new.replacen(&options, &old, 1)
}

/// The line of the plugin for opencode with the program and its arguments begins with this.
const PLUGIN_COMMAND: &str = "const COMMAND = ";

/// Returns the line of a plugin with the program and its arguments, and those words. Another file has none.
fn command_of_plugin(text: &str) -> Option<(&str, Vec<String>)> {
    let line = text.lines().find_map(|line| line.strip_prefix(PLUGIN_COMMAND))?;
    let words: Vec<String> = serde_json::from_str(line).ok()?;
    (!words.is_empty()).then_some((line, words))
}

/// Returns the program that the plugin for opencode runs. Another file runs none.
pub(super) fn program_in_plugin(text: &str) -> Option<String> {
    command_of_plugin(text)?.1.into_iter().next()
}

/// Returns an edited plugin with the program of the plugin `own`, if the program that it names does not exist.
pub(super) fn with_program_of(text: &str, own: &str) -> Option<String> {
    let (line, mut words) = command_of_plugin(text)?;
    let program = program_in_plugin(own)?;
    if program_file(Path::new(&words[0])).is_some() {
        return None;
    }
    words[0] = program;
    let [old, new] = [line, &Json::from(words).to_string()].map(|words| format!("{PLUGIN_COMMAND}{words}"));
    Some(text.replacen(&old, &new, 1))
}

/// Returns the program that the command of a hook runs.
pub(crate) fn program_of(command: &str) -> String {
    let program = command
        .split_once(HOOK_WORDS)
        .map_or(command, |(program, _)| program);
    // Undoes the quotes of a shell.
    program.trim_matches('\'').replace("'\\''", "'")
}
