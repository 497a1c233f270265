//! `lineage`: the sources of an object, and the objects derived from it.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::HashSet;

use super::absent::no_object;
use super::prelude::*;
use crate::digest::ObjectDigest;
use crate::object::Origin;

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
    const NAME: &'static str = "lineage";
    const ANSWERS: &'static [Form] = &[form::<Relative>("one per line")];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_to_read()?;
        let view = context.view(&memory)?;
        let id = Id::new(&self.id)?;
        let newest = view.commit().commit.seq;
        let mut versions = Vec::new();
        for change in memory.changes_of(&id) {
            let change = change?;
            versions.extend(change.digest.filter(|_| change.commit.commit.seq <= newest));
        }
        let Some(newest) = versions.first().copied() else {
            return Err(no_object(&memory, &id, &view, None).into());
        };
        let versions: HashSet<ObjectDigest> = versions.into_iter().collect();
        let check_stop = context.stopper();
        let mut ancestors = Ancestors {
            waiting: vec![newest],
            above: Vec::new(),
            seen: HashSet::from([newest]),
            level: 0,
        };
        let up = std::iter::from_fn(|| ancestors.next(&memory, &view).transpose());
        let down = view
            .objects()
            .filter_map(|object| match check_stop().and(object) {
                Ok(object) if object.derived_from().any(|source| versions.contains(&source)) => {
                    Some(Relative::of(&view, "into".to_owned(), &object))
                }
                Ok(_) => None,
                Err(error) => Some(Err(error)),
            });
        let mut relatives = up.chain(down);
        context.rows(relatives.by_ref().take(self.limit), columns)?;
        if relatives.next().transpose()?.is_some() {
            let note = format!("only {} versions are shown: raise --limit", self.limit);
            context.output.note("more", note);
        }
        Ok(DONE)
    }
}

/// The versions that a version was derived from, level by level, each once.
struct Ancestors {
    /// The versions of this level that are still to be returned.
    waiting: Vec<ObjectDigest>,
    /// The versions of the next level.
    above: Vec<ObjectDigest>,
    seen: HashSet<ObjectDigest>,
    level: u64,
}

impl Ancestors {
    fn next(&mut self, memory: &Memory, view: &View) -> Result<Option<Relative>> {
        if self.waiting.is_empty() {
            self.level += 1;
            self.waiting = std::mem::take(&mut self.above);
            self.waiting.sort_unstable_by(|one, other| other.cmp(one));
        }
        let Some(version) = self.waiting.pop() else {
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
        let sources = object.derived_from();
        self.above
            .extend(sources.filter(|source| self.seen.insert(*source)));
        let relation = match self.level {
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

fn columns(row: &Relative, _: &Context) -> Columns {
    vec![
        ("relation", plain(&row.relation)),
        (
            "id",
            row.id
                .as_ref()
                .map_or_else(|| plain("(not kept)"), |id| coloured(Meaning::Name, id)),
        ),
        ("version", coloured(Meaning::Name, short(row.version.as_bytes()))),
        ("origin", plain(row.origin.map(Origin::name).unwrap_or_default())),
        ("in this state", plain(row.in_this_state)),
    ]
}
