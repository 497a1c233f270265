//! The audit log: the chain of commits, newest first, with actor, session, source and changed ids.
//!
//! Each line shows one commit of the store. The commits are the only source, so the audit log and history cannot
//! disagree.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! - `audit`, `guard` and `decay` work on the whole store, not only on the current project.

use std::ops::ControlFlow;

use super::Agent;
use super::item::unless_erased;
use crate::engine::{Change, CommitInfo, Memory, Revision, Selection, View};
use crate::error::Result;
use crate::object::Id;

/// The maximum number of changed ids in a line.
const IDS_SHOWN: usize = 20;

/// The conditions on the listed commits. A commit must meet every condition that is not `None`.
#[derive(Clone, Debug, Default)]
pub struct AuditRequest {
    /// Only commits by these writers, in this period.
    pub by: Selection,
    /// Only commits that changed an object of this kind.
    pub kind: Option<String>,
    /// Only commits of this operation.
    pub op: Option<String>,
    /// Only commits that changed this object.
    pub id: Option<Id>,
}

/// A commit of the audit log.
pub struct Audited {
    /// The commit.
    pub info: CommitInfo,
    /// The changed ids, at most 20.
    pub ids: Vec<String>,
}

/// Returns the matching commits up to the commit of `view`, newest first. A condition on the kind or the id makes the
/// search slower, because the search reads the changes of every commit.
pub fn audit(
    agent: &Agent,
    view: &View,
    request: AuditRequest,
) -> impl Iterator<Item = Result<Audited>> + use<> {
    let since = request.by.since;
    let audit = Audit {
        memory: agent.memory().clone(),
        newest: view.commit().commit.seq,
        request,
    };
    // A commit is later than its parent. So the iteration ends at the first commit before `since`.
    let is_in_time = move |info: &Result<CommitInfo>| match info {
        Ok(info) => since.is_none_or(|since| since <= info.commit.time),
        Err(_) => true,
    };
    let commits = agent.memory().commits().take_while(is_in_time);
    commits.filter_map(move |info| info.and_then(|info| audit.line(info)).transpose())
}

/// The conditions on the commits, and the memory from which the commits are read.
struct Audit {
    memory: Memory,
    newest: u64,
    request: AuditRequest,
}

impl Audit {
    /// Returns the line of a commit, or `None` if the commit does not match. Tests cheap conditions first.
    fn line(&self, info: CommitInfo) -> Result<Option<Audited>> {
        let (commit, wanted) = (&info.commit, &self.request);
        if commit.seq > self.newest
            || !wanted.by.made(&self.memory, commit)
            || wanted.op.as_deref().is_some_and(|op| op != commit.op.as_str())
            || !wanted.by.is_in_time(commit.time)
        {
            return Ok(None);
        }
        Ok(self.ids(&info)?.map(|ids| Audited { info, ids }))
    }

    /// Returns up to 20 ids that the commit changed, or `None` if the commit does not match the wanted kind or id.
    fn ids(&self, info: &CommitInfo) -> Result<Option<Vec<String>>> {
        let wanted = &self.request;
        let Some(before) = self.memory.view_before(info)? else {
            return Ok((wanted.id.is_none() && wanted.kind.is_none()).then(Vec::new));
        };
        let after = self.memory.view_at(&Revision::Prefix(info.digest.to_hex()), "")?;
        if let Some(id) = &wanted.id {
            let digest =
                |view: &View| -> Result<_> { Ok(unless_erased(view.get(id))?.map(|object| object.digest())) };
            if digest(&before)? == digest(&after)? {
                return Ok(None);
            }
        }
        let (mut ids, mut has_kind) = (Vec::new(), wanted.kind.is_none());
        self.memory.each_change(&before, &after, &mut |change| {
            has_kind = has_kind || self.is_of_kind(&change)?;
            if ids.len() < IDS_SHOWN {
                ids.push(change.id.to_string());
            }
            Ok(if has_kind && ids.len() == IDS_SHOWN {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        })?;
        ids.sort_unstable();
        Ok(has_kind.then_some(ids))
    }

    fn is_of_kind(&self, change: &Change) -> Result<bool> {
        for digest in [change.new, change.old].into_iter().flatten() {
            let object = self.memory.version(digest)?;
            if object.is_some_and(|object| Some(object.kind()) == self.request.kind.as_deref()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Settings;
    use crate::engine::Writer;
    use crate::object::{Kind, NewObject};

    fn put(memory: &Memory, id: &str, kind: &str, writer: &Writer) {
        let mut object = NewObject::new(Id::new(id).unwrap(), Kind::new(kind).unwrap());
        object.content = Some(format!("text of {id}"));
        drop(memory.put(object, writer).unwrap());
    }

    fn seqs(agent: &Agent, request: AuditRequest) -> Vec<u64> {
        let lines = audit(agent, &agent.memory().view(), request);
        lines.map(|line| line.unwrap().info.commit.seq).collect()
    }

    #[test]
    fn each_filter_leaves_its_own_lines_newest_first() {
        let memory = Memory::in_memory().unwrap();
        let from = |source: &str| Writer {
            source: Some(source.to_owned()),
            ..Writer::user()
        };
        put(
            &memory,
            "a",
            "fact",
            &Writer::user().actor("ada").reason("she said so"),
        );
        put(&memory, "b", "note", &from("mail").session("s1"));
        put(&memory, "a", "fact", &Writer::user());
        drop(
            memory
                .remove(&Id::new("a").unwrap(), &Writer::user().actor("bob"))
                .unwrap(),
        );
        let agent = Agent::new(memory.clone(), Settings::default());
        let text = |text: &str| Some(text.to_owned());
        let all = AuditRequest::default;
        let by = |by: Selection| seqs(&agent, AuditRequest { by, ..all() });
        assert_eq!(
            seqs(&agent, all()),
            [3, 2, 1, 0],
            "an unchanged object makes no commit"
        );
        assert_eq!(by(Selection::default().actor("ada")), [1]);
        assert_eq!(by(Selection::default().session("s1")), [2]);
        assert_eq!(by(Selection::default().source("mail")), [2]);
        assert_eq!(
            seqs(
                &agent,
                AuditRequest {
                    kind: text("fact"),
                    ..all()
                }
            ),
            [3, 1]
        );
        assert_eq!(
            seqs(
                &agent,
                AuditRequest {
                    op: text("remove"),
                    ..all()
                }
            ),
            [3]
        );
        let id = Id::new("b").ok();
        assert_eq!(seqs(&agent, AuditRequest { id, ..all() }), [2]);
        let time = memory.commits().nth(1).unwrap().unwrap().commit.time;
        assert_eq!(by(Selection::default().since(time)), [3, 2]);
        assert_eq!(by(Selection::default().until(time)), [2, 1, 0]);
    }

    #[test]
    fn a_line_names_twenty_ids_at_most() {
        let memory = Memory::in_memory().unwrap();
        let mut draft = memory.draft(&Writer::user().reason("many"));
        for number in 0..30 {
            let object = NewObject::new(
                Id::new(&format!("n{number}")).unwrap(),
                Kind::new("fact").unwrap(),
            );
            draft.put(object).unwrap();
        }
        drop(memory.commit(draft, "put").unwrap());
        let agent = Agent::new(memory, Settings::default());
        let line = audit(&agent, &agent.memory().view(), AuditRequest::default()).next();
        let line = line.unwrap().unwrap();
        assert_eq!((line.ids.len(), line.info.commit.op.as_str()), (20, "put"));
    }
}
