//! Tests of notes, requests and keys as text.

use super::*;
use crate::signed::request::WitnessRequest;
use crate::signed::tree::CommitTree;
use crate::testing::random::SplitMix64;

/// The verifier key, and the note, that the specification of signed notes has as its example.
const EXAMPLE_KEY: &str = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
const EXAMPLE_SIGNATURE: &str =
    "Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=";
/// A private key of the package `note` of Go, with its verifier key.
const GO_KEY: &str = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
const GO_VERIFIER: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";

fn a_key(name: &str) -> SigningKey {
    SigningKey::generate(name).unwrap()
}

fn a_tree(size: u64) -> CommitTree {
    let mut tree = CommitTree::default();
    (0..size).for_each(|number| tree.append(&crate::digest::CommitDigest::from_bytes([number as u8; 32])));
    tree
}

fn a_head(size: u64, keys: &[&SigningKey]) -> SignedHead {
    let origin = format!("treering/{}/main", "0123456789abcdef".repeat(2));
    SignedHead::sign(origin, size, a_tree(size).root(), keys)
}

fn rule(error: NoteError) -> &'static str {
    match error {
        NoteError::Form(rule) => rule,
        other => panic!("{other:?}"),
    }
}

#[test]
fn keys_and_signatures_of_other_programs_are_read() {
    let key: VerifierKey = EXAMPLE_KEY.parse().unwrap();
    assert_eq!(
        (key.name(), key.is_witness(), key.to_string().as_str()),
        ("example.com/foo", false, EXAMPLE_KEY)
    );
    let line = read_line(&format!("{DASH}example.com/foo {EXAMPLE_SIGNATURE}")).unwrap();
    assert_eq!(line.id, key.id());
    assert_eq!(
        key.check("This is an example message.\n", &line.signature),
        Ok(None)
    );
    assert!(
        key.check("This is an example message!\n", &line.signature)
            .is_err()
    );
    let key = SigningKey::parse(GO_KEY).unwrap();
    assert_eq!(
        (key.to_text().as_str(), key.verifier().to_string().as_str()),
        (GO_KEY, GO_VERIFIER)
    );
    assert!(
        !format!("{key:?}").contains("YEKFALVFGyNhPJEMzD1"),
        "a private key is not printed"
    );
}

#[test]
fn what_is_no_key_is_refused() {
    let key = a_key("vera");
    let (text, public) = (key.to_text(), key.verifier().to_string());
    for name in ["", "a b", "a+b", "a\u{a0}b", "a\nb"] {
        assert_eq!(
            SigningKey::generate(name).unwrap_err().code(),
            ErrorCode::BadKey,
            "{name:?}"
        );
    }
    let mut random = SplitMix64::new(1);
    for _ in 0..2_000 {
        for whole in [&text, &public] {
            let changed = changed(&mut random, whole.as_bytes());
            let Ok(changed) = String::from_utf8(changed) else {
                continue;
            };
            let is_read = SigningKey::parse(&changed).is_ok() || changed.parse::<VerifierKey>().is_ok();
            assert!(!is_read, "{changed:?}");
        }
    }
    // The all-zero point has a small order: anybody can sign for it.
    let weak = [&[1][..], &[0; 32]].concat();
    let id = [b"weak\n", &weak[..]].concat();
    let id = crate::digest::to_hex(&crate::digest::sha256(&id)[..4]);
    let weak = format!("weak+{id}+{}", STANDARD.encode(weak));
    assert_eq!(weak.parse::<VerifierKey>().unwrap_err().code(), ErrorCode::BadKey);
    assert_eq!(text.parse::<VerifierKey>().unwrap_err().code(), ErrorCode::BadKey);
    assert!(!text.parse::<VerifierKey>().unwrap_err().message().contains(&text));
}

/// Returns the bytes with one change.
fn changed(random: &mut SplitMix64, whole: &[u8]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    while bytes == whole {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.byte(),
            2 => drop(bytes.remove(at)),
            3 => bytes.insert(at, *random.pick(b"\n +0a=/\r\xe2")),
            4 => bytes.truncate(at),
            _ => {
                let other = random.below(bytes.len());
                bytes.swap(at, other);
            }
        }
    }
    bytes
}

#[test]
fn sgn_3_ten_thousand_changed_notes_and_requests_do_not_pass() {
    let (key, witness) = (a_key("vera"), a_key("witness"));
    let keys = [key.verifier(), witness.cosigner()];
    let head = a_head(21, &[&key]);
    let tree = a_tree(21);
    let request = WitnessRequest {
        old: 6,
        proof: tree.consistency(6, 21).unwrap(),
        head: head.clone(),
    };
    let old = (6, tree.root_at(6).unwrap());
    let (note, request) = (head.to_string(), request.to_string());
    assert!(SignedHead::parse(note.as_bytes()).unwrap().verify(&keys).is_ok());
    let accepts = |bytes: &[u8]| {
        let request = WitnessRequest::parse(bytes);
        request.is_ok_and(|request| request.head.verify(&keys).is_ok() && request.follows(Some(old)).is_ok())
    };
    assert!(accepts(request.as_bytes()));
    let mut random = SplitMix64::new(2);
    for _ in 0..10_000 {
        let wrong = changed(&mut random, note.as_bytes());
        let passed = SignedHead::parse(&wrong).and_then(|head| head.verify(&keys).map(drop));
        assert!(passed.is_err(), "{:?}", String::from_utf8_lossy(&wrong));
        let wrong = changed(&mut random, request.as_bytes());
        assert!(!accepts(&wrong), "{:?}", String::from_utf8_lossy(&wrong));
    }
}

#[test]
fn each_rule_of_a_note_is_named() {
    let key = a_key("vera");
    let note = a_head(3, &[&key]).to_string();
    let (body, line) = note.split_once("\n\n").unwrap();
    let lines: Vec<&str> = body.lines().collect();
    for (wrong, expected) in [
        (String::new(), "it has no empty line"),
        (format!("{body}\n{line}"), "it has no empty line"),
        (
            format!("{}\n3\n\n{line}", lines[0]),
            "it has fewer than three lines",
        ),
        (
            format!("\n3\n{}\n\n{line}", lines[2]),
            "it has fewer than three lines",
        ),
        (note.replace("\n3\n", "\n03\n"), "its second line is no number"),
        (note.replace("\n3\n", "\n+3\n"), "its second line is no number"),
        (note.replace("\n3\n", "\n-3\n"), "its second line is no number"),
        (
            note.replace(lines[2], &lines[2][1..]),
            "its third line is no root",
        ),
        (note.replace("\n\n", "\n\n\n"), "it has an empty line"),
        (note.replace("\n\n", "\nmore\n\nmore\n\n"), "it has an empty line"),
        (note.replace('\u{2014}', "-"), "a line is no signature"),
        (note.replace("vera", "ve+ra"), "a line is no signature"),
        (format!("{note}\n"), "it has an empty line"),
        (note.trim_end().to_owned(), "it does not end with a line"),
        (
            format!("{note}{line}"),
            "a signature is there twice, or there are too many",
        ),
        (note.replace('\n', "\r\n"), "it has a control character"),
        ("a\n".repeat(BYTES_MAX), "it is too long"),
    ] {
        assert_eq!(
            rule(SignedHead::parse(wrong.as_bytes()).unwrap_err()),
            expected,
            "{wrong:.300}"
        );
    }
    assert_eq!(rule(SignedHead::parse(b"\xff").unwrap_err()), "it is not UTF-8");
    for (wrong, expected) in [
        (note.clone(), "its first line is not `old` and a number"),
        (
            format!("old 03\n\n{note}"),
            "its first line is not `old` and a number",
        ),
        (format!("old 4\n\n{note}"), "its old size is larger than its head"),
        (
            format!("old 1\nAAAA\n\n{note}"),
            "its proof is no list of digests",
        ),
        (
            format!("old 1\n{}\n{note}", format!("{}\n", lines[2]).repeat(64)),
            "its proof is no list of digests",
        ),
    ] {
        assert_eq!(
            rule(WitnessRequest::parse(wrong.as_bytes()).unwrap_err()),
            expected,
            "{wrong:.200}"
        );
    }
}

#[test]
fn unknown_signatures_are_ignored_and_a_wrong_one_of_a_known_key_refuses_the_note() {
    let (key, other, stranger) = (a_key("vera"), a_key("ada"), a_key("vera"));
    let note = a_head(5, &[&key, &other]);
    assert_eq!(note.verify(&[other.verifier()]).unwrap().len(), 1);
    assert_eq!(note.verify(&[key.verifier(), other.verifier()]).unwrap().len(), 2);
    assert_eq!(note.verify(&[]).unwrap_err(), NoteError::NotSigned);
    // The same name with another key is another key.
    assert_eq!(
        note.verify(&[stranger.verifier()]).unwrap_err(),
        NoteError::NotSigned
    );
    let mut wrong = note.clone();
    wrong.signatures[1].signature[3] ^= 1;
    assert_eq!(wrong.verify(&[key.verifier()]).unwrap().len(), 1);
    let known = [key.verifier(), other.verifier()];
    assert_eq!(
        wrong.verify(&known).unwrap_err(),
        NoteError::Signature("ada".to_owned())
    );
    // Lines of other programs stay, and the note may have further lines.
    let with_more = note.to_string().replace("\n\n", "\nmore\n\n");
    let read = SignedHead::parse(with_more.as_bytes()).unwrap();
    assert_eq!(
        (read.to_string(), read.verify(&known).is_err()),
        (with_more, true)
    );
}

#[test]
fn a_cosignature_is_of_a_time_and_signs_nothing_alone() {
    let (key, witness) = (a_key("vera"), a_key("w"));
    let head = a_head(5, &[&key]);
    let time = Time::from_micros(1_679_315_147_000_000);
    let line = head.cosign(&witness, time);
    let whole = SignedHead::parse(format!("{head}{line}").as_bytes()).unwrap();
    let keys = [key.verifier(), witness.cosigner()];
    let signers = whole.verify(&keys).unwrap();
    let found: Vec<_> = signers
        .iter()
        .map(|signer| (signer.key.name(), signer.time))
        .collect();
    assert_eq!(found, [("vera", None), ("w", Some(time))]);
    // A witness says when it saw the head, and not that the head is the log's.
    assert_eq!(whole.verify(&keys[1..]).unwrap_err(), NoteError::NotSigned);
    // The signature of a log is none of a witness, and the other way round.
    assert_ne!(witness.cosigner().id(), witness.verifier().id());
    let bytes = STANDARD
        .decode(line.trim_end().rsplit_once(' ').unwrap().1)
        .unwrap();
    assert_eq!(
        (bytes.len(), &bytes[4..12]),
        (76, &[0, 0, 0, 0, 0x64, 0x18, 0x50, 0xcb][..])
    );
    assert!(witness.verifier().check(&head.text(), &bytes[4..]).is_err());
    let mut wrong = bytes[4..].to_vec();
    wrong[7] ^= 1;
    let checks = |bytes: &[u8]| witness.cosigner().check(&head.text(), bytes).is_ok();
    assert!(!checks(&wrong), "another time");
    wrong[0] = 0x80;
    assert!(!checks(&wrong), "no time");
    assert!(checks(&bytes[4..]) && !checks(&bytes[12..]) && !checks(&bytes[..3]));
}

#[test]
fn a_witness_takes_only_the_next_head_of_the_history_that_it_knows() {
    let key = a_key("vera");
    let tree = a_tree(9);
    let request = |old, size| WitnessRequest {
        old,
        proof: tree.consistency(old, size).unwrap(),
        head: a_head(size, &[&key]),
    };
    let known = |size| Some((size, tree.root_at(size).unwrap()));
    let code = |request: WitnessRequest, known| request.follows(known).map_err(|error| error.code());
    assert_eq!(code(request(0, 5), None), Ok(()));
    assert_eq!(code(request(5, 9), known(5)), Ok(()));
    assert_eq!(code(request(5, 5), known(5)), Ok(()));
    assert_eq!(code(request(0, 9), known(5)), Err(ErrorCode::Conflict));
    assert_eq!(code(request(5, 9), None), Err(ErrorCode::Conflict));
    assert_eq!(code(request(3, 4), known(5)), Err(ErrorCode::Conflict));
    assert_eq!(
        code(request(5, 9), Some((5, [7; 32]))),
        Err(ErrorCode::ProofFailed)
    );
    assert_eq!(
        code(request(5, 9), Some((9, [7; 32]))),
        Err(ErrorCode::HistoryRewritten)
    );
    let with_proof = WitnessRequest {
        proof: vec![[0; 32]],
        ..request(0, 5)
    };
    assert_eq!(code(with_proof, None), Err(ErrorCode::ProofFailed));
}
