//! Tests of the stores in tests/fixtures/stores. Every version of the program must be able to read and extend them.

use std::fs;
use std::path::{Path, PathBuf};

use treering::upkeep::VerifyDepth;
use treering::{Id, Kind, Memory, NewObject, Options, Origin, Revision, Writer};

use crate::program::bytes_below;

/// The stores: the folder, the head, and the roots at seq 0, 2, 5 and 8 of each.
const STORES: [(&str, &str, [&str; 4]); 2] = [
    (
        "format-1-blake3",
        "0a3283dd7e4c18c027f37b85d85e3e1b2c6cc55ec2556184363f6bfefc2b391e",
        [
            "781a09f4a09edc249db06c4deee01934a70066cbddb6f156453f9461358b1ced",
            "e6d1077d04db2c0a60a637adf68babf93bf7495ca6a90def3d8375951ff2f683",
            "84edf66ef4ea43040040ede6ff26814b4cb0b253cbaec1d6c9250cfe027676bb",
            "a5f1de13e18bddb957ac7f441e3f02627e8637cb7c5ed2f37a04c088fe274e45",
        ],
    ),
    (
        "format-1-sha256",
        "49e0a1061bc1e65beebebfae48cf4f23e2f3fed4f67a78b9bb1056c586e8bb4e",
        [
            "97933c399f26f55c98a241daf692dff7415cba7d929cabdca3c2bc859aa83811",
            "9d1ae4964648f59ef77c6fd9bdc9fa25af19ba83c9277b0052aef9eee301c5f3",
            "0d180dcd1cb18b3524a41e4d339f94ac17d6fb3aabeedb0af7e5c6d64207c497",
            "f4d3fe92b9cc5b8e0367e1410bc0462b024c1317d94a813b2ff989eb61952dd8",
        ],
    ),
];

fn folder_of(name: &str) -> PathBuf {
    Path::new(crate::ROOT).join("tests/fixtures/stores").join(name)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn old_stores_are_read_as_they_were_written_and_not_touched() -> treering::Result<()> {
    for (name, head, roots) in STORES {
        let folder = folder_of(name);
        let before = bytes_below(&folder);
        let memory = Options::new().read_only(true).open(&folder)?;
        assert_eq!(memory.view().commit().digest.to_string(), head, "{name}");
        for (seq, root) in [0, 2, 5, 8].into_iter().zip(roots) {
            let view = memory.at(Revision::Seq(seq))?;
            assert_eq!(view.root().to_string(), root, "{name} at {seq}");
        }
        let report = memory.verify(VerifyDepth::Full)?;
        assert!(report.ok, "{name}: {report:?}");
        assert_eq!((report.commits, report.versions), (9, 31));
        let view = memory.view();
        let get = |id: &str| Ok::<_, treering::Error>(view.get(&Id::new(id)?)?.unwrap());
        assert_eq!(get("facts/untrusted")?.origin(), Origin::ToolExternal);
        assert_eq!(get("facts/long")?.content().map(str::len), Some(25 * 400 - 1));
        assert_eq!(memory.snapshots().unwrap().len(), 2);
        drop((view, memory));
        assert!(bytes_below(&folder) == before, "{name} was written to");
    }
    Ok(())
}

#[test]
fn old_stores_are_written_on() -> treering::Result<()> {
    for (name, ..) in STORES {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        copy(&folder_of(name), &store);
        let memory = Memory::open(&store)?;
        memory.undo(&Writer::user())?;
        let object = NewObject::new(Id::new("facts/newest")?, Kind::new("fact")?);
        let put = memory.put(object, &Writer::user())?;
        assert_eq!(put.commit.commit.seq, 10);
        drop(memory);
        let memory = Memory::open(&store)?;
        assert_eq!(memory.view().commit().digest, put.commit.digest);
        assert!(memory.verify(VerifyDepth::Full)?.ok);
    }
    Ok(())
}
