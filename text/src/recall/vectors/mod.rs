//! Vectors of texts: a table by the digest of the text, the places of documents in it, and the search for near ones.
//!
//! A [`VectorTable`] knows texts but no documents, so one table serves every state, fork and past state of a memory.
//! [`Places`] joins the documents of an index with the rows of a table.
//!
//! # Layer
//! Inside `recall`, below `index`. Uses tables. Does not know the embedder that computed the vectors.

mod nearest;
mod places;
mod quantised;
mod table;

pub(crate) use nearest::Nearest;
pub(crate) use places::{Found, Places};
pub use quantised::rounded;
pub use table::{TextKey, VectorTable};
