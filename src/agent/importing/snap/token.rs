//! Symbols, keywords and numbers of printed Lisp data.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use super::{LispValue, SnapReason};

/// Whether `sign` ends a token.
pub(super) fn ends_token(sign: char) -> bool {
    is_space(sign) || matches!(sign, '(' | ')' | '"' | '\'' | ';' | '`' | ',')
}

/// White space of the Lisp reader.
pub(super) fn is_space(sign: char) -> bool {
    matches!(sign, ' ' | '\t' | '\n' | '\r' | '\u{C}')
}

/// What stands at the beginning of a text.
pub(super) enum Token {
    /// A value.
    Value(LispValue),
    /// A stop alone.
    Dot,
}

/// Reads the token that starts `text`, and says how many bytes it has.
pub(super) fn token(text: &str) -> Result<(Token, usize), SnapReason> {
    let mut name = String::new();
    let (mut is_escaped, mut in_bars) = (false, false);
    let mut signs = text.char_indices();
    let mut end = text.len();
    // Where the last colon outside of escapes is, in the name.
    let mut colon = None;
    while let Some((at, sign)) = signs.next() {
        match sign {
            '\\' => {
                let (_, escaped) = signs.next().ok_or(SnapReason::Open)?;
                name.push(escaped);
                is_escaped = true;
            }
            '|' => {
                in_bars = !in_bars;
                is_escaped = true;
            }
            _ if in_bars => name.push(sign),
            _ if ends_token(sign) => {
                end = at;
                break;
            }
            ':' => {
                colon = Some(name.len());
                name.push(':');
            }
            _ => name.push(sign.to_ascii_uppercase()),
        }
    }
    if in_bars {
        return Err(SnapReason::Open);
    }
    if !is_escaped {
        if name == "." {
            return Ok((Token::Dot, end));
        }
        if name.bytes().all(|byte| byte == b'.') {
            return Err(SnapReason::Token);
        }
        if let Some(number) = number(&name) {
            return Ok((Token::Value(number), end));
        }
    }
    let value = match colon {
        Some(0) => LispValue::Keyword(name.split_off(1)),
        // A package without a name in it names nothing.
        Some(at) if at + 1 == name.len() && !is_escaped => return Err(SnapReason::Token),
        None if name == "NIL" && !is_escaped => LispValue::List(Vec::new()),
        _ => LispValue::Symbol(name),
    };
    Ok((Token::Value(value), end))
}

/// The number that a token without escapes is, if it is one.
fn number(text: &str) -> Option<LispValue> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    // A stop after a whole number says that it is decimal.
    if is_digits(digits.strip_suffix('.').unwrap_or(digits)) {
        let text = text.strip_suffix('.').unwrap_or(text);
        return Some(match text.parse() {
            Ok(number) => LispValue::Integer(number),
            Err(_) => LispValue::Number(text.to_owned()),
        });
    }
    if let Some((above, below)) = digits.split_once('/') {
        return (is_digits(above) && is_digits(below)).then(|| LispValue::Number(text.to_owned()));
    }
    let (mantissa, exponent) = match digits.find(['E', 'S', 'F', 'D', 'L']) {
        Some(at) => (&digits[..at], Some(&digits[at + 1..])),
        None => (digits, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_mantissa = (whole.is_empty() || is_digits(whole))
        && (fraction.is_empty() || is_digits(fraction))
        && (is_digits(fraction) || (is_digits(whole) && exponent.is_some()));
    let is_exponent =
        exponent.is_none_or(|exponent| is_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)));
    if !is_mantissa || !is_exponent {
        return None;
    }
    let sign = if text.starts_with('-') { "-" } else { "" };
    let plain = format!("{sign}{mantissa}e{}", exponent.unwrap_or("0"));
    let float = plain.parse::<f64>().ok().filter(|float| float.is_finite());
    Some(float.map_or_else(|| LispValue::Number(text.to_owned()), LispValue::Float))
}
