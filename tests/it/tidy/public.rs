//! Limits the size of the public interface of the crate: names at the root, and public items that can be reached
//! through a name of a public module.
//!
//! An item is a struct, enum, trait, function, constant or type alias; a public method or constant of one of these
//! types; or a method of such a trait. Fields, variants, items with `#[doc(hidden)]`, and methods of types that a macro
//! defines are not counted. Types with the same name share one count of methods, so the number may be too high, but not
//! too low.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;
use super::{expect_none, sources};

/// The maximum number of names at the root of the crate, including modules.
const ROOT_NAMES_MAX: usize = 54;
/// The maximum number of public items. A commit that raises it must give the reason. The judge of a host and the review
/// of a promotion need 9, the selection, options and result of a revert 19, blame and bisect 8, titles and scopes of recall 1, the
/// verdict of a line 1, the handle for Tokio 6, the place that scope words refer to 5, the head that a rollback or revert
/// expects 2, the settings of models for recall by meaning 2, the vectors of texts and when they are computed 4, the
/// models for hosts 4, the fault and the preparation of a model 3, an erasure that keeps other vectors 1, forks 11, a decision
/// of the page 1, merges with their conflicts and decisions 23, an agent on a fork 1, backups, clones
/// and remotes 17, their keys 10, their sync with its acknowledgement 4 and their signatures 2, signed heads with their keys, notes, trees and proofs 39.
const ITEMS_MAX: usize = 521;
/// The keywords between `pub` and the name of an item.
const KINDS: [&str; 7] = ["fn", "const fn", "struct", "enum", "trait", "const", "type"];

/// Returns the lines of non-test code of a file, without items with `#[doc(hidden)]`.
fn lines(file: &Source) -> Vec<String> {
    let mut is_hidden = false;
    let mut lines = Vec::new();
    for (_, line) in file.shipped() {
        is_hidden |= line.trim() == "#[doc(hidden)]";
        if !is_hidden {
            lines.push(line.to_owned());
        }
        is_hidden &= line.trim().is_empty() || line.trim_start().starts_with('#');
    }
    lines
}

/// Returns the name of the item that `line` declares. Returns `None` if the line has another indentation or visibility.
fn declared<'a>(line: &'a str, indent: &str, visibility: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(indent)?.strip_prefix(visibility)?;
    let named = KINDS
        .iter()
        .find_map(|kind| rest.strip_prefix(kind)?.strip_prefix(' '))?;
    named
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
        .filter(|name| !name.is_empty())
}

/// Returns the names that the `pub use` statements of `text` re-export.
fn exported(text: &str) -> Vec<String> {
    let statements = text
        .split(';')
        .filter_map(|statement| statement.rsplit_once("pub use "));
    statements
        .flat_map(|(_, tree)| leaves(&tree.split_whitespace().collect::<String>()))
        .collect()
}

fn leaves(tree: &str) -> Vec<String> {
    let Some((head, rest)) = tree.split_once('{') else {
        return vec![tree.to_owned()];
    };
    let names = rest
        .trim_end_matches('}')
        .split(',')
        .filter(|name| !name.is_empty());
    names.map(|name| format!("{head}{name}")).collect()
}

/// Returns the public names of each module that can be reached from the root through public names.
fn public_modules(files: &[Source]) -> BTreeMap<String, BTreeSet<String>> {
    let mut modules = BTreeMap::new();
    let mut waiting = vec![(String::from("crate"), String::from("src/lib.rs"))];
    while let Some((module, path)) = waiting.pop() {
        let Some(file) = files.iter().find(|file| file.path == path) else {
            continue;
        };
        let lines = lines(file);
        let mut names: BTreeSet<String> = lines
            .iter()
            .filter_map(|line| declared(line, "", "pub "))
            .map(str::to_owned)
            .collect();
        let mut inline: Option<String> = None;
        let mut text = String::new();
        for line in &lines {
            if let Some(name) = line.strip_prefix("pub mod ") {
                let (name, is_inline) = (name.trim_end_matches([';', '{', ' ']), name.ends_with('{'));
                names.insert(name.to_owned());
                if is_inline {
                    inline = Some(name.to_owned());
                    text.clear();
                } else {
                    let folder = path.trim_end_matches("lib.rs").trim_end_matches("mod.rs");
                    waiting.push((format!("{module}::{name}"), format!("{folder}{name}/mod.rs")));
                }
            } else if line == "}" && inline.is_some() {
                let within = exported(&text).iter().map(|path| last(path)).collect();
                modules.insert(format!("{module}::{}", inline.take().unwrap()), within);
                text.clear();
            } else if inline.is_some() || line.starts_with("pub use ") || !text.is_empty() {
                text.push_str(line);
                if inline.is_none() && line.trim_end().ends_with(';') {
                    names.extend(exported(&text).iter().map(|path| last(path)));
                    text.clear();
                }
            }
        }
        modules.insert(module, names);
    }
    modules
}

fn last(path: &str) -> String {
    path.rsplit("::").next().unwrap_or(path).to_owned()
}

/// Returns the name of the type or public trait whose block begins on `line`, and whether it is a trait.
fn block(line: &str) -> Option<(&str, bool)> {
    let name = |text: &'static str| line.strip_prefix(text);
    let (rest, is_trait) = match (name("pub trait "), name("impl")) {
        (Some(rest), _) => (rest, true),
        (None, Some(rest)) if !line.contains(" for ") => (rest, false),
        _ => return None,
    };
    let rest = match rest.strip_prefix('<') {
        Some(generic) => generic.split_once("> ")?.1,
        None => rest.trim_start(),
    };
    Some((
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?,
        is_trait,
    ))
}

/// Returns the number of public methods and constants of each type.
fn methods(files: &[Source]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for file in files {
        let mut open: Option<(String, bool)> = None;
        for line in lines(file) {
            if let Some((name, is_trait)) = block(&line) {
                open = Some((name.to_owned(), is_trait));
            } else if line == "}" {
                open = None;
            } else if let Some((name, is_trait)) = &open
                && declared(&line, "    ", if *is_trait { "" } else { "pub " }).is_some()
            {
                *counts.entry(name.clone()).or_default() += 1;
            }
        }
    }
    counts
}

#[test]
fn the_face_of_the_crate_stays_small() {
    let files = sources("src");
    let modules = public_modules(&files);
    let root = modules["crate"].len();
    let methods = methods(&files);
    let names: BTreeSet<&String> = modules.values().flatten().collect();
    let items: usize = names
        .iter()
        .map(|name| 1 + methods.get(*name).copied().unwrap_or(0))
        .sum();
    let mut found = Vec::new();
    if root > ROOT_NAMES_MAX {
        found.push(format!("{root} names at the root, of at most {ROOT_NAMES_MAX}"));
    }
    if items > ITEMS_MAX {
        found.push(format!("{items} public items, of at most {ITEMS_MAX}"));
    }
    expect_none(&found);
    assert!(
        items > 200 && root > 20,
        "{root} names and {items} items: the count sees too few"
    );
}

#[test]
fn what_is_public_is_counted() {
    let root = Source::new(
        "src/lib.rs",
        "pub mod a;\nmod b;\npub mod c {\n    pub use crate::b::{X, Y};\n}\npub use b::{Z,\n    W};\n#[doc(hidden)]\npub mod d;\n",
    );
    let a = Source::new("src/a/mod.rs", "pub use z::V;\npub fn f() {}\nfn g() {}\n");
    let b = Source::new(
        "src/b/mod.rs",
        "impl Z {\n    pub fn one() {}\n    fn two() {}\n    #[doc(hidden)]\n    pub fn three() {}\n}\nimpl Debug for Z {\n    pub fn no() {}\n}\npub trait W {\n    fn four();\n}\n",
    );
    let files = [root, a, b];
    let modules = public_modules(&files);
    let names = |module: &str| modules[module].iter().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(names("crate"), "W Z a c");
    assert_eq!(names("crate::a"), "V f");
    assert_eq!(names("crate::c"), "X Y");
    assert_eq!(
        methods(&files),
        BTreeMap::from([("W".to_owned(), 1), ("Z".to_owned(), 1)])
    );
}
