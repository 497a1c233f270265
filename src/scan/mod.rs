//! The scan of what is about to be written: secrets, characters that cannot be seen, text that wants to be obeyed.
//!
//! A [`Scanner`] reads a text once, before anything of it reaches the log, and answers with a [`Report`]: findings with
//! category, rule, severity and span, the verdict that the [`Settings`] ask for, and a score. [`Scanner::redact`] puts a
//! keyed marker where a secret stood; [`Scanner::neutralise`] takes invisible characters out. The scan is advice: a
//! plausible statement passes it, so where a text came from, not what the scan says, decides what it may do.
//!
//! Time is linear in the text and memory bounded by it, for any text. Nothing here reads a clock, a file or a random
//! number: the same text and key give the same answer.
//!
//! # Layer
//! L6. Pure: imports nothing of the crate outside this folder but the keyed digest.

mod encoding;
mod finding;
mod injection;
mod rules;
mod secrets;
#[cfg(test)]
mod tests;
pub(crate) mod unicode;
mod verdict;

use std::borrow::Cow;

pub use self::finding::{Category, Finding, Severity};
pub use self::unicode::Neutral;
pub use self::verdict::{Settings, Verdict};

/// Findings that a report holds; more are counted.
pub const FINDINGS_MAX: usize = 1_000;

/// What the scan says of a text or an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Report {
    /// What was found, in the order of fields and places.
    pub findings: Vec<Finding>,
    /// The gravest verdict of all findings, those that are left out included.
    pub verdict: Verdict,
    /// 0 to 99: how likely the text is hostile, for sorting. Secrets do not count.
    pub score: u8,
    /// How many findings are left out of the list, the least grave first.
    pub omitted: usize,
}

/// The scanner of a store: its settings and the key of its markers.
///
/// The rules are shared by all scanners of a process and made ready when they are first needed.
#[derive(Clone)]
pub struct Scanner {
    settings: Settings,
    key: [u8; 32],
}

impl Scanner {
    /// Returns a scanner whose markers are made with `key`, which belongs to the store and is kept as secret as it.
    pub fn new(settings: Settings, key: [u8; 32]) -> Self {
        Self { settings, key }
    }

    /// Returns what stands in `text`.
    pub fn scan(&self, text: &str) -> Report {
        self.scan_fields([("", text)])
    }

    /// Returns what stands in the fields of an object, given as name and text.
    ///
    /// A value whose name says that it is a secret, `password` or `api_key`, is taken at its word. The name of the
    /// field that holds the content is empty.
    pub fn scan_fields<'a>(&self, fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Report {
        let mut findings = Vec::new();
        for (field, (name, text)) in fields.into_iter().enumerate() {
            let mut found = find(name, text, field);
            found.sort_by_key(|one| (one.span.start, one.span.end, one.category, one.rule));
            found.dedup_by(|next, last| {
                next.rule == last.rule && next.span.start < last.span.end && next.span.end <= last.span.end
            });
            findings.append(&mut found);
        }
        let verdict = self.settings.judge(&findings);
        let score = verdict::score(&findings);
        let omitted = findings.len().saturating_sub(FINDINGS_MAX);
        if omitted > 0 {
            findings.sort_by_key(|one| std::cmp::Reverse(one.severity));
            findings.truncate(FINDINGS_MAX);
            findings.sort_by_key(|one| (one.field, one.span.start, one.span.end));
        }
        Report {
            findings,
            verdict,
            score,
            omitted,
        }
    }

    /// Returns `text` with a marker, `[REDACTED:kind:0123abcd]`, for each secret; borrowed if there is none.
    ///
    /// The same secret has the same marker under the same key. In the answer no secret is found, and of those that were
    /// found none of six bytes and more is left anywhere in it. A text that is nearly all secrets becomes one marker.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match secrets::redact(text, &self.key) {
            Some(redacted) => Cow::Owned(redacted.text),
            None => Cow::Borrowed(text),
        }
    }

    /// Returns the value of the attribute `name` with its secrets redacted, the name taken at its word.
    pub fn redact_field<'a>(&self, name: &str, value: &'a str) -> Cow<'a, str> {
        let redacted = self.redact(value);
        match secrets::find_named(name, &redacted) {
            Some(secret) => Cow::Owned(secrets::marker(secret.kind, redacted.as_bytes(), &self.key)),
            None => redacted,
        }
    }

    /// Returns `text` without the characters that cannot be seen, or with them made visible; borrowed if there is none.
    pub fn neutralise<'a>(&self, text: &'a str, how: Neutral) -> Cow<'a, str> {
        unicode::neutral(text, how).map_or(Cow::Borrowed(text), Cow::Owned)
    }
}

impl std::fmt::Debug for Scanner {
    /// Leaves the key out.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Scanner");
        shown.field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Everything that is found in one field.
fn find(name: &str, text: &str, field: usize) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut secrets = secrets::find(text);
    if secrets.is_empty() && !name.is_empty() {
        secrets.extend(secrets::find_named(name, text));
    }
    found.extend(secrets.into_iter().map(|secret| Finding {
        category: Category::Secret,
        rule: secret.kind,
        severity: secret.severity,
        field,
        span: secret.span,
        is_decoded: secret.is_decoded,
    }));
    found.extend(unicode::find(text).into_iter().map(|run| Finding {
        category: Category::Unicode,
        rule: run.rule,
        severity: run.severity,
        field,
        span: run.span,
        is_decoded: false,
    }));
    found.extend(unicode::disguised(text).into_iter().map(|span| Finding {
        category: Category::Unicode,
        rule: "mixed-script",
        severity: Severity::Medium,
        field,
        span,
        is_decoded: false,
    }));
    found.extend(injection::find(text).into_iter().map(|seen| Finding {
        category: seen.category,
        rule: seen.rule,
        severity: seen.severity,
        field,
        span: seen.span,
        is_decoded: seen.is_decoded,
    }));
    found
}
