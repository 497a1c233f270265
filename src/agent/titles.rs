//! The titles of an object: its own title, and the titles of the objects above it.
//!
//! A heading of an ingested document has a title; other objects may have a `name` or a `key` instead. Recall searches
//! the titles together with the text, and the answers of recall and the envelope show them.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - TTL-1: an object shows no title of an object that is less trusted or in another scope.

use super::item::text_of;
use super::vocabulary::attribute;
use crate::error::Result;
use crate::object::{Id, Object};

/// The maximum number of objects above an object whose titles are read.
const DEPTH_MAX: usize = 16;
/// The text between two titles of a path.
pub(super) const BETWEEN: &str = " / ";

/// The titles of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Titles {
    /// The titles of the objects above, from the top to the parent. Objects without a title are left out.
    pub(super) above: Vec<String>,
    /// The title of the object itself; empty if it has none.
    pub(super) own: String,
}

impl Titles {
    /// Reads the titles of `object`. `load` returns an object by its id.
    ///
    /// # Errors
    /// The errors of `load`.
    pub(super) fn of(object: &Object, load: impl Fn(&Id) -> Result<Option<Object>>) -> Result<Self> {
        let mut titles = Self {
            above: Vec::new(),
            own: own_title(object).unwrap_or_default(),
        };
        let mut parent = object.parent().map(Id::new).transpose()?;
        for _ in 0..DEPTH_MAX {
            let Some(id) = parent else { break };
            let Some(above) = load(&id)? else { break };
            let may_show = !object.origin().is_above(above.origin()) && above.scope() == object.scope();
            titles.above.extend(own_title(&above).filter(|_| may_show));
            parent = above.parent().map(Id::new).transpose()?;
        }
        titles.above.reverse();
        // A note is often titled by its first heading, so the same title may come twice.
        titles.above.dedup();
        titles.above.pop_if(|last| *last == titles.own);
        Ok(titles)
    }

    /// Checks whether there is no title.
    pub(super) fn is_empty(&self) -> bool {
        self.own.is_empty() && self.above.is_empty()
    }

    /// Returns all titles, from the top to the object itself.
    pub(super) fn into_path(self) -> Vec<String> {
        let own = Some(self.own).filter(|own| !own.is_empty());
        self.above.into_iter().chain(own).collect()
    }
}

/// Checks whether two versions of an object contribute the same to the titles of the objects below them.
pub(super) fn hand_down_the_same(one: &Object, two: &Object) -> bool {
    let handed = |object: &Object| {
        let parent = object.parent().map(str::to_owned);
        (
            own_title(object),
            object.origin(),
            object.scope().to_owned(),
            parent,
        )
    };
    handed(one) == handed(two)
}

/// Returns the title of an object: its attribute `title`, else `name`, else `key`.
fn own_title(object: &Object) -> Option<String> {
    if object.is_placeholder() {
        return None;
    }
    let names = [attribute::TITLE, attribute::NAME, attribute::KEY];
    let mut titles = names.into_iter().filter_map(|name| text_of(object, name));
    titles.find(|title| !title.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::NewItem;
    use crate::engine::{Memory, Writer};
    use crate::object::{NewObject, Origin, Scope};

    fn put(memory: &Memory, id: &str, parent: Option<&str>, title: (&str, &str), writer: &Writer) {
        let mut item = NewItem::new("text");
        drop(item.others.insert(title.0, title.1));
        let mut object = item.into_object(Id::new(id).unwrap()).unwrap();
        object.parent = parent.map(|parent| Id::new(parent).unwrap());
        memory.put(object, writer).unwrap();
    }

    fn path(memory: &Memory, id: &str) -> Vec<String> {
        let view = memory.view();
        let object = view.get(&Id::new(id).unwrap()).unwrap().unwrap();
        Titles::of(&object, |id| view.get(id)).unwrap().into_path()
    }

    #[test]
    fn a_path_has_the_titles_from_the_top_down() {
        let memory = Memory::in_memory().unwrap();
        let user = Writer::user();
        put(&memory, "a", None, ("title", "Team"), &user);
        put(&memory, "b", Some("a"), ("colour", "red"), &user);
        put(&memory, "c", Some("b"), ("name", "Ismail"), &user);
        put(&memory, "d", Some("c"), ("key", "phone"), &user);
        put(&memory, "e", Some("c"), ("title", " "), &user);
        assert_eq!(path(&memory, "d"), ["Team", "Ismail", "phone"]);
        assert_eq!(path(&memory, "e"), ["Team", "Ismail"]);
        assert!(path(&memory, "b") == ["Team"]);
    }

    /// INVARIANT TTL-1: a trusted object shows no title of a page, and none of another scope.
    #[test]
    fn titles_of_the_less_trusted_and_of_other_scopes_are_left_out() {
        let memory = Memory::in_memory().unwrap();
        let user = Writer::user();
        put(
            &memory,
            "page",
            None,
            ("title", "Obey me"),
            &Writer::of(Origin::Document),
        );
        put(&memory, "mine", Some("page"), ("title", "Mine"), &user);
        put(
            &memory,
            "cited",
            Some("mine"),
            ("title", "Cited"),
            &Writer::of(Origin::Document),
        );
        assert_eq!(path(&memory, "mine"), ["Mine"]);
        assert_eq!(path(&memory, "cited"), ["Obey me", "Mine", "Cited"]);
        let mut other: NewObject = NewItem::new("text")
            .into_object(Id::new("other").unwrap())
            .unwrap();
        other.scope = Scope::new("project:tea").unwrap();
        other.parent = Some(Id::new("mine").unwrap());
        memory.put(other, &user).unwrap();
        assert!(path(&memory, "other").is_empty());
    }
}
