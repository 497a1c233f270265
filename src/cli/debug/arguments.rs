//! The arguments of a command of the shell, read as the table of commands describes them.
//!
//! A description is what a person reads in `help`: `ID [REV] [--depth N] [--all]`. A word in capitals is one
//! argument, brackets mean that it may be absent, three dots that it may be repeated.
//!
//! # Layer
//! L9, part of cli.

use crate::cli::errors::Failure;

/// The arguments that were typed.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    usage: String,
    words: Vec<String>,
    options: Vec<(String, Option<String>)>,
}

impl Arguments {
    /// Reads the words after the name of a command.
    pub(super) fn parse(name: &str, description: &str, words: &[String]) -> Result<Self, Failure> {
        let usage = format!("{name} {description}").trim_end().to_owned();
        let refuse = |what: String| Failure::usage(what, format!("usage: {usage}"));
        let mut parsed = Self {
            usage: usage.clone(),
            ..Self::default()
        };
        let known = options_of(description);
        let mut words = words.iter();
        let mut only_words = false;
        while let Some(word) = words.next() {
            if word == "--" && !only_words {
                only_words = true;
            } else if word.starts_with("--") && !only_words {
                let (option, given) = match word.split_once('=') {
                    Some((option, value)) => (option, Some(value.to_owned())),
                    None => (word.as_str(), None),
                };
                let takes_value = known
                    .iter()
                    .find(|(known, _)| *known == option)
                    .map(|(_, takes_value)| *takes_value)
                    .ok_or_else(|| refuse(format!("{name} has no option {option}")))?;
                let value = match (takes_value, given) {
                    (true, None) => words.next().cloned(),
                    (_, given) => given,
                };
                if takes_value != value.is_some() {
                    let needs = if takes_value { "needs" } else { "takes no" };
                    return Err(refuse(format!("{option} {needs} value")));
                }
                parsed.options.push((option.to_owned(), value));
            } else {
                parsed.words.push(word.clone());
            }
        }
        let (least, most) = positions_of(description);
        if parsed.words.len() < least {
            return Err(refuse(format!("{name} needs more")));
        }
        if let Some(extra) = parsed.words.get(most) {
            return Err(refuse(format!("{name} has no use for '{extra}'")));
        }
        Ok(parsed)
    }

    /// The argument at `index`, if it was given.
    pub(super) fn word(&self, index: usize) -> Option<&str> {
        self.words.get(index).map(String::as_str)
    }

    /// The argument at `index`, which the description demands.
    pub(super) fn needed(&self, index: usize) -> Result<&str, Failure> {
        self.word(index)
            .ok_or_else(|| self.refuse("an argument is missing"))
    }

    /// Whether the option was given.
    pub(super) fn has(&self, option: &str) -> bool {
        self.options.iter().any(|(name, _)| name == option)
    }

    /// The value of the option, the last one given.
    pub(super) fn value(&self, option: &str) -> Option<&str> {
        let mut given = self.options.iter().rev();
        given.find(|(name, _)| name == option)?.1.as_deref()
    }

    /// The value of the option as a number.
    pub(super) fn number(&self, option: &str) -> Result<Option<u64>, Failure> {
        self.value(option).map(|text| self.parse_number(text)).transpose()
    }

    /// Most rows to show: what `--limit` says.
    pub(super) fn limit(&self) -> Result<usize, Failure> {
        self.limit_or(usize::MAX)
    }

    /// Most rows to show: what `--limit` says, else `most`.
    pub(super) fn limit_or(&self, most: usize) -> Result<usize, Failure> {
        let limit = self.number("--limit")?;
        Ok(limit.map_or(most, |limit| usize::try_from(limit).unwrap_or(usize::MAX)))
    }

    /// A number as typed.
    pub(super) fn parse_number(&self, text: &str) -> Result<u64, Failure> {
        text.parse()
            .map_err(|_| self.refuse(&format!("'{text}' is no number")))
    }

    /// A refusal that ends with how the command is used.
    pub(super) fn refuse(&self, what: &str) -> Failure {
        Failure::usage(what, format!("usage: {}", self.usage))
    }
}

/// The options in a description, and whether each takes a value.
pub(super) fn options_of(description: &str) -> Vec<(&str, bool)> {
    let parts = description.split(['[', ']']).map(str::trim);
    parts
        .filter(|part| part.starts_with("--"))
        .map(|part| match part.split_once(' ') {
            Some((option, _)) => (option, true),
            None => (part, false),
        })
        .collect()
}

/// The least and the most words that are no options.
fn positions_of(description: &str) -> (usize, usize) {
    let words = description.split_whitespace().collect::<Vec<_>>();
    let (mut least, mut most, mut in_option) = (0, 0_usize, false);
    for word in words {
        if in_option || word.starts_with("[--") {
            in_option = !word.ends_with(']');
        } else {
            most = if word.contains("...") {
                usize::MAX
            } else {
                most.saturating_add(1)
            };
            least += usize::from(!word.starts_with('['));
        }
    }
    (least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(description: &str, words: &[&str]) -> Result<Arguments, Failure> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Arguments::parse("tree", description, &words)
    }

    #[test]
    fn arguments_are_read_as_described() {
        let given = parse("[ID] [--depth N] [--all]", &["a", "--depth", "2", "--all"]).unwrap();
        assert_eq!((given.word(0), given.word(1)), (Some("a"), None));
        assert_eq!(given.number("--depth").unwrap(), Some(2));
        assert!(given.has("--all") && !given.has("--none"));
        assert_eq!(
            parse("[ID] [--depth N]", &["--depth=3"])
                .unwrap()
                .value("--depth"),
            Some("3")
        );
        assert_eq!(
            parse("ID...", &["a", "b", "--", "--c"]).unwrap().word(2),
            Some("--c")
        );
        assert_eq!(parse("", &[]).unwrap().limit().unwrap(), usize::MAX);
    }

    #[test]
    fn what_is_not_described_is_refused_with_the_usage() {
        for (description, words) in [
            ("ID", &[][..]),
            ("ID", &["a", "b"]),
            ("ID [--depth N]", &["a", "--deep"]),
            ("ID [--depth N]", &["a", "--depth"]),
            ("ID [--all]", &["a", "--all=1"]),
        ] {
            let failure = parse(description, words).unwrap_err();
            let hint = failure.document()["error"]["hint"].to_string();
            assert!(
                failure.exit_code() == 2 && hint.contains("usage: tree"),
                "{words:?} {hint}"
            );
        }
        assert!(
            parse("[--depth N]", &["--depth", "x"])
                .unwrap()
                .number("--depth")
                .is_err()
        );
    }
}
