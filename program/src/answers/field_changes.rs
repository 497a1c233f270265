//! The fields in which two versions of an object differ, without their contents.
//!
//! # Layer
//! Layer 8, part of answers. Pure.

use serde::Serialize;

use treering::{Object, Time, Value};

/// A field that differs.
#[derive(Serialize)]
pub(crate) struct FieldChange {
    pub(crate) name: String,
    pub(crate) old: Option<String>,
    pub(crate) new: Option<String>,
}

/// Returns the fields that differ: first the object's own fields, then its attributes by name. `written` formats the value
/// of an attribute.
pub(crate) fn field_changes(
    old: &Object,
    new: &Object,
    with_origin: bool,
    written: impl Fn(&Value) -> String,
) -> Vec<FieldChange> {
    let own = own_fields(old, with_origin).into_iter();
    let own = own.zip(own_fields(new, with_origin));
    let own = own.map(|((name, old), (_, new))| (name.to_owned(), old, new));
    let (before, after) = (old.attributes(), new.attributes());
    let mut names: Vec<&String> = before.iter().chain(after.iter()).map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    let attributes = names.into_iter().map(|name| {
        let (old, new) = (before.get(name).map(&written), after.get(name).map(&written));
        (name.clone(), old, new)
    });
    let all = own.chain(attributes).filter(|(_, old, new)| old != new);
    all.map(|(name, old, new)| FieldChange { name, old, new })
        .collect()
}

/// Returns all fields of an object except its attributes and content.
fn own_fields(object: &Object, with_origin: bool) -> [(&'static str, Option<String>); 7] {
    let text = |text: Option<&str>| text.map(str::to_owned);
    let time = |time: Option<Time>| time.map(|time| time.to_string());
    [
        ("kind", text(Some(object.kind()))),
        ("scope", text(Some(object.scope()))),
        ("parent", text(object.parent())),
        ("position", text(object.position())),
        ("origin", with_origin.then(|| object.origin().to_string())),
        ("expires", time(object.expires())),
        ("event_time", time(object.event_time())),
    ]
}
