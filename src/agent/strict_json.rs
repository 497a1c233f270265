//! Reads JSON from outside that may be nested as deep as its sender likes, and finds where JSON within a text ends.
//!
//! # Layer
//! L7, inside `agent`. Pure.
//!
//! # Invariants
//! - SJS-1: what is nested deeper than allowed reaches no parser.

use serde_json::Value as Json;

use crate::ingest::json::parse_once;

/// Why a text is not taken for JSON.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum JsonError {
    /// It is not one JSON value.
    NotJson,
    /// It is nested too deep.
    TooDeep {
        /// The most there may be.
        depth_max: usize,
    },
    /// A key stands twice in one object, so that two readers could see two different values.
    KeyTwice(String),
}

/// The brackets outside of strings: where each one ends, and how many are open then. All kinds count alike.
fn brackets(text: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    text.iter().enumerate().filter_map(move |(at, byte)| {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                return Some((at + 1, depth));
            }
            b']' | b'}' if !in_string => {
                depth = depth.saturating_sub(1);
                return Some((at + 1, depth));
            }
            _ => {}
        }
        None
    })
}

/// The length of the brackets that start `text`, up to the one that closes the first.
pub(crate) fn balanced_end(text: &[u8]) -> Option<usize> {
    let mut closed = brackets(text).filter(|(_, depth)| *depth == 0);
    closed.next().map(|(end, _)| end)
}

/// Reads one JSON value.
///
/// # Errors
/// Why it cannot be kept as it is written.
pub(crate) fn parse(text: &str, depth_max: usize) -> Result<Json, JsonError> {
    // SJS-1.
    if brackets(text.as_bytes()).any(|(_, depth)| depth > depth_max) {
        return Err(JsonError::TooDeep { depth_max });
    }
    parse_once(text).map_err(|refused| refused.key_twice.map_or(JsonError::NotJson, JsonError::KeyTwice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sjs_1_depth_is_counted_outside_of_strings() {
        assert_eq!(parse("[[1]]", 1), Err(JsonError::TooDeep { depth_max: 1 }));
        assert!(parse("[\"[[[\\\"[[\"]", 1).is_ok());
        assert_eq!(parse("[\"[[", 1), Err(JsonError::NotJson));
        assert_eq!(
            parse("{\"a\":{\"b\":1,\"b\":2}}", 9),
            Err(JsonError::KeyTwice("b".into()))
        );
        assert_eq!(parse("1 2", 9), Err(JsonError::NotJson));
    }

    #[test]
    fn every_kind_of_value_is_read_as_it_is() {
        let text = "{\"b\":[null,true,-5,18446744073709551615,1.5,\"x\\u0041\"],\"a\":{}}";
        let read = parse(text, 9).unwrap();
        assert_eq!(read, serde_json::from_str::<Json>(text).unwrap());
        assert_eq!(
            read.to_string(),
            "{\"b\":[null,true,-5,18446744073709551615,1.5,\"xA\"],\"a\":{}}"
        );
    }

    #[test]
    fn brackets_are_matched() {
        let length = |text: &str| balanced_end(text.as_bytes());
        assert_eq!(
            (length("[a]b]"), length("{\"}\"}"), length("[{]"), length("x")),
            (Some(3), Some(5), None, None)
        );
    }
}
