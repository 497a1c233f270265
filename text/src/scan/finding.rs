//! Findings of the scan: location, category, severity and rule.
//!
//! A finding never contains the text that it reports, so logs and answers can show a finding without disclosing a
//! secret.
//!
//! # Layer
//! Pure: imports nothing of the crate.

use std::ops::Range;

use serde::Deserialize;

named! {
    /// The kind of problem that a finding reports. The variants have the order of [`Category::ALL`].
    #[derive(PartialOrd, Ord, Deserialize)]
    #[non_exhaustive]
    pub enum Category {
        /// A credential: a key, token, password or private key.
        Secret => "secret",
        /// Characters that are invisible or look like others.
        Unicode => "unicode",
        /// An order to ignore earlier instructions, or to play a role without rules.
        Override => "override",
        /// Text that pretends to be the system, the developer or a turn of the chat template.
        Role => "role",
        /// Text that pretends to end the data around it.
        Delimiter => "delimiter",
        /// A forged call of a tool.
        ToolCall => "tool_call",
        /// A command that downloads and runs code, or opens a remote shell.
        Execute => "execute",
        /// An order to send data to an outside address.
        Exfiltration => "exfiltration",
        /// A request for secrets or for the hidden instructions.
        Solicitation => "solicitation",
        /// An order that applies to later turns or sessions, or waits for a trigger.
        Persistence => "persistence",
        /// Text that claims to be trustworthy.
        Reinforcement => "reinforcement",
        /// An order to switch off checks, to raise rights, or to hide actions from people.
        Guard => "guard",
        /// A payload in another encoding, or an order to decode and obey a payload.
        Encoded => "encoded",
        /// Markup that hides text from people but not from models.
        Markup => "markup",
        /// A passage that resembles known injections as a whole, whether or not a rule matches.
        Resemblance => "resemblance",
    }
}

named! {
    /// The strength of the evidence that a text is hostile.
    #[derive(PartialOrd, Ord, Deserialize)]
    pub enum Severity {
        /// Common in honest text, so the default allows it.
        Low => "low",
        /// Rare in honest text.
        Medium => "medium",
        /// Very rare in honest text, unless the text is about attacks.
        High => "high",
    }
}

impl Severity {
    /// Returns the severity one step below; `Low` is the lowest.
    pub(in crate::scan) fn lower(self) -> Self {
        match self {
            Self::High => Self::Medium,
            Self::Medium | Self::Low => Self::Low,
        }
    }
}

/// One finding of the scan.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Finding {
    /// The kind of problem that is reported.
    pub category: Category,
    /// The id of the rule, in lower case with hyphens. For a secret, the id is the kind of secret.
    pub rule: &'static str,
    /// The severity of the finding.
    pub severity: Severity,
    /// The byte range in the field. Both ends are character boundaries.
    pub span: Range<usize>,
}

impl Finding {
    /// Makes a finding.
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
            span,
        }
    }

    /// Converts a finding in a part of a text, which begins at `start`, to a finding in the whole text.
    pub(in crate::scan) fn shifted(mut self, start: usize) -> Self {
        self.span = self.span.start + start..self.span.end + start;
        self
    }
}
