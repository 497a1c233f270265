//! `completions`: the completion script for a shell.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::answers::program::Script;
use crate::cli::parse::definition_shown;

/// Print completions for a shell
///
/// # Examples
/// ```text
/// treering completions bash > ~/.local/share/bash-completion/completions/treering
/// treering completions zsh > ~/.zfunc/_treering
/// treering completions fish > ~/.config/fish/completions/treering.fish
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Completions {
    /// The shell that reads the completions
    shell: clap_complete::Shell,
}

impl Verb for Completions {
    const ANSWERS: &'static [Form] = &[form::<Script>("")];

    fn run(self, context: &mut Context) -> Done {
        let mut script = Vec::new();
        let mut definition = definition_shown(context.verbs);
        clap_complete::generate(self.shell, &mut definition, "treering", &mut script);
        let script = String::from_utf8_lossy(&script).into_owned();
        let shown = script.trim_end().to_owned();
        context.say(&Script { script }, shown)
    }
}
