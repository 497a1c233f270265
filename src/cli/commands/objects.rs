//! `get`, `list`, `history`, `remove`: objects one by one.
//!
//! # Layer
//! L9, part of cli.

use serde_json::json;

use super::store::head_line;
use super::undo_command;
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::{self, Table, coloured, plain, short};
use crate::cli::json;
use crate::cli::output::{Meaning, printable};
use crate::cli::time;
use crate::cli::verbs::{Get, History, List, Remove};
use crate::engine::{HistoryEntry, Memory, Query, View};
use crate::error::{Error, ErrorKind, Result};
use crate::ingest::json as lines;
use crate::object::{Id, Kind, Object, Scope, Time, Value};

/// Children that people see.
const CHILDREN_SHOWN: usize = 20;

pub(super) fn get(context: &mut Context, verb: &Get) -> Done {
    let memory = context.open_to_read()?;
    let view = context.view(&memory)?;
    let id = Id::new(&verb.id)?;
    let Some(object) = view.get(&id)? else {
        let newest = memory.changes_of(&id).next().transpose()?;
        return Err(no_object(&memory, &id, &view, newest.as_ref()).into());
    };
    if context.output.is_json() {
        context.output.document(&json::object(&view, &object)?)?;
    } else {
        show(context, &view, &object)?;
    }
    Ok(DONE)
}

/// An object for people.
fn show(context: &mut Context, view: &View, object: &Object) -> Result<(), Failure> {
    let id = Id::new(object.id())?;
    let children = view.children(&id, Some(CHILDREN_SHOWN))?;
    let total = view.child_count(&id)?;
    let output = &mut context.output;
    let mut rows: Vec<(String, String)> = vec![
        ("kind".into(), human::one_line(object.kind())),
        ("scope".into(), human::one_line(object.scope())),
    ];
    let mut optional = |name: &str, value: Option<String>| {
        rows.extend(value.map(|value| (name.to_owned(), human::one_line(&value))));
    };
    optional("parent", object.parent().map(str::to_owned));
    optional("position", object.position().map(str::to_owned));
    optional("event time", object.event_time().map(|time| time.to_string()));
    optional("expires", object.expires().map(|time| time.to_string()));
    rows.push(("origin".into(), object.origin().name().into()));
    let digest = if output.is_compact() {
        short(object.digest().as_bytes())
    } else {
        object.digest().to_hex()
    };
    rows.push(("digest".into(), digest));
    if let Some((created, updated)) = view.stamps(&id)? {
        let now = view.now();
        rows.push(("created".into(), time::with_age(created, now, output)));
        if updated != created {
            rows.push(("updated".into(), time::with_age(updated, now, output)));
        }
    }
    let heading = output.paint(Meaning::Heading, human::one_line(object.id()));
    output.line(heading)?;
    for (name, value) in rows {
        output.field(2, 11, &name, value)?;
    }
    let attributes = object.attributes();
    let width = attributes
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or_default()
        .min(if output.is_compact() { 0 } else { 24 });
    for (name, held) in &attributes {
        let name = output.paint(Meaning::Name, format_args!("{:<width$}", human::one_line(name)));
        output.line(format_args!("  {name} = {}", human::value(held)))?;
    }
    if !children.is_empty() {
        output.line(format_args!("  {}", human::counted(total, "child object")))?;
        for child in &children {
            output.line(format_args!("    {}", human::one_line(child.as_str())))?;
        }
        if total > children.len() as u64 {
            output.line(format_args!(
                "    and {} more: treering list --parent ID",
                total - children.len() as u64
            ))?;
        }
    }
    if let Some(by) = object.erased_by() {
        if object.is_lost() {
            output.line("  the content was lost, and could not be salvaged")?;
        } else {
            let by = short(by.as_bytes());
            output.line(format_args!("  the content was erased by commit {by}"))?;
        }
    }
    if let Some(content) = object.content() {
        output.line("")?;
        output.line(printable(content.trim_end_matches('\n')))?;
    }
    Ok(())
}

pub(super) fn list(context: &mut Context, verb: &List) -> Done {
    let query = Query {
        not_kinds: Vec::new(),
        kind: verb.kind.as_deref().map(Kind::new).transpose()?,
        scope: verb.scope.as_deref().map(Scope::new).transpose()?,
        prefix: verb.prefix.clone(),
        parent: verb.parent.as_deref().map(Id::new).transpose()?,
        attributes: verb
            .attributes
            .iter()
            .map(|text| attribute(text))
            .collect::<Result<_, Failure>>()?,
        include_expired: verb.include_expired,
        // What --since and --until leave out is not counted.
        limit: verb
            .limit
            .filter(|_| verb.since.is_none() && verb.until.is_none()),
    };
    let memory = context.open_to_read()?;
    let view = context.view(&memory)?;
    let mut found = false;
    let written = Written {
        since: moment(context, &memory, verb.since.as_deref())?,
        until: moment(context, &memory, verb.until.as_deref())?,
    };
    let mut left = verb.limit.unwrap_or(usize::MAX);
    let mut table = Table::new(&["id", "kind", "scope", "gist"]);
    let mut matches = view.query(&query)?;
    for object in &mut matches {
        found = true;
        let object = object?;
        if left == 0 {
            break;
        }
        if !written.holds(&view, &object)? {
            continue;
        }
        left -= 1;
        if context.output.is_json() {
            context.output.document(&json::listed(&view, &object)?)?;
        } else {
            let cells = vec![
                coloured(Meaning::Name, object.id()),
                plain(object.kind()),
                plain(object.scope()),
                coloured(Meaning::Quiet, human::gist(&object)),
            ];
            table.row(&mut context.output, cells)?;
        }
    }
    if matches.erased() > 0 {
        let count = human::counted(matches.erased(), "object");
        let note = format!("{count} of this state, erased or lost since, cannot be listed");
        context.output.note("erased", note);
    }
    context.tell_unreadable(&memory);
    let expired = !found && !query.include_expired && verb.limit != Some(0) && has_expired(&view, query)?;
    if expired {
        let note = "all that was found has expired: --include-expired shows it";
        context.output.note("expired", note);
    } else {
        table.finish(&mut context.output)?;
    }
    Ok(DONE)
}

/// Whether there is something that only its expiry hides.
fn has_expired(view: &View, query: Query) -> Result<bool> {
    let query = Query {
        include_expired: true,
        limit: Some(1),
        ..query
    };
    Ok(view.query(&query)?.next().transpose()?.is_some())
}

/// When a version was written, as `list` is asked for it.
struct Written {
    since: Option<Time>,
    until: Option<Time>,
}

impl Written {
    fn holds(&self, view: &View, object: &Object) -> Result<bool> {
        if self.since.is_none() && self.until.is_none() {
            return Ok(true);
        }
        let Some((_, updated)) = view.stamps(&Id::new(object.id())?)? else {
            return Ok(false);
        };
        Ok(
            self.since.is_none_or(|since| since <= updated)
                && self.until.is_none_or(|until| updated <= until),
        )
    }
}

/// A time as typed, or the time of the commit that a revision names.
fn moment(context: &Context, memory: &Memory, text: Option<&str>) -> Result<Option<Time>> {
    let Some(text) = text else { return Ok(None) };
    match time::moment(text, memory.view().now()) {
        Ok(time) => Ok(Some(time)),
        Err(_) => Ok(Some(context.resolve(memory, text)?.commit.time)),
    }
}

pub(super) fn history(context: &mut Context, verb: &History) -> Done {
    let memory = context.open_to_read()?;
    let id = Id::new(&verb.id)?;
    let view = context.view(&memory)?;
    let newest = view.commit().commit.seq;
    let is_later =
        |entry: &Result<HistoryEntry>| entry.as_ref().is_ok_and(|entry| entry.commit.commit.seq > newest);
    let mut entries = memory.changes_of(&id).skip_while(is_later).peekable();
    if entries.peek().is_none() {
        return Err(no_object(&memory, &id, &view, memory.history(&id)?.last()).into());
    }
    let now = memory.view().now();
    let mut table = Table::new(&["seq", "version", "op", "lane", "when"]);
    for entry in entries.take(verb.limit.unwrap_or(usize::MAX)) {
        let entry = &entry?;
        if context.output.is_json() {
            context.output.document(&json::history_entry(entry))?;
            continue;
        }
        let [op, lane] = human::made_by(entry);
        let version = match entry.digest {
            Some(digest) if entry.erased || entry.lost => {
                let why = if entry.lost { "lost" } else { "erased" };
                coloured(Meaning::Bad, format!("{} ({why})", short(digest.as_bytes())))
            }
            Some(digest) => coloured(Meaning::Name, short(digest.as_bytes())),
            None => coloured(Meaning::Bad, "removed"),
        };
        let cells = vec![
            human::made_at(entry),
            version,
            plain(op),
            plain(lane),
            coloured(
                Meaning::Quiet,
                time::told(entry.time, now, context.output.style()),
            ),
        ];
        table.row(&mut context.output, cells)?;
    }
    table.finish(&mut context.output)?;
    Ok(DONE)
}

pub(super) fn remove(context: &mut Context, verb: &Remove) -> Done {
    let id = Id::new(&verb.id)?;
    let memory = context.open_to_write()?;
    let committed = memory.remove(&id, verb.recursive, context.writer())?;
    let info = committed.commit.clone();
    let removed = json::counts(&memory, &committed)?.removed;
    if context.output.is_json() {
        let document = json!({
            "removed": removed,
        });
        context.output.document(&json::with_commit(document, &info))?;
    } else {
        let head = head_line(&context.output, &memory, &info);
        context.output.line(format_args!(
            "removed {}; {head}",
            human::counted(removed, "object")
        ))?;
        let undo = undo_command(&context.options);
        context.output.note("undo", format!("bring it back with: {undo}"));
    }
    memory.close()?;
    Ok(DONE)
}

/// There is no such object in a state; `other` is a change of it in another one.
fn no_object(memory: &Memory, id: &Id, view: &View, other: Option<&HistoryEntry>) -> Error {
    let seq = view.commit().commit.seq;
    let error = Error::not_found(format!("there is no object '{id}' at seq:{seq}"));
    match other.map(|other| (other.commit.commit.seq, other)) {
        None => match memory.damage() {
            Some(damage) => cannot_be_said(&format!("there is an object '{id}'"), damage),
            None => error.with_hint("no kept commit has it; treering list shows what there is"),
        },
        Some((when, other)) => {
            let what = match (other.digest, other.commit.commit.op.as_str()) {
                _ if other.thinned => "has it otherwise",
                (Some(_), "put" | "ingest") => "put it",
                (Some(_), _) => "brought it back",
                (None, _) => "removed it",
            };
            error.with_hint(format!("seq:{when} {what}: see treering history '{id}'"))
        }
    }
}

/// What is absent before the damage may stand behind it: that is no answer of "not found".
pub(super) fn cannot_be_said(what: &str, damage: &str) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("whether {what} cannot be said: reading stopped at damage: {damage}"),
    )
    .with_hint(
        "what was committed behind the damage is not served; treering verify names all that is damaged",
    )
}

/// Reads `name=text` or `name:=JSON`.
pub(super) fn attribute(text: &str) -> Result<(String, Value), Failure> {
    let at = text.find('=').ok_or_else(|| {
        let message = format!("--attr {}: there is no '='", human::one_line(text));
        Failure::usage(message, "write name=text, or name:=JSON")
    })?;
    let (name, value) = (&text[..at], &text[at + 1..]);
    match name.strip_suffix(':') {
        None => Ok((name.to_owned(), Value::Text(value.to_owned()))),
        Some(name) => {
            let json = lines::parse(value).map_err(|error| error.context(format_args!("--attr {name}")))?;
            Ok((name.to_owned(), lines::value_from_json(&json)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_text_or_json() {
        let read = |text| attribute(text).unwrap();
        assert_eq!(read("a=b=c"), ("a".into(), Value::Text("b=c".into())));
        assert_eq!(read("a="), ("a".into(), Value::Text(String::new())));
        assert_eq!(read("a:=7"), ("a".into(), Value::Integer(7)));
        assert_eq!(read("a:=\"x=y\""), ("a".into(), Value::Text("x=y".into())));
        assert_eq!(read("a:=null"), ("a".into(), Value::Null));
        assert_eq!(read("a=b:=c"), ("a".into(), Value::Text("b:=c".into())));
        assert_eq!(attribute("a").unwrap_err().exit_code(), 2);
        for refused in ["a:={", "a:=", "a:={\"k\":1,\"k\":2}", "a:=99999999999999999999"] {
            assert_eq!(attribute(refused).unwrap_err().exit_code(), 1, "{refused}");
        }
    }
}
