//! `init`: creates a store.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::answers::store::{Created, FORMAT, absolute};
use crate::cli::context::PROJECT_FOLDER;
use treering::HashAlgorithm;

/// Create a store
///
/// # Examples
/// ```text
/// treering init
/// treering init --store /srv/agent --hash sha256
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Init {
    /// The hash algorithm for all digests of the store
    #[arg(long, default_value = "blake3", value_parser = args::one_of(HashAlgorithm::ALL, HashAlgorithm::name))]
    hash: HashAlgorithm,
}

impl Verb for Init {
    const ANSWERS: &'static [Form] = &[form::<Created>("")];

    fn run(self, context: &mut Context) -> Done {
        context.whole_store()?;
        let path = context.named_store().unwrap_or_else(|| PROJECT_FOLDER.into());
        context.create(&path, self.hash)?.close()?;
        let answer = Created {
            store: absolute(&path),
            hash: self.hash,
            format: FORMAT,
        };
        let text = format!(
            "created a store in {} (hash {}, format {FORMAT})",
            answer.store, self.hash
        );
        let next = "next: treering remember TEXT, or treering ingest PATH";
        context.say_with_note(&answer, text, "next", next)
    }
}
