//! The verdict on a text: settings by category and severity.
//!
//! # Layer
//! Pure: imports nothing of the crate outside this folder.

use serde::Deserialize;

use super::finding::{Category, Finding, Severity};

named! {
    /// The treatment of a text with findings. No verdict drops a text: `Block` refuses the write and names the reason.
    #[derive(Default, PartialOrd, Ord, Deserialize)]
    pub enum Verdict {
        /// Store it.
        #[default]
        Allow => "allow",
        /// Store it together with its findings.
        Flag => "flag",
        /// Store it hidden from recall and the envelope, until a person decides.
        Quarantine => "quarantine",
        /// Refuse the write.
        Block => "block",
    }
}

/// The verdict for each category and severity.
///
/// The default allows `Low`, flags `Medium` and quarantines `High`, with two exceptions. Commands that fetch and run
/// code and encoded payloads are certain enough to block the write. Secrets are redacted, so the rest of the text is
/// only flagged.
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
    /// Sets the verdict for findings of `category` and `severity`.
    pub fn set(&mut self, category: Category, severity: Severity, verdict: Verdict) -> &mut Self {
        self.verdicts[category as usize][severity as usize] = verdict;
        self
    }

    /// Returns the verdict for one finding of `category` and `severity`.
    pub fn get(&self, category: Category, severity: Severity) -> Verdict {
        self.verdicts[category as usize][severity as usize]
    }

    /// Raises every verdict to at least that of `least`; returns the categories and severities that it raised.
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
