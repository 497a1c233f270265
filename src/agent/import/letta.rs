//! Reads an agent file of Letta (`.af`), or the JSON list of the passages of an agent.
//!
//! A memory block becomes an object of the kind `block`, and a passage becomes a fact. A block of one agent gets the
//! scope of the agent, and a shared block the scope of the project. An agent file has no passages, so the archival memory
//! is a list of its own. An invalid block or passage does not affect the others.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - LTA-1: without a given scope, no fault of a file shows a block of one agent to others. A block whose owner cannot be
//!   read is refused.
//!
//! # Limits
//! - Messages, the system prompt, tools and files of an agent are not imported. The findings count the messages.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::mapping::{
    Foreign, Mapped, id_for, other_attributes, read_parts, text_of, texts_in, time_of, unreadable,
};
use crate::agent::item::texts;
use crate::agent::vocabulary::{attribute, kind};
use crate::error::Result;
use crate::ingest::json::{Parts, split};
use crate::object::Scope;

/// The folder of the ids of passages.
const FOLDER: &str = "letta";
/// The fields of a passage that can be computed again, or that name a row of the database of Letta.
const DERIVED: [&str; 6] = [
    "embedding",
    "embedding_config",
    "organization_id",
    "created_by_id",
    "last_updated_by_id",
    "source_id",
];
/// The parts of an agent file that are read, or that only describe the file.
const READ: [&str; 5] = ["agents", "blocks", "metadata", "created_at", "revision_id"];

/// The parts of an agent that may contain memory, and that are not imported.
const MEMORY_IN_AGENT: [&str; 2] = ["memory_blocks", "core_memory"];

/// An agent of the file.
#[derive(Default)]
struct Agent {
    /// The name, if it can be read.
    name: Option<String>,
    /// The ids of its blocks that can be read.
    blocks: Vec<String>,
    /// Whether the agent may have other blocks, because some ids cannot be read.
    has_unread_blocks: bool,
}

/// The owner of a block, by the agents of the file.
#[derive(Clone, Copy)]
enum Owner<'a> {
    Only(&'a Agent),
    /// No agent names the block, and some ids cannot be read.
    Unknown,
    /// Several agents name the block, or none.
    Shared,
}

/// Maps an agent file to blocks, or a list of passages to facts.
pub(super) fn map(foreign: &Foreign<'_>, key: &[u8; 32]) -> Result<Mapped> {
    let mut mapped = Mapped::default();
    // The whole file may be a text with the agent inside.
    let unwrapped = inside_of_text(foreign.bytes);
    let foreign = &Foreign {
        bytes: unwrapped.as_deref().unwrap_or(foreign.bytes),
        ..foreign.clone()
    };
    match read_parts(foreign.bytes)? {
        Parts::List(passages) => map_passages(foreign, key, passages, &mut mapped)?,
        Parts::Map(file) => {
            let (Some(blocks), Some(agents)) = (list_in(&file, "blocks"), list_in(&file, "agents")) else {
                return Err(unreadable("the file has no lists `agents` and `blocks`"));
            };
            for (name, part) in file.iter().filter(|(name, _)| !READ.contains(&name.as_str())) {
                mapped.leave_out(name, part);
            }
            let agents = agents.iter().map(String::as_str).zip(1..);
            let agents: Vec<Agent> = agents
                .map(|(one, number)| agent(one, number, &mut mapped))
                .collect();
            map_blocks(foreign, key, blocks, &agents, &mut mapped)?;
        }
    }
    Ok(mapped)
}

/// Returns the JSON that a file has inside of a text.
fn inside_of_text(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    json_inside(text.trim()).map(String::into_bytes)
}

/// Returns a part of a map.
fn part_of<'a>(parts: &[(String, &'a str)], name: &str) -> Option<&'a str> {
    let mut found = parts.iter().filter(|(key, _)| key == name);
    found.next().map(|(_, part)| *part)
}

/// Returns the parts of a list in a map.
fn list_in(parts: &[(String, &str)], name: &str) -> Option<Vec<String>> {
    let part = part_of(parts, name)?;
    let inner = json_inside(part);
    let whole = |part: &str| json_inside(part).unwrap_or_else(|| part.to_owned());
    match split(inner.as_deref().unwrap_or(part)) {
        Ok(Parts::List(list)) => Some(list.into_iter().map(whole).collect()),
        _ => None,
    }
}

/// Returns the name and the blocks of an agent. Adds findings for its messages and for memory inside of it. Does not read
/// the messages, because a fault in one of them must not move the blocks of the agent into another scope.
fn agent(agent: &str, number: usize, mapped: &mut Mapped) -> Agent {
    let at = format!("agent {number}");
    let Ok(Parts::Map(parts)) = split(agent) else {
        mapped.refuse(at, "the agent cannot be read and is ignored");
        return Agent {
            has_unread_blocks: true,
            ..Agent::default()
        };
    };
    let name = part_of(&parts, "name")
        .and_then(text)
        .filter(|name| !name.is_empty());
    if name.is_none() {
        mapped.refuse(&at, "`name` is missing, empty or not text");
    }
    let at = name.as_ref().unwrap_or(&at);
    let messages = list_in(&parts, "messages").map_or(0, |messages| messages.len());
    if messages > 0 {
        mapped.say(
            at,
            format!("the messages of the agent are not imported: {messages}"),
        );
    }
    for (part, text) in parts
        .iter()
        .filter(|(part, _)| MEMORY_IN_AGENT.contains(&part.as_str()))
    {
        mapped.leave_out(&format!("{at}: {part}"), text);
    }
    let ids = match part_of(&parts, "block_ids") {
        None | Some("null") => Some(Vec::new()),
        Some(_) => list_in(&parts, "block_ids"),
    };
    let ids: Option<Vec<_>> = ids.map(|ids| ids.iter().map(|id| text(id)).collect());
    let has_unread_blocks = ids.as_ref().is_none_or(|ids| ids.contains(&None));
    if has_unread_blocks {
        mapped.refuse(at, "`block_ids` has a value that is not text");
    }
    Agent {
        blocks: ids.into_iter().flatten().flatten().collect(),
        name,
        has_unread_blocks,
    }
}

/// Returns the JSON that a part has inside of a text. Some programs write a list or a map as a text. Returns `None` for
/// any other part.
fn json_inside(part: &str) -> Option<String> {
    let inner = part.starts_with('"').then(|| text(part))??;
    let is_structure = inner.trim_start().starts_with(['{', '[']) && split(&inner).is_ok();
    is_structure.then_some(inner)
}

/// Returns the text in a part of a file.
fn text(part: &str) -> Option<String> {
    serde_json::from_str(part).ok()
}

fn map_blocks(
    foreign: &Foreign<'_>,
    key: &[u8; 32],
    blocks: Vec<String>,
    agents: &[Agent],
    mapped: &mut Mapped,
) -> Result<()> {
    let mut owners: HashMap<&str, Owner<'_>> = HashMap::new();
    for agent in agents {
        for block in &agent.blocks {
            let owner = owners.entry(block).or_insert(Owner::Only(agent));
            if !matches!(owner, Owner::Only(first) if std::ptr::eq(*first, agent)) {
                *owner = Owner::Shared;
            }
        }
    }
    let is_complete = !agents.iter().any(|agent| agent.has_unread_blocks);
    let unnamed = if is_complete {
        Owner::Shared
    } else {
        Owner::Unknown
    };
    for (block, number) in blocks.into_iter().zip(1..) {
        let at = format!("block {number}");
        let Some(mut fields) = mapped.object(&block, &at, "block") else {
            continue;
        };
        let (label, value) = (text_of(&mut fields, "label"), value_of(&mut fields));
        let (Some(label), Some(value)) = (label, value) else {
            mapped.refuse(
                at,
                "`label` or `value` is missing, empty or not text; the block is ignored",
            );
            continue;
        };
        let owner = match text_of(&mut fields, "id") {
            Some(id) => owners.get(id.as_str()).copied().unwrap_or(unnamed),
            None if owners.is_empty() => unnamed,
            None => Owner::Unknown,
        };
        let scope = match scope_of_block(foreign, owner)? {
            Ok(scope) => scope,
            Err(why) => {
                mapped.refuse(at, format!("{why}; the block is ignored; --scope imports it"));
                continue;
            }
        };
        fields.retain(|_, value| !is_unset(value));
        let mut attributes = other_attributes(fields, &at, mapped);
        drop(attributes.insert(attribute::SUBJECT, label.as_str()));
        let id = id_for(key, &scope, kind::BLOCK, &label);
        mapped.push(at, id, kind::BLOCK, &scope, value, attributes);
    }
    Ok(())
}

/// Removes and returns the value of a block. A value that is itself JSON is written as text.
fn value_of(fields: &mut serde_json::Map<String, Json>) -> Option<String> {
    match fields.get("value") {
        Some(value @ (Json::Object(_) | Json::Array(_))) => {
            let text = value.to_string();
            fields.shift_remove("value");
            Some(text)
        }
        _ => text_of(fields, "value"),
    }
}

/// LTA-1: returns the scope of a block: the scope of its only agent, otherwise the usual scope. Returns the reason if the
/// scope of the agent is not known, because another scope would show the block to others.
fn scope_of_block(foreign: &Foreign<'_>, owner: Owner<'_>) -> Result<std::result::Result<Scope, String>> {
    let agent = match owner {
        Owner::Only(agent) if foreign.scope.is_none() => agent,
        Owner::Unknown if foreign.scope.is_none() => {
            let why = "no agent names it, and some ids of blocks cannot be read";
            return Ok(Err(why.to_owned()));
        }
        _ => return foreign.usual_scope().map(Ok),
    };
    let Some(name) = &agent.name else {
        return Ok(Err("the name of its agent cannot be read".to_owned()));
    };
    let scope = Scope::new(&format!("agent:{name}"));
    Ok(scope.map_err(|error| format!("the name of its agent is no scope: {}", error.message())))
}

fn map_passages(
    foreign: &Foreign<'_>,
    key: &[u8; 32],
    passages: Vec<&str>,
    mapped: &mut Mapped,
) -> Result<()> {
    let scope = foreign.usual_scope()?;
    for (passage, number) in passages.into_iter().zip(1..) {
        let at = format!("passage {number}");
        let Some(mut fields) = mapped.object(passage, &at, "passage") else {
            continue;
        };
        let (Some(id), Some(text)) = (text_of(&mut fields, "id"), text_of(&mut fields, "text")) else {
            mapped.refuse(
                at,
                "`id` or `text` is missing, empty or not text; the passage is ignored",
            );
            continue;
        };
        if fields.get("is_deleted") == Some(&Json::Bool(true)) {
            mapped.say(at, "the passage is deleted in Letta and is not imported");
            continue;
        }
        let time = time_of(&mut fields, "created_at", &at, mapped);
        let tags = texts_in(&mut fields, "tags");
        fields.retain(|name, value| !DERIVED.contains(&name.as_str()) && !is_unset(value));
        let mut attributes = other_attributes(fields, &at, mapped);
        if let Some(tags) = texts(&tags) {
            drop(attributes.insert(attribute::TAGS, tags));
        }
        let id = id_for(key, &scope, &format!("{}/{FOLDER}", kind::FACT), &id);
        if let Some(object) = mapped.push(at, id, kind::FACT, &scope, text, attributes) {
            object.event_time = time;
        }
    }
    Ok(())
}

/// Checks whether a field has the value that Letta writes for an unset field.
fn is_unset(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(false) => true,
        Json::Object(map) => map.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::mapping::ForeignFormat;
    use super::super::tests::foreign;
    use super::*;

    fn map_of(text: &str) -> Result<Mapped> {
        map(&foreign(ForeignFormat::Letta, text.as_bytes()), &[0; 32])
    }

    #[test]
    fn a_fault_in_a_message_moves_no_block_and_an_unknown_owner_shows_none() {
        let text = r#"{"agents":[{"name":"planner","block_ids":["b1"],"messages":["half \ud83d",1e999]},
            {"name":"\ud83d","block_ids":["b2"]}],"tools":[{"id":"t"}],"files":[],
            "blocks":[{"id":"b1","label":"human","value":"Vera"},{"id":"b2","label":"human","value":"Ada"}]}"#;
        let mapped = map_of(text).unwrap();
        let scopes: Vec<_> = mapped
            .incoming
            .iter()
            .map(|(_, block)| block.scope.as_str())
            .collect();
        assert_eq!(scopes, ["agent:planner"]);
        let at: Vec<_> = mapped.findings.iter().map(|found| found.at.as_str()).collect();
        assert_eq!(
            (at, mapped.refused),
            (vec!["tools", "planner", "agent 2", "block 2"], 2)
        );
    }

    /// LTA-1: each fault hides which agent owns the block `b1`.
    #[test]
    fn a_block_whose_owner_cannot_be_read_is_refused_without_a_scope() {
        for agent in [
            r#"{"name":"bo","block_ids":["\ud83d","b2"]}"#,
            r#"{"name":"bo","block_ids":[1e999,"b2"]}"#,
            r#"{"name":"bo","block_ids":{"0":"b1"}}"#,
            r#"{"name":"bo","name":"cem","block_ids":["b1"]}"#,
            r#"{"name":"bo\u0007","block_ids":["b1"]}"#,
            r#"{"name":7,"block_ids":["b1"]}"#,
            "7",
        ] {
            let text = format!(
                r#"{{"agents":[{agent},{{"name":"di","block_ids":["b2"]}}],
                "blocks":[{{"id":"b1","label":"secret","value":"Vera"}},{{"id":"b2","label":"human","value":"Ada"}}]}}"#
            );
            let mapped = map_of(&text).unwrap();
            let ids: Vec<_> = mapped.incoming.iter().map(|(_, one)| one.id.as_str()).collect();
            assert!(!ids.iter().any(|id| id.ends_with("secret")), "{agent}: {ids:?}");
            assert!(
                mapped.findings.iter().any(|found| found.at == "block 1"),
                "{agent}"
            );
            let mut given = foreign(ForeignFormat::Letta, text.as_bytes());
            given.scope = Some(Scope::new("project:tea").unwrap());
            assert_eq!(map(&given, &[0; 32]).unwrap().incoming.len(), 2, "{agent}");
        }
    }

    /// LTA-1: the block may be the one that the agent names.
    #[test]
    fn a_block_without_an_id_is_refused_if_an_agent_names_blocks() {
        for id in [
            r#""x":0"#,
            r#""id":7"#,
            r#""id":"""#,
            r#""id":null"#,
            r#""id":["b1"]"#,
        ] {
            let imported = |agents: &str| {
                let blocks = format!(r#"[{{{id},"label":"secret","value":"Vera"}}]"#);
                let mapped = map_of(&format!(r#"{{"agents":{agents},"blocks":{blocks}}}"#)).unwrap();
                (mapped.incoming.len(), mapped.refused)
            };
            assert_eq!(imported(r#"[{"name":"bo","block_ids":["b1"]}]"#), (0, 1), "{id}");
            assert_eq!(imported(r#"[{"name":"bo","block_ids":[]}]"#), (1, 0), "{id}");
        }
    }

    #[test]
    fn memory_inside_an_agent_has_a_finding() {
        let text = r#"{"agents":[{"name":"bo","memory_blocks":[{"label":"human","value":"Vera"}],"core_memory":[],
            "block_ids":null}],"blocks":[]}"#;
        let at: Vec<_> = map_of(text)
            .unwrap()
            .findings
            .into_iter()
            .map(|found| found.at)
            .collect();
        assert_eq!(at, ["bo: memory_blocks"]);
    }

    #[test]
    fn a_deleted_passage_stays_deleted() {
        let text =
            r#"[{"id":"p1","text":"Tea.","is_deleted":true},{"id":"p2","text":"Ham.","is_deleted":false}]"#;
        let mapped = map_of(text).unwrap();
        assert_eq!((mapped.incoming.len(), mapped.findings.len()), (1, 1));
    }

    #[test]
    fn a_block_belongs_to_its_only_agent() {
        let file = r#"{"agents":[{"name":"bo","block_ids":["b1","b2"],"messages":[{},{}]},{"name":"cem","block_ids":["b2"]}],
            "blocks":[{"id":"b1","label":"human","value":"Vera","limit":5000,"hidden":null},
                      {"id":"b2","label":"style","value":"Short.","read_only":true},
                      {"id":"b3","label":"empty","value":""}, 7]}"#;
        let mapped = map_of(file).unwrap();
        let shown: Vec<_> = mapped
            .incoming
            .iter()
            .map(|(_, one)| (one.id.as_str(), one.scope.as_str()))
            .collect();
        assert_eq!(
            shown,
            [("bo/block/human", "agent:bo"), ("tea/block/style", "project:tea")]
        );
        let at: Vec<&str> = mapped.findings.iter().map(|one| one.at.as_str()).collect();
        assert_eq!(at, ["bo", "block 3", "block 4"]);
        assert!(mapped.incoming[1].1.attributes.get("read_only").is_some());
        assert!(mapped.incoming[0].1.attributes.get("hidden").is_none());
    }

    #[test]
    fn json_inside_of_a_text_is_read() {
        let block =
            serde_json::json!({"id": "b1", "label": "human", "value": {"name": "Vera", "tea": ["green"]}});
        let agent = serde_json::json!({"name": "bo", "block_ids": ["b1"]});
        let text = |json: &Json| Json::from(json.to_string());
        let (blocks, agents) = (serde_json::json!([block]), serde_json::json!([agent]));
        let file = |blocks: Json, agents: Json| serde_json::json!({"agents": agents, "blocks": blocks});
        for file in [
            file(blocks.clone(), agents.clone()),
            file(
                serde_json::json!([text(&block)]),
                serde_json::json!([text(&agent)]),
            ),
            file(text(&blocks), text(&agents)),
            text(&file(blocks.clone(), agents.clone())),
        ] {
            let mapped = map_of(&file.to_string()).unwrap();
            let [(_, object)] = mapped.incoming.as_slice() else {
                panic!("{file}")
            };
            assert_eq!(object.id.as_str(), "bo/block/human");
            assert_eq!(
                object.content.as_deref(),
                Some(r#"{"name":"Vera","tea":["green"]}"#)
            );
        }
        // A text that only looks like JSON stays as it is.
        let file = r#"{"agents":[],"blocks":[{"label":"a","value":"{\"x\":1}"},{"label":"b","value":"[1"}]}"#;
        let mapped = map_of(file).unwrap();
        let texts: Vec<_> = mapped
            .incoming
            .iter()
            .map(|(_, one)| one.content.as_deref().unwrap())
            .collect();
        assert_eq!(texts, [r#"{"x":1}"#, "[1"]);
    }

    #[test]
    fn a_passage_costs_only_itself() {
        let list = r#"[{"id":"p1","text":"Tea.","created_at":"2026-03-01T10:00:00+00:00","tags":["a"]}, {"id":"p2"}, 1]"#;
        let mapped = map_of(list).unwrap();
        assert_eq!((mapped.incoming.len(), mapped.findings.len()), (1, 2));
        assert_eq!(
            mapped.incoming[0].1.event_time.unwrap().to_string(),
            "2026-03-01T10:00:00.000000Z"
        );
        for text in ["3", "{\"blocks\":[]}", "{"] {
            assert_eq!(map_of(text).err().unwrap().code(), "unreadable", "{text}");
        }
    }
}
