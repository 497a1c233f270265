//! Options between a verb and the verb within it: `session --session s1 append x` is `--session s1 session append x`.
//!
//! # Layer
//! L9, part of cli. Pure.

use std::ffi::OsString;

use clap::{Arg, Command};

/// Moves options that stand behind a verb with verbs of its own before it, where they may stand too.
pub(super) fn in_order(definition: &Command, arguments: &[OsString]) -> Vec<OsString> {
    let mut arguments = arguments.to_vec();
    let verb = behind_options(definition, &arguments, 1);
    let has_verbs = arguments
        .get(verb)
        .and_then(|name| definition.find_subcommand(name))
        .is_some_and(Command::has_subcommands);
    if has_verbs {
        let within = behind_options(definition, &arguments, verb + 1);
        if within < arguments.len() {
            arguments[verb..within].rotate_left(1);
        }
    }
    arguments
}

/// The place of the first argument from `at` on that is no option and no value of one.
fn behind_options(definition: &Command, arguments: &[OsString], mut at: usize) -> usize {
    while let Some(option) = arguments.get(at).and_then(|argument| argument.to_str())
        && option.starts_with('-')
        && option.len() > 1
    {
        let is_it = |known: &&Arg| {
            let long = known.get_long().map(|long| format!("--{long}"));
            let short = known.get_short().map(|short| format!("-{short}"));
            [long, short].iter().flatten().any(|name| name == option)
        };
        let known = definition.get_arguments().find(is_it);
        let takes_value = known.is_some_and(|known| known.get_action().takes_values());
        at += 1 + usize::from(takes_value);
    }
    at
}
