//! Renders a tree of objects as the text of a file, and checks the text by parsing it.
//!
//! Each object is written in the syntax of the format, and parsed again. Fields that differ after parsing are stated
//! explicitly in the text. So the text is as plain as possible, and still contains everything that the format cannot
//! express.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure.
//!
//! # Invariants
//! - EXP-2: an empty memory that ingests the text gets exactly the objects of the tree. Otherwise the export is
//!   refused.
//! - EXP-3: a part of a list is read as the same objects, whatever precedes or follows it.

use std::collections::HashSet;

use serde_json::{Map, Value as Json};

use super::super::document::{DOCUMENT_KIND, Document, HEADING_KIND};
use super::super::format::Format;
use super::super::json;
use super::super::order;
use super::super::plan::{Existing, IngestOptions, Write, plan};
use super::tree::{Node, Tree};
use crate::digest::HashSuite;
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Attributes, Id, Object, Origin, Position, Scope, Value};

/// The syntax of a format.
pub(super) trait Syntax {
    fn format(&self) -> Format;
    /// Returns the deepest level of a heading.
    fn levels_max(&self) -> usize;
    /// Returns the first lines of a list of objects.
    fn list_head(&self) -> String;
    /// Returns, as lines, the declarations in a text that change the parsing of headings anywhere in the file.
    fn context(&self, text: &str) -> String;
    /// Returns whether a text would change how other objects are parsed, either at the start of a document or in a
    /// list.
    fn changes_context(&self, text: &str, shape: Shape, at_start: bool) -> bool;
    /// Returns the part of a document before its text.
    fn preamble(&self, attributes: &Attributes, statement: Option<&str>) -> String;
    fn heading(&self, heading: &Heading<'_>) -> String;
    /// Returns a text in its plain form.
    fn body(&self, content: &str) -> String;
    /// Returns a quoted text, in which the parser finds no structure.
    fn quote(&self, content: &str) -> String;
}

/// A heading to write.
pub(super) struct Heading<'a> {
    pub(super) level: usize,
    pub(super) attributes: &'a Attributes,
    pub(super) id: Option<&'a str>,
    /// The fields to state with the heading, as JSON.
    pub(super) statement: Option<&'a str>,
}

impl<'a> Heading<'a> {
    /// Makes a heading of level 1 without an id.
    fn plain(attributes: &'a Attributes) -> Self {
        Self {
            level: 1,
            attributes,
            id: None,
            statement: None,
        }
    }
}

/// The kind of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A document: the root represents the file.
    Document,
    /// A list: the root is one of its objects.
    List,
}

/// Returns the text of a tree. For a list, the first lines of the list are not included.
pub(super) fn render(tree: &Tree, shape: Shape, syntax: &dyn Syntax, suite: HashSuite) -> Result<String> {
    let mut rendering = Rendering::new(&tree.0, shape, syntax);
    loop {
        let text = rendering.write()?;
        let read = rendering.read_back(&text, suite)?;
        let mut settled = true;
        for (place, write) in read.iter().enumerate() {
            if write.object.id != tree.0[place].object.id && !rendering.ids[place] {
                rendering.ids[place] = true;
                settled = false;
            }
        }
        if settled {
            return check(&tree.0, &read).map(|()| text);
        }
    }
}

/// Returns four ids that no object of the tree has.
fn neighbours(nodes: &[Node]) -> Vec<String> {
    let taken: HashSet<&str> = nodes.iter().map(|node| node.object.id.as_str()).collect();
    let free = (1..).map(|number| format!("neighbour-{number}"));
    free.filter(|id| !taken.contains(id.as_str())).take(4).collect()
}

/// Returns objects of a list as text. Each is one level below the previous one, and has a scope and an origin that its
/// children inherit.
fn headings(ids: &[String], syntax: &dyn Syntax) -> String {
    let mut text = String::new();
    for (level, id) in (1..).zip(ids) {
        text.push_str(&syntax.heading(&Heading {
            level,
            attributes: &titled(id),
            id: Some(id),
            statement: Some(r#"{"scope":"neighbour","origin":"tool_external"}"#),
        }));
    }
    text
}

/// EXP-2: after parsing, the objects are the same.
fn check(nodes: &[Node], read: &[Write]) -> Result<()> {
    let differs = |(node, write): &(&Node, &Write)| {
        node.object != write.object || node.origin != write.origin.unwrap_or(Origin::DirectUser)
    };
    match nodes.iter().zip(read).find(differs) {
        Some((node, _)) => Err(refused(&node.object.id)),
        None => Ok(()),
    }
}

fn refused(id: &Id) -> Error {
    Error::invalid(format!(
        "the object {id} cannot be written in this format without loss"
    ))
    .with_code(ErrorCode::NotExportable)
    .with_hint("export as JSON Lines (--format jsonl), which can express every object")
}

/// An empty memory.
struct Nothing(HashSuite);

impl Existing for Nothing {
    fn hash(&self) -> HashSuite {
        self.0
    }

    fn get(&self, _: &Id) -> Result<Option<Object>> {
        Ok(None)
    }

    fn children(&self, _: &Id) -> Result<Vec<Object>> {
        Ok(Vec::new())
    }

    fn documents(&self) -> Result<Vec<Id>> {
        Ok(Vec::new())
    }
}

/// How a content is written in the file.
enum Body {
    Plain(String),
    /// Quoted, so that it is not parsed.
    Quoted(String),
    /// As a stated field, because the text of the file cannot express it.
    Stated,
}

/// Returns the plainest form of a content that is parsed as the same content.
fn body(node: &Node, is_document: bool, shape: Shape, syntax: &dyn Syntax) -> Body {
    let Some(content) = node.object.content.as_deref() else {
        return Body::Plain(String::new());
    };
    let plain = syntax.body(content);
    if !syntax.changes_context(content, shape, is_document)
        && comes_back(content, &plain, is_document, None, syntax)
    {
        return Body::Plain(plain);
    }
    let quoted = syntax.body(&syntax.quote(content));
    if comes_back(content, &quoted, is_document, Some("{\"quoted\":true}"), syntax) {
        return Body::Quoted(quoted);
    }
    Body::Stated
}

/// Returns whether a written text is parsed as the content when it is between two headings.
fn comes_back(
    content: &str,
    written: &str,
    is_document: bool,
    statement: Option<&str>,
    syntax: &dyn Syntax,
) -> bool {
    let head = if is_document {
        syntax.preamble(&Attributes::new(), statement)
    } else {
        syntax.heading(&Heading {
            statement,
            ..Heading::plain(&titled("x"))
        })
    };
    let Some(mut read) = probe(&format!("{head}{written}{}", end(syntax)), syntax) else {
        return false;
    };
    let last = read.sections.pop();
    let found = match (is_document, &read.sections[..]) {
        (true, []) => &read.content,
        (false, [only]) => &only.content,
        _ => return false,
    };
    last.is_some_and(|last| last.title() == "end" && last.content.is_none())
        && found.as_deref() == Some(content)
}

/// Parses a text in the format.
fn probe(text: &str, syntax: &dyn Syntax) -> Option<Document> {
    Document::read("probe", text.as_bytes(), Some(syntax.format())).ok()
}

/// Returns the heading at the end of a probe.
fn end(syntax: &dyn Syntax) -> String {
    syntax.heading(&Heading::plain(&titled("end")))
}

fn titled(title: &str) -> Attributes {
    Attributes::from_iter([("title".to_owned(), Value::from(title))])
}

/// The level of a heading.
#[derive(Clone, Copy, Default)]
struct Level {
    number: usize,
    /// Whether the parent is stated as a field, because the format has no deeper level.
    deep: bool,
    /// The level as an attribute, if the parser stores it as one.
    attribute: Option<i64>,
}

/// Returns the levels of the objects, which keep the shape of the tree where possible. The root of a part of a list is
/// always at the top, because a deeper one would be parsed as a child of the object before it (EXP-3).
fn levels(nodes: &[Node], shape: Shape, levels_max: usize) -> Vec<Level> {
    let mut levels = vec![Level::default(); nodes.len()];
    // The level of the previous sibling, which no later sibling may exceed.
    let mut before = vec![usize::MAX; nodes.len()];
    levels[0].number = usize::from(shape == Shape::List);
    for (place, node) in nodes.iter().enumerate().skip(1) {
        let (above, last) = match node.parent {
            Some(parent) => (levels[parent], before[parent]),
            None => (Level::default(), usize::MAX),
        };
        if above.deep || above.number >= levels_max {
            levels[place] = Level {
                number: levels_max,
                deep: true,
                attribute: None,
            };
            continue;
        }
        let next = above.number + 1;
        let wanted = node.object.attributes.get("level").and_then(Value::as_integer);
        let as_level = wanted.and_then(|level| usize::try_from(level).ok());
        let number = as_level
            .filter(|level| (next..=levels_max.min(last)).contains(level))
            .unwrap_or(next);
        levels[place] = Level {
            number,
            deep: false,
            attribute: wanted.filter(|_| number != next),
        };
        if let Some(parent) = node.parent {
            before[parent] = number;
        }
    }
    levels
}

struct Rendering<'a> {
    nodes: &'a [Node],
    shape: Shape,
    syntax: &'a dyn Syntax,
    bodies: Vec<Body>,
    /// The declarations in these texts that change the parsing of headings.
    context: String,
    levels: Vec<Level>,
    /// For each node, whether its id is stated.
    ids: Vec<bool>,
}

impl<'a> Rendering<'a> {
    fn new(nodes: &'a [Node], shape: Shape, syntax: &'a dyn Syntax) -> Self {
        let mut rendering = Self {
            nodes,
            shape,
            syntax,
            bodies: Vec::new(),
            context: String::new(),
            levels: levels(nodes, shape, syntax.levels_max()),
            ids: Vec::new(),
        };
        let mut text = match shape {
            Shape::Document => syntax.preamble(&nodes[0].object.attributes, None),
            Shape::List => String::new(),
        };
        for (place, node) in nodes.iter().enumerate() {
            let body = body(node, rendering.is_document(place), shape, syntax);
            if let Body::Plain(written) = &body {
                text.push_str(written);
            }
            rendering.bodies.push(body);
            rendering.ids.push(rendering.needs_id(place));
        }
        rendering.context = syntax.context(&text);
        rendering
    }

    /// Returns the objects that ingestion makes from the text, in order.
    fn read_back(&self, text: &str, suite: HashSuite) -> Result<Vec<Write>> {
        let root = &self.nodes[0].object;
        let (path, whole, around) = match self.shape {
            Shape::Document => (root.id.as_str(), text.to_owned(), 0),
            Shape::List => {
                let neighbours = neighbours(self.nodes);
                let [before, after] =
                    [&neighbours[..2], &neighbours[2..]].map(|ids| headings(ids, self.syntax));
                let whole = format!("{}{before}{text}{after}", self.syntax.list_head());
                ("objects", whole, neighbours.len())
            }
        };
        let read = Document::read(path, whole.as_bytes(), Some(self.syntax.format()))
            .and_then(|document| plan(&[document], &Nothing(suite), &IngestOptions::default()))
            .map_err(|_| refused(&root.id))?;
        // In a list, half of the neighbours precede the objects. No neighbour may change.
        let mut put = read.put;
        let end = self.nodes.len() + around / 2;
        let is_neighbour_changed = || put[end..].iter().any(|write| write.object.content.is_some());
        if put.len() != self.nodes.len() + around || is_neighbour_changed() {
            return Err(refused(&root.id));
        }
        Ok(put.drain(around / 2..end).collect())
    }

    fn is_document(&self, place: usize) -> bool {
        self.shape == Shape::Document && place == 0
    }

    fn needs_id(&self, place: usize) -> bool {
        let node = &self.nodes[place];
        !self.is_document(place)
            && (self.shape == Shape::List
                || node.object.kind.as_str() != HEADING_KIND
                || node.children.iter().any(|child| self.levels[*child].deep))
    }

    fn write(&self) -> Result<String> {
        let positions = self.stated_positions();
        let mut text = String::new();
        for (place, node) in self.nodes.iter().enumerate() {
            if self.is_document(place) {
                text.push_str(&self.document(node));
            } else {
                text.push_str(&self.section(place, node, positions[place])?);
            }
            if let Body::Plain(written) | Body::Quoted(written) = &self.bodies[place] {
                text.push_str(written);
            }
        }
        Ok(text)
    }

    /// Returns for each node whether its position must be stated. Positions are stated for siblings to which ingestion
    /// would give other positions.
    fn stated_positions(&self) -> Vec<bool> {
        let mut stated = vec![false; self.nodes.len()];
        stated[0] = self.nodes[0].object.position.is_some();
        for node in self.nodes {
            let position = |child: &usize| self.nodes[*child].object.position.as_ref();
            let fresh = order::assign(&vec![None; node.children.len()]).keys;
            let mut pairs = node.children.iter().zip(&fresh);
            if !pairs.all(|(child, fresh)| position(child).map(Position::as_str) == Some(fresh)) {
                node.children.iter().for_each(|child| stated[*child] = true);
            }
        }
        stated
    }

    fn document(&self, node: &Node) -> String {
        let syntax = self.syntax;
        let mut attributes = node.object.attributes.clone();
        let read = probe(&syntax.preamble(&attributes, None), syntax)
            .filter(|read| read.sections.is_empty() && read.content.is_none());
        let parsed = if let Some(read) = read {
            read.attributes
        } else {
            attributes = Attributes::new();
            Attributes::from_iter([("format".to_owned(), Value::from(syntax.format().name()))])
        };
        let mut fields = Map::new();
        put_difference(&mut fields, &parsed, &node.object.attributes);
        self.put_rest(&mut fields, 0, node.object.position.is_some());
        syntax.preamble(&attributes, statement_of(fields).as_deref())
    }

    fn section(&self, place: usize, node: &Node, position: bool) -> Result<String> {
        let (syntax, object) = (self.syntax, &node.object);
        let mut shown = object.attributes.clone();
        if shown.get("title").and_then(Value::as_text).is_none() {
            shown.insert("title", object.id.as_str());
        }
        let mut id = self.ids[place].then_some(object.id.as_str());
        let level = self.levels[place];
        let read_as = |attributes: &Attributes, id: Option<&str>| {
            let heading = syntax.heading(&Heading {
                id,
                ..Heading::plain(attributes)
            });
            let read = probe(&format!("{}{heading}{}", self.context, end(syntax)), syntax)?;
            match &read.sections[..] {
                [first, _] if first.content.is_none() => Some((first.attributes.clone(), first.id.clone())),
                _ => None,
            }
        };
        let mut read = read_as(&shown, id);
        if read.is_none() {
            shown = titled("-");
            read = read_as(&shown, id).or_else(|| read_as(&shown, None));
        }
        let (mut parsed, parsed_id) = read.ok_or_else(|| refused(&object.id))?;
        if let Some(attribute) = level.attribute {
            parsed.insert("level", attribute);
        }
        let mut fields = Map::new();
        if id.is_some() && parsed_id.as_ref() != Some(&object.id) {
            fields.insert("id".to_owned(), object.id.as_str().into());
            id = None;
        }
        if object.kind.as_str() != HEADING_KIND {
            fields.insert("kind".to_owned(), object.kind.as_str().into());
        }
        if level.deep
            && let Some(parent) = node.parent
        {
            fields.insert("parent".to_owned(), self.nodes[parent].object.id.as_str().into());
        }
        put_difference(&mut fields, &parsed, &object.attributes);
        self.put_rest(&mut fields, place, position);
        Ok(syntax.heading(&Heading {
            level: level.number,
            attributes: &shown,
            id,
            statement: statement_of(fields).as_deref(),
        }))
    }

    /// Adds the fields that cannot be expressed in any format.
    fn put_rest(&self, fields: &mut Map<String, Json>, place: usize, position: bool) {
        let node = &self.nodes[place];
        let object = &node.object;
        let above = node.parent.map(|parent| &self.nodes[parent]);
        let usual = Scope::default();
        let mut put = |name: &str, value: Json| {
            fields.insert(name.to_owned(), value);
        };
        if object.scope != *above.map_or(&usual, |above| &above.object.scope) {
            put("scope", object.scope.as_str().into());
        }
        if position {
            put("position", object.position.as_ref().map(Position::as_str).into());
        }
        if node.origin != above.map_or(Origin::DirectUser, |above| above.origin) {
            put("origin", node.origin.name().into());
        }
        // The other fields have the same form as in a JSON line.
        let mut whole = json::object_to_json(object, node.origin);
        for name in ["derived_from", "event_time", "expires", "reserved"] {
            if let Some(value) = whole.get_mut(name) {
                put(name, value.take());
            }
        }
        match self.bodies[place] {
            Body::Plain(_) => {}
            Body::Quoted(_) => put("quoted", true.into()),
            Body::Stated => put("content", object.content.as_deref().into()),
        }
    }
}

/// Adds the attributes whose values in the text (`parsed`) differ from the `wanted` ones.
fn put_difference(fields: &mut Map<String, Json>, parsed: &Attributes, wanted: &Attributes) {
    let mut stated = Map::new();
    for (name, value) in wanted {
        if parsed.get(name) != Some(value) {
            stated.insert(name.clone(), json::value_to_json(value));
        }
    }
    for (name, _) in parsed {
        if wanted.get(name).is_none() {
            stated.insert(name.clone(), Json::Null);
        }
    }
    if !stated.is_empty() {
        fields.insert("attributes".to_owned(), Json::Object(stated));
    }
}

fn statement_of(fields: Map<String, Json>) -> Option<String> {
    (!fields.is_empty()).then(|| Json::Object(fields).to_string())
}

/// Returns whether a tree can be a separate document in the format of its path.
pub(super) fn is_document(root: &Object, format: Format) -> bool {
    root.kind() == DOCUMENT_KIND
        && root.parent().is_none()
        && Format::from_path(root.id().as_str()) == Some(format)
        && root.attribute("format").as_ref().and_then(Value::as_text) == Some(format.name())
}
