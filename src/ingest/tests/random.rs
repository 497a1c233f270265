//! Tests with random documents and edits: the memory contains the content of the file, ids do not change, and an edit
//! writes only the changed objects.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::object::Value;

/// A heading of a file.
#[derive(Clone, Debug)]
struct Line {
    level: usize,
    name: u32,
    text: u32,
    stated: bool,
}

#[derive(Clone, Debug)]
enum Edit {
    Insert { at: Index, level: usize, stated: bool },
    Remove { at: Index },
    Text { at: Index },
    Title { at: Index },
    Move { at: Index, to: Index },
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        4 => (any::<Index>(), 1..5_usize, any::<bool>()).prop_map(|(at, level, stated)| Edit::Insert { at, level, stated }),
        1 => any::<Index>().prop_map(|at| Edit::Remove { at }),
        1 => any::<Index>().prop_map(|at| Edit::Text { at }),
        1 => any::<Index>().prop_map(|at| Edit::Title { at }),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(at, to)| Edit::Move { at, to }),
    ];
    prop::collection::vec(edit, 1..40)
}

#[derive(Clone, Default)]
struct File {
    lines: Vec<Line>,
    names: u32,
}

impl File {
    fn new_name(&mut self) -> u32 {
        self.names += 1;
        self.names
    }

    /// Returns the indexes of a heading and all headings below it.
    fn subtree(&self, at: usize) -> std::ops::Range<usize> {
        let below = self.lines[at + 1..]
            .iter()
            .take_while(|line| line.level > self.lines[at].level)
            .count();
        at..at + 1 + below
    }

    /// Returns a level that leaves no gap, so one edit does not change another heading's parent or level.
    fn level_at(&self, at: usize, wanted: usize) -> usize {
        let before = at.checked_sub(1).map_or(0, |before| self.lines[before].level);
        let after = self.lines.get(at).map_or(0, |after| after.level);
        wanted.min(before + 1).max(after).max(1)
    }

    fn org(&self) -> String {
        let line = |line: &Line| {
            let drawer = if line.stated {
                format!(":PROPERTIES:\n:ID: id-{}\n:END:\n", line.name)
            } else {
                String::new()
            };
            format!(
                "{} Heading {}\n{drawer}text {}\n\n",
                "*".repeat(line.level),
                line.name,
                line.text
            )
        };
        self.lines.iter().map(line).collect()
    }

    fn markdown(&self) -> String {
        let line = |line: &Line| {
            let comment = if line.stated {
                format!("<!-- id: id-{} -->\n", line.name)
            } else {
                String::new()
            };
            format!(
                "{} Heading {}\n{comment}\ntext {}\n\n",
                "#".repeat(line.level),
                line.name,
                line.text
            )
        };
        self.lines.iter().map(line).collect()
    }
}

/// Checks that the memory contains the headings of the file in its order. Returns their ids.
fn held(memory: &Memory, path: &str, file: &File) -> Vec<String> {
    let mut ids = Vec::new();
    let mut open: Vec<String> = memory.children_of(path).into_iter().rev().collect();
    while let Some(id) = open.pop() {
        open.extend(memory.children_of(&id).into_iter().rev());
        ids.push(id);
    }
    assert_eq!(ids.len(), file.lines.len());
    for (id, line) in ids.iter().zip(&file.lines) {
        let object = memory.object(id);
        assert_eq!(
            object.attribute("title"),
            Some(Value::from(format!("Heading {}", line.name)))
        );
        assert_eq!(object.content(), Some(format!("text {}", line.text).as_str()));
        assert!(!line.stated || *id == format!("id-{}", line.name));
    }
    ids
}

fn run(path: &str, write: fn(&File) -> String, edits: &[Edit]) {
    let mut file = File::default();
    let mut memory = Memory::default();
    memory.ingest(&[(path, &write(&file))]);
    for edit in edits {
        let mut ids = held(&memory, path, &file);
        let length = file.lines.len();
        // The maximal numbers of objects that one edit may create, update and remove.
        let expected = match edit {
            Edit::Insert { at, level, stated } => {
                let at = at.index(length + 1);
                let level = file.level_at(at, *level);
                let name = file.new_name();
                file.lines.insert(
                    at,
                    Line {
                        level,
                        name,
                        text: name,
                        stated: *stated,
                    },
                );
                ids.insert(at, String::new());
                (1, 0, 0)
            }
            _ if length == 0 => continue,
            Edit::Remove { at } => {
                let gone = file.subtree(at.index(length));
                let count = gone.len() as u64;
                file.lines.drain(gone.clone());
                ids.drain(gone);
                (0, 0, count)
            }
            Edit::Text { at } => {
                file.lines[at.index(length)].text = file.new_name();
                (0, 1, 0)
            }
            Edit::Title { at } => {
                let name = file.new_name();
                let line = &mut file.lines[at.index(length)];
                if line.stated {
                    // The id would change together with the title.
                    continue;
                }
                line.name = name;
                (0, 1, 0)
            }
            Edit::Move { at, to } => {
                let from = file.subtree(at.index(length));
                if !file.lines[from.start].stated {
                    continue;
                }
                let moved: Vec<Line> = file.lines.drain(from.clone()).collect();
                let moved_ids: Vec<String> = ids.drain(from).collect();
                let to = to.index(file.lines.len() + 1);
                let level = file.level_at(to, 1);
                let rise = |line: Line| Line {
                    level: line.level + level - moved[0].level,
                    ..line
                };
                let risen: Vec<Line> = moved.clone().into_iter().map(rise).collect();
                if risen.iter().any(|line| line.level > 6) {
                    // Markdown has no level this deep, so all headings below would change.
                    let start = at.index(length);
                    file.lines.splice(start..start, moved);
                    continue;
                }
                file.lines.splice(to..to, risen);
                ids.splice(to..to, moved_ids);
                (0, 1, 0)
            }
        };
        let change = memory.ingest(&[(path, &write(&file))]);
        let now = held(&memory, path, &file);
        for (before, now) in ids.iter().zip(&now) {
            assert!(
                before.is_empty() || before == now,
                "{before} became {now} by {edit:?}"
            );
        }
        assert_eq!(
            (change.created, change.removed),
            (expected.0, expected.2),
            "{edit:?}"
        );
        if change.respaced.is_empty() {
            // A Markdown file may be titled by the heading that changed.
            let mut puts = change.put.iter();
            let is_retitled = path == "r.md" && puts.any(|write| write.object.id.as_str() == path);
            let most = expected.1 + u64::from(is_retitled);
            assert!(change.updated <= most, "{edit:?} wrote {:?}", change.put);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn edits_of_org_files_keep_ids_and_write_little(edits in edits()) {
        run("r.org", File::org, &edits);
    }

    #[test]
    fn edits_of_markdown_files_keep_ids_and_write_little(edits in edits()) {
        run("r.md", File::markdown, &edits);
    }

    /// For any two successive files, the memory contains the second file afterwards.
    #[test]
    fn after_any_edit_the_memory_holds_the_file(first in edits(), second in edits()) {
        let grow = |edits: &[Edit]| {
            let mut file = File::default();
            for edit in edits {
                if let Edit::Insert { at, level, stated } = edit {
                    let at = at.index(file.lines.len() + 1);
                    let level = file.level_at(at, *level);
                    let name = file.new_name();
                    file.lines.insert(at, Line { level, name, text: name, stated: *stated });
                }
            }
            file
        };
        let (first, second) = (grow(&first), grow(&second));
        let mut memory = Memory::default();
        memory.ingest(&[("r.org", &first.org())]);
        memory.ingest(&[("r.org", &second.org())]);
        held(&memory, "r.org", &second);
        prop_assert_eq!(memory.ids().len(), second.lines.len() + 1);
    }
}
