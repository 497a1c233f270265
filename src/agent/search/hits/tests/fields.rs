//! Tests of the conditions that the index knows: kinds and tags.

use super::*;
use crate::agent::index_keys::key_at;

fn item(kind: &str, tags: &[&str]) -> NewItem {
    NewItem {
        kind: Kind::new(kind).unwrap(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..NewItem::new("The tea is in the kitchen")
    }
}

/// Returns the items that meet a query, and the number of objects that were read to find out.
fn met(agent: &Agent, names: &[String], query: &RecallQuery) -> (Vec<String>, usize) {
    let view = agent.memory().view();
    let (indexed, _) = agent.recall_index().of(&view).unwrap();
    let search = Search {
        view: &view,
        query,
        among: None,
        content: indexed.value(),
        now: view.now(),
        accepted: RefCell::default(),
        superseding: RefCell::new(Superseding::new(&view)),
    };
    let key = |name: &String| key_at(&agent.memory().suite().key_path(name));
    let met = names.iter().filter(|name| search.meets(&key(name)));
    let met = met.cloned().collect();
    let read = search.accepted.borrow().len();
    (met, read)
}

/// A search by meaning asks of every item whether it meets the query.
#[test]
fn only_items_of_the_kind_and_with_the_tag_are_read() {
    let agent = agent();
    let mut names: Vec<String> = (0..50).map(|at| format!("n{at}")).collect();
    for name in &names {
        put(&agent, name, item("fact", &["common"]));
    }
    for (name, kind, tags) in [
        ("top", "heading", &["rare"][..]),
        ("below", "heading", &[]),
        ("one", "decision", &["rare", "common"]),
    ] {
        let mut object = item(kind, tags).into_object(id(name)).unwrap();
        object.parent = (name == "below").then(|| id("top"));
        drop(agent.memory().put(object, &Writer::user()).unwrap());
        names.push(name.to_owned());
    }
    let ask = || RecallQuery::new("tea", Reach::All);
    let of_kind = || ask().kind(Kind::new("decision").unwrap());
    assert_eq!(met(&agent, &names, &of_kind()), (vec!["one".to_owned()], 1));
    let tagged = met(&agent, &names, &ask().tag("rare"));
    assert_eq!(tagged, (["top", "below", "one"].map(str::to_owned).to_vec(), 3));
    let any = RecallQuery {
        any_tags: vec!["rare".to_owned(), "unknown".to_owned()],
        ..of_kind().tag("common")
    };
    assert_eq!(met(&agent, &names, &any), (vec!["one".to_owned()], 1));
    assert_eq!(met(&agent, &names, &ask().tag("Rare")), (Vec::new(), 2));
    // The index follows an item to another kind.
    put(&agent, "one", item("fact", &[]));
    assert_eq!(met(&agent, &names, &of_kind()), (Vec::new(), 0));
    put(&agent, "n7", item("decision", &[]));
    assert_eq!(met(&agent, &names, &of_kind()), (vec!["n7".to_owned()], 1));
}
