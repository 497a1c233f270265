//! What a person decides on the page: release, reject, promote, edit, forget, and restore of a version. Each has a preview,
//! and each change is one commit; a rejection removes a reference and makes none.
//!
//! # Layer
//! Layer 9, part of serve.
//!
//! # Invariants
//! - PAG-4: a decision changes only the version that the person saw. A quarantined change never changes.

use serde::{Deserialize, Serialize};

use super::changes::{ChangeRow, change_of, edited, row};
use super::reader::Reader;
use super::shown::object_named;
use super::ways_back::writer_of;
use crate::answers::agent::held::HeldReviewed;
use treering::agent::{Forgetting, PersonSays, Review};
use treering::inspect::agent::edit as correct;
use treering::inspect::object::Op;
use treering::{Change, CommitInfo, Error, ErrorCode, Id, Object, ObjectDigest, Result};

/// What every decision has.
#[derive(Deserialize)]
pub(crate) struct How {
    pub(super) reason: Option<String>,
    #[serde(default)]
    pub(super) dry_run: bool,
}

/// A decision on a quarantined change.
#[derive(Deserialize)]
pub(crate) struct OnHeld {
    name: String,
    #[serde(flatten)]
    how: How,
}

/// A decision on the version of an item that the person saw.
#[derive(Deserialize)]
pub(crate) struct OnItem {
    id: String,
    /// The present version; absent if the item is not in the memory.
    digest: Option<String>,
    /// The new text of an edit.
    text: Option<String>,
    /// The acting fields that a promotion keeps.
    #[serde(default)]
    keep: Vec<String>,
    /// The state with the version to restore.
    at: Option<String>,
    #[serde(flatten)]
    how: How,
}

/// A preview, or the change itself.
#[derive(Default, Serialize)]
pub(crate) struct Acted {
    pub(super) dry_run: bool,
    /// The commit; `None` for a preview, a rejection and a change that changed nothing.
    pub(super) commit: Option<CommitInfo>,
    /// What changes.
    pub(super) rows: Vec<ChangeRow>,
    /// The review of a quarantined change.
    held: Option<HeldReviewed>,
    /// The review of a promotion.
    review: Option<Review>,
    /// What the scan found in a new text.
    rules: Vec<&'static str>,
    /// Whether the scan stops the new text.
    stopped: bool,
}

/// Releases a quarantined change, with its classes.
///
/// # Errors
/// `Denied` (code `read_only`) if the page only reads; the errors of [`Agent::release`](treering::agent::Agent::release).
pub(crate) fn release(reader: &Reader, asked: &OnHeld) -> Result<Acted> {
    let reason = format!("releases {}", asked.name);
    let writer = writer_of(reader, asked.how.reason.as_deref(), &reason)?;
    reader.head()?;
    let held = HeldReviewed::of(&reader.agent, asked.name.clone())?;
    let mut acted = Acted::of(&asked.how);
    if !acted.dry_run {
        let committed = reader.agent.release(&asked.name, PersonSays::OnPage, &writer)?;
        acted.commit = committed.changed.then_some(committed.commit);
    }
    acted.held = Some(held);
    Ok(acted)
}

/// Drops a quarantined change.
///
/// # Errors
/// `Denied` (code `read_only`) if the page only reads; the errors of [`Agent::discard`](treering::agent::Agent::discard).
pub(crate) fn reject(reader: &Reader, asked: &OnHeld) -> Result<Acted> {
    let reason = format!("rejects {}", asked.name);
    let writer = writer_of(reader, asked.how.reason.as_deref(), &reason)?;
    reader.head()?;
    let held = HeldReviewed::of(&reader.agent, asked.name.clone())?;
    let acted = Acted::of(&asked.how);
    if !acted.dry_run {
        reader.agent.discard(&asked.name, &writer)?;
    }
    Ok(Acted {
        held: Some(held),
        ..acted
    })
}

/// Promotes an item to the class of the person.
///
/// # Errors
/// `Denied` (code `read_only`) if the page only reads; the errors of [`Agent::promote`](treering::agent::Agent::promote).
pub(crate) fn promote(reader: &Reader, asked: &OnItem) -> Result<Acted> {
    let (id, digest, _) = asked.seen(reader)?;
    let writer = writer_of(reader, asked.how.reason.as_deref(), &format!("promotes {id}"))?;
    let review = reader.agent.review(&id, Some(digest))?;
    let mut acted = Acted::of(&asked.how);
    if !acted.dry_run {
        let keep: Vec<&str> = asked.keep.iter().map(String::as_str).collect();
        let promoted = reader
            .agent
            .promote(&id, digest, &keep, PersonSays::OnPage, &writer)?;
        acted.commit = promoted.committed.changed.then_some(promoted.committed.commit);
    }
    acted.review = Some(review);
    Ok(acted)
}

/// Replaces the text of an item.
///
/// # Errors
/// `Denied` (code `read_only`) if the page only reads; `InvalidInput` (code `no_text`) without a text; `Denied` (code
/// `quarantined`) if the scan stops the text; the errors of [`correct`].
pub(crate) fn edit(reader: &Reader, asked: &OnItem) -> Result<Acted> {
    let (id, digest, old) = asked.seen(reader)?;
    let writer = writer_of(reader, asked.how.reason.as_deref(), &format!("corrects {id}"))?;
    let text = asked.text.as_deref().unwrap_or_default();
    // The preview of a real change shows the scan first, so that no text of a person enters the quarantine unseen.
    let seen = correct(&reader.agent, &id, digest, text, &writer, true)?;
    // INVARIANT EDI-1: an edit raises no untrusted class.
    let class = if old.origin().is_trusted() {
        writer.trust
    } else {
        old.origin()
    };
    let mut acted = Acted {
        rows: vec![edited(reader, &old, &seen.text, class)?],
        stopped: seen.verdict > treering::agent::Verdict::Flag,
        rules: seen.rules,
        ..Acted::of(&asked.how)
    };
    if acted.dry_run {
        return Ok(acted);
    }
    if acted.stopped {
        return Err(Error::denied(
            ErrorCode::Quarantined,
            format!("the scan found {}", acted.rules.join(", ")),
        )
        .with_hint("nothing was changed: write the text as a plain fact"));
    }
    let done = correct(&reader.agent, &id, digest, text, &writer, false)?;
    acted.commit = (done.digest != Some(digest)).then_some(done.commit);
    let change = change_of(id.as_str(), Some(digest), done.digest)?;
    acted.rows = vec![row(reader, &reader.head()?, &change)?];
    Ok(acted)
}

/// Forgets an item.
///
/// # Errors
/// `Denied` (code `read_only`) if the page only reads; `Conflict` (code `changed`) if the item changed since the person saw
/// it; the errors of [`Agent::forget`](treering::agent::Agent::forget).
pub(crate) fn forget(reader: &Reader, asked: &OnItem) -> Result<Acted> {
    let (id, digest, _) = asked.seen(reader)?;
    let writer = writer_of(reader, asked.how.reason.as_deref(), &format!("forgets {id}"))?;
    let what = Forgetting {
        ids: vec![id.clone()],
        versions: vec![digest],
        ..Forgetting::default()
    };
    let head = reader.head()?;
    let row = row(reader, &head, &change_of(id.as_str(), Some(digest), None)?)?;
    let forgot = reader.agent.forget(&what, &writer, asked.how.dry_run)?;
    if forgot.items.is_empty() {
        return Err(changed(&id));
    }
    Ok(Acted {
        commit: forgot.commit,
        rows: vec![row],
        ..Acted::of(&asked.how)
    })
}

/// Gives an item the version of an earlier state.
///
/// # Errors
/// `Denied` (code `read_only`) if the page only reads; `Conflict` (code `changed`) if the item changed since the person saw
/// it; the errors of [`Memory::commit`](treering::Memory::commit).
pub(crate) fn restore(reader: &Reader, asked: &OnItem) -> Result<Acted> {
    let at = asked.at.as_deref().ok_or_else(|| {
        Error::invalid("the request does not say what to restore")
            .with_code(ErrorCode::Usage)
            .with_hint("give at")
    })?;
    let from = reader.state(Some(at))?;
    let id = match object_named(&from, &asked.id) {
        Ok(object) => object.id().clone(),
        Err(_) => Id::new(&asked.id)?,
    };
    let reason = format!("restores {id} from seq:{}", from.commit().commit.seq);
    let writer = writer_of(reader, asked.how.reason.as_deref(), &reason)?;
    let head = reader.head()?;
    let mut draft = reader.memory().draft(&writer);
    let present = draft.digest(&id)?;
    if present != asked.digest()? {
        return Err(changed(&id));
    }
    // INVARIANT PAG-4: another process may change the item before the commit.
    draft.expect(&id, present);
    draft.restore(&id, &from)?;
    let rows = draft.changes();
    let rows = rows.iter().map(|change: &Change| row(reader, &head, change));
    let mut acted = Acted {
        rows: rows.collect::<Result<_>>()?,
        ..Acted::of(&asked.how)
    };
    if !acted.dry_run {
        let committed = reader.memory().commit(draft, Op::RESTORE)?;
        acted.commit = committed.changed.then_some(committed.commit);
    }
    Ok(acted)
}

impl Acted {
    pub(super) fn of(how: &How) -> Self {
        Self {
            dry_run: how.dry_run,
            ..Self::default()
        }
    }
}

impl OnItem {
    fn digest(&self) -> Result<Option<ObjectDigest>> {
        let parse = |text: &str| {
            let wrong = || Error::invalid("the digest is not one").with_code(ErrorCode::Usage);
            text.parse().map_err(|_| wrong().with_hint("read the item again"))
        };
        self.digest.as_deref().map(parse).transpose()
    }

    /// Returns the item, whose present version must be the one that the person saw (PAG-4).
    fn seen(&self, reader: &Reader) -> Result<(Id, ObjectDigest, Object)> {
        let object = object_named(&reader.head()?, &self.id)?;
        let id = object.id().clone();
        match self.digest()? {
            Some(seen) if seen == object.digest() => Ok((id, seen, object)),
            Some(_) => Err(changed(&id)),
            None => Err(
                Error::invalid("the request does not name the version that was seen")
                    .with_code(ErrorCode::Usage)
                    .with_hint("give digest"),
            ),
        }
    }
}

pub(super) fn changed(id: &Id) -> Error {
    Error::conflict(format!("'{id}' changed since you saw it, so nothing was done"))
        .with_code(ErrorCode::Changed)
        .with_ids(vec![id.to_string()])
        .with_hint("look at it again")
}
