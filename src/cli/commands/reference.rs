//! `completions`, `man`, `schema`: what the program says about itself, out of its own definitions.
//!
//! # Layer
//! L9, part of cli.

use serde_json::json;

use crate::cli::args::Cli;
use crate::cli::context::{Context, shown};
use crate::cli::errors::{DONE, Done};
use crate::cli::human::counted;
use crate::cli::schema as schemas;
use crate::cli::verbs::{Completions, Man, Schema};
use crate::error::Error;

pub(super) fn completions(context: &mut Context, verb: &Completions) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(verb.shell, &mut Cli::definition_shown(), "treering", &mut script);
    tell(context, "script", &script)
}

pub(super) fn man(context: &mut Context, verb: &Man) -> Done {
    let definition = Cli::definition_shown();
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

pub(super) fn schema(context: &mut Context, verb: &Schema) -> Done {
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
