//! The steps of the tour.
//!
//! # Layer
//! L10, part of cli.

use super::guide::{Guide, Outcome};
use super::killed::kill_a_writer;
use crate::answers::commits::counts;
use crate::answers::proof::{self, ProofDocument};
use crate::cli::errors::Failure;
use crate::cli::human::{self, counted, short};
use crate::cli::output::Meaning;
use crate::engine::{Committed, Draft, Memory, Options, Revision, VerifyDepth, View, Writer};
use crate::error::{Error, Result};
use crate::ingest::{self, Document, IngestOptions};
use crate::object::{Id, Object};

/// The documents of the tour: path and text.
const DOCUMENTS: [(&str, &str); 6] = [
    (
        "docs/tour/agent-notes.org",
        include_str!("../../../docs/tour/agent-notes.org"),
    ),
    (
        "docs/tour/transcript.jsonl",
        include_str!("../../../docs/tour/transcript.jsonl"),
    ),
    ("docs/durability.md", include_str!("../../../docs/durability.md")),
    ("docs/format.md", include_str!("../../../docs/format.md")),
    ("docs/glossary.md", include_str!("../../../docs/glossary.md")),
    ("docs/proofs.md", include_str!("../../../docs/proofs.md")),
];
/// The name of the snapshot that the tour restores.
const SNAPSHOT: &str = "before-the-night";
/// The number of objects that the bad turn changes.
const DAMAGED: usize = 50;
/// The number of changes that the diff shows.
const CHANGES_SHOWN: usize = 3;
/// The number of lines that the diff shows for each change.
const LINES_SHOWN: usize = 8;
/// The number of removals that a check allows.
const REMOVALS_MAX: u64 = 10;

/// Runs all steps.
pub(super) fn walk(guide: &mut Guide<'_>) -> Result<(), Failure> {
    let memory = create(guide)?;
    ingest(guide, &memory)?;
    let before = memory.view();
    snapshot(guide, &memory)?;
    bad_turn(guide, &memory)?;
    diff(guide, &memory, &before)?;
    rollback(guide, &memory, &before)?;
    undo_and_redo(guide, &memory, &before)?;
    attempt(guide, &memory)?;
    memory.close()?;
    let memory = kill(guide)?;
    history(guide, &memory, &before)?;
    prove(guide, &memory)?;
    verify(guide, &memory)?;
    memory.close()?;
    Ok(())
}

/// Returns the writer for the person who takes the tour.
fn person(reason: &str) -> Writer {
    Writer {
        reason: Some(reason.to_owned()),
        ..Writer::user()
    }
}

fn create(guide: &mut Guide<'_>) -> Result<Memory, Failure> {
    let path = guide.folder().path();
    let (memory, outcome) = Outcome::timed(|| Options::new().create(path))?;
    let root = memory.view().root();
    let outcome = outcome
        .line(format!(
            "an empty store; its root is {}, the same for every empty store",
            short(root.as_bytes())
        ))
        .field("root", root.to_hex())
        .field("hash", memory.hash().name());
    guide.print("create", outcome)?;
    Ok(memory)
}

fn ingest(guide: &mut Guide<'_>, memory: &Memory) -> Result<(), Failure> {
    let ((change, committed), outcome) = Outcome::of(memory, || {
        let read = |(path, text): &(&str, &str)| Document::read(path, text.as_bytes(), None);
        let documents = DOCUMENTS.iter().map(read).collect::<Result<Vec<_>>>()?;
        ingest::ingest(
            memory,
            &documents,
            &IngestOptions::default(),
            &person("the tour's documents"),
        )
    })?;
    let objects = memory.view().len();
    let root = committed.commit.commit.root;
    let outcome = outcome
        .synced(1)
        .line(format!(
            "{} from {} documents; the root is now {}",
            counted(objects, "object"),
            DOCUMENTS.len(),
            short(root.as_bytes())
        ))
        .field("objects", objects)
        .field("created", change.created)
        .field("root", root.to_hex());
    guide.print("ingest", outcome)
}

fn snapshot(guide: &mut Guide<'_>, memory: &Memory) -> Result<(), Failure> {
    let (info, outcome) = Outcome::of(memory, || {
        memory.snapshot(Some(SNAPSHOT), &person("before the agent works alone"))
    })?;
    let outcome = outcome
        .synced(1)
        .line(format!(
            "{} names root {}",
            guide.output().paint(Meaning::Name, SNAPSHOT),
            short(info.root.as_bytes())
        ))
        .field("name", info.name.as_str())
        .field("commit", info.commit.to_hex())
        .field("root", info.root.to_hex());
    guide.print("snapshot", outcome)
}

/// Returns the objects that the bad turn damages: the first fifty with a text, by id.
fn victims(view: &View) -> Result<Vec<Object>> {
    let mut found = Vec::new();
    for object in view.query(&crate::engine::Query::default())? {
        let object = object?;
        if object.kind() != "document" && object.content().is_some_and(|text| !text.is_empty()) {
            found.push(object);
        }
        if found.len() == DAMAGED {
            return Ok(found);
        }
    }
    Err(Error::internal(format!(
        "the documents of the tour have fewer than {DAMAGED} objects to damage"
    )))
}

fn bad_turn(guide: &mut Guide<'_>, memory: &Memory) -> Result<(), Failure> {
    let writer = Writer {
        actor: Some("agent".to_owned()),
        ..person("tidied up the notes")
    };
    let (committed, outcome) = Outcome::of(memory, || {
        let mut draft = memory.draft(&writer);
        for object in victims(&memory.view())? {
            let mut rewritten = object.to_new()?;
            let first: String = human::gist(&object)
                .split(' ')
                .take(3)
                .collect::<Vec<_>>()
                .join(" ");
            rewritten.content = Some(format!("{first}: done, nothing to remember."));
            draft.put(rewritten)?;
        }
        memory.commit(draft, "put")
    })?;
    let changed = counts(memory, &committed)?.changed;
    let root = committed.commit.commit.root;
    let outcome = outcome
        .synced(1)
        .line(format!(
            "{} changed; the root is now {}",
            counted(changed, "object"),
            short(root.as_bytes())
        ))
        .field("changed", changed)
        .field("root", root.to_hex());
    guide.print("bad_turn", outcome)
}

fn diff(guide: &mut Guide<'_>, memory: &Memory, before: &View) -> Result<(), Failure> {
    let now = memory.view();
    let (changes, mut outcome) = Outcome::timed(|| memory.diff(before, &now))?;
    for change in changes.iter().take(CHANGES_SHOWN) {
        let (old, new) = (before.get(&change.id)?, now.get(&change.id)?);
        let lines = human::change_lines(
            guide.output().style(),
            change.id.as_str(),
            old.as_ref(),
            new.as_ref(),
        );
        outcome.lines.extend(lines.into_iter().take(LINES_SHOWN));
    }
    let rest = changes.len().saturating_sub(CHANGES_SHOWN);
    let outcome = outcome
        .line(format!("and {rest} more"))
        .field("changes", changes.len());
    guide.print("diff", outcome)
}

fn rollback(guide: &mut Guide<'_>, memory: &Memory, before: &View) -> Result<(), Failure> {
    let revision = Revision::Name(SNAPSHOT.to_owned());
    let (committed, outcome) = Outcome::of(memory, || {
        memory
            .rollback(&revision)
            .across_lanes()
            .by(&person("the agent destroyed its notes"))
    })?;
    let root = same_root(&committed, before)?;
    let changed = counts(memory, &committed)?.changed;
    let outcome = outcome
        .synced(1)
        .line(format!("{} changed back", counted(changed, "object")))
        .line(format!("root of the snapshot {}", before.root().to_hex()))
        .line(format!(
            "root of the memory   {root}  {}",
            guide.output().paint(Meaning::Good, "equal")
        ))
        .field("changed", changed)
        .field("root", root)
        .field("equals_snapshot", true);
    guide.print("rollback", outcome)
}

/// Returns the root after a commit, which must be that of the snapshot.
fn same_root(committed: &Committed, before: &View) -> Result<String> {
    let root = committed.commit.commit.root;
    if root == before.root() {
        Ok(root.to_hex())
    } else {
        Err(Error::internal(format!(
            "the root after it is {root}, not {}",
            before.root()
        )))
    }
}

fn undo_and_redo(guide: &mut Guide<'_>, memory: &Memory, before: &View) -> Result<(), Failure> {
    let ((undone, redone), outcome) = Outcome::of(memory, || {
        let undone = memory.undo(&person("look at the damage once more"))?;
        Ok((undone, memory.redo(&person("enough seen"))?))
    })?;
    let root = same_root(&redone, before)?;
    let undone = undone.commit.commit.root;
    let outcome = outcome
        .synced(2)
        .line(format!(
            "undo: root {} (the bad turn again)",
            short(undone.as_bytes())
        ))
        .line(format!("redo: root {} (the snapshot's again)", &root[..12]))
        .field("undone_root", undone.to_hex())
        .field("redone_root", root);
    guide.print("undo", outcome)
}

fn attempt(guide: &mut Guide<'_>, memory: &Memory) -> Result<(), Failure> {
    let root = memory.view().root();
    let few_removals = |draft: &Draft| match draft.counts().removed {
        ..=REMOVALS_MAX => Ok(()),
        removed => Err(format!(
            "it removes {removed} objects, {REMOVALS_MAX} are allowed"
        )),
    };
    let notes = Id::new(DOCUMENTS[0].0)?;
    let writer = Writer {
        actor: Some("agent".to_owned()),
        ..person("start afresh")
    };
    let (refused, outcome) = Outcome::of(memory, || {
        Ok(memory
            .attempt(&writer, |draft| draft.remove_recursive(&notes), &[&few_removals])
            .err())
    })?;
    let refused = refused.ok_or_else(|| Error::internal("the check of the tour let everything pass"))?;
    if memory.view().root() != root {
        return Err(Error::internal("a rejected attempt changed the state").into());
    }
    let rejected = memory
        .references()
        .iter()
        .filter(|reference| reference.name.starts_with("rejected/"))
        .count();
    let outcome = outcome
        .line(format!(
            "{}: {}",
            guide.output().paint(Meaning::Changed, "rejected"),
            refused.message()
        ))
        .line(format!(
            "root {} as before; what was tried is kept for you to look at",
            short(root.as_bytes())
        ))
        .field("rejected", true)
        .field("reason", refused.message())
        .field("kept_for_review", rejected)
        .field("root", root.to_hex());
    guide.print("attempt", outcome)
}

fn kill(guide: &mut Guide<'_>) -> Result<Memory, Failure> {
    let path = guide.folder().path();
    let killed = kill_a_writer(path)?;
    let (memory, outcome) = Outcome::timed(|| Options::new().open(path))?;
    let (acknowledged, kept) = (killed.acknowledged(), killed.kept(&memory)?);
    if kept != acknowledged {
        let lost = acknowledged - kept;
        return Err(Error::corrupt(format!("{lost} of {acknowledged} acknowledged commits are gone")).into());
    }
    let outcome = outcome
        .line(format!("the process ended with {}", killed.ended))
        .line(format!(
            "{acknowledged} commits were acknowledged before, {kept} of them are there; opening took"
        ))
        .field("acknowledged", acknowledged)
        .field("kept", kept)
        .field("ended", killed.ended.as_str());
    guide.print("kill", outcome)?;
    Ok(memory)
}

fn history(guide: &mut Guide<'_>, memory: &Memory, before: &View) -> Result<(), Failure> {
    let (commits, outcome) = Outcome::timed(|| Ok(memory.commits().count()))?;
    let snapshot = memory.resolve(&Revision::Name(SNAPSHOT.to_owned()), "default")?;
    if snapshot.commit.root != before.root() {
        return Err(Error::corrupt("the snapshot has another root than before").into());
    }
    let versions = memory.stats()?.history;
    let outcome = outcome
        .line(format!(
            "{} and {} are kept",
            counted(commits as u64, "commit"),
            counted(versions, "version")
        ))
        .line(format!(
            "{SNAPSHOT} is still root {}",
            short(snapshot.commit.root.as_bytes())
        ))
        .field("commits", commits)
        .field("versions", versions);
    guide.print("history", outcome)
}

fn prove(guide: &mut Guide<'_>, memory: &Memory) -> Result<(), Failure> {
    let view = memory.view();
    let id = Id::new(DOCUMENTS[0].0)?;
    let (text, outcome) = Outcome::timed(|| {
        let document = ProofDocument::of(memory, &view, &id)?;
        let text = serde_json::to_string(&document)
            .map_err(|error| Error::internal(format!("a proof cannot be written as JSON: {error}")))?;
        let checked = proof::check(&text).map_err(Error::corrupt)?;
        if checked.object.is_some() && checked.root == view.root().to_hex() {
            Ok(text)
        } else {
            Err(Error::corrupt(
                "the proof shows something else than it was made for",
            ))
        }
    })?;
    let forged = text.replacen(&view.root().to_hex()[..8], "00000000", 1);
    if proof::check(&forged).is_ok() {
        return Err(Error::internal("a forged proof was accepted").into());
    }
    let outcome = outcome
        .line(format!(
            "a proof of {} among {}; it holds",
            human::bytes(text.len() as u64),
            counted(view.len(), "object")
        ))
        .line("with another root it does not")
        .field("proof_bytes", text.len())
        .field("holds", true)
        .field("root", view.root().to_hex());
    guide.print("prove", outcome)
}

fn verify(guide: &mut Guide<'_>, memory: &Memory) -> Result<(), Failure> {
    let (report, outcome) = Outcome::timed(|| memory.verify(VerifyDepth::Full))?;
    if !report.ok {
        return Err(Error::corrupt("the store of the tour is damaged").into());
    }
    let mut outcome = outcome.line(format!(
        "{}: {}, {}, {}",
        guide.output().paint(Meaning::Good, "ok"),
        counted(report.commits, "commit"),
        counted(report.versions, "version"),
        human::bytes(report.bytes),
    ));
    outcome = outcome.fields_of(&report)?;
    guide.print("verify", outcome)
}
