//! Findings of the scan: location, category, severity and rule.
//!
//! A finding never contains the text that it is about, so logs and answers can show it without disclosing a secret.
//!
//! # Layer
//! Pure: imports nothing of the crate.

use std::ops::Range;

use serde::Deserialize;

/// The subject of a finding. The variants have the order of [`Category::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Category {
    /// A credential: key, token, password, private key.
    Secret,
    /// Characters that are invisible or look like others.
    Unicode,
    /// An order to ignore earlier instructions, or to play a role without rules.
    Override,
    /// Text that poses as the system, the developer or a turn of the chat template.
    Role,
    /// Text that poses as the end of the data around it.
    Delimiter,
    /// A forged call of a tool.
    ToolCall,
    /// Downloaded code that is run, or a remote shell.
    Execute,
    /// Data sent to an outside address.
    Exfiltration,
    /// A request for secrets or for the hidden instructions.
    Solicitation,
    /// An order that applies to later turns or sessions, or waits for a trigger.
    Persistence,
    /// Text that claims its own trustworthiness.
    Reinforcement,
    /// An order to switch off checks, raise rights, or hide actions from people.
    Guard,
    /// A payload in another encoding, or an order to decode and obey one.
    Encoded,
    /// Markup that hides text from people but not from models.
    Markup,
}

impl Category {
    /// All categories.
    pub const ALL: [Self; 14] = [
        Self::Secret,
        Self::Unicode,
        Self::Override,
        Self::Role,
        Self::Delimiter,
        Self::ToolCall,
        Self::Execute,
        Self::Exfiltration,
        Self::Solicitation,
        Self::Persistence,
        Self::Reinforcement,
        Self::Guard,
        Self::Encoded,
        Self::Markup,
    ];

    /// Returns the name in snake case, as in settings and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Unicode => "unicode",
            Self::Override => "override",
            Self::Role => "role",
            Self::Delimiter => "delimiter",
            Self::ToolCall => "tool_call",
            Self::Execute => "execute",
            Self::Exfiltration => "exfiltration",
            Self::Solicitation => "solicitation",
            Self::Persistence => "persistence",
            Self::Reinforcement => "reinforcement",
            Self::Guard => "guard",
            Self::Encoded => "encoded",
            Self::Markup => "markup",
        }
    }
}

/// The strength of the evidence for a hostile text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Common in honest text; the default allows it.
    Low,
    /// Rare in honest text.
    Medium,
    /// Very rare in honest text, unless it is about attacks.
    High,
}

impl Severity {
    /// All severities, the lowest first.
    pub const ALL: [Self; 3] = [Self::Low, Self::Medium, Self::High];

    /// Returns the name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
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
