//! Test vectors of history roots.

use serde_json::{Value as Json, json};
use treering::inspect::digest::CommitDigest;
use treering::inspect::object::HistoryTree;

use super::{check_file, for_each_hash};

#[test]
fn history_vectors() {
    let commits: Vec<_> = (0..20_u8)
        .map(|index| CommitDigest::from_bytes([index; 32]))
        .collect();
    let roots = for_each_hash(|suite| {
        let mut tree = HistoryTree::new(suite);
        let mut roots = vec![tree.root().to_hex()];
        for commit in &commits {
            tree.append(commit);
            roots.push(tree.root().to_hex());
        }
        roots.into()
    });
    let commits: Json = commits.iter().map(|commit| commit.to_hex()).collect();
    check_file("history.json", &json!({"commits": commits, "roots": roots}));
}
