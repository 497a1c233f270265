//! Tests of the limits on the number of removed and rewritten objects.

use proptest::prelude::*;

use super::*;
use crate::object::Scope;

const KINDS: [&str; 4] = ["fact", "rule", "entry", "heading"];
const SCOPES: [&str; 2] = ["global", "project:tea"];
const CLASSES: [Origin; 2] = [Origin::DirectUser, Origin::Document];

/// An object of a random store, by its places in the lists above, and what the change does to it.
#[derive(Clone, Debug, PartialEq)]
struct Held {
    group: (usize, usize, usize),
    touch: Touch,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Touch {
    Nothing,
    Remove,
    Rewrite,
    Supersede,
}

fn held() -> impl Strategy<Value = Held> {
    let touches = [Touch::Nothing, Touch::Remove, Touch::Rewrite, Touch::Supersede];
    let touch = proptest::sample::select(touches.to_vec());
    // Few groups, so that some of them exceed a limit.
    ((0..4_usize, 0..2_usize, 0..2_usize), touch).prop_map(|(group, touch)| Held { group, touch })
}

fn stored(held: &Held, number: usize, text: &str) -> NewObject {
    let mut object = object(&format!("n{number}"), KINDS[held.group.0], text);
    object.scope = Scope::new(SCOPES[held.group.1]).unwrap();
    object
}

/// Returns the failed limits of a change to a store.
fn refused(store: &[Held], policy: &str) -> Vec<String> {
    let agent = agent();
    let mut draft = agent.memory().draft(&Writer::user());
    for (number, held) in store.iter().enumerate() {
        let class = CLASSES[held.group.2];
        draft
            .stage(
                stored(held, number, "old"),
                crate::engine::OriginRule::AtMost(class),
            )
            .unwrap();
    }
    drop(agent.memory().commit(draft, "put").unwrap());
    let mut draft = agent.memory().draft(&Writer::user());
    for (number, held) in store.iter().enumerate() {
        match held.touch {
            Touch::Nothing => {}
            Touch::Remove => assert!(draft.remove(&id(&format!("n{number}"))).unwrap()),
            Touch::Rewrite => {
                draft.put(stored(held, number, "new")).unwrap();
            }
            Touch::Supersede => {
                let mut item = NewItem::new("instead");
                item.scope = Scope::new(SCOPES[held.group.1]).unwrap();
                item.supersedes = vec![id(&format!("n{number}"))];
                let item = item.into_object(id(&format!("instead-of-{number}"))).unwrap();
                draft.put(item).unwrap();
            }
        }
    }
    let report = agent
        .check(&draft, &Checks::new(Policy::parse(policy).unwrap()))
        .unwrap();
    let failed = report.failed().map(|checked| checked.check.clone());
    failed
        .filter(|check| ["removals", "rewrites"].contains(&&**check))
        .collect()
}

/// Computes from the page docs/agent/guard.md whether a change breaks a limit.
fn is_broken(store: &[Held], touches: &[Touch], free: usize, most: usize) -> bool {
    let touched: Vec<_> = store
        .iter()
        .filter(|held| touches.contains(&held.touch))
        .collect();
    let is_large = |group| {
        let count = touched.iter().filter(|held| held.group == group).count();
        let all = store.iter().filter(|held| held.group == group).count();
        count > free && 2 * count > all
    };
    let counted = touched.iter().filter(|held| held.group.0 < 2).count();
    counted > most || touched.iter().any(|held| is_large(held.group))
}

/// Returns the limits that a change breaks. `free` and the limits on items of the policy are given.
fn expected(store: &[Held], free: usize, removed_max: usize, rewritten_max: usize) -> Vec<&'static str> {
    let limits = [
        ("removals", &[Touch::Remove][..], removed_max),
        ("rewrites", &[Touch::Rewrite, Touch::Supersede], rewritten_max),
    ];
    let broken = limits
        .into_iter()
        .filter(|(_, touches, most)| is_broken(store, touches, free, *most));
    broken.map(|(check, ..)| check).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// INVARIANTS CNT-1 and CNT-2: the limits refuse what a naive count refuses.
    #[test]
    fn limits_refuse_what_a_naive_count_refuses(store in proptest::collection::vec(held(), 0..60)) {
        let policy = "change.free = 1\nchange.items_removed_max = 6\nchange.items_rewritten_max = 12";
        prop_assert_eq!(refused(&store, policy), expected(&store, 1, 6, 12));
        prop_assert_eq!(refused(&store, ""), expected(&store, 5, 100, 100));
    }
}

fn some(kind: usize, count: usize, touch: Touch) -> Vec<Held> {
    let held = Held {
        group: (kind, 0, 0),
        touch,
    };
    vec![held; count]
}

#[test]
fn a_transcript_does_not_make_the_loss_of_every_fact_look_small() {
    let facts = some(0, 100, Touch::Remove);
    let store = [facts, some(2, 150, Touch::Nothing)].concat();
    assert_eq!(refused(&store, ""), ["removals"]);
    let untrusted = Held {
        group: (0, 0, 1),
        touch: Touch::Nothing,
    };
    let store = [some(0, 20, Touch::Remove), vec![untrusted; 150]].concat();
    assert_eq!(refused(&store, ""), ["removals"], "untrusted facts count apart");
}

#[test]
fn a_change_has_absolute_limits_and_a_small_store_has_room() {
    let store = |touch| [some(0, 101, touch), some(0, 500, Touch::Nothing)].concat();
    assert_eq!(refused(&store(Touch::Remove), ""), ["removals"]);
    assert_eq!(refused(&store(Touch::Rewrite), ""), ["rewrites"]);
    assert_eq!(refused(&store(Touch::Supersede), ""), ["rewrites"]);
    let one_of_two = [some(0, 1, Touch::Remove), some(0, 1, Touch::Nothing)].concat();
    assert_eq!(refused(&one_of_two, ""), [""; 0]);
    // Without another limit, a transcript is limited by its share only.
    let transcript = [some(2, 200, Touch::Remove), some(2, 300, Touch::Nothing)].concat();
    assert_eq!(refused(&transcript, ""), [""; 0]);
    assert_eq!(refused(&transcript, "change.removed_max = 199"), ["removals"]);
}
