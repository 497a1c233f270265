//! The parts of a message: texts, calls of tools, their results, images and thoughts, as the content of one entry.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure.

use serde_json::{Map, Value as Json};

use super::client::{Part, kind_of};

/// The longest text of a message in bytes. A longer text is cut, because an object has a limit.
const TEXT_BYTES_MAX: usize = 512 << 10;
/// The longest text in an attribute in bytes.
const ATTRIBUTE_BYTES_MAX: usize = 32 << 10;
/// The size in bytes from which a text of only base64 digits is data, not words.
const DATA_BYTES_MIN: usize = 1024;
/// The deepest nesting of parts.
const DEPTH_MAX: usize = 8;

/// The starts of texts that a program writes in the name of the person.
const OF_PROGRAMS: [&str; 12] = [
    "<command-name>",
    "<command-message>",
    "[Request interrupted by user",
    "<local-command-",
    "<bash-std",
    "<system-reminder>",
    "<task-notification>",
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<skill>",
    "# AGENTS.md instructions for ",
];

/// The content of a message.
#[derive(Default)]
pub(super) struct Said {
    /// What the speaker said, and the calls of tools.
    texts: Vec<String>,
    /// The results of tools, and what programs wrote in the name of the person. They are not the words of the speaker
    /// (TRL-1).
    results: Vec<String>,
    /// Whether the message has the role of the person.
    is_person: bool,
    /// Whether a part has thoughts of a model. They are left out: a model said them to nobody.
    pub(super) has_thoughts: bool,
}

impl Said {
    /// Takes in the parts of a message.
    pub(super) fn of(parts: &[Part<'_>], is_person: bool) -> Self {
        let mut said = Self {
            is_person,
            ..Self::default()
        };
        for part in parts {
            match *part {
                Part::Text(text) => said.add_text(text),
                Part::Call { tool, input, .. } => said.texts.push(call(tool, input)),
                Part::Result { output, .. } => said.results.extend(result(output)),
                Part::Done { tool, input, output } => {
                    said.texts.push(call(Some(tool), input));
                    said.results.extend(result(output));
                }
                Part::Thoughts => said.has_thoughts = true,
                Part::Other(map) => said.texts.extend(picture(map)),
            }
        }
        said
    }

    fn add_text(&mut self, text: &str) {
        let is_foreign = self.is_person && is_of_program(text);
        let list = if is_foreign {
            &mut self.results
        } else {
            &mut self.texts
        };
        list.push(text.to_owned());
    }

    /// Adds the calls of tools beside the content, as `OpenAI` writes them.
    pub(super) fn add_calls(&mut self, calls: Option<&Json>) {
        for one in calls.and_then(Json::as_array).into_iter().flatten() {
            if let Some(function) = one.get("function") {
                let name = function.get("name").and_then(Json::as_str);
                let input = function.get("arguments").unwrap_or(&Json::Null);
                self.texts.push(call(name, input));
            }
        }
    }

    /// Returns what the speaker said, or `None` if he said nothing.
    pub(super) fn text(&self) -> Option<String> {
        joined(&self.texts)
    }

    /// Returns the results of tools.
    pub(super) fn result(&self) -> Option<String> {
        joined(&self.results)
    }
}

/// Checks whether a program wrote a text of the role of the person.
pub fn is_of_program(text: &str) -> bool {
    let text = text.trim_start();
    OF_PROGRAMS.iter().any(|start| text.starts_with(start))
}

fn joined(texts: &[String]) -> Option<String> {
    (!texts.is_empty()).then(|| cut(&texts.join("\n\n"), TEXT_BYTES_MAX))
}

/// Returns the call of a tool as a text: its name and its input.
fn call(name: Option<&str>, input: &Json) -> String {
    let input = match input {
        Json::String(text) => Some(text.clone()),
        Json::Null => None,
        json => {
            let mut json = json.clone();
            tidy(&mut json);
            Some(json.to_string())
        }
    };
    let words = [name.map(str::to_owned), input];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Returns the result of a tool as a text. A program may write the result as a text, as parts, or as a map with the text.
pub(super) fn result(content: &Json) -> Option<String> {
    let mut texts = Vec::new();
    add_result(content, 0, &mut texts);
    joined(&texts)
}

fn add_result(content: &Json, depth: usize, texts: &mut Vec<String>) {
    match content {
        Json::String(text) if !text.is_empty() => {
            texts.push(without_data(text).unwrap_or_else(|| text.clone()));
        }
        Json::Array(parts) if depth < DEPTH_MAX => {
            for part in parts {
                add_result(part, depth + 1, texts);
            }
        }
        Json::Object(map) => {
            let inner = ["text", "content", "output"]
                .into_iter()
                .find_map(|name| map.get(name).filter(|inner| !inner.is_null()));
            match inner {
                Some(inner) if depth < DEPTH_MAX => add_result(inner, depth + 1, texts),
                _ => texts.extend(picture(map)),
            }
        }
        _ => {}
    }
}

/// Returns a note in place of an image or another file of a message.
fn picture(part: &Map<String, Json>) -> Option<String> {
    let kind = kind_of(part)
        .trim_start_matches("input_")
        .trim_end_matches("_url");
    let kind = kind.trim_end_matches("_asset_pointer");
    if !["image", "document", "file", "audio", "video"].contains(&kind) {
        return None;
    }
    let source = part.get("source").unwrap_or(&Json::Null);
    if source.get("type").and_then(Json::as_str) == Some("text") {
        return source.get("data").and_then(Json::as_str).map(str::to_owned);
    }
    let named = ["media_type", "mime_type"]
        .into_iter()
        .find_map(|name| source.get(name).or_else(|| part.get(name))?.as_str());
    Some(match named {
        Some(media) => format!("[{kind}: {media}]"),
        None => format!("[{kind}]"),
    })
}

/// Makes the fields of a message small enough for an object: a note replaces data, and long texts are cut.
pub(super) fn tidy(json: &mut Json) {
    match json {
        Json::String(text) => {
            if let Some(note) = without_data(text) {
                *text = note;
            } else if text.len() > ATTRIBUTE_BYTES_MAX {
                *text = cut(text, ATTRIBUTE_BYTES_MAX);
            }
        }
        // An object has integers of 64 bits with a sign only.
        Json::Number(number) if number.as_i64().is_none() => {
            *json = Json::from(number.as_f64().unwrap_or_default());
        }
        Json::Array(list) => list.iter_mut().for_each(tidy),
        Json::Object(map) => map.values_mut().for_each(tidy),
        _ => {}
    }
}

/// Removes from a part what the content of the entry has: the input of a call, its result, and thoughts.
pub(super) fn without_content(part: &mut Json) {
    if let Json::Object(map) = part {
        let kind = kind_of(map).to_owned();
        let said: &[&str] = if kind.ends_with("tool_use") {
            &["input"]
        } else if kind.ends_with("tool_result") {
            &["content"]
        } else if kind.contains("thinking") || kind == "reasoning" {
            &["thinking", "text", "data", "signature", "encrypted_content"]
        } else {
            &[]
        };
        for name in said {
            map.shift_remove(*name);
        }
    }
    tidy(part);
}

/// Returns a note in place of a text that is only data, such as an image in base64.
fn without_data(text: &str) -> Option<String> {
    let (kind, data) = match text
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"))
    {
        Some((media, data)) => (media, data),
        None => ("data", text),
    };
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=-_\r\n".contains(&byte);
    let is_data = data.len() >= DATA_BYTES_MIN && data.bytes().all(is_digit);
    is_data.then(|| format!("[{}: {} bytes in base64]", cut(kind, 60), data.len()))
}

/// Returns a text of at most about `most` bytes, with a note about the rest.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let kept = text.floor_char_boundary(most);
    format!("{} [{} more bytes]", &text[..kept], text.len() - kept)
}
