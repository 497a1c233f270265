//! Limits import cycles between files of a folder. To understand one file of a cycle, a reader must know all its files.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;
use super::{expect_none, expect_one, in_package, packages};

/// The number of files in the largest allowed cycle.
const CIRCLE_FILES_MAX: usize = 4;

/// Returns the module path of a file from the crate root: `engine::read::view` for `src/engine/read/view.rs`.
fn module_of(path: &str) -> Vec<String> {
    let path = in_package(path).trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.split('/').map(str::to_owned).collect()
}

/// The modules of the crate, and the names that each module re-exports.
struct Modules<'a> {
    files: BTreeMap<Vec<String>, &'a Source>,
    /// For each module, the re-exported names and the paths of their targets.
    exports: BTreeMap<Vec<String>, BTreeMap<String, Vec<String>>>,
}

impl<'a> Modules<'a> {
    fn new(files: &'a [Source]) -> Self {
        let files: BTreeMap<_, _> = files.iter().map(|file| (module_of(&file.path), file)).collect();
        let mut modules = Self {
            files,
            exports: BTreeMap::new(),
        };
        for (module, file) in &modules.files {
            let mut exports = BTreeMap::new();
            for (is_public, path) in uses(&shipped(file)) {
                if let (true, Some(name)) = (is_public, path.last()) {
                    exports.insert(name.clone(), modules.absolute(module, &path));
                }
            }
            modules.exports.insert(module.clone(), exports);
        }
        modules
    }

    /// Resolves a path in `module` to a path from the crate root.
    fn absolute(&self, module: &[String], path: &[String]) -> Vec<String> {
        let mut whole = match path[0].as_str() {
            "crate" => Vec::new(),
            "self" => module.to_vec(),
            "super" => module[..module.len() - 1].to_vec(),
            first => {
                let mut child = module.to_vec();
                child.push(first.to_owned());
                if !self.files.contains_key(&child) {
                    return path.to_vec();
                }
                child
            }
        };
        for part in &path[1..] {
            if part == "super" {
                whole.pop();
            } else {
                whole.push(part.clone());
            }
        }
        whole
    }

    /// Returns the module that defines the target of a path. Follows re-exports.
    fn owner(&self, path: &[String], depth: usize) -> Option<Vec<String>> {
        let length = (1..=path.len())
            .rev()
            .find(|&length| self.files.contains_key(&path[..length]))?;
        let (module, rest) = path.split_at(length);
        let behind = rest.first().and_then(|name| self.exports[module].get(name));
        match behind {
            Some(behind) if depth < 8 && behind != path => {
                let whole = [behind, &rest[1..]].concat();
                self.owner(&whole, depth + 1).or(Some(module.to_vec()))
            }
            _ => Some(module.to_vec()),
        }
    }

    /// Returns the modules of the same folder that a module imports.
    fn imports(&self, module: &[String]) -> BTreeSet<Vec<String>> {
        let code = shipped(self.files[module]);
        let imported = uses(&code).into_iter().filter(|(is_public, _)| !is_public);
        let mut paths: Vec<Vec<String>> = imported.map(|(_, path)| path).collect();
        paths.extend(inline(&code));
        let owners = paths.iter().filter(|path| !path.is_empty()).filter_map(|path| {
            let path = self.absolute(module, path);
            self.owner(&path, 0)
        });
        owners
            .filter(|owner| owner[0] == module[0] && owner != module)
            .collect()
    }
}

/// Returns the non-test code of a file.
fn shipped(file: &Source) -> String {
    let lines: Vec<&str> = file.shipped().map(|(_, line)| line).collect();
    lines.join("\n")
}

/// Returns the paths of all `use` statements, each with whether the statement is public.
fn uses(code: &str) -> Vec<(bool, Vec<String>)> {
    let mut found = Vec::new();
    for (start, _) in code.match_indices("use ") {
        let line = &code[code[..start].rfind('\n').map_or(0, |end| end + 1)..start];
        let before = line.trim();
        if !(before.is_empty() || before.starts_with("pub")) {
            continue;
        }
        let Some(end) = code[start..].find(';') else {
            continue;
        };
        let mut paths = Vec::new();
        expand(&code[start + 4..start + end], &[], &mut paths);
        found.extend(paths.into_iter().map(|path| (!before.is_empty(), path)));
    }
    found
}

/// Expands a `use` tree with braces to its paths.
fn expand(tree: &str, above: &[String], paths: &mut Vec<Vec<String>>) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let tree = tree.split(" as ").next().unwrap_or_default();
        let parts = tree.split("::").map(|part| part.trim().to_owned());
        let mut path = above.to_vec();
        path.extend(parts.filter(|part| !part.is_empty() && part != "*" && part != "self"));
        if tree.starts_with("self") && above.is_empty() {
            path.insert(0, "self".to_owned());
        }
        paths.push(path);
        return;
    };
    let mut prefix = above.to_vec();
    let parts = tree[..open].split("::").map(|part| part.trim().to_owned());
    prefix.extend(parts.filter(|part| !part.is_empty()));
    let (mut depth, mut part) = (0, String::new());
    for char in tree[open..].chars() {
        match char {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if (depth == 1 && char == ',') || depth == 0 {
            if !part.trim().is_empty() {
                expand(&part, &prefix, paths);
            }
            part.clear();
            if depth == 0 {
                return;
            }
        } else if !(depth == 1 && char == '{') {
            part.push(char);
        }
    }
}

/// Returns the paths in code outside `use` statements. The first name of a path may be a child module.
fn inline(code: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    for statement in code.split_inclusive([';', '{', '}']) {
        let mut lines = statement.lines().map(str::trim_start);
        let first = lines.find(|line| !line.is_empty() && !line.starts_with("#["));
        let first = first.unwrap_or_default();
        if first.starts_with("use ") || first.starts_with("pub") && first.contains(" use ") {
            continue;
        }
        // Hide paths in visibilities such as `pub(in crate::scan)`, because they are not imports.
        let statement = statement.replace("(in crate::", "(in ::");
        for word in statement.split(|c: char| !is_part(c)) {
            let path: Vec<String> = word.split("::").map(str::to_owned).collect();
            if path.len() > 1 && path.iter().all(|part| !part.is_empty() && !part.contains(':')) {
                paths.push(path);
            }
        }
    }
    paths
}

/// Returns the import cycles with more than `most` files, for each folder.
fn circles(files: &[Source], most: usize) -> Vec<String> {
    let files: Vec<Source> = files
        .iter()
        .filter(|file| !file.path.starts_with("src/testing/") && in_package(&file.path).contains('/'))
        .map(|file| Source::new(&file.path, &file.text))
        .collect();
    let modules = Modules::new(&files);
    let names: Vec<&Vec<String>> = modules.files.keys().collect();
    let place: BTreeMap<&Vec<String>, usize> =
        names.iter().enumerate().map(|(at, name)| (*name, at)).collect();
    let count = names.len();
    let mut reaches = vec![vec![false; count]; count];
    for (at, name) in names.iter().enumerate() {
        for owner in modules.imports(name) {
            reaches[at][place[&owner]] = true;
        }
    }
    for middle in 0..count {
        let row = reaches[middle].clone();
        for from in &mut reaches {
            if from[middle] {
                for (to, reached) in from.iter_mut().zip(&row) {
                    *to |= reached;
                }
            }
        }
    }
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (at, reached) in reaches.iter().enumerate() {
        let circle: Vec<usize> = (0..count)
            .filter(|&other| reached[other] && reaches[other][at])
            .collect();
        if circle.len() > most && circle.iter().all(|file| seen.insert(*file)) {
            let paths: Vec<&str> = circle
                .iter()
                .map(|&file| modules.files[names[file]].path.as_str())
                .collect();
            found.push(format!(
                "{} files import each other: {}",
                circle.len(),
                paths.join(" ")
            ));
        }
    }
    found
}

#[test]
fn a_circle_of_files_is_seen() {
    let file = |path: &str, text: &str| Source::new(path, text);
    let a = file("src/x/a.rs", "use super::b::B;\nfn f() {}");
    let b = file("src/x/b.rs", "use crate::x::{C, D};");
    let c = file("src/x/c.rs", "fn g() { super::a::f() }");
    let root = file(
        "src/x/mod.rs",
        "mod a;\nmod b;\nmod c;\npub use c::{C};\n#[doc(hidden)]\npub(crate) use a::f;\nstruct D;",
    );
    expect_one(
        &circles(&[a, b, root, c], 2),
        "3 files import each other: src/x/a.rs src/x/b.rs src/x/c.rs",
    );
    let down = file("src/x/a.rs", "use super::b::B; // super::c");
    let leaf = file(
        "src/x/b.rs",
        "#[cfg(test)]\nmod tests {\n    use super::super::a::A;\n}\n",
    );
    expect_none(&circles(&[down, leaf], 1));
    let parent = file("src/x/mod.rs", "mod a;\nfn f() { a::g() }");
    let child = file("src/x/a.rs", "use super::f;");
    expect_one(&circles(&[parent, child], 1), "2 files");
}

#[test]
fn no_circle_of_files_is_large() {
    expect_none(&circles(&packages(), CIRCLE_FILES_MAX));
}
