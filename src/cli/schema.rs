//! What each verb answers with `--json`, as JSON Schema.
//!
//! [`ANSWERS`] is the one place that states the fields; a test holds the real output of every verb against it,
//! and neither side may have a field that the other lacks.
//!
//! # Layer
//! L10, part of cli. Pure.

use serde_json::{Map, Value, json};

/// A verb, when it answers so, and the fields: `name:type`, `?` behind the type where it may be null, `*`
/// where the field may be missing. A verb with several answers stands here several times.
const ANSWERS: [(&str, &str, &str); 36] = [
    (
        "forget",
        "commit is null where nothing went",
        "forgotten:items pinned:texts others:texts dry_run:flag commit:digest? seq:count? root:digest",
    ),
    (
        "unforget",
        "commit is null where nothing came back",
        "restored:items unchanged:texts dry_run:flag commit:digest? seq:count? root:digest",
    ),
    (
        "forgotten",
        "a line each",
        "id:text kind:text scope:text digest:digest time:time op:text actor:text? session:text? reason:text? \
         commit:digest seq:count",
    ),
    (
        "expire",
        "",
        "id:text expires:time? changed:flag commit:digest seq:count root:digest",
    ),
    (
        "decay",
        "",
        "now:time items:count moves:moves commits:digests dry_run:flag root:digest",
    ),
    (
        "recall",
        "",
        "hits:hits tokens:count skipped:count left_out:untrusted root:digest scopes:texts? index:text?",
    ),
    (
        "recall",
        "a line each, with --queries",
        "qid:text hits:hits left_out:untrusted ms:number",
    ),
    (
        "remember",
        "one item",
        "id:text digest:digest? commit:digest? seq:count? root:digest? status:remembered disabled:flag scope:text duplicates:alike \
         conflicts:conflicts verdict:verdict rules:texts redacted:flag held_as:text?",
    ),
    (
        "remember",
        "with --jsonl",
        "stored:count unchanged:count duplicates:count refused:refused flagged:count unknown:texts commit:digest? seq:count? \
         root:digest? disabled:flag",
    ),
    (
        "envelope",
        "",
        "text:text shown:shown left_out:left_out root:digest tokens:count",
    ),
    (
        "envelope",
        "with --scrub",
        "text:text removed_bytes:count unclosed:count",
    ),
    (
        "guard",
        "stage",
        "name:text added:count changed:count removed:count",
    ),
    (
        "guard",
        "check; exit code 4 where passed is false",
        "name:text passed:flag added:count changed:count removed:count checks:checks",
    ),
    (
        "guard",
        "commit; exit code 4 where passed is false, and then there is no commit",
        "name:text passed:flag added:count changed:count removed:count checks:checks commit:digest? seq:count? root:digest?",
    ),
    ("guard", "drop", "name:text dropped:flag"),
    (
        "guard",
        "show, a line each; a version is as export writes it",
        "id:text change:change old:version? new:version?",
    ),
    (
        "guard",
        "recall, a line each",
        "query:text kept:texts lost:texts gained:texts",
    ),
    (
        "guard",
        "list, a line each",
        "name:text base:digest? time:time actor:text? session:text? reason:text?",
    ),
    (
        "promote",
        "",
        "id:text digest:digest promoted:digest from:text to:text commit:digest seq:count root:digest",
    ),
    (
        "quarantine",
        "a line each",
        "name:text reason:text? time:time actor:text? session:text? ids:texts ids_total:count preview:text",
    ),
    (
        "quarantine",
        "with --release",
        "name:text released:flag ids:texts commit:digest seq:count root:digest",
    ),
    ("quarantine", "with --discard", "name:text discarded:flag"),
    (
        "audit",
        "a line each",
        "commit:digest seq:count time:time op:text target:digest? actor:text? session:text? source:text? trust:text \
         reason:text? added:count changed:count removed:count ids:texts ids_total:count",
    ),
    (
        "session",
        "append",
        "session:text root_session:text scope:text appended:count flagged:count first:text? last:text? not_stored:not_stored \
         held:texts commit:digest seq:count root:digest",
    ),
    (
        "session",
        "end, without a reply",
        "session:text prompt:text gate:text? turns:count entries:count trusted:flag",
    ),
    (
        "session",
        "end",
        "session:text reason:text? episode:text? facts:facts skipped:skipped_facts held:text? commit:digest seq:count \
         root:digest",
    ),
    (
        "session",
        "summaries, a line each",
        "id:text bucket:text granularity:text text:text score:number origin:text time:time?",
    ),
    (
        "session",
        "summaries --due, a line each",
        "bucket:text granularity:text text:text entries:count unseen:count left_out:count",
    ),
    (
        "session",
        "summarise",
        "root_session:text written:summaries held:text? commit:digest seq:count root:digest",
    ),
    (
        "session",
        "list, a line each",
        "session:text scope:text parent:text? root_session:text objects:count created:time? updated:time?",
    ),
    (
        "import",
        "a folder of blocks",
        "format:text created:count updated:count unchanged:count stale:count conflicts:count quarantined:count refused:count \
         files:taken_files missing:texts pruned:texts held:text? commit:digest seq:count root:digest",
    ),
    (
        "import",
        "a file of another system",
        "format:text created:count updated:count unchanged:count flagged:count quarantined:count refused:count past:count \
         findings:foreign_findings held:text? commit:digest seq:count root:digest",
    ),
    (
        "note",
        "write",
        "id:text? action:text digest:digest? owner:text scope:text cleared:count verdict:text rules:texts held:text? \
         commit:digest seq:count root:digest",
    ),
    (
        "note",
        "read, and a line each of list",
        "id:text text:text owner:text? scope:text created:time? updated:time? read:time? origin:text digest:digest flags:texts",
    ),
    (
        "note",
        "search, a line each",
        "id:text snippet:text score:number own:flag owner:text? scope:text created:time? updated:time? read:time? origin:text \
         digest:digest flags:texts",
    ),
    (
        "note",
        "delete",
        "deleted:flag id:text scope:text commit:digest seq:count root:digest",
    ),
];

/// An item that is about the same.
const ALIKE: &str = "id:text similarity:number text:text";

/// The forms of the answers that are not typed yet.
pub(crate) fn forms(verb: &str) -> Vec<Value> {
    let found = ANSWERS.iter().filter(|(name, _, _)| *name == verb);
    found.map(|(_, when, fields)| object(when, fields)).collect()
}

/// What there are schemas of.
pub(crate) fn names() -> Vec<&'static str> {
    ANSWERS.iter().map(|(name, _, _)| *name).collect()
}

fn object(when: &str, fields: &str) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for field in fields.split_whitespace() {
        let (name, kind) = field.split_once(':').unwrap_or((field, "text"));
        if !kind.ends_with('*') {
            required.push(name);
        }
        properties.insert(name.to_owned(), property(kind.trim_end_matches('*')));
    }
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    if !when.is_empty() {
        schema["description"] = when.into();
    }
    schema
}

/// What a type of [`ANSWERS`] means.
fn property(kind: &str) -> Value {
    if let Some(kind) = kind.strip_suffix('?') {
        return json!({ "anyOf": [property(kind), { "type": "null" }] });
    }
    let list = |items: Value| json!({ "type": "array", "items": items });
    let one_of = |words: &[&str]| json!({ "enum": words });
    match kind {
        "digest" => json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" }),
        "time" => json!({ "type": "string", "format": "date-time" }),
        "count" => json!({ "type": "integer", "minimum": 0 }),
        "flag" => json!({ "type": "boolean" }),
        "map" => json!({ "type": "object" }),
        "texts" => list(property("text")),
        "digests" => list(property("digest")),
        "hash" => one_of(&["blake3", "sha256"]),
        "change" => one_of(&["added", "changed", "removed"]),
        "state" => one_of(&["kept", "thinned", "absent"]),
        "state_at" => object("the state that --at names", "seq:count root:digest objects:count"),
        "findings" => list(object("", "kind:damage file:text offset:count? what:text")),
        "problems" => list(object(
            "command is null where nothing has to be done",
            "severity:severity code:text file:text? offset:count? what:text command:text?",
        )),
        "damage" => one_of(&["corrupt", "missing", "cut", "older", "foreign", "unproven"]),
        "severity" => one_of(&["damage", "warning", "notice"]),
        "number" => json!({ "type": "number" }),
        "alike" => list(object("the likest first", ALIKE)),
        "conflicts" => list(object("", &format!("{ALIKE} new_text:text"))),
        "remembered" => one_of(&[
            "created",
            "updated",
            "unchanged",
            "duplicate",
            "merged",
            "superseded",
            "quarantined",
            "disabled",
        ]),
        "verdict" => one_of(&["allow", "flag", "quarantine", "block"]),
        "refused" => list(object(
            "a line that was not stored; verdict is block, quarantine, denied or invalid",
            "line:count id:text? verdict:text reason:text",
        )),
        "items" => list(object("", "id:text kind:text scope:text digest:digest")),
        "moves" => list(object(
            "an item that went a level down; original is the version with the full text",
            "id:text from:level to:level original:digest chars_before:count chars_after:count",
        )),
        "level" => one_of(&["full", "summary", "keywords", "gone"]),
        "skipped" => list(object(
            "a file left out by --skip-bad",
            "path:text code:text message:text",
        )),
        "space" => list(object(
            "what records of a kind take",
            "kind:text records:count bytes:count",
        )),
        "erased" => list(object(
            "what goes; `erased` counts the versions among them, or where there are none all",
            "kind:erased_kind digest:digest id:text? bytes:count",
        )),
        "erased_kind" => one_of(&["version", "content", "text"]),
        "hits" => list(object(
            "what was found, best first",
            "id:text kind:text scope:text score:number confidence:number snippet:text time:time trust:text tokens:count \
             why:texts superseded_by:texts speaker:text? session:text? digest:digest text:text* reasons:reasons*",
        )),
        "reasons" => list(object(
            "a term of the score: value by weight",
            "name:text meaning:text value:number weight:number",
        )),
        "levels" => list(object("", "bitmap:count count:count siblings:texts")),
        "error" => object("", "code:text message:text hint:text? ids:texts*"),
        "note" => object("", "code:text message:text"),
        "version" => object(
            "",
            "id:text kind:text scope:text parent:text* position:text* attributes:map* content:text* origin:text \
             derived_from:texts* event_time:time* expires:time* reserved:map* past:flag*",
        ),
        "shown" => list(object(
            "a record of the envelope; what is empty is not said in it",
            "id:text section:text trust:text flags:text source:text time:text",
        )),
        "untrusted" => object("what matches and is not trusted", "untrusted:count"),
        "left_out" => object(
            "how many items are not in it, by reason",
            "entries:count notes:count untrusted:count full:count empty:count forged:count duplicates:count budget:count \
             expired:count superseded:count sensitive:count beside:count",
        ),
        "checks" => list(object(
            "why and advice are empty where it passed; at most 20 ids",
            "check:text passed:flag why:text ids:texts ids_total:count advice:text",
        )),
        other => exchanged(other).unwrap_or_else(|| json!({ "type": "string" })),
    }
}

/// What a type means that only sessions and imports have.
fn exchanged(kind: &str) -> Option<Value> {
    let list = |items: Value| json!({ "type": "array", "items": items });
    Some(match kind {
        "not_written" => list(object("a block that was not written", "id:text why:text")),
        "not_stored" => list(object(
            "an entry that the scan kept out, by its place among those given",
            "place:count verdict:text rules:texts",
        )),
        "facts" => list(object(
            "a fact of the reply: stored, known, quarantined or refused",
            "about:text text:text fate:text id:text? reason:text?",
        )),
        "skipped_facts" => list(object("what of the reply is no fact", "place:count reason:text")),
        "summaries" => list(object(
            "",
            "bucket:text id:text host:flag stored:flag rules:texts",
        )),
        "taken_files" => list(object(
            "created, updated, unchanged, stale, conflict, quarantined or refused",
            "path:text id:text? taken:text said:texts",
        )),
        "foreign_findings" => list(object("", "at:text what:text")),
        _ => return None,
    })
}
