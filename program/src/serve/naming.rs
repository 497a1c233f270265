//! Which ids an answer or an error names. The others are counted.
//!
//! # Layer
//! Layer 9, part of serve. Knows no protocol.
//!
//! # Invariants
//! - NID-1: an id is named only if the caller's scopes contain the item. An item that is gone counts with its last
//!   version. The id of an untrusted item is an untrusted text, so it is named only where the call allows it (SRV-3). An
//!   error may also name the ids that the call gave.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use super::Service;
use super::operations::named;
use crate::answers::words::counted;
use treering::View;
use treering::agent::Reach;
use treering::{Error, ErrorKind, Id, Object, Result};

/// The number of removed items whose history an answer reads. It counts the others as items of other scopes.
const REMOVED_MAX: usize = 200;
/// The number of ids of an error that are looked up. An error with more names only these.
const IDS_MAX: usize = 100;

/// The number of items that an answer does not name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) untrusted: usize,
    pub(super) other_scopes: usize,
}

impl LeftOut {
    pub(super) fn of_untrusted(count: usize) -> Self {
        Self {
            untrusted: count,
            ..Self::default()
        }
    }

    /// Returns the number of items for a program.
    pub(super) fn json(self) -> Json {
        let counts = [("untrusted", self.untrusted), ("other_scopes", self.other_scopes)];
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        counts
            .map(|(name, count)| (name.to_owned(), json!(count)))
            .collect()
    }

    /// Returns whether the answer names every item.
    pub(super) fn is_nothing(self) -> bool {
        self == Self::default()
    }

    /// Returns what the first line of a text says.
    pub(super) fn line(self) -> String {
        let mut line = String::new();
        if self.untrusted > 0 {
            let count = self.untrusted.to_string();
            line.extend(["; withheld as not trusted: ", &count]);
            line.push_str("; a person sees them with treering recall --with-untrusted");
        }
        if self.other_scopes > 0 {
            line.extend([
                "; of other scopes and not named: ",
                &self.other_scopes.to_string(),
            ]);
        }
        line
    }
}

/// The id of an item beside those that an operation selected. Only [`Naming`] makes one, so an answer whose fields for
/// such ids have this type names no other (NID-1).
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct Named(Id);

impl Named {
    /// Returns the id as a text shows it.
    pub(super) fn named(&self, view: &View) -> String {
        named(view, &self.0)
    }
}

/// Decides which ids of a state are named, and counts the others (NID-1).
pub(super) struct Naming<'a> {
    service: &'a Service,
    view: &'a View,
    reach: Reach,
    with_untrusted: bool,
    /// The ids that were decided already. Each counts once.
    decided: HashMap<Id, bool>,
    /// The number of removed items that were looked up.
    removed: usize,
    pub(super) left_out: LeftOut,
}

impl<'a> Naming<'a> {
    /// # Errors
    /// The errors of [`Service::reach`].
    pub(super) fn new(service: &'a Service, view: &'a View, with_untrusted: bool) -> Result<Self> {
        Ok(Self {
            service,
            view,
            reach: service.reach(None)?,
            with_untrusted,
            decided: HashMap::new(),
            removed: 0,
            left_out: LeftOut::default(),
        })
    }

    /// Returns whether the id is named. Counts it if not.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the item or its history cannot be read.
    pub(super) fn has(&mut self, id: &str) -> Result<bool> {
        let Ok(id) = Id::new(id) else { return Ok(true) };
        if let Some(decided) = self.decided.get(&id) {
            return Ok(*decided);
        }
        let is_named = self.decide(&id)?;
        self.decided.insert(id, is_named);
        Ok(is_named)
    }

    fn decide(&mut self, id: &Id) -> Result<bool> {
        let present = match self.view.get(id) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            found => found?,
        };
        let object = match present {
            Some(object) => Some(object),
            // To read the history of each id would take time without bound.
            None if self.removed == REMOVED_MAX => None,
            None => match self.last_version(id)? {
                // No item ever had this id. It is the name of something else, or one that the caller made up.
                LastVersion::Never => return Ok(true),
                LastVersion::Lost => None,
                LastVersion::Kept(object) => Some(object),
            },
        };
        let is_here = |object: &Object| self.reach.has(object.scope());
        let Some(object) = object.filter(is_here) else {
            self.left_out.other_scopes += 1;
            return Ok(false);
        };
        let is_named = self.with_untrusted || object.origin().is_trusted();
        self.left_out.untrusted += usize::from(!is_named);
        Ok(is_named)
    }

    fn last_version(&mut self, id: &Id) -> Result<LastVersion> {
        self.removed += 1;
        self.service.last_version(self.view, id)
    }

    /// Returns the id for an answer. Returns `None` if the answer does not name it.
    ///
    /// # Errors
    /// The errors of [`Self::has`].
    pub(super) fn name(&mut self, id: Id) -> Result<Option<Named>> {
        Ok(self.has(id.as_str())?.then_some(Named(id)))
    }

    /// Returns the id, if there is one and the answer names it.
    ///
    /// # Errors
    /// The errors of [`Self::has`].
    pub(super) fn name_any(&mut self, id: Option<Id>) -> Result<Option<Named>> {
        id.map_or(Ok(None), |id| self.name(id))
    }

    /// Returns the ids that an answer names.
    ///
    /// # Errors
    /// The errors of [`Self::has`].
    pub(super) fn names(&mut self, ids: Vec<Id>) -> Result<Vec<Named>> {
        ids.into_iter()
            .filter_map(|id| self.name(id).transpose())
            .collect()
    }
}

/// The last version of an id at or before a state.
pub(super) enum LastVersion {
    /// There was never an item with this id.
    Never,
    /// Every version was erased or lost.
    Lost,
    Kept(Object),
}

impl Service {
    /// Returns the newest version of an id, in a state or before, that was not erased or lost.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if history cannot be read.
    pub(super) fn last_version(&self, view: &View, id: &Id) -> Result<LastVersion> {
        let newest = view.commit().commit.seq;
        let mut last = LastVersion::Never;
        for entry in self.memory().changes_of(id) {
            let entry = entry?;
            if entry.commit.commit.seq > newest {
                continue;
            }
            last = LastVersion::Lost;
            let digest = entry.digest.filter(|_| !entry.erased && !entry.lost);
            let version = digest.map(|digest| self.memory().version(digest)).transpose()?;
            if let Some(version) = version.flatten() {
                return Ok(LastVersion::Kept(version));
            }
        }
        Ok(last)
    }

    /// Returns the error of a call as the caller may see it: it names no id but those of the call and those that an answer
    /// would name (NID-1).
    pub(super) fn told(&self, error: Error, arguments: &Map<String, Json>) -> Error {
        self.named_in(&error, arguments)
            .map_or_else(|failed| failed, |told| told.unwrap_or(error))
    }

    /// Returns another error if `error` names an id that the caller may not see.
    fn named_in(&self, error: &Error, arguments: &Map<String, Json>) -> Result<Option<Error>> {
        if error.ids().is_empty() || !error.names_objects() {
            return Ok(None);
        }
        let view = self.memory().view();
        // The untrusted work of a session that is untrusted itself is its own, or it has seen it.
        let with_untrusted = !self.class(&view)?.is_trusted();
        let mut naming = Naming::new(self, &view, with_untrusted)?;
        let mut named = Vec::new();
        for id in error.ids().iter().take(IDS_MAX) {
            if arguments.values().any(|value| contains(value, id)) || naming.has(id)? {
                named.push(id.clone());
            }
        }
        let LeftOut {
            untrusted,
            other_scopes,
        } = naming.left_out;
        if naming.left_out.is_nothing() {
            return Ok((named.len() < error.ids().len()).then(|| error.clone().with_ids(named)));
        }
        let others =
            (other_scopes > 0).then(|| format!("{} of other scopes", counted(other_scopes as u64, "item")));
        let withheld = (untrusted > 0).then(|| counted(untrusted as u64, "untrusted item"));
        let items = named.iter().map(|id| format!("'{id}'"));
        let items: Vec<_> = items.chain(others).chain(withheld).collect();
        // The sentence and the hint of the error may name what the caller may not see.
        let told = error
            .clone()
            .reworded(format!("the call is refused because of {}", items.join(", ")))
            .with_hint("nothing was changed; a person sees all of these items with the program");
        Ok(Some(told.with_ids(named)))
    }
}

/// Returns whether a text in an argument is the id.
fn contains(value: &Json, id: &str) -> bool {
    match value {
        Json::String(text) => text == id,
        Json::Array(list) => list.iter().any(|one| contains(one, id)),
        Json::Object(map) => map.values().any(|one| contains(one, id)),
        _ => false,
    }
}
