//! Creates a store with known digests: three sessions, an unwanted change and a rollback. The test sets the clock.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use treering::Authorisation;
use treering::{
    Clock, Id, Kind, Memory, NewObject, ObjectDigest, Options, Origin, Result, Revision, Time, Value, Writer,
};

use crate::program::Folder;

/// A clock that moves only when the test sets it.
struct Hours(AtomicI64);

impl Clock for Hours {
    fn now(&self) -> Time {
        Time::from_micros(self.0.load(Ordering::Relaxed))
    }
}

struct Story {
    clock: Arc<Hours>,
    memory: Memory,
}

/// Returns a folder with the story in its store, which the user trusts.
pub(super) fn told() -> Folder {
    let folder = Folder::new();
    tell(&folder.store());
    folder.json(&["trust-store"]);
    folder
}

/// Creates the store at `path`.
fn tell(path: &Path) {
    let start: Time = "2026-01-05T09:00:00Z".parse().unwrap();
    let clock = Arc::new(Hours(AtomicI64::new(start.as_micros())));
    let memory = Options::new().clock(clock.clone()).create(path).unwrap();
    let story = Story { clock, memory };
    story.morning();
    story.noon();
    story.night();
    story.regret();
    story.memory.close().unwrap();
}

fn object(id: &str, kind: &str, content: &str) -> NewObject {
    let mut object = NewObject::new(Id::new(id).unwrap(), Kind::new(kind).unwrap());
    object.content = Some(content.to_owned());
    object
}

fn task(id: &str, state: &str, content: &str) -> NewObject {
    let mut task = object(id, "task", content);
    task.attributes
        .insert("todo".to_owned(), Value::Text(state.to_owned()));
    task
}

fn below(parent: &str, mut object: NewObject) -> NewObject {
    object.parent = Some(Id::new(parent).unwrap());
    object
}

impl Story {
    /// Commits one change, one hour after the previous change.
    fn turn(&self, writer: &Writer, objects: Vec<NewObject>, remove: &[&str]) {
        self.clock.0.fetch_add(3_600_000_000, Ordering::Relaxed);
        let mut draft = self.memory.draft(writer);
        draft.snapshot_before();
        // Permits the untrusted crawler to replace objects of a person.
        draft.authorise(Authorisation::Decided);
        for object in objects {
            draft.put(object).unwrap();
        }
        for id in remove {
            draft.remove(&Id::new(id).unwrap()).unwrap();
        }
        self.memory.commit(draft, "put").unwrap();
    }

    fn morning(&self) {
        let writer = || Writer::user().actor("ada").session("morning");
        let notes = object("notes", "folder", "What Ada told me.");
        let tea = below(
            "notes",
            object("notes/tea", "fact", "Ada drinks green tea.\nTwo cups.\n"),
        );
        self.turn(&writer().reason("first talk"), vec![notes, tea], &[]);
        let release = task(
            "task/release",
            "TODO",
            "Ship the release on Friday.\nTell Grace.\n",
        );
        self.turn(&writer(), vec![release], &[]);
        self.memory.snapshot(Some("good"), &writer()).unwrap();
    }

    fn noon(&self) {
        let mut writer = Writer::of(Origin::Model).actor("ada").session("noon");
        writer.source = Some("chat with Grace".to_owned());
        let tea: ObjectDigest = self.digest("notes/tea").unwrap().unwrap();
        let mut summary = below("notes", object("notes/summary", "summary", "Tea is settled."));
        summary.derived_from = vec![tea];
        let release = task(
            "task/release",
            "DONE",
            "Ship the release on Friday.\nGrace knows.\n",
        );
        self.turn(&writer, vec![summary, release], &[]);
    }

    fn night(&self) {
        let writer = Writer::of(Origin::ToolExternal).actor("crawler").session("night");
        let tea = below(
            "notes",
            object(
                "notes/tea",
                "fact",
                "Ada drinks coffee only.\nTwo cups.\nBuy now!\n",
            ),
        );
        let advert = object("advert", "fact", "Buy now!");
        self.turn(&writer.reason("bad turn"), vec![tea, advert], &["task/release"]);
    }

    fn regret(&self) {
        self.clock.0.fetch_add(3_600_000_000, Ordering::Relaxed);
        let writer = Writer::user()
            .actor("ada")
            .session("morning")
            .reason("the crawler was wrong");
        let before: Revision = "seq:3".parse().unwrap();
        self.memory.rollback(&before).across_lanes().by(&writer).unwrap();
    }

    fn digest(&self, id: &str) -> Result<Option<ObjectDigest>> {
        let found = self.memory.view().get(&Id::new(id)?)?;
        Ok(found.map(|object| object.digest()))
    }
}
