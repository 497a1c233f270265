//! Reviews the texts of documents before they are ingested, as `remember` reviews an item.
//!
//! A document keeps its outline: a text that the scan stops leaves its object without content. The whole text is
//! quarantined, so a person can release it.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - RVD-1: no ingested object contains a secret that the scan recognises, or a text that the scan stopped.
//! - RVD-2: the same documents give the same objects, so that ingesting them again changes nothing. A text that a
//!   person released stays.
//! - RVD-3: the attribute `flags` of an export is no text, so a review of the same text leaves the same flags.

use std::borrow::Cow;

use super::names::texts_of;
use crate::agent::agent::{Agent, author_of};
use crate::agent::item::add_new;
use crate::agent::settings::Secrets;
use crate::agent::vocabulary::attribute;
use crate::engine::{Committed, Draft, Memory, OriginRule, Writer};
use crate::error::Result;
use crate::ingest::{Change, Document, IngestOptions, Part, ingest_beside, stage_documents};
use crate::object::{Attributes, Id, Value};
use crate::threads::in_parallel;
use treering_text::scan::{Author, Category, Report, Scanner, Verdict};

/// The text in place of a title that the scan stopped.
const WITHHELD_TITLE: &str = "(withheld)";

/// The review of documents, and the texts that the scan stopped.
#[derive(Default)]
pub struct DocumentReview {
    /// The number of parts that are stored with the attribute `flags`.
    pub flagged: u64,
    /// The number of parts with markers in place of secrets.
    pub redacted: u64,
    /// The parts that the scan stopped, each as `PATH:LINE`.
    pub withheld: Vec<String>,
    /// The rules of the scan that stopped a part.
    pub rules: Vec<&'static str>,
    /// The original texts of the withheld parts: the document, the part, and its attributes and content.
    originals: Vec<(Id, usize, Original)>,
}

/// The attributes and the content of a part before the review withheld them.
type Original = (Attributes, Option<String>);

/// The review of a part.
#[derive(Default)]
struct Looked {
    verdict: Verdict,
    rules: Vec<&'static str>,
    is_redacted: bool,
    /// What a person may release, if the part was withheld. A secret that the settings refuse may not be released.
    original: Option<Original>,
}

/// Reviews the documents of a writer: redacts secrets, flags suspicious texts, and withholds the texts that the scan stops.
///
/// # Errors
/// `Corrupt` or `Io` if the session of the writer cannot be read.
pub fn review_documents(
    agent: &Agent,
    documents: &mut [Document],
    writer: &Writer,
) -> Result<DocumentReview> {
    let author = author_of(agent.memory().class_now(writer, None, writer.trust)?);
    let mut review = DocumentReview::default();
    for document in documents {
        let path = document.id().clone();
        let untitled = document.without_title_of_heading();
        let mut parts = document.parts_mut();
        let mut looked = in_parallel(parts.iter_mut().collect(), &|part| look(agent, part, author));
        if let (Some(untitled), [root, ..], [of_root, ..]) = (untitled, &mut parts[..], &mut looked[..])
            && of_root.verdict > Verdict::Flag
        {
            // The title may be the cause. It is the title of a heading, which is judged there.
            (*root.attributes, *root.content) = untitled;
            *of_root = look(agent, root, author);
        }
        for (place, (part, looked)) in parts.iter().zip(looked).enumerate() {
            review.redacted += u64::from(looked.is_redacted);
            review.flagged += u64::from(looked.verdict == Verdict::Flag);
            if looked.verdict > Verdict::Flag {
                review.withheld.push(format!("{path}:{}", part.line.max(1)));
                add_new(&mut review.rules, looked.rules);
            }
            let original = looked.original.map(|original| (path.clone(), place, original));
            review.originals.extend(original);
        }
        document.put_title_of_heading();
    }
    Ok(review)
}

fn look(agent: &Agent, part: &mut Part<'_>, author: Author) -> Looked {
    let scanner = agent.scanner();
    // RVD-3: the names of rules in an export are the store's own words, not a text.
    let claimed = take_flags(scanner, part.attributes);
    let texts = texts_of(part.attributes, part.content);
    let report = scanner.scan_fields(
        author,
        texts.iter().map(|(name, text)| (name.as_str(), text.as_str())),
    );
    if report.findings.is_empty() {
        put_flags(part.attributes, claimed);
        return Looked::default();
    }
    let mut is_redacted = false;
    for (name, text) in texts {
        // RVD-1: for every verdict, only the clean text is kept.
        let clean = Scanner::neutralise(text).into_owned();
        *text = match scanner.redact_field(&name, &clean) {
            Cow::Owned(redacted) => {
                is_redacted = true;
                redacted
            }
            Cow::Borrowed(_) => clean,
        };
    }
    // RVD-3: a marker may look suspicious where the secret did not, so the stored text is looked at too.
    let stored = if is_redacted {
        let texts = texts_of(part.attributes, part.content);
        scanner.scan_fields(
            author,
            texts.iter().map(|(name, text)| (name.as_str(), text.as_str())),
        )
    } else {
        Report::default()
    };
    let mut looked = Looked {
        verdict: report.verdict.max(stored.verdict),
        is_redacted: report
            .findings
            .iter()
            .any(|finding| finding.category == Category::Secret),
        ..Looked::default()
    };
    let is_refused = is_redacted && agent.settings().secrets == Secrets::Refuse;
    if is_refused {
        looked.verdict = Verdict::Block;
    }
    add_new(
        &mut looked.rules,
        report
            .findings
            .iter()
            .chain(&stored.findings)
            .map(|finding| finding.rule),
    );
    let mut flags = claimed;
    if looked.verdict != Verdict::Allow {
        add_new(&mut flags, looked.rules.iter().map(|rule| (*rule).to_owned()));
    }
    put_flags(part.attributes, flags);
    if looked.verdict > Verdict::Flag {
        let original = (part.attributes.clone(), part.content.clone());
        looked.original = (!is_refused).then_some(original);
        withhold(scanner, part, author);
    }
    looked
}

/// Removes and returns the attribute `flags`, if it is a list of names of rules. Anything else is a text like any other.
/// A secret may have the form of a name.
fn take_flags(scanner: &Scanner, attributes: &mut Attributes) -> Vec<String> {
    /// No rule has a longer name.
    const NAME_BYTES_MAX: usize = 64;
    let is_name = |text: &str| {
        let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !text.is_empty() && text.len() <= NAME_BYTES_MAX && text.bytes().all(is_part)
    };
    let Some(Value::List(values)) = attributes.get(attribute::FLAGS) else {
        return Vec::new();
    };
    let names = values
        .iter()
        .map(|value| value.as_text().filter(|text| is_name(text)).map(str::to_owned));
    let names = names.collect::<Option<Vec<_>>>().unwrap_or_default();
    let is_secret = |name: &String| matches!(scanner.redact(name), Cow::Owned(_));
    if names.is_empty() || names.iter().any(is_secret) {
        return Vec::new();
    }
    drop(attributes.remove(attribute::FLAGS));
    names
}

fn put_flags(attributes: &mut Attributes, flags: Vec<String>) {
    if !flags.is_empty() {
        let flags: Vec<Value> = flags.into_iter().map(Value::from).collect();
        drop(attributes.insert(attribute::FLAGS, flags));
    }
}

/// Removes the content and every attribute that the scan stops.
fn withhold(scanner: &Scanner, part: &mut Part<'_>, author: Author) {
    *part.content = None;
    let flags = part.attributes.remove(attribute::FLAGS);
    let attributes = std::mem::take(part.attributes);
    for (name, value) in attributes.into_map() {
        let mut alone = Attributes::new();
        drop(alone.insert(name.as_str(), value));
        let mut no_content = None;
        let texts = texts_of(&mut alone, &mut no_content);
        let report = scanner.scan_fields(
            author,
            texts.iter().map(|(name, text)| (name.as_str(), text.as_str())),
        );
        let kept = alone.remove(&name).filter(|_| report.verdict <= Verdict::Flag);
        let title = || (name == "title").then(|| Value::from(WITHHELD_TITLE));
        if let Some(value) = kept.or_else(title) {
            drop(part.attributes.insert(name, value));
        }
    }
    if let Some(flags) = flags {
        drop(part.attributes.insert(attribute::FLAGS, flags));
    }
}

/// Quarantines each changed object of a draft alone, so that a person releases one without the others.
fn quarantine_each(memory: &Memory, draft: &Draft, reason: &str, writer: &Writer) -> Result<Vec<String>> {
    let mut held = Vec::new();
    for changed in draft.changes() {
        if let Some(object) = draft.get(&changed.id)? {
            let mut alone = memory.draft(writer);
            alone.stage(object.to_new()?, OriginRule::AtMost(object.origin()))?;
            held.extend(memory.quarantine(&alone, reason)?);
        }
    }
    Ok(held)
}

impl DocumentReview {
    /// Ingests the reviewed documents in one commit, then quarantines each withheld text alone. Also returns the names of
    /// the references below `rejected/` that contain these texts.
    ///
    /// # Errors
    /// The errors of [`ingest`](crate::ingest::ingest()) and of [`Memory::quarantine`](crate::Memory::quarantine).
    pub fn ingest(
        &self,
        memory: &Memory,
        documents: &[Document],
        options: &IngestOptions,
        writer: &Writer,
    ) -> Result<(Change, Committed, Vec<String>)> {
        let whole = self.whole(documents);
        let (change, committed) = ingest_beside(memory, documents, &whole, options, writer)?;
        if whole.is_empty() {
            return Ok((change, committed, Vec::new()));
        }
        let reason = format!("the scan found {}", self.rules.join(", "));
        // After the commit, the whole documents differ by the withheld texts only.
        let (_, draft, _) = stage_documents(memory, documents, &whole, options, writer)?;
        let held = quarantine_each(memory, &draft, &reason, writer)
            .map_err(|error| error.behind_change("the quarantined content may be lost"))?;
        Ok((change, committed, held))
    }

    /// Returns all documents with the withheld texts, or none if no text was withheld.
    fn whole(&self, documents: &[Document]) -> Vec<Document> {
        if self.originals.is_empty() {
            return Vec::new();
        }
        let mut whole = documents.to_vec();
        for (path, place, (attributes, content)) in &self.originals {
            let Some(document) = whole.iter_mut().find(|document| document.id() == path) else {
                continue;
            };
            let parts = &mut document.parts_mut();
            parts[*place].attributes.clone_from(attributes);
            parts[*place].content.clone_from(content);
        }
        whole
    }
}
