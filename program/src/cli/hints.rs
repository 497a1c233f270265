//! The commands in hints, which a user copies. Each one names the store of the run.
//!
//! A hint contains a command as `treering VERB ...`. Lower layers write such hints too, and do not know the options of
//! the run, so the output adds `--store`.
//!
//! # Layer
//! Layer 10, part of cli.

use std::path::Path;

use treering::Id;

/// The verbs without a use for `--store`: they read no store, or an argument names its folder. An option is no verb.
const WITHOUT_STORE: [&str; 6] = ["", "salvage", "check-proof", "trust-store", "keygen", "witness"];

/// Puts a text in single quotes for a shell.
pub(crate) fn in_quotes(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Quotes a path for a shell.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into_owned();
    }
    in_quotes(&text)
}

/// Returns words as a command for a shell.
#[cfg(any(feature = "mcp", feature = "signed"))]
pub(crate) fn in_words(words: impl IntoIterator<Item = String>) -> String {
    let words = words.into_iter().map(|word| quoted(Path::new(&word)));
    words.collect::<Vec<_>>().join(" ")
}

/// Returns ids and digests as arguments of a command. Others may have chosen them.
pub(crate) fn as_arguments<'a>(ids: impl IntoIterator<Item = &'a String>) -> String {
    let ids: Vec<_> = ids.into_iter().collect();
    let has_dash = ids.iter().any(|id| id.starts_with('-'));
    let mut words = if has_dash {
        vec!["--".to_owned()]
    } else {
        Vec::new()
    };
    words.extend(ids.into_iter().map(|id| in_quotes(id)));
    words.join(" ")
}

/// Returns the command that lists the changes of an object. Others may have chosen the id.
pub(crate) fn history_of(id: &Id) -> String {
    let separator = if id.as_str().starts_with('-') { "-- " } else { "" };
    format!("treering history {separator}{}", in_quotes(id.as_str()))
}

/// Returns the hint with `--store` after each verb. A hint that names a store, or only the help, stays as it is. So do
/// quoted names, because others may have written them.
pub(crate) fn on_store(hint: String, store: Option<&Path>) -> String {
    let parts: Vec<_> = quoted_parts(&hint).collect();
    let is_option = |text: &str| text.contains("--store") || text.contains("--help");
    let is_complete = parts
        .iter()
        .any(|&(text, is_quoted)| !is_quoted && is_option(text));
    let Some(store) = store.filter(|_| !is_complete) else {
        return hint;
    };
    let option = format!(" --store {}", in_quotes(&store.to_string_lossy()));
    let parts = parts.into_iter().map(|(text, is_quoted)| {
        if is_quoted {
            text.to_owned()
        } else {
            with_option(text, &option)
        }
    });
    parts.collect()
}

/// Splits a hint at its quotes. Returns whether each part is inside of quotes.
fn quoted_parts(hint: &str) -> impl Iterator<Item = (&str, bool)> {
    let parts = hint.split_inclusive('\'');
    parts.scan(false, |is_quoted, text| {
        let part = (text, *is_quoted);
        let before = text.strip_suffix('\'').map(|text| text.chars().next_back());
        // An apostrophe inside of a word opens no quote, and neither does the one that `in_quotes` writes after a backslash.
        let is_apostrophe = |letter: char| letter.is_alphanumeric() || letter == '\\';
        *is_quoted = !*is_quoted && before.is_some_and(|letter| !letter.is_some_and(is_apostrophe));
        Some(part)
    })
}

/// Adds an option after each verb.
fn with_option(text: &str, option: &str) -> String {
    let mut parts = text.split_inclusive("treering ");
    let mut complete = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if part.starts_with('-') {
            // An option before the verb may have a value, so the other option goes in front of it.
            complete.extend([option.trim_start(), " ", part]);
            continue;
        }
        let end = part.find(|c: char| !c.is_ascii_lowercase() && c != '-');
        let (verb, rest) = part.split_at(end.unwrap_or(part.len()));
        // A slash follows only the name of a folder.
        let is_without = WITHOUT_STORE.contains(&verb) || rest.starts_with('/');
        complete.extend([verb, if is_without { "" } else { option }, rest]);
    }
    complete
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_of_a_hint_names_the_store() {
        let complete = |hint: &str| on_store(hint.to_owned(), Some(Path::new("it's/s")));
        for (hint, expected) in [
            (
                "return with: treering log --at seq:3",
                r"return with: treering log --store 'it'\''s/s' --at seq:3",
            ),
            (
                "write to it with: treering --fork f put ID --kind KIND",
                r"write to it with: treering --store 'it'\''s/s' --fork f put ID --kind KIND",
            ),
            (
                "run `treering gc`, then treering head",
                r"run `treering gc --store 'it'\''s/s'`, then treering head --store 'it'\''s/s'",
            ),
            (
                r"the agent's way back: treering undo --session 'it'\''s treering gc; --store' --actor 'a treering b'",
                r"the agent's way back: treering undo --store 'it'\''s/s' --session 'it'\''s treering gc; --store' --actor 'a treering b'",
            ),
        ] {
            assert_eq!(complete(hint), expected);
            assert_eq!(on_store(hint.to_owned(), None), hint);
        }
        for unchanged in [
            "`treering salvage` needs two folders",
            "treering log --store other shows it",
            "see treering log --help",
            "name a folder such as /home/my treering store/.treering",
            "gc makes room for treering",
            "see the object 'treering gc'",
        ] {
            assert_eq!(complete(unchanged), unchanged);
        }
    }
}
