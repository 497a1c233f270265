//! The rules of the scan, read from the data files in this folder.
//!
//! A file contains one family of rules: the secrets of one industry, the injections of one category, or the injections
//! of one language. Every rule has examples. `matches` lists texts in which the rule finds something. `passes` lists
//! honest texts in which it finds nothing. The tests run all examples and check every rule, so reading the files cannot
//! fail at run time.
//!
//! # How to add a rule
//! To add a rule, append a `[[rule]]` to the file of its family; this needs no change of Rust code. A new family is a
//! new file, which must be added to one of the lists below. A rule has these keys:
//!
//! | key | meaning |
//! |---|---|
//! | `id` | lower case with hyphens; never changes, because reports and settings of users name it |
//! | `category`, `severity` | as in [`Category`] and [`Severity`]; a secret has no `category` |
//! | `view` | `marks` or `words`, the copy of the text that the rule reads; a rule for secrets reads the text itself |
//! | `keywords` | groups of words in lower case; every match contains at least one word of each group |
//! | `pattern` | a bounded regex; the group `s`, if there is one, is the part that is reported, and `n` is the name of that part |
//! | `looks_back` | whether the pattern sees the text before its match, as `(?:^|\n)` needs |
//! | `unless` | words, such as negations; a match directly after one of them does not count |
//! | `check`, `entropy` | for secrets: the test that excludes placeholders, see [`Check`] |
//! | `matches`, `passes` | the examples, at least one of each |
//!
//! In a keyword, `^` is a space and `~` an optional space. In a pattern, `<near>` is replaced by the text with this
//! name in `vocabulary.toml`. A pattern for words also matches a text in which some spaces are missing. Examples of
//! secrets are templates: `<a36>` becomes 36 random letters and digits (see `Dice` in the tests). A `~` in such an
//! example is removed; it keeps other scanners from reporting the file as a leak.
//!
//! A process that scans one short text reads the heads of all rules, and few of the rules ([`reader`]).
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

mod frame;
mod pattern;
mod program;
mod reader;
mod set;
#[cfg(test)]
pub(in crate::scan) mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use serde::Deserialize;

pub(in crate::scan) use self::frame::Frames;
use self::reader::Head;
pub(in crate::scan) use self::set::RuleSet;
use super::finding::{Category, Severity};
use super::unicode;

/// If two secrets have the same span, the earlier rule is used, so the general family comes last.
const SECRETS: [&str; 11] = [
    include_str!("secrets/cloud.toml"),
    include_str!("secrets/code.toml"),
    include_str!("secrets/vendors.toml"),
    include_str!("secrets/services.toml"),
    include_str!("secrets/chains.toml"),
    include_str!("secrets/hashes.toml"),
    include_str!("secrets/access.toml"),
    include_str!("secrets/commands.toml"),
    include_str!("secrets/phrases.toml"),
    include_str!("secrets/generic.toml"),
    include_str!("secrets/nearby.toml"),
];

const INJECTIONS: [&str; 32] = [
    include_str!("injection/en/override.toml"),
    include_str!("injection/en/role.toml"),
    include_str!("injection/en/delimiter.toml"),
    include_str!("injection/en/tool_call.toml"),
    include_str!("injection/en/execute.toml"),
    include_str!("injection/en/exfiltration.toml"),
    include_str!("injection/en/solicitation.toml"),
    include_str!("injection/en/persistence.toml"),
    include_str!("injection/en/reinforcement.toml"),
    include_str!("injection/en/guard.toml"),
    include_str!("injection/en/encoded.toml"),
    include_str!("injection/en/markup.toml"),
    include_str!("injection/en/forged.toml"),
    include_str!("injection/en/persona.toml"),
    include_str!("injection/en/standing.toml"),
    include_str!("injection/en/displace.toml"),
    include_str!("injection/en/addressed.toml"),
    include_str!("injection/en/taking.toml"),
    include_str!("injection/cs.toml"),
    include_str!("injection/de.toml"),
    include_str!("injection/es.toml"),
    include_str!("injection/fr.toml"),
    include_str!("injection/hu.toml"),
    include_str!("injection/id.toml"),
    include_str!("injection/it.toml"),
    include_str!("injection/nl.toml"),
    include_str!("injection/pl.toml"),
    include_str!("injection/pt.toml"),
    include_str!("injection/ro.toml"),
    include_str!("injection/sv.toml"),
    include_str!("injection/tr.toml"),
    include_str!("injection/vi.toml"),
];

/// Languages in other scripts. Only texts with characters beyond ASCII are searched with these rules.
const OTHER_SCRIPTS: [&str; 12] = [
    include_str!("injection/ar.toml"),
    include_str!("injection/bn.toml"),
    include_str!("injection/el.toml"),
    include_str!("injection/fa.toml"),
    include_str!("injection/he.toml"),
    include_str!("injection/hi.toml"),
    include_str!("injection/ja.toml"),
    include_str!("injection/ko.toml"),
    include_str!("injection/ru.toml"),
    include_str!("injection/th.toml"),
    include_str!("injection/uk.toml"),
    include_str!("injection/zh.toml"),
];

/// The words of the concepts of frames.
const WORDS: &str = concat!(
    include_str!("frames/words.toml"),
    "\n",
    include_str!("frames/words_others.toml")
);

/// The words of languages in other scripts.
const OTHER_FRAME_WORDS: &str = include_str!("frames/scripts.toml");

/// The frames.
const FRAMES_FILE: &str = include_str!("frames/frames.toml");

/// The named parts of patterns.
static VOCABULARY: LazyLock<HashMap<&str, &str>> =
    LazyLock::new(|| reader::pairs(include_str!("vocabulary.toml")).collect());

/// The rules for secrets.
pub(in crate::scan) static TEXT: LazyLock<RuleSet> = LazyLock::new(|| RuleSet::new(heads(&SECRETS)));

/// The rules for marks and the rules for words.
pub(in crate::scan) static MARKS_AND_WORDS: LazyLock<(RuleSet, RuleSet)> = LazyLock::new(|| {
    let rules = heads(&INJECTIONS).into_iter();
    let (marks, words) = rules.partition(|rule| rule.view == View::Marks);
    (RuleSet::new(marks), RuleSet::new(words))
});

/// The rules for words in other scripts.
pub(in crate::scan) static OTHER_WORDS: LazyLock<RuleSet> =
    LazyLock::new(|| RuleSet::new(heads(&OTHER_SCRIPTS)));

/// The frames, for words in Latin letters.
pub(in crate::scan) static FRAMES: LazyLock<Frames> = LazyLock::new(|| Frames::new(FRAMES_FILE, WORDS));

/// The frames, for words in other scripts.
pub(in crate::scan) static OTHER_FRAMES: LazyLock<Frames> =
    LazyLock::new(|| Frames::new(FRAMES_FILE, OTHER_FRAME_WORDS));

/// The copy of a text that a rule searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::scan) enum View {
    /// The text itself.
    #[default]
    Text,
    /// The text in lower case, with its punctuation.
    Marks,
    /// The words of the text.
    Words,
}

/// The test that distinguishes a secret from a placeholder, a name or a digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::scan) enum Check {
    /// The characters have at least the entropy that the rule requires, and are not a placeholder.
    #[default]
    Random,
    /// The same as `Random`. In addition, the last six characters are a CRC-32 of the characters between the prefix and
    /// this checksum.
    Crc32,
    /// The same as `Random`. In addition, the last six characters are a Bech32 checksum.
    Bech32,
    /// A JSON Web Token: the first of its three parts decodes to a header.
    Jwt,
    /// A value that is assigned to a name for passwords.
    Password,
    /// A value in a place where only a password is expected.
    Given,
    /// A value that is assigned to a name for keys and tokens.
    Named,
    /// A value in a place where only a key or token is expected: random characters, or a UUID.
    Key,
    /// A code for one use: not only letters.
    Code,
    /// The base64 form of a user name, a colon and a password.
    Basic,
    /// Words that restore a wallet: at least twelve, without the words that connect the others in a sentence.
    Mnemonic,
    /// The body of an armoured key.
    Armour,
    /// The name of a password. A value near it that looks like a password is the secret.
    NearPassword,
    /// The name of a key or token. A value near it that looks like a key is the secret.
    NearKey,
}

/// One rule. The documentation of the module describes the fields.
#[derive(Deserialize)]
pub(in crate::scan) struct Rule {
    pub(in crate::scan) id: &'static str,
    #[serde(default = "secret")]
    pub(in crate::scan) category: Category,
    pub(in crate::scan) severity: Severity,
    #[serde(default)]
    view: View,
    #[serde(default)]
    pub(in crate::scan) check: Check,
    /// The minimal entropy of a secret, in bits for each character.
    #[serde(default)]
    pub(in crate::scan) entropy: f64,
    pattern: Cow<'static, str>,
    /// Whether the pattern sees the text before its match.
    #[serde(default)]
    looks_back: bool,
    #[serde(default)]
    unless: Cow<'static, str>,
}

fn secret() -> Category {
    Category::Secret
}

/// Reads the heads of the rules in `files`.
fn heads(files: &[&'static str]) -> Vec<Head> {
    files.iter().flat_map(|file| Head::each(file)).collect()
}

fn read_file<T: Deserialize<'static>>(file: &'static str) -> Vec<T> {
    let mut tables: BTreeMap<&str, Vec<T>> = toml::from_str(file).expect("a test parses the rule files");
    tables.remove("rule").expect("every rule file has rules")
}

impl Rule {
    /// Returns whether the characters of a secret alone give it away, without a name or other text before it.
    pub(in crate::scan) fn is_token(&self) -> bool {
        matches!(
            self.check,
            Check::Random | Check::Crc32 | Check::Bech32 | Check::Jwt
        ) && !self.pattern.contains("(?P<s>")
    }

    /// Returns whether a word of `unless` stands directly before `at`.
    fn is_excluded(&self, text: &[u8], at: usize) -> bool {
        let before = text[..at].trim_ascii_end();
        let spelled = if self.unless.is_ascii() || self.view == View::Text {
            Cow::Borrowed(&*self.unless)
        } else {
            unicode::spell(&self.unless).into()
        };
        let mut words = spelled.split_ascii_whitespace().map(str::as_bytes);
        words.any(|word| {
            before
                .strip_suffix(word)
                .is_some_and(|rest| rest.last().is_none_or(|byte| *byte == b' '))
        })
    }

    /// Returns the regex, with names replaced by their texts, spelled as in the copies of a text. In a pattern for words,
    /// every space is optional, because an invisible character may separate two words.
    fn regex(&self) -> String {
        let mut text = String::new();
        expand(&self.pattern, &mut text);
        if self.view != View::Text && !text.is_ascii() {
            text = unicode::spell(&text);
        }
        match self.view {
            View::Words => text.replace(' ', " ?"),
            View::Marks | View::Text => text,
        }
    }
}

/// Writes a pattern with the names of the vocabulary replaced by their texts, which may contain names.
fn expand(pattern: &str, out: &mut String) {
    let mut rest = pattern;
    while let Some(start) = rest.find('<') {
        let name = rest[start + 1..].split('>').next().unwrap_or_default();
        match VOCABULARY.get(name) {
            Some(meaning) => {
                out.push_str(&rest[..start]);
                expand(meaning, out);
                rest = &rest[start + name.len() + 2..];
            }
            None => {
                out.push_str(&rest[..=start]);
                rest = &rest[start + 1..];
            }
        }
    }
    out.push_str(rest);
}
