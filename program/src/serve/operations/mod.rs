//! The operations of a server: one table of what a client may call.
//!
//! An operation is a request type with its name, its hints, its answer type and its work. MCP offers each as a tool. An
//! answer type has exactly the fields that a model gets: what a type of the library gets later stays out until the
//! answer type names it. To add an operation, write its request type beside the operations of its group, and add one
//! line to [`OPERATIONS`].
//!
//! ```text
//! /// Find stored items.                                  <- the description that a model reads
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! pub(crate) struct Recall {
//!     /// A question, or some words                       <- the description of the argument
//!     query: String,
//! }
//!
//! impl Operation for Recall {
//!     const NAME: &'static str = "memory_recall";
//!     ...
//!     type Answer = Hits;
//!     fn run(self, service: &Service, page: &Page) -> Result<Answer<Hits>> { ... }
//! }
//! ```
//!
//! # Layer
//! Layer 9, part of serve. Knows no protocol.
//!
//! # Invariants
//! - OPS-1: the table, the schemas and the rows of an answer have a fixed order.
//! - OPS-2: an unknown operation or argument is an error that names the valid ones.

/// Declares a struct with fields of a type of the library: what a model gets of it. A field that the type gets later stays
/// out of answers.
macro_rules! shown {
    ($(#[$meta:meta])* $vis:vis struct $name:ident of $from:ty {
        $($(#[$about:meta])* $field_vis:vis $field:ident: $type:ty $(= $source:ident)?,)+
    }) => {
        $(#[$meta])*
        #[derive(serde::Serialize, schemars::JsonSchema)]
        $vis struct $name {
            $($(#[$about])* $field_vis $field: $type,)+
        }

        impl From<$from> for $name {
            fn from(whole: $from) -> Self {
                Self {
                    $($field: shown!(@whole $field $($source)?).into(),)+
                }
            }
        }
    };
    (@$whole:ident $field:ident) => { $whole.$field };
    (@$whole:ident $field:ident $source:ident) => { $whole.$source };
}

mod answer;
mod arguments;
mod forget;
mod fork;
mod full;
mod get;
mod history;
mod inbox;
mod line;
mod note;
mod operation;
mod page;
mod recall;
mod remember;
mod schema;
mod snapshot;
mod status;
mod undo;

pub(crate) use self::answer::Sent;
pub(crate) use self::arguments::{fit, kind_of};
pub(crate) use self::line::named;
use self::operation::entry;
pub(crate) use self::operation::{Effect, Entry, Profile};
use treering::{Error, ErrorCode, Result};
use treering_text::visible::printable;

/// Every operation, in the order in which a server lists them (OPS-1).
const OPERATIONS: &[Entry] = &[
    entry::<recall::Recall>(),
    entry::<remember::Remember>(),
    entry::<get::Get>(),
    entry::<note::Note>(),
    entry::<forget::Forget>(),
    entry::<undo::Undo>(),
    entry::<snapshot::Snapshot>(),
    entry::<status::Status>(),
    entry::<history::History>(),
    entry::<history::Blame>(),
    entry::<inbox::AskInbox>(),
    entry::<full::Envelope>(),
    entry::<full::Append>(),
    entry::<full::Unforget>(),
    entry::<full::Quarantine>(),
    entry::<fork::MakeFork>(),
    entry::<fork::MergeFork>(),
];

/// Returns the operations of a profile.
pub(crate) fn of_profile(profile: Profile) -> impl Iterator<Item = &'static Entry> {
    OPERATIONS.iter().filter(move |one| one.profile <= profile)
}

/// Returns whether the profile offers each operation that a text names.
pub(crate) fn offers(profile: Profile, text: &str) -> bool {
    let is_of_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let mut names = text
        .split(|char| !is_of_name(char))
        .filter(|word| word.starts_with("memory_"));
    names.all(|name| of_profile(profile).any(|one| one.name == name))
}

/// Returns the operation of a profile with this name.
///
/// # Errors
/// `InvalidInput` (code `usage`), naming the operations of the profile (OPS-2).
pub(crate) fn find(profile: Profile, name: &str) -> Result<&'static Entry> {
    of_profile(profile).find(|one| one.name == name).ok_or_else(|| {
        let names: Vec<_> = of_profile(profile).map(|one| one.name).collect();
        Error::invalid(format!("there is no tool '{}'", printable(name)))
            .with_code(ErrorCode::Usage)
            .with_hint(format!("use one of {}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::OWN_TOOLS;

    /// A hook takes these tools for those of the memory, and their results taint no session.
    #[test]
    fn hooks_know_the_tools() {
        let mut names: Vec<_> = OPERATIONS
            .iter()
            .filter_map(|one| one.name.strip_prefix("memory_"))
            .collect();
        names.sort_unstable();
        assert_eq!(names, OWN_TOOLS);
    }
}
