//! Makes the dataclasses of `treering.answers` from the answers of the agent.

use pyo3::prelude::*;
use treering::agent::{
    Alike, Appended, BisectedAnswer, Decayed, EnvelopeAnswer, Forgot, Forgotten, Item, LinesRemembered, Move,
    NoteFound, NoteRead, NoteWritten, Promoted, Quarantined, Remembered, Report, Restored, Review,
};

use crate::answers::{Answer, answer, bisected, commit, maybe_commit, table, texts};
use crate::convert::{datetime, maybe_datetime};
use crate::object::Object;
use crate::recalled::Hit;

fn alike<'py>(py: Python<'py>, alike: &Alike) -> Answer<'py> {
    answer!(py, "Alike" {
        id: alike.id.as_str(),
        similarity: alike.similarity,
        trust: alike.shown.trust.to_string(),
        flags: texts(py, &alike.shown.flags)?,
        text: alike.shown.text.as_deref(),
    })
}

pub(crate) fn remembered<'py>(py: Python<'py>, done: &Remembered) -> Answer<'py> {
    answer!(py, "Remembered" {
        id: done.id.as_str(),
        status: done.status.to_string(),
        scope: done.scope.as_str(),
        text: done.text.as_str(),
        digest: done.digest.map(|digest| digest.to_hex()),
        commit: commit(py, &done.commit)?,
        verdict: done.verdict.to_string(),
        rules: texts(py, &done.rules)?,
        redacted: done.is_redacted,
        duplicates: table(py, &done.duplicates, alike)?,
        conflicts: table(py, &done.conflicts, alike)?,
        held_as: done.held_as.as_deref(),
    })
}

pub(crate) fn remembered_many<'py>(py: Python<'py>, done: &LinesRemembered) -> Answer<'py> {
    let refused = table(py, &done.refused, |py, line| {
        answer!(py, "RefusedItem" {
            index: line.line.saturating_sub(1),
            id: line.id.as_deref(),
            verdict: line.verdict.to_string(),
            reason: line.reason.as_str(),
        })
    });
    answer!(py, "RememberedMany" {
        stored: done.stored,
        unchanged: done.unchanged,
        duplicates: done.duplicates,
        flagged: done.flagged,
        refused: refused?,
        held: texts(py, &done.held)?,
        commit: commit(py, &done.commit)?,
    })
}

fn objects<'py>(py: Python<'py>, items: Vec<Item>) -> Answer<'py> {
    table(py, items, |py, item| Object::python(py, item.into_object()))
}

pub(crate) fn forgot(py: Python<'_>, done: Forgot) -> Answer<'_> {
    answer!(py, "Forgot" {
        pinned: texts(py, done.pinned.iter().map(|id| id.as_str()))?,
        others: texts(py, done.others.iter().map(|id| id.as_str()))?,
        commit: maybe_commit(py, done.commit.as_ref())?,
        items: objects(py, done.items)?,
    })
}

pub(crate) fn forgotten(py: Python<'_>, found: Forgotten) -> Answer<'_> {
    answer!(py, "Forgotten" {
        version: found.version.to_hex(),
        commit: commit(py, &found.commit)?,
        reason: found.reason.as_deref(),
        item: Object::python(py, found.item.into_object())?,
    })
}

pub(crate) fn restored(py: Python<'_>, done: Restored) -> Answer<'_> {
    answer!(py, "Restored" {
        unchanged: texts(py, done.unchanged.iter().map(|id| id.as_str()))?,
        commit: maybe_commit(py, done.commit.as_ref())?,
        items: objects(py, done.items)?,
    })
}

pub(crate) fn note(py: Python<'_>, note: NoteRead) -> Answer<'_> {
    answer!(py, "Note" {
        id: note.item.object().id().as_str(),
        text: note.item.text(),
        owner: note.owner.as_deref(),
        created: maybe_datetime(py, note.created)?,
        updated: maybe_datetime(py, note.updated)?,
        read: maybe_datetime(py, note.read)?,
        object: Object::python(py, note.item.clone().into_object())?,
    })
}

pub(crate) fn note_found(py: Python<'_>, found: NoteFound) -> Answer<'_> {
    answer!(py, "NoteFound" {
        score: found.score,
        snippet: found.snippet.as_str(),
        own: found.is_own,
        note: note(py, found.note)?,
    })
}

pub(crate) fn note_written<'py>(py: Python<'py>, done: &NoteWritten) -> Answer<'py> {
    answer!(py, "NoteWritten" {
        id: done.id.as_ref().map(|id| id.as_str()),
        action: done.action.to_string(),
        digest: done.digest.map(|digest| digest.to_hex()),
        owner: done.owner.as_str(),
        scope: done.scope.as_str(),
        cleared: done.cleared,
        verdict: done.verdict.to_string(),
        rules: texts(py, &done.rules)?,
        held_as: done.held.as_deref(),
        commit: commit(py, &done.commit)?,
    })
}

pub(crate) fn appended<'py>(py: Python<'py>, done: &Appended) -> Answer<'py> {
    let not_stored = table(py, &done.not_stored, |py, entry| {
        answer!(py, "NotStored" {
            index: entry.place,
            verdict: entry.verdict.to_string(),
            rules: texts(py, &entry.rules)?,
        })
    });
    answer!(py, "Appended" {
        scope: done.scope.as_str(),
        root_session: done.root_session.as_str(),
        ids: texts(py, done.ids.iter().map(|id| id.as_str()))?,
        not_stored: not_stored?,
        flagged: done.flagged,
        held_as: done.held.as_deref(),
        commit: commit(py, &done.commit)?,
    })
}

pub(crate) fn envelope<'py>(py: Python<'py>, found: &EnvelopeAnswer) -> Answer<'py> {
    let shown = table(py, &found.shown, |py, shown| {
        answer!(py, "Shown" {
            id: shown.id.as_str(),
            section: shown.section.to_string(),
            trust: shown.trust.to_string(),
            title: shown.title.as_str(),
            source: shown.source.as_str(),
        })
    });
    answer!(py, "Envelope" {
        text: found.text.as_str(),
        tokens: found.tokens,
        root: found.root.to_hex(),
        shown: shown?,
        left_out: found.left_out.total(),
    })
}

pub(crate) fn report<'py>(py: Python<'py>, report: &Report) -> Answer<'py> {
    let checks = table(py, &report.checks, |py, check| {
        answer!(py, "Checked" {
            check: check.check.as_str(),
            passed: check.is_passed,
            why: check.why.as_str(),
            ids: texts(py, &check.ids)?,
            advice: check.advice.as_str(),
        })
    });
    answer!(py, "Report" {
        passed: report.is_passed(),
        checks: checks?,
        added: report.counts.added,
        changed: report.counts.changed,
        removed: report.counts.removed,
        text: report.to_string(),
    })
}

pub(crate) fn quarantined<'py>(py: Python<'py>, held: &Quarantined) -> Answer<'py> {
    answer!(py, "Quarantined" {
        name: held.name.as_str(),
        reason: held.reason.as_deref(),
        time: datetime(py, held.time)?,
        actor: held.actor.as_deref(),
        session: held.session.as_deref(),
        ids: texts(py, &held.ids)?,
        ids_total: held.ids_total,
        trust: held.trust.map(|trust| trust.to_string()),
        preview: held.preview.as_str(),
        withheld: held.is_withheld,
    })
}

pub(crate) fn review<'py>(py: Python<'py>, review: &Review) -> Answer<'py> {
    let acts = table(py, &review.acts, |py, act| {
        let hides = table(py, &act.hides, |py, hidden| {
            answer!(py, "HiddenItem" {
                id: hidden.id.as_str(),
                trust: hidden.trust.to_string(),
                text: hidden.text.as_str(),
            })
        });
        answer!(py, "ActingField" {
            field: act.field.as_str(),
            value: act.value.to_string(),
            hides: hides?,
        })
    });
    answer!(py, "Review" {
        id: review.id.as_str(),
        digest: review.digest.to_hex(),
        kind: review.kind.as_str(),
        scope: review.scope.as_str(),
        trust: review.trust.to_string(),
        flags: texts(py, &review.flags)?,
        text: review.text.as_str(),
        acts: acts?,
        invisible: review.invisible,
    })
}

pub(crate) fn promoted<'py>(py: Python<'py>, done: &Promoted) -> Answer<'py> {
    answer!(py, "Promoted" {
        digest: done.digest.to_hex(),
        old: done.from.to_string(),
        new: done.to.to_string(),
        dropped: texts(py, &done.dropped)?,
        commit: commit(py, &done.committed.commit)?,
    })
}

fn moved<'py>(py: Python<'py>, moved: &Move) -> Answer<'py> {
    answer!(py, "Move" {
        id: moved.id.as_str(),
        old: moved.from.to_string(),
        new: moved.to.to_string(),
        original: moved.original.to_hex(),
        chars_before: moved.chars_before,
        chars_after: moved.chars_after,
    })
}

pub(crate) fn decayed<'py>(py: Python<'py>, done: &Decayed) -> Answer<'py> {
    let commits: Vec<_> = done
        .commits
        .iter()
        .map(|info| commit(py, info))
        .collect::<PyResult<_>>()?;
    answer!(py, "Decayed" {
        now: datetime(py, done.now)?,
        items: done.items,
        moves: table(py, &done.moves, moved)?,
        commits: pyo3::types::PyTuple::new(py, commits)?,
        warning: done.warning.as_deref(),
    })
}

pub(crate) fn bisected_answer(py: Python<'_>, found: BisectedAnswer) -> Answer<'_> {
    let hit = |hit: Option<treering::agent::RecallHit>| hit.map(|hit| Hit::python(py, hit)).transpose();
    answer!(py, "BisectedAnswer" {
        found: bisected(py, &found.found)?,
        before: hit(found.before)?,
        after: hit(found.after)?,
    })
}
