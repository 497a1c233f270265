//! `completions`, `man`, `schema`: what the program says about itself, out of its own definitions.
//!
//! # Layer
//! L10, part of cli.

use crate::cli::verb::Verb;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

use crate::cli::args;
use crate::cli::context::{Context, shown};
use crate::cli::errors::{DONE, Done};
use crate::cli::human::counted;
use crate::cli::schema as schemas;
use crate::error::Error;

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
    pub(crate) shell: clap_complete::Shell,
}

impl Verb for Completions {
    const NAME: &'static str = "completions";

    fn run(self, context: &mut Context) -> Done {
        completions(context, &self)
    }
}

/// Print the man page, or write that of each verb into a folder
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  treering man | man -l -\n  treering man ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// The folder to write treering.1, treering-put.1 and so on into
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

impl Verb for Man {
    const NAME: &'static str = "man";

    fn run(self, context: &mut Context) -> Done {
        man(context, &self)
    }
}

/// Print the JSON Schema of what a verb answers with --json
#[derive(Args, Debug)]
#[command(
    after_help = "Without a verb it is one document with the schema of each, and of errors and notes on standard error.\n\n\
                  Examples:\n  treering schema log\n  treering schema --json > treering.schemas.json"
)]
pub(crate) struct Schema {
    /// The verb, or `error` or `note`
    #[arg(value_name = "VERB")]
    pub(crate) verb: Option<String>,
}

impl Verb for Schema {
    const NAME: &'static str = "schema";

    fn run(self, context: &mut Context) -> Done {
        schema(context, &self)
    }
}

fn completions(context: &mut Context, verb: &Completions) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(verb.shell, &mut args::definition_shown(), "treering", &mut script);
    tell(context, "script", &script)
}

fn man(context: &mut Context, verb: &Man) -> Done {
    let definition = args::definition_shown();
    let Some(folder) = &verb.folder else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(definition).render(&mut page);
        rendered.map_err(|error| Error::io("writing the man page", error))?;
        return tell(context, "page", &page);
    };
    let failed = |error| Error::io(format_args!("writing man pages into {}", shown(folder)), error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut definition = definition;
    definition.build();
    let mut pages = 0_u64;
    let shown_verbs = definition
        .get_subcommands()
        .filter(|verb| verb.get_name() != "help");
    let all: Vec<clap::Command> = std::iter::once(definition.clone())
        .chain(shown_verbs.cloned())
        .collect();
    for command in all {
        let page = clap_mangen::Man::new(command);
        page.generate_to(folder).map_err(failed)?;
        pages += 1;
    }
    if context.output.is_json() {
        context
            .output
            .document(&json!({ "pages": pages, "path": shown(folder) }))?;
    } else {
        let what = counted(pages, "man page");
        context
            .output
            .line(format_args!("wrote {what} into {}", shown(folder)))?;
    }
    Ok(DONE)
}

fn schema(context: &mut Context, verb: &Schema) -> Done {
    let document = match &verb.verb {
        None => schemas::all(),
        Some(verb) => schemas::of(verb).ok_or_else(|| no_schema(verb))?,
    };
    if context.output.is_json() {
        context.output.document(&document)?;
    } else {
        context.output.line(format_args!("{document:#}"))?;
    }
    Ok(DONE)
}

fn no_schema(verb: &str) -> Error {
    Error::not_found(format!("'{verb}' answers with no document of its own"))
        .with_hint(format!("there are schemas of {}", schemas::names().join(", ")))
}

/// A text for other programs: as it is, or in a document.
fn tell(context: &mut Context, name: &str, text: &[u8]) -> Done {
    let text = String::from_utf8_lossy(text);
    if context.output.is_json() {
        context.output.document(&json!({ name: text }))?;
    } else {
        text.lines().try_for_each(|line| context.output.line(line))?;
    }
    Ok(DONE)
}
