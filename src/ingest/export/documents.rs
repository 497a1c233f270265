//! Exports a state as files: each document in a file under its own path, and all other objects in a list.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::collections::{BTreeSet, HashMap};

use super::super::format::Format;
use super::lines::{check_all_reached, is_current, missing_parents, roots};
use super::markdown::Markdown;
use super::org::Org;
use super::render::{Shape, Syntax, is_document, list_head, render};
use super::tree::{self, Node};
use crate::digest::ObjectDigest;
use crate::engine::{Memory, View};
use crate::error::{Error, Result};
use crate::object::{Id, Object};

/// The maximal length of a part of a path in bytes. Every file system accepts this length, even with the suffix of a
/// temporary file.
const PART_BYTES_MAX: usize = 200;

/// A part of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A whole document. The path of the file is relative, and does not lead out of the target folder.
    Document {
        /// The path of the file.
        path: String,
        /// The text of the file.
        text: String,
    },
    /// The next part of the list of objects that belong to no document.
    Objects(String),
}

/// Passes a state to `write`, piece by piece. An empty store that ingests all pieces gets the same root, with two
/// exceptions:
///
/// - The ids in the result name objects that are derived from versions outside of the state. An import gives them the
///   origin `import`.
/// - Erased objects are omitted, and so are objects that a degraded handle cannot read. If other objects are below such
///   an object, an object of the kind `erased` replaces it.
///
/// If `all_in_list` is true, all objects are written to the list, and there are no documents.
///
/// # Errors
/// The errors of `write`. `InvalidInput` for an object that the format cannot express, and for JSON Lines, which
/// [`for_each_version`](super::for_each_version) writes. `Corrupt` or `Io` if an object cannot be read.
pub fn for_each_piece<E: From<Error>>(
    memory: &Memory,
    view: &View,
    format: Format,
    all_in_list: bool,
    write: &mut dyn FnMut(Piece) -> Result<(), E>,
) -> Result<Vec<Id>, E> {
    let mut paths = BTreeSet::new();
    let (mut roots, readable) = roots(view, |object| {
        if !all_in_list && is_document(object, format) && is_plain_path(object.id().as_str()) {
            paths.insert(object.id().to_string());
        }
    })?;
    roots.sort_unstable();
    let mut lowered = Lowered::default();
    let mut objects = 0;
    let mut is_first = true;
    let mut put = |tree: &[Node], shape: Shape| -> Result<(), E> {
        tree.iter()
            .try_for_each(|node| lowered.visit(memory, view, node))?;
        let syntax = syntax_of(format)?;
        let mut text = render(tree, shape, syntax, memory.suite())?;
        write(if shape == Shape::Document {
            Piece::Document {
                path: tree[0].object.id.to_string(),
                text,
            }
        } else {
            if std::mem::take(&mut is_first) {
                text.insert_str(0, &list_head(syntax));
            }
            Piece::Objects(text)
        })
    };
    for root in roots {
        let Some(root) = view.get(&root)? else { continue };
        let shape = if is_own_file(&root, &paths) {
            Shape::Document
        } else {
            Shape::List
        };
        let tree = tree::read(view, root)?;
        objects += tree.len() as u64;
        put(&tree, shape)?;
    }
    if objects < readable {
        for parent in missing_parents(view)? {
            let tree = tree::read_below_missing(view, memory.suite(), &parent)?;
            objects += tree.len() as u64 - 1;
            put(&tree, Shape::List)?;
        }
    }
    check_all_reached(objects, readable)?;
    Ok(lowered.finish())
}

fn syntax_of(format: Format) -> Result<&'static dyn Syntax> {
    match format {
        Format::Org => Ok(&Org),
        Format::Markdown => Ok(&Markdown),
        Format::JsonLines => Err(Error::invalid("JSON Lines cannot be exported as documents")),
    }
}

/// Returns whether the root can have its own file. If another document has a path below the path of the root, the root
/// has no file, because its path must be a folder.
fn is_own_file(root: &Object, paths: &BTreeSet<String>) -> bool {
    let folder = format!("{}/", root.id());
    let next = paths.range(folder.clone()..).next();
    paths.contains(root.id().as_str()) && !next.is_some_and(|next| next.starts_with(&folder))
}

/// Returns whether a path does not lead out of its folder and is not a hidden file, which `ingest` would not find.
fn is_plain_path(path: &str) -> bool {
    path.split('/').all(|part| {
        !part.is_empty() && !part.starts_with('.') && !part.contains('\\') && part.len() <= PART_BYTES_MAX
    })
}

/// Finds the trusted objects to which an import gives a lower origin, because one of their sources is missing or
/// changed.
#[derive(Default)]
struct Lowered {
    found: Vec<(Id, ObjectDigest)>,
    /// The other derived objects, whose sources are all in the state. Each entry also has the digest of the object and
    /// of its sources.
    others: Vec<(Id, ObjectDigest, Vec<ObjectDigest>)>,
}

impl Lowered {
    fn visit(&mut self, memory: &Memory, view: &View, node: &Node) -> Result<()> {
        let sources = &node.object.derived_from;
        if sources.is_empty() || !node.origin.is_trusted() {
            return Ok(());
        }
        let id = node.object.id.clone();
        for source in sources {
            let kept = memory.version(*source)?;
            if !kept.map_or(Ok(false), |version| is_current(view, &version))? {
                self.found.push((id, node.digest));
                return Ok(());
            }
        }
        self.others.push((id, node.digest, sources.clone()));
        Ok(())
    }

    /// Returns the ids of the objects with a lowered origin. An object derived from one of these objects is included,
    /// because its source gets another digest.
    fn finish(mut self) -> Vec<Id> {
        let mut derived: HashMap<ObjectDigest, Vec<usize>> = HashMap::new();
        for (place, (_, _, sources)) in self.others.iter().enumerate() {
            for source in sources {
                derived.entry(*source).or_default().push(place);
            }
        }
        let mut next = 0;
        while let Some((_, digest)) = self.found.get(next) {
            for place in derived.remove(digest).unwrap_or_default() {
                let (id, digest, sources) = &mut self.others[place];
                if !std::mem::take(sources).is_empty() {
                    self.found.push((id.clone(), *digest));
                }
            }
            next += 1;
        }
        self.found.into_iter().map(|(id, _)| id).collect()
    }
}
