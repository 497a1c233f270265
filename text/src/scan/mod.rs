//! The scan of texts before a write: secrets, invisible characters, and text that looks like a prompt injection.
//!
//! A [`Scanner`] reads a text before any of it is written to the log, and returns a [`Report`]. The report has findings
//! with category, rule, severity and span, and the verdict of the [`VerdictTable`]. [`Scanner::redact`] replaces
//! secrets by keyed markers. [`Scanner::neutralise`] removes invisible characters. The scan is only advice, because a
//! plausible statement passes it. The origin of a text, not the scan, decides what the text may do.
//!
//! The time of a scan is linear in the length of the text, and the length of the text limits the memory. The scan reads
//! no clock, file or random number: the same text and key give the same result. The rules are data files; `rules`
//! explains how to add one.
//!
//! # Layer
//! Above `visible`. Pure: the caller supplies the keyed digest of the markers.

mod encoding;
mod finding;
mod injection;
mod literals;
mod parts;
mod reference;
mod rules;
mod secrets;
mod sole_command;
#[cfg(test)]
mod tests;
pub(crate) mod unicode;
mod verdict;

use std::borrow::Cow;

pub use self::finding::{Category, Finding, Severity};
pub use self::secrets::MarkerKey;
pub use self::verdict::{Author, Verdict, VerdictTable};

/// The result of scanning a text or an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Report {
    /// The first finding of each rule, in the order of fields and positions, with the highest severity of the rule.
    pub findings: Vec<Finding>,
    /// The strictest verdict on any finding.
    pub verdict: Verdict,
}

/// The scanner of a store: its settings and the key of its markers.
///
/// All scanners of a process share the rules, which are read when a scan first needs them.
#[derive(Clone)]
pub struct Scanner {
    settings: VerdictTable,
    key: MarkerKey,
}

impl Scanner {
    /// Makes a scanner whose markers depend on `key`. The key belongs to the store, and is as secret as the store.
    pub fn new(settings: VerdictTable, key: MarkerKey) -> Self {
        Self { settings, key }
    }

    /// Returns the findings in a `text` by `author`.
    pub fn scan(&self, author: Author, text: &str) -> Report {
        self.scan_fields(author, [("", text)])
    }

    /// Returns the findings in the fields of an object by `author`, given as pairs of name and text.
    ///
    /// A value is also a secret if it looks like a secret and its field has a name such as `password` or `api_key`. The
    /// content of the object has an empty name. A reference, such as a link or the name of a rule, is not read as prose.
    pub fn scan_fields<'a>(
        &self,
        author: Author,
        fields: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Report {
        let mut report = Report::default();
        for (name, text) in fields {
            let mut found = find(name, text);
            // SCA-9: a reference is no prose.
            if !reference::is_reference(name, text) {
                found.extend(injection::find(text, author));
            }
            injection::confirm(&mut found);
            self.add(&mut report, author, text, found);
        }
        report
    }

    /// Returns the secrets and the disguised characters in a name, such as an id. A name is no prose.
    pub fn scan_name(&self, name: &str) -> Report {
        let mut report = Report::default();
        self.add(&mut report, Author::Stranger, name, find("", name));
        report
    }

    /// Adds the findings in one field to a report.
    fn add(&self, report: &mut Report, author: Author, text: &str, mut found: Vec<Finding>) {
        found.sort_by_key(|one| (one.span.start, one.span.end, one.category, one.rule));
        found.dedup_by(|next, last| {
            let is_same = next.rule == last.rule && next.span.start < last.span.end;
            let is_inside = is_same && next.span.end <= last.span.end;
            if is_inside {
                last.severity = last.severity.max(next.severity);
            }
            is_inside
        });
        report.verdict = report.verdict.max(self.settings.judge(author, &found, text));
        for finding in found {
            let mut known = report.findings.iter_mut();
            match known.find(|known| known.rule == finding.rule) {
                Some(known) => known.severity = known.severity.max(finding.severity),
                None => report.findings.push(finding),
            }
        }
    }

    /// Returns `text` with each secret replaced by a marker, `[REDACTED:kind:0123abcd]`. Borrows the text if the text
    /// has no secret.
    ///
    /// With the same key, the same secret always has the same marker. A scan of the result finds no secret. Every
    /// occurrence of a secret of at least six bytes is replaced. A text that consists mostly of secrets becomes one
    /// marker.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        secrets::redact(text, &self.key).map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// Returns the value of the attribute `name`, with the secrets that [`Scanner::scan_fields`] finds redacted.
    pub fn redact_field<'a>(&self, name: &str, value: &'a str) -> Cow<'a, str> {
        let redacted = self.redact(value);
        match secrets::find_named(name, &redacted) {
            Some(secret) => Cow::Owned(secrets::marker(secret.rule, redacted.as_bytes(), &self.key)),
            None => redacted,
        }
    }

    /// Returns `text` without its invisible characters. Borrows the text if the text has no invisible characters.
    pub fn neutralise(text: &str) -> Cow<'_, str> {
        unicode::neutral(text).map_or(Cow::Borrowed(text), Cow::Owned)
    }
}

/// Returns the secrets and the disguised characters in one field.
fn find(name: &str, text: &str) -> Vec<Finding> {
    let mut found = secrets::find(text);
    if found.is_empty() && !name.is_empty() {
        found.extend(secrets::find_named(name, text));
    }
    found.extend(unicode::find(text));
    found.extend(
        unicode::disguised(text)
            .into_iter()
            .map(|span| Finding::new(Category::Unicode, "mixed-script", Severity::Medium, span)),
    );
    found
}
