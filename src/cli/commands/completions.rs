//! `completions`: the completions of a shell.
//!
//! # Layer
//! L10, part of cli.

use super::prelude::*;
use crate::answers::program::Script;
use crate::cli::parse::definition_shown;

/// Print the completions of a shell
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  treering completions bash > ~/.local/share/bash-completion/completions/treering\n  \
                  treering completions zsh > ~/.zfunc/_treering\n  \
                  treering completions fish > ~/.config/fish/completions/treering.fish"
)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: clap_complete::Shell,
}

impl Verb for Completions {
    const NAME: &'static str = "completions";
    const ANSWERS: &'static [Form] = &[form::<Script>("")];

    fn run(self, context: &mut Context) -> Done {
        let mut script = Vec::new();
        clap_complete::generate(
            self.shell,
            &mut definition_shown(context.verbs),
            "treering",
            &mut script,
        );
        context.answer(&Script {
            script: String::from_utf8_lossy(&script).into_owned(),
        })?;
        Ok(DONE)
    }
}

impl Answer for Script {
    fn show(&self, context: &mut Context) -> Result<(), Failure> {
        let mut lines = self.script.lines();
        lines.try_for_each(|line| context.output.line(line))
    }
}
