//! Checks that a file imports only from its own folder and from lower layers. Folders of the same layer must not import
//! each other.

use super::source::{Source, words};
use super::{expect_none, expect_one, in_package, packages};

/// The layer of each module of the packages. Cargo keeps the packages apart: the text code is below the library, and the
/// program above. docs/architecture.md contains the same table with reasons.
const LAYERS: [(&str, u8); 27] = [
    ("error", 0),
    ("digest", 0),
    ("codec", 0),
    ("calendar", 0),
    ("named", 0),
    ("threads", 0),
    ("visible", 0),
    ("tables", 0),
    ("slots", 1),
    ("disk", 1),
    ("log", 2),
    ("trie", 3),
    ("object", 3),
    ("store", 4),
    ("engine", 5),
    ("ingest", 6),
    ("recall", 6),
    ("scan", 6),
    ("signed", 6),
    ("agent", 7),
    ("remote", 7),
    ("answers", 8),
    ("hook", 8),
    ("private_file", 8),
    ("verified", 8),
    ("asynchronous", 8),
    ("serve", 9),
];
/// The layer of the program.
const CLI: u8 = 10;
/// Modules without I/O, which may import only from layer 0.
const PURE: [&str; 4] = ["trie", "object", "recall", "scan"];

fn layer_of(module: &str) -> Option<u8> {
    let found = LAYERS
        .iter()
        .find(|(name, _)| *name == module)
        .map(|(_, layer)| *layer);
    found.or((module == "cli").then_some(CLI))
}

/// Returns the modules that contain a file, from the crate's root.
fn modules_of(path: &str) -> Vec<&str> {
    let path = in_package(path).trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').collect()
}

/// Returns the imports from a higher layer, or from another module of the same layer.
fn wrong_imports(files: &[Source]) -> Vec<String> {
    let mut violations = Vec::new();
    for file in files {
        let modules = modules_of(&file.path);
        let own = modules[0];
        if matches!(own, "lib" | "main" | "testing" | "inspect") {
            continue;
        }
        let Some(layer) = layer_of(own) else {
            violations.push(format!("{}: the module {own} has no layer", file.path));
            continue;
        };
        for (number, used, for_tests) in imports(file, modules.len()) {
            let allowed = match layer_of(&used) {
                _ if used == own => true,
                _ if used == "testing" => for_tests,
                Some(other) => other < if PURE.contains(&own) { 1 } else { layer },
                // lib.rs re-exports only from the engine and lower layers.
                None => for_tests || layer > 5,
            };
            if !allowed {
                violations.push(format!("{} uses {used}", file.at(number)));
            }
        }
    }
    violations
}

/// Returns the top-level modules that a file imports, each with the line number and whether the line is test code.
fn imports(file: &Source, depth: usize) -> Vec<(usize, String, bool)> {
    let code = file.code.join("\n");
    let to_root = "super::".repeat(depth);
    let mut found = Vec::new();
    for prefix in ["crate::", to_root.as_str()] {
        for (start, _) in code.match_indices(prefix) {
            let before = code[..start].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let line = code[..start].matches('\n').count();
            for name in first_names(&code[start + prefix.len()..]) {
                // In an inline module, `super` may mean the file itself.
                if prefix == "crate::" || layer_of(&name).is_some() {
                    found.push((line + 1, name, file.for_tests[line]));
                }
            }
        }
    }
    found
}

/// Returns the first name of a path, or of each path of a group in braces.
fn first_names(rest: &str) -> Vec<String> {
    let Some(group) = rest.strip_prefix('{') else {
        return words(rest).next().map(str::to_owned).into_iter().collect();
    };
    let mut names = Vec::new();
    let (mut depth, mut part) = (1, String::new());
    for char in group.chars() {
        match char {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 || (depth == 1 && char == ',') {
            names.extend(words(&part).next().map(str::to_owned));
            part.clear();
        } else {
            part.push(char);
        }
        if depth == 0 {
            break;
        }
    }
    names
}

#[test]
fn an_import_upward_or_sideways_is_seen() {
    let check = |path: &str, text: &str| wrong_imports(&[Source::new(path, text)]);
    expect_one(
        &check("src/trie/node.rs", "use crate::store::Store;"),
        "uses store",
    );
    expect_one(&check("src/trie/node.rs", "use crate::disk::Disk;"), "uses disk");
    expect_one(
        &check("src/trie/node.rs", "use crate::object::Id;"),
        "uses object",
    );
    expect_one(
        &check(
            "src/store/mod.rs",
            "use crate::{error::Error, disk::{Disk, FileDisk}, engine};",
        ),
        "uses engine",
    );
    expect_one(
        &check("src/log/scan.rs", "fn a() { crate::store::b() }"),
        "uses store",
    );
    expect_one(
        &check("src/log/scan.rs", "use super::super::engine::Memory;"),
        "uses engine",
    );
    expect_one(&check("src/digest.rs", "use super::codec::Reader;"), "uses codec");
    expect_one(
        &check("src/disk/map.rs", "use crate::testing::SimDisk;"),
        "uses testing",
    );
    expect_one(&check("src/store/mod.rs", "use crate::Memory;"), "uses Memory");
    expect_one(&check("src/wings/mod.rs", ""), "no layer");
    expect_none(&check(
        "src/log/scan.rs",
        "use crate::disk::Disk; use super::frame; // crate::engine",
    ));
    expect_none(&check(
        "src/log/tests.rs",
        "use crate::testing::SimDisk; use super::Log;",
    ));
    expect_none(&check(
        "program/src/cli/mod.rs",
        "use crate::{answers, serve}; pub(in crate::cli) fn a() {}",
    ));
    expect_one(
        &check("program/src/answers/mod.rs", "use crate::cli::run;"),
        "uses cli",
    );
    expect_one(
        &check("text/src/recall/mod.rs", "use crate::scan::Scanner;"),
        "uses scan",
    );
}

#[test]
fn files_import_from_their_own_folder_and_from_below() {
    expect_none(&wrong_imports(&packages()));
}
