//! `man`: prints the man page, or writes all man pages.
//!
//! # Layer
//! Layer 10, part of cli.

use clap_mangen::Man as Page;

use super::prelude::*;
use crate::answers::program::{ManPage, ManPages};
use crate::cli::parse::definition_shown;
use crate::cli::verb::{self, Groups};

/// Print the man page
///
/// With DIR, writes the page of each verb into that folder.
///
/// # Examples
/// ```text
/// treering man | man -l -
/// treering man ~/.local/share/man/man1
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Man {
    /// The folder to write treering.1, treering-put.1 and so on into
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl Verb for Man {
    const ANSWERS: &'static [Form] = &[form::<ManPage>(""), form::<ManPages>("with a folder")];

    fn run(self, context: &mut Context) -> Done {
        if let Some(folder) = &self.folder {
            // The user of `man put` probably wants to read a page, not to create a folder `put`.
            let named = folder.to_str().and_then(|name| verb::find(context.verbs, name));
            if let Some(verb) = named.filter(|_| !folder.exists()) {
                let help = format!("see treering {0} --help, or name the folder ./{0}", verb.name);
                return Err(usage_error("man accepts a folder, not a verb", help));
            }
            let (pages, path) = (write_pages(context.verbs, folder)?, shown(folder));
            let text = format!("wrote {} into {path}", counted(pages, "man page"));
            return context.say(&ManPages { pages, path }, text);
        }
        let mut page = Vec::new();
        let rendered = Page::new(definition_shown(context.verbs)).render(&mut page);
        rendered.map_err(|error| Error::io("writing the man page", error))?;
        let page = String::from_utf8_lossy(&page).into_owned();
        let shown = page.trim_end().to_owned();
        context.say(&ManPage { page }, shown)
    }
}

/// Writes a man page for the program and a man page for each verb. Returns the number of pages.
fn write_pages(verbs: Groups, folder: &Path) -> Result<u64> {
    let failed = |error| Error::io(format_args!("writing man pages into {}", shown(folder)), error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut definition = definition_shown(verbs);
    definition.build();
    let verbs = definition.get_subcommands();
    let verbs = verbs.filter(|verb| verb.get_name() != "help").cloned();
    let mut pages = 0;
    for command in std::iter::once(definition.clone()).chain(verbs) {
        Page::new(command).generate_to(folder).map_err(failed)?;
        pages += 1;
    }
    Ok(pages)
}
