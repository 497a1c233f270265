//! A reader of Lisp data in the form that a Lisp system prints.
//!
//! The reader supports lists, strings, symbols, keywords, numbers, characters, vectors and structures. It refuses every
//! reader macro that could run code or build a cycle, and reports the byte offset of the macro.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! - SNP-1: the reader never evaluates code, and builds only data that the file contains literally.
//! - SNP-2: the depth, the number of values and the memory are limited.

use std::fmt;

use serde_json::Value as Json;

/// A value of printed Lisp data.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Lisp {
    /// A list, a vector, or the fields of a structure as `:key value ...`. The symbol `NIL` is read as the empty list.
    List(Vec<Lisp>),
    /// A dotted list: at least one item, and the value after the dot.
    Dotted(Vec<Lisp>, Box<Lisp>),
    /// A string, a symbol in lower case without its package, or the name of a character.
    Word(String),
    /// A keyword in lower case, without its colon.
    Keyword(String),
    /// A number, or `true` for the symbol `T`.
    Scalar(Json),
}

impl Lisp {
    /// Returns the content of a string, or the name of a symbol or keyword.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Word(name) | Self::Keyword(name) => Some(name),
            _ => None,
        }
    }

    /// Returns the pairs of a list `:key value ...`, or of a list of pairs. Returns `None` for any other value.
    pub(super) fn into_pairs(self) -> Option<Vec<(String, Self)>> {
        match self {
            Self::List(items) if alternates(&items) => {
                let mut items = items.into_iter();
                let next = || Some((items.next()?.name()?.to_owned(), items.next()?));
                Some(std::iter::from_fn(next).collect())
            }
            Self::List(items) => items.into_iter().map(Self::into_pair).collect(),
            Self::Dotted(..) => Some(vec![self.into_pair()?]),
            _ => None,
        }
    }

    /// Returns the key and value of a pair. The value of `(key a b)` and of `(key . (a b))` is the list `(a b)`. The
    /// value of `(key a)` is `a`.
    pub(super) fn into_pair(self) -> Option<(String, Self)> {
        let (mut rest, tail) = match self {
            Self::Dotted(items, tail) => (items, Some(tail)),
            Self::List(items) if items.len() > 1 => (items, None),
            _ => return None,
        };
        let key = rest.remove(0).name()?.to_owned();
        let value = match (rest.len(), tail) {
            (0, Some(tail)) => *tail,
            (_, Some(tail)) => Self::Dotted(rest, tail),
            (1, None) => rest.remove(0),
            (_, None) => Self::List(rest),
        };
        Some((key, value))
    }

    /// Converts the value to JSON. `T` becomes true, `NIL` becomes null, and a list `:key value ...` becomes an object.
    pub(super) fn to_json(&self) -> Json {
        let array = |items: &mut dyn Iterator<Item = &Self>| items.map(Self::to_json).collect();
        match self {
            Self::List(items) if items.is_empty() => Json::Null,
            Self::List(items) if alternates(items) => {
                let (pairs, _) = items.as_chunks::<2>();
                let named = |[key, value]: &[Self; 2]| Some((key.name()?.to_owned(), value.to_json()));
                Json::Object(pairs.iter().filter_map(named).collect())
            }
            Self::List(items) => array(&mut items.iter()),
            Self::Dotted(items, tail) => array(&mut items.iter().chain([&**tail])),
            Self::Word(name) | Self::Keyword(name) => name.as_str().into(),
            Self::Scalar(json) => json.clone(),
        }
    }
}

/// Checks whether a list has the form `:key value ...`.
fn alternates(items: &[Lisp]) -> bool {
    let (pairs, rest) = items.as_chunks::<2>();
    let has_key = |[key, _]: &[Lisp; 2]| matches!(key, Lisp::Keyword(_));
    !pairs.is_empty() && rest.is_empty() && pairs.iter().all(has_key)
}

/// The maximum nesting depth of lists. The reader recurses, so a higher limit needs a larger stack.
pub(super) const DEPTH_MAX: usize = 64;
/// The maximum number of values in a file. Each list and each of its items counts.
pub(super) const VALUES_MAX: usize = 4_000_000;

named! {
    /// The reason why a file cannot be read.
    pub(super) enum Cause {
        Limit => "lists are nested too deep, or there are too many values",
        NotText => "the file is not text",
        Macro => "the file contains a reader macro, which is refused because reader macros can run code",
        Malformed => "the text is not valid Lisp data",
    }
}

/// The reason why a file cannot be read, and the byte offset of the fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LispError {
    pub(super) offset: usize,
    pub(super) cause: Cause,
}

impl fmt::Display for LispError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.cause)
    }
}

type Result<T> = std::result::Result<T, LispError>;

fn fail<T>(offset: usize, cause: Cause) -> Result<T> {
    Err(LispError { offset, cause })
}

fn malformed<T>(offset: usize) -> Result<T> {
    fail(offset, Cause::Malformed)
}

/// Reads a file, which must contain exactly one value.
pub(super) fn read(bytes: &[u8]) -> Result<Lisp> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return fail(error.valid_up_to(), Cause::NotText),
    };
    let (at, values) = (0, 0);
    let mut reader = Reader { text, at, values };
    let value = reader.value(0, 0)?;
    match reader.skip_space() {
        None => Ok(value),
        Some(_) => malformed(reader.at),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    values: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips white space, and returns the next character without consuming it.
    fn skip_space(&mut self) -> Option<char> {
        self.at = self.text.len() - self.rest().trim_start_matches(is_space).len();
        self.rest().chars().next()
    }

    /// Reads one value. `open` is the offset of the surrounding list. The error for a list without an end contains this
    /// offset.
    fn value(&mut self, depth: usize, open: usize) -> Result<Lisp> {
        let Some(sign) = self.skip_space() else {
            return malformed(open);
        };
        let start = self.at;
        let value = match sign {
            '(' => self.list(depth, 1)?,
            '\'' => {
                self.enter(depth, 1)?;
                let value = self.value(depth + 1, start)?;
                Lisp::List(vec![Lisp::Word("quote".to_owned()), value])
            }
            '"' => self.string()?,
            '#' => self.dispatch(depth)?,
            ')' => return malformed(start),
            '`' | ',' => return fail(start, Cause::Macro),
            _ => self.token()?,
        };
        self.values += 1;
        if self.values > VALUES_MAX {
            return fail(start, Cause::Limit);
        }
        Ok(value)
    }

    /// Reads a value that begins with a hash sign. Refuses everything except plain data (SNP-1).
    fn dispatch(&mut self, depth: usize) -> Result<Lisp> {
        let start = self.at;
        let mut signs = self.rest().chars().skip(1);
        match (signs.next(), signs.next()) {
            (Some('('), _) => match self.list(depth, 2)? {
                vector @ Lisp::List(_) => Ok(vector),
                _ => malformed(start),
            },
            (Some('S' | 's'), Some('(')) => match self.list(depth, 3)? {
                // A structure consists of a name, followed by `:key value` pairs.
                Lisp::List(mut items)
                    if matches!(items.first(), Some(Lisp::Word(_)))
                        && (items.len() == 1 || alternates(&items[1..])) =>
                {
                    items.remove(0);
                    Ok(Lisp::List(items))
                }
                _ => malformed(start),
            },
            (Some('\\'), Some(first)) => {
                // The first character after the backslash always belongs to the name, even if it usually ends a token.
                let name = &self.rest()[2..];
                let after = &name[first.len_utf8()..];
                let length = first.len_utf8() + after.find(ends_token).unwrap_or(after.len());
                self.at += 2 + length;
                Ok(Lisp::Word(name[..length].to_owned()))
            }
            (Some(':'), Some(_)) => {
                self.at += 2;
                self.token()
            }
            _ => fail(start, Cause::Macro),
        }
    }

    fn string(&mut self) -> Result<Lisp> {
        let (start, mut text) = (self.at, String::new());
        let mut signs = self.rest()[1..].char_indices();
        while let Some((at, sign)) = signs.next() {
            match sign {
                '"' => {
                    self.at += at + 2;
                    return Ok(Lisp::Word(text));
                }
                '\\' => text.extend(signs.next().map(|(_, escaped)| escaped)),
                _ => text.push(sign),
            }
        }
        malformed(start)
    }

    /// Skips the `length` bytes that open a list, after checking the limit of the depth (SNP-2).
    fn enter(&mut self, depth: usize, length: usize) -> Result<()> {
        if depth >= DEPTH_MAX {
            return fail(self.at, Cause::Limit);
        }
        self.at += length;
        Ok(())
    }

    /// Reads a list. The first `length` bytes end with its opening parenthesis. If the value after a dot is a list, its
    /// items are appended.
    fn list(&mut self, depth: usize, length: usize) -> Result<Lisp> {
        let start = self.at;
        self.enter(depth, length)?;
        let (mut items, mut tail) = (Vec::new(), None);
        loop {
            let sign = self.skip_space();
            let is_dot = sign == Some('.') && self.rest()[1..].chars().next().is_none_or(ends_token);
            match (sign, &tail) {
                (Some(')'), _) => break,
                (Some(_), Some(_)) => return malformed(self.at),
                (Some(_), None) if is_dot && !items.is_empty() => {
                    self.at += 1;
                    tail = Some(self.value(depth + 1, start)?);
                }
                _ => items.push(self.value(depth + 1, start)?),
            }
        }
        self.at += 1;
        Ok(match tail {
            None => Lisp::List(items),
            Some(Lisp::List(more)) => Lisp::List([items, more].concat()),
            Some(Lisp::Dotted(more, last)) => Lisp::Dotted([items, more].concat(), last),
            Some(tail) => Lisp::Dotted(items, Box::new(tail)),
        })
    }

    /// Reads a symbol, keyword or number.
    fn token(&mut self) -> Result<Lisp> {
        let (start, rest) = (self.at, self.rest());
        let (mut name, mut is_escaped, mut in_bars) = (String::new(), false, false);
        let mut signs = rest.char_indices();
        self.at = self.text.len();
        while let Some((at, sign)) = signs.next() {
            match sign {
                '\\' => {
                    is_escaped = true;
                    match signs.next() {
                        Some((_, escaped)) => name.push(escaped),
                        None => return malformed(start),
                    }
                }
                '|' => {
                    in_bars = !in_bars;
                    is_escaped = true;
                }
                _ if !in_bars && ends_token(sign) => {
                    self.at = start + at;
                    break;
                }
                _ => name.push(sign),
            }
        }
        if in_bars || (!is_escaped && name.bytes().all(|byte| byte == b'.')) {
            return malformed(start);
        }
        if let Some(keyword) = name.strip_prefix(':').filter(|_| rest.starts_with(':')) {
            return Ok(Lisp::Keyword(keyword.to_lowercase()));
        }
        if is_escaped {
            return Ok(Lisp::Word(name.to_lowercase()));
        }
        let symbol = name.rsplit(':').next().unwrap_or_default().to_lowercase();
        Ok(match (symbol.as_str(), number(&name)) {
            // A package prefix without a symbol is not valid.
            ("", _) => return malformed(start),
            (_, Some(number)) => Lisp::Scalar(number),
            ("nil", _) => Lisp::List(Vec::new()),
            ("t", _) => Lisp::Scalar(true.into()),
            _ => Lisp::Word(symbol),
        })
    }
}

fn is_space(sign: char) -> bool {
    matches!(sign, ' ' | '\t' | '\n' | '\r' | '\u{C}')
}

fn ends_token(sign: char) -> bool {
    is_space(sign) || matches!(sign, '(' | ')' | '"' | '\'' | ';' | '`' | ',')
}

/// Parses a token as a number. Returns `None` for ratios, and for numbers that are too large for JSON.
fn number(text: &str) -> Option<Json> {
    let is_sign = |byte: u8| byte == b'+' || byte == b'-';
    if text.bytes().all(|byte| byte.is_ascii_digit() || is_sign(byte)) || text.ends_with('.') {
        let whole: i64 = text.strip_suffix('.').unwrap_or(text).parse().ok()?;
        return Some(whole.into());
    }
    let text = text.replace(['E', 'S', 'F', 'D', 'L', 's', 'f', 'd', 'l'], "e");
    let float: f64 = text.parse().ok()?;
    (float.is_finite() && text.contains(|sign: char| sign.is_ascii_digit())).then(|| float.into())
}
