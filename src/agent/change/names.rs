//! Reviews the names that the log stores unchanged: ids, scopes, kinds, names of attributes, actors and sessions.
//!
//! In a text, a marker replaces a secret. In a name, a marker would make a different name, so a name with a secret is
//! refused.
//!
//! # Layer
//! Layer 7, inside `agent`.

use std::borrow::Cow;

use crate::agent::agent::{Agent, storeless_scanner};
use crate::agent::item::NewItem;
use crate::agent::vocabulary::attribute;
use crate::engine::Writer;
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Attributes, NewObject, Value};
use treering_text::scan::{Category, Finding, Report, Scanner, Verdict, VerdictTable};

/// The phrase in errors for the name of an attribute, or for a key within an attribute.
const ATTRIBUTE: &str = "the name of an attribute";
/// The length in bytes from which every name is scanned. A shorter name is scanned only if it looks like `word=value`
/// or is not ASCII.
const NAME_BYTES_MIN: usize = 20;

/// Checks the writer of a commit, and returns the writer with markers for the secrets in its reason and source.
///
/// # Errors
/// `Denied` (code `disabled`) if the memory is disabled, (code `refused`) if the actor or session contains a secret.
pub(in crate::agent) fn admitted(agent: &Agent, writer: &Writer) -> Result<Writer> {
    if agent.settings().is_disabled {
        return Err(Error::denied(ErrorCode::Disabled, "the memory is disabled")
            .with_hint("nothing was stored; set `Settings::is_disabled` to false to enable the memory"));
    }
    clean_writer(agent.scanner(), writer)
}

/// Returns the writer with markers for the secrets in its reason and source.
///
/// # Errors
/// `Denied` (code `refused`) if the actor or session contains a secret.
pub fn clean_writer(scanner: &Scanner, writer: &Writer) -> Result<Writer> {
    for (what, name) in [("the actor", &writer.actor), ("the session", &writer.session)] {
        if let Some(name) = name {
            refuse_secret(scanner, what, name)?;
        }
    }
    let clean = |text: &String| scanner.redact(text).into_owned();
    Ok(Writer {
        reason: writer.reason.as_ref().map(clean),
        source: writer.source.as_ref().map(clean),
        ..writer.clone()
    })
}

/// Fails if a name contains a secret.
///
/// # Errors
/// `Denied` (code `refused`) if the name contains a secret.
pub(in crate::agent) fn refuse_secret(scanner: &Scanner, what: &str, name: &str) -> Result<()> {
    if !is_looked_at(name) || matches!(scanner.redact(name), Cow::Borrowed(_)) {
        return Ok(());
    }
    Err(Error::denied(
        ErrorCode::Refused,
        format!("{what} contains text that looks like a secret"),
    )
    .with_hint("nothing was stored; secrets in names cannot be redacted, so choose another name"))
}

/// Refuses a name as `refuse_secret` does, before a store is open.
///
/// # Errors
/// `Denied` (code `refused`) if the name looks like a secret.
pub fn refuse_secret_name(what: &str, name: &str) -> Result<()> {
    refuse_secret(&storeless_scanner(VerdictTable::default()), what, name)
}

/// Replaces the secrets in the message of an error by markers, because an error never quotes the matching text (RMB-1).
pub(in crate::agent) fn redact_error(scanner: &Scanner, error: Error) -> Error {
    let clean = scanner.redact(error.message()).into_owned();
    if clean == error.message() {
        error
    } else {
        error.reworded(clean)
    }
}

/// Reads a line with `read`. If that fails and the line contains a secret, returns the error of reading the redacted
/// line instead. The original message could contain a cut secret, and the scanner does not recognise a cut secret.
pub(in crate::agent) fn read_line<T>(
    scanner: &Scanner,
    line: &[u8],
    read: impl Fn(&[u8]) -> Result<T>,
) -> Result<T> {
    read(line).map_err(|error| match scanner.redact(&String::from_utf8_lossy(line)) {
        Cow::Borrowed(_) => error,
        Cow::Owned(clean) => read(clean.as_bytes()).err().unwrap_or(error),
    })
}

/// Checks the names of an object that is staged without a review. Applies the same rules as the review.
///
/// # Errors
/// `Denied` (code `refused`) if a name contains a secret or is misleading.
pub(in crate::agent) fn check_names(agent: &Agent, object: &NewObject) -> Result<()> {
    let scanner = agent.scanner();
    let mut names = vec![
        ("the id", object.id.as_str()),
        ("the scope", object.scope.as_str()),
    ];
    names.extend(object.parent.iter().map(|parent| ("the parent", parent.as_str())));
    let ids = names.clone();
    names.push(("the kind", object.kind.as_str()));
    let position = object.position.iter();
    names.extend(position.map(|position| ("the position", position.as_str())));
    names.extend(keys_of(&object.attributes).map(|key| (ATTRIBUTE, key)));
    for (what, name) in names {
        refuse_secret(scanner, what, name)?;
    }
    let is_bad = |name: &str| is_looked_at(name) && is_misleading(name, &scanner.scan_name(name));
    if let Some((what, _)) = ids.into_iter().find(|(_, name)| is_bad(name)) {
        let message = format!("{what} contains a secret, an invisible character or mixed scripts");
        return Err(Error::denied(ErrorCode::Refused, message)
            .with_hint("nothing was stored; choose a name with visible letters of one script"));
    }
    Ok(())
}

/// Scans the names of an item, and adds the findings to the report on its texts. Returns the kind of the first name
/// that causes a refusal. Each name is scanned separately, because a single report lists a limited number of findings.
pub(super) fn review_names(scanner: &Scanner, item: &NewItem, report: &mut Report) -> Option<&'static str> {
    let superseded = item.supersedes.iter();
    let names = [
        ("the scope", item.scope.as_str()),
        ("the kind", item.kind.as_str()),
    ]
    .into_iter()
    .chain(item.id.iter().map(|id| ("the id", id.as_str())))
    .chain(superseded.map(|id| ("the id of a superseded item", id.as_str())))
    .chain(keys_of(&item.others).map(|key| (ATTRIBUTE, key)));
    let mut bad = None;
    for (what, name) in names.filter(|(_, name)| is_looked_at(name)) {
        let found = scanner.scan_name(name);
        report.verdict = report.verdict.max(found.verdict);
        if is_misleading(name, &found) {
            report.verdict = Verdict::Block;
            bad.get_or_insert(what);
        }
        report.findings.extend(found.findings);
    }
    bad
}

/// Checks whether a name contains a secret, or looks like another name.
fn is_misleading(name: &str, found: &Report) -> bool {
    let is_refused = |one: &Finding| matches!(one.category, Category::Secret | Category::Unicode);
    // The scan allows these invisible characters in texts, but two names that differ only in such characters look
    // alike.
    name.contains(['\u{ad}', '\u{feff}']) || found.findings.iter().any(is_refused)
}

/// Checks whether a name could be a secret or misleading. Other names are not scanned.
fn is_looked_at(name: &str) -> bool {
    let gives = || name.contains(['=', ':']) && name.bytes().any(|byte| byte.is_ascii_digit());
    name.len() >= NAME_BYTES_MIN || !name.is_ascii() || gives()
}

/// Returns every text of an item with the name of its field. The field name of the main text is empty.
pub(super) fn texts_of_item(item: &mut NewItem) -> Vec<(String, &mut String)> {
    let mut fields = vec![(String::new(), &mut item.text)];
    fields.extend(item.tags.iter_mut().map(|tag| (attribute::TAGS.to_owned(), tag)));
    for (name, text) in [
        (attribute::SPEAKER, &mut item.speaker),
        (attribute::SUBJECT, &mut item.subject),
        (attribute::SESSION, &mut item.session),
        (attribute::SOURCE, &mut item.source),
    ] {
        fields.extend(text.iter_mut().map(|text| (name.to_owned(), text)));
    }
    for citation in &mut item.citations {
        fields.push(("file".to_owned(), &mut citation.file));
        fields.extend(citation.note.iter_mut().map(|note| ("note".to_owned(), note)));
    }
    for (name, value) in item.others.entries_mut() {
        add_texts(name, value, &mut fields);
    }
    fields
}

/// Adds all texts in a value, including nested texts. The engine limits the depth of the recursion.
fn add_texts<'a>(name: &str, value: &'a mut Value, fields: &mut Vec<(String, &'a mut String)>) {
    match value {
        Value::Text(text) => fields.push((name.to_owned(), text)),
        Value::List(list) => list.iter_mut().for_each(|value| add_texts(name, value, fields)),
        Value::Map(map) => {
            for (name, value) in map {
                add_texts(name, value, fields);
            }
        }
        _ => {}
    }
}

/// Returns every text of an object with the name of its field. The field name of the content is empty.
pub(in crate::agent) fn texts_of_object(object: &mut NewObject) -> Vec<(String, &mut String)> {
    texts_of(&mut object.attributes, &mut object.content)
}

/// Returns every text of these attributes and this content, as [`texts_of_object`] does.
pub(super) fn texts_of<'a>(
    attributes: &'a mut Attributes,
    content: &'a mut Option<String>,
) -> Vec<(String, &'a mut String)> {
    let content = content.as_mut().map(|text| (String::new(), text));
    let mut fields: Vec<_> = content.into_iter().collect();
    for (name, value) in attributes.entries_mut() {
        add_texts(name, value, &mut fields);
    }
    fields
}

/// Replaces the secrets in an object by markers. Returns whether the object contained a secret.
pub(in crate::agent) fn redact_object(scanner: &Scanner, object: &mut NewObject) -> bool {
    let mut is_changed = false;
    for (name, text) in texts_of_object(object) {
        let clean = scanner.redact_field(&name, text).into_owned();
        is_changed |= clean != *text;
        *text = clean;
    }
    is_changed
}

/// Returns the names of attributes, and the keys of the maps within their values.
pub(in crate::agent) fn keys_of<'a>(
    attributes: impl IntoIterator<Item = (&'a String, &'a Value)>,
) -> impl Iterator<Item = &'a str> {
    let mut keys = Vec::new();
    for (name, value) in attributes {
        keys.push(name.as_str());
        add_keys(value, &mut keys);
    }
    keys.into_iter()
}

fn add_keys<'a>(value: &'a Value, keys: &mut Vec<&'a str>) {
    match value {
        Value::List(list) => list.iter().for_each(|value| add_keys(value, keys)),
        Value::Map(map) => map.iter().for_each(|(key, value)| {
            keys.push(key);
            add_keys(value, keys);
        }),
        _ => {}
    }
}
