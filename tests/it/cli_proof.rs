//! `prove`, `check-proof`, `contains`.

use crate::program::{Folder, check_fields, text};

fn with_objects() -> Folder {
    let folder = Folder::with_store();
    let lines: String = (0..40)
        .map(|number| format!("{{\"id\":\"o/{number}\",\"kind\":\"k\"}}\n"))
        .collect();
    assert_eq!(folder.feed(&["put", "--jsonl", "-"], lines).code, 0);
    folder
}

#[test]
fn a_proof_is_checked_without_a_store() {
    let folder = with_objects();
    let root = folder.root();
    let elsewhere = Folder::new();
    for (id, present) in [("o/7", true), ("nobody", false)] {
        let proof = folder.json(&["prove", id]);
        check_fields(
            &proof,
            &[
                ("version", "n"),
                ("hash", "s"),
                ("root", "d"),
                ("id", "s"),
                ("key_path", "d"),
                ("object", "d?"),
                ("levels", "l"),
                ("terminal", "m"),
            ],
        );
        assert_eq!(proof["object"].is_string(), present);
        elsewhere.write("proof", proof.to_string());
        let checked = elsewhere.json(&["check-proof", "proof", "--root", &root]);
        assert_eq!(
            (checked["ok"].as_bool(), checked["present"].as_bool()),
            (Some(true), Some(present))
        );
        let ran = elsewhere.feed(&["check-proof", "-"], proof.to_string());
        assert_eq!(ran.code, 0, "{ran:?}");
    }
}

#[test]
fn a_proof_of_something_else_exits_with_5() {
    let folder = with_objects();
    let proof = folder.json(&["prove", "o/7"]).to_string();
    let other_root = text(&folder.put("o/7", "changed")["root"]);
    folder.write("proof", &proof);
    assert_eq!(
        folder.refused(5, &["check-proof", "proof", "--root", &other_root])["code"],
        "proof_failed"
    );
    for (from, to) in [
        ("\"o/7\"", "\"o/8\""),
        ("blake3", "sha256"),
        ("\"version\":1", "\"version\":2"),
    ] {
        folder.write("proof", proof.replacen(from, to, 1));
        assert_eq!(
            folder.refused(5, &["check-proof", "proof"])["code"],
            "proof_failed",
            "{from} -> {to}"
        );
    }
    for garbage in ["", "{}", "\u{0}", "[[[["] {
        folder.write("proof", garbage);
        folder.refused(5, &["check-proof", "proof"]);
    }
    let ran = folder.run(&["check-proof", "proof", "--json"]);
    assert_eq!(ran.documents()[0]["ok"], false);
    assert_eq!(
        folder.refused(2, &["check-proof", "proof", "--root", "5f0c"])["code"],
        "usage"
    );
    assert_eq!(folder.refused(1, &["check-proof", "nowhere"])["code"], "no_file");
}

#[test]
fn every_byte_of_a_proof_counts() {
    let folder = with_objects();
    let proof = folder.json(&["prove", "o/7"]).to_string();
    folder.write("proof", &proof);
    assert_eq!(folder.run(&["check-proof", "proof"]).code, 0);
    for at in (0..proof.len()).step_by(13) {
        let mut bytes = proof.clone().into_bytes();
        bytes[at] ^= 1;
        folder.write("proof", bytes);
        assert_eq!(
            folder.run(&["check-proof", "proof"]).code,
            5,
            "byte {at} of {proof}"
        );
    }
}

#[test]
fn a_sha256_store_says_so_in_its_proofs() {
    let folder = Folder::new();
    assert_eq!(folder.json(&["init", "--hash", "sha256"])["hash"], "sha256");
    folder.put("a", "x");
    let proof = folder.json(&["prove", "a"]);
    assert_eq!(proof["hash"], "sha256");
    folder.write("proof", proof.to_string());
    folder.json(&["check-proof", "proof"]);
}

#[test]
fn contains_answers_with_its_exit_code() {
    let folder = with_objects();
    let head = folder.json(&["head"]);
    for digest in [text(&head["root"]), text(&head["commit"])] {
        for prefix in [&digest[..], &digest[..8], &digest[..20]] {
            assert_eq!(folder.json(&["contains", prefix])["state"], "kept");
        }
        let ran = folder.run(&["contains", &digest, "--at", "@-1", "--json"]);
        assert_eq!(
            (ran.code, &ran.documents()[0]["state"]),
            (1, &"absent".into()),
            "not yet at that time"
        );
    }
    let ran = folder.run(&["contains", &"0".repeat(64), "--json"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""), "an answer is no error");
    assert_eq!(ran.documents()[0]["state"], "absent");
    folder.refused(1, &["contains", "1234567"]);
    folder.refused(1, &["contains", "not-a-digest"]);
}
