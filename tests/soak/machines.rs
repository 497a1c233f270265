//! Eight machines that share a memory through a real remote: `cargo soak machines --url URL`.
//!
//! Each machine is a thread with a store and a connection of its own. It commits 200 times, in odd rounds with conflicts, and
//! pushes every few commits. In the end nothing may be missing, and all stores and a new clone must have one root.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread::scope;
use std::time::Instant;

use treering::remote::{Remote, clone};
use treering::testing::random::SplitMix64;
use treering::upkeep::VerifyDepth;
use treering::{ErrorCode, Id, Kind, Memory, NewObject, Options, Origin, Writer};

const MACHINES: usize = 8;
const COMMITS: usize = 200;
/// The most rounds of pulls and pushes until all machines rest.
const ROUNDS_MAX: usize = 6;

struct Machine {
    memory: Memory,
    remote: Remote,
    writer: Writer,
}

#[derive(Default)]
struct Counts {
    pushes: u64,
    merges: u64,
    behind: u64,
}

impl Machine {
    fn put(&self, id: &str, content: String) {
        let mut object = NewObject::new(Id::new(id).unwrap(), Kind::new("note").unwrap());
        object.content = Some(content);
        self.memory.put(object, &self.writer).unwrap();
    }

    /// Pulls and pushes until the remote has all commits of this machine.
    fn share(&self, counts: &mut Counts) {
        loop {
            match self.remote.push(&self.memory, &self.writer) {
                Ok(pushed) => {
                    counts.pushes += u64::from(pushed.commits > 0);
                    return;
                }
                Err(error) if error.code() == ErrorCode::RemoteAhead => counts.behind += 1,
                Err(error) => panic!("{error:?}"),
            }
            let pulled = self.remote.pull(&self.memory, &self.writer).unwrap();
            counts.merges += u64::from(pulled.merged.committed.changed);
        }
    }

    fn work(&self, number: usize, conflicts: bool, random: &mut SplitMix64) -> Counts {
        let mut counts = Counts::default();
        for commit in 0..COMMITS {
            if conflicts && commit % 4 == 0 {
                self.put(
                    &format!("shared/{}", random.below(10)),
                    format!("{number} wrote {commit}"),
                );
            } else {
                self.put(&format!("m{number}/{commit}"), "text".to_owned());
            }
            if random.one_in(4) {
                self.share(&mut counts);
            }
        }
        self.share(&mut counts);
        counts
    }
}

fn cloned(url: &str, folder: &Path, number: usize) -> Machine {
    let path = folder.join(number.to_string());
    let (memory, _) = clone(url, path, Origin::DirectUser, &Options::new()).unwrap();
    Machine {
        memory,
        remote: Remote::open("origin", url, Origin::DirectUser).unwrap(),
        writer: Writer::person(format!("m{number}")),
    }
}

/// Runs one round at a URL whose place is empty.
pub(crate) fn round(url: &str, number: u64) -> Vec<(&'static str, u64)> {
    let (folder, conflicts, started) = (tempfile::tempdir().unwrap(), number % 2 == 1, Instant::now());
    let first = Memory::create(folder.path().join("first")).unwrap();
    let remote = Remote::open("origin", url, Origin::DirectUser).unwrap();
    remote.check(&first).unwrap();
    let writer = Writer::person("first");
    let object = NewObject::new(Id::new("first").unwrap(), Kind::new("note").unwrap());
    first.put(object, &writer).unwrap();
    remote.push(&first, &writer).unwrap();
    let machines: Vec<Machine> = (0..MACHINES)
        .map(|number| cloned(url, folder.path(), number))
        .collect();
    let mut counts = Counts::default();
    scope(|scope| {
        let working: Vec<_> = machines
            .iter()
            .enumerate()
            .map(|(at, machine)| {
                let mut random = SplitMix64::new(number * 100 + at as u64);
                scope.spawn(move || machine.work(at, conflicts, &mut random))
            })
            .collect();
        for one in working {
            let done = one.join().unwrap();
            counts.pushes += done.pushes;
            counts.merges += done.merges;
            counts.behind += done.behind;
        }
    });
    let rests = (0..ROUNDS_MAX).any(|_| {
        let before = (counts.pushes, counts.merges);
        for machine in &machines {
            let pulled = machine.remote.pull(&machine.memory, &machine.writer).unwrap();
            counts.merges += u64::from(pulled.merged.committed.changed);
            machine.share(&mut counts);
        }
        before == (counts.pushes, counts.merges)
    });
    assert!(rests, "the machines do not come to rest");
    let last = cloned(url, folder.path(), MACHINES);
    let all = machines
        .iter()
        .chain([&last])
        .map(|machine| &machine.memory)
        .collect::<Vec<_>>();
    let roots: BTreeSet<_> = all.iter().map(|memory| memory.view().root()).collect();
    assert_eq!(roots.len(), 1, "the machines have different roots");
    for memory in &all {
        let view = memory.view();
        for (machine, commit) in
            (0..MACHINES).flat_map(|machine| (0..COMMITS).map(move |commit| (machine, commit)))
        {
            let id = format!("m{machine}/{commit}");
            let is_unique = !conflicts || commit % 4 != 0;
            assert!(
                !is_unique || view.contains(&Id::new(&id).unwrap()).unwrap(),
                "{id} is lost"
            );
        }
        assert!(memory.verify(VerifyDepth::Full).unwrap().damage.is_empty());
    }
    vec![
        ("rounds", 1),
        ("commits", (MACHINES * COMMITS) as u64),
        ("pushes", counts.pushes),
        ("merges", counts.merges),
        ("behind", counts.behind),
        ("milliseconds", started.elapsed().as_millis() as u64),
    ]
}
