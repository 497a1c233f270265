//! Tests of the reader of the graph file.

use proptest::prelude::*;

use super::*;
use crate::agent::import::mapping::ForeignFormat;
use crate::agent::import::tests::foreign;

/// Returns the findings: line number, fault, and affected part of the line.
fn findings(graph: &Graph) -> Vec<(usize, Fault, &str)> {
    let findings = graph.findings.iter();
    findings
        .map(|(line, fault, part)| (*line, *fault, part.as_str()))
        .collect()
}

fn entities(graph: &Graph) -> Vec<(&str, Option<&str>, Vec<&str>)> {
    let mut all = Vec::new();
    for entity in &graph.entities {
        let observations = entity.observations.iter().map(String::as_str).collect();
        all.push((&*entity.name, entity.class.as_deref(), observations));
    }
    all
}

/// A file with one line of each kind. The reference server also fails on the unreadable lines of this file.
const SEED: &str = r#"{"type":"entity","name":"Alice","entityType":"person","observations":["Works at Acme","Prefers email"]}
{"type":"entity","name":"Bob","entityType":"person","observations":["Allergic to penicillin","Lives in Haifa",null]}
{"type":"entity","name":"Project X","observations":["Deadline 2026-10-01","Budget 40k"]}
{"type":"relation","from":"Alice","to":"Bob","relationType":"manages"}
{"type":"relation","from":"Alice","to":"Bob"}
{"type":"entity","name":"Trunc
{"type":"entity","name":"A","entityType":"x","observations":[]}{"type":"entity","name":"B","entityType":"x","observations":[]}
42
null
{"type":"note","text":"unknown type"}
   

"#;

#[test]
fn faults_beyond_the_maximum_are_counted_and_not_stored() {
    let numbers = vec!["1"; FINDINGS_MAX + 5].join(",");
    let text = format!(r#"{{"type":"entity","name":"A","observations":[{numbers}]}}"#);
    assert_eq!(read_graph(text.as_bytes()).findings.len(), FINDINGS_MAX);
    let mapped = map(&foreign(ForeignFormat::ServerMemory, text.as_bytes()), &[0; 32]).unwrap();
    assert_eq!(mapped.refused as usize, FINDINGS_MAX + 5);
    // The missing type is a fault, too, but loses nothing.
    assert_eq!((mapped.findings.len(), mapped.omitted), (FINDINGS_MAX, 6));
}

#[test]
fn what_can_be_read_of_a_damaged_file_is_taken() {
    let graph = read_graph(SEED.as_bytes());
    assert_eq!(
        entities(&graph),
        [
            ("Alice", Some("person"), vec!["Works at Acme", "Prefers email"]),
            (
                "Bob",
                Some("person"),
                vec!["Allergic to penicillin", "Lives in Haifa"]
            ),
            ("Project X", None, vec!["Deadline 2026-10-01", "Budget 40k"]),
            ("A", Some("x"), vec![]),
            ("B", Some("x"), vec![]),
        ]
    );
    assert_eq!(graph.relations.len(), 1);
    assert_eq!(
        findings(&graph),
        [
            (2, Fault::NoObservation, "2"),
            (3, Fault::NoText, "entityType"),
            (5, Fault::NoText, "relationType"),
            (6, Fault::Incomplete, ""),
            (7, Fault::SeveralValues, "2"),
            (8, Fault::NotAnObject, ""),
            (9, Fault::NotAnObject, ""),
            (10, Fault::OtherType, ""),
        ]
    );
    // The same file with Windows line ends and a byte order mark.
    assert_eq!(
        read_graph(format!("\u{FEFF}{}", SEED.replace('\n', "\r\n")).as_bytes()),
        graph
    );
}

#[test]
fn doubles_are_put_together() {
    let graph = read_graph_text(concat!(
        r#"{"type":"relation","from":"A","to":"Z","relationType":"is"}"#,
        "\n",
        r#"{"type":"entity","name":"A","entityType":"x","observations":["1","1"],"extra":1,"more":[2]}"#,
        "\n",
        r#"{"type":"entity","name":"A","entityType":"y","observations":"2","extra":3,"more":[2]}"#,
        "\n",
        r#"{"type":"relation","from":"A","to":"Z","relationType":"is","weight":2}"#,
        "\n",
        r#"{"type":"entity","name":"B","entityType":"x","observations":{"a":1}}"#,
        "\n",
        r#"{"type":"entity","name":"","entityType":"x","observations":[]}"#,
        "\n",
        r#"{"type":"entity","name":"C","name":"D","entityType":"x","observations":[]}"#,
        "\n",
        r#"{"type":"entity","name":"E","entityType":"x","observations":[]} {"type":"ent"#,
    ));
    assert_eq!(
        entities(&graph),
        [
            ("A", Some("x"), vec!["1", "2"]),
            ("B", Some("x"), vec![]),
            ("E", Some("x"), vec![])
        ]
    );
    assert_eq!(
        graph.entities[0].other.keys().collect::<Vec<_>>(),
        ["extra", "more"]
    );
    assert_eq!(
        graph.entities[1].other["observations"],
        serde_json::json!({"a": 1})
    );
    assert_eq!(
        findings(&graph),
        [
            (1, Fault::NoEntity, "Z"),
            (3, Fault::EntityTwice, ""),
            (3, Fault::FieldTwice, "extra"),
            (3, Fault::EntityTypes, ""),
            (4, Fault::RelationTwice, ""),
            (5, Fault::NoText, "observations"),
            (6, Fault::NoText, "name"),
            (7, Fault::KeyTwice, "name"),
            (8, Fault::Incomplete, ""),
        ]
    );
}

#[test]
fn deep_and_long_lines_are_left_out() {
    let deep = "[".repeat(200_000);
    let long = format!(
        "{{\"type\":\"entity\",\"name\":\"{}\"}}",
        "x".repeat(17 * 1024 * 1024)
    );
    let graph = read_graph(format!("{deep}\n{long}\n{{}}").as_bytes());
    assert_eq!(
        findings(&graph),
        [
            (1, Fault::TooDeep, ""),
            (2, Fault::TooLong, ""),
            (3, Fault::OtherType, "")
        ]
    );
}

proptest! {
    #[test]
    fn smj_1_no_line_is_lost(lines in prop::collection::vec(prop_oneof![
        any::<String>(),
        r#"(\{"type":"(entity|relation|x)"(,"(name|from|to|entityType|relationType|observations)":("a"|"b"|\["c"\]|1)){0,4}\}){1,2}"#,
    ], 0..12)) {
        let text = lines.join("\n");
        let graph = read_graph(text.as_bytes());
        for (line, number) in text.split('\n').zip(1..) {
            let is_known = graph.entities.iter().any(|entity| entity.line == number)
                || graph.relations.iter().any(|relation| relation.line == number)
                || findings(&graph).iter().any(|(line, ..)| *line == number);
            prop_assert!(is_known || line.trim().is_empty() || line == "\u{FEFF}", "{line}");
        }
        let names: HashSet<&str> = graph.entities.iter().map(|entity| &*entity.name).collect();
        prop_assert_eq!(names.len(), graph.entities.len(), "SMJ-2");
    }

    #[test]
    fn a_whole_file_is_read_without_findings(names in prop::collection::btree_set(any::<String>(), 1..8),
                                             texts in prop::collection::btree_set(any::<String>(), 0..5)) {
        let names: Vec<String> = names.into_iter().filter(|name| !name.is_empty()).collect();
        let entities = names.iter().map(|name| {
            serde_json::json!({"type": "entity", "name": name, "entityType": "t", "observations": texts}).to_string()
        });
        let relations = names.iter().map(|name| {
            serde_json::json!({"type": "relation", "from": name, "to": names[0], "relationType": "is"}).to_string()
        });
        let text = entities.chain(relations).collect::<Vec<_>>().join("\n");
        let graph = read_graph(text.as_bytes());
        prop_assert_eq!(&graph.findings, &[]);
        prop_assert_eq!(graph.entities.iter().map(|entity| &entity.name).collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
        prop_assert!(graph.entities.iter().all(|entity| entity.observations.iter().eq(texts.iter())));
        prop_assert_eq!(graph.relations.len(), names.len());
    }
}

fn read_graph_text(text: &str) -> Graph {
    read_graph(text.as_bytes())
}

#[test]
fn a_line_that_is_no_text_costs_only_itself() {
    let mut bytes = SEED.as_bytes().to_vec();
    bytes.splice(0..0, *b"{\"type\":\"entity\",\"name\":\"\xff\"}\n");
    let (whole, marked) = (read_graph(SEED.as_bytes()), read_graph(&bytes));
    assert_eq!(marked.entities.len(), whole.entities.len());
    assert_eq!(marked.relations.len(), whole.relations.len());
    assert_eq!(findings(&marked)[0], (1, Fault::NotUtf8, ""));
}
