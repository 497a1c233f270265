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
//! - EXP-3: a part of a list is read as the same objects, whatever precedes or follows it: its root is at the top, and
//!   each text is plain only if the parser finds the headings around it.

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

/// Returns the levels of the objects, which keep the shape of the tree where possible. A child of an object at the
/// deepest level has that level too, and states its parent. The root of a part of a list is always at the top, because a
/// deeper one would be parsed as a child of the object before it (EXP-3).
fn levels(nodes: &[Node], shape: Shape, levels_max: usize) -> Vec<usize> {
    let mut levels = vec![usize::from(shape == Shape::List); nodes.len()];
    // The level of the previous sibling, which no later sibling may exceed.
    let mut before = vec![usize::MAX; nodes.len()];
    for (place, node) in nodes.iter().enumerate() {
        let Some(parent) = node.parent else { continue };
        let next = levels[parent] + 1;
        let wanted = node.object.attributes.get("level").and_then(Value::as_integer);
        let wanted = wanted.and_then(|level| usize::try_from(level).ok());
        let fits = |level: &usize| (next..=levels_max.min(before[parent])).contains(level);
        levels[place] = wanted.filter(fits).unwrap_or(next).min(levels_max);
        before[parent] = levels[place];
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
    levels: Vec<usize>,
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
        let (path, head) = match self.shape {
            Shape::Document => (root.id.as_str(), String::new()),
            Shape::List => ("objects", self.syntax.list_head()),
        };
        let whole = format!("{head}{text}");
        let read = Document::read(path, whole.as_bytes(), Some(self.syntax.format()))
            .and_then(|document| plan(&[document], &Nothing(suite), &IngestOptions::default()));
        match read {
            Ok(read) if read.put.len() == self.nodes.len() => Ok(read.put),
            _ => Err(refused(&root.id)),
        }
    }

    fn is_document(&self, place: usize) -> bool {
        self.shape == Shape::Document && place == 0
    }

    /// Returns whether a heading must state its parent, because the format has no level below that of the parent.
    fn is_deep(&self, place: usize) -> bool {
        let parent = self.nodes[place].parent;
        parent.is_some_and(|parent| self.levels[parent] >= self.syntax.levels_max())
    }

    fn needs_id(&self, place: usize) -> bool {
        let node = &self.nodes[place];
        !self.is_document(place)
            && (self.shape == Shape::List
                || node.object.kind.as_str() != HEADING_KIND
                || node.children.iter().any(|child| self.is_deep(*child)))
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
        let (level, parent) = (self.levels[place], node.parent);
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
        let is_deep = self.is_deep(place);
        if !is_deep && parent.is_some_and(|parent| level != self.levels[parent] + 1) {
            // The parser stores a level that does not follow from the depth.
            parsed.insert("level", i64::try_from(level).unwrap_or(i64::MAX));
        }
        let mut fields = Map::new();
        if id.is_some() && parsed_id.as_ref() != Some(&object.id) {
            fields.insert("id".to_owned(), object.id.as_str().into());
            id = None;
        }
        if object.kind.as_str() != HEADING_KIND {
            fields.insert("kind".to_owned(), object.kind.as_str().into());
        }
        if let Some(parent) = parent.filter(|_| is_deep) {
            fields.insert("parent".to_owned(), self.nodes[parent].object.id.as_str().into());
        }
        put_difference(&mut fields, &parsed, &object.attributes);
        self.put_rest(&mut fields, place, position);
        Ok(syntax.heading(&Heading {
            level,
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
