//! The policy of the guard, a TOML file. A key that the file omits has its default.
//!
//! ```toml
//! [change]
//! removed_share_max = 0.2
//! [scan]
//! refuse = "flag"
//! [kinds.task]
//! required = { state = "text" }
//! [[command]]
//! name = "style"
//! run = ["./check-memory", "--strict"]
//! seconds = 10
//! ```
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! - POL-1: a policy that the user did not name refuses every change that the standard policy refuses, and runs no
//!   program.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::agent::settings::{Quotas, fault};
use crate::error::{Error, ErrorCode, Result};
use crate::object::Value;
use treering_text::scan::Verdict;

/// The longest time limit of a program, in seconds: a day.
const SECONDS_MAX: f64 = 86_400.0;

/// The checks of a change.
///
/// The default policy limits the numbers and the shares of removed and rewritten objects. It refuses text that the scan
/// quarantines or blocks, texts that exceed a quota, and changes to pinned or more trusted objects. It has no rules for
/// kinds, and runs no programs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Limits on the number of objects that a change removes or rewrites.
    pub change: ChangeLimits,
    /// The verdicts of the scan that refuse a change.
    pub scan: ScanRules,
    /// Quotas of items and texts.
    pub quota: QuotaLimits,
    /// Rules for pinned items.
    pub pinned: PinnedRules,
    /// Protection of more trusted objects.
    pub trust: TrustRules,
    /// The action after a refusal.
    pub refused: RefusedRules,
    /// Rules for the objects of a kind.
    pub kinds: BTreeMap<String, KindRules>,
    /// Programs that check the change.
    #[serde(rename = "command")]
    pub commands: Vec<CommandCheck>,
}

/// Limits on the number of objects that a change removes or rewrites. A share counts the objects of one kind, one scope
/// and one side of trust (trusted or untrusted). An item is an object outside transcripts and documents. A superseded
/// object counts as rewritten.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChangeLimits {
    /// The number of objects of a kind and scope that may be removed, or rewritten, without regard to the limits of the
    /// share. Default: 5.
    pub free: u64,
    /// The maximum number of removed objects. Default: no limit.
    pub removed_max: Option<u64>,
    /// The maximum number of removed items; `None` means no limit. Default: 100.
    pub items_removed_max: Option<u64>,
    /// The maximum share of removed objects, from 0 to 1. Default: 0.5.
    pub removed_share_max: Option<f64>,
    /// The maximum number of rewritten objects. Default: no limit.
    pub rewritten_max: Option<u64>,
    /// The maximum number of rewritten items; `None` means no limit. Default: 100.
    pub items_rewritten_max: Option<u64>,
    /// The maximum share of rewritten objects, from 0 to 1. Default: 0.5.
    pub rewritten_share_max: Option<f64>,
}

impl Default for ChangeLimits {
    fn default() -> Self {
        Self {
            free: 5,
            removed_max: None,
            items_removed_max: Some(100),
            removed_share_max: Some(0.5),
            rewritten_max: None,
            items_rewritten_max: Some(100),
            rewritten_share_max: Some(0.5),
        }
    }
}

/// The verdicts of the scan that refuse a change.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScanRules {
    /// The least strict verdict that refuses a change. Default: quarantine.
    pub refuse: Refuse,
}

named! {
    /// The least strict verdict of the scan that refuses a change.
    #[derive(Default, Deserialize)]
    pub enum Refuse {
        /// No verdict refuses a change.
        Never => "never",
        /// The verdict `flag` and every stricter verdict refuse a change.
        Flag => "flag",
        /// The verdicts `quarantine` and `block` refuse a change.
        #[default]
        Quarantine => "quarantine",
        /// Only the verdict `block` refuses a change.
        Block => "block",
    }
}

impl Refuse {
    pub(super) fn verdict(self) -> Option<Verdict> {
        Verdict::from_name(self.name())
    }

    /// Returns a number that is higher if more verdicts refuse a change.
    fn strictness(self) -> u8 {
        match self {
            Self::Never => 0,
            Self::Block => 1,
            Self::Quarantine => 2,
            Self::Flag => 3,
        }
    }
}

/// Quotas of items and texts. If the policy omits a quota, the setting of the agent applies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QuotaLimits {
    /// The maximum number of items of a scope.
    pub items_max: Option<usize>,
    /// The maximum number of characters of a text.
    pub text_chars_max: Option<usize>,
}

/// Rules for pinned items.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PinnedRules {
    /// Whether to refuse a change that removes, rewrites, unpins or supersedes a pinned item. Default: true.
    pub keep: bool,
    /// Whether to refuse a new text that contradicts a pinned item of its scope or of the global scope. Default: true.
    pub contradictions: bool,
}

impl Default for PinnedRules {
    fn default() -> Self {
        Self {
            keep: true,
            contradictions: true,
        }
    }
}

/// Protection of more trusted objects.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrustRules {
    /// Whether to refuse a writer who rewrites, removes or supersedes a more trusted object. Default: true.
    pub keep_higher: bool,
    /// Whether to refuse a new text that contradicts a more trusted item of its scope or of the global scope. Texts of
    /// transcripts and documents are not compared. Default: true.
    pub contradictions: bool,
}

impl Default for TrustRules {
    fn default() -> Self {
        Self {
            keep_higher: true,
            contradictions: true,
        }
    }
}

/// The action of the guard after it refused a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RefusedRules {
    /// Whether to revert what the session of the writer committed before. The revert is one commit of the actor `guard`
    /// without a session; later versions by others stay. Default: false.
    pub revert_session: bool,
}

/// Rules for the objects of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KindRules {
    /// The attributes that each object must have, with their types.
    pub required: BTreeMap<String, TypeOfValue>,
    /// The minimum number of characters of the text of each object.
    pub text_chars_min: Option<usize>,
    /// The maximum number of characters of the text of each object.
    pub text_chars_max: Option<usize>,
}

named! {
    /// The type of an attribute.
    #[derive(Deserialize)]
    pub enum TypeOfValue {
        /// Text.
        Text => "text",
        /// A whole number.
        Integer => "integer",
        /// A number, whole or not.
        Number => "number",
        /// True or false.
        Bool => "bool",
        /// Values in order.
        List => "list",
        /// Values by key.
        Map => "map",
    }
}

impl TypeOfValue {
    pub(super) fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text => matches!(value, Value::Text(_)),
            Self::Integer => matches!(value, Value::Integer(_)),
            Self::Number => matches!(value, Value::Integer(_) | Value::Float(_)),
            Self::Bool => matches!(value, Value::Bool(_)),
            Self::List => matches!(value, Value::List(_)),
            Self::Map => matches!(value, Value::Map(_)),
        }
    }
}

/// A program that checks the change. The program reads the change as one JSON document from standard input. An exit
/// code other than 0 refuses the change, and the output of the program is the reason. The program is started without a
/// shell.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandCheck {
    /// The name of the check in the report.
    pub name: String,
    /// The program and its arguments.
    pub run: Vec<String>,
    /// The time limit of the program in seconds, at most a day. Default: 30.
    #[serde(default = "CommandCheck::usual_seconds")]
    pub seconds: f64,
}

impl CommandCheck {
    fn usual_seconds() -> f64 {
        30.0
    }

    pub(super) fn limit(&self) -> Duration {
        Duration::try_from_secs_f64(self.seconds).unwrap_or(Duration::MAX)
    }
}

impl Policy {
    /// Parses a policy in TOML, with a table for each field: `change`, `scan`, `quota`, `pinned`, `trust`, `kinds.NAME`
    /// and `[[command]]`. An absent table or key has its default.
    ///
    /// ```
    /// let policy = treering::agent::Policy::parse("[change]\nremoved_max = 3\n[scan]\nrefuse = \"flag\"")?;
    /// assert_eq!(policy.change.removed_max, Some(3));
    /// # Ok::<(), treering::Error>(())
    /// ```
    ///
    /// # Errors
    /// `InvalidInput` (code `bad_policy`) if a key is unknown or a value is invalid. The error describes the fault.
    pub fn parse(text: &str) -> Result<Self> {
        let read: Self = toml::from_str(text).map_err(|error| bad(fault(text, &error)))?;
        let limits = &read.change;
        for (key, share) in [
            ("removed_share_max", limits.removed_share_max),
            ("rewritten_share_max", limits.rewritten_share_max),
        ] {
            if share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
                return Err(bad(format!("`change.{key}` must be a number from 0 to 1")));
            }
        }
        for command in &read.commands {
            let name = &command.name;
            if command.run.is_empty() {
                return Err(bad(format!("the command '{name}' is empty")));
            }
            if !(command.seconds > 0.0 && command.seconds <= SECONDS_MAX) {
                let bounds = format!("more than 0 and at most {SECONDS_MAX}");
                return Err(bad(format!("`seconds` of the command '{name}' must be {bounds}")));
            }
        }
        Ok(read)
    }

    /// Parses a policy as [`Self::parse`] does, from a file that the user did not name (POL-1). `quotas` are the quotas
    /// of the agent.
    ///
    /// # Errors
    /// The errors of [`Self::parse`]; `Denied` (code `policy_not_allowed`) if a key is less strict than in the standard
    /// policy. The error names every such key.
    #[doc(hidden)]
    pub fn parse_found(text: &str, quotas: &Quotas) -> Result<Self> {
        let found = Self::parse(text)?;
        let keys = found.looser_keys(quotas);
        if keys.is_empty() {
            return Ok(found);
        }
        let keys = keys.join(", ");
        let text = format!("these keys need a policy that was passed with --policy: {keys}");
        let hint =
            "nothing was changed; read the file, then pass it with --policy FILE, or remove these keys";
        Err(Error::denied(ErrorCode::PolicyNotAllowed, text).with_hint(hint))
    }

    /// Returns the keys whose values are less strict than in the standard policy, and `command` if the policy runs a
    /// program.
    fn looser_keys(&self, quotas: &Quotas) -> Vec<&'static str> {
        fn is_over<T: PartialOrd>(found: Option<T>, standard: Option<T>) -> bool {
            standard.is_some_and(|standard| found.is_none_or(|found| found > standard))
        }
        let standard = Self::default();
        let (change, usual) = (&self.change, &standard.change);
        let (items_max, chars_max) = (self.quota.items_max, self.quota.text_chars_max);
        let keys = [
            ("change.free", change.free > usual.free),
            (
                "change.removed_max",
                is_over(change.removed_max, usual.removed_max),
            ),
            (
                "change.items_removed_max",
                is_over(change.items_removed_max, usual.items_removed_max),
            ),
            (
                "change.removed_share_max",
                is_over(change.removed_share_max, usual.removed_share_max),
            ),
            (
                "change.rewritten_max",
                is_over(change.rewritten_max, usual.rewritten_max),
            ),
            (
                "change.items_rewritten_max",
                is_over(change.items_rewritten_max, usual.items_rewritten_max),
            ),
            (
                "change.rewritten_share_max",
                is_over(change.rewritten_share_max, usual.rewritten_share_max),
            ),
            (
                "scan.refuse",
                self.scan.refuse.strictness() < standard.scan.refuse.strictness(),
            ),
            (
                "quota.items_max",
                items_max.is_some_and(|max| max > quotas.items_max),
            ),
            (
                "quota.text_chars_max",
                chars_max.is_some_and(|max| max > quotas.text_chars_max),
            ),
            ("pinned.keep", !self.pinned.keep),
            ("pinned.contradictions", !self.pinned.contradictions),
            ("trust.keep_higher", !self.trust.keep_higher),
            ("trust.contradictions", !self.trust.contradictions),
            // A refusal would change the state.
            ("refused.revert_session", self.refused.revert_session),
            ("command", !self.commands.is_empty()),
        ];
        let looser = keys.into_iter().filter(|(_, is_looser)| *is_looser);
        looser.map(|(key, _)| key).collect()
    }
}

fn bad(why: impl std::fmt::Display) -> Error {
    Error::invalid(format!("the policy cannot be read: {why}"))
        .with_code(ErrorCode::BadPolicy)
        .with_hint("docs/agent/guard.md lists the keys of a policy")
}
