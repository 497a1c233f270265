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
//! - EXP-3: a part of a list is read as the same objects, whatever precedes or follows it. The root of the part is at
//!   the top level. A text is unquoted only if the parser still finds the headings around it.

use serde_json::{Map, Value as Json};

use super::super::document::{DOCUMENT_KIND, Document, HEADING_KIND, Section, title_of};
use super::super::format::Format;
use super::super::json;
use super::super::order;
use super::super::plan::{Existing, IngestOptions, Write, plan};
use super::super::statement::OBJECTS;
use super::tree::Node;
use crate::digest::HashSuite;
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Attributes, Id, Object, Origin, Position, Scope, Value};

/// The syntax of a format.
pub(super) trait Syntax {
    fn format(&self) -> Format;
    /// Returns the deepest level of a heading.
    fn levels_max(&self) -> usize;
    /// Returns the lines of a text that change how headings are parsed anywhere in the file.
    fn context(&self, text: &str) -> String;
    /// Returns whether a text would change how other objects are parsed, either at the start of a document or in a
    /// list.
    fn changes_context(&self, text: &str, shape: Shape, at_start: bool) -> bool;
    /// Returns the lines of an object before its text: a heading, or the start of a file (level 0). `statement`
    /// contains the other fields as JSON.
    fn head(
        &self,
        level: usize,
        attributes: &Attributes,
        id: Option<&str>,
        statement: Option<&str>,
    ) -> String;
    /// Returns the title of a file that states none, by its path and its first heading.
    fn title_of_file(&self, _path: &str, _first_heading: Option<&str>) -> Option<String> {
        None
    }
    /// Returns a text in its plain form.
    fn body(&self, content: &str) -> String;
    /// Returns a quoted text, in which the parser finds no structure.
    fn quote(&self, content: &str) -> String;
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
pub(super) fn render(tree: &[Node], shape: Shape, syntax: &dyn Syntax, suite: HashSuite) -> Result<String> {
    let mut rendering = Rendering::new(tree, shape, syntax);
    let usual = rendering.usual_origin();
    loop {
        let text = rendering.write()?;
        let read = rendering.read_back(&text, suite)?;
        let mut settled = true;
        for (place, write) in read.iter().enumerate() {
            if write.object.id != tree[place].object.id && !rendering.ids[place] {
                rendering.ids[place] = true;
                settled = false;
            }
        }
        if !settled {
            continue;
        }
        // EXP-2: after parsing, the objects are the same.
        let differs = |(node, write): &(&Node, &Write)| {
            node.object != write.object || node.origin != write.origin.unwrap_or(usual)
        };
        return match tree.iter().zip(&read).find(differs) {
            Some((node, _)) => Err(refused(&node.object.id)),
            None => Ok(text),
        };
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
    /// Written as a quoted text, so that the text is not parsed.
    Quoted(String),
    /// Written as the field `content` of the statement, because the text of the file cannot express this content.
    Stated,
}

/// Returns the plainest form of a content that is parsed as the same content between two headings, or between the start
/// of a file and a heading (level 0).
fn body(node: &Node, level: usize, shape: Shape, syntax: &dyn Syntax) -> Body {
    let Some(content) = node.object.content.as_deref() else {
        return Body::Plain(String::new());
    };
    let attributes = if level == 0 {
        Attributes::new()
    } else {
        titled("x")
    };
    let comes_back = |written: &str, statement: Option<&str>| {
        let head = syntax.head(level.min(1), &attributes, None, statement);
        let read = read_alone(&format!("{head}{written}"), level, syntax);
        read.is_some_and(|read| read.content.as_deref() == Some(content))
    };
    let plain = syntax.body(content);
    if !syntax.changes_context(content, shape, level == 0) && comes_back(&plain, None) {
        return Body::Plain(plain);
    }
    let quoted = syntax.body(&syntax.quote(content));
    if comes_back(&quoted, Some("{\"quoted\":true}")) {
        return Body::Quoted(quoted);
    }
    Body::Stated
}

/// The title of a heading after the text that is parsed alone.
const END: &str = "end";

/// Parses a text that should be one heading, or the start of a file (level 0). Returns `None` if the parser finds other
/// headings in the text, or does not find a heading that follows the text.
fn read_alone(text: &str, level: usize, syntax: &dyn Syntax) -> Option<Section> {
    let end = syntax.head(1, &titled(END), None, None);
    let text = format!("{text}{end}");
    let mut read = Document::read("probe", text.as_bytes(), Some(syntax.format())).ok()?;
    let last = read.sections.pop()?;
    let is_end = last.title() == END && last.content.is_none();
    let section = if level == 0 {
        read.root
    } else {
        read.sections.pop()?
    };
    (is_end && read.sections.is_empty()).then_some(section)
}

fn titled(title: &str) -> Attributes {
    Attributes::from_iter([("title".to_owned(), Value::from(title))])
}

/// Returns the first lines of a list of objects.
pub(super) fn list_head(syntax: &dyn Syntax) -> String {
    syntax.head(0, &Attributes::new(), None, Some(OBJECTS))
}

/// Returns the levels of the objects, which keep the shape of the tree where possible. A child of an object at the
/// deepest level has that level too, and states its parent. The root of a part of a list is always at the top level,
/// because a root at a deeper level would be parsed as a child of the object before it (EXP-3).
fn levels(nodes: &[Node], shape: Shape, levels_max: usize) -> Vec<usize> {
    let mut levels = vec![usize::from(shape == Shape::List); nodes.len()];
    // For each parent, the level of its previous child, which no later child may exceed.
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
    /// For each node, whether the text must state its id.
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
        let mut text = String::new();
        if shape == Shape::Document {
            text = syntax.head(0, &nodes[0].object.attributes, None, None);
        }
        for (place, node) in nodes.iter().enumerate() {
            let body = body(node, rendering.levels[place], shape, syntax);
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
            Shape::List => ("objects", list_head(self.syntax)),
        };
        let whole = format!("{head}{text}");
        let read = Document::read(path, whole.as_bytes(), Some(self.syntax.format()))
            .and_then(|document| plan(&[document], &Nothing(suite), &IngestOptions::default()));
        match read {
            Ok(read) if read.put.len() == self.nodes.len() => Ok(read.put),
            _ => Err(refused(&root.id)),
        }
    }

    /// Returns whether a heading must state its parent, because the format has no level below the level of the parent.
    fn is_deep(&self, place: usize) -> bool {
        let parent = self.nodes[place].parent;
        parent.is_some_and(|parent| self.levels[parent] >= self.syntax.levels_max())
    }

    fn needs_id(&self, place: usize) -> bool {
        let node = &self.nodes[place];
        self.levels[place] > 0
            && (self.shape == Shape::List
                || node.object.kind.as_str() != HEADING_KIND
                || node.children.iter().any(|child| self.is_deep(*child)))
    }

    fn write(&self) -> Result<String> {
        let positions = self.stated_positions();
        let mut text = String::new();
        for (place, position) in positions.into_iter().enumerate() {
            text.push_str(&self.head(place, position)?);
            if let Body::Plain(written) | Body::Quoted(written) = &self.bodies[place] {
                text.push_str(written);
            }
        }
        Ok(text)
    }

    /// Returns for each node whether its position must be stated. The text states the positions of siblings to which
    /// ingestion would assign other positions.
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

    /// Returns the lines of an object before its text. If the parser could not read a field from the syntax of these
    /// lines, they contain the field as JSON.
    fn head(&self, place: usize, position: bool) -> Result<String> {
        let (node, level) = (&self.nodes[place], self.levels[place]);
        let object = &node.object;
        let mut shown = object.attributes.clone();
        if level > 0 && shown.get("title").and_then(Value::as_text).is_none() {
            shown.insert("title", object.id.as_str());
        }
        let mut id = self.ids[place].then_some(object.id.as_str());
        let context = if level == 0 { "" } else { &self.context };
        let read_as = |attributes: &Attributes, id: Option<&str>| {
            let head = self.syntax.head(level.min(1), attributes, id, None);
            let read = read_alone(&format!("{context}{head}"), level, self.syntax);
            read.filter(|read| read.content.is_none())
        };
        let mut read = read_as(&shown, id);
        if read.is_none() {
            shown = if level == 0 {
                Attributes::new()
            } else {
                titled("-")
            };
            read = read_as(&shown, id).or_else(|| read_as(&shown, None));
        }
        let mut read = read.ok_or_else(|| refused(&object.id))?;
        let hides_id = id.is_some() && read.id.as_ref() != Some(&object.id);
        id = id.filter(|_| !hides_id);
        if level == 0 && title_of(&read.attributes) == END {
            // The parser took the title from the heading that follows the text.
            let first = node
                .children
                .first()
                .map(|child| title_of(&self.nodes[*child].object.attributes));
            if let Some(title) = self.syntax.title_of_file(object.id.as_str(), first) {
                drop(read.attributes.insert("title", title));
            }
        }
        let above = node.parent.filter(|_| !self.is_deep(place));
        if above.is_some_and(|above| level != self.levels[above] + 1) {
            // The parser stores the level as an attribute, because the level does not follow from the depth.
            let level = i64::try_from(level).unwrap_or(i64::MAX);
            read.attributes.insert("level", level);
        }
        let statement = self.statement(place, &read.attributes, hides_id, position);
        Ok(self.syntax.head(level, &shown, id, statement.as_deref()))
    }

    /// Returns the origin of a top object that states none. An ingested document states no origin, because ingestion
    /// stamps the same one again.
    fn usual_origin(&self) -> Origin {
        let is_document = self.shape == Shape::Document && self.nodes[0].origin == Origin::Document;
        if is_document {
            Origin::Document
        } else {
            Origin::DirectUser
        }
    }

    /// Returns the fields that the text does not express, as JSON. The parser reads the attributes `parsed` from the
    /// text.
    fn statement(&self, place: usize, parsed: &Attributes, id: bool, position: bool) -> Option<String> {
        let node = &self.nodes[place];
        let object = &node.object;
        let above = node.parent.map(|parent| &self.nodes[parent]);
        let has_scope = match above {
            Some(above) => object.scope != above.object.scope,
            None => object.scope != Scope::default(),
        };
        let attributes = difference(parsed, &object.attributes);
        // Each field has the same form as in a JSON line.
        let mut whole = json::object_to_json(object, node.origin);
        whole["quoted"] = true.into();
        let stated = [
            ("id", id),
            (
                "kind",
                self.levels[place] > 0 && object.kind.as_str() != HEADING_KIND,
            ),
            ("parent", self.is_deep(place)),
            ("attributes", !attributes.is_empty()),
            ("scope", has_scope),
            ("position", position),
            (
                "origin",
                node.origin != above.map_or_else(|| self.usual_origin(), |above| above.origin),
            ),
            ("derived_from", !object.derived_from.is_empty()),
            ("event_time", object.event_time.is_some()),
            ("expires", object.expires.is_some()),
            ("reserved", !object.reserved.is_empty()),
            ("quoted", matches!(self.bodies[place], Body::Quoted(_))),
            ("content", matches!(self.bodies[place], Body::Stated)),
        ];
        whole["attributes"] = Json::Object(attributes);
        let stated = stated.into_iter().filter(|(_, is_stated)| *is_stated);
        let fields: Map<String, Json> = stated
            .map(|(name, _)| (name.to_owned(), whole[name].take()))
            .collect();
        (!fields.is_empty()).then(|| Json::Object(fields).to_string())
    }
}

/// Returns the attributes to state, because their values in the text (`parsed`) differ from the `wanted` values.
fn difference(parsed: &Attributes, wanted: &Attributes) -> Map<String, Json> {
    let differing = wanted
        .iter()
        .filter(|(name, value)| parsed.get(name) != Some(value));
    let stated = differing.map(|(name, value)| (name.clone(), json::value_to_json(value)));
    let removed = parsed.iter().filter(|(name, _)| wanted.get(name).is_none());
    stated
        .chain(removed.map(|(name, _)| (name.clone(), Json::Null)))
        .collect()
}

/// Returns whether a tree can be a separate document in the format of its path.
pub(super) fn is_document(root: &Object, format: Format) -> bool {
    root.kind() == DOCUMENT_KIND
        && root.parent().is_none()
        && Format::from_path(root.id().as_str()) == Some(format)
        && root.attribute("format").as_ref().and_then(Value::as_text) == Some(format.name())
}
