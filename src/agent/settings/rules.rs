//! The rules of a settings file: the form and the bounds of each setting, and the values that a found file may set.
//!
//! A file that the user named may set every value within the bounds. A file that was only found lies beside the store,
//! and anybody who can change that folder may have written it. So its values are at least as strict as the standard.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! - SET-1: an unknown key at any depth is a fault. The fault has the key, its line, and the nearest known key.
//! - SET-2: a found file sets no value that is less strict than the standard.
//! - SET-3: no file sets a value outside the bounds of its setting.

use strsim::osa_distance;
use toml::de::{DeTable, DeValue};

use super::parse_micros;
use treering_text::calendar::DAY_MICROS;
use treering_text::scan::{Category, Severity};

/// The number of typing errors up to which a known key is suggested for an unknown one.
const TYPING_ERRORS_MAX: usize = 4;

const SECOND: f64 = 1_000_000.0;
const HOUR: f64 = 3_600.0 * SECOND;
const DAY: f64 = DAY_MICROS as f64;
/// The longest time of a setting: about a century.
const LONGEST: f64 = 36_500.0 * DAY;
/// The largest number of characters or bytes of a setting: the largest content of an object.
const TEXT_MAX: f64 = 16_777_216.0;
const MILLION: f64 = 1_000_000.0;
/// The longest text of a setting, in bytes.
const TEXT_BYTES_MAX: usize = 1_024;
/// The text that switches a setting off.
const NONE: &str = "none";

/// The form of a value.
#[derive(Clone, Copy)]
enum Form {
    /// A whole number.
    Count,
    /// A number.
    Factor,
    /// A duration. It is measured in microseconds.
    Time,
    /// `true` or `false`, measured as 1 or 0.
    Flag,
    /// One of these words, measured by its position.
    Word(&'static [&'static str]),
    /// A text, measured as 0 if it is "none" and as 1 otherwise.
    Text,
    /// A list of texts, measured as 1.
    Texts,
}

/// The values that a found file may set. Each limit is the standard value of the setting.
#[derive(Clone, Copy)]
enum Found {
    /// Every value, because no value is stricter than another.
    Any,
    AtMost(f64),
    AtLeast(f64),
}
use Found::{Any, AtLeast, AtMost};

/// The rule of one setting.
struct Rule {
    key: &'static str,
    form: Form,
    least: f64,
    most: f64,
    found: Found,
}

const fn rule(key: &'static str, form: Form, least: f64, most: f64, found: Found) -> Rule {
    Rule {
        key,
        form,
        least,
        most,
        found,
    }
}

const fn count(key: &'static str, least: f64, most: f64, found: Found) -> Rule {
    rule(key, Form::Count, least, most, found)
}

const fn factor(key: &'static str, most: f64) -> Rule {
    rule(key, Form::Factor, 0.0, most, Any)
}

const fn time(key: &'static str, least: f64, found: Found) -> Rule {
    rule(key, Form::Time, least, LONGEST, found)
}

const fn flag(key: &'static str, found: Found) -> Rule {
    rule(key, Form::Flag, 0.0, 1.0, found)
}

const fn word(key: &'static str, words: &'static [&'static str]) -> Rule {
    rule(key, Form::Word(words), 0.0, f64::MAX, Any)
}

const fn text(key: &'static str) -> Rule {
    rule(key, Form::Text, 0.0, 1.0, AtMost(0.0))
}

/// The rules of all settings except the verdicts of the scan, whose strictness [`super::file`] compares.
const RULES: &[Rule] = &[
    word("profile", &["default", "blocks"]),
    word("secrets", &["redact", "refuse"]),
    count("quotas.text_chars_max", 1.0, TEXT_MAX, AtMost(1_048_576.0)),
    count("quotas.items_max", 1.0, 1_000.0 * MILLION, AtMost(MILLION)),
    count("quotas.tags_max", 0.0, 10_000.0, AtMost(100.0)),
    count("quotas.tag_chars_max", 1.0, 65_536.0, AtMost(256.0)),
    count("quotas.citations_max", 0.0, 10_000.0, AtMost(100.0)),
    count("quotas.citation_file_chars_max", 1.0, 65_536.0, AtMost(4_096.0)),
    count("quotas.citation_note_chars_max", 1.0, 65_536.0, AtMost(4_096.0)),
    flag("quotas.strict_ids", AtLeast(0.0)),
    time("decay.summary_after", HOUR, AtLeast(DAY)),
    time("decay.keywords_after", HOUR, AtLeast(7.0 * DAY)),
    time("decay.forget_after", HOUR, AtLeast(30.0 * DAY)),
    time("notes.fresh_half_life", SECOND, Any),
    time("notes.read_half_life", SECOND, Any),
    factor("notes.read_boost", 1_000.0),
    factor("notes.read_factor_max", 1_000.0),
    factor("notes.score_step", 1.0),
    count("notes.snippet_chars_max", 1.0, 65_536.0, Any),
    count("notes.snippet_chars_before", 0.0, 65_536.0, Any),
    flag("facts.enabled", AtMost(0.0)),
    flag("sessions.taint_ends_at_prompt", AtMost(0.0)),
    count("facts.turns_min", 0.0, MILLION, AtLeast(3.0)),
    count("facts.facts_max", 0.0, 10_000.0, AtMost(5.0)),
    count("facts.fact_chars_max", 1.0, TEXT_MAX, AtMost(500.0)),
    count("facts.user_chars_max", 0.0, TEXT_MAX, AtMost(4_000.0)),
    count("facts.env_chars_max", 0.0, TEXT_MAX, AtMost(8_000.0)),
    count("facts.reply_bytes_max", 1.0, TEXT_MAX, AtMost(65_536.0)),
    count("facts.depth_max", 1.0, 100.0, AtMost(16.0)),
    count("facts.items_max", 0.0, MILLION, AtMost(100.0)),
    count("facts.prompt_chars_max", 1.0, TEXT_MAX, AtMost(24_000.0)),
    count("attribution.indented_lines_min", 1.0, MILLION, AtMost(4.0)),
    count("attribution.block_lines_min", 1.0, MILLION, AtMost(25.0)),
    count("attribution.block_chars_min", 1.0, TEXT_MAX, AtMost(3_000.0)),
    count("attribution.quotation_chars_min", 1.0, TEXT_MAX, AtMost(120.0)),
    count("attribution.own_chars_max", 0.0, TEXT_MAX, AtMost(8_000.0)),
    text("meaning.model"),
    text("meaning.address"),
    text("meaning.address_model"),
    word("meaning.protocol", &["openai", "ollama"]),
    text("meaning.texts_leave_to"),
    rule("meaning.command", Form::Texts, 0.0, 1.0, AtMost(0.0)),
];

/// A key of a settings file that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The number of the line.
    pub line: usize,
    /// The reason, which contains the key.
    pub why: String,
}

/// Removes every key that breaks a rule, and returns the faults in the order of their lines. `is_found` tells whether
/// the file was found, so that SET-2 holds.
pub(super) fn check(table: &mut DeTable<'_>, text: &str, is_found: bool) -> Vec<Fault> {
    let mut faults = Vec::new();
    check_below(table, "", &mut |key, value, at| {
        let why = fault_of(key, value, is_found)?;
        let line = line_at(text, at);
        faults.push(Fault { line, why });
        Some(())
    });
    faults.sort();
    faults
}

/// Returns the number of the line that contains the byte offset `at`.
pub(super) fn line_at(text: &str, at: usize) -> usize {
    text[..at.min(text.len())].matches('\n').count() + 1
}

/// Removes the keys below the table `prefix` for which `fault` reports a fault. `fault` gets the whole key, the value and
/// the offset of the key.
fn check_below(
    table: &mut DeTable<'_>,
    prefix: &str,
    fault: &mut impl FnMut(&str, &DeValue<'_>, usize) -> Option<()>,
) {
    let mut bad = Vec::new();
    for (name, value) in table.iter_mut() {
        let key = match prefix {
            "" => name.get_ref().to_string(),
            _ => format!("{prefix}.{}", name.get_ref()),
        };
        match value.get_mut() {
            DeValue::Table(inner) if !names_below(&key).is_empty() => check_below(inner, &key, fault),
            value => bad.extend(fault(&key, value, name.span().start).map(|()| name.get_ref().to_string())),
        }
    }
    for name in bad {
        drop(table.remove(&*name));
    }
}

/// Returns why a value breaks the rule of its key.
fn fault_of(key: &str, value: &DeValue<'_>, is_found: bool) -> Option<String> {
    if !names_below(key).is_empty() {
        return Some(format!("`{key}` is a table, not a value"));
    }
    let Some(rule) = rule_of(key) else {
        return Some(unknown(key));
    };
    let measured = rule.measure(value);
    let Some(measure) = measured.filter(|measure| (rule.least..=rule.most).contains(measure)) else {
        return Some(format!("`{key}` must be {}", rule.domain()));
    };
    let limit = match rule.found {
        AtMost(limit) if measure > limit && matches!(rule.form, Form::Text | Form::Texts) => {
            format!("\"{NONE}\" or absent")
        }
        AtMost(limit) if measure > limit => format!("at most {}", rule.shown(limit)),
        AtLeast(limit) if measure < limit => format!("at least {}", rule.shown(limit)),
        _ => return None,
    };
    is_found.then(|| format!("`{key}` must be {limit} in a file that was not passed with --settings"))
}

/// Returns the message about an unknown key, with the nearest known key of the same table.
fn unknown(key: &str) -> String {
    let (prefix, name) = key.rsplit_once('.').unwrap_or(("", key));
    let distance = |known: &&str| osa_distance(name, known);
    let nearest = names_below(prefix).into_iter().min_by_key(distance);
    let near = nearest.filter(|known| distance(known) <= TYPING_ERRORS_MAX.min(name.len()));
    match (near, prefix) {
        (None, _) => format!("the key `{key}` is unknown"),
        (Some(near), "") => format!("the key `{key}` is unknown; the nearest key is `{near}`"),
        (Some(near), _) => format!("the key `{key}` is unknown; the nearest key is `{prefix}.{near}`"),
    }
}

/// The rule of every verdict of the scan.
const VERDICT: Rule = word("scan", &["allow", "flag", "quarantine", "block"]);

fn rule_of(key: &str) -> Option<&'static Rule> {
    if key.starts_with("scan.") {
        let (table, name) = key.rsplit_once('.')?;
        return names_below(table).contains(&name).then_some(&VERDICT);
    }
    RULES.iter().find(|rule| rule.key == key)
}

/// Returns the names of the keys of a table, or nothing if `prefix` names no table. An empty prefix means the file.
fn names_below(prefix: &str) -> Vec<&'static str> {
    let categories = || Category::ALL.iter().map(|category| category.name());
    match prefix {
        "" => {
            let mut names: Vec<_> = RULES.iter().map(|rule| first_part(rule.key)).collect();
            names.push("scan");
            names.dedup();
            names
        }
        "scan" => categories().chain(["all"]).collect(),
        _ => match prefix.strip_prefix("scan.") {
            Some(category) if category == "all" || Category::from_name(category).is_some() => {
                Severity::ALL.iter().map(|severity| severity.name()).collect()
            }
            Some(_) => Vec::new(),
            None => {
                let rest = |rule: &'static Rule| rule.key.strip_prefix(prefix)?.strip_prefix('.');
                RULES.iter().filter_map(rest).collect()
            }
        },
    }
}

fn first_part(key: &'static str) -> &'static str {
    key.split_once('.').map_or(key, |(table, _)| table)
}

impl Rule {
    /// Returns the size of a value, or `None` if the value has another form.
    fn measure(&self, value: &DeValue<'_>) -> Option<f64> {
        match (self.form, value) {
            (Form::Count | Form::Factor, DeValue::Integer(number)) => {
                let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
                Some(number as f64)
            }
            (Form::Factor, DeValue::Float(number)) => number.as_str().parse().ok(),
            (Form::Time, DeValue::String(text)) => parse_micros(text).map(|micros| micros as f64),
            (Form::Flag, DeValue::Boolean(flag)) => Some(f64::from(u8::from(*flag))),
            (Form::Word(words), DeValue::String(text)) => {
                let place = words.iter().position(|word| word == text)?;
                Some(place as f64)
            }
            (Form::Text, DeValue::String(text)) if (1..=TEXT_BYTES_MAX).contains(&text.len()) => {
                Some(f64::from(u8::from(text != NONE)))
            }
            (Form::Texts, DeValue::Array(texts)) if !texts.is_empty() => {
                let all = texts.iter().all(|text| text.get_ref().as_str().is_some());
                all.then_some(1.0)
            }
            _ => None,
        }
    }

    /// Returns the form and the bounds, for a message.
    fn domain(&self) -> String {
        let (least, most) = (self.shown(self.least), self.shown(self.most));
        match self.form {
            Form::Count => format!("a whole number from {least} to {most}"),
            Form::Factor => format!("a number from {least} to {most}"),
            Form::Time => format!("a duration from {least} to {most}, such as \"36h\""),
            Form::Flag => "true or false".to_owned(),
            Form::Word(words) => format!("one of {}", words.join(", ")),
            Form::Text => format!("a text of 1 to {TEXT_BYTES_MAX} bytes"),
            Form::Texts => "a list of texts".to_owned(),
        }
    }

    /// Formats a measure as a value of a file.
    fn shown(&self, measure: f64) -> String {
        match self.form {
            Form::Time if measure >= DAY && measure % DAY == 0.0 => format!("{}d", measure / DAY),
            Form::Time if measure >= HOUR => format!("{}h", measure / HOUR),
            Form::Time => format!("{}s", measure / SECOND),
            Form::Flag => (measure > 0.0).to_string(),
            Form::Text | Form::Texts => NONE.to_owned(),
            Form::Count | Form::Factor | Form::Word(_) => measure.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Settings;

    /// Formats the value of each setting as a file.
    fn file_of(value: impl Fn(&Rule) -> Option<f64>) -> String {
        let line = |rule: &Rule| {
            // A text is not a measure. The tests of `file.rs` have these settings.
            if matches!(rule.form, Form::Text | Form::Texts) {
                return None;
            }
            let shown = rule.shown(value(rule)?);
            let is_text = matches!(rule.form, Form::Time);
            let shown = if is_text { format!("{shown:?}") } else { shown };
            Some(format!("{} = {shown}\n", rule.key))
        };
        RULES.iter().filter_map(line).collect()
    }

    fn limit(rule: &Rule) -> Option<f64> {
        match rule.found {
            AtMost(limit) | AtLeast(limit) => Some(limit),
            Any => None,
        }
    }

    /// INVARIANT SET-2: the limits of a found file are the standard values.
    #[test]
    fn the_limits_of_a_found_file_are_the_standard() {
        let text = file_of(limit);
        let named = Settings::from_toml(&text).unwrap();
        let (found, faults) = Settings::from_found_toml(&text);
        assert_eq!(faults, []);
        for settings in [named, found] {
            assert_eq!(format!("{settings:?}"), format!("{:?}", Settings::default()));
        }
    }

    /// INVARIANT SET-2: a found file sets no value that is less strict than the standard.
    #[test]
    fn a_found_file_only_makes_stricter() {
        let looser = |rule: &Rule| match rule.found {
            AtMost(limit) => Some(limit + 1.0).filter(|looser| *looser <= rule.most),
            AtLeast(limit) => Some(limit - 3_600.0 * SECOND).filter(|looser| *looser >= rule.least),
            Any => None,
        };
        let text = file_of(looser);
        assert!(text.lines().count() > 20, "{text}");
        let (found, faults) = Settings::from_found_toml(&text);
        assert_eq!(format!("{found:?}"), format!("{:?}", Settings::default()));
        assert_eq!(faults.len(), text.lines().count());
        for (fault, line) in faults.iter().zip(1..) {
            assert_eq!(fault.line, line);
            assert!(fault.why.contains("--settings"), "{fault:?}");
        }
        Settings::from_toml(&text).unwrap();
    }

    /// INVARIANT SET-3: no file sets a value outside the bounds of its setting.
    #[test]
    fn a_value_out_of_bounds_is_refused_with_the_bounds() {
        for rule in RULES
            .iter()
            .filter(|rule| !matches!(rule.form, Form::Flag | Form::Word(_) | Form::Text | Form::Texts))
        {
            let step = if matches!(rule.form, Form::Time) {
                SECOND
            } else {
                1.0
            };
            for value in [rule.least - step, rule.most + step] {
                let text = file_of(|one| (one.key == rule.key).then_some(value));
                let error = Settings::from_toml(&text).unwrap_err();
                assert!(error.message().contains(&rule.domain()), "{text}: {error}");
                let (found, faults) = Settings::from_found_toml(&text);
                assert_eq!(
                    format!("{found:?}"),
                    format!("{:?}", Settings::default()),
                    "{text}"
                );
                assert_eq!(faults.len(), 1, "{text}");
            }
        }
    }

    #[test]
    fn the_bounds_are_documented() {
        let page = include_str!("../../../docs/agent/settings.md");
        for rule in RULES
            .iter()
            .filter(|rule| !matches!(rule.form, Form::Flag | Form::Word(_) | Form::Text | Form::Texts))
        {
            let (least, most) = (rule.shown(rule.least), rule.shown(rule.most));
            let found = match rule.found {
                Any => "any".to_owned(),
                AtMost(limit) => format!("at most {}", rule.shown(limit)),
                AtLeast(limit) => format!("at least {}", rule.shown(limit)),
            };
            let row = format!("| `{}` | {least} to {most} | {found} |", rule.key);
            assert!(page.contains(&row), "docs/agent/settings.md lacks the row\n{row}");
        }
    }

    /// INVARIANT SET-1: a fault has the key, its line, and the nearest known key.
    #[test]
    fn an_unknown_key_of_a_found_file_is_skipped_with_a_suggestion() {
        let text = "secrets = \"refuse\"\n[quotas]\nitems = 5\ntags_max = 7\n[scan.overide]\nhigh = \"block\"\n\
                    [scan.role]\nhi = \"block\"\n[colours]\nred = 1\n";
        let (found, faults) = Settings::from_found_toml(text);
        let faults: Vec<_> = faults.iter().map(|fault| (fault.line, &*fault.why)).collect();
        let expected = [
            (
                3,
                "the key `quotas.items` is unknown; the nearest key is `quotas.items_max`",
            ),
            (
                5,
                "the key `scan.overide` is unknown; the nearest key is `scan.override`",
            ),
            (
                8,
                "the key `scan.role.hi` is unknown; the nearest key is `scan.role.high`",
            ),
            (9, "the key `colours` is unknown"),
        ];
        assert_eq!(faults, expected);
        assert_eq!(
            (found.quotas.tags_max, found.secrets),
            (7, crate::agent::Secrets::Refuse)
        );
    }
}
