//! Mutants of merges: the rules of trust, of bases, of conflicts, and of what a collection keeps.

use super::{Mutant, mutant};

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "what a cap stamped anew is a change of ours",
        "src/engine/write/merge/sides.rs",
        [
            "Ok(is_stamped.then_some(Was::Version(entry)))",
            "is_stamped",
            "false",
        ],
        "remote::tests::caps",
    ),
    mutant(
        "a push brings a child of what was refused",
        "src/engine/write/push.rs",
        [
            "if has || newer.entry_at(&parent)?.is_none() {",
            "has || newer.entry_at(&parent)?.is_none()",
            "true",
        ],
        "remote::tests::caps",
    ),
    mutant(
        "what a cap keeps out is a conflict of everybody",
        "src/engine/write/merge/sides.rs",
        [
            "if was.is(versions.ours) && self.is_capped_alone(ours, theirs) {",
            "was.is(versions.ours)",
            "false && was.is(versions.ours)",
        ],
        "remote::tests::caps",
    ),
    mutant(
        "a cap decides that a removal wins",
        "src/engine/write/merge/sides.rs",
        [
            "trust.is_above(changed.origin()) && stored.is_above(changed.stored_origin())",
            "stored.is_above(changed.stored_origin())",
            "true || stored.is_above(changed.stored_origin())",
        ],
        "remote::tests::caps",
    ),
    mutant(
        "what a push left out counts as a change of others",
        "src/engine/write/merge/graph.rs",
        [
            "if is_push && commit.commit.parents.get(1) == Some(&ours.1.digest) {",
            "is_push",
            "false",
        ],
        "remote::tests::caps",
    ),
    mutant(
        "an ancestor of a base is a base",
        "src/engine/write/merge/base.rs",
        [
            "reached.is_above_common = true;",
            "reached.is_above_common = true;",
            "",
        ],
        "merge::base",
    ),
    mutant(
        "a merge that our side undid counts",
        "src/engine/write/merge/graph.rs",
        [
            "ours: !ours.contains(&commit),",
            "!ours.contains(&commit)",
            "true || !ours.contains(&commit)",
        ],
        "merge::",
    ),
    mutant(
        "a merge that their side undid counts",
        "src/engine/write/merge/graph.rs",
        [
            "theirs: !theirs.contains(&commit),",
            "!theirs.contains(&commit)",
            "true || !theirs.contains(&commit)",
        ],
        "merge::",
    ),
    mutant(
        "a fork of a fork counts as a merge of it",
        "src/engine/write/merge/graph.rs",
        [
            "!into.begins_in(&theirs.0)",
            "!into.begins_in(&theirs.0)",
            "true || !into.begins_in(&theirs.0)",
        ],
        "merge::",
    ),
    mutant(
        "a less trusted version takes the place of a more trusted one",
        "src/engine/write/merge/sides.rs",
        [
            "was.is(versions.ours) && !ours.origin().is_above(theirs.origin())",
            "!ours.origin().is_above(theirs.origin())",
            "true || !ours.origin().is_above(theirs.origin())",
        ],
        "merge::",
    ),
    mutant(
        "a less trusted commit removes a more trusted object",
        "src/engine/write/merge/sides.rs",
        [
            "!ours.origin().is_above(trust)",
            "!ours.origin().is_above(trust)",
            "true || !ours.origin().is_above(trust)",
        ],
        "merge::",
    ),
    mutant(
        "a strategy drops what is more trusted than the writer",
        "src/engine/write/merge/sides.rs",
        [
            "dropped.iter().any(|class| class.is_above(self.class))",
            "dropped.iter().any(|class| class.is_above(self.class))",
            "false && dropped.iter().any(|class| class.is_above(self.class))",
        ],
        "merge::",
    ),
    mutant(
        "a merged version is as trusted as its first side",
        "src/engine/write/merge/sides.rs",
        [
            "class.map_or(side.origin(), |class| least(class, side.origin()))",
            "least(class, side.origin())",
            "class",
        ],
        "merge::",
    ),
    mutant(
        "who merges decides which side is shown",
        "src/engine/write/merge/sides.rs",
        [
            "if ours.digest() > theirs.digest() {",
            "ours.digest() > theirs.digest()",
            "true || ours.digest() > theirs.digest()",
        ],
        "merge::",
    ),
    mutant(
        "a removal behind a merge belongs to who merged",
        "src/engine/write/merge/sides.rs",
        [
            "Some(merge) if merge.is_merge() =>",
            "merge.is_merge()",
            "false && merge.is_merge()",
        ],
        "merge::",
    ),
    mutant(
        "a field that theirs changed alone is ours",
        "src/engine/write/merge/fields.rs",
        [
            "Was::Known(base) if base == ours => Ok(theirs),",
            "Ok(theirs)",
            "{ drop(theirs); Ok(ours) }",
        ],
        "merge::",
    ),
    mutant(
        "lines that touch are merged",
        "src/engine/write/merge/text.rs",
        [
            "decided.map(|side| match side {",
            "decided",
            "Some(decided.unwrap_or(Side::Ours))",
        ],
        "merge::text",
    ),
    mutant(
        "a conflict keeps no version",
        "src/engine/write/merge/conflict.rs",
        [
            "object.derived_from = named.into_iter().collect();",
            "object.derived_from = named.into_iter().collect();",
            "drop(named);",
        ],
        "merge::",
    ),
    mutant(
        "a conflict names versions of another object",
        "src/engine/write/merge/conflict.rs",
        [
            "is_of && !object.origin().is_above(version.origin())",
            "is_of && !object.origin().is_above(version.origin())",
            "true || is_of",
        ],
        "merge::",
    ),
    mutant(
        "a second conflict replaces the first one",
        "src/engine/write/merge/plan.rs",
        ["named.unite(before);", "named.unite(before);", "drop(before);"],
        "merge::",
    ),
    mutant(
        "a decision leaves the earlier conflict open",
        "src/engine/write/merge/plan.rs",
        ["close(draft, &conflict)?;", "close(draft, &conflict)?;", ""],
        "merge::",
    ),
    mutant(
        "the policy does not see the merge",
        "src/engine/write/merge/mod.rs",
        [
            "match self.memory.judge(draft, Op::MERGE) {",
            "self.memory.judge(draft, Op::MERGE)",
            "Ok::<_, Box<super::memory::PolicyRefusal>>(draft)",
        ],
        "merge::",
    ),
    mutant(
        "the rule of trust does not see the merge",
        "src/engine/write/merge/plan.rs",
        [
            "check(&view, &draft, writer)?;",
            "check(&view, &draft, writer)?;",
            "",
        ],
        "merge::",
    ),
    mutant(
        "the order of two rivals decides",
        "src/engine/write/merge/claims.rs",
        ["*rival.max(&change.key)", "*rival.max(&change.key)", "*rival"],
        "merge::",
    ),
    mutant(
        "a branch of theirs gives its digest to another branch",
        "src/trie/digest.rs",
        [
            "is_same = is_same && hashes_alike(child, other, kind);",
            "is_same && hashes_alike(child, other, kind)",
            "is_same",
        ],
        "trie::tests::diff",
    ),
    mutant(
        "who is less trusted resolves a conflict",
        "src/engine/write/merge/resolve.rs",
        [
            "check_sides(self, (id, &conflict, &named), &resolution)?;",
            "check_sides(self, (id, &conflict, &named), &resolution)?;",
            "",
        ],
        "merge::",
    ),
    mutant(
        "a model removes a conflict by hand",
        "src/engine/write/draft.rs",
        [
            "self.check_conflict(id, None)?;",
            "self.check_conflict(id, None)?;",
            "",
        ],
        "merge::",
    ),
    mutant(
        "a collection forgets the merges",
        "src/store/rewrite/lines.rs",
        [
            "self.add_merges(&kept.lines, 0..self.kept(), &mut needed)?;",
            "self.add_merges(&kept.lines, 0..self.kept(), &mut needed)?;",
            "",
        ],
        "merge::",
    ),
    mutant(
        "a collection forgets that a merge was taken back",
        "src/store/rewrite/lines.rs",
        [
            "needed.extend([commit.digest, target]);",
            "needed.extend([commit.digest, target]);",
            "",
        ],
        "merge::",
    ),
    mutant(
        "a rollback does not look at what merges brought",
        "src/engine/write/rollback.rs",
        [
            "for brought in store.brought_after(from)? {",
            "store.brought_after(from)?",
            "store.brought_after(u64::MAX - 1)?",
        ],
        "merge::",
    ),
];
