//! What a kind of secret is: a rule, and a check that tells the real from the look-alike.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use crate::scan::finding::{Category, Severity};
use crate::scan::rules::Rule;

/// How a candidate is told from a placeholder, a name, or a digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Check {
    /// Not a placeholder, and at least so many tenths of a bit of entropy a character.
    Entropy(u32),
    /// As `Entropy(30)`; the last six characters are a CRC-32 of what stands between them and the prefix.
    Crc,
    /// As `Entropy(30)`; the last six characters are a Bech32 checksum.
    Bech,
    /// Three parts, of which the first decodes to a header.
    Jwt,
    /// A value given to a name that is for passwords.
    Password,
    /// A value that stands where only a password can.
    Given,
    /// A value given to a name that is for keys and tokens.
    Named,
    /// The body of a key in armour.
    Armour,
}

/// One kind of secret.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub(super) rule: Rule,
    pub(super) check: Check,
}

/// A row of a table: name, keywords, pattern, check.
pub(super) type Row = (&'static str, &'static str, &'static str, Check);

/// Returns the kinds of the rows.
pub(super) fn kinds(rows: &'static [Row]) -> impl Iterator<Item = Kind> {
    rows.iter().map(|&(name, keywords, pattern, check)| Kind {
        rule: Rule {
            name,
            category: Category::Secret,
            severity: Severity::High,
            keywords,
            pattern,
        },
        check,
    })
}
