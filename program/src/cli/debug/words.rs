//! Splits a line of the shell into words: blanks separate words, a quoted text is part of one word, `#` begins a
//! comment.
//!
//! Within `'` every character is literal. Within `"` and outside of quotes, a backslash makes the next character
//! literal.
//!
//! # Layer
//! Layer 10, part of cli.

use crate::cli::errors::usage_error;
use treering::Result;

/// Returns the words of `line`. Returns no words for an empty line or a comment.
pub(super) fn split(line: &str) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\'' | '"' => quoted(&mut characters, character, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().extend(characters.next()),
            '#' if word.is_none() => break,
            blank if blank.is_whitespace() => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

fn quoted(characters: &mut std::str::Chars<'_>, quote: char, word: &mut String) -> Result<()> {
    while let Some(character) = characters.next() {
        match character {
            end if end == quote => return Ok(()),
            '\\' if quote == '"' => word.extend(characters.next()),
            other => word.push(other),
        }
    }
    Err(usage_error(
        format!("the quote {quote} is not closed"),
        format!("close the quote, or write \\{quote} for the character itself"),
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::cli::context::quoted;
    use crate::cli::errors::exit_code;

    #[test]
    fn quotes_keep_together_and_a_hash_begins_a_comment() {
        let words = |line: &str| split(line).unwrap();
        assert_eq!(words("  get   a/b "), ["get", "a/b"]);
        assert_eq!(
            words(r#"put x --attr 'tags:=["a"]'"#),
            ["put", "x", "--attr", r#"tags:=["a"]"#]
        );
        assert_eq!(words(r#""a \" b" c\ d ''"#), ["a \" b", "c d", ""]);
        assert_eq!(words("get a#b # not this"), ["get", "a#b"]);
        assert!(words("# nothing").is_empty() && words("").is_empty());
        assert_eq!(exit_code(&split("get 'a").unwrap_err()), 2);
        assert_eq!(exit_code(&split("get \"a\\").unwrap_err()), 2);
    }

    #[test]
    fn what_is_quoted_comes_out_as_it_was() {
        for word in ["a", "a b", "it's", "", "#x", "a\\b", "\"", "tab\there"] {
            assert_eq!(split(&quoted(Path::new(word))).unwrap(), [word], "{word}");
        }
    }
}
