//! Reads what is new in the transcript that a client keeps of a session.
//!
//! Clients write one JSON object a line, Gemini CLI also one document. `treering::ingest` knows the form of each line. This
//! reader joins the call of a tool with its result, and keeps the texts of the person and of the model.
//!
//! # Layer
//! Layer 8, inside `hook`. Pure.
//!
//! # Invariants
//! - HKT-1: the result of a tool and a text of a program are never a text of the person or of the model.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::event::Call;
use super::fields::{input_of, text_of};
use super::json::json_of;
use treering::Time;
use treering::inspect::ingest::json::loose_time_from_json;
use treering::inspect::ingest::{Turn, TurnPart, is_of_program, turn_of};

/// The number of calls that may wait for their results. The oldest names give way.
const OPEN_MAX: usize = 256;
/// The tool of a result whose call is not known. It counts as outside.
const UNKNOWN_TOOL: &str = "unknown tool";

/// The calls whose results are still to come, by their names.
pub(crate) type Open = BTreeMap<String, Call>;

/// A part of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Said {
    /// The session that the line names. A resumed or forked session has lines of the one before.
    pub(crate) session: Option<String>,
    pub(crate) what: Spoken,
}

/// A text or a call in a transcript.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Spoken {
    /// A text with the role of the person.
    Person { text: String, time: Option<Time> },
    /// A text of the model. `name` is unique in the transcript, if the client names its lines.
    Model {
        text: String,
        name: Option<String>,
        time: Option<Time>,
    },
    /// A call of a tool, with its result.
    Called(Call),
}

/// What a part of a transcript says, and how far it was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Read {
    pub(crate) said: Vec<Said>,
    /// The number of read bytes.
    pub(crate) bytes: usize,
    /// The calls whose results are still to come.
    pub(crate) open: Open,
}

/// Reads the lines of a transcript. `open` has the calls of earlier lines. A last line that is not whole waits for the next
/// call.
pub(crate) fn read_from(bytes: &[u8], open: Open) -> Read {
    let mut reader = Reader::new(open);
    let mut read = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let parsed = json_of(line);
        if !line.ends_with(b"\n") && parsed.is_err() {
            break;
        }
        if let Ok(Json::Object(map)) = parsed {
            reader.line(&map);
        }
        read += line.len();
    }
    reader.finish(read)
}

/// Reads messages of a transcript that is one document.
pub(crate) fn read_messages(messages: &[Json], open: Open) -> Read {
    let mut reader = Reader::new(open);
    messages
        .iter()
        .filter_map(Json::as_object)
        .for_each(|map| reader.line(map));
    reader.finish(0)
}

/// Returns the messages of a transcript that is one document.
pub(crate) fn messages_of(bytes: &[u8]) -> Vec<Json> {
    let json = json_of(bytes).unwrap_or(Json::Null);
    match json {
        Json::Object(mut map) => match map.remove("messages") {
            Some(Json::Array(messages)) => messages,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

#[derive(Default)]
struct Reader {
    said: Vec<Said>,
    open: Open,
    /// The session that the present line names.
    session: Option<String>,
}

impl Reader {
    fn new(open: Open) -> Self {
        Self {
            open,
            ..Self::default()
        }
    }

    fn finish(mut self, bytes: usize) -> Read {
        while self.open.len() > OPEN_MAX {
            drop(self.open.pop_first());
        }
        Read {
            said: self.said,
            bytes,
            open: self.open,
        }
    }

    fn add(&mut self, what: Spoken) {
        let session = self.session.clone();
        self.said.push(Said { session, what });
    }

    /// Reads a line. Its text counts where its last part stands: what a tool gave back before it taints it.
    fn line(&mut self, line: &Map<String, Json>) {
        let Some(turn) = turn_of(line) else { return };
        self.session = turn.session.map(str::to_owned);
        let is_text = |part: &TurnPart<'_>| matches!(part, TurnPart::Text(_));
        let last = turn.parts.iter().rposition(is_text);
        for (place, part) in turn.parts.iter().enumerate() {
            match *part {
                TurnPart::Call {
                    id,
                    server,
                    tool: Some(tool),
                    input,
                } => {
                    // Codex writes the server of a tool apart.
                    let tool = server.map_or_else(|| tool.to_owned(), |server| format!("{server}__{tool}"));
                    self.begin(id, tool, input);
                }
                TurnPart::Result { id, output } => self.end(id, text_of(output)),
                TurnPart::Done { tool, input, output } => self.add(Spoken::Called(Call {
                    name: None,
                    tool: tool.to_owned(),
                    input: input_of(input),
                    output: text_of(output),
                })),
                TurnPart::Text(_) if last == Some(place) => self.text(&turn),
                _ => {}
            }
        }
    }

    /// Adds the text of a message, without what a program wrote in the name of the person (HKT-1). An agent below has its own
    /// task, which is no prompt, and a summary repeats what is here already.
    fn text(&mut self, turn: &Turn<'_>) {
        let is_person = turn.role == "user";
        let texts = turn.parts.iter().filter_map(|part| match part {
            TurnPart::Text(text) if is_person => Some(typed(text)).filter(|text| !is_of_program(text)),
            TurnPart::Text(text) => Some(text.trim()),
            _ => None,
        });
        let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        let text = texts.join("\n\n");
        if text.is_empty() || turn.by.is_some() {
            return;
        }
        let time = turn.time.and_then(|time| loose_time_from_json(time).ok());
        match turn.role {
            "user" => self.add(Spoken::Person { text, time }),
            "assistant" | "model" => {
                let name = turn.name.map(str::to_owned);
                self.add(Spoken::Model { text, name, time });
            }
            _ => {}
        }
    }

    /// Notes a call whose result is still to come. A call without a name of its own has no result that names it, so it counts
    /// at once.
    fn begin(&mut self, name: Option<&str>, tool: String, input: &Json) {
        let call = Call {
            name: name.map(str::to_owned),
            tool,
            input: input_of(input),
            output: String::new(),
        };
        match name {
            Some(name) => drop(self.open.insert(name.to_owned(), call)),
            None => self.add(Spoken::Called(call)),
        }
    }

    fn end(&mut self, name: Option<&str>, output: String) {
        let call = name.and_then(|name| self.open.remove(name));
        // HKC-2: the call may have read anything.
        let call = call.unwrap_or_else(|| Call {
            name: name.map(str::to_owned),
            tool: UNKNOWN_TOOL.to_owned(),
            ..Call::default()
        });
        self.add(Spoken::Called(Call { output, ..call }));
    }
}

/// Returns the text that a person typed, without the tags in which Cursor puts it.
fn typed(text: &str) -> &str {
    let text = text.trim();
    let inner = text.split_once("<user_query>").and_then(|(before, rest)| {
        let is_tag = before.trim().is_empty() || before.trim_start().starts_with("<timestamp>");
        is_tag.then(|| rest.rsplit_once("</user_query>").map_or(rest, |(inner, _)| inner))
    });
    inner.map_or(text, str::trim)
}
