//! Times of the engine's verbs with 10,000, 100,000 and 1,000,000 objects.
//!
//! `cargo bench --bench engine` runs all benchmarks; `-- get/10000` runs one. `TREERING_BENCH_MAX` limits the size.
#![expect(
    clippy::unwrap_used,
    reason = "criterion's macros generate the functions; a failure ends the run"
)]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use treering::{Id, Kind, Memory, NewObject, Revision, Value, Writer};

fn id(number: usize) -> Id {
    Id::new(&format!("object/{number:08}")).unwrap()
}

fn object(number: usize, round: usize) -> NewObject {
    let mut object = NewObject::new(id(number), Kind::new("note").unwrap());
    object
        .attributes
        .insert("topic", Value::Text(format!("topic {}", number % 100)));
    object
        .attributes
        .insert("round", Value::Integer(i64::try_from(round).unwrap_or(i64::MAX)));
    object.content = Some(format!("In round {round} the agent wrote down fact number {number}. ").repeat(5));
    object
}

fn fill(memory: &Memory, numbers: impl Iterator<Item = usize>, round: usize) {
    let numbers: Vec<_> = numbers.collect();
    for chunk in numbers.chunks(10_000) {
        let mut draft = memory.draft(&Writer::user());
        for &number in chunk {
            draft.put(object(number, round)).unwrap();
        }
        memory.commit(draft, "put").unwrap();
    }
}

fn sizes() -> impl Iterator<Item = usize> {
    let most = std::env::var("TREERING_BENCH_MAX")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1_000_000);
    [10_000, 100_000, 1_000_000]
        .into_iter()
        .filter(move |&size| size <= most)
}

fn verbs(criterion: &mut Criterion) {
    for size in sizes() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let memory = Memory::create(&store).unwrap();
        fill(&memory, 0..size, 0);
        memory.snapshot(Some("before"), &Writer::user()).unwrap();
        fill(&memory, (0..size).step_by(100), 1);
        let before = memory.at(Revision::Name("before".to_owned())).unwrap();
        let step = 7_919; // A prime, so that the loop visits every object in an order that no cache can predict.
        let mut next = 0;
        let mut number = move || {
            next = (next + step) % size;
            next
        };

        let mut group = criterion.benchmark_group("engine");
        group
            .sample_size(10)
            .warm_up_time(Duration::from_millis(300))
            .measurement_time(Duration::from_secs(2));
        let name = |verb: &str| BenchmarkId::new(verb, size);
        let view = memory.view();
        group.bench_function(name("get"), |bench| {
            bench.iter_batched(
                || id(number()),
                |id| black_box(view.get(&id).unwrap()),
                BatchSize::SmallInput,
            );
        });
        let mut round = 2;
        group.bench_function(name("put"), |bench| {
            bench.iter(|| {
                round += 1;
                memory.put(object(number(), round), &Writer::user()).unwrap()
            });
        });
        group.bench_function(name("put_1000_a_commit"), |bench| {
            bench.iter(|| {
                round += 1;
                let mut draft = memory.draft(&Writer::user());
                for _ in 0..1_000 {
                    draft.put(object(number(), round)).unwrap();
                }
                memory.commit(draft, "put").unwrap()
            });
        });
        group.bench_function(name("root"), |bench| {
            bench.iter(|| black_box(memory.view().root()));
        });
        group.bench_function(name("snapshot"), |bench| {
            bench.iter(|| memory.snapshot(None, &Writer::user()).unwrap());
        });
        let after = memory.view();
        group.bench_function(name("diff_of_1_percent"), |bench| {
            bench.iter(|| black_box(memory.diff(&before, &after).unwrap().len()));
        });
        let mut back = false;
        group.bench_function(name("rollback"), |bench| {
            bench.iter(|| {
                back = !back;
                let to = if back {
                    Revision::Name("before".to_owned())
                } else {
                    Revision::Ancestor(1)
                };
                memory.rollback(&to).by(&Writer::user()).unwrap()
            });
        });
        drop((view, after, before, memory));
        group.bench_function(name("open"), |bench| bench.iter(|| Memory::open(&store).unwrap()));
        group.finish();
    }
}

criterion_group!(benches, verbs);
criterion_main!(benches);
