//! Edits a JSON text in place: what an edit does not name keeps its bytes, also comments and commas that JSON forbids.
//!
//! A settings file belongs to its user, who formats it, orders it and comments it. So an edit inserts and removes spans of
//! the text, and never writes the whole document again.
//!
//! # Layer
//! Layer 10, part of cli. Pure.
//!
//! # Invariants
//! - JED-1: removing what an edit inserted gives the text before, byte for byte.

use std::collections::BTreeSet;

use serde::Serialize as _;
use serde_json::ser::PrettyFormatter;
use serde_json::{Serializer, Value as Json};

/// The deepest nesting that is read.
const DEPTH_MAX: usize = 128;
/// The usual indent.
const INDENT: &str = "  ";

/// A step to a value in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    Key(&'a str),
    At(usize),
}

/// A value with its place in the text.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    start: usize,
    end: usize,
    /// The members of an object or the items of a list.
    children: Option<Vec<Child>>,
    is_list: bool,
}

#[derive(Clone, Debug)]
struct Child {
    /// The key of a member, decoded.
    key: Option<String>,
    /// Where the key or the item begins.
    start: usize,
    value: Node,
    /// Where the comma after the value is.
    comma: Option<usize>,
}

/// A text that is edited, as often as needed.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    text: String,
    root: Node,
    odd: Option<Refusal>,
}

/// Why a text cannot be edited, with the line and the column if they are known.
pub(crate) type Refusal = String;

impl Document {
    /// Reads a text. Comments and a comma behind the last member are allowed.
    pub(crate) fn read(text: &str) -> Result<Self, Refusal> {
        let mut reader = Reader {
            text,
            at: 0,
            odd: None,
        };
        let mut read = || {
            reader.blank()?;
            let root = reader.value(0)?;
            reader.blank()?;
            if reader.at < text.len() {
                return Err("the text goes on after its end");
            }
            Ok(root)
        };
        let root = read().map_err(|why| format!("{}: {why}", place_in(text, reader.at)))?;
        let odd = reader
            .odd
            .map(|(at, what)| format!("{}: {what}", place_in(text, at)));
        Ok(Self {
            text: text.to_owned(),
            root,
            odd,
        })
    }

    /// Returns the first thing that JSON forbids and this reader allows, such as a comment. A client may not read it.
    pub(crate) fn odd(&self) -> Option<&Refusal> {
        self.odd.as_ref()
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn node(&self, path: &[Step<'_>]) -> Option<&Node> {
        path.iter().try_fold(&self.root, |node, step| {
            let mut children = node.children.iter().flatten();
            let child = match step {
                Step::Key(key) => children.rfind(|child| child.key.as_deref() == Some(key)),
                Step::At(place) => children.filter(|child| child.key.is_none()).nth(*place),
            };
            child.map(|child| &child.value)
        })
    }

    /// Returns the value at a path.
    pub(crate) fn get(&self, path: &[Step<'_>]) -> Option<Json> {
        self.node(path).map(|node| self.json(node))
    }

    fn json(&self, node: &Node) -> Json {
        let children = node.children.iter().flatten();
        match (&node.children, node.is_list) {
            (None, _) => serde_json::from_str(&self.text[node.start..node.end]).unwrap_or(Json::Null),
            (Some(_), true) => children.map(|child| self.json(&child.value)).collect(),
            (Some(_), false) => children
                .map(|child| (child.key.clone().unwrap_or_default(), self.json(&child.value)))
                .collect(),
        }
    }

    /// Returns the white space in an object or list without children, which an insertion replaces.
    pub(crate) fn inner_blank(&self, path: &[Step<'_>]) -> Option<String> {
        let node = self.node(path)?;
        node.children.as_ref().filter(|children| children.is_empty())?;
        Some(self.text[node.start + 1..node.end - 1].to_owned())
    }

    /// Inserts a member as the last one of the object at a path, or an item as the last one of the list.
    ///
    /// # Errors
    /// There is no object or list at the path.
    pub(crate) fn insert(
        &mut self,
        path: &[Step<'_>],
        key: Option<&str>,
        value: &Json,
    ) -> Result<(), Refusal> {
        let node = self.node(path).filter(|node| node.is_list == key.is_none());
        let Some((node, children)) = node.and_then(|node| Some((node, node.children.as_ref()?))) else {
            return Err(format!(
                "{} is not {}",
                shown(path),
                if key.is_some() { "an object" } else { "a list" }
            ));
        };
        let line = self.line_end();
        let unit = self.indent();
        let is_flat = line.is_empty();
        let indent = match children.last().and_then(|last| self.blank_before(last.start)) {
            Some(blank) => blank.to_owned(),
            None => unit.repeat(path.len() + 1),
        };
        let rendered = self.rendered(key, value, &indent, is_flat);
        let inserted = if is_flat {
            rendered
        } else {
            format!("{line}{indent}{rendered}")
        };
        let (range, new) = match children.last() {
            Some(last) => (last.value.end..last.value.end, format!(",{inserted}")),
            None => {
                let inner = &self.text[node.start + 1..node.end - 1];
                let close = if is_flat {
                    String::new()
                } else {
                    format!("{line}{}", unit.repeat(path.len()))
                };
                let is_blank = inner.trim().is_empty();
                let end = if is_blank { node.end - 1 } else { node.start + 1 };
                (
                    node.start + 1..end,
                    inserted + if is_blank { close.as_str() } else { "" },
                )
            }
        };
        self.splice(range, &new)
    }

    /// Replaces the value at a path.
    ///
    /// # Errors
    /// There is no value at the path.
    pub(crate) fn replace(&mut self, path: &[Step<'_>], value: &Json) -> Result<(), Refusal> {
        let node = self
            .node(path)
            .ok_or_else(|| format!("{} is not there", shown(path)))?;
        let range = node.start..node.end;
        let line = self.text[..range.start].rsplit('\n').next().unwrap_or_default();
        let indent = &line[..line.len() - line.trim_start().len()];
        let new = self.rendered(None, value, indent, self.line_end().is_empty());
        self.splice(range, &new)
    }

    /// Removes the value at a path, with its key. `inner` is the white space of an object or list that becomes empty.
    ///
    /// # Errors
    /// There is no value at the path.
    pub(crate) fn remove(&mut self, path: &[Step<'_>], inner: &str) -> Result<(), Refusal> {
        let gone = || format!("{} is not there", shown(path));
        let (last, above) = path.split_last().ok_or_else(gone)?;
        let parent = self.node(above).ok_or_else(gone)?;
        let children = parent.children.as_deref().unwrap_or_default();
        let place = match last {
            Step::Key(key) => children
                .iter()
                .rposition(|child| child.key.as_deref() == Some(key)),
            Step::At(place) => Some(*place).filter(|place| *place < children.len()),
        };
        let place = place.ok_or_else(gone)?;
        let (child, end) = (&children[place], children[place].value.end);
        let before = place.checked_sub(1).map(|before| &children[before]);
        match (before, children.get(place + 1)) {
            (_, Some(next)) => {
                let comma = child.comma.unwrap_or(end);
                let after = (comma + 1).clamp(end, next.start);
                // A comment of the user stays with what follows it.
                let kept = format!("{}{}", &self.text[end..comma], &self.text[after..next.start]);
                let kept = if kept.trim().is_empty() {
                    String::new()
                } else {
                    kept.trim_start().to_owned()
                };
                self.splice(child.start..next.start, &kept)
            }
            (Some(before), None) => {
                let comma = before.comma.unwrap_or(before.value.end);
                let between = &self.text[comma + 1..child.start];
                if between.trim().is_empty() && comma == before.value.end {
                    return self.splice(comma..end, "");
                }
                // A comment of the user stands in between.
                let kept = format!("{}{}", &self.text[before.value.end..comma], between.trim_end());
                self.splice(before.value.end..end, &kept)
            }
            (None, None) => {
                let after = child.comma.map_or(end, |comma| comma + 1);
                let (head, tail) = (
                    &self.text[parent.start + 1..child.start],
                    &self.text[after..parent.end - 1],
                );
                let is_blank = head.trim().is_empty() && tail.trim().is_empty();
                // A comment of the user stays, and ends where it ended.
                let new = if is_blank {
                    inner.to_owned()
                } else {
                    format!("{}{tail}", head.trim_end())
                };
                self.splice(parent.start + 1..parent.end - 1, &new)
            }
        }
    }

    fn splice(&mut self, range: std::ops::Range<usize>, new: &str) -> Result<(), Refusal> {
        let mut text = self.text.clone();
        text.replace_range(range, new);
        *self = Self::read(&text)?;
        Ok(())
    }

    /// Returns the line end of the text, or nothing if the text is one line with something in it.
    fn line_end(&self) -> &'static str {
        let trimmed = self.text.trim();
        if self.text.contains("\r\n") {
            "\r\n"
        } else if trimmed.contains('\n') || trimmed.len() <= 2 {
            "\n"
        } else {
            ""
        }
    }

    fn indent(&self) -> String {
        let mut lines = self
            .text
            .lines()
            .filter(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty());
        let line = lines.next().unwrap_or(INDENT);
        let blank = &line[..line.len() - line.trim_start().len()];
        if blank.is_empty() {
            INDENT.to_owned()
        } else {
            blank.to_owned()
        }
    }

    /// Returns the blank before a place, if nothing else is before it on its line.
    fn blank_before(&self, at: usize) -> Option<&str> {
        let (_, line) = self.text[..at].rsplit_once('\n')?;
        line.trim().is_empty().then_some(line)
    }

    fn rendered(&self, key: Option<&str>, value: &Json, indent: &str, is_flat: bool) -> String {
        let value = if is_flat {
            value.to_string()
        } else {
            let unit = self.indent();
            let text = pretty(value, &unit);
            text.replace('\n', &format!("{}{indent}", self.line_end()))
        };
        match key {
            Some(key) if is_flat => format!("{}:{value}", Json::from(key)),
            Some(key) => format!("{}: {value}", Json::from(key)),
            None => value,
        }
    }
}

fn pretty(value: &Json, indent: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(indent.as_bytes());
    drop(value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter)));
    String::from_utf8_lossy(&bytes).into_owned()
}

fn shown(path: &[Step<'_>]) -> String {
    let steps = path.iter().map(|step| match step {
        Step::Key(key) => format!("/{key}"),
        Step::At(place) => format!("/{place}"),
    });
    let path: String = steps.collect();
    if path.is_empty() {
        "the document".to_owned()
    } else {
        path
    }
}

/// Returns the line and the column of a byte, as editors count them.
pub(crate) fn place_in(text: &str, at: usize) -> String {
    let before = &text[..text.floor_char_boundary(at)];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("line {line}, column {column}")
}

/// Why a text is no document. The place is where the reader stands.
type Fault = &'static str;

/// Reads values with their places.
struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// The first thing that JSON forbids, with its place.
    odd: Option<(usize, &'static str)>,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn note(&mut self, at: usize, what: &'static str) {
        self.odd.get_or_insert((at, what));
    }

    /// Passes over white space and comments.
    fn blank(&mut self) -> Result<(), Fault> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n', '\u{feff}']).len();
            self.at += blank;
            let rest = self.rest();
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").ok_or("the comment has no end")? + 2
            } else {
                return Ok(());
            };
            self.note(self.at, "JSON has no comments");
            self.at += length;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Fault> {
        let start = self.at;
        let is_list = match self.rest().as_bytes().first() {
            Some(b'{') => false,
            Some(b'[') => true,
            Some(b'"') => {
                let end = start + string_length(self.rest()).ok_or("the text has no end")?;
                return self.scalar(end);
            }
            _ => {
                let rest = self.rest();
                let end =
                    rest.find(|letter: char| !letter.is_ascii_alphanumeric() && !"+-.".contains(letter));
                return self.scalar(start + end.unwrap_or(rest.len()));
            }
        };
        if depth == DEPTH_MAX {
            return Err("it is nested too deep");
        }
        self.at += 1;
        let close = if is_list { ']' } else { '}' };
        let mut children: Vec<Child> = Vec::new();
        let mut keys = BTreeSet::new();
        loop {
            self.blank()?;
            if self.rest().starts_with(close) {
                if let Some(comma) = children.last().and_then(|last| last.comma) {
                    self.note(comma, "JSON has no comma after the last value");
                }
                self.at += 1;
                return Ok(Node {
                    start,
                    end: self.at,
                    children: Some(children),
                    is_list,
                });
            }
            let begin = self.at;
            let key = if is_list { None } else { Some(self.key()?) };
            if key.as_ref().is_some_and(|key| !keys.insert(key.clone())) {
                self.note(begin, "the key is repeated");
            }
            let value = self.value(depth + 1)?;
            self.blank()?;
            let comma = self.rest().starts_with(',').then_some(self.at);
            if comma.is_some() {
                self.at += 1;
            } else if !self.rest().starts_with(close) {
                return Err("a comma is missing");
            }
            children.push(Child {
                key,
                start: begin,
                value,
                comma,
            });
        }
    }

    fn scalar(&mut self, end: usize) -> Result<Node, Fault> {
        let start = self.at;
        serde_json::from_str::<Json>(&self.text[start..end]).map_err(|_| "a value is missing")?;
        self.at = end;
        Ok(Node {
            start,
            end,
            children: None,
            is_list: false,
        })
    }

    fn key(&mut self) -> Result<String, Fault> {
        let length = string_length(self.rest()).ok_or("a key is missing")?;
        let key = serde_json::from_str(&self.rest()[..length]).map_err(|_| "a key is missing")?;
        self.at += length;
        self.blank()?;
        if !self.rest().starts_with(':') {
            return Err("a colon is missing");
        }
        self.at += 1;
        self.blank()?;
        Ok(key)
    }
}

/// Returns the length of the JSON string at the start of a text, with its quotes.
fn string_length(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    let mut bytes = text.bytes().enumerate();
    bytes.next().filter(|(_, first)| *first == b'"')?;
    for (at, byte) in bytes {
        match byte {
            b'"' if !is_escaped => return Some(at + 1),
            _ => is_escaped = byte == b'\\' && !is_escaped,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const TOP: &[Step<'_>] = &[];

    fn inserted(text: &str, path: &[Step<'_>], key: Option<&str>) -> Document {
        let mut document = Document::read(text).unwrap();
        document
            .insert(path, key, &json!({ "command": "x", "args": ["a", "b"] }))
            .unwrap();
        document
    }

    /// INVARIANT JED-1: removing what an edit inserted gives the text before, byte for byte.
    #[test]
    fn an_insertion_can_be_taken_back_exactly() {
        for text in [
            "{}",
            "{ }",
            "{\n}\n",
            "{\"a\":1}",
            "{\"a\": 1, }\n",
            "{\n\t\"a\": [1, 2], // mine\n\t\"b\": {}\n}\n",
            "\u{feff}{\r\n    \"a\": \"}\\\"\"\r\n}\r\n",
            "// first\n{\n  \"a\": null /* last */\n}",
            "{ /* nothing yet */ }",
            "{ // nothing yet\n}",
            "{\n    // nothing yet\n  }",
        ] {
            let before = Document::read(text).unwrap();
            let mut document = inserted(text, TOP, Some("treering"));
            assert_eq!(
                document.get(&[Step::Key("treering"), Step::Key("args"), Step::At(1)]),
                Some(json!("b"))
            );
            let inner = before.inner_blank(TOP).unwrap_or_default();
            document.remove(&[Step::Key("treering")], &inner).unwrap();
            assert_eq!(document.text(), text);
        }
        let list = "{\n  \"hooks\": {\n    \"Stop\": [\n      { \"x\": 1 }\n    ]\n  }\n}\n";
        let path = [Step::Key("hooks"), Step::Key("Stop")];
        let mut document = inserted(list, &path, None);
        assert!(document.text().contains("    ]\n  }\n}\n"));
        document.remove(&[path[0], path[1], Step::At(1)], "").unwrap();
        assert_eq!(document.text(), list);
    }

    /// A comment of the user next to what is removed stays.
    #[test]
    fn comments_next_to_a_removed_member_stay() {
        for (text, expected) in [
            (
                "{\n  \"x\": 1, // ours\n  // theirs\n  \"b\": 2\n}",
                "{\n  // ours\n  // theirs\n  \"b\": 2\n}",
            ),
            (
                "{\n  \"x\": 1 /* ours */,\n  \"b\": 2\n}",
                "{\n  /* ours */\n  \"b\": 2\n}",
            ),
            (
                "{\n  \"b\": 2, // b\n  \"x\": 1 // ours\n}",
                "{\n  \"b\": 2 // b // ours\n}",
            ),
            (
                "{\n  // before\n  \"x\": 1, // ours\n}",
                "{\n  // before // ours\n}",
            ),
        ] {
            let mut document = Document::read(text).unwrap();
            document.remove(&[Step::Key("x")], "").unwrap();
            assert_eq!(document.text(), expected, "{text}");
        }
    }

    #[test]
    fn a_text_that_is_no_document_is_refused() {
        for text in [
            "",
            "{",
            "{\"a\" 1}",
            "{\"a\":1 \"b\":2}",
            "{} x",
            "{\"a\":tru}",
            "[1 2]",
            "/* x",
            "\"x",
            "{'a':1}",
        ] {
            assert!(Document::read(text).is_err(), "{text}");
        }
        assert!(Document::read(&"[".repeat(100_000)).is_err());
        let place = |text: &str| Document::read(text).unwrap_err();
        assert!(place("{\n  \"é\": 1\n  \"b\": 2\n}").starts_with("line 3, column 3: "));
        assert!(place("{\"é\": x}").starts_with("line 1, column 7: "));
        assert!(
            Document::read("{\"a\":[]}")
                .unwrap()
                .insert(&[Step::Key("a")], Some("b"), &json!(1))
                .is_err()
        );
    }

    proptest! {
        #[test]
        fn jed_1_other_members_stay_in_any_document(
            names in proptest::collection::vec("[a-c\"\\\\ é]{0,3}", 0..5),
            blank in "[ \t\r\n]{0,3}",
            comment in prop_oneof![Just(""), Just("/* c */"), Just("// c\n")],
        ) {
            let members: Vec<String> = names.iter().enumerate()
                .map(|(number, name)| format!("{comment}{}{blank}:{number}", Json::from(format!("{number}{name}"))))
                .collect();
            let text = format!("{{{blank}{}{blank}}}{blank}", members.join(&format!("{blank},{comment}{blank}")));
            let before = Document::read(&text).unwrap();
            let mut document = inserted(&text, TOP, Some("treering"));
            let inner = before.inner_blank(TOP).unwrap_or_default();
            document.remove(&[Step::Key("treering")], &inner).unwrap();
            prop_assert_eq!(document.text(), text);
        }
    }
}
