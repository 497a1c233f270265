//! Reads printed Lisp data with a stack of its own.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use super::token::{Token, ends_token, is_space, token};
use super::{LispValue, SnapError, SnapLimits, SnapReason};

/// The most that `depth_max` counts for.
const DEPTH_CAP: usize = 256;

/// Characters by their printed names, in lower case.
const CHARACTERS: [(&str, char); 12] = [
    ("space", ' '),
    ("newline", '\n'),
    ("linefeed", '\n'),
    ("tab", '\t'),
    ("return", '\r'),
    ("page", '\u{C}'),
    ("backspace", '\u{8}'),
    ("rubout", '\u{7F}'),
    ("nul", '\0'),
    ("null", '\0'),
    ("escape", '\u{1B}'),
    ("no-break_space", '\u{A0}'),
];

/// Reads the only value of a file.
///
/// # Errors
/// A [`SnapError`] with the byte at which reading ended.
pub fn read_value(bytes: &[u8], limits: &SnapLimits) -> Result<LispValue, SnapError> {
    let at = |offset, reason| SnapError { offset, reason };
    if bytes.len() > limits.bytes_max {
        return Err(at(limits.bytes_max, SnapReason::TooLong));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| at(error.valid_up_to(), SnapReason::NotText))?;
    let mut reader = Reader {
        text,
        at: 0,
        stack: Vec::new(),
        values: 0,
        limits,
        result: None,
    };
    while reader.step().map_err(|(offset, reason)| at(offset, reason))? {}
    if let Some(open) = reader.stack.last() {
        return Err(at(open.offset, SnapReason::Open));
    }
    reader.result.ok_or(at(0, SnapReason::Empty))
}

/// What a list that is not yet closed will be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    List,
    Vector,
    Structure,
    /// `'x`: the next value makes it whole.
    Quoted,
}

/// A list that is not yet closed.
struct Open {
    shape: Shape,
    offset: usize,
    items: Vec<LispValue>,
    tail: Tail,
}

/// What follows the stop of a list.
enum Tail {
    /// There was no stop.
    Absent,
    /// There was a stop and nothing yet after it.
    Awaited,
    /// The last value.
    Value(LispValue),
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    stack: Vec<Open>,
    values: usize,
    limits: &'a SnapLimits,
    result: Option<LispValue>,
}

type Failure = (usize, SnapReason);

impl Reader<'_> {
    /// Reads one token, parenthesis or comment; false at the end.
    fn step(&mut self) -> Result<bool, Failure> {
        let rest = &self.text[self.at..];
        let Some(sign) = rest.chars().next() else {
            return Ok(false);
        };
        let start = self.at;
        let fail = |reason| Err((start, reason));
        match sign {
            _ if is_space(sign) => self.at += sign.len_utf8(),
            ';' => self.at += rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("#|") => self.skip_comment()?,
            _ if self.result.is_some() && self.stack.is_empty() => return fail(SnapReason::Trailing),
            '(' => self.open(Shape::List, 1)?,
            ')' => self.close()?,
            '\'' => self.open(Shape::Quoted, 1)?,
            '"' => self.text()?,
            '`' | ',' => return fail(SnapReason::Refused(sign.to_string())),
            '#' => self.dispatch(rest)?,
            _ => {
                let (token, length) = token(rest).map_err(|reason| (start, reason))?;
                self.at += length;
                match token {
                    Token::Value(value) => self.put(value, start)?,
                    Token::Dot => self.dot(start)?,
                }
            }
        }
        Ok(true)
    }

    /// What begins with a hash sign. SNP-1: whatever is not known to be plain data is refused.
    fn dispatch(&mut self, rest: &str) -> Result<(), Failure> {
        let start = self.at;
        let mut signs = rest.chars().skip(1);
        match (signs.next(), signs.next()) {
            (Some('('), _) => self.open(Shape::Vector, 2),
            (Some('S' | 's'), Some('(')) => self.open(Shape::Structure, 3),
            (Some('\\'), Some(first)) => {
                // The first sign belongs to the character, even if it would end a token.
                let name = &rest[2..];
                let after = &name[first.len_utf8()..];
                let length = first.len_utf8() + after.find(ends_token).unwrap_or(after.len());
                self.at += 2 + length;
                let sign = character(&name[..length]).ok_or((start, SnapReason::Character))?;
                self.put(LispValue::Character(sign), start)
            }
            (Some(':'), Some(_)) => {
                let (token, length) = token(&rest[2..]).map_err(|reason| (start, reason))?;
                self.at += 2 + length;
                match token {
                    Token::Value(LispValue::Symbol(name)) => self.put(LispValue::Symbol(name), start),
                    _ => Err((start, SnapReason::Token)),
                }
            }
            (sign, _) => {
                let shown: String = ['#'].into_iter().chain(sign).collect();
                Err((start, SnapReason::Refused(shown)))
            }
        }
    }

    /// A comment in bars, in which others may stand.
    fn skip_comment(&mut self) -> Result<(), Failure> {
        let (start, bytes) = (self.at, self.text.as_bytes());
        let mut depth = 0_usize;
        while let Some(pair) = bytes.get(self.at..self.at + 2) {
            let step = match pair {
                b"#|" => {
                    depth += 1;
                    2
                }
                b"|#" => {
                    depth -= 1;
                    2
                }
                _ => 1,
            };
            self.at += step;
            if depth == 0 {
                return Ok(());
            }
        }
        Err((start, SnapReason::Open))
    }

    fn text(&mut self) -> Result<(), Failure> {
        let start = self.at;
        let mut text = String::new();
        let mut signs = self.text[start + 1..].char_indices();
        while let Some((at, sign)) = signs.next() {
            match sign {
                '"' => {
                    self.at = start + 1 + at + 1;
                    return self.put(LispValue::Text(text), start);
                }
                '\\' => match signs.next() {
                    Some((_, escaped)) => text.push(escaped),
                    None => break,
                },
                _ => text.push(sign),
            }
        }
        Err((start, SnapReason::Open))
    }

    fn open(&mut self, shape: Shape, length: usize) -> Result<(), Failure> {
        // SNP-2.
        if self.stack.len() >= self.limits.depth_max.min(DEPTH_CAP) {
            return Err((self.at, SnapReason::TooDeep));
        }
        self.stack.push(Open {
            shape,
            offset: self.at,
            items: Vec::new(),
            tail: Tail::Absent,
        });
        self.at += length;
        Ok(())
    }

    fn dot(&mut self, start: usize) -> Result<(), Failure> {
        match self.stack.last_mut() {
            Some(open) if can_have_tail(open) => {
                open.tail = Tail::Awaited;
                Ok(())
            }
            _ => Err((start, SnapReason::Dot)),
        }
    }

    fn close(&mut self) -> Result<(), Failure> {
        let start = self.at;
        let open = self.stack.pop().ok_or((start, SnapReason::Closes))?;
        self.at += 1;
        let value = match (open.shape, open.tail) {
            (Shape::List | Shape::Vector, Tail::Absent) => LispValue::List(open.items),
            (Shape::List, Tail::Value(tail)) => with_tail(open.items, tail),
            (Shape::List, Tail::Awaited) => return Err((start, SnapReason::Dot)),
            (Shape::Structure, _) => structure(open.items).ok_or((open.offset, SnapReason::Structure))?,
            (Shape::Vector | Shape::Quoted, _) => return Err((start, SnapReason::Closes)),
        };
        self.put(value, open.offset)
    }

    /// Puts a value where it belongs.
    fn put(&mut self, value: LispValue, start: usize) -> Result<(), Failure> {
        self.values += 1;
        if self.values > self.limits.values_max {
            return Err((start, SnapReason::TooMany));
        }
        let mut value = value;
        // A quote is whole with its value, and may be quoted itself.
        while self.stack.last().is_some_and(|open| open.shape == Shape::Quoted) {
            self.stack.pop();
            value = LispValue::List(vec![LispValue::Symbol("QUOTE".to_owned()), value]);
        }
        match self.stack.last_mut() {
            None => self.result = Some(value),
            Some(open) => match &mut open.tail {
                Tail::Absent => open.items.push(value),
                tail @ Tail::Awaited => *tail = Tail::Value(value),
                Tail::Value(_) => return Err((start, SnapReason::Dot)),
            },
        }
        Ok(())
    }
}

fn can_have_tail(open: &Open) -> bool {
    open.shape == Shape::List && matches!(open.tail, Tail::Absent) && !open.items.is_empty()
}

/// A list and what follows its stop; if that is a list, both are one.
fn with_tail(mut items: Vec<LispValue>, tail: LispValue) -> LispValue {
    match tail {
        LispValue::List(more) => {
            items.extend(more);
            LispValue::List(items)
        }
        LispValue::Dotted(more, last) => {
            items.extend(more);
            LispValue::Dotted(items, last)
        }
        tail => LispValue::Dotted(items, Box::new(tail)),
    }
}

/// A name, then keywords and values by turns.
fn structure(items: Vec<LispValue>) -> Option<LispValue> {
    let mut items = items.into_iter();
    let Some(LispValue::Symbol(name)) = items.next() else {
        return None;
    };
    let mut fields = Vec::new();
    while let Some(key) = items.next() {
        match (key, items.next()) {
            (LispValue::Keyword(key), Some(value)) => fields.push((key, value)),
            _ => return None,
        }
    }
    Some(LispValue::Structure(name, fields))
}

fn character(name: &str) -> Option<char> {
    let mut signs = name.chars();
    if let (Some(only), None) = (signs.next(), signs.next()) {
        return Some(only);
    }
    let lower = name.to_lowercase();
    let known = CHARACTERS
        .iter()
        .find(|(known, _)| *known == lower)
        .map(|(_, sign)| *sign);
    // `U+20AC` and the like, as printed for what has no name.
    known.or_else(|| {
        let digits = lower.strip_prefix("u+").or_else(|| lower.strip_prefix('u'))?;
        char::from_u32(u32::from_str_radix(digits, 16).ok()?)
    })
}
