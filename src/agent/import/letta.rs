//! Reads an agent file of Letta (`.af`), or the JSON list of the passages of an agent.
//!
//! A memory block becomes an object of the kind `block`, and a passage becomes a fact. A block of one agent gets the
//! scope of the agent, and a shared block the scope of the project. An agent file has no passages, so the archival memory
//! is a list of its own. An invalid block or passage does not affect the others.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! - Messages, the system prompt, tools and files of an agent are not imported. The findings count the messages.

use std::collections::HashMap;

use serde_json::{Map, Value as Json};

use super::mapping::{
    DEPTH_MAX, Foreign, Mapped, id_for, other_attributes, read_parts, text_of, texts_in, time_of, unreadable,
};
use crate::agent::item::texts;
use crate::agent::vocabulary::{attribute, kind};
use crate::error::Result;
use crate::ingest::json::{Parts, parse_within, split};
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

/// An agent of the file.
struct Agent {
    /// The name, if it can be read.
    name: Option<String>,
    blocks: Vec<String>,
}

/// Maps an agent file to blocks, or a list of passages to facts.
pub(super) fn map(foreign: &Foreign<'_>, key: &[u8; 32]) -> Result<Mapped> {
    let mut mapped = Mapped::default();
    match read_parts(foreign.bytes)? {
        Parts::List(passages) => map_passages(foreign, key, passages, &mut mapped)?,
        Parts::Map(file) => {
            let (Some(blocks), Some(agents)) = (list_in(&file, "blocks"), list_in(&file, "agents")) else {
                return Err(unreadable("the file has no lists `agents` and `blocks`"));
            };
            for (name, part) in file.iter().filter(|(name, _)| !READ.contains(&name.as_str())) {
                mapped.leave_out(name, part);
            }
            let agents = agents.iter().zip(1..);
            let agents: Vec<Agent> = agents
                .filter_map(|(one, number)| agent(one, number, &mut mapped))
                .collect();
            map_blocks(foreign, key, blocks, &agents, &mut mapped)?;
        }
    }
    Ok(mapped)
}

/// Returns a part of a map.
fn part_of<'a>(parts: &[(String, &'a str)], name: &str) -> Option<&'a str> {
    let mut found = parts.iter().filter(|(key, _)| key == name);
    found.next().map(|(_, part)| *part)
}

/// Returns the parts of a list in a map.
fn list_in<'a>(parts: &[(String, &'a str)], name: &str) -> Option<Vec<&'a str>> {
    match split(part_of(parts, name)?) {
        Ok(Parts::List(list)) => Some(list),
        _ => None,
    }
}

/// Returns the name and the blocks of an agent. Adds a finding with the number of its messages. Does not read the messages,
/// because a fault in one of them must not move the blocks of the agent into another scope.
fn agent(agent: &str, number: usize, mapped: &mut Mapped) -> Option<Agent> {
    let at = format!("agent {number}");
    let Ok(Parts::Map(parts)) = split(agent) else {
        mapped.refuse(at, "the agent is not an object and is ignored");
        return None;
    };
    let mut fields = Map::new();
    for name in ["name", "block_ids"] {
        let value = part_of(&parts, name).and_then(|part| parse_within(part, DEPTH_MAX).ok());
        fields.extend(value.map(|value| (name.to_owned(), value)));
    }
    let name = text_of(&mut fields, "name");
    if name.is_none() {
        let what = "`name` is missing, empty or not text; the agent and its blocks are ignored";
        mapped.refuse(&at, what);
    }
    let messages = list_in(&parts, "messages").map_or(0, |messages| messages.len());
    if messages > 0 {
        mapped.say(
            name.as_ref().unwrap_or(&at),
            format!("the messages of the agent are not imported: {messages}"),
        );
    }
    let blocks = texts_in(&mut fields, "block_ids");
    Some(Agent { name, blocks })
}

fn map_blocks(
    foreign: &Foreign<'_>,
    key: &[u8; 32],
    blocks: Vec<&str>,
    agents: &[Agent],
    mapped: &mut Mapped,
) -> Result<()> {
    // The only agent of each block; `None` for a block of several agents.
    let mut owners: HashMap<&str, Option<&Agent>> = HashMap::new();
    for agent in agents {
        for block in &agent.blocks {
            owners
                .entry(block)
                .and_modify(|owner| *owner = owner.filter(|owner| std::ptr::eq(*owner, agent)))
                .or_insert(Some(agent));
        }
    }
    for (block, number) in blocks.into_iter().zip(1..) {
        let at = format!("block {number}");
        let Some(mut fields) = mapped.object(block, &at, "block") else {
            continue;
        };
        let (label, value) = (text_of(&mut fields, "label"), text_of(&mut fields, "value"));
        let (Some(label), Some(value)) = (label, value) else {
            mapped.refuse(
                at,
                "`label` or `value` is missing, empty or not text; the block is ignored",
            );
            continue;
        };
        let id = text_of(&mut fields, "id").unwrap_or_default();
        let Some(scope) = scope_of_block(foreign, owners.get(id.as_str()).copied().flatten(), &at, mapped)?
        else {
            continue;
        };
        fields.retain(|_, value| !is_unset(value));
        let mut attributes = other_attributes(&fields, &at, mapped);
        drop(attributes.insert(attribute::SUBJECT, label.as_str()));
        let id = id_for(key, &scope, kind::BLOCK, &label);
        mapped.push(at, id, kind::BLOCK, &scope, value, attributes);
    }
    Ok(())
}

/// Returns the scope of a block: the scope of its only agent, otherwise the usual scope. Returns `None` if the name of the
/// agent cannot be read, because another scope would show the block to others.
fn scope_of_block(
    foreign: &Foreign<'_>,
    owner: Option<&Agent>,
    at: &str,
    mapped: &mut Mapped,
) -> Result<Option<Scope>> {
    if let (None, Some(owner)) = (&foreign.scope, owner) {
        let Some(name) = &owner.name else {
            mapped.refuse(at, "the name of its agent cannot be read; the block is ignored");
            return Ok(None);
        };
        match Scope::new(&format!("agent:{name}")) {
            Ok(scope) => return Ok(Some(scope)),
            Err(error) => mapped.say(
                at,
                format!("the name of the agent is no scope: {}", error.message()),
            ),
        }
    }
    foreign.usual_scope().map(Some)
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
        let mut attributes = other_attributes(&fields, &at, mapped);
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
