//! Imports files of other memory systems. No code in a file is ever evaluated.
//!
//! Each format has a separate module, which maps a file to objects. This module reviews and commits the objects. An
//! imported object has at most the origin `import`. Importing the same file again changes nothing. Importing a changed
//! file updates the objects of the earlier import.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - IMP-1: an imported object is never trusted, and never replaces a trusted object.
//! - IMP-2: a name of the other system always maps to the same id, and two names never map to the same id.

mod basic_memory;
mod letta;
mod mem0;
pub(crate) mod odek;
mod server_memory;
mod snap;

use std::collections::{BTreeMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use crate::agent::Agent;
use crate::agent::blocks::FoundFile;
use crate::agent::change::review::review;
use crate::agent::change::{Change, Fate, Rule, change};
use crate::agent::item::{KNOWN, MADE_BY_VERBS, item_of, known_kind};
use crate::agent::scope::Place;
use crate::agent::session::extraction::FactScope;
use crate::agent::vocabulary::{attribute, kind};
use crate::digest::{keyed, to_hex};
use crate::engine::{CommitInfo, Staged, Writer};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::ingest::json::{JsonError, parse_within, value_from_json};
use crate::object::{Attributes, Id, NewObject, Origin, Scope, Value};
use crate::scan::Verdict;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForeignFormat {
    /// The graph of the MCP reference server `memory`, in JSON Lines.
    ServerMemory,
    /// The memories of mem0, in JSON.
    Mem0,
    /// An agent file of Letta, in JSON.
    Letta,
    /// The notes of basic-memory: a folder of Markdown files.
    BasicMemory,
    /// A fact file of odek, about the person or the environment.
    Odek(FactScope),
    /// The `memory.snap` of the published core.
    Snap,
}

impl ForeignFormat {
    /// Returns the name of the format on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ServerMemory => "server-memory",
            Self::Mem0 => "mem0",
            Self::Letta => "letta",
            Self::BasicMemory => "basic-memory",
            Self::Odek(_) => "odek",
            Self::Snap => "snap",
        }
    }
}

/// A file, or a folder of files, of another system.
#[derive(Clone, Debug)]
pub(crate) struct Foreign<'a> {
    /// The format of the file.
    pub format: ForeignFormat,
    /// The content of the file; empty for a folder.
    pub bytes: &'a [u8],
    /// The files of a folder. Only [`ForeignFormat::BasicMemory`] is a folder.
    pub files: &'a [FoundFile],
    /// The scope of all objects of the file. By default, facts about the person and objects of the published core get
    /// the scope `global`, and all other objects the scope of the project.
    pub scope: Option<Scope>,
    /// The current project.
    pub place: Place,
}

impl Foreign<'_> {
    /// Returns the scope of objects that do not name a scope.
    fn usual_scope(&self) -> Result<Scope> {
        self.scope.clone().map_or_else(|| self.place.usual_scope(), Ok)
    }
}

/// A part of a file that was omitted, or imported with changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ForeignFinding {
    /// The position of the part in the file: a line, an entry or a name.
    pub at: String,
    /// The reason.
    pub what: String,
}

/// The numbers of imported objects, by result.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ForeignCounts {
    /// The number of new objects.
    pub created: u64,
    /// The number of objects with a new version.
    pub updated: u64,
    /// The number of objects that the file did not change.
    pub unchanged: u64,
    /// The number of objects that the scan flagged and that are stored.
    pub flagged: u64,
    /// The number of quarantined objects.
    pub quarantined: u64,
    /// The number of refused objects.
    pub refused: u64,
    /// The number of earlier versions that were added to history.
    pub past: u64,
}

/// The result of an import.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ForeignTaken {
    #[serde(flatten)]
    pub counts: ForeignCounts,
    /// The faults of the file.
    pub findings: Vec<ForeignFinding>,
    /// The name of the reference below `rejected/` that contains the quarantined objects.
    pub held: Option<String>,
    /// The commit, or the head if nothing changed.
    #[serde(flatten)]
    pub commit: CommitInfo,
}

/// The attribute that describes a relation between two entities: a map `{from, type, to}`.
const RELATION: &str = "relation";
/// The prefix for attributes of the other system whose names have another meaning in Treering.
const FOREIGN: &str = "snap.";
/// The maximum nesting depth of JSON in a file.
const DEPTH_MAX: usize = 64;

/// The objects to which a file is mapped.
#[derive(Default)]
struct Mapped {
    /// The objects, each with its position in the file.
    incoming: Vec<(String, NewObject)>,
    /// Earlier versions, which are added to history only.
    past: Vec<NewObject>,
    findings: Vec<ForeignFinding>,
}

impl Mapped {
    fn say(&mut self, at: impl Into<String>, what: impl Into<String>) {
        let (at, what) = (at.into(), what.into());
        self.findings.push(ForeignFinding { at, what });
    }

    /// Adds an object and returns it. If `id` is an error, adds a finding instead.
    fn push(
        &mut self,
        at: String,
        id: Result<Id>,
        kind: &'static str,
        scope: &Scope,
        text: String,
        attributes: Attributes,
    ) -> Option<&mut NewObject> {
        match id {
            Ok(id) => {
                let mut object = NewObject::new(id, known_kind(kind));
                object.scope = scope.clone();
                object.content = Some(text);
                object.attributes = attributes;
                self.incoming.push((at, object));
                self.incoming.last_mut().map(|(_, object)| object)
            }
            Err(error) => {
                self.say(at, error.message());
                None
            }
        }
    }

    /// Adds a fact about the relation `[from, type, to]` of two entities.
    fn push_relation(
        &mut self,
        at: String,
        key: &[u8; 32],
        scope: &Scope,
        parts: [String; 3],
        mut attributes: Attributes,
    ) {
        // The length prefixes make the name of a relation unambiguous.
        let name = parts
            .each_ref()
            .map(|part| format!("{}:{part}", part.len()))
            .concat();
        drop(attributes.insert(attribute::SUBJECT, parts[0].as_str()));
        let text = parts.join(" ");
        let named = ["from", "type", "to"].map(str::to_owned).into_iter();
        let map: BTreeMap<String, Value> = named.zip(parts.map(Value::Text)).collect();
        drop(attributes.insert(RELATION, Value::Map(map)));
        let id = id_for(key, scope, RELATION, &mark_of(key, &name));
        self.push(at, id, kind::FACT, scope, text, attributes);
    }
}

/// Checks whether an error affects only one part of a file. A missing project affects the whole file.
fn is_partial(error: &Error) -> bool {
    error.code() == ErrorCode::Erased
        || (error.kind() == ErrorKind::InvalidInput && error.code() != ErrorCode::NoPlace)
}

/// Returns the error for a file of which no part can be read.
fn unreadable(why: impl Into<String>) -> Error {
    Error::invalid(why)
        .with_code(ErrorCode::Unreadable)
        .with_hint("check that --format is the format of the file")
}

/// Reads a file that is one JSON value.
///
/// # Errors
/// `InvalidInput` (code `unreadable`) if the file is not UTF-8, not JSON, nested too deep, or repeats a key.
fn read_json(bytes: &[u8]) -> Result<Json> {
    let bytes = bytes.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let byte = error.valid_up_to();
        unreadable(format!("the file is not UTF-8 text: byte {byte} is invalid"))
    })?;
    parse_within(text, DEPTH_MAX).map_err(|error| match error {
        JsonError::TooDeep => unreadable("the JSON of the file is nested too deep"),
        JsonError::KeyTwice(_) => unreadable("an object in the file has a key twice"),
        JsonError::NotJson => unreadable("the file is not one JSON value"),
    })
}

/// Returns the texts of a list, or the text of a single value.
fn list_of_texts(json: Option<Json>) -> Vec<String> {
    match json {
        Some(Json::String(text)) if !text.is_empty() => vec![text],
        Some(Json::Array(list)) => list
            .into_iter()
            .flat_map(|one| list_of_texts(Some(one)))
            .collect(),
        _ => Vec::new(),
    }
}

/// Returns a keyed digest of a text, for use in an id. Only the owner of the store has the key, so other people cannot
/// test guesses of the text.
fn mark_of(key: &[u8; 32], text: &str) -> String {
    to_hex(&keyed(key, text.as_bytes())[..16])
}

/// IMP-2: returns the id of a name. The id ends with the name if the result is a valid id, otherwise with a keyed
/// digest of the name.
fn id_for(key: &[u8; 32], scope: &Scope, folder: &str, name: &str) -> Result<Id> {
    let scope = scope.as_str();
    let prefix = if scope == Scope::GLOBAL {
        format!("{folder}/")
    } else {
        let qualifier = scope.split_once(':').map_or(scope, |(_, name)| name);
        format!("{qualifier}/{folder}/")
    };
    let is_mark = name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_mark && let Ok(id) = Id::new(&format!("{prefix}{name}")) {
        return Ok(id);
    }
    Id::new(&format!("{prefix}{}", mark_of(key, name)))
}

/// Converts the attributes of the other system. Adds a prefix to names that have another meaning in Treering.
fn other_attributes(
    other: &serde_json::Map<String, serde_json::Value>,
    at: &str,
    mapped: &mut Mapped,
) -> Attributes {
    let mut attributes = Attributes::new();
    for (name, json) in other {
        let is_known =
            KNOWN.contains(&name.as_str()) || MADE_BY_VERBS.contains(&name.as_str()) || name == RELATION;
        let prefix = if is_known { FOREIGN } else { "" };
        match value_from_json(json) {
            Ok(value) => drop(attributes.insert(format!("{prefix}{name}"), value)),
            Err(error) => mapped.say(at, format!("`{name}` is ignored: {}", error.message())),
        }
    }
    attributes
}

/// Imports a file of another system in one commit of the operation `import`.
///
/// # Errors
/// `InvalidInput` (code `unreadable`) if no part of the file can be read; also the errors of a commit. A fault in one
/// part is a finding, not an error.
pub(crate) fn take_foreign(agent: &Agent, foreign: &Foreign<'_>, writer: &Writer) -> Result<ForeignTaken> {
    let done = change(agent, writer, &Rule::IMPORT, |change| {
        let key = agent.names_key();
        let mut mapped = match foreign.format {
            ForeignFormat::ServerMemory => server_memory::map(foreign, key),
            ForeignFormat::Mem0 => mem0::map(foreign, key),
            ForeignFormat::Letta => letta::map(foreign, key),
            ForeignFormat::BasicMemory => basic_memory::map(foreign, key),
            ForeignFormat::Odek(about) => odek::map(foreign, about, key),
            ForeignFormat::Snap => snap::map(foreign, key),
        }?;
        let mut counts = ForeignCounts::default();
        take_all(change, &mut mapped, &mut counts)?;
        for object in std::mem::take(&mut mapped.past) {
            let id = object.id.clone();
            match take_past(change, object) {
                Ok(is_taken) => counts.past += u64::from(is_taken),
                Err(error) if is_partial(&error) => {
                    mapped.say(id.as_str(), format!("an earlier version: {}", error.message()));
                }
                Err(error) => return Err(error),
            }
        }
        // RMB-1: an answer never contains a text that the scan stopped.
        for ForeignFinding { at, what } in &mut mapped.findings {
            *at = agent.scanner().redact(at).into_owned();
            *what = agent.scanner().redact(what).into_owned();
        }
        Ok((counts, mapped.findings))
    })?;
    let (counts, findings) = done.value;
    Ok(ForeignTaken {
        counts,
        findings,
        held: done.held,
        commit: done.committed.commit,
    })
}

/// Stages the objects of a file, and counts their results.
fn take_all(change: &mut Change<'_>, mapped: &mut Mapped, counts: &mut ForeignCounts) -> Result<()> {
    let (mut gone, mut seen) = (HashSet::new(), HashSet::new());
    for (at, mut object) in std::mem::take(&mut mapped.incoming) {
        let id = object.id.clone();
        // IMP-2: two names never map to the same id.
        if !seen.insert(id.clone()) {
            counts.refused += 1;
            let what = format!(
                "another name in the file maps to the same id '{id}'; only the first object is imported"
            );
            mapped.say(at, what);
            continue;
        }
        if let Some(parent) = object.parent.take_if(|parent| gone.contains(parent)) {
            mapped.say(
                &at,
                format!("the parent '{parent}' was not imported, so the object has no parent"),
            );
        }
        let (fate, said) = match take_object(change, object) {
            Ok(passed) => passed,
            Err(error) if is_partial(&error) => (Fate::Refused, Some(error.message().to_owned())),
            Err(error) => return Err(error),
        };
        let is_staged = matches!(fate, Fate::Staged(_));
        counts.flagged += u64::from(is_staged && said.is_some());
        *match fate {
            Fate::Staged(Staged::Created) => &mut counts.created,
            Fate::Staged(Staged::Updated) => &mut counts.updated,
            Fate::Staged(Staged::Unchanged) => &mut counts.unchanged,
            Fate::Held => &mut counts.quarantined,
            Fate::Refused => &mut counts.refused,
        } += 1;
        if !is_staged && change.digest(&id)?.is_none() {
            gone.insert(id);
        }
        if let Some(said) = said {
            mapped.say(at, said);
        }
    }
    Ok(())
}

/// Stages one object. Returns its result, and a message about the refusal or the findings of the scan.
fn take_object(change: &mut Change<'_>, object: NewObject) -> Result<(Fate, Option<String>)> {
    let id = object.id.clone();
    if let Some(present) = change.get(&id)? {
        // IMP-1: an import never replaces a trusted object.
        let refused = |what: String| Ok((Fate::Refused, Some(format!("the id '{id}' belongs to {what}"))));
        if present.scope() != object.scope.as_str() {
            return refused(format!("an object of the scope {}", present.scope()));
        }
        if present.origin().is_trusted() || present.kind() != object.kind.as_str() {
            return refused("an object that an import may not replace".to_owned());
        }
    }
    let (parent, position) = (object.parent.clone(), object.position.clone());
    let passed = change.put(id, item_of(object), Origin::Import, |object| {
        object.parent = parent;
        object.position = position;
    })?;
    let said = (!passed.rules.is_empty()).then(|| format!("the scan found {}", passed.rules.join(", ")));
    Ok((passed.fate, said))
}

/// Adds an earlier version to history. Returns `false` if the scan stops it.
fn take_past(change: &mut Change<'_>, object: NewObject) -> Result<bool> {
    let id = object.id.clone();
    let reviewed = review(change.agent(), item_of(object))?;
    if reviewed.verdict > Verdict::Flag {
        return Ok(false);
    }
    let object = reviewed.item.into_object(id)?;
    change.put_past(&object, Origin::Import)?;
    Ok(true)
}

#[cfg(test)]
mod tests;
