//! Tests of signed pushes, and of fetches that demand a signature.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::backup::put;
use super::machines::{Fleet, ann, content, pull};
use crate::engine::{Memory, Options, Retention};
use crate::error::{ErrorCode, ErrorKind};
use crate::log::RecordKind;
use crate::log::closed::NewSegment;
use crate::object::Origin;
use crate::remote::Remote;
use crate::remote::bucket::Counted;
use crate::remote::place::Place;
use crate::signed::SigningKey;

fn key(name: &str) -> SigningKey {
    SigningKey::generate(name).unwrap()
}

fn signing(fleet: &Fleet, key: &SigningKey) -> Remote {
    let copy = SigningKey::parse(&key.to_text()).unwrap();
    fleet.origin().sign_with(vec![copy])
}

fn demanding(fleet: &Fleet, key: &SigningKey) -> Remote {
    fleet.origin().signed_by(vec![key.verifier()])
}

fn batches(memory: &Memory) -> u64 {
    memory.inner.log.lock().log.newest_batch()
}

/// RSG-1
#[test]
fn a_fetch_takes_in_only_what_a_demanded_key_signed() {
    let fleet = Fleet::new();
    let (vera, a) = (key("vera"), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    let (plain, signed) = (fleet.origin(), signing(&fleet, &vera));
    let demands = demanding(&fleet, &vera);

    put(&a, "plan", "two");
    signed.push(&a, &ann()).unwrap();
    demands.pull(&b, &ann()).unwrap();
    assert_eq!(content(&b, "plan").as_deref(), Some("two"));

    // Another writer, without the key, and one with another key of the same name.
    for remote in [&plain, &signing(&fleet, &key("vera"))] {
        put(&a, "plan", "three");
        remote.push(&a, &ann()).unwrap();
        let before = batches(&b);
        let error = demands.pull(&b, &ann()).unwrap_err();
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::Denied, ErrorCode::UnsignedRemote)
        );
        assert_eq!(batches(&b), before, "nothing is taken in");
        put(&a, "plan", "four");
    }
    // One signature covers all commits before it.
    signed.push(&a, &ann()).unwrap();
    demands.sync(&b, &ann()).unwrap();
    assert_eq!(content(&b, "plan").as_deref(), Some("four"));
    assert!(!demands.sync(&b, &ann()).unwrap().changed());
}

/// The commit `push` of a side line is signed, and so is a history with gaps.
#[test]
fn a_signature_covers_the_merges_and_the_gaps_of_a_remote() {
    let fleet = Fleet::new();
    let (vera, a) = (key("vera"), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    let (signed, demands) = (signing(&fleet, &vera), demanding(&fleet, &vera));
    put(&a, "of a", "1");
    signed.sync(&a, &ann()).unwrap();
    put(&b, "of b", "1");
    let both = signing(&fleet, &vera).signed_by(vec![vera.verifier()]);
    assert_eq!(both.sync(&b, &ann()).unwrap().pushed.commits, 2);
    demands.pull(&a, &ann()).unwrap();
    assert_eq!(content(&a, "of b").as_deref(), Some("1"));
    for number in 0..9 {
        put(&a, "counter", &number.to_string());
    }
    let mut retention = Retention::default();
    (retention.all, retention.newest) = (std::time::Duration::ZERO, 2);
    a.gc(&retention, None).unwrap();
    signed.sync(&a, &ann()).unwrap();
    demands.pull(&b, &ann()).unwrap();
    assert_eq!(content(&b, "counter").as_deref(), Some("8"));

    // A store that demands a signature from now on reads the remote from its start.
    Remote::forget("origin", &b, &ann()).unwrap();
    demands.pull(&b, &ann()).unwrap();
    // A first push may be signed, too.
    let other = Fleet::new();
    let c = Memory::create(other.folder.path().join("c")).unwrap();
    for number in 0..9 {
        put(&c, "counter", &number.to_string());
    }
    c.gc(&retention, None).unwrap();
    signing(&other, &vera).push(&c, &ann()).unwrap();
    let d = other.clone("d", Origin::DirectUser);
    Remote::forget("origin", &d, &ann()).unwrap();
    demanding(&other, &vera).pull(&d, &ann()).unwrap();
}

/// A changed note is damage, and no missing signature.
#[test]
fn a_forged_signature_is_refused_as_damage() {
    let fleet = Fleet::new();
    let (vera, a) = (key("vera"), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    put(&a, "plan", "two");
    signing(&fleet, &vera).push(&a, &ann()).unwrap();
    let place = Place::of(Counted::new(Arc::new(fleet.service.clone())));
    let mut log = place.read().unwrap().log;
    let last = log.segments.len() - 1;
    let found = log
        .read(last, place.segment(&log, last).unwrap())
        .unwrap()
        .batches;
    let (first, id) = (log.segments[last].first_batch, log.segments[last].id);
    log.segments.pop();
    log.generation -= 1;
    let group = found.iter().map(|batch| {
        let mut built = crate::log::BatchBuilder::new();
        let mut reason = None;
        for record in &batch.records {
            let mut body = record.body.to_vec();
            if record.kind == RecordKind::Text {
                // The last character but two of the signature: the note stays well-formed.
                let at = body.len() - 4;
                body[at] = if body[at] == b'A' { b'B' } else { b'A' };
                reason = Some(crate::object::hash_text(log.suite(), &body));
            }
            if record.kind == RecordKind::Reference {
                let mut reference = crate::object::Reference::decode(&body).unwrap();
                reference.reason = reason;
                body = reference.encode().unwrap();
            }
            built.add(record.kind, record.flags, &body);
        }
        (built, batch.commit)
    });
    let mut segment = NewSegment::encode(&log, id, [7; 16], first, group.collect()).unwrap();
    segment.number(&log, id);
    let mut objects = fleet.service.objects();
    objects.insert(segment.listed.name(), segment.bytes().to_vec());
    let (head, before) = (found.last().unwrap().commit, batches(&b));
    objects.insert("manifest".to_owned(), log.with(&segment, head).encode());
    fleet.service.restore(objects);
    let error = demanding(&fleet, &vera).fetch(&b, &ann()).unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Corrupt, ErrorCode::BadSignature)
    );
    assert_eq!(batches(&b), before);
}

/// Takes the last commit out of the newest segment, as a push of two segments leaves it that broke off.
fn break_off(fleet: &Fleet) {
    let place = Place::of(Counted::new(Arc::new(fleet.service.clone())));
    let mut log = place.read().unwrap().log;
    let last = log.segments.len() - 1;
    let found = log
        .read(last, place.segment(&log, last).unwrap())
        .unwrap()
        .batches;
    let (first, id) = (log.segments[last].first_batch, log.segments[last].id);
    log.segments.pop();
    log.generation -= 1;
    let head = found[0].commit;
    let group = found.iter().filter(|batch| batch.commit == head).map(|batch| {
        let mut built = crate::log::BatchBuilder::new();
        for record in &batch.records {
            built.add(record.kind, record.flags, &record.body);
        }
        (built, head)
    });
    let mut segment = NewSegment::encode(&log, id, [7; 16], first, group.collect()).unwrap();
    segment.number(&log, id);
    let mut objects = fleet.service.objects();
    objects.insert(segment.listed.name(), segment.bytes().to_vec());
    objects.insert("manifest".to_owned(), log.with(&segment, head).encode());
    fleet.service.restore(objects);
}

/// RSG-1, RSG-2: an erasure counts only if the signed commit comes from it, also behind a commit that is known.
#[test]
fn an_unsigned_erasure_erases_nothing() {
    for is_covered in [false, true] {
        let fleet = Fleet::new();
        let (vera, a) = (key("vera"), fleet.first());
        let (plain, signed, demands) = (fleet.origin(), signing(&fleet, &vera), demanding(&fleet, &vera));
        put(&a, "plan", "two");
        signed.push(&a, &ann()).unwrap();
        let b = fleet.clone("b", Origin::DirectUser);
        let x = fleet.clone("x", Origin::DirectUser);
        super::erasure::erase(&x, "plan");
        put(&a, "more", "1");
        signed.push(&a, &ann()).unwrap();
        demands.pull(&b, &ann()).unwrap();
        plain.pull(&x, &ann()).unwrap();
        plain.push(&x, &ann()).unwrap();
        let whole = fleet.service.objects();
        break_off(&fleet);
        let before = batches(&b);
        let error = demands.pull(&b, &ann()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::UnsignedRemote);
        assert_eq!(batches(&b), before, "nothing is taken in");
        if is_covered {
            fleet.service.restore(whole);
            plain.pull(&a, &ann()).unwrap();
        }
        put(&a, "later", "1");
        signed.push(&a, &ann()).unwrap();
        let fetched = demands.pull(&b, &ann()).unwrap().fetched;
        assert_eq!(fetched.erased > 0, is_covered, "{fetched:?}");
        assert_eq!(fetched.not_erased > 0, !is_covered, "{fetched:?}");
        assert_eq!(content(&b, "plan").is_none(), is_covered);
    }
}

/// RSG-2, PSH-4: a signature covers an erasure that came from another remote, with the commit that took it along.
#[test]
fn a_signed_push_brings_the_erasure_of_another_remote() {
    let (fleet, elsewhere) = (Fleet::new(), Fleet::new());
    let (vera, a) = (key("vera"), fleet.first());
    put(&a, "note", "a secret");
    fleet.origin().push(&a, &ann()).unwrap();
    let b = fleet.clone("b", Origin::DirectUser);
    let other = Arc::new(elsewhere.service.clone());
    let second = Remote::on("second", other, Origin::DirectUser).unwrap();
    let second = second.sign_with(vec![SigningKey::parse(&vera.to_text()).unwrap()]);
    second.push(&b, &ann()).unwrap();
    let d = elsewhere.clone("d", Origin::DirectUser);
    super::erasure::erase(&a, "note");
    fleet.origin().push(&a, &ann()).unwrap();
    pull(&fleet.origin(), &b);
    second.push(&b, &ann()).unwrap();
    let fetched = demanding(&elsewhere, &vera).pull(&d, &ann()).unwrap().fetched;
    assert!(fetched.erased > 0 && fetched.not_erased == 0, "{fetched:?}");
    assert!(!super::erasure::is_on_disk(&elsewhere, "d", "a secret"));
}

/// RSG-2: a signature covers no snapshot and no taint.
#[test]
fn what_no_signature_covers_is_left_out() {
    let fleet = Fleet::new();
    let (vera, a) = (key("vera"), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    let (signed, demands) = (signing(&fleet, &vera), demanding(&fleet, &vera));
    put(&a, "plan", "two");
    signed.push(&a, &ann()).unwrap();
    demands.pull(&b, &ann()).unwrap();
    a.snapshot(Some("alone"), &ann()).unwrap();
    fleet.origin().push(&a, &ann()).unwrap();
    demands.pull(&b, &ann()).unwrap();
    let page = crate::engine::Writer::of(Origin::Document).session("s1");
    a.put(super::backup::object("page", "text"), &page).unwrap();
    signed.push(&a, &ann()).unwrap();
    demands.pull(&b, &ann()).unwrap();
    assert_eq!(content(&b, "page").as_deref(), Some("text"));
    assert!(!b.view().is_tainted("s1").unwrap());
    assert!(b.at("remote:origin/alone").is_err());
    // A clone leaves out the same.
    let folder = tempfile::tempdir().unwrap();
    for (remote, all) in [(demands, false), (fleet.origin(), true)] {
        let path = folder.path().join(if all { "all" } else { "signed" });
        let (c, _) = remote.clone_to(path, &Options::new(), &|_| Ok(())).unwrap();
        assert_eq!(content(&c, "page").as_deref(), Some("text"));
        assert_eq!(c.view().is_tainted("s1").unwrap(), all);
        assert_eq!(c.at("remote:origin/alone").is_ok(), all);
    }
}

/// RSG-2: a clone that demands a signature keeps no segment of an interrupted call, which may have demanded none.
#[test]
fn a_clone_that_demands_a_signature_begins_anew() {
    let fleet = Fleet::new();
    let (vera, a) = (key("vera"), fleet.first());
    a.snapshot(Some("alone"), &ann()).unwrap();
    fleet.origin().push(&a, &ann()).unwrap();
    put(&a, "plan", "two");
    signing(&fleet, &vera).push(&a, &ann()).unwrap();
    let (demands, all) = (demanding(&fleet, &vera), fleet.origin());
    let mut interrupted = 0;
    for stop_after in 1..20 {
        let path = fleet.folder.path().join(format!("clone-{stop_after}"));
        let asked = AtomicU32::new(0);
        let stopped = Options::new().stop(move || asked.fetch_add(1, Ordering::Relaxed) >= stop_after);
        if all.clone_to(&path, &stopped, &|_| Ok(())).is_ok() {
            break;
        }
        if path.join("format").exists() {
            break;
        }
        interrupted += 1;
        let (clone, _) = demands.clone_to(&path, &Options::new(), &|_| Ok(())).unwrap();
        assert!(clone.at("remote:origin/alone").is_err(), "{stop_after}");
        assert_eq!(content(&clone, "plan").as_deref(), Some("two"));
    }
    assert!(interrupted > 1, "{interrupted}");
}

/// RSG-3: who demands signatures sends nothing unsigned, unless it says so, and loses no write to a refusal.
#[test]
fn a_store_that_demands_signatures_sends_nothing_unsigned() {
    let fleet = Fleet::new();
    let (vera, a) = (key("vera"), fleet.first());
    let (signed, demands) = (signing(&fleet, &vera), demanding(&fleet, &vera));
    put(&a, "plan", "two");
    signed.push(&a, &ann()).unwrap();
    let b = fleet.clone("b", Origin::DirectUser);
    demands.sync(&b, &ann()).unwrap();
    put(&b, "of b", "1");
    let before = fleet.service.objects();
    for pushed in [
        demands.push(&b, &ann()).map(drop),
        demands.sync(&b, &ann()).map(drop),
        demands.ack_remote(&b, &ann(), |_| -> crate::Result<()> {
            panic!("nothing is written")
        }),
    ] {
        let error = pushed.unwrap_err();
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::Denied, ErrorCode::UnsignedRemote)
        );
    }
    assert_eq!(fleet.service.objects(), before, "nothing is sent");
    // A snapshot moves no head, so it may travel without a signature.
    put(&a, "of a", "1");
    signed.push(&a, &ann()).unwrap();
    demands.pull(&b, &ann()).unwrap();
    let both = signing(&fleet, &vera).signed_by(vec![vera.verifier()]);
    assert!(both.push(&b, &ann()).unwrap().commits > 0);
    b.snapshot(Some("named"), &ann()).unwrap();
    assert!(demands.push(&b, &ann()).unwrap().bytes > 0);
}

/// A push without a key says that it left a signed remote unsigned, also if a clone makes it, and says so once.
#[test]
fn a_push_without_a_key_says_that_it_unsigns() {
    let fleet = Fleet::new();
    let (vera, a) = (key("vera"), fleet.first());
    let (plain, signed) = (fleet.origin(), signing(&fleet, &vera));
    let unsigns = |memory: &Memory, text: &str| {
        put(memory, "plan", text);
        plain.push(memory, &ann()).unwrap().unsigned
    };
    assert!(!unsigns(&a, "two"), "nobody signed it");
    put(&a, "plan", "three");
    assert!(!signed.push(&a, &ann()).unwrap().unsigned);
    let b = fleet.clone("b", Origin::DirectUser);
    // A snapshot moves no head.
    b.snapshot(Some("named"), &ann()).unwrap();
    let pushed = plain.push(&b, &ann()).unwrap();
    assert_eq!(
        (pushed.commits, pushed.bytes > 0, pushed.unsigned),
        (0, true, false)
    );
    assert!(unsigns(&b, "four") && !unsigns(&b, "five"));
    assert_eq!(
        signed.sync(&a, &ann()).unwrap().pushed.commits,
        0,
        "only a signature"
    );
    plain.pull(&b, &ann()).unwrap();
    assert!(unsigns(&b, "six"), "what a fetch reads counts, too");
    plain.pull(&a, &ann()).unwrap();
    assert!(!unsigns(&a, "seven"));
}

/// A sync signs what is there, as a push does. It looks for its signature once.
#[test]
fn a_sync_signs_a_head_that_nobody_signed() {
    let fleet = Fleet::new();
    let (vera, a) = (key("vera"), fleet.first());
    let b = fleet.clone("b", Origin::DirectUser);
    let (signed, demands) = (signing(&fleet, &vera), demanding(&fleet, &vera));
    put(&a, "plan", "two");
    fleet.origin().push(&a, &ann()).unwrap();
    assert_eq!(
        demands.pull(&b, &ann()).unwrap_err().code(),
        ErrorCode::UnsignedRemote
    );
    let synced = signed.sync(&a, &ann()).unwrap();
    assert!(synced.changed() && synced.pushed.commits == 0, "{synced:?}");
    demands.pull(&b, &ann()).unwrap();
    assert_eq!(content(&b, "plan").as_deref(), Some("two"));
    signed.sync(&a, &ann()).unwrap();
    let idle = signed.sync(&a, &ann()).unwrap();
    assert!(!idle.changed(), "{idle:?}");
    assert_eq!((idle.pulled.fetched.requests, idle.pushed.requests), (1, 0));
}

/// RSG-1: a remote that was removed and added again is read from its start, behind commits that this store knows or has thinned.
#[test]
fn a_remote_that_was_added_again_is_signed() {
    for (thins, other_pushes, collects) in (0..8).map(|bits| (bits & 1 > 0, bits & 2 > 0, bits & 4 > 0)) {
        let told = format!("thins {thins}, other pushes {other_pushes}, collects {collects}");
        let fleet = Fleet::new();
        let (vera, a) = (key("vera"), fleet.first());
        let both = signing(&fleet, &vera).signed_by(vec![vera.verifier()]);
        for number in 0..4 {
            put(&a, "plan", &format!("{number}"));
            both.push(&a, &ann()).unwrap();
        }
        let b = fleet.clone("b", Origin::DirectUser);
        Remote::forget("origin", &a, &ann()).unwrap();
        put(&a, "of a", "1");
        both.push(&a, &ann()).unwrap();
        if thins {
            let mut retention = Retention::default();
            (retention.all, retention.newest) = (std::time::Duration::ZERO, 1);
            a.gc(&retention, None).unwrap();
        }
        if other_pushes {
            put(&b, "of b", "1");
            both.sync(&b, &ann()).unwrap();
        }
        if collects {
            both.gc(&a).unwrap();
        }
        let pulled = both.pull(&a, &ann());
        pulled.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        assert_eq!(content(&a, "of b").is_some(), other_pushes, "{told}");
    }
}
