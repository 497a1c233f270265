//! The verdict on a text. A table contains the verdict for each author, category and severity.
//!
//! An honest sentence that is refused costs more than an attack that is stored: the class of a text keeps it out of
//! prompts, whatever it says. So the more an author is trusted, the less the scan stops. This module alone decides that.
//!
//! # Layer
//! Pure: imports nothing of the crate outside this folder.

use serde::Deserialize;

use super::finding::{Category, Finding, Severity};
use super::sole_command;

named! {
    /// The treatment of a text with findings. No verdict silently drops a text: `Block` refuses the write and names the
    /// reason.
    #[derive(Default, PartialOrd, Ord, Deserialize)]
    pub enum Verdict {
        /// Store the text.
        #[default]
        Allow => "allow",
        /// Store the text together with its findings.
        Flag => "flag",
        /// Store the text, but hide it from recall and the envelope until a person decides.
        Quarantine => "quarantine",
        /// Refuse the write.
        Block => "block",
    }
}

named! {
    /// The kinds of authors that the scan treats differently.
    pub enum Author {
        /// A person, or the program that hosts the agent.
        Person => "person",
        /// A model that writes its own words, or a tool that reads only internal data.
        Model => "model",
        /// Anybody else: a page, a document, a message, another store.
        Stranger => "stranger",
    }
}

/// The rules of commands that fetch code and run it at once. What they find is certain, so it blocks a text of a trusted
/// author, too, if the text is nothing but the command. A sentence about the command may forbid it or explain it.
const CERTAIN: [&str; 2] = ["fetch-into-shell", "shell-from-fetch"];

/// The verdict for each author, category and severity.
///
/// The default allows `Low`, and only flags what a person or a model writes. Of a stranger it flags `Medium` and
/// quarantines `High` if a rule found something too, and blocks commands that fetch and run code, and encoded payloads. Texts with secrets are only
/// flagged, because the secrets are redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictTable {
    verdicts: [[[Verdict; 3]; Category::ALL.len()]; Author::ALL.len()],
}

impl Default for VerdictTable {
    fn default() -> Self {
        let trusted = [[Verdict::Allow, Verdict::Flag, Verdict::Flag]; Category::ALL.len()];
        let mut stranger = [[Verdict::Allow, Verdict::Flag, Verdict::Quarantine]; Category::ALL.len()];
        for category in [Category::Execute, Category::Encoded] {
            stranger[category as usize][Severity::High as usize] = Verdict::Block;
        }
        let mut settings = Self {
            verdicts: [trusted, trusted, stranger],
        };
        for severity in Severity::ALL {
            settings.set(Category::Secret, severity, Verdict::Flag);
        }
        settings
    }
}

impl VerdictTable {
    /// Sets the verdict for findings of this category and severity, whoever wrote the text.
    pub fn set(&mut self, category: Category, severity: Severity, verdict: Verdict) -> &mut Self {
        for of_author in &mut self.verdicts {
            of_author[category as usize][severity as usize] = verdict;
        }
        self
    }

    /// Returns the verdict for a finding of this category and severity in a text by `author`.
    pub fn get(&self, author: Author, category: Category, severity: Severity) -> Verdict {
        self.verdicts[author as usize][category as usize][severity as usize]
    }

    /// Makes every verdict at least as strict as in `least`. Returns the categories and severities whose verdict
    /// changed.
    pub fn raise_to(&mut self, least: &Self) -> Vec<(Category, Severity)> {
        let mut raised = Vec::new();
        for category in Category::ALL {
            for severity in Severity::ALL {
                for author in Author::ALL {
                    let verdict = least.get(author, category, severity);
                    if self.get(author, category, severity) < verdict {
                        self.verdicts[author as usize][category as usize][severity as usize] = verdict;
                        raised.push((category, severity));
                    }
                }
            }
        }
        raised.dedup();
        raised
    }

    /// Returns the strictest verdict on any of the `findings` in a `text` by `author`.
    pub fn judge(&self, author: Author, findings: &[Finding], text: &str) -> Verdict {
        // A resemblance alone stops nothing: pages of one form, such as the manuals of plugins, may all resemble an order.
        let has_rule = findings.iter().any(|one| {
            is_order(one) && one.category != Category::Resemblance && one.severity > Severity::Low
        });
        let verdict = |found: &Finding| {
            let is_certain = CERTAIN.contains(&found.rule) && sole_command::is_all(text, &found.span);
            let author = if is_certain { Author::Stranger } else { author };
            let is_alone = found.category == Category::Resemblance && !has_rule;
            let severity = found.severity.min(if is_alone {
                Severity::Medium
            } else {
                Severity::High
            });
            self.get(author, found.category, severity)
        };
        let strictest = findings.iter().map(verdict).max().unwrap_or_default();
        if author == Author::Model && agree(findings) {
            strictest.max(self.get(Author::Stranger, Category::Resemblance, Severity::High))
        } else {
            strictest
        }
    }
}

/// Returns whether a finding is about what the text says, not about its characters or its secrets.
fn is_order(finding: &Finding) -> bool {
    !matches!(finding.category, Category::Secret | Category::Unicode)
}

/// Returns whether two different rules for injections and the classifier agree. The classifier is asked about a trusted
/// text only if a rule found something, and then reports a high score alone.
fn agree(findings: &[Finding]) -> bool {
    let orders = findings.iter().filter(|one| is_order(one));
    let mut rules: Vec<_> = orders
        .filter(|one| one.severity > Severity::Low)
        .map(|one| (one.category != Category::Resemblance, one.rule))
        .collect();
    rules.sort_unstable();
    rules.dedup();
    rules.len() >= 3 && !rules[0].0
}
