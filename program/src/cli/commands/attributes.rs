//! Parses attributes that the user types: `name=text` or `name:=JSON`.
//!
//! # Layer
//! Layer 10, part of cli. Pure.

use super::prelude::*;
use treering::Value;
use treering::inspect::ingest::json as lines;

/// Parses an attribute in the form `name=text` or `name:=JSON`.
pub(super) fn attribute(text: &str) -> Result<(String, Value)> {
    let at = text.find('=').ok_or_else(|| {
        let message = format!("--attr {}: the '=' is missing", one_line(text));
        usage_error(message, "write name=text, or name:=JSON")
    })?;
    let (name, value) = (&text[..at], &text[at + 1..]);
    match name.strip_suffix(':') {
        None => Ok((name.to_owned(), Value::Text(value.to_owned()))),
        Some(name) => {
            let json = lines::parse(value).map_err(|error| error.context(format_args!("--attr {name}")))?;
            Ok((name.to_owned(), lines::value_from_json(json)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::errors::exit_code;

    #[test]
    fn attributes_are_text_or_json() {
        let read = |text| attribute(text).unwrap();
        assert_eq!(read("a=b=c"), ("a".into(), Value::Text("b=c".into())));
        assert_eq!(read("a="), ("a".into(), Value::Text(String::new())));
        assert_eq!(read("a:=7"), ("a".into(), Value::Integer(7)));
        assert_eq!(read("a:=\"x=y\""), ("a".into(), Value::Text("x=y".into())));
        assert_eq!(read("a:=null"), ("a".into(), Value::Null));
        assert_eq!(read("a=b:=c"), ("a".into(), Value::Text("b:=c".into())));
        assert_eq!(exit_code(&attribute("a").unwrap_err()), 2);
        for refused in ["a:={", "a:=", "a:={\"k\":1,\"k\":2}", "a:=99999999999999999999"] {
            assert_eq!(exit_code(&attribute(refused).unwrap_err()), 1, "{refused}");
        }
    }
}
