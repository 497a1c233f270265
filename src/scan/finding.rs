//! Findings of the scan: location, category, severity and rule.
//!
//! A finding never contains the text that it is about, so logs and answers can show it without disclosing a secret.
//!
//! # Layer
//! Pure: imports nothing of the crate.

use std::ops::Range;

use serde::Deserialize;

named! {
    /// The subject of a finding. The variants have the order of [`Category::ALL`].
    #[derive(PartialOrd, Ord, Deserialize)]
    #[non_exhaustive]
    pub enum Category {
        /// A credential: key, token, password, private key.
        Secret => "secret",
        /// Characters that are invisible or look like others.
        Unicode => "unicode",
        /// An order to ignore earlier instructions, or to play a role without rules.
        Override => "override",
        /// Text that poses as the system, the developer or a turn of the chat template.
        Role => "role",
        /// Text that poses as the end of the data around it.
        Delimiter => "delimiter",
        /// A forged call of a tool.
        ToolCall => "tool_call",
        /// Downloaded code that is run, or a remote shell.
        Execute => "execute",
        /// Data sent to an outside address.
        Exfiltration => "exfiltration",
        /// A request for secrets or for the hidden instructions.
        Solicitation => "solicitation",
        /// An order that applies to later turns or sessions, or waits for a trigger.
        Persistence => "persistence",
        /// Text that claims its own trustworthiness.
        Reinforcement => "reinforcement",
        /// An order to switch off checks, raise rights, or hide actions from people.
        Guard => "guard",
        /// A payload in another encoding, or an order to decode and obey one.
        Encoded => "encoded",
        /// Markup that hides text from people but not from models.
        Markup => "markup",
    }
}

named! {
    /// The strength of the evidence for a hostile text.
    #[derive(PartialOrd, Ord, Deserialize)]
    pub enum Severity {
        /// Common in honest text; the default allows it.
        Low => "low",
        /// Rare in honest text.
        Medium => "medium",
        /// Very rare in honest text, unless it is about attacks.
        High => "high",
    }
}

/// One finding of the scan.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Finding {
    /// Its subject.
    pub category: Category,
    /// The id of its rule, in lower case with hyphens; for a secret this is its kind.
    pub rule: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// The index of its field: 0 for a single text.
    pub field: usize,
    /// The byte range in the field; both ends are character boundaries.
    pub span: Range<usize>,
}

impl Finding {
    /// Returns a finding in the first field.
    pub(in crate::scan) fn new(
        category: Category,
        rule: &'static str,
        severity: Severity,
        span: Range<usize>,
    ) -> Self {
        Self {
            category,
            rule,
            severity,
            field: 0,
            span,
        }
    }

    /// Returns the finding of a part of a text as one of the text, in which the part begins at `start`.
    pub(in crate::scan) fn shifted(mut self, start: usize) -> Self {
        self.span = self.span.start + start..self.span.end + start;
        self
    }
}
