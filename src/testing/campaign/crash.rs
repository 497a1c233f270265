//! Crashes at every call of a workload, and crashes again at every call of the work after the crash.
//!
//! # Layer
//! For tests. Uses the engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::expected::{Allowed, Expected, Fingerprint, Seen, open};
use super::workload::{Run, note, options};
use super::{Settings, Tally};
use crate::disk::Disk;
use crate::engine::{Memory, VerifyDepth, Writer};
use crate::error::{ErrorCode, ErrorKind, Result};
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::{CrashImage, SimDisk};
use crate::threads::Mutex;

/// The client's view of the store: the last acknowledged and the last submitted operation. Also contains the counters.
struct Watch {
    acked: usize,
    submitted: usize,
    random: SplitMix64,
    seen: Seen,
    tally: Tally,
}

/// Runs the workload of a seed, and checks every image of a crash at every call.
pub(super) fn crash_everywhere(seed: u64, settings: Settings) -> Tally {
    let expected = Arc::new(Expected::of(seed, settings.operations));
    let watch = Arc::new(Mutex::new(Watch {
        acked: 0,
        submitted: 1,
        random: SplitMix64::new(seed ^ 0x000c_4a54),
        seen: Seen::default(),
        tally: Tally::default(),
    }));
    let mut run = Run::new(SimDisk::new(seed));
    let (shown, known) = (Arc::clone(&watch), Arc::clone(&expected));
    run.disk.observe(Arc::new(move |frozen| {
        look(frozen, &mut shown.lock(), &known, &settings);
    }));
    run.create().expect("creating a store on a working disk succeeds");
    acknowledge(&mut run, &watch, &expected, 1);
    for (step, operation) in (1..).zip(&expected.operations) {
        watch.lock().submitted = step + 1;
        let outcome = run.apply(step, operation);
        let outcome = outcome.unwrap_or_else(|error| panic!("step {step}, {operation:?}: {error:?}"));
        assert_eq!(
            outcome,
            expected.events[step + 1].outcome,
            "step {step}, {operation:?}"
        );
        acknowledge(&mut run, &watch, &expected, step + 1);
    }
    run.disk.observe_no_more();
    let mut watch = watch.lock();
    watch.tally.distinct = watch.seen.count();
    watch.tally
}

/// Checks, after a call has returned, that its effect is durable and equals the effect in the undisturbed run.
fn acknowledge(run: &mut Run, watch: &Mutex<Watch>, expected: &Expected, event: usize) {
    let unsynced = run.disk.unsynced();
    assert!(
        unsynced.is_empty(),
        "event {event} is acknowledged, but {unsynced:?} are not synced"
    );
    let memory = run.memory().expect("a disk that works");
    assert_eq!(
        Some(Fingerprint::of(&memory)),
        expected.events[event].found,
        "event {event}"
    );
    watch.lock().acked = event;
}

/// Checks the images that one crash may leave.
fn look(frozen: &SimDisk, watch: &mut Watch, expected: &Expected, settings: &Settings) {
    let found = expected.events[watch.acked..=watch.submitted].iter();
    let allowed = Allowed {
        found: found.map(|event| event.found.clone()).collect(),
        history: &expected.history,
        thins: expected.thins,
    };
    let (acked, submitted) = (watch.acked, watch.submitted);
    for choice in images(frozen, settings, &mut watch.random) {
        let what = format!(
            "crash in call {} between event {acked} and {submitted}, {choice:?}",
            frozen.calls()
        );
        let image = crashed(frozen, choice);
        let position = allowed.read_once(&image, &mut watch.seen, &mut watch.random, &what);
        watch.tally.images += 1;
        let behind = allowed.behind(position, choice);
        if watch.random.one_in(settings.whole_every) {
            go_on_whole(&image, &behind, &what);
            watch.tally.recoveries += 1;
        }
        if watch.random.one_in(settings.double_every) {
            crash_again(&image, &behind, watch, settings, settings.depth, &what);
        }
    }
    watch.seen.forget_contents();
}

/// Returns the images to check for one crash.
fn images(disk: &SimDisk, settings: &Settings, random: &mut SplitMix64) -> Vec<CrashImage> {
    let mut images = vec![CrashImage::Killed, CrashImage::Nothing];
    if disk.is_durable() {
        return images;
    }
    images.extend([
        CrashImage::ShutDown,
        CrashImage::Everything,
        CrashImage::ExtentWithoutData,
        CrashImage::DataWithoutExtent,
        CrashImage::NamesWithoutContents,
        CrashImage::ContentsWithoutNames,
    ]);
    let last = disk.last_write_bytes();
    if last > 0 && last <= settings.prefixes {
        images.extend((0..last).map(CrashImage::LastWritePrefix));
    } else if last > 0 {
        // Cuts the last write at its first and last bytes, at the edges of sectors and frames, and in between.
        let ends = [0, 1, 16, 32, 512, last / 2, last.saturating_sub(16), last - 1];
        images.extend(
            ends.into_iter()
                .filter(|end| *end < last)
                .map(CrashImage::LastWritePrefix),
        );
        images.extend((0..settings.prefixes).map(|_| CrashImage::LastWritePrefix(random.below(last))));
    }
    if last > 0 && disk.is_writing() {
        images.push(CrashImage::KilledInWrite(random.below(last)));
    }
    images.extend((0..settings.sectors).map(|_| CrashImage::Sectors(random.next_u64())));
    images
}

/// Returns the folder as a process finds it after a crash. After a shutdown of the file system, the file `live` is an
/// old version, so readers may miss the newest group until a writer recovers. In that case, runs such a writer first.
fn crashed(disk: &SimDisk, choice: CrashImage) -> SimDisk {
    let image = disk.crash_image(choice);
    if choice == CrashImage::ShutDown {
        match open(&image, false).and_then(|memory| recover(&memory)) {
            Err(error) if error.code() == ErrorCode::NoStore => {}
            other => other.unwrap_or_else(|error| panic!("{choice:?}: {error:?}")),
        }
    }
    image
}

/// Acquires the lock of the store, which recovers the store. Changes nothing else.
fn recover(memory: &Memory) -> Result<()> {
    match memory.delete_snapshot("no-such-name", &Writer::user()) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(_) => unreachable!("no workload makes a snapshot with this name"),
    }
}

fn open_or_create(image: &SimDisk) -> Result<Memory> {
    match open(image, false) {
        Err(error) if error.code() == ErrorCode::NoStore => {
            Memory::on_disk(Arc::new(image.clone()) as Arc<dyn Disk>, options(0), true, None)
        }
        other => other,
    }
}

/// Recovers the store and writes one object. Returns the state after the write. Calls `recovered` before the write.
fn go_on(image: &SimDisk, round: usize, recovered: impl FnOnce(&Memory)) -> Result<Fingerprint> {
    let memory = open_or_create(image)?;
    recover(&memory)?;
    recovered(&memory);
    memory.put(
        note("marker", None, format!("written behind crash {round}"))?,
        &Writer::user(),
    )?;
    Ok(Fingerprint::of(&memory))
}

/// Returns all files except checkpoints, which any handle may write.
fn primary(disk: &SimDisk) -> BTreeMap<String, Arc<Vec<u8>>> {
    let mut files = disk.contents();
    files.retain(|name, _| !name.starts_with("checkpoint/"));
    files
}

/// Continues after a crash. Checks that the state found stays unchanged, that a second recovery changes nothing, and
/// that newly acknowledged writes are durable.
fn go_on_whole(image: &SimDisk, allowed: &Allowed<'_>, what: &str) {
    let image = image.copy();
    let what = format!("{what}, going on");
    let after = go_on(&image, 0, |memory| {
        // If the image had no store, `go_on` has created one.
        if allowed.found[0].is_some() {
            allowed.position(Some(&Fingerprint::of(memory)), &what);
        }
        let once = primary(&image);
        let again = open(&image, false).and_then(|memory| recover(&memory));
        again.unwrap_or_else(|error| panic!("{what}, second recovery: {error:?}"));
        assert!(
            primary(&image) == once,
            "{what}: a second recovery changed the store"
        );
    });
    let after = after.unwrap_or_else(|error| panic!("{what}: {error:?}"));
    let lost = image.crash_image(CrashImage::Nothing);
    let memory = open(&lost, true).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    assert_eq!(
        Fingerprint::of(&memory),
        after,
        "{what}: an acknowledged write is not durable"
    );
    let report = memory
        .verify(VerifyDepth::Full)
        .unwrap_or_else(|error| panic!("{what}: {error:?}"));
    assert!(report.ok, "{what}: {report:?}");
}

/// Crashes at every call of the work after a crash, and crashes again in the work after those crashes.
fn crash_again(
    image: &SimDisk,
    allowed: &Allowed<'_>,
    watch: &mut Watch,
    settings: &Settings,
    depth: usize,
    what: &str,
) {
    let mut reachable = Vec::new();
    let whole = go_on(&image.copy(), depth, |memory| {
        let now = Some(Fingerprint::of(memory));
        reachable = match allowed.found[0] {
            Some(_) => allowed.found[..=allowed.position(now.as_ref(), what)].to_vec(),
            // If the image has no store, `go_on` creates one.
            None => vec![None, now],
        };
    });
    let marker = whole.unwrap_or_else(|error| panic!("{what}, continuing: {error:?}"));
    reachable.push(Some(marker));
    let marked = Allowed {
        found: reachable,
        ..*allowed
    };
    let image = image.copy();
    let points = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&points);
    image.observe(Arc::new(move |frozen| list.lock().push(frozen.clone())));
    go_on(&image, depth, |_| {}).unwrap_or_else(|error| panic!("{what}, continuing: {error:?}"));
    image.observe_no_more();
    let few = Settings {
        prefixes: settings.prefixes.min(2),
        sectors: settings.sectors.min(4),
        ..*settings
    };
    for point in std::mem::take(&mut *points.lock()) {
        for choice in images(&point, &few, &mut watch.random) {
            let what = format!("{what}, then in later call {}, {choice:?}", point.calls());
            let again = crashed(&point, choice);
            let position = marked.read_once(&again, &mut watch.seen, &mut watch.random, &what);
            watch.tally.doubles += 1;
            let behind = marked.behind(position, choice);
            if watch.random.one_in(settings.whole_every) {
                go_on_whole(&again, &behind, &what);
                watch.tally.recoveries += 1;
            }
            if depth > 1 && watch.random.one_in(settings.deeper_every) {
                crash_again(&again, &behind, watch, settings, depth - 1, &what);
            }
        }
    }
}
