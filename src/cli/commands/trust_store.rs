//! `trust-store`: the register of the stores that the user trusts.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::cli::context::explain;
use crate::cli::trusted_stores::{TrustedStore, TrustedStores};

/// Trust a store that somebody else made
///
/// A store that treering finds in this folder or above is used only if you made it or trust it. A store that came with a
/// repository may contain anything, also instructions to a model that seem to be yours. Look at it first, with
/// --untrusted-store.
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
    #[serde(flatten)]
    store: TrustedStore,
    trusted: bool,
}

impl Verb for TrustStore {
    const ANSWERS: &'static [Form] = &[form::<Trusted>(""), form::<Trusted>("with --list, one per line")];

    fn run(self, context: &mut Context) -> Done {
        let stores = TrustedStores::of_user()?;
        if self.list {
            let listed = stores.list()?.into_iter();
            let rows = listed.map(|store| Ok(Trusted { store, trusted: true }));
            return context.table(rows, &["store", "id"]);
        }
        let folder = match self.folder {
            Some(folder) => folder,
            None => context.found_store()?,
        };
        if self.forget {
            let path = folder.canonicalize().unwrap_or(folder);
            if !stores.forget(&path)? {
                return Err(
                    Error::not_found(format!("{} is not a trusted store", shown(&path)))
                        .with_hint("treering trust-store --list shows them"),
                );
            }
            let store = TrustedStore {
                id: String::new(),
                store: path,
            };
            let text = format!("{} is not trusted any more", shown(&store.store));
            return context.say(
                &Trusted {
                    store,
                    trusted: false,
                },
                text,
            );
        }
        let store = TrustedStore::of(&folder).map_err(|error| explain(error, &folder))?;
        stores.add(&store)?;
        let text = format!("{} is trusted", shown(&store.store));
        context.say(&Trusted { store, trusted: true }, text)
    }
}
