//! Reading of states, their objects and their history.
//!
//! # Layer
//! Layer 5. Writes nothing and takes no lock.

pub(crate) mod bisect;
pub(crate) mod blame;
pub(crate) mod change;
pub(crate) mod children;
pub(crate) mod derived;
pub(crate) mod erased;
pub(crate) mod history;
pub(crate) mod holder;
pub(crate) mod index;
pub(crate) mod inspect;
pub(crate) mod ledger;
mod lines;
mod memory;
mod proof;
pub(crate) mod query;
pub(crate) mod revision;
pub(crate) mod selection;
pub(crate) mod short_id;
pub(crate) mod source;
pub(crate) mod state;
pub(crate) mod stats;
pub(crate) mod subtree;
pub(crate) mod text_records;
pub(crate) mod view;
pub(crate) mod written_by;

pub(crate) use change::{Change, ChangeKind};
pub(crate) use children::Newer;
pub(crate) use derived::{Derive, Derived, Version};
pub(crate) use erased::{erased_by, not_kept, text_of};
pub(crate) use history::{Commits, HistoryEntry, thinned_in};
pub(crate) use holder::Holder;
pub(crate) use index::{Family, Index, attribute_group, id_of, keys_of};
pub(crate) use lines::common_lines;
pub(crate) use revision::{MAIN_LINE, Revision, named_by};
pub(crate) use selection::Selection;
pub(crate) use source::Source;
pub(crate) use state::State;
pub(crate) use stats::Containment;
pub(crate) use view::{CommitInfo, View};

use crate::error::Result;

/// Ends an iterator after its first error.
pub(crate) fn until_error<T>(items: impl Iterator<Item = Result<T>>) -> impl Iterator<Item = Result<T>> {
    let mut is_over = false;
    items.take_while(move |item| !std::mem::replace(&mut is_over, item.is_err()))
}
