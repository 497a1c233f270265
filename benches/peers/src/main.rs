//! Treering beside redb: the same versions and a current pointer, 1,000 a commit, in turns in one run.
//!
//! `cargo run --release --manifest-path benches/peers/Cargo.toml [OBJECTS]`

use std::time::{Duration, Instant};

use redb::{Database, TableDefinition};
use treering::{HashAlgorithm, HashSuite, Id, Kind, Memory, NewObject, Origin, Value, Writer};

const A_COMMIT: usize = 1_000;
const VERSIONS: TableDefinition<'_, &[u8; 32], &[u8]> = TableDefinition::new("versions");
const CURRENT: TableDefinition<'_, &str, &[u8; 32]> = TableDefinition::new("current");

fn object(number: usize) -> NewObject {
    // Ids in no order, as an agent's are.
    let scattered = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut object = NewObject::new(Id::new(&format!("id-{scattered:016x}")).unwrap(), Kind::new("note").unwrap());
    object.attributes.insert("topic", Value::Text(format!("topic {}", number % 100)));
    object.attributes.insert("turn", Value::Integer(number as i64));
    object.content = Some(format!("In turn {number} the agent wrote down what the user had said of it. ").repeat(5));
    object
}

fn treering_put(memory: &Memory, numbers: &[usize]) {
    let mut draft = memory.draft(Writer::new());
    for &number in numbers {
        draft.put(object(number)).unwrap();
    }
    memory.commit(draft, "put").unwrap();
}

fn redb_put(database: &Database, suite: HashSuite, numbers: &[usize]) {
    let transaction = database.begin_write().unwrap();
    {
        let mut versions = transaction.open_table(VERSIONS).unwrap();
        let mut current = transaction.open_table(CURRENT).unwrap();
        for &number in numbers {
            let object = object(number);
            // The same canonical bytes under the same digest: both store the same versions.
            let encoded = object.encode(Origin::DirectUser, suite).unwrap();
            versions.insert(encoded.digest.as_bytes(), encoded.bytes.as_slice()).unwrap();
            current.insert(object.id.as_str(), encoded.digest.as_bytes()).unwrap();
        }
    }
    transaction.commit().unwrap();
}

fn main() {
    let objects = std::env::args().nth(1).map_or(1_000_000, |text| text.parse().expect("a number of objects"));
    let folder = tempfile::tempdir().unwrap();
    let memory = Memory::create(folder.path().join("treering")).unwrap();
    let database = Database::create(folder.path().join("redb")).unwrap();
    let suite = HashSuite::new(HashAlgorithm::Blake3);
    let numbers: Vec<_> = (0..objects).collect();
    let (mut ours, mut theirs) = (Duration::ZERO, Duration::ZERO);
    for chunk in numbers.chunks(A_COMMIT) {
        let start = Instant::now();
        treering_put(&memory, chunk);
        ours += start.elapsed();
        let start = Instant::now();
        redb_put(&database, suite, chunk);
        theirs += start.elapsed();
    }
    assert_eq!(memory.view().len(), objects as u64);
    let rate = |time: Duration| objects as f64 / time.as_secs_f64();
    println!("durable put of {objects} objects, {A_COMMIT} a commit, versions and a current pointer");
    println!("treering  {:>9.0} objects a second", rate(ours));
    println!("redb 4    {:>9.0} objects a second", rate(theirs));
    println!("ratio     {:.2} (promised: at least 2)", rate(ours) / rate(theirs));
}
