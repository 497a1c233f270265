//! Compares Treering with redb and SQLite: does the same work alternately in one run, and prints a Markdown table of
//! medians.
//!
//! `cargo run --release --manifest-path benches/peers/Cargo.toml [OBJECTS]`
//!
//! Every store keeps all versions and a pointer to the current version of each object. Every commit is durable when it
//! returns. SQLite runs with `journal_mode=WAL` and `synchronous=FULL`. A read snapshot of SQLite ends with its
//! transaction, so the benchmark uses the backup of SQLite: the snapshot copies the database to a file, and the
//! rollback copies it back.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use redb::{Database, Durability, ReadableDatabase, TableDefinition};
use rusqlite::Connection;
use rusqlite::backup::Backup;
use treering::testing::digest::HashSuite;
use treering::{HashAlgorithm, Id, Kind, Memory, NewObject, Origin, Value, Writer};

const A_COMMIT: usize = 1_000;
/// The number of rounds of the short measurements. The median is the result.
const ROUNDS: usize = 21;
const VERSIONS: TableDefinition<'_, &[u8; 32], &[u8]> = TableDefinition::new("versions");
const CURRENT: TableDefinition<'_, &str, &[u8; 32]> = TableDefinition::new("current");

fn object(number: usize, turn: usize) -> NewObject {
    // The ids have no order, because an agent's ids have none.
    let scattered = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut object = NewObject::new(Id::new(&format!("id-{scattered:016x}")).unwrap(), Kind::new("note").unwrap());
    object.attributes.insert("topic", Value::Text(format!("topic {}", number % 100)));
    object.attributes.insert("turn", Value::Integer(turn as i64));
    object.content = Some(format!("In turn {turn} the agent wrote down what the user had said of it. ").repeat(5));
    object
}

/// The operations that are measured on each store.
trait Store {
    fn name(&self) -> &'static str;
    /// Commits these objects durably.
    fn put(&mut self, objects: &[NewObject]);
    /// Makes a durable snapshot of the current state.
    fn snapshot(&mut self);
    /// Restores the last snapshot durably.
    fn roll_back(&mut self);
    /// Closes the store, opens it again and reads one object.
    fn reopen(&mut self, id: &Id) -> Duration;
    /// Returns the number of objects in the current state.
    fn count(&self) -> usize;
}

struct Treering {
    path: PathBuf,
    memory: Option<Memory>,
    snapshots: usize,
}

impl Treering {
    fn new(folder: &Path) -> Self {
        let path = folder.join("treering");
        let memory = Some(Memory::create(&path).unwrap());
        Self { path, memory, snapshots: 0 }
    }

    fn memory(&self) -> &Memory {
        self.memory.as_ref().unwrap()
    }
}

impl Store for Treering {
    fn name(&self) -> &'static str {
        "Treering"
    }

    fn put(&mut self, objects: &[NewObject]) {
        let mut draft = self.memory().draft(&Writer::user());
        for object in objects {
            draft.put(object.clone()).unwrap();
        }
        self.memory().commit(draft, "put").unwrap();
    }

    fn snapshot(&mut self) {
        self.snapshots += 1;
        let name = format!("turn-{}", self.snapshots);
        self.memory().snapshot(Some(&name), &Writer::user()).unwrap();
    }

    fn roll_back(&mut self) {
        let name = format!("turn-{}", self.snapshots);
        self.memory().rollback(name.as_str()).by(&Writer::user()).unwrap();
    }

    fn reopen(&mut self, id: &Id) -> Duration {
        self.memory.take().unwrap().close().unwrap();
        let start = Instant::now();
        let memory = Memory::open(&self.path).unwrap();
        assert!(memory.view().get(id).unwrap().is_some());
        let time = start.elapsed();
        self.memory = Some(memory);
        time
    }

    fn count(&self) -> usize {
        self.memory().view().len() as usize
    }
}

/// Returns the canonical bytes and the digest of an object, so that all stores keep the same versions.
fn encoded(object: &NewObject) -> ([u8; 32], Vec<u8>) {
    let suite = HashSuite::new(HashAlgorithm::Blake3);
    let encoded = object.encode(Origin::DirectUser, suite).unwrap();
    (*encoded.digest.as_bytes(), encoded.bytes)
}

struct Redb {
    path: PathBuf,
    database: Option<Database>,
    savepoint: Option<u64>,
}

impl Redb {
    fn new(folder: &Path) -> Self {
        let path = folder.join("redb");
        let database = Some(Database::create(&path).unwrap());
        Self { path, database, savepoint: None }
    }

    fn database(&self) -> &Database {
        self.database.as_ref().unwrap()
    }
}

impl Store for Redb {
    fn name(&self) -> &'static str {
        "redb 4"
    }

    fn put(&mut self, objects: &[NewObject]) {
        let transaction = self.database().begin_write().unwrap();
        {
            let mut versions = transaction.open_table(VERSIONS).unwrap();
            let mut current = transaction.open_table(CURRENT).unwrap();
            for object in objects {
                let (digest, bytes) = encoded(object);
                versions.insert(&digest, bytes.as_slice()).unwrap();
                current.insert(object.id.as_str(), &digest).unwrap();
            }
        }
        transaction.commit().unwrap();
    }

    fn snapshot(&mut self) {
        let mut transaction = self.database().begin_write().unwrap();
        transaction.set_durability(Durability::Immediate).unwrap();
        if let Some(old) = self.savepoint.take() {
            transaction.delete_persistent_savepoint(old).unwrap();
        }
        let savepoint = transaction.persistent_savepoint().unwrap();
        transaction.commit().unwrap();
        self.savepoint = Some(savepoint);
    }

    fn roll_back(&mut self) {
        let mut transaction = self.database().begin_write().unwrap();
        let savepoint = transaction.get_persistent_savepoint(self.savepoint.unwrap()).unwrap();
        transaction.restore_savepoint(&savepoint).unwrap();
        transaction.commit().unwrap();
    }

    fn reopen(&mut self, id: &Id) -> Duration {
        self.database = None;
        let start = Instant::now();
        let database = Database::open(&self.path).unwrap();
        {
            let transaction = database.begin_read().unwrap();
            let digest = *transaction.open_table(CURRENT).unwrap().get(id.as_str()).unwrap().unwrap().value();
            assert!(transaction.open_table(VERSIONS).unwrap().get(&digest).unwrap().is_some());
        }
        let time = start.elapsed();
        self.database = Some(database);
        time
    }

    fn count(&self) -> usize {
        use redb::ReadableTableMetadata;
        let transaction = self.database().begin_read().unwrap();
        transaction.open_table(CURRENT).unwrap().len().unwrap() as usize
    }
}

struct Sqlite {
    path: PathBuf,
    copy: PathBuf,
    connection: Option<Connection>,
}

impl Sqlite {
    fn new(folder: &Path) -> Self {
        let (path, copy) = (folder.join("sqlite"), folder.join("sqlite.copy"));
        let connection = Self::open(&path);
        connection
            .execute_batch(
                "CREATE TABLE versions (digest BLOB PRIMARY KEY, bytes BLOB) WITHOUT ROWID;
                 CREATE TABLE current (id TEXT PRIMARY KEY, digest BLOB) WITHOUT ROWID;",
            )
            .unwrap();
        Self { path, copy, connection: Some(connection) }
    }

    fn open(path: &Path) -> Connection {
        let connection = Connection::open(path).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        connection.pragma_update(None, "synchronous", "FULL").unwrap();
        connection
    }

    fn connection(&mut self) -> &mut Connection {
        self.connection.as_mut().unwrap()
    }
}

fn copy(from: &Connection, to: &mut Connection) {
    let backup = Backup::new(from, to).unwrap();
    backup.run_to_completion(i32::MAX, Duration::ZERO, None).unwrap();
}

impl Store for Sqlite {
    fn name(&self) -> &'static str {
        "SQLite"
    }

    fn put(&mut self, objects: &[NewObject]) {
        let transaction = self.connection().transaction().unwrap();
        {
            let mut versions = transaction.prepare_cached("INSERT OR IGNORE INTO versions VALUES (?1, ?2)").unwrap();
            let mut current = transaction.prepare_cached("INSERT OR REPLACE INTO current VALUES (?1, ?2)").unwrap();
            for object in objects {
                let (digest, bytes) = encoded(object);
                versions.execute((digest.as_slice(), bytes)).unwrap();
                current.execute((object.id.as_str(), digest.as_slice())).unwrap();
            }
        }
        transaction.commit().unwrap();
    }

    fn snapshot(&mut self) {
        let path = self.copy.clone();
        let mut to = Connection::open(path).unwrap();
        to.pragma_update(None, "synchronous", "FULL").unwrap();
        copy(self.connection(), &mut to);
    }

    fn roll_back(&mut self) {
        let from = Connection::open(&self.copy).unwrap();
        copy(&from, self.connection());
    }

    fn reopen(&mut self, id: &Id) -> Duration {
        self.connection = None;
        let start = Instant::now();
        let connection = Self::open(&self.path);
        let sql = "SELECT length(bytes) FROM current JOIN versions USING (digest) WHERE id = ?1";
        let length: i64 = connection.query_row(sql, [id.as_str()], |row| row.get(0)).unwrap();
        assert!(length > 0);
        let time = start.elapsed();
        self.connection = Some(connection);
        time
    }

    fn count(&self) -> usize {
        let connection = self.connection.as_ref().unwrap();
        connection.query_row("SELECT count(*) FROM current", [], |row| row.get::<_, i64>(0)).unwrap() as usize
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Formats a time with a suitable unit.
fn shown(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        _ if micros < 1e3 => format!("{micros:.0} us"),
        _ if micros < 1e6 => format!("{:.1} ms", micros / 1e3),
        _ => format!("{:.2} s", micros / 1e6),
    }
}

fn main() {
    let count = std::env::args().nth(1).map_or(100_000, |text| text.parse().expect("a number of objects"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut stores: Vec<Box<dyn Store>> =
        vec![Box::new(Treering::new(path)), Box::new(Redb::new(path)), Box::new(Sqlite::new(path))];
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();

    let mut loads = vec![Duration::ZERO; stores.len()];
    let numbers: Vec<usize> = (0..count).collect();
    for chunk in numbers.chunks(A_COMMIT) {
        let objects: Vec<NewObject> = chunk.iter().map(|&number| object(number, 0)).collect();
        for (store, load) in stores.iter_mut().zip(&mut loads) {
            *load += timed(|| store.put(&objects));
        }
    }
    let rate = |load: &Duration| format!("{:.0} k/s", count as f64 / load.as_secs_f64() / 1e3);
    rows.push((format!("load, {A_COMMIT} objects a commit"), loads.iter().map(rate).collect()));

    let mut measures = [(); 4].map(|()| vec![Vec::new(); stores.len()]);
    let turn_size = (count / 100).max(1);
    for round in 1..=ROUNDS {
        let one = [object(round * 37 % count, round)];
        for (at, store) in stores.iter_mut().enumerate() {
            measures[0][at].push(timed(|| store.put(&one)));
        }
    }
    // Measures one store after the other, because the file copies of SQLite would delay the syncs of the next store.
    for (at, store) in stores.iter_mut().enumerate() {
        for round in 1..=ROUNDS {
            let turn: Vec<NewObject> =
                (0..turn_size).map(|at| object((round * 7919 + at * 101) % count, count + round)).collect();
            measures[1][at].push(timed(|| store.snapshot()));
            store.put(&turn);
            measures[2][at].push(timed(|| store.roll_back()));
            assert_eq!(store.count(), count, "{}", store.name());
        }
    }
    for round in 1..=ROUNDS {
        let id = object(round * 31 % count, 0).id;
        for (at, store) in stores.iter_mut().enumerate() {
            measures[3][at].push(store.reopen(&id));
        }
    }
    let works = ["one object, one commit", "snapshot", "rollback of a 1 % change", "open and first get"];
    for (work, times) in works.iter().zip(measures) {
        let cells = times.into_iter().map(|times| shown(median(times))).collect();
        rows.push(((*work).to_owned(), cells));
    }

    let names: Vec<&str> = stores.iter().map(|store| store.name()).collect();
    println!("| {count} objects, durable | {} |", names.join(" | "));
    println!("|---|{}", "---|".repeat(names.len()));
    for (work, cells) in rows {
        println!("| {work} | {} |", cells.join(" | "));
    }
}
