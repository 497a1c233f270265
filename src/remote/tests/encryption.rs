//! Tests of encrypted remotes and backups.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::backup::put;
use crate::digest::{from_hex, to_hex};
use crate::engine::{Memory, Options, Writer};
use crate::error::{ErrorCode, ErrorKind};
use crate::object::Origin;
use crate::remote::backup::back_up;
use crate::remote::bucket::{Bucket, BucketError, Counted, Folder, KeyFault, Sealed, probe};
use crate::remote::clone::clone_from;
use crate::remote::place::Place;
use crate::remote::{Keys, Remote};
use crate::testing::bucket_contract;
use crate::testing::random::SplitMix64;

const CHUNK: usize = 16 << 10;
const HEADER: usize = 32;

fn ann() -> Writer {
    Writer::person("ann")
}

fn sealed(inner: &Folder, keys: &Keys) -> Sealed {
    Sealed::new(Arc::new(inner.clone()), keys.clone())
}

fn remote(inner: &Folder, keys: Option<&Keys>) -> Remote {
    let remote = Remote::on("origin", Arc::new(inner.clone()), Origin::DirectUser).unwrap();
    match keys {
        Some(keys) => remote.with_keys(keys),
        None => remote,
    }
}

fn objects(inner: &Folder) -> Vec<(String, Vec<u8>)> {
    let names = ["format", "manifest"].map(str::to_owned).into_iter();
    names
        .chain(inner.list("log/").unwrap())
        .filter_map(|name| Some((name.clone(), inner.get(&name, None).ok()?.bytes)))
        .collect()
}

fn overwrite(inner: &Folder, name: &str, bytes: &[u8]) {
    inner.delete(name).unwrap();
    inner.put_new(name, bytes).unwrap();
}

#[test]
fn an_encrypted_bucket_is_a_bucket() {
    let keys = Keys::generate().unwrap();
    bucket_contract::check(&sealed(&Folder::in_memory(), &keys), 2);
    probe(&sealed(&Folder::in_memory(), &keys), [7; 16]).unwrap();
    for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK - 7] {
        let inner = Folder::in_memory();
        let bucket = sealed(&inner, &keys);
        let plain: Vec<u8> = (0..length).map(|at| (at * 7 + at / 251) as u8).collect();
        bucket.put_new("a", &plain).unwrap();
        assert_eq!(bucket.get("a", None).unwrap().bytes, plain);
        let borders = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK, length];
        for (from, to) in borders.iter().flat_map(|from| borders.map(|to| (*from, to))) {
            let got = bucket.get("a", Some(from as u64..to as u64)).unwrap();
            let (from, to) = (from.min(length), to.min(length));
            assert_eq!(got.bytes, plain[from..to.max(from)], "{from}..{to} of {length}");
        }
    }
}

/// SLD-1: 10,000 changes of a file, and none is read as a file.
#[test]
fn no_changed_file_is_read() {
    let (inner, keys) = (Folder::in_memory(), Keys::generate().unwrap());
    let bucket = sealed(&inner, &keys);
    let mut random = SplitMix64::new(7);
    for (name, length) in [
        ("log/1", 2 * CHUNK + 99),
        ("log/2", 2 * CHUNK + 99),
        ("short", 40),
    ] {
        bucket.put_new(name, &vec![b'x'; length]).unwrap();
    }
    let files = objects(&inner);
    let other = files.iter().find(|(name, _)| name == "log/2").unwrap().1.clone();
    let border = |chunk: usize| HEADER + chunk * (CHUNK + 16);
    for name in ["log/1", "short"] {
        let whole = inner.get(name, None).unwrap().bytes;
        for round in 0..5_000 {
            let mut bytes = whole.clone();
            let (at, chunk) = (random.below(bytes.len()), random.below(3));
            match round % 8 {
                // At the end of a chunk, and anywhere.
                0 => bytes.truncate(border(chunk).min(whole.len() - 1)),
                1 => bytes.truncate(at),
                2 => bytes.extend_from_slice(&whole[at..]),
                // Another chunk of the same file, and of another file.
                3 if name == "log/1" => bytes.copy_within(border(0)..border(1), border(1)),
                4 if name == "log/1" => bytes[border(chunk)..].copy_from_slice(&other[border(chunk)..]),
                5 if name == "log/1" => bytes = other.clone(),
                _ => bytes[at] ^= 1 << random.below(8),
            }
            overwrite(&inner, name, &bytes);
            let got = bucket.get(name, None);
            assert!(
                matches!(
                    got,
                    Err(BucketError::Damaged(_) | BucketError::Key(KeyFault::Other))
                ),
                "{name}, {round}"
            );
            // Chunk 1 alone: what is returned of a changed file is what was written.
            if let Ok(part) = bucket.get(name, Some(CHUNK as u64..CHUNK as u64 + 9)) {
                assert!(name == "log/1" && part.bytes == [b'x'; 9], "{round}");
            }
        }
    }
}

/// INVARIANT SLD-2: of one text, no file and no chunk has the same bytes twice: the salt differs, and the nonce counts.
#[test]
fn sld_2_each_file_has_a_key_of_its_own() {
    let (inner, keys) = (Folder::in_memory(), Keys::generate().unwrap());
    let bucket = sealed(&inner, &keys);
    let (plain, mut seen) = (vec![b'x'; 4 * CHUNK], BTreeSet::new());
    let mut check = |name: &str| {
        let stored = inner.get(name, None).unwrap().bytes;
        let (header, chunks) = stored.split_at(HEADER);
        assert!(seen.insert(header.to_vec()), "the salt of {name}");
        for (number, chunk) in chunks.chunks(CHUNK + 16).enumerate() {
            let start = chunk[..32].to_vec();
            assert!(seen.insert(start), "chunk {number} of {name}");
        }
    };
    for round in 0..3 {
        for name in ["log/1", "log/2", "short"] {
            bucket.put_new(name, &plain).unwrap();
            check(name);
            // The same bytes under the same name, again and in place of the first ones.
            let version = bucket.get(name, None).unwrap().version;
            bucket.swap(name, &version, &plain).unwrap();
            check(name);
            assert_eq!(bucket.get(name, None).unwrap().bytes, plain, "{round}");
            bucket.delete(name).unwrap();
        }
    }
}

#[test]
fn a_bucket_learns_no_word_and_needs_the_key() {
    let (inner, folder) = (Folder::in_memory(), tempfile::tempdir().unwrap());
    let keys = Keys::generate().unwrap();
    let first = Memory::create(folder.path().join("first")).unwrap();
    put(&first, "secret-plan", "meet in Bergen");
    remote(&inner, Some(&keys)).check(&first).unwrap();
    remote(&inner, Some(&keys)).push(&first, &ann()).unwrap();
    put(&first, "secret-plan", "meet in Oslo");
    remote(&inner, Some(&keys)).push(&first, &ann()).unwrap();
    let stored = objects(&inner);
    assert_eq!(stored.len(), 4);
    for word in ["secret-plan", "Bergen", "Oslo", "TRclosed"] {
        let has = |bytes: &[u8]| bytes.windows(word.len()).any(|part| part == word.as_bytes());
        assert!(!stored.iter().any(|(_, bytes)| has(bytes)), "{word}");
    }
    // Others have no key, or another one, and change nothing.
    let stranger = Keys::generate().unwrap();
    for (keys, code) in [(Some(&stranger), ErrorCode::WrongKey), (None, ErrorCode::NoKey)] {
        put(&first, "more", &format!("{code:?}"));
        assert_eq!(
            remote(&inner, keys).push(&first, &ann()).unwrap_err().code(),
            code
        );
        assert_eq!(
            remote(&inner, keys).fetch(&first, &ann()).unwrap_err().code(),
            code
        );
        assert_eq!(remote(&inner, keys).check(&first).unwrap_err().code(), code);
    }
    assert_eq!(objects(&inner), stored, "SLD-3");
    let plain = Folder::in_memory();
    let first = Memory::create(folder.path().join("plain")).unwrap();
    put(&first, "plan", "one");
    remote(&plain, None).push(&first, &ann()).unwrap();
    put(&first, "plan", "two");
    let error = remote(&plain, Some(&keys)).push(&first, &ann()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotEncrypted);
    let copied = clone(&inner, &keys, &folder, "second").unwrap();
    assert_eq!(copied.view().len(), 1);
}

fn clone(
    inner: &Folder,
    keys: &Keys,
    folder: &tempfile::TempDir,
    name: &str,
) -> crate::error::Result<Memory> {
    let place = Place::of(Counted::new(Arc::new(sealed(inner, keys))));
    let path = folder.path().join(name);
    clone_from(&place, &path, Origin::DirectUser, &Options::new()).map(|(memory, _)| memory)
}

#[test]
fn damage_and_an_older_copy_change_nothing() {
    let (inner, folder) = (Folder::in_memory(), tempfile::tempdir().unwrap());
    let keys = Keys::generate().unwrap();
    let memory = Memory::create(folder.path().join("first")).unwrap();
    put(&memory, "plan", "one");
    let shared = remote(&inner, Some(&keys));
    shared.push(&memory, &ann()).unwrap();
    let other = clone(&inner, &keys, &folder, "second").unwrap();
    let old = inner.get("manifest", None).unwrap().bytes;
    put(&memory, "plan", "two");
    shared.push(&memory, &ann()).unwrap();
    let name = inner.list("log/").unwrap().pop().unwrap();
    let whole = inner.get(&name, None).unwrap().bytes;
    let mut bytes = whole.clone();
    bytes[HEADER + 5] ^= 1;
    overwrite(&inner, &name, &bytes);
    let (root, error) = (other.view().root(), shared.pull(&other, &ann()).unwrap_err());
    assert_eq!((error.kind(), other.view().root()), (ErrorKind::Corrupt, root));
    assert_eq!(
        clone(&inner, &keys, &folder, "third").unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    overwrite(&inner, &name, &whole);
    shared.pull(&other, &ann()).unwrap();
    // Rule 17: the generation is inside the encryption, and an old manifest has an old one.
    overwrite(&inner, "manifest", &old);
    let error = shared.fetch(&other, &ann()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::RemoteWentBack);
    // The plain file has a code too, which covers the ids in it.
    let format = inner.get("format", None).unwrap().bytes;
    for bit in 0..format.len() * 8 {
        let mut changed = format.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let sum = crc32c::crc32c(&changed[..124]).to_le_bytes();
        if bit / 8 < 124 {
            changed[124..].copy_from_slice(&sum);
        }
        overwrite(&inner, "format", &changed);
        assert!(sealed(&inner, &keys).get("format", None).is_err(), "{bit}");
    }
}

#[test]
fn a_rotated_key_replaces_the_old_one_everywhere() {
    let (inner, folder) = (Folder::in_memory(), tempfile::tempdir().unwrap());
    let old = Keys::generate().unwrap();
    let memory = Memory::create(folder.path().join("first")).unwrap();
    for content in ["one", "two", "three"] {
        put(&memory, "plan", content);
        remote(&inner, Some(&old)).push(&memory, &ann()).unwrap();
    }
    let both = old.with_new().unwrap();
    assert!(!remote(&inner, Some(&both)).has_newest_key().unwrap());
    assert_eq!(remote(&inner, Some(&both)).rotate(&memory).unwrap(), 5);
    assert_eq!(remote(&inner, Some(&both)).rotate(&memory).unwrap(), 0);
    assert!(remote(&inner, Some(&both)).has_newest_key().unwrap());
    put(&memory, "plan", "four");
    let error = remote(&inner, Some(&old)).push(&memory, &ann()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::WrongKey);
    // The head of a file that somebody replaced looks the same.
    let hint = error.hint().unwrap();
    assert!(hint.contains("rotation") && hint.contains("replaced"), "{hint}");
    remote(&inner, Some(&both)).push(&memory, &ann()).unwrap();
    let lines: Vec<String> = both.to_text().lines().map(str::to_owned).collect();
    let new = Keys::parse(&lines[..2].join("\n")).unwrap();
    assert_eq!(new.ids(), both.ids()[..1]);
    assert_eq!(
        clone(&inner, &new, &folder, "second").unwrap().view().root(),
        memory.view().root()
    );
    assert_eq!(
        clone(&inner, &old, &folder, "third").unwrap_err().code(),
        ErrorCode::WrongKey
    );
    assert_eq!(
        remote(&inner, None).rotate(&memory).unwrap_err().code(),
        ErrorCode::NotEncrypted
    );
}

#[test]
fn a_backup_is_encrypted_too() {
    let (inner, folder) = (Folder::in_memory(), tempfile::tempdir().unwrap());
    let keys = Keys::generate().unwrap();
    let memory = Memory::create(folder.path().join("first")).unwrap();
    put(&memory, "plan", "meet in Bergen");
    let place = |keys: &Keys| Place::of(Counted::new(Arc::new(sealed(&inner, keys))));
    back_up(&memory, &place(&keys), "memory").unwrap();
    put(&memory, "plan", "two");
    back_up(&memory, &place(&keys), "memory").unwrap();
    let error = back_up(&memory, &place(&Keys::generate().unwrap()), "memory").unwrap_err();
    assert_eq!(error.code(), ErrorCode::WrongKey);
    assert!(
        objects(&inner)
            .iter()
            .all(|(_, bytes)| !bytes.windows(6).any(|part| part == b"Bergen"))
    );
    let restored = clone(&inner, &keys, &folder, "second").unwrap();
    assert_eq!(restored.view().root(), memory.view().root());
}

struct Fixed;

impl crate::engine::Clock for Fixed {
    fn now(&self) -> crate::object::Time {
        "2024-01-01T00:00:00Z".parse().unwrap()
    }
}

/// The files of an encrypted remote that an earlier build made. `TREERING_WRITE_VECTORS=1` makes them anew, which is a
/// change of the format.
#[test]
fn an_encrypted_remote_of_an_earlier_build_opens() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/encrypted-remote.txt");
    let keys = Keys::parse(&format!("treering-remote-key-1 {}", "07".repeat(32))).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let long = "a word ".repeat(3_000);
    if std::env::var_os("TREERING_WRITE_VECTORS").is_some() {
        let fixed = Options::new().clock(Arc::new(Fixed));
        let (inner, a) = (
            Folder::in_memory(),
            fixed.create(folder.path().join("a")).unwrap(),
        );
        put(&a, "plan", &long);
        remote(&inner, Some(&keys)).push(&a, &ann()).unwrap();
        let lines = objects(&inner)
            .into_iter()
            .map(|(name, bytes)| format!("{name} {}\n", to_hex(&bytes)));
        std::fs::write(path, lines.collect::<String>()).unwrap();
    }
    let inner = Folder::in_memory();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let (name, digits) = line.split_once(' ').unwrap();
        inner.put_new(name, &from_hex(digits).unwrap()).unwrap();
    }
    assert!(
        objects(&inner)
            .iter()
            .any(|(_, bytes)| bytes.len() > HEADER + CHUNK + 16)
    );
    let memory = clone(&inner, &keys, &folder, "b").unwrap();
    let plan = memory
        .view()
        .get(&crate::object::Id::new("plan").unwrap())
        .unwrap();
    assert_eq!(plan.unwrap().content(), Some(&*long));
}

#[test]
fn a_key_file_is_read_as_it_was_written() {
    let keys = Keys::generate().unwrap().with_new().unwrap();
    let text = keys.to_text();
    assert_eq!(Keys::parse(&text).unwrap().ids(), keys.ids());
    assert!(!format!("{keys:?}").contains(&text.lines().nth(1).unwrap()[30..40]));
    for damaged in [
        "",
        "# nothing\n",
        "treering-remote-key-1 00\n",
        "key\n",
        &text.replace("key-1", "key-2"),
        &text[..text.len() - 3],
    ] {
        assert_eq!(
            Keys::parse(damaged).unwrap_err().code(),
            ErrorCode::BadKey,
            "{damaged}"
        );
    }
    // The bytes on the wire are fixed: docs/format.md.
    let key = format!("treering-remote-key-1 {}", "07".repeat(32));
    let id = Keys::parse(&key).unwrap().ids();
    assert_eq!(from_hex(&id[0]).unwrap().len(), 8);
}
