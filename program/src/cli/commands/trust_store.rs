//! `trust-store`: the register of the stores that the user trusts.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::cli::context::{PROJECT_FOLDER, explain};
use crate::cli::trusted_stores::{TrustedStore, TrustedStores};

/// Trust a store that was found
///
/// Treering uses a store in this folder or above only if you made it or trust it. A store that came with a repository
/// may contain anything, including instructions to a model in your name. Read it first, with --untrusted-store.
///
/// # Notes
/// DIR may be the folder that holds .treering. A store that you move or copy needs trust-store again. You trust
/// everybody who can write the files of the store, also later.
///
/// # Examples
/// ```text
/// treering list --untrusted-store
/// treering trust-store
/// treering trust-store --list
/// treering trust-store --forget ~/old/.treering
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct TrustStore {
    /// The folder of the store [default: the store of the other verbs]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Trust it no longer
    #[arg(long)]
    forget: bool,
    /// List the trusted stores
    #[arg(long, conflicts_with_all = ["folder", "forget"])]
    list: bool,
}

/// A store, and whether it is trusted.
#[derive(Serialize, JsonSchema)]
struct Trusted {
    store: String,
    id: String,
    trusted: bool,
}

impl Trusted {
    fn of(entry: TrustedStore, trusted: bool) -> Self {
        Self {
            store: shown(&entry.path),
            id: entry.id,
            trusted,
        }
    }
}

impl Verb for TrustStore {
    const ANSWERS: &'static [Form] = &[form::<Trusted>(""), form::<Trusted>("with --list, one per line")];

    fn run(self, context: &mut Context) -> Done {
        let mut stores = TrustedStores::of_user()?;
        if self.list {
            let entries = stores.entries().to_vec().into_iter();
            let rows = entries.map(|entry| Ok(Trusted::of(entry, true)));
            return context.table(rows, &["store", "id"]);
        }
        let folder = match self.folder {
            Some(folder) => store_in(folder),
            None => context.found_store()?.0,
        };
        if self.forget {
            let Some(entry) = stores.forget(&folder)? else {
                let text = format!("{} is not one of your trusted stores", shown(&folder));
                return Err(Error::not_found(text).with_hint("treering trust-store --list shows them"));
            };
            let answer = Trusted::of(entry, false);
            let text = format!("{} is not trusted any more", answer.store);
            return context.say(&answer, text);
        }
        let entry = stores.add(&folder).map_err(|error| explain(error, &folder))?;
        let answer = Trusted::of(entry, true);
        let text = format!("{} is trusted", answer.store);
        context.say(&answer, text)
    }
}

/// Returns the store that a folder is or holds.
fn store_in(folder: PathBuf) -> PathBuf {
    let inside = folder.join(PROJECT_FOLDER);
    if Memory::id_of_store(&folder).is_err() && inside.is_dir() {
        inside
    } else {
        folder
    }
}
