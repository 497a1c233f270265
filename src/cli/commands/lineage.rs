//! `lineage`: the sources of an object, and the objects derived from it.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::{HashSet, VecDeque};

use super::prelude::*;

/// List sources and derivations
///
/// The versions that an object is derived from, level by level, then the objects that are derived from it.
///
/// # Examples
/// ```text
/// treering lineage summaries/monday
/// treering lineage tea --at snap:0 --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Lineage {
    /// The object
    id: String,
    /// At most N versions
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    limit: usize,
}

/// A version of an object in the lineage.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Relative {
    /// The relation: `itself`, `from, N up` or `into`.
    relation: String,
    /// The id; null if the version is not kept.
    id: Option<String>,
    version: ObjectDigest,
    origin: Option<Origin>,
    /// Whether this state holds it: `yes`, `no` or `as a later version`.
    in_this_state: &'static str,
}

impl Verb for Lineage {
    const ANSWERS: &'static [Form] = &[form::<Relative>("one per line")];

    fn run(self, context: &mut Context) -> Done {
        let (memory, view) = context.open_view()?;
        let id = Id::new(&self.id)?;
        let newest = view.commit().commit.seq;
        let mut versions = Vec::new();
        for change in memory.changes_of(&id) {
            let change = change?;
            versions.extend(change.digest.filter(|_| change.commit.commit.seq <= newest));
        }
        let Some(newest) = versions.first().copied() else {
            return Err(no_object(&memory, &id, &view, None));
        };
        let versions: HashSet<ObjectDigest> = versions.into_iter().collect();
        let check_stop = context.stopper();
        let mut ancestors = Ancestors {
            waiting: VecDeque::from([(0, newest)]),
            seen: HashSet::from([newest]),
        };
        let up = std::iter::from_fn(|| ancestors.next(&memory, &view).transpose());
        let is_below = |object: &Object| object.derived_from().any(|source| versions.contains(&source));
        let down = view.objects().map(|object| check_stop().and(object));
        let down = down.filter(|object| object.as_ref().map_or(true, is_below));
        let down = down.map(|object| Relative::of(&view, "into".to_owned(), &object?));
        let mut relatives = up.chain(down);
        let fields = ["relation", "id", "version", "origin", "in_this_state"];
        context.table(relatives.by_ref().take(self.limit), &fields)?;
        if relatives.next().transpose()?.is_some() {
            let note = format!("only {} versions are shown: raise --limit", self.limit);
            context.note("more", note);
        }
        Ok(DONE)
    }
}

/// The versions that a version was derived from, level by level, each once.
struct Ancestors {
    /// The versions that are still to be returned, with their levels.
    waiting: VecDeque<(u64, ObjectDigest)>,
    seen: HashSet<ObjectDigest>,
}

impl Ancestors {
    fn next(&mut self, memory: &Memory, view: &View) -> Result<Option<Relative>> {
        let Some((level, version)) = self.waiting.pop_front() else {
            return Ok(None);
        };
        let Some(object) = memory.version(version)? else {
            return Ok(Some(Relative {
                relation: "from".to_owned(),
                id: None,
                version,
                origin: None,
                in_this_state: "no",
            }));
        };
        let sources = object.derived_from().filter(|source| self.seen.insert(*source));
        self.waiting.extend(sources.map(|source| (level + 1, source)));
        let relation = match level {
            0 => "itself".to_owned(),
            level => format!("from, {level} up"),
        };
        Relative::of(view, relation, &object).map(Some)
    }
}

impl Relative {
    fn of(view: &View, relation: String, object: &Object) -> Result<Self> {
        let held = view.get(object.id())?;
        Ok(Self {
            relation,
            id: Some(object.id().to_string()),
            version: object.digest(),
            origin: Some(object.origin()),
            in_this_state: match held {
                Some(held) if held.digest() == object.digest() => "yes",
                Some(_) => "as a later version",
                None => "no",
            },
        })
    }
}
