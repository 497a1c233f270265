//! Finds credentials in a text and replaces them by keyed markers.
//!
//! A marker, `[REDACTED:kind:0123abcd]`, divides the text, and the scan reads the text before and after it separately.
//! So the text around a marker never forms a new secret, and redacting twice gives the same result as redacting once.
//!
//! The rules read the text, and its decoded copies ([`views`]): without invisible characters, in usual width, without
//! escapes, out of base64, and with broken tokens joined. A secret in a copy is reported where it is in the text.
//!
//! # Layer
//! Pure: outside `scan` it imports only the keyed digest.

mod check;
mod marker;
mod mnemonic;
mod names;
mod near;
mod redact;
#[cfg(test)]
mod tests;
mod values;
mod views;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use self::check::{BEFORE_MAX, check};
use self::mnemonic::is_mnemonic_line;
use self::values::surprise;
use super::encoding::{self, Unescaped};
use super::finding::{Finding, Severity};
use super::parts::parts;
use super::rules::{self, Check, Rule};

pub use self::marker::MarkerKey;
pub(in crate::scan) use self::marker::marker;
pub(in crate::scan) use self::redact::redact;

/// The maximal number of layers that are decoded.
const DEPTH_MAX: usize = 3;
/// The number of bytes around an escape that are searched once more, decoded.
const AROUND: usize = 512;

/// The attribute that names a session.
const SESSION: &str = "session";

/// A secret and the position of its rule. If two secrets have the same span, the earlier rule is used.
type Candidate = (usize, Finding);

/// Returns the secrets of `text` in order. No secret is inside another secret.
pub(in crate::scan) fn find(text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for part in marker::between(text) {
        let (start, part) = (part.start, &text[part]);
        let mut here = Vec::new();
        find_at_depth(part, 0, &mut here);
        found.extend(
            here.into_iter()
                .map(|(rank, secret)| (rank, secret.shifted(start))),
        );
    }
    without_nested(found)
}

/// Returns the first secret in the value of the attribute `name`.
pub(in crate::scan) fn find_named(name: &str, value: &str) -> Option<Finding> {
    // The name of a session is no cookie, although most programs make both in one form.
    if name == SESSION {
        return None;
    }
    let start = name.len() + 1;
    let text = format!("{name}={value}");
    let found = find(&text).into_iter().find(|secret| secret.span.end > start)?;
    let span = found.span.start.max(start) - start..found.span.end - start;
    Some(Finding { span, ..found })
}

/// Finds the secrets of `text`, and of its decoded copies.
fn find_at_depth(text: &str, depth: usize, found: &mut Vec<Candidate>) {
    find_plain(text, found);
    find_mnemonics(text, found);
    views::each_broken_token(text, |pieces| find_broken(text, pieces, found));
    if depth == DEPTH_MAX {
        return;
    }
    if let Some(copy) = views::visible(text) {
        for part in copy.dense(1, AROUND) {
            find_in(&copy, part, text, depth + 1, found);
        }
    }
    if encoding::may_have_escapes(text) {
        let copy = encoding::unescape_signs(text);
        for part in copy.dense(1, AROUND) {
            find_in(&copy, part, text, depth + 1, found);
        }
    }
    for (span, decoded) in encoding::payloads(text) {
        let first = found.len();
        find_at_depth(&decoded, depth + 1, found);
        for (_, secret) in &mut found[first..] {
            secret.span = span.clone();
        }
    }
}

/// Finds the secrets in a part of a copy, and reports them where they are in `text`.
fn find_in(copy: &Unescaped, part: Range<usize>, text: &str, depth: usize, found: &mut Vec<Candidate>) {
    let first = found.len();
    find_at_depth(&copy.text[part.clone()], depth, found);
    for (_, secret) in &mut found[first..] {
        let start = copy.sources[part.start + secret.span.start];
        let end = copy.sources[part.start + secret.span.end];
        secret.span = boundaries(text, start..end.clamp(start + 1, text.len()));
    }
}

/// Finds the lines that consist of a phrase that restores a wallet.
fn find_mnemonics(text: &str, found: &mut Vec<Candidate>) {
    const KIND: &str = "mnemonic";
    for line in parts(text, |char| char == '\n') {
        let words = text[line.clone()].trim();
        if is_mnemonic_line(words)
            && let Some(rank) = rules::TEXT.position(KIND)
        {
            let rule = rules::TEXT.rule(rank);
            let start = line.start + text[line].find(words).unwrap_or(0);
            let span = start..start + words.len();
            found.push((rank, Finding::new(rule.category, rule.id, rule.severity, span)));
        }
    }
}

/// Finds the token of which `pieces` are the pieces. Only a token that its own characters give away counts, because a value
/// with a name may stand beside other words.
fn find_broken(text: &str, pieces: &[Range<usize>], found: &mut Vec<Candidate>) {
    let is_token = |rank: usize| {
        let rule = rules::TEXT.rule(rank);
        rule.severity == Severity::High && rule.is_token()
    };
    let tokens_in = |pieces: &[Range<usize>]| {
        let copy = views::joined(text, pieces);
        let mut tokens = Vec::new();
        find_plain(&copy.text, &mut tokens);
        tokens.retain(|(rank, token)| is_token(*rank) && token.span.start < pieces[0].len());
        (copy, tokens)
    };
    let [earlier @ .., last] = pieces else { return };
    let (copy, tokens) = tokens_in(pieces);
    let body = copy.text.len() - last.len();
    for (rank, token) in tokens.into_iter().filter(|(_, token)| token.span.end > body) {
        // A word after a whole token belongs to it only if it looks like one more piece.
        let is_piece = || surprise(&text[last.clone()]) >= 0.3;
        let is_whole = |(_, shorter): &Candidate| shorter.rule == token.rule && shorter.span.end == body;
        if is_piece() || !tokens_in(earlier).1.iter().any(is_whole) {
            let span = copy.sources[token.span.start]..copy.sources[token.span.end - 1] + 1;
            found.push((rank, Finding { span, ..token }));
        }
    }
}

/// Finds the secrets that are in plain text.
fn find_plain(text: &str, found: &mut Vec<Candidate>) {
    // For each rule that found something, where its next secret may begin.
    let mut searched_until: HashMap<usize, usize> = HashMap::new();
    let mut run = Run::default();
    rules::TEXT.run(text.as_bytes(), |matched| {
        let rule = matched.rule;
        let until = searched_until.entry(matched.index).or_default();
        if matched.span.start < *until {
            return;
        }
        if matches!(rule.check, Check::NearPassword | Check::NearKey) {
            let name = boundaries(text, matched.span);
            near::each(rule.check, text, name, |span| {
                let finding = Finding::new(rule.category, rule.id, rule.severity, span);
                found.push((matched.index, finding));
            });
            return;
        }
        let span = extent(rule.check, text, boundaries(text, matched.span), &mut run);
        let later = views::later_strings(text, &span);
        let span_of_all = span.start..later.last().map_or(span.end, |piece| piece.end);
        let name = matched.name;
        let severity = check(rule, text, span.clone(), name.clone())
            .or_else(|| check_joined(rule, text, &span, &later, name.clone()));
        if let Some(severity) = severity {
            let span = span_of_all;
            *until = span.end;
            let finding = Finding::new(rule.category, rule.id, severity, span);
            found.push((matched.index, finding));
        } else if name.is_none() {
            *until = span.end;
        }
    });
}

/// Does the same as [`check`], for a secret that goes on in the strings `later`.
fn check_joined(
    rule: &Rule,
    text: &str,
    span: &Range<usize>,
    later: &[Range<usize>],
    name: Option<Range<usize>>,
) -> Option<Severity> {
    if later.is_empty() {
        return None;
    }
    // INVARIANT SCA-1: the copy begins near the secret, because a text may have very many of them.
    let first = name
        .as_ref()
        .map_or(span.start, |name| name.start.min(span.start));
    let start = text.floor_char_boundary(first.saturating_sub(BEFORE_MAX));
    let mut whole = text[start..span.end].to_owned();
    for piece in later {
        whole.push_str(&text[piece.clone()]);
    }
    let name = name.map(|name| name.start - start..name.end - start);
    let end = whole.len();
    check(rule, &whole, span.start - start..end, name)
}

/// The newest run of characters of keys, from where a secret was found to its end. Names and values in one run have the
/// same end, which is searched for once (SCA-1).
#[derive(Default)]
struct Run {
    whole: Range<usize>,
    /// The end without the punctuation of a sentence.
    trimmed: usize,
}

impl Run {
    /// Returns the end of the key that begins at `start` and goes on to `at` or beyond.
    fn end_of(&mut self, text: &str, start: usize, at: usize) -> usize {
        if !(self.whole.start..=self.whole.end).contains(&at) {
            let is_key = |char: char| char.is_ascii_alphanumeric() || "_.~+/=-".contains(char);
            let end = text.len() - text[at..].trim_start_matches(is_key).len();
            self.whole = at..end;
            self.trimmed = text[..end].trim_end_matches(['.', '!', '?']).len();
        }
        if self.trimmed > start {
            self.trimmed
        } else {
            self.whole.end
        }
    }
}

/// Returns the extent of the secret that contains a match, because patterns may end before a long secret does.
fn extent(check: Check, text: &str, span: Range<usize>, run: &mut Run) -> Range<usize> {
    // Finds an end without trailing `closing` characters.
    let trimmed = |end: usize, closing: &[char]| match text[span.start..end].trim_end_matches(closing) {
        "" => end,
        rest => span.start + rest.len(),
    };
    let end = match check {
        Check::Jwt => {
            let is_token = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-');
            text.len() - text[span.end..].trim_start_matches(is_token).len()
        }
        Check::Armour => end_of_armour(text, span.end),
        Check::Named | Check::Key => run.end_of(text, span.start, span.end),
        // Punctuation that ends a sentence or a bracket around the value is not part of the value.
        // An escaped line end in the source of a string ends it too.
        Check::Password | Check::Given => {
            let value = &text[span.clone()];
            let length = value.find("\\n").or_else(|| value.find("\\r"));
            trimmed(
                span.start + length.unwrap_or(value.len()),
                &[
                    '.', ',', ';', ':', '!', '?', ')', ']', '}', '>', '\'', '"', '`', '\\',
                ],
            )
        }
        _ => span.end,
    };
    span.start..end
}

/// Returns the end of the body of an armoured key whose header ends at `at`.
fn end_of_armour(text: &str, at: usize) -> usize {
    const FOOT: &str = "-----END";
    let rest = &text[at..];
    // The dashes of the footer or of the next header end the search.
    let dashes = rest.find("-----").map_or(rest.len(), |dashes| dashes + 64);
    let rest = &rest[..rest.floor_char_boundary(dashes)];
    // The body consists of letters, digits, and the characters of header lines and escaped line ends. The footer begins
    // with hyphens.
    let is_body = |char: char| char.is_ascii_alphanumeric() || "+/=\\ \r\n\t:,.()\"-<>@_".contains(char);
    let body = &rest[..rest.len() - rest.trim_start_matches(is_body).len()];
    if let Some(foot) = body.find(FOOT) {
        let tail = foot + FOOT.len();
        return at + tail + body[tail..].find("-----").map_or(0, |close| close + 5);
    }
    // Without a footer, the key ends with the last line that looks like base64.
    let mut end = 0;
    for line in body.split_inclusive('\n') {
        let word = line.trim_ascii().trim_start_matches(['>', ' ']);
        let is_part = |char: char| char.is_ascii_alphanumeric() || "+/=\\.".contains(char);
        let is_long = word.len() >= 12 || end > 0 || word.is_empty();
        if !word.chars().all(is_part) || !is_long {
            break;
        }
        end += line.len();
    }
    at + body[..end].trim_ascii_end().len()
}

/// Returns the smallest range of whole characters that covers `span`.
pub(in crate::scan) fn boundaries(text: &str, span: Range<usize>) -> Range<usize> {
    text.floor_char_boundary(span.start)..text.ceil_char_boundary(span.end)
}

/// Sorts secrets, and drops secrets that are inside other secrets. If two secrets have the same span, keeps the secret
/// of the earlier rule.
fn without_nested(mut found: Vec<Candidate>) -> Vec<Finding> {
    found.sort_by_key(|(rank, secret)| (secret.span.start, Reverse(secret.span.end), *rank));
    let mut kept: Vec<Finding> = Vec::with_capacity(found.len());
    for (_, secret) in found {
        if kept.last().is_none_or(|last| last.span.end < secret.span.end) {
            kept.push(secret);
        }
    }
    kept
}
