//! Mutants of remotes: what is checked before it is taken in, who wins, which numbers are used, and what is deleted when.

use super::{Mutant, mutant};

const MACHINES: &str = "remote::tests::machines";
const ERASURE: &str = "remote::tests::erasure";
const ERASERS: &str = "remote::tests::erasers";
const TIMES: &str = "remote::tests::times";
const UPKEEP: &str = "remote::tests::upkeep";
const TRAVEL: &str = "remote::tests::travel";
const THINNED: &str = "remote::tests::thinned";

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "no root check",
        "src/store/foreign.rs",
        [
            "check_root(found, self.trie.root(suite, Shape::State, &*self.store)?)?;",
            "check_root(found, self.trie.root(suite, Shape::State, &*self.store)?)?;",
            "",
        ],
        MACHINES,
    ),
    mutant(
        "what a pull brought behind an erasure stays",
        "src/remote/push.rs",
        [
            "if is_erased || !memory.inner.erase_ids_here",
            "is_erased",
            "true",
        ],
        ERASURE,
    ),
    mutant(
        "a version that the store thinned stays in the remote",
        "src/remote/rewrite.rs",
        [
            "if !ids.is_empty() {",
            "!ids.is_empty()",
            "ids.len() == usize::MAX",
        ],
        ERASURE,
    ),
    mutant(
        "a backup takes the place of a newer one",
        "src/remote/backup.rs",
        ["    if has_all {", "has_all", "true"],
        "remote::tests::backup",
    ),
    mutant(
        "unconditional swap",
        "src/remote/place.rs",
        [
            "Some(version) => self.bucket.swap(MANIFEST_FILE, version, &bytes).map(Some),",
            "self.bucket.swap(MANIFEST_FILE, version, &bytes).map(Some)",
            "self.bucket.get(MANIFEST_FILE, u64::MAX).map(|now| now.version).and_then(|now| self.bucket.swap(MANIFEST_FILE, \
             if version == &now { version } else { &now }, &bytes)).map(Some)",
        ],
        MACHINES,
    ),
    mutant(
        "delete before swap",
        "src/remote/push.rs",
        [
            "// INVARIANT RRW-2: nothing is deleted before the swap.",
            "// INVARIANT RRW-2: nothing is deleted before the swap.",
            "place.collect(&listed, &next)?;",
        ],
        ERASURE,
    ),
    mutant(
        "a number used twice",
        "src/remote/place.rs",
        [
            "let id = log.highest_id().max(floor) + 1;",
            "log.highest_id().max(floor)",
            "log.highest_id()",
        ],
        UPKEEP,
    ),
    mutant(
        "a segment cut at an earlier seal",
        "src/log/closed/segment.rs",
        [
            "if read.end != segment.entry().end() {",
            "read.end != segment.entry().end()",
            "false && read.end != segment.entry().end()",
        ],
        "log::closed",
    ),
    mutant(
        "a remote that went back is read",
        "src/remote/remote.rs",
        [
            "if log.generation < seen.generation || log.last_batch() < seen.batch {",
            "log.generation < seen.generation || log.last_batch() < seen.batch",
            "false && log.generation < seen.generation",
        ],
        TRAVEL,
    ),
    mutant(
        "a push leaves the old segments of what it erased",
        "src/remote/push.rs",
        [
            "let erased = if outgoing.erases() {",
            "outgoing.erases()",
            "false && outgoing.erases()",
        ],
        ERASURE,
    ),
    mutant(
        "a push behind an erasure leaves what nobody lists",
        "src/remote/push.rs",
        ["place.collect(&gone, &log)?;", "place.collect(&gone, &log)?;", ""],
        ERASURE,
    ),
    mutant(
        "any remote erases",
        "src/engine/write/intake.rs",
        [
            "if !may_erase(known.cap) {",
            "!may_erase(known.cap)",
            "false && !may_erase(known.cap)",
        ],
        ERASURE,
    ),
    mutant(
        "what was erased here comes back",
        "src/store/foreign.rs",
        [
            "&& self.store.records.find(record.kind, &digest)?.is_none()",
            "self.store.records.find(record.kind, &digest)?.is_none()",
            "false && self.store.records.find(record.kind, &digest)?.is_none()",
        ],
        ERASURE,
    ),
    mutant(
        "what was put after the erasure does not stay",
        "src/store/foreign.rs",
        [
            "&& !(checked.comes_from)(by)?",
            "!(checked.comes_from)(by)?",
            "(true || !(checked.comes_from)(by)?)",
        ],
        ERASURE,
    ),
    mutant(
        "what another store erased is sent",
        "src/store/outgoing.rs",
        [
            "Some(digest) if self.has_lines() => self.records.erased_after(&digest, record.batch)?,",
            "self.records.erased_after(&digest, record.batch)?",
            "self.records.erased_after(&digest, record.batch)?.filter(|_| false)",
        ],
        ERASURE,
    ),
    mutant(
        "a join deletes at once what it replaced",
        "src/remote/join.rs",
        [
            "next.leaving.retain(|old| old.since + STAYS > since);",
            "old.since + STAYS > since",
            "false && old.since + STAYS > since",
        ],
        UPKEEP,
    ),
    mutant(
        "a reader that misses a segment gives up",
        "src/remote/place.rs",
        [
            "if now.version == published.version {",
            "now.version == published.version",
            "true || now.version == published.version",
        ],
        UPKEEP,
    ),
    mutant(
        "a collection leaves out a version that a kept batch links",
        "src/remote/gc.rs",
        [
            "(RecordKind::Object, Some(digest)) => self.needed.contains(&digest),",
            "self.needed.contains(&digest)",
            "false && self.needed.contains(&digest)",
        ],
        UPKEEP,
    ),
    mutant(
        "a collection goes on although what it left out is needed",
        "src/remote/gc.rs",
        [
            "if !needs.is_disjoint(&self.left_out) {",
            "!needs.is_disjoint(&self.left_out)",
            "false && !needs.is_disjoint(&self.left_out)",
        ],
        UPKEEP,
    ),
    mutant(
        "a snapshot of a remote has its own name",
        "src/engine/write/travel.rs",
        [
            "let name = format!(\"{REMOTE}{}/{rest}\", self.name);",
            "format!(\"{REMOTE}{}/{rest}\", self.name)",
            "if self.name.is_empty() { format!(\"{REMOTE}{rest}\") } else { rest.clone() }",
        ],
        TRAVEL,
    ),
    mutant(
        "a taint goes back to the remote from which it came",
        "src/engine/write/travel.rs",
        [
            "own.reserved.get(&Reference::FROM).map(Vec::as_slice) != Some(self.name.as_bytes())",
            "own.reserved.get(&Reference::FROM).map(Vec::as_slice) != Some(self.name.as_bytes())",
            "true || own.reserved.get(&Reference::FROM).is_none()",
        ],
        TRAVEL,
    ),
    mutant(
        "a version counts as sent because of its batch",
        "src/store/outgoing.rs",
        [
            "Ok(then.is_some_and(|then| then.digest == version.digest))",
            "then.is_some_and(|then| then.digest == version.digest)",
            "then.is_none_or(|_| true)",
        ],
        THINNED,
    ),
    mutant(
        "a thinned commit before a kept one is taken in again",
        "src/engine/write/intake.rs",
        [
            "self.is_thinned(digest)? && !self.again.contains(&digest)",
            "self.is_thinned(digest)? && !self.again.contains(&digest)",
            "false && self.is_thinned(digest)?",
        ],
        THINNED,
    ),
    mutant(
        "only the newest thinned commits are taken in again",
        "src/engine/write/intake.rs",
        [
            "!self.again.is_empty() || self.has(digest)?",
            "!self.again.is_empty() || self.has(digest)?",
            "!self.again.is_empty() || self.has(digest)? || true",
        ],
        THINNED,
    ),
    mutant(
        "what was pushed and thinned is not taken in",
        "src/engine/write/intake.rs",
        [
            "self.is_thinned(digest)? && !self.again.contains(&digest)",
            "!self.again.contains(&digest)",
            "(true || !self.again.contains(&digest))",
        ],
        THINNED,
    ),
    mutant(
        "a thinned history does not bring the versions that it names",
        "src/store/foreign.rs",
        [
            "if own.has(&digest) || self.store.is_stored(",
            "own.has(&digest)",
            "(record.kind != RecordKind::Link || own.has(&digest))",
        ],
        "remote::tests::fleet",
    ),
    mutant(
        "a join sends as much as it likes",
        "src/remote/join.rs",
        [
            "if log.segments.len() > SEGMENTS_MAX {",
            "log.segments.len() > SEGMENTS_MAX",
            "true || log.segments.len() > SEGMENTS_MAX",
        ],
        UPKEEP,
    ),
    mutant(
        "a merge does not find thinned commits on the line of a remote",
        "src/engine/write/merge/graph.rs",
        [
            "filter(|(after, _)| *after == commit);",
            "*after == commit",
            "false && *after == commit",
        ],
        THINNED,
    ),
    mutant(
        "a push notes batches that were not read",
        "src/remote/push.rs",
        ["if is_unread {", "is_unread", "false && is_unread"],
        TRAVEL,
    ),
    mutant(
        "what comes from a remote keeps its class",
        "src/store/foreign.rs",
        [
            "let flags = (flags & UNLINKED) | (capped(record, self.cap) & !UNLINKED);",
            "capped(record, self.cap)",
            "(capped(record, self.cap) & UNLINKED)",
        ],
        "remote::tests::",
    ),
    mutant(
        "any remote erases in the next one",
        "src/store/remotes.rs",
        [
            ".filter(|line| may_erase(line.cap))",
            "may_erase(line.cap)",
            "(may_erase(line.cap) || true)",
        ],
        ERASERS,
    ),
    mutant(
        "a clone of any remote erases in the next one",
        "src/engine/write/push.rs",
        [
            "may_erase(store.records.cap_of_commit(&entry)?)",
            "may_erase(store.records.cap_of_commit(&entry)?)",
            "(may_erase(Origin::DirectUser) || may_erase(store.records.cap_of_commit(&entry)?))",
        ],
        ERASERS,
    ),
    mutant(
        "an erasure travels to a remote that has it",
        "src/store/remotes.rs",
        [
            "has.iter().all(|own| own.digest != eraser.digest)",
            "own.digest != eraser.digest",
            "(true || own.digest != eraser.digest)",
        ],
        ERASERS,
    ),
    mutant(
        "an erasure that travels on has the time of the commit that takes it along",
        "src/engine/write/erasers.rs",
        [
            "let id = ErasedId { by: *by, ..erased };",
            "ErasedId { by: *by, ..erased }",
            "ErasedId { by: *by, time: i64::MAX, ..erased }",
        ],
        ERASERS,
    ),
    mutant(
        "an erasure does not say which ids are erased as a whole",
        "src/engine/upkeep/erase/survey.rs",
        [
            "survey.report.ids.clone_from(&survey.ids);",
            "survey.report.ids.clone_from(&survey.ids);",
            "",
        ],
        ERASURE,
    ),
    mutant(
        "an erasure does not travel on if both states are equal",
        "src/engine/write/push.rs",
        [
            "let is_ahead = index < store.kept();",
            "index < store.kept()",
            "(false && index < store.kept())",
        ],
        ERASERS,
    ),
    mutant(
        "a collection erases what any remote erased",
        "src/engine/upkeep/erase/elsewhere.rs",
        [
            "erasure.retain(|_, by| counts.contains(by));",
            "erasure.retain(|_, by| counts.contains(by));",
            "",
        ],
        ERASERS,
    ),
    mutant(
        "a push sends no times of moved versions",
        "src/store/outgoing.rs",
        [
            "if is_moved && record.kind == RecordKind::Object {",
            "is_moved",
            "(false && is_moved)",
        ],
        TIMES,
    ),
    mutant(
        "a fetch keeps no times of moved versions",
        "src/store/foreign.rs",
        [
            "if let Some(time) = time.filter(|time| *time < checked.commit.commit.time) {",
            "*time < checked.commit.commit.time",
            "(false && *time < checked.commit.commit.time)",
        ],
        TIMES,
    ),
    mutant(
        "a fetch drops the times that a push sent",
        "src/store/foreign.rs",
        [
            "if !matches!(record.kind, WRITTEN | ERASED_IDS) => {}",
            "!matches!(record.kind, WRITTEN | ERASED_IDS)",
            "record.kind != ERASED_IDS",
        ],
        TIMES,
    ),
    mutant(
        "a rewrite keeps no times of moved versions",
        "src/store/rewrite/mod.rs",
        [
            "if mapped.get(&record.locator.to_u64()) != Some(&time) {",
            "mapped.get(&record.locator.to_u64()) != Some(&time)",
            "(false && mapped.get(&record.locator.to_u64()) != Some(&time))",
        ],
        TIMES,
    ),
    mutant(
        "a collection of a remote keeps no times of the versions of a dropped line",
        "src/remote/gc.rs",
        [
            "if let Some((digest, time)) = time.filter(|_| record.kind == RecordKind::Object) {",
            "record.kind == RecordKind::Object",
            "(false && record.kind == RecordKind::Object)",
        ],
        TIMES,
    ),
    mutant(
        "a second remote erases what was put again",
        "src/engine/write/intake.rs",
        [
            "Ok(self.has(by)? || self.store.has_erased(by)?)",
            "self.store.has_erased(by)?",
            "(false && self.store.has_erased(by)?)",
        ],
        ERASERS,
    ),
    mutant(
        "a version has the time of its batch",
        "src/store/rewrite/erased_ids.rs",
        [
            "let time = times.own_of(&digest).unwrap_or(self.time);",
            "times.own_of(&digest)",
            "times.own_of(&digest).filter(|_| false)",
        ],
        ERASERS,
    ),
    mutant(
        "a draft has the time of the commit before it",
        "src/store/written.rs",
        [
            "Some(time) => time.max(before),",
            "time.max(before)",
            "before.max(before.min(time))",
        ],
        ERASERS,
    ),
    mutant(
        "a copy of a store goes on with the line of the other one",
        "src/engine/write/push.rs",
        [
            "            number += 1;\n        }\n        let base = line",
            "number += 1;",
            "return Ok((known.clone(), line.base().map_or(0, |base| base.seq())));",
        ],
        TRAVEL,
    ),
    mutant(
        "a collection drops a line of which a snapshot names a commit",
        "src/remote/gc.rs",
        [
            "&& !used.contains(&line.name)",
            "used.contains(&line.name)",
            "(false && used.contains(&line.name))",
        ],
        UPKEEP,
    ),
    mutant(
        "a collection drops a line that was in use just now",
        "src/remote/gc.rs",
        [
            "&& is_idle(&line.head)",
            "is_idle(&line.head)",
            "(true || is_idle(&line.head))",
        ],
        UPKEEP,
    ),
    mutant(
        "a signature covers no erasure that came from another remote",
        "src/remote/signing.rs",
        [
            "if names_eraser(batch, found.digest)? {",
            "names_eraser(batch, found.digest)?",
            "(names_eraser(batch, found.digest)? && found.commit.op.as_str() == \"erase\")",
        ],
        "remote::tests::signing",
    ),
    mutant(
        "a signature does not name the machine that signed",
        "src/engine/write/travel.rs",
        [
            "let name = format!(\"{SIDE}{}/{key}\", to_hex(&instance));",
            "to_hex(&instance)",
            "to_hex(&[0; 16].map(|zero: u8| zero & instance[0]))",
        ],
        TRAVEL,
    ),
    mutant(
        "the head of another store counts as one of this store",
        "src/signed/head.rs",
        [
            "_ if !(any_origin || is_ours && head.origin == origin_of(memory)) => State::Other,",
            "any_origin || is_ours && head.origin == origin_of(memory)",
            "true || any_origin || is_ours && head.origin == origin_of(memory)",
        ],
        "signed::head",
    ),
    mutant(
        "a push sends what another thread commits meanwhile",
        "src/engine/write/push.rs",
        ["for index in index..end {", "index..end", "index..store.kept()"],
        "engine::write::push",
    ),
    mutant(
        "a collection drops the line of an erasure",
        "src/remote/gc.rs",
        [
            "self.named.extend(is_eraser.then_some(found.digest))",
            "is_eraser.then_some(found.digest)",
            "is_eraser.then_some(found.digest).filter(|_| false)",
        ],
        "remote::tests::upkeep",
    ),
];
