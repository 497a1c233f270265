//! The events of the feature `tracing` in a small session: which events, with which fields, and no text of a memory.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id as SpanId, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};
use treering::upkeep::{Retention, VerifyDepth};
use treering::{Draft, Id, Kind, Memory, NewObject, Writer};

/// Collects each event of the engine as one line.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Subscriber for Lines {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        about.target() == "treering"
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> SpanId {
        panic!("the engine opens no span")
    }

    fn record(&self, _: &SpanId, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &SpanId, _: &SpanId) {}
    fn enter(&self, _: &SpanId) {}
    fn exit(&self, _: &SpanId) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => write!(self.0, " {value:?}").unwrap(),
            // These differ between runs.
            name @ ("micros" | "path" | "root" | "bytes" | "bytes_before") => {
                write!(self.0, " {name}").unwrap();
            }
            name => write!(self.0, " {name}={value:?}").unwrap(),
        }
    }
}

/// Runs `work` and returns its events.
fn lines_of(work: impl FnOnce()) -> Vec<String> {
    // With one subscriber alone, `tracing` asks only the thread that reaches an event first whether anyone listens, and
    // keeps the answer. Another test's thread, which has no subscriber, could switch an event off for this one.
    let _second = Dispatch::new(Lines::default());
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), work);
    let lines = lines.0.lock().unwrap();
    lines.clone()
}

fn object(id: &str, text: &str) -> NewObject {
    let mut object = NewObject::new(Id::new(id).unwrap(), Kind::new("note").unwrap());
    object.content = Some(text.to_owned());
    object
}

#[test]
fn a_session_has_these_events_and_none_of_its_texts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory");
    let model = Writer::model("agent").session("monday").reason("kept to itself");
    let id = Id::new("hidden-id").unwrap();
    let lines = lines_of(|| {
        let memory = Memory::create(&path).unwrap();
        memory.put(object("hidden-id", "hidden text"), &model).unwrap();
        memory.snapshot(Some("hidden-name"), &model).unwrap();
        memory.put(object("hidden-id", "hidden again"), &model).unwrap();
        let refuse = |_: &Draft| Err("hidden reason".to_owned());
        memory
            .attempt(&model, |draft| draft.remove(&id), &[&refuse])
            .unwrap_err();
        let mut draft = memory.draft(&model);
        draft.expect(&id, None);
        draft.remove(&id).unwrap();
        memory.commit(draft, "remove").unwrap_err();
        memory.rollback("hidden-name").by(&model).unwrap();
        memory.undo(&Writer::model("other")).unwrap_err();
        memory.undo(&model).unwrap();
        memory.verify(VerifyDepth::Full).unwrap();
        memory.gc(&Retention::default(), None).unwrap();
        memory.close().unwrap();
        drop(Memory::open(&path).unwrap());
    });
    let shown = lines.join("\n");
    assert!(
        !shown.contains("hidden") && !shown.contains("kept to itself"),
        "TRC-1: {shown}"
    );
    let expected = [
        "INFO opened path mode=\"create\" seq=0 objects=0 micros",
        "DEBUG committed seq=1 op=\"put\" session=\"monday\" actor=\"agent\" added=1 changed=0 removed=0 root micros",
        "DEBUG snapshot seq=1 session=\"monday\" root",
        "DEBUG committed seq=2 op=\"put\" session=\"monday\" actor=\"agent\" added=0 changed=1 removed=0 root micros",
        "INFO refused op=\"attempt\" session=\"monday\" code=\"rejected\"",
        "INFO refused op=\"remove\" session=\"monday\" code=\"conflict\"",
        "DEBUG committed seq=3 op=\"rollback\" session=\"monday\" actor=\"agent\" root micros",
        "INFO refused op=\"undo\" code=\"nothing_to_undo\"",
        "DEBUG committed seq=4 op=\"undo\" session=\"monday\" actor=\"agent\" added=0 changed=1 removed=0 root micros",
        "INFO verified ok=true commits=5 damage=0 derived=0 bytes micros",
        "INFO collected kept=5 thinned=0 bytes_before bytes micros",
        "INFO opened path mode=\"read_write\" seq=4 objects=1 micros",
    ];
    let seen: Vec<&str> = lines
        .iter()
        .map(String::as_str)
        .filter(|line| !line.starts_with("DEBUG loaded"))
        .collect();
    assert_eq!(seen, expected, "{shown}");
    assert!(
        lines.iter().any(|line| line.starts_with("DEBUG loaded from=")),
        "{shown}"
    );
}
