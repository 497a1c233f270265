//! The verbs of an agent about its sessions: notes, transcripts and prompts.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;
use treering::agent::{Append, Boundary, EnvelopeRequest, NewEntry, NewNote, NoteRead, Reach, Replace};

use crate::answer::{answer, answer_with, object, rows};
use crate::fault::{Done, Fault};
use crate::handle::Store;
use crate::input::{At, Level, Moment, Texts, Trust, Writer, id, reach, time};
use crate::shapes as shape;

/// Returns the session of a call: the given one, else that of the writer.
fn session_of(given: Option<String>, writer: &treering::Writer) -> Done<String> {
    let missing =
        || Fault::invalid("the call names no session").hint("give session, or use agent.withSession(…)");
    given.or_else(|| writer.session.clone()).ok_or_else(missing)
}

fn note(note: &NoteRead) -> Done<Json> {
    answer_with(
        &shape::Note::from(note),
        vec![("object", object(note.item.object())?)],
    )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteNote {
    text: String,
    session: Option<String>,
    scope: Option<String>,
    /// The id of a note, or `own` for all notes of the session.
    replace: Option<String>,
    writer: Option<Writer>,
}

pub(crate) fn write_note(store: &Store, input: WriteNote) -> Done<Json> {
    let (agent, writer) = (store.agent()?, Writer::or(input.writer, store));
    let replace = match input.replace.as_deref() {
        Some("own") => Some(Replace::Own),
        Some(name) => Some(Replace::One(id(name)?)),
        None => None,
    };
    let note = NewNote {
        text: input.text,
        scope: store.caller.scope(input.scope.as_deref())?,
        session: session_of(input.session, &writer)?,
        replace,
    };
    answer(&shape::NoteWritten::from(&agent.write_note(&note, &writer)?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfNote {
    id: String,
    scope: Option<String>,
    writer: Option<Writer>,
}

pub(crate) fn read_note(store: &Store, input: OfNote) -> Done<Json> {
    let (agent, scope) = (store.agent()?, store.caller.scope(input.scope.as_deref())?);
    let found = agent.read_note(&agent.memory().view(), &id(&input.id)?, &scope)?;
    found.map_or(Ok(Json::Null), |found| note(&found))
}

pub(crate) fn delete_note(store: &Store, input: OfNote) -> Done<Json> {
    let (agent, scope) = (store.agent()?, store.caller.scope(input.scope.as_deref())?);
    let writer = Writer::or(input.writer, store);
    Ok(Json::from(agent.delete_note(&id(&input.id)?, &scope, &writer)?.0))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Notes {
    /// Only the notes of this session.
    session: Option<String>,
    scope: Option<String>,
}

pub(crate) fn notes(store: &Store, input: Notes) -> Done<Json> {
    let (agent, scope) = (store.agent()?, store.caller.scope(input.scope.as_deref())?);
    rows(
        &agent.notes(&agent.memory().view(), &scope, input.session.as_deref())?,
        note,
    )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchNotes {
    query: String,
    session: Option<String>,
    scope: Option<String>,
    /// 10 without it.
    limit: Option<usize>,
}

pub(crate) fn search_notes(store: &Store, input: SearchNotes) -> Done<Json> {
    let session = session_of(input.session, &store.caller.writer)?;
    let (agent, scope) = (store.agent()?, store.caller.scope(input.scope.as_deref())?);
    let limit = input.limit.unwrap_or(10);
    let found = agent.search_notes(&agent.memory().view(), &input.query, &scope, &session, limit)?;
    rows(&found, |found| {
        answer_with(&shape::NoteFound::from(found), vec![("note", note(&found.note)?)])
    })
}

/// An entry of a transcript.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    text: String,
    speaker: Option<String>,
    time: Option<Moment>,
    order: Option<i64>,
    trust: Option<Trust>,
    /// The id of the message in its own system. An entry with a known one is not stored again.
    id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AppendIn {
    #[schemars(schema_with = "entries_schema")]
    entries: Vec<OneEntry>,
    session: Option<String>,
    /// The session that called this one.
    parent: Option<String>,
    scope: Option<String>,
    user: Option<String>,
    writer: Option<Writer>,
}

/// A text, or an entry with its fields.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneEntry {
    Text(String),
    Fields(Entry),
}

fn entries_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    generator.subschema_for::<Entry>();
    schemars::json_schema!({ "x-ts": "readonly (string | Entry)[]" })
}

pub(crate) fn append(store: &Store, input: AppendIn) -> Done<Json> {
    let writer = Writer::or(input.writer, store);
    let entries = input.entries.into_iter().map(|entry| match entry {
        OneEntry::Text(text) => NewEntry {
            text,
            ..NewEntry::default()
        },
        OneEntry::Fields(entry) => NewEntry {
            text: entry.text,
            speaker: entry.speaker,
            time: time(entry.time),
            order: entry.order,
            origin: entry.trust.map(|trust| trust.0),
            key: entry.id,
            ..NewEntry::default()
        },
    });
    let append = Append {
        session: session_of(input.session, &writer)?,
        parent: input.parent,
        scope: input
            .scope
            .map(|word| store.caller.scope(Some(&word)))
            .transpose()?,
        usual_scope: store.caller.scope(None)?,
        reach: Reach::All,
        user: input.user,
        entries: entries.collect(),
    };
    answer(&shape::Appended::from(&store.agent()?.append(&append, &writer)?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entries {
    session: Option<String>,
    at: Option<At>,
}

pub(crate) fn entries(store: &Store, input: Entries) -> Done<Json> {
    let session = session_of(input.session, &store.caller.writer)?;
    let (agent, view) = (store.agent()?, At::view(input.at.as_ref(), &store.shared)?);
    rows(agent.entries(&view, &Reach::All, &session)?, |item| {
        object(item?.object())
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Envelope {
    query: Option<String>,
    /// The most tokens of the text. 5000 without it.
    budget: Option<usize>,
    scopes: Option<Texts>,
    /// What the host says about its own compaction.
    compaction: Option<String>,
    #[serde(default)]
    with_untrusted: bool,
    /// `internal` without it.
    sensitivity_max: Option<Level>,
    /// 16 to 64 ASCII letters and digits that mark the edges of the text.
    boundary: Option<String>,
    at: Option<At>,
}

pub(crate) fn envelope(store: &Store, input: Envelope) -> Done<Json> {
    let mut request = EnvelopeRequest::new(reach(store, input.scopes)?);
    request.query = input.query;
    request.budget_tokens = input.budget.unwrap_or(5000);
    request.compaction = input.compaction;
    request.with_untrusted = input.with_untrusted;
    if let Some(level) = input.sensitivity_max {
        request.sensitivity_max = level.0;
    }
    if let Some(word) = input.boundary {
        let bad =
            || Fault::invalid("the boundary breaks its rule").hint("give 16 to 64 ASCII letters and digits");
        request.boundary = Some(Boundary::new(&word).ok_or_else(bad)?);
    }
    let (agent, view) = (store.agent()?, At::view(input.at.as_ref(), &store.shared)?);
    answer(&shape::Envelope::from(&agent.envelope(&view, &request)?))
}
