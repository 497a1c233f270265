//! `lineage`: lists the sources of an object, and the objects derived from it.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::{HashSet, VecDeque};

use super::prelude::*;

/// List sources and derivations
///
/// Lists the versions that an object is derived from, level by level, and then the objects that are derived from it.
///
/// # Examples
/// ```text
/// treering lineage summaries/monday
/// treering lineage tea --at snap:0 --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Lineage {
    /// The object whose lineage is listed
    id: String,
    /// Print at most N versions
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    limit: usize,
}

/// A version of an object in the lineage.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Relative {
    /// The relation to the object: `itself`, `from, N up` (a source N levels above), `from` (a source that the store no
    /// longer contains) or `into` (derived from the object).
    relation: String,
    /// The id of the object. Null if the store no longer contains the version.
    id: Option<String>,
    version: ObjectDigest,
    origin: Option<Origin>,
    /// Whether this state contains the version: `yes`, `no` or `as a later version`.
    in_this_state: &'static str,
}

impl Verb for Lineage {
    const ANSWERS: &'static [Form] = &[form::<Relative>("one per line")];

    fn run(self, context: &mut Context) -> Done {
        let (memory, view) = context.open_view()?;
        let named_by = context.by_hand(&memory, &view, &self.id, "show the lineage of")?;
        let id = named_by.id.clone();
        let newest = view.commit().commit.seq;
        let mut versions = Vec::new();
        for change in memory.changes_of(&id) {
            let change = change?;
            versions.extend(change.digest.filter(|_| change.commit.commit.seq <= newest));
        }
        let Some(newest) = versions.first().copied() else {
            return Err(named_by.told(no_object(&memory, &id, &view, None)));
        };
        let versions: HashSet<ObjectDigest> = versions.into_iter().collect();
        let check_stop = context.stopper();
        // The queue of versions to return, with their levels. Each version is returned once.
        let mut waiting = VecDeque::from([(0, newest)]);
        let mut seen = HashSet::from([newest]);
        let up = std::iter::from_fn(|| {
            let (level, version) = waiting.pop_front()?;
            Some(memory.version(version).and_then(|object| {
                let sources = object.iter().flat_map(Object::derived_from);
                let sources = sources.filter(|source| seen.insert(*source));
                waiting.extend(sources.map(|source| (level + 1, source)));
                let relation = match (&object, level) {
                    (None, _) => "from".to_owned(),
                    (Some(_), 0) => "itself".to_owned(),
                    (Some(_), level) => format!("from, {level} up"),
                };
                Relative::of(&view, relation, version, object.as_ref())
            }))
        });
        let is_below = |object: &Object| object.derived_from().any(|source| versions.contains(&source));
        let down = view.objects().map(|object| check_stop().and(object));
        let down = down.filter(|object| object.as_ref().map_or(true, is_below));
        let down = down.map(|object| {
            let object = object?;
            Relative::of(&view, "into".to_owned(), object.digest(), Some(&object))
        });
        let mut relatives = up.chain(down);
        let fields = ["relation", "id", "version", "origin", "in_this_state"];
        context.table(relatives.by_ref().take(self.limit), &fields)?;
        if relatives.next().transpose()?.is_some() {
            let note = format!(
                "only the first {} versions are shown; a larger --limit shows more",
                self.limit
            );
            context.note("more", note);
        }
        Ok(DONE)
    }
}

impl Relative {
    /// Returns the line of a version. `object` is `None` if the store no longer contains the version.
    fn of(view: &View, relation: String, version: ObjectDigest, object: Option<&Object>) -> Result<Self> {
        let held = object.map(|object| view.get(object.id())).transpose()?.flatten();
        Ok(Self {
            relation,
            id: object.map(|object| object.id().to_string()),
            version,
            origin: object.map(Object::origin),
            in_this_state: match held {
                Some(held) if held.digest() == version => "yes",
                Some(_) => "as a later version",
                None => "no",
            },
        })
    }
}
