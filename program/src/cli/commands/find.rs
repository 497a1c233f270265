//! `find`: searches for a text in the objects of a state, or in all records of the log.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::{HashMap, HashSet};

use super::cells::trust_column;
use super::gists::Gists;
use super::prelude::*;
use crate::cli::human::WITHHELD;
use treering::inspect::engine::TextRecord;
use treering::{TextDigest, Value};

/// The number of characters that an excerpt shows on each side of the match.
const AROUND: usize = 30;

/// Find a text in any field
///
/// The search covers all objects and ignores case.
///
/// # Notes
/// With --history, the search covers every version, reason, source, actor, session, op and name in the log, to find
/// text that should be erased.
///
/// # Examples
/// ```text
/// treering find 'green tea'
/// treering find swordfish --history --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Find {
    /// The text to find
    text: String,
    /// Search all records in the log, instead of one state
    #[arg(long, conflicts_with = "at")]
    history: bool,
    /// Print at most N rows
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// An object that contains the text.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Holder {
    id: String,
    kind: String,
    origin: Origin,
    /// The field or attribute with the match.
    r#where: String,
    /// The match with the text around it.
    found: String,
}

/// A record of the log that contains the text.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct RecordHolder {
    /// The sort of record: `version`, `content`, `text`, `commit` or `reference`.
    is_a: &'static str,
    /// The digest that `erase` accepts. Null for a reference.
    digest: Option<String>,
    /// The object, commit or reference that the record belongs to.
    of: String,
    r#where: String,
    found: String,
    /// Whether a version or commit of a trusted class has the text. Others and names have no class of their own.
    #[serde(skip)]
    is_trusted: bool,
}

impl RecordHolder {
    /// Takes out what a language model may not see.
    fn withhold(&mut self) {
        if !self.is_trusted {
            WITHHELD.clone_into(&mut self.found);
            self.r#where.clear();
            if self.is_a == "reference" {
                self.of.clear();
            }
        }
    }
}

impl Verb for Find {
    const ANSWERS: &'static [Form] = &[
        form::<Holder>("one per line"),
        form::<RecordHolder>("with --history, one per line"),
    ];

    fn run(self, context: &mut Context) -> Done {
        let wanted = self.text.to_lowercase();
        let most = self.limit.unwrap_or(usize::MAX);
        let memory = context.open_to_read()?;
        if self.history {
            let mut found = search_log(&memory, &wanted)?;
            if context.output.is_compact() {
                found.iter_mut().for_each(RecordHolder::withhold);
            }
            let fields = ["is_a", "digest", "of", "where", "found"];
            return context.table(found.into_iter().take(most).map(Ok), &fields);
        }
        let view = context.view(&memory)?;
        let gists = Gists::new(context, &memory, None);
        let found = search_state(context, &view, gists, &wanted);
        context.rows(found.take(most), |row, context| {
            let mut cells = columns(row, &["id", "kind", "where", "found"], context);
            cells.insert(0, trust_column(row.origin, context));
            cells
        })
    }
}

/// Searches the objects of a state. Each match is a row that names the first matching field.
fn search_state<'a>(
    context: &Context,
    view: &'a View,
    gists: Gists,
    wanted: &'a str,
) -> impl Iterator<Item = Result<Holder>> + use<'a> {
    let check_stop = context.stopper();
    let holder = move |object: Object| {
        let found = |(place, text): (String, String)| Some((place, excerpt(&text, wanted)?));
        let (r#where, found) = fields_of(&object).into_iter().find_map(found)?;
        // The name of an attribute is a text, too.
        let r#where = if gists.withholds(&object) {
            String::new()
        } else {
            r#where
        };
        let found = gists.text(&object, &found);
        Some(Holder {
            id: object.id().to_string(),
            kind: object.kind().to_owned(),
            origin: object.origin(),
            r#where,
            found,
        })
    };
    let objects = view.objects().map(move |object| check_stop().and(object));
    objects.filter_map(move |object| object.map(&holder).transpose())
}

/// Searches the fields of all records in the log.
fn search_log(memory: &Memory, wanted: &str) -> Result<Vec<RecordHolder>> {
    let mut found = Vec::new();
    // The log may contain a record twice.
    let mut seen = HashSet::new();
    // A content or text record may precede the record that refers to it.
    let mut owners: HashMap<String, Owner> = HashMap::new();
    memory.text_records(&mut |record| {
        let (holder, texts, names) = parts_of(record);
        for (place, digest) in names
            .into_iter()
            .filter_map(|(place, digest)| Some((place, digest?)))
        {
            let is_trusted = owners.get(&digest).is_none_or(|owner| owner.is_trusted) && holder.is_trusted;
            let of = holder.of.clone();
            owners.insert(
                digest,
                Owner {
                    of,
                    place,
                    is_trusted,
                },
            );
        }
        for (place, text) in texts {
            let key = (holder.digest.clone(), holder.of.clone(), place.clone());
            if let Some(excerpt) = excerpt(&text, wanted)
                && seen.insert(key)
            {
                found.push(RecordHolder {
                    r#where: place,
                    found: excerpt,
                    ..holder.clone()
                });
            }
        }
        Ok(())
    })?;
    for holder in &mut found {
        let owner = holder.digest.as_ref().and_then(|digest| owners.get(digest));
        if let Some(owner) = owner {
            (holder.of, holder.r#where) = (owner.of.clone(), owner.place.to_owned());
            holder.is_trusted = owner.is_trusted;
        }
    }
    Ok(found)
}

/// The record that refers to a record of a content or text.
struct Owner {
    of: String,
    place: &'static str,
    /// Whether all records that refer to it are trusted.
    is_trusted: bool,
}

/// The fields of a record and their texts.
type Texts = Vec<(String, String)>;
/// The fields of a record whose texts are separate records, with the digests of those text records.
type Names = Vec<(&'static str, Option<String>)>;

/// Returns a [`RecordHolder`] without an excerpt for a record, with the record's texts and the digests of its text
/// records.
fn parts_of(record: TextRecord) -> (RecordHolder, Texts, Names) {
    let holder = |is_a, digest, of: &str| RecordHolder {
        is_a,
        digest,
        of: of.to_owned(),
        r#where: String::new(),
        found: String::new(),
        is_trusted: false,
    };
    let text = |is_a, digest, text| {
        (
            holder(is_a, Some(digest), ""),
            vec![(String::new(), text)],
            Vec::new(),
        )
    };
    let hex = |text: Option<TextDigest>| text.map(TextDigest::to_hex);
    match record {
        TextRecord::Version(object) => {
            let content = object.content_digest().map(|(digest, _)| digest.to_hex());
            let mut holder = holder("version", Some(object.digest().to_hex()), object.id().as_str());
            holder.is_trusted = object.origin().is_trusted();
            (holder, fields_of(&object), vec![("content", content)])
        }
        TextRecord::Content(digest, content) => text("content", digest.to_hex(), content),
        TextRecord::Text(digest, reason) => text("text", digest.to_hex(), reason),
        TextRecord::Commit(CommitInfo { digest, commit }) => {
            let mut holder = holder("commit", Some(digest.to_hex()), &format!("seq:{}", commit.seq));
            holder.is_trusted = commit.trust.is_trusted();
            let names = vec![("reason", hex(commit.reason)), ("source", hex(commit.source))];
            let texts = texts(&[
                ("actor", commit.actor.as_deref()),
                ("session", commit.session.as_deref()),
                ("op", Some(commit.op.as_str())),
            ]);
            (holder, texts, names)
        }
        TextRecord::Reference(reference) => {
            let name = reference.name.as_str();
            let texts = texts(&[
                ("name", Some(name)),
                ("actor", reference.actor.as_deref()),
                ("session", reference.session.as_deref()),
                ("lane", reference.lane.as_deref()),
            ]);
            let names = vec![("reason", hex(reference.reason))];
            (holder("reference", None, name), texts, names)
        }
    }
}

/// Returns the fields that are not `None`.
fn texts(fields: &[(&str, Option<&str>)]) -> Texts {
    let texts = fields.iter();
    let texts = texts.filter_map(|(place, text)| Some(((*place).to_owned(), (*text)?.to_owned())));
    texts.collect()
}

/// Returns the fields of an object with their texts. For an attribute, returns the printed value, the name, and
/// each text inside the value.
fn fields_of(object: &Object) -> Vec<(String, String)> {
    let mut texts = texts(&[
        ("id", Some(object.id().as_str())),
        ("kind", Some(object.kind())),
        ("scope", Some(object.scope())),
        ("parent", object.parent()),
        ("position", object.position()),
        ("content", object.content()),
    ]);
    for (name, value) in &object.attributes() {
        // JSON escapes quotes and line breaks, so the search also covers the unescaped texts.
        let mut found = vec![human::value(value), name.clone()];
        add_texts(value, &mut found);
        texts.extend(found.into_iter().map(|text| (name.clone(), text)));
    }
    texts
}

fn add_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::Text(text) => texts.push(text.clone()),
        Value::List(values) => values.iter().for_each(|value| add_texts(value, texts)),
        Value::Map(values) => {
            for (name, value) in values {
                texts.push(name.clone());
                add_texts(value, texts);
            }
        }
        _ => {}
    }
}

/// Returns the text around the first match.
fn excerpt(text: &str, wanted: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let at = lower.find(wanted)?;
    // Lower-casing may change the number of bytes, so the position is counted in characters.
    let from = lower[..at].chars().count().saturating_sub(AROUND);
    let most = wanted.chars().count() + 2 * AROUND;
    let start = if from > 0 { "..." } else { "" };
    let rest: String = text.chars().skip(from).take(most + 1).collect();
    Some(format!("{start}{}", cut(&one_line(&rest), most)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_shows_the_surroundings() {
        assert_eq!(
            excerpt("Ada drinks Green Tea", "green tea").as_deref(),
            Some("Ada drinks Green Tea")
        );
        let long = format!("{}needle{}", "x".repeat(100), "y".repeat(100));
        let found = excerpt(&long, "needle").unwrap();
        assert!(
            found.starts_with("...xxx") && found.contains("needle") && found.ends_with("..."),
            "{found}"
        );
        assert_eq!(
            excerpt("\u{130}stanbul", "stanbul").as_deref(),
            Some("\u{130}stanbul")
        );
        assert_eq!(excerpt("abc", "d"), None);
    }
}
