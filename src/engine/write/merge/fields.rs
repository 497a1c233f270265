//! Merges two versions of one object field by field.
//!
//! # Layer
//! Layer 5. Pure.
//!
//! # Invariants
//! - MFD-1: the merged object does not depend on which version is ours and which is theirs, unless a field is in conflict.
//! - MFD-2: a field that one side changed alone has the value of that side.

use std::collections::{BTreeMap, BTreeSet};

use crate::object::{Attributes, NewObject, Time, Value};

use super::text::merge_texts;

/// The field of the time from which on an object is hidden.
pub(super) const EXPIRES: &str = "expires";

/// The version from which both sides come.
#[derive(Clone, Copy)]
pub(super) enum Base<'a> {
    /// The object was there. The values of the named fields are not known, because several bases disagree.
    Known(&'a NewObject, &'a BTreeSet<String>),
    /// The object was not there, so both sides added it.
    Absent,
    /// The version is not kept any more. Fields that differ are in conflict.
    Unknown,
}

/// The side whose value a field in conflict gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Ours,
    Theirs,
}

/// Two versions as one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MergedFields {
    pub(super) object: NewObject,
    /// The names of the fields that both sides changed differently, sorted. An attribute is `attr:` and its name.
    pub(super) conflicts: BTreeSet<String>,
}

/// Merges two versions of one id. A field in conflict gets the value of `preferred`. The lineage is the union of both.
pub(super) fn merge_fields(
    base: Base<'_>,
    ours: &NewObject,
    theirs: &NewObject,
    preferred: Side,
) -> MergedFields {
    fields_by(base, [ours, theirs], preferred, None)
}

/// Merges as [`merge_fields`] does, but somebody decided for a side: of a text in conflict, it gets only the disputed lines.
pub(super) fn decide_fields(
    base: Base<'_>,
    ours: &NewObject,
    theirs: &NewObject,
    side: Side,
) -> MergedFields {
    fields_by(base, [ours, theirs], side, Some(side))
}

fn fields_by(
    base: Base<'_>,
    [ours, theirs]: [&NewObject; 2],
    preferred: Side,
    decided: Option<Side>,
) -> MergedFields {
    let mut merge = Merge {
        base,
        ours,
        theirs,
        preferred,
        decided,
        conflicts: BTreeSet::new(),
    };
    let lineage = ours.derived_from.iter().chain(&theirs.derived_from);
    let object = NewObject {
        id: ours.id.clone(),
        kind: merge
            .field("kind", |object| Some(&object.kind))
            .unwrap_or(&ours.kind)
            .clone(),
        scope: merge
            .field("scope", |object| Some(&object.scope))
            .unwrap_or(&ours.scope)
            .clone(),
        parent: merge.field("parent", |object| object.parent.as_ref()).cloned(),
        position: merge
            .field("position", |object| object.position.as_ref())
            .cloned(),
        attributes: merge.attributes(),
        content: merge.content(),
        derived_from: lineage.copied().collect::<BTreeSet<_>>().into_iter().collect(),
        event_time: merge
            .field("event_time", |object| object.event_time.as_ref())
            .copied(),
        expires: merge.expires(),
        reserved: merge.reserved(),
    };
    MergedFields {
        object,
        conflicts: merge.conflicts,
    }
}

/// What is known of a value in the base.
#[derive(Clone, Copy)]
enum Was<T> {
    /// `None` if there was no value.
    Known(Option<T>),
    Unknown,
}

impl<T> Was<T> {
    fn and_then<U>(self, part: impl FnOnce(T) -> Option<U>) -> Was<U> {
        match self {
            Self::Known(value) => Was::Known(value.and_then(part)),
            Self::Unknown => Was::Unknown,
        }
    }
}

/// Both sides changed a value, to different ones.
struct Differ;

/// Returns the value of the side that changed it alone, or the value that both have.
fn changed_alone<T: PartialEq>(was: Was<T>, ours: Option<T>, theirs: Option<T>) -> Result<Option<T>, Differ> {
    match was {
        _ if ours == theirs => Ok(ours),
        Was::Known(base) if base == theirs => Ok(ours),
        Was::Known(base) if base == ours => Ok(theirs),
        _ => Err(Differ),
    }
}

struct Merge<'a> {
    base: Base<'a>,
    ours: &'a NewObject,
    theirs: &'a NewObject,
    preferred: Side,
    /// The side for which somebody decided.
    decided: Option<Side>,
    conflicts: BTreeSet<String>,
}

impl<'a> Merge<'a> {
    /// Returns what is known of the base for the named field.
    fn was(&self, field: &str) -> Was<&'a NewObject> {
        match self.base {
            Base::Known(_, unknown) if unknown.contains(field) => Was::Unknown,
            Base::Known(object, _) => Was::Known(Some(object)),
            Base::Absent => Was::Known(None),
            Base::Unknown => Was::Unknown,
        }
    }

    /// Records a conflict, and returns the value of the preferred side.
    fn conflict<T>(&mut self, field: impl Into<String>, ours: T, theirs: T) -> T {
        self.conflicts.insert(field.into());
        match self.preferred {
            Side::Ours => ours,
            Side::Theirs => theirs,
        }
    }

    /// Merges a field whose value is one whole.
    fn field<T: PartialEq>(
        &mut self,
        name: &str,
        get: impl Fn(&'a NewObject) -> Option<&'a T>,
    ) -> Option<&'a T> {
        let (ours, theirs) = (get(self.ours), get(self.theirs));
        let merged = changed_alone(self.was(name).and_then(get), ours, theirs);
        merged.unwrap_or_else(|Differ| self.conflict(name, ours, theirs))
    }

    /// Merges the text by lines.
    fn content(&mut self) -> Option<String> {
        let get = |object: &'a NewObject| object.content.as_ref();
        let was = self.was("content").and_then(get);
        let (ours, theirs) = (get(self.ours), get(self.theirs));
        if let (Was::Known(Some(base)), Some(ours), Some(theirs)) = (was, ours, theirs)
            && let Some(merged) = merge_texts(base, ours, theirs, self.decided)
        {
            return Some(merged);
        }
        self.field("content", get).cloned()
    }

    /// Merges the time from which on the object is hidden: the earlier one, if both sides set it.
    fn expires(&mut self) -> Option<Time> {
        let get = |object: &'a NewObject| object.expires.as_ref();
        let merged = changed_alone(self.was(EXPIRES).and_then(get), get(self.ours), get(self.theirs));
        let earlier = || {
            [self.ours.expires, self.theirs.expires]
                .into_iter()
                .flatten()
                .min()
        };
        merged.map_or_else(|Differ| earlier(), Option::<&Time>::copied)
    }

    fn attributes(&mut self) -> Attributes {
        let names = |attributes: &'a Attributes| attributes.iter().map(|(name, _)| name);
        let (ours, theirs) = (&self.ours.attributes, &self.theirs.attributes);
        let all: BTreeSet<&String> = names(ours).chain(names(theirs)).collect();
        let mut merged = Attributes::new();
        for name in all {
            let field = format!("attr:{name}");
            let was = self.was(&field).and_then(|object| object.attributes.get(name));
            let (ours, theirs) = (ours.get(name), theirs.get(name));
            let value = merge_values(was, ours, theirs);
            let value = value.unwrap_or_else(|Differ| self.conflict(field, ours, theirs).cloned());
            if let Some(value) = value {
                merged.insert(name, value);
            }
        }
        merged
    }

    fn reserved(&mut self) -> BTreeMap<u16, Vec<u8>> {
        let tags = self.ours.reserved.keys().chain(self.theirs.reserved.keys());
        let tags: BTreeSet<u16> = tags.copied().collect();
        let fields = tags.into_iter().filter_map(|tag| {
            let value = self.field(&format!("reserved:{tag:#06x}"), |object| {
                object.reserved.get(&tag)
            });
            Some((tag, value?.clone()))
        });
        fields.collect()
    }
}

/// Merges the value of an attribute. Maps are merged key by key, and lists of texts as sets.
fn merge_values(
    was: Was<&Value>,
    ours: Option<&Value>,
    theirs: Option<&Value>,
) -> Result<Option<Value>, Differ> {
    if let Ok(value) = changed_alone(was, ours, theirs) {
        return Ok(value.cloned());
    }
    match (was, ours.ok_or(Differ)?, theirs.ok_or(Differ)?) {
        (Was::Known(base), Value::Map(ours), Value::Map(theirs)) => {
            let base = base.and_then(|base| match base {
                Value::Map(base) => Some(base),
                _ => None,
            });
            let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
            let mut merged = BTreeMap::new();
            for key in keys {
                let was = Was::Known(base.and_then(|base| base.get(key)));
                if let Some(value) = merge_values(was, ours.get(key), theirs.get(key))? {
                    merged.insert(key.clone(), value);
                }
            }
            Ok(Some(Value::Map(merged)))
        }
        (Was::Known(base), ours, theirs) => {
            let base = base.map_or(Some(Vec::new()), as_set);
            let sets = base.and_then(|base| Some((base, as_set(ours)?, as_set(theirs)?)));
            let (base, ours, theirs) = sets.ok_or(Differ)?;
            merge_sets(&base, &ours, &theirs).map(Some).ok_or(Differ)
        }
        (Was::Unknown, ..) => Err(Differ),
    }
}

/// Returns the texts of a list. Returns `None` if it has another value or a repeat.
fn as_set(value: &Value) -> Option<Vec<&str>> {
    let Value::List(values) = value else {
        return None;
    };
    let texts = values.iter().map(Value::as_text).collect::<Option<Vec<_>>>()?;
    let distinct: BTreeSet<&&str> = texts.iter().collect();
    (distinct.len() == texts.len()).then_some(texts)
}

/// Merges lists as sets: what stayed in both keeps its order, and what one side added follows, sorted. `None` if a side
/// changed the order, which a set would lose.
fn merge_sets(base: &[&str], ours: &[&str], theirs: &[&str]) -> Option<Value> {
    let is_in_order = |side: &[&str]| {
        let kept = side.iter().filter(|text| base.contains(text));
        kept.eq(base.iter().filter(|text| side.contains(text)))
    };
    if !is_in_order(ours) || !is_in_order(theirs) {
        return None;
    }
    let kept = base
        .iter()
        .filter(|text| ours.contains(text) && theirs.contains(text));
    let added = ours.iter().chain(theirs).filter(|text| !base.contains(text));
    let added: BTreeSet<_> = added.collect();
    let merged = kept.chain(added).map(|text| Value::from(*text));
    Some(Value::List(merged.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{Id, Kind, Scope};
    use crate::testing::random::SplitMix64;

    fn object(text: &str) -> NewObject {
        let mut object = NewObject::new(Id::new("facts/office").unwrap(), Kind::new("fact").unwrap());
        object.content = Some(text.to_owned());
        object
    }

    fn list(texts: &[&str]) -> Value {
        Value::List(texts.iter().map(|text| Value::from(*text)).collect())
    }

    fn with(name: &str, value: Value) -> NewObject {
        let mut object = object("Oslo");
        object.attributes.insert(name, value);
        object
    }

    fn known(base: &NewObject) -> Base<'_> {
        const NONE: &BTreeSet<String> = &BTreeSet::new();
        Base::Known(base, NONE)
    }

    /// Merges, and checks that the sides may be exchanged.
    fn merged(base: Base<'_>, ours: &NewObject, theirs: &NewObject) -> MergedFields {
        let merged = merge_fields(base, ours, theirs, Side::Ours);
        assert_eq!(merged, merge_fields(base, theirs, ours, Side::Theirs), "MFD-1");
        merged
    }

    #[test]
    fn each_field_has_the_value_of_the_side_that_changed_it() {
        let base = object("Oslo");
        let mut ours = base.clone();
        ours.scope = Scope::new("project:harbour").unwrap();
        ours.attributes.insert("floor", 3_i64);
        let mut theirs = object("Bergen");
        theirs.kind = Kind::new("note").unwrap();
        theirs.parent = Some(Id::new("facts").unwrap());
        theirs.reserved.insert(0x8001, vec![7]);
        let merged = merged(known(&base), &ours, &theirs);
        assert!(merged.conflicts.is_empty(), "{:?}", merged.conflicts);
        let mut wanted = theirs.clone();
        wanted.scope = ours.scope.clone();
        wanted.attributes.insert("floor", 3_i64);
        assert_eq!(merged.object, wanted);
    }

    #[test]
    fn fields_that_both_changed_differently_are_conflicts_and_have_the_preferred_value() {
        let base = object("Oslo");
        let (ours, theirs) = (object("Bergen"), object("Bremen"));
        let conflict = merged(known(&base), &ours, &theirs);
        assert_eq!(conflict.conflicts, BTreeSet::from(["content".to_owned()]));
        assert_eq!(conflict.object.content.as_deref(), Some("Bergen"));
        let taken = merge_fields(known(&base), &ours, &theirs, Side::Theirs);
        assert_eq!(taken.object.content.as_deref(), Some("Bremen"));

        let (ours, theirs) = (with("floor", Value::Integer(3)), with("floor", Value::Integer(4)));
        assert_eq!(
            merged(Base::Absent, &ours, &theirs).conflicts,
            BTreeSet::from(["attr:floor".to_owned()])
        );
    }

    #[test]
    fn without_the_base_only_equal_fields_are_taken() {
        let (ours, theirs) = (with("a", Value::Integer(1)), with("b", Value::Integer(2)));
        assert!(
            merged(Base::Absent, &ours, &theirs).conflicts.is_empty(),
            "both added one"
        );
        let unknown = merged(Base::Unknown, &ours, &theirs);
        assert_eq!(
            unknown.conflicts,
            BTreeSet::from(["attr:a".to_owned(), "attr:b".to_owned()])
        );
    }

    #[test]
    fn lists_of_texts_are_sets_unless_their_order_or_repeats_matter() {
        let base = with("tags", list(&["b", "a", "c"]));
        let tags = |ours: &[&str], theirs: &[&str]| {
            let merged = merged(
                known(&base),
                &with("tags", list(ours)),
                &with("tags", list(theirs)),
            );
            let is_whole = merged.conflicts.is_empty();
            is_whole.then(|| merged.object.attributes.get("tags").cloned())
        };
        assert_eq!(
            tags(&["b", "a", "c", "z"], &["b", "c", "d"]),
            Some(Some(list(&["b", "c", "d", "z"])))
        );
        assert_eq!(
            tags(&["a", "b", "c"], &["b", "a", "c", "d"]),
            None,
            "an order changed"
        );
        assert_eq!(
            tags(&["b", "a", "c", "c"], &["b", "a", "c", "d"]),
            None,
            "a repeat"
        );
    }

    #[test]
    fn maps_are_merged_key_by_key_and_the_earlier_expiry_wins() {
        let map = |pairs: &[(&str, i64)]| {
            let pairs = pairs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), Value::Integer(*value)));
            with("limits", Value::Map(pairs.collect()))
        };
        let base = map(&[("a", 1), ("b", 1)]);
        let merged_maps = merged(
            known(&base),
            &map(&[("a", 2), ("b", 1)]),
            &map(&[("a", 1), ("c", 5)]),
        );
        assert!(merged_maps.conflicts.is_empty());
        assert_eq!(merged_maps.object, map(&[("a", 2), ("c", 5)]));

        let expiring = |micros: i64| {
            let mut object = object("Oslo");
            object.expires = Some(Time::from_micros(micros));
            object
        };
        let base = object("Oslo");
        let earlier = merged(known(&base), &expiring(20), &expiring(10));
        assert_eq!((earlier.object, earlier.conflicts.len()), (expiring(10), 0));
    }

    #[test]
    fn random_changes_lose_nothing_that_one_side_changed_alone() {
        let mut random = SplitMix64::new(3);
        let mut random_object = |from: &NewObject| {
            let mut object = from.clone();
            for _ in 0..random.below(3) {
                let number = i64::try_from(random.below(3)).unwrap();
                match random.below(6) {
                    0 => object.content = Some(format!("line {number}\nlast")),
                    1 => drop(object.attributes.insert("a", number)),
                    2 => drop(object.attributes.remove("a")),
                    3 => drop(
                        object
                            .attributes
                            .insert("tags", list(&["x", "y", "z"][..random.below(4)])),
                    ),
                    4 => object.event_time = Some(Time::from_micros(number)),
                    _ => object.parent = Some(Id::new(&format!("p{number}")).unwrap()),
                }
            }
            object
        };
        let parts = |object: &NewObject| {
            let NewObject {
                content,
                attributes,
                event_time,
                parent,
                ..
            } = object.clone();
            (content, attributes.get("a").cloned(), event_time, parent)
        };
        for _ in 0..4_000 {
            let base = random_object(&object("first\nlast"));
            let (ours, theirs) = (random_object(&base), random_object(&base));
            let result = merged(known(&base), &ours, &theirs);
            assert_eq!(merged(known(&base), &ours, &base).object, ours, "MFD-2");
            assert_eq!(merged(known(&base), &ours, &ours).object, ours);
            if ours.attributes == base.attributes && ours.content == base.content {
                let (one, two) = (parts(&result.object), parts(&theirs));
                assert_eq!((one.0, one.1), (two.0, two.1), "MFD-2");
            }
            if ours.parent == base.parent && ours.event_time == base.event_time {
                let (one, two) = (parts(&result.object), parts(&theirs));
                assert_eq!((one.2, one.3), (two.2, two.3), "MFD-2");
            }
            let again = merged(known(&ours), &result.object, &ours);
            assert_eq!(
                (again.object, again.conflicts.len()),
                (result.object, 0),
                "a second merge changes nothing"
            );
        }
    }
}
