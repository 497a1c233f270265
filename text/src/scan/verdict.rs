//! The verdict on a text. A table contains the verdict for each category and severity.
//!
//! # Layer
//! Pure: imports nothing of the crate outside this folder.

use serde::Deserialize;

use super::finding::{Category, Finding, Severity};

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

/// The verdict for each category and severity.
///
/// The default allows `Low`, flags `Medium` and quarantines `High`, with two exceptions. Commands that fetch and run
/// code, and encoded payloads, block the write, because their findings are certain enough. Texts with secrets are only
/// flagged, because the secrets are redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictTable {
    verdicts: [[Verdict; 3]; Category::ALL.len()],
}

impl Default for VerdictTable {
    fn default() -> Self {
        let mut settings = Self {
            verdicts: [[Verdict::Allow, Verdict::Flag, Verdict::Quarantine]; Category::ALL.len()],
        };
        for category in [Category::Execute, Category::Encoded] {
            settings.set(category, Severity::High, Verdict::Block);
        }
        for severity in Severity::ALL {
            settings.set(Category::Secret, severity, Verdict::Flag);
        }
        settings
    }
}

impl VerdictTable {
    /// Sets the verdict for findings of this category and severity.
    pub fn set(&mut self, category: Category, severity: Severity, verdict: Verdict) -> &mut Self {
        self.verdicts[category as usize][severity as usize] = verdict;
        self
    }

    /// Returns the verdict for a finding of this category and severity.
    pub fn get(&self, category: Category, severity: Severity) -> Verdict {
        self.verdicts[category as usize][severity as usize]
    }

    /// Makes every verdict at least as strict as in `least`. Returns the categories and severities whose verdict
    /// changed.
    pub fn raise_to(&mut self, least: &Self) -> Vec<(Category, Severity)> {
        let mut raised = Vec::new();
        for category in Category::ALL {
            for severity in Severity::ALL {
                let verdict = least.get(category, severity);
                if self.get(category, severity) < verdict {
                    self.set(category, severity, verdict);
                    raised.push((category, severity));
                }
            }
        }
        raised
    }

    /// Returns the strictest verdict on any of `findings`.
    pub fn judge(&self, findings: &[Finding]) -> Verdict {
        let verdicts = findings
            .iter()
            .map(|found| self.get(found.category, found.severity));
        verdicts.max().unwrap_or_default()
    }
}
