//! What the scan can say of a text: where, of which category, how grave, and by which rule.
//!
//! A finding never holds the text it is about: it can be logged, stored and shown without giving a secret away.
//!
//! # Layer
//! Pure: imports nothing of the crate.

use std::ops::Range;

/// What a finding is about. The order is the order of [`Category::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Category {
    /// A credential: key, token, password, private key.
    Secret,
    /// Characters that cannot be seen, or that look like others.
    Unicode,
    /// An order to set earlier instructions aside, or to play somebody without rules.
    Override,
    /// Text that poses as the system, the developer or a turn of the chat template.
    Role,
    /// Text that poses as the end of the data it is part of.
    Delimiter,
    /// A forged call of a tool.
    ToolCall,
    /// Something fetched and run, or a shell handed to somebody else.
    Execute,
    /// Data sent to a place outside.
    Exfiltration,
    /// A request for secrets or for the hidden instructions.
    Solicitation,
    /// An order that wants to hold in later turns or sessions, or to wait for a trigger.
    Persistence,
    /// Text that vouches for itself.
    Reinforcement,
    /// Checks switched off, rights raised, people kept in the dark.
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

    /// Returns the name in snake case, as settings and reports write it.
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

    /// Returns the category of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|category| category.name() == name)
    }
}

/// How much a finding says about the text it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Common in honest text; counts in the score only.
    Low,
    /// Rare in honest text.
    Medium,
    /// Hardly ever in honest text, unless it is about attacks.
    High,
}

impl Severity {
    /// All severities, the least first.
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

/// One thing that the scan saw.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Finding {
    /// What it is about.
    pub category: Category,
    /// The rule that saw it, in lower case with hyphens; for a secret, its kind.
    pub rule: &'static str,
    /// How grave it is.
    pub severity: Severity,
    /// Index of the field it stands in: 0 for a single text.
    pub field: usize,
    /// Bytes of the field that it covers; both ends are boundaries of characters.
    pub span: Range<usize>,
    /// Whether it was seen only after decoding what the span holds.
    pub is_decoded: bool,
}
