//! A tree of objects as the text of a file, checked by reading it.
//!
//! Each object is written as the format says things, and read by the parser of the format. What comes out otherwise
//! than it should is stated beside it. So whatever the format cannot say is still there, and the rest is plain.
//!
//! # Layer
//! L6, inside `ingest`. Pure.
//!
//! # Invariants
//! - EXP-2: the text is ingested into an empty memory as exactly the objects that it was made of, or it is refused.
//! - EXP-3: a part of a list is read as the same whatever stands before and after it in the list.

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
use crate::object::{Attributes, Id, NewObject, Object, Origin, Position, Scope, Value};

/// How a format writes things.
pub(super) trait Syntax {
    fn format(&self) -> Format;
    /// The deepest level of a heading.
    fn levels_max(&self) -> usize;
    /// What a list of objects begins with.
    fn list_head(&self) -> String;
    /// Takes note of what a text changes for headings anywhere in the file.
    fn set_context(&mut self, text: &str);
    /// The same as lines.
    fn context(&self) -> String;
    /// Whether a text would change how others are read: the text at the start of a document, or one in a list.
    fn changes_context(&self, text: &str, shape: Shape, at_start: bool) -> bool;
    /// What stands before the text of a document.
    fn preamble(&self, attributes: &Attributes, statement: Option<&str>) -> String;
    fn heading(
        &self,
        level: usize,
        attributes: &Attributes,
        id: Option<&str>,
        statement: Option<&str>,
    ) -> String;
    /// A text as it is.
    fn body(&self, content: &str) -> String;
    /// A text with marks, so that nothing in it is structure.
    fn quote(&self, content: &str) -> String;
}

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The root is the document.
    Document,
    /// The root is one of a list of objects.
    List,
}

/// The text of a tree, without the head of a list.
pub(super) fn render(tree: &Tree, shape: Shape, syntax: &mut dyn Syntax, suite: HashSuite) -> Result<String> {
    let mut rendering = Rendering {
        nodes: &tree.0,
        shape,
        texts: Vec::new(),
        places: places(&tree.0, shape, syntax.levels_max()),
        ids: Vec::new(),
    };
    rendering.ids = (0..tree.0.len()).map(|node| rendering.needs_id(node)).collect();
    rendering.texts = tree
        .0
        .iter()
        .enumerate()
        .map(|(place, node)| form(node, rendering.is_document(place), shape, syntax))
        .collect();
    let plain: Vec<&str> = rendering
        .texts
        .iter()
        .filter(|text| !text.quoted)
        .map(|text| text.written.as_str())
        .collect();
    let plain = plain.concat();
    let preamble = match shape {
        Shape::Document => syntax.preamble(&tree.0[0].object.attributes, None),
        Shape::List => String::new(),
    };
    syntax.set_context(&format!("{preamble}{plain}"));
    loop {
        let text = rendering.write(syntax)?;
        let put = read_back(&rendering, &text, syntax, suite)?;
        let mut settled = true;
        for (place, (id, _, _)) in put.iter().enumerate() {
            if *id != tree.0[place].object.id && !rendering.ids[place] {
                rendering.ids[place] = true;
                settled = false;
            }
        }
        if settled {
            return check(&tree.0, &put).map(|()| text);
        }
    }
}

type Read = (Id, NewObject, Origin);

/// The objects that the text is read as, in order.
fn read_back(
    rendering: &Rendering<'_>,
    text: &str,
    syntax: &dyn Syntax,
    suite: HashSuite,
) -> Result<Vec<Read>> {
    let root = &rendering.nodes[0].object;
    let (path, whole, around) = match rendering.shape {
        Shape::Document => (root.id.as_str(), text.to_owned(), 0),
        Shape::List => {
            let neighbours = neighbours(rendering.nodes);
            let [before, after] = [&neighbours[..2], &neighbours[2..]].map(|ids| headings(ids, syntax));
            let whole = format!("{}{before}{text}{after}", syntax.list_head());
            ("objects", whole, neighbours.len())
        }
    };
    let read = Document::read(path, whole.as_bytes(), Some(syntax.format()))
        .and_then(|document| plan(&[document], &Nothing(suite), &IngestOptions::default()))
        .map_err(|_| refused(&root.id))?;
    // In a list half of the neighbours stand before the objects; all of them have to be read as what they are.
    let mut put = read.put;
    let count = rendering.nodes.len();
    if put.len() != count + around || put[count + around / 2..].iter().any(has_text) {
        return Err(refused(&root.id));
    }
    let put = put.drain(around / 2..count + around / 2);
    Ok(put
        .map(|write| {
            (
                write.object.id.clone(),
                write.object,
                write.origin.unwrap_or(Origin::DirectUser),
            )
        })
        .collect())
}

/// Ids that no object of the tree has.
fn neighbours(nodes: &[Node]) -> Vec<String> {
    let taken: HashSet<&str> = nodes.iter().map(|node| node.object.id.as_str()).collect();
    let free = (1..).map(|number| format!("neighbour-{number}"));
    free.filter(|id| !taken.contains(id.as_str())).take(4).collect()
}

/// Objects of a list, each one level below the one before, with a scope and an origin that what is below them has too.
fn headings(ids: &[String], syntax: &dyn Syntax) -> String {
    let mut text = String::new();
    for (level, id) in (1..).zip(ids) {
        let title = Attributes::from_iter([("title".to_owned(), Value::from(id.as_str()))]);
        let said = r#"{"scope":"neighbour","origin":"tool_external"}"#;
        text.push_str(&syntax.heading(level, &title, Some(id), Some(said)));
    }
    text
}

fn has_text(write: &Write) -> bool {
    write.object.content.is_some()
}

/// EXP-2
fn check(nodes: &[Node], put: &[Read]) -> Result<()> {
    for (node, (_, object, origin)) in nodes.iter().zip(put) {
        if node.object != *object || node.origin != *origin {
            return Err(refused(&node.object.id));
        }
    }
    Ok(())
}

fn refused(id: &Id) -> Error {
    Error::invalid(format!(
        "the object {id} cannot be written in this form so that it comes back as the same"
    ))
    .with_code(ErrorCode::NotExportable)
    .with_hint("export as JSON Lines (--format jsonl), which hold everything")
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

/// A content as it stands in the file.
struct Text {
    written: String,
    quoted: bool,
    /// It cannot stand in the file at all.
    stated: bool,
}

/// The plainest form in which a content is read back as it is.
fn form(node: &Node, is_document: bool, shape: Shape, syntax: &dyn Syntax) -> Text {
    let Some(content) = node.object.content.as_deref() else {
        return Text {
            written: String::new(),
            quoted: false,
            stated: false,
        };
    };
    let named = |title: &str| Attributes::from_iter([("title".to_owned(), Value::from(title))]);
    let comes_back = |written: &str, statement: Option<&str>| {
        let head = if is_document {
            syntax.preamble(&Attributes::new(), statement)
        } else {
            syntax.heading(1, &named("x"), None, statement)
        };
        let probe = format!("{head}{written}{}", syntax.heading(1, &named("end"), None, None));
        let Ok(read) = Document::read("probe", probe.as_bytes(), Some(syntax.format())) else {
            return false;
        };
        let (before, last) = if is_document {
            (0, read.sections.first())
        } else {
            (1, read.sections.get(1))
        };
        let found = if is_document {
            &read.content
        } else {
            &read.sections[0].content
        };
        read.sections.len() == before + 1
            && last.is_some_and(|last| last.title() == "end" && last.content.is_none())
            && found.as_deref() == Some(content)
    };
    let plain = syntax.body(content);
    let stays = !syntax.changes_context(content, shape, is_document);
    if stays && comes_back(&plain, None) {
        return Text {
            written: plain,
            quoted: false,
            stated: false,
        };
    }
    let quoted = syntax.body(&syntax.quote(content));
    if comes_back(&quoted, Some("{\"quoted\":true}")) {
        return Text {
            written: quoted,
            quoted: true,
            stated: false,
        };
    }
    Text {
        written: String::new(),
        quoted: false,
        stated: true,
    }
}

/// Where a heading stands.
#[derive(Clone, Copy, Default)]
struct Place {
    level: usize,
    /// Whether the parent is stated, because there is no level for it.
    deep: bool,
    /// The level that the parser makes an attribute of.
    told: Option<i64>,
}

/// Levels: those that the objects have, where they leave the tree as it is. The root of a part of a list is at the top,
/// whatever level it has: a deeper one would be read as being below what stands before it (EXP-3).
fn places(nodes: &[Node], shape: Shape, levels_max: usize) -> Vec<Place> {
    let mut places = vec![Place::default(); nodes.len()];
    // The level of the sibling before, which no later one may exceed.
    let mut before = vec![usize::MAX; nodes.len()];
    for (place, node) in nodes.iter().enumerate() {
        if place == 0 {
            places[place].level = usize::from(shape == Shape::List);
            continue;
        }
        let above = node.parent.map_or(Place::default(), |parent| places[parent]);
        let last = node.parent.map_or(usize::MAX, |parent| before[parent]);
        if above.deep || above.level >= levels_max {
            places[place] = Place {
                level: levels_max,
                deep: true,
                told: None,
            };
            continue;
        }
        let wanted = node.object.attributes.get("level").and_then(Value::as_integer);
        let fits = |level: &usize| (above.level + 1..=levels_max.min(last)).contains(level);
        let as_level = wanted.and_then(|level| usize::try_from(level).ok());
        let level = as_level.filter(fits).unwrap_or(above.level + 1);
        let told = (level != above.level + 1).then_some(wanted).flatten();
        places[place] = Place {
            level,
            deep: false,
            told,
        };
        if let Some(parent) = node.parent {
            before[parent] = level;
        }
    }
    places
}

struct Rendering<'a> {
    nodes: &'a [Node],
    shape: Shape,
    texts: Vec<Text>,
    places: Vec<Place>,
    /// Which ids are stated.
    ids: Vec<bool>,
}

impl Rendering<'_> {
    fn is_document(&self, place: usize) -> bool {
        self.shape == Shape::Document && place == 0
    }

    fn needs_id(&self, place: usize) -> bool {
        let node = &self.nodes[place];
        !self.is_document(place)
            && (self.shape == Shape::List
                || node.object.kind.as_str() != HEADING_KIND
                || node.children.iter().any(|child| self.places[*child].deep))
    }

    fn write(&self, syntax: &dyn Syntax) -> Result<String> {
        let positions = self.stated_positions();
        let mut text = String::new();
        for (place, node) in self.nodes.iter().enumerate() {
            if self.is_document(place) {
                text.push_str(&self.document(node, syntax));
            } else {
                text.push_str(&self.section(place, node, positions[place], syntax)?);
            }
            text.push_str(&self.texts[place].written);
        }
        Ok(text)
    }

    /// Whose positions are stated: those of siblings that would not get the same ones anew.
    fn stated_positions(&self) -> Vec<bool> {
        let mut stated = vec![false; self.nodes.len()];
        stated[0] = self.nodes[0].object.position.is_some();
        for node in self.nodes {
            let actual = node
                .children
                .iter()
                .map(|child| self.nodes[*child].object.position.as_ref());
            let fresh = order::assign(&vec![None; node.children.len()]).keys;
            if !actual
                .map(|key| key.map(Position::as_str))
                .eq(fresh.iter().map(|key| Some(key.as_str())))
            {
                node.children.iter().for_each(|child| stated[*child] = true);
            }
        }
        stated
    }

    fn document(&self, node: &Node, syntax: &dyn Syntax) -> String {
        let mut attributes = node.object.attributes.clone();
        let probe = syntax.preamble(&attributes, None);
        let read = Document::read("probe", probe.as_bytes(), Some(syntax.format()));
        let read = read
            .ok()
            .filter(|read| read.sections.is_empty() && read.content.is_none());
        let said = if let Some(read) = read {
            read.attributes
        } else {
            attributes = Attributes::new();
            Attributes::from_iter([("format".to_owned(), Value::from(syntax.format().name()))])
        };
        let mut fields = Map::new();
        put_difference(&mut fields, &said, &node.object.attributes);
        self.put_rest(&mut fields, 0, node.object.position.is_some());
        syntax.preamble(&attributes, statement_of(fields).as_deref())
    }

    fn section(&self, place: usize, node: &Node, position: bool, syntax: &dyn Syntax) -> Result<String> {
        let object = &node.object;
        let mut shown = object.attributes.clone();
        if shown.get("title").and_then(Value::as_text).is_none() {
            shown.insert("title", object.id.as_str());
        }
        let mut id = self.ids[place].then_some(object.id.as_str());
        let Place { level, deep, told } = self.places[place];
        let probe = |attributes: &Attributes, id: Option<&str>| {
            let end = Attributes::from_iter([("title".to_owned(), Value::from("end"))]);
            let end = syntax.heading(1, &end, None, None);
            let probe = format!(
                "{}{}{end}",
                syntax.context(),
                syntax.heading(1, attributes, id, None)
            );
            let read = Document::read("probe", probe.as_bytes(), Some(syntax.format())).ok()?;
            let whole = read.sections.len() == 2 && read.sections[0].content.is_none();
            let first = read.sections.into_iter().next().filter(|_| whole)?;
            Some((first.attributes, first.id))
        };
        let mut read = probe(&shown, id);
        if read.is_none() {
            shown = Attributes::from_iter([("title".to_owned(), Value::from("-"))]);
            read = probe(&shown, id).or_else(|| probe(&shown, None));
        }
        let (mut said, said_id) = read.ok_or_else(|| refused(&object.id))?;
        if let Some(level) = told {
            said.insert("level", level);
        }
        let mut fields = Map::new();
        if id.is_some() && said_id.as_ref() != Some(&object.id) {
            fields.insert("id".to_owned(), object.id.as_str().into());
            id = None;
        }
        if object.kind.as_str() != HEADING_KIND {
            fields.insert("kind".to_owned(), object.kind.as_str().into());
        }
        if deep && let Some(parent) = node.parent {
            fields.insert("parent".to_owned(), self.nodes[parent].object.id.as_str().into());
        }
        put_difference(&mut fields, &said, &object.attributes);
        self.put_rest(&mut fields, place, position);
        Ok(syntax.heading(level, &shown, id, statement_of(fields).as_deref()))
    }

    /// Adds the fields that no format can say.
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
        // The rest is written as a line has it.
        let mut whole = json::object_to_json(object, node.origin);
        for name in ["derived_from", "event_time", "expires", "reserved"] {
            if let Some(value) = whole.get_mut(name) {
                put(name, value.take());
            }
        }
        if self.texts[place].quoted {
            put("quoted", true.into());
        }
        if self.texts[place].stated {
            put("content", object.content.as_deref().into());
        }
    }
}

/// Adds what has to be stated so that attributes which are `said` become those that they should be.
fn put_difference(fields: &mut Map<String, Json>, said: &Attributes, wanted: &Attributes) {
    let mut stated = Map::new();
    for (name, value) in wanted {
        if said.get(name) != Some(value) {
            stated.insert(name.clone(), json::value_to_json(value));
        }
    }
    for (name, _) in said {
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

/// Whether a tree can be a document of its own: known by its path, in the format.
pub(super) fn is_document(root: &Object, format: Format) -> bool {
    let of_format = root.attribute("format").as_ref().and_then(Value::as_text) == Some(format.name());
    root.kind() == DOCUMENT_KIND
        && root.parent().is_none()
        && of_format
        && Format::from_path(root.id()) == Some(format)
}
