//! A reader of printed Lisp data.
//!
//! The reader knows lists, texts, symbols, keywords, numbers, characters, vectors and structures. It refuses every
//! reader macro that could run code or build a cycle, and reports its byte offset.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! - SNP-1: the reader evaluates nothing, and builds only data that the file spells out.
//! - SNP-2: the limits bound depth, number of values and memory.

use std::fmt;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value as Json};

/// A value of printed Lisp data.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Lisp {
    /// A list, a vector, or the fields of a structure `:key value ...`; the empty list is also the symbol `NIL`.
    List(Vec<Lisp>),
    /// A dotted list: at least one item, and the value after the dot.
    Dotted(Vec<Lisp>, Box<Lisp>),
    /// A text, or a symbol in lower case without its package.
    Word(String),
    /// A keyword in lower case, without its colon.
    Keyword(String),
    /// The symbol `T`.
    True,
    /// A number or a character.
    Scalar(Json),
}

impl Lisp {
    /// Whether this is the empty list, which also means false.
    pub(super) fn is_nil(&self) -> bool {
        matches!(self, Self::List(items) if items.is_empty())
    }

    /// Returns the content of a text, or the name of a symbol.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Word(name) | Self::Keyword(name) => Some(name),
            Self::True => Some("t"),
            _ => None,
        }
    }

    /// Returns the pairs of a list `:key value ...`, or of a list of pairs.
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

    /// Returns the key and value of a pair. The value of `(key a b)` and of `(key . (a b))` is the list `(a b)`; that
    /// of `(key a)` is `a`.
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

    /// Returns the value as JSON: `T` is true, `NIL` is null, lists `:key value ...` are objects.
    pub(super) fn to_json(&self) -> Json {
        let array = |items: &mut dyn Iterator<Item = &Self>| items.map(Self::to_json).collect();
        match self {
            Self::List(items) if items.is_empty() => Json::Null,
            Self::List(items) if alternates(items) => {
                let (pairs, _) = items.as_chunks::<2>();
                let named = |[key, value]: &[Self; 2]| Some((key.name()?.to_owned(), value.to_json()));
                let object: Map<String, Json> = pairs.iter().filter_map(named).collect();
                // A list with a repeated key becomes a plain list.
                if object.len() == pairs.len() {
                    Json::Object(object)
                } else {
                    array(&mut items.iter())
                }
            }
            Self::List(items) => array(&mut items.iter()),
            Self::Dotted(items, tail) => array(&mut items.iter().chain([&**tail])),
            Self::Word(name) | Self::Keyword(name) => name.as_str().into(),
            Self::True => true.into(),
            Self::Scalar(json) => json.clone(),
        }
    }
}

/// Whether keywords and values alternate in a list.
fn alternates(items: &[Lisp]) -> bool {
    let (pairs, rest) = items.as_chunks::<2>();
    let has_key = |[key, _]: &[Lisp; 2]| matches!(key, Lisp::Keyword(_));
    !pairs.is_empty() && rest.is_empty() && pairs.iter().all(has_key)
}

/// The limits of the reader.
#[derive(Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "limits name the largest value allowed")]
pub(super) struct Limits {
    /// The most bytes of a file.
    pub(super) bytes_max: usize,
    /// The deepest nesting of lists. The reader recurses, so more than 64 needs a larger stack.
    pub(super) depth_max: usize,
    /// The most values in a file, where each list and each of its parts counts.
    pub(super) values_max: usize,
}

/// The limits of an import.
pub(super) const LIMITS: Limits = Limits {
    bytes_max: 256 * 1024 * 1024,
    depth_max: 64,
    values_max: 4_000_000,
};

/// The reason why a file cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cause {
    /// It is beyond a limit.
    Limit,
    /// It is not UTF-8.
    NotText,
    /// It holds a reader macro that could evaluate, or that printed data never needs.
    Macro,
    /// It is not printed data.
    Malformed,
}

/// The reason why a file cannot be read, and the byte offset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LispError {
    pub(super) offset: usize,
    pub(super) cause: Cause,
    what: String,
}

impl fmt::Display for LispError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.what)
    }
}

type Result<T> = std::result::Result<T, LispError>;

fn fail<T>(offset: usize, cause: Cause, what: impl Into<String>) -> Result<T> {
    let what = what.into();
    Err(LispError { offset, cause, what })
}

fn malformed<T>(offset: usize, what: &str) -> Result<T> {
    fail(offset, Cause::Malformed, what)
}

fn refused<T>(offset: usize, sign: &str) -> Result<T> {
    let what = format!("`{sign}` is refused: data is read, never evaluated");
    fail(offset, Cause::Macro, what)
}

const OPEN: &str = "a list, text, name or comment that begins here has no end";
const DOT: &str = "a dot is in the wrong place";
const TOKEN: &str = "a symbol or number is malformed";

/// Reads the only value of a file.
pub(super) fn read(bytes: &[u8], limits: Limits) -> Result<Lisp> {
    if bytes.len() > limits.bytes_max {
        return fail(limits.bytes_max, Cause::Limit, "the file is too long");
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return fail(error.valid_up_to(), Cause::NotText, "the file is not text"),
    };
    let mut reader = Reader {
        text,
        at: 0,
        values: 0,
        limits,
    };
    if reader.skip_space()?.is_none() {
        return malformed(0, "the file holds no value");
    }
    let value = reader.value(0, 0)?;
    match reader.skip_space()? {
        None => Ok(value),
        Some(_) => malformed(reader.at, "there is more data after the value"),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    values: usize,
    limits: Limits,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips white space and comments, and returns the character after them.
    fn skip_space(&mut self) -> Result<Option<char>> {
        while let Some(sign) = self.rest().chars().next() {
            match sign {
                ';' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                '#' if self.rest().starts_with("#|") => self.skip_comment()?,
                _ if is_space(sign) => self.at += 1,
                _ => return Ok(Some(sign)),
            }
        }
        Ok(None)
    }

    /// Skips a comment in bars, which may contain others.
    fn skip_comment(&mut self) -> Result<()> {
        let (start, mut depth) = (self.at, 0_usize);
        while let Some(pair) = self.text.as_bytes().get(self.at..self.at + 2) {
            let (step, change) = match pair {
                b"#|" => (2, 1),
                b"|#" => (2, -1),
                _ => (1, 0),
            };
            self.at += step;
            depth = depth.saturating_add_signed(change);
            if depth == 0 {
                return Ok(());
            }
        }
        malformed(start, OPEN)
    }

    /// Reads one value. `open` is the start of the surrounding list.
    fn value(&mut self, depth: usize, open: usize) -> Result<Lisp> {
        let Some(sign) = self.skip_space()? else {
            return malformed(open, OPEN);
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
            ')' => return malformed(start, "a closing parenthesis has no opening one"),
            '`' | ',' => return refused(start, sign.encode_utf8(&mut [0; 4])),
            _ => self.token()?,
        };
        self.values += 1;
        if self.values > self.limits.values_max {
            return fail(start, Cause::Limit, "there are too many values");
        }
        Ok(value)
    }

    /// Reads a value that begins with a hash sign. Everything except plain data is refused (SNP-1).
    fn dispatch(&mut self, depth: usize) -> Result<Lisp> {
        let start = self.at;
        let mut signs = self.rest().chars().skip(1);
        match (signs.next(), signs.next()) {
            (Some('('), _) => match self.list(depth, 2)? {
                vector @ Lisp::List(_) => Ok(vector),
                _ => malformed(start, DOT),
            },
            (Some('S' | 's'), Some('(')) => match self.list(depth, 3)? {
                Lisp::List(mut items)
                    if matches!(items.first(), Some(Lisp::Word(_)))
                        && (items.len() == 1 || alternates(&items[1..])) =>
                {
                    items.remove(0);
                    Ok(Lisp::List(items))
                }
                _ => malformed(start, "a structure has no name, or a field without a value"),
            },
            (Some('\\'), Some(first)) => {
                // The first character belongs to the name, even if it would end a token elsewhere.
                let name = &self.rest()[2..];
                let after = &name[first.len_utf8()..];
                let length = first.len_utf8() + after.find(ends_token).unwrap_or(after.len());
                self.at += 2 + length;
                match character(&name[..length]) {
                    Some(sign) => Ok(Lisp::Scalar(sign.to_string().into())),
                    None => malformed(start, "the name of a character is unknown"),
                }
            }
            (Some(':'), Some(_)) => {
                self.at += 2;
                match self.token()? {
                    symbol @ Lisp::Word(_) => Ok(symbol),
                    _ => malformed(start, TOKEN),
                }
            }
            (sign, _) => refused(start, &['#'].into_iter().chain(sign).collect::<String>()),
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
        malformed(start, OPEN)
    }

    /// Enters a list, and checks the limits (SNP-2).
    fn enter(&mut self, depth: usize, length: usize) -> Result<()> {
        if depth >= self.limits.depth_max {
            return fail(self.at, Cause::Limit, "lists are nested too deep");
        }
        self.at += length;
        Ok(())
    }

    /// Reads a list whose opening parenthesis is the last of `length` bytes. A list after a dot continues the items.
    fn list(&mut self, depth: usize, length: usize) -> Result<Lisp> {
        let start = self.at;
        self.enter(depth, length)?;
        let (mut items, mut tail) = (Vec::new(), None);
        loop {
            let sign = self.skip_space()?;
            let is_dot = sign == Some('.') && self.rest()[1..].chars().next().is_none_or(ends_token);
            match (sign, &tail) {
                (Some(')'), _) => break,
                (Some(_), Some(_)) => return malformed(self.at, DOT),
                (Some(_), None) if is_dot && !items.is_empty() => {
                    self.at += 1;
                    if self.skip_space()? == Some(')') {
                        return malformed(self.at, DOT);
                    }
                    tail = Some(self.value(depth + 1, start)?);
                }
                _ => items.push(self.value(depth + 1, start)?),
            }
        }
        self.at += 1;
        match tail {
            None => {}
            Some(Lisp::List(more)) => items.extend(more),
            Some(Lisp::Dotted(more, last)) => {
                items.extend(more);
                return Ok(Lisp::Dotted(items, last));
            }
            Some(tail) => return Ok(Lisp::Dotted(items, Box::new(tail))),
        }
        Ok(Lisp::List(items))
    }

    /// Reads a symbol, keyword or number.
    fn token(&mut self) -> Result<Lisp> {
        let (start, rest) = (self.at, self.rest());
        let (mut name, mut is_escaped, mut in_bars) = (String::new(), false, false);
        // The position of the last unescaped colon.
        let mut colon = None;
        let mut signs = rest.char_indices();
        self.at = self.text.len();
        while let Some((at, sign)) = signs.next() {
            match sign {
                '\\' => {
                    is_escaped = true;
                    match signs.next() {
                        Some((_, escaped)) => name.push(escaped),
                        None => return malformed(start, OPEN),
                    }
                }
                '|' => {
                    in_bars = !in_bars;
                    is_escaped = true;
                }
                _ if in_bars => name.push(sign),
                _ if ends_token(sign) => {
                    self.at = start + at;
                    break;
                }
                _ => {
                    if sign == ':' {
                        colon = Some(name.len());
                    }
                    name.push(sign);
                }
            }
        }
        if in_bars {
            return malformed(start, OPEN);
        }
        if !is_escaped {
            if name == "." {
                return malformed(start, DOT);
            }
            if name.bytes().all(|byte| byte == b'.') {
                return malformed(start, TOKEN);
            }
            if let Some(number) = number(&name) {
                return Ok(Lisp::Scalar(number));
            }
        }
        Ok(match colon {
            Some(0) => Lisp::Keyword(name[1..].to_lowercase()),
            // A package without a symbol after it is not valid.
            Some(at) if at + 1 == name.len() && !is_escaped => return malformed(start, TOKEN),
            None if !is_escaped && name.eq_ignore_ascii_case("nil") => Lisp::List(Vec::new()),
            None if !is_escaped && name.eq_ignore_ascii_case("t") => Lisp::True,
            _ => Lisp::Word(name[name.rfind(':').map_or(0, |at| at + 1)..].to_lowercase()),
        })
    }
}

fn is_space(sign: char) -> bool {
    matches!(sign, ' ' | '\t' | '\n' | '\r' | '\u{C}')
}

fn ends_token(sign: char) -> bool {
    is_space(sign) || matches!(sign, '(' | ')' | '"' | '\'' | ';' | '`' | ',')
}

/// Returns the character of a printed name, for example `a`, `Space` or `U+20AC`.
fn character(name: &str) -> Option<char> {
    let mut signs = name.chars();
    if let (Some(only), None) = (signs.next(), signs.next()) {
        return Some(only);
    }
    let lower = name.to_lowercase();
    Some(match &*lower {
        "space" => ' ',
        "newline" | "linefeed" => '\n',
        "tab" => '\t',
        "return" => '\r',
        "page" => '\u{C}',
        "backspace" => '\u{8}',
        "rubout" => '\u{7F}',
        "nul" | "null" => '\0',
        "escape" => '\u{1B}',
        "no-break_space" => '\u{A0}',
        _ => {
            let digits = lower.strip_prefix("u+").or_else(|| lower.strip_prefix('u'))?;
            return char::from_u32(u32::from_str_radix(digits, 16).ok()?);
        }
    })
}

/// Whole numbers, ratios, and floats with their mantissa and exponent.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"^(?:([+-]?[0-9]+)\.?|[+-]?[0-9]+/[0-9]+|([+-]?[0-9]*\.[0-9]+|[+-]?[0-9]+\.?)(?:[ESFDLesfdl]([+-]?[0-9]+))?)$";
    Regex::new(pattern).expect("the pattern is valid")
});

/// Returns the number of a token without escapes, as text if JSON cannot represent it.
fn number(text: &str) -> Option<Json> {
    let parts = NUMBER.captures(text)?;
    if let Some(whole) = parts.get(1) {
        let whole = whole.as_str();
        return Some(whole.parse::<i64>().map_or_else(|_| whole.into(), Json::from));
    }
    let float = parts.get(2).and_then(|mantissa| {
        let exponent = parts.get(3).map_or("0", |exponent| exponent.as_str());
        let float: f64 = format!("{}e{exponent}", mantissa.as_str()).parse().ok()?;
        float.is_finite().then_some(float)
    });
    Some(float.map_or_else(|| text.to_uppercase().into(), Json::from))
}
