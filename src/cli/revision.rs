//! A typed revision: read as a time if possible, else in one of the forms of the engine.
//!
//! # Layer
//! L10, part of cli.

use crate::engine::Revision;
use crate::error::Result;
use crate::object::Time;

/// Reads a revision. A text with a colon may be a time: no snapshot name holds a colon.
///
/// # Errors
/// `InvalidInput` if the text has none of the forms.
pub(crate) fn parse(text: &str) -> Result<Revision> {
    if text.contains(':')
        && let Ok(at) = text.parse::<Time>()
    {
        return Ok(Revision::Time(at));
    }
    Revision::parse(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        assert!(matches!(parse("@").unwrap(), Revision::Head));
        assert!(matches!(parse("@-3").unwrap(), Revision::Ancestor(3)));
        assert!(matches!(parse("snap:0").unwrap(), Revision::Ring(0)));
        assert!(matches!(parse("seq:7").unwrap(), Revision::Seq(7)));
        assert!(matches!(parse("before-refactor").unwrap(), Revision::Name(_)));
        assert!(matches!(parse("0123456789abcdef").unwrap(), Revision::Prefix(_)));
        assert!(matches!(
            parse("2026-11-21T10:00:00Z").unwrap(),
            Revision::Time(_)
        ));
        assert!(parse("snap:x").is_err());
        assert!(parse("").is_err());
    }
}
